//! Bodies that are selected in the view, and how it shows which ones are.

use super::Session;
use super::lookup::{Found, hit_body, hit_obstacle};
use crate::app::graphics::Graphics;
use crate::app::selection::{Item, Pick};
use crate::app::ui::Hint;
use crate::body::BodyRef;
use crate::geometry::Shape;
use crate::model::Model;
use crate::render::{Marked, Ray};

impl Session {
    /// The first body under the ray that is shown, of exact shape or not; planes are the ground, which a click does not
    /// pick but a menu may be about.
    pub(super) fn hit(&self, found: &Found, ray: &Ray, picks_planes: bool) -> Option<BodyRef> {
        let (scene, view) = (found.snapshot.scene.as_ref()?, found.snapshot.view.as_ref()?);
        let hidden = self.ui.selection.hidden_bodies(&scene.model);
        let poses = [&view.rigid_poses[..], &view.obstacle_poses];
        let with_mesh = hit_body(&scene.model, &found.positions, poses, &hidden, ray).map(|(_, body)| body);
        // Whatever hides the bodies with a mesh is an obstacle.
        let obstacle = || hit_obstacle(&scene.model, poses[1], &hidden, ray).map(|(_, body)| body);
        with_mesh.or_else(|| obstacle().filter(|body| picks_planes || !is_plane(&scene.model, *body)))
    }

    /// Selects a body that was clicked, or nothing.
    pub(super) fn select_at(&mut self, model: &Model, hit: Option<BodyRef>, several: bool) {
        match hit {
            Some(body) => {
                self.ui.hints.did(Hint::Select);
                let item = Item::body(model.body_name(body));
                self.ui.selection.pick(&item, if several { Pick::Toggle } else { Pick::Only }, &[]);
            }
            None if several => {}
            None => {
                self.ui.selection.clear();
            }
        }
    }

    /// Tells the renderer and undo what is selected and hidden, if that has changed.
    pub(super) fn mark_selection(&mut self, graphics: &mut Graphics) {
        self.note_sight();
        let Some(scene) = &self.shown.scene else { return };
        let version = self.ui.selection.version + 1;
        if scene.generation != self.staged || std::mem::replace(&mut self.marked, version) == version {
            return;
        }
        let (selection, model) = (&self.ui.selection, &scene.model);
        let places = |bodies: Vec<BodyRef>| {
            let soft = bodies.iter().filter(|body| body.is_deformable()).map(|body| body.index()).collect();
            let rigid = bodies.iter().filter_map(|body| match body {
                BodyRef::Rigid(place) => Some(*place as usize),
                BodyRef::Obstacle(place) => Some(model.rigid_bodies.len() + *place as usize),
                BodyRef::Deformable(_) | BodyRef::World => None,
            });
            Marked { soft, rigid: rigid.collect() }
        };
        graphics.renderer.set_marked(places(selection.bodies(model)), places(selection.hidden_bodies(model)));
        self.placed += 1;
        let names: Vec<String> =
            selection.items().iter().map(|item| item.copy.map_or(item.path.clone(), |copy| format!("{}[{copy}]", item.path))).collect();
        self.log.say(format_args!("selected {}", names.join(" ")));
    }
}

pub(super) fn is_plane(model: &Model, body: BodyRef) -> bool {
    matches!(body, BodyRef::Obstacle(place) if model.obstacles[place as usize].shape == Shape::Plane)
}
