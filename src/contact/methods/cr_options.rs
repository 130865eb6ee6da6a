//! How conjugate residuals go about it.

use crate::contact::Constraint;
use crate::math::Vec3;

/// `CrOptions::relative_residual` unless it is asked for.
const RELATIVE_RESIDUAL: f64 = 1e-3;

/// How conjugate residuals go about it; all but the default is for comparison.
#[derive(Clone, Copy, Debug)]
pub struct CrOptions {
    /// The residual may stay at this part of the one that the step starts with: an impact many times the weight need
    /// not be solved to a thousandth of the weight.
    pub relative_residual: f64,
    pub preconditioner: Preconditioner,
    pub part: Part,
    pub friction: FrictionUpdate,
    /// Times the iterations that a step may take.
    pub iterations_factor: u32,
}

impl Default for CrOptions {
    fn default() -> Self {
        Self {
            relative_residual: RELATIVE_RESIDUAL,
            preconditioner: Preconditioner::Full,
            part: Part::Constraint,
            friction: FrictionUpdate::Projection,
            iterations_factor: 1,
        }
    }
}

/// The preconditioners of `contact-cr.md` 6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preconditioner {
    /// Block inverse of [D L^T; L 0] with the diagonal of L D^-1 L^T.
    Full,
    /// The two diagonals alone: D^-1 and the inverse diagonal of L D^-1 L^T.
    Diagonal,
    /// The identity, but for one number that makes rows, which are metres, comparable with momenta: else the answer to
    /// how many iterations it takes would depend on the unit of length.
    None,
}

/// How the force of a sliding contact finds its size and direction. Measured in the heap of `rings` (8 steps from 0.49
/// s): the projection takes 341 iterations a step, the published turn 1149, and it solves for the direction, which the
/// turn hardly changes. At rest the turn takes fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrictionUpdate {
    /// Newton's method on the projection on the cone: the force across the direction is an unknown of the system
    /// (`Constraint::turning`).
    Projection,
    /// The published one: a small turn towards the slip, and states looked at by the interval law (`contact-cr.md` 3,
    /// 5).
    Turn,
}

/// Which forces are unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All.
    Constraint,
    /// Friction and springs: normal forces stay as they are and stand in `Problem::rhs`.
    Friction,
}

impl Part {
    /// The rows that are in the system.
    pub(super) fn mask(self, contact: &Constraint, v: Vec3) -> Vec3 {
        let rows = contact.force.mask(v);
        if contact.law.is_bilateral() {
            return rows;
        }
        match self {
            Self::Constraint => rows,
            Self::Friction => Vec3::new(0.0, rows.y, rows.z),
        }
    }
}
