//! Point caches: the position of every vertex of one mesh at each frame. The mesh itself is an OBJ file beside the
//! cache.

use std::path::{Path, PathBuf};

use super::fields::single;
use super::sequence::obj;
use super::shading::Shading;
use super::surfaces::Surfaces;
use super::{Exporter, Frame, Subject, Written};
use crate::cancel::CancelToken;
use crate::output::{OutputError, OutputFile};

/// The mesh that a cache moves.
struct Mesh {
    subject: Subject,
    surfaces: Surfaces,
    file: PathBuf,
    written: Written,
}

impl Mesh {
    fn new(path: &Path, subject: &Subject) -> Result<Self, OutputError> {
        let file = path.with_extension("obj");
        crate::output::check_writable(&file)?;
        let files = format!("the mesh for it is {}", file.display());
        let surfaces = Surfaces::new(&subject.model);
        Ok(Self { subject: subject.clone(), surfaces, file, written: Written { files, ..Written::default() } })
    }

    /// Removes the mesh: there is no cache that would move it.
    fn remove(&self) {
        // One that cannot be removed is whole.
        let _ = std::fs::remove_file(&self.file);
    }

    /// Gives the positions of a frame, and writes the mesh with the first frame.
    fn positions(&mut self, frame: &Frame) -> Result<Vec<[f32; 3]>, OutputError> {
        if self.written.frames == 0 {
            let shading = Shading::new(&self.subject.model, &self.surfaces);
            let bytes = obj(&self.subject.model, &self.surfaces, &shading, frame);
            OutputFile::save(&self.file, &bytes)?;
            self.written.bytes += bytes.len() as u64;
        }
        Ok(self.surfaces.positions(&self.subject.model, frame).iter().map(single).collect())
    }
}

/// PC2: a header of 32 bytes, then frames of f32, all little-endian. The number of frames in the header is kept right,
/// so that it is whole at any time.
pub struct Pc2 {
    mesh: Mesh,
    file: OutputFile,
}

impl Pc2 {
    pub fn new(path: &Path, subject: &Subject) -> Result<Self, OutputError> {
        let (mut file, mesh) = (OutputFile::create(path)?, Mesh::new(path, subject)?);
        file.put(b"POINTCACHE2\0")?;
        file.put(&1u32.to_le_bytes())?;
        file.put(&(mesh.surfaces.local.len() as u32).to_le_bytes())?;
        // Start and sampling rate, in frames: players then show a sample each frame.
        file.put(bytemuck::bytes_of(&[0.0f32, 1.0]))?;
        file.put(&0u32.to_le_bytes())?;
        file.mark()?;
        Ok(Self { mesh, file })
    }
}

impl Exporter for Pc2 {
    fn write(&mut self, frame: &Frame) -> Result<(), OutputError> {
        let positions = self.mesh.positions(frame)?;
        self.file.put(bytemuck::cast_slice(&positions))?;
        self.file.mark()?;
        self.mesh.written.frames += 1;
        self.file.put_at(28, &(self.mesh.written.frames as u32).to_le_bytes())
    }

    fn finish(mut self: Box<Self>, _: &CancelToken) -> Result<Written, OutputError> {
        self.file.cut()?;
        self.mesh.written.bytes += self.file.len();
        self.file.finish()?;
        Ok(self.mesh.written)
    }
}

/// MDD: the numbers of frames and points, the times of all frames, then the frames; all big-endian. Room for the times
/// is left before the points.
pub struct Mdd {
    mesh: Mesh,
    file: OutputFile,
    /// The number of frames for which there is room.
    capacity: usize,
    times: Vec<f32>,
}

impl Mdd {
    pub fn new(path: &Path, subject: &Subject) -> Result<Self, OutputError> {
        let (mut file, mesh) = (OutputFile::create(path)?, Mesh::new(path, subject)?);
        let capacity = subject.n_frames as usize;
        file.put(&vec![0; 8 + 4 * capacity])?;
        file.mark()?;
        Ok(Self { mesh, file, capacity, times: vec![] })
    }
}

impl Exporter for Mdd {
    fn write(&mut self, frame: &Frame) -> Result<(), OutputError> {
        let positions = self.mesh.positions(frame)?;
        let bytes: Vec<u8> = positions.iter().flatten().flat_map(|x| x.to_be_bytes()).collect();
        self.file.put(&bytes)?;
        self.file.mark()?;
        self.times.push(frame.time as f32);
        self.mesh.written.frames += 1;
        Ok(())
    }

    fn finish(mut self: Box<Self>, cancel: &CancelToken) -> Result<Written, OutputError> {
        self.file.cut()?;
        let n = self.times.len();
        let room = 4 * (self.capacity - n) as u64;
        let removed = self.file.remove(8 + 4 * n as u64, room, cancel);
        if let Err(OutputError::Cancelled { .. }) = removed {
            self.mesh.remove();
        }
        removed?;
        let counts = [n as u32, self.mesh.surfaces.local.len() as u32];
        let head = counts.into_iter().map(u32::to_be_bytes).chain(self.times.iter().map(|t| t.to_be_bytes()));
        self.file.put_at(0, &head.flatten().collect::<Vec<u8>>())?;
        self.mesh.written.bytes += self.file.len();
        self.file.finish()?;
        Ok(self.mesh.written)
    }
}
