//! Spectral projected gradient: steps of Barzilai and Borwein's two lengths in turn, no line search (Birgin, Martinez & Raydan 2000 for
//! the projection).

use super::{Point, Problem, Watch, Work, dot_scaled};

/// Length of a step when the curvature does not tell, in units of the scales of the contacts.
const FIRST_STEP: f64 = 0.2;
/// Length of the steps after a while without progress.
const CAREFUL_STEP: f64 = 0.1;
const STEPS: std::ops::RangeInclusive<f64> = 1e-3..=50.0;
const CHECK_INTERVAL: u32 = 8;
const PATIENCE: u32 = 12;

/// Goes on from the best point to the tolerance [m]; at most `bound` iterations. Returns how many it took.
pub(super) fn iterate(problem: &Problem, tolerance: f64, bound: u32, work: &mut Work) -> u32 {
    let Work { gather, best, best_error, points: [at, next], .. } = work;
    let mut watch = Watch { problem: *problem, tolerance, idle: 0 };
    at.copy_from(best);
    let mut length = FIRST_STEP;
    for iteration in 1..=bound {
        if problem.cancel.is_cancelled() {
            return iteration;
        }
        problem.project(&at.p, &at.u, length, &mut next.p);
        problem.w.product(&next.p, problem.free, &mut next.u, gather);
        let change = Change::between(problem, at, next);
        std::mem::swap(at, next);
        if iteration % CHECK_INTERVAL == 0 || iteration == bound || change.largest < tolerance {
            if watch.check(at, best, best_error) {
                return iteration;
            }
            if watch.idle >= PATIENCE {
                watch.idle = 0;
                length = CAREFUL_STEP;
                continue;
            }
        }
        length = change.length(iteration);
    }
    bound
}

/// What a step s = q - p changed: y = u(q) - u(p).
#[derive(Default)]
struct Change {
    /// s.D s
    forces: f64,
    /// s.y
    work: f64,
    /// y.D^-1 y
    motions: f64,
    /// Largest entry of D s [m].
    largest: f64,
}

impl Change {
    fn between(problem: &Problem, from: &Point, to: &Point) -> Self {
        let mut change = Self::default();
        for (k, scale) in problem.w.scales().iter().enumerate() {
            let (s, y) = (to.p[k] - from.p[k], to.u[k] - from.u[k]);
            change.forces += dot_scaled(&s, &s, scale);
            change.work += s.dot(&y);
            change.motions += scale.inverse_normal * y.x * y.x + scale.inverse_tangential * (y.y * y.y + y.z * y.z);
            let tangential = scale.tangential * s.y.abs().max(s.z.abs());
            change.largest = change.largest.max(scale.normal * s.x.abs()).max(tangential);
        }
        change
    }

    fn length(&self, iteration: u32) -> f64 {
        let length = if iteration.is_multiple_of(2) { self.forces / self.work } else { self.work / self.motions };
        if self.work > 0.0 && length.is_finite() { length.clamp(*STEPS.start(), *STEPS.end()) } else { FIRST_STEP }
    }
}
