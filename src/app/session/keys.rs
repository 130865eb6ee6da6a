//! The keyboard: shortcuts are taken before the panels see them, except while text is typed.

use egui::{Context, Event, Key, Modifiers, Popup, RawInput};

use crate::app::tools::Tool;
use crate::app::ui::{Action, BodyAction, PinAction, TimeAction, UiState};

/// Removes the shortcuts from the input and says what they mean.
pub fn take_actions(context: &Context, input: &mut RawInput, ui: &mut UiState) -> Vec<Action> {
    let mut actions = vec![];
    if context.text_edit_focused() {
        return actions;
    }
    input.events.retain(|event| {
        let Event::Key { key, pressed: true, modifiers, repeat, .. } = event else { return true };
        let modal = ui.is_modal() || (*key == Key::Escape && (Popup::is_any_open(context) || ui.menu.is_some()));
        match shortcut(*key, *modifiers) {
            Some(Shortcut::Act(action)) if !modal => {
                // Holding a key steps on; it toggles nothing.
                if !repeat || matches!(action, Action::StepOnce | Action::Time(TimeAction::Back)) {
                    actions.push(action);
                }
                false
            }
            Some(Shortcut::Panels) if !modal => {
                ui.panels_visible = !ui.panels_visible;
                false
            }
            Some(Shortcut::Contacts) if !modal => {
                ui.contacts ^= !repeat;
                false
            }
            Some(Shortcut::Tree) if !modal => {
                ui.tree_open = Some(!ui.tree_open.unwrap_or(true) ^ repeat);
                false
            }
            Some(Shortcut::Inside) if !modal => {
                ui.inside.open ^= !repeat;
                false
            }
            Some(Shortcut::Ruler) if !modal => {
                if !repeat {
                    ui.tool = if ui.tool == Some(Tool::Ruler) { None } else { Some(Tool::Ruler) };
                }
                false
            }
            Some(Shortcut::Plots) if !modal => {
                ui.plots.open ^= !repeat;
                false
            }
            Some(Shortcut::Keys) if !modal || ui.keys_open => {
                ui.keys_open = !ui.keys_open;
                false
            }
            _ => true,
        }
    });
    actions
}

#[derive(Debug, PartialEq)]
enum Shortcut {
    Act(Action),
    Panels,
    Contacts,
    Tree,
    Plots,
    Inside,
    Ruler,
    Keys,
}

fn shortcut(key: Key, modifiers: Modifiers) -> Option<Shortcut> {
    let action = match (key, modifiers.command, modifiers.alt) {
        (Key::Z, true, false) if !modifiers.shift => Action::Undo,
        (Key::Z | Key::Y, true, false) => Action::Redo,
        (Key::S, true, false) if modifiers.shift => Action::SaveScene,
        (Key::Escape, false, false) => Action::ClearSelection,
        (Key::D, true, false) => Action::Bodies(BodyAction::Duplicate),
        (Key::P, false, false) => Action::Pins(PinAction::Held),
        (Key::H, false, false) => Action::Pins(PinAction::Leave),
        (Key::Delete, false, false) => Action::Bodies(BodyAction::Delete),
        (Key::O, true, false) => Action::OpenDialog,
        (Key::R, true, false) => Action::Reload,
        (Key::S, true, false) => Action::Screenshot,
        (Key::Q, true, false) => Action::Quit,
        (Key::Space, false, false) => Action::PlayPause,
        (Key::Period, false, false) => Action::StepOnce,
        (Key::Comma, false, false) => Action::Time(TimeAction::Back),
        (Key::End, false, false) => Action::Time(TimeAction::Live),
        (Key::R, false, false) => Action::Reset,
        (Key::F, false, false) => Action::FrameAll,
        (Key::V, false, false) => Action::ToggleRecording,
        (Key::C, false, false) => return Some(Shortcut::Contacts),
        (Key::L, false, false) => return Some(Shortcut::Tree),
        (Key::I, false, false) => return Some(Shortcut::Inside),
        (Key::M, false, false) => return Some(Shortcut::Ruler),
        (Key::N, false, false) => return Some(Shortcut::Plots),
        (Key::Tab, false, false) => return Some(Shortcut::Panels),
        (Key::Questionmark, false, false) | (Key::F1, false, false) => return Some(Shortcut::Keys),
        (Key::Slash, false, false) if modifiers.shift => return Some(Shortcut::Keys),
        _ => return None,
    };
    Some(Shortcut::Act(action))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(input: &mut RawInput, key: Key, modifiers: Modifiers, repeat: bool) {
        input.events.push(Event::Key { key, physical_key: None, pressed: true, repeat, modifiers });
    }

    #[test]
    fn shortcuts_are_taken_and_the_rest_is_left() {
        let (context, mut ui) = (Context::default(), UiState::default());
        let mut input = RawInput::default();
        press(&mut input, Key::Space, Modifiers::NONE, false);
        press(&mut input, Key::Space, Modifiers::NONE, true);
        press(&mut input, Key::Period, Modifiers::NONE, true);
        press(&mut input, Key::Comma, Modifiers::NONE, true);
        press(&mut input, Key::End, Modifiers::NONE, true);
        press(&mut input, Key::O, Modifiers::COMMAND, false);
        press(&mut input, Key::O, Modifiers::NONE, false);
        press(&mut input, Key::Tab, Modifiers::NONE, false);
        press(&mut input, Key::C, Modifiers::NONE, false);
        press(&mut input, Key::C, Modifiers::NONE, true);
        press(&mut input, Key::Z, Modifiers::COMMAND, false);
        press(&mut input, Key::Z, Modifiers::COMMAND | Modifiers::SHIFT, false);
        press(&mut input, Key::Y, Modifiers::COMMAND, false);
        press(&mut input, Key::S, Modifiers::COMMAND, false);
        press(&mut input, Key::S, Modifiers::COMMAND | Modifiers::SHIFT, false);
        press(&mut input, Key::Escape, Modifiers::NONE, false);
        press(&mut input, Key::L, Modifiers::NONE, false);
        press(&mut input, Key::D, Modifiers::COMMAND, false);
        press(&mut input, Key::Delete, Modifiers::NONE, false);
        press(&mut input, Key::P, Modifiers::NONE, false);
        press(&mut input, Key::H, Modifiers::NONE, false);
        press(&mut input, Key::N, Modifiers::NONE, false);
        press(&mut input, Key::I, Modifiers::NONE, false);
        press(&mut input, Key::M, Modifiers::NONE, false);
        let actions = take_actions(&context, &mut input, &mut ui);
        let first = [Action::PlayPause, Action::StepOnce, Action::Time(TimeAction::Back), Action::OpenDialog];
        let second = [Action::Undo, Action::Redo, Action::Redo, Action::Screenshot, Action::SaveScene, Action::ClearSelection];
        let third = [BodyAction::Duplicate, BodyAction::Delete].map(Action::Bodies);
        let fourth = [PinAction::Held, PinAction::Leave].map(Action::Pins);
        assert_eq!(actions, [&first[..], &second[..], &third[..], &fourth[..]].concat());
        assert_eq!(ui.tree_open, Some(false));
        assert_eq!(input.events.len(), 1, "a letter without a meaning goes to the panels");
        assert!(!ui.panels_visible && ui.contacts && ui.plots.open && ui.inside.open && ui.tool == Some(Tool::Ruler));
    }

    #[test]
    fn a_sheet_over_the_view_keeps_the_simulation_still() {
        let (context, mut ui) = (Context::default(), UiState::default());
        let mut input = RawInput::default();
        press(&mut input, Key::Questionmark, Modifiers::SHIFT, false);
        press(&mut input, Key::R, Modifiers::NONE, false);
        assert!(take_actions(&context, &mut input, &mut ui).is_empty() && ui.keys_open);
        press(&mut input, Key::Questionmark, Modifiers::SHIFT, false);
        take_actions(&context, &mut input, &mut ui);
        assert!(!ui.keys_open);
    }
}
