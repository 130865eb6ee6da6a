//! The pictures of the gallery as textures: decoded when they are first shown, as many in a frame as do not hold it up.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use egui::load::SizedTexture;
use egui::{Color32, ColorImage, Context, Image, TextureHandle, TextureId, TextureOptions, vec2};

use crate::scene::{GALLERY_SESSION, builtin_scenes};

#[derive(Default)]
pub struct Thumbnails {
    textures: BTreeMap<&'static str, TextureHandle>,
    /// Stands where there is none yet.
    blank: Option<TextureHandle>,
    /// The frame in which some were decoded last (egui's number of it), and how long that took.
    decoded_in: (u64, Duration),
}

/// Of a frame, for decoding.
const PATIENCE: Duration = Duration::from_millis(4);
/// Width over height of all of them.
const ASPECT_RATIO: f32 = 16.0 / 9.0;

impl Thumbnails {
    /// The picture of a scene, of this height in points, transparent until it is decoded: what stands around it stays
    /// where it is. None if there is no such scene.
    pub fn image(&mut self, ctx: &Context, scene: &str, height: f32) -> Option<Image<'static>> {
        // The session is one of the first scene.
        let name = if scene == GALLERY_SESSION.0 { "gallery" } else { scene };
        let texture = match self.textures.get(name) {
            Some(texture) => texture.id(),
            None => self.decode(ctx, name)?,
        };
        let size = vec2(height * ASPECT_RATIO, height);
        Some(Image::from_texture(SizedTexture::new(texture, size)).fit_to_exact_size(size))
    }

    /// Decodes the picture of a scene, or puts that off to another frame.
    fn decode(&mut self, ctx: &Context, name: &str) -> Option<TextureId> {
        let entry = builtin_scenes().find(|entry| entry.name == name)?;
        let frame = ctx.cumulative_frame_nr();
        if self.decoded_in.0 != frame {
            self.decoded_in = (frame, Duration::ZERO);
        }
        if self.decoded_in.1 >= PATIENCE {
            ctx.request_repaint();
            let blank = || ctx.load_texture("blank", ColorImage::filled([1, 1], Color32::TRANSPARENT), TextureOptions::LINEAR);
            return Some(self.blank.get_or_insert_with(blank).id());
        }
        let begun = Instant::now();
        let texture = ctx.load_texture(entry.name, decoded(entry.picture)?, TextureOptions::LINEAR);
        self.decoded_in.1 += begun.elapsed();
        Some(self.textures.entry(entry.name).or_insert(texture).id())
    }
}

fn decoded(bytes: &[u8]) -> Option<ColorImage> {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
    let mut reader = decoder.read_info().ok()?;
    let mut rgb = vec![0; reader.output_buffer_size()?];
    let info = reader.next_frame(&mut rgb).ok()?;
    (info.color_type == png::ColorType::Rgb).then(|| ColorImage::from_rgb([info.width as usize, info.height as usize], &rgb))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scene_has_a_picture_that_comes_within_some_frames() {
        let (ctx, mut thumbnails) = (Context::default(), Thumbnails::default());
        let names: Vec<&str> = builtin_scenes().map(|entry| entry.name).chain([GALLERY_SESSION.0]).collect();
        for _ in 0..names.len() {
            let _ = ctx.run_ui(egui::RawInput::default(), |ui| {
                // Each has its place from the first frame on.
                let sizes = names.iter().map(|name| thumbnails.image(ui.ctx(), name, 90.0).unwrap().size());
                assert!(sizes.into_iter().all(|size| size == Some(vec2(160.0, 90.0))));
            });
        }
        assert_eq!(thumbnails.textures.len(), builtin_scenes().count());
        let is_of_ratio = |texture: &TextureHandle| (texture.aspect_ratio() - ASPECT_RATIO).abs() < 0.02;
        assert!(thumbnails.textures.values().all(is_of_ratio));
        assert!(thumbnails.image(&ctx, "no scene", 90.0).is_none() && decoded(b"no picture").is_none());
    }
}
