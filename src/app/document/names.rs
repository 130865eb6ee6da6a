//! Names that were given in the window, and what the running simulation calls the same things.

use crate::model::Model;
use crate::scene::{LiveValues, Rename, Scene};
use crate::sim::past::{Event, EventKind};
use crate::sim::{Command, SessionTree};

/// New names since the scene was read, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names(Vec<Rename>);

/// Things that the running simulation still calls as they were called when it was built: a new name changes labels
/// only, and nothing starts anew for it. So a step that is computed, the recorded past and what is repeated of it know
/// of no new names; all that is shown or written goes through here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Labels {
    /// From the name in the simulation to the one in the scene.
    names: Vec<Rename>,
}

impl Names {
    /// Adds a new name. Two in turn for the same entry are one.
    pub fn push(&mut self, rename: Rename) {
        let follows = |last: &&mut Rename| last.list == rename.list && last.to == rename.from;
        match self.0.last_mut().filter(follows) {
            Some(last) => last.to = rename.to,
            None => self.0.push(rename),
        }
        self.0.pop_if(|last| last.from == last.to);
    }

    /// As `--set` makes them in a scene, those of entries that it has: first the names in its file, `saved`, and from
    /// there those of now. So the file may be that of before or the saved one: what it has already is passed over.
    pub fn assignments(&self, scene: &Scene, saved: &Self) -> Vec<String> {
        let mut lists: Vec<&str> = saved.0.iter().chain(&self.0).map(|rename| rename.list.as_str()).collect();
        lists.sort_unstable();
        lists.dedup();
        let mut steps: [Vec<Rename>; 2] = [vec![], vec![]];
        for (list, first) in lists.iter().flat_map(|list| scene.names_of(list).into_iter().map(move |name| (*list, name))) {
            let names = [first.to_owned(), saved.last(list, first), self.last(list, first)];
            for (step, pair) in steps.iter_mut().zip(names.windows(2)).filter(|(_, pair)| pair[0] != pair[1]) {
                step.push(Rename::new(list, pair[0].clone(), pair[1].clone()));
            }
        }
        let steps = steps.concat();
        // Where names were swapped they go the way that they came.
        sequence(&steps, scene).or_else(|| sequence(&self.0, scene)).unwrap_or_default()
    }

    /// The first name of an entry, before all that were given.
    fn first(&self, list: &str, name: &str) -> String {
        self.0.iter().rev().fold(name.to_owned(), |name, rename| rename.reversed().name_for(list, &name).unwrap_or(name))
    }

    /// The name now of an entry by its first one.
    fn last(&self, list: &str, first: &str) -> String {
        self.0.iter().fold(first.to_owned(), |name, rename| rename.name_for(list, &name).unwrap_or(name))
    }
}

impl Labels {
    /// Between the names when the simulation was built and those of now.
    pub fn between(built: &Names, now: &Names) -> Self {
        let mut names: Vec<Rename> = vec![];
        for Rename { list, from, to } in built.0.iter().chain(&now.0) {
            for name in [from, to] {
                let first = built.first(list, name);
                let rename = Rename::new(list.clone(), built.last(list, &first), now.last(list, &first));
                // A name that something had only for a while is nobody's.
                let is_there = now.first(list, &rename.to) == first;
                if is_there && rename.from != rename.to && !names.contains(&rename) {
                    names.push(rename);
                }
            }
        }
        Self { names }
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// What the scene calls an entry that the simulation knows by `name`.
    pub fn shown(&self, list: &str, name: &str) -> String {
        self.names.iter().find_map(|rename| rename.name_for(list, name)).unwrap_or_else(|| name.to_owned())
    }

    /// What the simulation calls an entry that the scene knows by `name`.
    pub fn built(&self, list: &str, name: &str) -> String {
        self.names.iter().find_map(|rename| rename.reversed().name_for(list, name)).unwrap_or_else(|| name.to_owned())
    }

    /// The values of the simulation with the names of the scene.
    pub fn shown_values(&self, values: &LiveValues) -> LiveValues {
        values.named(&|list, name| self.shown(list, name))
    }

    /// The model of the simulation with the names of the scene.
    pub fn shown_model(&self, model: &Model) -> Model {
        let mut model = model.clone();
        let bodies = model.bodies.iter_mut().map(|body| &mut body.name);
        let rigid = model.rigid_bodies.iter_mut().map(|body| &mut body.name);
        let obstacles = model.obstacles.iter_mut().map(|body| &mut body.name);
        let fixed = model.fixed_parts.iter_mut().map(|part| &mut part.body);
        bodies.chain(rigid).chain(obstacles).chain(fixed).for_each(|name| *name = self.shown("body", name));
        model.named_materials.iter_mut().for_each(|named| named.name = self.shown("material", &named.name));
        model
    }

    /// A sentence of the simulation with the names of the scene. It has names in quotes, straight or curly ones: those
    /// of materials behind that word, and all others are those of bodies. What stands behind `=` is a value.
    pub fn shown_text(&self, text: &str) -> String {
        let (mut told, mut rest) = (String::new(), text);
        while let Some(open) = rest.find(['"', '“']) {
            let close = if rest[open..].starts_with('"') { '"' } else { '”' };
            let (before, quoted) = rest.split_at(open + if close == '"' { 1 } else { '“'.len_utf8() });
            let Some(end) = quoted.find(close) else { break };
            let word = before.trim_end_matches(['"', '“', ' ']);
            let name = &quoted[..end];
            told += before;
            match (word.ends_with('='), word.ends_with("material")) {
                (true, _) => told += name,
                (_, true) => told += &self.shown("material", name),
                _ => told += &self.shown("body", name),
            }
            told.push(close);
            rest = &quoted[end + close.len_utf8()..];
        }
        told + rest
    }

    /// What happened in the past, with the names of the scene.
    pub fn shown_event(&self, event: &Event) -> Event {
        let kind = match &event.kind {
            EventKind::PutBack(body) => EventKind::PutBack(self.shown("body", body)),
            EventKind::Moved(bodies) => EventKind::Moved(bodies.iter().map(|body| self.shown("body", body)).collect()),
            EventKind::Edited(what) => EventKind::Edited(self.shown_text(what)),
            other => other.clone(),
        };
        Event { kind, ..event.clone() }
    }

    /// A session of the simulation with the names of the scene; `set` builds its start with them.
    pub fn shown_session(&self, session: &SessionTree, set: &[String]) -> SessionTree {
        session.named(&|list, name| self.shown(list, name), set)
    }

    /// A command with the names of the scene, as the simulation takes it.
    pub fn built_command(&self, command: &Command) -> Command {
        command.named(&|list, name| self.built(list, name))
    }
}

/// New names in turn as `--set` makes them in a scene, those of entries that it has; none where one is taken by then.
fn sequence(renames: &[Rename], scene: &Scene) -> Option<Vec<String>> {
    let mut there: Vec<(&str, Vec<&str>)> = vec![];
    let mut made = vec![];
    for rename in renames {
        if !there.iter().any(|(list, _)| *list == rename.list) {
            there.push((&rename.list, scene.names_of(&rename.list)));
        }
        let names = there.iter_mut().find(|(list, _)| *list == rename.list).map(|(_, names)| names)?;
        let is_taken = names.contains(&rename.to.as_str());
        if let Some(name) = names.iter_mut().find(|name| **name == rename.from) {
            if is_taken {
                return None;
            }
            *name = &rename.to;
            made.push(rename.assignment());
        }
    }
    Some(made)
}

/// The values after an entry got another name.
pub fn values_after(values: &LiveValues, rename: &Rename) -> LiveValues {
    values.named(&|list, name| rename.name_for(list, name).unwrap_or_else(|| name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(all: &[[&str; 2]]) -> Names {
        let mut names = Names::default();
        all.iter().for_each(|[from, to]| names.push(Rename::new("body", *from, *to)));
        names
    }

    #[test]
    fn a_name_in_turn_is_one_and_back_is_none() {
        assert_eq!(names(&[["a", "b"], ["b", "c"]]).0, [Rename::new("body", "a", "c")]);
        assert_eq!(names(&[["a", "b"], ["b", "a"]]).0, []);
        assert_eq!(names(&[["a", "b"], ["x", "y"], ["b", "c"]]).0.len(), 3);
    }

    /// A file may have been saved under the names of some time between.
    #[test]
    fn names_lead_from_the_first_file_and_from_the_saved_one() {
        let body = |name: &str| format!("[[body]]\nname = \"{name}\"\nkind = \"static\"\nshape = {{ type = \"plane\" }}\n");
        let text = format!("format = 1\n{}{}", body("a"), body("x"));
        let scene = Scene::from_text("s", "s.toml", &text, None, &[]).unwrap();
        let [first, second] = [names(&[["a", "b"], ["x", "y"]]), names(&[["a", "b"], ["x", "y"], ["b", "c"]])];
        let swapped = names(&[["a", "t"], ["x", "a"], ["t", "x"]]);
        for (saved, now, last) in [(Names::default(), &second, "c y"), (first, &second, "c y"), (second.clone(), &second, "c y")]
            .into_iter()
            .chain([(Names::default(), &swapped, "x a"), (second.clone(), &Names::default(), "a x")])
        {
            let set = now.assignments(&scene, &saved);
            let in_file = scene.edited(&saved.assignments(&scene, &Names::default())).unwrap();
            for file in [&scene, &in_file] {
                assert_eq!(file.edited(&set).unwrap().names_of("body").join(" "), last, "{set:?}");
            }
        }
    }

    /// Two bodies may swap their names; what the simulation was built with does not matter.
    #[test]
    fn labels_lead_from_the_simulation_to_the_scene_and_back() {
        let swapped = names(&[["a", "t"], ["b", "a"], ["t", "b"]]);
        for (built, now) in [(names(&[]), swapped.clone()), (swapped, names(&[]))] {
            let labels = Labels::between(&built, &now);
            for [from, to] in [["a", "b"], ["b", "a"], ["b[3]", "a[3]"], ["c", "c"]] {
                assert_eq!((labels.shown("body", from).as_str(), labels.built("body", to).as_str()), (to, from));
            }
            assert_eq!(labels.shown("material", "a"), "a");
        }
        let [first, second] = [names(&[["a", "b"]]), names(&[["a", "b"], ["x", "y"]])];
        assert!(Labels::between(&first, &first).is_empty());
        assert_eq!(Labels::between(&first, &second).names, [Rename::new("body", "x", "y")]);
        let moved = |name: &str| Command::PutBack { body: name.into() };
        assert_eq!(Labels::between(&names(&[]), &first).built_command(&moved("b[1]")), moved("a[1]"));
    }

    #[test]
    fn sentences_and_events_have_the_names_of_the_scene() {
        let mut now = names(&[["bar", "rod"], ["newton", "apple"]]);
        now.push(Rename::new("material", "bar", "gum"));
        let labels = Labels::between(&Names::default(), &now);
        for (built, shown) in [
            ("“bar” stands still in mid-air", "“rod” stands still in mid-air"),
            (r#""bar[2]" and "ball" would pass through each other"#, r#""rod[2]" and "ball" would pass through each other"#),
            (r#"material "bar": give integration = "newton""#, r#"material "gum": give integration = "newton""#),
            ("a bar of 5\" and bar", "a bar of 5\" and bar"),
            ("because “bar” met \"bar\"", "because “rod” met \"rod\""),
        ] {
            assert_eq!(labels.shown_text(built), shown);
        }
        let event = |kind| labels.shown_event(&Event { step: 1, time: 0.0, kind }).kind.sentence();
        assert_eq!(event(EventKind::PutBack("bar[1]".into())), "rod[1] was dropped again");
        assert_eq!(event(EventKind::Moved(vec!["ball".into(), "bar".into()])), "Moved by hand: ball, rod");
        assert_eq!(event(EventKind::Edited("material \"bar\"".into())), "Changed: material \"gum\"");
        assert_eq!(event(EventKind::Grabbed), "A body was grabbed");
    }
}
