//! Figures of states whose energies and momenta are known.

use super::*;
use crate::material::Material;
use crate::math::Quat;
use crate::mesh::shapes;
use crate::model::{ModelBuilder, SoftBody};
use crate::scene::{Scene, build};
use crate::sim::Options;
use crate::step::StepReport;

const GRAVITY: Vec3 = Vec3::new(0.0, -9.81, 0.0);

/// A bar of 2 x 1 x 1 m around the origin, moved from rest by `map`, and its state.
fn bar(map: impl Fn(&Vec3) -> Vec3, velocity: impl Fn(&Vec3) -> Vec3) -> (Model, State) {
    let tets = shapes::box_tets(Vec3::new(2.0, 1.0, 1.0), [2, 1, 1]);
    let mut builder = ModelBuilder::default();
    builder.soft_body(SoftBody::with_boundary_surface("bar", Material { poisson_ratio: 0.25, ..Material::default() }, tets));
    let model = builder.build().unwrap();
    let mut state = State::initial(&model);
    state.displacements = model.rest_positions.iter().map(|x| map(x) - x).collect();
    state.velocities = model.rest_positions.iter().map(|x| velocity(&map(x))).collect();
    (model, state)
}

#[test]
fn a_stretched_and_turned_bar_has_the_energy_of_its_stretch() {
    let turn = Quat::from_euler_angles(0.3, 0.5, -1.0);
    let (model, state) = bar(|x| turn * Vec3::new(x.x * 1.1, x.y, x.z) + Vec3::new(0.0, 5.0, 0.0), |_| Vec3::zeros());
    let energy = Energy::of(&model, &GRAVITY, &state);
    let lame = model.bodies[0].material.lame();
    let wanted = 2.0 * 0.01 * (lame.mu + 0.5 * lame.lambda);
    assert!((energy.elastic / wanted - 1.0).abs() < 1e-9, "{} instead of {wanted}", energy.elastic);
    assert!((energy.gravitational - 2000.0 * 9.81 * 5.0).abs() < 1e-6);
    assert_eq!(energy.kinetic, 0.0);
    let body = &body_reports(&model, &state)[0];
    assert!((body.volume_ratio.unwrap() - 1.1).abs() < 1e-12 && body.inverted_tets == Some(0));
}

#[test]
fn momenta_are_those_of_a_rigid_motion() {
    let omega = Vec3::new(0.0, 0.0, 2.0);
    let center = Vec3::new(0.0, 7.0, 0.0);
    let (model, state) = bar(|x| x + center, |x| Vec3::x() + omega.cross(&(x - center)));
    let body = &body_reports(&model, &state)[0];
    // Kuhn's cells are not symmetric: the centre of mass of the lumped masses is not the middle.
    let nodes = || model.rest_positions.iter().zip(&model.node_masses);
    let middle = nodes().map(|(x, m)| x * *m).sum::<Vec3>() / 2000.0;
    let inertia: f64 = nodes().map(|(x, m)| m * (x - middle).xy().norm_squared()).sum();
    let momentum = (Vec3::x() + omega.cross(&middle)) * 2000.0;
    assert!((Vec3::from(body.linear_momentum.unwrap()) - momentum).norm() < 1e-6);
    assert!((body.angular_momentum.unwrap()[2] - 2.0 * inertia).abs() < 1e-9 * inertia);
    assert_eq!((body.lowest, body.highest), (Some(6.5), Some(7.5)));
    let probe = Probe { name: "all".into(), vertices: (0..model.n_vertices() as u32).collect(), nodes: vec![] };
    let probe = ProbeReport::of(&probe, &model, &state);
    assert!((probe.displacement[1] - 7.0).abs() < 1e-12 && (probe.velocity[0] - 1.0).abs() < 1e-9);
}

#[test]
fn rigid_bodies_have_rows_and_their_share_of_the_energy() {
    let text = "format = 1\n[[body]]\nname = \"brick\"\nkind = \"rigid\"\nshape = { type = \"box\", size = [0.2, 0.4, 0.6] }\nmass = 6.0\n\
                position = [1, 5, 0]\nvelocity = [2, 0, 0]\nangular_velocity = [0, 0, 3]\n\
                [[body]]\nname = \"race\"\nkind = \"static\"\nshape = { type = \"torus\", radius = 0.2, tube_radius = 0.05, resolution = 4 }\n\
                [[body]]\nname = \"floor\"\nkind = \"static\"\nshape = { type = \"plane\" }\nposition = [0, -1, 0]\n";
    let model = build(&Scene::from_text("bricks", "bricks.toml", text, None, &[]).unwrap()).unwrap().model;
    let state = State::initial(&model);
    let bodies = body_reports(&model, &state);
    assert_eq!(
        bodies.iter().map(|b| (b.name.as_str(), b.kind)).collect::<Vec<_>>(),
        [("brick", "rigid"), ("race", "static"), ("floor", "static")]
    );
    let (brick, race) = (&bodies[0], &bodies[1]);
    let inertia = 6.0 * (0.04 + 0.16) / 12.0;
    let near = |found: Option<f64>, wanted: f64| (found.unwrap() - wanted).abs() < 1e-9;
    assert!(near(brick.mass, 6.0) && near(brick.volume, 0.048) && near(brick.volume_ratio, 1.0));
    assert!(near(brick.lowest, 4.8) && near(brick.highest, 5.2) && near(brick.center_of_mass.map(|c| c[1]), 5.0));
    assert!(near(brick.linear_momentum.map(|p| p[0]), 12.0) && near(brick.angular_momentum.map(|l| l[2]), 3.0 * inertia));
    // The corner below the axis: v + omega x r.
    assert!(near(brick.max_speed, ((2.0 + 3.0 * 0.2_f64).powi(2) + 0.09).sqrt()));
    assert!(race.mass.is_none() && race.max_speed.is_none() && race.surface_triangles > 0 && near(race.highest, 0.05));
    let energy = Energy::of(&model, &GRAVITY, &state);
    assert!((energy.kinetic - 12.0 - 4.5 * inertia).abs() < 1e-9 && (energy.gravitational - 6.0 * 9.81 * 5.0).abs() < 1e-9);
    assert_eq!((energy.elastic, energy.total), (0.0, energy.kinetic + energy.gravitational));
}

#[test]
fn mirrored_tets_are_counted() {
    let (model, state) = bar(|x| Vec3::new(-x.x, x.y, x.z), |_| Vec3::zeros());
    let body = &body_reports(&model, &state)[0];
    assert_eq!(body.inverted_tets, Some(model.tets.len()));
    assert!((body.volume_ratio.unwrap() + 1.0).abs() < 1e-12);
    // A mirror image is as far from the rest shape as a stretch of -1 along its least axis.
    let lame = model.bodies[0].material.lame();
    let wanted = 2.0 * (4.0 * lame.mu + 2.0 * lame.lambda);
    assert!((Energy::of(&model, &GRAVITY, &state).elastic / wanted - 1.0).abs() < 1e-9);
}

#[test]
fn the_hash_sees_every_bit_and_never_changes() {
    let (_, mut state) = bar(|x| *x, |_| Vec3::x());
    let before = state_hash(&state);
    assert_eq!(before, state_hash(&state.clone()));
    state.velocities[7].y = -0.0;
    assert_ne!(before, state_hash(&state));
    state.velocities[7].y = 0.0;
    state.displacements[0].x = f64::from_bits(1);
    assert_ne!(before, state_hash(&state));
    // A fixed value, so that reports of different versions can be compared.
    state.displacements = vec![Vec3::new(1.0, 2.0, 3.0)];
    state.velocities = vec![Vec3::new(-1.0, 0.5, 0.25)];
    assert_eq!(state_hash(&state), "461c2f3569d76be3");
}

#[test]
fn statistics_of_steps() {
    let mut tally = Tally::default();
    for i in 1..=4 {
        let mut step = StepReport::default();
        step.stages.add("solve", f64::from(i));
        tally.record(&step, 0.01, f64::from(i) * 10.0, None);
    }
    let timing = timing(&tally, 0.01);
    let ms = timing.ms_per_step.unwrap();
    assert_eq!((ms.mean, ms.median, ms.max), (25.0, 25.0, 40.0));
    assert!((ms.p95 - 38.5).abs() < 1e-12 && (timing.real_time_factor.unwrap() - 0.4).abs() < 1e-12);
    assert_eq!(timing.stages["solve"], 2.5);
}

#[test]
fn the_json_has_the_fields_of_the_contract() {
    let scene = Scene::builtin("incline").unwrap();
    let options = Options { backend: Some(crate::scene::BackendChoice::Cpu), threads: Some(1), ..Options::default() };
    let mut simulation = Simulation::new(build(&scene).unwrap(), &options).unwrap();
    simulation.set_measuring(true);
    simulation.step().unwrap();
    let columns = simulation.trace_header().split(',').count();
    assert_eq!(simulation.trace_row().unwrap().split(',').count(), columns);
    let json = serde_json::to_value(simulation.report(1.0).unwrap()).unwrap();
    for (pointer, keys) in [
        (
            "",
            "scene version backend adapter solver threads dt steps finished time build_ms state_hash bodies energy timing contact probes faults notes",
        ),
        ("/bodies/0", "name kind nodes tets surface_triangles mass volume volume_ratio center_of_mass linear_momentum"),
        ("/bodies/0", "angular_momentum lowest highest max_speed inverted_tets"),
        ("/energy", "kinetic elastic gravitational total dissipated_by_friction"),
        ("/timing", "ms_per_step stages real_time_factor"),
        ("/timing/ms_per_step", "mean median p95 max"),
        (
            "/solver",
            "iterations passes restarts relinearisations newton energy_halvings solves dual_iterations searches attempts residual unconverged_steps limited_steps waited round_trips device",
        ),
        ("/solver/iterations", "mean median max"),
        ("/contact", "contacts constraints max_penetration max_gap_of_active max_complementarity_error max_cone_violation"),
        ("/contact", "normal_force_total friction_force_total pairs"),
        ("/contact/pairs/0", "a b normal friction contacts"),
        ("/probes/0", "name position displacement velocity"),
        ("/faults", "rollbacks non_finite missed_candidates"),
    ] {
        let at = json.pointer(pointer).unwrap_or_else(|| panic!("{pointer} is missing in {json:#}"));
        for key in keys.split(' ') {
            assert!(at.get(key).is_some(), "{pointer}/{key} is missing");
        }
    }
    assert_eq!(json["faults"]["missed_candidates"], 0);
    assert!(json["solver"]["device"].is_null(), "this was the CPU");
}
