//! Another scene takes the place of the present one, which stays where that fails.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use super::watch::Watch;
use super::{Activity, Loop, Notice, Severity, Snapshot, panic_text};
use crate::app::SceneSource;
use crate::app::engine::Loaded;
use crate::sim::warnings::Warnings;

impl Loop {
    pub(super) fn load(&mut self, source: SceneSource) {
        self.next.activity = Activity::Building { name: source.label(), since: Instant::now() };
        self.post();
        let opened = match catch_unwind(AssertUnwindSafe(|| (self.open)(&source, &self.cancel))) {
            Ok(result) => result,
            Err(panic) => Err(format!("{} could not be built: {}", source.label(), panic_text(&*panic))),
        };
        match opened {
            Ok(Loaded { engine, mut info }) => {
                self.generation += 1;
                info.generation = self.generation;
                // Else they stand beside what the doctor found.
                if !info.notes.is_empty() && info.checkups.is_empty() && info.import.is_none() {
                    self.notify(Severity::Info, info.notes.join("\n"));
                }
                if self.engine.replace(engine).is_some() {
                    self.autosave.end();
                }
                // A scene begins by playing; one that was changed goes on as it was, and a session has ended.
                let playing = match &source {
                    SceneSource::Session(_) => false,
                    _ => self.playing || !source.is_edited(),
                };
                self.source = Some(source);
                self.files = Watch::new(info.files.clone());
                self.recording = None;
                let Snapshot { speed, journeys, states_loaded, refused, failed_loads, file_changes, answered, .. } = self.next;
                let not_done = std::mem::take(&mut self.next.not_done);
                let past = self.engine.as_ref().and_then(|engine| engine.past());
                let warnings = Arc::new(Warnings::of_scene(&info.model));
                self.next = Snapshot {
                    warnings,
                    scene: Some(Arc::new(info)),
                    speed,
                    journeys,
                    states_loaded,
                    not_done,
                    refused,
                    failed_loads,
                    file_changes,
                    answered,
                    past,
                    ..Snapshot::empty()
                };
                self.refresh_view();
                self.set_playing(playing);
            }
            Err(_) if self.cancel.is_cancelled() => {
                self.notify(Severity::Info, format!("{} was not opened: that was stopped", source.label()));
                self.next.failed_loads += 1;
                self.publish();
            }
            Err(text) => {
                // It names what is in that scene, which is not there.
                self.shared.notify(Notice { severity: Severity::Error, text, file: None, scene: None });
                self.next.failed_loads += 1;
                self.publish();
            }
        }
    }
}
