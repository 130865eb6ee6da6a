//! Pictures into files: single screenshots, and numbered frames written beside the simulation.

mod frames;
mod png_file;

pub use frames::FrameWriter;
pub use png_file::save_png;

use std::path::PathBuf;

/// Why a picture could not be written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("cannot create the folder {}: {source}; choose another place with --record or in the scene's [recording]", path.display())]
    CreateFolder { path: PathBuf, source: std::io::Error },
    #[error("cannot create {}: {source}; check that the folder exists and may be written to", path.display())]
    Create { path: PathBuf, source: std::io::Error },
    #[error("cannot write {}: the disk is full; free some space or record elsewhere", path.display())]
    DiskFull { path: PathBuf },
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("cannot write {}: the picture has {bytes} bytes, which is not {width} x {height} pixels of 4", path.display())]
    Size { path: PathBuf, width: u32, height: u32, bytes: usize },
    #[error("the thread that writes frames into {} ended unexpectedly; the frames so far are kept", folder.display())]
    Stopped { folder: PathBuf },
}
