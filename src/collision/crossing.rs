//! Whether two features pass through each other while their vertices go along straight lines.

use rayon::prelude::*;

use super::bvh::{Bounds, Candidates};
use super::closest::{Closest, edge_edge, vertex_face, weighted};
use super::mesh::{Mesh, Pair};
use crate::math::Vec3;

/// First touch of two features.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    pub pair: Pair,
    /// Fraction of the way, 0 to 1.
    pub time: f64,
    /// Vertex, then triangle; or first, then second edge.
    pub vertices: [u32; 4],
    /// Where on the features: sum +1 over the first side, -1 over the second.
    pub weights: [f64; 4],
    /// Unit normal at the time of touching, towards the side that the first feature comes from.
    pub normal: Vec3,
}

impl Crossing {
    /// sum w_i x_i . n [m] at positions `x`: positive on the side the features start on.
    pub fn gap(&self, x: &[Vec3]) -> f64 {
        weighted(&self.weights, &self.vertices.map(|v| x[v as usize])).dot(&self.normal)
    }
}

/// The first time in [0, 1] at which a pair touches while all vertices go straight from `x0` to `x1` [m]. Nothing is missed down to gaps
/// of 1e-9 of the size of the features; what passes closer than that (or than a part of the rounding error of badly shaped
/// features, at most a tenth of the first distance) counts as touching.
pub fn first_crossing(mesh: &Mesh, pair: Pair, x0: &[Vec3], x1: &[Vec3]) -> Option<Crossing> {
    let way = Way::new(mesh, pair, x0, x1);
    if way.never_coplanar() { None } else { way.first_crossing(mesh, x0) }
}

/// First crossings of all candidates, sorted by pair. The same for any number of threads.
pub fn crossings(mesh: &Mesh, candidates: &Candidates, x0: &[Vec3], x1: &[Vec3]) -> Vec<Crossing> {
    let swept = |v: u32| Bounds::swept(&x0[v as usize], &x1[v as usize], 0.0);
    let of_vertex: Vec<Bounds> = (0..mesh.body.len() as u32).into_par_iter().with_min_len(CHUNK).map(swept).collect();
    let of = |v: u32| &of_vertex[v as usize];
    let of_edge: Vec<Bounds> = mesh.edges.par_iter().with_min_len(CHUNK).map(|[a, b]| of(*a).union(of(*b))).collect();
    let of_triangle: Vec<Bounds> =
        mesh.triangles.par_iter().with_min_len(CHUNK).map(|[a, b, c]| of(*a).union(of(*b)).union(of(*c))).collect();
    let vertex_faces = |&[vertex, triangle]: &[u32; 2]| {
        let near = of_vertex[vertex as usize].overlaps(&of_triangle[triangle as usize]);
        if near { first_crossing(mesh, Pair::VertexFace { vertex, triangle }, x0, x1) } else { None }
    };
    let edge_edges = |&[first, second]: &[u32; 2]| {
        let near = of_edge[first as usize].overlaps(&of_edge[second as usize]);
        if near { first_crossing(mesh, Pair::EdgeEdge { first, second }, x0, x1) } else { None }
    };
    let mut found: Vec<Crossing> = candidates.vertex_faces.par_iter().with_min_len(CHUNK).filter_map(vertex_faces).collect();
    found.par_extend(candidates.edge_edges.par_iter().with_min_len(CHUNK).filter_map(edge_edges));
    found
}

/// For each body how far all of them may go along the way of `crossings` until just before it first touches something: `part` of the
/// time of its first crossing, 1 without any. Bodies that touch each other have to be held back alike, by the least of their fractions.
pub fn safe_fractions(mesh: &Mesh, crossings: &[Crossing], part: f64) -> Vec<f64> {
    let mut fractions = vec![1.0; mesh.mobility.len()];
    for crossing in crossings {
        for body in mesh.bodies(crossing.pair) {
            let fraction: &mut f64 = &mut fractions[body as usize];
            *fraction = fraction.min(part * crossing.time);
        }
    }
    fractions
}

/// Candidates that one thread takes at a time, at least.
const CHUNK: usize = 2048;
/// Rounding error of a determinant, in products of the lengths that make it.
const NOISE: f64 = 16.0 * f64::EPSILON;
/// Distance, in sizes of the features, that counts as touching.
const TOUCH: f64 = 1e-9;
/// Most of the first distance that counts as touching.
const PART_OF_GAP: f64 = 0.1;
/// Sine of the angle between edges below which their cross product says more about rounding and small deformation than about the contact.
const NEARLY_PARALLEL: f64 = 1e-3;
/// Sine below which a triangle or two edges have no normal.
const COLLAPSED: f64 = 1e-9;
/// Sine of the angle between a way and a plane below which nothing comes from either side.
const GRAZING: f64 = 1e-8;

/// Four points on straight ways, relative to the second.
struct Way {
    pair: Pair,
    vertices: [u32; 4],
    x0: [Vec3; 4],
    x1: [Vec3; 4],
    /// Bernstein coefficients of the volume that the four points span, a cubic of time.
    volume: [f64; 4],
    /// What is not to be told from 0 among them.
    noise: f64,
}

impl Way {
    #[inline]
    fn new(mesh: &Mesh, pair: Pair, x0: &[Vec3], x1: &[Vec3]) -> Self {
        let vertices = mesh.vertices(pair);
        let relative = |x: &[Vec3]| vertices.map(|v| x[v as usize] - x[vertices[1] as usize]);
        let (x0, x1) = (relative(x0), relative(x1));
        let spanning = |x: &[Vec3; 4]| match pair {
            Pair::VertexFace { .. } => [x[2] - x[1], x[3] - x[1], x[0] - x[1]],
            Pair::EdgeEdge { .. } => [x[1] - x[0], x[3] - x[2], x[2] - x[0]],
        };
        let ([u0, v0, w0], [u1, v1, w1]) = (spanning(&x0), spanning(&x1));
        let (n0, m, n1) = (u0.cross(&v0), u0.cross(&v1) + u1.cross(&v0), u1.cross(&v1));
        let volume = [n0.dot(&w0), (m.dot(&w0) + n0.dot(&w1)) / 3.0, (m.dot(&w1) + n1.dot(&w0)) / 3.0, n1.dot(&w1)];
        let longest = |a: &Vec3, b: &Vec3| larger(a.norm_squared(), b.norm_squared());
        let noise = NOISE * (longest(&u0, &u1) * longest(&v0, &v1) * longest(&w0, &w1)).sqrt();
        Self { pair, vertices, x0, x1, volume, noise }
    }

    /// The cubic lies between its coefficients.
    #[inline]
    fn never_coplanar(&self) -> bool {
        self.volume.iter().all(|b| *b > self.noise) || self.volume.iter().all(|b| *b < -self.noise)
    }

    fn at(&self, t: f64) -> [Vec3; 4] {
        std::array::from_fn(|i| self.x0[i] * (1.0 - t) + self.x1[i] * t)
    }

    fn closest(&self, x: &[Vec3; 4]) -> Closest {
        match self.pair {
            Pair::VertexFace { .. } => vertex_face(x),
            Pair::EdgeEdge { .. } => edge_edge(x),
        }
    }

    /// How many of the four points are the first side.
    fn first_side(&self) -> usize {
        match self.pair {
            Pair::VertexFace { .. } => 1,
            Pair::EdgeEdge { .. } => 2,
        }
    }

    /// Whether a plane across `direction` stays between the features.
    fn separated_along(&self, direction: &Vec3) -> bool {
        let along = |i: usize| (self.x0[i].dot(direction), self.x1[i].dot(direction));
        let first = (0..self.first_side()).map(along).fold(f64::INFINITY, |m, (a, b)| m.min(a).min(b));
        let second = (self.first_side()..4).map(along).fold(f64::NEG_INFINITY, |m, (a, b)| m.max(a).max(b));
        first > second
    }

    fn first_crossing(&self, mesh: &Mesh, x0: &[Vec3]) -> Option<Crossing> {
        let start = self.closest(&self.x0);
        if self.separated_along(&start.direction) {
            return None;
        }
        let size = self.x0.iter().chain(&self.x1).fold(0.0, |s: f64, x| s.max(x.amax()));
        let moved = (0..4).fold(0.0, |m: f64, i| m.max((self.x1[i] - self.x0[i]).amax()));
        let least = TOUCH * size;
        let most = least.max(PART_OF_GAP * start.distance);
        for time in self.times().sorted() {
            let x = self.at(*time);
            let touch = self.closest(&x);
            // The time is known up to noise / slope, the distance at that time up to noise / area.
            let slope = slope(&self.volume, *time).abs();
            let late = moved * (self.noise / slope).min(1e-4);
            let blurred = self.noise / self.normal(&x).norm();
            if touch.distance <= (least + late + blurred).min(most) {
                let crossing = self.crossing(mesh, *time, touch.weights, x0);
                // A gap that stays open was only nearly touched.
                let gap = |x, c: &Crossing| weighted(&c.weights, x).dot(&c.normal);
                if let Some(c) = crossing.filter(|c| gap(&self.x1, c) <= PART_OF_GAP * gap(&self.x0, c)) {
                    return Some(c);
                }
            }
        }
        None
    }

    /// Face normal, or cross product of the edges.
    fn normal(&self, x: &[Vec3; 4]) -> Vec3 {
        match self.pair {
            Pair::VertexFace { .. } => (x[2] - x[1]).cross(&(x[3] - x[1])),
            Pair::EdgeEdge { .. } => (x[1] - x[0]).cross(&(x[3] - x[2])),
        }
    }

    /// All times at which the features can begin to touch.
    fn times(&self) -> Times {
        let mut times = Times::default();
        if self.volume.iter().any(|b| b.abs() > self.noise) {
            times.add_cubic(&self.volume, self.noise);
            return times;
        }
        // Always in one plane: a corner of three points flips where one passes the line through the other two. The plane is looked at
        // along the largest normal there is.
        let corners = [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]];
        let middle = self.at(0.5);
        let normals = [&self.x0, &self.x1, &middle].into_iter().flat_map(|x| corners.map(|[i, j, k]| (x[j] - x[i]).cross(&(x[k] - x[i]))));
        let view = normals.fold(Vec3::zeros(), |best, n| if n.norm_squared() > best.norm_squared() { n } else { best });
        times.add(0.0);
        for [i, j, k] in corners {
            let [a0, a1] = [self.x0[j] - self.x0[i], self.x1[j] - self.x1[i]];
            let [b0, b1] = [self.x0[k] - self.x0[i], self.x1[k] - self.x1[i]];
            let mixed = 0.5 * (a0.cross(&b1) + a1.cross(&b0)).dot(&view);
            times.add_quadratic(a0.cross(&b0).dot(&view), mixed, a1.cross(&b1).dot(&view));
        }
        // Always on one line: points that pass each other.
        for (i, j) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
            let (d0, d1) = (self.x0[j] - self.x0[i], self.x1[j] - self.x1[i]);
            times.add(-d0.dot(&(d1 - d0)) / (d1 - d0).norm_squared());
        }
        times
    }

    fn crossing(&self, mesh: &Mesh, time: f64, weights: [f64; 4], x0: &[Vec3]) -> Option<Crossing> {
        // At the touch sum w_i x_i = 0: the start of the way there is the same direction as minus the relative velocity.
        let from = weighted(&weights, &self.x0);
        let come = weighted(&weights, &self.x0) - weighted(&weights, &self.x1);
        let away = if from.norm() > 1e-3 * come.norm() { from } else { come };
        let normal = self.unit_normal(mesh, time, &weights, &away, x0)?;
        let side = away.dot(&normal);
        let normal = if side < 0.0 { -normal } else { normal };
        Some(Crossing { pair: self.pair, time, vertices: self.vertices, weights, normal })
    }

    /// A unit normal between the features that touch, of either sign; `away` leads back to where the first feature comes from. None if
    /// nothing moves.
    fn unit_normal(&self, mesh: &Mesh, time: f64, weights: &[f64; 4], away: &Vec3, x0: &[Vec3]) -> Option<Vec3> {
        let x = self.at(time);
        let comes_along = |n: &Vec3| n.dot(away).abs() > GRAZING * away.norm();
        let in_plane = self.volume.iter().all(|b| b.abs() <= self.noise);
        let regular = self.normal(&x).try_normalize(0.0).filter(|n| !in_plane && comes_along(n));
        // The edges that the touched points may lie on, each with its distance from its ends.
        let on = |i: usize, j: usize| (weights[i].abs().min(weights[j].abs()), x[j] - x[i]);
        let edges = match self.pair {
            Pair::VertexFace { .. } => [on(1, 2), on(2, 3), on(3, 1)],
            Pair::EdgeEdge { .. } => [on(0, 1), on(2, 3), on(2, 3)],
        };
        let sine = self.sine(&x);
        match self.pair {
            Pair::VertexFace { .. } if sine > COLLAPSED && regular.is_some() => return regular,
            Pair::EdgeEdge { .. } if sine > NEARLY_PARALLEL && regular.is_some() => return regular,
            Pair::EdgeEdge { first, second } if sine <= NEARLY_PARALLEL => {
                let wedge = across(&(mesh.outward(second, x0) - mesh.outward(first, x0)), &edges[0].1).and_then(|n| n.try_normalize(1e-3));
                if let Some(n) = wedge.filter(comes_along) {
                    return Some(n);
                }
                if sine > COLLAPSED && regular.is_some() {
                    return regular;
                }
            }
            _ => {}
        }
        // All points in one plane or on one line: across the edge that is touched, towards where the other side comes from.
        let edge = edges[1..].iter().fold(edges[0], |best, e| if e.0 > best.0 { *e } else { best }).1;
        across(away, &edge).and_then(|n| n.try_normalize(GRAZING * away.norm())).or_else(|| away.try_normalize(0.0))
    }

    /// Sine of the angle between the edges, or of that between two sides of the triangle.
    fn sine(&self, x: &[Vec3; 4]) -> f64 {
        let (e, f) = match self.pair {
            Pair::VertexFace { .. } => (x[2] - x[1], x[3] - x[1]),
            Pair::EdgeEdge { .. } => (x[1] - x[0], x[3] - x[2]),
        };
        let sine = e.cross(&f).norm() / (e.norm() * f.norm());
        if sine.is_finite() { sine } else { 0.0 }
    }
}

/// The part of `a` across the direction of `b`, all of `a` if b is 0; none if nothing finite comes of it.
fn across(a: &Vec3, b: &Vec3) -> Option<Vec3> {
    let n = b.try_normalize(0.0).map_or(*a, |b| a - b * b.dot(a));
    n.iter().all(|c| c.is_finite()).then_some(n)
}

#[inline]
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// A few times in [0, 1].
#[derive(Default)]
struct Times {
    times: [f64; 16],
    count: usize,
}

impl Times {
    /// Leaves out what is no time.
    fn add(&mut self, t: f64) {
        if (0.0..=1.0).contains(&t) && self.count < self.times.len() {
            self.times[self.count] = t;
            self.count += 1;
        }
    }

    /// Roots of c0 (1-t)^2 + 2 c1 t (1-t) + c2 t^2.
    fn add_quadratic(&mut self, c0: f64, c1: f64, c2: f64) {
        let h = c1 - c0;
        let discriminant = c1 * c1 - c0 * c2;
        if discriminant >= 0.0 {
            let q = -(h + discriminant.sqrt().copysign(h));
            self.add(q / (c0 - 2.0 * c1 + c2));
            self.add(c0 / q);
        }
    }

    /// Roots of the cubic with Bernstein coefficients `b`, and turning points where it comes as close to 0 as `noise`.
    fn add_cubic(&mut self, b: &[f64; 4], noise: f64) {
        let mut ends = Self::default();
        ends.add(0.0);
        ends.add_quadratic(b[1] - b[0], b[2] - b[1], b[3] - b[2]);
        ends.add(1.0);
        let ends = ends.sorted();
        for t in ends.iter().filter(|t| value(b, **t).abs() <= noise) {
            self.add(*t);
        }
        for pair in ends.windows(2) {
            if (value(b, pair[0]) < 0.0) != (value(b, pair[1]) < 0.0) {
                self.add(root(b, pair[0], pair[1]));
            }
        }
    }

    fn sorted(&mut self) -> &[f64] {
        let times = &mut self.times[..self.count];
        times.sort_unstable_by(f64::total_cmp);
        times
    }
}

/// Cubic with Bernstein coefficients `b` (de Casteljau).
fn value(b: &[f64; 4], t: f64) -> f64 {
    let s = 1.0 - t;
    let [c0, c1, c2] = [b[0] * s + b[1] * t, b[1] * s + b[2] * t, b[2] * s + b[3] * t];
    (c0 * s + c1 * t) * s + (c1 * s + c2 * t) * t
}

fn slope(b: &[f64; 4], t: f64) -> f64 {
    let s = 1.0 - t;
    3.0 * ((b[1] - b[0]) * s * s + 2.0 * (b[2] - b[1]) * s * t + (b[3] - b[2]) * t * t)
}

/// The root between `lo` and `hi`, where the cubic has different signs and no turning point between: Newton's method, halving where it leaves
/// the bracket.
fn root(b: &[f64; 4], mut lo: f64, mut hi: f64) -> f64 {
    let negative_first = value(b, lo) < 0.0;
    let mut t = 0.5 * (lo + hi);
    for _ in 0..100 {
        let f = value(b, t);
        if f == 0.0 {
            return t;
        }
        if (f < 0.0) == negative_first {
            lo = t;
        } else {
            hi = t;
        }
        let newton = t - f / slope(b, t);
        let next = if newton > lo && newton < hi { newton } else { 0.5 * (lo + hi) };
        if (next - t).abs() <= f64::EPSILON * next {
            return next;
        }
        t = next;
    }
    t
}
