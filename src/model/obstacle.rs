//! Bodies that deformable ones meet but that nothing moves: static, or driven along a given motion.

use super::Motion;
use crate::math::{Isometry, Vec3};

/// Geometry in the obstacle's own frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// The half space below the local plane y = 0; its outward normal is local +y.
    Plane,
    /// A box centred at the origin.
    Box { half_extents: Vec3 },
    /// A ball centred at the origin.
    Sphere { radius: f64 },
    /// A capped cylinder around the local y axis, centred at the origin.
    Cylinder { radius: f64, half_height: f64 },
}

#[derive(Clone, Debug)]
pub struct Obstacle {
    pub name: String,
    pub shape: Shape,
    /// Pose at time 0.
    pub pose: Isometry,
    /// None for a static obstacle.
    pub motion: Option<Motion>,
    /// Coulomb friction coefficient against each deformable body, by body index.
    pub friction: Vec<f64>,
    /// Colour to draw it with, linear RGB, if the scene says.
    pub color: Option<[f32; 3]>,
}

impl Obstacle {
    /// Pose at `time` [s].
    pub fn pose_at(&self, time: f64) -> Isometry {
        self.motion.as_ref().map_or(self.pose, |motion| motion.pose_at(&self.pose, time))
    }
}
