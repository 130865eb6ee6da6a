//! The key that a misspelt or misplaced one may have meant: of its own table first, then of all others.

use super::error::nearest;
use super::format::SCENE;
use super::spec::{Field, Kind, Table};

/// What formulas call a value.
const SYMBOLS: &[(&str, &str)] = &[
    ("E", "young_modulus"),
    ("g", "gravity"),
    ("h", "time_step"),
    ("dt", "time_step"),
    ("mu", "friction"),
    ("nu", "poisson_ratio"),
    ("rho", "density"),
    ("yield_stress", "yield_strain"),
    ("file", "mesh"),
    ("fixed", "fix"),
];

/// The key of `table`, or the path of one elsewhere, that `word` may have meant.
pub fn meant_key(word: &str, table: &'static Table) -> Option<String> {
    let keys: Vec<&str> = table.fields.iter().map(|field| field.key).collect();
    if let Some(key) = nearest(word, &keys) {
        return Some(key.to_owned());
    }
    let everywhere = all_paths();
    let at = |key: &str| match keys.contains(&key) {
        true => Some(key.to_owned()),
        false => everywhere.iter().find(|path| last(path) == key).cloned(),
    };
    let symbol = SYMBOLS.iter().find(|(symbol, _)| *symbol == word).map(|(_, key)| *key);
    let beginning = || keys.iter().find(|key| word.len() > 3 && key.starts_with(word)).map(|key| (*key).to_owned());
    let near_elsewhere = || {
        let others: Vec<&str> = everywhere.iter().map(|path| last(path)).collect();
        nearest(word, &others).filter(|_| word.len() > 3).and_then(at)
    };
    at(word).or_else(|| at(symbol?)).or_else(beginning).or_else(near_elsewhere)
}

fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// The paths of all values, as `--set` spells them, the shallow ones first; NAME stands for the name of an entry.
fn all_paths() -> Vec<String> {
    let mut paths = vec![];
    let mut level: Vec<(String, &'static [Field])> = vec![(String::new(), SCENE.fields)];
    while !level.is_empty() {
        let mut below = vec![];
        for (prefix, fields) in level {
            for field in fields {
                let path = format!("{prefix}{}", field.key);
                match field.kind {
                    Kind::Table(table) => below.push((format!("{path}."), table.fields)),
                    Kind::List(table) | Kind::Named(table) => below.push((format!("{path}.NAME."), table.fields)),
                    Kind::Variants(variants) => below.extend(variants.iter().map(|(_, table)| (format!("{path}."), table.fields))),
                    _ => {}
                }
                paths.push(path);
            }
        }
        level = below;
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::format::MATERIAL;

    #[test]
    fn keys_are_found_in_their_table_and_in_all_others() {
        for (word, meant) in [
            ("gravity", "simulation.gravity"),
            ("gravty", "simulation.gravity"),
            ("dt", "simulation.time_step"),
            ("friction", "contact.friction"),
            ("bodi", "body"),
            ("young_modulus", "material.NAME.young_modulus"),
            ("mesh", "body.NAME.mesh"),
            ("cells", "body.NAME.shape.cells"),
        ] {
            assert_eq!(meant_key(word, &SCENE).as_deref(), Some(meant), "{word}");
        }
        for (word, meant) in
            [("E", "young_modulus"), ("young", "young_modulus"), ("poison_ratio", "poisson_ratio"), ("mass", "body.NAME.mass")]
        {
            assert_eq!(meant_key(word, &MATERIAL).as_deref(), Some(meant), "{word}");
        }
        assert_eq!(meant_key("zzz", &SCENE), None);
    }
}
