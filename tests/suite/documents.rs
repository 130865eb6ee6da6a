//! What documents and comments name is there: files, items of the source, commands, values of scenes.
//!
//! Checked are all `*.md` of the repository, of the changelog only its newest part, and the comments of the source.
//! Only what stands between backticks, in code blocks or behind links is looked at; a word in capitals, such as NAME,
//! stands for something that the reader puts in.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use pliant::scene::{Scene, builtin_scenes, json_schema, reference};
use serde_json::Value;

use crate::source::{self, tokens};

#[test]
fn documents_name_what_is_there() {
    let repository = Repository::read();
    let lies: Vec<String> =
        repository.files.iter().filter(|file| file.ends_with(".md")).flat_map(|file| repository.lies_of(file)).collect();
    assert!(lies.is_empty(), "{} things that documents name are not there:\n{}", lies.len(), lies.join("\n"));
}

#[test]
fn comments_name_what_is_there() {
    let repository = Repository::read();
    let sources = repository.files.iter().filter(|file| file.ends_with(".rs") || file.ends_with(".wgsl"));
    let lies: Vec<String> = sources.flat_map(|file| repository.lies_of_comments(file, &source::read(&source::root().join(file)))).collect();
    assert!(lies.is_empty(), "{} things that comments name are not there:\n{}", lies.len(), lies.join("\n"));
}

#[test]
fn a_lie_is_seen() {
    let repository = Repository::read();
    for (text, count) in [
        // True, or nothing that can be looked up.
        ("`src/lib.rs` and `gpu/layout.rs`, `scenes/NAME.toml`, `.obj`, `deny.toml`, [the licence](LICENSE-MIT), `N s/m`", 0),
        ("`sim::Command` is one, `Simulation::apply` another, `std::fs::File` and `wgpu::Buffer` belong to others", 0),
        ("`pliant run rings --seconds 1`, `pliant run SCENE --out FILE`, `pliant mesh`, `pliant help run`, `--set PATH=VALUE`", 0),
        ("`young_modulus = 1e5`, `method = \"tetgen\"`, `[[contact.pair]]`, `self_contact`", 0),
        ("    pliant run bunny --steps 3 --out a.mp4   # a comment\n\n    ls\n", 0),
        // Files.
        ("`src/no_such_file.rs`", 1),
        ("`gpu/no_such_folder/`", 1),
        ("`scenes/no_folder/NAME.toml`", 1),
        ("[a link](docs/nothing.md)", 1),
        ("`libb.rs`", 1),
        // Items.
        ("`sim::Simulation::no_such_method`", 1),
        ("`contact::state::NO_SUCH_CONSTANT`", 1),
        ("`no_such_module::Simulation`", 1),
        ("`NoSuchType`", 1),
        ("`NO_SUCH_CONSTANT`", 1),
        // Commands.
        ("`pliant fly`", 1),
        ("`pliant run bunny --steps 1 --faster`", 1),
        ("`pliant bench contact SCENE --limt 3`", 1),
        ("`pliant mesh INPUT -o OUTPUT --method magic`", 1),
        ("`pliant run no_such_scene --seconds 1`", 1),
        ("`pliant run scenes/no_such_scene.toml --seconds 1`", 1),
        ("`--no-such-option`", 1),
        ("    pliant run bunny --stepps 3\n", 1),
        ("    pliant run bunny\n    pliant fly --away\n", 1),
        // Values of scenes.
        ("`young_module = 1e5`", 1),
        ("`self_contact = \"maybe\"`", 1),
        ("`poisson_ratio = 0.6`", 1),
        ("`[[contact.pairs]]`", 1),
        ("```toml\nformat = 1\n[[body]]\nname = \"a\"\nshape = { type = \"bax\", size = [1, 1, 1] }\n```\n", 1),
    ] {
        let lies = repository.lies("README.md", text);
        assert_eq!(lies.len(), count, "{text}: {lies:?}");
    }
    let changelog = "## Unreleased\n`src/nothing.rs`\n## 0.1\n`src/was_there_once.rs`\n";
    assert_eq!(repository.lies("CHANGELOG.md", newest(changelog)).len(), 1);
    for (comment, count) in
        [("// See `src/nothing.rs`.", 1), ("/// Twin: `gpu::NoTwin`.", 1), ("let x = \"`src/nothing.rs`\";", 0), ("// `x = 1`", 0)]
    {
        assert_eq!(repository.lies_of_comments("src/a.rs", comment).len(), count, "{comment}");
    }
}

/// What can be named.
struct Repository {
    /// Files and folders, from the root.
    files: BTreeSet<String>,
    /// Names and the words of texts in source files, each with its file.
    words: Vec<(String, BTreeSet<String>)>,
    /// The scene format: key, and schemas of its values.
    keys: Vec<(String, Value)>,
    reference: String,
}

impl Repository {
    fn read() -> &'static Self {
        static REPOSITORY: OnceLock<Repository> = OnceLock::new();
        REPOSITORY.get_or_init(|| {
            let mut files = BTreeSet::new();
            list(source::root(), "", &mut files);
            let is_source = |file: &&String| [".rs", ".wgsl", ".py", ".sh", ".toml", ".json"].iter().any(|e| file.ends_with(e));
            let words = files.iter().filter(is_source).map(|file| (file.clone(), words(file))).collect();
            let mut keys = vec![];
            collect_keys(&json_schema(), &mut keys);
            Self { files, words, keys, reference: reference() }
        })
    }

    fn lies_of(&self, file: &str) -> Vec<String> {
        let text = source::read(&source::root().join(file));
        self.lies(file, if file == "CHANGELOG.md" { newest(&text) } else { &text })
    }

    /// The lies of a document, as "FILE:LINE: what".
    fn lies(&self, file: &str, text: &str) -> Vec<String> {
        let mut lies = vec![];
        let mut prose = String::new();
        let mut block: Option<(String, String)> = None;
        // Tables of files name in their other columns what the files come from.
        let mut is_table_of_files = false;
        for (n, line) in text.lines().enumerate() {
            let fence = line.trim_start().strip_prefix("```");
            match (&mut block, fence) {
                (Some((language, code)), Some(_)) => {
                    lies.extend(self.lie_of_block(language, code).map(|lie| format!("{file}:{}: {lie}", n + 1)));
                    block = None;
                }
                (Some((_, code)), None) => *code += &format!("{line}\n"),
                (None, Some(language)) => block = Some((language.trim().to_owned(), String::new())),
                (None, None) if line.starts_with("    ") => {
                    lies.extend(self.lie_of_command_line(line).map(|lie| format!("{file}:{}: {lie}", n + 1)))
                }
                (None, None) => {
                    is_table_of_files = line.starts_with("| file |") || is_table_of_files && line.starts_with('|');
                    let shown = if is_table_of_files { line.split('|').nth(1).unwrap_or_default() } else { line };
                    prose += shown;
                }
            }
            prose.push('\n');
        }
        lies.extend(lies_of_spans(file, &prose, |span| self.lie_of_span(file, span)));
        lies.extend(self.lies_of_links(file, &prose));
        lies
    }

    /// The lies of comments: only files and paths of items are looked at. Documents are cited like literature.
    fn lies_of_comments(&self, file: &str, source: &str) -> Vec<String> {
        lies_of_spans(file, &comments(source), |span| if span.ends_with(".md") { None } else { self.lie_of_path(file, span) })
    }

    fn lies_of_links(&self, file: &str, text: &str) -> Vec<String> {
        let folder = folder(file);
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let relative = targets.filter(|target| !target.contains("://") && !target.starts_with('#'));
        relative
            .filter(|target| !self.has_file(folder, target))
            .map(|target| format!("{file}: the link to {target} leads nowhere"))
            .collect()
    }

    fn lie_of_block(&self, language: &str, code: &str) -> Option<String> {
        match language {
            "toml" => Scene::from_text("block", "block", code, None, &[]).err().map(|error| error.to_string()),
            _ => code.lines().find_map(|line| self.lie_of_command_line(line)),
        }
    }

    fn lie_of_span(&self, file: &str, span: &str) -> Option<String> {
        if let Some(command) = span.strip_prefix("pliant ").or(span.strip_prefix("./pliant.sh ")) {
            return self.lie_of_command(command);
        }
        if let Some(option) = span.strip_prefix("--") {
            return self.lie_of_option(file, option.split([' ', '=']).next().unwrap_or_default());
        }
        if span.starts_with('[') && !span.contains([',', ' ']) {
            return (!self.reference.contains(span)).then(|| format!("`{span}` is no part of a scene"));
        }
        if let Some((key, value)) = span.split_once(" = ") {
            return self.lie_of_value(key, value);
        }
        self.lie_of_path(file, span).or_else(|| self.lie_of_word(file, span))
    }

    /// A file, a folder or the path of an item.
    fn lie_of_path(&self, file: &str, span: &str) -> Option<String> {
        if span.contains("::") {
            return self.lie_of_item(file, span);
        }
        let is_path = span.chars().all(|c| c.is_alphanumeric() || "_-./*".contains(c)) && !span.starts_with('.');
        let ending = span.rsplit_once('.').map(|(_, ending)| ending);
        let is_ours =
            ending.is_some_and(|e| ["rs", "wgsl", "toml", "md", "sh", "py", "off", "ply", "mtx", "msh", "vtk", "ttf"].contains(&e));
        let has_folder = span.contains('/') && span.contains(char::is_alphabetic) && !span.starts_with(|c: char| c.is_ascii_digit());
        // What builds and loading shaders make.
        let is_built = span.starts_with("target/") || span.starts_with("host/");
        if !is_path || !(is_ours || has_folder) || is_built || is_unit(span) || self.has_file(folder(file), span) {
            return None;
        }
        Some(format!("there is no `{span}`"))
    }

    /// Whether the path is one of this repository: from its root, from the folder `beside`, or the end of the path of a
    /// file.
    fn has_file(&self, beside: &str, path: &str) -> bool {
        if let Some(path) = path.strip_prefix("../") {
            return self.has_file(folder(beside), path);
        }
        let path = path.trim_start_matches("./").trim_end_matches('/');
        // What is before the first name that the reader puts in must be there.
        let fixed: Vec<&str> = path.split('/').take_while(|part| !is_placeholder(part) && !part.contains('*')).collect();
        if fixed.is_empty() {
            return true;
        }
        let fixed = fixed.join("/");
        let below = format!("/{fixed}");
        let is_it = |file: &str| file == fixed || file.strip_prefix(beside) == Some(&below) || file.ends_with(&below);
        // Shaders are named without their ending, too.
        self.files.iter().any(|file| is_it(file) || file.strip_suffix(".wgsl").is_some_and(is_it))
    }

    /// The path of an item: the parts that are folders and files lead to where the others are named.
    fn lie_of_item(&self, file: &str, span: &str) -> Option<String> {
        let path = span.trim_end_matches("()").trim_start_matches("crate::").trim_start_matches("pliant::").trim_start_matches("super::");
        let parts: Vec<&str> = path.split("::").collect();
        if !parts.iter().all(|part| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_')) || is_foreign(parts[0]) {
            return None;
        }
        // A module may be named from the root, or from any module that it stands in.
        let below_module = |root: &str| {
            let (mut folder, mut rest) = (root.to_owned(), &parts[..]);
            while let Some(part) = rest.first().filter(|part| self.has_module(&format!("{folder}/{part}"))) {
                folder = format!("{folder}/{part}");
                rest = &rest[1..];
            }
            let is_below = |path: &str| path == format!("{folder}.rs") || path.starts_with(&format!("{folder}/"));
            rest.len() < parts.len() && (rest.is_empty() || self.in_one_file(is_below, rest))
        };
        let is_near = || parts.len() == 1 && self.in_one_file(|path| path.starts_with(folder(file)), &parts);
        let is_type = parts[0].starts_with(|c: char| c.is_uppercase());
        let is_there = if is_type {
            let beside = format!("{}/", folder(file));
            self.in_one_file(|path| path.starts_with("src/") || path.starts_with(&beside), &parts)
        } else {
            self.files.iter().filter(|file| file.starts_with("src")).any(|folder| below_module(folder))
        };
        (!is_there && !is_near()).then(|| format!("there is no `{span}`"))
    }

    /// Whether one of the files has all the names.
    fn in_one_file(&self, is_meant: impl Fn(&str) -> bool, names: &[&str]) -> bool {
        self.words.iter().any(|(path, words)| is_meant(path) && names.iter().all(|name| words.contains(*name)))
    }

    fn has_module(&self, path: &str) -> bool {
        self.files.contains(path) || self.files.contains(&format!("{path}.rs"))
    }

    /// A name by itself must occur somewhere in the source.
    fn lie_of_word(&self, file: &str, span: &str) -> Option<String> {
        let is_name = span.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && span.len() > 2;
        if !is_name || span.starts_with(|c: char| c.is_ascii_digit()) || is_placeholder(span) && !span.contains('_') {
            return None;
        }
        let is_known = self.words.iter().any(|(path, words)| !path.starts_with("tests/suite/documents") && words.contains(span))
            || !is_placeholder(span) && self.has_file(folder(file), span);
        (!is_known).then(|| format!("nothing is named `{span}`"))
    }

    fn lie_of_option(&self, file: &str, name: &str) -> Option<String> {
        let mut known = BTreeSet::new();
        collect_options(&pliant::cli::command(), &mut known);
        let beside = folder(file);
        let elsewhere = || !beside.is_empty() && self.words.iter().any(|(path, words)| path.starts_with(beside) && words.contains(name));
        (!known.contains(name) && !elsewhere()).then(|| format!("no command has an option `--{name}`"))
    }

    /// A line of a code block that calls the program; others pass.
    fn lie_of_command_line(&self, line: &str) -> Option<String> {
        let line = line.trim().trim_start_matches("$ ");
        let line = line.split(" # ").next().unwrap_or_default();
        let call = line.strip_prefix("pliant ").or(line.strip_prefix("./pliant.sh "))?.trim();
        (!call.is_empty()).then(|| self.lie_of_command(call.split(" | ").next().unwrap_or_default())).flatten()
    }

    /// A call of the program. Required arguments may be left out in prose.
    fn lie_of_command(&self, call: &str) -> Option<String> {
        let words: Vec<&str> = call.split_whitespace().map(|word| word.split('|').next().unwrap_or_default()).collect();
        let wrong = |why: &str| Some(format!("`pliant {call}`: {why}"));
        match pliant::cli::command().try_get_matches_from(std::iter::once("pliant").chain(words.iter().copied())) {
            Ok(matches) => {
                let is_open = matches.subcommand().is_none();
                if is_open && !self.is_scene(words[0]) {
                    return wrong("there is no such command");
                }
            }
            Err(error) => match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::MissingRequiredArgument => {}
                ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {}
                ErrorKind::InvalidValue | ErrorKind::ValueValidation if is_for_the_reader(&error) => {}
                _ => return wrong(error.to_string().lines().next().unwrap_or_default()),
            },
        }
        let scene = words.iter().find(|word| word.starts_with("scenes/")).filter(|word| !self.has_file("", word));
        let named = (words[0] == "run").then(|| words.get(1)).flatten().filter(|name| !name.starts_with('-') && !self.is_scene(name));
        scene.or(named).and_then(|name| wrong(&format!("there is no scene {name}")))
    }

    fn is_scene(&self, word: &str) -> bool {
        is_placeholder(word) || word.contains('.') || builtin_scenes().any(|entry| entry.name == word)
    }

    /// `key = value` of a scene.
    fn lie_of_value(&self, key: &str, value: &str) -> Option<String> {
        if !key.chars().all(|c| c.is_ascii_lowercase() || c == '_') {
            return None;
        }
        let Ok(table) = toml::from_str::<toml::Table>(&format!("v = {value}")) else { return None };
        let value = serde_json::to_value(&table["v"]).unwrap();
        let mut schemas = self.keys.iter().filter(|(name, _)| name == key).map(|(_, schema)| schema).peekable();
        if schemas.peek().is_none() {
            return Some(format!("scenes have no `{key}`"));
        }
        (!schemas.any(|schema| fits(schema, &value))).then(|| format!("`{key}` of a scene cannot be {value}"))
    }
}

/// Lies between backticks, as "FILE:LINE: what".
fn lies_of_spans(file: &str, text: &str, lie_of: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let spans = |line: &str| line.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let lies = |(n, line): (usize, &str)| {
        spans(line).iter().filter_map(|span| lie_of(span)).map(|lie| format!("{file}:{}: {lie}", n + 1)).collect()
    };
    text.lines().enumerate().flat_map(|line| -> Vec<String> { lies(line) }).collect()
}

/// The part of the changelog that can still be mended.
fn newest(changelog: &str) -> &str {
    let start = changelog.find("\n## ").map_or(0, |at| at + 1);
    let start = if changelog.starts_with("## ") { 0 } else { start };
    changelog[start + 3..].find("\n## ").map_or(&changelog[start..], |end| &changelog[start..start + 3 + end])
}

/// The comments of a source file, each in its line.
fn comments(text: &str) -> String {
    let comment = |line: &str| match line.trim_start() {
        trimmed if trimmed.starts_with("//") => format!("{trimmed}\n"),
        _ => "\n".to_owned(),
    };
    text.lines().map(comment).collect()
}

/// Names of a file outside comments, and the words of its texts.
fn words(file: &str) -> BTreeSet<String> {
    let text = source::read(&source::root().join(file));
    let split = |text: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').map(str::to_owned).collect::<Vec<_>>();
    let mut words: BTreeSet<String> = if file.ends_with(".rs") || file.ends_with(".wgsl") {
        let (names, texts) = tokens(&text);
        names.into_iter().map(|(name, _)| name).chain(texts.iter().flat_map(|text| split(text))).collect()
    } else {
        split(&text).into_iter().collect()
    };
    // A word with `-` is its parts as well.
    words.extend(words.clone().iter().flat_map(|word| word.split('-').map(str::to_owned).collect::<Vec<_>>()));
    words
}

/// Files and folders below a folder, without what is built or hidden.
fn list(folder: &Path, path: &str, files: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with('.') && name != ".ci" || name == "target" {
            continue;
        }
        let below = if path.is_empty() { name } else { format!("{path}/{name}") };
        if entry.path().is_dir() {
            list(&entry.path(), &below, files);
        }
        files.insert(below);
    }
}

fn collect_keys(schema: &Value, keys: &mut Vec<(String, Value)>) {
    for (name, inner) in schema.as_object().into_iter().flatten() {
        if name == "properties" {
            keys.extend(inner.as_object().unwrap().iter().map(|(key, schema)| (key.clone(), schema.clone())));
        }
        match inner {
            Value::Array(items) => items.iter().for_each(|item| collect_keys(item, keys)),
            other => collect_keys(other, keys),
        }
    }
}

/// The parts of JSON Schema that the scene format uses for single values.
fn fits(schema: &Value, value: &Value) -> bool {
    if let Some(words) = schema["enum"].as_array() {
        return words.contains(value);
    }
    let bound = |name: &str, holds: fn(f64, f64) -> bool| match (schema[name].as_f64(), value.as_f64()) {
        (Some(bound), Some(value)) => holds(value, bound),
        _ => true,
    };
    let is_of_type = match schema["type"].as_str() {
        Some("number" | "integer") => value.is_number(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        _ => true,
    };
    is_of_type && bound("minimum", |v, b| v >= b) && bound("exclusiveMinimum", |v, b| v > b) && bound("maximum", |v, b| v <= b)
}

/// Whether the value that clap refuses stands for one that the reader puts in.
fn is_for_the_reader(error: &clap::Error) -> bool {
    matches!(error.get(ContextKind::InvalidValue), Some(ContextValue::String(value)) if is_placeholder(value))
}

fn collect_options(command: &clap::Command, names: &mut BTreeSet<String>) {
    names.extend(command.get_arguments().filter_map(|argument| argument.get_long()).map(str::to_owned));
    names.extend(["help".to_owned(), "version".to_owned()]);
    command.get_subcommands().for_each(|inner| collect_options(inner, names));
}

/// Stands for what the reader puts in: "NAME", "NAME_00000.obj", "PATH=VALUE", "...".
fn is_placeholder(word: &str) -> bool {
    let stem = word.split(['.', '=']).next().unwrap_or_default();
    word == "..." || stem.len() > 1 && stem.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_') || stem == "N"
}

/// `kg/m`, `N/m`: letters on both sides of a stroke.
fn is_unit(span: &str) -> bool {
    span.split('/').all(|part| ["kg", "m", "s", "N", "rad", "J", "Pa", "1"].contains(&part))
}

/// The first part of a path that belongs to another crate.
fn is_foreign(name: &str) -> bool {
    static LOCK: OnceLock<String> = OnceLock::new();
    let lock = LOCK.get_or_init(|| source::read(&source::root().join("Cargo.lock")));
    ["std", "core", "alloc", "u32", "u64", "f32", "f64"].contains(&name)
        || name != "pliant" && lock.contains(&format!("name = \"{}\"\n", name.replace('_', "-")))
}

fn folder(file: &str) -> &str {
    file.rsplit_once('/').map_or("", |(folder, _)| folder)
}
