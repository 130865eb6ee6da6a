//! Elements, right-hand side and matrix of a step: in f32 where nothing touches, in f64 where rows are solved.

use std::ops::Range;

use rayon::prelude::*;

use crate::contact::islands::Island;
use crate::elastic::{
    Elements, Iterate, NodeMotion, PassAbout, Quaternion, SECOND_ORDER, Tangents, gather_motions, link, matrix_of, right_hand_side,
    single_blocks,
};
use crate::element::ElementKind;
use crate::math::{Mat3, Vec3, fill_with};
use crate::memory::Pages;
use crate::model::{Body, Model};
use crate::sparse::{Operator, SingleBlock};
use crate::step::{StageTimes, StepInputs};

/// Forces of corners that one thread adds up.
const FORCES: usize = 4096;

/// The matrix of a step and what it is gathered from; memory is kept.
#[derive(Default)]
pub struct Matrix {
    rotations: Vec<Quaternion>,
    motions: Vec<NodeMotion>,
    iterate: IterateMemory,
    /// Forces of the step, and tangents in f64 where they are needed.
    elements: Elements,
    single_tangents: Tangents<f32>,
    /// The tangents of this step are there in f64.
    has_double_tangents: bool,
    rhs: Vec<Vec3>,
    a: Operator,
    /// Rigid bodies and springs are there in this step.
    is_linked: bool,
    edge_blocks: Vec<Mat3>,
    /// The deformable bodies whose rows are there in this step.
    assembled: Vec<bool>,
    /// Memory of those that are not yet, and of their tets.
    due: (Vec<usize>, Vec<Range<usize>>),
}

/// An iterate of a step as the element pass takes it, if there is one.
#[derive(Default)]
struct IterateMemory {
    is_there: bool,
    is_first: bool,
    displacements: Vec<Vec3>,
    velocities: Vec<Vec3>,
    changes: Vec<[f64; 4]>,
    damped: Vec<f64>,
}

impl IterateMemory {
    /// Takes the iterate of a step, and gathers its motions.
    fn take(&mut self, step: &StepInputs, is_first: bool, motions: &mut Vec<NodeMotion>) {
        let StepInputs { model, groups, state, params, .. } = *step;
        (self.is_there, self.is_first) = (step.iterate.is_some(), is_first);
        let Some(iterate) = step.iterate else { return gather_motions(&state.displacements, &state.velocities, motions) };
        let (n, system) = (model.n_nodes(), step.system());
        let Self { displacements, velocities, changes, damped, .. } = self;
        displacements.clear();
        let ends = state.displacements.iter().zip(&state.velocities).zip(iterate);
        displacements.extend(ends.map(|((u, v), dv)| u + (v + dv) * params.time_step));
        velocities.clear();
        velocities.extend((0..n).map(|node| system.undisturbed(node)));
        changes.clear();
        changes.extend(iterate[..n].iter().map(|dv| [dv.x, dv.y, dv.z, 0.0]));
        damped.clear();
        damped.extend(model.tets.iter().map(|tet| if system.is_second_order(tet.body as usize) { SECOND_ORDER - 1.0 } else { 0.0 }));
        damped.resize(groups.n_lanes(), 0.0);
        gather_motions(displacements, velocities, motions);
    }

    fn of_pass(&self) -> Option<Iterate<'_>> {
        let Self { is_there, is_first, changes, damped, .. } = self;
        is_there.then_some(Iterate { changes, damped, is_first: *is_first })
    }
}

impl Matrix {
    /// Rotations, forces and tangents of all tets, and the right-hand side. `double`: the matrix will be asked for in
    /// f64.
    pub fn begin(&mut self, step: &StepInputs, double: bool, stages: &mut StageTimes) {
        fill_with(&mut self.rotations, step.state.rotations.len(), |place| step.state.rotations[place]);
        self.linearise(step, true, double, stages);
    }

    /// The same at another iterate of the step, to which the rotations follow; of the first one everything begins.
    pub fn linearise(&mut self, step: &StepInputs, is_first: bool, double: bool, stages: &mut StageTimes) {
        let StepInputs { model, groups, params, .. } = *step;
        let Self { rotations, motions, iterate, elements: Elements { forces, tangents }, single_tangents, rhs, .. } = self;
        self.has_double_tangents = params.is_double() || double;
        stages.time("elements", || {
            iterate.take(step, is_first, motions);
            let (about, dt) = (PassAbout { iterate: iterate.of_pass(), only: None }, params.time_step);
            match self.has_double_tangents {
                true => groups.pass_about::<_, true>(rotations, motions, about, dt, forces, tangents),
                false => groups.pass_about::<_, true>(rotations, motions, about, dt, forces, single_tangents),
            }
        });
        stages.time("assembly", || {
            rhs.resize(model.n_unknowns(), Vec3::zeros());
            right_hand_side(step.system(), forces, rhs);
        });
        self.is_linked = false;
        self.assembled.clear();
        self.assembled.resize(model.bodies.len(), false);
    }

    /// Rigid bodies and springs, unless they are there.
    pub fn link(&mut self, step: &StepInputs) {
        if !std::mem::replace(&mut self.is_linked, true) {
            link(step.system(), &mut self.a);
            self.a.invert_rigid(step.model.n_nodes());
        }
    }

    /// The blocks of all edges of a body in f32, as [`single_blocks`] puts them.
    pub fn single_blocks(&self, model: &Model, body: usize, blocks: &mut Pages<SingleBlock>) {
        match self.has_double_tangents {
            true => single_blocks(model, body, &self.elements.tangents, blocks),
            false => single_blocks(model, body, &self.single_tangents, blocks),
        }
    }

    /// The rows of the deformable bodies of some islands in f64, the rigid bodies and springs; unless they are there.
    pub fn assemble_double<'i>(&mut self, step: &StepInputs, islands: impl Iterator<Item = &'i Island>) {
        let StepInputs { model, groups, params, .. } = *step;
        let Self { rotations, motions, iterate, elements, a, edge_blocks, assembled, due: (bodies, tets), .. } = self;
        let Elements { forces, tangents } = elements;
        bodies.clear();
        let deformable = islands.flat_map(Island::deformable).map(|segment| segment.body.index());
        bodies.extend(deformable.filter(|body| !std::mem::replace(&mut assembled[*body], true)));
        bodies.sort_unstable();
        if !self.has_double_tangents && !bodies.is_empty() {
            tets.clear();
            tets.extend(bodies.iter().map(|body| model.bodies[*body].tets.clone()));
            let about = PassAbout { iterate: iterate.of_pass(), only: Some(tets) };
            groups.pass_about::<_, false>(rotations, motions, about, params.time_step, forces, tangents);
        }
        if !bodies.is_empty() || !self.is_linked {
            matrix_of(step.system(), bodies, tangents, a, edge_blocks);
        }
        self.is_linked = true;
    }

    /// Impulse of the element forces of an island (2-norm over corners) [kg m/s].
    pub fn element_impulse(&self, step: &StepInputs, island: &Island) -> f64 {
        let (model, forces) = (step.model, &self.elements.forces);
        let of_body = |body: &Body| match body.element {
            ElementKind::Linear => forces.tets[body.tets.clone()].as_flattened(),
            _ => &forces.patches[model.patch_corners(body)],
        };
        // The same order of sums for any number of threads.
        let forces2_of = |body: &Body| -> f64 {
            let parts = of_body(body).par_chunks(FORCES).map(|part| part.iter().flatten().map(|f| f * f).sum());
            parts.collect::<Vec<f64>>().iter().sum()
        };
        let forces2: f64 = island.deformable().iter().map(|segment| forces2_of(&model.bodies[segment.body.index()])).sum();
        step.params.time_step * forces2.sqrt()
    }

    /// Rotations of the tets in this step.
    pub fn rotations(&self) -> &[Quaternion] {
        &self.rotations
    }

    /// Hands the rotations of the step over.
    pub fn swap_rotations(&mut self, rotations: &mut Vec<Quaternion>) {
        std::mem::swap(rotations, &mut self.rotations);
    }

    /// Right-hand side over all unknowns [kg m/s].
    pub fn rhs(&self) -> &[Vec3] {
        &self.rhs
    }

    /// The matrix in f64; before it is assembled its rigid bodies and springs only.
    pub fn operator(&self) -> &Operator {
        &self.a
    }
}
