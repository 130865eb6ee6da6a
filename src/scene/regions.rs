//! Parts of a body by place.

use super::value::Origin;
use crate::math::{Aabb, Vec3};

#[derive(Clone, Debug)]
pub struct Region {
    pub extent: Extent,
    /// Where the file says it, for complaints about an empty one.
    pub origin: Origin,
    pub key: String,
}

#[derive(Clone, Copy, Debug)]
pub enum Extent {
    /// A box along the world's axes.
    Box(Aabb),
    /// The side of the body's own box at the low or high end of an axis.
    Side { axis: usize, high: bool },
}

/// Points this part of the body's size outside still belong to a region: rounding must not decide.
const TOLERANCE: f64 = 1e-6;

impl Region {
    /// Indices of the points inside. `bounds`: the body's box.
    pub fn select(&self, points: &[Vec3], bounds: &Aabb) -> Vec<u32> {
        let tolerance = TOLERANCE * bounds.extent().max();
        let inside = |p: &Vec3| match self.extent {
            Extent::Box(Aabb { min, max }) => (0..3).all(|i| p[i] >= min[i] - tolerance && p[i] <= max[i] + tolerance),
            Extent::Side { axis, high: false } => p[axis] <= bounds.min[axis] + tolerance,
            Extent::Side { axis, high: true } => p[axis] >= bounds.max[axis] - tolerance,
        };
        (0..points.len() as u32).filter(|&i| inside(&points[i as usize])).collect()
    }
}
