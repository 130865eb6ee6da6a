//! The corotational material: linear elasticity in the frame that turns with the element. Its twin is
//! `shaders/material/corotational.wgsl`.

use pulp::Simd;

use super::{ConstitutiveModel, Deformation, Lame, Material, Tangent, warped_differential};
use crate::math::lanes::{Lanes, Matrix, plus, plus_identity, times, trace, transpose};

/// With F = R S:  Psi = mu |S - I|^2 + lambda/2 tr(S - I)^2  (`elasticity.md` 3), where S stands for sym(R^T F) while
/// R follows F.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Corotational {
    lame: Lame,
}

impl ConstitutiveModel for Corotational {
    const TANGENT: Tangent = Tangent::Warped;
    const IS_TANGENT_EXACT: bool = true;

    fn new(material: &Material) -> Self {
        Self { lame: material.lame() }
    }

    fn lame(&self) -> Lame {
        self.lame
    }

    #[inline(always)]
    fn energy<S: Simd>(&self, volume: Lanes<S>, at: &Deformation<S>) -> Lanes<S> {
        let b = times(&transpose(&at.rotation), &plus_identity(&at.gradient));
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

    #[inline(always)]
    fn stress<S: Simd>(&self, volume: Lanes<S>, at: &Deformation<S>) -> Matrix<S> {
        self.stress_in_frame(volume, &at.rotation, &plus_identity(&at.gradient))
    }

    #[inline(always)]
    fn differential<S: Simd>(&self, volume: Lanes<S>, at: &Deformation<S>, change: &Matrix<S>) -> Matrix<S> {
        warped_differential(volume * self.lame.mu, volume * self.lame.lambda, &at.rotation, change)
    }

    /// The stress is linear in G while R is frozen.
    #[inline(always)]
    fn predicted_stress<S: Simd>(&self, volume: Lanes<S>, at: &Deformation<S>, rates: &Matrix<S>, time: Lanes<S>) -> Matrix<S> {
        let [a, b, c] = plus_identity(&at.gradient);
        let predicted = [plus(&a, time, &rates[0]), plus(&b, time, &rates[1]), plus(&c, time, &rates[2])];
        self.stress_in_frame(volume, &at.rotation, &predicted)
    }
}

impl Corotational {
    /// `P = R (2 mu E + lambda tr(E) I)` with `E = sym(R^T F) - I`.
    #[inline(always)]
    fn stress_in_frame<S: Simd>(&self, volume: Lanes<S>, r: &Matrix<S>, f: &Matrix<S>) -> Matrix<S> {
        let (mu, lambda) = (volume * self.lame.mu, volume * self.lame.lambda);
        let b = times(&transpose(r), f);
        // 2 mu sym(R^T F), then what belongs to the diagonal.
        let mut turned_back = b;
        let diagonal = (trace(&b) + -3.0) * lambda - (mu + mu);
        for i in 0..3 {
            for j in 0..3 {
                turned_back[i][j] = (b[i][j] + b[j][i]) * mu;
            }
            turned_back[i][i] = turned_back[i][i] + diagonal;
        }
        times(r, &turned_back)
    }
}
