//! Moving, turning and scaling the selected body at the start, by a gizmo in the view.

use egui::{PointerButton, Pos2, pos2};

use super::Session;
use super::bodies::start_bounds;
use crate::app::gizmo::{Change, Drag, Gizmo, Handle, hit};
use crate::app::pointer::Input;
use crate::app::selection::all_bodies;
use crate::app::ui::GizmoView;
use crate::app::worker::Activity;
use crate::body::base_name;
use crate::math::Vec3;
use crate::stage;

/// A drag under way, and what it has come to.
pub struct Dragged {
    drag: Drag,
    origin: Vec3,
    body: String,
    change: Option<Change>,
}

/// Length of its arrows, in points of the window.
const LENGTH: f32 = 84.0;

impl Session {
    /// At the start and paused, nothing looks back: what is placed is what will be built.
    fn is_at_start(&self) -> bool {
        let live = &self.live;
        live.activity == Activity::Paused && !self.is_in_past() && live.view.as_ref().is_some_and(|view| view.step == 0)
    }

    /// The body that the gizmo is of, and the gizmo.
    fn gizmo(&self) -> Option<(String, Gizmo)> {
        let [item] = self.ui.selection.items() else { return None };
        let name = item.body_name()?;
        if !self.is_at_start() || self.ui.selection.is_item_locked(item) || !self.ui.panels_visible {
            return None;
        }
        // As it was built: what waits for a start is not seen yet.
        let document = self.document.as_ref().filter(|document| !document.is_pending())?;
        let origin = document.scene().origin_of_body(name)?;
        let (_, depth) = self.viewpoint.camera.project(stage::glam_vec(&origin), self.viewport())?;
        let metres = depth * 2.0 * (0.5 * self.viewpoint.camera.fov_y).tan() / self.view.height().max(1.0);
        Some((name.to_owned(), Gizmo { origin, size: f64::from(LENGTH * metres) }))
    }

    fn in_window(&self, point: &Vec3) -> Option<Pos2> {
        let ([x, y], _) = self.viewpoint.camera.project(stage::glam_vec(point), self.viewport())?;
        Some(pos2(x, y) / self.pixels_per_point)
    }

    /// The gizmo as it is drawn, with the box of the body where it is dragged to.
    pub(super) fn gizmo_view(&self, cursor: Option<Pos2>) -> Option<GizmoView> {
        let (body, gizmo) = self.gizmo()?;
        let held = self.dragged.as_ref().filter(|dragged| dragged.body == body);
        let motion = held.and_then(|dragged| Some(dragged.change?.motion(&dragged.origin)));
        let moved = |point: &Vec3| motion.map_or(*point, |motion| (motion * nalgebra::Point3::from(*point)).coords);
        let lines = Gizmo { origin: moved(&gizmo.origin), ..gizmo }.lines(|point| self.in_window(point));
        let hot = held.map(|dragged| dragged.drag.handle).or_else(|| hit(&lines, cursor?));
        let mut ghost = vec![];
        if let (Some(_), Some(scene)) = (motion, &self.shown.scene) {
            let of_body = all_bodies(&scene.model).filter(|copy| base_name(scene.model.body_name(*copy)) == body);
            for bounds in of_body.filter_map(|copy| start_bounds(&scene.model, copy)) {
                let corner = |k: usize| Vec3::from_fn(|i, _| if k >> i & 1 == 0 { bounds.min[i] } else { bounds.max[i] });
                let edges = (0..8usize).flat_map(|k| (0..3).filter(move |i| k >> i & 1 == 0).map(move |i| [k, k | 1 << i]));
                ghost.extend(edges.filter_map(|[a, b]| Some([self.in_window(&moved(&corner(a)))?, self.in_window(&moved(&corner(b)))?])));
            }
        }
        Some(GizmoView { lines, hot, ghost, change: held.and_then(|dragged| dragged.change) })
    }

    /// Whether the gizmo takes a mouse event, which then means nothing else.
    pub(super) fn gizmo_takes(&mut self, input: &Input, snaps: bool) -> bool {
        match *input {
            Input::Press { button: PointerButton::Primary, at, .. } => {
                let Some((body, gizmo)) = self.gizmo() else { return false };
                let handle: Option<Handle> = hit(&gizmo.lines(|point| self.in_window(point)), at);
                let Some(drag) = handle.and_then(|handle| gizmo.take(handle, &self.ray(at), at)) else { return false };
                self.log.say(format_args!("gizmo {:?} {body}", drag.handle));
                self.dragged = Some(Dragged { drag, origin: gizmo.origin, body, change: None });
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

    /// One drag is one change of the scene, which is built again.
    fn place_dragged(&mut self, dragged: &Dragged) {
        let Some(change) = dragged.change.filter(|change| !change.is_nothing()) else { return };
        let values = self.document.as_ref().and_then(|document| document.scene().placed(&dragged.body, &change.motion(&dragged.origin)));
        if values.is_some_and(|values| self.change(&values, None)) {
            self.build_anew(true);
        }
    }

    /// What was taken back at the start is seen at once.
    pub(super) fn build_if_at_start(&mut self) {
        if self.is_at_start() && self.document.as_ref().is_some_and(crate::app::document::Document::is_pending) {
            self.build_anew(false);
        }
    }
}
