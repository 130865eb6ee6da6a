//! How hard bodies press on each other, for files and pictures.

use super::generate::{Generators, SurfaceMemory, SurfaceStep, Surfaces};
use crate::geometry::MeshError;
use crate::math::Vec3;
use crate::model::{Model, State, StepSpan};

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
        let (step, generators) = (
            SurfaceStep::new(model, &self.surfaces, state, StepSpan { dt: 0.0, script: 0.0 }, SurfaceMemory::default()),
            Generators::default(),
        );
        let x = &step.start;
        let mut forces = vec![0.0; x.len()];
        for contact in &state.contacts.entries {
            for (vertex, share) in generators.of(contact.pair.kind).shares(&step, contact, x) {
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
}

/// Contact pressure at the nodes [Pa], given node positions [m] and the pressure at the vertices of the collision
/// surfaces: the mean over the vertices that a node carries, by area and weight.
pub fn node_pressures(model: &Model, node_positions: &[Vec3], pressures: &[f64]) -> Vec<f64> {
    let (forces, areas) = node_forces(model, node_positions, pressures);
    forces.iter().zip(&areas).map(|(force, area)| if *area > 0.0 { force / area } else { 0.0 }).collect()
}

/// The same as the mean over all elements around a node [Pa], where the node itself is pushed: the force of one contact
/// is spread over an area as large as elements are, and single nodes do not stand out.
pub fn smooth_pressures(model: &Model, node_positions: &[Vec3], pressures: &[f64]) -> Vec<f64> {
    let (forces, areas) = node_forces(model, node_positions, pressures);
    let (mut force_around, mut area_around) = (vec![0.0; forces.len()], vec![0.0; forces.len()]);
    for tet in &model.tets {
        let sum = |of: &[f64]| tet.nodes.iter().map(|node| of[*node as usize]).sum::<f64>();
        let (force, area) = (sum(&forces), sum(&areas));
        for node in tet.nodes {
            force_around[node as usize] += force;
            area_around[node as usize] += area;
        }
    }
    let mean = |node: usize| if forces[node] > 0.0 { force_around[node] / area_around[node] } else { 0.0 };
    (0..forces.len()).map(mean).collect()
}

/// Force [N] and area [m^2] of each node: those of the vertices that it carries, by weight.
fn node_forces(model: &Model, node_positions: &[Vec3], pressures: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let surface = &model.collision;
    let (mut forces, mut areas) = (vec![0.0; model.n_nodes()], vec![0.0; model.n_nodes()]);
    if pressures.iter().all(|p| *p == 0.0) {
        return (forces, areas);
    }
    let x = surface.positions(node_positions);
    let mut thirds = vec![0.0; x.len()];
    for triangle in &surface.triangles {
        let [a, b, c] = triangle.map(|v| x[v as usize]);
        let third = (b - a).cross(&(c - a)).norm() / 6.0;
        triangle.iter().for_each(|v| thirds[*v as usize] += third);
    }
    for (v, (nodes, weights)) in surface.nodes.iter().zip(&surface.weights).enumerate() {
        for (node, weight) in nodes.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
            areas[*node as usize] += weight * thirds[v];
            forces[*node as usize] += weight * thirds[v] * pressures[v];
        }
    }
    (forces, areas)
}
