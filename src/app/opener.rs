//! From a scene to a running simulation, on the worker's thread.

use std::sync::Arc;
use std::time::Instant;

use super::contacts::contact_marks;
use super::engine::{Engine, Loaded, SceneInfo, View, Wants};
use super::worker::Opener;
use super::{AppOptions, SceneSource};
use crate::gpu;
use crate::scene::{self, Scene};
use crate::sim::{Command, Options, Simulation};
use crate::solver::StepReport;
use crate::stage;

/// Builds scenes on the window's device, with the backend that was asked for.
pub fn opener(device: Arc<gpu::Device>, options: &AppOptions) -> Opener {
    let backend = options.backend;
    Box::new(move |source| open(source, backend, &device))
}

fn open(source: &SceneSource, backend: Option<scene::BackendChoice>, device: &Arc<gpu::Device>) -> Result<Loaded, String> {
    let start = Instant::now();
    let scene = match source {
        SceneSource::Default => Scene::builtin(scene::gallery()[0].name),
        SceneSource::Gallery(name) => Scene::builtin(name),
        SceneSource::Path(path) => Scene::load(&path.to_string_lossy(), &[]),
    };
    let scene = scene.map_err(sentence)?;
    let built = scene::build(&scene).map_err(sentence)?;
    let (name, camera, light, recording) = (built.title.clone(), stage::camera(&built.camera), stage::light(&built.light), built.recording);
    let notes = built.notes.clone();
    let options = Options { backend, device: Some(device.clone()), ..Options::default() };
    let simulation = Simulation::new(built, &options).map_err(sentence)?;
    let ran = simulation.backend();
    let info = SceneInfo {
        generation: 0, // the worker counts
        source: source.clone(),
        name,
        model: simulation.model().clone(),
        backend: ran.backend.to_string(),
        adapter: ran.adapter.clone(),
        solver: ran.solver.to_string(),
        reason: ran.reason.clone(),
        build_ms: start.elapsed().as_secs_f64() * 1e3,
        camera,
        light,
        frames_per_second: recording.fps,
        notes,
    };
    Ok(Loaded { engine: Box::new(simulation), info })
}

fn sentence(error: impl std::error::Error) -> String {
    error.to_string()
}

impl Engine for Simulation {
    fn step(&mut self) -> Result<StepReport, String> {
        Self::step(self).map_err(sentence)
    }

    fn apply(&mut self, command: &Command) -> Result<(), String> {
        Self::apply(self, command).map_err(sentence)
    }

    fn view(&mut self, wants: Wants) -> Result<View, String> {
        let nodes = wants.nodes.then(|| self.node_positions()).transpose().map_err(sentence)?;
        let state = wants.contacts.then(|| self.state()).transpose().map_err(sentence)?;
        let obstacle_poses = self.obstacle_poses();
        Ok(View {
            step: self.step_index(),
            time: self.time(),
            surface: self.surface(),
            nodes: nodes.map(|nodes| nodes.iter().map(stage::vertex).collect()),
            contacts: state.map(|state| contact_marks(self.model(), &state, &obstacle_poses)),
            rigid_poses: self.rigid_poses().map_err(sentence)?,
            obstacle_poses,
            attachments: self.attachment_points().map_err(sentence)?,
            grabs: self.grabs().map_err(sentence)?,
            params: *self.params(),
        })
    }
}
