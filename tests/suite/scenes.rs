//! Every scene of the gallery, pulled about.

use pliant::scene::{Scene, gallery};

use crate::lab::*;

/// Coarse versions: the full ones are in `tests/long.rs`.
fn coarse(name: &str) -> Scene {
    let mut scene = Scene::builtin(name).unwrap();
    let flags: &[&str] = match name {
        "gallery" => &["body.bunny.resolution=10", "body.armadillo.resolution=12", "body.dragon.resolution=14"],
        "bunny" => &["body.bunny.resolution=12"],
        "armadillo" => &["body.armadillo.resolution=14"],
        "cantilever" => &["body.bar.shape.cells=[10,2,2]"],
        _ => &[],
    };
    flags.iter().for_each(|flag| scene.set(flag).unwrap());
    scene
}

#[test]
fn wild_drags_end_well() {
    let mut wrong = vec![];
    for entry in gallery() {
        for &backend in Backend::CONTACT {
            let drag = wild_drag(backend, &coarse(entry.name), 6.0);
            println!("{} {backend:?}: {}", entry.name, drag.told());
            let faults = drag.faults(entry.name);
            if !faults.is_empty() {
                wrong.push((entry.name, backend, faults));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
