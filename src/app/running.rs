//! A simulation and its past, as the worker drives them.

use std::path::Path;
use std::sync::Arc;

use super::contacts::contact_marks;
use super::document::Labels;
use super::engine::{Arrival, Engine, View, Wants};
use super::exporting::{Export, ExportWish, Span, export_pictures};
use super::job::Job;
use super::pins::{PinMark, has_pins, pins};
use crate::cancel::CancelToken;
use crate::export::Subject;
use crate::model::{Model, State};
use crate::scene::Probe;
use crate::sim::past::{BranchId, DEFAULT_BUDGET, Recorded, SharedPast};
use crate::sim::{Command, SessionTree, Simulation, TravelError};
use crate::stage;
use crate::step::{StepError, StepReport};

pub struct Running {
    recorded: Recorded,
    /// What `pliant run` calls the scene.
    scene: String,
    start: Start,
    /// What it calls otherwise than the scene.
    labels: Labels,
    /// What exports are about.
    subject: Subject,
    /// The export that follows the simulation.
    export: Option<Export>,
    /// The pins, until something is done that may change or move them.
    pins: Option<Arc<Vec<PinMark>>>,
}

/// Values that were set before the start, in their order: they are a part of what is repeated.
pub struct Start {
    /// By the session that is repeated.
    pub session: Vec<String>,
    /// By the changes in the window.
    pub window: Vec<String>,
    /// By the program, for the window.
    pub program: Vec<String>,
}

impl Running {
    pub fn new(simulation: Simulation, scene: String, start: Start, subject: Subject) -> Result<Self, String> {
        let recorded = Recorded::new(simulation, DEFAULT_BUDGET).map_err(sentence)?;
        Ok(Self { recorded, scene, start, labels: Labels::default(), subject, export: None, pins: None })
    }

    /// Repeats all branches of a session, and goes to the end of the current one.
    pub fn repeat(&mut self, session: &SessionTree, cancel: &CancelToken) -> Result<(), String> {
        self.recorded.repeat(session, cancel).map_err(sentence)
    }
}

fn sentence(error: impl std::error::Error) -> String {
    error.to_string()
}

impl Engine for Running {
    fn step(&mut self, cancel: &CancelToken) -> Result<Option<StepReport>, String> {
        if let Some(export) = &mut self.export {
            export.before_step(self.recorded.simulation());
        }
        match self.recorded.step_unless(cancel) {
            Ok(report) => {
                self.export.take_if(|export| export.follow(self.recorded.simulation(), cancel));
                Ok(Some(report))
            }
            Err(StepError::Cancelled { .. }) => Ok(None),
            Err(error) => Err(sentence(error)),
        }
    }

    fn session(&mut self) -> Result<SessionTree, String> {
        let Start { session, window, program } = &self.start;
        let set = [&session[..], window, program].concat();
        let session = self.recorded.session(self.scene.clone(), set.clone()).map_err(sentence)?;
        Ok(if self.labels.is_empty() { session } else { self.labels.shown_session(&session, &set) })
    }

    fn name(&mut self, labels: Labels, set: Vec<String>) {
        (self.labels, self.start.window) = (labels, set);
    }

    fn apply(&mut self, command: &Command) -> Result<(), String> {
        self.pins = None;
        self.recorded.apply(command).map_err(sentence)
    }

    fn save(&mut self, path: &Path) -> Result<(), String> {
        let labels = &self.labels;
        self.recorded.simulation().save_named(path, &|list, name| labels.shown(list, name)).map_err(sentence)
    }

    fn resume(&mut self, path: &Path) -> Result<(), String> {
        self.pins = None;
        self.recorded.resume(path).map_err(sentence)
    }

    fn watch(&mut self, probes: Vec<Probe>) {
        self.recorded.simulation().watch(probes);
    }

    fn past(&self) -> Option<SharedPast> {
        Some(self.recorded.past().clone())
    }

    fn branch(&mut self, step: u64, cancel: &CancelToken, passed: &mut dyn FnMut(u64)) -> Result<bool, String> {
        self.pins = None;
        match self.recorded.branch(step, cancel, passed) {
            Ok(_) => Ok(true),
            Err(TravelError::Cancelled { .. }) => Ok(false),
            Err(error) => Err(sentence(error)),
        }
    }

    fn take_back(&mut self, command: &Command, cancel: &CancelToken, passed: &mut dyn FnMut(u64)) -> Result<Arrival, String> {
        self.pins = None;
        match self.recorded.take_back(command, cancel, passed) {
            Ok(is_found) => Ok(if is_found { Arrival::There } else { Arrival::NotThere }),
            Err(TravelError::Cancelled { .. }) => Ok(Arrival::Stopped),
            Err(error) => Err(sentence(error)),
        }
    }

    fn switch(&mut self, to: BranchId) -> Result<(), String> {
        self.pins = None;
        self.recorded.switch(to).map_err(sentence)
    }

    fn export(&mut self, wish: &ExportWish, job: &Arc<Job>, cancel: &CancelToken) -> Result<(), String> {
        let (labels, of_scene) = (&self.labels, &self.subject);
        let subject = |model: &Model| Subject { model: Arc::new(labels.shown_model(model)), ..of_scene.clone() };
        let now = subject(self.recorded.simulation().model());
        match wish.span {
            Span::Past(times) if wish.is_of_surfaces() => export_pictures(wish, &now, self.recorded.past(), times, job),
            Span::Past(times) => Export::relive(wish, subject, &mut self.recorded, times, job, cancel),
            Span::Now | Span::On(_) => {
                if let Some(before) = self.export.take() {
                    before.end("as another one began");
                }
                self.export = Export::start(wish, &now, self.recorded.simulation(), job)?;
                Ok(())
            }
        }
    }

    fn view(&mut self, wants: Wants) -> Result<View, String> {
        let simulation = self.recorded.simulation();
        if self.pins.is_none() {
            let model = simulation.model().clone();
            let positions = has_pins(&model).then(|| simulation.node_positions()).transpose().map_err(sentence)?;
            self.pins = Some(Arc::new(positions.map_or_else(Vec::new, |positions| pins(&model, |node| positions[node]))));
        }
        let nodes = wants.nodes.then(|| simulation.node_positions()).transpose().map_err(sentence)?;
        let (model, obstacle_poses) = (simulation.model().clone(), simulation.obstacle_poses());
        let marks = |state: &State| contact_marks(&model, &state.contacts.entries, &state.positions(&model), &obstacle_poses);
        let contacts = wants.contacts.then(|| simulation.state().map(marks)).transpose().map_err(sentence)?;
        let field = wants.field.map(|field| simulation.field(field)).transpose().map_err(sentence)?;
        Ok(View {
            step: simulation.step_index(),
            time: simulation.time(),
            surface: simulation.surface(),
            nodes: nodes.map(|nodes| nodes.iter().map(stage::vertex).collect()),
            contacts,
            field,
            rigid_poses: simulation.rigid_poses().map_err(sentence)?,
            obstacle_poses,
            attachments: simulation.attachment_points().map_err(sentence)?,
            grabs: simulation.grabs().map_err(sentence)?,
            pins: self.pins.clone().unwrap_or_default(),
            values: Some(simulation.live_values()),
            masses: model.bodies.iter().map(|body| body.mass).collect(),
            materials: model.named_materials.clone(),
            wants,
            backend: Some(simulation.backend().clone()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::document::Document;
    use crate::app::exporting::STARTING;
    use crate::app::job::JobKind;
    use crate::app::job::tests::told;
    use crate::model::NamedMaterial;
    use crate::scene::{BackendChoice, Scene, build};
    use crate::sim::report::state_hash;
    use crate::sim::{LoggedCommand, Options};

    const SCENE: &str = "format = 1\n[simulation]\ntime_step = 0.01\n[material.soft]\nyoung_modulus = 1e5\n[[body]]\nname = \"bar\"\n\
                         material = \"soft\"\nshape = { type = \"box\", size = [0.4, 0.2, 0.2] }\n";

    fn running(scene: &Scene) -> Running {
        let built = build(scene).unwrap();
        let subject = Subject { frames_per_second: 100.0, size: [64, 64], ..Subject::of(&built) };
        let simulation = Simulation::new(built, &Options { backend: Some(BackendChoice::Cpu), ..Options::default() }).unwrap();
        let program = vec!["simulation.max_step_ms=3000.0".to_owned()];
        Running::new(simulation, "s.toml".into(), Start { session: vec![], window: vec![], program }, subject).unwrap()
    }

    fn hash(running: &mut Running) -> String {
        state_hash(running.recorded.simulation().state().unwrap())
    }

    /// A session repeats from a start with the new names, a saved state goes on there, and exports have them.
    #[test]
    fn what_is_written_after_a_new_name_has_it() {
        let scene = Scene::from_text("s", "s.toml", SCENE, None, &[]).unwrap();
        let mut run = running(&scene);
        let materials = run.recorded.simulation().live_values().materials;
        let mut soft = materials.into_iter().find(|named| named.name == "soft").unwrap();
        soft.material.young_modulus = 2e4;
        run.apply(&Command::SetMaterial(soft)).unwrap();
        (0..2).for_each(|_| drop(run.step(CancelToken::never()).unwrap()));
        run.apply(&Command::PutBack { body: "bar".into() }).unwrap();
        run.step(CancelToken::never()).unwrap();

        let mut document = Document::new(Arc::new(scene.clone()), None);
        document.rename("body.bar", "rod").unwrap();
        document.rename("material.soft", "gum").unwrap();
        run.name(document.labels().clone(), document.built_set());
        let session = run.session().unwrap();
        let set = &session.current().session.header.set;
        assert_eq!(set[..], ["body.bar.name=\"rod\"", "material.soft.name=\"gum\"", "simulation.max_step_ms=3000.0"]);
        let commands = &session.current().session.commands;
        let is_named = |logged: &LoggedCommand| match &logged.command {
            Command::SetMaterial(NamedMaterial { name, .. }) => name == "gum",
            Command::PutBack { body } => body == "rod",
            _ => false,
        };
        assert!(commands.len() == 2 && commands.iter().all(is_named), "{commands:?}");
        let edited = scene.edited(&set[..2]).unwrap();
        let mut again = running(&edited);
        again.repeat(&session, CancelToken::never()).unwrap();
        assert_eq!(hash(&mut again), hash(&mut run));

        let folder = std::env::temp_dir().join(format!("pliant-named-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let [state, path] = ["a.state", "a.glb"].map(|name| folder.join(name));
        run.save(&state).unwrap();
        let mut resumed = running(&edited);
        resumed.recorded.simulation().resume(&state).unwrap();
        assert_eq!(hash(&mut resumed), hash(&mut run));
        let job = Job::new(JobKind::Export, path.clone(), STARTING);
        run.export(&ExportWish { path: path.clone(), span: Span::Now, frames_per_second: 100.0, branch: 1 }, &job, CancelToken::never())
            .unwrap();
        told(&job).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let has = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
        assert!(has("\"rod\"") && !has("\"bar\""));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
