//! The wish that lasting work ends early, and how far the work is. A token knows no clock and no thread: the work asks
//! it now and then.

#[cfg(test)]
use std::sync::atomic::AtomicU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Shared by the work and by everybody who may end it. A cancelled token stays cancelled: new work gets a new token.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<Flag>);

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

/// The work was cancelled before it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

impl CancelToken {
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, Ordering::Relaxed);
    }

    pub fn is_cancelled(&self) -> bool {
        #[cfg(test)]
        self.count_question();
        self.0.is_cancelled.load(Ordering::Relaxed)
    }

    /// The same for work that asks very often; tests do not count these questions.
    pub fn has_been_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Ordering::Relaxed)
    }

    /// The work says how far it is.
    pub fn report(&self, stage: &'static str, part: f32) {
        *self.0.progress.lock().unwrap_or_else(PoisonError::into_inner) = Progress { stage, part };
    }

    pub fn progress(&self) -> Progress {
        *self.0.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An error once the token is cancelled, for `?` between the parts of the work.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }
}

#[cfg(test)]
impl CancelToken {
    /// A token that says no `n` times and is cancelled then: the middle of some work, without a clock.
    pub fn after(n: u32) -> Self {
        let token = Self::default();
        token.0.questions_left.store(n + 1, Ordering::Relaxed);
        token
    }

    /// One that nobody cancels.
    pub fn never() -> &'static Self {
        static NEVER: std::sync::LazyLock<CancelToken> = std::sync::LazyLock::new(CancelToken::default);
        &NEVER
    }

    fn count_question(&self) {
        let one_less = |left: u32| left.checked_sub(1);
        if self.0.questions_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less) == Ok(1) {
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
    fn a_token_of_a_test_is_cancelled_after_some_questions() {
        let token = CancelToken::after(3);
        assert_eq!([(); 5].map(|()| token.is_cancelled()), [false, false, false, true, true]);
        assert!(CancelToken::after(0).is_cancelled());
    }
}
