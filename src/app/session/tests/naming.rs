//! Things get other names while the simulation runs.

use super::*;
use crate::app::history::Way;
use crate::app::selection::Sight;
use crate::scene::Scene;

fn scene(bench: &Bench) -> &Scene {
    bench.session.document.as_ref().unwrap().scene()
}

fn generation(session: &Session) -> u64 {
    session.shown.scene.as_ref().unwrap().generation
}

fn names_shown(bench: &Bench) -> Vec<String> {
    let model = &bench.session.shown.scene.as_ref().unwrap().model;
    crate::app::selection::all_bodies(model).map(|body| model.body_name(body).to_owned()).collect()
}

fn type_over(bench: &mut Bench, text: &str, end: Key) {
    bench.frame(vec![Event::Text(text.into())]);
    bench.key(end);
}

/// By F2 in the list, by a double click and in the panel; the run goes on, undo has one step each, and what is
/// selected, hidden and locked stays so.
#[test]
fn a_body_and_its_material_get_other_names_while_it_runs() {
    let mut bench = Bench::open("cantilever");
    let (opened, material) = (generation(&bench.session), scene(&bench).material_names()[0].clone());
    bench.click("tree.body.bar");
    bench.session.ui.selection.hide(["bar"], true);
    bench.settle();
    bench.key(Key::F2);
    bench.place("tree.rename");
    assert!(bench.nameless().is_empty(), "{:#?}", bench.nameless());
    type_over(&mut bench, "rod", Key::Enter);
    assert!(scene(&bench).names_of("body").contains(&"rod") && !bench.places.contains_key("tree.rename"));
    bench.place("tree.body.rod");
    assert_eq!(bench.session.ui.selection.items(), [Item::table("body.rod")]);
    assert!(bench.session.ui.selection.is_hidden("rod") && names_shown(&bench).contains(&"rod".to_owned()));
    assert!(generation(&bench.session) == opened && !bench.session.document.as_ref().unwrap().is_pending());
    // What the simulation says has the new name, and what is said of another scene has not.
    let told =
        |scene| bench.session.with_names(Notice { severity: Severity::Error, text: "Paused: \"bar\"".into(), file: None, scene }).text;
    assert_eq!([told(Some(opened)), told(None)], ["Paused: \"rod\"", "Paused: \"bar\""]);

    // A double click begins it, too.
    let (pos, button, modifiers) = (bench.place("tree.body.rod"), PointerButton::Primary, Modifiers::NONE);
    bench.frame(vec![Event::PointerMoved(pos)]);
    for pressed in [true, false, true, false] {
        bench.frame(vec![Event::PointerButton { pos, button, pressed, modifiers }]);
    }
    bench.settle();
    bench.place("tree.rename");
    bench.key(Key::Escape);

    // What is refused stays to be typed anew, and is given up by Esc.
    bench.key(Key::F2);
    type_over(&mut bench, "a rod", Key::Enter);
    bench.place("tree.rename");
    bench.key(Key::Escape);
    assert!(!bench.places.contains_key("tree.rename") && scene(&bench).names_of("body").contains(&"rod"));

    // The material in the panel: it acts at once under its new name.
    bench.click(&format!("tree.material.{material}"));
    bench.click(&format!("value.material.{material}.name"));
    bench.key_with(Key::A, Modifiers::COMMAND);
    type_over(&mut bench, "gum", Key::Enter);
    bench.place("value.material.gum.name");
    assert_eq!(scene(&bench).given("body.rod.material").as_deref(), Some("\"gum\""));
    bench.session.act(Action::Edit { values: vec![("material.gum.density".into(), "1234.0".into())], gesture: None });
    let is_heavier =
        |session: &Session| session.shown.view.as_ref().unwrap().materials.iter().any(|named| named.material.density == 1234.0);
    bench.until("the denser material", is_heavier);
    bench.settle();
    assert_eq!(bench.session.live.refused, 0);

    for _ in 0..4 {
        bench.key_with(Key::Z, Modifiers::COMMAND);
    }
    let back: Vec<String> = names_shown(&bench);
    assert!(back.contains(&"bar".to_owned()) && scene(&bench).material_names()[0] == material, "{back:?}");
    assert!(!bench.session.history.can(Way::Back) && *bench.session.ui.selection.sight() == Sight::default());
    bench.until("the density of before", move |session| !is_heavier(session));
    for _ in 0..4 {
        bench.key_with(Key::Y, Modifiers::COMMAND);
    }
    assert!(names_shown(&bench).contains(&"rod".to_owned()) && bench.session.ui.selection.is_hidden("rod"));
    assert_eq!(generation(&bench.session), opened);
    // Built anew it is called so by itself.
    bench.session.act(Action::Edit { values: vec![("body.rod.scale".into(), "1.01".into())], gesture: None });
    bench.session.act(Action::Reset);
    bench.until("the scene anew", |session| generation(session) > opened);
    bench.settle();
    assert!(names_shown(&bench).contains(&"rod".to_owned()) && bench.session.document.as_ref().unwrap().labels().is_empty());
}

/// Entries that go by their number stay selected where others go, come back, and where the scene is read again.
#[test]
fn what_is_selected_stays_selected() {
    let mut bench = Bench::open("cantilever");
    let force = |name: &str| format!("{{ {name}body = \"bar\", force = [1.0, 0.0, 0.0] }}");
    let list = |names: &[&str]| format!("[{}]", names.iter().map(|name| force(name)).collect::<Vec<_>>().join(", "));
    let edit = |bench: &mut Bench, text: String| {
        bench.session.act(Action::Edit { values: vec![("force".into(), text)], gesture: None });
        bench.settle();
    };
    edit(&mut bench, list(&["name = \"a\", ", "", "name = \"b\", "]));
    bench.session.ui.selection.pick(&Item::table("force.2"), Pick::Only, &[]);
    bench.session.ui.selection.pick(&Item::table("force.1"), Pick::Toggle, &[]);
    bench.session.ui.selection.pick(&Item::table("body.bar"), Pick::Toggle, &[]);
    let selected = |bench: &Bench| bench.session.ui.selection.items().iter().map(|item| item.path.clone()).collect::<Vec<_>>().join(" ");
    edit(&mut bench, list(&["", "name = \"b\", "]));
    assert_eq!(selected(&bench), "force.1 force.0 body.bar");
    bench.key_with(Key::Z, Modifiers::COMMAND);
    assert_eq!(selected(&bench), "force.2 force.1 body.bar");
    bench.key_with(Key::Z, Modifiers::COMMAND);
    assert_eq!(selected(&bench), "body.bar", "what is gone is not selected");
    bench.session.ui.selection.lock(["bar"], true);
    bench.settle();
    let opened = generation(&bench.session);
    bench.session.act(Action::Reload);
    bench.until("the scene again", |session| generation(session) > opened);
    bench.settle();
    assert!(selected(&bench) == "body.bar" && bench.session.ui.selection.is_locked("bar") && !bench.session.history.can(Way::Back));
    bench.session.act(Action::OpenGallery("bunny".into()));
    bench.until("another scene", |session| generation(session) > opened + 1);
    bench.settle();
    assert!(selected(&bench).is_empty() && !bench.session.ui.selection.is_locked("bar"));
}

/// The question is answered for good in its sheet, and comes back by the menu.
#[test]
fn the_question_about_the_past_can_be_turned_off() {
    let mut bench = Bench::open("cantilever");
    bench.session.ui.lost_past = Some(LostPast { lost: "12.3 s".into(), rebuild: Rebuild::Start });
    bench.settle();
    bench.click("lost_past.quiet");
    bench.click("lost_past.cancel");
    assert!(!bench.session.ui.asks_past && bench.session.ui.lost_past.is_none());
    bench.session.act(Action::Toggle(Toggle::AskPast));
    assert!(bench.session.ui.asks_past);
}
