//! Threads and time for a stepper: the core below has neither.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::cancel::{CancelToken, Cancelled};
use crate::contact::generate::Surfaces;
use crate::cpu::CpuBackend;
use crate::geometry::{Bvh, MeshError};
use crate::math::Vec3;
use crate::model::{HeldPoint, Loads, Model, Params, State};
use crate::step::{Backend, ImplicitStepper, StepError, StepReport, Stepper, SurfacePositions};

#[derive(Debug, thiserror::Error)]
pub enum StepperError {
    #[error("the threads of the CPU could not be started: {0}. Ask for fewer with --threads")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    #[error("the surfaces cannot be tested for contact: {0}; repair the mesh")]
    Surfaces(#[from] MeshError),
    #[error("the making of a stepper was {0}")]
    Cancelled(#[from] Cancelled),
}

/// A stepper whose steps run on threads of their own.
pub struct Threaded<S> {
    pool: rayon::ThreadPool,
    pub stepper: S,
}

/// Milliseconds since the first call.
pub fn clock() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64() * 1e3
}

impl<B: Backend> Threaded<ImplicitStepper<B>> {
    /// The semi-implicit step with a backend, on some threads; 0 takes one a core.
    ///
    /// # Errors
    /// If the threads cannot be started, or the surfaces cannot be tested for contact.
    pub fn implicit(model: Arc<Model>, backend: B, threads: usize) -> Result<Self, StepperError> {
        Self::implicit_unless(model, backend, threads, &CancelToken::default())
    }

    /// The same, which ends with [`StepperError::Cancelled`] soon after `cancel` is cancelled.
    pub fn implicit_unless(model: Arc<Model>, backend: B, threads: usize, cancel: &CancelToken) -> Result<Self, StepperError> {
        let surfaces = Surfaces::new(&model)?;
        cancel.check()?;
        let hosts = Surfaces::hosts(&model);
        cancel.reached(0.1);
        cancel.check()?;
        let bvh = Bvh::carried_unless(&surfaces.mesh, &surfaces.rest, &hosts, &cancel.part(0.1, 0.8))?;
        Self::new(ImplicitStepper::with_surfaces(model, backend, clock, surfaces, bvh), threads)
    }
}

impl Threaded<ImplicitStepper<CpuBackend>> {
    /// The same on the CPU.
    pub fn on_cpu(model: Arc<Model>, threads: usize) -> Result<Self, StepperError> {
        Self::implicit(model, CpuBackend::default(), threads)
    }
}

impl<S> Threaded<S> {
    /// Steps of `stepper` on some threads; 0 takes one a core.
    ///
    /// # Errors
    /// If the threads cannot be started.
    pub fn new(stepper: S, threads: usize) -> Result<Self, StepperError> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        Ok(Self { pool, stepper })
    }

    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }
}

impl<S: Stepper> Stepper for Threaded<S> {
    fn prepare(&mut self, params: &Params, cancel: &CancelToken) {
        self.pool.install(|| self.stepper.prepare(params, cancel));
    }

    fn step(&mut self, params: &Params, loads: &Loads) -> Result<StepReport, StepError> {
        self.pool.install(|| self.stepper.step(params, loads))
    }

    fn time(&self) -> f64 {
        self.stepper.time()
    }

    fn script_time(&self) -> f64 {
        self.stepper.script_time()
    }

    fn state(&mut self) -> Result<&State, StepError> {
        self.stepper.state()
    }

    fn motions(&mut self, points: &[HeldPoint]) -> Result<Vec<(Vec3, Vec3)>, StepError> {
        self.stepper.motions(points)
    }

    fn set_state(&mut self, state: &State) -> Result<(), StepError> {
        self.stepper.set_state(state)
    }

    fn surface(&mut self) -> SurfacePositions {
        self.stepper.surface()
    }
}
