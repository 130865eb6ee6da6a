//! A scene as the window shows it: what there is in it, and every value with its declaration.

use super::format::SCENE;
use super::read::{Copies, Role};
use super::regions::MaterialRegion;
use super::spec::{Field, Kind, Presence, Range, Table};
use super::value::{Value, as_toml};
use super::{Scene, check, names, set};
use crate::model::{Ball, FixedParts, Friction, NamedMaterial, PairFriction, Params};

/// A value of a scene beside its declaration.
#[derive(Clone, Debug, PartialEq)]
pub struct SceneValue {
    /// As `--set` names it.
    pub path: String,
    pub field: &'static Field,
    /// As TOML, if the file or an edit gives it.
    pub given: Option<String>,
}

/// Values of one table; those of a table inside it have a title.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueGroup {
    pub title: String,
    /// The table, as `--set` names it.
    pub path: String,
    pub values: Vec<SceneValue>,
}

/// A body of the scene's list, which stands for all its copies.
#[derive(Clone, Debug, PartialEq)]
pub struct BodyOutline {
    pub name: String,
    /// "deformable", "rigid", "static" or "driven".
    pub kind: &'static str,
    pub n_copies: usize,
    /// The material that it names.
    pub material: Option<String>,
}

/// The values that may be changed while a scene runs.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveValues {
    pub params: Params,
    pub materials: Vec<NamedMaterial>,
    pub friction: Friction,
    /// The parts of deformable bodies that never move, of those that have some.
    pub fixed: Vec<FixedParts>,
}

/// What a brush has painted onto a body in one stroke: a region of spheres.
#[derive(Clone, Debug, PartialEq)]
pub struct PaintStroke {
    /// The name of what is painted; none if it erases.
    pub material: Option<String>,
    pub balls: Vec<Ball>,
}

impl SceneValue {
    /// The value that counts: what is given, else the default.
    pub fn text(&self) -> Option<&str> {
        match (&self.given, self.field.presence) {
            (Some(text), _) => Some(text),
            (None, Presence::Default(text)) => Some(text),
            (None, _) => None,
        }
    }

    /// The words that say what happens without the value.
    pub fn without(&self) -> &'static str {
        match self.field.presence {
            Presence::Optional(words) => words,
            Presence::Required | Presence::Default(_) => "",
        }
    }

    /// The numbers of the value: one, or those of a list.
    pub fn numbers(&self) -> Option<Vec<f64>> {
        let value = Value::parse_flag(self.text()?, 0).ok()?;
        match value.number() {
            Some(number) => Some(vec![number]),
            None => value.items().iter().map(Value::number).collect::<Option<Vec<f64>>>().filter(|numbers| !numbers.is_empty()),
        }
    }

    /// The value as words, without quotes.
    pub fn words(&self) -> Option<String> {
        let value = Value::parse_flag(self.text()?, 0).ok()?;
        value.text().map(str::to_owned)
    }
}

impl Scene {
    /// The bodies, in the order of the file.
    pub fn bodies(&self) -> Vec<BodyOutline> {
        let material = |name: &str| self.find(&format!("body.{name}.material"))?.0?.text().map(str::to_owned);
        let outline = |body: &super::read::BodyContent| BodyOutline {
            name: body.name.clone(),
            kind: match &body.role {
                Role::Deformable { .. } => "deformable",
                Role::Rigid { .. } => "rigid",
                Role::Obstacle { motion: Some(_) } => "driven",
                Role::Obstacle { motion: None } => "static",
            },
            n_copies: if matches!(body.copies, Copies::One) { 1 } else { body.n_copies() },
            material: material(&body.name),
        };
        self.content.bodies.iter().map(outline).collect()
    }

    /// The first name that no body has, nor had: `stem`, or with a number.
    pub fn unused_body_name(&self, stem: &str) -> String {
        let stem: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() || "_-".contains(c) { c } else { '_' }).collect();
        let stem = if stem.is_empty() { "body".to_owned() } else { stem };
        let is_used = |name: &String| self.content.bodies.iter().any(|body| body.name == *name) || self.was_name("body", name);
        let numbered = (2..).map(|n: u64| format!("{stem}_{n}"));
        std::iter::once(stem.clone()).chain(numbered).find(|name| !is_used(name)).unwrap_or(stem)
    }

    /// Whether an entry of a list was added by this name or had it before it got another one.
    fn was_name(&self, list: &str, name: &str) -> bool {
        let path = format!("{list}.{name}");
        let of_flag =
            |flag: &String| flag.split('=').next().is_some_and(|of| [path.as_str(), &format!("{path}.name")].contains(&of.trim()));
        self.document.flags.iter().any(of_flag)
    }

    /// The name of the entry at a path such as `body.bar`, `force.0` or `material.soft`; none where it has none.
    pub fn name_at(&self, path: &str) -> Option<&str> {
        let (list, segment) = path.split_once('.')?;
        names::name_of(&self.document.root, list, segment)
    }

    /// Whether the entry at a path can have a name, and the list that it is in.
    pub fn named_list(path: &str) -> Option<&'static str> {
        names::name_at(&format!("{path}.name")).map(|(list, _)| list)
    }

    /// The names that the entries of a list have, such as `body` or `material`.
    pub fn names_of(&self, list: &str) -> Vec<&str> {
        names::names_of(&self.document.root, list)
    }

    /// Why an entry of a list cannot be called so, as a sentence.
    pub fn name_fault(&self, list: &str, name: &str) -> Option<String> {
        names::name_fault(&self.document.root, list, name)
    }

    /// Whether a path names a whole entry of a list, such as `body.bar`.
    pub fn is_entry(path: &str) -> bool {
        set::entry_of(path).is_some()
    }

    /// The lists whose entries name bodies, and go with them.
    pub fn lists_of_bodies() -> impl Iterator<Item = &'static str> {
        set::REFERENCES.iter().map(|(list, _)| *list)
    }

    /// The names of the materials, in the order of the file.
    pub fn material_names(&self) -> Vec<String> {
        self.document.root.get("material").map_or(&[][..], Value::entries).iter().map(|entry| entry.key.clone()).collect()
    }

    /// How many entries a list has, such as `force` or `contact.pair`.
    pub fn n_entries(&self, list: &str) -> usize {
        self.items(list).len()
    }

    fn items(&self, list: &str) -> &[Value] {
        self.find(list).and_then(|(value, _)| value).map_or(&[][..], Value::items)
    }

    /// The list at a path with one entry more, given as TOML, at its end: what to assign to it.
    pub fn with_entry(&self, list: &str, entry: &str) -> String {
        let entries = self.items(list).iter().map(as_toml).chain([entry.to_owned()]);
        format!("[{}]", entries.collect::<Vec<_>>().join(", "))
    }

    /// The assignment that takes out what is at a path: an entry of a list as what is left of that, all else by giving
    /// it no value. None where nothing may be. A body goes with all that names it.
    pub fn without(&self, path: &str) -> Option<(String, String)> {
        self.find(path)?;
        let (parent, segment) = path.rsplit_once('.').unwrap_or(("", path));
        match self.find(parent)?.1 {
            Kind::List(_) if parent != "body" => {
                let items = self.items(parent);
                let place = set::place_in(items, segment)?;
                let left = items.iter().enumerate().filter(|(k, _)| *k != place).map(|(_, item)| as_toml(item));
                Some((parent.to_owned(), format!("[{}]", left.collect::<Vec<_>>().join(", "))))
            }
            _ => Some((path.to_owned(), String::new())),
        }
    }

    /// The first name that no entry of a list has, such as `force` or `material`: `stem`, or with a number.
    pub fn unused_name(&self, list: &str, stem: &str) -> String {
        let is_used = |name: &str| self.find(&format!("{list}.{name}")).is_some() || self.was_name(list, name);
        let numbered = (2..).map(|n: u64| format!("{stem}_{n}"));
        std::iter::once(stem.to_owned()).chain(numbered).find(|name| !is_used(name)).unwrap_or_default()
    }

    /// The values of the table at `path`, such as `body.bar` or `simulation`, and of the tables in it. A body has those
    /// of its kind. None where there is no such table.
    pub fn values(&self, path: &str) -> Option<Vec<ValueGroup>> {
        let (value, kind) = self.find(path)?;
        let Kind::Table(table) = kind else { return None };
        let of_kind = path.strip_prefix("body.").and_then(|name| self.bodies().into_iter().find(|body| body.name == name));
        let mut groups = vec![ValueGroup { title: String::new(), path: path.to_owned(), values: vec![] }];
        add_values(value, table, path, "", of_kind.map(|body| body.kind), &mut groups);
        groups.retain(|group| !group.values.is_empty());
        Some(groups)
    }

    /// The value at `path` as TOML, if it is given.
    pub fn given(&self, path: &str) -> Option<String> {
        Some(as_toml(self.find(path)?.0?))
    }

    /// The declaration of the value at `path`.
    pub fn field(&self, path: &str) -> Option<&'static Field> {
        let (parent, key) = path.rsplit_once('.').unwrap_or(("", path));
        let table = match self.find(parent)? {
            (_, Kind::Table(table)) => table,
            (Some(value), Kind::Variants(variants)) => set::variant(value, variants)?,
            _ => return None,
        };
        table.field(key)
    }

    /// The values that may be changed while the scene runs.
    pub fn live_values(&self) -> LiveValues {
        let name = |body: usize| self.content.bodies[body].name.clone();
        let pairs = self.content.pair_frictions.iter().map(|&(a, b, friction)| PairFriction { a: name(a), b: name(b), friction }).collect();
        let materials = self.content.materials.iter().map(|(name, material)| NamedMaterial { name: name.clone(), material: *material });
        LiveValues {
            params: self.content.params,
            materials: materials.collect(),
            friction: Friction { default: self.content.friction, pairs },
            fixed: self.fixed_parts(),
        }
    }

    /// The parts of deformable bodies that never move, of those that have some.
    pub(super) fn fixed_parts(&self) -> Vec<FixedParts> {
        let of_body = |body: &super::read::BodyContent| match &body.role {
            Role::Deformable { fix, .. } if !fix.is_empty() => {
                Some(FixedParts { body: body.name.clone(), parts: fix.iter().map(|region| region.extent.clone()).collect() })
            }
            _ => None,
        };
        self.content.bodies.iter().filter_map(of_body).collect()
    }

    /// The strokes among the regions of a deformable body, by the places of these; none of regions by other means.
    pub fn strokes(&self, body: &str) -> Vec<Option<PaintStroke>> {
        let found = self.content.bodies.iter().find(|content| content.name == body);
        let Some(Role::Deformable { regions, .. }) = found.map(|content| &content.role) else { return vec![] };
        let stroke = |region: &MaterialRegion| {
            let balls = region.tets.stroke()?.to_vec();
            Some(PaintStroke { material: region.material.as_ref().map(|named| named.name.clone()), balls })
        };
        regions.iter().map(stroke).collect()
    }

    /// The value at a path of `--set`, if it is given, and what may be there.
    pub(super) fn find(&self, path: &str) -> Option<(Option<&Value>, Kind)> {
        set::look_up(&self.document.root, path)
    }
}

/// What is wrong with a number at a path of tables by the range of scene files, as a sentence; none if nothing is.
pub fn number_fault(path: &str, number: f64) -> Option<String> {
    let (tables, key) = path.rsplit_once('.')?;
    let inner = |table: &'static Table, key: &str| match table.field(key)?.kind {
        Kind::Table(inner) => Some(inner),
        _ => None,
    };
    let field = tables.split('.').try_fold(&SCENE, inner)?.field(key)?;
    let fits = match field.kind {
        Kind::Number(range) => range.contains(number),
        Kind::Integer { min, max } => Range { min: min as f64, max: max as f64, above_min: false }.contains(number),
        _ => true,
    };
    (!fits).then(|| format!("expected {}, found {number}", field.accepted()))
}

/// Adds the values of a table to the last group, and groups of its own for tables in it that are given.
fn add_values(
    value: Option<&Value>,
    table: &'static Table,
    path: &str,
    title: &str,
    kind: Option<&'static str>,
    groups: &mut Vec<ValueGroup>,
) {
    let place = groups.len() - 1;
    let of_kind = |field: &&Field| field.kinds.is_empty() || kind.is_none_or(|kind| field.kinds.contains(&kind));
    for field in table.fields.iter().filter(of_kind) {
        let (path, found) = (check::join(path, field.key), value.and_then(|value| value.get(field.key)));
        if let (Kind::List(_), Some(list)) = (field.kind, found) {
            // How many there are; each has a group.
            groups[place].values.push(SceneValue { path: path.clone(), field, given: Some(as_toml(list)) });
        }
        let mut inner = |value: Option<&Value>, table, path: &str, name: String| {
            let title = if title.is_empty() { name } else { format!("{title}, {name}") };
            groups.push(ValueGroup { title: title.clone(), path: path.to_owned(), values: vec![] });
            add_values(value, table, path, &title, kind, groups);
        };
        match (field.kind, found) {
            (Kind::Table(table), Some(value)) => inner(Some(value), table, &path, field.key.replace('_', " ")),
            (Kind::List(table), Some(list)) => {
                for (k, item) in list.items().iter().enumerate() {
                    inner(Some(item), table, &format!("{path}.{k}"), format!("{} {}", field.key.replace('_', " "), k + 1));
                }
            }
            (Kind::Variants(variants), Some(value)) => {
                if let Some(table) = set::variant(value, variants) {
                    inner(Some(value), table, &path, field.key.replace('_', " "));
                }
            }
            (Kind::Named(_), _) => {}
            _ => groups[place].values.push(SceneValue { path, field, given: found.map(as_toml) }),
        }
    }
}
