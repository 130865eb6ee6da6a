//! A session on disk: lines of JSON. The first line names the scene and the length; every other line is a command and
//! the number of steps that were done when it was given.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Simulation;
use super::command::{Command, LoggedCommand};
use super::report::state_hash;
use crate::output::{OutputError, OutputFile};
use crate::step::StepError;

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
    /// The version of the program.
    pub version: String,
    /// The file of the scene, or its name in the gallery.
    pub scene: String,
    /// Values of the scene that `--set` changed.
    pub set: Vec<String>,
    /// Steps of the saved state that the session went on from; none if it began at the start of the scene.
    pub first_step: u64,
    /// Steps at the end.
    pub last_step: u64,
    /// "cpu" or "gpu".
    pub backend: String,
    /// The hash of the state at the end (`report::state_hash`).
    pub state_hash: String,
}

const FORMAT: &str = "pliant session 1";

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
            version: env!("CARGO_PKG_VERSION").into(),
            scene,
            set,
            first_step: self.log().first_step,
            last_step: self.step_index(),
            backend: self.backend().backend.into(),
            state_hash: state_hash(self.state()?),
        };
        Ok(Session { header, commands: self.log().entries.clone() })
    }
}

impl Session {
    /// Reads a session that `write` wrote, or a person.
    pub fn read(path: &Path) -> Result<Self, SessionError> {
        let text = std::fs::read_to_string(path).map_err(|source| SessionError::Read { path: path.into(), source })?;
        let other = |reason: String| SessionError::NotASession { path: path.into(), reason };
        let mut lines = text.lines().enumerate();
        let (_, first) = lines.next().ok_or_else(|| other("it is empty".into()))?;
        let header: SessionHeader = serde_json::from_str(first).map_err(|error| other(format!("its first line: {error}")))?;
        if header.format != FORMAT {
            return Err(other(format!("its format is \"{}\", not \"{FORMAT}\"", header.format)));
        }
        let (mut commands, mut step) = (vec![], header.first_step);
        for (index, text) in lines.filter(|(_, text)| !text.trim().is_empty()) {
            let bad = |reason: String| SessionError::Line { path: path.into(), line: index + 1, reason };
            let logged: LoggedCommand = serde_json::from_str(text).map_err(|error| bad(error.to_string()))?;
            if !(step..=header.last_step).contains(&logged.step) {
                return Err(bad(format!("step {} is not from {step} to {}, the last step", logged.step, header.last_step)));
            }
            step = logged.step;
            commands.push(logged);
        }
        Ok(Self { header, commands })
    }

    /// Writes the session: complete, or not at all.
    pub fn write(&self, path: &Path) -> Result<(), OutputError> {
        let mut text = String::new();
        let failed = |error: serde_json::Error| OutputError::of(path, error.into());
        // A String takes everything.
        writeln!(text, "{}", serde_json::to_string(&self.header).map_err(failed)?).unwrap_or_default();
        for command in &self.commands {
            writeln!(text, "{}", serde_json::to_string(command).map_err(failed)?).unwrap_or_default();
        }
        OutputFile::save(path, text.as_bytes())
    }

    /// Refuses a simulation that is not where the session began.
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
