//! Tets between those of near leaves, so that paths lead from one leaf to the other.

use rayon::prelude::*;

use crate::geometry::hosts::Hosts;

/// Most tets in a row that are added to a leaf to reach another one.
const MAX_JOINING: usize = 3;

/// Adds tets to the lesser leaves of `pairs` whose tets (`of_leaves`) do not hang together by nodes, so that they do
/// where the body does near them.
pub(super) fn join_leaves(hosts: &Hosts, pairs: &[[u32; 2]], of_leaves: &mut [Vec<u32>]) {
    let nodes_of = |tet: u32| hosts.tets[tet as usize].nodes;
    let n_nodes = hosts.tets.iter().flat_map(|tet| tet.nodes).max().map_or(0, |node| node as usize + 1);
    let mut at_node = vec![vec![]; n_nodes];
    let sound = (0..).zip(&hosts.tets).filter(|(_, tet)| !tet.is_too_slender());
    sound.for_each(|(number, tet)| tet.nodes.iter().for_each(|node| at_node[*node as usize].push(number)));
    let tets_of = |of_leaves: &[Vec<u32>], pair: &[u32; 2]| -> Vec<u32> {
        pair.iter().flat_map(|leaf| &of_leaves[*leaf as usize]).copied().collect()
    };
    // Tets that hang together with the first one come first; how many those are.
    let gather = |tets: &mut [u32]| {
        let mut n = tets.len().min(1);
        let mut k = 0;
        while k < n {
            let (nodes, first) = (nodes_of(tets[k]), n);
            for other in first..tets.len() {
                if nodes_of(tets[other]).iter().any(|node| nodes.contains(node)) {
                    tets.swap(n, other);
                    n += 1;
                }
            }
            k += 1;
        }
        n
    };
    // Each from its own tets, whatever the others come to: in any order, on any thread.
    let join = |search: &mut Search, pair: &[u32; 2]| {
        let mut tets = tets_of(of_leaves, pair);
        let n = gather(&mut tets);
        let (joined, others) = tets.split_at(n);
        let way = if others.is_empty() { vec![] } else { search.way(joined, others) };
        (!way.is_empty()).then_some((pair[0], way))
    };
    let ways: Vec<(u32, Vec<u32>)> =
        pairs.par_iter().with_min_len(64).map_init(|| Search::new(hosts, &at_node), join).flatten_iter().collect();
    ways.into_iter().for_each(|(leaf, way)| of_leaves[leaf as usize].extend(way));
    for own in of_leaves {
        own.sort_unstable();
        own.dedup();
    }
}

/// A search for a way from tets to others over common nodes. What is known of tets and nodes is as at the beginning
/// between searches.
struct Search<'a> {
    hosts: &'a Hosts,
    at_node: &'a [Vec<u32>],
    tets: Vec<Known>,
    /// Of each node the place in `near` of the tet that came to it.
    of_nodes: Vec<Option<usize>>,
    /// Tets that were come to, each with the place of the one before it; and the nodes.
    near: Vec<(u32, Option<usize>)>,
    nodes: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    Nothing,
    Near,
    Other,
}

impl<'a> Search<'a> {
    fn new(hosts: &'a Hosts, at_node: &'a [Vec<u32>]) -> Self {
        let (tets, of_nodes) = (vec![Known::Nothing; hosts.tets.len()], vec![None; at_node.len()]);
        Self { hosts, at_node, tets, of_nodes, near: vec![], nodes: vec![] }
    }

    /// The tets of a shortest way from one of `joined` to one of `others`, without these; none if there is no way over
    /// few tets.
    fn way(&mut self, joined: &[u32], others: &[u32]) -> Vec<u32> {
        others.iter().for_each(|tet| self.tets[*tet as usize] = Known::Other);
        joined.iter().for_each(|tet| self.come_to(*tet, None));
        let mut last = self.last_of_way();
        let mut way = vec![];
        while let Some((tet, Some(before))) = last.map(|last| self.near[last]) {
            way.push(tet);
            last = Some(before);
        }
        let known = others.iter().chain(self.near.iter().map(|(tet, _)| tet));
        known.for_each(|tet| self.tets[*tet as usize] = Known::Nothing);
        self.nodes.drain(..).for_each(|node| self.of_nodes[node as usize] = None);
        self.near.clear();
        way
    }

    /// The tet before the first of the others, all of one distance before those of the next.
    fn last_of_way(&mut self) -> Option<usize> {
        let at_node = self.at_node;
        let mut front = 0;
        for _ in 0..MAX_JOINING {
            let end = self.nodes.len();
            for k in front..end {
                let node = self.nodes[k] as usize;
                let from = self.of_nodes[node];
                for tet in &at_node[node] {
                    match self.tets[*tet as usize] {
                        Known::Other => return from,
                        Known::Nothing => self.come_to(*tet, from),
                        Known::Near => {}
                    }
                }
            }
            front = end;
        }
        None
    }

    fn come_to(&mut self, tet: u32, from: Option<usize>) {
        self.tets[tet as usize] = Known::Near;
        for node in self.hosts.tets[tet as usize].nodes {
            if self.of_nodes[node as usize].is_none() {
                self.of_nodes[node as usize] = Some(self.near.len());
                self.nodes.push(node);
            }
        }
        self.near.push((tet, from));
    }
}
