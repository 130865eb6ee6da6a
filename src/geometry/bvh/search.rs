//! The search of the tree for pairs of features that may meet.

use rayon::prelude::*;

use super::features::any_of;
use super::sweep::Sweep;
use super::{Bvh, Search, Task};
use crate::geometry::candidates::Candidates;
use crate::geometry::closest::{between_edges, between_vertex_and_face};
use crate::geometry::mesh::Mesh;
use crate::math::Vec3;

/// Enough independent parts of a search to keep all threads busy.
const MIN_SEARCH_TASKS: usize = 128;

impl Bvh {
    /// Adds what may meet to `candidates`: only pairs with a vertex that has left its box, or all.
    pub(super) fn search(&mut self, mesh: &Mesh, x: &[Vec3], only_left: bool, candidates: &mut Candidates) {
        if self.is_idle() {
            return;
        }
        self.fit_boxes();
        // The upper levels of the search one by one, until there are enough tasks.
        let Search { levels: [mut level, mut next], mut above, mut tasks, mut sorters } = std::mem::take(&mut self.search);
        let is_wanted = |(a, b): (u32, u32)| !only_left || self.has_moved[a as usize] || self.has_moved[b as usize];
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
            self.add_listed(mesh, &mut above);
        }
        while !level.is_empty() && level.len() < MIN_SEARCH_TASKS {
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

    /// Drops the pairs whose features have a plane between them at the start and a parallel one at the end: across the
    /// shortest way between them at `x`.
    pub(in crate::geometry) fn keep_near(&self, mesh: &Mesh, x: &[Vec3], found: &mut Candidates) {
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

    /// One step of the search: a pair of nodes becomes pairs of their children on the stack, two leaves become pairs of
    /// features.
    #[inline]
    pub(super) fn visit(&self, mesh: &Mesh, (a, b): (u32, u32), stack: &mut Vec<(u32, u32)>, found: &mut Candidates) {
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
}
