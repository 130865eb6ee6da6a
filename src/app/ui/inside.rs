//! The card with which bodies are looked into, at the upper left of the view.

use egui::{Align, Area, Button, DragValue, FontId, Id, Label, Layout, Order, Rect, RichText, Slider, TextStyle, Ui, vec2};

use super::access::Meaning;
use super::import::beside;
use super::{Action, UiContext, UiResponse, UiState, icon, theme};
use crate::app::format;
use crate::app::inside::{AXES, Inside};
use crate::app::tools::Tool;

const WIDTH: f32 = 236.0;
/// More layers than these are never wanted.
const MOST_LAYERS: u8 = 30;

pub fn inside_ui(root: &Ui, view: Rect, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    if !state.inside.open {
        return;
    }
    let palette = theme::palette(root.ctx());
    // Beside the sheet of a mesh, or below the sign of a recording.
    let top = if context.recording.is_some() { 66.0 } else { 12.0 };
    let place = beside(view, state, context).left_top() + vec2(12.0, top);
    let area = Area::new(Id::unique("inside")).order(Order::Middle).fixed_pos(place);
    area.show(root.ctx(), |ui| {
        theme::card(root).show(ui, |ui| {
            ui.set_width(WIDTH);
            // Numbers have letters as large as the words beside them.
            ui.style_mut().text_styles.insert(TextStyle::Button, FontId::proportional(12.0));
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
                let cut = ui.checkbox(&mut inside.cuts, small("Cut"));
                answers.named("inside.cut", cut.on_hover_text("What is beyond a plane is not drawn"));
                ui.add_enabled_ui(inside.cuts, |ui| {
                    ui.spacing_mut().item_spacing.x = 2.0;
                    for (name, [turn, tilt]) in AXES {
                        let choice = ui.selectable_label([inside.turn, inside.tilt] == [turn, tilt], small(name));
                        if answers.named(format!("inside.axis.{name}"), choice.on_hover_text(format!("Across the {name} axis"))).clicked() {
                            [inside.turn, inside.tilt] = [turn, tilt];
                        }
                    }
                    let flip = ui.button(small("flip")).on_hover_text("Hide the other side of the plane");
                    if answers.named("inside.flip", flip).clicked() {
                        inside.flip();
                    }
                    let handles = ui.checkbox(&mut inside.handles, small("handles"));
                    let told = "An arrow and two arcs in the view, which move and tilt the plane  (Shift+I)";
                    answers.named("inside.handles", handles.on_hover_text(told));
                });
            });
            ui.add_enabled_ui(inside.cuts, |ui| {
                ui.horizontal(|ui| plane_ui(ui, inside, &mut state.tool, answers));
                ui.horizontal(|ui| {
                    ui.spacing_mut().slider_width = WIDTH - 72.0;
                    ui.visuals_mut().selection.bg_fill = palette.accent;
                    let slider = Slider::new(&mut inside.place, 0.0..=1.0).show_value(false);
                    answers.named("inside.place", ui.add(slider).on_hover_text("Where the plane is, from end to end of the bodies"));
                    if let Some(at) = context.cut_at {
                        let text = format::quantity(f64::from(at), "m");
                        ui.label(RichText::new(text).font(theme::figures(11.0)).color(palette.weak));
                    }
                });
                ui.horizontal(|ui| {
                    let whole = ui.checkbox(&mut inside.whole, small("whole elements"));
                    let told = "Elements beyond the plane are left out whole; else they are cut where it is, and covered there";
                    answers.named("inside.whole", whole.on_hover_text(told));
                    let rigids = ui.checkbox(&mut inside.rigids, small("rigid, too"));
                    answers.named("inside.rigids", rigids.on_hover_text("Rigid bodies and obstacles are cut, too"));
                });
            });
            if let Some(told) = open_told(context.open_sections) {
                answers.named("inside.open", ui.add(Label::new(small(&told).color(palette.weak)).wrap()));
            }
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

/// Why elements are cut instead of the surface of some bodies.
fn open_told(bodies: &[String]) -> Option<String> {
    let told = |whose: String| Some(format!("The surface of {whose} is open where it is cut: elements are shown instead"));
    match bodies {
        [] => None,
        [body] => told(body.clone()),
        [body, rest @ ..] => told(format!("{body} and of {} more", rest.len())),
    }
}

/// The direction of the plane: by two angles, from the view, or from a face.
fn plane_ui(ui: &mut Ui, inside: &mut Inside, tool: &mut Option<Tool>, answers: &mut UiResponse) {
    let small = |text: &str| RichText::new(text.to_owned()).size(12.0);
    ui.spacing_mut().item_spacing.x = 4.0;
    for (name, angle, range, told) in [
        ("turn", &mut inside.turn, -180.0..=180.0, "Turns the plane about the vertical"),
        ("tilt", &mut inside.tilt, -90.0..=90.0, "Tilts the plane up or down"),
    ] {
        let field = DragValue::new(angle).range(range).speed(0.5).fixed_decimals(0).prefix(format!("{name} ")).suffix("°");
        answers.named(format!("inside.{name}"), ui.add(field).on_hover_text(told));
    }
    let view = ui.button(small("view")).on_hover_text("Cuts across the line of sight: what is nearer is hidden");
    if answers.named("inside.view", view).clicked() {
        answers.act(Action::CutThroughView);
    }
    let is_choosing = *tool == Some(Tool::Face);
    let face = ui.add(Button::new(small("face")).selected(is_choosing));
    let face = face.on_hover_text("Then click a face of a body: the plane lies along it");
    if answers.named("inside.face", face).clicked() {
        *tool = (!is_choosing).then_some(Tool::Face);
    }
}
