//! The real window on a virtual display, driven with real mouse and keyboard events. Needs Xvfb, xdotool and a Vulkan
//! driver; without them it fails, because a window that nobody tried is not known to work.

#[path = "window/bodies.rs"]
mod bodies;
#[path = "window/driver.rs"]
mod driver;
#[path = "window/film.rs"]
mod film;
#[path = "window/reading.rs"]
mod reading;
#[path = "window/inside.rs"]
mod inside;
#[path = "window/scene.rs"]
mod scene;
#[path = "window/time.rs"]
mod time;
#[path = "window/view.rs"]
mod view;

use driver::{Driver, Picture};

/// The number after `key=` in a line.
fn number(line: &str, key: &str) -> f64 {
    let rest = line.split(&format!("{key}=")).nth(1).unwrap_or_else(|| panic!("no {key} in: {line}"));
    rest.split([' ', ',']).next().unwrap().parse().unwrap_or_else(|_| panic!("no number after {key} in: {line}"))
}

/// The point after `key=` in a line.
fn point(line: &str, key: &str) -> [f64; 3] {
    let rest = line.split(&format!("{key}=")).nth(1).unwrap_or_else(|| panic!("no {key} in: {line}"));
    let numbers: Vec<f64> = rest.split(' ').next().unwrap().split(',').map(|n| n.parse().unwrap()).collect();
    [numbers[0], numbers[1], numbers[2]]
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

fn step_of(line: &str) -> u64 {
    line.split(' ').nth(1).unwrap().parse().unwrap()
}

/// A picture of an orange bunny on a floor, not a blank one.
fn assert_shows_the_bunny(picture: &Picture) {
    let colors = picture.distinct_colors();
    assert!(colors > 500, "only {colors} colours: the picture is blank");
    let orange = picture.share(|[r, g, b]| r > 120 && i32::from(r) - i32::from(b) > 60 && g < r);
    assert!(orange > 0.01, "only {:.2} % of the picture is orange: where is the bunny?", orange * 100.0);
}

fn screenshot(window: &mut Driver) -> Picture {
    window.key("ctrl+s");
    let saved = window.wait("screenshot ");
    Picture::read(std::path::Path::new(saved.trim_start_matches("screenshot ")))
}

#[test]
fn a_scene_is_opened_pulled_paused_stepped_recorded_and_captured() {
    let mut window = Driver::start(&[]);
    window.has_told("ready");
    window.wait("scene loaded");
    window.focus();

    // Open a scene by the menu. The first scene may be in a long step meanwhile: the menu answers all the same.
    window.click("menu.Gallery");
    window.click("gallery.bunny");
    window.wait("scene loaded Bunny");
    window.wait_for("step 12", |line| line.starts_with("step ") && step_of(line) >= 12);

    // Pause.
    window.key("space");
    window.wait("activity Paused");
    let body = window.wait("body bunny ");
    let at: Vec<i32> = body.split(' ').skip(2).map(|n| n.parse().unwrap()).collect();
    let [x, y] = [at[0], at[1]];
    let paused = step_of(&window.last("step ").unwrap());
    window.expect_nothing("step ", 400);

    // One step, and no more.
    window.key("period");
    let line = window.wait("step ");
    assert_eq!(step_of(&line), paused + 1);
    window.expect_nothing("step ", 400);

    // Pull while paused: it acts at the next step.
    window.press(x, y);
    let grabbed = window.wait("grab body=bunny");
    window.drag(x, y, x, y - 60, 4);
    window.key("period");
    window.wait_for("a step that pulls", |line| line.starts_with("moved body=bunny") && number(line, "force") > 1.0);
    window.release();
    window.wait("release body=bunny");
    let start = point(&grabbed, "point");

    // Pull while it runs: the body follows the mouse.
    window.key("space");
    window.wait("activity Playing");
    window.press(x, y);
    let grabbed = point(&window.wait("grab body=bunny"), "point");
    assert!(distance(start, grabbed) < 0.2, "the same place on the screen is about the same place in the world");
    window.drag(x, y, x + 40, y - 120, 10);
    let moved = window
        .wait_for("the bunny to follow", |line| line.starts_with("moved body=bunny") && distance(point(line, "point"), grabbed) > 0.02);
    let (from, to) = (distance(grabbed, point(&moved, "target")), distance(point(&moved, "point"), point(&moved, "target")));
    assert!(to < from, "it moves, but not towards the mouse: {moved}");
    window.release();
    window.wait("release body=bunny");

    // Drag beside it: the camera turns and nothing is grabbed.
    window.press(60, 120);
    window.drag(60, 120, 100, 130, 4);
    window.release();
    window.expect_nothing("grab ", 300);

    // Record a film, as it comes.
    window.key("v");
    window.wait("recording frame 9");
    window.key("v");
    let film = std::fs::read(window.recorded()).unwrap();
    let film = re_mp4::Mp4::read_bytes(&film).unwrap();
    assert!(film.tracks().values().next().unwrap().samples.len() >= 10);

    // And ten pictures.
    window.click("menu.File");
    window.click("menu.File.Films");
    window.click("film.PNG_pictures");
    window.key("Escape");
    // A click while the menu still stands would only close it.
    window.expect_nothing("recording ", 500);
    window.click("transport.record");
    window.wait("recording frame 9");
    window.click("transport.record");
    let folder = window.recorded();
    let mut frames: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    frames.sort();
    assert!(frames.len() >= 10 && frames[0].ends_with("frame_00000.png"), "{frames:?}");
    let size = Picture::read(&frames[0]).size;
    for frame in &frames {
        let picture = Picture::read(frame);
        assert_eq!(picture.size, size);
        assert_shows_the_bunny(&picture);
    }

    // Contacts and their forces.
    window.key("c");
    window.wait("contacts ");

    // A screenshot.
    assert_shows_the_bunny(&screenshot(&mut window));

    // Quit.
    window.key("ctrl+q");
    assert!(window.exit_status().success());
}

#[test]
fn a_rigid_block_is_dragged_off_its_stack() {
    let mut window = Driver::start(&["rigid_stack"]);
    window.wait("scene loaded Rigid stack");
    window.focus();
    window.wait_for("step 5", |line| line.starts_with("step ") && step_of(line) >= 5);
    window.key("space");
    window.wait("activity Paused");
    let top = window.wait("body box[9] ");
    let at: Vec<i32> = top.split(' ').skip(2).map(|n| n.parse().unwrap()).collect();
    let [x, y] = [at[0], at[1]];
    window.press(x, y);
    let grabbed = point(&window.wait("grab body=box[9]"), "point");
    assert!((0.88..1.02).contains(&grabbed[1]), "the top block is between 0.9 and 1 m: {grabbed:?}");
    window.drag(x, y, x + 130, y - 60, 6);
    window.key("space");
    let moved = window.wait_for("the block to follow", |line| {
        line.starts_with("moved body=box[9]") && number(line, "force") > 1.0 && distance(point(line, "point"), grabbed) > 0.05
    });
    let (from, to) = (distance(grabbed, point(&moved, "target")), distance(point(&moved, "point"), point(&moved, "target")));
    assert!(to < from, "it moves, but not towards the mouse: {moved}");
    window.release();
    window.wait("release body=box[9]");
    window.key("ctrl+q");
    assert!(window.exit_status().success());
}

#[test]
fn bad_files_are_told_and_the_window_lives() {
    let mut window = Driver::start(&["spin"]);
    window.wait("scene loaded");
    window.focus();
    let bad = window.folder().join("bad.toml");
    std::fs::write(&bad, "format = 1\n[simulation]\ntime_stop = 0.01\n").unwrap();
    window.click("menu.File");
    window.click("item.Open_path…");
    window.wait("widget path.field");
    window.type_text(&bad.display().to_string());
    window.key("Return");
    let message = window.wait("message ");
    assert!(message.contains("time_stop") && message.contains("bad.toml"), "{message}");
    // The field comes back with the path, and what is wrong with it.
    window.wait("path asked for again");
    window.key("Escape");
    window.wait("gone path.field");

    // A mesh becomes a soft body.
    let mesh = window.folder().join("cube.off");
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/cube.off"), &mesh).unwrap();
    window.click("menu.File");
    window.click("item.Open_path…");
    window.wait("widget path.field");
    window.type_text(&mesh.display().to_string());
    window.key("Return");
    window.wait("scene loaded cube");
    window.wait_for("step 3", |line| line.starts_with("step ") && step_of(line) >= 3);
    let recent = std::fs::read_to_string(window.folder().join("config/recent.json")).unwrap();
    assert!(recent.contains("cube.off"), "{recent}");

    // What is wrong with a mesh is told, also where nothing can come of it: its sides lie on each other.
    let flat = window.folder().join("flat.obj");
    std::fs::write(&flat, "v 0 0 0\nv 1 0 0\nv 1 0 1\nv 0 0 1\nf 1 2 3\nf 1 3 4\nf 2 1 4\nf 2 4 3\n").unwrap();
    window.click("menu.File");
    window.click("item.Open_path…");
    window.wait("widget path.field");
    window.type_text(&flat.display().to_string());
    window.key("Return");
    window.wait("checkup flat.obj findings=0 refused=true");
    window.wait("scene loaded flat");
    window.click("checkups.close");
    window.wait("gone checkups.close");
    window.key("ctrl+q");
    assert!(window.exit_status().success());
}

#[test]
fn checks_run_beside_the_simulation() {
    let mut window = Driver::start(&["spin"]);
    window.wait("scene loaded");
    window.focus();
    // One alone.
    window.click("menu.Verify");
    window.click("menu.Verify.Show");
    window.click("verify.shear");
    window.click("verify.one");
    let ended = window.wait("verify ended=1");
    assert!(ended.contains("passed=1 failed=0"), "{ended}");
    window.wait("verify rests");
    // All: the simulation goes on meanwhile, and so does the window.
    window.click("verify.run");
    window.wait_for("some checks to end", |line| line.starts_with("verify ended=") && number(line, "passed") >= 4.0);
    window.wait("step ");
    window.click("verify.cancel");
    window.wait("widget verify.run");
    window.click("verify.save");
    let saved = window.wait("verify saved ");
    let report = std::fs::read_to_string(saved.trim_start_matches("verify saved ")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert!(report["passed"].as_u64().unwrap() >= 4 && report["failed"] == 0, "{report:#}");
    window.click("verify.close");
    window.wait("gone verify.close");
    window.key("ctrl+q");
    assert!(window.exit_status().success());
}

#[test]
fn bodies_are_coloured_by_what_they_feel() {
    let mut window = Driver::start(&["cantilever"]);
    window.wait("scene loaded");
    window.focus();
    // It swings at first, and at times there is hardly any stress in it.
    window.wait_for("the bar to hang", |line| line.starts_with("step ") && step_of(line) >= 100);
    let of_body = screenshot(&mut window);
    // The root is strained most (yellow), the tip hardly (violet): the bar itself is blue.
    let [yellow, violet, blue]: [fn([u8; 3]) -> bool; 3] = [
        |[r, g, b]| r > 90 && g > 120 && i32::from(g) - i32::from(b) > 60,
        |[r, g, b]| i32::from(r.min(b)) - i32::from(g) > 30,
        |[r, _, b]| i32::from(b) - i32::from(r) > 40,
    ];
    assert!(of_body.share(yellow) < 1e-3 && of_body.share(violet) < 1e-3);
    let bar = of_body.share(blue);
    window.click("menu.View");
    window.click("menu.View.Colour");
    window.click("color.Stress_(von_Mises)");
    window.wait("colored by Stress (von Mises)");
    window.wait("widget colour.hold");
    let of_stress = screenshot(&mut window);
    let [yellow, violet] = [yellow, violet].map(|color| of_stress.share(color) / bar);
    assert!(yellow > 0.01 && violet > 0.1, "{yellow} {violet} of {bar}");
    window.click("colour.hold");
    window.click("colour.close");
    window.wait("gone colour.close");
    window.key("ctrl+q");
    assert!(window.exit_status().success());
}

#[test]
fn without_a_display_a_sentence_says_what_to_do() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_pliant"))
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("WAYLAND_SOCKET")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(1 | 2)), "{:?}: {text}", output.status);
    assert!(text.contains("display") && text.contains("pliant run") && !text.contains("panicked") && !text.contains(".rs:"), "{text}");
}
