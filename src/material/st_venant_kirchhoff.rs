//! St. Venant and Kirchhoff's material, a reference: it gives way under compression. Its twin is
//! `shaders/material/st_venant_kirchhoff.wgsl`.

use pulp::Simd;

use super::corotational::quadratic;
use super::principal::{Invariants, Principal, StretchEnergy};
use super::{Lame, Material, ValidRange};
use crate::math::lanes::{Lanes, Matrix, Vector, dot};

pub type StVenantKirchhoff = Principal<StVenantKirchhoffEnergy>;

/// `Psi = mu |E|^2 + lambda/2 tr(E)^2` with Green's strain, `E_i = (s_i^2 - 1) / 2`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StVenantKirchhoffEnergy {
    lame: Lame,
}

impl StVenantKirchhoffEnergy {
    /// `2 mu E_i + lambda tr(E)`, and E.
    #[inline(always)]
    fn second_piola<S: Simd>(&self, s: &Vector<S>) -> [Vector<S>; 2] {
        let strain = [(s[0] * s[0] + -1.0) * 0.5, (s[1] * s[1] + -1.0) * 0.5, (s[2] * s[2] + -1.0) * 0.5];
        let volumetric = (strain[0] + strain[1] + strain[2]) * self.lame.lambda;
        let twice = 2.0 * self.lame.mu;
        [[strain[0] * twice + volumetric, strain[1] * twice + volumetric, strain[2] * twice + volumetric], strain]
    }
}

impl StretchEnergy for StVenantKirchhoffEnergy {
    fn new(material: &Material) -> Self {
        Self { lame: material.lame() }
    }

    fn lame(&self) -> Lame {
        self.lame
    }

    /// Up to its greatest nominal stress in compression. That is `k (s^3 - s) / 2` of a stretch s with k = E where the
    /// sides are free, lambda + 2 mu between walls, 3 lambda + 2 mu on all sides: least at `s = 1/sqrt(3)`.
    fn valid_range(&self) -> ValidRange {
        ValidRange {
            stretches: [1.0 / f64::sqrt(3.0), f64::INFINITY],
            volumes: [0.0, f64::INFINITY],
            beyond: "Shorter, it gives way the more it is pressed. The model `neo_hookean`, a higher `young_modulus`, or less load, helps.",
        }
    }

    #[inline(always)]
    fn energy<S: Simd>(&self, s: &Vector<S>) -> Lanes<S> {
        let [stress, strain] = self.second_piola(s);
        (stress[0] * strain[0] + stress[1] * strain[1] + stress[2] * strain[2]) * 0.5
    }

    /// `tr E = (I_1 - 3) / 2`, and `4 |E|^2 = |C|^2 - 2 tr C + 3` with `|C|^2 = I_1^2 - 2 I_2`.
    #[inline(always)]
    fn energy_by_invariants<S: Simd>(&self, of: &Invariants<S>) -> Option<[Lanes<S>; 2]> {
        let (squares, minors) = (of.squares, of.minors);
        let of_strain = squares * (squares + 4.0) - minors * 2.0;
        Some([of_strain * (0.25 * self.lame.mu) + squares * squares * (0.125 * self.lame.lambda), squares * 0.0])
    }

    #[inline(always)]
    fn gradient<S: Simd>(&self, s: &Vector<S>) -> Vector<S> {
        let [stress, _] = self.second_piola(s);
        [stress[0] * s[0], stress[1] * s[1], stress[2] * s[2]]
    }

    #[inline(always)]
    fn hessian<S: Simd>(&self, s: &Vector<S>) -> Matrix<S> {
        let [stress, _] = self.second_piola(s);
        let mut h = [*s; 3];
        for i in 0..3 {
            for j in 0..3 {
                h[i][j] = s[i] * s[j] * self.lame.lambda;
            }
            h[i][i] = h[i][i] + stress[i] + s[i] * s[i] * (2.0 * self.lame.mu);
        }
        h
    }

    fn without_volume_energy(&self) -> Self {
        Self { lame: Lame { lambda: 0.0, ..self.lame } }
    }

    /// tr(E).
    #[inline(always)]
    fn volume_change<S: Simd>(&self, s: &Vector<S>) -> (Lanes<S>, Vector<S>) {
        ((dot(s, s) + -3.0) * 0.5, *s)
    }

    #[inline(always)]
    fn volume_by_invariants<S: Simd>(&self, of: &Invariants<S>) -> Option<Lanes<S>> {
        Some(of.squares * 0.5)
    }

    #[inline(always)]
    fn volume_energy<S: Simd>(&self, change: Lanes<S>) -> [Lanes<S>; 3] {
        quadratic(self.lame.lambda, change)
    }
}
