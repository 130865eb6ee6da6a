//! What conjugate residuals are preconditioned with (`contact-cr.md` 6).
//!
//! `Full` is the inverse of [M^-1 L^T; L -S], with M an approximate inverse of A: a = M r;  t = (L M L^T + S)^-1
//! (L a - q);  result (a - M L^T t, t). The published one takes the block diagonal of A for M^-1 and the diagonal of
//! L M L^T. Where bodies have coarse fields, M = D^-1 + P (P^T A P)^-1 P^T, and few contacts are taken as a whole
//! ([`Coupling`]): `armadillo_cylinders` (20k tets, 473 steps with contacts) takes 72 iterations a step in
//! place of 190.

use super::cr_coupling::Coupling;
use super::cr_options::{CrOptions, Part, Preconditioner};
use crate::contact::{Constraint, Problem, Status};
use crate::math::{Mat3, Vec3};
use crate::sparse::{CoarseWork, axpy, dot, xpay};

/// A vector of the whole system: nodes and contacts.
#[derive(Clone, Debug, Default)]
pub struct Pair {
    pub v: Vec<Vec3>,
    pub c: Vec<Vec3>,
}

impl Pair {
    pub fn resize(&mut self, nodes: usize, contacts: usize) {
        self.v.resize(nodes, Vec3::zeros());
        self.c.resize(contacts, Vec3::zeros());
    }

    pub fn dot(&self, other: &Self) -> f64 {
        dot(&self.v, &other.v) + dot(&self.c, &other.c)
    }

    pub fn add(&mut self, s: f64, x: &Self) {
        axpy(&mut self.v, s, &x.v);
        axpy(&mut self.c, s, &x.c);
    }

    /// `self = x + s self`.
    pub fn follow(&mut self, x: &Self, s: f64) {
        xpay(&mut self.v, &x.v, s);
        xpay(&mut self.c, &x.c, s);
    }
}

/// The preconditioner of a solve; memory is kept.
#[derive(Debug, Default)]
pub struct Preconditioning {
    /// Of few contacts on bodies with coarse fields; M has these then, too.
    coupling: Option<Coupling>,
    coarse: CoarseWork,
    spread: Vec<Vec3>,
    correction: Vec<Vec3>,
}

impl Preconditioning {
    /// Takes the rows of a solve.
    pub fn begin(&mut self, problem: &Problem, options: &CrOptions, contacts: &[Constraint]) {
        self.spread.resize(problem.system.len(), Vec3::zeros());
        self.correction.resize(problem.system.len(), Vec3::zeros());
        let before = self.coupling.take().unwrap_or_default();
        if options.preconditioner == Preconditioner::Full {
            self.coupling = before.of_contacts(problem, contacts);
        }
    }

    /// Takes the present states of the contacts.
    pub fn restart(&mut self, problem: &Problem, options: &CrOptions, contacts: &mut [Constraint]) {
        let mobility = || problem.system.inverse_diagonals().map(Mat3::trace).sum::<f64>() / (3 * problem.system.len()) as f64;
        let uniform = (options.preconditioner == Preconditioner::None).then(mobility);
        for contact in contacts.iter_mut() {
            contact.scaling.stiffness = match uniform {
                Some(mobility) => {
                    let rows = options.part.mask(contact, Vec3::repeat(1.0));
                    Mat3::from_diagonal(&(rows / (mobility * problem.dt).powi(2)))
                }
                None => stiffness(contact, options.part),
            };
        }
        if let Some(coupling) = &mut self.coupling {
            coupling.factor(options.part, contacts);
        }
    }

    /// Whether contacts are coupled; it is linear to f32 only then.
    pub fn couples(&self) -> bool {
        self.coupling.is_some()
    }

    /// z of r. `Diagonal`: (a, S^-1 q) with the diagonal S. `None`: (r, s q) with a number s.
    pub fn apply(&mut self, problem: &Problem, options: &CrOptions, contacts: &[Constraint], r: &Pair, z: &mut Pair) {
        let Self { coupling, coarse, spread, correction } = self;
        let mut invert = |r: &[Vec3], z: &mut [Vec3], has_fields: bool| {
            problem.system.precondition(r, z);
            if has_fields {
                problem.correct_coarsely(r, z, coarse);
            }
        };
        match options.preconditioner {
            Preconditioner::None => z.v.copy_from_slice(&r.v),
            _ => invert(&r.v, &mut z.v, coupling.is_some()),
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
        for ((contact, rc), zc) in contacts.iter().zip(&r.c).zip(&mut z.c) {
            *zc = problem.rows(contact, &z.v) - rc;
        }
        match coupling {
            Some(coupling) => coupling.solve(&mut z.c),
            None => z.c.iter_mut().zip(contacts).for_each(|(zc, contact)| *zc = contact.scaling.stiffness * *zc),
        }
        spread.fill(Vec3::zeros());
        problem.spread_all(contacts, &z.c, 1.0, spread);
        invert(spread, correction, coupling.is_some());
        z.v.iter_mut().zip(&*correction).for_each(|(z, correction)| *z -= correction);
    }
}

/// Inverse of the compliance on the rows that are in the system.
fn stiffness(contact: &Constraint, part: Part) -> Mat3 {
    let compliance = &contact.scaling.compliance;
    let part = if contact.law.is_bilateral() { Part::Constraint } else { part };
    let inverse = |x: f64| if x > 0.0 { 1.0 / x } else { 0.0 };
    match (contact.force.status, part) {
        (Status::Inactive, _) => Mat3::zeros(),
        (Status::Sticking, Part::Constraint) => compliance.try_inverse().unwrap_or_else(Mat3::zeros),
        (Status::Sliding, part) => {
            let normal = if part == Part::Constraint { inverse(compliance[(0, 0)]) } else { 0.0 };
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
