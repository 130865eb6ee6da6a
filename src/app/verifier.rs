//! The checks of the Verify menu, on a thread of their own.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use crate::cancel::CancelToken;
use crate::sim::Options;
use crate::verify::{self, CHECKS, Check, CheckReport, Progress, Report, Verdict};

/// How all checks stand.
#[derive(Clone, Default)]
pub struct Board {
    /// Of each of `verify::CHECKS`: what it told when it ran last.
    pub rows: Vec<Option<CheckReport>>,
    /// While some run: the place in `CHECKS` of the present one, and how much of it is done.
    pub running: Option<(usize, f64)>,
    /// The part of the whole run that is done.
    pub done: f64,
    pub since: Option<Instant>,
    /// All that has run, once a run is over.
    pub report: Option<Report>,
    /// Why a run could not begin.
    pub error: Option<String>,
    /// Checks that have ended since the start of the program.
    pub n_ended: usize,
}

/// Runs checks; what it knows is read at any time.
pub struct Verifier {
    options: Options,
    board: Arc<Mutex<Arc<Board>>>,
    cancel: CancelToken,
    thread: Option<JoinHandle<()>>,
    /// Checks that have ended, and whether others run, as was logged.
    pub logged: (usize, bool),
}

impl Verifier {
    /// `options` name the backend and its adapter; the device is opened by each run, for the window draws on its own.
    pub fn new(options: Options) -> Self {
        let board = Board { rows: vec![None; CHECKS.len()], ..Board::default() };
        Self { options, board: Arc::new(Mutex::new(Arc::new(board))), cancel: CancelToken::default(), thread: None, logged: (0, false) }
    }

    pub fn board(&self) -> Arc<Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Runs the check with this place in the list, or all; nothing while others run.
    pub fn start(&mut self, only: Option<usize>) -> std::io::Result<()> {
        if self.is_running() {
            return Ok(());
        }
        let places: Vec<usize> = only.map_or_else(|| (0..CHECKS.len()).collect(), |place| vec![place]);
        self.cancel = CancelToken::default();
        let (options, board, cancel) = (self.options.clone(), self.board.clone(), self.cancel.clone());
        change(&board, |board| {
            places.iter().for_each(|place| board.rows[*place] = None);
            *board = Board { rows: std::mem::take(&mut board.rows), n_ended: board.n_ended, ..Board::default() };
            (board.running, board.since) = (places.first().map(|place| (*place, 0.0)), Some(Instant::now()));
        });
        let work = move || run(&places, &options, &cancel, &board);
        self.thread = Some(std::thread::Builder::new().name("verify".into()).spawn(work)?);
        Ok(())
    }

    pub fn cancel(&self) {
        self.cancel.cancel();
    }
}

impl Drop for Verifier {
    /// A step ends soon after it is cancelled.
    fn drop(&mut self) {
        self.cancel();
        if let Some(thread) = self.thread.take() {
            // A panic there was told on stderr.
            let _ = thread.join();
        }
    }
}

fn change(board: &Mutex<Arc<Board>>, work: impl FnOnce(&mut Board)) {
    work(Arc::make_mut(&mut board.lock().unwrap_or_else(PoisonError::into_inner)));
}

fn run(places: &[usize], options: &Options, cancel: &CancelToken, board: &Mutex<Arc<Board>>) {
    let checks: Vec<&'static Check> = places.iter().map(|place| &CHECKS[*place]).collect();
    let n = places.len() as f64;
    let result = verify::run(&checks, options, cancel, |progress| {
        change(board, |board| match progress {
            Progress::Begun(k) => board.running = Some((places[k], 0.0)),
            Progress::Done(k, share) => (board.running, board.done) = (Some((places[k], share)), (k as f64 + share) / n),
            Progress::Ended(k, report) => {
                // A check that was cancelled is as if it had not run.
                board.rows[places[k]] = Some(*report).filter(|report| !(cancel.is_cancelled() && report.verdict == Verdict::NotRun));
                (board.done, board.n_ended) = ((k + 1) as f64 / n, board.n_ended + 1);
            }
        });
    });
    change(board, |board| {
        (board.running, board.since) = (None, None);
        match result {
            Ok(report) => {
                let all = board.rows.iter().flatten().cloned().collect();
                board.report = Some(Report::new(report.machine, (report.backend, report.adapter, report.reason), all));
            }
            Err(error) => board.error = Some(error.to_string()),
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::BackendChoice;

    fn place(name: &str) -> usize {
        CHECKS.iter().position(|check| check.name == name).unwrap()
    }

    fn wait(verifier: &Verifier) -> Arc<Board> {
        while verifier.is_running() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        verifier.board()
    }

    #[test]
    fn single_checks_run_and_their_reports_are_kept() {
        let mut verifier = Verifier::new(Options { backend: Some(BackendChoice::Cpu), ..Options::default() });
        assert!(verifier.board().rows.iter().all(Option::is_none));
        for (runs, name) in ["shear", "free_fall"].into_iter().enumerate() {
            verifier.start(Some(place(name))).unwrap();
            let board = wait(&verifier);
            assert_eq!(board.rows[place(name)].as_ref().unwrap().verdict, Verdict::Passed);
            assert_eq!((board.n_ended, board.report.as_ref().unwrap().checks.len(), board.running), (runs + 1, runs + 1, None));
        }
    }

    #[test]
    fn a_cancelled_run_leaves_the_rest_open() {
        let mut verifier = Verifier::new(Options { backend: Some(BackendChoice::Cpu), ..Options::default() });
        verifier.start(None).unwrap();
        verifier.cancel();
        let board = wait(&verifier);
        assert!(board.rows[place("cpu_gpu")].is_none() && board.running.is_none());
    }
}
