//! The card with which bodies are looked into, at the upper left of the view.

use egui::{Align, Area, Button, DragValue, Id, Layout, Order, Rect, RichText, Slider, Ui, vec2};

use super::access::Meaning;
use super::import::beside;
use super::{UiContext, UiResponse, UiState, icon, theme};
use crate::app::format;

const WIDTH: f32 = 218.0;
/// More layers than these are never wanted.
const MOST_LAYERS: u8 = 30;

pub fn inside_ui(root: &Ui, view: Rect, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    if !state.inside.open {
        return;
    }
    let palette = theme::palette(root.ctx());
    // Beside the sheet of a mesh, or below the sign of a recording.
    let top = if context.recording.is_some() { 60.0 } else { 12.0 };
    let place = beside(view, state, context).left_top() + vec2(12.0, top);
    let area = Area::new(Id::unique("inside")).order(Order::Middle).fixed_pos(place);
    area.show(root.ctx(), |ui| {
        theme::card(root).show(ui, |ui| {
            ui.set_width(WIDTH);
            let inside = &mut state.inside;
            ui.horizontal(|ui| {
                ui.label(RichText::new("Look inside").font(theme::strong(12.5)));
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    let close = Button::new(theme::icon(icon::X, 12.0)).frame_when_inactive(false);
                    if answers.named("inside.close", ui.add(close).meaning("Whole bodies again  (I)")).clicked() {
                        inside.open = false;
                    }
                });
            });
            let small = |text: &str| RichText::new(text.to_owned()).size(12.0);
            ui.horizontal(|ui| {
                let cut = ui.checkbox(&mut inside.cuts, small("Cut across"));
                answers.named("inside.cut", cut.on_hover_text("Elements beyond a plane are not drawn"));
                ui.add_enabled_ui(inside.cuts, |ui| {
                    ui.spacing_mut().item_spacing.x = 2.0;
                    for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
                        let choice = ui.selectable_label(inside.axis == axis, small(name));
                        if answers.named(format!("inside.axis.{name}"), choice.on_hover_text(format!("Across the {name} axis"))).clicked() {
                            inside.axis = axis;
                        }
                    }
                    let flip = ui.selectable_label(inside.flipped, small("flip")).on_hover_text("Hide the other side");
                    if answers.named("inside.flip", flip).clicked() {
                        inside.flipped = !inside.flipped;
                    }
                });
            });
            ui.add_enabled_ui(inside.cuts, |ui| {
                ui.horizontal(|ui| {
                    ui.spacing_mut().slider_width = WIDTH - 72.0;
                    let slider = Slider::new(&mut inside.place, 0.0..=1.0).show_value(false);
                    answers.named("inside.place", ui.add(slider).on_hover_text("Where the plane is, from end to end of the bodies"));
                    let nodes = context.snapshot.view.as_ref().and_then(|view| view.nodes.as_deref());
                    if let Some(at) = nodes.and_then(|nodes| inside.position(nodes)) {
                        let text = format::quantity(f64::from(at), "m");
                        ui.label(RichText::new(text).font(theme::figures(11.0)).color(palette.weak));
                    }
                });
            });
            ui.horizontal(|ui| {
                ui.label(small("Peel"));
                let layers = DragValue::new(&mut inside.peeled).range(0..=MOST_LAYERS).speed(0.05).suffix(" layers");
                answers.named("inside.peel", ui.add(layers).on_hover_text("Layers of elements below the surface that are not drawn"));
                let apart = ui.checkbox(&mut inside.apart, small("apart"));
                answers.named("inside.apart", apart.on_hover_text("Elements are drawn smaller, so that single ones are seen"));
            });
        });
    });
}
