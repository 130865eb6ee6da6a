//! Alternating direction method of multipliers (Boyd et al. 2011): the linear part of the laws is solved exactly for
//! all contacts at once, with a factor of W + S, and each law by itself. The radii of the friction discs move with the
//! normal forces.
//!
//! Gradient methods need iterations like the condition of W, which is 1e5 in a stack that lands: many rows say nearly
//! the same. Of 16 such problems with 200 to 560 contacts this one came to 2e-6 m in 90 to 600 iterations, and the
//! spectral gradient in 1100 to more than 3000; an iteration costs as much. Longer steps (over-relaxation) never end in
//! some of them, as friction is not the derivative of anything.

use super::shifted::ShiftedFactor;
use super::{Problem, Watch, Work, spg};
use crate::math::Vec3;

/// S, in units of the scales of the contacts.
const SHIFT: f64 = 0.03;
/// Iterations of a round, and those of the spectral gradient after it, which is good at what is left then: what each
/// contact does by itself.
const ROUND: u32 = 16;
const POLISH: u32 = 16;
/// Part of the tolerance that it goes on to.
const IN_COMMON: f64 = 0.5;
/// Contacts for which the factor costs as much as one iteration, if all are of one body.
const CONTACTS_OF_ITERATION: usize = 3;

/// Goes on from the best point to the tolerance [m]; at most `bound` iterations. Returns how many it took, with what the
/// factor costs.
pub(super) fn iterate(problem: &Problem, tolerance: f64, bound: u32, work: &mut Work) -> u32 {
    let (factor_work, part) = work.factor.work_of(problem.w);
    let of_factor = (part * (problem.laws.len() / CONTACTS_OF_ITERATION) as f64) as u32;
    if bound <= of_factor || factor_work > problem.work_left {
        return 0;
    }
    work.factor_work += factor_work;
    let scales = problem.w.scales();
    // What no force moves has no scale.
    let of = |scale: f64| if scale > 0.0 { SHIFT * scale } else { 1.0 };
    let shift_of = |k: usize| [of(scales[k].normal), of(scales[k].tangential), of(scales[k].tangential)];
    if !ShiftedFactor::prepare(&mut work.factor, problem.w, |row| shift_of(row / 3)[row % 3] as f32, problem.cancel) {
        return of_factor;
    }
    let [forces, multipliers] = &mut work.directions;
    forces.copy_from_slice(&work.best.p);
    for (k, multiplier) in multipliers.iter_mut().enumerate() {
        *multiplier = -work.best.u[k].component_div(&Vec3::from(shift_of(k)));
    }
    // A factor may have more entries than W.
    let more_work = work.factor.solve_work().saturating_sub(problem.w.work());
    // Its errors are not of single contacts but of all in common, and add up.
    let tolerance = IN_COMMON * tolerance;
    let mut done = of_factor;
    while done < bound {
        work.factor_work += u64::from(ROUND) * more_work;
        let [forces, multipliers] = &mut work.directions;
        for _ in 0..ROUND {
            if problem.cancel.is_cancelled() {
                return done;
            }
            done += 1;
            work.solution.reset(work.factor.n_rows());
            let solution = work.solution.as_chunks_mut::<3>().0;
            for (k, place) in work.factor.places().iter().enumerate() {
                let pull = (forces[k] - multipliers[k]).component_mul(&Vec3::from(shift_of(k))) - problem.free[k];
                solution[*place as usize] = [pull.x as f32, pull.y as f32, pull.z as f32];
            }
            work.factor.solve(&mut work.solution, &mut work.block);
            let solution = work.solution.as_chunks::<3>().0;
            for (k, place) in work.factor.places().iter().enumerate() {
                let sum = Vec3::from(solution[*place as usize].map(f64::from)) + multipliers[k];
                forces[k] = problem.laws[k].project(&sum, &Vec3::zeros(), 0.0, &scales[k]);
                multipliers[k] = sum - forces[k];
            }
        }
        let Work { gather, best, best_error, points: [at, _], directions: [forces, _], .. } = &mut *work;
        at.p.copy_from_slice(forces);
        problem.w.product(&at.p, problem.free, &mut at.u, gather);
        let mut watch = Watch { problem: *problem, tolerance, idle: 0 };
        if watch.check(at, best, best_error) {
            return done;
        }
        if watch.idle == 0 {
            done += spg::iterate(problem, tolerance, POLISH, work);
            if work.best_error.max() < tolerance {
                return done;
            }
        }
    }
    done
}
