//! All that the window knows and does, apart from windows: the worker's snapshots, the camera, grabs, recordings,
//! panels.

mod bodies;
mod checks;
mod edits;
mod flight;
mod gizmo;
mod grabs;
mod keys;
mod lookup;
mod marks;
mod picking;
mod pins;
mod plots;
mod recording;
mod time;
mod tools;
mod view;

use std::sync::Arc;

use egui::Rect;

use super::coloring::Coloring;
use super::contacts::Scale;
use super::document::Document;
use super::engine::{SceneInfo, View};
use super::events::EventLog;
use super::files;
use super::graphics::{Graphics, Picture};
use super::pointer::{Effect, Input, Pointer};
use super::recent::{Recent, config_folder};
use super::recorder::Recorder;
use super::ui::{Action, After, ContactLegend, GalleryItem, Outcome, PathPurpose, UiContext, UiState};
use super::verifier::Verifier;
use super::worker::{Notice, Request, Severity, Snapshot, Worker};
use super::{SceneSource, ui};
use crate::body::BodyRef;
use crate::gpu;
use crate::model::Model;
use crate::render::{Camera, Hit, Positions, Shading, Theme, ViewOptions};
use crate::sim::Grip;
use crate::stage;
use crate::step::SurfacePositions;
use flight::Flight;
use gizmo::Dragged;
use grabs::Grab;
use lookup::{Lookup, Question};
use pins::Stroke;
use time::Time;
use tools::Points;

pub struct Session {
    worker: Worker,
    /// The worker's newest snapshot.
    live: Arc<Snapshot>,
    /// The snapshot that is drawn: the newest one, or one of the past.
    shown: Arc<Snapshot>,
    time: Time,
    /// Generation of the scene whose stage the renderer has.
    staged: u64,
    /// How often something on the stage was moved.
    placed: u64,
    pub ui: UiState,
    /// The scene with what was changed in the window; none where nothing came of a mesh.
    document: Option<Document>,
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
    camera: Camera,
    flight: Option<Flight>,
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
    /// A handle of the gizmo is held.
    dragged: Option<Dragged>,
    recent: Recent,
    gallery: Vec<GalleryItem>,
    recorder: Option<Recorder>,
    /// The scale of the arrows of contacts.
    scale: Scale,
    /// What bodies are coloured by.
    coloring: Option<Coloring>,
    log: EventLog,
    verifier: Verifier,
    /// Where the 3D view is, in points.
    view: Rect,
    pixels_per_point: f32,
    ready: bool,
    screenshot_asked: bool,
    fault_told: bool,
    /// Read by the window after each frame.
    pub wishes: Wishes,
}

/// Wishes that only the window can fulfil.
#[derive(Default)]
pub struct Wishes {
    pub quit: bool,
    pub dialog: Option<PathPurpose>,
}

impl Session {
    pub fn new(worker: Worker, log: EventLog, verifier: Verifier) -> Self {
        let shown = worker.snapshot();
        Self {
            worker,
            live: shown.clone(),
            shown,
            time: Time::default(),
            staged: 0,
            placed: 0,
            ui: UiState::default(),
            document: None,
            refused: 0,
            failed_loads: 0,
            file_changes: 0,
            after_save: None,
            builds_change: false,
            marked: 0,
            camera: Camera::default(),
            flight: None,
            pointer: Pointer::default(),
            lookup: Lookup::default(),
            points: Points::default(),
            grab: None,
            n_grabs: 0,
            grip: Grip::default(),
            spot: None,
            stroke: None,
            dragged: None,
            recent: Recent::load(config_folder().as_deref()),
            gallery: ui::gallery(),
            recorder: None,
            scale: Scale::default(),
            coloring: None,
            log,
            verifier,
            view: Rect::ZERO,
            pixels_per_point: 1.0,
            ready: false,
            screenshot_asked: false,
            fault_told: false,
            wishes: Wishes::default(),
        }
    }

    /// Opens a scene, once what was changed in the present one is saved or given up.
    pub fn open(&mut self, source: SceneSource) {
        self.unless_unsaved(After::Open(source));
    }

    pub fn quit(&mut self) {
        self.unless_unsaved(After::Quit);
    }

    fn open_now(&mut self, source: SceneSource) {
        if let SceneSource::Path(path) = &source {
            // Relative paths mean another file once the folder changes.
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            if let Err(text) = self.recent.add(&path) {
                self.tell(Severity::Error, text);
            }
            self.worker.send(Request::Load(SceneSource::of_path(path)));
        } else {
            self.worker.send(Request::Load(source));
        }
    }

    pub fn tell(&mut self, severity: Severity, text: String) {
        self.log.say(format_args!("message {text}"));
        self.ui.tell(Notice { severity, text });
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
            self.tell(notice.severity, notice.text);
        }
        self.live = self.worker.snapshot();
        let shown = self.look_at(self.live.clone());
        let before = std::mem::replace(&mut self.shown, shown);
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
        self.follow_values();
        if now.file_changes > self.file_changes {
            self.file_changes = now.file_changes;
            self.log.say(format_args!("changed on disk"));
            self.unless_unsaved(After::Reload { on_disk: true });
        }
        if now.failed_loads > self.failed_loads {
            self.failed_loads = now.failed_loads;
            if std::mem::take(&mut self.builds_change) {
                self.take_back();
            }
        }
        if let Err(error) = self.place(graphics).and_then(|()| self.color(graphics)) {
            self.tell(Severity::Error, error);
        }
        self.scale = self.scale.following(self.contacts());
        self.log_changes(&before);
        if let (Some(due), true) = (now.frame_due, self.recorder.is_some()) {
            self.record(due, graphics);
        }
    }

    /// A new scene: its shapes, its light, its camera.
    fn stage(&mut self, scene: &SceneInfo, before: Option<&SceneInfo>, graphics: &mut Graphics) {
        self.stop_recording();
        graphics.renderer.set_stage(&stage::stage(&scene.model, scene.light));
        self.coloring = None;
        self.points = Points::of_scene(&scene.probes);
        self.open_document(scene);
        self.marked = 0;
        self.staged = scene.generation;
        self.builds_change = false;
        self.grab = None;
        self.pointer.handle(Input::Cancel);
        self.ui.checkups = !scene.checkups.is_empty();
        (self.ui.warnings_open, self.ui.warnings_read) = (false, 0);
        for checkup in &scene.checkups {
            let (findings, refused) = (checkup.report.findings.len(), checkup.refusal.is_some());
            self.log.say(format_args!("checkup {} findings={findings} refused={refused}", checkup.file));
        }
        if before.is_none_or(|before| before.source.base() != scene.source.base()) {
            self.camera = scene.camera.widened(self.view.width() / self.view.height());
            self.flight = None;
            self.scale = Scale::default();
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

    fn log_changes(&self, before: &Snapshot) {
        let (now, log) = (&self.shown, &self.log);
        let new_scene = now.scene.as_ref().map(|s| s.generation) != before.scene.as_ref().map(|s| s.generation);
        if let (true, Some(scene)) = (new_scene, &now.scene) {
            let (tets, nodes) = (scene.model.tets.len(), scene.model.n_nodes());
            let backend = now.view.as_ref().and_then(|view| view.backend.as_ref()).map_or("none", |info| info.backend);
            log.say(format_args!("scene loaded {} backend={backend} tets={tets} nodes={nodes}", scene.name));
        }
        if let Some(view) = &now.view {
            if new_scene || before.view.as_ref().is_none_or(|b| b.step != view.step) {
                let what = if self.is_in_past() { "past" } else { "step" };
                log.say(format_args!("{what} {} time={:.4}", view.step, view.time));
            }
            let count = |view: &View| view.contacts.as_ref().map(Vec::len);
            if let Some(n) = count(view).filter(|_| before.view.as_ref().and_then(|b| count(b)) != count(view)) {
                log.say(format_args!("contacts {n}"));
            }
            if let Some(grab) = &self.grab
                && let Some(held) = view.grabs.iter().find(|held| held.id == grab.id)
            {
                let [p, t] = [held.point, held.target].map(|v| format!("{:.4},{:.4},{:.4}", v.x, v.y, v.z));
                log.say(format_args!("moved body={} point={p} target={t} force={:.3}", grab.body, held.force.norm()));
            }
        }
        for warning in now.warnings.list().iter().filter(|warning| !before.warnings.list().iter().any(|known| known.kind == warning.kind)) {
            log.say(format_args!("warning {}", warning.text));
        }
        if before.branch != now.branch {
            log.say(format_args!("branch {}", now.branch));
        }
        if before.activity != now.activity {
            log.say(format_args!("activity {:?}", now.activity));
            if !now.playing() {
                self.log_bodies();
            }
        }
    }

    /// `body NAME X Y`: where each body's middle is in the window [px].
    fn log_bodies(&self) {
        let (Some(scene), Some(view)) = (&self.shown.scene, &self.shown.view) else { return };
        let SurfacePositions::Host(positions) = &view.surface else { return };
        for body in lookup::free_bodies(&scene.model) {
            let middle = stage::glam_vec(&lookup::bounds(&scene.model, positions, &view.rigid_poses, body).center());
            if let Some(([x, y], _)) = self.camera.project(middle, self.viewport()) {
                self.log.say(format_args!("body {} {x:.0} {y:.0}", scene.model.body_name(body)));
            }
        }
    }

    /// One frame of panels and mouse. `events` are the frame's, before the panels saw them.
    pub fn frame(&mut self, context: &egui::Context, mut input: egui::RawInput, graphics: &mut Graphics) -> egui::FullOutput {
        if let Some(flight) = &self.flight {
            let (camera, arrived) = flight.now();
            self.camera = camera;
            if arrived {
                self.flight = None;
            }
            context.request_repaint();
        }
        if self.plays_pictures() {
            context.request_repaint();
        }
        let mut actions = keys::take_actions(context, &mut input, &mut self.ui);
        let events = input.events.clone();
        let mut outcome = None;
        let adapter = graphics.device.info.name.clone();
        let grabs = self.grab_marks();
        let gizmo = self.gizmo_view(context.input(|input| input.pointer.latest_pos()));
        let contacts = self.ui.contacts.then(|| ContactLegend { force: self.scale.force, count: self.contacts().len() });
        let (tip, marks) = (self.contact_tip(context), self.tool_marks());
        let checks = self.verifier.board();
        self.log_checks(&checks);
        self.read_figures();
        let mut ui = std::mem::take(&mut self.ui);
        let output = context.run_ui(input, |root| {
            let shown = UiContext {
                snapshot: &self.shown,
                document: self.document.as_ref(),
                recent: &self.recent,
                gallery: &self.gallery,
                recorded_frames: self.recorder.as_ref().map(|recorder| recorder.frames),
                grabs: &grabs,
                grip: self.grip,
                gizmo: gizmo.as_ref(),
                contacts,
                tip: tip.clone(),
                marks: marks.clone(),
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
        self.ui.options.theme = if self.ui.dark { Theme::DARK } else { Theme::LIGHT };
        self.pixels_per_point = output.pixels_per_point;
        if let Some(Outcome { actions: more, view, landmarks }) = outcome {
            actions.extend(more);
            self.view = view;
            if self.log.landmarks(&landmarks, self.pixels_per_point) {
                context.request_repaint();
            }
        }
        for event in &events {
            if let Some(input) = self.pointer_input(context, event)
                && !self.gizmo_takes(&input, context.input(|input| input.modifiers.command))
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
        for action in actions {
            self.act(action);
        }
        self.paint_pins(context);
        self.answer(graphics, context);
        self.mark_selection(graphics);
        self.want();
        if std::mem::take(&mut self.screenshot_asked) {
            self.save_screenshot(graphics);
        }
        output
    }

    /// After a frame was presented.
    pub fn presented(&mut self) {
        if !std::mem::replace(&mut self.ready, true) {
            let [x, y, w, h] = self.viewport();
            self.log.say(format_args!("ready {x} {y} {w} {h}"));
        }
    }

    /// The window lost the focus: the release of a button may never come.
    pub fn cancel(&mut self) {
        self.dragged = None;
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
            (_, Some(nodes)) if self.ui.inside.open => self.ui.inside.options(self.ui.options, nodes),
            (Shading::Tets, None) => ViewOptions { shading: Shading::Smooth, ..self.ui.options },
            _ => self.ui.options,
        }
    }

    /// The picture that the 3D view shall show.
    pub fn picture(&self) -> Picture {
        let [_, _, width, height] = self.viewport();
        Picture {
            size: [width, height],
            camera: self.camera,
            options: self.options(),
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

    fn apply_effect(&mut self, effect: Effect) {
        let viewport = self.viewport();
        match effect {
            // With a tool in hand nothing is grabbed.
            Effect::Pick(_) if self.ui.tool.is_some() => {
                self.pointer.picked(false);
            }
            Effect::Pick(at) => self.lookup.ask(Question::Grab(self.ray(at))),
            Effect::FrameAt(at) => self.lookup.ask(Question::FrameAt(self.ray(at))),
            Effect::MoveGrab { at, depth } => self.move_grab(at, f64::from(depth)),
            Effect::ReleaseGrab => self.release_grab(),
            Effect::Widen(notches) => self.widen_grip(notches),
            Effect::Orbit(delta) => {
                self.flight = None;
                let turn = std::f32::consts::PI / self.view.height().max(1.0);
                self.camera.orbit(-delta.x * turn, delta.y * turn);
            }
            Effect::Pan(delta) => {
                self.flight = None;
                self.camera.pan([delta.x * self.pixels_per_point, delta.y * self.pixels_per_point], viewport);
            }
            Effect::Zoom { at, notches } => {
                self.flight = None;
                self.camera.zoom_to_cursor(0.88_f32.powf(notches), self.pixel(at), viewport);
            }
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::OpenDialog => self.wishes.dialog = Some(PathPurpose::Open),
            Action::OpenField => self.ask_for_path(PathPurpose::Open),
            Action::OpenPath(path) => self.open(SceneSource::Path(path)),
            Action::OpenGallery(name) => self.open(SceneSource::Gallery(name)),
            Action::Reload => self.unless_unsaved(After::Reload { on_disk: false }),
            Action::ClearRecent => self.recent.clear().unwrap_or_else(|text| self.tell(Severity::Error, text)),
            Action::Screenshot => self.screenshot_asked = true,
            Action::ToggleRecording => self.toggle_recording(),
            Action::SaveSession => self.worker.send(Request::SaveSession(files::unused("pliant-session", ".session"))),
            Action::Quit => self.quit(),
            Action::Unsaved(answer) => self.answer_unsaved(answer),
            Action::SavePlots(file) => self.save_plots(file),
            Action::PlayPause => self.play_or_pause(),
            Action::StepOnce => self.step_once(),
            Action::Time(action) => self.act_on_time(action),
            Action::Reset => {
                self.stop_recording();
                self.go_live();
                self.cancel();
                self.restart();
            }
            Action::SetSpeed(speed) => {
                self.anchor_pictures();
                self.worker.send(Request::SetSpeed(speed));
            }
            Action::FrameAll => self.lookup.ask(Question::FrameAll),
            Action::FrameBodies { first, count } => self.lookup.ask(Question::FrameBodies { first, count }),
            Action::Checks(action) => self.act_on_checks(action),
            Action::LeftBehind(taken_up) => self.answer_left_behind(taken_up),
            Action::ClearSelection => {
                if !self.end_tool() {
                    self.ui.selection.clear();
                }
            }
            Action::Bodies(action) => self.act_on_bodies(action),
            Action::Pins(action) => self.act_on_pins(action),
            Action::SetGrip(grip) => self.set_grip(grip),
            Action::AddMeshDialog => self.ask_for_mesh(),
            Action::AddMesh(path) => self.add_mesh(&path),
            Action::ClearProbes => self.clear_probes(),
            other => self.act_on_scene(other),
        }
    }
}
