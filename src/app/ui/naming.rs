//! Fields in which an entry of the scene gets another name: in the list of the scene, and among its values.

use egui::text::{CCursor, CCursorRange};
use egui::{Align, Id, Key, Layout, Margin, Rect, RichText, TextEdit, Ui, UiBuilder};

use super::{Action, UiResponse, theme};
use crate::app::document::Document;
use crate::scene::{Rename, Scene};

/// A name that is typed in the list of the scene.
pub struct Renaming {
    /// The entry, as `--set` names it.
    pub path: String,
    text: String,
    /// The field has not got the keyboard yet.
    pub is_new: bool,
    /// It was left by Enter.
    by_enter: bool,
}

impl Renaming {
    pub fn new(path: &str, name: &str) -> Self {
        Self { path: path.to_owned(), text: name.to_owned(), is_new: true, by_enter: false }
    }

    /// What was typed cannot be the name. False if the field is not to be shown again: it was left for something else.
    pub fn again(&mut self) -> bool {
        self.is_new = true;
        self.by_enter
    }

    pub fn carry_name(&mut self, rename: &Rename) {
        self.path = rename.path(&self.path);
    }
}

/// The field in the place of a label; true once it is given up.
pub fn renaming_ui(ui: &mut Ui, place: Rect, renaming: &mut Renaming, answers: &mut UiResponse) -> bool {
    let id = Id::unique(("renaming", &renaming.path));
    let field = TextEdit::singleline(&mut renaming.text).id(id).font(egui::FontId::proportional(13.0)).margin(Margin::symmetric(4, 1));
    let field = field.desired_width(place.width() - 8.0).hint_text("Another name");
    let mut shown = field.show(&mut ui.new_child(UiBuilder::new().max_rect(place)));
    let response = shown.response.response.clone();
    let is_new = std::mem::take(&mut renaming.is_new);
    if is_new {
        response.request_focus();
        // What is typed takes the place of the whole name.
        let all = CCursorRange::two(CCursor::new(0), CCursor::new(renaming.text.chars().count()));
        shown.state.cursor.set_char_range(Some(all));
        shown.state.store(ui.ctx(), id);
    }
    let response = answers.named("tree.rename", response);
    if !response.lost_focus() {
        // Scrolled out of sight it has lost the keyboard, too.
        return !is_new && !response.has_focus();
    }
    let (is_given_up, by_enter) = ui.input(|input| (input.key_pressed(Key::Escape), input.key_pressed(Key::Enter)));
    if !is_given_up {
        renaming.by_enter = by_enter;
        answers.act(Action::Rename { path: renaming.path.clone(), to: renaming.text.clone() });
    }
    is_given_up
}

/// The name of an entry as a row of its values; nothing for what cannot have one.
pub fn name_row_ui(ui: &mut Ui, document: &Document, path: &str, answers: &mut UiResponse) {
    if Scene::named_list(path).is_none() {
        return;
    }
    let palette = theme::palette(ui.ctx());
    let current = document.scene().name_at(path).unwrap_or_default();
    ui.horizontal(|ui| {
        ui.set_min_height(22.0);
        let told = "What the scene calls it: letters, digits, _ and -. All that names it follows, and the run goes on  (F2)";
        let label = ui.label(RichText::new("Name").size(12.5).color(palette.weak)).on_hover_text(told);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let id = Id::unique(("name", path));
            let mut text: String = ui.data(|data| data.get_temp(id)).unwrap_or_else(|| current.to_owned());
            let field = TextEdit::singleline(&mut text).id(id.with("field")).hint_text("none").font(theme::figures(12.0));
            let response = ui.add(field.desired_width(ui.available_width().min(132.0)));
            let response = answers.named(format!("value.{path}.name"), response).labelled_by(label.id).on_hover_text(told);
            if response.has_focus() {
                ui.data_mut(|data| data.insert_temp(id, text));
                return;
            }
            ui.data_mut(|data| data.remove_temp::<String>(id));
            let is_given_up = ui.input(|input| input.key_pressed(Key::Escape));
            if response.lost_focus() && !is_given_up && text.trim() != current {
                answers.act(Action::Rename { path: path.to_owned(), to: text });
            }
        });
    });
}
