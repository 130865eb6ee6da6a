//! What `auto` takes where there is a hardware adapter: the device only where it is faster. What the scene says decides
//! first, alike on every machine; then a race of the first steps does, once, when the scene is opened. The choice
//! stands in the report and in the session, and a session is repeated on the backend that it names.

use crate::budget::Budget;
use crate::cancel::{CancelToken, Cancelled};
use crate::cpu::CpuBackend;
use crate::model::{ContactMethod, Loads, Model, Params};
use crate::step::{Stepper, choose};

/// Bodies of fewer tets are faster on the CPU whatever the card, as long as the host drives their contacts: a step
/// waits for the device once a round at least, .08 ms each, while the CPU computes 3,000 tets in less than a
/// millisecond. Heaps of small bodies wait most often: ten times a step in the heap of `rings`.
const MIN_TETS: usize = 4000;

/// Steps of a race on each side, of which the first warms up.
const STEPS: usize = 4;
/// A side that has taken this long has no more steps [ms].
const MAX_MS: f64 = 1000.0;
/// Work of a step of a race, as [`Budget::of_ms`] counts it, where the scene grants its steps no less [ms]: a start that
/// is harder than that is limited on both sides, instead of keeping the scene from being opened.
const MAX_STEP_MS: f64 = 4000.0;
/// The device must take at most this part of the CPU's time: it begins without the contacts that will cost it most.
pub const SHARE: f64 = 0.7;

/// Why the CPU takes the scene, if the scene alone tells.
pub fn reason_for_cpu(model: &Model, params: &Params) -> Option<String> {
    // On the CPU every method is there.
    let choice = choose(params, model, &Loads::default(), &CpuBackend::default(), &mut None);
    if choice.method == ContactMethod::Ica && params.method == ContactMethod::Auto {
        return Some(format!("{}: the CPU has anticipation for that, a device does not", choice.reason));
    }
    let of_bodies = model.bodies.iter().map(|body| body.tets.len());
    let (largest, all) = (of_bodies.clone().max().unwrap_or(0), of_bodies.sum::<usize>());
    let (n_tets, what) = if model.may_touch() { (largest, "the largest body") } else { (all, "the scene") };
    (n_tets < MIN_TETS).then(|| format!("{what} has {n_tets} tets, too few for a device to be faster"))
}

/// Times of a step [ms].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Race {
    pub cpu: f64,
    /// None where the device did not come to the end of its steps.
    pub device: Option<f64>,
}

impl Race {
    /// Both sides make what their steps need, and then their first steps, one a solve of `params.time_step`; `clock`
    /// tells milliseconds. They are left somewhere: whoever goes on sets the state.
    ///
    /// # Errors
    /// Soon after `cancel` is cancelled.
    pub fn run(
        cpu: &mut dyn Stepper,
        device: &mut dyn Stepper,
        params: &Params,
        cancel: &CancelToken,
        mut clock: impl FnMut() -> f64,
    ) -> Result<Self, Cancelled> {
        let granted = if params.max_step_ms > 0.0 { params.max_step_ms.min(MAX_STEP_MS) } else { MAX_STEP_MS };
        let mut fastest = |stepper: &mut dyn Stepper| {
            stepper.prepare(params, cancel);
            let (begin, mut fastest) = (clock(), None);
            for step in 0..STEPS {
                let loads = Loads { cancel: cancel.clone(), budget: Budget::of_ms(granted), ..Loads::default() };
                let start = clock();
                stepper.step(params, &loads).ok()?;
                let end = clock();
                // The first one makes what later ones keep; where it takes all the time, it has to do.
                if step > 0 || end - begin > MAX_MS {
                    fastest = Some((end - start).min(fastest.unwrap_or(f64::INFINITY)));
                }
                if end - begin > MAX_MS {
                    break;
                }
            }
            fastest
        };
        // A CPU that fails is no faster than any device.
        let cpu = fastest(cpu).unwrap_or(f64::INFINITY);
        cancel.check()?;
        let device = fastest(device);
        cancel.check()?;
        Ok(Self { cpu, device })
    }

    pub fn is_won_by_device(&self) -> bool {
        self.device.is_some_and(|device| device <= SHARE * self.cpu)
    }

    /// The outcome as a reason.
    pub fn reason(&self) -> String {
        match self.device {
            Some(device) => format!("the first steps took {device:.2} ms on the device and {:.2} ms on the CPU", self.cpu),
            None => "the device did not come through the first steps".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::math::Vec3;
    use crate::model::{HeldPoint, State};
    use crate::scene::{Scene, build};
    use crate::step::{ImplicitStepper, StepError, StepReport, SurfacePositions};

    fn model_of(scene: &str, flags: &[&str]) -> (Arc<Model>, Params) {
        let flags: Vec<String> = flags.iter().map(|flag| flag.to_string()).collect();
        let built = build(&Scene::load(scene, &flags).unwrap()).unwrap();
        (built.model, built.params)
    }

    #[test]
    fn the_scene_tells_where_the_cpu_is_faster() {
        let reason = |scene: &str, flags: &[&str]| {
            let (model, params) = model_of(scene, flags);
            reason_for_cpu(&model, &params)
        };
        // Light bodies, which anticipation solves in a few sweeps; with another method that is no reason.
        assert!(reason("pyramid", &[]).unwrap().contains("anticipation"));
        assert!(!reason("pyramid", &["simulation.solver=cwc"]).unwrap().contains("anticipation"));
        // A small body, and bodies that are many and small.
        assert!(reason("bunny", &["body.bunny.resolution=8"]).unwrap().contains("the largest body"));
        assert!(reason("rings", &[]).unwrap().contains("tets"));
        // Nothing touches: all tets count.
        assert!(reason("cantilever", &["body.bar.shape.cells=[4,2,2]", "body.bar.self_contact=\"off\""]).unwrap().contains("the scene"));
        assert_eq!(reason("cantilever", &["body.bar.shape.cells=[50,8,8]"]), None);
        assert_eq!(reason("cantilever", &["body.bar.shape.cells=[50,8,8]", "simulation.integration=bdf2"]), None);
        // A device has what flows, is limited, remembers how it has collapsed or does not lock.
        for value in ["yield_strain=0.05", "max_stretch=1.2", "degeneration_ratio=0.2", "poisson_ratio=0.45"] {
            assert_eq!(reason("cantilever", &["body.bar.shape.cells=[50,8,8]", &format!("material.rubber.{value}")]), None);
        }
    }

    /// Takes its time by a clock that it moves itself.
    struct Runner {
        clock: Arc<AtomicU64>,
        /// Of the first step and of the others [ms].
        ms: [u64; 2],
        steps: Arc<AtomicU64>,
        fails: bool,
        /// Its second step cancels the race, and fails.
        cancels: bool,
        /// Work that each of its steps was granted.
        granted: Arc<Mutex<Vec<Option<u64>>>>,
    }

    impl Stepper for Runner {
        fn step(&mut self, _: &Params, loads: &Loads) -> Result<StepReport, StepError> {
            let first = self.steps.fetch_add(1, Ordering::Relaxed) == 0;
            self.clock.fetch_add(self.ms[usize::from(!first)], Ordering::Relaxed);
            self.granted.lock().unwrap().push(loads.budget.left());
            if self.cancels && !first {
                loads.cancel.cancel();
                return Err(StepError::Cancelled { step: loads.step });
            }
            let error = || StepError::DeviceTooSmall { step: loads.step, reason: String::new() };
            if self.fails { Err(error()) } else { Ok(StepReport::default()) }
        }

        fn time(&self) -> f64 {
            0.0
        }

        fn script_time(&self) -> f64 {
            0.0
        }

        fn state(&mut self) -> Result<&State, StepError> {
            Err(StepError::Cancelled { step: 0 })
        }

        fn motions(&mut self, _: &[HeldPoint]) -> Result<Vec<(Vec3, Vec3)>, StepError> {
            Ok(vec![])
        }

        fn set_state(&mut self, _: &State) -> Result<(), StepError> {
            Ok(())
        }

        fn surface(&mut self) -> SurfacePositions {
            SurfacePositions::default()
        }
    }

    fn runner(clock: &Arc<AtomicU64>, ms: [u64; 2]) -> Runner {
        Runner { clock: clock.clone(), ms, steps: Arc::default(), fails: false, cancels: false, granted: Arc::default() }
    }

    /// The race, and the steps of both.
    fn race(cpu: [u64; 2], device: [u64; 2], fails: bool) -> (Race, [u64; 2]) {
        let clock = Arc::new(AtomicU64::new(0));
        let counts = [(); 2].map(|()| Arc::new(AtomicU64::new(0)));
        let runner = |k: usize, ms, fails| Runner { fails, steps: counts[k].clone(), ..runner(&clock, ms) };
        let now = || clock.load(Ordering::Relaxed) as f64;
        let (mut cpu, mut device) = (runner(0, cpu, false), runner(1, device, fails));
        let race = Race::run(&mut cpu, &mut device, &Params::default(), CancelToken::never(), now).unwrap();
        (race, counts.map(|count| count.load(Ordering::Relaxed)))
    }

    #[test]
    fn the_faster_side_wins_and_the_first_step_only_warms_up() {
        let (won, steps) = race([20, 10], [900, 5], false);
        assert_eq!((won, steps), (Race { cpu: 10.0, device: Some(5.0) }, [4, 4]));
        assert!(won.is_won_by_device() && won.reason().contains("5.00 ms on the device"));
        // A device that is hardly faster now is slower with contacts.
        assert!(!race([20, 10], [20, 8], false).0.is_won_by_device());
        // One that fails has lost.
        let (lost, _) = race([20, 10], [1, 1], true);
        assert!(!lost.is_won_by_device() && lost.device.is_none() && lost.reason().contains("did not come through"));
    }

    #[test]
    fn a_race_ends_where_steps_are_slow() {
        let (long, steps) = race([5000, 5000], [600, 600], false);
        assert_eq!((long, steps), (Race { cpu: 5000.0, device: Some(600.0) }, [1, 2]));
        assert!(long.is_won_by_device());
    }

    #[test]
    fn steps_of_a_race_have_a_token_and_a_limit() {
        let clock = Arc::default();
        let run = |max_step_ms: f64, cancels: [bool; 2]| {
            let [mut cpu, mut device] = cancels.map(|cancels| Runner { cancels, ..runner(&clock, [1, 1]) });
            let params = Params { max_step_ms, ..Params::default() };
            let race = Race::run(&mut cpu, &mut device, &params, &CancelToken::default(), || 0.0);
            (race.is_ok(), [cpu, device].map(|side| side.granted.lock().unwrap().clone()))
        };
        let of_ms = |ms: f64| Budget::of_ms(ms).left();
        // Whatever the scene grants, and less if it grants less; each step has its own.
        for (max_step_ms, granted) in [(0.0, MAX_STEP_MS), (250.0, 250.0), (1e9, MAX_STEP_MS)] {
            let (is_done, steps) = run(max_step_ms, [false, false]);
            assert!(is_done && steps.iter().all(|steps| *steps == vec![of_ms(granted); STEPS]), "{max_step_ms}: {steps:?}");
        }
        // Once it is cancelled neither side goes on.
        for (cancels, steps) in [([true, false], [2, 0]), ([false, true], [STEPS, 2])] {
            let (is_done, granted) = run(0.0, cancels);
            assert_eq!((is_done, granted.map(|steps| steps.len())), (false, steps), "{cancels:?}");
        }
    }

    /// A stepper that has raced goes on from its start as if it had not.
    #[test]
    fn a_race_leaves_nothing_behind() {
        let (model, params) = model_of("bunny", &["body.bunny.resolution=8", "body.bunny.position=[0,0.0001,0]"]);
        let new = || ImplicitStepper::new(model.clone(), CpuBackend::default(), || 0.0).unwrap();
        let (mut raced, mut fresh) = (new(), new());
        let start = fresh.state().unwrap().clone();
        Race::run(&mut raced, &mut new(), &params, CancelToken::never(), || 0.0).unwrap();
        assert!(*raced.state().unwrap() != start, "it has moved");
        for stepper in [&mut raced, &mut fresh] {
            stepper.set_state(&start).unwrap();
            (0..3).for_each(|_| drop(stepper.step(&params, &Loads::default()).unwrap()));
        }
        assert!(raced.state().unwrap() == fresh.state().unwrap());
    }
}
