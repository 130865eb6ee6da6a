//! Semi-smooth Newton on the Alart-Curnier function, dense: exact, for small problems (Alart & Curnier 1991).

use nalgebra::{DMatrix, DVector};

use super::super::law::limit;
use super::{Law, Method, NaturalError, Options, Outcome, Problem, Scale, Work, start};
use crate::math::{Mat3, Vec3};

/// Steps that are taken in full, from either start: where they converge, they need 3 to 48 (29 of 63 problems with 12 to
/// 60 contacts that neither the projections nor [`Steps::Descent`] solved; a thirtieth by friction that grows from zero).
const FULL: u32 = 50;
const DESCENT: u32 = 100;
/// The most contacts for which steps of descent are tried: each looks at several points.
const MAX_DESCENT_CONTACTS: usize = 32;
/// Sweeps of Gauss-Seidel where the line search finds no better point.
const HELP: u32 = 5;
/// Part of the scale of a contact that keeps the matrix regular where contacts repeat each other; it does not move the
/// solution.
const REGULARISATION: f64 = 1e-9;

/// How far the iteration goes along a Newton direction.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Steps {
    /// All of it, whether or not that comes nearer: a line search holds on to minima of |F| that are no solutions.
    Full,
    /// Only as far as |F| sinks; sweeps where it does not.
    Descent,
}

/// As `solve`, with cubic effort a Newton step; in f64 on the stored W.
pub fn ssn(problem: &Problem, p: &mut [Vec3], options: &Options, work: &mut Work) -> Outcome {
    let mut outcome = Outcome { method: Method::Newton, error: NaturalError::UNKNOWN, converged: false, ..Outcome::none() };
    work.resize(p.len());
    if !start(problem, p, work) {
        return outcome;
    }
    outcome.error = work.best_error;
    let n = p.len();
    let equation = Equation {
        problem: *problem,
        w: problem.w.to_dense(),
        free: DVector::from_iterator(3 * n, problem.free.iter().flat_map(|v| v.iter().copied())),
    };
    let given = DVector::from_iterator(3 * n, p.iter().flat_map(|v| v.iter().copied()));
    let zero = DVector::zeros(3 * n);
    let descent = if n <= MAX_DESCENT_CONTACTS { DESCENT } else { 0 };
    for (start, steps, bound) in [(&given, Steps::Full, FULL), (&zero, Steps::Full, FULL), (&given, Steps::Descent, descent)] {
        equation.iterate(start.clone(), steps, bound, options.tolerance, work, &mut outcome);
        if outcome.converged {
            break;
        }
    }
    // Newton comes to the cones from both sides.
    for (k, (p, best)) in p.iter_mut().zip(&mut work.best.p).enumerate() {
        *best = problem.laws[k].project(best, &Vec3::zeros(), 0.0, &problem.w.scales()[k]);
        *p = *best;
    }
    outcome
}

/// F(p) = 0 in dense form.
struct Equation<'a> {
    problem: Problem<'a>,
    w: DMatrix<f64>,
    free: DVector<f64>,
}

impl Equation<'_> {
    fn motion(&self, x: &DVector<f64>) -> DVector<f64> {
        &self.free + &self.w * x
    }

    /// |F|^2 [m^2].
    fn merit(&self, x: &DVector<f64>) -> f64 {
        residual(&self.problem, x, &self.motion(x)).norm_squared()
    }

    /// At most `bound` Newton steps from x; keeps the best point in `work`.
    fn iterate(&self, mut x: DVector<f64>, steps: Steps, bound: u32, tolerance: f64, work: &mut Work, outcome: &mut Outcome) {
        let problem = &self.problem;
        let end = outcome.iterations + bound;
        loop {
            let u = self.motion(&x);
            let error = problem.error(&blocks(&x), &blocks(&u));
            if error.max() < outcome.error.max() {
                (work.best.p, work.best.u, outcome.error) = (blocks(&x), blocks(&u), error);
                work.best_error = error;
            }
            outcome.converged = outcome.error.max() < tolerance;
            let is_over = outcome.iterations >= end || problem.cancel.is_cancelled();
            if outcome.converged || is_over || error == NaturalError::UNKNOWN {
                break;
            }
            outcome.iterations += 1;
            let step = self.newton_step(&x, &u, work);
            x = match (step, steps) {
                (Some(step), Steps::Full) => x + step,
                (None, Steps::Full) => break,
                (step, Steps::Descent) => {
                    let merit = residual(problem, &x, &u).norm_squared();
                    let lengths = (0..8).map(|k| 0.5f64.powi(k));
                    let better = step.and_then(|step| lengths.map(|l| &x + &step * l).find(|x| self.merit(x) < 0.99 * merit));
                    better.unwrap_or_else(|| self.swept(&x, work))
                }
            };
        }
    }

    /// `-(dF/dp + dF/du W)^-1 F` with the motion `u` at x. Where no motion enters a row of F, of a contact without
    /// force or of tangents without friction, it has no entry but its own, and the matrix is one of the other rows.
    /// None where that is singular.
    fn newton_step(&self, x: &DVector<f64>, u: &DVector<f64>, work: &mut Work) -> Option<DVector<f64>> {
        let Problem { laws, w, .. } = self.problem;
        let law_at = |(k, (law, scale)): (usize, (&Law, &Scale))| {
            let guard = if scale.normal > 0.0 { scale.normal + scale.tangential } else { 1.0 } * REGULARISATION;
            let mut contact = LawResidual::new(law, scale, &block(x, k), &block(u, k));
            contact.by_force += Mat3::identity() * guard;
            contact
        };
        let contacts: Vec<LawResidual> = laws.iter().zip(w.scales()).enumerate().map(law_at).collect();
        let mut step = DVector::zeros(x.len());
        let mut kept = vec![];
        for (row, entry) in step.iter_mut().enumerate() {
            let (contact, a) = (&contacts[row / 3], row % 3);
            if contact.by_motion.row(a).iter().all(|d| *d == 0.0) {
                *entry = -contact.residual[a] / contact.by_force[(a, a)];
            } else {
                kept.push(row);
            }
        }
        let mut right_side = DVector::from_iterator(kept.len(), kept.iter().map(|row| -contacts[row / 3].residual[row % 3]));
        let mut matrix = DMatrix::zeros(kept.len(), kept.len());
        let mut n_kept = 0;
        for (column, w) in self.w.column_iter().enumerate() {
            let entries = kept.iter().map(|row| {
                let (k, contact, a) = (row / 3, &contacts[row / 3], row % 3);
                let by_motion: f64 = (0..3).map(|b| contact.by_motion[(a, b)] * w[3 * k + b]).sum();
                if column / 3 == k { by_motion + contact.by_force[(a, column % 3)] } else { by_motion }
            });
            if kept.get(n_kept) == Some(&column) {
                matrix.column_mut(n_kept).iter_mut().zip(entries).for_each(|(j, entry)| *j = entry);
                n_kept += 1;
            } else if step[column] != 0.0 {
                right_side.iter_mut().zip(entries).for_each(|(right, entry)| *right -= entry * step[column]);
            }
        }
        if kept.is_empty() {
            return Some(step);
        }
        let (n, m) = (laws.len() as f64, kept.len() as f64);
        // With all rows kept, 2/3 (3 n)^3 operations: as many as n products take.
        work.factor_work += (m * m * m / (27.0 * n * n) * w.work() as f64) as u64;
        let solved = matrix.lu().solve(&right_side)?;
        kept.iter().zip(&solved).for_each(|(row, entry)| step[*row] = *entry);
        Some(step)
    }

    /// A point after some sweeps of Gauss-Seidel.
    fn swept(&self, x: &DVector<f64>, work: &mut Work) -> DVector<f64> {
        let mut swept = blocks(x);
        for k in 0..2 * HELP {
            self.problem.w.sweep(self.problem.laws, self.problem.free, &mut swept, k % 2 == 0, &mut work.gather);
        }
        DVector::from_iterator(x.len(), swept.iter().flat_map(|v| v.iter().copied()))
    }
}

fn block(x: &DVector<f64>, k: usize) -> Vec3 {
    Vec3::new(x[3 * k], x[3 * k + 1], x[3 * k + 2])
}

fn blocks(x: &DVector<f64>) -> Vec<Vec3> {
    (0..x.len() / 3).map(|k| block(x, k)).collect()
}

/// F(p, u) [m], zero where the laws hold.
fn residual(problem: &Problem, x: &DVector<f64>, u: &DVector<f64>) -> DVector<f64> {
    let parts = problem.laws.iter().zip(problem.w.scales()).enumerate();
    let residual = parts.map(|(k, (law, scale))| LawResidual::new(law, scale, &block(x, k), &block(u, k)).residual);
    DVector::from_iterator(x.len(), residual.flat_map(|r| [r.x, r.y, r.z]))
}

/// One contact's part of F and its derivatives.
struct LawResidual {
    residual: Vec3,
    by_force: Mat3,
    by_motion: Mat3,
}

impl LawResidual {
    fn new(law: &Law, scale: &Scale, p: &Vec3, u: &Vec3) -> Self {
        let (wn, wt) = (scale.normal, scale.tangential);
        let friction = match *law {
            Law::Bilateral { .. } => return Self { residual: *u, by_force: Mat3::zeros(), by_motion: Mat3::identity() },
            Law::Unilateral { friction } => friction,
        };
        if scale.inverse_normal == 0.0 {
            return Self { residual: *p, by_force: Mat3::identity(), by_motion: Mat3::zeros() };
        }
        let trial = p.x - scale.inverse_normal * u.x;
        let mut contact = Self { residual: *p * wt, by_force: Mat3::from_diagonal(&Vec3::new(0.0, wt, wt)), by_motion: Mat3::zeros() };
        if trial <= 0.0 {
            contact.residual.x = wn * p.x;
            contact.by_force[(0, 0)] = wn;
            return contact;
        }
        contact.residual.x = u.x;
        contact.by_motion[(0, 0)] = 1.0;
        let radius = limit(friction, trial);
        let tau = [p.y - scale.inverse_tangential * u.y, p.z - scale.inverse_tangential * u.z];
        let length = tau[0].hypot(tau[1]);
        if radius > 0.0 && length <= radius {
            (contact.residual.y, contact.residual.z) = (u.y, u.z);
            (contact.by_force[(1, 1)], contact.by_force[(2, 2)]) = (0.0, 0.0);
            (contact.by_motion[(1, 1)], contact.by_motion[(2, 2)]) = (1.0, 1.0);
        } else if radius > 0.0 {
            let direction = [tau[0] / length, tau[1] / length];
            for a in 0..2 {
                contact.residual[1 + a] = wt * (p[1 + a] - radius * direction[a]);
                contact.by_force[(1 + a, 0)] = -wt * friction * direction[a];
                contact.by_motion[(1 + a, 0)] = wt * friction * scale.inverse_normal * direction[a];
                for b in 0..2 {
                    let turn = radius / length * (f64::from(u8::from(a == b)) - direction[a] * direction[b]);
                    contact.by_force[(1 + a, 1 + b)] -= wt * turn;
                    contact.by_motion[(1 + a, 1 + b)] += turn;
                }
            }
        }
        contact
    }
}
