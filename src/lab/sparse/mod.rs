//! The laboratory of sparse products: storages of any sparse matrix, the mappings of the thesis onto threads of a
//! device, Jacobi conjugate gradients on one device and on several, and the model that predicts their time
//! (`linear-algebra.md`).

mod bcsr;
mod cg;
mod csr;
mod fit;
mod gather;
mod grouped;
mod market;
mod model;
mod real;
mod segments;
mod sell;
mod storage;
#[cfg(test)]
pub mod tests;

pub use bcsr::Bcsr;
pub use cg::{CgWork, advance, advance_all, direction, direction_all, jacobi_cg};
pub use csr::Csr;
pub use fit::{FitError, fit};
pub use gather::{ELEMENT_ROWS, IndexBlocks};
pub use grouped::{Grouped, Mapping, WARP, padded_blocks, position, tuned_slots};
pub use market::{MarketError, parse_market};
pub use model::{CgModel, Throughput};
pub use real::Real;
pub use segments::{CpuWorker, Segment, SegmentError, Worker, segments, solve_on};
pub use sell::Sell;
pub use storage::{Chooser, Storage, StorageKind};

use std::ops::Range;

/// Stored entries that a thread takes at once; parts depend on the matrix alone.
const PART: usize = 32 * 1024;

/// Where rows are cut so that the parts hold about [`PART`] entries each; `ends[i]` is the number of entries up to the
/// end of row i.
fn parts(ends: impl Iterator<Item = usize>) -> Vec<u32> {
    let mut cuts = vec![0];
    let (mut rows, mut last) = (0, 0);
    for (row, end) in ends.enumerate() {
        rows = row + 1;
        if end - last >= PART {
            cuts.push(rows as u32);
            last = end;
        }
    }
    if cuts[cuts.len() - 1] != rows as u32 || cuts.len() == 1 {
        cuts.push(rows as u32);
    }
    cuts
}

/// `work(part, rows, their places in y)` for the rows between each two `cuts`, on as many threads as there are; a row
/// has `width` places.
fn in_parts<T: Send, P: Send>(
    cuts: &[u32],
    width: usize,
    y: &mut [T],
    sums: &mut [P],
    work: &(impl Fn(Range<usize>, &mut [T], &mut P) + Sync),
) {
    if let [start, end] = *cuts {
        return work(start as usize..end as usize, y, &mut sums[0]);
    }
    let middle = (cuts.len() - 1) / 2;
    let (low, high) = y.split_at_mut((cuts[middle] - cuts[0]) as usize * width);
    let (low_sums, high_sums) = sums.split_at_mut(middle);
    rayon::join(|| in_parts(&cuts[..=middle], width, low, low_sums, work), || in_parts(&cuts[middle..], width, high, high_sums, work));
}
