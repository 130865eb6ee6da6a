//! Whether two features pass through each other while their vertices go along straight lines.

use rayon::prelude::*;

use super::candidates::Candidates;
use super::closest::{Closest, NEARLY_PARALLEL, between_edges, between_vertex_and_face, edge_edge, vertex_face, weighted};
use super::cubic::{Cubic, Times};
use super::mesh::{Mesh, Pair};
use crate::cancel::CancelToken;
use crate::math::Vec3;

/// First touch of two features. A pair that touches already at the start is taken to come from the side opposite to its
/// relative motion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    pub pair: Pair,
    /// Fraction of the motion, 0 to 1.
    pub time: f64,
    /// Vertex, then triangle; or first, then second edge.
    pub vertices: [u32; 4],
    /// Where on the features: sum +1 over the first side, -1 over the second.
    pub weights: [f64; 4],
    /// Unit normal at the time of touching, towards the side that the first feature comes from.
    pub normal: Vec3,
    /// The features come back through each other, and end as they started.
    pub returns: bool,
}

impl Crossing {
    /// sum w_i x_i . n [m] at positions `x`: positive on the side the features start on.
    pub fn gap(&self, x: &[Vec3]) -> f64 {
        weighted(&self.weights, &self.vertices.map(|v| x[v as usize])).dot(&self.normal)
    }
}

/// The first time in [0, 1] at which a pair touches while all vertices go straight from `x0` to `x1` [m]. Nothing is
/// missed down to gaps of 1e-9 of the size of the features; what passes closer than that (or than a part of the
/// rounding error of badly shaped features, at most a tenth of the first distance) counts as touching.
pub fn first_crossing(mesh: &Mesh, pair: Pair, x0: &[Vec3], x1: &[Vec3]) -> Option<Crossing> {
    let motion = LinearMotion::new(mesh, pair, x0, x1);
    let apart = motion.between(&motion.x0);
    if motion.stays_apart(&apart) {
        return None;
    }
    let volume = motion.volume();
    if volume.nowhere_zero() { None } else { motion.first_crossing(&volume, apart.norm(), mesh, x0) }
}

/// Crossings that were found, and memory of the search, kept between calls.
#[derive(Clone, Debug, Default)]
pub struct Crossings {
    /// Sorted by pair, those of vertices and triangles first.
    pub found: Vec<Crossing>,
    /// Of the chunks of candidates.
    parts: Vec<Vec<Crossing>>,
}

/// First crossings of all candidates, sorted by pair. The same for any number of threads.
pub fn crossings(mesh: &Mesh, candidates: &Candidates, x0: &[Vec3], x1: &[Vec3]) -> Vec<Crossing> {
    let mut crossings = Crossings::default();
    crossings.find(mesh, candidates, x0, x1, &CancelToken::default());
    crossings.found
}

impl Crossings {
    /// As [`crossings`], into `found`. Ends soon after `cancel` is cancelled, with a part of them.
    pub fn find(&mut self, mesh: &Mesh, candidates: &Candidates, x0: &[Vec3], x1: &[Vec3], cancel: &CancelToken) {
        let Self { found, parts } = self;
        let vertex_faces = |&[vertex, triangle]: &[u32; 2]| first_crossing(mesh, Pair::VertexFace { vertex, triangle }, x0, x1);
        let edge_edges = |&[first, second]: &[u32; 2]| first_crossing(mesh, Pair::EdgeEdge { first, second }, x0, x1);
        found.clear();
        search(&candidates.vertex_faces, vertex_faces, cancel, parts, found);
        search(&candidates.edge_edges, edge_edges, cancel, parts, found);
    }
}

/// Appends what `cross` finds of `pairs` to `found`, chunk by chunk.
fn search(
    pairs: &[[u32; 2]],
    cross: impl Fn(&[u32; 2]) -> Option<Crossing> + Sync,
    cancel: &CancelToken,
    parts: &mut Vec<Vec<Crossing>>,
    found: &mut Vec<Crossing>,
) {
    parts.resize_with(parts.len().max(pairs.len().div_ceil(CANDIDATES_PER_TASK)), Vec::new);
    (pairs.par_chunks(CANDIDATES_PER_TASK), &mut parts[..])
        .into_par_iter()
        .filter(|_| !cancel.has_been_cancelled())
        .for_each(|(pairs, part)| part.extend(pairs.iter().filter_map(&cross)));
    parts.iter_mut().for_each(|part| found.append(part));
}

/// For each body how far all bodies may go on the trajectories of `crossings` until just before it first touches
/// something: `part` of the time of its first crossing, 1 without any. Bodies that touch each other have to be held
/// back alike, by the least of their fractions.
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
const CANDIDATES_PER_TASK: usize = 2048;
/// Rounding error of a determinant, in products of the lengths that make it.
const DETERMINANT_ROUNDING: f64 = 16.0 * f64::EPSILON;
/// Distance, in sizes of the features, that counts as touching.
const TOUCH_DISTANCE: f64 = 1e-9;
/// Uncertainty of a quick distance, in sizes of the features.
const QUICK_DISTANCE_ERROR: f64 = 1e-7;
/// Most of the first distance that counts as touching.
pub const MAX_TOUCH_OF_GAP: f64 = 0.1;
/// Sine below which a triangle or two edges have no normal.
const MIN_SINE: f64 = 1e-9;
/// Sine of the angle between a path and a plane below which a point comes from neither side.
const MIN_GRAZING_SINE: f64 = 1e-8;

/// Linear motion of four points, relative to the second.
struct LinearMotion {
    pair: Pair,
    vertices: [u32; 4],
    x0: [Vec3; 4],
    x1: [Vec3; 4],
}

impl LinearMotion {
    #[inline]
    fn new(mesh: &Mesh, pair: Pair, x0: &[Vec3], x1: &[Vec3]) -> Self {
        let vertices = mesh.vertices(pair);
        let [a, o, b, c] = [vertices[0] as usize, vertices[1] as usize, vertices[2] as usize, vertices[3] as usize];
        let x0 = [x0[a] - x0[o], Vec3::zeros(), x0[b] - x0[o], x0[c] - x0[o]];
        let x1 = [x1[a] - x1[o], Vec3::zeros(), x1[b] - x1[o], x1[c] - x1[o]];
        Self { pair, vertices, x0, x1 }
    }

    /// From the second feature to the first, the shortest vector but for rounding of 1e-8 of their size; not a number
    /// if one has collapsed.
    #[inline]
    fn between(&self, x: &[Vec3; 4]) -> Vec3 {
        match self.pair {
            Pair::VertexFace { .. } => between_vertex_and_face(x),
            Pair::EdgeEdge { .. } => between_edges(x),
        }
    }

    /// Whether a plane across `direction` stays between the features, which never leave the hull of their corners at
    /// both ends.
    #[inline]
    fn stays_apart(&self, direction: &Vec3) -> bool {
        let (mut first, mut second) = (f64::INFINITY, f64::NEG_INFINITY);
        for i in 0..4 {
            let (a, b) = (self.x0[i].dot(direction), self.x1[i].dot(direction));
            if i == 0 || i == 1 && matches!(self.pair, Pair::EdgeEdge { .. }) {
                first = lesser(first, lesser(a, b));
            } else {
                second = -lesser(-second, lesser(-a, -b));
            }
        }
        first > second
    }

    /// Six times the volume that the four points span: 0 where they lie in a plane.
    #[inline]
    fn volume(&self) -> Cubic {
        let (u0, v0, w0) = self.spanning(&self.x0);
        let (u1, v1, w1) = self.spanning(&self.x1);
        let (n0, m, n1) = (u0.cross(&v0), u0.cross(&v1) + u1.cross(&v0), u1.cross(&v1));
        let coefficients = [n0.dot(&w0), (m.dot(&w0) + n0.dot(&w1)) / 3.0, (m.dot(&w1) + n1.dot(&w0)) / 3.0, n1.dot(&w1)];
        let longest = |a: &Vec3, b: &Vec3| a.norm_squared().max(b.norm_squared());
        let noise = DETERMINANT_ROUNDING * (longest(&u0, &u1) * longest(&v0, &v1) * longest(&w0, &w1)).sqrt();
        Cubic { coefficients, noise }
    }

    #[inline]
    fn spanning(&self, x: &[Vec3; 4]) -> (Vec3, Vec3, Vec3) {
        match self.pair {
            Pair::VertexFace { .. } => (x[2] - x[1], x[3] - x[1], x[0] - x[1]),
            Pair::EdgeEdge { .. } => (x[1] - x[0], x[3] - x[2], x[2] - x[0]),
        }
    }

    /// Positions at a time.
    fn at(&self, t: f64) -> [Vec3; 4] {
        std::array::from_fn(|i| self.x0[i] * (1.0 - t) + self.x1[i] * t)
    }

    fn closest(&self, x: &[Vec3; 4]) -> Closest {
        match self.pair {
            Pair::VertexFace { .. } => vertex_face(x),
            Pair::EdgeEdge { .. } => edge_edge(x),
        }
    }

    /// `gap` is the distance at the start.
    fn first_crossing(&self, volume: &Cubic, gap: f64, mesh: &Mesh, x0: &[Vec3]) -> Option<Crossing> {
        let size = self.x0.iter().chain(&self.x1).fold(0.0, |s: f64, x| s.max(x.amax()));
        let moved = (0..4).fold(0.0, |m: f64, i| m.max((self.x1[i] - self.x0[i]).amax()));
        let least = TOUCH_DISTANCE * size;
        let most = least.max(MAX_TOUCH_OF_GAP * gap);
        let mut first: Option<Crossing> = None;
        for time in self.times(volume).sorted() {
            let x = self.at(*time);
            if self.between(&x).norm_squared() > (2.0 * most + QUICK_DISTANCE_ERROR * size).powi(2) {
                continue;
            }
            let touch = self.closest(&x);
            // The time is known up to noise / slope, the distance at that time up to noise / area.
            let late = moved * (volume.noise / volume.slope(*time).abs()).min(1e-4);
            let blurred = volume.noise / self.normal(&x).norm();
            if touch.distance <= (least + late + blurred).min(most) {
                if let Some(first) = &mut first {
                    first.returns = !first.returns;
                    continue;
                }
                let crossing = self.crossing(volume, *time, &x, touch.weights, mesh, x0);
                // A gap that stays open was only nearly touched.
                let gap = |x, c: &Crossing| weighted(&c.weights, x).dot(&c.normal);
                first = crossing.filter(|c| gap(&self.x1, c) <= MAX_TOUCH_OF_GAP * gap(&self.x0, c));
            }
        }
        // Whoever comes back is on the same side as before.
        let [start, .., end] = volume.coefficients;
        let same_side = start * end > 0.0 && start.abs().min(end.abs()) > volume.noise;
        first.map(|c| Crossing { returns: c.returns && same_side, ..c })
    }

    /// Face normal, or cross product of the edges.
    fn normal(&self, x: &[Vec3; 4]) -> Vec3 {
        let (u, v, _) = self.spanning(x);
        u.cross(&v)
    }

    /// All times at which the features can begin to touch.
    fn times(&self, volume: &Cubic) -> Times {
        if !volume.everywhere_zero() {
            return volume.roots();
        }
        let mut times = Times::default();
        // Always in one plane: a corner of three points flips where one passes the line through the other two. The
        // plane is looked at along the largest normal there is.
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

    /// The touch at a time, with the positions `x` there.
    fn crossing(&self, volume: &Cubic, time: f64, x: &[Vec3; 4], weights: [f64; 4], mesh: &Mesh, x0: &[Vec3]) -> Option<Crossing> {
        // At the touch sum w_i x_i = 0, so that the path back to the start has the direction of minus the relative
        // velocity.
        let inexact = weighted(&weights, x).norm();
        let from = weighted(&weights, &self.x0);
        let away = if from.norm() > inexact { from } else { from - weighted(&weights, &self.x1) };
        // A normal is of use if it separates the sides at the start.
        let separates = |n: &Vec3| n.dot(&away).abs() > inexact.max(MIN_GRAZING_SINE * away.norm());
        let coplanar = volume.everywhere_zero();
        let regular = self.normal(x).try_normalize(0.0).filter(|n| !coplanar && separates(n));
        let sine = self.sine(x);
        let normal = match self.pair {
            Pair::VertexFace { .. } => regular.filter(|_| sine > MIN_SINE),
            Pair::EdgeEdge { .. } if sine > NEARLY_PARALLEL => regular,
            Pair::EdgeEdge { first, second } => {
                let bisector = across(&(mesh.normal_cone(second, x0).outward() - mesh.normal_cone(first, x0).outward()), &(x[1] - x[0]))
                    .filter(|n| n.norm() > 1e-3);
                bisector.map(|n| n.normalize()).filter(separates).or(regular.filter(|_| sine > MIN_SINE))
            }
        };
        let normal = normal.or_else(|| self.normal_across(x, &weights, &away))?;
        let normal = if away.dot(&normal) < 0.0 { -normal } else { normal };
        Some(Crossing { pair: self.pair, time, vertices: self.vertices, weights, normal, returns: false })
    }

    /// The normal where all points lie in one plane or on one line: across the edge that is touched, towards where the
    /// other side comes from. None if nothing moves.
    fn normal_across(&self, x: &[Vec3; 4], weights: &[f64; 4], away: &Vec3) -> Option<Vec3> {
        // The edges that the touched points may lie on, each with its distance from its ends.
        let on = |i: usize, j: usize| (weights[i].abs().min(weights[j].abs()), x[j] - x[i]);
        let edges = match self.pair {
            Pair::VertexFace { .. } => [on(1, 2), on(2, 3), on(3, 1)],
            Pair::EdgeEdge { .. } => [on(0, 1), on(2, 3), on(2, 3)],
        };
        let edge = edges[1..].iter().fold(edges[0], |best, e| if e.0 > best.0 { *e } else { best }).1;
        across(away, &edge).and_then(|n| n.try_normalize(MIN_GRAZING_SINE * away.norm())).or_else(|| away.try_normalize(0.0))
    }

    /// Sine of the angle between the edges, or of that between two sides of the triangle.
    fn sine(&self, x: &[Vec3; 4]) -> f64 {
        let (u, v, _) = self.spanning(x);
        let sine = u.cross(&v).norm() / (u.norm() * v.norm());
        if sine.is_finite() { sine } else { 0.0 }
    }
}

/// The part of `a` across the direction of `b`, all of `a` if b is 0; none if nothing finite comes of it.
fn across(a: &Vec3, b: &Vec3) -> Option<Vec3> {
    let n = b.try_normalize(0.0).map_or(*a, |b| a - b * b.dot(a));
    n.iter().all(|c| c.is_finite()).then_some(n)
}

#[inline]
fn lesser(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}
