//! Pictures of the view into files: single ones, and films.

use std::path::PathBuf;

use super::files;
use crate::record::{FilmFormat, FilmWriter, save_png};
use crate::render::Image;

/// A film in progress.
pub struct Recorder {
    writer: FilmWriter,
    pub path: PathBuf,
    pub frames: u64,
    /// Size of every frame [px]; the window may change meanwhile.
    pub size: [u32; 2],
}

impl Recorder {
    /// Starts `pliant-film-N` in the pictures folder.
    pub fn start(format: FilmFormat, size: [u32; 2], frames_per_second: f64) -> Result<Self, String> {
        let (_, ending) = FORMATS.iter().find(|(known, ..)| *known == format).map_or(("", ""), |(_, name, ending)| (*name, *ending));
        let path = files::unused("pliant-film", ending);
        // Even sizes: video encoders ask for them.
        let size = size.map(|s| (s / 2 * 2).max(2));
        let writer = FilmWriter::new(format, &path, size, frames_per_second).map_err(|error| error.to_string())?;
        Ok(Self { writer, path, frames: 0, size })
    }

    pub fn push(&mut self, image: Image) -> Result<(), String> {
        self.writer.push(image).map_err(|error| error.to_string())?;
        self.frames += 1;
        Ok(())
    }

    /// Waits for the last frames; what to tell the user.
    pub fn finish(self) -> Result<String, String> {
        let path = self.path;
        let n = self.writer.finish().map_err(|error| error.to_string())?;
        let frames = if n == 1 { "frame was" } else { "frames were" };
        Ok(format!("{n} {frames} recorded into {}", path.display()))
    }
}

/// The formats of films, their names in the menu, and the endings of their files.
pub const FORMATS: [(FilmFormat, &str, &str); 3] =
    [(FilmFormat::Mp4, "MP4 film", ".mp4"), (FilmFormat::Gif, "Animated GIF", ".gif"), (FilmFormat::Png, "PNG pictures", "")];

/// Saves a picture under a new name.
pub fn screenshot(scene: &str, image: &Image) -> Result<PathBuf, String> {
    let plain: String = scene.chars().map(|c| if c.is_alphanumeric() || c == '-' || c == '_' { c } else { '-' }).collect();
    let path = files::unused(&format!("pliant-{plain}"), ".png");
    save_png(&path, image).map_err(|error| error.to_string())?;
    Ok(path)
}
