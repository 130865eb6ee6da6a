//! Sessions that do not begin at the start of their scene.

use super::*;

/// Whatever was changed before the state was taken up is part of the session.
#[test]
fn a_session_that_went_on_from_a_saved_state_is_repeated_from_it() {
    let [saved, file] = ["from.state", "from_a_state.session"].map(TestFile::new);
    let mut before = simulation(BackendChoice::Cpu, BAR, &[]);
    steps(&mut before, 3);
    before.save(&saved.0).unwrap();
    let mut first = simulation(BackendChoice::Cpu, BAR, &[]);
    first.apply(&Command::SetGravity(Vec3::new(0.5, -4.0, 0.0))).unwrap();
    first.resume_with(&saved.0, ResumedParams::Present).unwrap();
    first.apply(&grab(1)).unwrap();
    steps(&mut first, 2);
    first.session("bar".into(), vec![]).unwrap().write(&file.0).unwrap();

    let session = Session::read(&file.0).unwrap();
    let mut again = simulation(BackendChoice::Cpu, BAR, &[]);
    assert!(session.check_start(&again).is_err(), "it is at the start of the scene");
    again.resume_with(session.header.state.as_ref().unwrap(), ResumedParams::Present).unwrap();
    session.check_start(&again).unwrap();
    for step in session.header.first_step..=session.header.last_step {
        session.commands_at(step).for_each(|command| again.apply(command).unwrap());
        if step < session.header.last_step {
            steps(&mut again, 1);
        }
    }
    assert_eq!(report::state_hash(again.state().unwrap()), session.header.state_hash);
    // And so can be gone back to after that.
    let checkpoint = first.checkpoint().unwrap();
    let log = first.log().clone();
    first.restore(&checkpoint, log).unwrap();
    assert_eq!(first.log().state, session.header.state);
}
