//! The experiments that take longest, in a binary of their own: below two minutes on two cores.

#[path = "suite/lab.rs"]
mod lab;

use lab::*;
use pliant::scene::{Scene, gallery};

/// The demand: within 1 % at 80x16x16, and an error that falls with the square of the cell size.
#[test]
fn the_fine_cantilever_is_within_one_percent_of_another_code() {
    let mut bars: Vec<Cantilever> = vec![];
    for cells in [[10, 2, 2], [20, 4, 4], [40, 8, 8], [80, 16, 16]] {
        let bar = Cantilever::rest(Backend::Cpu, cells, 0.2, bars.last());
        println!("{}", bar.told());
        bars.push(bar);
    }
    let order = (bars[2].error() / bars[3].error()).log2();
    println!("order {order:.2}");
    assert!(bars[3].error().abs() < 0.01, "{}", bars[3].told());
    assert!(order > 1.7, "{order}");
}

#[test]
fn wild_drags_of_the_whole_gallery_end_well() {
    let mut wrong = vec![];
    for entry in gallery() {
        let drag = wild_drag(Backend::Cpu, &Scene::builtin(entry.name).unwrap(), 6.0);
        println!("{}: {}", entry.name, drag.told());
        let faults = drag.faults(entry.name);
        if !faults.is_empty() {
            wrong.push((entry.name, faults));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
