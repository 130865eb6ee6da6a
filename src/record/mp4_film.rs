//! MP4 films of H.264 pictures [ISO 14496-12, 14496-14].

use std::path::Path;

use super::RecordError;
use super::encoder::FilmEncoder;
use super::h264;
use crate::output::{OutputError, OutputFile};
use crate::render::Image;

/// Time between key pictures, at which a player can start [s].
const KEY_INTERVAL: f64 = 2.0;
/// Ticks per second: the frames of all common rates take whole numbers of ticks.
const TICKS_PER_SECOND: u32 = 90_000;

/// Pictures stream to the file; their table follows at the end.
pub struct Mp4Film {
    file: OutputFile,
    encoder: h264::Encoder,
    size: [u32; 2],
    frames_per_second: f64,
    /// For each picture its bytes and whether it is a key picture.
    pictures: Vec<(u32, bool)>,
}

impl Mp4Film {
    /// Starts a film. The format wants an even size: the last row or column of an odd size is left out.
    pub fn new(path: &Path, size: [u32; 2], frames_per_second: f64) -> Result<Self, RecordError> {
        let mut file = OutputFile::create(path)?;
        file.put(&boxed(b"ftyp", b"isom\0\0\x02\0isomiso2avc1mp41"))?;
        // The length of this box, of 64 bits, is filled in at the end.
        file.put(&[&[0, 0, 0, 1], b"mdat".as_slice(), &[0; 8]].concat())?;
        file.mark()?;
        let size = size.map(|n| n / 2 * 2);
        let key_interval = (KEY_INTERVAL * frames_per_second).round().max(1.0) as u64;
        Ok(Self { file, encoder: h264::Encoder::new(size, key_interval), size, frames_per_second, pictures: vec![] })
    }

    fn ticks(&self, pictures: usize) -> u32 {
        (pictures as f64 * f64::from(TICKS_PER_SECOND) / self.frames_per_second).round() as u32
    }
}

/// The place where the media data begin: after the file type and the head of their box.
const MEDIA_START: u64 = 32 + 16;

impl FilmEncoder for Mp4Film {
    fn push(&mut self, image: &Image) -> Result<(), RecordError> {
        let packet = self.encoder.encode(image);
        self.file.put(&packet.data)?;
        self.file.mark()?;
        self.pictures.push((packet.data.len() as u32, packet.is_key));
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), RecordError> {
        loop {
            self.file.cut()?;
            let end = self.file.len();
            let table = self.table();
            let written = self.file.put(&table).and_then(|()| self.file.mark());
            match written {
                Ok(()) => {
                    self.file.put_at(40, &(end - 32).to_be_bytes())?;
                    return Ok(self.file.finish()?);
                }
                // On a full disk the last picture makes room for the table of the others.
                Err(OutputError::DiskFull { .. }) if self.pictures.len() > 1 => {
                    self.pictures.pop();
                    let length = MEDIA_START + self.pictures.iter().map(|(bytes, _)| u64::from(*bytes)).sum::<u64>();
                    self.file.cut_to(length)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Mp4Film {
    /// The movie box.
    fn table(&self) -> Vec<u8> {
        let n = self.pictures.len();
        let duration = self.ticks(n);
        let [width, height] = self.size;
        let matrix = words(&[1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30]);
        let movie =
            [words(&[0, 0, 0, TICKS_PER_SECOND, duration, 1 << 16, 0x0100_0000, 0, 0]), matrix.clone(), words(&[0, 0, 0, 0, 0, 0, 2])]
                .concat();
        let track = [words(&[3, 0, 0, 1, 0, duration, 0, 0, 0, 0]), matrix, words(&[width << 16, height << 16])].concat();
        let media = words(&[0, 0, 0, TICKS_PER_SECOND, duration, 0x55c4_0000]);
        let handler = [words(&[0, 0]), b"vide".to_vec(), words(&[0, 0, 0]), b"Pliant\0".to_vec()].concat();
        let data = boxed(b"dinf", &boxed(b"dref", &[words(&[0, 1]), boxed(b"url ", &words(&[1]))].concat()));
        let video = boxed(b"vmhd", &words(&[1, 0, 0]));
        let minf = boxed(b"minf", &[video, data, self.sample_table()].concat());
        let mdia = boxed(b"mdia", &[boxed(b"mdhd", &media), boxed(b"hdlr", &handler), minf].concat());
        let trak = boxed(b"trak", &[boxed(b"tkhd", &track), mdia].concat());
        boxed(b"moov", &[boxed(b"mvhd", &movie), trak].concat())
    }

    fn sample_table(&self) -> Vec<u8> {
        let n = self.pictures.len();
        let [width, height] = self.size;
        let mut entry = words(&[0, 1, 0, 0, 0, 0, width << 16 | height, 72 << 16, 72 << 16, 0, 1 << 16]);
        entry.extend_from_slice(&[0; 30]);
        entry.extend_from_slice(&[0, 24, 0xff, 0xff]);
        entry.extend(boxed(b"avcC", &self.encoder.configuration()));
        // The colours are BT.709, as in the stream.
        entry.extend(boxed(b"colr", &[b"nclx".as_slice(), &[0, 1, 0, 1, 0, 1, 0]].concat()));
        // Runs of frames that are shown for the same time.
        let mut times: Vec<[u32; 2]> = vec![];
        for k in 0..n {
            let length = self.ticks(k + 1) - self.ticks(k);
            match times.last_mut() {
                Some([count, same]) if *same == length => *count += 1,
                _ => times.push([1, length]),
            }
        }
        let keys: Vec<u32> = self.pictures.iter().zip(1..).filter(|((_, is_key), _)| *is_key).map(|(_, k)| k).collect();
        let sizes: Vec<u32> = self.pictures.iter().map(|(bytes, _)| *bytes).collect();
        let offsets = [words(&[0, 1]), MEDIA_START.to_be_bytes().to_vec()].concat();
        let boxes = [
            boxed(b"stsd", &[words(&[0, 1]), boxed(b"avc1", &entry)].concat()),
            boxed(b"stts", &[words(&[0, times.len() as u32]), words(times.as_flattened())].concat()),
            boxed(b"stss", &[words(&[0, keys.len() as u32]), words(&keys)].concat()),
            boxed(b"stsc", &words(&[0, 1, 1, n as u32, 1])),
            boxed(b"stsz", &[words(&[0, 0, n as u32]), words(&sizes)].concat()),
            boxed(b"co64", &offsets),
        ];
        boxed(b"stbl", &boxes.concat())
    }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A box: its length, its kind, its content.
fn boxed(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    [&(8 + content.len() as u32).to_be_bytes(), kind.as_slice(), content].concat()
}

#[cfg(test)]
mod tests {
    use super::super::png_file::tests::folder;
    use super::*;

    /// A pattern that moves by odd steps, over one that stands still, and from the tenth picture on something new.
    fn picture(size: [u32; 2], k: usize) -> Image {
        let [width, height] = size.map(|n| n as usize);
        let smooth = |x: usize, y: usize| {
            [120 + (60.0 * (x as f64 / 9.0).sin() * (y as f64 / 13.0).cos()) as i32, 90 + (x % 64) as i32, 200 - (y % 90) as i32]
        };
        let mut pixels = Vec::with_capacity(4 * width * height);
        for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
            let (left, top) = (20 + 3 * k, 30 + 5 * k);
            let color = match () {
                () if (left..left + 40).contains(&x) && (top..top + 50).contains(&y) => smooth(2 * (x - left) + 100, y - top),
                () if k >= 10 && x > 60 && y < 20 => [230, 40, 30],
                () => smooth(x, y),
            };
            pixels.extend(color.map(|c| c as u8));
            pixels.push(255);
        }
        Image { width: size[0], height: size[1], pixels }
    }

    /// Pictures as an independent decoder shows them: of H.264 in the box format of `re_mp4`.
    fn decoded(path: &Path) -> Vec<(u32, bool, Vec<u8>, [usize; 2])> {
        use openh264::formats::YUVSource;
        let bytes = std::fs::read(path).unwrap();
        let mp4 = re_mp4::Mp4::read_bytes(&bytes).unwrap();
        let track = mp4.tracks().values().next().unwrap();
        let re_mp4::StsdBoxContent::Avc1(avc1) = &track.trak(&mp4).mdia.minf.stbl.stsd.contents else { panic!("not H.264") };
        let mut stream = vec![];
        let unit = |bytes: &[u8], stream: &mut Vec<u8>| {
            stream.extend_from_slice(&[0, 0, 0, 1]);
            stream.extend_from_slice(bytes);
        };
        avc1.avcc.sequence_parameter_sets.iter().chain(&avc1.avcc.picture_parameter_sets).for_each(|set| unit(&set.bytes, &mut stream));
        let mut decoder = openh264::decoder::Decoder::new().unwrap();
        let mut pictures = vec![];
        for sample in &track.samples {
            let mut data = &bytes[sample.offset as usize..(sample.offset + sample.size) as usize];
            while let Some((length, rest)) = data.split_first_chunk::<4>() {
                let (this, rest) = rest.split_at(u32::from_be_bytes(*length) as usize);
                unit(this, &mut stream);
                data = rest;
            }
            let yuv = decoder.decode(&std::mem::take(&mut stream)).unwrap().expect("every sample is a picture");
            let (width, height) = yuv.dimensions();
            let (strides, y, u, v) = (yuv.strides(), yuv.y(), yuv.u(), yuv.v());
            let mut rgb = vec![];
            for (row, column) in (0..height).flat_map(|row| (0..width).map(move |column| (row, column))) {
                let luma = 255.0 / 219.0 * (f64::from(y[row * strides.0 + column]) - 16.0);
                let [cb, cr] = [u[row / 2 * strides.1 + column / 2], v[row / 2 * strides.2 + column / 2]]
                    .map(|c| 255.0 / 224.0 * (f64::from(c) - 128.0));
                let color = [luma + 1.5748 * cr, luma - 0.1873 * cb - 0.4681 * cr, luma + 1.8556 * cb];
                rgb.extend(color.map(|c| c.round().clamp(0.0, 255.0) as u8));
            }
            pictures.push((sample.duration as u32, sample.is_sync, rgb, [width, height]));
        }
        pictures
    }

    /// Peak signal to noise ratio [dB].
    fn likeness(image: &Image, rgb: &[u8]) -> f64 {
        let drawn = image.pixels.chunks_exact(4).flat_map(|p| &p[..3]);
        let square: f64 = drawn.zip(rgb).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum::<f64>() / rgb.len() as f64;
        10.0 * (255.0 * 255.0 / square).log10()
    }

    #[test]
    fn an_independent_decoder_shows_what_was_drawn() {
        let folder = folder("mp4");
        std::fs::create_dir(&folder).unwrap();
        let path = folder.join("film.mp4");
        // Neither side is a whole number of macroblocks, and the height is of two slices.
        let size = [110, 218];
        let mut film = Box::new(Mp4Film::new(&path, size, 6.0).unwrap());
        let pictures: Vec<Image> = (0..15).map(|k| picture(size, k)).collect();
        pictures.iter().for_each(|image| film.push(image).unwrap());
        film.finish().unwrap();
        let shown = decoded(&path);
        assert_eq!(shown.len(), 15);
        for (k, ((duration, is_key, rgb, dimensions), image)) in shown.iter().zip(&pictures).enumerate() {
            assert_eq!((*duration, *is_key, dimensions), (15_000, k == 0 || k == 12, &[110, 218]), "{k}");
            let alike = likeness(image, rgb);
            assert!(alike > 33.0, "picture {k}: {alike} dB");
        }
        // The measure sees a picture that is late.
        assert!(likeness(&pictures[12], &shown[4].2) < 27.0);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn on_a_full_disk_the_pictures_before_stay() {
        let folder = folder("mp4-full");
        std::fs::create_dir(&folder).unwrap();
        let path = folder.join("film.mp4");
        let size = [96, 200];
        let mut film = Box::new(Mp4Film::new(&path, size, 10.0).unwrap());
        (0..14).for_each(|k| film.push(&picture(size, k)).unwrap());
        film.file.capacity = Some(film.file.len() + 5);
        let error = film.push(&picture(size, 3)).unwrap_err();
        assert!(error.to_string().contains("the disk is full"), "{error}");
        film.finish().unwrap();
        let shown = decoded(&path);
        assert!((1..14).contains(&shown.len()), "the table took the room of {} pictures", 14 - shown.len());
        assert!(likeness(&picture(size, shown.len() - 1), &shown[shown.len() - 1].2) > 33.0);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
