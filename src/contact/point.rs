//! The geometry of a contact: which features touch, where, and what a row is made of.

use arrayvec::ArrayVec;

use super::generate::row_life::RowLife;
use crate::math::Vec3;
use crate::model::PairId;

/// Two material points that must not pass each other: a point of one surface against the tangent plane of another.
#[derive(Clone, Debug)]
pub struct ContactPoint {
    pub pair: PairId,
    /// The first point at the last linearisation [m].
    pub position: Vec3,
    /// Where on the first feature it is, of a pair with an obstacle: such a pair has a row for each point that was
    /// deepest once, but for those that travel.
    pub weights: [f64; 3],
    /// Over a rim of an obstacle: the feature has one such point, which travels along it.
    pub travels: bool,
    /// The gap that counts as touching [m].
    pub contact_offset: f64,
    /// How far the contact had slipped when the step began [m], in space; while it sticks it goes back by as much, so
    /// that what the tolerance leaves of each step does not add up (the stick anchor of `contact-study.md` 7).
    pub stick_anchor_offset: Vec3,
    pub life: RowLife,
}

impl ContactPoint {
    pub fn new(pair: PairId) -> Self {
        Self {
            pair,
            position: Vec3::zeros(),
            weights: [1.0, 0.0, 0.0],
            travels: false,
            contact_offset: 0.0,
            stick_anchor_offset: Vec3::zeros(),
            life: RowLife::warm(),
        }
    }
}

/// What a contact's row is made of, at the present end positions.
#[derive(Clone, Debug)]
pub struct Linearisation {
    /// Vertices whose weighted sum moves as the one point does relative to the other.
    pub sum: ArrayVec<(u32, f64), 4>,
    /// Unit normal, from the second side to the first.
    pub normal: Vec3,
    /// Distance of the two points along the normal [m].
    pub gap: f64,
    /// Motion of the first point relative to the second over the step [m].
    pub slip: Vec3,
    /// The first point [m].
    pub point: Vec3,
    /// Where on the first feature it is, of a pair with an obstacle.
    pub weights: [f64; 3],
    /// Over a rim of an obstacle: the feature has one such point, which travels along it.
    pub travels: bool,
}
