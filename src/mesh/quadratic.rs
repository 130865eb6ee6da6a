//! Tets of ten nodes, seen as eight linear tets each.
//!
//! The [`TetMesh`] of a quadratic body is the red refinement of its tets [Bank, Sherman & Weiser 1983; Bey 1995]: eight
//! consecutive tets are one of ten nodes, the k-th of the first four at its k-th corner. What only asks where things
//! are (embedding, contact, pictures, files) knows linear tets alone: weights are not negative, unlike those of the
//! quadratic shape functions, and affine motions are exact.

use std::ops::Range;

use super::TetMesh;
use crate::math::{Mat3, Vec3};

/// Linear tets of a quadratic one.
pub const PARTS: usize = 8;
/// The edges of a tet by its corners.
pub(super) const EDGES: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
/// Nodes of a quadratic tet: its corners, then the middles of its edges.
pub const NODES: usize = 10;

/// The middle of each edge that is curved or not halved: nodes of the edge, the lower first, and where it is [m].
/// Sorted.
pub type Middles = [([u32; 2], Vec3)];

/// Where edges of tets of ten nodes have their middle [m], found by the places of their ends: those stay as they are
/// when a mesh is mended, unlike numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeMiddles {
    /// Sorted.
    edges: Vec<(Ends, Vec3)>,
}

/// The bits of both ends of an edge, the lesser first.
type Ends = [[u64; 3]; 2];

/// Middles off the straight edge by less than this part of its length are rounded.
const STRAIGHT: f64 = 1e-9;

impl EdgeMiddles {
    /// From both ends and the middle of each edge; of edges that are there twice one counts.
    pub fn new(edges: impl Iterator<Item = [Vec3; 3]>) -> Self {
        let mut edges: Vec<(Ends, Vec3)> = edges.map(|[a, b, middle]| (ends(&a, &b), middle)).collect();
        edges.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| bits(&a.1).cmp(&bits(&b.1))));
        edges.dedup_by_key(|(ends, _)| *ends);
        Self { edges }
    }

    /// The same of edges whose points are moved by `map`.
    pub fn moved(&self, map: impl Fn(&Vec3) -> Vec3) -> Self {
        let point = |bits: &[u64; 3]| map(&Vec3::from(bits.map(f64::from_bits)));
        Self::new(self.edges.iter().map(|([a, b], middle)| [point(a), point(b), map(middle)]))
    }

    /// Without tets of ten nodes.
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }

    /// Of the edges of a mesh, those that are not in the middle between their ends; sorted.
    pub fn on(&self, mesh: &TetMesh) -> Vec<([u32; 2], Vec3)> {
        if self.is_empty() {
            return vec![];
        }
        let middle_of = |edge: [u32; 2]| {
            let [a, b] = edge.map(|node| mesh.positions[node as usize]);
            let found = self.edges.binary_search_by_key(&ends(&a, &b), |(ends, _)| *ends).ok()?;
            let middle = self.edges[found].1;
            ((middle - (a + b) * 0.5).norm() > STRAIGHT * (a - b).norm()).then_some((edge, middle))
        };
        mesh.edges().into_iter().filter_map(middle_of).collect()
    }
}

fn bits(p: &Vec3) -> [u64; 3] {
    // The two zeros are one place.
    [p.x, p.y, p.z].map(|x| (x + 0.0).to_bits())
}

fn ends(a: &Vec3, b: &Vec3) -> Ends {
    let (a, b) = (bits(a), bits(b));
    [a.min(b), a.max(b)]
}

/// The parts at the corners.
const CORNERS: [[usize; 4]; 4] = [[0, 4, 5, 6], [4, 1, 7, 8], [5, 7, 2, 9], [6, 8, 9, 3]];
/// The parts of the octahedron between them, around each of its diagonals.
const OCTAHEDRON: [([usize; 2], [[usize; 4]; 4]); 3] = [
    ([4, 9], [[4, 9, 7, 5], [4, 9, 8, 7], [4, 9, 6, 8], [4, 9, 5, 6]]),
    ([5, 8], [[5, 8, 6, 4], [5, 8, 9, 6], [5, 8, 7, 9], [5, 8, 4, 7]]),
    ([6, 7], [[6, 7, 4, 5], [6, 7, 8, 4], [6, 7, 9, 8], [6, 7, 5, 9]]),
];

impl TetMesh {
    /// The eight parts of each tet, whose edges are halved where `middles` does not say otherwise. A tet whose parts or
    /// whose shape functions would then turn over at some place gets straight edges; the number of those tets is the
    /// second result. Nodes stay in their order, followed by the middles of the edges to later nodes.
    pub fn quadratic(&self, middles: &Middles) -> (Self, usize) {
        let edges = self.edges();
        let first_edge = |node: u32| edges.partition_point(|[low, _]| *low < node) as u32;
        let corner: Vec<u32> = (0..self.positions.len() as u32).map(|node| node + first_edge(node)).collect();
        let middle = |[a, b]: [u32; 2]| {
            let edge = [a.min(b), a.max(b)];
            edge[0] + 1 + edges.partition_point(|other| *other < edge) as u32
        };
        let nodes_of = |tet: &[u32; 4]| {
            let mut nodes = [0; NODES];
            nodes[..4].copy_from_slice(&tet.map(|node| corner[node as usize]));
            nodes[4..].copy_from_slice(&EDGES.map(|ends| middle(ends.map(|c| tet[c]))));
            nodes
        };
        let mut positions = vec![Vec3::zeros(); self.positions.len() + edges.len()];
        corner.iter().zip(&self.positions).for_each(|(node, p)| positions[*node as usize] = *p);
        let halved = |[a, b]: [u32; 2]| (self.positions[a as usize] + self.positions[b as usize]) * 0.5;
        edges.iter().for_each(|edge| positions[middle(*edge) as usize] = halved(*edge));
        let straight = positions.clone();
        for (edge, place) in middles.iter().filter(|(edge, _)| edges.binary_search(edge).is_ok()) {
            positions[middle(*edge) as usize] = *place;
        }
        // A tet that gets straight edges may turn its neighbours over in turn.
        let mut straightened = vec![false; self.tets.len()];
        loop {
            let folds = |t: &usize| !straightened[*t] && turns_over(&nodes_of(&self.tets[*t]).map(|node| positions[node as usize]));
            let folded: Vec<usize> = if middles.is_empty() { vec![] } else { (0..self.tets.len()).filter(folds).collect() };
            if folded.is_empty() {
                break;
            }
            for t in folded {
                straightened[t] = true;
                nodes_of(&self.tets[t])[4..].iter().for_each(|node| positions[*node as usize] = straight[*node as usize]);
            }
        }
        let parts = |tet: &[u32; 4]| {
            let nodes = nodes_of(tet);
            parts(&nodes.map(|node| positions[node as usize])).map(|part| part.map(|c| nodes[c]))
        };
        let tets = self.tets.iter().flat_map(parts).collect();
        (Self { positions, tets }, straightened.iter().filter(|is| **is).count())
    }

    /// The ten nodes of each tet of a mesh that is such a refinement; None of others.
    pub fn ten_nodes(&self) -> Option<Vec<[u32; NODES]>> {
        let (all, rest) = self.tets.as_chunks::<PARTS>();
        let of_parts = |parts: &[[u32; 4]; PARTS]| {
            let mut nodes = [u32::MAX; NODES];
            for (part, local) in parts.iter().zip(&CORNERS) {
                local.iter().zip(part).for_each(|(c, node)| nodes[*c] = *node);
            }
            let matches = |part: &[u32; 4], local: &[usize; 4]| local.map(|c| nodes[c]) == *part;
            let are_corners = parts.iter().zip(&CORNERS).all(|(part, local)| matches(part, local));
            let are_inner = OCTAHEDRON.iter().any(|(_, inner)| parts[4..].iter().zip(inner).all(|(part, local)| matches(part, local)));
            (are_corners && are_inner).then_some(nodes)
        };
        if rest.is_empty() { all.iter().map(of_parts).collect() } else { None }
    }

    /// The cells of a lattice that each six or fewer consecutive tets make up, as ranges of tets: those around one
    /// diagonal, from their first node to their last one. None of a mesh that is no lattice.
    pub fn lattice_cells(&self) -> Option<Vec<Range<usize>>> {
        let mut end = 0;
        let cells: Vec<_> = self
            .tets
            .chunk_by(|a, b| a[0] == b[0] && a[3] == b[3])
            .map(|tets| {
                end += tets.len();
                end - tets.len()..end
            })
            .collect();
        let is_cell = |cell: &Range<usize>| {
            let tets = &self.tets[cell.clone()];
            let longest = |tet: &[u32; 4]| {
                let x = tet.map(|node| self.positions[node as usize]);
                let diagonal = (x[3] - x[0]).norm_squared();
                EDGES.iter().all(|[i, j]| (x[*i] - x[*j]).norm_squared() <= diagonal * (1.0 + 1e-9))
            };
            (3..=6).contains(&tets.len()) && tets.iter().all(longest)
        };
        (!cells.is_empty() && cells.iter().all(is_cell)).then_some(cells)
    }
}

/// The parts of a tet with these nodes, the octahedron cut around its shortest diagonal.
fn parts(x: &[Vec3; NODES]) -> [[usize; 4]; PARTS] {
    let length = |diagonal: usize| {
        let ([a, b], _) = OCTAHEDRON[diagonal];
        (x[a] - x[b]).norm_squared()
    };
    // Of equal ones the first, whatever the rounding.
    let shortest = (1..3).fold(0, |best, other| if length(other) < length(best) * (1.0 - 1e-9) { other } else { best });
    let mut parts = [[0; 4]; PARTS];
    parts[..4].copy_from_slice(&CORNERS);
    parts[4..].copy_from_slice(&OCTAHEDRON[shortest].1);
    parts
}

/// Whether a part has no volume, or the quadratic map none at a corner or a point of its quadrature.
fn turns_over(x: &[Vec3; NODES]) -> bool {
    let volume = |part: &[usize; 4]| {
        let [a, b, c, d] = part.map(|c| x[c]);
        (b - a).dot(&(c - a).cross(&(d - a)))
    };
    let is_positive = |value: f64| value > 0.0;
    let inner = POINTS.iter();
    let corners = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
    !parts(x).iter().map(volume).all(is_positive) || !corners.iter().chain(inner).map(|at| jacobian(x, at).determinant()).all(is_positive)
}

/// The places of the rule of four points that is exact for quadratic functions, by barycentric weights [Hammer & Stroud
/// 1956]; each has a fourth of the volume.
pub const POINTS: [[f64; 4]; 4] = [[A, B, B, B], [B, A, B, B], [B, B, A, B], [B, B, B, A]];
/// (5 + 3 sqrt 5) / 20
const A: f64 = 0.585_410_196_624_968_5;
/// (5 - sqrt 5) / 20
const B: f64 = 0.138_196_601_125_010_5;

/// The derivatives of the ten shape functions by the last three barycentric weights.
pub fn shape_derivatives(at: &[f64; 4]) -> [Vec3; NODES] {
    let unit = [-Vec3::repeat(1.0), Vec3::x(), Vec3::y(), Vec3::z()];
    let mut derivatives = [Vec3::zeros(); NODES];
    for c in 0..4 {
        derivatives[c] = unit[c] * (4.0 * at[c] - 1.0);
    }
    for (derivative, [i, j]) in derivatives[4..].iter_mut().zip(EDGES) {
        *derivative = (unit[j] * at[i] + unit[i] * at[j]) * 4.0;
    }
    derivatives
}

/// How the place in a tet with these nodes changes with the last three barycentric weights [m].
pub fn jacobian(x: &[Vec3; NODES], at: &[f64; 4]) -> Mat3 {
    x.iter().zip(shape_derivatives(at)).map(|(x, d)| x * d.transpose()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::shapes;

    #[test]
    fn parts_fill_a_tet_and_its_ten_nodes_are_found_again() {
        for mesh in [shapes::box_tets(Vec3::new(1.0, 2.0, 0.7), [2, 3, 1]), shapes::sphere(0.5, 4), shapes::torus(1.0, 0.3, 6)] {
            let (fine, straightened) = mesh.quadratic(&[]);
            assert_eq!((fine.tets.len(), straightened), (8 * mesh.tets.len(), 0));
            fine.check().unwrap();
            let ten = fine.ten_nodes().unwrap();
            for (t, nodes) in ten.iter().enumerate() {
                let x = nodes.map(|node| fine.positions[node as usize]);
                assert_eq!([x[0], x[1], x[2], x[3]], mesh.corners(t));
                EDGES.iter().zip(&x[4..]).for_each(|([i, j], middle)| assert_eq!((x[*i] + x[*j]) * 0.5, *middle));
                let volumes: Vec<f64> = (8 * t..8 * t + 8).map(|part| fine.volume(part)).collect();
                assert!(volumes.iter().all(|v| (v - mesh.volume(t) / 8.0).abs() < 1e-12 * mesh.volume(t)));
            }
            // Neighbours share their middles: four triangles for each of the border.
            assert_eq!(fine.boundary().len(), 4 * mesh.boundary().len());
            assert_eq!(fine.positions.len(), mesh.positions.len() + mesh.edges().len());
            assert_eq!(mesh.ten_nodes(), None);
        }
    }

    #[test]
    fn curved_edges_are_kept_unless_the_tet_turns_over() {
        let mesh = TetMesh { positions: vec![Vec3::zeros(), Vec3::x(), Vec3::y(), Vec3::z()], tets: vec![[0, 1, 2, 3]] };
        let curved = Vec3::new(0.5, -0.1, -0.1);
        let (fine, straightened) = mesh.quadratic(&[([0, 1], curved)]);
        assert_eq!(straightened, 0);
        let nodes = fine.ten_nodes().unwrap()[0];
        assert_eq!(fine.positions[nodes[4] as usize], curved);
        let (fine, straightened) = mesh.quadratic(&[([0, 1], Vec3::new(0.5, 0.6, 0.6))]);
        assert_eq!((straightened, fine), (1, mesh.quadratic(&[]).0));
    }

    #[test]
    fn cells_of_lattices_are_found() {
        let mesh = shapes::box_tets(Vec3::new(1.0, 2.0, 0.7), [2, 3, 1]);
        let cells = mesh.lattice_cells().unwrap();
        assert_eq!(cells.len(), 6);
        assert!(cells.iter().all(|cell| cell.len() == 6));
        assert_eq!(mesh.quadratic(&[]).0.lattice_cells(), None);
    }

    #[test]
    fn shape_functions_know_linear_fields() {
        let mesh = TetMesh { positions: vec![Vec3::zeros(), Vec3::x(), Vec3::y() * 2.0, Vec3::z()], tets: vec![[0, 1, 2, 3]] };
        let (fine, _) = mesh.quadratic(&[]);
        let x = fine.ten_nodes().unwrap()[0].map(|node| fine.positions[node as usize]);
        for at in POINTS {
            assert!((jacobian(&x, &at) - Mat3::from_diagonal(&Vec3::new(1.0, 2.0, 1.0))).norm() < 1e-14);
        }
    }
}
