//! Bodies held by the mouse.

use egui::{Pos2, pos2};

use super::Session;
use crate::app::engine::SceneInfo;
use crate::app::ui::GrabMark;
use crate::app::worker::Request;
use crate::body::BodyRef;
use crate::math::Vec3;
use crate::render::Hit;
use crate::sim::Command;
use crate::stage;

/// A body held by the mouse.
pub struct Grab {
    pub id: u32,
    generation: u64,
    pub body: String,
    hit: Hit,
    /// Distance of the hit along the line of sight [m].
    depth: f64,
    target: Vec3,
}

impl Session {
    /// `body` moves freely, and `hit` is a triangle in its mesh.
    pub(super) fn start_grab(&mut self, scene: &SceneInfo, hit: Hit, body: BodyRef) {
        self.n_grabs = self.n_grabs.wrapping_add(1);
        let depth = (hit.point - double(self.viewpoint.camera.eye())).dot(&double(self.viewpoint.camera.forward()));
        let model = &scene.model;
        let name = model.body_name(body).to_owned();
        // As commands count triangles.
        let first = if body.is_deformable() { 0 } else { model.first_held_triangle(body.index()) };
        let triangle = first + hit.triangle;
        self.log.say(format_args!("grab body={name} triangle={triangle} point={:.4},{:.4},{:.4}", hit.point.x, hit.point.y, hit.point.z));
        let grab = Grab { id: self.n_grabs, generation: scene.generation, body: name, hit, depth, target: hit.point };
        let command = Command::Grab { id: grab.id, triangle: triangle as u32, barycentric: hit.barycentric, target: grab.target };
        self.grab = Some(grab);
        self.command(command);
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

    /// The grab as it is drawn: where the point is now, and where the cursor pulls it.
    pub(super) fn grab_mark(&self) -> Option<GrabMark> {
        let grab = self.grab.as_ref()?;
        let held = self.shown.view.as_ref().and_then(|view| view.grabs.iter().find(|held| held.id == grab.id));
        let on_screen = |p: &Vec3| {
            let ([x, y], _) = self.viewpoint.camera.project(stage::glam_vec(p), self.viewport())?;
            Some(pos2(x / self.pixels_per_point, y / self.pixels_per_point))
        };
        Some(GrabMark {
            point: on_screen(&held.map_or(grab.hit.point, |held| held.point))?,
            target: on_screen(&grab.target)?,
            force: held.map(|held| held.force.norm()),
        })
    }
}

fn double(v: glam::Vec3) -> Vec3 {
    Vec3::new(v.x.into(), v.y.into(), v.z.into())
}
