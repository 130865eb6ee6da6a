//! Strain limiting: a stiff energy beyond the stretches that a material may have.

use serde::{Deserialize, Serialize};

use super::principal::{Principal, StretchEnergy};
use super::{Lame, Material, ValidRange};
use crate::math::lanes::{Lanes, Matrix, Vector};

/// What is laid over the constitutive model of a material with [`StretchLimits`].
pub type StretchLimit = Principal<Excess>;

/// Stretches beyond which a material stiffens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StretchLimits {
    /// [-], at most 1.
    pub min: Option<f64>,
    /// [-], at least 1.
    pub max: Option<f64>,
}

impl StretchLimits {
    /// None where nothing is limited.
    pub fn new(min: Option<f64>, max: Option<f64>) -> Option<Self> {
        (min.is_some() || max.is_some()).then_some(Self { min, max })
    }
}

/// Stiffness beyond the limits as a part of Young's modulus. A body that hangs on itself then exceeds them by a tenth
/// of the strain that would have carried it; more costs more iterations, since the rest pose does not know of it.
const STIFFNESS: f64 = 10.0;

/// `Psi = k/2 sum_i (s_i - q_i)^2`, q the principal stretches cut to the limits (`elasticity.md` 8, with `k = 2 mu'`).
/// The stretches are elastic: those of a plastic element are measured from the shape to which it would return.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Excess {
    min: f64,
    max: f64,
    /// k [Pa]
    stiffness: f64,
}

impl Excess {
    /// s - q
    #[inline(always)]
    fn beyond<S: pulp::Simd>(&self, s: Lanes<S>) -> Lanes<S> {
        let zero = s * 0.0;
        (s + -self.max).max(0.0) + (s + -self.min).min(zero)
    }
}

impl StretchEnergy for Excess {
    fn new(material: &Material) -> Self {
        let StretchLimits { min, max } = material.stretch_limits.unwrap_or(StretchLimits { min: None, max: None });
        Self { min: min.unwrap_or(f64::MIN), max: max.unwrap_or(f64::MAX), stiffness: STIFFNESS * material.young_modulus }
    }

    /// Of what is beyond the limits; there is nothing at small strains.
    fn lame(&self) -> Lame {
        Lame { mu: 0.5 * self.stiffness, lambda: 0.0 }
    }

    /// It takes over where others end.
    fn valid_range(&self) -> ValidRange {
        ValidRange::ALL
    }

    #[inline(always)]
    fn energy<S: pulp::Simd>(&self, s: &Vector<S>) -> Lanes<S> {
        let e = [self.beyond(s[0]), self.beyond(s[1]), self.beyond(s[2])];
        (e[0] * e[0] + e[1] * e[1] + e[2] * e[2]) * (0.5 * self.stiffness)
    }

    #[inline(always)]
    fn gradient<S: pulp::Simd>(&self, s: &Vector<S>) -> Vector<S> {
        [self.beyond(s[0]) * self.stiffness, self.beyond(s[1]) * self.stiffness, self.beyond(s[2]) * self.stiffness]
    }

    #[inline(always)]
    fn hessian<S: pulp::Simd>(&self, s: &Vector<S>) -> Matrix<S> {
        let zero = s[0] * 0.0;
        let mut hessian = [[zero; 3]; 3];
        for k in 0..3 {
            hessian[k][k] = self.beyond(s[k]).abs().choose(zero + self.stiffness, zero);
        }
        hessian
    }

    /// It has none.
    fn without_volume_energy(&self) -> Self {
        *self
    }

    #[inline(always)]
    fn volume_change<S: pulp::Simd>(&self, s: &Vector<S>) -> (Lanes<S>, Vector<S>) {
        let one = s[0] * 0.0 + 1.0;
        (s[0] + s[1] + s[2] + -3.0, [one, one, one])
    }

    #[inline(always)]
    fn volume_energy<S: pulp::Simd>(&self, change: Lanes<S>) -> [Lanes<S>; 3] {
        [change * 0.0; 3]
    }

    /// Nothing is negative but what turns.
    #[inline(always)]
    fn filtered<S: pulp::Simd>(eigenvalue: Lanes<S>) -> Lanes<S> {
        eigenvalue.max(0.0)
    }
}
