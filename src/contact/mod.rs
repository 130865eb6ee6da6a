//! Frictional contact as complementarity: rows J = C H, their states, and the preconditioned conjugate-residual solver.
//!
//! H maps node velocities to surface points (`model.surface`: four weights a point, constant), C holds the directions (n, t1, t2) of a contact.
//! A contact of any kind of surface is this one row type.

mod cr;
mod row;
mod state;

pub use cr::{CrOptions, CrOutcome, CrWork, Problem, solve};
pub use row::{Contact, Status};
pub use state::{Effort, evaluate};

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
