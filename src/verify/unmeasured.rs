//! How a check can end without numbers.

use crate::cancel::Cancelled;
use crate::model::ModelError;
use crate::scene::SceneError;
use crate::sim::SimulationError;
use crate::step::StepError;

/// Why a check has no numbers.
#[derive(Debug, thiserror::Error)]
pub enum Unmeasured {
    /// The machine lacks what the check needs.
    #[error("{0}")]
    NotPossible(String),
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    #[error("no rest after {steps} steps: a node still moves by {moved:.1e} m in a step")]
    NoRest { steps: u32, moved: f64 },
    #[error("the time step met a fault: {0}")]
    Step(StepError),
    #[error("the simulation could not be opened: {0}")]
    Simulation(#[from] SimulationError),
    #[error("the body could not be built: {0}")]
    Model(#[from] ModelError),
    #[error("the scene could not be read: {0}")]
    Scene(#[from] SceneError),
}

impl From<StepError> for Unmeasured {
    fn from(error: StepError) -> Self {
        match error {
            StepError::Cancelled { .. } => Self::Cancelled(Cancelled),
            error => Self::Step(error),
        }
    }
}
