//! The spin of bodies that find back to their shape. Elements in frames that stay for a step, and one frame of a whole
//! body above all, turn what is far from it: a scrambled body would come out of its tangle spinning. Nothing outside
//! has turned it, so what it had is what it keeps.

use super::StepInputs;
use super::guard::is_touched;
use crate::contact::Constraint;
use crate::math::{Mat3, Vec3};
use crate::model::{Body, HeldPoint};

/// Bodies without an extent across some axis have no inertia about it; this part of the others keeps it from being 0.
const LEAST_INERTIA: f64 = 1e-12;

/// Takes a common turning from the velocity changes `dv` of each tangled body that nothing holds and nothing touches, so
/// that its angular momentum changes by what loads and mass damping do to it. True if there is such a body.
///
/// With positions that end at `x + dt v'`, angular momentum changes by the sum of `x × m dv` to the last digit, x
/// counted from the centre of mass.
pub(super) fn keep_spin(step: &StepInputs, contacts: &[Constraint], dv: &mut [Vec3]) -> bool {
    let StepInputs { model, state, .. } = *step;
    let is_free = |body: &Body| {
        let is_held = |node: usize| model.fixed[node];
        !body.nodes.clone().any(is_held) && !is_grabbed(step, body) && !is_touched(model, body, contacts)
    };
    let bodies = model.bodies.iter().zip(&state.tangled).filter(|(body, is_tangled)| **is_tangled && is_free(body));
    bodies.fold(false, |any, (body, _)| turn_back(step, body, dv) || any)
}

fn turn_back(step: &StepInputs, body: &Body, dv: &mut [Vec3]) -> bool {
    let StepInputs { model, state, params, loads, .. } = *step;
    let system = step.system();
    let mass = |node: usize| model.node_masses[node];
    let place = |node: usize| model.rest_positions[node] + state.displacements[node];
    let center = body.nodes.clone().map(|node| place(node) * mass(node)).sum::<Vec3>() / body.mass;
    let (mut change, mut inertia) = (Vec3::zeros(), Mat3::zeros());
    for node in body.nodes.clone() {
        let (arm, of_node) = (place(node) - center, system.inertia(node));
        let load = loads.node_forces.get(node).map_or_else(Vec3::zeros, |force| force * params.time_step);
        let impulse = (dv[node] * of_node.factor - of_node.momentum) * mass(node) - load;
        change += arm.cross(&impulse);
        inertia += (Mat3::identity() * arm.norm_squared() - arm * arm.transpose()) * (mass(node) * of_node.factor);
    }
    let Some(inverse) = (inertia + Mat3::identity() * (LEAST_INERTIA * inertia.trace())).try_inverse() else { return false };
    let turning = inverse * change;
    for node in body.nodes.clone() {
        dv[node] -= turning.cross(&(place(node) - center));
    }
    true
}

fn is_grabbed(step: &StepInputs, body: &Body) -> bool {
    let holds = |point: &HeldPoint| matches!(point, HeldPoint::Nodes { nodes, .. } if body.nodes.contains(&(nodes[0] as usize)));
    step.loads.grabs.iter().any(|grab| holds(&grab.point))
}
