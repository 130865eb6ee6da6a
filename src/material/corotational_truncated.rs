//! The corotational material with a tangent that takes the rotation for fixed. Its twin is
//! `shaders/material/corotational_truncated.wgsl`.

use pulp::Simd;

use super::corotational::{Corotational, InFrame};
use super::{ConstitutiveModel, Deformation, Lame, Material, Tangent, ValidRange, VolumeChange};
use crate::math::lanes::{Lanes, Matrix, contract, plus, scaled};

/// [`Corotational`], but for the matrix: `2 mu dF + lambda tr(R^T dF) R` (`elasticity.md` 3.1, T), the matrix of
/// projective dynamics. It resists rotation: for comparisons.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CorotationalTruncated(Corotational);

impl ConstitutiveModel for CorotationalTruncated {
    const TANGENT: Tangent = Tangent::General;
    const LETS_TURN: bool = false;
    type Kinematics<S: Simd> = InFrame<S>;
    /// mu and lambda times the volume [J].
    type Moduli<S: Simd> = [Lanes<S>; 2];

    fn new(material: &Material) -> Self {
        Self(Corotational::new(material))
    }

    fn lame(&self) -> Lame {
        self.0.lame()
    }

    fn valid_range(&self) -> ValidRange {
        self.0.valid_range()
    }

    #[inline(always)]
    fn kinematics<S: Simd>(&self, at: &Deformation<S>) -> InFrame<S> {
        self.0.kinematics(at)
    }

    #[inline(always)]
    fn energy<S: Simd>(&self, volume: Lanes<S>, at: &InFrame<S>) -> Lanes<S> {
        self.0.energy(volume, at)
    }

    #[inline(always)]
    fn stress<S: Simd>(&self, volume: Lanes<S>, at: &InFrame<S>) -> Matrix<S> {
        self.0.stress(volume, at)
    }

    #[inline(always)]
    fn moduli<S: Simd>(&self, volume: Lanes<S>, at: &InFrame<S>) -> [Lanes<S>; 2] {
        self.0.moduli(volume, at)
    }

    #[inline(always)]
    fn differential<S: Simd>(&self, at: &InFrame<S>, &[mu, lambda]: &[Lanes<S>; 2], change: &Matrix<S>) -> Matrix<S> {
        let (twice, r) = (mu + mu, &at.rotation);
        let along = contract(r, change) * lambda;
        let mut found = *change;
        for k in 0..3 {
            found[k] = plus(&scaled(&change[k], twice), along, &r[k]);
        }
        found
    }

    #[inline(always)]
    fn rate_differential<S: Simd>(&self, at: &InFrame<S>, moduli: &[Lanes<S>; 2], rates: &Matrix<S>) -> Matrix<S> {
        self.0.differential(at, moduli, rates)
    }

    #[inline(always)]
    fn derivative<S: Simd>(&self, volume: Lanes<S>, at: &InFrame<S>, change: &Matrix<S>) -> Matrix<S> {
        self.0.derivative(volume, at, change)
    }

    fn without_volume_energy(&self) -> Self {
        Self(self.0.without_volume_energy())
    }

    #[inline(always)]
    fn volume_change<S: Simd>(&self, at: &InFrame<S>) -> VolumeChange<S> {
        self.0.volume_change(at)
    }

    #[inline(always)]
    fn volume_energy<S: Simd>(&self, change: Lanes<S>) -> [Lanes<S>; 3] {
        self.0.volume_energy(change)
    }
}
