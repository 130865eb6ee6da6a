//! Where a plane goes through tets and through closed surfaces: the polygons with which what is cut open is covered.

use glam::{Vec2, Vec3};

/// The plane of all x with `normal . x = distance`; what is on its positive side is cut away.
#[derive(Clone, Copy, Debug)]
pub struct Plane {
    /// A unit vector.
    pub normal: Vec3,
    /// [m]
    pub distance: f32,
}

impl Plane {
    /// Height above it [m].
    pub fn height(&self, p: Vec3) -> f32 {
        self.normal.dot(p) - self.distance
    }

    /// Where it meets an edge from below (`low`, at a height not above 0) to above. The same to the bit for all that
    /// have this edge.
    pub fn meet(&self, low: Vec3, high: Vec3) -> Vec3 {
        let [below, above] = [self.height(low), self.height(high)];
        low + (high - low) * (below / (below - above)).clamp(0.0, 1.0)
    }

    /// A polygon counter-clockwise, seen from above it.
    pub fn oriented<const N: usize>(&self, mut points: [Vec3; N]) -> [Vec3; N] {
        if (points[1] - points[0]).cross(points[2] - points[0]).dot(self.normal) < 0.0 {
            points.reverse();
        }
        points
    }
}

/// Coordinates in a plane.
#[derive(Clone, Copy, Debug)]
pub struct Chart {
    u: Vec3,
    v: Vec3,
    origin: Vec3,
}

impl Chart {
    pub fn of(plane: &Plane) -> Self {
        let (u, v) = plane.normal.any_orthonormal_pair();
        Self { u, v, origin: plane.normal * plane.distance }
    }

    /// The coordinates of a point in the plane.
    pub fn flat(&self, p: Vec3) -> Vec2 {
        Vec2::new(self.u.dot(p), self.v.dot(p))
    }

    /// The point with these coordinates.
    pub fn point(&self, Vec2 { x, y }: Vec2) -> Vec3 {
        self.origin + self.u * x + self.v * y
    }
}

/// Corners of a surface that are so little above the plane, as a part of its size, lie in it: where two of them mean
/// the same point and are rounded otherwise, as along the seam of a ball, they are on the same side.
const LEVEL: f32 = 1e-5;

/// The section of a tet, counter-clockwise seen from above: no, three or four corners.
pub fn tet_section(corners: &[Vec3; 4], plane: &Plane) -> Vec<Vec3> {
    let is_above = corners.map(|corner| plane.height(corner) > 0.0);
    if is_above == [is_above[0]; 4] {
        return vec![];
    }
    let of_side = |side: bool| (0..4).filter(move |k| is_above[*k] == side).map(|k| corners[k]);
    let (below, above): (Vec<Vec3>, Vec<Vec3>) = (of_side(false).collect(), of_side(true).collect());
    let meet = |low: usize, high: usize| plane.meet(below[low], above[high]);
    match (below.len(), above.len()) {
        (1, 3) => plane.oriented([meet(0, 0), meet(0, 1), meet(0, 2)]).to_vec(),
        (3, 1) => plane.oriented([meet(0, 0), meet(1, 0), meet(2, 0)]).to_vec(),
        // Neighbours share a corner of the tet.
        _ => plane.oriented([meet(0, 0), meet(0, 1), meet(1, 1), meet(1, 0)]).to_vec(),
    }
}

/// The triangles of a convex polygon.
pub fn fan(polygon: &[Vec3]) -> impl Iterator<Item = [Vec3; 3]> {
    polygon.windows(2).skip(1).map(|pair| [polygon[0], pair[0], pair[1]])
}

/// Adds triangles that fill the section of a closed surface: what is inside by the rule of even and odd. Of a surface
/// that is not closed they fill what its edges leave no doubt about.
pub fn add_surface_section(surface: impl Iterator<Item = [Vec3; 3]>, plane: &Plane, triangles: &mut Vec<[Vec3; 3]>) {
    let chart = Chart::of(plane);
    let surface: Vec<[Vec3; 3]> = surface.collect();
    let level = LEVEL * surface.iter().flatten().fold(0.0, |size: f32, p| size.max(p.abs().max_element()));
    let edges = surface.iter().filter_map(|triangle| Edge::of(triangle, plane, level, &chart)).collect();
    // Between two neighbouring ends the section is a row of trapezoids.
    sweep(edges, |strip, active| {
        for pair in active.chunks_exact(2) {
            triangles.extend(trapezoid([&pair[0], &pair[1]], strip, plane, &chart));
        }
    });
}

/// Goes through the strips between neighbouring ends of edges, from the lowest one: gives both heights of each, and the
/// edges that run through it, from left to right.
pub fn sweep(mut edges: Vec<Edge>, mut strip: impl FnMut([f32; 2], &[Edge])) {
    edges.sort_by(|a, b| a.low.y.total_cmp(&b.low.y));
    let mut ends: Vec<f32> = edges.iter().flat_map(|edge| [edge.low.y, edge.high.y]).collect();
    ends.sort_by(f32::total_cmp);
    ends.dedup();
    let (mut next, mut active): (usize, Vec<Edge>) = (0, vec![]);
    for pair in ends.windows(2) {
        let [bottom, top] = [pair[0], pair[1]];
        active.retain(|edge| edge.high.y > bottom);
        while edges.get(next).is_some_and(|edge| edge.low.y <= bottom) {
            active.push(edges[next]);
            next += 1;
        }
        let middle = 0.5 * (bottom + top);
        active.sort_by(|a, b| a.at(middle).total_cmp(&b.at(middle)));
        strip([bottom, top], &active);
    }
}

/// The triangles between two edges within a strip; none where they have no area.
pub fn trapezoid([left, right]: [&Edge; 2], [bottom, top]: [f32; 2], plane: &Plane, chart: &Chart) -> impl Iterator<Item = [Vec3; 3]> {
    let at = |edge: &Edge, y: f32| chart.point(Vec2::new(edge.at(y), y));
    let [a, b, c, d] = [at(left, bottom), at(right, bottom), at(right, top), at(left, top)];
    let has_area = |[a, b, c]: &[Vec3; 3]| (*b - *a).cross(*c - *a) != Vec3::ZERO;
    [[a, b, c], [a, c, d]].into_iter().filter(has_area).map(|triangle| plane.oriented(triangle))
}

/// Where the plane meets a triangle, in coordinates of the plane: from its lower end to the higher one.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    pub low: Vec2,
    pub high: Vec2,
    /// The tet of whose face it is; none of a surface.
    pub tet: Option<u32>,
}

impl Edge {
    /// None where the triangle is on one side, or the edge runs across. `level`: what is not higher [m] is in the
    /// plane.
    pub fn of(triangle: &[Vec3; 3], plane: &Plane, level: f32, chart: &Chart) -> Option<Self> {
        meets(triangle, plane, level, chart).and_then(|[a, b]| Self::between(a, b))
    }

    /// None of two points at the same height.
    pub fn between(a: Vec2, b: Vec2) -> Option<Self> {
        let (low, high) = if a.y <= b.y { (a, b) } else { (b, a) };
        (low.y < high.y).then_some(Self { low, high, tet: None })
    }

    /// Its x at a height y between its ends.
    pub fn at(&self, y: f32) -> f32 {
        let along = ((y - self.low.y) / (self.high.y - self.low.y)).clamp(0.0, 1.0);
        self.low.x + (self.high.x - self.low.x) * along
    }
}

/// The two points where a plane crosses the border of a triangle; see [`Edge::of`].
pub fn meets(triangle: &[Vec3; 3], plane: &Plane, level: f32, chart: &Chart) -> Option<[Vec2; 2]> {
    let is_above = triangle.map(|p| plane.height(p) > level);
    let n_above = is_above.iter().filter(|above| **above).count();
    if n_above == 0 || n_above == 3 {
        return None;
    }
    // The corner that is alone on its side.
    let alone = (0..3).find(|k| is_above[*k] == (n_above == 1))?;
    let [p, q, r] = [0, 1, 2].map(|k| triangle[(alone + k) % 3]);
    let meet = |other: Vec3| chart.flat(if is_above[alone] { plane.meet(other, p) } else { plane.meet(p, other) });
    Some([meet(q), meet(r)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math;
    use crate::mesh::shapes;
    use crate::render::palette::Rgb;
    use crate::render::shapes::add_shape;
    use crate::render::stage::{RigidShape, RigidVisual};

    fn area(triangles: &[[Vec3; 3]]) -> f64 {
        triangles.iter().map(|[a, b, c]| 0.5 * f64::from((*b - *a).cross(*c - *a).length())).sum()
    }

    fn plane(normal: Vec3, distance: f32) -> Plane {
        Plane { normal: normal.normalize(), distance }
    }

    fn tet_section(corners: &[Vec3; 4], plane: &Plane) -> Vec<[Vec3; 3]> {
        fan(&super::tet_section(corners, plane)).collect()
    }

    const TET: [Vec3; 4] = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z];

    /// At height h the corner of a cube has a triangle of (1 - h)^2 / 2, and across two opposite edges a rectangle.
    #[test]
    fn the_cap_of_a_tet_has_the_right_area_and_faces_what_is_cut_away() {
        for h in [0.1f32, 0.5, 0.9] {
            let found = tet_section(&TET, &plane(Vec3::Z, h));
            assert_eq!(found.len(), 1);
            assert!((area(&found) - 0.5 * f64::from(1.0 - h).powi(2)).abs() < 1e-6, "{h}");
            // Cut away from the other side it is the same triangle, seen from there.
            let below = tet_section(&TET, &plane(-Vec3::Z, -h));
            assert!((area(&below) - area(&found)).abs() < 1e-7);
            // Where x + y = h it is a rectangle, h sqrt 2 wide and 1 - h high.
            let across = tet_section(&TET, &plane(Vec3::new(1.0, 1.0, 0.0), h / 2f32.sqrt()));
            let expected = 2f64.sqrt() * f64::from(h) * f64::from(1.0 - h);
            assert_eq!(across.len(), 2);
            assert!((area(&across) - expected).abs() < 1e-6, "{h}: {} {expected}", area(&across));
        }
        for normal in [Vec3::Z, -Vec3::Z, Vec3::new(1.0, 1.0, 0.0), Vec3::new(-0.3, 0.8, 0.5)] {
            let plane = plane(normal, plane(normal, 0.0).normal.dot(Vec3::splat(0.22)));
            for [a, b, c] in tet_section(&TET, &plane) {
                assert!((b - a).cross(c - a).dot(plane.normal) > 0.0);
                assert!([a, b, c].iter().all(|p| plane.height(*p).abs() < 1e-6));
            }
        }
        assert!(tet_section(&TET, &plane(Vec3::Z, 1.5)).is_empty() && tet_section(&TET, &plane(Vec3::Z, -0.5)).is_empty());
    }

    fn glam(p: &math::Vec3) -> Vec3 {
        Vec3::new(p.x as f32, p.y as f32, p.z as f32)
    }

    /// The tets of a box and the surface of the same box have the same section, whichever way it is cut.
    #[test]
    fn tets_and_their_surface_have_the_same_section() {
        let size = math::Vec3::new(1.0, 0.6, 0.4);
        let (tets, surface) = (shapes::box_tets(size, [3, 2, 2]), shapes::surface_box(size));
        for (k, normal) in [Vec3::X, Vec3::Y, Vec3::new(1.0, 1.0, 1.0), Vec3::new(-0.4, 0.9, 0.2)].into_iter().enumerate() {
            for distance in [-0.13, 0.0021, 0.11] {
                let plane = plane(normal, distance);
                let (mut of_tets, mut of_surface) = (vec![], vec![]);
                for tet in &tets.tets {
                    of_tets.extend(tet_section(&tet.map(|node| glam(&tets.positions[node as usize])), &plane));
                }
                let triangles = surface.triangles.iter().map(|triangle| triangle.map(|v| glam(&surface.positions[v as usize])));
                add_surface_section(triangles, &plane, &mut of_surface);
                let [a, b] = [area(&of_tets), area(&of_surface)];
                assert!(a > 0.01 && (a - b).abs() < 1e-5, "{normal:?} {distance}: {a} {b}");
                if k == 0 {
                    assert!((a - 0.24).abs() < 1e-5);
                }
                assert!(of_surface.iter().all(|[a, b, c]| (*b - *a).cross(*c - *a).dot(plane.normal) > 0.0));
            }
        }
    }

    /// Through the seam of a ball, where corners that mean the same point differ by rounding, and elsewhere.
    #[test]
    fn a_ball_is_filled_whichever_way_it_is_cut() {
        let rigid = RigidVisual {
            name: String::new(),
            shape: RigidShape::Sphere { radius: 1.0 },
            color: Rgb::hex(0x808080),
            transform: ::glam::Mat4::IDENTITY,
            free: true,
        };
        let (mut vertices, mut indices) = (vec![], vec![]);
        add_shape(&rigid, &mut vertices, &mut indices);
        for normal in [Vec3::X, -Vec3::X, Vec3::Y, Vec3::Z, Vec3::new(0.3, 0.5, -0.7)] {
            for distance in [0.0, 0.3] {
                let surface = indices.chunks(3).map(|triangle| [0, 1, 2].map(|k| Vec3::from(vertices[triangle[k] as usize].position)));
                let mut found = vec![];
                add_surface_section(surface, &plane(normal, distance), &mut found);
                let expected = std::f64::consts::PI * f64::from(1.0 - distance * distance);
                assert!((area(&found) / expected - 1.0).abs() < 0.01, "{normal:?} {distance}: {} {expected}", area(&found));
            }
        }
    }

    /// A hole is a hole: of a box within a box nothing is filled but the wall.
    #[test]
    fn a_hollow_body_keeps_its_hollow() {
        let [outer, inner] = [1.0, 0.5].map(|side| shapes::surface_box(math::Vec3::repeat(side)));
        let triangles = [&outer, &inner]
            .into_iter()
            .flat_map(|surface| surface.triangles.iter().map(|triangle| triangle.map(|v| glam(&surface.positions[v as usize]))));
        let mut found = vec![];
        add_surface_section(triangles, &plane(Vec3::new(0.2, 1.0, 0.1), 0.03), &mut found);
        let tilt = f64::from(plane(Vec3::new(0.2, 1.0, 0.1), 0.0).normal.y);
        assert!((area(&found) - (1.0 - 0.25) / tilt).abs() < 1e-4, "{} {}", area(&found), 0.75 / tilt);
    }
}
