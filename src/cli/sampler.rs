//! The frames of films, each at its time: between the two ends of a step, or between two frames of a recording.

use std::sync::Arc;

use crate::export::Frame;
use crate::model::Model;
use crate::record::Clock;
use crate::sim::Simulation;
use crate::sim::past::{Details, Picture};
use crate::step::StepError;

/// Says which frames are due, and remembers what was before them.
pub struct Sampler {
    clock: Clock,
    /// Time of the first frame [s].
    start: Option<f64>,
    /// The state before the step, if a frame is due within the step; of a recording the frame before.
    before: Option<Picture>,
}

/// The frames that are due after a step.
#[derive(Debug)]
pub enum Due {
    /// This many, which show the end of the step: usually one or none.
    Now(u64),
    /// One for each time within the step.
    Between(Vec<Picture>),
}

impl Due {
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Now(n) => *n == 0,
            Self::Between(pictures) => pictures.is_empty(),
        }
    }
}

impl Sampler {
    pub fn new(clock: Clock) -> Self {
        Self { clock, start: None, before: None }
    }

    /// Keeps how everything looks if a frame is due before the end of the next step. Frames that are due at its end
    /// need nothing, so that positions can stay on the device.
    pub fn before_step(&mut self, simulation: &mut Simulation) -> Result<(), StepError> {
        let (now, time_step) = (simulation.time(), simulation.params().time_step);
        let start = *self.start.get_or_insert(now);
        let is_within = self.clock.is_due_before(now + time_step - start);
        self.before = is_within.then(|| simulation.picture(None)).transpose()?;
        Ok(())
    }

    /// The frames that are due now. They count as taken.
    pub fn take(&mut self, simulation: &mut Simulation) -> Result<Due, StepError> {
        let times = self.times(simulation.time());
        match self.before.take() {
            Some(before) if !times.is_empty() => Ok(Due::Between(between(&before, &simulation.picture(None)?, &times))),
            _ => Ok(Due::Now(times.len() as u64)),
        }
    }

    /// The frames that are due at a frame of a recording, which begins with a first one.
    pub fn take_frame(&mut self, frame: &Frame, model: &Model) -> Vec<Picture> {
        let times = self.times(frame.time);
        let now = picture(frame, model);
        let pictures = between(self.before.as_ref().unwrap_or(&now), &now, &times);
        self.before = Some(now);
        pictures
    }

    /// Times [s] of the frames that are due at a time [s].
    fn times(&mut self, now: f64) -> Vec<f64> {
        let start = *self.start.get_or_insert(now);
        self.clock.take_due(now - start).map(|frame| start + self.clock.time_of(frame)).collect()
    }
}

fn between(before: &Picture, now: &Picture, times: &[f64]) -> Vec<Picture> {
    times.iter().map(|time| before.between(now, *time)).collect()
}

fn picture(frame: &Frame, model: &Model) -> Picture {
    Picture {
        step: 0,
        time: frame.time,
        positions: frame.node_positions(model),
        rigid_poses: frame.rigid_poses.clone(),
        obstacle_poses: frame.obstacle_poses.clone(),
        details: Arc::new(Details { attachments: frame.attachments.clone(), ..Details::default() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::Frames;
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

    /// Whether frame `k` is on the chord between the steps around its time, by [m] at most.
    fn deviation(frames: &[Picture], steps: &[Picture], rate: f64) -> f64 {
        let off = |(k, frame): (usize, &Picture)| {
            let at = k as f64 / rate / 0.04;
            let before = (at as usize).min(steps.len() - 2);
            let part = at - before as f64;
            assert!((frame.time - k as f64 / rate).abs() < 1e-9 && (0.0..1.0 + 1e-9).contains(&part), "frame {k} at {}", frame.time);
            let ends = steps[before].positions.iter().zip(&steps[before + 1].positions);
            frame.positions.iter().zip(ends).map(|(x, (a, b))| (x - (a * (1.0 - part) + b * part)).norm()).fold(0.0, f64::max)
        };
        frames.iter().enumerate().map(off).fold(0.0, f64::max)
    }

    #[test]
    fn frames_lie_at_their_times_between_steps() {
        // Several frames in a step, about one, and one at the end of every other step.
        for rate in [60.0, 30.0, 12.5] {
            let (mut simulation, mut sampler) = (fall(), Sampler::new(Clock::new(rate)));
            let (mut steps, mut frames, mut n_now) = (vec![simulation.picture(None).unwrap()], vec![], 0);
            let mut collect = |due: Due, simulation: &mut Simulation| match due {
                Due::Between(pictures) => frames.extend(pictures),
                Due::Now(n) => {
                    assert!(n <= 1, "frames within a step are told apart");
                    frames.extend((0..n).map(|_| simulation.picture(None).unwrap()));
                    n_now += n;
                }
            };
            collect(sampler.take(&mut simulation).unwrap(), &mut simulation);
            for _ in 0..STEPS {
                sampler.before_step(&mut simulation).unwrap();
                simulation.step().unwrap();
                collect(sampler.take(&mut simulation).unwrap(), &mut simulation);
                steps.push(simulation.picture(None).unwrap());
            }
            assert_eq!(frames.len() as u64, (0.4 * rate + 1e-6) as u64 + 1);
            assert_eq!(rate == 12.5, n_now == frames.len() as u64, "what is at the end of a step needs no other");
            let off = deviation(&frames, &steps, rate);
            assert!(off < 1e-9, "{off} m at {rate} frames a second");
            // The state of the next step is somewhere else.
            let late: Vec<Picture> =
                frames.iter().map(|frame| Picture { positions: steps[STEPS as usize].positions.clone(), ..frame.clone() }).collect();
            assert!(deviation(&late, &steps, rate) > 0.01);
        }
    }

    #[test]
    fn frames_of_a_recording_lie_at_their_times() {
        let mut simulation = fall();
        let (model, frames) = (simulation.model().clone(), Frames::new(simulation.model()).unwrap());
        let mut sampler = Sampler::new(Clock::new(60.0));
        let mut steps = vec![simulation.picture(None).unwrap()];
        let mut pictures = sampler.take_frame(&frames.take(&mut simulation).unwrap(), &model);
        for _ in 0..STEPS {
            simulation.step().unwrap();
            pictures.extend(sampler.take_frame(&frames.take(&mut simulation).unwrap(), &model));
            steps.push(simulation.picture(None).unwrap());
        }
        assert_eq!(pictures.len(), 25);
        assert!(deviation(&pictures, &steps, 60.0) < 1e-9);
    }
}
