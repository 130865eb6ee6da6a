//! `pliant bench`: how fast this machine is. Records are one JSON array; fields that do not apply are null.

mod cg;
mod contact;
mod copy;
mod device;
mod matrices;
mod measure;
mod model;
mod spmv;
mod step;
mod update;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::Serialize;

use super::output::{OutputFile, check_writable};
use super::{Failure, Place};
use crate::gpu::{Device, DeviceRequest};
use crate::scene::BackendChoice;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct BenchArgs {
    #[command(subcommand)]
    command: Option<BenchCommand>,
    #[command(flatten)]
    step: step::StepArgs,
}

#[derive(Subcommand)]
enum BenchCommand {
    /// Whole steps of scenes, with the share of every stage; what bare `pliant bench` does
    Step(step::StepArgs),
    /// The bandwidth of the memory: what the other figures are held against
    Copy(MachineArgs),
    /// Products of a sparse matrix with a vector, in every storage
    Spmv(spmv::SpmvArgs),
    /// Jacobi conjugate gradients, an iteration
    Cg(cg::CgArgs),
    /// The element pass: rotations, stresses, corner forces
    Rotation(update::UpdateArgs),
    /// The whole matrix update: element pass and gather
    Update(update::UpdateArgs),
    /// Fit the performance model to this machine, and compare what it predicts with what is measured
    Model(model::ModelArgs),
    /// Compare the solvers for contact on a scene
    Contact(contact::ContactArgs),
}

/// Where and how to measure.
#[derive(Args, Clone, Default)]
struct MachineArgs {
    #[command(flatten)]
    place: Place,
    /// Threads of the CPU; the device takes none [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
    /// Write the records (JSON)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl MachineArgs {
    /// Looks at once whether the records can be written.
    fn check(&self) -> Result<(), Failure> {
        self.json.as_deref().map(check_writable).transpose().map(|_| ())
    }

    /// The device, if `--backend gpu` asks for one; single kernels are measured on the CPU else.
    fn device(&self) -> Result<Option<std::sync::Arc<Device>>, Failure> {
        if self.place.backend() != Some(BackendChoice::Gpu) {
            return Ok(None);
        }
        let request = DeviceRequest { adapter: self.place.adapter.clone(), ..DeviceRequest::default() };
        Device::open(&request).map(Some).map_err(|error| Failure::Run(error.to_string()))
    }

    /// Refuses a device for what only the CPU has.
    fn cpu_only(&self, what: &str) -> Result<(), Failure> {
        match self.place.backend() {
            Some(BackendChoice::Gpu) => Err(Failure::Input(format!("bench {what} measures the CPU; leave out --backend gpu"))),
            _ => Ok(()),
        }
    }

    fn pool(&self) -> Result<rayon::ThreadPool, Failure> {
        let threads = self.threads.map_or(0, |n| n as usize);
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|error| Failure::Run(error.to_string()))
    }

    fn write(&self, records: &[Record]) -> Result<(), Failure> {
        self.json.as_deref().map_or(Ok(()), |path| write(path, records))
    }
}

/// One measurement.
#[derive(Debug, Default, Serialize)]
struct Record {
    bench: &'static str,
    case: String,
    /// Method or storage.
    solver: &'static str,
    backend: &'static str,
    adapter: Option<String>,
    precision: &'static str,
    threads: usize,
    size: Size,
    ms: Milliseconds,
    /// Least bytes that are moved, each array once.
    bytes: Option<u64>,
    /// Of the fastest repetition.
    gb_per_s: Option<f64>,
    /// The better of copy and triad in the same run; what is read and what is written count once each.
    limit_gb_per_s: Option<f64>,
    fraction: Option<f64>,
    /// Part of the stored entries that are not explicit zeros.
    density: Option<f64>,
    /// Of an iteration on the device.
    dispatches: Option<f64>,
    iterations: Option<f64>,
    steps_per_s: Option<f64>,
    /// Share of every stage of a step, in its order.
    stages: Option<Vec<Stage>>,
    note: Option<String>,
    contact: Option<contact::Figures>,
    model: Option<model::Prediction>,
}

#[derive(Clone, Debug, Default, Serialize)]
struct Size {
    nodes: usize,
    tets: usize,
    /// 3x3 blocks of the mesh's matrix.
    blocks: usize,
    rows: usize,
    entries: usize,
    constraints: u32,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Milliseconds {
    median: f64,
    min: f64,
    max: f64,
    repetitions: usize,
}

#[derive(Clone, Debug, Serialize)]
struct Stage {
    stage: &'static str,
    /// Mean over the steps.
    ms: f64,
    /// Part of the step.
    share: f64,
}

impl Record {
    /// With `bytes` a repetition held against `limit` [GB/s]; the fastest repetition counts, as it does for the limit: others may have shared the memory.
    fn of_bytes(mut self, bytes: u64, limit: f64) -> Self {
        let speed = measure::gb_per_s(bytes, self.ms.min);
        self.bytes = Some(bytes);
        self.gb_per_s = Some(speed);
        self.limit_gb_per_s = Some(limit);
        self.fraction = Some(speed / limit);
        self
    }

    /// A line of the table that `print_head` begins.
    fn print(&self) {
        let number = |value: Option<f64>, digits: usize| value.map_or("-".into(), |value| format!("{value:.digits$}"));
        say!(
            "{:30} {:22} {:4} {:>3} {:>11.4} {:>11.4} {:>11.4} {:>9} {:>9}",
            self.case,
            self.solver,
            self.precision,
            self.threads,
            self.ms.median,
            self.ms.min,
            self.ms.max,
            number(self.gb_per_s, 2),
            number(self.fraction, 3)
        );
    }
}

fn print_head() {
    say!(
        "{:30} {:22} {:4} {:>3} {:>11} {:>11} {:>11} {:>9} {:>9}",
        "case",
        "what",
        "",
        "thr",
        "ms median",
        "min",
        "max",
        "GB/s",
        "of limit"
    );
}

pub fn bench(args: &BenchArgs) -> Result<(), Failure> {
    match &args.command {
        None => step::bench(&args.step),
        Some(BenchCommand::Step(args)) => step::bench(args),
        Some(BenchCommand::Copy(args)) => copy::bench(args),
        Some(BenchCommand::Spmv(args)) => spmv::bench(args),
        Some(BenchCommand::Cg(args)) => cg::bench(args),
        Some(BenchCommand::Rotation(args)) => update::bench(args, update::Work::Rotation),
        Some(BenchCommand::Update(args)) => update::bench(args, update::Work::Update),
        Some(BenchCommand::Model(args)) => model::bench(args),
        Some(BenchCommand::Contact(args)) => contact::bench(args),
    }
}

fn write(path: &Path, records: &[Record]) -> Result<(), Failure> {
    let mut json = OutputFile::create(path)?;
    let text = serde_json::to_string_pretty(records).map_err(|error| Failure::Run(error.to_string()))?;
    json.write_line(&text)?;
    json.finish()
}
