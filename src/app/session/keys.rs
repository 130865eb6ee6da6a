//! The keyboard: shortcuts are taken before the panels see them, except while text is typed.

use egui::{Context, Event, Key, Popup, RawInput};

use crate::app::ui::commands::typed;
use crate::app::ui::{Action, PinAction, Toggle, UiState};

/// Removes the shortcuts from the input and says what they mean; what only the panels know is done at once.
pub fn take_actions(context: &Context, input: &mut RawInput, ui: &mut UiState) -> Vec<Action> {
    let mut actions = vec![];
    if context.text_edit_focused() {
        return actions;
    }
    input.events.retain(|event| {
        let Event::Key { key, pressed: true, modifiers, repeat, .. } = event else { return true };
        let modal = ui.is_modal() || (*key == Key::Escape && (Popup::is_any_open(context) || ui.menu.is_some()));
        let Some(command) = typed(*key, *modifiers) else { return true };
        // The key that has opened a sheet closes it.
        let closes = match command.action {
            Action::Toggle(Toggle::Keys) => ui.keys_open,
            Action::Toggle(Toggle::Guide) => ui.help.is_some(),
            _ => false,
        };
        if modal && !closes {
            return true;
        }
        // Holding a key steps on; it toggles nothing.
        if *repeat && !command.repeats() {
            return false;
        }
        match &command.action {
            Action::Toggle(what) => ui.toggle(*what),
            Action::ClearSelection if ui.start_open => ui.start_open = false,
            action => actions.push(action.clone()),
        }
        // Whether this key is held down is asked for, too: that paints pins.
        command.action == Action::Pins(PinAction::Held)
    });
    actions
}

#[cfg(test)]
mod tests {
    use egui::Modifiers;

    use super::*;
    use crate::app::tools::Tool;
    use crate::app::ui::{BodyAction, TimeAction};

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
        assert_eq!(input.events.len(), 2, "a letter without a meaning goes to the panels, and so does one that may be held down");
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
