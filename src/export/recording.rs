//! Recordings: a file that holds the bodies and every frame of a run, for results to be made of it later.
//!
//! A line of JSON says what the file is. Then come blocks: four letters, lengths and a check sum, and compressed
//! arrays. The first block is the geometry and each further block a frame, so that a file that was cut off is good up
//! to its last whole frame. Where materials were changed in between, a block with the new ones stands before the next
//! frame.

mod format;
mod read;

pub use read::{Recording, RecordingError};

use std::path::Path;
use std::sync::Arc;

use self::format::{Header, frame_block, geometry_block, materials_block};
use super::{Exporter, Frame, Subject, Written};
use crate::cancel::CancelToken;
use crate::material::Material;
use crate::model::Model;
use crate::output::{OutputError, OutputFile};

/// Writes a recording.
pub struct Recorder {
    file: OutputFile,
    model: Arc<Model>,
    /// Those that the next frame has as well, if nobody says otherwise; none where they are those of the model.
    materials: Option<Vec<Material>>,
    frames: u64,
}

impl Recorder {
    pub fn new(path: &Path, subject: &Subject) -> Result<Self, OutputError> {
        let mut file = OutputFile::create(path)?;
        file.write_line(&Header::of(subject).to_line())?;
        file.put(&geometry_block(&subject.model))?;
        file.mark()?;
        Ok(Self { file, model: subject.model.clone(), materials: None, frames: 0 })
    }
}

impl Exporter for Recorder {
    fn write(&mut self, frame: &Frame) -> Result<(), OutputError> {
        if self.materials != frame.materials {
            self.materials.clone_from(&frame.materials);
            let changed = self.materials.as_ref().map(|materials| self.model.with_materials(materials));
            self.file.put(&materials_block(changed.as_ref().unwrap_or(&self.model)))?;
        }
        self.file.put(&frame_block(frame))?;
        // From the first frame on the file can be read, however the run ends.
        self.file.appear()?;
        self.frames += 1;
        Ok(())
    }

    fn finish(mut self: Box<Self>, _: &CancelToken) -> Result<Written, OutputError> {
        self.file.cut()?;
        let written = Written { frames: self.frames, bytes: self.file.len(), files: String::new() };
        self.file.finish()?;
        Ok(written)
    }
}
