//! Runs the scenes of `scenes/peers` in Pliant and in Rapier, in turn, and says how long they took and how good they were.

mod measure;
mod mesh;
mod pliant;
mod rapier;
mod report;
mod scene;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Parser;
use rapier3d::prelude::SoftBodySolver;

use measure::{Figures, Run};
use pliant::Pliant;
use report::{EngineReport, Report, SceneReport, Times};
use scene::Scene;

/// The root of the repository.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The version of Rapier that is built in; `Cargo.lock` holds it.
const RAPIER: &str = rapier3d::VERSION;

/// Compare Pliant and Rapier on the scenes in scenes/peers.
#[derive(Parser)]
struct Args {
    /// Names of scenes in scenes/peers
    #[arg(default_values = ["drop", "pile8", "pile27", "incline_stick", "incline_slide"])]
    scenes: Vec<String>,
    /// Pliant's program [default: target/release/pliant of this repository]
    #[arg(long, value_name = "PATH")]
    pliant: Option<PathBuf>,
    /// Simulated time of each run [s]
    #[arg(long, value_name = "T", default_value_t = 2.0)]
    seconds: f64,
    /// Threads of Pliant; Rapier has one
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    threads: u16,
    /// How often each engine is timed, in turn
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Distance [m] that Rapier keeps around a soft body
    #[arg(long, value_name = "METRES", default_value_t = 1e-3)]
    skin: f64,
    /// Write the figures (JSON) there as well
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Clone, Copy)]
enum Engine {
    Pliant,
    Rapier(SoftBodySolver),
}

impl Engine {
    const ALL: [Self; 3] = [Self::Pliant, Self::Rapier(SoftBodySolver::Constraints), Self::Rapier(SoftBodySolver::Fem)];

    fn name(self) -> &'static str {
        match self {
            Self::Pliant => "pliant",
            Self::Rapier(SoftBodySolver::Constraints) => "rapier constraints",
            Self::Rapier(SoftBodySolver::Fem) => "rapier fem",
        }
    }
}

fn main() -> Result<()> {
    let args = Args::parse();
    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    let pliant = Pliant {
        program: args.pliant.clone().unwrap_or_else(|| Path::new(ROOT).join("target/release/pliant")),
        threads: args.threads.into(),
        scratch: scratch.path().into(),
    };
    let mut report = Report {
        pliant: String::new(),
        rapier: RAPIER,
        threads: pliant.threads,
        rapier_skin: args.skin,
        rounds: args.rounds.into(),
        scenes: vec![],
    };
    for name in &args.scenes {
        let scene = Scene::read(&Path::new(ROOT).join("scenes/peers"), name)?;
        report.scenes.push(compare(&scene, &pliant, &args, &mut report.pliant)?);
    }
    print!("{}", report.table());
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(&report)? + "\n";
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Runs one scene in all engines; `version` becomes Pliant's.
fn compare(scene: &Scene, pliant: &Pliant, args: &Args, version: &mut String) -> Result<SceneReport> {
    let frames = (args.seconds / scene.time_step).round().max(1.0) as usize;
    let mut times = Engine::ALL.map(|_| vec![]);
    let mut engines = vec![];
    for round in 0..args.rounds {
        for (engine, times) in Engine::ALL.into_iter().zip(&mut times) {
            eprintln!("{}: {} ...", scene.name, engine.name());
            let (Run { ms, mut states }, own_penetration) = match engine {
                Engine::Rapier(solver) => (rapier::run(scene, solver, args.skin, frames), None),
                Engine::Pliant => {
                    let (run, report) = pliant.run(scene, frames)?;
                    *version = report.version;
                    (run, report.contact.max_penetration)
                }
            };
            times.push(ms);
            // Both engines do the same in each round.
            if round == 0 {
                if matches!(engine, Engine::Pliant) {
                    states.extend(pliant.earlier_states(scene, frames)?);
                }
                engines.push((engine, own_penetration, Figures::of(scene, frames, &states)));
            }
        }
    }
    let times = times.map(|rounds| Times::of(&rounds));
    let [pliants, ..] = times;
    let engines = engines.into_iter().zip(times).map(|((engine, own_penetration, figures), ms_per_frame)| EngineReport {
        engine: engine.name(),
        ms_per_frame,
        ratio: ms_per_frame.mean / pliants.mean,
        own_penetration,
        figures,
    });
    Ok(SceneReport {
        scene: scene.name.clone(),
        tets: scene.n_tets(),
        time_step: scene.time_step,
        frames,
        slope_acceleration: scene.slope_acceleration(),
        engines: engines.collect(),
    })
}
