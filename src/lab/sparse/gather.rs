//! The thesis' matrix update: every entry of the matrix is gathered from stored element matrices, by addresses that are
//! found once (`linear-algebra.md` 2.7).

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::Bcsr;

/// Rows of an element matrix: four corners of three components.
pub const ELEMENT_ROWS: usize = 12;

/// No contribution.
const NONE: u32 = u32::MAX;

/// Blocks of the matrix that a thread gathers at once.
const CHUNK: usize = 1024;

/// Where the entries of N x N blocks come from.
#[derive(Clone, Debug)]
pub struct IndexBlocks<const N: usize> {
    /// Block b of the matrix has the index blocks `starts[b]..starts[b + 1]`: as many as the entry with the most
    /// contributions.
    starts: Vec<u32>,
    /// Address of an entry among all element matrices, row-major one after the other, for each entry of a block by
    /// columns.
    addresses: Vec<[[u32; N]; N]>,
}

impl<const N: usize> IndexBlocks<N> {
    /// For the pattern of `matrix`; `unknowns` holds the rows and columns that those of each element matrix belong to.
    ///
    /// # Panics
    /// If an element couples unknowns for which the pattern has no block.
    pub fn new(matrix: &Bcsr<f64, N>, unknowns: &[[u32; ELEMENT_ROWS]]) -> Self {
        let n_blocks = matrix.blocks.len();
        let mut contributions: Vec<(u32, u32, u32)> = Vec::with_capacity(unknowns.len() * ELEMENT_ROWS * ELEMENT_ROWS);
        for (e, unknowns) in unknowns.iter().enumerate() {
            for (a, row) in unknowns.iter().enumerate() {
                for (b, column) in unknowns.iter().enumerate() {
                    let (i, j) = (*row as usize / N, column / N as u32);
                    let blocks = matrix.row(i);
                    let place =
                        matrix.columns[blocks.clone()].binary_search(&j).expect("the pattern holds all pairs of unknowns of an element");
                    let entry = (*column as usize % N) * N + *row as usize % N;
                    contributions.push(((blocks.start + place) as u32, entry as u32, ((e * ELEMENT_ROWS + a) * ELEMENT_ROWS + b) as u32));
                }
            }
        }
        // Addresses ascend with the elements: entries are summed in their order.
        contributions.sort_unstable();
        let mut starts = vec![0];
        let mut addresses: Vec<[[u32; N]; N]> = vec![];
        let mut rest = &contributions[..];
        for b in 0..n_blocks as u32 {
            let own;
            (own, rest) = rest.split_at(rest.partition_point(|c| c.0 == b));
            let first = addresses.len();
            for entry in own.chunk_by(|x, y| x.1 == y.1) {
                let (c, r) = (entry[0].1 as usize / N, entry[0].1 as usize % N);
                for (k, contribution) in entry.iter().enumerate() {
                    if addresses.len() == first + k {
                        addresses.push([[NONE; N]; N]);
                    }
                    addresses[first + k][c][r] = contribution.2;
                }
            }
            starts.push(addresses.len() as u32);
        }
        Self { starts, addresses }
    }

    /// Most contributions to an entry of block `b`.
    pub fn n_contributions(&self, b: usize) -> usize {
        (self.starts[b + 1] - self.starts[b]) as usize
    }

    /// Least bytes of a gather: addresses, what they point to, and the matrix.
    pub fn bytes(&self) -> u64 {
        (size_of_val(&*self.addresses) + size_of_val(&*self.starts) + 8 * N * N * (self.addresses.len() + self.starts.len())) as u64
    }

    /// Overwrites all blocks with the sums of what belongs to them.
    pub fn gather(&self, element_matrices: &[f64], blocks: &mut [[[f64; N]; N]]) {
        blocks.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, blocks)| {
            Arch::new().dispatch(Gather { indices: self, first: chunk * CHUNK, element_matrices, blocks });
        });
    }
}

struct Gather<'a, const N: usize> {
    indices: &'a IndexBlocks<N>,
    first: usize,
    element_matrices: &'a [f64],
    blocks: &'a mut [[[f64; N]; N]],
}

impl<const N: usize> WithSimd for Gather<'_, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (b, block) in (self.first..).zip(self.blocks) {
            let mut sums = [[0.0; N]; N];
            for addresses in &self.indices.addresses[self.indices.starts[b] as usize..self.indices.starts[b + 1] as usize] {
                for (sums, addresses) in sums.iter_mut().zip(addresses) {
                    for (sum, address) in sums.iter_mut().zip(addresses) {
                        // None is beyond the end.
                        *sum += self.element_matrices.get(*address as usize).copied().unwrap_or(0.0);
                    }
                }
            }
            *block = sums;
        }
    }
}
