//! Writes pictures to files: single screenshots, and films (numbered pictures, GIF, MP4) written beside the simulation.

mod encoder;
mod film;
mod gif_film;
mod h264;
mod mp4_film;
mod paper;
mod png_file;

pub use film::{Clock, FilmFormat, FilmWriter};
pub use paper::{GREEN, INK, Paper, RED, Title, color};
pub use png_file::save_png;

use std::path::PathBuf;

use crate::output::OutputError;

/// The reason why a picture could not be written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error("cannot write {}: {source}", path.display())]
    Encode { path: PathBuf, source: std::io::Error },
    #[error("cannot write {}: the picture has {bytes} bytes, which is not {width} x {height} pixels of 4", path.display())]
    Size { path: PathBuf, width: u32, height: u32, bytes: usize },
    #[error("cannot write {}: {reason}", path.display())]
    Refused { path: PathBuf, reason: String },
    #[error("the thread that writes {} ended unexpectedly; what it wrote so far is kept", path.display())]
    Stopped { path: PathBuf },
}

impl RecordError {
    /// Whether the failure was known before the work began.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Output(error) => error.is_refusal(),
            Self::Refused { .. } => true,
            _ => false,
        }
    }
}
