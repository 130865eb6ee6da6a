//! Contacts of all kinds on the device against the CPU, step by step.

use pliant::math::Vec3;
use pliant::model::{Loads, Params, State};
use pliant::scene::Scene;
use pliant::sim::Threaded;
use pliant::sim::report::state_hash;
use pliant::step::Stepper;

use crate::lab::*;

/// Soft cubes on each other, on a rigid one, and a rigid ball on a rope.
pub const TOWER: &str = r#"
format = 1
[simulation]
time_step = 0.01
[contact]
friction = 0.4
[material.soft]
young_modulus = 5e4
poisson_ratio = 0.3
density = 1000
[[body]]
name = "floor"
kind = "static"
shape = { type = "plane" }
[[body]]
name = "base"
kind = "rigid"
density = 2000
shape = { type = "box", size = [0.14, 0.06, 0.14] }
position = [0.0, 0.0301, 0.0]
[[body]]
name = "cube"
material = "soft"
shape = { type = "box", size = [0.1, 0.1, 0.1], cells = [3, 3, 3] }
position = [0.01, 0.1104, 0.0]
[[body]]
name = "top"
material = "soft"
shape = { type = "box", size = [0.1, 0.1, 0.1], cells = [3, 3, 3] }
position = [-0.01, 0.2112, 0.01]
rotation = [0.0, 20.0, 0.0]
"#;

pub fn scene(text: &str) -> Scene {
    Scene::from_text("tower", "tower.toml", text, None, &[]).unwrap()
}

/// Positions of all nodes and rigid bodies.
pub fn places(model: &pliant::model::Model, state: &State) -> Vec<Vec3> {
    let rigid = state.rigid_bodies.iter().map(|r| r.pose.translation.vector);
    state.positions(model).into_iter().chain(rigid).collect()
}

pub fn farthest(a: &[Vec3], b: &[Vec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
}

/// From the same state both backends make the same step, with the same contact forces in all. Gaps and slips are free within the
/// contact tolerance, and the CPU's own answer moves with it: the device is to be as near to the CPU's answer for a
/// tenth of the tolerance as the CPU itself, or nearer than 1e-4 of the motion.
#[test]
fn single_steps_agree_with_the_cpu() {
    for (name, scene, looks) in [("tower", scene(TOWER), [2, 6, 12, 30]), ("attached", coarse("attached"), [5, 20, 40, 60])] {
        let mut simulation = Backend::Cpu.simulation(&scene);
        let model = simulation.model().clone();
        let params = *simulation.params();
        let mut cpu = Threaded::on_cpu(model.clone(), 1).unwrap();
        let mut device = with_engine(&model);
        let mut touched = 0;
        for look in looks {
            while simulation.step_index() < look {
                simulation.step().unwrap();
            }
            let state = simulation.state().unwrap();
            let step = |stepper: &mut dyn Stepper, params: &Params| {
                stepper.set_state(state).unwrap();
                let report = stepper.step(params, &Loads::default()).unwrap();
                assert!(report.converged, "{name} {look}: {report:?}");
                (places(&model, stepper.state().unwrap()), report)
            };
            let (wanted, _) = step(&mut cpu, &Params { contact_tolerance: 0.1 * params.contact_tolerance, ..params });
            let (rough, on_cpu) = step(&mut cpu, &params);
            let (found, on_device) = step(&mut device, &params);
            let motion = farthest(&wanted, &places(&model, state));
            let bound = (1e-4 * motion).max(1.5 * farthest(&rough, &wanted)).max(params.contact_tolerance);
            // The device solves all rows that it meets and the CPU those that matter: rows that say the same share
            // their force in other ways, but not its sum.
            let [a, b] = [&on_cpu, &on_device].map(|report| report.contact.normal_force_total);
            println!(
                "{name} {look}: device {:.1e} off, CPU {:.1e}, motion {motion:.1e}, forces {b} N and {a} N, {} round trips",
                farthest(&found, &wanted),
                farthest(&rough, &wanted),
                on_device.round_trips
            );
            assert!(farthest(&found, &wanted) < bound, "{name} {look}: {:e}, motion {motion:e}", farthest(&found, &wanted));
            assert!((a - b).abs() <= 0.001 * a, "{name} {look}: {a} N and {b} N");
            touched += on_device.contact.contacts;
            // The same comparison sees a time step that is a twentieth longer.
            let (other, _) = step(&mut device, &Params { time_step: 1.05 * params.time_step, ..params });
            assert!(motion < 1e-3 || farthest(&other, &wanted) > bound, "{name} {look}");
        }
        assert!(touched > 0 || name == "attached", "{name}: nothing touches");
    }
}

#[test]
fn the_same_run_with_contacts_has_the_same_bits_on_the_device() {
    let run = |steps: u64| {
        let mut simulation = Backend::Gpu.simulation(&scene(TOWER));
        assert_eq!(simulation.backend().solver, "auto");
        while simulation.step_index() < steps {
            simulation.step().unwrap();
        }
        let contacts = simulation.tally().last.contact.active;
        (state_hash(simulation.state().unwrap()), contacts)
    };
    let once = run(12);
    assert!(once.1 > 0, "nothing touches");
    assert_eq!(once, run(12));
}

/// A run that was saved goes on with the same bits: nothing that matters is left on the device.
#[test]
fn a_state_on_the_device_is_all_there_is() {
    let mut simulation = Backend::Gpu.simulation(&scene(TOWER));
    let (model, params) = (simulation.model().clone(), *simulation.params());
    while simulation.step_index() < 5 {
        simulation.step().unwrap();
    }
    let state = simulation.state().unwrap();
    let after = |stepper: &mut dyn Stepper| {
        stepper.set_state(state).unwrap();
        (0..3).for_each(|_| drop(stepper.step(&params, &Loads::default()).unwrap()));
        state_hash(stepper.state().unwrap())
    };
    let (mut used, mut fresh) = (with_engine(&model), with_engine(&model));
    used.step(&params, &Loads::default()).unwrap();
    assert_eq!(after(&mut used), after(&mut fresh));
}
