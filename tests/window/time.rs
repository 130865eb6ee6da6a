//! Going back in time with the mouse: scrub, branch, save, replay; and what a crash leaves.

use std::path::Path;
use std::process::Command;

use crate::driver::Driver;
use crate::scene::{SceneFile, place, set};
use crate::{number, screenshot, step_of};

/// The hash that `pliant run --replay` comes to, and whether it says that it is the one of the session.
fn replayed(session: &Path) -> (String, bool) {
    replayed_with(session, &[])
}

/// The same with more arguments.
fn replayed_with(session: &Path, arguments: &[&str]) -> (String, bool) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_pliant"));
    let ran = program.args(["run", "--replay"]).arg(session).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    let hash = said.lines().find_map(|line| line.strip_prefix("state hash ")).unwrap().to_owned();
    (hash, said.contains("the same state, bit for bit"))
}

fn header(session: &Path) -> serde_json::Value {
    serde_json::from_str(std::fs::read_to_string(session).unwrap().lines().next().unwrap()).unwrap()
}

fn save_session(window: &mut Driver) -> std::path::PathBuf {
    window.click("menu.File");
    window.click("item.Save_session");
    let told = window.wait_for("the saved session", |line| line.starts_with("message The session is in "));
    told["message The session is in ".len()..].split(';').next().unwrap().into()
}

/// Presses the strip at a part of its length.
fn press_strip(window: &Driver, part: f64) -> [i32; 2] {
    let ([left, y], [right, _]) = (window.place("timeline.start"), window.place("timeline.end"));
    let x = left + (f64::from(right - left) * part) as i32;
    window.press(x, y);
    [x, y]
}

#[test]
fn the_past_is_scrubbed_and_a_branch_of_it_goes_on_and_is_saved() {
    let mut window = Driver::start(&["bunny", "--backend", "cpu"]);
    window.wait("scene loaded Bunny");
    window.focus();
    // Long enough for several pictures when it is played, on a slow machine too.
    window.wait_for("step 200", |line| line.starts_with("step ") && step_of(line) >= 200);

    // A press in the middle of the strip pauses, and shows the picture of a step in the middle.
    let [x, y] = press_strip(&window, 0.5);
    let middle = step_of(&window.wait("past "));
    let end = step_of(&window.last("step ").unwrap());
    assert!((end / 3..=2 * end / 3 + 1).contains(&middle), "step {middle} is not in the middle of {end}");
    // Dragged to the left, earlier pictures follow; nothing is computed.
    window.drag(x, y, x - 120, y, 8);
    let earlier = step_of(&window.wait_for("an earlier picture", |line| line.starts_with("past ") && step_of(line) + 3 < middle));
    window.release();
    window.expect_nothing("step ", 400);

    // Picture by picture, back and on.
    let at = step_of(&window.last("past ").unwrap());
    assert!(at <= earlier);
    window.key("comma");
    assert_eq!(step_of(&window.wait("past ")), at - 1);
    window.key("period");
    assert_eq!(step_of(&window.wait("past ")), at);

    // Pictures are played up to the end, and there the simulation goes on.
    window.key("space");
    window.wait_for("pictures", |line| line.starts_with("past ") && step_of(line) > at + 2);
    window.wait_for("the simulation", |line| line.starts_with("step ") && step_of(line) > end + 1);
    window.key("space");
    window.wait("activity Paused");

    // Back to before the end: a pull there begins a branch.
    let [_, _] = press_strip(&window, 0.6);
    window.release();
    window.wait("past ");
    window.expect_nothing("past ", 300);
    let fork = step_of(&window.last("past ").unwrap());
    let body = window.last("body bunny ").unwrap();
    let at: Vec<i32> = body.split(' ').skip(2).map(|n| n.parse().unwrap()).collect();
    let [x, y] = [at[0], at[1]];
    window.press(x, y);
    window.wait("grab body=bunny");
    window.wait(&format!("branch from step {fork}"));
    window.wait("branch 2");
    window.drag(x, y, x + 30, y - 90, 6);
    window.key("space");
    window.wait_for("steps of the branch", |line| line.starts_with("moved body=bunny") && number(line, "force") > 0.5);
    window.wait_for("more steps", |line| line.starts_with("step ") && step_of(line) >= fork + 8);
    window.release();
    window.wait("release body=bunny");
    window.wait("step ");
    window.key("space");
    window.wait("activity Paused");

    // The branch is a session that comes to its state again, with the commands of its own.
    let second = save_session(&mut window);
    let told = header(&second);
    assert!(told["last_step"].as_u64().unwrap() >= fork + 8, "{told}");
    let text = std::fs::read_to_string(&second).unwrap();
    assert!(text.contains(&format!("{{\"step\":{fork},\"command\":{{\"grab\"")) && text.contains("release_grab"), "{text}");
    let (hash, is_same) = replayed(&second);
    assert!(is_same && hash == told["state_hash"], "{hash} {told}");

    // The old future is a lane of its own; there it is again, and is another session.
    window.click("lane.1");
    window.wait("branch 1");
    window.key("End");
    window.wait_for("the end of the first branch", |line| line.starts_with("step ") && step_of(line) > end + 1);
    let first = save_session(&mut window);
    let (hash, is_same) = replayed(&first);
    assert!(is_same && hash != told["state_hash"].as_str().unwrap() && header(&first)["last_step"].as_u64().unwrap() > end);

    // "Continue from here" goes on without a change, in a branch.
    press_strip(&window, 0.3);
    window.release();
    window.wait("past ");
    window.click("timeline.continue");
    window.wait("branch 3");
    window.wait_for("steps", |line| line.starts_with("step "));
    window.key("ctrl+q");
    assert!(window.exit_status().success());
    let left = std::fs::read_dir(window.folder().join("config/autosave")).unwrap().count();
    assert_eq!(left, 0, "a session that ended as it should leaves nothing");
}

#[test]
fn a_crash_loses_little_and_the_session_is_taken_up_again() {
    let mut window = Driver::start(&["spin", "--backend", "cpu"]);
    window.wait("scene loaded");
    window.focus();
    window.wait_for("some seconds", |line| line.starts_with("step ") && number(line, "time") > 3.5);
    let before = step_of(&window.last("step ").unwrap());
    window.kill();

    window.start_again(&["spin"]);
    window.wait("scene loaded");
    window.focus();
    window.click("left_behind.continue");
    window.wait_for("the session", |line| line.starts_with("scene loaded"));
    let taken_up = step_of(&window.wait("step "));
    // Saved every two seconds; the steps of this scene take 10 ms.
    assert!(taken_up > 50 && before.saturating_sub(taken_up) < 400, "step {taken_up} of {before}");
    let session = save_session(&mut window);
    assert_eq!(header(&session)["last_step"], taken_up);
    assert!(replayed(&session).1);
    window.key("space");
    window.wait_for("that it goes on", |line| line.starts_with("step ") && step_of(line) > taken_up);
    window.key("ctrl+q");
    assert!(window.exit_status().success());
}

/// Two branches are in one file, each is repeated from it, and after a crash both are on the timeline again. What was
/// chosen of time and films is still chosen.
#[test]
fn all_branches_are_saved_and_taken_up_again() {
    let mut window = Driver::start(&["spin", "--backend", "cpu"]);
    window.wait("scene loaded");
    window.focus();
    window.click("transport.speed");
    window.click("speed.2×");
    window.wait_for("some steps", |line| line.starts_with("step ") && step_of(line) >= 60);
    press_strip(&window, 0.5);
    window.release();
    window.wait("past ");
    window.click("timeline.continue");
    window.wait("branch 2");
    window.wait("step ");
    window.key("space");
    window.wait("activity Paused");
    let session = save_session(&mut window);
    let text = std::fs::read_to_string(&session).unwrap();
    let told = header(&session);
    assert!(told["format"] == "pliant session 2" && told["branch"] == 2 && text.contains("{\"branch\":2,\"from\":1,\"at\":"), "{text}");
    let (second, is_second) = replayed(&session);
    let (first, is_first) = replayed_with(&session, &["--branch", "1"]);
    assert!(is_first && is_second && second == told["state_hash"] && text.contains(&first), "{first} {second} {text}");

    window.kill();
    window.start_again(&["spin"]);
    window.wait("scene loaded");
    window.focus();
    window.click("left_behind.continue");
    window.wait_for("the session", |line| line.starts_with("scene loaded"));
    assert_eq!(step_of(&window.wait("step ")), told["last_step"], "the branch on which it was");
    window.click("lane.1");
    window.wait("branch 1");
    window.key("End");
    let line: serde_json::Value = serde_json::from_str(text.lines().find(|line| line.starts_with("{\"branch\":1,")).unwrap()).unwrap();
    window.wait_for("the end of the first branch", |said| said.starts_with("step ") && line["last_step"] == step_of(said));
    let settings = std::fs::read_to_string(window.folder().join("config/settings.json")).unwrap();
    assert!(settings.contains("\"speed\": \"2×\""), "{settings}");
    window.key("ctrl+q");
    assert!(window.exit_status().success());
}

/// Gone back to the start, the bar is made softer there: it sags more in that branch than in the first one, which is
/// shown behind it as a ghost.
#[test]
fn two_branches_are_compared() {
    let file = SceneFile::new("compare");
    let mut window = file.open();
    let sag = |window: &mut Driver, from: u64| {
        window.wait_for("the bar at rest", |line| line.starts_with("step ") && step_of(line) >= from + 50);
        window.key("space");
        window.wait("activity Paused");
        place(window, "bar")[1]
    };
    let stiff = sag(&mut window, 0);
    window.click("tree.material.soft");
    window.wait("selected material.soft");
    window.click("timeline.start");
    window.wait("past ");
    set(&mut window, "value.material.soft.young_modulus", "4e6");
    window.wait("edited material.soft.young_modulus=4000000.0");
    window.wait("branch 2");
    window.key("space");
    window.wait("activity Playing");
    let soft = sag(&mut window, 0);
    assert!(soft >= stiff + 4, "it must sag: {stiff} and {soft}");

    let alone = screenshot(&mut window);
    window.key("g");
    window.wait("ghost branch=1");
    let with_ghost = screenshot(&mut window);
    assert!(with_ghost.changed_from(&alone) > 1e-3, "{}", with_ghost.changed_from(&alone));
    // In its own branch the other one is the ghost.
    window.click("lane.1");
    window.wait("branch 1");
    let other_way = screenshot(&mut window);
    assert!(other_way.changed_from(&with_ghost) > 1e-3);
    window.key("g");
    window.wait("ghost none");
    assert!(screenshot(&mut window).changed_from(&other_way) > 1e-3);
}
