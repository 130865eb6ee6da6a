//! What a scene says beyond deformable bodies and exact obstacles: plain data.

use std::collections::BTreeMap;

use crate::math::{Isometry, Mat3, Vec3};
use crate::model::{Motion, Shape};

/// What moves a rigid body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mobility {
    /// Forces.
    Free {
        /// [kg]
        mass: f64,
        /// About the centre of mass, in the body's frame [kg m^2].
        inertia: Mat3,
    },
    /// A given motion; none stands still.
    Driven(Option<Motion>),
}

/// A body with a surface of triangles that keeps its shape: free, static or driven.
#[derive(Clone, Debug, PartialEq)]
pub struct RigidInput {
    pub name: String,
    pub mobility: Mobility,
    /// Surface in the body's frame [m]. Its origin is the centre of mass of a free body, else the point that its motion turns about.
    pub vertices: Vec<Vec3>,
    /// Outward-facing.
    pub triangles: Vec<[u32; 3]>,
    /// What the surface stands for, in the same frame, where that is a shape.
    pub shape: Option<Shape>,
    /// Of the body's frame at time 0.
    pub pose: Isometry,
    /// At time 0 [m/s], [rad/s], in space, of free bodies.
    pub velocity: Vec3,
    pub angular_velocity: Vec3,
    pub color: Option<[f32; 3]>,
}

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
    /// A point of the frame of `rigid_bodies[body]`.
    Rigid { body: usize, point: Vec3 },
    /// A point of the frame of `model.obstacles[obstacle]`.
    Obstacle { obstacle: usize, point: Vec3 },
    World(Vec3),
}

/// Coulomb's coefficient for every pair of bodies. All are in one numbering: deformable, then rigid (`Built::rigid_bodies`), then
/// obstacles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frictions {
    pub default: f64,
    /// The entry of the scene's list of bodies that each body is a copy of.
    pub classes: Vec<u32>,
    /// By class, the lower one first.
    pub pairs: BTreeMap<(u32, u32), f64>,
}

impl Frictions {
    /// The coefficient of two bodies, in either order.
    pub fn between(&self, a: usize, b: usize) -> f64 {
        let (a, b) = (self.classes[a], self.classes[b]);
        *self.pairs.get(&(a.min(b), a.max(b))).unwrap_or(&self.default)
    }
}
