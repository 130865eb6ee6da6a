//! Where the window looks from, its start page, its palette, and pictures of what was recorded.

use crate::driver::{Driver, Picture};
use crate::{number, step_of};

#[test]
fn views_along_the_axes_home_and_named_ones() {
    let mut window = Driver::start(&["incline"]);
    window.wait("scene loaded Incline");
    window.has_told("ready");
    window.focus();
    let view = |window: &mut Driver, key: &str| {
        window.key(key);
        let line = window.wait("camera ");
        [number(&line, "azimuth"), number(&line, "elevation")]
    };
    let home = view(&mut window, "Home");
    assert_eq!(view(&mut window, "1"), [0.0, 0.0]);
    assert_eq!(view(&mut window, "ctrl+3"), [-90.0, 0.0]);
    assert_eq!(view(&mut window, "7"), [0.0, 90.0]);
    window.key("5");
    window.wait("camera parallel");
    // The top is kept under a name, by menu.
    window.click("menu.View");
    window.click("menu.View.Camera");
    window.click("item.Save_view");
    window.type_text(" from above");
    window.key("Return");
    window.comes_to("typing ", "typing ended");
    assert_eq!(view(&mut window, "Home"), home);
    window.click("menu.View");
    window.click("menu.View.Camera");
    window.click("view.0");
    let line = window.wait("camera parallel");
    assert_eq!(number(&line, "elevation"), 90.0);
    window.key("ctrl+q");
    assert!(window.exit_status().success());
}

#[test]
fn the_start_page_and_the_palette_open_scenes() {
    let mut window = Driver::start(&["incline"]);
    window.wait("scene loaded Incline");
    window.has_told("ready");
    window.focus();
    window.click("menu.File");
    window.click("item.Start_page");
    window.click("start.cantilever");
    window.wait("scene loaded Cantilever");
    // Some letters of a name.
    window.key("ctrl+k");
    window.place("palette.field");
    window.type_text("opinc");
    window.key("Return");
    window.wait("scene loaded Incline");
    // An experiment in its menu within the menu, in the first column and in the last, whose pictures come meanwhile.
    for (experiment, title) in [("rigid_stack", "Rigid stack"), ("twist", "Twist")] {
        window.click("menu.Gallery");
        window.click("menu.Gallery.Experiments");
        window.click(&format!("gallery.{experiment}"));
        window.wait(&format!("scene loaded {title}"));
    }
    // A session of the gallery.
    window.key("ctrl+g");
    window.click("sheet.gallery.session");
    window.wait("scene loaded");
    window.key("ctrl+q");
    assert!(window.exit_status().success());
}

#[test]
fn what_was_recorded_is_filmed_and_large_pictures_are_transparent() {
    let mut window = Driver::start(&["incline"]);
    window.wait("scene loaded Incline");
    window.has_told("ready");
    window.focus();
    window.wait_for("step 20", |line| line.starts_with("step ") && step_of(line) >= 20);
    window.key("space");
    window.wait("activity Paused");
    window.key("shift+v");
    window.click("record.past");
    window.click("record.PNG_pictures");
    window.click("record.start");
    let folder = window.recorded();
    let mut frames: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    frames.sort();
    // Twenty steps of 1/100 s, thirty pictures a second.
    assert!(frames.len() >= 6, "{frames:?}");
    assert!(Picture::read(&frames[0]).distinct_colors() > 200);
    // A moment for another program.
    window.key("shift+v");
    window.click("record.tab.Export");
    window.click("export.obj");
    window.click("export.start");
    let told = window.wait_for("the export", |line| line.starts_with("message 1 frame was exported into"));
    let path = std::path::PathBuf::from(told.split("into ").nth(1).unwrap());
    let written = std::fs::read_dir(path.parent().unwrap()).unwrap();
    assert!(written.flatten().any(|entry| entry.file_name().to_string_lossy().ends_with("_00000.obj")));
    window.key("ctrl+q");
    assert!(window.exit_status().success());
}

/// A heap of soft rods whose steps take long.
const LONG_STEPS: &str = r#"
format = 1
title = "Long steps"
[simulation]
time_step = 0.02
max_step_ms = 600000.0
[material.soft]
young_modulus = 3000
[[body]]
name = "block"
material = "soft"
shape = { type = "box", size = [1.0, 1.0, 1.0], cells = [34, 34, 34] }
position = [0.0, 0.52, 0.0]
[[body]]
name = "floor"
kind = "static"
shape = { type = "plane" }
"#;

/// The mouse is answered while a step is computed, which says that it takes long and can be stopped.
#[test]
fn a_long_step_does_not_keep_the_window_waiting() {
    let folder = std::env::temp_dir().join(format!("pliant-long-step-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("long.toml");
    std::fs::write(&file, LONG_STEPS).unwrap();
    let mut window = Driver::start(&[file.to_str().unwrap()]);
    window.wait("scene loaded Long steps");
    window.focus();
    window.wait("long step begun");
    window.press(300, 150);
    window.drag(300, 150, 360, 170, 6);
    window.release();
    // Each input is in the next picture, whatever the step does.
    for k in 0..4 {
        window.hover([400 + 20 * k, 300]);
        let answered = window.wait("answered ");
        println!("while a step takes long: {answered}");
        assert!(number(&answered, "frames") <= 2.0 && number(&answered, "ms") < 2.0 * number(&answered, "frame_ms") + 5.0, "{answered}");
    }
    // And on the screen soon: after the frame that was under way when it came, its own, and the display's. The view
    // turns with the mouse while the same step goes on.
    let [x, y] = [300, 150];
    let step = window.last("step ");
    window.press(x, y);
    window.wait("answered ");
    let mut latencies = vec![];
    for k in 1..=4 {
        let before = number(&window.last("answered ").unwrap(), "frame_ms");
        let [seen, sent] = window.time_to_change([500, 250], [400, 300], 0.02, |window| window.point_at([x + 45 * k, y]));
        let answered = window.wait("answered ");
        let frame = number(&answered, "frame_ms").max(before);
        println!("on the screen after {:.0} ms; sent in {:.0} ms, frames take {frame:.0} ms", 1e3 * seen, 1e3 * sent);
        assert!(number(&answered, "frames") <= 2.0, "{answered}");
        // Looking at the screen takes some milliseconds, too.
        latencies.push((1e3 * (seen - sent) - 25.0) / frame);
    }
    // Now and then other programs take the processor meanwhile.
    latencies.sort_by(f64::total_cmp);
    assert!(latencies[1] < 3.0, "frames until an input was on the screen: {latencies:?}");
    window.release();
    assert_eq!(window.last("step "), step, "the step was to take longer");
    // A step may end just before it is stopped: then the next one is.
    let is_paused = |window: &Driver| window.last("activity ").as_deref() == Some("activity Paused");
    for _ in 0..5 {
        window.click("step.stop");
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
        while !is_paused(&window) && std::time::Instant::now() < deadline {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        if is_paused(&window) {
            break;
        }
    }
    assert!(is_paused(&window), "it is not stopped");
    window.expect_nothing("step ", 300);
    // Begun again, it ends within 100 ms of being told to, and of the frames that hear of it and of its end. One that
    // ends by itself before it is told to says nothing: then it is the turn of the next.
    let mut waits = vec![];
    for _ in 0..20 {
        if waits.len() == 3 {
            break;
        }
        if is_paused(&window) {
            window.key("space");
        }
        window.wait("long step begun");
        let [x, y] = window.place("step.stop");
        window.press(x, y);
        let frame = number(&window.wait("answered "), "frame_ms");
        let told = std::time::Instant::now();
        window.release();
        while !is_paused(&window) && told.elapsed().as_secs_f64() < 3.0 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let wait = 1e3 * told.elapsed().as_secs_f64();
        if is_paused(&window) {
            println!("stopped after {wait:.0} ms; frames take {frame:.0} ms");
            waits.push(wait - 3.0 * frame);
        }
    }
    assert_eq!(waits.len(), 3, "steps end before they are stopped");
    waits.sort_by(f64::total_cmp);
    assert!(waits[1] < 100.0, "beyond three frames: {waits:?} ms");
    window.key("ctrl+q");
    assert!(window.exit_status().success());
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A window in which nothing happens takes nothing from other programs.
#[test]
fn an_idle_window_rests() {
    let mut window = Driver::start(&["incline"]);
    window.wait("scene loaded Incline");
    window.has_told("ready");
    window.focus();
    window.key("space");
    window.wait("activity Paused");
    // What stands still is drawn finely once.
    std::thread::sleep(std::time::Duration::from_secs(3));
    let before = window.cpu_seconds();
    std::thread::sleep(std::time::Duration::from_secs(5));
    let spent = window.cpu_seconds() - before;
    println!("an idle window takes {:.2} % of a core", 20.0 * spent);
    assert!(spent < 0.02 * 5.0, "{spent} s of 5 s");
    window.key("ctrl+q");
    assert!(window.exit_status().success());
}
