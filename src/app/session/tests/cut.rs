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
