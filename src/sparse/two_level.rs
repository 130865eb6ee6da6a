//! Conjugate gradients in f32 with two levels of preconditioning: the inverse of the diagonal blocks, and fields on
//! the points of a lattice (`fem-study.md` 5).
//!
//! The points p of the cell of a node i move it by `sum_p w_ip R_p u_p`, with trilinear weights of the rest pose. The
//! coarse matrix `P^T A P` of the u is that of the rest pose, factored once a time step length; a step brings the
//! rotations R_p only. Rigid motions of aggregates, which the study chose, take twice the iterations on large bodies:
//! they tear at the seams, while such fields are continuous and hold all linear ones.

mod kernels;
mod solve;
#[cfg(test)]
mod tests;

pub use solve::{Corrected, Enough, TwoLevelSystem, TwoLevelWork};

use std::ops::Range;

use pulp::Arch;

use super::lattice::{Cells, cells};
use super::sell::{self, Block, Fill, HEIGHT, Node, Slice, SlicedPattern, Slot, slice_nodes};
use super::{Pattern, RankOne};
use crate::math::{Mat3, Vec3};
use crate::memory::Pages;

/// Slices that a thread takes at once, and of a window of the matrix.
const CHUNK: usize = 64;
const NONE: u32 = u32::MAX;

/// The free nodes of one body in an order of its own: cell after cell of a lattice, each filled up to whole slices.
#[derive(Clone, Debug)]
pub struct Layout {
    pub(super) range: Range<usize>,
    /// Node at each place, counted from the first of the body; `u32::MAX` for places without.
    pub(super) nodes: Vec<u32>,
    /// Place of each node; `u32::MAX` for fixed nodes.
    pub(super) places: Vec<u32>,
    pattern: SlicedPattern,
    /// Slices of each cell, and cell of each slice.
    pub(super) cells: Vec<Range<usize>>,
    pub(super) owners: Vec<u32>,
    /// Points of each cell.
    pub(super) corners: Vec<[u32; 8]>,
    /// Corners at each point, by 8 x cell + corner.
    pub(super) at_points: Vec<Vec<u32>>,
    /// Rest positions of the points.
    pub(super) points: Vec<Vec3>,
    /// Where each place stands in its cell, 0 to 1 along each axis.
    pub(super) fractions: Vec<Vec3>,
    sliced_fractions: Pages<Slice>,
    lanes: [usize; HEIGHT],
}

impl Layout {
    /// Covers the rows `range` of `pattern`, a block of their own (a body), without fixed nodes; `fixed` and
    /// `positions` (at rest) are given for all nodes.
    pub fn new(pattern: &Pattern, range: &Range<usize>, fixed: &[bool], positions: &[Vec3]) -> Self {
        let Cells { nodes: parts, corners, places: within, points } = cells(pattern, range, fixed, positions);
        let (mut nodes, mut ranges) = (vec![], vec![]);
        for part in parts {
            let first = nodes.len() / HEIGHT;
            nodes.extend(part);
            nodes.resize(nodes.len().next_multiple_of(HEIGHT), NONE);
            ranges.push(first..nodes.len() / HEIGHT);
        }
        let mut places = vec![NONE; range.len()];
        for (place, node) in nodes.iter().enumerate().filter(|(_, node)| **node != NONE) {
            places[*node as usize] = place as u32;
        }
        let fractions: Vec<Vec3> = nodes.iter().map(|node| within.get(*node as usize).copied().unwrap_or_default()).collect();
        let mut sliced_fractions = Pages::zeros(nodes.len() / HEIGHT);
        let rows: Vec<Node> = fractions.iter().map(|f| [f.x as f32, f.y as f32, f.z as f32, 0.0]).collect();
        slice_nodes(&rows, &mut sliced_fractions);
        let owners = ranges.iter().enumerate().flat_map(|(c, slices)| slices.clone().map(move |_| c as u32)).collect();
        let mut at_points = vec![vec![]; points.len()];
        for (slot, point) in corners.as_flattened().iter().enumerate() {
            at_points[*point as usize].push(slot as u32);
        }
        let mut layout = Self {
            range: range.clone(),
            nodes,
            places,
            pattern: SlicedPattern::default(),
            cells: ranges,
            owners,
            corners,
            at_points,
            points,
            fractions,
            sliced_fractions,
            lanes: sell::lanes(),
        };
        layout.pattern = layout.sliced(pattern);
        layout
    }

    /// Blocks (i, j) of the body's edge e (i < j) come from the source 2 e, blocks (j, i) from 2 e + 1; a source of
    /// zeros stands behind all.
    fn sliced(&self, pattern: &Pattern) -> SlicedPattern {
        let edges = pattern.edges_of(&self.range);
        let (none, zero) = (self.nodes.len() as u32, 2 * edges.len() as u32);
        // Of the node at a place: columns and sources of its blocks.
        let blocks = |place: u32| {
            let node = self.nodes[place as usize];
            let Some(i) = (node != NONE).then_some(self.range.start + node as usize) else { return vec![] };
            let blocks = pattern.row(i).filter(|b| *b != pattern.diagonals[i] as usize);
            let entry = |b: usize| {
                let j = pattern.columns[b] as usize;
                // What is held counts in the sum of the row, and nowhere else.
                let place = self.places[j - self.range.start];
                (if place == NONE { none } else { place }, 2 * (pattern.block_edges[b] - edges.start as u32) + u32::from(j < i))
            };
            blocks.map(entry).collect()
        };
        let (mut starts, mut in_order, mut columns, mut sources) = (vec![0], vec![], vec![], vec![]);
        for first in (0..self.nodes.len()).step_by(CHUNK * HEIGHT) {
            let window = first..(first + CHUNK * HEIGHT).min(self.nodes.len());
            let mut rows: Vec<(u32, Vec<(u32, u32)>)> = window.map(|place| (place as u32, blocks(place as u32))).collect();
            rows.sort_by_key(|(_, blocks)| std::cmp::Reverse(blocks.len()));
            for rows in rows.chunks_exact(HEIGHT) {
                in_order.push(std::array::from_fn(|lane| rows[lane].0));
                for k in 0..rows[0].1.len() {
                    let entry = |lane: usize| rows[lane].1.get(k).copied().unwrap_or((none, zero));
                    columns.push(std::array::from_fn(|lane| entry(lane).0));
                    sources.push(std::array::from_fn(|lane| entry(lane).1));
                }
                starts.push(columns.len() as u32);
            }
        }
        SlicedPattern { starts, rows: in_order[..].into(), columns: columns[..].into(), sources: sources[..].into() }
    }

    /// What a product with the matrix reads [bytes].
    pub fn matrix_memory(&self) -> usize {
        self.pattern.columns.len() * size_of::<Slot>()
    }

    pub fn n_points(&self) -> usize {
        self.points.len()
    }

    /// The nodes that a point of the lattice moves, counted from the first of the body, and how much.
    pub fn moved_by(&self, point: usize) -> impl Iterator<Item = (usize, f64)> {
        self.at_points[point].iter().flat_map(|slot| {
            let slices = &self.cells[*slot as usize / 8];
            let places = HEIGHT * slices.start..HEIGHT * slices.end;
            let there = places.filter(|place| self.nodes[*place] != NONE);
            there.map(|place| (self.nodes[place] as usize, weights(&self.fractions[place])[*slot as usize % 8]))
        })
    }
}

/// Trilinear weights of the corners of a cell at a place in it.
pub(super) fn weights(f: &Vec3) -> [f64; 8] {
    let [x, y, z] = [0, 1, 2].map(|axis| [1.0 - f[axis], f[axis]]);
    std::array::from_fn(|corner| x[corner & 1] * y[corner >> 1 & 1] * z[corner >> 2])
}

/// Matrix and preconditioner of one body in a step; memory is kept.
#[derive(Clone, Debug, Default)]
pub struct TwoLevel {
    slots: Pages<Slot>,
    inverses: Pages<Slot>,
    /// R_p.
    rotations: Vec<Mat3>,
    sums: Vec<Node>,
    springs: Vec<RankOne>,
}

impl TwoLevel {
    /// Takes the matrix of a step. `blocks` are the blocks of all edges of the body, see [`Layout`]; `sum` tells of
    /// a node what its row sums up to [kg]; `springs` are those of the body; `rotation` of a point.
    pub fn assemble(
        &mut self,
        layout: &Layout,
        blocks: &[Block],
        sum: impl Fn(usize) -> f64,
        springs: impl Iterator<Item = RankOne>,
        rotation: impl Fn(usize) -> Mat3,
    ) {
        let n = layout.pattern.n_slices();
        self.slots.fit(layout.pattern.columns.len());
        self.inverses.fit(n);
        self.sums.clear();
        self.sums.extend(layout.nodes.iter().map(|node| {
            let sum = if *node == NONE { 0.0 } else { sum(layout.range.start + *node as usize) };
            [sum as f32, 0.0, 0.0, 0.0]
        }));
        self.springs.clear();
        self.springs.extend(springs);
        for spring in &self.springs {
            for (node, weight) in spring.nodes.iter().zip(&spring.weights).filter(|(_, w)| **w != 0.0) {
                let place = layout.places[*node as usize - layout.range.start];
                if place != NONE {
                    self.sums[place as usize][1] += (spring.factor * weight * weight) as f32;
                }
            }
        }
        self.rotations.clear();
        self.rotations.extend((0..layout.n_points()).map(rotation));
        let Self { sums, slots, inverses, .. } = self;
        fill(Fill { pattern: &layout.pattern, first: 0, lanes: &layout.lanes, blocks, sums, slots, inverses });
    }

    /// What the springs of the matrix make of `x` over the nodes of the body, summed up over these: the rest of the matrix
    /// makes of a common velocity what its rows sum up to.
    pub fn sum_of_springs(&self, layout: &Layout, x: &[Vec3]) -> Vec3 {
        let of_spring = |spring: &RankOne| spring.gather(x, layout.range.start) * (spring.factor * spring.weights.iter().sum::<f64>());
        self.springs.iter().map(of_spring).sum()
    }

    /// Inverse of the diagonal block of a node, counted from the first of the body, springs included; zero at fixed
    /// nodes.
    pub fn inverse_diagonal(&self, layout: &Layout, node: usize) -> Mat3 {
        let place = layout.places[node] as usize;
        let entry = |slot: &Slot, k: usize| f64::from(slot.0[k][layout.lanes[place % HEIGHT]]);
        self.inverses.get(place / HEIGHT).map_or_else(Mat3::zeros, |slot| Mat3::from_fn(|r, c| entry(slot, 3 * c + r)))
    }
}

/// Fills slices, halves of them by different threads.
fn fill(whole: Fill) {
    let Fill { pattern, first, lanes, blocks, sums, slots, inverses } = whole;
    let n = inverses.len();
    if n <= 2 * CHUNK {
        return Arch::new().dispatch(Fill { pattern, first, lanes, blocks, sums, slots, inverses });
    }
    let half = (n / 2).next_multiple_of(CHUNK);
    let (sums, sums_after) = sums.split_at(half * HEIGHT);
    let (slots, slots_after) = slots.split_at_mut((pattern.starts[first + half] - pattern.starts[first]) as usize);
    let (inverses, inverses_after) = inverses.split_at_mut(half);
    rayon::join(
        || fill(Fill { pattern, first, lanes, blocks, sums, slots, inverses }),
        || fill(Fill { pattern, first: first + half, lanes, blocks, sums: sums_after, slots: slots_after, inverses: inverses_after }),
    );
}
