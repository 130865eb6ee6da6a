//! Products of three dense f32 rows, a node or a contact, with the widest registers that the processor has (`pulp` asks it).

use pulp::Simd;

/// Rows are padded with zeros to a multiple of this many entries; no register holds more.
pub const PADDING: usize = 16;

/// `rows x`; `stride` entries from row to row, of which the first `x.len()`, a multiple of [`PADDING`], count.
#[inline(always)]
pub fn dot3<S: Simd>(simd: S, rows: &[f32], stride: usize, x: &[f32]) -> [f32; 3] {
    let n = x.len();
    let (x, _) = S::as_simd_f32s(x);
    let (r0, _) = S::as_simd_f32s(&rows[..n]);
    let (r1, _) = S::as_simd_f32s(&rows[stride..stride + n]);
    let (r2, _) = S::as_simd_f32s(&rows[2 * stride..2 * stride + n]);
    let zero = simd.splat_f32s(0.0);
    let (mut a, mut b, mut c) = (zero, zero, zero);
    for (((x, r0), r1), r2) in x.iter().zip(r0).zip(r1).zip(r2) {
        a = simd.mul_add_f32s(*r0, *x, a);
        b = simd.mul_add_f32s(*r1, *x, b);
        c = simd.mul_add_f32s(*r2, *x, c);
    }
    [simd.reduce_sum_f32s(a), simd.reduce_sum_f32s(b), simd.reduce_sum_f32s(c)]
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
