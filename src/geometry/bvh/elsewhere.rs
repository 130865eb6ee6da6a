//! Support of a search that a device makes: what it needs of the tree, and how the pairs that it finds become
//! candidates.

use rayon::prelude::*;

use super::Bvh;
use crate::geometry::candidates::{Candidates, Sorter};
use crate::geometry::mesh::{Mesh, Mobility};
use crate::math::Vec3;

/// The features in the order of the leaves of the tree: neighbours in it are neighbours in space.
#[derive(Clone, Debug, Default)]
pub struct Leaves {
    /// Of each leaf its first vertex, edge and triangle in the lists below, and its body; one more for the ends.
    pub leaves: Vec<[u32; 4]>,
    /// Vertex and its leaf.
    pub vertices: Vec<[u32; 2]>,
    /// Edge, its two vertices, and its leaf.
    pub edges: Vec<[u32; 4]>,
    /// Triangle and its three vertices.
    pub triangles: Vec<[u32; 4]>,
}

/// Pairs that one task takes.
const PAIRS_PER_TASK: usize = 1024;

impl Bvh {
    /// The leaves of the tree, which never change.
    pub fn leaves(&self) -> Leaves {
        let mut all = Leaves::default();
        for node in self.nodes.iter().enumerate().filter(|(i, node)| node.end as usize == i + 1).map(|(_, node)| node) {
            let leaf = all.leaves.len() as u32;
            all.leaves.push([all.vertices.len() as u32, all.edges.len() as u32, all.triangles.len() as u32, node.body]);
            all.vertices.extend(self.vertices.of_leaf(leaf).map(|(v, _)| [v, leaf]));
            all.edges.extend(self.edges.of_leaf(leaf).map(|(e, [a, b])| [e, a, b, leaf]));
            all.triangles.extend(self.triangles.of_leaf(leaf).map(|(t, [a, b, c])| [t, a, b, c]));
        }
        all.leaves.push([all.vertices.len() as u32, all.edges.len() as u32, all.triangles.len() as u32, Mesh::NONE]);
        all
    }

    /// The boxes of all vertices at the start: three least coordinates and one without meaning, then the greatest; then
    /// those at the end.
    pub fn vertex_sweeps(&self) -> &[[f32; 16]] {
        bytemuck::cast_slice(&self.vertex_sweeps)
    }

    /// Whether a body is to be searched for pairs of its own.
    pub fn meets_itself(&self, mesh: &Mesh, body: usize) -> bool {
        mesh.mobility[body] == Mobility::Deformable && !self.is_certified[body]
    }

    /// The candidates, as of [`query`](Bvh::query), if `found` are all pairs of features that may meet by their boxes
    /// and share no vertex, of bodies that may meet: two of which one is movable, or one that
    /// [`meets_itself`](Bvh::meets_itself). In any order.
    pub fn candidates_among(&mut self, mesh: &Mesh, x: &[Vec3], found: &Candidates) -> Candidates {
        self.fit_nodes();
        let this = &*self;
        let near = |pairs: &[[u32; 2]], is_face: bool| {
            let (vertex_faces, edge_edges) = if is_face { (pairs.to_vec(), vec![]) } else { (vec![], pairs.to_vec()) };
            let mut part = Candidates { vertex_faces, edge_edges };
            let [of_vertices, of_edges, of_triangles] = &this.leaf_of;
            let may_meet = |&[a, b]: &[u32; 2], are_edges: bool| {
                let leaves = if are_edges {
                    [of_edges[a as usize], of_edges[b as usize]]
                } else {
                    [of_vertices[a as usize], of_triangles[b as usize]]
                };
                this.leaf_pairs.may_meet(leaves, are_edges, [a, b])
                    && (this.leaf_pairs.contains(leaves[0], leaves[1]) || leaves[0] == leaves[1] || !this.are_leaves_parted(leaves))
            };
            part.vertex_faces.retain(|pair| may_meet(pair, false));
            part.edge_edges.retain(|pair| may_meet(pair, true));
            this.keep_near(mesh, x, &mut part);
            if is_face { part.vertex_faces } else { part.edge_edges }
        };
        let all = |of: &dyn Fn(&Candidates) -> &Vec<[u32; 2]>, is_face: bool, limits: [usize; 2]| {
            let chunks: Vec<&[[u32; 2]]> = of(found).chunks(PAIRS_PER_TASK).collect();
            let kept: Vec<Vec<[u32; 2]>> = chunks.into_par_iter().map(|pairs| near(pairs, is_face)).collect();
            let mut pairs = vec![];
            Sorter::default().sort(kept.iter(), limits, &mut pairs);
            pairs
        };
        let vertex_faces = all(&|c| &c.vertex_faces, true, [mesh.body.len(), mesh.triangles.len()]);
        let edge_edges = all(&|c| &c.edge_edges, false, [mesh.edges.len(); 2]);
        Candidates { vertex_faces, edge_edges }
    }
}
