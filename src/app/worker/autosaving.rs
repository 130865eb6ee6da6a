//! The session in progress is saved by itself.

use super::{Loop, Severity};

impl Loop {
    /// After a step, if it is time.
    pub(super) fn autosave(&mut self) {
        if self.autosave.is_due()
            && let Some(Ok(session)) = self.guarded(|engine| engine.session())
            && let Err(text) = self.autosave.write(&session)
        {
            self.notify(Severity::Error, text);
        }
    }
}
