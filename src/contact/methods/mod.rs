//! Methods that solve given rows: forces and velocity changes, nothing else. Geometry, renewal of rows and acceptance
//! are the driver's.

pub mod anticipation;
mod contact_states;
pub mod cr;
mod cr_coupling;
mod cr_options;
mod cr_preconditioner;
pub mod cwc;
mod gauss_seidel;
pub mod nodal;
mod secant;
mod warped;
mod working_set;

use super::driver::{RowsSolved, Schedule};
use super::{Constraint, Problem};
use crate::body::BodyRef;
use crate::math::Vec3;
use crate::model::ContactMethod;

/// The deformable bodies that needed a factor of their matrices in a solve, ascending.
#[derive(Debug, Default)]
pub struct Factored {
    /// Their factors said too little.
    pub outgrown: Vec<BodyRef>,
    /// Corrections were slow without a factor of the matrix.
    pub slow: Vec<BodyRef>,
}

/// A method of contact: solves given rows.
pub trait RowSolver: Send {
    /// How fine rows are solved that may still change.
    fn schedule(&self) -> Schedule {
        Schedule::Finest
    }

    /// The solve of another problem begins, at the velocity change `dv`.
    fn begin(&mut self, problem: &Problem, dv: &[Vec3]);

    /// That solve is over: what only it needs goes.
    fn end(&mut self, _: &Problem) -> Factored {
        Factored::default()
    }

    /// Finds the forces of `rows` and the velocity changes `dv`, from those that they hold; gaps and slip to `accuracy`
    /// [m]. It may put the rows in another order, and solve the first ones of a problem less finely
    /// ([`RowsSolved::accuracy`]).
    fn solve_rows(&mut self, problem: &Problem, rows: &mut [Constraint], dv: &mut [Vec3], accuracy: f64) -> RowsSolved;
}

/// The methods of the program by name; none where `method` is no method of the product (`Auto`, and those of the
/// laboratory).
pub fn row_solver(method: ContactMethod) -> Option<Box<dyn RowSolver>> {
    match method {
        ContactMethod::Cwc => Some(Box::<cwc::Cwc>::default()),
        ContactMethod::Cr => Some(Box::<cr::Cr>::default()),
        ContactMethod::Ica => Some(Box::<anticipation::Anticipation>::default()),
        _ => None,
    }
}
