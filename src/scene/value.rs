//! TOML values that remember where they were written, so that any later complaint can point at them.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Origin of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Bytes of the scene file, from `start` up to `end`.
    File { start: usize, end: usize },
    /// Index of a `--set` flag.
    Flag(usize),
}

impl Origin {
    /// The start of the file: of what has no place of its own.
    pub const START: Self = Self::File { start: 0, end: 0 };
}

#[derive(Clone, Debug)]
pub struct Value {
    pub data: Data,
    pub origin: Origin,
}

#[derive(Clone, Debug)]
pub enum Data {
    Boolean(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    Date,
    Array(Vec<Value>),
    /// In the order of the file.
    Table(Vec<Entry>),
}

#[derive(Clone, Debug)]
pub struct Entry {
    pub key: String,
    pub key_origin: Origin,
    pub value: Value,
}

impl Value {
    /// Parses a whole document. On failure: messages with their places in `text`, at least one.
    pub fn parse_document(text: &str) -> Result<Self, Vec<(String, Range<usize>)>> {
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            return Err(errors.iter().map(failure).collect());
        }
        convert(Spanned::new(table.span(), DeValue::Table(table.into_inner())), None).map_err(|fault| vec![fault])
    }

    /// Parses one value, as after `key =`, that came from a flag.
    pub fn parse_flag(text: &str, flag: usize) -> Result<Self, String> {
        DeValue::parse(text).map_err(|e| failure(&e)).and_then(|v| convert(v, Some(flag))).map_err(|(message, _)| message)
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries().iter().find(|e| e.key == key).map(|e| &e.value)
    }

    pub fn entries(&self) -> &[Entry] {
        if let Data::Table(entries) = &self.data { entries } else { &[] }
    }

    pub fn items(&self) -> &[Value] {
        if let Data::Array(items) = &self.data { items } else { &[] }
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        let Data::Table(entries) = &mut self.data else { return None };
        entries.iter_mut().find(|e| e.key == key).map(|e| &mut e.value)
    }

    /// Adds an entry to a table.
    pub fn add(&mut self, key: &str, value: Value) {
        if let Data::Table(entries) = &mut self.data {
            entries.push(Entry { key: key.to_owned(), key_origin: value.origin, value });
        }
    }

    pub fn items_mut(&mut self) -> &mut [Value] {
        if let Data::Array(items) = &mut self.data { items } else { &mut [] }
    }

    pub fn entries_mut(&mut self) -> &mut [Entry] {
        if let Data::Table(entries) = &mut self.data { entries } else { &mut [] }
    }

    pub fn text(&self) -> Option<&str> {
        if let Data::Text(text) = &self.data { Some(text) } else { None }
    }

    /// Integers count as numbers.
    pub fn number(&self) -> Option<f64> {
        match self.data {
            Data::Float(x) => Some(x),
            Data::Integer(i) => Some(i as f64),
            _ => None,
        }
    }

    /// A float without a fraction counts as an integer: `--set ...=2e3` is one.
    pub fn integer(&self) -> Option<i64> {
        match self.data {
            Data::Integer(i) => Some(i),
            Data::Float(x) if x.fract() == 0.0 && x.abs() < 1e15 => Some(x as i64),
            _ => None,
        }
    }

    /// Names the type of the value, for "expected ..., found ...".
    pub fn describe(&self) -> String {
        match &self.data {
            Data::Boolean(b) => format!("{b}"),
            Data::Integer(i) => format!("{i}"),
            Data::Float(x) => format!("{x}"),
            Data::Text(t) => format!("the text \"{t}\""),
            Data::Date => "a date".into(),
            Data::Array(items) if items.len() == 1 => "a list of 1 value".into(),
            Data::Array(items) => format!("a list of {} values", items.len()),
            Data::Table(_) => "a table".into(),
        }
    }
}

fn failure(error: &toml::de::Error) -> (String, Range<usize>) {
    (error.message().to_owned(), error.span().unwrap_or(0..0))
}

fn convert(value: Spanned<DeValue<'_>>, flag: Option<usize>) -> Result<Value, (String, Range<usize>)> {
    let span = value.span();
    let origin = |span: &Range<usize>| flag.map_or(Origin::File { start: span.start, end: span.end }, Origin::Flag);
    let data = match value.into_inner() {
        DeValue::String(text) => Data::Text(text.into_owned()),
        DeValue::Integer(i) => match i64::from_str_radix(i.as_str(), i.radix()) {
            Ok(i) => Data::Integer(i),
            Err(_) => return Err((format!("the integer {i} does not fit in 64 bits"), span)),
        },
        DeValue::Float(x) => match x.as_str().parse() {
            Ok(x) => Data::Float(x),
            Err(_) => return Err((format!("{x} is not a number"), span)),
        },
        DeValue::Boolean(b) => Data::Boolean(b),
        DeValue::Datetime(_) => Data::Date,
        DeValue::Array(items) => Data::Array(items.into_iter().map(|item| convert(item, flag)).collect::<Result<_, _>>()?),
        DeValue::Table(table) => {
            let mut entries = vec![];
            for (key, value) in table {
                entries.push((
                    key.span().start,
                    Entry { key_origin: origin(&key.span()), key: key.into_inner().into_owned(), value: convert(value, flag)? },
                ));
            }
            entries.sort_by_key(|(start, _)| *start);
            Data::Table(entries.into_iter().map(|(_, entry)| entry).collect())
        }
    };
    Ok(Value { data, origin: origin(&span) })
}

/// A value as it could stand in a file.
pub fn as_toml(value: &Value) -> String {
    match &value.data {
        Data::Boolean(b) => b.to_string(),
        Data::Integer(i) => i.to_string(),
        Data::Float(x) => format!("{x:?}"),
        Data::Text(text) => toml::Value::String(text.clone()).to_string(),
        // No value is one.
        Data::Date => String::new(),
        Data::Array(items) => format!("[{}]", items.iter().map(as_toml).collect::<Vec<_>>().join(", ")),
        Data::Table(entries) => {
            let pair = |entry: &Entry| format!("{} = {}", entry.key, as_toml(&entry.value));
            format!("{{ {} }}", entries.iter().map(pair).collect::<Vec<_>>().join(", "))
        }
    }
}
