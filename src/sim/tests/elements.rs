//! Bodies whose elements are made of several tets.

use super::*;
use crate::element::ElementKind;
use crate::sim::health::Health;

/// A body of quadratic tets, one of averaged ones and one of linear ones fall onto a floor and against each other.
pub const KINDS: &str = r#"
format = 1
[simulation]
time_step = 0.01
[contact]
friction = 0.4
[material.soft]
young_modulus = 5e4
poisson_ratio = 0.45
density = 1000
stiffness_damping = 0.005
[[body]]
name = "floor"
kind = "static"
shape = { type = "plane" }
[[body]]
name = "cube"
material = "soft"
shape = { type = "box", size = [0.1, 0.1, 0.1], cells = [2, 2, 2] }
position = [0.0, 0.0505, 0.0]
velocity = [0.5, -1.0, 0.0]
[[body]]
name = "block"
material = "soft"
element = "averaged"
shape = { type = "box", size = [0.1, 0.1, 0.1], cells = [3, 3, 3] }
position = [0.102, 0.0505, 0.0]
[[body]]
name = "ball"
material = "soft"
element = "linear"
shape = { type = "sphere", radius = 0.04, resolution = 4 }
position = [0.03, 0.15, 0.01]
"#;

#[test]
fn bodies_of_all_elements_stand_without_crossing() {
    let mut run = simulation(BackendChoice::Cpu, KINDS, &[]);
    let kinds: Vec<ElementKind> = run.model().bodies.iter().map(|body| body.element).collect();
    assert_eq!(kinds, [ElementKind::Quadratic, ElementKind::Averaged, ElementKind::Linear]);
    let mut touched = false;
    for step in 0..120 {
        let report = run.step().unwrap();
        touched |= report.contact.active > 20;
        assert!(report.converged, "step {step}: {report:?}");
        if step % 10 == 9 {
            assert_eq!(run.penetration().unwrap(), 0.0, "step {step}");
            let positions = run.node_positions().unwrap();
            let health = Health::of(run.model(), &positions);
            assert!(health.is_intact() && health.inverted == 0.0, "step {step}: {health:?}");
        }
    }
    assert!(touched);
    let speed = state(&mut run).velocities.iter().map(|v| v.norm()).fold(0.0, f64::max);
    assert!(speed < 0.05, "they have come to rest: {speed} m/s");
}

#[test]
fn threads_do_not_change_bits() {
    let bits = |threads: usize| {
        let scene = Scene::from_text("test", "test.toml", KINDS, None, &[]).unwrap();
        let options = Options { backend: Some(BackendChoice::Cpu), threads: Some(threads), ..Options::default() };
        let mut run = Simulation::new(build(&scene).unwrap(), &options).unwrap();
        steps(&mut run, 8);
        state(&mut run)
    };
    assert!(bits(1) == bits(3));
}

/// The device computes all kinds as the CPU does, side by side and in contact.
#[cfg(feature = "gpu")]
#[test]
fn the_device_has_all_elements() {
    let run = |backend: BackendChoice| {
        let scene = Scene::from_text("test", "test.toml", KINDS, None, &[]).unwrap();
        let options = Options { backend: Some(backend), device: Some(crate::gpu::test_device()), ..Options::default() };
        let mut run = Simulation::new(build(&scene).unwrap(), &options).unwrap();
        let mut touched = false;
        for step in 0..30 {
            let report = run.step().unwrap();
            assert!(report.converged, "step {step}: {report:?}");
            touched |= report.contact.active > 10;
        }
        assert_eq!(run.penetration().unwrap(), 0.0);
        assert!(touched);
        (run.backend().backend, state(&mut run).displacements)
    };
    let [(cpu, wanted), (gpu, found), (_, again)] = [BackendChoice::Cpu, BackendChoice::Gpu, BackendChoice::Gpu].map(run);
    assert_eq!([cpu, gpu], ["cpu", "gpu"]);
    assert!(found == again, "the same bits each time");
    let off = |of: &[Vec3]| of.iter().zip(&wanted).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
    assert!(off(&found) < 2e-3, "{:e}", off(&found));
    assert!(wanted.iter().all(|u| u.norm() > 4e-3), "they have moved");
}

/// Blocks that conjugate gradients multiply in 20 steps of the bar that `scenes/bench/locking.toml` is, while it falls.
fn blocks_multiplied(poisson_ratio: f64, element: &str, cells: &str) -> f64 {
    let flags = [
        format!("material.rubber.poisson_ratio={poisson_ratio}"),
        format!("body.bar.element={element}"),
        format!("body.bar.shape.cells={cells}"),
    ];
    let scene = Scene::from_text("locking", "locking.toml", include_str!("../../../scenes/bench/locking.toml"), None, &flags).unwrap();
    let options = Options { backend: Some(BackendChoice::Cpu), threads: Some(1), ..Options::default() };
    let mut run = Simulation::new(build(&scene).unwrap(), &options).unwrap();
    let (mut iterations, mut stages) = (0, crate::step::StageTimes::new(crate::sim::threads::clock));
    for _ in 0..20 {
        let report = run.step().unwrap();
        assert!(report.converged && report.contact.active == 0);
        iterations += report.iterations;
        report.stages.times.iter().for_each(|(stage, ms)| stages.add(stage, *ms));
    }
    let blocks = run.model().pattern.n_blocks();
    println!("{poisson_ratio} {element} {cells}: {blocks} blocks, {iterations} iterations, {:?} ms", stages.times);
    f64::from(iterations) * blocks as f64
}

/// 810 quadratic tets, which are right within 0.6 %, are at most 1.3 times the work of 10,290 linear ones, which are 12
/// % and more off; 240 of them, right within 2 %, 0.6 times (`materials-study.md` 3).
#[test]
fn right_answers_cost_about_as_much_as_wrong_ones() {
    for poisson_ratio in [0.45, 0.49] {
        let linear = blocks_multiplied(poisson_ratio, "linear", "[35,7,7]");
        let [fine, coarse] = ["[15,3,3]", "[10,2,2]"].map(|cells| blocks_multiplied(poisson_ratio, "quadratic", cells) / linear);
        assert!(fine < 1.3 && coarse < 0.6, "{poisson_ratio}: {fine:.2}, {coarse:.2}");
    }
}
