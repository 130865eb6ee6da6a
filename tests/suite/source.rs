//! Source files as tests read them.

use std::path::{Path, PathBuf};

/// The repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The Rust files below a folder, in order.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

pub fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Names, `::`, braces and other marks of Rust source with their lines; and apart from them the texts. Comments and
/// characters are left out.
pub fn tokens(text: &str) -> (Vec<(String, usize)>, Vec<String>) {
    let chars: Vec<char> = text.chars().collect();
    let (mut tokens, mut texts, mut at, mut line) = (vec![], vec![], 0, 1);
    let starts = |at: usize, what: &str| what.chars().enumerate().all(|(i, c)| chars.get(at + i) == Some(&c));
    while at < chars.len() {
        let start = at;
        let is_name = |c: &char| c.is_alphanumeric() || *c == '_';
        if starts(at, "//") {
            while at < chars.len() && chars[at] != '\n' {
                at += 1;
            }
        } else if starts(at, "/*") {
            at += 2;
            while at < chars.len() && !starts(at, "*/") {
                at += 1;
            }
            at += 2;
        } else if chars[at] == '"' {
            at += 1;
            while at < chars.len() && chars[at] != '"' {
                at += if chars[at] == '\\' { 2 } else { 1 };
            }
            at += 1;
            texts.push(chars[start..at.min(chars.len())].iter().collect());
        } else if chars[at] == 'r' && raw_hashes(&chars[at + 1..]).is_some() {
            let close: String = std::iter::once('"').chain("#".repeat(raw_hashes(&chars[at + 1..]).unwrap()).chars()).collect();
            at += 1 + close.len();
            while at < chars.len() && !starts(at, &close) {
                at += 1;
            }
            at += close.len();
            texts.push(chars[start..at.min(chars.len())].iter().collect());
        } else if chars[at] == '\'' && chars.get(at + 1) == Some(&'\\') {
            at += 3;
            while at < chars.len() && chars[at] != '\'' {
                at += 1;
            }
            at += 1;
        } else if chars[at] == '\'' && chars.get(at + 2) == Some(&'\'') {
            at += 3;
        } else if is_name(&chars[at]) {
            while chars.get(at).is_some_and(is_name) {
                at += 1;
            }
            tokens.push((chars[start..at].iter().collect(), line));
        } else if starts(at, "::") {
            at += 2;
            tokens.push(("::".into(), line));
        } else {
            at += 1;
            if !chars[start].is_whitespace() {
                tokens.push((chars[start].to_string(), line));
            }
        }
        at = at.min(chars.len());
        line += chars[start..at].iter().filter(|c| **c == '\n').count();
    }
    (tokens, texts)
}

/// The number of `#` before the quote of a raw text, after its `r`.
fn raw_hashes(rest: &[char]) -> Option<usize> {
    let hashes = rest.iter().take_while(|c| **c == '#').count();
    (rest.get(hashes) == Some(&'"')).then_some(hashes)
}
