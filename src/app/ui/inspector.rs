//! The panel at the right: the values of what is selected, and how the computation does.

use std::collections::VecDeque;

use egui::{
    Align, CornerRadius, CursorIcon, Frame, Label, Layout, Margin, Panel, Rect, RichText, ScrollArea, Sense, Stroke, Ui, pos2, vec2,
};

use super::properties::{pending_ui, properties_ui};
use super::{UiContext, UiResponse, UiState, icon, theme};
use crate::app::document::Document;
use crate::app::engine::{SceneInfo, View};
use crate::app::format;
use crate::contact::ContactReport;
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
                    ui.weak("No scene is open.");
                    return;
                };
                if state.selection.items().is_empty() {
                    let told = "Click a body, or an entry of the list at the left, to see and change its values.";
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
                    section_ui(ui, "Run", |ui| run_ui(ui, context, view));
                }
                if let Some(report) = &snapshot.report {
                    section_ui(ui, "Stages", |ui| stages_ui(ui, &snapshot.stages));
                    section_ui(ui, "Solver", |ui| solver_ui(ui, scene, report));
                    section_ui(ui, "Contact", |ui| contact_ui(ui, &report.contact));
                }
                section_ui(ui, "Elements", |ui| elements_ui(ui, scene, snapshot.view.as_deref()));
            });
        });
    });
}

fn section_ui(ui: &mut Ui, title: &str, contents: impl FnOnce(&mut Ui)) {
    let id = ui.make_persistent_id(("section", title));
    let mut open = ui.data_mut(|data| *data.get_temp_mut_or(id, true));
    let palette = theme::palette(ui.ctx());
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 24.0), Sense::click());
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

/// A name and its value in steady figures.
fn row_ui(ui: &mut Ui, name: &str, value: impl Into<String>) {
    let palette = theme::palette(ui.ctx());
    ui.horizontal(|ui| {
        ui.set_height(17.0);
        ui.label(RichText::new(name).size(12.5).color(palette.weak));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.add(Label::new(RichText::new(value).font(theme::figures(12.0))).truncate());
        });
    });
}

fn run_ui(ui: &mut Ui, context: &UiContext, view: &View) {
    let snapshot = context.snapshot;
    row_ui(ui, "Step", format::count(view.step as usize));
    row_ui(ui, "Simulated time", format!("{:.3} s", view.time));
    row_ui(ui, "Real-time factor", snapshot.real_time_factor.map_or_else(|| "—".to_owned(), format::factor));
    if let Some(last) = snapshot.step_ms.back() {
        row_ui(ui, "Step takes", format::milliseconds(f64::from(*last)));
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

/// A bar a stage, as long as its share.
fn stages_ui(ui: &mut Ui, stages: &[(&'static str, f64)]) {
    let palette = theme::palette(ui.ctx());
    let total: f64 = stages.iter().map(|(_, ms)| ms).sum();
    let longest = stages.iter().map(|(_, ms)| *ms).fold(1e-9, f64::max);
    for (name, ms) in stages {
        row_ui(ui, &name.replace('_', " "), format::milliseconds(*ms));
        let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), 3.0), Sense::hover());
        ui.painter().rect_filled(rect, CornerRadius::same(2), palette.well);
        let filled = Rect::from_min_size(rect.min, vec2(rect.width() * (ms / longest) as f32, rect.height()));
        ui.painter().rect_filled(filled, CornerRadius::same(2), palette.accent);
    }
    row_ui(ui, "total", format::milliseconds(total));
}

fn solver_ui(ui: &mut Ui, scene: &SceneInfo, report: &StepReport) {
    row_ui(ui, "Iterations", format::count(report.iterations as usize));
    row_ui(ui, "Passes", report.passes.to_string());
    row_ui(ui, "Method", report.choice.method.name().to_owned());
    ui.label(egui::RichText::new(report.choice.reason).small().weak());
    row_ui(ui, "Relinearisations", report.relinearisations.to_string());
    row_ui(ui, "Residual", format!("{:.1e}", report.residual));
    if report.newton_iterations > 0 {
        row_ui(ui, "Newton iterations", report.newton_iterations.to_string());
        row_ui(ui, "Newton residual", format!("{:.1e}", report.newton_residual));
    }
    if report.energy_halvings > 0 {
        row_ui(ui, "Energy halvings", report.energy_halvings.to_string());
    }
    let palette = theme::palette(ui.ctx());
    let faults = step_faults(scene, report);
    for fault in faults {
        ui.horizontal_wrapped(|ui| {
            ui.label(theme::icon(icon::WARNING, 14.0).color(palette.error));
            ui.label(RichText::new(fault).size(12.0).color(palette.error));
        });
    }
}

/// What was wrong with a step, a sentence each.
pub fn step_faults(scene: &SceneInfo, report: &StepReport) -> Vec<String> {
    let limited = match report.limited {
        Some(n) => Some(format!("The last step was too hard for its time: {} points were limited", format::count(n as usize))),
        None => (!report.converged).then(|| "The last step did not converge".to_owned()),
    };
    let waited =
        (report.waited > 0.0).then(|| "Driven bodies waited in the last step: they would have run over what could not give way".to_owned());
    let hanging = report.hanging.iter().map(|body| format!("\"{}\" stands still though nothing holds it", scene.model.body_name(*body)));
    limited.into_iter().chain(waited).chain(hanging).collect()
}

fn contact_ui(ui: &mut Ui, contact: &ContactReport) {
    row_ui(ui, "Contacts", format::count(contact.contacts as usize));
    row_ui(ui, "Active", format::count(contact.active as usize));
    row_ui(ui, "Normal force", format::force(contact.normal_force_total));
    row_ui(ui, "Friction force", format::force(contact.friction_force_total));
    row_ui(ui, "Largest gap", format::length(contact.max_gap_of_active));
    row_ui(ui, "Complementarity", format::length(contact.max_complementarity_error));
}

fn elements_ui(ui: &mut Ui, scene: &SceneInfo, view: Option<&View>) {
    let model = &scene.model;
    row_ui(ui, "Tetrahedra", format::count(model.tets.len()));
    row_ui(ui, "Nodes", format::count(model.n_nodes()));
    row_ui(ui, "Surface triangles", format::count(model.surface.triangles.len()));
    row_ui(ui, "Surface vertices", format::count(model.n_vertices()));
    if model.body_with_own_collision().is_some() {
        row_ui(ui, "Collision vertices", format::count(model.collision.n_vertices()));
    }
    let free = model.rigid_bodies.iter().filter(|body| body.is_free()).count();
    if free > 0 {
        row_ui(ui, "Rigid bodies", format::count(free));
    }
    if !model.rigid_bodies.is_empty() {
        row_ui(ui, "Rigid triangles", format::count(model.rigid_bodies.iter().map(|body| body.triangles.len()).sum()));
    }
    row_ui(ui, "Built in", format::milliseconds(scene.build_ms));
    if let Some(backend) = view.and_then(|view| view.backend.as_ref()) {
        row_ui(ui, "Solver", backend.solver.to_owned());
    }
}
