//! A simulation and its past, as the worker drives them.

use std::path::Path;
use std::sync::Arc;

use super::contacts::contact_marks;
use super::engine::{Arrival, Engine, View, Wants};
use super::exporting::{Export, ExportWish, Span, export_past};
use super::job::Job;
use super::pins::{PinMark, has_pins, pins};
use crate::cancel::CancelToken;
use crate::export::Subject;
use crate::model::State;
use crate::scene::Probe;
use crate::sim::past::{BranchId, DEFAULT_BUDGET, Recorded, SharedPast};
use crate::sim::{Command, SessionTree, Simulation, TravelError};
use crate::stage;
use crate::step::{StepError, StepReport};

pub struct Running {
    recorded: Recorded,
    /// What `pliant run` calls the scene.
    scene: String,
    /// Values that the window has set before the start: they are a part of what is repeated.
    set: Vec<String>,
    /// What exports are about.
    subject: Subject,
    /// The export that follows the simulation.
    export: Option<Export>,
    /// The pins, until something is done that may change or move them.
    pins: Option<Arc<Vec<PinMark>>>,
}

impl Running {
    pub fn new(simulation: Simulation, scene: String, set: Vec<String>, subject: Subject) -> Result<Self, String> {
        let recorded = Recorded::new(simulation, DEFAULT_BUDGET).map_err(sentence)?;
        Ok(Self { recorded, scene, set, subject, export: None, pins: None })
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
        self.recorded.session(self.scene.clone(), self.set.clone()).map_err(sentence)
    }

    fn apply(&mut self, command: &Command) -> Result<(), String> {
        self.pins = None;
        self.recorded.apply(command).map_err(sentence)
    }

    fn save(&mut self, path: &Path) -> Result<(), String> {
        self.recorded.simulation().save(path).map_err(sentence)
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

    fn export(&mut self, wish: &ExportWish, job: &Arc<Job>) -> Result<(), String> {
        let past = self.recorded.past().clone();
        let simulation = self.recorded.simulation();
        if let Span::Past(times) = wish.span {
            return export_past(wish, &self.subject, simulation, &past, times, job);
        }
        if let Some(before) = self.export.take() {
            before.end("as another one began");
        }
        self.export = Export::start(wish, &self.subject, simulation, job)?;
        Ok(())
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
