//! Features of surfaces, leaf by leaf, in boxes that are compared eight at a time.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::sweep::{Block, LANES, Sweep};
use crate::geometry::mesh::Mesh;

/// Vertices, edges or triangles (of `N` corners) leaf by leaf, those of a leaf in blocks of their own.
#[derive(Clone, Debug)]
pub(super) struct Features<const N: usize> {
    /// First block of each leaf, and the end.
    pub starts: Vec<usize>,
    pub boxes: Vec<Block>,
    /// The features of all lanes, [`Mesh::NONE`] for empty ones, and their vertices.
    pub items: Vec<u32>,
    pub corners: Vec<[u32; N]>,
    /// Leaf of each block.
    leaves: Vec<u32>,
}

impl<const N: usize> Features<N> {
    pub fn new() -> Self {
        Self { starts: vec![0], boxes: Vec::new(), items: Vec::new(), corners: Vec::new(), leaves: Vec::new() }
    }

    pub fn add_leaf(&mut self, features: impl Iterator<Item = (u32, [u32; N])>) {
        for (item, corners) in features {
            self.items.push(item);
            self.corners.push(corners);
        }
        let lanes = self.items.len().next_multiple_of(LANES);
        self.items.resize(lanes, Mesh::NONE);
        self.corners.resize(lanes, [Mesh::NONE; N]);
        self.boxes.resize(lanes / LANES, Block::EMPTY);
        self.leaves.resize(self.boxes.len(), self.n_leaves() as u32);
        self.starts.push(self.boxes.len());
    }

    pub fn n_leaves(&self) -> usize {
        self.starts.len() - 1
    }

    /// The features of a leaf and their vertices.
    pub fn of_leaf(&self, leaf: u32) -> impl Iterator<Item = (u32, [u32; N])> + '_ {
        let lanes = LANES * self.starts[leaf as usize]..LANES * self.starts[leaf as usize + 1];
        self.items[lanes.clone()].iter().copied().zip(self.corners[lanes].iter().copied()).filter(|(item, _)| *item != Mesh::NONE)
    }

    /// The leaf of each of `n` items, [`Mesh::NONE`] of one that no leaf has.
    pub fn leaf_of_items(&self, n: usize) -> Vec<u32> {
        let mut leaves = vec![Mesh::NONE; n];
        let lanes = self.items.iter().zip(0..).filter(|(item, _)| **item != Mesh::NONE);
        lanes.for_each(|(item, lane): (&u32, usize)| leaves[*item as usize] = self.leaves[lane / LANES]);
        leaves
    }

    /// Fits the boxes of the leaves that are due.
    pub fn fit(&mut self, vertex_sweeps: &[Sweep], is_due: impl Fn(u32) -> bool + Sync) {
        let parts = (self.boxes.par_chunks_mut(BLOCKS), self.corners.par_chunks(BLOCKS * LANES), self.leaves.par_chunks(BLOCKS));
        parts.into_par_iter().for_each(|(boxes, corners, leaves)| {
            Arch::new().dispatch(FitBlocks { boxes, corners, leaves, vertex_sweeps, is_due: &is_due });
        });
    }

    /// The sweep of all features of a leaf.
    #[cfg(test)]
    pub fn around(&self, leaf: u32) -> Sweep {
        let blocks = &self.boxes[self.starts[leaf as usize]..self.starts[leaf as usize + 1]];
        blocks.iter().flat_map(|block| (0..LANES).map(|lane| block.get(lane))).fold(Sweep::EMPTY, |all, one| all.union(&one))
    }

    /// Calls `each` with the lanes of a leaf, from `from` on, that may meet `sweep`.
    #[inline]
    pub fn meeting(&self, leaf: u32, sweep: &Sweep, from: usize, mut each: impl FnMut(usize)) {
        for block in self.starts[leaf as usize].max(from / LANES)..self.starts[leaf as usize + 1] {
            let first = block * LANES;
            let mut bits = self.boxes[block].meeting(sweep) & (u32::MAX << from.saturating_sub(first));
            while bits != 0 {
                each(first + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
    }

    /// Adds the pairs of features of leaf `a` of this and of leaf `b` of `other`, the latter in `sweep_b`, that may
    /// meet and share no vertex. Within one leaf of the same features each pair comes once.
    #[inline]
    pub fn meet<const M: usize>(&self, a: u32, other: &Features<M>, b: u32, sweep_b: &Sweep, found: &mut Vec<[u32; 2]>) {
        let within = M == N && a == b;
        self.meeting(a, sweep_b, 0, |i| {
            let (item, corners) = (self.items[i], self.corners[i]);
            let sweep = self.boxes[i / LANES].get(i % LANES);
            other.meeting(b, &sweep, if within { i + 1 } else { 0 }, |j| {
                let mut shared = false;
                for v in corners {
                    for w in other.corners[j] {
                        shared |= v == w;
                    }
                }
                if !shared {
                    let partner = other.items[j];
                    found.push(if M == N { [item.min(partner), item.max(partner)] } else { [item, partner] });
                }
            });
        });
    }
}

/// Blocks that one thread takes at a time.
const BLOCKS: usize = 512;

/// [`Features::fit`], with the widest registers.
struct FitBlocks<'a, const N: usize, D> {
    boxes: &'a mut [Block],
    corners: &'a [[u32; N]],
    leaves: &'a [u32],
    vertex_sweeps: &'a [Sweep],
    is_due: &'a D,
}

impl<const N: usize, D: Fn(u32) -> bool> WithSimd for FitBlocks<'_, N, D> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { boxes, corners, leaves, vertex_sweeps, is_due } = self;
        for ((block, corners), _) in boxes.iter_mut().zip(corners.chunks(LANES)).zip(leaves).filter(|(_, leaf)| is_due(**leaf)) {
            for (lane, corners) in corners.iter().enumerate().filter(|(_, c)| c[0] != Mesh::NONE) {
                block.set(lane, &corners.iter().fold(Sweep::EMPTY, |all, v| all.union(&vertex_sweeps[*v as usize])));
            }
        }
    }
}

/// Whether any of the vertices, empty lanes apart, is flagged.
pub(super) fn any_of<'a>(vertices: impl IntoIterator<Item = &'a u32>, flags: &[bool]) -> bool {
    vertices.into_iter().any(|v| flags.get(*v as usize).copied().unwrap_or(false))
}
