//! Preconditioned conjugate residuals on the whole system of velocities and multipliers, switching contact states on
//! the way [Verschoor & Jalba 2019, Algorithm 1; Verschoor 2019, Algorithm 4; `contact-cr.md` 3, 6, 7].
//!
//! The unknown is y = (dv, z) of  B y = d,  B = [A L^T; L -S], d = (rhs - J_t^T gamma', -offset), with L the rows that
//! are in the system and S the compliance of those that have one: springs, and sliding contacts that turn. The residual
//! is split: r_u = rhs - A dv is carried by the recurrence, so a changed state costs no product with A. One product
//! with A and one application of the preconditioner an iteration.

use super::RowSolver;
use super::contact_states::{Effort, Occasion, evaluate};
pub use super::cr_options::{CrOptions, FrictionUpdate, Part, Preconditioner};
use super::cr_preconditioner::{Pair, Preconditioning};
use crate::contact::driver::{RowsSolved, Schedule};
use crate::contact::{Constraint, Problem, Status, update_compliances};
use crate::math::Vec3;
use crate::sparse::{axpy, dot, xpay};

/// The method with the vectors of its loop, kept between steps.
#[derive(Debug, Default)]
pub struct Cr {
    pub options: CrOptions,
    work: Work,
    cg: [Vec<Vec3>; 4],
    /// Iterations of the step so far.
    iterations: u32,
    /// Residual that the step started with [kg m/s]; none before its first rows.
    first_residual: Option<f64>,
}

#[derive(Debug, Default)]
struct Work {
    residual: Pair,
    direction: Pair,
    z: Pair,
    b_z: Pair,
    b_p: Pair,
    c_b_p: Pair,
    free_residual: Vec<Vec3>,
    a_z: Vec<Vec3>,
    a_p: Vec<Vec3>,
    scratch: Vec<Vec3>,
    preconditioner: Preconditioning,
    load: Vec<f64>,
}

impl Work {
    /// 2-norm of the residual of the velocities [kg m/s].
    fn velocity_residual(&self) -> f64 {
        dot(&self.residual.v, &self.residual.v).sqrt()
    }

    /// The residual in units of its bounds: that of the `velocities`, and `ROW_TOLERANCE` of a contact tolerance for
    /// the rows.
    fn error(&self, velocities: f64, bound: f64, tolerance: f64) -> f64 {
        let rows = self.residual.c.iter().map(Vec3::amax).fold(0.0, f64::max);
        (velocities / bound).max(rows / (ROW_TOLERANCE * tolerance))
    }
}

impl RowSolver for Cr {
    fn schedule(&self) -> Schedule {
        Schedule::RoughFirst
    }

    fn begin(&mut self, _: &Problem, _: &[Vec3]) {
        (self.iterations, self.first_residual) = (0, None);
    }

    fn solve_rows(&mut self, problem: &Problem, rows: &mut [Constraint], dv: &mut [Vec3], accuracy: f64) -> RowsSolved {
        if rows.is_empty() {
            return problem.solve_no_rows(dv, &mut self.cg);
        }
        self.iterate(problem, rows, dv, accuracy.is_infinite())
    }
}

impl Cr {
    pub fn new(options: CrOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// The loop, until it has converged and no state changes any more. While rows may still change (`is_rough`) a rough
    /// solve shows how.
    fn iterate(&mut self, problem: &Problem, contacts: &mut [Constraint], dv: &mut [Vec3], is_rough: bool) -> RowsSolved {
        let Self { options, work, iterations, first_residual, .. } = self;
        let options = &*options;
        let max_iterations = options.iterations_factor * problem.bounds.max_iterations;
        let mut solved = RowsSolved::default();
        let first_iteration = *iterations;
        work.begin(problem, dv);
        work.preconditioner.begin(problem, options, contacts);
        let mut rho = restart(problem, options, contacts, dv, work);
        let mut since_evaluation = 0;
        // An impact is solved to a part of itself.
        let first_residual = *first_residual.get_or_insert_with(|| work.velocity_residual());
        let final_bound = problem.bounds.residual.max(options.relative_residual * first_residual);
        let bound = if is_rough { final_bound.max(ROUGH_TOLERANCE * first_residual) } else { final_bound };
        let mut after_restart = work.error(work.velocity_residual(), bound, problem.tolerance);
        let coupled = work.preconditioner.couples();
        let mut refreshed = (after_restart, *iterations);
        loop {
            // The step along p.
            let Work { preconditioner, b_p, c_b_p, .. } = &mut *work;
            preconditioner.apply(problem, options, contacts, b_p, c_b_p);
            let alpha = rho / work.b_p.dot(&work.c_b_p);
            let stuck = !alpha.is_finite();
            if !stuck {
                work.advance(alpha, contacts, dv);
                problem.allowance.spend(problem.product_work());
                *iterations += 1;
                since_evaluation += 1;
            }
            solved.residual = work.velocity_residual();
            solved.exhausted = *iterations >= max_iterations || problem.must_end();
            let effort = Effort::at(*iterations, max_iterations);
            let error = work.error(solved.residual, bound, problem.tolerance * effort.leniency());
            let converged = error <= 1.0;
            let mut occasion = Occasion { residual: None, rounds: solved.restarts, effort };
            let mut changed = false;
            if converged || stuck {
                occasion.residual = Some(bound);
                changed = evaluate(problem, options, contacts, dv, &occasion);
                if !changed {
                    solved.iterations = *iterations - first_iteration;
                    solved.settled = converged && effort != Effort::Frozen;
                    solved.exhausted = false;
                    return solved;
                }
            } else if alpha > 0.0 && is_time(options, coupled, max_iterations, since_evaluation, error / after_restart, error) {
                changed = evaluate(problem, options, contacts, dv, &occasion);
                since_evaluation = 0;
            }
            if solved.exhausted {
                solved.iterations = *iterations - first_iteration;
                return solved;
            }
            if changed {
                solved.restarts += 1;
                since_evaluation = 0;
                rho = restart(problem, options, contacts, dv, work);
                after_restart = work.error(work.velocity_residual(), bound, problem.tolerance);
                refreshed = (after_restart, *iterations);
                continue;
            }
            let is_old = error < REFRESHED * refreshed.0 || *iterations >= refreshed.1 + MAX_AGE;
            if is_old && coupled {
                let Work { preconditioner, residual, z, .. } = &mut *work;
                preconditioner.apply(problem, options, contacts, residual, z);
                refreshed = (error, *iterations);
            }
            apply(problem, options, contacts, &work.z, &mut work.b_z, &mut work.a_z);
            let rho_new = work.z.dot(&work.b_z);
            work.turn(rho_new / rho);
            rho = rho_new;
        }
    }
}

impl Work {
    /// The residual of the velocities without contact forces.
    fn begin(&mut self, problem: &Problem, dv: &[Vec3]) {
        for vector in [&mut self.free_residual, &mut self.a_z, &mut self.a_p, &mut self.scratch] {
            vector.resize(dv.len(), Vec3::zeros());
        }
        problem.system.apply(dv, &mut self.scratch);
        for ((r, b), q) in self.free_residual.iter_mut().zip(problem.rhs).zip(&self.scratch) {
            *r = b - q;
        }
    }

    /// A step of length `alpha` along the direction.
    fn advance(&mut self, alpha: f64, contacts: &mut [Constraint], dv: &mut [Vec3]) {
        axpy(dv, alpha, &self.direction.v);
        for (contact, p) in contacts.iter_mut().zip(&self.direction.c) {
            contact.force.multiplier += p * alpha;
        }
        self.residual.add(-alpha, &self.b_p);
        axpy(&mut self.free_residual, -alpha, &self.a_p);
        self.z.add(-alpha, &self.c_b_p);
    }

    /// The next direction.
    fn turn(&mut self, beta: f64) {
        self.direction.follow(&self.z, beta);
        self.b_p.follow(&self.b_z, beta);
        xpay(&mut self.a_p, &self.a_z, beta);
    }
}

/// Where states and rows are first settled, as a part of the residual that the step starts with.
pub const ROUGH_TOLERANCE: f64 = 3e-2;

/// What the rows may miss, as a part of the contact tolerance: they aim at the middle of a band as wide as that.
pub const ROW_TOLERANCE: f64 = 0.3;

/// Where contacts are coupled the preconditioner rounds to f32: its z is brought anew once the error is this part of
/// what it was then, and after so many iterations. What the recurrence carries on stays off by what was rounded at
/// first, and never ends.
const REFRESHED: f64 = 1e-3;
const MAX_AGE: u32 = 100;

/// True when states should be looked at after `iterations` since the last look. `Turn`: each max(1,
/// floor(log2(|r|/eps1) / 3)) iterations, the published law.
/// `Projection`: when the error is `progress` < 1/2 of that after the states changed, as an inexact Newton method
/// solves each of its linear systems, or after a fiftieth of the iterations that there are; sooner where contacts are
/// coupled.
fn is_time(options: &CrOptions, coupled: bool, max_iterations: u32, iterations: u32, progress: f64, error: f64) -> bool {
    let (least, part) = if coupled { LOOK_COUPLED } else { LOOK };
    match options.friction {
        FrictionUpdate::Turn => iterations >= (error.max(1.0).log2() / 3.0).floor().max(1.0) as u32,
        FrictionUpdate::Projection => iterations >= max_iterations / 50 || (iterations >= least && progress < part),
    }
}

/// The fewest iterations to the next look at the states, and the part of the error that may be left then.
const LOOK: (u32, f64) = (4, 0.5);
/// The same where contacts are coupled: there few iterations tell what they will do. On `armadillo_cylinders` (20k
/// tets, 473 steps with contacts) as above takes 94 iterations a step, (8, 0.5) 111, (2, 0.5) 80, (2, 0.8) 72 and
/// (1, 0.9) 80.
const LOOK_COUPLED: (u32, f64) = (2, 0.8);

/// Residual, preconditioned residual and first direction for the present states; returns z.Bz.
fn restart(problem: &Problem, options: &CrOptions, contacts: &mut [Constraint], dv: &[Vec3], work: &mut Work) -> f64 {
    update_compliances(problem, contacts, &mut work.load);
    work.preconditioner.restart(problem, options, contacts);
    for pair in [&mut work.residual, &mut work.direction, &mut work.z, &mut work.b_z, &mut work.b_p, &mut work.c_b_p] {
        pair.resize(dv.len(), contacts.len());
    }
    work.residual.v.copy_from_slice(&work.free_residual);
    for (contact, r) in contacts.iter().zip(&mut work.residual.c) {
        let force = options.part.mask(contact, contact.force.multiplier)
            + if contact.force.status == Status::Sliding { contact.force.sliding_force } else { Vec3::zeros() };
        problem.spread(contact, &force, -1.0, &mut work.residual.v);
        let given = contact.row_compliance().component_mul(&contact.force.multiplier);
        *r = options.part.mask(contact, given - contact.row.offset - problem.rows(contact, dv));
    }
    clear_fixed(problem, &mut work.residual.v);
    let Work { preconditioner, residual, z, .. } = &mut *work;
    preconditioner.apply(problem, options, contacts, residual, z);
    apply(problem, options, contacts, &work.z, &mut work.b_z, &mut work.a_z);
    work.direction.clone_from(&work.z);
    work.b_p.clone_from(&work.b_z);
    work.a_p.copy_from_slice(&work.a_z);
    work.z.dot(&work.b_z)
}

/// `out = B x`, and `a_x = A x.v` by itself.
fn apply(problem: &Problem, options: &CrOptions, contacts: &[Constraint], x: &Pair, out: &mut Pair, a_x: &mut [Vec3]) {
    problem.system.apply(&x.v, a_x);
    out.v.copy_from_slice(a_x);
    for ((contact, xc), oc) in contacts.iter().zip(&x.c).zip(&mut out.c) {
        problem.spread(contact, &options.part.mask(contact, *xc), 1.0, &mut out.v);
        *oc = options.part.mask(contact, problem.rows(contact, &x.v) - contact.row_compliance().component_mul(xc));
    }
    clear_fixed(problem, &mut out.v);
}

fn clear_fixed(problem: &Problem, v: &mut [Vec3]) {
    problem.system.clear_fixed(v);
}
