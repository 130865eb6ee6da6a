//! A session on disk: lines of JSON. The first line names the scene and the length; every other line is a command and
//! the number of steps that were done when it was given, or a mark: how far the session has gone by now. Only files
//! that grow have marks, see [`GrowingSession`]. A session of several branches has a line before the commands of each,
//! see [`SessionTree`].

mod growing;
mod tree;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Simulation;
use super::command::{Command, LoggedCommand};
use super::machine::instructions;
use super::report::state_hash;
use crate::output::{OutputError, OutputFile};
use crate::step::StepError;
pub use growing::GrowingSession;
pub use tree::{BranchId, SessionBranch, SessionTree};

/// A run that can be repeated: a scene and the commands that were given.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    pub header: SessionHeader,
    /// In their order; steps never fall.
    pub commands: Vec<LoggedCommand>,
}

/// Where a session started, and where it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionHeader {
    format: String,
    /// In a file of several branches: the one that was current, whose end is told here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    branch: Option<BranchId>,
    /// The version of the program.
    pub version: String,
    /// The file of the scene, or its name in the gallery.
    pub scene: String,
    /// Values of the scene that `--set` changed.
    pub set: Vec<String>,
    /// Steps of the saved state that the session went on from; none if it began at the start of the scene.
    pub first_step: u64,
    /// The file of that state, as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<PathBuf>,
    /// Steps at the end.
    pub last_step: u64,
    /// "cpu" or "gpu".
    pub backend: String,
    /// The hash of the state at the end (`report::state_hash`).
    pub state_hash: String,
    /// The instructions that the processor computed with (`machine::instructions`): those of another one round
    /// otherwise, and so the bits of its states are others. None in files from before it was told.
    #[serde(default)]
    pub instructions: Option<String>,
}

/// How far a session has gone: what the header says of its end, later.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mark {
    last_step: u64,
    state_hash: String,
}

/// Of one branch.
const FORMAT: &str = "pliant session 1";
/// Of several branches.
const TREE_FORMAT: &str = "pliant session 2";

#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{} is not a session of this program: {reason}", path.display())]
    NotASession { path: PathBuf, reason: String },
    #[error("{}, line {line}: {reason}; correct the line or save the session again", path.display())]
    Line { path: PathBuf, line: usize, reason: String },
    #[error(
        "the session begins after step {first_step} of a saved state, and the simulation is at step {step}; give that state with --resume"
    )]
    OtherStart { first_step: u64, step: u64 },
}

impl Simulation {
    /// The session so far. `scene` and `set` name the start, as the command line would.
    pub fn session(&mut self, scene: String, set: Vec<String>) -> Result<Session, StepError> {
        let header = SessionHeader {
            format: FORMAT.into(),
            branch: None,
            version: env!("CARGO_PKG_VERSION").into(),
            scene,
            set,
            first_step: self.log().first_step,
            state: self.log().state.clone(),
            last_step: self.step_index(),
            backend: self.backend().backend.into(),
            state_hash: state_hash(self.state()?),
            instructions: Some(instructions()),
        };
        Ok(Session { header, commands: self.log().entries.clone() })
    }
}

impl Session {
    /// Reads the current branch of a session that `write`, [`SessionTree::write`] or [`GrowingSession`] wrote, or a
    /// person.
    pub fn read(path: &Path) -> Result<Self, SessionError> {
        Ok(SessionTree::read(path)?.current().session.clone())
    }

    /// Writes the session: complete, or not at all.
    pub fn write(&self, path: &Path) -> Result<(), OutputError> {
        let text = self.text().map_err(|error| OutputError::of(path, error.into()))?;
        OutputFile::save(path, text.as_bytes())
    }

    fn text(&self) -> serde_json::Result<String> {
        let mut text = serde_json::to_string(&self.header)? + "\n";
        for command in &self.commands {
            text += &(serde_json::to_string(command)? + "\n");
        }
        Ok(text)
    }

    /// Refuses a simulation that is not where the session began: at the start of its scene, or at the
    /// [`state`](SessionHeader::state) that it went on from.
    pub fn check_start(&self, simulation: &Simulation) -> Result<(), SessionError> {
        let (first_step, step) = (self.header.first_step, simulation.step_index());
        if first_step == step { Ok(()) } else { Err(SessionError::OtherStart { first_step, step }) }
    }

    /// How many steps the session lasted.
    pub fn n_steps(&self) -> u64 {
        self.header.last_step - self.header.first_step
    }

    /// The commands that were given when `step` steps were done.
    pub fn commands_at(&self, step: u64) -> impl Iterator<Item = &Command> {
        let first = self.commands.partition_point(|logged| logged.step < step);
        self.commands[first..].iter().take_while(move |logged| logged.step == step).map(|logged| &logged.command)
    }
}
