//! A check's plot as pixels: the layout of `verify::plot`, filled and stroked on the processor, so that it needs no
//! adapter.

use ab_glyph::{Font, FontRef, PxScale, ScaleFont};
use tiny_skia::{Color, FillRule, LineCap, LineJoin, Paint, PathBuilder, Pixmap, PremultipliedColorU8, Stroke, StrokeDash, Transform};

use crate::render::Image;
use crate::verify::plot::{Anchor, LETTERS, Mark, Tone};
use crate::verify::{CheckReport, Verdict};

/// Width of the plot in its own units, its height without the legend, and pixels for one of these.
const WIDTH: f32 = 520.0;
const HEIGHT: f32 = 340.0;
const SCALE: f32 = 2.0;
/// Room for the title.
const TITLE: f32 = 34.0;

const FONT: &[u8] = include_bytes!("../../../assets/fonts/Inter-Regular.ttf");
const STRONG: &[u8] = include_bytes!("../../../assets/fonts/Inter-SemiBold.ttf");

const INK: [u8; 3] = [33, 38, 46];
const GREEN: [u8; 3] = [14, 138, 116];
const RED: [u8; 3] = [190, 58, 40];
/// Measured curves, in turn.
const CURVES: [[u8; 3]; 6] = [GREEN, [201, 118, 16], [38, 110, 190], [160, 62, 140], [110, 122, 20], [90, 80, 170]];

fn color(tone: Tone) -> [u8; 3] {
    match tone {
        Tone::Grid => [228, 231, 236],
        Tone::Frame => [136, 146, 160],
        Tone::Label => [84, 94, 108],
        Tone::Expected => INK,
        Tone::Limit => RED,
        Tone::Measured(k) => CURVES[k % CURVES.len()],
    }
}

/// The plot of a check on white, under its title and verdict.
pub fn picture(check: &CheckReport) -> Image {
    let size = [WIDTH, check.plot.height(HEIGHT)];
    let [width, height] = [size[0] * SCALE, (size[1] + TITLE) * SCALE].map(|side| side as u32);
    let Some(mut paper) = Pixmap::new(width, height) else { return Image { width: 0, height: 0, pixels: vec![] } };
    paper.fill(Color::WHITE);
    let (verdict, ink) = match check.verdict {
        Verdict::Passed => ("passed", GREEN),
        Verdict::Failed => ("failed", RED),
        Verdict::NotRun => ("not run", color(Tone::Label)),
    };
    write(&mut paper, STRONG, check.title, [16.0, 0.5 * TITLE + 2.0], Anchor::Left, 15.0, INK);
    write(&mut paper, STRONG, verdict, [WIDTH - 12.0, 0.5 * TITLE + 2.0], Anchor::Right, 13.0, ink);
    for mark in check.plot.marks(size) {
        draw(&mut paper, &mark);
    }
    Image { width, height, pixels: paper.data().to_vec() }
}

fn draw(paper: &mut Pixmap, mark: &Mark) {
    let place = Transform::from_row(SCALE, 0.0, 0.0, SCALE, 0.0, TITLE * SCALE);
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
                paper.stroke_path(&path, &paint(*tone), &stroke, place, None);
            }
        }
        Mark::Dot { at, tone, radius } => {
            if let Some(path) = PathBuilder::from_circle(at[0], at[1], *radius) {
                paper.fill_path(&path, &paint(*tone), FillRule::Winding, place, None);
            }
        }
        Mark::Text { at, anchor, text, tone } => write(paper, FONT, text, [at[0], at[1] + TITLE], *anchor, LETTERS, color(*tone)),
    }
}

/// A line of text, its middle at the height of `at`.
fn write(paper: &mut Pixmap, font: &[u8], text: &str, at: [f32; 2], anchor: Anchor, size: f32, ink: [u8; 3]) {
    // Our own fonts can be read; without them a picture would have no words.
    let Ok(font) = FontRef::try_from_slice(font) else { return };
    let scale = PxScale::from(1.2 * size * SCALE);
    let scaled = font.as_scaled(scale);
    let ids: Vec<_> = text.chars().map(|letter| scaled.glyph_id(letter)).collect();
    let length: f32 = ids.iter().map(|id| scaled.h_advance(*id)).sum();
    let start = match anchor {
        Anchor::Left => 0.0,
        Anchor::Center => 0.5 * length,
        Anchor::Right => length,
    };
    let mut x = at[0] * SCALE - start;
    let baseline = at[1] * SCALE + 0.5 * (scaled.ascent() + scaled.descent());
    for id in ids {
        if let Some(outline) = font.outline_glyph(id.with_scale_and_position(scale, ab_glyph::point(x, baseline))) {
            let corner = outline.px_bounds().min;
            outline.draw(|dx, dy, cover| blend(paper, [corner.x as i64 + i64::from(dx), corner.y as i64 + i64::from(dy)], cover, ink));
        }
        x += scaled.h_advance(id);
    }
}

/// Ink over an opaque pixel.
fn blend(paper: &mut Pixmap, [x, y]: [i64; 2], cover: f32, ink: [u8; 3]) {
    let (width, height) = (i64::from(paper.width()), i64::from(paper.height()));
    if !(0..width).contains(&x) || !(0..height).contains(&y) {
        return;
    }
    let pixel = &mut paper.pixels_mut()[(y * width + x) as usize];
    let before = [pixel.red(), pixel.green(), pixel.blue()];
    let mixed = |k: usize| (f32::from(before[k]) + (f32::from(ink[k]) - f32::from(before[k])) * cover.clamp(0.0, 1.0)).round() as u8;
    if let Some(after) = PremultipliedColorU8::from_rgba(mixed(0), mixed(1), mixed(2), 255) {
        *pixel = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::plot::{Axis, Plot, Style};
    use crate::verify::{CHECKS, Measure, Outcome};

    #[test]
    fn a_picture_shows_its_curves_and_words() {
        let shown = |plot: Plot| {
            let outcome = Outcome { measures: vec![Measure::error("error", 0.0, 1.0, "")], plot };
            picture(&CheckReport::new(&CHECKS[0], Ok(outcome), 0.0))
        };
        let plot =
            Plot::new(Axis::linear("time", "s"), Axis::linear("height", "m")).with(Style::Expected, "expected", [[0.0, 0.0], [1.0, 1.0]]);
        let with = shown(plot.clone().with(Style::Points, "measured", [[0.25, 0.25], [0.75, 0.75]]));
        let count = |image: &Image, ink: [u8; 3]| image.pixels.chunks(4).filter(|p| p[..3] == ink).count();
        assert_eq!((with.width, with.height), (1040, 780));
        // The verdict is green in both; dots only in one.
        assert!(count(&with, GREEN) > count(&shown(plot), GREEN) + 100);
        assert!(count(&with, INK) > 400, "the expected line and the title: {}", count(&with, INK));
        assert!(count(&with, [255; 3]) > 500_000);
    }
}
