//! Bars with known answers: bending under its own weight, torsion, and the lowest frequency.

use std::f64::consts::PI;

use super::bench::{Bench, alone, bar, held, mean, surface_loads};
use super::check::{Check, Measure, Outcome, Place};
use super::plot::{Axis, Plot, Style};
use super::unmeasured::Unmeasured;
use crate::element::ElementKind;
use crate::material::MaterialModel;
use crate::math::Vec3;
use crate::model::{Params, SoftBody};

const E: f64 = 5e5;
/// [m]
const LENGTH: f64 = 1.0;
const WIDTH: f64 = 0.2;
const SIZE: Vec3 = Vec3::new(LENGTH, WIDTH, WIDTH);

fn is_at(x: f64) -> impl Fn(&Vec3) -> bool {
    move |p| (p.x - x).abs() < 1e-9
}

pub const CANTILEVER: Check = Check {
    name: "cantilever",
    title: "Cantilever",
    meaning: "A heavy bar sags as much as another program says on the same mesh, and refining it leads to the true answer.",
    setup: "a bar of 1 x 0.2 x 0.2 m clamped at one end, under its own weight; E = 0.5 MPa; 4-node tets: 810 of nu = 0.45 \
            (15 x 3 x 3 cells), and 240, 1,920 and 15,360 of nu = 0.2 (10, 20 and 40 cells along it)",
    source: "on the same mesh: an independent full Newton solve of each model, six digits; converged: 27-node bricks of another code, \
             extrapolated, known to 0.03 %; linear elements in bending tend to it as h^2 in the end",
    place: Place::Chosen,
    run: cantilever,
};

/// Sag [m] of 810 tets at nu = 0.45 by an independent solver, for the models that it has.
const SAME_MESH: [(&str, f64); 4] =
    [("corotational", 0.336421), ("corotational_projected", 0.336421), ("neo_hookean", 0.346312), ("stable_neo_hookean", 0.346106)];
/// Of the converged corotational bar at nu = 0.2 [m].
const CONVERGED: f64 = 0.5723;
/// Cells along the bar.
const REFINED: [u32; 3] = [10, 20, 40];

/// A cantilever whose cells are cubes.
pub(super) struct Bar {
    pub model: MaterialModel,
    pub nu: f64,
    /// A fifth of them lie across.
    pub cells_along: u32,
    pub element: ElementKind,
}

/// How far the end hangs below the clamp at rest [m].
pub(super) fn sag(bench: &Bench, of: &Bar) -> Result<f64, Unmeasured> {
    let cells = [of.cells_along, of.cells_along / 5, of.cells_along / 5];
    let mut body = bar(bench.material(of.model, E, of.nu), SIZE, cells);
    if of.element == ElementKind::Quadratic {
        let tets = body.tets.quadratic(&[]).0;
        body = SoftBody { element: of.element, ..SoftBody::with_boundary_surface(body.name, body.material, tets) };
    }
    let body = alone(held(body, is_at(0.0)))?;
    // Shorter than other static steps, as the bar turns far.
    let params = Params { time_step: 0.2, gravity: Vec3::new(0.0, -9.81, 0.0), tolerance: 1e-4, ..bench.static_params() };
    let mut simulation = bench.simulate(body.clone(), params, vec![])?;
    let state = bench.to_rest(&mut simulation, 1e-6)?;
    Ok(-mean(&body, is_at(LENGTH), |n| state.displacements[n].y))
}

fn cantilever(bench: &mut Bench) -> Result<Outcome, Unmeasured> {
    let linear = |model, nu, cells_along| Bar { model, nu, cells_along, element: ElementKind::Linear };
    let mut measures = vec![];
    let known: Vec<(MaterialModel, f64)> =
        SAME_MESH.iter().filter_map(|(name, sag)| Some((MaterialModel::from_name(name)?, *sag))).collect();
    for (model, expected) in &known {
        let what = format!("{}: sag of 810 tets, nu = 0.45", model.name());
        measures.push(Measure::relative(what, *expected, sag(bench, &linear(*model, 0.45, 15))?, 1e-3, "m"));
        bench.done(0.2 * measures.len() as f64 / known.len() as f64);
    }
    let mut found = vec![];
    for (k, cells) in REFINED.into_iter().enumerate() {
        found.push([1.0 / f64::from(cells), sag(bench, &linear(MaterialModel::Corotational, 0.2, cells))?]);
        bench.done([0.25, 0.4, 1.0][k]);
    }
    let error = |k: usize| 1.0 - found[k][1] / CONVERGED;
    let order = (error(1) / error(2)).ln() / (found[1][0] / found[2][0]).ln();
    measures.push(Measure::absolute("corotational: order of convergence from 1,920 to 15,360 tets", 2.0, order, 0.3, ""));
    // Richardson's extrapolation with the order in theory.
    let ratio = (found[1][0] / found[2][0]).powi(2);
    let limit = (ratio * found[2][1] - found[1][1]) / (ratio - 1.0);
    measures.push(Measure::relative("corotational: sag, extrapolated from these", CONVERGED, limit, 0.01, "m"));
    let plot = Plot::new(Axis::linear("cell over length", ""), Axis::linear("sag of the end", "m"))
        .with(Style::Points, "measured, nu = 0.2", found.iter().copied())
        .with(
            Style::Line,
            "extrapolated as h^2",
            (0..=20).map(|i| f64::from(i) * 0.005).map(|h| {
                let slope = (found[1][1] - found[2][1]) / (found[1][0].powi(2) - found[2][0].powi(2));
                [h, limit + slope * h * h]
            }),
        )
        .with(Style::Expected, "converged, another code", [0.0, 0.1].map(|h| [h, CONVERGED]));
    Ok(Outcome { measures, plot })
}

pub const TORSION: Check = Check {
    name: "torsion",
    title: "Torsion of a bar",
    meaning: "A torque turns a square bar by as much as Saint-Venant's torsion constant says.",
    setup: "a bar of 0.6 x 0.2 x 0.2 m, E = 0.5 MPa, nu = 0.3, clamped at one end, turned at the other by about a milliradian a metre; \
            24 x 8 x 8 and 36 x 12 x 12 cells, 9,216 and 31,104 tets, extrapolated as h^2; the twist is taken between 0.2 and 0.4 m",
    source: "Saint-Venant: angle = T L / (G J), J = 0.14058 a^4 of a square of side a",
    place: Place::Chosen,
    run: torsion,
};

/// Torsion constant of a square over the fourth power of its side.
const SQUARE: f64 = 0.140_577;
/// Cells across the bar.
const TWISTED: [u32; 2] = [8, 12];

fn torsion(bench: &mut Bench) -> Result<Outcome, Unmeasured> {
    let nu = 0.3;
    let length = 3.0 * WIDTH;
    let stiffness = E / (2.0 * (1.0 + nu)) * SQUARE * WIDTH.powi(4);
    let torque = 1e-3 * stiffness;
    let [from, to] = [1.0, 2.0].map(|part| part * length / 3.0);
    let expected = torque * (to - from) / stiffness;
    let mut found = vec![];
    let mut profile = vec![];
    for (k, cells) in TWISTED.into_iter().enumerate() {
        let material = bench.material(MaterialModel::Corotational, E, nu);
        let body = alone(held(bar(material, Vec3::new(length, WIDTH, WIDTH), [3 * cells, cells, cells]), is_at(0.0)))?;
        // In proportion to the distance from the axis: far from the end only the torque counts.
        let around = |p: &Vec3, area: &Vec3| if is_at(length)(p) { Vec3::x().cross(p) * area.norm() } else { Vec3::zeros() };
        let mut loads = surface_loads(&body, around);
        let acting: f64 = loads.iter().map(|load| body.rest_positions[load.nodes[0] as usize].cross(&load.force).x).sum();
        loads.iter_mut().for_each(|load| load.force *= torque / acting);
        let mut simulation = bench.simulate(body.clone(), bench.static_params(), loads)?;
        let state = bench.to_rest(&mut simulation, bench.pick(1e-10, 1e-8))?;
        // The turn of a section that fits its displacements best.
        let turn = |x: f64| {
            let turned = mean(&body, is_at(x), |n| body.rest_positions[n].cross(&state.displacements[n]).x);
            turned / mean(&body, is_at(x), |n| body.rest_positions[n].yz().norm_squared())
        };
        found.push(turn(to) - turn(from));
        profile = (0..=3 * cells).map(|i| length * f64::from(i) / f64::from(3 * cells)).map(|x| [x, turn(x)]).collect();
        bench.done([0.25, 1.0][k]);
    }
    let ratio = (f64::from(TWISTED[1]) / f64::from(TWISTED[0])).powi(2);
    let limit = (ratio * found[1] - found[0]) / (ratio - 1.0);
    let middle = profile[profile.len() / 2];
    let plot = Plot::new(Axis::linear("along the bar", "m"), Axis::linear("turn", "rad"))
        .with(Style::Expected, "slope T / (G J)", [0.0, length].map(|x| [x, middle[1] + torque / stiffness * (x - middle[0])]))
        .with(Style::Points, "12 cells across", profile);
    Ok(Outcome { measures: vec![Measure::relative("turn of 0.2 m of the bar, extrapolated", expected, limit, 0.01, "rad")], plot })
}

pub const FREQUENCY: Check = Check {
    name: "frequency",
    title: "Natural frequency",
    meaning: "A bar that is stretched and let go swings along its axis as fast as sound runs through it.",
    setup: "a bar of 1 x 0.2 x 0.2 m held at one end, 40 x 2 x 2 cells, 960 tets, E = 0.5 MPa, nu = 0; three periods of 200 steps",
    source: "the wave equation: f = c / (4 L), c = sqrt(E / rho)",
    place: Place::Chosen,
    run: frequency,
};

fn frequency(bench: &mut Bench) -> Result<Outcome, Unmeasured> {
    let expected = (E / 1000.0).sqrt() / (4.0 * LENGTH);
    let (steps_a_period, periods) = (200, 3);
    let mut body = held(bar(bench.material(MaterialModel::Corotational, E, 0.0), SIZE, [40, 2, 2]), is_at(0.0));
    // The shape of the lowest mode, at rest and on its way; a strain of 1e-4 in the end.
    let amplitude = 1e-4 * LENGTH * 2.0 / PI;
    let speed = amplitude * 2.0 * PI * expected;
    body.velocities = body.tets.positions.iter().map(|p| Vec3::x() * (speed * (0.5 * PI * p.x / LENGTH).sin())).collect();
    let model = alone(body)?;
    let time_step = 1.0 / (expected * f64::from(steps_a_period));
    let params = Params { time_step, tolerance: bench.pick(1e-8, 1e-5), ..bench.static_params() };
    let mut simulation = bench.simulate(model.clone(), params, vec![])?;
    let mut motion = vec![[0.0, 0.0]];
    for step in 1..=steps_a_period * periods {
        bench.step(&mut simulation)?;
        let state = simulation.state()?;
        motion.push([state.time, mean(&model, is_at(LENGTH), |n| state.displacements[n].x)]);
        bench.done(f64::from(step) / f64::from(steps_a_period * periods));
    }
    // Between the first and the last time that the end passes the middle.
    let crossings: Vec<f64> = motion
        .windows(2)
        .filter(|w| w[0][1] * w[1][1] < 0.0)
        .map(|w| w[0][0] - w[0][1] * (w[1][0] - w[0][0]) / (w[1][1] - w[0][1]))
        .collect();
    let found = match crossings[..] {
        [first, .., last] => 0.5 * (crossings.len() - 1) as f64 / (last - first),
        _ => f64::NAN,
    };
    let duration = f64::from(periods) / expected;
    let exact = (0..=300).map(|i| duration * f64::from(i) / 300.0).map(|t| [t, amplitude * (2.0 * PI * expected * t).sin()]);
    let plot = Plot::new(Axis::linear("time", "s"), Axis::linear("displacement of the end", "m"))
        .with(Style::Expected, "undamped", exact)
        .with(Style::Line, "measured", motion);
    Ok(Outcome { measures: vec![Measure::relative("frequency", expected, found, 0.01, "Hz")], plot })
}
