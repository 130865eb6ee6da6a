//! The scenes of the gallery, pulled about; those that take minutes and the device in `tests/long.rs`.

use pliant::scene::gallery;

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
