//! The panel at the right: the values of what is selected, and how the computation does.

use std::collections::VecDeque;

use egui::{
    Align, CornerRadius, CursorIcon, Frame, Label, Layout, Margin, Panel, Rect, RichText, Role, ScrollArea, Sense, Stroke, Ui, WidgetInfo,
    pos2, vec2,
};

use super::forces::forces_ui;
use super::properties::{pending_ui, properties_ui};
use super::{UiContext, UiResponse, UiState, health, icon, theme};
use crate::app::advice::{Advice, Facts, advice};
use crate::app::document::Document;
use crate::app::engine::{SceneInfo, View};
use crate::app::format;
use crate::app::judge::{self, Judgement};
use crate::app::worker::Activity;
use crate::step::StepReport;

pub fn inspector_ui(root: &mut Ui, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    let palette = theme::palette(root.ctx());
    let width = if root.available_width() < 1000.0 { 250.0 } else { 268.0 };
    let frame = Frame::new().fill(palette.panel).inner_margin(Margin { left: 14, right: 6, top: 8, bottom: 8 });
    Panel::right("inspector").frame(frame).exact_size(width).resizable(false).show(root, |ui| {
        ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            Frame::new().inner_margin(Margin { left: 0, right: 8, top: 0, bottom: 0 }).show(ui, |ui| {
                let snapshot = context.snapshot;
                let Some(scene) = &snapshot.scene else {
                    no_scene_ui(ui, context);
                    return;
                };
                if state.selection.items().is_empty() {
                    let told = match state.tree_open {
                        Some(false) => "Click a body to see and change its values. L shows the list of all that is in the scene.",
                        _ => "Click a body, or an entry of the list at the left, to see and change its values.",
                    };
                    ui.label(RichText::new(told).size(12.0).color(palette.weak));
                    ui.add_space(4.0);
                    if context.document.is_some_and(Document::is_pending) {
                        pending_ui(ui, answers);
                    }
                } else {
                    properties_ui(ui, state, context, answers);
                    line_ui(ui);
                }
                if let Some(view) = &snapshot.view {
                    section_ui(ui, "Run", true, |ui| run_ui(ui, context, view));
                }
                if let Some(report) = &snapshot.report {
                    section_ui(ui, "Contact", true, |ui| contact_ui(ui, state, context, scene, report, answers));
                    section_ui(ui, "What costs time", true, |ui| cost_ui(ui, context, scene, report));
                    section_ui(ui, "Solver", false, |ui| solver_ui(ui, scene, report));
                }
                section_ui(ui, "Elements", true, |ui| elements_ui(ui, scene, snapshot.view.as_deref()));
            });
        });
    });
}

/// What a panel says where there is nothing to show yet.
pub fn no_scene_ui(ui: &mut Ui, context: &UiContext) {
    match &context.snapshot.activity {
        Activity::Building { name, .. } => ui.add(Label::new(RichText::new(format!("Opening {name} …")).weak()).wrap()),
        _ => ui.weak("No scene is open."),
    };
}

fn section_ui(ui: &mut Ui, title: &str, open_at_first: bool, contents: impl FnOnce(&mut Ui)) {
    let id = ui.make_persistent_id(("section", title));
    let mut open = ui.data_mut(|data| *data.get_temp_mut_or(id, open_at_first));
    let palette = theme::palette(ui.ctx());
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 24.0), Sense::click());
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, open, title));
    let color = if response.hovered() { palette.text } else { palette.weak };
    let caret = if open { icon::CARET_DOWN } else { icon::CARET_RIGHT };
    let painter = ui.painter();
    painter.text(rect.left_center(), egui::Align2::LEFT_CENTER, title, theme::strong(12.5), palette.text);
    painter.text(rect.right_center(), egui::Align2::RIGHT_CENTER, caret, theme::icon_font(12.0), color);
    if response.on_hover_cursor(CursorIcon::PointingHand).clicked() {
        open = !open;
        ui.data_mut(|data| data.insert_temp(id, open));
    }
    if open {
        contents(ui);
    }
    line_ui(ui);
}

/// The line below a section.
fn line_ui(ui: &mut Ui) {
    let palette = theme::palette(ui.ctx());
    ui.add_space(6.0);
    let line = Stroke::new(1.0, palette.border);
    ui.painter().hline(ui.max_rect().x_range(), ui.cursor().top(), line);
    ui.add_space(4.0);
}

/// A number of the panel.
struct Number<'a> {
    name: &'a str,
    value: String,
    /// What it is, as a sentence.
    meaning: &'a str,
    judged: Option<Judgement>,
}

/// A name and its value in steady figures.
fn row_ui(ui: &mut Ui, name: &str, value: impl Into<String>, meaning: &str) {
    number_ui(ui, &Number { name, value: value.into(), meaning, judged: None });
}

/// The same with a dot that is green, yellow or red.
fn judged_ui(ui: &mut Ui, name: &str, value: impl Into<String>, meaning: &str, judged: Judgement) {
    number_ui(ui, &Number { name, value: value.into(), meaning, judged: Some(judged) });
}

fn number_ui(ui: &mut Ui, number: &Number) {
    let palette = theme::palette(ui.ctx());
    let shown = ui.horizontal(|ui| {
        ui.set_height(17.0);
        ui.label(RichText::new(number.name).size(12.5).color(palette.weak));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            if let Some(judged) = &number.judged {
                let (dot, _) = ui.allocate_exact_size(vec2(8.0, 8.0), Sense::hover());
                ui.painter().circle_filled(dot.center(), 3.5, health::color(palette, judged.verdict));
            }
            ui.add(Label::new(RichText::new(&number.value).font(theme::figures(12.0))).truncate());
        });
    });
    let judged = number.judged.as_ref().map_or_else(String::new, |judged| format!("\n{}", judged.sentence()));
    shown.response.interact(Sense::hover()).on_hover_text(format!("{}{judged}", number.meaning));
}

fn run_ui(ui: &mut Ui, context: &UiContext, view: &View) {
    let snapshot = context.snapshot;
    row_ui(ui, "Step", format::count(view.step as usize), "Steps that were computed since the start.");
    row_ui(ui, "Simulated time", format!("{:.3} s", view.time), "The time that has passed in the simulation.");
    let meaning = "Simulated over wall time in the last second.";
    match snapshot.real_time_factor {
        Some(factor) => judged_ui(ui, "Real-time factor", format::factor(factor), meaning, judge::real_time(factor)),
        None => row_ui(ui, "Real-time factor", "paused", meaning),
    }
    if let Some(last) = snapshot.step_ms.back() {
        row_ui(ui, "Step takes", format::milliseconds(f64::from(*last)), "Wall time of the last step.");
        history_ui(ui, &snapshot.step_ms);
    }
}

/// Wall time of the last steps as a filled line.
fn history_ui(ui: &mut Ui, history: &VecDeque<f32>) {
    let palette = theme::palette(ui.ctx());
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 40.0), Sense::hover());
    ui.painter().rect_filled(rect, CornerRadius::same(6), palette.well);
    if history.len() < 2 {
        return;
    }
    let top = history.iter().copied().fold(0.0, f32::max).max(1e-3);
    let inner = rect.shrink2(vec2(2.0, 4.0));
    let point = |(k, ms): (usize, &f32)| {
        pos2(inner.left() + inner.width() * k as f32 / (history.len() - 1) as f32, inner.bottom() - inner.height() * ms / top)
    };
    let line: Vec<_> = history.iter().enumerate().map(point).collect();
    let mut fill = egui::Mesh::default();
    for p in &line {
        let n = fill.vertices.len() as u32;
        fill.colored_vertex(*p, palette.accent.gamma_multiply(0.28));
        fill.colored_vertex(pos2(p.x, inner.bottom()), palette.accent.gamma_multiply(0.04));
        if n > 0 {
            fill.add_triangle(n - 2, n - 1, n);
            fill.add_triangle(n, n - 1, n + 1);
        }
    }
    ui.painter().add(fill);
    ui.painter().line(line, Stroke::new(1.3, palette.accent));
    let longest = format::milliseconds(f64::from(top));
    response.on_hover_text(format!("Wall time of the last {} steps; the longest took {longest}", history.len()));
}

/// What takes most, what would help, and a bar a stage, as long as its share.
fn cost_ui(ui: &mut Ui, context: &UiContext, scene: &SceneInfo, report: &StepReport) {
    let palette = theme::palette(ui.ctx());
    let snapshot = context.snapshot;
    let stages = &snapshot.stages;
    let longest = stages.iter().map(|(_, ms)| *ms).fold(1e-9, f64::max);
    let last: Vec<f64> = snapshot.step_ms.iter().rev().take(STEPS_OF_ADVICE).map(|ms| f64::from(*ms)).collect();
    if let Some(values) = snapshot.view.as_ref().and_then(|view| view.values.as_ref())
        && !last.is_empty()
    {
        let step_ms = last.iter().sum::<f64>() / last.len() as f64;
        let facts = Facts { model: &scene.model, params: &values.params, report, stages, step_ms };
        let Advice { headline, hints } = advice(&facts);
        ui.add(Label::new(RichText::new(headline).size(12.0)).wrap());
        for hint in hints {
            ui.horizontal_top(|ui| {
                ui.spacing_mut().item_spacing.x = 5.0;
                ui.label(RichText::new("·").size(12.0).color(palette.weak));
                ui.add(Label::new(RichText::new(hint).size(12.0).color(palette.weak)).wrap());
            });
        }
        ui.add_space(4.0);
    }
    for (name, ms) in stages.iter() {
        row_ui(ui, &name.replace('_', " "), format::milliseconds(*ms), "Wall time of this part of a step, over some steps.");
        let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 3.0), Sense::hover());
        ui.painter().rect_filled(rect, CornerRadius::same(2), palette.well);
        let filled = Rect::from_min_size(rect.min, vec2(rect.width() * (ms / longest) as f32, rect.height()));
        ui.painter().rect_filled(filled, CornerRadius::same(2), palette.accent);
    }
    row_ui(ui, "total", format::milliseconds(stages.iter().map(|(_, ms)| ms).sum()), "All parts together.");
}

/// The mean of so many steps is what advice follows from.
const STEPS_OF_ADVICE: usize = 20;

fn solver_ui(ui: &mut Ui, scene: &SceneInfo, report: &StepReport) {
    let is_solved = report.converged && report.limited.is_none();
    let iterations = format::count(report.iterations as usize);
    let meaning = "Steps of the inner solvers in the last step: many are a hard step.";
    judged_ui(ui, "Iterations", iterations, meaning, judge::iterations(report.iterations, is_solved));
    row_ui(ui, "Passes", report.passes.to_string(), "How often the motion was corrected for the contact forces.");
    row_ui(ui, "Method", report.choice.method.name().to_owned(), "How contact forces are solved for.");
    ui.label(egui::RichText::new(report.choice.reason).small().weak());
    let meaning = "How often contacts were found anew within the step, as bodies had moved on.";
    row_ui(ui, "Contacts renewed", report.relinearisations.to_string(), meaning);
    let meaning = "What the step leaves unsolved, as a part of what drives it.";
    judged_ui(ui, "Residual", format!("{:.1e}", report.residual), meaning, judge::step(report));
    if report.newton_iterations > 0 {
        row_ui(ui, "Newton iterations", report.newton_iterations.to_string(), "How often the step was linearised anew.");
        let meaning = "What is left of the non-linear equation, as a part of what drives the step.";
        row_ui(ui, "Newton residual", format!("{:.1e}", report.newton_residual), meaning);
    }
    if report.energy_halvings > 0 {
        let meaning = "How often the motion of a body was halved, as it would have gained energy.";
        row_ui(ui, "Energy halvings", report.energy_halvings.to_string(), meaning);
    }
    let palette = theme::palette(ui.ctx());
    for fault in step_faults(scene, report) {
        ui.horizontal_wrapped(|ui| {
            ui.label(theme::icon(icon::WARNING, 14.0).color(palette.error));
            ui.label(RichText::new(fault).size(12.0).color(palette.error));
        });
    }
}

/// What was wrong with a step, a sentence each.
fn step_faults(scene: &SceneInfo, report: &StepReport) -> Vec<String> {
    let limited = match report.limited {
        Some(0) => Some("The last step was too hard for its time: it is not solved to the end".into()),
        Some(n) => Some(format!("The last step was too hard for its time: {} points were limited", format::count(n as usize))),
        None => (!report.converged).then(|| "The last step did not converge".to_owned()),
    };
    let waited =
        (report.waited > 0.0).then(|| "Driven bodies waited in the last step: they would have run over what could not give way".to_owned());
    let hanging = report.hanging.iter().map(|body| format!("\"{}\" stands still though nothing holds it", scene.model.body_name(*body)));
    limited.into_iter().chain(waited).chain(hanging).collect()
}

fn contact_ui(ui: &mut Ui, state: &mut UiState, context: &UiContext, scene: &SceneInfo, report: &StepReport, answers: &mut UiResponse) {
    let contact = &report.contact;
    if contact.contacts == 0 {
        ui.label(RichText::new("No contacts").size(12.5).color(theme::palette(ui.ctx()).weak));
        return;
    }
    row_ui(ui, "Candidates", format::count(contact.contacts as usize), "Pairs of features that are near enough to touch in the last step.");
    row_ui(ui, "Contacts", format::count(contact.active as usize), "Those among them that carry a force.");
    if contact.active == 0 {
        return;
    }
    row_ui(ui, "Push", format::force(contact.normal_force_total), "Sum of the normal forces of all contacts.");
    row_ui(ui, "Friction", format::force(contact.friction_force_total), "Sum of the friction forces of all contacts.");
    let tolerance = context.snapshot.view.as_ref().and_then(|view| view.values.as_ref()).map(|values| values.params.contact_tolerance);
    let errors = [
        ("Largest gap", contact.max_gap_of_active, "The largest distance between surfaces that push each other."),
        ("Complementarity", contact.max_complementarity_error, "How far contacts are from either touching or carrying no force."),
    ];
    for (name, error, meaning) in errors {
        match tolerance {
            Some(tolerance) => judged_ui(ui, name, format::length(error), meaning, judge::within_tolerance(error, tolerance)),
            None => row_ui(ui, name, format::length(error), meaning),
        }
    }
    forces_ui(ui, state, &scene.model, &contact.pairs, answers);
}

fn elements_ui(ui: &mut Ui, scene: &SceneInfo, view: Option<&View>) {
    let model = &scene.model;
    row_ui(ui, "Tetrahedra", format::count(model.tets.len()), "Elements of all deformable bodies.");
    row_ui(ui, "Nodes", format::count(model.n_nodes()), "Points that move: each is three unknowns.");
    row_ui(ui, "Surface triangles", format::count(model.surface.triangles.len()), "Triangles that are drawn.");
    row_ui(ui, "Surface vertices", format::count(model.n_vertices()), "Points that are drawn.");
    if model.body_with_own_collision().is_some() {
        row_ui(ui, "Collision vertices", format::count(model.collision.n_vertices()), "Points that may touch.");
    }
    let free = model.rigid_bodies.iter().filter(|body| body.is_free()).count();
    if free > 0 {
        row_ui(ui, "Rigid bodies", format::count(free), "Bodies that move but keep their shape.");
    }
    if !model.rigid_bodies.is_empty() {
        row_ui(
            ui,
            "Rigid triangles",
            format::count(model.rigid_bodies.iter().map(|body| body.triangles.len()).sum()),
            "Triangles of bodies that keep their shape.",
        );
    }
    row_ui(ui, "Built in", format::milliseconds(scene.build_ms), "Wall time from the scene file to the first step.");
    if let Some(backend) = view.and_then(|view| view.backend.as_ref()) {
        row_ui(ui, "Solver", backend.solver.to_owned(), "What computes the steps.");
    }
}
