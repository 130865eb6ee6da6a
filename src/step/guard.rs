//! The energy guard: a step that is linearised once may overshoot where a material stiffens or softens on the way, and
//! what overshoots explodes. No body may end where its incremental potential is higher than where it would stand still
//! (`materials-study.md` 0.3).
//!
//! A body whose elements are all corotational is not looked at: with the frames of the step its potential is quadratic,
//! and the velocities of the step are where that is least. Every other body costs a pass over its energies.

use std::ops::Range;

use super::potential::{Potential, gather_impulses};
use super::{StepError, StepInputs};
use crate::body::BodyRef;
use crate::contact::Constraint;
use crate::elastic::{self, NodeMotion, Quaternion, gather_motions};
use crate::math::Vec3;
use crate::model::{Body, Model};

/// A motion is halved at most this often; one that still gains energy is given up but for the common motion of its
/// body.
const MAX_HALVINGS: u32 = 12;

/// Memory of the guard, kept from step to step.
#[derive(Default)]
pub(super) struct Guard {
    /// Ranges of bodies that are looked at; once they are known.
    guarded: Option<Vec<Range<usize>>>,
    impulses: Vec<Vec3>,
    /// Velocities beside the common motion of each body [m/s], with displacements before them in `motions`.
    own: Vec<Vec3>,
    motions: Vec<NodeMotion>,
    gains: Vec<f64>,
}

/// What came of a look.
#[derive(Default)]
pub(super) struct Guarded {
    /// Halvings of the motions of all bodies together.
    pub halvings: u32,
    /// A body that something touches had to be held back, which keeps no friction and no gap: smaller steps may mend
    /// it.
    pub refused: Option<StepError>,
}

impl Guard {
    /// Holds back what gains energy with the velocity changes `dv`, body by body: velocities beside the common motion
    /// of the body, which keeps its momentum, are halved until it gains none. `states`: what elements remember in this
    /// step; `contacts`: all that were solved, with their forces; `residual`: what the solve has left, as a part of the
    /// driving impulse.
    pub fn hold_back(
        &mut self,
        step: &StepInputs,
        states: &[Quaternion],
        contacts: &[Constraint],
        residual: f64,
        dv: &mut [Vec3],
    ) -> Guarded {
        let StepInputs { model, groups, state, params, loads, .. } = *step;
        let Self { guarded, impulses, own, motions, gains } = self;
        let guarded = guarded.get_or_insert_with(|| guarded_bodies(step));
        let mut outcome = Guarded::default();
        if guarded.is_empty() {
            return outcome;
        }
        gather_impulses(step, contacts, impulses);
        own.clear();
        own.resize(model.n_nodes(), Vec3::zeros());
        let bodies = || guarded.iter().flat_map(|range| &model.bodies[range.clone()]);
        for body in bodies() {
            let common = common_velocity(model, body, |node| state.velocities[node] + dv[node]);
            body.nodes.clone().for_each(|node| own[node] = state.velocities[node] + dv[node] - common);
        }
        gather_motions(&state.displacements, own, motions);
        gains.resize(model.tets.len(), 0.0);
        let way = |part: f64| elastic::Way { states, motions, time: params.time_step * part, turns_frames: false, damping: None };
        for range in &*guarded {
            let tets = model.bodies[range.start].tets.start..model.bodies[range.end - 1].tets.end;
            groups.energy_gains(way(1.0), tets.clone(), &mut gains[tets]);
        }
        let potential = Potential { step: *step, impulses };
        let residual = residual.max(params.tolerance);
        for body in bodies() {
            let from = |node: usize| dv[node] - own[node];
            let course = potential.way(body, from, own);
            let gain = |part: f64, gains: &[f64]| course.gain(part, gains[body.tets.clone()].iter().sum());
            let is_allowed = |part: f64, gains: &[f64]| course.allows(gain(part, gains), model, body, residual);
            if is_allowed(1.0, gains) {
                continue;
            }
            let most = (0..body.tets.len()).max_by(|a, b| gains[body.tets.start + a].total_cmp(&gains[body.tets.start + b]));
            let halved = (1..=MAX_HALVINGS).map(|halvings| (halvings, 0.5_f64.powi(halvings as i32))).find(|(_, part)| {
                groups.energy_gains(way(*part), body.tets.clone(), &mut gains[body.tets.clone()]);
                is_allowed(*part, gains)
            });
            let (halvings, part) = halved.unwrap_or((MAX_HALVINGS, 0.0));
            outcome.halvings += halvings;
            body.nodes.clone().for_each(|node| dv[node] -= own[node] * (1.0 - part));
            if is_touched(model, body, contacts) && outcome.refused.is_none() {
                let error = StepError::GainsEnergy { body: body.name.clone(), tet: most.unwrap_or(0), step: loads.step };
                outcome.refused = Some(error);
            }
        }
        outcome
    }
}

/// Ranges of consecutive bodies with elements whose energy the step does not know.
fn guarded_bodies(step: &StepInputs) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = vec![];
    for (b, body) in step.model.bodies.iter().enumerate().filter(|(_, body)| !step.groups.are_quadratic(&body.tets)) {
        match ranges.last_mut() {
            Some(last) if last.end == b => last.end = b + 1,
            _ => ranges.push(b..b + 1),
        }
        debug_assert!(!body.tets.is_empty());
    }
    ranges
}

/// The velocity of the centre of mass [m/s]; zero of a body that is fixed somewhere.
fn common_velocity(model: &Model, body: &Body, velocity: impl Fn(usize) -> Vec3) -> Vec3 {
    if model.fixed[body.nodes.clone()].contains(&true) {
        return Vec3::zeros();
    }
    body.nodes.clone().map(|node| velocity(node) * model.node_masses[node]).sum::<Vec3>() / body.mass
}

/// A contact or a joint pushes or pulls the body.
pub(super) fn is_touched(model: &Model, body: &Body, contacts: &[Constraint]) -> bool {
    let number = model.bodies.partition_point(|other| other.nodes.start < body.nodes.start);
    let own = BodyRef::Deformable(number as u32);
    contacts.iter().any(|contact| contact.bodies.contains(&own) && (contact.law.is_bilateral() || contact.is_active()))
}
