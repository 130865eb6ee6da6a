//! Nested dissection by coordinates: the order of elimination, and the tree of dense blocks that it leads to (George 1973).

use std::ops::Range;

use crate::cancel::{CancelToken, Cancelled};
use crate::disjoint_sets::DisjointSets;
use crate::math::{Aabb, Vec3};
use crate::sparse::Pattern;

/// Parts of at most this many nodes are not cut.
const LEAF: usize = 24;

/// Cuts tried along each axis, around the middle.
const CUTS: usize = 5;

/// Nodes that are eliminated together: a part that was not cut, or what separates two parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// Places in the order.
    pub own: Range<usize>,
    /// Places of later nodes that the block is coupled to once all before it are eliminated; ascending.
    pub later: Vec<u32>,
    /// Blocks whose separator this is. They stand before it.
    pub children: Vec<usize>,
}

/// Children stand before their parents; the own nodes of all blocks follow each other.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    pub blocks: Vec<Block>,
    /// Node at each place.
    pub nodes: Vec<u32>,
    /// Place of each node; `u32::MAX` for fixed nodes.
    pub places: Vec<u32>,
}

/// Orders the nodes that are not fixed; nodes count from the first of `range`, `fixed` and `positions` are given for all nodes of
/// `pattern`. Ends soon after `cancel` is cancelled.
pub fn dissect_unless(
    pattern: &Pattern,
    range: &Range<usize>,
    fixed: &[bool],
    positions: &[Vec3],
    cancel: &CancelToken,
) -> Result<Tree, Cancelled> {
    let n = range.len();
    let free: Vec<u32> = (0..n as u32).filter(|i| !fixed[range.start + *i as usize]).collect();
    let mut tree = Tree { blocks: vec![], nodes: Vec::with_capacity(free.len()), places: vec![u32::MAX; n] };
    let side = vec![Side::Outside; n];
    let mut cutter = Cutter { pattern, first: range.start, positions: &positions[range.clone()], side, cancel, n_free: free.len() };
    cutter.cut_parts(free, &mut tree);
    cancel.check()?;
    for (place, node) in tree.nodes.iter().enumerate() {
        tree.places[*node as usize] = place as u32;
    }
    for b in 0..tree.blocks.len() {
        if cancel.has_been_cancelled() {
            break;
        }
        let own = tree.blocks[b].own.clone();
        let mut later: Vec<u32> = vec![];
        for node in &tree.nodes[own.clone()] {
            later.extend(cutter.neighbours(*node).map(|j| tree.places[j as usize]).filter(|p| *p != u32::MAX && *p as usize >= own.end));
        }
        for child in &tree.blocks[b].children {
            later.extend(tree.blocks[*child].later.iter().filter(|p| **p as usize >= own.end));
        }
        later.sort_unstable();
        later.dedup();
        tree.blocks[b].later = later;
    }
    cancel.check()?;
    Ok(tree)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Outside,
    Low,
    High,
}

struct Cutter<'a> {
    pattern: &'a Pattern,
    first: usize,
    positions: &'a [Vec3],
    /// Where the nodes stand in the cut that is looked at.
    side: Vec<Side>,
    /// Ends the cutting; the tree is not whole then.
    cancel: &'a CancelToken,
    /// How many nodes are cut in all.
    n_free: usize,
}

impl Cutter<'_> {
    fn neighbours(&self, node: u32) -> impl Iterator<Item = u32> {
        self.pattern.columns[self.pattern.row(self.first + node as usize)].iter().map(|j| *j - self.first as u32)
    }

    /// Cuts what edges between the nodes connect, each by itself: nothing is between two of them, so that an empty block
    /// stands above all.
    fn cut_parts(&mut self, nodes: Vec<u32>, tree: &mut Tree) {
        let mut connected = DisjointSets::new(self.side.len());
        let mut is_taken = vec![false; self.side.len()];
        nodes.iter().for_each(|i| is_taken[*i as usize] = true);
        for i in &nodes {
            self.neighbours(*i).filter(|j| is_taken[*j as usize]).for_each(|j| {
                connected.join(*i as usize, j as usize);
            });
        }
        let mut in_order: Vec<(usize, u32)> = nodes.iter().map(|i| (connected.root(*i as usize), *i)).collect();
        in_order.sort_unstable();
        let parts = in_order.chunk_by(|a, b| a.0 == b.0).map(|part| part.iter().map(|(_, i)| *i).collect());
        let tops: Vec<usize> = parts.filter_map(|part| self.cut(part, tree)).collect();
        if tops.len() > 1 {
            let end = tree.nodes.len();
            tree.blocks.push(Block { own: end..end, later: vec![], children: tops });
        }
    }

    /// Cuts `part` and what comes of it; returns its last block.
    fn cut(&mut self, part: Vec<u32>, tree: &mut Tree) -> Option<usize> {
        if part.is_empty() || self.cancel.has_been_cancelled() {
            return None;
        }
        let mut children = vec![];
        let mut own = part;
        if own.len() > LEAF {
            let Parts { low, high, separator } = self.best_cut(&own);
            // A separator as large as the part separates nothing.
            if !low.is_empty() || !high.is_empty() {
                children.extend(self.cut(low, tree));
                children.extend(self.cut(high, tree));
                own = separator;
                if own.is_empty() && children.len() == 1 {
                    return children.pop();
                }
            }
        }
        let start = tree.nodes.len();
        tree.nodes.extend(own);
        self.cancel.reached(0.9 * tree.nodes.len() as f32 / self.n_free as f32);
        tree.blocks.push(Block { own: start..tree.nodes.len(), later: vec![], children });
        Some(tree.blocks.len() - 1)
    }

    /// The cut across one of the axes near the middle with the smallest separator, for its balance.
    fn best_cut(&mut self, part: &[u32]) -> Parts {
        let extent = Aabb::of(part.iter().map(|i| &self.positions[*i as usize])).extent();
        let mut best: Option<(f64, Parts)> = None;
        for axis in 0..3 {
            if extent[axis] < 0.4 * extent.max() {
                continue;
            }
            let mut sorted = part.to_vec();
            sorted.sort_by(|a, b| self.positions[*a as usize][axis].total_cmp(&self.positions[*b as usize][axis]).then(a.cmp(b)));
            let mut last = usize::MAX;
            for cut in 0..CUTS {
                if self.cancel.has_been_cancelled() {
                    break;
                }
                // From 3/8 to 5/8 of the nodes, moved to a gap between coordinates where that is near.
                let wanted = sorted.len() * (3 * (CUTS - 1) + 2 * cut) / (8 * (CUTS - 1));
                let value = self.positions[sorted[wanted] as usize][axis];
                let plane = sorted.partition_point(|i| self.positions[*i as usize][axis] < value - 1e-6 * extent[axis]);
                let at = if plane > sorted.len() / 4 { plane } else { wanted };
                if at == last {
                    continue;
                }
                last = at;
                let parts = self.parts(&sorted[..at], &sorted[at..]);
                let balance = parts.low.len().max(parts.high.len()) as f64 / part.len() as f64;
                let cost = parts.separator.len() as f64 * (1.0 + balance);
                if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                    best = Some((cost, parts));
                }
            }
        }
        best.map_or_else(|| Parts { low: vec![], high: vec![], separator: part.to_vec() }, |(_, parts)| parts)
    }

    /// Takes the nodes of one side that touch the other out of it; of the side that has fewer of them.
    fn parts(&mut self, low: &[u32], high: &[u32]) -> Parts {
        low.iter().for_each(|i| self.side[*i as usize] = Side::Low);
        high.iter().for_each(|i| self.side[*i as usize] = Side::High);
        let touches = |i: u32, side: Side| self.neighbours(i).any(|j| self.side[j as usize] == side);
        let (low_rim, low_rest): (Vec<u32>, Vec<u32>) = low.iter().partition(|i| touches(**i, Side::High));
        let (high_rim, high_rest): (Vec<u32>, Vec<u32>) = high.iter().partition(|i| touches(**i, Side::Low));
        low.iter().chain(high).for_each(|i| self.side[*i as usize] = Side::Outside);
        if low_rim.len() < high_rim.len() || (low_rim.len() == high_rim.len() && low.len() > high.len()) {
            Parts { low: low_rest, high: high.to_vec(), separator: low_rim }
        } else {
            Parts { low: low.to_vec(), high: high_rest, separator: high_rim }
        }
    }
}

struct Parts {
    low: Vec<u32>,
    high: Vec<u32>,
    separator: Vec<u32>,
}
