//! Pictures of the view into files: single ones, and films.

use std::path::PathBuf;

use super::files;
use crate::record::{FilmFormat, FilmWriter, save_png};
use crate::render::{Camera, Image};

/// What the next films are like.
#[derive(Clone, Debug, PartialEq)]
pub struct FilmSettings {
    pub format: FilmFormat,
    /// Width and height [px]; as the view if none.
    pub size: Option<[u32; 2]>,
    /// Of simulated time; as the scene says if none.
    pub frames_per_second: Option<f64>,
    /// Bodies alone, without floor and backdrop; only pictures (PNG) can be transparent.
    pub transparent: bool,
    pub motion: Motion,
}

/// How the camera of a film moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Motion {
    /// As the view does.
    Hand,
    /// Once around the target in so many seconds of the film.
    Turntable(f64),
    /// From one named view to the next, each in so many seconds of the film.
    Views(f64),
}

impl Default for FilmSettings {
    fn default() -> Self {
        Self { format: FilmFormat::Mp4, size: None, frames_per_second: None, transparent: false, motion: Motion::Hand }
    }
}

impl FilmSettings {
    /// Whether frames are transparent where nothing is.
    pub fn is_transparent(&self) -> bool {
        self.transparent && self.format == FilmFormat::Png
    }
}

impl Motion {
    /// The camera at a time [s] of the film; `hand` is that of the view.
    pub fn camera(&self, hand: Camera, views: &[Camera], time: f64) -> Camera {
        match *self {
            Self::Hand => hand,
            Self::Turntable(seconds) => {
                let mut camera = hand;
                camera.orbit((std::f64::consts::TAU * (time / seconds.max(1e-3)).fract()) as f32, 0.0);
                camera
            }
            Self::Views(seconds) => {
                let at = (time / seconds.max(1e-3)).max(0.0);
                let place = (at.floor() as usize).min(views.len().saturating_sub(1));
                match (views.get(place), views.get(place + 1)) {
                    (Some(from), Some(to)) => from.towards(to, at.fract() as f32),
                    (Some(last), None) => *last,
                    _ => hand,
                }
            }
        }
    }
}

/// A film in progress.
pub struct Recorder {
    writer: FilmWriter,
    pub settings: FilmSettings,
    pub path: PathBuf,
    pub frames: u64,
    pub frames_per_second: f64,
    /// Size of every frame [px]; the window may change meanwhile.
    pub size: [u32; 2],
    /// Simulated time of its first frame [s].
    pub start: Option<f64>,
}

impl Recorder {
    /// Starts `pliant-film-N` in the pictures folder.
    pub fn start(settings: FilmSettings, view: [u32; 2], frames_per_second: f64) -> Result<Self, String> {
        let format = settings.format;
        let (_, ending) = FORMATS.iter().find(|(known, ..)| *known == format).map_or(("", ""), |(_, name, ending)| (*name, *ending));
        let path = files::unused("pliant-film", ending);
        // Even sizes: video encoders ask for them.
        let size = settings.size.unwrap_or(view).map(|s| (s / 2 * 2).max(2));
        let frames_per_second = settings.frames_per_second.unwrap_or(frames_per_second);
        let writer = FilmWriter::new(format, &path, size, frames_per_second).map_err(|error| error.to_string())?;
        Ok(Self { writer, settings, path, frames: 0, frames_per_second, size, start: None })
    }

    /// Length of the film so far [s].
    pub fn seconds(&self) -> f64 {
        self.frames as f64 / self.frames_per_second
    }

    /// Simulated time of the next frame [s].
    pub fn next_time(&self) -> Option<f64> {
        Some(self.start? + self.seconds())
    }

    pub fn push(&mut self, image: Image) -> Result<(), String> {
        self.writer.push(image).map_err(|error| error.to_string())?;
        self.frames += 1;
        Ok(())
    }

    /// Waits for the last frames; what to tell the user.
    pub fn finish(self) -> Result<String, String> {
        let (seconds, path) = (self.seconds(), self.path);
        let n = self.writer.finish().map_err(|error| error.to_string())?;
        let frames = if n == 1 { "frame was" } else { "frames were" };
        Ok(format!("{seconds:.2} s of film: {n} {frames} recorded into {}", path.display()))
    }
}

/// The formats of films, their names in the menu, and the endings of their files.
pub const FORMATS: [(FilmFormat, &str, &str); 3] =
    [(FilmFormat::Mp4, "MP4 film", ".mp4"), (FilmFormat::Gif, "Animated GIF", ".gif"), (FilmFormat::Png, "PNG pictures", "")];

/// Saves a picture under a new name.
pub fn screenshot(scene: &str, image: &Image) -> Result<PathBuf, String> {
    let path = files::unused(&format!("pliant-{}", plain_name(scene)), ".png");
    save_png(&path, image).map_err(|error| error.to_string())?;
    Ok(path)
}

/// A name that every file system takes.
pub fn plain_name(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() || c == '-' || c == '_' { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cameras_of_films_turn_and_go_from_view_to_view() {
        let hand = Camera::default();
        let at = |motion: Motion, views: &[Camera], time| motion.camera(hand, views, time);
        assert_eq!(at(Motion::Hand, &[], 3.0), hand);
        let quarter = at(Motion::Turntable(8.0), &[], 2.0);
        assert!((quarter.azimuth - hand.azimuth - std::f32::consts::FRAC_PI_2).abs() < 1e-5);
        assert_eq!(at(Motion::Turntable(8.0), &[], 8.0), hand);
        let views = [hand, Camera { distance: 9.0, ..hand }, Camera { azimuth: 2.0, ..hand }];
        assert_eq!((at(Motion::Views(2.0), &views, 2.0), at(Motion::Views(2.0), &views, 99.0)), (views[1], views[2]));
        let middle = at(Motion::Views(2.0), &views, 1.0).distance;
        assert!(middle > hand.distance && middle < 9.0);
        assert_eq!(at(Motion::Views(2.0), &[], 1.0), hand, "no views are kept");
    }
}
