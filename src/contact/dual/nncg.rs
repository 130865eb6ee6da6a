//! Nonsmooth nonlinear conjugate gradients: symmetric block Gauss-Seidel sweeps with Fletcher-Reeves directions between them
//! (Silcowitz-Hansen, Abel & Erleben 2010). Slow and robust: the sweeps alone converge wherever Gauss-Seidel does.

use super::{Problem, Watch, Work, dot_scaled};
use crate::math::Vec3;

const CHECK_INTERVAL: u32 = 4;

/// Goes on from the best point to the tolerance [m]; at most `bound` double sweeps. Returns how many sweeps and products it took.
pub(super) fn iterate(problem: &Problem, tolerance: f64, bound: u32, work: &mut Work) -> u32 {
    let Work { gather, best, best_error, points: [at, swept], directions: [direction, _], .. } = work;
    let mut watch = Watch { problem: *problem, tolerance, idle: 0 };
    at.p.copy_from_slice(&best.p);
    direction.fill(Vec3::zeros());
    let mut effort = 0;
    let mut gradient2 = f64::INFINITY;
    for iteration in 1..=bound {
        swept.p.copy_from_slice(&at.p);
        problem.w.sweep(problem.laws, problem.free, &mut swept.p, true, gather);
        problem.w.sweep(problem.laws, problem.free, &mut swept.p, false, gather);
        effort += 2;
        if iteration % CHECK_INTERVAL == 0 || iteration == bound {
            problem.w.product(&swept.p, problem.free, &mut swept.u, gather);
            effort += 1;
            if watch.check(swept, best, best_error) {
                break;
            }
        }
        let parts = problem.w.scales().iter().zip(&swept.p).zip(&at.p);
        let new2: f64 = parts.map(|((scale, q), p)| dot_scaled(&(q - p), &(q - p), scale)).sum();
        let beta = new2 / gradient2;
        gradient2 = new2;
        // Where the sweeps go astray, or stand still, the direction starts anew.
        let beta = if beta <= 1.0 { beta } else { 0.0 };
        for k in 0..direction.len() {
            let step = swept.p[k] - at.p[k];
            at.p[k] = swept.p[k] + direction[k] * beta;
            direction[k] = direction[k] * beta + step;
        }
        if !gradient2.is_finite() {
            break;
        }
    }
    effort
}
