//! What the window sees of work that is under way, without waiting for it.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::{Activity, Loop, Snapshot, Worker};
use crate::app::SceneSource;
use crate::cancel::Progress;

impl Worker {
    /// For how long the step in progress has been computed.
    pub fn step_time(&self) -> Option<Duration> {
        self.shared.step_since.lock().unwrap_or_else(PoisonError::into_inner).map(|since| since.elapsed())
    }

    /// How far the building of a scene is.
    pub fn progress(&self) -> Progress {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).1.progress()
    }

    /// Shows that a scene will be built before the thread has come to it.
    pub(super) fn show_building(&self, source: &SceneSource) {
        let mut latest = self.shared.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let activity = Activity::Building { name: source.label(), since: Instant::now() };
        *latest = Arc::new(Snapshot { activity, ..(**latest).clone() });
    }
}

impl Loop {
    /// Runs `work` while the window knows since when.
    pub(super) fn watched<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let set = |this: &Self, since| *this.shared.step_since.lock().unwrap_or_else(PoisonError::into_inner) = since;
        set(self, Some(Instant::now()));
        let done = work(self);
        set(self, None);
        done
    }
}
