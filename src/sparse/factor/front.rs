//! Elimination of the dense blocks of the tree (multifrontal Cholesky; Duff & Reid 1983), in f64.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use nalgebra::{DMatrix, DMatrixViewMut};
use rayon::prelude::*;

use super::order::{Block, Tree};
use super::{NotPositiveDefinite, panel};
use crate::cancel::CancelToken;
use crate::math::Mat3;
use crate::sparse::Pattern;

/// Triangles up to this size are factored entry by entry.
const SMALL: usize = 24;

/// Columns of a matrix that are worked on together.
const COLUMNS: usize = 96;

/// Blocks with fewer nodes before them are left to one thread.
const PARALLEL: usize = 200;

/// The matrix to factor: blocks on a pattern, nodes counted from `first`.
pub struct Matrix<'a> {
    pub pattern: &'a Pattern,
    /// Those of the rows from `first` on.
    pub blocks: &'a [Mat3],
    pub first: usize,
    /// Ends the elimination, as if the matrix were not positive definite.
    pub cancel: &'a CancelToken,
    /// Products of blocks that are done.
    pub done: AtomicU64,
    /// Products of all blocks.
    pub all: u64,
}

impl Matrix<'_> {
    /// A block is eliminated.
    fn tell(&self, block: &Block) {
        let done = work(block);
        let before = self.done.fetch_add(done, Ordering::Relaxed);
        self.cancel.reached((before + done) as f32 / self.all as f32);
    }

    fn check_cancelled(&self) -> Result<(), NotPositiveDefinite> {
        self.cancel.check().map_err(|_| NotPositiveDefinite)
    }
}

/// Products of blocks that the elimination of one takes.
pub fn work(block: &Block) -> u64 {
    let (own, later) = (block.own.len() as u64, block.later.len() as u64);
    own * (own + later).pow(2)
}

/// Writes the panels of all blocks to `entries`, which are zeros; they begin at `starts`.
pub fn eliminate(matrix: &Matrix, tree: &Tree, starts: &[usize], entries: &mut [f32]) -> Result<(), NotPositiveDefinite> {
    // The last block is the root of all others.
    tree.blocks.len().checked_sub(1).map_or(Ok(()), |root| subtree(matrix, tree, starts, root, entries).map(drop))
}

/// Writes the panels of what stands below `root`, and then its own; what the elimination leaves for the nodes `later`
/// of the root (lower triangle).
fn subtree(matrix: &Matrix, tree: &Tree, starts: &[usize], root: usize, entries: &mut [f32]) -> Result<DMatrix<f64>, NotPositiveDefinite> {
    matrix.check_cancelled()?;
    let block = &tree.blocks[root];
    let mut at = starts[root + 1] - entries.len();
    let mut entries = entries;
    let mut of_children = vec![];
    for child in &block.children {
        let (of_child, rest) = std::mem::take(&mut entries).split_at_mut(starts[child + 1] - at);
        of_children.push((*child, of_child));
        (entries, at) = (rest, starts[child + 1]);
    }
    let below = |(child, entries): (usize, &mut [f32])| subtree(matrix, tree, starts, child, entries);
    let below: Vec<_> = if block.own.start < PARALLEL {
        of_children.into_iter().map(below).collect::<Result<_, _>>()?
    } else {
        of_children.into_par_iter().map(below).collect::<Result<_, _>>()?
    };
    let mut front = Front::new(block);
    front.add_matrix(matrix, tree, block);
    for (child, left) in block.children.iter().zip(below) {
        front.add_left(block, &tree.blocks[*child].later, &left);
    }
    let Front { own, coupling, mut later } = front;
    let inverse = inverse_of_factor(own, matrix)?;
    matrix.check_cancelled()?;
    // L21 = A21 L11^-T, then A22 - L21 L21^T and L21 L11^-1; of triangles only what is not zero.
    let (n, m) = (inverse.nrows(), later.nrows());
    let mut lower = DMatrix::zeros(m, n);
    by_columns(&mut lower, |columns, mut lower| {
        let inverse = inverse.view((columns.start, 0), (columns.len(), columns.end)).transpose();
        lower.gemm(1.0, &coupling.columns(0, columns.end), &inverse, 0.0);
    });
    matrix.check_cancelled()?;
    by_columns(&mut later, |columns, mut later| {
        let mut below = later.rows_mut(columns.start, m - columns.start);
        below.gemm(-1.0, &lower.rows(columns.start, m - columns.start), &lower.rows(columns.start, columns.len()).transpose(), 1.0);
    });
    matrix.check_cancelled()?;
    let mut coupling = coupling;
    by_columns(&mut coupling, |columns, mut coupling| {
        let rest = n - columns.start;
        coupling.gemm(1.0, &lower.columns(columns.start, rest), &inverse.view((columns.start, columns.start), (rest, columns.len())), 0.0);
    });
    panel::fill(block, entries, &inverse, &coupling);
    matrix.tell(block);
    Ok(later)
}

/// Does `work` on groups of columns, side by side where there are many.
fn by_columns(matrix: &mut DMatrix<f64>, work: impl Fn(Range<usize>, DMatrixViewMut<f64>) + Sync) {
    let (n_rows, n_columns) = matrix.shape();
    if n_rows == 0 {
        return;
    }
    let part = |(k, entries): (usize, &mut [f64])| {
        let first = k * COLUMNS;
        let end = (first + COLUMNS).min(n_columns);
        work(first..end, DMatrixViewMut::from_slice(entries, n_rows, end - first));
    };
    let parts = matrix.as_mut_slice();
    if n_columns <= COLUMNS {
        parts.chunks_mut(n_rows * COLUMNS).enumerate().for_each(part);
    } else {
        parts.par_chunks_mut(n_rows * COLUMNS).enumerate().for_each(part);
    }
}

/// The dense matrix over the nodes of a block and the later ones.
struct Front {
    own: DMatrix<f64>,
    coupling: DMatrix<f64>,
    later: DMatrix<f64>,
}

impl Front {
    fn new(block: &Block) -> Self {
        let (n, m) = (3 * block.own.len(), 3 * block.later.len());
        Self { own: DMatrix::zeros(n, n), coupling: DMatrix::zeros(m, n), later: DMatrix::zeros(m, m) }
    }

    fn add_matrix(&mut self, matrix: &Matrix, tree: &Tree, block: &Block) {
        let first_block = matrix.pattern.row_starts[matrix.first] as usize;
        for (k, node) in tree.nodes[block.own.clone()].iter().enumerate() {
            for b in matrix.pattern.row(matrix.first + *node as usize) {
                let place = tree.places[matrix.pattern.columns[b] as usize - matrix.first];
                if place == u32::MAX || (place as usize) < block.own.start {
                    continue;
                }
                // The row of a node holds the transposed blocks of its column.
                let (target, row) = if (place as usize) < block.own.end {
                    (&mut self.own, place as usize - block.own.start)
                } else {
                    (&mut self.coupling, block.later.partition_point(|p| *p < place))
                };
                target.fixed_view_mut::<3, 3>(3 * row, 3 * k).copy_from(&matrix.blocks[b - first_block].transpose());
            }
        }
    }

    /// Adds what a child left for the nodes `nodes`.
    fn add_left(&mut self, block: &Block, nodes: &[u32], left: &DMatrix<f64>) {
        let n_own = block.own.len();
        let mut at = 0;
        let places = nodes.iter().map(|place| {
            if (*place as usize) < block.own.end {
                return *place as usize - block.own.start;
            }
            while block.later[at] < *place {
                at += 1;
            }
            n_own + at
        });
        let places: Vec<usize> = places.collect();
        for (c, column) in places.iter().enumerate() {
            for (r, row) in places.iter().enumerate().skip(c) {
                let (target, row, column) = if *row < n_own {
                    (&mut self.own, *row, *column)
                } else if *column < n_own {
                    (&mut self.coupling, *row - n_own, *column)
                } else {
                    (&mut self.later, *row - n_own, *column - n_own)
                };
                let mut target = target.fixed_view_mut::<3, 3>(3 * row, 3 * column);
                target += left.fixed_view::<3, 3>(3 * r, 3 * c);
            }
        }
    }
}

/// L^-1 of `a = L L^T`, of which the lower triangle is read; by halves, so that nearly all work is matrix products.
fn inverse_of_factor(mut a: DMatrix<f64>, matrix: &Matrix) -> Result<DMatrix<f64>, NotPositiveDefinite> {
    matrix.check_cancelled()?;
    let n = a.nrows();
    if n <= SMALL {
        return small_inverse_of_factor(a);
    }
    let half = n / 2;
    let rest = n - half;
    let first = inverse_of_factor(a.view((0, 0), (half, half)).into_owned(), matrix)?;
    let coupling = a.view((half, 0), (rest, half)) * first.transpose();
    let mut second = a.view_mut((half, half), (rest, rest)).into_owned();
    second.gemm(-1.0, &coupling, &coupling.transpose(), 1.0);
    let second = inverse_of_factor(second, matrix)?;
    a.fill(0.0);
    a.view_mut((half, 0), (rest, half)).gemm(-1.0, &(&second * coupling), &first, 0.0);
    a.view_mut((0, 0), (half, half)).copy_from(&first);
    a.view_mut((half, half), (rest, rest)).copy_from(&second);
    Ok(a)
}

fn small_inverse_of_factor(mut l: DMatrix<f64>) -> Result<DMatrix<f64>, NotPositiveDefinite> {
    let n = l.nrows();
    for j in 0..n {
        for i in j..n {
            let sum = l[(i, j)] - (0..j).map(|k| l[(i, k)] * l[(j, k)]).sum::<f64>();
            if i == j && (sum.is_nan() || sum <= 0.0) {
                return Err(NotPositiveDefinite);
            }
            l[(i, j)] = if i == j { sum.sqrt() } else { sum / l[(j, j)] };
        }
    }
    let mut inverse = DMatrix::zeros(n, n);
    for j in 0..n {
        inverse[(j, j)] = 1.0 / l[(j, j)];
        for i in j + 1..n {
            let sum: f64 = (j..i).map(|k| l[(i, k)] * inverse[(k, j)]).sum();
            inverse[(i, j)] = -sum / l[(i, i)];
        }
    }
    Ok(inverse)
}
