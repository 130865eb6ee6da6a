//! `pliant bench`: how fast this machine is. Records are one JSON array; fields that do not apply are null.

mod contact;

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, Subcommand};
use serde::Serialize;

use super::output::{OutputFile, check_writable};
use super::{Failure, Place};
use crate::scene::{Scene, build};
use crate::sim::{Options, Simulation};

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct BenchArgs {
    #[command(subcommand)]
    command: Option<BenchCommand>,
    /// Which ones [default: all]: step
    #[arg(value_name = "NAME", value_parser = ["step"])]
    names: Vec<String>,
    /// Write the records (JSON)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
    /// Cells along the longest side of the body
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u32).range(8..=128))]
    size: u32,
}

#[derive(Subcommand)]
enum BenchCommand {
    /// Compare the solvers for contact on a scene
    Contact(contact::ContactArgs),
}

#[derive(Debug, Serialize)]
struct Record {
    bench: &'static str,
    case: String,
    solver: &'static str,
    backend: &'static str,
    adapter: Option<String>,
    precision: &'static str,
    threads: usize,
    size: Size,
    ms: Milliseconds,
    bytes: Option<u64>,
    gb_per_s: Option<f64>,
    limit_gb_per_s: Option<f64>,
    fraction: Option<f64>,
    dispatches: Option<u64>,
    iterations: Option<f64>,
    steps_per_s: Option<f64>,
    note: Option<String>,
    contact: Option<contact::Figures>,
}

#[derive(Debug, Serialize)]
struct Size {
    nodes: usize,
    tets: usize,
    blocks: usize,
    constraints: u32,
}

#[derive(Debug, Serialize)]
struct Milliseconds {
    median: f64,
    min: f64,
    max: f64,
}

const WARM_UP: usize = 5;
const MEASURED: usize = 30;

pub fn bench(args: &BenchArgs) -> Result<(), Failure> {
    if let Some(BenchCommand::Contact(args)) = &args.command {
        return contact::bench(args);
    }
    args.json.as_deref().map(check_writable).transpose()?;
    // `names` holds nothing but "step" today.
    let records = [falling(args)?, resting(args)?];
    for record in &records {
        println!(
            "{} {}: {:.2} ms median ({:.2} to {:.2}), {:.1} iterations, {} tets, on {}",
            record.bench,
            record.case,
            record.ms.median,
            record.ms.min,
            record.ms.max,
            record.iterations.unwrap_or(0.0),
            record.size.tets,
            record.adapter.as_deref().unwrap_or(record.backend)
        );
    }
    args.json.as_deref().map_or(Ok(()), |path| write(path, &records))
}

fn write(path: &Path, records: &[Record]) -> Result<(), Failure> {
    let mut json = OutputFile::create(path)?;
    let text = serde_json::to_string_pretty(records).map_err(|error| Failure::Run(error.to_string()))?;
    json.write_line(&text)?;
    json.finish()
}

/// Elasticity alone.
fn falling(args: &BenchArgs) -> Result<Record, Failure> {
    step("bunny falling", "body.bunny.position=[0,50,0]", args)
}

/// Elasticity and contact: the bunny lies on the floor from the start.
fn resting(args: &BenchArgs) -> Result<Record, Failure> {
    step("bunny resting", "body.bunny.position=[0,0.0001,0]", args)
}

fn step(case: &str, place: &str, args: &BenchArgs) -> Result<Record, Failure> {
    let flags = [place.to_owned(), format!("body.bunny.resolution={}", args.size)];
    let built = build(&Scene::load("bunny", &flags)?)?;
    let options = Options { backend: args.place.backend(), adapter: args.place.adapter.clone(), ..Options::default() };
    let mut simulation = Simulation::new(built, &options)?;
    let (mut ms, mut iterations, mut constraints) = (vec![], 0.0, 0);
    for i in 0..WARM_UP + MEASURED {
        let start = Instant::now();
        let report = simulation.step().map_err(|error| Failure::Run(error.to_string()))?;
        if i >= WARM_UP {
            ms.push(start.elapsed().as_secs_f64() * 1e3);
            iterations += f64::from(report.iterations) / MEASURED as f64;
            constraints = constraints.max(3 * report.contact.contacts);
        }
    }
    ms.sort_by(f64::total_cmp);
    let (model, backend) = (simulation.model(), simulation.backend());
    let median = ms[ms.len() / 2];
    Ok(Record {
        bench: "step",
        case: case.to_owned(),
        solver: backend.solver,
        backend: backend.backend,
        adapter: backend.adapter.clone(),
        precision: if backend.backend == "gpu" { "f32" } else { "f64" },
        threads: backend.threads,
        size: Size { nodes: model.n_nodes(), tets: model.tets.len(), blocks: model.pattern.n_blocks(), constraints },
        ms: Milliseconds { median, min: ms[0], max: ms[ms.len() - 1] },
        bytes: None,
        gb_per_s: None,
        limit_gb_per_s: None,
        fraction: None,
        dispatches: None,
        iterations: Some(iterations),
        steps_per_s: Some(1e3 / median),
        note: Some(backend.reason.clone()),
        contact: None,
    })
}
