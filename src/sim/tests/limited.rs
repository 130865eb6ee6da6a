//! Steps that end before they are solved, between things that are driven.

use super::*;

const PRESS: &str = r#"
format = 1
[simulation]
time_step = 0.01
[material.soft]
young_modulus = 2e4
poisson_ratio = 0.3
density = 1000
[[body]]
name = "floor"
kind = "static"
shape = { type = "plane" }
[[body]]
name = "cube"
material = "soft"
shape = { type = "box", size = [0.1, 0.1, 0.1], cells = [3, 3, 3] }
position = [0.0, 0.051, 0.0]
[[body]]
name = "plate"
kind = "driven"
shape = { type = "box", size = [0.3, 0.02, 0.3] }
position = [0.0, 0.115, 0.0]
motion = { keyframes = [{ time = 0.05 }, { time = 0.2, position = [0.0, -0.085, 0.0] }, { time = 0.3, position = [0.0, 0.2, 0.0] }] }
"#;

/// An obstacle of exact shape, and a rigid body of triangles.
const PLATE: &str = "shape = { type = \"box\", size = [0.3, 0.02, 0.3] }\nposition = [0.0, 0.115, 0.0]";
const BALL: &str = "shape = { type = \"icosphere\", radius = 0.1, level = 2 }\nposition = [0.0, 0.206, 0.0]";

fn press(with_ball: bool) -> Simulation {
    let ball = PRESS.replace(PLATE, BALL);
    simulation(BackendChoice::Cpu, if with_ball { &ball } else { PRESS }, &[])
}

/// How far the plate or the ball has gone [m].
fn way(simulation: &mut Simulation) -> f64 {
    let poses = [simulation.obstacle_poses(), simulation.rigid_poses().unwrap()].concat();
    let driven = poses.iter().map(|pose| pose.translation.y).fold(0.0, f64::max);
    driven - if simulation.rigid_poses().unwrap().is_empty() { 0.115 } else { 0.206 }
}

/// A plate that goes down to a seventh of a cube's height, whatever the cube can do in its steps, does not go through
/// it; it waits, and does all its way later.
#[test]
fn driven_bodies_wait_for_what_is_limited() {
    for with_ball in [false, true] {
        let mut simulation = press(with_ball);
        simulation.apply(&Command::SetMaxStepMs(1e-4)).unwrap();
        for step in 0..60 {
            simulation.step().unwrap();
            let (depth, way) = (simulation.penetration().unwrap(), way(&mut simulation));
            assert!(depth == 0.0, "{depth} m deep after step {step}, driven {way} m");
        }
        let (waited, limited) = (simulation.tally().waited, simulation.tally().limited_steps);
        assert!((waited > 0.2 || with_ball) && limited > 50, "{waited} s in {limited} steps");
        // With time to solve, the plate ends its way and the cube comes back to its height.
        simulation.apply(&Command::SetMaxStepMs(0.0)).unwrap();
        for _ in 0..150 {
            simulation.step().unwrap();
            assert!(simulation.penetration().unwrap() == 0.0);
        }
        assert!(simulation.tally().waited == waited, "nothing waits where there is time");
        let top = simulation.node_positions().unwrap().iter().map(|x| x.y).fold(0.0, f64::max);
        assert!((top - 0.1).abs() < 3e-3, "the cube is {top} m high");
        assert!((way(&mut simulation) - 0.2).abs() < 1e-9, "driven {} m", way(&mut simulation));
    }
}

/// A plate whose way leads through the floor stays where the cube leaves it no more of it.
#[test]
fn a_way_that_nothing_can_give_waits() {
    let through = PRESS.replace("-0.085", "-0.115");
    for budget in [1e-4, 5.0] {
        let mut simulation = simulation(BackendChoice::Cpu, &through, &[]);
        simulation.apply(&Command::SetMaxStepMs(budget)).unwrap();
        for _ in 0..40 {
            simulation.step().unwrap();
            assert!(simulation.penetration().unwrap() == 0.0);
        }
        let gap = simulation.obstacle_poses().iter().map(|pose| pose.translation.y).fold(0.0, f64::max) - 0.01;
        assert!(gap > 0.0 && simulation.tally().waited > 0.1, "{gap} m, {} s", simulation.tally().waited);
        assert!(simulation.tally().hanging_bodies.is_empty(), "what is pressed does not hang");
    }
}

/// How long they have waited is a part of the state.
#[test]
fn a_saved_state_keeps_what_waits() {
    let file = TestFile::new("waits");
    let mut simulation = press(false);
    simulation.apply(&Command::SetMaxStepMs(1e-4)).unwrap();
    steps(&mut simulation, 30);
    assert!(simulation.tally().waited > 0.0);
    simulation.save(&file.0).unwrap();
    let mut again = press(false);
    again.resume(&file.0).unwrap();
    steps(&mut simulation, 5);
    steps(&mut again, 5);
    assert!(state(&mut simulation) == state(&mut again));
}

/// A step that is accepted unsolved, as it may not be halved any more, enters no obstacle either.
#[test]
fn an_unsolved_step_does_not_enter_an_obstacle() {
    let flags = ["simulation.solver=\"cr\"", "simulation.max_contact_iterations=1"].map(str::to_owned);
    let built = build(&Scene::from_text("press", "press.toml", PRESS, None, &flags).unwrap()).unwrap();
    let options = Options { backend: Some(BackendChoice::Cpu), threads: Some(1), accept_unconverged: true, ..Options::default() };
    let mut simulation = Simulation::new(built, &options).unwrap();
    let mut falling = state(&mut simulation);
    falling.velocities.fill(Vec3::new(0.0, -3.0, 0.0));
    simulation.stepper.set_state(&falling).unwrap();
    for step in 0..5 {
        simulation.step().unwrap();
        let depth = simulation.penetration().unwrap();
        assert!(depth == 0.0, "{depth} m deep after step {step}");
    }
}
