//! Known answers that the program is held against on the user's own machine: `pliant verify`, and the menu of the same
//! name.
//!
//! A check is one entry of [`CHECKS`]: what it says, and a function that makes simulations as any caller of
//! [`crate::sim`] would, and measures them.

mod backends;
mod bars;
mod bench;
mod check;
mod contact;
mod decay;
mod derivatives;
mod finite;
mod hertz;
mod motion;
pub mod plot;
mod refinement;
mod report;
#[cfg(test)]
mod tests;
mod uniform;
mod unmeasured;

pub use check::{Check, Measure, Outcome, Place};
pub use report::{CheckReport, Report, Verdict, figure};
pub use unmeasured::Unmeasured;

use std::time::Instant;

use bench::Bench;

use crate::cancel::{CancelToken, Cancelled};
use crate::scene::{BackendChoice, unknown};
use crate::sim::{Machine, Options, SimulationError, adapter_name, settle_backend};

/// All checks, in the order in which they run and are listed.
pub const CHECKS: &[Check] = &[
    uniform::PATCH,
    uniform::UNIAXIAL,
    uniform::SHEAR,
    uniform::HYDROSTATIC,
    finite::FINITE,
    bars::CANTILEVER,
    refinement::REFINEMENT,
    bars::TORSION,
    bars::FREQUENCY,
    motion::FREE_FALL,
    motion::MOMENTUM,
    motion::ANGULAR_MOMENTUM,
    motion::ENERGY,
    decay::DECAY,
    contact::STICK_SLIP,
    hertz::HERTZ,
    derivatives::DERIVATIVES,
    backends::CPU_GPU,
];

/// How far a run is.
#[derive(Clone, Debug)]
pub enum Progress {
    /// The check with this place in the run begins.
    Begun(usize),
    /// So much of it is done.
    Done(usize, f64),
    /// It is over.
    Ended(usize, Box<CheckReport>),
}

/// Runs checks one after the other. `options` name the backend: the CPU, or the device, which `auto` takes where there
/// is a hardware adapter. After `cancel` is cancelled the rest is not run.
///
/// # Errors
/// If the device is asked for and cannot be opened.
pub fn run(
    checks: &[&'static Check],
    options: &Options,
    cancel: &CancelToken,
    mut watch: impl FnMut(Progress),
) -> Result<Report, SimulationError> {
    let (options, reason) = settle_backend(options)?;
    let adapter = adapter_name(&options).map(str::to_owned);
    let backend = if options.backend == Some(BackendChoice::Gpu) { "gpu" } else { "cpu" };
    let mut reports = vec![];
    for (k, check) in checks.iter().enumerate() {
        watch(Progress::Begun(k));
        let start = Instant::now();
        let outcome = cancel.check().map_err(Unmeasured::from).and_then(|()| {
            let mut progress = |share| watch(Progress::Done(k, share));
            let mut options = options.clone();
            if check.place == Place::Cpu {
                options.backend = Some(BackendChoice::Cpu);
            }
            (check.run)(&mut Bench { options, cancel: cancel.clone(), stiffening: 1.0, progress: &mut progress })
        });
        // What a cancelled check says went wrong is that it was stopped, wherever that was noticed.
        let outcome = outcome.map_err(|error| if cancel.is_cancelled() { Cancelled.into() } else { error });
        let report = CheckReport::new(check, backend, outcome, start.elapsed().as_secs_f64());
        watch(Progress::Ended(k, Box::new(report.clone())));
        reports.push(report);
    }
    Ok(Report::new(Machine::examine(), (backend, adapter, reason), reports))
}

/// The checks of some names, in the order of the list; all for none.
///
/// # Errors
/// A sentence, if there is no check of a name.
pub fn select(names: &[String]) -> Result<Vec<&'static Check>, String> {
    if let Some(name) = names.iter().find(|name| CHECKS.iter().all(|check| check.name != **name)) {
        return Err(unknown(&format!("there is no check \"{name}\""), name, CHECKS.iter().map(|check| check.name)).to_string());
    }
    Ok(CHECKS.iter().filter(|check| names.is_empty() || names.iter().any(|name| name == check.name)).collect())
}

/// `docs/verify.md`: all checks in words.
pub fn reference() -> String {
    let mut text = "# Known answers\n\n\
        Made from the list in `src/verify`; a test keeps it up to date. `pliant verify` and the menu Verify of the window run\n\
        these checks on your machine, from the public side of the simulation, and show each number beside the one that it\n\
        should be, with a picture. `--only NAME` picks some, `--backend gpu` runs those that do not say otherwise on the\n\
        graphics card, `--json FILE` and `--pictures DIR` keep what a bug report needs.\n"
        .to_owned();
    for Check { name, title, meaning, setup, source, place, .. } in CHECKS {
        text += &format!("\n## {title} (`{name}`)\n\n{meaning}\n\n- Experiment: {setup}.\n- Expected from: {source}.\n");
        text += match place {
            Place::Chosen => "",
            Place::Cpu => "- Runs on the processor, whatever backend is chosen.\n",
            Place::Both => "- Runs on the processor and on the graphics card.\n",
        };
    }
    text
}
