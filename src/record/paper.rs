//! Plots as pixels: the marks of `verify::plot`, filled and stroked on the processor, so that they need no adapter.

use ab_glyph::{Font, FontRef, PxScale, ScaleFont};
use tiny_skia::{Color, FillRule, LineCap, LineJoin, Paint, PathBuilder, Pixmap, PremultipliedColorU8, Stroke, StrokeDash, Transform};

use crate::render::Image;
use crate::verify::plot::{Anchor, LETTERS, Mark, Tone};

const FONT: &[u8] = include_bytes!("../../assets/fonts/Inter-Regular.ttf");
const STRONG: &[u8] = include_bytes!("../../assets/fonts/Inter-SemiBold.ttf");

pub const INK: [u8; 3] = [33, 38, 46];
pub const GREEN: [u8; 3] = [14, 138, 116];
pub const RED: [u8; 3] = [190, 58, 40];
/// Measured curves, in turn.
const CURVES: [[u8; 3]; 6] = [GREEN, [201, 118, 16], [38, 110, 190], [160, 62, 140], [110, 122, 20], [90, 80, 170]];

/// The colour on white of what is marked.
pub fn color(tone: Tone) -> [u8; 3] {
    match tone {
        Tone::Grid => [228, 231, 236],
        Tone::Frame => [136, 146, 160],
        Tone::Label => [84, 94, 108],
        Tone::Expected => INK,
        Tone::Limit => RED,
        Tone::Measured(k) => CURVES[k % CURVES.len()],
    }
}

/// White paper, in units of which each has some pixels.
pub struct Paper {
    pixmap: Option<Pixmap>,
    scale: f32,
}

/// A line of bold words.
#[derive(Clone, Copy)]
pub struct Title<'a> {
    pub text: &'a str,
    /// The words' middle is at this height.
    pub at: [f32; 2],
    pub anchor: Anchor,
    pub size: f32,
    pub ink: [u8; 3],
}

impl Paper {
    /// Of some width and height.
    pub fn new(size: [f32; 2], scale: f32) -> Self {
        let [width, height] = size.map(|side| (side * scale) as u32);
        let mut pixmap = Pixmap::new(width, height);
        if let Some(pixmap) = &mut pixmap {
            pixmap.fill(Color::WHITE);
        }
        Self { pixmap, scale }
    }

    /// The pixels; none of paper without an area.
    pub fn image(self) -> Image {
        let none = Image { width: 0, height: 0, pixels: vec![] };
        self.pixmap.map_or(none, |pixmap| Image { width: pixmap.width(), height: pixmap.height(), pixels: pixmap.data().to_vec() })
    }

    pub fn title(&mut self, title: &Title) {
        self.write(STRONG, title);
    }

    /// Draws a mark of a plot whose corner is at `origin`.
    pub fn draw(&mut self, mark: &Mark, origin: [f32; 2]) {
        let (scale, Some(pixmap)) = (self.scale, &mut self.pixmap) else { return };
        let place = Transform::from_row(scale, 0.0, 0.0, scale, origin[0] * scale, origin[1] * scale);
        let paint = |tone: Tone| {
            let [r, g, b] = color(tone);
            let mut paint = Paint { anti_alias: true, ..Paint::default() };
            paint.set_color_rgba8(r, g, b, 255);
            paint
        };
        match mark {
            Mark::Line { points, tone, width, dashed } => {
                let mut path = PathBuilder::new();
                for (k, [x, y]) in points.iter().enumerate() {
                    if k == 0 { path.move_to(*x, *y) } else { path.line_to(*x, *y) }
                }
                let dash = if *dashed { StrokeDash::new(vec![5.0, 4.0], 0.0) } else { None };
                let stroke = Stroke { width: *width, line_cap: LineCap::Butt, line_join: LineJoin::Round, dash, ..Stroke::default() };
                if let Some(path) = path.finish() {
                    pixmap.stroke_path(&path, &paint(*tone), &stroke, place, None);
                }
            }
            Mark::Dot { at, tone, radius } => {
                if let Some(path) = PathBuilder::from_circle(at[0], at[1], *radius) {
                    pixmap.fill_path(&path, &paint(*tone), FillRule::Winding, place, None);
                }
            }
            Mark::Text { at, anchor, text, tone } => {
                let at = [at[0] + origin[0], at[1] + origin[1]];
                self.write(FONT, &Title { text, at, anchor: *anchor, size: LETTERS, ink: color(*tone) });
            }
        }
    }

    fn write(&mut self, font: &[u8], title: &Title) {
        let (page_scale, Some(pixmap)) = (self.scale, &mut self.pixmap) else { return };
        // Our own fonts can be read; without them a picture would have no words.
        let Ok(font) = FontRef::try_from_slice(font) else { return };
        let scale = PxScale::from(1.2 * title.size * page_scale);
        let scaled = font.as_scaled(scale);
        let ids: Vec<_> = title.text.chars().map(|letter| scaled.glyph_id(letter)).collect();
        let length: f32 = ids.iter().map(|id| scaled.h_advance(*id)).sum();
        let start = match title.anchor {
            Anchor::Left => 0.0,
            Anchor::Center => 0.5 * length,
            Anchor::Right => length,
        };
        let mut x = title.at[0] * page_scale - start;
        let baseline = title.at[1] * page_scale + 0.5 * (scaled.ascent() + scaled.descent());
        for id in ids {
            if let Some(outline) = font.outline_glyph(id.with_scale_and_position(scale, ab_glyph::point(x, baseline))) {
                let corner = outline.px_bounds().min;
                let place = |dx: u32, dy: u32| [corner.x as i64 + i64::from(dx), corner.y as i64 + i64::from(dy)];
                outline.draw(|dx, dy, cover| blend(pixmap, place(dx, dy), cover, title.ink));
            }
            x += scaled.h_advance(id);
        }
    }
}

/// Ink over an opaque pixel.
fn blend(pixmap: &mut Pixmap, [x, y]: [i64; 2], cover: f32, ink: [u8; 3]) {
    let (width, height) = (i64::from(pixmap.width()), i64::from(pixmap.height()));
    if !(0..width).contains(&x) || !(0..height).contains(&y) {
        return;
    }
    let pixel = &mut pixmap.pixels_mut()[(y * width + x) as usize];
    let before = [pixel.red(), pixel.green(), pixel.blue()];
    let mixed = |k: usize| (f32::from(before[k]) + (f32::from(ink[k]) - f32::from(before[k])) * cover.clamp(0.0, 1.0)).round() as u8;
    if let Some(after) = PremultipliedColorU8::from_rgba(mixed(0), mixed(1), mixed(2), 255) {
        *pixel = after;
    }
}
