//! The scene is built anew with what was changed. Its recorded past ends with that, so that is asked before.

use super::Session;
use crate::app::SceneSource;
use crate::app::files;
use crate::app::history::{Rebuild, Way};
use crate::app::ui::{Answer, LostPast};
use crate::app::worker::Request;

impl Session {
    /// Builds the scene with all changes, at once, or once it is known what becomes of the past.
    pub(super) fn build_anew(&mut self, rebuild: Rebuild) {
        let lost = self.timeline().and_then(|timeline| {
            let spans = timeline.lanes.iter().filter_map(|lane| Some(lane.places.last()?.1 - lane.places.first()?.1));
            lost_past(spans.fold(0.0, f64::max), timeline.lanes.len())
        });
        match lost {
            Some(lost) => {
                self.log.say(format_args!("asks about the past of {lost}"));
                self.ui.lost_past = Some(LostPast { lost, rebuild });
            }
            None => self.build_now(rebuild),
        }
    }

    /// The last change is taken back if nothing comes of it.
    fn build_now(&mut self, rebuild: Rebuild) {
        let (Some(document), Some(scene)) = (&self.document, &self.live.scene) else { return };
        let source = SceneSource::Edited(Box::new(scene.source.base().clone()), document.assignments());
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
        let (Some(entry), Some(document)) = (self.history.take(way), &mut self.document) else { return };
        let walked = if way == Way::Back { document.undo() } else { document.redo() };
        self.log.say(format_args!("taken back {}", walked.unwrap_or_default().join(" ")));
        self.history.done(entry, way);
    }
}

/// A recorded past that is shorter is not missed [s]; with several branches one of a second is.
const SHORT_PAST: f64 = 5.0;
const SHORT_BRANCHES: f64 = 1.0;

/// What is lost where so many `seconds` and so many branches of the past end, if that is worth a question.
fn lost_past(seconds: f64, n_branches: usize) -> Option<String> {
    match n_branches {
        0 | 1 => (seconds > SHORT_PAST).then(|| format!("{seconds:.1} s")),
        n => (seconds > SHORT_BRANCHES).then(|| format!("{seconds:.1} s and {n} branches")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_past_that_is_worth_a_question_does_not_end_without_one() {
        assert_eq!([lost_past(5.0, 1), lost_past(0.5, 3)], [None, None]);
        assert_eq!(lost_past(12.34, 1).as_deref(), Some("12.3 s"));
        assert_eq!(lost_past(1.5, 3).as_deref(), Some("1.5 s and 3 branches"));
    }
}
