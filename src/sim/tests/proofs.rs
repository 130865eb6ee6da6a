//! What is known of bodies that cannot touch themselves is a part of the state.

use super::*;
use crate::model::InjectivityProof;

/// A run goes on after a resume with the rotations and ages that it had, and not with what would be found anew.
#[test]
fn a_resume_keeps_what_is_known_of_bodies_that_cannot_touch_themselves() {
    let file = TestFile::new("proofs.state");
    let [mut whole, mut resumed] = [(); 2].map(|()| simulation(BackendChoice::Cpu, LANDING, &[]));
    steps(&mut whole, 4);
    whole.save(&file.0).unwrap();
    let known = state(&mut whole).proofs;
    assert!(known.iter().any(|proof| proof.rotation.is_some()), "{known:?}");
    steps(&mut whole, 4);
    let end = state(&mut whole);
    assert!(end.proofs.iter().zip(&known).all(|(end, known)| end.age == known.age + 4), "{known:?} {:?}", end.proofs);
    resumed.resume(&file.0).unwrap();
    assert_eq!(state(&mut resumed).proofs, known);
    steps(&mut resumed, 4);
    assert!(state(&mut resumed) == end);
    // A body that was tried in vain waits as long as it would have.
    for (age, is_found) in [(3, false), (40, true)] {
        resumed.resume(&file.0).unwrap();
        let mut other = state(&mut resumed);
        other.proofs.fill(InjectivityProof { rotation: None, age });
        resumed.stepper.set_state(&other).unwrap();
        resumed.save(&file.0.with_extension("other")).unwrap();
        let other = TestFile(file.0.with_extension("other"));
        let [mut first, mut second] = [(); 2].map(|()| simulation(BackendChoice::Cpu, LANDING, &[]));
        first.resume(&other.0).unwrap();
        steps(&mut first, 2);
        assert_eq!(state(&mut first).proofs.iter().any(|proof| proof.rotation.is_some()), is_found, "{age}");
        first.save(&other.0).unwrap();
        second.resume(&other.0).unwrap();
        steps(&mut first, 2);
        steps(&mut second, 2);
        assert!(state(&mut first) == state(&mut second), "{age}");
    }
}

/// Files from before that was kept are read: it is found anew.
#[test]
fn a_state_without_proofs_is_read() {
    let file = TestFile::new("no-proofs.state");
    let mut whole = simulation(BackendChoice::Cpu, LANDING, &[]);
    steps(&mut whole, 4);
    let mut old = state(&mut whole);
    old.proofs.clear();
    whole.stepper.set_state(&old).unwrap();
    whole.save(&file.0).unwrap();
    let bytes = std::fs::read(&file.0).unwrap();
    let header = bytes.iter().position(|b| *b == b'\n').unwrap();
    let text = std::str::from_utf8(&bytes[..header]).unwrap();
    assert!(text.contains("\"proofs\":0,"), "{text}");
    // As format 3, which has no checksum.
    let text = text.replace("\"proofs\":0,", "").replace("pliant state 4", "pliant state 3");
    std::fs::write(&file.0, [text.as_bytes(), &bytes[header..bytes.len() - 8]].concat()).unwrap();
    let mut resumed = simulation(BackendChoice::Cpu, LANDING, &[]);
    resumed.resume(&file.0).unwrap();
    assert!(state(&mut resumed) == old);
    steps(&mut resumed, 1);
    assert!(state(&mut resumed).proofs.iter().any(|proof| proof.rotation.is_some() && proof.age == 1));
}

/// A bar that falls across a ball: its halves hang down long before they touch each other.
const DRAPE: &str = r#"
format = 1
[simulation]
time_step = 0.01
[material.soft]
young_modulus = 2e4
[[body]]
name = "ball"
kind = "static"
shape = { type = "sphere", radius = 0.04 }
[[body]]
name = "bar"
material = "soft"
shape = { type = "box", size = [0.5, 0.03, 0.03], cells = [16, 1, 1] }
position = [0.0, 0.06, 0.0]
velocity = [0.0, -3.0, 0.0]
"#;

/// Where a proof does not hold to the end of a step, what was solved is tested against the pairs that it left out, and
/// nothing is solved again.
#[test]
fn a_proof_that_ends_costs_no_second_solve() {
    let n_ended = |backend: BackendChoice| {
        let [mut with, mut without] = [(); 2].map(|()| simulation(backend, DRAPE, &[]));
        let is_proved = |simulation: &mut Simulation| state(simulation).proofs.first().is_some_and(|proof| proof.rotation.is_some());
        let has_ended = |_: &u32| {
            let mut start = state(&mut with);
            let was_proved = is_proved(&mut with);
            let report = with.step().unwrap();
            if !was_proved || is_proved(&mut with) || report.attempts > 1 {
                return false;
            }
            start.proofs.fill(InjectivityProof { rotation: None, age: 0 });
            without.stepper.set_state(&start).unwrap();
            let alone = without.step().unwrap();
            assert_eq!((report.iterations, report.passes), (alone.iterations, alone.passes), "{backend:?}");
            let [with, without] = [&mut with, &mut without].map(|simulation| state(simulation).displacements);
            assert!(with == without, "{backend:?}");
            true
        };
        (0..30).filter(has_ended).count()
    };
    assert!(n_ended(BackendChoice::Cpu) > 0);
    #[cfg(feature = "gpu")]
    assert!(n_ended(BackendChoice::Gpu) > 0);
}
