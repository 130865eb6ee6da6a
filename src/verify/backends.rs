//! Whether the device computes what the CPU computes.

use super::bench::{Bench, alone};
use super::check::{Check, Measure, Outcome, Place};
use super::motion::shaken_box;
use super::plot::{Axis, Plot, Style};
use super::unmeasured::Unmeasured;
use crate::material::MaterialModel;
use crate::math::Vec3;
use crate::model::Params;
use crate::scene::BackendChoice;
use crate::sim::{Simulation, SimulationError};

pub const CPU_GPU: Check = Check {
    name: "cpu_gpu",
    title: "CPU against GPU",
    meaning: "The graphics card moves bodies as the processor does, to the accuracy of its numbers.",
    setup: "a shaken box of 270 tets in free flight, of every material, and a ball of 384 tets that drops onto a floor with friction; \
            40 steps of 10 ms on each",
    source: "the CPU in f64; the card computes in f32",
    place: Place::Both,
    run: cpu_gpu,
};

const STEPS: u32 = 40;
/// Part of the body's size by which places may differ in free flight.
const BOUND: f64 = 1e-4;
/// The gap of a contact ends anywhere between 0 and the contact tolerance, on each backend. Between two steps that is a
/// velocity, and a velocity goes on: so the same of a body that touches, [m] in all steps together.
fn bound_in_contact(contact_tolerance: f64) -> f64 {
    contact_tolerance * f64::from(STEPS)
}

const DROP: &str = r#"
format = 1
[contact]
friction = 0.4
[simulation]
tolerance = 1e-5
[material.rubber]
young_modulus = 1e5
poisson_ratio = 0.3
[[body]]
name = "ball"
shape = { type = "sphere", radius = 0.1, resolution = 4 }
material = "rubber"
position = [0.0, 0.12, 0.0]
velocity = [0.5, -1.0, 0.0]
[[body]]
name = "floor"
kind = "static"
shape = { type = "plane" }
"#;

fn cpu_gpu(bench: &mut Bench) -> Result<Outcome, Unmeasured> {
    let mut outcome = Outcome {
        plot: Plot::new(Axis::linear("step", ""), Axis::logarithmic("difference over size", "")).with(
            Style::Limit,
            "limit",
            [[1.0, BOUND], [f64::from(STEPS), BOUND]],
        ),
        ..Outcome::default()
    };
    let cases: Vec<Option<MaterialModel>> = MaterialModel::ALL.iter().copied().map(Some).chain([None]).collect();
    for (k, case) in cases.iter().enumerate() {
        let (mut cpu, mut device) = (open(bench, *case, BackendChoice::Cpu)?, open(bench, *case, BackendChoice::Gpu)?);
        let size = crate::math::Aabb::of(&cpu.model().rest_positions).extent().max();
        let mut curve = vec![];
        for step in 1..=STEPS {
            bench.step(&mut cpu)?;
            bench.step(&mut device)?;
            let there = device.node_positions()?;
            let off = cpu.node_positions()?.iter().zip(&there).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
            curve.push([f64::from(step), (off / size).max(1e-16)]);
            bench.done((k as f64 + f64::from(step) / f64::from(STEPS)) / cases.len() as f64);
        }
        let name = case.map_or("ball on a floor", MaterialModel::name);
        let bound = if case.is_some() { BOUND } else { BOUND.max(bound_in_contact(cpu.params().contact_tolerance) / size) };
        let worst = curve.iter().map(|point| point[1]).fold(0.0, f64::max);
        outcome.measures.push(Measure::error(format!("{name}: largest difference of a place, as a part of the size"), worst, bound, ""));
        outcome.plot = outcome.plot.with(Style::Line, name, curve);
    }
    Ok(outcome)
}

/// A material's shaken box, or else the ball.
fn open(bench: &mut Bench, case: Option<MaterialModel>, choice: BackendChoice) -> Result<Simulation, Unmeasured> {
    let opened = bench.on(choice, |bench| match case {
        Some(model) => {
            let params = Params { gravity: Vec3::zeros(), tolerance: 1e-5, ..Params::default() };
            bench.simulate(alone(shaken_box(bench, model))?, params, vec![])
        }
        None => bench.simulate_scene(DROP),
    });
    opened.map_err(|error| match error {
        Unmeasured::Simulation(SimulationError::Device(reason)) => {
            Unmeasured::NotPossible(format!("there is no graphics card to compare with: {reason}"))
        }
        error => error,
    })
}
