//! Features of surfaces against obstacles of exact shape: the nearest point of a vertex, edge or triangle to a convex
//! shape.

mod clearance;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use arrayvec::ArrayVec;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::contract::{ContactGenerator, Met, Moved, Overlap, Search};
use super::surface_step::VERTICES;
use super::{End, SurfaceStep};
use crate::body::BodyRef;
use crate::cancel::CancelToken;
use crate::contact::{ContactPoint, Linearisation};
use crate::geometry::{Candidates, MovingShape, Shape, TangentPlane, deepest_weights, nearest, sagitta};
use crate::math::{Aabb, Vec3};
use crate::memory::Pool;
use crate::model::{PairId, PairKind, WarmContact};
use crate::sparse::Segment;
use clearance::{Clearance, LONGER};

/// What one thread finds of the features that end inside an obstacle.
#[derive(Debug, Default)]
struct Part {
    /// Vertices of a body that may be inside an obstacle, and their gaps [m].
    vertices: Vec<u32>,
    gaps: Vec<f64>,
    /// Those inside of it, in order; and with the nodes that they hang on and their gaps [m].
    below: Vec<u32>,
    inside: Vec<([u32; 4], f64, u32)>,
    /// Edges and triangles that are near enough to be inside.
    edges: Vec<u32>,
    triangles: Vec<u32>,
    found: Vec<(PairId, Linearisation)>,
}

/// The generator of contacts with obstacles of exact shape.
#[derive(Debug, Default)]
pub struct Obstacles {
    /// Over the step.
    shapes: Vec<MovingShape>,
    /// Length of the longest edge at the start of the step of each body that is near a round obstacle [m].
    longest_edges: Vec<OnceLock<f64>>,
    /// Of each deformable body that has groups of neighbours.
    clearances: Vec<Option<Clearance>>,
    /// Memory of the threads that search.
    idle: Pool<Vec<Part>>,
}

/// What goes less than this into an obstacle [m] goes with it.
const LEAST_WAY: f64 = 1e-12;

/// A point of the first feature of a pair may have a row of its own if one of its weights differs by this much.
const SAME_POINT: f64 = 0.02;

/// Less than this of a corner in a point is what the search for the deepest one leaves.
const LEAST_WEIGHT: f64 = 1e-6;

impl Obstacles {
    fn shape_of(&self, pair: &PairId) -> &MovingShape {
        &self.shapes[pair.second as usize]
    }

    /// The weights of the point of the first feature that is deepest (or nearest) at `x`.
    fn deepest(&self, pair: &PairId, step: &SurfaceStep, x: &[Vec3], at_end: bool) -> [f64; 3] {
        let obstacle = self.shape_of(pair);
        let pose = if at_end { &obstacle.pose_t1 } else { &obstacle.pose_t0 };
        let at = |v: &u32| pose.inverse_transform_point(&x[*v as usize].into()).coords;
        let corners: ArrayVec<Vec3, 3> = corners(step, pair).iter().map(at).collect();
        deepest_weights(&obstacle.shape, &corners)
    }

    /// A point of the first feature of a pair, at the end of the step.
    fn point_at_end(&self, pair: &PairId, weights: &[f64; 3], end: &End) -> Linearisation {
        let vertices = corners(end.step, pair);
        let (x0, x1) = (combine(&vertices, weights, &end.step.start), combine(&vertices, weights, &end.x));
        let plane = self.shape_of(pair).tangent_plane_along(&around(&vertices, weights, &end.x), &x0, &x1);
        linearisation(&vertices, weights, &plane, &x0, &x1)
    }

    /// The point of the first feature of a pair that is deepest (or nearest) at the end of the step.
    fn deepest_at_end(&self, pair: &PairId, end: &End) -> Linearisation {
        self.point_at_end(pair, &self.deepest(pair, end.step, &end.x, true), end)
    }

    /// Whether the deepest point of a triangle is told by an edge: it is on its border.
    fn is_of_an_edge(&self, pair: &PairId, weights: &[f64; 3], end: &End) -> bool {
        let inner = weights.map(|w| if w > LEAST_WEIGHT { w } else { 0.0 });
        let sum: f64 = inner.iter().sum();
        pair.kind == PairKind::TriangleObstacle && inner.contains(&0.0) && self.gap_of_point(pair, &inner.map(|w| w / sum), end) < 0.0
    }

    /// How far a point of the first feature of a pair ends from the obstacle [m]; below a plane that lies along the
    /// feature it may be deeper.
    fn gap_of_point(&self, pair: &PairId, weights: &[f64; 3], end: &End) -> f64 {
        let vertices = corners(end.step, pair);
        let [x0, x1] = [&end.step.start[..], &end.x].map(|x| combine(&vertices, weights, x));
        self.shape_of(pair).tangent_plane(&x0, &x1).gap
    }

    /// The features of some bodies that end inside obstacles, body by body; goes back to `idle` when they are taken.
    fn enter_all(&self, bodies: &[Segment], end: &End) -> Vec<Part> {
        let mut parts = self.idle.take().unwrap_or_default();
        parts.resize_with(bodies.len().max(parts.len()), Part::default);
        parts.par_iter_mut().zip(bodies).for_each(|(part, segment)| self.enter(segment.body, end, part));
        parts
    }

    /// The features of a body that end inside an obstacle.
    fn enter(&self, body: BodyRef, end: &End, part: &mut Part) {
        if !end.step.model.is_movable(body) {
            return;
        }
        let (surfaces, start) = (end.step.surfaces, &end.step.start);
        let clearance = if body.is_deformable() { self.clearances.get(body.index()).and_then(Option::as_ref) } else { None };
        let known = clearance.and_then(|clearance| Some((clearance, clearance.ways(end.motions_of(body)?))));
        let vertices = surfaces.features(body).vertices.clone();
        let mut swept = None;
        for (o, obstacle) in self.shapes.iter().enumerate() {
            // Boxes are among the surfaces.
            if matches!(obstacle.shape, Shape::Box { .. }) {
                continue;
            }
            if let Some((clearance, ways)) = &known {
                let is_fast = clearance.near(o, obstacle, ways, surfaces, &mut part.vertices);
                self.enter_obstacle(o, end, is_fast, |v| clearance.size_at(v as usize - vertices.start, ways), part);
                continue;
            }
            part.vertices.clear();
            part.vertices.extend(vertices.start as u32..vertices.end as u32);
            let (mut longest_edge, mut is_fast) = (0.0, false);
            if obstacle.shape != Shape::Plane {
                let swept: &Swept = swept.get_or_insert_with(|| Swept::of(&start[vertices.clone()], &end.x[vertices.clone()]));
                if !self.may_touch(o, &swept.bounds) {
                    continue;
                }
                longest_edge = self.longest_edge(body, end.step) + swept.stretch;
                let arm = swept.bounds.center() - obstacle.pose_t0.translation.vector;
                is_fast = obstacle.may_pass(obstacle.way_seen(swept.way, arm.norm() + 0.5 * swept.bounds.extent().norm()));
            }
            self.enter_obstacle(o, end, is_fast, |_| longest_edge, part);
        }
    }

    /// The longest edge of a body at the start of the step [m].
    fn longest_edge(&self, body: BodyRef, step: &SurfaceStep) -> f64 {
        let longest = || {
            let edges = &step.surfaces.mesh.edges[step.surfaces.features(body).edges.clone()];
            let length2 = |&[a, b]: &[u32; 2]| (step.start[a as usize] - step.start[b as usize]).norm_squared();
            edges.iter().map(length2).fold(0.0, f64::max).sqrt()
        };
        let kept = step.surfaces.numbering.number(body).and_then(|number| self.longest_edges.get(number));
        kept.map_or_else(longest, |kept| *kept.get_or_init(longest))
    }

    /// Of the vertices of `part`, then of the inside of edges and triangles at them whose corners are outside;
    /// `size_at`: the longest edge of what has a vertex as a corner that a round obstacle may touch, at most [m];
    /// `is_fast`: one of the vertices may go through it.
    fn enter_obstacle(&self, o: usize, moved: &End, is_fast: bool, size_at: impl Fn(u32) -> f64, part: &mut Part) {
        let Part { vertices, gaps, below, inside, edges, triangles, found } = part;
        let (step, obstacle) = (moved.step, &self.shapes[o]);
        let (mesh, model) = (&step.surfaces.mesh, step.model);
        let (start, end) = (&step.start, &moved.x);
        let bounds = obstacle.gap_bounds();
        let nearest_of = |(gaps, vertices): (&mut [f64], &[u32])| {
            bounds.gaps(vertices, start, end, gaps);
            for (gap, v) in gaps.iter_mut().zip(vertices).filter(|(gap, _)| gap.is_nan()) {
                *gap = obstacle.tangent_plane(&start[*v as usize], &end[*v as usize]).gap;
            }
            gaps.iter().copied().fold(f64::INFINITY, f64::min)
        };
        gaps.resize(vertices.len(), 0.0);
        let parts = (gaps.par_chunks_mut(VERTICES), vertices.par_chunks(VERTICES));
        let nearest_gap = parts.into_par_iter().map(nearest_of).reduce(|| f64::INFINITY, f64::min);
        let mut add = |kind, first: u32| {
            let pair = PairId { kind, first, second: o as u32 };
            let row = self.deepest_at_end(&pair, moved);
            if self.gap_of_point(&pair, &row.weights, moved) < 0.0 && !self.is_of_an_edge(&pair, &row.weights, moved) {
                found.push((pair, row));
            }
        };
        // Of vertices that hang on the same nodes the deepest comes first: what holds it holds most of the others, and
        // those that are left come when it is looked again.
        let of_nodes = |v: u32| match model.collision.weights.get(v as usize) {
            Some(weights) if weights[0] != 1.0 => model.collision.nodes[v as usize],
            _ => [v; 4],
        };
        below.clear();
        inside.clear();
        if nearest_gap < 0.0 {
            inside.extend(vertices.iter().zip(&*gaps).filter(|(_, gap)| **gap < 0.0).map(|(v, gap)| (of_nodes(*v), *gap, *v)));
            below.extend(inside.iter().map(|(_, _, v)| *v));
            below.sort_unstable();
        }
        inside.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
        inside.chunk_by(|a, b| a.0 == b.0).for_each(|same| add(PairKind::VertexObstacle, same[0].2));
        // A plane is met by corners first.
        let radius = match obstacle.shape {
            Shape::Sphere { radius } | Shape::Cylinder { radius, .. } => radius,
            Shape::Plane | Shape::Box { .. } => return,
        };
        // One corner of what reaches into the obstacle is as near as this: no point of it is further from a corner than
        // its size. A gap is no more than the distance.
        let may_reach = |v: u32, gap: f64, size: f64| {
            let size = (1.0 + LONGER) * size;
            gap <= size && (is_fast || obstacle.room_at_end(&end[v as usize]) < size || gap <= (1.0 + LONGER) * sagitta(radius, size))
        };
        let is_near = |(v, gap): &(&u32, &f64)| {
            let (v, gap) = (**v, **gap);
            // What it is at the end tells more, where that is still needed.
            gap >= 0.0 && may_reach(v, gap, size_at(v)) && may_reach(v, gap, step.surfaces.size_at(v, end))
        };
        // A convex shape lies below each of its tangent planes: corners above one of them cannot enclose it. The one at
        // the point nearest to the middle mostly tells.
        let is_apart = |corners: &[Vec3]| {
            let there = nearest(&obstacle.shape, &(corners.iter().sum::<Vec3>() / corners.len() as f64));
            corners.iter().all(|x| (x - there.point).dot(&there.normal) > 0.0)
        };
        let may_enclose = |corners: &[u32]| {
            if corners.iter().any(|v| below.binary_search(v).is_ok()) {
                return false;
            }
            let local: ArrayVec<Vec3, 3> =
                corners.iter().map(|v| obstacle.pose_t1.inverse_transform_point(&end[*v as usize].into()).coords).collect();
            !is_apart(&local)
        };
        edges.clear();
        triangles.clear();
        for (v, _) in vertices.iter().zip(&*gaps).filter(is_near) {
            edges.extend(step.surfaces.edges_at.get(*v as usize));
            triangles.extend(step.surfaces.triangles_at.get(*v as usize));
        }
        for features in [&mut *edges, &mut *triangles] {
            features.sort_unstable();
            features.dedup();
        }
        edges.iter().filter(|e| may_enclose(&mesh.edges[**e as usize])).for_each(|e| add(PairKind::EdgeObstacle, *e));
        triangles.iter().filter(|t| may_enclose(&mesh.triangles[**t as usize])).for_each(|t| add(PairKind::TriangleObstacle, *t));
    }

    /// False only if no point of the box can be inside the obstacle at any time of the step.
    fn may_touch(&self, o: usize, aabb: &Aabb) -> bool {
        let obstacle = &self.shapes[o];
        let (center, radius) = (aabb.center(), 0.5 * aabb.extent().norm());
        [&obstacle.pose_t0, &obstacle.pose_t1].iter().any(|pose| {
            let local = pose.inverse_transform_point(&center.into()).coords;
            let reach = match obstacle.shape {
                Shape::Plane => 0.0,
                _ => (obstacle.pose_t1.translation.vector - obstacle.pose_t0.translation.vector).norm(),
            };
            nearest(&obstacle.shape, &local).distance < radius + reach
        })
    }
}

impl ContactGenerator for Obstacles {
    fn kinds(&self) -> &'static [PairKind] {
        &[PairKind::VertexObstacle, PairKind::EdgeObstacle, PairKind::TriangleObstacle]
    }

    fn begin(&mut self, step: &SurfaceStep, [t0, t1]: [f64; 2]) {
        let model = step.model;
        let moving = |o: &crate::model::Obstacle| MovingShape { shape: o.shape, pose_t0: o.pose_at(t0), pose_t1: o.pose_at(t1) };
        self.shapes.clear();
        self.shapes.extend(model.obstacles.iter().map(moving));
        self.longest_edges.clear();
        self.longest_edges.resize_with(model.numbering().n_with_unknowns(), OnceLock::new);
        if self.clearances.len() != model.bodies.len() {
            self.clearances = (0..model.bodies.len()).map(|body| Clearance::new(step, body)).collect();
        }
        let Self { shapes, clearances, .. } = self;
        clearances.par_iter_mut().flatten().for_each(|clearance| clearance.begin(step, shapes));
    }

    fn exists(&self, step: &SurfaceStep, pair: &PairId) -> bool {
        let mesh = &step.surfaces.mesh;
        let n_features = match pair.kind {
            PairKind::EdgeObstacle => mesh.edges.len(),
            PairKind::TriangleObstacle => mesh.triangles.len(),
            _ => mesh.body.len(),
        };
        (pair.first as usize) < n_features && (pair.second as usize) < self.shapes.len()
    }

    fn bodies(&self, step: &SurfaceStep, pair: &PairId) -> [BodyRef; 2] {
        [step.surfaces.body_of_vertex(corners(step, pair)[0]), BodyRef::Obstacle(pair.second)]
    }

    /// The obstacle carries a point along that sticks to it. One that slides gets the plane where it is expected to
    /// come to: on the way of s past a radius of R the plane of the start errs by s^2 / 2 R, and the row would be
    /// renewed in every step.
    fn at_start(&self, contact: &WarmContact, _near: f64, moved: &Moved) -> Option<Linearisation> {
        let (pair, end) = (&contact.pair, moved.end);
        let start = &end.step.start;
        if contact.sliding {
            return Some(self.deepest_at_end(pair, end));
        }
        let (vertices, weights) = (corners(end.step, pair), self.deepest(pair, end.step, start, false));
        let x0 = combine(&vertices, &weights, start);
        let obstacle = self.shape_of(pair);
        let carried = |x: &Vec3| (obstacle.pose_t1 * (obstacle.pose_t0.inverse() * nalgebra::Point3::from(*x))).coords;
        let around: ArrayVec<Vec3, 3> = around(&vertices, &weights, start).iter().map(carried).collect();
        let plane = obstacle.tangent_plane_along(&around, &x0, &carried(&x0));
        Some(linearisation(&vertices, &weights, &plane, &x0, &combine(&vertices, &weights, &end.x)))
    }

    /// Over a rim the point that holds a feature travels along it as that turns: all the way at first, then half of it,
    /// as a feature that rocks would send it to and fro. Elsewhere a feature may lie flat, and its points are held
    /// where they are.
    fn at_end(&self, point: &ContactPoint, _normal: &Vec3, moved: &Moved) -> (Linearisation, f64) {
        let (pair, end) = (&point.pair, moved.end);
        let row = self.point_at_end(pair, &point.weights, end);
        if !row.travels {
            return (row, 0.0);
        }
        let deepest = self.deepest(pair, end.step, &end.x, true);
        let between = || std::array::from_fn(|k| 0.5 * (point.weights[k] + deepest[k]));
        let weights = if point.life.was_renewed() { between() } else { deepest };
        (self.point_at_end(pair, &weights, end), 0.0)
    }

    /// Features of the island that end inside an obstacle.
    fn meet(&self, search: &Search, met: &mut Met) {
        let mut parts = self.enter_all(&search.moved.trial.island.segments, search.moved.end);
        parts.iter_mut().for_each(|part| met.append(&mut part.found));
        self.idle.put(parts);
    }

    fn overlaps(&self, _: &Candidates, end: &End, _: &CancelToken) -> Vec<Overlap> {
        let mut parts = self.enter_all(&end.step.surfaces.whole.segments, end);
        let overlap = |(pair, row): (PairId, Linearisation)| {
            let (vertices, obstacle) = (corners(end.step, &pair), self.shape_of(&pair));
            let start = combine(&vertices, &row.weights, &end.step.start);
            let before = nearest(&obstacle.shape, &obstacle.pose_t0.inverse_transform_point(&start.into()).coords).distance;
            let after = self.gap_of_point(&pair, &row.weights, end);
            // What was as deep goes with the obstacle, or comes out.
            let goes_in = before - after > LEAST_WAY;
            goes_in.then(|| Overlap {
                bodies: self.bodies(end.step, &pair),
                vertices: vertices.into_iter().collect(),
                time: (before / (before - after)).clamp(0.0, 1.0),
                // Along the surface it moves past.
                immovable_motion: row.normal * (row.point - start - row.slip).dot(&row.normal),
            })
        };
        let overlaps = parts.iter_mut().flat_map(|part| part.found.drain(..)).filter_map(overlap).collect();
        self.idle.put(parts);
        overlaps
    }

    fn shares(&self, step: &SurfaceStep, contact: &WarmContact, x: &[Vec3]) -> Vec<(u32, f64)> {
        match corners(step, &contact.pair)[..] {
            [vertex] => vec![(vertex, 1.0)],
            ref corners => shares_of_corners(corners, contact, x),
        }
    }

    /// An edge or a triangle that bends over an obstacle is held where it was deepest before, too; over a rim its one
    /// point travels.
    fn is_same_contact(&self, point: &ContactPoint, found: &Linearisation) -> bool {
        let is_near = || point.weights.iter().zip(&found.weights).all(|(a, b)| (a - b).abs() < SAME_POINT);
        (point.travels && found.travels) || is_near()
    }
}

/// Where vertices go in a trial motion.
struct Swept {
    /// Around their starts and ends.
    bounds: Aabb,
    /// How far one goes, at most [m].
    way: f64,
    /// How much further from each other two of them can be at the end than at the start [m].
    stretch: f64,
}

impl Swept {
    fn of(x0: &[Vec3], x1: &[Vec3]) -> Self {
        Arch::new().dispatch(Sweeping { x0, x1 })
    }
}

/// [`Swept::of`], with the widest registers.
struct Sweeping<'a> {
    x0: &'a [Vec3],
    x1: &'a [Vec3],
}

impl WithSimd for Sweeping<'_> {
    type Output = Swept;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Swept {
        let (mut lo, mut hi) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        let (mut least_way, mut most_way) = (lo, hi);
        let (lesser, greater) = (|a: f64, b: f64| if a < b { a } else { b }, |a: f64, b: f64| if a > b { a } else { b });
        for (x0, x1) in self.x0.iter().zip(self.x1) {
            let (x0, x1): ([f64; 3], [f64; 3]) = ((*x0).into(), (*x1).into());
            for k in 0..3 {
                lo[k] = lesser(lesser(x0[k], x1[k]), lo[k]);
                hi[k] = greater(greater(x0[k], x1[k]), hi[k]);
                let way = x1[k] - x0[k];
                least_way[k] = lesser(way, least_way[k]);
                most_way[k] = greater(way, most_way[k]);
            }
        }
        let [least, most] = [least_way, most_way].map(Vec3::from);
        Swept { bounds: Aabb { min: lo.into(), max: hi.into() }, way: most.sup(&-least).norm(), stretch: (most - least).norm() }
    }
}

/// The vertices of the first feature of a pair.
fn corners(step: &SurfaceStep, pair: &PairId) -> ArrayVec<u32, 3> {
    let mesh = &step.surfaces.mesh;
    match pair.kind {
        PairKind::EdgeObstacle => mesh.edges[pair.first as usize].into_iter().collect(),
        PairKind::TriangleObstacle => mesh.triangles[pair.first as usize].into(),
        _ => [pair.first].into_iter().collect(),
    }
}

/// The places of the corners of the least feature that a point is inside of: the point of a triangle may be on an edge.
fn around(vertices: &[u32], weights: &[f64; 3], x: &[Vec3]) -> ArrayVec<Vec3, 3> {
    vertices.iter().zip(weights).filter(|(_, w)| **w > LEAST_WEIGHT).map(|(v, _)| x[*v as usize]).collect()
}

/// Weights of the corners of an edge or triangle at the contact point; equal ones where a state from disk does not tell
/// the point.
fn shares_of_corners(corners: &[u32], contact: &WarmContact, x: &[Vec3]) -> Vec<(u32, f64)> {
    let n = corners.len();
    let point = contact.place.map(|[point, _]| point);
    let weights = point.map_or_else(
        || vec![1.0 / n as f64; n],
        |point| {
            let p: Vec<Vec3> = corners.iter().map(|v| x[*v as usize]).collect();
            let opposite = |i: usize| match n {
                2 => (p[1 - i] - point).norm(),
                _ => (p[(i + 1) % 3] - point).cross(&(p[(i + 2) % 3] - point)).norm(),
            };
            let parts: Vec<f64> = (0..n).map(opposite).collect();
            let sum: f64 = parts.iter().sum();
            parts.iter().map(|part| if sum > 0.0 { part / sum } else { 1.0 / n as f64 }).collect()
        },
    );
    corners.iter().copied().zip(weights).collect()
}

/// `x0`, `x1`: where the point of the vertices begins and ends [m].
fn linearisation(vertices: &[u32], weights: &[f64; 3], plane: &TangentPlane, x0: &Vec3, x1: &Vec3) -> Linearisation {
    Linearisation {
        sum: vertices.iter().copied().zip(*weights).collect(),
        normal: plane.normal,
        gap: (x1 - plane.point).dot(&plane.normal),
        slip: x1 - x0 - plane.displacement,
        point: *x1,
        weights: *weights,
        travels: plane.lies_along,
    }
}

fn combine(vertices: &[u32], weights: &[f64], x: &[Vec3]) -> Vec3 {
    vertices.iter().zip(weights).map(|(v, w)| x[*v as usize] * *w).sum()
}
