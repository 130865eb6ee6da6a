//! The system matrix of a step: 3x3 blocks, a few rank-one terms, and nodes held fixed.

use std::ops::Range;

use rayon::prelude::*;

use super::{CHUNK, Pattern, multiply};
use crate::math::{Mat3, Vec3, for_each_part};

/// `factor * w w^T`, the same for x, y and z, with `w` given on twelve nodes: a spring on a point of the surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankOne {
    pub nodes: [u32; 12],
    pub weights: [f64; 12],
    /// [kg]
    pub factor: f64,
}

impl RankOne {
    /// The interpolated value `sum_k weights[k] x[nodes[k] - first]`.
    pub fn gather(&self, x: &[Vec3], first: usize) -> Vec3 {
        self.nodes.iter().zip(&self.weights).map(|(n, w)| x[*n as usize - first] * *w).sum()
    }

    /// `x[nodes[k] - first] += weights[k] value`.
    pub fn spread(&self, value: &Vec3, x: &mut [Vec3], first: usize) {
        for (n, w) in self.nodes.iter().zip(&self.weights) {
            x[*n as usize - first] += value * *w;
        }
    }
}

/// A symmetric positive definite matrix [kg] on the free nodes; rows and columns of fixed nodes count as absent.
#[derive(Clone, Debug, Default)]
pub struct Operator {
    pub blocks: Vec<Mat3>,
    /// Diagonal blocks of the unknowns after the nodes: two a rigid body, mass and inertia.
    pub rigid_blocks: Vec<Mat3>,
    pub rank_ones: Vec<RankOne>,
    /// Inverse of each diagonal block, rank-one terms included; zero at fixed nodes and driven bodies.
    pub inverse_diagonals: Vec<Mat3>,
}

/// Zeroes what belongs to fixed nodes; `v` holds the rows `rows`.
pub fn clear_fixed(fixed: &[bool], rows: &Range<usize>, v: &mut [Vec3]) {
    let end = rows.end.min(fixed.len());
    for (v, _) in v.iter_mut().zip(&fixed[rows.start.min(end)..end]).filter(|(_, fixed)| **fixed) {
        *v = Vec3::zeros();
    }
}

impl Operator {
    /// `y = A x` on the rows `rows`, a block of their own (a body); `x` and `y` hold these rows only, and `x` must be
    /// zero at fixed nodes.
    pub fn apply(&self, pattern: &Pattern, fixed: &[bool], rows: &Range<usize>, x: &[Vec3], y: &mut [Vec3]) {
        let n_nodes = pattern.n_rows();
        let nodes = rows.start..rows.end.min(n_nodes).max(rows.start);
        multiply(pattern, &self.blocks, &nodes, &x[..nodes.len()], &mut y[..nodes.len()]);
        let rigid = rows.start.max(n_nodes)..rows.end.max(n_nodes);
        for i in rigid {
            y[i - rows.start] = self.rigid_blocks[i - n_nodes] * x[i - rows.start];
        }
        for term in self.rank_ones.iter().filter(|t| rows.contains(&(t.nodes[0] as usize))) {
            let value = term.gather(x, rows.start) * term.factor;
            term.spread(&value, y, rows.start);
        }
        clear_fixed(fixed, rows, y);
    }

    /// Whether rank-one terms belong to the rows `rows`.
    pub fn has_terms(&self, rows: &Range<usize>) -> bool {
        self.rank_ones.iter().any(|term| rows.contains(&(term.nodes[0] as usize)))
    }

    /// `z = D^-1 r` with the block diagonal D of A, on the rows `rows`.
    pub fn precondition(&self, rows: &Range<usize>, r: &[Vec3], z: &mut [Vec3]) {
        for ((z, r), inverse) in z.iter_mut().zip(r).zip(&self.inverse_diagonals[rows.clone()]) {
            *z = inverse * r;
        }
    }

    /// Inverts the diagonal blocks of the rigid bodies alone.
    pub fn invert_rigid(&mut self, n_nodes: usize) {
        self.inverse_diagonals.resize(n_nodes + self.rigid_blocks.len(), Mat3::zeros());
        for (inverse, block) in self.inverse_diagonals[n_nodes..].iter_mut().zip(&self.rigid_blocks) {
            // Zero for a driven body, which has no mass that counts.
            *inverse = block.try_inverse().unwrap_or_else(Mat3::zeros);
        }
    }

    /// [`invert_diagonals_of`](Self::invert_diagonals_of) all nodes.
    #[cfg(test)]
    pub fn invert_diagonals(&mut self, pattern: &Pattern, fixed: &[bool]) {
        self.invert_diagonals_of(pattern, fixed, &[()], |()| 0..pattern.n_rows());
    }

    /// Inverts the diagonal blocks of the nodes of some items, whose rows ascend, and of the rigid bodies, once the
    /// blocks and rank-one terms of a step stand.
    pub fn invert_diagonals_of<I: Sync>(
        &mut self,
        pattern: &Pattern,
        fixed: &[bool],
        items: &[I],
        rows_of: impl Fn(&I) -> Range<usize> + Sync,
    ) {
        self.invert_rigid(pattern.n_rows());
        let mut extra = vec![];
        for term in &self.rank_ones {
            for (n, w) in term.nodes.iter().zip(&term.weights) {
                extra.push((*n, term.factor * w * w));
            }
        }
        let (blocks, diagonals) = (&self.blocks, &pattern.diagonals);
        let invert = |first: usize, inverses: &mut [Mat3]| {
            for (k, inverse) in inverses.iter_mut().enumerate() {
                let i = first + k;
                let spring: f64 = extra.iter().filter(|(n, _)| *n as usize == i).map(|(_, e)| e).sum();
                let block = blocks[diagonals[i] as usize] + Mat3::identity() * spring;
                *inverse = if fixed[i] { Mat3::zeros() } else { block.try_inverse().unwrap_or_else(Mat3::zeros) };
            }
        };
        for_each_part(items, &rows_of, (0, &mut self.inverse_diagonals), &|item, part| {
            let first = rows_of(item).start;
            part.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, inverses)| invert(first + chunk * CHUNK, inverses));
        });
    }
}
