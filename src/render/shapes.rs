//! Makes the triangles of rigid things.

use glam::Vec3;

use super::drawn;
use super::geometry::{SplitSurface, split_creases};
use super::palette::Rgb;
use super::stage::{RigidShape, RigidVisual};
use super::uniforms::Vertex;

/// Finish of rigid things: smoother than elastic bodies.
const SATIN: f32 = 1.0;

/// Appends the triangles of a thing; nothing for a plane. Round shapes have stripes or patches, so that turning can be
/// seen.
pub fn add_shape(rigid: &RigidVisual, vertices: &mut Vec<Vertex>, indices: &mut Vec<u32>) {
    let color = rigid.color;
    let dark = Rgb(color.0.map(|c| c * 0.8));
    let mut quad = |corners: [(Vec3, Vec3); 4], color: Rgb| {
        let first = vertices.len() as u32;
        vertices.extend(corners.map(|(position, normal)| Vertex {
            position: position.to_array(),
            color: color.packed(),
            normal: normal.to_array(),
            satin: SATIN,
        }));
        indices.extend([0, 1, 2, 0, 2, 3].map(|k| first + k));
    };
    match rigid.shape {
        RigidShape::Plane => {}
        RigidShape::Mesh { ref positions, ref triangles, ref normals } => {
            add_mesh(&split_creases(positions, triangles, normals, &[]), positions, color, vertices, indices);
        }
        RigidShape::Box { half_extents } => {
            for axis in 0..3 {
                for sign in [-1.0, 1.0] {
                    let normal = Vec3::AXES[axis] * sign;
                    let (u, v) = (Vec3::AXES[(axis + 1) % 3] * sign, Vec3::AXES[(axis + 2) % 3]);
                    quad([normal - u - v, normal + u - v, normal + u + v, normal - u + v].map(|p| (p * half_extents, normal)), color);
                }
            }
        }
        RigidShape::Sphere { radius } => {
            let (rows, columns) = (32, 64);
            let point = |row: usize, column: usize| {
                let (sin_p, cos_p) = (std::f32::consts::PI * row as f32 / rows as f32).sin_cos();
                let (sin_a, cos_a) = (std::f32::consts::TAU * column as f32 / columns as f32).sin_cos();
                let normal = Vec3::new(sin_p * sin_a, cos_p, sin_p * cos_a);
                (normal * radius, normal)
            };
            for row in 0..rows {
                for column in 0..columns {
                    let stripe = if column / 8 % 2 == 0 { color } else { dark };
                    let corners = [(row, column), (row + 1, column), (row + 1, column + 1), (row, column + 1)];
                    quad(corners.map(|(r, c)| point(r, c)), stripe);
                }
            }
        }
        RigidShape::Cylinder { radius, half_height } => {
            let columns = 64;
            for column in 0..columns {
                let stripe = if column / 4 % 2 == 0 { color } else { dark };
                let around = |c: usize| {
                    let (sin, cos) = (std::f32::consts::TAU * c as f32 / columns as f32).sin_cos();
                    Vec3::new(sin, 0.0, cos)
                };
                let (n0, n1) = (around(column), around(column + 1));
                let (p0, p1, top) = (n0 * radius, n1 * radius, Vec3::Y * half_height);
                quad([(p0 - top, n0), (p1 - top, n1), (p1 + top, n1), (p0 + top, n0)], stripe);
                quad([(top, Vec3::Y), (top, Vec3::Y), (p0 + top, Vec3::Y), (p1 + top, Vec3::Y)], stripe);
                quad([(-top, -Vec3::Y), (-top, -Vec3::Y), (p1 - top, -Vec3::Y), (p0 - top, -Vec3::Y)], stripe);
            }
        }
    }
}

/// A mesh with its creases kept.
fn add_mesh(split: &SplitSurface, positions: &[[f32; 4]], color: Rgb, vertices: &mut Vec<Vertex>, indices: &mut Vec<u32>) {
    let first = vertices.len();
    vertices.resize(first + split.sources.len(), Vertex { color: color.packed(), satin: SATIN, ..Vertex::default() });
    drawn::normals(split, positions, &mut vertices[first..]);
    indices.extend(split.triangles.iter().flatten().map(|i| first as u32 + i));
}

/// The box around a shape in its own frame, from the lowest corner to the highest [m]; `None` for a plane.
pub fn local_box(shape: &RigidShape) -> Option<[Vec3; 2]> {
    let half = match *shape {
        RigidShape::Plane => return None,
        RigidShape::Box { half_extents } => half_extents,
        RigidShape::Sphere { radius } => Vec3::splat(radius),
        RigidShape::Cylinder { radius, half_height } => Vec3::new(radius, half_height, radius),
        RigidShape::Mesh { ref positions, .. } => {
            let points = positions.iter().map(|p| Vec3::from_slice(&p[..3]));
            let low = points.clone().reduce(Vec3::min)?;
            return Some([low, points.fold(low, Vec3::max)]);
        }
    };
    Some([-half, half])
}

#[cfg(test)]
mod tests {
    use glam::Mat4;

    use super::*;

    #[test]
    fn triangles_face_outwards_and_fill_the_shape() {
        let pi = std::f32::consts::PI;
        for (shape, volume) in [
            (RigidShape::Box { half_extents: Vec3::new(0.5, 1.0, 2.0) }, 8.0),
            (RigidShape::Sphere { radius: 0.7 }, 4.0 / 3.0 * pi * 0.7_f32.powi(3)),
            (RigidShape::Cylinder { radius: 0.4, half_height: 1.5 }, pi * 0.16 * 3.0),
        ] {
            let (mut vertices, mut indices) = (Vec::new(), Vec::new());
            let rigid = RigidVisual { name: String::new(), shape, color: Rgb::hex(0x808080), transform: Mat4::IDENTITY, free: false };
            add_shape(&rigid, &mut vertices, &mut indices);
            let mut sum = 0.0;
            for tri in indices.chunks(3) {
                let [a, b, c] = [0, 1, 2].map(|k| Vec3::from(vertices[tri[k] as usize].position));
                let normal = (b - a).cross(c - a);
                sum += a.dot(normal) / 6.0;
                assert!(tri.iter().all(|&i| normal.dot(Vec3::from(vertices[i as usize].normal)) >= -1e-6), "{rigid:?}");
            }
            assert!((sum / volume - 1.0).abs() < 0.01, "{rigid:?}: {sum} against {volume}");
        }
    }
}
