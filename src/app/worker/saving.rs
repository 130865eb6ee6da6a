//! Sessions are saved when that is asked for, and the one in progress by itself.

use std::path::Path;

use super::{Loop, Severity};

impl Loop {
    pub(super) fn save_session(&mut self, path: &Path) {
        let Some(session) = self.guarded(|engine| engine.session()) else { return };
        match session.and_then(|session| session.write(path).map_err(|error| error.to_string())) {
            Ok(()) => self.notify(Severity::Info, format!("The session is in {0}; `pliant run --replay {0}` repeats it", path.display())),
            Err(text) => self.notify(Severity::Error, text),
        }
    }

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
