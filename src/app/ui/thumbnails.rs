//! The pictures of the gallery as textures: decoded when they are first shown, one a frame.

use std::collections::BTreeMap;

use egui::load::SizedTexture;
use egui::{ColorImage, Context, Image, TextureHandle, TextureOptions, vec2};

use crate::scene::{GALLERY_SESSION, builtin_scenes};

#[derive(Default)]
pub struct Thumbnails {
    textures: BTreeMap<&'static str, TextureHandle>,
    /// Decoded in this frame (egui's number of it).
    decoded_in: Option<u64>,
}

impl Thumbnails {
    /// The picture of a scene, of this height in points; none until it is decoded.
    pub fn image(&mut self, ctx: &Context, scene: &str, height: f32) -> Option<Image<'static>> {
        // The session is one of the first scene.
        let name = if scene == GALLERY_SESSION.0 { "gallery" } else { scene };
        let texture = match self.textures.get(name) {
            Some(texture) => texture,
            None => {
                ctx.request_repaint();
                let frame = ctx.cumulative_frame_nr();
                if self.decoded_in.replace(frame) == Some(frame) {
                    return None;
                }
                let entry = builtin_scenes().find(|entry| entry.name == name)?;
                let texture = ctx.load_texture(entry.name, decoded(entry.picture)?, TextureOptions::LINEAR);
                self.textures.entry(entry.name).or_insert(texture)
            }
        };
        let size = vec2(height * texture.aspect_ratio(), height);
        Some(Image::from_texture(SizedTexture::new(texture.id(), size)).fit_to_exact_size(size))
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
        let mut shown = 0;
        for _ in 0..names.len() {
            let _ = ctx.run_ui(egui::RawInput::default(), |ui| {
                shown = names.iter().filter(|name| thumbnails.image(ui.ctx(), name, 90.0).is_some()).count();
            });
        }
        assert_eq!(shown, names.len());
        assert!(thumbnails.image(&ctx, "no scene", 90.0).is_none() && decoded(b"no picture").is_none());
    }
}
