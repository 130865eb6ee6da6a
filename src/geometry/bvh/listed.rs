//! Bodies whose pairs with themselves come from a list instead of a search of the tree.

use rayon::prelude::*;

use super::sweep::Sweep;
use super::{Bvh, Fitted};
use crate::geometry::candidates::Candidates;
use crate::geometry::closest::{between_edges, between_vertex_and_face};
use crate::geometry::mesh::Mesh;
use crate::geometry::self_pairs::SelfPairs;
use crate::math::Vec3;

impl Bvh {
    /// Finds out for which bodies the lists are enough, and renews lists that have become of no use.
    pub(super) fn update_self_pairs(&mut self, mesh: &Mesh, x: &[Vec3], displacements: &[Vec3]) {
        let (margin, room) = (self.margin, self.room);
        let Self { self_pairs, is_certified, is_listed, max_room, .. } = self;
        let update = |list: &mut SelfPairs| list.update(x, displacements, margin, room, max_room[list.body as usize]);
        self_pairs.par_iter_mut().filter(|list| !is_certified[list.body as usize]).for_each(update);
        self_pairs.iter().for_each(|list| is_listed[list.body as usize] = list.is_complete);
        if !self_pairs.iter().any(|list| list.is_wanted && !is_certified[list.body as usize]) {
            return;
        }
        let mut self_pairs = std::mem::take(&mut self.self_pairs);
        let is_certified = self.is_certified.clone();
        let is_wanted = |list: &SelfPairs| list.is_wanted && !is_certified[list.body as usize];
        let wanted = || self_pairs.iter().filter(|list| is_wanted(list));
        // Only boxes of these bodies are needed.
        self.moved.fill(false);
        for (v, near) in wanted().flat_map(|list| list.vertices().iter().map(|v| (*v as usize, list.near))) {
            self.vertex_sweeps[v] = Sweep::still(&x[v], 0.5 * near);
            self.moved[v] = true;
        }
        self.flag_moved_nodes();
        self.fitted = Fitted::Mostly;
        self.fit_boxes();
        let renew = |list: &mut SelfPairs| list.set_reference(x, self.near_self_pairs(mesh, list, x));
        self_pairs.par_iter_mut().filter(|list| is_wanted(list)).for_each(renew);
        self_pairs.iter().for_each(|list| self.is_listed[list.body as usize] = list.is_complete);
        self.self_pairs = self_pairs;
    }

    /// All pairs of features of the body of a list that are near each other at `x`, where its boxes have been fitted.
    fn near_self_pairs(&self, mesh: &Mesh, list: &SelfPairs, x: &[Vec3]) -> Candidates {
        let mut found = Candidates::default();
        let root = self.roots[list.body as usize];
        let mut stack = vec![(root, root)];
        while let Some(pair) = stack.pop() {
            self.visit(mesh, pair, &mut stack, &mut found);
        }
        // Features that have collapsed have no distance, and stay.
        let is_far = |apart: Vec3| apart.norm_squared() > list.near * list.near;
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

    /// Whether pairs of a body with itself come from its list.
    #[cfg(test)]
    pub fn lists(&self, body: usize) -> bool {
        self.is_listed[body]
    }

    /// Adds the listed pairs that may meet.
    pub(super) fn add_listed(&self, mesh: &Mesh, found: &mut Candidates) {
        let around = |corners: &[u32]| corners.iter().fold(Sweep::EMPTY, |all, v| all.union(&self.vertex_sweeps[*v as usize]));
        let of = |edge: u32| around(&mesh.edges[edge as usize]);
        let is_used = |list: &&SelfPairs| self.is_listed[list.body as usize] && !self.is_certified[list.body as usize];
        for list in self.self_pairs.iter().filter(is_used) {
            let faces = list.pairs.vertex_faces.iter().filter(|[v, t]| around(&[*v]).may_meet(&around(&mesh.triangles[*t as usize])));
            found.vertex_faces.extend(faces);
            found.edge_edges.extend(list.pairs.edge_edges.iter().filter(|[e, f]| of(*e).may_meet(&of(*f))));
        }
    }
}
