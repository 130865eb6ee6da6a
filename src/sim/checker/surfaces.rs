//! How deep surfaces are inside one another, and which of them overlap.
//!
//! Two surfaces overlap iff an edge of one pierces a triangle of the other or one lies wholly inside the other. Every
//! piercing counts with the least motion of the edge that undoes it, every point of a surface inside another closed one
//! with its distance to that surface. Each is something that a separating motion has to do at least, so their maximum
//! never overstates the depth; a corner in a face and an edge across an edge it measures exactly. A surface that
//! overlaps itself, or an open one, counts with its piercings alone.

use rayon::prelude::*;

use super::exit::least_motion;
use super::forest::{Bounds, Boxes, Forest};
use super::obstacles::closest_point;
use super::topology::{Topology, components};
use crate::math::Vec3;

/// How a body can move, which decides what it is tested against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Tested against everything, itself included.
    Deformable,
    /// Tested against all others: rigid, or free to pass through itself.
    Rigid,
    /// Static or driven: tested against what is free.
    Immovable,
}

/// Two bodies that share space; the same twice for one that overlaps itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Overlap {
    /// In ascending order.
    pub bodies: [u32; 2],
    /// Least motion that separates them as far as single features tell [m, > 0].
    pub depth: f64,
    /// Some of the triangles that cross (none where one body swallowed the other): one whose edge pierces, one that is
    /// pierced.
    pub triangles: Vec<[u32; 2]>,
}

/// At most this many crossing triangles are named of each overlap.
const NAMED_TRIANGLES: usize = 4;

/// Bodies are moved apart from exact alignment (two cubes with faces in one plane) by this fraction of the largest
/// coordinate. What is not deeper is contact.
const NOISE: f64 = 1e-10;

/// A direction that no edge of a made mesh has. Rays of all inside tests go along it.
const RAY: Vec3 = Vec3::new(0.541_196_1, 0.300_706, 0.785_307_2);

/// Parts of a self-test with more triangles than this are shared out among threads.
const PARALLEL: usize = 1024;

/// All surfaces that may meet, with whatever does not change while they move.
#[derive(Clone, Debug)]
pub struct Surfaces {
    /// The triangles stand in the order of the trees.
    topology: Topology,
    /// Number of each triangle among those that were given.
    given: Vec<u32>,
    bodies: Vec<Body>,
    /// Body of each vertex; `u32::MAX` for one without triangles.
    vertex_bodies: Vec<u32>,
    /// Place of each vertex among those of its body.
    places: Vec<u32>,
    /// Where deformable bodies cross themselves at rest: the corners around the edge and around the triangle.
    grown: Vec<[Vec<u32>; 2]>,
    forest: Forest,
}

#[derive(Clone, Debug)]
struct Body {
    kind: Kind,
    closed: bool,
    vertices: Vec<u32>,
    edges: Vec<u32>,
    /// Connected parts of the surface, as places in `vertices`.
    parts: Vec<Vec<u32>>,
    /// Its largest triangle at the start.
    largest: u32,
}

/// A place where a surface goes through another one or through itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// In ascending order.
    pub bodies: [u32; 2],
    /// [m]
    pub point: Vec3,
    /// Length of the longest edge of the two features [m]: a contact of theirs is no further away.
    pub reach: f64,
}

/// An edge through a triangle.
#[derive(Clone, Copy, Debug)]
struct Piercing {
    edge: u32,
    triangle: u32,
    /// Where, from the edge's first vertex (0) to its second (1).
    at: f64,
    /// Least motion that undoes it [m].
    depth: f64,
}

/// The surfaces at one moment.
struct Moment<'a> {
    surfaces: &'a Surfaces,
    x: Vec<Vec3>,
    faces: Vec<Face>,
    boxes: Boxes,
    /// [m]
    noise: f64,
}

/// A triangle where it is now.
#[derive(Clone, Copy)]
struct Face {
    corners: [Vec3; 3],
    /// Not of unit length.
    normal: Vec3,
}

impl Surfaces {
    /// `bodies`: body of each triangle, an index into `kinds`. No vertex belongs to two bodies. Closed surfaces face
    /// outwards: what is inside them is in the way. `vertices` [m]: with the bodies at rest; where a deformable one
    /// crosses itself then is never an overlap.
    pub fn new(vertices: &[Vec3], triangles: &[[u32; 3]], bodies: &[u32], kinds: &[Kind]) -> Self {
        let mut vertex_bodies = vec![u32::MAX; vertices.len()];
        for (triangle, body) in triangles.iter().zip(bodies) {
            triangle.iter().for_each(|v| vertex_bodies[*v as usize] = *body);
        }
        let (forest, given) = Forest::new(vertices, triangles, bodies, kinds.len());
        let topology = Topology::new(given.iter().map(|t| triangles[*t as usize]).collect());
        let new_body = |kind: &Kind| Body { kind: *kind, closed: true, vertices: vec![], edges: vec![], parts: vec![], largest: 0 };
        let mut of_kinds: Vec<Body> = kinds.iter().map(new_body).collect();
        let mut places = vec![0; vertices.len()];
        for (v, body) in vertex_bodies.iter().enumerate().filter(|(_, body)| **body != u32::MAX) {
            let body = &mut of_kinds[*body as usize];
            places[v] = body.vertices.len() as u32;
            body.vertices.push(v as u32);
        }
        for (e, edge) in topology.edges.iter().enumerate() {
            let body = &mut of_kinds[vertex_bodies[edge.vertices[0] as usize] as usize];
            body.edges.push(e as u32);
            body.closed &= edge.closed;
        }
        let mut areas = vec![0.0; kinds.len()];
        for (t, triangle) in topology.triangles.iter().enumerate() {
            let body = vertex_bodies[triangle[0] as usize] as usize;
            let area = normal(&triangle.map(|v| vertices[v as usize])).norm();
            if area > areas[body] {
                areas[body] = area;
                of_kinds[body].largest = t as u32;
            }
        }
        let mut surfaces = Self { topology, given, bodies: of_kinds, vertex_bodies, places, grown: vec![], forest };
        for body in 0..kinds.len() {
            surfaces.bodies[body].parts = surfaces.parts(&surfaces.bodies[body], &[]);
        }
        surfaces.grown = surfaces.crossings_within(vertices);
        surfaces
    }

    fn crossings_within(&self, vertices: &[Vec3]) -> Vec<[Vec<u32>; 2]> {
        let moment = Moment::new(self, vertices);
        let deformable = (0..self.bodies.len() as u32).filter(|b| self.bodies[*b as usize].kind == Kind::Deformable);
        let piercings = deformable.filter_map(|b| self.forest.root(b)).flat_map(|root| moment.self_piercings(root));
        let around = |p: Piercing| {
            let edge = &self.topology.edges[p.edge as usize];
            let beside = [Some(edge.triangle), edge.neighbour].into_iter().flatten();
            [beside.flat_map(|t| self.topology.triangles[t as usize]).collect(), self.topology.triangles[p.triangle as usize].to_vec()]
        };
        piercings.filter(|p| p.depth > moment.noise).map(around).collect()
    }

    /// Deformable bodies that cross themselves at rest, in ascending order: meshes are like that. They are taken as
    /// grown together there.
    pub fn grown_together(&self) -> Vec<u32> {
        let mut bodies: Vec<u32> = self.grown.iter().map(|[around, _]| self.vertex_bodies[around[0] as usize]).collect();
        bodies.sort_unstable();
        bodies.dedup();
        bodies
    }

    /// Whether a piercing of a body by itself is one that the body has at rest, or has slipped from there to the next
    /// triangle.
    fn is_grown(&self, piercing: &Piercing) -> bool {
        let edge = self.topology.edges[piercing.edge as usize].vertices;
        let triangle = self.topology.triangles[piercing.triangle as usize];
        let touches = |a: &[u32], b: &[u32]| a.iter().any(|v| b.contains(v));
        let is_near = |p: &[u32], q: &[u32]| touches(&edge, p) && touches(&triangle, q);
        self.grown.iter().any(|[p, q]| is_near(p, q) || is_near(q, p))
    }

    /// Groups of a body's vertices that hang together by edges other than `cut` (sorted), as places among its vertices.
    fn parts(&self, body: &Body, cut: &[u32]) -> Vec<Vec<u32>> {
        let whole = body.edges.iter().filter(|e| cut.binary_search(e).is_err());
        components(body.vertices.len(), whole.map(|e| self.topology.edges[*e as usize].vertices.map(|v| self.places[v as usize])))
    }

    /// Depth of the deepest overlap [m], 0 if there is none.
    pub fn max_penetration(&self, vertices: &[Vec3]) -> f64 {
        self.overlaps(vertices).iter().map(|overlap| overlap.depth).fold(0.0, f64::max)
    }

    /// All bodies that overlap, in ascending order.
    pub fn overlaps(&self, vertices: &[Vec3]) -> Vec<Overlap> {
        let moment = Moment::new(self, vertices);
        moment.meeting_bodies().into_par_iter().filter_map(|[a, b]| moment.overlap(a, b)).collect()
    }

    /// Places where an edge is further than `depth` [m] through a triangle, whatever crosses at rest left out.
    pub fn crossings(&self, vertices: &[Vec3], depth: f64) -> Vec<Crossing> {
        let moment = Moment::new(self, vertices);
        let of_pair = |[a, b]: [u32; 2]| {
            let deep = moment.piercings(a, b).into_iter().filter(move |piercing| piercing.depth > depth);
            deep.map(|piercing| moment.crossing([a, b], &piercing)).collect::<Vec<_>>()
        };
        moment.meeting_bodies().into_par_iter().flat_map_iter(of_pair).collect()
    }

    /// Whether two different bodies overlap.
    pub fn do_overlap(&self, vertices: &[Vec3], [a, b]: [u32; 2]) -> bool {
        Moment::new(self, vertices).overlap(a, b).is_some()
    }

    /// Vertices of a body.
    pub fn vertices_of(&self, body: u32) -> &[u32] {
        &self.bodies[body as usize].vertices
    }
}

impl<'a> Moment<'a> {
    fn new(surfaces: &'a Surfaces, vertices: &[Vec3]) -> Self {
        let noise = NOISE * vertices.iter().flat_map(|x| x.iter()).fold(0.0, |reach, x| f64::max(reach, x.abs()));
        // Low-discrepancy directions: bodies side by side in the scene go different ways.
        let shift = |body: u32| Vec3::new(0.819_172_5, 0.671_043_6, 0.549_700_5).map(|a| (a * f64::from(body)).fract() - 0.5) * noise;
        let x: Vec<Vec3> = vertices.iter().zip(&surfaces.vertex_bodies).map(|(x, body)| x + shift(*body)).collect();
        let face = |t: &[u32; 3]| {
            let corners = t.map(|v| x[v as usize]);
            Face { corners, normal: normal(&corners) }
        };
        let faces: Vec<Face> = surfaces.topology.triangles.par_iter().with_min_len(PARALLEL).map(face).collect();
        let boxes = surfaces.forest.boxes(faces.iter().map(|face| Bounds::of(&face.corners)).collect());
        Self { surfaces, x, faces, boxes, noise }
    }

    /// Pairs of bodies to test, in ascending order: their boxes meet.
    fn meeting_bodies(&self) -> Vec<[u32; 2]> {
        let forest = &self.surfaces.forest;
        let kind = |body: u32| self.surfaces.bodies[body as usize].kind;
        let mut sweep: Vec<(u32, Bounds)> =
            (0..self.surfaces.bodies.len() as u32).filter_map(|b| Some((b, forest.bounds(&self.boxes, b)?))).collect();
        sweep.sort_by(|a, b| a.1.min(0).total_cmp(&b.1.min(0)));
        let mut pairs: Vec<[u32; 2]> = sweep.iter().filter(|(b, _)| kind(*b) == Kind::Deformable).map(|(b, _)| [*b, *b]).collect();
        for (i, (a, of_a)) in sweep.iter().enumerate() {
            for (b, of_b) in sweep[i + 1..].iter().take_while(|(_, of_b)| of_b.min(0) <= of_a.max(0)) {
                if of_a.meets(of_b) && (kind(*a), kind(*b)) != (Kind::Immovable, Kind::Immovable) {
                    pairs.push([*a.min(b), *a.max(b)]);
                }
            }
        }
        pairs.sort_unstable();
        pairs
    }

    /// Edges of two bodies through triangles of each other; of one body through its own, where it is not grown
    /// together.
    fn piercings(&self, a: u32, b: u32) -> Vec<Piercing> {
        let forest = &self.surfaces.forest;
        let (Some(root_a), Some(root_b)) = (forest.root(a), forest.root(b)) else { return vec![] };
        if a != b {
            return self.cross_piercings(root_a, root_b);
        }
        let mut piercings = self.self_piercings(root_a);
        piercings.retain(|p| !self.surfaces.is_grown(p));
        piercings
    }

    fn crossing(&self, bodies: [u32; 2], piercing: &Piercing) -> Crossing {
        let [p, q] = self.surfaces.topology.edges[piercing.edge as usize].vertices.map(|v| self.x[v as usize]);
        let [a, b, c] = self.corners(piercing.triangle);
        let reach = [q - p, b - a, c - b, a - c].iter().map(Vec3::norm).fold(0.0, f64::max);
        Crossing { bodies, point: p + (q - p) * piercing.at, reach }
    }

    fn overlap(&self, a: u32, b: u32) -> Option<Overlap> {
        let piercings = self.piercings(a, b);
        let mut depth = piercings.iter().map(|p| p.depth).fold(0.0, f64::max);
        if a != b {
            depth = self.depth_inside(a, b, &piercings, depth);
            depth = self.depth_inside(b, a, &piercings, depth);
        }
        let depth = depth - 2.0 * self.noise;
        let named = piercings.iter().filter(|p| p.depth > 2.0 * self.noise).take(NAMED_TRIANGLES);
        let given = |t: u32| self.surfaces.given[t as usize];
        let triangles = named.map(|p| [given(self.surfaces.topology.edges[p.edge as usize].triangle), given(p.triangle)]).collect();
        (depth > 0.0).then_some(Overlap { bodies: [a, b], depth, triangles })
    }

    fn self_piercings(&self, node: u32) -> Vec<Piercing> {
        let forest = &self.surfaces.forest;
        let Some([left, right]) = forest.children(node) else {
            let mut found = vec![];
            forest.within(&self.boxes, node, &mut |s, t| self.pierce(s, t, &mut found));
            return found;
        };
        let (mut below, across) = if forest.size(node) > PARALLEL {
            rayon::join(
                || {
                    let (left, right) = rayon::join(|| self.self_piercings(left), || self.self_piercings(right));
                    [left, right].concat()
                },
                || self.cross_piercings(left, right),
            )
        } else {
            let mut below = self.self_piercings(left);
            below.extend(self.self_piercings(right));
            (below, self.cross_piercings(left, right))
        };
        below.extend(across);
        below
    }

    fn cross_piercings(&self, a: u32, b: u32) -> Vec<Piercing> {
        let mut found = vec![];
        self.surfaces.forest.cross(&self.boxes, a, b, &mut |s, t| self.pierce(s, t, &mut found));
        found
    }

    /// Edges of either triangle through the other one; their boxes meet. Only edges without a vertex of the pierced
    /// triangle can pierce it.
    fn pierce(&self, s: u32, t: u32, found: &mut Vec<Piercing>) {
        let [of_s, of_t] = [s, t].map(|t| self.surfaces.topology.triangles[t as usize]);
        let shared = of_s.map(|v| of_t.contains(&v));
        if shared.iter().filter(|shared| **shared).count() < 2 && self.pierce_with(s, shared, t, found) {
            self.pierce_with(t, of_t.map(|v| of_s.contains(&v)), s, found);
        }
    }

    /// Edges of `s` through `t`. False if `s` does not reach through the plane of `t`.
    fn pierce_with(&self, s: u32, shared: [bool; 3], t: u32, found: &mut Vec<Piercing>) -> bool {
        let (of_s, of_t) = (&self.faces[s as usize], &self.faces[t as usize]);
        let height = |i: usize| if shared[i] { 0.0 } else { of_t.normal.dot(&(of_s.corners[i] - of_t.corners[0])) };
        let heights = [height(0), height(1), height(2)];
        if heights.iter().all(|h| *h >= 0.0) || heights.iter().all(|h| *h <= 0.0) {
            return false;
        }
        let topology = &self.surfaces.topology;
        for i in 0..3 {
            let j = (i + 1) % 3;
            if heights[i] * heights[j] >= 0.0 || !topology.is_first[s as usize][i] {
                continue;
            }
            let edge = topology.triangle_edges[s as usize][i];
            let ends = topology.edges[edge as usize].vertices.map(|v| self.x[v as usize]);
            if side_of_line(&(ends[1] - ends[0]), &of_t.corners.map(|x| x - ends[0])) != 0 {
                let [first, second] = ends.map(|end| of_t.normal.dot(&(end - of_t.corners[0])));
                found.push(Piercing { edge, triangle: t, at: first / (first - second), depth: least_motion(topology, &self.x, &ends, t) });
            }
        }
        true
    }

    /// Depth of the deepest known point of the surface `a` inside the surface `b`, or `known` if that is larger.
    fn depth_inside(&self, a: u32, b: u32, piercings: &[Piercing], known: f64) -> f64 {
        let Some(root) = self.surfaces.forest.root(b).filter(|_| self.surfaces.bodies[b as usize].closed) else { return known };
        let distance = |p: &Vec3, known: f64| {
            let squared = |t: u32| closest_point(&self.corners(t).map(|x| x - p)).norm_squared();
            self.surfaces.forest.nearest(&self.boxes, root, p, f64::INFINITY, known * known, &squared).sqrt()
        };
        let vertices = self.vertices_inside(a, b, piercings);
        let depth = vertices.iter().fold(known, |known, v| known.max(distance(&self.x[*v as usize], known)));
        let points = self.points_between(a, b, piercings);
        points.iter().filter(|p| self.is_inside(p, b)).fold(depth, |known, p| known.max(distance(p, known)))
    }

    /// Vertices of `a` inside `b`. All that hang together by edges that do not pierce `b` are on one side of it.
    fn vertices_inside(&self, a: u32, b: u32, piercings: &[Piercing]) -> Vec<u32> {
        let Some(bounds) = self.surfaces.forest.bounds(&self.boxes, b) else { return vec![] };
        let body = &self.surfaces.bodies[a as usize];
        let at = |place: &u32| &self.x[body.vertices[*place as usize] as usize];
        let inside = |part: &&Vec<u32>| part.iter().all(|p| bounds.contains(at(p))) && self.is_inside(at(&part[0]), b);
        let mut cut: Vec<u32> = piercings.iter().map(|p| p.edge).filter(|e| self.body_of_edge(*e) == a).collect();
        cut.sort_unstable();
        let apart = if cut.is_empty() { None } else { Some(self.surfaces.parts(body, &cut)) };
        let parts = apart.as_ref().unwrap_or(&body.parts);
        parts.iter().filter(inside).flatten().map(|place| body.vertices[*place as usize]).collect()
    }

    /// Points of the surface `a` beside its vertices that may be inside `b`: the middles of what piercings cut out of
    /// edges and of triangles that take part, and one below its largest triangle for bodies that are exactly alike.
    fn points_between(&self, a: u32, b: u32, piercings: &[Piercing]) -> Vec<Vec3> {
        let mut of_edges: Vec<(u32, f64)> = piercings.iter().filter(|p| self.body_of_edge(p.edge) == a).map(|p| (p.edge, p.at)).collect();
        of_edges.sort_by(|p, q| p.0.cmp(&q.0).then(p.1.total_cmp(&q.1)));
        let middle = |pair: &[(u32, f64)]| {
            let [p, q] = self.surfaces.topology.edges[pair[0].0 as usize].vertices.map(|v| self.x[v as usize]);
            p + (q - p) * (0.5 * (pair[0].1 + pair[1].1))
        };
        let mut points: Vec<Vec3> = of_edges.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(middle).collect();

        let of_a =
            |p: &Piercing| if self.body_of_edge(p.edge) == a { self.surfaces.topology.edges[p.edge as usize].triangle } else { p.triangle };
        let mut taking_part: Vec<u32> = piercings.iter().map(of_a).collect();
        taking_part.sort_unstable();
        taking_part.dedup();
        points.extend(taking_part.iter().map(|t| self.corners(*t).iter().sum::<Vec3>() / 3.0));

        if self.surfaces.bodies[a as usize].closed {
            let corners = self.corners(self.surfaces.bodies[a as usize].largest);
            let normal = normal(&corners);
            let below = corners.iter().sum::<Vec3>() / 3.0 - normal * (1e-3 / normal.norm().sqrt());
            points.extend(Some(below).filter(|p| self.is_inside(p, a)));
        }
        let bounds = self.surfaces.forest.bounds(&self.boxes, b);
        points.retain(|p| bounds.is_some_and(|bounds| bounds.contains(p)));
        points
    }

    /// Whether the closed surface of a body goes around a point: a ray leaves it more often than it enters.
    fn is_inside(&self, p: &Vec3, body: u32) -> bool {
        let Some(root) = self.surfaces.forest.root(body) else { return false };
        let mut winding = 0;
        let inverse = RAY.map(|d| 1.0 / d);
        self.surfaces.forest.along_ray(&self.boxes, root, p, &inverse, &mut |t| {
            let x = self.corners(t).map(|x| x - p);
            let side = side_of_line(&RAY, &x);
            let normal = normal(&x);
            // The triangle's plane is ahead of the point.
            if side != 0 && normal.dot(&x[0]) * normal.dot(&RAY) > 0.0 {
                winding += side;
            }
        });
        winding > 0
    }

    fn corners(&self, triangle: u32) -> [Vec3; 3] {
        self.faces[triangle as usize].corners
    }

    fn body_of_edge(&self, edge: u32) -> u32 {
        self.surfaces.vertex_bodies[self.surfaces.topology.edges[edge as usize].vertices[0] as usize]
    }
}

/// Which way a line through the origin goes through a triangle: 1 along its normal, -1 against it, 0 if it passes by.
fn side_of_line(along: &Vec3, x: &[Vec3; 3]) -> i32 {
    let volumes: [f64; 3] = std::array::from_fn(|i| along.dot(&x[i].cross(&x[(i + 1) % 3])));
    match volumes {
        v if v.iter().all(|v| *v >= 0.0) => 1,
        v if v.iter().all(|v| *v <= 0.0) => -1,
        _ => 0,
    }
}

/// Twice the area along the normal.
fn normal(x: &[Vec3; 3]) -> Vec3 {
    (x[1] - x[0]).cross(&(x[2] - x[0]))
}

#[cfg(test)]
mod tests;
