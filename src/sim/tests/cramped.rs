//! A stepper that refuses some steps.

use super::*;

/// A device that has no room for the contacts of the `fails_at`-th step, and that does not converge in steps longer
/// than `longest` [s]; else the CPU.
pub(super) struct Cramped {
    inner: Box<dyn Stepper>,
    steps: u64,
    fails_at: u64,
    longest: f64,
}

impl Cramped {
    pub(super) fn put_into(simulation: &mut Simulation, fails_at: u64, longest: f64) {
        let Simulation { params, model, .. } = &*simulation;
        let (inner, _) = open_backend(BackendChoice::Cpu, params, &Options::default(), model, CancelToken::never()).unwrap();
        let inner = std::mem::replace(&mut simulation.stepper, inner);
        simulation.stepper = Box::new(Self { inner, steps: 0, fails_at, longest });
    }
}

impl Stepper for Cramped {
    fn step(&mut self, params: &Params, loads: &Loads) -> Result<StepReport, StepError> {
        if self.steps == self.fails_at {
            return Err(StepError::DeviceTooSmall { step: loads.step, reason: "a buffer is too large".into() });
        }
        if params.time_step > self.longest {
            return Err(StepError::NotConverged { step: loads.step });
        }
        self.steps += 1;
        self.inner.step(params, loads)
    }

    fn time(&self) -> f64 {
        self.inner.time()
    }

    fn script_time(&self) -> f64 {
        self.inner.script_time()
    }

    fn state(&mut self) -> Result<&State, StepError> {
        self.inner.state()
    }

    fn motions(&mut self, points: &[HeldPoint]) -> Result<Vec<(Vec3, Vec3)>, StepError> {
        self.inner.motions(points)
    }

    fn set_state(&mut self, state: &State) -> Result<(), StepError> {
        self.inner.set_state(state)
    }

    fn surface(&mut self) -> SurfacePositions {
        self.inner.surface()
    }
}
