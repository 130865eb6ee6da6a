//! Bodies that nothing holds: what a step must keep.

use super::bench::{Bench, alone, bar, held, noise};
use super::check::{Check, Measure, Outcome, Place};
use super::derivatives::sound_models;
use super::plot::{Axis, Plot, Style};
use super::unmeasured::Unmeasured;
use crate::elastic::strain_energy;
use crate::material::MaterialModel;
use crate::math::Vec3;
use crate::mesh::shapes;
use crate::model::{Model, Params, SoftBody, State};

const GRAVITY: Vec3 = Vec3::new(0.0, -9.81, 0.0);

pub const FREE_FALL: Check = Check {
    name: "free_fall",
    title: "Free fall",
    meaning: "Every node of a falling body gains g t, and the body falls as far as the time step's own rule says.",
    setup: "a ball of 0.2 m, 6 cells across, 1,296 tets; 50 steps of 10 ms",
    source: "v = g t; y = -g t (t + dt) / 2, which backward Euler makes of g t^2 / 2",
    place: Place::Chosen,
    run: free_fall,
};

fn free_fall(bench: &mut Bench) -> Result<Outcome, Unmeasured> {
    let material = bench.material(MaterialModel::Corotational, 1e5, 0.3);
    let model = alone(SoftBody::with_boundary_surface("ball", material, shapes::sphere(0.1, 6)))?;
    let mut simulation = bench.simulate(model, Params { gravity: GRAVITY, ..Params::default() }, vec![])?;
    let (mut worst, mut fall) = (0.0_f64, vec![[0.0, 0.0]]);
    let dt = simulation.params().time_step;
    for step in 1..=50 {
        bench.step(&mut simulation)?;
        let state = simulation.state()?;
        let wanted = GRAVITY * state.time;
        worst = state.velocities.iter().map(|v| (v - wanted).norm() / wanted.norm()).fold(worst, f64::max);
        fall.push([state.time, state.displacements.iter().map(|u| u.y).sum::<f64>() / state.displacements.len() as f64]);
        bench.done(f64::from(step) / 50.0);
    }
    let exact = |t: f64| 0.5 * GRAVITY.y * t * (t + dt);
    let [time, depth] = fall[fall.len() - 1];
    let measures = vec![
        Measure::error("largest error of a node's velocity, as a part of g t", worst, bench.pick(1e-12, 1e-5), ""),
        Measure::relative("height after 0.5 s", exact(time), depth, bench.pick(1e-10, 1e-5), "m"),
    ];
    let plot = Plot::new(Axis::linear("time", "s"), Axis::linear("height", "m"))
        .with(Style::Expected, "expected", (0..=50).map(|i| f64::from(i) * 0.01).map(|t| [t, exact(t)]))
        .with(Style::Points, "measured", fall.into_iter().step_by(5));
    Ok(Outcome { measures, plot })
}

pub const MOMENTUM: Check = Check {
    name: "momentum",
    title: "Linear momentum",
    meaning: "However a body tumbles and swings in itself, only gravity changes its momentum.",
    setup: "a box of 0.3 x 0.2 x 0.2 m, 5 x 3 x 3 cells, 270 tets, E = 0.2 MPa, thrown, turning and shaken; 50 steps of 10 ms",
    source: "Newton: the momentum gained is m g t",
    place: Place::Chosen,
    run: momentum,
};

fn momentum(bench: &mut Bench) -> Result<Outcome, Unmeasured> {
    let model = alone(shaken_box(bench, MaterialModel::Corotational))?;
    let params = Params { gravity: GRAVITY, tolerance: bench.pick(1e-9, 1e-5), max_iterations: 5000, ..Params::default() };
    let mut simulation = bench.simulate(model.clone(), params, vec![])?;
    let start = linear_momentum(&model, simulation.state()?);
    let mass: f64 = model.node_masses.iter().sum();
    let (mut worst, mut gained) = (0.0_f64, vec![]);
    for step in 1..=50 {
        bench.step(&mut simulation)?;
        let state = simulation.state()?;
        let (now, wanted) = (linear_momentum(&model, state) - start, GRAVITY * (mass * state.time));
        worst = worst.max((now - wanted).norm() / wanted.norm());
        gained.push((state.time, now));
        bench.done(f64::from(step) / 50.0);
    }
    let ends = |axis: usize| [0.0, 0.5].map(|t| [t, GRAVITY[axis] * mass * t]);
    let mut plot = Plot::new(Axis::linear("time", "s"), Axis::linear("momentum gained", "kg m/s"))
        .with(Style::Expected, "m g t", ends(1))
        .with(Style::Expected, "", ends(0));
    for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
        plot = plot.with(Style::Points, format!("measured {name}"), gained.iter().step_by(4).map(|(t, p)| [*t, p[axis]]));
    }
    Ok(Outcome { measures: vec![Measure::error("largest error, as a part of m g t", worst, bench.pick(1e-8, 1e-5), "")], plot })
}

/// A box that starts with a wild motion.
pub fn shaken_box(bench: &Bench, model: MaterialModel) -> SoftBody {
    let mut body = bar(bench.material(model, 2e5, 0.3), Vec3::new(0.3, 0.2, 0.2), [5, 3, 3]);
    let turn = Vec3::new(3.0, -2.0, 4.0);
    let velocity = |(k, p): (usize, &Vec3)| Vec3::new(1.0, 2.0, -0.5) + turn.cross(p) + noise(k) * 0.3;
    body.velocities = body.tets.positions.iter().enumerate().map(velocity).collect();
    body
}

fn linear_momentum(model: &Model, state: &State) -> Vec3 {
    state.velocities.iter().zip(&model.node_masses).map(|(v, m)| v * *m).sum()
}

pub const ANGULAR_MOMENTUM: Check = Check {
    name: "angular_momentum",
    title: "Angular momentum",
    meaning: "A spinning body goes on spinning: the time step eats no rotation.",
    setup: "a cube of 0.2 m, 3 x 3 x 3 cells, 162 tets, E = 0.1 MPa, nu = 0.3, spinning at 10 rad/s without gravity; one turn in steps of \
            10 ms; every material whose matrix lets a body turn",
    source: "angular momentum is conserved; at most 1 % a turn may be lost",
    place: Place::Chosen,
    run: angular_momentum,
};

fn angular_momentum(bench: &mut Bench) -> Result<Outcome, Unmeasured> {
    let mut outcome =
        Outcome { plot: Plot::new(Axis::linear("turns", ""), Axis::linear("angular momentum left", "")), ..Outcome::default() };
    outcome.plot =
        outcome.plot.with(Style::Expected, "conserved", [[0.0, 1.0], [1.0, 1.0]]).with(Style::Limit, "limit", [[0.0, 0.99], [1.0, 0.99]]);
    let spin = 10.0;
    let models = sound_models();
    for (k, material) in models.iter().enumerate() {
        let mut body =
            SoftBody::with_boundary_surface("cube", bench.material(*material, 1e5, 0.3), shapes::box_tets(Vec3::repeat(0.2), [3; 3]));
        body.velocities = body.tets.positions.iter().map(|p| Vec3::new(0.0, 0.0, spin).cross(p)).collect();
        let model = alone(body)?;
        let params = Params { gravity: Vec3::zeros(), tolerance: bench.pick(1e-8, 1e-5), ..Params::default() };
        let mut simulation = bench.simulate(model.clone(), params, vec![])?;
        let about_center = |state: &State| -> f64 {
            let x = state.positions(&model);
            let mass: f64 = model.node_masses.iter().sum();
            let center = x.iter().zip(&model.node_masses).map(|(x, m)| x * *m).sum::<Vec3>() / mass;
            x.iter().zip(&state.velocities).zip(&model.node_masses).map(|((x, v), m)| (x - center).cross(v).z * m).sum()
        };
        let start = about_center(simulation.state()?);
        let mut curve = vec![[0.0, 1.0]];
        while curve.last().is_some_and(|[turns, _]| *turns < 1.0) {
            bench.step(&mut simulation)?;
            let state = simulation.state()?;
            curve.push([state.time * spin / std::f64::consts::TAU, about_center(state) / start]);
        }
        let left = curve[curve.len() - 1][1];
        outcome.measures.push(Measure::absolute(format!("{}: part left after a turn", material.name()), 1.0, left, 0.01, ""));
        outcome.plot = outcome.plot.with(Style::Line, material.name(), curve);
        bench.done((k + 1) as f64 / models.len() as f64);
    }
    Ok(outcome)
}

pub const ENERGY: Check = Check {
    name: "energy",
    title: "Energy over time",
    meaning: "A swinging body never has more energy than it started with.",
    setup: "a bar of 1 x 0.2 x 0.2 m, 10 x 2 x 2 cells, 240 tets, E = 0.5 MPa, nu = 0.3, clamped at one end and let go level; \
            1 s in steps of 10 ms",
    source: "backward Euler only takes energy away",
    place: Place::Chosen,
    run: energy,
};

fn energy(bench: &mut Bench) -> Result<Outcome, Unmeasured> {
    let mut outcome = Outcome { plot: Plot::new(Axis::linear("time", "s"), Axis::linear("energy", "J")), ..Outcome::default() };
    for (k, material) in MaterialModel::ALL.iter().enumerate() {
        let body = bar(bench.material(*material, 5e5, 0.3), Vec3::new(1.0, 0.2, 0.2), [10, 2, 2]);
        let model = alone(held(body, |p| p.x < 1e-9))?;
        let params = Params { gravity: GRAVITY, tolerance: bench.pick(1e-8, 1e-5), ..Params::default() };
        let mut simulation = bench.simulate(model.clone(), params, vec![])?;
        let (mut most, mut turned_over) = (0.0_f64, 0.0_f64);
        let mut curves = [vec![[0.0, 0.0]], vec![[0.0, 0.0]], vec![[0.0, 0.0]]];
        for _ in 0..100 {
            bench.step(&mut simulation)?;
            let state = simulation.state()?;
            let kinetic: f64 = state.velocities.iter().zip(&model.node_masses).map(|(v, m)| 0.5 * m * v.norm_squared()).sum();
            let fallen: f64 = state.displacements.iter().zip(&model.node_masses).map(|(u, m)| -m * GRAVITY.dot(u)).sum();
            let elastic = strain_energy(&model, state);
            let total = kinetic + elastic + fallen;
            most = most.max(total);
            turned_over = turned_over.max(kinetic);
            curves.iter_mut().zip([total, kinetic, elastic]).for_each(|(curve, energy)| curve.push([state.time, energy]));
        }
        let what = format!("{}: largest gain of energy, as a part of the largest kinetic energy", material.name());
        outcome.measures.push(Measure::error(what, most / turned_over, bench.pick(1e-6, 1e-4), ""));
        let [total, kinetic, elastic] = curves;
        outcome.plot = outcome.plot.with(Style::Line, format!("{}: total", material.name()), total);
        if k == 0 {
            outcome.plot = outcome.plot.with(Style::Expected, "", [[0.0, 0.0], [1.0, 0.0]]);
            outcome.plot = outcome.plot.with(Style::Line, "kinetic", kinetic).with(Style::Line, "elastic", elastic);
        }
        bench.done((k + 1) as f64 / MaterialModel::ALL.len() as f64);
    }
    Ok(outcome)
}
