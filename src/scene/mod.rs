//! Scene files: parsed, changed by `--set`, checked, and built into a model.
//!
//! `format` declares every value once. A `Document` is the file as written, with places; a `Scene` is a document whose
//! values have been checked and read; `build` makes meshes of it and joins them into a `Model`.

mod at_rest;
mod build;
mod check;
mod color;
mod error;
#[cfg(feature = "cli")]
mod excerpt;
mod format;
mod gallery;
mod geometry;
mod inspect;
mod moving;
mod names;
mod node;
mod nodes;
mod placing;
mod plausible;
mod random;
mod read;
mod reference;
mod regions;
mod set;
mod settings;
mod spec;
mod start;
mod suggest;
#[cfg(test)]
mod tests;
mod text;
mod up;
mod value;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use build::{Built, Force, MeshOrigin, Probe, RecordedGrab, build, build_unless};
pub use color::color_bytes;
pub use error::{Diagnostic, Message, Place, SceneError, did_you_mean, unknown};
pub use gallery::{GALLERY_SESSION, GalleryEntry, THUMBNAIL_SIZE, builtin_scenes, experiments, gallery};
pub use geometry::MENDED;
pub use inspect::{BodyOutline, LiveValues, PaintStroke, SceneValue, ValueGroup, number_fault};
pub use names::Rename;
pub use nodes::Transform;
pub use read::material_fault;
pub use reference::{json_schema, reference};
pub use settings::{BackendChoice, CameraSetting, LightSetting, RecordingSetting};
pub use spec::{Field, Kind, Presence, Range, Table};
pub use text::TextError;

use up::Up;
use value::{Origin, Value};

use crate::mesh::{ENDINGS, Format};

/// A file as written, with the places of its values.
#[derive(Clone, Debug)]
struct Document {
    /// Name of the file in messages.
    file: String,
    text: Arc<str>,
    /// Written by the program around a mesh: nobody knows its lines.
    generated: bool,
    /// The `--set` flags that changed it.
    flags: Vec<String>,
    root: Value,
}

/// A checked scene.
#[derive(Clone, Debug)]
pub struct Scene {
    name: String,
    /// Folder that relative paths start from; none for a scene inside the program.
    folder: Option<PathBuf>,
    document: Document,
    content: read::Content,
}

impl Scene {
    /// Reads and checks a scene file.
    pub fn from_file(path: &Path) -> Result<Self, SceneError> {
        Self::from_file_with(path, &[])
    }

    /// A scene of the gallery by its name.
    pub fn builtin(name: &str) -> Result<Self, SceneError> {
        Self::builtin_with(name, &[])
    }

    /// A mesh as a soft body above a floor.
    pub fn from_mesh(path: &Path) -> Result<Self, SceneError> {
        Self::from_mesh_with(path, &[])
    }

    /// Loads the scene that a user names on the command line (a scene file, a mesh file or a scene of the gallery),
    /// changed by `--set` flags before it is checked.
    pub fn load(target: &str, flags: &[String]) -> Result<Self, SceneError> {
        let path = Path::new(target);
        if path.is_file() {
            return if is_mesh(path) { Self::from_mesh_with(path, flags) } else { Self::from_file_with(path, flags) };
        }
        if builtin_scenes().any(|entry| entry.name == target) {
            return Self::builtin_with(target, flags);
        }
        let what = if path.is_dir() { "this is a folder" } else { "there is no such file" };
        Err(SceneError::one(
            Place::File { file: target.to_owned() },
            "",
            error::unknown(&format!("{what}, and no scene of the gallery has this name"), target, builtin_scenes().map(|e| e.name)),
        ))
    }

    /// Changes one value: `PATH=VALUE`. A refused change leaves the scene as it was.
    pub fn set(&mut self, assignment: &str) -> Result<(), SceneError> {
        let mut document = self.document.clone();
        set::apply(&mut document, assignment)?;
        self.content = read::read(&document)?;
        self.document = document;
        Ok(())
    }

    /// The scene with several values changed as by [`Scene::set`], in this order, and checked at the end.
    pub fn edited(&self, assignments: &[String]) -> Result<Self, SceneError> {
        let mut scene = self.clone();
        assignments.iter().try_for_each(|assignment| set::apply(&mut scene.document, assignment))?;
        scene.content = read::read(&scene.document)?;
        Ok(scene)
    }

    /// A scene from the text of a file. `file` is what messages call it.
    pub fn from_text(name: &str, file: &str, text: &str, folder: Option<&Path>, flags: &[String]) -> Result<Self, SceneError> {
        let text: Arc<str> = text.into();
        let root = Value::parse_document(&text).map_err(|faults| not_toml(file, &text, faults))?;
        let mut document = Document { file: file.to_owned(), text, generated: false, flags: vec![], root };
        for flag in flags {
            set::apply(&mut document, flag)?;
        }
        let content = read::read(&document)?;
        Ok(Self { name: name.to_owned(), folder: folder.map(Path::to_owned), document, content })
    }

    /// File name without its ending, or name in the gallery.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Name of the scene in menus.
    pub fn title(&self) -> &str {
        self.content.title.as_deref().unwrap_or(&self.name)
    }

    pub fn description(&self) -> &str {
        &self.content.description
    }

    /// The files that it was read from: its own, and those of its meshes. None of a scene inside the program.
    pub fn files(&self) -> Vec<PathBuf> {
        let own = (!self.document.generated && self.folder.is_some()).then(|| PathBuf::from(&self.document.file));
        own.into_iter()
            .chain(
                self.content
                    .bodies
                    .iter()
                    .flat_map(|body| body.files())
                    .filter(|file| !file.starts_with("builtin:"))
                    .map(|file| self.folder.as_deref().unwrap_or(Path::new("")).join(file)),
            )
            .collect()
    }

    fn from_file_with(path: &Path, flags: &[String]) -> Result<Self, SceneError> {
        let file = path.display().to_string();
        let unreadable = |reason: &dyn std::fmt::Display| {
            SceneError::one(Place::File { file: file.clone() }, "", format!("the scene cannot be read: {reason}"))
        };
        let bytes = std::fs::read(path).map_err(|e| unreadable(&e))?;
        let text =
            String::from_utf8(bytes).map_err(|_| unreadable(&format!("it is neither text in UTF-8 nor a mesh ({})", mesh_endings("."))))?;
        let is_other = path.extension().is_some_and(|ending| !ending.eq_ignore_ascii_case("toml"));
        if is_other && Value::parse_document(&text).is_err() {
            return Err(unreadable(&format!("it is neither a scene (TOML) nor a mesh of a known ending ({})", mesh_endings("."))));
        }
        Self::from_text(&stem(path), &file, &text, Some(path.parent().unwrap_or(Path::new(""))), flags)
    }

    fn builtin_with(name: &str, flags: &[String]) -> Result<Self, SceneError> {
        let Some(entry) = builtin_scenes().find(|entry| entry.name == name) else {
            let names = builtin_scenes().map(|entry| entry.name);
            let message = error::unknown("the gallery has no scene of this name", name, names);
            return Err(SceneError::one(Place::File { file: name.to_owned() }, "", message));
        };
        Self::from_text(name, &format!("{name} (built in)"), entry.text, None, flags)
    }

    /// A mesh as a soft body above a floor, changed by `--set` flags.
    pub fn from_mesh_with(path: &Path, flags: &[String]) -> Result<Self, SceneError> {
        // Written as a scene file, so that it takes the same way and the same flags.
        let name = stem(path);
        let mesh = toml::Value::String(std::path::absolute(path).unwrap_or(path.to_owned()).display().to_string());
        let up = Format::of_name(&path.to_string_lossy()).map_or(Up::default(), Up::usual).name();
        let text = mesh_scene(&body_name(&name), &mesh.to_string(), up);
        let mut scene = Self::from_text(&name, &path.display().to_string(), &text, None, flags)?;
        scene.document.generated = true;
        Ok(scene)
    }
}

/// The name of the material of a mesh that is the scene.
pub const MESH_MATERIAL: &str = "solid";

/// The scene around a mesh that has none: as large as something in the hand, about as fine as the bodies of the
/// gallery, and as stiff as silicone rubber, so that thin legs carry what stands on them: where they fold, each step
/// takes many times as long. `mesh`: its path as TOML.
fn mesh_scene(name: &str, mesh: &str, up: &str) -> String {
    format!(
        r#"format = 1

[material.{MESH_MATERIAL}]
young_modulus = 2e5
poisson_ratio = 0.4
stiffness_damping = 0.002

[[body]]
name = "{name}"
mesh = {mesh}
up = "{up}"
size = 0.3
origin = "bottom"
position = [0.0, 0.05, 0.0]
tets = 8_000
method = "voxel"
subdivide = "on"
collision_surface = "auto"
material = "{MESH_MATERIAL}"
element = "linear"

[[body]]
name = "floor"
kind = "static"
shape = {{ type = "plane" }}
"#
    )
}

/// A file's name as that of a body.
fn body_name(stem: &str) -> String {
    let name: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' }).collect();
    match name.trim_matches('_') {
        "" => "body".to_owned(),
        "floor" => "floor_mesh".to_owned(),
        name => name.to_owned(),
    }
}

impl Document {
    fn place(&self, origin: Origin) -> Place {
        match origin {
            Origin::File { .. } if self.generated => Place::File { file: self.file.clone() },
            Origin::File { start, end } => Place::at(&self.file, &self.text, start..end),
            Origin::Flag(flag) => Place::Flag { flag: self.flags[flag].clone() },
        }
    }

    /// Mistakes in this document, in the order of its text; those of flags come last.
    fn error(&self, mut diagnostics: Vec<Diagnostic>) -> SceneError {
        let order = |diagnostic: &Diagnostic| match &diagnostic.place {
            Place::File { .. } => 0,
            Place::Line { bytes, .. } => bytes.start,
            Place::Flag { .. } => usize::MAX,
        };
        diagnostics.sort_by_key(order);
        SceneError { diagnostics, text: (!self.generated).then(|| self.text.clone()) }
    }
}

/// The mistakes of a text that is not TOML, one a line: what follows on a line is mostly due to the first.
fn not_toml(file: &str, text: &Arc<str>, faults: Vec<(String, std::ops::Range<usize>)>) -> SceneError {
    let line = |diagnostic: &Diagnostic| if let Place::Line { line, .. } = diagnostic.place { line } else { 0 };
    let told = |(message, bytes)| Diagnostic::new(Place::at(file, text, bytes), "", format!("this is not TOML: {message}"));
    let mut diagnostics: Vec<Diagnostic> = faults.into_iter().map(told).collect();
    diagnostics.sort_by_key(line);
    diagnostics.dedup_by_key(|diagnostic| line(diagnostic));
    SceneError { diagnostics, text: Some(text.clone()) }
}

/// Whether a path is named like a mesh.
pub fn is_mesh(path: &Path) -> bool {
    Format::of_name(&path.to_string_lossy()).is_some()
}

/// The endings of mesh files in one line, each behind `mark`.
pub fn mesh_endings(mark: &str) -> String {
    ENDINGS.iter().map(|(ending, _)| format!("{mark}{ending}")).collect::<Vec<_>>().join(", ")
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
