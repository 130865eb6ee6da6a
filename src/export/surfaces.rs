//! Everything that has a surface, as one mesh of triangles, for files of surfaces.

use std::ops::Range;

use crate::geometry::Shape;
use crate::math::{Aabb, Isometry, Vec3};
use crate::mesh::{CornerNormals, SurfaceMesh, SurfaceParts, shapes};
use crate::model::{Model, interpolate};
use crate::render::Rgb;
use crate::stage;

use super::Frame;

/// The surfaces of a model: drawn surfaces of the deformable bodies, meshes of the rigid bodies, and exact shapes as
/// triangles; all in the order of contact bodies. A plane, which has no end, is a square.
pub struct Surfaces {
    pub parts: Vec<Part>,
    /// Triangles over all vertices.
    pub triangles: Vec<[u32; 3]>,
    /// Vertices [m]: of deformable bodies at rest, of others in the frame of the body.
    pub local: Vec<Vec3>,
}

/// One body.
pub struct Part {
    pub name: String,
    pub vertices: Range<usize>,
    pub triangles: Range<usize>,
    pub color: Rgb,
    /// Parts of its surface that its file names or paints.
    pub of_file: Option<SurfaceParts>,
    pub carrier: Carrier,
    /// Texture coordinates of the corners of its triangles, if it has a texture.
    pub texture: Option<Vec<[[f32; 2]; 3]>>,
    /// Normals of the corners, at rest or in the frame of the body, if its file had some.
    pub normals: Option<Vec<CornerNormals>>,
}

/// Triangles of a part that look alike.
pub struct Look {
    /// As their file calls them, else the name of the part.
    pub name: String,
    /// Linear RGB.
    pub color: [f32; 3],
    pub triangles: Vec<usize>,
}

/// The thing that moves a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// The nodes of a deformable body.
    Soft,
    Rigid(usize),
    Obstacle(usize),
}

impl Surfaces {
    pub fn new(model: &Model) -> Self {
        let mut surfaces = Self { parts: vec![], triangles: vec![], local: model.surface_positions(&model.rest_positions) };
        surfaces.triangles.clone_from(&model.surface.triangles);
        for (index, body) in model.bodies.iter().enumerate() {
            let (vertices, triangles) = (body.vertices.clone(), body.triangles.clone());
            surfaces.parts.push(Part {
                name: body.name.clone(),
                vertices,
                triangles,
                color: stage::body_color(model, index),
                of_file: body.parts.clone(),
                carrier: Carrier::Soft,
                texture: body.texture_coordinates.clone(),
                normals: body.normals.clone(),
            });
        }
        for (r, body) in model.rigid_bodies.iter().enumerate() {
            let part = surfaces.part(&body.name, &body.vertices, &body.triangles, stage::rigid_color(model, r), Carrier::Rigid(r));
            let normals = model.rigid_normals[r].clone();
            surfaces.parts.push(Part { texture: body.texture_coordinates.clone(), normals, ..part });
        }
        let reach = reach(model);
        for (o, obstacle) in model.obstacles.iter().enumerate() {
            let shape = triangulated(&obstacle.shape, reach);
            let part =
                surfaces.part(&obstacle.name, &shape.positions, &shape.triangles, stage::obstacle_color(obstacle), Carrier::Obstacle(o));
            surfaces.parts.push(part);
        }
        surfaces
    }

    /// Adds vertices and triangles and gives the part that they make.
    fn part(&mut self, name: &str, vertices: &[Vec3], triangles: &[[u32; 3]], color: Rgb, carrier: Carrier) -> Part {
        let (first, first_triangle) = (self.local.len(), self.triangles.len());
        self.local.extend_from_slice(vertices);
        self.triangles.extend(triangles.iter().map(|t| t.map(|v| v + first as u32)));
        let (vertices, triangles) = (first..self.local.len(), first_triangle..self.triangles.len());
        Part { name: name.to_owned(), vertices, triangles, color, of_file: None, carrier, texture: None, normals: None }
    }

    /// Current positions of all vertices [m].
    pub fn positions(&self, model: &Model, frame: &Frame) -> Vec<Vec3> {
        let mut positions = model.surface_positions(&frame.node_positions(model));
        for part in &self.parts {
            if let Some(pose) = part.pose(frame) {
                positions.extend(self.local[part.vertices.clone()].iter().map(|p| pose.rotation * p + pose.translation.vector));
            }
        }
        positions
    }

    /// Values at all vertices, mixed from values of nodes; `other` for bodies without nodes.
    pub fn of_nodes<T: Copy>(&self, model: &Model, mix: impl Fn(&[u32; 4], &[f64; 4]) -> T, other: T) -> Vec<T> {
        let mut values: Vec<T> =
            model.surface.nodes.iter().zip(&model.surface.weights).map(|(nodes, weights)| mix(nodes, weights)).collect();
        values.resize(self.local.len(), other);
        values
    }

    /// Vectors at all vertices, interpolated from vectors of the nodes; zero for bodies without nodes.
    pub fn vectors_of_nodes(&self, model: &Model, values: &[Vec3]) -> Vec<Vec3> {
        self.of_nodes(model, |nodes, weights| interpolate(values, nodes, weights), Vec3::zeros())
    }
}

impl Part {
    /// Linear RGB of each of its triangles, if they have colours of their own.
    pub fn colors(&self) -> Option<Vec<[f32; 3]>> {
        self.of_file.as_ref().and_then(SurfaceParts::colors)
    }

    /// Its triangles by what its file tells from each other, counted within the part.
    pub fn looks(&self) -> Vec<Look> {
        let mut triangles: Vec<usize> = (0..self.triangles.len()).collect();
        let own = stage::linear(self.color);
        let Some(SurfaceParts { parts, of_triangles }) = &self.of_file else {
            return vec![Look { name: self.name.clone(), color: own, triangles }];
        };
        let colors = self.colors();
        triangles.sort_by_key(|t| of_triangles[*t]);
        let looks = triangles.chunk_by(|a, b| of_triangles[*a] == of_triangles[*b]).map(|same| {
            let name = Some(&parts[of_triangles[same[0]] as usize].name).filter(|name| !name.is_empty());
            let color = colors.as_ref().map_or(own, |colors| colors[same[0]]);
            Look { name: name.unwrap_or(&self.name).clone(), color, triangles: same.to_vec() }
        });
        looks.collect()
    }

    /// The pose of a rigid body or an obstacle; none for deformable bodies.
    pub fn pose<'a>(&self, frame: &'a Frame) -> Option<&'a Isometry> {
        match self.carrier {
            Carrier::Soft => None,
            Carrier::Rigid(r) => Some(&frame.rigid_poses[r]),
            Carrier::Obstacle(o) => Some(&frame.obstacle_poses[o]),
        }
    }
}

/// Half the side of the square that stands for a plane [m]: twice the size of the bodies on it.
fn reach(model: &Model) -> f64 {
    let rigid = model.rigid_bodies.iter().flat_map(|body| body.positions(&body.pose));
    let points: Vec<Vec3> = model.rest_positions.iter().copied().chain(rigid).collect();
    if points.is_empty() { 1.0 } else { 2.0 * Aabb::of(&points).extent().norm() }
}

/// A shape in its own frame as triangles; a round shape is met to 0.1 % of its size.
fn triangulated(shape: &Shape, reach: f64) -> SurfaceMesh {
    match *shape {
        Shape::Plane => {
            let corners = [[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, -1.0]];
            let positions = corners.map(|[x, z]| Vec3::new(x, 0.0, z) * reach).to_vec();
            SurfaceMesh { positions, triangles: vec![[0, 1, 2], [0, 2, 3]], ..SurfaceMesh::default() }
        }
        Shape::Box { half_extents } => shapes::box_tets(half_extents * 2.0, [1, 1, 1]).surface(),
        Shape::Sphere { radius } => shapes::icosphere(radius, 4),
        Shape::Cylinder { radius, half_height } => shapes::cylinder(radius, 2.0 * half_height, 18).surface(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_face_outwards_and_fill_their_volume() {
        let pi = std::f64::consts::PI;
        for (shape, volume) in [
            (Shape::Box { half_extents: Vec3::new(0.5, 1.0, 2.0) }, 8.0),
            (Shape::Sphere { radius: 0.7 }, 4.0 / 3.0 * pi * 0.7_f64.powi(3)),
            (Shape::Cylinder { radius: 0.4, half_height: 1.5 }, pi * 0.16 * 3.0),
        ] {
            let mesh = triangulated(&shape, 1.0);
            assert!((mesh.signed_volume() / volume - 1.0).abs() < 0.01, "{shape:?}: {}", mesh.signed_volume());
            assert!(mesh.aabb().center().norm() < 1e-12, "{shape:?}");
        }
        let plane = triangulated(&Shape::Plane, 3.0);
        let [a, b, c] = plane.corners(0);
        assert!((b - a).cross(&(c - a)).y > 0.0 && (plane.area() - 36.0).abs() < 1e-12);
    }
}
