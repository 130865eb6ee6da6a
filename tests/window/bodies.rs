//! Bodies in the window: what can be done to them by the right button, added, copied, taken out, locked, dropped again.

use crate::driver::Driver;
use crate::scene::{SceneFile, hash, place, set};
use crate::{number, step_of};

/// The window with the scene at its start, paused.
fn paused(file: &SceneFile) -> Driver {
    let mut window = file.open();
    wait_step(&mut window, 3);
    window.key("space");
    window.wait("activity Paused");
    window
}

fn wait_step(window: &mut Driver, step: u64) {
    window.wait_for("some steps", |line| line.starts_with("step ") && step_of(line) >= step);
}

#[test]
fn bodies_come_and_go_by_the_right_button_and_are_saved() {
    let file = SceneFile::new("bodies");
    let mut window = paused(&file);
    let block = place(&mut window, "block");

    // Copied by the menu over it: the copy stands beside it, selected, and the scene starts anew.
    window.right_click_at(block);
    window.wait("menu block");
    window.click("item.Duplicate");
    window.wait("edited body.block_2={");
    window.wait("scene loaded Desk");
    window.wait("selected body.block_2");
    window.key("ctrl+z");
    window.wait("undone body.block_2=");
    window.wait("scene loaded Desk");
    window.key("ctrl+y");
    window.wait("redone body.block_2={");
    window.wait("scene loaded Desk");

    // The ball is taken out in the list by the right button, one more soft ball is added from the Edit menu.
    let ball = window.place("tree.body.ball");
    window.right_click_at(ball);
    window.click("item.Delete");
    window.wait("edited body.ball=");
    window.wait("scene loaded Desk");
    window.wait("gone tree.body.ball");
    window.click("menu.Edit");
    window.click("menu.Add");
    window.click("item.Soft_ball");
    window.wait("edited body.soft_ball={");
    window.wait("scene loaded Desk");

    window.key("ctrl+shift+s");
    window.wait("scene saved");
    let text = std::fs::read_to_string(file.path()).unwrap();
    assert!(text.starts_with("# Written by hand.") && text.contains("time_step = 0.02 # coarse"), "{text}");
    assert!(text.contains("name = \"block_2\"") && text.contains("name = \"soft_ball\"") && !text.contains("\"ball\""), "{text}");
    // What was saved starts as what was built: the session of the window repeats in it.
    window.click("menu.File");
    window.click("item.Save_session");
    let told = window.wait_for("the session", |line| line.contains("The session is in"));
    let session = told.split("The session is in ").nth(1).unwrap().split(';').next().unwrap();
    let of_session: serde_json::Value =
        serde_json::from_str(std::fs::read_to_string(window.folder().join(session)).unwrap().lines().next().unwrap()).unwrap();
    assert_eq!(hash(&file.path(), &[], 0), of_session["state_hash"], "the start of the saved scene");
}

#[test]
fn a_body_is_hidden_locked_and_dropped_again_from_its_menu() {
    let file = SceneFile::new("menu");
    let mut window = paused(&file);
    let ball = place(&mut window, "ball");
    window.right_click_at(ball);
    window.wait("menu ball");
    window.click("item.Lock");
    // Locked, it is neither pulled nor picked by the left button, but has its menu.
    window.click_at(ball);
    window.wait("selected");
    window.press(ball[0], ball[1]);
    window.drag(ball[0], ball[1], ball[0] + 30, ball[1], 3);
    window.release();
    window.expect_nothing("grab", 200);
    window.click("menu.Edit");
    window.click("item.Unlock_all_bodies");
    window.key("r");
    window.wait("step 0 ");
    let ball = place(&mut window, "ball");
    window.right_click_at(ball);
    window.wait("menu ball");
    window.click("item.Drop_again");
    window.right_click_at(ball);
    window.wait("menu ball");
    window.click("item.Hide");
    window.right_click_at(ball);
    let under = window.wait("menu ");
    assert!(!under.contains("ball"), "hidden, it is not there: {under}");
    window.click("item.Show_all_bodies");
    window.key("ctrl+z");
    window.wait("undone what is hidden and locked");
    window.key("ctrl+y");
    window.wait("redone what is hidden and locked");
    window.right_click_at(ball);
    window.wait("menu ball");
    window.click("item.Fly_to_it");
}

/// A point of the bar is pinned by a key and by its menu, unpinned by its menu, and all of that is undone; it is saved.
#[test]
fn pins_are_set_while_it_runs_and_undone() {
    let file = SceneFile::new("pins");
    let mut window = file.open();
    wait_step(&mut window, 30);
    window.key("space");
    window.wait("activity Paused");
    let bar = place(&mut window, "bar");
    // Under the cursor, by its key.
    window.hover(bar);
    window.key("p");
    window.wait("edited body.bar.fix=[{ side = \"x-\" }, { spheres = [{ center = [");
    window.right_click_at(bar);
    window.wait("menu bar");
    window.click("item.Unpin");
    window.wait("edited body.bar.fix=[{ side = \"x-\" }]");
    window.right_click_at(bar);
    window.wait("menu bar");
    window.click("item.Pin_here");
    window.wait("edited body.bar.fix=[{ side = \"x-\" }, { spheres");
    window.key("ctrl+z");
    window.wait("undone body.bar.fix=[{ side = \"x-\" }]");
    // All that is in a frame.
    let [x, y] = bar;
    window.hover([x - 60, y - 60]);
    window.hold("shift", true);
    window.hold("p", true);
    window.drag(x - 60, y - 60, x + 60, y + 60, 6);
    window.hold("p", false);
    window.hold("shift", false);
    window.wait("edited body.bar.fix=[{ side = \"x-\" }, { spheres = [{ center = [");
    // The same frame with Alt takes it away again.
    window.hold("alt", true);
    window.hold("shift", true);
    window.hold("p", true);
    window.drag(x + 60, y + 60, x - 60, y - 60, 6);
    window.hold("p", false);
    window.hold("shift", false);
    window.hold("alt", false);
    window.wait("edited body.bar.fix=[{ side = \"x-\" }]");
    window.key("ctrl+z");
    window.wait("undone body.bar.fix=[{ side = \"x-\" }, { spheres = [{ center = [");
    window.key("ctrl+z");
    window.wait("undone body.bar.fix=[{ side = \"x-\" }]");

    // What is held is pinned where it is, and does not come back.
    window.press(bar[0], bar[1]);
    window.wait("grab body=bar");
    window.key("space");
    window.drag(bar[0], bar[1], bar[0], bar[1] - 60, 6);
    window.wait_for("a pull", |line| line.starts_with("moved body=bar") && number(line, "force") > 0.5);
    window.key("p");
    window.wait("edited body.bar.fix=[{ side = \"x-\" }, { spheres");
    window.wait("release body=bar");
    window.release();
    let from = step_of(&window.last("step ").unwrap());
    window.wait_for("that it goes on", |line| line.starts_with("step ") && step_of(line) > from + 10);
    window.key("space");
    window.wait("activity Paused");
    window.key("ctrl+shift+s");
    window.wait("scene saved");
    let text = std::fs::read_to_string(file.path()).unwrap();
    assert!(text.contains("spheres = [{ center = [") && text.contains("# the bar"), "{text}");
}

/// The bar is painted with a second material, which is erased and painted again, undone and saved.
#[test]
fn a_material_is_painted_erased_and_saved() {
    let file = SceneFile::new("brush");
    let text = std::fs::read_to_string(file.path()).unwrap();
    let stiff = "[material.stiff]\nyoung_modulus = 4e7\n\n[[body]]\nname = \"bar\"";
    std::fs::write(file.path(), text.replacen("[[body]]\nname = \"bar\"", stiff, 1)).unwrap();
    let mut window = paused(&file);
    let [x, y] = place(&mut window, "bar");
    window.click("tree.material.stiff");
    window.wait("selected material.stiff");
    window.key("b");
    window.wait("colored by Material");
    window.place("brush.close");
    window.press(x - 40, y);
    window.drag(x - 40, y, x + 40, y, 5);
    window.release();
    window.wait("edited body.bar.region=[{ material = \"stiff\", spheres = [{ center = [");
    window.wait("scene loaded Desk");

    // A wider brush with Alt takes all of it off, and Ctrl+Z brings it back, at once.
    window.hover([x - 30, y]);
    window.wheel_with("ctrl", 4, 6);
    window.wait("brush radius=");
    window.hold("alt", true);
    window.press(x - 40, y);
    window.drag(x - 40, y, x + 40, y, 5);
    window.release();
    window.hold("alt", false);
    window.wait("edited body.bar.region=[]");
    window.wait("scene loaded Desk");
    window.key("ctrl+z");
    window.wait("undone body.bar.region=[{ material = \"stiff\"");
    window.wait("scene loaded Desk");
    window.key("Escape");
    window.wait("gone brush.close");
    window.key("ctrl+shift+s");
    window.wait("scene saved");
    let text = std::fs::read_to_string(file.path()).unwrap();
    assert!(text.contains("[[body.region]]\nmaterial = \"stiff\"\nspheres = [{ center = [") && text.contains("# the bar"), "{text}");
}

/// The mouse leaves a body held and takes another one.
#[test]
fn several_bodies_are_held_at_once() {
    let file = SceneFile::new("hands");
    let mut window = paused(&file);
    let block = place(&mut window, "block");
    let ball = place(&mut window, "ball");
    window.press(block[0], block[1]);
    window.wait("grab body=block");
    window.drag(block[0], block[1], block[0], block[1] - 80, 4);
    window.key("h");
    window.wait("left body=block");
    window.release();
    window.press(ball[0], ball[1]);
    window.wait("grab body=ball");
    window.wheel_with("ctrl", 4, 3);
    window.wait("grip radius=");
    window.drag(ball[0], ball[1], ball[0], ball[1] - 40, 4);
    window.key("space");
    window.wait_for("both", |line| line.starts_with("moved body=ball") && number(line, "force") > 0.5);
    window.release();
    window.wait("release body=ball");
    window.key("space");
    window.wait("activity Paused");
    // The other one hangs where it was left, until it is let go by its menu.
    window.right_click_at([block[0], block[1] - 80]);
    window.wait("menu");
    window.click("item.Let_go");
}

/// Carried by an arrow in the middle of a run, and refused where the floor is.
#[test]
fn a_body_is_moved_where_it_is_while_paused() {
    let file = SceneFile::new("carry");
    let mut window = paused(&file);
    let ball = place(&mut window, "ball");
    window.click_at(ball);
    window.wait("selected body.ball");
    for (by, told) in [(-60, None), (200, Some("would overlap there"))] {
        let arrow = window.place("gizmo.Move_1");
        window.press(arrow[0], arrow[1]);
        window.wait("gizmo Move(1) ball");
        window.drag(arrow[0], arrow[1], arrow[0], arrow[1] + by, 5);
        window.release();
        if let Some(told) = told {
            window.wait_for("a refusal", |line| line.starts_with("message") && line.contains(told));
        }
        window.key("period");
        window.wait("step ");
        let above = place(&mut window, "ball");
        assert!(above[1] < ball[1] - 30, "{ball:?} {above:?}");
        // It has fallen a little, and the gizmo with it.
        window.wait("widget gizmo.Move_1 ");
    }
    // Undone, the run goes on without the move; what came after it is there again by redo.
    window.key("ctrl+z");
    window.wait("undone the move of ball");
    window.wait("branch 2");
    window.key("ctrl+y");
    window.wait("redone the move of ball");
    window.wait("branch 1");
}

/// Moved by an arrow at the start, in one change, which is undone; then there is a question before it is lost.
#[test]
fn a_body_is_placed_at_the_start_and_nothing_is_lost_unasked() {
    let file = SceneFile::new("gizmo");
    let mut window = paused(&file);
    window.key("r");
    window.wait("step 0 ");
    let ball = place(&mut window, "ball");
    window.click_at(ball);
    window.wait("selected body.ball");
    // The upward arrow of the gizmo.
    let arrow = window.place("gizmo.Move_1");
    window.press(arrow[0], arrow[1]);
    window.wait("gizmo Move(1) ball");
    window.drag(arrow[0], arrow[1], arrow[0], arrow[1] - 50, 5);
    window.release();
    let told = window.wait("edited body.ball.position=[0.2, ");
    let height: f64 = told.split(", ").nth(1).unwrap().parse().unwrap();
    assert!(height > 0.1, "{told}");
    window.wait("scene loaded Desk");
    let above = place(&mut window, "ball");
    assert!(above[1] < ball[1] - 30, "{ball:?} {above:?}");
    window.key("ctrl+z");
    window.wait("undone body.ball.position=[0.2, 0.08, 0.2]");
    window.wait("scene loaded Desk");
    window.key("ctrl+y");
    window.wait("scene loaded Desk");

    // Quitting asks; cancelled it stays, and the file on the disk is not taken without a question either.
    window.key("ctrl+q");
    window.wait("unsaved changes");
    window.click("unsaved.cancel");
    window.wait("gone unsaved.cancel");
    let text = std::fs::read_to_string(file.path()).unwrap();
    std::fs::write(file.path(), text.replace("Desk", "Bench")).unwrap();
    window.wait("changed on disk");
    window.click("unsaved.discard");
    window.wait("scene loaded Bench");
    // Nothing is changed now: another change on the disk is taken at once, and a broken file leaves what is there.
    std::fs::write(file.path(), "format = 1\nbroken").unwrap();
    window.wait("changed on disk");
    window.wait_for("the fault", |line| line.starts_with("message") && line.contains("TOML"));
    std::fs::write(file.path(), text.replace("Desk", "Shelf")).unwrap();
    window.wait("scene loaded Shelf");
    window.key("ctrl+q");
    assert!(window.exit_status().success());
}

/// The panel shows what held at the step that is looked at, and what is done there goes on from that.
#[test]
fn values_follow_the_look_at_the_past() {
    let file = SceneFile::new("values");
    let mut window = paused(&file);
    window.click("tree.material.soft");
    window.wait("selected material.soft");
    set(&mut window, "value.material.soft.young_modulus", "4e6");
    window.wait("edited material.soft.young_modulus=4000000.0");
    window.key("space");
    wait_step(&mut window, 12);
    window.key("space");
    window.wait("activity Paused");
    window.click("timeline.start");
    window.wait("shows material.soft.young_modulus=20000000");
    window.key("End");
    window.wait("shows material.soft.young_modulus=4000000.0");
    window.click("timeline.start");
    window.wait("shows material.soft.young_modulus=20000000");
    window.click("timeline.continue");
    window.wait("branch 2");
    window.wait_for("the branch", |line| line.starts_with("step ") && step_of(line) > 4);
    window.key("space");
    window.wait("activity Paused");
    // The first branch has kept its values.
    window.click("lane.1");
    window.wait("branch 1");
    // A click may have led to before the change.
    window.key("End");
    window.comes_to("shows ", "shows material.soft.young_modulus=4000000.0");
}
