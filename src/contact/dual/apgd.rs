//! Accelerated projected gradient descent with adaptive restart; the radii of the friction discs move with the normal
//! forces (Nesterov 1983; O'Donoghue & Candes 2015; Mazhar et al. 2015 for contact).

use super::{Point, Problem, Watch, Work, dot_scaled};
use crate::math::Vec3;

const POWER_ITERATIONS: u32 = 8;
/// The power iteration comes from below.
pub const EIGENVALUE_MARGIN: f64 = 1.1;
const CHECK_INTERVAL: u32 = 8;

/// Goes on from the best point to the tolerance [m]; at most `bound` iterations. Returns how many it took, those of the
/// step length included.
pub(super) fn iterate(problem: &Problem, tolerance: f64, bound: u32, work: &mut Work) -> u32 {
    let mut length = 1.0 / (EIGENVALUE_MARGIN * largest_eigenvalue(problem, work));
    if !length.is_finite() {
        return POWER_ITERATIONS;
    }
    // `at` is the last iterate p; `ahead` the extrapolated point y, whose motion follows from those of the iterates.
    let Work { gather, best, best_error, points: [at, next], directions: [ahead, ahead_motion], .. } = work;
    let mut watch = Watch { problem: *problem, tolerance, idle: 0 };
    at.copy_from(best);
    ahead.copy_from_slice(&at.p);
    ahead_motion.copy_from_slice(&at.u);
    let mut theta = 1.0f64;
    for iteration in 1..=bound {
        if problem.cancel.is_cancelled() {
            return iteration;
        }
        problem.project(ahead, ahead_motion, length, &mut next.p);
        problem.w.product(&next.p, problem.free, &mut next.u, gather);
        let uphill = climbs(problem, ahead, at, next);
        let theta_next = 0.5 * (1.0 + (1.0 + 4.0 * theta * theta).sqrt());
        let beta = if uphill { 0.0 } else { (theta - 1.0) / theta_next };
        theta = if uphill { 1.0 } else { theta_next };
        for k in 0..ahead.len() {
            ahead[k] = next.p[k] + (next.p[k] - at.p[k]) * beta;
            ahead_motion[k] = next.u[k] + (next.u[k] - at.u[k]) * beta;
        }
        std::mem::swap(at, next);
        if iteration % CHECK_INTERVAL == 0 || iteration == bound {
            if watch.check(at, best, best_error) {
                return iteration + POWER_ITERATIONS;
            }
            if best_error.max().is_infinite() || !at.u.iter().all(|u| u.x.is_finite()) {
                // The eigenvalue was too small.
                length *= 0.5;
                at.copy_from(best);
                ahead.copy_from_slice(&at.p);
                ahead_motion.copy_from_slice(&at.u);
                theta = 1.0;
            }
        }
    }
    bound + POWER_ITERATIONS
}

/// The step from y to q goes against the way from p to q: the momentum is too large.
fn climbs(problem: &Problem, ahead: &[Vec3], at: &Point, next: &Point) -> bool {
    let parts = problem.w.scales().iter().enumerate();
    parts.map(|(k, scale)| dot_scaled(&(ahead[k] - next.p[k]), &(next.p[k] - at.p[k]), scale)).sum::<f64>() > 0.0
}

/// Largest eigenvalue of D^-1 W, from below.
fn largest_eigenvalue(problem: &Problem, work: &mut Work) -> f64 {
    let Work { gather, points: [_, Point { u, .. }], directions: [x, zero], .. } = work;
    zero.fill(Vec3::zeros());
    for (k, x) in x.iter_mut().enumerate() {
        // Not orthogonal to anything.
        *x = Vec3::new(1.0 + 0.3 * (k as f64).sin(), 0.7 * (k as f64).cos(), 0.5 * (2.0 * k as f64).sin());
    }
    let mut eigenvalue = 0.0;
    for _ in 0..POWER_ITERATIONS {
        if problem.cancel.has_been_cancelled() {
            break;
        }
        let norm = x.iter().zip(problem.w.scales()).map(|(x, scale)| dot_scaled(x, x, scale)).sum::<f64>().sqrt();
        x.iter_mut().for_each(|x| *x /= norm);
        problem.w.product(x, zero, u, gather);
        eigenvalue = x.iter().zip(&*u).map(|(x, u)| x.dot(u)).sum();
        for ((x, u), scale) in x.iter_mut().zip(&*u).zip(problem.w.scales()) {
            *x = Vec3::new(u.x * scale.inverse_normal, u.y * scale.inverse_tangential, u.z * scale.inverse_tangential);
        }
    }
    eigenvalue
}
