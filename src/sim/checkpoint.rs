//! Exact states in memory: a simulation goes back to one and on from there, bit for bit.

use std::sync::Arc;

use super::grab::Held;
use super::pace::Pace;
use super::{Command, CommandError, CommandLog, Simulation, SimulationError};
use crate::cancel::CancelToken;
use crate::math::Vec3;
use crate::model::{FixedParts, Friction, InjectivityProof, NamedMaterial, Params, RigidState, State, WarmContact};
use crate::step::StepError;

/// The exact state at the end of a step, and all that acts on it: what [`Simulation::save`] writes, in memory.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    step: u64,
    pace: Pace,
    state: State,
    params: Params,
    held: Vec<Held>,
    /// Materials, coefficients of friction and fixed parts that were not those of the scene.
    materials: Vec<NamedMaterial>,
    friction: Option<Friction>,
    fixed: Option<Vec<FixedParts>>,
}

/// A way to a step of a run: a checkpoint at or before it, and the commands to give again.
#[derive(Clone, Debug)]
pub struct Way {
    pub from: Arc<Checkpoint>,
    /// All commands of the run. Those from before the checkpoint are only logged.
    pub log: CommandLog,
    /// Steps that are done at the end of the way.
    pub to: u64,
    /// The commands that were given after the last step are given, too.
    pub with_last_commands: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum TravelError {
    #[error("going to step {step} was stopped")]
    Cancelled { step: u64 },
    #[error("step {step} is not in the recorded past any more")]
    Forgotten { step: u64 },
    #[error("a command of the past is refused now: {0}")]
    Command(#[from] CommandError),
    #[error(transparent)]
    Backend(#[from] SimulationError),
    #[error(transparent)]
    Step(#[from] StepError),
}

impl Checkpoint {
    /// Steps that were done.
    pub fn step(&self) -> u64 {
        self.step
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    /// Memory that it takes.
    pub fn bytes(&self) -> usize {
        let State { rigid_bodies, contacts, history, later_poses, .. } = &self.state;
        let State { displacements, velocities, rotations, velocity_changes, attachment_forces, .. } = &self.state;
        let vectors = [displacements, velocities, velocity_changes, attachment_forces];
        let of_history = [&history.mean_velocities, &history.previous_velocities];
        // Checkpoints may share poses: each counts them.
        let poses = || later_poses.iter().flatten();
        let of_poses = poses().map(|pose| &pose.displacements);
        let n_vectors: usize = vectors.into_iter().chain(of_history).chain(of_poses).map(Vec::len).sum();
        let n_rotations: usize = std::iter::once(rotations).chain(poses().map(|pose| &pose.rotations)).map(Vec::len).sum();
        size_of::<Self>()
            + n_vectors * size_of::<Vec3>()
            + n_rotations * size_of::<[f64; 4]>()
            + rigid_bodies.len() * size_of::<RigidState>()
            + contacts.entries.len() * size_of::<WarmContact>()
            + self.state.proofs.len() * size_of::<InjectivityProof>()
            + self.held.len() * size_of::<Held>()
            + self.materials.len() * size_of::<NamedMaterial>()
    }
}

impl Simulation {
    /// Everything that is needed to go on from here as if the run had not gone further.
    pub fn checkpoint(&mut self) -> Result<Checkpoint, StepError> {
        let (held, materials) = (self.held.clone(), self.changed_materials());
        let (friction, fixed) = (self.changed_friction(), self.changed_fixed());
        let state = self.stepper.state()?.clone();
        Ok(Checkpoint { step: self.step, pace: self.pace, state, params: self.params, held, materials, friction, fixed })
    }

    /// Goes back, or on, to a checkpoint of this simulation, with new figures; `log` holds the commands up to there. A
    /// failure leaves everything as it is.
    pub fn restore(&mut self, checkpoint: &Checkpoint, log: CommandLog) -> Result<(), TravelError> {
        let model = self.model_with(&checkpoint.materials, checkpoint.friction.as_ref(), checkpoint.fixed.as_deref())?;
        self.go_on_at(checkpoint.params, model, &checkpoint.state)?;
        self.continue_from(checkpoint.step, checkpoint.pace, checkpoint.held.clone());
        self.log = log;
        Ok(())
    }

    /// Goes to the exact state of a step: to the checkpoint, and from there on by giving the commands again. `passed`
    /// is told of each step. Where that ends early, by `cancel` or by a failure, the simulation stands somewhere on the
    /// way: whoever wants the state from before keeps a checkpoint of it.
    pub fn travel(&mut self, way: &Way, cancel: &CancelToken, mut passed: impl FnMut(u64)) -> Result<(), TravelError> {
        let Way { from, log, to, with_last_commands } = way;
        let commands_at = |step: u64| log.at(step).iter().map(|logged| &logged.command);
        let before = log.entries.partition_point(|logged| logged.step < from.step);
        self.restore(from, CommandLog { entries: log.entries[..before].to_vec(), ..CommandLog::starting_as(log) })?;
        for step in from.step..*to {
            commands_at(step).try_for_each(|command| self.apply(command))?;
            match self.step_unless(cancel) {
                Err(StepError::Cancelled { .. }) => return Err(TravelError::Cancelled { step: *to }),
                stepped => stepped?,
            };
            passed(self.step);
        }
        if *with_last_commands {
            commands_at(*to).try_for_each(|command| self.apply(command))?;
        }
        Ok(())
    }

    /// Lets go of all that commands hold.
    pub fn release_all(&mut self) -> Result<(), CommandError> {
        let held: Vec<u32> = self.held.iter().map(|held| held.id).collect();
        held.into_iter().try_for_each(|id| self.apply(&Command::ReleaseGrab { id }))
    }
}
