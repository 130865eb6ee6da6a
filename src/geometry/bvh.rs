//! Which features can meet within a step: a constant tree of boxes over all triangles, refitted to the trajectories of
//! their vertices.

mod elsewhere;
mod features;
mod frontier;
mod leaf_pairs;
mod search;
mod sweep;

pub use elsewhere::Leaves;

use std::ops::Range;

use pulp::Arch;
use rayon::prelude::*;

use super::candidates::{Candidates, Sorter};
use super::hosts::{Hosts, NodeMotions};
use super::mesh::{Mesh, Mobility};
use super::neighbours::halve;
use crate::cancel::{CancelToken, Cancelled};
use crate::math::{Aabb, Vec3};
use features::{Features, any_of};
use leaf_pairs::{LeafFeatures, LeafPairs};
use sweep::{AreContained, FitSweeps};
pub(super) use sweep::{Bounds, Sweep};
use sweep::{LANES, MAX_MARGIN_IN_ROOMS};

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
    /// Those of the leaves.
    leaf_sweeps: Vec<Sweep>,
    vertices: Features<1>,
    edges: Features<2>,
    triangles: Features<3>,
    vertex_sweeps: Vec<Sweep>,
    /// How far an end may be from where it is predicted, beside the margin, and the most of that for each body [m].
    room: f64,
    max_room: Vec<f64>,
    /// Whether the boxes of the features of each leaf are around those of their vertices.
    is_leaf_fitted: Vec<bool>,
    /// Whether the sweeps of nodes are around those of the vertices.
    fitted: Fitted,
    /// Vertices whose boxes have changed since the last search, where not all have.
    moved: Vec<bool>,
    /// Nodes with such vertices.
    has_moved: Vec<bool>,
    margin: f64,
    /// Near pairs of leaves of one body.
    leaf_pairs: LeafPairs,
    /// Of each body that may meet itself the pairs of nodes below which all pairs of its leaves are that are not near.
    frontier: Vec<Vec<(u32, u32)>>,
    /// First vertex of each leaf in the list of those of all leaves, and the end.
    leaf_starts: Vec<u32>,
    leaf_vertices: Vec<u32>,
    /// Leaf of each vertex, edge and triangle; [`Mesh::NONE`] of a vertex without triangles.
    leaf_of: [Vec<u32>; 3],
    /// Node of each leaf, and root of each body or [`Mesh::NONE`].
    leaf_nodes: Vec<u32>,
    roots: Vec<u32>,
    /// Whether any body may meet itself.
    any_meets_itself: bool,
    /// Of each body, whether it is known not to touch itself.
    is_certified: Vec<bool>,
    search: Search,
    limit: SearchLimit,
    is_complete: bool,
}

/// When a search is ended before its end.
#[derive(Clone, Debug)]
pub struct SearchLimit {
    /// Pairs that a search finds, at most.
    pub candidates: usize,
    /// Asked now and then.
    pub cancel: CancelToken,
}

impl Default for SearchLimit {
    fn default() -> Self {
        Self { candidates: usize::MAX, cancel: CancelToken::default() }
    }
}

/// Which of what follows from the sweeps of the vertices does follow from the present ones.
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
    /// Pairs of leaves that were found before tasks were made, and all.
    above: Vec<(u32, u32)>,
    /// Parts of the frontiers of bodies.
    parts: Vec<(usize, usize)>,
    leaves: Vec<(u32, u32)>,
    /// Pairs of leaves with lists of near features.
    listed: Vec<u32>,
    /// Leaves of which boxes of features are needed.
    is_used: Vec<bool>,
    tasks: Vec<Task>,
    sorters: [Sorter; 2],
}

/// A part of a search: pairs of nodes to be looked at, the pairs of leaves that they came to, and the pairs of features
/// of such leaves.
#[derive(Clone, Debug, Default)]
struct Task {
    stack: Vec<(u32, u32)>,
    leaves: Vec<(u32, u32)>,
    found: Candidates,
}

/// Vertices that one thread takes at a time.
const VERTICES: usize = 2048;

/// Most room, in mean edge lengths of the body: a fast and finely divided body is not to have pairs with itself for
/// that.
const MAX_ROOM_IN_EDGES: f64 = 0.05;

impl Bvh {
    /// The tree over rest positions `x` [m] of all vertices. Boxes are empty until the first [`refit`](Self::refit).
    pub fn new(mesh: &Mesh, x: &[Vec3]) -> Self {
        Self::carried(mesh, x, &Hosts::default())
    }

    /// The same where tets carry the vertices: neighbours in a body that is hardly deformed are passed over then, once
    /// it is told how nodes move ([`follow_nodes`](Self::follow_nodes)).
    pub fn carried(mesh: &Mesh, x: &[Vec3], hosts: &Hosts) -> Self {
        Self::carried_unless(mesh, x, hosts, &CancelToken::default()).expect("nobody cancels it")
    }

    /// The same, which ends soon after `cancel` is cancelled.
    pub fn carried_unless(mesh: &Mesh, x: &[Vec3], hosts: &Hosts, cancel: &CancelToken) -> Result<Self, Cancelled> {
        let mut lengths = vec![(0.0, 0u32); mesh.mobility.len()];
        for &[a, b] in &mesh.edges {
            let (length, count) = &mut lengths[mesh.body[a as usize] as usize];
            *length += (x[b as usize] - x[a as usize]).norm();
            *count += 1;
        }
        let mean_edges: Vec<f64> = lengths.iter().map(|(length, count)| length / f64::from((*count).max(1))).collect();
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
        let leaf_nodes = (0u32..).zip(&nodes).filter(|(i, node)| node.end == i + 1).map(|(i, _)| i).collect();
        let (leaf_starts, leaf_vertices) = vertices_of_leaves(&triangles);
        let leaf_of =
            [vertices.leaf_of_items(mesh.body.len()), edges.leaf_of_items(mesh.edges.len()), triangles.leaf_of_items(mesh.triangles.len())];
        let mut tree = Self {
            leaf_nodes,
            leaf_starts,
            leaf_vertices,
            leaf_of,
            roots,
            frontier: vec![],
            any_meets_itself: mesh.mobility.contains(&Mobility::Deformable),
            has_moved: vec![false; nodes.len()],
            sweeps: vec![Sweep::EMPTY; nodes.len()],
            nodes,
            leaf_sweeps: vec![Sweep::EMPTY; triangles.n_leaves()],
            is_leaf_fitted: vec![false; triangles.n_leaves()],
            vertices,
            edges,
            triangles,
            vertex_sweeps: vec![Sweep::EMPTY; mesh.body.len()],
            room: 0.0,
            max_room: mean_edges.iter().map(|length| MAX_ROOM_IN_EDGES * length).collect(),
            fitted: Fitted::Yes,
            moved: vec![false; mesh.body.len()],
            margin: 0.0,
            leaf_pairs: LeafPairs::default(),
            is_certified: vec![false; mesh.mobility.len()],
            search: Search::default(),
            limit: SearchLimit::default(),
            is_complete: true,
        };
        cancel.reached(0.1);
        cancel.check()?;
        let meets_itself = |body: &usize| mesh.mobility[*body] == Mobility::Deformable && tree.roots[*body] != Mesh::NONE;
        let near = |body: usize| tree.near_leaves(body, x, LeafPairs::near(mean_edges[body]));
        if !hosts.tets.is_empty() {
            let pairs = (0..mean_edges.len()).filter(meets_itself).flat_map(near).collect();
            let Self { vertices, edges, triangles, .. } = &tree;
            let features = LeafFeatures { mesh, vertices, edges, triangles, hosts };
            tree.leaf_pairs = LeafPairs::new_unless(&features, x, pairs, &mean_edges, &cancel.part(0.1, 0.95))?;
            // Bodies that bend have more pairs of leaves to compare.
            tree.search.leaves.reserve(tree.leaf_pairs.n_pairs());
            tree.search.above.reserve(tree.leaf_pairs.n_pairs());
        }
        let of_body = |body: usize| if mesh.mobility[body] == Mobility::Deformable { tree.frontier_of(body) } else { vec![] };
        tree.frontier = (0..mean_edges.len()).map(of_body).collect();
        Ok(tree)
    }

    /// The vertices of a leaf.
    fn vertices_of_leaf(&self, leaf: u32) -> &[u32] {
        &self.leaf_vertices[self.leaf_starts[leaf as usize] as usize..self.leaf_starts[leaf as usize + 1] as usize]
    }

    /// Says how the nodes of the tets move in the step of the last [`refit`](Self::refit), as expected: what is too
    /// little deformed to meet is passed over.
    pub fn follow_nodes(&mut self, nodes: &NodeMotions) {
        if !self.is_idle() {
            self.leaf_pairs.follow(nodes, &self.is_certified);
        }
    }

    /// Says how they really move. Returns how many vertices are in leaves that are more deformed than expected: if any,
    /// pairs may be missing, and [`find_more`](Self::find_more) finds them.
    pub fn cover_nodes(&mut self, nodes: &NodeMotions) -> usize {
        if self.is_idle() {
            return 0;
        }
        let Self { leaf_pairs, moved, leaf_starts, leaf_vertices, is_certified, .. } = self;
        let mut n_reopened = 0;
        leaf_pairs.follow_ends(nodes, is_certified, |leaf| {
            for v in &leaf_vertices[leaf_starts[leaf as usize] as usize..leaf_starts[leaf as usize + 1] as usize] {
                n_reopened += usize::from(!std::mem::replace(&mut moved[*v as usize], true));
            }
        });
        if n_reopened > 0 {
            self.flag_moved_nodes();
        }
        n_reopened
    }

    /// Sets for the first bodies whether a certificate says that they do not touch themselves: their pairs with
    /// themselves are then left out.
    pub fn set_certified(&mut self, bodies: impl IntoIterator<Item = bool>) {
        self.is_certified.iter_mut().zip(bodies).for_each(|(known, is_certified)| *known = is_certified);
    }

    /// Mean length of the edges of a body in the rest positions [m].
    pub fn mean_edge(&self, body: usize) -> f64 {
        self.max_room[body] / MAX_ROOM_IN_EDGES
    }

    /// Whether there are no pairs but those of one body with itself, which does not touch itself: then no box is
    /// needed, and none is made.
    pub fn is_idle(&self) -> bool {
        self.nodes.first().is_none_or(|root| root.body != Mesh::NONE && (!self.any_meets_itself || self.is_certified[root.body as usize]))
    }

    /// Sets the trajectories of the vertices: from `x` to an end about `x + displacements` [m]. In each coordinate the
    /// end may be off by
    /// `margin + room` [m] and the length of the displacement, which count for at most a part of a mean edge: the margin
    /// for one, the other two for another. The boxes of features and nodes are fitted when a search needs them.
    pub fn refit(&mut self, mesh: &Mesh, x: &[Vec3], displacements: &[Vec3], margin: f64, room: f64) {
        (self.margin, self.room, self.is_complete) = (margin, room, true);
        if self.is_idle() {
            return;
        }
        let Self { vertex_sweeps, max_room, .. } = self;
        let parts = (vertex_sweeps.par_chunks_mut(VERTICES), mesh.body.par_chunks(VERTICES));
        let motions = (x.par_chunks(VERTICES), displacements.par_chunks(VERTICES));
        (parts, motions).into_par_iter().for_each(|((sweeps, bodies), (x, displacements))| {
            Arch::new().dispatch(FitSweeps { sweeps, bodies, x, displacements, margin, room, max_room });
        });
        self.fitted = Fitted::No;
        self.moved.fill(false);
        self.leaf_pairs.forget();
    }

    /// Bounds the searches from now on.
    pub fn limit_search(&mut self, limit: SearchLimit) {
        self.limit = limit;
    }

    /// False if a search since the last [`refit`](Self::refit) was ended before its end: its pairs are missing.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Pairs that a search has found which came to `n`: as many as it may find, at least, if it was ended before its
    /// end.
    pub fn n_found(&self, n: usize) -> usize {
        if self.is_complete { n } else { n.max(self.limit.candidates) }
    }

    /// Whether all positions `x` [m] lie in the boxes of the ends of their vertices. As long as they do, no pair that
    /// meets on the linear motion there from the start of the last [`refit`](Self::refit) is missing from the
    /// candidates of the last [`query`](Self::query).
    pub fn holds(&self, x: &[Vec3]) -> bool {
        self.is_idle() || self.vertex_sweeps.par_iter().zip(x).with_min_len(4096).all(|(sweep, p)| sweep.end.contains(p))
    }

    /// How many of these vertices are outside the boxes of their ends at the positions `x` [m] of all.
    pub fn n_outside(&self, vertices: Range<usize>, x: &[Vec3]) -> usize {
        if self.is_idle() {
            return 0;
        }
        vertices.filter(|vertex| !self.vertex_sweeps[*vertex].end.contains(&x[*vertex])).count()
    }

    /// Takes the boxes of the ends that do not hold the positions `x` [m] there, and returns how many those are: if
    /// any, pairs may be missing, and [`find_more`](Self::find_more) finds them [collision thesis, 6.5.3]. The old
    /// places are given up: boxes around both would meet whatever lies between.
    pub fn cover(&mut self, mesh: &Mesh, x: &[Vec3]) -> usize {
        if self.is_idle() {
            return 0;
        }
        let Self { vertex_sweeps, max_room, moved, margin, room, .. } = self;
        let parts = (vertex_sweeps.par_chunks_mut(VERTICES), moved.par_chunks_mut(VERTICES), mesh.body.par_chunks(VERTICES));
        #[allow(clippy::type_complexity)] // slices side by side
        let of_part = |((sweeps, moved, bodies), x): ((&mut [Sweep], &mut [bool], &[u32]), &[Vec3])| {
            if Arch::new().dispatch(AreContained { sweeps, x }) {
                return 0;
            }
            let mut n_left = 0;
            for (((Sweep { end, .. }, p), body), moved) in sweeps.iter_mut().zip(x).zip(bodies).zip(moved) {
                if !end.contains(p) {
                    let most = max_room[*body as usize];
                    *end = Bounds::swept(p, p, margin.min(MAX_MARGIN_IN_ROOMS * most) + room.min(most));
                    *moved = true;
                    n_left += 1;
                }
            }
            n_left
        };
        let n_left = (parts, x.par_chunks(VERTICES)).into_par_iter().map(of_part).sum();
        if n_left > 0 {
            self.flag_moved_nodes();
            if self.fitted == Fitted::Yes {
                self.fitted = Fitted::Mostly;
            }
        }
        n_left
    }

    /// Fits the sweeps of the nodes to those of the vertices.
    fn fit_nodes(&mut self) {
        let Self {
            nodes,
            sweeps,
            leaf_sweeps,
            leaf_nodes,
            leaf_starts,
            leaf_vertices,
            vertex_sweeps,
            fitted,
            has_moved,
            is_leaf_fitted,
            ..
        } = self;
        let all = match std::mem::replace(fitted, Fitted::Yes) {
            Fitted::Yes => return,
            Fitted::Mostly => false,
            Fitted::No => true,
        };
        let fit = |(leaf, (sweep, is_fitted)): (usize, (&mut Sweep, &mut bool))| {
            if all || has_moved[leaf_nodes[leaf] as usize] {
                let vertices = &leaf_vertices[leaf_starts[leaf] as usize..leaf_starts[leaf + 1] as usize];
                *sweep = vertices.iter().fold(Sweep::EMPTY, |all, v| all.union(&vertex_sweeps[*v as usize]));
                *is_fitted = false;
            }
        };
        leaf_sweeps.par_iter_mut().zip(is_leaf_fitted).enumerate().with_min_len(256).for_each(fit);
        for i in (0..nodes.len()).rev().filter(|i| all || has_moved[*i]) {
            let right_or_leaf = nodes[i].right_or_leaf as usize;
            let is_leaf = nodes[i].end as usize == i + 1;
            sweeps[i] = if is_leaf { leaf_sweeps[right_or_leaf] } else { sweeps[i + 1].union(&sweeps[right_or_leaf]) };
        }
    }

    /// Fits the boxes of the features of some leaves.
    fn fit_leaves(&mut self, is_used: &[bool]) {
        let Self { vertices, edges, triangles, vertex_sweeps, is_leaf_fitted, .. } = self;
        let is_due = |leaf: u32| is_used[leaf as usize] && !is_leaf_fitted[leaf as usize];
        vertices.fit(vertex_sweeps, is_due);
        edges.fit(vertex_sweeps, is_due);
        triangles.fit(vertex_sweeps, is_due);
        is_leaf_fitted.iter_mut().zip(is_used).for_each(|(fitted, used)| *fitted |= used);
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
        let Self { nodes, leaf_starts, leaf_vertices, moved, has_moved, .. } = self;
        has_moved.clear();
        has_moved.resize(nodes.len(), false);
        for i in (0..nodes.len()).rev() {
            let right_or_leaf = nodes[i].right_or_leaf as usize;
            has_moved[i] = if nodes[i].end as usize == i + 1 {
                any_of(&leaf_vertices[leaf_starts[right_or_leaf] as usize..leaf_starts[right_or_leaf + 1] as usize], moved)
            } else {
                has_moved[i + 1] || has_moved[right_or_leaf]
            };
        }
    }

    /// Every box lies in that of its parent and holds what it stands for.
    #[cfg(test)]
    pub(super) fn check(&mut self, mesh: &Mesh) {
        self.fit_nodes();
        self.fit_leaves(&vec![true; self.is_leaf_fitted.len()]);
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

/// All vertices of the triangles of each leaf, each once a leaf: the first place of each leaf in the list and the end,
/// and the list.
fn vertices_of_leaves(triangles: &Features<3>) -> (Vec<u32>, Vec<u32>) {
    let (mut starts, mut all) = (vec![0], vec![]);
    for leaf in 0..triangles.n_leaves() as u32 {
        let mut own: Vec<u32> = triangles.of_leaf(leaf).flat_map(|(_, corners)| corners).collect();
        own.sort_unstable();
        own.dedup();
        all.append(&mut own);
        starts.push(all.len() as u32);
    }
    (starts, all)
}

/// Adds the subtree over `items` (center and index): halves at the median along the longest extent of the centers,
/// `leaf` adds what stands for up to `most` items.
fn split(nodes: &mut Vec<Node>, items: &mut [(Vec3, u32)], most: usize, leaf: &mut impl FnMut(&mut Vec<Node>, &[(Vec3, u32)])) {
    if items.len() <= most {
        return leaf(nodes, items);
    }
    let half = halve(items, most);
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
