//! Elements, right-hand side and matrix of a step: in f32 where nothing touches, in f64 where rows are solved.

use rayon::prelude::*;

use crate::contact::islands::Island;
use crate::elastic::{
    Elements, Iterate, NodeMotion, Quaternion, SECOND_ORDER, Tangents, gather_motions, link, matrix, right_hand_side, single_blocks,
};
use crate::element::ElementKind;
use crate::math::{Mat3, Vec3};
use crate::memory::Pages;
use crate::model::Body;
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
    /// The matrix of this step is there in f64.
    is_assembled: bool,
    edge_blocks: Vec<Mat3>,
    single_blocks: Pages<SingleBlock>,
    /// They are there for this step.
    has_single_blocks: bool,
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
        self.rotations.clone_from(&step.state.rotations);
        self.linearise(step, true, double, stages);
    }

    /// The same at another iterate of the step, to which the rotations follow; of the first one everything begins.
    pub fn linearise(&mut self, step: &StepInputs, is_first: bool, double: bool, stages: &mut StageTimes) {
        let StepInputs { model, groups, params, .. } = *step;
        let Self { rotations, motions, iterate, elements: Elements { forces, tangents }, single_tangents, rhs, .. } = self;
        self.has_double_tangents = params.is_double() || double;
        stages.time("elements", || {
            iterate.take(step, is_first, motions);
            let (iterate, dt) = (iterate.of_pass(), params.time_step);
            match self.has_double_tangents {
                true => groups.pass_about::<_, true>(rotations, motions, iterate, dt, forces, tangents),
                false => groups.pass_about::<_, true>(rotations, motions, iterate, dt, forces, single_tangents),
            }
        });
        stages.time("assembly", || {
            rhs.resize(model.n_unknowns(), Vec3::zeros());
            right_hand_side(step.system(), forces, rhs);
        });
        (self.is_assembled, self.has_single_blocks) = (false, false);
    }

    /// The blocks of the matrix in f32, its rigid bodies and springs; unless they are there.
    pub fn assemble_single(&mut self, step: &StepInputs) {
        let model = step.model;
        if std::mem::replace(&mut self.has_single_blocks, true) {
            return;
        }
        if !self.is_assembled {
            link(step.system(), &mut self.a);
            self.a.invert_rigid(model.n_nodes());
        }
        if self.has_double_tangents {
            self.elements.tangents.round(&mut self.single_tangents);
        }
        single_blocks(model, &self.single_tangents, &mut self.single_blocks);
    }

    /// The matrix of bodies that are touched; false if it was there already.
    pub fn assemble_double(&mut self, step: &StepInputs) -> bool {
        if std::mem::replace(&mut self.is_assembled, true) {
            return false;
        }
        let StepInputs { groups, params, .. } = *step;
        let Self { rotations, motions, iterate, elements: Elements { forces, tangents }, a, edge_blocks, .. } = self;
        if !self.has_double_tangents {
            groups.pass_about::<_, false>(rotations, motions, iterate.of_pass(), params.time_step, forces, tangents);
        }
        matrix(step.system(), tangents, a, edge_blocks);
        true
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

    pub fn single_blocks(&self) -> &[SingleBlock] {
        &self.single_blocks
    }
}
