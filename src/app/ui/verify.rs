//! The list of checks, and one of them in full with its picture.

use std::time::Duration;

use egui::{
    Align, Align2, Button, Color32, CornerRadius, FontId, Id, Label, Layout, ProgressBar, Rect, RichText, Role, ScrollArea, Sense, Shape,
    Spinner, Stroke, Ui, WidgetInfo, pos2, vec2,
};

use super::access::Meaning;
use super::theme::Palette;
use super::{Action, CheckAction, UiContext, UiResponse, UiState, icon, theme};
use crate::app::verifier::Board;
use crate::verify::plot::{Anchor, LETTERS, Mark, Plot, Tone};
use crate::verify::{CHECKS, Check, CheckReport, Measure, Verdict, figure};

/// Of the whole, in points; less in a small window.
const SIZE: egui::Vec2 = vec2(1150.0, 620.0);
const ROW: f32 = 29.0;
/// Right ends of the columns of numbers from the right of the list, and their titles.
const COLUMNS: [(f32, &str); 3] = [(228.0, "expected"), (138.0, "measured"), (50.0, "tolerance")];

pub fn verify_ui(root: &Ui, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    let board = context.checks;
    if board.running.is_some() {
        root.ctx().request_repaint_after(Duration::from_millis(80));
    }
    if !state.verify_open {
        return;
    }
    let room = root.ctx().content_rect().size() - vec2(40.0, 40.0);
    let size = SIZE.min(room);
    let frame = theme::card(root).inner_margin(egui::Margin::same(18)).corner_radius(CornerRadius::same(16));
    let inner = size - vec2(38.0, 38.0);
    let window = egui::Window::new("Verify").id(Id::unique("verify")).title_bar(false).resizable(false).frame(frame);
    window.anchor(Align2::CENTER_CENTER, vec2(0.0, 8.0)).fixed_size(inner).show(root.ctx(), |ui| {
        // Otherwise the line at the top is as wide as what is below it.
        ui.set_width(inner.x);
        header_ui(ui, state, board, answers);
        ui.add_space(6.0);
        ui.horizontal_top(|ui| {
            let height = ui.available_height().min(inner.y - 64.0);
            let list = 0.55 * inner.x;
            ui.allocate_ui_with_layout(vec2(list, height), Layout::top_down(Align::Min), |ui| list_ui(ui, list, state, board, answers));
            ui.add_space(10.0);
            let rest = vec2(inner.x - list - 26.0, height);
            ui.allocate_ui_with_layout(rest, Layout::top_down(Align::Min), |ui| {
                ui.set_min_size(rest);
                let place = state.verify_selected.min(CHECKS.len() - 1);
                let check = &CHECKS[place];
                ScrollArea::vertical().id_salt(check.name).max_height(height).show(ui, |ui| {
                    ui.set_width(rest.x - 8.0);
                    check_ui(ui, place, check, board, answers);
                });
            });
        });
    });
}

/// Title, how it went, and what can be done.
fn header_ui(ui: &mut Ui, state: &mut UiState, board: &Board, answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    ui.horizontal(|ui| {
        ui.set_height(30.0);
        ui.label(theme::icon(icon::SEAL_CHECK, 22.0).color(palette.accent));
        ui.label(RichText::new("Verify").font(theme::strong(18.0)));
        ui.add_space(6.0);
        match (&board.running, &board.error, &board.report) {
            (Some((place, _)), ..) => {
                let seconds = board.since.map_or(0, |since| since.elapsed().as_secs());
                ui.add(ProgressBar::new(board.done as f32).desired_width(150.0).desired_height(8.0).fill(palette.accent));
                ui.label(RichText::new(format!("{}, {seconds} s", CHECKS[*place].title)).size(13.0).color(palette.weak));
            }
            (None, Some(error), _) => {
                ui.add(Label::new(theme::prose(error, 13.0, Some(palette.error))).truncate());
            }
            (None, None, Some(report)) => {
                let color = if report.failed > 0 { palette.error } else { palette.text };
                let text = format!("{}, on the {}", report.verdict(), report.adapter.as_deref().unwrap_or("CPU"));
                ui.add(Label::new(RichText::new(text).size(13.0).color(color)).truncate());
            }
            (None, None, None) => {
                ui.label(RichText::new("Known answers, measured on this machine").size(13.0).color(palette.weak));
            }
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let close = Button::new(theme::icon(icon::X, 15.0)).frame_when_inactive(false);
            if answers.named("verify.close", ui.add(close).meaning("Close; a run goes on")).clicked() {
                state.verify_open = false;
            }
            let ended = board.report.is_some() && board.running.is_none();
            let save = ui.add_enabled(ended, Button::new("Save report")).on_hover_text("As text and as JSON with all curves");
            if answers.named("verify.save", save).clicked() {
                answers.act(Action::Checks(CheckAction::SaveReport));
            }
            let copy = ui.add_enabled(ended, Button::new("Copy report")).on_hover_text("The text, to paste into a bug report");
            if answers.named("verify.copy", copy).clicked()
                && let Some(report) = &board.report
            {
                ui.ctx().copy_text(report.text());
            }
            if board.running.is_some() {
                let cancel = ui.button("Cancel").on_hover_text("Ends the check that runs; results so far stay");
                if answers.named("verify.cancel", cancel).clicked() {
                    answers.act(Action::Checks(CheckAction::Cancel));
                }
            } else {
                let all = Button::new(RichText::new("Run all").color(palette.on_accent)).fill(palette.accent);
                let all = ui.add(all).on_hover_text("Computes all of them beside the simulation");
                if answers.named("verify.run", all).clicked() {
                    answers.act(Action::Checks(CheckAction::Run(None)));
                }
            }
        });
    });
}

/// All checks, one a line, with the number that is nearest to its tolerance.
fn list_ui(ui: &mut Ui, width: f32, state: &mut UiState, board: &Board, answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    ui.spacing_mut().item_spacing.y = 0.0;
    let (head, _) = ui.allocate_exact_size(vec2(width, 22.0), Sense::hover());
    let small = FontId::proportional(11.5);
    ui.painter().text(head.left_center() + vec2(34.0, 0.0), Align2::LEFT_CENTER, "check", small.clone(), palette.weak);
    for (from_right, title) in COLUMNS {
        ui.painter().text(head.right_center() - vec2(from_right, 0.0), Align2::RIGHT_CENTER, title, small.clone(), palette.weak);
    }
    ScrollArea::vertical().id_salt("checks").max_height(ui.available_height()).show(ui, |ui| {
        for (place, check) in CHECKS.iter().enumerate() {
            let (rect, response) = ui.allocate_exact_size(vec2(width, ROW), Sense::click());
            let selected = place == state.verify_selected;
            response.widget_info(|| WidgetInfo::selected(Role::ListItem, true, selected, check.title));
            if selected || response.hovered() {
                let fill = if selected { palette.accent.gamma_multiply(0.16) } else { palette.border.gamma_multiply(0.5) };
                ui.painter().rect_filled(rect.shrink2(vec2(0.0, 1.0)), CornerRadius::same(7), fill);
            }
            let response = answers.named(format!("verify.{}", check.name), response);
            if response.clicked() {
                state.verify_selected = place;
            }
            row_ui(ui, rect, check, board.rows[place].as_ref(), board.running.filter(|(running, _)| *running == place).is_some());
        }
    });
}

fn row_ui(ui: &mut Ui, rect: Rect, check: &Check, report: Option<&CheckReport>, running: bool) {
    let palette = theme::palette(ui.ctx());
    let sign = Rect::from_center_size(rect.left_center() + vec2(18.0, 0.0), vec2(16.0, 16.0));
    if running {
        Spinner::new().color(palette.accent).paint_at(ui, sign);
    } else {
        let (glyph, color) = verdict(palette, report);
        ui.painter().text(sign.center(), Align2::CENTER_CENTER, glyph, theme::icon_font(17.0), color);
    }
    ui.painter().text(rect.left_center() + vec2(34.0, 0.0), Align2::LEFT_CENTER, check.title, FontId::proportional(13.5), palette.text);
    let Some(report) = report else { return };
    let Some(measure) = report.worst() else {
        let text = if report.verdict == Verdict::Failed { "fault" } else { "not run" };
        ui.painter().text(rect.right_center() - vec2(12.0, 0.0), Align2::RIGHT_CENTER, text, FontId::proportional(12.5), palette.weak);
        return;
    };
    let numbers = [figure(measure.expected), figure(measure.measured), format!("± {}", figure(measure.tolerance))];
    for ((from_right, _), (k, text)) in COLUMNS.into_iter().zip(numbers.into_iter().enumerate()) {
        let color = match k {
            1 if !measure.is_green() => palette.error,
            1 => palette.text,
            _ => palette.weak,
        };
        ui.painter().text(rect.right_center() - vec2(from_right, 0.0), Align2::RIGHT_CENTER, text, theme::figures(11.5), color);
    }
    ui.painter().text(rect.right_center() - vec2(42.0, 0.0), Align2::LEFT_CENTER, measure.unit, theme::figures(11.0), palette.weak);
}

fn verdict(palette: &Palette, report: Option<&CheckReport>) -> (&'static str, Color32) {
    match report.map(|report| report.verdict) {
        Some(Verdict::Passed) => (icon::CHECK_CIRCLE, palette.accent),
        Some(Verdict::Failed) => (icon::X_CIRCLE, palette.error),
        Some(Verdict::NotRun) => (icon::MINUS_CIRCLE, palette.weak),
        None => (icon::CIRCLE_DASHED, palette.weak),
    }
}

/// One check in full.
fn check_ui(ui: &mut Ui, place: usize, check: &Check, board: &Board, answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    let report = board.rows[place].as_ref();
    ui.horizontal(|ui| {
        let (glyph, color) = verdict(palette, report);
        ui.label(theme::icon(glyph, 18.0).color(color));
        ui.label(RichText::new(check.title).font(theme::strong(15.0)));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let again = ui.add_enabled(board.running.is_none(), Button::new(theme::icon(icon::PLAY, 13.0)).frame_when_inactive(false));
            if answers.named("verify.one", again.meaning("Run this check alone")).clicked() {
                answers.act(Action::Checks(CheckAction::Run(Some(place))));
            }
            if let Some(report) = report {
                ui.label(RichText::new(format!("{:.1} s", report.seconds)).font(theme::figures(11.5)).color(palette.weak));
            }
        });
    });
    ui.add(Label::new(RichText::new(check.meaning).size(13.0)).wrap());
    if let Some(report) = report {
        if let Some(reason) = &report.reason {
            ui.add(Label::new(theme::prose(reason, 12.5, Some(palette.error))).wrap().selectable(true));
        }
        if !report.plot.curves.is_empty() {
            ui.add_space(4.0);
            plot_ui(ui, &report.plot);
        }
        ui.add_space(4.0);
        report.measures.iter().for_each(|measure| measure_ui(ui, measure));
    }
    ui.add_space(6.0);
    for (title, text) in [("Experiment", check.setup), ("Expected from", check.source)] {
        ui.label(RichText::new(title).font(theme::strong(11.5)).color(palette.weak));
        ui.add(Label::new(RichText::new(text).size(12.0).color(palette.weak)).wrap());
        ui.add_space(2.0);
    }
}

fn measure_ui(ui: &mut Ui, measure: &Measure) {
    let palette = theme::palette(ui.ctx());
    let (glyph, color) = if measure.is_green() { (icon::CHECK_CIRCLE, palette.accent) } else { (icon::X_CIRCLE, palette.error) };
    ui.horizontal_top(|ui| {
        ui.label(theme::icon(glyph, 15.0).color(color));
        ui.vertical(|ui| {
            ui.spacing_mut().item_spacing.y = 1.0;
            let numbers =
                format!("{} of {} ± {} {}", figure(measure.measured), figure(measure.expected), figure(measure.tolerance), measure.unit);
            ui.add(Label::new(RichText::new(&measure.what).size(12.0)).wrap());
            ui.add(Label::new(RichText::new(numbers.trim_end()).font(theme::figures(11.5)).color(palette.weak)).selectable(true));
        });
    });
}

/// The picture of a check.
fn plot_ui(ui: &mut Ui, plot: &Plot) {
    let size = vec2(ui.available_width(), plot.height(214.0));
    let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
    let palette = theme::palette(ui.ctx());
    ui.painter().rect_filled(rect, CornerRadius::same(9), palette.well);
    let paper = rect.shrink2(vec2(6.0, 6.0));
    let painter = ui.painter().with_clip_rect(rect);
    let place = |[x, y]: [f32; 2]| pos2(paper.left() + x, paper.top() + y);
    let dark = ui.visuals().dark_mode;
    for mark in plot.marks([paper.width(), paper.height()]) {
        match mark {
            Mark::Line { points, tone, width, dashed } => {
                let (points, stroke): (Vec<_>, _) =
                    (points.into_iter().map(place).collect(), Stroke::new(width, color(palette, dark, tone)));
                if dashed {
                    painter.extend(Shape::dashed_line(&points, stroke, 5.0, 4.0));
                } else {
                    painter.line(points, stroke);
                }
            }
            Mark::Dot { at, tone, radius } => {
                painter.circle_filled(place(at), radius, color(palette, dark, tone));
            }
            Mark::Text { at, anchor, text, tone } => {
                let align = match anchor {
                    Anchor::Left => Align2::LEFT_CENTER,
                    Anchor::Center => Align2::CENTER_CENTER,
                    Anchor::Right => Align2::RIGHT_CENTER,
                };
                painter.text(place(at), align, text, FontId::proportional(LETTERS), color(palette, dark, tone));
            }
        }
    }
}

/// Measured curves, in turn: on dark, and on light.
const CURVES: [[[u8; 3]; 2]; 5] = [
    [[246, 178, 84], [201, 118, 16]],
    [[112, 176, 246], [38, 110, 190]],
    [[226, 132, 206], [160, 62, 140]],
    [[190, 206, 92], [110, 122, 20]],
    [[166, 156, 246], [90, 80, 170]],
];

fn color(palette: &Palette, dark: bool, tone: Tone) -> Color32 {
    match tone {
        Tone::Grid => palette.border.gamma_multiply(0.6),
        Tone::Frame => palette.weak,
        Tone::Label => palette.weak,
        Tone::Expected => palette.text,
        Tone::Limit => palette.error,
        Tone::Measured(0) => palette.accent,
        Tone::Measured(k) => {
            let [r, g, b] = CURVES[(k - 1) % CURVES.len()][usize::from(!dark)];
            Color32::from_rgb(r, g, b)
        }
    }
}
