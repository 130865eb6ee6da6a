//! What the 3D view shows beside bodies, and the colours of these.

use super::Session;
use crate::app::coloring::Coloring;
use crate::app::contacts::{self, ContactMark};
use crate::app::engine::Wants;
use crate::app::faults::Checkup;
use crate::app::graphics::Graphics;
use crate::app::ui::Tip;
use crate::app::worker::Request;
use crate::render::{Camera, Overlays, PointColors, Shading};
use crate::stage;

/// The mouse is at a contact that is so near, in points.
const NEAR: f32 = 12.0;

impl Session {
    /// Colours the bodies by the field of the shown snapshot, or as bodies.
    pub(super) fn color(&mut self, graphics: &mut Graphics) -> Result<(), String> {
        let view = self.shown.view.as_deref();
        let Some(values) = view.and_then(|view| view.field.as_ref()) else {
            return match self.coloring.take() {
                None => Ok(()),
                Some(_) => graphics.renderer.set_colors(None).map_err(|error| error.to_string()),
            };
        };
        let coloring = Coloring::following(self.coloring, values, self.ui.hold_range, self.ui.color_range);
        if self.coloring.is_none_or(|before| before.field != coloring.field) {
            self.log.say(format_args!("colored by {}", coloring.field.title()));
        }
        self.coloring = Some(coloring);
        let (vertices, tets) = (coloring.places(&values.vertices), coloring.places(&values.tets));
        let colors = PointColors { vertices: &vertices, tets: &tets, table: &coloring.table() };
        graphics.renderer.set_colors(Some(colors)).map_err(|error| error.to_string())
    }

    /// The contacts to show: none when they are not wanted.
    pub(super) fn contacts(&self) -> &[ContactMark] {
        let marks = self.shown.view.as_ref().filter(|_| self.ui.contacts).and_then(|view| view.contacts.as_deref());
        marks.unwrap_or_default()
    }

    /// What is told of the contact under the mouse, if contacts are shown and nothing is held.
    pub(super) fn contact_tip(&self, context: &egui::Context) -> Option<Tip> {
        let (scene, mouse) = (self.shown.scene.as_ref()?, context.input(|input| input.pointer.latest_pos())?);
        if self.contacts().is_empty() || self.grab.is_some() || !self.is_over_view(context, mouse) {
            return None;
        }
        let viewport = self.viewport();
        let place = |mark: &ContactMark| {
            let ([x, y], _) = self.viewpoint.camera.project(stage::glam_vec(&mark.point), viewport)?;
            Some(egui::pos2(x / self.pixels_per_point, y / self.pixels_per_point))
        };
        let near = self.contacts().iter().filter_map(|mark| Some((mark, place(mark)?)));
        let near = near.map(|(mark, at)| (mark, at, at.distance(mouse))).filter(|(.., distance)| *distance < NEAR);
        let (mark, at, _) = near.min_by(|(.., a), (.., b)| a.total_cmp(b))?;
        Some(Tip { at, lines: mark.told(&scene.model) })
    }

    /// Marks over the 3D view.
    pub fn overlays(&self) -> Overlays {
        self.overlays_from(&self.viewpoint.camera, self.viewport(), self.pixels_per_point)
    }

    /// Marks over a picture from a camera; `pixels`: of the picture in a point of the window.
    pub(super) fn overlays_from(&self, camera: &Camera, viewport: [u32; 4], pixels: f32) -> Overlays {
        let mut overlays = contacts::overlays(self.contacts(), self.scale, camera, viewport, pixels);
        let ends = self.shown.view.as_ref().map(|view| view.attachments.as_slice()).unwrap_or_default();
        overlays.segments.splice(..0, stage::attachments(ends, pixels));
        let nodes = self.shown.view.as_ref().and_then(|view| view.nodes.as_deref());
        for checkup in self.checkups() {
            let marks = checkup.overlays(nodes, camera.eye(), pixels);
            overlays.segments.extend(marks.segments);
            overlays.points.extend(marks.points);
        }
        overlays
    }

    /// The checkups whose faults are marked.
    pub(super) fn checkups(&self) -> &[Checkup] {
        let scene = self.shown.scene.as_ref().filter(|_| self.ui.checkups);
        scene.map(|scene| scene.checkups.as_slice()).unwrap_or_default()
    }

    /// The view of the inside and the marks of faults need the nodes, the marks of contacts the contacts, colours their
    /// field.
    pub(super) fn wanted(&self) -> Wants {
        let nodes = self.ui.options.shading == Shading::Tets
            || self.ui.inside.open
            || self.points_need_nodes()
            || self.checkups().iter().any(Checkup::moves);
        Wants { nodes, contacts: self.ui.contacts, field: self.ui.field }
    }

    pub(super) fn want(&mut self) {
        let wanted = self.wanted();
        if self.live.view.as_ref().is_some_and(|view| view.wants != wanted) {
            self.worker.send(Request::Want(wanted));
        }
    }
}
