//! The scene that is open with all that was changed in the window, and the way back: undo and redo.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::scene::{Scene, TextError};

/// A value that was changed: the path by which `--set` names it, and what is there as TOML; none for what the file
/// says.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub path: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

/// What one undo takes back: a change of one or of several values.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    changes: Vec<Change>,
    /// The gesture that made it, if it may still go on: all of a drag is one entry.
    gesture: Option<u64>,
}

/// A scene and its changes.
pub struct Document {
    /// As it was read.
    base: Arc<Scene>,
    /// With all changes.
    scene: Scene,
    /// The changes that count, each path once, in the order in which they were first made.
    values: Vec<(String, String)>,
    /// Those with which the simulation was built.
    built: Vec<(String, String)>,
    /// Those that are in the file.
    saved: Vec<(String, String)>,
    undo: Vec<Entry>,
    redo: Vec<Entry>,
    /// The file that the next save goes to.
    pub file: Option<PathBuf>,
}

impl Document {
    pub fn new(base: Arc<Scene>, file: Option<PathBuf>) -> Self {
        let scene = (*base).clone();
        Self { base, scene, values: vec![], built: vec![], saved: vec![], undo: vec![], redo: vec![], file }
    }

    /// The scene with all changes.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// The changes as `--set` would make them.
    pub fn assignments(&self) -> Vec<String> {
        self.values.iter().map(|(path, value)| format!("{path}={value}")).collect()
    }

    /// Changes some values. All that one `gesture` does is one entry for undo.
    ///
    /// # Errors
    /// What is wrong with a value, as a sentence; then nothing has changed.
    pub fn change(&mut self, values: &[(String, String)], gesture: Option<u64>) -> Result<(), String> {
        let mut changes = vec![];
        for (path, text) in values {
            let after = Some(text.clone()).filter(|text| self.base.given(path).as_ref() != Some(text));
            let before = self.value(path);
            if before != after {
                changes.push(Change { path: path.clone(), before, after });
            }
        }
        if changes.is_empty() {
            return Ok(());
        }
        self.apply(&changes, false)?;
        self.redo.clear();
        let is_same = |entry: &&mut Entry| {
            gesture.is_some() && entry.gesture == gesture && entry.changes.iter().map(|c| &c.path).eq(changes.iter().map(|c| &c.path))
        };
        match self.undo.last_mut().filter(is_same) {
            Some(entry) => entry.changes.iter_mut().zip(changes).for_each(|(known, new)| known.after = new.after),
            None => self.undo.push(Entry { changes, gesture }),
        }
        Ok(())
    }

    /// Takes the last entry back; the paths of what has changed.
    pub fn undo(&mut self) -> Option<Vec<String>> {
        let entry = self.undo.pop()?;
        let taken = self.apply(&entry.changes, true);
        self.redo.push(Entry { gesture: None, ..entry });
        taken.ok()
    }

    /// Makes the change again that was taken back last.
    pub fn redo(&mut self) -> Option<Vec<String>> {
        let entry = self.redo.pop()?;
        let made = self.apply(&entry.changes, false);
        self.undo.push(entry);
        made.ok()
    }

    /// Forgets the last entry, as the simulation has refused it.
    pub fn take_back(&mut self) {
        if let Some(entry) = self.undo.pop() {
            // What was there before was accepted then.
            self.apply(&entry.changes, true).unwrap_or_default();
        }
    }

    pub fn can_undo(&self) -> bool {
        !self.undo.is_empty()
    }

    pub fn can_redo(&self) -> bool {
        !self.redo.is_empty()
    }

    /// Whether a change waits for a start of the simulation.
    pub fn is_pending(&self) -> bool {
        self.of_start(&self.values) != self.of_start(&self.built)
    }

    /// Whether the value at `path` waits for a start of the simulation.
    pub fn waits(&self, path: &str) -> bool {
        let of = |values: &[(String, String)]| values.iter().find(|(known, _)| known == path).map(|(_, value)| value.clone());
        of(&self.values) != of(&self.built) && !self.is_live(path)
    }

    /// Whether the file has not all changes.
    pub fn is_changed(&self) -> bool {
        sorted(&self.values) != sorted(&self.saved)
    }

    /// The simulation was built with these assignments.
    pub fn built_with(&mut self, assignments: &[String]) {
        let pair = |text: &String| text.split_once('=').map(|(path, value)| (path.to_owned(), value.to_owned()));
        self.built = assignments.iter().filter_map(pair).collect();
    }

    /// The text of the scene for a file in `folder`.
    pub fn text_for(&self, folder: &Path) -> Result<String, TextError> {
        self.scene.text_for(folder)
    }

    /// The file has all changes now.
    pub fn saved_to(&mut self, file: PathBuf) {
        self.saved.clone_from(&self.values);
        self.file = Some(file);
    }

    fn value(&self, path: &str) -> Option<String> {
        self.values.iter().find(|(known, _)| known == path).map(|(_, value)| value.clone())
    }

    fn is_live(&self, path: &str) -> bool {
        self.scene.field(path).is_some_and(|field| field.live)
    }

    fn of_start(&self, values: &[(String, String)]) -> Vec<(String, String)> {
        sorted(values).into_iter().filter(|(path, _)| !self.is_live(path)).collect()
    }

    /// Makes changes, or takes them back; the paths.
    fn apply(&mut self, changes: &[Change], back: bool) -> Result<Vec<String>, String> {
        let mut values = self.values.clone();
        for change in changes {
            let to = if back { &change.before } else { &change.after };
            match (values.iter().position(|(path, _)| *path == change.path), to) {
                (Some(place), Some(value)) => values[place].1.clone_from(value),
                (Some(place), None) => {
                    values.remove(place);
                }
                (None, Some(value)) => values.push((change.path.clone(), value.clone())),
                (None, None) => {}
            }
        }
        let assignments: Vec<String> = values.iter().map(|(path, value)| format!("{path}={value}")).collect();
        self.scene = self.base.edited(&assignments).map_err(|error| sentence(&error))?;
        self.values = values;
        Ok(changes.iter().map(|change| change.path.clone()).collect())
    }
}

/// The first fault, without the flag that it stands in.
fn sentence(error: &crate::scene::SceneError) -> String {
    error.diagnostics.first().map_or_else(String::new, |fault| match fault.key.as_str() {
        "" => fault.message.clone(),
        key => format!("{key}: {}", fault.message),
    })
}

fn sorted(values: &[(String, String)]) -> Vec<(String, String)> {
    let mut values = values.to_vec();
    values.sort();
    values
}
