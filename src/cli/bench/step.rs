//! `pliant bench step`: whole steps, and what each of their stages takes.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::elastic_step;
use super::floor::{Costs, Demand, StageDemand};
use super::step_figures::{Columns, End, OfThreads, SpeedUp, StepFigures, speed_up};
use super::{BenchArgs, Failure, Milliseconds, Record, Size, Stage};
use crate::gpu::{DetectionPlace, Device};
use crate::scene::{Scene, build};
use crate::sim::report::state_hash;
use crate::sim::{Options, ResumedParams, Simulation};
use crate::step::{DeviceWork, StageTimes};

#[derive(Args)]
pub struct StepArgs {
    /// Scene file, or name of a scene of the gallery, for step and detection; may be repeated; may stand behind the
    /// names too [default: bunny, falling and resting on the floor]
    #[arg(long, value_name = "SCENE")]
    pub scene: Vec<String>,
    /// Change a value of the scenes; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Steps that are measured [default: the length of a scene that is named, 30 of the bunny and after --resume]; for
    /// detection, those before the measured ones [default: 40]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub steps: Option<u32>,
    /// Steps before the measured ones [default: none of a scene that is named, 5 of the bunny and after --resume]
    #[arg(long, value_name = "N")]
    pub warm_up: Option<u32>,
    /// Measure the penetration after each step of step too, beside its time
    #[arg(long)]
    pub check: bool,
    /// Where contacts are looked for with --backend gpu: the result is the same [default: auto, which takes the faster
    /// one on hardware and the host else]
    #[arg(long, value_name = "PLACE", value_parser = ["auto", "host", "device"])]
    pub detection: Option<String>,
    /// Start step from a state that `pliant run --save` wrote, of the one scene that is named
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    /// Predict the steps of --backend gpu for another device too: rtx4070, h200, igpu, or nine costs of its own
    #[arg(long, value_name = "DEVICE")]
    pub predict: Option<Costs>,
}

const WARM_UP: u32 = 5;
const STEPS: u32 = 30;

/// What is run.
struct Case<'a> {
    /// Its name in the figures, if it is not the scene's.
    name: Option<&'a str>,
    scene: &'a str,
    flags: &'a [String],
    /// The scene was named: all its steps count, the first ones too.
    is_named: bool,
}

pub fn bench(args: &BenchArgs) -> Result<Vec<Record>, Failure> {
    let StepArgs { set, resume, .. } = &args.step;
    let scenes = args.scenes();
    if let (Some(path), 0 | 2..) = (resume, scenes.len()) {
        return Err(Failure::Input(format!(
            "{}: a state belongs to one scene, and {} were named; name it with --scene",
            path.display(),
            scenes.len()
        )));
    }
    let machine = match args.machine.device()? {
        Some(device) => Some((device.clone(), Costs::measured(&device)?)),
        None => None,
    };
    let mut records = vec![];
    if scenes.is_empty() {
        // Elasticity alone, and with contact from the start.
        for (name, place) in [("bunny falling", "[0,50,0]"), ("bunny resting", "[0,0.0001,0]")] {
            let mut flags = vec![format!("body.bunny.position={place}")];
            flags.extend(args.size.map(|n| format!("body.bunny.resolution={n}")));
            flags.extend_from_slice(set);
            let case = Case { name: Some(name), scene: "bunny", flags: &flags, is_named: false };
            records.extend(with_threads(&case, args, &machine)?);
        }
    }
    for scene in scenes {
        let case = Case { name: None, scene, flags: set, is_named: resume.is_none() };
        records.extend(with_threads(&case, args, &machine)?);
    }
    Ok(records)
}

/// Runs a case with each number of threads that is asked for, and compares them with the first.
fn with_threads(case: &Case, args: &BenchArgs, machine: &Option<(Arc<Device>, Costs)>) -> Result<Vec<Record>, Failure> {
    let counts: Vec<Option<u32>> = match args.machine.threads.as_slice() {
        [] => vec![None],
        some => some.iter().copied().map(Some).collect(),
    };
    let mut records: Vec<Record> = vec![];
    for threads in counts {
        let mut record = steps(case, threads, args, machine)?;
        print(&record);
        if let Some((first, first_figures)) = records.first().and_then(|first| Some((first, first.step.as_ref()?)))
            && let Some(figures) = &record.step
        {
            let of = |record: &Record, figures: &StepFigures| OfThreads { threads: record.threads, whole: figures.whole() };
            record.speed_up = speed_up(&of(first, first_figures), &of(&record, figures));
            record.speed_up.iter().for_each(SpeedUp::print);
            if figures.state_hash() != first_figures.state_hash() {
                let message = format!("{}: {} and {} threads came to different states", record.case, first.threads, record.threads);
                return Err(Failure::Run(message));
            }
        }
        records.push(record);
    }
    Ok(records)
}

/// `machine`: the device that is asked for, and what it charges.
fn steps(case: &Case, threads: Option<u32>, args: &BenchArgs, machine: &Option<(Arc<Device>, Costs)>) -> Result<Record, Failure> {
    let built = build(&Scene::load(case.scene, case.flags)?)?;
    let place = &args.machine.place;
    let (warm_up, count) = if case.is_named { (0, built.n_steps(built.recording.seconds) as u32) } else { (WARM_UP, STEPS) };
    let (warm_up, count) = (args.step.warm_up.unwrap_or(warm_up), args.step.steps.unwrap_or(count).max(1));
    let detection = args.step.detection.as_deref().and_then(DetectionPlace::from_name).unwrap_or_default();
    let device = machine.as_ref().map(|(device, _)| device.clone());
    let threads = threads.map(|n| n as usize);
    let options = Options { backend: place.backend(), adapter: place.adapter.clone(), threads, detection, device, ..Options::default() };
    let mut simulation = Simulation::new(built.clone(), &options)?;
    simulation.set_measuring(args.step.check);
    if let Some(path) = &args.step.resume {
        simulation.resume_with(path, ResumedParams::Present)?;
    }
    let (mut columns, mut iterations, mut constraints) = (Columns::default(), 0.0, 0);
    let (mut stages, mut work, mut round_trips) = (StageTimes::default(), DeviceWork::default(), 0.0);
    for i in 0..warm_up + count {
        let report = simulation.step().map_err(|error| Failure::Run(error.to_string()))?;
        if i >= warm_up {
            // The checker's time is not in it.
            columns.add(&report, simulation.tally().records.last().map_or(0.0, |record| record.ms));
            iterations += f64::from(report.iterations) / f64::from(count);
            constraints = constraints.max(3 * report.contact.contacts);
            round_trips += f64::from(report.round_trips) / f64::from(count);
            report.stages.times.iter().for_each(|(stage, ms)| stages.add(stage, *ms));
            report.device_work.0.iter().for_each(|(stage, part)| work.add(stage, *part));
        }
    }
    let state_hash = state_hash(simulation.state().map_err(|error| Failure::Run(error.to_string()))?);
    // The stages of a device say little of its time.
    let elastic_step = match simulation.backend().backend {
        "cpu" => Some(elastic_step::measure(built, &options)?),
        _ => None,
    };
    let ms = columns.ms.clone();
    let figures = columns.finish(End {
        time_step: simulation.params().time_step,
        unconverged_steps: simulation.tally().unconverged_steps,
        max_penetration: simulation.tally().max_penetration,
        state_hash,
        elastic_step,
    });
    let (model, backend) = (simulation.model(), simulation.backend());
    let total: f64 = ms.iter().sum();
    stages.add("other", total - stages.total());
    let of_stage = |(stage, ms): &(&'static str, f64)| {
        let work = work.0.iter().find(|(name, _)| name == stage).map(|(_, work)| *work);
        Stage {
            stage,
            ms: ms / f64::from(count),
            share: ms / total,
            dispatches: work.map(|work| f64::from(work.dispatches) / f64::from(count)),
            bytes: work.filter(|work| work.bytes > 0).map(|work| work.bytes as f64 / f64::from(count)),
        }
    };
    let stages: Vec<Stage> = stages.times.iter().map(of_stage).collect();
    let mut floors = vec![];
    if let Some((_, costs)) = machine {
        let of_device = |stage: &&Stage| stage.dispatches.is_some() || stage.stage == "device";
        let (steps, total) = (f64::from(count), work.total());
        let demand = Demand {
            stages: work.0.iter().map(|(_, work)| StageDemand::of(work, steps)).collect(),
            transfer: (total.sent + total.fetched) as f64 / steps,
            round_trips,
            host_ms: stages.iter().filter(|stage| !of_device(stage) && stage.stage != "other").map(|stage| stage.ms).sum(),
        };
        floors.extend(args.step.predict.map(|costs| costs.floor(demand.clone())));
        floors.insert(0, costs.floor(demand));
    }
    let ms = Milliseconds::of(ms);
    Ok(Record {
        bench: "step",
        case: case.name.unwrap_or(simulation.name()).to_owned(),
        solver: backend.solver,
        backend: backend.backend,
        adapter: backend.adapter.clone(),
        precision: if backend.backend == "gpu" { "f32" } else { "f64" },
        threads: backend.threads,
        size: Size { nodes: model.n_nodes(), tets: model.tets.len(), blocks: model.pattern.n_blocks(), constraints, ..Size::default() },
        ms,
        iterations: Some(iterations),
        steps_per_s: Some(1e3 / ms.median),
        stages: Some(stages),
        floors,
        note: Some(backend.reason.clone()),
        step: Some(figures),
        ..Record::default()
    })
}

fn print(record: &Record) {
    say!(
        "{}: {:.2} ms median ({:.2} to {:.2}), {:.1} steps/s, {:.1} iterations, {} tets, {} threads, on {}",
        record.case,
        record.ms.median,
        record.ms.min,
        record.ms.max,
        record.steps_per_s.unwrap_or(0.0),
        record.iterations.unwrap_or(0.0),
        record.size.tets,
        record.threads,
        record.adapter.as_deref().unwrap_or(record.backend)
    );
    // The table has the times; of a device the work stands beside them.
    for stage in record.stages.iter().flatten().filter(|_| record.backend == "gpu") {
        let dispatches = stage.dispatches.map_or_else(String::new, |n| format!("{n:9.1} dispatches"));
        let bytes = stage.bytes.map_or_else(String::new, |bytes| format!("{:9.3} MB", 1e-6 * bytes));
        say!("    {:16} {:9.3} ms {:5.1} % {dispatches} {bytes}", stage.stage, stage.ms, 100.0 * stage.share);
    }
    for (floor, device) in record.floors.iter().zip(["this device", "a device of these costs"]) {
        floor.print(device);
    }
    record.step.iter().for_each(StepFigures::print);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::BackendChoice;

    /// A smaller beam after a few steps: iterations of each, and where the tip is.
    fn small_beam(backend: BackendChoice, iterations: u32) -> (Vec<u32>, crate::math::Vec3) {
        let path = format!("{}/scenes/bench/beam_19k.toml", env!("CARGO_MANIFEST_DIR"));
        let flags = ["body.beam.shape.cells=[12,3,3]".to_owned(), format!("simulation.fixed_iterations={iterations}")];
        let built = build(&Scene::load(&path, &flags).unwrap()).unwrap();
        let mut simulation = Simulation::new(built, &Options { backend: Some(backend), ..Options::default() }).unwrap();
        let counts = (0..8).map(|_| {
            let report = simulation.step().unwrap();
            assert!(report.converged, "what was asked for was done");
            report.iterations
        });
        let counts = counts.collect();
        let tip = simulation.model().rest_positions.iter().position(|x| x.x > 1.94).unwrap();
        (counts, simulation.state().unwrap().displacements[tip])
    }

    #[test]
    fn a_fixed_number_of_iterations_is_kept_on_both_backends() {
        for iterations in [3, 20] {
            let (on_cpu, tip) = small_beam(BackendChoice::Cpu, iterations);
            let (on_gpu, twin) = small_beam(BackendChoice::Gpu, iterations);
            assert_eq!(on_cpu, vec![iterations; 8]);
            assert_eq!(on_gpu, vec![iterations; 8]);
            assert!(tip.norm() > 0.01 && (tip - twin).norm() < 1e-4 * tip.norm(), "{tip} {twin}");
        }
    }
}
