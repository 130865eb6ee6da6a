//! `PATH=VALUE`: changes one value of a document before it is checked.

use super::Document;
use super::check::unknown_key;
use super::error::{Message, Place, SceneError, unknown};
use super::format::SCENE;
use super::names::{self, Rename};
pub use super::names::{place_in, variant};
use super::spec::{Kind, Table};
use super::value::{Data, Entry, Origin, Value};
use crate::body::base_name;

/// What an assignment does to a document.
pub enum Edit {
    /// Gives the value at a path.
    Put { path: String, value: Value },
    /// Adds an entry to a list.
    Add { list: String, entry: Value },
    /// Gives an entry another name, and what names it the name of the entry: paths, and what is there then.
    Rename { rename: Rename, references: Vec<(String, String)> },
    /// Takes entries out of lists: the path of each list and the place in it, in this order.
    Remove(Vec<(&'static str, usize)>),
    /// Leaves the value at a path out, which may be a table.
    Unset { path: String },
}

/// Applies an assignment such as `body.bar.shape.cells=[40,8,8]`. Entries of lists are addressed by their name, or by
/// their place from 0. VALUE is TOML; a bare word is a text. Tables on the way that the file left out are made. A table
/// given to a new name in a list is an entry more (`body.ball={ shape = ... }`), and to a new name a material more
/// (`material.liver={ preset = "liver" }`); an entry without a value is taken out (`body.ball=`), and with a body
/// everything that names it. Any other value is left out likewise (`force.0.end=`), and is as by default then. With
/// another name (`body.bar.name=rod`, `material.soft.name=gum`) all that names the entry names it so.
pub fn apply(document: &mut Document, assignment: &str) -> Result<(), SceneError> {
    let fail = |message: Message| SceneError::one(Place::Flag { flag: assignment.to_owned() }, "", message);
    let flag = document.flags.len();
    match parse(&document.root, assignment, flag).map_err(|reason| fail(reason.into()))? {
        Edit::Put { path, value } => {
            let adds = matches!(value.data, Data::Table(_));
            *find(&mut document.root, &path, adds, flag).map_err(fail)? = value;
        }
        Edit::Add { list, entry } => match &mut find(&mut document.root, &list, false, flag).map_err(fail)?.data {
            Data::Array(items) => items.push(entry),
            _ => return Err(fail(format!("\"{list}\" is not a list in the file").into())),
        },
        Edit::Rename { rename: Rename { list, from, to }, references } => {
            for (path, name) in references {
                find(&mut document.root, &path, false, flag).map_err(fail)?.data = Data::Text(name);
            }
            if let Some(entry) = document.root.get_mut(&list).and_then(|value| value.entries_mut().iter_mut().find(|e| e.key == from)) {
                (entry.key, entry.key_origin) = (to, Origin::Flag(flag));
            } else {
                find(&mut document.root, &format!("{list}.{from}.name"), false, flag).map_err(fail)?.data = Data::Text(to);
            }
        }
        Edit::Remove(places) => {
            for (list, place) in places {
                if let Data::Array(items) = &mut find(&mut document.root, list, false, flag).map_err(fail)?.data {
                    items.remove(place);
                }
            }
        }
        Edit::Unset { path } => {
            let (table, key) = path.rsplit_once('.').unwrap_or(("", &path));
            // A table that is not there has no such value.
            let there = if table.is_empty() { Some(&mut document.root) } else { at_mut(&mut document.root, table) };
            there.and_then(entries).into_iter().for_each(|entries| entries.retain(|entry| entry.key != key));
        }
    }
    document.flags.push(assignment.to_owned());
    Ok(())
}

/// What an assignment will do to the scene at `root`; `flag` is its number.
pub fn parse(root: &Value, assignment: &str, flag: usize) -> Result<Edit, String> {
    let (path, text) = assignment.split_once('=').ok_or("expected PATH=VALUE, for instance simulation.time_step=0.005")?;
    let (path, text) = (path.trim(), text.trim());
    if text.is_empty() {
        return match entry_of(path) {
            Some((list, name)) => taken_out(root, list, name).map(Edit::Remove),
            None => left_out(root, path),
        };
    }
    let mut value = parse_value(text, flag).map_err(|reason| format!("the value is not TOML: {reason}"))?;
    if let (Some((list, segment)), Some(name)) = (names::name_at(path), value.text())
        && let Some(edit) = renamed(root, list, segment, name)
    {
        return edit;
    }
    if let (Some((list, name)), Data::Table(entries)) = (entry_of(path), &mut value.data)
        && name.parse::<usize>().is_err()
    {
        let origin = Origin::Flag(flag);
        entries.retain(|entry| entry.key != "name");
        let named = Value { data: Data::Text(name.to_owned()), origin };
        entries.insert(0, Entry { key: "name".into(), key_origin: origin, value: named });
        if place_in(root.get(list).map_or(&[][..], Value::items), name).is_none() {
            return Ok(Edit::Add { list: list.to_owned(), entry: value });
        }
    }
    Ok(Edit::Put { path: path.to_owned(), value })
}

/// Another name for the entry of a list with a name or a number; none where it has no name yet, or where there is no
/// such entry.
fn renamed(root: &Value, list: &str, segment: &str, to: &str) -> Option<Result<Edit, String>> {
    // A file may have been saved since: then it has the new name already.
    let is_done = || names::names_of(root, list).contains(&to).then_some(to);
    let from = names::name_of(root, list, segment).or_else(is_done)?;
    if from == to {
        return Some(Ok(Edit::Remove(vec![])));
    }
    let rename = Rename::new(list, from, to);
    Some(match names::name_fault(root, list, to) {
        Some(fault) => Err(fault),
        None => Ok(Edit::Rename { references: names::references(root, &rename), rename }),
    })
}

/// The list of the scene and the name in it, where a path names a whole entry.
pub fn entry_of(path: &str) -> Option<(&str, &str)> {
    let (list, name) = path.split_once('.')?;
    let is_list = matches!(SCENE.field(list)?.kind, Kind::List(_));
    (is_list && !name.contains('.')).then_some((list, name))
}

/// An entry, and with a body all that names it.
fn taken_out(root: &Value, list: &str, name: &str) -> Result<Vec<(&'static str, usize)>, String> {
    // What is not there needs not be taken out: a file may have been saved since.
    let place = place_in(root.get(list).map_or(&[][..], Value::items), name);
    let declared = SCENE.field(list).ok_or_else(|| format!("the scene has no list \"{list}\""))?.key;
    let mut places = vec![];
    if list == "body" {
        fn named<'a>(item: &'a Value, key: &str) -> Option<&'a str> {
            key.split('.').try_fold(item, |value, key| value.get(key)).and_then(Value::text).map(base_name)
        }
        let found = place.and_then(|place| root.get(list)?.items()[place].get("name")?.text());
        let body = found.unwrap_or(name);
        for (list, keys) in REFERENCES {
            let items = list.split('.').try_fold(root, |value, key| value.get(key)).map_or(&[][..], Value::items);
            let refers = |item: &Value| keys.iter().any(|key| named(item, key) == Some(body));
            places.extend((0..items.len()).rev().filter(|place| refers(&items[*place])).map(|place| (*list, place)));
        }
    }
    places.extend(place.map(|place| (declared, place)));
    Ok(places)
}

/// A value, or a table by its name, that is left out.
fn left_out(root: &Value, path: &str) -> Result<Edit, String> {
    let (table, key) = path.rsplit_once('.').unwrap_or(("", path));
    let is_declared = match look_up(root, table) {
        Some((_, Kind::Named(_))) => true,
        Some((_, Kind::Table(table))) => table.field(key).is_some(),
        Some((Some(value), Kind::Variants(variants))) => variant(value, variants).is_some_and(|table| table.field(key).is_some()),
        _ => false,
    };
    match is_declared {
        true => Ok(Edit::Unset { path: path.to_owned() }),
        false => Err(format!("nothing stands after the =, which takes out an entry or a value, and there is no \"{path}\"")),
    }
}

/// The value at a path, if it is given, and what may be there; none where nothing may be.
pub fn look_up<'a>(root: &'a Value, path: &str) -> Option<(Option<&'a Value>, Kind)> {
    let mut found = (Some(root), Kind::Table(&SCENE));
    for segment in path.split('.').filter(|segment| !segment.is_empty()) {
        let (value, kind) = found;
        found = match kind {
            Kind::Table(table) => (value.and_then(|value| value.get(segment)), table.field(segment)?.kind),
            Kind::Variants(variants) => (value?.get(segment), variant(value?, variants)?.field(segment)?.kind),
            Kind::Named(table) => (Some(value?.get(segment)?), Kind::Table(table)),
            Kind::List(table) => {
                let items = value?.items();
                (Some(&items[place_in(items, segment)?]), Kind::Table(table))
            }
            _ => return None,
        };
    }
    Some(found)
}

/// The table at a path, if it is given.
fn at_mut<'a>(root: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    path.split('.').try_fold(root, |value, segment| match value.data {
        Data::Array(_) => {
            let place = place_in(value.items(), segment)?;
            value.items_mut().get_mut(place)
        }
        _ => value.get_mut(segment),
    })
}

/// Where entries of lists name a body.
pub const REFERENCES: &[(&str, &[&str])] = &[
    ("contact.pair", &["a", "b"]),
    ("attachment", &["from.body", "to.body"]),
    ("force", &["body"]),
    ("grab", &["body"]),
    ("probe", &["body"]),
];

fn parse_value(text: &str, flag: usize) -> Result<Value, String> {
    Value::parse_flag(text, flag).or_else(|reason| {
        let bare = !text.is_empty() && !text.contains(['"', '\'', '[', ']', '{', '}', '\n']);
        if bare { Ok(Value { data: Data::Text(text.to_owned()), origin: Origin::Flag(flag) }) } else { Err(reason) }
    })
}

/// The value at `path`, made if the file leaves it out. `adds`: a name that no table has yet may be at the end.
fn find<'a>(root: &'a mut Value, path: &str, adds: bool, flag: usize) -> Result<&'a mut Value, Message> {
    let mut value = root;
    let mut kind = Kind::Table(&SCENE);
    let mut walked = String::new();
    let n_segments = path.split('.').count();
    for (k, segment) in path.split('.').enumerate() {
        let here = if walked.is_empty() { "the scene".to_owned() } else { format!("\"{walked}\"") };
        (value, kind) = match kind {
            Kind::Table(table) => field(value, table, segment, &here, flag)?,
            Kind::Variants(variants) => {
                let tag = value.get("type").and_then(Value::text).unwrap_or_default().to_owned();
                let Some((_, table)) = variants.iter().find(|(t, _)| *t == tag) else {
                    return Err(format!("{here} has no \"type\" that says what it is; set that, or all of it").into());
                };
                field(value, table, segment, &here, flag)?
            }
            Kind::Named(table) => {
                let names: Vec<String> = value.entries().iter().map(|e| e.key.clone()).collect();
                let is_new = !names.iter().any(|name| name == segment);
                if let (true, Some(list)) = (adds && is_new && k + 1 == n_segments, entries(value)) {
                    let origin = Origin::Flag(flag);
                    let made = Value { data: Data::Table(vec![]), origin };
                    list.push(Entry { key: segment.to_owned(), key_origin: origin, value: made });
                }
                match entries(value).and_then(|list| list.iter_mut().find(|e| e.key == segment)) {
                    Some(entry) => (&mut entry.value, Kind::Table(table)),
                    None => {
                        return Err(unknown(&format!("{here} has no \"{segment}\""), segment, names.iter().map(String::as_str)));
                    }
                }
            }
            Kind::List(table) => {
                let names: Vec<String> = value
                    .items()
                    .iter()
                    .enumerate()
                    .map(|(i, item)| item.get("name").and_then(Value::text).map_or_else(|| i.to_string(), str::to_owned))
                    .collect();
                let index = names.iter().position(|n| n == segment).or_else(|| segment.parse().ok());
                match (&mut value.data, index) {
                    (Data::Array(items), Some(i)) if i < items.len() => (&mut items[i], Kind::Table(table)),
                    _ => return Err(unknown(&format!("{here} has no \"{segment}\""), segment, names.iter().map(String::as_str))),
                }
            }
            _ => return Err(format!("{here} is a single value, it has no \"{segment}\"").into()),
        };
        walked = super::check::join(&walked, segment);
    }
    Ok(value)
}

fn field<'a>(value: &'a mut Value, table: &'static Table, key: &str, here: &str, flag: usize) -> Result<(&'a mut Value, Kind), Message> {
    let Some(field) = table.field(key) else {
        return Err(unknown_key(&format!("{here} has no \"{key}\""), key, table));
    };
    let Some(list) = entries(value) else {
        return Err(format!("{here} is not a table in the file").into());
    };
    let index = list.iter().position(|e| e.key == key).unwrap_or_else(|| {
        let data = if matches!(field.kind, Kind::List(_)) { Data::Array(vec![]) } else { Data::Table(vec![]) };
        let origin = Origin::Flag(flag);
        list.push(Entry { key: key.to_owned(), key_origin: origin, value: Value { data, origin } });
        list.len() - 1
    });
    Ok((&mut list[index].value, field.kind))
}

fn entries(value: &mut Value) -> Option<&mut Vec<Entry>> {
    if let Data::Table(entries) = &mut value.data { Some(entries) } else { None }
}
