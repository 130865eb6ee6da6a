//! What the 3D view shows beside bodies, and the colours of these.

use super::Session;
use crate::app::coloring::Coloring;
use crate::app::contacts::{self, ContactMark};
use crate::app::engine::Wants;
use crate::app::faults::Checkup;
use crate::app::graphics::Graphics;
use crate::app::pins;
use crate::app::ui::Tip;
use crate::app::worker::Request;
use crate::math::Aabb;
use crate::render::{Camera, Overlays, PointColors, Shading};
use crate::sim::Field;
use crate::stage;

/// Marks of faults are at their strongest so long, then fade, and stay faint [s].
const MARKED: f32 = 5.0;
const FADING: f32 = 2.0;
const FAINT: f32 = 0.2;
/// Part of the size of all bodies that is shown around a fault.
const LOOK_AROUND: f64 = 0.06;
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
        let (mut vertices, mut tets) = (coloring.places(&values.vertices), coloring.places(&values.tets));
        self.color_stroke(coloring.field, &mut vertices, &mut tets);
        let nodes = coloring.places(&values.nodes);
        let colors = PointColors { vertices: &vertices, tets: &tets, nodes: &nodes, table: &coloring.table() };
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
        if let Some(view) = &self.shown.view {
            overlays.points.extend(pins::overlays(&view.pins, pixels).points);
        }
        let nodes = self.shown.view.as_ref().and_then(|view| view.nodes.as_deref());
        for (place, checkup) in self.checkups().iter().enumerate() {
            let strength = |finding| self.strength_of_mark(place, finding);
            let marks = checkup.overlays(nodes, strength, camera.eye(), pixels);
            overlays.segments.extend(marks.segments);
            overlays.points.extend(marks.points);
        }
        let of_draft = self.drafting.overlays(camera.eye(), pixels);
        overlays.segments.extend(of_draft.segments);
        overlays.points.extend(of_draft.points);
        overlays
    }

    /// How strongly a fault is marked: all at first, then faintly but for the one that was looked at last.
    fn strength_of_mark(&self, checkup: usize, finding: usize) -> f32 {
        let elapsed = self.marked_since.map_or(f32::INFINITY, |since| since.elapsed().as_secs_f32());
        let now = (1.0 - (elapsed - MARKED) / FADING).clamp(FAINT, 1.0);
        match self.looked_at {
            None => now,
            Some(place) if place == (checkup, finding) => 1.0,
            Some(_) => FAINT,
        }
    }

    /// Whether marks are about to change their strength.
    pub(super) fn marks_fade(&self) -> bool {
        !self.checkups().is_empty() && self.marked_since.is_some_and(|since| since.elapsed().as_secs_f32() < MARKED + FADING)
    }

    /// Flies to the first fault of a finding.
    pub(super) fn look_at_fault(&mut self, checkup: usize, finding: usize) {
        let nodes = self.shown.view.as_ref().and_then(|view| view.nodes.as_deref());
        let place = self.checkups().get(checkup).and_then(|found| found.first_of(finding, nodes));
        self.looked_at = Some((checkup, finding));
        if let Some(mut place) = place {
            // From as near as shows what is around it.
            let around = LOOK_AROUND * self.size_of_bodies();
            (place.min, place.max) = (place.min.add_scalar(-around), place.max.add_scalar(around));
            self.fly_to(&place);
            self.log.say(format_args!("looks at finding {checkup}.{finding}"));
        }
    }

    /// The longest side of the box around all deformable bodies at rest [m].
    fn size_of_bodies(&self) -> f64 {
        let points = self.shown.scene.as_ref().map(|scene| &scene.model.rest_positions[..]).unwrap_or_default();
        if points.is_empty() { 1.0 } else { Aabb::of(points).extent().max() }
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
        // Who paints sees the materials.
        let field = if self.has_brush() { Some(Field::Material) } else { self.ui.field };
        Wants { nodes, contacts: self.ui.contacts, field }
    }

    pub(super) fn want(&mut self) {
        let wanted = self.wanted();
        if self.live.view.as_ref().is_some_and(|view| view.wants != wanted) {
            self.worker.send(Request::Want(wanted));
        }
    }
}
