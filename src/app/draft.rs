//! A mesh that is to become a body of the open scene: it is filled beside the simulation, on a thread of its own, and
//! shown where it would stand until it is added or given up.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use super::document::Document;
use super::faults::Checkup;
use super::file_name;
use super::import::Import;
use crate::cancel::{CancelToken, Progress};
use crate::math::{Aabb, Vec3};
use crate::mesh::open_mesh_unless;
use crate::model::Model;
use crate::scene::{self, MESH_MATERIAL, Scene, SceneError, Transform};

/// The mesh with what was chosen for it so far.
pub struct Draft {
    path: PathBuf,
    /// The mesh as a scene of its own: what its sheet changes.
    document: Document,
    /// The body in that scene.
    body: String,
    /// The material of the open scene that the body will have; one of its own if none.
    pub material: Option<String>,
    /// A value was changed since the work began.
    is_stale: bool,
    work: Option<Work>,
    /// The newest result; none before the first one.
    prepared: Option<Prepared>,
}

/// What came of the mesh with the values of its sheet.
pub struct Prepared {
    /// None where the file cannot be read.
    pub import: Option<Import>,
    /// What the doctor found.
    pub checkups: Vec<Checkup>,
    /// Changes that reading and mending made, and doubts about sizes and weights, a sentence each.
    pub notes: Vec<String>,
    /// The body, or why nothing came of it.
    pub model: Result<Arc<Model>, String>,
}

/// A thread at work, and the end of it.
struct Work {
    cancel: CancelToken,
    result: Receiver<Prepared>,
}

impl Draft {
    /// A mesh that stands with its foot at `at` [m], its longest side `size` [m] long. Nothing is prepared yet.
    ///
    /// # Errors
    /// Why the file is no mesh that could be added, as a sentence.
    pub fn new(path: PathBuf, size: f64, at: &Vec3) -> Result<Self, String> {
        let flags = [format!("body.0.size={size:?}"), format!("body.0.position=[{:?}, {:?}, {:?}]", at.x, at.y, at.z)];
        let scene = Scene::from_mesh_with(&path, &flags).map_err(|error| sentence(&error))?;
        let body = scene.bodies().first().map(|body| body.name.clone()).unwrap_or_default();
        let document = Document::new(Arc::new(scene), None);
        Ok(Self { path, document, body, material: None, is_stale: true, work: None, prepared: None })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its name.
    pub fn file(&self) -> String {
        file_name(&self.path)
    }

    pub fn document(&self) -> &Document {
        &self.document
    }

    pub fn prepared(&self) -> Option<&Prepared> {
        self.prepared.as_ref()
    }

    /// Its body, if something came of the mesh.
    pub fn model(&self) -> Option<&Arc<Model>> {
        self.prepared.as_ref()?.model.as_ref().ok()
    }

    /// The box around its body [m].
    pub fn bounds(&self) -> Option<Aabb> {
        self.model().map(|model| Aabb::of(&model.surface_positions(&model.rest_positions)))
    }

    /// How far the work is; none while nothing is at work.
    pub fn progress(&self) -> Option<Progress> {
        self.work.as_ref().map(|work| work.cancel.progress())
    }

    /// What is shown is what would be added.
    pub fn is_ready(&self) -> bool {
        !self.is_stale && self.work.is_none() && self.model().is_some()
    }

    /// Changes values of its sheet, by the paths of its own scene.
    ///
    /// # Errors
    /// What is wrong with a value, as a sentence; then nothing has changed.
    pub fn change(&mut self, values: &[(String, String)], gesture: Option<u64>) -> Result<(), String> {
        self.document.change(values, gesture)?;
        self.is_stale = true;
        Ok(())
    }

    /// Begins to fill it with the values that it has now, if others were filled last; what was under way ends.
    pub fn prepare(&mut self) {
        if !std::mem::take(&mut self.is_stale) {
            return;
        }
        if let Some(before) = self.work.take() {
            before.cancel.cancel();
        }
        let (cancel, (sender, result)) = (CancelToken::default(), channel());
        let (scene, path, token) = (self.document.scene().clone(), self.path.clone(), cancel.clone());
        let started = std::thread::Builder::new().name("import".into()).spawn(move || {
            let done = catch_unwind(AssertUnwindSafe(|| prepare(&scene, &path, &token)));
            // Who gave the draft up listens no longer.
            drop(sender.send(done.unwrap_or_else(|_| Prepared::nothing("an internal error; please report it".into()))));
        });
        match started {
            Ok(_) => self.work = Some(Work { cancel, result }),
            Err(error) => self.prepared = Some(Prepared::nothing(format!("its thread could not be started: {error}"))),
        }
    }

    /// Takes over what the thread has made; true where there is something new.
    pub fn poll(&mut self) -> bool {
        let Some(work) = &self.work else { return false };
        match work.result.try_recv() {
            Err(TryRecvError::Empty) => return false,
            Ok(prepared) => self.prepared = Some(prepared),
            // The thread has sent nothing: that cannot be, and then what was there stays.
            Err(TryRecvError::Disconnected) => {}
        }
        self.work = None;
        true
    }

    /// The name of the body in the open scene, and the values that add it there, in their order.
    pub fn values(&self, open: &Scene) -> Option<(String, Vec<(String, String)>)> {
        let own = self.document.scene();
        let name = open.unused_body_name(&self.body);
        let (material, mut values) = match &self.material {
            Some(material) => (material.clone(), vec![]),
            None => {
                let material = unused(&name, &open.material_names());
                let value = (format!("material.{material}"), own.given(&format!("material.{MESH_MATERIAL}"))?);
                (material, vec![value])
            }
        };
        let mut entry: toml_edit::Value = own.given(&format!("body.{}", self.body))?.parse().ok()?;
        let table = entry.as_inline_table_mut()?;
        table.remove("name");
        table.insert("material", material.into());
        values.push((format!("body.{name}"), entry.to_string().trim().to_owned()));
        Some((name, values))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(work) = &self.work {
            work.cancel.cancel();
        }
    }
}

impl Prepared {
    fn nothing(why: String) -> Self {
        Self { import: None, checkups: vec![], notes: vec![], model: Err(why) }
    }
}

/// Fills the mesh as its scene says, and examines it; where nothing comes of it, at least the latter.
fn prepare(scene: &Scene, path: &Path, cancel: &CancelToken) -> Prepared {
    let body = scene.bodies().first().map(|body| body.name.clone()).unwrap_or_default();
    let import = |checkup: &Checkup| Import::new(body.clone(), checkup.file.clone(), &checkup.report);
    match scene::build_unless(scene, cancel) {
        Ok(built) => {
            let mut checkups: Vec<Checkup> = built.meshes.iter().filter_map(|origin| Checkup::of(origin, &built.model, cancel)).collect();
            let import = checkups.first().map(import);
            checkups.retain(|checkup| !checkup.report.findings.is_empty());
            let mut notes: Vec<String> = built.notes.iter().cloned().chain(built.doubts()).collect();
            // The verdict says in full what was wrong.
            notes.retain(|note| checkups.is_empty() || !note.ends_with(scene::MENDED));
            Prepared { import, checkups, notes, model: Ok(built.model) }
        }
        Err(error) => {
            let why = sentence(&error);
            let Ok(file) = open_mesh_unless(path, cancel) else { return Prepared::nothing(why) };
            let checkup = Checkup::of_refused(path, &file, &Transform::identity(), why.clone());
            Prepared { import: Some(import(&checkup)), checkups: vec![checkup], notes: vec![], model: Err(why) }
        }
    }
}

fn sentence(error: &SceneError) -> String {
    error.diagnostics.first().map(scene::Diagnostic::sentence).unwrap_or_default()
}

/// `name`, or with the first number with which it is none of `taken`.
fn unused(name: &str, taken: &[String]) -> String {
    let numbered = (2..).map(|n: u64| format!("{name}_{n}"));
    let is_free = |name: &String| !taken.contains(name);
    std::iter::once(name.to_owned()).chain(numbered).find(is_free).unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::scene::build;

    const OPEN: &str = "format = 1\n[material.cube]\n[[body]]\nname = \"cube\"\nmaterial = \"cube\"\n\
                        shape = { type = \"box\", size = [0.4, 0.2, 0.2], cells = [2, 1, 1] }\nposition = [0, 0.2, 0]\n";

    fn data(file: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(file)
    }

    fn prepared(draft: &mut Draft) -> &Prepared {
        draft.prepare();
        let deadline = Instant::now() + Duration::from_secs(60);
        while !draft.poll() {
            assert!(Instant::now() < deadline, "the mesh is not filled");
            std::thread::sleep(Duration::from_millis(2));
        }
        draft.prepared().unwrap()
    }

    /// What is added is what was shown: at its place, of its size, with the values of the sheet, of its own material.
    #[test]
    fn a_draft_becomes_the_body_that_it_shows() {
        let at = Vec3::new(1.0, 2.0, 3.0);
        let mut draft = Draft::new(data("cube.off"), 0.5, &at).unwrap();
        assert!(!draft.is_ready() && draft.progress().is_none() && draft.bounds().is_none());
        let set = |draft: &mut Draft, path: &str, value: &str| draft.change(&[(path.to_owned(), value.to_owned())], None);
        set(&mut draft, "body.cube.tets", "1000").unwrap();
        set(&mut draft, "body.cube.size", "0.25").unwrap();
        set(&mut draft, "material.solid.young_modulus", "3e5").unwrap();
        assert!(set(&mut draft, "body.cube.tets", "-1").is_err());
        let made = prepared(&mut draft);
        assert!(made.import.as_ref().is_some_and(|import| import.is_sound && import.body == "cube") && made.checkups.is_empty());
        let surface = |model: &Model| model.surface_positions(&model.rest_positions);
        let shown = surface(draft.model().unwrap());
        let bounds = Aabb::of(&shown);
        assert!((bounds.extent().max() - 0.25).abs() < 1e-9 && (bounds.min.y - 2.0).abs() < 1e-9 && draft.is_ready());

        let mut open = Scene::from_text("s", "s.toml", OPEN, None, &[]).unwrap();
        let (name, values) = draft.values(&open).unwrap();
        assert_eq!(name, "cube_2", "the scene has one of that name");
        values.iter().for_each(|(path, value)| open.set(&format!("{path}={value}")).unwrap());
        assert_eq!(open.material_names(), ["cube", "cube_2"], "and a material");
        assert_eq!(open.given("material.cube_2.young_modulus").unwrap().parse::<f64>().unwrap(), 3e5);
        let built = build(&open).unwrap();
        let body = &built.model.bodies[1];
        assert_eq!(surface(&built.model)[body.vertices.clone()], shown[..]);

        // Of a material that is there already, nothing is added but the body.
        draft.material = Some("cube".into());
        let (_, values) = draft.values(&open).unwrap();
        assert!(values.len() == 1 && values[0].0 == "body.cube_3" && values[0].1.contains("material = \"cube\""), "{values:?}");
    }

    /// A mesh of which nothing comes says why, and a file that is none is no draft.
    #[test]
    fn what_cannot_be_added_says_why() {
        let folder = std::env::temp_dir().join(format!("pliant-draft-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let flat = folder.join("flat.obj");
        std::fs::write(&flat, "v 0 0 0\nv 1 0 0\nv 1 0 1\nv 0 0 1\nf 1 2 3\nf 1 3 4\nf 2 1 4\nf 2 4 3\n").unwrap();
        let mut draft = Draft::new(flat, 0.5, &Vec3::zeros()).unwrap();
        let made = prepared(&mut draft);
        assert!(made.model.as_ref().is_err_and(|why| !why.is_empty()) && made.import.is_some());
        assert!(!draft.is_ready() && draft.bounds().is_none());
        let mut missing = Draft::new(folder.join("missing.obj"), 0.5, &Vec3::zeros()).unwrap();
        let made = prepared(&mut missing);
        assert!(made.import.is_none() && made.model.as_ref().is_err_and(|why| !why.is_empty()));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn names_that_are_taken_are_numbered() {
        let taken = ["a".to_owned(), "a_2".to_owned()];
        assert_eq!((unused("a", &taken), unused("b", &taken)), ("a_3".to_owned(), "b".to_owned()));
    }
}
