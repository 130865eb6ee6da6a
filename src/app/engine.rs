//! The handle by which the worker drives a simulation: the few things that the window needs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::SceneSource;
use super::contacts::ContactMark;
use super::document::Labels;
use super::exporting::ExportWish;
use super::faults::Checkup;
use super::import::Import;
use super::job::Job;
use super::pins::PinMark;
use crate::cancel::CancelToken;
use crate::math::{Isometry, Vec3};
use crate::model::{Model, NamedMaterial};
use crate::render::{Camera, Light};
use crate::scene::{LiveValues, Probe, Scene};
use crate::sim::past::{BranchId, SharedPast};
use crate::sim::{BackendInfo, Command, Field, FieldValues, GrabView, SessionTree};
use crate::step::{StepReport, SurfacePositions};

/// A simulation behind the window's needs; errors are sentences. (Tests put a slow one here.)
pub trait Engine: Send {
    /// None if `cancel` was cancelled before the step was done; then nothing has moved.
    fn step(&mut self, cancel: &CancelToken) -> Result<Option<StepReport>, String>;
    fn apply(&mut self, command: &Command) -> Result<(), String>;
    /// The commands so far, of all branches.
    fn session(&mut self) -> Result<SessionTree, String>;
    /// Things have other names in the scene from now on, and `set` builds the start with them: all files that are begun
    /// have these names.
    fn name(&mut self, _labels: Labels, _set: Vec<String>) {}
    /// Writes the state to a file.
    fn save(&mut self, path: &Path) -> Result<(), String>;
    /// Goes on from a state that was written, with the values that it has now.
    fn resume(&mut self, path: &Path) -> Result<(), String>;
    /// Follows these points beside the scene's own probes, for plots.
    fn watch(&mut self, _probes: Vec<Probe>) {}
    /// The recorded past; none of what cannot move.
    fn past(&self) -> Option<SharedPast> {
        None
    }
    /// Goes back to the end of a step and begins a branch there; `passed` is told of each step on the way. False if
    /// `cancel` was cancelled before; then nothing has changed.
    fn branch(&mut self, _step: u64, _cancel: &CancelToken, _passed: &mut dyn FnMut(u64)) -> Result<bool, String> {
        Err("nothing was recorded here".into())
    }
    /// Goes to right before a command was given: `Recorded::take_back`.
    fn take_back(&mut self, _command: &Command, _cancel: &CancelToken, _passed: &mut dyn FnMut(u64)) -> Result<Arrival, String> {
        Ok(Arrival::NotThere)
    }
    /// Goes to the end of another branch.
    fn switch(&mut self, _to: BranchId) -> Result<(), String> {
        Err("nothing was recorded here".into())
    }
    /// Begins to export results, which goes on in a thread of its own; what has to be computed again for it is so here,
    /// unless `cancel` is cancelled.
    fn export(&mut self, _wish: &ExportWish, _job: &Arc<Job>, _cancel: &CancelToken) -> Result<(), String> {
        Err("there is nothing here that could be exported".into())
    }
    /// How things stand now, with what is wanted beside the rest.
    fn view(&mut self, wants: Wants) -> Result<View, String>;
}

/// How a way through the past has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrival {
    #[default]
    There,
    /// It was stopped, and everything is as before.
    Stopped,
    /// What it led to is not in this run.
    NotThere,
    /// It came to nothing; the reason was told.
    Failed,
}

/// Parts of a view that are fetched from the device only while they are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    pub nodes: bool,
    pub contacts: bool,
    pub field: Option<Field>,
}

/// An engine and what is constant about it.
pub struct Loaded {
    pub engine: Box<dyn Engine>,
    pub info: SceneInfo,
}

/// The constant part of a loaded scene.
#[derive(Clone)]
pub struct SceneInfo {
    /// Tells one load from the next; given by the worker.
    pub generation: u64,
    pub source: SceneSource,
    pub name: String,
    pub model: Arc<Model>,
    /// The scene as it was read, without changed values; none where nothing came of a mesh.
    pub scene: Option<Arc<Scene>>,
    /// What it was read from: the scene and its meshes.
    pub files: Vec<PathBuf>,
    /// [ms]
    pub build_ms: f64,
    /// Where the scene wants to be seen from.
    pub camera: Camera,
    /// The scene says itself where that is; else everything is to be seen, in the camera's direction.
    pub has_camera: bool,
    pub light: Light,
    /// Pictures a second of simulated time.
    pub frames_per_second: f64,
    /// Changes that reading and mending made to the meshes, one sentence each.
    pub notes: Vec<String>,
    /// The mesh that became the scene, if one did.
    pub import: Option<Import>,
    /// Names of the scene's probes.
    pub probes: Vec<String>,
    /// The findings in mesh files with faults.
    pub checkups: Vec<Checkup>,
}

/// The changing part of a simulation, as the window shows it.
#[derive(Default)]
pub struct View {
    pub step: u64,
    /// [s]
    pub time: f64,
    pub surface: SurfacePositions,
    /// Positions of all nodes, `[x, y, z, 1]` [m], if they were wanted.
    pub nodes: Option<Vec<[f32; 4]>>,
    /// If they were wanted.
    pub contacts: Option<Vec<ContactMark>>,
    /// What bodies are coloured by, if it was wanted.
    pub field: Option<FieldValues>,
    /// Poses of `model.rigid_bodies` now.
    pub rigid_poses: Vec<Isometry>,
    /// Poses of `model.obstacles` now.
    pub obstacle_poses: Vec<Isometry>,
    /// Ends of `model.attachments` [m].
    pub attachments: Vec<[Vec3; 2]>,
    pub grabs: Vec<GrabView>,
    pub pins: Arc<Vec<PinMark>>,
    /// The values that commands change, as they are now; none where nothing can move.
    pub values: Option<LiveValues>,
    /// The materials as they are now.
    pub materials: Vec<NamedMaterial>,
    /// Masses of the deformable bodies as they are now [kg].
    pub masses: Vec<f64>,
    /// What was wanted.
    pub wants: Wants,
    /// What computes now; none where nothing can move.
    pub backend: Option<Arc<BackendInfo>>,
}
