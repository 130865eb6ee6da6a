//! Films: pictures at a fixed rate, written by a thread of its own.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::encoder::FilmEncoder;
use super::gif_film::GifFilm;
use super::mp4_film::Mp4Film;
use super::{RecordError, save_png};
use crate::output::create_folder;
use crate::render::Image;

/// At most this many pictures wait to be written; a full queue makes the sender wait, so that memory stays bounded.
const MAX_WAITING: usize = 4;

/// A format of moving pictures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FilmFormat {
    /// Numbered PNG files.
    #[default]
    Png,
    Gif,
    /// H.264.
    Mp4,
}

impl FilmFormat {
    /// Endings of file names and their formats.
    pub const ENDINGS: [(&'static str, Self, &'static str); 3] = [
        ("mp4", Self::Mp4, "a film (H.264)"),
        ("gif", Self::Gif, "animated GIF"),
        ("png", Self::Png, "numbered pictures; a name without an ending is a folder of them"),
    ];

    /// The format by the ending of a file name; a name without an ending is a folder of pictures.
    pub fn of(path: &Path) -> Option<Self> {
        let Some(ending) = path.extension() else { return Some(Self::Png) };
        Self::ENDINGS.iter().find(|(known, ..)| ending.eq_ignore_ascii_case(known)).map(|(_, format, _)| *format)
    }
}

/// The sum of many time steps may end so far from the time of a frame, and still be at it [frames].
const FRAME_TOLERANCE: f64 = 1e-6;

/// Counts the frames of a fixed rate that a time has reached; frame `k` belongs to time `k / rate`.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    frames_per_second: f64,
    n_taken: u64,
}

impl Clock {
    pub fn new(frames_per_second: f64) -> Self {
        Self { frames_per_second, n_taken: 0 }
    }

    /// The number of frames up to a time [s] from the start, the frame at that time included; none before the start.
    pub fn frames_until(&self, time: f64) -> u64 {
        ((time * self.frames_per_second + FRAME_TOLERANCE).floor() + 1.0).max(0.0) as u64
    }

    /// The frames that are missing at a time [s] since the start. They count as taken.
    pub fn take_due(&mut self, time: f64) -> Range<u64> {
        let first = self.n_taken;
        self.n_taken = self.frames_until(time).max(first);
        first..self.n_taken
    }

    /// Time of a frame since the start [s].
    pub fn time_of(&self, frame: u64) -> f64 {
        frame as f64 / self.frames_per_second
    }

    /// Whether the next frame comes before a time [s] since the start, and not at it.
    pub fn is_due_before(&self, time: f64) -> bool {
        self.n_taken as f64 + FRAME_TOLERANCE < time * self.frames_per_second
    }
}

/// Writes pictures for playback at a fixed number of frames a second.
#[derive(Debug)]
pub struct FilmWriter {
    path: PathBuf,
    n_pushed: u64,
    queue: SyncSender<Image>,
    writer: JoinHandle<Result<(), RecordError>>,
}

impl FilmWriter {
    /// Checks that files can be written there, makes the folder of numbered pictures if it is missing, and starts the
    /// thread.
    pub fn new(format: FilmFormat, path: &Path, size: [u32; 2], frames_per_second: f64) -> Result<Self, RecordError> {
        let encoder: Box<dyn FilmEncoder> = match format {
            FilmFormat::Png => Box::new(PngFilm::new(path)?),
            FilmFormat::Gif => Box::new(GifFilm::new(path, size, frames_per_second)?),
            FilmFormat::Mp4 => Box::new(Mp4Film::new(path, size, frames_per_second)?),
        };
        let (queue, pictures) = sync_channel(MAX_WAITING);
        let started = std::thread::Builder::new().name("film".into()).spawn(move || write_all(encoder, &pictures));
        let writer = started.map_err(|source| RecordError::Encode { path: path.to_owned(), source })?;
        Ok(Self { path: path.to_owned(), n_pushed: 0, queue, writer })
    }

    /// Queues the next frame; waits when the disk is slower than the pictures. On an error call [`Self::finish`] for
    /// its cause.
    pub fn push(&mut self, image: Image) -> Result<(), RecordError> {
        self.queue.send(image).map_err(|_| RecordError::Stopped { path: self.path.clone() })?;
        self.n_pushed += 1;
        Ok(())
    }

    /// Waits until all frames are on the disk and says how many there are.
    pub fn finish(self) -> Result<u64, RecordError> {
        drop(self.queue);
        self.writer.join().unwrap_or(Err(RecordError::Stopped { path: self.path }))?;
        Ok(self.n_pushed)
    }
}

fn write_all(mut encoder: Box<dyn FilmEncoder>, pictures: &Receiver<Image>) -> Result<(), RecordError> {
    let pushed = pictures.iter().try_for_each(|image| encoder.push(&image));
    // The first failure is the cause.
    let finished = encoder.finish();
    pushed.and(finished)
}

/// `frame_00000.png`, … in a folder, or `NAME_00000.png`, … where the path has that ending.
struct PngFilm {
    folder: PathBuf,
    stem: String,
    n: u64,
}

impl PngFilm {
    fn new(path: &Path) -> Result<Self, RecordError> {
        let film = if path.extension().is_some() {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            Self { folder: path.parent().unwrap_or(Path::new("")).to_owned(), stem, n: 0 }
        } else {
            create_folder(path)?;
            Self { folder: path.to_owned(), stem: "frame".into(), n: 0 }
        };
        crate::output::check_writable(&film.next())?;
        Ok(film)
    }

    fn next(&self) -> PathBuf {
        self.folder.join(format!("{}_{:05}.png", self.stem, self.n))
    }
}

impl FilmEncoder for PngFilm {
    fn push(&mut self, image: &Image) -> Result<(), RecordError> {
        save_png(&self.next(), image)?;
        self.n += 1;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), RecordError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::png_file::tests::{folder, gradient, read};
    use super::*;
    use crate::output::OutputError;

    #[test]
    fn frames_come_at_their_times_and_in_order() {
        let folder = folder("frames");
        let mut writer = FilmWriter::new(FilmFormat::Png, &folder.join("new"), [8, 4], 25.0).unwrap();
        let (mut clock, mut time) = (Clock::new(25.0), 0.0);
        for _ in 0..=20 {
            for _ in clock.take_due(time) {
                let image = gradient(8 + writer.n_pushed as u32, 4);
                writer.push(image).unwrap();
            }
            time += 0.01;
        }
        assert_eq!(writer.finish().unwrap(), 6); // at 0, 0.04, … 0.20 s
        for k in 0..6 {
            assert_eq!(read(&folder.join(format!("new/frame_{k:05}.png"))).width, 8 + k);
        }
        assert_eq!(Clock::new(30.0).frames_until(2.0), 61);
        // After frame 5 at 0.20 s comes the one at 0.24 s.
        assert_eq!((clock.take_due(0.23), clock.time_of(6)), (6..6, 0.24));
        assert!(clock.is_due_before(0.25) && !clock.is_due_before(0.24) && !clock.is_due_before(0.24 + 1e-12));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn failures_are_told() {
        let folder = folder("blocked");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("file"), "").unwrap();
        let open = |format, name: &str| FilmWriter::new(format, &folder.join(name), [4, 4], 30.0);
        assert!(matches!(open(FilmFormat::Png, "file"), Err(RecordError::Output(OutputError::Refused { .. }))));
        assert!(open(FilmFormat::Gif, "nowhere/film.gif").unwrap_err().is_refusal());
        // A folder that vanishes while recording.
        let mut writer = open(FilmFormat::Png, "gone").unwrap();
        std::fs::remove_dir(folder.join("gone")).unwrap();
        let pushed = (0..100).try_for_each(|_| writer.push(gradient(4, 4)));
        assert!(matches!(pushed, Err(RecordError::Stopped { .. })));
        assert!(matches!(writer.finish(), Err(RecordError::Output(OutputError::Refused { .. }))));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
