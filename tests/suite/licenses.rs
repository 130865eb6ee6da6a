//! Every crate that the program is built from has a licence that `deny.toml` allows.

use std::collections::BTreeMap;
use std::process::Command;

#[test]
fn licences_of_all_dependencies_are_allowed() {
    let policy = Policy::read();
    // What is downloaded is what this system's build needs: enough, and no network.
    let target = Command::new("rustc").arg("-vV").output().unwrap();
    let target = String::from_utf8(target.stdout).unwrap();
    let target = target.lines().find_map(|l| l.strip_prefix("host: ")).unwrap();
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", target])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100);
    for package in packages {
        let (name, license) = (package["name"].as_str().unwrap(), package["license"].as_str());
        let license = license.unwrap_or_else(|| panic!("{name} names no licence"));
        assert!(policy.allows(name, license), "{name} has the licence {license}, which deny.toml does not allow");
    }
}

#[test]
fn every_font_has_its_licence_beside_it() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/fonts");
    let table = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let mut fonts = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.ends_with(".ttf") {
            continue;
        }
        let row = table.lines().find(|l| l.contains(&format!("`{name}`"))).unwrap_or_else(|| panic!("{name} is not in the table"));
        let licence = row.split('`').find(|word| word.starts_with("LICENSE")).unwrap_or_else(|| panic!("{row} names no licence"));
        assert!(std::fs::read_to_string(folder.join(licence)).unwrap().contains("Copyright"), "{licence}");
        fonts += 1;
    }
    assert!(fonts >= 4);
}

#[test]
fn the_expression_decides() {
    let policy = Policy { allow: vec!["MIT".into(), "Zlib".into()], exceptions: BTreeMap::from([("odd".into(), vec!["MPL-2.0".into()])]) };
    for good in
        ["MIT", "MIT/Apache-2.0", "GPL-3.0 OR MIT", "(MIT OR GPL-3.0) AND Zlib", "Apache-2.0 WITH LLVM-exception OR MIT", "MIT AND Zlib"]
    {
        assert!(policy.allows("some", good), "{good}");
    }
    for bad in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Zlib) AND MPL-2.0", "", "MIT WITH other-exception", "MIT OR", "(MIT"] {
        assert!(!policy.allows("some", bad), "{bad}");
    }
    assert!(policy.allows("odd", "MPL-2.0") && !policy.allows("some", "MPL-2.0"));
}

struct Policy {
    allow: Vec<String>,
    /// More for single crates.
    exceptions: BTreeMap<String, Vec<String>>,
}

impl Policy {
    fn read() -> Self {
        let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/deny.toml")).unwrap();
        let file: toml::Table = text.parse().unwrap();
        let texts = |list: &toml::Value| list.as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect::<Vec<_>>();
        let exceptions = file["licenses"]["exceptions"].as_array().unwrap();
        let exceptions = exceptions.iter().map(|e| (e["crate"].as_str().unwrap().to_owned(), texts(&e["allow"])));
        Self { allow: texts(&file["licenses"]["allow"]), exceptions: exceptions.collect() }
    }

    /// Whether an SPDX expression is true when the allowed licences are.
    fn allows(&self, name: &str, expression: &str) -> bool {
        let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
        let mut words: Vec<&str> = spaced.split_whitespace().rev().collect();
        let extra = self.exceptions.get(name);
        let known = |license: &str| self.allow.iter().chain(extra.into_iter().flatten()).any(|l| l == license);
        either(&mut words, &known) == Some(true) && words.is_empty()
    }
}

/// `both OR both ...`; None is a broken expression. `words` is read from its end.
fn either(words: &mut Vec<&str>, known: &dyn Fn(&str) -> bool) -> Option<bool> {
    let mut value = both(words, known)?;
    while words.last() == Some(&"OR") {
        words.pop();
        value |= both(words, known)?;
    }
    Some(value)
}

/// `one AND one ...`
fn both(words: &mut Vec<&str>, known: &dyn Fn(&str) -> bool) -> Option<bool> {
    let mut value = one(words, known)?;
    while words.last() == Some(&"AND") {
        words.pop();
        value &= one(words, known)?;
    }
    Some(value)
}

/// A licence, perhaps WITH an exception, or an expression in parentheses.
fn one(words: &mut Vec<&str>, known: &dyn Fn(&str) -> bool) -> Option<bool> {
    match words.pop()? {
        "(" => {
            let value = either(words, known)?;
            (words.pop()? == ")").then_some(value)
        }
        ")" | "OR" | "AND" | "WITH" => None,
        license if words.last() == Some(&"WITH") => {
            words.pop();
            Some(known(&format!("{license} WITH {}", words.pop()?)))
        }
        license => Some(known(license)),
    }
}
