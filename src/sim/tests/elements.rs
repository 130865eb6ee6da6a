//! Bodies whose elements are made of several tets, on the CPU, which alone has them.

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

/// The device says which body it cannot compute, and what helps; left to itself the program takes the processor.
#[cfg(feature = "gpu")]
#[test]
fn the_device_refuses_elements_that_it_does_not_have() {
    let open = |backend: BackendChoice| {
        let scene = Scene::from_text("test", "test.toml", KINDS, None, &[]).unwrap();
        let options = Options { backend: Some(backend), device: Some(crate::gpu::test_device()), ..Options::default() };
        Simulation::new(build(&scene).unwrap(), &options)
    };
    let refusal = open(BackendChoice::Gpu).err().unwrap().to_string();
    assert!(["\"cube\"", "quadratic", "element = \"linear\"", "--backend cpu"].iter().all(|word| refusal.contains(word)), "{refusal}");
    assert_eq!(open(BackendChoice::Auto).unwrap().backend().backend, "cpu");
}
