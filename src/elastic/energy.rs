//! The energy pass: what the elements gain on a straight way of their nodes, and their forces at its end. One loop over
//! the registers of the tets, like the element pass, compiled once for each constitutive model.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::degeneration::Degeneration;
use super::elements::{CornerForces, Forces};
use super::groups::{Patches, Register, Run, TetGroups};
use super::patches::EdgeBlock;
use super::registers::{Iterate, LANES, MAX_STATE_ROWS, NodeMotion, load, store};
use super::rotation::{self, Quaternion};
use super::way::{IsQuadratic, Way};
use crate::element::{Element, Tet4};
use crate::material::{ConstitutiveModel, Deformation, PLASTIC_ROWS, Tangent, Visitor, plastic_change};
use crate::math::lanes::{Lanes, Matrix, Row, dot, plus, plus_identity, times};

/// Tets that a thread takes at once.
const CHUNK: usize = 256;

/// Memory of [`TetGroups::forces_at`].
#[derive(Default)]
pub struct ForcesMemory {
    states: Vec<Quaternion>,
    changes: Vec<[f64; 4]>,
    damped: Vec<f64>,
    tangents: Vec<EdgeBlock<f64>>,
}

impl TetGroups {
    /// The energy [J] that each of `tets` has at the end of the way more than at its start; to `gains`, one a tet.
    ///
    /// Differences are taken element by element, so that the sum does not drown in the rounding of large energies.
    /// Those of a hyper-elastic model are of its energy at both ends. Those of a corotational one keep its frame, as
    /// the forces of a step do, unless the way turns frames.
    /// Of elements of several tets the first tet has the gain of all. `tets`: those of whole bodies.
    pub fn energy_gains(&self, way: Way, tets: Range<usize>, gains: &mut [f64]) {
        gains.fill(0.0);
        if let Some(Patches { cells, tets10, .. }) = &self.patches {
            cells.energy_gains(way, self.n_tets, &tets, gains);
            tets10.energy_gains(way, self.n_tets, &tets, gains);
        }
        self.gains_of_tets(way, tets, gains);
    }

    fn gains_of_tets(&self, way: Way, tets: Range<usize>, gains: &mut [f64]) {
        if tets.len() > CHUNK {
            let middle = (tets.start + tets.len() / 2).next_multiple_of(CHUNK);
            if middle < tets.end {
                let (before, after) = gains.split_at_mut(middle - tets.start);
                rayon::join(|| self.gains_of_tets(way, tets.start..middle, before), || self.gains_of_tets(way, middle..tets.end, after));
                return;
            }
        }
        for run in self.runs_of(&tets) {
            let own = run.tets.start.max(tets.start)..run.tets.end.min(tets.end);
            let gains = &mut gains[own.start - tets.start..own.end - tets.start];
            run.material.visit(OfRun { groups: self, way, run, tets: own.clone(), gains: &mut *gains, adds: false });
            if let Some(limit) = run.stretch_limit {
                OfRun { groups: self, way, run, tets: own, gains, adds: true }.visit(limit);
            }
        }
    }

    /// Forces of all elements on their corners [N] with the displacements and, where stiffness damping sees them,
    /// velocities of `motions`. Frames follow from those of `states`.
    pub fn forces_at(&self, states: &[Quaternion], motions: &[NodeMotion], forces: &mut Forces, memory: &mut ForcesMemory) {
        forces.tets.resize(self.n_tets, CornerForces::default());
        let chunks = forces.tets.par_chunks_mut(CHUNK).enumerate();
        chunks.for_each(|(chunk, forces)| {
            let tets = chunk * CHUNK..chunk * CHUNK + forces.len();
            for run in self.runs_of(&tets) {
                let own = run.tets.start.max(tets.start)..run.tets.end.min(tets.end);
                let forces = &mut forces[own.start - tets.start..own.end - tets.start];
                run.material.visit(ForcesOfRun {
                    groups: self,
                    states,
                    motions,
                    run,
                    tets: own.clone(),
                    forces: &mut *forces,
                    adds: false,
                });
                if let Some(limit) = run.stretch_limit {
                    ForcesOfRun { groups: self, states, motions, run, tets: own, forces, adds: true }.visit(limit);
                }
            }
        });
        if self.patches.is_none() {
            return;
        }
        // About an iterate that changes nothing, the forces of their pass are those at its end.
        let ForcesMemory { states: followed, changes, damped, tangents } = memory;
        followed.clear();
        followed.extend_from_slice(states);
        changes.resize(motions.len(), [0.0; 4]);
        damped.resize(self.n_lanes(), 0.0);
        let iterate = Iterate { changes, damped, is_first: false };
        self.pass_patches::<f64, true>(followed, motions, Some(iterate), 0.0, &mut forces.patches, tangents);
    }

    /// Whether the energy of all these elements is quadratic as a step takes it, with their frames kept: then the
    /// velocities of the step are where the potential is least.
    pub fn are_quadratic(&self, tets: &Range<usize>) -> bool {
        let of_patches =
            self.patches.as_ref().is_none_or(|Patches { cells, tets10, .. }| cells.are_quadratic(tets) && tets10.are_quadratic(tets));
        of_patches && self.runs_of(tets).iter().all(|run| run.material.visit(IsQuadratic) && run.stretch_limit.is_none())
    }

    /// The runs that some consecutive tets belong to.
    fn runs_of(&self, tets: &Range<usize>) -> &[Run] {
        let first = self.runs.partition_point(|run| run.tets.end <= tets.start);
        let end = self.runs.partition_point(|run| run.tets.start < tets.end);
        &self.runs[first..end.max(first)]
    }
}

/// Tets of one material, on one thread.
struct OfRun<'a> {
    groups: &'a TetGroups,
    way: Way<'a>,
    run: &'a Run,
    tets: Range<usize>,
    gains: &'a mut [f64],
    /// To what is there, instead of taking its place.
    adds: bool,
}

impl Visitor for OfRun<'_> {
    type Output = ();

    fn visit<M: ConstitutiveModel>(self, model: M) {
        Arch::new().dispatch(Pass { model, of: self });
    }
}

struct Pass<'a, M> {
    model: M,
    of: OfRun<'a>,
}

impl<M: ConstitutiveModel> WithSimd for Pass<'_, M> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { model, of: OfRun { groups, way, run, tets, gains, adds } } = self;
        for first in (tets.start / S::F64_LANES * S::F64_LANES..tets.end).step_by(S::F64_LANES) {
            let gain = register::<M, S>(simd, &model, groups, &way, run, first);
            let (zero, mut lanes) = (gain * 0.0, [0.0; LANES]);
            store([gain, zero, zero, zero], &mut lanes, |lane, [gain, ..]| *lane = gain);
            // Lanes of other runs and those beyond the end are not kept.
            let kept = first.max(tets.start)..(first + S::F64_LANES).min(tets.end);
            let (gains, lanes) = (&mut gains[kept.start - tets.start..kept.end - tets.start], &lanes[kept.start - first..kept.end - first]);
            gains.iter_mut().zip(lanes).for_each(|(gain, lane)| *gain = if adds { *gain + lane } else { *lane });
        }
    }
}

/// What the tets of a register remember.
#[derive(Clone, Copy)]
struct Remembered<S: Simd> {
    rotation: Row<S>,
    /// The rotation is given, not followed.
    is_given: bool,
    state: [Row<S>; MAX_STATE_ROWS],
    /// Which features have met where the material has a degeneration ratio.
    pairs: Option<(Degeneration, Row<S>)>,
    /// U_p^-1 - I where the material flows ([`crate::material::Plasticity`]).
    flowed: Option<Matrix<S>>,
}

/// Frames and rows of state of the tets from `first` on; lanes of other runs take the nearest tet of this one.
#[inline(always)]
fn remembered<M: ConstitutiveModel, S: Simd>(simd: S, groups: &TetGroups, states: &[Quaternion], run: &Run, first: usize) -> Remembered<S> {
    let tet = |lane: usize| (first + lane).clamp(run.tets.start, run.tets.end - 1);
    let row_of = |lane: usize, row: usize| groups.n_tets + run.first_row + (tet(lane) - run.tets.start) * run.rows_of_tet + row;
    let mut state = [[Lanes::splat(simd, 0.0); 4]; MAX_STATE_ROWS];
    for (row, state) in state[..M::STATE_ROWS].iter_mut().enumerate() {
        *state = load(simd, |lane| states[row_of(lane, row)]);
    }
    let flowed = run.plasticity.map(|_| {
        let first = run.rows_of_tet - PLASTIC_ROWS;
        plastic_change(&[load(simd, |lane| states[row_of(lane, first)]), load(simd, |lane| states[row_of(lane, first + 1)])])
    });
    let degeneration = run.degeneration.filter(|_| M::TANGENT == Tangent::Warped);
    let pairs = degeneration.map(|rule| (rule, load(simd, |lane| states[row_of(lane, M::STATE_ROWS)])));
    let rotation = run.frame.map_or_else(|| load(simd, |lane| states[tet(lane)]), |frame| load(simd, |_| frame));
    Remembered { rotation, is_given: run.frame.is_some(), state, pairs, flowed }
}

impl<S: Simd> Remembered<S> {
    /// The rotations of the tets of a register at the gradients G = F - I.
    #[inline(always)]
    fn follow(&self, simd: S, element: &Register<S>, gradient: &Matrix<S>) -> Row<S> {
        if self.is_given {
            return self.rotation;
        }
        let q = rotation::follow(self.rotation, &plus_identity(gradient));
        match &self.pairs {
            None => q,
            Some((rule, pairs)) => rule.turn(simd, &element.gradients, gradient, *pairs, q),
        }
    }
}

/// The gains of the tets from `first` on, a register of them.
#[inline(always)]
fn register<M: ConstitutiveModel, S: Simd>(simd: S, model: &M, groups: &TetGroups, way: &Way, run: &Run, first: usize) -> Lanes<S> {
    let (g, k) = (first / LANES, first % LANES / S::F64_LANES);
    let mut element = groups.groups[g].register(simd, k);
    let [displacements, velocities] = groups.groups[g].motions(simd, k, way.motions);
    let remembered = remembered::<M, S>(simd, groups, way.states, run, first);
    let flowed = remembered.flowed;
    let gradient = match &flowed {
        None => Tet4::gradient(&element.gradients, &displacements),
        Some(change) => element.reshape(change, &displacements),
    };
    let rates = Tet4::gradient(&element.gradients, &velocities);
    let time = Lanes::splat(simd, way.time);
    let end: Matrix<S> = [plus(&gradient[0], time, &rates[0]), plus(&gradient[1], time, &rates[1]), plus(&gradient[2], time, &rates[2])];
    let state = &remembered.state[..M::STATE_ROWS];
    let damping = way.damping.filter(|_| run.stiffness_damping > 0.0);
    let (mut q, mut q_end) = (remembered.rotation, remembered.rotation);
    // A tangent counts on the frame in any case.
    if (M::IS_FRAMED || damping.is_some()) && (M::TANGENT != Tangent::Warped || way.turns_frames) {
        q = remembered.follow(simd, &element, &gradient);
        q_end = Remembered { rotation: q, ..remembered }.follow(simd, &element, &end);
    }
    let at = Deformation { gradient, rotation: rotation::matrices(&q), state };
    let at_end = Deformation { gradient: end, rotation: rotation::matrices(&q_end), state };
    let gain = model.energy_at(element.volume, &at_end) - model.energy_at(element.volume, &at);
    match damping {
        Some(damping) => {
            let at = model.kinematics(&at);
            let change = model.differential(&at, &model.moduli(element.volume, &at), &rates);
            let part = way.time / damping.time_step;
            let before = groups.gradient(simd, g, k, damping.velocities);
            let before = flowed.map_or(before, |change| times(&before, &plus_identity(&change)));
            let along = |a: &Matrix<S>| dot(&change[0], &a[0]) + dot(&change[1], &a[1]) + dot(&change[2], &a[2]);
            let work = along(&before) * part + along(&rates) * (0.5 * damping.factor * part * part);
            work * (run.stiffness_damping * damping.time_step) + gain
        }
        None => gain,
    }
}

/// Tets of one material, on one thread.
struct ForcesOfRun<'a> {
    groups: &'a TetGroups,
    states: &'a [Quaternion],
    motions: &'a [NodeMotion],
    run: &'a Run,
    tets: Range<usize>,
    forces: &'a mut [CornerForces],
    /// To what is there, instead of taking its place.
    adds: bool,
}

impl Visitor for ForcesOfRun<'_> {
    type Output = ();

    fn visit<M: ConstitutiveModel>(self, model: M) {
        Arch::new().dispatch(ForcesPass { model, of: self });
    }
}

struct ForcesPass<'a, M> {
    model: M,
    of: ForcesOfRun<'a>,
}

impl<M: ConstitutiveModel> WithSimd for ForcesPass<'_, M> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { model, of: ForcesOfRun { groups, states, motions, run, tets, forces, adds } } = self;
        for first in (tets.start / S::F64_LANES * S::F64_LANES..tets.end).step_by(S::F64_LANES) {
            let (g, k) = (first / LANES, first % LANES / S::F64_LANES);
            let mut element = groups.groups[g].register(simd, k);
            let [displacements, velocities] = groups.groups[g].motions(simd, k, motions);
            let remembered = remembered::<M, S>(simd, groups, states, run, first);
            let gradient = match &remembered.flowed {
                None => Tet4::gradient(&element.gradients, &displacements),
                Some(change) => element.reshape(change, &displacements),
            };
            let q = remembered.follow(simd, &element, &gradient);
            let at = Deformation { gradient, rotation: rotation::matrices(&q), state: &remembered.state[..M::STATE_ROWS] };
            let at = model.kinematics(&at);
            let mut stress = model.stress(element.volume, &at);
            if run.stiffness_damping > 0.0 {
                let rates = Tet4::gradient(&element.gradients, &velocities);
                let damping = model.differential(&at, &model.moduli(element.volume, &at), &rates);
                for (stress, damping) in stress.iter_mut().zip(&damping) {
                    *stress = plus(stress, Lanes::splat(simd, run.stiffness_damping), damping);
                }
            }
            let (zero, one) = (Lanes::splat(simd, 0.0), Lanes::splat(simd, 1.0));
            let corners = Tet4::scatter(&element.gradients, &stress, -one);
            let mut lanes = [CornerForces::default(); LANES];
            for (c, [x, y, z]) in corners.into_iter().enumerate() {
                store([x, y, z, zero], &mut lanes, |forces, force| forces[c] = force);
            }
            let kept = first.max(tets.start)..(first + S::F64_LANES).min(tets.end);
            let (forces, lanes) =
                (&mut forces[kept.start - tets.start..kept.end - tets.start], &lanes[kept.start - first..kept.end - first]);
            for (place, force) in forces.as_flattened_mut().as_flattened_mut().iter_mut().zip(lanes.as_flattened().as_flattened()) {
                *place = if adds { *place + force } else { *force };
            }
        }
    }
}
