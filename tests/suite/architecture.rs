//! The import rule: a module uses only modules that stand before it in `src/lib.rs`, and the laboratory is used by the
//! command line alone. Tests inside `src` are no exception.

use std::path::PathBuf;

use crate::source::{self, read, tokens};

#[test]
fn modules_import_only_those_before_them() {
    let order = module_order();
    let mut broken = vec![];
    for file in source::files(&src()) {
        let name = file.strip_prefix(src()).unwrap().to_string_lossy().replace('\\', "/");
        let Some(path) = module_path(&name) else { continue };
        broken.extend(violations(&order, &path, &read(&file)).into_iter().map(|v| format!("src/{name}:{v}")));
    }
    let rule = "src/lib.rs lists modules in the order in which they may use each other, and the laboratory is for the command line alone";
    assert!(broken.is_empty(), "{rule}:\n{}", broken.join("\n"));
}

#[test]
fn every_module_is_in_the_order() {
    let order = module_order();
    assert!(order.len() >= 15, "{order:?}");
    for file in source::files(&src()) {
        let name = file.strip_prefix(src()).unwrap().to_string_lossy().replace('\\', "/");
        if let Some(path) = module_path(&name) {
            assert!(order.contains(&path[0]), "src/{name} belongs to no module of src/lib.rs");
        }
    }
}

/// What physics does not know: clocks, threads of its own, devices, windows, memory maps.
const OF_THE_MACHINE: [&str; 8] = ["Instant", "SystemTime", "ThreadPool", "thread", "wgpu", "winit", "egui", "memmap2"];

#[test]
fn below_the_simulation_only_backends_know_the_machine() {
    let order = module_order();
    let before_scene = &order[..order.iter().position(|module| module == "scene").unwrap()];
    let mut found = vec![];
    for file in source::files(&src()) {
        let name = file.strip_prefix(src()).unwrap().to_string_lossy().replace('\\', "/");
        if !module_path(&name).is_some_and(|path| before_scene.contains(&path[0]) && path[0] != "gpu") {
            continue;
        }
        let (tokens, _) = tokens(&read(&file));
        let is_of_the_machine = |token: &str| OF_THE_MACHINE.contains(&token);
        // `memory` is what allocates, in large pages where there are such; all others see slices. TetGen is a program
        // that is waited for. What tests do is their own.
        let is_allowed = |token: &str| match name.as_str() {
            "memory.rs" => token == "memmap2",
            "cancel.rs" | "mesh/fill/tetgen.rs" => token == "thread",
            name => name.ends_with("tests.rs"),
        };
        let words = tokens.iter().filter(|token| is_of_the_machine(&token.0) && !is_allowed(&token.0));
        found.extend(words.map(|token| format!("src/{name}:{}: {}", token.1, token.0)));
    }
    assert!(found.is_empty(), "clocks, threads, devices and memory maps belong to backends and to `sim`:\n{}", found.join("\n"));
}

#[test]
fn a_violation_is_seen() {
    let order: Vec<String> = ["math", "mesh", "solver", "gpu", "app", LABORATORY, "cli"].map(String::from).to_vec();
    let seen = |path: &[&str], text: &str| violations(&order, &path.iter().map(ToString::to_string).collect::<Vec<_>>(), text).len();
    for (path, text, count) in [
        // Allowed: what stands before, the module itself, comments, texts, other crates.
        (&["solver", "cpu"][..], "use crate::math::Vec3;\nuse crate::model::State;\nuse super::super::mesh::Tet;", 0),
        (&["solver"], "// crate::gpu is its twin\n/// [`crate::app`]\nlet s = \"crate::app\"; wgpu::app();", 0),
        (&["app"], "use crate::{math::{self, gpu}, solver};", 0),
        (&["solver"], "use super::math;", 0),
        // A submodule may have the name of another module.
        (&["solver", "cpu", "gather"], "use super::gpu::x; use super::super::app;", 0),
        // Forbidden.
        (&["math"], "use crate::mesh::Tet;", 1),
        (&["solver", "cpu"], "fn f(x: &crate::gpu::Device) {}", 1),
        (&["solver"], "use crate::{math::Vec3,\n    gpu::{self, Device}, app};", 2),
        (&["mesh"], "use crate :: { solver as s };", 1),
        (&["mesh"], "use super::solver::State;", 1),
        (&["mesh", "read"], "mod tests { use super::super::super::gpu; }", 1),
        (&["mesh"], "let quote = '\"'; use crate::app;", 1),
        (&["mesh"], "let text = r#\"a \" b\"#; use crate::app;", 1),
        (&["mesh"], "fn f<'a>(x: &'a u8) {} use crate::app;", 1),
        (&["gpu"], "use crate::*;", 1),
        // The laboratory is for itself and for the command line.
        (&[LABORATORY, "sparse"], "use crate::lab::sparse::Csr;", 0),
        (&["cli", "bench", "cg"], "use crate::lab::sparse::Csr;", 0),
        (&["app", "ui"], "use crate::lab::sparse::Csr;", 1),
        (&["gpu"], "use crate::{math, lab};", 1),
    ] {
        assert_eq!(seen(path, text), count, "{path:?}: {text}");
    }
}

/// The module of storages and methods that are only compared.
const LABORATORY: &str = "lab";

/// Uses of later modules, and of the laboratory outside the command line, in the file of the module `path`, as "LINE:
/// what".
fn violations(order: &[String], path: &[String], text: &str) -> Vec<String> {
    let rank = |module: &str| order.iter().position(|m| m == module);
    let own = rank(&path[0]);
    let (tokens, _) = tokens(text);
    let mut found = vec![];
    let is_command_line = path[0] == "cli";
    let mut check = |line: usize, module: &str| {
        let is_laboratory = module == LABORATORY && path[0] != LABORATORY && !is_command_line;
        if module == "*" || rank(module) > own || is_laboratory {
            found.push(format!("{line}: {} uses {module}", path[0]));
        }
    };
    let mut at = 0;
    while at < tokens.len() {
        // `crate::` and as many `super::` as lead out of the file to the root of the crate.
        let mut next = at;
        let mut supers = 0;
        while tokens.get(next).is_some_and(|t| t.0 == "super") && tokens.get(next + 1).is_some_and(|t| t.0 == "::") {
            next += 2;
            supers += 1;
        }
        if tokens[at].0 == "crate" && tokens.get(at + 1).is_some_and(|t| t.0 == "::") {
            next = at + 2;
        } else if supers == 0 || supers < path.len() {
            at = next.max(at + 1);
            continue;
        }
        match tokens.get(next) {
            Some((brace, _)) if brace == "{" => {
                // The first names of a group, at depth 1.
                let mut depth = 0;
                let mut first = true;
                for (token, line) in &tokens[next..] {
                    match token.as_str() {
                        "{" => depth += 1,
                        "}" => depth -= 1,
                        "," if depth == 1 => first = true,
                        name if depth == 1 && first => {
                            check(*line, name);
                            first = false;
                        }
                        _ => {}
                    }
                    if depth == 0 {
                        break;
                    }
                }
            }
            // At the root of a file's own supers, a star is the module's parent for its tests.
            Some((star, _)) if star == "*" && supers > 0 => {}
            Some((name, line)) => check(*line, name),
            None => {}
        }
        at = next;
    }
    found
}

/// `pub mod NAME;` of `src/lib.rs`, as they stand.
fn module_order() -> Vec<String> {
    let text = read(&src().join("lib.rs"));
    text.lines().filter_map(|l| l.trim().strip_prefix("pub mod ")?.strip_suffix(';')).map(str::to_owned).collect()
}

/// "mesh/read/obj.rs" is mesh::read::obj; the roots `lib.rs` and `main.rs` belong to no module.
pub fn module_path(file: &str) -> Option<Vec<String>> {
    if matches!(file, "lib.rs" | "main.rs") {
        return None;
    }
    let path = file.strip_suffix(".rs")?;
    Some(path.strip_suffix("/mod").unwrap_or(path).split('/').map(str::to_owned).collect())
}

pub fn src() -> PathBuf {
    source::root().join("src")
}
