//! Iterative constraint anticipation [Otaduy, Tamstorf, Steinemann, Gross 2009; `contact-cr.md` 11].
//!
//! With dv* the solution without contacts and A = D + Lo + Up by 3x3 blocks, the part that contacts add to it is found
//! by Gauss-Seidel, each sweep preceded by the contact problem of D, in which a contact meets only those that share
//! nodes with it. An iteration takes two products with A.

use rayon::prelude::*;

use super::RowSolver;
use super::cwc::store;
use super::nodal::Nodal;
use crate::contact::driver::{ACCEPTED, RowsSolved};
use crate::contact::problem::{forces, laws};
use crate::contact::{Constraint, Problem, Scale};
use crate::math::{Mat3, Vec3, split_mut};
use crate::sparse::{System, dot};

/// Most sweeps of the inner contact problem.
const MAX_SWEEPS: usize = 200;
/// The inner contact problem is solved to this part of the tolerance.
const SWEEP_TOLERANCE: f64 = 0.1;
/// The velocity equation of an inner solve may miss this part of the bound of the whole.
const INNER: f64 = 0.01;
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
    /// Velocity changes without contacts, and what contacts add to them.
    free: Vec<Vec3>,
    correction: Vec<Vec3>,
    residual: Vec<Vec3>,
    base: Vec<Vec3>,
    force: Vec<Vec3>,
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
    fn begin(&mut self, _: &Problem, _: &[Vec3]) {
        (self.bound, self.iterations) = (None, 0);
    }

    fn solve_rows(&mut self, problem: &Problem, contacts: &mut [Constraint], dv: &mut [Vec3], _: f64) -> RowsSolved {
        if contacts.is_empty() {
            return problem.solve_no_rows(dv, &mut self.cg);
        }
        for vector in [&mut self.residual, &mut self.base, &mut self.force] {
            vector.resize(dv.len(), Vec3::zeros());
        }
        let mut p = forces(contacts);
        let bound = match self.bound {
            Some(bound) => bound,
            None => self.start(problem, contacts, &p, dv),
        };
        let before = self.iterations;
        let settled = self.iterate(problem, contacts, &mut p, dv, bound);
        store(contacts, &p);
        problem.residual(contacts, &p, dv, &mut self.residual);
        RowsSolved {
            iterations: self.iterations - before,
            residual: dot(&self.residual, &self.residual).sqrt(),
            settled,
            ..RowsSolved::default()
        }
    }
}

impl Anticipation {
    /// With another part of the first residual that may stay.
    pub fn with_relative_residual(relative_residual: f64) -> Self {
        Self {
            relative_residual,
            free: vec![],
            correction: vec![],
            residual: vec![],
            base: vec![],
            force: vec![],
            cg: Default::default(),
            bound: None,
            iterations: 0,
        }
    }

    /// The solution without contacts; what the start value has beside it is the first guess of what contacts add.
    /// Returns the bound on the residual.
    fn start(&mut self, problem: &Problem, contacts: &[Constraint], p: &[Vec3], dv: &[Vec3]) -> f64 {
        let Self { free, correction, residual, cg, relative_residual, .. } = self;
        problem.residual(contacts, p, dv, residual);
        let bound = problem.bounds.residual.max(*relative_residual * dot(residual, residual).sqrt());
        free.clear();
        free.extend_from_slice(dv);
        problem.solve_inner(problem.rhs, free, INNER * bound, cg);
        correction.clear();
        correction.extend(dv.iter().zip(&*free).map(|(v, free)| v - free));
        self.bound = Some(bound);
        bound
    }

    /// Sweeps until forces and velocities are within their tolerances; false if the iterations do not suffice.
    fn iterate(&mut self, problem: &Problem, contacts: &[Constraint], p: &mut [Vec3], dv: &mut [Vec3], bound: f64) -> bool {
        let Self { free, correction, residual, base, force, iterations, .. } = self;
        let tolerance = ACCEPTED * problem.tolerance;
        let blocks = problem.own_compliances(contacts);
        let scales: Vec<Scale> = blocks.iter().map(Scale::new).collect();
        let mut nodal = Nodal::new(problem, contacts, &laws(contacts), &blocks);
        let inverses: Vec<&Mat3> = problem.system.inverse_diagonals().collect();
        force.fill(Vec3::zeros());
        problem.spread_all(contacts, p, 1.0, force);
        loop {
            // Residual of A correction = J^T p, and the anticipated velocities: those of the next sweep if it saw the
            // old values alone.
            problem.system.apply(correction, residual);
            for (i, base) in base.iter_mut().enumerate() {
                dv[i] = free[i] + correction[i];
                *base = dv[i] - inverses[i] * residual[i];
            }
            residual.iter_mut().zip(&*force).for_each(|(r, force)| *r = force - *r);
            problem.system.clear_fixed(residual);
            let is_small = dot(residual, residual).sqrt() <= bound;
            if is_small && problem.natural_error(contacts, p, &scales, dv).max() <= tolerance {
                return true;
            }
            if *iterations >= ITERATIONS_FACTOR * problem.bounds.max_iterations || problem.must_end() {
                return false;
            }
            problem.allowance.spend(2 * problem.product_work());
            // No more sweeps than what is left of the allowance.
            let affordable = (problem.allowance.left() / nodal.sweep_work().max(1)).clamp(1, MAX_SWEEPS as u64) as usize;
            problem.allowance.spend(nodal.solve(p, base, SWEEP_TOLERANCE * tolerance, affordable));
            force.fill(Vec3::zeros());
            problem.spread_all(contacts, p, 1.0, force);
            sweep(&problem.system, force, correction);
            *iterations += 1;
        }
    }
}

/// A sweep of Gauss-Seidel on A x = b, body by body. Springs on points act with the old values.
fn sweep(system: &System, b: &[Vec3], x: &mut [Vec3]) {
    let System { a, pattern, segments, .. } = *system;
    let mut loads = b.to_vec();
    for term in &a.rank_ones {
        let Some(segment) = segments.iter().find(|segment| segment.unknowns.contains(&(term.nodes[0] as usize))) else { continue };
        let (places, first) = (segment.places(), segment.unknowns.start);
        let value = term.gather(&x[places.clone()], first) * -term.factor;
        term.spread(&value, &mut loads[places], first);
    }
    let n_nodes = pattern.n_rows();
    let parts = split_mut(x, segments.iter().map(|segment| segment.unknowns.len()));
    parts.into_par_iter().zip(segments).for_each(|(x, segment)| {
        let (first, loads) = (segment.unknowns.start, &loads[segment.places()]);
        for i in segment.unknowns.clone() {
            let own = i - first;
            let residual = match i.checked_sub(n_nodes) {
                Some(rigid) => loads[own] - a.rigid_blocks[rigid] * x[own],
                None => {
                    let row = pattern.row(i);
                    let entries = pattern.columns[row.clone()].iter().zip(&a.blocks[row]);
                    entries.fold(loads[own], |sum, (column, block)| sum - block * x[*column as usize - first])
                }
            };
            x[own] += a.inverse_diagonals[i] * residual;
        }
    });
}
