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

/// Boxes side by side, so that one box is compared with all of them at once.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
struct Block {
    lo: [[f32; LANES]; 3],
    hi: [[f32; LANES]; 3],
}

const LANES: usize = 8;

impl Block {
    const EMPTY: Self = Self { lo: [[f32::INFINITY; LANES]; 3], hi: [[f32::NEG_INFINITY; LANES]; 3] };

    fn set(&mut self, lane: usize, bounds: &Bounds) {
        for k in 0..3 {
            self.lo[k][lane] = bounds.lo[k];
            self.hi[k][lane] = bounds.hi[k];
        }
    }

    fn get(&self, lane: usize) -> Bounds {
        let mut bounds = Bounds { lo: [0.0; 4], hi: [0.0; 4] };
        for k in 0..3 {
            bounds.lo[k] = self.lo[k][lane];
            bounds.hi[k] = self.hi[k][lane];
        }
        bounds
    }

    /// One bit for each lane that overlaps `bounds`.
    #[inline]
    fn overlapping(&self, bounds: &Bounds) -> u32 {
        let mut bits = [0; LANES];
        for lane in 0..LANES {
            let mut both = true;
            for k in 0..3 {
                both &= (self.lo[k][lane] <= bounds.hi[k]) & (bounds.lo[k] <= self.hi[k][lane]);
            }
            bits[lane] = if both { 1 << lane } else { 0 };
        }
        bits.iter().fold(0, |all, bit| all | bit)
    }
}

/// A node; the left child follows it.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// One past the last node of the subtree: that of a leaf is the next one.
    end: u32,
    /// Right child, or number of the leaf.
    right_or_leaf: u32,
    /// The body of all its triangles, or [`Mesh::NONE`] where there are several.
    body: u32,
    mobile: bool,
}

/// Up to [`LANES`] triangles of a body that lie together, with the vertices and edges they stand for.
#[derive(Clone, Debug)]
struct Leaf {
    body: u32,
    triangles: Group,
    vertices: Vec<u32>,
    edges: Group,
}

/// Features with their boxes.
#[derive(Clone, Debug)]
struct Group {
    items: Vec<u32>,
    boxes: Vec<Block>,
}

impl Group {
    fn new(items: Vec<u32>) -> Self {
        let boxes = vec![Block::EMPTY; items.len().div_ceil(LANES)];
        Self { items, boxes }
    }

    fn fit(&mut self, bounds: impl Fn(u32) -> Bounds) -> Bounds {
        self.items.iter().enumerate().fold(Bounds::EMPTY, |all, (i, item)| {
            let one = bounds(*item);
            self.boxes[i / LANES].set(i % LANES, &one);
            all.union(&one)
        })
    }

    /// The items from number `from` on whose boxes overlap `bounds`.
    #[inline]
    fn overlapping(&self, bounds: &Bounds, from: usize, mut each: impl FnMut(u32)) {
        for block in from / LANES..self.boxes.len() {
            let first = block * LANES;
            let mut bits = self.boxes[block].overlapping(bounds) & (u32::MAX << from.saturating_sub(first));
            while bits != 0 {
                each(self.items[first + bits.trailing_zeros() as usize]);
                bits &= bits - 1;
            }
        }
    }
}

/// Tree of boxes over small groups of triangles. The tree stays as it was built from the rest positions (bodies first, then the triangles
/// within each body, split at the median); the boxes follow the motion.
#[derive(Clone, Debug)]
pub struct Bvh {
    nodes: Vec<Node>,
    boxes: Vec<Bounds>,
    leaves: Vec<Leaf>,
    vertex_boxes: Vec<Bounds>,
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
        let mut leaves = Vec::with_capacity(mesh.triangles.len() / LANES + bodies.len());
        let mut nodes = Vec::with_capacity(2 * leaves.capacity());
        if !bodies.is_empty() {
            split(&mut nodes, &mut bodies, 1, &mut |nodes, body| {
                let body = body[0].1;
                let mobile = mesh.mobility[body as usize] != Mobility::Immovable;
                split(nodes, &mut of_body[body as usize], LANES, &mut |nodes, items| {
                    nodes.push(Node { end: nodes.len() as u32 + 1, right_or_leaf: leaves.len() as u32, body, mobile });
                    let triangles: Vec<u32> = items.iter().map(|(_, t)| *t).collect();
                    let vertices = triangles.iter().flat_map(|t| mesh.owned_vertices(*t)).collect();
                    let edges = Group::new(triangles.iter().flat_map(|t| mesh.owned_edges(*t)).collect());
                    leaves.push(Leaf { body, triangles: Group::new(triangles), vertices, edges });
                });
            });
        }
        let boxes = vec![Bounds::EMPTY; nodes.len()];
        Self { nodes, boxes, leaves, vertex_boxes: vec![Bounds::EMPTY; mesh.body.len()], margin: 0.0 }
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

    fn fit_boxes(&mut self, mesh: &Mesh) {
        let Self { nodes, boxes, leaves, vertex_boxes, .. } = self;
        let of = |v: u32| &vertex_boxes[v as usize];
        let fit = |leaf: &mut Leaf| {
            leaf.edges.fit(|e| {
                let [a, b] = mesh.edges[e as usize];
                of(a).union(of(b))
            });
            leaf.triangles.fit(|t| {
                let [a, b, c] = mesh.triangles[t as usize];
                of(a).union(of(b)).union(of(c))
            })
        };
        let fitted: Vec<Bounds> = leaves.par_iter_mut().with_min_len(256).map(fit).collect();
        for i in (0..nodes.len()).rev() {
            let right_or_leaf = nodes[i].right_or_leaf as usize;
            boxes[i] = if nodes[i].end as usize == i + 1 { fitted[right_or_leaf] } else { boxes[i + 1].union(&boxes[right_or_leaf]) };
        }
    }

    /// All pairs of features with overlapping boxes that may meet. The same for any number of threads.
    pub fn query(&self, mesh: &Mesh) -> Candidates {
        if self.nodes.is_empty() {
            return Candidates::default();
        }
        // The upper levels of the search one by one, until there is enough to share out.
        let mut tasks = vec![(0, 0)];
        let mut parts = vec![Candidates::default()];
        while !tasks.is_empty() && tasks.len() < TASKS {
            for pair in std::mem::take(&mut tasks) {
                self.visit(mesh, pair, &mut tasks, &mut parts[0]);
            }
        }
        let search = |task: &(u32, u32)| {
            let mut found = Candidates::default();
            let mut stack = vec![*task];
            while let Some(pair) = stack.pop() {
                self.visit(mesh, pair, &mut stack, &mut found);
            }
            found
        };
        parts.par_extend(tasks.par_iter().map(search));
        let (vertex_faces, edge_edges) = rayon::join(
            || sorted(parts.iter().map(|p| &p.vertex_faces), [mesh.body.len(), mesh.triangles.len()]),
            || sorted(parts.iter().map(|p| &p.edge_edges), [mesh.edges.len(); 2]),
        );
        Candidates { vertex_faces, edge_edges }
    }

    /// One step of the search: a pair of nodes becomes pairs of their children on the stack, two leaves become pairs of features.
    #[inline]
    fn visit(&self, mesh: &Mesh, (a, b): (u32, u32), stack: &mut Vec<(u32, u32)>, found: &mut Candidates) {
        let (first, second) = (&self.nodes[a as usize], &self.nodes[b as usize]);
        if a == b {
            let meets_itself = first.body == Mesh::NONE || mesh.mobility[first.body as usize] == Mobility::Deformable;
            if !(meets_itself && first.mobile) {
                return;
            }
            if first.end == a + 1 {
                return self.meet(mesh, first.right_or_leaf, second.right_or_leaf, &self.boxes[b as usize], found);
            }
            let (left, right) = (a + 1, first.right_or_leaf);
            return stack.extend([(right, right), (left, right), (left, left)]);
        }
        // Two nodes of a rigid body do not come here: the search has stopped at the root of the body.
        if !(first.mobile || second.mobile) || !self.boxes[a as usize].overlaps(&self.boxes[b as usize]) {
            return;
        }
        match (first.end - a, second.end - b) {
            (1, 1) => {
                self.meet(mesh, first.right_or_leaf, second.right_or_leaf, &self.boxes[b as usize], found);
                self.touch(mesh, second.right_or_leaf, first.right_or_leaf, &self.boxes[a as usize], found);
            }
            (m, n) if m >= n => stack.extend([(first.right_or_leaf, b), (a + 1, b)]),
            _ => stack.extend([(a, second.right_or_leaf), (a, b + 1)]),
        }
    }

    /// Edges of leaf `a` against those of leaf `b` with the given box, vertices of `a` against triangles of `b`.
    fn meet(&self, mesh: &Mesh, a: u32, b: u32, box_b: &Bounds, found: &mut Candidates) {
        self.touch(mesh, a, b, box_b, found);
        let (first, second) = (&self.leaves[a as usize], &self.leaves[b as usize]);
        for (i, &e) in first.edges.items.iter().enumerate() {
            let bounds = first.edges.boxes[i / LANES].get(i % LANES);
            if bounds.overlaps(box_b) {
                let [p, q] = mesh.edges[e as usize];
                second.edges.overlapping(&bounds, if a == b { i + 1 } else { 0 }, |f| {
                    let [r, s] = mesh.edges[f as usize];
                    if p != r && p != s && q != r && q != s {
                        found.edge_edges.push([e.min(f), e.max(f)]);
                    }
                });
            }
        }
    }

    /// Vertices of leaf `a` against triangles of leaf `b` with the given box.
    fn touch(&self, mesh: &Mesh, a: u32, b: u32, box_b: &Bounds, found: &mut Candidates) {
        for &v in &self.leaves[a as usize].vertices {
            let bounds = &self.vertex_boxes[v as usize];
            if bounds.overlaps(box_b) {
                self.leaves[b as usize].triangles.overlapping(bounds, 0, |t| {
                    if !mesh.triangles[t as usize].contains(&v) {
                        found.vertex_faces.push([v, t]);
                    }
                });
            }
        }
    }

    /// Every box lies in that of its parent and holds what it stands for.
    #[cfg(test)]
    pub(super) fn check(&self, mesh: &Mesh) {
        for (i, node) in self.nodes.iter().enumerate() {
            let inside = |b: &Bounds| assert_eq!(self.boxes[i].union(b), self.boxes[i]);
            if node.end as usize > i + 1 {
                inside(&self.boxes[i + 1]);
                inside(&self.boxes[node.right_or_leaf as usize]);
                continue;
            }
            let leaf = &self.leaves[node.right_or_leaf as usize];
            leaf.vertices.iter().for_each(|v| inside(&self.vertex_boxes[*v as usize]));
            leaf.triangles.items.iter().flat_map(|t| &mesh.triangles[*t as usize]).for_each(|v| inside(&self.vertex_boxes[*v as usize]));
            leaf.edges.items.iter().flat_map(|e| &mesh.edges[*e as usize]).for_each(|v| inside(&self.vertex_boxes[*v as usize]));
        }
        let all: usize = self.leaves.iter().map(|l| l.triangles.items.len()).sum();
        assert_eq!(all, mesh.triangles.len());
    }
}

/// All pairs of `parts` in order; both members are below `limits`.
fn sorted<'a>(parts: impl Iterator<Item = &'a Vec<[u32; 2]>>, limits: [usize; 2]) -> Vec<[u32; 2]> {
    let mut pairs = parts.flatten().copied().collect::<Vec<_>>();
    if pairs.len() < limits[0] + limits[1] {
        pairs.sort_unstable();
        return pairs;
    }
    // By counting, first the lesser member, then stably the other.
    let mut other = vec![[0; 2]; pairs.len()];
    for member in [1, 0] {
        let mut next = vec![0; limits[member]];
        pairs.iter().for_each(|p| next[p[member] as usize] += 1);
        let mut begin = 0;
        for place in &mut next {
            begin += std::mem::replace(place, begin);
        }
        for p in &pairs {
            let place = &mut next[p[member] as usize];
            other[*place] = *p;
            *place += 1;
        }
        std::mem::swap(&mut pairs, &mut other);
    }
    pairs
}

/// Adds the subtree over `items` (center and index): halves at the median along the longest extent of the centers, `leaf` adds what
/// stands for up to `most` items.
fn split(nodes: &mut Vec<Node>, items: &mut [(Vec3, u32)], most: usize, leaf: &mut impl FnMut(&mut Vec<Node>, &[(Vec3, u32)])) {
    if items.len() <= most {
        return leaf(nodes, items);
    }
    let axis = Aabb::of(items.iter().map(|(c, _)| c)).extent().imax();
    // As many full leaves as possible.
    let half = (items.len() / 2).next_multiple_of(most);
    items.select_nth_unstable_by(half, |a, b| a.0[axis].total_cmp(&b.0[axis]).then(a.1.cmp(&b.1)));
    let (left, right) = items.split_at_mut(half);
    let here = nodes.len();
    nodes.push(Node { end: 0, right_or_leaf: 0, body: Mesh::NONE, mobile: false });
    split(nodes, left, most, leaf);
    let second = nodes.len();
    split(nodes, right, most, leaf);
    let (a, b) = (nodes[here + 1], nodes[second]);
    let body = if a.body == b.body { a.body } else { Mesh::NONE };
    nodes[here] = Node { end: nodes.len() as u32, right_or_leaf: second as u32, body, mobile: a.mobile || b.mobile };
}
