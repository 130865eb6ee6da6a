//! `pliant run`: a scene without a window.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

use super::figures::Figures;
use super::results::{ResultArgs, Results};
use super::{ComputeArgs, Failure, interrupt, voice};
use crate::cancel::CancelToken;
use crate::export::Subject;
use crate::model::ContactMethod;
use crate::output::check_writable;
use crate::scene::{BackendChoice, Scene, build_unless};
use crate::sim::report::Report;
use crate::sim::warnings::{Kind, Warnings};
use crate::sim::{
    BranchId, Health, Options, ResumedParams, Session, SessionHeader, SessionTree, Simulation, SimulationError, instructions,
};
use crate::step::StepError;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
                  pliant run bunny --seconds 2 --out bunny.mp4                 a film\n  \
                  pliant run scene.toml --set material.rubber.young_modulus=1e5   with another value\n  \
                  pliant run --drop model.stl --out model.png                  does a mesh land and stay whole?\n  \
                  pliant run scene.toml --out fields.pvd --trace numbers.csv   fields, and numbers of each step\n  \
                  pliant run scene.toml --steps 100 --save start.state --strict   fails unless every step was solved\n  \
                  pliant run --replay gallery.session                          what was done in the window, bit for bit\n  \
                  pliant run --replay pliant-session-1.session --branch 2      another branch of it")]
pub struct RunArgs {
    /// Scene file, mesh file, or name of a scene of the gallery
    #[arg(required_unless_present_any = ["drop", "replay"])]
    scene: Option<String>,
    /// Drop a mesh onto a floor with default settings, and say whether it stays intact
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scene", "replay"])]
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
    /// Work that a step may do, as the time that it takes on one core [ms]; what would still cross is then limited in
    /// its motion [default: the scene's, else as much as it takes]
    #[arg(long, value_name = "MS")]
    max_step_ms: Option<f64>,
    /// Fail where there would be a warning: if a step did not converge, was taken back or was limited, if given motions
    /// waited, if a body is softer than its material says, is deformed beyond what that can hold, hangs in mid-air or
    /// is tangled at the end; or if a session does not come to its state
    #[arg(long)]
    strict: bool,
    /// Threads of the CPU backend [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
    /// Change a value of the scene, for instance body.bar.shape.cells=[40,8,8]; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Write a report (JSON), and renew it while the run goes on
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write a row of numbers for each step (CSV), as soon as it is done
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
    /// Give the commands of a session that the window saved, in its scene if no other is named [default length: the
    /// session's]; gallery.session is inside the program
    #[arg(long, value_name = "SESSION")]
    replay: Option<PathBuf>,
    /// Branch of the session that is repeated, by its number in the window [default: the one that was current]
    #[arg(long, value_name = "N", requires = "replay")]
    branch: Option<BranchId>,
}

#[derive(Args)]
#[group(multiple = false)]
struct Length {
    /// How many steps to compute
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// How long a time to compute, in simulated seconds [default: the scene's `recording.seconds`, else 2]
    #[arg(long, alias = "secs", value_name = "T", value_parser = parse_duration)]
    seconds: Option<f64>,
}

/// What is kept of a run while it goes on.
struct Kept {
    figures: Figures,
    results: Results,
    warnings: Warnings,
}

pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let (start, cancel) = (Instant::now(), interrupt::token());
    let session = args.replay.as_deref().map(|path| session(path, args.branch)).transpose()?;
    let flags = flags(args, session.as_ref());
    let built = build_unless(&scene(args, session.as_ref(), &flags)?, &cancel);
    if cancel.is_cancelled() {
        return Err(Failure::Run("interrupted while the scene was built".into()));
    }
    let built = built?;
    let steps = match (args.length.steps, args.length.seconds, &session) {
        (Some(steps), ..) => steps,
        (None, None, Some(session)) => session.n_steps(),
        (None, seconds, _) => built.n_steps(seconds.unwrap_or(built.recording.seconds)),
    };

    // Whatever cannot be written is known before the work begins.
    let mut figures = Figures::open(args.trace.as_deref(), args.report.as_deref())?;
    args.save.as_deref().map(check_writable).transpose()?;
    let notes: Vec<String> = built.notes.iter().cloned().chain(built.doubts()).collect();
    let seconds = steps as f64 * built.params.time_step;
    let results = Results::open(&args.results, Subject::of(&built), seconds, args.place.adapter.as_deref())?;
    let of_session = session.as_ref().map(|session| &*session.header.backend);
    let options = Options {
        methods: Some(crate::lab::methods::row_solver),
        backend: backend(args.place.backend(), of_session),
        adapter: args.place.adapter.clone(),
        threads: args.threads.map(|n| n as usize),
        device: results.device(),
        ..Options::default()
    };
    let mut simulation = match Simulation::new_unless(built, &options, &cancel) {
        Err(SimulationError::Cancelled(_)) => return Err(Failure::Run("interrupted before the first step".into())),
        opened => opened?,
    };
    simulation.set_measuring(figures.measures());
    if let Some(path) = &args.resume {
        simulation.resume_with(path, resumed_params(&flags))?;
    } else if let Some(path) = session.as_ref().and_then(|session| session.header.state.as_ref()) {
        simulation.resume_with(path, ResumedParams::Present)?;
    }
    if let Some(session) = &session {
        session.check_start(&simulation)?;
    }
    let build_ms = start.elapsed().as_secs_f64() * 1e3;
    describe(&simulation);
    for note in notes {
        tell!("note: {note}");
    }

    let opened = simulation.backend().clone();
    figures.begin(&mut simulation, build_ms)?;
    let mut kept = Kept { figures, results, warnings: Warnings::of_scene(simulation.model()) };
    let computed = compute(&mut simulation, session.as_ref(), steps, &mut kept, &cancel);
    let Kept { figures, results, warnings } = kept;
    // Results and figures up to a failure are kept.
    let finished = results.finish(&cancel);
    let summary = figures.finish(&mut simulation, matches!(computed, Ok(done) if done == steps));
    let done = computed?;
    finished?;
    let summary = summary?;
    if *simulation.backend() != opened {
        tell!("note: {}", simulation.backend().reason);
    }

    if let Some(path) = &args.save {
        simulation.save(path).map_err(|error| Failure::Run(error.to_string()))?;
    }
    print(&summary, done);
    warn(&summary, &warnings);
    if done < steps {
        return Err(Failure::Run(format!("interrupted after {done} of {steps} steps; what was asked for ends there")));
    }
    let session = session.filter(|session| session.header.last_step == summary.steps);
    let is_repeated = session.is_none_or(|session| is_repeated(&session, &summary));
    if args.drop.is_some() {
        verdict(&mut simulation)?;
    }
    match args.strict {
        true if !is_repeated => Err(Failure::Run("--strict: the session came to another state than the one it was saved with".into())),
        true => strict(&summary, &warnings),
        false => Ok(()),
    }
}

/// A branch of a saved session: the one that is asked for, else the one that was current.
fn session(path: &Path, branch: Option<BranchId>) -> Result<Session, Failure> {
    let tree = SessionTree::read(path)?;
    let id = branch.unwrap_or(tree.current().id);
    let all: Vec<String> = tree.branches().iter().map(|branch| branch.id.to_string()).collect();
    let Some(found) = tree.branch(id) else {
        return Err(Failure::Input(format!("{} has no branch {id}; it has {}", path.display(), all.join(", "))));
    };
    if all.len() > 1 {
        tell!("branch {id} of the session, which has {}", all.join(", "));
    }
    Ok(found.session.clone())
}

/// One line for each kind of warning, with the steps that it is about, and for each body that hangs.
fn warn(summary: &Report, warnings: &Warnings) {
    // A body hangs once it has stood still for some steps.
    for warning in warnings.list().iter().filter(|warning| !matches!(warning.kind, Kind::Hanging(_))) {
        let options = match warning.kind {
            Kind::NotConverged | Kind::TakenBack => "; see --dt",
            Kind::Limited | Kind::Waited => "; see --max-step-ms, --dt",
            Kind::Hanging(_) | Kind::Tangled(_) | Kind::BeyondRange(_) | Kind::Softer(_) => "",
        };
        eprintln!("warning: {} ({}{options})", warning.text, warning.when());
    }
    for name in &summary.faults.hanging_bodies {
        eprintln!(
            "warning: “{name}” stood still in mid-air though nothing held it: a fault of the solve, or of a --max-step-ms that is too small"
        );
    }
}

/// A failure that names what `--strict` does not let pass.
fn strict(summary: &Report, warnings: &Warnings) -> Result<(), Failure> {
    let Report { solver, faults, .. } = summary;
    let of_kind = |is_it: fn(&Kind) -> bool| warnings.list().iter().filter(move |warning| is_it(&warning.kind));
    let counts = [
        (solver.unconverged_steps, "steps that did not converge"),
        (solver.limited_steps, "steps that were limited"),
        (faults.rollbacks, "steps that were taken back"),
        (of_kind(|kind| *kind == Kind::Waited).map(|warning| warning.steps).sum(), "steps in which given motions waited"),
        (faults.hanging_bodies.len() as u64, "bodies that hang in mid-air"),
        (faults.tangled_bodies.len() as u64, "bodies that are tangled at the end"),
        (faults.beyond_range.len() as u64, "bodies that were deformed beyond what their material can hold"),
        (of_kind(|kind| matches!(kind, Kind::Softer(_))).count() as u64, "bodies that are softer than their material says"),
    ];
    let told: Vec<String> = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{what} ({n})")).collect();
    if told.is_empty() {
        return Ok(());
    }
    Err(Failure::Run(format!("--strict does not let pass {}; the warnings say what helps", told.join(", "))))
}

/// Runs all steps, or as many as there are time for until `cancel` is cancelled; how many.
fn compute(
    simulation: &mut Simulation,
    session: Option<&Session>,
    steps: u64,
    kept: &mut Kept,
    cancel: &CancelToken,
) -> Result<u64, Failure> {
    let bar = progress(steps, "steps");
    kept.results.take(simulation)?;
    for done in 0..steps {
        replay(simulation, session)?;
        kept.results.before_step(simulation)?;
        let report = match simulation.step_unless(cancel) {
            Err(StepError::Cancelled { .. }) => return Ok(done),
            stepped => stepped?,
        };
        let parts = simulation.params().substeps.max(1);
        kept.warnings.take(&report, simulation.step_index(), simulation.model(), parts);
        kept.figures.take(simulation)?;
        kept.results.take(simulation)?;
        bar.inc(1);
    }
    replay(simulation, session)?;
    Ok(steps)
}

/// The backend that is asked for; else that of the session, which is part of what is repeated.
fn backend(asked: Option<BackendChoice>, of_session: Option<&str>) -> Option<BackendChoice> {
    asked.or_else(|| of_session.and_then(BackendChoice::from_name))
}

/// Gives the commands that a session has for now.
fn replay(simulation: &mut Simulation, session: Option<&Session>) -> Result<(), Failure> {
    let step = simulation.step_index();
    for command in session.into_iter().flat_map(|session| session.commands_at(step)) {
        let refused = |error| Failure::Input(format!("the session's command after step {step} does not fit the scene: {error}"));
        simulation.apply(command).map_err(refused)?;
    }
    Ok(())
}

fn print(summary: &Report, done: u64) {
    let ms = summary.timing.ms_per_step.map_or(0.0, |ms| ms.mean);
    say!(
        "{done} steps of {} s to time {:.4} s; {ms:.2} ms a step, {:.2} simulated seconds a second; {:.1} iterations a step, {} steps did not converge, {} were limited",
        summary.dt,
        summary.time,
        summary.timing.real_time_factor.unwrap_or(0.0),
        summary.solver.iterations.mean,
        summary.solver.unconverged_steps,
        summary.solver.limited_steps
    );
    say!("contact by {}: {}", summary.method.name, summary.method.reason);
    if voice::is_verbose() {
        eprintln!("built in {:.0} ms; of a step on average", summary.build_ms);
        for (stage, ms) in &summary.timing.stages {
            eprintln!("  {stage}: {:.3} ms", ms.as_f64().unwrap_or(0.0));
        }
    }
    say!("state hash {}", summary.state_hash);
}

/// Whether a whole session came to the state that it was saved with; says so.
fn is_repeated(session: &Session, summary: &Report) -> bool {
    let SessionHeader { state_hash, backend, version, .. } = &session.header;
    let is_same = *state_hash == summary.state_hash;
    if is_same {
        say!("the session came to the same state, bit for bit");
    } else {
        let told = session.header.instructions.as_ref();
        let [there, here] = [told.map_or_else(String::new, |told| format!(", {told}")), format!(", {}", instructions())];
        tell!(
            "note: the session was saved with the state {state_hash} (version {version}, backend {backend}{there}); this is version {}, backend {}{here}",
            summary.version,
            summary.backend
        );
    }
    is_same
}

/// All changes of the scene's values: a session's, then those of the command line.
fn flags(args: &RunArgs, session: Option<&Session>) -> Vec<String> {
    let mut flags = session.map_or_else(Vec::new, |session| session.header.set.clone());
    flags.extend(args.set.iter().cloned());
    // Checked by the same ranges as in the file, after all --set.
    flags.extend(args.dt.map(|dt| format!("simulation.time_step={dt:?}")));
    flags.extend(args.max_step_ms.map(|ms| format!("simulation.max_step_ms={ms:?}")));
    flags.extend(args.solver.iter().map(|name| format!("simulation.solver={name}")));
    debug_assert!(args.solver.as_deref().is_none_or(|name| ContactMethod::from_name(name).is_some()));
    flags
}

/// A resumed run keeps its parameters, unless the command line gives some.
fn resumed_params(flags: &[String]) -> ResumedParams {
    let is_param = |flag: &String| flag.starts_with("simulation") || flag.starts_with("contact.tolerance");
    if !flags.iter().any(is_param) {
        return ResumedParams::Saved;
    }
    tell!("note: the parameters are those of the scene and the command line, not those of the saved state");
    ResumedParams::Present
}

/// The scene with all changes.
fn scene(args: &RunArgs, session: Option<&Session>, flags: &[String]) -> Result<Scene, Failure> {
    if args.place.backend.as_deref() == Some("cpu") && args.place.adapter.is_some() && !args.results.draws() {
        return Err(Failure::Input("--adapter names a graphics adapter, and --backend cpu uses none; remove one of the two".into()));
    }
    let named = args.scene.as_deref().or(session.map(|session| session.header.scene.as_str()));
    match (named, &args.drop) {
        (_, Some(mesh)) => Ok(Scene::from_mesh_with(mesh, flags)?),
        (Some(scene), None) => Ok(Scene::load(scene, flags)?),
        (None, None) => Err(Failure::Input("name a scene, a mesh to --drop, or a session to --replay".into())),
    }
}

/// Says how the dropped body lies; one that has burst, collapsed or left is a failure.
fn verdict(simulation: &mut Simulation) -> Result<(), Failure> {
    let positions = simulation.node_positions().map_err(|error| Failure::Run(error.to_string()))?;
    let health = Health::of(simulation.model(), &positions);
    let text = format!(
        "volume {:.1} % and longest side {:.1} % of those at rest, {:.2} % of it inverted, lowest point at {:.2} mm",
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
    tell!(
        "{}: {} deformable, {} tets, {} nodes, {} surface triangles; {} rigid, {} static or driven",
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
    tell!("backend {place}: {}; solver {}", backend.reason, backend.solver);
}

/// Shown when stderr is a terminal, and gone at the end.
pub fn progress(n: u64, what: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() || !voice::is_heard() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(&format!("{{bar:40}} {{pos}}/{{len}} {what}, {{per_sec}}, {{eta}} left"));
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(n).with_style(style).with_finish(ProgressFinish::AndClear)
}

fn parse_time_step(text: &str) -> Result<f64, String> {
    number(text, "a time step above 0 and up to 10 s", |x| x > 0.0 && x <= 10.0)
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

    const BODY: &str = r#"
format = 1
[simulation]
gravity = [0.0, 0.0, 0.0]
[material.rubber]
young_modulus = 1e5
[[body]]
name = "box"
shape = { type = "box", size = [0.2, 0.2, 0.2], cells = [2, 2, 2] }
material = "rubber"
"#;

    #[test]
    fn numbers() {
        assert_eq!(parse_time_step("5e-3"), Ok(0.005));
        for wrong in ["0", "-1", "nan", "inf", "20", "x"] {
            assert!(parse_time_step(wrong).is_err(), "{wrong}");
        }
    }

    /// Softer than it says, and tangled: neither is seen in how steps end.
    #[test]
    fn strict_lets_no_warning_pass() {
        let fault = |flags: &[String], steps: u64| {
            let scene = Scene::from_text("body", "body", BODY, None, flags).unwrap();
            let options = Options { backend: Some(BackendChoice::Cpu), ..Options::default() };
            let mut simulation = Simulation::new(crate::scene::build(&scene).unwrap(), &options).unwrap();
            let subject = Subject::of(&crate::scene::build(&scene).unwrap());
            let mut kept = Kept {
                figures: Figures::open(None, None).unwrap(),
                results: Results::open(&ResultArgs::default(), subject, 0.0, None).unwrap(),
                warnings: Warnings::of_scene(simulation.model()),
            };
            compute(&mut simulation, None, steps, &mut kept, &CancelToken::default()).unwrap();
            let told = strict(&simulation.report(0.0).unwrap(), &kept.warnings);
            told.err().map(|failure| if let Failure::Run(text) = failure { text } else { panic!("{failure:?}") })
        };
        assert_eq!(fault(&[], 2), None);
        let tangled = fault(&["body.box.start=mirrored".into()], 1).unwrap();
        assert!(tangled.contains("bodies that are tangled at the end (1)") && !tangled.contains("softer"), "{tangled}");
        // The box becomes a sheet: its tets are nearly flat.
        let softer = fault(&["body.box.shape.size=[0.2, 2e-6, 0.2]".into()], 0).unwrap();
        assert!(softer.contains("bodies that are softer than their material says (1)"), "{softer}");
    }

    #[test]
    fn a_session_is_repeated_on_its_backend() {
        assert_eq!(backend(None, None), None);
        assert_eq!(backend(None, Some("gpu")), Some(BackendChoice::Gpu));
        assert_eq!(backend(Some(BackendChoice::Cpu), Some("gpu")), Some(BackendChoice::Cpu));
    }
}
