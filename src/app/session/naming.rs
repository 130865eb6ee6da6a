//! Things get other names while the simulation runs, which goes on: it keeps its own, the window shows the new ones.

use std::sync::Arc;

use super::Session;
use crate::app::document::Labels;
use crate::app::engine::SceneInfo;
use crate::app::history::Entry;
use crate::app::selection::Item;
use crate::app::worker::{Notice, Request, Severity, Snapshot};
use crate::scene::{Rename, Scene};

/// What the worker has sent beside what is made of it with the names of the scene.
#[derive(Default)]
pub struct Labelled {
    scene: Option<(Arc<SceneInfo>, Labels, Arc<SceneInfo>)>,
    snapshot: Option<(Arc<Snapshot>, Arc<Snapshot>)>,
}

impl Session {
    /// Opens the field for another name of what was selected last.
    pub(super) fn begin_rename(&mut self) {
        let Some(item) = self.ui.selection.items().last().filter(|item| is_nameable(item)).cloned() else {
            let told = "Select a body, a material or another entry that has a name; then it can be renamed";
            return self.tell(Severity::Info, told.to_owned());
        };
        let (Some(document), is_locked) = (&self.document, self.ui.selection.is_item_locked(&item)) else { return };
        if is_locked {
            return self.tell(Severity::Info, format!("{} is locked and stays as it is; unlock it first", item.title()));
        }
        let name = document.scene().name_at(&item.path).unwrap_or_default().to_owned();
        self.ui.panels_visible = true;
        self.ui.tree_open = Some(true);
        self.ui.tree.rename(&item.path, &name);
    }

    /// Gives an entry of the scene another name; what is refused is told, and can be typed anew.
    pub(super) fn rename(&mut self, path: &str, to: &str) {
        let Some(document) = &mut self.document else { return };
        let before = document.assignments();
        let renamed = document.rename(path, to);
        let is_changed = document.assignments() != before;
        match renamed {
            Ok(rename) => {
                self.ui.tree.end_rename();
                if is_changed {
                    self.history.push(Entry::Values(None));
                    self.log.say(format_args!("renamed {path} to {}", to.trim()));
                }
                if let Some(rename) = rename {
                    self.carry_name(&rename);
                }
            }
            Err(text) => {
                self.log.say(format_args!("not renamed {path}"));
                self.ui.tree.rename_again(path);
                self.tell(Severity::Error, first_upper(&text));
            }
        }
    }

    /// What is selected, hidden and locked goes by the new name from now on, and so does what is told and written.
    pub(super) fn carry_name(&mut self, rename: &Rename) {
        self.ui.selection.rename(rename);
        self.ui.tree.carry_name(rename);
        self.points.rename(rename);
        self.ui.brush.rename(rename);
        if let Some(document) = &mut self.document {
            document.follow_sight(self.ui.selection.sight());
        }
        if let Some(scene) = &self.live.scene {
            self.tell_names(scene.generation);
        }
    }

    /// Tells the worker what the scene of that generation calls its things.
    pub(super) fn tell_names(&self, generation: u64) {
        if let Some(document) = &self.document {
            self.worker.send(Request::Name { generation, labels: document.labels().clone(), set: document.built_set() });
        }
    }

    /// A message of the worker, what the simulation says with the names of the scene.
    pub(super) fn with_names(&self, notice: Notice) -> Notice {
        match self.document.as_ref().filter(|_| notice.scene == Some(self.staged)) {
            Some(document) => Notice { text: document.labels().shown_text(&notice.text), ..notice },
            None => notice,
        }
    }

    /// A snapshot of the worker with the names of the scene.
    pub(super) fn labelled(&mut self, snapshot: Arc<Snapshot>) -> Arc<Snapshot> {
        let labels = self.document.as_ref().map(|document| document.labels()).filter(|labels| !labels.is_empty());
        // Another scene has names of its own, which are known once it is staged.
        let scene = snapshot.scene.as_ref().filter(|scene| scene.generation == self.staged);
        let (Some(labels), Some(scene)) = (labels, scene) else {
            if std::mem::take(&mut self.labelled).scene.is_some() {
                // The picture is marked by names.
                self.marked = 0;
            }
            return snapshot;
        };
        let known = self.labelled.scene.as_ref().filter(|(of, with, _)| Arc::ptr_eq(of, scene) && with == labels);
        let made = match known {
            Some((.., made)) => made.clone(),
            None => {
                let made = Arc::new(info_with(scene, labels));
                self.marked = 0;
                self.labelled = Labelled { scene: Some((scene.clone(), labels.clone(), made.clone())), snapshot: None };
                made
            }
        };
        if let Some((_, known)) = self.labelled.snapshot.as_ref().filter(|(of, _)| Arc::ptr_eq(of, &snapshot)) {
            return known.clone();
        }
        let warnings = Arc::new(snapshot.warnings.in_words(|text| labels.shown_text(text)));
        let shown = Arc::new(Snapshot { scene: Some(made), warnings, ..Snapshot::clone(&snapshot) });
        self.labelled.snapshot = Some((snapshot, shown.clone()));
        shown
    }
}

/// Whether an entry of the list can have another name.
pub(super) fn is_nameable(item: &Item) -> bool {
    Scene::named_list(&item.path).is_some()
}

fn info_with(scene: &SceneInfo, labels: &Labels) -> SceneInfo {
    let mut info = scene.clone();
    info.model = Arc::new(labels.shown_model(&scene.model));
    info.probes.iter_mut().for_each(|name| *name = labels.shown("probe", name));
    if let Some(import) = &mut info.import {
        import.body = labels.shown("body", &import.body);
    }
    info
}

fn first_upper(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
