//! What the contacts of a solve tell.

use std::sync::Arc;

use crate::body::BodyRef;
use crate::contact::{Constraint, Status};
use crate::math::Vec3;
use crate::memory::{Pool, Pooled};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContactReport {
    /// Candidates that had a row in this step.
    pub contacts: u32,
    /// Contacts that carry a force.
    pub active: u32,
    /// Largest gap of an active contact [m].
    pub max_gap_of_active: f64,
    /// Largest Fischer-Burmeister residual [m].
    pub max_complementarity_error: f64,
    /// Largest excess of |friction| over mu * normal [N].
    pub max_cone_violation: f64,
    /// Sums of magnitudes over contacts [N].
    pub normal_force_total: f64,
    pub friction_force_total: f64,
    /// Energy taken by friction in this step [J].
    pub dissipated_by_friction: f64,
    pub pairs: Pooled<PairForce>,
}

/// Resultant contact force between two bodies.
#[derive(Clone, Debug, PartialEq)]
pub struct PairForce {
    /// Ascending.
    pub bodies: [BodyRef; 2],
    /// [N], acting on the first body.
    pub normal: Vec3,
    pub friction: Vec3,
    pub contacts: u32,
}

/// Sums and errors over the contacts of one island after its solve; `dv`: velocity change of each unknown. The list of
/// pairs is lent from `lists`.
pub fn report(contacts: &[Constraint], dv: impl Fn(usize) -> Vec3, dt: f64, lists: &Arc<Pool<Vec<PairForce>>>) -> ContactReport {
    let count = contacts.iter().filter(|c| c.point().is_some()).count() as u32;
    let mut report = ContactReport { contacts: count, pairs: Pooled::of(lists), ..ContactReport::default() };
    let pairs = &mut report.pairs;
    for (contact, point) in contacts.iter().filter(|c| c.is_active()).filter_map(|c| Some((c, c.point()?))) {
        let motion = contact.row.motion(&dv, dt);
        let (normal, friction) = (contact.force.normal(), contact.force.friction());
        let limit = contact.friction_limit();
        report.active += 1;
        report.max_gap_of_active = report.max_gap_of_active.max(motion.x + point.contact_offset);
        let compliance = contact.scaling.compliance[(0, 0)];
        let mut error = fischer_burmeister(compliance * normal, motion.x);
        if contact.force.status == Status::Sliding {
            let slip = Vec3::new(0.0, motion.y, motion.z).norm();
            error = error.max(fischer_burmeister(compliance * (limit - friction.norm()), slip).abs());
            report.dissipated_by_friction += friction.norm() * slip;
        }
        report.max_complementarity_error = report.max_complementarity_error.max(error.abs());
        report.max_cone_violation = report.max_cone_violation.max(friction.norm() - limit);
        report.normal_force_total += normal;
        report.friction_force_total += friction.norm();
        // The pair is told from the lower body's side.
        let [a, b] = contact.bodies;
        let side = if a <= b { 1.0 } else { -1.0 };
        let key = [a.min(b), a.max(b)];
        let place = pairs.binary_search_by_key(&key, |pair| pair.bodies).unwrap_or_else(|place| {
            pairs.insert(place, PairForce { bodies: key, normal: Vec3::zeros(), friction: Vec3::zeros(), contacts: 0 });
            place
        });
        let pair = &mut pairs[place];
        pair.normal += contact.row.normal() * (normal * side);
        pair.friction += contact.friction_on_first() * side;
        pair.contacts += 1;
    }
    report
}

/// x + y - sqrt(x^2 + y^2): zero exactly where 0 <= x _|_ y >= 0.
fn fischer_burmeister(x: f64, y: f64) -> f64 {
    x + y - x.hypot(y)
}
