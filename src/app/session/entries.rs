//! Entries of the scene beside its bodies: added with values that suit what is selected, and taken out.

use super::Session;
use super::bodies::start_bounds;
use crate::app::selection::{Item, Pick, all_bodies};
use crate::app::ui::NewEntry;
use crate::app::worker::Severity;
use crate::body::{BodyRef, base_name};
use crate::math::{Aabb, Vec3};
use crate::model::Model;
use crate::scene::Scene;

/// Values of the scene, by path and as TOML.
type Values = Vec<(String, String)>;

impl Session {
    pub(super) fn add_entry(&mut self, entry: NewEntry) {
        let (Some(document), Some(shown)) = (&self.document, &self.shown.scene) else { return };
        let unlocked: Vec<Item> =
            self.ui.selection.items().iter().filter(|item| !self.ui.selection.is_item_locked(item)).cloned().collect();
        let bodies = self.ui.selection.bodies(&shown.model);
        let added = Place { scene: document.scene(), model: &shown.model, bodies: &bodies, items: &unlocked }.of(entry);
        match added {
            Err(why) => self.tell(Severity::Info, why),
            Ok((path, values)) => {
                if self.edit(&values, None) {
                    self.ui.selection.clear();
                    self.ui.selection.pick(&Item::table(path), Pick::Only, &[]);
                    let acts = if entry == NewEntry::Pair { "it acts at once" } else { "it acts from the start (R)" };
                    self.tell(Severity::Info, format!("{} added: {acts}", entry.label()));
                }
            }
        }
    }

    /// The assignments that take the selected entries and materials out of the scene.
    pub(super) fn selected_entries_out(&self) -> Values {
        let Some(document) = &self.document else { return vec![] };
        without_all(document.scene(), self.ui.selection.items())
    }
}

/// What is left of each list without some of its entries, and materials without a value. Bodies are none of these.
fn without_all(scene: &Scene, items: &[Item]) -> Values {
    let place = |item: &Item| item.path.rsplit('.').next().and_then(|segment| segment.parse::<usize>().ok());
    let mut entries: Vec<&Item> = items.iter().filter(|item| is_entry(item)).collect();
    // The last first: those before keep their places.
    entries.sort_by_key(|item| std::cmp::Reverse(place(item)));
    let (mut left, mut values) = (scene.clone(), vec![]);
    for item in entries {
        let Some((path, text)) = left.without(&item.path) else { continue };
        // Where one cannot go alone all of them are checked together in the end.
        if let Ok(next) = left.edited(&[format!("{path}={text}")]) {
            left = next;
        }
        values.push((path, text));
    }
    values
}

/// An entry of a list of tables, or a material.
fn is_entry(item: &Item) -> bool {
    item.path.contains('.') && item.body_name().is_none() && item.as_pin().is_none()
}

/// Where an entry is added.
struct Place<'a> {
    scene: &'a Scene,
    model: &'a Model,
    /// The selected bodies of the model.
    bodies: &'a [BodyRef],
    /// What is selected and not locked.
    items: &'a [Item],
}

impl Place<'_> {
    /// The path of a new entry and what to assign.
    ///
    /// # Errors
    /// Why there is none, as a sentence.
    fn of(&self, entry: NewEntry) -> Result<(String, Values), String> {
        match entry {
            NewEntry::Force => self.force(),
            NewEntry::Spring => self.spring(),
            NewEntry::Hand => self.hand(),
            NewEntry::Probe => self.probe(),
            NewEntry::Material => Ok(self.material()),
            NewEntry::Pair => self.pair(),
            NewEntry::Group => Ok(self.group()),
        }
    }

    /// As strong as the body is heavy, along x.
    fn force(&self) -> Result<(String, Values), String> {
        let body = self.body("force acts on", "deformable", |body| body.is_deformable())?;
        let force = vector(&(Vec3::x() * two_digits(self.weight(body))));
        Ok(self.added("force", &format!("body = {}, force = {force}", self.name(body))))
    }

    /// From the body to the next selected one, or to a point above it; a tenth of its size longer, it carries the
    /// weight.
    fn spring(&self) -> Result<(String, Values), String> {
        let body = self.body("spring holds", "deformable or rigid", |body| self.model.is_movable(body))?;
        let bounds = self.bounds(body);
        let size = bounds.extent().max().max(1e-6);
        let end = |body: BodyRef| format!("{{ body = {}, point = {} }}", self.name(body), vector(&self.bounds(body).center()));
        let other = self.bodies.iter().copied().find(|other| *other != body && start_bounds(self.model, *other).is_some());
        let above = || format!("{{ point = {} }}", vector(&(bounds.center() + Vec3::y() * size)));
        let to = other.map_or_else(above, end);
        let stiffness = two_digits(10.0 * self.weight(body) / size);
        Ok(self.added("attachment", &format!("from = {}, to = {to}, stiffness = {stiffness:?}", end(body))))
    }

    /// It takes the top of the body and lifts it by its size within a second.
    fn hand(&self) -> Result<(String, Values), String> {
        let body = self.body("hand carries", "deformable or rigid", |body| self.model.is_movable(body))?;
        let bounds = self.bounds(body);
        let top = Vec3::new(bounds.center().x, bounds.max.y, bounds.center().z);
        let places = [(0.0, top), (1.0, top + Vec3::y() * bounds.extent().max())];
        let places = places.map(|(time, at)| format!("{{ time = {time:?}, position = {} }}", vector(&at)));
        Ok(self.added("grab", &format!("body = {}, point = {}, path = [{}]", self.name(body), vector(&top), places.join(", "))))
    }

    /// Of the whole body: it follows its centre.
    fn probe(&self) -> Result<(String, Values), String> {
        let body = self.body("probe follows", "deformable", |body| body.is_deformable())?;
        let name = self.scene.unused_name("probe", base_name(self.model.body_name(body)));
        let entry = format!("{{ name = {}, body = {} }}", quoted(&name), self.name(body));
        Ok((format!("probe.{}", self.scene.n_entries("probe")), vec![("probe".into(), self.scene.with_entry("probe", &entry))]))
    }

    /// A copy of what is selected or of what the selected bodies are made of, which are made of the copy from then on.
    fn material(&self) -> (String, Values) {
        let outlines = self.scene.bodies();
        let made: Vec<_> =
            self.items.iter().filter_map(Item::body_name).filter_map(|name| outlines.iter().find(|b| b.name == name)).collect();
        let made: Vec<_> = made.into_iter().filter(|body| body.kind == "deformable").collect();
        let selected = self.items.iter().rev().find_map(|item| item.path.strip_prefix("material.").map(str::to_owned));
        let of_body = || made.iter().find_map(|body| body.material.clone());
        let source = selected.or_else(of_body).or_else(|| self.scene.material_names().first().cloned());
        let values = source.as_ref().and_then(|name| self.scene.given(&format!("material.{name}")));
        let stem = source.as_deref().unwrap_or("material").trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('_');
        let name = self.scene.unused_name("material", if stem.is_empty() { "material" } else { stem });
        let path = format!("material.{name}");
        let mut all = vec![(path.clone(), values.unwrap_or_else(|| "{ young_modulus = 100000.0 }".into()))];
        all.extend(made.iter().map(|body| (format!("body.{}.material", body.name), quoted(&name))));
        (path, all)
    }

    /// The first pair of a selected body, or of the two that are, that has no friction of its own yet.
    fn pair(&self) -> Result<(String, Values), String> {
        let outlines = self.scene.bodies();
        let friction = self.scene.live_values().friction;
        let selected: Vec<&str> = self.items.iter().filter_map(Item::body_name).collect();
        let is_free = |name: &str| outlines.iter().any(|body| body.name == name && ["deformable", "rigid"].contains(&body.kind));
        let is_given = |a: &str, b: &str| friction.pairs.iter().any(|pair| [(a, b), (b, a)].contains(&(pair.a.as_str(), pair.b.as_str())));
        let all: Vec<&str> = outlines.iter().map(|body| body.name.as_str()).collect();
        let firsts = if selected.is_empty() { &all } else { &selected };
        let seconds = if selected.len() > 1 { &selected } else { &all };
        let pairs = firsts.iter().flat_map(|a| seconds.iter().map(move |b| (*a, *b)));
        let (a, b) = pairs
            .into_iter()
            .find(|&(a, b)| a != b && (is_free(a) || is_free(b)) && !is_given(a, b))
            .ok_or("Every two of these bodies that may touch have a friction of their own already: they are below Contact pairs")?;
        let entry = format!("{{ a = {}, b = {}, friction = {:?} }}", quoted(a), quoted(b), friction.default);
        let list = "contact.pair";
        Ok((format!("{list}.{}", self.scene.n_entries(list)), vec![(list.into(), self.scene.with_entry(list, &entry))]))
    }

    /// A node at the origin, which carries the selected bodies that nothing else carries.
    fn group(&self) -> (String, Values) {
        let name = self.scene.unused_name("group", "group");
        let entry = format!("{{ name = {} }}", quoted(&name));
        let mut values = vec![("group".to_owned(), self.scene.with_entry("group", &entry))];
        let carried = self.items.iter().filter_map(Item::body_name).map(|body| format!("body.{body}.parent"));
        values.extend(carried.filter(|path| self.scene.given(path).is_none()).map(|path| (path, quoted(&name))));
        (format!("group.{}", self.scene.n_entries("group")), values)
    }

    /// A list with one entry more that has a name of its own.
    fn added(&self, list: &str, values: &str) -> (String, Values) {
        let entry = format!("{{ name = {}, {values} }}", quoted(&self.scene.unused_name(list, list)));
        (format!("{list}.{}", self.scene.n_entries(list)), vec![(list.to_owned(), self.scene.with_entry(list, &entry))])
    }

    /// The first selected body that fits, else the first of all.
    fn body(&self, what: &str, kind: &str, fits: impl Fn(BodyRef) -> bool) -> Result<BodyRef, String> {
        let selected = self.bodies.iter().copied().find(|body| fits(*body));
        let found = selected.or_else(|| all_bodies(self.model).find(|body| fits(*body)));
        found.ok_or_else(|| format!("A {what} a {kind} body, and there is none; add one first"))
    }

    fn name(&self, body: BodyRef) -> String {
        quoted(self.model.body_name(body))
    }

    fn bounds(&self, body: BodyRef) -> Aabb {
        start_bounds(self.model, body).unwrap_or(Aabb { min: Vec3::zeros(), max: Vec3::zeros() })
    }

    /// About the weight of a body on earth [N].
    fn weight(&self, body: BodyRef) -> f64 {
        let mass = match body {
            BodyRef::Deformable(place) => self.model.bodies.get(place as usize).map(|body| body.mass),
            BodyRef::Rigid(place) => self.model.rigid_bodies.get(place as usize).and_then(|body| body.mass()),
            BodyRef::Obstacle(_) | BodyRef::World => None,
        };
        mass.filter(|mass| *mass > 0.0).map_or(1.0, |mass| 9.81 * mass)
    }
}

/// A text as TOML.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// A place or a force as TOML, to four digits after the point.
fn vector(v: &Vec3) -> String {
    let [x, y, z] = [v.x, v.y, v.z].map(|x| if x.abs() < 1e3 { (x * 1e4).round() / 1e4 + 0.0 } else { x });
    format!("[{x:?}, {y:?}, {z:?}]")
}

/// By way of text.
fn two_digits(x: f64) -> f64 {
    format!("{x:.1e}").parse().unwrap_or(x)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::app::document::Document;
    use crate::scene::build;

    const TEXT: &str = "# by hand\nformat = 1\n[material.soft] # the bar\nyoung_modulus = 2e5\n[[body]]\nname = \"bar\"\nmaterial = \"soft\"\n\
                        shape = { type = \"box\", size = [0.4, 0.2, 0.2], cells = [2, 1, 1] }\nposition = [0, 0.2, 0]\n\
                        [[body]]\nname = \"ball\"\nkind = \"rigid\"\nshape = { type = \"icosphere\", radius = 0.1 }\nposition = [1, 0.2, 0]\n\
                        [[body]]\nname = \"floor\"\nkind = \"static\"\nshape = { type = \"plane\" }\n# the end of bodies\n[camera]\nazimuth = 5 # right\n";

    fn document() -> Document {
        Document::new(Arc::new(Scene::from_text("s", "s.toml", TEXT, None, &[]).unwrap()), None)
    }

    fn new_entry(document: &Document, model: &Model, entry: NewEntry, selected: &[&str]) -> Result<(String, Values), String> {
        let items: Vec<Item> = selected.iter().map(|path| Item::table(*path)).collect();
        let is_selected = |body: &BodyRef| items.iter().any(|item| item.is_of(model.body_name(*body)));
        let bodies: Vec<BodyRef> = all_bodies(model).filter(is_selected).collect();
        Place { scene: document.scene(), model, bodies: &bodies, items: &items }.of(entry)
    }

    /// Every kind is added to what is selected and to nothing, passes the checks of the scene, is saved at its place,
    /// and is taken back and taken out again.
    #[test]
    fn every_kind_of_entry_comes_and_goes() {
        let model = build(document().scene()).unwrap().model;
        for entry in NewEntry::ALL {
            for selected in [&[][..], &["body.bar"], &["body.ball"], &["body.bar", "body.ball"]] {
                let mut document = document();
                let (path, values) = new_entry(&document, &model, entry, selected).unwrap();
                document.change(&values, None).unwrap_or_else(|why| panic!("{entry:?} with {selected:?}: {why}"));
                assert!(document.scene().given(&path).is_some() && build(document.scene()).is_ok(), "{entry:?}: {path}");
                let text = document.text_for(std::path::Path::new(""), &[]).unwrap();
                let read = Scene::from_text("s", "s.toml", &text, None, &[]).unwrap();
                assert_eq!(read.given(&path), document.scene().given(&path), "{text}");
                for line in TEXT.lines().filter(|line| line.contains('#')) {
                    assert!(text.contains(line), "{line} is gone: {text}");
                }
                // The saved file with the same changes is the same scene.
                let again = read.edited(&document.assignments()).unwrap();
                assert_eq!(again.given(&path), document.scene().given(&path));
                document.undo().unwrap();
                assert!(document.scene().given(&path).is_none() && !document.is_changed());
                document.redo().unwrap();
                assert_eq!(document.text_for(std::path::Path::new(""), &[]).unwrap(), text);
                let out = without_all(document.scene(), &[Item::table(path.clone())]);
                let changed = document.change(&out, None);
                // What names it must go first.
                let is_named = matches!(entry, NewEntry::Material | NewEntry::Group) && values.len() > 1;
                assert_eq!(changed.is_err(), is_named, "{entry:?}: {changed:?}");
                if !is_named {
                    assert!(document.scene().given(&path).is_none() && !document.is_changed(), "{:?}", document.assignments());
                }
            }
        }
    }

    #[test]
    fn entries_suit_what_is_selected() {
        let (document, model) = (document(), build(document().scene()).unwrap().model);
        let text = |entry, selected: &[&str]| new_entry(&document, &model, entry, selected).unwrap().1.remove(0).1;
        // 0.016 cubic metres of a thousand kilograms each.
        assert_eq!(text(NewEntry::Force, &["body.ball"]), "[{ name = \"force\", body = \"bar\", force = [160.0, 0.0, 0.0] }]");
        let spring = text(NewEntry::Spring, &["body.bar", "body.ball"]);
        assert!(spring.contains("to = { body = \"ball\", point = [1.0, 0.2, 0.0] }"), "{spring}");
        assert!(text(NewEntry::Spring, &["body.bar"]).contains("to = { point = [0.0, 0.6, 0.0] }"));
        assert!(text(NewEntry::Pair, &["body.ball"]).contains("a = \"ball\", b = \"bar\""));
        let (path, values) = new_entry(&document, &model, NewEntry::Material, &["body.bar"]).unwrap();
        let made = ("body.bar.material".to_owned(), "\"soft_2\"".to_owned());
        assert_eq!(
            (path.as_str(), &values[0].1, &values[1]),
            ("material.soft_2", &document.scene().given("material.soft").unwrap(), &made)
        );
        let rigid = TEXT.replace("name = \"bar\"\nmaterial = \"soft\"", "name = \"bar\"\nkind = \"rigid\"");
        let none = Scene::from_text("s", "s.toml", &rigid, None, &[]).unwrap();
        let model = build(&none).unwrap().model;
        let place = Place { scene: &none, model: &model, bodies: &[], items: &[] };
        assert!(place.of(NewEntry::Probe).unwrap_err().contains("a deformable body, and there is none"));
    }

    /// Several entries of a list go together, whatever the order in which they were selected.
    #[test]
    fn several_entries_go_at_once() {
        let mut document = document();
        let forces = ["a", "b", "c"].map(|name| format!("{{ name = \"{name}\", body = \"bar\", force = [1.0, 0.0, 0.0] }}"));
        document.change(&[("force".into(), format!("[{}]", forces.join(", ")))], None).unwrap();
        let out = without_all(document.scene(), &["force.0", "force.2", "body.bar", "simulation"].map(Item::table));
        document.change(&out, None).unwrap();
        assert_eq!((document.scene().n_entries("force"), document.scene().given("force.0.name").as_deref()), (1, Some("\"b\"")));
        document.undo();
        assert_eq!(document.scene().n_entries("force"), 3);
    }
}
