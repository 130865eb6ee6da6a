//! The frames of files, each at its time: between the two ends of a step, or between two frames of a recording.

use super::frame::{Frame, Frames};
use crate::geometry::MeshError;
use crate::model::Model;
use crate::record::Clock;
use crate::sim::Simulation;
use crate::step::StepError;

/// Says which frames are due, and remembers what was before them.
#[derive(Debug)]
pub struct Sampler {
    clock: Clock,
    frames: Frames,
    /// Time of the first frame [s].
    start: Option<f64>,
    /// The state before the step, if a frame is due within the step; of a recording the frame before.
    before: Option<Frame>,
}

/// The frames that are due after a step.
#[derive(Debug)]
pub enum Due {
    /// One for each of these times [s], which show the end of the step: usually one or none.
    Now(Vec<f64>),
    /// Those within the step.
    Between(Vec<Frame>),
}

impl Sampler {
    pub fn new(clock: Clock, model: &Model) -> Result<Self, MeshError> {
        Ok(Self { clock, frames: Frames::new(model)?, start: None, before: None })
    }

    /// One whose first frame is at a time [s].
    pub fn starting_at(start: f64, clock: Clock, model: &Model) -> Result<Self, MeshError> {
        Ok(Self { start: Some(start), ..Self::new(clock, model)? })
    }

    /// Keeps how everything is if a frame is due before the end of the next step. Frames that are due at its end need
    /// nothing, so that positions can stay on the device.
    pub fn before_step(&mut self, simulation: &mut Simulation) -> Result<(), StepError> {
        let (now, time_step) = (simulation.time(), simulation.params().time_step);
        let start = *self.start.get_or_insert(now);
        let is_within = self.clock.is_due_before(now + time_step - start);
        self.before = is_within.then(|| self.frames.take(simulation)).transpose()?;
        Ok(())
    }

    /// The frames that are due now. They count as taken.
    pub fn take(&mut self, simulation: &mut Simulation) -> Result<Due, StepError> {
        let times = self.times(simulation.time());
        match self.before.take() {
            Some(before) if !times.is_empty() => Ok(Due::Between(between(&before, &self.frames.take(simulation)?, &times))),
            _ => Ok(Due::Now(times)),
        }
    }

    /// How everything is at the end of the step, for a frame of this time [s].
    pub fn now(&self, simulation: &mut Simulation, time: f64) -> Result<Frame, StepError> {
        Ok(Frame { time, ..self.frames.take(simulation)? })
    }

    /// The frames that are due at a frame of a recording, which begins with a first one.
    pub fn take_frame(&mut self, now: Frame) -> Vec<Frame> {
        let times = self.times(now.time);
        let frames = between(self.before.as_ref().unwrap_or(&now), &now, &times);
        self.before = Some(now);
        frames
    }

    /// Times [s] of the frames that are due at a time [s].
    fn times(&mut self, now: f64) -> Vec<f64> {
        let start = *self.start.get_or_insert(now);
        self.clock.take_due(now - start).map(|frame| start + self.clock.time_of(frame)).collect()
    }
}

fn between(before: &Frame, now: &Frame, times: &[f64]) -> Vec<Frame> {
    times.iter().map(|time| before.between(now, *time)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::CancelToken;
    use crate::export::{Format, Recording, Subject, exporter};
    use crate::scene::{BackendChoice, Scene, build};
    use crate::sim::Options;

    /// A box in free fall, in steps of 0.04 s.
    const FALL: &str = r#"
format = 1
[simulation]
time_step = 0.04
[material.rubber]
young_modulus = 1e6
[[body]]
name = "box"
shape = { type = "box", size = [0.1, 0.1, 0.1], cells = [1, 1, 1] }
material = "rubber"
angular_velocity = [1.0, 2.0, 0.0]
"#;
    const STEPS: u64 = 10;

    fn fall() -> Simulation {
        let scene = Scene::from_text("fall", "fall", FALL, None, &[]).unwrap();
        Simulation::new(build(&scene).unwrap(), &Options { backend: Some(BackendChoice::Cpu), ..Options::default() }).unwrap()
    }

    fn subject(frames_per_second: f64) -> Subject {
        let built = build(&Scene::from_text("fall", "fall", FALL, None, &[]).unwrap()).unwrap();
        let (camera, light) = (built.camera, built.light);
        Subject { name: "fall".into(), model: built.model, frames_per_second, n_frames: 100, camera, light, size: [64, 48] }
    }

    /// All frames of the run, how many of them show the end of a step, and the states at the ends of its steps.
    fn run(rate: f64) -> (Vec<Frame>, usize, Vec<Frame>) {
        let mut simulation = fall();
        let mut sampler = Sampler::new(Clock::new(rate), simulation.model()).unwrap();
        let all = Frames::new(simulation.model()).unwrap();
        let (mut steps, mut frames, mut n_now) = (vec![all.take(&mut simulation).unwrap()], vec![], 0);
        let mut collect = |due: Due, sampler: &Sampler, simulation: &mut Simulation| match due {
            Due::Between(between) => frames.extend(between),
            Due::Now(times) => {
                assert!(times.len() <= 1, "frames within a step are told apart");
                frames.extend(times.iter().map(|time| sampler.now(simulation, *time).unwrap()));
                n_now += times.len();
            }
        };
        let due = sampler.take(&mut simulation).unwrap();
        collect(due, &sampler, &mut simulation);
        for _ in 0..STEPS {
            sampler.before_step(&mut simulation).unwrap();
            simulation.step().unwrap();
            let due = sampler.take(&mut simulation).unwrap();
            collect(due, &sampler, &mut simulation);
            steps.push(all.take(&mut simulation).unwrap());
        }
        (frames, n_now, steps)
    }

    /// How far frames are at most from the chords between the steps around their times [m]; their times are exact.
    fn deviation(frames: &[Frame], steps: &[Frame], rate: f64) -> f64 {
        let off = |(k, frame): (usize, &Frame)| {
            let at = k as f64 / rate / 0.04;
            let before = (at as usize).min(steps.len() - 2);
            let part = at - before as f64;
            assert!(frame.time == k as f64 / rate && (0.0..1.0 + 1e-9).contains(&part), "frame {k} at {}", frame.time);
            let ends = steps[before].displacements.iter().zip(&steps[before + 1].displacements);
            frame.displacements.iter().zip(ends).map(|(x, (a, b))| (x - (a * (1.0 - part) + b * part)).norm()).fold(0.0, f64::max)
        };
        frames.iter().enumerate().map(off).fold(0.0, f64::max)
    }

    #[test]
    fn frames_lie_at_their_times_between_steps() {
        // Several frames in a step, about one, and one at the end of every other step.
        for rate in [60.0, 30.0, 12.5] {
            let (frames, n_now, steps) = run(rate);
            assert_eq!(frames.len() as u64, (0.4 * rate + 1e-6) as u64 + 1);
            assert_eq!(rate == 12.5, n_now == frames.len(), "what is at the end of a step needs no other");
            let off = deviation(&frames, &steps, rate);
            assert!(off < 1e-9, "{off} m at {rate} frames a second");
            // The state of the next step is somewhere else.
            let last = &steps[STEPS as usize];
            let late: Vec<Frame> =
                frames.iter().map(|frame| Frame { displacements: last.displacements.clone(), ..frame.clone() }).collect();
            assert!(deviation(&late, &steps, rate) > 0.01);
        }
    }

    #[test]
    fn frames_of_a_recording_lie_at_their_times() {
        let steps = run(1.0).2;
        let mut sampler = Sampler::new(Clock::new(60.0), fall().model()).unwrap();
        let frames: Vec<Frame> = steps.iter().flat_map(|step| sampler.take_frame(step.clone())).collect();
        assert_eq!(frames.len(), 25);
        assert!(deviation(&frames, &steps, 60.0) < 1e-9);
    }

    #[test]
    fn all_of_a_frame_is_between_its_two_ends() {
        let (a, b) = {
            let steps = run(1.0).2;
            (steps[1].clone(), steps[2].clone())
        };
        let middle = a.between(&b, 0.5 * (a.time + b.time));
        let fall = |frame: &Frame| f64::from(frame.velocities[0][1]);
        assert!((fall(&middle) - 0.5 * (fall(&a) + fall(&b))).abs() < 1e-6 && fall(&a) > fall(&b) + 0.1);
        // The later end is that one to the bit, and so is what has no other end.
        assert_eq!(a.between(&b, b.time), b);
        assert_eq!(a.between(&a, a.time), a);
        let push = |frame: &Frame, pressure: f32| Frame { contact_pressures: vec![pressure; 3], states: vec![[0.2; 4]], ..frame.clone() };
        let middle = push(&a, 10.0).between(&push(&b, 30.0), a.time + 0.25 * (b.time - a.time));
        assert!((middle.contact_pressures[1] - 15.0).abs() < 1e-4 && (middle.states[0][3] - 0.2).abs() < 1e-12);
    }

    /// Of the run, and of its recording at the same rate: the same bytes, with the exact times of the frames.
    #[test]
    fn files_of_a_run_and_of_its_recording_are_the_same_and_tell_exact_times() {
        let folder = std::env::temp_dir().join(format!("pliant-exact-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (frames, ..) = run(30.0);
        let write = |name: &str, subject: &Subject, frames: &[Frame]| {
            let path = folder.join(name);
            let mut exporter = exporter(Format::of(&path).unwrap(), &path, subject).unwrap();
            frames.iter().for_each(|frame| exporter.write(frame).unwrap());
            exporter.finish(CancelToken::never()).unwrap();
            std::fs::read(&path).unwrap()
        };
        write("a.pliant", &subject(30.0), &frames);
        let mut recording = Recording::open(&folder.join("a.pliant")).unwrap();
        let mut sampler = Sampler::new(Clock::new(30.0), &recording.subject.model).unwrap();
        let again: Vec<Frame> = (0..recording.len()).flat_map(|k| sampler.take_frame(recording.frame(k).unwrap())).collect();
        assert_eq!(again, frames);
        let of_recording = Subject { n_frames: 100, ..recording.subject.clone() };
        for name in ["a.glb", "a.usda", "a.pvd", "a.mdd"] {
            let bytes = write(name, &subject(30.0), &frames);
            assert!(bytes == write(name, &of_recording, &again), "{name}");
            let text = String::from_utf8_lossy(&bytes);
            match name {
                "a.pvd" => assert!((0..frames.len()).all(|k| text.contains(&format!("timestep=\"{}\"", k as f64 / 30.0))), "{text}"),
                "a.usda" => assert!(text.contains("            1: [(") && !text.contains("            1."), "times are counts of frames"),
                "a.mdd" => {
                    let times = bytes[8..].chunks_exact(4).take(frames.len()).map(|b| f32::from_be_bytes(b.try_into().unwrap()));
                    assert!(times.enumerate().all(|(k, time)| time == (k as f64 / 30.0) as f32));
                }
                _ => {
                    let gltf = ::gltf::Gltf::from_slice(&bytes).unwrap();
                    let (animation, blob) = (gltf.animations().next().unwrap(), gltf.blob.as_deref());
                    let channel = animation.channels().next().unwrap();
                    let times: Vec<f32> = channel.reader(|_| blob).read_inputs().unwrap().collect();
                    assert!(times.iter().enumerate().all(|(k, time)| *time == (k as f64 / 30.0) as f32), "{times:?}");
                }
            }
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
