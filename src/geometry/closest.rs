//! Closest points of a vertex and a triangle, and of two edges.

use super::mesh::{Mesh, Pair};
use crate::math::Vec3;

/// Where two features are closest. With the weights w of its four vertices, sum w_i x_i = distance * direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Closest {
    /// Sum +1 over the first side, -1 over the second; each side's within its feature.
    pub weights: [f64; 4],
    /// Unit vector from the second side to the first. Of two possible signs at distance 0 the one of the face normal,
    /// or of the cross product of the edges.
    pub direction: Vec3,
    /// [m], never negative.
    pub distance: f64,
    /// Whether the closest points of the plane or of the lines lie outside the features.
    pub clamped: bool,
}

/// The closest points of a pair at positions `x` [m].
pub fn closest(mesh: &Mesh, pair: Pair, x: &[Vec3]) -> Closest {
    let points = mesh.vertices(pair).map(|v| x[v as usize]);
    match pair {
        Pair::VertexFace { .. } => vertex_face(&points),
        Pair::EdgeEdge { .. } => edge_edge(&points),
    }
}

/// The direction in which a pair pushes apart at positions `x`, on the side of `toward` (unit): the normal of the
/// triangle, or the cross product of the edges, brought into the normal cones of both edges
/// ([`NormalCone::in_normal_cone`](super::mesh::NormalCone::in_normal_cone)): between nearly parallel edges, and in
/// flat parts of a surface, the cross product depends on small deformations only. Where the end of an edge is nearest
/// (`at_end`), the cross product is that of lines which do not meet: then the direction is `toward`, brought into the
/// normal cones.
pub fn pushing_direction(mesh: &Mesh, pair: Pair, x: &[Vec3], toward: &Vec3, at_end: bool) -> Vec3 {
    let [a, b, c, d] = mesh.vertices(pair).map(|v| x[v as usize]);
    let (normal, size) = match pair {
        Pair::VertexFace { .. } => ((c - b).cross(&(d - b)), 0.0),
        Pair::EdgeEdge { .. } if at_end => (*toward, 0.0),
        Pair::EdgeEdge { .. } => ((b - a).cross(&(d - c)), NEARLY_PARALLEL * (b - a).norm() * (d - c).norm()),
    };
    let normal = normal.try_normalize(size).unwrap_or(*toward);
    let normal = if normal.dot(toward) < 0.0 { -normal } else { normal };
    let Pair::EdgeEdge { first, second } = pair else { return normal };
    // Surfaces that meet from inside push in the opposite direction.
    let [first, second] = [first, second].map(|edge| mesh.normal_cone(edge, x));
    let sides = [normal.dot(&second.outward()), -normal.dot(&first.outward())];
    let side = match sides {
        [a, b] if a > 0.0 && b > 0.0 => 1.0,
        [a, b] if a < 0.0 && b < 0.0 => -1.0,
        _ => return normal,
    };
    let of_second = second.in_normal_cone(&(normal * side)) * side;
    let of_both = -first.in_normal_cone(&(-of_second * side)) * side;
    // Where an end of the first edge is near, its cone may have nothing across the second one: features that push each
    // other along an edge never come apart, and creep on and on.
    if second.is_along(&of_both) { of_second } else { of_both }
}

/// Sine of the angle between edges below which their cross product says more about rounding and small deformation than
/// about the contact.
pub(super) const NEARLY_PARALLEL: f64 = 1e-3;

/// sum w_i x_i.
#[inline]
pub(super) fn weighted(weights: &[f64; 4], x: &[Vec3; 4]) -> Vec3 {
    x[0] * weights[0] + x[1] * weights[1] + x[2] * weights[2] + x[3] * weights[3]
}

/// Sine of the angle below which two edges are taken as parallel: their common range is met in its middle.
const PARALLEL: f64 = 1e-7;

fn finish(weights: [f64; 4], x: &[Vec3; 4], normal: &Vec3, clamped: bool) -> Closest {
    let apart = weighted(&weights, x);
    let distance = apart.norm();
    let unit = || normal.try_normalize(0.0);
    let direction = match unit() {
        // Along the normal the direction is known better than from the difference of two close points.
        Some(n) if !clamped => n * 1f64.copysign(apart.dot(&n)),
        _ => apart.try_normalize(0.0).or_else(unit).unwrap_or_else(Vec3::x),
    };
    Closest { weights, direction, distance, clamped }
}

/// Points: vertex, triangle.
pub(super) fn vertex_face(x: &[Vec3; 4]) -> Closest {
    let (ab, ac, ap) = (x[2] - x[1], x[3] - x[1], x[0] - x[1]);
    let normal = ab.cross(&ac);
    let area = normal.norm_squared();
    if area > 0.0 {
        let v = ap.cross(&ac).dot(&normal) / area;
        let w = ab.cross(&ap).dot(&normal) / area;
        if v >= 0.0 && w >= 0.0 && v + w <= 1.0 {
            return finish([1.0, v + w - 1.0, -v, -w], x, &normal, false);
        }
    }
    let on_edge = |i: usize, j: usize| {
        let t = project(&x[0], &x[i], &x[j]);
        let mut weights = [1.0, 0.0, 0.0, 0.0];
        weights[i] = t - 1.0;
        weights[j] = -t;
        weights
    };
    finish(nearest(x, [on_edge(1, 2), on_edge(2, 3), on_edge(3, 1)]), x, &normal, true)
}

/// Points: ends of the first edge, ends of the second.
pub(super) fn edge_edge(x: &[Vec3; 4]) -> Closest {
    let (e, f, r) = (x[1] - x[0], x[3] - x[2], x[2] - x[0]);
    let normal = e.cross(&f);
    let area = normal.norm_squared();
    if area > PARALLEL * PARALLEL * e.norm_squared() * f.norm_squared() {
        let s = r.cross(&f).dot(&normal) / area;
        let u = r.cross(&e).dot(&normal) / area;
        if (0.0..=1.0).contains(&s) && (0.0..=1.0).contains(&u) {
            return finish([1.0 - s, s, u - 1.0, -u], x, &normal, false);
        }
    } else if let Some(weights) = side_by_side(x) {
        // The direction between parallel lines is the one across them.
        let across = finish(weights, x, &Vec3::zeros(), true);
        return Closest { clamped: false, ..across };
    }
    let on_second = |i: usize| {
        let u = project(&x[i], &x[2], &x[3]);
        [1.0 - i as f64, i as f64, u - 1.0, -u]
    };
    let on_first = |j: usize| {
        let s = project(&x[j], &x[0], &x[1]);
        let far = (j - 2) as f64;
        [1.0 - s, s, far - 1.0, -far]
    };
    finish(nearest(x, [on_second(0), on_second(1), on_first(2), on_first(3)]), x, &normal, true)
}

/// Weights of the corners of a vertex, an edge or a triangle in its point nearest to `p`.
pub fn nearest_weights(corners: &[Vec3], p: &Vec3) -> [f64; 3] {
    match corners {
        [a, b, c] => {
            let [_, a, b, c] = vertex_face(&[*p, *a, *b, *c]).weights;
            [-a, -b, -c]
        }
        [a, b] => {
            let s = project(p, a, b);
            [1.0 - s, s, 0.0]
        }
        _ => [1.0, 0.0, 0.0],
    }
}

/// From the triangle to the vertex: the shortest vector, but for rounding. Not a number where the triangle has
/// collapsed [Ericson 2005, Real-time collision detection, 5.1.5].
#[inline]
pub(super) fn between_vertex_and_face(x: &[Vec3; 4]) -> Vec3 {
    let (ab, ac, ap) = (x[2] - x[1], x[3] - x[1], x[0] - x[1]);
    let (d1, d2) = (ab.dot(&ap), ac.dot(&ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return ap;
    }
    let bp = x[0] - x[2];
    let (d3, d4) = (ab.dot(&bp), ac.dot(&bp));
    if d3 >= 0.0 && d4 <= d3 {
        return bp;
    }
    let c = d1 * d4 - d3 * d2;
    if c <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        return ap - ab * (d1 / (d1 - d3));
    }
    let cp = x[0] - x[3];
    let (d5, d6) = (ab.dot(&cp), ac.dot(&cp));
    if d6 >= 0.0 && d5 <= d6 {
        return cp;
    }
    let b = d5 * d2 - d1 * d6;
    if b <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        return ap - ac * (d2 / (d2 - d6));
    }
    let a = d3 * d6 - d5 * d4;
    if a <= 0.0 && d4 >= d3 && d5 >= d6 {
        return bp - (x[3] - x[2]) * ((d4 - d3) / ((d4 - d3) + (d5 - d6)));
    }
    let normal = ab.cross(&ac);
    normal * (normal.dot(&ap) / normal.norm_squared())
}

/// From the second edge to the first: the shortest vector, but for rounding. Not a number where an edge has collapsed
/// [Ericson 2005, 5.1.9].
#[inline]
pub(super) fn between_edges(x: &[Vec3; 4]) -> Vec3 {
    let (e, f, r) = (x[1] - x[0], x[3] - x[2], x[0] - x[2]);
    let (ee, ff, ef, er, fr) = (e.norm_squared(), f.norm_squared(), e.dot(&f), e.dot(&r), f.dot(&r));
    let area = ee * ff - ef * ef;
    let s = if area > 0.0 { ((ef * fr - er * ff) / area).clamp(0.0, 1.0) } else { 0.0 };
    let u = (ef * s + fr) / ff;
    if u < 0.0 {
        return r + e * (-er / ee).clamp(0.0, 1.0);
    }
    if u > 1.0 {
        return r + e * ((ef - er) / ee).clamp(0.0, 1.0) - f;
    }
    r + e * s - f * u
}

/// The middle of the common range of two parallel edges, if there is one.
fn side_by_side(x: &[Vec3; 4]) -> Option<[f64; 4]> {
    let along = (x[1] - x[0]).try_normalize(0.0)?;
    let [p, q, r, s] = x.map(|p| along.dot(&(p - x[0])));
    let (lo, hi) = (p.max(r.min(s)), q.min(r.max(s)));
    if lo >= hi || r == s {
        return None;
    }
    let middle = 0.5 * (lo + hi);
    let (a, b) = ((middle - p) / (q - p), (middle - r) / (s - r));
    Some([1.0 - a, a, b - 1.0, -b])
}

/// Parameter of the point of the segment `a` to `b` nearest to `p`.
fn project(p: &Vec3, a: &Vec3, b: &Vec3) -> f64 {
    let ab = b - a;
    let length = ab.norm_squared();
    if length > 0.0 { ((p - a).dot(&ab) / length).clamp(0.0, 1.0) } else { 0.0 }
}

/// Of several choices of points the closest ones; of equal ones the first.
fn nearest<const N: usize>(x: &[Vec3; 4], all: [[f64; 4]; N]) -> [f64; 4] {
    let length = |weights: &[f64; 4]| weighted(weights, x).norm_squared();
    all[1..].iter().fold((all[0], length(&all[0])), |best, w| if length(w) < best.1 { (*w, length(w)) } else { best }).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::for_all;
    use crate::geometry::Mobility;
    use crate::geometry::tests::corners;
    use crate::geometry::tests::cube;

    /// The definition, on a grid of points of both features.
    fn sampled(x: &[Vec3; 4], face: bool) -> f64 {
        let n = 60;
        let mut best = f64::INFINITY;
        for i in 0..=n {
            for j in 0..=n {
                let (s, t) = (i as f64 / n as f64, j as f64 / n as f64);
                let weights = if !face {
                    [1.0 - s, s, t - 1.0, -t]
                } else if i + j <= n {
                    [1.0, s + t - 1.0, -s, -t]
                } else {
                    continue;
                };
                best = best.min(weighted(&weights, x).norm());
            }
        }
        best
    }

    #[test]
    fn nothing_is_closer_than_the_closest_points() {
        for_all(600, &(corners(), 0..4, -1.0..1.0f64), |(mut x, how, along)| {
            match how {
                1 => x[3] = x[2] + (x[1] - x[0]) * along, // parallel edges
                2 => x[3] = x[1] + (x[2] - x[1]) * along, // triangle collapsed to a line
                _ => {}
            }
            for (c, face) in [(vertex_face(&x), true), (edge_edge(&x), false)] {
                let sides = if face { [0..1, 1..4] } else { [0..2, 2..4] };
                let [first, second] = sides.map(|r| c.weights[r].iter().sum::<f64>());
                assert!((first - 1.0).abs() < 1e-12 && (second + 1.0).abs() < 1e-12);
                assert!((weighted(&c.weights, &x) - c.direction * c.distance).norm() < 1e-9, "{c:?}");
                let best = sampled(&x, face);
                assert!(c.distance <= best + 1e-12 && c.distance > best - 0.05, "{c:?} {best}");
            }
        });
    }

    #[test]
    fn parallel_edges_meet_in_the_middle_of_what_they_share() {
        let (x, up) = (Vec3::x(), Vec3::z() * 1e-6);
        let c = edge_edge(&[Vec3::zeros(), x, x * 0.5 + up, x * 2.5 + up]);
        assert!(!c.clamped && (c.weights[1] - 0.75).abs() < 1e-12 && (c.distance - 1e-6).abs() < 1e-18);
        assert!((c.direction + Vec3::z()).norm() < 1e-9);
        let c = edge_edge(&[Vec3::zeros(), x, x * 2.0 + up, x * 1.5 + up]);
        assert!(c.clamped && (c.distance - 0.5).abs() < 1e-9);
    }

    #[test]
    fn collapsed_features_give_numbers() {
        let zero = Vec3::zeros();
        for x in [[zero; 4], [Vec3::x(), zero, zero, zero], [zero, zero, Vec3::y(), Vec3::y()]] {
            for c in [vertex_face(&x), edge_edge(&x)] {
                assert!((c.direction.norm() - 1.0).abs() < 1e-12 && c.distance.is_finite() && c.weights.iter().all(|w| w.is_finite()));
            }
        }
    }

    /// Two creases, nearly closed, side by side, that both open upwards; their edges cross at a small angle. Seen in an
    /// armadillo that falls: pushed along the sides of the creases, the crossing went on and on along the edges.
    #[test]
    fn creases_that_are_nearly_closed_are_pushed_across() {
        for half_angle in [0.001f64, 0.03, 0.2] {
            // They lean away from each other, so little that each faces the other from outside.
            let crease = |tilt: f64, y: f64, lean: f64| {
                let side = |angle: f64| Vec3::new(0.5, y + (angle + lean).sin(), (angle + lean).cos());
                [Vec3::new(0.0, y, -tilt), Vec3::new(1.0, y, tilt), side(half_angle), side(-half_angle)]
            };
            let x: Vec<Vec3> = crease(0.05, 0.0, 0.02).into_iter().chain(crease(-0.05, 1e-5, -0.02)).collect();
            // Normals into the crease.
            let triangles = vec![[0, 1, 2], [1, 0, 3], [4, 5, 6], [5, 4, 7]];
            let mesh = Mesh::new(triangles, vec![0, 0, 0, 0, 1, 1, 1, 1], vec![Mobility::Deformable; 2]).unwrap();
            let edge = |ends: [u32; 2]| mesh.edges.iter().position(|e| *e == ends).unwrap() as u32;
            let (first, second) = (edge([0, 1]), edge([4, 5]));
            assert!(!mesh.normal_cone(first, &x).is_convex() && mesh.normal_cone(first, &x).outward().z > 0.0);
            let pushed = pushing_direction(&mesh, Pair::EdgeEdge { first, second }, &x, &-Vec3::y(), false);
            assert!(pushed.dot(&-Vec3::y()) > 0.9, "{half_angle}: {pushed:?}");
        }
    }

    /// A small cube stands on a large one, flush at z = 0: an upright edge of it ends at a lying one.
    #[test]
    fn nothing_is_pushed_along_an_edge() {
        let (below, mut x) = cube(1, 1.0, Vec3::zeros());
        let (above, of_above) = cube(1, 0.5, Vec3::new(0.25, 1.0 + 4e-6, 0.0));
        let n = x.len() as u32;
        let triangles = below.into_iter().chain(above.into_iter().map(|t| t.map(|v| v + n))).collect();
        let bodies = (0..2 * n).map(|v| v / n).collect();
        let mesh = Mesh::new(triangles, bodies, vec![Mobility::Deformable; 2]).unwrap();
        x.extend(of_above);
        let edge = |a: Vec3, b: Vec3| {
            let is_end = |v: u32| [a, b].iter().any(|end| (x[v as usize] - end).norm() < 1e-5);
            (0..mesh.edges.len() as u32).find(|e| mesh.edges[*e as usize].into_iter().all(is_end)).unwrap()
        };
        let upright = edge(Vec3::new(0.25, 1.0, 0.0), Vec3::new(0.25, 1.5, 0.0));
        let lying = edge(Vec3::y(), Vec3::new(1.0, 1.0, 0.0));
        let pair = Pair::EdgeEdge { first: upright, second: lying };
        for toward in [Vec3::new(0.6, 0.8, -0.1), Vec3::new(0.3, 0.9, -0.3), Vec3::new(0.9, 0.4, -0.1)] {
            let found = pushing_direction(&mesh, pair, &x, &toward.normalize(), true);
            assert!(found.cross(&Vec3::x()).norm() > 0.1, "{toward:?} {found:?}");
        }
    }
}
