//! The worker with an engine that is slow, fails or panics on demand.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};

use super::*;
use crate::app::exporting::{STARTING, Span};
use crate::app::job::JobKind;
use crate::app::job::tests::told;
use crate::math::Vec3;
use crate::model::ModelBuilder;
use crate::render::{Camera, Light};
use crate::sim::SessionTree;
use crate::step::StepReport;

/// What the tests' engine does at its next steps.
#[derive(Default)]
struct Script {
    step_ms: AtomicU64,
    fail: AtomicBool,
    panic: AtomicBool,
    moves: AtomicU64,
    cancelled: AtomicU64,
}

struct Scripted {
    script: Arc<Script>,
    step: u64,
}

const DT: f64 = 0.01;

impl Engine for Scripted {
    fn step(&mut self, cancel: &CancelToken) -> Result<Option<StepReport>, String> {
        let end = Instant::now() + Duration::from_millis(self.script.step_ms.load(Ordering::SeqCst));
        while Instant::now() < end {
            if cancel.is_cancelled() {
                self.script.cancelled.fetch_add(1, Ordering::SeqCst);
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        if self.script.fail.load(Ordering::SeqCst) {
            return Err("the body \"jelly\" is not finite".into());
        }
        assert!(!self.script.panic.load(Ordering::SeqCst), "index 7 out of range");
        self.step += 1;
        Ok(Some(StepReport::default()))
    }

    fn session(&mut self) -> Result<SessionTree, String> {
        Err("there is no session".into())
    }

    fn branch(&mut self, step: u64, cancel: &CancelToken, passed: &mut dyn FnMut(u64)) -> Result<bool, String> {
        if step > self.step {
            return Err(format!("step {step} is not in the past"));
        }
        for at in 0..step {
            std::thread::sleep(Duration::from_millis(self.script.step_ms.load(Ordering::SeqCst)));
            if cancel.is_cancelled() {
                return Ok(false);
            }
            passed(at);
        }
        self.step = step;
        Ok(true)
    }

    fn apply(&mut self, command: &Command) -> Result<(), String> {
        match command {
            Command::MoveGrab { .. } => {
                self.script.moves.fetch_add(1, Ordering::SeqCst);
            }
            Command::Reset => self.step = 0,
            _ => {}
        }
        Ok(())
    }

    fn save(&mut self, _: &Path) -> Result<(), String> {
        Err("it has no state".into())
    }

    fn resume(&mut self, _: &Path) -> Result<(), String> {
        Err("it has no state".into())
    }

    fn view(&mut self, wants: Wants) -> Result<View, String> {
        Ok(View { step: self.step, time: self.step as f64 * DT, wants, ..View::default() })
    }
}

fn info(source: &SceneSource) -> SceneInfo {
    SceneInfo {
        generation: 0,
        source: source.clone(),
        name: source.label(),
        model: Arc::new(ModelBuilder::default().build().expect("nothing is a model")),
        scene: None,
        files: vec![],
        build_ms: 0.0,
        camera: Camera::default(),
        has_camera: true,
        light: Light::default(),
        frames_per_second: 50.0,
        probes: vec![],
        notes: if source.label() == "mended" { vec!["the mesh was mended".into()] } else { vec![] },
        import: None,
        checkups: vec![],
    }
}

/// A worker whose scenes are scripted; the scene "bad" cannot be built, and "endless" is built until that is cancelled.
fn worker(script: &Arc<Script>) -> Worker {
    let script = script.clone();
    let open: Opener = Box::new(move |source, cancel| match source {
        SceneSource::Gallery(name) if name == "bad" => Err("bad.toml, line 3: no such key".into()),
        SceneSource::Gallery(name) if name == "endless" => {
            while !cancel.is_cancelled() {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err("cancelled".into())
        }
        _ => Ok(Loaded { engine: Box::new(Scripted { script: script.clone(), step: 0 }), info: info(source) }),
    });
    Worker::spawn(open, Autosave::new(None), || ()).unwrap()
}

fn load(worker: &Worker, name: &str) {
    worker.send(Request::Load(SceneSource::Gallery(name.into())));
}

/// Waits for a snapshot, at most five seconds.
fn until(worker: &Worker, wanted: impl Fn(&Snapshot) -> bool) -> Arc<Snapshot> {
    let start = Instant::now();
    loop {
        let snapshot = worker.snapshot();
        if wanted(&snapshot) {
            return snapshot;
        }
        assert!(start.elapsed() < Duration::from_secs(5), "activity {:?}, step {}", snapshot.activity, step(&snapshot));
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn step(snapshot: &Snapshot) -> u64 {
    snapshot.view.as_ref().map_or(0, |view| view.step)
}

#[test]
fn the_window_never_waits_for_a_step() {
    let script = Arc::new(Script::default());
    script.step_ms.store(1000, Ordering::SeqCst);
    let worker = worker(&script);
    load(&worker, "slow");
    until(&worker, Snapshot::playing);
    let start = Instant::now();
    let mut slowest = Duration::ZERO;
    while start.elapsed() < Duration::from_millis(1200) {
        let asked = Instant::now();
        worker.send(Request::Command(1, Command::MoveGrab { id: 1, target: Vec3::zeros() }));
        drop(worker.snapshot());
        drop(worker.take_notices());
        slowest = slowest.max(asked.elapsed());
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(slowest < Duration::from_millis(50), "waited {slowest:?}");
    // Hundreds of moves were asked for, and the steps between saw only the newest of each time.
    until(&worker, |s| step(s) >= 2);
    let seen = script.moves.load(Ordering::SeqCst);
    assert!((1..=4).contains(&seen), "{seen} moves were applied");
}

#[test]
fn plays_in_real_time_pauses_and_steps_once() {
    let worker = worker(&Arc::default());
    load(&worker, "a");
    let start = Instant::now();
    let snapshot = until(&worker, |s| step(s) >= 20);
    let seconds = start.elapsed().as_secs_f64();
    assert!(seconds > 19.0 * DT * 0.9, "20 steps of {DT} s took {seconds} s: faster than real time");
    assert!(snapshot.real_time_factor.is_some_and(|factor| factor < 1.3));
    worker.send(Request::Pause);
    let paused = until(&worker, |s| s.activity == Activity::Paused);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(step(&worker.snapshot()), step(&paused));
    worker.send(Request::StepOnce);
    until(&worker, |s| step(s) == step(&paused) + 1);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(step(&worker.snapshot()), step(&paused) + 1);
    worker.send(Request::SetSpeed(f64::INFINITY));
    worker.send(Request::Play);
    let start = Instant::now();
    until(&worker, |s| step(s) > step(&paused) + 200);
    assert!(start.elapsed().as_secs_f64() < 100.0 * DT, "it does not go as fast as it can");
}

#[test]
fn a_failed_step_pauses_and_says_why() {
    let script = Arc::new(Script::default());
    let worker = worker(&script);
    load(&worker, "a");
    until(&worker, |s| step(s) >= 2);
    script.fail.store(true, Ordering::SeqCst);
    until(&worker, |s| s.activity == Activity::Paused);
    let notices = worker.take_notices();
    assert!(notices.len() == 1 && notices[0].text.contains("jelly"), "{notices:?}");
    script.fail.store(false, Ordering::SeqCst);
    worker.send(Request::Play);
    let before = step(&worker.snapshot());
    until(&worker, |s| step(s) > before);
}

#[test]
fn a_panic_ends_the_simulation_but_not_the_worker() {
    let script = Arc::new(Script::default());
    let worker = worker(&script);
    load(&worker, "a");
    until(&worker, |s| step(s) >= 2);
    script.panic.store(true, Ordering::SeqCst);
    until(&worker, |s| s.activity == Activity::Paused);
    let notices = worker.take_notices();
    assert!(notices.len() == 1 && notices[0].text.contains("index 7"), "{notices:?}");
    script.panic.store(false, Ordering::SeqCst);
    worker.send(Request::Reload);
    until(&worker, |s| s.playing() && step(s) >= 1 && s.scene.as_ref().is_some_and(|scene| scene.generation == 2));
}

#[test]
fn a_scene_that_cannot_be_built_leaves_the_old_one() {
    let worker = worker(&Arc::default());
    load(&worker, "good");
    until(&worker, |s| step(s) >= 2);
    load(&worker, "bad");
    let start = Instant::now();
    let notices = loop {
        let notices = worker.take_notices();
        if !notices.is_empty() || start.elapsed() > Duration::from_secs(5) {
            break notices;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    assert!(notices.len() == 1 && notices[0].text.contains("line 3"), "{notices:?}");
    let snapshot = until(&worker, |s| s.playing());
    assert_eq!(snapshot.scene.as_ref().map(|scene| scene.name.as_str()), Some("good"));
    // A command for a scene that is gone does nothing.
    load(&worker, "next");
    until(&worker, |s| s.scene.as_ref().is_some_and(|scene| scene.name == "next") && step(s) >= 3);
    worker.send(Request::Command(1, Command::Reset));
    let before = step(&worker.snapshot());
    std::thread::sleep(Duration::from_millis(60));
    assert!(step(&worker.snapshot()) > before);
}

#[test]
fn a_recording_holds_the_simulation_at_each_frame() {
    let worker = worker(&Arc::default());
    load(&worker, "a");
    until(&worker, Snapshot::playing);
    worker.send(Request::SetSpeed(f64::INFINITY));
    worker.send(Request::Record(Some(50.0)));
    let mut times = vec![];
    for frame in 0..5 {
        let snapshot = until(&worker, |s| s.frame_due == Some(frame));
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(step(&worker.snapshot()), step(&snapshot), "it went on before the frame was taken");
        times.push(snapshot.view.as_ref().unwrap().time);
        worker.send(Request::FrameTaken);
    }
    for pair in times.windows(2) {
        assert!((pair[1] - pair[0] - 0.02).abs() < 1e-9, "{times:?}");
    }
    worker.send(Request::Record(None));
    let before = step(&worker.snapshot());
    until(&worker, |s| step(s) > before + 10 && s.frame_due.is_none());
}

#[test]
fn what_was_changed_in_a_mesh_is_told() {
    let worker = worker(&Arc::default());
    load(&worker, "mended");
    let start = Instant::now();
    let notices = loop {
        let notices = worker.take_notices();
        if !notices.is_empty() || start.elapsed() > Duration::from_secs(5) {
            break notices;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    assert!(notices.len() == 1 && notices[0].severity == Severity::Info && notices[0].text.contains("mended"), "{notices:?}");
}

#[test]
fn a_long_step_ends_when_it_is_no_longer_wanted() {
    let script = Arc::new(Script::default());
    let worker = worker(&script);
    load(&worker, "a");
    until(&worker, |s| step(s) >= 2);
    script.step_ms.store(600_000, Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(100)); // a step of ten minutes has begun
    let before = step(&worker.snapshot());
    worker.send(Request::Pause);
    let paused = until(&worker, |s| s.activity == Activity::Paused);
    assert_eq!((step(&paused), script.cancelled.load(Ordering::SeqCst)), (before, 1));
    for (cancelled, request) in [(2, Request::Command(1, Command::Reset)), (3, Request::Reload)] {
        worker.send(Request::Play);
        until(&worker, Snapshot::playing);
        std::thread::sleep(Duration::from_millis(100));
        worker.send(request);
        until(&worker, |s| step(s) == 0 && script.cancelled.load(Ordering::SeqCst) == cancelled);
        worker.send(Request::Pause); // the step that was begun since
        until(&worker, |s| s.activity == Activity::Paused);
        script.cancelled.store(cancelled, Ordering::SeqCst);
    }
    worker.send(Request::Play);
    until(&worker, Snapshot::playing);
    let start = Instant::now();
    drop(worker);
    assert!(start.elapsed() < Duration::from_secs(1), "it waited for the step: {:?}", start.elapsed());
}

/// A saved state that is loaded ends the step, and one that cannot be read costs nothing but time.
#[test]
fn loading_a_state_does_not_wait_for_a_step() {
    let script = Arc::new(Script::default());
    let worker = worker(&script);
    load(&worker, "a");
    until(&worker, |s| step(s) >= 2);
    worker.send(Request::Pause);
    let before = step(&until(&worker, |s| s.activity == Activity::Paused));
    script.step_ms.store(600_000, Ordering::SeqCst);
    worker.send(Request::StepOnce);
    std::thread::sleep(Duration::from_millis(100)); // it has begun
    script.step_ms.store(0, Ordering::SeqCst); // the next one is short
    worker.send(Request::LoadState("a.state".into()));
    until(&worker, |_| worker.take_notices().iter().any(|notice| notice.text.contains("no state")));
    // The step that was wanted is made all the same.
    until(&worker, |s| step(s) > before);
    std::thread::sleep(Duration::from_millis(50));
    assert!(step(&worker.snapshot()) == before + 1 && script.cancelled.load(Ordering::SeqCst) == 1);
}

#[test]
fn an_export_that_cannot_begin_is_over() {
    let worker = worker(&Arc::default());
    let wish = |job: &Job| ExportWish { path: job.path.clone(), span: Span::Now, frames_per_second: 30.0, branch: 0 };
    let job = || Job::new(JobKind::Export, "a.glb".into(), STARTING);
    let (without_scene, refused) = (job(), job());
    worker.send(Request::Export(wish(&without_scene), without_scene.clone()));
    assert!(told(&without_scene).unwrap_err().contains("no simulation"));
    load(&worker, "a");
    until(&worker, Snapshot::playing);
    worker.send(Request::Export(wish(&refused), refused.clone()));
    assert!(told(&refused).unwrap_err().contains("could be exported"));
}

/// The window knows that its wish was heard also where nothing is seen of it.
#[test]
fn a_start_that_fails_at_once_is_answered() {
    let script = Arc::new(Script::default());
    let worker = worker(&script);
    load(&worker, "a");
    until(&worker, |s| step(s) >= 2);
    worker.send(Request::Pause);
    until(&worker, |s| s.activity == Activity::Paused);
    script.fail.store(true, Ordering::SeqCst);
    let asked = worker.ask(Request::Play);
    until(&worker, |s| s.answered >= asked && s.activity == Activity::Paused);
}

#[test]
fn going_back_to_the_start_makes_no_negative_speed() {
    let worker = worker(&Arc::default());
    load(&worker, "a");
    until(&worker, |s| step(s) >= 30);
    worker.send(Request::Command(1, Command::Reset));
    let (start, mut was_back) = (Instant::now(), false);
    while start.elapsed() < Duration::from_millis(300) {
        let snapshot = worker.snapshot();
        was_back |= step(&snapshot) < 30;
        assert!(snapshot.real_time_factor.is_none_or(|factor| factor >= 0.0), "{:?}", snapshot.real_time_factor);
        std::thread::sleep(Duration::from_micros(500));
    }
    assert!(was_back && worker.snapshot().playing());
}

#[test]
fn the_building_of_a_scene_can_be_cancelled() {
    let worker = worker(&Arc::default());
    load(&worker, "a");
    until(&worker, |s| step(s) >= 2);
    load(&worker, "endless");
    until(&worker, |s| matches!(s.activity, Activity::Building { .. }));
    load(&worker, "next");
    until(&worker, |s| s.scene.as_ref().is_some_and(|scene| scene.name == "next") && step(s) >= 1);
    let notices = worker.take_notices();
    assert!(notices.len() == 1 && notices[0].severity == Severity::Info && notices[0].text.contains("endless"), "{notices:?}");
}

#[test]
fn a_journey_tells_where_it_is_and_can_be_stopped() {
    let script = Arc::new(Script::default());
    let worker = worker(&script);
    load(&worker, "a");
    let at = step(&until(&worker, |s| step(s) >= 20));
    script.step_ms.store(5, Ordering::SeqCst);
    let moved = Command::MoveGrab { id: 1, target: Vec3::zeros() };
    let back = |step: u64, play: bool| Request::Travel(1, Journey::Back { step, commands: vec![moved.clone()], play });

    // Stopped, it leaves everything as it was, and has ended all the same.
    worker.send(back(15, true));
    let on_way = until(&worker, |s| matches!(s.activity, Activity::Travelling { at, to: Some(15), .. } if at >= 3));
    assert!(on_way.journeys == 0 && step(&on_way) >= at);
    worker.send(Request::Pause);
    let stopped = until(&worker, |s| s.journeys == 1 && s.activity == Activity::Paused);
    assert!(step(&stopped) >= at && script.moves.load(Ordering::SeqCst) == 0, "it was not where it had been");
    let told = worker.take_notices();
    assert!(told.len() == 1 && told[0].severity == Severity::Info && told[0].text.contains("step 15"), "{told:?}");

    // Not stopped, it ends there, gives the commands and stays, or goes on.
    worker.send(back(10, false));
    let arrived = until(&worker, |s| s.journeys == 2 && s.activity == Activity::Paused);
    assert!(step(&arrived) == 10 && script.moves.load(Ordering::SeqCst) == 1);
    worker.send(back(4, true));
    until(&worker, |s| s.journeys == 3 && s.playing() && (4..10).contains(&step(s)));
    worker.send(Request::Pause);
    until(&worker, |s| s.activity == Activity::Paused);

    // One that cannot be is told, and one of another scene is passed over.
    worker.send(back(1_000_000, false));
    until(&worker, |s| s.journeys == 4);
    assert!(worker.take_notices().iter().any(|notice| notice.severity == Severity::Error && notice.text.contains("1000000")));
    worker.send(Request::Travel(7, Journey::Branch(1)));
    until(&worker, |s| s.journeys == 5);
    assert!(worker.take_notices().is_empty());
}
