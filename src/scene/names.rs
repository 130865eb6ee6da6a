//! Names of a scene's entries, and everything in it that calls them by these.

use super::check::{is_name, join};
use super::format::SCENE;
use super::spec::{Kind, Table};
use super::value::{Data, Value, as_toml};
use crate::body::base_name;

/// An entry of a list of the scene, or a material, gets another name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rename {
    /// The list as `--set` names it: `body`, `material`, `group`, `force` and the like.
    pub list: String,
    pub from: String,
    pub to: String,
}

impl Rename {
    pub fn new(list: impl Into<String>, from: impl Into<String>, to: impl Into<String>) -> Self {
        Self { list: list.into(), from: from.into(), to: to.into() }
    }

    /// As `--set` says it.
    pub fn assignment(&self) -> String {
        format!("{}.{}.name=\"{}\"", self.list, self.from, self.to)
    }

    pub fn reversed(&self) -> Self {
        Self { list: self.list.clone(), from: self.to.clone(), to: self.from.clone() }
    }

    /// The new name of an entry of a list, or of one copy of it; none if it is not the one.
    pub fn name_for(&self, list: &str, name: &str) -> Option<String> {
        let is_it = self.list == list && base_name(name) == self.from;
        is_it.then(|| format!("{}{}", self.to, &name[base_name(name).len()..]))
    }

    /// A path of `--set` with the new name.
    pub fn path(&self, path: &str) -> String {
        let old = format!("{}.{}", self.list, self.from);
        match path.strip_prefix(&old) {
            Some(rest) if rest.is_empty() || rest.starts_with('.') => format!("{}.{}{rest}", self.list, self.to),
            _ => path.to_owned(),
        }
    }

    /// What an assignment gives to `path`, with the new name wherever the old one stands in it.
    pub fn text(&self, path: &str, text: &str) -> String {
        let (Some(kind), Ok(mut value)) = (declared(path), Value::parse_flag(text, 0)) else { return text.to_owned() };
        let mut is_changed = false;
        walk(&mut value, &kind, path, &mut |list, _, value| {
            if let Data::Text(name) = &mut value.data
                && let Some(new) = self.name_for(list, name)
            {
                (*name, is_changed) = (new, true);
            }
        });
        if let (true, Data::Array(items)) = (path == self.list, &mut value.data) {
            let names = items.iter_mut().filter_map(|item| item.get_mut("name"));
            for value in names.filter(|value| value.text() == Some(&self.from)) {
                (value.data, is_changed) = (Data::Text(self.to.clone()), true);
            }
        }
        if is_changed { as_toml(&value) } else { text.to_owned() }
    }
}

/// The list and the segment of the entry whose name is at a path such as `body.bar.name` or `material.soft.name`.
pub fn name_at(path: &str) -> Option<(&'static str, &str)> {
    let (list, segment) = path.strip_suffix(".name")?.split_once('.')?;
    let field = SCENE.field(list).filter(|_| !segment.contains('.'))?;
    let has_names = match field.kind {
        Kind::List(table) => table.field("name").is_some(),
        Kind::Named(_) => true,
        _ => false,
    };
    has_names.then_some((field.key, segment))
}

/// The names that the entries of a list have.
pub fn names_of<'a>(root: &'a Value, list: &str) -> Vec<&'a str> {
    let Some(value) = root.get(list) else { return vec![] };
    let of_items = value.items().iter().filter_map(|item| item.get("name")?.text());
    value.entries().iter().map(|entry| entry.key.as_str()).chain(of_items).collect()
}

/// The name of the entry of a list with a name or a number; none of entries without one.
pub fn name_of<'a>(root: &'a Value, list: &str, segment: &str) -> Option<&'a str> {
    let value = root.get(list)?;
    if let Some(entry) = value.entries().iter().find(|entry| entry.key == segment) {
        return Some(&entry.key);
    }
    value.items().get(place_in(value.items(), segment)?)?.get("name")?.text()
}

/// Why an entry of a list cannot be called so, as a sentence.
pub fn name_fault(root: &Value, list: &str, name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("a name must not be empty; give it letters, digits, _ or -".into());
    }
    if !is_name(name) {
        return Some(format!("\"{name}\" is no name: use letters, digits, _ and - only"));
    }
    let is_taken = names_of(root, list).contains(&name);
    is_taken.then(|| format!("there is a {list} \"{name}\" already; choose another name"))
}

/// All values that name an entry, or a copy of it: their paths, and what is there with the new name.
pub fn references(root: &Value, rename: &Rename) -> Vec<(String, String)> {
    let mut found = vec![];
    walk(&mut root.clone(), &Kind::Table(&SCENE), "", &mut |list, path, value| {
        found.extend(value.text().and_then(|name| rename.name_for(list, name)).map(|new| (path.to_owned(), new)));
    });
    found
}

/// The place of the entry with a name, or with a number from 0.
pub fn place_in(items: &[Value], name: &str) -> Option<usize> {
    let named = items.iter().position(|item| item.get("name").and_then(Value::text) == Some(name));
    named.or_else(|| name.parse().ok().filter(|place| *place < items.len()))
}

/// The table that the `type` of a value says.
pub fn variant(value: &Value, variants: &'static [(&'static str, Table)]) -> Option<&'static Table> {
    let tag = value.get("type").and_then(Value::text)?;
    variants.iter().find(|(name, _)| *name == tag).map(|(_, table)| table)
}

/// What may be at a path, as far as that needs no scene.
fn declared(path: &str) -> Option<Kind> {
    path.split('.').try_fold(Kind::Table(&SCENE), |kind, segment| match kind {
        Kind::Table(table) => Some(table.field(segment)?.kind),
        Kind::List(table) | Kind::Named(table) => Some(Kind::Table(table)),
        _ => None,
    })
}

/// Tells `found` of every value below that names an entry: the list of the entry, the path, and the value.
fn walk(value: &mut Value, kind: &Kind, path: &str, found: &mut dyn FnMut(&'static str, &str, &mut Value)) {
    let of_table = match *kind {
        Kind::Reference(list) => return found(list, path, value),
        Kind::Table(table) => Some(table),
        Kind::Variants(variants) => variant(value, variants),
        Kind::List(table) => {
            for (k, item) in value.items_mut().iter_mut().enumerate() {
                let segment = item.get("name").and_then(Value::text).map_or_else(|| k.to_string(), str::to_owned);
                walk(item, &Kind::Table(table), &join(path, &segment), found);
            }
            return;
        }
        Kind::Named(table) => {
            for entry in value.entries_mut() {
                walk(&mut entry.value, &Kind::Table(table), &join(path, &entry.key), found);
            }
            return;
        }
        _ => None,
    };
    let Some(table) = of_table else { return };
    for entry in value.entries_mut() {
        if let Some(field) = table.field(&entry.key) {
            walk(&mut entry.value, &field.kind, &join(path, &entry.key), found);
        }
    }
}
