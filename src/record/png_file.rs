//! Writes a picture as a PNG file.

use std::io;
use std::path::Path;

use super::RecordError;
use crate::output::{OutputError, OutputFile};
use crate::render::Image;

/// Writes a picture as a PNG, with its opacity where it is not opaque. The file appears complete or not at all.
pub fn save_png(path: &Path, image: &Image) -> Result<(), RecordError> {
    if image.pixels.len() != 4 * image.width as usize * image.height as usize {
        let (width, height, bytes) = (image.width, image.height, image.pixels.len());
        return Err(RecordError::Size { path: path.to_owned(), width, height, bytes });
    }
    let mut file = OutputFile::create(path)?;
    write(&mut file, image).map_err(|source| OutputError::of(path, source))?;
    Ok(file.finish()?)
}

fn write(file: &mut OutputFile, image: &Image) -> io::Result<()> {
    let mut encoder = png::Encoder::new(file, image.width, image.height);
    let is_opaque = image.is_opaque();
    encoder.set_color(if is_opaque { png::ColorType::Rgb } else { png::ColorType::Rgba });
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
    let mut writer = encoder.write_header().map_err(io_error)?;
    if is_opaque {
        let colors: Vec<u8> = image.pixels.chunks_exact(4).flat_map(|p| [p[0], p[1], p[2]]).collect();
        writer.write_image_data(&colors).map_err(io_error)?;
    } else {
        writer.write_image_data(&image.pixels).map_err(io_error)?;
    }
    writer.finish().map_err(io_error)
}

fn io_error(error: png::EncodingError) -> io::Error {
    match error {
        png::EncodingError::IoError(e) => e,
        other => io::Error::other(other),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs::{self, File};
    use std::path::PathBuf;

    use super::*;

    /// A fresh folder of this test; removed by the caller.
    pub fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("pliant-record-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    pub fn gradient(width: u32, height: u32) -> Image {
        let pixels = (0..height).flat_map(|y| (0..width).flat_map(move |x| [(7 * x) as u8, (11 * y) as u8, (x + y) as u8, 255])).collect();
        Image { width, height, pixels }
    }

    pub fn read(path: &Path) -> Image {
        let mut reader = png::Decoder::new(io::BufReader::new(File::open(path).unwrap())).read_info().unwrap();
        let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut rgb).unwrap();
        let opaque = || rgb.chunks(3).flat_map(|p| [p[0], p[1], p[2], 255]).collect();
        let pixels = if info.color_type == png::ColorType::Rgba { rgb.clone() } else { opaque() };
        Image { width: info.width, height: info.height, pixels }
    }

    #[test]
    fn what_is_written_is_read_back_and_nothing_else_is_left() {
        let folder = folder("png");
        fs::create_dir(&folder).unwrap();
        let image = gradient(37, 21);
        save_png(&folder.join("a.png"), &image).unwrap();
        assert_eq!(read(&folder.join("a.png")), image);
        let mut clear = image.clone();
        clear.pixels[3] = 100;
        save_png(&folder.join("a.png"), &clear).unwrap();
        assert_eq!(read(&folder.join("a.png")), clear);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn errors_name_the_file() {
        let path = folder("missing").join("a.png");
        let error = save_png(&path, &gradient(4, 4)).unwrap_err();
        assert!(error.is_refusal() && error.to_string().contains("a.png"), "{error}");
        let short = Image { width: 4, height: 4, pixels: vec![0; 8] };
        assert!(matches!(save_png(&path, &short), Err(RecordError::Size { .. })));
    }
}
