//! How hard bodies press on each other, for files and pictures.

use super::generate::{SurfaceMemory, SurfaceStep, Surfaces};
use crate::geometry::{MeshError, Pair, closest};
use crate::math::Vec3;
use crate::model::Model;
use crate::model::State;
use crate::model::{PairKind, WarmContact};

/// The contact pressure of states of one model.
#[derive(Debug)]
pub struct ContactPressure {
    surfaces: Surfaces,
    /// Vertices that are told of.
    n_vertices: usize,
}

impl ContactPressure {
    pub fn new(model: &Model) -> Result<Self, MeshError> {
        let n_vertices = model.collision.n_vertices() + model.rigid_bodies.iter().map(|body| body.vertices.len()).sum::<usize>();
        Ok(Self { surfaces: Surfaces::new(model)?, n_vertices })
    }

    /// Contact pressure [Pa] at each vertex of the deformable bodies' collision surfaces, then of the rigid bodies: the
    /// normal forces of the last step, shared by the vertices of the features that meet by their weights in the contact
    /// point, over a third of the area of the triangles around the vertex now. It depends on the mesh as point forces
    /// do: the force, and the mean over a patch of many vertices, do not.
    pub fn of(&self, model: &Model, state: &State) -> Vec<f64> {
        let mesh = &self.surfaces.mesh;
        if state.contacts.entries.is_empty() {
            return vec![0.0; self.n_vertices];
        }
        let x = SurfaceStep::new(model, &self.surfaces, state, 0.0, SurfaceMemory::default()).start;
        let mut forces = vec![0.0; x.len()];
        for contact in &state.contacts.entries {
            for (vertex, share) in self.shares(contact, &x) {
                forces[vertex as usize] += share * contact.normal_force;
            }
        }
        let mut areas = vec![0.0; x.len()];
        for triangle in &mesh.triangles {
            let [a, b, c] = triangle.map(|v| x[v as usize]);
            let third = (b - a).cross(&(c - a)).norm() / 6.0;
            triangle.iter().for_each(|v| areas[*v as usize] += third);
        }
        forces.truncate(self.n_vertices);
        forces.iter().zip(&areas).map(|(force, area)| if *area > 0.0 { force / area } else { 0.0 }).collect()
    }

    /// The vertices that share a contact's force, and how much of it each takes; those of obstacles of exact shape take
    /// none.
    fn shares(&self, contact: &WarmContact, x: &[Vec3]) -> Vec<(u32, f64)> {
        let mesh = &self.surfaces.mesh;
        let (first, second) = (contact.pair.first, contact.pair.second);
        let meeting = |pair: Pair| {
            let weights = closest(mesh, pair, x).weights.map(f64::abs);
            mesh.vertices(pair).into_iter().zip(weights).collect()
        };
        match contact.pair.kind {
            PairKind::VertexObstacle => vec![(first, 1.0)],
            PairKind::EdgeObstacle => on_feature(&mesh.edges[first as usize], contact, x),
            PairKind::TriangleObstacle => on_feature(&mesh.triangles[first as usize], contact, x),
            PairKind::VertexTriangle => meeting(Pair::VertexFace { vertex: first, triangle: second }),
            PairKind::EdgeEdge => meeting(Pair::EdgeEdge { first, second }),
        }
    }
}

/// Weights of the corners of an edge or triangle at the contact point; equal ones where a state from disk does not tell
/// the point.
fn on_feature(corners: &[u32], contact: &WarmContact, x: &[Vec3]) -> Vec<(u32, f64)> {
    let n = corners.len();
    let point = contact.place.map(|[point, _]| point);
    let weights = point.map_or_else(
        || vec![1.0 / n as f64; n],
        |point| {
            let p: Vec<Vec3> = corners.iter().map(|v| x[*v as usize]).collect();
            let opposite = |i: usize| match n {
                2 => (p[1 - i] - point).norm(),
                _ => (p[(i + 1) % 3] - point).cross(&(p[(i + 2) % 3] - point)).norm(),
            };
            let parts: Vec<f64> = (0..n).map(opposite).collect();
            let sum: f64 = parts.iter().sum();
            parts.iter().map(|part| if sum > 0.0 { part / sum } else { 1.0 / n as f64 }).collect()
        },
    );
    corners.iter().copied().zip(weights).collect()
}
