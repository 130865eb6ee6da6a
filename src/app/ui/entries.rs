//! Entries that several menus have.

use egui::{Button, RichText, Ui};

use super::commands::meaning_of;
use super::{Action, BodyAction, NewBody, UiResponse, icon, theme};

/// An entry with its sign and its keys; under the mouse it says what it does.
pub(super) fn entry_ui(ui: &mut Ui, answers: &mut UiResponse, icon: &str, label: &str, keys: &str, action: Action) {
    let button = Button::new(with_icon(icon, label)).shortcut_text(keys);
    let entry = ui.add(button).on_hover_text(meaning_of(&action));
    if answers.named(format!("item.{}", label.replace(' ', "_")), entry).clicked() {
        answers.act(action);
        ui.close();
    }
}

/// The words of an entry, after its sign.
pub(super) fn with_icon(icon: &str, label: &str) -> (RichText, RichText) {
    (theme::icon(icon, 15.0), RichText::new(label))
}

/// The bodies that can be added to a scene.
pub(super) fn add_menu_ui(ui: &mut Ui, answers: &mut UiResponse) {
    let menu = ui.menu_button(with_icon(icon::PLUS, "Add a body"), |ui| {
        for body in NewBody::ALL {
            entry_ui(ui, answers, icon::CUBE, body.label(), "", Action::Bodies(BodyAction::Add(body)));
        }
        ui.separator();
        entry_ui(ui, answers, icon::FOLDER_OPEN, "From a mesh file…", "", Action::AddMeshDialog);
    });
    answers.named("menu.Add", menu.response);
}
