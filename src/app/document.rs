//! The scene that is open with all that was changed in the window, and the way back: undo and redo.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::app::selection::Sight;
use crate::scene::{LiveValues, Scene, TextError};

/// What one undo takes back.
#[derive(Clone, Debug, PartialEq)]
enum Entry {
    Values(Edit),
    /// Bodies were hidden, locked, shown or unlocked: before and after it.
    Sight([Sight; 2]),
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

/// How many values of before are known: as many as a long session has changes.
const MOST_KNOWN: usize = 1000;

/// A scene and its changes.
pub struct Document {
    /// As it was read.
    base: Arc<Scene>,
    /// With all changes.
    scene: Scene,
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
        Self { base, scene, values: vec![], built: vec![], saved: vec![], undo: vec![], redo: vec![], sight: Sight::default(), had, file }
    }

    /// The scene with all changes.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// The changes as `--set` would make them.
    pub fn assignments(&self) -> Vec<String> {
        assignments(&self.values)
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
            let known = after[lists..].iter().position(|(known, _)| known == path).map(|place| lists + place);
            let is_base = lists == 0 && self.base.given(path).as_ref() == Some(text);
            match known {
                Some(place) if is_base => drop(after.remove(place)),
                Some(place) => after[place].1.clone_from(text),
                None if !is_base && (lists == 0 || self.scene.given(path).as_ref() != Some(text)) => {
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
        };
        self.undo.push(entry);
        made.ok()
    }

    /// Forgets the last change of values, as the simulation has refused it.
    pub fn take_back(&mut self) {
        let last = self.undo.iter().rposition(|entry| matches!(entry, Entry::Values(_)));
        if let Some(Entry::Values(edit)) = last.map(|place| self.undo.remove(place)) {
            // What was there before was accepted then.
            self.put(edit.before).unwrap_or_default();
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
        let of = |values: &Values| values.iter().rfind(|(known, _)| known == path).map(|(_, value)| value.clone());
        of(&self.values) != of(&self.built) && !self.is_live(path)
    }

    /// Whether the file has not all changes.
    pub fn is_changed(&self) -> bool {
        sorted(&self.values) != sorted(&self.saved)
    }

    /// The simulation was built with these assignments.
    pub fn built_with(&mut self, set: &[String]) {
        self.built = self.values.clone();
        if assignments(&self.values) != set {
            // Something was changed since.
            let pair = |text: &String| text.split_once('=').map(|(path, value)| (path.to_owned(), value.to_owned()));
            self.built = set.iter().filter_map(pair).collect();
        }
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
        self.file = Some(file);
    }

    fn is_live(&self, path: &str) -> bool {
        self.scene.field(path).is_some_and(|field| field.live)
    }

    fn of_start(&self, values: &Values) -> Values {
        sorted(values).into_iter().filter(|(path, _)| !self.is_live(path)).collect()
    }

    /// The scene with these changes.
    fn put(&mut self, values: Values) -> Result<(), String> {
        self.scene = self.base.edited(&assignments(&values)).map_err(|error| sentence(&error))?;
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

/// As `--set` says them. What is of an entry that is taken out later is left out: where the file is saved by then it
/// has no such entry any more.
fn assignments(values: &Values) -> Vec<String> {
    let taken_out = |place: usize, path: &str| {
        let is_of = |entry: &str| path.strip_prefix(entry).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        values[place + 1..].iter().any(|(later, value)| value.is_empty() && Scene::is_entry(later) && is_of(later))
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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::app::selection::Selection;
    use crate::scene::gallery;
    use crate::sim::{Command, commands_between};

    const TEXT: &str = "format = 1\n[simulation]\ntime_step = 0.01 # small\n[material.soft]\nyoung_modulus = 1e5\n[[body]]\nname = \"bar\"\n\
                        material = \"soft\"\nshape = { type = \"box\", size = [1.0, 0.2, 0.2] }\n[[body]]\nname = \"floor\"\nkind = \"static\"\n\
                        shape = { type = \"plane\" }\n";

    fn document() -> Document {
        Document::new(Arc::new(Scene::from_text("s", "s.toml", TEXT, None, &[]).unwrap()), None)
    }

    fn change(document: &mut Document, path: &str, value: &str, gesture: Option<u64>) -> Result<(), String> {
        document.change(&[(path.to_owned(), value.to_owned())], gesture)
    }

    fn stiffness(document: &Document) -> Option<String> {
        document.scene().given("material.soft.young_modulus")
    }

    #[test]
    fn a_drag_is_one_entry_and_undo_leads_back_and_forth() {
        let mut document = document();
        for value in ["2e5", "3e5", "4e5"] {
            change(&mut document, "material.soft.young_modulus", value, Some(7)).unwrap();
        }
        change(&mut document, "material.soft.young_modulus", "5e5", Some(8)).unwrap();
        change(&mut document, "body.bar.scale", "2.0", None).unwrap();
        assert!(document.is_pending() && document.waits("body.bar.scale") && !document.waits("material.soft.young_modulus"));
        assert_eq!(document.undo().unwrap(), ["body.bar.scale"]);
        assert!(!document.is_pending() && document.is_changed());
        document.undo();
        assert_eq!(stiffness(&document).as_deref(), Some("400000.0"));
        document.undo();
        assert_eq!(stiffness(&document).as_deref(), Some("100000.0"));
        assert!(!document.can_undo() && document.undo().is_none() && !document.is_changed());
        document.redo();
        assert_eq!(stiffness(&document).as_deref(), Some("400000.0"));
        change(&mut document, "simulation.time_step", "0.02", None).unwrap();
        assert!(!document.can_redo(), "a new change forgets what was taken back");
    }

    /// What is hidden and locked goes back and forth in its order among the values, which it leaves alone.
    #[test]
    fn hiding_and_locking_are_undone_in_their_turn() {
        let (mut document, mut selection) = (document(), Selection::default());
        selection.hide(["bar"], true);
        document.note_sight(selection.sight());
        document.note_sight(selection.sight());
        change(&mut document, "material.soft.young_modulus", "2e5", None).unwrap();
        selection.lock(["bar", "floor"], true);
        document.note_sight(selection.sight());
        assert_eq!(document.undo().unwrap(), [""; 0]);
        selection.set_sight(document.sight().clone());
        document.note_sight(selection.sight());
        assert!(selection.is_hidden("bar") && !selection.is_locked("floor") && document.can_redo());
        assert_eq!(document.undo().unwrap(), ["material.soft.young_modulus"]);
        document.undo();
        assert!(*document.sight() == Sight::default() && !document.can_undo() && !document.is_changed());
        while document.redo().is_some() {}
        selection.set_sight(document.sight().clone());
        assert!(selection.is_hidden("bar") && selection.is_locked("floor"));
        // A refused value is forgotten, whatever was hidden since.
        document.take_back();
        assert_eq!(stiffness(&document).as_deref(), Some("100000.0"));
        assert!(document.can_undo());
    }

    #[test]
    fn what_is_wrong_is_refused_and_changes_nothing() {
        let mut document = document();
        for (path, value, told) in [
            ("material.soft.poisson_ratio", "0.5", "material.soft.poisson_ratio: expected a number >= 0 and <= 0.499"),
            ("body.bar.material", "\"hard\"", "there is no material \"hard\""),
            ("body.bar.wings", "2", "has no \"wings\""),
        ] {
            let refused = change(&mut document, path, value, None).unwrap_err();
            assert!(refused.contains(told), "{refused}");
        }
        assert!(!document.can_undo() && !document.is_changed());
        change(&mut document, "material.soft.young_modulus", "100000.0", None).unwrap();
        assert!(!document.can_undo(), "what is there already is no change");
        change(&mut document, "material.soft.young_modulus", "2e5", None).unwrap();
        document.take_back();
        assert!(!document.can_undo() && !document.can_redo() && !document.is_changed());
    }

    #[test]
    fn a_start_takes_the_changes_that_wait() {
        let mut document = document();
        change(&mut document, "body.bar.scale", "2.0", None).unwrap();
        let assignments = document.assignments();
        document.built_with(&assignments);
        assert!(!document.is_pending() && document.can_undo());
        document.undo();
        assert!(document.is_pending(), "taking it back waits for a start, too");
    }

    /// Looked at in the past, it shows what held there, and goes on from that.
    #[test]
    fn values_follow_the_look_at_the_past() {
        let mut document = document();
        let of = |document: &Document| document.scene().live_values();
        let first = of(&document);
        change(&mut document, "material.soft.young_modulus", "2e5", None).unwrap();
        let second = of(&document);
        change(&mut document, "body.bar.scale", "2.0", None).unwrap();
        change(&mut document, "simulation.time_step", "0.02", None).unwrap();
        let third = of(&document);
        assert!(document.show(|values| *values == third).is_empty(), "it shows that already");
        let shown = document.show(|values| *values == first);
        let wanted = [("material.soft.young_modulus", "100000.0"), ("simulation.time_step", "0.01")];
        assert_eq!(shown, wanted.map(|(path, value)| (path.to_owned(), Some(value.to_owned()))));
        assert_eq!(document.scene().given("body.bar.scale").as_deref(), Some("2.0"), "what acts from the start stays");
        document.show(|values| *values == second);
        change(&mut document, "contact.friction", "0.1", None).unwrap();
        assert_eq!((of(&document).params.time_step, of(&document).friction.default), (0.01, 0.1));
        document.undo();
        assert!(of(&document) == second);
        document.show(|values| *values == third);
        assert!(of(&document) == third);
        assert!(document.show(|values| values.params.time_step == 5.0).is_empty(), "nobody has set that");
    }

    /// Bodies come and go as values do, and values of the same name count for what is there by then.
    #[test]
    fn bodies_are_added_copied_and_taken_out() {
        let mut document = document();
        let names = |document: &Document| document.scene().bodies().iter().map(|body| body.name.clone()).collect::<Vec<_>>().join(" ");
        change(&mut document, "body.bar.position", "[0.0, 1.0, 0.0]", None).unwrap();
        let copy = document.scene().copy_of_body("bar", &crate::math::Vec3::new(2.0, 0.1, 0.0)).unwrap();
        let name = document.scene().unused_body_name("bar");
        change(&mut document, &format!("body.{name}"), &copy, None).unwrap();
        assert_eq!((names(&document).as_str(), name.as_str()), ("bar floor bar_2", "bar_2"));
        assert!(document.has_other_bodies() && document.is_pending() && document.is_changed());
        assert_eq!(document.scene().given("body.bar_2.position").as_deref(), Some("[2.0, 1.1, 0.0]"));
        change(&mut document, "body.bar.position", "[0.0, 3.0, 0.0]", None).unwrap();
        change(&mut document, "body.bar", "", None).unwrap();
        assert_eq!((names(&document).as_str(), document.scene().unused_body_name("bar").as_str()), ("floor bar_2", "bar_3"));
        let assignments = document.assignments();
        document.built_with(&assignments);
        assert!(!document.has_other_bodies());
        let text = document.text_for(Path::new(""), &[]).unwrap();
        let read = Scene::from_text("s", "s.toml", &text, None, &[]).unwrap();
        assert_eq!(read.bodies(), document.scene().bodies());
        document.undo();
        assert!(document.has_other_bodies());
        assert_eq!(document.scene().given("body.bar.position").as_deref(), Some("[0.0, 3.0, 0.0]"));
        document.undo();
        assert_eq!(document.scene().given("body.bar.position").as_deref(), Some("[0.0, 1.0, 0.0]"));
        document.undo();
        assert_eq!(names(&document), "bar floor");
        document.redo();
        document.redo();
        document.redo();
        assert_eq!(document.text_for(Path::new(""), &[]).unwrap(), text);
    }

    /// Values that act at once are exactly those from which commands follow.
    #[test]
    fn live_values_become_commands_and_others_do_not() {
        let text = TEXT.replace("[simulation]\n", "[contact]\nfriction = 0.5\n[simulation]\n");
        let scene = Scene::from_text("s", "s.toml", &text, None, &[]).unwrap();
        let mut n_live = 0;
        for table in ["simulation", "contact", "material.soft", "body.bar", "camera", "light", "recording"] {
            for value in scene.values(table).unwrap().into_iter().flat_map(|group| group.values) {
                for other in [
                    "3",
                    "0.25",
                    "0.003",
                    "[1.0, 2.0, 3.0]",
                    "\"teal\"",
                    "\"pgs\"",
                    "\"bdf2\"",
                    "\"jacobi\"",
                    "\"neo_hookean\"",
                    "\"liver\"",
                ] {
                    let Ok(edited) = scene.edited(&[format!("{}={other}", value.path)]) else { continue };
                    let commands = commands_between(&scene.live_values(), &edited.live_values());
                    assert_eq!(!commands.is_empty(), value.field.live, "{}={other}: {commands:?}", value.path);
                    n_live += commands.len();
                    // And back again.
                    let back = commands_between(&edited.live_values(), &scene.live_values());
                    assert_eq!(back.len(), commands.len());
                }
            }
        }
        assert!(n_live > 20, "{n_live}");
        let pair = "contact.pair=[{ a = \"bar\", b = \"floor\", friction = 0.1 }]".to_owned();
        let commands = commands_between(&scene.live_values(), &scene.edited(&[pair]).unwrap().live_values());
        assert!(matches!(&commands[..], [Command::SetFriction(friction)] if friction.pairs.len() == 1), "{commands:?}");
    }

    #[test]
    fn every_scene_of_the_gallery_is_written_back_as_it_is() {
        for entry in gallery() {
            let scene = Scene::builtin(entry.name).unwrap();
            assert_eq!(scene.text_for(Path::new("")).unwrap(), entry.text, "{}", entry.name);
        }
    }

    /// A change of a value that every scene with a floor has, in the spelling of a hand.
    fn some_change() -> impl Strategy<Value = (String, String, Option<u64>)> {
        let number = (1u32..50).prop_map(|n| f64::from(n) / 10.0);
        let change = prop_oneof![
            number.clone().prop_map(|x| ("material.soft.young_modulus".to_owned(), format!("{x:?}"))),
            number.clone().prop_map(|x| ("simulation.gravity".to_owned(), format!("[0.0, {x:?}, 0.0]"))),
            number.clone().prop_map(|x| ("body.bar.position".to_owned(), format!("[{x:?}, 0.0, 0.0]"))),
            number.clone().prop_map(|x| ("contact.friction".to_owned(), format!("{x:?}"))),
            number.prop_map(|x| ("contact.pair".to_owned(), format!("[{{ a = \"bar\", b = \"floor\", friction = {x:?} }}]"))),
            Just(("body.bar.color".to_owned(), "\"teal\"".to_owned())),
            Just(("body.ball".to_owned(), "{ kind = \"rigid\", shape = { type = \"sphere\", radius = 0.1 } }".to_owned())),
            Just(("body.floor.color".to_owned(), "\"coral\"".to_owned())),
        ];
        (change, prop_oneof![Just(None), (1u64..3).prop_map(Some)]).prop_map(|((path, value), gesture)| (path, value, gesture))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

        /// Undo leads back through all states, redo forth again; what is saved is read as the same scene.
        #[test]
        fn undo_and_redo_walk_the_same_way(changes in prop::collection::vec(some_change(), 1..12)) {
            let mut document = document();
            let mut states = vec![document.assignments()];
            for (path, value, gesture) in changes {
                let before = document.undo.len();
                change(&mut document, &path, &value, gesture).unwrap();
                states.truncate(document.undo.len().min(before + 1));
                states.push(document.assignments());
                states.truncate(document.undo.len() + 1);
            }
            let text = document.text_for(Path::new(""), &[]).unwrap();
            let read = Scene::from_text("s", "s.toml", &text, None, &[]).unwrap();
            prop_assert_eq!(read.live_values(), document.scene().live_values());
            prop_assert_eq!(read.bodies(), document.scene().bodies());
            for path in ["body.bar.position", "body.bar.color", "contact.pair.0.friction"] {
                prop_assert_eq!(read.given(path), document.scene().given(path));
            }
            prop_assert!(text.contains("time_step = 0.01 # small"));
            prop_assert_eq!(&read.text_for(Path::new("")).unwrap(), &text);
            let n = document.undo.len();
            for k in (0..n).rev() {
                document.undo().unwrap();
                let mut expected = states[k].clone();
                let mut found = document.assignments();
                expected.sort();
                found.sort();
                prop_assert_eq!(found, expected);
            }
            prop_assert_eq!(document.text_for(Path::new(""), &[]).unwrap(), TEXT);
            for _ in 0..n {
                document.redo().unwrap();
            }
            prop_assert_eq!(document.text_for(Path::new(""), &[]).unwrap(), text);
        }
    }
}
