//! Everything that can be done by name. One table feeds the menus, the keyboard, the sheet of keys and the palette.

use std::sync::LazyLock;

use egui::{Key, Modifiers};

use super::{Action, BodyAction, CameraAction, CheckAction, NewEntry, PinAction, TimeAction, Toggle, UiContext, UiState, icon};
use crate::app::history::Way;
use crate::render::AxisView;
use crate::scene::Scene;

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
    /// What it does, in a sentence.
    pub meaning: &'static str,
    pub action: Action,
}

impl Command {
    fn new(group: Group, name: &'static str, icon: &'static str, keys: &'static str, action: Action) -> Self {
        Self { group, name, icon, keys, other_keys: "", meaning: "", action }
    }

    fn means(self, meaning: &'static str) -> Self {
        Self { meaning, ..self }
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
            Action::Undo => context.history.can(Way::Back),
            Action::Redo => context.history.can(Way::Forth),
            Action::BeginRename => state.selection.items().last().is_some_and(|item| Scene::named_list(&item.path).is_some()),
            Action::ClearSelection => !state.selection.items().is_empty() || context.draft.is_some(),
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

/// What an action of a menu does, in a sentence.
pub fn meaning_of(action: &Action) -> &'static str {
    if let Some(command) = command(action) {
        return command.meaning;
    }
    match action {
        Action::Bodies(action) => match action {
            BodyAction::FlyTo => "Looks at it from this side",
            BodyAction::Hide(true) => "It is not drawn, but still there",
            BodyAction::Hide(false) => "It is drawn again",
            BodyAction::HideOthers => "Only this is drawn; all else is still there",
            BodyAction::ShowAll => "Draws all that was hidden",
            BodyAction::Lock(true) => "It cannot be picked, pulled or changed by mistake",
            BodyAction::Lock(false) => "It can be picked and changed again",
            BodyAction::UnlockAll => "All bodies can be picked and changed again",
            BodyAction::PutBack => "Puts it back to where it started, while all else goes on",
            BodyAction::Add(body) => body.meaning(),
            BodyAction::Duplicate | BodyAction::Delete => "",
        },
        Action::Pins(PinAction::Here) => "Fixes the body in space around this point",
        Action::Pins(PinAction::Unpin(..)) => "This part of the body may move again",
        Action::Pins(PinAction::UnpinAll(_)) => "All of the body may move again",
        Action::Pins(PinAction::LetGo(_)) => "The hand that was left here lets go",
        Action::Time(TimeAction::Ghost(None)) => "The other branch is not drawn any more",
        Action::Time(TimeAction::Ghost(Some(_))) => "Draws it as a veil at the same time",
        Action::Time(TimeAction::Show(..)) => "Shows it, and the simulation goes on from its end",
        Action::Time(TimeAction::Forget(_)) => "Takes the branch off the timeline; Ctrl+Z brings it back while there is room for it",
        Action::AddMeshDialog => "Shows a mesh with its sheet; added, it is a soft body of the scene",
        Action::Checks(CheckAction::Cancel) => "Ends the check that runs; results so far stay",
        _ => "",
    }
}

fn table() -> Vec<Command> {
    use Group::{File, Time, View, Window};
    let new = Command::new;
    let along = |view| Action::Camera(CameraAction::Along(view));
    vec![
        new(File, "Start page", icon::HOUSE, "", Action::Toggle(Toggle::StartPage))
            .means("What can be opened: recent files and scenes with pictures"),
        new(File, "Open…", icon::FOLDER_OPEN, "Ctrl+O", Action::OpenDialog)
            .means("A scene, a mesh that becomes a soft body, or a recorded session"),
        new(File, "Open path…", icon::TEXTBOX, "", Action::OpenField).means("Type the path of a file instead of choosing it"),
        new(File, "Gallery with pictures…", icon::SQUARES_FOUR, "Ctrl+G", Action::Toggle(Toggle::Gallery))
            .means("All scenes that are inside the program"),
        new(File, "Reload", icon::ARROWS_CLOCKWISE, "Ctrl+R", Action::Reload).means("Reads the scene and its meshes again and starts anew"),
        new(File, "Save scene", icon::FLOPPY_DISK, "Ctrl+Shift+S", Action::SaveScene)
            .means("Writes what was changed into the scene's file; its comments stay"),
        new(File, "Save scene as…", icon::FLOPPY_DISK, "", Action::SaveSceneAs)
            .means("Writes the scene with its changes into another file"),
        new(File, "Save state", icon::FLOPPY_DISK, "", Action::SaveState)
            .means("Writes how bodies stand and move now into a file, to go on from there later"),
        new(File, "Load state…", icon::FOLDER_OPEN, "", Action::LoadState).means("Goes on from a state that was saved from this scene"),
        new(File, "Save session", icon::FLOPPY_DISK, "", Action::SaveSession)
            .means("Writes all that was done since the start into a file, which repeats it exactly"),
        new(File, "Save screenshot", icon::CAMERA, "Ctrl+S", Action::Screenshot).means("A PNG picture of the view as it is"),
        new(File, "Record a film", icon::RECORD, "V", Action::ToggleRecording)
            .means("Films what happens in the view from now on, until it is ended; a second of film is a second of simulated time"),
        new(File, "Film, picture or export…", icon::FILM_STRIP, "Shift+V", Action::Toggle(Toggle::Record))
            .means("A film of the past or with a moving camera, a large picture, or files of the bodies"),
        new(File, "Export…", icon::EXPORT, "", Action::Toggle(Toggle::Export))
            .means("Writes the bodies for other programs: meshes, animations, fields"),
        new(File, "Undo", icon::ARROW_U_UP_LEFT, "Ctrl+Z", Action::Undo)
            .means("Takes back what was done last: a change, a move, a branch that was forgotten, a state that was loaded"),
        new(File, "Redo", icon::ARROW_U_UP_RIGHT, "Ctrl+Y", Action::Redo).or("Ctrl+Shift+Z").means("Does again what was taken back last"),
        new(File, "Duplicate", icon::COPY, "Ctrl+D", Action::Bodies(BodyAction::Duplicate))
            .means("Adds a copy of what is selected; the scene starts anew"),
        new(File, "Rename…", icon::TEXTBOX, "F2", Action::BeginRename)
            .means("Another name for the body, material or entry that is selected, wherever it is named; the run goes on"),
        new(File, "Delete", icon::TRASH, "Delete", Action::Bodies(BodyAction::Delete))
            .means("Takes what is selected out of the scene, which starts anew if it is a body"),
        new(File, "Add a force", icon::PLUS, "", Action::AddEntry(NewEntry::Force)).means(NewEntry::Force.meaning()),
        new(File, "Add a spring", icon::PLUS, "", Action::AddEntry(NewEntry::Spring)).means(NewEntry::Spring.meaning()),
        new(File, "Add a hand", icon::PLUS, "", Action::AddEntry(NewEntry::Hand)).means(NewEntry::Hand.meaning()),
        new(File, "Add a probe", icon::PLUS, "", Action::AddEntry(NewEntry::Probe)).means(NewEntry::Probe.meaning()),
        new(File, "Add a material", icon::PLUS, "", Action::AddEntry(NewEntry::Material)).means(NewEntry::Material.meaning()),
        new(File, "Add a contact pair", icon::PLUS, "", Action::AddEntry(NewEntry::Pair)).means(NewEntry::Pair.meaning()),
        new(File, "Add a group", icon::PLUS, "", Action::AddEntry(NewEntry::Group)).means(NewEntry::Group.meaning()),
        new(File, "Pin what is under the mouse", icon::LOCK, "P", Action::Pins(PinAction::Held))
            .means("Fixes that part of the body in space; hold the key to paint more"),
        new(File, "Paint materials", icon::PAINT_BRUSH, "B", Action::Toggle(Toggle::Brush))
            .means("A brush that makes parts of soft bodies of another material; the scene starts anew with each stroke"),
        new(File, "Leave what the mouse holds", icon::HAND_GRABBING, "H", Action::Pins(PinAction::Leave))
            .means("The hand stays where it is and holds on"),
        new(File, "Select nothing", icon::X, "Esc", Action::ClearSelection).means("Nothing is selected any more, and a tool is put away"),
        new(File, "Quit", icon::SIGN_OUT, "Ctrl+Q", Action::Quit).means("Ends the program; it asks if changes are not saved"),
        new(Time, "Play or pause", icon::PLAY, "Space", Action::PlayPause)
            .means("Lets time go on, or stops it at once, also within a long step"),
        new(Time, "One step on", icon::SKIP_FORWARD, ".", Action::StepOnce).means("Computes one step and pauses there"),
        new(Time, "One step back, into the past", icon::SKIP_BACK, ",", Action::Time(TimeAction::Back))
            .means("Shows the recorded picture before this one"),
        new(Time, "To the simulation as it stands", icon::SKIP_FORWARD, "End", Action::Time(TimeAction::Live))
            .means("Leaves the past and shows the newest step"),
        new(Time, "Compare with another branch", icon::GHOST, "G", Action::Time(TimeAction::ToggleGhost))
            .means("Shows the branch that began last as a veil at the same time"),
        new(Time, "Back to the start", icon::ARROW_COUNTER_CLOCKWISE, "R", Action::Reset)
            .means("Starts the scene anew with all its values"),
        new(View, "Frame all", icon::CORNERS_OUT, "F", Action::FrameAll).means("Looks at all bodies from this side"),
        new(View, "Scene's view", icon::HOUSE, "Home", Action::Camera(CameraAction::Home))
            .means("Back to the view with which the scene opens"),
        new(View, "Front", icon::CUBE, "1", along(AxisView::Front)).means("Looks from the front, along the z axis"),
        new(View, "Back", icon::CUBE, "Ctrl+1", along(AxisView::Back)).means("Looks from behind, along the z axis"),
        new(View, "Right", icon::CUBE, "3", along(AxisView::Right)).means("Looks from the right, along the x axis"),
        new(View, "Left", icon::CUBE, "Ctrl+3", along(AxisView::Left)).means("Looks from the left, along the x axis"),
        new(View, "Top", icon::CUBE, "7", along(AxisView::Top)).means("Looks straight down"),
        new(View, "Bottom", icon::CUBE, "Ctrl+7", along(AxisView::Bottom)).means("Looks straight up"),
        new(View, "Orthographic", icon::PERSPECTIVE, "5", Action::Camera(CameraAction::ToggleParallel))
            .means("Without perspective: what is parallel stays so, and lengths can be compared"),
        new(View, "Save this view…", icon::FLOPPY_DISK, "", Action::Toggle(Toggle::SaveView))
            .means("Keeps the view of this scene under a name"),
        new(View, "Contacts and their forces", icon::STACK, "C", Action::Toggle(Toggle::Contacts))
            .means("Marks each contact with arrows for its push and its friction"),
        new(View, "Plots of numbers over time", icon::CHART_LINE, "N", Action::Toggle(Toggle::Plots))
            .means("Energies, forces, times and more below the view"),
        new(View, "Look inside bodies", icon::CUBE, "I", Action::Toggle(Toggle::Inside))
            .means("Cuts bodies across or peels off their outer elements"),
        new(View, "Handles of the cut", icon::CUBE, "Shift+I", Action::Toggle(Toggle::PlaneHandles))
            .means("An arrow and two arcs in the view, which move and tilt the plane that cuts bodies open"),
        new(View, "Measure between two points", icon::RULER, "M", Action::Toggle(Toggle::Ruler))
            .means("Click two points to read the distance between them"),
        new(View, "Floor grid", icon::GRID_FOUR, "", Action::Toggle(Toggle::Grid))
            .means("Lines on the floor, a metre or a part of one apart"),
        new(View, "Shadows", icon::SUN, "", Action::Toggle(Toggle::Shadows)).means("Bodies throw shadows; without them drawing is faster"),
        new(Window, "Commands…", icon::MAGNIFYING_GLASS, "Ctrl+K", Action::Toggle(Toggle::Palette))
            .or("Ctrl+Shift+P")
            .means("Find a command, a scene or a file by some letters of its name"),
        new(Window, "Hide or show panels", icon::EYE_SLASH, "Tab", Action::Toggle(Toggle::Panels))
            .means("Only the view, or all that stands around it"),
        new(Window, "List of the scene", icon::TREE_STRUCTURE, "L", Action::Toggle(Toggle::Tree))
            .means("Bodies, materials and all else of the scene, at the left"),
        new(Window, "Side panel", icon::SIDEBAR_SIMPLE, "", Action::Toggle(Toggle::SidePanel))
            .means("Values of what is selected, and how the computation does, at the right"),
        new(Window, "Light theme", icon::SUN, "", Action::Toggle(Toggle::LightTheme)).means("Dark letters on light panels"),
        new(Window, "Ask before a past ends", icon::CLOCK_COUNTER_CLOCKWISE, "", Action::Toggle(Toggle::AskPast))
            .means("Before a start anew: whether recorded work that playing does not bring back is asked about"),
        new(Window, "Checks of the program", icon::SEAL_CHECK, "", Action::Toggle(Toggle::Checks))
            .means("Computes problems with known answers on this machine"),
        new(Window, "Keys and mouse", icon::KEYBOARD, "?", Action::Toggle(Toggle::Keys))
            .or("Shift+/")
            .means("What each key and each button of the mouse does"),
        new(Window, "Guide", icon::BOOK_OPEN, "F1", Action::Toggle(Toggle::Guide)).means("Pages to read: from the first body to methods"),
        new(Window, "About Pliant", icon::INFO, "", Action::Toggle(Toggle::About)).means("Version, licence and what draws"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::ui::NewBody;

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
    fn every_entry_of_the_menus_says_what_it_does() {
        let added = NewBody::ALL.map(BodyAction::Add);
        let of_bodies = [BodyAction::FlyTo, BodyAction::HideOthers, BodyAction::ShowAll, BodyAction::UnlockAll, BodyAction::PutBack];
        let switched = [true, false].into_iter().flat_map(|on| [BodyAction::Hide(on), BodyAction::Lock(on)]);
        let of_bodies = added.into_iter().chain(of_bodies).chain(switched).map(Action::Bodies);
        let all = commands().iter().map(|command| command.action.clone()).chain(of_bodies);
        for action in all.chain([Action::AddMeshDialog, Action::Checks(CheckAction::Cancel)]) {
            let meaning = meaning_of(&action);
            assert!(meaning.len() > 10 && !meaning.ends_with('.'), "{action:?}: {meaning}");
            assert!(commands().iter().filter(|command| command.meaning == meaning).count() <= 1, "{meaning} twice");
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
