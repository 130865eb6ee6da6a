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

/// `W + S = L L^T` with a diagonal S > 0, in f32, of the contacts in an order of its own, in which pairs of bodies stand
/// near those that they share a body with ([`places`]). Rows are in blocks of [`ROWS`]; a block of rows begins with the
/// first block that it is coupled to, and so does its part of L. Blocks of the diagonal are kept as their inverses, so
/// that a solve is nothing but products. Each block is stored by columns, as all products read it: `block[k * ROWS + r]`.
#[derive(Clone, Debug, Default)]
pub(super) struct ShiftedFactor {
    /// The assembly of W that it belongs to ([`Compliance::stamp`]); 0: none.
    stamp: u64,
    /// The one that the layout belongs to.
    laid_out: u64,
    is_definite: bool,
    /// Where each contact stands.
    places: Vec<u32>,
    /// First block of each block of rows.
    first: Vec<usize>,
    /// First entry of each block of rows.
    offsets: Vec<usize>,
    /// L, block after block along each block of rows, without those of the diagonal.
    lower: Entries,
    /// Inverses of the blocks of the diagonal.
    inverses: Entries,
    /// Products of blocks that making it takes.
    n_products: usize,
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
            self.lay_out_rows(w);
            self.put(w, shift);
            self.is_definite = pulp::Arch::new().dispatch(Factor { factor: self, cancel });
        }
        self.is_definite
    }

    /// Work of making the factor of W [bytes], and which part that is of what it were if all contacts were of one body;
    /// none if it is there.
    pub fn work_of(&mut self, w: &Compliance) -> (u64, f64) {
        if self.stamp == w.stamp() {
            return (0, 0.0);
        }
        // Without another layout a factor that was there would be none.
        self.stamp = 0;
        self.lay_out_rows(w);
        let n = self.first.len();
        (PRODUCT_WORK * self.n_products as u64, self.n_products as f64 / (n * (n + 1) * (n + 2) / 6).max(1) as f64)
    }

    /// Work of a [`solve`](Self::solve), which reads all twice [bytes].
    pub fn solve_work(&self) -> u64 {
        (2 * size_of::<f32>() * (self.lower.len() + self.inverses.len())) as u64
    }

    /// Length of the vectors of [`solve`](Self::solve).
    pub fn n_rows(&self) -> usize {
        ROWS * self.first.len()
    }

    /// Where each contact stands in them: three entries from three times this on.
    pub fn places(&self) -> &[u32] {
        &self.places
    }

    /// `x <- (W + S)^-1 x`, three entries a contact, zeros after the last.
    pub fn solve(&self, x: &mut Entries, memory: &mut Entries) {
        memory.reset(ROWS);
        pulp::Arch::new().dispatch(Solve { factor: self, x, memory });
    }

    /// Where the contacts stand, and where the blocks of rows begin.
    fn lay_out_rows(&mut self, w: &Compliance) {
        if std::mem::replace(&mut self.laid_out, w.stamp()) == w.stamp() {
            return;
        }
        let Self { places, first, n_products, .. } = self;
        *places = self::places(w);
        let place = |k: usize| places[k] as usize;
        first.clear();
        first.extend(0..w.n_contacts().div_ceil(CONTACTS));
        let pairs: Vec<Range<usize>> = w.pairs().collect();
        for (pair, contacts) in pairs.iter().enumerate() {
            let nearest = w.neighbours_of(pair).map(|other| place(pairs[other].start)).min().unwrap_or(0);
            for block in place(contacts.start) / CONTACTS..=place(contacts.end - 1) / CONTACTS {
                first[block] = first[block].min(nearest / CONTACTS);
            }
        }
        let products = |i: usize| (first[i]..=i).map(|j| 1 + j - first[i].max(first[j])).sum::<usize>();
        *n_products = (0..first.len()).map(products).sum();
    }

    /// Puts W + S where L will be.
    fn put(&mut self, w: &Compliance, shift: impl Fn(usize) -> f32) {
        self.offsets.clear();
        let mut end = 0;
        for (i, first) in self.first.iter().enumerate() {
            self.offsets.push(end);
            end += AREA * (i - first);
        }
        self.lower.reset(end);
        self.inverses.reset(AREA * self.first.len());
        self.block.reset(AREA);
        // An entry of the rows of one place and the columns of another.
        let mut put = |[row, column]: [usize; 2], block: [[f32; 3]; 3]| {
            let [i, j] = [row, column].map(|place| place / CONTACTS);
            if i < j {
                return;
            }
            let into = if i == j {
                &mut self.inverses[AREA * i..AREA * (i + 1)]
            } else {
                let at = self.offsets[i] + AREA * (j - self.first[i]);
                &mut self.lower[at..at + AREA]
            };
            for (r, entries) in block.iter().enumerate() {
                for (c, entry) in entries.iter().enumerate() {
                    into[(3 * (column % CONTACTS) + c) * ROWS + 3 * (row % CONTACTS) + r] = *entry;
                }
            }
        };
        w.for_each_block(|k, l, mut block| {
            let [at, other] = [k, l].map(|k| self.places[k] as usize);
            if k == l {
                (0..3).for_each(|c| block[c][c] += shift(3 * k + c));
            }
            put([at, other], block);
            put([other, at], std::array::from_fn(|r| std::array::from_fn(|c| block[c][r])));
        });
        // What follows the last contact.
        for place in w.n_contacts()..CONTACTS * self.first.len() {
            put([place, place], std::array::from_fn(|r| std::array::from_fn(|c| if r == c { 1.0 } else { 0.0 })));
        }
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

/// Where each contact stands: the pairs of bodies in the reverse of the order of Cuthill and McKee, so that what shares a
/// body is near each other. In a heap of 120 bodies with 960 contacts the factor takes an eighth of the products that
/// it takes in the order of their names, and has two fifths of the entries; nested dissection is no better.
fn places(w: &Compliance) -> Vec<u32> {
    let pairs: Vec<Range<usize>> = w.pairs().collect();
    let degrees: Vec<usize> = (0..pairs.len()).map(|pair| w.neighbours_of(pair).count()).collect();
    let mut is_placed = vec![false; pairs.len()];
    // The search that last saw a pair; 0: none.
    let mut seen = vec![0u32; pairs.len()];
    let (mut search, mut level) = (0, vec![]);
    let mut from_first = |first: usize| {
        search += 1;
        seen[first] = search;
        let mut order = vec![first];
        let mut at = 0;
        while let Some(pair) = order.get(at).copied() {
            level.clear();
            level.extend(w.neighbours_of(pair).filter(|other| seen[*other] != search));
            level.sort_unstable_by_key(|other| (degrees[*other], *other));
            level.iter().for_each(|other| seen[*other] = search);
            order.extend(&level);
            at += 1;
        }
        order
    };
    let mut by_degree: Vec<usize> = (0..pairs.len()).collect();
    by_degree.sort_unstable_by_key(|pair| (degrees[*pair], *pair));
    let mut places = vec![0; w.n_contacts()];
    let mut end = places.len() as u32;
    for first in by_degree {
        if is_placed[first] {
            continue;
        }
        // What is found last lies at an end of what hangs together.
        let mut order = from_first(first);
        for _ in 0..2 {
            order = order.last().map(|last| from_first(*last)).unwrap_or(order);
        }
        for pair in order {
            is_placed[pair] = true;
            end -= pairs[pair].len() as u32;
            pairs[pair].clone().zip(end..).for_each(|(contact, place)| places[contact] = place);
        }
    }
    places
}

struct Factor<'a> {
    factor: &'a mut ShiftedFactor,
    cancel: &'a CancelToken,
}

impl WithSimd for Factor<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let Self { factor, cancel } = self;
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
                let from = if i == j { &factor.inverses[AREA * i..AREA * (i + 1)] } else { &factor.lower[factor.place(i, j)] };
                block[..AREA].copy_from_slice(from);
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
