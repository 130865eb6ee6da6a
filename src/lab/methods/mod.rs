//! Methods of contact to compare with: variants of conjugate residuals, staggered projections, and two on the exact
//! compliance of the contacts, projected Gauss-Seidel and semi-smooth Newton (`contact-cr.md` 11).

mod exact;
mod staggered;
#[cfg(test)]
mod tests;

use crate::contact::methods::cr::{Cr, CrOptions, FrictionUpdate, Preconditioner};
use crate::contact::methods::{self, RowSolver};
use crate::model::ContactMethod;

/// Methods to compare with may take this many times the iterations, so that the number that they need is seen.
const ITERATIONS_FACTOR: u32 = 10;
/// The velocity equation of an inner solve may miss this part of the bound of the whole.
const INNER: f64 = 0.01;

/// The methods of the product and of the laboratory.
pub fn row_solver(method: ContactMethod) -> Option<Box<dyn RowSolver>> {
    let cr = |options| -> Option<Box<dyn RowSolver>> { Some(Box::new(Cr::new(options))) };
    let compared = CrOptions { iterations_factor: ITERATIONS_FACTOR, ..CrOptions::default() };
    match method {
        ContactMethod::CrDiag => cr(CrOptions { preconditioner: Preconditioner::Diagonal, ..compared }),
        ContactMethod::CrNone => cr(CrOptions { preconditioner: Preconditioner::None, ..compared }),
        ContactMethod::CrTurn => cr(CrOptions { friction: FrictionUpdate::Turn, ..CrOptions::default() }),
        ContactMethod::Sp => Some(Box::<staggered::Staggered>::default()),
        ContactMethod::Pgs => Some(Box::new(exact::Exact::gauss_seidel())),
        ContactMethod::Ssn => Some(Box::new(exact::Exact::newton())),
        product => methods::row_solver(product),
    }
}
