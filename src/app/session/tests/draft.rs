//! A mesh that is added by its sheet.

use super::*;
use crate::app::ui::DraftAction;
use crate::stage;

fn mesh() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/cube.off"))
}

fn bodies(session: &Session) -> Vec<String> {
    session.document.as_ref().unwrap().scene().bodies().into_iter().map(|body| body.name).collect()
}

fn generation(session: &Session) -> u64 {
    session.shown.scene.as_ref().unwrap().generation
}

/// The sheet of a mesh that is added to an open scene shows the body where it would stand; given up, nothing is left of
/// it; added, the body is in the scene, as it was shown, and is undone as one change.
#[test]
fn a_mesh_has_its_sheet_before_it_is_a_body() {
    let mut bench = Bench::open("cantilever");
    let (before, opened) = (bodies(&bench.session), generation(&bench.session));
    let is_ready = |session: &Session| session.drafting.draft().is_some_and(crate::app::draft::Draft::is_ready);
    let set = |bench: &mut Bench, path: &str, value: &str| {
        let values = vec![(path.to_owned(), value.to_owned())];
        bench.session.act(Action::Draft(DraftAction::Change { values, gesture: None }));
        bench.frame(vec![]);
    };

    // Dropped, it is a draft: its sheet is there at once, the scene is not touched.
    bench.session.dropped(mesh());
    bench.settle();
    bench.place("import.cancel");
    set(&mut bench, "body.cube.tets", "1000");
    bench.until("the mesh to be filled", is_ready);
    // The camera flies there.
    bench.until("the end of the flight", |session| !session.viewpoint.is_flying());
    let small = bench.session.drafting.draft().unwrap().bounds().unwrap();
    bench.settle();
    for widget in ["import.up.x", "import.unit.m", "import.size", "import.tets.fine", "import.method", "import.material", "value.preset"] {
        bench.place(widget);
    }
    assert!(bench.nameless().is_empty(), "{:#?}", bench.nameless());
    assert_eq!((bodies(&bench.session), generation(&bench.session)), (before.clone(), opened));

    // It is seen: where it stands there are other pixels than behind it once it is gone.
    let with = bench.picture();
    bench.write("import-draft", &with);
    let middle = bench.session.viewpoint.camera.project(stage::glam_vec(&small.center()), bench.session.viewport());
    let [x, y] = middle.unwrap().0.map(|pixel| pixel as usize);
    let pixel = |bench: &Bench, image: &crate::render::Image| {
        let at = 4 * (y * bench.size[0] as usize + x);
        [image.pixels[at], image.pixels[at + 1], image.pixels[at + 2]]
    };
    let shown = pixel(&bench, &with);

    // A click on a unit fills it anew, larger or smaller.
    bench.click("import.unit.cm");
    bench.until("the other size", |session| {
        is_ready(session) && session.drafting.draft().unwrap().bounds().unwrap().extent().max() != small.extent().max()
    });

    // Given up, all is as before.
    bench.click("import.cancel");
    assert!(bench.session.drafting.draft().is_none() && !bench.places.contains_key("import.add"));
    let gone = bench.picture();
    assert_ne!(pixel(&bench, &gone), shown, "the draft was not drawn");
    assert_eq!((bodies(&bench.session), generation(&bench.session)), (before.clone(), opened));
    assert!(!bench.session.document.as_ref().unwrap().can_undo());

    // Added with a material of its own.
    bench.session.act(Action::AddMesh(mesh()));
    set(&mut bench, "body.cube.tets", "1000");
    set(&mut bench, "material.solid.density", "700");
    bench.until("the mesh to be filled", is_ready);
    bench.settle();
    bench.click("import.add");
    bench.until("the scene with it", |session| generation(session) > opened && session.shown.view.is_some());
    let document = bench.session.document.as_ref().unwrap();
    assert_eq!(bodies(&bench.session).len(), before.len() + 1);
    assert_eq!(document.scene().given("body.cube.material").as_deref(), Some("\"cube\""));
    assert_eq!(document.scene().given("material.cube.density").unwrap().parse::<f64>().unwrap(), 700.0);
    let model = bench.session.shown.scene.as_ref().unwrap().model.clone();
    assert!(model.bodies.iter().any(|body| body.name == "cube") && bench.session.drafting.draft().is_none());

    // One undo takes all of it out again.
    bench.key_with(Key::Z, Modifiers::COMMAND);
    bench
        .until("the scene without it", |session| session.shown.scene.as_ref().unwrap().model.bodies.iter().all(|body| body.name != "cube"));
    assert_eq!(bodies(&bench.session), before);
    assert!(!bench.session.document.as_ref().unwrap().scene().material_names().contains(&"cube".to_owned()));
}

/// A file that is no mesh is told, and no sheet stays; Esc gives a draft up, and a new scene does.
#[test]
fn a_draft_ends_with_its_reason() {
    let mut bench = Bench::open("cantilever");
    bench.session.act(Action::AddMesh("/nowhere/part.stl".into()));
    bench.until("that it is given up", |session| session.drafting.draft().is_none());
    let told = std::fs::read_to_string(&bench.told).unwrap();
    assert!(told.lines().any(|line| line.starts_with("message ") && line.contains("part.stl")), "{told}");
    bench.session.act(Action::AddMesh(mesh()));
    bench.settle();
    assert!(bench.session.drafting.draft().is_some());
    bench.key(Key::Escape);
    assert!(bench.session.drafting.draft().is_none());
    bench.session.act(Action::AddMesh(mesh()));
    let opened = generation(&bench.session);
    bench.session.open(SceneSource::Gallery("spin".into()));
    bench.until("another scene", |session| generation(session) > opened);
    assert!(bench.session.drafting.draft().is_none());
}
