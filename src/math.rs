//! Small fixed-size linear algebra in f64: the CPU side of every formula.

pub mod lanes;
pub mod singular;

use std::ops::Range;

use rayon::prelude::*;

pub type Vec3 = nalgebra::Vector3<f64>;
pub type Mat3 = nalgebra::Matrix3<f64>;
pub type Quat = nalgebra::UnitQuaternion<f64>;
pub type Isometry = nalgebra::Isometry3<f64>;

/// Axis-aligned box; empty (min > max) until something is added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb {
    pub min: Vec3,
    pub max: Vec3,
}

impl Aabb {
    pub const EMPTY: Self = Self {
        min: Vec3::new(f64::INFINITY, f64::INFINITY, f64::INFINITY),
        max: Vec3::new(f64::NEG_INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY),
    };

    pub fn of<'a>(points: impl IntoIterator<Item = &'a Vec3>) -> Self {
        points.into_iter().fold(Self::EMPTY, |aabb, p| aabb.with(p))
    }

    pub fn with(self, p: &Vec3) -> Self {
        Self { min: self.min.inf(p), max: self.max.sup(p) }
    }

    /// The smallest box around both.
    pub fn joined(self, other: Self) -> Self {
        Self { min: self.min.inf(&other.min), max: self.max.sup(&other.max) }
    }

    pub fn extent(&self) -> Vec3 {
        self.max - self.min
    }

    pub fn center(&self) -> Vec3 {
        (self.min + self.max) * 0.5
    }
}

/// Consecutive parts of `v` with these lengths, whose sum is at most the length of `v`.
pub fn split_mut<T>(mut v: &mut [T], lengths: impl IntoIterator<Item = usize>) -> Vec<&mut [T]> {
    let mut parts = vec![];
    for length in lengths {
        let (part, rest) = v.split_at_mut(length);
        parts.push(part);
        v = rest;
    }
    parts
}

/// Items that a thread fills at once.
const FILLED: usize = 4096;

/// Makes `v` as long as `n`, and each item what `of` gives for its place, on all threads.
pub fn fill_with<T: Default + Clone + Send>(v: &mut Vec<T>, n: usize, of: impl Fn(usize) -> T + Sync) {
    v.resize(n, T::default());
    v.par_iter_mut().with_min_len(FILLED).enumerate().for_each(|(i, v)| *v = of(i));
}

/// The parts of `v` in these ranges, which ascend.
pub fn parts_mut<T>(v: &mut [T], ranges: impl IntoIterator<Item = Range<usize>>) -> Vec<&mut [T]> {
    let (mut rest, mut start, mut parts) = (v, 0, vec![]);
    for range in ranges {
        let (part, after) = rest.split_at_mut(range.start - start).1.split_at_mut(range.len());
        parts.push(part);
        (rest, start) = (after, range.end);
    }
    parts
}

/// A vector on disk: its three components.
pub mod components {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Vec3;

    pub fn serialize<S: Serializer>(vector: &Vec3, serializer: S) -> Result<S::Ok, S::Error> {
        <[f64; 3]>::from(*vector).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec3, D::Error> {
        <[f64; 3]>::deserialize(deserializer).map(Vec3::from)
    }
}
