//! The dense panel of a block of the tree.

use std::ops::Deref;

use nalgebra::DMatrix;

use super::{Entries, PADDING};

/// `[L11^-1; L21 L11^-1]` of a block, row by row; rows are padded with zeros.
#[derive(Clone, Debug)]
pub struct Panel<E> {
    /// Unknowns of the block.
    pub n_own: usize,
    pub stride: usize,
    pub entries: E,
}

/// Entries of a panel of a block with so many unknowns, and so many later ones.
pub fn n_entries(n_own: usize, n_later: usize) -> usize {
    n_own.next_multiple_of(PADDING) * (n_own + n_later)
}

impl Panel<Entries> {
    pub fn new(own: &DMatrix<f64>, later: &DMatrix<f64>) -> Self {
        let (n_own, n_later) = (own.nrows(), later.nrows());
        let stride = n_own.next_multiple_of(PADDING);
        let mut entries = Entries::default();
        entries.reset(n_entries(n_own, n_later));
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
    /// Rows of the own node k and of the k-th later one, by `n_own / 3 + k`.
    pub fn rows(&self, node: usize) -> &[f32] {
        &self.entries[3 * node * self.stride..3 * (node + 1) * self.stride]
    }
}
