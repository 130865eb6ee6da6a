//! Painting with the brush: what the mouse passes of a soft body is made of another material, from the start.

use egui::{Event, Modifiers, PointerButton, Pos2};

use super::Session;
use super::lookup::{Found, Question};
use crate::app::brush::Stroke;
use crate::app::graphics::Graphics;
use crate::app::history::Rebuild;
use crate::app::pointer::Input;
use crate::app::tools::Tool;
use crate::app::ui::BrushMark;
use crate::app::worker::Severity;
use crate::body::BodyRef;
use crate::render::{Hit, palette};
use crate::sim::Field;
use crate::stage;

/// What the brush is about to do, and what it has done last.
#[derive(Default)]
pub struct Brushing {
    press: Option<Press>,
    /// The stroke under way, or one that is being built.
    stroke: Option<Stroke>,
    /// The stroke is not shown as it is yet.
    is_new: bool,
    /// How far from the eye what was under the cursor last is, along the line of sight [m], and where that was asked.
    depth: Option<f32>,
    asked: Option<Pos2>,
}

/// The button is held down, or answers about where it was are awaited.
struct Press {
    erases: bool,
    last: Pos2,
    /// It has met a body.
    paints: bool,
    is_over: bool,
}

/// Points between two places of the mouse are so far apart, as a part of the radius in the window, and no more of them
/// are looked up.
const SPACING: f32 = 0.5;
const MOST_POINTS: usize = 24;

impl Brushing {
    #[cfg(test)]
    pub(super) fn is_painting(&self) -> bool {
        self.stroke.is_some()
    }

    /// The stroke is built, or nothing comes of it.
    pub(super) fn forget(&mut self) {
        self.is_new = self.stroke.take().is_some();
    }
}

impl Session {
    pub(super) fn has_brush(&self) -> bool {
        self.ui.tool == Some(Tool::Brush)
    }

    /// Whether the brush takes a mouse event. A press is also one of the pointer, until it is known whether a body is
    /// there: beside bodies it turns the view.
    pub(super) fn brush_takes(&mut self, input: &Input, event: &Event) -> bool {
        if !self.has_brush() {
            return false;
        }
        let modifiers = if let Event::PointerButton { modifiers, .. } = event { *modifiers } else { Modifiers::NONE };
        match *input {
            Input::Press { button: PointerButton::Primary, at, .. } if self.pointer.is_idle() && self.brushing.press.is_none() => {
                let erases = self.ui.brush.erases != (modifiers.alt || modifiers.command);
                self.brushing.press = Some(Press { erases, last: at, paints: false, is_over: false });
                self.lookup.ask(Question::Brush(self.ray(at)));
                false
            }
            Input::Press { .. } => self.brushing.press.is_some(),
            Input::Move { to, .. } => {
                self.brush_to(to);
                false
            }
            Input::Release { button: PointerButton::Primary } => {
                self.brushing.press.iter_mut().for_each(|press| press.is_over = true);
                false
            }
            Input::Wheel { notches, widens: true, .. } => {
                self.ui.brush.widen(notches);
                self.log.say(format_args!("brush radius={:.5}", self.ui.brush.radius));
                true
            }
            Input::Release { .. } | Input::Wheel { .. } | Input::Cancel => false,
        }
    }

    /// Looks up what is on the way of the mouse.
    fn brush_to(&mut self, to: Pos2) {
        let spacing = self.brush_mark(to).map_or(4.0, |mark| (SPACING * mark.radius).max(2.0));
        let Some(press) = self.brushing.press.as_mut().filter(|press| !press.is_over) else { return };
        let from = std::mem::replace(&mut press.last, to);
        let n = ((from.distance(to) / spacing).ceil() as usize).clamp(1, MOST_POINTS);
        for k in 1..=n {
            let ray = self.ray(from.lerp(to, k as f32 / n as f32));
            self.lookup.ask(Question::Brush(ray));
        }
    }

    /// What a point of the way of the mouse has come to.
    pub(super) fn brush_at(&mut self, found: &Found, hit: Option<(Hit, BodyRef)>) {
        let (Some(scene), Some(press)) = (&found.snapshot.scene, &mut self.brushing.press) else { return };
        let model = &scene.model;
        let soft = hit.filter(|(_, body)| body.is_deformable());
        let radius = self.ui.brush.radius;
        if press.paints {
            if let (Some((hit, body)), Some(stroke)) = (soft, &mut self.brushing.stroke)
                && stroke.is_on(model, body.index())
            {
                self.brushing.is_new |= stroke.dab(&hit, body.index(), radius);
            }
            return;
        }
        let soft = soft.filter(|(_, body)| !self.ui.selection.is_locked(model.body_name(*body)));
        let material = if press.erases { None } else { self.ui.brush.material.clone() };
        let can_paint = press.erases || material.is_some();
        let Some((hit, body)) = soft.filter(|_| can_paint) else {
            self.brushing.press = None;
            if soft.is_some() {
                self.tell(Severity::Info, "The scene has no material to paint with: add one (Add, above the list of the scene)".into());
            } else if let Some((_, body)) = hit {
                let why = if body.is_deformable() { "is locked" } else { "keeps its shape: only soft bodies are painted" };
                self.tell(Severity::Info, format!("{} {why}", model.body_name(body)));
            }
            if let Some(effect) = self.pointer.picked(false) {
                self.apply_effect(effect);
            }
            return;
        };
        press.paints = true;
        self.pointer.handle(Input::Cancel);
        let mut stroke = Stroke::new(model, body.index(), material);
        stroke.dab(&hit, body.index(), radius);
        (self.brushing.stroke, self.brushing.is_new) = (Some(stroke), true);
    }

    /// How far what is under the cursor is: the brush is as large as it would be there.
    pub(super) fn brush_over(&mut self, hit: Option<(Hit, BodyRef)>) {
        let Some((hit, _)) = hit else { return };
        self.brushing.depth = self.viewpoint.camera.project(stage::glam_vec(&hit.point), self.viewport()).map(|(_, depth)| depth);
    }

    /// Once in a frame: shows what is painted, and ends a stroke that is over, which is one change of the scene.
    pub(super) fn look_at_brush(&mut self, context: &egui::Context, graphics: &mut Graphics) {
        if !self.has_brush() {
            // Put away in the middle of a stroke.
            self.cancel_brush();
        } else if self.brushing.press.is_none()
            && let Some(at) = context.input(|input| input.pointer.latest_pos())
            && self.brushing.asked != Some(at)
            && !self.lookup.is_busy()
            && self.is_over_view(context, at)
        {
            self.brushing.asked = Some(at);
            self.lookup.ask(Question::BrushOver(self.ray(at)));
            context.request_repaint();
        }
        let is_over = self.brushing.press.as_ref().is_some_and(|press| press.is_over) && !self.lookup.is_busy();
        if is_over && self.brushing.press.take().is_some_and(|press| press.paints) {
            self.paint();
        }
        if std::mem::take(&mut self.brushing.is_new) {
            self.placed += 1;
            if let Err(error) = self.color(graphics) {
                self.tell(Severity::Error, error);
            }
            context.request_repaint();
        }
    }

    fn paint(&mut self) {
        let (Some(stroke), Some(document)) = (&self.brushing.stroke, &self.document) else { return self.brushing.forget() };
        let path = format!("body.{}.region", stroke.body_name());
        let Some(regions) = stroke.regions(document.scene()) else {
            let told = if stroke.erases() { "Nothing is painted there" } else { "That is painted there already" };
            self.tell(Severity::Info, told.to_owned());
            return self.brushing.forget();
        };
        if self.change(&[(path, regions)], None) {
            self.build_anew(Rebuild::Change);
        } else {
            self.brushing.forget();
        }
    }

    /// The button may never be released.
    pub(super) fn cancel_brush(&mut self) {
        if self.brushing.press.take().is_some_and(|press| press.paints) {
            self.brushing.forget();
        }
    }

    /// Gives what is painted its colour before it is built: places in the table of colours, of vertices and tets.
    pub(super) fn color_stroke(&self, field: Field, vertices: &mut [u8], tets: &mut [u8]) {
        if let (Field::Material, Some(stroke)) = (field, &self.brushing.stroke) {
            stroke.show(vertices, tets);
        }
    }

    /// The brush as it is drawn under the mouse.
    pub(super) fn brush_mark_at_mouse(&self, context: &egui::Context) -> Option<BrushMark> {
        let at = context.input(|input| input.pointer.latest_pos()).filter(|at| self.has_brush() && self.is_over_view(context, *at))?;
        self.brush_mark(at)
    }

    /// The same at a point of the window; none before it is known how far bodies are.
    fn brush_mark(&self, at: Pos2) -> Option<BrushMark> {
        let (camera, viewport, scene) = (&self.viewpoint.camera, self.viewport(), self.shown.scene.as_ref()?);
        let (ray, forward) = (self.ray(at), camera.forward());
        let along = self.brushing.depth? / stage::glam_vec(&ray.direction).dot(forward);
        let middle = stage::glam_vec(&ray.at(f64::from(along)));
        let aside = middle + camera.right_up().0 * self.ui.brush.radius as f32;
        let ([x, _], [x_aside, _]) = (camera.project(middle, viewport)?.0, camera.project(aside, viewport)?.0);
        let named = &scene.model.named_materials;
        let place = |material: &String| named.iter().position(|named| named.name == *material).unwrap_or(named.len());
        let color = self.ui.brush.material.as_ref().filter(|_| !self.ui.brush.erases).map(|material| palette(place(material)));
        Some(BrushMark { at, radius: (x_aside - x).abs() / self.pixels_per_point, color })
    }
}
