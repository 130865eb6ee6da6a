//! Numbered frames at a fixed rate, written by a thread of their own.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::{RecordError, save_png};
use crate::render::Image;

/// Pictures waiting to be written; a full queue makes the sender wait, so that memory stays bounded.
const WAITING: usize = 4;

/// Writes `frame_00000.png`, `frame_00001.png`, … into a folder, for playback at a fixed number of frames a second.
///
/// Ask [`Self::frames_due`] with the simulated time, and give that many pictures (usually 0 or 1) to [`Self::push`].
#[derive(Debug)]
pub struct FrameWriter {
    folder: PathBuf,
    frames_per_second: f64,
    n_pushed: u64,
    queue: SyncSender<Image>,
    writer: JoinHandle<Result<(), RecordError>>,
}

impl FrameWriter {
    /// Creates the folder if it is missing and starts the thread.
    pub fn new(folder: &Path, frames_per_second: f64) -> Result<Self, RecordError> {
        let failed = |source| RecordError::CreateFolder { path: folder.to_owned(), source };
        std::fs::create_dir_all(folder).map_err(failed)?;
        let (queue, pictures) = sync_channel(WAITING);
        let to = folder.to_owned();
        let writer = std::thread::Builder::new().name("frames".into()).spawn(move || write_all(&to, &pictures)).map_err(failed)?;
        Ok(Self { folder: folder.to_owned(), frames_per_second, n_pushed: 0, queue, writer })
    }

    /// How many frames are missing at a time [s] since the start of the recording; frame `k` belongs to time `k / rate`.
    pub fn frames_due(&self, time: f64) -> u64 {
        // A hair of tolerance: the sum of many time steps may end just short of a frame's time.
        let reached = (time * self.frames_per_second + 1e-6).floor().max(0.0) as u64 + 1;
        reached.saturating_sub(self.n_pushed)
    }

    /// Queues the next frame; waits when the disk is slower than the pictures. On an error call [`Self::finish`] for its cause.
    pub fn push(&mut self, image: Image) -> Result<(), RecordError> {
        self.queue.send(image).map_err(|_| RecordError::Stopped { folder: self.folder.clone() })?;
        self.n_pushed += 1;
        Ok(())
    }

    /// Waits until all frames are on the disk and says how many there are.
    pub fn finish(self) -> Result<u64, RecordError> {
        drop(self.queue);
        self.writer.join().unwrap_or(Err(RecordError::Stopped { folder: self.folder }))?;
        Ok(self.n_pushed)
    }
}

fn write_all(folder: &Path, pictures: &Receiver<Image>) -> Result<(), RecordError> {
    for (k, image) in pictures.iter().enumerate() {
        save_png(&folder.join(format!("frame_{k:05}.png")), &image)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::png_file::tests::{folder, gradient, read};
    use super::*;

    #[test]
    fn frames_come_at_their_times_and_in_order() {
        let folder = folder("frames");
        let mut writer = FrameWriter::new(&folder.join("new"), 25.0).unwrap();
        let mut time = 0.0;
        for _ in 0..=20 {
            for _ in 0..writer.frames_due(time) {
                let image = gradient(8 + writer.n_pushed as u32, 4);
                writer.push(image).unwrap();
            }
            time += 0.01;
        }
        assert_eq!(writer.finish().unwrap(), 6); // at 0, 0.04, … 0.20 s
        for k in 0..6 {
            assert_eq!(read(&folder.join(format!("new/frame_{k:05}.png"))).width, 8 + k);
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn failures_are_told() {
        let folder = folder("blocked");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("file"), "").unwrap();
        assert!(matches!(FrameWriter::new(&folder.join("file"), 30.0), Err(RecordError::CreateFolder { .. })));
        // A folder that vanishes while recording.
        let mut writer = FrameWriter::new(&folder.join("gone"), 30.0).unwrap();
        std::fs::remove_dir(folder.join("gone")).unwrap();
        let pushed = (0..100).try_for_each(|_| writer.push(gradient(4, 4)));
        assert!(matches!(pushed, Err(RecordError::Stopped { .. })));
        assert!(matches!(writer.finish(), Err(RecordError::Create { .. })));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
