//! Bodies held by the mouse.

use egui::{Pos2, pos2};

use super::Session;
use crate::app::engine::SceneInfo;
use crate::app::ui::GrabMark;
use crate::app::worker::Request;
use crate::body::BodyRef;
use crate::math::Vec3;
use crate::render::Hit;
use crate::sim::{Command, Grip};
use crate::stage;

/// A body held by the mouse.
pub struct Grab {
    pub id: u32,
    generation: u64,
    is_soft: bool,
    pub body: String,
    pub hit: Hit,
    /// Distance of the hit along the line of sight [m].
    depth: f64,
    target: Vec3,
}

impl Session {
    /// `body` moves freely, and `hit` is a triangle in its mesh.
    pub(super) fn start_grab(&mut self, scene: &SceneInfo, hit: Hit, body: BodyRef) {
        // Above those that a repeated session has left.
        let left = self.live.view.iter().flat_map(|view| &view.grabs).map(|grab| grab.id).filter(|id| is_of_mouse(*id)).max();
        self.n_grabs = self.n_grabs.max(left.unwrap_or(0)).wrapping_add(1);
        let depth = (hit.point - double(self.viewpoint.camera.eye())).dot(&double(self.viewpoint.camera.forward()));
        let model = &scene.model;
        let name = model.body_name(body).to_owned();
        // As commands count triangles.
        let first = if body.is_deformable() { 0 } else { model.first_held_triangle(body.index()) };
        let triangle = first + hit.triangle;
        self.log.say(format_args!("grab body={name} triangle={triangle} point={:.4},{:.4},{:.4}", hit.point.x, hit.point.y, hit.point.z));
        let grab = Grab {
            id: self.n_grabs,
            generation: scene.generation,
            is_soft: body.is_deformable(),
            body: name,
            hit,
            depth,
            target: hit.point,
        };
        let command = Command::Grab { id: grab.id, triangle: triangle as u32, barycentric: hit.barycentric, target: grab.target };
        let id = grab.id;
        self.grab = Some(grab);
        self.command(command);
        if self.grip != Grip::default() {
            self.command(Command::Grip { id, grip: self.grip });
        }
    }

    /// How the mouse holds from now on, and what it holds now.
    pub(super) fn set_grip(&mut self, grip: Grip) {
        self.grip = grip;
        self.log.say(format_args!("grip radius={:.4} firm={}", grip.radius, grip.firm));
        if let Some(grab) = &self.grab {
            self.worker.send(Request::Command(grab.generation, Command::Grip { id: grab.id, grip }));
        }
    }

    /// Holds more or less around the point.
    pub(super) fn widen_grip(&mut self, notches: f32) {
        let Some(grab) = &self.grab else { return };
        // In parts of what can be seen.
        let seen = grab.depth * f64::from(0.5 * self.viewpoint.camera.fov_y).tan();
        let (least, most) = (0.02 * seen, seen);
        let radius = match self.grip.radius {
            radius if radius < least && notches > 0.0 => least,
            radius => radius * f64::from(notches * 0.2).exp(),
        };
        let radius = if radius < 0.99 * least { 0.0 } else { radius.min(most) };
        self.set_grip(Grip { radius, ..self.grip });
    }

    /// To where the ray through `at` meets the plane through the hit, parallel to the view, `scale` times as far away.
    pub(super) fn move_grab(&mut self, at: Pos2, scale: f64) {
        let ray = self.ray(at);
        let forward = double(self.viewpoint.camera.forward());
        if let Some(grab) = &mut self.grab {
            grab.target = ray.at(grab.depth * scale / ray.direction.dot(&forward));
            let command = Command::MoveGrab { id: grab.id, target: grab.target };
            self.worker.send(Request::Command(grab.generation, command));
        }
    }

    pub(super) fn release_grab(&mut self) {
        if let Some(grab) = self.grab.take() {
            self.log.say(format_args!("release body={}", grab.body));
            self.worker.send(Request::Command(grab.generation, Command::ReleaseGrab { id: grab.id }));
        }
    }

    /// The grabs as they are drawn: where the points are now, and where they are pulled. That of the mouse is the
    /// first.
    pub(super) fn grab_marks(&self) -> Vec<GrabMark> {
        let on_screen = |p: &Vec3| {
            let ([x, y], _) = self.viewpoint.camera.project(stage::glam_vec(p), self.viewport())?;
            Some(pos2(x / self.pixels_per_point, y / self.pixels_per_point))
        };
        let all = || self.shown.view.iter().flat_map(|view| &view.grabs).filter(|held| is_of_mouse(held.id));
        let of_mouse = self.grab.as_ref().and_then(|grab| {
            let held = all().find(|held| held.id == grab.id);
            let point = held.map_or(grab.hit.point, |held| held.point);
            let aside = stage::glam_vec(&point) + self.viewpoint.camera.right_up().0 * self.grip.radius as f32;
            let (aside, point) = (self.viewpoint.camera.project(aside, self.viewport()), on_screen(&point)?);
            let radius = aside.map_or(0.0, |([x, y], _)| (pos2(x, y) / self.pixels_per_point).distance(point));
            let is_wide = self.grip.radius > 0.0 && grab.is_soft;
            let (target, force) = (on_screen(&grab.target)?, held.map(|held| held.force.norm()));
            Some(GrabMark { point, target, force, radius: if is_wide { radius } else { 0.0 } })
        });
        let of_others = all().filter(|held| self.grab.as_ref().is_none_or(|grab| grab.id != held.id)).filter_map(|held| {
            Some(GrabMark { point: on_screen(&held.point)?, target: on_screen(&held.target)?, force: Some(held.force.norm()), radius: 0.0 })
        });
        of_mouse.into_iter().chain(of_others).collect()
    }
}

/// Grabs that the scene itself has count down from the highest number.
pub fn is_of_mouse(id: u32) -> bool {
    id < u32::MAX / 2
}

fn double(v: glam::Vec3) -> Vec3 {
    Vec3::new(v.x.into(), v.y.into(), v.z.into())
}
