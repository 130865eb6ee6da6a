//! What can be taken back, and what is asked about before.

use super::*;
use crate::app::history::Way;
use crate::app::ui::{Answer, BodyAction, NewBody};
use crate::math::Vec3;
use crate::sim::Command;

fn lowest(session: &Session) -> f32 {
    let view = session.shown.view.as_ref().unwrap();
    let SurfacePositions::Host(positions) = &view.surface else { panic!("on the device") };
    positions.iter().map(|p| p[1]).fold(f32::INFINITY, f32::min)
}

fn step(session: &Session) -> u64 {
    session.shown.view.as_ref().unwrap().step
}

fn moved(y: f64) -> Command {
    Command::MoveBodies { bodies: vec!["bunny".into()], translation: Vec3::new(0.0, y, 0.0), rotation: Vec3::zeros() }
}

fn undo(bench: &mut Bench) {
    bench.key_with(Key::Z, Modifiers::COMMAND);
}

fn redo(bench: &mut Bench) {
    bench.key_with(Key::Y, Modifiers::COMMAND);
}

fn plays(bench: &mut Bench, until: impl Fn(&Session) -> bool) {
    bench.key(Key::Space);
    bench.until("some steps", until);
    bench.key(Key::Space);
    bench.until("a pause", |session| !session.shown.playing());
    bench.settle();
}

/// A move in the middle of a run is undone in its turn among changes of values; where nothing was computed since, in
/// its place, else in a branch, and done again by going back to the first.
#[test]
fn moves_and_values_are_undone_in_their_order() {
    let mut bench = Bench::open("bunny");
    let start = lowest(&bench.session);
    let is_at = |height: f32| move |session: &Session| (lowest(session) - height).abs() < 1e-4;
    bench.session.command(moved(0.3));
    bench.until("the move", is_at(start + 0.3));
    bench.session.act(Action::Edit { values: vec![("material.jelly.young_modulus".into(), "1.5e5".into())], gesture: None });
    let stiffness =
        |bench: &Bench| bench.session.document.as_ref().unwrap().scene().given("material.jelly.young_modulus").unwrap_or_default();
    let changed = stiffness(&bench);
    // What is refused is no entry.
    bench.session.command(moved(-2.0));
    bench.until("the refusal", |session| session.live.not_done.0 == 1);

    undo(&mut bench);
    assert!(stiffness(&bench) != changed && bench.session.history.can(Way::Back), "the value is first");
    undo(&mut bench);
    bench.until("the place before", is_at(start));
    assert!(bench.session.live.branch == 1 && bench.session.time.lanes().len() == 1, "in its place");
    bench.until("the end of the way", |session| !session.history.can(Way::Back) && session.history.can(Way::Forth));
    redo(&mut bench);
    bench.until("the move again", is_at(start + 0.3));
    redo(&mut bench);
    assert_eq!(stiffness(&bench), changed);
    undo(&mut bench);

    // Once it has gone on, what came after the move is another branch.
    let from = step(&bench.session);
    plays(&mut bench, |session| step(session) >= from + 10);
    let (end, height) = (step(&bench.session), lowest(&bench.session));
    undo(&mut bench);
    bench.until("another branch", |session| session.live.branch == 2 && step(session) == from);
    assert!((lowest(&bench.session) - start).abs() < 1e-4 && bench.session.time.lanes().len() == 2);
    redo(&mut bench);
    bench.until("the first branch", |session| session.live.branch == 1 && step(session) == end);
    assert_eq!(lowest(&bench.session), height);
    undo(&mut bench);
    bench.until("the other branch again", |session| session.live.branch == 2);
    assert_eq!(bench.session.time.lanes().len(), 2, "it is the same one");
}

/// Dropping again, loading a state and forgetting a branch are undone, too.
#[test]
fn what_is_done_to_the_run_is_undone() {
    let mut bench = Bench::open("bunny");
    let start = lowest(&bench.session);
    plays(&mut bench, |session| step(session) >= 20);
    let fallen = lowest(&bench.session);
    let file = std::env::temp_dir().join(format!("pliant-undo-{}.state", std::process::id()));
    bench.session.worker.send(crate::app::worker::Request::SaveState(file.clone()));
    bench.until("the state", |_| file.exists());
    bench.session.ui.selection.pick(&Item::body("bunny"), Pick::Only, &[]);
    bench.session.act(Action::Bodies(BodyAction::PutBack));
    bench.until("that it is back", |session| lowest(session) > fallen + 0.5 * (start - fallen).abs().max(1e-4));
    undo(&mut bench);
    bench.until("that it has fallen", |session| (lowest(session) - fallen).abs() < 1e-4);

    // From where it is, not from where a slow machine may be already.
    let from = step(&bench.session);
    plays(&mut bench, |session| step(session) >= from + 10);
    let later = step(&bench.session);
    bench.session.act(Action::LoadStateFrom(file.clone()));
    bench.until("the state", |session| session.live.branch == 2 && step(session) < later);
    undo(&mut bench);
    bench.until("where it was", |session| session.live.branch == 1 && step(session) == later);
    redo(&mut bench);
    bench.until("the state again", |session| session.live.branch == 2);
    std::fs::remove_file(file).unwrap();

    let n_lanes = |bench: &Bench| bench.session.time.lanes().len();
    bench.settle();
    bench.session.act(Action::Time(TimeAction::Forget(1)));
    bench.settle();
    assert_eq!(n_lanes(&bench), 1);
    undo(&mut bench);
    assert_eq!(n_lanes(&bench), 2);
    redo(&mut bench);
    assert_eq!(n_lanes(&bench), 1);
}

/// A start anew ends the recorded past for good, so the window asks; cancelled, nothing has changed.
#[test]
fn a_past_does_not_end_unasked() {
    let mut bench = Bench::open("cantilever");
    let generation = |session: &Session| session.shown.scene.as_ref().unwrap().generation;
    let names = |bench: &Bench| bench.session.document.as_ref().unwrap().scene().bodies().len();
    let time = |session: &Session| session.shown.view.as_ref().unwrap().time;
    let (opened, n_bodies) = (generation(&bench.session), names(&bench));
    plays(&mut bench, |session| time(session) > 1.2);
    bench.click("timeline.start");
    bench.until("the past", Session::is_in_past);
    bench.click("timeline.continue");
    bench.until("a branch", |session| session.live.branch == 2 && !session.is_in_past());
    bench.session.act(Action::Time(TimeAction::Live));
    let add = |bench: &mut Bench| {
        bench.session.act(Action::Bodies(BodyAction::Add(NewBody::RigidBall)));
        bench.settle();
        assert!(bench.session.ui.lost_past.is_some());
        bench.place("lost_past.save");
    };
    add(&mut bench);
    bench.click("lost_past.cancel");
    assert!(names(&bench) == n_bodies && !bench.session.history.can(Way::Back) && generation(&bench.session) == opened);
    add(&mut bench);
    bench.click("lost_past.go_on");
    bench.until("the scene with it", |session| generation(session) > opened);
    assert_eq!(names(&bench), n_bodies + 1);
    // The new past is short: nobody asks.
    undo(&mut bench);
    bench.until("the scene without it", |session| generation(session) > opened + 1);
    assert_eq!(names(&bench), n_bodies);
    bench.session.act(Action::LostPast(Answer::Cancel));
    assert_eq!(names(&bench), n_bodies, "nothing is asked");
}
