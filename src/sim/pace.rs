//! Where steps begin: after some that had to be halved, one after the other, the next begins with parts as small as
//! those came to, and from time to time with larger ones. What tumbles or lands in a heap would have to be halved in
//! each of many steps, and attempts that are thrown away took half of the time and more.
//!
//! What takes very long is given up for halves, too, before it is solved or known to fail: their contacts are fewer,
//! and contradict each other less. A heap of 15 soft bunnies had a step of 18 s, and 1.3 s in its slowest one where all
//! were made in halves.

use serde::{Deserialize, Serialize};

/// A step that fails is halved at most this often.
pub const MAX_HALVINGS: u32 = 4;
/// Most steps before larger parts are tried again.
const LONGEST: u32 = 8;
/// How many times its unit of work ([`unit_of_work`]) an island may take in a whole step. Without what a look at the
/// contacts adds to the unit, islands of six scenes of the gallery took up to 200 times as much, two of a landing
/// pile of 64 cubes more than 1,600, a heap of bunnies that froze 5,800, and sheets with thousands of contacts on each
/// other up to 200,000. Parts take what they take: where halves of sheets were given up, too, at 6,000 times, a step of
/// 91 s took more than 146. On the device nothing is given up for this.
///
/// [`unit_of_work`]: crate::contact::methods::cwc::unit_of_work
const PATIENCE: u64 = 1_500;

/// How many times its unit of work an island may take in a part of a step that was halved so often, if there is an end
/// to that.
pub fn patience(halvings: u32) -> Option<u64> {
    (halvings == 0).then_some(PATIENCE)
}

/// With which parts steps begin. Part of the state of a run: it follows from the steps before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pace {
    /// Length of those steps [s]: steps of another one begin whole.
    time_step: f64,
    /// Halvings that the last steps took.
    halvings: u32,
    /// Tries of larger parts that have failed, one after the other.
    failures: u32,
    /// Steps before the next try.
    left: u32,
}

impl Pace {
    /// With how many halvings the parts of the next step begin, a step of `dt` [s].
    pub fn begin(&self, dt: f64) -> u32 {
        let Self { halvings, left, .. } = self.of_steps(dt);
        if left == 0 { halvings.saturating_sub(1) } else { halvings }
    }

    fn of_steps(self, dt: f64) -> Self {
        if self.time_step == dt { self } else { Self { time_step: dt, ..Self::default() } }
    }

    /// A step that began with `begun` halvings has taken so many in its smallest part. A failure by itself, such as in
    /// an impact, lets the next step begin with larger parts all the same; after each further one that takes twice
    /// as long.
    pub fn end(&mut self, dt: f64, begun: u32, halvings: u32) {
        let before = self.of_steps(dt);
        let Self { failures, left, .. } = before;
        *self = if halvings > begun {
            // What comes of the smallest parts is taken as it is: no step begins with these.
            Self {
                halvings: halvings.min(MAX_HALVINGS - 1),
                failures: failures + 1,
                left: LONGEST.min((1 << failures.min(LONGEST)) - 1),
                ..before
            }
        } else if begun < before.halvings {
            Self { halvings: begun, failures: 0, left: 0, ..before }
        } else {
            Self { left: left.saturating_sub(1), ..before }
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
            pace.end(0.01, begun, begun.max(*needed));
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

    #[test]
    fn whole_steps_are_given_up_and_no_parts() {
        assert_eq!(patience(0), Some(PATIENCE));
        assert!((1..=MAX_HALVINGS).all(|halvings| patience(halvings).is_none()));
    }
}
