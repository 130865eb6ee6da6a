//! Bodies in the window: what can be done to them by the right button, added, copied, taken out, locked, dropped again.

use crate::driver::Driver;
use crate::scene::{SceneFile, hash, place};

/// The window with the scene at its start, paused.
fn paused(file: &SceneFile) -> Driver {
    let mut window = file.open();
    window.wait("step 3 ");
    window.key("space");
    window.wait("activity Paused");
    window
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
    window.click("item.Drop_again");
    window.right_click_at(ball);
    window.wait("menu ball");
    window.click("item.Hide");
    window.right_click_at(ball);
    let under = window.wait("menu ");
    assert!(!under.contains("ball"), "hidden, it is not there: {under}");
    window.key("Escape");
    window.click("menu.Edit");
    window.click("item.Show_all_bodies");
    window.right_click_at(ball);
    window.wait("menu ball");
    window.click("item.Fly_to_it");
}
