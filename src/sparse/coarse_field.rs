//! The coarse correction of a residual in f64: by fields on the points of a lattice, see [`Layout`].

use std::ops::Range;

use rayon::prelude::*;

use super::coarse::Coarse;
use super::sell::HEIGHT;
use super::two_level::{Layout, weights};
use super::{CHUNK, Columns, FactorWork, RestFactor};
use crate::math::{Mat3, Vec3};

/// Cells that one thread takes, at least.
const CELLS: usize = 16;

/// The fields of a body, turned with it.
#[derive(Clone, Copy, Debug)]
pub struct CoarseField<'a> {
    pub layout: &'a Layout,
    pub coarse: &'a Coarse,
    /// R_p.
    pub rotations: &'a [Mat3],
}

/// Memory of corrections.
#[derive(Clone, Debug, Default)]
pub struct CoarseWork {
    /// Residual at the corners of each cell.
    moments: Vec<[Vec3; 8]>,
    residual: Vec<Vec3>,
    correction: Vec<Vec3>,
    factor: FactorWork,
}

impl CoarseField<'_> {
    /// `z += P (P^T A P)^-1 P^T r` over the nodes of the body, with the coarse matrix of the rest pose.
    pub fn add_correction(&self, r: &[Vec3], z: &mut [Vec3], work: &mut CoarseWork) {
        let Self { layout, coarse, rotations } = *self;
        let CoarseWork { moments, residual, correction, factor } = work;
        let moments_of = |slices: &Range<usize>| {
            let mut moments = [Vec3::zeros(); 8];
            for place in HEIGHT * slices.start..HEIGHT * slices.end {
                if let Some(r) = r.get(layout.nodes[place] as usize) {
                    moments.iter_mut().zip(weights(&layout.fractions[place])).for_each(|(moment, weight)| *moment += r * weight);
                }
            }
            moments
        };
        layout.cells.par_iter().with_min_len(CELLS).map(moments_of).collect_into_vec(moments);
        let at_point = |(slots, rotation): (&Vec<u32>, &Mat3)| {
            rotation.tr_mul(&slots.iter().map(|slot| moments.as_flattened()[*slot as usize]).sum::<Vec3>())
        };
        residual.clear();
        residual.extend(layout.at_points.iter().zip(rotations).map(at_point));
        correction.resize(residual.len(), Vec3::zeros());
        coarse.solve(residual, correction, factor);
        correction.iter_mut().zip(rotations).for_each(|(correction, rotation)| *correction = *rotation * *correction);
        let correction = &correction[..];
        z.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, z)| {
            for (z, place) in z.iter_mut().zip(&layout.places[CHUNK * chunk..]) {
                if let Some(fraction) = layout.fractions.get(*place as usize) {
                    let corners = &layout.corners[layout.owners[*place as usize / HEIGHT] as usize];
                    corners.iter().zip(weights(fraction)).for_each(|(point, weight)| *z += correction[*point as usize] * weight);
                }
            }
        });
    }

    /// The points that move a node of the body, counted from its first, with their weights; none of a fixed node.
    pub fn points(&self, node: usize) -> impl Iterator<Item = (u32, f64)> {
        let Layout { places, fractions, owners, corners, .. } = self.layout;
        let place = places[node] as usize;
        let found = fractions.get(place).map(|fraction| (corners[owners[place / HEIGHT] as usize], weights(fraction)));
        found.into_iter().flat_map(|(corners, weights)| corners.into_iter().zip(weights))
    }

    /// The factor of the coarse matrix.
    pub fn factor(&self) -> &RestFactor {
        &self.coarse.factor
    }

    /// What the points do to each other in the rest pose.
    pub fn columns(&self) -> &Columns {
        self.coarse.columns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Quat;
    use crate::sparse::{dot, elastic_box, multiply};

    /// A box, some of whose nodes are fixed, turned as a whole.
    #[test]
    fn what_the_fields_can_do_is_corrected() {
        let (pattern, blocks, positions) = elastic_box(9, 0.2, 0.01);
        let n = positions.len();
        let fixed: Vec<bool> = (0..n).map(|i| i < 40).collect();
        let layout = Layout::new(&pattern, &(0..n), &fixed, &positions);
        let coarse = Coarse::new(&layout, &pattern, &blocks).unwrap();
        let turn = *Quat::from_scaled_axis(Vec3::new(1.0, -0.5, 2.0)).to_rotation_matrix().matrix();
        let turned: Vec<Mat3> = blocks.iter().map(|block| turn * block * turn.transpose()).collect();
        let rotations = vec![turn; layout.n_points()];
        let field = CoarseField { layout: &layout, coarse: &coarse, rotations: &rotations };
        let of_point = |point: u32| Vec3::new(f64::from(point).sin(), (0.3 * f64::from(point)).cos(), 0.2);
        let x: Vec<Vec3> = (0..n).map(|i| field.points(i).map(|(point, weight)| of_point(point) * weight).sum()).collect();
        assert!((0..n).all(|i| fixed[i] == (x[i] == Vec3::zeros())), "what is fixed has no points");

        let corrected = |r: &[Vec3]| {
            let mut z = vec![Vec3::zeros(); n];
            field.add_correction(r, &mut z, &mut CoarseWork::default());
            z
        };
        let mut r = vec![Vec3::zeros(); n];
        multiply(&pattern, &turned, &(0..n), &x, &mut r);
        let z = corrected(&r);
        let off = x.iter().zip(&z).map(|(x, z)| (x - z).norm()).fold(0.0, f64::max);
        assert!(off < 2e-3, "{off}");

        // It is symmetric, as a preconditioner must be.
        let other: Vec<Vec3> = (0..n).map(|i| Vec3::new((i as f64).cos(), 0.1, (0.7 * i as f64).sin())).collect();
        let [a, b] = [dot(&other, &z), dot(&r, &corrected(&other))];
        assert!((a - b).abs() < 1e-5 * a.abs().max(b.abs()), "{a} {b}");
    }
}
