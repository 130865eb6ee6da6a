//! What the window does with its camera.

use super::Session;
use super::lookup::{self, Question};
use super::viewpoint::{Home, Room, Viewpoint};
use crate::app::engine::SceneInfo;
use crate::app::pointer::Effect;
use crate::app::ui::{CameraAction, Hint};
use crate::app::views::NamedView;
use crate::app::worker::Severity;
use crate::geometry::Shape;
use crate::math::{Aabb, Vec3};
use crate::model::{Mobility, Model, Obstacle};

/// Height of the level floor [m].
fn floor(model: &Model) -> Option<f64> {
    let is_level = |pose: &crate::math::Isometry| pose.transform_vector(&Vec3::y()).y > 0.9999;
    let plane = model.obstacles.iter().find(|obstacle| obstacle.shape == Shape::Plane && is_level(&obstacle.pose));
    plane.map(|plane| plane.pose.translation.y).or_else(|| level_top(model))
}

/// Height of the highest body that stands still below all that is free, reaches further to all sides, and is level at
/// its top: a table, or a box as the ground [m].
fn level_top(model: &Model) -> Option<f64> {
    let free = model.rigid_bodies.iter().filter(|body| body.is_free()).flat_map(|body| body.positions(&body.pose));
    let free = Aabb::of(&model.rest_positions.iter().copied().chain(free).collect::<Vec<_>>());
    let top = |points: Vec<Vec3>| {
        let bounds = Aabb::of(&points);
        let is_below = bounds.max.y <= free.min.y;
        let is_wide = [0, 2].into_iter().all(|k| bounds.min[k] <= free.min[k] && bounds.max[k] >= free.max[k]);
        let at_top = points.iter().filter(|point| bounds.max.y - point.y < 1e-6 * bounds.extent().norm()).count();
        (is_below && is_wide && at_top > 3).then_some(bounds.max.y)
    };
    let still = model.rigid_bodies.iter().filter(|body| matches!(body.mobility, Mobility::Driven(None)));
    let boxes = model.obstacles.iter().filter(|obstacle| obstacle.motion.is_none()).filter_map(corners_of_box);
    still.map(|body| body.positions(&body.pose).collect()).chain(boxes).filter_map(top).reduce(f64::max)
}

fn corners_of_box(obstacle: &Obstacle) -> Option<Vec<Vec3>> {
    let Shape::Box { half_extents } = obstacle.shape else { return None };
    let corner = |i: usize| Vec3::from_fn(|axis, _| if i >> axis & 1 == 1 { half_extents[axis] } else { -half_extents[axis] });
    Some((0..8).map(|i| (obstacle.pose * nalgebra::Point3::from(corner(i))).coords).collect())
}

/// Bodies that are further above the floor than so many times their size are followed on their way down.
const LONGEST_DROP: f64 = 3.0;

/// The box around where bodies start, and around where they land.
fn start_and_landing(model: &Model) -> Aabb {
    let positions: Vec<[f32; 4]> = model.surface_positions(&model.rest_positions).iter().map(crate::stage::vertex).collect();
    let poses: Vec<_> = model.rigid_bodies.iter().map(|body| body.pose).collect();
    let start = lookup::bounds_of_all(model, &positions, &poses);
    let Some(height) = floor(model).filter(|height| *height < start.min.y) else { return start };
    let drop = (start.min.y - height).min(LONGEST_DROP * start.extent().max());
    start.with(&(start.min - Vec3::y() * drop))
}

fn home(scene: &SceneInfo) -> Home {
    if scene.has_camera { Home::Given(scene.camera) } else { Home::Framed(scene.camera, start_and_landing(&scene.model)) }
}

/// The values of `[camera]` as the scene gives them.
fn camera_values(scene: &SceneInfo) -> Vec<Option<String>> {
    let keys = ["target", "eye", "distance", "azimuth", "elevation", "field_of_view"];
    keys.iter().map(|key| scene.scene.as_ref()?.given(&format!("camera.{key}"))).collect()
}

/// Whether a mesh became smaller or larger, or was turned, so that its view no longer fits.
fn is_of_another_size(before: &SceneInfo, now: &SceneInfo) -> bool {
    let extent = |scene: &SceneInfo| Aabb::of(&scene.model.rest_positions).extent();
    now.import.is_some() && (extent(before) - extent(now)).norm() > 0.2 * extent(now).norm()
}

impl Session {
    /// The view of another scene.
    pub(super) fn open_view(&mut self, scene: &SceneInfo) {
        self.viewpoint = Viewpoint::new(home(scene));
        self.place_camera();
    }

    /// The same scene was read or built again: the camera stays where it is, unless its values were changed or what it
    /// shows has another size; Home leads to the view as it is now.
    pub(super) fn keep_view(&mut self, before: &SceneInfo, scene: &SceneInfo) {
        self.viewpoint.renew_home(home(scene));
        if camera_values(before) != camera_values(scene) {
            self.act_on_camera(CameraAction::Home);
        } else if is_of_another_size(before, scene) {
            self.fly_to(&start_and_landing(&scene.model));
        }
    }

    /// The view and what of it is free [px].
    pub(super) fn room(&self) -> Room {
        let [x, y, width, height] = self.viewport();
        let p = self.pixels_per_point;
        let corner = |at: egui::Pos2| [at.x * p - x as f32, at.y * p - y as f32];
        Room { size: [width as f32, height as f32], free: [corner(self.free.min), corner(self.free.max)] }
    }

    /// Before a picture is drawn; true while the camera flies.
    pub(super) fn place_camera(&mut self) -> bool {
        let room = self.room();
        let flies = self.viewpoint.advance(&room);
        if flies && !self.viewpoint.is_flying() {
            self.log_camera();
        }
        flies
    }

    fn log_camera(&self) {
        let camera = &self.viewpoint.camera;
        let [azimuth, elevation] = [camera.azimuth, camera.elevation].map(f32::to_degrees);
        let kind = if camera.is_parallel() { "parallel" } else { "perspective" };
        self.log.say(format_args!("camera {kind} azimuth={azimuth:.1} elevation={elevation:.1} height={:.4}", camera.height()));
    }

    pub(super) fn apply_effect(&mut self, effect: Effect) {
        let viewport = self.viewport();
        match effect {
            // It is known later whether the brush has met a body.
            Effect::Pick(_) | Effect::FrameAt(_) if self.has_brush() => {}
            // With a tool in hand nothing is grabbed.
            Effect::Pick(_) if self.ui.tool.is_some() => {
                self.pointer.picked(false);
            }
            Effect::Pick(at) => {
                self.viewpoint.leave();
                self.lookup.ask(Question::Grab(self.ray(at)));
            }
            Effect::FrameAt(at) => self.lookup.ask(Question::FrameAt(self.ray(at))),
            Effect::MoveGrab { at, depth } => {
                self.ui.hints.did(Hint::Pull);
                self.move_grab(at, f64::from(depth));
            }
            Effect::ReleaseGrab => self.release_grab(),
            Effect::Widen(notches) => self.widen_grip(notches),
            Effect::Orbit(delta) => {
                let turn = std::f32::consts::PI / self.view.height().max(1.0);
                let floor = self.shown.scene.as_ref().and_then(|scene| floor(&scene.model)).map(|height| height as f32);
                self.ui.hints.did(Hint::Turn);
                self.viewpoint.orbit(-delta.x * turn, delta.y * turn, floor);
            }
            Effect::Pan(delta) => {
                self.viewpoint.leave();
                self.viewpoint.camera.pan([delta.x * self.pixels_per_point, delta.y * self.pixels_per_point], viewport);
            }
            Effect::Zoom { at, notches } => {
                self.viewpoint.leave();
                let at = self.pixel(at);
                self.viewpoint.camera.zoom_to_cursor(0.88_f32.powf(notches), at, viewport);
            }
        }
    }

    pub(super) fn fly_to(&mut self, aabb: &Aabb) {
        let room = self.room();
        self.viewpoint.fly_to_box(aabb, &room);
    }

    pub(super) fn keep_in_view(&mut self, aabb: &Aabb) {
        let room = self.room();
        self.viewpoint.follow(aabb, &room);
    }

    /// What the views of the scene are kept under.
    pub(super) fn scene_key(&self) -> String {
        self.shown.scene.as_ref().map_or_else(String::new, |scene| scene.source.base().scene())
    }

    pub(super) fn act_on_camera(&mut self, action: CameraAction) {
        match action {
            CameraAction::Home => {
                let room = self.room();
                self.viewpoint.go_home(&room);
            }
            CameraAction::Along(view) => self.viewpoint.look_along(view),
            CameraAction::ToggleParallel => {
                self.viewpoint.toggle_parallel();
                self.log_camera();
            }
            CameraAction::Save(name) => {
                let time = self.shown.view.as_ref().map(|view| view.time);
                let view = NamedView::new(name, &self.viewpoint.camera, time);
                let key = self.scene_key();
                let saved = self.views.save(&key, view);
                saved.unwrap_or_else(|text| self.tell(Severity::Error, text));
            }
            CameraAction::Go(place) => {
                if let Some(camera) = self.views.of(&self.scene_key()).get(place).and_then(NamedView::camera) {
                    self.viewpoint.fly_to(camera);
                }
            }
            CameraAction::Delete(place) => {
                let key = self.scene_key();
                self.views.delete(&key, place).unwrap_or_else(|text| self.tell(Severity::Error, text));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Scene, build};

    fn floor_of(scene: &str, set: &[&str]) -> Option<f64> {
        let set: Vec<String> = set.iter().map(|text| (*text).to_owned()).collect();
        floor(&build(&Scene::load(scene, &set).unwrap()).unwrap().model)
    }

    #[test]
    fn a_plane_or_a_wide_box_is_the_floor() {
        assert_eq!(floor_of("bunny", &[]), Some(0.0));
        let boxed = |size: &str| {
            floor_of("bunny", &[&format!("body.floor.shape={{ type = \"box\", size = {size} }}"), "body.floor.position=[0.0, -0.3, 0.0]"])
        };
        let top = boxed("[4.0, 0.2, 4.0]").unwrap();
        assert!((top + 0.2).abs() < 1e-9, "{top}");
        assert_eq!(boxed("[0.1, 0.2, 0.1]"), None, "bodies fall past it");
        assert_eq!(floor_of("cantilever", &[]), None);
    }
}
