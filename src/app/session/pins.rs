//! Pinning what is under the cursor or held, and letting go of what is pinned or held.

use egui::{Pos2, Rect};

use super::Session;
use super::lookup::{Found, Question};
use crate::app::pins::{PinMark, ball_at, balls_around, is_ball_chosen, rest_point, with_pin, without_balls};
use crate::app::ui::PinAction;
use crate::app::worker::Severity;
use crate::body::{BodyRef, base_name};
use crate::math::Vec3;
use crate::model::{Ball, Extent, Model};
use crate::render::Hit;
use crate::sim::Command;
use crate::stage;

/// How near the cursor must be to a pin or a grab, in points.
const NEAR: f32 = 9.0;

/// A frame is at least so large, in points.
const LEAST_FRAME: f32 = 3.0;

/// Pins that a key paints while it is held down, or a frame that it spans.
#[derive(Default)]
pub struct Stroke {
    /// It takes pins away.
    unpins: bool,
    /// Of one body.
    body: Option<String>,
    balls: Vec<Ball>,
    /// Where the mouse was when the frame was begun.
    corner: Option<Pos2>,
    last: Option<Pos2>,
}

impl Stroke {
    pub(super) fn frame(&self) -> Option<Rect> {
        Some(Rect::from_two_pos(self.corner?, self.last?)).filter(|frame| frame.size().min_elem() >= LEAST_FRAME)
    }
}

impl Session {
    pub(super) fn act_on_pins(&mut self, action: PinAction) {
        match action {
            PinAction::Held => self.pin_held(),
            PinAction::Here => {
                if let Some((model, hit, body)) = self.spot.take() {
                    let ball = ball_at(&model, &hit, self.grip.radius);
                    self.pin(&model, body, &[ball]);
                }
            }
            PinAction::Unpin(body, part) => self.unpin(&body, part),
            PinAction::UnpinAll(body) => self.unpin_all(&body),
            PinAction::Leave => {
                if let Some(grab) = self.grab.take() {
                    self.log.say(format_args!("left body={}", grab.body));
                }
                self.cancel();
            }
            PinAction::LetGo(id) => self.command(Command::ReleaseGrab { id }),
        }
    }

    /// Pins what the mouse holds, where it is; what is rigid stays held.
    fn pin_held(&mut self) {
        let (Some(grab), Some(scene)) = (&self.grab, self.live.scene.clone()) else { return };
        let (hit, name) = (grab.hit, grab.body.clone());
        let place = scene.model.bodies.iter().position(|body| body.name == name);
        let Some(place) = place else {
            self.act_on_pins(PinAction::Leave);
            self.tell(Severity::Info, format!("{name} is rigid: it stays held here until it is let go by the right button"));
            return;
        };
        let ball = ball_at(&scene.model, &hit, self.grip.radius);
        self.pin(&scene.model, BodyRef::Deformable(place as u32), &[ball]);
        self.cancel();
    }

    fn pin(&mut self, model: &Model, body: BodyRef, balls: &[Ball]) {
        let Some(document) = &self.document else { return };
        let name = base_name(model.body_name(body)).to_owned();
        let path = format!("body.{name}.fix");
        let value = with_pin(document.scene().given(&path).as_deref(), balls);
        self.edit(&[(path, value)], None);
    }

    fn unpin(&mut self, body: &str, part: usize) {
        let Some(document) = &self.document else { return };
        let path = format!("body.{body}.fix");
        let others: Vec<String> = (0..).map_while(|k| document.scene().given(&format!("{path}.{k}"))).collect();
        let kept: Vec<String> = others.into_iter().enumerate().filter(|(k, _)| *k != part).map(|(_, text)| text).collect();
        self.edit(&[(path, format!("[{}]", kept.join(", ")))], None);
    }

    fn unpin_all(&mut self, body: &str) {
        self.unpin_balls(body, |_| true);
    }

    /// Takes balls out of the pins of a body; false if there are none.
    fn unpin_balls(&mut self, body: &str, goes: impl Fn(&Ball) -> bool) -> bool {
        let left = without_balls(&self.fixed_parts(body), goes);
        left.is_some_and(|value| self.edit(&[(format!("body.{body}.fix"), value)], None))
    }

    /// The fixed parts of a body: as they are written, and what they are.
    fn fixed_parts(&self, body: &str) -> Vec<(String, Extent)> {
        let Some(document) = &self.document else { return vec![] };
        let texts = (0..).map_while(|k| document.scene().given(&format!("body.{body}.fix.{k}")));
        let fixed = document.scene().live_values().fixed.into_iter().find(|fixed| fixed.body == body);
        texts.zip(fixed.map_or(vec![], |fixed| fixed.parts)).collect()
    }

    /// A key is held down over the view: what the cursor passes is pinned, or with Shift what is in the frame that it
    /// spans; with Alt the pins there are taken away. Once it is let go all of it is one change.
    pub(super) fn paint_pins(&mut self, context: &egui::Context) {
        // A short press may begin and end between two frames.
        let is_down = |input: &egui::InputState| input.key_down(egui::Key::P) || input.key_pressed(egui::Key::P);
        let (is_down, at, press) = context.input(|input| (is_down(input), input.pointer.latest_pos(), pointer_at(input, true)));
        let (pressed_at, modifiers) = press.unwrap_or_else(|| (at, context.input(|input| input.modifiers)));
        let typing = context.text_edit_focused() || self.ui.is_modal();
        // A frame ends where the key is let go, even if the picture has not seen the way there.
        if let Some(stroke) = self.stroke.as_mut().filter(|stroke| stroke.corner.is_some())
            && let Some((Some(at), _)) = context.input(|input| pointer_at(input, false))
        {
            stroke.last = Some(at);
        }
        if self.grab.is_none() && is_down && !typing && !(modifiers.ctrl || modifiers.command) {
            let moved = |last: Pos2| at.is_some_and(|at| at.distance(last) > 4.0);
            if let Some(at) = at
                && self.is_over_view(context, at)
                && self.stroke.as_ref().is_none_or(|stroke| stroke.last.is_none_or(moved))
            {
                let corner = pressed_at.filter(|_| modifiers.shift);
                let stroke = self.stroke.get_or_insert_with(|| Stroke { unpins: modifiers.alt, corner, ..Stroke::default() });
                stroke.last = Some(at);
                if stroke.corner.is_none() {
                    self.lookup.ask(Question::Pin(self.ray(at)));
                }
            }
        } else if !is_down
            && !self.lookup.is_busy()
            && let Some(stroke) = self.stroke.take()
        {
            if let Some(frame) = stroke.frame() {
                self.lookup.ask(Question::PinFrame { frame, unpins: stroke.unpins });
                context.request_repaint();
            } else if let (true, Some(name)) = (stroke.unpins, &stroke.body) {
                let is_under =
                    |ball: &Ball| stroke.balls.iter().any(|brush| (ball.center - brush.center).norm() <= ball.radius.max(brush.radius));
                if !self.unpin_balls(base_name(name), is_under) {
                    self.tell(Severity::Info, "No pin is there".to_owned());
                }
            } else if let (Some(name), Some(scene)) = (stroke.body, self.shown.scene.clone())
                && let Some(place) = scene.model.bodies.iter().position(|body| body.name == name)
            {
                self.pin(&scene.model, BodyRef::Deformable(place as u32), &stroke.balls);
            }
        }
    }

    /// Pins what of the soft bodies appears in a part of the window, seen or not, or takes the pins away of which
    /// something appears there; if some bodies are selected, of these alone.
    pub(super) fn pin_frame(&mut self, found: &Found, frame: &Rect, unpins: bool) {
        let (Some(scene), Some(document)) = (&found.snapshot.scene, &self.document) else { return };
        let (model, selection) = (&scene.model, &self.ui.selection);
        let hidden = selection.hidden_bodies(model);
        let selected: Vec<BodyRef> = selection.bodies(model).into_iter().filter(|body| body.is_deformable()).collect();
        let is_meant = |body: &BodyRef| {
            let is_open = !hidden.contains(body) && !selection.is_locked(model.body_name(*body));
            is_open && (selected.is_empty() || selected.contains(body))
        };
        let meant: Vec<bool> = (0..model.bodies.len() as u32).map(|place| is_meant(&BodyRef::Deformable(place))).collect();
        let is_inside = |[x, y, z, _]: &[f32; 4]| {
            let place = self.viewpoint.camera.project(glam::Vec3::new(*x, *y, *z), self.viewport());
            place.is_some_and(|([x, y], _)| frame.contains(egui::pos2(x, y) / self.pixels_per_point))
        };
        let vertices = found.positions.iter().zip(&model.surface.bodies);
        let chosen: Vec<bool> = vertices.map(|(at, body)| meant[*body as usize] && is_inside(at)).collect();
        if chosen.len() < model.surface.bodies.len() {
            return; // positions that could not be read
        }
        let mut names: Vec<&str> = model.bodies.iter().map(|body| base_name(&body.name)).collect();
        names.sort_unstable();
        names.dedup();
        let fixed_with_frame = |name: &str, path: &str| {
            let balls = balls_around(model, name, &chosen);
            (!balls.is_empty()).then(|| with_pin(document.scene().given(path).as_deref(), &balls))
        };
        let changed = names.into_iter().filter_map(|name| {
            let path = format!("body.{name}.fix");
            let value = match unpins {
                true => without_balls(&self.fixed_parts(name), |ball| is_ball_chosen(model, name, &chosen, ball)),
                false => fixed_with_frame(name, &path),
            };
            Some((path, value?))
        });
        let changed: Vec<(String, String)> = changed.collect();
        if changed.is_empty() {
            let told = if unpins { "Nothing of a pin is in the frame" } else { "Nothing of a soft body is in the frame" };
            self.tell(Severity::Info, told.to_owned());
        } else {
            self.edit(&changed, None);
        }
    }

    /// What the stroke has come to.
    pub(super) fn paint_pin(&mut self, found: &Found, hit: Option<(Hit, BodyRef)>) {
        let (Some(scene), Some(stroke)) = (&found.snapshot.scene, &mut self.stroke) else { return };
        let Some((hit, body)) = hit.filter(|(_, body)| body.is_deformable()) else { return };
        let name = scene.model.body_name(body);
        if self.ui.selection.is_locked(name) || stroke.body.as_ref().is_some_and(|known| known != name) {
            return;
        }
        let ball = ball_at(&scene.model, &hit, self.grip.radius);
        // One that is nearly there already adds nothing.
        if stroke.balls.iter().all(|known| (known.center - ball.center).norm() > 0.5 * ball.radius) {
            stroke.body = Some(name.to_owned());
            stroke.balls.push(ball);
        }
    }

    /// The name in the scene of a body of the simulation.
    fn shown_body(&self, name: &str) -> String {
        self.document.as_ref().map_or_else(|| name.to_owned(), |document| document.labels().shown("body", name))
    }

    /// The pin that holds what was clicked, though none of its nodes is there: elements may be large.
    fn pin_around_spot<'a>(&self, pins: &'a [PinMark]) -> Option<(f32, &'a PinMark)> {
        let (model, hit, body) = self.spot.as_ref()?;
        let (name, at_rest) = (base_name(model.body_name(*body)), rest_point(model, hit));
        let around = pins.iter().filter(|pin| self.shown_body(&pin.body) == name).map(|pin| (pin.nearness(&at_rest) as f32, pin));
        around.filter(|(nearness, _)| *nearness <= 1.0).min_by(|(a, _), (b, _)| a.total_cmp(b))
    }

    /// The pin, and the number of the grab, near a point of the window.
    pub(super) fn near(&self, at: Pos2) -> (Option<(String, usize)>, Option<u32>) {
        let Some(view) = &self.shown.view else { return (None, None) };
        let distance = |point: &Vec3| {
            let ([x, y], _) = self.viewpoint.camera.project(stage::glam_vec(point), self.viewport())?;
            Some(egui::pos2(x / self.pixels_per_point, y / self.pixels_per_point).distance(at)).filter(|distance| *distance < NEAR)
        };
        let of_pin = |pin: &PinMark| pin.nodes.iter().filter_map(distance).min_by(f32::total_cmp);
        let pins = view.pins.iter().filter_map(|pin| Some((of_pin(pin)?, pin)));
        let pin = pins.min_by(|(a, _), (b, _)| a.total_cmp(b)).or_else(|| self.pin_around_spot(&view.pins));
        let pin = pin.map(|(_, pin)| (self.shown_body(&pin.body), pin.part));
        let grab = view
            .grabs
            .iter()
            .find(|grab| super::grabs::is_of_mouse(grab.id) && [grab.point, grab.target].iter().any(|p| distance(p).is_some()));
        (pin, grab.map(|grab| grab.id))
    }
}

/// Where the pointer was when P went down, or up, since the last picture, and what was held with it: a slow picture
/// brings all at once, and the pointer may have moved on since.
fn pointer_at(input: &egui::InputState, goes_down: bool) -> Option<(Option<Pos2>, egui::Modifiers)> {
    let mut at = input.pointer.latest_pos().map(|now| now - input.pointer.delta());
    for event in &input.events {
        match event {
            egui::Event::PointerMoved(to) => at = Some(*to),
            egui::Event::Key { key: egui::Key::P, pressed, repeat: false, modifiers, .. } if *pressed == goes_down => {
                return Some((at, *modifiers));
            }
            _ => {}
        }
    }
    None
}
