//! The scene is built anew with what was changed. Its recorded past ends with that, so that is asked before.

use super::Session;
use crate::app::files;
use crate::app::history::{Rebuild, Way};
use crate::app::ui::{Answer, LostPast};
use crate::app::worker::Request;
use crate::app::{ReadScene, SceneSource};
use crate::sim::past::{Event, EventKind, locked};

impl Session {
    /// Builds the scene with all changes, at once, or once it is known what becomes of the past.
    pub(super) fn build_anew(&mut self, rebuild: Rebuild) {
        match self.lost_past().filter(|_| self.ui.asks_past) {
            Some(lost) => {
                self.log.say(format_args!("asks about the past of {lost}"));
                self.ui.lost_past = Some(LostPast { lost, rebuild });
            }
            None => self.build_now(rebuild),
        }
    }

    /// What would be lost of the past, if that is worth a question.
    fn lost_past(&self) -> Option<String> {
        let timeline = self.timeline()?;
        let spans = timeline.lanes.iter().filter_map(|lane| Some(lane.places.last()?.1 - lane.places.first()?.1));
        let is_by_hand = |event: &Event| matches!(event.kind, EventKind::Grabbed | EventKind::PutBack(_) | EventKind::Moved(_));
        let rows = self.live.past.as_ref().map(|past| locked(past).figures(self.live.branch)).unwrap_or_default();
        Lost {
            seconds: spans.fold(0.0, f64::max),
            n_branches: timeline.lanes.len(),
            is_by_hand: timeline.lanes.iter().flat_map(|lane| &lane.events).any(is_by_hand),
            computed: 1e-3 * rows.iter().map(|row| row.ms).sum::<f64>(),
        }
        .in_words()
    }

    /// The last change is taken back if nothing comes of it.
    fn build_now(&mut self, rebuild: Rebuild) {
        let (Some(document), Some(scene)) = (&mut self.document, &self.live.scene) else { return };
        let (set, read) = (document.build(), ReadScene(document.base().clone()));
        let source = SceneSource::Edited(Box::new(scene.source.base().clone()), set, read);
        self.stop_recording();
        self.go_live();
        self.cancel();
        self.builds_change = rebuild == Rebuild::Change;
        self.worker.send(Request::Load(source));
    }

    pub(super) fn answer_lost_past(&mut self, answer: Answer) {
        let Some(LostPast { rebuild, .. }) = self.ui.lost_past.take() else { return };
        match (answer, rebuild) {
            (Answer::Save, _) => {
                self.worker.send(Request::SaveSession(files::unused("pliant-session", ".session")));
                self.build_now(rebuild);
            }
            (Answer::Discard, _) => self.build_now(rebuild),
            (Answer::Cancel, Rebuild::Change) => self.take_back(),
            (Answer::Cancel, Rebuild::Walked(way)) => self.walk_again(way.other()),
            (Answer::Cancel, Rebuild::Start) => {}
        }
    }

    /// Takes a step of undo back that came to nothing: the simulation is as before, and nothing follows.
    fn walk_again(&mut self, way: Way) {
        let Some(entry) = self.history.take(way) else { return };
        let walked = self.changing(|document| if way == Way::Back { document.undo() } else { document.redo() }).flatten();
        self.log.say(format_args!("taken back {}", walked.unwrap_or_default().join(" ")));
        self.history.done(entry, way);
    }
}

/// A recorded past that ends.
struct Lost {
    /// Of the longest branch [s].
    seconds: f64,
    n_branches: usize,
    /// Bodies were pulled, moved or dropped again by hand.
    is_by_hand: bool,
    /// Wall time that its steps have taken [s].
    computed: f64,
}

/// A past that is shorter is not missed [s]; with several branches one of a second is.
const SHORT_PAST: f64 = 5.0;
const SHORT_BRANCHES: f64 = 1.0;
/// What the machine has computed in less time comes again by itself when the scene plays [s].
const CHEAP: f64 = 60.0;

impl Lost {
    /// What is lost, if that is worth a question: what somebody did by hand, branches, and what took long to compute.
    /// All else comes again when the scene plays.
    fn in_words(&self) -> Option<String> {
        let Self { seconds, n_branches, is_by_hand, computed } = *self;
        match n_branches {
            0 | 1 => (seconds > SHORT_PAST && is_by_hand || computed > CHEAP).then(|| format!("{seconds:.1} s")),
            n => (seconds > SHORT_BRANCHES).then(|| format!("{seconds:.1} s and {n} branches")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_past_that_is_worth_a_question_does_not_end_without_one() {
        let lost = |seconds, n_branches, is_by_hand, computed| Lost { seconds, n_branches, is_by_hand, computed }.in_words();
        assert_eq!([lost(5.0, 1, true, 10.0), lost(0.5, 3, true, 1.0)], [None, None]);
        assert_eq!(lost(12.34, 1, true, 10.0).as_deref(), Some("12.3 s"));
        assert_eq!(lost(12.34, 1, false, 59.0), None, "it comes again when the scene plays");
        assert_eq!(lost(0.34, 1, false, 61.0).as_deref(), Some("0.3 s"));
        assert_eq!(lost(1.5, 3, false, 1.0).as_deref(), Some("1.5 s and 3 branches"));
    }
}
