//! Methods on the exact compliance of the contacts, the Delassus operator W = J A^-1 J^T, from a solve for each touched node (`contact-cr.md` 11).

use nalgebra::Matrix3;
use rayon::prelude::*;

use super::{BaselineWork, Bodies, INNER, Method, elastic, forces, laws, spread, tolerance};
use crate::contact::{Constraint, CrOptions, CrOutcome, Problem, cwc};
use crate::math::{Mat3, Vec3};
use crate::sparse::{clear_fixed, conjugate_gradient};

use super::super::dual::{self, Compliance, Gather, IMMOVABLE};

/// Columns are solved for to this part of their load.
const COLUMN_TOLERANCE: f64 = 1e-8;
/// Newton is the reference: it goes this much further than the tolerance.
const REFERENCE: f64 = 0.01;
/// Sweeps between two looks at the error.
const CHECK_INTERVAL: u32 = 4;

/// W and what it is made of. A stays as it is within a step, and so do its columns.
#[derive(Debug, Default)]
pub struct Exact {
    /// Of each unknown that contacts have touched: its columns of A^-1 on the unknowns of its body [1/kg].
    columns: Vec<Option<Vec<Matrix3<f32>>>>,
    w: Compliance,
    gather: Gather,
    dual: dual::Work,
}

/// One entry of a row of H: `matrix` is dt C H.
struct Lever {
    body: usize,
    unknown: usize,
    matrix: Mat3,
}

impl Exact {
    /// The matrix is another one.
    pub fn forget(&mut self, n_unknowns: usize) {
        self.columns.clear();
        self.columns.resize(n_unknowns, None);
    }

    /// W of the contacts, which are put in order: by pair of bodies.
    fn assemble(&mut self, problem: &Problem, bodies: &Bodies, contacts: &mut [Constraint]) {
        contacts.sort_by_key(|c| (c.bodies, c.id()));
        let movable = |body: &u32| body.checked_sub(bodies.first).is_some_and(|b| (b as usize) < bodies.unknowns.len());
        let pairs: Vec<[u32; 2]> = contacts.iter().map(|c| c.bodies.map(|b| if movable(&b) { b } else { IMMOVABLE })).collect();
        let body_of = |unknown: usize| bodies.unknowns.partition_point(|range| range.end <= unknown);
        let lever = |contact: &Constraint, entry: &crate::contact::JacobianEntry| {
            let unknown = entry.unknown();
            Lever { body: body_of(unknown), unknown, matrix: contact.row.frame * entry.matrix() * problem.dt }
        };
        let levers: Vec<Vec<Lever>> = contacts.iter().map(|c| c.row.entries.iter().map(|e| lever(c, e)).collect()).collect();
        let first = problem.unknowns.start;
        let mut missing: Vec<(usize, usize)> = levers.iter().flatten().map(|l| (l.unknown, l.body)).collect();
        missing.sort_unstable();
        missing.dedup();
        missing.retain(|(unknown, _)| self.columns[unknown - first].is_none());
        let found: Vec<Vec<Matrix3<f32>>> =
            missing.par_iter().map(|(unknown, body)| columns_of(problem, &bodies.unknowns[*body], *unknown)).collect();
        for ((unknown, _), columns) in missing.into_iter().zip(found) {
            self.columns[unknown - first] = Some(columns);
        }
        let columns = &self.columns;
        let inverse =
            |a: &Lever, b: &Lever| columns[b.unknown - first].as_ref().map(|c| c[a.unknown - bodies.unknowns[a.body].start].cast::<f64>());
        self.w.assemble(&pairs, |k, columns, out| {
            for (l, out) in columns.zip(out) {
                *out = if k == l { Mat3::from_diagonal(&contacts[k].law.compliance()) } else { Mat3::zeros() };
                for a in &levers[k] {
                    for b in levers[l].iter().filter(|b| b.body == a.body) {
                        if let Some(inverse) = inverse(a, b) {
                            *out += a.matrix * inverse * b.matrix.transpose();
                        }
                    }
                }
            }
        });
    }
}

/// The three columns of A^-1 of one unknown, on the unknowns of its body.
fn columns_of(problem: &Problem, body: &std::ops::Range<usize>, unknown: usize) -> Vec<Matrix3<f32>> {
    let mut columns = vec![Matrix3::zeros(); body.len()];
    let mut work = Default::default();
    for c in 0..3 {
        let (mut load, mut x) = (vec![Vec3::zeros(); body.len()], vec![Vec3::zeros(); body.len()]);
        load[unknown - body.start][c] = 1.0;
        let bound = super::MAX_ELASTIC_ITERATIONS;
        conjugate_gradient(problem.a, problem.pattern, problem.fixed, body, &load, &mut x, COLUMN_TOLERANCE, bound, &mut work);
        columns.iter_mut().zip(&x).for_each(|(columns, x)| columns.set_column(c, &x.cast::<f32>()));
    }
    columns
}

/// True if forces and velocities are within their tolerances for the present rows.
pub fn settle(
    method: Method,
    problem: &Problem,
    bodies: &Bodies,
    contacts: &mut [Constraint],
    dv: &mut [Vec3],
    options: &CrOptions,
    work: &mut BaselineWork,
    outcome: &mut CrOutcome,
) -> bool {
    work.exact.assemble(problem, bodies, contacts);
    let mut p = forces(contacts);
    consistent(problem, contacts, &p, dv, options, work);
    let Exact { w, gather, dual, .. } = &mut work.exact;
    // Motion without the contact forces.
    let zero = vec![Vec3::zeros(); p.len()];
    let mut free = zero.clone();
    w.product(&p, &zero, &mut free, gather);
    for ((free, contact), p) in free.iter_mut().zip(&*contacts).zip(&p) {
        *free = problem.motion(contact, p, dv) - *free;
    }
    let laws = laws(contacts);
    let in_forces = dual::Problem { w, laws: &laws, free: &free };
    let settled = if method == Method::Newton {
        let found = dual::ssn(&in_forces, &mut p, &dual::Options { tolerance: REFERENCE * tolerance(problem), ..Default::default() }, dual);
        outcome.iterations += found.iterations;
        found.error.max() <= tolerance(problem)
    } else {
        let left = options.max_iterations.saturating_sub(outcome.iterations);
        let (sweeps, converged) = gauss_seidel(&in_forces, &mut p, tolerance(problem), left, gather);
        outcome.iterations += sweeps;
        converged
    };
    consistent(problem, contacts, &p, dv, options, work);
    cwc::store(contacts, &p);
    settled
}

/// `dv = A^-1 (rhs + J^T p)`.
fn consistent(problem: &Problem, contacts: &[Constraint], p: &[Vec3], dv: &mut [Vec3], options: &CrOptions, work: &mut BaselineWork) {
    let mut rhs = problem.rhs.to_vec();
    spread(problem, contacts, p, 1.0, &mut rhs);
    clear_fixed(problem.fixed, &problem.unknowns, &mut rhs);
    elastic(problem, &rhs, dv, INNER * options.residual, &mut work.cg);
}

/// Symmetric sweeps until the natural map is within the tolerance [m]; how many, and whether it is.
fn gauss_seidel(problem: &dual::Problem, p: &mut [Vec3], tolerance: f64, bound: u32, gather: &mut Gather) -> (u32, bool) {
    let mut u = vec![Vec3::zeros(); p.len()];
    let mut sweeps = 0;
    loop {
        problem.w.product(p, problem.free, &mut u, gather);
        let converged = problem.error(p, &u).max() <= tolerance;
        if converged || sweeps >= bound {
            return (sweeps, converged);
        }
        for _ in 0..CHECK_INTERVAL {
            problem.w.sweep(problem.laws, problem.free, p, sweeps % 2 == 0, gather);
            sweeps += 1;
        }
    }
}
