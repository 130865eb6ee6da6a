//! Films, screenshots and exports of the view.

use std::path::Path;
use std::sync::Arc;

use super::Session;
use crate::app::exporting::{ExportWish, STARTING, Span};
use crate::app::film::Key;
use crate::app::graphics::Graphics;
use crate::app::job::{Job, JobKind};
use crate::app::recorder::{Recorder, export_target, picture_target};
use crate::app::ui::{RecordAction, RecordingView, Studio};
use crate::app::views::NamedView;
use crate::app::worker::{Request, Severity, Snapshot};
use crate::record::save_png;
use crate::render::{Camera, Image, ViewOptions};

/// A film of the recorded past, made picture by picture.
#[derive(Clone, Copy)]
pub struct PastFilm {
    n_frames: u64,
}

impl Session {
    pub(super) fn act_on_record(&mut self, action: RecordAction, graphics: &mut Graphics) {
        match action {
            RecordAction::Past([start, end]) => self.film_past(start, end),
            RecordAction::Cancel => self.cancel_film(),
            RecordAction::Picture { size, transparent } => self.save_picture(size, transparent, graphics),
            RecordAction::Export { ending, span } => self.export(ending, span),
            RecordAction::EndJob { keeps } => self.end_job(keeps),
        }
    }

    /// Exports what is asked for; where the past is looked at, this moment is the one that is seen.
    fn export(&mut self, ending: &str, span: Span) {
        let Some(scene) = &self.live.scene else { return };
        let path = export_target(&scene.name, ending);
        let frames_per_second = self.ui.film.frames_per_second.unwrap_or(scene.frames_per_second);
        let seen = self.shown.view.as_ref().map(|view| view.time).filter(|_| self.is_in_past());
        let span = match (span, seen) {
            (Span::Now, Some(time)) => Span::Past([time, time]),
            (span, _) => span,
        };
        let job = Job::new(JobKind::Export, path.clone(), STARTING);
        self.add_job(job.clone());
        self.worker.send(Request::Export(ExportWish { path, span, frames_per_second, branch: self.live.branch }, job));
        if let Span::On(_) = span {
            self.go_live();
            if !self.is_playing() {
                self.play_or_pause();
            }
        }
    }

    pub(super) fn toggle_recording(&mut self) {
        if self.recorder.is_some() {
            self.stop_recording();
            return;
        }
        self.go_live();
        let Some(recorder) = self.start_film() else { return };
        self.worker.send(Request::Record(Some(recorder.frames_per_second)));
        self.recorder = Some(recorder);
    }

    /// Films what was recorded between two times [s].
    fn film_past(&mut self, start: f64, end: f64) {
        self.stop_recording();
        let Some(mut recorder) = self.start_film() else { return };
        recorder.start = Some(start);
        let n_frames = ((end - start) * recorder.frames_per_second + 1e-6).floor().max(0.0) as u64 + 1;
        self.film_of_past = Some(PastFilm { n_frames });
        self.recorder = Some(recorder);
    }

    fn start_film(&mut self) -> Option<Recorder> {
        let scene = self.shown.scene.as_ref()?;
        let [_, _, width, height] = self.viewport();
        match Recorder::start(self.ui.film.clone(), [width, height], scene.frames_per_second) {
            Ok(recorder) => {
                self.log.say(format_args!("recording {}", recorder.path.display()));
                Some(recorder)
            }
            Err(text) => {
                self.tell(Severity::Error, text);
                None
            }
        }
    }

    /// Makes the next picture of a film of the past; true while there are more to come.
    pub(super) fn advance_film(&mut self, graphics: &mut Graphics) -> bool {
        let Some(range) = self.film_of_past else { return false };
        let Some(recorder) = &self.recorder else {
            self.film_of_past = None;
            return false;
        };
        if recorder.frames < range.n_frames {
            self.take_frame(graphics);
        } else {
            self.stop_recording();
        }
        self.film_of_past.is_some()
    }

    /// Takes the frame for which the simulation waits.
    pub(super) fn record(&mut self, due: u64, graphics: &mut Graphics) {
        let Some(recorder) = &mut self.recorder else { return };
        if due != recorder.frames {
            return; // already taken; the answer is on its way
        }
        recorder.start = recorder.start.or(self.shown.view.as_ref().map(|view| view.time));
        if self.take_frame(graphics) {
            self.log.say(format_args!("recording frame {due}"));
            self.worker.send(Request::FrameTaken);
        }
    }

    /// Draws the next frame and gives it to the film; without success the film ends.
    fn take_frame(&mut self, graphics: &mut Graphics) -> bool {
        let image = self.film_frame(graphics);
        let Some(recorder) = &mut self.recorder else { return false };
        match image.and_then(|image| recorder.push(image)) {
            Ok(()) => true,
            Err(text) => {
                self.tell(Severity::Error, text);
                self.stop_recording();
                false
            }
        }
    }

    /// The next frame, at its time exactly: between the pictures of two steps.
    fn film_frame(&mut self, graphics: &mut Graphics) -> Result<Image, String> {
        let recorder = self.recorder.as_ref().ok_or("the film has ended")?;
        let (settings, size, of_film, time) = (recorder.settings.clone(), recorder.size, recorder.seconds(), recorder.next_time());
        let is_now = |time: &f64| self.shown.view.as_ref().is_some_and(|view| (view.time - time).abs() < 1e-9);
        let wants = self.wanted();
        let view = time.filter(|time| !is_now(time)).and_then(|time| self.time.view_at(time, wants, &self.live));
        let window = self.shown.clone();
        let is_other = view.is_some();
        if let Some(view) = view {
            self.shown = Arc::new(Snapshot { view: Some(Arc::new(view)), ..(*window).clone() });
            self.place(graphics).and_then(|()| self.color(graphics))?;
        }
        let views: Vec<Key> = self.views.of(&self.scene_key()).iter().filter_map(NamedView::key).collect();
        let simulated = time.or(window.view.as_ref().map(|view| view.time)).unwrap_or_default();
        let camera = settings.motion.camera(self.viewpoint.camera, &views, of_film, simulated);
        let image = self.captured(size, camera, settings.is_transparent(), graphics);
        self.shown = window;
        if is_other {
            self.place(graphics).and_then(|()| self.color(graphics))?;
        }
        image
    }

    fn captured(&self, size: [u32; 2], camera: Camera, transparent: bool, graphics: &mut Graphics) -> Result<Image, String> {
        let options = ViewOptions { ground: !transparent, ..self.options() };
        // Lines are as wide in the picture as in the window.
        let [_, _, _, height] = self.viewport();
        let pixels = self.pixels_per_point * size[1] as f32 / height.max(1) as f32;
        let overlays = self.overlays_from(&camera, [0, 0, size[0], size[1]], pixels);
        graphics.renderer.capture(size, &camera, &options, &overlays).map_err(|error| error.to_string())
    }

    pub fn stop_recording(&mut self) {
        let Some(recorder) = self.recorder.take() else { return };
        if self.film_of_past.take().is_none() {
            self.worker.send(Request::Record(None));
        }
        self.finish_film(recorder, true);
    }

    /// The last pictures may take a while to be written.
    fn finish_film(&mut self, recorder: Recorder, keeps: bool) {
        let job = Job::new(JobKind::Film, recorder.path.clone(), "Finishing the film");
        self.add_job(job.clone());
        if !keeps {
            job.discard();
        }
        job.run(move |job| {
            let told = recorder.finish();
            if job.is_discarded() {
                throw_away(&job.path);
                return Ok(String::new());
            }
            told
        });
    }

    /// Ends a film and throws away what there is of it.
    fn cancel_film(&mut self) {
        let Some(recorder) = self.recorder.take() else { return };
        if self.film_of_past.take().is_none() {
            self.worker.send(Request::Record(None));
        }
        self.finish_film(recorder, false);
        self.log.say(format_args!("recording cancelled"));
    }

    /// What can be recorded, for the panels.
    pub(super) fn studio(&self, graphics: &Graphics) -> Studio {
        let [_, _, width, height] = self.viewport();
        Studio {
            recorded: self.time.recorded(self.live.branch),
            frames_per_second: self.shown.scene.as_ref().map_or(30.0, |scene| scene.frames_per_second),
            view: [width, height],
            limit: graphics.device.limits.max_texture_dimension_2d,
            job: self.job_view(),
        }
    }

    /// The recording in progress, for the panels.
    pub(super) fn recording_view(&self) -> Option<RecordingView> {
        let recorder = self.recorder.as_ref()?;
        let of = self.film_of_past.map(|range| range.n_frames);
        Some(RecordingView { frames: recorder.frames, seconds: recorder.seconds(), size: recorder.size, of })
    }

    pub(super) fn save_screenshot(&mut self, graphics: &mut Graphics) {
        let [_, _, width, height] = self.viewport();
        self.save_picture([width, height], false, graphics);
    }

    /// Saves a picture of the view; one that is larger than the view is drawn once the window has said so.
    fn save_picture(&mut self, size: [u32; 2], transparent: bool, graphics: &mut Graphics) {
        let scene = self.shown.scene.as_ref().map_or("empty", |scene| scene.name.as_str());
        let job = Job::new(JobKind::Picture, picture_target(scene), "Making the picture");
        let [_, _, width, height] = self.viewport();
        if size[0] > width || size[1] > height {
            self.draw_soon(job, size, transparent);
        } else {
            self.add_job(job.clone());
            self.draw_picture(&job, size, transparent, graphics);
        }
    }

    /// Draws a picture, which its job then writes.
    pub(super) fn draw_picture(&mut self, job: &Arc<Job>, size: [u32; 2], transparent: bool, graphics: &mut Graphics) {
        if job.is_discarded() {
            return job.end(Ok(String::new()));
        }
        match self.captured(size, self.viewpoint.camera, transparent, graphics) {
            Ok(image) => job.run(move |job| {
                save_png(&job.path, &image).map_err(|error| error.to_string())?;
                if job.is_discarded() {
                    throw_away(&job.path);
                    return Ok(String::new());
                }
                Ok(format!("The screenshot is in {}", job.path.display()))
            }),
            Err(text) => job.end(Err(text)),
        }
    }
}

/// Removes a file, or a folder of pictures. What cannot be removed stays.
fn throw_away(path: &Path) {
    let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
}
