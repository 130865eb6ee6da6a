//! The plane that cuts bodies open, dragged by its handles.

use super::*;
use crate::app::history::Way;
use crate::app::inside::CutPlane;
use crate::math::Vec3;

impl Bench {
    fn button(&mut self, pos: Pos2, pressed: bool) {
        self.frame(vec![Event::PointerButton { pos, button: PointerButton::Primary, pressed, modifiers: Modifiers::NONE }]);
    }

    /// Takes hold of a handle and drags it to another point, where it is held.
    fn hold_handle(&mut self, widget: &str, to: Pos2) {
        let from = self.place(widget);
        self.frame(vec![Event::PointerMoved(from)]);
        self.button(from, true);
        self.frame(vec![Event::PointerMoved(to)]);
    }

    fn drag_handle(&mut self, widget: &str, to: Pos2) {
        self.hold_handle(widget, to);
        self.button(to, false);
        self.settle();
    }

    fn plane(&self) -> CutPlane {
        self.session.ui.inside.plane()
    }

    /// Where a point is in the window that lies so many lengths of the arrow from the middle of the handles, along the
    /// level axis of the plane, the other one in it, and its direction.
    fn beside(&self, along: [f64; 3]) -> Pos2 {
        let (gizmo, _) = self.session.plane_gizmo().unwrap();
        let offset: Vec3 = gizmo.axes.iter().zip(along).map(|(axis, part)| axis * (part * gizmo.size)).sum();
        self.session.in_window(&(gizmo.origin + offset)).unwrap()
    }
}

#[test]
fn the_plane_is_moved_tilted_given_up_and_undone() {
    let mut bench = Bench::open("cantilever");
    let has_handles = |bench: &Bench| bench.places.contains_key("plane.Move_2");
    assert!(!has_handles(&bench));
    bench.key(Key::I);
    bench.until("the nodes", |session| session.reach_of_cut().is_some());
    bench.settle();
    assert!(has_handles(&bench));
    let start = bench.plane();

    // The arrow moves it along its direction, as far as the mouse goes.
    let [low, high] = bench.session.reach_of_cut().unwrap();
    let (gizmo, _) = bench.session.plane_gizmo().unwrap();
    let to = bench.beside([0.0, 0.0, 1.4]);
    bench.drag_handle("plane.Move_2", to);
    let moved = bench.plane();
    let expected = start.place + 0.4 * gizmo.size as f32 / (high - low);
    assert!((moved.place - expected.min(1.0)).abs() < 0.02, "{} {expected}", moved.place);
    assert_eq!([moved.turn, moved.tilt], [start.turn, start.tilt]);

    // An arc tilts it; given up meanwhile, it is where it was, and the button's release does nothing.
    let (before, to) = (bench.plane(), bench.beside([0.0, 0.6, 0.4]));
    bench.hold_handle("plane.Turn_0", to);
    assert!((bench.plane().tilt - before.tilt).abs() > 3.0, "{:?}", bench.plane());
    bench.key(Key::Escape);
    assert_eq!(bench.plane(), before);
    bench.button(to, false);
    bench.settle();
    assert_eq!(bench.plane(), before);
    bench.drag_handle("plane.Turn_0", to);
    let tilted = bench.plane();
    assert!((tilted.tilt - before.tilt).abs() > 3.0 && (tilted.turn - before.turn).abs() < 1e-3, "{tilted:?}");

    // One drag is one undo, and changes of the scene are done again after others.
    bench.key_with(Key::Z, Modifiers::COMMAND);
    assert_eq!(bench.plane(), moved);
    bench.key_with(Key::Z, Modifiers::COMMAND);
    assert_eq!(bench.plane(), start);
    for _ in 0..2 {
        bench.key_with(Key::Y, Modifiers::COMMAND);
    }
    assert_eq!(bench.plane(), tilted);
    // So is what the card does.
    bench.click("inside.axis.y");
    assert_eq!(bench.plane().tilt, 90.0);
    bench.key_with(Key::Z, Modifiers::COMMAND);
    assert_eq!(bench.plane(), tilted);

    // Without handles, or with a tool, the view is free.
    bench.key_with(Key::I, Modifiers::SHIFT);
    assert!(!has_handles(&bench) && bench.session.ui.inside.open);
    bench.key_with(Key::I, Modifiers::SHIFT);
    assert!(has_handles(&bench));
    bench.key(Key::M);
    assert!(!has_handles(&bench));
}

/// Esc gives up the drag of a body, too: it stays where it was, and selected.
#[test]
fn the_drag_of_a_body_is_given_up() {
    let mut bench = Bench::open("bunny");
    bench.session.ui.selection.pick(&Item::body("bunny"), Pick::Only, &[]);
    bench.until("the gizmo", |session| session.gizmo_view(None).is_some());
    bench.settle();
    let to = bench.place("gizmo.Move_1") - vec2(0.0, 40.0);
    let generation = |bench: &Bench| bench.session.shown.scene.as_ref().map(|scene| scene.generation);
    let before = generation(&bench);
    bench.hold_handle("gizmo.Move_1", to);
    assert!(bench.session.gizmo_view(None).is_some_and(|gizmo| gizmo.told.is_some()), "it is dragged");
    bench.key(Key::Escape);
    bench.button(to, false);
    bench.settle();
    assert!(bench.session.dragged.is_none() && bench.session.ui.selection.items().len() == 1);
    assert!(generation(&bench) == before && !bench.session.history.can(Way::Back), "nothing was done");
}
