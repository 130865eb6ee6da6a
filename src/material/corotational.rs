//! The corotational material: linear elasticity in the frame that turns with the element. Its twin is
//! `shaders/material/corotational.wgsl`.

use pulp::Simd;

use super::{ConstitutiveModel, Deformation, Lame, Material, Tangent, ValidRange, VolumeChange, warped_differential};
use crate::math::lanes::{Lanes, Matrix, plus, plus_identity, times, trace, transpose};

/// With F = R S:  Psi = mu |S - I|^2 + lambda/2 tr(S - I)^2  (`elasticity.md` 3), where S stands for sym(R^T F) while
/// R follows F.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Corotational {
    lame: Lame,
}

/// A deformation gradient and the frame it is seen in.
#[derive(Clone, Copy, Debug)]
pub struct InFrame<S: Simd> {
    /// F
    pub deformation_gradient: Matrix<S>,
    /// R
    pub rotation: Matrix<S>,
}

impl<S: Simd> InFrame<S> {
    #[inline(always)]
    pub fn new(at: &Deformation<S>) -> Self {
        Self { deformation_gradient: plus_identity(&at.gradient), rotation: at.rotation }
    }
}

/// The range of linear laws. A bar of half its length takes .46 of the force of a neo-Hookean one (nu = .45), one of
/// twice its length 1.67 times as much (`materials-study.md` 7, uniaxial); nothing stops it from losing its volume.
pub(super) const LINEAR_RANGE: ValidRange = ValidRange {
    stretches: [0.5, 2.0],
    volumes: [0.0, f64::INFINITY],
    beyond: "Its law is linear: rubber resists twice as much there where it is pressed, and half as much where it is pulled. The model \
             `neo_hookean` or `stable_neo_hookean`, a higher `young_modulus`, or less load, helps.",
};

impl ConstitutiveModel for Corotational {
    const TANGENT: Tangent = Tangent::Warped;
    type Kinematics<S: Simd> = InFrame<S>;
    /// mu and lambda times the volume [J].
    type Moduli<S: Simd> = [Lanes<S>; 2];

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
    fn kinematics<S: Simd>(&self, at: &Deformation<S>) -> InFrame<S> {
        InFrame::new(at)
    }

    #[inline(always)]
    fn energy<S: Simd>(&self, volume: Lanes<S>, at: &InFrame<S>) -> Lanes<S> {
        let b = times(&transpose(&at.rotation), &at.deformation_gradient);
        let strain_trace = trace(&b) + -3.0;
        let mut norm2 = strain_trace * 0.0;
        for i in 0..3 {
            for j in 0..3 {
                let twice = b[i][j] + b[j][i] + if i == j { -2.0 } else { 0.0 };
                norm2 = norm2 + twice * twice * 0.25;
            }
        }
        (norm2 * self.lame.mu + strain_trace * strain_trace * (0.5 * self.lame.lambda)) * volume
    }

    /// `P = R (2 mu E + lambda tr(E) I)` with `E = sym(R^T F) - I`.
    #[inline(always)]
    fn stress<S: Simd>(&self, volume: Lanes<S>, at: &InFrame<S>) -> Matrix<S> {
        let (mu, lambda) = (volume * self.lame.mu, volume * self.lame.lambda);
        let b = times(&transpose(&at.rotation), &at.deformation_gradient);
        // 2 mu sym(R^T F), then what belongs to the diagonal.
        let mut turned_back = b;
        let diagonal = (trace(&b) + -3.0) * lambda - (mu + mu);
        for i in 0..3 {
            for j in 0..3 {
                turned_back[i][j] = (b[i][j] + b[j][i]) * mu;
            }
            turned_back[i][i] = turned_back[i][i] + diagonal;
        }
        times(&at.rotation, &turned_back)
    }

    #[inline(always)]
    fn moduli<S: Simd>(&self, volume: Lanes<S>, _: &InFrame<S>) -> [Lanes<S>; 2] {
        [volume * self.lame.mu, volume * self.lame.lambda]
    }

    #[inline(always)]
    fn differential<S: Simd>(&self, at: &InFrame<S>, &[mu, lambda]: &[Lanes<S>; 2], change: &Matrix<S>) -> Matrix<S> {
        warped_differential(mu, lambda, &at.rotation, change)
    }

    #[inline(always)]
    fn derivative<S: Simd>(&self, volume: Lanes<S>, at: &InFrame<S>, change: &Matrix<S>) -> Matrix<S> {
        self.differential(at, &self.moduli(volume, at), change)
    }

    /// The stress is linear in G while R is frozen.
    #[inline(always)]
    fn predicted_stress<S: Simd>(
        &self,
        volume: Lanes<S>,
        at: &InFrame<S>,
        _: &[Lanes<S>; 2],
        rates: &Matrix<S>,
        time: Lanes<S>,
    ) -> Matrix<S> {
        let [a, b, c] = &at.deformation_gradient;
        let predicted = [plus(a, time, &rates[0]), plus(b, time, &rates[1]), plus(c, time, &rates[2])];
        self.stress(volume, &InFrame { deformation_gradient: predicted, ..*at })
    }

    fn without_volume_energy(&self) -> Self {
        Self { lame: Lame { lambda: 0.0, ..self.lame } }
    }

    /// tr(S - I), seen in the frame.
    #[inline(always)]
    fn volume_change<S: Simd>(&self, at: &InFrame<S>) -> VolumeChange<S> {
        VolumeChange { value: trace(&times(&transpose(&at.rotation), &at.deformation_gradient)) + -3.0, gradient: at.rotation }
    }

    #[inline(always)]
    fn volume_energy<S: Simd>(&self, change: Lanes<S>) -> [Lanes<S>; 3] {
        quadratic(self.lame.lambda, change)
    }
}

/// `k/2 x^2`, its slope and its curvature.
#[inline(always)]
pub(super) fn quadratic<S: Simd>(k: f64, x: Lanes<S>) -> [Lanes<S>; 3] {
    let slope = x * k;
    [x * slope * 0.5, slope, x * 0.0 + k]
}
