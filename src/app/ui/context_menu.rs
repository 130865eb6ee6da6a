//! What can be done to what is under the cursor, after a click with the right button.

use egui::containers::menu::menu_style;
use egui::{Align, Id, LayerId, Layout, Popup, PopupKind, Pos2, RichText, Ui};

use super::entries::{add_menu_ui, entry_ui};
use super::{Action, BodyAction, PinAction, UiContext, UiResponse, UiState, icon, theme};

/// The open menu; it is about what is selected.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextMenu {
    /// In points of the window.
    pub at: Pos2,
    /// There is a deformable body that can be pinned.
    pub can_pin: bool,
    /// The pin there: the body that it is of and its place among the fixed parts of that.
    pub pin: Option<(String, usize)>,
    /// The number of the grab there that was left.
    pub held: Option<u32>,
    /// It is about the ground: what is behind all else, and so it is about everything, too.
    pub is_ground: bool,
}

pub fn context_menu_ui(root: &Ui, state: &mut UiState, context: &UiContext, answers: &mut UiResponse) {
    let Some(menu) = state.menu.clone() else { return };
    let mut open = true;
    let popup = Popup::new(Id::unique("context menu"), root.ctx().clone(), menu.at, LayerId::background());
    let popup = popup.kind(PopupKind::Menu).layout(Layout::top_down_justified(Align::Min)).style(menu_style);
    popup.open_bool(&mut open).show(|ui| {
        ui.set_min_width(190.0);
        pins_ui(ui, &menu, answers);
        let names = selected(state, context);
        match names.is_empty() {
            true => add_menu_ui(ui, answers),
            false => bodies_ui(ui, &names, state, answers),
        }
        if names.is_empty() || menu.is_ground {
            ui.separator();
            everything_ui(ui, answers);
        }
    });
    if !open {
        state.menu = None;
    }
}

/// Names in the model of the selected bodies.
fn selected(state: &UiState, context: &UiContext) -> Vec<String> {
    let Some(scene) = &context.snapshot.scene else { return vec![] };
    state.selection.bodies(&scene.model).into_iter().map(|body| scene.model.body_name(body).to_owned()).collect()
}

fn bodies_ui(ui: &mut Ui, names: &[String], state: &UiState, answers: &mut UiResponse) {
    let palette = theme::palette(ui.ctx());
    let title = match (names, state.selection.items()) {
        ([name], _) => name.clone(),
        (names, [item]) => format!("{}, {} copies", item.title(), names.len()),
        (names, _) => format!("{} bodies", names.len()),
    };
    ui.label(RichText::new(title).font(theme::strong(13.0)).color(palette.text));
    ui.add_space(2.0);
    let [hidden, locked] =
        [names.iter().all(|name| state.selection.is_hidden(name)), names.iter().all(|name| state.selection.is_locked(name))];
    let mut entry = |ui: &mut Ui, sign, label, keys, action| entry_ui(ui, answers, sign, label, keys, Action::Bodies(action));
    entry(ui, icon::CROSSHAIR, "Fly to it", "", BodyAction::FlyTo);
    match hidden {
        true => entry(ui, icon::EYE, "Show", "", BodyAction::Hide(false)),
        false => entry(ui, icon::EYE_SLASH, "Hide", "", BodyAction::Hide(true)),
    }
    entry(ui, icon::EYE, "Hide all others", "", BodyAction::HideOthers);
    match locked {
        true => entry(ui, icon::LOCK_OPEN, "Unlock", "", BodyAction::Lock(false)),
        false => entry(ui, icon::LOCK, "Lock", "", BodyAction::Lock(true)),
    }
    ui.separator();
    ui.add_enabled_ui(!locked, |ui| {
        if state.selection.items().len() == 1 {
            entry_ui(ui, answers, icon::TEXTBOX, "Rename…", "F2", Action::BeginRename);
        }
        let mut entry = |ui: &mut Ui, sign, label, keys, action| entry_ui(ui, answers, sign, label, keys, Action::Bodies(action));
        entry(ui, icon::ARROW_LINE_DOWN, "Drop again", "", BodyAction::PutBack);
        entry(ui, icon::COPY, "Duplicate", "Ctrl+D", BodyAction::Duplicate);
        entry(ui, icon::TRASH, "Delete", "Del", BodyAction::Delete);
    });
    ui.separator();
    add_menu_ui(ui, answers);
}

/// What can be done at the very point.
fn pins_ui(ui: &mut Ui, menu: &ContextMenu, answers: &mut UiResponse) {
    if let Some((body, part)) = &menu.pin {
        entry_ui(ui, answers, icon::PUSH_PIN_SLASH, "Unpin", "", Action::Pins(PinAction::Unpin(body.clone(), *part)));
        entry_ui(ui, answers, icon::PUSH_PIN_SLASH, "Unpin all of it", "", Action::Pins(PinAction::UnpinAll(body.clone())));
    } else if menu.can_pin {
        entry_ui(ui, answers, icon::PUSH_PIN, "Pin here", "P", Action::Pins(PinAction::Here));
    }
    if let Some(id) = menu.held {
        entry_ui(ui, answers, icon::HAND_GRABBING, "Let go", "", Action::Pins(PinAction::LetGo(id)));
    }
    if menu.pin.is_some() || menu.can_pin || menu.held.is_some() {
        ui.separator();
    }
}

fn everything_ui(ui: &mut Ui, answers: &mut UiResponse) {
    entry_ui(ui, answers, icon::EYE, "Show all bodies", "", Action::Bodies(BodyAction::ShowAll));
    entry_ui(ui, answers, icon::CORNERS_OUT, "Frame all", "F", Action::FrameAll);
    entry_ui(ui, answers, icon::SKIP_BACK, "Back to the start", "R", Action::Reset);
}
