//! The session in progress is saved by itself.

use super::{Loop, Severity};

impl Loop {
    /// After a step if it is time, and at a pause: nobody knows how long that lasts.
    pub(super) fn autosave(&mut self) {
        if (self.autosave.is_due() || !self.playing)
            && self.autosave.is_on()
            && let Some(Ok(session)) = self.guarded(|engine| engine.session())
            && let Err(text) = self.autosave.write(&session)
        {
            self.notify(Severity::Error, text);
        }
    }
}
