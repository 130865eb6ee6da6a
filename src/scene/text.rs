//! The file of a scene with changed values at their place; everything else stays as it was written.

mod merge;

use std::path::{Path, PathBuf};

use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Key, Table as TomlTable, TableLike, Value as TomlValue};

use super::format::SCENE;
use super::names::Rename;
use super::read::{Collision, Geometry};
use super::set::{self, Edit};
use super::spec::Kind;
use super::value::{Value, as_toml};
use super::{Document, Scene};
use merge::{merge, merge_value, own_lines};

/// A scene that cannot be written back. None is known: what was read can be written.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TextError {
    #[error("the scene cannot be written: {0}")]
    NotToml(String),
    #[error("the scene cannot be written: its text has no place for {path}")]
    NoPlace { path: String },
}

impl Scene {
    /// The text of the scene with the values that were set, for a file in `folder`: comments, order and the spelling of
    /// all other values stay. Without changes it is the text that was read, byte for byte. Files that the scene names
    /// by relative paths are named in full if they lie elsewhere.
    pub fn text_for(&self, folder: &Path) -> Result<String, TextError> {
        let moved = self.moved_files(folder);
        if self.document.flags.is_empty() && moved.is_empty() {
            return Ok(self.document.text.to_string());
        }
        let mut text: DocumentMut =
            self.document.text.parse().map_err(|error: toml_edit::TomlError| TextError::NotToml(error.message().to_owned()))?;
        let not_toml =
            |faults: Vec<(String, _)>| TextError::NotToml(faults.into_iter().map(|(message, _)| message).collect::<Vec<_>>().join("; "));
        let root = Value::parse_document(&self.document.text).map_err(not_toml)?;
        // Each change at its place in the scene as it was by then.
        let mut document = Document { root, flags: vec![], ..self.document.clone() };
        for flag in self.document.flags.iter().chain(&moved) {
            let no_place = || TextError::NoPlace { path: flag.split('=').next().unwrap_or_default().to_owned() };
            let edit = set::parse(&document.root, flag, document.flags.len()).map_err(TextError::NotToml)?;
            write(&mut text, &edit).ok_or_else(no_place)?;
            set::apply(&mut document, flag).map_err(|_| no_place())?;
        }
        Ok(text.to_string())
    }

    /// Assignments for meshes that mean other files from another folder, in full.
    fn moved_files(&self, to: &Path) -> Vec<String> {
        let here = |path: &Path| if path.as_os_str().is_empty() { PathBuf::from(".") } else { path.to_owned() };
        let absolute = |path: &Path| std::path::absolute(here(path)).unwrap_or_else(|_| path.to_owned());
        let Some(folder) = self.folder.as_deref().filter(|folder| absolute(folder) != absolute(to)) else { return vec![] };
        let moved = |path: String, file: &str| {
            let is_relative = !file.starts_with("builtin:") && Path::new(file).is_relative();
            let full = toml::Value::String(absolute(&folder.join(file)).display().to_string());
            is_relative.then(|| format!("{path}={full}"))
        };
        let of_body = |body: &super::read::BodyContent| {
            let mesh = match &body.geometry {
                Geometry::Mesh { file, .. } => moved(format!("body.{}.mesh", body.name), file),
                _ => None,
            };
            let collision = match &body.collision {
                Collision::Mesh(file) => moved(format!("body.{}.collision_surface", body.name), file),
                _ => None,
            };
            [mesh, collision].into_iter().flatten()
        };
        self.content.bodies.iter().flat_map(of_body).collect()
    }
}

/// Makes a change in a text. None where it has no place for it.
fn write(text: &mut DocumentMut, edit: &Edit) -> Option<()> {
    match edit {
        Edit::Put { path, value } => {
            let segments: Vec<&str> = path.split('.').collect();
            put(text.as_table_mut(), &SCENE_KIND, &segments, as_toml(value).parse().ok()?)
        }
        Edit::Add { list, entry } => {
            let entry: TomlValue = as_toml(entry).parse().ok()?;
            let entry = entry.as_inline_table()?.clone();
            match text.entry(list).or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new())) {
                Item::ArrayOfTables(tables) => tables.push(own_lines(entry)),
                item => item.as_array_mut()?.push(entry),
            }
            Some(())
        }
        Edit::Rename { rename: Rename { list, from, to }, references } => {
            for (path, value) in references {
                let segments: Vec<&str> = path.split('.').collect();
                put(text.as_table_mut(), &SCENE_KIND, &segments, TomlValue::from(value.as_str()))?;
            }
            match SCENE.field(list)?.kind {
                Kind::Named(_) => rename_key(text.get_mut(list)?, from, to),
                _ => put(text.as_table_mut(), &SCENE_KIND, &[list.as_str(), from.as_str(), "name"], TomlValue::from(to.as_str())),
            }
        }
        Edit::Remove(places) => places.iter().try_for_each(|(list, place)| {
            let list = list.split('.').try_fold(text.as_item_mut(), |item, key| item.get_mut(key))?;
            match list {
                Item::ArrayOfTables(tables) => drop(tables.remove(*place)),
                item => drop(item.as_array_mut()?.remove(*place)),
            }
            Some(())
        }),
        Edit::Unset { path } => {
            let mut tables: Vec<&str> = path.split('.').collect();
            let key = tables.pop()?;
            // Where there is no such table there is nothing to leave out.
            if let Some(table) = at(text.as_table_mut(), &tables) {
                table.remove(key);
            }
            Some(())
        }
    }
}

/// The table at a path, if the text has it.
fn at<'a>(table: &'a mut dyn TableLike, segments: &[&str]) -> Option<&'a mut dyn TableLike> {
    let Some((key, rest)) = segments.split_first() else { return Some(table) };
    match table.get_mut(key)? {
        Item::ArrayOfTables(list) => {
            let (segment, rest) = rest.split_first()?;
            let place = place(list.iter().map(|table| table.get("name").and_then(Item::as_str)), segment)?;
            at(list.get_mut(place)?, rest)
        }
        Item::Value(TomlValue::Array(list)) => {
            let (segment, rest) = rest.split_first()?;
            let place = place_of_value(list, segment)?;
            at(list.get_mut(place)?.as_inline_table_mut()?, rest)
        }
        item => at(item.as_table_like_mut()?, rest),
    }
}

static SCENE_KIND: Kind = Kind::Table(&SCENE);

/// Puts a value into a table, below tables that are made where the text leaves them out. None where there is no place.
fn put(table: &mut dyn TableLike, kind: &Kind, segments: &[&str], value: TomlValue) -> Option<()> {
    let (key, rest) = segments.split_first()?;
    let field = match kind {
        Kind::Table(declared) => declared.field(key)?,
        Kind::Variants(variants) => {
            let tag = table.get("type")?.as_str()?;
            variants.iter().find(|(name, _)| *name == tag)?.1.field(key)?
        }
        _ => return None,
    };
    if rest.is_empty() {
        set(table, key, &field.kind, value);
        return Some(());
    }
    if table.get(key).is_none() {
        let mut made = TomlTable::new();
        made.set_implicit(true);
        table.insert(key, Item::Table(made));
    }
    descend(table.get_mut(key)?, &field.kind, rest, value)
}

fn descend(item: &mut Item, kind: &Kind, segments: &[&str], value: TomlValue) -> Option<()> {
    match kind {
        Kind::Table(_) | Kind::Variants(_) => put(item.as_table_like_mut()?, kind, segments, value),
        Kind::Named(declared) => {
            let (name, rest) = segments.split_first()?;
            let tables = item.as_table_like_mut()?;
            if rest.is_empty() {
                // All of it, below its comments.
                let mut whole = own_lines(value.as_inline_table()?.clone());
                if let Some(before) = tables.get(name).and_then(Item::as_table) {
                    *whole.decor_mut() = before.decor().clone();
                    whole.set_position(before.position());
                }
                tables.insert(name, Item::Table(whole));
                return Some(());
            }
            put(tables.get_mut(name)?.as_table_like_mut()?, &Kind::Table(declared), rest, value)
        }
        Kind::List(declared) => {
            let (segment, rest) = segments.split_first()?;
            let kind = Kind::Table(declared);
            match item {
                Item::ArrayOfTables(list) => {
                    let place = place(list.iter().map(|table| table.get("name").and_then(Item::as_str)), segment)?;
                    let table = list.get_mut(place)?;
                    if rest.is_empty() {
                        // All of the entry, in its place and below its comments.
                        let mut whole = own_lines(value.as_inline_table()?.clone());
                        *whole.decor_mut() = table.decor().clone();
                        whole.set_position(table.position());
                        *table = whole;
                        return Some(());
                    }
                    put(table, &kind, rest, value)
                }
                Item::Value(TomlValue::Array(list)) => {
                    let place = place_of_value(list, segment)?;
                    if rest.is_empty() {
                        merge_value(list.get_mut(place)?, value);
                        return Some(());
                    }
                    put(list.get_mut(place)?.as_inline_table_mut()?, &kind, rest, value)
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// The place of the entry with a name, or with a number from 0.
fn place<'a>(names: impl Iterator<Item = Option<&'a str>>, segment: &str) -> Option<usize> {
    let names: Vec<_> = names.collect();
    names.iter().position(|name| *name == Some(segment)).or_else(|| segment.parse().ok().filter(|place| *place < names.len()))
}

/// The same in a list on one line.
fn place_of_value(list: &Array, segment: &str) -> Option<usize> {
    place(list.iter().map(|item| item.as_inline_table()?.get("name")?.as_str()), segment)
}

/// Sets one value; the spaces and comments around it stay.
fn set(table: &mut dyn TableLike, key: &str, kind: &Kind, mut value: TomlValue) {
    if let (Kind::List(_), None) = (kind, table.get(key)) {
        table.insert(key, Item::ArrayOfTables(ArrayOfTables::new()));
    }
    match table.get_mut(key) {
        Some(item) => merge(item, value),
        None => {
            // Spaces of the entry on one line that it comes from.
            value.decor_mut().clear();
            table.insert(key, Item::Value(value));
        }
    }
}

/// Gives a table another name in its place.
fn rename_key(tables: &mut Item, from: &str, to: &str) -> Option<()> {
    let renamed = |key: Key| match key.get() == from {
        true => Key::new(to).with_leaf_decor(key.leaf_decor().clone()).with_dotted_decor(key.dotted_decor().clone()),
        false => key,
    };
    // All are taken out and put in again, which keeps their order.
    let keys: Vec<String> = tables.as_table_like()?.iter().map(|(key, _)| key.to_owned()).collect();
    for key in keys {
        match &mut *tables {
            Item::Table(tables) => {
                let (key, table) = tables.remove_entry(&key)?;
                tables.insert_formatted(&renamed(key), table);
            }
            item => {
                let tables = item.as_inline_table_mut()?;
                let (key, table) = tables.remove_entry(&key)?;
                tables.insert_formatted(&renamed(key), table);
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# a scene\nformat = 1\n\n[simulation] # how\ntime_step = 5e-3 # small\n\n[material.soft]\nyoung_modulus = 1_000_000 # Pa\n\
                        [[body]]\nname = \"bar\"\nshape = { type = \"box\", size = [1.0, 0.2, 0.2] } # long\nmaterial = \"soft\"\n\
                        [[body]]\nname = \"floor\"\nkind = \"static\"\nshape = { type = \"plane\" }\n# the end\n";

    fn scene(flags: &[&str]) -> Scene {
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        Scene::from_text("s", "s.toml", TEXT, None, &flags).unwrap()
    }

    fn text(flags: &[&str]) -> String {
        scene(flags).text_for(Path::new("")).unwrap()
    }

    #[test]
    fn values_change_at_their_place_and_nothing_else_does() {
        assert_eq!(text(&[]), TEXT);
        let changed = text(&["material.soft.young_modulus=2e5", "simulation.time_step=0.01", "simulation.time_step=0.02"]);
        assert_eq!(changed, TEXT.replace("1_000_000", "200000.0").replace("5e-3", "0.02"));
        assert_eq!(text(&["body.bar.shape.size=[2, 1, 1]"]), TEXT.replace("[1.0, 0.2, 0.2]", "[2, 1, 1]"));
        assert_eq!(
            text(&["body.bar.position=[0, 1, 0]"]),
            TEXT.replace("material = \"soft\"\n", "material = \"soft\"\nposition = [0, 1, 0]\n")
        );
        assert_eq!(text(&["body.floor.color=#ff0000"]), TEXT.replace("\"plane\" }\n", "\"plane\" }\ncolor = \"#ff0000\"\n"));
    }

    #[test]
    fn tables_that_are_missing_are_made() {
        let changed = text(&[
            "contact.friction=0.1",
            "contact.pair=[{ a = \"bar\", b = \"floor\", friction = 0.9 }]",
            "body.bar.shape.cells=[4, 1, 1]",
        ]);
        let again = Scene::from_text("s", "s.toml", &changed, None, &[]).unwrap();
        assert_eq!(again.given("contact.pair.0.friction").as_deref(), Some("0.9"), "{changed}");
        assert_eq!(again.given("body.bar.shape.cells").as_deref(), Some("[4, 1, 1]"));
        assert!(changed.contains("[contact]\nfriction = 0.1\n") && changed.contains("[[contact.pair]]\na = \"bar\"\n"), "{changed}");
        assert!(changed.starts_with("# a scene\n") && changed.contains("# long"), "{changed}");
    }

    #[test]
    fn entries_that_stay_keep_their_spelling() {
        let pairs = "[[contact.pair]] # wet\na = \"bar\"\nb = \"floor\"\nfriction = 5e-1 # slippery\n";
        let text = format!("{TEXT}{pairs}");
        let with = |list: &str| {
            let scene = Scene::from_text("s", "s.toml", &text, None, &[format!("contact.pair={list}")]).unwrap();
            scene.text_for(Path::new("")).unwrap()
        };
        let own = "{ a = \"bar\", b = \"floor\", friction = 0.5 }";
        assert_eq!(with(&format!("[{own}]")), text);
        let added = with(&format!("[{own}, {{ a = \"bar\", b = \"bar\", friction = 1.0 }}]"));
        assert_eq!(added, format!("{text}\n[[contact.pair]]\na = \"bar\"\nb = \"bar\"\nfriction = 1.0\n"));
        assert_eq!(with("[{ a = \"bar\", b = \"floor\", friction = 0.1 }]"), text.replace("5e-1", "0.1"));
        assert!(!with("[]").contains("contact.pair"));
    }

    /// Bodies come and go, and what is left stays as it was written; what names a body goes with it.
    #[test]
    fn bodies_are_added_and_taken_out_at_their_place() {
        let ball = "[[body]]\nname = \"ball\"\nkind = \"rigid\"\nshape = { type = \"sphere\", radius = 0.1 }\n";
        let floor = TEXT.find("[[body]]\nname = \"floor\"").unwrap();
        let added = text(&["body.ball={ kind = \"rigid\", shape = { type = \"sphere\", radius = 0.1 } }"]);
        assert_eq!(added, TEXT.replace("# the end\n", &format!("\n{ball}# the end\n")));
        assert_eq!(text(&["body.floor="]), format!("{}# the end\n", &TEXT[..floor]));
        // Added, changed and taken out again.
        let moved = "body.ball.position=[0, 1, 0]";
        let changes = ["body.ball={ kind = \"rigid\", shape = { type = \"sphere\", radius = 0.1 } }", moved, "body.bar=", "body.ball="];
        let changed = text(&changes);
        assert!(!changed.contains("ball") && !changed.contains("name = \"bar\"") && changed.contains("name = \"floor\""), "{changed}");
        let links = "[[body]]\nname = \"block\"\nkind = \"rigid\"\nshape = { type = \"box\", size = [1, 1, 1] }\n\
                     [[contact.pair]]\na = \"bar\"\nb = \"floor\"\nfriction = 0.1\n[[contact.pair]]\na = \"floor\"\nb = \"block\"\nfriction = 0.2\n\
                     [[attachment]]\nfrom = { body = \"bar\", point = [0, 0, 0] }\nto = { point = [0, 1, 0] }\nstiffness = 1\n\
                     [[probe]]\nname = \"tip\"\nbody = \"bar\"\n";
        let scene = Scene::from_text("s", "s.toml", &format!("{TEXT}{links}"), None, &["body.bar=".into()]).unwrap();
        let changed = scene.text_for(Path::new("")).unwrap();
        assert!(!changed.contains("bar") && changed.contains("friction = 0.2") && !changed.contains("attachment"), "{changed}");
        assert_eq!(Scene::from_text("s", "s.toml", &changed, None, &[]).unwrap().bodies().len(), 2);
        // Saved and built again with the same changes, it is the same.
        let force = "force=[{ body = \"bar\", force = [1, 0, 0] }]";
        let again = Scene::from_text("s", "s.toml", &changed, None, &[force.into(), "body.bar=".into()]).unwrap();
        assert_eq!(again.n_entries("force"), 0);
    }

    /// A value that is left out is as by default, and a table of its own goes as a whole.
    #[test]
    fn values_and_tables_are_left_out_at_their_place() {
        assert_eq!(text(&["simulation.time_step="]), TEXT.replace("time_step = 5e-3 # small\n", ""));
        assert_eq!(text(&["body.bar.material="]), TEXT.replace("material = \"soft\"\n", ""));
        assert_eq!(text(&["contact.friction=", "material.gum="]), TEXT, "what is not given stays so");
        let unused = TEXT.replace("material = \"soft\"\n", "");
        let scene = Scene::from_text("s", "s.toml", &unused, None, &["material.soft=".into()]).unwrap();
        let changed = scene.text_for(Path::new("")).unwrap();
        assert!(scene.material_names().is_empty() && !changed.contains("material") && changed.contains("# small"), "{changed}");
        let refused = |flag: &str| Scene::from_text("s", "s.toml", TEXT, None, &[flag.into()]).unwrap_err().to_string();
        assert!(refused("material.soft=").contains("there is no material \"soft\""));
        assert!(refused("body.bar.wings=").contains("there is no \"body.bar.wings\""));
        assert!(refused("body.bar.shape=").contains("mesh"));
        assert!(refused("body.bar.name=").contains("\"name\" is missing"));
    }

    /// Lists of tables are given as a whole: what stays keeps its lines, and what goes takes its own along.
    #[test]
    fn a_list_loses_and_gains_entries_at_their_place() {
        let first = "# a push\n[[force]]\nbody = \"bar\"\nforce = [1_0, 0, 0] # N\n";
        let second = "# a pull\n[[force]]\nbody = \"bar\" # soft\nforce = [0, 2, 0]\n[force.region]\nside = \"x+\" # free\n";
        let start = TEXT.replace("# the end\n", "");
        let (text, last) = (format!("{start}{first}{second}"), "[[probe]]\nname = \"tip\"\nbody = \"bar\"\n");
        let text = format!("{text}{last}");
        let with = |flags: &[&str]| {
            let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
            Scene::from_text("s", "s.toml", &text, None, &flags).unwrap().text_for(Path::new("")).unwrap()
        };
        let pull = "{ body = \"bar\", force = [0, 2, 0], region = { side = \"x+\" } }";
        let push = "{ body = \"bar\", force = [10, 0, 0] }";
        assert_eq!(with(&[&format!("force=[{push}, {pull}]")]), text);
        assert_eq!(with(&[&format!("force=[{pull}]")]), format!("{start}{second}{last}"));
        assert_eq!(with(&[&format!("force=[{push}]")]), format!("{start}{first}{last}"));
        assert_eq!(with(&["force=[]"]), format!("{start}{last}"));
        // One goes and the other is changed; one is without a value that it had.
        let changed = with(&[&format!("force=[{pull}]"), "force.0.end=2", "force.0.region="]);
        assert_eq!(changed, format!("{start}{}end = 2\n{last}", second.split("[force.region]").next().unwrap()));
        let third = with(&[&format!("force=[{push}, {pull}, {{ name = \"lift\", body = \"bar\", force = [0, 1, 0] }}]")]);
        assert_eq!(third, format!("{start}{first}{second}\n[[force]]\nname = \"lift\"\nbody = \"bar\"\nforce = [0, 1, 0]\n{last}"));
    }

    /// Lists in brackets keep their lines, whether one value of them or all of the list is given.
    #[test]
    fn lists_in_brackets_keep_their_form() {
        let lines = "[contact]\npair = [\n    # wet\n    { a = \"bar\", b = \"floor\", friction = 5e-1 }, # slippery\n    { b = \"bar\", a = \"bar\", friction = 1 },\n]\n";
        let text = TEXT.replace("# the end\n", lines);
        let with = |flags: &[&str]| {
            let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
            Scene::from_text("s", "s.toml", &text, None, &flags).unwrap().text_for(Path::new("")).unwrap()
        };
        let (wet, dry) = ("{ a = \"bar\", b = \"floor\", friction = 0.5 }", "{ a = \"bar\", b = \"bar\", friction = 1.0 }");
        assert_eq!(with(&["contact.pair.1.friction=2.0"]), text.replace("friction = 1 ", "friction = 2.0 "));
        assert_eq!(with(&[&format!("contact.pair=[{wet}, {dry}]")]), text);
        assert_eq!(with(&[&format!("contact.pair=[{}, {dry}]", wet.replace("0.5", "0.7"))]), text.replace("5e-1", "0.7"));
        assert_eq!(with(&[&format!("contact.pair=[{wet}]")]), text.replace("    { b = \"bar\", a = \"bar\", friction = 1 },\n", ""));
        let third = "{ a = \"floor\", b = \"bar\", friction = 0.1 }";
        let scene = Scene::from_text(
            "s",
            "s.toml",
            &with(&[&format!("contact.pair=[{dry}]"), &format!("contact.pair=[{dry}, {third}]")]),
            None,
            &[],
        );
        assert_eq!(scene.unwrap().n_entries("contact.pair"), 2);
        // Numbers on lines of their own, and one line.
        assert_eq!(with(&["body.bar.shape.size=[1, 0.2, 0.3]"]), text.replace("[1.0, 0.2, 0.2]", "[1.0, 0.2, 0.3]"));
    }

    /// A table given to a new name is a material more; one that is there is given as a whole, below its comments.
    #[test]
    fn materials_are_added_and_replaced_at_their_place() {
        let added = text(&["material.gum={ young_modulus = 3e4 }", "material.gum.density=900", "body.bar.material=gum"]);
        assert!(added.contains("[material.soft]\nyoung_modulus = 1_000_000 # Pa\n") && added.starts_with("# a scene\n"), "{added}");
        assert!(added.contains("[material.gum]\nyoung_modulus = 30000.0\ndensity = 900\n"), "{added}");
        let read = Scene::from_text("s", "s.toml", &added, None, &[]).unwrap();
        assert_eq!(read.material_names(), ["soft", "gum"]);
        assert_eq!(text(&["material.soft={ young_modulus = 5 }"]), TEXT.replace("1_000_000 # Pa", "5"));
        let none = "[material.soft]\nyoung_modulus = 1_000_000 # Pa\n";
        let bare = TEXT.replace(none, "").replace("material = \"soft\"\n", "");
        let scene = Scene::from_text("s", "s.toml", &bare, None, &["material.gum={ density = 900 }".into()]).unwrap();
        let changed = scene.text_for(Path::new("")).unwrap();
        assert_eq!(Scene::from_text("s", "s.toml", &changed, None, &[]).unwrap().material_names(), ["gum"], "{changed}");
        // A value of a material that is not there is a slip.
        for slip in ["material.gum.density=900", "material.gum=900"] {
            let refused = Scene::from_text("s", "s.toml", TEXT, None, &[slip.into()]).unwrap_err().to_string();
            assert!(refused.contains("has no \"gum\""), "{refused}");
        }
    }

    /// A mesh beside the scene is found from elsewhere.
    #[test]
    fn files_beside_the_scene_are_named_in_full_elsewhere() {
        let text = TEXT.replace("shape = { type = \"box\", size = [1.0, 0.2, 0.2] } # long", "mesh = \"a/bar.obj\" # long");
        let scene = Scene::from_text("s", "s.toml", &text, Some(Path::new("/scenes")), &[]).unwrap();
        assert_eq!(scene.text_for(Path::new("/scenes")).unwrap(), text);
        assert_eq!(scene.text_for(Path::new("/other")).unwrap(), text.replace("a/bar.obj", "/scenes/a/bar.obj"));
    }
}
