//! The one owner of a running simulation: apply a `Command`, `step`, look.

use std::sync::Arc;

use crate::math::Vec3;
use crate::model::Model;
use crate::solver::{Params, State, StepError, StepReport, Stepper};

/// Everything that can be done to a running simulation. Recorded commands (step, command) replay to the same state.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Holds a material point: `barycentric` in surface triangle `triangle` (index into `model.surface.triangles`).
    Grab {
        id: u32,
        triangle: u32,
        barycentric: [f64; 3],
        target: Vec3,
    },
    MoveGrab {
        id: u32,
        target: Vec3,
    },
    ReleaseGrab {
        id: u32,
    },
    SetGravity(Vec3),
    SetTimeStep(f64),
    Reset,
}
