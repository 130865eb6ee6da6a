//! The window: a 3D view of a running simulation, and everything that is done to it with mouse and keyboard.
//!
//! `worker` runs the simulation on its own thread; `session` decides what the window's events mean; `ui` draws panels
//! and answers with `Action`s; `graphics` puts both pictures on the screen; `window` ties them to winit.

mod advice;
mod autosave;
mod brush;
mod coloring;
mod contacts;
mod document;
mod draft;
mod engine;
mod events;
mod exporting;
mod faults;
mod files;
mod film;
mod folder;
mod format;
mod gizmo;
mod graphics;
mod guide;
mod history;
mod import;
mod job;
mod markdown;
mod inside;
mod judge;
mod opener;
mod panel_painter;
mod pins;
mod plots;
mod pointer;
mod recent;
mod recorder;
mod running;
mod selection;
mod session;
mod settings;
mod tools;
mod ui;
mod verifier;
mod views;
mod window;
mod worker;

use std::path::{Path, PathBuf};

pub use window::run;

/// Scene to open and the way to do it.
#[derive(Clone, Debug, Default)]
pub struct AppOptions {
    pub scene: SceneSource,
    /// Instead of the scenes' own choice.
    pub backend: Option<crate::scene::BackendChoice>,
    /// Part of an adapter's name.
    pub adapter: Option<String>,
    /// Where to write a line for each thing that happens; tests read them.
    pub log_events: Option<PathBuf>,
}

/// Where a scene comes from.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum SceneSource {
    /// The first of the gallery.
    #[default]
    Default,
    /// One of the scenes built into the program.
    Gallery(String),
    /// A scene, or a mesh that becomes a soft body above a floor.
    Path(PathBuf),
    /// A recorded session, which is repeated to its end.
    Session(PathBuf),
    /// Another one, with values changed as by `--set` since it was read.
    Edited(Box<SceneSource>, Vec<String>, ReadScene),
}

/// A scene as it was read once; what is in its file by now does not matter.
#[derive(Clone, Debug)]
pub struct ReadScene(std::sync::Arc<crate::scene::Scene>);

impl PartialEq for ReadScene {
    fn eq(&self, other: &Self) -> bool {
        std::sync::Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Endings of the files of sessions.
pub const SESSION_ENDINGS: [&str; 2] = ["session", "jsonl"];

impl SceneSource {
    /// A file by its ending.
    fn of_path(path: PathBuf) -> Self {
        let is_session = path.extension().is_some_and(|ending| SESSION_ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known)));
        if is_session { Self::Session(path) } else { Self::Path(path) }
    }

    /// Where it comes from, without changed values.
    fn base(&self) -> &Self {
        if let Self::Edited(base, ..) = self { base.base() } else { self }
    }

    /// Whether it is the open scene, built again with what was changed in the window.
    fn is_edited(&self) -> bool {
        matches!(self, Self::Edited(..))
    }

    /// The values that are changed.
    fn set(&self) -> &[String] {
        if let Self::Edited(_, set, _) = self { set } else { &[] }
    }

    /// What `pliant run` calls it.
    fn scene(&self) -> String {
        match self {
            Self::Default => crate::scene::gallery()[0].name.to_owned(),
            Self::Gallery(name) => name.clone(),
            Self::Path(path) | Self::Session(path) => path.to_string_lossy().into_owned(),
            Self::Edited(base, ..) => base.scene(),
        }
    }

    /// How the window calls it.
    fn label(&self) -> String {
        match self {
            Self::Default => "gallery".to_owned(),
            Self::Gallery(name) => name.clone(),
            Self::Path(path) | Self::Session(path) => file_name(path),
            Self::Edited(base, ..) => base.label(),
        }
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
