//! The pairs of nodes of one body that a search begins with. Leaves that are near each other at rest have boxes that
//! overlap, and so have all nodes above them: these are not tested again and again.

use super::Bvh;
use crate::geometry::mesh::Mesh;

impl Bvh {
    /// Pairs of nodes of a body: each pair of its leaves that is not among the pairs of near leaves is below one of
    /// them.
    pub(super) fn frontier_of(&self, body: usize) -> Vec<(u32, u32)> {
        let mut found = vec![];
        let root = self.roots[body];
        if root != Mesh::NONE {
            let leaves = self.leaves_below(root);
            let near = self.leaf_pairs.all().iter().copied().filter(|pair| leaves.contains(&pair[0])).collect();
            self.add_frontier((root, root), near, &mut found);
        }
        found
    }

    /// Adds what is below a pair of nodes, the latter one not before the former; `near`: the pairs of near leaves
    /// there.
    fn add_frontier(&self, (a, b): (u32, u32), near: Vec<[u32; 2]>, found: &mut Vec<(u32, u32)>) {
        if near.is_empty() {
            return found.push((a, b));
        }
        let is_leaf = |node: u32| self.nodes[node as usize].end == node + 1;
        if is_leaf(a) && is_leaf(b) {
            return;
        }
        let right = |node: u32| self.nodes[node as usize].right_or_leaf;
        let size = |node: u32| self.nodes[node as usize].end - node;
        let children = if a == b {
            vec![(a + 1, a + 1), (a + 1, right(a)), (right(a), right(a))]
        } else if size(a) >= size(b) {
            vec![(a + 1, b), (right(a), b)]
        } else {
            vec![(a, b + 1), (a, right(b))]
        };
        for (a, b) in children {
            let (of_a, of_b) = (self.leaves_below(a), self.leaves_below(b));
            let is_here = |pair: &&[u32; 2]| of_a.contains(&pair[0]) && of_b.contains(&pair[1]);
            self.add_frontier((a, b), near.iter().filter(is_here).copied().collect(), found);
        }
    }

    /// The leaves below a node.
    fn leaves_below(&self, node: u32) -> std::ops::Range<u32> {
        let before = |node: u32| self.leaf_nodes.partition_point(|leaf| *leaf < node) as u32;
        before(node)..before(self.nodes[node as usize].end)
    }
}
