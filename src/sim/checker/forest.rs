//! Trees of boxes over triangles, one a body. Their shape is made once; the boxes follow the vertices.

use std::cmp::Ordering;
use std::ops::Range;

use crate::math::{Aabb, Vec3};

/// Most triangles in a leaf.
const LEAF: usize = 4;

/// A box around some triangles, in short numbers rounded outwards. The fourth component is 0: four are compared as fast
/// as three.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    min: [f32; 4],
    max: [f32; 4],
}

impl Bounds {
    const EMPTY: Self = Self {
        min: [f32::INFINITY, f32::INFINITY, f32::INFINITY, 0.0],
        max: [f32::NEG_INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY, 0.0],
    };

    pub fn of(points: &[Vec3; 3]) -> Self {
        let [p, q, r] = points;
        let mut bounds = Self { min: [0.0; 4], max: [0.0; 4] };
        for i in 0..3 {
            bounds.min[i] = (p[i].min(q[i]).min(r[i]) as f32).next_down();
            bounds.max[i] = (p[i].max(q[i]).max(r[i]) as f32).next_up();
        }
        bounds
    }

    fn join(self, other: Self) -> Self {
        let mut joined = self;
        for i in 0..4 {
            joined.min[i] = self.min[i].min(other.min[i]);
            joined.max[i] = self.max[i].max(other.max[i]);
        }
        joined
    }

    /// Lower end on an axis [m].
    pub fn min(&self, axis: usize) -> f32 {
        self.min[axis]
    }

    /// Upper end on an axis [m].
    pub fn max(&self, axis: usize) -> f32 {
        self.max[axis]
    }

    pub fn meets(&self, other: &Self) -> bool {
        // Without a branch: which axis decides cannot be foreseen.
        (0..4).fold(true, |meets, i| meets & (self.min[i] <= other.max[i]) & (other.min[i] <= self.max[i]))
    }

    pub fn contains(&self, p: &Vec3) -> bool {
        (0..3).all(|i| f64::from(self.min[i]) <= p[i] && p[i] <= f64::from(self.max[i]))
    }

    /// Squared distance to a point [m^2]; 0 inside.
    fn distance_squared(&self, p: &Vec3) -> f64 {
        (0..3).map(|i| (f64::from(self.min[i]) - p[i]).max(p[i] - f64::from(self.max[i])).max(0.0).powi(2)).sum()
    }

    /// Whether the ray from `p` meets the box. `inverse`: one over each component of its direction.
    fn is_ahead(&self, p: &Vec3, inverse: &Vec3) -> bool {
        let (mut near, mut far) = (0.0, f64::INFINITY);
        for i in 0..3 {
            let (a, b) = ((f64::from(self.min[i]) - p[i]) * inverse[i], (f64::from(self.max[i]) - p[i]) * inverse[i]);
            near = f64::max(near, a.min(b));
            far = f64::min(far, a.max(b));
        }
        near <= far
    }
}

/// A node covers the triangles `first..first + count`. Its left child stands right behind it.
#[derive(Clone, Debug)]
struct Node {
    first: u32,
    count: u32,
    /// 0 in a leaf.
    right: u32,
}

/// The trees of all bodies.
#[derive(Clone, Debug)]
pub struct Forest {
    nodes: Vec<Node>,
    /// Root of each body; none without triangles.
    roots: Vec<Option<u32>>,
}

/// Where everything is at one moment.
#[derive(Clone, Debug)]
pub struct Boxes {
    nodes: Vec<Bounds>,
    triangles: Vec<Bounds>,
}

impl Forest {
    /// The trees and the order that their leaves want the triangles in: from there on triangle `i` is what was
    /// `order[i]`. `bodies`: body of each triangle, below `n_bodies`. The vertices only decide how the trees are
    /// shaped.
    pub fn new(vertices: &[Vec3], triangles: &[[u32; 3]], bodies: &[u32], n_bodies: usize) -> (Self, Vec<u32>) {
        let centers: Vec<Vec3> = triangles.iter().map(|t| t.iter().map(|v| vertices[*v as usize]).sum()).collect();
        let mut order: Vec<u32> = (0..triangles.len() as u32).collect();
        order.sort_by_key(|t| bodies[*t as usize]);
        let mut forest = Self { nodes: vec![], roots: vec![None; n_bodies] };
        let mut first = 0;
        while first < triangles.len() {
            let body = bodies[order[first] as usize];
            let count = order[first..].partition_point(|t| bodies[*t as usize] == body);
            forest.roots[body as usize] = Some(forest.grow(&centers, first, &mut order[first..first + count]));
            first += count;
        }
        (forest, order)
    }

    /// Halves at the median of the longest axis. `part`: the triangles from the place `first` on.
    fn grow(&mut self, centers: &[Vec3], first: usize, part: &mut [u32]) -> u32 {
        let node = self.nodes.len();
        self.nodes.push(Node { first: first as u32, count: part.len() as u32, right: 0 });
        if part.len() > LEAF {
            let extent = Aabb::of(part.iter().map(|t| &centers[*t as usize])).extent();
            let axis = extent.imax();
            let half = part.len() / 2;
            let by = |a: &u32, b: &u32| centers[*a as usize][axis].total_cmp(&centers[*b as usize][axis]).then(a.cmp(b));
            part.select_nth_unstable_by(half, by);
            let (left, right) = part.split_at_mut(half);
            self.grow(centers, first, left);
            self.nodes[node].right = self.grow(centers, first + half, right);
        }
        node as u32
    }

    pub fn root(&self, body: u32) -> Option<u32> {
        self.roots[body as usize]
    }

    /// The box around all of a body.
    pub fn bounds(&self, boxes: &Boxes, body: u32) -> Option<Bounds> {
        self.root(body).map(|root| boxes.nodes[root as usize])
    }

    /// Number of triangles below a node.
    pub fn size(&self, node: u32) -> usize {
        self.nodes[node as usize].count as usize
    }

    pub fn children(&self, node: u32) -> Option<[u32; 2]> {
        let right = self.nodes[node as usize].right;
        (right != 0).then_some([node + 1, right])
    }

    /// Triangles below a node.
    fn triangles(&self, node: u32) -> Range<u32> {
        let Node { first, count, .. } = self.nodes[node as usize];
        first..first + count
    }

    /// The boxes of all nodes from those of the triangles.
    pub fn boxes(&self, triangles: Vec<Bounds>) -> Boxes {
        let mut nodes = vec![Bounds::EMPTY; self.nodes.len()];
        // Children stand behind their parents.
        for node in (0..self.nodes.len()).rev() {
            nodes[node] = match self.children(node as u32) {
                Some([left, right]) => nodes[left as usize].join(nodes[right as usize]),
                None => self.triangles(node as u32).map(|t| triangles[t as usize]).fold(Bounds::EMPTY, Bounds::join),
            };
        }
        Boxes { nodes, triangles }
    }

    /// Calls `visit` with all pairs of triangles below a leaf whose boxes meet.
    pub fn within(&self, boxes: &Boxes, leaf: u32, visit: &mut impl FnMut(u32, u32)) {
        let triangles = self.triangles(leaf);
        for s in triangles.clone() {
            let of_s = boxes.triangles[s as usize];
            (s + 1..triangles.end).filter(|t| of_s.meets(&boxes.triangles[*t as usize])).for_each(|t| visit(s, t));
        }
    }

    /// Calls `visit` with all pairs of triangles from `a` and `b`, different nodes, whose boxes meet.
    pub fn cross(&self, boxes: &Boxes, a: u32, b: u32, visit: &mut impl FnMut(u32, u32)) {
        let [box_a, box_b] = [a, b].map(|node| boxes.nodes[node as usize]);
        if !box_a.meets(&box_b) {
            return;
        }
        let (of_a, of_b) = (self.children(a), self.children(b));
        match (of_a, of_b) {
            (Some(parts), _) if of_b.is_none() || self.size(a) >= self.size(b) => {
                parts.into_iter().for_each(|part| self.cross(boxes, part, b, visit));
            }
            (_, Some(parts)) => parts.into_iter().for_each(|part| self.cross(boxes, a, part, visit)),
            _ => {
                for s in self.triangles(a) {
                    let box_s = boxes.triangles[s as usize];
                    if box_s.meets(&box_b) {
                        self.triangles(b).filter(|t| box_s.meets(&boxes.triangles[*t as usize])).for_each(|t| visit(s, t));
                    }
                }
            }
        }
    }

    /// Calls `visit` with the triangles below `node` that a ray may meet.
    pub fn along_ray(&self, boxes: &Boxes, node: u32, start: &Vec3, inverse: &Vec3, visit: &mut impl FnMut(u32)) {
        if !boxes.nodes[node as usize].is_ahead(start, inverse) {
            return;
        }
        match self.children(node) {
            Some(parts) => parts.into_iter().for_each(|part| self.along_ray(boxes, part, start, inverse, visit)),
            None => self.triangles(node).for_each(visit),
        }
    }

    /// The least of `distance_squared` over the triangles below `node`, or `best` if none is less. Stops as soon as it
    /// falls to `enough`.
    pub fn nearest(&self, boxes: &Boxes, node: u32, p: &Vec3, best: f64, enough: f64, distance_squared: &impl Fn(u32) -> f64) -> f64 {
        if best <= enough {
            return best;
        }
        match self.children(node) {
            None => self.triangles(node).map(distance_squared).fold(best, f64::min),
            Some([left, right]) => {
                let mut parts = [left, right].map(|part| (boxes.nodes[part as usize].distance_squared(p), part));
                if parts[1].0.partial_cmp(&parts[0].0) == Some(Ordering::Less) {
                    parts.swap(0, 1);
                }
                let deeper =
                    |best, (far, part)| if far < best { self.nearest(boxes, part, p, best, enough, distance_squared) } else { best };
                parts.into_iter().fold(best, deeper)
            }
        }
    }
}
