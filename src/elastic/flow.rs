//! Plastic flow of elements side by side.

use std::ops::Range;

use pulp::Simd;

use super::registers::{LANES, store};
use crate::material::{Constitutive, PlasticRows, Plasticity};
use crate::math::Mat3;
use crate::math::lanes::Matrix;

/// Plastic flow of elements of one material.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    pub rule: Plasticity,
    pub material: Constitutive,
}

impl Flow {
    /// Takes what the elements of the first `n` lanes remember to the start of a step [s]. `rows_of`: places in
    /// `states` of what an element remembers, of which its plastic rows are the last ones; none of an element that does
    /// not flow.
    #[inline(always)]
    pub fn advance<S: Simd>(
        &self,
        gradient: &Matrix<S>,
        dt: f64,
        n: usize,
        states: &mut [[f64; 4]],
        rows_of: impl Fn(usize) -> Range<usize>,
    ) {
        let mut gradients = [[[0.0; 4]; LANES]; 3];
        for (row, places) in gradient.iter().zip(&mut gradients) {
            store([row[0], row[1], row[2], row[0] * 0.0], places, |place, row| *place = row);
        }
        for lane in 0..n {
            self.advance_one(&gradients.map(|rows| rows[lane]), dt, &mut states[rows_of(lane)]);
        }
    }

    /// One element, given the rows of its gradient. (Compiled once, whatever the model of the pass.)
    #[inline(never)]
    fn advance_one(&self, gradient: &[[f64; 4]; 3], dt: f64, states: &mut [[f64; 4]]) {
        if let Some(rows) = states.last_chunk_mut() {
            let gradient = Mat3::from_fn(|r, c| gradient[r][c]);
            *rows = self.rule.advance(&self.material, &gradient, dt, PlasticRows(*rows)).0;
        }
    }
}
