//! From a scene to a running simulation, or from a mesh that is refused to its picture; on the worker's thread.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::engine::{Engine, Loaded, SceneInfo, View, Wants};
use super::faults::Checkup;
use super::import::Import;
use super::running::{Running, Start};
use super::worker::Opener;
use super::{AppOptions, SceneSource, file_name};
use crate::cancel::CancelToken;
use crate::export::Subject;
use crate::geometry::Shape;
use crate::gpu;
use crate::math::{Isometry, Quat, Vec3};
use crate::mesh::open_mesh;
use crate::model::{Mobility, ModelBuilder, Obstacle, RigidBody};
use crate::render::{Camera, Light};
use crate::scene::{self, BackendChoice, Diagnostic, Place, Scene, SceneError, Transform};
use crate::sim::{Command, Options, SessionTree, Simulation};
use crate::stage;
use crate::step::StepReport;

/// Work that a step may do in the window where the scene does not say it [ms]: whoever pulls a body is not to wait
/// longer.
pub const MAX_STEP_MS: f64 = 250.0;

/// Parts of the opening that are done once the scene is built, and once its meshes are examined: the fifth that the
/// gallery and a body of a million tets take, and what files add to it.
const BUILT: f32 = 0.25;
const EXAMINED: f32 = 0.3;

/// Builds scenes on the window's device, with the backend that was asked for.
pub fn opener(device: Arc<gpu::Device>, options: &AppOptions) -> Opener {
    let backend = options.backend;
    Box::new(move |source, cancel| {
        open(source, backend, &device, cancel).or_else(|refusal| match source {
            SceneSource::Path(path) if scene::is_mesh(path) && !cancel.is_cancelled() => refused(source, path, refusal),
            _ => Err(refusal),
        })
    })
}

fn open(
    source: &SceneSource,
    backend: Option<scene::BackendChoice>,
    device: &Arc<gpu::Device>,
    cancel: &CancelToken,
) -> Result<Loaded, String> {
    let start = Instant::now();
    // A session that is changed begins anew: it is not repeated.
    let session = match source.base() {
        SceneSource::Session(path) => Some(SessionTree::read(path).map_err(sentence)?),
        _ => None,
    };
    // All its branches have the same start.
    let header = session.as_ref().map(|session| &session.current().session.header);
    let name_of_scene = header.map_or_else(|| source.scene(), |header| header.scene.clone());
    let set_before = header.map_or(&[][..], |header| &header.set);
    let read = match (source, source.base()) {
        (SceneSource::Edited(.., read), _) => read.0.clone(),
        (_, SceneSource::Path(_) | SceneSource::Session(_)) => Arc::new(Scene::load(&name_of_scene, set_before).map_err(mistakes)?),
        _ => Arc::new(Scene::builtin(&name_of_scene).map_err(mistakes)?),
    };
    let scene = read.edited(source.set()).map_err(mistakes)?;
    // A session is repeated last, which takes longest.
    let is_repeated = matches!(source, SceneSource::Session(_));
    let opened = if is_repeated { 0.2 } else { 1.0 };
    let mut built = scene::build_unless(&scene, &cancel.part(0.0, BUILT * opened)).map_err(mistakes)?;
    if built.params.max_step_ms == 0.0 {
        built.params.max_step_ms = MAX_STEP_MS;
    }
    // What the window has chosen is a part of what is repeated.
    let chosen = format!("simulation.max_step_ms={:?}", built.params.max_step_ms);
    let is_chosen = set_before.contains(&chosen) || source.set().contains(&chosen);
    let program = if is_chosen { vec![] } else { vec![chosen] };
    let set = Start { session: set_before.to_vec(), window: source.set().to_vec(), program };
    let (name, camera, light, recording) = (built.title.clone(), stage::camera(&built.camera), stage::light(&built.light), built.recording);
    let examining = cancel.part(BUILT * opened, EXAMINED * opened);
    let mut checkups: Vec<Checkup> = built.meshes.iter().filter_map(|origin| Checkup::of(origin, &built.model, &examining)).collect();
    cancel.check().map_err(sentence)?;
    let is_import = scene::is_mesh(Path::new(&name_of_scene));
    let import = checkups.first().filter(|_| is_import).and_then(|checkup| {
        let body = scene.bodies().first()?.name.clone();
        Some(Import::new(body, checkup.file.clone(), &checkup.report))
    });
    checkups.retain(|checkup| !checkup.report.findings.is_empty());
    let mut notes: Vec<String> = built.notes.iter().cloned().chain(built.doubts()).collect();
    // The message says in full what was wrong.
    notes.retain(|note| checkups.is_empty() || !note.ends_with(scene::MENDED));
    // A session is repeated where it was recorded.
    let recorded_on = header.and_then(|header| BackendChoice::from_name(&header.backend));
    let options = Options { backend: recorded_on.or(backend), device: Some(device.clone()), ..Options::default() };
    let subject = Subject::of(&built);
    let simulation = Simulation::new_unless(built, &options, &cancel.part(EXAMINED * opened, opened)).map_err(sentence)?;
    let info = SceneInfo {
        generation: 0, // the worker counts
        source: source.clone(),
        name,
        model: simulation.model().clone(),
        files: if matches!(source.base(), SceneSource::Path(_)) { scene.files() } else { vec![] },
        scene: Some(read),
        build_ms: start.elapsed().as_secs_f64() * 1e3,
        camera,
        has_camera: ["target", "eye", "distance"].iter().any(|key| scene.given(&format!("camera.{key}")).is_some()),
        light,
        frames_per_second: recording.fps,
        notes,
        import,
        probes: simulation.probes().iter().map(|probe| probe.name.clone()).collect(),
        checkups,
    };
    let mut running = Running::new(simulation, name_of_scene, set, subject)?;
    if let (Some(session), SceneSource::Session(_)) = (&session, source) {
        running.repeat(session, &cancel.part(opened, 1.0))?;
    }
    Ok(Loaded { engine: Box::new(running), info })
}

/// The length of the longest side of a mesh of which nothing came [m].
const SHOWN_SIZE: f64 = 0.3;

/// Shows a mesh that was read but cannot become a body, and what the doctor found in it.
fn refused(source: &SceneSource, path: &Path, refusal: String) -> Result<Loaded, String> {
    let start = Instant::now();
    let Ok(file) = open_mesh(path) else { return Err(refusal) };
    let surface = file.clone().into_surface();
    let bounds = surface.aabb();
    let longest = bounds.extent().max();
    if surface.triangles.is_empty() || longest.is_nan() || longest <= 0.0 {
        return Err(refusal);
    }
    // On its lowest point, a little above a floor.
    let scale = SHOWN_SIZE / longest;
    let foot = Vec3::new(bounds.center().x, bounds.min.y, bounds.center().z);
    let world_from_file = Transform::from_parts((Vec3::y() * 0.05 - foot * scale).into(), Quat::identity(), scale);
    let placed = surface.transformed(|p| (world_from_file * nalgebra::Point3::from(*p)).coords);
    let mut camera = Camera::default();
    camera.frame(&placed.aabb(), 1.0);

    let mut builder = ModelBuilder::default();
    builder.rigid_body(RigidBody {
        name: source.label(),
        mobility: Mobility::Driven(None),
        vertices: placed.positions,
        triangles: placed.triangles,
        texture_coordinates: None,
        pose: Isometry::identity(),
        velocity: Vec3::zeros(),
        angular_velocity: Vec3::zeros(),
        color: None,
    });
    let pose = Isometry::identity();
    builder.obstacle(Obstacle { name: "floor".into(), shape: Shape::Plane, pose, motion: None, friction: vec![], color: None });
    let info = SceneInfo {
        generation: 0, // the worker counts
        source: source.clone(),
        name: source.label(),
        model: Arc::new(builder.build().map_err(sentence)?),
        scene: None,
        files: vec![path.to_owned()],
        build_ms: start.elapsed().as_secs_f64() * 1e3,
        camera,
        has_camera: false,
        light: Light::default(),
        frames_per_second: 60.0,
        notes: vec![],
        import: None,
        probes: vec![],
        checkups: vec![Checkup::of_refused(path, &file, &world_from_file, refusal)],
    };
    Ok(Loaded { engine: Box::new(Still), info })
}

/// One body and a floor that stand still.
struct Still;

impl Engine for Still {
    fn step(&mut self, _: &CancelToken) -> Result<Option<StepReport>, String> {
        Err("nothing came of this mesh that could move".into())
    }

    fn session(&mut self) -> Result<SessionTree, String> {
        Err("nothing was done here that could be saved".into())
    }

    fn save(&mut self, _: &Path) -> Result<(), String> {
        Err("nothing was done here that could be saved".into())
    }

    fn resume(&mut self, _: &Path) -> Result<(), String> {
        Err("nothing came of this mesh that could move".into())
    }

    fn apply(&mut self, _: &Command) -> Result<(), String> {
        Ok(())
    }

    fn view(&mut self, wants: Wants) -> Result<View, String> {
        Ok(View {
            nodes: wants.nodes.then(Vec::new),
            contacts: wants.contacts.then(Vec::new),
            rigid_poses: vec![Isometry::identity()],
            obstacle_poses: vec![Isometry::identity()],
            wants,
            ..View::default()
        })
    }
}

/// The mistakes of a scene: the first in a sentence, and below it all with their lines.
fn mistakes(error: SceneError) -> String {
    let first = error.diagnostics.first();
    let place = match first.map(|diagnostic| &diagnostic.place) {
        Some(Place::Line { file, line, .. }) => format!("{}, line {line}: ", file_name(Path::new(file))),
        Some(Place::File { file }) => format!("{}: ", file_name(Path::new(file))),
        _ => String::new(),
    };
    let others = match error.diagnostics.len() {
        0 | 1 => String::new(),
        n => format!(" (and {} more)", n - 1),
    };
    let sentence = first.map(Diagnostic::sentence).unwrap_or_default();
    format!("{place}{sentence}{others}\n{}", error.excerpts(false))
}

fn sentence(error: impl std::error::Error) -> String {
    error.to_string()
}
