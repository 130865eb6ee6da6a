//! Files of one module do not import each other in circles. A file and the files of the folder that it owns count as
//! one another's parts; tests may import what they test.

use std::collections::{BTreeMap, BTreeSet};

use crate::architecture::{module_path, src};
use crate::source::{self, read};

type Path = Vec<String>;

/// Circles that are left to be cut; no file may join them, and no other circle may come.
const LEFT: &[&str] = &[
    "app/ui/checkup, app/ui/overlay",
    "cli/bench/cg, cli/bench/device",
    "contact/cr, contact/state",
    "contact/cwc, contact/warped",
    "elastic/elements, elastic/pass",
    "mesh/doctor/tets, mesh/error, mesh/read, mesh/surface, mesh/tets",
    "record/film, record/gif_film, record/mp4_film",
    "render/buffers, render/canvas, render/maps, render/pipelines, render/renderer",
    "sparse/coarse, sparse/two_level",
];

#[test]
fn files_do_not_import_each_other_in_circles() {
    let files = |circle: &str| circle.split(", ").map(str::to_owned).collect::<BTreeSet<_>>();
    let mut found = circles(&modules());
    found.retain(|circle| !LEFT.iter().any(|left| files(circle).is_subset(&files(left))));
    assert!(found.is_empty(), "files that import each other:\n{}", found.join("\n"));
}

#[test]
fn a_circle_is_seen() {
    let module = |path: &str, text: &str| (path.split('/').map(str::to_owned).collect(), Imports::of(text));
    let all = |second: &str, facade: &str| -> Vec<String> {
        let files = [("a", facade), ("a/first", "use super::second::Two;"), ("a/second", second), ("a/third", "use crate::a::One;")];
        circles(&files.map(|(path, text)| module(path, text)).into())
    };
    let facade = "mod first; pub use first::One;";
    // Of no file, by a path, by a group, through the re-export of the parent, only in a test.
    assert_eq!(all("use std::sync::Arc;", facade).len(), 0);
    assert_eq!(all("fn f() { super::first::one() }", facade), ["a/first, a/second"]);
    assert_eq!(all("use super::{first as x};", facade).len(), 1);
    assert_eq!(all("use super::One;", facade).len(), 1);
    assert_eq!(all("use super::third::Three;", facade), ["a/first, a/second, a/third"]);
    assert_eq!(all("use super::{Parent, self};", facade).len(), 0);
    assert_eq!(all("#[cfg(test)] mod tests { use super::super::first::One; }", facade).len(), 0);
    assert_eq!(all("#[cfg(test)] use super::One;", facade).len(), 0);
}

/// What a file names of others, as it stands there.
#[derive(Default)]
struct Imports {
    paths: Vec<Path>,
    /// Names that the file hands on, with what they stand for.
    exports: Vec<(String, Path)>,
}

impl Imports {
    fn of(text: &str) -> Self {
        let tokens: Vec<String> = source::tokens(text).0.into_iter().map(|(token, _)| token).collect();
        let mut imports = Self::default();
        let mut at = 0;
        while at < tokens.len() {
            if starts(&tokens[at..], &["#", "[", "cfg", "(", "test", ")", "]"]) {
                at = end_of_item(&tokens, at + 7);
            } else if tokens[at] == "use" {
                let mut found = vec![];
                let is_export = at > 0 && (tokens[at - 1] == "pub" || tokens[at - 1] == ")");
                at = tree(&tokens, at + 1, &[], &mut found);
                if is_export {
                    imports.exports.extend(found.iter().cloned());
                }
                imports.paths.extend(found.into_iter().map(|(_, path)| path));
            } else if ["crate", "super", "self"].contains(&tokens[at].as_str()) && starts(&tokens[at + 1..], &["::"]) {
                let mut path = vec![tokens[at].clone()];
                at += 1;
                while starts(&tokens[at..], &["::"]) && tokens.get(at + 1).is_some_and(|t| is_name(t)) {
                    path.push(tokens[at + 1].clone());
                    at += 2;
                }
                imports.paths.push(path);
            } else {
                at += 1;
            }
        }
        imports
    }
}

fn starts(tokens: &[String], wanted: &[&str]) -> bool {
    tokens.len() >= wanted.len() && tokens.iter().zip(wanted).all(|(token, wanted)| token == wanted)
}

fn is_name(token: &str) -> bool {
    token.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// After the item at `at`: behind its `;`, or the brace that closes it.
fn end_of_item(tokens: &[String], mut at: usize) -> usize {
    let mut depth = 0;
    while at < tokens.len() {
        match tokens[at].as_str() {
            "{" => depth += 1,
            "}" if depth == 1 => return at + 1,
            "}" => depth -= 1,
            ";" if depth == 0 => return at + 1,
            _ => {}
        }
        at += 1;
    }
    at
}

/// The names that a `use` brings and their paths; `at` is behind `use` or within a group after `prefix`. Returns where
/// it ends.
fn tree(tokens: &[String], mut at: usize, prefix: &[String], found: &mut Vec<(String, Path)>) -> usize {
    let mut path = prefix.to_vec();
    while at < tokens.len() {
        match tokens[at].as_str() {
            "::" => {}
            "{" => {
                at += 1;
                while at < tokens.len() && tokens[at] != "}" {
                    at = tree(tokens, at, &path, found);
                    if starts(&tokens[at..], &[","]) {
                        at += 1;
                    }
                }
                return at + 1;
            }
            "as" => {
                found.push((tokens[at + 1].clone(), path));
                return at + 2;
            }
            "," | "}" | ";" => break,
            "self" if path.len() > prefix.len() || !prefix.is_empty() => {}
            name => path.push(name.to_owned()),
        }
        at += 1;
    }
    found.push((path.last().cloned().unwrap_or_default(), path));
    at
}

/// All files of the crate but tests, by their module.
fn modules() -> BTreeMap<Path, Imports> {
    let mut modules = BTreeMap::new();
    for file in source::files(&src()) {
        let name = file.strip_prefix(src()).unwrap().to_string_lossy().replace('\\', "/");
        let Some(path) = module_path(&name) else { continue };
        if !path.iter().any(|part| part == "tests" || part == "acceptance") {
            modules.insert(path, Imports::of(&read(&file)));
        }
    }
    modules
}

/// From the root of the crate; None outside of it.
fn absolute(modules: &BTreeMap<Path, Imports>, from: &Path, path: &[String]) -> Option<Path> {
    let rest = path.get(1..)?;
    match path[0].as_str() {
        "crate" => Some(rest.to_vec()),
        "self" => Some([from, rest].concat()),
        "super" => {
            let supers = path.iter().take_while(|part| *part == "super").count();
            Some([from.get(..from.len().checked_sub(supers)?)?, &path[supers..]].concat())
        }
        child => {
            let child = [from, &[child.to_owned()][..]].concat();
            modules.contains_key(&child).then(|| [&child[..], rest].concat())
        }
    }
}

/// The file that defines what `path` names, also where another hands it on.
fn defining(modules: &BTreeMap<Path, Imports>, path: &Path, depth: usize) -> Option<Path> {
    let known = (1..=path.len()).rev().find(|n| modules.contains_key(&path[..*n]))?;
    let (module, rest) = path.split_at(known);
    let handed_on = || {
        let exports = &modules[module].exports;
        let (_, to) = exports.iter().find(|(name, _)| Some(name) == rest.first())?;
        let to = absolute(modules, &module.to_vec(), to)?;
        defining(modules, &[&to[..], &rest[1..]].concat(), depth + 1)
    };
    if depth > 8 { None } else { handed_on().or_else(|| Some(module.to_vec())) }
}

/// All files that `from` leads to.
fn reach<'e>(edges: &'e BTreeMap<&Path, BTreeSet<Path>>, from: &'e Path) -> BTreeSet<&'e Path> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(file) = open.pop() {
        open.extend(edges[file].iter().filter(|to| seen.insert(*to)));
    }
    seen
}

/// Groups of files each of which leads back to itself.
fn circles(modules: &BTreeMap<Path, Imports>) -> Vec<String> {
    let mut edges: BTreeMap<&Path, BTreeSet<Path>> = BTreeMap::new();
    for (from, imports) in modules {
        let targets = imports.paths.iter().filter_map(|path| defining(modules, &absolute(modules, from, path)?, 0));
        edges.insert(from, targets.filter(|to| !to.starts_with(from) && !from.starts_with(to)).collect());
    }
    let reached: BTreeMap<&Path, BTreeSet<&Path>> = modules.keys().map(|file| (file, reach(&edges, file))).collect();
    let together = |file: &Path| -> Vec<String> {
        let others = reached[file].iter().filter(|other| reached[**other].contains(file));
        others.map(|other| other.join("/")).collect()
    };
    let groups: BTreeSet<String> = modules.keys().map(|file| together(file).join(", ")).filter(|group| !group.is_empty()).collect();
    groups.into_iter().collect()
}
