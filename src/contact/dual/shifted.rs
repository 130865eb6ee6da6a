//! The Cholesky factor of the compliance with something on its diagonal, dense within the envelope of its rows.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::Compliance;
use crate::cancel::CancelToken;
use crate::sparse::lanes::{Entries, dot3};

/// Contacts of a block, and its rows.
const CONTACTS: usize = 16;
const ROWS: usize = 3 * CONTACTS;
/// Entries of a block.
const AREA: usize = ROWS * ROWS;
/// Work of a product of two blocks [bytes]: some 4 us.
const PRODUCT_WORK: u64 = 115_000;

/// `W + S = L L^T` with a diagonal S > 0, in f32. Rows are in blocks of [`ROWS`]; a block of rows begins with the first
/// block that it is coupled to, and so does its part of L. Blocks of the diagonal are kept as their inverses, so that a
/// solve is nothing but products. Each block is stored by columns, as all products read it: `block[k * ROWS + r]`.
#[derive(Clone, Debug, Default)]
pub(super) struct ShiftedFactor {
    /// The assembly of W that it belongs to ([`Compliance::stamp`]); 0: none.
    stamp: u64,
    is_definite: bool,
    /// First block of each block of rows.
    first: Vec<usize>,
    /// First entry of each block of rows.
    offsets: Vec<usize>,
    /// L, block after block along each block of rows, without those of the diagonal.
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

    /// Work of making the factor of W [bytes]; none if it is there.
    pub fn work_of(&mut self, w: &Compliance) -> u64 {
        if self.stamp == w.stamp() {
            return 0;
        }
        self.lay_out_rows(w);
        let first = &self.first;
        let products = |i: usize| (first[i]..=i).map(|j| 1 + j - first[i].max(first[j])).sum::<usize>();
        PRODUCT_WORK * (0..first.len()).map(products).sum::<usize>() as u64
    }

    /// Work of a [`solve`](Self::solve), which reads all twice [bytes].
    pub fn solve_work(&self) -> u64 {
        (2 * size_of::<f32>() * (self.lower.len() + self.inverses.len())) as u64
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
        self.lay_out_rows(w);
        let Self { first, offsets, lower, inverses, block, .. } = self;
        offsets.clear();
        let mut end = 0;
        for (i, first) in first.iter().enumerate() {
            offsets.push(end);
            end += AREA * (i - first);
        }
        lower.reset(end);
        inverses.reset(AREA * first.len());
        block.reset(AREA);
    }

    /// Where the blocks of rows begin.
    fn lay_out_rows(&mut self, w: &Compliance) {
        self.first.clear();
        self.first.extend((0..w.n_contacts().div_ceil(CONTACTS)).map(|i| {
            let own = CONTACTS * i..w.n_contacts().min(CONTACTS * (i + 1));
            own.map(|k| w.first_neighbour(k) / CONTACTS).min().unwrap_or(i).min(i)
        }));
    }

    /// Where the block (i, j) of L stands, j < i.
    fn place(&self, i: usize, j: usize) -> Range<usize> {
        let at = self.offsets[i] + AREA * (j - self.first[i]);
        at..at + AREA
    }

    fn inverse(&self, i: usize) -> &[f32] {
        &self.inverses[AREA * i..AREA * (i + 1)]
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
                // Less the products of what both blocks of rows have to the left.
                for k in factor.first[i].max(factor.first[j])..j {
                    let (p, q) = (&factor.lower[factor.place(j, k)], &factor.lower[factor.place(i, k)]);
                    add_product(simd, -1.0, p, q, &mut block);
                }
                if j < i {
                    let place = factor.place(i, j);
                    let quotient = &mut factor.lower[place];
                    quotient.fill(0.0);
                    add_product(simd, 1.0, &factor.inverses[AREA * j..AREA * (j + 1)], &block, quotient);
                    continue;
                }
                square.clear();
                square.extend(block.iter().map(|v| f64::from(*v)));
                is_definite = invert_factor(&mut square);
                if !is_definite {
                    break 'rows;
                }
                let inverse = &mut factor.inverses[AREA * i..AREA * (i + 1)];
                inverse.iter_mut().enumerate().for_each(|(at, v)| *v = square[at % ROWS * ROWS + at / ROWS] as f32);
            }
        }
        (factor.block, factor.square) = (block, square);
        is_definite
    }
}

/// Block (i, j) of W + S by columns; 1 on the diagonal after the last contact. As W is symmetric these are the rows of
/// the block (j, i), of which W tells the blocks from the diagonal on.
fn put_block(w: &Compliance, i: usize, j: usize, shift: &impl Fn(usize) -> f32, block: &mut [f32]) {
    block.fill(0.0);
    let n = w.n_contacts();
    let columns = CONTACTS * i..n.min(CONTACTS * (i + 1));
    for (k, rows) in (CONTACTS * j..).zip(block.chunks_exact_mut(3 * ROWS)) {
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
    if i == j {
        for (r, c) in (0..ROWS).flat_map(|r| (0..r).map(move |c| (r, c))) {
            block[r * ROWS + c] = block[c * ROWS + r];
        }
    }
}

/// Columns of a product that are summed up at once, and registers of rows of each: so many sums fit into registers.
const COLUMNS: usize = 4;
const REGISTERS: usize = 3;

/// `out += sign q p^T`, of three blocks.
#[inline(always)]
fn add_product<S: Simd>(simd: S, sign: f32, p: &[f32], q: &[f32], out: &mut [f32]) {
    let (out, _) = S::as_mut_simd_f32s(out);
    let (q, _) = S::as_simd_f32s(q);
    let width = ROWS / S::F32_LANES;
    for column in (0..ROWS).step_by(COLUMNS) {
        for first in (0..width).step_by(REGISTERS) {
            let mut sums = [[simd.splat_f32s(0.0); REGISTERS]; COLUMNS];
            for (p, q) in p.chunks_exact(ROWS).zip(q.chunks_exact(width)) {
                let q: [S::f32s; REGISTERS] = [q[first], q[first + 1], q[first + 2]];
                for c in 0..COLUMNS {
                    let p = simd.splat_f32s(p[column + c]);
                    for r in 0..REGISTERS {
                        sums[c][r] = simd.mul_add_f32s(p, q[r], sums[c][r]);
                    }
                }
            }
            let sign = simd.splat_f32s(sign);
            for (c, sums) in sums.iter().enumerate() {
                for (r, sum) in sums.iter().enumerate() {
                    let out = &mut out[(column + c) * width + first + r];
                    *out = simd.mul_add_f32s(sign, *sum, *out);
                }
            }
        }
    }
}

/// `out += sign block x`.
#[inline(always)]
fn add_block<S: Simd>(simd: S, sign: f32, block: &[f32], x: &[f32], out: &mut [f32]) {
    let (out, _) = S::as_mut_simd_f32s(out);
    let (block, _) = S::as_simd_f32s(block);
    let width = ROWS / S::F32_LANES;
    for first in (0..width).step_by(REGISTERS) {
        // Two sums a register: one waits for itself.
        let mut sums = [[simd.splat_f32s(0.0); REGISTERS]; 2];
        for (x, columns) in x.as_chunks::<2>().0.iter().zip(block.chunks_exact(2 * width)) {
            for k in 0..2 {
                let x = simd.splat_f32s(x[k]);
                for r in 0..REGISTERS {
                    sums[k][r] = simd.mul_add_f32s(x, columns[k * width + first + r], sums[k][r]);
                }
            }
        }
        let sign = simd.splat_f32s(sign);
        for r in 0..REGISTERS {
            let sum = simd.add_f32s(sums[0][r], sums[1][r]);
            out[first + r] = simd.mul_add_f32s(sign, sum, out[first + r]);
        }
    }
}

/// `out += sign block^T x`.
#[inline(always)]
fn add_transposed_block<S: Simd>(simd: S, sign: f32, block: &[f32], x: &[f32], out: &mut [f32]) {
    for (columns, out) in block.chunks_exact(3 * ROWS).zip(out.as_chunks_mut::<3>().0) {
        let product = dot3(simd, columns, ROWS, x);
        for (out, product) in out.iter_mut().zip(product) {
            *out += sign * product;
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
            let own = &mut own[..ROWS];
            for j in factor.first[i]..i {
                add_block(simd, -1.0, &factor.lower[factor.place(i, j)], &before[ROWS * j..ROWS * (j + 1)], own);
            }
            memory.copy_from_slice(own);
            own.fill(0.0);
            add_block(simd, 1.0, factor.inverse(i), memory, own);
        }
        for i in (0..factor.first.len()).rev() {
            let (before, own) = x.split_at_mut(ROWS * i);
            let own = &mut own[..ROWS];
            memory.copy_from_slice(own);
            own.fill(0.0);
            add_transposed_block(simd, 1.0, factor.inverse(i), memory, own);
            for j in factor.first[i]..i {
                add_transposed_block(simd, -1.0, &factor.lower[factor.place(i, j)], own, &mut before[ROWS * j..ROWS * (j + 1)]);
            }
        }
    }
}
