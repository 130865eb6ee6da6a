//! Files that appear complete or not at all, and whose place is known to be writable before the work begins.

use std::fs::{File, TryLockError};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::Failure;

/// A file under a temporary name beside its place; `finish` renames it, dropping it removes it. A process that is killed leaves it behind;
/// the lock on it then is gone, and the next one that writes to the folder clears it away.
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
        clear_stale(path.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new(".")));
        let temporary = path.with_file_name(format!(".{}.{}{PARTIAL}", name.to_string_lossy(), std::process::id()));
        let file = create_locked(&temporary).map_err(|error| refuse(&error.to_string()))?;
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

const PARTIAL: &str = ".partial";

/// Creates a file and holds its lock for as long as it is open.
fn create_locked(path: &Path) -> std::io::Result<File> {
    for _ in 0..100 {
        let file = File::create(path)?;
        match file.try_lock() {
            // Another process that saw it without a lock takes it for stale, and away.
            Err(TryLockError::WouldBlock) => {}
            Ok(()) if !path.exists() => {}
            // Where files cannot be locked nothing is ever taken for stale.
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(file),
        }
    }
    File::create(path)
}

/// Removes what killed processes left in a folder: partial files without a lock. What cannot be removed does no harm.
fn clear_stale(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix('.')?.strip_suffix(PARTIAL)?.rsplit_once('.'));
        let is_ours = number.is_some_and(|(name, process)| !name.is_empty() && process.parse::<u32>().is_ok());
        if is_ours && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = std::fs::remove_file(entry.path());
        }
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
        // A killed process leaves its file behind, without a lock; one that runs holds it.
        let (stale, other) = (folder.join(".trace.csv.4000000000.partial"), folder.join(".mine.partial"));
        File::create(&stale).unwrap();
        File::create(&other).unwrap();
        let Ok(held) = OutputFile::create(&folder.join("held.csv")) else { panic!("the folder is writable") };
        write("kept", true);
        assert!(!stale.exists() && other.exists() && held.finish().is_ok() && folder.join("held.csv").exists());
        for bad in [folder.clone(), folder.join("nowhere/report.json"), path.join("below-a-file")] {
            assert!(matches!(OutputFile::create(&bad), Err(Failure::Input(_))), "{}", bad.display());
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
