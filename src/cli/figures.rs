//! The figures of a run, trace and report, as they grow: whatever ends the program, they stand as of a whole step.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::Failure;
use crate::output::{OutputFile, check_writable};
use crate::sim::Simulation;
use crate::sim::report::Report;

/// The report is written after a step once this many times as long has passed as the last writing took: it costs a
/// twentieth of the run.
const PATIENCE: u32 = 20;
/// It is never older than this and one step.
const OLDEST: Duration = Duration::from_secs(1);

/// Trace and report of a run, where they are asked for.
pub struct Figures {
    /// Under its own name from the start; each step adds its row.
    trace: Option<OutputFile>,
    /// Written anew each time, beside its place.
    report: Option<PathBuf>,
    /// Wall time from the scene file to the first step.
    build_ms: f64,
    written: Instant,
    took: Duration,
}

impl Figures {
    /// Refuses places that cannot be written.
    pub fn open(trace: Option<&Path>, report: Option<&Path>) -> Result<Self, Failure> {
        let trace = trace.map(OutputFile::create).transpose()?;
        report.map(check_writable).transpose()?;
        Ok(Self { trace, report: report.map(Path::to_owned), build_ms: 0.0, written: Instant::now(), took: Duration::ZERO })
    }

    /// Whether the penetration is asked for.
    pub fn measures(&self) -> bool {
        self.trace.is_some() || self.report.is_some()
    }

    /// Takes the place of older files before the first step.
    pub fn begin(&mut self, simulation: &mut Simulation, build_ms: f64) -> Result<(), Failure> {
        self.build_ms = build_ms;
        if let Some(trace) = &mut self.trace {
            trace.write_line(&simulation.trace_header())?;
            trace.appear()?;
        }
        self.write_report(simulation)
    }

    /// Takes the step that was done.
    pub fn take(&mut self, simulation: &mut Simulation) -> Result<(), Failure> {
        if let Some(trace) = &mut self.trace {
            trace.write_line(&simulation.trace_row()?)?;
            trace.mark()?;
        }
        if self.written.elapsed() >= (self.took * PATIENCE).min(OLDEST) { self.write_report(simulation) } else { Ok(()) }
    }

    /// Completes the files, and hands out the report. `is_finished`: all that was asked for was done.
    pub fn finish(self, simulation: &mut Simulation, is_finished: bool) -> Result<Report, Failure> {
        let report = Report { finished: is_finished, ..simulation.report(self.build_ms)? };
        let traced = self.trace.map_or(Ok(()), OutputFile::finish);
        if let Some(path) = &self.report {
            OutputFile::save(path, text(&report)?.as_bytes())?;
        }
        traced?;
        Ok(report)
    }

    /// Writes the report so far, not to the disk at once: a killed program leaves that to the system.
    fn write_report(&mut self, simulation: &mut Simulation) -> Result<(), Failure> {
        let Some(path) = &self.report else { return Ok(()) };
        let start = Instant::now();
        let mut file = OutputFile::create(path)?;
        file.put(text(&simulation.report(self.build_ms)?)?.as_bytes())?;
        file.appear()?;
        (self.written, self.took) = (Instant::now(), start.elapsed());
        Ok(())
    }
}

fn text(report: &Report) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(report).map_err(|error| Failure::Run(error.to_string()))?;
    Ok(text + "\n")
}
