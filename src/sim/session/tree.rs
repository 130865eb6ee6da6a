//! All branches of a run in one file. After the first line a line for each branch names it, and the branch that it left
//! and after how many steps; its own commands follow. What two branches have in common stands there once.

use std::path::{Path, PathBuf};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::{FORMAT, Mark, Session, SessionError, SessionHeader, TREE_FORMAT};
use crate::output::{OutputError, OutputFile};
use crate::scene::GALLERY_SESSION;
use crate::sim::{LoggedCommand, Naming};

/// Number of a branch; they count up from 1 and are not used again.
pub type BranchId = u32;

/// The branches of a run, by rising numbers. There is at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionTree {
    branches: Vec<SessionBranch>,
    /// The place of the one that was gone on with last.
    current: usize,
}

/// A branch of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionBranch {
    pub id: BranchId,
    /// The branch that it left, and after how many steps; none if it begins at a start.
    pub left: Option<(BranchId, u64)>,
    /// Its whole run, with what it has in common with the branch that it left.
    pub session: Session,
}

/// The line before the commands of a branch. One that was there before is gone on with, by its number alone.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BranchLine {
    branch: BranchId,
    /// The branch that it left.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<BranchId>,
    /// After so many steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<u64>,
    /// Where it begins, if it has left none: as in a [`SessionHeader`], which says it of its own branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_step: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<PathBuf>,
    /// Where it ends. The first line says it of its own branch, and marks of those that grow.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_step: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state_hash: Option<String>,
}

impl From<Session> for SessionTree {
    fn from(session: Session) -> Self {
        Self { branches: vec![SessionBranch { id: 1, left: None, session }], current: 0 }
    }
}

impl SessionBranch {
    /// How many of its commands were given before it left another branch.
    pub(super) fn n_shared(&self) -> usize {
        self.left.map_or(0, |(_, at)| self.session.commands.partition_point(|logged| logged.step < at))
    }

    /// Steps that are its own.
    fn n_own_steps(&self) -> u64 {
        let header = &self.session.header;
        header.last_step.saturating_sub(self.left.map_or(header.first_step, |(_, at)| at))
    }

    /// The line that begins it, without its end.
    pub(super) fn begin(&self) -> BranchLine {
        let SessionHeader { first_step, state, .. } = &self.session.header;
        let is_root = self.left.is_none();
        BranchLine {
            first_step: is_root.then_some(*first_step),
            state: state.clone().filter(|_| is_root),
            from: self.left.map(|(from, _)| from),
            at: self.left.map(|(_, at)| at),
            ..BranchLine::go_on(self.id)
        }
    }
}

impl BranchLine {
    pub(super) fn go_on(branch: BranchId) -> Self {
        Self { branch, from: None, at: None, first_step: None, state: None, last_step: None, state_hash: None }
    }
}

impl SessionTree {
    /// A session with all these branches: by rising numbers, and each behind the one that it left. None without any, or
    /// if `current` is none of them.
    pub fn new(branches: Vec<SessionBranch>, current: BranchId) -> Option<Self> {
        let current = branches.iter().position(|branch| branch.id == current)?;
        Some(Self { branches, current })
    }

    pub fn branches(&self) -> &[SessionBranch] {
        &self.branches
    }

    /// The branch that was gone on with last.
    pub fn current(&self) -> &SessionBranch {
        &self.branches[self.current]
    }

    pub fn branch(&self, id: BranchId) -> Option<&SessionBranch> {
        self.branches.iter().find(|branch| branch.id == id)
    }

    /// How many steps all branches have together; those that they have in common count once.
    pub fn n_steps(&self) -> u64 {
        self.branches.iter().map(SessionBranch::n_own_steps).sum()
    }

    /// The same session with these names of things; `set` are the values of its start with them.
    pub fn named(&self, naming: Naming, set: &[String]) -> Self {
        let mut tree = self.clone();
        for branch in &mut tree.branches {
            branch.session.header.set = set.to_vec();
            branch.session.commands.iter_mut().for_each(|logged| logged.command = logged.command.named(naming));
        }
        tree
    }

    /// Writes the session: complete, or not at all. One branch alone makes a file that every version reads.
    pub fn write(&self, path: &Path) -> Result<(), OutputError> {
        let text = self.text().map_err(|error| OutputError::of(path, error.into()))?;
        OutputFile::save(path, text.as_bytes())
    }

    pub(super) fn text(&self) -> serde_json::Result<String> {
        let current = self.current();
        if self.branches.len() == 1 {
            return current.session.text();
        }
        let header = SessionHeader { format: TREE_FORMAT.into(), branch: Some(current.id), ..current.session.header.clone() };
        let mut text = line(&header)?;
        for branch in &self.branches {
            let SessionHeader { last_step, state_hash, .. } = branch.session.header.clone();
            text += &line(&match branch.id == current.id {
                true => BranchLine { first_step: None, state: None, ..branch.begin() },
                false => BranchLine { last_step: Some(last_step), state_hash: Some(state_hash), ..branch.begin() },
            })?;
            for command in &branch.session.commands[branch.n_shared()..] {
                text += &line(command)?;
            }
        }
        if self.current + 1 < self.branches.len() {
            text += &line(&BranchLine::go_on(current.id))?;
        }
        Ok(text)
    }

    /// Reads a session that [`Self::write`] or `GrowingSession` wrote, or a person. A last line of a growing file that
    /// was not written to its end is left out, and what was done after the last mark of a branch. The session of the
    /// gallery is inside the program, as its scenes are.
    pub fn read(path: &Path) -> Result<Self, SessionError> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(_) if path == Path::new(GALLERY_SESSION.0) => GALLERY_SESSION.1.to_owned(),
            Err(source) => return Err(SessionError::Read { path: path.into(), source }),
        };
        let other = |reason: String| SessionError::NotASession { path: path.into(), reason };
        let bad = |index: usize, reason: String| SessionError::Line { path: path.into(), line: index + 1, reason };
        let mut lines = text.lines().enumerate().filter(|(_, text)| !text.trim().is_empty()).peekable();
        let (_, first) = lines.next().ok_or_else(|| other("it is empty".into()))?;
        let header: SessionHeader = serde_json::from_str(first).map_err(|error| other(format!("its first line: {error}")))?;
        let mut reader = Reader::new(header).map_err(other)?;
        while let Some((index, text_of_line)) = lines.next() {
            match reader.take(index, text_of_line) {
                Ok(()) => {}
                // The program ended while it was written.
                Err(_) if reader.has_marks && lines.peek().is_none() && !text.ends_with('\n') => break,
                Err(reason) => return Err(bad(index, reason)),
            }
        }
        reader.finish().map_err(|(index, reason)| match index {
            Some(index) => bad(index, reason),
            None => other(reason),
        })
    }
}

pub(super) fn line(content: &impl Serialize) -> serde_json::Result<String> {
    Ok(serde_json::to_string(content)? + "\n")
}

/// What a line is, by the keys that it has.
#[derive(Default, Deserialize)]
struct Keys {
    branch: Option<IgnoredAny>,
    last_step: Option<IgnoredAny>,
}

/// A session that is being read.
struct Reader {
    header: SessionHeader,
    /// Whose end the first line tells.
    of_header: BranchId,
    branches: Vec<Read>,
    /// The place of the branch that the lines are of; none before the first one.
    current: Option<usize>,
    has_marks: bool,
}

/// A branch as far as it was read.
struct Read {
    id: BranchId,
    left: Option<(BranchId, u64)>,
    header: SessionHeader,
    /// Where it ends was said.
    has_end: bool,
    /// Steps that were done at its last command.
    step: u64,
    /// Each with the index of its line.
    commands: Vec<(usize, LoggedCommand)>,
}

impl Reader {
    fn new(mut header: SessionHeader) -> Result<Self, String> {
        let format = std::mem::replace(&mut header.format, FORMAT.into());
        let mut reader = Self { header, of_header: 1, branches: vec![], current: None, has_marks: false };
        match (format.as_str(), reader.header.branch.take()) {
            (FORMAT, None) => reader.branch(BranchLine::go_on(1))?,
            (TREE_FORMAT, Some(branch)) => reader.of_header = branch,
            (FORMAT, Some(_)) => return Err(format!("it names a branch, which files of the format \"{FORMAT}\" do not have")),
            (TREE_FORMAT, None) => return Err("its first line does not name its branch".into()),
            _ => return Err(format!("its format is \"{format}\", not \"{FORMAT}\" or \"{TREE_FORMAT}\"")),
        }
        Ok(reader)
    }

    /// Takes a line; else what is wrong with it.
    fn take(&mut self, index: usize, text: &str) -> Result<(), String> {
        let keys: Keys = serde_json::from_str(text).unwrap_or_default();
        if keys.branch.is_some() {
            self.branch(serde_json::from_str(text).map_err(|error| error.to_string())?)
        } else if keys.last_step.is_some() {
            self.mark(serde_json::from_str(text).map_err(|error| error.to_string())?)
        } else {
            self.command(index, serde_json::from_str(text).map_err(|error| error.to_string())?)
        }
    }

    fn branch(&mut self, line: BranchLine) -> Result<(), String> {
        let BranchLine { branch: id, from, at, first_step, state, last_step, state_hash } = line;
        if let Some(known) = self.branches.iter().position(|branch| branch.id == id) {
            if from.is_some() || at.is_some() || first_step.is_some() || state.is_some() || last_step.is_some() || state_hash.is_some() {
                return Err(format!("branch {id} is there already; a line that goes on with it has its number alone"));
            }
            self.current = Some(known);
            return Ok(());
        }
        if let Some(last) = self.branches.last().filter(|last| last.id > id) {
            return Err(format!("branch {id} stands behind branch {}; they go by rising numbers", last.id));
        }
        let is_of_header = id == self.of_header;
        if (is_of_header && (last_step.is_some() || state_hash.is_some()))
            || ((is_of_header || from.is_some()) && (first_step.is_some() || state.is_some()))
        {
            let told = "only one that is not that of the first line says where it ends, and only one that leaves none where it begins";
            return Err(format!("the line of branch {id} says too much: {told}"));
        }
        let mut header = self.header.clone();
        let (left, commands) = match (from, at) {
            (None, None) => {
                if !is_of_header {
                    (header.first_step, header.state) = (first_step.unwrap_or(0), state);
                }
                (None, vec![])
            }
            (Some(from), Some(at)) => {
                let parent = self.branches.iter().find(|branch| branch.id == from);
                let parent = parent.ok_or_else(|| format!("branch {id} leaves branch {from}, which does not stand before it"))?;
                let SessionHeader { first_step, last_step, state, .. } = &parent.header;
                if !(*first_step..=*last_step).contains(&at) {
                    return Err(format!("branch {id} leaves branch {from} after step {at}, which is not from {first_step} to {last_step}"));
                }
                (header.first_step, header.state) = (*first_step, state.clone());
                (Some((from, at)), parent.commands.iter().take_while(|(_, logged)| logged.step < at).cloned().collect())
            }
            _ => {
                return Err(format!("branch {id} needs both or none of \"from\", the branch that it leaves, and \"at\", after which step"));
            }
        };
        let step = left.map_or(header.first_step, |(_, at)| at);
        if !is_of_header {
            (header.last_step, header.state_hash) = (last_step.unwrap_or(step), state_hash.clone().unwrap_or_default());
        }
        if header.last_step < step {
            return Err(format!("branch {id} ends at step {}, before its first one, {step}", header.last_step));
        }
        let has_end = is_of_header || (last_step.is_some() && state_hash.is_some());
        self.current = Some(self.branches.len());
        self.branches.push(Read { id, left, header, has_end, step, commands });
        Ok(())
    }

    fn mark(&mut self, Mark { last_step, state_hash }: Mark) -> Result<(), String> {
        let branch = self.current()?;
        if last_step < branch.header.last_step {
            return Err(format!("the session has gone to step {} already", branch.header.last_step));
        }
        (branch.header.last_step, branch.header.state_hash, branch.has_end) = (last_step, state_hash, true);
        self.has_marks = true;
        Ok(())
    }

    fn command(&mut self, index: usize, logged: LoggedCommand) -> Result<(), String> {
        let branch = self.current()?;
        if logged.step < branch.step {
            return Err(format!("step {} is not from {} to {}, the last step", logged.step, branch.step, branch.header.last_step));
        }
        branch.step = logged.step;
        branch.commands.push((index, logged));
        Ok(())
    }

    fn current(&mut self) -> Result<&mut Read, String> {
        let current = self.current.and_then(|current| self.branches.get_mut(current));
        current.ok_or_else(|| "it is of no branch: a line {\"branch\":1} is missing before it".into())
    }

    /// All that was read; else what is wrong with it, and the index of the line.
    fn finish(mut self) -> Result<SessionTree, (Option<usize>, String)> {
        // The program ended before it could say how far the last branch had come.
        if self.has_marks
            && let Some(last) = self.branches.pop_if(|last| !last.has_end)
        {
            let parent = self.branches.iter().position(|branch| last.left.is_some_and(|(from, _)| branch.id == from));
            self.current = self.current.map(|current| if current < self.branches.len() { current } else { parent.unwrap_or(0) });
        }
        if let Some(branch) = self.branches.iter().find(|branch| !branch.has_end) {
            return Err((None, format!("it does not say where branch {} ends: \"last_step\" and \"state_hash\"", branch.id)));
        }
        if !self.branches.iter().any(|branch| branch.id == self.of_header) {
            return Err((None, format!("its first line is about branch {}, which is not there", self.of_header)));
        }
        let mut branches = vec![];
        for Read { id, left, header, mut commands, .. } in self.branches {
            if let Some(place) = commands.iter().position(|(_, logged)| logged.step > header.last_step) {
                let before = place.checked_sub(1).map_or(header.first_step, |before| commands[before].1.step);
                let (index, logged) = &commands[place];
                if !self.has_marks {
                    let reason = format!("step {} is not from {before} to {}, the last step", logged.step, header.last_step);
                    return Err((Some(*index), reason));
                }
                commands.truncate(place);
            }
            let commands = commands.into_iter().map(|(_, logged)| logged).collect();
            branches.push(SessionBranch { id, left, session: Session { header, commands } });
        }
        Ok(SessionTree { branches, current: self.current.unwrap_or(0) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Command;

    /// Three branches as somebody would write them: one that leaves another one, and one from another start.
    const TEXT: &str = r#"{"format":"pliant session 2","branch":2,"version":"1","scene":"bar","set":[],"first_step":0,"last_step":30,"backend":"cpu","state_hash":"b"}
{"branch":1,"last_step":20,"state_hash":"a"}
{"step":3,"command":{"set_gravity":[0.0,3.0,0.0]}}
{"step":12,"command":{"set_gravity":[0.0,12.0,0.0]}}
{"branch":2,"from":1,"at":12}
{"step":12,"command":{"set_gravity":[0.0,0.1,0.0]}}
{"branch":5,"first_step":7,"state":"a.state","last_step":9,"state_hash":"c"}
{"step":7,"command":"reset"}
{"branch":2}
"#;

    fn read(name: &str, text: &str) -> Result<SessionTree, SessionError> {
        let path = std::env::temp_dir().join(format!("pliant-tree-{name}-{}.session", std::process::id()));
        std::fs::write(&path, text).unwrap();
        let read = SessionTree::read(&path);
        std::fs::remove_file(&path).unwrap();
        read
    }

    /// Steps and heights of the gravities that a branch sets.
    fn gravities(tree: &SessionTree, id: BranchId) -> Vec<(u64, f64)> {
        let gravity = |logged: &LoggedCommand| match &logged.command {
            Command::SetGravity(gravity) => Some((logged.step, gravity.y)),
            _ => None,
        };
        tree.branch(id).unwrap().session.commands.iter().filter_map(gravity).collect()
    }

    #[test]
    fn every_branch_is_a_whole_session() {
        let tree = read("whole", TEXT).unwrap();
        assert_eq!((tree.current().id, tree.branches().len(), tree.n_steps()), (2, 3, 20 + 18 + 2));
        assert_eq!(gravities(&tree, 1), [(3, 3.0), (12, 12.0)]);
        assert_eq!(gravities(&tree, 2), [(3, 3.0), (12, 0.1)], "what it has in common, and its own");
        let [first, second, third] = [1, 2, 5].map(|id| tree.branch(id).unwrap().session.header.clone());
        assert_eq!((first.last_step, &*first.state_hash, second.last_step, &*second.state_hash), (20, "a", 30, "b"));
        assert_eq!((third.first_step, third.state, third.last_step), (7, Some("a.state".into()), 9));
        assert_eq!(tree.branch(2).unwrap().left, Some((1, 12)));
        // And comes back as it was written.
        let text = tree.text().unwrap();
        assert_eq!(read("again", &text).unwrap(), tree);
        assert_eq!(text.lines().count(), TEXT.lines().count(), "{text}");
        // The last line says where it goes on.
        assert_eq!(read("other", &TEXT.replace("{\"branch\":2}\n", "")).unwrap().current().id, 5);
    }

    #[test]
    fn one_branch_alone_is_a_file_that_every_version_reads() {
        let tree = read("one", TEXT).unwrap();
        let alone = SessionTree::from(tree.branch(1).unwrap().session.clone());
        let text = alone.text().unwrap();
        assert!(text.starts_with("{\"format\":\"pliant session 1\",\"version\"") && text.lines().count() == 3, "{text}");
        assert_eq!(read("one-again", &text).unwrap(), alone);
    }

    #[test]
    fn branches_that_do_not_fit_say_where() {
        for (from, to, told) in [
            ("\"at\":12}", "\"at\":21}", "line 5: branch 2 leaves branch 1 after step 21, which is not from 0 to 20"),
            ("\"from\":1,", "\"from\":3,", "line 5: branch 2 leaves branch 3, which does not stand before it"),
            ("\"from\":1,", "", "line 5: branch 2 needs both or none of"),
            ("{\"branch\":2}", "{\"branch\":2,\"at\":3}", "line 9: branch 2 is there already"),
            ("{\"branch\":5,", "{\"branch\":0,", "line 7: branch 0 stands behind branch 2"),
            ("\"last_step\":9,", "\"last_step\":6,", "line 7: branch 5 ends at step 6, before its first one, 7"),
            ("\"last_step\":9,", "", "does not say where branch 5 ends"),
            ("{\"branch\":1,\"last_step\":20,\"state_hash\":\"a\"}\n", "", "line 2: it is of no branch"),
            ("session 2\",\"branch\":2", "session 2\"", "does not name its branch"),
            ("session 2\",\"branch\":2", "session 2\",\"branch\":4", "does not say where branch 2 ends"),
            ("pliant session 2", "pliant session 3", "its format is \"pliant session 3\""),
            ("\"from\":1", "\"form\":1", "line 5: unknown field `form`"),
            (
                "{\"step\":12,\"command\":{\"set_gravity\":[0.0,0.1,0.0]}}",
                "{\"step\":11,\"command\":\"reset\"}",
                "line 6: step 11 is not from 12 to 30",
            ),
            ("{\"step\":7,", "{\"step\":17,", "line 8: step 17 is not from 7 to 9"),
            ("\"at\":12}", "\"at\":12,\"state_hash\":\"x\"}", "line 5: the line of branch 2 says too much"),
        ] {
            assert!(TEXT.contains(from), "{from}");
            let error = read("wrong", &TEXT.replacen(from, to, 1)).map(|tree| tree.text().unwrap()).unwrap_err().to_string();
            assert!(error.contains(told), "{told}: {error}");
        }
    }
}
