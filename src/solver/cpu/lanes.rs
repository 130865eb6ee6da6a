//! A number for each lane of two registers: a formula written once serves as many tets as the processor takes at a time (`pulp` asks it). One
//! register was measured to be as fast.

use std::ops::{Add, Mul, Neg, Sub};

use pulp::{Scalar, Simd};

/// A number in each lane.
#[derive(Clone, Copy, Debug)]
pub struct Lanes<S: Simd> {
    simd: S,
    values: Pair<S>,
}

/// The same of both registers. No closure: one that is not inlined knows nothing of the registers of its caller.
macro_rules! pair {
    ($k:ident => $one:expr) => {
        [
            {
                let $k = 0;
                $one
            },
            {
                let $k = 1;
                $one
            },
        ]
    };
}

/// Two registers.
pub type Pair<S> = [<S as Simd>::f64s; 2];

/// How many lanes there are.
#[inline(always)]
pub const fn lanes<S: Simd>() -> usize {
    2 * S::F64_LANES
}

pub type Vector<S> = [Lanes<S>; 3];
/// Three rows.
pub type Matrix<S> = [Vector<S>; 3];

impl<S: Simd> Lanes<S> {
    #[inline(always)]
    pub fn splat(simd: S, value: f64) -> Self {
        Self { simd, values: [simd.splat_f64s(value); 2] }
    }

    #[inline(always)]
    pub fn new(simd: S, values: Pair<S>) -> Self {
        Self { simd, values }
    }

    /// From four numbers for each lane, lane by lane, to the lanes of the first, the second and so on; [`Self::separate`] turns them back.
    #[inline(always)]
    pub fn join(simd: S, rows: [[S::f64s; 4]; 2]) -> [Self; 4] {
        let [a, b, c, d] = simd.deinterleave_shfl_f64s(rows[0]);
        let [e, f, g, h] = simd.deinterleave_shfl_f64s(rows[1]);
        [Self { simd, values: [a, e] }, Self { simd, values: [b, f] }, Self { simd, values: [c, g] }, Self { simd, values: [d, h] }]
    }

    #[inline(always)]
    pub fn separate([a, b, c, d]: [Self; 4]) -> [[S::f64s; 4]; 2] {
        pair!(k => a.simd.interleave_shfl_f64s([a.values[k], b.values[k], c.values[k], d.values[k]]))
    }

    /// `self a + b`.
    #[inline(always)]
    pub fn mul_add(self, a: Self, b: Self) -> Self {
        Self { values: pair!(k => self.simd.mul_add_e_f64s(self.values[k], a.values[k], b.values[k])), ..self }
    }

    #[inline(always)]
    pub fn inverse(self) -> Self {
        Self { values: pair!(k => self.simd.div_f64s(self.simd.splat_f64s(1.0), self.values[k])), ..self }
    }

    #[inline(always)]
    pub fn sqrt(self) -> Self {
        Self { values: pair!(k => self.simd.sqrt_f64s(self.values[k])), ..self }
    }

    #[inline(always)]
    pub fn abs(self) -> Self {
        Self { values: pair!(k => self.simd.abs_f64s(self.values[k])), ..self }
    }

    #[inline(always)]
    pub fn min(self, other: Self) -> Self {
        Self { values: pair!(k => self.simd.min_f64s(self.values[k], other.values[k])), ..self }
    }

    #[inline(always)]
    pub fn max(self, bound: f64) -> Self {
        Self { values: pair!(k => self.simd.max_f64s(self.values[k], self.simd.splat_f64s(bound))), ..self }
    }

    /// `yes` in the lanes where this is positive, else `no`.
    #[inline(always)]
    pub fn choose(self, yes: Self, no: Self) -> Self {
        let zero = self.simd.splat_f64s(0.0);
        let positive = pair!(k => self.simd.greater_than_f64s(self.values[k], zero));
        Self { values: pair!(k => self.simd.select_f64s(positive[k], yes.values[k], no.values[k])), ..self }
    }

    /// The largest number of all lanes.
    #[inline(always)]
    pub fn largest(self) -> f64 {
        self.simd.reduce_max_f64s(self.simd.max_f64s(self.values[0], self.values[1]))
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
        lane.values[0]
    }
}

impl<S: Simd> Add for Lanes<S> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self { values: pair!(k => self.simd.add_f64s(self.values[k], other.values[k])), ..self }
    }
}

impl<S: Simd> Sub for Lanes<S> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self { values: pair!(k => self.simd.sub_f64s(self.values[k], other.values[k])), ..self }
    }
}

impl<S: Simd> Mul for Lanes<S> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self { values: pair!(k => self.simd.mul_f64s(self.values[k], other.values[k])), ..self }
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
        Self { values: pair!(k => self.simd.neg_f64s(self.values[k])), ..self }
    }
}

// Loops and no `map`, for the same reason.

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
