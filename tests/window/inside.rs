//! Looking inside, and numbers: plots, forces, warnings, cuts, the ruler.

use std::path::Path;

use crate::driver::Driver;
use crate::scene::place;
use crate::{number, screenshot, step_of};

/// A soft cube under a plate that is pushed through the floor.
const PRESS: &str = r#"
format = 1
title = "Press"
[simulation]
time_step = 0.01
[material.soft]
young_modulus = 2e4
poisson_ratio = 0.3
density = 1000
[[body]]
name = "floor"
kind = "static"
shape = { type = "plane" }
[[body]]
name = "cube"
material = "soft"
shape = { type = "box", size = [0.1, 0.1, 0.1], cells = [4, 4, 4] }
position = [0.0, 0.051, 0.0]
color = "coral"
[[body]]
name = "plate"
kind = "driven"
shape = { type = "box", size = [0.3, 0.02, 0.3] }
position = [0.0, 0.15, 0.0]
motion = { keyframes = [{ time = 0.2 }, { time = 0.5, position = [0.0, -0.17, 0.0] }, { time = 0.7, position = [0.0, 0.2, 0.0] }] }
[camera]
eye = [0.3, 0.2, 0.5]
target = [0.0, 0.05, 0.0]
[[probe]]
name = "top"
body = "cube"
region = { side = "y+" }
"#;

struct Scene(std::path::PathBuf);

impl Scene {
    fn open(name: &str) -> (Self, Driver) {
        let folder = std::env::temp_dir().join(format!("pliant-inside-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("press.toml");
        std::fs::write(&path, PRESS).unwrap();
        let mut window = Driver::start(&[&path.display().to_string(), "--backend", "cpu"]);
        window.wait("scene loaded Press");
        window.focus();
        (Self(folder), window)
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap_or_default();
    }
}

fn saved(window: &mut Driver, widget: &str) -> std::path::PathBuf {
    window.click(widget);
    let told = window.wait("plots ");
    Path::new(told.trim_start_matches("plots ")).to_owned()
}

#[test]
fn numbers_are_plotted_told_and_warned_of() {
    let (_scene, mut window) = Scene::open("numbers");
    window.key("n");
    // The plate would run over the cube, whose way ends at the floor.
    let warning = window.wait("warning ");
    assert!(warning.contains("step") || warning.contains("waited"), "{warning}");
    window.wait_for("a step after that", |line| line.starts_with("step ") && step_of(line) > 40);
    window.key("space");
    window.wait("activity Paused");
    window.expect_nothing("step ", 300);
    let end = step_of(&window.last("step ").unwrap());

    // A click in the middle of a chart looks at the step there.
    let [x, y] = window.place("plots.chart.Contacts");
    window.click_at([x + 20, y + 20]);
    let middle = step_of(&window.wait("past "));
    assert!((end / 4..3 * end / 4 + 2).contains(&middle), "step {middle} is not in the middle of {end}");
    window.key("End");
    window.wait("step ");

    // The table has all steps, with the probe of the scene; and the picture is one.
    let text = std::fs::read_to_string(saved(&mut window, "plots.csv")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len() as u64, end + 1);
    assert!(lines[0].contains("Probes: top [m]") && lines[0].contains("Forces of pairs:"), "{}", lines[0]);
    assert!(lines[end as usize].starts_with(&format!("{end},")));
    let picture = crate::Picture::read(&saved(&mut window, "plots.png"));
    assert!(picture.size[0] > 1000 && picture.distinct_colors() > 50);

    // The badge stays until it is read.
    window.click("warnings.badge");
    window.place("warnings.close");
    window.click("warnings.close");

    // The largest force is that of the plate; a click selects whose it is.
    window.click("forces.row.0");
    let selected = window.wait("selected ");
    assert!(selected.contains("body.cube") || selected.contains("body.plate"), "{selected}");
    window.key("ctrl+q");
    assert!(window.exit_status().success());
}

#[test]
fn bodies_are_cut_open_measured_and_probed() {
    let (_scene, mut window) = Scene::open("cut");
    window.wait("step ");
    window.key("space");
    window.wait("activity Paused");
    // The plate may stand on the cube already.
    window.key("r");
    window.wait("step 0 ");
    let body = window.wait("body cube ");
    let at: Vec<i32> = body.split(' ').skip(2).map(|n| n.parse().unwrap()).collect();
    let coral = |window: &mut Driver| screenshot(window).share(|[r, g, b]| r > 110 && i32::from(r) - i32::from(b) > 50 && g < r);
    let whole = coral(&mut window);
    // What is cut away is the side towards the camera, and then nothing is left to peel off.
    window.key("i");
    window.click("inside.axis.y");
    window.place("inside.place");
    let cut = coral(&mut window);
    assert!(whole > 0.01 && cut > 0.2 * whole && cut < 0.85 * whole, "{cut} of {whole}");
    // Across the line of sight, and along the face that is clicked: of a cube its direction is one of an axis.
    window.click("inside.view");
    let across = window.wait("cut ");
    window.click("inside.face");
    window.click_at([at[0], at[1]]);
    let along = window.wait("cut ");
    let angles = |line: &str| [number(line, "turn"), number(line, "tilt")];
    assert!(angles(&across).iter().any(|angle| angle % 90.0 != 0.0), "{across}");
    assert!(angles(&along).iter().all(|angle| angle.rem_euclid(90.0).min(90.0 - angle.rem_euclid(90.0)) < 0.5), "{along}");
    window.click("inside.flip");
    window.click("inside.whole");
    window.key("i");

    window.key("m");
    window.click_at([at[0], at[1]]);
    std::thread::sleep(std::time::Duration::from_millis(500)); // else it is a double click
    window.click_at([at[0] + 25, at[1]]);
    let length = number(&window.wait("ruler "), "length");
    assert!((0.001..0.1).contains(&length), "{length} m");
    window.key("Escape");

    // A probe is plotted from the next step on.
    window.key("n");
    window.place("plots.charts");
    // The view is smaller now; a step tells where the cube is in it.
    window.key("period");
    let at = place(&mut window, "cube");
    window.click("plots.charts");
    window.click("plots.choose.Probes");
    window.click_at([at[0], at[1] - 150]); // closes the list
    window.click("plots.set_probe");
    window.click_at([at[0], at[1]]);
    assert_eq!(window.wait("probe "), "probe cube-1");
    window.key("Escape");
    window.key("period");
    window.wait("step ");
    let text = std::fs::read_to_string(saved(&mut window, "plots.csv")).unwrap();
    let column = text.lines().next().unwrap().split(',').position(|name| name == "Probes: cube-1 [m]").unwrap();
    let of_last = text.lines().last().unwrap().split(',').nth(column).unwrap();
    assert!(of_last.parse::<f64>().is_ok(), "{of_last:?}");
    window.key("ctrl+q");
    assert!(window.exit_status().success());
}

/// The plane is moved by its arrow and tilted by an arc, a drag is given up, all of it is taken back, and its handles
/// are hidden.
#[test]
fn the_plane_is_dragged_by_its_handles() {
    let (_scene, mut window) = Scene::open("plane");
    window.wait("step ");
    window.key("space");
    window.wait("activity Paused");
    window.key("r");
    window.wait("step 0 ");
    window.key("i");
    // Where the plane is, as it is told when the button is let go.
    let plane = |line: &str| ["turn", "tilt", "place"].map(|key| number(line, key));
    let drag = |window: &mut Driver, handle: &str, [x, y]: [i32; 2]| {
        let (at, other) = (window.place(handle), window.place("plane.Turn_1"));
        window.press(at[0], at[1]);
        window.drag(at[0], at[1], at[0] + x, at[1] + y, 5);
        window.release();
        let told = window.wait("cut ");
        window.moved("plane.Turn_1", other);
        plane(&told)
    };
    // It lies across the x axis at first, in the middle; the arrow points to the right. The drag takes no body along.
    let start = [90.0, 0.0, 0.5];
    let arrow = window.place("plane.Move_2");
    let moved = drag(&mut window, "plane.Move_2", [25, 0]);
    assert!(moved[..2] == start[..2] && (0.52..0.98).contains(&moved[2]), "{moved:?}");
    let with_plane = window.place("plane.Move_2")[0] - arrow[0];
    assert!((15..=35).contains(&with_plane), "the arrow goes with the mouse: {with_plane} px");
    // An arc tilts it and does not turn it.
    let tilted = drag(&mut window, "plane.Turn_0", [0, -40]);
    assert!(tilted[1].abs() > 5.0 && (tilted[0] - 90.0).abs() < 0.1, "{tilted:?}");

    // Given up, it is where it was before the button came up.
    let [x, y] = window.place("plane.Turn_1");
    window.press(x, y);
    window.drag(x, y, x + 30, y + 30, 5);
    window.key("Escape");
    window.wait("cut given up");
    window.release();
    window.wait("answered ");
    window.expect_nothing("cut ", 300);
    let undone = |window: &mut Driver, key: &str, told: &str| {
        window.key(key);
        window.wait(told);
        plane(&window.wait("cut turn="))
    };
    assert_eq!(undone(&mut window, "ctrl+z", "undone the cut"), moved);
    assert_eq!(undone(&mut window, "ctrl+z", "undone the cut"), start);
    assert_eq!(undone(&mut window, "ctrl+y", "redone the cut"), moved);

    // Where a hidden handle was, a drag moves the view.
    let [x, y] = window.place("plane.Move_2");
    window.key("shift+i");
    window.wait("gone plane.Move_2");
    window.press(x, y);
    window.drag(x, y, x + 30, y, 3);
    window.release();
    window.wait("answered ");
    window.expect_nothing("cut ", 300);
    window.key("shift+i");
    window.wait("widget plane.Move_2 ");
    assert!(window.last("grab ").is_none());
    window.key("ctrl+q");
    assert!(window.exit_status().success());
}
