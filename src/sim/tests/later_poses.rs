//! Factors of later poses: part of the state, so that a run goes on to the same bits wherever it goes on from.

use super::*;
use crate::model::LaterPose;

/// The landing cube, pressed to the floor, with a factor of another pose than the one at rest; and the same without.
fn landed() -> [Simulation; 2] {
    let [mut later, mut rest] = std::array::from_fn(|_| simulation(BackendChoice::Cpu, LANDING, &[]));
    let mut state = state_after(&mut later, 8);
    assert!(!state.contacts.entries.is_empty(), "nothing touches");
    steps(&mut rest, 8);
    state.later_poses[0] = Some(Arc::new(LaterPose::of(&later.model, &state, 0)));
    state.outgrown[0] = 2;
    later.stepper.set_state(&state).unwrap();
    [later, rest]
}

#[test]
fn they_are_saved_and_resumed() {
    let file = TestFile::new("later_pose.state");
    let [mut later, mut rest] = landed();
    steps(&mut later, 2);
    later.save(&file.0).unwrap();
    let mut resumed = simulation(BackendChoice::Cpu, LANDING, &[]);
    resumed.resume(&file.0).unwrap();
    assert!(state(&mut resumed) == state(&mut later), "the state is another one");
    let checkpoint = later.checkpoint().unwrap();
    for simulation in [&mut later, &mut resumed] {
        steps(simulation, 4);
    }
    assert!(state(&mut resumed) == state(&mut later), "it went on otherwise");
    assert!(resumed.state().unwrap().later_poses[0].is_some(), "nothing was kept");
    // It makes a difference.
    steps(&mut rest, 6);
    assert!(rest.state().unwrap().displacements != later.state().unwrap().displacements, "the rest pose did the same");
    // A checkpoint holds it, too.
    let (end, log) = (state(&mut later), later.log().clone());
    later.restore(&checkpoint, log).unwrap();
    steps(&mut later, 4);
    assert!(state(&mut later) == end, "it went on otherwise from the checkpoint");
}

#[test]
fn a_pose_of_no_body_is_refused() {
    let file = TestFile::new("pose_of_none.state");
    let [mut later, _] = landed();
    later.save(&file.0).unwrap();
    let bytes = std::fs::read(&file.0).unwrap();
    let (header, numbers) = bytes.split_at(bytes.iter().position(|b| *b == b'\n').unwrap());
    // In a format without a checksum.
    let header = String::from_utf8(header.to_vec()).unwrap().replace("pliant state 4", "pliant state 3");
    for (poses, told) in [("[0]", None), ("[1]", Some("poses of bodies")), ("[]", Some("cut off")), ("[0,0]", Some("cut off"))] {
        let header = header.replace("\"later_poses\":[0]", &format!("\"later_poses\":{poses}"));
        std::fs::write(&file.0, [header.as_bytes(), &numbers[..numbers.len() - 8]].concat()).unwrap();
        let error = simulation(BackendChoice::Cpu, LANDING, &[]).resume(&file.0).err().map(|error| error.to_string());
        assert!(error.as_ref().map(|_| ()) == told.map(|_| ()), "{poses}: {error:?}");
        assert!(error.zip(told).is_none_or(|(error, told)| error.contains(told)), "{poses}");
    }
}

#[test]
fn what_begins_anew_begins_with_the_rest_pose() {
    let [mut later, _] = landed();
    later.apply(&Command::PutBack { body: "cube".into() }).unwrap();
    assert!(later.state().unwrap().later_poses == [None]);
    let [mut later, _] = landed();
    later.apply(&Command::SetMaterial(soft(Material { young_modulus: 2e5, ..Material::default() }))).unwrap();
    assert!(later.state().unwrap().later_poses == [None]);
}
