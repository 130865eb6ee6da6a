//! Finds what the cursor touches.

use super::Ray;
use crate::math::Vec3;

/// The point where a ray meets a triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Index of the triangle.
    pub triangle: usize,
    /// Weights of its three corners, each >= 0, sum 1.
    pub barycentric: [f64; 3],
    /// Distance from the ray's origin [m].
    pub distance: f64,
    /// The point itself [m].
    pub point: Vec3,
}

/// The nearest triangle that a ray meets, from either side; among several at the same distance the first. Positions are
/// `[x, y, z, _]` [m].
///
/// The triangle is moved into a frame in which the ray is the z axis, where the signs of three 2-D areas decide [Woop,
/// Benthin & Wald 2013]. Both triangles of an edge compute the same area for it, so no ray slips between neighbours.
pub fn pick(ray: &Ray, positions: &[[f32; 4]], triangles: &[[u32; 3]]) -> Option<Hit> {
    // The longest component of the direction becomes z; x and y are exchanged if needed to keep the handedness.
    let z = ray.direction.iamax();
    let (mut x, mut y) = ((z + 1) % 3, (z + 2) % 3);
    if ray.direction[z] < 0.0 {
        std::mem::swap(&mut x, &mut y);
    }
    let shear = [ray.direction[x] / ray.direction[z], ray.direction[y] / ray.direction[z], 1.0 / ray.direction[z]];

    let mut nearest: Option<Hit> = None;
    for (triangle, corners) in triangles.iter().enumerate() {
        let [a, b, c] = corners.map(|i| {
            let p = positions[i as usize];
            let d = Vec3::new(p[0] as f64, p[1] as f64, p[2] as f64) - ray.origin;
            [d[x] - shear[0] * d[z], d[y] - shear[1] * d[z], shear[2] * d[z]]
        });
        let area = |p: [f64; 3], q: [f64; 3]| p[0] * q[1] - p[1] * q[0];
        let w = [area(c, b), area(a, c), area(b, a)];
        let outside = w.iter().any(|&w| w < 0.0) && w.iter().any(|&w| w > 0.0);
        let sum = w[0] + w[1] + w[2];
        if outside || sum == 0.0 || !sum.is_finite() {
            continue;
        }
        let barycentric = w.map(|w| w / sum);
        let along = barycentric[0] * a[2] + barycentric[1] * b[2] + barycentric[2] * c[2];
        let distance = along * ray.direction.norm();
        if distance >= 0.0 && nearest.is_none_or(|n| distance < n.distance) {
            nearest = Some(Hit { triangle, barycentric, distance, point: ray.origin + ray.direction * along });
        }
    }
    nearest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An octahedron of radius 1.
    fn octahedron() -> (Vec<[f32; 4]>, Vec<[u32; 3]>) {
        let positions = [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]];
        let positions = positions.iter().map(|p: &[i32; 3]| [p[0] as f32, p[1] as f32, p[2] as f32, 0.0]).collect();
        let triangles = vec![[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]];
        (positions, triangles)
    }

    #[test]
    fn hits_the_nearest_triangle_exactly() {
        let (positions, triangles) = octahedron();
        for (t, corners) in triangles.iter().enumerate() {
            let weights = [0.2, 0.3, 0.5];
            let corner = |k: usize| Vec3::from_fn(|i, _| positions[corners[k] as usize][i] as f64);
            let want = corner(0) * weights[0] + corner(1) * weights[1] + corner(2) * weights[2];
            let origin = want * 4.0 + Vec3::new(0.1, -0.2, 0.05);
            let ray = Ray { origin, direction: (want - origin).normalize() };
            let hit = pick(&ray, &positions, &triangles).unwrap();
            assert_eq!(hit.triangle, t);
            assert!((hit.point - want).norm() < 1e-12);
            assert!((hit.distance - (want - origin).norm()).abs() < 1e-12);
            assert!(hit.barycentric.iter().zip(weights).all(|(a, b)| (a - b).abs() < 1e-12));
            // From inside, the same triangle is met from behind.
            let inside = Ray { origin: Vec3::zeros(), direction: want.normalize() };
            assert_eq!(pick(&inside, &positions, &triangles).unwrap().triangle, t);
        }
    }

    #[test]
    fn edges_and_corners_do_not_leak_and_misses_miss() {
        let (positions, triangles) = octahedron();
        for k in 0..400 {
            let angle = k as f64 * 0.017;
            // Rays from inside through the edges of the equator and through corners.
            let ray = Ray { origin: Vec3::zeros(), direction: Vec3::new(angle.cos(), angle.sin(), 0.0) };
            assert!(pick(&ray, &positions, &triangles).is_some());
        }
        let away = Ray { origin: Vec3::new(0.0, 3.0, 0.0), direction: Vec3::y() };
        assert_eq!(pick(&away, &positions, &triangles), None);
        let beside = Ray { origin: Vec3::new(1.01, 3.0, 0.0), direction: -Vec3::y() };
        assert_eq!(pick(&beside, &positions, &triangles), None);
    }
}
