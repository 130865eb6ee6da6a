//! Mooney and Rivlin's rubber. Its twin is `shaders/material/mooney_rivlin.wgsl`.

use pulp::Simd;

use super::principal::{Invariants, Principal, StretchEnergy, cofactors, logarithmic, range_of_logarithmic};
use super::{Lame, Material, ValidRange};
use crate::math::lanes::{Lanes, Matrix, Vector, dot};

pub type MooneyRivlin = Principal<MooneyRivlinEnergy>;

/// `Psi = mu_1/2 (I_1 - 3) + mu_2/2 (I_2 - 3) + U(J)` with `I_1 = sum s_i^2`, `I_2 = sum_(i<j) s_i^2 s_j^2` and
/// `U = -(mu_1 + 2 mu_2) ln J + l/2 (ln J)^2`: without stress at rest, and of small strains with `mu = mu_1 + mu_2`,
/// `lambda = l + 2 mu_2`. Below J = [`LEAST_J`] U goes on as its second-order expansion, so that inverted elements
/// come back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MooneyRivlinEnergy {
    lame: Lame,
    mu_1: f64,
    mu_2: f64,
}

pub const LEAST_J: f64 = 0.7;

impl MooneyRivlinEnergy {
    fn of(lame: Lame, mu_2: f64) -> Self {
        Self { lame, mu_1: lame.mu - mu_2, mu_2 }
    }

    /// The factors of ln J and of (ln J)^2 / 2 in U [Pa].
    #[inline(always)]
    fn numbers(&self) -> [f64; 2] {
        [-(self.mu_1 + 2.0 * self.mu_2), self.lame.lambda - 2.0 * self.mu_2]
    }

    #[inline(always)]
    fn energy_of<S: Simd>(&self, of: &Invariants<S>) -> Lanes<S> {
        let [value, ..] = self.volumetric(of.volume);
        of.squares * (0.5 * self.mu_1) + of.minors * (0.5 * self.mu_2) + value
    }

    /// U, U', U''.
    #[inline(always)]
    fn volumetric<S: Simd>(&self, j: Lanes<S>) -> [Lanes<S>; 3] {
        logarithmic(self.numbers(), LEAST_J, j)
    }
}

impl StretchEnergy for MooneyRivlinEnergy {
    fn new(material: &Material) -> Self {
        let lame = material.lame();
        Self::of(lame, material.mooney_share * lame.mu)
    }

    fn lame(&self) -> Lame {
        self.lame
    }

    /// As that of the neo-Hookean solid, by U'' = 0. The constants are good wherever scenes may have them: at rest
    /// U'' is lambda + mu_1 > 0, also where l is negative (nu below .2 with a large second modulus).
    fn valid_range(&self) -> ValidRange {
        range_of_logarithmic(self.numbers(), LEAST_J)
    }

    #[inline(always)]
    fn energy<S: Simd>(&self, s: &Vector<S>) -> Lanes<S> {
        let c = cofactors(s);
        self.energy_of(&Invariants { squares: dot(s, s) + -3.0, minors: dot(&c, &c) + -3.0, volume: s[0] * s[1] * s[2] })
    }

    #[inline(always)]
    fn energy_by_invariants<S: Simd>(&self, of: &Invariants<S>) -> Option<[Lanes<S>; 2]> {
        Some([self.energy_of(of), of.volume * 0.0])
    }

    #[inline(always)]
    fn gradient<S: Simd>(&self, s: &Vector<S>) -> Vector<S> {
        let (c, [_, slope, _], squares) = (cofactors(s), self.volumetric(s[0] * s[1] * s[2]), dot(s, s));
        let mut p = c;
        for i in 0..3 {
            p[i] = s[i] * ((squares - s[i] * s[i]) * self.mu_2 + self.mu_1) + slope * c[i];
        }
        p
    }

    #[inline(always)]
    fn hessian<S: Simd>(&self, s: &Vector<S>) -> Matrix<S> {
        let (c, [_, slope, curvature], squares) = (cofactors(s), self.volumetric(s[0] * s[1] * s[2]), dot(s, s));
        let mut h = [c; 3];
        for i in 0..3 {
            for j in 0..3 {
                h[i][j] = curvature * c[i] * c[j]
                    + if i == j { (squares - s[i] * s[i]) * self.mu_2 + self.mu_1 } else { s[i] * s[j] * (2.0 * self.mu_2) + slope * s[3 - i - j] };
            }
        }
        h
    }

    fn without_volume_energy(&self) -> Self {
        Self::of(Lame { lambda: 0.0, ..self.lame }, self.mu_2)
    }

    #[inline(always)]
    fn volume_change<S: Simd>(&self, s: &Vector<S>) -> (Lanes<S>, Vector<S>) {
        (s[0] * s[1] * s[2], cofactors(s))
    }

    #[inline(always)]
    fn volume_by_invariants<S: Simd>(&self, of: &Invariants<S>) -> Option<Lanes<S>> {
        Some(of.volume)
    }

    /// `lambda/2 (ln J)^2`.
    #[inline(always)]
    fn volume_energy<S: Simd>(&self, change: Lanes<S>) -> [Lanes<S>; 3] {
        let [value, slope, curvature] = logarithmic([0.0, self.lame.lambda], LEAST_J, change);
        [value, slope, curvature.max(0.0)]
    }
}
