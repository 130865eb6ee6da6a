//! Aggregates of nodes that move as rigid parts. They serve the coarse space of the device's preconditioner only
//! (`rigid`,
//! `fem-study.md` 5); the CPU's is `lattice`.
//!
//! They grow along the edges of the mesh: boxes would tie ears and limbs together across air, and cost twice the
//! iterations.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::Pattern;
use crate::math::{Aabb, Vec3};

/// Nodes of an aggregate of a small body.
const NODES: usize = 36;
/// Bodies with more aggregates than this get larger ones: the solve of the coarse problem grows faster than their
/// number.
const MANY: usize = 320;
const GROWTH: f64 = 0.6;
/// Fewer nodes may lie in one plane or on a line, and do not fix a rotation.
const FEWEST: usize = 8;
/// How often seeds are moved to the middle of what grew from them.
const ROUNDS: usize = 3;

const NONE: u32 = u32::MAX;

/// Groups of the free nodes of the body `range`, counted from its first one; `fixed` and `positions` are given for all
/// nodes of the pattern. They grow from at most `most` seeds; parts that are not connected have groups of their own
/// beyond.
pub fn aggregates(pattern: &Pattern, range: &Range<usize>, fixed: &[bool], positions: &[Vec3], most: usize) -> Vec<Vec<u32>> {
    let mut free: Vec<u32> = (0..range.len() as u32).filter(|i| !fixed[range.start + *i as usize]).collect();
    let body = Body { pattern, first: range.start, fixed: &fixed[range.clone()], positions: &positions[range.clone()] };
    let mut seeds = vec![];
    body.bisect(&mut free, number_of_parts(range.len(), NODES, MANY, GROWTH).min(most.max(1)), &mut seeds);
    let mut groups = body.grow(&mut seeds);
    for _ in 1..ROUNDS {
        seeds = groups.iter().map(|group| body.middle(group)).collect();
        groups = body.grow(&mut seeds);
    }
    body.merge_small(&mut groups);
    groups
}

/// How many parts a body of `n` nodes gets: one for so many `nodes` each; where that makes `many` and more, their
/// number grows with the power `growth` only.
pub fn number_of_parts(n: usize, nodes: usize, many: usize, growth: f64) -> usize {
    let (few, many) = (n as f64 / nodes as f64, many as f64);
    (if few < many { few } else { many * (few / many).powf(growth) }).ceil() as usize
}

/// The mesh of one body; nodes count from its first one.
pub struct Body<'a> {
    pub pattern: &'a Pattern,
    pub first: usize,
    pub fixed: &'a [bool],
    pub positions: &'a [Vec3],
}

impl Body<'_> {
    /// Free nodes with an edge to `node`, and this itself.
    pub fn neighbours(&self, node: u32) -> impl Iterator<Item = u32> {
        let columns = &self.pattern.columns[self.pattern.row(self.first + node as usize)];
        columns.iter().map(|j| *j - self.first as u32).filter(|j| !self.fixed[*j as usize])
    }

    /// Cuts `nodes` across the longest extent until there are `parts`; adds the middle of each to `seeds`.
    fn bisect(&self, nodes: &mut [u32], parts: usize, seeds: &mut Vec<u32>) {
        if nodes.is_empty() {
            return;
        }
        if parts <= 1 || nodes.len() == 1 {
            seeds.push(self.middle(nodes));
            return;
        }
        let at = |i: u32| &self.positions[i as usize];
        let axis = Aabb::of(nodes.iter().map(|i| at(*i))).extent().imax();
        let cut = nodes.len() * (parts / 2) / parts;
        nodes.select_nth_unstable_by(cut, |a, b| at(*a)[axis].total_cmp(&at(*b)[axis]).then(a.cmp(b)));
        let (low, high) = nodes.split_at_mut(cut);
        self.bisect(low, parts / 2, seeds);
        self.bisect(high, parts - parts / 2, seeds);
    }

    /// The node nearest to the mean.
    fn middle(&self, nodes: &[u32]) -> u32 {
        let center = nodes.iter().map(|i| self.positions[*i as usize]).sum::<Vec3>() / nodes.len() as f64;
        let distance = |i: u32| (self.positions[i as usize] - center).norm_squared();
        nodes.iter().copied().min_by(|a, b| distance(*a).total_cmp(&distance(*b)).then(a.cmp(b))).unwrap_or(NONE)
    }

    /// The free nodes that are nearest to each seed along the edges [Dijkstra]; what no seed reaches gets seeds of its
    /// own.
    fn grow(&self, seeds: &mut Vec<u32>) -> Vec<Vec<u32>> {
        let mut owner = vec![NONE; self.positions.len()];
        let mut distance = vec![f64::INFINITY; self.positions.len()];
        // Positive numbers compare as their bits do.
        let mut next = BinaryHeap::new();
        for (seed, node) in seeds.iter().enumerate() {
            next.push(Reverse((0u64, *node, seed as u32)));
        }
        let mut unseen = 0;
        loop {
            while let Some(Reverse((bits, node, seed))) = next.pop() {
                if owner[node as usize] != NONE {
                    continue;
                }
                owner[node as usize] = seed;
                for j in self.neighbours(node).filter(|j| owner[*j as usize] == NONE) {
                    let way = f64::from_bits(bits) + (self.positions[j as usize] - self.positions[node as usize]).norm();
                    if way < distance[j as usize] {
                        distance[j as usize] = way;
                        next.push(Reverse((way.to_bits(), j, seed)));
                    }
                }
            }
            while unseen < owner.len() && (owner[unseen] != NONE || self.fixed[unseen]) {
                unseen += 1;
            }
            if unseen == owner.len() {
                break;
            }
            next.push(Reverse((0, unseen as u32, seeds.len() as u32)));
            seeds.push(unseen as u32);
        }
        let mut groups = vec![vec![]; seeds.len()];
        for (node, owner) in owner.iter().enumerate().filter(|(_, owner)| **owner != NONE) {
            groups[*owner as usize].push(node as u32);
        }
        groups.retain(|group| !group.is_empty());
        groups
    }

    /// Gives groups of fewer than [`FEWEST`] nodes to the one that they have most edges to.
    pub fn merge_small(&self, groups: &mut Vec<Vec<u32>>) {
        let mut owner = vec![NONE; self.positions.len()];
        for (g, group) in groups.iter().enumerate() {
            group.iter().for_each(|i| owner[*i as usize] = g as u32);
        }
        for g in 0..groups.len() {
            if groups[g].len() >= FEWEST {
                continue;
            }
            let mut others: Vec<u32> = groups[g].iter().flat_map(|i| self.neighbours(*i)).map(|j| owner[j as usize]).collect();
            others.retain(|other| *other != g as u32);
            others.sort_unstable();
            let most = others.chunk_by(|a, b| a == b).max_by_key(|same| (same.len(), Reverse(same[0])));
            if let Some(other) = most.map(|same| same[0] as usize) {
                let moved = std::mem::take(&mut groups[g]);
                moved.iter().for_each(|i| owner[*i as usize] = other as u32);
                groups[other].extend(moved);
            }
        }
        groups.retain(|group| !group.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path of `n` nodes a meter apart, and two nodes for themselves.
    fn path(n: usize) -> (Pattern, Vec<Vec3>) {
        let edges = (1..n as u32).map(|i| [i - 1, i]).chain([[n as u32, n as u32 + 1]]).collect();
        (Pattern::new(n + 2, edges), (0..n + 2).map(|i| Vec3::new(i as f64, 0.0, 0.0)).collect())
    }

    #[test]
    fn all_free_nodes_are_in_one_connected_group() {
        let n = 400;
        let (pattern, x) = path(n);
        let fixed: Vec<bool> = (0..n + 2).map(|i| i == 5 || i == 200).collect();
        let groups = aggregates(&pattern, &(0..n + 2), &fixed, &x, usize::MAX);
        let mut all: Vec<u32> = groups.concat();
        all.sort_unstable();
        assert_eq!(all, (0..n as u32 + 2).filter(|i| !fixed[*i as usize]).collect::<Vec<_>>());
        for group in &groups {
            let mut sorted = group.clone();
            sorted.sort_unstable();
            assert!(sorted.windows(2).all(|w| w[1] == w[0] + 1), "a part across a gap: {sorted:?}");
            assert!(group.len() >= FEWEST || group.contains(&0) || group.contains(&(n as u32)), "{group:?}");
        }
        assert!((8..20).contains(&groups.len()), "{}", groups.len());
        // Three parts, and two nodes for themselves.
        assert!(aggregates(&pattern, &(0..n + 2), &fixed, &x, 3).len() <= 5);
    }
}
