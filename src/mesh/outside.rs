//! Which faces of tets are the outside of a body: those on whose other side there is nothing.

use rayon::prelude::*;

use super::tet_grid::TetGrid;
use super::{Embedding, SurfaceMesh, TetMesh};
use crate::cancel::{CancelToken, Cancelled};
use crate::disjoint_sets::DisjointSets;
use crate::math::Vec3;

/// Points of a face that are looked at, by their barycentric coordinates.
const SAMPLES: [[f64; 3]; 4] = [[1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0], [0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]];

/// How far in front of a face they are, in sizes of the face: further than f32 coordinates are off.
const IN_FRONT: f64 = 1e-4;

/// The outside of tets as a surface.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outside {
    pub triangles: Vec<[u32; 3]>,
    /// Where their vertices lie in the tets: each at a node.
    pub embedding: Embedding,
    /// Faces of one tet that lie inside of their own part all the same: the tets do not conform there.
    pub inner_faces: Vec<[u32; 3]>,
}

impl Outside {
    /// The same as a mesh of its own, without the inner nodes. `tets`: those that it is the outside of.
    pub fn into_surface(self, tets: &TetMesh) -> SurfaceMesh {
        let positions = self.embedding.positions(&tets.positions);
        SurfaceMesh { positions, triangles: self.triangles, ..SurfaceMesh::default() }
    }
}

impl TetMesh {
    /// The outside without the faces that lie inside.
    pub fn outside(&self) -> Outside {
        self.outside_unless(&CancelToken::default()).expect("nobody cancels it")
    }

    /// The same, which ends soon after `cancel` is cancelled.
    pub fn outside_unless(&self, cancel: &CancelToken) -> Result<Outside, Cancelled> {
        let (border, owners) = self.boundary_with_tets_unless(&cancel.part(0.0, 0.3))?;
        let mut parts = DisjointSets::new(self.positions.len());
        let joining = cancel.part(0.3, 0.4);
        for (t, tet) in self.tets.iter().enumerate() {
            tet[1..].iter().for_each(|&node| {
                parts.join(tet[0] as usize, node as usize);
            });
            joining.check_item(t, self.tets.len())?;
        }
        let mut part = |tet: u32| parts.root(self.tets[tet as usize][0] as usize);
        let covers = self.covers(&border, &owners, &cancel.part(0.4, 1.0))?;
        let is_inner: Vec<bool> = covers
            .iter()
            .zip(&owners)
            .map(|(cover, owner)| cover.is_some_and(|by| by.iter().all(|tet| part(*tet) == part(*owner))))
            .collect();
        let (inner, outer): (Vec<_>, Vec<_>) = border.into_iter().zip(is_inner).partition(|(_, is_inner)| *is_inner);
        let outer: Vec<[u32; 3]> = outer.into_iter().map(|(face, _)| face).collect();
        let (triangles, embedding) = self.skin_of(&outer);
        Ok(Outside { triangles, embedding, inner_faces: inner.into_iter().map(|(face, _)| face).collect() })
    }

    /// For each face of the border the tets that lie in front of it; none where one of its points has nothing in front.
    /// `owners`: the tet of each face.
    pub fn covers(&self, border: &[[u32; 3]], owners: &[u32], cancel: &CancelToken) -> Result<Vec<Option<[u32; 4]>>, Cancelled> {
        if self.tets.is_empty() {
            return Ok(vec![]);
        }
        let grid = TetGrid::new_unless(self, &cancel.part(0.0, 0.5))?;
        let cover = |(face, owner): (&[u32; 3], &u32)| {
            let corners = face.map(|node| self.positions[node as usize]);
            let [a, b, c] = corners;
            let across = (b - a).cross(&(c - a));
            // Of a tet that is inside out the face looks inwards.
            let behind = self.corners(*owner as usize).iter().sum::<Vec3>() / 4.0;
            let outward = if across.dot(&(behind - a)) > 0.0 { -across } else { across };
            let step = outward.try_normalize(0.0)? * (IN_FRONT * across.norm().sqrt());
            let mut by = [0; SAMPLES.len()];
            for (tet, sample) in by.iter_mut().zip(SAMPLES) {
                let point: Vec3 = corners.iter().zip(sample).map(|(corner, weight)| corner * weight).sum();
                cancel.check().ok()?;
                *tet = grid.locate(&(point + step))? as u32;
            }
            Some(by)
        };
        let covers = border.par_iter().zip(owners).map(cover).collect();
        cancel.check()?;
        Ok(covers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::doctor::diagnose;
    use crate::mesh::shapes;

    #[test]
    fn faces_that_do_not_fit_are_no_outside() {
        let sound = shapes::box_tets(Vec3::repeat(1.0), [3, 3, 3]);
        let outside = sound.outside();
        assert_eq!((outside.triangles, outside.embedding), sound.boundary_skin());
        assert!(outside.inner_faces.is_empty());

        // Two ways to divide a prism, on the two sides of a square with two diagonals.
        let corner = |i: u32| Vec3::new(f64::from(i & 1), f64::from(i >> 1 & 1), 0.0);
        let mut positions: Vec<Vec3> = (0..4).map(corner).collect();
        positions.extend([Vec3::new(0.5, 0.5, 1.0), Vec3::new(0.5, 0.5, -1.0)]);
        let mesh = TetMesh { positions, tets: vec![[0, 1, 3, 4], [0, 3, 2, 4], [1, 0, 2, 5], [1, 2, 3, 5]] };
        mesh.check().unwrap();
        assert_eq!(mesh.boundary().len(), 12);
        let outside = mesh.outside();
        assert_eq!((outside.triangles.len(), outside.inner_faces.len()), (8, 4));
        let found = diagnose(&outside.into_surface(&mesh));
        assert!(found.is_solid() && found.is_manifold(), "{found:?}");
        assert!((found.signed_volume - mesh.total_volume()).abs() < 1e-12);

        // Parts of their own keep their faces, wherever they are.
        let mut parts = sound.clone();
        parts.positions.extend(sound.positions.iter().map(|p| p + Vec3::new(0.5, 0.1, 0.2)));
        parts.tets.extend(sound.tets.iter().map(|tet| tet.map(|node| node + sound.positions.len() as u32)));
        assert!(parts.outside().inner_faces.is_empty());
    }
}
