//! Things that lie over the view: the force of a grab, progress, messages, sheets and dialogs.

use std::time::Duration;

use egui::{
    Align, Align2, Area, Button, Color32, CornerRadius, FontId, Id, Key, Layout, Order, Pos2, ProgressBar, Rect, RichText, ScrollArea,
    Spinner, Stroke, TextEdit, Ui, vec2,
};

use super::checkup::checkups_ui;
use super::commands::{Group, commands};
use super::draft::draft_ui;
use super::gizmo::gizmo_ui;
use super::help::help_ui;
use super::import::import_ui;
use super::legend::coloring_ui;
use super::palette::palette_ui;
use super::path::path_ui;
use super::record::record_ui;
use super::sheet::sheet_ui;
use super::start::gallery_ui;
use super::toasts::toasts_ui;
use super::{Action, CameraAction, JobView, RecordAction, RecordingView, UiContext, UiResponse, UiState, icon, theme};
use crate::app::worker::Activity;
use crate::app::{contacts, film, format};
use crate::cancel::Progress;

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

pub fn overlay_ui(root: &Ui, view: Rect, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    for gizmo in context.gizmos.into_iter().flatten() {
        gizmo_ui(root, view, gizmo, answers);
    }
    for mark in context.grabs {
        grab_ui(root, view, mark);
    }
    if let Some(frame) = context.frame {
        frame_ui(root, view, frame);
    }
    if let Some(recording) = &context.recording {
        recording_ui(root, view, recording, answers);
    }
    // A film of the past has the same place.
    if let Some(job) = context.studio.job.as_ref().filter(|_| context.recording.is_none_or(|recording| recording.of.is_none())) {
        work_ui(root, view, job.stage, job, RecordAction::EndJob { keeps: false }, answers);
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
    step_ui(root, view, context, answers);
    if state.panels_visible {
        match context.draft {
            Some(draft) => draft_ui(root, view, draft, state, context, answers),
            None => import_ui(root, view, state, context, answers),
        }
    }
    building_ui(root, view, context, answers);
    if !state.panels_visible {
        hidden_hint_ui(root, view);
    }
    sheets_ui(root, view, state, context, answers);
}

/// Messages, sheets and dialogs.
pub fn sheets_ui(root: &Ui, view: Rect, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    toasts_ui(root, view, &mut state.toasts, answers);
    palette_ui(root, state, context, answers);
    record_ui(root, state, context, answers);
    if state.gallery_open {
        gallery_ui(root, state, context, answers);
    }
    if state.keys_open {
        keys_ui(root, state, answers);
    }
    if state.about_open {
        about_ui(root, state, context);
    }
    if state.view_name.is_some() {
        view_name_ui(root, state, answers);
    }
    help_ui(root, state, answers);
    if state.path_field.is_some() {
        path_ui(root, state, answers);
    }
}

/// What will be pinned.
fn frame_ui(root: &Ui, view: Rect, frame: Rect) {
    let accent = theme::palette(root.ctx()).accent;
    let (fill, line) = (accent.gamma_multiply(0.12), Stroke::new(1.5, accent));
    root.painter().with_clip_rect(view).rect(frame, CornerRadius::ZERO, fill, line, egui::StrokeKind::Inside);
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

fn recording_ui(root: &Ui, view: Rect, recording: &RecordingView, answers: &mut UiResponse) {
    let RecordingView { frames, seconds, size: [width, height], of } = *recording;
    if let Some(of) = of {
        let (told, part) = (format!("Making the film: frame {frames} of {of}"), frames as f32 / of as f32);
        return work_ui(root, view, &told, &JobView { stage: "", part, may_stop: false }, RecordAction::Cancel, answers);
    }
    let palette = theme::palette(root.ctx());
    let painter = root.painter().with_clip_rect(view);
    painter.rect_stroke(view.shrink(1.0), CornerRadius::ZERO, Stroke::new(2.0, palette.record), egui::StrokeKind::Inside);
    let area = Area::new(Id::unique("recording")).order(Order::Foreground).fixed_pos(view.left_top() + vec2(14.0, 14.0));
    area.show(root.ctx(), |ui| {
        theme::card(root).fill(palette.record).show(ui, |ui| {
            ui.horizontal(|ui| {
                let told = format!("REC  {seconds:.2} s of film  {width} × {height}");
                ui.label(RichText::new(told).font(theme::figures(12.5)).color(Color32::WHITE)).on_hover_text(film::TIME);
                if answers.named("recording.stop", ui.button("Stop")).on_hover_text("Ends the film and keeps it  (V)").clicked() {
                    answers.act(Action::ToggleRecording);
                }
                if answers.named("recording.discard", ui.button("Throw away")).on_hover_text("Ends the film without keeping it").clicked() {
                    answers.act(Action::Record(RecordAction::Cancel));
                }
            });
        });
    });
}

/// Work that goes on, how far it is, and how to end it; `cancel` throws away what there is.
fn work_ui(root: &Ui, view: Rect, told: &str, job: &JobView, cancel: RecordAction, answers: &mut UiResponse) {
    let area = Area::new(Id::unique("work")).order(Order::Foreground).fixed_pos(answers.card_place(view));
    let shown = area.pivot(Align2::CENTER_TOP).show(root.ctx(), |ui| {
        let palette = theme::palette(ui.ctx());
        theme::card(root).show(ui, |ui| {
            ui.horizontal(|ui| {
                ui.label(RichText::new(told).font(theme::strong(13.5)));
                ui.add(ProgressBar::new(job.part).desired_width(120.0).desired_height(6.0).fill(palette.accent).corner_radius(3));
                if job.may_stop
                    && answers.named("work.keep", ui.button("End here")).on_hover_text("Keeps what was written so far").clicked()
                {
                    answers.act(Action::Record(RecordAction::EndJob { keeps: true }));
                }
                if answers.named("work.cancel", ui.button("Cancel")).on_hover_text("Keeps nothing of it").clicked() {
                    answers.act(Action::Record(cancel));
                }
            });
        });
    });
    answers.add_card(shown.response.rect);
}

/// A step that takes its time, and how to stop it.
fn step_ui(root: &Ui, view: Rect, context: &UiContext, answers: &mut UiResponse) {
    let Some(time) = context.step_time else { return };
    root.ctx().request_repaint_after(Duration::from_millis(100));
    let area = Area::new(Id::unique("step")).order(Order::Foreground).fixed_pos(answers.card_place(view));
    let shown = area.pivot(Align2::CENTER_TOP).show(root.ctx(), |ui| {
        theme::card(root).show(ui, |ui| {
            ui.horizontal(|ui| {
                ui.add(Spinner::new().size(16.0).color(theme::palette(ui.ctx()).accent));
                let seconds = time.as_secs_f64();
                let seconds = if seconds < 10.0 { format!("{seconds:.1} s") } else { format!("{seconds:.0} s") };
                ui.label(RichText::new("Step takes").font(theme::strong(13.5)));
                ui.label(RichText::new(seconds).font(theme::figures(13.0)));
                let stop = ui.button("Stop").on_hover_text("Ends this step; the simulation pauses where the step began  (Space)");
                if answers.named("step.stop", stop).clicked() {
                    answers.act(Action::Stop);
                }
            });
        });
    });
    answers.add_card(shown.response.rect);
}

fn building_ui(root: &Ui, view: Rect, context: &UiContext, answers: &mut UiResponse) {
    let Activity::Building { name, since } = &context.snapshot.activity else { return };
    let seconds = since.elapsed().as_secs();
    let palette = theme::palette(root.ctx());
    let area = Area::new(Id::unique("building")).order(Order::Foreground).fixed_pos(view.center());
    area.pivot(Align2::CENTER_CENTER).show(root.ctx(), |ui| {
        theme::card(root).show(ui, |ui| {
            ui.set_width(320.0);
            ui.horizontal(|ui| {
                ui.add(Spinner::new().size(18.0).color(palette.accent));
                ui.add(egui::Label::new(RichText::new(format!("Building {name}")).font(theme::strong(14.0))).truncate());
            });
            ui.add_space(2.0);
            let Progress { stage, part } = context.progress;
            ui.add(ProgressBar::new(part).desired_height(6.0).fill(palette.accent).corner_radius(3));
            ui.horizontal(|ui| {
                let told = if stage.is_empty() { "reading" } else { stage };
                // A stage that is done but for its end takes longer, and 100 % would say that nothing is waited for.
                ui.label(RichText::new(format!("{told}, {:.0} %", (100.0 * part).min(99.0))).size(12.5).color(palette.weak));
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    let cancel = ui.button("Cancel").on_hover_text("The scene is not opened; what was open stays");
                    if answers.named("building.cancel", cancel).clicked() {
                        answers.act(Action::Stop);
                    }
                    if seconds > 0 {
                        ui.label(RichText::new(format!("{seconds} s")).font(theme::figures(12.0)).weak());
                    }
                });
            });
        });
    });
    root.ctx().request_repaint_after(Duration::from_millis(60));
}

fn hidden_hint_ui(root: &Ui, view: Rect) {
    let palette = theme::palette(root.ctx());
    let galley = root.painter().layout_no_wrap("Tab shows the panels".to_owned(), FontId::proportional(12.0), palette.text);
    let size = galley.size() + vec2(20.0, 10.0);
    let card = Rect::from_min_size(view.left_bottom() + vec2(12.0, -12.0 - size.y), size);
    root.painter().rect_filled(card, CornerRadius::same(9), palette.card.gamma_multiply(0.8));
    root.painter().galley(card.min + vec2(10.0, 5.0), galley, palette.text);
}

/// What the mouse does over the view.
const MOUSE: [(&str, &str); 19] = [
    ("Left drag on a body", "pull it"),
    ("  with Shift, or wheel", "nearer or away"),
    ("  with Ctrl + wheel", "hold more around it"),
    ("  P, or H, meanwhile", "pin it, or leave it held"),
    ("Left drag beside it", "turn the view"),
    ("Right drag", "turn the view"),
    ("Middle or Shift + right", "move the view"),
    ("Wheel", "zoom to the cursor"),
    ("Right click", "what can be done to it"),
    ("Move with P held", "pin what it passes; Alt unpins"),
    ("  with Shift+P", "pin all in a frame; Alt unpins"),
    ("Drag with the brush, B", "paint a material; Alt erases"),
    ("  with Ctrl + wheel", "its radius"),
    ("Arrows, rings, box", "place it while paused"),
    ("  with Ctrl", "in steps"),
    ("  of a cut, with Shift", "in steps, across an axis"),
    ("Double click", "look at it"),
    ("Click", "select it"),
    ("  with Ctrl or Shift", "select several"),
];

/// Keys that are no commands.
const OTHER_KEYS: [(&str, &str); 3] = [
    ("Ctrl and +, -, 0", "larger, smaller, usual letters"),
    ("Page Up, Page Down", "turn the pages of the guide"),
    ("Tab, for a path", "complete what is typed"),
];

fn keys_ui(root: &Ui, state: &mut UiState, answers: &mut UiResponse) {
    let closed = sheet_ui(root, "keys", 780.0, |ui| {
        ui.label(RichText::new("Keys and mouse").font(theme::strong(18.0)));
        ui.add_space(10.0);
        let room = ui.ctx().content_rect().height() - 190.0;
        ScrollArea::vertical().max_height(room).show(ui, |ui| {
            ui.columns(2, |columns| {
                key_group_ui(&mut columns[0], "Mouse", MOUSE.into_iter());
                for (title, group, column) in [
                    ("Time", Group::Time, 0),
                    ("Window", Group::Window, 0),
                    ("Files and changes", Group::File, 1),
                    ("View", Group::View, 1),
                ] {
                    let with_keys = commands().iter().filter(|command| command.group == group && !command.keys.is_empty());
                    let others = OTHER_KEYS.into_iter().filter(|_| group == Group::Window);
                    key_group_ui(&mut columns[column], title, with_keys.map(|command| (command.keys, command.name)).chain(others));
                }
            });
        });
        ui.vertical_centered(|ui| {
            let close = ui.add(Button::new("Close").min_size(vec2(96.0, 28.0))).on_hover_text("Esc");
            answers.named("keys.close", close).clicked()
        })
        .inner
    });
    state.keys_open &= !closed;
}

fn key_group_ui<'a>(ui: &mut Ui, title: &str, keys: impl Iterator<Item = (&'a str, &'a str)>) {
    let palette = theme::palette(ui.ctx());
    ui.label(RichText::new(title).font(theme::strong(13.0)).color(palette.accent));
    ui.add_space(2.0);
    for (key, meaning) in keys {
        ui.horizontal(|ui| {
            ui.set_height(20.0);
            let (rect, _) = ui.allocate_exact_size(vec2(146.0, 20.0), egui::Sense::hover());
            ui.painter().text(rect.left_center(), Align2::LEFT_CENTER, key, FontId::proportional(13.0), palette.text);
            let meaning = meaning.trim_end_matches('…');
            ui.add(egui::Label::new(RichText::new(meaning).size(13.0).color(palette.weak)).truncate());
        });
    }
    ui.add_space(10.0);
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

/// A field for the name of a view.
fn view_name_ui(root: &Ui, state: &mut UiState, answers: &mut UiResponse) {
    let Some(name) = &mut state.view_name else { return };
    let mut done = false;
    let closed = sheet_ui(root, "view", 320.0, |ui| {
        let palette = theme::palette(ui.ctx());
        let title = ui.label(RichText::new("Save this view").font(theme::strong(18.0)));
        ui.label(
            RichText::new("View > Camera leads back to it. Films can go through the views of a scene, to be at each at its time.")
                .size(12.5)
                .color(palette.weak),
        );
        ui.add_space(8.0);
        let field = ui.add(TextEdit::singleline(name).desired_width(f32::INFINITY).margin(vec2(10.0, 7.0)));
        let field = answers.named("view.name", field).labelled_by(title.id);
        if !field.has_focus() && !field.lost_focus() {
            field.request_focus();
        }
        ui.add_space(10.0);
        ui.horizontal(|ui| {
            let save = Button::new(RichText::new("Save").color(palette.on_accent)).fill(palette.accent).min_size(vec2(96.0, 28.0));
            let save = ui.add_enabled(!name.trim().is_empty(), save).on_hover_text("Keeps the view under this name  (Enter)");
            let save = answers.named("view.save", save);
            done = save.clicked() || (field.lost_focus() && !name.trim().is_empty() && ui.input(|i| i.key_pressed(Key::Enter)));
            ui.add(Button::new("Cancel").min_size(vec2(96.0, 28.0))).on_hover_text("Keeps nothing  (Esc)").clicked()
        })
        .inner
    });
    if done {
        answers.act(Action::Camera(CameraAction::Save(name.trim().to_owned())));
    }
    if closed || done {
        state.view_name = None;
    }
}
