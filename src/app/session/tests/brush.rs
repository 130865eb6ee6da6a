//! Materials that are painted onto bodies.

use super::*;
use crate::math::Vec3;

impl Bench {
    /// The events of a drag along the front of the bar, or beside it: the button goes down, moves, and goes up.
    fn drag_events(&self, [from, to]: [[f64; 3]; 2], modifiers: Modifiers) -> Vec<Event> {
        let [from, to] = [from, to].map(|[x, y, z]| self.session.in_window(&Vec3::new(x, y, z)).unwrap());
        let button = |pos, pressed| Event::PointerButton { pos, button: PointerButton::Primary, pressed, modifiers };
        let moved = |k: u8| Event::PointerMoved(from.lerp(to, f32::from(k) / 4.0));
        vec![moved(0), button(from, true), moved(1), moved(2), moved(3), moved(4), button(to, false)]
    }

    /// The same, an event a frame.
    fn drag_along(&mut self, way: [[f64; 3]; 2], modifiers: Modifiers) {
        for event in self.drag_events(way, modifiers) {
            self.frame(vec![event]);
        }
        self.frame(vec![]);
    }

    fn generation(&self) -> u64 {
        self.session.shown.scene.as_ref().unwrap().generation
    }

    fn until_built_since(&mut self, generation: u64) {
        self.until("the scene", |session| {
            session.shown.scene.as_ref().is_some_and(|scene| scene.generation > generation) && session.shown.view.is_some()
        });
        self.settle();
    }

    fn region(&self) -> Option<String> {
        self.session.document.as_ref().unwrap().scene().given("body.bar.region")
    }

    /// How many tets the scene as it was built has of a material.
    fn tets_of(&self, name: &str) -> usize {
        let model = &self.session.shown.scene.as_ref().unwrap().model;
        model.tets.iter().filter(|tet| model.named_materials[model.named_material_of(tet)].name == name).count()
    }
}

const FRONT: [[f64; 3]; 2] = [[0.3, 0.0, 0.1], [0.6, 0.0, 0.1]];

/// The cantilever with a second material, and the brush with that in the hand.
fn with_brush() -> Bench {
    let mut bench = Bench::open("cantilever");
    bench.session.act(Action::Edit { values: vec![("material.stiff".into(), "{ young_modulus = 5e6 }".into())], gesture: None });
    bench.session.ui.selection.pick(&Item::table("material.stiff"), Pick::Only, &[]);
    bench.settle();
    bench.click("material.paint");
    bench.until("the materials", |session| session.coloring.is_some_and(|coloring| coloring.field == Field::Material));
    bench.settle();
    assert_eq!(bench.session.ui.brush.material.as_deref(), Some("stiff"));
    assert!(bench.nameless().is_empty(), "{:#?}", bench.nameless());
    bench
}

#[test]
fn a_stroke_is_painted_undone_and_erased() {
    let mut bench = with_brush();
    let first = bench.generation();
    bench.drag_along(FRONT, Modifiers::NONE);
    assert!(bench.session.grab.is_none());
    bench.until_built_since(first);
    let painted = bench.tets_of("stiff");
    assert!(painted > 10 && bench.region().unwrap().starts_with("[{ material = \"stiff\", spheres = [{ center = ["), "{painted}");
    // One stroke is one change, which is seen at once with the brush in the hand.
    let second = bench.generation();
    bench.key_with(Key::Z, Modifiers::COMMAND);
    bench.until_built_since(second);
    assert_eq!((bench.region(), bench.tets_of("stiff")), (None, 0));
    let third = bench.generation();
    bench.key_with(Key::Y, Modifiers::COMMAND);
    bench.until_built_since(third);
    assert_eq!(bench.tets_of("stiff"), painted);

    // A wider brush with Alt takes all of it off; where nothing is left it says so, and nothing changes.
    bench.session.ui.brush.radius = 0.3;
    let fourth = bench.generation();
    bench.drag_along(FRONT, Modifiers::ALT);
    bench.until_built_since(fourth);
    assert_eq!((bench.region(), bench.tets_of("stiff")), (None, 0));
    let fifth = bench.generation();
    bench.drag_along(FRONT, Modifiers::ALT);
    bench.settle();
    assert_eq!((bench.generation(), bench.region()), (fifth, None));

    // A slow picture brings all of a drag at once.
    let events = bench.drag_events(FRONT, Modifiers::NONE);
    bench.frame(events);
    bench.until_built_since(fifth);
    assert!(bench.tets_of("stiff") > painted);

    // Put away, the mouse pulls again.
    bench.key(Key::Escape);
    assert!(bench.session.ui.tool.is_none() && !bench.places.contains_key("brush.close"));
    for event in bench.drag_events(FRONT, Modifiers::NONE).into_iter().take(5) {
        bench.frame(vec![event]);
    }
    assert!(bench.session.grab.is_some());
}

#[test]
fn beside_bodies_the_brush_turns_the_view_and_what_is_locked_stays() {
    let mut bench = with_brush();
    let (generation, camera) = (bench.generation(), bench.session.viewpoint.camera);
    bench.drag_along([[0.3, 0.3, 0.1], [0.6, 0.3, 0.1]], Modifiers::NONE);
    bench.settle();
    let turned = bench.session.viewpoint.camera;
    assert!((turned.azimuth - camera.azimuth).abs() > 0.05 && bench.region().is_none());
    bench.session.ui.selection.lock(["bar"], true);
    bench.drag_along(FRONT, Modifiers::NONE);
    bench.settle();
    assert_eq!((bench.region(), bench.generation()), (None, generation));
    // A stroke that is broken off leaves nothing: where the window loses the mouse, and where the brush is put away.
    bench.session.ui.selection.unlock_all();
    let ends: [fn(&mut Bench); 2] = [|bench| bench.session.cancel(), |bench| bench.key(Key::B)];
    for end in ends {
        let mut events = bench.drag_events(FRONT, Modifiers::NONE);
        let release = events.pop();
        events.into_iter().for_each(|event| bench.frame(vec![event]));
        assert!(bench.session.brushing.is_painting());
        end(&mut bench);
        bench.frame(release.into_iter().collect());
        bench.settle();
        assert!(!bench.session.brushing.is_painting() && bench.region().is_none());
    }
}
