//! The check of a file against the declared format: types, ranges, unknown and missing keys. References between entries
//! come later.

use super::error::{Complaints, Message, did_you_mean, quoted_list, unknown};
use super::spec::{Field, Kind, Presence, Range, Table};
use super::suggest::meant_key;
use super::value::{Data, Entry, Origin, Value};

/// Complains about everything in `value` that `table` does not allow.
pub fn check_table(value: &Value, table: &'static Table, path: &str, complaints: &mut Complaints) {
    let Data::Table(entries) = &value.data else {
        complaints.add(value.origin, path, format!("expected a table, found {}", value.describe()));
        return;
    };
    for entry in entries {
        let key = join(path, &entry.key);
        match table.field(&entry.key) {
            Some(field) => check_value(&entry.value, &field.kind, &field.accepted(), &key, complaints),
            None => {
                complaints.add(entry.key_origin, key, unknown_key("unknown key", &entry.key, table));
            }
        }
    }
    for field in table.fields {
        if matches!(field.presence, Presence::Required) && value.get(field.key).is_none() {
            complaints.add(value.origin, path, format!("\"{}\" is missing; give {}", field.key, field.accepted()));
        }
    }
}

/// `problem`, the key that may have been meant, and all keys of `table`.
pub fn unknown_key(problem: &str, key: &str, table: &'static Table) -> Message {
    let meant = meant_key(key, table).map_or_else(String::new, |meant| format!("; did you mean \"{meant}\"?"));
    let keys = quoted_list(table.fields.iter().map(|field| field.key));
    Message { text: format!("{problem}{meant}"), help: Some(format!("Accepted: {keys}")) }
}

/// Whether a single value is of its kind and in its range; true for tables and lists of tables.
fn fits(value: &Value, kind: &Kind) -> bool {
    match kind {
        Kind::Number(range) => value.number().is_some_and(|x| range.contains(x)),
        Kind::Integer { min, max } => value.integer().is_some_and(|i| (*min..=*max).contains(&i)),
        Kind::Text | Kind::Reference(_) => value.text().is_some(),
        Kind::Label => value.text().is_some() || value.integer().is_some(),
        Kind::Name => value.text().is_some_and(is_name),
        Kind::Choice(words) => value.text().is_some_and(|t| words.contains(&t)),
        Kind::Color => value.text().is_some_and(|t| super::color::parse(t).is_some()),
        Kind::Vector(range) => value.items().len() == 3 && value.items().iter().all(|v| v.number().is_some_and(|x| range.contains(x))),
        Kind::Integers { n, min, max } => {
            value.items().len() == *n && value.items().iter().all(|v| v.integer().is_some_and(|i| (*min..=*max).contains(&i)))
        }
        Kind::Table(_) | Kind::List(_) | Kind::Named(_) | Kind::Variants(_) => true,
    }
}

fn check_value(value: &Value, kind: &Kind, accepted: &str, path: &str, complaints: &mut Complaints) {
    let in_range = match kind {
        Kind::Table(table) => return check_table(value, table, path, complaints),
        Kind::List(table) => match &value.data {
            Data::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    let segment = item.get("name").and_then(Value::text).map_or_else(|| i.to_string(), str::to_owned);
                    check_table(item, table, &join(path, &segment), complaints);
                }
                return;
            }
            _ => false,
        },
        Kind::Named(table) => match &value.data {
            Data::Table(entries) => {
                for entry in entries {
                    check_table(&entry.value, table, &join(path, &entry.key), complaints);
                }
                return;
            }
            _ => false,
        },
        Kind::Variants(variants) => match (&value.data, value.get("type").and_then(Value::text)) {
            (Data::Table(_), Some(tag)) => match variants.iter().find(|(t, _)| *t == tag) {
                Some((_, table)) => return check_table(value, table, path, complaints),
                None => {
                    let origin = value.get("type").map_or(value.origin, |v| v.origin);
                    let tags = variants.iter().map(|(t, _)| *t);
                    complaints.add(origin, join(path, "type"), unknown(&format!("there is no shape \"{tag}\""), tag, tags));
                    return;
                }
            },
            (Data::Table(_), None) => {
                complaints.add(value.origin, path, format!("\"type\" is missing or not a text; give {accepted}"));
                return;
            }
            _ => false,
        },
        _ => fits(value, kind),
    };
    if !in_range {
        let meant = match (kind, value.text()) {
            (Kind::Choice(words), Some(word)) => did_you_mean(word, words),
            _ => String::new(),
        };
        complaints.add(value.origin, path, format!("expected {accepted}, found {}{meant}", found(value, kind)));
    }
}

/// A table that keeps to the format: what it does not allow is left out, and what is required and missing or wrong has
/// some value that is allowed. Tables of a list are called by their `place` where they have no name.
pub fn repaired(value: &Value, table: &'static Table, place: usize) -> Value {
    let mut entries = vec![];
    for entry in value.entries() {
        let value = table.field(&entry.key).and_then(|field| repaired_value(&entry.value, &field.kind));
        entries.extend(value.map(|value| Entry { value, ..entry.clone() }));
    }
    let is_missing = |field: &&Field| matches!(field.presence, Presence::Required) && !entries.iter().any(|entry| entry.key == field.key);
    let missing: Vec<Entry> = table.fields.iter().filter(is_missing).map(|field| stand_in(field, value.origin, place)).collect();
    entries.extend(missing);
    Value { data: Data::Table(entries), origin: value.origin }
}

fn repaired_value(value: &Value, kind: &Kind) -> Option<Value> {
    let with = |data| Some(Value { data, origin: value.origin });
    match (kind, &value.data) {
        (Kind::Table(table), Data::Table(_)) => Some(repaired(value, table, 0)),
        (Kind::List(table), Data::Array(items)) => {
            with(Data::Array(items.iter().enumerate().map(|(place, item)| repaired(item, table, place)).collect()))
        }
        (Kind::Named(table), Data::Table(entries)) => {
            let entry = |entry: &Entry| Entry { value: repaired(&entry.value, table, 0), ..entry.clone() };
            with(Data::Table(entries.iter().map(entry).collect()))
        }
        (Kind::Variants(variants), Data::Table(_)) => {
            let tag = value.get("type").and_then(Value::text);
            variants.iter().find(|(known, _)| Some(*known) == tag).map(|(_, table)| repaired(value, table, 0))
        }
        (Kind::Table(_) | Kind::List(_) | Kind::Named(_) | Kind::Variants(_), _) => None,
        // Complaints call its table by it.
        (Kind::Name, Data::Text(_)) => Some(value.clone()),
        _ => fits(value, kind).then(|| value.clone()),
    }
}

/// Some value that a required field allows.
fn stand_in(field: &Field, origin: Origin, place: usize) -> Entry {
    let value = |data| Value { data, origin };
    let number = |range: &Range| {
        let tried = [1.0, 0.5, 0.0, range.min, range.max];
        Data::Float(tried.into_iter().find(|x| range.contains(*x)).unwrap_or(1.0))
    };
    let list = |n: usize, data: Data| Data::Array(vec![value(data); n]);
    let data = match field.kind {
        Kind::Number(range) => number(&range),
        Kind::Integer { min, max } => Data::Integer(1.clamp(min, max)),
        Kind::Text | Kind::Reference(_) | Kind::Label | Kind::Name => Data::Text(place.to_string()),
        Kind::Choice(words) => Data::Text(words.first().copied().unwrap_or_default().into()),
        Kind::Color => Data::Text("#ffffff".into()),
        Kind::Vector(range) => list(3, number(&range)),
        Kind::Integers { n, min, max } => list(n, Data::Integer(1.clamp(min, max))),
        Kind::Table(table) => repaired(&value(Data::Table(vec![])), table, 0).data,
        Kind::List(_) => Data::Array(vec![]),
        Kind::Named(_) | Kind::Variants(_) => Data::Table(vec![]),
    };
    Entry { key: field.key.to_owned(), key_origin: origin, value: value(data) }
}

/// For lists, the item that is wrong tells more than "a list".
fn found(value: &Value, kind: &Kind) -> String {
    let wanted = match kind {
        Kind::Vector(_) => 3,
        Kind::Integers { n, .. } => *n,
        _ => return value.describe(),
    };
    if value.items().len() != wanted {
        return value.describe();
    }
    format!("[{}]", value.items().iter().map(Value::describe).collect::<Vec<_>>().join(", "))
}

pub fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

pub fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
