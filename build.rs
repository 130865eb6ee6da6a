//! Lists the compute shaders: every file in a folder of `shaders/` is built in, without a list to keep.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("shaders");
    let mut files: Vec<PathBuf> = entries(&root).iter().filter(|folder| is_compute(folder)).flat_map(|folder| entries(folder)).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "wgsl"));
    files.sort();
    let mut list = "&[\n".to_owned();
    for file in &files {
        let name = file.strip_prefix(&root).expect("it was found there").to_string_lossy().replace('\\', "/");
        writeln!(list, "    ({name:?}, include_str!({file:?})),").expect("a string has room");
    }
    list.push(']');
    let out = PathBuf::from(std::env::var("OUT_DIR").expect("cargo sets it")).join("shaders.rs");
    fs::write(&out, list).unwrap_or_else(|error| panic!("{}: {error}", out.display()));
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=shaders");
}

/// Shaders that draw are listed where they are drawn with.
fn is_compute(folder: &Path) -> bool {
    folder.is_dir() && !folder.ends_with("render")
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.expect("the folder can be read").path()).collect()
}
