//! A mesh that is to be added: its sheet beside the view, and its picture where it would stand.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Session;
use super::bodies::{free_place, usual_size};
use crate::app::SceneSource;
use crate::app::draft::Draft;
use crate::app::graphics::Graphics;
use crate::app::ui::{After, DraftAction, PathPurpose};
use crate::app::worker::Severity;
use crate::math::Aabb;
use crate::model::Model;
use crate::render::{Light, Overlays, Stage};
use crate::scene::is_mesh;
use crate::stage;

/// The draft that is under way, and what the view shows of it.
#[derive(Default)]
pub struct Drafting {
    draft: Option<Draft>,
    /// Nodes of the body that the view shows, `[x, y, z, 1]` [m]; none where it shows no draft.
    shown: Option<Vec<[f32; 4]>>,
}

/// How often the window looks whether the mesh is filled.
const LOOK: Duration = Duration::from_millis(40);
/// Part of its size that is shown around a draft, and around a fault in it.
const AROUND: f64 = 0.8;
const AROUND_FAULT: f64 = 0.06;

impl Drafting {
    pub(super) fn draft(&self) -> Option<&Draft> {
        self.draft.as_ref()
    }

    /// False if there was none.
    pub(super) fn give_up(&mut self) -> bool {
        self.draft.take().is_some()
    }

    /// Marks of what the doctor found, on the body that is shown.
    pub(super) fn overlays(&self, eye: glam::Vec3, pixels: f32) -> Overlays {
        let mut overlays = Overlays::default();
        let prepared = self.draft.as_ref().and_then(Draft::prepared);
        if let (Some(prepared), Some(nodes)) = (prepared.filter(|prepared| prepared.model.is_ok()), &self.shown) {
            for marks in prepared.checkups.iter().map(|checkup| checkup.overlays(Some(nodes), |_| 1.0, eye, pixels)) {
                overlays.segments.extend(marks.segments);
                overlays.points.extend(marks.points);
            }
        }
        overlays
    }
}

impl Session {
    pub(super) fn ask_for_mesh(&mut self) {
        match self.document.is_some() {
            true => self.wishes.dialog = Some(PathPurpose::AddMesh),
            false => self.tell(Severity::Error, "Open a scene first; then a mesh can be added to it.".into()),
        }
    }

    /// A file that was dropped onto the window: a mesh is to be added to the scene that is open, all else is opened. So
    /// is a mesh in the place of the scene that the program has opened by itself.
    pub fn dropped(&mut self, path: PathBuf) {
        let is_chosen = self.shown.scene.as_ref().is_some_and(|scene| scene.source != SceneSource::Default);
        match is_mesh(&path) && is_chosen && self.document.is_some() && !self.ui.start_open {
            true => self.add_mesh(&path),
            false => self.open(SceneSource::Path(path)),
        }
    }

    /// Shows a mesh with its sheet; it is a body of the scene once that is confirmed.
    pub(super) fn add_mesh(&mut self, path: &Path) {
        let Some(scene) = self.shown.scene.as_ref().filter(|_| self.document.is_some()) else { return self.ask_for_mesh() };
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let size = usual_size(&scene.model);
        match Draft::new(path, size, &free_place(&scene.model, 0.1 * size)) {
            Ok(draft) => {
                self.log.say(format_args!("draft {}", draft.file()));
                self.drafting.draft = Some(draft);
            }
            Err(text) => self.tell(Severity::Error, text),
        }
    }

    pub(super) fn act_on_draft(&mut self, action: DraftAction) {
        let Some(draft) = &mut self.drafting.draft else { return };
        match action {
            DraftAction::Change { values, gesture } => {
                if let Err(text) = draft.change(&values, gesture) {
                    self.tell(Severity::Error, text);
                }
            }
            DraftAction::Material(material) => draft.material = material,
            DraftAction::LookAt(finding) => self.look_at_fault_of_draft(finding),
            DraftAction::Add => self.add_draft(),
            DraftAction::OpenAlone => {
                let path = draft.path().to_owned();
                self.drafting.give_up();
                self.unless_unsaved(After::Open(SceneSource::Path(path)));
            }
            DraftAction::GiveUp => {
                self.drafting.give_up();
                self.log.say(format_args!("draft given up"));
            }
        }
    }

    fn add_draft(&mut self) {
        let (Some(draft), Some(document)) = (&self.drafting.draft, &self.document) else { return };
        let Some((name, values)) = draft.values(document.scene()).filter(|_| draft.is_ready()) else { return };
        if self.put_in(&name, &values) {
            self.drafting.give_up();
        }
    }

    /// Fills the draft once the mouse is up, and shows what came of it.
    pub(super) fn look_at_draft(&mut self, context: &egui::Context, graphics: &mut Graphics) {
        let Drafting { draft: Some(draft), .. } = &mut self.drafting else {
            if self.drafting.shown.take().is_some() {
                graphics.renderer.set_guest(None);
                self.placed += 1;
            }
            return;
        };
        if !context.input(|input| input.pointer.any_down()) {
            draft.prepare();
        }
        if draft.poll() {
            self.show_draft(graphics);
            context.request_repaint();
        }
        if self.drafting.draft.as_ref().is_some_and(|draft| draft.progress().is_some()) {
            context.request_repaint_after(LOOK);
        }
    }

    fn show_draft(&mut self, graphics: &mut Graphics) {
        let Some(draft) = &self.drafting.draft else { return };
        let (model, bounds) = (draft.model().cloned(), draft.bounds());
        if let Some(prepared) = draft.prepared()
            && let (None, Err(why)) = (&prepared.import, &prepared.model)
        {
            let text = format!("{} cannot be added: {why}", draft.file());
            self.drafting.give_up();
            self.tell(Severity::Error, text);
            return;
        }
        let is_first = self.drafting.shown.is_none();
        let shown = model.as_deref().map(guest);
        graphics.renderer.set_guest(shown.as_ref().map(|(stage, nodes)| (stage, &nodes[..])));
        self.placed += 1;
        self.drafting.shown = shown.map(|(_, nodes)| nodes);
        match model {
            Some(model) => self.log.say(format_args!("draft filled tets={}", model.tets.len())),
            None => self.log.say(format_args!("draft refused")),
        }
        if let Some(bounds) = bounds.filter(|_| is_first) {
            self.fly_to(&grown(&bounds, AROUND * bounds.extent().max()));
        }
    }

    fn look_at_fault_of_draft(&mut self, finding: usize) {
        let Drafting { draft: Some(draft), shown: Some(nodes) } = &self.drafting else { return };
        let checkup = draft.prepared().filter(|prepared| prepared.model.is_ok()).and_then(|prepared| prepared.checkups.first());
        let place = checkup.and_then(|checkup| checkup.first_of(finding, Some(nodes)));
        if let (Some(place), Some(bounds)) = (place, draft.bounds()) {
            self.fly_to(&grown(&place, AROUND_FAULT * bounds.extent().max()));
        }
    }
}

fn grown(aabb: &Aabb, by: f64) -> Aabb {
    Aabb { min: aabb.min.add_scalar(-by), max: aabb.max.add_scalar(by) }
}

/// The body of a draft, which is the only soft one of its scene, and its nodes.
fn guest(model: &Model) -> (Stage, Vec<[f32; 4]>) {
    let stage = Stage { rigids: vec![], ..stage::stage(model, Light::default()) };
    (stage, model.rest_positions.iter().map(stage::vertex).collect())
}
