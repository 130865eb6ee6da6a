//! Contact rows J = C H, their states, friction, and the preconditioned conjugate-residual solver.

use crate::math::Vec3;

/// Active contacts at the end of a step: the warm start of the next one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContactMemory {
    /// Sorted by (vertex, obstacle).
    pub entries: Vec<RememberedContact>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RememberedContact {
    /// Surface vertex.
    pub vertex: u32,
    pub obstacle: u32,
    /// Normal force [N], > 0.
    pub normal_force: f64,
    /// Force of the obstacle on the body along the surface [N], world frame.
    pub friction_force: Vec3,
    pub sliding: bool,
}
