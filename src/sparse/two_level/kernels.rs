//! The vector loops of the two-level solve, over slices of eight nodes.

use pulp::{Simd, WithSimd};

use crate::sparse::sell::{self, HEIGHT, Node, Slice, Slot, registers};

/// A vector and a zero for each corner of a cell, or the factors of 1, x, y, xy, z, xz, yz, xyz: bit a of an index stands
/// for the axis a.
pub type Trilinear = [Node; 8];

/// From values at the corners to the factors of the polynomial that takes them.
pub fn to_polynomial(values: &mut Trilinear) {
    for bit in [1, 2, 4] {
        for k in (0..8).filter(|k| k & bit == 0) {
            for c in 0..4 {
                values[k | bit][c] -= values[k][c];
            }
        }
    }
}

/// The transpose of [`to_polynomial`]: from sums weighted with 1, x, y, ... to sums weighted with what each corner has.
pub fn to_corners(sums: &mut Trilinear) {
    for bit in [1, 2, 4] {
        for k in (0..8).filter(|k| k & bit == 0) {
            for c in 0..4 {
                sums[k][c] -= sums[k | bit][c];
            }
        }
    }
}

/// x += alpha p, r -= alpha q, z = D^-1 r; returns r.r and r.z.
pub struct Update<'a> {
    pub alpha: f32,
    pub p: &'a [Slice],
    /// By rows.
    pub q: &'a [Node],
    pub inverses: &'a [Slot],
    pub x: &'a mut [Slice],
    pub r: &'a mut [Slice],
    pub z: &'a mut [Slice],
}

impl WithSimd for Update<'_> {
    type Output = [f64; 2];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [f64; 2] {
        let Self { alpha, p, q, inverses, x, r, z } = self;
        let (plus, minus) = (simd.splat_f32s(alpha), simd.splat_f32s(-alpha));
        let mut sums = [simd.splat_f32s(0.0); 2];
        for (((((x, r), z), p), q), inverse) in x.iter_mut().zip(r).zip(z).zip(p).zip(q.chunks_exact(HEIGHT)).zip(inverses) {
            for k in 0..registers::<S>() {
                let (mut xs, mut rs) = (x.load::<S>(k), r.load::<S>(k));
                let (ps, qs) = (p.load::<S>(k), sell::from_nodes(simd, &q[k * S::F32_LANES..(k + 1) * S::F32_LANES]));
                for c in 0..3 {
                    xs[c] = simd.mul_add_f32s(plus, ps[c], xs[c]);
                    rs[c] = simd.mul_add_f32s(minus, qs[c], rs[c]);
                }
                let zs = sell::times(simd, inverse, k, &rs);
                x.store::<S>(k, xs);
                r.store::<S>(k, rs);
                z.store::<S>(k, zs);
                sums[0] = simd.add_f32s(sums[0], sell::dot(simd, &rs, &rs));
                sums[1] = simd.add_f32s(sums[1], sell::dot(simd, &rs, &zs));
            }
        }
        [simd.reduce_sum_f32s(sums[0]).into(), simd.reduce_sum_f32s(sums[1]).into()]
    }
}

/// Sums of the residual of one cell, weighted with 1, x, y, xy, z, xz, yz, xyz.
pub struct Restrict<'a> {
    pub r: &'a [Slice],
    pub fractions: &'a [Slice],
}

impl WithSimd for Restrict<'_> {
    type Output = Trilinear;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Trilinear {
        let mut found = Trilinear::default();
        for c in 0..3 {
            let mut sums = [simd.splat_f32s(0.0); 8];
            for (r, fractions) in self.r.iter().zip(self.fractions) {
                for k in 0..registers::<S>() {
                    let ([x, y, z], r) = (fractions.load::<S>(k), r.load::<S>(k)[c]);
                    let (rx, ry) = (simd.mul_f32s(r, x), simd.mul_f32s(r, y));
                    let terms = [r, rx, ry, simd.mul_f32s(rx, y)];
                    for (i, term) in terms.into_iter().enumerate() {
                        sums[i] = simd.add_f32s(sums[i], term);
                        sums[4 + i] = simd.mul_add_f32s(term, z, sums[4 + i]);
                    }
                }
            }
            for (found, sum) in found.iter_mut().zip(sums) {
                found[c] = simd.reduce_sum_f32s(sum);
            }
        }
        found
    }
}

/// p = z + P c + beta p, also by rows; returns the largest entry of z + P c.
pub struct Direction<'a> {
    pub beta: f32,
    pub z: &'a [Slice],
    pub fractions: &'a [Slice],
    pub owners: &'a [u32],
    pub motions: &'a [Trilinear],
    pub p: &'a mut [Slice],
    pub rows: &'a mut [Node],
}

impl WithSimd for Direction<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f32 {
        let Self { beta, z, fractions, owners, motions, p, rows } = self;
        let beta = simd.splat_f32s(beta);
        let mut largest = simd.splat_f32s(0.0);
        for ((((p, rows), z), fractions), owner) in p.iter_mut().zip(rows.chunks_exact_mut(HEIGHT)).zip(z).zip(fractions).zip(owners) {
            let motion = &motions[*owner as usize];
            for k in 0..registers::<S>() {
                let (mut ps, zs) = (p.load::<S>(k), z.load::<S>(k));
                let [x, y, z] = fractions.load::<S>(k);
                for c in 0..3 {
                    let factor = |m: usize| simd.splat_f32s(motion[m][c]);
                    let line = |m: usize| simd.mul_add_f32s(factor(m + 1), x, factor(m));
                    let plane = |m: usize| simd.mul_add_f32s(line(m + 2), y, line(m));
                    let coarse = simd.mul_add_f32s(plane(4), z, plane(0));
                    let preconditioned = simd.add_f32s(zs[c], coarse);
                    largest = simd.max_f32s(largest, simd.abs_f32s(preconditioned));
                    ps[c] = simd.mul_add_f32s(beta, ps[c], preconditioned);
                }
                p.store::<S>(k, ps);
                sell::to_nodes(simd, ps, &mut rows[k * S::F32_LANES..(k + 1) * S::F32_LANES]);
            }
        }
        simd.reduce_max_f32s(largest)
    }
}
