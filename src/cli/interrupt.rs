//! Ctrl+C, and the signal that asks a program to end (`kill`, a shutdown, a job that is out of time): the first
//! ends the work soon and in order, the second at once.

use crate::cancel::CancelToken;

/// As shells count the end by a signal: 128 and its number.
const KILLED_BY_INTERRUPT: i32 = 130;

/// A token that such a signal cancels. Where it cannot be caught it ends the program, as ever.
pub fn token() -> CancelToken {
    let cancel = CancelToken::default();
    let on_interrupt = cancel.clone();
    let handler = move || {
        if on_interrupt.is_cancelled() {
            std::process::exit(KILLED_BY_INTERRUPT);
        }
        on_interrupt.cancel();
        eprintln!("interrupted: it ends in order; once more ends at once");
    };
    ctrlc::set_handler(handler).unwrap_or_default();
    cancel
}
