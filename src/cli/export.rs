//! `pliant export`: results from a recording, without simulating again.

use std::path::PathBuf;

use clap::Args;

use super::results::{ResultArgs, Results};
use super::run::progress;
use super::{Failure, interrupt};
use crate::export::{Recording, RecordingError};

#[derive(Args)]
#[command(after_help = "Examples:\n  \
                  pliant export run.pliant --out film.mp4 --size 1920x1080\n  \
                  pliant export run.pliant --out bodies.glb --out fields.pvd --fps 60   also between recorded frames")]
pub struct ExportArgs {
    /// Recording that `pliant run SCENE --out NAME.pliant` wrote
    recording: PathBuf,
    #[command(flatten)]
    results: ResultArgs,
    /// Graphics adapter to draw with, whose name contains this (see `pliant info`)
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,
}

pub fn export(args: &ExportArgs) -> Result<(), Failure> {
    let mut recording = Recording::open(&args.recording)?;
    let subject = recording.subject.clone();
    tell!("{}: {} frames, {} a second of simulated time", subject.name, recording.len(), subject.frames_per_second);
    if recording.is_cut_off() {
        tell!("the recording ends in the middle of a frame, as when a run was stopped; what comes before is used");
    }
    if args.results.out.is_empty() && args.results.record.is_none() {
        return Err(Failure::Input("nothing to write: name at least one file with --out (see `pliant help export`)".into()));
    }
    let seconds = match recording.len() {
        0 => 0.0,
        n => recording.frame(n - 1)?.time - recording.frame(0)?.time,
    };
    let mut results = Results::open(&args.results, subject, seconds, args.adapter.as_deref())?;
    let (bar, cancel) = (progress(recording.len() as u64, "frames"), interrupt::token());
    let taken = (0..recording.len()).try_for_each(|k| {
        let interrupted = |_| Failure::Run(format!("interrupted after {k} of {} frames; all files end there", recording.len()));
        cancel.check().map_err(interrupted)?;
        results.take_frame(recording.frame(k)?)?;
        bar.inc(1);
        Ok(())
    });
    let finished = results.finish(&cancel);
    taken.and(finished)
}

impl From<RecordingError> for Failure {
    fn from(error: RecordingError) -> Self {
        Self::Input(error.to_string())
    }
}
