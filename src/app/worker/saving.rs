//! Sessions and states are saved when that is asked for, and the session in progress by itself.

use std::path::Path;
use std::sync::Arc;

use super::{Loop, Notice, Severity};
use crate::app::exporting::ExportWish;
use crate::app::job::Job;

impl Loop {
    pub(super) fn save_session(&mut self, path: &Path) {
        let Some(session) = self.guarded(|engine| engine.session()) else { return };
        let written = session.and_then(|session| {
            session.write(path).map_err(|error| error.to_string())?;
            Ok(session.branches().len())
        });
        match written {
            Ok(n) => {
                let others = if n > 1 { format!(", `--branch N` another of its {n} branches") } else { String::new() };
                self.notify_of_file(format!("The session is in {0}; `pliant run --replay {0}` repeats it{others}", path.display()), path);
            }
            Err(text) => self.notify(Severity::Error, text),
        }
    }

    pub(super) fn save_state(&mut self, path: &Path) {
        match self.guarded(|engine| engine.save(path)) {
            Some(Ok(())) => self.notify_of_file(format!("The state is in {}", path.display()), path),
            Some(Err(text)) => self.notify(Severity::Error, text),
            None => {}
        }
    }

    pub(super) fn load_state(&mut self, path: &Path) {
        match self.guarded(|engine| engine.resume(path)) {
            Some(Ok(())) => {
                self.next.report = None;
                self.next.states_loaded += 1;
                self.refresh_view();
                let step = self.next.view.as_ref().map_or(0, |view| view.step);
                self.notify(Severity::Info, format!("Goes on after step {step} of {}", path.display()));
                self.set_playing(false);
            }
            Some(Err(text)) => self.notify(Severity::Error, text),
            None => {}
        }
    }

    pub(super) fn export(&mut self, wish: &ExportWish, job: &Arc<Job>) {
        let cancel = self.cancel.clone();
        match self.guarded(|engine| engine.export(wish, job, &cancel)) {
            Some(Ok(())) => {}
            Some(Err(text)) => job.end(Err(text)),
            None => job.end(Err("there is no simulation".into())),
        }
        self.publish();
    }

    fn notify_of_file(&self, text: String, file: &Path) {
        self.shared.notify(Notice { severity: Severity::Info, text, file: Some(file.to_owned()), scene: None });
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
