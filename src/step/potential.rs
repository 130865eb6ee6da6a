//! The incremental potential of a body in a step: the velocity changes that an implicit step asks for are where it is
//! least.
//!
//! ```text
//! e(dv) = factor/2 |dv|^2_M - momentum . dv + Psi(x + dt (v + dv)) - impulses . dv   [J]
//! ```
//!
//! with the mass factor and the momentum of [`SystemInputs::inertia`](crate::elastic::SystemInputs::inertia), the
//! strain energy Psi with what stiffness damping takes, and the impulses of gravity, loads, grabs and contacts, whose
//! forces count as given. Its gradient is minus the residual of the step; for backward Euler it is |y - x - dt v|^2_M /
//! (2 dt^2) + Psi(y) up to a constant (`materials-study.md` 0.3). Only differences along straight ways are asked for.

use super::StepInputs;
use crate::contact::Constraint;
use crate::elastic::{grab_factor, pull};
use crate::math::Vec3;
use crate::model::{Body, HeldPoint, Model, Tet};

/// Rounding of the energy of an element, in parts of its volume times its moduli: a body at rest gains as much.
const ROUNDING: f64 = 1e-13;

/// The potential in one step.
pub(super) struct Potential<'a> {
    pub step: StepInputs<'a>,
    /// Impulses of contacts and joints on the nodes [kg m/s].
    pub impulses: &'a [Vec3],
}

/// What a body gains along a way, but for its elements: `linear a + quadratic a^2 / 2` after the part a of the way [J].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Way {
    pub linear: f64,
    pub quadratic: f64,
    /// 2-norm of the change of velocities over the nodes [m/s].
    pub length: f64,
    /// 2-norm of the impulses of loads and contacts [kg m/s]; of the momentum, in part, where there are none.
    pub drive: f64,
}

impl Way {
    /// Whether the body may gain so much [J]: what a residual, as a part of the driving impulse, and rounding let it.
    /// What is not a number it may not.
    pub fn allows(&self, gain: f64, model: &Model, body: &Body, residual: f64) -> bool {
        let of_residual = residual * self.drive * self.length;
        let stiffness = |tet: &Tet| {
            let lame = model.material(tet).lame();
            (lame.lambda + 2.0 * lame.mu) * tet.volume
        };
        let rounding = || ROUNDING * model.tets[body.tets.clone()].iter().map(stiffness).sum::<f64>();
        // Rounding, a sum over all tets, decides hardly ever.
        gain <= of_residual || gain <= of_residual + rounding()
    }

    /// What the body gains after a part of the way, where its elements gain `strain_energy` [J].
    pub fn gain(&self, part: f64, strain_energy: f64) -> f64 {
        (self.linear + 0.5 * part * self.quadratic) * part + strain_energy
    }
}

/// Adds up the impulses of contacts and joints on nodes [kg m/s].
pub(super) fn gather_impulses(step: &StepInputs, contacts: &[Constraint], impulses: &mut Vec<Vec3>) {
    let n_nodes = step.model.n_nodes();
    impulses.clear();
    impulses.resize(n_nodes, Vec3::zeros());
    for contact in contacts.iter().filter(|contact| contact.law.is_bilateral() || contact.is_active()) {
        contact.row.spread(&contact.force_on_first(), 1.0, step.params.time_step, |unknown, impulse| {
            if unknown < n_nodes {
                impulses[unknown] += impulse;
            }
        });
    }
}

impl Potential<'_> {
    /// The way of a body from the velocity changes `from` [m/s] to those and `along`; fixed nodes stay.
    pub fn way(&self, body: &Body, from: impl Fn(usize) -> Vec3, along: &[Vec3]) -> Way {
        let StepInputs { model, state, params, loads, .. } = self.step;
        let (dt, system) = (params.time_step, self.step.system());
        let mut way = Way::default();
        let (mut length2, mut drive2, mut momentum2) = (0.0, 0.0, 0.0);
        for node in body.nodes.clone().filter(|node| !model.fixed[*node]) {
            let (mass, inertia, change) = (model.node_masses[node], system.inertia(node), along[node]);
            let mut impulse = params.gravity * (mass * dt) + self.impulses[node];
            if let Some(force) = loads.node_forces.get(node) {
                impulse += force * dt;
            }
            way.linear += change.dot(&((from(node) * inertia.factor - inertia.momentum) * mass - impulse));
            way.quadratic += change.norm_squared() * inertia.factor * mass;
            length2 += change.norm_squared();
            drive2 += impulse.norm_squared();
            momentum2 += state.velocities[node].norm_squared() * mass * mass;
        }
        for grab in &loads.grabs {
            let HeldPoint::Nodes { nodes, weights } = grab.point else { continue };
            if !body.nodes.contains(&(nodes[0] as usize)) {
                continue;
            }
            let at_point = |of: &dyn Fn(usize) -> Vec3| nodes.iter().zip(&weights).map(|(n, w)| of(*n as usize) * *w).sum::<Vec3>();
            let (change, factor, pull) = (at_point(&|n| along[n]), grab_factor(grab, dt), pull(grab, model, state, dt));
            way.linear += change.dot(&(at_point(&from) * factor - pull));
            way.quadratic += change.norm_squared() * factor;
            drive2 += pull.norm_squared();
        }
        way.length = f64::sqrt(length2);
        way.drive = if drive2 > 0.0 { f64::sqrt(drive2) } else { super::MOMENTUM_SHARE * f64::sqrt(momentum2) };
        way
    }
}
