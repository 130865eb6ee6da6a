//! Normals of exported surfaces: the normals of the file where a body has some, turned with the tets; else normals of
//! smoothing groups.

use rayon::prelude::*;

use super::Frame;
use super::surfaces::{Carrier, Surfaces};
use crate::math::{Mat3, Quat, Vec3};
use crate::model::Model;
use crate::render::{SplitSurface, split_creases};
use crate::stage::vertex;

/// Drawn vertices: one for each different normal of a vertex.
pub struct Shading {
    /// The vertex that each drawn vertex shows.
    pub sources: Vec<u32>,
    /// Drawn vertices of each triangle.
    pub triangles: Vec<[u32; 3]>,
    /// The first drawn vertices: of the triangles of bodies without normals of their own.
    split: SplitSurface,
    /// The normals of the other drawn vertices.
    given: Vec<GivenNormal>,
}

/// A normal from a file.
#[derive(Clone, Copy)]
enum GivenNormal {
    /// The normal times the edges at rest of the tet that holds its vertex: three numbers that do not change.
    Soft(Vec3),
    /// The normal in the frame of the body.
    Rigid(Vec3, Carrier),
}

/// The edges from the first of four corners of a tet to the others.
fn edges(corners: [Vec3; 4]) -> [Vec3; 3] {
    [1, 2, 3].map(|corner| corners[corner] - corners[0])
}

impl Shading {
    pub fn new(model: &Model, surfaces: &Surfaces) -> Self {
        let rest: Vec<[f32; 4]> = surfaces.local.iter().map(vertex).collect();
        let is_given: Vec<bool> = surfaces.parts.iter().flat_map(|part| part.triangles.clone().map(|_| part.normals.is_some())).collect();
        let plain: Vec<[u32; 3]> = surfaces.triangles.iter().zip(&is_given).filter(|(_, is_given)| !**is_given).map(|(t, _)| *t).collect();
        let split = split_creases(&rest, &plain, &[], &[]);
        let mut shading = Self { sources: split.sources.clone(), triangles: surfaces.triangles.clone(), given: vec![], split };
        let without = shading.triangles.iter_mut().zip(&is_given).filter(|(_, is_given)| !**is_given).map(|(triangle, _)| triangle);
        without.zip(&shading.split.triangles).for_each(|(triangle, drawn)| *triangle = *drawn);
        for part in &surfaces.parts {
            let Some(normals) = &part.normals else { continue };
            let bits = |normal: &[f32; 3]| normal.map(f32::to_bits);
            let key =
                |corner: usize| (surfaces.triangles[part.triangles.start + corner / 3][corner % 3], bits(&normals[corner / 3][corner % 3]));
            let mut corners: Vec<usize> = (0..3 * normals.len()).collect();
            corners.par_sort_unstable_by_key(|&corner| (key(corner), corner));
            for same in corners.chunk_by(|&a, &b| key(a) == key(b)) {
                let drawn = shading.sources.len() as u32;
                let (source, normal) = (key(same[0]).0, Vec3::from(normals[same[0] / 3][same[0] % 3].map(f64::from)));
                same.iter().for_each(|&corner| shading.triangles[part.triangles.start + corner / 3][corner % 3] = drawn);
                shading.sources.push(source);
                shading.given.push(match part.carrier {
                    Carrier::Soft => {
                        let corners = model.surface.nodes[source as usize].map(|node| model.rest_positions[node as usize]);
                        GivenNormal::Soft(edges(corners).map(|edge| edge.dot(&normal)).into())
                    }
                    carrier => GivenNormal::Rigid(normal, carrier),
                });
            }
        }
        shading
    }

    /// Whether a body has normals from its file.
    pub fn has_given(&self) -> bool {
        !self.given.is_empty()
    }

    /// Unit normals of the drawn vertices; `positions` holds all vertices.
    ///
    /// A normal follows the inverse transpose of the deformation gradient F = D D0^-1 of the tet that holds its vertex,
    /// where the columns of D and D0 are edges now and at rest. But for a factor it becomes cof(D) D0^T n: cross
    /// products of two edges times the three numbers of [`GivenNormal::Soft`].
    pub fn normals(&self, model: &Model, frame: &Frame, positions: &[Vec3]) -> Vec<[f32; 3]> {
        let plain: Vec<[f32; 4]> = positions.iter().map(vertex).collect();
        let mut normals = self.split.normals(&plain);
        let rotations = |carrier: Carrier| match carrier {
            Carrier::Rigid(r) => frame.rigid_poses[r].rotation,
            Carrier::Obstacle(o) => frame.obstacle_poses[o].rotation,
            Carrier::Soft => Quat::identity(),
        };
        let sources = &self.sources[normals.len()..];
        normals.par_extend(self.given.par_iter().zip(sources).with_min_len(1024).map(|(given, &source)| {
            let normal = match *given {
                GivenNormal::Soft(numbers) => {
                    let at = |node: u32| model.rest_positions[node as usize] + frame.displacements[node as usize];
                    let [a, b, c] = edges(model.surface.nodes[source as usize].map(at));
                    Mat3::from_columns(&[b.cross(&c), c.cross(&a), a.cross(&b)]) * numbers
                }
                GivenNormal::Rigid(normal, carrier) => rotations(carrier) * normal,
            };
            let unit = normal.try_normalize(0.0).unwrap_or_default();
            [unit.x as f32, unit.y as f32, unit.z as f32]
        }));
        normals
    }

    /// Unit normals of all vertices: the mean of the normals of the corners there.
    pub fn vertex_normals(&self, model: &Model, frame: &Frame, positions: &[Vec3]) -> Vec<[f32; 3]> {
        let normals = self.normals(model, frame, positions);
        let mut sums = vec![Vec3::zeros(); positions.len()];
        for &drawn in self.triangles.as_flattened() {
            sums[self.sources[drawn as usize] as usize] += Vec3::from(normals[drawn as usize].map(f64::from));
        }
        let unit = |sum: &Vec3| sum.try_normalize(0.0).unwrap_or_default();
        sums.iter().map(unit).map(|n| [n.x as f32, n.y as f32, n.z as f32]).collect()
    }
}
