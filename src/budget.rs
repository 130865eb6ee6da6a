//! How much work a step may do. It is counted and not clocked, so that the same input gives the same bits on every
//! machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Work of a millisecond [bytes that solvers read]: what a core streams from its caches.
pub const WORK_PER_MS: f64 = 3e7;
/// Work of a pair of features that a search finds [bytes]: some 200 ns; of a test whether a pair crosses; of a contact
/// that is compared with the moved geometry; of a vertex that is compared with an obstacle of exact shape.
pub const CANDIDATE_WORK: u64 = 6000;
pub const CROSSING_WORK: u64 = 1500;
pub const CONTACT_WORK: u64 = 15_000;
pub const VERTEX_WORK: u64 = 2000;
/// Work of a vertex of a surface in a search whatever is found, with its box and its part of the strains between leaves
/// [bytes]; of one that is looked for in its box.
pub const SEARCH_WORK: u64 = 20_000;
pub const COVER_WORK: u64 = 5000;
/// Work of a tet in its forces and its part of the matrix [bytes].
pub const TET_WORK: u64 = 3600;
/// Iterations of an elastic solve that are made whatever is left.
const LEAST_ITERATIONS: u64 = 16;
/// Part of the budget that each attempt of a step may use whatever the ones before have used.
const LEAST_PART: u64 = 16;
/// Looks at the moved geometry that an island may take before it is given up, however small its unit of work: of a
/// rigid body with many vertices a look is worth thousands of these.
const LEAST_LOOKS: u64 = 10;
/// Limiting what would cross may use this part of the budget beside it, and what solving has left of it.
const LIMITING_PART: u64 = 4;

/// The work of one whole step, shared by all its attempts and parts.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    /// None: as much as it takes.
    limit: Option<u64>,
    shared: Arc<Shared>,
    attempt: Arc<Attempt>,
}

/// One attempt of a step or of a part of it.
#[derive(Debug, Default)]
struct Attempt {
    /// How many times the [unit](Allowance::with_patience) of an island it may take before smaller parts are the better
    /// answer; none: as much as it takes.
    patience: Option<u64>,
    has_lost_patience: AtomicBool,
}

#[derive(Debug, Default)]
struct Shared {
    spent: AtomicU64,
    is_exceeded: AtomicBool,
}

/// What one island may use in one attempt, or the limiting of a step.
#[derive(Debug)]
pub struct Allowance {
    limit: u64,
    patience: u64,
    spent: AtomicU64,
}

impl Budget {
    /// Of about this time on one core [ms]; unlimited if it is 0 (or not a number).
    pub fn of_ms(ms: f64) -> Self {
        Self { limit: (ms > 0.0).then_some((ms * WORK_PER_MS) as u64), ..Self::default() }
    }

    /// What is left for solving [bytes], for an attempt that begins; none if there is no limit.
    pub fn left(&self) -> Option<u64> {
        let limit = self.limit?;
        Some(limit.saturating_sub(self.spent()).max(limit / LEAST_PART))
    }

    /// The same for one attempt, in which an island that takes more than `patience` times its unit is given up for
    /// smaller parts.
    pub fn of_attempt(&self, patience: Option<u64>) -> Self {
        Self { attempt: Arc::new(Attempt { patience, ..Attempt::default() }), ..self.clone() }
    }

    /// How many times its unit an island may take in this attempt before it is given up.
    pub fn patience(&self) -> Option<u64> {
        self.attempt.patience
    }

    /// An island of this attempt has been given up.
    pub fn has_lost_patience(&self) -> bool {
        self.attempt.has_lost_patience.load(Ordering::Relaxed)
    }

    fn spent(&self) -> u64 {
        self.shared.spent.load(Ordering::Relaxed)
    }

    /// Counts work [bytes] that is not of one island.
    pub fn spend(&self, work: u64) {
        self.shared.spent.fetch_add(work, Ordering::Relaxed);
    }

    /// All of the work is done.
    pub fn is_spent(&self) -> bool {
        self.limit.is_some_and(|limit| self.spent() >= limit)
    }

    /// What failed may be tried again in parts, which take as much together.
    pub fn affords_another_attempt(&self) -> bool {
        self.limit.is_none_or(|limit| self.spent() <= limit / 2)
    }

    /// What the limiting of a step may use.
    pub fn of_limiting(&self) -> Allowance {
        let left = |limit: u64| (limit + limit / LIMITING_PART).saturating_sub(self.spent()).max(limit / LEAST_PART);
        Allowance { limit: self.limit.map_or(u64::MAX, left), ..Allowance::unlimited() }
    }

    pub fn is_limited(&self) -> bool {
        self.limit.is_some()
    }

    /// Takes what an island has used, and whether it `is_solved`: what is solved late is not given up. Sums of whole
    /// numbers: the order of the islands does not matter.
    pub fn take(&self, allowance: &Allowance, is_solved: bool) {
        self.shared.spent.fetch_add(allowance.spent.load(Ordering::Relaxed), Ordering::Relaxed);
        self.shared.is_exceeded.fetch_or(allowance.is_spent(), Ordering::Relaxed);
        self.attempt.has_lost_patience.fetch_or(!is_solved && allowance.is_beyond_patience(), Ordering::Relaxed);
    }

    /// An island has used up its allowance.
    pub fn is_exceeded(&self) -> bool {
        self.shared.is_exceeded.load(Ordering::Relaxed)
    }
}

impl Allowance {
    /// As much as it takes.
    pub const fn unlimited() -> Self {
        Self { limit: u64::MAX, patience: u64::MAX, spent: AtomicU64::new(0) }
    }

    /// Of what is `left` for all islands, an equal part and the `share` of the island in all unknowns: together they
    /// are no more than one and a half times what is left (seldom are all of them in trouble), and a small island in
    /// trouble has enough.
    pub fn of_island(left: Option<u64>, n_islands: usize, share: f64) -> Self {
        let part = |left: u64| (left as f64 * (0.75 * (share + 1.0 / n_islands.max(1) as f64)).min(1.0)) as u64;
        Self { limit: left.map_or(u64::MAX, part), ..Self::unlimited() }
    }

    /// The same, given up after `patience` times the work of a `unit` [bytes], if there is an end to it, but not before
    /// some looks at the moved geometry, each of the work `look` [bytes]: parts would begin with as many.
    pub fn with_patience(self, patience: Option<u64>, unit: u64, look: u64) -> Self {
        let work = |patience: u64| patience.saturating_mul(unit).max(LEAST_LOOKS.saturating_mul(look));
        Self { patience: patience.map_or(u64::MAX, work), ..self }
    }

    /// Counts work [bytes].
    pub fn spend(&self, work: u64) {
        self.spent.fetch_add(work, Ordering::Relaxed);
    }

    pub fn spent(&self) -> u64 {
        self.spent.load(Ordering::Relaxed)
    }

    pub fn left(&self) -> u64 {
        self.limit.saturating_sub(self.spent.load(Ordering::Relaxed))
    }

    pub fn is_spent(&self) -> bool {
        self.limit < u64::MAX && self.left() == 0
    }

    fn is_beyond_patience(&self) -> bool {
        self.spent() > self.patience
    }

    /// The island may not go on.
    pub fn must_end(&self) -> bool {
        self.is_spent() || self.is_beyond_patience()
    }

    /// How many iterations of an elastic solve, each of so much work [bytes], may be made with what is left.
    pub fn iterations(&self, work: u64) -> u32 {
        (self.left() / work.max(1)).clamp(LEAST_ITERATIONS, u32::MAX.into()) as u32
    }
}

#[cfg(test)]
impl Allowance {
    /// One that is never used up.
    pub fn endless() -> &'static Self {
        static ENDLESS: Allowance = Allowance::unlimited();
        &ENDLESS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn islands_share_what_is_left_and_none_is_without() {
        let budget = Budget::of_ms(10.0);
        let left = budget.left();
        let parts: Vec<Allowance> = [0.9, 0.1].iter().map(|share| Allowance::of_island(left, 2, *share)).collect();
        assert!(2 * parts.iter().map(Allowance::left).sum::<u64>() <= 3 * left.unwrap());
        parts[1].spend(parts[1].left());
        budget.take(&parts[0], true);
        assert!(!budget.is_exceeded());
        budget.take(&parts[1], false);
        assert!(budget.is_exceeded() && budget.left() < left);
        parts[0].spend(u64::MAX / 2);
        budget.take(&parts[0], true);
        assert_eq!(budget.left(), Some((10.0 * WORK_PER_MS) as u64 / LEAST_PART));
    }

    #[test]
    fn an_attempt_with_an_island_that_takes_too_long_is_given_up() {
        let all = Budget::default();
        let budget = all.of_attempt(Some(20));
        let island = Allowance::of_island(budget.left(), 1, 1.0).with_patience(budget.patience(), 5, 1);
        island.spend(100);
        budget.take(&island, false);
        assert!(!island.must_end() && !budget.has_lost_patience());
        island.spend(1);
        assert!(island.must_end() && !island.is_spent());
        budget.take(&island, true);
        assert!(!budget.has_lost_patience(), "what is solved is not given up");
        budget.take(&island, false);
        assert!(budget.has_lost_patience() && !budget.is_exceeded());
        // The next one begins anew, and its work adds up with that of all.
        let next = all.of_attempt(None);
        assert!(!next.has_lost_patience() && next.patience().is_none());
        assert_eq!((next.spent(), all.spent()), (302, 302));
    }

    /// Two looks at the geometry and a solve of a few rows would be the end of it.
    #[test]
    fn a_small_island_with_much_geometry_is_looked_at_several_times() {
        let budget = Budget::default().of_attempt(Some(20));
        let island = Allowance::of_island(budget.left(), 1, 1.0).with_patience(budget.patience(), 5, 80);
        island.spend(LEAST_LOOKS * 80);
        assert!(!island.must_end());
        island.spend(1);
        assert!(island.must_end());
        let endless = Allowance::of_island(budget.left(), 1, 1.0).with_patience(None, 5, 80);
        endless.spend(u64::MAX);
        assert!(!endless.must_end());
    }

    #[test]
    fn what_fails_late_is_not_tried_again() {
        let budget = Budget::of_ms(10.0);
        budget.spend((5.0 * WORK_PER_MS) as u64);
        assert!(budget.affords_another_attempt() && !budget.is_spent());
        budget.spend(1);
        assert!(!budget.affords_another_attempt() && !budget.is_spent());
        budget.spend((5.0 * WORK_PER_MS) as u64);
        assert!(budget.is_spent() && !budget.is_exceeded());
    }

    #[test]
    fn limiting_has_what_solving_has_left() {
        let budget = Budget::of_ms(16.0);
        let all = (16.0 * WORK_PER_MS) as u64;
        assert_eq!(budget.of_limiting().left(), all + all / LIMITING_PART);
        budget.spend(budget.left().unwrap());
        assert!(budget.is_spent());
        assert_eq!(budget.of_limiting().left(), all / LIMITING_PART);
        budget.spend(all);
        assert_eq!(budget.of_limiting().left(), all / LEAST_PART);
    }

    #[test]
    fn iterations_are_as_many_as_the_rest_affords() {
        let allowance = Allowance::of_island(Some(1000 * LEAST_ITERATIONS), 1, 1.0);
        assert_eq!(u64::from(allowance.iterations(10)), 100 * LEAST_ITERATIONS);
        allowance.spend(500 * LEAST_ITERATIONS);
        assert_eq!(u64::from(allowance.iterations(10)), 50 * LEAST_ITERATIONS);
        allowance.spend(u64::MAX / 2);
        assert_eq!(u64::from(allowance.iterations(10)), LEAST_ITERATIONS);
        assert_eq!([0, 1, 1000].map(|work| Allowance::unlimited().iterations(work)), [u32::MAX; 3]);
    }

    #[test]
    fn without_a_limit_nothing_is_ever_spent() {
        let budget = Budget::of_ms(0.0);
        let all = Allowance::of_island(budget.left(), 1, 1.0);
        all.spend(u64::MAX);
        budget.take(&all, false);
        assert!(!budget.is_spent() && budget.affords_another_attempt());
        assert!(!all.is_spent() && !budget.is_exceeded() && budget.left().is_none());
        assert!(Budget::of_ms(f64::NAN).left().is_none());
    }
}
