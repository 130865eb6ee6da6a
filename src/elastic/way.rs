//! What the energy passes over elements of one tet and of several share.

use super::registers::NodeMotion;
use super::rotation::Quaternion;
use crate::material::{ConstitutiveModel, Tangent, Visitor};

/// A straight way of all nodes: from their displacements on with their velocities, for a time.
#[derive(Clone, Copy)]
pub struct Way<'a> {
    /// What elements remember, as [`crate::model::State::rotations`], rows of state taken to this step.
    pub states: &'a [Quaternion],
    /// Displacements at the start of the way [m] and velocities along it [m/s].
    pub motions: &'a [NodeMotion],
    /// How long nodes move [s].
    pub time: f64,
    /// Frames of elements with a warped tangent follow the way; else they stay, as the step takes them.
    pub turns_frames: bool,
    /// Where stiffness damping counts, too.
    pub damping: Option<Damping<'a>>,
}

/// Stiffness damping along a way: velocities begin with some and change by those of the way.
#[derive(Clone, Copy)]
pub struct Damping<'a> {
    /// Velocities of the nodes at the start of the way [m/s], each followed by a zero.
    pub velocities: &'a [[f64; 4]],
    /// [s]
    pub time_step: f64,
    /// Change of the damped velocity with that of the mean velocity of the step: 1, or 3/2 of second order.
    pub factor: f64,
}

/// Whether the energy of a model is quadratic in its frame.
pub(super) struct IsQuadratic;

impl Visitor for IsQuadratic {
    type Output = bool;

    fn visit<M: ConstitutiveModel>(self, _: M) -> bool {
        M::TANGENT == Tangent::Warped
    }
}
