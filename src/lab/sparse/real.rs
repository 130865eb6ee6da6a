//! The two precisions.

use std::fmt::Debug;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

use bytemuck::Pod;
use pulp::Simd;

/// f32 or f64.
pub trait Real:
    Pod
    + Debug
    + Default
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + Sum
{
    const ZERO: Self;
    /// As records spell it.
    const NAME: &'static str;

    fn from_f64(value: f64) -> Self;
    fn to_f64(self) -> f64;
    /// `self a + b` rounded once.
    fn fused(self, a: Self, b: Self) -> Self;

    /// `self a + b`, in one instruction where the instruction set `S` has one. Loops of it become instructions on whole
    /// registers.
    #[inline(always)]
    fn mul_add<S: Simd>(self, a: Self, b: Self) -> Self {
        if S::IS_SCALAR { self * a + b } else { self.fused(a, b) }
    }
}

macro_rules! real {
    ($type:ident) => {
        impl Real for $type {
            const ZERO: Self = 0.0;
            const NAME: &'static str = stringify!($type);

            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.into()
            }

            #[inline(always)]
            fn fused(self, a: Self, b: Self) -> Self {
                $type::mul_add(self, a, b)
            }
        }
    };
}

real!(f32);
real!(f64);
