//! Values of a checked document, with their defaults.

use std::borrow::Cow;

use super::spec::{Kind, Presence, Table};
use super::value::{Data, Origin, Value};
use super::{check, color};
use crate::math::Vec3;

/// A table of a checked document beside its declaration.
pub struct Node<'a> {
    pub value: &'a Value,
    pub table: &'static Table,
    pub path: String,
}

static EMPTY: Value = Value { data: Data::Table(vec![]), origin: Origin::START };

pub const CHECKED: &str = "the document was checked and the value is declared as required or with a default";

impl<'a> Node<'a> {
    /// The value as written, else the default.
    fn find(&self, key: &str) -> Option<Cow<'a, Value>> {
        let field = self.table.field(key).expect("the key is declared in `format`");
        match (self.value.get(key), field.presence) {
            (Some(value), _) => Some(Cow::Borrowed(value)),
            (None, Presence::Default(text)) => Some(Cow::Owned(Value::parse_flag(text, 0).expect("defaults are valid TOML"))),
            (None, _) => None,
        }
    }

    pub fn opt_number(&self, key: &str) -> Option<f64> {
        self.find(key)?.number()
    }

    pub fn number(&self, key: &str) -> f64 {
        self.opt_number(key).expect(CHECKED)
    }

    pub fn integer(&self, key: &str) -> i64 {
        self.find(key).and_then(|v| v.integer()).expect(CHECKED)
    }

    pub fn opt_integer(&self, key: &str) -> Option<i64> {
        self.find(key)?.integer()
    }

    pub fn opt_text(&self, key: &str) -> Option<String> {
        self.find(key)?.text().map(str::to_owned)
    }

    /// A text, or a whole number as one.
    pub fn opt_label(&self, key: &str) -> Option<String> {
        let value = self.find(key)?;
        value.text().map(str::to_owned).or_else(|| value.integer().map(|number| number.to_string()))
    }

    pub fn text(&self, key: &str) -> String {
        self.opt_text(key).expect(CHECKED)
    }

    pub fn opt_vector(&self, key: &str) -> Option<Vec3> {
        let value = self.find(key)?;
        let numbers: Vec<f64> = value.items().iter().filter_map(Value::number).collect();
        Some(Vec3::new(numbers[0], numbers[1], numbers[2]))
    }

    pub fn vector(&self, key: &str) -> Vec3 {
        self.opt_vector(key).expect(CHECKED)
    }

    pub fn integers<const N: usize>(&self, key: &str) -> [u32; N] {
        let value = self.find(key).expect(CHECKED);
        std::array::from_fn(|i| value.items()[i].integer().expect(CHECKED) as u32)
    }

    pub fn color(&self, key: &str) -> Option<[f32; 3]> {
        color::parse(&self.opt_text(key)?)
    }

    pub fn has(&self, key: &str) -> bool {
        self.value.get(key).is_some()
    }

    /// Where a value is written; where its table begins when it is left out.
    pub fn origin(&self, key: &str) -> Origin {
        self.value.get(key).map_or(self.value.origin, |v| v.origin)
    }

    pub fn key(&self, key: &str) -> String {
        check::join(&self.path, key)
    }

    /// A table; empty (all defaults) when left out.
    pub fn table(&self, key: &str) -> Node<'a> {
        let Some(Kind::Table(table)) = self.table.field(key).map(|f| f.kind) else { unreachable!("{key} is declared as a table") };
        Node { value: self.value.get(key).unwrap_or(&EMPTY), table, path: self.key(key) }
    }

    pub fn opt_table(&self, key: &str) -> Option<Node<'a>> {
        self.has(key).then(|| self.table(key))
    }

    pub fn list(&self, key: &str) -> Vec<Node<'a>> {
        let Some(Kind::List(table)) = self.table.field(key).map(|f| f.kind) else { unreachable!("{key} is declared as a list") };
        let items = self.value.get(key).map_or(&[][..], Value::items);
        let segment = |i: usize, item: &Value| item.get("name").and_then(Value::text).map_or_else(|| i.to_string(), str::to_owned);
        items.iter().enumerate().map(|(i, value)| Node { value, table, path: check::join(&self.key(key), &segment(i, value)) }).collect()
    }
}
