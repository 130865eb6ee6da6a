//! The cell types of VTK.

use crate::mesh::read::cells::Cells;
use crate::mesh::read::curved::{HIGHEST, Order};
use crate::mesh::read::lattice::{self, in_rows};
use crate::mesh::read::shape::Shape;

/// The types of Lagrange and Bezier cells that stand for triangles to pyramids.
pub(in crate::mesh::read) const OF_ANY_ORDER: [u64; 12] = [69, 70, 71, 72, 73, 74, 76, 77, 78, 79, 80, 81];
/// The Bezier cells among them.
pub(in crate::mesh::read) const BEZIER: [u64; 6] = [76, 77, 78, 79, 80, 81];

/// A cell of a file.
#[derive(Clone, Copy, Debug)]
pub(in crate::mesh::read) struct Cell<'a> {
    pub number: usize,
    /// Its type.
    pub kind: u64,
    pub nodes: &'a [u32],
    /// The orders of a Lagrange or Bezier cell along its three directions, where the file gives them.
    pub orders: Option<[f64; 3]>,
    /// VTK before 9.1 wrote it: the last two edges of Lagrange and Bezier hexahedra are each in the other's place.
    pub is_old: bool,
}

impl Cell<'_> {
    /// Adds it, or gives the reason why it is wrong.
    pub fn add_to(&self, cells: &mut Cells) -> Result<(), String> {
        let Self { number, kind, nodes, .. } = *self;
        let shape = match kind {
            0 => return Ok(()), // an empty cell
            1 | 2 => Shape::Point,
            3 | 4 | 21 | 35 | 68 | 75 => Shape::Line,
            5 | 22 | 34 | 69 | 76 => Shape::Triangle,
            7 => {
                cells.add_polygon(nodes);
                return Ok(());
            }
            6 => {
                for (i, corners) in nodes.windows(3).enumerate() {
                    cells.add(Shape::Triangle, &[corners[i % 2], corners[1 - i % 2], corners[2]]);
                }
                return Ok(());
            }
            8 | 9 | 23 | 28 | 30 | 70 | 77 => Shape::Quad,
            10 | 24 | 71 | 78 => Shape::Tet,
            11 | 12 | 25 | 29 | 33 | 72 | 79 => Shape::Hexahedron,
            13 | 26 | 31 | 32 | 73 | 80 => Shape::Wedge,
            14 | 27 | 37 | 74 | 81 => Shape::Pyramid,
            _ => return Err(format!("cell {number} is of VTK type {kind}, which is not read")),
        };
        if nodes.len() < shape.corners() {
            return Err(format!("cell {number} of VTK type {kind} has {} points instead of {} or more", nodes.len(), shape.corners()));
        }
        match (kind, nodes) {
            // Pixels and voxels run along the axes instead of around.
            (8, &[a, b, c, d, ..]) => cells.add(shape, &[a, b, d, c]),
            (11, &[a, b, c, d, e, f, g, h, ..]) => cells.add(shape, &[a, b, d, c, e, f, h, g]),
            // Of the nodes in faces that of the quadrilateral comes first; those in triangles and inside play no part.
            (37, [first @ .., _, _, _, _, _]) if nodes.len() == 19 => cells.add(shape, first),
            _ if OF_ANY_ORDER.contains(&kind) && nodes.len() > shape.corners() => return self.add_of_any_order(shape, cells),
            _ => cells.add(shape, nodes),
        }
        Ok(())
    }

    /// Adds a Lagrange or Bezier cell with more nodes than its corners.
    fn add_of_any_order(&self, shape: Shape, cells: &mut Cells) -> Result<(), String> {
        let is_bezier = BEZIER.contains(&self.kind);
        // VTK has numbers for pyramids, but no order of their nodes.
        let is_unknown = shape == Shape::Pyramid;
        let is_face = matches!(shape, Shape::Triangle | Shape::Quad);
        let found = self.orders_of(shape);
        // Faces are seldom more than the outside of solids beside them.
        if is_unknown || (is_face && (is_bezier || found.is_err())) {
            cells.add_by_corners(shape, self.nodes);
            return Ok(());
        }
        let order = Order { along: found?, is_bezier };
        let [p, q, r] = order.along;
        let mut nodes = self.nodes.to_vec();
        match shape {
            Shape::Triangle => nodes = in_rows(&lattice::triangle(p)).into_iter().map(|i| nodes[i]).collect(),
            Shape::Quad => nodes = in_rows(&places_in_quad(p, q)).into_iter().map(|i| nodes[i]).collect(),
            Shape::Tet => nodes.truncate(order.nodes_of_edges(shape)),
            Shape::Hexahedron if self.is_old => {
                let end = order.nodes_of_edges(shape);
                nodes[end - 2 * (r - 1)..end].rotate_left(r - 1);
            }
            Shape::Wedge => {
                // The nodes in triangles, which stand before those in quadrilaterals; the quadratic one may have some.
                let n_triangles = if nodes.len() == WEDGE_21 { 2 } else { (p - 1) * (p - 2) };
                let end = order.nodes_of_edges(shape);
                nodes.drain(end..end + n_triangles);
                nodes.truncate(order.nodes(shape));
            }
            _ => {}
        }
        cells.add_curved(shape, order, &nodes);
        Ok(())
    }

    /// The orders of the cell: those that the file gives, else those that its number of nodes tells.
    fn orders_of(&self, shape: Shape) -> Result<[usize; 3], String> {
        let Self { number, kind, orders, .. } = *self;
        let n = self.nodes.len();
        match (shape, n) {
            (Shape::Triangle, 7) | (Shape::Tet, 15) | (Shape::Wedge, WEDGE_21) => return Ok([2; 3]),
            _ => {}
        }
        let Some(given) = orders.filter(|_| matches!(shape, Shape::Quad | Shape::Hexahedron | Shape::Wedge)) else {
            let found = (1..=HIGHEST).find(|p| nodes_of(shape, [*p; 3]) == n);
            return found.map(|p| [p; 3]).ok_or_else(|| {
                format!("cell {number} of VTK type {kind} has {n} points, as many as no order from 1 to {HIGHEST} has along all directions")
            });
        };
        let used = if shape == Shape::Quad { [given[0], given[1], given[1]] } else { given };
        let [p, q, r] = used;
        let is_read = used.iter().all(|p| p.fract() == 0.0 && (1.0..=HIGHEST as f64).contains(p));
        if !is_read || (shape == Shape::Wedge && p != q) {
            return Err(format!(
                "cell {number} of VTK type {kind} has the orders {p}, {q} and {r}, which are not read: they must be whole, from 1 to {HIGHEST}, \
                 and of wedges the first two alike"
            ));
        }
        let along = used.map(|p| p as usize);
        let wanted = nodes_of(shape, along);
        if wanted == n {
            Ok(along)
        } else {
            Err(format!("cell {number} of VTK type {kind} has {n} points instead of the {wanted} of the orders {p}, {q} and {r}"))
        }
    }
}

/// The number of nodes of a quadratic wedge that has some in its triangles and its middle, too.
const WEDGE_21: usize = 21;

/// The number of nodes of a Lagrange cell of these orders.
fn nodes_of(shape: Shape, [p, q, r]: [usize; 3]) -> usize {
    match shape {
        Shape::Triangle => (p + 1) * (p + 2) / 2,
        Shape::Quad => (p + 1) * (q + 1),
        Shape::Tet => (p + 1) * (p + 2) * (p + 3) / 6,
        Shape::Wedge => (p + 1) * (p + 2) / 2 * (r + 1),
        _ => (p + 1) * (q + 1) * (r + 1),
    }
}

/// The places of the nodes of a Lagrange quadrilateral: those in its edges run along its directions, those inside in
/// rows.
fn places_in_quad(p: usize, q: usize) -> Vec<[usize; 2]> {
    let mut places = vec![[0, 0], [p, 0], [p, q], [0, q]];
    places.extend((1..p).map(|i| [i, 0]));
    places.extend((1..q).map(|j| [p, j]));
    places.extend((1..p).map(|i| [i, q]));
    places.extend((1..q).map(|j| [0, j]));
    places.extend((1..q).flat_map(|j| (1..p).map(move |i| [i, j])));
    places
}
