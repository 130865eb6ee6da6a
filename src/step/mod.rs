//! One time step, above the backends. `ImplicitStepper` reads as the algorithm; a `Backend` computes its parts;
//! `choose` says which method solves contact.

mod choose;
mod guard;
mod hanging;
mod implicit;
mod inputs;
mod limit;
mod newton;
mod potential;
mod predict;
mod report;
mod spin;
mod work;

pub use choose::{Choice, choose};
pub use implicit::ImplicitStepper;
pub use inputs::{Drive, MOMENTUM_SHARE, StepInputs};
#[cfg(feature = "gpu")]
pub(crate) use newton::NonlinearEquation;
pub use predict::free_fall;
#[cfg(test)]
pub(crate) use predict::predict_positions;
pub use report::{Clock, DeviceWork, StageTimes, StageWork, StepReport, THROWN_AWAY};
pub use work::{IslandWork, Work};

use std::any::Any;
use std::sync::Arc;

use crate::body::BodyRef;
use crate::cancel::{CancelToken, Cancelled};
use crate::contact::generate::Detection;
use crate::elastic::{Quaternion, most_strained};
use crate::geometry::{Bvh, Candidates, Mesh};
use crate::math::Vec3;
use crate::model::{ContactMethod, HeldPoint, Loads, Model, Params, State};

#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// `tet`: the most strained element where the step would have begun, from 0 in its body; none of a rigid body.
    #[error(
        "{what} is not finite after step {step} (body \"{body}\"{}); the state before the step was kept. Try a smaller time step",
        most_strained_told(*tet)
    )]
    NotFinite { what: &'static str, body: String, tet: Option<usize>, step: u64 },
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
    #[error("the contacts of step {step} were given up for smaller parts; the state before the step was kept. Try a smaller time step")]
    TooHard { step: u64 },
    #[error(
        "\"{body}\" would gain energy in step {step}, most of it in its tet {tet} (the first is 0): it is deformed too much for a step of this length, and what touches it keeps its motion from being held back; the state before the step was kept. Try a smaller time step, or a material that resists less"
    )]
    GainsEnergy { body: String, tet: usize, step: u64 },
    #[error(
        "Newton's method left \"{body}\" with a residual of {residual:.1e} after {iterations} iterations of step {step}, the largest at its tet {tet} (the first is 0); the state before the step was kept. Try a smaller time step, a larger newton_tolerance, or integration = \"semi_implicit\""
    )]
    NewtonFailed { body: String, tet: usize, residual: f64, iterations: u32, step: u64 },
    #[error("the contacts of step {step} do not fit on the device: {reason}. The state before the step was kept; use --backend cpu")]
    DeviceTooSmall { step: u64, reason: String },
    #[error("step {step} was cancelled; the state before the step was kept")]
    Cancelled { step: u64 },
}

impl StepError {
    /// [`Self::NotFinite`] in a step of `dt` [s] from `state`. The elements are looked at where they answer in it: where
    /// their velocities lead.
    pub fn not_finite(what: &'static str, model: &Model, body: BodyRef, state: &State, dt: f64, step: u64) -> Self {
        let ahead = || state.displacements.iter().zip(&state.velocities).map(|(u, v)| u + v * dt).collect::<Vec<Vec3>>();
        let tet = body.is_deformable().then(|| most_strained(model, &model.bodies[body.index()], &ahead()));
        Self::NotFinite { what, body: model.body_name(body).to_owned(), tet, step }
    }

    /// What went wrong, as the end of a sentence, for steps that are taken back and halved.
    pub fn cause(&self) -> String {
        match self {
            Self::NotFinite { what, body, tet, .. } => format!("{what} of “{body}” was not finite{}", most_strained_told(*tet)),
            Self::Crossing { a, b, .. } if a == b => format!("“{a}” would have passed through itself"),
            Self::Crossing { a, b, .. } => format!("“{a}” and “{b}” would have passed through each other"),
            Self::NotConverged { .. } => "its contacts were not solved to their tolerance".into(),
            Self::TooHard { .. } => "its contacts took very long".into(),
            Self::GainsEnergy { body, tet, .. } => {
                format!("“{body}” would have gained energy, most of it in its tet {tet} (the first is 0)")
            }
            Self::NewtonFailed { body, tet, .. } => {
                format!("Newton's method did not find the end of “{body}”, least of all at its tet {tet} (the first is 0)")
            }
            Self::DeviceLost { .. } | Self::DeviceTooSmall { .. } | Self::Cancelled { .. } => self.to_string(),
        }
    }

    /// Whether smaller steps may come through where this one has failed.
    pub fn may_halve(&self) -> bool {
        match self {
            Self::NotFinite { .. }
            | Self::Crossing { .. }
            | Self::NotConverged { .. }
            | Self::TooHard { .. }
            | Self::GainsEnergy { .. }
            | Self::NewtonFailed { .. } => true,
            Self::DeviceLost { .. } | Self::DeviceTooSmall { .. } | Self::Cancelled { .. } => false,
        }
    }
}

fn most_strained_told(tet: Option<usize>) -> String {
    tet.map_or_else(String::new, |tet| format!(", most strained in its tet {tet} (the first is 0)"))
}

/// An error once the step shall end. A step asks at its start, after each search and each round of relinearisation.
pub fn check_cancelled(loads: &Loads) -> Result<(), StepError> {
    loads.cancel.check().map_err(|Cancelled| StepError::Cancelled { step: loads.step })
}

/// A way to advance a model in time. Implementations own the state; a failed step leaves it as it was.
pub trait Stepper: Send {
    /// Makes what steps with `params` will need and need not wait for, such as factors; no step depends on it. Soon
    /// after `cancel` is cancelled it ends without.
    fn prepare(&mut self, _params: &Params, _cancel: &CancelToken) {}
    /// Advances by `params.time_step`.
    fn step(&mut self, params: &Params, loads: &Loads) -> Result<StepReport, StepError>;
    /// Simulated time [s].
    fn time(&self) -> f64;
    /// The time of given motions [s]: [`State::script_time`].
    fn script_time(&self) -> f64;
    /// The state on the host, in f64. A backend that has it elsewhere fetches it once a step.
    fn state(&mut self) -> Result<&State, StepError>;
    /// Positions [m] and velocities [m/s] of some material points: what `state` would say of them, without all the
    /// rest.
    fn motions(&mut self, points: &[HeldPoint]) -> Result<Vec<(Vec3, Vec3)>, StepError>;
    /// Continues from `state` (same model).
    fn set_state(&mut self, state: &State) -> Result<(), StepError>;
    /// Positions of the surface vertices, for drawing and measuring.
    fn surface(&mut self) -> SurfacePositions;
}

/// What computes the parts of a step: threads and SIMD, or a device. It owns the matrix and all scratch; the stepper
/// owns the state.
pub trait Backend: Send {
    /// Whether contacts can be solved by `method`.
    fn offers(&self, method: ContactMethod) -> bool;
    /// Makes what steps with `params` and `method` will need and need not wait for; see [`Stepper::prepare`].
    fn prepare(&mut self, _model: &Model, _params: &Params, _method: ContactMethod, _cancel: &CancelToken) {}
    /// Elements and right-hand side at the step's state, and what follows from them; `dv` takes the start value of the
    /// solve. A step that was begun and not committed has never been.
    fn begin(&mut self, step: &StepInputs, dv: &mut [Vec3], report: &mut StepReport) -> Result<(), StepError>;
    /// Pairs of features that may meet, as [`Bvh::find`] finds them.
    fn find_candidates(
        &mut self,
        bvh: &mut Bvh,
        mesh: &Mesh,
        x: &[Vec3],
        candidates: &mut Candidates,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        report.stages.time("detection", || bvh.find(mesh, x, candidates));
        Ok(())
    }
    /// Elements and right-hand side at another iterate of the step that was begun ([`StepInputs::iterate`]).
    fn linearise(&mut self, step: &StepInputs, report: &mut StepReport) -> Result<(), StepError>;
    /// What elements remember in the step that was begun and whose islands were solved: the rotations of their frames,
    /// and rows of state taken to its start.
    fn element_states(&self) -> &[Quaternion];
    /// Solves all islands from the contacts that they were given, following the geometry with `detection` until nothing
    /// crosses any more.
    fn solve_islands(
        &mut self,
        step: &StepInputs,
        detection: &Detection,
        work: &mut Work,
        report: &mut StepReport,
    ) -> Result<(), StepError>;
    /// The step is accepted: `state` has moved on and still lacks the rotations of the tets.
    fn commit(&mut self, model: &Model, state: &mut State) -> Result<(), StepError>;
    /// Continues from `state`.
    fn restore(&mut self, model: &Model, state: &State) -> Result<(), StepError>;
    /// The vertices of the drawn surface at `state`.
    fn surface(&mut self, model: &Model, state: &State) -> SurfacePositions;
}

/// Where the surface's vertices (x, y, z, 1) are.
pub enum SurfacePositions {
    Host(Vec<[f32; 4]>),
    /// A buffer of `vec4<f32>` on the device that computed them, complete in queue order. Only its backend can open it
    /// (`gpu::surface_buffer`).
    Device(Arc<dyn Any + Send + Sync>),
}

impl Default for SurfacePositions {
    fn default() -> Self {
        Self::Host(vec![])
    }
}
