//! Conjugate gradients with the Jacobi preconditioner for any storage (`linear-algebra.md` 3), fused to three passes an
//! iteration.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::{Real, Storage};
use crate::sparse::Solved;

/// Entries of a vector that a thread takes at once; sums of parts come out the same for any number of threads.
const CHUNK: usize = 4096;
/// Sums that do not wait for each other.
const LANES: usize = 16;

/// Vectors of a solve, kept between calls.
#[derive(Clone, Debug, Default)]
pub struct CgWork<T> {
    r: Vec<T>,
    p: Vec<T>,
    q: Vec<T>,
    dots: Vec<f64>,
    sums: Vec<[f64; 2]>,
}

/// Solves `A x = b` to `|b - A x| <= tolerance` (2-norm) from the start value in `x`; A is symmetric positive definite,
/// and
/// `inverse_diagonal` holds 1/A_kk. All are padded as [`Storage::padded`] says, with zeros.
///
/// It is Algorithm 2 of the thesis in its unsplit form: with c_k = 1/sqrt(A_kk) its w.w is r.z, z = A_kk^-1 r.
pub fn jacobi_cg<T: Real>(
    a: &Storage<T>,
    inverse_diagonal: &[T],
    b: &[T],
    x: &mut [T],
    tolerance: f64,
    max_iterations: u32,
    work: &mut CgWork<T>,
) -> Solved {
    let CgWork { r, p, q, dots, sums } = work;
    for vector in [&mut *r, p, q] {
        vector.resize(b.len(), T::ZERO);
    }
    a.multiply_and_dot(x, q, None);
    r.copy_from_slice(b);
    let [mut rho, mut residual2] = advance_all(T::from_f64(1.0), None, q, inverse_diagonal, x, r, sums);
    p.fill(T::ZERO);
    direction_all(T::ZERO, inverse_diagonal, r, p);
    let mut iterations = 0;
    while residual2.sqrt() > tolerance && iterations < max_iterations {
        let curvature = a.multiply_and_dot(p, q, Some(dots));
        let alpha = rho / curvature;
        if !alpha.is_finite() {
            break;
        }
        let before = rho;
        [rho, residual2] = advance_all(T::from_f64(alpha), Some(p), q, inverse_diagonal, x, r, sums);
        direction_all(T::from_f64(rho / before), inverse_diagonal, r, p);
        iterations += 1;
    }
    let residual = residual2.sqrt();
    Solved { iterations, residual, converged: residual <= tolerance }
}

/// [`advance`] on all threads, with places for the sums of parts.
pub fn advance_all<T: Real>(
    alpha: T,
    p: Option<&[T]>,
    q: &[T],
    inverse_diagonal: &[T],
    x: &mut [T],
    r: &mut [T],
    sums: &mut Vec<[f64; 2]>,
) -> [f64; 2] {
    sums.resize(r.len().div_ceil(CHUNK), [0.0; 2]);
    let p = p.unwrap_or(&[]);
    let work = |k: usize, x: &mut [T], r: &mut [T], sum: &mut [f64; 2]| {
        let part = k * CHUNK..k * CHUNK + r.len();
        *sum = advance(alpha, p.get(part.clone()), &q[part.clone()], &inverse_diagonal[part], x, r);
    };
    if r.len() <= CHUNK {
        sums.iter_mut().for_each(|sum| work(0, x, r, sum));
    } else {
        let parts = x.par_chunks_mut(CHUNK).zip(r.par_chunks_mut(CHUNK)).zip(sums.par_iter_mut());
        parts.enumerate().for_each(|(k, ((x, r), sum))| work(k, x, r, sum));
    }
    sums.iter().fold([0.0; 2], |[a, b], part| [a + part[0], b + part[1]])
}

/// [`direction`] on all threads.
pub fn direction_all<T: Real>(beta: T, inverse_diagonal: &[T], r: &[T], p: &mut [T]) {
    if r.len() <= CHUNK {
        return direction(beta, inverse_diagonal, r, p);
    }
    p.par_chunks_mut(CHUNK).enumerate().for_each(|(k, p)| {
        let part = k * CHUNK..k * CHUNK + p.len();
        direction(beta, &inverse_diagonal[part.clone()], &r[part], p);
    });
}

/// CG4: `x += alpha p` (if there is a p) and `r -= alpha q`; returns `[r.z, r.r]` with z = `inverse_diagonal` r.
pub fn advance<T: Real>(alpha: T, p: Option<&[T]>, q: &[T], inverse_diagonal: &[T], x: &mut [T], r: &mut [T]) -> [f64; 2] {
    Arch::new().dispatch(Advance { alpha, p, q, inverse_diagonal, x, r })
}

/// CG5: `p = z + beta p` with z = `inverse_diagonal` r.
pub fn direction<T: Real>(beta: T, inverse_diagonal: &[T], r: &[T], p: &mut [T]) {
    Arch::new().dispatch(Direction { beta, inverse_diagonal, r, p });
}

struct Advance<'a, T> {
    alpha: T,
    p: Option<&'a [T]>,
    q: &'a [T],
    inverse_diagonal: &'a [T],
    x: &'a mut [T],
    r: &'a mut [T],
}

impl<T: Real> WithSimd for Advance<'_, T> {
    type Output = [f64; 2];

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> [f64; 2] {
        let Self { alpha, p, q, inverse_diagonal, x, r } = self;
        if let Some(p) = p {
            for (x, p) in x.iter_mut().zip(p) {
                *x = p.mul_add::<S>(alpha, *x);
            }
        }
        let mut sums = [[T::ZERO; LANES]; 2];
        let mut add = |r: &mut [T], q: &[T], d: &[T]| {
            for (lane, ((r, q), d)) in r.iter_mut().zip(q).zip(d).enumerate() {
                *r = q.mul_add::<S>(-alpha, *r);
                sums[0][lane] = (*r * *d).mul_add::<S>(*r, sums[0][lane]);
                sums[1][lane] = r.mul_add::<S>(*r, sums[1][lane]);
            }
        };
        let (whole, rest) = r.as_chunks_mut::<LANES>();
        let ((q, q_rest), (d, d_rest)) = (q.as_chunks::<LANES>(), inverse_diagonal.as_chunks::<LANES>());
        for ((r, q), d) in whole.iter_mut().zip(q).zip(d) {
            add(r, q, d);
        }
        add(rest, q_rest, d_rest);
        sums.map(|lanes| lanes.into_iter().map(T::to_f64).sum())
    }
}

struct Direction<'a, T> {
    beta: T,
    inverse_diagonal: &'a [T],
    r: &'a [T],
    p: &'a mut [T],
}

impl<T: Real> WithSimd for Direction<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for ((p, r), d) in self.p.iter_mut().zip(self.r).zip(self.inverse_diagonal) {
            *p = p.mul_add::<S>(self.beta, *r * *d);
        }
    }
}
