//! The floating bar with which time is run.

use egui::{
    Align2, Area, Button, Color32, ComboBox, CornerRadius, Frame, Id, Margin, Order, Rect, Response, RichText, Shadow, Stroke, Ui, vec2,
};

use super::access::Meaning;
use super::{Action, TimeAction, UiContext, UiResponse, icon, theme};
use crate::app::{film, format};

/// Simulated seconds a second, and their names.
pub const SPEEDS: [(f64, &str); 6] = [(0.1, "0.1×"), (0.25, "0.25×"), (0.5, "0.5×"), (1.0, "1×"), (2.0, "2×"), (f64::INFINITY, "Max")];

/// Height of the bar with the space below it, in points.
const HEIGHT: f32 = 60.0;

/// Draws the bar at the bottom of the view; what is left of the view.
pub fn transport_ui(root: &Ui, view: Rect, context: &UiContext, answers: &mut UiResponse) -> Rect {
    let palette = theme::palette(root.ctx());
    let snapshot = context.snapshot;
    let center = view.center_bottom() - vec2(0.0, 14.0);
    Area::new(Id::unique("transport")).order(Order::Middle).fixed_pos(center).pivot(Align2::CENTER_BOTTOM).constrain_to(view).show(
        root.ctx(),
        |ui| {
            let shadow = Shadow { offset: [0, 4], blur: 18, spread: 0, color: Color32::from_black_alpha(90) };
            let frame = Frame::new()
                .fill(palette.card.gamma_multiply(0.96))
                .stroke(Stroke::new(1.0, palette.border))
                .corner_radius(CornerRadius::same(14))
                .inner_margin(Margin::symmetric(8, 6))
                .shadow(shadow);
            frame.show(ui, |ui| {
                ui.horizontal(|ui| {
                    ui.spacing_mut().item_spacing.x = 4.0;
                    let (glyph, hint) = if context.is_playing { (icon::PAUSE, "Pause  (Space)") } else { (icon::PLAY, "Play  (Space)") };
                    let play = Button::new(theme::icon(glyph, 17.0).color(palette.on_accent))
                        .fill(palette.accent)
                        .corner_radius(CornerRadius::same(9))
                        .min_size(vec2(38.0, 30.0));
                    act(answers, "transport.play", ui.add(play).meaning(hint), Action::PlayPause);
                    if context.timeline.is_some() {
                        let back = tool_ui(ui, icon::SKIP_BACK, "The step before  (,)");
                        act(answers, "transport.back", back, Action::Time(TimeAction::Back));
                    }
                    act(answers, "transport.step", tool_ui(ui, icon::SKIP_FORWARD, "One step  (.)"), Action::StepOnce);
                    act(answers, "transport.reset", tool_ui(ui, icon::ARROW_COUNTER_CLOCKWISE, "Back to the start  (R)"), Action::Reset);
                    ui.add_space(4.0);
                    speed_ui(ui, snapshot.speed, answers);
                    ui.add_space(4.0);
                    clock_ui(ui, context);
                    ui.add_space(4.0);
                    record_ui(ui, context, answers);
                    act(answers, "transport.screenshot", tool_ui(ui, icon::CAMERA, "Screenshot  (Ctrl+S)"), Action::Screenshot);
                });
            });
        },
    );
    Rect::from_min_max(view.min, view.max - vec2(0.0, HEIGHT.min(view.height())))
}

fn tool_ui(ui: &mut Ui, glyph: &str, hint: &str) -> Response {
    tool_button(ui, glyph).meaning(hint)
}

fn tool_button(ui: &mut Ui, glyph: &str) -> Response {
    let button = Button::new(theme::icon(glyph, 17.0)).frame_when_inactive(false).corner_radius(CornerRadius::same(9));
    ui.add(button.min_size(vec2(32.0, 30.0)))
}

fn act(answers: &mut UiResponse, name: &str, response: Response, action: Action) {
    if answers.named(name, response).clicked() {
        answers.act(action);
    }
}

fn speed_ui(ui: &mut Ui, speed: f64, answers: &mut UiResponse) {
    let shown = SPEEDS.iter().find(|(s, _)| *s == speed).map_or_else(|| format::factor(speed), |(_, label)| (*label).to_owned());
    let combo = ComboBox::from_id_salt("speed").width(64.0).selected_text(RichText::new(shown).font(theme::figures(12.5)));
    let response = combo.show_ui(ui, |ui| {
        for (value, label) in SPEEDS {
            let choice = ui.selectable_label(speed == value, RichText::new(label).font(theme::figures(12.5)));
            if answers.named(format!("speed.{label}"), choice).clicked() {
                answers.act(Action::SetSpeed(value));
            }
        }
    });
    answers.named("transport.speed", response.response).on_hover_text("Speed: simulated seconds a second");
}

/// Simulated time, and how fast it passes.
fn clock_ui(ui: &mut Ui, context: &UiContext) {
    let palette = theme::palette(ui.ctx());
    let time = context.snapshot.view.as_ref().map_or(0.0, |view| view.time);
    let rate = context.snapshot.real_time_factor.map_or_else(|| "—".to_owned(), format::factor);
    ui.allocate_ui(vec2(126.0, 30.0), |ui| {
        ui.set_min_width(126.0);
        ui.horizontal_centered(|ui| {
            ui.spacing_mut().item_spacing.x = 9.0;
            ui.label(RichText::new(format!("{time:>7.3} s")).font(theme::figures(13.0)));
            ui.label(RichText::new(rate).font(theme::figures(11.5)).color(palette.weak)).on_hover_text("Simulated over real time");
        });
    });
}

fn record_ui(ui: &mut Ui, context: &UiContext, answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    let response = match context.recording {
        None => {
            let time = film::time_to_film(context.snapshot.real_time_factor).map(|time| format!(" To make, {time}."));
            let told = format!("Record a film  (V)\n{}{}\nShift+V: size, rate, format and camera", film::TIME, time.unwrap_or_default());
            tool_button(ui, icon::RECORD).meaning_with_hint("Record a film  (V)", told)
        }
        Some(recording) => {
            let stop = theme::icon(icon::STOP, 15.0).color(Color32::WHITE);
            let count = RichText::new(format!("{:.1} s", recording.seconds)).font(theme::figures(13.0)).color(Color32::WHITE);
            let button = Button::new((stop, count)).fill(palette.record).corner_radius(CornerRadius::same(9)).min_size(vec2(32.0, 30.0));
            ui.add(button).on_hover_text("Stop the film  (V); so much of it there is, in simulated time")
        }
    };
    act(answers, "transport.record", response, Action::ToggleRecording);
}
