//! Shapes of cells: their corners, edges and faces, and the tets that they are split into.

use crate::math::Vec3;
use crate::mesh::quadratic::EDGES;

/// The shape of a cell, whatever its order. Corners come first among its nodes, in the order of VTK (and Gmsh).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Point,
    Line,
    Triangle,
    Quad,
    Tet,
    Hexahedron,
    Wedge,
    Pyramid,
}

impl Shape {
    pub fn corners(self) -> usize {
        match self {
            Self::Point => 1,
            Self::Line => 2,
            Self::Triangle => 3,
            Self::Quad | Self::Tet => 4,
            Self::Pyramid => 5,
            Self::Wedge => 6,
            Self::Hexahedron => 8,
        }
    }

    /// The faces of a shape that is split into tets, their corners counter-clockwise seen from inside, so that a tet
    /// from a face to a corner beyond it is positive.
    fn faces(self) -> &'static [&'static [usize]] {
        match self {
            Self::Hexahedron => &[&[0, 1, 2, 3], &[4, 7, 6, 5], &[0, 4, 5, 1], &[1, 5, 6, 2], &[2, 6, 7, 3], &[3, 7, 4, 0]],
            Self::Wedge => &[&[0, 1, 2], &[3, 5, 4], &[0, 3, 4, 1], &[1, 4, 5, 2], &[2, 5, 3, 0]],
            Self::Pyramid => &[&[0, 1, 2, 3], &[0, 4, 1], &[1, 4, 2], &[2, 4, 3], &[3, 4, 0]],
            _ => &[],
        }
    }

    /// The edges of a solid shape, in the order in which VTK has the nodes in them.
    pub fn edges(self) -> &'static [[usize; 2]] {
        match self {
            Self::Tet => &[[0, 1], [1, 2], [2, 0], [0, 3], [1, 3], [2, 3]],
            Self::Hexahedron => &[[0, 1], [1, 2], [2, 3], [3, 0], [4, 5], [5, 6], [6, 7], [7, 4], [0, 4], [1, 5], [2, 6], [3, 7]],
            Self::Wedge => &[[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3], [0, 3], [1, 4], [2, 5]],
            Self::Pyramid => &[[0, 1], [1, 2], [2, 3], [3, 0], [0, 4], [1, 4], [2, 4], [3, 4]],
            _ => &[],
        }
    }

    /// The direction of an edge, of the three along which a cell may have different orders.
    pub fn direction(self, edge: usize) -> usize {
        match self {
            Self::Hexahedron if edge < 8 => edge % 2,
            Self::Hexahedron => 2,
            Self::Wedge if edge >= 6 => 2,
            _ => 0,
        }
    }

    /// The quadrilaterals of a solid shape, in the order in which VTK has the nodes in them. These go along the edge
    /// from the first to the second corner first.
    pub fn quads(self) -> &'static [[usize; 4]] {
        match self {
            Self::Hexahedron => &[[0, 3, 7, 4], [1, 2, 6, 5], [0, 1, 5, 4], [3, 2, 6, 7], [0, 1, 2, 3], [4, 5, 6, 7]],
            Self::Wedge => &[[0, 1, 4, 3], [1, 2, 5, 4], [0, 2, 5, 3]],
            Self::Pyramid => &[[0, 1, 2, 3]],
            _ => &[],
        }
    }

    /// The two directions of the edges of a quadrilateral, that of its first edge first.
    pub fn directions(self, quad: usize) -> [usize; 2] {
        match (self, quad) {
            (Self::Hexahedron, 0 | 1) => [1, 2],
            (Self::Hexahedron, 2 | 3) | (Self::Wedge, _) => [0, 2],
            (Self::Hexahedron, _) => [0, 1],
            _ => [0, 0],
        }
    }

    /// The tets of a cell with its corners at these places, by their numbers among them: from the least corner to the
    /// triangles of the faces without it. Every face is cut from its own least corner: neighbours cut a common face
    /// alike, whatever their shapes (as by Dompierre, Labbe, Vallet & Camarero 1999). Corners are compared by where
    /// they are: neighbours that share places but no nodes, as in files of finite elements that jump, cut alike, too.
    pub fn tets(self, corners: &[Vec3]) -> Vec<[usize; 4]> {
        // The two zeros are one place.
        let place = |c: usize| [corners[c].x, corners[c].y, corners[c].z].map(|x| x + 0.0);
        let before = |a: usize, b: usize| {
            let (a, b) = (place(a), place(b));
            a.iter().zip(&b).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
        };
        let apex = (0..corners.len()).min_by(|a, b| before(*a, *b)).unwrap_or_default();
        let mut tets = vec![];
        for face in self.faces().iter().filter(|face| face.iter().all(|c| before(*c, apex).is_ne())) {
            let least = (0..face.len()).min_by(|i, j| before(face[*i], face[*j])).unwrap_or_default();
            let around = |i: usize| face[(least + i) % face.len()];
            tets.extend((1..face.len() - 1).map(|i| [around(0), around(i), around(i + 1), apex]));
        }
        tets
    }

    /// The edges of the tets of such a cell, by the numbers of their corners, the lower first; each once.
    pub fn edges_of_tets(self, corners: &[Vec3]) -> Vec<[usize; 2]> {
        if self == Self::Tet {
            return EDGES.to_vec();
        }
        let edges_of = |tet: [usize; 4]| EDGES.map(|[i, j]| [tet[i].min(tet[j]), tet[i].max(tet[j])]);
        let mut edges: Vec<[usize; 2]> = self.tets(corners).into_iter().flat_map(edges_of).collect();
        edges.sort_unstable();
        edges.dedup();
        edges
    }
}
