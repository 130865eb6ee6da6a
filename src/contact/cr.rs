//! Preconditioned conjugate residuals on the whole system of velocities and multipliers, switching contact states on the way
//! [Verschoor & Jalba 2019, Algorithm 1; Verschoor 2019, Algorithm 4; `contact-cr.md` 3, 6, 7].
//!
//! The unknown is y = (dv, z) of  B y = d,  B = [A L^T; L -S], d = (rhs - J_t^T gamma', -offset), with L the rows that are in the
//! system and S the compliance of those that have one: springs, and sliding contacts that turn. The residual is split: r_u = rhs - A dv is carried by the recurrence, so a changed state costs no product with A. One product with A and
//! one application of the preconditioner an iteration.

use std::ops::Range;

use super::{Constraint, Effort, Occasion, Status, evaluate};
use crate::math::{Mat3, Vec3};
use crate::sparse::{self, Operator, Pattern, axpy, dot, xpay};

/// The linear part of a step.
#[derive(Clone)]
pub struct Problem<'a> {
    pub a: &'a Operator,
    pub pattern: &'a Pattern,
    pub fixed: &'a [bool],
    /// The unknowns of the problem: rows that form a block of their own (a body, or all that touch each other). Vectors of the problem hold these only.
    pub unknowns: Range<usize>,
    /// [s]
    pub dt: f64,
    /// [kg m/s]
    pub rhs: &'a [Vec3],
    /// eps2 [m].
    pub tolerance: f64,
}

impl Problem<'_> {
    /// `dt C H a` of one contact.
    pub fn rows(&self, contact: &Constraint, a: &[Vec3]) -> Vec3 {
        contact.row.apply(a, self.unknowns.start, self.dt)
    }

    /// Motion of a contact's rows over the step with its force `p` and the velocity change `dv` [m]: gap less the contact offset, and slip; of a
    /// joint what its law says is zero.
    pub fn motion(&self, contact: &Constraint, p: &Vec3, dv: &[Vec3]) -> Vec3 {
        contact.row.motion(dv, self.unknowns.start, self.dt) + contact.law.compliance().component_mul(p)
    }

    /// `y += s dt H^T C^T f` of one contact.
    pub fn spread(&self, contact: &Constraint, f: &Vec3, s: f64, y: &mut [Vec3]) {
        contact.row.spread(f, s, y, self.unknowns.start, self.dt);
    }

    /// `r = rhs + J^T p - A dv` with the forces `p` of the contacts; zero where nodes are fixed.
    pub fn residual(&self, contacts: &[Constraint], p: &[Vec3], dv: &[Vec3], r: &mut [Vec3]) {
        self.a.apply(self.pattern, self.fixed, &self.unknowns, dv, r);
        for (r, b) in r.iter_mut().zip(self.rhs) {
            *r = b - *r;
        }
        for (contact, p) in contacts.iter().zip(p) {
            self.spread(contact, p, 1.0, r);
        }
        sparse::clear_fixed(self.fixed, &self.unknowns, r);
    }
}

#[derive(Clone, Copy, Debug)]
pub struct CrOptions {
    /// Bound on the 2-norm of the velocity residual [kg m/s].
    pub residual: f64,
    pub max_iterations: u32,
    /// The residual may stay at this part of the one that the step starts with: an impact many times the weight need not be solved to a thousandth of the
    /// weight.
    pub relative_residual: f64,
    pub preconditioner: Preconditioner,
    pub part: Part,
    pub friction: FrictionUpdate,
    /// States are looked at when the residual has fallen, and changed for what is seen in the motion. Else they are looked at after each iteration and
    /// changed for whatever counts at the end: the same answer, with more restarts (`contact-cr.md` 13).
    pub postpones: bool,
}

impl CrOptions {
    pub fn new(residual: f64, max_iterations: u32) -> Self {
        Self {
            residual,
            max_iterations,
            relative_residual: RELATIVE_RESIDUAL,
            preconditioner: Preconditioner::Full,
            part: Part::Contact,
            friction: FrictionUpdate::Projection,
            postpones: true,
        }
    }
}

/// The preconditioners of `contact-cr.md` 6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preconditioner {
    /// Block inverse of [D L^T; L 0] with the diagonal of L D^-1 L^T.
    Full,
    /// The two diagonals alone: D^-1 and the inverse diagonal of L D^-1 L^T.
    Diagonal,
    /// The identity, but for one number that makes rows, which are metres, comparable with momenta: else the answer to how many iterations it takes would
    /// depend on the unit of length.
    None,
}

/// How the force of a sliding contact finds its size and direction. Measured in the heap of `rings` (8 steps from 0.49 s): the projection takes 341
/// iterations a step, the published turn 1149, and it solves for the direction, which the turn hardly changes. At rest the turn takes fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrictionUpdate {
    /// Newton's method on the projection on the cone: the force across the direction is an unknown of the system (`Force::sliding_compliance`).
    Projection,
    /// The published one: a small turn towards the slip, and states looked at by the interval law (`contact-cr.md` 3, 5).
    Turn,
}

/// Which forces are unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All.
    Contact,
    /// Friction and joints: normal forces stay as they are and stand in `Problem::rhs`.
    Friction,
}

impl Part {
    /// The rows that are in the system.
    fn mask(self, contact: &Constraint, v: Vec3) -> Vec3 {
        let rows = contact.force.mask(v);
        if contact.law.is_bilateral() {
            return rows;
        }
        match self {
            Self::Contact => rows,
            Self::Friction => Vec3::new(0.0, rows.y, rows.z),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CrOutcome {
    pub iterations: u32,
    pub restarts: u32,
    /// Calls of `adapt` that changed the rows.
    pub relinearisations: u32,
    /// 2-norm of the velocity residual [kg m/s].
    pub residual: f64,
    pub converged: bool,
}

/// A vector of the whole system: nodes and contacts.
#[derive(Clone, Debug, Default)]
struct Pair {
    v: Vec<Vec3>,
    c: Vec<Vec3>,
}

impl Pair {
    fn resize(&mut self, nodes: usize, contacts: usize) {
        self.v.resize(nodes, Vec3::zeros());
        self.c.resize(contacts, Vec3::zeros());
    }

    fn dot(&self, other: &Self) -> f64 {
        dot(&self.v, &other.v) + dot(&self.c, &other.c)
    }

    fn add(&mut self, s: f64, x: &Self) {
        axpy(&mut self.v, s, &x.v);
        axpy(&mut self.c, s, &x.c);
    }

    /// `self = x + s self`.
    fn follow(&mut self, x: &Self, s: f64) {
        xpay(&mut self.v, &x.v, s);
        xpay(&mut self.c, &x.c, s);
    }
}

/// Vectors of the loop, kept between steps.
#[derive(Clone, Debug, Default)]
pub struct CrWork {
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
    load: Vec<f64>,
}

impl CrWork {
    /// 2-norm of the residual of the velocities [kg m/s].
    fn velocity_residual(&self) -> f64 {
        dot(&self.residual.v, &self.residual.v).sqrt()
    }

    /// The residual in units of its bounds: that of the `velocities`, and `ROW_TOLERANCE` of a contact tolerance for the rows.
    fn error(&self, velocities: f64, bound: f64, tolerance: f64) -> f64 {
        let rows = self.residual.c.iter().map(Vec3::amax).fold(0.0, f64::max);
        (velocities / bound).max(rows / (ROW_TOLERANCE * tolerance))
    }
}

/// Solves for `dv` and the contacts' multipliers and states. When the loop has converged and no state changes any more, `adapt(dv, contacts)` looks at the
/// moved geometry: it adds contacts and renews rows, and returns whether it changed anything; the loop then goes on.
pub fn solve(
    problem: &Problem,
    contacts: &mut Vec<Constraint>,
    dv: &mut [Vec3],
    options: &CrOptions,
    work: &mut CrWork,
    mut adapt: impl FnMut(&[Vec3], &mut Vec<Constraint>) -> bool,
) -> CrOutcome {
    let mut outcome = CrOutcome::default();
    let n = dv.len();
    for vector in [&mut work.free_residual, &mut work.a_z, &mut work.a_p, &mut work.scratch] {
        vector.resize(n, Vec3::zeros());
    }
    problem.a.apply(problem.pattern, problem.fixed, &problem.unknowns, dv, &mut work.scratch);
    for ((r, b), q) in work.free_residual.iter_mut().zip(problem.rhs).zip(&work.scratch) {
        *r = b - q;
    }
    let mut rho = restart(problem, options, contacts, dv, work);
    let mut since_evaluation = 0;
    let mut restarts_before_rows = 0;
    // An impact is solved to a part of itself; and while rows still change, a rough solve shows how.
    let first_residual = work.velocity_residual();
    let final_bound = options.residual.max(options.relative_residual * first_residual);
    let mut bound = final_bound.max(ROUGH_TOLERANCE * first_residual);
    let mut after_restart = work.error(first_residual, bound, problem.tolerance);
    loop {
        // The step along p.
        precondition(problem, options, contacts, &work.b_p, &mut work.c_b_p, &mut work.scratch);
        let curvature = work.b_p.dot(&work.c_b_p);
        let alpha = rho / curvature;
        let mut changed = false;
        let stuck = !alpha.is_finite();
        if !stuck {
            axpy(dv, alpha, &work.direction.v);
            for (contact, p) in contacts.iter_mut().zip(&work.direction.c) {
                contact.force.multiplier += p * alpha;
            }
            work.residual.add(-alpha, &work.b_p);
            axpy(&mut work.free_residual, -alpha, &work.a_p);
            work.z.add(-alpha, &work.c_b_p);
            outcome.iterations += 1;
            since_evaluation += 1;
        }
        outcome.residual = work.velocity_residual();
        let exhausted = outcome.iterations >= options.max_iterations;
        let effort = match outcome.iterations * 6 / options.max_iterations.max(1) {
            0..4 => Effort::Whole,
            4 => Effort::Settling,
            _ => Effort::Frozen,
        };
        let error = work.error(outcome.residual, bound, problem.tolerance * effort.leniency());
        let converged = error <= 1.0;
        let mut occasion = Occasion { residual: None, rounds: outcome.restarts - restarts_before_rows, effort };
        if converged || stuck {
            occasion.residual = Some(bound);
            changed = evaluate(problem, options, contacts, dv, &occasion);
            if !changed {
                if outcome.relinearisations < MAX_RELINEARISATIONS && adapt(dv, contacts) {
                    outcome.relinearisations += 1;
                    restarts_before_rows = outcome.restarts;
                    changed = true;
                } else if bound > final_bound && !stuck {
                    bound = final_bound;
                } else {
                    outcome.converged = converged && effort != Effort::Frozen;
                    return outcome;
                }
            }
        } else if !options.postpones {
            occasion.residual = Some(bound);
            changed = evaluate(problem, options, contacts, dv, &occasion);
        } else if alpha > 0.0 && is_time(options, since_evaluation, error, after_restart) {
            changed = evaluate(problem, options, contacts, dv, &occasion);
            since_evaluation = 0;
        }
        if exhausted {
            return outcome;
        }
        if changed {
            outcome.restarts += 1;
            since_evaluation = 0;
            rho = restart(problem, options, contacts, dv, work);
            after_restart = work.error(work.velocity_residual(), bound, problem.tolerance);
            continue;
        }
        apply(problem, options, contacts, &work.z, &mut work.b_z, &mut work.a_z);
        let rho_new = work.z.dot(&work.b_z);
        let beta = rho_new / rho;
        rho = rho_new;
        work.direction.follow(&work.z, beta);
        work.b_p.follow(&work.b_z, beta);
        xpay(&mut work.a_p, &work.a_z, beta);
    }
}

/// `CrOptions::relative_residual` unless it is asked for.
pub const RELATIVE_RESIDUAL: f64 = 1e-3;

/// Where states and rows are first settled, as a part of the residual that the step starts with.
pub const ROUGH_TOLERANCE: f64 = 3e-2;

/// Most calls of `adapt` in one solve that may change the rows.
pub const MAX_RELINEARISATIONS: u32 = 20;

/// What the rows may miss, as a part of the contact tolerance: they aim at the middle of a band as wide as that.
pub const ROW_TOLERANCE: f64 = 0.3;

/// True when states should be looked at after `iterations` since the last look. `Turn`: each max(1, floor(log2(|r|/eps1) / 3)) iterations, the published law.
/// `Projection`: when the error has halved since the states changed, as an inexact Newton method solves each of its linear systems, or after a fiftieth of the
/// iterations that there are.
fn is_time(options: &CrOptions, iterations: u32, error: f64, after_restart: f64) -> bool {
    match options.friction {
        FrictionUpdate::Turn => iterations >= (error.max(1.0).log2() / 3.0).floor().max(1.0) as u32,
        FrictionUpdate::Projection => iterations >= options.max_iterations / 50 || (iterations >= 4 && error < 0.5 * after_restart),
    }
}

/// Residual, preconditioned residual and first direction for the present states; returns z.Bz.
fn restart(problem: &Problem, options: &CrOptions, contacts: &mut [Constraint], dv: &[Vec3], work: &mut CrWork) -> f64 {
    update_compliances(problem, contacts, &mut work.load);
    for contact in contacts.iter_mut() {
        contact.scaling.stiffness = stiffness(contact, options.part);
    }
    if options.preconditioner == Preconditioner::None {
        let inverse = &problem.a.inverse_diagonals[problem.unknowns.clone()];
        let mobility = inverse.iter().map(Mat3::trace).sum::<f64>() / (3 * inverse.len()) as f64;
        for contact in contacts.iter_mut() {
            let rows = options.part.mask(contact, Vec3::repeat(1.0));
            contact.scaling.stiffness = Mat3::from_diagonal(&(rows / (mobility * problem.dt).powi(2)));
        }
    }
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
    precondition(problem, options, contacts, &work.residual, &mut work.z, &mut work.scratch);
    apply(problem, options, contacts, &work.z, &mut work.b_z, &mut work.a_z);
    work.direction.clone_from(&work.z);
    work.b_p.clone_from(&work.b_z);
    work.a_p.copy_from_slice(&work.a_z);
    work.z.dot(&work.b_z)
}

/// `out = B x`, and `a_x = A x.v` by itself.
fn apply(problem: &Problem, options: &CrOptions, contacts: &[Constraint], x: &Pair, out: &mut Pair, a_x: &mut [Vec3]) {
    problem.a.apply(problem.pattern, problem.fixed, &problem.unknowns, &x.v, a_x);
    out.v.copy_from_slice(a_x);
    for ((contact, xc), oc) in contacts.iter().zip(&x.c).zip(&mut out.c) {
        problem.spread(contact, &options.part.mask(contact, *xc), 1.0, &mut out.v);
        *oc = options.part.mask(contact, problem.rows(contact, &x.v) - contact.row_compliance().component_mul(xc));
    }
    clear_fixed(problem, &mut out.v);
}

fn clear_fixed(problem: &Problem, v: &mut [Vec3]) {
    sparse::clear_fixed(problem.fixed, &problem.unknowns, v);
}

/// The `Full` preconditioner: the block inverse of [D L^T; L 0] with the block diagonal D of A and the diagonal S of L D^-1 L^T:
/// a = D^-1 r;  t = S^-1 (L a - q);  result (a - D^-1 L^T t, t)  (`contact-cr.md` 6). `Diagonal`: (a, S^-1 q). `None`: (r, s q) with a number s.
fn precondition(problem: &Problem, options: &CrOptions, contacts: &[Constraint], r: &Pair, z: &mut Pair, scratch: &mut [Vec3]) {
    match options.preconditioner {
        Preconditioner::None => z.v.copy_from_slice(&r.v),
        _ => problem.a.precondition(&problem.unknowns, &r.v, &mut z.v),
    }
    if contacts.is_empty() {
        return;
    }
    if options.preconditioner != Preconditioner::Full {
        for ((contact, rc), zc) in contacts.iter().zip(&r.c).zip(&mut z.c) {
            *zc = contact.scaling.stiffness * rc;
        }
        return;
    }
    scratch.fill(Vec3::zeros());
    for ((contact, rc), zc) in contacts.iter().zip(&r.c).zip(&mut z.c) {
        *zc = contact.scaling.stiffness * (problem.rows(contact, &z.v) - rc);
        problem.spread(contact, zc, 1.0, scratch);
    }
    for ((z, s), inverse) in z.v.iter_mut().zip(&*scratch).zip(&problem.a.inverse_diagonals[problem.unknowns.clone()]) {
        *z -= inverse * s;
    }
}

/// S of every contact: the 3x3 diagonal block of dt^2 C H D^-1 H^T C^T with each node's share multiplied by the sum of the weights that active contacts
/// put on it. For a lone contact this is the block itself up to the weights; for m equal contacts it is m times the block, as the scaling Z of the thesis'
/// appendix A; in general it bounds the whole matrix from above (row sums), so nearly equal rows cannot spoil the preconditioner. `load`: memory.
pub fn update_compliances(problem: &Problem, contacts: &mut [Constraint], load: &mut Vec<f64>) {
    let first = problem.unknowns.start;
    load.clear();
    load.resize(problem.unknowns.len(), 0.0);
    for entry in contacts.iter().filter(|c| c.is_active()).flat_map(|c| &c.row.entries) {
        load[entry.unknown() - first] += entry.weight();
    }
    for contact in contacts {
        let mut inverse_mass = Mat3::zeros();
        for entry in &contact.row.entries {
            let loaded = load[entry.unknown() - first];
            let share = if contact.is_active() { loaded } else { loaded + entry.weight() };
            let inverse = problem.a.inverse_diagonals[entry.unknown()];
            let coefficient = entry.matrix();
            // |weight| share = weight^2 (share / |weight|).
            inverse_mass += coefficient * inverse * coefficient.transpose() * (share / entry.weight());
        }
        contact.scaling.compliance = contact.row.frame * inverse_mass * contact.row.frame.transpose() * (problem.dt * problem.dt);
        contact.scaling.compliance += Mat3::from_diagonal(&contact.law.compliance());
    }
}

/// Inverse of the compliance on the rows that are in the system.
fn stiffness(contact: &Constraint, part: Part) -> Mat3 {
    let compliance = &contact.scaling.compliance;
    let part = if contact.law.is_bilateral() { Part::Contact } else { part };
    let inverse = |x: f64| if x > 0.0 { 1.0 / x } else { 0.0 };
    match (contact.force.status, part) {
        (Status::Inactive, _) => Mat3::zeros(),
        (Status::Sticking, Part::Contact) => compliance.try_inverse().unwrap_or_else(Mat3::zeros),
        (Status::Sliding, part) => {
            let normal = if part == Part::Contact { inverse(compliance[(0, 0)]) } else { 0.0 };
            Mat3::from_diagonal(&Vec3::new(normal, 0.0, inverse(compliance[(2, 2)] + contact.force.sliding_compliance)))
        }
        (Status::Sticking, Part::Friction) => {
            let mut stiffness = Mat3::zeros();
            let tangential: nalgebra::Matrix2<f64> = compliance.fixed_view::<2, 2>(1, 1).into();
            stiffness.fixed_view_mut::<2, 2>(1, 1).copy_from(&tangential.try_inverse().unwrap_or_else(nalgebra::Matrix2::zeros));
            stiffness
        }
    }
}
