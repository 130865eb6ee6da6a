//! What a run of checks tells: as JSON, and as text for people.

use serde::Serialize;

use super::check::{Check, Measure, Outcome};
use super::plot::Plot;
use super::unmeasured::Unmeasured;
use crate::sim::Machine;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every number is within its tolerance.
    Passed,
    /// A number is not, or the run met a fault.
    Failed,
    /// There are no numbers: the machine cannot do it, or the run was cancelled.
    NotRun,
}

/// One check and what came of it.
#[derive(Clone, Debug, Serialize)]
pub struct CheckReport {
    pub name: &'static str,
    pub title: &'static str,
    pub meaning: &'static str,
    pub setup: &'static str,
    pub source: &'static str,
    /// "cpu", "gpu" or "cpu and gpu".
    pub backend: &'static str,
    pub verdict: Verdict,
    /// Why there are no numbers, if there are none.
    pub reason: Option<String>,
    /// Wall time [s].
    pub seconds: f64,
    pub measures: Vec<Measure>,
    pub plot: Plot,
}

/// A run of checks, to be attached to a bug report.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub machine: Machine,
    /// "cpu" or "gpu".
    pub backend: &'static str,
    pub adapter: Option<String>,
    /// Why this backend.
    pub reason: String,
    pub passed: usize,
    pub failed: usize,
    pub not_run: usize,
    /// Wall time of all checks [s].
    pub seconds: f64,
    pub checks: Vec<CheckReport>,
}

impl CheckReport {
    /// Of a check in a run on the backend `chosen`.
    pub fn new(check: &Check, chosen: &'static str, outcome: Result<Outcome, Unmeasured>, seconds: f64) -> Self {
        let (verdict, reason, outcome) = match outcome {
            Ok(outcome) if outcome.is_green() => (Verdict::Passed, None, outcome),
            Ok(outcome) => (Verdict::Failed, None, outcome),
            Err(error @ (Unmeasured::NotPossible(_) | Unmeasured::Cancelled(_))) => {
                (Verdict::NotRun, Some(error.to_string()), Outcome::default())
            }
            Err(error) => (Verdict::Failed, Some(error.to_string()), Outcome::default()),
        };
        let Check { name, title, meaning, setup, source, place, .. } = *check;
        let backend = place.backend(chosen);
        Self { name, title, meaning, setup, source, backend, verdict, reason, seconds, measures: outcome.measures, plot: outcome.plot }
    }

    /// The number that is nearest to its tolerance, or furthest beyond it.
    pub fn worst(&self) -> Option<&Measure> {
        self.measures.iter().reduce(|worst, measure| if measure.tolerance_used() > worst.tolerance_used() { measure } else { worst })
    }

    /// `chosen`: the backend of the run; another one is told.
    fn write(&self, chosen: &str, lines: &mut Vec<String>) {
        let sign = match self.verdict {
            Verdict::Passed => "ok",
            Verdict::Failed => "FAILED",
            Verdict::NotRun => "not run",
        };
        let place = if self.backend == chosen { String::new() } else { format!(", backend {}", self.backend) };
        lines.push(format!("{sign:<8} {} ({}), {:.1} s{place}", self.title, self.name, self.seconds));
        lines.push(format!("         {}", self.meaning));
        lines.extend(self.reason.iter().map(|reason| format!("         {reason}")));
        for measure in &self.measures {
            let sign = if measure.is_green() { "ok" } else { "OFF" };
            let [expected, measured, tolerance] = [measure.expected, measure.measured, measure.tolerance].map(figure);
            let unit = if measure.unit.is_empty() { String::new() } else { format!(" {}", measure.unit) };
            lines.push(format!("    {sign:<4} {measured} of {expected} +- {tolerance}{unit}: {}", measure.what));
        }
        if self.verdict == Verdict::Failed {
            lines.push(format!("         Experiment: {}", self.setup));
            lines.push(format!("         Expected from: {}", self.source));
        }
    }
}

impl Report {
    /// Of checks that were run one after the other.
    pub fn new(machine: Machine, (backend, adapter, reason): (&'static str, Option<String>, String), checks: Vec<CheckReport>) -> Self {
        let count = |verdict: Verdict| checks.iter().filter(|check| check.verdict == verdict).count();
        Self {
            machine,
            backend,
            adapter,
            reason,
            passed: count(Verdict::Passed),
            failed: count(Verdict::Failed),
            not_run: count(Verdict::NotRun),
            seconds: checks.iter().map(|check| check.seconds).sum(),
            checks,
        }
    }

    /// The sentence that sums it up.
    pub fn verdict(&self) -> String {
        let n = self.checks.len();
        let of = if self.passed == n && n > 1 { format!("all {n} checks passed") } else { format!("{} of {n} checks passed", self.passed) };
        let parts = [(self.failed, "failed"), (self.not_run, "not run")];
        let rest: String = parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!(", {count} {what}")).collect();
        format!("{of}{rest}, in {:.1} s", self.seconds)
    }

    /// For people: every number, then the machine.
    pub fn text(&self) -> String {
        let mut lines = vec![];
        for check in &self.checks {
            check.write(self.backend, &mut lines);
            lines.push(String::new());
        }
        lines.push(self.verdict());
        let adapter = self.adapter.as_ref().map_or_else(String::new, |name| format!(" on {name}"));
        let is_everywhere = self.checks.iter().all(|check| check.backend == self.backend);
        let except = if is_everywhere { "" } else { ", where no other is named" };
        lines.push(format!("computed by the {} backend{adapter}{except}: {}", self.backend, self.reason));
        lines.push(String::new());
        lines.extend(self.machine.lines());
        lines.join("\n") + "\n"
    }

    /// For programs: the same, with the curves of the pictures.
    pub fn json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

/// A number to five digits.
pub fn figure(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 {
        "0".into()
    } else if !(1e-3..1e6).contains(&size) {
        let text = format!("{x:.4e}");
        // 1e-6 in place of 1.0000e-6.
        match text.split_once('e') {
            Some((digits, power)) if digits.contains('.') => {
                format!("{}e{power}", digits.trim_end_matches('0').trim_end_matches('.'))
            }
            _ => text,
        }
    } else {
        let digits = (4 - size.log10().floor() as i32).max(0) as usize;
        let text = format!("{x:.digits$}");
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    }
}
