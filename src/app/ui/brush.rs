//! The brush with which materials are painted: its card at the top of the view, and its circle under the mouse.

use egui::{
    Align2, Area, Button, Color32, ComboBox, CornerRadius, DragValue, FontId, Id, Order, Pos2, Rect, RichText, Sense, Stroke, TextStyle,
    Ui, vec2,
};

use super::access::Meaning;
use super::checkup::painted;
use super::{Action, NewEntry, UiContext, UiResponse, UiState, icon, theme};
use crate::app::tools::Tool;
use crate::math::Aabb;
use crate::render::{Rgb, palette};

/// The circle of the brush, in points of the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BrushMark {
    pub at: Pos2,
    pub radius: f32,
    /// Of what it paints; none if it erases.
    pub color: Option<Rgb>,
}

/// The card, while the brush is the tool.
pub fn brush_ui(root: &Ui, view: Rect, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    let (Some(Tool::Brush), Some(scene), Some(document)) = (state.tool, &context.snapshot.scene, context.document) else { return };
    let model = &scene.model;
    let names = document.scene().material_names();
    let selected = state.selection.items().last().and_then(|item| item.path.strip_prefix("material."));
    let size = if model.rest_positions.is_empty() { 1.0 } else { Aabb::of(&model.rest_positions).extent().max() };
    state.brush.follow(&names, selected, size);
    let palette = theme::palette(root.ctx());
    let small = |text: &str| RichText::new(text.to_owned()).size(12.0);
    let area = Area::new(Id::unique("brush")).order(Order::Middle).pivot(Align2::CENTER_TOP).fixed_pos(answers.card_place(view));
    let shown = area.show(root.ctx(), |ui| {
        theme::card(root).show(ui, |ui| {
            // The number has letters as large as the words beside it.
            ui.style_mut().text_styles.insert(TextStyle::Button, FontId::proportional(12.0));
            let brush = &mut state.brush;
            ui.horizontal(|ui| {
                ui.spacing_mut().item_spacing.x = 6.0;
                for (erases, sign, name, told) in [
                    (false, icon::PAINT_BRUSH, "Paint", "What the brush passes is made of this material, from the start"),
                    (true, icon::ERASER, "Erase", "What was painted there is as without it again"),
                ] {
                    let choice = Button::new((theme::icon(sign, 14.0), small(name))).selected(brush.erases == erases);
                    if answers.named(format!("brush.{}", name.to_lowercase()), ui.add(choice).on_hover_text(told)).clicked() {
                        brush.erases = erases;
                    }
                }
                ui.add_enabled_ui(!brush.erases, |ui| material_ui(ui, &mut brush.material, &names, context, answers));
                let more = Button::new(theme::icon(icon::PLUS, 12.0)).frame_when_inactive(false);
                let told = "Adds a material to paint with: a copy of the selected one, or of that of the selected body";
                if answers.named("brush.add", ui.add(more).meaning(told)).clicked() {
                    answers.act(Action::AddEntry(NewEntry::Material));
                }
                let speed = 0.01 * brush.radius;
                let radius = DragValue::new(&mut brush.radius).prefix("radius ").suffix(" m").speed(speed).max_decimals(5);
                answers.named("brush.radius", ui.add(radius).on_hover_text("How far around a point it paints  (Ctrl + wheel)"));
                let close = Button::new(theme::icon(icon::X, 12.0)).frame_when_inactive(false);
                if answers.named("brush.close", ui.add(close).meaning("Put the brush away  (Esc)")).clicked() {
                    state.tool = None;
                }
            });
            ui.label(small(Tool::Brush.hint()).color(palette.weak));
        });
    });
    answers.add_card(shown.response.rect);
}

/// The material that is painted, with its colour.
fn material_ui(ui: &mut Ui, material: &mut Option<String>, names: &[String], context: &UiContext, answers: &mut UiResponse) {
    let named = context.snapshot.scene.as_ref().map(|scene| scene.model.named_materials.as_slice()).unwrap_or_default();
    let color = |name: &str| palette(named.iter().position(|named| named.name == name).unwrap_or(named.len()));
    if let Some(name) = material {
        let (swatch, _) = ui.allocate_exact_size(vec2(12.0, 12.0), Sense::hover());
        ui.painter().rect_filled(swatch, CornerRadius::same(3), painted(&color(name)));
    }
    let shown = material.clone().unwrap_or_else(|| "no material".to_owned());
    let combo = ComboBox::from_id_salt("brush.material").width(110.0).truncate().selected_text(RichText::new(shown).size(12.0));
    let combo = combo.show_ui(ui, |ui| {
        for name in names {
            let choice = ui.selectable_label(material.as_ref() == Some(name), name).on_hover_text("Paint with it");
            if answers.named(format!("brush.material.{name}"), choice).clicked() {
                *material = Some(name.clone());
            }
        }
    });
    answers.named(
        "brush.material",
        combo.response.on_hover_text("The material that is painted; one that is selected in the list is taken, too"),
    );
}

/// The circle under the mouse.
pub fn mark_ui(root: &Ui, view: Rect, mark: &BrushMark) {
    let weak = theme::palette(root.ctx()).text;
    let painter = root.painter().with_clip_rect(view);
    let radius = mark.radius.max(2.0);
    painter.circle_stroke(mark.at, radius, Stroke::new(3.5, Color32::from_black_alpha(90)));
    painter.circle_stroke(mark.at, radius, Stroke::new(1.8, mark.color.as_ref().map_or(weak, painted)));
}
