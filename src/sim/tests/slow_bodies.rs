//! Bodies whose corrections are slow without a factor of the matrix of the step: in how many steps in a row they were
//! is part of the state, so that a run goes on to the same bits wherever it goes on from.

use super::*;

/// A sheet of one layer of cells that falls onto a ball and bends.
const DRAPED: &str = r#"
format = 1
[simulation]
time_step = 0.01
[material.rubber]
young_modulus = 5e5
poisson_ratio = 0.3
density = 1000
[[body]]
name = "sheet"
material = "rubber"
shape = { type = "box", size = [0.3, 0.003, 0.3], cells = [16, 1, 16] }
position = [0.01, 0.1, 0.0]
[[body]]
name = "ball"
kind = "static"
shape = { type = "sphere", radius = 0.06 }
position = [0.0, 0.02, 0.0]
"#;

const STEPS: usize = 40;

#[test]
fn a_sheet_that_bends_takes_a_factor_of_each_step() {
    let mut simulation = simulation(BackendChoice::Cpu, DRAPED, &[]);
    let (mut in_a_row, mut longest) = (0, 0);
    for step in 0..STEPS {
        let report = simulation.step().unwrap();
        assert!(report.converged && report.limited.is_none() && report.outgrown.is_empty(), "step {step}: {report:?}");
        let began_slow = in_a_row % 8 != 0;
        if began_slow {
            let corrections = report.iterations - report.dual_iterations;
            assert!(corrections <= 2 * report.passes, "step {step}: {corrections} iterations in {} passes", report.passes);
        }
        in_a_row = if report.slow.is_empty() { 0 } else { in_a_row + 1 };
        assert_eq!(simulation.state().unwrap().slow, [in_a_row], "step {step}");
        longest = longest.max(in_a_row);
    }
    assert!(longest > 8, "{longest}: corrections were not slow any more where they were tried");
}

#[test]
fn they_are_saved_and_resumed() {
    let file = TestFile::new("slow_body.state");
    let mut whole = simulation(BackendChoice::Cpu, DRAPED, &[]);
    while state(&mut whole).slow != [3] {
        whole.step().unwrap();
        assert!(whole.time() < 0.01 * STEPS as f64, "nothing is slow");
    }
    whole.save(&file.0).unwrap();
    let mut resumed = simulation(BackendChoice::Cpu, DRAPED, &[]);
    resumed.resume(&file.0).unwrap();
    assert!(state(&mut resumed) == state(&mut whole), "the state is another one");
    let checkpoint = whole.checkpoint().unwrap();
    for simulation in [&mut whole, &mut resumed] {
        steps(simulation, 7);
    }
    assert!(state(&mut resumed) == state(&mut whole), "it went on otherwise");
    let (end, log) = (state(&mut whole), whole.log().clone());
    whole.restore(&checkpoint, log).unwrap();
    steps(&mut whole, 7);
    assert!(state(&mut whole) == end, "it went on otherwise from the checkpoint");
    // It is part of what the run follows from.
    let mut forgotten = simulation(BackendChoice::Cpu, DRAPED, &[]);
    forgotten.resume(&file.0).unwrap();
    let mut without = state(&mut forgotten);
    without.slow = vec![0];
    forgotten.stepper.set_state(&without).unwrap();
    steps(&mut forgotten, 7);
    assert!(state(&mut forgotten).displacements != end.displacements);
    whole.apply(&Command::PutBack { body: "sheet".into() }).unwrap();
    assert_eq!(state(&mut whole).slow, [0]);
}
