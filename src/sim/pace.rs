//! Where steps begin: after some that had to be halved, one after the other, the next begins with parts as small as
//! those came to, and from time to time with larger ones. What tumbles or lands in a heap would have to be halved in
//! each of many steps, and attempts that are thrown away took half of the time and more.
//!
//! Halves may be the better answer to a step that does end, too: their contacts are fewer, and contradict each other
//! less. After a step that took much work the next one is tried in halves, and what takes less stays. A whole step is
//! given up that takes much more than those before.

use serde::{Deserialize, Serialize};

/// A step that fails is halved at most this often.
pub const MAX_HALVINGS: u32 = 4;
/// Most steps before other parts are tried again.
const LONGEST: u32 = 8;
/// A step is hard that takes more than so many times the work of one in which nothing touches ([`least_work`]). The steps
/// of the scenes of the gallery take 2 to 35 times as much, the landing of a pile of cubes up to 250, that of a heap of
/// bunnies 500. With 40 or 100 piles of 64 cubes came to be halved in every sixth step and took a third longer in all.
///
/// [`least_work`]: crate::budget::least_work
const HARD: f64 = 150.0;
/// Halves are the better answer if they take less than this part of the work: some of what they take, such as their
/// matrices, is not counted, and what is hard by chance is not so the next time.
const BETTER: f64 = 0.5;
/// Where an island takes so many times that work, smaller parts are tried: in a whole step, and in its halves, which are
/// not given up as soon. Smaller ones take what they take.
const PATIENCE: [f64; 2] = [100.0, 400.0];

/// With which parts steps begin. Part of the state of a run: it follows from the steps before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pace {
    /// Length of those steps [s]: steps of another one begin whole.
    time_step: f64,
    /// Halvings that the last steps took.
    halvings: u32,
    /// Tries of other parts that have failed, one after the other.
    failures: u32,
    /// Steps before the next try.
    left: u32,
    /// Work of the last step with so many halvings, of that of a step in which nothing touches; [`UNKNOWN`] where larger
    /// parts were thrown away.
    #[serde(default)]
    effort: f64,
}

/// More than any work.
const UNKNOWN: f64 = f64::MAX;

/// How a step fared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fared {
    /// Halvings of the parts that it began with, and of the smallest that it came to.
    pub begun: u32,
    pub halvings: u32,
    /// Its work, of that of a step in which nothing touches; 0 of what is not measured so, [`f64::MAX`] if it was not solved to the end.
    pub effort: f64,
}

impl Pace {
    /// With how many halvings the parts of the next step begin, a step of `dt` [s].
    pub fn begin(&self, dt: f64) -> u32 {
        let Self { halvings, left, effort, .. } = self.of_steps(dt);
        match halvings {
            _ if left > 0 => halvings,
            0 => u32::from(effort > HARD),
            _ => halvings - 1,
        }
    }

    /// How much an island of a part that was halved so often may take, of the work of a step in which nothing touches;
    /// none: as much as it takes. As much as the last step took is well.
    pub fn patience(&self, dt: f64, halvings: u32) -> Option<f64> {
        let effort = Some(self.of_steps(dt).effort).filter(|effort| *effort < UNKNOWN);
        PATIENCE.get(halvings as usize).map(|patience| patience.max(effort.unwrap_or(0.0)))
    }

    fn of_steps(self, dt: f64) -> Self {
        if self.time_step == dt { self } else { Self { time_step: dt, ..Self::default() } }
    }

    /// Takes how a step of `dt` [s] has fared. A failure by itself, such as in an impact, lets the next step begin with
    /// larger parts all the same; after each further one that takes twice as long.
    pub fn end(&mut self, dt: f64, Fared { begun, halvings, effort }: Fared) {
        let before = self.of_steps(dt);
        let Self { failures, left, .. } = before;
        let in_vain = Self { failures: failures + 1, left: LONGEST.min((1 << failures.min(LONGEST)) - 1), ..before };
        *self = if halvings > begun {
            // What comes of the smallest parts is taken as it is: no step begins with these.
            Self { halvings: halvings.min(MAX_HALVINGS - 1), effort: UNKNOWN, ..in_vain }
        } else if begun < before.halvings {
            let is_well = effort <= (before.effort / BETTER).max(HARD);
            if is_well { Self { halvings: begun, failures: 0, left: 0, effort, ..before } } else { in_vain }
        } else if begun > before.halvings {
            let is_better = effort < BETTER * before.effort;
            if is_better { Self { halvings: begun, failures: 1, left: 1, effort, ..before } } else { in_vain }
        } else if begun == 0 && effort <= HARD {
            Self { failures: 0, left: 0, effort, ..before }
        } else {
            Self { left: left.saturating_sub(1), effort, ..before }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Halvings with which steps begin, and those that they end with where each needs `needed`.
    fn course(needed: &[u32]) -> Vec<[u32; 2]> {
        let mut pace = Pace::default();
        let step = |needed: &u32| {
            let begun = pace.begin(0.01);
            pace.end(0.01, Fared { begun, halvings: begun.max(*needed), effort: 1.0 });
            [begun, begun.max(*needed)]
        };
        needed.iter().map(step).collect()
    }

    #[test]
    fn one_failure_changes_nothing_and_many_are_tried_more_and_more_seldom() {
        assert_eq!(course(&[0, 1, 0, 1, 0]), [[0, 0], [0, 1], [0, 0], [0, 1], [0, 0]]);
        let begun = |n: usize| course(&vec![1; n]).iter().map(|[begun, _]| *begun).collect::<Vec<_>>();
        // Tried whole after none, one, three, seven steps, and then after eight.
        assert_eq!(begun(15), [0, 0, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(begun(40).iter().filter(|begun| **begun == 0).count(), 7);
        // Once a whole step is well all of them are.
        assert_eq!(course(&[1, 1, 0, 0, 0, 1, 0])[2..], [[1, 1], [0, 0], [0, 0], [0, 1], [0, 0]]);
    }

    #[test]
    fn parts_become_larger_one_by_one() {
        assert_eq!(course(&[2, 2, 0, 0, 0, 0]), [[0, 2], [1, 2], [2, 2], [1, 1], [0, 0], [0, 0]]);
        assert!(course(&[MAX_HALVINGS; 40]).iter().all(|[begun, _]| *begun < MAX_HALVINGS));
    }

    /// Halvings with which each of so many steps begins, where whole ones and such of halves take these efforts.
    fn begun(pace: &mut Pace, n: usize, efforts: [f64; 2]) -> Vec<u32> {
        let step = |_| {
            let begun = pace.begin(0.01);
            pace.end(0.01, Fared { begun, halvings: begun, effort: efforts[begun as usize] });
            begun
        };
        (0..n).map(step).collect()
    }

    #[test]
    fn hard_steps_are_made_in_halves_where_these_take_less() {
        let mut pace = Pace::default();
        assert_eq!(begun(&mut pace, 4, [HARD, 0.0]), [0; 4]);
        // Tried at once, and whole ones more and more seldom.
        assert_eq!(begun(&mut pace, 16, [5.0 * HARD, 2.0 * HARD]), [0, 1, 1, 0, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1]);
        // Once the next try is well steps are whole again.
        assert_eq!(begun(&mut pace, 4, [0.9 * HARD, 0.8 * HARD]), [1, 0, 0, 0]);
    }

    #[test]
    fn halves_that_are_no_better_are_tried_more_and_more_seldom() {
        let mut pace = Pace::default();
        assert_eq!(begun(&mut pace, 15, [2.0 * HARD, HARD]), [0, 1, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        // What is not hard any more is forgotten: the next that is hard is tried at once.
        assert_eq!(begun(&mut pace, 3, [HARD, HARD]), [0, 0, 0]);
        assert_eq!(begun(&mut pace, 2, [3.0 * HARD, HARD]), [0, 1]);
    }

    #[test]
    fn what_is_not_solved_to_the_end_is_tried_in_halves() {
        let mut pace = Pace::default();
        assert_eq!(begun(&mut pace, 4, [f64::MAX, 3.0]), [0, 1, 1, 0]);
        assert_eq!(begun(&mut Pace::default(), 5, [f64::MAX; 2]), [0, 1, 1, 0, 1]);
    }

    #[test]
    fn patience_is_as_much_as_the_last_step_took_and_never_less() {
        let mut pace = Pace::default();
        let patience = |pace: &Pace| [0, 1, 2].map(|halvings| pace.patience(0.01, halvings));
        assert_eq!(patience(&pace), [Some(PATIENCE[0]), Some(PATIENCE[1]), None]);
        pace.end(0.01, Fared { begun: 0, halvings: 0, effort: 2.0 * PATIENCE[0] });
        assert_eq!(patience(&pace), [Some(2.0 * PATIENCE[0]), Some(PATIENCE[1]), None]);
        // What was thrown away is no measure, and steps of another length have none.
        pace.end(0.01, Fared { begun: 0, halvings: 1, effort: 9.0 * PATIENCE[0] });
        assert_eq!(patience(&pace)[0], Some(PATIENCE[0]));
        pace.end(0.01, Fared { begun: 1, halvings: 1, effort: 7.0 * PATIENCE[1] });
        assert_eq!((pace.patience(0.01, 1), pace.patience(0.02, 1)), (Some(7.0 * PATIENCE[1]), Some(PATIENCE[1])));
    }
}
