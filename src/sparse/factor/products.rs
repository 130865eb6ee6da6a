//! Products of columns of the forward sweep, three of each node: the blocks of the inverse.

use pulp::{Simd, WithSimd};

/// The block of two nodes [1/kg], column after column: that of an impulse on the one at the velocity of the other.
pub type Block = [f32; 9];

/// So many pairs at once: they are gone through again for each stretch of the way, and their sums stay in the cache of
/// a core.
pub const PAIRS: usize = 256;
/// Entries of an axis in a stretch: those of one node stay in the innermost cache while all pairs that follow each
/// other and have it are gone through.
const STRETCH: usize = 512;

/// Two nodes whose block is sought.
#[derive(Clone, Copy)]
pub struct Pair<'a> {
    /// The three axes one after the other, each from the root of the tree on.
    pub of: &'a [f32],
    pub with: &'a [f32],
    /// Entries of an axis that both have, a multiple of [`PADDING`](super::PADDING).
    pub common: usize,
}

/// The blocks of up to [`PAIRS`] pairs. Columns of large bodies have no room in a cache: whoever lists the pairs of one
/// node, or a few, after each other has them read from there all the same. A block has the same bits whatever is listed
/// beside it.
pub struct Products<'a> {
    pub pairs: &'a [Pair<'a>],
}

impl WithSimd for Products<'_> {
    type Output = Vec<Block>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<Block> {
        let pairs = self.pairs;
        let mut sums = vec![[[simd.splat_f32s(0.0); 3]; 3]; pairs.len()];
        let longest = pairs.iter().map(|pair| pair.common).max().unwrap_or(0);
        for start in (0..longest).step_by(STRETCH) {
            for (pair, sums) in pairs.iter().zip(&mut sums) {
                let end = pair.common.min(start + STRETCH);
                if start < end {
                    *sums = with_stretch(simd, pair, start, end, *sums);
                }
            }
        }
        let mut blocks = vec![[0.0; 9]; pairs.len()];
        for (block, sums) in blocks.iter_mut().zip(&sums) {
            for (e, entry) in block.iter_mut().enumerate() {
                *entry = simd.reduce_sum_f32s(sums[e / 3][e % 3]);
            }
        }
        blocks
    }
}

/// `sums` and the products of the axes from `start` to `end`.
#[inline(always)]
fn with_stretch<S: Simd>(simd: S, pair: &Pair, start: usize, end: usize, mut sums: [[S::f32s; 3]; 3]) -> [[S::f32s; 3]; 3] {
    let [a, b] = [pair.of, pair.with].map(|y| [0, 1, 2].map(|axis| S::as_simd_f32s(&y[axis * y.len() / 3..][start..end]).0));
    for (((a0, a1), a2), ((b0, b1), b2)) in a[0].iter().zip(a[1]).zip(a[2]).zip(b[0].iter().zip(b[1]).zip(b[2])) {
        for (sums, b) in sums.iter_mut().zip([b0, b1, b2]) {
            for (sum, a) in sums.iter_mut().zip([a0, a1, a2]) {
                *sum = simd.mul_add_f32s(*a, *b, *sum);
            }
        }
    }
    sums
}
