//! What is selected in the list of the scene, and which bodies are hidden in the view.

use std::collections::BTreeSet;

use crate::body::{BodyRef, base_name};
use crate::model::{Extent, Model};
use crate::scene::{Rename, Scene};

/// An entry of the list: a table of the scene, or one copy of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// As `--set` names it: `body.bar`, `material.rubber`, `simulation`.
    pub path: String,
    /// Of a body with copies, one of them; none for all.
    pub copy: Option<usize>,
}

/// How a click changes the selection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pick {
    /// This one alone.
    #[default]
    Only,
    /// In or out, with the others as they are (Ctrl).
    Toggle,
    /// All from the one picked last to this one (Shift).
    Through,
}

/// Which bodies are not seen, and which are not touched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sight {
    /// Names of bodies as the model has them.
    hidden: BTreeSet<String>,
    /// Likewise: they cannot be picked nor changed.
    locked: BTreeSet<String>,
}

/// What is selected, apart from its place in a list, to be found again in the scene after a change.
#[derive(Debug)]
pub struct Known {
    item: Item,
    what: What,
}

#[derive(Debug, PartialEq)]
enum What {
    /// It goes by its path.
    Path,
    /// An entry of a list: its name, else what it says and which of those that say the same; and how many there are.
    Entry { name: Option<String>, text: Option<String>, nth: usize, n: usize },
    /// A fixed part of a body, and how many it has.
    Pin(Extent, usize),
}

#[derive(Debug, Default)]
pub struct Selection {
    items: Vec<Item>,
    sight: Sight,
    /// Counts the changes.
    pub version: u64,
}

impl Item {
    pub fn table(path: impl Into<String>) -> Self {
        Self { path: path.into(), copy: None }
    }

    /// The body with a name of the model: `bar`, or `bar[2]`.
    pub fn body(name: &str) -> Self {
        let base = base_name(name);
        let copy = name.strip_prefix(base).and_then(|rest| rest.strip_prefix('[')?.strip_suffix(']')?.parse().ok());
        Self { path: format!("body.{base}"), copy }
    }

    /// The name in the scene, if it is a body.
    pub fn body_name(&self) -> Option<&str> {
        self.path.strip_prefix("body.")
    }

    /// A pin of a body, by its place among the fixed parts of that.
    pub fn pin(body: &str, part: usize) -> Self {
        Self::table(format!("pin.{body}.{part}"))
    }

    /// The body and the place, if it is a pin.
    pub fn as_pin(&self) -> Option<(&str, usize)> {
        let (body, part) = self.path.strip_prefix("pin.")?.rsplit_once('.')?;
        Some((body, part.parse().ok()?))
    }

    /// The name to show.
    pub fn title(&self) -> String {
        if let Some((body, part)) = self.as_pin() {
            return format!("Pin {} of {body}", part + 1);
        }
        let name = self.path.rsplit('.').next().unwrap_or_default();
        self.copy.map_or_else(|| name.to_owned(), |copy| format!("{name}[{copy}]"))
    }

    /// Whether a body of the model belongs to it.
    pub fn is_of(&self, name: &str) -> bool {
        let of = Self::body(name);
        of.path == self.path && (self.copy.is_none() || of.copy == self.copy)
    }
}

impl Selection {
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    pub fn contains(&self, item: &Item) -> bool {
        self.items.contains(item)
    }

    /// What is selected in a scene.
    pub fn known(&self, scene: &Scene) -> Vec<Known> {
        self.items.iter().map(|item| Known { what: What::of(item, scene), item: item.clone() }).collect()
    }

    /// Selects what was `known` in a scene that has changed since, wherever it is now; what is gone is not.
    pub fn follow(&mut self, known: Vec<Known>, scene: &Scene) {
        let items: Vec<Item> = known.into_iter().filter_map(|known| known.what.place(known.item, scene)).collect();
        if self.items != items {
            self.version += 1;
            self.items = items;
        }
    }

    /// An entry of the scene has another name: it stays selected, hidden and locked.
    pub fn rename(&mut self, rename: &Rename) {
        self.version += 1;
        for item in &mut self.items {
            let pin = item.as_pin().and_then(|(body, part)| Some(Item::pin(&rename.name_for("body", body)?, part)));
            *item = pin.unwrap_or_else(|| Item { path: rename.path(&item.path), copy: item.copy });
        }
        for names in [&mut self.sight.hidden, &mut self.sight.locked] {
            *names = names.iter().map(|name| rename.name_for("body", name).unwrap_or_else(|| name.clone())).collect();
        }
    }

    /// `order`: the list, from its top.
    pub fn pick(&mut self, item: &Item, how: Pick, order: &[Item]) {
        self.version += 1;
        let place = |item: &Item| order.iter().position(|known| known == item);
        match how {
            Pick::Toggle if self.contains(item) => self.items.retain(|known| known != item),
            Pick::Toggle => self.items.push(item.clone()),
            Pick::Through => match (self.items.last().and_then(place), place(item)) {
                (Some(from), Some(to)) => {
                    // The one that was picked before stays the last, so that the range can be drawn anew.
                    let last = self.items.last().cloned();
                    self.items = order[from.min(to)..=from.max(to)].iter().filter(|item| Some(*item) != last.as_ref()).cloned().collect();
                    self.items.extend(last);
                }
                _ => self.items = vec![item.clone()],
            },
            Pick::Only => self.items = vec![item.clone()],
        }
    }

    /// False if nothing was selected.
    pub fn clear(&mut self) -> bool {
        self.version += 1;
        !std::mem::take(&mut self.items).is_empty()
    }

    pub fn sight(&self) -> &Sight {
        &self.sight
    }

    /// Hides and locks these bodies and no others.
    pub fn set_sight(&mut self, sight: Sight) {
        self.version += 1;
        self.sight = sight;
    }

    /// Shows and unlocks all bodies, as of a new scene.
    pub fn start_anew(&mut self) {
        self.clear();
        self.show_all();
        self.sight.locked.clear();
    }

    pub fn is_locked(&self, name: &str) -> bool {
        self.sight.locked.contains(name)
    }

    pub fn lock<'a>(&mut self, names: impl IntoIterator<Item = &'a str>, lock: bool) {
        for name in names {
            match lock {
                true => self.sight.locked.insert(name.to_owned()),
                false => self.sight.locked.remove(name),
            };
        }
    }

    pub fn unlock(&mut self, items: &[Item]) {
        self.sight.locked.retain(|name| !items.iter().any(|item| item.is_of(name)));
    }

    pub fn unlock_all(&mut self) {
        self.sight.locked.clear();
    }

    /// Whether an entry of the list is a body that is locked.
    pub fn is_item_locked(&self, item: &Item) -> bool {
        item.body_name().is_some() && self.sight.locked.iter().any(|name| item.is_of(name))
    }

    pub fn show_all(&mut self) {
        self.version += 1;
        self.sight.hidden.clear();
    }

    pub fn is_hidden(&self, name: &str) -> bool {
        self.sight.hidden.contains(name)
    }

    pub fn hide<'a>(&mut self, names: impl IntoIterator<Item = &'a str>, hide: bool) {
        self.version += 1;
        for name in names {
            match hide {
                true => self.sight.hidden.insert(name.to_owned()),
                false => self.sight.hidden.remove(name),
            };
        }
    }

    /// The bodies of a model that are selected.
    pub fn bodies(&self, model: &Model) -> Vec<BodyRef> {
        all_bodies(model).filter(|body| self.items.iter().any(|item| item.is_of(model.body_name(*body)))).collect()
    }

    /// The bodies of a model that are hidden.
    pub fn hidden_bodies(&self, model: &Model) -> Vec<BodyRef> {
        all_bodies(model).filter(|body| self.is_hidden(model.body_name(*body))).collect()
    }
}

impl What {
    fn of(item: &Item, scene: &Scene) -> Self {
        if let Some((body, part)) = item.as_pin() {
            let parts = parts_of(scene, body);
            return parts.get(part).map_or(Self::Path, |extent| Self::Pin(extent.clone(), parts.len()));
        }
        let Some((list, place)) = numbered(item) else { return Self::Path };
        let text = scene.given(&item.path);
        let nth = (0..place).filter(|k| scene.given(&format!("{list}.{k}")) == text).count();
        Self::Entry { name: scene.name_at(&item.path).map(str::to_owned), text, nth, n: scene.n_entries(list) }
    }

    /// The item in a scene, wherever it is there; none if it is gone.
    fn place(self, item: Item, scene: &Scene) -> Option<Item> {
        match self {
            Self::Path => {
                let has_names = item.path.split_once('.').filter(|(list, _)| ["body", "material"].contains(list));
                has_names.is_none_or(|(list, name)| scene.names_of(list).contains(&name)).then_some(item)
            }
            Self::Entry { name, text, nth, n } => {
                let (list, place) = numbered(&item)?;
                let path = |k: usize| format!("{list}.{k}");
                let n_now = scene.n_entries(list);
                let of_name = name.and_then(|name| (0..n_now).find(|k| scene.name_at(&path(*k)) == Some(name.as_str())));
                let of_text = || (0..n_now).filter(|k| scene.given(&path(*k)) == text).nth(nth);
                // Changed in its place.
                let place = of_name.or_else(of_text).or((n == n_now).then_some(place))?;
                Some(Item::table(path(place)))
            }
            Self::Pin(extent, n) => {
                let (body, part) = item.as_pin()?;
                let parts = parts_of(scene, body);
                let place = parts.iter().position(|known| *known == extent).or((n == parts.len()).then_some(part))?;
                Some(Item::pin(body, place))
            }
        }
    }
}

/// The list and the place in it of an entry that goes by its number.
fn numbered(item: &Item) -> Option<(&str, usize)> {
    let (list, place) = item.path.rsplit_once('.')?;
    let goes_by_name = ["body", "material", "pin"].iter().any(|named| list.split('.').next() == Some(*named));
    Some((list, place.parse().ok().filter(|_| !goes_by_name)?))
}

/// The fixed parts of a body of a scene.
fn parts_of(scene: &Scene, body: &str) -> Vec<Extent> {
    scene.live_values().fixed.into_iter().find(|fixed| fixed.body == body).map_or_else(Vec::new, |fixed| fixed.parts)
}

/// Deformable bodies, rigid ones, and obstacles.
pub fn all_bodies(model: &Model) -> impl Iterator<Item = BodyRef> {
    let numbering = model.numbering();
    (0..numbering.n_with_unknowns() + model.obstacles.len()).map(move |number| numbering.body(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clicks_select_one_several_and_ranges() {
        let order: Vec<Item> = ["body.a", "body.b", "material.m", "simulation"].map(Item::table).into();
        let mut selection = Selection::default();
        let shown = |selection: &Selection| selection.items().iter().map(Item::title).collect::<Vec<_>>().join(" ");
        for (item, how, expected) in [
            (1, Pick::Only, "b"),
            (3, Pick::Through, "m simulation b"),
            (0, Pick::Through, "a b"),
            (1, Pick::Toggle, "a"),
            (2, Pick::Toggle, "a m"),
            (3, Pick::Only, "simulation"),
        ] {
            selection.pick(&order[item], how, &order);
            assert_eq!(shown(&selection), expected);
        }
        assert!(selection.clear() && !selection.clear());
        selection.pick(&order[2], Pick::Through, &order);
        assert_eq!(shown(&selection), "m", "a range from nothing is one");
    }

    /// Entries go by their names, else by what they say; pins by where they are.
    #[test]
    fn what_is_selected_is_found_again() {
        let body = "[[body]]\nname = \"bar\"\nshape = { type = \"box\", size = [1.0, 0.2, 0.2] }\n";
        let scene = |fix: &str, forces: &[&str]| {
            let force = |name: &&str| format!("[[force]]\n{name}body = \"bar\"\nforce = [1, 0, 0]\n");
            let forces: String = forces.iter().map(force).collect();
            Scene::from_text("s", "s.toml", &format!("format = 1\n{body}fix = [{fix}]\n{forces}"), None, &[]).unwrap()
        };
        let [one, two] = ["{ spheres = [{ center = [0, 0, 0], radius = 0.2 }] }", "{ spheres = [{ center = [0.5, 0, 0], radius = 0.2 }] }"];
        let named = "name = \"push\"\n";
        let first = scene(&format!("{one}, {two}"), &["", "", named]);
        let mut selection = Selection::default();
        for item in [Item::table("force.1"), Item::table("force.2"), Item::pin("bar", 1), Item::table("body.bar"), Item::table("camera")] {
            selection.pick(&item, Pick::Toggle, &[]);
        }
        let shown = |selection: &Selection| selection.items().iter().map(|item| item.path.clone()).collect::<Vec<_>>().join(" ");
        let mut now = first;
        for (then, expected) in [
            (scene(&format!("{one}, {two}"), &["start = 1.0\n", "", "", named]), "force.2 force.3 pin.bar.1 body.bar camera"),
            (scene(two, &[named, "", ""]), "force.2 force.0 pin.bar.0 body.bar camera"),
            // Changed in its place; the pin is another one.
            (scene(one, &[named, "", "end = 2.0\n"]), "force.2 force.0 pin.bar.0 body.bar camera"),
            (scene("", &[]), "body.bar camera"),
        ] {
            let known = selection.known(&now);
            selection.follow(known, &then);
            assert_eq!(shown(&selection), expected);
            now = then;
        }
        selection.hide(["bar[2]", "barn"], true);
        selection.rename(&Rename::new("body", "bar", "rod"));
        assert_eq!(shown(&selection), "body.rod camera");
        assert!(selection.is_hidden("rod[2]") && selection.is_hidden("barn") && !selection.is_hidden("bar[2]"));
    }

    #[test]
    fn a_copy_is_of_its_body() {
        let [all, third] = [Item::table("body.bar"), Item::body("bar[2]")];
        assert_eq!((third.path.as_str(), third.copy, third.title()), ("body.bar", Some(2), "bar[2]".to_owned()));
        assert!(all.is_of("bar[2]") && all.is_of("bar") && third.is_of("bar[2]"));
        assert!(!third.is_of("bar[1]") && !all.is_of("bars") && !Item::table("material.bar").is_of("bar"));
    }
}
