//! The pictures of the gallery, which are inside the program: `assets/thumbnails`.

use std::borrow::Cow;
use std::path::PathBuf;

use clap::Args;

use super::Failure;
use super::film::{Moment, Painter};
use crate::output::OutputFile;
use crate::render::Image;
use crate::scene::{self, BackendChoice, Scene, THUMBNAIL_SIZE, builtin_scenes};
use crate::sim::{Options, Simulation};

#[derive(Args)]
pub struct ThumbnailArgs {
    /// Folder that gets a picture for each scene
    folder: PathBuf,
    /// Only this scene
    #[arg(long)]
    only: Option<String>,
}

/// Drawn so many times as large, then averaged: edges are smooth, and the dither is gone, which would not compress.
const SCALE: u32 = 2;
/// Effort of the search for colours: 1 is the best.
const COLOR_SEARCH_EFFORT: i32 = 1;
/// Colours that differ by less are one: pictures compress better [levels of 256].
const COLOR_STEP: u8 = 4;

pub fn thumbnails(args: &ThumbnailArgs) -> Result<(), Failure> {
    let mut total = 0;
    for entry in builtin_scenes().filter(|entry| args.only.as_ref().is_none_or(|only| only == entry.name)) {
        let bytes = encoded(&thumbnail(entry.name)?);
        total += bytes.len();
        say!("{} {} bytes", entry.name, bytes.len());
        OutputFile::save(&args.folder.join(format!("{}.png", entry.name)), &bytes)?;
    }
    say!("{total} bytes");
    Ok(())
}

/// The start of a scene of the gallery.
fn thumbnail(name: &str) -> Result<Image, Failure> {
    let built = scene::build(&Scene::builtin(name)?)?;
    let camera = crate::stage::camera(&built.camera);
    let light = crate::stage::light(&built.light);
    let options = Options { backend: Some(BackendChoice::Cpu), ..Options::default() };
    let mut simulation = Simulation::new(built, &options)?;
    let size = THUMBNAIL_SIZE.map(|n| n * SCALE);
    let mut painter = Painter::open(simulation.model(), light, size, None)?;
    Ok(averaged(&painter.draw(&Moment::now(&mut simulation)?, &camera)?))
}

/// The mean of each `SCALE` x `SCALE` pixels.
fn averaged(image: &Image) -> Image {
    let [width, height] = [image.width / SCALE, image.height / SCALE];
    let mean = |x: u32, y: u32, channel: usize| {
        let rows = (0..SCALE * SCALE).map(|k| (x * SCALE + k % SCALE, y * SCALE + k / SCALE));
        let sum: u32 = rows.map(|(x, y)| u32::from(image.pixels[4 * (y * image.width + x) as usize + channel])).sum();
        ((sum + SCALE * SCALE / 2) / (SCALE * SCALE)) as u8
    };
    let pixels = (0..height).flat_map(|y| (0..width).flat_map(move |x| [mean(x, y, 0), mean(x, y, 1), mean(x, y, 2), 255])).collect();
    Image { width, height, pixels }
}

/// As a PNG of 256 colours.
fn encoded(image: &Image) -> Vec<u8> {
    let mut pixels = image.pixels.clone();
    pixels.iter_mut().for_each(|level| *level = (*level / COLOR_STEP).saturating_mul(COLOR_STEP).saturating_add(COLOR_STEP / 2));
    pixels.chunks_exact_mut(4).for_each(|pixel| pixel[3] = 255);
    let frame = gif::Frame::from_rgba_speed(image.width as u16, image.height as u16, &mut pixels, COLOR_SEARCH_EFFORT);
    let mut bytes = vec![];
    let mut encoder = png::Encoder::new(&mut bytes, image.width, image.height);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_palette(frame.palette.map_or(Cow::Borrowed(&[][..]), Cow::Owned));
    encoder.set_compression(png::Compression::High);
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(&frame.buffer));
    written.expect("memory takes every picture of this size");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> Image {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut rgb).unwrap();
        Image { width: info.width, height: info.height, pixels: rgb.chunks(3).flat_map(|p| [p[0], p[1], p[2], 255]).collect() }
    }

    fn difference(a: &Image, b: &Image) -> f64 {
        a.pixels.iter().zip(&b.pixels).map(|(a, b)| f64::from(a.abs_diff(*b))).sum::<f64>() / a.pixels.len() as f64
    }

    #[test]
    fn the_gallery_has_a_small_picture_of_each_scene() {
        let mut total = 0;
        for entry in builtin_scenes() {
            let image = decoded(entry.picture);
            assert_eq!([image.width, image.height], THUMBNAIL_SIZE, "{}", entry.name);
            total += entry.picture.len();
        }
        assert!(total < 500_000, "{total} bytes");
    }

    /// The command makes what is inside the program: `pliant thumbnails assets/thumbnails` after a change of a scene.
    #[test]
    fn the_picture_of_a_scene_is_the_one_that_the_command_makes() {
        if crate::gpu::Device::open(&Default::default()).is_err() {
            eprintln!("skipped: no graphics device");
            return;
        }
        let made = decoded(&encoded(&thumbnail("incline").unwrap()));
        let picture = |name| decoded(builtin_scenes().find(|entry| entry.name == name).unwrap().picture);
        let (same, other) = (difference(&made, &picture("incline")), difference(&made, &picture("spin")));
        assert!(same < 3.0 && other > 2.0 * same.max(1.0), "{same} {other}");
    }
}
