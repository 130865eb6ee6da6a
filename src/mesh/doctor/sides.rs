//! Triangles by their edges, and keys that tell equal vertices and triangles.

use crate::math::Vec3;

/// One triangle at one of its edges.
pub(super) struct Side {
    /// Vertices of the edge, lower first.
    pub ends: [u32; 2],
    /// The triangle's corners (three times its index, plus 0, 1 or 2) at these ends.
    pub corners: [usize; 2],
    /// Whether the triangle runs from the lower to the higher vertex.
    pub forward: bool,
}

/// All sides of all triangles, grouped by their edges. A side of no length is left out.
pub(super) fn sides(triangles: &[[u32; 3]]) -> Vec<Side> {
    let mut sides = Vec::with_capacity(3 * triangles.len());
    for (t, triangle) in triangles.iter().enumerate() {
        for (i, j) in [(0, 1), (1, 2), (2, 0)] {
            let (a, b) = (triangle[i], triangle[j]);
            if a < b {
                sides.push(Side { ends: [a, b], corners: [3 * t + i, 3 * t + j], forward: true });
            } else if b < a {
                sides.push(Side { ends: [b, a], corners: [3 * t + j, 3 * t + i], forward: false });
            }
        }
    }
    sides.sort_unstable_by_key(|side| (side.ends, side.corners));
    sides
}

/// A position as a key; -0 and 0 are the same place.
pub(super) fn place(position: &Vec3) -> [u64; 3] {
    [position.x, position.y, position.z].map(|x| (x + 0.0).to_bits())
}

pub(super) fn sorted(triangle: &[u32; 3]) -> [u32; 3] {
    let mut triangle = *triangle;
    triangle.sort_unstable();
    triangle
}
