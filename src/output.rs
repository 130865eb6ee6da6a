//! Files that appear complete or not at all, at places that are known to be writable before the work begins.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::cancel::CancelToken;

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    #[error("cannot write {}: {reason}; choose another place", path.display())]
    Refused { path: PathBuf, reason: String },
    #[error("cannot write {}: the disk is full; free some space or write elsewhere", path.display())]
    DiskFull { path: PathBuf },
    #[error("cannot write {}: {source}", path.display())]
    Failed { path: PathBuf, source: std::io::Error },
    #[error("writing {} was cancelled, and nothing is left of it", path.display())]
    Cancelled { path: PathBuf },
}

impl OutputError {
    pub fn of(path: &Path, source: std::io::Error) -> Self {
        match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::DiskFull { path: path.to_owned() },
            _ => Self::Failed { path: path.to_owned(), source },
        }
    }

    /// Whether the failure was known before the work began.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { .. })
    }

    /// An error once the token is cancelled, for `?` between the parts of a file.
    pub fn check(cancel: &CancelToken, path: &Path) -> Result<(), Self> {
        cancel.check().map_err(|_| Self::Cancelled { path: path.to_owned() })
    }
}

/// A file under a temporary name beside its place; `finish` renames it, dropping it removes it. A process that is
/// killed leaves its file behind, but not the lock on it: the next process that writes to the folder removes files
/// without a lock.
///
/// A file that grows frame by frame is whole at each `mark`; `cut` shortens it to its last mark when more does not fit.
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    /// The temporary name; none once the file has its own name.
    temporary: Option<PathBuf>,
    /// The open file; none after a failure to write, and at the end.
    writer: Option<BufWriter<File>>,
    length: u64,
    whole: u64,
    #[cfg(test)]
    pub capacity: Option<u64>,
}

impl OutputFile {
    /// Starts a file; fails at once where it could not be finished.
    pub fn create(path: &Path) -> Result<Self, OutputError> {
        let refuse = |reason: &str| OutputError::Refused { path: path.to_owned(), reason: reason.to_owned() };
        let Some(name) = path.file_name().filter(|_| !path.is_dir()) else {
            return Err(refuse("it is a folder"));
        };
        if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty() && !f.is_dir()) {
            return Err(refuse(&format!("the folder {} does not exist", folder.display())));
        }
        clear_stale(path.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new(".")));
        let temporary = path.with_file_name(format!(".{}.{}{PARTIAL}", name.to_string_lossy(), std::process::id()));
        let file = create_locked(&temporary).map_err(|error| match OutputError::of(path, error) {
            OutputError::Failed { source, .. } => refuse(&source.to_string()),
            full => full,
        })?;
        Ok(Self {
            path: path.to_owned(),
            temporary: Some(temporary),
            writer: Some(BufWriter::new(file)),
            length: 0,
            whole: 0,
            #[cfg(test)]
            capacity: None,
        })
    }

    /// Writes a file of these bytes.
    pub fn save(path: &Path, bytes: &[u8]) -> Result<(), OutputError> {
        let mut file = Self::create(path)?;
        file.put(bytes)?;
        file.finish()
    }

    /// The name of the finished file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of bytes so far.
    pub fn len(&self) -> u64 {
        self.length
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub fn put(&mut self, bytes: &[u8]) -> Result<(), OutputError> {
        #[cfg(test)]
        if self.capacity.is_some_and(|capacity| self.length + bytes.len() as u64 > capacity) {
            return Err(OutputError::DiskFull { path: self.path.clone() });
        }
        let result = self.writer.as_mut().map_or(Err(ErrorKind::BrokenPipe.into()), |writer| writer.write_all(bytes));
        self.length += bytes.len() as u64;
        result.map_err(|error| OutputError::of(&self.path, error))
    }

    pub fn write_line(&mut self, line: &str) -> Result<(), OutputError> {
        self.put(format!("{line}\n").as_bytes())
    }

    /// Overwrites bytes that were put before.
    pub fn put_at(&mut self, at: u64, bytes: &[u8]) -> Result<(), OutputError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let written = writer.seek(SeekFrom::Start(at)).and_then(|_| writer.write_all(bytes)).and_then(|()| writer.seek(SeekFrom::End(0)));
        written.map(drop).map_err(|error| OutputError::of(&self.path, error))
    }

    /// Takes `n` bytes out of the middle and moves the following bytes up, which needs no space on the disk. After a
    /// cancel the file is worth nothing.
    pub fn remove(&mut self, at: u64, n: u64, cancel: &CancelToken) -> Result<(), OutputError> {
        self.mark()?;
        let (length, path) = (self.length, &self.path);
        let Some(writer) = self.writer.as_mut().filter(|_| n > 0) else { return Ok(()) };
        let mut moved = || {
            let failed = |error| OutputError::of(path, error);
            let file = writer.get_mut();
            let mut chunk = vec![0; 1 << 20];
            let mut from = at + n;
            while from < length {
                OutputError::check(cancel, path)?;
                let part = &mut chunk[..(length - from).min(1 << 20) as usize];
                file.seek(SeekFrom::Start(from)).and_then(|_| file.read_exact(part)).map_err(failed)?;
                file.seek(SeekFrom::Start(from - n)).and_then(|_| file.write_all(part)).map_err(failed)?;
                from += part.len() as u64;
            }
            Ok(())
        };
        moved()?;
        self.cut_to(length - n)?;
        self.mark()
    }

    /// Declares the bytes so far whole and sends them to the disk.
    pub fn mark(&mut self) -> Result<(), OutputError> {
        let flushed = self.writer.as_mut().map_or(Ok(()), Write::flush);
        flushed.map_err(|error| OutputError::of(&self.path, error))?;
        self.whole = self.length;
        Ok(())
    }

    /// Takes away the bytes after the first `length`, after a failure too: nothing else frees space on a full disk.
    pub fn cut_to(&mut self, length: u64) -> Result<(), OutputError> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        // Bytes that wait in the buffer are not wanted.
        let (mut file, _) = writer.into_parts();
        let cut = file.set_len(length).and_then(|()| file.seek(SeekFrom::Start(length)));
        (self.length, self.whole) = (length, self.whole.min(length));
        self.writer = Some(BufWriter::new(file));
        cut.map(drop).map_err(|error| OutputError::of(&self.path, error))
    }

    /// Takes away the bytes after the last mark.
    pub fn cut(&mut self) -> Result<(), OutputError> {
        self.cut_to(self.whole)
    }

    /// Gives the file its own name now, while it goes on growing.
    pub fn appear(&mut self) -> Result<(), OutputError> {
        self.mark()?;
        let Some(temporary) = &self.temporary else { return Ok(()) };
        std::fs::rename(temporary, &self.path).map_err(|error| OutputError::of(&self.path, error))?;
        self.temporary = None;
        Ok(())
    }

    /// Completes the file under its own name. It waits until the disk has all of it, and no call ends that early;
    /// without it, a power cut could leave the name with a part of the file. How long it takes is bounded by what the
    /// system keeps back of files that are written. Nobody waits for it in vain: the window has a thread for each file,
    /// answers Cancel at once and removes the file after it, and a second Ctrl+C ends a command in it, whose file the
    /// next one removes.
    pub fn finish(mut self) -> Result<(), OutputError> {
        self.mark()?;
        let synced = self.writer.as_ref().map_or(Ok(()), |writer| writer.get_ref().sync_all());
        synced.map_err(|error| OutputError::of(&self.path, error))?;
        self.appear()
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self.put(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(OutputError::DiskFull { .. }) => Err(ErrorKind::StorageFull.into()),
            Err(OutputError::Failed { source, .. }) => Err(source),
            Err(refused) => Err(std::io::Error::other(refused)),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.writer.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.take() {
            // Bytes that wait in the buffer did not fit, or are not wanted.
            drop(writer.into_parts());
        }
        if let Some(temporary) = &self.temporary {
            let _ = std::fs::remove_file(temporary);
        }
    }
}

const PARTIAL: &str = ".partial";

/// Creates a file and holds its lock for as long as it is open.
fn create_locked(path: &Path) -> std::io::Result<File> {
    let create = || OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path);
    for _ in 0..100 {
        let file = create()?;
        match file.try_lock() {
            // Another process saw it without a lock, takes it for stale and removes it.
            Err(TryLockError::WouldBlock) => {}
            Ok(()) if !path.exists() => {}
            // Where files cannot be locked none is ever taken for stale.
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(file),
        }
    }
    create()
}

/// Removes partial files without a lock, which killed processes left in a folder. A file that cannot be removed does no
/// harm.
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

/// Creates a folder and the folders above it, if they are missing.
pub fn create_folder(folder: &Path) -> Result<(), OutputError> {
    std::fs::create_dir_all(folder).map_err(|error| match OutputError::of(folder, error) {
        OutputError::Failed { path, source } => OutputError::Refused { path, reason: format!("the folder cannot be made: {source}") },
        full => full,
    })
}

/// Whether a file could be written here.
pub fn check_writable(path: &Path) -> Result<(), OutputError> {
    OutputFile::create(path).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_grows_is_whole_up_to_its_mark() {
        let folder = std::env::temp_dir().join(format!("pliant-growing-{}", std::process::id()));
        create_folder(&folder).unwrap();
        let path = folder.join("film");
        let text = || std::fs::read_to_string(&path).unwrap();
        let mut file = OutputFile::create(&path).unwrap();
        file.put(b"0 head").unwrap();
        assert!(!path.exists());
        file.appear().unwrap();
        assert_eq!(text(), "0 head");
        file.put(b" one").unwrap();
        file.put_at(0, b"1").unwrap();
        file.mark().unwrap();
        file.put(b" half a").unwrap();
        file.capacity = Some(20);
        assert!(matches!(file.put(b" frame"), Err(OutputError::DiskFull { .. })));
        file.cut().unwrap();
        assert_eq!((text().as_str(), file.len()), ("1 head one", 10));
        file.put(b" end").unwrap();
        let cancelled = CancelToken::after(0);
        assert!(matches!(file.remove(1, 5, &cancelled), Err(OutputError::Cancelled { .. })));
        file.remove(1, 5, CancelToken::never()).unwrap();
        file.finish().unwrap();
        assert_eq!(text(), "1 one end");
        std::fs::remove_dir_all(&folder).unwrap();
    }

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
        // A killed process leaves its file behind, without a lock; a process that runs holds the lock.
        let (stale, other) = (folder.join(".trace.csv.4000000000.partial"), folder.join(".mine.partial"));
        File::create(&stale).unwrap();
        File::create(&other).unwrap();
        let Ok(held) = OutputFile::create(&folder.join("held.csv")) else { panic!("the folder is writable") };
        write("kept", true);
        assert!(!stale.exists() && other.exists() && held.finish().is_ok() && folder.join("held.csv").exists());
        for bad in [folder.clone(), folder.join("nowhere/report.json"), path.join("below-a-file")] {
            assert!(matches!(OutputFile::create(&bad), Err(OutputError::Refused { .. })), "{}", bad.display());
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
