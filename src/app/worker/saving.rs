//! Sessions and states are saved when that is asked for, and the session in progress by itself.

use std::path::Path;

use super::{Loop, Severity};
use crate::app::exporting::ExportWish;

impl Loop {
    pub(super) fn save_session(&mut self, path: &Path) {
        let Some(session) = self.guarded(|engine| engine.session()) else { return };
        match session.and_then(|session| session.write(path).map_err(|error| error.to_string())) {
            Ok(()) => self.notify(Severity::Info, format!("The session is in {0}; `pliant run --replay {0}` repeats it", path.display())),
            Err(text) => self.notify(Severity::Error, text),
        }
    }

    pub(super) fn save_state(&mut self, path: &Path) {
        match self.guarded(|engine| engine.save(path)) {
            Some(Ok(())) => self.notify(Severity::Info, format!("The state is in {}", path.display())),
            Some(Err(text)) => self.notify(Severity::Error, text),
            None => {}
        }
    }

    pub(super) fn load_state(&mut self, path: &Path) {
        match self.guarded(|engine| engine.resume(path)) {
            Some(Ok(())) => {
                self.next.report = None;
                self.refresh_view();
                let step = self.next.view.as_ref().map_or(0, |view| view.step);
                self.notify(Severity::Info, format!("Goes on after step {step} of {}", path.display()));
                self.set_playing(false);
            }
            Some(Err(text)) => self.notify(Severity::Error, text),
            None => {}
        }
    }

    pub(super) fn export(&mut self, wish: Option<ExportWish>) {
        if let Some(Err(text)) = self.guarded(|engine| engine.export(wish.as_ref())) {
            self.notify(Severity::Error, format!("Nothing was exported: {text}"));
        }
        self.look_at_export();
        self.publish();
    }

    /// How far an export is, and what came of it.
    pub(super) fn look_at_export(&mut self) {
        let Some((part, ended)) = self.guarded(|engine| engine.exported()) else { return };
        self.next.exported = part;
        match ended {
            Some(Ok(told)) => self.notify(Severity::Info, told),
            Some(Err(text)) => self.notify(Severity::Error, format!("The export ended: {text}")),
            None => {}
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
