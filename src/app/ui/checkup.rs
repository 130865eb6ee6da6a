//! The doctor's report of mesh files with faults, over the view at the upper left.

use egui::{Area, Button, Color32, Id, Label, Order, Rect, RichText, ScrollArea, Sense, Ui, vec2};

use super::access::Meaning;
use super::{Action, UiContext, UiResponse, UiState, icon, theme};
use crate::app::faults::{COLORS, Checkup};
use crate::app::format;
use crate::render::Rgb;

const WIDTH: f32 = 340.0;

pub fn checkups_ui(root: &Ui, view: Rect, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    let Some(scene) =
        context.snapshot.scene.as_ref().filter(|scene| state.checkups && scene.import.is_none() && !scene.checkups.is_empty())
    else {
        return;
    };
    // Clear of the sign of a recording, and of the bar at the bottom.
    let top = if context.recording.is_some() { 66.0 } else { 14.0 };
    let width = (view.width() - 28.0).min(WIDTH);
    let height = (view.height() - top - 150.0).max(80.0);
    let area = Area::new(Id::unique("checkups")).order(Order::Middle).fixed_pos(view.left_top() + vec2(14.0, top));
    area.show(root.ctx(), |ui| {
        theme::card(root).show(ui, |ui| {
            ui.set_width(width - 28.0);
            header_ui(ui, state, answers);
            ScrollArea::vertical().max_height(height).show(ui, |ui| {
                for (i, checkup) in scene.checkups.iter().enumerate() {
                    if i > 0 {
                        ui.separator();
                    }
                    checkup_ui(ui, i, checkup, answers);
                }
                for note in &scene.notes {
                    line_ui(ui, icon::INFO, theme::palette(ui.ctx()).weak, note);
                }
            });
        });
    });
}

fn header_ui(ui: &mut Ui, state: &mut UiState, answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    ui.horizontal(|ui| {
        ui.label(theme::icon(icon::STETHOSCOPE, 17.0).color(palette.accent));
        ui.label(RichText::new("Mesh check").font(theme::strong(14.0)));
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            let close = Button::new(theme::icon(icon::X, 13.0)).frame_when_inactive(false);
            if answers.named("checkups.close", ui.add(close).meaning("Close; View, Faults of the mesh, brings it back")).clicked() {
                state.checkups = false;
            }
        });
    });
}

fn checkup_ui(ui: &mut Ui, place: usize, checkup: &Checkup, answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    let report = &checkup.report;
    let cells = if report.kind == "tets" { "tets" } else { "triangles" };
    let counts = format!("{} vertices · {} {cells}", format::count(report.vertices), format::count(report.cells));
    ui.add(Label::new(RichText::new(&checkup.file).font(theme::strong(13.0))).truncate());
    ui.label(RichText::new(counts).font(theme::figures(11.5)).color(palette.weak));
    ui.add_space(4.0);
    match &checkup.refusal {
        Some(refusal) => line_ui(ui, icon::X_CIRCLE, palette.error, refusal),
        None => {
            let (glyph, color) = if report.is_sound { (icon::CHECK_CIRCLE, palette.accent) } else { (icon::WARNING, palette.fair) };
            line_ui(ui, glyph, color, &report.verdict);
        }
    }
    ui.add_space(4.0);
    findings_ui(ui, place, checkup, answers);
    for note in &report.notes {
        line_ui(ui, icon::INFO, palette.weak, note);
    }
}

/// The findings of a file; `place`: of its checkup among those of the scene.
pub fn findings_ui(ui: &mut Ui, place: usize, checkup: &Checkup, answers: &mut UiResponse) {
    for (k, finding) in checkup.report.findings.iter().enumerate() {
        let color = if finding.left > 0 { &COLORS.left } else { &COLORS.mended };
        let row = ui.horizontal(|ui| {
            let (rect, _) = ui.allocate_exact_size(vec2(18.0, 18.0), Sense::hover());
            ui.painter().circle_filled(rect.center(), 4.5, Color32::from_black_alpha(120));
            ui.painter().circle_filled(rect.center(), 3.5, painted(color));
            let words = Button::new(RichText::new(&finding.sentence).size(12.5)).frame_when_inactive(false).truncate();
            ui.add(words)
        });
        let told = format!("{}\n\nA click flies there.", finding.sentence);
        if answers.named(format!("finding.{place}.{k}"), row.inner.on_hover_text(told)).clicked() {
            answers.act(Action::LookAtFault { checkup: place, finding: k });
        }
    }
}

pub fn line_ui(ui: &mut Ui, glyph: &str, color: Color32, text: &str) {
    ui.horizontal_top(|ui| {
        ui.add_sized(vec2(18.0, 18.0), Label::new(theme::icon(glyph, 15.0).color(color)));
        ui.add(Label::new(theme::prose(text, 12.5, None)).wrap().selectable(true));
    });
}

/// One line, with all that it is short for under the mouse.
pub fn short_line_ui(ui: &mut Ui, glyph: &str, color: Color32, text: &str, whole: &str) {
    ui.horizontal(|ui| {
        ui.add_sized(vec2(18.0, 18.0), Label::new(theme::icon(glyph, 15.0).color(color)));
        let line = Label::new(RichText::new(text).size(12.5)).truncate().show_tooltip_when_elided(false);
        ui.add(line).on_hover_text(whole);
    });
}

pub fn painted(color: &Rgb) -> Color32 {
    let [r, g, b] = color.0.map(|c| (c * 255.0).round() as u8);
    Color32::from_rgb(r, g, b)
}
