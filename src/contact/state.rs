//! Which contacts carry a force, which stick and which slide (`contact-cr.md` 4, 5).

use super::{Contact, Part, Problem, Status};
use crate::math::Vec3;

/// How much of the contact laws is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// All of them.
    Whole,
    /// For a step that does not settle: sticking may turn into sliding but not back, and sliding forces keep their direction while their size follows
    /// the cone. Such changes end; bodies stay apart and the cone holds, only some sliding contacts may point the wrong way.
    Settling,
    /// The last resort: sliding forces stay as they are, so that what remains is a convex problem, and all rows that it needs are found.
    Frozen,
}

impl Effort {
    /// How many contact tolerances count as one. Many points of a fine surface in few tets make more rows than there are motions to obey them; the last resort
    /// takes their least-squares compromise.
    pub fn leniency(self) -> f64 {
        if self == Self::Frozen { 8.0 } else { 1.0 }
    }
}

/// Part of the way that a sliding force goes to its new value at one evaluation: the compliance of one contact says little about how all of them answer
/// together. Measured on a block near its friction angle, a dropped cube and a bunny: 1 needs 1.4 times the iterations and fails in 15 of 100 steps, 0.25 in 2.
const RELAXATION: f64 = 0.25;

/// Friction forces of a finished solve agree with the law to this part of the mean limit mu lambda. The effect of one force, as a distance, does not tell:
/// all points of a stiff block slide as one, and answer together many times as far as each by itself.
const FORCE_TOLERANCE: f64 = 5e-4;

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
    fn at(problem: &Problem, contact: &Contact, dv: &[Vec3]) -> Self {
        Self {
            motion: contact.offset + problem.rows(contact, dv),
            limit: contact.friction * contact.normal_force(),
            compliance: 0.5 * (contact.compliance[(1, 1)] + contact.compliance[(2, 2)]),
        }
    }

    fn slip(&self) -> Vec3 {
        Vec3::new(0.0, self.motion.y, self.motion.z)
    }

    /// How wrong sticking or sliding is, as a distance [m]; 0 where it is right.
    fn violation(&self, contact: &Contact) -> f64 {
        let gamma = contact.friction();
        match contact.status {
            Status::Inactive => 0.0,
            Status::Sticking => (gamma.norm() - self.limit).max(0.0) * self.compliance,
            Status::Sliding if gamma.norm() > 0.0 => (-self.slip().dot(&gamma) / gamma.norm()).max(0.0),
            Status::Sliding => 0.0,
        }
    }
}

/// Updates the states and sliding forces from the multipliers and the velocity change `dv`; true if anything changed.
///
/// Differences from the published rules, measured on sliding, resting and embedded bodies: the direction of sliding follows the projection of
/// gamma' + slip/compliance on the cone (the natural map) instead of a small fixed turn. `forced` is the call at a converged state, where smaller effects count.
pub fn evaluate(problem: &Problem, contacts: &mut [Contact], dv: &[Vec3], forced: bool, effort: Effort, part: Part) -> bool {
    // A change is made only if its effect, as a distance, is seen.
    let tolerance = problem.tolerance * effort.leniency();
    let noticeable = tolerance * if forced { 0.3 } else { 1.0 };
    let slack = if forced { FORCE_TOLERANCE * mean_limit(contacts) } else { f64::INFINITY };
    let mut changed = false;
    for contact in contacts.iter_mut().filter(|c| c.spring.is_none()) {
        let look = Look::at(problem, contact, dv);
        if part == Part::Contact && evaluate_normal(contact, &look, tolerance, noticeable, forced) {
            changed = true;
        } else {
            changed |= evaluate_friction(contact, &look, noticeable, slack, effort);
        }
    }
    changed
}

fn evaluate_normal(contact: &mut Contact, look: &Look, tolerance: f64, noticeable: f64, forced: bool) -> bool {
    let normal_force = -contact.multiplier.x;
    let next = match contact.status {
        // Half of the band below the safety distance: the true gap is still positive there.
        Status::Inactive if look.motion.x < -0.25 * tolerance => Status::Sliding,
        Status::Sticking | Status::Sliding if normal_force < 0.0 && (forced || -normal_force * contact.compliance[(0, 0)] > noticeable) => {
            Status::Inactive
        }
        _ => return false,
    };
    contact.status = next;
    contact.multiplier = Vec3::zeros();
    contact.sliding_force = Vec3::zeros();
    true
}

/// Mean of mu lambda over the active contacts [N].
fn mean_limit(contacts: &[Contact]) -> f64 {
    let (sum, n) = contacts
        .iter()
        .filter(|c| c.is_active() && c.spring.is_none())
        .fold((0.0, 0), |(sum, n), c| (sum + c.friction * c.normal_force(), n + 1));
    sum / f64::from(n.max(1))
}

/// `slack` [N] is how far from the law a friction force may stay.
fn evaluate_friction(contact: &mut Contact, look: &Look, noticeable: f64, slack: f64, effort: Effort) -> bool {
    let gamma = contact.friction();
    let violation = look.violation(contact);
    match contact.status {
        Status::Inactive => false,
        Status::Sticking => {
            if violation <= noticeable && gamma.norm() <= look.limit + slack {
                return false;
            }
            contact.status = Status::Sliding;
            contact.sliding_force = gamma * (look.limit / gamma.norm());
            (contact.multiplier.y, contact.multiplier.z) = (0.0, 0.0);
            true
        }
        Status::Sliding => {
            let fresh = gamma.norm() == 0.0;
            if effort == Effort::Frozen {
                return false;
            }
            if effort == Effort::Settling && !fresh {
                let scaled = gamma * (look.limit / gamma.norm());
                let noticed = (scaled - gamma).norm() * look.compliance > noticeable || (scaled - gamma).norm() > slack;
                if noticed {
                    contact.sliding_force = scaled;
                }
                return noticed;
            }
            let back = if fresh { look.slip().norm() < noticeable } else { violation > noticeable };
            if back {
                if look.limit == 0.0 {
                    return false;
                }
                contact.status = Status::Sticking;
                (contact.multiplier.y, contact.multiplier.z) = (gamma.y, gamma.z);
                contact.sliding_force = Vec3::zeros();
                return true;
            }
            let wanted = gamma + look.slip() / look.compliance;
            let wanted = if wanted.norm() > look.limit { wanted * (look.limit / wanted.norm()) } else { wanted };
            // A change that its own point hardly feels is made whole; a larger one by parts.
            let error = (wanted - gamma).norm();
            let local = error * look.compliance > if fresh { noticeable } else { noticeable / RELAXATION };
            let wanted = if fresh || !local { wanted } else { gamma + (wanted - gamma) * RELAXATION };
            let slides = look.slip().norm() > noticeable || gamma.norm() > look.limit + slack;
            let noticed = local || (slides && error > slack);
            if noticed {
                contact.sliding_force = wanted;
            }
            noticed
        }
    }
}
