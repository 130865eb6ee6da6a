//! Soft bodies whose surface is embedded in their tets: what is seen of them when they are cut open ends there, and not
//! where the tets do.

use glam::Vec3;
use rayon::prelude::*;

use super::outline::Outline;
use super::section::Plane;
use super::stage::{Host, SoftBodyVisual};

/// The surface of a soft body within its tets.
pub struct Embedded {
    hosts: Vec<Host>,
    /// Over its own vertices.
    triangles: Vec<[u32; 3]>,
    /// Nodes of the faces of its tets that belong to one tet only, and the place of that on the stage.
    border: Vec<([u32; 3], u32)>,
}

impl Embedded {
    /// None of a body whose surface is the border of its tets, the first of which has the place `first_tet`.
    pub fn of(body: &SoftBodyVisual, first_tet: u32, border: &[([u32; 3], u32)]) -> Option<Self> {
        if body.hosts.is_empty() || body.tets.is_empty() {
            return None;
        }
        let triangles = body.triangles.iter().map(|triangle| triangle.map(|vertex| vertex - body.vertices.start)).collect();
        let border = border.iter().map(|(face, tet)| (*face, first_tet + tet)).collect();
        Some(Self { hosts: body.hosts.clone(), triangles, border })
    }

    /// Its section where nodes are at positions `[x, y, z, _]` [m]; none where it is open there.
    pub fn outline(&self, nodes: &[[f32; 4]], plane: &Plane) -> Option<Outline> {
        let position = |host: &Host| host.nodes.iter().zip(host.weights).map(|(node, weight)| weight * point(nodes, *node)).sum::<Vec3>();
        let positions: Vec<Vec3> = self.hosts.par_iter().with_min_len(8192).map(position).collect();
        Outline::of(&positions, &self.triangles, plane)
    }

    /// The faces of its border, and their tets.
    pub fn faces(&self, nodes: &[[f32; 4]]) -> impl Iterator<Item = ([Vec3; 3], u32)> {
        self.border.iter().map(move |(face, tet)| (face.map(|node| point(nodes, node)), *tet))
    }
}

fn point(nodes: &[[f32; 4]], node: u32) -> Vec3 {
    Vec3::from_slice(&nodes[node as usize][..3])
}
