//! What the colours of bodies mean, over the view at the lower right.

use egui::{Align, Area, Button, Color32, CornerRadius, DragValue, Id, Layout, Mesh, Order, Rect, RichText, Sense, Shape, Ui, pos2, vec2};

use super::access::Meaning;
use super::{UiContext, UiResponse, UiState, icon, theme};
use crate::app::coloring::Coloring;
use crate::app::format;

const WIDTH: f32 = 236.0;
const BAR: f32 = 12.0;
/// More materials than these have no line in the legend.
const MOST_MATERIALS: usize = 12;

pub fn coloring_ui(root: &Ui, view: Rect, coloring: &Coloring, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
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
                    if answers.named("colour.close", ui.add(close).meaning("Colours of the bodies again")).clicked() {
                        state.field = None;
                    }
                    if !coloring.field.is_category() && coloring.field.range().is_none() {
                        hold_ui(ui, state, answers);
                    }
                });
            });
            ui.add_space(3.0);
            if coloring.field.is_category() {
                materials_ui(ui, coloring, context);
                return;
            }
            let (bar, _) = ui.allocate_exact_size(vec2(WIDTH, BAR), Sense::hover());
            ui.painter().add(gradient(bar, coloring));
            ends_ui(ui, coloring, state, answers);
        });
    });
    answers.corner = shown.response.rect.height() + 8.0;
    answers.named("colour.legend", shown.response);
}

/// Whether the range follows what is there.
fn hold_ui(ui: &mut Ui, state: &mut UiState, answers: &mut UiResponse) {
    let is_held = state.hold_range || state.color_range.is_some();
    let (sign, hint) = match is_held {
        true => (icon::LOCK, "The range stays; click to let it follow"),
        false => (icon::LOCK_OPEN, "The range follows what is there; click to keep it, or type its ends below"),
    };
    let hold = Button::new(theme::icon(sign, 13.0)).selected(is_held).frame_when_inactive(false);
    if answers.named("colour.hold", ui.add(hold).meaning(hint)).clicked() {
        (state.hold_range, state.color_range) = (!is_held, None);
    }
}

/// The values at the ends, which may be typed, and the one in the middle.
fn ends_ui(ui: &mut Ui, coloring: &Coloring, state: &mut UiState, answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    let [low, high] = coloring.range;
    let (scale, unit) = format::scale_of(low.abs().max(high.abs()), coloring.field.unit());
    let row = ui.horizontal(|ui| {
        ui.set_width(WIDTH);
        ui.set_height(18.0);
        ui.style_mut().override_font_id = Some(theme::figures(11.5));
        ui.spacing_mut().button_padding = vec2(3.0, 1.0);
        let mut ends = [low / scale, high / scale];
        let width = (ends[1] - ends[0]).abs().max(1e-9);
        let hint = format!("An end of the range [{unit}]: type it or drag");
        let first = answers.named("colour.low", ui.add(field(&mut ends[0], width)).on_hover_text(&hint));
        let last = ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let field = field(&mut ends[1], width).suffix(if unit.is_empty() { String::new() } else { format!(" {unit}") });
            answers.named("colour.high", ui.add(field).on_hover_text(&hint))
        });
        if (first.changed() || last.inner.changed()) && ends[0] < ends[1] {
            state.color_range = Some(ends.map(|end| end * scale));
        }
    });
    let middle = row.response.rect.center();
    let text = format::significant(0.5 * (low + high) / scale);
    ui.painter().text(middle, egui::Align2::CENTER_CENTER, text, theme::figures(11.5), palette.weak);
}

fn field(value: &mut f64, width: f64) -> DragValue<'_> {
    DragValue::new(value).speed(0.01 * width).max_decimals(4).custom_formatter(|x, _| format::significant(x))
}

/// A swatch and a name for each material.
fn materials_ui(ui: &mut Ui, coloring: &Coloring, context: &UiContext) {
    let materials = context.snapshot.view.as_ref().map(|view| view.materials.as_slice()).unwrap_or_default();
    for (named, color) in materials.iter().zip(coloring.table()).take(MOST_MATERIALS) {
        ui.horizontal(|ui| {
            let (swatch, _) = ui.allocate_exact_size(vec2(12.0, 12.0), Sense::hover());
            let [r, g, b] = color.0.map(|c| (c * 255.0).round() as u8);
            ui.painter().rect_filled(swatch, CornerRadius::same(3), Color32::from_rgb(r, g, b));
            let name = context.document.map_or_else(|| named.name.clone(), |document| document.labels().shown("material", &named.name));
            let name = if name.is_empty() { "the default" } else { &name };
            ui.label(RichText::new(name).size(12.0));
        });
    }
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
