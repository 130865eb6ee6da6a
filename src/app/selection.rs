//! What is selected in the list of the scene, and which bodies are hidden in the view.

use std::collections::BTreeSet;

use crate::body::{BodyRef, base_name};
use crate::model::Model;

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

    #[test]
    fn a_copy_is_of_its_body() {
        let [all, third] = [Item::table("body.bar"), Item::body("bar[2]")];
        assert_eq!((third.path.as_str(), third.copy, third.title()), ("body.bar", Some(2), "bar[2]".to_owned()));
        assert!(all.is_of("bar[2]") && all.is_of("bar") && third.is_of("bar[2]"));
        assert!(!third.is_of("bar[1]") && !all.is_of("bars") && !Item::table("material.bar").is_of("bar"));
    }
}
