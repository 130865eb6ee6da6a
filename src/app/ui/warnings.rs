//! Warnings: a badge in the bottom line until they are read, and the list of them over the view.

use egui::{Align2, Area, Button, Id, Label, Order, Rect, RichText, ScrollArea, Ui, vec2};

use super::access::Meaning;
use super::{Action, TimeAction, UiContext, UiResponse, UiState, icon, theme};
use crate::sim::warnings::Warning;

/// The badge; none where there is nothing to warn of.
pub fn badge_ui(ui: &mut Ui, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    let warnings = &context.snapshot.warnings;
    let n = warnings.list().len();
    if n == 0 {
        return;
    }
    let is_new = warnings.news > state.warnings_read;
    let color = if is_new { palette.on_accent } else { palette.weak };
    let words = if n == 1 { "1 warning".to_owned() } else { format!("{n} warnings") };
    let content = (theme::icon(icon::WARNING, 13.0).color(color), RichText::new(words).size(11.5).color(color));
    let mut badge = Button::new(content).small().frame_when_inactive(is_new);
    if is_new {
        badge = badge.fill(palette.fair);
    }
    let hint = if is_new { "There is something to know of the simulation; click to read it" } else { "Read the warnings again" };
    if answers.named("warnings.badge", ui.add(badge).on_hover_text(hint)).clicked() {
        state.warnings_open = !state.warnings_open;
    }
    // What lies open is read.
    if state.warnings_open {
        state.warnings_read = warnings.news;
    }
}

/// The badge over the view, where the bottom line is hidden.
pub fn lone_badge_ui(root: &Ui, view: Rect, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    if state.panels_visible || context.snapshot.warnings.list().is_empty() {
        return;
    }
    let area = Area::new(Id::unique("badge")).order(Order::Middle).fixed_pos(view.right_bottom() - vec2(12.0, 12.0));
    area.pivot(Align2::RIGHT_BOTTOM).show(root.ctx(), |ui| badge_ui(ui, state, context, answers));
}

/// The list, at the lower left of the view.
pub fn warnings_ui(root: &Ui, view: Rect, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    let warnings = context.snapshot.warnings.list();
    if !state.warnings_open || warnings.is_empty() {
        return;
    }
    let area = Area::new(Id::unique("warnings")).order(Order::Foreground).fixed_pos(view.left_bottom() + vec2(12.0, -10.0));
    area.pivot(Align2::LEFT_BOTTOM).show(root.ctx(), |ui| {
        theme::card(root).show(ui, |ui| {
            ui.set_width((view.width() - 60.0).clamp(160.0, 430.0));
            // The card grows upwards, and is not as high as what is below its first line.
            ui.set_max_height((view.height() - 40.0).max(120.0));
            ui.horizontal(|ui| {
                ui.label(RichText::new("Warnings").font(theme::strong(13.5)));
                ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                    let close = Button::new(theme::icon(icon::X, 12.0)).frame_when_inactive(false);
                    if answers.named("warnings.close", ui.add(close).meaning("Close the list")).clicked() {
                        state.warnings_open = false;
                    }
                });
            });
            ScrollArea::vertical().max_height((view.height() - 120.0).max(80.0)).show(ui, |ui| {
                warnings.iter().enumerate().for_each(|(place, warning)| warning_ui(ui, place, warning, context, answers));
            });
        });
    });
}

fn warning_ui(ui: &mut Ui, place: usize, warning: &Warning, context: &UiContext, answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    ui.add_space(4.0);
    ui.horizontal_top(|ui| {
        ui.label(theme::icon(icon::WARNING, 15.0).color(palette.fair));
        ui.vertical(|ui| {
            ui.add(Label::new(theme::prose(&warning.text, 12.5, Some(palette.text))).wrap());
            ui.horizontal(|ui| {
                ui.label(RichText::new(warning.when()).size(11.5).color(palette.weak));
                let Some([_, last]) = warning.between.filter(|_| context.timeline.is_some()) else { return };
                let show = Button::new(RichText::new("Show the last one").size(11.5)).small();
                let hint = "Looks at that step in the recorded past";
                if answers.named(format!("warnings.show.{place}"), ui.add(show).on_hover_text(hint)).clicked() {
                    answers.act(Action::Time(TimeAction::Scrub(last)));
                }
            });
        });
    });
}
