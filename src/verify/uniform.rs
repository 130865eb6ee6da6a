//! Bodies in a state of uniform stress, which linear elements hold exactly: the patch test and the elastic moduli.

use super::bench::{Bench, alone, bar, held, mean, scramble, tractions};
use super::check::{Check, Measure, Outcome, Place};
use super::derivatives::sound_models;
use super::plot::{Axis, Plot, Style};
use super::unmeasured::Unmeasured;
use crate::elastic::{cauchy_stresses, deformation_gradient};
use crate::material::{Constitutive, Deformation, MaterialModel};
use crate::math::lanes::from_matrix;
use crate::math::{Mat3, Vec3};
use crate::model::{Model, Params, State};

const E: f64 = 5e5;
const NU: f64 = 0.3;
/// Small enough that every model answers as linear elasticity does, to a part in a thousand.
const STRAIN: f64 = 1e-4;
/// [m]
const BOX: Vec3 = Vec3::new(0.3, 0.2, 0.25);
const CELLS: [u32; 3] = [4, 3, 3];
/// Steps to rest.
const SETTLING: u32 = 40;
/// Part of the largest displacement that the patch test may be off by: the steps to rest leave up to 3e-8 of it with
/// the tangents that differ most from the derivative (`neo_hookean`, `mooney_rivlin`).
const PATCH_BOUND: f64 = 1e-7;
const SETUP: &str =
    "a box of 0.3 x 0.2 x 0.25 m, 80 nodes, 216 tets, inner nodes moved about by up to a fifth of a cell; E = 0.5 MPa, nu = 0.3";

pub const PATCH: Check = Check {
    name: "patch",
    title: "Patch test",
    meaning: "Elements of any shape reproduce a uniform stretch and shear exactly, and feel no force inside it.",
    setup: SETUP,
    source: "Irons' patch test; the tractions are P(F) N of the material itself, so the answer is the affine map F",
    place: Place::Chosen,
    run: patch,
};

pub const UNIAXIAL: Check = Check {
    name: "uniaxial",
    title: "Uniaxial tension",
    meaning: "A pulled bar lengthens by F L / (E A) and thins by Poisson's ratio.",
    setup: SETUP,
    source: "linear elasticity at a strain of 1e-4: strain F / (E A), contraction nu times that",
    place: Place::Chosen,
    run: uniaxial,
};

pub const SHEAR: Check = Check {
    name: "shear",
    title: "Simple shear",
    meaning: "A sheared block yields by the shear stress over the shear modulus.",
    setup: SETUP,
    source: "linear elasticity at a shear of 1e-4: gamma = tau / G, G = E / (2 (1 + nu))",
    place: Place::Chosen,
    run: shear,
};

pub const HYDROSTATIC: Check = Check {
    name: "hydrostatic",
    title: "Hydrostatic compression",
    meaning: "Under pressure from all sides a body loses the volume that its bulk modulus says.",
    setup: SETUP,
    source: "linear elasticity at 1e-4: dV / V = -p / K, K = E / (3 (1 - 2 nu))",
    place: Place::Chosen,
    run: hydrostatic,
};

/// At rest under the tractions of a uniform first Piola-Kirchhoff stress [Pa], of which `share` acts.
fn loaded(bench: &Bench, material: MaterialModel, stress: &Mat3, is_clamped: impl Fn(&Vec3) -> bool) -> Result<(Model, State), Unmeasured> {
    let mut body = held(bar(bench.material(material, E, NU), BOX, CELLS), is_clamped);
    scramble(&mut body.tets, CELLS);
    let model = alone(body)?;
    let forces = tractions(&model, stress);
    // So long that inertia hardly counts, and so short that it steadies a body that nothing holds: forces that keep
    // their directions press it over, if slowly.
    let params = Params { time_step: 0.05, ..bench.static_params() };
    let mut simulation = bench.simulate(model.clone(), params, forces)?;
    for _ in 0..SETTLING {
        bench.step(&mut simulation)?;
    }
    let state = simulation.state()?.clone();
    Ok((model, state))
}

/// The part of the load for each point of a curve.
const SHARES: [f64; 4] = [0.25, 0.5, 0.75, 1.0];

fn patch(bench: &mut Bench) -> Result<Outcome, Unmeasured> {
    let mut outcome = Outcome { plot: Plot::new(Axis::linear("x at rest", "m"), Axis::linear("displacement", "m")), ..Outcome::default() };
    let models = sound_models();
    for (k, model) in models.iter().enumerate() {
        // The face x = 0 stays where it is.
        let along_x = Vec3::new(0.04, 0.03, -0.02);
        let f = Mat3::identity() + along_x * Vec3::x().transpose();
        let material = Constitutive::new(&bench.material(*model, E, NU));
        let svd = f.svd(true, true);
        let rotation = svd.u.zip(svd.v_t).map_or_else(Mat3::identity, |(u, v_t)| u * v_t);
        let deformation = Deformation { gradient: from_matrix(&(f - Mat3::identity())), rotation: from_matrix(&rotation), state: &[] };
        let stress = material.stress(&deformation);
        let (body, state) = loaded(bench, *model, &stress, |p| p.x < 1e-9)?;
        let exact = |p: &Vec3| along_x * p.x;
        let off = body.rest_positions.iter().zip(&state.displacements).map(|(p, u)| (u - exact(p)).norm()).fold(0.0, f64::max);
        let forces = element_forces(&body, &state);
        let mut on_surface = vec![false; body.n_nodes()];
        body.surface.nodes.iter().for_each(|nodes| on_surface[nodes[0] as usize] = true);
        let largest = |wanted: bool| (0..body.n_nodes()).filter(|n| on_surface[*n] == wanted).map(|n| forces[n].norm()).fold(0.0, f64::max);
        let name = model.name();
        outcome.measures.push(Measure::error(
            format!("{name}: largest error of a displacement, as a part of the largest"),
            off / (along_x.norm() * BOX.x),
            bench.pick(PATCH_BOUND, 1e-4),
            "",
        ));
        outcome.measures.push(Measure::error(
            format!("{name}: largest force on an inner node, as a part of that on the surface"),
            largest(false) / largest(true),
            bench.pick(1e-8, 1e-3),
            "",
        ));
        if k == 0 {
            for (axis, component) in ["x", "y", "z"].into_iter().enumerate() {
                let found = body.rest_positions.iter().zip(&state.displacements).map(move |(p, u)| [p.x, u[axis]]);
                outcome.plot = outcome.plot.with(Style::Points, format!("measured {component}"), found);
            }
            let ends = |axis: usize| [0.0, BOX.x].map(|x| [x, along_x[axis] * x]);
            outcome.plot =
                (0..3).fold(outcome.plot, |plot, axis| plot.with(Style::Expected, if axis == 0 { "expected" } else { "" }, ends(axis)));
        }
        bench.done((k + 1) as f64 / models.len() as f64);
    }
    Ok(outcome)
}

/// Forces of the elements on their nodes [N], from the stress that reports and pictures show.
fn element_forces(model: &Model, state: &State) -> Vec<Vec3> {
    let mut forces = vec![Vec3::zeros(); model.n_nodes()];
    for (tet, stress) in model.tets.iter().zip(cauchy_stresses(model, &state.displacements, &[])) {
        let f = deformation_gradient(tet, &state.displacements);
        let piola = stress
            .zip(f.try_inverse())
            .map_or_else(|| Mat3::repeat(f64::NAN), |(sigma, inverse)| sigma * inverse.transpose() * f.determinant());
        for (node, gradient) in tet.nodes.iter().zip(&tet.gradients) {
            forces[*node as usize] -= piola * gradient * tet.volume;
        }
    }
    forces
}

/// Runs every model under parts of a load, and collects the curve of the answer.
fn over_models(
    bench: &mut Bench,
    plot: Plot,
    mut measure: impl FnMut(&Bench, MaterialModel, f64) -> Result<([f64; 2], Vec<Measure>), Unmeasured>,
) -> Result<Outcome, Unmeasured> {
    let mut outcome = Outcome { plot, ..Outcome::default() };
    let models = sound_models();
    for (k, model) in models.iter().enumerate() {
        let mut points = vec![];
        for (i, share) in SHARES.iter().enumerate() {
            let (point, measures) = measure(bench, *model, *share)?;
            points.push(point);
            if *share == 1.0 {
                outcome.measures.extend(measures);
            }
            bench.done((k * SHARES.len() + i + 1) as f64 / (models.len() * SHARES.len()) as f64);
        }
        outcome.plot = outcome.plot.with(Style::Points, model.name(), points);
    }
    Ok(outcome)
}

fn uniaxial(bench: &mut Bench) -> Result<Outcome, Unmeasured> {
    let area = BOX.y * BOX.z;
    let plot = Plot::new(Axis::linear("elongation", "m"), Axis::linear("force", "N")).with(
        Style::Expected,
        "F L / (E A)",
        [0.0, 1.0].map(|share| [share * STRAIN * BOX.x, share * STRAIN * E * area]),
    );
    over_models(bench, plot, |bench, model, share| {
        let stress = share * STRAIN * E;
        let (body, state) = loaded(bench, model, &(Vec3::x() * stress * Vec3::x().transpose()), |_| false)?;
        let side = |axis: usize, at: f64| mean(&body, |p| (p[axis] - at).abs() < 1e-9, |n| state.displacements[n][axis]);
        let elongation = side(0, BOX.x) - side(0, 0.0);
        let narrowing = side(1, -0.5 * BOX.y) - side(1, 0.5 * BOX.y);
        let (name, tolerance) = (model.name(), bench.pick(1e-3, 1e-2));
        let measures = vec![
            Measure::relative(format!("{name}: elongation"), share * STRAIN * BOX.x, elongation, tolerance, "m"),
            Measure::relative(format!("{name}: lateral contraction"), NU * share * STRAIN * BOX.y, narrowing, tolerance, "m"),
        ];
        Ok(([elongation, stress * area], measures))
    })
}

fn shear(bench: &mut Bench) -> Result<Outcome, Unmeasured> {
    let modulus = E / (2.0 * (1.0 + NU));
    let plot = Plot::new(Axis::linear("shear", ""), Axis::linear("shear stress", "Pa")).with(
        Style::Expected,
        "G gamma",
        [0.0, 1.0].map(|share| [share * STRAIN, share * STRAIN * modulus]),
    );
    over_models(bench, plot, |bench, model, share| {
        let stress = share * STRAIN * modulus;
        let both = Vec3::x() * Vec3::y().transpose() + Vec3::y() * Vec3::x().transpose();
        let (body, state) = loaded(bench, model, &(both * stress), |p| p.y < -0.499 * BOX.y)?;
        let top = mean(&body, |p| p.y > 0.499 * BOX.y, |n| state.displacements[n].x);
        let found = top / BOX.y;
        let measure = Measure::relative(format!("{}: shear", model.name()), share * STRAIN, found, bench.pick(1e-3, 1e-2), "");
        Ok(([found, stress], vec![measure]))
    })
}

fn hydrostatic(bench: &mut Bench) -> Result<Outcome, Unmeasured> {
    let modulus = E / (3.0 * (1.0 - 2.0 * NU));
    let plot = Plot::new(Axis::linear("loss of volume", ""), Axis::linear("pressure", "Pa")).with(
        Style::Expected,
        "K dV / V",
        [0.0, 1.0].map(|share| [share * STRAIN, share * STRAIN * modulus]),
    );
    over_models(bench, plot, |bench, model, share| {
        let pressure = share * STRAIN * modulus;
        let (body, state) = loaded(bench, model, &(Mat3::identity() * -pressure), |_| false)?;
        let volume: f64 =
            body.tets.iter().map(|tet| tet.volume * (deformation_gradient(tet, &state.displacements).determinant() - 1.0)).sum();
        let found = -volume / body.bodies[0].volume;
        let measure = Measure::relative(format!("{}: loss of volume", model.name()), share * STRAIN, found, bench.pick(1e-3, 1e-2), "");
        Ok(([found, pressure], vec![measure]))
    })
}
