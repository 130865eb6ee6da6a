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

/// A red and a blue box of one glTF file, whose numbers are in a file beside it.
fn write_two_boxes(folder: &std::path::Path) -> PathBuf {
    let corner = |i: usize, x: f32| [x + (i & 1) as f32, (i >> 1 & 1) as f32, (i >> 2) as f32];
    let sides = [[0u16, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let triangles: Vec<u8> = sides.iter().flat_map(|[a, b, c, d]| [a, b, c, a, c, d]).flat_map(|corner| corner.to_le_bytes()).collect();
    let boxes = [0.0, 2.0].map(|x| (0..8).flat_map(|i| corner(i, x)).flat_map(f32::to_le_bytes).collect::<Vec<u8>>());
    std::fs::write(folder.join("two.bin"), [&triangles[..], &boxes[0], &boxes[1]].concat()).unwrap();
    let material = |color: &str| format!(r#"{{ "pbrMetallicRoughness": {{ "baseColorFactor": [{color}, 1] }} }}"#);
    let part = |k: usize| format!(r#"{{ "attributes": {{ "POSITION": {} }}, "indices": 0, "material": {k} }}"#, k + 1);
    let numbers = |view: usize, kind: &str| format!(r#"{{ "bufferView": {view}, {kind} }}"#);
    let view = |from: usize, length: usize| format!(r#"{{ "buffer": 0, "byteOffset": {from}, "byteLength": {length} }}"#);
    let positions = r#""componentType": 5126, "count": 8, "type": "VEC3""#;
    let text = format!(
        r#"{{ "asset": {{ "version": "2.0" }}, "scene": 0, "scenes": [{{ "nodes": [0] }}], "nodes": [{{ "mesh": 0 }}],
        "meshes": [{{ "primitives": [{}, {}] }}], "materials": [{}, {}], "accessors": [{}, {}, {}], "bufferViews": [{}, {}, {}],
        "buffers": [{{ "byteLength": 264, "uri": "two.bin" }}] }}"#,
        part(0),
        part(1),
        material("0.7, 0.02, 0.02"),
        material("0.02, 0.02, 0.7"),
        numbers(0, r#""componentType": 5123, "count": 36, "type": "SCALAR""#),
        numbers(1, positions),
        numbers(2, positions),
        view(0, 72),
        view(72, 96),
        view(168, 96),
    );
    let path = folder.join("two_boxes.gltf");
    std::fs::write(&path, text).unwrap();
    path
}

/// A file that is dropped onto the start page opens as a scene: the body is called as the file, and its parts keep their
/// colours.
#[test]
fn a_dropped_gltf_keeps_its_name_and_colours() {
    let mut bench = Bench::open("cantilever");
    let folder = bench.told.with_extension("gltf");
    std::fs::create_dir_all(&folder).unwrap();
    let opened = generation(&bench.session);
    bench.session.ui.start_open = true;
    bench.session.dropped(write_two_boxes(&folder));
    bench.until("the mesh", |session| generation(session) > opened && session.shown.view.is_some());
    assert!(!bench.session.ui.start_open && bodies(&bench.session).contains(&"two_boxes".to_owned()), "{:?}", bodies(&bench.session));
    bench.until("the end of the flight", |session| !session.viewpoint.is_flying());
    let image = bench.picture();
    bench.write("gltf", &image);
    let of_the_picture = |is: fn([u8; 3]) -> bool| {
        image.pixels.chunks_exact(4).filter(|pixel| is([pixel[0], pixel[1], pixel[2]])).count() as f64 / (image.pixels.len() / 4) as f64
    };
    let red = of_the_picture(|[r, g, b]| r > 90 && r > 2 * g.max(b).min(127));
    let blue = of_the_picture(|[r, g, b]| b > 90 && b > 2 * r.max(g).min(127));
    assert!(red > 0.005 && blue > 0.005, "{red} of the picture is red, {blue} blue");
    std::fs::remove_dir_all(folder).unwrap();
}
