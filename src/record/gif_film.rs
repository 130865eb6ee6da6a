//! Animated GIF [GIF89a]. A frame holds the rectangle that changed; pixels of it that did not change are transparent.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use gif::{DisposalMethod, EncodingError, Frame, Repeat};

use super::RecordError;
use super::encoder::FilmEncoder;
use crate::output::{OutputError, OutputFile};
use crate::render::Image;

/// Players show no frame for a shorter time than this [s / 100].
const MIN_DELAY: u16 = 2;
/// The effort of the search for 256 colours: 1 is the best, 30 the fastest.
const COLOR_SEARCH_EFFORT: i32 = 12;

pub struct GifFilm {
    path: PathBuf,
    encoder: gif::Encoder<OutputFile>,
    frames_per_second: f64,
    n: u64,
    /// The picture that is shown so far.
    before: Vec<u8>,
}

impl GifFilm {
    pub fn new(path: &Path, size: [u32; 2], frames_per_second: f64) -> Result<Self, RecordError> {
        let refused = |reason: String| RecordError::Refused { path: path.to_owned(), reason };
        if frames_per_second > 100.0 / f64::from(MIN_DELAY) {
            return Err(refused("GIF shows at most 50 frames a second; give --fps 50, or 25".into()));
        }
        let [Ok(width), Ok(height)] = size.map(u16::try_from) else {
            return Err(refused("GIF is at most 65535 pixels wide and high; give a smaller --size".into()));
        };
        let file = OutputFile::create(path)?;
        let mut encoder = gif::Encoder::new(file, width, height, &[]).map_err(|error| failed(path, error))?;
        encoder.set_repeat(Repeat::Infinite).map_err(|error| failed(path, error))?;
        encoder.get_mut().mark()?;
        Ok(Self { path: path.to_owned(), encoder, frames_per_second, n: 0, before: vec![] })
    }

    /// The duration of the next frame [s / 100], rounded so that no error adds up.
    fn delay(&self) -> u16 {
        let end = |frames: u64| (frames as f64 * 100.0 / self.frames_per_second).round();
        (end(self.n + 1) - end(self.n)).clamp(f64::from(MIN_DELAY), f64::from(u16::MAX)) as u16
    }
}

impl FilmEncoder for GifFilm {
    fn push(&mut self, image: &Image) -> Result<(), RecordError> {
        let width = image.width as usize;
        let [left, top, right, bottom] = changed(&self.before, &image.pixels, width);
        let mut pixels = Vec::with_capacity(4 * (right - left) * (bottom - top));
        for y in top..bottom {
            for x in left..right {
                let at = 4 * (y * width + x);
                let now = &image.pixels[at..at + 4];
                let same = self.before.get(at..at + 4) == Some(now);
                pixels.extend_from_slice(if same { &[0; 4] } else { now });
            }
        }
        let frame = Frame {
            delay: self.delay(),
            dispose: DisposalMethod::Keep,
            left: left as u16,
            top: top as u16,
            ..Frame::from_rgba_speed((right - left) as u16, (bottom - top) as u16, &mut pixels, COLOR_SEARCH_EFFORT)
        };
        let frame = Frame { buffer: Cow::Owned(frame.buffer.into_owned()), ..frame };
        self.encoder.write_frame(&frame).map_err(|error| failed(&self.path, error))?;
        self.encoder.get_mut().mark()?;
        self.before.clone_from(&image.pixels);
        self.n += 1;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), RecordError> {
        self.encoder.get_mut().cut()?;
        let file = self.encoder.into_inner().map_err(|error| failed(&self.path, error))?;
        Ok(file.finish()?)
    }
}

/// Left, top, right and bottom of the rectangle in which pictures differ; a single pixel where they are equal.
fn changed(before: &[u8], now: &[u8], width: usize) -> [usize; 4] {
    let rows = || now.chunks_exact(4 * width);
    if before.len() != now.len() {
        return [0, 0, width, rows().len()];
    }
    let (mut low, mut high) = ([width, usize::MAX], [0, 0]);
    for (y, (a, b)) in before.chunks_exact(4 * width).zip(rows()).enumerate().filter(|(_, (a, b))| a != b) {
        let differs = |x: &usize| a[4 * x..4 * x + 4] != b[4 * x..4 * x + 4];
        low = [(0..width).find(differs).unwrap_or(0).min(low[0]), low[1].min(y)];
        high = [(0..width).rfind(differs).map_or(0, |x| x + 1).max(high[0]), y + 1];
    }
    if high[0] == 0 { [0, 0, 1, 1] } else { [low[0], low[1], high[0], high[1]] }
}

fn failed(path: &Path, error: EncodingError) -> RecordError {
    match error {
        EncodingError::Io(source) => OutputError::of(path, source).into(),
        other => RecordError::Encode { path: path.to_owned(), source: std::io::Error::other(other) },
    }
}

#[cfg(test)]
mod tests {
    use super::super::png_file::tests::{folder, gradient};
    use super::*;

    /// The pictures as a viewer shows them, with their delays.
    fn shown(path: &Path, size: [usize; 2]) -> Vec<(u16, Vec<u8>)> {
        let mut options = gif::DecodeOptions::new();
        options.set_color_output(gif::ColorOutput::RGBA);
        let mut decoder = options.read_info(std::fs::File::open(path).unwrap()).unwrap();
        let (mut canvas, mut frames) = (vec![0; 4 * size[0] * size[1]], vec![]);
        while let Some(frame) = decoder.read_next_frame().unwrap() {
            for (i, pixel) in frame.buffer.chunks_exact(4).enumerate().filter(|(_, pixel)| pixel[3] > 0) {
                let (x, y) = (frame.left as usize + i % frame.width as usize, frame.top as usize + i / frame.width as usize);
                canvas[4 * (y * size[0] + x)..][..4].copy_from_slice(pixel);
            }
            frames.push((frame.delay, canvas.clone()));
        }
        frames
    }

    /// A gradient of few colours, with a square that moves.
    fn picture(k: usize) -> Image {
        let mut image = gradient(16, 12);
        for (x, y) in (0..4).flat_map(|x| (0..4).map(move |y| (x + k, y + k))) {
            image.pixels[4 * (16 * y + x)..][..4].copy_from_slice(&[200, 10, 20, 255]);
        }
        image
    }

    #[test]
    fn a_viewer_shows_what_was_drawn() {
        let folder = folder("gif");
        std::fs::create_dir(&folder).unwrap();
        let path = folder.join("film.gif");
        let mut film = Box::new(GifFilm::new(&path, [16, 12], 30.0).unwrap());
        let pictures: Vec<Image> = [0, 3, 3, 7].map(picture).into();
        pictures.iter().for_each(|image| film.push(image).unwrap());
        film.finish().unwrap();
        let frames = shown(&path, [16, 12]);
        assert_eq!(frames.iter().map(|(delay, _)| *delay).collect::<Vec<_>>(), [3, 4, 3, 3]);
        for ((_, shown), image) in frames.iter().zip(&pictures) {
            assert!(shown == &image.pixels, "colours are few enough to be exact");
        }
        assert!(GifFilm::new(&path, [16, 12], 60.0).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn on_a_full_disk_the_frames_before_stay() {
        let folder = folder("gif-full");
        std::fs::create_dir(&folder).unwrap();
        let path = folder.join("film.gif");
        let mut film = Box::new(GifFilm::new(&path, [16, 12], 30.0).unwrap());
        film.push(&picture(0)).unwrap();
        film.push(&picture(3)).unwrap();
        let file = film.encoder.get_mut();
        file.capacity = Some(file.len() + 40);
        let error = film.push(&picture(6)).unwrap_err();
        assert!(error.to_string().contains("the disk is full"), "{error}");
        film.finish().unwrap();
        let frames = shown(&path, [16, 12]);
        assert!(frames.len() == 2 && frames[1].1 == picture(3).pixels);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
