//! The contract of a check: what it is told by, what it measures, and the picture of it.

use serde::Serialize;

use super::bench::Bench;
use super::plot::Plot;
use super::unmeasured::Unmeasured;

/// One known answer that the program is held against.
pub struct Check {
    /// What `--only` takes.
    pub name: &'static str,
    pub title: &'static str,
    /// What a green light means, in a sentence.
    pub meaning: &'static str,
    /// The experiment and its size.
    pub setup: &'static str,
    /// Where the expected numbers come from.
    pub source: &'static str,
    pub place: Place,
    pub run: fn(&mut Bench) -> Result<Outcome, Unmeasured>,
}

/// Where a check runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On the backend that is chosen for the run.
    Chosen,
    /// On the CPU, whatever is chosen.
    Cpu,
    /// On both, whatever is chosen.
    Both,
}

impl Place {
    /// The backend by name, of a run on `chosen`.
    pub fn backend(self, chosen: &'static str) -> &'static str {
        match self {
            Self::Chosen => chosen,
            Self::Cpu => "cpu",
            Self::Both => "cpu and gpu",
        }
    }
}

/// What a check has measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    pub measures: Vec<Measure>,
    pub plot: Plot,
}

/// A number beside the one that it should be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measure {
    pub what: String,
    pub expected: f64,
    pub measured: f64,
    /// Largest difference from `expected` that is green.
    pub tolerance: f64,
    /// SI; empty for a ratio.
    pub unit: &'static str,
}

impl Measure {
    /// A number that may be off by a `share` of the expected one.
    pub fn relative(what: impl Into<String>, expected: f64, measured: f64, share: f64, unit: &'static str) -> Self {
        Self::absolute(what, expected, measured, share * expected.abs(), unit)
    }

    /// A number that may be off by `tolerance`.
    pub fn absolute(what: impl Into<String>, expected: f64, measured: f64, tolerance: f64, unit: &'static str) -> Self {
        Self { what: what.into(), expected, measured, tolerance, unit }
    }

    /// An error: a number that should be 0.
    pub fn error(what: impl Into<String>, measured: f64, tolerance: f64, unit: &'static str) -> Self {
        Self::absolute(what, 0.0, measured, tolerance, unit)
    }

    /// How far off it is, as a part of what is allowed; infinite if it is no number.
    pub fn tolerance_used(&self) -> f64 {
        let share = (self.measured - self.expected).abs() / self.tolerance;
        if share.is_nan() { f64::INFINITY } else { share }
    }

    pub fn is_green(&self) -> bool {
        self.tolerance_used() <= 1.0
    }
}

impl Outcome {
    /// Whether there are numbers and all are within their tolerances.
    pub fn is_green(&self) -> bool {
        !self.measures.is_empty() && self.measures.iter().all(Measure::is_green)
    }
}
