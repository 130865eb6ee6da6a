//! The offer to take up a session whose program ended unforeseen.

use egui::{Align2, Area, Button, Id, Order, Rect, RichText, Ui, vec2};

use super::{Action, UiResponse, UiState, icon, theme};
use crate::app::format;

pub fn left_behind_ui(root: &Ui, view: Rect, state: &UiState, answers: &mut UiResponse) {
    let Some(left) = &state.left_behind else { return };
    let area = Area::new(Id::unique("left behind")).order(Order::Foreground).fixed_pos(answers.card_place(view));
    let shown = area.pivot(Align2::CENTER_TOP).show(root.ctx(), |ui| {
        let palette = theme::palette(ui.ctx());
        theme::card(root).show(ui, |ui| {
            ui.set_max_width((view.width() - 60.0).min(430.0));
            ui.horizontal(|ui| {
                ui.label(theme::icon(icon::CLOCK_COUNTER_CLOCKWISE, 18.0).color(palette.accent));
                let scene = std::path::Path::new(&left.scene).file_name().unwrap_or(left.scene.as_ref()).to_string_lossy();
                ui.label(RichText::new(format!("The last session of {scene} ended unforeseen")).font(theme::strong(13.5)));
            });
            let steps = format::count(left.steps as usize);
            ui.label(
                RichText::new(format!("{steps} steps of it were saved. To continue it, they are computed again."))
                    .size(12.5)
                    .color(palette.weak),
            )
            .on_hover_text(left.path.display().to_string());
            ui.add_space(4.0);
            ui.horizontal(|ui| {
                let take_up = Button::new(RichText::new("Continue it").color(palette.on_accent)).fill(palette.accent);
                let take_up = ui.add(take_up.min_size(vec2(96.0, 26.0))).on_hover_text("Opens its scene and computes its steps again");
                if answers.named("left_behind.continue", take_up).clicked() {
                    answers.act(Action::LeftBehind(true));
                }
                let discard = ui.add(Button::new("Discard").min_size(vec2(80.0, 26.0))).on_hover_text("Deletes what was saved of it");
                if answers.named("left_behind.discard", discard).clicked() {
                    answers.act(Action::LeftBehind(false));
                }
            });
        });
    });
    answers.add_card(shown.response.rect);
}
