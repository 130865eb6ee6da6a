//! Where files come from and go to.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::ui::PathPurpose;

/// An answer this quick came from no person: there is no dialog on this system.
const QUICKER_THAN_A_PERSON: Duration = Duration::from_millis(700);

/// Answer of a file dialog.
#[derive(Clone, Debug, PartialEq)]
pub enum Chosen {
    File(PathBuf),
    Nothing,
    /// The system has no file dialogs.
    NoDialog,
}

/// Opens the system's file dialog without waiting for it; `answer` is called on another thread. `name`: of a file to be
/// saved, without its ending.
pub fn choose_file(purpose: PathPurpose, name: &str, answer: impl FnOnce(Chosen) + Send + 'static) -> std::io::Result<()> {
    let meshes = crate::mesh::ENDINGS.map(|(ending, _)| ending);
    let all: Vec<&str> = ["toml"].into_iter().chain(meshes).chain(super::SESSION_ENDINGS).collect();
    let dialog = rfd::AsyncFileDialog::new();
    // Made here: some systems allow dialogs from the main thread only.
    let dialog: Pin<Box<dyn Future<Output = Option<rfd::FileHandle>> + Send>> = match purpose {
        PathPurpose::Open => Box::pin(
            dialog
                .set_title("Open a scene, a mesh or a session")
                .add_filter("Scenes, meshes and sessions", &all)
                .add_filter("Scenes", &["toml"])
                .add_filter("Meshes", &meshes)
                .add_filter("Sessions", &super::SESSION_ENDINGS)
                .pick_file(),
        ),
        PathPurpose::SaveScene => {
            Box::pin(dialog.set_title("Save the scene").add_filter("Scenes", &["toml"]).set_file_name(format!("{name}.toml")).save_file())
        }
        PathPurpose::AddMesh => Box::pin(dialog.set_title("Add a body from a mesh").add_filter("Meshes", &meshes).pick_file()),
        PathPurpose::LoadState => Box::pin(dialog.set_title("Load a saved state").add_filter("States", &["state"]).pick_file()),
    };
    let asked = Instant::now();
    std::thread::Builder::new().name("file dialog".into()).spawn(move || {
        answer(match pollster::block_on(dialog) {
            Some(file) => Chosen::File(file.path().to_owned()),
            None if asked.elapsed() < QUICKER_THAN_A_PERSON => Chosen::NoDialog,
            None => Chosen::Nothing,
        });
    })?;
    Ok(())
}

/// Where screenshots and recordings go: the user's pictures, else the current folder.
pub fn pictures_folder() -> PathBuf {
    // Tests leave nothing where they run.
    if cfg!(test) {
        let folder = std::env::temp_dir().join(format!("pliant-pictures-{}", std::process::id()));
        return std::fs::create_dir_all(&folder).map(|()| folder).unwrap_or_default();
    }
    dirs::picture_dir().filter(|folder| folder.is_dir()).or_else(|| std::env::current_dir().ok()).unwrap_or_default()
}

/// Opens the folder of a file in the system's own program for folders.
pub fn show_in_folder(file: &Path) -> std::io::Result<()> {
    let folder = if file.is_dir() { file } else { file.parent().unwrap_or(file) };
    let program = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    let mut opened = std::process::Command::new(program).arg(folder).spawn()?;
    // It ends by itself, and is waited for so that it leaves nothing behind.
    std::thread::Builder::new().name("folder".into()).spawn(move || opened.wait())?;
    Ok(())
}

/// The first path `stem-N.ending` that is not there yet (without a dot for a folder).
pub fn unused(stem: &str, ending: &str) -> PathBuf {
    let folder = pictures_folder();
    (1..).map(|n: u64| folder.join(format!("{stem}-{n}{ending}"))).find(|path| !path.exists()).unwrap_or(folder)
}

/// The same for a file that comes later: until the program ends nobody else gets its name here, whatever the ending.
/// `is_taken` knows of further names that are not free.
pub fn reserve(stem: &str, ending: &str, is_taken: impl Fn(&str) -> bool) -> PathBuf {
    static RESERVED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut reserved = RESERVED.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = pictures_folder();
    let is_free = |name: &String| !reserved.contains(name) && !folder.join(format!("{name}{ending}")).exists() && !is_taken(name);
    let name = (1..).map(|n: u64| format!("{stem}-{n}")).find(is_free).unwrap_or_default();
    let path = folder.join(format!("{name}{ending}"));
    reserved.insert(name);
    path
}
