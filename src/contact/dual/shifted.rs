//! The Cholesky factor of the compliance with something on its diagonal, dense within the envelope of its rows.

use pulp::{Simd, WithSimd};

use super::Compliance;
use crate::cancel::CancelToken;
use crate::sparse::lanes::{Entries, add_transposed3, dot3};

/// Contacts of a block, and its rows.
const CONTACTS: usize = 16;
const ROWS: usize = 3 * CONTACTS;

/// `W + S = L L^T` with a diagonal S > 0, in f32. Rows are in blocks of [`ROWS`]; a block of rows begins with the first
/// block that it is coupled to, and so does its part of L. Blocks of the diagonal are kept as their inverses, so that a
/// solve is nothing but products.
#[derive(Clone, Debug, Default)]
pub(super) struct ShiftedFactor {
    /// The assembly of W that it belongs to ([`Compliance::stamp`]); 0: none.
    stamp: u64,
    is_definite: bool,
    /// First block of each block of rows.
    first: Vec<usize>,
    /// First entry of each block of rows.
    offsets: Vec<usize>,
    /// L, row by row, without the blocks of the diagonal.
    lower: Entries,
    /// Inverses of the blocks of the diagonal.
    inverses: Entries,
    /// Memory of the factoring.
    block: Entries,
    square: Vec<f64>,
}

impl ShiftedFactor {
    /// Makes the factor of W with `shift` [m/N] on its diagonal, if it is not there yet; false if that is not positive
    /// definite as far as f32 tells, or once `cancel` is cancelled: the factor of thousands of contacts takes seconds.
    pub fn prepare(&mut self, w: &Compliance, shift: impl Fn(usize) -> f32, cancel: &CancelToken) -> bool {
        if self.stamp != w.stamp() {
            self.stamp = w.stamp();
            self.lay_out(w);
            self.is_definite = pulp::Arch::new().dispatch(Factor { factor: self, w, shift, cancel });
        }
        self.is_definite
    }

    /// Length of the vectors of [`solve`](Self::solve).
    pub fn n_rows(&self) -> usize {
        ROWS * self.first.len()
    }

    /// `x <- (W + S)^-1 x`, three entries a contact, zeros after the last.
    pub fn solve(&self, x: &mut Entries, memory: &mut Entries) {
        memory.reset(ROWS);
        pulp::Arch::new().dispatch(Solve { factor: self, x, memory });
    }

    fn lay_out(&mut self, w: &Compliance) {
        let n_blocks = w.n_contacts().div_ceil(CONTACTS);
        let Self { first, offsets, lower, inverses, block, .. } = self;
        first.clear();
        offsets.clear();
        let mut end = 0;
        for i in 0..n_blocks {
            let own = CONTACTS * i..w.n_contacts().min(CONTACTS * (i + 1));
            first.push(own.map(|k| w.first_neighbour(k) / CONTACTS).min().unwrap_or(i).min(i));
            offsets.push(end);
            end += ROWS * ROWS * (i - first[i]);
        }
        lower.reset(end);
        inverses.reset(ROWS * ROWS * n_blocks);
        block.reset(ROWS * ROWS);
    }

    /// Entries from row to row of a block of rows.
    fn stride(&self, i: usize) -> usize {
        ROWS * (i - self.first[i])
    }

    /// The rows of L left of the diagonal, of a block of rows.
    fn rows(&self, i: usize) -> &[f32] {
        &self.lower[self.offsets[i]..self.offsets[i] + ROWS * self.stride(i)]
    }

    fn inverse(&self, i: usize) -> &[f32] {
        &self.inverses[ROWS * ROWS * i..ROWS * ROWS * (i + 1)]
    }
}

struct Factor<'a, F> {
    factor: &'a mut ShiftedFactor,
    w: &'a Compliance,
    shift: F,
    cancel: &'a CancelToken,
}

impl<F: Fn(usize) -> f32> WithSimd for Factor<'_, F> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let Self { factor, w, shift, cancel } = self;
        let mut block = std::mem::take(&mut factor.block);
        let mut square = std::mem::take(&mut factor.square);
        let mut is_definite = true;
        // Loops, not closures: these would not be compiled for the wide registers.
        'rows: for i in 0..factor.first.len() {
            for j in factor.first[i]..=i {
                if cancel.has_been_cancelled() {
                    is_definite = false;
                    break 'rows;
                }
                put_block(w, i, j, &shift, &mut block);
                subtract_products(simd, factor, i, j, &mut block);
                if j < i {
                    divide(simd, factor, i, j, &block);
                    continue;
                }
                square.clear();
                square.extend(block.iter().map(|v| f64::from(*v)));
                is_definite = invert_factor(&mut square);
                if !is_definite {
                    break 'rows;
                }
                let inverse = &mut factor.inverses[ROWS * ROWS * i..ROWS * ROWS * (i + 1)];
                inverse.iter_mut().zip(&square).for_each(|(inverse, v)| *inverse = *v as f32);
            }
        }
        (factor.block, factor.square) = (block, square);
        is_definite
    }
}

/// Block (i, j) of W + S; 1 on the diagonal after the last contact.
fn put_block(w: &Compliance, i: usize, j: usize, shift: &impl Fn(usize) -> f32, block: &mut [f32]) {
    block.fill(0.0);
    let n = w.n_contacts();
    let columns = CONTACTS * j..n.min(CONTACTS * (j + 1));
    for (k, rows) in (CONTACTS * i..).zip(block.chunks_exact_mut(3 * ROWS)) {
        if k < n {
            w.put_blocks(k, columns.clone(), ROWS, rows);
        }
        if i == j {
            let local = 3 * (k - CONTACTS * i);
            for c in 0..3 {
                rows[c * ROWS + local + c] += if k < n { shift(3 * k + c) } else { 1.0 };
            }
        }
    }
}

/// `block -= sum of L_ik L_jk^T` over k < j.
#[inline(always)]
fn subtract_products<S: Simd>(simd: S, factor: &ShiftedFactor, i: usize, j: usize, block: &mut [f32]) {
    let start = factor.first[i].max(factor.first[j]);
    if start >= j {
        return;
    }
    let length = ROWS * (j - start);
    let (stride, stride_j) = (factor.stride(i), factor.stride(j));
    let rows = &factor.rows(i)[ROWS * (start - factor.first[i])..];
    let rows_j = &factor.rows(j)[ROWS * (start - factor.first[j])..];
    for c in 0..ROWS {
        let x = &rows_j[c * stride_j..c * stride_j + length];
        for r in (0..ROWS).step_by(3) {
            let product = dot3(simd, &rows[r * stride..], stride, x);
            for k in 0..3 {
                block[(r + k) * ROWS + c] -= product[k];
            }
        }
    }
}

/// `L_ij = block L_jj^-T`.
#[inline(always)]
fn divide<S: Simd>(simd: S, factor: &mut ShiftedFactor, i: usize, j: usize, block: &[f32]) {
    let (stride, at) = (factor.stride(i), factor.offsets[i] + ROWS * (j - factor.first[i]));
    let inverse = &factor.inverses[ROWS * ROWS * j..ROWS * ROWS * (j + 1)];
    for c in 0..ROWS {
        let x = &inverse[c * ROWS..(c + 1) * ROWS];
        for r in (0..ROWS).step_by(3) {
            let quotient = dot3(simd, &block[r * ROWS..], ROWS, x);
            for k in 0..3 {
                factor.lower[at + (r + k) * stride + c] = quotient[k];
            }
        }
    }
}

/// Takes a symmetric block to the inverse of its Cholesky factor; false if it is not positive definite.
fn invert_factor(a: &mut [f64]) -> bool {
    for j in 0..ROWS {
        for i in j..ROWS {
            let products: f64 = a[i * ROWS..i * ROWS + j].iter().zip(&a[j * ROWS..j * ROWS + j]).map(|(x, y)| x * y).sum();
            let rest = a[i * ROWS + j] - products;
            if i > j {
                a[i * ROWS + j] = rest / a[j * ROWS + j];
            } else if rest > 0.0 {
                a[i * ROWS + j] = rest.sqrt();
            } else {
                return false;
            }
        }
    }
    // Column by column of the inverse, from the right: what is read of L is still there.
    for j in (0..ROWS).rev() {
        let own = 1.0 / a[j * ROWS + j];
        for i in (j + 1..ROWS).rev() {
            let products: f64 = (j + 1..=i).map(|k| a[i * ROWS + k] * a[k * ROWS + j]).sum();
            a[i * ROWS + j] = -products * own;
        }
        a[j * ROWS + j] = own;
        a[j * ROWS + j + 1..(j + 1) * ROWS].fill(0.0);
    }
    true
}

struct Solve<'a> {
    factor: &'a ShiftedFactor,
    x: &'a mut [f32],
    memory: &'a mut [f32],
}

impl WithSimd for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { factor, x, memory } = self;
        for i in 0..factor.first.len() {
            let (before, own) = x.split_at_mut(ROWS * i);
            let (before, own) = (&before[ROWS * factor.first[i]..], &mut own[..ROWS]);
            let (rows, stride) = (factor.rows(i), factor.stride(i));
            if stride > 0 {
                for (r, own) in own.chunks_exact_mut(3).enumerate() {
                    let product = dot3(simd, &rows[3 * r * stride..], stride, before);
                    own.iter_mut().zip(product).for_each(|(own, product)| *own -= product);
                }
            }
            memory.copy_from_slice(own);
            for (r, own) in own.chunks_exact_mut(3).enumerate() {
                own.copy_from_slice(&dot3(simd, &factor.inverse(i)[3 * r * ROWS..], ROWS, memory));
            }
        }
        for i in (0..factor.first.len()).rev() {
            let (before, own) = x.split_at_mut(ROWS * i);
            let (before, own) = (&mut before[ROWS * factor.first[i]..], &mut own[..ROWS]);
            memory.fill(0.0);
            for (r, own) in own.chunks_exact(3).enumerate() {
                add_transposed3(simd, &factor.inverse(i)[3 * r * ROWS..], ROWS, [own[0], own[1], own[2]], memory);
            }
            own.copy_from_slice(memory);
            let (rows, stride) = (factor.rows(i), factor.stride(i));
            if stride > 0 {
                for (r, own) in own.chunks_exact(3).enumerate() {
                    add_transposed3(simd, &rows[3 * r * stride..], stride, [-own[0], -own[1], -own[2]], before);
                }
            }
        }
    }
}
