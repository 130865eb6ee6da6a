//! Where steps begin: after some that had to be halved, one after the other, the next begins with parts as small as
//! those came to, and from time to time with larger ones. What tumbles or lands in a heap would have to be halved in
//! each of many steps, and attempts that are thrown away took half of the time and more.

use serde::{Deserialize, Serialize};

/// A step that fails is halved at most this often.
pub const MAX_HALVINGS: u32 = 4;
/// Most steps before larger parts are tried again.
const LONGEST: u32 = 8;

/// With which parts steps begin. Part of the state of a run: it follows from the steps before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pace {
    /// Halvings that the last steps took.
    halvings: u32,
    /// Tries of larger parts that have failed, one after the other.
    failures: u32,
    /// Steps before the next try.
    left: u32,
}

impl Pace {
    /// With how many halvings the parts of the next step begin.
    pub fn begin(&self) -> u32 {
        if self.left == 0 { self.halvings.saturating_sub(1) } else { self.halvings }
    }

    /// A step that began with `begun` halvings has taken so many in its smallest part. A failure by itself, such as in
    /// an impact, lets the next step begin with larger parts all the same; after each further one that takes twice
    /// as long.
    pub fn end(&mut self, begun: u32, halvings: u32) {
        let Self { failures, left, .. } = *self;
        *self = if halvings > begun {
            // What comes of the smallest parts is taken as it is: no step begins with these.
            Self { halvings: halvings.min(MAX_HALVINGS - 1), failures: failures + 1, left: LONGEST.min((1 << failures.min(LONGEST)) - 1) }
        } else if begun < self.halvings {
            Self { halvings: begun, failures: 0, left: 0 }
        } else {
            Self { left: left.saturating_sub(1), ..*self }
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
            let begun = pace.begin();
            pace.end(begun, begun.max(*needed));
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
}
