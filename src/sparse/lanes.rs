//! Products of three dense f32 rows, a node or a contact, with the widest registers that the processor has (`pulp`
//! asks it).

use std::ops::{Deref, DerefMut};

use bytemuck::{Pod, Zeroable};
use pulp::Simd;

/// Rows are padded with zeros to a multiple of this many entries; no register holds more.
pub const PADDING: usize = 16;

/// A line of the cache.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([f32; PADDING]);

/// Entries whose first one begins a line of the cache, so that no load of an aligned row takes two.
#[derive(Clone, Debug, Default)]
pub struct Entries(Vec<Line>);

impl Entries {
    /// `n` zeros; `n` is rounded up to a multiple of [`PADDING`].
    pub fn reset(&mut self, n: usize) {
        self.0.clear();
        self.resize(n);
    }

    /// `n` entries, whatever stood there before.
    pub fn resize(&mut self, n: usize) {
        self.0.resize(n.div_ceil(PADDING), Line([0.0; PADDING]));
    }
}

impl Deref for Entries {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        bytemuck::cast_slice(&self.0)
    }
}

impl DerefMut for Entries {
    fn deref_mut(&mut self) -> &mut [f32] {
        bytemuck::cast_slice_mut(&mut self.0)
    }
}

/// `rows x`; `stride` entries from row to row, of which the first `x.len()`, a multiple of [`PADDING`], count.
#[inline(always)]
pub fn dot3<S: Simd>(simd: S, rows: &[f32], stride: usize, x: &[f32]) -> [f32; 3] {
    let n = x.len();
    let (x, _) = S::as_simd_f32s(x);
    let (r0, _) = S::as_simd_f32s(&rows[..n]);
    let (r1, _) = S::as_simd_f32s(&rows[stride..stride + n]);
    let (r2, _) = S::as_simd_f32s(&rows[2 * stride..2 * stride + n]);
    // Two sums a row: one waits for itself.
    let mut sums = [[simd.splat_f32s(0.0); 2]; 3];
    let (x_pairs, x_rest) = x.as_chunks::<2>();
    let (pairs0, rest0) = r0.as_chunks::<2>();
    let (pairs1, rest1) = r1.as_chunks::<2>();
    let (pairs2, rest2) = r2.as_chunks::<2>();
    for (((x, r0), r1), r2) in x_pairs.iter().zip(pairs0).zip(pairs1).zip(pairs2) {
        for k in 0..2 {
            sums[0][k] = simd.mul_add_f32s(r0[k], x[k], sums[0][k]);
            sums[1][k] = simd.mul_add_f32s(r1[k], x[k], sums[1][k]);
            sums[2][k] = simd.mul_add_f32s(r2[k], x[k], sums[2][k]);
        }
    }
    for (((x, r0), r1), r2) in x_rest.iter().zip(rest0).zip(rest1).zip(rest2) {
        sums[0][0] = simd.mul_add_f32s(*r0, *x, sums[0][0]);
        sums[1][0] = simd.mul_add_f32s(*r1, *x, sums[1][0]);
        sums[2][0] = simd.mul_add_f32s(*r2, *x, sums[2][0]);
    }
    totals(simd, sums)
}

/// What the two sums of each row come to. Not by `map`: closures would not be compiled for the wide registers.
#[inline(always)]
fn totals<S: Simd>(simd: S, [a, b, c]: [[S::f32s; 2]; 3]) -> [f32; 3] {
    [
        simd.reduce_sum_f32s(simd.add_f32s(a[0], a[1])),
        simd.reduce_sum_f32s(simd.add_f32s(b[0], b[1])),
        simd.reduce_sum_f32s(simd.add_f32s(c[0], c[1])),
    ]
}

/// `y += rows^T s`, rows as in [`dot3`].
#[inline(always)]
pub fn add_transposed3<S: Simd>(simd: S, rows: &[f32], stride: usize, s: [f32; 3], y: &mut [f32]) {
    let n = y.len();
    let (y, _) = S::as_mut_simd_f32s(y);
    let (r0, _) = S::as_simd_f32s(&rows[..n]);
    let (r1, _) = S::as_simd_f32s(&rows[stride..stride + n]);
    let (r2, _) = S::as_simd_f32s(&rows[2 * stride..2 * stride + n]);
    let (s0, s1, s2) = (simd.splat_f32s(s[0]), simd.splat_f32s(s[1]), simd.splat_f32s(s[2]));
    for (((y, r0), r1), r2) in y.iter_mut().zip(r0).zip(r1).zip(r2) {
        *y = simd.mul_add_f32s(*r2, s2, simd.mul_add_f32s(*r1, s1, simd.mul_add_f32s(*r0, s0, *y)));
    }
}

/// `y += rows^T s`, and `rows x`, in one pass over rows as in [`dot3`].
#[inline(always)]
pub fn dot_and_add3<S: Simd>(simd: S, rows: &[f32], stride: usize, x: &[f32], s: [f32; 3], y: &mut [f32]) -> [f32; 3] {
    let n = x.len();
    let (x, _) = S::as_simd_f32s(x);
    let (y, _) = S::as_mut_simd_f32s(&mut y[..n]);
    let (r0, _) = S::as_simd_f32s(&rows[..n]);
    let (r1, _) = S::as_simd_f32s(&rows[stride..stride + n]);
    let (r2, _) = S::as_simd_f32s(&rows[2 * stride..2 * stride + n]);
    let (s0, s1, s2) = (simd.splat_f32s(s[0]), simd.splat_f32s(s[1]), simd.splat_f32s(s[2]));
    // Two sums a row: one waits for itself.
    let mut sums = [[simd.splat_f32s(0.0); 2]; 3];
    let (x_pairs, x_rest) = x.as_chunks::<2>();
    let (y_pairs, y_rest) = y.as_chunks_mut::<2>();
    let (pairs0, rest0) = r0.as_chunks::<2>();
    let (pairs1, rest1) = r1.as_chunks::<2>();
    let (pairs2, rest2) = r2.as_chunks::<2>();
    for ((((x, y), r0), r1), r2) in x_pairs.iter().zip(y_pairs).zip(pairs0).zip(pairs1).zip(pairs2) {
        for k in 0..2 {
            sums[0][k] = simd.mul_add_f32s(r0[k], x[k], sums[0][k]);
            sums[1][k] = simd.mul_add_f32s(r1[k], x[k], sums[1][k]);
            sums[2][k] = simd.mul_add_f32s(r2[k], x[k], sums[2][k]);
            y[k] = simd.mul_add_f32s(r2[k], s2, simd.mul_add_f32s(r1[k], s1, simd.mul_add_f32s(r0[k], s0, y[k])));
        }
    }
    for ((((x, y), r0), r1), r2) in x_rest.iter().zip(y_rest).zip(rest0).zip(rest1).zip(rest2) {
        sums[0][0] = simd.mul_add_f32s(*r0, *x, sums[0][0]);
        sums[1][0] = simd.mul_add_f32s(*r1, *x, sums[1][0]);
        sums[2][0] = simd.mul_add_f32s(*r2, *x, sums[2][0]);
        *y = simd.mul_add_f32s(*r2, s2, simd.mul_add_f32s(*r1, s1, simd.mul_add_f32s(*r0, s0, *y)));
    }
    totals(simd, sums)
}
