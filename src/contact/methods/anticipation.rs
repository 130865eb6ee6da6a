//! Iterative constraint anticipation [Otaduy, Tamstorf, Steinemann, Gross 2009; `contact-cr.md` 11].
//!
//! With A = D + Lo + Up by 3x3 blocks, A dv = rhs + J^T p is solved by Gauss-Seidel, each sweep preceded by the contact
//! problem of D, in which a contact meets only those that share nodes with it. The paper splits dv into the solution
//! without contacts and what contacts add to it, and sweeps over the latter; as sweeps are linear that makes the same
//! iterates from the same start, after one more solve, so there is no split here.

use super::RowSolver;
use super::cwc::store;
use super::gauss_seidel::GaussSeidel;
use super::nodal::Nodal;
use crate::contact::driver::{ACCEPTED, RowsSolved};
use crate::contact::problem::{forces, laws};
use crate::contact::{Constraint, Problem, Scale};
use crate::math::{Mat3, Vec3};
use crate::sparse::dot;

/// Most sweeps of the inner contact problem.
const MAX_SWEEPS: usize = 200;
/// The inner contact problem is solved to this part of the tolerance.
const SWEEP_TOLERANCE: f64 = 0.1;
/// An impact many times the weight need not be solved to a thousandth of the weight: the residual may stay at this part
/// of the first one.
const RELATIVE_RESIDUAL: f64 = 1e-3;
/// As an iteration of anticipation is cheap, there may be this many times the iterations of conjugate residuals.
const ITERATIONS_FACTOR: u32 = 10;

/// The method with its vectors, kept between steps.
#[derive(Debug)]
pub struct Anticipation {
    /// The residual may stay at this part of the first one.
    relative_residual: f64,
    sweeps: GaussSeidel,
    nodal: Nodal,
    base: Vec<Vec3>,
    impulses: Vec<Vec3>,
    cg: [Vec<Vec3>; 4],
    /// Bound on the residual; none before the first rows.
    bound: Option<f64>,
    iterations: u32,
}

impl Default for Anticipation {
    fn default() -> Self {
        Self::with_relative_residual(RELATIVE_RESIDUAL)
    }
}

impl RowSolver for Anticipation {
    fn begin(&mut self, problem: &Problem, _: &[Vec3]) {
        self.sweeps.take(&problem.system);
        (self.bound, self.iterations) = (None, 0);
    }

    fn solve_rows(&mut self, problem: &Problem, contacts: &mut [Constraint], dv: &mut [Vec3], _: f64) -> RowsSolved {
        if contacts.is_empty() {
            return problem.solve_no_rows(dv, &mut self.cg);
        }
        let mut p = forces(contacts);
        let before = self.iterations;
        let (residual, settled) = self.iterate(problem, contacts, &mut p, dv);
        store(contacts, &p);
        RowsSolved { iterations: self.iterations - before, residual, settled, ..RowsSolved::default() }
    }
}

impl Anticipation {
    /// With another part of the first residual that may stay.
    pub fn with_relative_residual(relative_residual: f64) -> Self {
        Self {
            relative_residual,
            sweeps: GaussSeidel::default(),
            nodal: Nodal::default(),
            base: vec![],
            impulses: vec![],
            cg: Default::default(),
            bound: None,
            iterations: 0,
        }
    }

    /// Sweeps until forces and velocities are within their tolerances; returns the residual [kg m/s], and false if the
    /// iterations do not suffice.
    fn iterate(&mut self, problem: &Problem, contacts: &[Constraint], p: &mut [Vec3], dv: &mut [Vec3]) -> (f64, bool) {
        let Self { relative_residual, sweeps, nodal, base, impulses, iterations, .. } = self;
        let tolerance = ACCEPTED * problem.tolerance;
        let blocks = problem.own_compliances(contacts);
        let scales: Vec<Scale> = blocks.iter().map(Scale::new).collect();
        nodal.take(problem, contacts, &laws(contacts), &blocks);
        let inverses: Vec<&Mat3> = problem.system.inverse_diagonals().collect();
        impulses.clear();
        impulses.resize(dv.len(), Vec3::zeros());
        problem.spread_all(contacts, p, 1.0, impulses);
        base.resize(dv.len(), Vec3::zeros());
        sweeps.begin(&problem.system, problem.rhs, impulses, dv);
        loop {
            let residual = sweeps.residual();
            let length = dot(residual, residual).sqrt();
            let bound = *self.bound.get_or_insert_with(|| problem.bounds.residual.max(*relative_residual * length));
            if length <= bound && problem.natural_error(contacts, p, &scales, dv).max() <= tolerance {
                return (length, true);
            }
            if *iterations >= ITERATIONS_FACTOR * problem.bounds.max_iterations || problem.must_end() {
                return (length, false);
            }
            // Anticipated velocities without forces: those of the next sweep if it saw the old values alone.
            for (i, base) in base.iter_mut().enumerate() {
                *base = dv[i] + inverses[i] * (residual[i] - impulses[i]);
            }
            problem.allowance.spend(problem.product_work());
            // No more sweeps than what is left of the allowance.
            let affordable = (problem.allowance.left() / nodal.sweep_work().max(1)).clamp(1, MAX_SWEEPS as u64) as usize;
            problem.allowance.spend(nodal.solve(p, base, SWEEP_TOLERANCE * tolerance, affordable));
            nodal.put_impulses(impulses);
            sweeps.sweep(&problem.system, problem.rhs, impulses, dv);
            *iterations += 1;
        }
    }
}
