//! The ruler and the probes over the view, and what to do with them.

use egui::{Align2, Color32, CornerRadius, FontId, Pos2, Rect, Stroke, StrokeKind, Ui, pos2, vec2};

use super::brush::{BrushMark, mark_ui};
use super::{UiResponse, theme};
use crate::app::format;
use crate::app::tools::Tool;

/// A line shorter than this has its length above both its ends, in points.
const SHORT: f32 = 120.0;

/// Points that were set by a click, in points of the window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolMarks {
    pub ruler: Vec<Pos2>,
    /// Between the ends of the ruler [m].
    pub length: Option<f64>,
    pub probes: Vec<(String, Pos2)>,
    pub brush: Option<BrushMark>,
}

pub fn tools_ui(root: &Ui, view: Rect, tool: Option<Tool>, marks: &ToolMarks, answers: &mut UiResponse) {
    let palette = theme::palette(root.ctx());
    let painter = root.painter().with_clip_rect(view);
    let shade = Color32::from_black_alpha(130);
    for (name, at) in &marks.probes {
        painter.circle(*at, 4.5, palette.fair, Stroke::new(1.5, shade));
        tag(root, view, *at + vec2(9.0, -9.0), name, Align2::LEFT_BOTTOM);
    }
    if let [from, to] = marks.ruler[..] {
        painter.line_segment([from, to], Stroke::new(4.0, shade));
        painter.line_segment([from, to], Stroke::new(2.0, palette.text));
        if let Some(length) = marks.length {
            tag(root, view, above(from, to), &format::length(length), Align2::CENTER_BOTTOM);
        }
    }
    for at in &marks.ruler {
        painter.circle(*at, 4.5, palette.text, Stroke::new(1.5, shade));
    }
    if let Some(brush) = &marks.brush {
        mark_ui(root, view, brush);
    }
    // The brush has a card of its own.
    if let Some(tool) = tool.filter(|tool| *tool != Tool::Brush) {
        let card = tag(root, view, answers.card_place(view), tool.hint(), Align2::CENTER_TOP);
        answers.add_card(card);
    }
}

/// The middle of the foot of what is said of a line: above its own middle, or above both ends where these are near.
fn above(from: Pos2, to: Pos2) -> Pos2 {
    let middle = from.lerp(to, 0.5);
    let top = if from.distance(to) < SHORT { from.y.min(to.y) } else { middle.y };
    pos2(middle.x, top - 9.0)
}

/// Words on a small card that stays within the view; where that is.
fn tag(root: &Ui, view: Rect, at: Pos2, words: &str, align: Align2) -> Rect {
    let palette = theme::palette(root.ctx());
    let painter = root.painter().with_clip_rect(view);
    let galley = painter.layout_no_wrap(words.to_owned(), FontId::proportional(12.5), palette.text);
    let card = align.anchor_size(at, galley.size() + vec2(16.0, 8.0));
    let free = view.shrink(6.0);
    let inside = vec2(
        (free.left() - card.left()).max(0.0) + (free.right() - card.right()).min(0.0),
        (free.top() - card.top()).max(0.0) + (free.bottom() - card.bottom()).min(0.0),
    );
    let card = card.translate(inside);
    let frame = Stroke::new(1.0, palette.border);
    painter.rect(card, CornerRadius::same(8), palette.card.gamma_multiply(0.94), frame, StrokeKind::Inside);
    painter.galley(card.min + vec2(8.0, 4.0), galley, palette.text);
    card
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_a_short_line_covers_none_of_its_ends() {
        let (from, to) = (pos2(100.0, 100.0), pos2(130.0, 120.0));
        assert_eq!(above(from, to), pos2(115.0, 91.0));
        assert_eq!(above(to, from), above(from, to));
        assert_eq!(above(from, pos2(100.0, 300.0)), pos2(100.0, 191.0), "a long one has it at its middle");
    }
}
