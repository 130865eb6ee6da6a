//! The table of contact forces: by pair of bodies, or by body. A click selects the bodies.

use std::cmp::Reverse;

use egui::text::{LayoutJob, TextWrapping};
use egui::{Align2, CornerRadius, CursorIcon, FontId, Rect, RichText, Role, ScrollArea, Sense, Ui, WidgetInfo, pos2, vec2};

use super::{UiResponse, UiState, theme};
use crate::app::format;
use crate::app::selection::{Item, Pick};
use crate::body::BodyRef;
use crate::contact::PairForce;
use crate::math::Vec3;
use crate::model::Model;

/// A row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub bodies: Vec<BodyRef>,
    /// Magnitudes of the resultants [N].
    pub normal: f64,
    pub friction: f64,
    pub contacts: u32,
}

/// A row a pair, the largest push first.
fn by_pair(pairs: &[PairForce]) -> Vec<Row> {
    let row = |pair: &PairForce| Row {
        bodies: pair.bodies.into(),
        normal: pair.normal.norm(),
        friction: pair.friction.norm(),
        contacts: pair.contacts,
    };
    sorted(pairs.iter().map(row).collect())
}

/// A row a body: what all others together do to it.
fn by_body(pairs: &[PairForce]) -> Vec<Row> {
    let mut sums: Vec<(BodyRef, [Vec3; 2], u32)> = vec![];
    for pair in pairs {
        let [first, second] = pair.bodies;
        // A body's push on itself is none from outside.
        let sides = if first == second { vec![] } else { vec![(first, 1.0), (second, -1.0)] };
        for (body, sign) in sides {
            let place = sums.binary_search_by_key(&body, |(known, ..)| *known).unwrap_or_else(|place| {
                sums.insert(place, (body, [Vec3::zeros(); 2], 0));
                place
            });
            let (_, [normal, friction], contacts) = &mut sums[place];
            *normal += pair.normal * sign;
            *friction += pair.friction * sign;
            *contacts += pair.contacts;
        }
    }
    let row = |(body, [normal, friction], contacts): (BodyRef, [Vec3; 2], u32)| Row {
        bodies: vec![body],
        normal: normal.norm(),
        friction: friction.norm(),
        contacts,
    };
    sorted(sums.into_iter().map(row).collect())
}

fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by(|a, b| b.normal.total_cmp(&a.normal).then_with(|| Reverse(a.contacts).cmp(&Reverse(b.contacts))));
    rows
}

const LINE: f32 = 18.0;
/// More rows than these scroll.
const MOST_ROWS: usize = 9;
/// Right ends of the columns of numbers, from the right.
const COLUMNS: [(f32, &str, &str); 3] = [
    (86.0, "push", "Sum of the forces along the normals of all their contacts"),
    (30.0, "friction", "Sum of the forces along the surfaces"),
    (0.0, "n", "Contacts that carry a force"),
];

pub fn forces_ui(ui: &mut Ui, state: &mut UiState, model: &Model, pairs: &[PairForce], answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    ui.add_space(4.0);
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        for (of_bodies, name, hint) in
            [(false, "By pair", "What two bodies do to each other"), (true, "By body", "What all others together do to a body")]
        {
            let choice = ui.selectable_label(state.forces_by_body == of_bodies, RichText::new(name).size(11.5)).on_hover_text(hint);
            if answers.named(format!("forces.{}", name.replace(' ', "_")), choice).clicked() {
                state.forces_by_body = of_bodies;
            }
        }
    });
    let rows = if state.forces_by_body { by_body(pairs) } else { by_pair(pairs) };
    let (head, response) = ui.allocate_exact_size(vec2(ui.available_width(), LINE), Sense::hover());
    for (from_right, name, _) in COLUMNS {
        let at = pos2(head.right() - from_right, head.center().y);
        ui.painter().text(at, Align2::RIGHT_CENTER, name, FontId::proportional(11.0), palette.weak);
    }
    response.on_hover_text(COLUMNS.map(|(_, name, meaning)| format!("{name}: {meaning}")).join("\n"));
    let height = LINE * rows.len().min(MOST_ROWS) as f32;
    ScrollArea::vertical().max_height(height).min_scrolled_height(height).id_salt("forces").show_rows(ui, LINE, rows.len(), |ui, range| {
        ui.spacing_mut().item_spacing.y = 0.0;
        for place in range {
            row_ui(ui, state, model, place, &rows[place], answers);
        }
    });
}

fn row_ui(ui: &mut Ui, state: &mut UiState, model: &Model, place: usize, row: &Row, answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), LINE), Sense::click());
    let response = answers.named(format!("forces.row.{place}"), response).on_hover_cursor(CursorIcon::PointingHand);
    let names = row.bodies.iter().map(|body| model.body_name(*body)).collect::<Vec<_>>().join(" – ");
    let told = format!("{names}: push {}, friction {}", format::force(row.normal), format::force(row.friction));
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &told));
    if response.hovered() {
        ui.painter().rect_filled(rect.expand2(vec2(4.0, 0.0)), CornerRadius::same(4), palette.well);
    }
    let numbers = [format::force(row.normal), format::force(row.friction), row.contacts.to_string()];
    for ((from_right, ..), text) in COLUMNS.into_iter().zip(numbers) {
        let at = pos2(rect.right() - from_right, rect.center().y);
        ui.painter().text(at, Align2::RIGHT_CENTER, text, theme::figures(11.0), palette.text);
    }
    let room = Rect::from_min_max(rect.min, pos2(rect.right() - 142.0, rect.bottom()));
    let mut name = LayoutJob::simple_singleline(names.clone(), FontId::proportional(12.0), palette.text);
    name.wrap = TextWrapping::truncate_at_width(room.width());
    let name = ui.painter().layout_job(name);
    ui.painter().galley(pos2(room.left(), room.center().y - 0.5 * name.size().y), name, palette.text);
    if response.clicked() {
        for (place, body) in row.bodies.iter().enumerate() {
            let how = if place == 0 { Pick::Only } else { Pick::Toggle };
            state.selection.pick(&Item::body(model.body_name(*body)), how, &[]);
        }
    }
    response.on_hover_text(format!("{names}\nClick to select"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forces_of_pairs_add_up_at_bodies() {
        let [a, b, floor] = [BodyRef::Deformable(0), BodyRef::Rigid(0), BodyRef::Obstacle(0)];
        let pair = |bodies, normal: Vec3, contacts| PairForce { bodies, normal, friction: Vec3::x() * 0.1, contacts };
        // a lies on b, which lies on the floor; forces are those on the first body.
        let pairs = [pair([a, b], Vec3::y() * 2.0, 3), pair([b, floor], Vec3::y() * 5.0, 4), pair([a, a], Vec3::z() * 9.0, 1)];
        let rows = by_pair(&pairs);
        assert_eq!(rows.iter().map(|row| (row.normal, row.contacts)).collect::<Vec<_>>(), [(9.0, 1), (5.0, 4), (2.0, 3)]);
        let rows = by_body(&pairs);
        let told: Vec<_> = rows.iter().map(|row| (row.bodies[0], row.normal, row.contacts)).collect();
        assert_eq!(told, [(floor, 5.0, 4), (b, 3.0, 7), (a, 2.0, 3)]);
        // Friction on b is that of the floor less what it gives to a.
        assert!(rows[1].friction < 1e-12);
    }
}
