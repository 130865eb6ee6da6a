//! Things that lie over the view: the force of a grab, progress, messages, sheets and dialogs.

use std::time::{Duration, Instant};

use egui::{
    Align2, Area, Button, Color32, CornerRadius, FontId, Id, Key, Margin, Modal, Order, Pos2, Rect, RichText, Spinner, Stroke, TextEdit,
    Ui, vec2,
};

use super::checkup::checkups_ui;
use super::gizmo::gizmo_ui;
use super::legend::coloring_ui;
use super::{Action, PathField, PathPurpose, Toast, UiContext, UiResponse, UiState, icon, theme};
use crate::app::worker::{Activity, Notice, Severity};
use crate::app::{contacts, format};

/// A grab as it is drawn, in points of the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GrabMark {
    pub point: Pos2,
    pub target: Pos2,
    /// [N]; None until the first step pulled.
    pub force: Option<f64>,
    /// Of what is held around the point, in points of the window; 0 for a point.
    pub radius: f32,
}

/// Meaning of the arrows of contacts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactLegend {
    /// Force of an arrow of `REFERENCE_LENGTH` [N]; 0 where there was no force yet.
    pub force: f64,
    /// Contacts that carry a force.
    pub count: usize,
}

/// Lines beside a point of the view.
#[derive(Clone, Debug, PartialEq)]
pub struct Tip {
    pub at: Pos2,
    pub lines: Vec<String>,
}

/// Good news goes away by itself.
const INFO_SECONDS: u64 = 6;
const MAX_TOASTS: usize = 4;

pub fn overlay_ui(root: &Ui, view: Rect, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    if let Some(gizmo) = context.gizmo {
        gizmo_ui(root, view, gizmo, answers);
    }
    for mark in context.grabs {
        grab_ui(root, view, mark);
    }
    if context.recorded_frames.is_some() {
        recording_ui(root, view, context);
    }
    if let Some(legend) = &context.contacts {
        legend_ui(root, view, legend, state.panels_visible);
    }
    if let Some(tip) = &context.tip {
        tip_ui(root, view, tip);
    }
    if let Some(coloring) = &context.coloring {
        coloring_ui(root, view, coloring, state, context, answers);
    }
    checkups_ui(root, view, state, context, answers);
    building_ui(root, view, context);
    toasts_ui(root, view, &mut state.toasts, answers);
    if !state.panels_visible {
        hidden_hint_ui(root, view);
    }
    if state.keys_open {
        keys_ui(root, state);
    }
    if state.about_open {
        about_ui(root, state, context);
    }
    if state.path_field.is_some() {
        path_ui(root, state, answers);
    }
}

/// The line from the held point to where it is pulled, and the force beside it.
fn grab_ui(root: &Ui, view: Rect, mark: &GrabMark) {
    let palette = theme::palette(root.ctx());
    let painter = root.painter().with_clip_rect(view);
    let shade = Color32::from_black_alpha(110);
    painter.line_segment([mark.point, mark.target], Stroke::new(4.0, shade));
    painter.line_segment([mark.point, mark.target], Stroke::new(2.0, palette.accent));
    if mark.radius > 0.0 {
        painter.circle_stroke(mark.point, mark.radius, Stroke::new(1.5, palette.accent.gamma_multiply(0.7)));
    }
    painter.circle(mark.point, 4.5, palette.accent, Stroke::new(1.5, shade));
    painter.circle(mark.target, 6.0, Color32::TRANSPARENT, Stroke::new(2.0, palette.accent));
    let Some(force) = mark.force else { return };
    let galley = painter.layout_no_wrap(format::force(force), theme::figures(13.5), palette.text);
    let size = galley.size() + vec2(16.0, 8.0);
    let mut at = mark.target + vec2(16.0, -size.y - 10.0);
    at.x = at.x.min(view.right() - size.x - 8.0).max(view.left() + 8.0);
    at.y = at.y.max(view.top() + 8.0);
    let card = Rect::from_min_size(at, size);
    painter.rect(
        card,
        CornerRadius::same(8),
        palette.card.gamma_multiply(0.94),
        Stroke::new(1.0, palette.border),
        egui::StrokeKind::Inside,
    );
    painter.galley(card.min + vec2(8.0, 4.0), galley, palette.text);
}

/// A ring around the point, and a card with the lines.
fn tip_ui(root: &Ui, view: Rect, tip: &Tip) {
    let palette = theme::palette(root.ctx());
    let painter = root.painter().with_clip_rect(view);
    painter.circle_stroke(tip.at, 7.0, Stroke::new(2.0, palette.text));
    let lines: Vec<_> =
        tip.lines.iter().map(|line| painter.layout_no_wrap(line.clone(), FontId::proportional(12.5), palette.text)).collect();
    let width = lines.iter().map(|line| line.size().x).fold(0.0, f32::max);
    let height: f32 = lines.iter().map(|line| line.size().y + 2.0).sum();
    let size = vec2(width + 20.0, height + 12.0);
    let mut at = tip.at + vec2(14.0, -size.y - 8.0);
    at.x = at.x.min(view.right() - size.x - 8.0).max(view.left() + 8.0);
    at.y = at.y.max(view.top() + 8.0);
    let card = Rect::from_min_size(at, size);
    painter.rect(
        card,
        CornerRadius::same(8),
        palette.card.gamma_multiply(0.96),
        Stroke::new(1.0, palette.border),
        egui::StrokeKind::Inside,
    );
    let mut at = card.min + vec2(10.0, 6.0);
    for line in lines {
        let below = line.size().y + 2.0;
        painter.galley(at, line, palette.text);
        at.y += below;
    }
}

/// At the lower left: an arrow of known length and its force, and how many contacts there are.
fn legend_ui(root: &Ui, view: Rect, legend: &ContactLegend, panels_visible: bool) {
    let palette = theme::palette(root.ctx());
    let painter = root.painter().with_clip_rect(view);
    // Above the transport bar, or the hint that there is one.
    let bottom = view.bottom() - if panels_visible { 76.0 } else { 48.0 };
    let card = Rect::from_min_size(egui::pos2(view.left() + 12.0, bottom - 78.0), vec2(contacts::REFERENCE_LENGTH + 158.0, 78.0));
    let frame = Stroke::new(1.0, palette.border);
    painter.rect(card, CornerRadius::same(9), palette.card.gamma_multiply(0.94), frame, egui::StrokeKind::Inside);
    let force = if legend.force > 0.0 { format::force(legend.force) } else { "—".to_owned() };
    let title = match legend.count {
        0 => "No contacts".to_owned(),
        1 => "1 contact".to_owned(),
        n => format!("{} contacts", format::count(n)),
    };
    painter.text(card.min + vec2(12.0, 15.0), Align2::LEFT_CENTER, title, theme::strong(12.5), palette.text);
    for (row, (color, name)) in [(contacts::COLORS.push, "push"), (contacts::COLORS.friction, "friction")].into_iter().enumerate() {
        let [r, g, b] = color.0.map(|c| (c * 255.0).round() as u8);
        let stroke = Stroke::new(2.0, Color32::from_rgb(r, g, b));
        let from = card.min + vec2(12.0, 37.0 + 24.0 * row as f32);
        let tip = from + vec2(contacts::REFERENCE_LENGTH, 0.0);
        painter.line_segment([from, tip], stroke);
        painter.line_segment([tip, tip + vec2(-7.0, -4.0)], stroke);
        painter.line_segment([tip, tip + vec2(-7.0, 4.0)], stroke);
        let figure = painter.text(tip + vec2(12.0, 0.0), Align2::LEFT_CENTER, &force, theme::figures(12.0), palette.text);
        painter.text(figure.right_center() + vec2(8.0, 0.0), Align2::LEFT_CENTER, name, FontId::proportional(12.5), palette.weak);
    }
}

fn recording_ui(root: &Ui, view: Rect, context: &UiContext) {
    let palette = theme::palette(root.ctx());
    let painter = root.painter().with_clip_rect(view);
    painter.rect_stroke(view.shrink(1.0), CornerRadius::ZERO, Stroke::new(2.0, palette.record), egui::StrokeKind::Inside);
    let frames = context.recorded_frames.unwrap_or_default();
    let galley = painter.layout_no_wrap(format!("REC  frame {frames}"), theme::figures(12.5), Color32::WHITE);
    let card = Rect::from_min_size(view.left_top() + vec2(14.0, 14.0), galley.size() + vec2(34.0, 12.0));
    painter.rect_filled(card, CornerRadius::same(9), palette.record);
    painter.circle_filled(card.left_center() + vec2(15.0, 0.0), 4.5, Color32::WHITE);
    painter.galley(card.min + vec2(26.0, 6.0), galley, Color32::WHITE);
}

/// A sheet in the middle of the window; true when it shall be closed.
pub(super) fn sheet_ui(root: &Ui, name: &str, width: f32, contents: impl FnOnce(&mut Ui) -> bool) -> bool {
    let width = width.min(root.ctx().content_rect().width() - 80.0);
    let frame = theme::card(root).inner_margin(Margin::same(22)).corner_radius(CornerRadius::same(16));
    let modal = Modal::new(Id::unique(name)).frame(frame).show(root.ctx(), |ui| {
        ui.set_width(width);
        contents(ui)
    });
    modal.should_close() || modal.inner
}

fn building_ui(root: &Ui, view: Rect, context: &UiContext) {
    let Activity::Building { name, since } = &context.snapshot.activity else { return };
    let seconds = since.elapsed().as_secs();
    Area::new(Id::unique("building"))
        .order(Order::Foreground)
        .fixed_pos(view.center())
        .pivot(Align2::CENTER_CENTER)
        .interactable(false)
        .show(root.ctx(), |ui| {
            theme::card(root).show(ui, |ui| {
                ui.horizontal(|ui| {
                    ui.add(Spinner::new().size(18.0).color(theme::palette(ui.ctx()).accent));
                    ui.label(RichText::new(format!("Building {name} …")).font(theme::strong(14.0)));
                    if seconds > 0 {
                        ui.label(RichText::new(format!("{seconds} s")).font(theme::figures(12.0)).weak());
                    }
                });
            });
        });
    root.ctx().request_repaint_after(Duration::from_millis(60));
}

pub fn add_toast(toasts: &mut Vec<Toast>, notice: Notice) {
    // The same failure at each step is one message.
    toasts.retain(|toast| toast.notice != notice);
    let id = toasts.iter().map(|toast| toast.id).max().unwrap_or(0) + 1;
    toasts.push(Toast { notice, shown: Instant::now(), id });
    if toasts.len() > MAX_TOASTS {
        toasts.remove(0);
    }
}

fn toasts_ui(root: &Ui, view: Rect, toasts: &mut Vec<Toast>, answers: &mut UiResponse) {
    let palette = theme::palette(root.ctx());
    toasts.retain(|toast| toast.notice.severity == Severity::Error || toast.shown.elapsed().as_secs() < INFO_SECONDS);
    if toasts.iter().any(|toast| toast.notice.severity == Severity::Info) {
        root.ctx().request_repaint_after(Duration::from_millis(500));
    }
    let mut top = view.top() + 14.0;
    let mut dismissed = None;
    for toast in toasts.iter().rev() {
        let width = (view.width() - 28.0).min(400.0);
        let at = egui::pos2(view.right() - 14.0, top);
        let area = Area::new(Id::unique(("toast", toast.id))).order(Order::Foreground).fixed_pos(at).pivot(Align2::RIGHT_TOP);
        let shown = area.show(root.ctx(), |ui| {
            let (glyph, color) = match toast.notice.severity {
                Severity::Info => (icon::CHECK_CIRCLE, palette.accent),
                Severity::Error => (icon::WARNING_CIRCLE, palette.error),
            };
            theme::card(root).show(ui, |ui| {
                ui.set_width(width - 28.0);
                ui.horizontal_top(|ui| {
                    ui.label(theme::icon(glyph, 18.0).color(color));
                    ui.vertical(|ui| {
                        ui.set_width(width - 28.0 - 58.0);
                        ui.add(egui::Label::new(RichText::new(&toast.notice.text).size(13.0)).wrap().selectable(true));
                    });
                    let close = Button::new(theme::icon(icon::X, 13.0)).frame_when_inactive(false);
                    if answers.named("toast.close", ui.add(close)).clicked() {
                        dismissed = Some(toast.id);
                    }
                });
            });
        });
        top = shown.response.rect.bottom() + 10.0;
    }
    toasts.retain(|toast| Some(toast.id) != dismissed);
}

fn hidden_hint_ui(root: &Ui, view: Rect) {
    let palette = theme::palette(root.ctx());
    let galley = root.painter().layout_no_wrap("Tab shows the panels".to_owned(), FontId::proportional(12.0), palette.text);
    let size = galley.size() + vec2(20.0, 10.0);
    let card = Rect::from_min_size(view.left_bottom() + vec2(12.0, -12.0 - size.y), size);
    root.painter().rect_filled(card, CornerRadius::same(9), palette.card.gamma_multiply(0.8));
    root.painter().galley(card.min + vec2(10.0, 5.0), galley, palette.text);
}

/// Keys and buttons, and what they do.
const KEYS: [(&str, &[(&str, &str)]); 3] = [
    (
        "Mouse",
        &[
            ("Left drag on a body", "pull it"),
            ("  with Shift, or wheel", "nearer or away"),
            ("  with Ctrl + wheel", "hold more around it"),
            ("  P, or H, meanwhile", "pin it, or leave it held"),
            ("Left drag beside it", "turn the view"),
            ("Right drag", "turn the view"),
            ("Middle or Shift + right", "move the view"),
            ("Wheel", "zoom to the cursor"),
            ("Right click", "what can be done to it"),
            ("Arrows, rings, box", "place it at the start"),
            ("  with Ctrl", "in steps"),
            ("Double click", "look at it"),
            ("Click", "select it"),
            ("  with Ctrl or Shift", "select several"),
        ],
    ),
    (
        "Time",
        &[
            ("Space", "play, pause"),
            (".", "one step on"),
            (",", "one step back, into the past"),
            ("End", "to the simulation as it stands"),
            ("R", "back to the start"),
        ],
    ),
    (
        "Window",
        &[
            ("F", "frame everything"),
            ("C", "contacts and their forces"),
            ("L", "list of the scene"),
            ("N", "plots of numbers over time"),
            ("I", "look inside bodies"),
            ("M", "measure between two points"),
            ("Esc", "select nothing"),
            ("Ctrl + Z, Ctrl + Y", "undo, redo"),
            ("Ctrl + D, Del", "duplicate, delete a body"),
            ("P, held and moved", "pin what is under it"),
            ("Tab", "hide or show panels"),
            ("Ctrl + O", "open a file"),
            ("Ctrl + R", "reload the scene"),
            ("Ctrl + S", "save a screenshot"),
            ("Ctrl + Shift + S", "save the scene"),
            ("V", "record a film, and end it"),
            ("?", "this sheet"),
            ("Ctrl + Q", "quit"),
        ],
    ),
];

fn keys_ui(root: &Ui, state: &mut UiState) {
    let closed = sheet_ui(root, "keys", 600.0, |ui| {
        let palette = theme::palette(ui.ctx());
        ui.label(RichText::new("Keys and mouse").font(theme::strong(18.0)));
        ui.add_space(10.0);
        ui.columns(2, |columns| {
            let groups: [&[_]; 2] = [&KEYS[..2], &KEYS[2..]];
            for (ui, groups) in columns.iter_mut().zip(groups) {
                for (group, keys) in groups {
                    ui.label(RichText::new(*group).font(theme::strong(13.0)).color(palette.accent));
                    ui.add_space(2.0);
                    for (key, meaning) in *keys {
                        ui.horizontal(|ui| {
                            ui.set_height(20.0);
                            let (rect, _) = ui.allocate_exact_size(vec2(150.0, 20.0), egui::Sense::hover());
                            ui.painter().text(rect.left_center(), Align2::LEFT_CENTER, key, FontId::proportional(13.0), palette.text);
                            ui.label(RichText::new(*meaning).size(13.0).color(palette.weak));
                        });
                    }
                    ui.add_space(10.0);
                }
            }
        });
        ui.vertical_centered(|ui| ui.add(Button::new("Close").min_size(vec2(96.0, 28.0))).clicked()).inner
    });
    state.keys_open &= !closed;
}

fn about_ui(root: &Ui, state: &mut UiState, context: &UiContext) {
    let closed = sheet_ui(root, "about", 380.0, |ui| {
        let palette = theme::palette(ui.ctx());
        ui.vertical_centered(|ui| {
            ui.label(theme::icon(icon::CUBE, 46.0).color(palette.accent));
            ui.label(RichText::new("Pliant").font(theme::strong(22.0)));
            ui.label(RichText::new(format!("Version {}", env!("CARGO_PKG_VERSION"))).color(palette.weak));
            ui.add_space(8.0);
            ui.label("An interactive laboratory for elastic solids: finite elements with frictional contact, in real time.");
            ui.add_space(8.0);
            ui.label(RichText::new(format!("Drawn by {}", context.adapter)).size(12.0).color(palette.weak));
            ui.label(RichText::new("MIT or Apache-2.0").size(12.0).color(palette.weak));
            ui.add_space(12.0);
            ui.add(Button::new("Close").min_size(vec2(96.0, 28.0))).clicked()
        })
        .inner
    });
    state.about_open &= !closed;
}

/// A field for a path, for where there is no file dialog.
fn path_ui(root: &Ui, state: &mut UiState, answers: &mut UiResponse) {
    let Some(PathField { text: path, purpose }) = &mut state.path_field else { return };
    let purpose = *purpose;
    let endings = crate::scene::mesh_endings("");
    let (title, hint, word) = match purpose {
        PathPurpose::Open => {
            let hint = format!("A scene (toml), a recorded session (session), or a mesh ({endings}) that becomes a soft body.");
            ("Open a scene, a mesh or a session", hint, "Open")
        }
        PathPurpose::SaveScene => ("Save the scene", "A new file (toml), or one to be written over.".to_owned(), "Save"),
        PathPurpose::AddMesh => ("Add a body from a mesh", format!("A mesh ({endings}) that becomes a soft body."), "Add"),
        PathPurpose::LoadState => ("Load a saved state", "A state that was saved from this scene.".to_owned(), "Load"),
    };
    let mut opened = None;
    let closed = sheet_ui(root, "path", 520.0, |ui| {
        let palette = theme::palette(ui.ctx());
        ui.label(RichText::new(title).font(theme::strong(18.0)));
        ui.label(RichText::new(hint).size(12.5).color(palette.weak));
        ui.add_space(8.0);
        let field = TextEdit::singleline(path).hint_text("/path/to/scene.toml").desired_width(f32::INFINITY).margin(vec2(10.0, 7.0));
        let field = answers.named("path.field", ui.add(field.font(theme::figures(13.0))));
        if !field.has_focus() && !field.lost_focus() {
            field.request_focus();
        }
        ui.add_space(10.0);
        let named = !path.trim().is_empty();
        ui.horizontal(|ui| {
            let open = Button::new(RichText::new(word).color(palette.on_accent)).fill(palette.accent).min_size(vec2(96.0, 28.0));
            let open = ui.add_enabled(named, open).clicked() || (field.lost_focus() && ui.input(|i| i.key_pressed(Key::Enter)));
            opened = (open && named).then(|| expand_home(path.trim()));
            ui.add(Button::new("Cancel").min_size(vec2(96.0, 28.0))).clicked()
        })
        .inner
    });
    if closed || opened.is_some() {
        state.path_field = None;
    }
    if let Some(path) = opened {
        answers.act(match purpose {
            PathPurpose::Open => Action::OpenPath(path),
            PathPurpose::SaveScene => Action::SaveSceneTo(path),
            PathPurpose::LoadState => Action::LoadStateFrom(path),
            PathPurpose::AddMesh => Action::AddMesh(path),
        });
    }
}

/// "~/scene.toml" as a shell would read it.
fn expand_home(path: &str) -> std::path::PathBuf {
    match (path.strip_prefix("~/"), dirs::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => path.into(),
    }
}
