//! The tests use the dependencies that the program was built with: dev-dependencies change no feature of them.

use std::collections::BTreeSet;
use std::process::Command;

#[test]
fn dev_dependencies_change_no_feature_of_what_the_program_is_built_from() {
    for features in ["--all-features", "--no-default-features"] {
        let program = packages(features, "normal,build");
        let tests = packages(features, "normal,build,dev");
        assert!(program.len() > 50 && tests.len() > program.len(), "{} {}", program.len(), tests.len());
        let twice: Vec<&String> = program.difference(&tests).collect();
        assert!(twice.is_empty(), "built a second time for the tests; name their features in [dependencies] of Cargo.toml: {twice:?}");
    }
}

/// Every package, as "NAME VERSION FEATURES", along some kinds of edges.
fn packages(features: &str, edges: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", features, "--edges", edges, "--prefix", "none", "--no-dedupe", "--format", "{p} {f}"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}
