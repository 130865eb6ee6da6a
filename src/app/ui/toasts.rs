//! Messages at the upper right: one line, the rest on demand; they go away by themselves.

use std::path::Path;
use std::time::{Duration, Instant};

use egui::{Align2, Area, Button, Id, Label, Order, Rect, Ui};

use super::access::Meaning;
use super::{Action, UiResponse, icon, theme};
use crate::app::worker::{Notice, Severity};

pub struct Toast {
    notice: Notice,
    shown: Instant,
    /// All of it is shown.
    open: bool,
    id: u64,
}

const INFO_SECONDS: f32 = 8.0;
/// Bad news stays longer.
const ERROR_SECONDS: f32 = 25.0;
const MAX_TOASTS: usize = 4;
const WIDTH: f32 = 400.0;
/// Letters that have room in the line.
const LINE: usize = 56;

pub fn add_toast(toasts: &mut Vec<Toast>, notice: Notice) {
    // The same failure at each step is one message.
    toasts.retain(|toast| toast.notice != notice);
    let id = toasts.iter().map(|toast| toast.id).max().unwrap_or(0) + 1;
    toasts.push(Toast { notice, shown: Instant::now(), open: false, id });
    if toasts.len() > MAX_TOASTS {
        toasts.remove(0);
    }
}

/// The line that says what a message is about: its first line or sentence, as much of it as has room. The file that it
/// is about is named without its folder where there is no room for that.
fn title(text: &str, file: Option<&Path>) -> String {
    let without_folder = |file: &Path| {
        let name = file.file_name()?.to_string_lossy();
        Some(text.replace(&*file.to_string_lossy(), &name))
    };
    let is_long = text.lines().next().is_some_and(|line| line.chars().count() > LINE);
    let short = file.filter(|_| is_long).and_then(without_folder);
    let text = short.as_deref().unwrap_or(text);
    let line = text.lines().next().unwrap_or_default();
    let end = [". ", "; ", ": "].iter().filter_map(|mark| line.find(mark)).min().unwrap_or(line.len());
    let sentence = if line[..end].chars().count() < 12 { line } else { &line[..end] };
    if sentence.chars().count() <= LINE {
        return sentence.to_owned();
    }
    let cut: String = sentence.chars().take(LINE).collect();
    format!("{}…", cut.rsplit_once(' ').map_or(cut.as_str(), |(whole, _)| whole))
}

pub fn toasts_ui(root: &Ui, view: Rect, toasts: &mut Vec<Toast>, answers: &mut UiResponse) {
    let palette = theme::palette(root.ctx());
    let prose = |text: &str| theme::prose(text, 13.0, Some(palette.text));
    let seconds = |toast: &Toast| if toast.notice.severity == Severity::Error { ERROR_SECONDS } else { INFO_SECONDS };
    toasts.retain(|toast| toast.open || toast.shown.elapsed().as_secs_f32() < seconds(toast));
    if !toasts.is_empty() {
        root.ctx().request_repaint_after(Duration::from_millis(500));
    }
    let mut top = view.top() + 14.0;
    let mut dismissed = None;
    for toast in toasts.iter_mut().rev() {
        let width = (view.width() - 28.0).min(WIDTH);
        let at = egui::pos2(view.right() - 14.0, top);
        let area = Area::new(Id::unique(("toast", toast.id))).order(Order::Foreground).fixed_pos(at).pivot(Align2::RIGHT_TOP);
        let shown = area.show(root.ctx(), |ui| {
            let (glyph, color) = match toast.notice.severity {
                Severity::Info => (icon::CHECK_CIRCLE, palette.accent),
                Severity::Error => (icon::WARNING_CIRCLE, palette.error),
            };
            let text = toast.notice.text.clone();
            let title = title(&text, toast.notice.file.as_deref());
            theme::card(root).show(ui, |ui| {
                ui.set_width(width - 28.0);
                ui.horizontal_top(|ui| {
                    ui.label(theme::icon(glyph, 18.0).color(color));
                    ui.vertical(|ui| {
                        ui.set_width(width - 28.0 - 58.0);
                        if toast.open {
                            ui.add(Label::new(prose(&text)).wrap().selectable(true));
                        } else {
                            ui.add(Label::new(prose(&title)).truncate().selectable(true)).on_hover_text(prose(&text));
                        }
                        if title != text || toast.notice.file.is_some() {
                            ui.horizontal(|ui| buttons_ui(ui, toast, title != text, answers));
                        }
                    });
                    let close = Button::new(theme::icon(icon::X, 13.0)).frame_when_inactive(false);
                    if answers.named("toast.close", ui.add(close).meaning("Close")).clicked() {
                        dismissed = Some(toast.id);
                    }
                });
            });
        });
        // What is read stays.
        if shown.response.contains_pointer() {
            toast.shown = Instant::now();
        }
        top = shown.response.rect.bottom() + 10.0;
    }
    toasts.retain(|toast| Some(toast.id) != dismissed);
}

fn buttons_ui(ui: &mut Ui, toast: &mut Toast, has_more: bool, answers: &mut UiResponse) {
    if has_more {
        let word = if toast.open { "Less" } else { "Details" };
        let told = if toast.open { "One line again" } else { "All of the message" };
        if answers.named("toast.details", ui.small_button(word).on_hover_text(told)).clicked() {
            toast.open = !toast.open;
            toast.shown = Instant::now();
        }
    }
    if toast.open
        && answers.named("toast.copy", ui.small_button("Copy").on_hover_text("All of the message, to paste it elsewhere")).clicked()
    {
        ui.ctx().copy_text(toast.notice.text.clone());
    }
    if let Some(file) = &toast.notice.file
        && answers.named("toast.folder", ui.small_button("Show in folder").on_hover_text("Opens the folder with the file")).clicked()
    {
        answers.act(Action::ShowInFolder(file.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_one_line_and_keeps_its_words_whole() {
        let line_of = |text: &str| title(text, None);
        assert_eq!(line_of("The scene was saved"), "The scene was saved");
        assert_eq!(line_of("cannot read a.toml: no such file or folder; give another"), "cannot read a.toml");
        assert_eq!(line_of("a.obj: it has no triangles"), "a.obj: it has no triangles", "a name alone says nothing");
        assert_eq!(line_of("first line\nsecond line"), "first line");
        let long = line_of(&"word ".repeat(40));
        assert!(long.chars().count() <= LINE + 1 && long.ends_with("word…"), "{long}");
        assert_eq!(line_of(""), "");

        // Of a file the name is what is looked for.
        let file = Path::new("a folder/with. a long name/another folder/of pictures and films/pliant-screenshot-1.png");
        let told = format!("The screenshot is in {}", file.display());
        assert_eq!(title(&told, Some(file)), "The screenshot is in pliant-screenshot-1.png");
        assert_eq!(title("Saved a.toml", Some(Path::new("a.toml"))), "Saved a.toml");
    }

    #[test]
    fn the_same_message_is_shown_once_and_not_too_many() {
        let mut toasts = vec![];
        for text in ["a", "b", "a", "c", "d", "e"] {
            add_toast(&mut toasts, Notice { severity: Severity::Error, text: text.into(), file: None, scene: None });
        }
        let texts: Vec<&str> = toasts.iter().map(|toast| toast.notice.text.as_str()).collect();
        assert_eq!(texts, ["a", "c", "d", "e"]);
    }
}
