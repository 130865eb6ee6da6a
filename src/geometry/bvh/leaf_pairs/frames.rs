//! The shape of a leaf: a frame on three of its vertices, and how far the others have left their places in it.

use std::ops::Range;

use super::super::sweep::Sweep;
use crate::math::{Aabb, Mat3, Vec3};

/// A leaf takes a new reference once it is deformed by this part of `near`.
const MAX_DEFORMATION: f64 = 0.15;
/// Times that a leaf is followed from one reference to the next.
const MIN_AGE: u32 = 4;
/// Rounding of boxes, in coordinates.
pub(super) const BOX_ROUNDING: f64 = 8.0 * f32::EPSILON as f64;

/// A leaf in its own frame.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    pub vertices: Range<usize>,
    /// Three vertices that carry the frame.
    pub corners: [u32; 3],
    /// Features are looked at up to this distance [m]; 0 if the body does not meet itself.
    pub near: f64,
    /// Where its vertices are in its frame at its reference [m]; how many references it has had, and how often it was
    /// followed since the last one.
    reference: Vec<Vec3>,
    pub n_references: u32,
    age: u32,
    pub rotation: Mat3,
    pub origin: Vec3,
    /// The largest distance of a vertex from the origin at the reference [m].
    pub radius: f64,
    /// How far vertices are from where the frame takes the reference [m].
    pub deformation: f64,
    /// Bounds of the motions of its vertices in the step, with what their boxes add [m].
    pub motion: Aabb,
    /// Largest coordinate, for rounding [m].
    size: f64,
}

impl Leaf {
    pub fn new(vertices: Range<usize>, corners: [u32; 3], near: f64) -> Self {
        Self {
            vertices,
            corners,
            near,
            reference: vec![],
            n_references: 0,
            age: MIN_AGE,
            rotation: Mat3::identity(),
            origin: Vec3::zeros(),
            radius: 0.0,
            deformation: f64::INFINITY,
            motion: Aabb::EMPTY,
            size: 0.0,
        }
    }

    /// Takes the frame to `x` [m], and a new reference where the shape has changed much.
    #[inline(always)]
    pub fn follow(&mut self, vertices: &[u32], x: &[Vec3]) {
        let [a, b, c] = self.corners.map(|v| x[v as usize]);
        self.origin = (a + b + c) / 3.0;
        self.age = self.age.saturating_add(1);
        self.deformation = f64::INFINITY;
        let Some(along) = (b - a).try_normalize(0.0) else { return };
        let Some(normal) = along.cross(&(c - a)).try_normalize(0.0) else { return };
        self.rotation = Mat3::from_columns(&[along, normal.cross(&along), normal]);
        let local = |v: u32| self.rotation.tr_mul(&(x[v as usize] - self.origin));
        self.size = vertices.iter().map(|v| x[*v as usize].amax()).fold(0.0, f64::max);
        if self.n_references > 0 {
            // One that is not finite is the most.
            let furthest = |most: f64, d: f64| if d <= most { most } else { d };
            self.deformation =
                vertices.iter().zip(&self.reference).map(|(v, before)| (local(*v) - before).norm_squared()).fold(0.0, furthest).sqrt();
        }
        if self.deformation > MAX_DEFORMATION * self.near && self.age > MIN_AGE {
            let (rotation, origin) = (self.rotation, self.origin);
            self.reference.clear();
            self.reference.extend(vertices.iter().map(|v| rotation.tr_mul(&(x[*v as usize] - origin))));
            self.radius = self.reference.iter().map(Vec3::norm).fold(0.0, f64::max);
            self.n_references += 1;
            (self.age, self.deformation) = (0, 0.0);
        }
    }
}

/// How much nearer to each other the boxes of the vertices may bring features of two leaves in a step [m].
#[inline(always)]
pub(super) fn added(a: &Leaf, b: &Leaf) -> f64 {
    let nearer = (a.motion.max - b.motion.min).sup(&(b.motion.max - a.motion.min));
    nearer.norm() + BOX_ROUNDING * a.size.max(b.size)
}

/// Bounds of the motions of vertices from the box of their start to that of their end.
#[inline(always)]
pub(super) fn motion_of(vertices: &[u32], sweeps: &[Sweep]) -> Aabb {
    vertices.iter().map(|v| sweeps[*v as usize].motion()).fold(Aabb::EMPTY, |all, [low, high]| all.with(&low).with(&high))
}

/// Three vertices that are far from each other and from one line.
pub(super) fn corners_of(vertices: &[u32], x: &[Vec3]) -> [u32; 3] {
    let at = |v: u32| x[v as usize];
    let furthest = |measure: &dyn Fn(u32) -> f64| vertices.iter().copied().max_by(|a, b| measure(*a).total_cmp(&measure(*b)));
    let first = vertices[0];
    let second = furthest(&|v| (at(v) - at(first)).norm_squared()).unwrap_or(first);
    let third = furthest(&|v| (at(v) - at(first)).cross(&(at(second) - at(first))).norm_squared()).unwrap_or(first);
    [first, second, third]
}
