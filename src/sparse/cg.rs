//! Conjugate gradients, preconditioned by the block diagonal (`linear-algebra.md` 3).

use super::{System, axpy, dot, xpay};
use crate::cancel::CancelToken;
use crate::math::Vec3;

/// How a solve ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solved {
    pub iterations: u32,
    /// 2-norm of `b - A x`, in the units of b.
    pub residual: f64,
    pub converged: bool,
}

/// When a solve ends.
#[derive(Clone, Copy, Debug)]
pub struct Until<'a> {
    /// 2-norm of `b - A x`, in the units of b.
    pub residual: f64,
    pub iterations: u32,
    /// Asked at each iteration.
    pub cancel: &'a CancelToken,
}

impl Until<'_> {
    /// Whether a solve that has come so far goes on.
    pub fn goes_on(&self, residual: f64, iterations: u32) -> bool {
        residual > self.residual && iterations < self.iterations && !self.cancel.is_cancelled()
    }
}

/// Solves `A x = b` from the start value in `x`. A start value that is not better than zero is dropped. `work` keeps
/// the vectors between calls.
pub fn conjugate_gradient(system: &System, b: &[Vec3], x: &mut [Vec3], until: Until, work: &mut [Vec<Vec3>; 4]) -> Solved {
    let [r, z, p, q] = work;
    for vector in [&mut *r, z, p, q] {
        vector.resize(b.len(), Vec3::zeros());
    }
    system.apply(x, q);
    for ((r, b), q) in r.iter_mut().zip(b).zip(&*q) {
        *r = b - q;
    }
    let b_norm2 = dot(b, b);
    let mut residual2 = dot(r, r);
    let better_than_zero = residual2 < b_norm2; // also false for NaN
    if !better_than_zero {
        x.fill(Vec3::zeros());
        r.copy_from_slice(b);
        residual2 = b_norm2;
    }
    let mut rho = 0.0;
    let mut iterations = 0;
    while until.goes_on(residual2.sqrt(), iterations) {
        system.precondition(r, z);
        let rho_new = dot(r, z);
        let beta = if iterations == 0 { 0.0 } else { rho_new / rho };
        rho = rho_new;
        if iterations == 0 {
            p.copy_from_slice(z)
        } else {
            xpay(p, z, beta)
        }
        system.apply(p, q);
        let alpha = rho / dot(p, q);
        if !alpha.is_finite() {
            break;
        }
        axpy(x, alpha, p);
        axpy(r, -alpha, q);
        residual2 = dot(r, r);
        iterations += 1;
    }
    let residual = residual2.sqrt();
    Solved { iterations, residual, converged: residual <= until.residual }
}
