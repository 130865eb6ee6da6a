//! Messages over the view at the upper right: a line each, and the rest behind "Details".

use std::time::{Duration, Instant};

use egui::{Align2, Area, Button, Id, Label, Order, Rect, RichText, ScrollArea, Ui};

use super::{Toast, UiResponse, icon, theme};
use crate::app::worker::{Notice, Severity};

/// How long messages stay by themselves, unless their details are open [s].
const INFO_SECONDS: u64 = 6;
const ERROR_SECONDS: u64 = 30;
const MAX_TOASTS: usize = 4;
/// Letters of a line that is not yet too long.
const LINE: usize = 150;

pub fn add_toast(toasts: &mut Vec<Toast>, notice: Notice) {
    // The same failure at each step is one message.
    toasts.retain(|toast| toast.notice != notice);
    let id = toasts.iter().map(|toast| toast.id).max().unwrap_or(0) + 1;
    toasts.push(Toast { notice, shown: Instant::now(), id, is_open: false });
    if toasts.len() > MAX_TOASTS {
        toasts.remove(0);
    }
}

/// What is said at once, and all of it if that is more.
fn parts(text: &str) -> (String, Option<&str>) {
    let line = text.lines().next().unwrap_or_default();
    let is_long = line.chars().count() > LINE;
    let rest = text[line.len()..].trim_start_matches('\n');
    match (is_long, rest) {
        (false, "") => (line.to_owned(), None),
        (false, rest) => (line.to_owned(), Some(rest)),
        (true, _) => {
            let words: String = line.chars().take(LINE).collect();
            let end = words.rfind(' ').unwrap_or(words.len());
            (format!("{} …", &words[..end]), Some(text))
        }
    }
}

pub fn toasts_ui(root: &Ui, view: Rect, toasts: &mut Vec<Toast>, answers: &mut UiResponse) {
    let stays = |toast: &Toast| {
        let seconds = if toast.notice.severity == Severity::Error { ERROR_SECONDS } else { INFO_SECONDS };
        toast.is_open || toast.shown.elapsed().as_secs() < seconds
    };
    toasts.retain(stays);
    if toasts.iter().any(|toast| !toast.is_open) {
        root.ctx().request_repaint_after(Duration::from_millis(500));
    }
    let mut top = view.top() + 14.0;
    let mut dismissed = None;
    for toast in toasts.iter_mut().rev() {
        let at = egui::pos2(view.right() - 14.0, top);
        let area = Area::new(Id::unique(("toast", toast.id))).order(Order::Foreground).fixed_pos(at).pivot(Align2::RIGHT_TOP);
        let room = view.width() - 28.0;
        let width = if toast.is_open { room.min(620.0) } else { room.min(400.0) };
        let shown = area.show(root.ctx(), |ui| theme::card(root).show(ui, |ui| toast_ui(ui, toast, width - 28.0, answers)).inner);
        if shown.inner {
            dismissed = Some(toast.id);
        }
        top = shown.response.rect.bottom() + 10.0;
    }
    toasts.retain(|toast| Some(toast.id) != dismissed);
}

/// One message; true when it shall go.
fn toast_ui(ui: &mut Ui, toast: &mut Toast, width: f32, answers: &mut UiResponse) -> bool {
    let palette = theme::palette(ui.ctx());
    let (glyph, color) = match toast.notice.severity {
        Severity::Info => (icon::CHECK_CIRCLE, palette.accent),
        Severity::Error => (icon::WARNING_CIRCLE, palette.error),
    };
    let (line, details) = parts(&toast.notice.text);
    let mut dismissed = false;
    ui.set_width(width);
    ui.horizontal_top(|ui| {
        ui.label(theme::icon(glyph, 18.0).color(color));
        ui.vertical(|ui| {
            ui.set_width(width - 58.0);
            ui.add(Label::new(RichText::new(line).size(13.0)).wrap().selectable(true));
            if details.is_some() {
                let words = if toast.is_open { "Less" } else { "Details" };
                if answers.named("toast.details", ui.small_button(words)).clicked() {
                    toast.is_open = !toast.is_open;
                }
            }
        });
        let close = Button::new(theme::icon(icon::X, 13.0)).frame_when_inactive(false);
        dismissed = answers.named("toast.close", ui.add(close).on_hover_text("Close")).clicked();
    });
    if let (true, Some(details)) = (toast.is_open, details) {
        ui.add_space(4.0);
        ScrollArea::both().max_height(260.0).show(ui, |ui| {
            ui.add(Label::new(RichText::new(details).font(theme::figures(11.5))).extend().selectable(true));
        });
        if answers.named("toast.copy", ui.small_button("Copy")).clicked() {
            ui.ctx().copy_text(toast.notice.text.clone());
        }
    }
    dismissed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_a_line_and_its_details() {
        assert_eq!(parts("It is done."), ("It is done.".to_owned(), None));
        assert_eq!(parts("Wrong.\n\n  at line 3\n"), ("Wrong.".to_owned(), Some("  at line 3\n")));
        let long = "word ".repeat(60);
        let (line, details) = parts(&long);
        assert!(line.ends_with("word …") && line.chars().count() <= LINE + 2 && details == Some(long.as_str()), "{line}");
    }
}
