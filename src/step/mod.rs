//! One time step, behind one narrow contract: `Stepper`. `cpu` is the f64 reference; `gpu::Stepper` its twin in f32.

mod implicit;
mod report;
mod solve;
mod system;
#[cfg(test)]
mod tests;

pub use implicit::{CpuError, Engine, Given, Host, ImplicitStepper};
pub use report::{DeviceWork, StageTimes, StepReport, Work};
pub use solve::{ELASTIC_TOLERANCE, IslandWork, MAX_PASSES, max_contacts};
pub use system::{MOMENTUM_SHARE, Step, StepWork};

use crate::model::{Loads, Params, State};

#[derive(Debug, thiserror::Error)]
pub enum StepError {
    #[error("{what} is not finite after step {step} (body \"{body}\"); the state before the step was kept. Try a smaller time step")]
    NotFinite { what: &'static str, body: String, step: u64 },
    #[error(
        "the device was lost during step {step}: {reason}. The state before the step was kept; restart on another adapter or with --backend cpu"
    )]
    DeviceLost { step: u64, reason: String },
    #[error(
        "\"{a}\" and \"{b}\" would pass through each other in step {step}; the state before the step was kept. Try a smaller time step"
    )]
    Crossing { a: String, b: String, step: u64 },
    #[error("the contacts of step {step} were not solved to their tolerance; the state before the step was kept. Try a smaller time step")]
    NotConverged { step: u64 },
    #[error("step {step} was cancelled; the state before the step was kept")]
    Cancelled { step: u64 },
}

/// A way to advance a model in time. Implementations own the state; a failed step leaves it as it was.
pub trait Stepper: Send {
    /// Advances by `params.time_step`.
    fn step(&mut self, params: &Params, loads: &Loads) -> Result<StepReport, StepError>;
    /// A copy of the state on the host, in f64.
    fn state(&mut self) -> Result<State, StepError>;
    /// Continues from `state` (same model).
    fn set_state(&mut self, state: &State) -> Result<(), StepError>;
    /// Positions of the surface vertices, for drawing and measuring.
    fn surface(&mut self) -> SurfacePositions;
}

/// Where the surface's vertices (x, y, z, 1) are.
pub enum SurfacePositions {
    Host(Vec<[f32; 4]>),
    /// A buffer of `vec4<f32>` on the device that computed them; complete in queue order.
    Device(std::sync::Arc<wgpu::Buffer>),
}
