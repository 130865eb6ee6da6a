//! Faults of a scene: one sentence each, with its place.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::value::Origin;

/// One or more mistakes in a scene file or its `--set` flags.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub struct SceneError {
    pub diagnostics: Vec<Diagnostic>,
    /// The text of the file that places count in; none where it could not be read.
    pub text: Option<Arc<str>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    pub place: Place,
    /// Path of the value, as `--set` spells it; empty for the file as a whole.
    pub key: String,
    /// Sentence that says what is wrong and what would mend it.
    pub message: String,
    /// More to choose from, as a sentence.
    pub help: Option<String>,
}

/// What is wrong, and a sentence that helps further.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub text: String,
    pub help: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// The file as a whole (it cannot be read, say).
    File { file: String },
    /// Line and column count from 1; `bytes` of the text.
    Line { file: String, line: usize, column: usize, bytes: Range<usize> },
    /// A `--set` flag, as it was given.
    Flag { flag: String },
}

impl Place {
    /// The place of some bytes of `text`.
    pub(super) fn at(file: &str, text: &str, bytes: Range<usize>) -> Self {
        let before = text.get(..bytes.start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |n| n + 1);
        let (line, column) = (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1);
        Self::Line { file: file.to_owned(), line, column, bytes }
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self { text, help: None }
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_help(&self.text, self.help.as_deref(), f)
    }
}

fn with_help(text: &str, help: Option<&str>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(text)?;
    match help {
        None => Ok(()),
        Some(help) if text.ends_with('?') => write!(f, " {help}"),
        Some(help) => write!(f, ". {help}"),
    }
}

impl Diagnostic {
    pub(super) fn new(place: Place, key: impl Into<String>, message: impl Into<Message>) -> Self {
        let Message { text, help } = message.into();
        Self { place, key: key.into(), message: text, help }
    }

    /// The sentence with its key, without its place.
    pub fn sentence(&self) -> String {
        if self.key.is_empty() { self.message.clone() } else { format!("{}: {}", self.key, self.message) }
    }
}

impl SceneError {
    pub(super) fn one(place: Place, key: impl Into<String>, message: impl Into<Message>) -> Self {
        Self { diagnostics: vec![Diagnostic::new(place, key, message)], text: None }
    }

    /// All mistakes of several.
    pub(super) fn all(errors: Vec<SceneError>) -> Result<(), SceneError> {
        let joined = errors.into_iter().reduce(|mut all, more| {
            all.diagnostics.extend(more.diagnostics);
            SceneError { text: all.text.or(more.text), ..all }
        });
        joined.map_or(Ok(()), Err)
    }
}

impl fmt::Display for SceneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, diagnostic) in self.diagnostics.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{diagnostic}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::File { file } => write!(f, "{file}: ")?,
            Place::Line { file, line, column, .. } => write!(f, "{file}:{line}:{column}: ")?,
            Place::Flag { flag } => write!(f, "--set {flag}: ")?,
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        with_help(&self.message, self.help.as_deref(), f)
    }
}

/// Collects mistakes, so that one look shows them all.
pub(super) struct Complaints<'a> {
    pub document: &'a super::Document,
    pub list: Vec<Diagnostic>,
}

impl<'a> Complaints<'a> {
    pub fn new(document: &'a super::Document) -> Self {
        Self { document, list: vec![] }
    }

    pub fn add(&mut self, origin: Origin, key: impl Into<String>, message: impl Into<Message>) {
        self.list.push(Diagnostic::new(self.document.place(origin), key, message));
    }

    pub fn finish(self) -> Result<(), SceneError> {
        if self.list.is_empty() { Ok(()) } else { Err(self.document.error(self.list)) }
    }
}

/// `problem`, the accepted word nearest to `word`, and all accepted words.
pub fn unknown<'a>(problem: &str, word: &str, accepted: impl IntoIterator<Item = &'a str>) -> Message {
    let accepted: Vec<&str> = accepted.into_iter().collect();
    Message { text: format!("{problem}{}", did_you_mean(word, &accepted)), help: Some(format!("Accepted: {}", quoted_list(accepted))) }
}

/// The end of a sentence about a misspelt word; empty where no candidate is near.
pub fn did_you_mean(word: &str, candidates: &[&str]) -> String {
    nearest(word, candidates).map_or_else(String::new, |candidate| format!("; did you mean \"{candidate}\"?"))
}

/// The candidate that a misspelt word may have meant, if one is near.
pub(super) fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let bound = (word.chars().count() / 3).max(1);
    candidates.iter().map(|c| (edit_distance(word, c), *c)).filter(|(d, _)| *d <= bound).min().map(|(_, c)| c)
}

/// Levenshtein distance: insertions, deletions and replacements, one each.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// `"a", "b" and "c"`.
pub(super) fn quoted_list<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.into_iter().map(|w| format!("\"{w}\"")).collect();
    match words.split_last() {
        None => "nothing".into(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_are_near() {
        assert_eq!(nearest("time_stp", &["gravity", "time_step"]), Some("time_step"));
        assert_eq!(nearest("zzz", &["gravity", "time_step"]), None);
        assert_eq!(edit_distance("kitten", "sitting"), 3);
    }

    #[test]
    fn lines_and_columns_count_from_one() {
        let text = "a = 1\nbb = 2\n";
        assert_eq!(Place::at("f", text, 6..8), Place::Line { file: "f".into(), line: 2, column: 1, bytes: 6..8 });
        assert_eq!(Place::at("f", text, 11..12), Place::Line { file: "f".into(), line: 2, column: 6, bytes: 11..12 });
    }
}
