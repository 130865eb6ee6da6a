//! How a hand holds: by a point or by what is around it, and how firmly.

use serde::{Deserialize, Serialize};

/// How a grab holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Grip {
    /// Of the part of a deformable body that is held, at rest [m]; a point if 0. What is nearer to its middle is held
    /// more.
    pub radius: f64,
    /// Follows at once and pulls as hard as that takes, rather than like a hand.
    pub firm: bool,
}

impl Grip {
    /// The share by which what is at a distance [m] from the middle is held.
    pub fn falloff(&self, distance: f64) -> f64 {
        let s = 1.0 - (distance / self.radius).powi(2);
        if s > 0.0 { s * s } else { 0.0 }
    }
}
