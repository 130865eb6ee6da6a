//! Methods on the exact compliance of the contacts, the Delassus operator W = J A^-1 J^T, from a solve for each touched
//! node (`contact-cr.md` 11).

use nalgebra::Matrix3;
use rayon::prelude::*;

use super::{INNER, ITERATIONS_FACTOR};
use crate::contact::driver::{ACCEPTED, RowsSolved};
use crate::contact::dual::{self, Compliance, Gather};
use crate::contact::methods::{RowSolver, cwc};
use crate::contact::problem::{forces, laws};
use crate::contact::{Constraint, Problem};
use crate::math::{Mat3, Vec3};
use crate::sparse::{Segment, System, Until, conjugate_gradient, dot};

/// Columns are solved for to this part of their load.
const COLUMN_TOLERANCE: f64 = 1e-8;
/// Newton is the reference: it goes this much further than the tolerance.
const REFERENCE: f64 = 0.01;
/// Sweeps between two looks at the error.
const CHECK_INTERVAL: u32 = 4;

/// Iterations of the solve for a column.
const MAX_COLUMN_ITERATIONS: u32 = 20_000;

/// How the contact problem with the exact compliance is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inner {
    /// Block projected Gauss-Seidel; sweeps are counted.
    GaussSeidel,
    /// Semi-smooth Newton; Newton steps are counted.
    Newton,
}

/// A method on the exact compliance, with what it keeps. A stays as it is within a step, and so do its columns.
#[derive(Debug)]
pub struct Exact {
    inner: Inner,
    compliance: ExactCompliance,
    dual: dual::Work,
    cg: [Vec<Vec3>; 4],
    residual: Vec<Vec3>,
    iterations: u32,
}

/// W and what it is made of.
#[derive(Debug, Default)]
struct ExactCompliance {
    /// Columns of A^-1 of each unknown that contacts have touched, on the unknowns of its body [1/kg].
    columns: Vec<Option<Vec<Matrix3<f32>>>>,
    w: Compliance,
    gather: Gather,
}

/// One entry of a row of H: `matrix` is dt C H.
struct JacobianBlock {
    body: usize,
    unknown: usize,
    matrix: Mat3,
}

impl ExactCompliance {
    /// W of the contacts, which are put in order: by pair of bodies.
    fn assemble(&mut self, problem: &Problem, contacts: &mut [Constraint]) {
        contacts.sort_by_key(|c| (c.bodies, c.id()));
        let segments = problem.system.segments;
        let body_of = |unknown: usize| segments.partition_point(|segment| segment.unknowns.end <= unknown);
        // A side without entries does not move.
        let pairs: Vec<[Option<u32>; 2]> = contacts.iter().map(|c| c.bodies.map(|body| problem.block_of(body).map(|k| k as u32))).collect();
        let jacobian_block = |contact: &Constraint, entry: &crate::contact::JacobianEntry| {
            let unknown = entry.unknown();
            JacobianBlock { body: body_of(unknown), unknown, matrix: contact.row.frame * entry.matrix() * problem.dt }
        };
        let jacobian: Vec<Vec<JacobianBlock>> =
            contacts.iter().map(|c| c.row.entries.iter().map(|e| jacobian_block(c, e)).collect()).collect();
        let mut missing: Vec<(usize, usize)> = jacobian.iter().flatten().map(|l| (l.unknown, l.body)).collect();
        missing.sort_unstable();
        missing.dedup();
        missing.retain(|(unknown, _)| self.columns[problem.place(*unknown)].is_none());
        let found: Vec<Vec<Matrix3<f32>>> =
            missing.par_iter().map(|(unknown, body)| columns_of(problem, &segments[*body], *unknown)).collect();
        for ((unknown, _), columns) in missing.into_iter().zip(found) {
            self.columns[problem.place(unknown)] = Some(columns);
        }
        let columns = &self.columns;
        let inverse = |a: &JacobianBlock, b: &JacobianBlock| {
            columns[problem.place(b.unknown)].as_ref().map(|c| c[a.unknown - segments[a.body].unknowns.start].cast::<f64>())
        };
        self.w.assemble(&pairs, |k, columns, out| {
            for (l, out) in columns.zip(out) {
                *out = if k == l { Mat3::from_diagonal(&contacts[k].law.compliance()) } else { Mat3::zeros() };
                for a in &jacobian[k] {
                    for b in jacobian[l].iter().filter(|b| b.body == a.body) {
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
fn columns_of(problem: &Problem, body: &Segment, unknown: usize) -> Vec<Matrix3<f32>> {
    let (alone, n) = ([body.alone()], body.unknowns.len());
    let system = System { segments: &alone, ..problem.system };
    let mut columns = vec![Matrix3::zeros(); n];
    let mut work = Default::default();
    for c in 0..3 {
        let (mut load, mut x) = (vec![Vec3::zeros(); n], vec![Vec3::zeros(); n]);
        load[unknown - body.unknowns.start][c] = 1.0;
        let until = Until { residual: COLUMN_TOLERANCE, iterations: MAX_COLUMN_ITERATIONS, cancel: problem.cancel };
        conjugate_gradient(&system, &load, &mut x, until, &mut work);
        columns.iter_mut().zip(&x).for_each(|(columns, x)| columns.set_column(c, &x.cast::<f32>()));
    }
    columns
}

impl Exact {
    pub fn gauss_seidel() -> Self {
        Self::with(Inner::GaussSeidel)
    }

    pub fn newton() -> Self {
        Self::with(Inner::Newton)
    }

    fn with(inner: Inner) -> Self {
        Self {
            inner,
            compliance: ExactCompliance::default(),
            dual: dual::Work::default(),
            cg: Default::default(),
            residual: vec![],
            iterations: 0,
        }
    }

    /// `dv = A^-1 (rhs + J^T p)`.
    fn make_consistent(&mut self, problem: &Problem, contacts: &[Constraint], p: &[Vec3], dv: &mut [Vec3]) {
        let mut rhs = problem.rhs.to_vec();
        problem.spread_all(contacts, p, 1.0, &mut rhs);
        problem.system.clear_fixed(&mut rhs);
        problem.solve_inner(&rhs, dv, INNER * problem.bounds.residual, &mut self.cg);
    }

    /// Forces that obey the laws with the exact compliance; true if within the tolerance.
    fn solve_forces(&mut self, problem: &Problem, contacts: &[Constraint], p: &mut [Vec3], dv: &[Vec3]) -> bool {
        let ExactCompliance { w, gather, .. } = &mut self.compliance;
        let tolerance = ACCEPTED * problem.tolerance;
        // Motion without the contact forces.
        let zero = vec![Vec3::zeros(); p.len()];
        let mut free = zero.clone();
        w.product(p, &zero, &mut free, gather);
        for ((free, contact), p) in free.iter_mut().zip(contacts).zip(&*p) {
            *free = problem.motion(contact, p, dv) - *free;
        }
        let laws = laws(contacts);
        let in_forces = dual::Problem { w, laws: &laws, free: &free, cancel: problem.cancel, work_left: u64::MAX };
        match self.inner {
            Inner::Newton => {
                let options = dual::Options { tolerance: REFERENCE * tolerance, ..Default::default() };
                let found = dual::ssn(&in_forces, p, &options, &mut self.dual);
                self.iterations += found.iterations;
                found.error.max() <= tolerance
            }
            Inner::GaussSeidel => {
                let left = (ITERATIONS_FACTOR * problem.bounds.max_iterations).saturating_sub(self.iterations);
                let (sweeps, converged) = gauss_seidel(&in_forces, p, tolerance, left, gather);
                self.iterations += sweeps;
                converged
            }
        }
    }
}

impl RowSolver for Exact {
    fn begin(&mut self, problem: &Problem, _: &[Vec3]) {
        // The matrix is another one.
        self.compliance.columns.clear();
        self.compliance.columns.resize(problem.system.len(), None);
        self.residual.resize(problem.system.len(), Vec3::zeros());
        self.iterations = 0;
    }

    fn solve_rows(&mut self, problem: &Problem, contacts: &mut [Constraint], dv: &mut [Vec3], _: f64) -> RowsSolved {
        if contacts.is_empty() {
            return problem.solve_no_rows(dv, &mut self.cg);
        }
        let before = self.iterations;
        self.compliance.assemble(problem, contacts);
        let mut p = forces(contacts);
        self.make_consistent(problem, contacts, &p, dv);
        let settled = self.solve_forces(problem, contacts, &mut p, dv);
        self.make_consistent(problem, contacts, &p, dv);
        cwc::store(contacts, &p);
        problem.residual(contacts, &p, dv, &mut self.residual);
        let residual = dot(&self.residual, &self.residual).sqrt();
        RowsSolved { iterations: self.iterations - before, residual, settled, ..RowsSolved::default() }
    }
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
