//! The scenes opened last, kept in the user's configuration folder.

use std::path::{Path, PathBuf};

use crate::output::{OutputError, OutputFile, create_folder};

/// Newest first; at most `LIMIT` paths.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recent {
    pub paths: Vec<PathBuf>,
    file: Option<PathBuf>,
}

const LIMIT: usize = 10;

/// `PLIANT_CONFIG_DIR` names another folder than the user's own (tests do that).
pub fn config_folder() -> Option<PathBuf> {
    match std::env::var_os("PLIANT_CONFIG_DIR") {
        Some(folder) => Some(folder.into()),
        None => dirs::config_dir().map(|folder| folder.join("pliant")),
    }
}

impl Recent {
    /// The list in `folder`, without files that are gone; empty when there is none yet or it cannot be read.
    pub fn load(folder: Option<&Path>) -> Self {
        let file = folder.map(|folder| folder.join("recent.json"));
        let paths = file
            .as_ref()
            .and_then(|file| std::fs::read_to_string(file).ok())
            .and_then(|text| serde_json::from_str::<Vec<PathBuf>>(&text).ok())
            .unwrap_or_default();
        Self { paths: paths.into_iter().filter(|path| path.exists()).take(LIMIT).collect(), file }
    }

    /// Puts `path` first and writes the list; the error is a sentence.
    pub fn add(&mut self, path: &Path) -> Result<(), String> {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        self.paths.retain(|known| *known != path);
        self.paths.insert(0, path);
        self.paths.truncate(LIMIT);
        self.save()
    }

    pub fn clear(&mut self) -> Result<(), String> {
        self.paths.clear();
        self.save()
    }

    fn save(&self) -> Result<(), String> {
        let Some(file) = &self.file else { return Ok(()) };
        let write = || {
            file.parent().map_or(Ok(()), create_folder)?;
            let text = serde_json::to_string_pretty(&self.paths).map_err(|error| OutputError::of(file, error.into()))?;
            OutputFile::save(file, text.as_bytes())
        };
        write().map_err(|error: OutputError| format!("The list of recent files could not be written to {}: {error}.", file.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_first_without_repeats_and_kept() {
        let folder = std::env::temp_dir().join(format!("pliant-recent-{}", std::process::id()));
        let mut recent = Recent::load(Some(&folder));
        assert!(recent.paths.is_empty());
        let path = |k: usize| folder.join(format!("{k}.toml"));
        std::fs::create_dir_all(&folder).unwrap();
        for k in (0..12).chain([5]) {
            std::fs::write(path(k), "").unwrap();
            recent.add(&path(k)).unwrap();
        }
        assert_eq!(recent.paths.len(), LIMIT);
        assert_eq!(recent.paths[..3], [path(5), path(11), path(10)]);
        assert_eq!(Recent::load(Some(&folder)), recent);
        std::fs::remove_file(path(11)).unwrap();
        assert_eq!(Recent::load(Some(&folder)).paths[..2], [path(5), path(10)], "what is gone is not shown");
        std::fs::write(folder.join("recent.json"), "not json").unwrap();
        assert!(Recent::load(Some(&folder)).paths.is_empty());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_list_that_cannot_be_written_says_where() {
        let file = std::env::temp_dir().join(format!("pliant-recent-file-{}", std::process::id()));
        std::fs::write(&file, "in the way").unwrap();
        let message = Recent::load(Some(&file)).add(Path::new("a.toml")).unwrap_err();
        assert!(message.contains("recent.json"), "{message}");
        std::fs::remove_file(&file).unwrap();
    }
}
