//! Which of many requests are still worth doing.

use super::{Asked, Request};

/// Drops all moves of a grab and all changes of a value but the newest: no step has seen the older ones.
pub fn newest_moves(requests: Vec<Asked>) -> Vec<Asked> {
    let mut kept: Vec<Asked> = Vec::with_capacity(requests.len());
    for asked in requests {
        kept.pop_if(|last| is_overridden(&last.request, &asked.request));
        kept.push(asked);
    }
    kept
}

fn is_overridden(last: &Request, new: &Request) -> bool {
    matches!((last, new), (Request::Command(_, last), Request::Command(_, new)) if new.overrides(last))
}
