//! The contact laws in the space of the contact forces: find p with  u = free + W p  so that p and u obey the law of
//! every contact (`contact-study.md` 1, 2, 4).
//!
//! Forces p [N] and motions u over the step [m] stand in the contact frame: normal, two tangents. The first entry of u
//! is the gap less the safety distance, the others are the slip. W [m/N] is the compliance of all contacts,
//! [`Compliance`].
//!
//! [`solve`] is a spectral projected gradient; where that does not converge, a splitting with a factor of W goes on from
//! the best forces found, and after it an accelerated gradient. What few contacts leave then is for [`ssn`], which is
//! exact: bodies that give way along a hinge couple normals and friction so strongly that projections go round and round.
//! Everything is deterministic.
//!
//! A third method after these two is not worth its iterations: nonlinear conjugate gradients on Gauss-Seidel sweeps
//! (Silcowitz-Hansen, Abel & Erleben 2010) were reached in 20 of 13,602 solves of 19 runs (gallery, rings, heaps of
//! cubes, strings, stacks) and converged in none, after 2,475 products.

mod admm;
mod apgd;
mod compliance;
mod shifted;
mod spg;
mod ssn;
#[cfg(test)]
mod tests;

pub use apgd::EIGENVALUE_MARGIN;
pub use compliance::{Compliance, Gather};
pub use ssn::ssn;

use super::law::{Law, NaturalError, Scale};
use crate::cancel::CancelToken;
use crate::math::Vec3;
use crate::sparse::lanes::Entries;
use shifted::ShiftedFactor;

/// What to solve. All slices have one entry a contact.
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    pub w: &'a Compliance,
    pub laws: &'a [Law],
    /// Motion without contact forces [m].
    pub free: &'a [Vec3],
    /// Asked at each iteration.
    pub cancel: &'a CancelToken,
    /// A factor that takes more work than this is not made [bytes].
    pub work_left: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Bound on the natural map of every contact [m].
    pub tolerance: f64,
    /// Forces within the tolerance are improved to this part of it, if a few iterations do (0 to 1).
    pub aim: f64,
    /// Bounds on the iterations of the spectral gradient, the splitting and the accelerated gradient. What the first
    /// does not find soon takes it thousands (see [`admm`]).
    pub iterations: [u32; 3],
}

impl Default for Options {
    fn default() -> Self {
        Self { tolerance: 2.5e-6, aim: 1.0, iterations: [80, 600, 800] }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Spectral projected gradient (Barzilai-Borwein).
    Spectral,
    /// Alternating direction method of multipliers.
    Splitting,
    /// Accelerated projected gradient descent with restarts.
    Accelerated,
    /// Semi-smooth Newton.
    Newton,
}

/// How a solve ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The last method that was used.
    pub method: Method,
    /// Products with W of all methods, solves with its factor, and steps of Newton's method.
    pub iterations: u32,
    /// Of the forces that are handed back; infinite if the input was not finite.
    pub error: NaturalError,
    pub converged: bool,
    /// Work of factors, with what solves with them take beyond products with W [bytes].
    pub factor_work: u64,
}

impl Outcome {
    /// Of no contacts.
    pub fn none() -> Self {
        Self { method: Method::Spectral, iterations: 0, error: NaturalError::default(), converged: true, factor_work: 0 }
    }
}

/// Vectors of the solvers, kept between calls.
#[derive(Clone, Debug, Default)]
pub struct Work {
    gather: Gather,
    /// The forces that obey the laws best so far, and their motion.
    best: Point,
    best_error: NaturalError,
    points: [Point; 2],
    directions: [Vec<Vec3>; 2],
    factor: ShiftedFactor,
    /// Of the present solve [bytes].
    factor_work: u64,
    solution: Entries,
    block: Entries,
}

/// Forces [N] and the motion with them [m].
#[derive(Clone, Debug, Default)]
struct Point {
    p: Vec<Vec3>,
    u: Vec<Vec3>,
}

impl Point {
    /// Takes those of another, of as many contacts.
    fn copy_from(&mut self, other: &Self) {
        self.p.copy_from_slice(&other.p);
        self.u.copy_from_slice(&other.u);
    }
}

impl Work {
    /// The motion `free + W p` at the forces that the last solve found [m].
    pub fn motion(&self) -> &[Vec3] {
        &self.best.u
    }

    fn resize(&mut self, n: usize) {
        let Point { p, u } = &mut self.best;
        let [Point { p: p0, u: u0 }, Point { p: p1, u: u1 }] = &mut self.points;
        let [d0, d1] = &mut self.directions;
        for vector in [p, u, p0, u0, p1, u1, d0, d1] {
            vector.resize(n, Vec3::zeros());
        }
    }
}

/// Checks a point now and then: keeps the best, and tells whether there is progress.
struct Watch<'a> {
    problem: Problem<'a>,
    tolerance: f64,
    /// Checks without progress.
    idle: u32,
}

impl Watch<'_> {
    /// True if the point is good enough.
    fn check(&mut self, point: &Point, best: &mut Point, best_error: &mut NaturalError) -> bool {
        let error = self.problem.error(&point.p, &point.u);
        if error.max() < best_error.max() {
            *best_error = error;
            best.copy_from(point);
            self.idle = 0;
        } else {
            self.idle += 1;
        }
        best_error.max() < self.tolerance
    }
}

impl Problem<'_> {
    /// Largest natural map over the contacts; infinite where a force or a motion is not finite.
    pub fn error(&self, p: &[Vec3], u: &[Vec3]) -> NaturalError {
        let mut largest = NaturalError::default();
        let mut sum = 0.0; // tells of what a maximum hides
        for (k, law) in self.laws.iter().enumerate() {
            let error = law.error(&p[k], &u[k], &self.w.scales()[k]);
            largest = NaturalError { normal: largest.normal.max(error.normal), tangential: largest.tangential.max(error.tangential) };
            sum += error.normal + error.tangential;
        }
        if sum.is_finite() { largest } else { NaturalError::UNKNOWN }
    }

    /// `q`: a projected step from p against the motion u.
    fn project(&self, p: &[Vec3], u: &[Vec3], step: f64, q: &mut [Vec3]) {
        for (k, q) in q.iter_mut().enumerate() {
            *q = self.laws[k].project(&p[k], &u[k], step, &self.w.scales()[k]);
        }
    }

    fn is_finite(&self) -> bool {
        self.free.iter().all(|v| v.iter().all(|x| x.is_finite()))
            && self.w.scales().iter().all(|s| s.normal.is_finite() && s.tangential.is_finite())
    }
}

/// The length of a force as a motion, squared [m N]: `a . D b`.
fn dot_scaled(a: &Vec3, b: &Vec3, scale: &Scale) -> f64 {
    scale.normal * a.x * b.x + scale.tangential * (a.y * b.y + a.z * b.z)
}

/// Most contacts that are solved by Newton's method where nothing else converges: a step of it factorises a dense matrix
/// with up to three rows a contact.
const MAX_NEWTON_CONTACTS: usize = 64;

/// Bound on the iterations that improve what is within the tolerance.
pub const IMPROVEMENTS: u32 = 24;

/// Goes on from the best point to a tolerance [m] with a bound on the iterations; returns how many it took.
type Iterate = fn(&Problem, f64, u32, &mut Work) -> u32;

/// Finds forces from the start value in `p` (any; it is brought into the cones first). `p` takes the best forces found,
/// whether or not they are good enough.
pub fn solve(problem: &Problem, p: &mut [Vec3], options: &Options, work: &mut Work) -> Outcome {
    let mut outcome = Outcome::none();
    if p.is_empty() {
        return outcome;
    }
    work.resize(p.len());
    work.factor_work = 0;
    if !start(problem, p, work) {
        return Outcome { error: NaturalError::UNKNOWN, converged: false, ..outcome };
    }
    let methods: [(Method, Iterate); 3] =
        [(Method::Spectral, spg::iterate), (Method::Splitting, admm::iterate), (Method::Accelerated, apgd::iterate)];
    for ((method, iterate), bound) in methods.into_iter().zip(options.iterations) {
        if work.best_error.max() < options.tolerance {
            break;
        }
        outcome.method = method;
        outcome.iterations += iterate(problem, options.tolerance, bound, work);
    }
    if work.best_error.max() >= options.tolerance && p.len() <= MAX_NEWTON_CONTACTS {
        p.copy_from_slice(&work.best.p);
        let exact = ssn(problem, p, options, work);
        outcome.method = exact.method;
        outcome.iterations += exact.iterations;
        // It has brought the forces into their cones at the end.
        problem.w.product(p, problem.free, &mut work.best.u, &mut work.gather);
        work.best_error = problem.error(p, &work.best.u);
    }
    // What is good enough is improved as far as that is cheap: else forces would wait until a resting body has moved by
    // the tolerance, and it would never be still.
    let aim = options.aim * options.tolerance;
    if work.best_error.max() < options.tolerance && work.best_error.max() >= aim {
        outcome.iterations += spg::iterate(problem, aim, IMPROVEMENTS, work);
    }
    p.copy_from_slice(&work.best.p);
    outcome.error = work.best_error;
    outcome.converged = work.best_error.max() < options.tolerance;
    outcome.factor_work = work.factor_work;
    outcome
}

/// Puts the start value, inside the cones, into `work.best`; the better of it and no force. False if the input is not
/// finite: `p` is then zero.
fn start(problem: &Problem, p: &mut [Vec3], work: &mut Work) -> bool {
    let zero = Vec3::zeros();
    for (k, p) in p.iter_mut().enumerate() {
        let finite = p.iter().all(|x| x.is_finite());
        *p = if finite { problem.laws[k].project(p, &zero, 0.0, &problem.w.scales()[k]) } else { zero };
    }
    if !problem.is_finite() {
        p.fill(zero);
        work.best.p.fill(zero);
        work.best.u.fill(zero);
        return false;
    }
    work.best.p.copy_from_slice(p);
    problem.w.product(p, problem.free, &mut work.best.u, &mut work.gather);
    work.best_error = problem.error(&work.best.p, &work.best.u);
    if work.best_error == NaturalError::UNKNOWN {
        work.best.p.fill(zero);
        work.best.u.copy_from_slice(problem.free);
        work.best_error = problem.error(&work.best.p, &work.best.u);
    }
    true
}
