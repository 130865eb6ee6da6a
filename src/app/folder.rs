//! What a folder holds, for where the system has no file dialog.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::scene::is_mesh;

/// What a path is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathPurpose {
    #[default]
    Open,
    SaveScene,
    LoadState,
    AddMesh,
}

/// A line of the list under the field for a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Folders come first.
    pub is_file: bool,
    pub name: String,
}

/// What may follow what is typed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    pub folder: PathBuf,
    /// Folders, and files that suit; by name.
    pub entries: Vec<Entry>,
    /// Why there are none.
    pub fault: Option<String>,
}

/// "~/scene.toml" as a shell would read it.
pub fn expand_home(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), dirs::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => path.into(),
    }
}

/// Why a folder is not listed, as a sentence.
fn fault_of(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "There is no such folder.".to_owned(),
        ErrorKind::NotADirectory => "This is no folder.".to_owned(),
        ErrorKind::PermissionDenied => "This folder may not be read.".to_owned(),
        _ => format!("This folder cannot be read: {error}."),
    }
}

impl Listing {
    /// Reads the folder of the typed path: what in it begins with the last part of that, large letters or small.
    pub fn of(typed: &str, purpose: PathPurpose) -> Self {
        let path = expand_home(typed.trim());
        let is_folder = typed.trim().is_empty() || typed.trim().ends_with(std::path::is_separator);
        let begin = if is_folder { String::new() } else { path.file_name().unwrap_or_default().to_string_lossy().to_lowercase() };
        let folder = if is_folder { path } else { path.parent().unwrap_or(Path::new("")).to_owned() };
        let folder = std::path::absolute(if folder.as_os_str().is_empty() { Path::new(".") } else { &folder }).unwrap_or(folder);
        let read = match std::fs::read_dir(&folder) {
            Ok(read) => read,
            Err(error) => return Self { fault: Some(fault_of(&error)), folder, ..Self::default() },
        };
        let suits = |entry: &Entry| {
            let is_hidden = entry.name.starts_with('.') && !begin.starts_with('.');
            !is_hidden && entry.name.to_lowercase().starts_with(&begin) && (!entry.is_file || suits(Path::new(&entry.name), purpose))
        };
        let entry =
            |entry: std::fs::DirEntry| Entry { is_file: !entry.path().is_dir(), name: entry.file_name().to_string_lossy().into_owned() };
        let mut entries: Vec<Entry> = read.flatten().map(entry).filter(suits).collect();
        entries.sort();
        Self { folder, entries, fault: None }
    }

    /// The path of an entry; that of a folder ends with a separator, so that it is what is listed next.
    pub fn path(&self, entry: &Entry) -> String {
        let path = self.folder.join(&entry.name).display().to_string();
        if entry.is_file { path } else { format!("{path}{}", std::path::MAIN_SEPARATOR) }
    }

    /// The folder around this one.
    pub fn above(&self) -> Option<String> {
        let parent = self.folder.parent()?.display().to_string();
        Some(if parent.ends_with(std::path::MAIN_SEPARATOR) { parent } else { format!("{parent}{}", std::path::MAIN_SEPARATOR) })
    }
}

fn suits(path: &Path, purpose: PathPurpose) -> bool {
    let ends = |endings: &[&str]| path.extension().is_some_and(|own| endings.iter().any(|ending| own.eq_ignore_ascii_case(ending)));
    match purpose {
        PathPurpose::Open => ends(&["toml"]) || ends(&super::SESSION_ENDINGS) || is_mesh(path),
        PathPurpose::SaveScene => ends(&["toml"]),
        PathPurpose::AddMesh => is_mesh(path),
        PathPurpose::LoadState => ends(&["state"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_come_first_and_only_what_suits_is_listed() {
        let folder = std::env::temp_dir().join(format!("pliant-folder-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("meshes")).unwrap();
        for name in ["Mug.stl", "mill.toml", "notes.txt", ".hidden.toml", "a.state"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        let typed = |rest: &str| format!("{}/{rest}", folder.display());
        let names =
            |rest: &str, purpose| Listing::of(&typed(rest), purpose).entries.into_iter().map(|entry| entry.name).collect::<Vec<_>>();
        assert_eq!(names("", PathPurpose::Open), ["meshes", "Mug.stl", "mill.toml"]);
        assert_eq!(names("mu", PathPurpose::Open), ["Mug.stl"], "small letters find large ones");
        assert_eq!(names(".h", PathPurpose::SaveScene), [".hidden.toml"], "what is hidden is found by its dot");
        assert_eq!(names("", PathPurpose::LoadState), ["meshes", "a.state"]);
        assert_eq!(names("m", PathPurpose::AddMesh), ["meshes", "Mug.stl"]);

        let listing = Listing::of(&typed("m"), PathPurpose::Open);
        assert_eq!(listing.path(&listing.entries[0]), typed("meshes/"));
        assert_eq!(listing.path(&listing.entries[1]), typed("Mug.stl"));
        assert_eq!(Listing::of(&typed("meshes/"), PathPurpose::Open).above(), Some(typed("")));
        assert_eq!(Listing::of(&typed("missing/x"), PathPurpose::Open).fault.as_deref(), Some("There is no such folder."));
        assert!(Listing::of("", PathPurpose::Open).folder.is_absolute());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
