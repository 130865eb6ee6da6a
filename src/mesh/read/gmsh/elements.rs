//! The element types of Gmsh, and the order of their nodes.

use crate::mesh::read::lattice::{self, in_rows};
use crate::mesh::read::shape::Shape;

/// A type of elements.
pub(super) struct Element {
    pub shape: Shape,
    pub order: usize,
    pub n_nodes: usize,
    /// Where the nodes that are read stand among those of the file, in the order in which `Cells` takes them.
    pub places: Vec<usize>,
}

/// The numbers of types by their order, from 1 on (0: there is none), and whether they have nodes in faces and inside.
const TYPES: [(Shape, bool, &[u64]); 14] = [
    (Shape::Point, true, &[15]),
    (Shape::Line, true, &[1, 8, 26, 27, 28, 62, 63, 64, 65, 66]),
    (Shape::Triangle, true, &[2, 9, 21, 23, 25, 42, 43, 44, 45, 46]),
    (Shape::Triangle, false, &[0, 0, 20, 22, 24, 52, 53, 54, 55, 56]),
    (Shape::Quad, true, &[3, 10, 36, 37, 38, 47, 48, 49, 50, 51]),
    (Shape::Quad, false, &[0, 16, 39, 40, 41, 57, 58, 59, 60, 61]),
    (Shape::Tet, true, &[4, 11, 29, 30, 31, 71, 72, 73, 74, 75]),
    (Shape::Tet, false, &[0, 0, 137, 32, 33, 79, 80, 81, 82, 83]),
    (Shape::Hexahedron, true, &[5, 12, 92, 93, 94, 95, 96, 97, 98]),
    (Shape::Hexahedron, false, &[0, 17, 99, 100, 101, 102, 103, 104, 105]),
    (Shape::Wedge, true, &[6, 13, 90, 91, 106, 107, 108, 109, 110]),
    (Shape::Wedge, false, &[0, 18, 111, 112, 113, 114, 115, 116, 117]),
    (Shape::Pyramid, true, &[7, 14, 118, 119, 120, 121, 122, 123, 124]),
    (Shape::Pyramid, false, &[0, 19, 125, 126, 127, 128, 129, 130, 131]),
];

/// The elements of a type, if it is known.
pub(super) fn element(kind: u64) -> Option<Element> {
    let order_in = |kinds: &[u64]| kinds.iter().position(|known| *known == kind && kind > 0).map(|place| place + 1);
    let (shape, is_full, p) = TYPES.iter().find_map(|(shape, is_full, kinds)| Some((*shape, *is_full, order_in(kinds)?)))?;
    let n_nodes = match (shape, is_full) {
        (Shape::Point, _) => 1,
        (Shape::Line, _) => p + 1,
        (Shape::Triangle, true) => (p + 1) * (p + 2) / 2,
        (Shape::Triangle, false) => 3 * p,
        (Shape::Quad, true) => (p + 1).pow(2),
        (Shape::Quad, false) => 4 * p,
        (Shape::Tet, true) => (p + 1) * (p + 2) * (p + 3) / 6,
        (Shape::Hexahedron, true) => (p + 1).pow(3),
        (Shape::Wedge, true) => (p + 1).pow(2) * (p + 2) / 2,
        (Shape::Pyramid, true) => (p + 1) * (p + 2) * (2 * p + 3) / 6,
        (solid, false) => solid.corners() + solid.edges().len() * (p - 1),
    };
    let places = match (shape, is_full, p) {
        (_, _, 1) => (0..n_nodes).collect(),
        (Shape::Triangle, true, 3..) => in_rows(&lattice::triangle(p)),
        (Shape::Quad, true, 3..) => in_rows(&lattice::quad(p)),
        (Shape::Tet | Shape::Hexahedron | Shape::Wedge | Shape::Pyramid, ..) => places(shape, is_full, p),
        _ => (0..n_nodes).collect(),
    };
    Some(Element { shape, order: p, n_nodes, places })
}

/// Where Gmsh has the nodes of a solid, in the order of our edges and quadrilaterals.
fn places(shape: Shape, is_full: bool, order: usize) -> Vec<usize> {
    let (edges, triangles, quads) = faces(shape);
    let inner = order - 1;
    let mut places: Vec<usize> = (0..shape.corners()).collect();
    for ours in shape.edges() {
        let edge = edges.iter().position(|edge| ours.iter().all(|corner| edge.contains(corner))).unwrap_or_default();
        places.extend((0..inner).map(|i| shape.corners() + edge * inner + i));
    }
    if !is_full || inner == 0 {
        return places;
    }
    let first = places.len() + triangles * inner * (inner - 1) / 2;
    for ours in shape.quads() {
        let quad = quads.iter().position(|quad| ours.iter().all(|corner| quad.contains(corner))).unwrap_or_default();
        places.extend(in_rows(&lattice::quad(inner - 1)).into_iter().map(|i| first + quad * inner * inner + i));
    }
    if shape == Shape::Hexahedron {
        let first = places.len();
        places.extend(in_rows(&lattice::hexahedron(inner - 1)).into_iter().map(|i| first + i));
    }
    places
}

/// What [`faces`] gives.
type Faces = (&'static [[usize; 2]], usize, &'static [[usize; 4]]);

/// Gmsh's edges of a solid, the number of its triangles, and its quadrilaterals, which follow these.
fn faces(shape: Shape) -> Faces {
    match shape {
        Shape::Tet => (&[[0, 1], [1, 2], [2, 0], [3, 0], [3, 2], [3, 1]], 4, &[]),
        Shape::Hexahedron => (&lattice::EDGES, 0, &lattice::QUADS),
        Shape::Wedge => {
            (&[[0, 1], [0, 2], [0, 3], [1, 2], [1, 4], [2, 5], [3, 4], [3, 5], [4, 5]], 2, &[[0, 1, 4, 3], [0, 3, 5, 2], [1, 2, 5, 4]])
        }
        Shape::Pyramid => (&[[0, 1], [0, 3], [0, 4], [1, 2], [1, 4], [2, 3], [2, 4], [3, 4]], 4, &[[0, 3, 2, 1]]),
        _ => (&[], 0, &[]),
    }
}
