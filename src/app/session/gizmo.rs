//! Moving, turning and scaling the selected bodies at the start, and moving and turning them where they are in a run,
//! by a gizmo in the view.

use egui::{PointerButton, Pos2, pos2};

use super::Session;
use super::bodies::start_bounds;
use super::lookup;
use crate::app::document::Document;
use crate::app::engine::View;
use crate::app::gizmo::{Change, Drag, Gizmo, Handle, LENGTH, Subject, WORLD, hit};
use crate::app::history::{Rebuild, Way};
use crate::app::pointer::Input;
use crate::app::selection::all_bodies;
use crate::app::ui::GizmoView;
use crate::app::worker::Activity;
use crate::body::{BodyRef, base_name};
use crate::math::{Aabb, Vec3};
use crate::model::Model;
use crate::sim::Command;
use crate::stage;
use crate::step::SurfacePositions;

/// A drag under way, and what it has come to.
pub struct Dragged {
    drag: Drag,
    origin: Vec3,
    bodies: Placed,
    change: Option<Change>,
}

/// What a gizmo is of.
#[derive(Clone, Debug, PartialEq)]
enum Placed {
    /// Bodies of the scene, which is built with them elsewhere.
    AtStart(Vec<String>),
    /// Bodies of the model, moved by a command.
    Running(Vec<String>),
}

impl Placed {
    fn names(&self) -> &[String] {
        let (Self::AtStart(names) | Self::Running(names)) = self;
        names
    }

    /// The name by which a body of the model is known there.
    fn has(&self, name: &str) -> bool {
        match self {
            Self::AtStart(names) => names.iter().any(|known| known == base_name(name)),
            Self::Running(names) => names.iter().any(|known| known == name),
        }
    }
}

impl Session {
    /// Paused where the simulation stands, without a look back.
    fn stands_still(&self) -> bool {
        self.live.activity == Activity::Paused && !self.is_in_past()
    }

    /// At the start, what is placed is what will be built.
    fn is_at_start(&self) -> bool {
        self.stands_still() && self.live.view.as_ref().is_some_and(|view| view.step == 0)
    }

    /// Whether the gizmo of a running simulation is to be shown, for which positions must be known.
    pub(super) fn moves_by_command(&self) -> bool {
        self.stands_still() && !self.is_at_start() && !self.ui.selection.items().is_empty()
    }

    /// The bodies that the gizmo is of, and the gizmo: amid their origins, or where they are now.
    fn gizmo(&self) -> Option<(Placed, Gizmo)> {
        let selection = &self.ui.selection;
        if !self.stands_still()
            || self.has_brush()
            || selection.items().iter().any(|item| selection.is_item_locked(item))
            || !self.ui.panels_visible
        {
            return None;
        }
        let (bodies, origin) = if self.is_at_start() { self.placed_at_start()? } else { self.placed_now()? };
        let scales = matches!(bodies, Placed::AtStart(_));
        let size = self.length_of_arrows(&origin)?;
        Some((bodies, Gizmo { origin, size, axes: WORLD, subject: Subject::Body { scales } }))
    }

    /// The same in the window, wherever a gizmo is [m]; none behind the eye.
    pub(super) fn length_of_arrows(&self, origin: &Vec3) -> Option<f64> {
        let (_, depth) = self.viewpoint.camera.project(stage::glam_vec(origin), self.viewport())?;
        let metres = depth * 2.0 * (0.5 * self.viewpoint.camera.fov_y).tan() / self.view.height().max(1.0);
        Some(f64::from(LENGTH * metres))
    }

    /// The selected bodies of the scene, and the middle of their origins.
    fn placed_at_start(&self) -> Option<(Placed, Vec3)> {
        let items = self.ui.selection.items();
        let mut names: Vec<String> = items.iter().map(|item| item.body_name().map(str::to_owned)).collect::<Option<_>>()?;
        names.sort();
        names.dedup();
        // As it was built: what waits for a start is not seen yet.
        let document = self.document.as_ref().filter(|document| !document.is_pending())?;
        let origins: Vec<Vec3> = names.iter().map(|name| document.scene().origin_of_body(name)).collect::<Option<_>>()?;
        (!origins.is_empty()).then(|| (Placed::AtStart(names), origins.iter().sum::<Vec3>() / origins.len() as f64))
    }

    /// The selected bodies that move freely, if all do, and the middle of the box around them.
    fn placed_now(&self) -> Option<(Placed, Vec3)> {
        let (scene, view) = (self.shown.scene.as_ref()?, self.shown.view.as_ref()?);
        let bodies = self.ui.selection.bodies(&scene.model);
        if bodies.is_empty() || !bodies.iter().all(|body| moves_freely(&scene.model, *body)) {
            return None;
        }
        let bounds: Vec<Aabb> = bodies.iter().map(|body| bounds_now(&scene.model, view, *body)).collect::<Option<_>>()?;
        let middle = bounds.into_iter().fold(Aabb::EMPTY, Aabb::joined).center();
        let names = bodies.iter().map(|body| scene.model.body_name(*body).to_owned()).collect();
        Some((Placed::Running(names), middle))
    }

    pub(super) fn in_window(&self, point: &Vec3) -> Option<Pos2> {
        let ([x, y], _) = self.viewpoint.camera.project(stage::glam_vec(point), self.viewport())?;
        Some(pos2(x, y) / self.pixels_per_point)
    }

    /// The gizmo as it is drawn, with the boxes of the bodies where they are dragged to.
    pub(super) fn gizmo_view(&self, cursor: Option<Pos2>) -> Option<GizmoView> {
        let (bodies, gizmo) = self.gizmo()?;
        let held = self.dragged.as_ref().filter(|dragged| dragged.bodies == bodies);
        let motion = held.and_then(|dragged| Some(dragged.change?.motion(&dragged.origin)));
        let moved = |point: &Vec3| motion.map_or(*point, |motion| (motion * nalgebra::Point3::from(*point)).coords);
        let lines = Gizmo { origin: moved(&gizmo.origin), ..gizmo }.lines(|point| self.in_window(point));
        let hot = held.map(|dragged| dragged.drag.handle).or_else(|| hit(&lines, cursor?));
        let mut edges = vec![];
        if let (Some(_), Some(scene)) = (motion, &self.shown.scene) {
            let is_held = |body: &BodyRef| bodies.has(scene.model.body_name(*body));
            let bounds_of = |body: BodyRef| match (&bodies, &self.shown.view) {
                (Placed::Running(_), Some(view)) => bounds_now(&scene.model, view, body),
                _ => start_bounds(&scene.model, body),
            };
            for bounds in all_bodies(&scene.model).filter(is_held).filter_map(bounds_of) {
                let corner = |k: usize| Vec3::from_fn(|i, _| if k >> i & 1 == 0 { bounds.min[i] } else { bounds.max[i] });
                let ends = (0..8usize).flat_map(|k| (0..3).filter(move |i| k >> i & 1 == 0).map(move |i| [k, k | 1 << i]));
                edges.extend(ends.filter_map(|[a, b]| Some([self.in_window(&moved(&corner(a)))?, self.in_window(&moved(&corner(b)))?])));
            }
        }
        let told = held.and_then(|dragged| Some(dragged.change?.told()));
        Some(GizmoView { subject: gizmo.subject, lines, hot, edges, told })
    }

    /// Whether the gizmo takes a mouse event, which then means nothing else.
    pub(super) fn gizmo_takes(&mut self, input: &Input, snaps: bool) -> bool {
        match *input {
            Input::Press { button: PointerButton::Primary, at, .. } => {
                let Some((bodies, gizmo)) = self.gizmo() else { return false };
                let handle: Option<Handle> = hit(&gizmo.lines(|point| self.in_window(point)), at);
                let Some(drag) = handle.and_then(|handle| gizmo.take(handle, &self.ray(at), at)) else { return false };
                self.log.say(format_args!("gizmo {:?} {}", drag.handle, bodies.names().join(" ")));
                self.dragged = Some(Dragged { drag, origin: gizmo.origin, bodies, change: None });
                true
            }
            Input::Move { to, .. } => {
                let ray = self.ray(to);
                let Some(dragged) = &mut self.dragged else { return false };
                dragged.change = dragged.drag.change(&ray, to, snaps).or(dragged.change);
                true
            }
            Input::Release { button: PointerButton::Primary } => match self.dragged.take() {
                Some(dragged) => {
                    self.place_dragged(&dragged);
                    true
                }
                None => false,
            },
            Input::Cancel => {
                self.dragged = None;
                false
            }
            _ => self.dragged.is_some(),
        }
    }

    /// One drag is one change of the scene, which is built again, or one command.
    fn place_dragged(&mut self, dragged: &Dragged) {
        let Some(change) = dragged.change.filter(|change| !change.is_nothing()) else { return };
        let motion = change.motion(&dragged.origin);
        match &dragged.bodies {
            Placed::AtStart(names) => {
                let Some(document) = &self.document else { return };
                let values: Vec<_> = names.iter().filter_map(|name| document.scene().placed(name, &motion)).flatten().collect();
                if self.change(&values, None) {
                    self.build_anew(Rebuild::Change);
                }
            }
            Placed::Running(names) => {
                let (translation, rotation) = (motion.isometry.translation.vector, motion.isometry.rotation.scaled_axis());
                self.command(Command::MoveBodies { bodies: names.clone(), translation, rotation });
            }
        }
    }

    /// What was taken back at the start, or with the brush in the hand, is seen at once.
    pub(super) fn build_if_at_start(&mut self, way: Way) {
        // Other bodies are built in any case.
        let waits = |document: &Document| document.is_pending() && !document.has_other_bodies();
        if (self.is_at_start() || self.has_brush()) && self.document.as_ref().is_some_and(waits) {
            self.build_anew(Rebuild::Walked(way));
        }
    }
}

/// What is pinned somewhere is pulled, not carried.
fn moves_freely(model: &Model, body: BodyRef) -> bool {
    let is_pinned = || model.fixed[model.bodies[body.index()].nodes.clone()].contains(&true);
    model.is_movable(body) && !(body.is_deformable() && is_pinned())
}

/// The box around a body where a view has it; none where its positions are on the device only.
fn bounds_now(model: &Model, view: &View, body: BodyRef) -> Option<Aabb> {
    match (body, &view.surface, &view.nodes) {
        (BodyRef::Deformable(place), SurfacePositions::Device(_), nodes) => {
            let nodes = nodes.as_ref()?.get(model.bodies[place as usize].nodes.clone())?;
            Some(nodes.iter().fold(Aabb::EMPTY, |aabb, p| aabb.with(&Vec3::new(p[0].into(), p[1].into(), p[2].into()))))
        }
        (_, SurfacePositions::Host(positions), _) => Some(lookup::bounds(model, positions, &view.rigid_poses, body)),
        _ => Some(lookup::bounds(model, &[], &view.rigid_poses, body)),
    }
}
