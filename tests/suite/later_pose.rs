//! Factors of later poses: a run that keeps one comes to the same bits with any number of threads and after a resume.

use pliant::scene::{BackendChoice, Scene, build};
use pliant::sim::report::state_hash;
use pliant::sim::{Options, Simulation};

/// A coarse sheet of board that stays folded where it is creased.
fn creased(threads: usize) -> Simulation {
    let mut scene = Scene::builtin("creases").unwrap();
    scene.set("body.sheet.shape.cells=[30,1,4]").unwrap();
    let options = Options { backend: Some(BackendChoice::Cpu), threads: Some(threads), ..Options::default() };
    Simulation::new(build(&scene).unwrap(), &options).unwrap()
}

#[test]
fn a_folded_body_goes_on_with_the_factor_of_a_later_pose() {
    const LATEST: u64 = 100;
    const STEPS: u64 = 8;
    let [mut whole, mut with_two, mut resumed] = [1, 2, 1].map(creased);
    while whole.state().unwrap().later_poses.iter().all(Option::is_none) {
        assert!(whole.step_index() < LATEST, "the factor of the rest pose has served up to here");
        whole.step().unwrap();
    }
    let end = whole.step_index() + STEPS;
    let path = std::env::temp_dir().join(format!("pliant-later-pose-{}", std::process::id()));
    whole.save(&path).unwrap();
    let read = resumed.resume(&path);
    std::fs::remove_file(&path).unwrap();
    read.unwrap();
    let go_on = |simulation: &mut Simulation| {
        while simulation.step_index() < end {
            simulation.step().unwrap();
        }
        state_hash(simulation.state().unwrap())
    };
    let hash = go_on(&mut whole);
    assert_eq!(go_on(&mut resumed), hash, "resumed");
    assert_eq!(go_on(&mut with_two), hash, "with two threads");
}
