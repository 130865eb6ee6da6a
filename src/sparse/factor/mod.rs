//! Direct solves with one body's system matrix of the rest pose, factored once (`contact-study.md` 4, 5).
//!
//! Sparse Cholesky on a nested dissection of the body. For each block of the dissection the dense panel `[L11^-1; L21
//! L11^-1]` is kept in f32, so that a solve is nothing but dense products: forward  (y1, y2) <- (L11^-1 b1, y2 - L21
//! L11^-1 b1),  backward x1 = L11^-T y1 - (L21 L11^-1)^T x2.  A solve is bound by memory: f32 halves its time, and
//! whoever solves with the true matrix corrects the rest.
//!
//! Compared with faer 0.24 (supernodal, minimum degree; `benches/factor`) on the bodies of the gallery, one thread,
//! medians of nine by turns on a busy machine. Every pass of every step solves, while a matrix is factored once a run
//! and time step and a column found once a touched node: so this factor stays, though faer's factors sooner.
//!
//! | bunny, armadillo, dragon | this | faer f32 | faer f64 |
//! |---|---|---|---|
//! | a solve [us] | 750, 561, 781 | 1490, 1513, 1569 | 1993, 1780, 3210 |
//! | to factor, with the order [ms] | 85, 69, 132 | 42, 38, 58 | 60, 43, 83 |
//! | 48 columns [ms] (*) | 7, 7, 9 | 59, 62, 73 | 85, 86, 124 |
//! | memory [MB] | 7.1, 6.6, 8.6 | 5.4, 4.0, 6.6 | 10.9, 8.0, 13.2 |
//! | error of a solution | 4e-7, 3e-7, 3e-7 | 1e-6, 6e-6, 3e-6 | 1e-14 |
//!
//! (*) Those of this factor on a machine that was less busy, where a solve took 245, 200 and 350 us.
//!
//! For a cube of `pile27` (125 nodes) a solve takes 5.1 us, faer's 18 and 21. With the order of this factor faer takes
//! two to three times as long to factor and no less to solve; its simplicial form is slower in every use but for
//! memory.

mod columns;
mod front;
mod many;
mod order;
mod panel;
mod products;
mod sweep;
#[cfg(test)]
pub mod tests;

pub use columns::{Columns, Requested};

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::Pattern;
use super::lanes::{Entries, PADDING};
use crate::cancel::CancelToken;
use crate::math::{Mat3, Vec3};
use crate::memory::Pages;
use order::Tree;
use panel::Panel;
use sweep::Solve;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the matrix is not positive definite")]
pub struct NotPositiveDefinite;

/// Factor of a symmetric positive definite matrix on the free nodes of one body. Nodes count from the first of the
/// body; fixed nodes do not move.
#[derive(Clone, Debug)]
pub struct RestFactor {
    tree: Arc<Tree>,
    /// Where the panel of each block of the tree begins, and where the last ends.
    starts: Vec<usize>,
    /// Of all panels, in the order in which a solve reads them.
    entries: Pages<f32>,
    n_nodes: usize,
    /// Products of blocks that making it takes.
    products: u64,
}

/// Memory of solves, kept between calls.
#[derive(Clone, Debug, Default)]
pub struct FactorWork {
    values: Vec<f32>,
    sum: Entries,
}

/// Part of the making of a factor that finds its order: a third where blocks are small, less of larger ones.
const ORDERED: f32 = 0.3;

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
        Self::new_unless(pattern, blocks, range, (fixed, positions), usize::MAX, &CancelToken::default())
    }

    /// The same, which ends soon after `cancel` is cancelled, or where the factor would take more than `max_memory`
    /// [bytes], as if the matrix were not positive definite.
    pub fn new_unless(
        pattern: &Pattern,
        blocks: &[Mat3],
        range: &Range<usize>,
        (fixed, positions): (&[bool], &[Vec3]),
        max_memory: usize,
        cancel: &CancelToken,
    ) -> Result<Self, NotPositiveDefinite> {
        let tree = order::dissect_unless(pattern, range, fixed, positions, &cancel.part(0.0, ORDERED)).map_err(|_| NotPositiveDefinite)?;
        if panel::starts(&tree).last().is_some_and(|n_entries| *n_entries > max_memory / size_of::<f32>()) {
            return Err(NotPositiveDefinite);
        }
        let blocks = &blocks[pattern.row_starts[range.start] as usize..];
        Self::of_tree(Arc::new(tree), pattern, blocks, range.start, &cancel.part(ORDERED, 1.0))
    }

    /// The factor of another matrix of the same body, in the same order: `blocks` of its rows, from the row `first` on.
    pub fn of_matrix(&self, pattern: &Pattern, blocks: &[Mat3], first: usize, cancel: &CancelToken) -> Result<Self, NotPositiveDefinite> {
        Self::of_tree(self.tree.clone(), pattern, blocks, first, cancel)
    }

    fn of_tree(
        tree: Arc<Tree>,
        pattern: &Pattern,
        blocks: &[Mat3],
        first: usize,
        cancel: &CancelToken,
    ) -> Result<Self, NotPositiveDefinite> {
        let products = tree.blocks.iter().map(front::work).sum();
        let matrix = front::Matrix { pattern, blocks, first, cancel, done: AtomicU64::new(0), all: products };
        let starts = panel::starts(&tree);
        let mut entries = Pages::zeros(starts[tree.blocks.len()]);
        front::eliminate(&matrix, &tree, &starts, &mut entries)?;
        Ok(Self { n_nodes: tree.places.len(), tree, starts, entries, products })
    }

    fn panel(&self, block: usize) -> Panel<'_> {
        Panel::new(&self.tree.blocks[block], &self.entries[self.starts[block]..self.starts[block + 1]])
    }

    /// Work of making a factor of the same order [bytes]: as long as one product of numbers takes, two bytes are read.
    pub fn work_of_making(&self) -> u64 {
        2 * 27 * self.products
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
        work.values.resize(3 * self.tree.nodes.len() + PADDING, 0.0);
        let (values, padding) = work.values.split_at_mut(3 * self.tree.nodes.len());
        for (value, node) in values.as_chunks_mut::<3>().0.iter_mut().zip(&self.tree.nodes) {
            let rhs = &rhs[*node as usize];
            *value = [rhs.x as f32, rhs.y as f32, rhs.z as f32];
        }
        padding.fill(0.0);
        pulp::Arch::new().dispatch(Solve { factor: self, work });
        for (x, place) in x.iter_mut().zip(&self.tree.places) {
            let at = 3 * *place as usize;
            *x = work.values.get(at..at + 3).map_or_else(Vec3::zeros, |v| Vec3::new(v[0].into(), v[1].into(), v[2].into()));
        }
    }
}
