//! A film is recorded: the simulation waits at each frame until the window has taken it.

use super::Loop;

/// A recording in progress.
pub struct Recording {
    pub frames_per_second: f64,
    /// Simulated time of frame 0 [s].
    pub start: f64,
    pub next_frame: u64,
    pub waiting: bool,
}

impl Loop {
    /// When the recording's next frame is due, holds the simulation until the window took it.
    pub(super) fn offer_frame(&mut self) {
        let Some(time) = self.time() else { return };
        if let Some(recording) = &mut self.recording {
            let due = recording.start + recording.next_frame as f64 / recording.frames_per_second;
            recording.waiting = time >= due - 1e-9;
            self.next.frame_due = recording.waiting.then_some(recording.next_frame);
        } else {
            self.next.frame_due = None;
        }
    }
}
