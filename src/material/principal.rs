//! Isotropic materials by their principal stretches: a model is its energy's two derivatives by three numbers, all else
//! is shared.

use pulp::Simd;

use super::{ConstitutiveModel, Deformation, Lame, Material, Tangent, ValidRange, VolumeChange};
use crate::math::lanes::{
    Lanes, Matrix, Vector, choose, cofactors as cofactors_of, contract, dot, plus_identity, scaled, times, times_vector, trace, transpose,
};
use crate::math::singular::{Singular, of_eigenvalues};

/// Energy density of an isotropic solid as a function of its principal stretches s, the signed singular values of F
/// ([`Singular`]); symmetric in them.
pub trait StretchEnergy: Copy + Send + Sync + 'static {
    fn new(material: &Material) -> Self;

    /// The moduli of small strains.
    fn lame(&self) -> Lame;

    /// See [`ConstitutiveModel::valid_range`].
    fn valid_range(&self) -> ValidRange;

    /// Psi(s) [J/m^3], zero at rest.
    fn energy<S: Simd>(&self, s: &Vector<S>) -> Lanes<S>;

    /// Psi [J/m^3] by the invariants of F, and a number that is positive where only the stretches tell; of a model that
    /// asks the stretches nearly everywhere, none.
    #[inline(always)]
    fn energy_by_invariants<S: Simd>(&self, _: &Invariants<S>) -> Option<[Lanes<S>; 2]> {
        None
    }

    /// p = dPsi/ds [Pa], the principal stresses.
    fn gradient<S: Simd>(&self, s: &Vector<S>) -> Vector<S>;

    /// d2Psi/ds2 [Pa].
    fn hessian<S: Simd>(&self, s: &Vector<S>) -> Matrix<S>;

    /// See [`ConstitutiveModel::without_volume_energy`].
    fn without_volume_energy(&self) -> Self;

    /// The volume change theta and its derivative by the stretches.
    fn volume_change<S: Simd>(&self, s: &Vector<S>) -> (Lanes<S>, Vector<S>);

    /// The volume change by the invariants of F, where it is a function of them.
    #[inline(always)]
    fn volume_by_invariants<S: Simd>(&self, _: &Invariants<S>) -> Option<Lanes<S>> {
        None
    }

    /// See [`ConstitutiveModel::volume_energy`].
    fn volume_energy<S: Simd>(&self, change: Lanes<S>) -> [Lanes<S>; 3];

    /// What the matrix of a step takes of an eigenvalue of the tangent. The absolute value needs no parameter and no
    /// hard start ended without numbers; cut off at zero, directions of volume are soft where J is small and a step
    /// overshoots it by orders (`materials-study.md` 0.1 and 1).
    #[inline(always)]
    fn filtered<S: Simd>(eigenvalue: Lanes<S>) -> Lanes<S> {
        eigenvalue.abs()
    }
}

/// The invariants of F = I + G, as differences from those at rest, so that small strains are not lost in what is large.
#[derive(Clone, Copy, Debug)]
pub struct Invariants<S: Simd> {
    /// |F|^2 - 3, the sum of the squares of the stretches.
    pub squares: Lanes<S>,
    /// |cof F|^2 - 3, that of the squares of products of two stretches.
    pub minors: Lanes<S>,
    /// J, the product of the stretches.
    pub volume: Lanes<S>,
}

impl<S: Simd> Invariants<S> {
    #[inline(always)]
    fn of(gradient: &Matrix<S>) -> Self {
        let (cofactors, dilatation) = (cofactors_of(gradient), trace(gradient));
        // cof F - I = tr(G) I - G^T + cof G
        let mut change = cofactors;
        for r in 0..3 {
            for c in 0..3 {
                change[r][c] = change[r][c] - gradient[c][r];
            }
            change[r][r] = change[r][r] + dilatation;
        }
        Self {
            squares: dilatation * 2.0 + contract(gradient, gradient),
            minors: trace(&change) * 2.0 + contract(&change, &change),
            volume: dilatation + trace(&cofactors) + dot(&gradient[0], &cofactors[0]) + 1.0,
        }
    }
}

/// A material by its [`StretchEnergy`]: with F = U diag(s) V^T,  P = U diag(p) V^T (`elasticity.md` 6).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Principal<E>(E);

/// The tangent in the frame of the singular vectors. With `M = U^T dF V` (`elasticity.md` 6.1) `U^T dP V` has the
/// diagonal `H diag(M)`, and beside it `even` times the symmetric part of M and `odd` times its skew part.
#[derive(Clone, Copy, Debug)]
pub struct PrincipalModuli<S: Simd> {
    /// p
    stress: Vector<S>,
    /// H
    along: Matrix<S>,
    /// (p_i - p_j) / (s_i - s_j) of the pairs [`PAIRS`].
    even: Vector<S>,
    /// (p_i + p_j) / (s_i + s_j): what a rotation of the strained element meets.
    odd: Vector<S>,
}

/// Pairs of axes.
const PAIRS: [[usize; 2]; 3] = [[0, 1], [0, 2], [1, 2]];
/// Stretches that are nearer to each other are taken for equal in the differences of stresses.
const EQUAL: f64 = 1e-6;
/// Minors that are smaller than this part of their scale may be those of an indefinite matrix.
const LEAST_PART: f64 = 1e-9;
/// Bound on the odd modulus, where two stretches sum to zero, as a part of mu + lambda.
const MAX_ODD: f64 = 1e6;

impl<E: StretchEnergy> Principal<E> {
    /// The tangent as it is, times the volume [J].
    #[inline(always)]
    fn exact_moduli<S: Simd>(&self, volume: Lanes<S>, s: &Vector<S>) -> PrincipalModuli<S> {
        let (p, hessian) = (self.0.gradient(s), self.0.hessian(s));
        let zero = volume * 0.0;
        let Lame { mu, lambda } = self.0.lame();
        let most = MAX_ODD * (mu + lambda);
        let (mut even, mut odd) = ([zero; 3], [zero; 3]);
        for (k, [i, j]) in PAIRS.into_iter().enumerate() {
            let apart = s[i] - s[j];
            let limit = (hessian[i][i] + hessian[j][j]) * 0.5 - hessian[i][j];
            let differ = apart.abs() + -EQUAL;
            even[k] = differ.choose((p[i] - p[j]) * differ.choose(apart, zero + 1.0).inverse(), limit) * volume;
            // s_i + s_j >= 0, and where it is zero the stresses may not cancel.
            let ratio = (p[i] + p[j]) * (s[i] + s[j]).max(f64::MIN_POSITIVE).inverse();
            odd[k] = ratio.max(-most).min(zero + most) * volume;
        }
        let along = [scaled(&hessian[0], volume), scaled(&hessian[1], volume), scaled(&hessian[2], volume)];
        PrincipalModuli { stress: scaled(&p, volume), along, even, odd }
    }
}

impl<S: Simd> PrincipalModuli<S> {
    /// `U^T dP V` of `U^T dF V`.
    #[inline(always)]
    fn times(&self, m: &Matrix<S>) -> Matrix<S> {
        let diagonal = [m[0][0], m[1][1], m[2][2]];
        let mut found = *m;
        for k in 0..3 {
            found[k][k] = dot(&self.along[k], &diagonal);
        }
        for (k, [i, j]) in PAIRS.into_iter().enumerate() {
            let (even, odd) = ((m[i][j] + m[j][i]) * self.even[k] * 0.5, (m[i][j] - m[j][i]) * self.odd[k] * 0.5);
            (found[i][j], found[j][i]) = (even + odd, even - odd);
        }
        found
    }
}

impl<E: StretchEnergy> ConstitutiveModel for Principal<E> {
    const TANGENT: Tangent = Tangent::General;
    const IS_FRAMED: bool = false;
    type Kinematics<S: Simd> = Singular<S>;
    type Moduli<S: Simd> = PrincipalModuli<S>;

    fn new(material: &Material) -> Self {
        Self(E::new(material))
    }

    fn lame(&self) -> Lame {
        self.0.lame()
    }

    fn valid_range(&self) -> ValidRange {
        self.0.valid_range()
    }

    #[inline(always)]
    fn kinematics<S: Simd>(&self, at: &Deformation<S>) -> Singular<S> {
        Singular::of(&plus_identity(&at.gradient))
    }

    #[inline(always)]
    fn energy<S: Simd>(&self, volume: Lanes<S>, at: &Singular<S>) -> Lanes<S> {
        self.0.energy(&at.values) * volume
    }

    #[inline(always)]
    fn energy_at<S: Simd>(&self, volume: Lanes<S>, at: &Deformation<S>) -> Lanes<S> {
        let Some([energy, beyond]) = self.0.energy_by_invariants(&Invariants::of(&at.gradient)) else {
            return self.energy(volume, &self.kinematics(at));
        };
        let energy = energy * volume;
        if beyond.largest() <= 0.0 {
            return energy;
        }
        beyond.choose(self.energy(volume, &self.kinematics(at)), energy)
    }

    #[inline(always)]
    fn stress<S: Simd>(&self, volume: Lanes<S>, at: &Singular<S>) -> Matrix<S> {
        at.out_of_frame(&diagonal(&scaled(&self.0.gradient(&at.values), volume)))
    }

    #[inline(always)]
    fn moduli<S: Simd>(&self, volume: Lanes<S>, at: &Singular<S>) -> PrincipalModuli<S> {
        let mut moduli = self.exact_moduli(volume, &at.values);
        moduli.along = filtered(&moduli.along, E::filtered);
        for k in 0..3 {
            moduli.even[k] = E::filtered(moduli.even[k]);
            // Absolute values here would stiffen what is compressed and turns.
            moduli.odd[k] = moduli.odd[k].max(0.0);
        }
        moduli
    }

    #[inline(always)]
    fn differential<S: Simd>(&self, at: &Singular<S>, moduli: &PrincipalModuli<S>, change: &Matrix<S>) -> Matrix<S> {
        at.out_of_frame(&moduli.times(&at.in_frame(change)))
    }

    /// In the frame of the singular vectors, with x = V^T a and y = V^T b, the block has the entries
    /// `H_cc x_c y_c + sum_l (even + odd)_cl / 2 x_l y_l` and `H_rc x_r y_c + (even - odd)_rc / 2 x_c y_r`.
    #[inline(always)]
    fn block<S: Simd>(&self, at: &Singular<S>, moduli: &PrincipalModuli<S>, a: &Vector<S>, b: &Vector<S>) -> Matrix<S> {
        let (x, y) = (times_vector(&at.right, a), times_vector(&at.right, b));
        let mut block = moduli.along;
        for r in 0..3 {
            for c in 0..3 {
                block[r][c] = block[r][c] * x[r] * y[c];
            }
        }
        for (k, [i, j]) in PAIRS.into_iter().enumerate() {
            let (sum, difference) = ((moduli.even[k] + moduli.odd[k]) * 0.5, (moduli.even[k] - moduli.odd[k]) * 0.5);
            block[i][i] = block[i][i] + sum * x[j] * y[j];
            block[j][j] = block[j][j] + sum * x[i] * y[i];
            block[i][j] = block[i][j] + difference * x[j] * y[i];
            block[j][i] = block[j][i] + difference * x[i] * y[j];
        }
        times(&times(&transpose(&at.left), &block), &at.left)
    }

    #[inline(always)]
    fn rate_differential<S: Simd>(&self, at: &Singular<S>, moduli: &PrincipalModuli<S>, rates: &Matrix<S>) -> Matrix<S> {
        let odd = scaled(&moduli.odd, moduli.odd[0] * 0.0);
        at.out_of_frame(&PrincipalModuli { odd, ..*moduli }.times(&at.in_frame(rates)))
    }

    #[inline(always)]
    fn predicted_stress<S: Simd>(
        &self,
        _: Lanes<S>,
        at: &Singular<S>,
        moduli: &PrincipalModuli<S>,
        rates: &Matrix<S>,
        time: Lanes<S>,
    ) -> Matrix<S> {
        let odd = scaled(&moduli.odd, time * 0.0);
        let mut stress = PrincipalModuli { odd, ..*moduli }.times(&at.in_frame(rates));
        for r in 0..3 {
            stress[r] = scaled(&stress[r], time);
            stress[r][r] = stress[r][r] + moduli.stress[r];
        }
        at.out_of_frame(&stress)
    }

    #[inline(always)]
    fn derivative<S: Simd>(&self, volume: Lanes<S>, at: &Singular<S>, change: &Matrix<S>) -> Matrix<S> {
        at.out_of_frame(&self.exact_moduli(volume, &at.values).times(&at.in_frame(change)))
    }

    fn without_volume_energy(&self) -> Self {
        Self(self.0.without_volume_energy())
    }

    #[inline(always)]
    fn volume_change<S: Simd>(&self, at: &Singular<S>) -> VolumeChange<S> {
        let (value, gradient) = self.0.volume_change(&at.values);
        VolumeChange { value, gradient: at.out_of_frame(&diagonal(&gradient)) }
    }

    #[inline(always)]
    fn volume_change_at<S: Simd>(&self, at: &Deformation<S>) -> Lanes<S> {
        match self.0.volume_by_invariants(&Invariants::of(&at.gradient)) {
            Some(value) => value,
            None => self.volume_change(&self.kinematics(at)).value,
        }
    }

    #[inline(always)]
    fn volume_energy<S: Simd>(&self, change: Lanes<S>) -> [Lanes<S>; 3] {
        self.0.volume_energy(change)
    }
}

/// A symmetric matrix with its eigenvalues filtered: itself where it is positive definite (by the signs of its minors),
/// as it is nearly everywhere.
#[inline(always)]
fn filtered<S: Simd>(h: &Matrix<S>, filter: impl Fn(Lanes<S>) -> Lanes<S>) -> Matrix<S> {
    let cofactors = cofactors_of(h);
    let size = h[0][0] + h[1][1] + h[2][2];
    let margins = [
        h[0][0] - size * LEAST_PART,
        cofactors[2][2] - size * size * LEAST_PART,
        dot(&h[0], &cofactors[0]) - size * size * size * LEAST_PART,
    ];
    let definite = margins[0].min(margins[1]).min(margins[2]);
    if (-definite).largest() < 0.0 {
        return *h;
    }
    let found = of_eigenvalues(h, filter);
    [choose(definite, &h[0], &found[0]), choose(definite, &h[1], &found[1]), choose(definite, &h[2], &found[2])]
}

#[inline(always)]
fn diagonal<S: Simd>(d: &Vector<S>) -> Matrix<S> {
    let zero = d[0] * 0.0;
    [[d[0], zero, zero], [zero, d[1], zero], [zero, zero, d[2]]]
}

/// The derivatives of J by the stretches: products of two of them.
#[inline(always)]
pub(super) fn cofactors<S: Simd>(s: &Vector<S>) -> Vector<S> {
    [s[1] * s[2], s[2] * s[0], s[0] * s[1]]
}

/// `linear ln J + square/2 (ln J)^2`, its slope and its curvature; below J = `least` their expansion of second order.
#[inline(always)]
pub(super) fn logarithmic<S: Simd>([linear, square]: [f64; 2], least: f64, j: Lanes<S>) -> [Lanes<S>; 3] {
    let inside = j.max(least);
    let (log, inverse) = (inside.map(f64::ln), inside.inverse());
    let value = log * (log * (0.5 * square) + linear);
    let slope = (log * square + linear) * inverse;
    let curvature = (-(log * square) + (square - linear)) * inverse * inverse;
    // Zero where J is inside.
    let below = j - inside;
    [value + below * (slope + below * curvature * 0.5), slope + below * curvature, curvature]
}

/// The range of a model with the energy of volumes [`logarithmic`]: from `least`, where its expansion begins, to the
/// volume at which the pressure is greatest, U'' = 0.
pub(super) fn range_of_logarithmic([linear, square]: [f64; 2], least: f64) -> ValidRange {
    let largest = if square > 0.0 { (1.0 - linear / square).exp() } else { f64::INFINITY };
    ValidRange {
        stretches: [0.0, f64::INFINITY],
        volumes: [least, largest],
        beyond: "Pressed to less, its law is only continued, so that elements come back, and is not that of rubber any more; swollen to more, \
                 it gives way. A higher `young_modulus` or `poisson_ratio`, or less load, helps.",
    }
}
