//! What the user is told.

use std::path::PathBuf;

/// A sentence for the user.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    pub severity: Severity,
    pub text: String,
    /// What it is about, if that was written.
    pub file: Option<PathBuf>,
    /// The generation of the scene whose simulation says it, with the names that it has for things.
    pub scene: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Info,
    Error,
}
