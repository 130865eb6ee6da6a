//! Everything that can be done by name. One table feeds the menus, the keyboard, the sheet of keys and the palette.

use std::sync::LazyLock;

use egui::{Key, Modifiers};

use super::{Action, BodyAction, CameraAction, PinAction, TimeAction, Toggle, UiContext, UiState, icon};
use crate::render::AxisView;

/// Where a command belongs on the sheet of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    File,
    Time,
    View,
    Window,
}

/// Something that can be done by name.
pub struct Command {
    pub group: Group,
    pub name: &'static str,
    pub icon: &'static str,
    /// As they are shown: "Ctrl+Shift+S"; without a key empty.
    pub keys: &'static str,
    /// A second way to type it.
    other_keys: &'static str,
    pub action: Action,
}

impl Command {
    fn new(group: Group, name: &'static str, icon: &'static str, keys: &'static str, action: Action) -> Self {
        Self { group, name, icon, keys, other_keys: "", action }
    }

    fn or(self, other_keys: &'static str) -> Self {
        Self { other_keys, ..self }
    }

    /// Whether the keys mean this command.
    fn is_typed(&self, key: Key, modifiers: Modifiers) -> bool {
        [self.keys, self.other_keys].iter().any(|keys| is_combination(keys, key, modifiers))
    }

    /// Whether holding the key repeats it.
    pub fn repeats(&self) -> bool {
        matches!(self.action, Action::StepOnce | Action::Time(TimeAction::Back))
    }

    /// Whether it can be done now.
    pub fn is_enabled(&self, state: &UiState, context: &UiContext) -> bool {
        let has_scene = context.snapshot.scene.is_some();
        match &self.action {
            Action::Undo => context.document.is_some_and(|document| document.can_undo()),
            Action::Redo => context.document.is_some_and(|document| document.can_redo()),
            Action::ClearSelection => !state.selection.items().is_empty(),
            Action::Time(TimeAction::Live) => context.timeline.as_ref().is_some_and(|timeline| timeline.is_past),
            Action::Time(_) => context.timeline.is_some(),
            Action::Toggle(_) | Action::OpenDialog | Action::OpenField | Action::LoadState | Action::Quit => true,
            _ => has_scene,
        }
    }
}

/// "Ctrl+Shift+S" against what was typed. On a Mac, Ctrl is the command key.
fn is_combination(keys: &str, key: Key, modifiers: Modifiers) -> bool {
    let mut words: Vec<&str> = keys.split('+').collect();
    let named = words.pop().and_then(Key::from_name);
    let wants = |word: &str| words.contains(&word);
    named == Some(key)
        && (modifiers.command, modifiers.alt) == (wants("Ctrl"), wants("Alt"))
        // A question mark is typed with shift on many keyboards.
        && (modifiers.shift == wants("Shift") || key == Key::Questionmark)
}

/// All commands, in the order of the sheet of keys.
pub fn commands() -> &'static [Command] {
    static COMMANDS: LazyLock<Vec<Command>> = LazyLock::new(table);
    &COMMANDS
}

/// The command of an action.
pub fn command(action: &Action) -> Option<&'static Command> {
    commands().iter().find(|command| command.action == *action)
}

/// The command whose keys were typed.
pub fn typed(key: Key, modifiers: Modifiers) -> Option<&'static Command> {
    commands().iter().find(|command| command.is_typed(key, modifiers))
}

/// The keys of an action, for hints.
pub fn keys_of(action: &Action) -> &'static str {
    command(action).map_or("", |command| command.keys)
}

fn table() -> Vec<Command> {
    use Group::{File, Time, View, Window};
    let new = Command::new;
    let along = |view| Action::Camera(CameraAction::Along(view));
    vec![
        new(File, "Start page", icon::HOUSE, "", Action::Toggle(Toggle::StartPage)),
        new(File, "Open…", icon::FOLDER_OPEN, "Ctrl+O", Action::OpenDialog),
        new(File, "Open path…", icon::TEXTBOX, "", Action::OpenField),
        new(File, "Gallery with pictures…", icon::SQUARES_FOUR, "Ctrl+G", Action::Toggle(Toggle::Gallery)),
        new(File, "Reload", icon::ARROWS_CLOCKWISE, "Ctrl+R", Action::Reload),
        new(File, "Save scene", icon::FLOPPY_DISK, "Ctrl+Shift+S", Action::SaveScene),
        new(File, "Save scene as…", icon::FLOPPY_DISK, "", Action::SaveSceneAs),
        new(File, "Save state", icon::FLOPPY_DISK, "", Action::SaveState),
        new(File, "Load state…", icon::FOLDER_OPEN, "", Action::LoadState),
        new(File, "Save session", icon::FLOPPY_DISK, "", Action::SaveSession),
        new(File, "Save screenshot", icon::CAMERA, "Ctrl+S", Action::Screenshot),
        new(File, "Record a film", icon::RECORD, "V", Action::ToggleRecording),
        new(File, "Film, picture or export…", icon::FILM_STRIP, "Shift+V", Action::Toggle(Toggle::Record)),
        new(File, "Export…", icon::EXPORT, "", Action::Toggle(Toggle::Export)),
        new(File, "Undo", icon::ARROW_U_UP_LEFT, "Ctrl+Z", Action::Undo),
        new(File, "Redo", icon::ARROW_U_UP_RIGHT, "Ctrl+Y", Action::Redo).or("Ctrl+Shift+Z"),
        new(File, "Duplicate", icon::COPY, "Ctrl+D", Action::Bodies(BodyAction::Duplicate)),
        new(File, "Delete", icon::TRASH, "Delete", Action::Bodies(BodyAction::Delete)),
        new(File, "Pin what is under the mouse", icon::LOCK, "P", Action::Pins(PinAction::Held)),
        new(File, "Leave what the mouse holds", icon::HAND_GRABBING, "H", Action::Pins(PinAction::Leave)),
        new(File, "Select nothing", icon::X, "Esc", Action::ClearSelection),
        new(File, "Quit", icon::SIGN_OUT, "Ctrl+Q", Action::Quit),
        new(Time, "Play or pause", icon::PLAY, "Space", Action::PlayPause),
        new(Time, "One step on", icon::SKIP_FORWARD, ".", Action::StepOnce),
        new(Time, "One step back, into the past", icon::SKIP_BACK, ",", Action::Time(TimeAction::Back)),
        new(Time, "To the simulation as it stands", icon::SKIP_FORWARD, "End", Action::Time(TimeAction::Live)),
        new(Time, "Compare with another branch", icon::GHOST, "G", Action::Time(TimeAction::ToggleGhost)),
        new(Time, "Back to the start", icon::ARROW_COUNTER_CLOCKWISE, "R", Action::Reset),
        new(View, "Frame all", icon::CORNERS_OUT, "F", Action::FrameAll),
        new(View, "Scene's view", icon::HOUSE, "Home", Action::Camera(CameraAction::Home)),
        new(View, "Front", icon::CUBE, "1", along(AxisView::Front)),
        new(View, "Back", icon::CUBE, "Ctrl+1", along(AxisView::Back)),
        new(View, "Right", icon::CUBE, "3", along(AxisView::Right)),
        new(View, "Left", icon::CUBE, "Ctrl+3", along(AxisView::Left)),
        new(View, "Top", icon::CUBE, "7", along(AxisView::Top)),
        new(View, "Bottom", icon::CUBE, "Ctrl+7", along(AxisView::Bottom)),
        new(View, "Orthographic", icon::PERSPECTIVE, "5", Action::Camera(CameraAction::ToggleParallel)),
        new(View, "Save this view…", icon::FLOPPY_DISK, "", Action::Toggle(Toggle::SaveView)),
        new(View, "Contacts and their forces", icon::STACK, "C", Action::Toggle(Toggle::Contacts)),
        new(View, "Plots of numbers over time", icon::CHART_LINE, "N", Action::Toggle(Toggle::Plots)),
        new(View, "Look inside bodies", icon::CUBE, "I", Action::Toggle(Toggle::Inside)),
        new(View, "Measure between two points", icon::RULER, "M", Action::Toggle(Toggle::Ruler)),
        new(View, "Floor grid", icon::GRID_FOUR, "", Action::Toggle(Toggle::Grid)),
        new(View, "Shadows", icon::SUN, "", Action::Toggle(Toggle::Shadows)),
        new(Window, "Commands…", icon::MAGNIFYING_GLASS, "Ctrl+K", Action::Toggle(Toggle::Palette)).or("Ctrl+Shift+P"),
        new(Window, "Hide or show panels", icon::EYE_SLASH, "Tab", Action::Toggle(Toggle::Panels)),
        new(Window, "List of the scene", icon::TREE_STRUCTURE, "L", Action::Toggle(Toggle::Tree)),
        new(Window, "Side panel", icon::SIDEBAR_SIMPLE, "", Action::Toggle(Toggle::SidePanel)),
        new(Window, "Light theme", icon::SUN, "", Action::Toggle(Toggle::LightTheme)),
        new(Window, "Checks of the program", icon::SEAL_CHECK, "", Action::Toggle(Toggle::Checks)),
        new(Window, "Keys and mouse", icon::KEYBOARD, "?", Action::Toggle(Toggle::Keys)).or("Shift+/"),
        new(Window, "Guide", icon::BOOK_OPEN, "F1", Action::Toggle(Toggle::Guide)),
        new(Window, "About Pliant", icon::INFO, "", Action::Toggle(Toggle::About)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_means_one_thing_and_is_known() {
        let all = || commands().iter().flat_map(|command| [command.keys, command.other_keys]).filter(|keys| !keys.is_empty());
        for keys in all() {
            assert!(Key::from_name(keys.split('+').next_back().unwrap()).is_some(), "{keys}");
            assert_eq!(all().filter(|other| *other == keys).count(), 1, "{keys} twice");
        }
        for (i, command) in commands().iter().enumerate() {
            assert!(commands()[..i].iter().all(|other| other.name != command.name && other.action != command.action), "{}", command.name);
        }
    }

    #[test]
    fn modifiers_count() {
        let name = |key, modifiers| typed(key, modifiers).map(|command| command.name);
        let (none, ctrl, shift) = (Modifiers::NONE, Modifiers::COMMAND, Modifiers::SHIFT);
        assert_eq!(name(Key::S, ctrl), Some("Save screenshot"));
        assert_eq!(name(Key::S, ctrl | shift), Some("Save scene"));
        assert_eq!(name(Key::S, none), None);
        assert_eq!((name(Key::R, none), name(Key::R, ctrl)), (Some("Back to the start"), Some("Reload")));
        assert_eq!((name(Key::Num1, none), name(Key::Num1, ctrl)), (Some("Front"), Some("Back")));
        assert_eq!((name(Key::Questionmark, shift), name(Key::F1, none)), (Some("Keys and mouse"), Some("Guide")));
        assert_eq!((name(Key::Z, ctrl | shift), name(Key::Y, ctrl)), (Some("Redo"), Some("Redo")));
        assert_eq!(name(Key::Z, ctrl | Modifiers::ALT), None);
    }
}
