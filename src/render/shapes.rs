//! Triangles of obstacles.

use glam::Vec3;

use super::palette::Rgb;
use super::stage::ObstacleShape;
use super::uniforms::Vertex;

/// Obstacles' finish: smoother than elastic bodies.
const SATIN: f32 = 1.0;

/// Appends the triangles of a shape; nothing for a plane. Round shapes have stripes or patches, so that turning can be seen.
pub fn add_shape(shape: ObstacleShape, color: Rgb, vertices: &mut Vec<Vertex>, indices: &mut Vec<u32>) {
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
    match shape {
        ObstacleShape::Plane => {}
        ObstacleShape::Box { half_extents } => {
            for axis in 0..3 {
                for sign in [-1.0, 1.0] {
                    let normal = Vec3::AXES[axis] * sign;
                    let (u, v) = (Vec3::AXES[(axis + 1) % 3] * sign, Vec3::AXES[(axis + 2) % 3]);
                    quad([normal - u - v, normal + u - v, normal + u + v, normal - u + v].map(|p| (p * half_extents, normal)), color);
                }
            }
        }
        ObstacleShape::Sphere { radius } => {
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
        ObstacleShape::Cylinder { radius, half_height } => {
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

/// Half the size of the box about the local origin that holds a shape [m]; `None` for a plane.
pub fn half_extents(shape: ObstacleShape) -> Option<Vec3> {
    match shape {
        ObstacleShape::Plane => None,
        ObstacleShape::Box { half_extents } => Some(half_extents),
        ObstacleShape::Sphere { radius } => Some(Vec3::splat(radius)),
        ObstacleShape::Cylinder { radius, half_height } => Some(Vec3::new(radius, half_height, radius)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triangles_face_outwards_and_fill_the_shape() {
        let pi = std::f32::consts::PI;
        for (shape, volume) in [
            (ObstacleShape::Box { half_extents: Vec3::new(0.5, 1.0, 2.0) }, 8.0),
            (ObstacleShape::Sphere { radius: 0.7 }, 4.0 / 3.0 * pi * 0.7_f32.powi(3)),
            (ObstacleShape::Cylinder { radius: 0.4, half_height: 1.5 }, pi * 0.16 * 3.0),
        ] {
            let (mut vertices, mut indices) = (Vec::new(), Vec::new());
            add_shape(shape, Rgb::hex(0x808080), &mut vertices, &mut indices);
            let mut sum = 0.0;
            for tri in indices.chunks(3) {
                let [a, b, c] = [0, 1, 2].map(|k| Vec3::from(vertices[tri[k] as usize].position));
                let normal = (b - a).cross(c - a);
                sum += a.dot(normal) / 6.0;
                assert!(tri.iter().all(|&i| normal.dot(Vec3::from(vertices[i as usize].normal)) >= -1e-6), "{shape:?}");
            }
            assert!((sum / volume - 1.0).abs() < 0.01, "{shape:?}: {sum} against {volume}");
        }
    }
}
