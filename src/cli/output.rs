//! Files that appear complete or not at all, and whose place is known to be writable before the work begins.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::Failure;

/// A file under a temporary name beside its place; `finish` renames it, dropping it removes it.
pub struct OutputFile {
    path: PathBuf,
    temporary: PathBuf,
    writer: Option<BufWriter<File>>,
}

impl OutputFile {
    /// Starts a file. Fails at once where it could not be finished.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        let refuse = |reason: &str| Failure::Input(format!("cannot write {}: {reason}; choose another place", path.display()));
        let Some(name) = path.file_name().filter(|_| !path.is_dir()) else {
            return Err(refuse("it is a folder"));
        };
        if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty() && !f.is_dir()) {
            return Err(refuse(&format!("the folder {} does not exist", folder.display())));
        }
        let temporary = path.with_file_name(format!(".{}.{}.partial", name.to_string_lossy(), std::process::id()));
        let file = File::create(&temporary).map_err(|error| refuse(&error.to_string()))?;
        Ok(Self { path: path.to_owned(), temporary, writer: Some(BufWriter::new(file)) })
    }

    pub fn write_line(&mut self, line: &str) -> Result<(), Failure> {
        let result = match &mut self.writer {
            Some(writer) => writeln!(writer, "{line}"),
            None => Ok(()),
        };
        result.map_err(|error| self.failed(&error))
    }

    /// Completes the file under its own name.
    pub fn finish(mut self) -> Result<(), Failure> {
        let flushed = match self.writer.take() {
            Some(writer) => writer.into_inner().map_err(|error| error.into_error()).and_then(|file| file.sync_all()),
            None => Ok(()),
        };
        flushed.and_then(|()| std::fs::rename(&self.temporary, &self.path)).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &std::io::Error) -> Failure {
        Failure::Run(format!("cannot write {}: {error}; nothing was left there", self.path.display()))
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        drop(self.writer.take());
        // After `finish` the name is gone already, which is as wanted.
        let _ = std::fs::remove_file(&self.temporary);
    }
}

/// Whether a file could be written here.
pub fn check_writable(path: &Path) -> Result<(), Failure> {
    OutputFile::create(path).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_appear_whole_or_not_at_all() {
        let folder = std::env::temp_dir().join(format!("pliant-output-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let entries = || std::fs::read_dir(&folder).unwrap().count();
        let path = folder.join("report.json");
        let write = |text: &str, finish: bool| {
            let Ok(mut file) = OutputFile::create(&path) else { panic!("the folder is writable") };
            assert!(file.write_line(text).is_ok());
            assert!(!finish || file.finish().is_ok());
        };
        write("lost", false);
        assert_eq!(entries(), 0);
        write("kept", true);
        write("lost again", false);
        assert_eq!((std::fs::read_to_string(&path).unwrap().as_str(), entries()), ("kept\n", 1));
        for bad in [folder.clone(), folder.join("nowhere/report.json"), path.join("below-a-file")] {
            assert!(matches!(OutputFile::create(&bad), Err(Failure::Input(_))), "{}", bad.display());
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
