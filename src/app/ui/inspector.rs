//! The panel at the right: what is in the scene, how the computation does, and what can be turned.

use std::collections::VecDeque;

use egui::{
    Align, Color32, ComboBox, CornerRadius, CursorIcon, DragValue, Frame, Label, Layout, Margin, Panel, Rect, RichText, ScrollArea, Sense,
    Stroke, Ui, pos2, vec2,
};

use super::material::materials_ui;
use super::{Action, UiContext, UiResponse, icon, theme};
use crate::app::engine::{SceneInfo, View};
use crate::app::format;
use crate::body::{BodyRef, base_name};
use crate::contact::ContactReport;
use crate::geometry::Shape;
use crate::math::Vec3;
use crate::model::{Integration, Mobility, Model};
use crate::render::Rgb;
use crate::stage::{body_color, rigid_color};
use crate::step::StepReport;

pub fn inspector_ui(root: &mut Ui, context: &UiContext, answers: &mut UiResponse) {
    let palette = theme::palette(root.ctx());
    let width = if root.available_width() < 1150.0 { 218.0 } else { 268.0 };
    let frame = Frame::new().fill(palette.panel).inner_margin(Margin { left: 14, right: 6, top: 8, bottom: 8 });
    Panel::right("inspector").frame(frame).exact_size(width).resizable(false).show(root, |ui| {
        ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            Frame::new().inner_margin(Margin { left: 0, right: 8, top: 0, bottom: 0 }).show(ui, |ui| {
                let snapshot = context.snapshot;
                let Some(scene) = &snapshot.scene else {
                    ui.weak("No scene is open.");
                    return;
                };
                section_ui(ui, "Scene", |ui| scene_ui(ui, scene, snapshot.view.as_deref(), answers));
                if scene.model.bodies.iter().any(|body| !scene.model.damping_materials(body).is_empty()) {
                    section_ui(ui, "Damping", |ui| damping_ui(ui, &scene.model));
                }
                if let Some(view) = &snapshot.view {
                    section_ui(ui, "Run", |ui| run_ui(ui, context, view));
                    section_ui(ui, "Parameters", |ui| parameters_ui(ui, view, answers));
                    if !view.materials.is_empty() {
                        section_ui(ui, "Material", |ui| materials_ui(ui, &view.materials, answers));
                    }
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
    ui.add_space(6.0);
    let line = Stroke::new(1.0, palette.border);
    ui.painter().hline(ui.max_rect().x_range(), ui.cursor().top(), line);
    ui.add_space(4.0);
}

/// The damping ratios that bodies give their vibrations; copies of one body in one line.
fn damping_ui(ui: &mut Ui, model: &Model) {
    row_ui(ui, "Part of critical at", "1 / 10 / 100 Hz");
    let mut before = "";
    for body in &model.bodies {
        let name = base_name(&body.name);
        if std::mem::replace(&mut before, name) == name {
            continue;
        }
        for material in model.damping_materials(body) {
            let [a, b, c] = [1.0, 10.0, 100.0].map(|frequency| 100.0 * material.damping_ratio(frequency));
            row_ui(ui, name, format!("{a:.2} / {b:.1} / {c:.0} %"));
        }
    }
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

/// Scenes with more bodies than this list the copies of one body in one line.
const MOST_LINES: usize = 24;

fn scene_ui(ui: &mut Ui, scene: &SceneInfo, view: Option<&View>, answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    let model = &scene.model;
    let numbering = model.numbering();
    let n = numbering.n_with_unknowns();
    let name_of = |number: usize| model.body_name(numbering.body(number));
    let mut first = 0;
    while first < n {
        let of_all = base_name(name_of(first));
        let count = match n > MOST_LINES {
            true => (first..n).take_while(|number| base_name(name_of(*number)) == of_all).count(),
            false => 1,
        };
        let name = if count > 1 { of_all } else { name_of(first) };
        let (mark, mass, below) = body_line(model, view, numbering.body(first), palette.weak);
        let figure = match (mass, count) {
            (None, _) => String::new(),
            (Some(mass), 1) => format::mass(mass),
            (Some(mass), n) => format!("{n} × {}", format::mass(mass)),
        };
        let shown = entry_ui(ui, mark, name, &figure, &below).on_hover_text("Click to look at it");
        if answers.named(format!("body.{name}"), shown).clicked() {
            answers.act(Action::FrameBodies { first, count });
        }
        first += count;
    }
    for obstacle in &model.obstacles {
        let kind = match obstacle.shape {
            Shape::Plane => "plane",
            Shape::Box { .. } => "box",
            Shape::Sphere { .. } => "sphere",
            Shape::Cylinder { .. } => "cylinder",
        };
        let how = if obstacle.motion.is_some() { "driven" } else { "static" };
        entry_ui(ui, Mark::Icon(icon::CUBE, palette.weak), &obstacle.name, "", &format!("{how} {kind}"));
    }
}

/// The mark of a body that is a mesh, its mass [kg] if it has one, and a line that says what it is made of.
fn body_line(model: &Model, view: Option<&View>, body: BodyRef, weak: Color32) -> (Mark, Option<f64>, String) {
    let colored = |color: Rgb| {
        let [r, g, b] = color.0.map(|c| (c * 255.0).round() as u8);
        Mark::Color(Color32::from_rgb(r, g, b))
    };
    let place = body.index();
    if body.is_deformable() {
        let soft = &model.bodies[place];
        let below = format!("{} tets · {} nodes", format::count(soft.tets.len()), format::count(soft.nodes.len()));
        let mass = view.and_then(|view| view.masses.get(place)).unwrap_or(&soft.mass);
        return (colored(body_color(model, place)), Some(*mass), below);
    }
    let body = &model.rigid_bodies[place];
    let (mark, kind) = match body.mobility {
        Mobility::Free { .. } => (colored(rigid_color(model, place)), "rigid"),
        Mobility::Driven(Some(_)) => (Mark::Icon(icon::CUBE, weak), "driven"),
        Mobility::Driven(None) => (Mark::Icon(icon::CUBE, weak), "static"),
    };
    (mark, body.mass(), format!("{kind} · {} triangles", format::count(body.triangles.len())))
}

enum Mark {
    Color(Color32),
    Icon(&'static str, Color32),
}

/// A line of the list: a mark, a name, a figure at the right, and what else there is to say below.
fn entry_ui(ui: &mut Ui, mark: Mark, name: &str, figure: &str, below: &str) -> egui::Response {
    let palette = theme::palette(ui.ctx());
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 34.0), Sense::click());
    if response.hovered() {
        ui.painter().rect_filled(rect.expand2(vec2(5.0, 0.0)), CornerRadius::same(6), ui.visuals().widgets.inactive.bg_fill);
    }
    let at = rect.left_top() + vec2(7.0, 11.0);
    match mark {
        Mark::Color(color) => {
            ui.painter().circle_filled(at, 5.0, color);
        }
        Mark::Icon(glyph, color) => {
            ui.painter().text(at, egui::Align2::CENTER_CENTER, glyph, theme::icon_font(14.0), color);
        }
    }
    let figure = ui.painter().layout_no_wrap(figure.to_owned(), theme::figures(11.5), palette.text);
    let room = rect.width() - 20.0;
    let text = |y: f32, text: &str, size: f32, color: Color32, width: f32| {
        let mut job = egui::text::LayoutJob::simple_singleline(text.to_owned(), egui::FontId::proportional(size), color);
        job.wrap = egui::text::TextWrapping::truncate_at_width(width);
        let galley = ui.painter().layout_job(job);
        ui.painter().galley(rect.left_top() + vec2(20.0, y), galley, color);
    };
    text(3.0, name, 13.0, palette.text, room - figure.size().x - 6.0);
    text(18.5, below, 11.0, palette.weak, room);
    ui.painter().galley(rect.right_top() + vec2(-figure.size().x, 4.0), figure, palette.text);
    response
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

fn parameters_ui(ui: &mut Ui, view: &View, answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    let name = |ui: &mut Ui, text: &str| {
        ui.label(RichText::new(text).size(12.5).color(palette.weak));
    };
    ui.horizontal(|ui| {
        name(ui, "Gravity");
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            // Not -0.
            let mut g = 0.0 - view.params.gravity.y;
            let field =
                DragValue::new(&mut g).speed(0.05).range(-50.0..=50.0).clamp_existing_to_range(false).fixed_decimals(2).suffix(" m/s²");
            if answers.named("parameter.gravity", ui.add(field).on_hover_text("Downward; drag or type")).changed() {
                answers.act(Action::SetGravity(Vec3::new(view.params.gravity.x, -g, view.params.gravity.z)));
            }
        });
    });
    ui.horizontal(|ui| {
        name(ui, "Time step");
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let mut ms = view.params.time_step * 1e3;
            let field = DragValue::new(&mut ms).speed(0.05).range(0.05..=50.0).clamp_existing_to_range(false).max_decimals(3).suffix(" ms");
            if ui.add(field).on_hover_text("Simulated time of a step; drag or type").changed() {
                answers.act(Action::SetTimeStep(ms / 1e3));
            }
        });
    });
    ui.horizontal(|ui| {
        name(ui, "Integration");
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let offered = view.backend.as_ref().map_or(&[][..], |backend| &backend.integrations);
            let chosen = view.params.integration;
            let shown = ComboBox::from_id_salt("integration").selected_text(chosen.name()).show_ui(ui, |ui| {
                for (label, integration) in Integration::ALL.iter().filter(|(_, integration)| offered.contains(integration)) {
                    let choice = ui.selectable_label(*integration == chosen, *label);
                    if answers.named(format!("parameter.integration.{label}"), choice).clicked() {
                        answers.act(Action::SetIntegration(*integration));
                    }
                }
            });
            let told =
                "Backward Euler linearised once, or solved by Newton's method, or a method of second order; the CPU has the latter two";
            answers.named("parameter.integration", shown.response.on_hover_text(told));
        });
    });
    ui.horizontal(|ui| {
        name(ui, "Work of a step");
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let mut ms = view.params.max_step_ms;
            let field = DragValue::new(&mut ms).speed(1.0).range(0.0..=1e6).max_decimals(0).suffix(" ms");
            let told = "The most that a step may do, as time on one core; 0 for as much as it takes. What would cross then is limited";
            if answers.named("parameter.max_step_ms", ui.add(field).on_hover_text(told)).changed() {
                answers.act(Action::SetMaxStepMs(ms));
            }
        });
    });
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
    let hanging = report.hanging.iter().map(|body| format!("\"{}\" stands still though nothing holds it", scene.model.body_name(*body)));
    limited.into_iter().chain(hanging).collect()
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
