//! Staggered projections [Kaufman, Sueda, James, Pai 2008; `contact-cr.md` 11]: normal forces with friction fixed, then friction with the normal forces fixed, in
//! turn. Both are convex and solved by conjugate residuals with state switching (the thesis' variant with two of them; here with discs instead of pyramids).

use super::{BaselineWork, Scale, error, forces, own_compliance, spread, tolerance};
use crate::contact::{Constraint, CrOptions, CrOutcome, Force, Law, Part, Problem, Status, cr, cwc};
use crate::math::Vec3;

/// Most turns between two looks at the geometry.
const MAX_TURNS: u32 = 200;

/// True if forces and velocities are within their tolerances for the present rows.
pub fn settle(
    problem: &Problem,
    contacts: &mut [Constraint],
    dv: &mut [Vec3],
    options: &CrOptions,
    work: &mut BaselineWork,
    outcome: &mut CrOutcome,
) -> bool {
    let scales: Vec<Scale> = contacts.iter().map(|c| Scale::new(&own_compliance(problem, c))).collect();
    let mut p = forces(contacts);
    let with_friction = contacts.iter().any(|c| c.law.friction() > 0.0);
    let mut settled = false;
    for _ in 0..MAX_TURNS {
        if outcome.iterations >= options.max_iterations {
            break;
        }
        let normals = normals(contacts, &p);
        let friction = known(contacts, &p, |p| Vec3::new(0.0, p.y, p.z));
        let (found, mut converged) = solve(problem, contacts, normals, &friction, Part::Contact, dv, options, work, outcome);
        p.iter_mut()
            .zip(&found)
            .for_each(|(p, c)| *p = if c.law.is_bilateral() { c.force_on_first() } else { Vec3::new(c.force.normal(), p.y, p.z) });
        if !with_friction {
            settled = converged;
            break;
        }
        cwc::store(contacts, &limited(contacts, &p));
        let normal_forces = known(contacts, &p, |p| Vec3::new(p.x, 0.0, 0.0));
        let (found, frictions_converged) =
            solve(problem, contacts, contacts.to_vec(), &normal_forces, Part::Friction, dv, options, work, outcome);
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
        let normal_error = error(problem, contacts, &p, &scales, dv).normal;
        if converged && change <= tolerance(problem) && normal_error <= tolerance(problem) {
            settled = true;
            break;
        }
    }
    cwc::store(contacts, &p);
    settled
}

/// One of the two programmes, on copies of the contacts, with the other's forces `known` on the right-hand side; the copies, and whether it converged.
fn solve(
    problem: &Problem,
    contacts: &[Constraint],
    mut copies: Vec<Constraint>,
    known: &[Vec3],
    part: Part,
    dv: &mut [Vec3],
    options: &CrOptions,
    work: &mut BaselineWork,
    outcome: &mut CrOutcome,
) -> (Vec<Constraint>, bool) {
    let mut rhs = problem.rhs.to_vec();
    spread(problem, contacts, known, 1.0, &mut rhs);
    let problem = Problem { rhs: &rhs, ..problem.clone() };
    let inner =
        cr::solve(&problem, &mut copies, dv, &CrOptions { part, max_iterations: INNER_ITERATIONS, ..*options }, &mut work.cr, |_, _| false);
    outcome.iterations += inner.iterations;
    outcome.restarts += inner.restarts;
    (copies, inner.converged)
}

/// Bound on the iterations of one programme.
const INNER_ITERATIONS: u32 = 2000;

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
