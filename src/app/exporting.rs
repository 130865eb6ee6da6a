//! Results for other programs, written by a thread of their own: of the window's simulation while it runs, and of what
//! was recorded of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use super::job::Job;
use crate::cancel::CancelToken;
use crate::export::{Due, Exporter, Format, Frame, Frames, Sampler, Subject, exporter};
use crate::model::Model;
use crate::record::Clock;
use crate::sim::Simulation;
use crate::sim::past::{BranchId, Moment, Recorded, SharedPast, locked};

/// What is to be exported.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportWish {
    pub path: PathBuf,
    pub span: Span,
    /// Of simulated time.
    pub frames_per_second: f64,
    /// The branch of a span of the past.
    pub branch: BranchId,
}

impl ExportWish {
    /// Whether pictures of the past have all that its format needs.
    pub fn is_of_surfaces(&self) -> bool {
        Format::of(&self.path).is_some_and(Format::is_of_surfaces)
    }
}

/// The time that is exported.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Span {
    /// This moment.
    Now,
    /// From now on for so long [s].
    On(f64),
    /// What was recorded between two times [s].
    Past([f64; 2]),
}

/// What the user reads meanwhile.
pub const STARTING: &str = "Exporting";
const PLAYING: &str = "Exporting while it plays";
const COMPUTING: &str = "Exporting, computed again";
pub const FINISHING: &str = "Finishing the export";

/// At most this many frames wait to be written, so that memory stays bounded.
const MAX_WAITING: usize = 4;
/// How soon the thread sees that it shall end, and the simulation that there is room again.
const POLL: Duration = Duration::from_millis(5);

/// The side of the simulation of an export: it gives frames. When it is dropped there are no more.
pub struct Export {
    sampler: Sampler,
    start: f64,
    seconds: f64,
    /// Frames that are still to be given.
    n_left: u64,
    queue: Sender<Result<Frame, String>>,
    job: Arc<Job>,
}

impl Export {
    /// Starts the thread that writes what is between two times [s].
    fn begin(wish: &ExportWish, subject: &Subject, [start, end]: [f64; 2], job: &Arc<Job>) -> Result<Self, String> {
        let clock = Clock::new(wish.frames_per_second);
        let seconds = (end - start).max(0.0);
        let n_left = clock.frames_until(seconds);
        let writing = Writing::new(wish, subject, n_left)?;
        let sampler = Sampler::starting_at(start, clock, &subject.model).map_err(|error| error.to_string())?;
        let (queue, given) = channel();
        job.run(move |job| writing.write_all(job, from_simulation(&given, job)));
        Ok(Self { sampler, start, seconds, n_left, queue, job: job.clone() })
    }

    /// Begins to export a simulation from now on, and gives how everything is now. None if that is all.
    ///
    /// # Errors
    /// As a sentence; then nothing has begun.
    pub fn start(wish: &ExportWish, subject: &Subject, simulation: &mut Simulation, job: &Arc<Job>) -> Result<Option<Self>, String> {
        let (now, seconds) = (simulation.time(), if let Span::On(seconds) = wish.span { seconds } else { 0.0 });
        let mut export = Self::begin(wish, subject, [now, now + seconds], job)?;
        if export.n_left > 1 {
            job.report(PLAYING, 0.0);
        }
        export.give_due(simulation);
        Ok((export.n_left > 0).then_some(export))
    }

    /// Exports what was recorded in a format that needs more than pictures have, such as stresses and velocities: its
    /// steps are computed again from the exact state before them, so that the files are those of a run. `subject`
    /// makes what they are about of the model of then. Soon after `cancel` is cancelled it ends with what there is.
    ///
    /// # Errors
    /// As a sentence; then nothing has begun.
    pub fn relive(
        wish: &ExportWish,
        subject: impl Fn(&Model) -> Subject,
        recorded: &mut Recorded,
        times: [f64; 2],
        job: &Arc<Job>,
        cancel: &CancelToken,
    ) -> Result<(), String> {
        job.report(COMPUTING, 0.0);
        let stop = job.stop_token().or(cancel);
        let mut begun = None;
        let relived = recorded.relive(wish.branch, times, &stop, |simulation, moment| {
            if begun.is_none() {
                begun = Some(Self::begin(wish, &subject(simulation.model()), times, job));
            }
            let Some(Ok(export)) = &mut begun else { return Ok(false) };
            match moment {
                Moment::BeforeStep => export.before_step(simulation),
                Moment::AfterStep if export.give_and_wait(simulation, COMPUTING, &stop) => return Ok(false),
                Moment::AfterStep => {}
            }
            Ok(!stop.is_cancelled())
        });
        match (begun.transpose()?, relived) {
            (None, _) if job.is_discarded() => job.end(Ok(String::new())),
            (None, relived) => return relived.map_err(|error| error.to_string()),
            (Some(_), _) if stop.is_cancelled() => job.stop(Some("as something else was asked for")),
            // There may be no more of it than that.
            (Some(_), Ok(())) => job.stop(None),
            (Some(export), Err(error)) => export.give(Err(error.to_string())),
        }
        Ok(())
    }

    /// Looks at a simulation before its next step: frames may be due between the two ends of it.
    pub fn before_step(&mut self, simulation: &mut Simulation) {
        if let Err(error) = self.sampler.before_step(simulation) {
            self.give(Err(error.to_string()));
        }
    }

    /// Gives the frames that are due, each at its time, and waits while too many are not written yet, unless `cancel` is
    /// cancelled. True once there are all.
    pub fn follow(&mut self, simulation: &mut Simulation, cancel: &CancelToken) -> bool {
        if self.job.is_stopped() || self.job.is_over() {
            return true;
        }
        let passed = simulation.time() - self.start;
        if passed < 0.0 {
            self.job.stop(Some("as the simulation went back"));
            return true;
        }
        self.give_and_wait(simulation, PLAYING, cancel)
    }

    /// Gives the frames that are due, and waits while too many are not written yet. True once there are all.
    fn give_and_wait(&mut self, simulation: &mut Simulation, stage: &'static str, cancel: &CancelToken) -> bool {
        self.give_due(simulation);
        let is_complete = self.n_left == 0;
        let part = if is_complete { 1.0 } else { (simulation.time() - self.start) / self.seconds };
        self.job.report(if is_complete { FINISHING } else { stage }, part.clamp(0.0, 1.0));
        while self.job.n_waiting() > MAX_WAITING && !self.job.is_over() && !cancel.is_cancelled() {
            std::thread::sleep(POLL);
        }
        is_complete
    }

    /// Gives no more frames.
    pub fn end(self, reason: &'static str) {
        self.job.stop(Some(reason));
    }

    fn give_due(&mut self, simulation: &mut Simulation) {
        let frames = match self.sampler.take(simulation) {
            Err(error) => return self.give(Err(error.to_string())),
            Ok(Due::Between(frames)) => frames.into_iter().map(Ok).collect(),
            Ok(Due::Now(times)) => times.iter().map(|time| self.sampler.now(simulation, *time)).collect::<Vec<_>>(),
        };
        // A long step may go on behind the end.
        for frame in frames.into_iter().take(self.n_left as usize) {
            self.n_left -= 1;
            self.give(frame.map_err(|error| error.to_string()));
        }
    }

    fn give(&self, frame: Result<Frame, String>) {
        self.job.add_waiting();
        // A thread that has ended has said why.
        let _ = self.queue.send(frame);
    }
}

impl Drop for Export {
    fn drop(&mut self) {
        if self.n_left > 0 {
            self.job.stop(Some("as its scene was closed"));
        }
    }
}

/// Exports what was recorded in a format of surfaces, which pictures have; the simulation may go on meanwhile.
///
/// # Errors
/// As a sentence; then nothing has begun.
pub fn export_pictures(
    wish: &ExportWish,
    subject: &Subject,
    past: &SharedPast,
    [from, to]: [f64; 2],
    job: &Arc<Job>,
) -> Result<(), String> {
    let clock = Clock::new(wish.frames_per_second);
    let n_frames = clock.frames_until((to - from).max(0.0));
    let writing = Writing::new(wish, subject, n_frames)?;
    let frames = Frames::new(&writing.subject.model).map_err(|error| error.to_string())?;
    let (past, branch) = (past.clone(), wish.branch);
    job.run(move |job| {
        let model = writing.subject.model.clone();
        let recorded = (0..n_frames).take_while(|_| !job.is_stopped()).map(|frame| {
            job.report(STARTING, frame as f64 / n_frames as f64);
            let picture = locked(&past).picture_at(branch, from + clock.time_of(frame));
            picture.and_then(|picture| frames.of_picture(&model, &picture)).ok_or_else(|| "this part of the past is no longer kept".into())
        });
        writing.write_all(job, recorded)
    });
    Ok(())
}

/// The frames of the simulation, until it gives no more or the job is stopped.
fn from_simulation(given: &Receiver<Result<Frame, String>>, job: &Job) -> impl Iterator<Item = Result<Frame, String>> {
    std::iter::from_fn(move || {
        loop {
            match given.recv_timeout(POLL) {
                Ok(frame) => {
                    job.remove_waiting();
                    return Some(frame);
                }
                Err(RecvTimeoutError::Timeout) if !job.is_stopped() => {}
                Err(_) => return None,
            }
        }
    })
}

/// The side of the thread.
struct Writing {
    path: PathBuf,
    format: Format,
    subject: Subject,
}

impl Writing {
    fn new(wish: &ExportWish, subject: &Subject, n_frames: u64) -> Result<Self, String> {
        let format = Format::of(&wish.path).ok_or_else(|| format!("no format has the ending of {}", wish.path.display()))?;
        let subject = Subject { frames_per_second: wish.frames_per_second, n_frames, ..subject.clone() };
        Ok(Self { path: wish.path.clone(), format, subject })
    }

    /// Writes the frames and completes the files; what to tell the user. What was given before a stop is written, too.
    fn write_all(&self, job: &Job, frames: impl Iterator<Item = Result<Frame, String>>) -> Result<String, String> {
        let mut exporter = exporter(self.format, &self.path, &self.subject).map_err(|error| error.to_string())?;
        let written = frames.take_while(|_| !job.is_discarded()).try_for_each(|frame| write(exporter.as_mut(), &frame?));
        if job.is_discarded() {
            drop(exporter);
            throw_away(&self.path);
            return Ok(String::new());
        }
        let reason = job.reason();
        job.report(FINISHING, 0.0);
        let finished = exporter.finish(job.discard_token()).map_err(|error| error.to_string());
        if job.is_discarded() {
            throw_away(&self.path);
            return Ok(String::new());
        }
        // The first failure is the cause.
        written?;
        let n = finished?.frames;
        let frames = if n == 1 { "1 frame was".to_owned() } else { format!("{n} frames were") };
        let early = reason.map_or_else(String::new, |reason| format!("; the export ended early, {reason}"));
        Ok(format!("{frames} exported into {}{early}", self.path.display()))
    }
}

fn write(exporter: &mut dyn Exporter, frame: &Frame) -> Result<(), String> {
    exporter.write(frame).map_err(|error| error.to_string())
}

/// Whether a file or a folder is one of those of an export to a path with this stem.
pub fn is_of_export(name: &str, stem: &str) -> bool {
    let rest = name.strip_prefix(stem);
    rest.is_some_and(|rest| {
        rest.is_empty() || rest.starts_with('.') || rest.strip_prefix('_').is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()))
    })
}

/// Removes all files of an export, whose name was new. What cannot be removed stays.
fn throw_away(path: &Path) {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    for entry in path.parent().into_iter().flat_map(std::fs::read_dir).flatten().flatten() {
        if is_of_export(&entry.file_name().to_string_lossy(), &stem) {
            let file = entry.path();
            let _ = if file.is_dir() { std::fs::remove_dir_all(&file) } else { std::fs::remove_file(&file) };
        }
    }
}

/// The format's ending and what it is, for the menu, in the order of the command line.
pub fn formats() -> impl Iterator<Item = (&'static str, &'static str)> {
    Format::ENDINGS.iter().filter(|(ending, ..)| *ending != "vtu").map(|(ending, _, what)| (*ending, *what))
}

/// Whether what was recorded can be exported with that ending without computing it again.
pub fn is_of_surfaces(ending: &str) -> bool {
    Format::ENDINGS.iter().any(|(known, format, _)| *known == ending && format.is_of_surfaces())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::job::JobKind;
    use crate::app::job::tests::told;
    use crate::math::Vec3;
    use crate::scene::{BackendChoice, Scene, build};
    use crate::sim::past::DEFAULT_BUDGET;
    use crate::sim::report::state_hash;
    use crate::sim::{Command, Options};

    struct Bench {
        folder: PathBuf,
        recorded: Recorded,
        subject: Subject,
    }

    impl Bench {
        fn new(name: &str) -> Self {
            Self::with(name, "")
        }

        /// The bar with more values.
        fn with(name: &str, values: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("pliant-exporting-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            let text = "format = 1\n[simulation]\ntime_step = 0.01\n[material.soft]\nyoung_modulus = 1e5\n[[body]]\nname = \"bar\"\n\
                        material = \"soft\"\nshape = { type = \"box\", size = [0.4, 0.2, 0.2] }\n";
            let text = format!("{text}{values}");
            let built = build(&Scene::from_text("s", "s.toml", &text, None, &[]).unwrap()).unwrap();
            let subject = Subject { frames_per_second: 100.0, size: [64, 64], ..Subject::of(&built) };
            let options = Options { backend: Some(BackendChoice::Cpu), ..Options::default() };
            let recorded = Recorded::new(Simulation::new(built, &options).unwrap(), DEFAULT_BUDGET).unwrap();
            Self { folder, recorded, subject }
        }

        fn wish(&self, name: &str, span: Span) -> (ExportWish, Arc<Job>) {
            let path = self.folder.join(name);
            let branch = locked(self.recorded.past()).live().unwrap();
            let frames_per_second = self.subject.frames_per_second;
            (ExportWish { path: path.clone(), span, frames_per_second, branch }, Job::new(JobKind::Export, path, STARTING))
        }

        fn start(&mut self, name: &str, span: Span) -> (Option<Export>, Arc<Job>) {
            let (wish, job) = self.wish(name, span);
            let started = match span {
                Span::Past(times) => {
                    let (subject, recorded) = (&self.subject, &mut self.recorded);
                    match wish.is_of_surfaces() {
                        true => export_pictures(&wish, subject, recorded.past(), times, &job),
                        false => {
                            let then = |model: &Model| Subject { model: Arc::new(model.clone()), ..subject.clone() };
                            Export::relive(&wish, then, recorded, times, &job, CancelToken::never())
                        }
                    }
                    .map(|()| None)
                }
                _ => Export::start(&wish, &self.subject, self.recorded.simulation(), &job),
            };
            (started.unwrap(), job)
        }

        /// A step, as the worker makes it. True once the export has all its frames.
        fn step(&mut self, export: &mut Option<Export>) -> bool {
            if let Some(export) = export {
                export.before_step(self.recorded.simulation());
            }
            self.recorded.step_unless(CancelToken::never()).unwrap();
            export.as_mut().is_none_or(|export| export.follow(self.recorded.simulation(), CancelToken::never()))
        }

        fn files(&self) -> Vec<String> {
            let entries = std::fs::read_dir(&self.folder).unwrap();
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
        }

        /// The heights of the vertices of an OBJ file [m].
        fn heights(&self, name: &str) -> Vec<f64> {
            let text = std::fs::read_to_string(self.folder.join(name)).unwrap();
            text.lines().filter(|line| line.starts_with("v ")).map(|line| line.split(' ').nth(2).unwrap().parse().unwrap()).collect()
        }
    }

    impl Drop for Bench {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }

    #[test]
    fn every_format_is_written_for_a_moment_and_for_a_time() {
        let mut bench = Bench::new("all");
        for (ending, _) in formats() {
            for (name, span, begin) in [("a", Span::Now, "1 frame was exported into"), ("b", Span::On(0.03), "4 frames were exported into")]
            {
                let (mut export, job) = bench.start(&format!("{name}.{ending}"), span);
                while !bench.step(&mut export) {}
                drop(export);
                let message = told(&job).unwrap();
                assert!(message.starts_with(begin) && !message.contains("early"), "{ending}: {message}");
            }
        }
        let files = bench.files();
        for name in ["a.glb", "b_00003.obj", "a.pliant"] {
            assert!(files.iter().any(|file| file == name), "{name} is not among {files:?}");
        }
    }

    #[test]
    fn the_past_is_exported_as_it_was() {
        let mut bench = Bench::new("past");
        let mut none = None;
        for step in 0..6 {
            if step == 3 {
                assert!(told(&bench.start("then.obj", Span::Now).1).is_ok());
            }
            bench.step(&mut none);
        }
        assert!(told(&bench.start("looked.obj", Span::Past([0.03, 0.03])).1).unwrap().starts_with("1 frame was"));
        let (then, looked) = (bench.heights("then_00000.obj"), bench.heights("looked_00000.obj"));
        assert!(!then.is_empty() && then.iter().zip(&looked).all(|(a, b)| (a - b).abs() < 1e-5), "{then:?} {looked:?}");
        // It falls: later moments are lower, and what lies between two steps is between them.
        bench.subject.frames_per_second = 200.0;
        assert!(told(&bench.start("range.obj", Span::Past([0.03, 0.05])).1).unwrap().starts_with("5 frames were"));
        let height = |k: usize| bench.heights(&format!("range_0000{k}.obj"))[0];
        assert!(
            (height(0) - then[0]).abs() < 1e-5 && (0..4).all(|k| height(k + 1) < height(k)),
            "{:?}",
            (0..5).map(height).collect::<Vec<_>>()
        );
        for ending in ["glb", "usda", "ply", "pc2"] {
            let message = told(&bench.start(&format!("range.{ending}"), Span::Past([0.0, 0.05])).1).unwrap();
            assert!(message.starts_with("11 frames were"), "{ending}: {message}");
        }
    }

    /// What pictures do not have is computed again, with what was done meanwhile, and everything is as before then.
    #[test]
    fn stresses_of_the_past_are_those_of_the_run_to_the_bit() {
        let mut bench = Bench::with("relived", "angular_velocity = [4.0, 6.0, 0.0]\n");
        bench.subject.frames_per_second = 250.0;
        let (mut export, job) = bench.start("run.pvd", Span::On(0.1));
        while !bench.step(&mut export) {
            if bench.recorded.simulation().step_index() == 3 {
                let materials = &bench.recorded.simulation().model().named_materials;
                let mut soft = materials.iter().find(|named| named.name == "soft").unwrap().clone();
                soft.material.young_modulus *= 2.0;
                bench.recorded.apply(&Command::SetMaterial(soft)).unwrap();
                bench.recorded.apply(&Command::SetGravity(Vec3::new(0.0, 9.81, 50.0))).unwrap();
            }
        }
        drop(export);
        assert!(told(&job).unwrap().starts_with("26 frames were"));
        bench.step(&mut None);
        let hash = |bench: &mut Bench| (bench.recorded.simulation().step_index(), state_hash(bench.recorded.simulation().state().unwrap()));
        let present = hash(&mut bench);
        assert!(told(&bench.start("past.pvd", Span::Past([0.0, 0.1])).1).unwrap().starts_with("26 frames were"));
        let bytes = |name: &str, kind: &str, k: usize| std::fs::read(bench.folder.join(name).join(format!("{kind}_{k:05}.vtu"))).unwrap();
        let of_tets: Vec<Vec<u8>> = (0..26).map(|k| bytes("run", "tets", k)).collect();
        assert!((0..26).all(|k| bytes("past", "tets", k) == of_tets[k]));
        assert!(of_tets.windows(2).all(|pair| pair[0] != pair[1]), "each frame is another one");
        // A part, from between two steps on; and this moment, where the past is looked at.
        for (name, span, n) in [("part.pvd", [0.024, 0.05], "7 frames were"), ("moment.pliant", [0.04, 0.04], "1 frame was")] {
            let message = told(&bench.start(name, Span::Past(span)).1).unwrap();
            assert!(message.starts_with(n) && !message.contains("early"), "{message}");
        }
        // What begins after the change has its material from the start; it is in the frames of before, too.
        assert!(told(&bench.start("late.pvd", Span::Past([0.08, 0.08])).1).is_ok());
        let late = std::fs::read(bench.folder.join("late/tets_00000.vtu")).unwrap();
        assert!(late == of_tets[20], "the stress of the stiffer bar");
        // It is ended by what is asked of the simulation, and thrown away, also before it has come to the first frame.
        let (wish, job) = bench.wish("early.pvd", Span::Past([0.0, 0.1]));
        let (cancel, subject) = (CancelToken::default(), bench.subject.clone());
        cancel.cancel();
        Export::relive(&wish, |_| subject.clone(), &mut bench.recorded, [0.0, 0.1], &job, &cancel).unwrap();
        assert!(told(&job).unwrap().ends_with("the export ended early, as something else was asked for"));
        let (wish, job) = bench.wish("none.pvd", Span::Past([0.01, 0.1]));
        job.discard();
        Export::relive(&wish, |_| subject.clone(), &mut bench.recorded, [0.01, 0.1], &job, CancelToken::never()).unwrap();
        assert!(told(&job).unwrap().is_empty() && !bench.files().iter().any(|file| file.starts_with("none")));
        assert_eq!(hash(&mut bench), present);
    }

    /// Four steps of 0.01 s have frames every 0.004 s; the last step goes on behind the end.
    #[test]
    fn frames_from_now_on_lie_at_their_times_between_steps() {
        let mut bench = Bench::new("times");
        bench.step(&mut None);
        bench.subject.frames_per_second = 250.0;
        let (mut export, job) = bench.start("a.obj", Span::On(0.032));
        while !bench.step(&mut export) {}
        drop(export);
        assert!(told(&job).unwrap().starts_with("9 frames were exported into"));
        // It falls with a velocity that grows by 9.81 m/s^2 from step to step, and evenly within each.
        let fall = |time: f64| {
            let whole = (time / 0.01 + 1e-9).floor();
            -9.81 * (0.01 * 0.01 * whole * (whole + 1.0) / 2.0 + (time - 0.01 * whole) * 0.01 * (whole + 1.0))
        };
        let first = bench.heights("a_00000.obj")[0] - fall(0.01);
        for k in 0..9 {
            let (time, name) = (0.01 + f64::from(k) / 250.0, format!("a_0000{k}.obj"));
            let text = std::fs::read_to_string(bench.folder.join(&name)).unwrap();
            assert!(text.starts_with(&format!("# Pliant, time {time} s,")), "{name}: {}", text.lines().next().unwrap());
            let height = bench.heights(&name)[0];
            assert!((height - first - fall(time)).abs() < 1e-6, "{name}: {height} m, {} m", first + fall(time));
        }
    }

    #[test]
    fn an_export_ends_early_with_a_reason_and_is_thrown_away_whole() {
        let mut bench = Bench::new("early");
        let early = |bench: &mut Bench, name: &str, end: fn(Option<Export>, &Job)| {
            let (mut export, job) = bench.start(name, Span::On(10.0));
            assert!(!bench.step(&mut export) && !bench.step(&mut export) && !job.is_over());
            end(export, &job);
            told(&job)
        };
        // Another scene is opened: the simulation goes, and the export with it.
        let message = early(&mut bench, "a.glb", |export, _| drop(export)).unwrap();
        assert!(message.starts_with("3 frames were") && message.contains("ended early, as its scene was closed"), "{message}");
        // The program quits: the simulation may be in a long step and hears of it later.
        let message = early(&mut bench, "b.glb", |export, job| {
            job.stop(Some("as Pliant quits"));
            assert!(told(job).map(|message| job.end(Ok(message))).is_ok());
            drop(export);
        })
        .unwrap();
        assert!(message.ends_with("as Pliant quits"), "{message}");
        let kept = bench.files();
        assert!(kept.len() == 2, "{kept:?}");
        for (ending, _) in formats() {
            let message = early(&mut bench, &format!("c.{ending}"), |_, job| job.discard()).unwrap();
            assert!(message.is_empty(), "{ending}: {message}");
            assert_eq!(bench.files().len(), 2, "{ending} leaves {:?}", bench.files());
        }
    }

    #[test]
    fn a_full_queue_does_not_hold_a_step_that_is_no_longer_wanted() {
        let mut bench = Bench::new("full");
        let (mut export, job) = bench.start("a.obj", Span::On(10.0));
        (0..2 * MAX_WAITING).for_each(|_| job.add_waiting());
        bench.recorded.step_unless(CancelToken::never()).unwrap();
        let cancelled = CancelToken::default();
        cancelled.cancel();
        assert!(!export.as_mut().unwrap().follow(bench.recorded.simulation(), &cancelled));
        drop(export);
        assert!(told(&job).unwrap().starts_with("2 frames were"));
    }

    #[test]
    fn files_of_an_export_are_known_by_their_names() {
        let is_own = |name| is_of_export(name, "pliant-bar-1");
        assert!(["pliant-bar-1", "pliant-bar-1.glb", "pliant-bar-1_00012.obj", "pliant-bar-1.bin"].into_iter().all(is_own));
        assert!(!["pliant-bar-12.glb", "pliant-bar-1_b-1.glb", "pliant-bar-1-2.png", "bar"].into_iter().any(is_own));
    }
}
