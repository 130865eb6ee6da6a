//! The solve for one right-hand side: a sweep forward through the tree and one back. A change of contact forces loads
//! few blocks: of those without any load the panel is not read, and nothing is where nothing is loaded.

use pulp::{Simd, WithSimd};

use super::{FactorWork, PADDING, RestFactor};
use crate::sparse::lanes::{add_transposed3, dot3};

/// Length of the rows of the own node k of a block, less the zeros above the diagonal.
fn own_length(node: usize) -> usize {
    (3 * node + 3).next_multiple_of(PADDING)
}

fn is_zero(values: &[f32]) -> bool {
    values.iter().all(|value| *value == 0.0)
}

/// Turns the values, a right-hand side in the order of elimination, into the solution.
pub struct Solve<'a> {
    pub factor: &'a RestFactor,
    pub work: &'a mut FactorWork,
}

impl WithSimd for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let FactorWork { values, sum } = self.work;
        let tree = &self.factor.tree;
        for (b, block) in tree.blocks.iter().enumerate() {
            if is_zero(&values[3 * block.own.start..3 * block.own.end]) {
                continue;
            }
            let panel = self.factor.panel(b);
            // Padded rows reach into the values of the next block, with zeros.
            let (first, n_own) = (3 * block.own.start, block.own.len());
            for (k, place) in block.later.iter().enumerate() {
                let change = dot3(simd, panel.rows(n_own + k), panel.stride, &values[first..first + panel.stride]);
                let at = 3 * *place as usize;
                values[at..at + 3].iter_mut().zip(change).for_each(|(value, change)| *value -= change);
            }
            // From the last: a row needs the entries before it.
            for k in (0..n_own).rev() {
                let value = dot3(simd, panel.rows(k), panel.stride, &values[first..first + own_length(k)]);
                values[first + 3 * k..first + 3 * k + 3].copy_from_slice(&value);
            }
        }
        for (b, block) in tree.blocks.iter().enumerate().rev() {
            let later_is_zero = || block.later.iter().all(|place| is_zero(&values[3 * *place as usize..3 * *place as usize + 3]));
            if is_zero(&values[3 * block.own.start..3 * block.own.end]) && later_is_zero() {
                continue;
            }
            let panel = self.factor.panel(b);
            let (first, n_own) = (3 * block.own.start, block.own.len());
            sum.reset(panel.stride);
            for (k, place) in block.later.iter().enumerate() {
                let at = 3 * *place as usize;
                let known = [-values[at], -values[at + 1], -values[at + 2]];
                add_transposed3(simd, panel.rows(n_own + k), panel.stride, known, sum);
            }
            for k in 0..n_own {
                let at = first + 3 * k;
                let known = [values[at], values[at + 1], values[at + 2]];
                add_transposed3(simd, panel.rows(k), panel.stride, known, &mut sum[..own_length(k)]);
            }
            values[first..first + 3 * n_own].copy_from_slice(&sum[..3 * n_own]);
        }
    }
}
