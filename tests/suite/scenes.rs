//! Every scene of the gallery, pulled about; on the device in `tests/long.rs`.

use pliant::scene::gallery;

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
