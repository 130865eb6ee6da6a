//! What the user wants, as panels, keys and menus say it.

use std::path::PathBuf;

use crate::app::exporting::Span;
use crate::render::AxisView;
use crate::sim::past::BranchId;
use crate::sim::{Field, Grip};

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
    /// Ends what is under way: a step, or the building of a scene; the simulation pauses.
    Stop,
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
    /// What becomes of a recorded past that ends with a start anew: its session is saved, or not; or nothing is done.
    LostPast(Answer),
    /// Something is done to what is selected.
    Bodies(BodyAction),
    /// Something that is no body is added to the scene.
    AddEntry(NewEntry),
    /// Shows the field for another name of what is selected.
    BeginRename,
    /// Gives the entry of the scene at a path, such as `body.bar`, another name.
    Rename {
        path: String,
        to: String,
    },
    Pins(PinAction),
    /// Takes the brush with a material.
    PaintWith(String),
    /// How the mouse holds from now on.
    SetGrip(Grip),
    /// A mesh to be chosen, which becomes a body of the scene.
    AddMeshDialog,
    AddMesh(PathBuf),
    /// About the mesh that is to be added.
    Draft(DraftAction),
    /// Flies to a finding of the doctor: its place among those of a checkup, and that of the checkup in the scene.
    LookAtFault {
        checkup: usize,
        finding: usize,
    },
    Checks(CheckAction),
    Time(TimeAction),
    Camera(CameraAction),
    Toggle(Toggle),
    Record(RecordAction),
    /// Shows a file in the folder that it is in.
    ShowInFolder(PathBuf),
    ColorBy(Option<Field>),
    /// Turns the plane that cuts bodies open towards the camera.
    CutThroughView,
    /// What to do with the session that was left behind: take it up, or throw it away.
    LeftBehind(bool),
}

/// A wish about films, pictures and exports.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordAction {
    /// Films what was recorded between two times [s].
    Past([f64; 2]),
    /// Ends the film in progress and throws it away.
    Cancel,
    /// A picture of the view of any size [px].
    Picture { size: [u32; 2], transparent: bool },
    /// Results for other programs.
    Export { ending: &'static str, span: Span },
    /// Ends what is written beside the window: what there is stays, or is thrown away.
    EndJob { keeps: bool },
}

/// What is shown or not, or opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toggle {
    Panels,
    /// The list of the scene.
    Tree,
    SidePanel,
    Contacts,
    Grid,
    Shadows,
    LightTheme,
    /// The question before a recorded past ends.
    AskPast,
    StartPage,
    Gallery,
    Keys,
    About,
    /// The guide.
    Guide,
    Palette,
    Checks,
    Plots,
    /// The panel of what is inside.
    Inside,
    /// The handles of the plane that cuts bodies open.
    PlaneHandles,
    Ruler,
    /// The brush that paints materials.
    Brush,
    /// The sheet for films, pictures and exports.
    Record,
    Export,
    /// The field for the name of a view.
    SaveView,
}

/// A wish about the camera.
#[derive(Clone, Debug, PartialEq)]
pub enum CameraAction {
    /// To the view of the scene.
    Home,
    Along(AxisView),
    /// With perspective, or without.
    ToggleParallel,
    /// Keeps the view under a name.
    Save(String),
    /// To a named view, by its place in the list.
    Go(usize),
    Delete(usize),
}

/// What to do where changes are not saved.
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

/// A wish about the mesh that is to be added.
#[derive(Clone, Debug, PartialEq)]
pub enum DraftAction {
    /// Changes values of its sheet, by the paths of its own scene.
    Change {
        values: Vec<(String, String)>,
        gesture: Option<u64>,
    },
    /// Of a material of the open scene, or of one of its own.
    Material(Option<String>),
    /// Flies to a finding of the doctor, by its place.
    LookAt(usize),
    /// It becomes a body of the scene.
    Add,
    /// It becomes a scene of its own instead.
    OpenAlone,
    GiveUp,
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

    /// What is added, in a sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::SoftBall => "A ball that can be deformed; the scene starts anew",
            Self::SoftBlock => "A block that can be deformed; the scene starts anew",
            Self::SoftRing => "A ring that can be deformed; the scene starts anew",
            Self::RigidBall => "A ball that keeps its shape; the scene starts anew",
            Self::RigidBlock => "A block that keeps its shape; the scene starts anew",
            Self::FixedBlock => "A block that stands still, whatever hits it; the scene starts anew",
            Self::Floor => "A level floor without end; the scene starts anew",
        }
    }
}

/// An entry of the scene that is no body and can be added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewEntry {
    Force,
    Spring,
    Hand,
    Probe,
    Material,
    Pair,
    Group,
}

impl NewEntry {
    pub const ALL: [Self; 7] = [Self::Force, Self::Spring, Self::Hand, Self::Probe, Self::Material, Self::Pair, Self::Group];

    /// As the window says it.
    pub fn label(self) -> &'static str {
        match self {
            Self::Force => "Force",
            Self::Spring => "Spring",
            Self::Hand => "Hand",
            Self::Probe => "Probe",
            Self::Material => "Material",
            Self::Pair => "Contact pair",
            Self::Group => "Group",
        }
    }

    /// What is added, in a sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Force => "A constant force on the selected deformable body, as strong as its weight",
            Self::Spring => "A spring between two selected bodies, or from one to a point above it",
            Self::Hand => "A recorded hand that lifts the selected body by its top",
            Self::Probe => "Reports how the selected deformable body moves on the whole",
            Self::Material => "A copy of the material of what is selected, which is made of the copy then",
            Self::Pair => "A friction of their own for two bodies, the selected ones if there are some",
            Self::Group => "A node that places, turns and scales all that it carries: what is selected, to begin with",
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
    /// Shows another branch as a veil at the same time, or none.
    Ghost(Option<BranchId>),
    /// The one that began last, or none.
    ToggleGhost,
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

/// A file made of the plots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlotsFile {
    /// All numbers as a table.
    Csv,
    /// The charts that are shown.
    Picture,
}
