//! What one step is given, and what drives it.

use crate::contact::generate::Detection;
use crate::contact::islands::Island;
use crate::elastic::{SystemInputs, TetGroups};
use crate::geometry::Bvh;
use crate::math::Vec3;
use crate::model::{ContactMethod, Loads, Model, Params, State};

/// What a step is given; nothing of it changes in the step.
#[derive(Clone, Copy)]
pub struct StepInputs<'a> {
    pub model: &'a Model,
    pub groups: &'a TetGroups,
    pub state: &'a State,
    pub params: &'a Params,
    pub loads: &'a Loads,
    /// How contact is solved.
    pub method: ContactMethod,
    /// Deformable bodies that make a step of second order; empty where none does.
    pub second_order: &'a [bool],
    /// Velocity changes of all unknowns about which the step is linearised, once more or for the first time; none where
    /// it is linearised at its start, once.
    pub iterate: Option<&'a [Vec3]>,
    /// Boxes in which the vertices were expected to end. Where they do not, islands may be handed back before they are
    /// solved to the end, so that what they meet now is searched for
    /// ([`IslandWork::is_to_be_searched`](super::IslandWork)); none where they are to be solved.
    pub boxes: Option<&'a Bvh>,
}

/// What drives an island through a step [kg m/s], 2-norms over its nodes and rigid bodies.
pub struct Drive {
    /// The impulse of its loads.
    pub loads: f64,
    pub momentum: f64,
    /// A body at rest without loads has nothing to solve; any positive bound ends it at once.
    pub least: f64,
}

/// An island has left its boxes if more than this part of its vertices has.
const LEFT: f64 = 0.2;

/// How much of the momentum drives an island without loads.
pub const MOMENTUM_SHARE: f64 = 1e-2;

impl Drive {
    /// What the residual is measured against [kg m/s]: the impulse of the loads. Without any, the momentum and the
    /// impulse of the element forces (`element_impulse`, their 2-norm), so that a free body is solved as well as a
    /// loaded one.
    pub fn scale(&self, element_impulse: impl FnOnce() -> f64) -> f64 {
        let scale = if self.loads == 0.0 { MOMENTUM_SHARE * self.momentum + element_impulse() } else { self.loads };
        scale.max(self.least)
    }
}

impl StepInputs<'_> {
    /// What the matrix and the right-hand side are made from.
    pub fn system(&self) -> SystemInputs<'_> {
        let Self { model, state, params, loads, second_order, .. } = *self;
        SystemInputs { model, state, params, loads, second_order }
    }

    /// Displacements of the nodes at the end of the step with the velocity changes of an iterate [m].
    pub fn displacements<'i>(&'i self, iterate: &'i [Vec3]) -> impl Iterator<Item = Vec3> + 'i {
        let (state, dt) = (self.state, self.params.time_step);
        (0..self.model.n_nodes()).map(move |i| state.displacements[i] + (state.velocities[i] + iterate[i]) * dt)
    }

    /// Whether an island, with the velocity changes `dv` of its unknowns, has left the boxes in which its vertices were
    /// expected to end; false without boxes.
    pub fn has_left_boxes(&self, detection: &Detection, island: &Island, dv: &[Vec3]) -> bool {
        let Some(boxes) = self.boxes else { return false };
        let end = detection.step.end_positions(island, dv);
        let (mut n_outside, mut n_vertices) = (0, 0);
        for segment in &island.segments {
            let vertices = &detection.step.surfaces.features(segment.body).vertices;
            n_outside += boxes.n_outside(vertices.clone(), &end.x);
            n_vertices += vertices.len();
        }
        n_outside as f64 > LEFT * n_vertices as f64
    }

    /// What drives an island, but for the element forces.
    pub fn drive(&self, island: &Island) -> Drive {
        let Self { model, state, params, loads, .. } = *self;
        let dt = params.time_step;
        let nodes = || island.deformable().iter().flat_map(|segment| segment.unknowns.clone());
        let of_nodes = nodes().map(|i| (model.node_masses[i], state.velocities[i]));
        let of_rigid = island.rigid().iter().filter_map(|segment| {
            let r = segment.body.index();
            let (mass, _) = model.rigid_bodies[r].inertia_in_space(&state.rigid_bodies[r].pose.rotation)?;
            Some((mass, state.rigid_bodies[r].velocity))
        });
        let (mass2, momentum2) =
            of_nodes.chain(of_rigid).fold((0.0, 0.0), |(mass2, momentum2), (m, v)| (mass2 + m * m, momentum2 + v.norm_squared() * m * m));
        let mut scale = dt * params.gravity.norm() * mass2.sqrt();
        if !loads.node_forces.is_empty() {
            scale += dt * nodes().map(|i| loads.node_forces[i].norm_squared()).sum::<f64>().sqrt();
        }
        // The impulse of a joint, or, if it is stiff, one that would take its stretch away.
        for attachment in model.attachments.iter().filter(|a| island.owns(model, a.bodies(model))) {
            let [a, b] = state.attachment_points(model, attachment);
            let stretch = ((a - b).norm() - attachment.length).abs();
            scale += dt * stretch / (1.0 / attachment.stiffness + dt * dt / mass2.sqrt());
        }
        Drive { loads: scale, momentum: momentum2.sqrt(), least: 1e-12 * mass2.sqrt() }
    }
}
