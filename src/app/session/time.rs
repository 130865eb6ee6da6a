//! Where on the timeline the window looks: at the simulation, or at a picture of its past.

use std::sync::Arc;
use std::time::Instant;

use super::Session;
use super::edits::in_window;
use crate::app::SceneSource;
use crate::app::contacts::contact_marks;
use crate::app::document::Labels;
use crate::app::engine::{View, Wants};
use crate::app::files;
use crate::app::history::Entry;
use crate::app::pins::{has_pins, pins};
use crate::app::ui::{Hint, TimeAction, TimelineView};
use crate::app::worker::{Activity, Journey, Request, Severity, Snapshot};
use crate::model::Model;
use crate::scene::LiveValues;
use crate::sim::past::{BranchId, EventKind, Figures, Lane, Picture, SharedPast, locked};
use crate::sim::{Command, commands_between};
use crate::stage;
use crate::step::SurfacePositions;

/// What the window knows of the past.
#[derive(Default)]
pub struct Time {
    /// The picture that is looked at; none while the simulation itself is.
    cursor: Option<Cursor>,
    /// Journeys that the worker was asked for.
    asked: u64,
    /// One of them has not ended yet.
    under_way: bool,
    /// One of them has just ended.
    has_arrived: bool,
    /// The past was looked at in the last frame.
    showed_past: bool,
    /// Where to look once the journey to another branch has ended [s].
    then_at: Option<f64>,
    lanes: Vec<Lane>,
    /// The generation of the scene and the version of its past that the lanes were read from.
    read: Option<(u64, u64)>,
    /// The numbers of the steps of the live branch, and the version of the past that they were read from.
    figures: (Vec<Arc<Figures>>, Option<(u64, u64)>),
    look: Option<Look>,
    /// The model with the materials of the last picture.
    model: Option<Arc<Model>>,
    /// What the simulation calls otherwise than the scene.
    labels: Labels,
}

struct Cursor {
    /// Of the scene.
    generation: u64,
    branch: BranchId,
    step: u64,
    /// When pictures began to be played, and from where [s].
    playing: Option<(Instant, f64)>,
    /// The worker was asked to go there.
    leaving: bool,
}

/// A picture of the past as it was last shown.
struct Look {
    of: (u64, BranchId, u64, Wants),
    activity: Activity,
    speed: f64,
    snapshot: Arc<Snapshot>,
}

impl Session {
    /// The snapshot to show, now that `live` is the newest.
    pub(super) fn look_at(&mut self, live: Arc<Snapshot>) -> Arc<Snapshot> {
        self.time.take_labels(self.document.as_ref().map(|document| document.labels()));
        self.time.read(&live);
        self.arrive(&live);
        self.play_pictures(&live);
        let shown = self.time.cursor.is_some().then(|| self.time.past_snapshot(&live, self.wanted())).flatten();
        shown.unwrap_or(live)
    }

    /// Ends the look at the past where there is another scene, or where a journey has led to another branch.
    fn arrive(&mut self, live: &Arc<Snapshot>) {
        let has_arrived = live.journeys >= self.time.asked;
        if has_arrived && std::mem::take(&mut self.time.under_way) {
            self.time.has_arrived = true;
        }
        let time = &mut self.time;
        if let Some(cursor) = &mut time.cursor {
            let generation = live.scene.as_ref().map_or(0, |scene| scene.generation);
            if cursor.generation != generation || (has_arrived && cursor.branch != live.branch) {
                time.cursor = None;
            } else if has_arrived && std::mem::take(&mut cursor.leaving) {
                // The journey came to nothing, and with it the grab for which it was.
                self.grab = None;
            }
        }
        if has_arrived && let Some(at) = time.then_at.take() {
            let place = time.lane(live.branch).and_then(|lane| lane.place_at(at));
            if let Some((step, _)) = place {
                self.scrub(step, live);
            }
        }
    }

    /// The panel shows the values that hold where the window looks: those of the picture, or of the simulation where a
    /// journey or the look at the past has ended. What nobody has set in the panel is told.
    pub(super) fn follow_values(&mut self) {
        let is_past = self.is_in_past();
        let was_past = std::mem::replace(&mut self.time.showed_past, is_past);
        let has_arrived = std::mem::take(&mut self.time.has_arrived);
        if self.time.under_way || !(is_past || was_past || has_arrived) {
            return;
        }
        let shown = self.shown.view.clone();
        let (Some(document), Some(values)) = (&self.document, shown.as_ref().and_then(|view| view.values.as_ref())) else { return };
        let values = &document.labels().shown_values(values);
        let others = |of_panel: &LiveValues| commands_between(&in_window(of_panel.clone()), values);
        for (path, value) in self.changing(|document| document.show(|of_panel| others(of_panel).is_empty())).unwrap_or_default() {
            self.log.say(format_args!("shows {path}={}", value.unwrap_or_default()));
        }
        let Some(document) = &self.document else { return };
        let words = |command: &Command| match EventKind::of_command(command) {
            Some(EventKind::Edited(what)) => Some(what),
            _ => None,
        };
        let left: Vec<String> = others(&document.scene().live_values()).iter().filter_map(words).collect();
        if has_arrived && !left.is_empty() {
            let text = format!("Some values are as they were here, and not as the panel shows them: {}", left.join(", "));
            self.tell(Severity::Info, text);
        }
    }

    fn play_pictures(&mut self, live: &Snapshot) {
        let Some(Cursor { step, playing: Some((since, from)), .. }) = self.time.cursor else { return };
        let Some(lane) = self.time.lane(live.branch) else { return };
        let now = from + since.elapsed().as_secs_f64() * live.speed;
        // As fast as it goes: every picture once.
        let next = if now.is_finite() { lane.place_at(now) } else { lane.after(step) };
        match next.filter(|next| lane.places.last() != Some(next)) {
            Some((next, _)) => {
                if let Some(cursor) = &mut self.time.cursor {
                    cursor.step = next;
                }
            }
            None => {
                self.time.cursor = None;
                self.worker.send(Request::Play);
            }
        }
    }

    /// Whether pictures of the past follow one another.
    pub(super) fn plays_pictures(&self) -> bool {
        self.time.cursor.as_ref().is_some_and(|cursor| cursor.playing.is_some() && !cursor.leaving)
    }

    pub(super) fn timeline(&self) -> Option<TimelineView<'_>> {
        let live = &self.live;
        live.past.as_ref()?;
        let now = self.shown.view.as_ref().map(|view| (view.step, view.time))?;
        let is_past = self.time.cursor.is_some();
        let (lanes, live_time) = (&self.time.lanes[..], live.view.as_ref()?.time);
        Some(TimelineView { lanes, branch: live.branch, ghost: self.ghost(), now, is_past, live_time })
    }

    /// Looks at the picture of a step of the live branch, or at the simulation where it stands there.
    fn scrub(&mut self, step: u64, live: &Arc<Snapshot>) {
        if self.time.cursor.as_ref().is_some_and(|cursor| cursor.leaving) {
            return;
        }
        if live.playing() {
            self.worker.send(Request::Pause);
        }
        self.stop_recording();
        self.cancel();
        let is_live = live.view.as_ref().is_some_and(|view| view.step == step);
        let generation = live.scene.as_ref().map_or(0, |scene| scene.generation);
        self.time.cursor = (!is_live).then_some(Cursor { generation, branch: live.branch, step, playing: None, leaving: false });
    }

    pub(super) fn act_on_time(&mut self, action: TimeAction) {
        let live = self.live.clone();
        match action {
            TimeAction::Scrub(step) => {
                self.ui.hints.did(Hint::GoBack);
                self.scrub(step, &live);
            }
            TimeAction::Back => {
                let step = self.shown.view.as_ref().map_or(0, |view| view.step);
                if let Some((before, _)) = self.time.lane(live.branch).and_then(|lane| lane.before(step)) {
                    self.scrub(before, &live);
                }
            }
            TimeAction::Live => self.time.cursor = None,
            TimeAction::Continue => self.go_back(vec![], true),
            TimeAction::Ghost(branch) => self.set_ghost(branch),
            TimeAction::ToggleGhost => self.toggle_ghost(),
            TimeAction::Show(branch, at) => {
                self.swap_ghost(branch);
                let now = self.shown.view.as_ref().map(|view| view.time);
                self.time.then_at = at.or(now.filter(|_| self.time.cursor.is_some()));
                self.journey(Journey::Branch(branch));
            }
            TimeAction::Forget(branch) => {
                if self.set_forgotten(branch, true) {
                    self.history.push(Entry::Forgotten(branch));
                    self.tell(Severity::Info, format!("Branch {branch} is off the timeline. Ctrl+Z brings it back"));
                }
            }
            TimeAction::Stop => self.worker.send(Request::Pause),
        }
    }

    pub(super) fn play_or_pause(&mut self) {
        let (now, at_end) = match (&self.time.cursor, &self.shown.view) {
            (Some(cursor), Some(view)) => (view.time, self.time.lane(cursor.branch).is_some_and(|lane| lane.after(cursor.step).is_none())),
            _ => (0.0, true),
        };
        match &mut self.time.cursor {
            Some(cursor) if cursor.leaving => {}
            Some(cursor) if cursor.playing.is_some() => cursor.playing = None,
            Some(cursor) if !at_end => cursor.playing = Some((Instant::now(), now)),
            _ => {
                self.time.cursor = None;
                let plays = !self.is_playing();
                self.wants_play = Some((plays, self.worker.ask(if plays { Request::Play } else { Request::Pause })));
            }
        }
    }

    /// The next picture, or the next step.
    pub(super) fn step_once(&mut self) {
        let next = self.time.cursor.as_ref().map(|cursor| self.time.lane(cursor.branch).and_then(|lane| lane.after(cursor.step)));
        match next {
            None => self.worker.send(Request::StepOnce),
            Some(Some((step, _))) => self.scrub(step, &self.live.clone()),
            Some(None) => self.time.cursor = None,
        }
    }

    /// Pictures that are played go on from the one that is shown, now that their speed changes.
    pub(super) fn anchor_pictures(&mut self) {
        if let (Some(Cursor { playing: Some(playing), .. }), Some(view)) = (&mut self.time.cursor, &self.shown.view) {
            *playing = (Instant::now(), view.time);
        }
    }

    pub(super) fn is_in_past(&self) -> bool {
        self.time.cursor.is_some()
    }

    /// Looks at the simulation itself.
    pub(super) fn go_live(&mut self) {
        self.time.cursor = None;
    }

    /// Gives a command: to the simulation, or where a picture of the past is looked at, to a branch that begins there.
    pub(super) fn command(&mut self, command: Command) {
        self.commands(vec![command]);
    }

    /// The same with several ones, which act together.
    pub(super) fn commands(&mut self, commands: Vec<Command>) {
        let built = |command: &Command| match &self.document {
            Some(document) => document.labels().built_command(command),
            None => command.clone(),
        };
        let given: Vec<Command> = commands.iter().map(built).collect();
        self.note_deed(&commands, &given);
        self.send(given);
    }

    /// The same without an entry for undo, with the names that the simulation has.
    pub(super) fn send(&mut self, commands: Vec<Command>) {
        let Some(generation) = self.live.scene.as_ref().map(|scene| scene.generation) else { return };
        match &self.time.cursor {
            _ if commands.is_empty() => {}
            Some(cursor) if !cursor.leaving => self.go_back(commands, self.plays_pictures()),
            _ => commands.into_iter().for_each(|command| self.worker.send(Request::Command(generation, command))),
        }
    }

    /// Takes up the session that was left behind, under a name of its own, or throws it away.
    pub(super) fn answer_left_behind(&mut self, taken_up: bool) {
        let Some(left) = self.ui.left_behind.take() else { return };
        if !taken_up {
            // One that cannot be removed is offered again.
            let _ = std::fs::remove_file(&left.path);
            return;
        }
        let path = files::unused("pliant-session", ".session");
        let moved = std::fs::rename(&left.path, &path).or_else(|_| std::fs::copy(&left.path, &path).map(|_| ()));
        match moved {
            Ok(()) => {
                // Where it was copied the first one goes, too.
                let _ = std::fs::remove_file(&left.path);
                self.open(SceneSource::Path(path));
            }
            Err(error) => {
                self.tell(Severity::Error, format!("The session could not be taken up: {error}. It is in {}", left.path.display()))
            }
        }
    }

    /// Begins a branch at the picture that is looked at.
    fn go_back(&mut self, commands: Vec<Command>, play: bool) {
        let Some(cursor) = &mut self.time.cursor else { return };
        cursor.leaving = true;
        let step = cursor.step;
        self.log.say(format_args!("branch from step {step}"));
        self.journey(Journey::Back { step, commands, play });
    }

    pub(super) fn journey(&mut self, journey: Journey) {
        let Some(scene) = &self.live.scene else { return };
        self.time.asked += 1;
        self.time.under_way = true;
        self.worker.send(Request::Travel(scene.generation, journey));
    }
}

impl Time {
    /// Pictures are shown with other names from now on.
    fn take_labels(&mut self, labels: Option<&Labels>) {
        if labels.map_or(!self.labels.is_empty(), |labels| self.labels != *labels) {
            (self.labels, self.look, self.model, self.read) = (labels.cloned().unwrap_or_default(), None, None, None);
        }
    }

    /// A way through the past is not at its end.
    pub(super) fn is_under_way(&self) -> bool {
        self.under_way
    }

    pub(super) fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    pub(super) fn lane(&self, branch: BranchId) -> Option<&Lane> {
        self.lanes.iter().find(|lane| lane.id == branch)
    }

    /// Reads the lanes anew where something was recorded since.
    fn read(&mut self, live: &Snapshot) {
        let generation = live.scene.as_ref().map_or(0, |scene| scene.generation);
        let Some(past) = &live.past else {
            (self.lanes, self.read) = (vec![], None);
            return;
        };
        let past = locked(past);
        let now = Some((generation, past.version()));
        if self.read != now {
            (self.lanes, self.read) = (past.lanes(), now);
            for event in self.lanes.iter_mut().flat_map(|lane| &mut lane.events).filter(|_| !self.labels.is_empty()) {
                *event = self.labels.shown_event(event);
            }
        }
    }

    /// How everything looked at a time [s] of the live branch, between the pictures of two steps.
    pub(super) fn view_at(&mut self, time: f64, wants: Wants, live: &Arc<Snapshot>) -> Option<View> {
        self.view_of(live.branch, time, wants, live)
    }

    /// The same of any branch.
    pub(super) fn view_of(&mut self, branch: BranchId, time: f64, wants: Wants, live: &Arc<Snapshot>) -> Option<View> {
        let past = live.past.as_ref()?;
        let picture = locked(past).picture_at(branch, time)?;
        let model = self.model_of(&picture, live)?;
        Some(view(&picture, &model, (past, branch), wants, live, &self.labels))
    }

    /// Times of the first and the last picture of a branch [s].
    pub(super) fn recorded(&self, branch: BranchId) -> Option<[f64; 2]> {
        let places = &self.lane(branch)?.places;
        Some([places.first()?.1, places.last()?.1])
    }

    /// Reads the numbers of the steps of the live branch anew, where there are others since.
    pub(super) fn read_figures(&mut self, live: &Snapshot) {
        let generation = live.scene.as_ref().map_or(0, |scene| scene.generation);
        let Some(past) = &live.past else {
            self.figures = Default::default();
            return;
        };
        let past = locked(past);
        let now = Some((generation, past.version()));
        if self.figures.1 != now {
            self.figures = (past.figures(live.branch), now);
        }
    }

    /// The numbers of the steps of the live branch, as last read.
    pub(super) fn figures(&self) -> &[Arc<Figures>] {
        &self.figures.0
    }

    fn past_snapshot(&mut self, live: &Arc<Snapshot>, wants: Wants) -> Option<Arc<Snapshot>> {
        let cursor = self.cursor.as_ref()?;
        let activity = match &live.activity {
            busy @ (Activity::Travelling { .. } | Activity::Building { .. }) => busy.clone(),
            _ if cursor.playing.is_some() && !cursor.leaving => Activity::Playing,
            _ => Activity::Paused,
        };
        let of = (cursor.generation, cursor.branch, cursor.step, wants);
        if let Some(look) = self.look.as_ref().filter(|look| look.of == of) {
            if look.activity == activity && look.speed == live.speed {
                return Some(look.snapshot.clone());
            }
            let snapshot = Arc::new(Snapshot { activity: activity.clone(), speed: live.speed, ..Snapshot::clone(&look.snapshot) });
            self.look = Some(Look { of, activity, speed: live.speed, snapshot: snapshot.clone() });
            return Some(snapshot);
        }
        let picture = locked(live.past.as_ref()?).picture(cursor.branch, cursor.step)?;
        let model = self.model_of(&picture, live)?;
        let view = view(&picture, &model, (live.past.as_ref()?, of.1), wants, live, &self.labels);
        let snapshot = Arc::new(Snapshot {
            activity: activity.clone(),
            report: picture.details.report.clone(),
            view: Some(Arc::new(view)),
            real_time_factor: None,
            frame_due: None,
            ..Snapshot::clone(live)
        });
        self.look = Some(Look { of, activity, speed: live.speed, snapshot: snapshot.clone() });
        Some(snapshot)
    }

    /// The scene's model with the materials of a picture.
    fn model_of(&mut self, picture: &Picture, live: &Snapshot) -> Option<Arc<Model>> {
        let of_scene = live.scene.as_ref()?.model.clone();
        let Some(values) = &picture.details.settings.values else { return Some(of_scene) };
        let LiveValues { materials, fixed, .. } = &self.labels.shown_values(values);
        let fits = |model: &&Arc<Model>| {
            model.named_materials == *materials && model.fixed_parts == *fixed && model.n_nodes() == of_scene.n_nodes()
        };
        if let Some(model) = [Some(&of_scene), self.model.as_ref()].into_iter().flatten().find(fits) {
            return Some(model.clone());
        }
        let mut model = of_scene;
        for material in materials.iter().filter(|material| !model.named_materials.contains(material)).cloned().collect::<Vec<_>>() {
            model = model.with_material(&material).map_or(model, Arc::new);
        }
        if model.fixed_parts != *fixed {
            model = model.with_fixed(fixed).map_or(model, Arc::new);
        }
        self.model = Some(model.clone());
        self.model.clone()
    }
}

/// A picture as the window shows it.
fn view(picture: &Picture, model: &Model, (past, branch): (&SharedPast, BranchId), wants: Wants, live: &Snapshot, labels: &Labels) -> View {
    let (details, poses) = (&picture.details, &picture.obstacle_poses);
    let mut pins = if has_pins(model) { pins(model, |node| picture.positions[node]) } else { vec![] };
    // As the simulation calls them, like all of a view.
    pins.iter_mut().for_each(|pin| pin.body = labels.built("body", &pin.body));
    let before = || locked(past).picture(branch, picture.step.checked_sub(1)?);
    let vertices = |positions: &[crate::math::Vec3]| positions.iter().map(stage::vertex).collect::<Vec<_>>();
    View {
        step: picture.step,
        time: picture.time,
        surface: SurfacePositions::Host(vertices(&model.surface_positions(&picture.positions))),
        nodes: wants.nodes.then(|| vertices(&picture.positions)),
        contacts: wants.contacts.then(|| contact_marks(model, &details.contacts, &picture.positions, poses)),
        field: wants.field.and_then(|field| picture.field(field, model, before().as_ref())),
        rigid_poses: picture.rigid_poses.clone(),
        obstacle_poses: poses.clone(),
        attachments: details.attachments.clone(),
        pins: Arc::new(pins),
        grabs: details.grabs.clone(),
        values: details.settings.values.clone(),
        materials: details.settings.values.as_ref().map(|values| values.materials.clone()).unwrap_or_default(),
        masses: details.settings.masses.clone(),
        wants,
        backend: live.view.as_ref().and_then(|view| view.backend.clone()),
    }
}
