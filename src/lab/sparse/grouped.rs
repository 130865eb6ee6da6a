//! The thesis' three mappings of a product onto the threads of a device, with block reordering and block-row sorting
//! (`linear-algebra.md` 2). What stands here as index computations is what the device runs; `shaders/lab/grouped.wgsl`
//! is its twin.

use super::{Bcsr, Real};

/// Threads of a warp [-]; on other devices the name is subgroup.
pub const WARP: u32 = 32;

/// Who takes a block row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping {
    /// A whole thread block.
    BlockRow,
    /// A warp; two of them for blocks of 8 x 8, which have more entries than a warp threads.
    Warp,
    /// The threads of so many blocks: one of the plain mapping, more where rows are uneven or thread blocks few.
    MultipleBlockRow { slots: u32 },
}

impl Mapping {
    /// As `--mapping` and records spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::BlockRow => "block-row",
            Self::Warp => "warp",
            Self::MultipleBlockRow { .. } => "multiple-block-row",
        }
    }

    /// B_x and B_y for `threads` threads and blocks of `n` x `n`, a power of two: B_x B_y n^2 = threads.
    pub fn shape(self, threads: u32, n: u32) -> [u32; 2] {
        let blocks = threads / (n * n);
        let slots = match self {
            Self::BlockRow => blocks,
            Self::Warp => (WARP / (n * n)).max(1),
            Self::MultipleBlockRow { slots } => slots,
        };
        [slots, blocks / slots]
    }

    /// Every mapping that `threads` threads allow for blocks of `n` x `n`, each once.
    pub fn all(threads: u32, n: u32) -> Vec<Self> {
        let most = threads / (n * n);
        let mut all = vec![Self::BlockRow, Self::Warp];
        all.extend(
            std::iter::successors(Some(1), |slots| Some(2 * slots))
                .take_while(|s| *s <= most.min(8))
                .map(|slots| Self::MultipleBlockRow { slots }),
        );
        all
    }
}

/// Position, in blocks from the start of its thread block's, of slot `x` of block row `q` in step `s`.
pub fn position([bx, by]: [u32; 2], q: u32, s: u32, x: u32) -> u32 {
    s * (bx * by) + q * bx + x
}

/// A matrix in the order in which thread blocks read it. All block rows of a thread block are padded to the same number
/// of steps.
#[derive(Clone, Debug)]
pub struct Grouped<T> {
    /// N.
    pub block: u32,
    /// Threads of a thread block.
    pub threads: u32,
    /// [B_x, B_y].
    pub shape: [u32; 2],
    pub n_block_rows: usize,
    /// First block of each thread block, and the end.
    pub starts: Vec<u32>,
    pub columns: Vec<u32>,
    /// N^2 a block, row-major.
    pub values: Vec<T>,
    /// Block row of each place of each thread block; `u32::MAX` for a place without one.
    pub row_map: Vec<u32>,
}

impl<T: Real> Grouped<T> {
    /// With block rows in falling order of their lengths if `sorted`.
    pub fn new<const N: usize>(matrix: &Bcsr<T, N>, mapping: Mapping, threads: u32, sorted: bool) -> Self {
        let n = matrix.n_block_rows();
        let [bx, by] = mapping.shape(threads, N as u32);
        let mut rows: Vec<u32> = (0..n as u32).collect();
        if sorted {
            rows.sort_by_key(|row| std::cmp::Reverse(matrix.row(*row as usize).len()));
        }
        let mut starts = vec![0u32];
        let (mut columns, mut values, mut row_map) = (vec![], vec![], vec![]);
        for group in rows.chunks(by as usize) {
            let longest = group.iter().map(|row| matrix.row(*row as usize).len()).max().unwrap_or(0) as u32;
            let base = columns.len();
            let steps = longest.div_ceil(bx);
            columns.resize(base + (steps * bx * by) as usize, 0);
            values.resize(columns.len() * N * N, T::ZERO);
            for (q, row) in group.iter().enumerate() {
                for (k, block) in matrix.row(*row as usize).enumerate() {
                    let (s, x) = (k as u32 / bx, k as u32 % bx);
                    let p = base + position([bx, by], q as u32, s, x) as usize;
                    columns[p] = matrix.columns[block];
                    let place = &mut values[p * N * N..][..N * N];
                    for (e, value) in place.iter_mut().enumerate() {
                        *value = matrix.blocks[block][e % N][e / N];
                    }
                }
            }
            row_map.extend(group.iter().copied().chain(std::iter::repeat(u32::MAX)).take(by as usize));
            starts.push(columns.len() as u32);
        }
        Self { block: N as u32, threads, shape: [bx, by], n_block_rows: n, starts, columns, values, row_map }
    }

    pub fn n_groups(&self) -> usize {
        self.starts.len() - 1
    }

    /// Stored blocks with padding: the sum over thread blocks of steps B_x B_y.
    pub fn n_padded(&self) -> usize {
        self.columns.len()
    }

    /// Bytes that a product moves at least: the matrix once, and both vectors.
    pub fn bytes(&self, n_block_columns: usize) -> u64 {
        let matrix = size_of_val(&*self.values) + 4 * (self.columns.len() + self.starts.len() + self.row_map.len());
        (matrix + (self.n_block_rows + n_block_columns) * self.block as usize * size_of::<T>()) as u64
    }

    /// `y = A x` as the threads do it, one after the other: the twin of the kernel, not a fast product.
    pub fn multiply(&self, x: &[T], y: &mut [T]) {
        let (n, [bx, by]) = (self.block as usize, self.shape);
        let mut sums = vec![T::ZERO; self.threads as usize];
        for group in 0..self.n_groups() {
            for (t, sum) in sums.iter_mut().enumerate() {
                let (slot, c) = (t / (n * n), t % n);
                *sum = T::ZERO;
                let blocks = self.starts[group] as usize..self.starts[group + 1] as usize;
                for p in blocks.skip(slot).step_by((bx * by) as usize) {
                    *sum += self.values[p * n * n + t % (n * n)] * x[self.columns[p] as usize * n + c];
                }
            }
            for q in 0..by as usize {
                let row = self.row_map[group * by as usize + q];
                if row == u32::MAX {
                    continue;
                }
                for r in 0..n {
                    // The order of the kernel: the columns of a slot, then the next slot.
                    let slots = (q * bx as usize..(q + 1) * bx as usize).map(|slot| slot * n * n + r * n);
                    y[row as usize * n + r] = slots.flat_map(|first| &sums[first..first + n]).copied().sum();
                }
            }
        }
    }
}

/// Blocks with padding for each block row of so many blocks, without making the matrix: what B_x costs (2.3).
pub fn padded_blocks(lengths: &[u32], [bx, by]: [u32; 2], sorted: bool) -> usize {
    let mut lengths = lengths.to_vec();
    if sorted {
        lengths.sort_by_key(|length| std::cmp::Reverse(*length));
    }
    let longest = lengths.chunks(by as usize).map(|group| group.iter().max().copied().unwrap_or(0));
    longest.map(|longest| (longest.div_ceil(bx) * bx * by) as usize).sum()
}

/// B_x of the multiple-block-row mapping (2.4): the least padding among those with which at least `least_groups` thread
/// blocks are at work, or the largest if none has so many. Of equal ones the smallest.
pub fn tuned_slots(lengths: &[u32], n: u32, threads: u32, least_groups: usize) -> u32 {
    let most = threads / (n * n);
    let all: Vec<u32> = std::iter::successors(Some(1), |slots| Some(2 * slots)).take_while(|slots| *slots <= most).collect();
    let shape = |slots: u32| Mapping::MultipleBlockRow { slots }.shape(threads, n);
    let full = all.iter().copied().filter(|slots| lengths.len().div_ceil(shape(*slots)[1] as usize) >= least_groups);
    full.min_by_key(|slots| padded_blocks(lengths, shape(*slots), true)).unwrap_or(most)
}
