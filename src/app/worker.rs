//! The simulation on its own thread. The window sends `Request`s and reads the latest `Snapshot`; neither ever waits
//! for a step.

mod clock;
mod loading;
mod notice;
mod progress;
mod recording;
mod requests;
mod saving;
#[cfg(test)]
mod tests;
mod travel;
mod watch;
mod warning;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::SceneSource;
use super::autosave::Autosave;
use super::document::Labels;
use super::engine::{Arrival, Engine, Loaded, SceneInfo, View, Wants};
use super::exporting::ExportWish;
use super::job::Job;
use crate::cancel::CancelToken;
use crate::scene::Probe;
use crate::sim::Command;
use crate::sim::past::{BranchId, SharedPast, locked};
use crate::sim::warnings::Warnings;
use crate::step::StepReport;
use clock::{Clock, RealTimeFactor, smooth_stages};
pub use notice::{Notice, Severity};
use recording::Recording;
use requests::newest_moves;
pub use travel::Journey;
use watch::Watch;

/// A wish of the window.
#[derive(Debug)]
pub enum Request {
    /// Builds a scene and shows it; the one before stays when that fails.
    Load(SceneSource),
    /// Builds the current scene anew from its file.
    Reload,
    /// For the scene of that generation; dropped when another one is there by then.
    Command(u64, Command),
    Play,
    Pause,
    /// One step, then pause.
    StepOnce,
    /// Simulated seconds per second of the wall clock; infinite for as fast as it goes.
    SetSpeed(f64),
    /// Frames per second of simulated time: the thread waits at each frame until `FrameTaken`. None ends the recording.
    Record(Option<f64>),
    FrameTaken,
    /// The parts that snapshots shall have beside the rest.
    Want(Wants),
    /// Follows these points, too, in the scene of that generation, for plots.
    Watch(u64, Vec<Probe>),
    /// Things in the scene of that generation have other names, with which `set` builds its start: `Engine::name`.
    Name {
        generation: u64,
        labels: Labels,
        set: Vec<String>,
    },
    /// Writes what was done so far to a file.
    SaveSession(PathBuf),
    /// Writes how everything stands to a file.
    SaveState(PathBuf),
    /// Goes on from how everything stood.
    LoadState(PathBuf),
    /// Begins to export results; whoever has the job ends it, without waiting for a step.
    Export(ExportWish, Arc<Job>),
    /// The file of the scene was written by the window.
    Saved,
    /// Goes back in the scene of that generation, or to another branch of its past.
    Travel(u64, Journey),
}

impl Request {
    /// Whether a step in progress, or the building of a scene, would be for nothing or is no longer wanted. A state is
    /// loaded into the scene that is built.
    fn interrupts(&self, builds: bool) -> bool {
        match self {
            Self::Load(_) | Self::Reload | Self::Pause | Self::Command(_, Command::Reset) | Self::Travel(..) => true,
            Self::LoadState(_) => !builds,
            _ => false,
        }
    }
}

/// A request on its way, with the token of all work that follows it: a later request that interrupts cancels it.
struct Asked {
    /// Counts requests, from 1 on.
    number: u64,
    request: Request,
    cancel: CancelToken,
}

/// The work of the simulation thread.
#[derive(Clone, Debug, PartialEq)]
pub enum Activity {
    Empty,
    Building {
        name: String,
        since: Instant,
    },
    Playing,
    Paused,
    /// Goes to an exact state of the past, after step `to` if that is known, and is at step `at`.
    Travelling {
        at: u64,
        to: Option<u64>,
        since: Instant,
    },
}

/// Everything the window shows, at one moment.
#[derive(Clone)]
pub struct Snapshot {
    pub activity: Activity,
    pub scene: Option<Arc<SceneInfo>>,
    /// None until a scene is there, or after its engine broke.
    pub view: Option<Arc<View>>,
    pub report: Option<Arc<StepReport>>,
    /// Wall time of the last steps [ms], oldest first.
    pub step_ms: Arc<VecDeque<f32>>,
    /// Wall time of each stage, smoothed over the last steps [ms].
    pub stages: Arc<Vec<(&'static str, f64)>>,
    pub speed: f64,
    /// Simulated over wall time, while playing.
    pub real_time_factor: Option<f64>,
    /// Changes of values that the simulation has refused so far, of all scenes.
    pub refused: u64,
    /// Scenes that were not built so far, because of a fault or as that was stopped.
    pub failed_loads: u64,
    /// How often files of the scene have changed on the disk so far.
    pub file_changes: u64,
    /// Number of the recording's frame that this snapshot shows and that waits to be taken.
    pub frame_due: Option<u64>,
    pub past: Option<SharedPast>,
    /// The branch of the past that the simulation is at the end of; 0 without a past.
    pub branch: BranchId,
    /// How many journeys have ended, wherever that was, and how the last one did.
    pub journeys: u64,
    pub arrival: Arrival,
    /// How many saved states were taken up.
    pub states_loaded: u64,
    /// What was commanded and refused last, and how often that was so; not of changes of values.
    pub not_done: (u64, Option<Command>),
    /// Number of the last request that was handled.
    pub answered: u64,
    /// What was not as it should be since the scene was opened.
    pub warnings: Arc<Warnings>,
}

/// How many step times are kept for the plot.
const HISTORY: usize = 240;

/// Builds an engine for a scene, unless that is cancelled; runs on the simulation's thread.
pub type Opener = Box<dyn FnMut(&SceneSource, &CancelToken) -> Result<Loaded, String> + Send>;

/// Handle of the simulation's thread.
pub struct Worker {
    requests: Sender<Asked>,
    /// The number of the last request, and the token of the work that it leads to.
    last: Mutex<(u64, CancelToken)>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    latest: Mutex<Arc<Snapshot>>,
    notices: Mutex<Vec<Notice>>,
    /// When the step in progress began.
    step_since: Mutex<Option<Instant>>,
    stop: AtomicBool,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl Shared {
    fn post(&self, snapshot: &Snapshot) {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(snapshot.clone());
        (self.wake)();
    }

    fn notify(&self, notice: Notice) {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).push(notice);
        (self.wake)();
    }
}

impl Worker {
    /// Starts the thread, which saves the session by itself. `wake` is called (from that thread) whenever there is
    /// something new to read.
    pub fn spawn(open: Opener, autosave: Autosave, wake: impl Fn() + Send + Sync + 'static) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            latest: Mutex::new(Arc::new(Snapshot::empty())),
            notices: Mutex::default(),
            step_since: Mutex::default(),
            stop: AtomicBool::new(false),
            wake: Box::new(wake),
        });
        let (requests, receiver) = channel();
        let thread = std::thread::Builder::new().name("simulation".into()).spawn({
            let shared = shared.clone();
            move || Loop::new(shared, receiver, open, autosave).run()
        })?;
        Ok(Self { requests, last: Mutex::default(), shared, thread: Some(thread) })
    }

    /// Never blocks. After the thread ended nothing listens, and nothing needs to.
    pub fn send(&self, request: Request) {
        self.ask(request);
    }

    /// The same; gives the number of the request, which snapshots tell once it was handled.
    pub fn ask(&self, request: Request) -> u64 {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (number, cancel) = &mut *last;
        *number += 1;
        let builds = matches!(self.snapshot().activity, Activity::Building { .. });
        if request.interrupts(builds) {
            std::mem::take(cancel).cancel();
        }
        if let Request::Load(source) = &request {
            self.show_building(source);
        }
        let _ = self.requests.send(Asked { number: *number, request, cancel: cancel.clone() });
        *number
    }

    /// The newest snapshot; the lock is held for the copy of one pointer.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.shared.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn take_notices(&self) -> Vec<Notice> {
        std::mem::take(&mut *self.shared.notices.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Worker {
    /// Waits until a step in progress has ended, if it does so soon; else it ends with the process.
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.send(Request::Pause); // cancels what is in progress, and wakes a thread that waits for requests
        let deadline = Instant::now() + Duration::from_millis(1500);
        if let Some(thread) = self.thread.take() {
            while !thread.is_finished() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    }
}

impl Snapshot {
    fn empty() -> Self {
        Self {
            activity: Activity::Empty,
            scene: None,
            view: None,
            report: None,
            step_ms: Arc::default(),
            stages: Arc::default(),
            speed: 1.0,
            real_time_factor: None,
            refused: 0,
            failed_loads: 0,
            file_changes: 0,
            frame_due: None,
            past: None,
            branch: 0,
            journeys: 0,
            arrival: Arrival::default(),
            states_loaded: 0,
            not_done: (0, None),
            answered: 0,
            warnings: Arc::default(),
        }
    }

    pub fn playing(&self) -> bool {
        self.activity == Activity::Playing
    }
}

/// The thread's side.
struct Loop {
    shared: Arc<Shared>,
    requests: Receiver<Asked>,
    /// The token of the work that follows the request handled last.
    cancel: CancelToken,
    open: Opener,
    autosave: Autosave,
    files: Watch,
    engine: Option<Box<dyn Engine>>,
    source: Option<SceneSource>,
    generation: u64,
    next: Snapshot,
    playing: bool,
    steps_wanted: u32,
    clock: Clock,
    factor: RealTimeFactor,
    recording: Option<Recording>,
    wants: Wants,
}

impl Loop {
    fn new(shared: Arc<Shared>, requests: Receiver<Asked>, open: Opener, autosave: Autosave) -> Self {
        Self {
            shared,
            requests,
            cancel: CancelToken::default(),
            open,
            autosave,
            files: Watch::new(vec![]),
            engine: None,
            source: None,
            generation: 0,
            next: Snapshot::empty(),
            playing: false,
            steps_wanted: 0,
            clock: Clock::new(),
            factor: RealTimeFactor::default(),
            recording: None,
            wants: Wants::default(),
        }
    }

    fn run(mut self) {
        while !self.shared.stop.load(Ordering::Relaxed) {
            let requests = self.wait_for_requests();
            for Asked { number, request, cancel } in newest_moves(requests) {
                (self.cancel, self.next.answered) = (cancel, number);
                self.handle(request);
            }
            if self.may_step() {
                self.watched(Self::step);
                self.autosave();
            }
            if self.files.look() {
                self.next.file_changes += 1;
                self.publish();
            }
        }
        // After an internal error what was saved stays.
        if self.engine.is_some() {
            self.autosave.end();
        }
    }

    /// Everything that was asked meanwhile; sleeps while there is nothing to do.
    fn wait_for_requests(&mut self) -> Vec<Asked> {
        let mut requests = vec![];
        let wait = match (self.busy(), self.time()) {
            (false, _) => None,
            (true, Some(time)) if self.steps_wanted == 0 => Some(self.clock.until_due(time, self.next.speed)),
            _ => Some(Duration::ZERO),
        };
        match wait.or(self.files.until_due()) {
            None => match self.requests.recv() {
                Ok(request) => requests.push(request),
                Err(_) => self.shared.stop.store(true, Ordering::Relaxed), // the window is gone
            },
            Some(wait) if wait > Duration::ZERO => match self.requests.recv_timeout(wait) {
                Ok(request) => requests.push(request),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => self.shared.stop.store(true, Ordering::Relaxed),
            },
            Some(_) => {}
        }
        requests.extend(self.requests.try_iter());
        requests
    }

    fn busy(&self) -> bool {
        let waiting = self.recording.as_ref().is_some_and(|r| r.waiting);
        self.engine.is_some() && !waiting && (self.playing || self.steps_wanted > 0)
    }

    fn may_step(&self) -> bool {
        self.busy()
            && (self.steps_wanted > 0 || self.time().is_some_and(|time| self.clock.until_due(time, self.next.speed) == Duration::ZERO))
    }

    fn time(&self) -> Option<f64> {
        self.next.view.as_ref().map(|view| view.time)
    }

    fn handle(&mut self, request: Request) {
        match request {
            Request::Load(source) => self.load(source),
            Request::Reload => {
                if let Some(source) = &self.source {
                    self.load(source.base().clone());
                }
            }
            Request::Command(generation, command) => {
                if self.next.scene.as_ref().is_some_and(|scene| scene.generation == generation) {
                    self.apply(&command);
                }
            }
            Request::Play => self.set_playing(true),
            Request::Pause => {
                self.set_playing(false);
                self.autosave();
            }
            Request::StepOnce => {
                self.playing = false;
                self.steps_wanted = 1;
                self.next.real_time_factor = None;
            }
            Request::SetSpeed(speed) => {
                self.next.speed = speed;
                self.clock.restart(self.time().unwrap_or(0.0));
                self.publish();
            }
            Request::Record(frames_per_second) => {
                let time = self.time().unwrap_or(0.0);
                self.recording =
                    frames_per_second.map(|fps| Recording { frames_per_second: fps, start: time, next_frame: 0, waiting: false });
                self.offer_frame();
                self.publish();
            }
            Request::Want(wants) => {
                self.wants = wants;
                self.refresh_view();
                self.publish();
            }
            Request::Saved => self.files.forgive(),
            Request::Watch(generation, probes) => self.watch(generation, probes),
            Request::Name { generation, labels, set } => self.name(generation, labels, set),
            Request::SaveSession(path) => self.save_session(&path),
            Request::SaveState(path) => self.save_state(&path),
            Request::LoadState(path) => self.load_state(&path),
            Request::Export(wish, job) => self.export(&wish, &job),
            Request::Travel(generation, journey) => self.travel(generation, journey),
            Request::FrameTaken => {
                if let Some(recording) = &mut self.recording
                    && recording.waiting
                {
                    recording.waiting = false;
                    recording.next_frame += 1;
                    self.next.frame_due = None;
                    self.offer_frame(); // a long step may span several frames
                    self.clock.restart(self.time().unwrap_or(0.0));
                    self.publish();
                }
            }
        }
    }

    fn set_playing(&mut self, playing: bool) {
        self.playing = playing;
        self.steps_wanted = 0;
        self.clock.restart(self.time().unwrap_or(0.0));
        self.factor = RealTimeFactor::default();
        self.next.real_time_factor = None;
        self.publish();
    }

    fn apply(&mut self, command: &Command) {
        let result = self.guarded(|engine| engine.apply(command));
        match result {
            Some(Err(text)) => {
                self.notify(Severity::Error, text);
                match command.is_change() {
                    true => self.next.refused += 1,
                    false => self.next.not_done = (self.next.not_done.0 + 1, Some(command.clone())),
                }
                self.publish();
            }
            Some(Ok(())) if *command == Command::Reset => {
                self.next.report = None;
                self.next.step_ms = Arc::default();
                (self.factor, self.next.real_time_factor) = (RealTimeFactor::default(), None);
                self.steps_wanted = 0;
                self.recording = None;
                self.next.frame_due = None;
            }
            _ => {}
        }
        self.refresh_view();
        self.clock.restart(self.time().unwrap_or(0.0));
        // While playing the next step shows it; no need for a picture of its own.
        if !self.playing || *command == Command::Reset {
            self.publish();
        }
    }

    fn step(&mut self) {
        let (start, cancel) = (Instant::now(), self.cancel.clone());
        let result = self.guarded(|engine| engine.step(&cancel));
        let milliseconds = start.elapsed().as_secs_f64() * 1e3;
        match result {
            None => {}
            // The request that has cancelled it is waiting, and says whether it is still wanted.
            Some(Ok(None)) => return,
            Some(Err(text)) => {
                self.playing = false;
                self.steps_wanted = 0;
                self.notify(Severity::Error, format!("Paused: {text}"));
            }
            Some(Ok(Some(report))) => {
                self.steps_wanted = self.steps_wanted.saturating_sub(1);
                let history = Arc::make_mut(&mut self.next.step_ms);
                history.push_back(milliseconds as f32);
                if history.len() > HISTORY {
                    history.pop_front();
                }
                smooth_stages(Arc::make_mut(&mut self.next.stages), &report.stages.times);
                self.warn(&report);
                self.next.report = Some(Arc::new(report));
            }
        }
        self.refresh_view();
        if let (true, Some(time)) = (self.playing, self.time()) {
            self.clock.keep_up(time, self.next.speed);
            self.next.real_time_factor = self.factor.after_step(time);
        }
        self.offer_frame();
        self.publish();
    }

    /// Runs `work` on the engine. A panic there ends the engine, not the window.
    fn guarded<T>(&mut self, work: impl FnOnce(&mut dyn Engine) -> T) -> Option<T> {
        let engine = self.engine.as_mut()?;
        match catch_unwind(AssertUnwindSafe(|| work(engine.as_mut()))) {
            Ok(value) => Some(value),
            Err(panic) => {
                self.engine = None;
                self.playing = false;
                self.steps_wanted = 0;
                let text = panic_text(&*panic);
                self.notify(
                    Severity::Error,
                    format!("The simulation stopped by an internal error ({text}). Reload the scene to go on, and please report it."),
                );
                None
            }
        }
    }

    fn refresh_view(&mut self) {
        let wants = self.wants;
        if let Some(view) = self.guarded(|engine| engine.view(wants)) {
            match view {
                Ok(view) => self.next.view = Some(Arc::new(view)),
                Err(text) => {
                    self.playing = false;
                    self.notify(Severity::Error, format!("Paused: {text}"));
                }
            }
        }
    }

    fn publish(&mut self) {
        self.next.branch = self.next.past.as_ref().and_then(|past| locked(past).live()).unwrap_or(0);
        self.next.activity = match (&self.next.scene, self.playing) {
            (None, _) => Activity::Empty,
            (_, true) => Activity::Playing,
            (_, false) => Activity::Paused,
        };
        self.post();
    }

    fn post(&self) {
        self.shared.post(&self.next);
    }

    fn notify(&self, severity: Severity, text: String) {
        self.shared.notify(Notice { severity, text, file: None, scene: Some(self.generation) });
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}
