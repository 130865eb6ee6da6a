use std::collections::HashMap;

use super::{CornerNormals, MeshError, SurfaceMesh};
use crate::math::{Aabb, Vec3};

/// The triangles into which a triangle is cut when some of its edges are halved, by the set of these edges as bits.
/// Corners 0, 1, 2 are its own; 3, 4, 5 are the middles of the edges from 0 to 1, from 1 to 2 and from 2 to 0.
const CUTS: [&[[usize; 3]]; 8] = [
    &[[0, 1, 2]],
    &[[0, 3, 2], [3, 1, 2]],
    &[[1, 4, 0], [4, 2, 0]],
    &[[3, 1, 4], [0, 3, 2], [3, 4, 2]],
    &[[2, 5, 1], [5, 0, 1]],
    &[[5, 0, 3], [2, 5, 1], [5, 3, 1]],
    &[[4, 2, 5], [1, 4, 0], [4, 5, 0]],
    &[[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]],
];

impl SurfaceMesh {
    /// The three corners of a triangle [m].
    pub fn corners(&self, triangle: usize) -> [Vec3; 3] {
        self.triangles[triangle].map(|v| self.positions[v as usize])
    }

    /// Volume enclosed [m^3], by the divergence theorem; negative when the triangles face inwards. For an open surface
    /// it depends on where the surface stands.
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

    /// Turns a triangle to face the other way.
    pub fn flip(&mut self, triangle: usize) {
        self.triangles[triangle].swap(1, 2);
        if let Some(texture) = &mut self.texture_coordinates {
            texture[triangle].swap(1, 2);
        }
        if let Some(normals) = &mut self.normals {
            normals[triangle].swap(1, 2);
            normals[triangle].as_flattened_mut().iter_mut().for_each(|x| *x = -*x);
        }
    }

    /// The normal of a triangle at each of its corners; zero for a triangle without area.
    pub(super) fn flat_normals(&self, triangle: usize) -> CornerNormals {
        let [a, b, c] = self.corners(triangle);
        let normal = (b - a).cross(&(c - a)).try_normalize(0.0).unwrap_or_default();
        [[normal.x as f32, normal.y as f32, normal.z as f32]; 3]
    }

    /// The same surface with triangles small enough that no edge is longer than `longest` [m]: edges are halved, for
    /// both of their triangles alike, so that a closed surface stays closed. New vertices follow the old ones.
    pub fn subdivided(&self, longest: f64) -> Self {
        let mut surface = self.clone();
        loop {
            let mut middle: HashMap<[u32; 2], u32> = HashMap::new();
            let mut positions = std::mem::take(&mut surface.positions);
            let (texture, normals) = (surface.texture_coordinates.take(), surface.normals.take());
            let parts = surface.parts.take();
            let mut cut = Vec::with_capacity(surface.triangles.len());
            let (mut cut_texture, mut cut_normals, mut cut_from) = (Vec::new(), Vec::new(), Vec::new());
            for (t, &[a, b, c]) in surface.triangles.iter().enumerate() {
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
                let halves = [halved(a, b), halved(b, c), halved(c, a)];
                let pieces = CUTS[halves.iter().enumerate().map(|(edge, half)| usize::from(half.is_some()) << edge).sum::<usize>()];
                // The corners, then the middles of the edges from each corner to the next.
                let vertices = [Some(a), Some(b), Some(c), halves[0], halves[1], halves[2]].map(Option::unwrap_or_default);
                cut.extend(pieces.iter().map(|piece| piece.map(|corner| vertices[corner])));
                cut_from.extend(pieces.iter().map(|_| t));
                if let Some(texture) = &texture {
                    let at = texture[t];
                    let between = |i: usize, j: usize| [0, 1].map(|k| 0.5 * (at[i][k] + at[j][k]));
                    let at = [at[0], at[1], at[2], between(0, 1), between(1, 2), between(2, 0)];
                    cut_texture.extend(pieces.iter().map(|piece| piece.map(|corner| at[corner])));
                }
                if let Some(normals) = &normals {
                    let at = normals[t];
                    let between = |i: usize, j: usize| normalised([0, 1, 2].map(|k| at[i][k] + at[j][k])).unwrap_or(at[i]);
                    let at = [at[0], at[1], at[2], between(0, 1), between(1, 2), between(2, 0)];
                    cut_normals.extend(pieces.iter().map(|piece| piece.map(|corner| at[corner])));
                }
            }
            (surface.positions, surface.triangles) = (positions, cut);
            surface.texture_coordinates = texture.map(|_| cut_texture);
            surface.normals = normals.map(|_| cut_normals);
            surface.parts = parts.map(|parts| parts.of(cut_from));
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

/// A vector scaled to length 1; nothing for a vector without a direction.
pub(super) fn normalised(v: [f32; 3]) -> Option<[f32; 3]> {
    let v = v.map(f64::from);
    let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
    (length > 0.0 && length.is_finite()).then(|| v.map(|x| (x / length) as f32))
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

    #[test]
    fn texture_coordinates_and_normals_follow_the_triangles_that_are_cut_and_turned() {
        let mut slab = shapes::surface_box(Vec3::new(1.0, 0.02, 0.4));
        let on = |surface: &SurfaceMesh, t: usize| surface.corners(t).map(|p| [p.x as f32 + 2.0 * p.y as f32, p.z as f32]);
        slab.texture_coordinates = Some((0..slab.triangles.len()).map(|t| on(&slab, t)).collect());
        // Towards a point far below, and on the other side of a triangle that is turned.
        let up = |surface: &SurfaceMesh, t: usize| surface.corners(t).map(|p| (p + Vec3::y() * 3.0).normalize());
        let single = |n: Vec3| [n.x as f32, n.y as f32, n.z as f32];
        slab.normals = Some((0..slab.triangles.len()).map(|t| up(&slab, t).map(single)).collect());
        let mut fine = slab.subdivided(0.05);
        fine.flip(7);
        for (t, corners) in fine.normals.as_ref().unwrap().iter().enumerate() {
            for (found, want) in corners.iter().zip(up(&fine, t)) {
                let found = Vec3::from(found.map(f64::from)) * if t == 7 { -1.0 } else { 1.0 };
                assert!((found.norm() - 1.0).abs() < 1e-6 && (found - want).norm() < 5e-3, "{t}: {found} {want}");
            }
        }
        let texture = fine.texture_coordinates.clone().unwrap();
        assert!(texture.len() == fine.triangles.len() && texture.len() > 100);
        for (t, corners) in texture.iter().enumerate() {
            let want = on(&fine, t);
            assert!(corners.as_flattened().iter().zip(want.as_flattened()).all(|(a, b)| (a - b).abs() < 1e-6), "{t}");
        }
    }
}
