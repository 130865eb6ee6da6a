//! The force of one constraint, as the solvers carry it.

use crate::math::Vec3;

/// Which rows of a constraint are in the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// No force.
    Inactive,
    /// Normal and tangential rows: no slip.
    Sticking,
    /// Normal row; the friction force stands on the right-hand side.
    Sliding,
}

/// Status and multipliers, in the frame of the constraint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Force {
    pub status: Status,
    /// Multipliers of the symmetric system [N]: the force on the first body is `-C^T multiplier` (`contact-cr.md` 2).
    /// Normal force =
    /// -multiplier.x.
    pub multiplier: Vec3,
    /// gamma' of a sliding contact [N], same sign convention, first entry unused.
    pub sliding_force: Vec3,
    /// Slip across the direction of sliding for each newton across it [m/N], of a contact whose tangents are turned to
    /// that direction: the second tangential row of the conjugate residuals (`methods::contact_states`). Infinite: no
    /// such row.
    pub sliding_compliance: f64,
}

impl Default for Force {
    fn default() -> Self {
        Self { status: Status::Inactive, multiplier: Vec3::zeros(), sliding_force: Vec3::zeros(), sliding_compliance: f64::INFINITY }
    }
}

impl Force {
    pub fn is_active(&self) -> bool {
        self.status != Status::Inactive
    }

    /// Magnitude of the force along the normal [N].
    pub fn normal(&self) -> f64 {
        (-self.multiplier.x).max(0.0)
    }

    /// gamma [N], from the rows or from the right-hand side; first entry 0.
    pub fn friction(&self) -> Vec3 {
        match self.status {
            Status::Inactive => Vec3::zeros(),
            Status::Sticking => Vec3::new(0.0, self.multiplier.y, self.multiplier.z),
            Status::Sliding => self.sliding_force + Vec3::new(0.0, 0.0, self.multiplier.z),
        }
    }

    /// The rows that are in the system, as a projector: diag(1, 1, 1), diag(1, 0, 0), with a row across the sliding
    /// diag(1, 0, 1), or zero.
    pub fn mask(&self, v: Vec3) -> Vec3 {
        match self.status {
            Status::Inactive => Vec3::zeros(),
            Status::Sticking => v,
            Status::Sliding if self.sliding_compliance.is_finite() => Vec3::new(v.x, 0.0, v.z),
            Status::Sliding => Vec3::new(v.x, 0.0, 0.0),
        }
    }

    /// No force any more.
    pub fn release(&mut self) {
        self.status = Status::Inactive;
        (self.multiplier, self.sliding_force) = (Vec3::zeros(), Vec3::zeros());
    }
}
