//! The question what becomes of changes that are not saved.

use egui::{Button, RichText, Ui, vec2};

use super::sheet::sheet_ui;
use super::{Action, Answer, UiContext, UiResponse, UiState, theme};

/// What is done once the changes are saved or given up.
#[derive(Clone, Debug, PartialEq)]
pub enum After {
    Quit,
    Open(crate::app::SceneSource),
    /// Reads the scene again, as its file has changed on the disk if so.
    Reload {
        on_disk: bool,
    },
}

pub fn unsaved_ui(root: &Ui, state: &UiState, context: &UiContext, answers: &mut UiResponse) {
    let Some(after) = &state.unsaved else { return };
    let name = context.document.map_or_else(|| "scene".to_owned(), |document| document.scene().title().to_owned());
    let (title, told) = match after {
        After::Quit => (format!("Save the changes of {name}?"), "Pliant ends, and what is not saved is lost."),
        After::Open(_) => (format!("Save the changes of {name}?"), "Another scene takes its place, and what is not saved is lost."),
        After::Reload { on_disk: false } => (format!("Save the changes of {name}?"), "It is read again, and what is not saved is lost."),
        After::Reload { on_disk: true } => {
            (format!("Read {name} again?"), "Its file has changed on the disk. Read again, it loses the changes that were made here.")
        }
    };
    let is_on_disk = matches!(after, After::Reload { on_disk: true });
    let mut answer = None;
    let closed = sheet_ui(root, "unsaved", 420.0, |ui| {
        let palette = theme::palette(ui.ctx());
        ui.label(RichText::new(title).font(theme::strong(18.0)));
        ui.add_space(4.0);
        ui.label(RichText::new(told).color(palette.weak));
        ui.add_space(14.0);
        ui.horizontal(|ui| {
            let size = vec2(96.0, 28.0);
            let main = |word: &str| Button::new(RichText::new(word).color(palette.on_accent)).fill(palette.accent).min_size(size);
            let mut add = |ui: &mut Ui, word: &str, button: Button, told: &str, gives: Answer| {
                if answers.named(format!("unsaved.{word}"), ui.add(button).on_hover_text(told)).clicked() {
                    answer = Some(gives);
                }
            };
            match is_on_disk {
                true => add(ui, "discard", main("Read again"), "The scene as its file is now", Answer::Discard),
                false => {
                    add(ui, "save", main("Save"), "Writes the changes into the scene's file first", Answer::Save);
                    add(ui, "discard", Button::new("Discard").min_size(size), "The changes are lost", Answer::Discard);
                }
            }
            let (word, told) = if is_on_disk { ("Keep mine", "The file on the disk is left alone") } else { ("Cancel", "Nothing is done") };
            add(ui, "cancel", Button::new(word).min_size(size), told, Answer::Cancel);
        });
        false
    });
    if let Some(answer) = answer.or(closed.then_some(Answer::Cancel)) {
        answers.act(Action::Unsaved(answer));
    }
}
