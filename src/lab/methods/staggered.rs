//! Staggered projections [Kaufman, Sueda, James, Pai 2008; `contact-cr.md` 11]: normal forces with friction fixed, then
//! friction with the normal forces fixed, in turn. Both are convex and solved by conjugate residuals with state
//! switching (the thesis' variant with two of them; here with discs instead of pyramids).

use super::ITERATIONS_FACTOR;
use crate::contact::driver::{ACCEPTED, RowsSolved};
use crate::contact::methods::cr::{Cr, CrOptions, Part};
use crate::contact::methods::{RowSolver, cwc};
use crate::contact::problem::forces;
use crate::contact::{Bounds, Constraint, Force, Law, Problem, Scale, Status};
use crate::math::Vec3;
use crate::sparse::dot;

/// Most turns between two looks at the geometry.
const MAX_TURNS: u32 = 200;

/// Bound on the iterations of one programme.
const INNER_ITERATIONS: u32 = 2000;

/// The method with its vectors.
#[derive(Debug, Default)]
pub struct Staggered {
    normal: Cr,
    friction: Cr,
    cg: [Vec<Vec3>; 4],
    residual: Vec<Vec3>,
    iterations: u32,
}

impl RowSolver for Staggered {
    fn begin(&mut self, problem: &Problem, _: &[Vec3]) {
        let options = |part| CrOptions { part, relative_residual: 0.0, ..CrOptions::default() };
        (self.normal.options, self.friction.options) = (options(Part::Constraint), options(Part::Friction));
        self.residual.resize(problem.system.len(), Vec3::zeros());
        self.iterations = 0;
    }

    fn solve_rows(&mut self, problem: &Problem, contacts: &mut [Constraint], dv: &mut [Vec3], _: f64) -> RowsSolved {
        if contacts.is_empty() {
            return problem.solve_no_rows(dv, &mut self.cg);
        }
        let before = self.iterations;
        let mut solved = RowsSolved::default();
        let mut p = forces(contacts);
        solved.settled = self.take_turns(problem, contacts, &mut p, dv, &mut solved);
        cwc::store(contacts, &p);
        problem.residual(contacts, &p, dv, &mut self.residual);
        solved.residual = dot(&self.residual, &self.residual).sqrt();
        solved.iterations = self.iterations - before;
        solved
    }
}

/// One of the two programmes, with the forces that it takes from the other one.
struct Programme<'a> {
    problem: &'a Problem<'a>,
    contacts: &'a [Constraint],
    known: &'a [Vec3],
}

impl Programme<'_> {
    /// Solves for the forces of `copies` of the contacts; whether it converged.
    fn solve(&self, solver: &mut Cr, copies: &mut [Constraint], dv: &mut [Vec3], solved: &mut RowsSolved) -> (u32, bool) {
        let mut rhs = self.problem.rhs.to_vec();
        self.problem.spread_all(self.contacts, self.known, 1.0, &mut rhs);
        let bounds = Bounds { max_iterations: INNER_ITERATIONS, ..self.problem.bounds };
        let problem = Problem { rhs: &rhs, bounds, ..*self.problem };
        solver.begin(&problem, dv);
        let inner = solver.solve_rows(&problem, copies, dv, ACCEPTED * problem.tolerance);
        solved.restarts += inner.restarts;
        (inner.iterations, inner.settled)
    }
}

impl Staggered {
    /// True if forces and velocities are within their tolerances for the present rows.
    fn take_turns(
        &mut self,
        problem: &Problem,
        contacts: &mut [Constraint],
        p: &mut [Vec3],
        dv: &mut [Vec3],
        solved: &mut RowsSolved,
    ) -> bool {
        let scales: Vec<Scale> = problem.own_compliances(contacts).iter().map(Scale::new).collect();
        let tolerance = ACCEPTED * problem.tolerance;
        let with_friction = contacts.iter().any(|c| c.law.friction() > 0.0);
        for _ in 0..MAX_TURNS {
            if self.iterations >= ITERATIONS_FACTOR * problem.bounds.max_iterations {
                return false;
            }
            let mut found = normals(contacts, p);
            let friction = known(contacts, p, |p| Vec3::new(0.0, p.y, p.z));
            let programme = Programme { problem, contacts, known: &friction };
            let (iterations, mut converged) = programme.solve(&mut self.normal, &mut found, dv, solved);
            self.iterations += iterations;
            p.iter_mut()
                .zip(&found)
                .for_each(|(p, c)| *p = if c.law.is_bilateral() { c.force_on_first() } else { Vec3::new(c.force.normal(), p.y, p.z) });
            if !with_friction {
                return converged;
            }
            cwc::store(contacts, &limited(contacts, p));
            let normal_forces = known(contacts, p, |p| Vec3::new(p.x, 0.0, 0.0));
            let mut found = contacts.to_vec();
            let programme = Programme { problem, contacts, known: &normal_forces };
            let (iterations, frictions_converged) = programme.solve(&mut self.friction, &mut found, dv, solved);
            self.iterations += iterations;
            converged &= frictions_converged;
            let mut change = 0.0f64;
            for (((p, before), found), scale) in p.iter_mut().zip(&friction).zip(&found).zip(&scales) {
                let force = found.force_on_first();
                if found.law.is_bilateral() {
                    *p = force;
                    continue;
                }
                change = change.max((Vec3::new(0.0, force.y, force.z) - before).norm() * scale.tangential);
                *p = Vec3::new(p.x, force.y, force.z);
            }
            let normal_error = problem.natural_error(contacts, p, &scales, dv).normal;
            if converged && change <= tolerance && normal_error <= tolerance {
                return true;
            }
        }
        false
    }
}

/// What one programme takes from the other. Springs are unknown in both.
fn known(contacts: &[Constraint], p: &[Vec3], part: impl Fn(&Vec3) -> Vec3) -> Vec<Vec3> {
    contacts.iter().zip(p).map(|(contact, p)| if contact.law.is_bilateral() { Vec3::zeros() } else { part(p) }).collect()
}

/// The contacts without friction.
fn normals(contacts: &[Constraint], p: &[Vec3]) -> Vec<Constraint> {
    let normal = |(contact, p): (&Constraint, &Vec3)| match contact.law {
        Law::Bilateral { .. } => contact.clone(),
        Law::Unilateral { .. } => Constraint {
            law: Law::Unilateral { friction: 0.0 },
            force: Force {
                status: if p.x > 0.0 { Status::Sliding } else { Status::Inactive },
                multiplier: Vec3::new(-p.x, 0.0, 0.0),
                sliding_force: Vec3::zeros(),
                ..contact.force
            },
            ..contact.clone()
        },
    };
    contacts.iter().zip(p).map(normal).collect()
}

/// Friction inside the cones.
fn limited(contacts: &[Constraint], p: &[Vec3]) -> Vec<Vec3> {
    let limited = |(contact, p): (&Constraint, &Vec3)| {
        if contact.law.is_bilateral() {
            return *p;
        }
        let (limit, friction) = (contact.law.friction() * p.x, p.y.hypot(p.z));
        let part = if friction > limit { limit / friction } else { 1.0 };
        Vec3::new(p.x, p.y * part, p.z * part)
    };
    contacts.iter().zip(p).map(limited).collect()
}
