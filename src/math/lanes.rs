//! A number for each lane of a register: a formula written once serves one element or as many as the processor takes
//! at a time (`pulp` asks it).

use std::ops::{Add, Mul, Neg, Sub};

use pulp::{Scalar, Simd};

use super::Mat3;

/// A number in each lane.
#[derive(Clone, Copy, Debug)]
pub struct Lanes<S: Simd> {
    simd: S,
    values: S::f64s,
}

pub type Vector<S> = [Lanes<S>; 3];
/// Three rows.
pub type Matrix<S> = [Vector<S>; 3];
/// Four numbers that stand together in memory: a quaternion, or a part of an element's state.
pub type Row<S> = [Lanes<S>; 4];

impl<S: Simd> Lanes<S> {
    #[inline(always)]
    pub fn splat(simd: S, value: f64) -> Self {
        Self { simd, values: simd.splat_f64s(value) }
    }

    #[inline(always)]
    pub fn new(simd: S, values: S::f64s) -> Self {
        Self { simd, values }
    }

    /// From four numbers for each lane, lane by lane, to the lanes of the first, the second and so on;
    /// [`Self::separate`] is the way back.
    #[inline(always)]
    pub fn join(simd: S, rows: [S::f64s; 4]) -> Row<S> {
        let [a, b, c, d] = simd.deinterleave_shfl_f64s(rows);
        [Self { simd, values: a }, Self { simd, values: b }, Self { simd, values: c }, Self { simd, values: d }]
    }

    #[inline(always)]
    pub fn separate([a, b, c, d]: Row<S>) -> [S::f64s; 4] {
        a.simd.interleave_shfl_f64s([a.values, b.values, c.values, d.values])
    }

    /// `self a + b`.
    #[inline(always)]
    pub fn mul_add(self, a: Self, b: Self) -> Self {
        Self { values: self.simd.mul_add_e_f64s(self.values, a.values, b.values), ..self }
    }

    #[inline(always)]
    pub fn inverse(self) -> Self {
        Self { values: self.simd.div_f64s(self.simd.splat_f64s(1.0), self.values), ..self }
    }

    #[inline(always)]
    pub fn sqrt(self) -> Self {
        Self { values: self.simd.sqrt_f64s(self.values), ..self }
    }

    #[inline(always)]
    pub fn abs(self) -> Self {
        Self { values: self.simd.abs_f64s(self.values), ..self }
    }

    #[inline(always)]
    pub fn min(self, other: Self) -> Self {
        Self { values: self.simd.min_f64s(self.values, other.values), ..self }
    }

    #[inline(always)]
    pub fn max(self, bound: f64) -> Self {
        Self { values: self.simd.max_f64s(self.values, self.simd.splat_f64s(bound)), ..self }
    }

    /// `yes` in the lanes where this is positive, else `no`.
    #[inline(always)]
    pub fn choose(self, yes: Self, no: Self) -> Self {
        let positive = self.simd.greater_than_f64s(self.values, self.simd.splat_f64s(0.0));
        Self { values: self.simd.select_f64s(positive, yes.values, no.values), ..self }
    }

    /// A function of the number of each lane, one after the other.
    #[inline(always)]
    pub fn map(mut self, f: impl Fn(f64) -> f64) -> Self {
        for value in bytemuck::cast_slice_mut::<S::f64s, f64>(std::slice::from_mut(&mut self.values)) {
            *value = f(*value);
        }
        self
    }

    /// The largest number of all lanes.
    #[inline(always)]
    pub fn largest(self) -> f64 {
        self.simd.reduce_max_f64s(self.values)
    }
}

impl From<f64> for Lanes<Scalar> {
    #[inline(always)]
    fn from(value: f64) -> Self {
        Self::splat(Scalar::new(), value)
    }
}

impl From<Lanes<Scalar>> for f64 {
    #[inline(always)]
    fn from(lane: Lanes<Scalar>) -> Self {
        lane.values
    }
}

impl<S: Simd> Add for Lanes<S> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self { values: self.simd.add_f64s(self.values, other.values), ..self }
    }
}

impl<S: Simd> Sub for Lanes<S> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self { values: self.simd.sub_f64s(self.values, other.values), ..self }
    }
}

impl<S: Simd> Mul for Lanes<S> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self { values: self.simd.mul_f64s(self.values, other.values), ..self }
    }
}

impl<S: Simd> Mul<f64> for Lanes<S> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, factor: f64) -> Self {
        self * Self::splat(self.simd, factor)
    }
}

impl<S: Simd> Add<f64> for Lanes<S> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: f64) -> Self {
        self + Self::splat(self.simd, other)
    }
}

impl<S: Simd> Neg for Lanes<S> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Self { values: self.simd.neg_f64s(self.values), ..self }
    }
}

// Loops and no `map`: a closure that is not inlined knows nothing of the registers of its caller.

#[inline(always)]
pub fn dot<S: Simd, const N: usize>(a: &[Lanes<S>; N], b: &[Lanes<S>; N]) -> Lanes<S> {
    let mut sum = a[0] * b[0];
    for k in 1..N {
        sum = a[k].mul_add(b[k], sum);
    }
    sum
}

#[inline(always)]
pub fn scaled<S: Simd, const N: usize>(a: &[Lanes<S>; N], factor: Lanes<S>) -> [Lanes<S>; N] {
    let mut scaled = *a;
    for k in 0..N {
        scaled[k] = a[k] * factor;
    }
    scaled
}

#[inline(always)]
pub fn minus<S: Simd>(a: &Vector<S>, b: &Vector<S>) -> Vector<S> {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

/// `a + factor b`.
#[inline(always)]
pub fn plus<S: Simd>(a: &Vector<S>, factor: Lanes<S>, b: &Vector<S>) -> Vector<S> {
    [factor.mul_add(b[0], a[0]), factor.mul_add(b[1], a[1]), factor.mul_add(b[2], a[2])]
}

#[inline(always)]
pub fn cross<S: Simd>(a: &Vector<S>, b: &Vector<S>) -> Vector<S> {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Cofactors: det(A) A^-T.
#[inline(always)]
pub fn cofactors<S: Simd>([a, b, c]: &Matrix<S>) -> Matrix<S> {
    [cross(b, c), cross(c, a), cross(a, b)]
}

/// `sum_ij A_ij B_ij`.
#[inline(always)]
pub fn contract<S: Simd>(a: &Matrix<S>, b: &Matrix<S>) -> Lanes<S> {
    dot(&a[0], &b[0]) + dot(&a[1], &b[1]) + dot(&a[2], &b[2])
}

/// `yes` in the lanes where `number` is positive, else `no`.
#[inline(always)]
pub fn choose<S: Simd, const N: usize>(number: Lanes<S>, yes: &[Lanes<S>; N], no: &[Lanes<S>; N]) -> [Lanes<S>; N] {
    let mut chosen = *no;
    for k in 0..N {
        chosen[k] = number.choose(yes[k], no[k]);
    }
    chosen
}

/// `A b`.
#[inline(always)]
pub fn times_vector<S: Simd>(a: &Matrix<S>, b: &Vector<S>) -> Vector<S> {
    [dot(&a[0], b), dot(&a[1], b), dot(&a[2], b)]
}

#[inline(always)]
pub fn transpose<S: Simd>([a, b, c]: &Matrix<S>) -> Matrix<S> {
    [[a[0], b[0], c[0]], [a[1], b[1], c[1]], [a[2], b[2], c[2]]]
}

/// `A B^T`.
#[inline(always)]
pub fn times_transposed<S: Simd>(a: &Matrix<S>, b: &Matrix<S>) -> Matrix<S> {
    [times_vector(b, &a[0]), times_vector(b, &a[1]), times_vector(b, &a[2])]
}

/// `A B`.
#[inline(always)]
pub fn times<S: Simd>(a: &Matrix<S>, b: &Matrix<S>) -> Matrix<S> {
    times_transposed(a, &transpose(b))
}

#[inline(always)]
pub fn trace<S: Simd>(a: &Matrix<S>) -> Lanes<S> {
    a[0][0] + a[1][1] + a[2][2]
}

/// `A + I`.
#[inline(always)]
pub fn plus_identity<S: Simd>(a: &Matrix<S>) -> Matrix<S> {
    [[a[0][0] + 1.0, a[0][1], a[0][2]], [a[1][0], a[1][1] + 1.0, a[1][2]], [a[2][0], a[2][1], a[2][2] + 1.0]]
}

/// The rows of one matrix.
pub fn from_matrix(a: &Mat3) -> Matrix<Scalar> {
    [0, 1, 2].map(|r| [0, 1, 2].map(|c| Lanes::from(a[(r, c)])))
}

pub fn to_matrix(rows: &Matrix<Scalar>) -> Mat3 {
    Mat3::from_fn(|r, c| rows[r][c].into())
}
