//! Plastic flow: an element remembers to which shape it would return.

use pulp::Scalar;
use serde::{Deserialize, Serialize};

use super::{Constitutive, Deformation};
use crate::math::lanes::{Matrix, Row, from_matrix, plus, plus_identity, to_matrix};
use crate::math::singular::Singular;
use crate::math::{Mat3, Vec3};

/// Flow of any constitutive model by its elements' rest shapes. The gradient splits into F = F_e U_p, U_p symmetric
/// with determinant 1, and the model sees F_e = F U_p^-1: with Psi(F) = Psi_e(F_e) the stress is P = P_e U_p^-1 and the
/// tangent dP = dP_e[dF U_p^-1] U_p^-1. All of that is what the model does with the shape gradients U_p^-1 grad N_c in
/// place of grad N_c, so that forces, tangents and their storages are those of the model. (A rotation in F_p would
/// change nothing: the models are isotropic.)
///
/// The rule is `materials-study.md` 5, the overstress form with exponential creep, in logarithmic strains of F_e = R U:
///
/// ```text
/// d = dev(ln U);  if |d| > yield:  F_p <- exp(a d) F_p,  a = (1 - exp(-creep dt)) (1 - yield/|d|)
/// eps_p = ln U_p;  if |eps_p| > max:  eps_p *= max/|eps_p|
/// ```
///
/// with Frobenius norms. It differs from the study's eps_p, which is taken from S - I of the corotational model, in
/// second order of the strains: U then changes by exp(-a d) exactly, an overstress decays to the yield surface and
/// never below, and det U_p = 1 as tr d = 0. Where that would raise the elastic energy the element keeps its shape:
/// at the maximum when it is strained in another direction, and where a model stiffens under less shear (corotational,
/// crushed: to half of its volume at nu = .3, by a fifth of it at .45). An element without volume or turned inside out
/// does not flow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plasticity {
    /// |dev ln U| up to which nothing flows [-], > 0.
    pub yield_strain: f64,
    /// Rate at which what exceeds it turns into flow [1/s], >= 0.
    pub creep: f64,
    /// Bound on |ln U_p| [-], > 0.
    pub max_strain: f64,
}

/// Part by which roundings may lengthen a strain on its way through the rows that keep it.
const ROUNDING: f64 = 1e-13;

/// Rows of four numbers that a plastic element remembers: U_p^-1 - I by its diagonal and by its entries (1, 2), (0, 2),
/// (0, 1). All zero where nothing has flowed.
pub const PLASTIC_ROWS: usize = 2;

/// U_p^-1 - I from the rows of an element.
#[inline(always)]
pub fn plastic_change<S: pulp::Simd>(rows: &[Row<S>; PLASTIC_ROWS]) -> Matrix<S> {
    let [[xx, yy, zz, _], [yz, xz, xy, _]] = *rows;
    [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
}

/// F_e - I from F - I and [`plastic_change`]; the very same where nothing has flowed.
#[inline(always)]
pub fn elastic_gradient<S: pulp::Simd>(gradient: &Matrix<S>, change: &Matrix<S>) -> Matrix<S> {
    let f = plus_identity(gradient);
    let mut elastic = *gradient;
    for (row, f) in elastic.iter_mut().zip(&f) {
        for (k, change) in change.iter().enumerate() {
            *row = plus(row, f[k], change);
        }
    }
    elastic
}

/// What an element of a plastic material remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PlasticRows(pub [[f64; 4]; PLASTIC_ROWS]);

impl PlasticRows {
    /// U_p^-1 - I
    pub fn change(&self) -> Mat3 {
        let [[xx, yy, zz, _], [yz, xz, xy, _]] = self.0;
        Mat3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz)
    }

    fn of_change(c: &Mat3) -> Self {
        Self([[c[(0, 0)], c[(1, 1)], c[(2, 2)], 0.0], [c[(1, 2)], c[(0, 2)], c[(0, 1)], 0.0]])
    }

    /// F_e - I from F - I.
    pub fn elastic_gradient(&self, gradient: &Mat3) -> Mat3 {
        to_matrix(&elastic_gradient::<Scalar>(&from_matrix(gradient), &from_matrix(&self.change())))
    }

    /// eps_p = ln U_p
    pub fn strain(&self) -> Mat3 {
        let eigen = (Mat3::identity() + self.change()).symmetric_eigen();
        eigen.eigenvectors * Mat3::from_diagonal(&eigen.eigenvalues.map(|inverse| -inverse.ln())) * eigen.eigenvectors.transpose()
    }
}

impl Plasticity {
    /// What an element remembers after a time [s] at the gradient G = F - I; its model has no state of its own.
    pub fn advance(&self, material: &Constitutive, gradient: &Mat3, time: f64, rows: PlasticRows) -> PlasticRows {
        let Some(flowed) = self.flow(gradient, time, rows) else { return rows };
        // The energy of a tet that is not finite is no less than any other.
        let energy = |rows: PlasticRows| {
            let gradient = from_matrix(&rows.elastic_gradient(gradient));
            let Singular { left, right, .. } = Singular::of(&plus_identity(&gradient));
            let rotation = from_matrix(&(to_matrix(&left).transpose() * to_matrix(&right)));
            material.energy(&Deformation { gradient, rotation, state: &[] })
        };
        if energy(flowed) <= energy(rows) { flowed } else { rows }
    }

    /// None where nothing flows.
    fn flow(&self, gradient: &Mat3, time: f64, rows: PlasticRows) -> Option<PlasticRows> {
        let elastic = rows.elastic_gradient(gradient);
        // |ln U| <= c / (2 (1 - c)) with c = |U^2 - I|: most elements need no more.
        let c = (elastic + elastic.transpose() + elastic.transpose() * elastic).norm();
        if c < 1.0 && c <= 2.0 * (1.0 - c) * self.yield_strain {
            return None;
        }
        let Singular { values, right, .. } = Singular::<Scalar>::of(&plus_identity(&from_matrix(&elastic)));
        let stretches = Vec3::from(values.map(f64::from));
        if stretches[2].is_nan() || stretches[2] <= 0.0 {
            return None;
        }
        let strains = stretches.map(f64::ln);
        let deviator = strains.add_scalar(-strains.mean());
        let norm = deviator.norm();
        if norm <= self.yield_strain {
            return None;
        }
        let share = -(-self.creep * time).exp_m1() * (1.0 - self.yield_strain / norm);
        // U_p^-2 = F_p^-1 F_p^-T with F_p^-1 = U_p^-1 exp(-share d).
        let axes = (Mat3::identity() + rows.change()) * to_matrix(&right).transpose();
        let inverse2 = axes * Mat3::from_diagonal(&deviator.map(|d| (-2.0 * share * d).exp())) * axes.transpose();
        let eigen = inverse2.symmetric_eigen();
        let strains = eigen.eigenvalues.map(|inverse2| -0.5 * inverse2.ln());
        // What is left of the trace are roundings.
        let mut strains = strains.add_scalar(-strains.mean());
        let norm = strains.norm();
        if norm > self.max_strain {
            strains *= self.max_strain * (1.0 - ROUNDING) / norm;
        }
        let change = eigen.eigenvectors * Mat3::from_diagonal(&strains.map(|strain| (-strain).exp_m1())) * eigen.eigenvectors.transpose();
        Some(PlasticRows::of_change(&change))
    }
}

#[cfg(test)]
mod tests;
