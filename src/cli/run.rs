//! `pliant run`: a scene without a window.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::results::{ResultArgs, Results};
use super::{ComputeArgs, Failure};
use crate::export::Subject;
use crate::model::ContactMethod;
use crate::output::{OutputFile, check_writable};
use crate::scene::{Scene, build};
use crate::sim::{Health, Options, Simulation};

#[derive(Args)]
pub struct RunArgs {
    /// Scene file, mesh file, or name of a scene of the gallery
    #[arg(required_unless_present = "drop")]
    scene: Option<String>,
    /// Drop a mesh onto a floor with default settings, and say whether it stays intact [default: for 2 s]
    #[arg(long, value_name = "FILE", conflicts_with = "scene")]
    drop: Option<PathBuf>,
    #[command(flatten)]
    length: Length,
    /// Time step [s] instead of the scene's
    #[arg(long, value_name = "SECONDS", value_parser = parse_time_step)]
    dt: Option<f64>,
    #[command(flatten)]
    place: ComputeArgs,
    /// Solver instead of the scene's
    #[arg(long, value_name = "NAME", value_parser = ContactMethod::ALL.map(|(name, _)| name))]
    solver: Option<String>,
    /// Threads of the CPU backend [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
    /// Change a value of the scene, for instance body.bar.shape.cells=[40,8,8]; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Write a report (JSON)
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write a row of numbers for each step (CSV)
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    #[command(flatten)]
    results: ResultArgs,
    /// Write the state at the end
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Start from a state that --save wrote; --steps and --seconds count from there
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
}

#[derive(Args)]
#[group(multiple = false)]
struct Length {
    /// How many steps to compute
    #[arg(long, value_name = "N", required_unless_present_any = ["seconds", "drop"])]
    steps: Option<u64>,
    /// How long a time to compute, in simulated seconds
    #[arg(long, value_name = "T", value_parser = parse_duration)]
    seconds: Option<f64>,
}

/// How long a mesh falls and lies when nothing else is said.
const DROP_SECONDS: f64 = 2.0;

pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let start = Instant::now();
    let built = build(&scene(args)?)?;
    let steps = match (args.length.steps, args.length.seconds) {
        (Some(steps), _) => steps,
        // A hair less, so that 1 s of 0.01 s steps is 100 of them whatever the rounding.
        (None, seconds) => (seconds.unwrap_or(DROP_SECONDS) / built.params.time_step - 1e-6).ceil().max(0.0) as u64,
    };

    // Whatever cannot be written is known before the work begins.
    let mut trace = args.trace.as_deref().map(OutputFile::create).transpose()?;
    for path in args.report.iter().chain(&args.save) {
        check_writable(path)?;
    }
    let mut options = Options {
        methods: Some(crate::lab::methods::row_solver),
        backend: args.place.backend(),
        adapter: args.place.adapter.clone(),
        threads: args.threads.map(|n| n as usize),
        ..Options::default()
    };
    let notes = built.notes.clone();
    let subject = Subject {
        name: built.name.clone(),
        model: built.model.clone(),
        frames_per_second: built.recording.fps,
        n_frames: 0,
        camera: built.camera,
        light: built.light,
        size: built.recording.size,
    };
    let seconds = steps as f64 * built.params.time_step;
    let mut results = Results::open(&args.results, subject, seconds, args.place.adapter.as_deref())?;
    options.device = results.device();
    let mut simulation = Simulation::new(built, &options)?;
    simulation.set_measuring(args.report.is_some() || trace.is_some());
    if let Some(path) = &args.resume {
        simulation.resume(path)?;
    }
    let build_ms = start.elapsed().as_secs_f64() * 1e3;
    describe(&simulation);
    for note in notes {
        eprintln!("note: {note}");
    }

    if let Some(trace) = &mut trace {
        trace.write_line(&simulation.trace_header())?;
    }
    let computed = compute(&mut simulation, steps, trace.as_mut(), &mut results);
    // Results up to a failure are kept.
    let finished = results.finish();
    computed.and(finished)?;
    if let Some(trace) = trace {
        trace.finish()?;
    }
    conclude(args, &mut simulation, steps, build_ms)
}

fn compute(simulation: &mut Simulation, steps: u64, mut trace: Option<&mut OutputFile>, results: &mut Results) -> Result<(), Failure> {
    let bar = progress(steps, "steps");
    let mut compute = || -> Result<(), Failure> {
        results.take(simulation)?;
        for _ in 0..steps {
            simulation.step()?;
            if let Some(trace) = &mut trace {
                trace.write_line(&simulation.trace_row()?)?;
            }
            results.take(simulation)?;
            bar.inc(1);
        }
        Ok(())
    };
    let computed = compute();
    bar.finish_and_clear();
    computed
}

/// Writes the state and the report, and prints the figures.
fn conclude(args: &RunArgs, simulation: &mut Simulation, steps: u64, build_ms: f64) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::Run(error.to_string());
    let summary = simulation.report(build_ms).map_err(|error| failed(&error))?;
    if let Some(path) = &args.save {
        simulation.save(path).map_err(|error| failed(&error))?;
    }
    if let Some(path) = &args.report {
        let mut report = OutputFile::create(path)?;
        report.write_line(&serde_json::to_string_pretty(&summary).map_err(|error| failed(&error))?)?;
        report.finish()?;
    }
    let ms = summary.timing.ms_per_step.map_or(0.0, |ms| ms.mean);
    say!(
        "{} steps of {} s to time {:.4} s; {ms:.2} ms a step, {:.2} times real time; {:.1} iterations a step, {} steps did not converge",
        steps,
        summary.dt,
        summary.time,
        summary.timing.real_time_factor.unwrap_or(0.0),
        summary.solver.iterations.mean,
        summary.solver.unconverged_steps
    );
    say!("contact by {}: {}", summary.method.name, summary.method.reason);
    say!("state hash {}", summary.state_hash);
    if args.drop.is_some() { verdict(simulation) } else { Ok(()) }
}

/// The scene with all changes that the command line asks for.
fn scene(args: &RunArgs) -> Result<Scene, Failure> {
    if args.place.backend.as_deref() == Some("cpu") && args.place.adapter.is_some() && !args.results.draws() {
        return Err(Failure::Input("--adapter names a graphics adapter, and --backend cpu uses none; remove one of the two".into()));
    }
    let mut flags = args.set.clone();
    // Checked by the same ranges as in the file, after all --set.
    flags.extend(args.dt.map(|dt| format!("simulation.time_step={dt:?}")));
    flags.extend(args.solver.iter().map(|name| format!("simulation.solver={name}")));
    debug_assert!(args.solver.as_deref().is_none_or(|name| ContactMethod::from_name(name).is_some()));
    match (&args.scene, &args.drop) {
        (_, Some(mesh)) => Ok(Scene::from_mesh_with(mesh, &flags)?),
        (Some(scene), None) => Ok(Scene::load(scene, &flags)?),
        (None, None) => Err(Failure::Input("name a scene, or a mesh to --drop".into())),
    }
}

/// Says how the dropped body lies; one that has burst, collapsed or left is a failure.
fn verdict(simulation: &mut Simulation) -> Result<(), Failure> {
    let positions = simulation.node_positions().map_err(|error| Failure::Run(error.to_string()))?;
    let health = Health::of(simulation.model(), &positions);
    let text = format!(
        "volume {:.1} % and longest side {:.1} % of those at rest, {:.2} % of the tets inverted, lowest point at {:.2} mm",
        100.0 * health.volume,
        100.0 * health.longest,
        100.0 * health.inverted,
        1e3 * health.lowest
    );
    if !health.is_intact() {
        return Err(Failure::Run(format!("the body did not stay intact: {text}")));
    }
    say!("intact: {text}");
    Ok(())
}

fn describe(simulation: &Simulation) {
    let (model, backend) = (simulation.model(), simulation.backend());
    let free = model.rigid_bodies.iter().filter(|body| body.is_free()).count();
    eprintln!(
        "{}: {} deformable bodies, {} tets, {} nodes, {} surface triangles; {} rigid bodies; {} static or driven bodies",
        simulation.name(),
        model.bodies.len(),
        model.tets.len(),
        model.n_nodes(),
        model.surface.triangles.len(),
        free,
        model.rigid_bodies.len() - free + model.obstacles.len()
    );
    let place = match &backend.adapter {
        Some(adapter) => format!("{} ({adapter})", backend.backend),
        None => format!("{} ({} threads)", backend.backend, backend.threads),
    };
    eprintln!("backend {place}: {}; solver {}", backend.reason, backend.solver);
}

/// Shown when stderr is a terminal.
pub fn progress(n: u64, what: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(&format!("{{bar:40}} {{pos}}/{{len}} {what}, {{per_sec}}, {{eta}} left"));
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(n).with_style(style)
}

fn parse_time_step(text: &str) -> Result<f64, String> {
    number(text, "a time step above 0 and up to 1 s", |x| x > 0.0 && x <= 1.0)
}

fn parse_duration(text: &str) -> Result<f64, String> {
    number(text, "a number of seconds from 0 to 1e6", |x| (0.0..=1e6).contains(&x))
}

fn number(text: &str, wanted: &str, accept: impl Fn(f64) -> bool) -> Result<f64, String> {
    text.parse().ok().filter(|x| accept(*x)).ok_or_else(|| format!("expected {wanted}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(parse_time_step("5e-3"), Ok(0.005));
        for wrong in ["0", "-1", "nan", "inf", "2", "x"] {
            assert!(parse_time_step(wrong).is_err(), "{wrong}");
        }
    }
}
