//! Undo and redo: what was done last, whatever it was, is taken back.

use super::Session;
use crate::app::document::Document;
use crate::app::engine::Arrival;
use crate::app::history::{Deed, Entry, Rebuild, Trace, Way};
use crate::app::worker::{Journey, Severity, Snapshot};
use crate::sim::Command;
use crate::sim::past::{BranchId, locked};

impl Session {
    /// Takes back what was done last, or does it again. What the run does not have any more is passed over.
    pub(super) fn step_back(&mut self, way: Way) {
        while let Some(mut entry) = self.history.take(way) {
            let is_done = match &mut entry {
                Entry::Cut(plane) => self.swap_plane(plane, way),
                Entry::Values(_) | Entry::Sight => self.step_document(way),
                Entry::Forgotten(branch) => self.set_forgotten(*branch, way == Way::Forth),
                Entry::Run(deed) => {
                    let deed = deed.clone();
                    return self.step_run(deed, way);
                }
            };
            if is_done {
                return self.history.done(entry, way);
            }
        }
    }

    /// An entry of the document; false if it has none.
    fn step_document(&mut self, way: Way) -> bool {
        let Some(document) = &mut self.document else { return false };
        let is_there = if way == Way::Back { document.can_undo() } else { document.can_redo() };
        if !is_there {
            return false;
        }
        let rename = document.next_name(way);
        let before = document.scene().live_values();
        let before = rename.as_ref().map_or_else(|| before.clone(), |rename| Document::values_after(&before, rename));
        let (changed, word) = match way {
            Way::Back => (self.changing(Document::undo), "undone"),
            Way::Forth => (self.changing(Document::redo), "redone"),
        };
        let (Some(paths), Some(document)) = (changed.flatten(), &self.document) else { return true };
        if paths.is_empty() {
            self.ui.selection.set_sight(document.sight().clone());
            self.log.say(format_args!("{word} what is hidden and locked"));
            return true;
        }
        for path in &paths {
            self.log.say(format_args!("{word} {path}={}", document.scene().given(path).unwrap_or_default()));
        }
        if let Some(rename) = rename {
            self.carry_name(&rename);
        }
        self.follow(&before, Rebuild::Walked(way));
        self.build_if_at_start(way);
        true
    }

    /// Takes a branch off the timeline, or puts it there again.
    pub(super) fn set_forgotten(&mut self, branch: BranchId, is_forgotten: bool) -> bool {
        let past = self.live.past.clone();
        let is_done = past.is_some_and(|past| locked(&past).set_forgotten(branch, is_forgotten));
        match (is_done, is_forgotten) {
            (true, true) => self.log.say(format_args!("forgotten branch={branch}")),
            (true, false) => self.log.say(format_args!("remembered branch={branch}")),
            (false, _) => self.tell(Severity::Info, format!("Branch {branch} is gone: its memory was needed for newer ones")),
        }
        is_done
    }

    /// Goes to where something was not done to the run, or was.
    fn step_run(&mut self, deed: Deed, way: Way) {
        let (play, branch) = (self.is_playing(), self.live.branch);
        self.go_live();
        let journey = match (&deed.trace, way) {
            (Trace::Given(commands), Way::Forth) => {
                self.log.say(format_args!("redone {}", deed.what));
                self.send(commands.clone());
                return self.history.done(Entry::Run(deed), way);
            }
            (Trace::Given(commands), Way::Back) => commands.first().map(|command| Journey::TakeBack { command: command.clone(), play }),
            (Trace::Branches { without, .. }, Way::Back) => Some(Journey::Branch(*without)),
            (Trace::Branches { with, .. }, Way::Forth) => Some(Journey::Branch(*with)),
        };
        let Some(journey) = journey else { return };
        if let Journey::Branch(to) = journey {
            self.swap_ghost(to);
        }
        self.history.begin(Entry::Run(deed), way, branch);
        self.journey(journey);
    }

    /// The end of that way.
    pub(super) fn end_step_of_run(&mut self) {
        if self.time.is_under_way() {
            return;
        }
        let Some((entry, way, from)) = self.history.end() else { return };
        let (Entry::Run(deed), to) = (entry, self.live.branch) else { return };
        match self.live.arrival {
            Arrival::There => {
                let word = if way == Way::Back { "undone" } else { "redone" };
                self.log.say(format_args!("{word} {}", deed.what));
                if from != to {
                    let done = if way == Way::Back { "Taken back" } else { "Done again" };
                    let text = format!("{done}: {}. The run goes on in branch {to}; what came after is in branch {from}", deed.what);
                    self.tell(Severity::Info, text);
                }
                self.history.done(Entry::Run(deed.taken_back(from, to)), way);
            }
            Arrival::Stopped => self.history.not_done(Entry::Run(deed), way),
            // Somebody has gone to another branch since: what was done before that is next.
            Arrival::NotThere => self.step_back(way),
            Arrival::Failed => {}
        }
    }

    /// Takes note of what was done to the run: commands with the names of the scene, and as they were given to it.
    pub(super) fn note_deed(&mut self, commands: &[Command], given: &[Command]) {
        if let Some(Deed { what, .. }) = Deed::of_commands(commands) {
            self.history.push(Entry::Run(Deed { what, trace: Trace::Given(given.to_vec()) }));
        }
    }

    /// What the worker has told since: a state that was loaded, and what was refused.
    pub(super) fn note_news(&mut self, before: &Snapshot) {
        let live = self.live.clone();
        let generation = |snapshot: &Snapshot| snapshot.scene.as_ref().map(|scene| scene.generation);
        if live.states_loaded > before.states_loaded && generation(&live) == generation(before) {
            let trace = Trace::Branches { with: live.branch, without: before.branch };
            self.history.push(Entry::Run(Deed { what: "that a state was loaded".to_owned(), trace }));
        }
        if let (true, Some(refused)) = (live.not_done.0 > before.not_done.0, &live.not_done.1) {
            self.history.forget_command(refused);
        }
    }

    /// The simulation has refused what the last change said; the reason was told.
    pub(super) fn take_back(&mut self) {
        if self.changing(Document::take_back).is_some() {
            self.brushing.forget();
            self.history.forget_last_values();
            self.log.say(format_args!("taken back"));
        }
    }

    /// Changes the document; what is selected stays so, wherever in its list it is then. None without a document.
    pub(super) fn changing<T>(&mut self, change: impl FnOnce(&mut Document) -> T) -> Option<T> {
        let document = self.document.as_mut()?;
        let (known, n_renamed) = (self.ui.selection.known(document.scene()), document.n_renamed());
        let made = change(document);
        // Where something gets another name, the selection gets it, too.
        if document.n_renamed() == n_renamed {
            self.ui.selection.follow(known, document.scene());
        }
        Some(made)
    }

    /// Takes note of what is hidden and locked.
    pub(super) fn note_sight(&mut self) {
        let sight = self.ui.selection.sight();
        if let Some(document) = self.document.as_mut().filter(|document| document.sight() != sight) {
            document.note_sight(sight);
            self.history.push(Entry::Sight);
        }
    }

    /// Changes values of the scene alone.
    pub(super) fn change(&mut self, values: &[(String, String)], gesture: Option<u64>) -> bool {
        let Some(before) = self.document.as_ref().map(Document::assignments) else { return false };
        match self.changing(|document| document.change(values, gesture)).unwrap_or(Ok(())) {
            Ok(()) => {
                if self.document.as_ref().is_some_and(|document| document.assignments() != before) {
                    let paths = values.iter().map(|(path, _)| path.clone()).collect();
                    self.history.push(Entry::Values(gesture.map(|gesture| (gesture, paths))));
                }
                for (path, value) in values {
                    self.log.say(format_args!("edited {path}={value}"));
                }
                true
            }
            Err(text) => {
                self.tell(Severity::Error, text);
                false
            }
        }
    }
}
