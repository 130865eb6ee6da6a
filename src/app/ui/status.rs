//! The line at the bottom: what computes, and what can be done next.

use egui::{Align, Frame, Label, Layout, Margin, Panel, RichText, Ui};

use super::warnings::badge_ui;
use super::{UiContext, UiResponse, UiState, icon, theme};

pub fn status_ui(root: &mut Ui, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    let palette = theme::palette(root.ctx());
    let frame = Frame::new().fill(palette.panel).inner_margin(Margin::symmetric(12, 2));
    Panel::bottom("status").frame(frame).exact_size(24.0).show(root, |ui| {
        ui.horizontal_centered(|ui| {
            let small = |text: String| RichText::new(text).size(11.5).color(palette.weak);
            // Nothing came of a mesh that is refused.
            if let Some(ran) = context.snapshot.view.as_ref().and_then(|view| view.backend.as_ref()) {
                let (glyph, name) = match ran.backend {
                    "gpu" => (icon::GRAPHICS_CARD, "GPU"),
                    _ => (icon::CPU, "CPU"),
                };
                ui.label(theme::icon(glyph, 14.0).color(palette.accent));
                let adapter = ran.adapter.as_ref().map(|name| format!("{name}\n")).unwrap_or_default();
                ui.label(small(format!("Simulated on the {name}")))
                    .on_hover_text(format!("{adapter}Solver: {}. {}", ran.solver, ran.reason));
                ui.label(small("·".into()));
            }
            let short = context.adapter.split(" (").next().unwrap_or_default();
            ui.label(small(format!("drawn by {short}"))).on_hover_text(context.adapter);
            badge_ui(ui, state, context, answers);
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let hint = if !context.grabs.is_empty() {
                    "Release to let go   ·   Shift moves it nearer or away"
                } else {
                    "Drag a body to pull it   ·   drag beside it to turn   ·   ?  for all keys"
                };
                ui.add(Label::new(small(hint.into())).truncate());
            });
        });
    });
}
