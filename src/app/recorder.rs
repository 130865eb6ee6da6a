//! Pictures of the view into files: single ones, and a recording's frames.

use std::path::PathBuf;

use super::files;
use crate::record::{FrameWriter, save_png};
use crate::render::Image;

/// A recording in progress.
pub struct Recorder {
    writer: FrameWriter,
    pub folder: PathBuf,
    pub frames: u64,
    /// Of every frame [px]; the window may change meanwhile.
    pub size: [u32; 2],
}

impl Recorder {
    /// Starts `pliant-recording-N` in the pictures folder.
    pub fn start(size: [u32; 2], frames_per_second: f64) -> Result<Self, String> {
        let folder = files::unused("pliant-recording", "");
        let writer = FrameWriter::new(&folder, frames_per_second).map_err(|error| error.to_string())?;
        // Even sizes: video encoders ask for them.
        let size = size.map(|s| (s / 2 * 2).max(2));
        Ok(Self { writer, folder, frames: 0, size })
    }

    pub fn push(&mut self, image: Image) -> Result<(), String> {
        self.writer.push(image).map_err(|error| error.to_string())?;
        self.frames += 1;
        Ok(())
    }

    /// Waits for the last frames; what to tell the user.
    pub fn finish(self) -> Result<String, String> {
        let folder = self.folder;
        let n = self.writer.finish().map_err(|error| error.to_string())?;
        Ok(format!("{n} frames were recorded into {}", folder.display()))
    }
}

/// Saves a picture under a new name.
pub fn screenshot(scene: &str, image: &Image) -> Result<PathBuf, String> {
    let plain: String = scene.chars().map(|c| if c.is_alphanumeric() || c == '-' || c == '_' { c } else { '-' }).collect();
    let path = files::unused(&format!("pliant-{plain}"), ".png");
    save_png(&path, image).map_err(|error| error.to_string())?;
    Ok(path)
}
