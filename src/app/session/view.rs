//! The mouse over the 3D view, and what lies under it.

use egui::Pos2;

use super::Session;
use super::bodies::obstacle_bounds;
use super::lookup::{self, Found, Question};
use crate::app::graphics::Graphics;
use crate::app::pointer::Input;
use crate::body::BodyRef;
use crate::render::Ray;

impl Session {
    pub(super) fn pointer_input(&self, context: &egui::Context, event: &egui::Event) -> Option<Input> {
        match *event {
            egui::Event::PointerButton { pos, button, pressed: true, modifiers } => {
                let time = context.input(|i| i.time);
                self.is_over_view(context, pos).then_some(Input::Press { button, at: pos, shift: modifiers.shift, time })
            }
            egui::Event::PointerButton { button, pressed: false, .. } => Some(Input::Release { button }),
            egui::Event::PointerMoved(to) => Some(Input::Move { to, shift: context.input(|i| i.modifiers.shift) }),
            egui::Event::MouseWheel { unit, delta, modifiers, .. } if !modifiers.ctrl || self.pointer.is_grabbing() || self.has_brush() => {
                let at = context.input(|i| i.pointer.latest_pos())?;
                let notches = if unit == egui::MouseWheelUnit::Point { delta.y / 50.0 } else { delta.y };
                self.is_over_view(context, at).then_some(Input::Wheel { at, notches, widens: modifiers.ctrl })
            }
            _ => None,
        }
    }

    /// Whether the view, and nothing over it, is there.
    pub(super) fn is_over_view(&self, context: &egui::Context, at: Pos2) -> bool {
        let over = context.layer_id_at(at).is_some_and(|layer| layer.order != egui::Order::Background);
        self.view.contains(at)
            && !over
            && !self.ui.is_modal()
            && self.ui.menu.is_none()
            && !self.ui.start_open
            && !egui::Popup::is_any_open(context)
    }

    pub(super) fn pixel(&self, at: Pos2) -> [f32; 2] {
        [at.x * self.pixels_per_point, at.y * self.pixels_per_point]
    }

    pub(super) fn ray(&self, at: Pos2) -> Ray {
        self.viewpoint.camera.ray(self.pixel(at), self.viewport())
    }

    /// Answers questions that wait for positions.
    pub(super) fn answer(&mut self, graphics: &Graphics, context: &egui::Context) {
        let (device, queue) = (&graphics.device.device, &graphics.device.queue);
        if let Some(found) = self.lookup.poll(&self.shown, device, queue) {
            for question in &found.questions {
                self.answer_one(*question, &found);
            }
            context.request_repaint();
        }
        if self.lookup.is_busy() {
            context.request_repaint();
        }
    }

    pub(super) fn answer_one(&mut self, question: Question, found: &Found) {
        let (Some(scene), Some(view)) = (&found.snapshot.scene, &found.snapshot.view) else { return };
        let (model, positions, poses) = (&scene.model, &found.positions, &view.rigid_poses);
        let all_poses = [&poses[..], &view.obstacle_poses];
        match question {
            Question::Grab(ray) => {
                if !self.pointer.awaits_pick() {
                    return;
                }
                let hidden = self.ui.selection.hidden_bodies(model);
                let can_be_held = |body: BodyRef| model.is_movable(body) && !self.ui.selection.is_locked(model.body_name(body));
                let hit = lookup::hit_body(model, positions, all_poses, &hidden, &ray).filter(|(_, body)| can_be_held(*body));
                if let Some((hit, body)) = &hit {
                    self.start_grab(scene, *hit, *body);
                }
                if let Some(effect) = self.pointer.picked(hit.is_some()) {
                    self.apply_effect(effect);
                }
            }
            Question::Select { ray, several } => {
                let hit = self.hit(found, &ray, false).filter(|body| !self.ui.selection.is_locked(model.body_name(*body)));
                self.select_at(model, hit, several);
            }
            Question::Menu { ray, at } => {
                let hidden = self.ui.selection.hidden_bodies(model);
                let at_point = lookup::hit_body(model, positions, all_poses, &hidden, &ray);
                let hit = self.hit(found, &ray, true);
                self.spot = at_point.filter(|(_, body)| body.is_deformable()).map(|(hit, body)| (model.clone(), hit, body));
                self.open_menu(model, hit, at);
            }
            Question::Pin(ray) => {
                let hidden = self.ui.selection.hidden_bodies(model);
                self.paint_pin(found, lookup::hit_body(model, positions, all_poses, &hidden, &ray));
            }
            Question::Brush(ray) | Question::BrushOver(ray) => {
                let hidden = self.ui.selection.hidden_bodies(model);
                let hit = lookup::hit_body(model, positions, all_poses, &hidden, &ray);
                if matches!(question, Question::Brush(_)) { self.brush_at(found, hit) } else { self.brush_over(hit) }
            }
            Question::PinFrame { frame, unpins } => self.pin_frame(found, &frame, unpins),
            Question::FrameSelected => {
                let bodies = self.ui.selection.bodies(model);
                let mut bounds = lookup::bounds_of(model, positions, poses, bodies.iter().copied());
                for body in bodies {
                    if let BodyRef::Obstacle(place) = body
                        && let Some(pose) = view.obstacle_poses.get(place as usize)
                        && let Some(more) = obstacle_bounds(&model.obstacles[place as usize], pose)
                    {
                        bounds = bounds.joined(more);
                    }
                }
                if bounds.min.x <= bounds.max.x {
                    self.fly_to(&bounds);
                }
            }
            Question::Point(ray) => self.set_point(found, &ray),
            Question::FrameAt(ray) => {
                let hidden = self.ui.selection.hidden_bodies(model);
                let hit = lookup::hit_body(model, positions, all_poses, &hidden, &ray);
                self.fly_to(&match hit {
                    Some((_, body)) => lookup::bounds(model, positions, poses, body),
                    None => lookup::bounds_of_all(model, positions, poses),
                });
            }
            Question::FrameBodies { first, count } => {
                let bodies = (first..first + count).map(|number| model.numbering().body(number));
                self.fly_to(&lookup::bounds_of(model, positions, poses, bodies));
            }
            Question::FrameAll => self.fly_to(&lookup::bounds_of_all(model, positions, poses)),
            Question::Follow => self.keep_in_view(&lookup::bounds_of_all(model, positions, poses)),
        }
    }
}
