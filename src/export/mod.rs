//! Results for other programs: series of frames as files that such programs open, written while a simulation runs or
//! from a saved recording.
//!
//! An [`Exporter`] takes [`Frame`]s and writes one format. Files appear whole or not at all; a series is valid after
//! every frame, and frames written before a failure stay.

mod fields;
mod frame;
mod gltf;
mod point_cache;
mod recording;
mod sampler;
mod sequence;
mod shading;
mod surfaces;
mod usd;
#[cfg(test)]
mod tests;
mod vtk;

pub use frame::{Frame, Frames, Subject};
pub use recording::{Recording, RecordingError};
pub use sampler::{Due, Sampler};

use std::path::{Path, PathBuf};

use crate::cancel::CancelToken;
use crate::output::OutputError;

/// A format of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// VTK's XML files with all fields, and their index.
    Vtk,
    Obj,
    Ply,
    /// JSON, and a binary file beside it.
    Gltf,
    Glb,
    /// Text.
    Usd,
    Pc2,
    Mdd,
    /// Our own format, for `Recording`: it holds everything.
    Recording,
}

impl Format {
    /// Endings of file names and their formats.
    pub const ENDINGS: [(&'static str, Self, &'static str); 10] = [
        ("pvd", Self::Vtk, "ParaView: a series of VTU and VTP with all fields"),
        ("vtu", Self::Vtk, "the same"),
        ("obj", Self::Obj, "numbered Wavefront OBJ"),
        ("ply", Self::Ply, "numbered binary PLY"),
        ("gltf", Self::Gltf, "glTF with animation"),
        ("glb", Self::Glb, "glTF with animation in one file"),
        ("usda", Self::Usd, "Universal Scene Description with animation, as text"),
        ("pc2", Self::Pc2, "point cache, and an OBJ for it"),
        ("mdd", Self::Mdd, "point cache, and an OBJ for it"),
        ("pliant", Self::Recording, "a recording, for `pliant export`"),
    ];

    /// The format by the ending of a file name.
    pub fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?;
        Self::ENDINGS.iter().find(|(known, ..)| ending.eq_ignore_ascii_case(known)).map(|(_, format, _)| *format)
    }

    /// Whether its files hold surfaces alone, as pictures of the past do, and not what moves and strains them.
    pub fn is_of_surfaces(self) -> bool {
        !matches!(self, Self::Vtk | Self::Recording)
    }
}

/// An account of the written files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    pub frames: u64,
    /// Length of all files together.
    pub bytes: u64,
    /// A sentence on the files beside the named file: "NAME_00000.obj to …".
    pub files: String,
}

/// Writes frames in one format.
pub trait Exporter: Send {
    /// Adds a frame. After a failure the caller adds no other.
    fn write(&mut self, frame: &Frame) -> Result<(), OutputError>;

    /// Completes the files with the frames so far, after a failure too. A file that holds the whole series is made whole
    /// here, which takes a while where it is large: once `cancel` is cancelled nothing is left of it, and the error is
    /// [`OutputError::Cancelled`]. Files that are whole by then stay.
    fn finish(self: Box<Self>, cancel: &CancelToken) -> Result<Written, OutputError>;
}

/// Starts the files of a format; `path` has one of its endings.
pub fn exporter(format: Format, path: &Path, subject: &Subject) -> Result<Box<dyn Exporter>, OutputError> {
    Ok(match format {
        Format::Vtk => Box::new(vtk::Series::new(path, subject)?),
        Format::Obj => Box::new(sequence::Sequence::obj(path, subject)?),
        Format::Ply => Box::new(sequence::Sequence::ply(path, subject)?),
        Format::Gltf => Box::new(gltf::Animation::new(path, subject, gltf::Container::TwoFiles)?),
        Format::Glb => Box::new(gltf::Animation::new(path, subject, gltf::Container::OneFile)?),
        Format::Usd => Box::new(usd::Stage::new(path, subject)?),
        Format::Pc2 => Box::new(point_cache::Pc2::new(path, subject)?),
        Format::Mdd => Box::new(point_cache::Mdd::new(path, subject)?),
        Format::Recording => Box::new(recording::Recorder::new(path, subject)?),
    })
}

/// `DIR/NAME.ending` as `DIR/NAME_00007.obj`.
fn numbered(path: &Path, suffix: &str, frame: u64, ending: &str) -> PathBuf {
    path.with_file_name(format!("{}{suffix}_{frame:05}.{ending}", stem(path)))
}

/// The file name without its ending.
fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
