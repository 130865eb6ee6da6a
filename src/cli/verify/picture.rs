//! A check's plot as pixels, under its title and verdict.

use crate::record::{GREEN, INK, Paper, RED, Title, color};
use crate::render::Image;
use crate::verify::plot::{Anchor, Tone};
use crate::verify::{CheckReport, Verdict};

/// Width of the plot in its own units, its height without the legend, and pixels for one of these.
const WIDTH: f32 = 520.0;
const HEIGHT: f32 = 340.0;
const SCALE: f32 = 2.0;
/// Room for the title.
const TITLE: f32 = 34.0;

/// The plot of a check on white.
pub fn picture(check: &CheckReport) -> Image {
    let size = [WIDTH, check.plot.height(HEIGHT)];
    let mut paper = Paper::new([size[0], size[1] + TITLE], SCALE);
    let (verdict, ink) = match check.verdict {
        Verdict::Passed => ("passed", GREEN),
        Verdict::Failed => ("failed", RED),
        Verdict::NotRun => ("not run", color(Tone::Label)),
    };
    let height = 0.5 * TITLE + 2.0;
    paper.title(&Title { text: check.title, at: [16.0, height], anchor: Anchor::Left, size: 15.0, ink: INK });
    paper.title(&Title { text: verdict, at: [WIDTH - 12.0, height], anchor: Anchor::Right, size: 13.0, ink });
    for mark in check.plot.marks(size) {
        paper.draw(&mark, [0.0, TITLE]);
    }
    paper.image()
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
            picture(&CheckReport::new(&CHECKS[0], "cpu", Ok(outcome), 0.0))
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
