use std::collections::HashMap;

use super::{MeshError, SurfaceMesh};
use crate::math::{Aabb, Vec3};

impl SurfaceMesh {
    /// The three corners of a triangle [m].
    pub fn corners(&self, triangle: usize) -> [Vec3; 3] {
        self.triangles[triangle].map(|v| self.positions[v as usize])
    }

    /// Volume enclosed [m^3], by the divergence theorem; negative when the triangles face inwards. For an open surface it
    /// depends on where the surface stands.
    pub fn signed_volume(&self) -> f64 {
        // Around the box's centre rather than the origin: a small body far away keeps its digits.
        let origin = if self.positions.is_empty() { Vec3::zeros() } else { self.aabb().center() };
        (0..self.triangles.len())
            .map(|t| {
                let [a, b, c] = self.corners(t).map(|p| p - origin);
                a.dot(&b.cross(&c)) / 6.0
            })
            .sum()
    }

    /// Area of all triangles [m^2].
    pub fn area(&self) -> f64 {
        (0..self.triangles.len())
            .map(|t| {
                let [a, b, c] = self.corners(t);
                (b - a).cross(&(c - a)).norm() / 2.0
            })
            .sum()
    }

    /// Bounding box of all vertices.
    pub fn aabb(&self) -> Aabb {
        Aabb::of(&self.positions)
    }

    /// The same surface with every vertex moved by `map`. A map that mirrors turns the triangles inside out:
    /// `doctor::mend` flips them back.
    pub fn transformed(&self, map: impl Fn(&Vec3) -> Vec3) -> Self {
        Self { positions: self.positions.iter().map(map).collect(), ..self.clone() }
    }

    /// The same surface with triangles small enough that no edge is longer than `longest` [m]: edges are halved, for both of their
    /// triangles alike, so that what was closed stays closed. New vertices follow the old ones.
    pub fn subdivided(&self, longest: f64) -> Self {
        let mut surface = self.clone();
        loop {
            let mut middle: HashMap<[u32; 2], u32> = HashMap::new();
            let mut positions = std::mem::take(&mut surface.positions);
            let mut cut = Vec::with_capacity(surface.triangles.len());
            for &[a, b, c] in &surface.triangles {
                // The vertex in the middle of an edge that is too long.
                let mut halved = |p: u32, q: u32| {
                    let (from, to) = (positions[p as usize], positions[q as usize]);
                    let is_long = p != q && (to - from).norm() > longest;
                    is_long.then(|| {
                        *middle.entry([p.min(q), p.max(q)]).or_insert_with(|| {
                            positions.push((from + to) * 0.5);
                            positions.len() as u32 - 1
                        })
                    })
                };
                match (halved(a, b), halved(b, c), halved(c, a)) {
                    (None, None, None) => cut.push([a, b, c]),
                    (Some(x), None, None) => cut.extend([[a, x, c], [x, b, c]]),
                    (None, Some(y), None) => cut.extend([[b, y, a], [y, c, a]]),
                    (None, None, Some(z)) => cut.extend([[c, z, b], [z, a, b]]),
                    (Some(x), Some(y), None) => cut.extend([[x, b, y], [a, x, c], [x, y, c]]),
                    (None, Some(y), Some(z)) => cut.extend([[y, c, z], [b, y, a], [y, z, a]]),
                    (Some(x), None, Some(z)) => cut.extend([[z, a, x], [c, z, b], [z, x, b]]),
                    (Some(x), Some(y), Some(z)) => cut.extend([[a, x, z], [x, b, y], [z, y, c], [x, y, z]]),
                }
            }
            (surface.positions, surface.triangles) = (positions, cut);
            if middle.is_empty() {
                return surface;
            }
        }
    }

    /// Refuses an empty surface, an index out of range and a coordinate that is not finite.
    pub fn check(&self) -> Result<(), MeshError> {
        if self.triangles.is_empty() {
            return Err(MeshError::Empty);
        }
        if let Some(vertex) = self.positions.iter().position(|p| !p.iter().all(|x| x.is_finite())) {
            return Err(MeshError::NotFinite { vertex });
        }
        let vertices = self.positions.len();
        for (triangle, corners) in self.triangles.iter().enumerate() {
            if let Some(&vertex) = corners.iter().find(|&&v| v as usize >= vertices) {
                return Err(MeshError::TriangleIndex { triangle, vertex, vertices });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::doctor::diagnose;
    use crate::mesh::shapes;

    #[test]
    fn long_edges_are_halved_and_the_surface_stays_closed() {
        let slab = shapes::surface_box(Vec3::new(1.0, 0.02, 0.4));
        let fine = slab.subdivided(0.05);
        let (before, after) = (diagnose(&slab), diagnose(&fine));
        assert!(after.is_solid() && after.is_manifold() && after.degenerate_triangles == 0, "{after:?}");
        assert!((after.signed_volume - before.signed_volume).abs() < 1e-12 && (after.area - before.area).abs() < 1e-12);
        let longest = (0..fine.triangles.len()).flat_map(|t| {
            let [a, b, c] = fine.corners(t);
            [(b - a).norm(), (c - b).norm(), (a - c).norm()]
        });
        assert!((0.025..=0.05).contains(&longest.fold(0.0, f64::max)) && fine.triangles.len() < 8000, "{}", fine.triangles.len());
        assert_eq!(slab.subdivided(2.0), slab);
    }
}
