//! Long lists in order, made part by part: where a sort of millions would keep whoever cancels it waiting.

use rayon::prelude::*;

use crate::cancel::{CancelToken, Cancelled};

/// Buckets that a thread sorts at once.
const CHUNK: usize = 4096;

/// The items in ascending order. `bucket` gives each a number below `n_buckets`; of two items the lower one has no
/// higher number. Ends soon after `cancel` is cancelled.
pub fn sorted_unless<T: Ord + Copy + Send>(
    items: &[T],
    n_buckets: usize,
    bucket: impl Fn(&T) -> usize,
    cancel: &CancelToken,
) -> Result<Vec<T>, Cancelled> {
    let Some(first) = items.first() else { return Ok(vec![]) };
    let mut starts = vec![0; n_buckets + 1];
    let counting = cancel.part(0.0, 0.2);
    for (k, item) in items.iter().enumerate() {
        starts[bucket(item) + 1] += 1;
        counting.check_item(k, items.len())?;
    }
    for b in 0..n_buckets {
        starts[b + 1] += starts[b];
    }
    let mut next = starts.clone();
    let mut sorted = vec![*first; items.len()];
    let placing = cancel.part(0.2, 0.7);
    for (k, item) in items.iter().enumerate() {
        let place = &mut next[bucket(item)];
        sorted[*place] = *item;
        *place += 1;
        placing.check_item(k, items.len())?;
    }
    let (mut parts, mut rest, mut from) = (vec![], &mut sorted[..], 0);
    for ends in starts[1..].chunks(CHUNK) {
        let to = ends.last().map_or(from, |end| *end);
        let (part, after) = rest.split_at_mut(to - from);
        parts.push((part, ends, from));
        (rest, from) = (after, to);
    }
    parts.into_par_iter().for_each(|(part, ends, from)| {
        let mut begin = 0;
        for end in ends.iter().map(|end| end - from) {
            if cancel.has_been_cancelled() {
                return;
            }
            part[begin..end].sort_unstable();
            begin = end;
        }
    });
    cancel.check()?;
    Ok(sorted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_give_the_order_of_a_sort() {
        let items: Vec<[u32; 2]> = (0..40_000u32).map(|k| [k.wrapping_mul(2_654_435_761) % 9001, k % 7]).collect();
        let mut wanted = items.clone();
        wanted.sort_unstable();
        let sorted = |items: &[[u32; 2]], cancel: &CancelToken| sorted_unless(items, 9001, |item| item[0] as usize, cancel);
        assert!(sorted(&items, CancelToken::never()) == Ok(wanted));
        assert_eq!(sorted(&[], CancelToken::never()), Ok(vec![]));
        // Two questions in each of two loops, and one at the end.
        let ended = (0..5).all(|questions| sorted(&items, &CancelToken::after(questions)) == Err(Cancelled));
        assert!(ended && sorted(&items, &CancelToken::after(5)).is_ok());
    }
}
