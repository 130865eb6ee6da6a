//! Which features can meet within a step: a constant tree of boxes over all triangles, refitted to the way ahead of them.

use rayon::prelude::*;

use super::mesh::{Mesh, Mobility};
use crate::math::{Aabb, Vec3};

/// A box in single precision, rounded outwards. Four lanes, so that one comparison is one vector instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(16))]
pub(super) struct Bounds {
    lo: [f32; 4],
    hi: [f32; 4],
}

impl Bounds {
    const EMPTY: Self = Self { lo: [f32::INFINITY; 4], hi: [f32::NEG_INFINITY; 4] };

    /// The box of the way from `a` to `b`, inflated by `margin` [m].
    #[inline]
    pub(super) fn swept(a: &Vec3, b: &Vec3, margin: f64) -> Self {
        let mut bounds = Self { lo: [0.0; 4], hi: [0.0; 4] };
        for k in 0..3 {
            let (lo, hi) = if a[k] < b[k] { (a[k], b[k]) } else { (b[k], a[k]) };
            bounds.lo[k] = below(lo - margin);
            bounds.hi[k] = above(hi + margin);
        }
        bounds
    }

    #[inline]
    pub(super) fn union(&self, other: &Self) -> Self {
        let mut sum = *self;
        for k in 0..4 {
            sum.lo[k] = if other.lo[k] < self.lo[k] { other.lo[k] } else { self.lo[k] };
            sum.hi[k] = if other.hi[k] > self.hi[k] { other.hi[k] } else { self.hi[k] };
        }
        sum
    }

    #[inline]
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let mut both = true;
        for k in 0..4 {
            both &= (self.lo[k] <= other.hi[k]) & (other.lo[k] <= self.hi[k]);
        }
        both
    }

    fn contains(&self, p: &Vec3) -> bool {
        (0..3).all(|k| f64::from(self.lo[k]) <= p[k] && p[k] <= f64::from(self.hi[k]))
    }
}

/// The largest single below (or at) a double, and the smallest above.
fn below(a: f64) -> f32 {
    let near = a as f32;
    if f64::from(near) > a { near.next_down() } else { near }
}

fn above(a: f64) -> f32 {
    let near = a as f32;
    if f64::from(near) < a { near.next_up() } else { near }
}

/// Pairs of features whose boxes overlap, each pair once, sorted. No pair shares a vertex.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// Vertex and triangle.
    pub vertex_faces: Vec<[u32; 2]>,
    /// Two edges, the smaller first.
    pub edge_edges: Vec<[u32; 2]>,
}

impl Candidates {
    pub fn len(&self) -> usize {
        self.vertex_faces.len() + self.edge_edges.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A node; the left child follows it.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// One past the last node of the subtree: a leaf ends at the next node.
    end: u32,
    /// Right child, or the triangle of a leaf.
    right_or_triangle: u32,
    /// The body of all its triangles, or [`Mesh::NONE`] where there are several.
    body: u32,
    mobile: bool,
}

/// Tree of boxes, one triangle to a leaf. The tree stays as it was built from the rest positions (bodies first, then the triangles
/// within each body, split at the median); the boxes follow the motion.
#[derive(Clone, Debug)]
pub struct Bvh {
    nodes: Vec<Node>,
    boxes: Vec<Bounds>,
    vertex_boxes: Vec<Bounds>,
    edge_boxes: Vec<Bounds>,
    margin: f64,
}

/// Enough independent parts of a search to keep all threads busy.
const TASKS: usize = 128;

impl Bvh {
    /// The tree over rest positions `x` [m] of all vertices. Boxes are empty until the first [`refit`](Self::refit).
    pub fn new(mesh: &Mesh, x: &[Vec3]) -> Self {
        let center = |t: u32| {
            let [a, b, c] = mesh.triangles[t as usize].map(|v| x[v as usize]);
            (a + b + c) / 3.0
        };
        let mut of_body: Vec<Vec<(Vec3, u32)>> = vec![Vec::new(); mesh.mobility.len()];
        for t in 0..mesh.triangles.len() as u32 {
            of_body[mesh.body_of_triangle(t) as usize].push((center(t), t));
        }
        let mut bodies: Vec<(Vec3, u32)> = Vec::new();
        for (body, triangles) in of_body.iter().enumerate().filter(|(_, t)| !t.is_empty()) {
            bodies.push((Aabb::of(triangles.iter().map(|(c, _)| c)).center(), body as u32));
        }
        let mut nodes = Vec::with_capacity(2 * mesh.triangles.len());
        if !bodies.is_empty() {
            split(&mut nodes, &mut bodies, &mut |nodes, body| {
                split(nodes, &mut of_body[body as usize], &mut |nodes, triangle| {
                    let mobile = mesh.mobility[body as usize] != Mobility::Immovable;
                    nodes.push(Node { end: nodes.len() as u32 + 1, right_or_triangle: triangle, body, mobile });
                });
            });
        }
        let boxes = vec![Bounds::EMPTY; nodes.len()];
        let vertex_boxes = vec![Bounds::EMPTY; mesh.body.len()];
        let edge_boxes = vec![Bounds::EMPTY; mesh.edges.len()];
        Self { nodes, boxes, vertex_boxes, edge_boxes, margin: 0.0 }
    }

    /// Boxes of the ways from `x` to `x + reach` [m], inflated by `margin` [m].
    pub fn refit(&mut self, mesh: &Mesh, x: &[Vec3], reach: &[Vec3], margin: f64) {
        self.margin = margin;
        let way = |(b, (x, reach)): (&mut Bounds, (&Vec3, &Vec3))| *b = Bounds::swept(x, &(x + reach), margin);
        self.vertex_boxes.par_iter_mut().zip(x.par_iter().zip(reach)).with_min_len(4096).for_each(way);
        self.fit_boxes(mesh);
    }

    /// Makes the boxes hold the positions `x` [m] too and returns how many vertices had left theirs. As long as none has, no pair is
    /// missing from the candidates of the last [`query`](Self::query); otherwise a new one finds them [collision thesis, 6.5.3].
    pub fn cover(&mut self, mesh: &Mesh, x: &[Vec3]) -> usize {
        let mut left = 0;
        for (bounds, p) in self.vertex_boxes.iter_mut().zip(x) {
            if !bounds.contains(p) {
                *bounds = bounds.union(&Bounds::swept(p, p, self.margin));
                left += 1;
            }
        }
        if left > 0 {
            self.fit_boxes(mesh);
        }
        left
    }

    /// Every box lies in that of its parent and holds what it stands for.
    #[cfg(test)]
    pub(super) fn check(&self, mesh: &Mesh) {
        for (i, node) in self.nodes.iter().enumerate() {
            let inside = |b: &Bounds| assert_eq!(self.boxes[i].union(b), self.boxes[i]);
            if node.end as usize == i + 1 {
                mesh.triangles[node.right_or_triangle as usize].iter().for_each(|v| inside(&self.vertex_boxes[*v as usize]));
                mesh.owned_edges(node.right_or_triangle).for_each(|e| inside(&self.edge_boxes[e as usize]));
            } else {
                inside(&self.boxes[i + 1]);
                inside(&self.boxes[node.right_or_triangle as usize]);
            }
        }
    }

    fn fit_boxes(&mut self, mesh: &Mesh) {
        let Self { nodes, boxes, vertex_boxes, edge_boxes, .. } = self;
        let of_edge = |(b, e): (&mut Bounds, &[u32; 2])| *b = vertex_boxes[e[0] as usize].union(&vertex_boxes[e[1] as usize]);
        edge_boxes.par_iter_mut().zip(&mesh.edges).with_min_len(4096).for_each(of_edge);
        for i in (0..nodes.len()).rev() {
            let node = &nodes[i];
            boxes[i] = if node.end as usize == i + 1 {
                let [a, b, c] = mesh.triangles[node.right_or_triangle as usize].map(|v| &vertex_boxes[v as usize]);
                a.union(b).union(c)
            } else {
                boxes[i + 1].union(&boxes[node.right_or_triangle as usize])
            };
        }
    }

    /// All pairs of features with overlapping boxes that may meet. The same for any number of threads.
    pub fn query(&self, mesh: &Mesh) -> Candidates {
        if self.nodes.is_empty() {
            return Candidates::default();
        }
        let mut tasks = vec![(0, 0)];
        let mut found = Found::default();
        // The upper levels of the search one by one, until there is enough to share out.
        while !tasks.is_empty() && tasks.len() < TASKS {
            for pair in std::mem::take(&mut tasks) {
                self.visit(mesh, pair, &mut tasks, &mut found);
            }
        }
        let search = |task: &(u32, u32)| {
            let mut found = Found::default();
            let mut stack = vec![*task];
            while let Some(pair) = stack.pop() {
                self.visit(mesh, pair, &mut stack, &mut found);
            }
            found
        };
        let parts: Vec<Found> = tasks.par_iter().map(search).collect();
        let gather = |mut keys: Vec<u64>, part: fn(&Found) -> &Vec<u64>| {
            parts.iter().for_each(|p| keys.extend(part(p)));
            keys.par_sort_unstable();
            keys.iter().map(|k| [(k >> 32) as u32, *k as u32]).collect()
        };
        let Found { vertex_faces, edge_edges } = found;
        let (vertex_faces, edge_edges) =
            rayon::join(|| gather(vertex_faces, |f| &f.vertex_faces), || gather(edge_edges, |f| &f.edge_edges));
        Candidates { vertex_faces, edge_edges }
    }

    /// One step of the search: a pair of nodes becomes pairs of their children on the stack, two leaves become pairs of features.
    #[inline]
    fn visit(&self, mesh: &Mesh, (a, b): (u32, u32), stack: &mut Vec<(u32, u32)>, found: &mut Found) {
        let (first, second) = (&self.nodes[a as usize], &self.nodes[b as usize]);
        if a == b {
            let rigid = first.body != Mesh::NONE && mesh.mobility[first.body as usize] != Mobility::Deformable;
            if first.end > a + 1 && first.mobile && !rigid {
                let (left, right) = (a + 1, first.right_or_triangle);
                stack.extend([(right, right), (left, right), (left, left)]);
            }
            return;
        }
        // Nodes of a rigid body only come together inside that body, where the search has stopped already.
        if !(first.mobile || second.mobile) || !self.boxes[a as usize].overlaps(&self.boxes[b as usize]) {
            return;
        }
        match (first.end - a, second.end - b) {
            (1, 1) => self.meet((a, first.right_or_triangle), (b, second.right_or_triangle), mesh, found),
            (m, n) if m >= n => stack.extend([(first.right_or_triangle, b), (a + 1, b)]),
            _ => stack.extend([(a, second.right_or_triangle), (a, b + 1)]),
        }
    }

    /// The pairs of features that two triangles, given with their leaves, stand for.
    #[inline]
    fn meet(&self, (leaf_a, a): (u32, u32), (leaf_b, b): (u32, u32), mesh: &Mesh, found: &mut Found) {
        let (box_a, box_b) = (&self.boxes[leaf_a as usize], &self.boxes[leaf_b as usize]);
        for (owner, face, bounds) in [(a, b, box_b), (b, a, box_a)] {
            for v in mesh.owned_vertices(owner) {
                if self.vertex_boxes[v as usize].overlaps(bounds) && !mesh.triangles[face as usize].contains(&v) {
                    found.vertex_faces.push(key(v, face));
                }
            }
        }
        for e in mesh.owned_edges(a) {
            let bounds = &self.edge_boxes[e as usize];
            if !bounds.overlaps(box_b) {
                continue;
            }
            let ends = &mesh.edges[e as usize];
            for f in mesh.owned_edges(b) {
                if bounds.overlaps(&self.edge_boxes[f as usize]) && !mesh.edges[f as usize].iter().any(|v| ends.contains(v)) {
                    found.edge_edges.push(key(e.min(f), e.max(f)));
                }
            }
        }
    }
}

/// Pairs as sortable keys, in the order they were found.
#[derive(Default)]
struct Found {
    vertex_faces: Vec<u64>,
    edge_edges: Vec<u64>,
}

fn key(first: u32, second: u32) -> u64 {
    u64::from(first) << 32 | u64::from(second)
}

/// Adds the subtree over `items` (center and index): halves at the median along the longest extent of the centers, `leaf` adds what
/// stands for a single item.
fn split(nodes: &mut Vec<Node>, items: &mut [(Vec3, u32)], leaf: &mut impl FnMut(&mut Vec<Node>, u32)) {
    if let [(_, item)] = items {
        return leaf(nodes, *item);
    }
    let axis = Aabb::of(items.iter().map(|(c, _)| c)).extent().imax();
    let half = items.len() / 2;
    items.select_nth_unstable_by(half, |a, b| a.0[axis].total_cmp(&b.0[axis]).then(a.1.cmp(&b.1)));
    let (left, right) = items.split_at_mut(half);
    let here = nodes.len();
    nodes.push(Node { end: 0, right_or_triangle: 0, body: Mesh::NONE, mobile: false });
    split(nodes, left, leaf);
    let second = nodes.len();
    split(nodes, right, leaf);
    let (a, b) = (nodes[here + 1], nodes[second]);
    let body = if a.body == b.body { a.body } else { Mesh::NONE };
    nodes[here] = Node { end: nodes.len() as u32, right_or_triangle: second as u32, body, mobile: a.mobile || b.mobile };
}
