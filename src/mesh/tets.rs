use rayon::prelude::*;

use super::quadratic::EDGES;
use super::{Embedding, MeshError, SurfaceMesh, TetMesh};
use crate::cancel::{CancelToken, Cancelled};
use crate::math::Vec3;
use crate::sorting::sorted_unless;

/// How nearly regular the tets are: `6 sqrt(2) volume / (rms edge)^3`, 1 for a regular tet, 0 for a flat tet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    pub worst: f64,
    pub mean: f64,
}

/// The faces of a positive tet, counter-clockwise seen from outside.
const FACES: [[usize; 3]; 4] = [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]];

impl TetMesh {
    /// The four corners of a tet [m].
    pub fn corners(&self, tet: usize) -> [Vec3; 4] {
        self.tets[tet].map(|node| self.positions[node as usize])
    }

    /// Signed volume of a tet [m^3].
    pub fn volume(&self, tet: usize) -> f64 {
        let [a, b, c, d] = self.corners(tet);
        (b - a).dot(&(c - a).cross(&(d - a))) / 6.0
    }

    /// Volume of all tets [m^3].
    pub fn total_volume(&self) -> f64 {
        (0..self.tets.len()).map(|t| self.volume(t)).sum()
    }

    /// The triangles that belong to one tet only, counter-clockwise seen from outside, in the order of their tets.
    pub fn boundary(&self) -> Vec<[u32; 3]> {
        self.boundary_with_tets().0
    }

    /// The triangles of [`TetMesh::boundary`], and the tet of each.
    pub fn boundary_with_tets(&self) -> (Vec<[u32; 3]>, Vec<u32>) {
        self.boundary_with_tets_unless(&CancelToken::default()).expect("nobody cancels it")
    }

    /// The same, which ends soon after `cancel` is cancelled.
    pub fn boundary_with_tets_unless(&self, cancel: &CancelToken) -> Result<(Vec<[u32; 3]>, Vec<u32>), Cancelled> {
        let key_of = |id: usize| {
            let mut key = self.face(id);
            key.sort_unstable();
            (key, id as u32)
        };
        let faces: Vec<([u32; 3], u32)> = (0..4 * self.tets.len()).into_par_iter().map(key_of).collect();
        let faces = sorted_unless(&faces, self.positions.len(), |(key, _)| key[0] as usize, cancel)?;
        let mut single: Vec<u32> = faces.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() == 1).map(|same| same[0].1).collect();
        single.sort_unstable();
        Ok(single.into_iter().map(|id| (self.face(id as usize), id / 4)).unzip())
    }

    /// The boundary as triangles over its own vertices, and the node of each of these vertices, in their order.
    pub fn boundary_skin(&self) -> (Vec<[u32; 3]>, Embedding) {
        self.skin_of(&self.boundary())
    }

    /// The same, which ends soon after `cancel` is cancelled.
    pub fn boundary_skin_unless(&self, cancel: &CancelToken) -> Result<(Vec<[u32; 3]>, Embedding), Cancelled> {
        Ok(self.skin_of(&self.boundary_with_tets_unless(cancel)?.0))
    }

    /// Faces as triangles over their own vertices, and the node of each of these vertices, in their order.
    pub(super) fn skin_of(&self, boundary: &[[u32; 3]]) -> (Vec<[u32; 3]>, Embedding) {
        let mut vertex = vec![u32::MAX; self.positions.len()];
        boundary.iter().flatten().for_each(|&node| vertex[node as usize] = 0);
        let mut embedding = Embedding::default();
        for (node, vertex) in vertex.iter_mut().enumerate().filter(|(_, vertex)| **vertex == 0) {
            *vertex = embedding.nodes.len() as u32;
            embedding.nodes.push([node as u32; 4]);
            embedding.weights.push([1.0, 0.0, 0.0, 0.0]);
        }
        (boundary.iter().map(|triangle| triangle.map(|node| vertex[node as usize])).collect(), embedding)
    }

    /// The boundary as a surface of its own, without the inner nodes.
    pub fn surface(&self) -> SurfaceMesh {
        let (triangles, embedding) = self.boundary_skin();
        SurfaceMesh {
            positions: embedding.nodes.iter().map(|nodes| self.positions[nodes[0] as usize]).collect(),
            triangles,
            ..SurfaceMesh::default()
        }
    }

    /// Face `id % 4` of tet `id / 4`.
    fn face(&self, id: usize) -> [u32; 3] {
        FACES[id % 4].map(|corner| self.tets[id / 4][corner])
    }

    /// All edges once, lower node first, sorted.
    pub fn edges(&self) -> Vec<[u32; 2]> {
        let mut edges: Vec<[u32; 2]> =
            self.tets.iter().flat_map(|tet| EDGES.map(|[i, j]| [tet[i].min(tet[j]), tet[i].max(tet[j])])).collect();
        edges.par_sort_unstable();
        edges.dedup();
        edges
    }

    /// Quality of one tet.
    pub fn tet_quality(&self, tet: usize) -> f64 {
        tet_quality(&self.corners(tet))
    }

    /// Worst and mean quality of the tets; both 0 without tets.
    pub fn quality(&self) -> Quality {
        if self.tets.is_empty() {
            return Quality { worst: 0.0, mean: 0.0 };
        }
        let (worst, sum) = (0..self.tets.len())
            .map(|t| self.tet_quality(t))
            .fold((f64::INFINITY, 0.0), |(worst, sum), quality| (quality.min(worst), sum + quality));
        Quality { worst, mean: sum / self.tets.len() as f64 }
    }

    /// Refuses a mesh that no solver can use: no tets, an index out of range, a coordinate that is not finite, a volume
    /// that is not positive.
    pub fn check(&self) -> Result<(), MeshError> {
        self.check_indices()?;
        match (0..self.tets.len()).map(|tet| (tet, self.volume(tet))).find(|(_, volume)| volume.is_nan() || *volume <= 0.0) {
            Some((tet, volume)) => Err(MeshError::TetVolume { tet, volume }),
            None => Ok(()),
        }
    }

    /// Refuses lists that are no mesh: no tets, an index out of range, a coordinate that is not finite.
    pub fn check_indices(&self) -> Result<(), MeshError> {
        if self.tets.is_empty() {
            return Err(MeshError::NoTets);
        }
        if let Some(vertex) = self.positions.iter().position(|p| !p.iter().all(|x| x.is_finite())) {
            return Err(MeshError::NotFinite { vertex });
        }
        let nodes = self.positions.len();
        for (tet, corners) in self.tets.iter().enumerate() {
            if let Some(&node) = corners.iter().find(|&&node| node as usize >= nodes) {
                return Err(MeshError::TetIndex { tet, node, nodes });
            }
        }
        Ok(())
    }
}

/// Quality of a tet with these corners: its volume over that of a regular one with edges of the same mean square; 1
/// for a regular one, below 0 inside out.
pub fn tet_quality(corners: &[Vec3; 4]) -> f64 {
    let [a, b, c, d] = corners;
    let volume = (b - a).dot(&(c - a).cross(&(d - a))) / 6.0;
    let squares: f64 = EDGES.iter().map(|&[i, j]| (corners[i] - corners[j]).norm_squared()).sum();
    6.0 * 2f64.sqrt() * volume / (squares / 6.0).powf(1.5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::shapes::box_tets;

    fn one_tet() -> TetMesh {
        TetMesh { positions: vec![Vec3::zeros(), Vec3::x(), Vec3::y(), Vec3::z()], tets: vec![[0, 1, 2, 3]] }
    }

    #[test]
    fn faces_of_a_tet_look_outward() {
        let mesh = one_tet();
        let center = Vec3::repeat(0.25);
        let boundary = mesh.boundary();
        assert_eq!(boundary.len(), 4);
        for triangle in boundary {
            let [a, b, c] = triangle.map(|v| mesh.positions[v as usize]);
            assert!((b - a).cross(&(c - a)).dot(&(a - center)) > 0.0);
        }
    }

    #[test]
    fn quality_is_one_for_a_regular_tet_and_less_for_others() {
        let corner = |x, y, z| Vec3::new(x, y, z);
        let regular = TetMesh {
            positions: vec![corner(1., 1., 1.), corner(1., -1., -1.), corner(-1., 1., -1.), corner(-1., -1., 1.)],
            tets: vec![[0, 2, 1, 3]],
        };
        assert!((regular.quality().worst - 1.0).abs() < 1e-12, "{:?}", regular.quality());
        assert!(one_tet().quality().worst < 0.9);
    }

    #[test]
    fn edges_of_a_box_follow_euler() {
        let mesh = box_tets(Vec3::new(1.0, 2.0, 3.0), [2, 3, 4]);
        // V - E + F - T = 1 for a ball; F = (4 T + boundary) / 2.
        let (v, e, t) = (mesh.positions.len(), mesh.edges().len(), mesh.tets.len());
        let f = (4 * t + mesh.boundary().len()) / 2;
        assert_eq!(v + f, e + t + 1);
        assert!(mesh.edges().is_sorted() && mesh.edges().iter().all(|[i, j]| i < j));
    }

    #[test]
    fn check_names_the_fault() {
        assert_eq!(one_tet().check(), Ok(()));
        assert_eq!(TetMesh::default().check(), Err(MeshError::NoTets));
        let mut inverted = one_tet();
        inverted.tets[0].swap(0, 1);
        assert!(matches!(inverted.check(), Err(MeshError::TetVolume { tet: 0, volume }) if volume < 0.0));
        let mut outside = one_tet();
        outside.tets[0][3] = 9;
        assert_eq!(outside.check(), Err(MeshError::TetIndex { tet: 0, node: 9, nodes: 4 }));
        let mut broken = one_tet();
        broken.positions[2].y = f64::NAN;
        assert_eq!(broken.check(), Err(MeshError::NotFinite { vertex: 2 }));
    }
}
