//! What has no room: words that end beyond the place that they are drawn in.

use egui::Shape;
use egui::epaint::ClippedShape;

use super::*;

/// How far a letter may reach beyond its place [points].
const SLACK: f32 = 1.5;

/// Words whose left or right end is not drawn. What is cut above or below is scrolled.
pub fn cut_off(shapes: &[ClippedShape]) -> Vec<String> {
    let mut found = vec![];
    for ClippedShape { clip_rect, shape, .. } in shapes {
        find_cut(shape, *clip_rect, &mut found);
    }
    found
}

fn find_cut(shape: &Shape, place: Rect, found: &mut Vec<String>) {
    match shape {
        Shape::Vec(shapes) => shapes.iter().for_each(|shape| find_cut(shape, place, found)),
        Shape::Text(text) => {
            let rect = text.visual_bounding_rect();
            let is_cut = rect.left() < place.left() - SLACK || rect.right() > place.right() + SLACK;
            if is_cut && rect.intersects(place) {
                found.push(text.galley.text().to_owned());
            }
        }
        _ => {}
    }
}

/// All words of shapes, each with its left and right end.
fn words_of(shape: &Shape, found: &mut Vec<(Rect, String)>) {
    match shape {
        Shape::Vec(shapes) => shapes.iter().for_each(|shape| words_of(shape, found)),
        Shape::Text(text) => found.push((text.visual_bounding_rect(), text.galley.text().to_owned())),
        _ => {}
    }
}

impl Bench {
    /// All words of the last frame.
    pub fn all_words(&self) -> Vec<String> {
        self.words.iter().map(|(_, words)| words.clone()).collect()
    }

    /// The left and the right end of the words of the last frame in a place, and the words.
    fn words_at(&self, place: Rect) -> Option<([f32; 2], String)> {
        let inside: Vec<_> = self.words.iter().filter(|(rect, _)| place.contains_rect(*rect)).collect();
        let all = inside.iter().fold(Rect::NOTHING, |all, (rect, _)| all.union(*rect));
        let words: Vec<&str> = inside.iter().map(|(_, words)| words.as_str()).collect();
        (!inside.is_empty()).then(|| ([all.left(), all.right()], words.join(" ")))
    }
}

/// All words of a frame and where they are.
pub fn words(shapes: &[ClippedShape]) -> Vec<(Rect, String)> {
    let mut found = vec![];
    shapes.iter().for_each(|ClippedShape { shape, .. }| words_of(shape, &mut found));
    found
}

/// However long the name of what is selected is, the buttons beside it stay where they can be clicked.
#[test]
fn long_names_leave_the_buttons_their_room() {
    let mut bench = Bench::open("cantilever");
    let [body, material] = ["a_body_with_a_rather_long_name_of_its_own", "a_material_with_a_rather_long_name_of_its_own"];
    let old = bench.session.document.as_ref().unwrap().scene().material_names()[0].clone();
    for (path, to) in [("body.bar".to_owned(), body), (format!("material.{old}"), material)] {
        bench.session.act(Action::Rename { path, to: to.to_owned() });
        bench.settle();
    }
    let items = [Item::body(body), Item::table(format!("material.{material}"))];
    let buttons = [&["selection.clear", "selection.delete", "selection.material"][..], &["selection.clear", "selection.delete"][..]];
    for (item, buttons) in items.iter().zip(buttons) {
        for (size, scale) in [SIZES[0], SIZES[3]] {
            bench.resize(size, scale);
            (bench.session.ui.tree_open, bench.session.ui.inspector_open) = (Some(true), true);
            bench.session.ui.selection.pick(item, Pick::Only, &[]);
            bench.settle();
            let room = Rect::from_min_size(Pos2::ZERO, vec2(size[0] as f32, size[1] as f32) / scale);
            for button in buttons {
                let rect = bench.places.get(*button).unwrap_or_else(|| panic!("{button} is not there at {size:?}"));
                assert!(room.contains_rect(*rect), "{button} is at {rect:?} of {room:?}");
            }
            assert!(bench.cut.is_empty(), "{size:?}: {:?}", bench.cut);
        }
    }

    // From a body there is one click to what can be turned while it runs.
    bench.session.ui.selection.pick(&items[0], Pick::Only, &[]);
    bench.settle();
    bench.click("selection.material");
    assert_eq!(bench.session.ui.selection.items(), [items[1].clone()]);
}

/// A short name has room beside the buttons, also where the list of the scene leaves the panel the least.
#[test]
fn short_names_are_whole() {
    let mut bench = Bench::open("bunny");
    for (size, scale) in SIZES.into_iter().chain([([1180, 720], 1.0)]) {
        bench.resize(size, scale);
        for (item, name, kind) in [(Item::body("bunny"), "bunny", "body"), (Item::table("material.jelly"), "jelly", "material")] {
            bench.session.ui = panels(true);
            bench.session.ui.tree_open = Some(true);
            bench.session.ui.selection.pick(&item, Pick::Only, &[]);
            bench.settle();
            let line = bench.places["selection.clear"].center().y;
            let words: Vec<&String> =
                bench.words.iter().filter(|(rect, _)| (rect.center().y - line).abs() < 8.0).map(|(_, words)| words).collect();
            assert!([name, kind].iter().all(|word| words.iter().any(|of_line| of_line == word)), "{size:?}: {words:?}");
        }
    }
}

/// The cross of a sheet stands at its right edge, and its words are in the middle of its button; nothing is set with
/// backticks.
#[test]
fn sheets_are_set_evenly() {
    let mut bench = Bench::open("cantilever");
    bench.play_to(3);
    for (size, scale) in SIZES {
        bench.resize(size, scale);
        for (screen, cross, most_right) in
            [("verify", "verify.close", "verify.one"), ("export", "record.close", "export.past"), ("film", "record.close", "record.size")]
        {
            let screen = SCREENS.iter().find(|(name, ..)| *name == screen).unwrap();
            shown(&mut bench, screen, true);
            let [cross, other] = [cross, most_right].map(|name| bench.places[name].right());
            assert!(cross >= other - 1.0, "{}, {size:?}: the cross ends at {cross}, and what is below it at {other}", screen.0);
        }
        for (screen, button, words) in [("export", "export.start", "Export"), ("unsaved", "unsaved.save", "Save")] {
            let screen = SCREENS.iter().find(|(name, ..)| *name == screen).unwrap();
            shown(&mut bench, screen, true);
            let (rect, inked) = (bench.places[button], bench.words_at(bench.places[button]));
            let ([left, right], text) = inked.unwrap_or_else(|| panic!("{button} has no words"));
            assert!(text.contains(words), "{text}");
            let [left, right] = [left - rect.left(), rect.right() - right];
            assert!((left - right).abs() < 5.0, "{button}, {size:?}: {left} points before its words, {right} behind");
        }
    }
    bench.session.ui = panels(true);
    let text = "`pliant run --replay a.session` repeats it.".to_owned();
    bench.session.ui.tell(Notice { severity: Severity::Info, text, file: None, scene: None });
    bench.session.ui.toggle(Toggle::Export);
    bench.settle();
    let all = bench.all_words();
    assert!(all.iter().any(|words| words.contains("pliant run --replay")) && all.iter().any(|words| words.contains("pliant export")));
    let raw: Vec<&String> = all.iter().filter(|words| words.contains('`')).collect();
    assert!(raw.is_empty(), "{raw:?}");
}

/// No menu is higher than the smallest window: what has no room is scrolled.
#[test]
fn menus_stay_within_the_smallest_window() {
    let mut bench = Bench::open("cantilever");
    bench.resize([720, 480], 1.0);
    let room = Rect::from_min_size(Pos2::ZERO, vec2(720.0, 480.0)).expand(0.5);
    for menu in ["menu.File", "menu.Edit", "menu.Gallery", "menu.View", "menu.Verify", "menu.Help"] {
        bench.session.ui = panels(true);
        egui::Popup::close_all(&bench.context);
        bench.settle();
        bench.click(menu);
        let menus: Vec<Rect> = bench.context.memory(|memory| {
            let layers = memory.areas().visible_layer_ids().into_iter().filter(|layer| layer.order == egui::Order::Foreground);
            layers.filter_map(|layer| memory.area_rect(layer.id)).collect()
        });
        assert!(menus.iter().any(|rect| rect.height() > 100.0), "{menu} is not open: {menus:?}");
        assert!(menus.iter().all(|rect| room.contains_rect(*rect)), "{menu} is at {menus:?}");
    }
}
