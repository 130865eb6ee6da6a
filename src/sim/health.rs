//! Whether the deformable bodies are still what they were: neither burst nor collapsed.

use crate::math::{Aabb, Vec3};
use crate::model::Model;

/// Measures of all deformable bodies together, against those at rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Health {
    /// Part of the volume at rest.
    pub volume: f64,
    /// Longest side of the bounding box, as a part of that at rest.
    pub longest: f64,
    /// Part of the volume at rest whose tets are turned inside out: slivers, which turn with every breath, hardly
    /// count.
    pub inverted: f64,
    /// Height of the lowest point of the surface that touches [m].
    pub lowest: f64,
}

impl Health {
    pub fn of(model: &Model, positions: &[Vec3]) -> Self {
        let volume = |x: &[Vec3], nodes: [u32; 4]| {
            let [a, b, c, d] = nodes.map(|n| x[n as usize]);
            (b - a).cross(&(c - a)).dot(&(d - a)) / 6.0
        };
        let (mut now, mut rest, mut inverted) = (0.0, 0.0, 0.0);
        for tet in &model.tets {
            let v = volume(positions, tet.nodes);
            now += v;
            rest += tet.volume;
            // NaN counts too.
            inverted += if v.is_nan() || v <= 0.0 { tet.volume } else { 0.0 };
        }
        let bounds = Aabb::of(positions);
        let touching = model.collision.positions(positions);
        Self {
            volume: now / rest,
            longest: bounds.extent().max() / Aabb::of(&model.rest_positions).extent().max(),
            inverted: inverted / rest,
            lowest: Aabb::of(&touching).min.y,
        }
    }

    /// Whether nothing has burst (grown), collapsed (lost its volume) or turned inside out beyond a few elements of a
    /// bad mesh.
    pub fn is_intact(&self) -> bool {
        (0.7..1.3).contains(&self.volume) && (0.4..1.6).contains(&self.longest) && self.inverted < 0.01
    }
}
