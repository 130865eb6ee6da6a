//! A session that is written while it goes on, so that little is lost when the program ends unforeseen.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::{Mark, Session, SessionHeader};
use crate::output::OutputError;

/// A file that grows with its session: lines are only added, each in one piece. While it grows nobody else can lock it.
#[derive(Debug)]
pub struct GrowingSession {
    path: PathBuf,
    file: File,
    /// As much of the session as the file has.
    written: Session,
}

impl GrowingSession {
    /// Begins a new file with the session so far.
    pub fn create(path: &Path, session: Session) -> Result<Self, OutputError> {
        let create = || {
            let mut file = File::create_new(path)?;
            // File systems without locks do without.
            let _ = file.try_lock();
            file.write_all(session.text()?.as_bytes())?;
            Ok(file)
        };
        let file = create().map_err(|error| OutputError::of(path, error))?;
        Ok(Self { path: path.into(), file, written: session })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds what is new, and a mark at the end. False, and nothing is written, if `session` is not the one in the file
    /// and more of it: then it needs a file of its own.
    pub fn grow(&mut self, session: &Session) -> Result<bool, OutputError> {
        // Commands before a step that is not done may be overridden by others.
        let settled = session.commands.partition_point(|logged| logged.step < session.header.last_step);
        let known = &self.written.commands;
        let start = |session: &Session| {
            let SessionHeader { scene, set, first_step, state, .. } = session.header.clone();
            (scene, set, first_step, state)
        };
        let goes_on = start(session) == start(&self.written)
            && session.header.last_step >= self.written.header.last_step
            && session.commands.starts_with(known);
        if !goes_on {
            return Ok(false);
        }
        if session.header == self.written.header {
            return Ok(true);
        }
        let new = session.commands.get(known.len()..settled).unwrap_or_default();
        let mark = Mark { last_step: session.header.last_step, state_hash: session.header.state_hash.clone() };
        let text = || -> serde_json::Result<String> {
            let lines: Vec<String> = new.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
            let lines = lines.into_iter().chain([serde_json::to_string(&mark)?]);
            Ok(lines.map(|line| line + "\n").collect())
        };
        let add = |file: &mut File| file.write_all(text()?.as_bytes());
        add(&mut self.file).map_err(|error| OutputError::of(&self.path, error))?;
        self.written.commands.extend_from_slice(new);
        self.written.header = session.header.clone();
        Ok(true)
    }

    /// Another handle of the file: what is written is on the disk once its `sync_data` has returned.
    pub fn handle(&self) -> Option<File> {
        self.file.try_clone().ok()
    }

    /// Removes the file: the session has ended as it should.
    pub fn remove(self) {
        drop(self.file);
        // One that cannot be removed is offered at the next start; nothing is lost.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Vec3;
    use crate::sim::command::{Command, LoggedCommand};

    fn session(last_step: u64, steps: &[u64]) -> Session {
        let header = SessionHeader {
            format: super::super::FORMAT.into(),
            version: "1".into(),
            scene: "bar".into(),
            set: vec![],
            first_step: 0,
            state: None,
            last_step,
            backend: "cpu".into(),
            state_hash: format!("hash {last_step}"),
            instructions: Some("x86_64 V3".into()),
        };
        let logged = |step: &u64| LoggedCommand { step: *step, command: Command::SetGravity(Vec3::y() * *step as f64) };
        Session { header, commands: steps.iter().map(logged).collect() }
    }

    struct Folder(PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.0).unwrap_or_default();
        }
    }

    fn folder(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("pliant-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    #[test]
    fn a_growing_session_can_be_read_at_any_time() {
        let folder = folder("growing");
        let path = folder.0.join("a.session");
        let mut growing = GrowingSession::create(&path, session(0, &[])).unwrap();
        for (last_step, steps) in [(0, &[0][..]), (5, &[0, 3]), (9, &[0, 3, 7]), (9, &[0, 3, 7, 9]), (12, &[0, 3, 7, 9, 10])] {
            let whole = session(last_step, steps);
            assert!(growing.grow(&whole).unwrap());
            let settled: Vec<u64> = steps.iter().copied().filter(|step| *step < last_step).collect();
            assert_eq!(Session::read(&path).unwrap(), session(last_step, &settled), "what is not settled is not there yet");
        }
        // One that is another needs a file of its own, and this one stays.
        let text = std::fs::read(&path).unwrap();
        for other in [session(20, &[0, 3, 8]), session(11, &[0, 3, 7, 9, 10]), session(20, &[0, 3])] {
            assert!(!growing.grow(&other).unwrap());
        }
        assert!(std::fs::read(&path).unwrap() == text && GrowingSession::create(&path, session(0, &[])).is_err());
        growing.remove();
        assert!(!path.exists());
    }

    /// Cut off at every byte after its first line, the file is the session up to a mark; damage elsewhere is told.
    #[test]
    fn a_torn_file_is_the_session_up_to_its_last_mark() {
        let folder = folder("torn");
        let path = folder.0.join("a.session");
        let mut growing = GrowingSession::create(&path, session(0, &[])).unwrap();
        for (last_step, steps) in [(4, &[1, 2][..]), (8, &[1, 2, 5]), (12, &[1, 2, 5, 11])] {
            growing.grow(&session(last_step, steps)).unwrap();
        }
        drop(growing);
        let text = std::fs::read_to_string(&path).unwrap();
        let marks: Vec<usize> = text.match_indices("{\"last_step\"").map(|(at, _)| at).collect();
        let ends: Vec<usize> = marks.iter().map(|at| at + text[*at..].find('\n').unwrap()).collect();
        let mut seen = vec![];
        for length in ends[0]..=text.len() {
            std::fs::write(&path, &text[..length]).unwrap();
            let read = Session::read(&path).unwrap_or_else(|error| panic!("cut off at {length}: {error}"));
            let n = ends.iter().filter(|end| **end <= length).count();
            let wanted = [session(4, &[1, 2]), session(8, &[1, 2, 5]), session(12, &[1, 2, 5, 11])][n - 1].clone();
            assert!(read.commands.len() >= wanted.commands.len() && read.header == wanted.header, "cut off at {length}");
            assert!(read.commands.starts_with(&wanted.commands) && read.commands.iter().all(|logged| logged.step <= read.header.last_step));
            seen.push(n);
        }
        assert!(seen.contains(&1) && seen.last() == Some(&3));
        std::fs::write(&path, text.replacen("set_gravity", "set_gravitation", 1)).unwrap();
        let error = Session::read(&path).unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("set_gravitation"), "{error}");
    }
}
