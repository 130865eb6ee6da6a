//! The wish that lasting work ends early, and how far the work is. A token knows no clock and no thread: the work asks
//! it now and then.

#[cfg(test)]
use std::sync::atomic::AtomicU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Shared by the work and by everybody who may end it. A cancelled token stays cancelled: new work gets a new token.
#[derive(Clone, Debug)]
pub struct CancelToken {
    flag: Arc<Flag>,
    /// Where the work that has this copy begins and ends in the whole, 0 to 1.
    span: [f32; 2],
    /// Another flag that cancels the work that has this copy.
    other: Option<Arc<Flag>>,
}

#[derive(Debug, Default)]
struct Flag {
    is_cancelled: AtomicBool,
    progress: Mutex<Progress>,
    /// Which question from now on cancels the token; 0 for none.
    #[cfg(test)]
    questions_left: AtomicU32,
}

/// How far some work is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// What is done now, such as "making bodies"; empty before the work has said.
    pub stage: &'static str,
    /// Part of the whole that is done, 0 to 1; roughly.
    pub part: f32,
}

/// Loops over many small items ask, and say how far they are, once in so many.
const ITEMS_PER_QUESTION: usize = 1 << 14;

/// The work was cancelled before it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

impl Default for CancelToken {
    fn default() -> Self {
        Self { flag: Arc::default(), span: [0.0, 1.0], other: None }
    }
}

impl CancelToken {
    /// A copy for a part of the work: 0 to 1 of what it reports is `from` to `to` of this one.
    pub fn part(&self, from: f32, to: f32) -> Self {
        Self { span: [self.in_whole(from), self.in_whole(to)], ..self.clone() }
    }

    /// A copy that is cancelled as soon as `other` is, too; what the work reports is told by this one. There can be one
    /// other.
    pub fn or(&self, other: &Self) -> Self {
        Self { other: Some(other.flag.clone()), ..self.clone() }
    }

    fn in_whole(&self, part: f32) -> f32 {
        // Exact at both ends.
        let ([start, end], part) = (self.span, part.clamp(0.0, 1.0));
        start * (1.0 - part) + end * part
    }

    pub fn cancel(&self) {
        self.flag.is_cancelled.store(true, Ordering::Relaxed);
    }

    pub fn is_cancelled(&self) -> bool {
        #[cfg(test)]
        self.count_question();
        self.has_been_cancelled()
    }

    /// The same for work that asks very often; tests do not count these questions.
    pub fn has_been_cancelled(&self) -> bool {
        let is_cancelled = |flag: &Arc<Flag>| flag.is_cancelled.load(Ordering::Relaxed);
        is_cancelled(&self.flag) || self.other.as_ref().is_some_and(is_cancelled)
    }

    /// The work says what it does now, and how far it is.
    pub fn report(&self, stage: &'static str, part: f32) {
        *self.flag.progress.lock().unwrap_or_else(PoisonError::into_inner) = Progress { stage, part: self.in_whole(part) };
    }

    /// The stage that was reported last is so far, unless another thread has said more.
    pub fn reached(&self, part: f32) {
        let mut progress = self.flag.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.part = progress.part.max(self.in_whole(part));
    }

    pub fn progress(&self) -> Progress {
        *self.flag.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An error once the token is cancelled, for `?` between the parts of the work.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }

    /// The same in a loop over `all` small items, of which `done` are done: it asks now and then, and says how far the
    /// loop is.
    pub fn check_item(&self, done: usize, all: usize) -> Result<(), Cancelled> {
        if (done + 1).is_multiple_of(ITEMS_PER_QUESTION) {
            self.reached(done as f32 / all as f32);
            self.check()?;
        }
        Ok(())
    }
}

#[cfg(test)]
impl CancelToken {
    /// A token that says no `n` times and is cancelled then: the middle of some work, without a clock.
    pub fn after(n: u32) -> Self {
        let token = Self::default();
        token.flag.questions_left.store(n + 1, Ordering::Relaxed);
        token
    }

    /// One that nobody cancels.
    pub fn never() -> &'static Self {
        static NEVER: std::sync::LazyLock<CancelToken> = std::sync::LazyLock::new(CancelToken::default);
        &NEVER
    }

    fn count_question(&self) {
        let one_less = |left: u32| left.checked_sub(1);
        if self.flag.questions_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less) == Ok(1) {
            self.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_copies_of_a_token_are_cancelled_together_and_for_good() {
        let (token, other) = (CancelToken::default(), CancelToken::default());
        let copy = token.clone();
        assert_eq!((copy.check(), copy.is_cancelled()), (Ok(()), false));
        token.report("making bodies", 0.5);
        assert_eq!((copy.progress().stage, copy.progress().part), ("making bodies", 0.5));
        std::thread::scope(|scope| scope.spawn(move || token.cancel()).join().unwrap());
        assert_eq!((copy.check(), copy.is_cancelled()), (Err(Cancelled), true));
        assert_eq!(other.check(), Ok(()));
    }

    #[test]
    fn a_token_that_heeds_another_one_is_cancelled_by_either() {
        for first in [true, false] {
            let (token, other) = (CancelToken::default(), CancelToken::default());
            let work = token.or(&other);
            work.part(0.5, 1.0).report("exporting", 0.0);
            assert!(work.check().is_ok() && token.progress().part == 0.5);
            if first {
                token.cancel()
            } else {
                other.cancel()
            }
            assert!(work.is_cancelled() && work.part(0.0, 1.0).has_been_cancelled());
            assert_eq!([token.is_cancelled(), other.is_cancelled()], [first, !first]);
        }
    }

    #[test]
    fn parts_of_the_work_fill_their_part_of_the_whole() {
        let token = CancelToken::default();
        let bodies = token.part(0.2, 0.6);
        let part = || (token.progress().part * 1e3).round() / 1e3;
        bodies.report("making bodies", 0.5);
        assert_eq!(part(), 0.4);
        // Of the second of two bodies the first half; threads that are behind take nothing back.
        let body = bodies.part(0.5, 1.0);
        body.reached(0.5);
        assert_eq!((token.progress().stage, part()), ("making bodies", 0.5));
        body.reached(0.2);
        assert_eq!(part(), 0.5);
        body.reached(7.0);
        assert_eq!(part(), 0.6);
        // What comes next says where it begins.
        token.part(0.3, 1.0).report("preparing the solver", 0.0);
        assert_eq!(part(), 0.3);
        bodies.cancel();
        assert!(token.is_cancelled() && body.is_cancelled());
    }

    #[test]
    fn loops_ask_now_and_then_and_say_how_far_they_are() {
        const ALL: usize = 5 * ITEMS_PER_QUESTION;
        let token = CancelToken::after(2);
        let ended = (0..ALL).find(|done| token.check_item(*done, ALL).is_err());
        assert_eq!(ended, Some(3 * ITEMS_PER_QUESTION - 1));
        assert!((token.progress().part - 0.6).abs() < 1e-4, "{:?}", token.progress());
        // Short loops do not ask.
        let token = CancelToken::after(0);
        assert!((0..100).all(|done| token.check_item(done, 100).is_ok()));
    }

    #[test]
    fn a_token_of_a_test_is_cancelled_after_some_questions() {
        let token = CancelToken::after(3);
        assert_eq!([(); 5].map(|()| token.is_cancelled()), [false, false, false, true, true]);
        assert!(CancelToken::after(0).is_cancelled());
    }
}
