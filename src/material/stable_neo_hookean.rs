//! The stable neo-Hookean material: smooth at every deformation, without singular values. Its twin is
//! `shaders/material/stable_neo_hookean.wgsl`.

use pulp::Simd;

use super::corotational::quadratic;
use super::{ConstitutiveModel, Deformation, Lame, Material, Tangent, ValidRange, VolumeChange};
use crate::math::lanes::{Lanes, Matrix, cofactors, contract, cross, dot, plus, plus_identity, times, transpose};

/// `Psi = mu/2 (|F|^2 - 3) + l/2 (J - a)^2 - l/2 (1 - a)^2` with `l = lambda + mu`, `a = 1 + mu/l` [Smith, de Goes and
/// Kim 2018, without the logarithm; the moduli of `materials-study.md`, which are those of small strains].
///
/// The matrix takes `mu (dF + R dF^T R) + lambda (C : dF) C` with C = cof F (`materials-study.md` 0.4): exact at rest,
/// positive everywhere, blind to rotation where nothing is strained, and no hard start has failed with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StableNeoHookean {
    lame: Lame,
    /// l [Pa] and a [-].
    volumetric: f64,
    rest: f64,
}

/// F, R, cof F and J.
#[derive(Clone, Copy, Debug)]
pub struct WithCofactors<S: Simd> {
    deformation_gradient: Matrix<S>,
    rotation: Matrix<S>,
    cofactors: Matrix<S>,
    determinant: Lanes<S>,
}

/// Halvings of the interval in which [`StableNeoHookean::valid_range`] looks for its bound.
const RANGE_BISECTIONS: usize = 54;

impl StableNeoHookean {
    fn of(lame: Lame) -> Self {
        let volumetric = lame.lambda + lame.mu;
        Self { lame, volumetric, rest: 1.0 + lame.mu / volumetric }
    }
}

impl ConstitutiveModel for StableNeoHookean {
    const TANGENT: Tangent = Tangent::Mixed;
    const IS_FRAMED: bool = false;
    type Kinematics<S: Simd> = WithCofactors<S>;
    /// mu and lambda times the volume [J].
    type Moduli<S: Simd> = [Lanes<S>; 2];

    fn new(material: &Material) -> Self {
        Self::of(material.lame())
    }

    fn lame(&self) -> Lame {
        self.lame
    }

    /// Up to its greatest nominal stress in compression on all sides, `p(s) = mu s + l (s^3 - a) s^2`: beyond, it gives
    /// way towards its other minimum, a point (`materials-study.md` 1). With l a = l + mu the stress is least where
    /// `mu + 5 l s^4 - 2 (l + mu) s = 0`, which falls and then rises below s = 1.
    fn valid_range(&self) -> ValidRange {
        let (mu, l) = (self.lame.mu, self.volumetric);
        let slope = |s: f64| mu + 5.0 * l * s.powi(4) - 2.0 * (l + mu) * s;
        let (mut low, mut high) = (((l + mu) / (10.0 * l)).cbrt(), 1.0);
        for _ in 0..RANGE_BISECTIONS {
            let middle = 0.5 * (low + high);
            *if slope(middle) > 0.0 { &mut high } else { &mut low } = middle;
        }
        ValidRange {
            stretches: [0.0, f64::INFINITY],
            volumes: [high.powi(3), f64::INFINITY],
            beyond: "Pressed to less, it gives way towards a point. A higher `poisson_ratio` or `young_modulus`, the model `neo_hookean`, or \
                     less load, helps.",
        }
    }

    #[inline(always)]
    fn kinematics<S: Simd>(&self, at: &Deformation<S>) -> WithCofactors<S> {
        let f = plus_identity(&at.gradient);
        let cofactors = cofactors(&f);
        WithCofactors { deformation_gradient: f, rotation: at.rotation, cofactors, determinant: dot(&f[0], &cofactors[0]) }
    }

    #[inline(always)]
    fn energy<S: Simd>(&self, volume: Lanes<S>, at: &WithCofactors<S>) -> Lanes<S> {
        let f = &at.deformation_gradient;
        // l/2 ((J - a)^2 - (1 - a)^2), so that nothing large is taken from something large.
        let dilatation = at.determinant + -1.0;
        let volumetric = dilatation * (dilatation + 2.0 * (1.0 - self.rest)) * (0.5 * self.volumetric);
        ((contract(f, f) + -3.0) * (0.5 * self.lame.mu) + volumetric) * volume
    }

    /// `P = mu F + l (J - a) cof F`.
    #[inline(always)]
    fn stress<S: Simd>(&self, volume: Lanes<S>, at: &WithCofactors<S>) -> Matrix<S> {
        let pressure = (at.determinant + -self.rest) * volume * self.volumetric;
        combined(&at.deformation_gradient, volume * self.lame.mu, &at.cofactors, pressure)
    }

    #[inline(always)]
    fn moduli<S: Simd>(&self, volume: Lanes<S>, _: &WithCofactors<S>) -> [Lanes<S>; 2] {
        [volume * self.lame.mu, volume * self.lame.lambda]
    }

    #[inline(always)]
    fn differential<S: Simd>(&self, at: &WithCofactors<S>, &[mu, lambda]: &[Lanes<S>; 2], change: &Matrix<S>) -> Matrix<S> {
        let r = &at.rotation;
        let turned = times(&times(r, &transpose(change)), r);
        let dilatation = contract(&at.cofactors, change) * lambda;
        let one = mu * 0.0 + 1.0;
        combined(&combined(change, mu, &turned, mu), one, &at.cofactors, dilatation)
    }

    /// `mu dF + l (C : dF) C + l (J - a) dC`.
    #[inline(always)]
    fn derivative<S: Simd>(&self, volume: Lanes<S>, at: &WithCofactors<S>, change: &Matrix<S>) -> Matrix<S> {
        let ([a, b, c], [da, db, dc]) = (&at.deformation_gradient, change);
        let one = volume * 0.0 + 1.0;
        let changes = [
            plus(&cross(db, c), one, &cross(b, dc)),
            plus(&cross(dc, a), one, &cross(c, da)),
            plus(&cross(da, b), one, &cross(a, db)),
        ];
        let l = volume * self.volumetric;
        let found = combined(change, volume * self.lame.mu, &at.cofactors, contract(&at.cofactors, change) * l);
        combined(&found, one, &changes, (at.determinant + -self.rest) * l)
    }

    /// `mu/2 (|F|^2 - 3) - mu (J - 1) + mu/2 (J - 1)^2`; the volume has lambda/2 (J - 1)^2.
    fn without_volume_energy(&self) -> Self {
        Self::of(Lame { lambda: 0.0, ..self.lame })
    }

    #[inline(always)]
    fn volume_change<S: Simd>(&self, at: &WithCofactors<S>) -> VolumeChange<S> {
        VolumeChange { value: at.determinant, gradient: at.cofactors }
    }

    #[inline(always)]
    fn volume_energy<S: Simd>(&self, change: Lanes<S>) -> [Lanes<S>; 3] {
        quadratic(self.lame.lambda, change + -1.0)
    }
}

/// `alpha A + beta B`.
#[inline(always)]
fn combined<S: Simd>(a: &Matrix<S>, alpha: Lanes<S>, b: &Matrix<S>, beta: Lanes<S>) -> Matrix<S> {
    let mut found = *a;
    for r in 0..3 {
        for c in 0..3 {
            found[r][c] = beta.mul_add(b[r][c], a[r][c] * alpha);
        }
    }
    found
}
