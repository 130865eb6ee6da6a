//! What was done in the window, in its order, and the way back. A change of the scene is taken back by its document;
//! what was done to the run is taken back by its past, which keeps what came after as another branch.

use super::inside::CutPlane;
use crate::sim::Command;
use crate::sim::past::BranchId;

/// The two directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Undo.
    Back,
    /// Redo.
    Forth,
}

/// Why the scene is built anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rebuild {
    /// The last change asks for it.
    Change,
    /// It was taken back, or done again.
    Walked(Way),
    /// The user does.
    Start,
}

impl Way {
    pub fn other(self) -> Self {
        match self {
            Self::Back => Self::Forth,
            Self::Forth => Self::Back,
        }
    }
}

/// What one undo takes back.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// Values of the scene: an entry of the document. All that one gesture does to the same paths is one.
    Values(Option<(u64, Vec<String>)>),
    /// What is hidden and locked: an entry of the document, too.
    Sight,
    /// The plane that cuts bodies open was elsewhere.
    Cut(CutPlane),
    /// Something that was done to the run.
    Run(Deed),
    /// A branch of the past was taken off the timeline.
    Forgotten(BranchId),
}

/// Something that was done to the run, in words, and how it is taken back.
#[derive(Clone, Debug, PartialEq)]
pub struct Deed {
    /// Such as "the move of ball".
    pub what: String,
    pub trace: Trace,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Trace {
    /// Commands that were given together.
    Given(Vec<Command>),
    /// One branch has it, and another one goes on without it.
    Branches { with: BranchId, without: BranchId },
}

/// Everything that can be taken back, and done again.
#[derive(Debug, Default)]
pub struct History {
    undo: Vec<Entry>,
    redo: Vec<Entry>,
    /// A way through the past that is not at its end: the entry, the direction, and the branch that it began on.
    under_way: Option<(Entry, Way, BranchId)>,
}

impl Deed {
    /// What commands do to bodies, if that is a deed.
    pub fn of_commands(commands: &[Command]) -> Option<Self> {
        let what = match commands {
            [Command::MoveBodies { bodies, .. }] => format!("the move of {}", bodies.join(", ")),
            [Command::PutBack { .. }, ..] => {
                let body = |command: &Command| if let Command::PutBack { body } = command { Some(body.clone()) } else { None };
                let bodies: Vec<String> = commands.iter().map(body).collect::<Option<_>>()?;
                format!("that {} was dropped again", bodies.join(", "))
            }
            _ => return None,
        };
        Some(Self { what, trace: Trace::Given(commands.to_vec()) })
    }

    /// With the branches on which it was and was not, now that it was taken back.
    pub fn taken_back(self, from: BranchId, to: BranchId) -> Self {
        let trace = match self.trace {
            Trace::Given(_) if from != to => Trace::Branches { with: from, without: to },
            trace => trace,
        };
        Self { trace, ..self }
    }
}

impl History {
    /// Notes what was done. What was taken back before cannot be done again, unless the entry changes nothing but what
    /// is seen of bodies.
    pub fn push(&mut self, entry: Entry) {
        if !matches!(entry, Entry::Cut(_)) {
            self.redo.clear();
        }
        let goes_on = matches!(&entry, Entry::Values(Some(_))) && self.undo.last() == Some(&entry);
        if !goes_on {
            self.undo.push(entry);
        }
    }

    /// Takes the next entry out; none while another one is under way.
    pub fn take(&mut self, way: Way) -> Option<Entry> {
        if self.under_way.is_some() {
            return None;
        }
        match way {
            // A gesture that was taken back does not go on.
            Way::Back => self.undo.pop().map(|entry| if matches!(entry, Entry::Values(_)) { Entry::Values(None) } else { entry }),
            Way::Forth => self.redo.pop(),
        }
    }

    /// The entry was taken back, or done again.
    pub fn done(&mut self, entry: Entry, way: Way) {
        match way {
            Way::Back => self.redo.push(entry),
            Way::Forth => self.undo.push(entry),
        }
    }

    /// It was not.
    pub fn not_done(&mut self, entry: Entry, way: Way) {
        match way {
            Way::Back => self.undo.push(entry),
            Way::Forth => self.redo.push(entry),
        }
    }

    /// A way through the past begins on a branch.
    pub fn begin(&mut self, entry: Entry, way: Way, from: BranchId) {
        self.under_way = Some((entry, way, from));
    }

    /// And has come to its end.
    pub fn end(&mut self) -> Option<(Entry, Way, BranchId)> {
        self.under_way.take()
    }

    /// The simulation has refused the last change of values, which the document has forgotten.
    pub fn forget_last_values(&mut self) {
        let last = self.undo.iter().rposition(|entry| matches!(entry, Entry::Values(_)));
        last.into_iter().for_each(|place| drop(self.undo.remove(place)));
    }

    /// The simulation has refused a command.
    pub fn forget_command(&mut self, refused: &Command) {
        let is_of = |entry: &Entry| matches!(entry, Entry::Run(Deed { trace: Trace::Given(commands), .. }) if commands.contains(refused));
        let last = self.undo.iter().rposition(is_of);
        last.into_iter().for_each(|place| drop(self.undo.remove(place)));
    }

    /// The run has ended with its past; changes of the scene stay.
    pub fn forget_run(&mut self) {
        let is_of_scene = |entry: &Entry| matches!(entry, Entry::Values(_) | Entry::Sight | Entry::Cut(_));
        self.undo.retain(is_of_scene);
        self.redo.retain(is_of_scene);
        self.under_way = None;
    }

    pub fn can(&self, way: Way) -> bool {
        let entries = if way == Way::Back { &self.undo } else { &self.redo };
        self.under_way.is_none() && !entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Vec3;

    fn values(gesture: u64, path: &str) -> Entry {
        Entry::Values(Some((gesture, vec![path.to_owned()])))
    }

    fn moved(body: &str) -> Command {
        Command::MoveBodies { bodies: vec![body.to_owned()], translation: Vec3::y(), rotation: Vec3::zeros() }
    }

    #[test]
    fn a_gesture_is_one_entry_and_what_is_new_ends_what_could_be_done_again() {
        let mut history = History::default();
        for (gesture, path) in [(7, "a"), (7, "a"), (7, "b"), (8, "b")] {
            history.push(values(gesture, path));
        }
        history.push(Entry::Values(None));
        history.push(Entry::Values(None));
        assert_eq!(history.undo.len(), 5);
        let entry = history.take(Way::Back).unwrap();
        history.done(entry, Way::Back);
        assert!(history.can(Way::Forth) && history.undo.len() == 4);
        history.push(Entry::Sight);
        assert!(!history.can(Way::Forth));
        // Looked into elsewhere, what was taken back can still be done again.
        let entry = history.take(Way::Back).unwrap();
        history.done(entry, Way::Back);
        history.push(Entry::Cut(CutPlane { turn: 0.0, tilt: 0.0, place: 0.5 }));
        assert!(history.can(Way::Forth) && matches!(history.take(Way::Back), Some(Entry::Cut(_))));
        let entry = history.take(Way::Forth).unwrap();
        history.done(entry, Way::Forth);
        // Taken back and done again, it is no gesture that goes on.
        history.take(Way::Back).unwrap();
        let entry = history.take(Way::Back).unwrap();
        history.done(entry, Way::Back);
        let entry = history.take(Way::Forth).unwrap();
        history.done(entry, Way::Forth);
        let n = history.undo.len();
        history.push(values(8, "b"));
        assert_eq!(history.undo.len(), n + 1);
    }

    #[test]
    fn deeds_have_words_and_what_is_refused_is_none() {
        let put_back = |body: &str| Command::PutBack { body: body.to_owned() };
        assert_eq!(Deed::of_commands(&[moved("ball")]).unwrap().what, "the move of ball");
        assert_eq!(Deed::of_commands(&[put_back("a"), put_back("b")]).unwrap().what, "that a, b was dropped again");
        assert_eq!(Deed::of_commands(&[Command::Reset]), None);
        assert_eq!(Deed::of_commands(&[]), None);
        let mut history = History::default();
        history.push(Entry::Values(None));
        history.push(Entry::Run(Deed::of_commands(&[moved("ball")]).unwrap()));
        history.push(Entry::Run(Deed::of_commands(&[moved("cube")]).unwrap()));
        history.forget_command(&moved("ball"));
        history.forget_command(&moved("none"));
        history.forget_last_values();
        assert!(matches!(&history.undo[..], [Entry::Run(deed)] if deed.what.contains("cube")));
        history.push(Entry::Forgotten(3));
        history.push(Entry::Sight);
        history.forget_run();
        assert_eq!(history.undo, [Entry::Sight]);
    }

    /// While a way is under way nothing else is; taken back in another branch, it is done again by going to the first.
    #[test]
    fn a_deed_is_on_one_branch_or_between_two() {
        let mut history = History::default();
        history.push(Entry::Sight);
        history.push(Entry::Run(Deed::of_commands(&[moved("ball")]).unwrap()));
        let entry = history.take(Way::Back).unwrap();
        history.begin(entry, Way::Back, 1);
        assert!(history.take(Way::Back).is_none() && !history.can(Way::Back));
        let (Entry::Run(deed), way, from) = history.end().unwrap() else { panic!() };
        assert_eq!(deed.clone().taken_back(1, 1), deed, "in its place");
        let deed = deed.taken_back(from, 2);
        assert_eq!(deed.trace, Trace::Branches { with: 1, without: 2 });
        assert_eq!(deed.clone().taken_back(2, 1), deed);
        history.done(Entry::Run(deed), way);
        assert!(history.can(Way::Forth) && history.can(Way::Back));
        let entry = history.take(Way::Forth).unwrap();
        history.not_done(entry.clone(), Way::Forth);
        assert_eq!(history.take(Way::Forth), Some(entry));
    }
}
