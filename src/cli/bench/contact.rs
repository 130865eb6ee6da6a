//! `pliant bench contact`: the solvers for contact on the same rows of one scene, each from the same start.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use super::{Failure, Milliseconds, Record, Size, check_writable, write};
use crate::lab;
use crate::model::ContactMethod;
use crate::scene::{BackendChoice, Scene, build};
use crate::sim::{Options, ResumedParams, Simulation, Tally};
use crate::step::StepReport;

#[derive(Args)]
pub struct ContactArgs {
    /// Scene file, or name of a scene of the gallery
    scene: String,
    /// Steps for each solver
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    steps: u32,
    /// Which ones, with commas [default: all]: cwc, cr, cr-diag, cr-none, cr-turn, ica, sp, pgs, ssn
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = ContactMethod::ALL.map(|(name, _)| name))]
    solver: Vec<String>,
    /// No new step of a solver after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
    /// Start from a state that `pliant run --save` wrote
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Change a value of the scene; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Write the records (JSON)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Figures of the steps with contacts.
#[derive(Debug, Default, Serialize)]
pub struct Figures {
    steps: u32,
    steps_with_contacts: u32,
    unconverged_steps: u64,
    /// Failed steps that were halved.
    rollbacks: u64,
    /// Figures of the steps with contacts.
    iterations_mean: f64,
    iterations_max: u32,
    passes_mean: f64,
    restarts_mean: f64,
    relinearisations_mean: f64,
    /// Means over the steps with contacts.
    ms_solve: f64,
    ms_detection: f64,
    ms_total: f64,
    contacts_max: u32,
    /// [m]
    max_penetration: f64,
    /// Fischer-Burmeister [m].
    max_complementarity_error: f64,
    /// [N]
    max_cone_violation: f64,
    /// Why the run ended before its last step.
    stopped: Option<String>,
}

pub fn bench(args: &ContactArgs) -> Result<(), Failure> {
    args.json.as_deref().map(check_writable).transpose()?;
    let solvers: Vec<&str> = match args.solver.as_slice() {
        [] => ContactMethod::ALL.iter().filter(|(_, choice)| *choice != ContactMethod::Auto).map(|(name, _)| *name).collect(),
        some => some.iter().map(String::as_str).collect(),
    };
    say!(
        "{:8} {:>6} {:>9} {:>6} {:>7} {:>8} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7} {:>8}",
        "solver",
        "steps",
        "its mean",
        "max",
        "passes",
        "restarts",
        "relin",
        "solve ms",
        "detect",
        "total",
        "depth m",
        "FB m",
        "cone N",
        "failed",
        "contacts"
    );
    let mut records = vec![];
    for solver in solvers {
        let record = run(args, solver)?;
        if let Some(f) = &record.contact {
            say!(
                "{:8} {:>6} {:>9.1} {:>6} {:>7.1} {:>8.1} {:>6.1} {:>9.2} {:>9.2} {:>9.2} {:>9.1e} {:>9.1e} {:>9.1e} {:>7} {:>8}",
                record.solver,
                f.steps,
                f.iterations_mean,
                f.iterations_max,
                f.passes_mean,
                f.restarts_mean,
                f.relinearisations_mean,
                f.ms_solve,
                f.ms_detection,
                f.ms_total,
                f.max_penetration,
                f.max_complementarity_error,
                f.max_cone_violation,
                f.unconverged_steps,
                f.contacts_max
            );
            f.stopped.iter().for_each(|reason| say!("{:8} stopped: {reason}", record.solver));
        }
        records.push(record);
    }
    say!(
        "iterations, passes, restarts, relinearisations and times are means over the steps with contacts; failed: steps that did not converge"
    );
    args.json.as_deref().map_or(Ok(()), |path| write(path, &records))
}

fn run(args: &ContactArgs, solver: &str) -> Result<Record, Failure> {
    let mut simulation = open(args, solver)?;
    let mut figures = Figures::default();
    let mut ms = vec![];
    let start = Instant::now();
    for _ in 0..args.steps {
        if start.elapsed().as_secs() >= u64::from(args.limit) {
            figures.stopped = Some(format!("{} s are over", args.limit));
            break;
        }
        match simulation.step() {
            Ok(report) => {
                let total = simulation.tally().records.last().map_or(0.0, |record| record.ms);
                ms.push(total);
                figures.add(&report, total);
            }
            Err(error) => {
                figures.stopped = Some(error.to_string());
                break;
            }
        }
    }
    figures.finish(simulation.tally());
    Ok(record(&simulation, figures, Milliseconds::of(ms)))
}

fn open(args: &ContactArgs, solver: &str) -> Result<Simulation, Failure> {
    let mut flags = args.set.clone();
    flags.push(format!("simulation.solver={solver}"));
    let built = build(&Scene::load(&args.scene, &flags)?)?;
    let options = Options {
        backend: Some(BackendChoice::Cpu),
        threads: args.threads.map(|n| n as usize),
        methods: Some(lab::methods::row_solver),
        // All methods are judged by what they leave.
        accept_unconverged: true,
        ..Options::default()
    };
    let mut simulation = Simulation::new(built, &options)?;
    simulation.set_measuring(true);
    if let Some(path) = &args.resume {
        // Each method has its own.
        simulation.resume_with(path, ResumedParams::Present)?;
    }
    Ok(simulation)
}

impl Figures {
    /// Adds a step that took `total` [ms].
    fn add(&mut self, report: &StepReport, total: f64) {
        self.steps += 1;
        if report.contact.contacts == 0 {
            return;
        }
        self.steps_with_contacts += 1;
        self.iterations_mean += f64::from(report.iterations);
        self.iterations_max = self.iterations_max.max(report.iterations);
        self.passes_mean += f64::from(report.passes);
        self.restarts_mean += f64::from(report.restarts);
        self.relinearisations_mean += f64::from(report.relinearisations);
        self.ms_solve += report.stages.of("contact solve") + report.stages.of("elastic solve");
        self.ms_detection += report.stages.of("detection");
        self.ms_total += total;
        self.contacts_max = self.contacts_max.max(report.contact.contacts);
    }

    /// Makes means of the sums, and takes what the tally knows.
    fn finish(&mut self, tally: &Tally) {
        let steps = f64::from(self.steps_with_contacts.max(1));
        for sum in [
            &mut self.iterations_mean,
            &mut self.passes_mean,
            &mut self.restarts_mean,
            &mut self.relinearisations_mean,
            &mut self.ms_solve,
            &mut self.ms_detection,
            &mut self.ms_total,
        ] {
            *sum /= steps;
        }
        self.unconverged_steps = tally.unconverged_steps;
        self.rollbacks = tally.rollbacks;
        self.max_penetration = tally.max_penetration.unwrap_or(0.0);
        self.max_complementarity_error = tally.max_complementarity_error;
        self.max_cone_violation = tally.max_cone_violation;
    }
}

fn record(simulation: &Simulation, figures: Figures, ms: Milliseconds) -> Record {
    let (model, backend) = (simulation.model(), simulation.backend());
    Record {
        bench: "contact",
        case: simulation.name().to_owned(),
        solver: backend.solver,
        backend: backend.backend,
        precision: "f64",
        threads: backend.threads,
        size: Size {
            nodes: model.n_nodes(),
            tets: model.tets.len(),
            blocks: model.pattern.n_blocks(),
            constraints: 3 * figures.contacts_max,
            ..Size::default()
        },
        iterations: Some(figures.iterations_mean),
        steps_per_s: (ms.median > 0.0).then(|| 1e3 / ms.median),
        ms,
        contact: Some(figures),
        ..Record::default()
    }
}
