//! Springs between bodies.

use crate::math::Vec3;

/// A damped spring between two points: the force along it is `stiffness * (distance - length) + damping * d distance / dt`.
#[derive(Clone, Debug, PartialEq)]
pub struct Attachment {
    pub name: String,
    pub ends: [End; 2],
    /// [N/m]
    pub stiffness: f64,
    /// [N s/m]
    pub damping: f64,
    /// Without force [m].
    pub length: f64,
}

/// A point that a spring holds.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// Weighted mean of nodes of the model; the weights sum to 1.
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
