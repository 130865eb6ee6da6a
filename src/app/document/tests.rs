//! Changes, undo, and what is saved.

use proptest::prelude::*;

use super::*;
use crate::app::selection::Selection;
use crate::scene::gallery;
use crate::sim::{Command, commands_between};

const TEXT: &str = "format = 1\n[simulation]\ntime_step = 0.01 # small\n[material.soft]\nyoung_modulus = 1e5\n[[body]]\nname = \"bar\"\n\
                    material = \"soft\"\nshape = { type = \"box\", size = [1.0, 0.2, 0.2] }\n[[body]]\nname = \"floor\"\nkind = \"static\"\n\
                    shape = { type = \"plane\" }\n";

fn document() -> Document {
    Document::new(Arc::new(Scene::from_text("s", "s.toml", TEXT, None, &[]).unwrap()), None)
}

fn change(document: &mut Document, path: &str, value: &str, gesture: Option<u64>) -> Result<(), String> {
    document.change(&[(path.to_owned(), value.to_owned())], gesture)
}

fn stiffness(document: &Document) -> Option<String> {
    document.scene().given("material.soft.young_modulus")
}

#[test]
fn a_drag_is_one_entry_and_undo_leads_back_and_forth() {
    let mut document = document();
    for value in ["2e5", "3e5", "4e5"] {
        change(&mut document, "material.soft.young_modulus", value, Some(7)).unwrap();
    }
    change(&mut document, "material.soft.young_modulus", "5e5", Some(8)).unwrap();
    change(&mut document, "body.bar.scale", "2.0", None).unwrap();
    assert!(document.is_pending() && document.waits("body.bar.scale") && !document.waits("material.soft.young_modulus"));
    assert_eq!(document.undo().unwrap(), ["body.bar.scale"]);
    assert!(!document.is_pending() && document.is_changed());
    document.undo();
    assert_eq!(stiffness(&document).as_deref(), Some("400000.0"));
    document.undo();
    assert_eq!(stiffness(&document).as_deref(), Some("100000.0"));
    assert!(!document.can_undo() && document.undo().is_none() && !document.is_changed());
    document.redo();
    assert_eq!(stiffness(&document).as_deref(), Some("400000.0"));
    change(&mut document, "simulation.time_step", "0.02", None).unwrap();
    assert!(!document.can_redo(), "a new change forgets what was taken back");
}

/// What is hidden and locked goes back and forth in its order among the values, which it leaves alone.
#[test]
fn hiding_and_locking_are_undone_in_their_turn() {
    let (mut document, mut selection) = (document(), Selection::default());
    selection.hide(["bar"], true);
    document.note_sight(selection.sight());
    document.note_sight(selection.sight());
    change(&mut document, "material.soft.young_modulus", "2e5", None).unwrap();
    selection.lock(["bar", "floor"], true);
    document.note_sight(selection.sight());
    assert_eq!(document.undo().unwrap(), [""; 0]);
    selection.set_sight(document.sight().clone());
    document.note_sight(selection.sight());
    assert!(selection.is_hidden("bar") && !selection.is_locked("floor") && document.can_redo());
    assert_eq!(document.undo().unwrap(), ["material.soft.young_modulus"]);
    document.undo();
    assert!(*document.sight() == Sight::default() && !document.can_undo() && !document.is_changed());
    while document.redo().is_some() {}
    selection.set_sight(document.sight().clone());
    assert!(selection.is_hidden("bar") && selection.is_locked("floor"));
    // A refused value is forgotten, whatever was hidden since.
    document.take_back();
    assert_eq!(stiffness(&document).as_deref(), Some("100000.0"));
    assert!(document.can_undo());
}

#[test]
fn what_is_wrong_is_refused_and_changes_nothing() {
    let mut document = document();
    for (path, value, told) in [
        ("material.soft.poisson_ratio", "0.5", "material.soft.poisson_ratio: expected a number >= 0 and <= 0.499"),
        ("body.bar.material", "\"hard\"", "there is no material \"hard\""),
        ("body.bar.wings", "2", "has no \"wings\""),
    ] {
        let refused = change(&mut document, path, value, None).unwrap_err();
        assert!(refused.contains(told), "{refused}");
    }
    assert!(!document.can_undo() && !document.is_changed());
    change(&mut document, "material.soft.young_modulus", "100000.0", None).unwrap();
    assert!(!document.can_undo(), "what is there already is no change");
    change(&mut document, "material.soft.young_modulus", "2e5", None).unwrap();
    document.take_back();
    assert!(!document.can_undo() && !document.can_redo() && !document.is_changed());
}

#[test]
fn a_start_takes_the_changes_that_wait() {
    let mut document = document();
    change(&mut document, "body.bar.scale", "2.0", None).unwrap();
    let assignments = document.assignments();
    document.built_with(&assignments);
    assert!(!document.is_pending() && document.can_undo());
    document.undo();
    assert!(document.is_pending(), "taking it back waits for a start, too");
}

/// Looked at in the past, it shows what held there, and goes on from that.
#[test]
fn values_follow_the_look_at_the_past() {
    let mut document = document();
    let of = |document: &Document| document.scene().live_values();
    let first = of(&document);
    change(&mut document, "material.soft.young_modulus", "2e5", None).unwrap();
    let second = of(&document);
    change(&mut document, "body.bar.scale", "2.0", None).unwrap();
    change(&mut document, "simulation.time_step", "0.02", None).unwrap();
    let third = of(&document);
    assert!(document.show(|values| *values == third).is_empty(), "it shows that already");
    let shown = document.show(|values| *values == first);
    let wanted = [("material.soft.young_modulus", "100000.0"), ("simulation.time_step", "0.01")];
    assert_eq!(shown, wanted.map(|(path, value)| (path.to_owned(), Some(value.to_owned()))));
    assert_eq!(document.scene().given("body.bar.scale").as_deref(), Some("2.0"), "what acts from the start stays");
    document.show(|values| *values == second);
    change(&mut document, "contact.friction", "0.1", None).unwrap();
    assert_eq!((of(&document).params.time_step, of(&document).friction.default), (0.01, 0.1));
    document.undo();
    assert!(of(&document) == second);
    document.show(|values| *values == third);
    assert!(of(&document) == third);
    assert!(document.show(|values| values.params.time_step == 5.0).is_empty(), "nobody has set that");
}

/// Bodies come and go as values do, and values of the same name count for what is there by then.
#[test]
fn bodies_are_added_copied_and_taken_out() {
    let mut document = document();
    let names = |document: &Document| document.scene().bodies().iter().map(|body| body.name.clone()).collect::<Vec<_>>().join(" ");
    change(&mut document, "body.bar.position", "[0.0, 1.0, 0.0]", None).unwrap();
    let copy = document.scene().copy_of_body("bar", &crate::math::Vec3::new(2.0, 0.1, 0.0)).unwrap();
    let name = document.scene().unused_body_name("bar");
    change(&mut document, &format!("body.{name}"), &copy, None).unwrap();
    assert_eq!((names(&document).as_str(), name.as_str()), ("bar floor bar_2", "bar_2"));
    assert!(document.has_other_bodies() && document.is_pending() && document.is_changed());
    assert_eq!(document.scene().given("body.bar_2.position").as_deref(), Some("[2.0, 1.1, 0.0]"));
    change(&mut document, "body.bar.position", "[0.0, 3.0, 0.0]", None).unwrap();
    change(&mut document, "body.bar", "", None).unwrap();
    assert_eq!((names(&document).as_str(), document.scene().unused_body_name("bar").as_str()), ("floor bar_2", "bar_3"));
    let assignments = document.assignments();
    document.built_with(&assignments);
    assert!(!document.has_other_bodies());
    let text = document.text_for(Path::new(""), &[]).unwrap();
    let read = Scene::from_text("s", "s.toml", &text, None, &[]).unwrap();
    assert_eq!(read.bodies(), document.scene().bodies());
    document.undo();
    assert!(document.has_other_bodies());
    assert_eq!(document.scene().given("body.bar.position").as_deref(), Some("[0.0, 3.0, 0.0]"));
    document.undo();
    assert_eq!(document.scene().given("body.bar.position").as_deref(), Some("[0.0, 1.0, 0.0]"));
    document.undo();
    assert_eq!(names(&document), "bar floor");
    document.redo();
    document.redo();
    document.redo();
    assert_eq!(document.text_for(Path::new(""), &[]).unwrap(), text);
}

/// A list that is given as a whole prevails over what was said of its entries, which can be changed again; what is
/// left out is as by default.
#[test]
fn lists_and_their_entries_are_changed_in_turn() {
    let force = |name: &str, end: &str| format!("{{ name = \"{name}\", body = \"bar\", force = [1.0, 0.0, 0.0]{end} }}");
    let base = format!("force = [{}]\n{TEXT}", force("a", ", end = 2.0"));
    let mut document = Document::new(Arc::new(Scene::from_text("s", "s.toml", &base, None, &[]).unwrap()), None);
    change(&mut document, "force.0.start", "1.0", None).unwrap();
    assert!(document.waits("force.0.start") && !document.waits("force.0.end"));
    let list = document.scene().with_entry("force", &force("b", ""));
    change(&mut document, "force", &list, None).unwrap();
    assert_eq!(document.assignments(), [format!("force={list}")]);
    assert!(document.waits("force.1.end") && document.scene().given("force.0.start").is_some());
    let (path, left) = document.scene().without("force.0").unwrap();
    change(&mut document, &path, &left, None).unwrap();
    change(&mut document, "force.0.end", "2.0", None).unwrap();
    assert_eq!(document.assignments(), [format!("force=[{}]", force("b", "")), "force.0.end=2.0".into()], "as in the file, of another");
    let text = document.text_for(Path::new(""), &[]).unwrap();
    let read = Scene::from_text("s", "s.toml", &text, None, &document.assignments()).unwrap();
    assert_eq!((read.n_entries("force"), read.given("force.b.end").as_deref()), (1, Some("2.0")));
    change(&mut document, "force.0.end", "", None).unwrap();
    assert!(document.scene().given("force.0.end").is_none());
    while document.undo().is_some() {}
    assert!(!document.is_changed() && document.text_for(Path::new(""), &[]).unwrap() == base);
}

/// A body goes with the force on it; the changed one that stays is the same after saving, too.
#[test]
fn changed_entries_stay_when_a_body_goes() {
    let force = |body: &str| format!("[[force]]\nbody = \"{body}\"\nforce = [1.0, 0.0, 0.0]\n");
    let bar = TEXT.find("[[body]]").unwrap()..TEXT.find("[[body]]\nname = \"floor\"").unwrap();
    let rod = TEXT[bar].replace("\"bar\"", "\"rod\"");
    let base = format!("{TEXT}{rod}{}{}", force("bar"), force("rod"));
    let mut document = Document::new(Arc::new(Scene::from_text("s", "s.toml", &base, None, &[]).unwrap()), None);
    change(&mut document, "force.1.end", "2.0", None).unwrap();
    change(&mut document, "body.bar", "", None).unwrap();
    change(&mut document, "force.0.start", "1.0", None).unwrap();
    let text = document.text_for(Path::new(""), &[]).unwrap();
    assert!(text.ends_with(&format!("{}end = 2.0\nstart = 1.0\n", force("rod"))), "{text}");
    let read = Scene::from_text("s", "s.toml", &text, None, &document.assignments()).unwrap();
    assert_eq!(read.given("force"), document.scene().given("force"));
    while document.undo().is_some() {}
    assert_eq!(document.text_for(Path::new(""), &[]).unwrap(), base);
}

/// One name or several are changed in one step, with all that names them, and nothing waits for a start.
#[test]
fn things_get_other_names_in_one_step_each() {
    let base = format!("{TEXT}[contact]\npair = [{{ a = \"bar\", b = \"floor\", friction = 0.1 }}] # wet\n");
    let mut document = Document::new(Arc::new(Scene::from_text("s", "s.toml", &base, None, &[]).unwrap()), None);
    change(&mut document, "body.bar.scale", "2.0", None).unwrap();
    change(&mut document, "material.soft.young_modulus", "2e5", None).unwrap();
    let set = document.build();
    document.built_with(&set);
    let text = |document: &Document| document.text_for(Path::new(""), &[]).unwrap();
    let before = text(&document);
    assert_eq!(document.rename("body.bar", " rod ").unwrap(), Some(Rename::new("body", "bar", "rod")));
    document.rename("material.soft", "gum").unwrap();
    assert!(!document.is_pending() && !document.has_other_bodies() && document.is_changed());
    let renamed = before.replace("\"bar\"", "\"rod\"").replace("\"soft\"", "\"gum\"").replace("material.soft", "material.gum");
    assert_eq!(text(&document), renamed);
    assert_eq!(document.labels().shown("body", "bar[2]"), "rod[2]");
    // Values go on by the new name, back to what the file says.
    change(&mut document, "body.rod.scale", "3.0", None).unwrap();
    change(&mut document, "material.gum.young_modulus", "100000.0", None).unwrap();
    assert!(document.assignments().iter().all(|set| !set.contains("young_modulus")), "{:?}", document.assignments());
    assert!(document.is_pending() && document.waits("body.rod.scale"));
    // Built with what was renamed meanwhile, it is called so at once.
    let set = document.build();
    document.rename("body.rod", "pole").unwrap();
    document.built_with(&set);
    assert!(!document.is_pending());
    assert_eq!((document.labels().built("body", "pole").as_str(), document.labels().shown("material", "gum").as_str()), ("rod", "gum"));
    document.saved_to("s.toml".into());
    assert!(!document.is_changed());
    // The saved file with the same changes is the same.
    let saved = Scene::from_text("s", "s.toml", &text(&document), None, &document.assignments()).unwrap();
    assert_eq!(saved.bodies(), document.scene().bodies());
    for _ in 0..5 {
        assert!(document.undo().is_some_and(|paths| paths.len() == 1));
    }
    assert_eq!(text(&document), before);
    assert_eq!(document.labels().shown("body", "rod"), "bar");
    assert_eq!(document.next_name(Way::Forth), Some(Rename::new("body", "bar", "rod")));
    while document.redo().is_some() {}
    assert!(!document.is_changed() && document.scene().given("body.pole.scale").as_deref() == Some("3.0"));
}

#[test]
fn names_that_cannot_be_are_refused_in_a_sentence() {
    let mut document = document();
    change(&mut document, "body.ball", "{ kind = \"rigid\", shape = { type = \"sphere\", radius = 0.1 }, position = [0, 5, 0] }", None)
        .unwrap();
    change(&mut document, "probe", "[{ name = \"tip\", body = \"bar\" }]", None).unwrap();
    for (path, name, told) in [
        ("body.bar", "floor", "there is a body \"floor\" already"),
        ("body.bar", "  ", "a name must not be empty"),
        ("body.bar", "my bar", "is no name"),
        ("simulation", "time", "has no name that could be changed"),
        ("pin.bar.0", "pin", "has no name that could be changed"),
    ] {
        let refused = document.rename(path, name).unwrap_err();
        assert!(refused.contains(told), "{refused}");
    }
    assert_eq!(document.rename("body.bar", "bar"), Ok(None));
    // What was added in the window, and what names it.
    document.rename("body.ball", "pearl").unwrap();
    document.rename("probe.0", "end").unwrap();
    document.rename("body.bar", "ball").unwrap();
    assert_eq!(document.scene().given("probe").as_deref(), Some("[{ name = \"end\", body = \"ball\" }]"));
    change(&mut document, "body.ball", "", None).unwrap();
    let refused = document.rename("body.pearl", "ball").unwrap_err();
    assert!(refused.contains("undo may bring it back"), "{refused}");
    while document.undo().is_some() {}
    assert!(!document.is_changed() && document.text_for(Path::new(""), &[]).unwrap() == TEXT);
}

/// A refused value is forgotten though something has got another name since.
#[test]
fn a_refusal_after_a_new_name_takes_back_the_value() {
    let mut document = document();
    change(&mut document, "body.bar.scale", "2.0", None).unwrap();
    change(&mut document, "material.soft.young_modulus", "2e5", None).unwrap();
    document.rename("body.bar", "rod").unwrap();
    document.take_back();
    assert_eq!((stiffness(&document).as_deref(), document.scene().given("body.rod.scale").as_deref()), (Some("100000.0"), Some("2.0")));
}

/// Values that act at once are exactly those from which commands follow.
#[test]
fn live_values_become_commands_and_others_do_not() {
    let text = TEXT.replace("[simulation]\n", "[contact]\nfriction = 0.5\n[simulation]\n");
    let scene = Scene::from_text("s", "s.toml", &text, None, &[]).unwrap();
    let mut n_live = 0;
    for table in ["simulation", "contact", "material.soft", "body.bar", "camera", "light", "recording"] {
        for value in scene.values(table).unwrap().into_iter().flat_map(|group| group.values) {
            for other in
                ["3", "0.25", "0.003", "[1.0, 2.0, 3.0]", "\"teal\"", "\"pgs\"", "\"bdf2\"", "\"jacobi\"", "\"neo_hookean\"", "\"liver\""]
            {
                let Ok(edited) = scene.edited(&[format!("{}={other}", value.path)]) else { continue };
                let commands = commands_between(&scene.live_values(), &edited.live_values());
                assert_eq!(!commands.is_empty(), value.field.live, "{}={other}: {commands:?}", value.path);
                n_live += commands.len();
                // And back again.
                let back = commands_between(&edited.live_values(), &scene.live_values());
                assert_eq!(back.len(), commands.len());
            }
        }
    }
    assert!(n_live > 20, "{n_live}");
    let pair = "contact.pair=[{ a = \"bar\", b = \"floor\", friction = 0.1 }]".to_owned();
    let commands = commands_between(&scene.live_values(), &scene.edited(&[pair]).unwrap().live_values());
    assert!(matches!(&commands[..], [Command::SetFriction(friction)] if friction.pairs.len() == 1), "{commands:?}");
}

#[test]
fn every_scene_of_the_gallery_is_written_back_as_it_is() {
    for entry in gallery() {
        let scene = Scene::builtin(entry.name).unwrap();
        assert_eq!(scene.text_for(Path::new("")).unwrap(), entry.text, "{}", entry.name);
    }
}

/// A change of a value that every scene with a floor has, in the spelling of a hand.
fn some_change() -> impl Strategy<Value = (String, String, Option<u64>)> {
    let number = (1u32..50).prop_map(|n| f64::from(n) / 10.0);
    let change = prop_oneof![
        number.clone().prop_map(|x| ("material.soft.young_modulus".to_owned(), format!("{x:?}"))),
        number.clone().prop_map(|x| ("simulation.gravity".to_owned(), format!("[0.0, {x:?}, 0.0]"))),
        number.clone().prop_map(|x| ("body.bar.position".to_owned(), format!("[{x:?}, 0.0, 0.0]"))),
        number.clone().prop_map(|x| ("contact.friction".to_owned(), format!("{x:?}"))),
        number.prop_map(|x| ("contact.pair".to_owned(), format!("[{{ a = \"bar\", b = \"floor\", friction = {x:?} }}]"))),
        Just(("body.bar.color".to_owned(), "\"teal\"".to_owned())),
        Just(("body.ball".to_owned(), "{ kind = \"rigid\", shape = { type = \"sphere\", radius = 0.1 } }".to_owned())),
        Just(("body.floor.color".to_owned(), "\"coral\"".to_owned())),
    ];
    (change, prop_oneof![Just(None), (1u64..3).prop_map(Some)]).prop_map(|((path, value), gesture)| (path, value, gesture))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Undo leads back through all states, redo forth again; what is saved is read as the same scene.
    #[test]
    fn undo_and_redo_walk_the_same_way(changes in prop::collection::vec(some_change(), 1..12)) {
        let mut document = document();
        let mut states = vec![document.assignments()];
        for (path, value, gesture) in changes {
            let before = document.undo.len();
            change(&mut document, &path, &value, gesture).unwrap();
            states.truncate(document.undo.len().min(before + 1));
            states.push(document.assignments());
            states.truncate(document.undo.len() + 1);
        }
        let text = document.text_for(Path::new(""), &[]).unwrap();
        let read = Scene::from_text("s", "s.toml", &text, None, &[]).unwrap();
        prop_assert_eq!(read.live_values(), document.scene().live_values());
        prop_assert_eq!(read.bodies(), document.scene().bodies());
        for path in ["body.bar.position", "body.bar.color", "contact.pair.0.friction"] {
            prop_assert_eq!(read.given(path), document.scene().given(path));
        }
        prop_assert!(text.contains("time_step = 0.01 # small"));
        prop_assert_eq!(&read.text_for(Path::new("")).unwrap(), &text);
        let n = document.undo.len();
        for k in (0..n).rev() {
            document.undo().unwrap();
            let mut expected = states[k].clone();
            let mut found = document.assignments();
            expected.sort();
            found.sort();
            prop_assert_eq!(found, expected);
        }
        prop_assert_eq!(document.text_for(Path::new(""), &[]).unwrap(), TEXT);
        for _ in 0..n {
            document.redo().unwrap();
        }
        prop_assert_eq!(document.text_for(Path::new(""), &[]).unwrap(), text);
    }
}
