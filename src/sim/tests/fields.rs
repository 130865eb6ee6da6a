//! Fields of states whose values are known.

use super::*;
use crate::math::Mat3;
use crate::scene::BackendChoice;
use crate::sim::Field;

const CUBE: &str = r#"
format = 1
[material.solid]
young_modulus = 1e5
poisson_ratio = 0.3
[[body]]
name = "cube"
shape = { type = "box", size = [0.2, 0.2, 0.2], cells = [2, 2, 2] }
position = [0.0, 0.5, 0.0]
material = "solid"
element = "linear"
[[body]]
name = "floor"
kind = "static"
shape = { type = "plane" }
"#;

/// All values of a field in a uniform state are `wanted`.
fn assert_uniform(simulation: &mut Simulation, field: Field, wanted: f64) {
    let model = simulation.model().clone();
    let values = simulation.field(field).unwrap();
    assert_eq!((values.vertices.len(), values.tets.len()), (model.n_vertices(), model.tets.len()));
    let is_of_elements = matches!(field, Field::Material | Field::Quality);
    assert_eq!(values.nodes.len(), if is_of_elements { 0 } else { model.n_nodes() }, "{field:?}");
    for value in values.vertices.iter().chain(&values.tets).chain(&values.nodes) {
        assert!((f64::from(*value) - wanted).abs() <= 1e-5 * wanted.abs().max(1e-3), "{field:?}: {value} for {wanted}");
    }
}

#[test]
fn uniform_states_have_uniform_fields() {
    let mut cube = simulation(BackendChoice::Cpu, CUBE, &[]);
    let model = cube.model().clone();
    let quality = crate::mesh::tet_quality(&model.tets[0].nodes.map(|node| model.rest_positions[node as usize]));
    let at_rest = |field| match field {
        Field::VolumeRatio => 1.0,
        Field::Quality => quality,
        _ => 0.0,
    };
    assert!((0.5..1.0).contains(&quality));
    for (field, at_rest) in Field::ALL.map(|field| (field, at_rest(field))) {
        assert_uniform(&mut cube, field, at_rest);
    }
    // Drawn out along x by a tenth, and pushed together along y by a fifth.
    let stretch = Mat3::from_diagonal(&Vec3::new(1.1, 0.8, 1.0));
    let mut state = cube.state().unwrap().clone();
    for (u, x) in state.displacements.iter_mut().zip(&model.rest_positions) {
        *u = stretch * x - x;
    }
    state.velocities.fill(Vec3::new(0.0, -2.0, 0.0));
    cube.stepper.set_state(&state).unwrap();
    assert_uniform(&mut cube, Field::VolumeRatio, 0.88);
    assert_uniform(&mut cube, Field::Strain, 0.2);
    assert_uniform(&mut cube, Field::Speed, 2.0);
    // Corotational: sigma_k = (2 mu e_k + lambda tr e) s_k / J.
    let lame = model.materials[0].lame();
    let sigma = [(0.1, 1.1), (-0.2, 0.8), (0.0, 1.0)].map(|(e, s)| (2.0 * lame.mu * e + lame.lambda * -0.1) * s / 0.88);
    let mean = sigma.iter().sum::<f64>() / 3.0;
    assert_uniform(&mut cube, Field::VonMises, (1.5 * sigma.iter().map(|s| (s - mean).powi(2)).sum::<f64>()).sqrt());
    assert_uniform(&mut cube, Field::PrincipalStress, sigma[1]);
}

/// On the floor the weight is what presses: the pressure over the area around the nodes that touch.
#[test]
fn contact_pressure_is_where_a_body_stands() {
    let mut cube = simulation(BackendChoice::Cpu, CUBE, &["body.cube.position=[0.0,0.1,0.0]", "body.cube.origin=center"]);
    steps(&mut cube, 60);
    let model = cube.model().clone();
    let values = cube.field(Field::ContactPressure).unwrap();
    let positions = model.surface_positions(&state(&mut cube).positions(&model));
    let below = |p: &Vec3| p.y < 0.01;
    let weight = model.bodies[0].mass * 9.81 / 0.04;
    for (value, position) in values.vertices.iter().zip(&positions) {
        let expected = if below(position) { 0.2 * weight..5.0 * weight } else { -1e-9..1e-9 };
        assert!(expected.contains(&f64::from(*value)), "{value} at {position}, for a mean of {weight}");
    }
}
