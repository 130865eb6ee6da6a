//! Fields over nodes, tets and vertices that follow from a frame.

use super::Frame;
use super::surfaces::Surfaces;
use crate::contact;
use crate::elastic::{cauchy_stresses, von_mises};
use crate::math::{Mat3, Vec3};
use crate::model::Model;

/// Cauchy stress of each tet [Pa], and von Mises' equivalent of it; zero in a tet without volume.
pub fn stresses(model: &Model, frame: &Frame) -> (Vec<Mat3>, Vec<f32>) {
    let stresses = cauchy_stresses(model, &frame.displacements, &frame.states);
    stresses.into_iter().map(|stress| stress.unwrap_or_default()).map(|s| (s, von_mises(&s) as f32)).unzip()
}

/// [`crate::contact::node_pressures`] of a frame.
pub fn node_pressures(model: &Model, frame: &Frame) -> Vec<f64> {
    let pressures: Vec<f64> = frame.contact_pressures.iter().map(|p| f64::from(*p)).collect();
    contact::node_pressures(model, &frame.node_positions(model), &pressures)
}

/// Contact pressure at all vertices of the drawn surfaces [Pa]. A body whose collision
/// surface is another one has the pressure of its nodes.
pub fn surface_pressures(model: &Model, surfaces: &Surfaces, frame: &Frame, of_nodes: &[f64]) -> Vec<f32> {
    let mix = |nodes: &[u32; 4], weights: &[f64; 4]| nodes.iter().zip(weights).map(|(n, w)| of_nodes[*n as usize] * w).sum::<f64>() as f32;
    let mut pressures = surfaces.of_nodes(model, |nodes, weights| mix(nodes, weights).max(0.0), 0.0);
    for body in model.bodies.iter().filter(|body| !body.has_own_collision) {
        pressures[body.vertices.clone()].copy_from_slice(&frame.contact_pressures[body.collision_vertices.clone()]);
    }
    // Rigid bodies follow the deformable ones in both numberings.
    let rigid = &frame.contact_pressures[model.collision.n_vertices()..];
    let first = model.n_vertices();
    pressures[first..first + rigid.len()].copy_from_slice(rigid);
    pressures
}

/// Velocities at all vertices of the drawn surfaces of deformable bodies [m/s]; zero elsewhere.
pub fn surface_velocities(model: &Model, surfaces: &Surfaces, frame: &Frame) -> Vec<[f32; 3]> {
    let velocities: Vec<Vec3> = frame.velocities.iter().map(|v| Vec3::from(v.map(f64::from))).collect();
    surfaces.vectors_of_nodes(model, &velocities).iter().map(single).collect()
}

pub fn single(v: &Vec3) -> [f32; 3] {
    [v.x as f32, v.y as f32, v.z as f32]
}
