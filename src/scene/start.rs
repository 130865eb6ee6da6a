//! Shapes in which a body starts: what it has to find back from.

use super::random::Random;
use crate::math::{Aabb, Vec3};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    Rest,
    Scrambled,
    Flattened,
    Mirrored,
}

/// Heights that are left of a flattened body, as a part of its size.
const ROUGHNESS: f64 = 1e-3;

impl Start {
    pub const NAMES: [&'static str; 4] = ["rest", "scrambled", "flattened", "mirrored"];

    /// One of [`Self::NAMES`].
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "rest" => Some(Self::Rest),
            "scrambled" => Some(Self::Scrambled),
            "flattened" => Some(Self::Flattened),
            "mirrored" => Some(Self::Mirrored),
            _ => None,
        }
    }

    /// Where nodes start, from where they are at rest [m].
    pub fn displacements(self, seed: u64, positions: &[Vec3]) -> Vec<Vec3> {
        let (bounds, mut random) = (Aabb::of(positions), Random(seed));
        let (center, extent) = (bounds.center(), bounds.extent());
        let start = |x: &Vec3| match self {
            Self::Rest => *x,
            Self::Scrambled => bounds.min + extent.map(|side| side * random.unit()),
            Self::Flattened => Vec3::new(x.x, center.y + ROUGHNESS * extent.max() * (random.unit() - 0.5), x.z),
            Self::Mirrored => Vec3::new(2.0 * center.x - x.x, x.y, x.z),
        };
        let starts: Vec<Vec3> = positions.iter().map(start).collect();
        starts.iter().zip(positions).map(|(start, x)| start - x).collect()
    }
}
