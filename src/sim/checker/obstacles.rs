//! How deep surfaces are inside analytic obstacles. Exact for whole triangles, not only their corners, and made of
//! other means than the contact rows: clipping and bisection instead of gaps.

use crate::geometry::Shape;
use crate::math::{Aabb, Isometry, Vec3};
use crate::model::Model;
use crate::model::{PairKind, WarmStart};

/// Depth [m, >= 0] of the deepest point of the surface of one body in one obstacle: its distance to the obstacle's
/// surface. An obstacle that lies wholly inside the body counts with its distance to the body's surface as well.
/// `triangles`: those of the body, over `vertices` [m, world]. `pose`: of the obstacle.
pub fn depth_in_obstacle(shape: &Shape, pose: &Isometry, vertices: &[Vec3], triangles: &[[u32; 3]]) -> f64 {
    if triangles.is_empty() {
        return 0.0;
    }
    let (first, last) = triangles.iter().flatten().fold((u32::MAX, 0), |(first, last), v| (first.min(*v), last.max(*v)));
    let local: Vec<Vec3> = vertices[first as usize..=last as usize].iter().map(|p| in_frame(pose, p)).collect();
    match shape {
        Shape::Plane => triangles.iter().flatten().fold(0.0, |depth, v| f64::max(depth, -local[(v - first) as usize].y)),
        shape => body_depth(shape, &local, triangles, |t| t.map(|v| local[(v - first) as usize])),
    }
}

/// Surface vertices that are deeper than `tolerance` [m] in an obstacle although no contact force holds them there: the
/// search for contacts missed them.
pub fn missed_candidates(model: &Model, vertices: &[Vec3], poses: &[Isometry], contacts: &WarmStart, tolerance: f64) -> u64 {
    let mut held: Vec<(u32, u32)> =
        contacts.entries.iter().filter(|c| c.pair.kind == PairKind::VertexObstacle).map(|c| (c.pair.second, c.pair.first)).collect();
    held.sort_unstable();
    let mut missed = 0;
    for (o, (obstacle, pose)) in model.obstacles.iter().zip(poses).enumerate() {
        for (v, p) in vertices.iter().enumerate() {
            let p = in_frame(pose, p);
            let deep = meets(&obstacle.shape, &[p; 3], tolerance);
            missed += u64::from(deep && held.binary_search(&(o as u32, v as u32)).is_err());
        }
    }
    missed
}

fn in_frame(pose: &Isometry, p: &Vec3) -> Vec3 {
    pose.inverse_transform_point(&(*p).into()).coords
}

/// Depth of one body in a bounded obstacle; positions in the obstacle's frame.
fn body_depth(shape: &Shape, vertices: &[Vec3], triangles: &[[u32; 3]], corners: impl Fn(&[u32; 3]) -> [Vec3; 3]) -> f64 {
    let reach = half_extents(shape);
    let bounds = Aabb::of(vertices);
    if (0..3).any(|i| bounds.min[i] > reach[i] || bounds.max[i] < -reach[i]) {
        return 0.0;
    }
    let mut touched = false;
    let mut depth = 0.0;
    for triangle in triangles {
        let x = corners(triangle);
        if (0..3).any(|i| x.iter().all(|p| p[i] > reach[i]) || x.iter().all(|p| p[i] < -reach[i])) {
            continue;
        }
        if let Some(deeper) = triangle_depth(shape, &x, depth) {
            (touched, depth) = (true, deeper);
        }
    }
    // No triangle touches, yet the boxes overlap: the body may have swallowed the obstacle.
    if !touched && winding_number(triangles.iter().map(&corners)).abs() > 0.5 {
        let distance = triangles.iter().map(|t| closest_point(&corners(t)).norm()).fold(f64::INFINITY, f64::min);
        return distance + reach.min();
    }
    depth
}

fn half_extents(shape: &Shape) -> Vec3 {
    match *shape {
        Shape::Plane => Vec3::repeat(f64::INFINITY),
        Shape::Box { half_extents } => half_extents,
        Shape::Sphere { radius } => Vec3::repeat(radius),
        Shape::Cylinder { radius, half_height } => Vec3::new(radius, half_height, radius),
    }
}

/// Depth of a triangle if it is larger than `known`: the largest `d` at which it still meets the shape with `d` taken
/// off all round.
fn triangle_depth(shape: &Shape, x: &[Vec3; 3], known: f64) -> Option<f64> {
    if !meets(shape, x, known) {
        return None;
    }
    let (mut inside, mut outside) = (known, half_extents(shape).min());
    while outside - inside > 1e-9 * outside + 1e-12 {
        let middle = 0.5 * (inside + outside);
        if meets(shape, x, middle) {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    Some(inside)
}

/// Whether a triangle has a point strictly inside the shape with `inset` taken off all round.
fn meets(shape: &Shape, x: &[Vec3; 3], inset: f64) -> bool {
    match *shape {
        Shape::Plane => x.iter().any(|p| -p.y > inset),
        Shape::Sphere { radius } => closest_point(x).norm() < radius - inset,
        Shape::Box { half_extents } => {
            let mut polygon = x.to_vec();
            (0..3).for_each(|axis| clip_to_slab(&mut polygon, axis, half_extents[axis] - inset));
            !polygon.is_empty()
        }
        Shape::Cylinder { radius, half_height } => {
            let mut polygon = x.to_vec();
            clip_to_slab(&mut polygon, 1, half_height - inset);
            // Seen along the axis: the distance of a convex polygon to it.
            polygon.iter_mut().for_each(|p| p.y = 0.0);
            let fan = (2..polygon.len()).map(|i| [polygon[0], polygon[i - 1], polygon[i]]);
            fan.map(|t| closest_point(&t).norm()).any(|distance| distance < radius - inset)
        }
    }
}

/// Keeps the part of a convex polygon with `|p[axis]| < half`. [Sutherland & Hodgman 1974]
fn clip_to_slab(polygon: &mut Vec<Vec3>, axis: usize, half: f64) {
    for sign in [1.0, -1.0] {
        let inside = |p: &Vec3| half - sign * p[axis];
        // A polygon that only touches the border has no point strictly inside.
        if !polygon.iter().any(|p| inside(p) > 0.0) {
            polygon.clear();
            return;
        }
        let mut kept = Vec::with_capacity(polygon.len() + 1);
        for i in 0..polygon.len() {
            let (p, q) = (polygon[i], polygon[(i + 1) % polygon.len()]);
            let (a, b) = (inside(&p), inside(&q));
            if a >= 0.0 {
                kept.push(p);
            }
            if (a > 0.0 && b < 0.0) || (a < 0.0 && b > 0.0) {
                kept.push(p + (q - p) * (a / (a - b)));
            }
        }
        *polygon = kept;
    }
}

/// The point of a triangle nearest to the origin: the foot of the perpendicular when it lies inside, else the best of
/// the edges.
pub(super) fn closest_point(x: &[Vec3; 3]) -> Vec3 {
    let normal = (x[1] - x[0]).cross(&(x[2] - x[0]));
    let area = normal.norm_squared();
    if area > 0.0 {
        let foot = normal * (normal.dot(&x[0]) / area);
        let within = (0..3).all(|i| (x[(i + 1) % 3] - x[i]).cross(&(foot - x[i])).dot(&normal) >= 0.0);
        if within {
            return foot;
        }
    }
    let on_edge = |i: usize| {
        let (a, edge) = (x[i], x[(i + 1) % 3] - x[i]);
        let length = edge.norm_squared();
        a + edge * if length > 0.0 { (-a.dot(&edge) / length).clamp(0.0, 1.0) } else { 0.0 }
    };
    let points = [on_edge(0), on_edge(1), on_edge(2)];
    points.into_iter().min_by(|a, b| a.norm_squared().total_cmp(&b.norm_squared())).unwrap_or(x[0])
}

/// How often a closed surface winds around the origin: the sum of its triangles' solid angles over 4 pi [van Oosterom &
/// Strackee 1983].
fn winding_number(triangles: impl Iterator<Item = [Vec3; 3]>) -> f64 {
    let angle = |[a, b, c]: [Vec3; 3]| {
        let (la, lb, lc) = (a.norm(), b.norm(), c.norm());
        2.0 * a.dot(&b.cross(&c)).atan2(la * lb * lc + a.dot(&b) * lc + b.dot(&c) * la + c.dot(&a) * lb)
    };
    triangles.map(angle).sum::<f64>() / (4.0 * std::f64::consts::PI)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::Material;
    use crate::math::Quat;
    use crate::mesh::shapes;
    use crate::model::{ModelBuilder, Obstacle, SoftBody};
    use crate::model::{PairId, WarmContact};

    /// A cube of one cell and side 2 around `center`, and an obstacle at the origin; both moved by `pose`.
    fn cube_and(shape: Shape, center: [f64; 3], pose: Isometry) -> Model {
        let mut tets = shapes::box_tets(Vec3::repeat(2.0), [1, 1, 1]);
        tets.positions.iter_mut().for_each(|p| *p = pose.transform_point(&(*p + Vec3::from(center)).into()).coords);
        let mut builder = ModelBuilder::default();
        builder.soft_body(SoftBody::with_boundary_surface("cube", Material::default(), tets));
        builder.obstacle(Obstacle { name: "o".into(), shape, pose, motion: None, friction: vec![0.0], color: None });
        builder.build().unwrap()
    }

    #[track_caller]
    fn assert_depth(shape: Shape, center: [f64; 3], wanted: f64) {
        // The same scene, moved and turned as a whole, has the same depth.
        let turned = Isometry::from_parts(Vec3::new(0.3, -0.2, 0.7).into(), Quat::from_euler_angles(0.4, 1.1, -0.6));
        for pose in [Isometry::identity(), turned] {
            let model = cube_and(shape, center, pose);
            let vertices = model.surface_positions(&model.rest_positions);
            let found = depth_in_obstacle(&shape, &pose, &vertices, &model.surface.triangles);
            assert!((found - wanted).abs() < 1e-7, "{shape:?} at {center:?}: {found} instead of {wanted}");
        }
    }

    #[test]
    fn planes() {
        assert_depth(Shape::Plane, [0.0, 1.5, 0.0], 0.0);
        assert_depth(Shape::Plane, [0.0, 0.75, 0.0], 0.25);
        assert_depth(Shape::Plane, [0.0, -3.0, 0.0], 4.0);
    }

    #[test]
    fn corners_inside_and_faces_pierced_by_edges() {
        let unit = Shape::Box { half_extents: Vec3::repeat(1.0) };
        assert_depth(unit, [1.9, 0.0, 0.0], 0.1);
        assert_depth(unit, [2.1, 0.0, 0.0], 0.0);
        // Both touch exactly: no depth.
        assert_depth(unit, [2.0, 0.0, 0.0], 0.0);
        assert_depth(unit, [1.9, 1.8, 1.7], 0.1);
        // A thin bar through a face far from its corners: only the interior of triangles is inside.
        let bar = Shape::Box { half_extents: Vec3::new(3.0, 0.1, 0.1) };
        assert_depth(bar, [0.0, 0.0, 0.0], 0.1);
        assert_depth(bar, [0.0, 1.05, 0.0], 0.05);
    }

    #[test]
    fn round_shapes_pressed_into_the_middle_of_a_face() {
        assert_depth(Shape::Sphere { radius: 0.5 }, [0.0, 1.4, 0.0], 0.1);
        assert_depth(Shape::Sphere { radius: 0.5 }, [0.0, 1.6, 0.0], 0.0);
        assert_depth(Shape::Sphere { radius: 5.0 }, [0.0, 0.0, 0.0], 5.0 - 1.0);
        let cylinder = Shape::Cylinder { radius: 0.5, half_height: 2.0 };
        assert_depth(cylinder, [1.45, 0.0, 0.1], 0.05);
        assert_depth(cylinder, [1.55, 0.0, 0.1], 0.0);
        // Through an end cap.
        assert_depth(Shape::Cylinder { radius: 3.0, half_height: 0.5 }, [0.0, 1.45, 0.0], 0.05);
        // A corner beside the rim: inside the box around the cylinder, outside the cylinder.
        assert_depth(Shape::Cylinder { radius: 1.0, half_height: 1.0 }, [1.9, 0.0, 1.9], 0.0);
    }

    #[test]
    fn swallowed_obstacles_count() {
        assert_depth(Shape::Sphere { radius: 0.25 }, [0.5, 0.0, 0.0], 0.5 + 0.25);
        assert_depth(Shape::Sphere { radius: 0.25 }, [1.4, 0.0, 0.0], 0.0);
    }

    #[test]
    fn deep_vertices_without_a_contact_were_missed() {
        let model = cube_and(Shape::Plane, [0.0, 0.99, 0.0], Isometry::identity());
        let vertices = model.surface_positions(&model.rest_positions);
        let count = |contacts: &WarmStart, tolerance| missed_candidates(&model, &vertices, &[Isometry::identity()], contacts, tolerance);
        let nothing = WarmStart::default();
        assert_eq!((count(&nothing, 1e-3), count(&nothing, 0.02)), (4, 0));
        let vertex = (0..8).find(|&v| vertices[v as usize].y < 0.0).unwrap();
        let held = WarmContact {
            pair: PairId { kind: PairKind::VertexObstacle, first: vertex, second: 0 },
            normal_force: 1.0,
            friction_force: Vec3::zeros(),
            sliding: false,
            slip: Vec3::zeros(),
            place: None,
        };
        assert_eq!(count(&WarmStart { entries: vec![held] }, 1e-3), 3);
    }
}
