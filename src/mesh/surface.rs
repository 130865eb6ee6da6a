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
