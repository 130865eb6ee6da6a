//! The plane that cuts bodies open, in the view: its outline, an arrow that moves it, and arcs that tilt it.

use egui::{PointerButton, Pos2};
use glam::{Quat, Vec3};

use super::Session;
use crate::app::format;
use crate::app::gizmo::{Change, Drag, Gizmo, Handle, Subject, hit};
use crate::app::graphics::Graphics;
use crate::app::history::{Entry, Way};
use crate::app::inside::{CutPlane, Inside};
use crate::app::pointer::Input;
use crate::app::ui::GizmoView;
use crate::math;
use crate::stage::glam_vec;

/// What the window remembers of the plane.
pub struct Plane {
    /// A handle that is held, and where the plane was before.
    held: Option<(Drag, CutPlane)>,
    /// Where it was when the last drag or click ended: an undo leads there.
    noted: CutPlane,
}

impl Default for Plane {
    fn default() -> Self {
        Self { held: None, noted: Inside::default().plane() }
    }
}

/// The outline is this part of its longer side larger than what it cuts.
const MARGIN: f32 = 0.08;
/// Handles keep so far from the border of the view, in points.
const FROM_BORDER: f32 = 48.0;

impl Session {
    /// The handles, and the corners of the outline [m], while they are to be seen.
    pub(super) fn plane_gizmo(&self) -> Option<(Gizmo, [Vec3; 4])> {
        let inside = &self.ui.inside;
        let is_free = self.ui.panels_visible && self.ui.tool.is_none();
        if !(inside.open && inside.cuts && inside.handles && is_free) {
            return None;
        }
        let held = self.plane.held.as_ref().map(|(drag, _)| drag.gizmo);
        let axes = held.map_or(inside.axes(), |taken| {
            let axes = taken.axes.map(|axis| glam_vec(&axis));
            // Turned with the plane, so that nothing jumps where it becomes level.
            let turn = Quat::from_rotation_arc(axes[2], inside.normal());
            [turn * axes[0], turn * axes[1], inside.normal()]
        });
        let [u, v, normal] = axes;
        let [reach_u, reach_v] = [self.reach_along(u)?, self.reach_along(v)?];
        let position = inside.position(self.reach_along(normal))?;
        let at = |x: f32, y: f32| u * x + v * y + normal * position;
        let origin = match held {
            Some(taken) => {
                let before = glam_vec(&taken.origin);
                before + normal * (position - normal.dot(before))
            }
            None => {
                let middle = at(0.5 * (reach_u[0] + reach_u[1]), 0.5 * (reach_v[0] + reach_v[1]));
                let room = self.free.shrink(FROM_BORDER);
                let is_seen = self.in_window(&double(middle)).is_some_and(|place| room.contains(place));
                // Else where the line of sight meets the plane, or near to that.
                let ray = self.ray(self.free.center());
                let (eye, sight) = (glam_vec(&ray.origin), glam_vec(&ray.direction));
                let distance = (position - normal.dot(eye)) / normal.dot(sight);
                if is_seen || !(distance.is_finite() && distance > 0.0) {
                    middle
                } else {
                    let met = eye + sight * distance;
                    at(u.dot(met).clamp(reach_u[0], reach_u[1]), v.dot(met).clamp(reach_v[0], reach_v[1]))
                }
            }
        };
        let margin = MARGIN * (reach_u[1] - reach_u[0]).max(reach_v[1] - reach_v[0]);
        let corners = [(0, 0), (1, 0), (1, 1), (0, 1)].map(|(i, j)| {
            let outwards = |end: usize| if end == 0 { -margin } else { margin };
            at(reach_u[i] + outwards(i), reach_v[j] + outwards(j))
        });
        let origin = double(origin);
        let gizmo = Gizmo { origin, size: self.length_of_arrows(&origin)?, axes: axes.map(double), subject: Subject::Plane };
        Some((gizmo, corners))
    }

    /// The handles and the outline as they are drawn.
    pub(super) fn plane_view(&self, context: &egui::Context) -> Option<GizmoView> {
        let (gizmo, corners) = self.plane_gizmo()?;
        let lines = gizmo.lines(|point| self.in_window(point));
        let held = self.plane.held.as_ref().map(|(drag, _)| drag.handle);
        let cursor = context.input(|input| input.pointer.latest_pos()).filter(|at| self.is_over_view(context, *at));
        let hot = held.or_else(|| hit(&lines, cursor?));
        let corners = corners.map(|corner| self.in_window(&double(corner)));
        let edges = (0..4).filter_map(|k| Some([corners[k]?, corners[(k + 1) % 4]?])).collect();
        let inside = &self.ui.inside;
        let told = hot.map(|handle| match (handle, held) {
            (Handle::Turn(_), Some(_)) => format!("turn {:.0}°, tilt {:.0}°", inside.turn, inside.tilt),
            (Handle::Turn(_), None) => "Drag to tilt the plane, with Shift across an axis".to_owned(),
            (_, Some(_)) => format::quantity(inside.position(self.reach_of_cut()).unwrap_or_default().into(), "m"),
            (_, None) => "Drag to move the plane, with Shift in steps".to_owned(),
        });
        Some(GizmoView { subject: gizmo.subject, lines, hot, edges, told })
    }

    /// The bodies whose elements are cut, as their surface is open where the plane cuts it.
    pub(super) fn open_sections(&self, graphics: &Graphics) -> Vec<String> {
        let Some(scene) = self.shown.scene.as_ref().filter(|_| self.ui.inside.open && self.ui.inside.cuts) else { return vec![] };
        let bodies = graphics.renderer.open_sections().iter();
        bodies.filter_map(|body| Some(scene.model.bodies.get(*body)?.name.clone())).collect()
    }

    /// Whether a handle of the plane takes a mouse event, which then means nothing else.
    pub(super) fn plane_takes(&mut self, input: &Input, snaps: bool) -> bool {
        match *input {
            Input::Press { button: PointerButton::Primary, at, .. } => {
                let Some((gizmo, _)) = self.plane_gizmo() else { return false };
                let handle = hit(&gizmo.lines(|point| self.in_window(point)), at);
                let Some(drag) = handle.and_then(|handle| gizmo.take(handle, &self.ray(at), at)) else { return false };
                self.plane.held = Some((drag, self.ui.inside.plane()));
                true
            }
            Input::Move { to, .. } => {
                let Some((drag, before)) = self.plane.held else { return false };
                self.drag_plane(&drag, before, to, snaps);
                true
            }
            Input::Release { button: PointerButton::Primary } => {
                let was_held = self.plane.held.take().is_some();
                if was_held {
                    self.log_cut();
                }
                was_held
            }
            Input::Cancel => {
                self.give_up_drag();
                false
            }
            _ => self.plane.held.is_some(),
        }
    }

    /// Puts the plane where a drag leads, from where it was before.
    fn drag_plane(&mut self, drag: &Drag, before: CutPlane, to: Pos2, snaps: bool) {
        let is_moved = matches!(drag.handle, Handle::Move(_));
        let Some(change) = drag.change(&self.ray(to), to, snaps && is_moved) else { return };
        let mut origin = drag.gizmo.origin;
        self.ui.inside.set_plane(before);
        match change {
            Change::Move(by) => origin += by,
            _ => self.ui.inside.tilt_by(&drag.gizmo.axes, &change, snaps),
        }
        let normal = self.ui.inside.normal();
        let reach = self.reach_along(normal);
        self.ui.inside.put_at(normal.dot(glam_vec(&origin)), reach);
    }

    /// Lets go of a gizmo: all is as it was before it was taken hold of. False if none is held.
    pub(super) fn give_up_drag(&mut self) -> bool {
        let held = self.plane.held.take();
        if let Some((_, before)) = held {
            self.ui.inside.set_plane(before);
            self.log.say(format_args!("cut given up"));
        }
        self.dragged.take().is_some() || held.is_some()
    }

    /// Takes note of where the plane is, once a drag or a click ended.
    pub(super) fn note_plane(&mut self, context: &egui::Context) {
        let now = self.ui.inside.plane();
        let is_under_way = context.input(|input| input.pointer.any_down()) || context.text_edit_focused();
        if now != self.plane.noted && !is_under_way {
            self.history.push(Entry::Cut(std::mem::replace(&mut self.plane.noted, now)));
        }
    }

    /// Puts the plane where it was, and the place where it is into the entry; false where bodies are not cut open now.
    pub(super) fn swap_plane(&mut self, plane: &mut CutPlane, way: Way) -> bool {
        if !self.ui.inside.open {
            return false;
        }
        let now = self.ui.inside.plane();
        self.ui.inside.set_plane(std::mem::replace(plane, now));
        self.plane.noted = self.ui.inside.plane();
        self.log.say(format_args!("{} the cut", if way == Way::Back { "undone" } else { "redone" }));
        self.log_cut();
        true
    }
}

fn double(v: Vec3) -> math::Vec3 {
    math::Vec3::new(v.x.into(), v.y.into(), v.z.into())
}
