//! SELL: slices of L block rows of 3x3 blocks whose entries are interleaved, so that a register (8) or a warp (32)
//! holds the same entry of several rows (Kreutzer et al. 2014, with blocks). Rows are sorted by length within windows,
//! which saves padding and keeps neighbours near each other.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::{Bcsr, Real, in_parts, parts};

/// Rows within which rows are sorted; a multiple of the rows of a slice.
const WINDOW: usize = 128;

/// One block of each row of a slice: `entries[3 r + c][lane]`.
#[derive(Clone, Debug)]
struct Step<T, const L: usize> {
    columns: [u32; L],
    entries: [[T; L]; 9],
}

/// A sparse matrix of 3x3 blocks, L rows interleaved.
#[derive(Clone, Debug)]
pub struct Sell<T, const L: usize> {
    pub n_block_rows: usize,
    n_columns: usize,
    /// Slice s owns steps `slice_starts[s]..slice_starts[s + 1]`.
    slice_starts: Vec<u32>,
    steps: Vec<Step<T, L>>,
    /// Place of each lane's row in its window; beyond its end for a lane without a row.
    places: Vec<[u32; L]>,
    /// In windows.
    cuts: Vec<u32>,
}

impl<T: Real, const L: usize> Sell<T, L> {
    /// Slices of a window.
    const SLICES: usize = WINDOW / L;

    pub fn new(matrix: &Bcsr<T, 3>) -> Self {
        let n = matrix.n_block_rows();
        let (mut slice_starts, mut steps, mut places) = (vec![0], vec![], vec![]);
        for window in (0..n).step_by(WINDOW) {
            let mut rows: Vec<usize> = (window..(window + WINDOW).min(n)).collect();
            rows.sort_by_key(|row| std::cmp::Reverse(matrix.row(*row).len()));
            // Every window has its full number of slices, empty ones too: a part is a range of windows.
            for slice in 0..Self::SLICES {
                let rows: Vec<usize> = rows.iter().skip(slice * L).take(L).copied().collect();
                let longest = rows.iter().map(|row| matrix.row(*row).len()).max().unwrap_or(0);
                for k in 0..longest {
                    let mut step = Step { columns: [0; L], entries: [[T::ZERO; L]; 9] };
                    for (lane, row) in rows.iter().enumerate() {
                        let blocks = matrix.row(*row);
                        // Padding is a zero block at a column that is at hand.
                        let Some(block) = blocks.clone().nth(k).or(blocks.last()) else { continue };
                        step.columns[lane] = matrix.columns[block];
                        if k < matrix.row(*row).len() {
                            for e in 0..9 {
                                step.entries[e][lane] = matrix.blocks[block][e % 3][e / 3];
                            }
                        }
                    }
                    steps.push(step);
                }
                slice_starts.push(steps.len() as u32);
                places.push(std::array::from_fn(|lane| rows.get(lane).map_or(WINDOW, |row| row - window) as u32));
            }
        }
        let cuts = parts(slice_starts[1..].chunks(Self::SLICES).map(|ends| ends[ends.len() - 1] as usize * 9 * L));
        Self { n_block_rows: n, n_columns: matrix.n_columns.div_ceil(3) * 3, slice_starts, steps, places, cuts }
    }

    /// Blocks with padding.
    pub fn n_padded(&self) -> usize {
        self.steps.len() * L
    }

    pub fn n_slices(&self) -> usize {
        self.places.len()
    }

    /// As a device reads it: starts of the slices in steps and their end, then the block row of each lane, `u32::MAX`
    /// for none; columns; entries.
    pub fn arrays(&self) -> (Vec<u32>, Vec<u32>, Vec<T>) {
        let mut rows = self.slice_starts.clone();
        for (slice, places) in self.places.iter().enumerate() {
            let window = slice / Self::SLICES * WINDOW;
            rows.extend(
                places.iter().map(|place| window as u32 + place).map(|row| if (row as usize) < self.n_block_rows { row } else { u32::MAX }),
            );
        }
        let columns = self.steps.iter().flat_map(|step| step.columns).collect();
        let entries = self.steps.iter().flat_map(|step| step.entries.as_flattened().iter().copied()).collect();
        (rows, columns, entries)
    }

    /// Least bytes of a product: the matrix and both vectors, each once.
    pub fn bytes(&self) -> u64 {
        let matrix = size_of_val(&*self.steps) + size_of_val(&*self.slice_starts) + size_of_val(&*self.places);
        (matrix + (3 * self.n_block_rows + self.n_columns) * size_of::<T>()) as u64
    }

    /// As [`Bcsr::multiply_and_dot`].
    pub fn multiply_and_dot(&self, x: &[T], y: &mut [T], dots: Option<&mut Vec<f64>>) -> f64 {
        let mut none = vec![];
        let with_dot = dots.is_some();
        let sums = dots.unwrap_or(&mut none);
        sums.resize(self.cuts.len() - 1, 0.0);
        let x = x.as_chunks::<3>().0;
        in_parts(&self.cuts, 3 * WINDOW, y, sums, &|windows, y, sum| {
            *sum = Arch::new().dispatch(Windows { matrix: self, windows, x, y: y.as_chunks_mut::<3>().0, with_dot });
        });
        sums.iter().sum()
    }

    /// As [`Bcsr::multiply`].
    pub fn multiply(&self, x: &[T], y: &mut [T]) {
        self.multiply_and_dot(x, y, None);
    }
}

struct Windows<'a, T, const L: usize> {
    matrix: &'a Sell<T, L>,
    windows: Range<usize>,
    x: &'a [[T; 3]],
    /// Of these windows.
    y: &'a mut [[T; 3]],
    with_dot: bool,
}

impl<T: Real, const L: usize> WithSimd for Windows<'_, T, L> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        let Self { matrix, windows, x, y, with_dot } = self;
        let mut dot = 0.0;
        for (window, y) in windows.zip(y.chunks_mut(WINDOW)) {
            for slice in window * (WINDOW / L)..(window + 1) * (WINDOW / L) {
                let steps = matrix.slice_starts[slice] as usize..matrix.slice_starts[slice + 1] as usize;
                let mut sums = [[T::ZERO; L]; 3];
                for step in &matrix.steps[steps] {
                    let mut gathered = [[T::ZERO; L]; 3];
                    for lane in 0..L {
                        let value = x[step.columns[lane] as usize];
                        for c in 0..3 {
                            gathered[c][lane] = value[c];
                        }
                    }
                    for r in 0..3 {
                        for c in 0..3 {
                            for lane in 0..L {
                                sums[r][lane] = step.entries[3 * r + c][lane].mul_add::<S>(gathered[c][lane], sums[r][lane]);
                            }
                        }
                    }
                }
                for (lane, place) in matrix.places[slice].iter().enumerate() {
                    if let Some(y) = y.get_mut(*place as usize) {
                        *y = [sums[0][lane], sums[1][lane], sums[2][lane]];
                    }
                }
            }
            if with_dot {
                let own = &x[window * WINDOW..];
                dot += own.iter().zip(y.iter()).map(|(x, y)| (x[0] * y[0] + x[1] * y[1] + x[2] * y[2]).to_f64()).sum::<f64>();
            }
        }
        dot
    }
}
