//! Sliced rows (SELL-8): the 3x3 blocks of eight rows side by side in f32, so that one register holds the same entry
//! of eight blocks (`fem-study.md` 4).
//!
//! Vectors come in two forms: [`Slice`]s (the components of eight rows side by side), which all loops but one go
//! through, and [`Node`]s (a row after the other), which the product gathers. Registers are turned from one form into
//! the other by shuffles whose order of lanes is the machine's own affair; the blocks are brought in by the same
//! shuffles. [`lanes`] tells the order to those who look at single rows.

use std::ops::Range;

use bytemuck::{Pod, Zeroable, cast_slice_mut};
use pulp::{Arch, Simd, WithSimd};

use crate::memory::Pages;

/// Rows of a slice.
pub const HEIGHT: usize = 8;

/// A vector of one row, and a zero.
pub type Node = [f32; 4];

/// A 3x3 block by columns.
pub type Block = [Node; 3];

/// A vector of each row of a slice, by component.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C, align(32))]
pub struct Slice(pub [[f32; HEIGHT]; 3]);

/// A block of each row of a slice, by entry: column after column.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C, align(32))]
pub struct Slot(pub [[f32; HEIGHT]; 9]);

/// Three registers.
pub type Registers<S> = [<S as Simd>::f32s; 3];

/// Registers that hold a number of each row.
#[inline(always)]
pub const fn registers<S: Simd>() -> usize {
    const { assert!(S::F32_LANES <= HEIGHT, "a register holds the rows of more than one slice") };
    HEIGHT / S::F32_LANES
}

impl Slice {
    #[inline(always)]
    pub fn load<S: Simd>(&self, k: usize) -> Registers<S> {
        [load::<S>(&self.0[0], k), load::<S>(&self.0[1], k), load::<S>(&self.0[2], k)]
    }

    #[inline(always)]
    pub fn store<S: Simd>(&mut self, k: usize, [x, y, z]: Registers<S>) {
        store::<S>(&mut self.0[0], k, x);
        store::<S>(&mut self.0[1], k, y);
        store::<S>(&mut self.0[2], k, z);
    }
}

#[inline(always)]
fn load<S: Simd>(numbers: &[f32; HEIGHT], k: usize) -> S::f32s {
    S::as_simd_f32s(numbers).0[k]
}

#[inline(always)]
fn store<S: Simd>(numbers: &mut [f32; HEIGHT], k: usize, value: S::f32s) {
    S::as_mut_simd_f32s(numbers).0[k] = value;
}

#[inline(always)]
pub fn dot<S: Simd>(simd: S, a: &Registers<S>, b: &Registers<S>) -> S::f32s {
    simd.mul_add_f32s(a[0], b[0], simd.mul_add_f32s(a[1], b[1], simd.mul_f32s(a[2], b[2])))
}

/// Four numbers of each of `places` in `rows`, lane by lane, as four registers.
#[inline(always)]
fn gather<S: Simd>(simd: S, rows: &[Node], places: &[u32]) -> [S::f32s; 4] {
    let mut numbers = [simd.splat_f32s(0.0); 4];
    for (lane, place) in cast_slice_mut::<S::f32s, Node>(&mut numbers).iter_mut().zip(places) {
        *lane = rows[*place as usize];
    }
    simd.deinterleave_shfl_f32s(numbers)
}

/// The four numbers of the rows of one register.
#[inline(always)]
pub fn from_nodes<S: Simd>(simd: S, nodes: &[Node]) -> [S::f32s; 4] {
    let (rows, _) = S::as_simd_f32s(nodes.as_flattened());
    simd.deinterleave_shfl_f32s([rows[0], rows[1], rows[2], rows[3]])
}

#[inline(always)]
pub fn to_nodes<S: Simd>(simd: S, [x, y, z]: Registers<S>, nodes: &mut [Node]) {
    let rows = simd.interleave_shfl_f32s([x, y, z, simd.splat_f32s(0.0)]);
    S::as_mut_simd_f32s(nodes.as_flattened_mut()).0.copy_from_slice(&rows);
}

/// `slices` of the rows in `nodes`.
pub fn slice_nodes(nodes: &[Node], slices: &mut [Slice]) {
    Arch::new().dispatch(SliceNodes { nodes, slices });
}

struct SliceNodes<'a> {
    nodes: &'a [Node],
    slices: &'a mut [Slice],
}

impl WithSimd for SliceNodes<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for (slice, nodes) in self.slices.iter_mut().zip(self.nodes.chunks_exact(HEIGHT)) {
            for (k, nodes) in nodes.chunks_exact(S::F32_LANES).enumerate() {
                let [x, y, z, _] = from_nodes(simd, nodes);
                slice.store::<S>(k, [x, y, z]);
            }
        }
    }
}

/// The rows of `slices`.
pub fn unslice(slices: &[Slice], nodes: &mut [Node]) {
    Arch::new().dispatch(Unslice { slices, nodes });
}

struct Unslice<'a> {
    slices: &'a [Slice],
    nodes: &'a mut [Node],
}

impl WithSimd for Unslice<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for (slice, nodes) in self.slices.iter().zip(self.nodes.chunks_exact_mut(HEIGHT)) {
            for (k, nodes) in nodes.chunks_exact_mut(S::F32_LANES).enumerate() {
                to_nodes(simd, slice.load::<S>(k), nodes);
            }
        }
    }
}

/// Where the rows of a slice stand in it.
pub fn lanes() -> [usize; HEIGHT] {
    let mut slice = [Slice::default()];
    slice_nodes(&std::array::from_fn::<Node, HEIGHT, _>(|row| [row as f32, 0.0, 0.0, 0.0]), &mut slice);
    let mut lanes = [0; HEIGHT];
    for (lane, row) in slice[0].0[0].iter().enumerate() {
        lanes[*row as usize] = lane;
    }
    lanes
}

/// Where the blocks of a matrix stand: those of slice s in the slots `starts[s]..starts[s + 1]`, without the diagonal
/// ones. Slices take rows in an order of their own, the longest of each window of some slices first: a slice has as
/// many slots as its longest row has blocks.
#[derive(Clone, Debug, Default)]
pub struct SlicedPattern {
    pub starts: Vec<u32>,
    /// Rows of each slice. Those of a window are the same in both orders.
    pub rows: Pages<[u32; HEIGHT]>,
    /// Column of each block.
    pub columns: Pages<[u32; HEIGHT]>,
    /// Where the numbers of each block come from.
    pub sources: Pages<[u32; HEIGHT]>,
}

impl SlicedPattern {
    pub fn n_slices(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    pub fn slots(&self, slice: usize) -> Range<usize> {
        self.starts[slice] as usize..self.starts[slice + 1] as usize
    }
}

/// Fills the slots of the slices of whole windows, and inverts the diagonal blocks.
pub struct Fill<'a> {
    pub pattern: &'a SlicedPattern,
    /// First slice.
    pub first: usize,
    /// As [`lanes`] tells.
    pub lanes: &'a [usize; HEIGHT],
    /// All blocks that `pattern.sources` names.
    pub blocks: &'a [Block],
    /// For each row of these windows what the blocks of the row sum up to, diagonal block included, and what that has
    /// beyond for the inverse: multiples of the identity. A row of zeros has the inverse 0.
    pub sums: &'a [Node],
    pub slots: &'a mut [Slot],
    /// Of eight rows each, in the order of the rows.
    pub inverses: &'a mut [Slot],
}

impl WithSimd for Fill<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let start = self.pattern.starts[self.first] as usize;
        let all_sources = &self.pattern.sources[..];
        let zero = simd.splat_f32s(0.0);
        for s in self.first..self.first + self.inverses.len() {
            let range = self.pattern.slots(s);
            let rows = self.pattern.rows[s].map(|row| row - (HEIGHT * self.first) as u32);
            let mut inverse = Slot::default();
            for k in 0..registers::<S>() {
                let lanes = k * S::F32_LANES..(k + 1) * S::F32_LANES;
                let mut rest = [[zero; 3]; 3];
                for slot in range.clone() {
                    let sources = &all_sources[slot][lanes.clone()];
                    let target = &mut self.slots[slot - start].0;
                    for c in 0..3 {
                        let mut numbers = [zero; 4];
                        for (lane, source) in cast_slice_mut::<S::f32s, Node>(&mut numbers).iter_mut().zip(sources) {
                            *lane = self.blocks[*source as usize][c];
                        }
                        let [x, y, z, _] = simd.deinterleave_shfl_f32s(numbers);
                        let column = [x, y, z];
                        for r in 0..3 {
                            store::<S>(&mut target[3 * c + r], k, column[r]);
                            rest[c][r] = simd.sub_f32s(rest[c][r], column[r]);
                        }
                    }
                }
                let [sum, beyond, _, _] = gather(simd, self.sums, &rows[lanes]);
                let own = simd.add_f32s(sum, beyond);
                (0..3).for_each(|c| rest[c][c] = simd.add_f32s(rest[c][c], own));
                let inverted = inverse_of(simd, &rest);
                for c in 0..3 {
                    for r in 0..3 {
                        store::<S>(&mut inverse.0[3 * c + r], k, inverted[c][r]);
                    }
                }
            }
            for (row, from) in rows.iter().zip(self.lanes) {
                let (slice, to) = (*row as usize / HEIGHT, self.lanes[*row as usize % HEIGHT]);
                (0..9).for_each(|e| self.inverses[slice].0[e][to] = inverse.0[e][*from]);
            }
        }
    }
}

/// Inverses of symmetric blocks; 0 where they are not positive definite.
#[inline(always)]
fn inverse_of<S: Simd>(simd: S, a: &[[S::f32s; 3]; 3]) -> [[S::f32s; 3]; 3] {
    let minor = |p: S::f32s, q: S::f32s, r: S::f32s, s: S::f32s| simd.sub_f32s(simd.mul_f32s(p, q), simd.mul_f32s(r, s));
    let (c00, c01, c02) =
        (minor(a[1][1], a[2][2], a[1][2], a[1][2]), minor(a[0][2], a[1][2], a[0][1], a[2][2]), minor(a[0][1], a[1][2], a[0][2], a[1][1]));
    let (c11, c12, c22) =
        (minor(a[0][0], a[2][2], a[0][2], a[0][2]), minor(a[0][1], a[0][2], a[0][0], a[1][2]), minor(a[0][0], a[1][1], a[0][1], a[0][1]));
    let determinant = dot(simd, &a[0], &[c00, c01, c02]);
    let zero = simd.splat_f32s(0.0);
    let factor = simd.div_f32s(simd.splat_f32s(1.0), determinant);
    let factor = simd.select_f32s(simd.greater_than_f32s(determinant, zero), factor, zero);
    let times = |c: S::f32s| simd.mul_f32s(c, factor);
    [[times(c00), times(c01), times(c02)], [times(c01), times(c11), times(c12)], [times(c02), times(c12), times(c22)]]
}

/// Blocks of a slice times vectors.
#[inline(always)]
pub fn times<S: Simd>(simd: S, blocks: &Slot, k: usize, [x, y, z]: &Registers<S>) -> Registers<S> {
    let entry = |e: usize| load::<S>(&blocks.0[e], k);
    let row = |r: usize| dot(simd, &[entry(r), entry(3 + r), entry(6 + r)], &[*x, *y, *z]);
    [row(0), row(1), row(2)]
}

/// `y = A x` on the slices of whole windows; returns `x.y` of them.
///
/// With `s_i` what the blocks of row i sum up to, `y_i = s_i x_i + sum_j A_ij (x_j - x_i)`: where A is much stiffer than
/// the masses in `s_i`, a stored diagonal block would lose these to its rounding, and with them how a body moves as a
/// whole.
pub struct Product<'a> {
    pub pattern: &'a SlicedPattern,
    pub first: usize,
    /// As [`Fill::sums`].
    pub sums: &'a [Node],
    /// Slots of these slices.
    pub slots: &'a [Slot],
    /// All rows.
    pub x: &'a [Node],
    /// The rows of these windows.
    pub y: &'a mut [Node],
}

impl WithSimd for Product<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let zero = simd.splat_f32s(0.0);
        let mut products = zero;
        let start = self.pattern.starts[self.first] as usize;
        let all_columns = &self.pattern.columns[..];
        for s in self.first..self.first + self.y.len() / HEIGHT {
            let (range, rows) = (self.pattern.slots(s), &self.pattern.rows[s]);
            let columns = &all_columns[range.clone()];
            let slots = &self.slots[range.start - start..range.end - start];
            for k in 0..registers::<S>() {
                let lanes = k * S::F32_LANES..(k + 1) * S::F32_LANES;
                let rows = &rows[lanes.clone()];
                let [own @ .., _] = gather(simd, self.x, rows);
                // A sum for each column: one alone would wait for itself.
                let mut sums = [[zero; 3]; 3];
                for (slot, columns) in slots.iter().zip(columns) {
                    let from = gather(simd, self.x, &columns[lanes.clone()]);
                    for c in 0..3 {
                        let apart = simd.sub_f32s(from[c], own[c]);
                        for r in 0..3 {
                            sums[c][r] = simd.mul_add_f32s(load::<S>(&slot.0[3 * c + r], k), apart, sums[c][r]);
                        }
                    }
                }
                let here = |row: u32| row as usize - HEIGHT * self.first;
                let mut row_sums = [Node::default(); HEIGHT];
                row_sums.iter_mut().zip(rows).for_each(|(sum, row)| *sum = self.sums[here(*row)]);
                let [row_sum, ..] = from_nodes(simd, &row_sums);
                let row = |r: usize| simd.mul_add_f32s(row_sum, own[r], simd.add_f32s(sums[0][r], simd.add_f32s(sums[1][r], sums[2][r])));
                let sum = [row(0), row(1), row(2)];
                products = simd.add_f32s(products, dot(simd, &own, &sum));
                let mut found = [Node::default(); HEIGHT];
                to_nodes(simd, sum, &mut found[..S::F32_LANES]);
                rows.iter().zip(found).for_each(|(row, y)| self.y[here(*row)] = y);
            }
        }
        simd.reduce_sum_f32s(products).into()
    }
}
