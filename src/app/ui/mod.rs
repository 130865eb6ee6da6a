//! Everything that is drawn around and over the view. Panels only read; what the user wants comes back as `Action`s.

mod checkup;
mod context_menu;
mod entries;
mod gizmo;
mod forces;
mod health;
mod help;
mod icon;
mod import;
mod inside;
mod inspector;
mod left_behind;
mod legend;
mod menu;
mod overlay;
mod plots;
mod properties;
mod status;
pub mod theme;
mod timeline;
mod toast;
mod tools;
mod transport;
mod tree;
mod unsaved;
mod value;
mod verify;
mod warnings;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use egui::{Rect, Response, Ui};

use super::autosave::LeftBehind;
use super::coloring::Coloring;
use super::document::Document;
use super::inside::Inside;
use super::recent::Recent;
use super::selection::Selection;
use super::tools::Tool;
use super::verifier::Board;
use super::worker::{Notice, Snapshot};
use crate::record::FilmFormat;
use crate::render::ViewOptions;
use crate::scene::{self, Scene};
use crate::sim::past::BranchId;
use crate::sim::{Field, Grip};

pub use context_menu::ContextMenu;
pub use gizmo::GizmoView;
pub use help::Help;
pub use overlay::{ContactLegend, GrabMark, Tip};
pub use plots::{PlotsFile, PlotsState, PlotsView};
pub use timeline::TimelineView;
pub use tools::ToolMarks;
pub use unsaved::After;

/// A wish of the user.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A file dialog, or the path field where there is none.
    OpenDialog,
    /// The path field.
    OpenField,
    OpenPath(PathBuf),
    OpenGallery(String),
    Reload,
    ClearRecent,
    Screenshot,
    ToggleRecording,
    SaveSession,
    SavePlots(PlotsFile),
    /// Forgets the probes that were set by a click.
    ClearProbes,
    Quit,
    PlayPause,
    StepOnce,
    Reset,
    SetSpeed(f64),
    FrameAll,
    /// Contact bodies.
    FrameBodies {
        first: usize,
        count: usize,
    },
    /// Values of the scene, by path and as TOML. All of one gesture is one entry for undo.
    Edit {
        values: Vec<(String, String)>,
        gesture: Option<u64>,
    },
    Undo,
    Redo,
    /// To the file of the scene, or to a new one where it has none.
    SaveScene,
    /// To a file to be named.
    SaveSceneAs,
    SaveSceneTo(PathBuf),
    SaveState,
    /// A saved state to be chosen.
    LoadState,
    LoadStateFrom(PathBuf),
    ClearSelection,
    /// What becomes of changes that are not saved.
    Unsaved(Answer),
    /// Something is done to what is selected.
    Bodies(BodyAction),
    Pins(PinAction),
    /// How the mouse holds from now on.
    SetGrip(Grip),
    /// A mesh to be chosen, which becomes a body of the scene.
    AddMeshDialog,
    AddMesh(PathBuf),
    /// Flies to a finding of the doctor: its place among those of a checkup, and that of the checkup in the scene.
    LookAtFault {
        checkup: usize,
        finding: usize,
    },
    Checks(CheckAction),
    Time(TimeAction),
    /// What to do with the session that was left behind: take it up, or throw it away.
    LeftBehind(bool),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Save,
    Discard,
    Cancel,
}

/// A wish about bodies: those that are selected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BodyAction {
    FlyTo,
    /// Hides them in the view, or shows them.
    Hide(bool),
    HideOthers,
    ShowAll,
    /// Whether they can be picked and changed.
    Lock(bool),
    UnlockAll,
    /// Puts them back to where they started, while all others go on.
    PutBack,
    Duplicate,
    Delete,
    Add(NewBody),
}

/// A wish about what is pinned or held.
#[derive(Clone, Debug, PartialEq)]
pub enum PinAction {
    /// Pins what the mouse holds.
    Held,
    /// Pins what the menu is about.
    Here,
    /// A part of a body that is fixed, by its place.
    Unpin(String, usize),
    UnpinAll(String),
    /// Leaves what the mouse holds where it is, held.
    Leave,
    /// Lets go of a grab that was left.
    LetGo(u32),
}

/// A body of a simple shape that can be added to a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewBody {
    SoftBall,
    SoftBlock,
    SoftRing,
    RigidBall,
    RigidBlock,
    FixedBlock,
    Floor,
}

impl NewBody {
    pub const ALL: [Self; 7] =
        [Self::SoftBall, Self::SoftBlock, Self::SoftRing, Self::RigidBall, Self::RigidBlock, Self::FixedBlock, Self::Floor];

    /// As the window says it.
    pub fn label(self) -> &'static str {
        match self {
            Self::SoftBall => "Soft ball",
            Self::SoftBlock => "Soft block",
            Self::SoftRing => "Soft ring",
            Self::RigidBall => "Rigid ball",
            Self::RigidBlock => "Rigid block",
            Self::FixedBlock => "Fixed block",
            Self::Floor => "Floor",
        }
    }
}

/// A wish about the recorded past.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimeAction {
    /// Shows the picture of a step.
    Scrub(u64),
    /// Shows the picture before.
    Back,
    /// Shows the simulation as it stands.
    Live,
    /// Goes on from the picture that is shown.
    Continue,
    /// Goes to another branch, and there to a time [s].
    Show(BranchId, Option<f64>),
    Forget(BranchId),
    /// Stops a way back.
    Stop,
}

/// A wish about the checks of the Verify menu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckAction {
    /// The one with this place in `verify::CHECKS`, or all.
    Run(Option<usize>),
    Cancel,
    SaveReport,
}

/// State that the panels keep between frames.
pub struct UiState {
    pub panels_visible: bool,
    pub inspector_open: bool,
    /// The list of the scene is shown; as the window has room for it if none.
    pub tree_open: Option<bool>,
    pub tree: tree::TreeState,
    pub selection: Selection,
    /// What can be done to what was clicked with the right button.
    pub menu: Option<ContextMenu>,
    /// What waits for an answer about changes that are not saved.
    pub unsaved: Option<After>,
    pub keys_open: bool,
    pub about_open: bool,
    /// The page of the guide that is open.
    pub help: Option<Help>,
    /// The list of checks is shown.
    pub verify_open: bool,
    /// Place in `verify::CHECKS` of the one that is shown in full.
    pub verify_selected: usize,
    /// The path field, with what is typed in it.
    pub path_field: Option<PathField>,
    pub dark: bool,
    pub options: ViewOptions,
    pub inside: Inside,
    /// Contacts are marked.
    pub contacts: bool,
    /// What bodies are coloured by; their own colours if none.
    pub field: Option<Field>,
    /// The range of colours stays as it is.
    pub hold_range: bool,
    /// The range of colours that was typed, in the unit of the field.
    pub color_range: Option<[f64; 2]>,
    /// The doctor's reports are shown, and faults of meshes are marked.
    pub checkups: bool,
    /// The sheet of an opened mesh is shown.
    pub import_open: bool,
    pub plots: PlotsState,
    /// What a click in the view does, instead of selecting.
    pub tool: Option<Tool>,
    /// The table of forces has a row a body, instead of a row a pair.
    pub forces_by_body: bool,
    /// The list of warnings is shown.
    pub warnings_open: bool,
    /// How many of the scene's warnings were read.
    pub warnings_read: u64,
    /// Format of the next recording.
    pub film: FilmFormat,
    /// The session of a program that ended unforeseen, until it is answered for.
    pub left_behind: Option<LeftBehind>,
    toasts: Vec<Toast>,
}

/// A field for a path, for where there is no file dialog.
#[derive(Clone, Debug, PartialEq)]
pub struct PathField {
    pub text: String,
    pub purpose: PathPurpose,
}

/// What a path is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathPurpose {
    #[default]
    Open,
    SaveScene,
    LoadState,
    AddMesh,
}

struct Toast {
    notice: Notice,
    shown: Instant,
    id: u64,
    /// All of its text is shown.
    is_open: bool,
}

/// Everything that a frame of panels reads.
pub struct UiContext<'a> {
    pub snapshot: &'a Arc<Snapshot>,
    /// The scene with its changes; none where nothing came of a mesh.
    pub document: Option<&'a Document>,
    pub recent: &'a Recent,
    pub gallery: &'a [GalleryItem],
    /// Frames written so far by the recording in progress.
    pub recorded_frames: Option<u64>,
    /// What the mouse holds first, if it holds something.
    pub grabs: &'a [GrabMark],
    /// How the mouse holds.
    pub grip: Grip,
    /// The handles of the selected body, where it can be placed.
    pub gizmo: Option<&'a GizmoView>,
    /// Meaning of the arrows of contacts, if they are shown.
    pub contacts: Option<ContactLegend>,
    /// What is told of the contact under the mouse.
    pub tip: Option<Tip>,
    /// Points that were set by a click.
    pub marks: ToolMarks,
    /// Meaning of the colours of bodies.
    pub coloring: Option<Coloring>,
    /// Name of the adapter that draws, such as "llvmpipe (LLVM ...)".
    pub adapter: &'a str,
    /// The 3D view.
    pub picture: egui::TextureId,
    pub checks: &'a Board,
    /// The recorded past, if there is one.
    pub timeline: Option<TimelineView<'a>>,
    /// The numbers of the steps, if the plots are open.
    pub plots: Option<PlotsView<'a>>,
}

/// A scene of the gallery.
pub struct GalleryItem {
    pub name: &'static str,
    pub title: String,
    pub description: String,
    /// One of `scene::experiments`.
    pub experiment: bool,
}

/// Result of a frame of panels.
pub struct Outcome {
    pub actions: Vec<Action>,
    /// Rectangle of the 3D view, in points.
    pub view: Rect,
    /// Named places, for the event log.
    pub landmarks: Vec<(String, Rect)>,
}

/// Collects the actions and landmarks of the panels.
#[derive(Default)]
struct UiResponse {
    actions: Vec<Action>,
    landmarks: Vec<(String, Rect)>,
}

impl Default for UiState {
    fn default() -> Self {
        Self {
            panels_visible: true,
            inspector_open: true,
            tree_open: None,
            tree: tree::TreeState::default(),
            selection: Selection::default(),
            menu: None,
            unsaved: None,
            keys_open: false,
            about_open: false,
            help: None,
            verify_open: false,
            verify_selected: 0,
            path_field: None,
            dark: true,
            options: ViewOptions::default(),
            inside: Inside::default(),
            contacts: false,
            field: None,
            hold_range: false,
            color_range: None,
            checkups: false,
            import_open: true,
            plots: PlotsState::default(),
            tool: None,
            forces_by_body: false,
            warnings_open: false,
            warnings_read: 0,
            film: FilmFormat::Mp4,
            left_behind: None,
            toasts: vec![],
        }
    }
}

/// The scenes built into the program.
pub fn gallery() -> Vec<GalleryItem> {
    let item = |name: &'static str, experiment: bool| match Scene::builtin(name) {
        Ok(scene) => GalleryItem { name, title: scene.title().to_owned(), description: scene.description().to_owned(), experiment },
        // Opening it will say what is wrong with it.
        Err(_) => GalleryItem { name, title: name.to_owned(), description: String::new(), experiment },
    };
    let all = [(scene::gallery(), false), (scene::experiments(), true)];
    all.into_iter().flat_map(|(list, experiment)| list.iter().map(move |entry| item(entry.name, experiment))).collect()
}

impl UiState {
    pub fn tell(&mut self, notice: Notice) {
        toast::add_toast(&mut self.toasts, notice);
    }

    /// Whether a sheet or a dialog lies over the view.
    pub fn is_modal(&self) -> bool {
        self.keys_open || self.about_open || self.help.is_some() || self.path_field.is_some() || self.unsaved.is_some()
    }
}

/// Width of a window with room for the view between two panels, in points.
const ROOM_FOR_BOTH: f32 = 1150.0;

/// One frame.
pub fn show(root: &mut Ui, state: &mut UiState, context: &UiContext) -> Outcome {
    let mut answers = UiResponse::default();
    root.ctx().set_theme(if state.dark { egui::Theme::Dark } else { egui::Theme::Light });
    if state.panels_visible {
        menu::menu_ui(root, state, context, &mut answers);
        status::status_ui(root, state, context, &mut answers);
        let has_room = root.available_width() >= ROOM_FOR_BOTH;
        let tree_open = *state.tree_open.get_or_insert(has_room);
        if tree_open {
            tree::tree_ui(root, state, context, &mut answers);
        }
        if state.inspector_open {
            inspector::inspector_ui(root, state, context, &mut answers);
        }
        if state.plots.open {
            plots::plots_ui(root, state, context, &mut answers);
        }
    }
    let view = whole_pixels(root.available_rect_before_wrap(), root.pixels_per_point());
    let whole = Rect::from_min_max(egui::Pos2::ZERO, egui::pos2(1.0, 1.0));
    root.painter().image(context.picture, view, whole, egui::Color32::WHITE);
    // The timeline is at the bottom, and everything else over the view is above it.
    let free = match (&context.timeline, state.panels_visible) {
        (Some(timeline), true) => timeline::timeline_ui(root, view, timeline, context, &mut answers),
        _ => view,
    };
    left_behind::left_behind_ui(root, free, state, &mut answers);
    tools::tools_ui(root, free, state.tool, &context.marks);
    inside::inside_ui(root, free, state, context, &mut answers);
    warnings::warnings_ui(root, free, state, context, &mut answers);
    overlay::overlay_ui(root, free, state, context, &mut answers);
    verify::verify_ui(root, state, context, &mut answers);
    if state.panels_visible {
        transport::transport_ui(root, free, context, &mut answers);
    }
    context_menu::context_menu_ui(root, state, context, &mut answers);
    unsaved::unsaved_ui(root, state, context, &mut answers);
    Outcome { actions: answers.actions, view, landmarks: answers.landmarks }
}

/// The view is a picture of whole pixels.
fn whole_pixels(rect: Rect, pixels_per_point: f32) -> Rect {
    let round = |v: f32| (v * pixels_per_point).round() / pixels_per_point;
    Rect::from_min_max(egui::pos2(round(rect.left()), round(rect.top())), egui::pos2(round(rect.right()), round(rect.bottom())))
}

impl UiResponse {
    fn act(&mut self, action: Action) {
        self.actions.push(action);
    }

    /// Names a place for the event log.
    fn place(&mut self, name: String, at: Rect) {
        self.landmarks.push((name, at));
    }

    /// Names a widget for the event log, and passes it on.
    fn named(&mut self, name: impl Into<String>, response: Response) -> Response {
        self.landmarks.push((name.into(), response.rect));
        response
    }
}
