//! Input that nobody means: every step ends within the work that it may do, is told as limited, and what is simulated
//! recovers when the values become sane.

use pliant::math::Vec3;
use pliant::scene::{BackendChoice, Scene, SceneError, build};
use pliant::sim::{Command, Options, Simulation, report};

/// Work that a step may do [ms].
const BUDGET: f64 = 50.0;

fn scene(flags: &[&str]) -> Result<Scene, SceneError> {
    let coarse = ["bunny", "armadillo", "dragon"].map(|body| format!("body.{body}.resolution=8"));
    let flags = coarse.into_iter().chain([format!("simulation.max_step_ms={BUDGET}")]).chain(flags.iter().map(|flag| (*flag).to_owned()));
    Scene::load("gallery", &flags.collect::<Vec<_>>())
}

fn simulation(flags: &[&str], threads: usize) -> Simulation {
    let options = Options { backend: Some(BackendChoice::Cpu), threads: Some(threads), ..Options::default() };
    Simulation::new(build(&scene(flags).unwrap()).unwrap(), &options).unwrap()
}

/// Steps, after each of which all is finite and nothing overlaps.
fn steps(simulation: &mut Simulation, n: usize, what: &str) {
    for step in 0..n {
        simulation.step().unwrap_or_else(|error| panic!("{what}, step {step}: {error}"));
        let state = simulation.state().unwrap();
        assert!(state.displacements.iter().chain(&state.velocities).all(|v| v.iter().all(|c| c.is_finite())), "{what}, step {step}");
        let overlaps = simulation.overlaps().unwrap();
        assert!(overlaps.is_empty(), "{what}, step {step}: {overlaps:?}");
    }
}

fn lowest(simulation: &mut Simulation) -> f64 {
    let bodies = simulation.report(0.0).unwrap().bodies;
    bodies.iter().filter_map(|body| body.lowest).fold(f64::INFINITY, f64::min)
}

/// Gravity and time steps that bring bodies through everything in one step: they come down all the same, and go on as
/// ever when the values are what they were.
#[test]
fn what_falls_too_far_in_a_step_is_limited_and_recovers() {
    let down = |g: f64| Command::SetGravity(Vec3::new(0.0, -g, 0.0));
    for command in [down(1e3), down(1e6), Command::SetTimeStep(10.0)] {
        let mut simulation = simulation(&[], 2);
        simulation.apply(&command).unwrap();
        steps(&mut simulation, 6, &format!("{command:?}"));
        assert!(simulation.tally().limited_steps > 0, "{command:?}: nothing was limited");
        simulation.apply(&down(9.81)).unwrap();
        simulation.apply(&Command::SetTimeStep(0.01)).unwrap();
        let limited = simulation.tally().limited_steps;
        steps(&mut simulation, 40, &format!("after {command:?}"));
        let tally = simulation.tally();
        println!("{command:?}: {limited} steps were limited, {} after it", tally.limited_steps - limited);
        assert!(tally.last.converged, "{command:?}: it does not recover");
        assert!(tally.hanging_bodies.is_empty(), "{command:?}: {:?} hang", tally.hanging_bodies);
        assert!(lowest(&mut simulation) < 0.02, "{command:?}: nothing has come down");
    }
}

/// Values at the ends of what scenes may say.
#[test]
fn absurd_values_end_in_time() {
    let cases: [&[&str]; 8] = [
        &["material.rubber.young_modulus=50", "material.jelly.young_modulus=50"],
        &["material.rubber.young_modulus=1e13"],
        &["material.rubber.density=1e-9", "material.jelly.density=1e-9"],
        &["material.rubber.density=1e6"],
        &["contact.friction=10"],
        &["body.dragon.velocity=[-1e5,-1e5,0]"],
        &["body.dragon.velocity=[-1e3,-1e3,0]"],
        &["body.dragon.size=1.1e-4"],
    ];
    for flags in cases {
        steps(&mut simulation(flags, 2), 6, &format!("{flags:?}"));
    }
}

/// What is not a number, or no length that can be computed with, is refused with its place.
#[test]
fn values_that_are_no_values_are_refused() {
    for (flag, names) in [
        ("simulation.gravity=[0,nan,0]", "simulation.gravity"),
        ("simulation.gravity=[0,inf,0]", "simulation.gravity"),
        ("simulation.time_step=nan", "simulation.time_step"),
        ("simulation.time_step=70", "simulation.time_step"),
        ("material.rubber.young_modulus=nan", "young_modulus"),
        ("material.rubber.density=0", "density"),
        ("contact.friction=1e6", "friction"),
        ("body.dragon.position=[nan,0,0]", "position"),
        ("body.dragon.size=1e5", "size"),
        ("body.dragon.position=[0.0,0.2,0.0]", "armadillo"),
    ] {
        let error = match scene(&[flag]).and_then(|scene| build(&scene)) {
            Err(error) => error.to_string(),
            Ok(built) => match Simulation::new(built, &Options { backend: Some(BackendChoice::Cpu), ..Options::default() }) {
                Err(error) => error.to_string(),
                Ok(_) => panic!("{flag} was accepted"),
            },
        };
        assert!(error.contains(names), "{flag}: {error}");
    }
    let mut simulation = simulation(&[], 1);
    for wrong in [
        Command::SetGravity(Vec3::repeat(f64::NAN)),
        Command::SetTimeStep(f64::INFINITY),
        Command::SetTimeStep(0.0),
        Command::SetMaxStepMs(f64::NAN),
        Command::SetMaxStepMs(-1.0),
    ] {
        assert!(simulation.apply(&wrong).is_err(), "{wrong:?}");
    }
}

/// What is limited has the same bits for any number of threads.
#[test]
fn limited_steps_have_the_same_bits_on_all_threads() {
    let run = |threads: usize| {
        let mut simulation = simulation(&[], threads);
        simulation.apply(&Command::SetGravity(Vec3::new(0.0, -1e3, 0.0))).unwrap();
        steps(&mut simulation, 4, "fall");
        assert!(simulation.tally().limited_steps > 0);
        report::state_hash(simulation.state().unwrap())
    };
    assert_eq!(run(1), run(2));
}

/// Two hands pull with springs of 1e9 N/m at targets a kilometre away.
#[test]
fn hands_that_pull_out_of_the_world_end_in_time() {
    let mut simulation = simulation(&[], 2);
    let triangles = [0, simulation.model().bodies[2].triangles.start as u32];
    for (id, triangle) in triangles.into_iter().enumerate() {
        let target = Vec3::new(1e3, -1e3, 0.0) * if id == 0 { 1.0 } else { -1.0 };
        simulation.apply(&Command::Grab { id: id as u32, triangle, barycentric: [0.2, 0.3, 0.5], target }).unwrap();
    }
    steps(&mut simulation, 5, "pull");
    for id in 0..2 {
        simulation.apply(&Command::ReleaseGrab { id }).unwrap();
    }
    steps(&mut simulation, 5, "released");
}
