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

/// Hands each of `items` to `each` with its part of `v`, halves of them to different threads. Their ranges ascend; `v`
/// begins at place `first`.
pub fn for_each_part<I: Sync, T: Send>(
    items: &[I],
    range_of: &(impl Fn(&I) -> Range<usize> + Sync),
    (first, v): (usize, &mut [T]),
    each: &(impl Fn(&I, &mut [T]) + Sync),
) {
    let is_long = |items: &[I]| match items {
        [front, .., back] => range_of(back).end - range_of(front).start > FILLED,
        _ => false,
    };
    if !is_long(items) {
        return items.iter().for_each(|item| each(item, part_of(v, first, range_of(item))));
    }
    let (items, items_after) = items.split_at(items.len() / 2);
    let middle = range_of(&items_after[0]).start;
    let (v, after) = v.split_at_mut(middle - first);
    rayon::join(|| for_each_part(items, range_of, (first, v), each), || for_each_part(items_after, range_of, (middle, after), each));
}

fn part_of<T>(v: &mut [T], first: usize, range: Range<usize>) -> &mut [T] {
    &mut v[range.start - first..range.end - first]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_has_its_own_part() {
        // Together longer than what a thread takes; nothing has the places between them.
        let starts = (0..40).map(|k: usize| 100 * k * k);
        let ranges: Vec<Range<usize>> = starts.map(|start| start..start + start % 7 + 50).collect();
        let mut v = vec![0u32; ranges.last().unwrap().end];
        for_each_part(&ranges, &Range::clone, (0, &mut v), &|range, part| {
            assert_eq!(part.len(), range.len());
            part.iter_mut().for_each(|v| *v += range.start as u32 + 1);
        });
        for (place, v) in v.iter().enumerate() {
            let owner = ranges.iter().find(|range| range.contains(&place));
            assert_eq!(*v, owner.map_or(0, |range| range.start as u32 + 1), "{place}");
        }
        for_each_part(&ranges[..0], &Range::clone, (0, &mut v), &|_, _| unreachable!("there is nothing"));
    }

    #[test]
    fn all_items_are_filled() {
        let mut v = vec![7; 3];
        fill_with(&mut v, 20_000, |i| 2 * i);
        assert!(v.len() == 20_000 && v.iter().enumerate().all(|(i, v)| *v == 2 * i));
        fill_with(&mut v, 2, |i| i + 1);
        assert_eq!(v, [1, 2]);
    }
}
