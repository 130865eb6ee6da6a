//! Block compressed sparse rows: N x N blocks, zeros explicit; N = 1 is CSR.
//!
//! The thesis has blocks row-major, one thread an entry, and so has the device (`Grouped`). Here they are column-major:
//! an entry of x then multiplies a register of one column, and the sums need no shuffles.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::{Csr, Real, in_parts, parts};

/// A sparse matrix of N x N blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Bcsr<T, const N: usize> {
    /// In entries, without the padding of the last block column.
    pub n_columns: usize,
    pub n_rows: usize,
    /// Entries that were given; the rest of the stored ones are explicit zeros.
    pub n_entries: usize,
    /// Block row i owns blocks `row_starts[i]..row_starts[i + 1]`.
    pub row_starts: Vec<u32>,
    pub columns: Vec<u32>,
    /// Columns of each block.
    pub blocks: Vec<[[T; N]; N]>,
    cuts: Vec<u32>,
}

impl<T: Real, const N: usize> Bcsr<T, N> {
    pub fn new(csr: &Csr) -> Self {
        let n_block_rows = csr.n_rows().div_ceil(N);
        let mut row_starts = vec![0];
        let (mut columns, mut blocks) = (vec![], vec![]);
        let mut found = vec![];
        for i in 0..n_block_rows {
            csr.block_columns::<N>(i, &mut found);
            let first = blocks.len();
            columns.extend_from_slice(&found);
            blocks.resize(columns.len(), [[T::ZERO; N]; N]);
            for r in 0..N.min(csr.n_rows() - i * N) {
                // Columns ascend in both, so each search begins where the last one ended.
                let mut b = 0;
                for (column, value) in csr.row(i * N + r) {
                    while (found[b] as usize) < column / N {
                        b += 1;
                    }
                    blocks[first + b][column % N][r] = T::from_f64(value);
                }
            }
            row_starts.push(columns.len() as u32);
        }
        let cuts = parts(row_starts[1..].iter().map(|end| *end as usize * N * N));
        Self { n_columns: csr.n_columns, n_rows: csr.n_rows(), n_entries: csr.n_entries(), row_starts, columns, blocks, cuts }
    }

    pub fn n_block_rows(&self) -> usize {
        self.row_starts.len() - 1
    }

    /// Blocks of block row `i`.
    pub fn row(&self, i: usize) -> Range<usize> {
        self.row_starts[i] as usize..self.row_starts[i + 1] as usize
    }

    /// The block rows `rows` as a matrix of their own, taken by one thread.
    pub fn rows(&self, rows: &Range<usize>) -> Self {
        let blocks = self.row_starts[rows.start] as usize..self.row_starts[rows.end] as usize;
        let n_rows = (rows.end * N).min(self.n_rows) - (rows.start * N).min(self.n_rows);
        Self {
            n_columns: self.n_columns,
            n_rows,
            n_entries: blocks.len() * N * N,
            row_starts: self.row_starts[rows.start..=rows.end].iter().map(|start| start - blocks.start as u32).collect(),
            columns: self.columns[blocks.clone()].to_vec(),
            blocks: self.blocks[blocks].to_vec(),
            cuts: vec![0, rows.len() as u32],
        }
    }

    /// d_N: the part of the stored entries that were given.
    pub fn density(&self) -> f64 {
        self.n_entries as f64 / (self.blocks.len() * N * N).max(1) as f64
    }

    /// Least bytes of a product: the matrix and both vectors, each once.
    pub fn bytes(&self) -> u64 {
        let matrix = size_of_val(&*self.blocks) + size_of_val(&*self.columns) + size_of_val(&*self.row_starts);
        (matrix + (self.n_rows + self.n_columns) * size_of::<T>()) as u64
    }

    /// `y = A x`; both are padded to whole blocks, `x` with zeros.
    pub fn multiply(&self, x: &[T], y: &mut [T]) {
        self.multiply_and_dot(x, y, None);
    }

    /// [`Self::multiply`]; returns `x.y` if `dots` has places for the sums of the parts. A sum is the same for any
    /// number of threads.
    pub fn multiply_and_dot(&self, x: &[T], y: &mut [T], dots: Option<&mut Vec<f64>>) -> f64 {
        let mut none = vec![];
        let with_dot = dots.is_some();
        let sums = dots.unwrap_or(&mut none);
        sums.resize(self.cuts.len() - 1, 0.0);
        let x = x.as_chunks::<N>().0;
        in_parts(&self.cuts, N, y, sums, &|rows, y, sum| {
            let own = with_dot.then(|| &x[rows.clone()]);
            *sum = Arch::new().dispatch(Rows { matrix: self, rows, x, y, own });
        });
        sums.iter().sum()
    }
}

struct Rows<'a, T, const N: usize> {
    matrix: &'a Bcsr<T, N>,
    rows: Range<usize>,
    x: &'a [[T; N]],
    y: &'a mut [T],
    /// The rows' own x, for the dot product.
    own: Option<&'a [[T; N]]>,
}

impl<T: Real, const N: usize> WithSimd for Rows<'_, T, N> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        let Self { matrix, rows, x, y, own } = self;
        // A sum for each column of a block, and for small blocks of several blocks: sums that do not wait for each
        // other.
        const LONGEST: usize = 4;
        let mut blocks = &matrix.blocks[matrix.row_starts[rows.start] as usize..];
        let mut columns = &matrix.columns[matrix.row_starts[rows.start] as usize..];
        let y = y.as_chunks_mut::<N>().0;
        for (i, y) in rows.clone().zip(y.iter_mut()) {
            let n = matrix.row(i).len();
            let (row_blocks, row_columns);
            (row_blocks, blocks) = blocks.split_at(n);
            (row_columns, columns) = columns.split_at(n);
            let mut sums = [[T::ZERO; N]; N];
            if N <= 2 {
                let mut several = [[[T::ZERO; N]; N]; LONGEST];
                let (fours, rest) = row_blocks.as_chunks::<LONGEST>();
                let (column_fours, column_rest) = row_columns.as_chunks::<LONGEST>();
                for (blocks, columns) in fours.iter().zip(column_fours) {
                    for k in 0..LONGEST {
                        add_product::<S, T, N>(&mut several[k], &blocks[k], &x[columns[k] as usize]);
                    }
                }
                for (block, column) in rest.iter().zip(column_rest) {
                    add_product::<S, T, N>(&mut several[0], block, &x[*column as usize]);
                }
                for c in 0..N {
                    for r in 0..N {
                        sums[c][r] = (several[0][c][r] + several[1][c][r]) + (several[2][c][r] + several[3][c][r]);
                    }
                }
            } else {
                for (block, column) in row_blocks.iter().zip(row_columns) {
                    add_product::<S, T, N>(&mut sums, block, &x[*column as usize]);
                }
            }
            *y = [T::ZERO; N];
            for column in sums {
                for r in 0..N {
                    y[r] += column[r];
                }
            }
        }
        let Some(own) = own else { return 0.0 };
        own.iter().zip(y.iter()).map(|(x, y)| x.iter().zip(y).map(|(x, y)| *x * *y).sum::<T>().to_f64()).sum()
    }
}

#[inline(always)]
fn add_product<S: Simd, T: Real, const N: usize>(sums: &mut [[T; N]; N], block: &[[T; N]; N], x: &[T; N]) {
    for c in 0..N {
        // The sixteen registers of an 8x8 block of f64 would not all fit: half as many sums.
        let sum = &mut sums[if N == 8 { c % 4 } else { c }];
        for r in 0..N {
            sum[r] = block[c][r].mul_add::<S>(x[c], sum[r]);
        }
    }
}
