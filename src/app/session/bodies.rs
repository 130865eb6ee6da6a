//! Bodies that are added, copied, taken out, put back, hidden and locked.

use super::Session;
use super::lookup::Question;
use super::picking::is_plane;
use crate::app::selection::{Item, Pick, all_bodies};
use crate::app::ui::{BodyAction, ContextMenu, NewBody};
use crate::app::worker::Severity;
use crate::body::{BodyRef, base_name};
use crate::geometry::Shape;
use crate::math::{Aabb, Isometry, Vec3};
use crate::model::{Model, Obstacle};
use crate::sim::Command;

impl Session {
    pub(super) fn act_on_bodies(&mut self, action: BodyAction) {
        let Some(scene) = self.shown.scene.clone() else { return };
        let bodies = self.ui.selection.bodies(&scene.model);
        let names: Vec<String> = bodies.iter().map(|body| scene.model.body_name(*body).to_owned()).collect();
        let names = || names.iter().map(String::as_str);
        match action {
            BodyAction::FlyTo => self.lookup.ask(Question::FrameSelected),
            BodyAction::Hide(hide) => self.ui.selection.hide(names(), hide),
            BodyAction::HideOthers => {
                let others: Vec<&str> =
                    all_bodies(&scene.model).filter(|body| !bodies.contains(body)).map(|body| scene.model.body_name(body)).collect();
                self.ui.selection.hide(others, true);
                self.ui.selection.hide(names(), false);
            }
            BodyAction::ShowAll => self.ui.selection.show_all(),
            BodyAction::Lock(lock) => self.ui.selection.lock(names(), lock),
            BodyAction::UnlockAll => self.ui.selection.unlock_all(),
            BodyAction::PutBack => self.commands(names().map(|name| Command::PutBack { body: name.to_owned() }).collect()),
            BodyAction::Duplicate => self.duplicate(&scene.model),
            BodyAction::Delete => self.delete(),
            BodyAction::Add(body) => self.add(&scene.model, body),
        }
    }

    /// Opens the menu for what was clicked with the right button, which is selected by that.
    pub(super) fn open_menu(&mut self, model: &Model, hit: Option<BodyRef>, at: egui::Pos2) {
        let name = hit.map(|body| model.body_name(body));
        match name {
            Some(name) if self.ui.selection.items().iter().any(|item| item.is_of(name)) => {}
            _ => self.select_at(model, hit, false),
        }
        let (pin, held) = self.near(at);
        let can_pin = self.spot.is_some() && hit.is_some_and(|body| !self.ui.selection.is_locked(model.body_name(body)));
        let is_ground = hit.is_some_and(|body| is_plane(model, body));
        self.ui.menu = Some(ContextMenu { at, can_pin, pin, held, is_ground });
        self.log.say(format_args!("menu {}", name.unwrap_or("nothing")));
    }

    /// The scene's bodies that are selected and not locked, each once.
    fn selected_bodies(&mut self) -> Vec<String> {
        let (mut names, mut locked) = (vec![], None);
        for item in self.ui.selection.items() {
            let Some(name) = item.body_name() else { continue };
            if self.ui.selection.is_item_locked(item) {
                locked = Some(name.to_owned());
            } else if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        if let Some(name) = locked {
            self.tell(Severity::Info, format!("{name} is locked and stays as it is; unlock it in the list of the scene first"));
        }
        names
    }

    fn delete(&mut self) {
        let (names, mut values) = (self.selected_bodies(), self.selected_entries_out());
        values.extend(names.iter().map(|name| (format!("body.{name}"), String::new())));
        if !values.is_empty() && self.edit(&values, None) {
            self.ui.selection.clear();
            match names.is_empty() {
                true => self.tell(Severity::Info, "Deleted. Ctrl+Z takes it back".into()),
                false => self.tell_of_bodies(format!("{} deleted: the scene starts anew. Ctrl+Z takes it back", names.join(", "))),
            }
        }
    }

    fn duplicate(&mut self, model: &Model) {
        let names = self.selected_bodies();
        let Some(document) = &self.document else { return };
        let (mut scene, mut values, mut copies) = (document.scene().clone(), vec![], vec![]);
        let mut taken: Vec<Aabb> = all_bodies(model).filter_map(|body| start_bounds(model, body)).collect();
        for name in &names {
            let of_body = all_bodies(model).filter(|body| base_name(model.body_name(*body)) == name);
            let bounds = of_body.filter_map(|body| start_bounds(model, body)).fold(Aabb::EMPTY, |all, one| all.joined(one));
            let shift = free_shift(&bounds, &taken);
            let copy = scene.unused_body_name(name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_'));
            let Some(text) = scene.copy_of_body(name, &shift) else { continue };
            let value = (format!("body.{copy}"), text);
            if let Ok(more) = scene.edited(&[format!("{}={}", value.0, value.1)]) {
                scene = more;
            }
            taken.push(Aabb { min: bounds.min + shift, max: bounds.max + shift });
            values.push(value);
            copies.push(copy);
        }
        if !values.is_empty() && self.edit(&values, None) {
            self.select_new(&copies);
            self.tell_of_bodies(format!("{} added: the scene starts anew", copies.join(", ")));
        }
    }

    /// Tells what was done, unless it is still asked about.
    fn tell_of_bodies(&mut self, text: String) {
        if self.ui.lost_past.is_none() {
            self.tell(Severity::Info, text);
        }
    }

    fn select_new(&mut self, names: &[String]) {
        self.ui.selection.clear();
        for name in names {
            self.ui.selection.pick(&Item::table(format!("body.{name}")), Pick::Toggle, &[]);
        }
    }

    fn add(&mut self, model: &Model, body: NewBody) {
        let Some(document) = &self.document else { return };
        let (size, material) = (usual_size(model), document.scene().material_names().first().cloned());
        let name = document.scene().unused_body_name(&body.label().to_lowercase().replace(' ', "_"));
        let text = new_body(body, size, &free_place(model, 0.6 * size), material.as_deref());
        self.put_in(&name, &[(format!("body.{name}"), text)]);
    }

    /// Adds a body by these values; false where they are refused.
    pub(super) fn put_in(&mut self, name: &str, values: &[(String, String)]) -> bool {
        let is_added = self.edit(values, None);
        if is_added {
            self.select_new(&[name.to_owned()]);
            self.tell_of_bodies(format!("{name} added: the scene starts anew"));
        }
        is_added
    }
}

/// The box around a body where it starts; none of what has no end.
pub fn start_bounds(model: &Model, body: BodyRef) -> Option<Aabb> {
    match body {
        BodyRef::Deformable(place) => {
            let nodes = model.bodies[place as usize].nodes.clone();
            let points = nodes.map(|n| model.rest_positions[n] + model.initial_displacements[n]);
            Some(points.fold(Aabb::EMPTY, |aabb, p| aabb.with(&p)))
        }
        BodyRef::Rigid(place) => {
            let body = &model.rigid_bodies[place as usize];
            Some(body.positions(&body.pose).fold(Aabb::EMPTY, |aabb, p| aabb.with(&p)))
        }
        BodyRef::Obstacle(place) => obstacle_bounds(&model.obstacles[place as usize], &model.obstacles[place as usize].pose),
        BodyRef::World => None,
    }
}

/// The box around an obstacle at a pose; none of a plane.
pub fn obstacle_bounds(obstacle: &Obstacle, pose: &Isometry) -> Option<Aabb> {
    let half = match obstacle.shape {
        Shape::Plane => return None,
        Shape::Box { half_extents } => half_extents,
        Shape::Sphere { radius } => Vec3::repeat(radius),
        Shape::Cylinder { radius, half_height } => Vec3::new(radius, half_height, radius),
    };
    let corners = (0..8).map(|k| Vec3::from_fn(|i, _| if k >> i & 1 == 0 { -half[i] } else { half[i] }));
    Some(corners.fold(Aabb::EMPTY, |aabb, corner| aabb.with(&(pose * nalgebra::Point3::from(corner)).coords)))
}

/// A body is set beside itself with this part of its size between.
const GAP: f64 = 0.15;

/// How far to move a box so that it meets none of the others: beside where it is, else above them all. What has no box,
/// as a plane, stays.
fn free_shift(bounds: &Aabb, taken: &[Aabb]) -> Vec3 {
    if bounds.min.x > bounds.max.x {
        return Vec3::zeros();
    }
    let extent = bounds.extent() * (1.0 + GAP);
    let is_free = |shift: &Vec3| {
        let moved = Aabb { min: bounds.min + shift, max: bounds.max + shift };
        !taken.iter().any(|other| (0..3).all(|i| moved.min[i] <= other.max[i] && other.min[i] <= moved.max[i]))
    };
    let ways = [Vec3::x(), -Vec3::x(), Vec3::z(), -Vec3::z()];
    let beside = (1..=4).flat_map(|n| ways.map(|way| way.component_mul(&extent) * f64::from(n)));
    let top = taken.iter().fold(bounds.max.y, |top, other| top.max(other.max.y));
    let above = Vec3::y() * (top - bounds.min.y + GAP * extent.y);
    beside.into_iter().find(is_free).unwrap_or(above).map(to_millimetres)
}

/// A place above everything in the middle of what moves, `gap` [m] over the highest.
pub(super) fn free_place(model: &Model, gap: f64) -> Vec3 {
    let free = || all_bodies(model).filter(|body| model.is_movable(*body)).filter_map(|body| start_bounds(model, body));
    let all = all_bodies(model).filter_map(|body| start_bounds(model, body)).fold(Aabb::EMPTY, |all, one| all.joined(one));
    let middle = free().fold(Aabb::EMPTY, |all, one| all.joined(one));
    let [x, z] = if middle.min.x <= middle.max.x { [middle.center().x, middle.center().z] } else { [0.0; 2] };
    let top = if all.min.x <= all.max.x { all.max.y } else { 0.0 };
    Vec3::new(x, top + gap, z).map(to_millimetres)
}

/// Half of the middle one of the longest sides of what moves [m].
pub(super) fn usual_size(model: &Model) -> f64 {
    let free = all_bodies(model).filter(|body| model.is_movable(*body)).filter_map(|body| start_bounds(model, body));
    let mut sides: Vec<f64> = free.map(|bounds| bounds.extent().max()).collect();
    sides.sort_by(f64::total_cmp);
    let size = sides.get(sides.len() / 2).map_or(0.2, |side| 0.5 * side);
    // To two digits, by way of text.
    format!("{size:.1e}").parse().unwrap_or(size)
}

fn to_millimetres(x: f64) -> f64 {
    (x * 1e3).round() / 1e3
}

/// A body `size` across, as an entry of the scene.
fn new_body(body: NewBody, size: f64, at: &Vec3, material: Option<&str>) -> String {
    let s = |part: f64| format!("{:?}", (part * size * 1e6).round() / 1e6);
    let block = |cells: &str| format!("shape = {{ type = \"box\", size = [{0}, {0}, {0}]{cells} }}", s(1.0));
    let shape = match body {
        NewBody::SoftBall => format!("shape = {{ type = \"icosphere\", radius = {} }}", s(0.5)),
        NewBody::SoftBlock => block(", cells = [6, 6, 6]"),
        NewBody::SoftRing => format!("shape = {{ type = \"torus\", radius = {}, tube_radius = {}, resolution = 6 }}", s(0.36), s(0.14)),
        NewBody::RigidBall => format!("kind = \"rigid\", shape = {{ type = \"sphere\", radius = {} }}", s(0.5)),
        NewBody::RigidBlock => format!("kind = \"rigid\", {}", block("")),
        NewBody::FixedBlock => format!("kind = \"static\", {}", block("")),
        NewBody::Floor => return "{ kind = \"static\", shape = { type = \"plane\" } }".to_owned(),
    };
    let is_soft = matches!(body, NewBody::SoftBall | NewBody::SoftBlock | NewBody::SoftRing);
    let material = material.filter(|_| is_soft).map_or_else(String::new, |name| format!(", material = \"{name}\""));
    format!("{{ {shape}{material}, position = [{:?}, {:?}, {:?}] }}", at.x, at.y, at.z)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Scene, build};
    use crate::sim::{Options, Simulation};

    const SCENE: &str = "format = 1\n[material.soft]\n[[body]]\nname = \"block\"\nmaterial = \"soft\"\n\
                         shape = { type = \"box\", size = [0.4, 0.2, 0.2], cells = [2, 1, 1] }\nposition = [0, 0.2, 0]\n\
                         [[body]]\nname = \"wall\"\nkind = \"static\"\nshape = { type = \"box\", size = [0.2, 0.4, 0.4] }\nposition = [0.5, 0.2, 0]\n";

    /// Every body can be added to a scene, and what it makes starts without overlaps.
    #[test]
    fn every_new_body_has_a_place() {
        let mut scene = Scene::from_text("s", "s.toml", SCENE, None, &[]).unwrap();
        for body in NewBody::ALL {
            let model = build(&scene).unwrap().model;
            let name = scene.unused_body_name(&body.label().to_lowercase().replace(' ', "_"));
            let text = new_body(body, usual_size(&model), &free_place(&model, 0.6 * usual_size(&model)), Some("soft"));
            scene.set(&format!("body.{name}={text}")).unwrap();
            Simulation::new(build(&scene).unwrap(), &Options::default()).unwrap_or_else(|error| panic!("{body:?}: {error}"));
        }
        assert_eq!(scene.bodies().len(), 2 + NewBody::ALL.len());
    }

    /// To the side where nothing is, and above where there is something everywhere.
    #[test]
    fn a_copy_is_set_where_nothing_is() {
        let aabb = |x: f64, half: f64| Aabb { min: Vec3::new(x - half, 0.0, -half), max: Vec3::new(x + half, 1.0, half) };
        let own = aabb(0.0, 0.5);
        assert_eq!(free_shift(&own, &[own]), Vec3::x() * 1.15);
        assert_eq!(free_shift(&own, &[own, aabb(1.0, 0.4)]), Vec3::x() * -1.15);
        let shift = free_shift(&own, &[own, aabb(0.0, 50.0)]);
        assert!(shift.y > 1.0 && shift.x == 0.0, "{shift:?}");
        assert_eq!(free_shift(&Aabb::EMPTY, &[own]), Vec3::zeros());
    }
}
