//! Bodies that deformable ones meet but that nothing moves: static, or driven along a given motion.

use super::Motion;
use crate::geometry::Shape;
use crate::math::Isometry;

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
