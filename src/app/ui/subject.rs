//! What is selected: its name, what it is, and what can be done to it as a whole.

use egui::{Align, Button, FontId, Label, Layout, RichText, Ui};

use super::access::Meaning;
use super::entries::{LISTS, name_of};
use super::value::title;
use super::{Action, BodyAction, UiResponse, UiState, icon, theme};
use crate::app::document::Document;
use crate::app::selection::{Item, Pick};
use crate::scene::Scene;

/// Of the word behind a name that says what it is of.
const KIND_SIZE: f32 = 12.0;

/// The list that it is of: what is alike is changed together.
pub fn kind_of(item: &Item) -> &str {
    match item.as_pin() {
        Some(_) => "pin",
        None => item.path.rsplit_once('.').map_or(item.path.as_str(), |(list, _)| list),
    }
}

/// The name of the material of a body that is shown alone.
fn material_of(scene: &Scene, alike: &[Item]) -> Option<String> {
    let [item] = alike else { return None };
    item.body_name()?;
    let given = scene.given(&format!("{}.material", item.path))?;
    scene.material_names().into_iter().find(|name| *name == given.trim_matches('"'))
}

pub fn title_ui(ui: &mut Ui, document: &Document, alike: &[Item], last: &Item, state: &mut UiState, answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    let kind = kind_of(last);
    let list = LISTS.iter().find(|list| list.path == kind);
    let kind = match (kind, alike.len(), list) {
        (_, 0 | 1, Some(list)) => list.one.to_lowercase(),
        (_, _, Some(list)) => list.title.to_lowercase(),
        ("body", 2.., _) => "bodies".to_owned(),
        ("material", 2.., _) => "materials".to_owned(),
        (kind, ..) => kind.to_owned(),
    };
    let is_entry = last.path.contains('.');
    let name = match alike.len() {
        1 if is_entry => name_of(document.scene(), last),
        1 => title(&last.path),
        n => format!("{n} {kind}"),
    };
    ui.horizontal(|ui| {
        // The buttons first: a long name has the room that they leave.
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let close = Button::new(theme::icon(icon::X, 12.0)).frame_when_inactive(false);
            if answers.named("selection.clear", ui.add(close).meaning("Select nothing  (Esc)")).clicked() {
                state.selection.clear();
            }
            let delete = || Button::new(theme::icon(icon::TRASH, 13.0)).frame_when_inactive(false);
            if is_entry && last.as_pin().is_none() {
                let delete = ui.add(delete()).meaning("Takes what is selected out of the scene  (Del)");
                if answers.named("selection.delete", delete).clicked() {
                    answers.act(Action::Bodies(BodyAction::Delete));
                }
            }
            if let Some(material) = material_of(document.scene(), alike) {
                let show = Button::new(theme::icon(icon::DROP, 13.0).color(palette.accent));
                let show = ui.add(show).meaning(format!("The values of {material}, its material: most can be turned while it runs"));
                if answers.named("selection.material", show).clicked() {
                    state.selection.pick(&Item::table(format!("material.{material}")), Pick::Only, &[]);
                }
            }
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                let kind = Some(kind).filter(|_| alike.len() == 1 && is_entry);
                let width_of = |kind: &String| {
                    let galley = ui.painter().layout_no_wrap(kind.clone(), FontId::proportional(KIND_SIZE), palette.weak);
                    galley.size().x + ui.spacing().item_spacing.x
                };
                let room = ui.available_width() - kind.as_ref().map_or(0.0, width_of);
                ui.scope(|ui| {
                    ui.set_max_width(room);
                    ui.add(Label::new(RichText::new(name).font(theme::strong(14.5))).truncate());
                });
                if let Some(kind) = kind {
                    ui.label(RichText::new(kind).size(KIND_SIZE).color(palette.weak));
                }
            });
        });
    });
    if alike.len() > 1 {
        let told = format!("Shown are the values of {}; a change is made in all.", name_of(document.scene(), last));
        ui.label(RichText::new(told).size(11.5).color(palette.weak));
    }
    ui.add_space(2.0);
}
