//! Steps that begin with the parts that those before came to.

use super::*;

/// A landing whose parts are not solved where they are longer than a third of its time step.
fn cramped() -> Simulation {
    let mut simulation = simulation(BackendChoice::Cpu, LANDING, &[]);
    Cramped::put_into(&mut simulation, u64::MAX, 0.003);
    simulation
}

/// How often each of the next steps is begun.
fn attempts(simulation: &mut Simulation, n: usize) -> Vec<u32> {
    (0..n).map(|_| simulation.step().unwrap().attempts).collect()
}

#[test]
fn steps_begin_with_the_parts_that_those_before_came_to() {
    let mut run = cramped();
    let dt = run.params().time_step;
    // Whole, in halves, in quarters; then larger ones are tried after three, and after seven steps.
    assert_eq!(attempts(&mut run, 14), [7, 6, 4, 6, 4, 4, 4, 6, 4, 4, 4, 4, 4, 4]);
    assert!((run.time() - 14.0 * dt).abs() < 1e-12);
    let told = run.step().unwrap();
    assert!((told.attempts, told.halvings, &told.taken_back) == (4, 2, &None) && told.stages.of(THROWN_AWAY) == 0.0);
    // What had to be divided so is the same as if each step had been tried whole.
    let mut tried = cramped();
    for _ in 0..15 {
        tried.pace = Pace::default();
        assert_eq!(tried.step().unwrap().attempts, 7);
    }
    assert!(state(&mut tried) == state(&mut run));
    // A step of another length is tried whole, and so is the first one after a reset.
    run.apply(&Command::SetTimeStep(0.5 * dt)).unwrap();
    assert_eq!(attempts(&mut run, 1), [3]);
    let mut again = cramped();
    attempts(&mut again, 3);
    again.apply(&Command::Reset).unwrap();
    assert_eq!(attempts(&mut again, 2), [7, 6]);
}

#[test]
fn what_is_resumed_begins_as_it_would_have() {
    let mut run = cramped();
    attempts(&mut run, 5);
    let file = TestFile::new("pace.state");
    run.save(&file.0).unwrap();
    let checkpoint = run.checkpoint().unwrap();
    let wanted = (attempts(&mut run, 6), state(&mut run));
    assert_eq!(wanted.0, [4, 4, 6, 4, 4, 4]);
    let mut resumed = cramped();
    resumed.resume(&file.0).unwrap();
    assert!((attempts(&mut resumed, 6), state(&mut resumed)) == wanted);
    // As a session begins that is repeated: with parameters of its own, and commands that give those of the run.
    let mut repeated = cramped();
    repeated.apply(&Command::SetTimeStep(0.02)).unwrap();
    repeated.resume_with(&file.0, ResumedParams::Present).unwrap();
    repeated.apply(&Command::SetTimeStep(run.params().time_step)).unwrap();
    assert!((attempts(&mut repeated, 6), state(&mut repeated)) == wanted);
    run.restore(&checkpoint, CommandLog::default()).unwrap();
    assert!((attempts(&mut run, 6), state(&mut run)) == wanted);
    // A step that is stopped leaves all as it was.
    let cancelled = CancelToken::default();
    cancelled.cancel();
    run.restore(&checkpoint, CommandLog::default()).unwrap();
    assert!(run.step_unless(&cancelled).is_err());
    assert!((attempts(&mut run, 6), state(&mut run)) == wanted);
}

/// An attempt whose islands take too long is given up before they are solved, and says so; without patience for it, it
/// is solved.
#[test]
fn what_takes_too_long_is_given_up() {
    let mut run = simulation(BackendChoice::Cpu, LANDING, &[]);
    let params = *run.params();
    let touches = |simulation: &mut Simulation| simulation.step().unwrap().contact.active > 0;
    assert!((0..60).any(|_| touches(&mut run)));
    let start = run.state().unwrap().clone();
    let attempt = |patience: Option<u64>| Loads { budget: Budget::default().of_attempt(patience), ..Loads::default() };
    let refused = run.stepper.step(&params, &attempt(Some(0)));
    assert!(matches!(&refused, Err(error @ StepError::TooHard { .. }) if error.may_halve()), "{refused:?}");
    assert!(*run.state().unwrap() == start, "the state before stands");
    let solved = run.stepper.step(&params, &attempt(None)).unwrap();
    let ended = state(&mut run);
    assert!(solved.converged && solved.contact.active > 0);
    // Patience that suffices changes nothing.
    run.stepper.set_state(&start).unwrap();
    run.stepper.step(&params, &attempt(Some(u64::MAX - 1))).unwrap();
    assert!(state(&mut run) == ended);
}
