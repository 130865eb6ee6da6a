//! Entries that several menus have, and the lists of a scene that have entries.

use egui::{Button, RichText, Ui};

use super::commands::meaning_of;
use super::{Action, BodyAction, NewBody, NewEntry, UiResponse, icon, theme};
use crate::app::selection::Item;
use crate::scene::Scene;

/// An entry with its sign and its keys; under the mouse it says what it does.
pub(super) fn entry_ui(ui: &mut Ui, answers: &mut UiResponse, icon: &str, label: &str, keys: &str, action: Action) {
    let button = Button::new(with_icon(icon, label)).shortcut_text(keys);
    let told = meaning_of(&action);
    // Also where it is grey.
    let entry = ui.add(button).on_hover_text(told).on_disabled_hover_text(told);
    if answers.named(format!("item.{}", label.replace(' ', "_")), entry).clicked() {
        answers.act(action);
        ui.close();
    }
}

/// The words of an entry, after its sign.
pub(super) fn with_icon(icon: &str, label: &str) -> (RichText, RichText) {
    (theme::icon(icon, 15.0), RichText::new(label))
}

/// A list of tables of a scene, beside its bodies.
pub(super) struct List {
    /// As `--set` names it.
    pub path: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// What one of it is called.
    pub one: &'static str,
}

/// Where the list of the scene shows them.
pub(super) static LISTS: [List; 6] = [
    List { path: "contact.pair", title: "Contact pairs", one: "Pair" },
    List { path: "group", title: "Groups", one: "Group" },
    List { path: "attachment", title: "Springs", one: "Spring" },
    List { path: "force", title: "Forces", one: "Force" },
    List { path: "grab", title: "Hands", one: "Hand" },
    List { path: "probe", title: "Probes", one: "Probe" },
];

/// The list that a path names an entry of.
pub(super) fn list_of(path: &str) -> Option<&'static List> {
    let (parent, place) = path.rsplit_once('.')?;
    place.parse::<usize>().ok()?;
    LISTS.iter().find(|list| list.path == parent)
}

/// What an entry of the list is called: its name or the bodies that it is of, else its number from 1.
pub(super) fn name_of(scene: &Scene, item: &Item) -> String {
    let Some(list) = list_of(&item.path) else { return item.title() };
    let words = |key: &str| scene.given(&format!("{}.{key}", item.path)).map(|text| text.trim_matches('"').to_owned());
    match (words("name"), words("a"), words("b")) {
        (Some(name), ..) => name,
        (None, Some(a), Some(b)) => format!("{a} and {b}"),
        _ => {
            let place = item.path.rsplit('.').next().and_then(|place| place.parse::<usize>().ok()).unwrap_or_default();
            format!("{} {}", list.one, place + 1)
        }
    }
}

/// All that can be added to a scene.
pub(super) fn add_menu_ui(ui: &mut Ui, answers: &mut UiResponse) {
    let menu = ui.menu_button(with_icon(icon::PLUS, "Add"), |ui| add_entries_ui(ui, answers));
    answers.named("menu.Add", menu.response);
}

/// The entries of that menu.
pub(super) fn add_entries_ui(ui: &mut Ui, answers: &mut UiResponse) {
    for body in NewBody::ALL {
        entry_ui(ui, answers, icon::CUBE, body.label(), "", Action::Bodies(BodyAction::Add(body)));
    }
    ui.separator();
    entry_ui(ui, answers, icon::FOLDER_OPEN, "From a mesh file…", "", Action::AddMeshDialog);
    ui.separator();
    for entry in NewEntry::ALL {
        let sign = if entry == NewEntry::Material { icon::DROP } else { icon::STACK };
        entry_ui(ui, answers, sign, entry.label(), "", Action::AddEntry(entry));
    }
}
