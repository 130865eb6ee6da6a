//! The recorded past as a strip: where the window looks is dragged along it. Other branches lie above as thin lanes.

use std::time::Duration;

use egui::{
    Align, Align2, Area, Button, CornerRadius, CursorIcon, Id, Layout, Order, Pos2, Rect, Response, RichText, Role, Sense, Spinner, Stroke,
    StrokeKind, Ui, UiBuilder, WidgetInfo, pos2, vec2,
};

use super::access::Meaning;
use super::entries::entry_ui;
use super::theme::Palette;
use super::{Action, TimeAction, UiContext, UiResponse, icon, theme};
use crate::app::worker::Activity;
use crate::sim::past::{DEFAULT_BUDGET, Event, EventKind, Lane};

/// What the timeline shows.
#[derive(Clone, Copy)]
pub struct TimelineView<'a> {
    pub lanes: &'a [Lane],
    /// The lane at whose end the simulation is.
    pub branch: u32,
    /// The branch that is shown as a veil.
    pub ghost: Option<u32>,
    /// Step and time [s] that are shown.
    pub now: (u64, f64),
    /// What is shown is a picture of the past.
    pub is_past: bool,
    /// Where the simulation is [s].
    pub live_time: f64,
}

const MARGIN: f32 = 14.0;
const STRIP: f32 = 22.0;
/// Height of the lane of another branch, with the space to the next one.
const LANE: f32 = 12.0;
/// Room for the buttons; always the same, so that the strip does not move under the mouse.
const BUTTONS: f32 = 226.0;
/// Marks within so many points of the mouse are told.
const NEAR: f32 = 4.0;
/// A way back that is quicker than this [s] is not told.
const PATIENCE: f32 = 0.3;

/// Draws the timeline at the bottom of the view; what is left of the view.
pub fn timeline_ui(root: &Ui, view: Rect, timeline: &TimelineView, context: &UiContext, answers: &mut UiResponse) -> Rect {
    let Some(shown) = timeline.lanes.iter().find(|lane| lane.id == timeline.branch) else { return view };
    let others: Vec<&Lane> = timeline.lanes.iter().filter(|lane| lane.id != timeline.branch).collect();
    let height = STRIP + 14.0 + LANE * others.len() as f32;
    let corner = pos2(view.left() + MARGIN, view.bottom() - 10.0 - height);
    let card = Rect::from_min_max(corner, pos2(view.right() - MARGIN, view.bottom() - 10.0));
    Area::new(Id::unique("timeline")).order(Order::Middle).fixed_pos(card.min).constrain(false).show(root.ctx(), |ui| {
        let palette = theme::palette(ui.ctx());
        // Clicks beside the strip do not reach the view.
        let (card, response) = ui.allocate_exact_size(card.size(), Sense::click());
        response.widget_info(|| WidgetInfo::labeled(Role::Group, true, "Timeline"));
        let frame = Stroke::new(1.0, palette.border);
        ui.painter().rect(card, CornerRadius::same(12), palette.card.gamma_multiply(0.96), frame, StrokeKind::Inside);
        let inner = card.shrink2(vec2(12.0, 7.0));
        let strip = Rect::from_min_max(pos2(inner.left(), inner.bottom() - STRIP), pos2(inner.right() - BUTTONS, inner.bottom()));
        let axis = Axis::new(timeline, strip);
        for (row, lane) in others.iter().rev().enumerate() {
            let is_ghost = timeline.ghost == Some(lane.id);
            lane_ui(ui, &axis, strip.top() - LANE * (row as f32 + 0.5), lane, lane.last_common_step(shown), is_ghost, answers);
        }
        strip_ui(ui, &axis, strip, shown, timeline, answers);
        let buttons = Rect::from_min_max(pos2(strip.right() + 10.0, strip.top()), pos2(inner.right(), strip.bottom()));
        ui.scope_builder(UiBuilder::new().max_rect(buttons).layout(Layout::right_to_left(Align::Center)), |ui| {
            buttons_ui(ui, &axis, timeline, answers);
        });
    });
    travelling_ui(root, view, context, answers);
    Rect::from_min_max(view.min, pos2(view.right(), card.top() + 4.0))
}

/// Times along the strip.
struct Axis {
    start: f64,
    seconds: f64,
    left: f32,
    width: f32,
}

impl Axis {
    fn new(timeline: &TimelineView, strip: Rect) -> Self {
        let places = || timeline.lanes.iter().flat_map(|lane| lane.places.first().into_iter().chain(lane.places.last()));
        let start = places().map(|(_, time)| *time).fold(timeline.live_time, f64::min);
        let end = places().map(|(_, time)| *time).fold(timeline.live_time, f64::max);
        Self { start, seconds: (end - start).max(1e-6), left: strip.left(), width: strip.width() }
    }

    fn x(&self, time: f64) -> f32 {
        self.left + self.width * ((time - self.start) / self.seconds).clamp(0.0, 1.0) as f32
    }

    fn time(&self, x: f32) -> f64 {
        self.start + self.seconds * f64::from(((x - self.left) / self.width.max(1.0)).clamp(0.0, 1.0))
    }
}

/// The lane that is shown: a press or a drag looks at the picture there.
fn strip_ui(ui: &mut Ui, axis: &Axis, strip: Rect, lane: &Lane, timeline: &TimelineView, answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    let (start, end) = (axis.x(lane.places.first().map_or(axis.start, |(_, time)| *time)), axis.x(timeline.live_time));
    let now = axis.x(timeline.now.1);
    let painter = ui.painter();
    let round = CornerRadius::same(6);
    painter.rect_filled(strip, round, palette.well);
    let part = |from: f32, to: f32| Rect::from_min_max(pos2(from, strip.top()), pos2(to.max(from), strip.bottom()));
    painter.rect_filled(part(start, end), round, palette.accent.gamma_multiply(0.16));
    painter.rect_filled(part(start, now), round, palette.accent.gamma_multiply(0.28));
    marks(painter, axis, strip, &lane.events, palette);
    painter.vline(now, strip.expand(2.0).y_range(), Stroke::new(2.0, palette.text));
    painter.circle(pos2(now, strip.top() - 1.0), 4.0, palette.text, Stroke::new(1.5, palette.card));

    let response = ui.interact(strip.expand2(vec2(0.0, 3.0)), ui.scope_id().with("strip"), Sense::click_and_drag());
    response.widget_info(|| WidgetInfo::labeled(Role::Slider, true, "The recorded past"));
    answers.landmarks.push(("timeline.start".into(), Rect::from_center_size(strip.left_center(), vec2(2.0, 2.0))));
    answers.landmarks.push(("timeline.end".into(), Rect::from_center_size(strip.right_center(), vec2(2.0, 2.0))));
    let response = answers.named("timeline.strip", response).on_hover_cursor(CursorIcon::PointingHand);
    // A release counts, too: in a slow frame the mouse has moved before it.
    let is_held = response.is_pointer_button_down_on() || response.clicked() || response.drag_stopped();
    if let Some(at) = response.interact_pointer_pos().filter(|_| is_held)
        && let Some((step, _)) = lane.place_at(axis.time(at.x))
        && (step, timeline.is_past) != (timeline.now.0, true)
    {
        answers.act(Action::Time(TimeAction::Scrub(step)));
    }
    if let Some(at) = response.hover_pos() {
        place_ui(response, axis, at, lane);
    }
}

/// Tells the picture under the mouse and what happened there.
fn place_ui(response: Response, axis: &Axis, at: Pos2, lane: &Lane) {
    let Some((step, time)) = lane.place_at(axis.time(at.x)) else { return };
    response.on_hover_ui_at_pointer(|ui| {
        ui.label(RichText::new(format!("{time:.3} s   step {step}")).font(theme::figures(12.0)));
        let near: Vec<&Event> = lane.events.iter().filter(|event| (axis.x(event.time) - at.x).abs() <= NEAR).collect();
        for event in near.iter().take(6) {
            ui.label(RichText::new(format!("{} (step {})", event.kind.sentence(), event.step)).size(12.0));
        }
        if near.len() > 6 {
            ui.label(RichText::new(format!("and {} more", near.len() - 6)).size(12.0).weak());
        }
    });
}

/// What happened: bars while something is held, wedges where a value was changed, strokes below for steps that were not
/// as they should be.
fn marks(painter: &egui::Painter, axis: &Axis, strip: Rect, events: &[Event], palette: &Palette) {
    let bar = |from: f32, to: f32| {
        let rect = Rect::from_min_max(pos2(from, strip.top()), pos2(to.max(from + 2.0), strip.top() + 4.0));
        painter.rect_filled(rect, CornerRadius::same(2), palette.accent);
    };
    let (mut held, mut since, mut last_fault) = (0u32, 0.0, f32::NEG_INFINITY);
    for event in events {
        let x = axis.x(event.time);
        match &event.kind {
            EventKind::Grabbed => {
                if held == 0 {
                    since = x;
                }
                held += 1;
            }
            EventKind::Released => {
                held = held.saturating_sub(1);
                if held == 0 {
                    bar(since, x);
                }
            }
            EventKind::Edited(_) | EventKind::PutBack(_) | EventKind::Moved(_) => {
                let top = strip.top() + 1.0;
                let wedge = vec![pos2(x - 4.0, top), pos2(x + 4.0, top), pos2(x, top + 7.0)];
                painter.add(egui::Shape::convex_polygon(wedge, palette.text, Stroke::new(1.0, palette.card)));
            }
            // A long row of them is one line.
            EventKind::NotConverged | EventKind::Limited(_) => {
                if x - last_fault >= 1.5 {
                    let color = if matches!(event.kind, EventKind::NotConverged) { palette.error } else { palette.fair };
                    painter.vline(x, (strip.bottom() - 6.0)..=(strip.bottom() - 1.0), Stroke::new(1.5, color));
                    last_fault = x;
                }
            }
        }
    }
    if held > 0 {
        bar(since, axis.x(axis.start + axis.seconds));
    }
}

/// The lane of another branch, from the last step that it has in common with the one that is shown to its end.
fn lane_ui(ui: &mut Ui, axis: &Axis, y: f32, lane: &Lane, common: u64, is_ghost: bool, answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    let (Some((_, first)), Some((last_step, last))) = (lane.place_of(common), lane.places.last().copied()) else { return };
    let (from, to) = (axis.x(first), axis.x(last).max(axis.x(first) + 6.0));
    let rect = Rect::from_min_max(pos2(from, y - 3.0), pos2(to, y + 3.0));
    let response = ui.interact(rect.expand2(vec2(2.0, 2.0)), ui.scope_id().with(("lane", lane.id)), Sense::click());
    let response = answers.named(format!("lane.{}", lane.id), response).on_hover_cursor(CursorIcon::PointingHand);
    let color = match (response.hovered(), is_ghost) {
        (true, _) => palette.text.gamma_multiply(0.8),
        (false, true) => palette.accent.gamma_multiply(0.8),
        (false, false) => palette.weak.gamma_multiply(0.7),
    };
    ui.painter().rect_filled(rect, CornerRadius::same(3), color);
    ui.painter().circle_filled(pos2(from, y), 3.5, color);
    if response.clicked() {
        let at = response.interact_pointer_pos().map(|at| axis.time(at.x).max(first));
        answers.act(Action::Time(TimeAction::Show(lane.id, at)));
    }
    response.context_menu(|ui| lane_menu_ui(ui, lane, is_ghost, answers));
    let told = format!(
        "Branch {}: from {first:.3} s to {last:.3} s, step {last_step}\nClick to look at it and to go on with it; right click for more",
        lane.id
    );
    response.meaning(told);
}

/// What can be done with another branch.
fn lane_menu_ui(ui: &mut Ui, lane: &Lane, is_ghost: bool, answers: &mut UiResponse) {
    let mut entry = |ui: &mut Ui, sign, words, action| entry_ui(ui, answers, sign, words, "", Action::Time(action));
    match is_ghost {
        true => entry(ui, icon::EYE_SLASH, "Hide the ghost", TimeAction::Ghost(None)),
        false => entry(ui, icon::GHOST, "Compare as a ghost", TimeAction::Ghost(Some(lane.id))),
    }
    entry(ui, icon::GIT_BRANCH, "Go on with it", TimeAction::Show(lane.id, None));
    entry(ui, icon::TRASH, "Forget it", TimeAction::Forget(lane.id));
}

fn buttons_ui(ui: &mut Ui, axis: &Axis, timeline: &TimelineView, answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    ui.spacing_mut().item_spacing.x = 6.0;
    if !timeline.is_past {
        let kept = format!("{:.2} s recorded", axis.seconds);
        let told = format!(
            "The past is kept in at most {} MB; what is old becomes coarser.\nDrag along the strip to look at it; grab or change something \
             there, and a branch begins.",
            DEFAULT_BUDGET >> 20
        );
        ui.label(RichText::new(kept).font(theme::figures(11.5)).color(palette.weak)).on_hover_text(told);
        return;
    }
    let live = Button::new("Live").min_size(vec2(48.0, 24.0));
    if answers.named("timeline.live", ui.add(live).on_hover_text("To the simulation as it stands  (End)")).clicked() {
        answers.act(Action::Time(TimeAction::Live));
    }
    let sign = theme::icon(icon::GIT_BRANCH, 14.0).color(palette.on_accent);
    let go_on = Button::new((sign, RichText::new("Continue from here").color(palette.on_accent))).fill(palette.accent);
    let told = "Begins a branch at this step: the simulation goes on from here, and what came after stays as another branch";
    let response = ui.add(go_on.min_size(vec2(100.0, 24.0))).on_hover_text(told);
    if answers.named("timeline.continue", response).clicked() {
        answers.act(Action::Time(TimeAction::Continue));
    }
}

/// A way back that takes its time, and how to stop it.
fn travelling_ui(root: &Ui, view: Rect, context: &UiContext, answers: &mut UiResponse) {
    let Activity::Travelling { at, to, since } = context.snapshot.activity else { return };
    root.ctx().request_repaint_after(Duration::from_millis(60));
    if since.elapsed().as_secs_f32() < PATIENCE {
        return;
    }
    let area = Area::new(Id::unique("travelling")).order(Order::Foreground).fixed_pos(answers.card_place(view));
    let shown = area.pivot(Align2::CENTER_TOP).show(root.ctx(), |ui| {
        theme::card(root).show(ui, |ui| {
            ui.horizontal(|ui| {
                ui.add(Spinner::new().size(16.0).color(theme::palette(ui.ctx()).accent));
                let goal = to.map_or_else(|| "Going back".to_owned(), |to| format!("Going back to step {to}"));
                ui.label(RichText::new(goal).font(theme::strong(13.5)));
                ui.label(RichText::new(format!("computing step {at}")).font(theme::figures(12.0)).weak());
                let stop = ui.button("Stop").on_hover_text("Stays at the step that was shown before");
                if answers.named("timeline.stop", stop).clicked() {
                    answers.act(Action::Time(TimeAction::Stop));
                }
            });
        });
    });
    answers.add_card(shown.response.rect);
}
