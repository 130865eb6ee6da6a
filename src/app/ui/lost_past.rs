//! The question before a start anew that ends a recorded past, which neither undo nor playing the scene brings back.

use egui::{Button, RichText, Ui, vec2};

use super::sheet::sheet_ui;
use super::{Action, Answer, UiResponse, UiState, theme};
use crate::app::history::Rebuild;

/// A start anew that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct LostPast {
    /// What would be lost, such as "12.3 s and 2 branches".
    pub lost: String,
    pub rebuild: Rebuild,
}

pub fn lost_past_ui(root: &Ui, state: &mut UiState, answers: &mut UiResponse) {
    let Some(LostPast { lost, .. }) = &state.lost_past else { return };
    let mut answer = None;
    let mut is_last = !state.asks_past;
    let closed = sheet_ui(root, "lost_past", 440.0, |ui| {
        let palette = theme::palette(ui.ctx());
        ui.label(RichText::new("Start anew?").font(theme::strong(18.0)));
        ui.add_space(4.0);
        let told = format!(
            "With this change the scene starts anew, and its recorded past of {lost} ends. Undo brings the scene back, not the past. \
             A session file repeats the run as it is now."
        );
        ui.label(RichText::new(told).color(palette.weak));
        ui.add_space(10.0);
        let again =
            ui.checkbox(&mut is_last, "Do not ask again").on_hover_text("View > Ask before a past ends turns the question on again");
        answers.named("lost_past.quiet", again);
        ui.add_space(10.0);
        ui.horizontal(|ui| {
            let main = Button::new(RichText::new("Start anew").color(palette.on_accent)).fill(palette.accent);
            for (name, button, told, gives) in [
                ("go_on", main, "The recorded past is given up", Answer::Discard),
                ("save", Button::new("Save the session first"), "Writes all that was done into a file, then starts anew", Answer::Save),
                ("cancel", Button::new("Cancel"), "Nothing is changed  (Esc)", Answer::Cancel),
            ] {
                if answers.named(format!("lost_past.{name}"), ui.add(button.min_size(vec2(96.0, 28.0))).on_hover_text(told)).clicked() {
                    answer = Some(gives);
                }
            }
        });
        false
    });
    state.asks_past = !is_last;
    if let Some(answer) = answer.or(closed.then_some(Answer::Cancel)) {
        answers.act(Action::LostPast(answer));
    }
}
