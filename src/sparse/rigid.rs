//! Rigid motions of aggregates as a coarse space, and the dense inverse of its matrix: for the device (`fem-study.md`
//! 5, 8).
//!
//! The aggregate a moves its nodes by `t + w x d_i`, `d_i = R_a D_i`, with `D_i` from its centre in the rest pose.

use std::ops::Range;

use rayon::prelude::*;

use super::aggregates::aggregates;
use super::{FactorWork, NotPositiveDefinite, Pattern, RestFactor};
use crate::math::{Mat3, Vec3};

/// Added to the rotations' diagonal of the coarse matrix, as a part of its mean: nodes on a line do not tell one of
/// them.
const SHIFT: f64 = 1e-4;

const NONE: u32 = u32::MAX;

/// The free nodes of one body by aggregates.
#[derive(Clone, Debug)]
pub struct RigidParts {
    range: Range<usize>,
    /// Nodes, counted from the first of the body, with their arms D_i in units of the aggregate's radius.
    members: Vec<Vec<(u32, Vec3)>>,
    centers: Vec<Vec3>,
}

impl RigidParts {
    /// Covers the rows `range` of `pattern`, a block of their own (a body), without fixed nodes; `fixed` and
    /// `positions` (at rest) are given for all nodes. With about `most` aggregates or fewer.
    pub fn new(pattern: &Pattern, range: &Range<usize>, fixed: &[bool], positions: &[Vec3], most: usize) -> Self {
        let (mut members, mut centers) = (vec![], vec![]);
        for mut group in aggregates(pattern, range, fixed, positions, most) {
            // Rows of like length side by side.
            group.sort_by_key(|i| std::cmp::Reverse(pattern.row(range.start + *i as usize).len()));
            let at = |i: &u32| positions[range.start + *i as usize];
            let center = group.iter().map(at).sum::<Vec3>() / group.len() as f64;
            let radius = (group.iter().map(|i| (at(i) - center).norm_squared()).sum::<f64>() / group.len() as f64).sqrt();
            let unit = if radius > 0.0 { 1.0 / radius } else { 0.0 };
            members.push(group.iter().map(|i| (*i, (at(i) - center) * unit)).collect());
            centers.push(center);
        }
        Self { range: range.clone(), members, centers }
    }

    pub fn n_parts(&self) -> usize {
        self.members.len()
    }

    /// The nodes of an aggregate with their arms D_i, in units of its radius.
    pub fn members(&self, aggregate: usize) -> &[(u32, Vec3)] {
        &self.members[aggregate]
    }
}

/// The factor of the coarse matrix P^T A P.
#[derive(Clone, Debug)]
pub struct RigidCoarse(RestFactor);

impl RigidCoarse {
    /// From the matrix `blocks` of the rest pose. Unknowns of an aggregate: t, then w.
    pub fn new(parts: &RigidParts, pattern: &Pattern, blocks: &[Mat3]) -> Result<Self, NotPositiveDefinite> {
        let n = parts.n_parts();
        let first = parts.range.start;
        let mut owners = vec![NONE; parts.range.len()];
        let mut arms = vec![Vec3::zeros(); parts.range.len()];
        for (a, members) in parts.members.iter().enumerate() {
            for (node, arm) in members {
                (owners[*node as usize], arms[*node as usize]) = (a as u32, *arm);
            }
        }
        let rows = || (0..owners.len()).filter(|i| owners[*i] != NONE);
        let row = |i: usize| {
            let columns = pattern.row(first + i).map(|b| (b, pattern.columns[b] as usize - first));
            columns.filter(|(_, j)| owners[*j] != NONE)
        };
        let mut pairs: Vec<[u32; 2]> =
            rows().flat_map(|i| row(i).map(move |(_, j)| [i, j])).map(|pair| pair.map(|i| owners[i])).filter(|[a, b]| a < b).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let across = pairs.iter().flat_map(|[a, b]| [[2 * a, 2 * b], [2 * a, 2 * b + 1], [2 * a + 1, 2 * b], [2 * a + 1, 2 * b + 1]]);
        let mut edges: Vec<[u32; 2]> = (0..n as u32).map(|a| [2 * a, 2 * a + 1]).chain(across).collect();
        edges.sort_unstable();
        let coarse = Pattern::new(2 * n, edges);
        let mut sums = vec![Mat3::zeros(); coarse.n_blocks()];
        let mut add = |r: u32, c: u32, block: Mat3| {
            let row = coarse.row(r as usize);
            if let Ok(place) = coarse.columns[row.clone()].binary_search(&c) {
                sums[row.start + place] += block;
            }
        };
        for i in rows() {
            let (a, d_i) = (owners[i], arms[i].cross_matrix());
            for (b, j) in row(i) {
                let (other, d_j, block) = (owners[j], arms[j].cross_matrix(), blocks[b]);
                add(2 * a, 2 * other, block);
                add(2 * a, 2 * other + 1, -block * d_j);
                add(2 * a + 1, 2 * other, d_i * block);
                add(2 * a + 1, 2 * other + 1, -d_i * block * d_j);
            }
        }
        let turning = |a: usize| coarse.diagonals[2 * a + 1] as usize;
        let mean = (0..n).map(|a| sums[turning(a)].trace()).sum::<f64>() / (3 * n.max(1)) as f64;
        (0..n).for_each(|a| sums[turning(a)] += Mat3::identity() * (SHIFT * mean));
        let positions: Vec<Vec3> = parts.centers.iter().flat_map(|c| [*c; 2]).collect();
        RestFactor::new(&coarse, &sums, &(0..2 * n), &vec![false; 2 * n], &positions).map(Self)
    }

    /// Inverse of the coarse matrix, symmetric to the last bit: for every pair (a, b) of aggregates, b after b within
    /// a, its 3x3 blocks from the force on b to the shift of a, torque to shift, force to turn, torque to turn.
    pub fn inverse(&self) -> Vec<[Mat3; 4]> {
        let n = self.0.n_nodes() / 2;
        // Column 3 u + c: what a unit load c on the unknown u does.
        let column = |work: &mut (Vec<Vec3>, FactorWork), k: usize| {
            let (load, factor) = work;
            load.fill(Vec3::zeros());
            load[k / 3][k % 3] = 1.0;
            let mut x = vec![Vec3::zeros(); 2 * n];
            self.0.solve(load, &mut x, factor);
            x
        };
        let columns: Vec<Vec<Vec3>> =
            (0..6 * n).into_par_iter().with_min_len(16).map_init(|| (vec![Vec3::zeros(); 2 * n], FactorWork::default()), column).collect();
        let entry = |r: usize, c: usize| 0.5 * (columns[c][r / 3][r % 3] + columns[r][c / 3][c % 3]);
        let block = |u: usize, v: usize| Mat3::from_fn(|r, c| entry(3 * u + r, 3 * v + c));
        let pair = |k: usize| {
            let (a, b) = (2 * (k / n), 2 * (k % n));
            [block(a, b), block(a, b + 1), block(a + 1, b), block(a + 1, b + 1)]
        };
        (0..n * n).into_par_iter().with_min_len(64).map(pair).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sparse::{dot, elastic_box};

    #[test]
    fn the_inverse_of_the_coarse_matrix_is_what_its_factor_solves() {
        let (pattern, blocks, positions) = elastic_box(9, 0.2, 1.0 / 60.0);
        let fixed: Vec<bool> = (0..positions.len()).map(|i| i < 100).collect();
        let parts = RigidParts::new(&pattern, &(0..positions.len()), &fixed, &positions, usize::MAX);
        let coarse = RigidCoarse::new(&parts, &pattern, &blocks).unwrap();
        let n = parts.n_parts();
        let load: Vec<Vec3> = (0..2 * n).map(|i| Vec3::new((i as f64).sin(), (1.3 * i as f64).cos(), 0.3)).collect();
        let mut wanted = vec![Vec3::zeros(); 2 * n];
        coarse.0.solve(&load, &mut wanted, &mut FactorWork::default());
        let inverse = coarse.inverse();
        let mut found = vec![Vec3::zeros(); 2 * n];
        for (k, [tt, tw, wt, ww]) in inverse.iter().enumerate() {
            let (a, b) = (k / n, k % n);
            found[2 * a] += tt * load[2 * b] + tw * load[2 * b + 1];
            found[2 * a + 1] += wt * load[2 * b] + ww * load[2 * b + 1];
            assert_eq!(inverse[b * n + a][1], wt.transpose());
        }
        let error = found.iter().zip(&wanted).map(|(x, y)| (x - y).norm_squared()).sum::<f64>().sqrt() / dot(&wanted, &wanted).sqrt();
        assert!(error < 1e-5, "{error:e}");
    }
}
