//! The section of a closed surface that is embedded in tets: the pieces of the tets that lie within it, and what of it
//! lies beyond them.

use glam::{Vec2, Vec3};

use super::section::{Chart, Edge, Plane, fan, meets, sweep, trapezoid};

/// Closed loops in a plane; what is inside them by the rule of even and odd is within the surface.
pub struct Outline {
    plane: Plane,
    chart: Chart,
    edges: Vec<Edge>,
    rows: Rows,
}

/// Edges by the rows of a grid through which they run.
struct Rows {
    bottom: f32,
    per_metre: f32,
    /// Edges of row `i` are `items[starts[i]..starts[i + 1]]`.
    starts: Vec<u32>,
    items: Vec<u32>,
}

/// Trapezoids thinner than this, as a part of the size of all, are rounding: the surface runs along a face of a tet.
const THIN: f32 = 1e-5;

impl Outline {
    /// The section of a surface. None where it is open: then what is inside cannot be told.
    ///
    /// Loops are closed where each edge of the surface that the plane crosses has an even number of triangles, however
    /// their corners are rounded.
    pub fn of(positions: &[Vec3], triangles: &[[u32; 3]], plane: &Plane) -> Option<Self> {
        let chart = Chart::of(plane);
        let is_above: Vec<bool> = positions.iter().map(|p| plane.height(*p) > 0.0).collect();
        let (mut crossed, mut edges): (Vec<[u32; 2]>, Vec<Edge>) = (vec![], vec![]);
        for triangle in triangles {
            let above = triangle.map(|v| is_above[v as usize]);
            if above == [above[0]; 3] {
                continue;
            }
            for k in 0..3 {
                let [a, b] = [k, (k + 1) % 3];
                if above[a] != above[b] {
                    crossed.push([triangle[a].min(triangle[b]), triangle[a].max(triangle[b])]);
                }
            }
            edges.extend(Edge::of(&triangle.map(|v| positions[v as usize]), plane, 0.0, &chart));
        }
        crossed.sort_unstable();
        let is_closed = crossed.chunk_by(|a, b| a == b).all(|same| same.len().is_multiple_of(2));
        is_closed.then(|| Self { plane: *plane, chart, rows: Rows::new(&edges), edges })
    }

    /// Adds triangles that fill what of a convex polygon in the plane lies within.
    pub fn add_within(&self, polygon: &[Vec3], triangles: &mut Vec<[Vec3; 3]>) {
        let corners: Vec<Vec2> = polygon.iter().map(|p| self.chart.flat(*p)).collect();
        if corners.len() < 3 {
            return;
        }
        let crossing: Vec<Edge> = self.near(&corners).filter_map(|edge| clipped(edge, &corners)).collect();
        if crossing.is_empty() {
            let middle = corners.iter().sum::<Vec2>() / corners.len() as f32;
            triangles.extend(fan(polygon).filter(|_| self.contains(middle)));
            return;
        }
        let sides: Vec<Edge> = sides(&corners).filter_map(|[a, b]| Edge::between(a, b)).collect();
        let mut ends: Vec<f32> = crossing.iter().chain(&sides).flat_map(|edge| [edge.low.y, edge.high.y]).collect();
        ends.sort_by(f32::total_cmp);
        ends.dedup();
        for pair in ends.windows(2) {
            let [bottom, top] = [pair[0], pair[1]];
            let middle = 0.5 * (bottom + top);
            // In a strip no edge begins or ends; those of the polygon are the first and the last.
            let runs_through = |edge: &&Edge| edge.low.y <= bottom && edge.high.y >= top;
            let mut lines: Vec<&Edge> = crossing.iter().chain(&sides).filter(runs_through).collect();
            lines.sort_by(|a, b| a.at(middle).total_cmp(&b.at(middle)));
            for pair in lines.windows(2) {
                if self.contains(Vec2::new(0.5 * (pair[0].at(middle) + pair[1].at(middle)), middle)) {
                    triangles.extend(trapezoid([pair[0], pair[1]], [bottom, top], &self.plane, &self.chart));
                }
            }
        }
    }

    /// Gives the triangles that fill what lies within and beyond the tets whose border consists of `faces`, each with
    /// the tet of which it is a face. A piece belongs to the tet beside it, or to the nearest one.
    pub fn beyond(&self, faces: impl Iterator<Item = ([Vec3; 3], u32)>, mut give: impl FnMut(u32, [Vec3; 3])) {
        let of_face = |(face, tet): ([Vec3; 3], u32)| Some((meets(&face, &self.plane, 0.0, &self.chart)?, tet));
        let border: Vec<([Vec2; 2], u32)> = faces.filter_map(of_face).collect();
        let edge = |([a, b], tet): &([Vec2; 2], u32)| Some(Edge { tet: Some(*tet), ..Edge::between(*a, *b)? });
        let nearest = |point: Vec2| {
            let distances = border.iter().map(|([a, b], tet)| (distance_squared(point, *a, *b), *tet));
            distances.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, tet)| tet)
        };
        let thin = THIN * self.edges.iter().fold(0.0, |size: f32, edge| size.max(edge.low.abs().max(edge.high.abs()).max_element()));
        sweep(self.edges.iter().copied().chain(border.iter().filter_map(edge)).collect(), |strip, active| {
            let (mut is_inside, mut is_in_tets) = (false, false);
            for pair in active.windows(2) {
                match pair[0].tet {
                    Some(_) => is_in_tets ^= true,
                    None => is_inside ^= true,
                }
                let ends = strip.map(|y| [pair[0].at(y), pair[1].at(y)]);
                if !is_inside || is_in_tets || ends.iter().all(|[left, right]| right - left <= thin) {
                    continue;
                }
                let middle = Vec2::new(0.25 * ends.as_flattened().iter().sum::<f32>(), 0.5 * (strip[0] + strip[1]));
                if let Some(tet) = pair[1].tet.or(pair[0].tet).or_else(|| nearest(middle)) {
                    trapezoid([&pair[0], &pair[1]], strip, &self.plane, &self.chart).for_each(|triangle| give(tet, triangle));
                }
            }
        });
    }

    /// Whether a point is within.
    fn contains(&self, point: Vec2) -> bool {
        let left = |edge: &&Edge| edge.low.y <= point.y && point.y < edge.high.y && edge.at(point.y) < point.x;
        let row = self.rows.of(point.y).map(|row| self.rows.items(row)).unwrap_or_default();
        row.iter().map(|item| &self.edges[*item as usize]).filter(left).count() % 2 == 1
    }

    /// The edges whose boxes meet that of some points.
    fn near(&self, points: &[Vec2]) -> impl Iterator<Item = &Edge> {
        let low = points.iter().copied().fold(Vec2::INFINITY, Vec2::min);
        let high = points.iter().copied().fold(Vec2::NEG_INFINITY, Vec2::max);
        let first = self.rows.row(low.y);
        let meets = move |edge: &Edge| {
            let [left, right] = [edge.low.x.min(edge.high.x), edge.low.x.max(edge.high.x)];
            edge.low.y <= high.y && edge.high.y >= low.y && left <= high.x && right >= low.x
        };
        let rows = if self.edges.is_empty() { 0..0 } else { first..self.rows.row(high.y) + 1 };
        rows.flat_map(move |row| {
            // An edge in several rows is given in the first of these.
            let is_new = move |edge: &&Edge| self.rows.row(edge.low.y).max(first) == row;
            self.rows.items(row).iter().map(|item| &self.edges[*item as usize]).filter(is_new)
        })
        .filter(move |edge| meets(edge))
    }
}

impl Rows {
    fn new(edges: &[Edge]) -> Self {
        let low = edges.iter().fold(f32::INFINITY, |low, edge| low.min(edge.low.y));
        let high = edges.iter().fold(f32::NEG_INFINITY, |high, edge| high.max(edge.high.y));
        // As many rows as edges in a row, if these are short.
        let n = (edges.len() as f32).sqrt().ceil().max(1.0);
        let mut rows = Self { bottom: low, per_metre: n / (high - low), starts: vec![0; n as usize + 1], items: vec![] };
        if edges.is_empty() {
            return rows;
        }
        let spans: Vec<[usize; 2]> = edges.iter().map(|edge| [edge.low.y, edge.high.y].map(|y| rows.row(y))).collect();
        for [first, last] in &spans {
            (*first..=*last).for_each(|row| rows.starts[row + 1] += 1);
        }
        for row in 1..rows.starts.len() {
            rows.starts[row] += rows.starts[row - 1];
        }
        let mut next = rows.starts.clone();
        rows.items = vec![0; rows.starts[n as usize] as usize];
        for (edge, [first, last]) in spans.into_iter().enumerate() {
            for slot in &mut next[first..=last] {
                rows.items[*slot as usize] = edge as u32;
                *slot += 1;
            }
        }
        rows
    }

    /// The row of a height; the first or the last one of what is beyond them.
    fn row(&self, y: f32) -> usize {
        (((y - self.bottom) * self.per_metre) as usize).min(self.starts.len() - 2)
    }

    /// None of a height beyond all edges.
    fn of(&self, y: f32) -> Option<usize> {
        (!self.items.is_empty() && y >= self.bottom).then(|| self.row(y))
    }

    fn items(&self, row: usize) -> &[u32] {
        &self.items[self.starts[row] as usize..self.starts[row + 1] as usize]
    }
}

/// The sides of a polygon.
fn sides(corners: &[Vec2]) -> impl Iterator<Item = [Vec2; 2]> {
    (0..corners.len()).map(|k| [corners[k], corners[(k + 1) % corners.len()]])
}

/// Between a point and a line from a to b [m^2].
fn distance_squared(point: Vec2, a: Vec2, b: Vec2) -> f32 {
    let along = b - a;
    let t = ((point - a).dot(along) / along.length_squared().max(f32::MIN_POSITIVE)).clamp(0.0, 1.0);
    (a + along * t).distance_squared(point)
}

/// What of an edge lies in a convex polygon [Cyrus & Beck 1978].
fn clipped(edge: &Edge, corners: &[Vec2]) -> Option<Edge> {
    // Counter-clockwise or not.
    let turn = sides(corners).map(|[a, b]| a.perp_dot(b)).sum::<f32>().signum();
    let (mut from, mut to) = (0.0f32, 1.0f32);
    for [a, b] in sides(corners) {
        let inwards = |p: Vec2| turn * (b - a).perp_dot(p - a);
        let [low, high] = [inwards(edge.low), inwards(edge.high)];
        if low < 0.0 && high < 0.0 {
            return None;
        }
        if low < 0.0 {
            from = from.max(low / (low - high));
        } else if high < 0.0 {
            to = to.min(low / (low - high));
        }
    }
    // Ends that are within stay as they are, to the bit.
    let at = |along: f32| match along {
        0.0 => edge.low,
        1.0 => edge.high,
        _ => edge.low + (edge.high - edge.low) * along,
    };
    let [low, high] = [at(from), at(to)];
    (from < to && low.y < high.y).then_some(Edge { low, high, ..*edge })
}

#[cfg(test)]
mod tests {
    use super::super::section::tet_section;
    use super::*;
    use crate::math;
    use crate::mesh::{SurfaceMesh, TetMesh, shapes};

    type Triangles = Vec<[Vec3; 3]>;
    type OfTets = Vec<(u32, [Vec3; 3])>;

    fn area(triangles: &[[Vec3; 3]]) -> f64 {
        triangles.iter().map(|[a, b, c]| 0.5 * f64::from((*b - *a).cross(*c - *a).length())).sum()
    }

    fn glam(p: &math::Vec3) -> Vec3 {
        Vec3::new(p.x as f32, p.y as f32, p.z as f32)
    }

    fn plane(normal: Vec3, distance: f32) -> Plane {
        Plane { normal: normal.normalize(), distance }
    }

    fn outline(surface: &SurfaceMesh, plane: &Plane) -> Option<Outline> {
        let positions: Vec<Vec3> = surface.positions.iter().map(glam).collect();
        Outline::of(&positions, &surface.triangles, plane)
    }

    /// A ball of a radius of 0.5 m around a point, of `n` rows of triangles.
    fn ball(middle: math::Vec3, n: u32) -> SurfaceMesh {
        let (mut positions, mut triangles) = (vec![], vec![]);
        let columns = 2 * n;
        for row in 1..n {
            for column in 0..columns {
                let (sin, cos) = (std::f64::consts::PI * f64::from(row) / f64::from(n)).sin_cos();
                let (sin_a, cos_a) = (std::f64::consts::TAU * f64::from(column) / f64::from(columns)).sin_cos();
                positions.push(middle + math::Vec3::new(sin * sin_a, cos, sin * cos_a) * 0.5);
            }
        }
        let at = |row: u32, column: u32| (row - 1) * columns + column % columns;
        let [top, bottom] = [0.5, -0.5].map(|y| {
            positions.push(middle + math::Vec3::new(0.0, y, 0.0));
            positions.len() as u32 - 1
        });
        for column in 0..columns {
            triangles.push([top, at(1, column), at(1, column + 1)]);
            triangles.push([bottom, at(n - 1, column + 1), at(n - 1, column)]);
            for row in 1..n - 1 {
                let [a, b, c, d] = [at(row, column), at(row + 1, column), at(row + 1, column + 1), at(row, column + 1)];
                triangles.extend([[a, b, c], [a, c, d]]);
            }
        }
        SurfaceMesh { positions, triangles, ..SurfaceMesh::default() }
    }

    /// The section of tets, each with the pieces of it that lie within; and those beyond all.
    fn pieces(tets: &TetMesh, outline: &Outline) -> (Triangles, OfTets) {
        let (mut within, mut beyond) = (vec![], vec![]);
        let point = |node: &u32| glam(&tets.positions[*node as usize]);
        for tet in &tets.tets {
            outline.add_within(&tet_section(&[0, 1, 2, 3].map(|k| point(&tet[k])), &outline.plane), &mut within);
        }
        let (faces, owners) = tets.boundary_with_tets();
        let faces = faces.iter().map(|face| [0, 1, 2].map(|k| point(&face[k]))).zip(owners);
        outline.beyond(faces, |tet, triangle| beyond.push((tet, triangle)));
        (within, beyond)
    }

    const NORMALS: [Vec3; 4] = [Vec3::X, Vec3::NEG_Y, Vec3::new(0.3, 0.5, -0.7), Vec3::new(-1.0, 1.0, 0.02)];

    /// Of the cells around a ball its section is filled and nothing else, whichever way it is cut, with the ball
    /// wherever it lies in them; all faces what is cut away.
    #[test]
    fn a_ball_within_coarse_tets_is_filled_to_its_surface() {
        let tets = shapes::box_tets(math::Vec3::repeat(1.3), [3, 3, 3]);
        let surface = ball(math::Vec3::new(0.05, -0.03, 0.02), 24);
        for normal in NORMALS {
            for distance in [0.0, 0.17, -0.31] {
                let plane = plane(normal, distance);
                let outline = outline(&surface, &plane).unwrap();
                let (within, beyond) = pieces(&tets, &outline);
                let off = plane.height(Vec3::new(0.05, -0.03, 0.02));
                let expected = std::f64::consts::PI * f64::from(0.25 - off * off);
                assert!((area(&within) / expected - 1.0).abs() < 0.02, "{normal:?} {distance}: {} {expected}", area(&within));
                // Exactly what the surface alone would be filled with.
                let mut whole = vec![];
                let triangles = surface.triangles.iter().map(|t| t.map(|v| glam(&surface.positions[v as usize])));
                super::super::section::add_surface_section(triangles, &plane, &mut whole);
                assert!((area(&within) - area(&whole)).abs() < 1e-4, "{} {}", area(&within), area(&whole));
                assert!(beyond.is_empty(), "{normal:?} {distance}: {}", beyond.len());
                // Those that are thinner than rounding have no side.
                assert!(within.iter().all(|[a, b, c]| (*b - *a).cross(*c - *a).dot(plane.normal) > -1e-9));
                assert!(within.iter().flatten().all(|p| plane.height(*p).abs() < 1e-5));
                // Pieces do not lie over one another: each point is in one.
                let inside = |p: Vec3, [a, b, c]: &[Vec3; 3]| {
                    [[a, b], [b, c], [c, a]].iter().all(|[from, to]| (**to - **from).cross(p - **from).dot(plane.normal) > 0.0)
                };
                let middle = Vec3::new(0.05, -0.03, 0.02) - plane.normal * off;
                let (u, v) = plane.normal.any_orthonormal_pair();
                for (x, y) in [(0.013, 0.021), (-0.12, 0.08), (0.06, -0.19)] {
                    let p = middle + u * x + v * y;
                    assert_eq!(within.iter().filter(|triangle| inside(p, triangle)).count(), 1, "{normal:?} {distance}: {p:?}");
                }
            }
        }
    }

    /// What stands out of the tets is filled, too, in the colour of a tet beside it.
    #[test]
    fn what_stands_out_of_the_tets_is_filled() {
        let tets = shapes::box_tets(math::Vec3::new(0.7, 1.2, 1.2), [2, 3, 3]);
        let surface = ball(math::Vec3::zeros(), 24);
        for normal in [Vec3::Y, Vec3::new(0.1, 0.9, 0.3), Vec3::new(0.2, -0.1, 1.0)] {
            let outline = outline(&surface, &plane(normal, 0.02)).unwrap();
            let (within, beyond) = pieces(&tets, &outline);
            let beyond_alone: Vec<[Vec3; 3]> = beyond.iter().map(|(_, triangle)| *triangle).collect();
            let expected = std::f64::consts::PI * (0.25 - 0.0004);
            let [a, b] = [area(&within), area(&beyond_alone)];
            assert!(b > 0.02 * expected && ((a + b) / expected - 1.0).abs() < 0.02, "{normal:?}: {a} {b} {expected}");
            for (tet, triangle) in &beyond {
                let middle = triangle.iter().sum::<Vec3>() / 3.0;
                assert!(middle.x.abs() > 0.34, "{middle:?} is in the tets");
                let of_tet = tets.tets[*tet as usize].iter().map(|node| glam(&tets.positions[*node as usize])).sum::<Vec3>() / 4.0;
                assert!((of_tet - middle).length() < 0.6 && of_tet.x * middle.x > 0.0, "{of_tet:?} {middle:?}");
            }
        }
    }

    /// A hollow stays empty, and an open surface has no inside where it is open.
    #[test]
    fn hollows_stay_empty_and_open_surfaces_are_told() {
        let tets = shapes::box_tets(math::Vec3::repeat(1.3), [4, 4, 4]);
        let (mut hollow, inner) = (ball(math::Vec3::zeros(), 24), ball(math::Vec3::zeros(), 16));
        let first = hollow.positions.len() as u32;
        hollow.positions.extend(inner.positions.iter().map(|p| p * 0.6));
        hollow.triangles.extend(inner.triangles.iter().map(|t| t.map(|v| v + first)));
        let outline_of_hollow = outline(&hollow, &plane(Vec3::new(0.2, 1.0, 0.1), 0.03)).unwrap();
        let (within, _) = pieces(&tets, &outline_of_hollow);
        let expected = std::f64::consts::PI * (0.25 - 0.09);
        assert!((area(&within) / expected - 1.0).abs() < 0.03, "{} {expected}", area(&within));

        let mut open = ball(math::Vec3::zeros(), 24);
        open.triangles.retain(|t| t.iter().any(|v| open.positions[*v as usize].y < 0.4));
        assert!(outline(&open, &plane(Vec3::Z, 0.1)).is_none(), "through the hole");
        assert!(outline(&open, &plane(Vec3::Y, 0.1)).is_some(), "below it");
        // Beside the body there is nothing.
        let beside = outline(&open, &plane(Vec3::X, 3.0)).unwrap();
        assert!(beside.edges.is_empty() && pieces(&tets, &beside).0.is_empty());
    }

    /// How much work a picture is: edges that are looked at for pieces, and triangles, grow as the section does, not as
    /// the surface or its square.
    #[test]
    fn work_grows_as_the_section_does() {
        let tets = shapes::box_tets(math::Vec3::repeat(1.3), [12, 12, 12]);
        let cost = |n: u32| {
            let surface = ball(math::Vec3::zeros(), n);
            let outline = outline(&surface, &plane(Vec3::new(0.3, 0.5, -0.7), 0.04)).unwrap();
            let point = |node: u32| glam(&tets.positions[node as usize]);
            let sections: Vec<Vec<Vec3>> = tets.tets.iter().map(|tet| tet_section(&tet.map(point), &outline.plane)).collect();
            let flat = |section: &Vec<Vec3>| section.iter().map(|p| outline.chart.flat(*p)).collect::<Vec<_>>();
            let near: usize =
                sections.iter().filter(|section| !section.is_empty()).map(|section| outline.near(&flat(section)).count()).sum();
            (outline.edges.len(), near, pieces(&tets, &outline).0.len())
        };
        let (edges, near, n_triangles) = cost(40);
        // Four times as many triangles have a section of twice as many edges.
        let (more_edges, more_near, more_triangles) = cost(80);
        assert!((1.7..2.4).contains(&(more_edges as f64 / edges as f64)), "{edges} {more_edges}");
        assert!(near < 16 * edges && 2 * more_near < 5 * near, "{near} of {edges}, {more_near} of {more_edges}");
        assert!(n_triangles < 12 * edges + 4000 && more_triangles < 12 * more_edges + 4000, "{n_triangles} {more_triangles}");
    }
}
