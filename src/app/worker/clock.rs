//! Pacing: when the next step is due, and how fast time really passes.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Ties simulated time to the wall clock.
pub struct Clock {
    wall: Instant,
    /// Simulated time at `wall` [s].
    time: f64,
}

/// How far the simulation may lag before the clock forgives it, in seconds of the wall clock: the simulation never
/// races to catch up.
const MAX_LAG: f64 = 0.05;

impl Clock {
    pub fn new() -> Self {
        Self { wall: Instant::now(), time: 0.0 }
    }

    /// From now on: simulated `time` is now.
    pub fn restart(&mut self, time: f64) {
        *self = Self { wall: Instant::now(), time };
    }

    /// How long to wait until the step that starts at simulated `time` is due.
    pub fn until_due(&self, time: f64, speed: f64) -> Duration {
        let due = (time - self.time) / speed; // 0 for an infinite speed
        Duration::try_from_secs_f64((due - self.wall.elapsed().as_secs_f64()).max(0.0)).unwrap_or(Duration::ZERO)
    }

    /// Forgives what a slow machine cannot catch up with.
    pub fn keep_up(&mut self, time: f64, speed: f64) {
        if self.wall.elapsed().as_secs_f64() - (time - self.time) / speed > MAX_LAG {
            self.restart(time);
        }
    }
}

/// Simulated over wall time in the last second.
#[derive(Default)]
pub struct RealTimeFactor {
    /// Wall and simulated time after each step.
    steps: VecDeque<(Instant, f64)>,
}

impl RealTimeFactor {
    pub fn after_step(&mut self, time: f64) -> Option<f64> {
        let now = Instant::now();
        // Where time went back, what passed before says nothing.
        if self.steps.back().is_some_and(|(_, last)| time < *last) {
            self.steps.clear();
        }
        self.steps.push_back((now, time));
        // At least two entries stay, however long a step takes.
        while self.steps.len() > 2 && now - self.steps[0].0 > Duration::from_secs(1) {
            self.steps.pop_front();
        }
        let (first, first_time) = self.steps[0];
        let wall = (now - first).as_secs_f64();
        (wall > 0.0).then(|| (time - first_time) / wall)
    }
}

/// Exponential mean over about ten steps, so that the numbers can be read.
pub fn smooth_stages(smoothed: &mut Vec<(&'static str, f64)>, stages: &[(&'static str, f64)]) {
    for (_, milliseconds) in smoothed.iter_mut() {
        *milliseconds *= 0.9;
    }
    let first = smoothed.is_empty();
    for (name, milliseconds) in stages {
        let share = if first { *milliseconds } else { 0.1 * milliseconds };
        match smoothed.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += share,
            None => smoothed.push((name, share)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_goes_back_makes_no_negative_factor() {
        let mut factor = RealTimeFactor::default();
        let mut after = |time| {
            std::thread::sleep(Duration::from_millis(1));
            factor.after_step(time)
        };
        assert_eq!(after(1.0), None, "one step says nothing");
        assert!(after(1.01).is_some_and(|factor| factor > 0.0));
        assert_eq!(after(0.01), None, "it went back");
        assert!(after(0.02).is_some_and(|factor| factor > 0.0));
    }
}
