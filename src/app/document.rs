//! The scene that is open with all that was changed in the window, and the way back: undo and redo.

mod names;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::app::history::Way;
use crate::app::selection::Sight;
use crate::scene::{LiveValues, Rename, Scene, TextError};
pub use names::Labels;
use names::{Names, values_after};

/// What one undo takes back.
#[derive(Clone, Debug, PartialEq)]
enum Entry {
    Values(Edit),
    /// Bodies were hidden, locked, shown or unlocked: before and after it.
    Sight([Sight; 2]),
    /// Something got another name: which, and all that were given before and after it.
    Name(Rename, [Names; 2]),
}

/// A change of one or of several values.
#[derive(Clone, Debug, PartialEq)]
struct Edit {
    /// The values that it is about.
    paths: Vec<String>,
    /// All changes before and after it.
    before: Values,
    after: Values,
    /// The gesture that made it, if it may still go on: all of a drag is one entry.
    gesture: Option<u64>,
}

/// Changes as `--set` makes them, by path and as TOML, in the order in which they count.
type Values = Vec<(String, String)>;

/// A simulation that is being built: its assignments, and what they come from.
struct Building {
    set: Vec<String>,
    values: Values,
    names: Names,
}

/// How many values of before are known: as many as a long session has changes.
const MOST_KNOWN: usize = 1000;

/// A scene and its changes.
pub struct Document {
    /// As it was read.
    base: Arc<Scene>,
    /// The same with the names of now.
    named: Scene,
    /// With all changes.
    scene: Scene,
    /// The names that were given, by which all changes call things.
    names: Names,
    /// Those with which the simulation was built, and which are in the file.
    built_names: Names,
    saved_names: Names,
    /// What is being built.
    building: Option<Building>,
    labels: Labels,
    /// How often something got another name, there and back.
    n_renamed: u64,
    /// The changes that count: each path once from one change of a list to the next.
    values: Values,
    /// Those with which the simulation was built.
    built: Values,
    /// Those that are in the file.
    saved: Values,
    undo: Vec<Entry>,
    redo: Vec<Entry>,
    /// The bodies that are hidden and locked, as far as undo knows.
    sight: Sight,
    /// What acts at once, as it was before: the changes, and what they come to.
    had: Vec<(Values, LiveValues)>,
    /// The file that the next save goes to.
    pub file: Option<PathBuf>,
}

impl Document {
    pub fn new(base: Arc<Scene>, file: Option<PathBuf>) -> Self {
        let scene = (*base).clone();
        let had = vec![(vec![], scene.live_values())];
        let names = Names::default();
        Self {
            named: scene.clone(),
            built_names: names.clone(),
            saved_names: names.clone(),
            names,
            building: None,
            labels: Labels::default(),
            n_renamed: 0,
            base,
            scene,
            values: vec![],
            built: vec![],
            saved: vec![],
            undo: vec![],
            redo: vec![],
            sight: Sight::default(),
            had,
            file,
        }
    }

    /// The scene as it was read, which all changes are made to.
    pub fn base(&self) -> &Arc<Scene> {
        &self.base
    }

    /// The scene with all changes.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// The changes as `--set` would make them.
    pub fn assignments(&self) -> Vec<String> {
        let mut set = self.names.assignments(&self.base, &self.saved_names);
        set.extend(assignments(&self.values));
        set
    }

    /// The same for a simulation that begins to be built with them.
    pub fn build(&mut self) -> Vec<String> {
        let set = self.assignments();
        self.building = Some(Building { set: set.clone(), values: self.values.clone(), names: self.names.clone() });
        set
    }

    /// With which the simulation that runs would be built with the names of now.
    pub fn built_set(&self) -> Vec<String> {
        let mut set = self.names.assignments(&self.base, &self.saved_names);
        set.extend(assignments(&self.built));
        set
    }

    /// How often something got another name so far, there and back.
    pub fn n_renamed(&self) -> u64 {
        self.n_renamed
    }

    /// What the simulation calls otherwise than the scene.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Gives the entry at a path such as `body.bar`, `force.0` or `material.soft` another name, also wherever it is
    /// named: what has got which, none if it is called so already.
    ///
    /// # Errors
    /// Why it cannot be called so, as a sentence; then nothing has changed.
    pub fn rename(&mut self, path: &str, to: &str) -> Result<Option<Rename>, String> {
        let to = to.trim();
        let list = Scene::named_list(path).ok_or_else(|| format!("\"{path}\" has no name that could be changed"))?;
        let from = self.scene.name_at(path).map(str::to_owned);
        if from.as_deref() == Some(to) {
            return Ok(None);
        }
        if let Some(fault) = self.scene.name_fault(list, to) {
            return Err(fault);
        }
        let Some(from) = from else {
            // What has no name is called by its number: a name is a value of it like others.
            return self.change(&[(format!("{path}.name"), format!("\"{to}\""))], None).map(|()| None);
        };
        let path_then = format!("{list}.{to}");
        if self.named.names_of(list).contains(&to) || self.values.iter().any(|(path, _)| *path == path_then) {
            return Err(format!("a {list} that was deleted is called \"{to}\", and undo may bring it back; choose another name"));
        }
        let rename = Rename::new(list, from, to);
        // Whatever else is wrong with it is told before anything has changed.
        self.scene.edited(&[rename.assignment()]).map_err(|error| sentence(&error))?;
        let before = self.names.clone();
        let mut after = before.clone();
        after.push(rename.clone());
        self.carry(&rename, after.clone())?;
        self.redo.clear();
        self.undo.push(Entry::Name(rename.clone(), [before, after]));
        Ok(Some(rename))
    }

    /// The new name that the next step of undo or redo gives.
    pub fn next_name(&self, way: Way) -> Option<Rename> {
        match way {
            Way::Back => self.undo.last().and_then(|entry| if let Entry::Name(rename, _) = entry { Some(rename.reversed()) } else { None }),
            Way::Forth => self.redo.last().and_then(|entry| if let Entry::Name(rename, _) = entry { Some(rename.clone()) } else { None }),
        }
    }

    /// The values that act at once, after an entry got another name.
    pub fn values_after(values: &LiveValues, rename: &Rename) -> LiveValues {
        values_after(values, rename)
    }

    /// All that is known calls an entry by its new name from now on.
    fn carry(&mut self, rename: &Rename, names: Names) -> Result<(), String> {
        self.named = self.base.edited(&names.assignments(&self.base, &self.saved_names)).map_err(|error| sentence(&error))?;
        self.names = names;
        self.n_renamed += 1;
        let renamed = |values: &mut Values| *values = in_new_names(values, rename);
        [&mut self.built, &mut self.saved].into_iter().for_each(renamed);
        if let Some(building) = &mut self.building {
            renamed(&mut building.values);
        }
        for (changes, values) in &mut self.had {
            renamed(changes);
            *values = values_after(values, rename);
        }
        self.labels = Labels::between(&self.built_names, &self.names);
        self.put(in_new_names(&self.values, rename))
    }

    /// Changes some values. All that one `gesture` does is one entry for undo. A body is added or taken out as by
    /// `--set`.
    ///
    /// # Errors
    /// What is wrong with a value, as a sentence; then nothing has changed.
    pub fn change(&mut self, values: &[(String, String)], gesture: Option<u64>) -> Result<(), String> {
        let mut after = self.values.clone();
        for (path, text) in values {
            // What counts for lists stays where it is: what follows names their entries.
            let lists = after.iter().rposition(|(path, _)| Scene::is_entry(path)).map_or(0, |place| place + 1);
            if text.is_empty() && Scene::is_entry(path) {
                // Entries that name it go with it: those that stay have other numbers then, also in a file saved since.
                after = with_whole_lists(&self.scene, after, lists);
            }
            // What is given below goes with all of it, and what is below something given is no value of the file.
            let is_below = |(k, (known, _)): (usize, &(String, String))| k >= lists && is_within(known, path) && known != path;
            after = after.iter().enumerate().filter(|entry| !is_below(*entry)).map(|(_, value)| value.clone()).collect();
            let known = after[lists..].iter().position(|(known, _)| known == path).map(|place| lists + place);
            let is_given = after.iter().any(|(known, _)| is_within(path, known) && known != path);
            let is_base = lists == 0 && !is_given && is_value(&self.named, path, text);
            match known {
                Some(place) if is_base => drop(after.remove(place)),
                Some(place) => after[place].1.clone_from(text),
                None if !is_base && (lists == 0 && !is_given || !is_value(&self.scene, path, text)) => {
                    after.push((path.clone(), text.clone()))
                }
                None => {}
            }
        }
        if after == self.values {
            return Ok(());
        }
        let before = self.values.clone();
        self.put(after.clone())?;
        self.redo.clear();
        let paths: Vec<String> = values.iter().map(|(path, _)| path.clone()).collect();
        match self.undo.last_mut() {
            Some(Entry::Values(edit)) if gesture.is_some() && edit.gesture == gesture && edit.paths == paths => edit.after = after,
            _ => self.undo.push(Entry::Values(Edit { paths, before, after, gesture })),
        }
        Ok(())
    }

    /// The bodies that are hidden and locked, as the last entry says.
    pub fn sight(&self) -> &Sight {
        &self.sight
    }

    /// The same bodies are hidden and locked, by other names or in a scene that was read again.
    pub fn follow_sight(&mut self, sight: &Sight) {
        self.sight.clone_from(sight);
    }

    /// Takes note of the bodies that are hidden and locked: others than before are an entry.
    pub fn note_sight(&mut self, sight: &Sight) {
        if self.sight != *sight {
            let before = std::mem::replace(&mut self.sight, sight.clone());
            self.undo.push(Entry::Sight([before, sight.clone()]));
            self.redo.clear();
        }
    }

    /// Takes the last entry back; the paths of values that have changed.
    pub fn undo(&mut self) -> Option<Vec<String>> {
        let mut entry = self.undo.pop()?;
        let taken = match &mut entry {
            Entry::Values(edit) => {
                edit.gesture = None;
                let (before, paths) = (edit.before.clone(), edit.paths.clone());
                self.put(before).map(|()| paths)
            }
            Entry::Sight([before, _]) => {
                self.sight.clone_from(before);
                Ok(vec![])
            }
            Entry::Name(rename, [before, _]) => {
                self.carry(&rename.reversed(), before.clone()).map(|()| vec![name_path(&rename.reversed())])
            }
        };
        self.redo.push(entry);
        taken.ok()
    }

    /// Makes the change again that was taken back last.
    pub fn redo(&mut self) -> Option<Vec<String>> {
        let entry = self.redo.pop()?;
        let made = match &entry {
            Entry::Values(edit) => self.put(edit.after.clone()).map(|()| edit.paths.clone()),
            Entry::Sight([_, after]) => {
                self.sight.clone_from(after);
                Ok(vec![])
            }
            Entry::Name(rename, [_, after]) => self.carry(rename, after.clone()).map(|()| vec![name_path(rename)]),
        };
        self.undo.push(entry);
        made.ok()
    }

    /// Forgets the last change of values, as the simulation has refused it.
    pub fn take_back(&mut self) {
        let last = self.undo.iter().rposition(|entry| matches!(entry, Entry::Values(_)));
        if let Some((place, Entry::Values(edit))) = last.map(|place| (place, self.undo.remove(place))) {
            let names_since =
                self.undo[place..].iter().filter_map(|entry| if let Entry::Name(rename, _) = entry { Some(rename) } else { None });
            let before = names_since.fold(edit.before, |values, rename| in_new_names(&values, rename));
            // What was there before was accepted then.
            self.put(before).unwrap_or_default();
        }
    }

    /// Shows the values that hold where the window looks, as they were known by this document: those that act at once,
    /// and for which `holds` is true. All others stay. The paths that have changed, and what is there now.
    pub fn show(&mut self, holds: impl Fn(&LiveValues) -> bool) -> Vec<(String, Option<String>)> {
        if holds(&self.scene.live_values()) {
            return vec![];
        }
        let Some((live, _)) = self.had.iter().rfind(|(_, values)| holds(values)).cloned() else { return vec![] };
        let (before, mut values) = (self.values.clone(), self.values.clone());
        values.retain(|(path, _)| !self.is_live(path));
        values.extend(live);
        // Another list of bodies has other paths.
        if self.put(values).is_err() {
            return vec![];
        }
        let differs = |path: &str| before.iter().rfind(|(known, _)| known == path) != self.values.iter().rfind(|(known, _)| known == path);
        let mut paths: Vec<String> = before.iter().chain(&self.values).map(|(path, _)| path.clone()).filter(|path| differs(path)).collect();
        paths.sort();
        paths.dedup();
        paths.into_iter().map(|path| (self.scene.given(&path), path)).map(|(value, path)| (path, value)).collect()
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

    /// Whether bodies were added or taken out since the simulation was built.
    pub fn has_other_bodies(&self) -> bool {
        let lists = |values: &Values| values.iter().filter(|(path, _)| Scene::is_entry(path)).cloned().collect::<Values>();
        lists(&self.values) != lists(&self.built)
    }

    /// Whether the value at `path` waits for a start of the simulation.
    pub fn waits(&self, path: &str) -> bool {
        let of = |values: &Values| values.iter().filter(|(known, _)| is_within(path, known)).cloned().collect::<Values>();
        of(&self.values) != of(&self.built) && !self.is_live(path) && !is_name(path)
    }

    /// Whether the file has not all changes.
    pub fn is_changed(&self) -> bool {
        sorted(&self.values) != sorted(&self.saved) || self.names != self.saved_names
    }

    /// The simulation was built with these assignments.
    pub fn built_with(&mut self, set: &[String]) {
        (self.built, self.built_names) = match self.building.take().filter(|building| building.set == set) {
            // Something may have been changed since.
            Some(building) => (building.values, building.names),
            None if self.assignments() == set => (self.values.clone(), self.names.clone()),
            None => {
                let pair = |text: &String| text.split_once('=').map(|(path, value)| (path.to_owned(), value.to_owned()));
                (set.iter().filter_map(pair).collect(), Names::default())
            }
        };
        self.labels = Labels::between(&self.built_names, &self.names);
    }

    /// The text of the scene for a file in `folder`, with `probes` beside its own.
    pub fn text_for(&self, folder: &Path, probes: &[String]) -> Result<String, TextError> {
        if probes.is_empty() {
            return self.scene.text_for(folder);
        }
        self.scene.edited(probes).map_err(|error| TextError::NotToml(sentence(&error)))?.text_for(folder)
    }

    /// The file has all changes now.
    pub fn saved_to(&mut self, file: PathBuf) {
        self.saved.clone_from(&self.values);
        self.saved_names.clone_from(&self.names);
        self.file = Some(file);
    }

    fn is_live(&self, path: &str) -> bool {
        self.scene.field(path).is_some_and(|field| field.live)
    }

    fn of_start(&self, values: &Values) -> Values {
        sorted(values).into_iter().filter(|(path, _)| !self.is_live(path) && !is_name(path)).collect()
    }

    /// The scene with these changes.
    fn put(&mut self, values: Values) -> Result<(), String> {
        self.scene = self.named.edited(&assignments(&values)).map_err(|error| sentence(&error))?;
        self.values = values;
        let live: Values = self.values.iter().filter(|(path, _)| self.is_live(path)).cloned().collect();
        let known = self.scene.live_values();
        self.had.retain(|(_, values)| *values != known);
        self.had.push((live, known));
        if self.had.len() > MOST_KNOWN {
            self.had.remove(0);
        }
        Ok(())
    }
}

/// Changes after an entry got another name.
fn in_new_names(values: &Values, rename: &Rename) -> Values {
    values.iter().map(|(path, text)| (rename.path(path), rename.text(path, text))).collect()
}

/// Where the new name of an entry stands.
fn name_path(rename: &Rename) -> String {
    format!("{}.{}.name", rename.list, rename.to)
}

/// Whether a path is that of a name, by which the simulation does not go.
fn is_name(path: &str) -> bool {
    path.strip_suffix(".name").is_some_and(|entry| Scene::named_list(entry).is_some())
}

/// Whether a path is that of a table, or of something in it.
fn is_within(path: &str, table: &str) -> bool {
    path.strip_prefix(table).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Whether a scene says this of a path. No value and no entries are the same as nothing.
fn is_value(scene: &Scene, path: &str, text: &str) -> bool {
    let given = scene.given(path);
    given.as_deref() == Some(text) || given.is_none_or(|given| given == "[]") && ["", "[]"].contains(&text)
}

/// Changes in which the lists that name bodies are given as a whole, where values of their entries are from `start` on.
fn with_whole_lists(scene: &Scene, mut values: Values, start: usize) -> Values {
    for list in Scene::lists_of_bodies() {
        let is_below = |known: &str| known != list && is_within(known, list);
        if let (true, Some(whole)) = (values[start..].iter().any(|(known, _)| is_below(known)), scene.given(list)) {
            let left = values.split_off(start).into_iter().filter(|(known, _)| known != list && !is_below(known));
            values.extend(left.collect::<Values>());
            values.push((list.to_owned(), whole));
        }
    }
    values
}

/// As `--set` says them. What is of an entry that is taken out later is left out: where the file is saved by then it
/// has no such entry any more.
fn assignments(values: &Values) -> Vec<String> {
    let taken_out = |place: usize, path: &str| {
        values[place + 1..].iter().any(|(later, value)| value.is_empty() && Scene::is_entry(later) && is_within(path, later))
    };
    let kept = values.iter().enumerate().filter(|(place, (path, _))| !taken_out(*place, path));
    kept.map(|(_, (path, value))| format!("{path}={value}")).collect()
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

#[cfg(test)]
mod tests;
