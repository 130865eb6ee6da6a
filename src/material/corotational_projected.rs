//! The corotational material with its exact tangent, made positive. Its twin is
//! `shaders/material/corotational_projected.wgsl`.

use pulp::Simd;

use super::corotational::{LINEAR_RANGE, quadratic};
use super::principal::{Principal, StretchEnergy};
use super::{Lame, Material, ValidRange};
use crate::math::lanes::{Lanes, Matrix, Vector};

pub type CorotationalProjected = Principal<CorotationalEnergy>;

/// `Psi = mu |s - 1|^2 + lambda/2 (sum (s - 1))^2`: the energy of [`super::Corotational`] with the rotation nearest to
/// F, whose tangent knows that the rotation turns with F (`elasticity.md` 3.1, E).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CorotationalEnergy {
    lame: Lame,
}

impl StretchEnergy for CorotationalEnergy {
    fn new(material: &Material) -> Self {
        Self { lame: material.lame() }
    }

    fn lame(&self) -> Lame {
        self.lame
    }

    fn valid_range(&self) -> ValidRange {
        LINEAR_RANGE
    }

    #[inline(always)]
    fn energy<S: Simd>(&self, s: &Vector<S>) -> Lanes<S> {
        let e = [s[0] + -1.0, s[1] + -1.0, s[2] + -1.0];
        let sum = e[0] + e[1] + e[2];
        (e[0] * e[0] + e[1] * e[1] + e[2] * e[2]) * self.lame.mu + sum * sum * (0.5 * self.lame.lambda)
    }

    #[inline(always)]
    fn gradient<S: Simd>(&self, s: &Vector<S>) -> Vector<S> {
        let volumetric = (s[0] + s[1] + s[2] + -3.0) * self.lame.lambda;
        let twice = 2.0 * self.lame.mu;
        [(s[0] + -1.0) * twice + volumetric, (s[1] + -1.0) * twice + volumetric, (s[2] + -1.0) * twice + volumetric]
    }

    #[inline(always)]
    fn hessian<S: Simd>(&self, s: &Vector<S>) -> Matrix<S> {
        let (zero, Lame { mu, lambda }) = (s[0] * 0.0, self.lame);
        let (own, other) = (zero + (2.0 * mu + lambda), zero + lambda);
        [[own, other, other], [other, own, other], [other, other, own]]
    }

    /// Zero is enough here: what is negative turns, and nothing of it is soft (`materials-study.md` 0.1).
    #[inline(always)]
    fn filtered<S: Simd>(eigenvalue: Lanes<S>) -> Lanes<S> {
        eigenvalue.max(0.0)
    }

    fn without_volume_energy(&self) -> Self {
        Self { lame: Lame { lambda: 0.0, ..self.lame } }
    }

    /// tr(S - I).
    #[inline(always)]
    fn volume_change<S: Simd>(&self, s: &Vector<S>) -> (Lanes<S>, Vector<S>) {
        let one = s[0] * 0.0 + 1.0;
        (s[0] + s[1] + s[2] + -3.0, [one; 3])
    }

    #[inline(always)]
    fn volume_energy<S: Simd>(&self, change: Lanes<S>) -> [Lanes<S>; 3] {
        quadratic(self.lame.lambda, change)
    }
}
