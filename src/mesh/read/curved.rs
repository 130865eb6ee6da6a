//! Cells of higher order: where they have the middle between two of their corners.
//!
//! That is all that tets of ten nodes need of a cell. In the middle of its parameters the weights of nodes are
//! symmetric: an edge is halved by its own nodes whichever way they run, a quadrilateral by its own and those of its
//! edges, and what lies in triangles or inside of tets, wedges and pyramids plays no part. So neighbours agree on what
//! they share.

use super::shape::Shape;
use crate::math::Vec3;

/// The highest order that is read: beyond it polynomials through points at equal distances say little, and VTK ends
/// there, too.
pub(super) const HIGHEST: usize = 10;

/// What the nodes of a curved cell are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// The order of the polynomials along each of three directions, from 1 on. They differ in hexahedra alone, and in
    /// wedges between the triangle and the height.
    pub along: [usize; 3],
    /// The nodes are control points of Bernstein polynomials instead of points of the cell at equal distances.
    pub is_bezier: bool,
}

impl Order {
    /// The same order along all directions, of points of the cell.
    pub fn of(order: usize) -> Self {
        Self { along: [order; 3], is_bezier: false }
    }

    /// The number of corners and of nodes in edges.
    pub fn nodes_of_edges(&self, shape: Shape) -> usize {
        shape.corners() + (0..shape.edges().len()).map(|edge| self.along[shape.direction(edge)] - 1).sum::<usize>()
    }

    /// The number of nodes of a cell that play a part.
    pub fn nodes(&self, shape: Shape) -> usize {
        let inner = self.along.map(|order| order - 1);
        let of_quad = |quad: usize| shape.directions(quad).into_iter().map(|direction| inner[direction]).product::<usize>();
        let inside = if shape == Shape::Hexahedron { inner.into_iter().product() } else { 0 };
        self.nodes_of_edges(shape) + (0..shape.quads().len()).map(of_quad).sum::<usize>() + inside
    }

    /// The weights of the nodes along a line of the cell in its middle.
    fn weights(&self, direction: usize) -> Vec<f64> {
        let order = self.along[direction];
        let lagrange = |i: usize| {
            let factor = |j: usize| (0.5 * order as f64 - j as f64) / (i as f64 - j as f64);
            (0..=order).filter(|j| *j != i).map(factor).product()
        };
        let bernstein = |i: usize| (0..i).map(|j| (order - j) as f64 / (j + 1) as f64).product::<f64>() * 0.5f64.powi(order as i32);
        (0..=order).map(|i| if self.is_bezier { bernstein(i) } else { lagrange(i) }).collect()
    }
}

/// A place times its weight, and the weight: 1 but of rational cells.
pub(super) type Weighted = nalgebra::Vector4<f64>;

/// A curved cell.
#[derive(Clone, Debug)]
pub(super) struct Curved {
    pub shape: Shape,
    pub order: Order,
    /// The corners; then the nodes in edges, in quadrilaterals and inside of a hexahedron, in the order of [`Shape`]
    /// and along the first direction first. Cells without the latter two are as smooth as their edges let them. A
    /// quadratic hexahedron of 24 nodes has those of the four faces around its third direction, as VTK has it.
    pub nodes: Vec<u32>,
}

/// The parts of a cell's place in the middle of edges, quadrilaterals and the whole: sums over nodes times their
/// weights.
struct Parts {
    shape: Shape,
    /// The weights of the ends of lines.
    ends: [f64; 3],
    corners: Vec<Weighted>,
    /// Of the nodes in each edge.
    edges: Vec<Weighted>,
    /// Of the nodes in each quadrilateral, if it has some of its own.
    quads: Vec<Option<Weighted>>,
    inside: Option<Weighted>,
}

impl Curved {
    /// Ends and middle of each edge of the tets of the cell, from the places of its nodes; none where one is missing.
    pub fn middles(&self, point: impl Fn(u32) -> Option<Weighted>) -> Vec<[Vec3; 3]> {
        let Some(x) = self.nodes.iter().map(|node| point(*node)).collect::<Option<Vec<Weighted>>>() else { return vec![] };
        let place = |x: &Weighted| x.xyz() / x.w;
        let corners: Vec<Vec3> = x[..self.shape.corners()].iter().map(place).collect();
        let parts = self.parts(&x);
        let middle = |[a, b]: [usize; 2]| [corners[a], corners[b], place(&parts.between(a, b))];
        self.shape.edges_of_tets(&corners).into_iter().map(middle).collect()
    }

    fn parts(&self, x: &[Weighted]) -> Parts {
        let Self { shape, order, .. } = *self;
        let weights = [0, 1, 2].map(|direction| order.weights(direction));
        let inner = [0, 1, 2].map(|direction| &weights[direction][1..order.along[direction]]);
        let (corners, mut rest) = x.split_at(shape.corners());
        let mut take = |n: usize| rest.split_off(..n).unwrap_or_default();
        let of_edge = |edge: usize| {
            let weights = inner[shape.direction(edge)];
            take(weights.len()).iter().zip(weights).map(|(x, weight)| x * *weight).sum()
        };
        let edges = (0..shape.edges().len()).map(of_edge).collect();
        let has_all = x.len() >= order.nodes(shape);
        let of_quad = |quad: usize| {
            let [u, v] = shape.directions(quad).map(|direction| inner[direction]);
            let nodes = take(u.len() * v.len()).iter().enumerate();
            has_all.then(|| nodes.map(|(i, x)| x * (u[i % u.len()] * v[i / u.len()])).sum())
        };
        let mut quads: Vec<Option<Weighted>> = (0..shape.quads().len()).map(of_quad).collect();
        if let (Shape::Hexahedron, 24) = (shape, x.len()) {
            quads = vec![Some(x[23]), Some(x[21]), Some(x[20]), Some(x[22]), None, None];
        }
        let [u, v, w] = inner;
        let of_inside = |(i, x): (usize, &Weighted)| x * (u[i % u.len()] * v[i / u.len() % v.len()] * w[i / (u.len() * v.len())]);
        let inside = has_all.then(|| take(u.len() * v.len() * w.len()).iter().enumerate().map(of_inside).sum());
        Parts { shape, ends: [0, 1, 2].map(|direction| weights[direction][0]), corners: corners.to_vec(), edges, quads, inside }
    }
}

impl Parts {
    /// The place in the middle between two corners.
    fn between(&self, a: usize, b: usize) -> Weighted {
        if let Some(edge) = self.shape.edges().iter().position(|edge| edge.contains(&a) && edge.contains(&b)) {
            return self.of_edge(edge);
        }
        let quad = self.shape.quads().iter().position(|quad| quad.contains(&a) && quad.contains(&b));
        quad.map_or_else(|| self.of_whole(), |quad| self.of_quad(quad))
    }

    fn of_edge(&self, edge: usize) -> Weighted {
        let [a, b] = self.shape.edges()[edge];
        (self.corners[a] + self.corners[b]) * self.ends[self.shape.direction(edge)] + self.edges[edge]
    }

    /// Without nodes of its own a quadrilateral is what its edges make it (transfinite interpolation; the shape
    /// functions of such cells).
    fn of_quad(&self, quad: usize) -> Weighted {
        let around = self.shape.quads()[quad];
        let corners: Weighted = around.iter().map(|c| self.corners[*c]).sum();
        let edges = (0..self.edges.len()).filter(|edge| self.shape.edges()[*edge].iter().all(|c| around.contains(c)));
        let Some(own) = self.quads[quad] else {
            return edges.map(|edge| self.of_edge(edge)).sum::<Weighted>() * 0.5 - corners * 0.25;
        };
        let [u, v] = self.shape.directions(quad);
        let across = |edge: usize| self.ends[if self.shape.direction(edge) == u { v } else { u }];
        corners * (self.ends[u] * self.ends[v]) + edges.map(|edge| self.edges[edge] * across(edge)).sum::<Weighted>() + own
    }

    /// The middle of a hexahedron.
    fn of_whole(&self) -> Weighted {
        let corners: Weighted = self.corners.iter().sum();
        let (edges, quads) = (0..self.edges.len(), 0..self.quads.len());
        let Some(own) = self.inside else {
            let of_quads: Weighted = quads.map(|quad| self.of_quad(quad)).sum();
            return of_quads * 0.5 - edges.map(|edge| self.of_edge(edge)).sum::<Weighted>() * 0.25 + corners * 0.125;
        };
        let ends = |but: &[usize]| [0, 1, 2].iter().filter(|direction| !but.contains(direction)).map(|d| self.ends[*d]).product::<f64>();
        let of_edges: Weighted = edges.map(|edge| self.edges[edge] * ends(&[self.shape.direction(edge)])).sum();
        let of_quads: Weighted = quads.filter_map(|quad| Some(self.quads[quad]? * ends(&self.shape.directions(quad)))).sum();
        corners * ends(&[]) + of_edges + of_quads + own
    }
}
