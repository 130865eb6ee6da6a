//! Pairs of features of one deformable body with itself: which of them can meet changes only as its shape does.

#[cfg(test)]
mod tests;

use super::candidates::Candidates;
use crate::math::{Aabb, Mat3, Quat, Vec3};

/// The pairs that were near each other in a shape that the body had before, the reference. All others were more than
/// `near` apart there; with no vertex further than r from where a rigid motion brings the reference, they still are
/// more than `near - 2 r` apart. While that is more than what the boxes of vertices add to the features,
/// [`Bvh::query`](super::Bvh::query) would drop them, and need not search the body for them: the reference has no
/// influence on what is found.
#[derive(Clone, Debug)]
pub(super) struct SelfPairs {
    pub body: u32,
    /// Distance of pairs that are listed [m].
    pub near: f64,
    pub pairs: Candidates,
    /// Whether all pairs that can meet are listed.
    pub is_complete: bool,
    /// Whether the shape is to become the new reference.
    pub is_wanted: bool,
    vertices: Vec<u32>,
    /// Of the vertices, from their mean [m]; none before the first one.
    reference: Vec<Vec3>,
    /// From the reference to the last shape.
    rotation: Quat,
    /// Shapes seen since the reference was taken.
    age: u32,
}

/// Distance of listed pairs, in mean edge lengths: most pairs without a common vertex are further apart.
const NEAR_IN_EDGES: f64 = 0.4;
/// How much nearer features may come at most for a new reference, as a part of `near`.
const MAX_APPROACH: f64 = 0.5;
/// Shapes from one reference to the next: finding the pairs takes about as long as two searches of the body.
const MIN_SHAPES_PER_REFERENCE: u32 = 8;
/// Rounding of boxes, in coordinates.
const BOX_ROUNDING: f64 = 8.0 * f32::EPSILON as f64;

impl SelfPairs {
    pub fn new(body: u32, vertices: Vec<u32>, mean_edge: f64) -> Self {
        Self {
            body,
            near: NEAR_IN_EDGES * mean_edge,
            pairs: Candidates::default(),
            is_complete: false,
            is_wanted: false,
            vertices,
            reference: vec![],
            rotation: Quat::identity(),
            age: MIN_SHAPES_PER_REFERENCE,
        }
    }

    /// Finds out whether the list holds for the trajectories of [`Bvh::refit`](super::Bvh::refit), with the body's
    /// `max_room` [m].
    pub fn update(&mut self, x: &[Vec3], displacements: &[Vec3], margin: f64, room: f64, max_room: f64) {
        let mut around = Aabb::EMPTY;
        let mut size = 0.0f64;
        for &v in &self.vertices {
            around = around.with(&displacements[v as usize]);
            size = size.max(x[v as usize].amax());
        }
        // Two vertices come nearer to each other by no more than this.
        let half = around.min.abs().sup(&around.max.abs()).map(|longest| margin + (room + longest).min(max_room));
        let added = (around.extent() + half * 2.0).norm() + BOX_ROUNDING * size;
        self.age = self.age.saturating_add(1);
        self.is_complete = added + 2.0 * self.deformation(x) < self.near;
        self.is_wanted = !self.is_complete && self.age > MIN_SHAPES_PER_REFERENCE && added < MAX_APPROACH * self.near;
    }

    /// How far vertices are from the reference, moved rigidly [m].
    fn deformation(&mut self, x: &[Vec3]) -> f64 {
        if self.reference.is_empty() {
            return f64::INFINITY;
        }
        let center = self.center(x);
        let both = || self.vertices.iter().map(|v| x[*v as usize] - center).zip(&self.reference);
        let moment = both().fold(Mat3::zeros(), |sum, (now, before)| sum + now * before.transpose());
        // Any rotation will do; the nearest leaves least.
        self.rotation = Quat::from_matrix_eps(&moment, 1e-9, 4, self.rotation);
        self.rotation.renormalize();
        let turn = self.rotation.to_rotation_matrix();
        both().map(|(now, before)| (now - turn * before).norm_squared()).fold(0.0, |most: f64, d| if d <= most { most } else { d }).sqrt()
    }

    fn center(&self, x: &[Vec3]) -> Vec3 {
        self.vertices.iter().map(|v| x[*v as usize]).sum::<Vec3>() / self.vertices.len() as f64
    }

    /// Takes the shape at `x` as the reference, with all pairs that are `near` in it.
    pub fn set_reference(&mut self, x: &[Vec3], pairs: Candidates) {
        let center = self.center(x);
        self.reference = self.vertices.iter().map(|v| x[*v as usize] - center).collect();
        self.rotation = Quat::identity();
        self.pairs = pairs;
        self.age = 0;
        (self.is_complete, self.is_wanted) = (true, false);
    }

    pub fn vertices(&self) -> &[u32] {
        &self.vertices
    }
}
