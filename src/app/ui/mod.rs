//! Everything that is drawn around and over the view. Panels only read; what the user wants comes back as `Action`s.

pub mod access;
mod action;
mod brush;
mod checkup;
pub mod commands;
mod context_menu;
mod draft;
mod entries;
mod forces;
mod gizmo;
mod health;
mod help;
mod hints;
mod icon;
mod import;
mod inside;
mod inspector;
mod left_behind;
mod legend;
mod lost_past;
mod menu;
mod naming;
mod overlay;
mod palette;
mod path;
mod plots;
mod properties;
mod record;
mod sheet;
mod start;
mod status;
mod subject;
pub mod theme;
mod thumbnails;
mod timeline;
mod toasts;
mod together;
mod tools;
mod transport;
mod tree;
mod unsaved;
mod value;
mod verify;
mod warnings;

use std::sync::Arc;
use std::time::Duration;

use egui::{Rect, Response, Ui};

use super::autosave::LeftBehind;
use super::brush::Brush;
use super::coloring::Coloring;
use super::document::Document;
use super::draft::Draft;
use super::film::FilmSettings;
pub use super::folder::PathPurpose;
use super::history::History;
use super::inside::Inside;
use super::recent::Recent;
use super::selection::Selection;
use super::tools::Tool;
use super::verifier::Board;
use super::views::NamedView;
use super::worker::{Notice, Snapshot};
use crate::cancel::Progress;
use crate::render::ViewOptions;
use crate::scene::{self, GALLERY_SESSION, Scene};
use crate::sim::{Field, Grip};

pub use action::{
    Action, Answer, BodyAction, CameraAction, CheckAction, DraftAction, NewBody, NewEntry, PinAction, PlotsFile, RecordAction, TimeAction,
    Toggle,
};
pub use brush::BrushMark;
pub use context_menu::ContextMenu;
pub use gizmo::GizmoView;
pub use help::Help;
pub use hints::{Hint, Hints};
pub use lost_past::LostPast;
pub use overlay::{ContactLegend, GrabMark, Tip};
use palette::Palette;
pub use path::PathField;
pub use plots::{PlotsState, PlotsView};
pub use record::{JobView, RecordState, RecordingView, Studio};
use thumbnails::Thumbnails;
pub use timeline::TimelineView;
pub use tools::ToolMarks;
pub use transport::SPEEDS;
pub use unsaved::After;

/// State that the panels keep between frames.
pub struct UiState {
    pub panels_visible: bool,
    pub inspector_open: bool,
    /// The list of the scene is shown; as the window has room for it if none.
    pub tree_open: Option<bool>,
    /// What the room for it has decided.
    pub tree_for_room: Option<bool>,
    pub tree: tree::TreeState,
    pub selection: Selection,
    /// What can be done to what was clicked with the right button.
    pub menu: Option<ContextMenu>,
    /// What waits for an answer about changes that are not saved.
    pub unsaved: Option<After>,
    /// A start anew that waits for an answer, as a recorded past ends with it.
    pub lost_past: Option<LostPast>,
    /// Whether a past that is worth it is asked about.
    pub asks_past: bool,
    pub keys_open: bool,
    pub about_open: bool,
    /// The start page is shown instead of the scene.
    pub start_open: bool,
    pub gallery_open: bool,
    thumbnails: Thumbnails,
    palette: Option<Palette>,
    /// What was chosen there, newest first.
    pub chosen: Vec<String>,
    /// Of the first start.
    pub hints: Hints,
    /// The name that is typed for a view to be saved.
    pub view_name: Option<String>,
    /// The page of the guide that is open.
    pub help: Option<Help>,
    /// The list of checks is shown.
    pub verify_open: bool,
    /// Place in `verify::CHECKS` of the one that is shown in full.
    pub verify_selected: usize,
    /// The path field, with what is typed in it.
    pub path_field: Option<PathField>,
    /// The path that is being opened since it was typed.
    pub path_tried: Option<PathField>,
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
    pub brush: Brush,
    /// The table of forces has a row a body, instead of a row a pair.
    pub forces_by_body: bool,
    /// The list of warnings is shown.
    pub warnings_open: bool,
    /// How many of the scene's warnings were read.
    pub warnings_read: u64,
    /// Simulated seconds a second that were chosen; infinite for as fast as it goes.
    pub speed: f64,
    /// What the next films are like.
    pub film: FilmSettings,
    pub record: RecordState,
    /// The session of a program that ended unforeseen, until it is answered for.
    pub left_behind: Option<LeftBehind>,
    toasts: Vec<toasts::Toast>,
}

/// Everything that a frame of panels reads.
pub struct UiContext<'a> {
    pub snapshot: &'a Arc<Snapshot>,
    /// The scene with its changes; none where nothing came of a mesh.
    pub document: Option<&'a Document>,
    /// What was done, and can be taken back.
    pub history: &'a History,
    /// The mesh that is to be added.
    pub draft: Option<&'a Draft>,
    pub recent: &'a Recent,
    /// The simulation plays, or will as soon as it has heard of it.
    pub is_playing: bool,
    /// How long the step in progress takes so far, if that is long.
    pub step_time: Option<Duration>,
    /// How far the building of a scene is.
    pub progress: Progress,
    /// The named views of the scene.
    pub views: &'a [NamedView],
    /// The picture has no perspective.
    pub is_parallel: bool,
    pub gallery: &'a [GalleryItem],
    pub recording: Option<RecordingView>,
    pub studio: Studio,
    /// What the mouse holds first, if it holds something.
    pub grabs: &'a [GrabMark],
    /// What is being framed to be pinned, in points.
    pub frame: Option<Rect>,
    /// How the mouse holds.
    pub grip: Grip,
    /// The handles of the selected body, where it can be placed, and of the plane that cuts bodies open.
    pub gizmos: [Option<&'a GizmoView>; 2],
    /// Meaning of the arrows of contacts, if they are shown.
    pub contacts: Option<ContactLegend>,
    /// What is told of the contact under the mouse.
    pub tip: Option<Tip>,
    /// Points that were set by a click.
    pub marks: ToolMarks,
    /// Where the plane that cuts bodies open is along its direction [m].
    pub cut_at: Option<f32>,
    /// Bodies whose elements are cut, as their surface is open where the plane cuts it.
    pub open_sections: &'a [String],
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

impl GalleryItem {
    /// A recorded session instead of a scene.
    pub fn is_session(&self) -> bool {
        self.name == GALLERY_SESSION.0
    }
}

/// Result of a frame of panels.
pub struct Outcome {
    pub actions: Vec<Action>,
    /// Rectangle of the 3D view, in points.
    pub view: Rect,
    /// The part of it that no bar covers.
    pub free: Rect,
    /// Named places, for the event log.
    pub landmarks: Vec<(String, Rect)>,
}

/// Collects the actions and landmarks of the panels.
#[derive(Default)]
struct UiResponse {
    actions: Vec<Action>,
    landmarks: Vec<(String, Rect)>,
    /// Height of the cards at the top of the view so far, in points.
    cards: f32,
    /// Height of what is at its lower right.
    corner: f32,
}

impl Default for UiState {
    fn default() -> Self {
        Self {
            panels_visible: true,
            inspector_open: true,
            tree_open: None,
            tree_for_room: None,
            tree: tree::TreeState::default(),
            selection: Selection::default(),
            menu: None,
            unsaved: None,
            lost_past: None,
            asks_past: true,
            keys_open: false,
            about_open: false,
            start_open: false,
            gallery_open: false,
            thumbnails: Thumbnails::default(),
            palette: None,
            chosen: vec![],
            hints: Hints::default(),
            view_name: None,
            help: None,
            verify_open: false,
            verify_selected: 0,
            path_field: None,
            path_tried: None,
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
            brush: Brush::default(),
            forces_by_body: false,
            warnings_open: false,
            warnings_read: 0,
            speed: 1.0,
            film: FilmSettings::default(),
            record: RecordState::default(),
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
    let session = GalleryItem {
        name: GALLERY_SESSION.0,
        title: "A recorded session".to_owned(),
        description: "What somebody did in the first scene, repeated step by step: a pull, and a change of a material. \
                      Then the past can be looked at, and continued another way."
            .to_owned(),
        experiment: false,
    };
    let scenes = scene::gallery().iter().map(|entry| item(entry.name, false));
    let experiments = scene::experiments().iter().map(|entry| item(entry.name, true));
    scenes.chain([session]).chain(experiments).collect()
}

impl UiState {
    /// Tells something; with a file that can be shown in its folder.
    pub fn tell(&mut self, notice: Notice) {
        toasts::add_toast(&mut self.toasts, notice);
    }

    /// Whether a sheet or a dialog lies over the view.
    pub fn is_modal(&self) -> bool {
        let has_field = self.palette.is_some() || self.view_name.is_some() || self.path_field.is_some();
        self.keys_open
            || self.about_open
            || self.gallery_open
            || self.record.open
            || self.help.is_some()
            || self.unsaved.is_some()
            || self.lost_past.is_some()
            || has_field
    }

    /// Shows what was hidden, or hides what was shown.
    pub fn toggle(&mut self, what: Toggle) {
        match what {
            Toggle::Panels => self.panels_visible ^= true,
            Toggle::Tree => self.tree_open = Some(!self.tree_open.unwrap_or(true)),
            Toggle::SidePanel => self.inspector_open ^= true,
            Toggle::Contacts => self.contacts ^= true,
            Toggle::Grid => self.options.grid ^= true,
            Toggle::Shadows => self.options.shadows ^= true,
            Toggle::LightTheme => self.dark ^= true,
            Toggle::AskPast => self.asks_past ^= true,
            Toggle::StartPage => self.start_open ^= true,
            Toggle::Gallery => self.gallery_open ^= true,
            Toggle::Keys => self.keys_open ^= true,
            Toggle::About => self.about_open ^= true,
            Toggle::Palette => self.palette = if self.palette.is_some() { None } else { Some(Palette::default()) },
            Toggle::Checks => self.verify_open ^= true,
            Toggle::Guide => self.help = if self.help.is_some() { None } else { Some(Help::default()) },
            Toggle::Plots => self.plots.open ^= true,
            Toggle::Inside => self.inside.open ^= true,
            Toggle::PlaneHandles => self.inside.toggle_handles(),
            Toggle::Ruler => self.tool = if self.tool == Some(Tool::Ruler) { None } else { Some(Tool::Ruler) },
            Toggle::Brush => self.tool = if self.tool == Some(Tool::Brush) { None } else { Some(Tool::Brush) },
            Toggle::Record => self.record.open ^= true,
            Toggle::Export => (self.record.open, self.record.tab) = (true, record::Tab::Export),
            Toggle::SaveView => self.view_name = Some("My view".to_owned()),
        }
    }
}

/// Width of a window with room for the view between two panels, in points.
const ROOM_FOR_BOTH: f32 = 1150.0;

/// One frame.
pub fn show(root: &mut Ui, state: &mut UiState, context: &UiContext) -> Outcome {
    let mut answers = UiResponse::default();
    root.ctx().set_theme(if state.dark { egui::Theme::Dark } else { egui::Theme::Light });
    let on_start = start::is_shown(state, context);
    if state.panels_visible || on_start {
        menu::menu_ui(root, state, context, &mut answers);
        status::status_ui(root, state, context, &mut answers);
    }
    if state.panels_visible && !on_start {
        let has_room = root.available_width() >= ROOM_FOR_BOTH;
        state.tree_for_room.get_or_insert(has_room);
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
    if on_start {
        start::start_ui(root, view, state, context, &mut answers);
        left_behind::left_behind_ui(root, view, state, &mut answers);
        overlay::sheets_ui(root, view, state, context, &mut answers);
        verify::verify_ui(root, state, context, &mut answers);
        return Outcome { actions: answers.actions, view, free: view, landmarks: answers.landmarks };
    }
    let whole = Rect::from_min_max(egui::Pos2::ZERO, egui::pos2(1.0, 1.0));
    root.painter().image(context.picture, view, whole, egui::Color32::WHITE);
    // The timeline is at the bottom, and everything else over the view is above it.
    let free = match (&context.timeline, state.panels_visible) {
        (Some(timeline), true) => timeline::timeline_ui(root, view, timeline, context, &mut answers),
        _ => view,
    };
    left_behind::left_behind_ui(root, free, state, &mut answers);
    tools::tools_ui(root, free, state.tool, &context.marks, &mut answers);
    brush::brush_ui(root, free, state, context, &mut answers);
    inside::inside_ui(root, free, state, context, &mut answers);
    warnings::warnings_ui(root, free, state, context, &mut answers);
    warnings::lone_badge_ui(root, free, state, context, &mut answers);
    overlay::overlay_ui(root, free, state, context, &mut answers);
    verify::verify_ui(root, state, context, &mut answers);
    // What they are about has to be there.
    if context.snapshot.scene.is_some() {
        hints::hints_ui(root, free, state, &mut answers);
    }
    let free = if state.panels_visible { transport::transport_ui(root, free, context, &mut answers) } else { free };
    let free = import::beside(free, state, context);
    context_menu::context_menu_ui(root, state, context, &mut answers);
    unsaved::unsaved_ui(root, state, context, &mut answers);
    lost_past::lost_past_ui(root, state, &mut answers);
    Outcome { actions: answers.actions, view, free, landmarks: answers.landmarks }
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

    /// Where the middle of the top of the next card over the view is: below those that are there.
    fn card_place(&self, view: Rect) -> egui::Pos2 {
        view.center_top() + egui::vec2(0.0, 14.0 + self.cards)
    }

    /// The next card comes below this one.
    fn add_card(&mut self, card: Rect) {
        self.cards += card.height() + 8.0;
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
