//! Films and screenshots of the view.

use std::path::PathBuf;

use super::Session;
use crate::app::graphics::Graphics;
use crate::app::recorder::{Recorder, screenshot};
use crate::app::worker::{Request, Severity};

impl Session {
    pub(super) fn toggle_recording(&mut self) {
        if self.recorder.is_some() {
            self.stop_recording();
            return;
        }
        self.go_live();
        let Some(scene) = &self.shown.scene else { return };
        let [_, _, width, height] = self.viewport();
        match Recorder::start(self.ui.film, [width, height], scene.frames_per_second) {
            Ok(recorder) => {
                self.log.say(format_args!("recording {}", recorder.path.display()));
                self.worker.send(Request::Record(Some(scene.frames_per_second)));
                self.recorder = Some(recorder);
            }
            Err(text) => self.tell(Severity::Error, text),
        }
    }

    /// Takes the frame for which the simulation waits.
    pub(super) fn record(&mut self, due: u64, graphics: &mut Graphics) {
        let (options, overlays) = (self.options(), self.overlays());
        let Some(recorder) = &mut self.recorder else { return };
        if due != recorder.frames {
            return; // already taken; the answer is on its way
        }
        let image = graphics.renderer.capture(recorder.size, &self.camera, &options, &overlays);
        match image.map_err(|error| error.to_string()).and_then(|image| recorder.push(image)) {
            Ok(()) => {
                self.log.say(format_args!("recording frame {due}"));
                self.worker.send(Request::FrameTaken);
            }
            Err(text) => {
                self.tell(Severity::Error, text);
                self.stop_recording();
            }
        }
    }

    pub fn stop_recording(&mut self) {
        let Some(recorder) = self.recorder.take() else { return };
        self.worker.send(Request::Record(None));
        match recorder.finish() {
            Ok(text) => self.tell(Severity::Info, text),
            Err(text) => self.tell(Severity::Error, text),
        }
    }

    pub(super) fn save_screenshot(&mut self, graphics: &mut Graphics) {
        let [_, _, width, height] = self.viewport();
        let scene = self.shown.scene.as_ref().map_or("empty", |scene| scene.name.as_str());
        let image = graphics.renderer.capture([width, height], &self.camera, &self.options(), &self.overlays());
        let saved: Result<PathBuf, String> = image.map_err(|error| error.to_string()).and_then(|image| screenshot(scene, &image));
        match saved {
            Ok(path) => {
                self.log.say(format_args!("screenshot {}", path.display()));
                self.tell(Severity::Info, format!("The screenshot is in {}", path.display()));
            }
            Err(text) => self.tell(Severity::Error, text),
        }
    }
}
