//! Direct solves with one body's system matrix of the rest pose, factored once (`contact-study.md` 4, 5).
//!
//! Sparse Cholesky on a nested dissection of the body. For each block of the dissection the dense panel `[L11^-1; L21
//! L11^-1]` is kept in f32, so that a solve is nothing but dense products: forward  (y1, y2) <- (L11^-1 b1, y2 - L21
//! L11^-1 b1),  backward x1 = L11^-T y1 - (L21 L11^-1)^T x2.  A solve is bound by memory: f32 halves its time, and
//! whoever solves with the true matrix corrects the rest.
//!
//! Compared with faer 0.24 (supernodal, minimum degree; `benches/factor`) on the bodies of the gallery, one thread,
//! medians of nine by turns on a busy machine. Every pass of every step solves, while a matrix is factored once a run
//! and time step and a column found once a touched node: so this factor stays, though faer's factors sooner and finds
//! columns sooner.
//!
//! | bunny, armadillo, dragon | this | faer f32 | faer f64 |
//! |---|---|---|---|
//! | a solve [us] | 750, 561, 781 | 1490, 1513, 1569 | 1993, 1780, 3210 |
//! | to factor, with the order [ms] | 85, 69, 132 | 42, 38, 58 | 60, 43, 83 |
//! | 48 columns [ms] | 169, 88, 132 | 59, 62, 73 | 85, 86, 124 |
//! | memory [MB] | 7.1, 6.6, 8.6 | 5.4, 4.0, 6.6 | 10.9, 8.0, 13.2 |
//! | error of a solution | 4e-7, 3e-7, 3e-7 | 1e-6, 6e-6, 3e-6 | 1e-14 |
//!
//! For a cube of `pile27` (125 nodes) a solve takes 5.1 us, faer's 18 and 21. With the order of this factor faer takes
//! two to three times as long to factor and no less to solve; its simplicial form is slower in every use but for
//! memory.

mod columns;
mod front;
mod order;
#[cfg(test)]
pub mod tests;

pub use columns::{Columns, Requested};

use std::ops::{Deref, Range};

use nalgebra::{DMatrix, DMatrixView, Dyn};
use pulp::{Simd, WithSimd};

use super::Pattern;
use super::lanes::{Entries, PADDING, add_transposed3, dot3};
use crate::cancel::CancelToken;
use crate::math::{Mat3, Vec3};
use crate::memory::Pages;
use order::Tree;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the matrix is not positive definite")]
pub struct NotPositiveDefinite;

/// Factor of a symmetric positive definite matrix on the free nodes of one body. Nodes count from the first of the
/// body; fixed nodes do not move.
#[derive(Clone, Debug)]
pub struct RestFactor {
    tree: Tree,
    /// Of each block of the tree: unknowns, entries from row to row, and the first one.
    panels: Vec<[usize; 3]>,
    /// Of all panels, in the order in which a solve reads them.
    entries: Pages<f32>,
    n_nodes: usize,
}

/// `[L11^-1; L21 L11^-1]` of a block, row by row; rows are padded with zeros.
#[derive(Clone, Debug)]
struct Panel<E> {
    /// Unknowns of the block.
    n_own: usize,
    stride: usize,
    entries: E,
}

/// Memory of solves, kept between calls.
#[derive(Clone, Debug, Default)]
pub struct FactorWork {
    values: Vec<f32>,
    sum: Entries,
}

impl Panel<Entries> {
    fn new(own: &DMatrix<f64>, later: &DMatrix<f64>) -> Self {
        let (n_own, n_later) = (own.nrows(), later.nrows());
        let stride = n_own.next_multiple_of(PADDING);
        let mut entries = Entries::default();
        entries.reset(stride * (n_own + n_later));
        for c in 0..n_own {
            for r in c..n_own {
                entries[r * stride + c] = own[(r, c)] as f32;
            }
            for r in 0..n_later {
                entries[(n_own + r) * stride + c] = later[(r, c)] as f32;
            }
        }
        Self { n_own, stride, entries }
    }
}

impl<E: Deref<Target = [f32]>> Panel<E> {
    fn n_rows(&self) -> usize {
        self.entries.len().checked_div(self.stride).unwrap_or(0)
    }

    /// Rows of the own node k and of the k-th later one, by `n_own / 3 + k`.
    fn rows(&self, node: usize) -> &[f32] {
        &self.entries[3 * node * self.stride..3 * (node + 1) * self.stride]
    }

    fn transposed(&self) -> DMatrixView<'_, f32, Dyn, Dyn> {
        DMatrixView::from_slice_with_strides(&self.entries, self.n_own, self.n_rows(), 1, self.stride)
    }
}

/// Length of the rows of the own node k of a block, less the zeros above the diagonal.
fn own_length(node: usize) -> usize {
    (3 * node + 3).next_multiple_of(PADDING)
}

impl RestFactor {
    /// Factors the matrix `blocks` on the rows `range` of `pattern`, which must form a block of their own (a body),
    /// without the fixed nodes.
    /// `fixed` and `positions` (any that tell near from far, the rest positions) are given for all nodes of the
    /// pattern.
    pub fn new(
        pattern: &Pattern,
        blocks: &[Mat3],
        range: &Range<usize>,
        fixed: &[bool],
        positions: &[Vec3],
    ) -> Result<Self, NotPositiveDefinite> {
        Self::new_unless(pattern, blocks, range, (fixed, positions), &CancelToken::default())
    }

    /// The same, which ends soon after `cancel` is cancelled, as if the matrix were not positive definite.
    pub fn new_unless(
        pattern: &Pattern,
        blocks: &[Mat3],
        range: &Range<usize>,
        (fixed, positions): (&[bool], &[Vec3]),
        cancel: &CancelToken,
    ) -> Result<Self, NotPositiveDefinite> {
        let tree = order::dissect(pattern, range, fixed, positions);
        let parts = front::eliminate(&front::Matrix { pattern, blocks, first: range.start, cancel }, &tree)?;
        let mut entries = Pages::zeros(parts.iter().map(|panel| panel.entries.len()).sum());
        let mut end = 0;
        let panels = parts.iter().map(|panel| {
            let start = end;
            end += panel.entries.len();
            entries[start..end].copy_from_slice(&panel.entries);
            [panel.n_own, panel.stride, start]
        });
        let panels = panels.collect();
        Ok(Self { tree, panels, entries, n_nodes: range.len() })
    }

    fn panel(&self, block: usize) -> Panel<&[f32]> {
        let [n_own, stride, start] = self.panels[block];
        let end = self.panels.get(block + 1).map_or(self.entries.len(), |[_, _, next]| *next);
        Panel { n_own, stride, entries: &self.entries[start..end] }
    }

    pub fn n_nodes(&self) -> usize {
        self.n_nodes
    }

    /// The free nodes in their order of elimination.
    pub fn order(&self) -> &[u32] {
        &self.tree.nodes
    }

    /// Memory of the factor [bytes]; a solve reads nearly all of it twice.
    pub fn memory(&self) -> usize {
        size_of_val(&*self.entries)
    }

    /// `x = A^-1 rhs`, to about 1e-6 of the largest entry; zero at fixed nodes. One entry a node of the body.
    pub fn solve(&self, rhs: &[Vec3], x: &mut [Vec3], work: &mut FactorWork) {
        work.values.clear();
        work.values.extend(self.tree.nodes.iter().flat_map(|node| rhs[*node as usize].iter().map(|r| *r as f32)));
        work.values.resize(3 * self.tree.nodes.len() + PADDING, 0.0);
        pulp::Arch::new().dispatch(Solve { factor: self, work });
        for (x, place) in x.iter_mut().zip(&self.tree.places) {
            let at = 3 * *place as usize;
            *x = work.values.get(at..at + 3).map_or_else(Vec3::zeros, |v| Vec3::new(v[0].into(), v[1].into(), v[2].into()));
        }
    }

    /// As `solve`, for the right-hand sides in the rows of `values`: one column an unknown, in the order of
    /// elimination. Blocks of the tree that `loaded` does not name have no load; the result counts only in blocks that
    /// `wanted` names.
    fn solve_rows(&self, values: &mut DMatrix<f32>, loaded: &[bool], wanted: &[bool]) {
        let n_rhs = values.nrows();
        // A cut between parts that are not connected has no nodes of its own.
        let busy = |b: usize, which: &[bool]| which[b] && self.panels[b][0] > 0;
        for (b, block) in self.tree.blocks.iter().enumerate().filter(|(b, _)| busy(*b, loaded)) {
            let panel = self.panel(b);
            debug_assert_eq!(panel.n_own, 3 * block.own.len(), "block {b}");
            let product = values.columns(3 * block.own.start, panel.n_own) * panel.transposed();
            values.columns_mut(3 * block.own.start, panel.n_own).copy_from(&product.columns(0, panel.n_own));
            for (k, place) in block.later.iter().enumerate() {
                let mut target = values.columns_mut(3 * *place as usize, 3);
                target -= product.columns(panel.n_own + 3 * k, 3);
            }
        }
        for (b, block) in self.tree.blocks.iter().enumerate().rev().filter(|(b, _)| busy(*b, wanted)) {
            let panel = self.panel(b);
            let mut known = DMatrix::zeros(n_rhs, panel.n_rows());
            known.columns_mut(0, panel.n_own).copy_from(&values.columns(3 * block.own.start, panel.n_own));
            for (k, place) in block.later.iter().enumerate() {
                let mut target = known.columns_mut(panel.n_own + 3 * k, 3);
                target -= values.columns(3 * *place as usize, 3);
            }
            let solved = known * panel.transposed().transpose();
            values.columns_mut(3 * block.own.start, panel.n_own).copy_from(&solved);
        }
    }
}

struct Solve<'a> {
    factor: &'a RestFactor,
    work: &'a mut FactorWork,
}

impl WithSimd for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let FactorWork { values, sum } = self.work;
        let tree = &self.factor.tree;
        for (b, block) in tree.blocks.iter().enumerate() {
            let panel = self.factor.panel(b);
            // Padded rows reach into the values of the next block, with zeros.
            let (first, n_own) = (3 * block.own.start, block.own.len());
            for (k, place) in block.later.iter().enumerate() {
                let change = dot3(simd, panel.rows(n_own + k), panel.stride, &values[first..first + panel.stride]);
                let at = 3 * *place as usize;
                values[at..at + 3].iter_mut().zip(change).for_each(|(value, change)| *value -= change);
            }
            // From the last: a row needs the entries before it.
            for k in (0..n_own).rev() {
                let value = dot3(simd, panel.rows(k), panel.stride, &values[first..first + own_length(k)]);
                values[first + 3 * k..first + 3 * k + 3].copy_from_slice(&value);
            }
        }
        for (b, block) in tree.blocks.iter().enumerate().rev() {
            let panel = self.factor.panel(b);
            let (first, n_own) = (3 * block.own.start, block.own.len());
            sum.reset(panel.stride);
            for (k, place) in block.later.iter().enumerate() {
                let at = 3 * *place as usize;
                let known = [-values[at], -values[at + 1], -values[at + 2]];
                add_transposed3(simd, panel.rows(n_own + k), panel.stride, known, sum);
            }
            for k in 0..n_own {
                let at = first + 3 * k;
                let known = [values[at], values[at + 1], values[at + 2]];
                add_transposed3(simd, panel.rows(k), panel.stride, known, &mut sum[..own_length(k)]);
            }
            values[first..first + 3 * n_own].copy_from_slice(&sum[..3 * n_own]);
        }
    }
}
