//! The scene in the window: selected, changed while it runs, taken back, saved.

use std::path::{Path, PathBuf};

use crate::driver::Driver;
use crate::{screenshot, step_of};

/// A bar that hangs from a wall and comes to rest soon, a block and a ball on a floor.
const SCENE: &str = r#"# Written by hand.
format = 1
title = "Desk"

[simulation]
time_step = 0.02 # coarse

[material.soft] # the bar
young_modulus = 20_000_000
mass_damping = 30

[[body]]
name = "bar"
material = "soft"
shape = { type = "box", size = [0.6, 0.06, 0.06], cells = [10, 1, 1] }
position = [0.0, 0.45, 0.0]
fix = [{ side = "x-" }]
color = "coral"

[[body]]
name = "block"
kind = "rigid"
shape = { type = "box", size = [0.16, 0.16, 0.16] }
position = [-0.25, 0.08, 0.2]
color = "sand"

[[body]]
name = "ball"
kind = "rigid"
shape = { type = "icosphere", radius = 0.08, level = 2 }
position = [0.2, 0.08, 0.2]
color = "teal"

[[body]]
name = "pebble"
kind = "rigid"
shape = { type = "box", size = [0.04, 0.04, 0.04] }
position = [-0.1, 0.02, 0.3]
array = { count = [3, 1, 1], pitch = [0.08, 0.0, 0.0] }

[[body]]
name = "floor"
kind = "static"
shape = { type = "plane" }
"#;

/// A file with the scene that goes with its test.
pub struct SceneFile(PathBuf);

impl SceneFile {
    pub fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("pliant-scene-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("desk.toml"), SCENE).unwrap();
        Self(folder)
    }

    pub fn path(&self) -> PathBuf {
        self.0.join("desk.toml")
    }

    pub fn open(&self) -> Driver {
        let mut window = Driver::start(&[&self.path().display().to_string(), "--backend", "cpu"]);
        window.wait("scene loaded Desk");
        window.focus();
        window
    }
}

impl Drop for SceneFile {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap_or_default();
    }
}

/// Plays for some steps; then where a body is in the window [px].
fn place_after(window: &mut Driver, steps: u64, body: &str) -> [i32; 2] {
    window.key("space");
    window.wait("activity Playing");
    pause_after(window, steps, body)
}

/// The same of one that plays.
fn pause_after(window: &mut Driver, steps: u64, body: &str) -> [i32; 2] {
    let from = step_of(&window.last("step ").unwrap());
    window.wait_for("some steps", |line| line.starts_with("step ") && step_of(line) >= from + steps);
    window.key("space");
    window.wait("activity Paused");
    place(window, body)
}

pub fn place(window: &mut Driver, body: &str) -> [i32; 2] {
    let line = window.wait(&format!("body {body} "));
    let at: Vec<i32> = line.split(' ').skip(2).map(|n| n.parse().unwrap()).collect();
    [at[0], at[1]]
}

/// Types a value into its field.
pub fn set(window: &mut Driver, field: &str, value: &str) {
    window.click(field);
    window.type_text(value);
    window.key("Return");
    // Otherwise what is typed into the next field may come before that field has the keyboard.
    window.comes_to("typing ", "typing ended");
}

/// Of the state after some steps.
pub fn hash(scene: &Path, set: &[&str], steps: u64) -> String {
    let report = scene.with_extension("json");
    let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_pliant"));
    program.args(["run", "--steps", &steps.to_string(), "--backend", "cpu", "--report"]).arg(&report).arg(scene);
    for value in set {
        program.args(["--set", value]);
    }
    let ran = program.output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap();
    report["state_hash"].as_str().unwrap().to_owned()
}

#[test]
fn a_material_is_changed_while_it_runs_taken_back_and_saved() {
    let file = SceneFile::new("edit");
    let before = hash(&file.path(), &[], 5);
    let mut window = file.open();
    window.wait_for("the bar at rest", |line| line.starts_with("step ") && step_of(line) >= 60);
    window.key("space");
    window.wait("activity Paused");
    let stiff = place(&mut window, "bar");

    window.key("space");
    window.wait("activity Playing");
    window.click("tree.material.soft");
    window.wait("selected material.soft");
    set(&mut window, "value.material.soft.young_modulus", "4e6");
    window.wait("edited material.soft.young_modulus=4000000.0");
    let soft = pause_after(&mut window, 60, "bar");
    assert!(soft[1] >= stiff[1] + 4, "it must sag: {stiff:?} {soft:?}");

    window.key("ctrl+z");
    window.wait("undone material.soft.young_modulus=20000000");
    let again = place_after(&mut window, 60, "bar");
    assert!((again[1] - stiff[1]).abs() <= 1, "it comes back: {stiff:?} {again:?}");
    window.key("ctrl+y");
    window.wait("redone material.soft.young_modulus=4000000.0");

    // A drag is one entry.
    let [x, y] = window.press_field("value.material.soft.density");
    window.drag(x, y, x + 30, y, 3);
    window.wait_for("a heavier bar", |line| line.starts_with("edited material.soft.density=") && !line.ends_with("=1000.0"));
    window.drag(x + 30, y, x + 60, y, 3);
    window.wait("edited material.soft.density=");
    window.release();
    window.key("ctrl+z");
    window.wait_for("all of the drag taken back", |line| line == "undone material.soft.density=");

    // A value that acts from the start waits for one.
    window.click("tree.body.block");
    window.wait("selected body.block");
    set(&mut window, "value.body.block.scale", "0.5");
    window.wait("edited body.block.scale=0.5");
    window.click("scene.restart");
    // How long the past is depends on the machine: a long one is asked about.
    let answer =
        window.wait_for("a start or a question", |line| line.starts_with("scene loaded Desk") || line.starts_with("asks about the past"));
    if answer.starts_with("asks") {
        window.click("lost_past.go_on");
        window.wait("scene loaded Desk");
    }
    window.wait("gone scene.restart");

    window.key("ctrl+shift+s");
    let saved = window.wait("scene saved ");
    assert_eq!(saved, format!("scene saved {}", file.path().display()));
    let text = std::fs::read_to_string(file.path()).unwrap();
    let expected = SCENE
        .replace("20_000_000", "4000000.0")
        .replace("color = \"sand\"\n\n[[body]]\nname = \"ball\"", "color = \"sand\"\nscale = 0.5\n\n[[body]]\nname = \"ball\"");
    assert_eq!(text, expected);
    let after = hash(&file.path(), &[], 5);
    std::fs::write(file.path(), SCENE).unwrap();
    assert_eq!(after, hash(&file.path(), &["material.soft.young_modulus=4e6", "body.block.scale=0.5"], 5));
    assert_ne!(after, before);
    window.key("ctrl+q");
    assert!(window.exit_status().success());
}

#[test]
fn bodies_are_selected_in_the_view_and_in_the_list_and_hidden() {
    let file = SceneFile::new("select");
    let mut window = file.open();
    window.wait_for("some steps", |line| line.starts_with("step ") && step_of(line) >= 5);
    window.key("space");
    window.wait("activity Paused");
    window.wait("body pebble[2] ");
    let [ball, block] = ["ball", "block"].map(|body| {
        let line = window.last(&format!("body {body} ")).unwrap();
        let at: Vec<i32> = line.split(' ').skip(2).map(|n| n.parse().unwrap()).collect();
        [at[0], at[1]]
    });
    window.click_at(ball);
    window.wait("selected body.ball");
    window.hold("Control_L", true);
    window.click_at(block);
    window.wait("selected body.ball body.block");
    window.hold("Control_L", false);

    // Two bodies have the friction of their contact.
    set(&mut window, "value.pair.ball.block", "0.9");
    window.wait("edited contact.pair=[{ a = \"ball\", b = \"block\", friction = 0.9 }]");
    window.click("remove.value.pair.ball.block");
    window.wait("edited contact.pair=[]");
    window.key("Escape");
    window.wait_for("nothing selected", |line| line == "selected ");

    // A click beside them selects nothing, a drag neither.
    window.press(ball[0], ball[1]);
    window.drag(ball[0], ball[1], ball[0] + 30, ball[1], 3);
    window.release();
    window.expect_nothing("selected", 300);

    // The list: one, a range, a copy.
    window.click("tree.body.bar");
    window.wait("selected body.bar");
    window.hold("Shift_L", true);
    window.click("tree.body.ball");
    window.wait("selected body.block body.ball body.bar");
    window.hold("Shift_L", false);
    window.click("copies.pebble");
    window.click("tree.body.pebble[1]");
    window.wait("selected body.pebble[1]");

    // The eye hides the ball, which is teal.
    let teal = |[r, g, b]: [u8; 3]| g > 70 && i32::from(g) - i32::from(r) > 35 && i32::from(g) - i32::from(b) < 40;
    let shown = screenshot(&mut window).share(teal);
    window.click("eye.ball");
    window.wait("selected body.pebble[1]");
    let hidden = screenshot(&mut window).share(teal);
    assert!(shown > 2e-3 && hidden < 0.2 * shown, "{shown} {hidden}");

    // The search leaves what it finds.
    window.click("tree.search");
    window.type_text("soft");
    window.wait("gone tree.body.bar");
    window.wait("widget tree.material.soft");
    window.click("tree.material.soft");
    window.wait("selected material.soft");

    window.click("tree.search");
    window.type_text("zzz");
    window.wait("gone tree.material.soft");
    window.click("tree.search.clear");
    window.wait("widget tree.body.bar");

    // A state is saved, and goes on from there.
    let saved_at = step_of(&window.last("step ").unwrap());
    window.click("menu.File");
    window.click("item.Save_state");
    let told = window.wait("message The state is in ");
    let state = told.trim_start_matches("message The state is in ").to_owned();
    window.key("space");
    window.wait_for("some steps", |line| line.starts_with("step ") && step_of(line) >= saved_at + 5);
    window.click("menu.File");
    window.click("item.Load_state…");
    window.wait("widget path.field");
    window.type_text(&state);
    window.key("Return");
    let step = window.wait_for("the saved step", |line| line.starts_with("step ") && step_of(line) == saved_at);
    assert_eq!(step_of(&step), saved_at);

    // While it plays a click selects as well.
    window.key("space");
    window.wait("activity Playing");
    window.click_at(block);
    window.wait("selected body.block");
    // The friction is again as in the file: there is nothing to be saved.
    window.key("ctrl+q");
    assert!(window.exit_status().success());
}

/// A force and a contact pair are added by mouse, changed, saved at their place, and are the same scene when it is read
/// again; deleted and saved, the file is as it was.
#[test]
fn entries_are_added_saved_and_deleted() {
    let file = SceneFile::new("entries");
    let mut window = file.open();
    window.wait_for("some steps", |line| line.starts_with("step ") && step_of(line) >= 2);
    window.key("space");
    window.wait("activity Paused");
    window.click("tree.body.bar");
    window.wait("selected body.bar");
    window.click("tree.add");
    window.click("item.Force");
    window.wait("selected force.0");
    set(&mut window, "value.force.0.force.x", "0");
    set(&mut window, "value.force.0.force.y", "-12");
    window.wait("edited force.0.force=[0.0, -12.0, 0.0]");
    window.click("add.force.0.region");
    window.wait("edited force.0.region={ side = \"y+\" }");
    window.click("tree.body.block");
    window.wait("selected body.block");
    window.click("tree.add");
    window.click("item.Contact_pair");
    window.wait("selected contact.pair.0");
    set(&mut window, "value.contact.pair.0.friction", "0.1");
    window.wait("edited contact.pair.0.friction=0.1");

    let before = hash(&file.path(), &[], 5);
    window.key("ctrl+shift+s");
    window.wait("scene saved ");
    let text = std::fs::read_to_string(file.path()).unwrap();
    let added = ["[[force]]\nname = \"force\"\nbody = \"bar\"\nforce = [0.0, -12.0, 0.0]\n", "side = \"y+\"", "friction = 0.1"];
    assert!(text.starts_with(SCENE.trim_end()) && added.iter().all(|part| text.contains(part)), "{text}");
    assert_ne!(hash(&file.path(), &[], 5), before);

    // Built again with its changes, and from the file alone.
    window.click("scene.restart");
    window.wait("scene loaded Desk");
    window.click("tree.contact.pair.0");
    window.wait("selected contact.pair.0");
    window.click("selection.delete");
    window.wait("edited contact.pair=[]");
    window.click("tree.force.0");
    window.wait("selected force.0");
    window.key("Delete");
    window.wait("edited force=[]");
    window.wait("gone tree.force.0");
    window.key("ctrl+shift+s");
    window.wait("scene saved ");
    assert_eq!(hash(&file.path(), &[], 5), before);
    assert_eq!(std::fs::read_to_string(file.path()).unwrap(), SCENE);
    window.key("ctrl+q");
    assert!(window.exit_status().success());
}

/// Renamed in the list and in the panel while it runs on; a name that is taken is refused, all of it is saved with the
/// comments of the file, and taken back.
#[test]
fn things_are_renamed_while_they_run() {
    let file = SceneFile::new("rename");
    let mut window = file.open();
    window.wait_for("some steps", |line| line.starts_with("step ") && step_of(line) >= 5);
    window.click("tree.body.bar");
    window.wait("selected body.bar");
    window.key("F2");
    window.type_text("floor");
    window.key("Return");
    window.wait("not renamed body.bar");
    window.type_text("beam");
    window.key("Return");
    window.wait("renamed body.bar to beam");
    window.wait("selected body.beam");
    let step = step_of(&window.last("step ").unwrap());
    window.wait_for("more steps", |line| line.starts_with("step ") && step_of(line) > step);

    window.click("tree.material.soft");
    window.wait("selected material.soft");
    window.click("value.material.soft.name");
    window.comes_to("typing ", "typing begun");
    window.key("ctrl+a");
    window.type_text("gum");
    window.key("Return");
    window.wait("renamed material.soft to gum");
    // It acts by its new name.
    set(&mut window, "value.material.gum.density", "900");
    window.wait("edited material.gum.density=900.0");
    window.key("ctrl+shift+s");
    window.wait("scene saved ");
    let expected = SCENE.replace("name = \"bar\"", "name = \"beam\"").replace("[material.soft]", "[material.gum]");
    let expected = expected
        .replace("material = \"soft\"", "material = \"gum\"")
        .replace("mass_damping = 30\n", "mass_damping = 30\ndensity = 900.0\n");
    assert_eq!(std::fs::read_to_string(file.path()).unwrap(), expected);

    window.key("ctrl+z");
    window.wait("undone material.gum.density=");
    window.key("ctrl+z");
    window.wait("undone material.soft.name=");
    window.key("ctrl+z");
    window.wait("undone body.bar.name=");
    window.wait("selected material.soft");
    window.expect_nothing("message", 100);
}
