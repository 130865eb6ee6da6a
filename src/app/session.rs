//! All that the window knows and does, apart from windows: the worker's snapshots, the camera, grabs, recordings,
//! panels.

mod acts;
mod bodies;
mod brush;
mod camera;
mod checks;
mod draft;
mod edits;
mod entries;
mod flight;
mod ghost;
mod gizmo;
mod grabs;
mod inside;
mod jobs;
mod keeping;
mod keys;
mod logging;
mod lookup;
mod marks;
mod naming;
mod picking;
mod pins;
mod plane;
mod plots;
mod rebuild;
mod recording;
mod rest;
#[cfg(test)]
mod tests;
mod time;
mod tools;
mod undo;
mod view;
mod viewpoint;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use egui::Rect;

use super::brush::Brush;
use super::coloring::Coloring;
use super::contacts::Scale;
use super::document::Document;
use super::engine::SceneInfo;
use super::events::EventLog;
use super::graphics::{Graphics, Picture};
use super::history::History;
use super::pointer::{Input, Pointer};
use super::recent::Recent;
use super::recorder::Recorder;
use super::settings::Keeper;
use super::ui::{Action, After, ContactLegend, GalleryItem, Outcome, PathPurpose, ToolMarks, UiContext, UiState};
use super::verifier::Verifier;
use super::views::Views;
use super::worker::{Request, Severity, Snapshot, Worker};
use super::{SceneSource, ui};
use crate::body::BodyRef;
use crate::gpu;
use crate::model::Model;
use crate::render::{Hit, Positions, Shading, Theme, ViewOptions};
use crate::sim::Grip;
use crate::stage;
use crate::step::SurfacePositions;
use brush::Brushing;
use draft::Drafting;
use ghost::Ghost;
use gizmo::Dragged;
use grabs::Grab;
use jobs::Jobs;
use lookup::{Lookup, Question};
use naming::Labelled;
use pins::Stroke;
use plane::Plane;
use recording::PastFilm;
use rest::Rest;
use time::Time;
use tools::Points;
use viewpoint::Viewpoint;

pub use logging::Answered;

pub struct Session {
    worker: Worker,
    settings: Keeper,
    /// The worker's newest snapshot.
    live: Arc<Snapshot>,
    /// The snapshot that is drawn: the newest one, or one of the past.
    shown: Arc<Snapshot>,
    time: Time,
    ghost: Ghost,
    /// Generation of the scene whose stage the renderer has.
    staged: u64,
    /// Of the boxes around its rigid bodies, with the places of these.
    rigid_corners: Vec<(usize, [glam::Vec3; 8])>,
    /// How often something on the stage was moved.
    placed: u64,
    pub ui: UiState,
    /// The scene with what was changed in the window; none where nothing came of a mesh.
    document: Option<Document>,
    labelled: Labelled,
    drafting: Drafting,
    /// What was done, in its order.
    history: History,
    /// The changes of values that the simulation has refused, as far as they were taken back.
    refused: u64,
    /// The loads that came to nothing, as far as they were answered for.
    failed_loads: u64,
    /// The changes of files on the disk, likewise.
    file_changes: u64,
    /// What is done once the scene is saved.
    after_save: Option<After>,
    /// The scene is built with the last change, which is taken back if that fails.
    builds_change: bool,
    /// The version of the selection that the picture shows.
    marked: u64,
    viewpoint: Viewpoint,
    views: Views,
    pointer: Pointer,
    lookup: Lookup,
    /// Points that were set by a click.
    points: Points,
    grab: Option<Grab>,
    n_grabs: u32,
    /// How the mouse holds.
    grip: Grip,
    /// What the open menu is about: a point of a deformable body.
    spot: Option<(Arc<Model>, Hit, BodyRef)>,
    stroke: Option<Stroke>,
    brushing: Brushing,
    /// A handle of the gizmo is held.
    dragged: Option<Dragged>,
    /// The plane that cuts bodies open.
    plane: Plane,
    recent: Recent,
    gallery: Vec<GalleryItem>,
    recorder: Option<Recorder>,
    /// It films what was recorded, and not what happens.
    film_of_past: Option<PastFilm>,
    jobs: Jobs,
    /// The scale of the arrows of contacts.
    scale: Scale,
    /// What bodies are coloured by.
    coloring: Option<Coloring>,
    log: EventLog,
    verifier: Verifier,
    /// Where the 3D view is, and the part of it that panels leave free, in points.
    view: Rect,
    free: Rect,
    pixels_per_point: f32,
    ready: bool,
    /// What the button that was pressed last asks for, and the number of the request; none once that is answered.
    wants_play: Option<(bool, u64)>,
    rest: Rest,
    in_long_step: bool,
    /// Text is typed into a field.
    types: bool,
    screenshot_asked: bool,
    fault_told: bool,
    /// When the marks of faults appeared.
    marked_since: Option<std::time::Instant>,
    /// The finding that was looked at last: the place of its checkup, and its own.
    looked_at: Option<(usize, usize)>,
    /// Read by the window after each frame.
    pub wishes: Wishes,
}

/// Wishes that only the window can fulfil.
#[derive(Default)]
pub struct Wishes {
    pub quit: bool,
    pub dialog: Option<PathPurpose>,
}

/// A step that takes longer is shown, and can be stopped there.
const LONG_STEP: Duration = Duration::from_millis(500);

impl Session {
    /// `config` is the folder of settings, views and recent files; without one nothing is kept.
    pub fn new(worker: Worker, log: EventLog, verifier: Verifier, config: Option<&Path>) -> Self {
        let shown = worker.snapshot();
        let (settings, told) = Keeper::load(config);
        let mut session = Self {
            worker,
            settings,
            live: shown.clone(),
            shown,
            time: Time::default(),
            ghost: Ghost::default(),
            staged: 0,
            rigid_corners: vec![],
            placed: 0,
            ui: UiState::default(),
            document: None,
            labelled: Labelled::default(),
            drafting: Drafting::default(),
            history: History::default(),
            refused: 0,
            failed_loads: 0,
            file_changes: 0,
            after_save: None,
            builds_change: false,
            marked: 0,
            viewpoint: Viewpoint::default(),
            views: Views::load(config),
            pointer: Pointer::default(),
            lookup: Lookup::default(),
            points: Points::default(),
            grab: None,
            n_grabs: 0,
            grip: Grip::default(),
            spot: None,
            stroke: None,
            brushing: Brushing::default(),
            dragged: None,
            plane: Plane::default(),
            recent: Recent::load(config),
            gallery: ui::gallery(),
            recorder: None,
            film_of_past: None,
            jobs: Jobs::default(),
            scale: Scale::default(),
            coloring: None,
            log,
            verifier,
            view: Rect::ZERO,
            free: Rect::ZERO,
            pixels_per_point: 1.0,
            ready: false,
            wants_play: None,
            rest: Rest::default(),
            in_long_step: false,
            types: false,
            screenshot_asked: false,
            fault_told: false,
            marked_since: None,
            looked_at: None,
            wishes: Wishes::default(),
        };
        session.take_settings(told);
        session
    }

    /// Opens a scene, once what was changed in the present one is saved or given up.
    pub fn open(&mut self, source: SceneSource) {
        self.unless_unsaved(After::Open(source));
    }

    pub fn quit(&mut self) {
        self.unless_unsaved(After::Quit);
    }

    fn open_now(&mut self, source: SceneSource) {
        self.ui.start_open = false;
        if let SceneSource::Path(path) = &source {
            // Relative paths mean another file once the folder changes.
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            self.worker.send(Request::Load(SceneSource::of_path(path)));
        } else {
            self.worker.send(Request::Load(source));
        }
    }

    pub fn title(&self) -> String {
        match &self.shown.scene {
            Some(scene) => format!("{} – Pliant", scene.name),
            None => "Pliant".to_owned(),
        }
    }

    /// Takes over what the worker has new.
    pub fn receive(&mut self, graphics: &mut Graphics) {
        for notice in self.worker.take_notices() {
            let notice = self.with_names(notice);
            self.note_refusal(&notice);
            self.pass_on(notice);
        }
        let live = self.labelled(self.worker.snapshot());
        let before = std::mem::replace(&mut self.live, live);
        let shown = self.look_at(self.live.clone());
        self.note_news(&before);
        self.end_step_of_run();
        let before = std::mem::replace(&mut self.shown, shown);
        self.wants_play = self.wants_play.filter(|(_, asked)| self.live.answered < *asked);
        if Arc::ptr_eq(&before, &self.shown) {
            return;
        }
        let now = self.shown.clone();
        if let Some(scene) = &now.scene
            && scene.generation != self.staged
        {
            self.stage(scene, before.scene.as_deref(), graphics);
        }
        if now.refused > self.refused {
            self.refused = now.refused;
            self.take_back();
        }
        if self.viewpoint.follows() && !self.lookup.is_busy() {
            self.lookup.ask(Question::Follow);
        }
        self.follow_values();
        if now.file_changes > self.file_changes {
            self.file_changes = now.file_changes;
            self.log.say(format_args!("changed on disk"));
            self.unless_unsaved(After::Reload { on_disk: true });
        }
        if now.failed_loads > self.failed_loads {
            self.failed_loads = now.failed_loads;
            self.ask_for_path_again();
            if std::mem::take(&mut self.builds_change) {
                self.take_back();
            }
        }
        if let Err(error) = self.place(graphics).and_then(|()| self.color(graphics)) {
            self.tell(Severity::Error, error);
        }
        self.scale = self.scale.following(self.contacts());
        self.log_changes(&before);
        if let (Some(due), true, None) = (now.frame_due, self.recorder.is_some(), &self.film_of_past) {
            self.record(due, graphics);
        }
    }

    /// A new scene: its shapes, its light, its camera.
    fn stage(&mut self, scene: &SceneInfo, before: Option<&SceneInfo>, graphics: &mut Graphics) {
        self.stop_recording();
        graphics.renderer.set_stage(&stage::stage(&scene.model, scene.light));
        (self.coloring, self.drafting, self.brushing) = (None, Drafting::default(), Brushing::default());
        self.rigid_corners = inside::rigid_corners(&scene.model);
        self.points = Points::of_scene(&scene.probes);
        self.open_document(scene, before);
        self.marked = 0;
        self.staged = scene.generation;
        self.builds_change = false;
        self.ui.path_tried = None;
        self.grab = None;
        self.pointer.handle(Input::Cancel);
        if let SceneSource::Path(path) | SceneSource::Session(path) = scene.source.base()
            && path.is_absolute()
            && let Err(text) = self.recent.add(path)
        {
            self.tell(Severity::Error, text);
        }
        self.ui.checkups = !scene.checkups.is_empty();
        (self.marked_since, self.looked_at) = (Some(std::time::Instant::now()), None);
        (self.ui.warnings_open, self.ui.warnings_read) = (false, 0);
        for checkup in &scene.checkups {
            let (findings, refused) = (checkup.report.findings.len(), checkup.refusal.is_some());
            self.log.say(format_args!("checkup {} findings={findings} refused={refused}", checkup.file));
        }
        if let Some(before) = before.filter(|before| before.source.base() == scene.source.base()) {
            self.keep_view(before, scene);
        } else {
            self.open_view(scene);
            self.ui.brush = Brush::default();
            self.scale = Scale::default();
            self.ui.import_open = true;
        }
    }

    /// Positions and poses of the shown snapshot.
    fn place(&mut self, graphics: &mut Graphics) -> Result<(), String> {
        self.placed += 1;
        let Some(view) = &self.shown.view else { return Ok(()) };
        let positions = match &view.surface {
            SurfacePositions::Host(host) => Positions::Host(host),
            SurfacePositions::Device(surface) => Positions::Device(gpu::surface_buffer(surface)),
        };
        let transforms = stage::transforms(&view.rigid_poses, &view.obstacle_poses);
        let placed = graphics.renderer.set_positions(positions).and_then(|()| graphics.renderer.set_rigid_transforms(&transforms));
        let placed = match &view.nodes {
            Some(nodes) => placed.and_then(|()| graphics.renderer.set_node_positions(Positions::Host(nodes))),
            None => placed,
        };
        placed.map_err(|error| error.to_string())
    }

    /// One frame of panels and mouse. `events` are the frame's, before the panels saw them.
    pub fn frame(&mut self, context: &egui::Context, mut input: egui::RawInput, graphics: &mut Graphics) -> egui::FullOutput {
        if self.place_camera() {
            context.request_repaint();
        }
        if self.plays_pictures() || self.marks_fade() {
            context.request_repaint();
        }
        let mut actions = keys::take_actions(context, &mut input, &mut self.ui);
        let events = input.events.clone();
        let mut outcome = None;
        let adapter = graphics.device.info.name.clone();
        let grabs = self.grab_marks();
        let gizmo = self.gizmo_view(context.input(|input| input.pointer.latest_pos()));
        let (plane, open_sections) = (self.plane_view(context), self.open_sections(graphics));
        let contacts = self.ui.contacts.then(|| ContactLegend { force: self.scale.force, count: self.contacts().len() });
        let (tip, marks) = (self.contact_tip(context), ToolMarks { brush: self.brush_mark_at_mouse(context), ..self.tool_marks() });
        let cut_at = self.ui.inside.open.then(|| self.ui.inside.position(self.reach_of_cut())).flatten();
        let checks = self.verifier.board();
        self.log_checks(&checks);
        let scene_key = self.scene_key();
        let step_time = self.long_step(context);
        let studio = self.studio(graphics);
        self.read_figures();
        let mut ui = std::mem::take(&mut self.ui);
        let output = context.run_ui(input, |root| {
            let shown = UiContext {
                snapshot: &self.shown,
                is_playing: self.is_playing(),
                step_time,
                progress: self.worker.progress(),
                document: self.document.as_ref(),
                draft: self.drafting.draft(),
                history: &self.history,
                recent: &self.recent,
                views: self.views.of(&scene_key),
                is_parallel: self.viewpoint.camera.is_parallel(),
                gallery: &self.gallery,
                recording: self.recording_view(),
                studio,
                grabs: &grabs,
                frame: self.stroke.as_ref().and_then(Stroke::frame),
                grip: self.grip,
                gizmos: [gizmo.as_ref(), plane.as_ref()],
                contacts,
                tip: tip.clone(),
                marks: marks.clone(),
                cut_at,
                open_sections: &open_sections,
                coloring: self.coloring,
                adapter: &adapter,
                picture: graphics.view_texture,
                checks: &checks,
                timeline: self.timeline(),
                plots: self.plots(&ui.plots),
            };
            outcome = Some(ui::show(root, &mut ui, &shown));
        });
        self.ui = ui;
        self.keep_settings();
        self.ui.options.theme = if self.ui.dark { Theme::DARK } else { Theme::LIGHT };
        self.pixels_per_point = output.pixels_per_point;
        if let Some(Outcome { actions: more, view, free, landmarks }) = outcome {
            actions.extend(more);
            (self.view, self.free) = (view, free);
            self.place_camera();
            if self.log.landmarks(&landmarks, self.pixels_per_point) {
                context.request_repaint();
            }
        }
        for event in &events {
            if let egui::Event::PointerButton { pressed: false, .. } = event {
                self.viewpoint.release();
            }
            if let Some(input) = self.pointer_input(context, event)
                && !self.plane_takes(&input, context.input(|input| input.modifiers.command || input.modifiers.shift))
                && !self.gizmo_takes(&input, context.input(|input| input.modifiers.command))
                && !self.brush_takes(&input, event)
                && let Some(effect) = self.pointer.handle(input)
            {
                self.apply_effect(effect);
            }
            if let Some(at) = self.pointer.take_click() {
                let several = context.input(|input| input.modifiers.command || input.modifiers.shift);
                let ray = self.ray(at);
                self.lookup.ask(if self.ui.tool.is_some() { Question::Point(ray) } else { Question::Select { ray, several } });
            }
            if let Some(at) = self.pointer.take_right_click() {
                self.lookup.ask(Question::Menu { ray: self.ray(at), at });
            }
        }
        self.log_typing(context.text_edit_focused());
        if !actions.is_empty() {
            context.request_repaint(); // the panels show what comes of it
            context.request_repaint_after(LONG_STEP); // and a step that may begin now
        }
        for action in actions {
            match action {
                Action::Record(action) => self.act_on_record(action, graphics),
                action => self.act(action),
            }
        }
        if self.advance_film(graphics) {
            context.request_repaint();
        }
        self.look_at_jobs(context, graphics);
        self.look_at_draft(context, graphics);
        self.paint_pins(context);
        self.note_plane(context);
        self.answer(graphics, context);
        self.look_at_brush(context, graphics);
        self.mark_selection(graphics);
        self.place_ghost(graphics);
        self.want();
        let [_, _, width, height] = self.viewport();
        if let Some(left) = self.rest.look(self.viewpoint.camera, self.options(), self.placed, [width, height]) {
            context.request_repaint_after(left);
        }
        if std::mem::take(&mut self.screenshot_asked) {
            self.save_screenshot(graphics);
        }
        output
    }

    /// Whether the simulation plays, or will as soon as it has heard of it.
    fn is_playing(&self) -> bool {
        self.wants_play.map_or(self.shown.playing(), |(plays, _)| plays)
    }

    /// How long the step in progress takes so far, once that is worth a word. No news comes from a step that takes
    /// long: the window looks again by itself.
    fn long_step(&mut self, context: &egui::Context) -> Option<Duration> {
        let time = self.worker.step_time();
        let is_long = time.is_some_and(|time| time >= LONG_STEP);
        if is_long != std::mem::replace(&mut self.in_long_step, is_long) {
            self.log.say(format_args!("long step {}", if is_long { "begun" } else { "ended" }));
        }
        if time.is_some() || self.live.playing() {
            context.request_repaint_after(LONG_STEP);
        }
        time.filter(|time| *time >= LONG_STEP)
    }

    /// The window lost the focus: the release of a button may never come.
    pub fn cancel(&mut self) {
        self.give_up_drag();
        self.cancel_brush();
        if let Some(effect) = self.pointer.handle(Input::Cancel) {
            self.apply_effect(effect);
        }
    }

    /// Something went wrong on the device; said once.
    pub fn device_fault(&mut self, text: &str) {
        if !std::mem::replace(&mut self.fault_told, true) {
            // Its lines and indentation mean nothing here.
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            self.tell(Severity::Error, format!("{text}. Save what you need and start Pliant again."));
        }
    }

    /// As the user wants it, except for tets before their nodes have come.
    fn options(&self) -> ViewOptions {
        let nodes = self.shown.view.as_ref().and_then(|view| view.nodes.as_deref());
        match (self.ui.options.shading, nodes) {
            (_, Some(_)) if self.ui.inside.open => self.ui.inside.options(self.ui.options, self.reach_of_cut()),
            (Shading::Tets, None) => ViewOptions { shading: Shading::Smooth, ..self.ui.options },
            _ => self.ui.options,
        }
    }

    /// The picture that the 3D view shall show.
    pub fn picture(&self) -> Picture {
        let [_, _, width, height] = self.viewport();
        Picture {
            size: [width, height],
            camera: self.viewpoint.camera,
            options: ViewOptions { fine: self.rest.is_at_rest() && !self.is_playing(), ..self.options() },
            marks: [self.ui.contacts, self.ui.checkups],
            version: self.placed,
        }
    }

    /// Where the 3D view is [px].
    pub fn viewport(&self) -> [u32; 4] {
        let p = self.pixels_per_point;
        let [x, y] = [self.view.left(), self.view.top()].map(|v| (v * p).round().max(0.0) as u32);
        let [right, bottom] = [self.view.right(), self.view.bottom()].map(|v| (v * p).round().max(0.0) as u32);
        [x, y, right.saturating_sub(x), bottom.saturating_sub(y)]
    }
}
