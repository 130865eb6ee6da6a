//! Elimination of the dense blocks of the tree (multifrontal Cholesky; Duff & Reid 1983), in f64.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use nalgebra::{DMatrix, DMatrixViewMut, Dyn, MatrixView, VecStorage};
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::order::{Block, Tree};
use super::{NotPositiveDefinite, panel};
use crate::cancel::CancelToken;
use crate::math::Mat3;
use crate::memory::Pool;
use crate::sparse::Pattern;

/// Triangles up to this size are factored entry by entry.
const SMALL: usize = 24;

/// Their loops begin at multiples of so many entries.
const LANES: usize = 8;

/// Columns of a matrix that are worked on together.
const COLUMNS: usize = 48;

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
    /// Memory of dense matrices.
    pub idle: Pool<Vec<f64>>,
}

impl Matrix<'_> {
    /// A block is eliminated.
    fn tell(&self, block: &Block) {
        let done = work(block);
        let before = self.done.fetch_add(done, Ordering::Relaxed);
        self.cancel.reached((before + done) as f32 / self.all as f32);
    }

    fn zeros(&self, n_rows: usize, n_columns: usize) -> DMatrix<f64> {
        let mut entries = self.idle.take().unwrap_or_default();
        entries.clear();
        entries.resize(n_rows * n_columns, 0.0);
        DMatrix::from_data(VecStorage::new(Dyn(n_rows), Dyn(n_columns), entries))
    }

    fn put(&self, dense: DMatrix<f64>) {
        self.idle.put(dense.data.into());
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
    let mut front = Front::new(matrix, block);
    front.add_matrix(matrix, tree, block);
    for (child, left) in block.children.iter().zip(below) {
        front.add_left(block, &tree.blocks[*child].later, &left);
        matrix.put(left);
    }
    let Front { own, coupling, mut later } = front;
    let inverse = inverse_of_factor(own, matrix)?;
    matrix.check_cancelled()?;
    // L21 = A21 L11^-T, then A22 - L21 L21^T and L21 L11^-1; of triangles only what is not zero.
    let (n, m) = (inverse.nrows(), later.nrows());
    let mut lower = matrix.zeros(m, n);
    by_columns(&mut lower, |columns, mut lower| {
        lower.gemm(1.0, &coupling.columns(0, columns.end), &transposed(&inverse, columns.clone(), columns.end), 0.0);
    });
    matrix.check_cancelled()?;
    by_columns(&mut later, |columns, mut later| {
        let mut below = later.rows_mut(columns.start, m - columns.start);
        below.gemm(-1.0, &lower.rows(columns.start, m - columns.start), &transposed(&lower, columns, n), 1.0);
    });
    matrix.check_cancelled()?;
    let mut coupling = coupling;
    by_columns(&mut coupling, |columns, mut coupling| {
        let rest = n - columns.start;
        coupling.gemm(1.0, &lower.columns(columns.start, rest), &inverse.view((columns.start, columns.start), (rest, columns.len())), 0.0);
    });
    panel::fill(block, entries, &inverse, &coupling);
    [inverse, lower, coupling].into_iter().for_each(|dense| matrix.put(dense));
    matrix.tell(block);
    Ok(later)
}

/// The transpose of the first `n_columns` entries of some rows.
fn transposed(matrix: &DMatrix<f64>, rows: Range<usize>, n_columns: usize) -> MatrixView<'_, f64, Dyn, Dyn, Dyn, Dyn> {
    let entries = matrix.as_slice().get(rows.start..).unwrap_or_default();
    MatrixView::from_slice_with_strides_generic(entries, Dyn(n_columns), Dyn(rows.len()), Dyn(matrix.nrows()), Dyn(1))
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
    fn new(matrix: &Matrix, block: &Block) -> Self {
        let (n, m) = (3 * block.own.len(), 3 * block.later.len());
        Self { own: matrix.zeros(n, n), coupling: matrix.zeros(m, n), later: matrix.zeros(m, m) }
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
        // Nodes that follow each other here and there, none of them on both sides of the own ones' end.
        let runs = places.chunk_by(|a, b| *b == a + 1 && *b != n_own);
        let mut first = 0;
        let runs: Vec<Range<usize>> = runs
            .map(|run| {
                first += run.len();
                first - run.len()..first
            })
            .collect();
        for (c, column) in places.iter().enumerate() {
            let since = runs.partition_point(|run| run.end <= c);
            for run in &runs[since..] {
                let rows = run.start.max(c)..run.end;
                let row = places[rows.start];
                let (target, row, column) = if row < n_own {
                    (&mut self.own, row, *column)
                } else if *column < n_own {
                    (&mut self.coupling, row - n_own, *column)
                } else {
                    (&mut self.later, row - n_own, *column - n_own)
                };
                for axis in 0..3 {
                    let to = 3 * row + (3 * column + axis) * target.nrows();
                    let from = 3 * rows.start + (3 * c + axis) * left.nrows();
                    let target = &mut target.as_mut_slice()[to..to + 3 * rows.len()];
                    target.iter_mut().zip(&left.as_slice()[from..]).for_each(|(target, left)| *target += left);
                }
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
    let mut coupling = matrix.zeros(rest, half);
    coupling.gemm(1.0, &a.view((half, 0), (rest, half)), &transposed(&first, 0..half, half), 0.0);
    let mut second = a.view((half, half), (rest, rest)).into_owned();
    second.gemm(-1.0, &coupling, &transposed(&coupling, 0..rest, half), 1.0);
    let second = inverse_of_factor(second, matrix)?;
    let mut product = matrix.zeros(rest, half);
    product.gemm(1.0, &second, &coupling, 0.0);
    for (c, mut column) in a.column_iter_mut().enumerate() {
        let (above, below) = column.as_mut_slice().split_at_mut(half);
        if c < half {
            above.copy_from_slice(first.column(c).as_slice());
        } else {
            above.fill(0.0);
            below.copy_from_slice(second.column(c - half).as_slice());
        }
    }
    a.view_mut((half, 0), (rest, half)).gemm(-1.0, &product, &first, 0.0);
    [first, coupling, second, product].into_iter().for_each(|dense| matrix.put(dense));
    Ok(a)
}

fn small_inverse_of_factor(a: DMatrix<f64>) -> Result<DMatrix<f64>, NotPositiveDefinite> {
    let n = a.nrows();
    let mut columns = [[0.0; SMALL]; SMALL];
    columns.iter_mut().zip(a.column_iter()).for_each(|(to, from)| to[..n].copy_from_slice(from.as_slice()));
    let inverse = Arch::new().dispatch(SmallInverse { n, a: &columns })?;
    let mut a = a;
    a.column_iter_mut().zip(&inverse).for_each(|(mut to, from)| to.copy_from_slice(&from[..n]));
    Ok(a)
}

/// L^-1 of the first `n` columns of a, whose lower triangle is read, by columns; loops begin where a register does,
/// zeros and all.
struct SmallInverse<'a> {
    n: usize,
    a: &'a [[f64; SMALL]; SMALL],
}

impl WithSimd for SmallInverse<'_> {
    type Output = Result<[[f64; SMALL]; SMALL], NotPositiveDefinite>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        let Self { n, a } = self;
        let mut l = [[0.0; SMALL]; SMALL];
        for j in 0..n {
            let mut sums = [0.0; SMALL];
            let since = j / LANES * LANES;
            for column in &l[..j] {
                let factor = column[j];
                sums[since..].iter_mut().zip(&column[since..]).for_each(|(sum, entry)| *sum += entry * factor);
            }
            let square = a[j][j] - sums[j];
            if square.is_nan() || square <= 0.0 {
                return Err(NotPositiveDefinite);
            }
            let pivot = square.sqrt();
            for i in since..SMALL {
                l[j][i] = (a[j][i] - sums[i]) / pivot;
            }
            l[j][since..j].fill(0.0);
            l[j][j] = pivot;
        }
        let mut inverse = [[0.0; SMALL]; SMALL];
        for (j, x) in inverse[..n].iter_mut().enumerate() {
            let mut sums = [0.0; SMALL];
            for k in j..n {
                let (factor, since) = (if k == j { 1.0 } else { -sums[k] } / l[k][k], k / LANES * LANES);
                sums[since..].iter_mut().zip(&l[k][since..]).for_each(|(sum, entry)| *sum += entry * factor);
                x[k] = factor;
            }
        }
        Ok(inverse)
    }
}
