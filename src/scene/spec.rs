//! How a scene value is declared: key, type, unit, range, default, meaning. The one list of them is `format`; the
//! parser, `--set`, the JSON Schema and the reference are all driven by it.

/// A table of a scene file.
pub struct Table {
    /// As a reader of the file sees it: `[simulation]`, `[[body]]`, `shape, type = "box"`.
    pub title: &'static str,
    pub doc: &'static str,
    pub fields: &'static [Field],
}

/// A value of a table.
pub struct Field {
    pub key: &'static str,
    pub kind: Kind,
    pub unit: &'static str,
    pub presence: Presence,
    /// Kinds of body that have this value; empty for all.
    pub kinds: &'static [&'static str],
    /// It may be changed while the scene runs; others act from the start.
    pub live: bool,
    pub doc: &'static str,
}

#[derive(Clone, Copy)]
pub enum Presence {
    Required,
    /// The default, as TOML.
    Default(&'static str),
    /// Words that say what happens without the value.
    Optional(&'static str),
}

#[derive(Clone, Copy)]
pub enum Kind {
    Number(Range),
    Integer {
        min: i64,
        max: i64,
    },
    /// Any text.
    Text,
    /// The name of an entry of this list of the scene: `body`, `material` or `group`. Of a body it may be one copy.
    Reference(&'static str),
    /// A text or a whole number.
    Label,
    /// Letters, digits, `_` and `-`: a word that paths and column headers can hold.
    Name,
    Choice(&'static [&'static str]),
    /// `#rrggbb` or a name of the palette.
    Color,
    /// `[x, y, z]`.
    Vector(Range),
    /// `n` integers.
    Integers {
        n: usize,
        min: i64,
        max: i64,
    },
    Table(&'static Table),
    /// `[[...]]`: tables in order, addressed by their `name` where they have one, else by their place from 0.
    List(&'static Table),
    /// `[material.NAME]`: tables by name.
    Named(&'static Table),
    /// A table whose key `type` says which one.
    Variants(&'static [(&'static str, Table)]),
}

/// Bounds of a number.
#[derive(Clone, Copy)]
pub struct Range {
    pub min: f64,
    pub max: f64,
    /// Whether `min` itself is left out.
    pub above_min: bool,
}

pub const ANY: Range = Range { min: f64::NEG_INFINITY, max: f64::INFINITY, above_min: false };

/// `min <= x <= max`.
pub const fn from_to(min: f64, max: f64) -> Range {
    Range { min, max, above_min: false }
}

/// `min < x <= max`.
pub const fn above_to(min: f64, max: f64) -> Range {
    Range { min, max, above_min: true }
}

impl Range {
    /// Never holds for NaN or an infinity.
    pub fn contains(&self, x: f64) -> bool {
        x.is_finite() && x <= self.max && if self.above_min { x > self.min } else { x >= self.min }
    }

    /// "> 0 and <= 1", "" for any number.
    pub fn describe(&self) -> String {
        let low = self.min.is_finite().then(|| format!("{} {}", if self.above_min { ">" } else { ">=" }, self.min));
        let high = self.max.is_finite().then(|| format!("<= {}", self.max));
        low.into_iter().chain(high).collect::<Vec<_>>().join(" and ")
    }
}

impl Table {
    pub fn field(&self, key: &str) -> Option<&'static Field> {
        self.fields.iter().find(|f| f.key == key)
    }
}

impl PartialEq for Field {
    /// Each value is declared once.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl std::fmt::Debug for Field {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.key)
    }
}

impl Field {
    pub const fn new(key: &'static str, kind: Kind, unit: &'static str, presence: Presence, doc: &'static str) -> Self {
        Self { key, kind, unit, presence, kinds: &[], live: false, doc }
    }

    /// The same value, for some kinds of body only.
    pub const fn only(self, kinds: &'static [&'static str]) -> Self {
        Self { kinds, ..self }
    }

    /// The same value, which may be changed while the scene runs.
    pub const fn live(self) -> Self {
        Self { live: true, ..self }
    }

    /// Describes the accepted values, for messages and the reference: "a number > 0 and <= 10 [s]".
    pub fn accepted(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" [{}]", self.unit) };
        format!("{}{unit}", self.kind.describe())
    }
}

impl Kind {
    pub fn describe(&self) -> String {
        let with = |what: &str, range: &Range| match range.describe() {
            bounds if bounds.is_empty() => what.to_owned(),
            bounds => format!("{what} {bounds}"),
        };
        match self {
            Kind::Number(range) => with("a number", range),
            Kind::Integer { min, max } if min == max => min.to_string(),
            Kind::Integer { min, max } => format!("an integer from {min} to {max}"),
            Kind::Text | Kind::Reference(_) => "a text".into(),
            Kind::Label => "a text or a whole number".into(),
            Kind::Name => "a name of letters, digits, _ and -".into(),
            Kind::Choice(words) => {
                let words: Vec<_> = words.iter().map(|w| format!("\"{w}\"")).collect();
                match words.split_last() {
                    Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
                    _ => words.concat(),
                }
            }
            Kind::Color => format!("a colour \"#rrggbb\" or one of {}", super::color::palette().join(", ")),
            Kind::Vector(range) => with("three numbers [x, y, z]", range),
            Kind::Integers { n, min, max } => format!("{n} integers from {min} to {max}, in brackets"),
            Kind::Table(_) | Kind::Named(_) => "a table".into(),
            Kind::List(table) => format!("a list of tables, {}", table.title),
            Kind::Variants(variants) => {
                let types: Vec<_> = variants.iter().map(|(tag, _)| format!("\"{tag}\"")).collect();
                format!("a table with type = {}", types.join(", "))
            }
        }
    }
}
