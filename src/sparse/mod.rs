//! Block compressed sparse rows (BCSR) with 3x3 blocks over the nodes of a mesh, and vectors of 3-blocks.

mod aggregates;
mod cg;
mod coarse;
mod coarse_field;
mod factor;
pub(crate) mod lanes;
mod lattice;
mod operator;
mod rigid;
mod sell;
mod system;
mod two_level;

pub use cg::{Solved, Until, conjugate_gradient};
pub use coarse::Coarse;
pub use coarse_field::{CoarseField, CoarseWork};
#[cfg(test)]
pub use factor::tests::elastic_box;
pub use factor::{Columns, FactorWork, NotPositiveDefinite, Requested, RestFactor};
pub use operator::{Operator, RankOne, clear_fixed};
pub use rigid::{RigidCoarse, RigidParts};
pub use sell::Block as SingleBlock;
pub use system::{Segment, System};
pub use two_level::{Corrected, Enough, Layout, TwoLevel, TwoLevelSystem, TwoLevelWork};

use std::ops::Range;

use rayon::prelude::*;

use crate::disjoint_sets::DisjointSets;
use crate::math::{Mat3, Vec3};

/// Rows a thread takes at once; fixed, so that sums come out the same for any number of threads.
pub const CHUNK: usize = 512;

/// Below this length a vector operation is done by the calling thread: waking others costs more.
const PARALLEL: usize = 16 * 1024;

/// `sum_i a[i].b[i]`, in the same order for any number of threads.
pub fn dot(a: &[Vec3], b: &[Vec3]) -> f64 {
    debug_assert_eq!(a.len(), b.len());
    let part = |a: &[Vec3], b: &[Vec3]| a.iter().zip(b).map(|(a, b)| a.dot(b)).sum::<f64>();
    if a.len() < PARALLEL {
        return part(a, b);
    }
    let mut sums = [0.0; 32];
    let length = a.len().div_ceil(sums.len());
    (sums.par_iter_mut(), a.par_chunks(length), b.par_chunks(length)).into_par_iter().for_each(|(sum, a, b)| *sum = part(a, b));
    sums.iter().sum()
}

/// `y += s x`.
pub fn axpy(y: &mut [Vec3], s: f64, x: &[Vec3]) {
    combine(y, x, |y, x| *y += x * s);
}

/// `y = x + s y`.
pub fn xpay(y: &mut [Vec3], x: &[Vec3], s: f64) {
    combine(y, x, |y, x| *y = x + *y * s);
}

fn combine(y: &mut [Vec3], x: &[Vec3], f: impl Fn(&mut Vec3, &Vec3) + Sync) {
    if y.len() < PARALLEL {
        y.iter_mut().zip(x).for_each(|(y, x)| f(y, x));
    } else {
        y.par_chunks_mut(CHUNK).zip(x.par_chunks(CHUNK)).for_each(|(y, x)| y.iter_mut().zip(x).for_each(|(y, x)| f(y, x)));
    }
}

/// `y = A x` for the rows `rows` of the blocks `values` on `pattern`, which must form a block of their own: `x` and
/// `y` hold these rows only.
pub fn multiply(pattern: &Pattern, values: &[Mat3], rows: &Range<usize>, x: &[Vec3], y: &mut [Vec3]) {
    let first = rows.start;
    y.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, y)| {
        for (k, y) in y.iter_mut().enumerate() {
            let row = pattern.row(first + chunk * CHUNK + k);
            let mut sum = Vec3::zeros();
            for (column, block) in pattern.columns[row.clone()].iter().zip(&values[row]) {
                sum += block * x[*column as usize - first];
            }
            *y = sum;
        }
    });
}

/// Where the blocks stand: the diagonal and both directions of every mesh edge. Columns ascend in a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pattern {
    /// Row i owns blocks `row_starts[i]..row_starts[i + 1]`.
    pub row_starts: Vec<u32>,
    /// Column of each block.
    pub columns: Vec<u32>,
    /// Block index of each diagonal block.
    pub diagonals: Vec<u32>,
    /// Mesh edges (i, j), i < j, ascending.
    pub edges: Vec<[u32; 2]>,
    /// Block index of (i, j) and of (j, i) for each edge.
    pub edge_blocks: Vec<[u32; 2]>,
    /// The other way: edge of each block. A diagonal block has none, `u32::MAX`.
    pub block_edges: Vec<u32>,
    /// Edges (i, j) of row i begin with `first_edges[i]`.
    pub first_edges: Vec<u32>,
    /// By row: the lowest of the rows that edges connect it with, its own too. Between parts there is nothing.
    pub parts: Vec<u32>,
}

impl Pattern {
    /// Pattern of a mesh with `n_nodes` nodes and the given edges (i < j, sorted, unique).
    pub fn new(n_nodes: usize, edges: Vec<[u32; 2]>) -> Self {
        let mut row_starts = vec![0u32; n_nodes + 1];
        for i in 0..n_nodes {
            row_starts[i + 1] = 1;
        }
        for &[i, j] in &edges {
            row_starts[i as usize + 1] += 1;
            row_starts[j as usize + 1] += 1;
        }
        for i in 0..n_nodes {
            row_starts[i + 1] += row_starts[i];
        }
        // Ascending columns: first the lower neighbours (edges sorted by i arrive in order), then i itself, then the
        // upper ones.
        let mut next = row_starts.clone();
        let mut columns = vec![0u32; row_starts[n_nodes] as usize];
        let mut edge_blocks = vec![[0u32; 2]; edges.len()];
        let mut diagonals = vec![0u32; n_nodes];
        for (e, &[i, j]) in edges.iter().enumerate() {
            edge_blocks[e][1] = next[j as usize];
            columns[next[j as usize] as usize] = i;
            next[j as usize] += 1;
        }
        for i in 0..n_nodes {
            diagonals[i] = next[i];
            columns[next[i] as usize] = i as u32;
            next[i] += 1;
        }
        for (e, &[i, j]) in edges.iter().enumerate() {
            edge_blocks[e][0] = next[i as usize];
            columns[next[i as usize] as usize] = j;
            next[i as usize] += 1;
        }
        let mut block_edges = vec![u32::MAX; columns.len()];
        for (e, [ij, ji]) in edge_blocks.iter().enumerate() {
            block_edges[*ij as usize] = e as u32;
            block_edges[*ji as usize] = e as u32;
        }
        let mut connected = DisjointSets::new(n_nodes);
        edges.iter().for_each(|&[i, j]| {
            connected.join(i as usize, j as usize);
        });
        let parts = (0..n_nodes).map(|i| connected.root(i) as u32).collect();
        let first_edges = (0..=n_nodes).map(|i| edges.partition_point(|edge| (edge[0] as usize) < i) as u32).collect();
        Self { row_starts, columns, diagonals, edges, edge_blocks, block_edges, first_edges, parts }
    }

    pub fn n_rows(&self) -> usize {
        self.diagonals.len()
    }

    pub fn n_blocks(&self) -> usize {
        self.columns.len()
    }

    /// Edges of the rows `rows`, which must form a block of their own.
    pub fn edges_of(&self, rows: &Range<usize>) -> Range<usize> {
        self.first_edges[rows.start] as usize..self.first_edges[rows.end] as usize
    }

    /// Blocks of the rows `rows`.
    pub fn blocks_of(&self, rows: &Range<usize>) -> Range<usize> {
        self.row_starts[rows.start] as usize..self.row_starts[rows.end] as usize
    }

    /// Blocks of row `i`.
    pub fn row(&self, i: usize) -> std::ops::Range<usize> {
        self.row_starts[i] as usize..self.row_starts[i + 1] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_ascend_and_edge_blocks_point_home() {
        let edges = vec![[0, 2], [0, 3], [1, 3], [2, 3]];
        let pattern = Pattern::new(4, edges.clone());
        for i in 0..4 {
            let row = &pattern.columns[pattern.row(i)];
            assert!(row.windows(2).all(|w| w[0] < w[1]), "row {i}: {row:?}");
            assert_eq!(pattern.columns[pattern.diagonals[i] as usize], i as u32);
        }
        for (e, &[i, j]) in edges.iter().enumerate() {
            let [ij, ji] = pattern.edge_blocks[e];
            assert!(pattern.row(i as usize).contains(&(ij as usize)) && pattern.columns[ij as usize] == j);
            assert!(pattern.row(j as usize).contains(&(ji as usize)) && pattern.columns[ji as usize] == i);
        }
        assert_eq!(pattern.n_blocks(), 4 + 2 * edges.len());
    }

    #[test]
    fn parts_are_what_edges_connect() {
        let pattern = Pattern::new(7, vec![[0, 5], [1, 2], [2, 4], [3, 5]]);
        assert_eq!(pattern.parts, [0, 1, 1, 0, 1, 0, 6]);
    }
}
