//! Which contacts carry a force, which stick and which slide (`contact-cr.md` 4, 5).

use super::cr_options::{CrOptions, FrictionUpdate, Part};
use crate::contact::{Constraint, Problem, Status};
use crate::math::Vec3;

/// How much of the contact laws is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// All of them.
    Whole,
    /// For a step that does not settle: sticking may turn into sliding but not back, and sliding forces keep their
    /// direction while their size follows the cone. Such changes end; bodies stay apart and the cone holds, only some
    /// sliding contacts may point the wrong way.
    Settling,
    /// The last resort: sliding forces stay as they are, so that what remains is a convex problem, and all rows that it
    /// needs are found.
    Frozen,
}

impl Effort {
    /// After some of the iterations that there are.
    pub fn at(iterations: u32, max_iterations: u32) -> Self {
        match iterations * 6 / max_iterations.max(1) {
            0..4 => Self::Whole,
            4 => Self::Settling,
            _ => Self::Frozen,
        }
    }

    /// How many contact tolerances count as one. Many points of a fine surface in few tets make more rows than there
    /// are motions to obey them; the last resort takes their least-squares compromise.
    pub fn leniency(self) -> f64 {
        if self == Self::Frozen { LENIENCY } else { 1.0 }
    }
}

/// Of the last resort.
pub const LENIENCY: f64 = 8.0;

/// Friction forces of a finished solve agree with the law to this part of the mean limit mu lambda. The effect of one
/// force, as a distance, does not tell: all points of a stiff block slide as one, and answer together many times as far
/// as each by itself.
pub const FORCE_TOLERANCE: f64 = 1e-4;

/// What an evaluation looks at in one contact.
struct Look {
    /// C H (v + dv) dt: gap less safety, and slip [m].
    motion: Vec3,
    /// mu lambda [N].
    limit: f64,
    /// Compliance along the surface [m/N].
    compliance: f64,
}

impl Look {
    fn at(problem: &Problem, contact: &Constraint, dv: &[Vec3]) -> Self {
        Self {
            motion: contact.row.offset + problem.rows(contact, dv),
            limit: contact.law.friction() * contact.force.normal(),
            compliance: 0.5 * (contact.scaling.compliance[(1, 1)] + contact.scaling.compliance[(2, 2)]),
        }
    }

    fn slip(&self) -> Vec3 {
        Vec3::new(0.0, self.motion.y, self.motion.z)
    }

    /// How wrong sticking or sliding is, as a distance [m]; 0 where it is right.
    fn violation(&self, contact: &Constraint) -> f64 {
        let gamma = contact.force.friction();
        match contact.force.status {
            Status::Inactive => 0.0,
            Status::Sticking => (gamma.norm() - self.limit).max(0.0) * self.compliance,
            Status::Sliding if gamma.norm() > 0.0 => (-self.slip().dot(&gamma) / gamma.norm()).max(0.0),
            Status::Sliding => 0.0,
        }
    }
}

/// When the states are looked at.
#[derive(Clone, Copy, Debug)]
pub struct Occasion {
    /// The solve has converged to this residual [kg m/s]: what counts at the end is looked at too.
    pub residual: Option<f64>,
    /// How often states have changed since the rows did.
    pub rounds: u32,
    pub effort: Effort,
}

/// How small an effect is seen.
struct Scale {
    /// Constraint tolerance [m].
    tolerance: f64,
    /// What one force may be off because the velocity equation is met to a residual only [N]; none is told while the
    /// solve goes on.
    noise: Option<f64>,
    /// How far from the law a friction force may stay [N].
    slack: f64,
    /// Part of the way that the size of a sliding force goes to the limit that the normal force sets.
    pace: f64,
}

/// Updates the states and sliding forces from the multipliers and the velocity change `dv`; true if anything changed.
pub fn evaluate(problem: &Problem, options: &CrOptions, contacts: &mut [Constraint], dv: &[Vec3], occasion: &Occasion) -> bool {
    let active = contacts.iter().filter(|c| c.is_active()).count().max(1);
    let noise = occasion.residual.map(|residual| residual / (problem.dt * (active as f64).sqrt()));
    let scale = Scale {
        tolerance: problem.tolerance * occasion.effort.leniency(),
        noise,
        slack: noise.map_or(f64::INFINITY, |noise| noise.max(FORCE_TOLERANCE * mean_limit(contacts))),
        // Normal forces answer to friction; where two contacts throw the load to and fro, the mean of their turns is
        // the answer.
        pace: 1.0 / f64::from(1 + occasion.rounds / 20),
    };
    let mut changed = false;
    for contact in contacts.iter_mut().filter(|c| c.law.is_unilateral()) {
        let look = Look::at(problem, contact, dv);
        changed |= (options.part == Part::Constraint && evaluate_normal(contact, &look, &scale))
            || match options.friction {
                FrictionUpdate::Turn => turn_friction(contact, &look, &scale),
                FrictionUpdate::Projection => project_friction(contact, &look, &scale, occasion.effort),
            };
    }
    changed
}

fn evaluate_normal(contact: &mut Constraint, look: &Look, scale: &Scale) -> bool {
    let force = contact.force.multiplier.x;
    let next = match contact.force.status {
        // Nearly the whole band below the safety distance: the true gap is still positive there.
        Status::Inactive if look.motion.x < -0.45 * scale.tolerance => Status::Sliding,
        Status::Sticking | Status::Sliding
            if force > 0.0
                && (scale.noise.is_some_and(|noise| force > noise) || force * contact.scaling.compliance[(0, 0)] > scale.tolerance) =>
        {
            Status::Inactive
        }
        _ => return false,
    };
    contact.force.status = next;
    contact.force.multiplier = Vec3::zeros();
    contact.force.sliding_force = Vec3::zeros();
    contact.force.sliding_compliance = f64::INFINITY;
    true
}

/// Mean of mu lambda over the active contacts [N].
fn mean_limit(contacts: &[Constraint]) -> f64 {
    let (sum, n) = contacts
        .iter()
        .filter(|c| c.is_active() && c.law.is_unilateral())
        .fold((0.0, 0), |(sum, n), c| (sum + c.law.friction() * c.force.normal(), n + 1));
    sum / f64::from(n.max(1))
}

/// `FrictionUpdate::Projection`: the contact obeys gamma = projection of gamma + slip/compliance on the disc of radius
/// mu lambda (the natural map).
fn project_friction(contact: &mut Constraint, look: &Look, scale: &Scale, effort: Effort) -> bool {
    let gamma = contact.force.friction();
    let violation = look.violation(contact);
    let (noise, slack) = (scale.noise.unwrap_or(0.0), scale.slack);
    match contact.force.status {
        Status::Inactive => false,
        Status::Sticking => {
            let slides = gamma.norm() > look.limit + noise && (violation > scale.tolerance || gamma.norm() > look.limit + slack);
            if slides {
                contact.slide_along(&gamma, look, look.limit);
            }
            slides
        }
        Status::Sliding => {
            let fresh = gamma.norm() == 0.0;
            if effort == Effort::Frozen {
                return false;
            }
            if effort == Effort::Settling && !fresh {
                let scaled = gamma * (look.limit / gamma.norm());
                let error = (scaled - gamma).norm();
                let noticed = error > noise && (error * look.compliance > scale.tolerance || error > slack);
                if noticed {
                    contact.slide(&scaled, f64::INFINITY);
                }
                return noticed;
            }
            let back = if fresh { look.slip().norm() < scale.tolerance } else { violation > scale.tolerance };
            if back {
                if look.limit == 0.0 {
                    return false;
                }
                contact.stick();
                return true;
            }
            let wanted = gamma + look.slip() / look.compliance;
            let wanted = if wanted.norm() > look.limit { wanted * (look.limit / wanted.norm()) } else { wanted };
            let error = (wanted - gamma).norm();
            let slides = look.slip().norm() > scale.tolerance || gamma.norm() > look.limit + slack;
            let noticed = error > noise && (error * look.compliance > scale.tolerance || (slides && error > slack));
            if noticed {
                let limit = if fresh { look.limit } else { gamma.norm() + scale.pace * (look.limit - gamma.norm()) };
                contact.slide_along(&gamma, look, limit);
            }
            noticed
        }
    }
}

impl Constraint {
    /// Slides with a force of the size `limit`, along gamma + slip/compliance = w. Newton's method on the natural map
    /// for a fixed limit: across w the force is limit/|w| times that of w, so slip across = c (|w| - limit)/limit *
    /// force across.
    fn slide_along(&mut self, gamma: &Vec3, look: &Look, limit: f64) {
        let wanted = gamma + look.slip() / look.compliance;
        let size = wanted.norm();
        if size == 0.0 || limit == 0.0 {
            return self.slide(&Vec3::zeros(), f64::INFINITY);
        }
        self.slide(&(wanted * (limit / size)), (look.compliance * (size - limit) / limit).max(0.0));
    }
}

/// `FrictionUpdate::Turn`, the published rules with the corrections of `contact-cr.md` 4. The size is the mean of the
/// present limit and the former force (an exponential average instead of one over the last two).
fn turn_friction(contact: &mut Constraint, look: &Look, scale: &Scale) -> bool {
    let gamma = contact.force.friction();
    let (size, slip) = (gamma.norm(), look.slip());
    match contact.force.status {
        Status::Inactive => false,
        Status::Sticking => {
            let slides = (size - look.limit) * look.compliance > scale.tolerance && slip.dot(&gamma) > 0.0;
            if slides {
                contact.slide(&gamma, f64::INFINITY);
            }
            slides
        }
        Status::Sliding if size == 0.0 && look.limit == 0.0 => false,
        Status::Sliding if size == 0.0 && slip.norm() > scale.tolerance => {
            contact.slide(&(slip * (look.limit / slip.norm())), f64::INFINITY);
            true
        }
        Status::Sliding if slip.dot(&gamma) <= 0.0 => {
            contact.stick();
            true
        }
        Status::Sliding => {
            let mut direction = gamma / size;
            let aligned = slip.dot(&direction) / slip.norm();
            if slip.norm() > scale.tolerance && aligned < TURN_THRESHOLD_DEGREES.to_radians().cos() {
                direction = (direction + (slip / slip.norm() - direction) * TURN).normalize();
            }
            let wanted = direction * (0.5 * (size + look.limit));
            let noticed = (wanted - gamma).norm() * look.compliance > scale.tolerance;
            if noticed {
                contact.slide(&wanted, f64::INFINITY);
            }
            noticed
        }
    }
}

/// eps_theta and alpha_theta of the thesis.
const TURN_THRESHOLD_DEGREES: f64 = 1.2;
const TURN: f64 = 0.01;
