//! The dense panel of a block of the tree.

use nalgebra::DMatrix;

use super::PADDING;
use super::order::{Block, Tree};

/// Columns that are turned over together: a line of the cache of each row.
const COLUMNS: usize = 16;

/// `[L11^-1; L21 L11^-1]` of a block, row by row; rows are padded with zeros.
#[derive(Clone, Copy, Debug)]
pub struct Panel<'a> {
    /// Unknowns of the block.
    pub n_own: usize,
    pub stride: usize,
    pub entries: &'a [f32],
}

/// Where the panels of all blocks begin, one after the other, and where the last ends.
pub fn starts(tree: &Tree) -> Vec<usize> {
    let mut end = 0;
    let ends = tree.blocks.iter().map(|block| {
        end += stride(block) * 3 * (block.own.len() + block.later.len());
        end
    });
    std::iter::once(0).chain(ends).collect()
}

fn stride(block: &Block) -> usize {
    (3 * block.own.len()).next_multiple_of(PADDING)
}

/// Writes the panel of a block, which was zero, from L11^-1 and L21 L11^-1.
pub fn fill(block: &Block, entries: &mut [f32], own: &DMatrix<f64>, later: &DMatrix<f64>) {
    let stride = stride(block);
    let (own_rows, later_rows) = entries.split_at_mut(stride * own.nrows());
    for (rows, matrix) in [(own_rows, own), (later_rows, later)] {
        for first in (0..matrix.ncols()).step_by(COLUMNS) {
            let columns = first..matrix.ncols().min(first + COLUMNS);
            for (r, row) in rows.chunks_exact_mut(stride.max(1)).enumerate() {
                row[columns.clone()].iter_mut().zip(columns.clone()).for_each(|(entry, c)| *entry = matrix[(r, c)] as f32);
            }
        }
    }
}

impl<'a> Panel<'a> {
    pub fn new(block: &Block, entries: &'a [f32]) -> Self {
        Self { n_own: 3 * block.own.len(), stride: stride(block), entries }
    }

    /// Rows of the own node k and of the k-th later one, by `n_own / 3 + k`.
    pub fn rows(&self, node: usize) -> &'a [f32] {
        &self.entries[3 * node * self.stride..3 * (node + 1) * self.stride]
    }
}
