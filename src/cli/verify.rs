//! `pliant verify`: known answers, measured on this machine.

mod picture;

use std::path::PathBuf;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::{ComputeArgs, Failure, interrupt};
use crate::output::{OutputFile, check_writable, create_folder};
use crate::record::save_png;
use crate::sim::Options;
use crate::verify::{self, CheckReport, Progress, Verdict};

#[derive(Args)]
#[command(after_help = "Examples:\n  \
                  pliant verify                              all checks, some minutes\n  \
                  pliant verify --list\n  \
                  pliant verify --only hertz --pictures out   one check, with its picture")]
pub struct VerifyArgs {
    /// Run this check only; may be repeated [default: all]
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Name the checks and what they mean, and run none
    #[arg(long, conflicts_with_all = ["only", "json", "pictures"])]
    list: bool,
    /// Write the report with all numbers and curves as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a picture (PNG) of each check into a folder
    #[arg(long, value_name = "DIR")]
    pictures: Option<PathBuf>,
    /// Threads of the CPU backend [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
    #[command(flatten)]
    place: ComputeArgs,
}

pub fn verify(args: &VerifyArgs) -> Result<(), Failure> {
    let checks = verify::select(&args.only).map_err(Failure::Input)?;
    if args.list {
        for check in checks {
            say!("{:<18} {}", check.name, check.meaning);
        }
        return Ok(());
    }
    if let Some(file) = &args.json {
        check_writable(file)?;
    }
    if let Some(folder) = &args.pictures {
        create_folder(folder)?;
    }
    let options = Options {
        backend: args.place.backend(),
        adapter: args.place.adapter.clone(),
        threads: args.threads.map(|n| n as usize),
        ..Options::default()
    };
    let cancel = interrupt::token();
    // In thousandths of a check.
    let style = ProgressStyle::with_template("{bar:40} {msg}, {elapsed}").unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(1000 * checks.len() as u64).with_style(style);
    let report = verify::run(&checks, &options, &cancel, |progress| match progress {
        Progress::Begun(k) => bar.set_message(checks[k].title),
        Progress::Done(k, share) => bar.set_position((1000.0 * (k as f64 + share)) as u64),
        Progress::Ended(k, _) => bar.set_position(1000 * (k as u64 + 1)),
    })?;
    bar.finish_and_clear();
    say!("{}", report.text().trim_end());
    if let Some(file) = &args.json {
        OutputFile::save(file, report.json().map_err(|error| Failure::Run(error.to_string()))?.as_bytes())?;
    }
    if let Some(folder) = &args.pictures {
        for check in report.checks.iter().filter(|check| !check.plot.curves.is_empty()) {
            let path = folder.join(format!("{}.png", check.name));
            save_png(&path, &picture::picture(check)).map_err(|error| Failure::Run(error.to_string()))?;
        }
    }
    let names =
        |wanted: fn(&&CheckReport) -> bool| report.checks.iter().filter(wanted).map(|check| check.name).collect::<Vec<_>>().join(", ");
    if cancel.is_cancelled() {
        return Err(Failure::Run("the checks were cancelled before all of them had run".into()));
    }
    if report.failed > 0 {
        return Err(Failure::Run(format!("checks failed: {}", names(|check| check.verdict == Verdict::Failed))));
    }
    Ok(())
}
