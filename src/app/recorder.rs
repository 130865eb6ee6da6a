//! Films of the view into files, and the names of what is written.

use std::path::PathBuf;

use super::exporting::is_of_export;
use super::files;
use super::film::{FORMATS, FilmSettings};
use crate::record::FilmWriter;
use crate::render::Image;

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
        let path = files::reserve("pliant-film", ending, |_| false);
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

/// A new file for a picture of a scene.
pub fn picture_target(scene: &str) -> PathBuf {
    files::reserve(&format!("pliant-{}", plain_name(scene)), ".png", |_| false)
}

/// A new file for an export of a scene: one of whose files there is none yet.
pub fn export_target(scene: &str, ending: &str) -> PathBuf {
    let entries = std::fs::read_dir(files::pictures_folder()).into_iter().flatten().flatten();
    let names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let is_taken = |stem: &str| names.iter().any(|name| is_of_export(name, stem));
    files::reserve(&format!("pliant-{}", plain_name(scene)), &format!(".{ending}"), is_taken)
}

/// A name that every file system takes.
fn plain_name(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() || c == '-' || c == '_' { c } else { '-' }).collect()
}
