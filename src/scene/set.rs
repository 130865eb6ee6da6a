//! `PATH=VALUE`: changes one value of a document before it is checked.

use super::Document;
use super::check::unknown_key;
use super::error::{Message, Place, SceneError, unknown};
use super::format::SCENE;
use super::spec::{Kind, Table};
use super::value::{Data, Entry, Origin, Value};

/// Applies an assignment such as `body.bar.shape.cells=[40,8,8]`. Entries of lists are addressed by their name, or by
/// their place from 0. VALUE is TOML; a bare word is a text. Tables on the way that the file left out are made.
pub fn apply(document: &mut Document, assignment: &str) -> Result<(), SceneError> {
    let fail = |message: Message| SceneError::one(Place::Flag { flag: assignment.to_owned() }, "", message);
    let Some((path, text)) = assignment.split_once('=') else {
        return Err(fail("expected PATH=VALUE, for instance simulation.time_step=0.005".into()));
    };
    let flag = document.flags.len();
    let new = parse_value(text.trim(), flag).map_err(|reason| fail(format!("the value is not TOML: {reason}").into()))?;
    *find(&mut document.root, path.trim(), flag).map_err(fail)? = new;
    document.flags.push(assignment.to_owned());
    Ok(())
}

fn parse_value(text: &str, flag: usize) -> Result<Value, String> {
    Value::parse_flag(text, flag).or_else(|reason| {
        let bare = !text.is_empty() && !text.contains(['"', '\'', '[', ']', '{', '}', '\n']);
        if bare { Ok(Value { data: Data::Text(text.to_owned()), origin: Origin::Flag(flag) }) } else { Err(reason) }
    })
}

/// The value at `path`, made if the file leaves it out.
fn find<'a>(root: &'a mut Value, path: &str, flag: usize) -> Result<&'a mut Value, Message> {
    let mut value = root;
    let mut kind = Kind::Table(&SCENE);
    let mut walked = String::new();
    for segment in path.split('.') {
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
