//! Bodies that stand still in mid-air: nothing holds them, and yet they do not fall. That is a fault of the solve or of
//! what limits it, and is told by name.

#[cfg(test)]
mod tests;

use rayon::prelude::*;

use super::StepInputs;
use crate::body::BodyRef;
use crate::contact::Constraint;
use crate::disjoint_sets::DisjointSets;
use crate::math::Vec3;
use crate::model::HeldPoint;

/// What does not take this part of the momentum that it should does not fall.
const TAKEN: f64 = 0.1;
/// What is faster than after this many steps of free fall is not at rest: something stops it.
const STILL_STEPS: f64 = 4.0;
/// A body on which gravity and damping act against each other to within this part of gravity falls evenly.
const UNBALANCED: f64 = 0.1;

/// Bodies that a thread looks at, at least.
const BODIES: usize = 64;

/// Mass [kg] and momenta [kg m/s] of bodies that hang together.
#[derive(Clone, Copy, Default)]
struct Cluster {
    is_held: bool,
    mass: f64,
    /// At the end of the step.
    momentum: Vec3,
    /// What the step has given, and what gravity and damping should have.
    gained: Vec3,
    expected: Vec3,
}

/// Memory of the search, kept from step to step.
#[derive(Default)]
pub(super) struct Hanging {
    sets: DisjointSets,
    clusters: Vec<Cluster>,
}

impl Hanging {
    /// The bodies that do not fall with the velocity changes `dv` though no contact, joint, grab or force holds them, and
    /// none of those that they touch, and they are not `limited` by what they would have gone through. Sums over all that
    /// hangs together: forces between them do not count.
    pub fn find(&mut self, step: &StepInputs, dv: &[Vec3], contacts: &[Constraint], limited: &[BodyRef]) -> Vec<BodyRef> {
        let StepInputs { model, state, params, loads, .. } = *step;
        let (dt, gravity) = (params.time_step, params.gravity);
        if gravity == Vec3::zeros() {
            return vec![];
        }
        let numbering = model.numbering();
        let n = numbering.n_with_unknowns();
        let Self { sets, clusters } = self;
        sets.reset(n);
        clusters.clear();
        clusters.resize(n, Cluster::default());
        let movable = |body: BodyRef| numbering.number(body).filter(|_| model.is_movable(body));
        for contact in contacts.iter().filter(|contact| contact.law.is_bilateral() || contact.is_active()) {
            match contact.bodies.map(movable) {
                [Some(a), Some(b)] => drop(sets.join(a, b)),
                [Some(held), None] | [None, Some(held)] => clusters[held].is_held = true,
                [None, None] => {}
            }
        }
        limited.iter().filter_map(|body| movable(*body)).for_each(|held| clusters[held].is_held = true);
        let node_of_body = |node: usize| model.bodies.iter().position(|body| body.nodes.contains(&node));
        for grab in &loads.grabs {
            let held = match grab.point {
                HeldPoint::Nodes { nodes, .. } => node_of_body(nodes[0] as usize),
                HeldPoint::Rigid { body, .. } => numbering.number(BodyRef::Rigid(body as u32)),
            };
            held.into_iter().for_each(|held| clusters[held].is_held = true);
        }
        clusters.par_iter_mut().with_min_len(BODIES).enumerate().for_each(|(number, cluster)| {
            let body = numbering.body(number);
            if let BodyRef::Deformable(_) = body {
                let body = &model.bodies[body.index()];
                let damping = dt * body.mass_damping;
                let is_pushed = |node: usize| loads.node_forces.get(node).is_some_and(|force| *force != Vec3::zeros());
                cluster.is_held |= body.nodes.clone().any(|node| model.fixed[node] || is_pushed(node));
                for node in body.nodes.clone() {
                    let (mass, velocity) = (model.node_masses[node], state.velocities[node]);
                    cluster.mass += mass;
                    cluster.gained += dv[node] * mass;
                    cluster.momentum += (velocity + dv[node]) * mass;
                    cluster.expected += (gravity * dt - velocity * damping) * (mass / (1.0 + damping));
                }
            } else if let Some((mass, _)) =
                model.rigid_bodies[body.index()].inertia_in_space(&state.rigid_bodies[body.index()].pose.rotation)
            {
                let gained = dv[model.linear_unknown(body.index())];
                cluster.mass = mass;
                cluster.gained = gained * mass;
                cluster.momentum = (state.rigid_bodies[body.index()].velocity + gained) * mass;
                cluster.expected = gravity * (dt * mass);
            }
        });
        for number in 0..n {
            let root = sets.root(number);
            if root != number {
                let Cluster { is_held, mass, momentum, gained, expected } = clusters[number];
                let whole = &mut clusters[root];
                whole.is_held |= is_held;
                whole.mass += mass;
                whole.momentum += momentum;
                whole.gained += gained;
                whole.expected += expected;
            }
        }
        let hangs = |cluster: &Cluster| {
            let fall = cluster.mass * dt * gravity.norm();
            let expected = cluster.expected.norm();
            !cluster.is_held
                && expected > UNBALANCED * fall
                && cluster.gained.dot(&cluster.expected) < TAKEN * expected * expected
                && cluster.momentum.norm() < STILL_STEPS * fall
        };
        (0..n).filter(|number| hangs(&clusters[sets.root(*number)])).map(|number| numbering.body(number)).collect()
    }
}
