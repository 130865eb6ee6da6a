//! Tets between those of near leaves, so that paths lead from one leaf to the other.

use std::collections::BTreeMap;

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
    (0..).zip(&hosts.tets).for_each(|(number, tet)| tet.nodes.iter().for_each(|node| at_node[*node as usize].push(number)));
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
    let is_loose = |pair: &&[u32; 2]| {
        let mut tets = tets_of(of_leaves, pair);
        gather(&mut tets) < tets.len()
    };
    let loose: Vec<[u32; 2]> = pairs.par_iter().with_min_len(64).filter(is_loose).copied().collect();
    for pair in &loose {
        let mut tets = tets_of(of_leaves, pair);
        let n = gather(&mut tets);
        if n == tets.len() {
            continue;
        }
        let (joined, others) = tets.split_at(n);
        // From tet to tet over common nodes, all of one distance before those of the next.
        let mut before: BTreeMap<u32, Option<u32>> = joined.iter().map(|tet| (*tet, None)).collect();
        let mut front: Vec<u32> = joined.to_vec();
        'search: for _ in 0..MAX_JOINING {
            let mut next = vec![];
            for tet in front {
                for other in nodes_of(tet).iter().flat_map(|node| &at_node[*node as usize]) {
                    if others.contains(other) {
                        let mut way = tet;
                        while let Some(Some(previous)) = before.get(&way) {
                            of_leaves[pair[0] as usize].push(way);
                            way = *previous;
                        }
                        break 'search;
                    }
                    if !before.contains_key(other) {
                        before.insert(*other, Some(tet));
                        next.push(*other);
                    }
                }
            }
            front = next;
        }
    }
    for own in of_leaves {
        own.sort_unstable();
        own.dedup();
    }
}
