//! Springs between bodies.

use super::Model;
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

    /// The contact bodies (`Model::contact_body_name`) of the two ends; none of a point of the world.
    pub fn contact_bodies(&self, model: &Model) -> [Option<usize>; 2] {
        self.ends.each_ref().map(|end| end.contact_body(model))
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

    fn contact_body(&self, model: &Model) -> Option<usize> {
        match self {
            Self::Nodes(nodes) => nodes.first().map(|(n, _)| model.node_bodies[*n as usize] as usize),
            Self::Rigid { body, .. } => Some(model.bodies.len() + body),
            Self::Obstacle { obstacle, .. } => Some(model.obstacle_body(*obstacle)),
            Self::World(_) => None,
        }
    }
}

fn in_space(pose: &Isometry, point: &Vec3) -> Vec3 {
    (pose * nalgebra::Point3::from(*point)).coords
}
