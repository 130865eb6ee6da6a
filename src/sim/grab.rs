//! Holding a material point of a surface.

use super::CommandError;
use crate::math::Vec3;
use crate::model::Model;
use crate::solver::{Grab, State};

/// Natural frequency of a body on its grab spring [rad/s]: a hand that follows at about 2 Hz.
const FREQUENCY: f64 = 2.0 * std::f64::consts::PI * 2.0;
/// Damping ratio of that spring.
const DAMPING_RATIO: f64 = 0.5;
/// The pull saturates at this many times the body's weight on earth: enough to throw it, too little to tear it, whatever the mouse does.
const MAX_WEIGHTS: f64 = 5.0;

/// A grab as the simulation keeps it.
#[derive(Clone, Debug)]
pub struct Held {
    pub id: u32,
    pub target: Vec3,
    nodes: [u32; 12],
    weights: [f64; 12],
    stiffness: f64,
    damping: f64,
    max_force: f64,
}

/// A grab as others see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GrabView {
    pub id: u32,
    /// The held material point [m].
    pub point: Vec3,
    /// Where it is pulled to [m].
    pub target: Vec3,
    /// On the body [N].
    pub force: Vec3,
}

impl Held {
    pub fn new(model: &Model, id: u32, triangle: u32, barycentric: [f64; 3], target: Vec3) -> Result<Self, CommandError> {
        let n_triangles = model.surface.triangles.len();
        let vertices = model.surface.triangles.get(triangle as usize).ok_or(CommandError::NoTriangle { triangle, n_triangles })?;
        let sum: f64 = barycentric.iter().sum();
        if !(sum.is_finite() && sum > 0.0) {
            return Err(CommandError::BadValue {
                what: "barycentric weights",
                and: " with a positive sum",
                value: format!("{barycentric:?}"),
            });
        }
        // Three vertices with four nodes each; a node that occurs twice gets one entry with the sum of its weights.
        let (mut nodes, mut weights, mut n) = ([0u32; 12], [0.0; 12], 0);
        for (vertex, b) in vertices.iter().zip(barycentric) {
            let k = *vertex as usize;
            for (node, weight) in model.surface.nodes[k].iter().zip(&model.surface.weights[k]).filter(|(_, w)| **w != 0.0) {
                let slot = nodes[..n].iter().position(|m| m == node).unwrap_or(n);
                nodes[slot] = *node;
                weights[slot] += weight * b / sum;
                n = n.max(slot + 1);
            }
        }
        let unused = nodes[0];
        nodes[n..].fill(unused);
        let body = &model.bodies[model.surface.bodies[vertices[0] as usize] as usize];
        let stiffness = body.mass * FREQUENCY * FREQUENCY;
        Ok(Self {
            id,
            target,
            nodes,
            weights,
            stiffness,
            damping: 2.0 * DAMPING_RATIO * body.mass * FREQUENCY,
            max_force: MAX_WEIGHTS * body.mass * 9.81,
        })
    }

    fn gather(&self, x: &[Vec3]) -> Vec3 {
        self.nodes.iter().zip(&self.weights).map(|(n, w)| x[*n as usize] * *w).sum()
    }

    fn point(&self, model: &Model, state: &State) -> Vec3 {
        self.gather(&model.rest_positions) + self.gather(&state.displacements)
    }

    /// The target, no further from the point than where the pull saturates.
    fn reachable_target(&self, point: &Vec3) -> Vec3 {
        let (offset, reach) = (self.target - point, self.max_force / self.stiffness);
        let length = offset.norm();
        if length > reach { point + offset * (reach / length) } else { self.target }
    }

    /// The load that the next step takes.
    pub fn load(&self, model: &Model, state: &State) -> Grab {
        Grab {
            nodes: self.nodes,
            weights: self.weights,
            stiffness: self.stiffness,
            damping: self.damping,
            target: self.reachable_target(&self.point(model, state)),
        }
    }

    pub fn view(&self, model: &Model, state: &State) -> GrabView {
        let point = self.point(model, state);
        let force = (self.reachable_target(&point) - point) * self.stiffness - self.gather(&state.velocities) * self.damping;
        GrabView { id: self.id, point, target: self.target, force }
    }
}
