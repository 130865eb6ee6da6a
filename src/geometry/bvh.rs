//! Which features can meet within a step: a constant tree of boxes over all triangles, refitted to the trajectories of
//! their vertices.

mod elsewhere;
mod features;
mod listed;
mod search;
mod sweep;

pub use elsewhere::Leaves;

use rayon::prelude::*;

use super::candidates::{Candidates, Sorter};
use super::mesh::{Mesh, Mobility};
use super::self_pairs::SelfPairs;
use crate::math::{Aabb, Vec3};
use features::{Features, any_of};
use sweep::LANES;
pub(super) use sweep::{Bounds, Sweep};

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

/// Tree of boxes over small groups of triangles. The tree stays as it was built from the rest positions (bodies first,
/// then the triangles within each body, split at the median); the boxes follow the motion.
#[derive(Clone, Debug)]
pub struct Bvh {
    nodes: Vec<Node>,
    sweeps: Vec<Sweep>,
    vertices: Features<1>,
    edges: Features<2>,
    triangles: Features<3>,
    vertex_sweeps: Vec<Sweep>,
    /// How far an end may be from where it is predicted, beside the margin, and the most of that for each body [m].
    room: f64,
    max_room: Vec<f64>,
    fitted: Fitted,
    /// Vertices whose boxes have changed since the last search, where not all have.
    moved: Vec<bool>,
    /// Nodes with such vertices.
    has_moved: Vec<bool>,
    margin: f64,
    /// Of each body that may meet itself, its pairs with itself.
    self_pairs: Vec<SelfPairs>,
    /// Root of each body's subtree, and whether its pairs with itself are all listed in `self_pairs`.
    roots: Vec<u32>,
    is_listed: Vec<bool>,
    /// Of each body, whether it is known not to touch itself.
    is_certified: Vec<bool>,
    search: Search,
}

/// Whether the sweeps of features and nodes are around those of the vertices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fitted {
    No,
    /// But for vertices that are flagged as moved.
    Mostly,
    Yes,
}

/// Memory of a search.
#[derive(Clone, Debug, Default)]
struct Search {
    /// Pairs of nodes of two levels of the tree.
    levels: [Vec<(u32, u32)>; 2],
    /// Pairs that were found before tasks were made.
    above: Candidates,
    tasks: Vec<Task>,
    sorters: [Sorter; 2],
}

/// A part of a search: pairs of nodes to be looked at, and what they came to.
#[derive(Clone, Debug, Default)]
struct Task {
    stack: Vec<(u32, u32)>,
    found: Candidates,
}

/// Most room, in mean edge lengths of the body: a fast and finely divided body is not to have pairs with itself for
/// that.
const MAX_ROOM_IN_EDGES: f64 = 0.25;
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
        let (mut vertices, mut edges, mut triangles) = (Features::new(), Features::new(), Features::new());
        let mut nodes = Vec::new();
        let mut roots = vec![Mesh::NONE; mesh.mobility.len()];
        if !bodies.is_empty() {
            let mut leaves = 0;
            split(&mut nodes, &mut bodies, 1, &mut |nodes, body| {
                let body = body[0].1;
                let mobile = mesh.mobility[body as usize] != Mobility::Immovable;
                roots[body as usize] = nodes.len() as u32;
                split(nodes, &mut of_body[body as usize], LANES, &mut |nodes, items| {
                    nodes.push(Node { end: nodes.len() as u32 + 1, right_or_leaf: leaves, body, mobile });
                    leaves += 1;
                    let here = || items.iter().map(|(_, t)| *t);
                    vertices.add_leaf(here().flat_map(|t| mesh.owned_vertices(t)).map(|v| (v, [v])));
                    edges.add_leaf(here().flat_map(|t| mesh.owned_edges(t)).map(|e| (e, mesh.edges[e as usize])));
                    triangles.add_leaf(here().map(|t| (t, mesh.triangles[t as usize])));
                });
            });
        }
        let sweeps = vec![Sweep::EMPTY; nodes.len()];
        let mut of_body = vec![(vec![], 0.0, 0u32); mesh.mobility.len()];
        mesh.body.iter().enumerate().for_each(|(v, body)| of_body[*body as usize].0.push(v as u32));
        for &[a, b] in &mesh.edges {
            let (_, length, count) = &mut of_body[mesh.body[a as usize] as usize];
            *length += (x[b as usize] - x[a as usize]).norm();
            *count += 1;
        }
        let max_room = of_body.iter().map(|(_, length, count)| MAX_ROOM_IN_EDGES * length / f64::from((*count).max(1))).collect();
        let meets_itself = |body: usize| mesh.mobility[body] == Mobility::Deformable && roots[body] != Mesh::NONE;
        let of_body = of_body.into_iter().enumerate().filter(|(body, _)| meets_itself(*body));
        let self_pairs =
            of_body.map(|(body, (vertices, length, count))| SelfPairs::new(body as u32, vertices, length / f64::from(count))).collect();
        let (vertex_sweeps, is_listed) = (vec![Sweep::EMPTY; mesh.body.len()], vec![false; roots.len()]);
        let is_certified = is_listed.clone();
        Self {
            has_moved: vec![false; nodes.len()],
            nodes,
            sweeps,
            vertices,
            edges,
            triangles,
            vertex_sweeps,
            room: 0.0,
            max_room,
            fitted: Fitted::Yes,
            moved: vec![false; mesh.body.len()],
            margin: 0.0,
            self_pairs,
            roots,
            is_listed,
            is_certified,
            search: Search::default(),
        }
    }

    /// Sets for the first bodies whether a certificate says that they do not touch themselves: their pairs with
    /// themselves are then left out.
    pub fn set_certified(&mut self, bodies: impl IntoIterator<Item = bool>) {
        self.is_certified.iter_mut().zip(bodies).for_each(|(known, is_certified)| *known = is_certified);
    }

    /// Whether there are no pairs but those of one body with itself, which does not touch itself: then no box is
    /// needed, and none is made.
    pub fn is_idle(&self) -> bool {
        self.nodes
            .first()
            .is_none_or(|root| root.body != Mesh::NONE && (self.self_pairs.is_empty() || self.is_certified[root.body as usize]))
    }

    /// Sets the trajectories of the vertices: from `x` to an end about `x + displacements` [m]. In each coordinate the
    /// end may be off by
    /// `margin + room` [m] and the length of the displacement, of which the last two count for at most a part of a mean
    /// edge. The boxes of features and nodes are fitted when a search needs them.
    pub fn refit(&mut self, mesh: &Mesh, x: &[Vec3], displacements: &[Vec3], margin: f64, room: f64) {
        (self.margin, self.room) = (margin, room);
        if self.is_idle() {
            return;
        }
        self.update_self_pairs(mesh, x, displacements);
        let Self { vertex_sweeps, max_room, .. } = self;
        let sweep = |((sweep, (x, displacement)), body): ((&mut Sweep, (&Vec3, &Vec3)), &u32)| {
            let half = displacement.map(|d| margin + (room + d.abs()).min(max_room[*body as usize]));
            *sweep = Sweep { start: Bounds::about(x, &Vec3::zeros()), end: Bounds::about(&(x + displacement), &half) };
        };
        vertex_sweeps.par_iter_mut().zip(x.par_iter().zip(displacements)).zip(&mesh.body).with_min_len(4096).for_each(sweep);
        self.fitted = Fitted::No;
        self.moved.fill(false);
    }

    /// Whether all positions `x` [m] lie in the boxes of the ends of their vertices. As long as they do, no pair that
    /// meets on the linear motion there from the start of the last [`refit`](Self::refit) is missing from the
    /// candidates of the last [`query`](Self::query).
    pub fn holds(&self, x: &[Vec3]) -> bool {
        self.is_idle() || self.vertex_sweeps.par_iter().zip(x).with_min_len(4096).all(|(sweep, p)| sweep.end.contains(p))
    }

    /// Makes the boxes of the ends hold the positions `x` [m] too and returns how many vertices had left theirs: if
    /// any, pairs may be missing, and [`find_more`](Self::find_more) finds them [collision thesis, 6.5.3].
    pub fn cover(&mut self, mesh: &Mesh, x: &[Vec3]) -> usize {
        if self.is_idle() {
            return 0;
        }
        let mut n_left = 0;
        for (v, ((Sweep { end, .. }, p), body)) in self.vertex_sweeps.iter_mut().zip(x).zip(&mesh.body).enumerate() {
            if !end.contains(p) {
                *end = end.union(&Bounds::swept(p, p, self.margin + self.room.min(self.max_room[*body as usize])));
                self.moved[v] = true;
                n_left += 1;
            }
        }
        if n_left > 0 {
            self.is_listed.fill(false);
            self.flag_moved_nodes();
            self.fitted = if self.fitted == Fitted::No { Fitted::No } else { Fitted::Mostly };
        }
        n_left
    }

    fn fit_boxes(&mut self) {
        let Self { nodes, sweeps, vertices, edges, triangles, vertex_sweeps, fitted, moved, has_moved, .. } = self;
        let moved = match std::mem::replace(fitted, Fitted::Yes) {
            Fitted::Yes => return,
            Fitted::Mostly => Some(&moved[..]),
            Fitted::No => None,
        };
        vertices.fit(vertex_sweeps, moved);
        edges.fit(vertex_sweeps, moved);
        triangles.fit(vertex_sweeps, moved);
        for i in (0..nodes.len()).rev().filter(|i| moved.is_none() || has_moved[*i]) {
            let right_or_leaf = nodes[i].right_or_leaf;
            let is_leaf = nodes[i].end as usize == i + 1;
            sweeps[i] = if is_leaf { triangles.around(right_or_leaf) } else { sweeps[i + 1].union(&sweeps[right_or_leaf as usize]) };
        }
    }

    /// All pairs of features that may meet as long as no vertex ends outside of its box, but for some that are seen to
    /// be apart.
    /// `x` [m]: the positions at the start. The same for any number of threads.
    pub fn query(&mut self, mesh: &Mesh, x: &[Vec3]) -> Candidates {
        let mut candidates = Candidates::default();
        self.find(mesh, x, &mut candidates);
        candidates
    }

    /// As [`query`](Self::query), into `candidates`.
    pub fn find(&mut self, mesh: &Mesh, x: &[Vec3], candidates: &mut Candidates) {
        candidates.clear();
        self.search(mesh, x, false, candidates);
    }

    /// Adds to `candidates`, those of the last search, the pairs that a search finds now that vertices have left their
    /// boxes.
    pub fn find_more(&mut self, mesh: &Mesh, x: &[Vec3], candidates: &mut Candidates) {
        self.search(mesh, x, true, candidates);
    }

    /// Finds the nodes with vertices that are flagged as moved.
    fn flag_moved_nodes(&mut self) {
        let Self { nodes, triangles, moved, has_moved, .. } = self;
        has_moved.clear();
        has_moved.resize(nodes.len(), false);
        for i in (0..nodes.len()).rev() {
            let right_or_leaf = nodes[i].right_or_leaf as usize;
            has_moved[i] = if nodes[i].end as usize == i + 1 {
                let lanes = LANES * triangles.starts[right_or_leaf]..LANES * triangles.starts[right_or_leaf + 1];
                any_of(triangles.corners[lanes].iter().flatten(), moved)
            } else {
                has_moved[i + 1] || has_moved[right_or_leaf]
            };
        }
    }

    /// Every box lies in that of its parent and holds what it stands for.
    #[cfg(test)]
    pub(super) fn check(&mut self, mesh: &Mesh) {
        self.fit_boxes();
        for (i, node) in self.nodes.iter().enumerate() {
            let inside = |b: &Sweep| assert_eq!(self.sweeps[i].union(b), self.sweeps[i]);
            if node.end as usize > i + 1 {
                inside(&self.sweeps[i + 1]);
                inside(&self.sweeps[node.right_or_leaf as usize]);
                continue;
            }
            let leaf = node.right_or_leaf;
            [self.vertices.around(leaf), self.edges.around(leaf), self.triangles.around(leaf)].iter().for_each(inside);
        }
        for (t, corners) in self.triangles.items.iter().zip(&self.triangles.corners).filter(|(t, _)| **t != Mesh::NONE) {
            assert_eq!(mesh.triangles[*t as usize], *corners);
        }
        let filled = |items: &[u32]| items.iter().filter(|i| **i != Mesh::NONE).count();
        assert_eq!(filled(&self.triangles.items), mesh.triangles.len());
        assert_eq!(filled(&self.edges.items), mesh.edges.len());
    }
}

/// Adds the subtree over `items` (center and index): halves at the median along the longest extent of the centers,
/// `leaf` adds what stands for up to `most` items.
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
