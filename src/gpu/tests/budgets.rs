//! What steps ask of the device, in counts that no load of the machine changes.

use super::*;

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
