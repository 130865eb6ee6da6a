//! Four hints for whoever starts the program for the first time. What is done by itself need not be told.

use egui::{Align, Align2, Area, Button, Id, Layout, Order, Rect, RichText, Ui, vec2};

use super::access::Meaning;
use super::{UiResponse, UiState, icon, theme};

/// Something that is worth knowing, in the order in which it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    Pull,
    Turn,
    Select,
    GoBack,
}

impl Hint {
    const ALL: [(Self, &'static str, &'static str); 4] = [
        (Self::Pull, "Pull a body", "Press the left button on it, and drag. The force stands beside the mouse."),
        (Self::Turn, "Turn the view", "Drag beside the bodies; the wheel zooms. The Home key leads back."),
        (
            Self::Select,
            "Change what you see",
            "Click a body, or a material in the list: its values are at the right. Many can be turned while it runs.",
        ),
        (Self::GoBack, "Go back in time", "Drag along the strip below. \"Continue from here\" begins another way."),
    ];
}

/// The hints that are still to be told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    left: Vec<Hint>,
}

impl Hints {
    pub fn all() -> Self {
        Self { left: Hint::ALL.map(|(hint, ..)| hint).to_vec() }
    }

    /// Somebody has done it.
    pub fn did(&mut self, hint: Hint) {
        self.left.retain(|left| *left != hint);
    }

    pub fn are_over(&self) -> bool {
        self.left.is_empty()
    }
}

pub fn hints_ui(root: &Ui, free: Rect, state: &mut UiState, answers: &mut UiResponse) {
    let Some(first) = state.hints.left.first().copied() else { return };
    let Some((_, title, text)) = Hint::ALL.into_iter().find(|(hint, ..)| *hint == first) else { return };
    // Above the transport bar, and the meaning of colours.
    let at = free.right_bottom() - vec2(12.0, 76.0 + answers.corner);
    Area::new(Id::unique("hint")).order(Order::Middle).fixed_pos(at).pivot(Align2::RIGHT_BOTTOM).show(root.ctx(), |ui| {
        let palette = theme::palette(ui.ctx());
        theme::card(root).show(ui, |ui| {
            ui.set_width((free.width() - 60.0).min(280.0));
            ui.horizontal(|ui| {
                ui.label(theme::icon(icon::LIGHTBULB, 17.0).color(palette.accent));
                ui.label(RichText::new(title).font(theme::strong(13.5)));
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    let close = Button::new(theme::icon(icon::X, 12.0)).frame_when_inactive(false);
                    if answers.named("hint.close", ui.add(close).meaning("No more hints")).clicked() {
                        state.hints = Hints::default();
                    }
                });
            });
            ui.label(RichText::new(text).size(12.5).color(palette.weak));
            ui.horizontal(|ui| {
                // Those that were done by themselves count as told.
                let told = format!("{} of {}", Hint::ALL.len() + 1 - state.hints.left.len(), Hint::ALL.len());
                ui.label(RichText::new(told).font(theme::figures(11.0)).color(palette.weak));
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    let word = if state.hints.left.len() > 1 { "Next" } else { "Done" };
                    let next = ui.small_button(word).on_hover_text(if word == "Next" { "The next hint" } else { "No more hints" });
                    if answers.named("hint.next", next).clicked() {
                        state.hints.did(first);
                    }
                });
            });
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_not_told() {
        let mut hints = Hints::all();
        hints.did(Hint::Turn);
        hints.did(Hint::Turn);
        assert_eq!(hints.left, [Hint::Pull, Hint::Select, Hint::GoBack]);
        for hint in [Hint::Pull, Hint::Select, Hint::GoBack] {
            assert!(!hints.are_over());
            hints.did(hint);
        }
        assert!(hints.are_over() && Hints::default().are_over());
    }
}
