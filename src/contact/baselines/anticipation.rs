//! Iterative constraint anticipation [Otaduy, Tamstorf, Steinemann, Gross 2009; `contact-cr.md` 11].
//!
//! With dv* the solution without contacts and A = D + Lo + Up by 3x3 blocks, what contacts add to it is found by Gauss-Seidel, each sweep preceded by the contact
//! problem of D, in which a contact meets only those that share nodes with it.

use rayon::prelude::*;

use super::nodal::Nodal;
use super::{BaselineWork, Bodies, CONTACTS, INNER, Scale, elastic, error, forces, laws, own_compliance, spread, tolerance};
use crate::contact::{Constraint, CrOptions, CrOutcome, Problem, cwc};
use crate::math::{Mat3, Vec3, split_mut};
use crate::sparse::{clear_fixed, dot};

/// Most sweeps of the inner contact problem.
const MAX_SWEEPS: usize = 200;
/// It is solved to this part of the tolerance.
const SWEEP_TOLERANCE: f64 = 0.1;

/// The solution without contacts; what the start value has beside it is the first guess of what contacts add.
pub fn start(problem: &Problem, dv: &[Vec3], options: &CrOptions, work: &mut BaselineWork) {
    work.free.clear();
    work.free.extend_from_slice(dv);
    elastic(problem, problem.rhs, &mut work.free, INNER * options.residual, &mut work.cg);
    work.correction.clear();
    work.correction.extend(dv.iter().zip(&work.free).map(|(v, free)| v - free));
}

/// True if forces and velocities are within their tolerances for the present rows.
pub fn settle(
    problem: &Problem,
    bodies: &Bodies,
    contacts: &mut [Constraint],
    dv: &mut [Vec3],
    options: &CrOptions,
    work: &mut BaselineWork,
    outcome: &mut CrOutcome,
) -> bool {
    let BaselineWork { free, correction, residual, scratch: [base, force], .. } = work;
    for vector in [&mut *residual, base, force] {
        vector.resize(dv.len(), Vec3::zeros());
    }
    let inverses = &problem.a.inverse_diagonals[problem.unknowns.clone()];
    let blocks: Vec<Mat3> = contacts.par_iter().with_min_len(CONTACTS).map(|c| own_compliance(problem, c)).collect();
    let scales: Vec<Scale> = blocks.iter().map(Scale::new).collect();
    let laws = laws(contacts);
    let mut nodal = Nodal::new(problem, contacts, &laws, &blocks);
    let mut p = forces(contacts);
    force.fill(Vec3::zeros());
    spread(problem, contacts, &p, 1.0, force);
    let settled = loop {
        // Residual of A correction = J^T p, and the anticipated velocities: those of the next sweep if it saw the old values alone.
        problem.a.apply(problem.pattern, problem.fixed, &problem.unknowns, correction, residual);
        for (i, base) in base.iter_mut().enumerate() {
            dv[i] = free[i] + correction[i];
            *base = dv[i] - inverses[i] * residual[i];
        }
        residual.iter_mut().zip(&*force).for_each(|(r, force)| *r = force - *r);
        clear_fixed(problem.fixed, &problem.unknowns, residual);
        let small = dot(residual, residual).sqrt() <= options.residual;
        if small && error(problem, contacts, &p, &scales, dv).max() <= tolerance(problem) {
            break true;
        }
        if outcome.iterations >= options.max_iterations {
            break false;
        }
        nodal.solve(&mut p, base, SWEEP_TOLERANCE * tolerance(problem), MAX_SWEEPS);
        force.fill(Vec3::zeros());
        spread(problem, contacts, &p, 1.0, force);
        sweep(problem, bodies, force, correction);
        outcome.iterations += 1;
    };
    cwc::store(contacts, &p);
    settled
}

/// A sweep of Gauss-Seidel on A x = b, body by body. Springs on points act with the old values.
fn sweep(problem: &Problem, bodies: &Bodies, b: &[Vec3], x: &mut [Vec3]) {
    let first = problem.unknowns.start;
    let mut loads = b.to_vec();
    for term in problem.a.rank_ones.iter().filter(|t| problem.unknowns.contains(&(t.nodes[0] as usize))) {
        let value = term.gather(x, first) * -term.factor;
        term.spread(&value, &mut loads, first);
    }
    let n_nodes = problem.pattern.n_rows();
    let parts = split_mut(x, bodies.unknowns.iter().map(|unknowns| unknowns.len()));
    parts.into_par_iter().zip(&bodies.unknowns).for_each(|(x, unknowns)| {
        for i in unknowns.clone() {
            let own = i - unknowns.start;
            let residual = match i.checked_sub(n_nodes) {
                Some(rigid) => loads[i - first] - problem.a.rigid_blocks[rigid] * x[own],
                None => {
                    let row = problem.pattern.row(i);
                    let entries = problem.pattern.columns[row.clone()].iter().zip(&problem.a.blocks[row]);
                    entries.fold(loads[i - first], |sum, (column, block)| sum - block * x[*column as usize - unknowns.start])
                }
            };
            x[own] += problem.a.inverse_diagonals[i] * residual;
        }
    });
}
