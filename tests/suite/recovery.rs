//! Bodies of all shapes and materials that start scrambled, flattened and mirrored.

use pliant::elastic::mean_deformation;
use pliant::material::MaterialModel;
use pliant::math::{Aabb, Vec3};
use pliant::scene::Scene;
use pliant::sim::Simulation;

use super::Backend;

/// Compact, long, flat, round, closed, with several holes, and with limbs.
const SHAPES: [&str; 7] = [
    r#"shape = { type = "box", size = [0.2, 0.2, 0.2], cells = [3, 3, 3] }"#,
    r#"shape = { type = "box", size = [0.4, 0.1, 0.1], cells = [8, 2, 2] }"#,
    r#"shape = { type = "box", size = [0.3, 0.04, 0.3], cells = [8, 1, 8] }"#,
    r#"shape = { type = "icosphere", radius = 0.1, level = 2, resolution = 8 }"#,
    r#"shape = { type = "ring", radius = 0.09, width = 0.02, height = 0.02, segments = 18 }"#,
    r#"shape = { type = "frame", size = [0.36, 0.03, 0.36] }"#,
    "mesh = \"builtin:bunny.obj\"\nsize = 0.2\nresolution = 8",
];

const SCENE: &str = r#"
format = 1
[simulation]
time_step = 0.01
gravity = [0.0, 0.0, 0.0]
[material.solid]
young_modulus = 1e5
density = 1000.0
stiffness_damping = 0.03
# Air takes away what is left of vibrations.
mass_damping = 2.0
[[body]]
name = "body"
material = "solid"
"#;

/// Largest distance of a node from where the frame of the body has it, as a part of the size.
fn deviation(simulation: &mut Simulation) -> f64 {
    let model = simulation.model().clone();
    let state = simulation.state().unwrap();
    let Some(mean) = mean_deformation(&model, &model.bodies[0], &state.displacements) else { return f64::NAN };
    let x = state.positions(&model);
    let center = |points: &[Vec3]| points.iter().sum::<Vec3>() / points.len() as f64;
    let (now, rest) = (center(&x), center(&model.rest_positions));
    let off = x.iter().zip(&model.rest_positions).map(|(x, rest_x)| (x - now - mean.rotation * (rest_x - rest)).norm());
    off.fold(0.0, f64::max) / Aabb::of(&model.rest_positions).extent().max()
}

/// Steps in which a body is back at rest; the matrix of the truncated model resists rotation.
fn steps(model: &str) -> u32 {
    if model == "corotational_truncated" { 2000 } else { 400 }
}

const POISSON_RATIOS: [f64; 4] = [0.2, 0.3, 0.45, 0.49];
const STARTS: [(&str, u32); 4] = [("scrambled", 1), ("scrambled", 2), ("flattened", 1), ("mirrored", 1)];

/// Which ratio and start a shape and a material are tried with: one of each, so that all meet all shapes and materials;
/// with `PLIANT_WHOLE_GRID` in the environment, all 16.
fn is_tried([shape, model, ratio, start]: [usize; 4]) -> bool {
    let is_one = ratio == (shape + model) % 4 && start == (shape + 2 * model + model / 2) % 4;
    is_one || std::env::var_os("PLIANT_WHOLE_GRID").is_some()
}

/// Within 1 % of the rest shape, with no element inverted and nothing of the surface inside the body.
#[test]
fn every_shape_of_every_material_finds_back_from_every_start() {
    let (mut wrong, mut n) = (vec![], 0);
    for (i, shape) in SHAPES.into_iter().enumerate() {
        let name = shape.split(',').next().unwrap_or(shape);
        let mut slowest = 0.0f64;
        for (j, model) in MaterialModel::NAMES.iter().enumerate() {
            for (k, poisson_ratio) in POISSON_RATIOS.into_iter().enumerate() {
                for (_, (start, seed)) in STARTS.into_iter().enumerate().filter(|(l, _)| is_tried([i, j, k, *l])) {
                    let flags = [
                        format!("material.solid.model={model}"),
                        format!("material.solid.poisson_ratio={poisson_ratio}"),
                        format!("body.body.start={start}"),
                        format!("body.body.start_seed={seed}"),
                    ];
                    let scene = Scene::from_text("recovery", "recovery.toml", &(SCENE.to_owned() + shape), None, &flags).unwrap();
                    let mut simulation = Backend::Cpu.simulation(&scene);
                    simulation.set_measuring(true);
                    let ends = (0..steps(model)).try_for_each(|_| simulation.step().map(|_| ()));
                    let off = deviation(&mut simulation);
                    let report = simulation.report(0.0).unwrap();
                    let (inverted, tangled) = (report.bodies[0].inverted_tets, report.faults.tangled_bodies.len());
                    let penetration = simulation.tally().max_penetration;
                    slowest = slowest.max(0.01 * simulation.tally().tangled_steps as f64);
                    n += 1;
                    if ends.is_err() || off.is_nan() || off >= 0.01 || tangled > 0 || inverted != Some(0) || penetration != Some(0.0) {
                        wrong.push(format!(
                            "{name}, {flags:?}: {ends:?}, off by {off:.4}, {tangled} tangled, {inverted:?} inverted, {penetration:?}"
                        ));
                    }
                }
            }
        }
        println!("{name}: tangled for at most {slowest:.2} s");
    }
    assert!(wrong.is_empty(), "{} of {n}: {wrong:#?}", wrong.len());
}
