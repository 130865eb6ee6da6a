//! Compressed sparse rows: what the storages are made from, and what they are compared with.

use crate::math::Mat3;
use crate::sparse::Pattern;

/// A sparse matrix, columns ascending in a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr {
    pub n_columns: usize,
    /// Row i owns entries `row_starts[i]..row_starts[i + 1]`.
    pub row_starts: Vec<usize>,
    pub columns: Vec<u32>,
    pub values: Vec<f64>,
}

impl Csr {
    /// From (row, column, value) in any order; values for one place are added in the order given.
    ///
    /// # Panics
    /// If a place is outside the matrix.
    pub fn from_triplets(n_rows: usize, n_columns: usize, mut triplets: Vec<(u32, u32, f64)>) -> Self {
        triplets.sort_by_key(|(row, column, _)| (*row, *column));
        let mut row_starts = vec![0; n_rows + 1];
        let mut columns = Vec::with_capacity(triplets.len());
        let mut values: Vec<f64> = Vec::with_capacity(triplets.len());
        let mut last = None;
        for (row, column, value) in triplets {
            assert!((row as usize) < n_rows && (column as usize) < n_columns, "({row}, {column}) is outside {n_rows} x {n_columns}");
            match values.last_mut() {
                Some(sum) if last == Some((row, column)) => *sum += value,
                _ => {
                    row_starts[row as usize + 1] += 1;
                    columns.push(column);
                    values.push(value);
                }
            }
            last = Some((row, column));
        }
        for row in 0..n_rows {
            row_starts[row + 1] += row_starts[row];
        }
        Self { n_columns, row_starts, columns, values }
    }

    /// The matrix of 3x3 blocks on `pattern`; rows and columns of fixed nodes are those of the identity.
    pub fn from_blocks(pattern: &Pattern, blocks: &[Mat3], fixed: &[bool]) -> Self {
        let n = pattern.n_rows();
        let mut row_starts = Vec::with_capacity(3 * n + 1);
        row_starts.push(0);
        let mut columns = Vec::with_capacity(9 * pattern.n_blocks());
        let mut values = Vec::with_capacity(9 * pattern.n_blocks());
        for i in 0..n {
            for r in 0..3 {
                for b in pattern.row(i) {
                    let j = pattern.columns[b] as usize;
                    for c in 0..3 {
                        columns.push((3 * j + c) as u32);
                        let identity = if i == j && r == c { 1.0 } else { 0.0 };
                        values.push(if fixed[i] || fixed[j] { identity } else { blocks[b][(r, c)] });
                    }
                }
                row_starts.push(columns.len());
            }
        }
        Self { n_columns: 3 * n, row_starts, columns, values }
    }

    pub fn n_rows(&self) -> usize {
        self.row_starts.len() - 1
    }

    pub fn n_entries(&self) -> usize {
        self.values.len()
    }

    /// Columns and values of row `i`.
    pub fn row(&self, i: usize) -> impl Iterator<Item = (usize, f64)> {
        let row = self.row_starts[i]..self.row_starts[i + 1];
        self.columns[row.clone()].iter().zip(&self.values[row]).map(|(column, value)| (*column as usize, *value))
    }

    /// Entries of the diagonal, 0 where none is stored.
    pub fn diagonal(&self) -> Vec<f64> {
        (0..self.n_rows()).map(|i| self.row(i).find(|(j, _)| *j == i).map_or(0.0, |(_, a)| a)).collect()
    }

    /// Columns of the blocks of N x N that are not empty, of block row `i`, ascending.
    pub(super) fn block_columns<const N: usize>(&self, i: usize, found: &mut Vec<u32>) {
        let rows = i * N..((i + 1) * N).min(self.n_rows());
        found.clear();
        found.extend(self.columns[self.row_starts[rows.start]..self.row_starts[rows.end]].iter().map(|c| c / N as u32));
        found.sort_unstable();
        found.dedup();
    }
}
