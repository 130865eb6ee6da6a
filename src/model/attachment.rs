//! Springs between bodies.

use super::Model;
use crate::body::BodyRef;
use crate::math::{Isometry, Vec3};

/// A damped spring between two points: the force along it is `stiffness * (distance - length) + damping * d distance / dt`.
/// Without a length it resists motion in all directions: `stiffness * separation + damping * d separation / dt`.
#[derive(Clone, Debug, PartialEq)]
pub struct Attachment {
    pub name: String,
    pub ends: [End; 2],
    /// [N/m], > 0.
    pub stiffness: f64,
    /// [N s/m]
    pub damping: f64,
    /// Without force [m].
    pub length: f64,
}

/// A point that a spring holds.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// Weighted mean of nodes of one body of the model; the weights sum to 1.
    Nodes(Vec<(u32, f64)>),
    /// A point of the frame of `model.rigid_bodies[body]`.
    Rigid {
        body: usize,
        point: Vec3,
    },
    /// A point of the frame of `model.obstacles[obstacle]`.
    Obstacle {
        obstacle: usize,
        point: Vec3,
    },
    World(Vec3),
}

impl Attachment {
    /// Where the two ends are [m] (see `End::position`).
    pub fn points(&self, model: &Model, displacement: impl Fn(usize) -> Vec3, pose: impl Fn(usize) -> Isometry, time: f64) -> [Vec3; 2] {
        self.ends.each_ref().map(|end| end.position(model, &displacement, &pose, time))
    }

    /// The bodies of the two ends.
    pub fn bodies(&self, model: &Model) -> [BodyRef; 2] {
        self.ends.each_ref().map(|end| end.body(model))
    }
}

impl End {
    /// Where the point is [m] with the displacements of nodes and the poses of rigid bodies at a time [s].
    fn position(&self, model: &Model, displacement: impl Fn(usize) -> Vec3, pose: impl Fn(usize) -> Isometry, time: f64) -> Vec3 {
        match self {
            Self::Nodes(nodes) => nodes.iter().map(|(n, w)| (model.rest_positions[*n as usize] + displacement(*n as usize)) * *w).sum(),
            Self::Rigid { body, point } => in_space(&pose(*body), point),
            Self::Obstacle { obstacle, point } => in_space(&model.obstacles[*obstacle].pose_at(time), point),
            Self::World(point) => *point,
        }
    }

    fn body(&self, model: &Model) -> BodyRef {
        match self {
            Self::Nodes(nodes) => nodes.first().map_or(BodyRef::World, |(n, _)| BodyRef::Deformable(model.node_bodies[*n as usize])),
            Self::Rigid { body, .. } => BodyRef::Rigid(*body as u32),
            Self::Obstacle { obstacle, .. } => BodyRef::Obstacle(*obstacle as u32),
            Self::World(_) => BodyRef::World,
        }
    }
}

fn in_space(pose: &Isometry, point: &Vec3) -> Vec3 {
    (pose * nalgebra::Point3::from(*point)).coords
}
