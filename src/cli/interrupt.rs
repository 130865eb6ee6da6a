//! Ctrl+C: the first ends the work soon and in order, the second at once.

use crate::cancel::CancelToken;

/// As shells count the end by a signal: 128 and its number.
const KILLED_BY_INTERRUPT: i32 = 130;

/// A token that Ctrl+C cancels. Where Ctrl+C cannot be caught it ends the program, as ever.
pub fn token() -> CancelToken {
    let cancel = CancelToken::default();
    let on_interrupt = cancel.clone();
    let handler = move || {
        if on_interrupt.is_cancelled() {
            std::process::exit(KILLED_BY_INTERRUPT);
        }
        on_interrupt.cancel();
        eprintln!("interrupted: what there is so far is being finished; Ctrl+C again ends at once");
    };
    ctrlc::set_handler(handler).unwrap_or_default();
    cancel
}
