//! Matrix blocks of the edges of elements of several tets.

use bytemuck::cast_slice;
use pulp::Simd;

use crate::math::lanes::{Lanes, Matrix};

/// The columns of a block, each followed by a zero.
pub type EdgeBlock<T> = [[T; 4]; 3];

/// Blocks in f64 or in f32.
pub enum EdgeBlocks<'a> {
    Double(&'a mut [EdgeBlock<f64>]),
    Single(&'a mut [EdgeBlock<f32>]),
}

impl EdgeBlocks<'_> {
    pub fn all(&mut self) -> EdgeBlocks<'_> {
        match self {
            Self::Double(blocks) => EdgeBlocks::Double(blocks),
            Self::Single(blocks) => EdgeBlocks::Single(blocks),
        }
    }

    pub fn split_at(self, place: usize) -> [Self; 2] {
        match self {
            Self::Double(blocks) => {
                let (before, after) = blocks.split_at_mut(place);
                [Self::Double(before), Self::Double(after)]
            }
            Self::Single(blocks) => {
                let (before, after) = blocks.split_at_mut(place);
                [Self::Single(before), Self::Single(after)]
            }
        }
    }

    /// Writes the block of the first `n` lanes, given by columns, to places that are `stride` apart, or adds it there.
    #[inline(always)]
    pub fn set<S: Simd>(&mut self, first: usize, stride: usize, n: usize, block: &Matrix<S>, zero: Lanes<S>, adds: bool) {
        let [[ax, ay, az], [bx, by, bz], [cx, cy, cz]] = *block;
        let a = Lanes::separate([ax, ay, az, zero]);
        let b = Lanes::separate([bx, by, bz, zero]);
        let c = Lanes::separate([cx, cy, cz, zero]);
        let (a, b, c) = (rows_of::<S>(&a), rows_of::<S>(&b), rows_of::<S>(&c));
        for lane in 0..n.min(S::F64_LANES) {
            let place = first + lane * stride;
            match self {
                Self::Double(blocks) => put(&mut blocks[place], [a[lane], b[lane], c[lane]], adds),
                Self::Single(blocks) => put(&mut blocks[place], [single(&a[lane]), single(&b[lane]), single(&c[lane])], adds),
            }
        }
    }
}

#[inline(always)]
fn rows_of<S: Simd>(registers: &[S::f64s; 4]) -> &[[f64; 4]] {
    cast_slice(registers)
}

#[inline(always)]
fn single(column: &[f64; 4]) -> [f32; 4] {
    [column[0] as f32, column[1] as f32, column[2] as f32, column[3] as f32]
}

#[inline(always)]
fn put<T: Copy + std::ops::Add<Output = T>>(place: &mut EdgeBlock<T>, block: EdgeBlock<T>, adds: bool) {
    if adds {
        for c in 0..3 {
            for k in 0..4 {
                place[c][k] = place[c][k] + block[c][k];
            }
        }
    } else {
        *place = block;
    }
}
