//! Other methods for the same rows, to compare with: iterative constraint anticipation, staggered projections, and two on the exact compliance of the
//! contacts, projected Gauss-Seidel and semi-smooth Newton (`contact-cr.md` 11).
//!
//! All take what `cr::solve` takes and leave what it leaves, to the same bounds: velocity residual, gaps, friction as distances.

mod anticipation;
mod exact;
mod nodal;
mod staggered;
#[cfg(test)]
mod tests;

use std::ops::Range;

use rayon::prelude::*;

use super::cr::MAX_RELINEARISATIONS;
use super::{Constraint, CrOptions, CrOutcome, CrWork, Law, NaturalError, Problem, Scale};
use crate::math::{Mat3, Vec3};
use crate::sparse::{conjugate_gradient, dot};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Iterative constraint anticipation [Otaduy et al. 2009]; an iteration takes two products with A.
    Anticipation,
    /// Staggered projections [Kaufman et al. 2008], both programmes by conjugate residuals; their iterations are counted, of one product with A each.
    Staggered,
    /// Block projected Gauss-Seidel on the exact compliance; sweeps are counted.
    GaussSeidel,
    /// Semi-smooth Newton on the exact compliance; Newton steps are counted.
    Newton,
}

/// The bodies of a problem: consecutive ones, each with a block of its own of the matrix.
#[derive(Clone, Debug)]
pub struct Bodies {
    /// Contact body of the first (`Model::contact_body_name`).
    pub first: u32,
    /// Unknowns of each; together those of the problem, in order.
    pub unknowns: Vec<Range<usize>>,
}

/// Vectors kept between steps.
#[derive(Debug, Default)]
pub struct BaselineWork {
    /// Velocity changes without contacts, and what contacts add to them.
    free: Vec<Vec3>,
    correction: Vec<Vec3>,
    residual: Vec<Vec3>,
    scratch: [Vec<Vec3>; 2],
    cg: [Vec<Vec3>; 4],
    cr: CrWork,
    exact: exact::Exact,
}

/// Contacts that one thread takes, at least.
const CONTACTS: usize = 256;
/// What the velocity equation of an inner solve may miss, as a part of the bound of the whole.
const INNER: f64 = 0.01;
/// Bound on the iterations of an elastic solve.
const MAX_ELASTIC_ITERATIONS: u32 = 20_000;

/// Solves for `dv` and the contacts' forces. `adapt(dv, contacts)` looks at the moved geometry when forces and velocities have settled: it adds contacts and renews
/// rows, and returns whether it changed anything.
pub fn solve(
    method: Method,
    problem: &Problem,
    bodies: &Bodies,
    contacts: &mut Vec<Constraint>,
    dv: &mut [Vec3],
    options: &CrOptions,
    work: &mut BaselineWork,
    mut adapt: impl FnMut(&[Vec3], &mut Vec<Constraint>) -> bool,
) -> CrOutcome {
    let mut outcome = CrOutcome::default();
    work.residual.resize(dv.len(), Vec3::zeros());
    problem.residual(contacts, &forces(contacts), dv, &mut work.residual);
    let first_residual = dot(&work.residual, &work.residual).sqrt();
    let bound = options.residual.max(options.relative_residual * first_residual);
    let options = CrOptions { residual: bound, relative_residual: 0.0, ..*options };
    match method {
        Method::Anticipation => anticipation::start(problem, dv, &options, work),
        Method::GaussSeidel | Method::Newton => work.exact.forget(dv.len()),
        Method::Staggered => {}
    }
    loop {
        let settled = match method {
            Method::Anticipation => anticipation::settle(problem, bodies, contacts, dv, &options, work, &mut outcome),
            Method::Staggered => staggered::settle(problem, contacts, dv, &options, work, &mut outcome),
            Method::GaussSeidel | Method::Newton => exact::settle(method, problem, bodies, contacts, dv, &options, work, &mut outcome),
        };
        problem.residual(contacts, &forces(contacts), dv, &mut work.residual);
        outcome.residual = dot(&work.residual, &work.residual).sqrt();
        let changed = adapt(dv, contacts);
        let last = outcome.relinearisations >= MAX_RELINEARISATIONS || outcome.iterations >= options.max_iterations;
        if !changed || last {
            outcome.converged = settled && !changed;
            return outcome;
        }
        outcome.relinearisations += 1;
    }
}

/// Bound on the natural map of the contacts [m].
fn tolerance(problem: &Problem) -> f64 {
    0.5 * problem.tolerance
}

fn forces(contacts: &[Constraint]) -> Vec<Vec3> {
    contacts.iter().map(Constraint::force_on_first).collect()
}

fn laws(contacts: &[Constraint]) -> Vec<Law> {
    contacts.iter().map(|c| c.law).collect()
}

/// `y += s J^T p`.
fn spread(problem: &Problem, contacts: &[Constraint], p: &[Vec3], s: f64, y: &mut [Vec3]) {
    for (contact, p) in contacts.iter().zip(p) {
        problem.spread(contact, p, s, y);
    }
}

/// Solves A x = b to a residual of `bound` from the start value in `x`.
fn elastic(problem: &Problem, b: &[Vec3], x: &mut [Vec3], bound: f64, work: &mut [Vec<Vec3>; 4]) {
    conjugate_gradient(problem.a, problem.pattern, problem.fixed, &problem.unknowns, b, x, bound, MAX_ELASTIC_ITERATIONS, work);
}

/// dt^2 C H D^-1 H^T C^T of one contact, D the block diagonal of A, and the compliance of a joint [m/N].
fn own_compliance(problem: &Problem, contact: &Constraint) -> Mat3 {
    let share = |e: &super::JacobianEntry| e.matrix() * problem.a.inverse_diagonals[e.unknown()] * e.matrix().transpose();
    let inverse_mass: Mat3 = contact.row.entries.iter().map(share).sum();
    contact.row.frame * inverse_mass * contact.row.frame.transpose() * (problem.dt * problem.dt)
        + Mat3::from_diagonal(&contact.law.compliance())
}

/// Largest natural map of the contacts with the forces `p` and the velocity change `dv`.
fn error(problem: &Problem, contacts: &[Constraint], p: &[Vec3], scales: &[Scale], dv: &[Vec3]) -> NaturalError {
    let of_contact = |((contact, p), scale): ((&Constraint, &Vec3), &Scale)| contact.law.error(p, &problem.motion(contact, p, dv), scale);
    let worse =
        |a: NaturalError, b: NaturalError| NaturalError { normal: a.normal.max(b.normal), tangential: a.tangential.max(b.tangential) };
    contacts.par_iter().zip(p).zip(scales).with_min_len(CONTACTS).map(of_contact).reduce(NaturalError::default, worse)
}
