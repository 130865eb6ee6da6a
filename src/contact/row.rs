//! The rows of one constraint: three lines of the Jacobian J = C H, in metres.

use crate::math::{Mat3, Vec3};

/// One entry of a row of H: what a block of unknowns adds to the velocity of the first material point relative to the
/// second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JacobianEntry {
    /// `weight * v` of a node, or of the centre of mass of a rigid body.
    Linear { unknown: u32, weight: f64 },
    /// `omega x arm` of a rigid body: from its centre of mass to the point, times the weight.
    Angular { unknown: u32, arm: Vec3 },
}

impl JacobianEntry {
    pub fn unknown(&self) -> usize {
        match self {
            Self::Linear { unknown, .. } | Self::Angular { unknown, .. } => *unknown as usize,
        }
    }

    /// The same entry on another unknown.
    pub fn of(&self, unknown: u32) -> Self {
        match *self {
            Self::Linear { weight, .. } => Self::Linear { unknown, weight },
            Self::Angular { arm, .. } => Self::Angular { unknown, arm },
        }
    }

    pub fn apply(&self, v: &Vec3) -> Vec3 {
        match self {
            Self::Linear { weight, .. } => v * *weight,
            Self::Angular { arm, .. } => v.cross(arm),
        }
    }

    pub fn transposed(&self, f: &Vec3) -> Vec3 {
        match self {
            Self::Linear { weight, .. } => f * *weight,
            Self::Angular { arm, .. } => arm.cross(f),
        }
    }

    /// The 3x3 coefficient.
    pub fn matrix(&self) -> Mat3 {
        match self {
            Self::Linear { weight, .. } => Mat3::from_diagonal_element(*weight),
            Self::Angular { arm, .. } => -arm.cross_matrix(),
        }
    }

    /// Its size, as a weight.
    pub fn weight(&self) -> f64 {
        match self {
            Self::Linear { weight, .. } => weight.abs(),
            Self::Angular { .. } => 1.0,
        }
    }
}

/// The relative motion of two material points, linear in the velocity change dv of the step: `offset + dt C H dv` [m],
/// in the frame of the constraint. Of a contact the first entry is the gap less the contact offset, the others are the
/// slip.
#[derive(Clone, Debug)]
pub struct Row {
    /// H: entries on different unknowns; immovable sides have none.
    pub entries: Vec<JacobianEntry>,
    /// C: normal, from the second side to the first, and two tangents, as rows.
    pub frame: Mat3,
    /// Relative motion at dv = 0 [m].
    pub offset: Vec3,
}

impl Default for Row {
    fn default() -> Self {
        Self { entries: vec![], frame: Mat3::identity(), offset: Vec3::zeros() }
    }
}

impl Row {
    pub fn normal(&self) -> Vec3 {
        self.frame.row(0).transpose()
    }

    /// Whether it moves with a rigid body that turns: then its points go on arcs, which the row does not know.
    pub fn is_curved(&self) -> bool {
        self.entries.iter().any(|entry| matches!(entry, JacobianEntry::Angular { .. }))
    }

    /// `dt C H a` for a vector `a` by unknowns of the model.
    pub fn apply(&self, a: impl Fn(usize) -> Vec3, dt: f64) -> Vec3 {
        self.frame * self.entries.iter().map(|e| e.apply(&a(e.unknown()))).sum::<Vec3>() * dt
    }

    /// Relative motion with the velocity change `dv` of each unknown [m].
    pub fn motion(&self, dv: impl Fn(usize) -> Vec3, dt: f64) -> Vec3 {
        self.offset + self.apply(dv, dt)
    }

    /// Hands `s dt H^T C^T f` to `add`, unknown by unknown.
    pub fn spread(&self, f: &Vec3, s: f64, dt: f64, mut add: impl FnMut(usize, Vec3)) {
        let force = self.frame.transpose() * f * (s * dt);
        self.entries.iter().for_each(|entry| add(entry.unknown(), entry.transposed(&force)));
    }
}
