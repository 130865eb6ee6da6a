//! Forces, probes, materials and the like in the list of the scene and in the inspector.

use super::*;

fn given(bench: &Bench, path: &str) -> Option<String> {
    bench.session.document.as_ref().unwrap().scene().given(path)
}

/// A force is added from the list, gets a region and an end, and loses them again; deleted, it is gone; all of it is
/// taken back and done again.
#[test]
fn a_force_is_added_changed_and_deleted() {
    let mut bench = Bench::open("cantilever");
    bench.click("tree.body.bar");
    bench.click("tree.add");
    bench.click("item.Force");
    assert_eq!(bench.session.ui.selection.items(), [Item::table("force.0")]);
    assert_eq!(given(&bench, "force.0.body").as_deref(), Some("\"bar\""));
    for widget in ["tree.force.0", "value.force.0.force.x", "value.force.0.body", "value.force.0.name", "scene.restart"] {
        bench.place(widget);
    }
    assert!(bench.nameless().is_empty(), "{:#?}", bench.nameless());

    bench.click("add.force.0.region");
    assert_eq!(given(&bench, "force.0.region").as_deref(), Some("{ side = \"y+\" }"));
    let edit = |bench: &mut Bench, path: &str, text: &str| {
        bench.session.act(Action::Edit { values: vec![(path.into(), text.into())], gesture: None });
        bench.settle();
    };
    edit(&mut bench, "force.0.end", "2.5");
    bench.click("remove.force.0.end");
    bench.click("remove.force.0.region");
    assert_eq!((given(&bench, "force.0.end"), given(&bench, "force.0.region")), (None, None));
    bench.click("selection.delete");
    assert!(given(&bench, "force.0").is_none() && bench.session.ui.selection.items().is_empty());
    assert!(!bench.places.contains_key("tree.force.0") && !bench.session.document.as_ref().unwrap().is_changed());

    let key = |bench: &mut Bench, key| bench.key_with(key, Modifiers::COMMAND);
    for _ in 0..3 {
        key(&mut bench, Key::Z);
    }
    assert_eq!(given(&bench, "force.0.end").as_deref(), Some("2.5"));
    for _ in 0..3 {
        key(&mut bench, Key::Z);
    }
    assert!(given(&bench, "force.0").is_none());
    key(&mut bench, Key::Y);
    assert!(given(&bench, "force.0").is_some());
}

/// Each kind has its place in the list and its values in the inspector, and every control of it a name.
#[test]
fn every_kind_of_entry_is_shown_with_its_values() {
    let mut bench = Bench::open("cantilever");
    for (entry, widgets) in [
        ("Spring", &["tree.attachment.0", "value.attachment.0.stiffness", "value.attachment.0.from.point.x"][..]),
        ("Hand", &["tree.grab.0", "value.grab.0.body", "add.grab.0.path", "value.grab.0.path.1.time"]),
        ("Probe", &["tree.probe.1", "value.probe.1.body", "add.probe.1.region"]),
        ("Group", &["tree.group.0", "value.group.0.position.y"]),
    ] {
        bench.session.ui.selection.clear();
        bench.settle();
        bench.click("tree.add");
        bench.click(&format!("item.{entry}"));
        for widget in widgets {
            bench.place(widget);
        }
        assert!(bench.nameless().is_empty(), "{entry}: {:#?}", bench.nameless());
    }
    bench.click("tree.title");
    for widget in ["value.title", "value.description"] {
        bench.place(widget);
    }
    let n = |bench: &Bench, list: &str| bench.session.document.as_ref().unwrap().scene().n_entries(list);
    bench.session.ui.selection.pick(&Item::table("grab.0"), Pick::Only, &[]);
    bench.settle();
    bench.click("add.grab.0.path");
    assert_eq!((n(&bench, "grab.0.path"), given(&bench, "grab.0.path.2.time").as_deref()), (3, Some("2.0")));
    bench.click("remove.grab.0.path.2");
    assert_eq!(n(&bench, "grab.0.path"), 2);
    // A hand needs two places: it is told, and nothing changes.
    bench.click("remove.grab.0.path.1");
    assert_eq!(n(&bench, "grab.0.path"), 2);

    // The bar is made of a copy of its material.
    bench.session.ui.selection.pick(&Item::body("bar"), Pick::Only, &[]);
    bench.settle();
    let before = given(&bench, "body.bar.material").unwrap();
    bench.click("tree.add");
    bench.click("item.Material");
    let path = bench.session.ui.selection.items()[0].path.clone();
    assert!(path.starts_with("material.") && given(&bench, "body.bar.material").unwrap() != before, "{path}");
    bench.place(&format!("tree.{path}"));
    bench.key(Key::Delete);
    assert!(given(&bench, &path).is_some(), "the bar is made of it");
}
