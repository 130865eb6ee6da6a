//! Which contacts carry a force, which stick and which slide (`contact-cr.md` 4, 5).

use super::{Contact, Problem, Status};
use crate::math::Vec3;

/// After this many changes between sticking and sliding in a step a contact stays sliding and its force is relaxed inside the cone.
const MAX_FLIPS: u32 = 6;
/// Relaxation of the explicit friction force of such a contact.
const RELAXATION: f64 = 0.2;

/// Updates the states and sliding forces from the multipliers and the velocity change `dv`; true if anything changed.
///
/// Differences from the published rules, measured on sliding and stacked bodies: the direction of sliding follows the
/// projection of gamma' + slip/compliance on the cone (the natural map) instead of a small fixed turn, and a contact that keeps alternating is relaxed
/// instead of frozen. `forced` is the call at a converged state, where smaller effects count.
pub fn evaluate(problem: &Problem, contacts: &mut [Contact], dv: &[Vec3], forced: bool) -> bool {
    // A change is made only if its effect, as a distance, is seen.
    let noticeable = problem.tolerance * if forced { 0.1 } else { 1.0 };
    let mut changed = false;
    for contact in contacts.iter_mut() {
        let motion = contact.offset + contact.rows(problem.surface, problem.dt, dv);
        changed |= evaluate_one(contact, &motion, problem.tolerance, noticeable, forced);
    }
    changed
}

fn evaluate_one(contact: &mut Contact, motion: &Vec3, tolerance: f64, noticeable: f64, forced: bool) -> bool {
    let normal_force = -contact.multiplier.x;
    if contact.status == Status::Inactive {
        // Half of the band below the safety distance: the true gap is still positive there.
        if motion.x < -0.25 * tolerance {
            contact.status = Status::Sliding;
            contact.multiplier = Vec3::zeros();
            contact.sliding_force = Vec3::zeros();
            return true;
        }
        return false;
    }
    if normal_force < 0.0 && (forced || -normal_force * contact.compliance[(0, 0)] > noticeable) {
        contact.status = Status::Inactive;
        contact.multiplier = Vec3::zeros();
        contact.sliding_force = Vec3::zeros();
        return true;
    }
    let limit = contact.friction * normal_force.max(0.0);
    let slip = Vec3::new(0.0, motion.y, motion.z);
    let compliance = 0.5 * (contact.compliance[(1, 1)] + contact.compliance[(2, 2)]);
    match contact.status {
        Status::Sticking => {
            let gamma = contact.friction();
            if (gamma.norm() - limit) * compliance > noticeable * 0.1 || gamma.norm() > limit * 1.001 + f64::MIN_POSITIVE && forced {
                contact.status = Status::Sliding;
                contact.sliding_force = gamma * (limit / gamma.norm());
                (contact.multiplier.y, contact.multiplier.z) = (0.0, 0.0);
                contact.flips += 1;
                return true;
            }
            false
        }
        Status::Sliding => {
            let gamma = contact.sliding_force;
            let sliding_back = slip.dot(&gamma) < 0.0 || (gamma.norm() == 0.0 && slip.norm() < noticeable);
            if sliding_back && contact.flips < MAX_FLIPS && limit > 0.0 {
                contact.status = Status::Sticking;
                (contact.multiplier.y, contact.multiplier.z) = (gamma.y, gamma.z);
                contact.sliding_force = Vec3::zeros();
                contact.flips += 1;
                return true;
            }
            let relaxation = if contact.flips < MAX_FLIPS { 1.0 } else { RELAXATION };
            let wanted = gamma + slip * (relaxation / compliance);
            let wanted = if wanted.norm() > limit { wanted * (limit / wanted.norm()) } else { wanted };
            if (wanted - gamma).norm() * compliance > noticeable {
                contact.sliding_force = wanted;
                return true;
            }
            false
        }
        Status::Inactive => false,
    }
}
