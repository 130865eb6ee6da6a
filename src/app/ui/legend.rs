//! What the colours of bodies mean, over the view at the lower right.

use egui::{Align, Area, Button, Color32, Id, Layout, Mesh, Order, Rect, RichText, Sense, Shape, Ui, pos2, vec2};

use super::{UiResponse, UiState, icon, theme};
use crate::app::coloring::Coloring;
use crate::app::format;

const WIDTH: f32 = 236.0;
const BAR: f32 = 12.0;

pub fn coloring_ui(root: &Ui, view: Rect, coloring: &Coloring, state: &mut UiState, answers: &mut UiResponse) {
    let palette = theme::palette(root.ctx());
    // Above the transport bar, or the hint that there is one.
    let bottom = if state.panels_visible { 76.0 } else { 48.0 };
    let place = view.right_bottom() - vec2(12.0, bottom);
    let area = Area::new(Id::unique("colours")).order(Order::Middle).pivot(egui::Align2::RIGHT_BOTTOM).fixed_pos(place);
    let shown = area.show(root.ctx(), |ui| {
        theme::card(root).show(ui, |ui| {
            ui.set_width(WIDTH);
            ui.horizontal(|ui| {
                let title = ui.label(RichText::new(coloring.field.title()).font(theme::strong(12.5)));
                title.on_hover_text(coloring.field.meaning());
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    let close = Button::new(theme::icon(icon::X, 12.0)).frame_when_inactive(false);
                    if answers.named("colour.close", ui.add(close).on_hover_text("Colours of the bodies again")).clicked() {
                        state.field = None;
                    }
                    let (sign, hint) = match state.hold_range {
                        true => (icon::LOCK, "The range stays; click to let it follow"),
                        false => (icon::LOCK_OPEN, "The range follows what is there; click to keep it"),
                    };
                    let hold = Button::new(theme::icon(sign, 13.0)).selected(state.hold_range).frame_when_inactive(false);
                    if answers.named("colour.hold", ui.add(hold).on_hover_text(hint)).clicked() {
                        state.hold_range = !state.hold_range;
                    }
                });
            });
            ui.add_space(3.0);
            let (bar, _) = ui.allocate_exact_size(vec2(WIDTH, BAR), Sense::hover());
            ui.painter().add(gradient(bar, coloring));
            let [low, high] = coloring.range;
            let (row, _) = ui.allocate_exact_size(vec2(WIDTH, 15.0), Sense::hover());
            let ends = [(row.left_center(), low, egui::Align2::LEFT_CENTER), (row.right_center(), high, egui::Align2::RIGHT_CENTER)];
            let middle = (row.center(), 0.5 * (low + high), egui::Align2::CENTER_CENTER);
            for (at, value, align) in ends.into_iter().chain([middle]) {
                ui.painter().text(at, align, format::quantity(value, coloring.field.unit()), theme::figures(11.5), palette.text);
            }
        });
    });
    answers.named("colour.legend", shown.response);
}

/// The table of colours from left to right.
fn gradient(bar: Rect, coloring: &Coloring) -> Shape {
    let mut mesh = Mesh::default();
    let table = coloring.table();
    for (place, color) in table.iter().enumerate() {
        let x = bar.left() + bar.width() * place as f32 / 255.0;
        let [r, g, b] = color.0.map(|c| (c * 255.0).round() as u8);
        for y in [bar.top(), bar.bottom()] {
            mesh.colored_vertex(pos2(x, y), Color32::from_rgb(r, g, b));
        }
        if place > 0 {
            let first = 2 * place as u32 - 2;
            mesh.add_triangle(first, first + 1, first + 2);
            mesh.add_triangle(first + 1, first + 3, first + 2);
        }
    }
    Shape::mesh(mesh)
}
