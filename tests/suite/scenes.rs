//! The scenes of the gallery, pulled about; those that take minutes and the device in `tests/long.rs`.

use pliant::scene::{BackendChoice, Scene, build, gallery};
use pliant::sim::{Options, Simulation, report};

use crate::lab::*;

#[test]
fn wild_drags_end_well() {
    let mut wrong = vec![];
    for entry in gallery().iter().filter(|entry| !matches!(entry.name, "gallery" | "armadillo")) {
        let drag = wild_drag(Backend::Cpu, &coarse(entry.name), 6.0);
        println!("{}: {}", entry.name, drag.told());
        let faults = drag.faults(entry.name);
        if !faults.is_empty() {
            wrong.push((entry.name, faults));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A visitor pulls limbs through a body within a minute.
#[test]
fn limbs_do_not_pass_through_bodies() {
    for name in ["armadillo", "attached"] {
        assert_eq!(pulled_through(&coarse(name), &coarse(name), 120), 0, "{name}");
    }
    // Without self-contact the same pull goes through.
    let mut open = coarse("armadillo");
    open.set("body.armadillo.self_contact=off").unwrap();
    assert!(pulled_through(&open, &coarse("armadillo"), 120) > 0);
}

/// The beginning of the throw, of coarse bodies: the hand lifts the dragon, and threads do not change a bit of it.
#[test]
fn a_throw_has_the_same_bits_for_any_number_of_threads() {
    let flags = ["bunny", "armadillo", "dragon"].map(|body| format!("body.{body}.resolution=10"));
    let run = |threads| {
        let scene = Scene::load("throw", &flags).unwrap();
        let options = Options { backend: Some(BackendChoice::Cpu), threads: Some(threads), ..Options::default() };
        let mut simulation = Simulation::new(build(&scene).unwrap(), &options).unwrap();
        for _ in 0..40 {
            assert!(simulation.step().unwrap().converged);
        }
        let lowest = simulation.report(0.0).unwrap().bodies.iter().find(|body| body.name == "dragon").and_then(|body| body.lowest);
        (report::state_hash(simulation.state().unwrap()), lowest.unwrap())
    };
    let ((hash, lowest), (same, _)) = (run(1), run(2));
    assert_eq!(hash, same);
    assert!(lowest > 0.2, "the dragon is at {lowest} m");
}
