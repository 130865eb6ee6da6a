//! A session that is written while it goes on, so that little is lost when the program ends unforeseen.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::tree::{BranchLine, line};
use super::{Mark, Session, SessionBranch, SessionHeader, SessionTree};
use crate::output::OutputError;

/// A file that grows with its session: lines are only added, each in one piece. While it grows nobody else can lock it.
#[derive(Debug)]
pub struct GrowingSession {
    path: PathBuf,
    file: File,
    /// As much of the session as the file has.
    written: SessionTree,
}

impl GrowingSession {
    /// Begins a new file with the session so far.
    pub fn create(path: &Path, session: SessionTree) -> Result<Self, OutputError> {
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

    /// Adds what is new, with a mark at the end of each branch that has gone on. False, and nothing is written, if
    /// `session` is not the one in the file and more of it, or is the first with several branches: then it needs a file
    /// of its own.
    pub fn grow(&mut self, session: &SessionTree) -> Result<bool, OutputError> {
        if !goes_on(&self.written, session) {
            return Ok(false);
        }
        let (written, text) = self.more(session).map_err(|error| OutputError::of(&self.path, error.into()))?;
        self.file.write_all(text.as_bytes()).map_err(|error| OutputError::of(&self.path, error))?;
        self.written = written;
        Ok(true)
    }

    /// The lines that are to be added, and what the file has then.
    fn more(&self, session: &SessionTree) -> serde_json::Result<(SessionTree, String)> {
        let (mut text, mut written) = (String::new(), self.written.branches().to_vec());
        let mut last = self.written.current().id;
        for branch in session.branches() {
            let (id, left, header) = (branch.id, branch.left, &branch.session.header);
            let place = written.iter().position(|known| known.id == id);
            match place {
                Some(place) if written[place].session.header == *header => continue,
                Some(_) if last == id => {}
                Some(_) => text += &line(&BranchLine::go_on(id))?,
                None => text += &line(&branch.begin())?,
            }
            last = id;
            let known = place.map_or(branch.n_shared(), |place| written[place].session.commands.len());
            let commands = &branch.session.commands[..settled(&branch.session).max(known)];
            for command in &commands[known..] {
                text += &line(command)?;
            }
            text += &line(&Mark { last_step: header.last_step, state_hash: header.state_hash.clone() })?;
            let new = SessionBranch { id, left, session: Session { header: header.clone(), commands: commands.to_vec() } };
            match place {
                Some(place) => written[place] = new,
                None => written.push(new),
            }
        }
        let current = session.current().id;
        if last != current {
            text += &line(&BranchLine::go_on(current))?;
        }
        let written = SessionTree::new(written, current).unwrap_or_else(|| session.clone());
        Ok((written, text))
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

/// How many commands nothing can override any more: those before a step that is done.
fn settled(session: &Session) -> usize {
    session.commands.partition_point(|logged| logged.step < session.header.last_step)
}

/// Whether a session is another one and more of it.
fn goes_on(before: &SessionTree, session: &SessionTree) -> bool {
    let start = |SessionBranch { left, session, .. }: &SessionBranch| {
        let SessionHeader { scene, set, first_step, state, .. } = session.header.clone();
        (*left, scene, set, first_step, state)
    };
    let is_more = |known: &SessionBranch| {
        session.branch(known.id).is_some_and(|now| {
            start(now) == start(known)
                && now.session.header.last_step >= known.session.header.last_step
                && now.session.commands.starts_with(&known.session.commands)
        })
    };
    let [was_one, is_one] = [before, session].map(|tree| tree.branches().len() == 1);
    let last = before.branches().last().map_or(0, |last| last.id);
    let mut new = session.branches().iter().filter(|branch| before.branch(branch.id).is_none());
    was_one == is_one && before.branches().iter().all(is_more) && new.all(|branch| branch.id > last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Vec3;
    use crate::sim::command::{Command, LoggedCommand};

    fn session(last_step: u64, steps: &[u64]) -> Session {
        let header = SessionHeader {
            format: super::super::FORMAT.into(),
            branch: None,
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

    /// A branch: its number, the branch and the step that it leaves, its last step, and the steps of its own commands.
    type Told<'a> = (u32, Option<(u32, u64)>, u64, &'a [u64]);

    /// These branches; `current` is the number of one.
    fn tree(current: u32, branches: &[Told]) -> SessionTree {
        let mut made: Vec<SessionBranch> = vec![];
        for (id, left, last_step, own) in branches {
            let parent = left.map(|(from, at)| (made.iter().find(|branch| branch.id == from).unwrap(), at));
            let shared = parent.map(|(parent, at)| parent.session.commands.iter().map(|logged| logged.step).filter(move |step| *step < at));
            let steps: Vec<u64> = shared.into_iter().flatten().chain(own.iter().copied()).collect();
            let mut session = session(*last_step, &steps);
            session.header.state_hash += &format!(" of {id}");
            made.push(SessionBranch { id: *id, left: *left, session });
        }
        SessionTree::new(made, current).unwrap()
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
        let mut growing = GrowingSession::create(&path, session(0, &[]).into()).unwrap();
        for (last_step, steps) in [(0, &[0][..]), (5, &[0, 3]), (9, &[0, 3, 7]), (9, &[0, 3, 7, 9]), (12, &[0, 3, 7, 9, 10])] {
            let whole = session(last_step, steps);
            assert!(growing.grow(&whole.into()).unwrap());
            let settled: Vec<u64> = steps.iter().copied().filter(|step| *step < last_step).collect();
            assert_eq!(Session::read(&path).unwrap(), session(last_step, &settled), "what is not settled is not there yet");
        }
        // One that is another needs a file of its own, and this one stays.
        let text = std::fs::read(&path).unwrap();
        for other in [session(20, &[0, 3, 8]), session(11, &[0, 3, 7, 9, 10]), session(20, &[0, 3])] {
            assert!(!growing.grow(&other.into()).unwrap());
        }
        assert!(std::fs::read(&path).unwrap() == text && GrowingSession::create(&path, session(0, &[]).into()).is_err());
        growing.remove();
        assert!(!path.exists());
    }

    /// Cut off at every byte after its first line, the file is the session up to a mark; damage elsewhere is told.
    #[test]
    fn a_torn_file_is_the_session_up_to_its_last_mark() {
        let folder = folder("torn");
        let path = folder.0.join("a.session");
        let mut growing = GrowingSession::create(&path, session(0, &[]).into()).unwrap();
        for (last_step, steps) in [(4, &[1, 2][..]), (8, &[1, 2, 5]), (12, &[1, 2, 5, 11])] {
            growing.grow(&session(last_step, steps).into()).unwrap();
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
    /// A branch that left another one is added with its own commands alone; the other one is gone on with later.
    #[test]
    fn branches_grow_in_one_file() {
        let folder = folder("growing-branches");
        let path = folder.0.join("a.session");
        let mut growing = GrowingSession::create(&path, session(20, &[3, 8]).into()).unwrap();
        let first = tree(2, &[(1, None, 20, &[3, 8]), (2, Some((1, 10)), 12, &[10])]);
        assert!(!growing.grow(&first).unwrap(), "the first other branch needs a file of its own");
        drop(growing);
        std::fs::remove_file(&path).unwrap();
        let mut growing = GrowingSession::create(&path, first.clone()).unwrap();
        assert_eq!(SessionTree::read(&path).unwrap(), first);
        let all = [
            tree(2, &[(1, None, 20, &[3, 8]), (2, Some((1, 10)), 30, &[10, 25])]),
            // One that leaves the second, one that begins at a start, and the first again.
            tree(4, &[(1, None, 20, &[3, 8]), (2, Some((1, 10)), 30, &[10, 25]), (4, Some((2, 26)), 26, &[])]),
            tree(4, &[(1, None, 20, &[3, 8]), (2, Some((1, 10)), 30, &[10, 25]), (4, Some((2, 26)), 40, &[30]), (5, None, 7, &[0])]),
            tree(1, &[(1, None, 50, &[3, 8, 44]), (2, Some((1, 10)), 30, &[10, 25]), (4, Some((2, 26)), 40, &[30]), (5, None, 7, &[0])]),
        ];
        let mut ends = vec![];
        for now in &all {
            assert!(growing.grow(now).unwrap());
            assert_eq!(SessionTree::read(&path).unwrap(), *now);
            assert!(growing.grow(now).unwrap(), "the same again");
            ends.push(std::fs::read(&path).unwrap().len());
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.matches("\"step\":8,").count(), 1, "what branches have in common stands there once");
        for other in [
            tree(1, &[(1, None, 60, &[3, 9]), (2, Some((1, 10)), 30, &[10, 25])]),
            tree(1, &[(1, None, 60, &[3, 8, 44]), (2, Some((1, 11)), 30, &[25])]),
            // The second is forgotten; one is there again whose number is lower.
            tree(1, &[(1, None, 60, &[3, 8, 44]), (4, None, 40, &[3, 8, 10, 25, 30]), (5, None, 7, &[0])]),
        ] {
            assert!(!growing.grow(&other).unwrap());
        }
        // Torn anywhere it is what was marked by then.
        for length in ends[0]..=text.len() {
            std::fs::write(&path, &text[..length]).unwrap();
            let read = SessionTree::read(&path).unwrap_or_else(|error| panic!("cut off at {length}: {error}"));
            let whole = &all[ends.iter().filter(|end| **end <= length).count() - 1];
            for branch in whole.branches() {
                let found = &read.branch(branch.id).unwrap().session;
                let is_there = found.header.last_step >= branch.session.header.last_step;
                assert!(is_there && found.commands.starts_with(&branch.session.commands), "cut off at {length}");
            }
            assert!(read.branches().len() <= all[3].branches().len());
        }
    }
}
