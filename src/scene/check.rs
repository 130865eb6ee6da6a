//! The check of a file against the declared format: types, ranges, unknown and missing keys. References between entries
//! come later.

use super::error::{Complaints, did_you_mean, unknown};
use super::spec::{Kind, Presence, Table};
use super::value::{Data, Value};

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
                let known = table.fields.iter().map(|f| f.key);
                complaints.add(entry.key_origin, key, unknown("unknown key", &entry.key, known));
            }
        }
    }
    for field in table.fields {
        if matches!(field.presence, Presence::Required) && value.get(field.key).is_none() {
            complaints.add(value.origin, path, format!("\"{}\" is missing; give {}", field.key, field.accepted()));
        }
    }
}

fn check_value(value: &Value, kind: &Kind, accepted: &str, path: &str, complaints: &mut Complaints) {
    let in_range = match kind {
        Kind::Number(range) => value.number().is_some_and(|x| range.contains(x)),
        Kind::Integer { min, max } => value.integer().is_some_and(|i| (*min..=*max).contains(&i)),
        Kind::Text => value.text().is_some(),
        Kind::Label => value.text().is_some() || value.integer().is_some(),
        Kind::Name => value.text().is_some_and(is_name),
        Kind::Choice(words) => value.text().is_some_and(|t| words.contains(&t)),
        Kind::Color => value.text().is_some_and(|t| super::color::parse(t).is_some()),
        Kind::Vector(range) => value.items().len() == 3 && value.items().iter().all(|v| v.number().is_some_and(|x| range.contains(x))),
        Kind::Integers { n, min, max } => {
            value.items().len() == *n && value.items().iter().all(|v| v.integer().is_some_and(|i| (*min..=*max).contains(&i)))
        }
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
    };
    if !in_range {
        let meant = match (kind, value.text()) {
            (Kind::Choice(words), Some(word)) => did_you_mean(word, words),
            _ => String::new(),
        };
        complaints.add(value.origin, path, format!("expected {accepted}, found {}{meant}", found(value, kind)));
    }
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

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

pub fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
