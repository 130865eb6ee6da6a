//! Every scene of the gallery, pulled about; on the device in `tests/long.rs`.

use pliant::math::Vec3;
use pliant::scene::{self, Scene, gallery};
use pliant::sim::Command;
use pliant::sim::checker::PenetrationChecker;

use crate::lab::*;

#[test]
fn wild_drags_end_well() {
    let mut wrong = vec![];
    for entry in gallery() {
        let drag = wild_drag(Backend::Cpu, &coarse(entry.name), 6.0);
        println!("{}: {}", entry.name, drag.told());
        let faults = drag.faults(entry.name);
        if !faults.is_empty() {
            wrong.push((entry.name, faults));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Pulls the part of each body that is furthest from its middle through it, to the other side and far beyond. Returns the
/// number of steps after which a body of `strict`, the same scene with self-contact, overlaps itself or another one.
fn pulled_through(scene: &Scene, strict: &Scene, steps: u32) -> u32 {
    let strict = scene::build(strict).unwrap().model;
    let checker = PenetrationChecker::new(&strict);
    let mut simulation = Backend::Cpu.simulation(scene);
    let model = simulation.model().clone();
    let surface = model.surface_positions(&model.rest_positions);
    for (id, body) in (0..).zip(&model.bodies) {
        let nodes = &model.rest_positions[body.nodes.clone()];
        let middle = nodes.iter().sum::<Vec3>() / nodes.len() as f64;
        let reach = |triangle: usize| surface[model.surface.triangles[triangle][0] as usize] - middle;
        let tip = body.triangles.clone().max_by(|a, b| reach(*a).norm().total_cmp(&reach(*b).norm())).unwrap();
        let target = middle - reach(tip) * 2.0;
        simulation.apply(&Command::Grab { id, triangle: tip as u32, barycentric: [0.3, 0.3, 0.4], target }).unwrap();
    }
    let mut overlapping = 0;
    for _ in 0..steps {
        simulation.step().unwrap();
        overlapping += u32::from(!checker.overlaps(&strict, &simulation.state().unwrap()).is_empty());
    }
    let tally = simulation.tally();
    let faults = format!("{} rollbacks, {} unconverged", tally.rollbacks, tally.unconverged_steps);
    println!("{}: {overlapping} of {steps} steps overlap, {faults}", simulation.name());
    overlapping
}

/// A visitor pulls limbs through a body within a minute.
#[test]
fn limbs_do_not_pass_through_bodies() {
    for name in ["bunny", "armadillo", "gallery", "attached"] {
        assert_eq!(pulled_through(&coarse(name), &coarse(name), 120), 0, "{name}");
    }
    // Without self-contact the same pull goes through.
    let mut open = coarse("armadillo");
    open.set("body.armadillo.self_contact=off").unwrap();
    assert!(pulled_through(&open, &coarse("armadillo"), 120) > 0);
}
