//! The matrix of some of the bodies, which need not follow one another in the model.

use std::ops::Range;

use super::{CHUNK, Operator, Pattern, clear_fixed};
use crate::body::BodyRef;
use crate::math::{Mat3, Vec3};

/// A diagonal block of the matrix that no other one is coupled with (a body), and where its unknowns stand in the
/// vectors of a system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    pub body: BodyRef,
    /// Unknowns of the model.
    pub unknowns: Range<usize>,
    /// Place of the first unknown in vectors of the system.
    pub start: usize,
}

impl Segment {
    /// The places of the unknowns in vectors of the system.
    pub fn places(&self) -> Range<usize> {
        self.start..self.start + self.unknowns.len()
    }

    /// The same unknowns as a system of their own.
    pub fn alone(&self) -> Self {
        Self { start: 0, ..self.clone() }
    }
}

/// The matrix on the unknowns of some segments; vectors hold one segment after the other.
#[derive(Clone, Copy, Debug)]
pub struct System<'a> {
    pub a: &'a Operator,
    pub pattern: &'a Pattern,
    pub fixed: &'a [bool],
    pub segments: &'a [Segment],
}

impl<'a> System<'a> {
    /// Length of the vectors, in 3-blocks.
    pub fn len(&self) -> usize {
        self.segments.last().map_or(0, |segment| segment.places().end)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// `y = A x`; `x` must be zero at fixed nodes.
    pub fn apply(&self, x: &[Vec3], y: &mut [Vec3]) {
        for_each_segment(self.segments, x, y, &|segment, x, y| self.a.apply(self.pattern, self.fixed, &segment.unknowns, x, y));
    }

    /// `z = D^-1 r` with the block diagonal D of A.
    pub fn precondition(&self, r: &[Vec3], z: &mut [Vec3]) {
        for_each_segment(self.segments, r, z, &|segment, r, z| self.a.precondition(&segment.unknowns, r, z));
    }

    /// Inverses of the diagonal blocks, in the order of the vectors.
    pub fn inverse_diagonals(&self) -> impl Iterator<Item = &'a Mat3> {
        let a = self.a;
        self.segments.iter().flat_map(move |segment| &a.inverse_diagonals[segment.unknowns.clone()])
    }

    /// Zeroes `v` at fixed nodes.
    pub fn clear_fixed(&self, v: &mut [Vec3]) {
        for segment in self.segments {
            clear_fixed(self.fixed, &segment.unknowns, &mut v[segment.places()]);
        }
    }
}

/// Hands each segment its parts of two vectors that begin with that of the first, halves of the segments to different
/// threads where they are worth it.
fn for_each_segment(segments: &[Segment], x: &[Vec3], y: &mut [Vec3], each: &(impl Fn(&Segment, &[Vec3], &mut [Vec3]) + Sync)) {
    let Some(first) = segments.first() else { return };
    if let ([_, _, ..], true) = (segments, y.len() > CHUNK) {
        let (left, right) = segments.split_at(segments.len() / 2);
        let middle = right[0].start - first.start;
        let ((x_left, x_right), (y_left, y_right)) = (x.split_at(middle), y.split_at_mut(middle));
        rayon::join(|| for_each_segment(left, x_left, y_left, each), || for_each_segment(right, x_right, y_right, each));
        return;
    }
    for segment in segments {
        let places = segment.start - first.start..segment.places().end - first.start;
        each(segment, &x[places.clone()], &mut y[places]);
    }
}
