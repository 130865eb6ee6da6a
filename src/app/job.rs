//! Files that are written while the window goes on: films that end, large pictures, exports.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::cancel::{CancelToken, Progress};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobKind {
    Film,
    Picture,
    Export,
}

/// One file, or a series of files, on its way. Its thread writes; others see how far it is, and may end it.
#[derive(Debug)]
pub struct Job {
    pub kind: JobKind,
    pub path: PathBuf,
    since: Instant,
    /// What was written is thrown away. It also knows how far the work is.
    discard: CancelToken,
    /// Once it is cancelled no more frames are taken; what is there is completed.
    stop: CancelToken,
    /// Why it ended early.
    reason: Mutex<Option<&'static str>>,
    /// Frames that were given and are not written yet.
    n_waiting: AtomicUsize,
    is_over: AtomicBool,
    /// What to tell the user, until somebody has taken it.
    told: Mutex<Option<Result<String, String>>>,
}

/// Work that is done sooner is not worth a word.
const SHORT: Duration = Duration::from_millis(300);

impl Job {
    /// `stage` is what is done first, in words for the user.
    pub fn new(kind: JobKind, path: PathBuf, stage: &'static str) -> Arc<Self> {
        let discard = CancelToken::default();
        discard.report(stage, 0.0);
        Arc::new(Self {
            kind,
            path,
            since: Instant::now(),
            discard,
            stop: CancelToken::default(),
            reason: Mutex::default(),
            n_waiting: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
            told: Mutex::default(),
        })
    }

    /// Does the work on a thread of its own. Its answer is what to tell the user: good news, or why it failed.
    pub fn run(self: &Arc<Self>, work: impl FnOnce(&Self) -> Result<String, String> + Send + 'static) {
        let job = self.clone();
        let started = std::thread::Builder::new().name("writing".into()).spawn(move || {
            let done = catch_unwind(AssertUnwindSafe(|| work(&job)));
            job.end(done.unwrap_or_else(|_| Err("an internal error; please report it".into())));
        });
        if let Err(error) = started {
            self.end(Err(format!("its thread could not be started: {error}")));
        }
    }

    /// The work is over; what was said first counts.
    pub fn end(&self, told: Result<String, String>) {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(told);
        self.is_over.store(true, Ordering::Release);
    }

    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// What came of it, once it is over.
    pub fn take_told(&self) -> Option<Result<String, String>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Completes what is there. `reason` says why it ends early; the first one counts.
    pub fn stop(&self, reason: Option<&'static str>) {
        if let (Some(reason), false) = (reason, self.is_stopped()) {
            self.reason.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
        }
        self.stop.cancel();
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// What is cancelled once no more frames are taken, for who makes them.
    pub fn stop_token(&self) -> &CancelToken {
        &self.stop
    }

    pub fn reason(&self) -> Option<&'static str> {
        *self.reason.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Throws away what was written, as soon as the thread comes to it.
    pub fn discard(&self) {
        self.discard.cancel();
        self.stop(None);
    }

    pub fn is_discarded(&self) -> bool {
        self.discard.is_cancelled()
    }

    /// What is cancelled once the work is to be thrown away, for work that asks itself.
    pub fn discard_token(&self) -> &CancelToken {
        &self.discard
    }

    pub fn report(&self, stage: &'static str, part: f64) {
        self.discard.report(stage, part as f32);
    }

    pub fn progress(&self) -> Progress {
        self.discard.progress()
    }

    /// It takes so long that the user should see it.
    pub fn is_long(&self) -> bool {
        self.since.elapsed() >= SHORT
    }

    pub fn add_waiting(&self) {
        self.n_waiting.fetch_add(1, Ordering::AcqRel);
    }

    pub fn remove_waiting(&self) {
        self.n_waiting.fetch_sub(1, Ordering::AcqRel);
    }

    pub fn n_waiting(&self) -> usize {
        self.n_waiting.load(Ordering::Acquire)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// What came of a job, waited for.
    pub fn told(job: &Job) -> Result<String, String> {
        let start = Instant::now();
        while !job.is_over() {
            assert!(start.elapsed() < Duration::from_secs(60), "{job:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
        job.take_told().unwrap()
    }

    #[test]
    fn a_job_ends_once_and_by_a_panic_too() {
        let job = |work: fn(&Job) -> Result<String, String>| {
            let job = Job::new(JobKind::Film, "a".into(), "Writing");
            job.run(work);
            job
        };
        assert_eq!(told(&job(|_| Ok("done".into()))), Ok("done".into()));
        assert!(told(&job(|_| panic!("no"))).unwrap_err().contains("internal error"));
        let job = job(|job| {
            while !job.is_stopped() {
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(format!("{:?} {}", job.reason(), job.is_discarded()))
        });
        assert!(!job.is_over() && job.progress().stage == "Writing");
        job.stop(Some("first"));
        job.stop(Some("second"));
        assert_eq!(told(&job), Ok("Some(\"first\") false".into()));
        job.end(Err("late".into()));
        assert_eq!(job.take_told(), Some(Err("late".into())), "what was taken is no longer there");
    }
}
