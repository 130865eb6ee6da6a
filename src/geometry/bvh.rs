//! Which features can meet within a step: a constant tree of boxes over all triangles, refitted to the way ahead of them.

mod elsewhere;
mod sweep;

pub use elsewhere::Leaves;

use rayon::prelude::*;

use super::candidates::{Candidates, Sorter};
use super::closest::{between_edges, between_vertex_and_face};
use super::mesh::{Mesh, Mobility};
use super::own::OwnPairs;
use crate::math::{Aabb, Vec3};
use sweep::{Block, LANES};
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

/// Vertices, edges or triangles (of `N` corners) leaf by leaf, those of a leaf in blocks of their own.
#[derive(Clone, Debug)]
struct Features<const N: usize> {
    /// First block of each leaf, and the end.
    starts: Vec<usize>,
    boxes: Vec<Block>,
    /// The features of all lanes, [`Mesh::NONE`] for empty ones, and their vertices.
    items: Vec<u32>,
    corners: Vec<[u32; N]>,
}

impl<const N: usize> Features<N> {
    fn new() -> Self {
        Self { starts: vec![0], boxes: Vec::new(), items: Vec::new(), corners: Vec::new() }
    }

    fn add_leaf(&mut self, features: impl Iterator<Item = (u32, [u32; N])>) {
        for (item, corners) in features {
            self.items.push(item);
            self.corners.push(corners);
        }
        let lanes = self.items.len().next_multiple_of(LANES);
        self.items.resize(lanes, Mesh::NONE);
        self.corners.resize(lanes, [Mesh::NONE; N]);
        self.boxes.resize(lanes / LANES, Block::EMPTY);
        self.starts.push(self.boxes.len());
    }

    /// Only blocks with a vertex that is flagged in `moved`, if there are flags.
    fn fit(&mut self, vertex_sweeps: &[Sweep], moved: Option<&[bool]>) {
        let fit = |(block, corners): (&mut Block, &[[u32; N]])| {
            if moved.is_some_and(|moved| !any_of(corners.iter().flatten(), moved)) {
                return;
            }
            for (lane, corners) in corners.iter().enumerate().filter(|(_, c)| c[0] != Mesh::NONE) {
                block.set(lane, &corners.iter().fold(Sweep::EMPTY, |all, v| all.union(&vertex_sweeps[*v as usize])));
            }
        };
        self.boxes.par_iter_mut().zip(self.corners.par_chunks(LANES)).with_min_len(512).for_each(fit);
    }

    /// The sweep of all features of a leaf.
    fn around(&self, leaf: u32) -> Sweep {
        let blocks = &self.boxes[self.starts[leaf as usize]..self.starts[leaf as usize + 1]];
        blocks.iter().flat_map(|block| (0..LANES).map(|lane| block.get(lane))).fold(Sweep::EMPTY, |all, one| all.union(&one))
    }

    /// Calls `each` with the lanes of a leaf, from `from` on, that may meet `sweep`.
    #[inline]
    fn meeting(&self, leaf: u32, sweep: &Sweep, from: usize, mut each: impl FnMut(usize)) {
        for block in self.starts[leaf as usize].max(from / LANES)..self.starts[leaf as usize + 1] {
            let first = block * LANES;
            let mut bits = self.boxes[block].meeting(sweep) & (u32::MAX << from.saturating_sub(first));
            while bits != 0 {
                each(first + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
    }

    /// Adds the pairs of features of leaf `a` of this and of leaf `b` of `other`, the latter in `sweep_b`, that may meet and share no
    /// vertex. Within one leaf of the same features each pair comes once.
    #[inline]
    fn meet<const M: usize>(&self, a: u32, other: &Features<M>, b: u32, sweep_b: &Sweep, found: &mut Vec<[u32; 2]>) {
        let within = M == N && a == b;
        self.meeting(a, sweep_b, 0, |i| {
            let (item, corners) = (self.items[i], self.corners[i]);
            let sweep = self.boxes[i / LANES].get(i % LANES);
            other.meeting(b, &sweep, if within { i + 1 } else { 0 }, |j| {
                let mut shared = false;
                for v in corners {
                    for w in other.corners[j] {
                        shared |= v == w;
                    }
                }
                if !shared {
                    let partner = other.items[j];
                    found.push(if M == N { [item.min(partner), item.max(partner)] } else { [item, partner] });
                }
            });
        });
    }
}

/// Tree of boxes over small groups of triangles. The tree stays as it was built from the rest positions (bodies first, then the triangles
/// within each body, split at the median); the boxes follow the motion.
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
    slack: Vec<f64>,
    fitted: Fitted,
    /// Vertices whose boxes have changed since the last search, where not all have.
    moved: Vec<bool>,
    /// Nodes with such vertices.
    stirred: Vec<bool>,
    margin: f64,
    /// Of each body that may meet itself.
    own: Vec<OwnPairs>,
    /// Root of each body's subtree, and whether its own pairs are all listed in `own`.
    roots: Vec<u32>,
    is_listed: Vec<bool>,
    /// Of each body, whether it is known not to touch itself.
    is_sure: Vec<bool>,
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
    /// What was found on the way to what is shared out.
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

/// Most room, in mean edge lengths of the body: fast and finely divided ones are not to meet themselves for that.
const SLACK: f64 = 0.25;
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
        let slack = of_body.iter().map(|(_, length, count)| SLACK * length / f64::from((*count).max(1))).collect();
        let meets_itself = |body: usize| mesh.mobility[body] == Mobility::Deformable && roots[body] != Mesh::NONE;
        let of_body = of_body.into_iter().enumerate().filter(|(body, _)| meets_itself(*body));
        let own =
            of_body.map(|(body, (vertices, length, count))| OwnPairs::new(body as u32, vertices, length / f64::from(count))).collect();
        let (vertex_sweeps, is_listed) = (vec![Sweep::EMPTY; mesh.body.len()], vec![false; roots.len()]);
        let is_sure = is_listed.clone();
        Self {
            stirred: vec![false; nodes.len()],
            nodes,
            sweeps,
            vertices,
            edges,
            triangles,
            vertex_sweeps,
            room: 0.0,
            slack,
            fitted: Fitted::Yes,
            moved: vec![false; mesh.body.len()],
            margin: 0.0,
            own,
            roots,
            is_listed,
            is_sure,
            search: Search::default(),
        }
    }

    /// Tells of the first bodies whether they are known not to touch themselves: their own pairs are left out until told otherwise.
    pub fn trust(&mut self, bodies: impl IntoIterator<Item = bool>) {
        self.is_sure.iter_mut().zip(bodies).for_each(|(known, is_sure)| *known = is_sure);
    }

    /// Whether there are no pairs but own ones of a body that does not touch itself: then no box is needed, and none is made.
    pub fn is_idle(&self) -> bool {
        self.nodes.first().is_none_or(|root| root.body != Mesh::NONE && (self.own.is_empty() || self.is_sure[root.body as usize]))
    }

    /// Ways of the vertices from `x` to about `x + way` [m]: to ends no further from there, in each coordinate, than `margin` and the `room` [m] and the length of the way, the
    /// latter two at most a part of a mean edge. What is around them is fitted when a search needs it.
    pub fn refit(&mut self, mesh: &Mesh, x: &[Vec3], way: &[Vec3], margin: f64, room: f64) {
        (self.margin, self.room) = (margin, room);
        if self.is_idle() {
            return;
        }
        self.list_own(mesh, x, way);
        let Self { vertex_sweeps, slack, .. } = self;
        let sweep = |((sweep, (x, way)), body): ((&mut Sweep, (&Vec3, &Vec3)), &u32)| {
            let half = way.map(|d| margin + (room + d.abs()).min(slack[*body as usize]));
            *sweep = Sweep { start: Bounds::about(x, &Vec3::zeros()), end: Bounds::about(&(x + way), &half) };
        };
        vertex_sweeps.par_iter_mut().zip(x.par_iter().zip(way)).zip(&mesh.body).with_min_len(4096).for_each(sweep);
        self.fitted = Fitted::No;
        self.moved.fill(false);
    }

    /// Finds out for which bodies the listed own pairs are enough, and renews lists that have become of no use.
    fn list_own(&mut self, mesh: &Mesh, x: &[Vec3], way: &[Vec3]) {
        let (margin, room) = (self.margin, self.room);
        let Self { own, is_sure, is_listed, slack, .. } = self;
        let look = |own: &mut OwnPairs| own.look(x, way, margin, room, slack[own.body as usize]);
        own.par_iter_mut().filter(|own| !is_sure[own.body as usize]).for_each(look);
        own.iter().for_each(|own| is_listed[own.body as usize] = own.is_complete);
        if !own.iter().any(|own| own.is_wanted && !is_sure[own.body as usize]) {
            return;
        }
        let mut own = std::mem::take(&mut self.own);
        let is_sure = self.is_sure.clone();
        let is_wanted = |own: &OwnPairs| own.is_wanted && !is_sure[own.body as usize];
        let wanted = || own.iter().filter(|own| is_wanted(own));
        // Only boxes of these bodies are looked at.
        self.moved.fill(false);
        for (v, near) in wanted().flat_map(|own| own.vertices().iter().map(|v| (*v as usize, own.near))) {
            self.vertex_sweeps[v] = Sweep::still(&x[v], 0.5 * near);
            self.moved[v] = true;
        }
        self.stir();
        self.fitted = Fitted::Mostly;
        self.fit_boxes();
        own.par_iter_mut().filter(|own| is_wanted(own)).for_each(|own| own.take(x, self.own_near(mesh, own, x)));
        own.iter().for_each(|own| self.is_listed[own.body as usize] = own.is_complete);
        self.own = own;
    }

    /// All pairs of features of a body that are near each other at `x`, where its boxes have been fitted.
    fn own_near(&self, mesh: &Mesh, own: &OwnPairs, x: &[Vec3]) -> Candidates {
        let mut found = Candidates::default();
        let root = self.roots[own.body as usize];
        let mut stack = vec![(root, root)];
        while let Some(pair) = stack.pop() {
            self.visit(mesh, pair, &mut stack, &mut found);
        }
        // What has collapsed has no distance, and stays.
        let is_far = |apart: Vec3| apart.norm_squared() > own.near * own.near;
        let at = |v: u32| x[v as usize];
        found.vertex_faces.retain(|&[v, t]| {
            let [a, b, c] = mesh.triangles[t as usize].map(at);
            !is_far(between_vertex_and_face(&[at(v), a, b, c]))
        });
        found.edge_edges.retain(|&[e, f]| {
            let ([a, b], [c, d]) = (mesh.edges[e as usize].map(at), mesh.edges[f as usize].map(at));
            !is_far(between_edges(&[a, b, c, d]))
        });
        found
    }

    /// Whether the own pairs of a body come from its list.
    #[cfg(test)]
    pub fn lists(&self, body: usize) -> bool {
        self.is_listed[body]
    }

    /// Adds the listed own pairs that may meet.
    fn list(&self, mesh: &Mesh, found: &mut Candidates) {
        let around = |corners: &[u32]| corners.iter().fold(Sweep::EMPTY, |all, v| all.union(&self.vertex_sweeps[*v as usize]));
        let of = |edge: u32| around(&mesh.edges[edge as usize]);
        let is_listed = |own: &&OwnPairs| self.is_listed[own.body as usize] && !self.is_sure[own.body as usize];
        for own in self.own.iter().filter(is_listed) {
            let faces = own.pairs.vertex_faces.iter().filter(|[v, t]| around(&[*v]).may_meet(&around(&mesh.triangles[*t as usize])));
            found.vertex_faces.extend(faces);
            found.edge_edges.extend(own.pairs.edge_edges.iter().filter(|[e, f]| of(*e).may_meet(&of(*f))));
        }
    }

    /// Whether all positions `x` [m] lie in the boxes of the ends of their vertices. As long as they do, no pair that meets on the straight ways there from where
    /// the vertices were at the last [`refit`](Self::refit) is missing from the candidates of the last [`query`](Self::query).
    pub fn holds(&self, x: &[Vec3]) -> bool {
        self.is_idle() || self.vertex_sweeps.par_iter().zip(x).with_min_len(4096).all(|(sweep, p)| sweep.end.contains(p))
    }

    /// Makes the boxes of the ends hold the positions `x` [m] too and returns how many vertices had left theirs: if any, pairs may be missing, and
    /// [`find_more`](Self::find_more) finds them [collision thesis, 6.5.3].
    pub fn cover(&mut self, mesh: &Mesh, x: &[Vec3]) -> usize {
        if self.is_idle() {
            return 0;
        }
        let mut n_left = 0;
        for (v, ((Sweep { end, .. }, p), body)) in self.vertex_sweeps.iter_mut().zip(x).zip(&mesh.body).enumerate() {
            if !end.contains(p) {
                *end = end.union(&Bounds::swept(p, p, self.margin + self.room.min(self.slack[*body as usize])));
                self.moved[v] = true;
                n_left += 1;
            }
        }
        if n_left > 0 {
            self.is_listed.fill(false);
            self.stir();
            self.fitted = if self.fitted == Fitted::No { Fitted::No } else { Fitted::Mostly };
        }
        n_left
    }

    fn fit_boxes(&mut self) {
        let Self { nodes, sweeps, vertices, edges, triangles, vertex_sweeps, fitted, moved, stirred, .. } = self;
        let moved = match std::mem::replace(fitted, Fitted::Yes) {
            Fitted::Yes => return,
            Fitted::Mostly => Some(&moved[..]),
            Fitted::No => None,
        };
        vertices.fit(vertex_sweeps, moved);
        edges.fit(vertex_sweeps, moved);
        triangles.fit(vertex_sweeps, moved);
        for i in (0..nodes.len()).rev().filter(|i| moved.is_none() || stirred[*i]) {
            let right_or_leaf = nodes[i].right_or_leaf;
            let is_leaf = nodes[i].end as usize == i + 1;
            sweeps[i] = if is_leaf { triangles.around(right_or_leaf) } else { sweeps[i + 1].union(&sweeps[right_or_leaf as usize]) };
        }
    }

    /// All pairs of features that may meet as long as no vertex ends outside of its box, but for some that are seen to be apart.
    /// `x` [m]: where the ways start. The same for any number of threads.
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

    /// Adds to `candidates`, what the last search found, what it would find now that vertices have left their boxes.
    pub fn find_more(&mut self, mesh: &Mesh, x: &[Vec3], candidates: &mut Candidates) {
        self.search(mesh, x, true, candidates);
    }

    /// Adds what may meet to `candidates`: only pairs with a vertex that has left its box, or all.
    fn search(&mut self, mesh: &Mesh, x: &[Vec3], only_left: bool, candidates: &mut Candidates) {
        if self.is_idle() {
            return;
        }
        self.fit_boxes();
        // The upper levels of the search one by one, until there is enough to share out.
        let Search { levels: [mut level, mut next], mut above, mut tasks, mut sorters } = std::mem::take(&mut self.search);
        let is_wanted = |(a, b): (u32, u32)| !only_left || self.stirred[a as usize] || self.stirred[b as usize];
        let keep = |found: &mut Candidates| {
            if only_left {
                found.vertex_faces.retain(|[v, t]| self.moved[*v as usize] || any_of(&mesh.triangles[*t as usize], &self.moved));
                found.edge_edges.retain(|[e, f]| [e, f].iter().any(|edge| any_of(&mesh.edges[**edge as usize], &self.moved)));
            }
            self.keep_near(mesh, x, found);
        };
        level.clear();
        level.push((0, 0));
        above.clear();
        if !only_left {
            self.list(mesh, &mut above);
        }
        while !level.is_empty() && level.len() < TASKS {
            for pair in level.drain(..).filter(|pair| is_wanted(*pair)) {
                self.visit(mesh, pair, &mut next, &mut above);
            }
            std::mem::swap(&mut level, &mut next);
        }
        keep(&mut above);
        tasks.resize_with(tasks.len().max(level.len()), Task::default);
        tasks[..level.len()].par_iter_mut().zip(&level).for_each(|(Task { stack, found }, pair)| {
            found.clear();
            stack.push(*pair);
            while let Some(pair) = stack.pop() {
                if is_wanted(pair) {
                    self.visit(mesh, pair, stack, found);
                }
            }
            keep(found);
        });
        let below = &tasks[..level.len()];
        let parts = || std::iter::once(&above).chain(below.iter().map(|task| &task.found));
        let Candidates { vertex_faces, edge_edges } = candidates;
        let [of_faces, of_edges] = &mut sorters;
        rayon::join(
            || of_faces.sort(parts().map(|p| &p.vertex_faces), [mesh.body.len(), mesh.triangles.len()], vertex_faces),
            || of_edges.sort(parts().map(|p| &p.edge_edges), [mesh.edges.len(); 2], edge_edges),
        );
        self.search = Search { levels: [level, next], above, tasks, sorters };
        self.moved.fill(false);
    }

    /// Finds the nodes with vertices that are flagged as moved.
    fn stir(&mut self) {
        let Self { nodes, triangles, moved, stirred, .. } = self;
        stirred.clear();
        stirred.resize(nodes.len(), false);
        for i in (0..nodes.len()).rev() {
            let right_or_leaf = nodes[i].right_or_leaf as usize;
            stirred[i] = if nodes[i].end as usize == i + 1 {
                let lanes = LANES * triangles.starts[right_or_leaf]..LANES * triangles.starts[right_or_leaf + 1];
                any_of(triangles.corners[lanes].iter().flatten(), moved)
            } else {
                stirred[i + 1] || stirred[right_or_leaf]
            };
        }
    }

    /// Drops the pairs whose features have a plane between them at the start and a parallel one at the end: across the shortest way between them at `x`.
    pub(super) fn keep_near(&self, mesh: &Mesh, x: &[Vec3], found: &mut Candidates) {
        let at = |v: u32| x[v as usize];
        let of = |v: u32| &self.vertex_sweeps[v as usize];
        found.vertex_faces.retain(|&[v, t]| {
            let [a, b, c] = mesh.triangles[t as usize];
            let d = between_vertex_and_face(&[at(v), at(a), at(b), at(c)]);
            !Sweep::are_parted(&d, &[of(v)], &[of(a), of(b), of(c)])
        });
        found.edge_edges.retain(|&[e, f]| {
            let ([a, b], [c, d]) = (mesh.edges[e as usize], mesh.edges[f as usize]);
            let n = between_edges(&[at(a), at(b), at(c), at(d)]);
            !Sweep::are_parted(&n, &[of(a), of(b)], &[of(c), of(d)])
        });
    }

    /// One step of the search: a pair of nodes becomes pairs of their children on the stack, two leaves become pairs of features.
    #[inline]
    fn visit(&self, mesh: &Mesh, (a, b): (u32, u32), stack: &mut Vec<(u32, u32)>, found: &mut Candidates) {
        let (first, second) = (&self.nodes[a as usize], &self.nodes[b as usize]);
        if a == b {
            let meets_itself = first.body == Mesh::NONE || self.meets_itself(mesh, first.body as usize);
            if !(meets_itself && first.mobile) {
                return;
            }
            if first.end == a + 1 {
                let (leaf, sweep) = (first.right_or_leaf, &self.sweeps[a as usize]);
                self.edges.meet(leaf, &self.edges, leaf, sweep, &mut found.edge_edges);
                return self.vertices.meet(leaf, &self.triangles, leaf, sweep, &mut found.vertex_faces);
            }
            let (left, right) = (a + 1, first.right_or_leaf);
            return stack.extend([(right, right), (left, right), (left, left)]);
        }
        // Two nodes of a rigid body do not come here: the search has stopped at the root of the body.
        if !(first.mobile || second.mobile) || !self.sweeps[a as usize].may_meet(&self.sweeps[b as usize]) {
            return;
        }
        match (first.end - a, second.end - b) {
            (1, 1) => {
                let (leaf_a, leaf_b) = (first.right_or_leaf, second.right_or_leaf);
                let (sweep_a, sweep_b) = (&self.sweeps[a as usize], &self.sweeps[b as usize]);
                self.edges.meet(leaf_a, &self.edges, leaf_b, sweep_b, &mut found.edge_edges);
                self.vertices.meet(leaf_a, &self.triangles, leaf_b, sweep_b, &mut found.vertex_faces);
                self.vertices.meet(leaf_b, &self.triangles, leaf_a, sweep_a, &mut found.vertex_faces);
            }
            (m, n) if m >= n => stack.extend([(first.right_or_leaf, b), (a + 1, b)]),
            _ => stack.extend([(a, second.right_or_leaf), (a, b + 1)]),
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

/// Whether any of the vertices, empty lanes apart, is flagged.
fn any_of<'a>(vertices: impl IntoIterator<Item = &'a u32>, flags: &[bool]) -> bool {
    vertices.into_iter().any(|v| flags.get(*v as usize).copied().unwrap_or(false))
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
