//! Recordings: a file that holds the bodies and every frame of a run, for results to be made of it later.
//!
//! A line of JSON says what the file is. Then come blocks: four letters, lengths and a check sum, and compressed
//! arrays. The first block is the geometry and each further block a frame, so that a file that was cut off is good up
//! to its last whole frame.

mod format;
mod read;

pub use read::{Recording, RecordingError};

use std::path::Path;

use self::format::{Header, frame_block, geometry_block};
use super::{Exporter, Frame, Subject, Written};
use crate::cancel::CancelToken;
use crate::output::{OutputError, OutputFile};

/// Writes a recording. It has the materials of its start: what is changed later is not in it.
pub struct Recorder {
    file: OutputFile,
    frames: u64,
}

impl Recorder {
    pub fn new(path: &Path, subject: &Subject) -> Result<Self, OutputError> {
        let mut file = OutputFile::create(path)?;
        file.write_line(&Header::of(subject).to_line())?;
        file.put(&geometry_block(&subject.model))?;
        file.mark()?;
        Ok(Self { file, frames: 0 })
    }
}

impl Exporter for Recorder {
    fn write(&mut self, frame: &Frame) -> Result<(), OutputError> {
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
