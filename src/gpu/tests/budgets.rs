//! What steps ask of the device, in counts that no load of the machine changes.

use super::*;
use crate::budget::{Budget, TET_WORK, WORK_PER_MS};

/// Loads of a step need the held points, and so do the views after it: the answer of the step has brought them.
#[test]
fn dragging_waits_for_the_device_once_a_step() {
    let model = bar([6, 2, 2], 0.1);
    let mut stepper = GpuStepper::new(test_device(), model.clone()).unwrap();
    let mut other = GpuStepper::new(test_device(), model.clone()).unwrap();
    let mut loads = Loads { grabs: vec![a_grab(&model)], ..Loads::default() };
    let held = [loads.grabs[0].point];
    let mut trips = vec![];
    for step in 0..6 {
        // The mouse moves, the loads are made, the step is done, the view is drawn.
        loads.grabs[0].target.y += 0.01 * f64::from(step);
        stepper.motions(&held).unwrap();
        trips.push(stepper.step(&Params::default(), &loads).unwrap().round_trips);
        let motions = stepper.motions(&held).unwrap();
        assert_eq!(stepper.motions(&held).unwrap(), motions);
        // The other is asked for its whole state, and knows nothing else.
        other.step(&Params::default(), &loads).unwrap();
        assert_eq!(vec![held[0].motion(&model, other.state().unwrap())], motions, "step {step}");
        assert_eq!(other.motions(&held).unwrap(), motions);
    }
    // The first time nobody has told the step what is going to be held.
    assert_eq!(trips, [2, 1, 1, 1, 1, 1]);
    // What is fetched beside that counts for the next step.
    stepper.state().unwrap();
    stepper.motions(&held).unwrap();
    assert_eq!(stepper.step(&Params::default(), &loads).unwrap().round_trips, 2);
    // What is known does not outlive its state.
    let before = stepper.motions(&held).unwrap();
    stepper.set_state(&State::initial(&model)).unwrap();
    let after = stepper.motions(&held).unwrap();
    assert!(before != after && after == vec![held[0].motion(&model, &State::initial(&model))]);
}

/// What the budget of a step does not afford is left out: it is told, and the next step goes on from there.
#[test]
fn a_step_makes_no_more_iterations_than_its_budget_affords() {
    let mut model = Arc::unwrap_or_clone(bar([6, 2, 2], 0.1));
    model.materials[0].young_modulus = 1e7;
    let model = Arc::new(model);
    let params = Params { preconditioner: Preconditioner::Jacobi, tolerance: 1e-5, ..Params::default() };
    // Iterations of each step, bytes of the solve of the last one, and where it ends.
    let run = |ms: f64, is_limited: bool| {
        let mut stepper = GpuStepper::new(test_device(), model.clone()).unwrap();
        let steps = [0, 1, 2].map(|step| {
            let loads = Loads { step, budget: Budget::of_ms(ms), ..Loads::default() };
            let report = stepper.step(&params, &loads).unwrap();
            let told = (report.limited, report.converged);
            assert_eq!(told, if is_limited { (Some(0), false) } else { (None, true) }, "{ms} ms: {report:?}");
            let (_, work) = report.device_work.0.iter().find(|(stage, _)| *stage == "elastic solve").unwrap();
            (report.iterations, work.bytes)
        });
        let end = stepper.state().unwrap().clone();
        let again = stepper.step(&params, &Loads::default()).unwrap();
        assert!(again.converged && again.limited.is_none(), "{again:?}");
        (steps, end)
    };
    let (whole, end) = run(0.0, false);
    assert_eq!(run(1e6, false), (whole, end.clone()), "a budget that is not used up changes nothing");
    let (least, cut) = run(1e-9, true);
    let (iterations, bytes) = (u64::from(whole[0].0 - least[0].0), whole[0].1 - least[0].1);
    assert!(least.iter().all(|step| step.0 == least[0].0) && iterations > 30 && cut != end, "{whole:?} {least:?}");
    // As many as are paid for.
    let wanted = least[0].0 + 20;
    let work = (TET_WORK * model.tets.len() as u64) as f64 + (f64::from(wanted) + 0.5) * (bytes / iterations / 8) as f64;
    let (some, between) = run(work / WORK_PER_MS, true);
    assert!(some.iter().all(|step| step.0 == wanted) && between != end && between != cut, "{some:?}, {wanted} are wanted");
    assert_eq!(run(work / WORK_PER_MS, true), (some, between), "the same bits twice");
}
