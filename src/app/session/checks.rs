//! What the window does with the checks of the Verify menu.

use std::path::PathBuf;

use super::Session;
use crate::app::files;
use crate::app::ui::CheckAction;
use crate::app::verifier::Board;
use crate::app::worker::Severity;
use crate::output::OutputFile;
use crate::verify::{Report, Verdict};

impl Session {
    pub(super) fn act_on_checks(&mut self, action: CheckAction) {
        match action {
            CheckAction::Run(only) => {
                if let Err(error) = self.verifier.start(only) {
                    self.tell(Severity::Error, format!("The checks could not be started: {error}."));
                }
            }
            CheckAction::Cancel => self.verifier.cancel(),
            CheckAction::SaveReport => {
                let board = self.verifier.board();
                let Some(report) = &board.report else { return };
                match save(report) {
                    Ok([text, json]) => {
                        self.log.say(format_args!("verify saved {}", json.display()));
                        self.tell_of_file(format!("The report is in {} and {}", text.display(), json.display()), text);
                    }
                    Err(error) => self.tell(Severity::Error, error),
                }
            }
        }
    }

    /// `verify ended=N passed=..` for each frame after which more checks have ended; `verify rests` after the last.
    pub(super) fn log_checks(&mut self, board: &Board) {
        let is_running = board.running.is_some();
        let (n_ended, was_running) = std::mem::replace(&mut self.verifier.logged, (board.n_ended, is_running));
        if n_ended != board.n_ended {
            let count = |wanted: Verdict| board.rows.iter().flatten().filter(|report| report.verdict == wanted).count();
            let [passed, failed, not_run] = [Verdict::Passed, Verdict::Failed, Verdict::NotRun].map(count);
            self.log.say(format_args!("verify ended={} passed={passed} failed={failed} not_run={not_run}", board.n_ended));
        }
        if !is_running && (was_running || n_ended != board.n_ended) {
            self.log.say(format_args!("verify rests"));
        }
    }
}

/// Under new names in the pictures folder: text for people, JSON for programs.
fn save(report: &Report) -> Result<[PathBuf; 2], String> {
    let json = report.json().map_err(|error| error.to_string())?;
    let paths = [".txt", ".json"].map(|ending| files::unused("pliant-verify", ending));
    for (path, content) in paths.iter().zip([report.text(), json]) {
        OutputFile::save(path, content.as_bytes()).map_err(|error| error.to_string())?;
    }
    Ok(paths)
}
