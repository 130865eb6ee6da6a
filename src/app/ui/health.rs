//! Good, fair and bad as colours.

use egui::Color32;

use super::theme::Palette;
use crate::app::judge::Verdict;

pub fn color(palette: &Palette, verdict: Verdict) -> Color32 {
    match verdict {
        Verdict::Good => palette.accent,
        Verdict::Fair => palette.fair,
        Verdict::Bad => palette.error,
    }
}
