//! Boxes around the trajectories of points: one at the start and one at the end.

use pulp::{Simd, WithSimd};

use crate::math::Vec3;

/// A box in single precision, rounded outwards. Four lanes, so that one comparison is one vector instruction.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(16))]
pub(in crate::geometry) struct Bounds {
    lo: [f32; 4],
    hi: [f32; 4],
}

impl Bounds {
    pub(super) const EMPTY: Self = Self { lo: [f32::INFINITY; 4], hi: [f32::NEG_INFINITY; 4] };

    /// The box around the segment from `a` to `b`, inflated by `margin` [m].
    #[inline]
    pub(in crate::geometry) fn swept(a: &Vec3, b: &Vec3, margin: f64) -> Self {
        let mut bounds = Self { lo: [0.0; 4], hi: [0.0; 4] };
        for k in 0..3 {
            let (lo, hi) = if a[k] < b[k] { (a[k], b[k]) } else { (b[k], a[k]) };
            bounds.lo[k] = below(lo - margin);
            bounds.hi[k] = above(hi + margin);
        }
        bounds
    }

    #[inline(always)]
    pub(in crate::geometry) fn union(&self, other: &Self) -> Self {
        let mut sum = *self;
        for k in 0..4 {
            sum.lo[k] = if other.lo[k] < self.lo[k] { other.lo[k] } else { self.lo[k] };
            sum.hi[k] = if other.hi[k] > self.hi[k] { other.hi[k] } else { self.hi[k] };
        }
        sum
    }

    pub(super) fn center(&self) -> Vec3 {
        Vec3::from_fn(|k, _| 0.5 * (f64::from(self.lo[k]) + f64::from(self.hi[k])))
    }

    pub(super) fn overlaps(&self, other: &Self) -> bool {
        (0..3).all(|k| self.lo[k] <= other.hi[k] && other.lo[k] <= self.hi[k])
    }

    /// The least p.d of all points p of the box.
    #[inline]
    pub(super) fn least(&self, d: &Vec3) -> f64 {
        let along = |k: usize| d[k] * f64::from(if d[k] > 0.0 { self.lo[k] } else { self.hi[k] });
        along(0) + along(1) + along(2)
    }

    pub(super) fn contains(&self, p: &Vec3) -> bool {
        (0..3).all(|k| f64::from(self.lo[k]) <= p[k] && p[k] <= f64::from(self.hi[k]))
    }
}

/// The largest single below (or at) a double, and the smallest above.
fn below(a: f64) -> f32 {
    let near = a as f32;
    if f64::from(near) > a { near.next_down() } else { near }
}

fn above(a: f64) -> f32 {
    let near = a as f32;
    if f64::from(near) < a { near.next_up() } else { near }
}

/// Where points are at the start and at the end of their linear motion.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(in crate::geometry) struct Sweep {
    pub(super) start: Bounds,
    pub(super) end: Bounds,
}

impl Sweep {
    pub(super) const EMPTY: Self = Self { start: Bounds::EMPTY, end: Bounds::EMPTY };

    #[inline(always)]
    pub(in crate::geometry) fn union(&self, other: &Self) -> Self {
        Self { start: self.start.union(&other.start), end: self.end.union(&other.end) }
    }

    /// False where one coordinate is less at the start and at the end: then it is so at all times between, for the
    /// difference changes at a constant rate. Features that move together are separated as well as features at rest.
    #[inline]
    pub(in crate::geometry) fn may_meet(&self, other: &Self) -> bool {
        let mut apart = false;
        for k in 0..4 {
            apart |= (self.start.hi[k] < other.start.lo[k]) & (self.end.hi[k] < other.end.lo[k]);
            apart |= (other.start.hi[k] < self.start.lo[k]) & (other.end.hi[k] < self.end.lo[k]);
        }
        !apart
    }

    /// Whether planes across `d`, one at the start and one at the end, have all of `first` on their positive side and
    /// all of `second` on the other.
    #[inline]
    pub(super) fn are_parted<'s, A, B>(d: &Vec3, first: A, second: B) -> bool
    where
        A: IntoIterator<Item = &'s Self>,
        B: IntoIterator<Item = &'s Self>,
    {
        let nearer = |least: [f64; 2], sweep: &Self, d: &Vec3| [least[0].min(sweep.start.least(d)), least[1].min(sweep.end.least(d))];
        let of_first = first.into_iter().fold([f64::INFINITY; 2], |least, sweep| nearer(least, sweep, d));
        let of_second = second.into_iter().fold([f64::INFINITY; 2], |least, sweep| nearer(least, sweep, &-d));
        of_first[0] > -of_second[0] && of_first[1] > -of_second[1]
    }
}

/// Most of the margin, in the most that its body has of the room: else what is as small as the contact tolerance would
/// be near to all of itself.
pub(super) const MAX_MARGIN_IN_ROOMS: f64 = 2.0;

/// Fits sweeps to the motions of vertices, with the widest registers: from `x` to an end about `x + displacements` [m];
/// see [`Bvh::refit`](super::Bvh::refit).
pub(super) struct FitSweeps<'a> {
    pub sweeps: &'a mut [Sweep],
    pub bodies: &'a [u32],
    pub x: &'a [Vec3],
    pub displacements: &'a [Vec3],
    pub margin: f64,
    pub room: f64,
    /// Of each body.
    pub max_room: &'a [f64],
}

/// Two roundings to single precision, in parts of the number.
const TWO_ROUNDINGS: f64 = f32::EPSILON as f64;

impl WithSimd for FitSweeps<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { sweeps, bodies, x, displacements, margin, room, max_room } = self;
        // As `below` and `above`, but without a branch and so by one rounding wider; numbers that are too small for a
        // part of themselves are rounded by the least of all.
        let least = f64::from(f32::MIN_POSITIVE);
        for (((sweep, x), motion), body) in sweeps.iter_mut().zip(x).zip(displacements).zip(bodies) {
            let most = max_room[*body as usize];
            let (mut start, mut end) = (Bounds { lo: [0.0; 4], hi: [0.0; 4] }, Bounds { lo: [0.0; 4], hi: [0.0; 4] });
            for k in 0..3 {
                let there = x[k] + motion[k];
                let half = margin.min(MAX_MARGIN_IN_ROOMS * most) + (room + motion[k].abs()).min(most);
                let (lo, hi) = (there - half, there + half);
                let rounding = |a: f64| a.abs() * TWO_ROUNDINGS + least;
                start.lo[k] = (x[k] - rounding(x[k])) as f32;
                start.hi[k] = (x[k] + rounding(x[k])) as f32;
                end.lo[k] = (lo - rounding(lo)) as f32;
                end.hi[k] = (hi + rounding(hi)) as f32;
            }
            *sweep = Sweep { start, end };
        }
    }
}

/// Whether all positions `x` [m] lie in the boxes of the ends.
pub(super) struct AreContained<'a> {
    pub sweeps: &'a [Sweep],
    pub x: &'a [Vec3],
}

impl WithSimd for AreContained<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        let Self { sweeps, x } = self;
        let mut all = true;
        for (Sweep { end, .. }, p) in sweeps.iter().zip(x) {
            for k in 0..3 {
                all &= (f64::from(end.lo[k]) <= p[k]) & (p[k] <= f64::from(end.hi[k]));
            }
        }
        all
    }
}

/// Boxes side by side, so that one box is compared with all of them at once.
#[derive(Clone, Copy, Debug)]
struct Lanes {
    lo: [[f32; LANES]; 3],
    hi: [[f32; LANES]; 3],
}

/// The same of sweeps.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
pub(super) struct Block {
    start: Lanes,
    end: Lanes,
}

pub(super) const LANES: usize = 8;

impl Lanes {
    const EMPTY: Self = Self { lo: [[f32::INFINITY; LANES]; 3], hi: [[f32::NEG_INFINITY; LANES]; 3] };

    #[inline(always)]
    fn set(&mut self, lane: usize, bounds: &Bounds) {
        for k in 0..3 {
            self.lo[k][lane] = bounds.lo[k];
            self.hi[k][lane] = bounds.hi[k];
        }
    }

    #[inline(always)]
    fn get(&self, lane: usize) -> Bounds {
        let mut bounds = Bounds { lo: [0.0; 4], hi: [0.0; 4] };
        for k in 0..3 {
            bounds.lo[k] = self.lo[k][lane];
            bounds.hi[k] = self.hi[k][lane];
        }
        bounds
    }
}

impl Block {
    pub(super) const EMPTY: Self = Self { start: Lanes::EMPTY, end: Lanes::EMPTY };

    #[inline(always)]
    pub(super) fn set(&mut self, lane: usize, sweep: &Sweep) {
        self.start.set(lane, &sweep.start);
        self.end.set(lane, &sweep.end);
    }

    #[inline(always)]
    pub(super) fn get(&self, lane: usize) -> Sweep {
        Sweep { start: self.start.get(lane), end: self.end.get(lane) }
    }

    /// Of each lane, whether it may meet `sweep`.
    #[inline(never)]
    fn mark(&self, sweep: &Sweep, bits: &mut [i32; LANES]) {
        let Self { start, end } = self;
        let mut apart = [false; LANES];
        for k in 0..3 {
            let (a, b) = (&sweep.start, &sweep.end);
            for i in 0..LANES {
                let is_below = (start.hi[k][i] < a.lo[k]) & (end.hi[k][i] < b.lo[k]);
                let is_above = (a.hi[k] < start.lo[k][i]) & (b.hi[k] < end.lo[k][i]);
                apart[i] |= is_below | is_above;
            }
        }
        for i in 0..LANES {
            bits[i] = if apart[i] { 0 } else { -1 };
        }
    }

    #[inline]
    pub(super) fn meeting(&self, sweep: &Sweep) -> u32 {
        let mut marks = [0; LANES];
        self.mark(sweep, &mut marks);
        marks.iter().enumerate().fold(0, |all, (lane, mark)| all | (*mark as u32 & 1 << lane))
    }
}
