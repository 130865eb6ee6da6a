//! The search of the tree for pairs of features that may meet.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::features::any_of;
use super::leaf_pairs::NearFeatures;
use super::sweep::{Bounds, Sweep};
use super::{Bvh, Search, Task};
use crate::geometry::candidates::Candidates;
use crate::geometry::closest::{between_edges, between_vertex_and_face};
use crate::geometry::mesh::Mesh;
use crate::math::Vec3;

/// Enough independent parts of a search to keep all threads busy.
const MIN_SEARCH_TASKS: usize = 128;
/// A search asks whether it is cancelled once for so many pairs of leaves that it finds, and tasks that compare them.
const LEAF_PAIRS_PER_QUESTION: usize = 4096;
const TASKS_PER_QUESTION: usize = 64;
/// Pairs of leaves whose features one task compares.
const LEAF_PAIRS_PER_TASK: usize = 64;
/// Pairs of nodes of one body that one task begins with.
const FRONTIER_PER_TASK: usize = 2048;
/// The same where only features of lists are compared.
const LISTED_PAIRS_PER_TASK: usize = 512;

impl Bvh {
    /// Adds what may meet to `candidates`: only pairs with a vertex that has left its box, or all.
    pub(super) fn search(&mut self, mesh: &Mesh, x: &[Vec3], only_left: bool, candidates: &mut Candidates) {
        if self.is_idle() {
            return;
        }
        self.fit_nodes();
        // The upper levels of the search one by one, until there are enough tasks.
        let Search { levels: [mut level, mut next], mut parts, mut above, mut leaves, mut listed, mut is_used, mut tasks, mut sorters } =
            std::mem::take(&mut self.search);
        let is_wanted = |(a, b): (u32, u32)| !only_left || self.has_moved[a as usize] || self.has_moved[b as usize];
        level.clear();
        level.push((0, 0));
        above.clear();
        // Pairs of one body come from its frontier.
        let is_between = |(a, b): (u32, u32)| a != b || self.nodes[a as usize].body == Mesh::NONE;
        while !level.is_empty() && level.len() < MIN_SEARCH_TASKS {
            for pair in level.drain(..).filter(|pair| is_wanted(*pair) && is_between(*pair)) {
                self.visit(pair, &mut next, &mut above);
            }
            std::mem::swap(&mut level, &mut next);
        }
        tasks.resize_with(tasks.len().max(level.len()), Task::default);
        let cancel = self.limit.cancel.clone();
        tasks[..level.len()].par_iter_mut().zip(&level).for_each(|(Task { stack, leaves, .. }, pair)| {
            leaves.clear();
            stack.clear();
            stack.push(*pair);
            while let Some(pair) = stack.pop() {
                if leaves.len() % LEAF_PAIRS_PER_QUESTION == LEAF_PAIRS_PER_QUESTION - 1 && cancel.is_cancelled() {
                    break;
                }
                if is_wanted(pair) && is_between(pair) {
                    self.visit(pair, stack, leaves);
                }
            }
        });
        parts.clear();
        for (body, pairs) in self.frontier.iter().enumerate().filter(|(body, _)| self.meets_itself(mesh, *body)) {
            parts.extend((0..pairs.len().div_ceil(FRONTIER_PER_TASK)).map(|k| (body, k)));
        }
        let n_tasks = level.len() + parts.len();
        tasks.resize_with(tasks.len().max(n_tasks), Task::default);
        tasks[level.len()..n_tasks].par_iter_mut().zip(&parts).for_each(|(Task { stack, leaves, .. }, (body, k))| {
            leaves.clear();
            stack.clear();
            let may_meet = |(a, b): &(u32, u32)| self.sweeps[*a as usize].may_meet(&self.sweeps[*b as usize]);
            for pair in part(&self.frontier[*body], *k, FRONTIER_PER_TASK).iter().filter(|pair| is_wanted(**pair) && may_meet(pair)) {
                stack.push(*pair);
                while let Some(pair) = stack.pop() {
                    if leaves.len() % LEAF_PAIRS_PER_QUESTION == LEAF_PAIRS_PER_QUESTION - 1 && cancel.is_cancelled() {
                        return;
                    }
                    if is_wanted(pair) {
                        self.visit(pair, stack, leaves);
                    }
                }
            }
        });
        leaves.clear();
        leaves.append(&mut above);
        tasks[..n_tasks].iter().for_each(|task| leaves.extend_from_slice(&task.leaves));
        // Leaves of one body that are near each other are not looked for in the tree.
        let nodes_of = |pair: [u32; 2]| pair.map(|leaf| self.leaf_nodes[leaf as usize]).into();
        let may_meet = |(a, b): &(u32, u32)| self.sweeps[*a as usize].may_meet(&self.sweeps[*b as usize]);
        let meets_itself = |(a, _): (u32, u32)| self.meets_itself(mesh, self.nodes[a as usize].body as usize);
        let is_searched = |pair: (u32, u32)| is_wanted(pair) && meets_itself(pair);
        leaves.extend(self.leaf_pairs.unknown().map(nodes_of).filter(|pair| is_searched(*pair) && may_meet(pair)));
        listed.clear();
        listed.extend(self.leaf_pairs.listed().filter(|(_, ends)| is_searched(nodes_of(*ends))).map(|(pair, _)| pair));
        is_used.clear();
        is_used.resize(self.is_leaf_fitted.len(), false);
        let number = |node: u32| self.nodes[node as usize].right_or_leaf as usize;
        leaves.iter().for_each(|(a, b)| [a, b].iter().for_each(|node| is_used[number(**node)] = true));
        self.fit_leaves(&is_used);
        let n_of_leaves = leaves.len().div_ceil(LEAF_PAIRS_PER_TASK);
        let n_tasks = n_of_leaves + listed.len().div_ceil(LISTED_PAIRS_PER_TASK);
        tasks.resize_with(tasks.len().max(n_tasks), Task::default);
        // Whether all are more than the limit does not depend on the order of the tasks.
        let n_found = AtomicUsize::new(0);
        let is_full = || n_found.load(Ordering::Relaxed) > self.limit.candidates;
        tasks[..n_tasks].par_iter_mut().enumerate().for_each(|(k, Task { found, .. })| {
            found.clear();
            if is_full() || (k % TASKS_PER_QUESTION == TASKS_PER_QUESTION - 1 && cancel.is_cancelled()) {
                return;
            }
            if k < n_of_leaves {
                part(&leaves, k, LEAF_PAIRS_PER_TASK).iter().for_each(|pair| self.compare(*pair, found));
            } else {
                part(&listed, k - n_of_leaves, LISTED_PAIRS_PER_TASK).iter().for_each(|pair| self.compare_listed(mesh, *pair, found));
            }
            if only_left {
                found.vertex_faces.retain(|[v, t]| self.moved[*v as usize] || any_of(&mesh.triangles[*t as usize], &self.moved));
                found.edge_edges.retain(|[e, f]| [e, f].iter().any(|edge| any_of(&mesh.edges[**edge as usize], &self.moved)));
            }
            self.keep_near(mesh, x, found);
            n_found.fetch_add(found.len(), Ordering::Relaxed);
        });
        let is_ended = is_full() || cancel.is_cancelled();
        let found = || tasks[..n_tasks].iter().map(|task| &task.found);
        let Candidates { vertex_faces, edge_edges } = candidates;
        let [of_faces, of_edges] = &mut sorters;
        if !is_ended {
            rayon::join(
                || of_faces.sort(found().map(|p| &p.vertex_faces), [mesh.body.len(), mesh.triangles.len()], vertex_faces),
                || of_edges.sort(found().map(|p| &p.edge_edges), [mesh.edges.len(); 2], edge_edges),
            );
        }
        self.is_complete &= !is_ended;
        self.search = Search { levels: [level, next], parts, above, leaves, listed, is_used, tasks, sorters };
        self.moved.fill(false);
    }

    /// Drops the pairs whose features have a plane between them at the start and a parallel one at the end: across the
    /// shortest way between them at `x`.
    pub(in crate::geometry) fn keep_near(&self, mesh: &Mesh, x: &[Vec3], found: &mut Candidates) {
        let at = |v: u32| x[v as usize];
        let of = |v: u32| &self.vertex_sweeps[v as usize];
        found.vertex_faces.retain(|&[v, t]| {
            let [a, b, c] = mesh.triangles[t as usize];
            let d = between_vertex_and_face(&[at(v), at(a), at(b), at(c)]);
            !Sweep::are_parted(&d, [of(v)], [of(a), of(b), of(c)])
        });
        found.edge_edges.retain(|&[e, f]| {
            let ([a, b], [c, d]) = (mesh.edges[e as usize], mesh.edges[f as usize]);
            let n = between_edges(&[at(a), at(b), at(c), at(d)]);
            !Sweep::are_parted(&n, [of(a), of(b)], [of(c), of(d)])
        });
    }

    /// One step of the search: a pair of nodes becomes pairs of their children on the stack, or a pair of leaves that
    /// may meet.
    #[inline]
    pub(super) fn visit(&self, (a, b): (u32, u32), stack: &mut Vec<(u32, u32)>, leaves: &mut Vec<(u32, u32)>) {
        let (first, second) = (&self.nodes[a as usize], &self.nodes[b as usize]);
        if a == b {
            if !first.mobile {
                return;
            }
            if first.end != a + 1 {
                let (left, right) = (a + 1, first.right_or_leaf);
                return stack.extend([(right, right), (left, right), (left, left)]);
            }
        } else if !(first.mobile || second.mobile) || !self.sweeps[a as usize].may_meet(&self.sweeps[b as usize]) {
            return;
        }
        match (first.end - a, second.end - b) {
            (1, 1) => {
                if a == b || !self.are_leaves_parted([first.right_or_leaf, second.right_or_leaf]) {
                    leaves.push((a, b));
                }
            }
            (m, n) if m >= n => stack.extend([(first.right_or_leaf, b), (a + 1, b)]),
            _ => stack.extend([(a, second.right_or_leaf), (a, b + 1)]),
        }
    }

    /// Whether planes across the way between the middles of two leaves, one at the start and one at the end, have all
    /// vertices of the first on one side and those of the second on the other.
    pub(super) fn are_leaves_parted(&self, leaves: [u32; 2]) -> bool {
        let [a, b] = leaves.map(|leaf| self.leaf_sweeps[leaf as usize].start.center());
        let [first, second] = leaves.map(|leaf| self.vertices_of_leaf(leaf).iter().map(|v| &self.vertex_sweeps[*v as usize]));
        Sweep::are_parted(&(a - b), first, second)
    }

    /// Pairs of leaves of a body whose boxes at `x` [m] have no `near` [m] between them.
    pub(super) fn near_leaves(&self, body: usize, x: &[Vec3], near: f64) -> Vec<[u32; 2]> {
        let root = self.roots[body] as usize;
        let nodes = &self.nodes[root..self.nodes[root].end as usize];
        let is_leaf = |i: usize| nodes[i].end as usize == root + i + 1;
        let right = |i: usize| nodes[i].right_or_leaf as usize - root;
        let mut boxes = vec![Bounds::EMPTY; nodes.len()];
        for i in (0..nodes.len()).rev() {
            boxes[i] = if is_leaf(i) {
                let vertices = self.vertices_of_leaf(nodes[i].right_or_leaf).iter().map(|v| &x[*v as usize]);
                vertices.fold(Bounds::EMPTY, |all, x| all.union(&Bounds::swept(x, x, 0.5 * near)))
            } else {
                boxes[i + 1].union(&boxes[right(i)])
            };
        }
        let (mut found, mut stack) = (vec![], vec![(0, 0)]);
        while let Some((a, b)) = stack.pop() {
            if a == b && !is_leaf(a) {
                stack.extend([(a + 1, a + 1), (a + 1, right(a)), (right(a), right(a))]);
            } else if boxes[a].overlaps(&boxes[b]) {
                let size = |i: usize| nodes[i].end as usize - i;
                match (is_leaf(a), is_leaf(b)) {
                    (true, true) => found.push([a, b].map(|i| nodes[i].right_or_leaf)),
                    (is_leaf, _) if !is_leaf && size(a) >= size(b) => stack.extend([(a + 1, b), (right(a), b)]),
                    (_, is_leaf) if !is_leaf => stack.extend([(a, b + 1), (a, right(b))]),
                    _ => stack.extend([(a + 1, b), (right(a), b)]),
                }
            }
        }
        found
    }

    /// Adds the pairs of features on the list of two leaves that may meet by their boxes.
    fn compare_listed(&self, mesh: &Mesh, pair: u32, found: &mut Candidates) {
        let sweep = |vertices: &[u32]| vertices.iter().fold(Sweep::EMPTY, |all, v| all.union(&self.vertex_sweeps[*v as usize]));
        for NearFeatures { items: [a, b], are_edges, .. } in self.leaf_pairs.near_features(pair) {
            if *are_edges {
                if sweep(&mesh.edges[*a as usize]).may_meet(&sweep(&mesh.edges[*b as usize])) {
                    found.edge_edges.push([*a.min(b), *a.max(b)]);
                }
            } else if self.vertex_sweeps[*a as usize].may_meet(&sweep(&mesh.triangles[*b as usize])) {
                found.vertex_faces.push([*a, *b]);
            }
        }
    }

    /// Adds the pairs of features of two leaves that may meet by their boxes.
    fn compare(&self, (a, b): (u32, u32), found: &mut Candidates) {
        let [leaf_a, leaf_b] = [a, b].map(|node| self.nodes[node as usize].right_or_leaf);
        let (sweep_a, sweep_b) = (&self.sweeps[a as usize], &self.sweeps[b as usize]);
        self.edges.meet(leaf_a, &self.edges, leaf_b, sweep_b, &mut found.edge_edges);
        self.vertices.meet(leaf_a, &self.triangles, leaf_b, sweep_b, &mut found.vertex_faces);
        if a != b {
            self.vertices.meet(leaf_b, &self.triangles, leaf_a, sweep_a, &mut found.vertex_faces);
        }
    }
}

/// The k-th `n` items of a list, or what is left of them.
fn part<T>(list: &[T], k: usize, n: usize) -> &[T] {
    &list[k * n..list.len().min((k + 1) * n)]
}
