//! Surfaces over one step: where their vertices are, what would cross, and the rows of crossing features.

use std::ops::Range;

use rayon::prelude::*;

use crate::contact::islands::Island;
use crate::contact::{JacobianEntry, Linearisation};
use crate::geometry::Shape;
use crate::geometry::{self, Candidates, Crossing, Crossings, Mesh, MeshError, Pair};
use crate::math::{Isometry, Vec3};
use crate::memory::Pool;
use crate::model::State;
use crate::model::{Mobility, Model, interpolate};
use crate::model::{PairId, PairKind};
use crate::sparse::Segment;

/// The collision geometry of a model: vertices of the deformable bodies' collision surfaces, then those of the rigid
/// bodies, then the corners of the boxes among the obstacles (which have edges; the round ones and planes stay exact
/// shapes).
#[derive(Debug)]
pub struct Surfaces {
    pub mesh: Mesh,
    /// All vertices where the model starts [m].
    pub rest: Vec<Vec3>,
    /// Carrier and place in its frame of every vertex after the deformable ones: a rigid body, or (counted on from
    /// them) an obstacle.
    rigid_vertices: Vec<(u32, Vec3)>,
    /// Vertices, edges and triangles of each body (deformable, then rigid).
    pub vertices: Vec<Range<usize>>,
    pub edges: Vec<Range<usize>>,
    pub triangles: Vec<Range<usize>>,
    /// All bodies.
    pub whole: Island,
}

impl Surfaces {
    pub fn new(model: &Model) -> Result<Self, MeshError> {
        let mut triangles = model.collision.triangles.clone();
        let mut bodies = model.collision.bodies.clone();
        let mut rigid_vertices = vec![];
        let mut vertices: Vec<_> = model.bodies.iter().map(|b| b.collision_vertices.clone()).collect();
        let mut triangle_ranges: Vec<_> = model.bodies.iter().map(|b| b.collision_triangles.clone()).collect();
        let of_body =
            |b: &crate::model::Body| if b.self_contact { geometry::Mobility::Deformable } else { geometry::Mobility::PassesThroughItself };
        let mut mobilities: Vec<_> = model.bodies.iter().map(of_body).collect();
        for (r, rigid) in model.rigid_bodies.iter().enumerate() {
            let (first, first_triangle) = (bodies.len(), triangles.len());
            triangles.extend(rigid.triangles.iter().map(|t| t.map(|v| v + first as u32)));
            bodies.extend(std::iter::repeat_n((model.bodies.len() + r) as u32, rigid.vertices.len()));
            rigid_vertices.extend(rigid.vertices.iter().map(|v| (r as u32, *v)));
            vertices.push(first..bodies.len());
            triangle_ranges.push(first_triangle..triangles.len());
            mobilities.push(if rigid.is_free() { geometry::Mobility::Rigid } else { geometry::Mobility::Immovable });
        }
        for (o, obstacle) in model.obstacles.iter().enumerate() {
            mobilities.push(geometry::Mobility::Immovable);
            let Shape::Box { half_extents } = obstacle.shape else { continue };
            let first = bodies.len() as u32;
            let corner = |i: usize| Vec3::from_fn(|axis, _| if i >> axis & 1 == 1 { half_extents[axis] } else { -half_extents[axis] });
            triangles.extend(BOX_TRIANGLES.map(|t| t.map(|v| v + first)));
            bodies.extend([model.obstacle_body(o) as u32; 8]);
            rigid_vertices.extend((0..8).map(|i| ((model.rigid_bodies.len() + o) as u32, corner(i))));
        }
        let mesh = Mesh::new(triangles, bodies, mobilities)?;
        let edges = vertices
            .iter()
            .map(|v: &Range<usize>| {
                let place = |vertex: usize| mesh.edges.partition_point(|e| (e[0] as usize) < vertex);
                place(v.start)..place(v.end)
            })
            .collect();
        let mut rest = model.collision.positions(&model.rest_positions);
        rest.extend(rigid_vertices.iter().map(|(carrier, v)| {
            let pose = match (*carrier as usize).checked_sub(model.rigid_bodies.len()) {
                None => model.rigid_bodies[*carrier as usize].pose,
                Some(o) => model.obstacles[o].pose_at(0.0),
            };
            (pose * nalgebra::Point3::from(*v)).coords
        }));
        Ok(Self { mesh, rest, rigid_vertices, vertices, edges, triangles: triangle_ranges, whole: Island::whole(model) })
    }
}

/// Of a box whose corner i has the signs of the bits of i, seen from outside.
const BOX_TRIANGLES: [[u32; 3]; 12] =
    [[0, 2, 3], [0, 3, 1], [4, 5, 7], [4, 7, 6], [0, 1, 5], [0, 5, 4], [2, 6, 7], [2, 7, 3], [0, 4, 6], [0, 6, 2], [1, 3, 7], [1, 7, 5]];

/// Where everything ends with some velocity change.
pub struct End<'s> {
    /// All vertices [m].
    pub x: Vec<Vec3>,
    /// Centres of mass of the rigid bodies of the island [m].
    centers: Vec<Vec3>,
    step: &'s SurfaceStep<'s>,
    bodies: Vec<u32>,
}

impl Drop for End<'_> {
    /// Leaves the memory to the next one, with all vertices where the script has them: many small islands would else
    /// copy the whole scene each time they move.
    fn drop(&mut self) {
        for body in &self.bodies {
            let range = self.step.surfaces.vertices[*body as usize].clone();
            self.x[range.clone()].copy_from_slice(&self.step.scripted[range]);
        }
        let [x, centers] = [&mut self.x, &mut self.centers].map(std::mem::take);
        self.step.idle_ends.put(EndMemory { x, centers, bodies: std::mem::take(&mut self.bodies) });
    }
}

/// Memory of an end.
#[derive(Debug)]
struct EndMemory {
    x: Vec<Vec3>,
    centers: Vec<Vec3>,
    bodies: Vec<u32>,
}

/// Memory that goes from step to step.
#[derive(Debug, Default)]
pub struct SurfaceMemory {
    start: Vec<Vec3>,
    scripted: Vec<Vec3>,
    idle_ends: Pool<EndMemory>,
}

/// Surfaces in one step.
pub struct SurfaceStep<'a> {
    model: &'a Model,
    pub surfaces: &'a Surfaces,
    pub state: &'a State,
    dt: f64,
    /// All vertices at the start of the step [m].
    pub start: Vec<Vec3>,
    /// Where the vertices end that follow a script; the others at the start [m].
    scripted: Vec<Vec3>,
    /// Memory of ends that are no longer in use.
    idle_ends: Pool<EndMemory>,
}

impl<'a> SurfaceStep<'a> {
    pub fn new(model: &'a Model, surfaces: &'a Surfaces, state: &'a State, dt: f64, memory: SurfaceMemory) -> Self {
        let SurfaceMemory { mut start, mut scripted, mut idle_ends } = memory;
        start.resize(surfaces.mesh.body.len(), Vec3::zeros());
        let soft = &mut start[..model.collision.n_vertices()];
        let (rest, displacements) = (&model.rest_positions, &state.displacements);
        soft.par_iter_mut().with_min_len(512).zip(&model.collision.nodes).zip(&model.collision.weights).for_each(
            |((x, nodes), weights)| {
                *x = interpolate(rest, nodes, weights) + interpolate(displacements, nodes, weights);
            },
        );
        scripted.clone_from(&start);
        let n_rigid = model.rigid_bodies.len();
        for (k, (carrier, local)) in (model.collision.n_vertices()..).zip(&surfaces.rigid_vertices) {
            let (carrier, local) = (*carrier as usize, nalgebra::Point3::from(*local));
            let at_end = state.time + dt;
            let (pose, script) = match carrier.checked_sub(n_rigid) {
                None => {
                    let body = &model.rigid_bodies[carrier];
                    (state.rigid_bodies[carrier].pose, (!body.is_free()).then(|| body.pose_at(at_end)))
                }
                Some(o) => (model.obstacles[o].pose_at(state.time), Some(model.obstacles[o].pose_at(at_end))),
            };
            start[k] = (pose * local).coords;
            scripted[k] = (script.unwrap_or(pose) * local).coords;
        }
        for EndMemory { x, .. } in idle_ends.all_mut() {
            x.clone_from(&scripted);
        }
        Self { model, surfaces, state, dt, start, scripted, idle_ends }
    }

    /// What the next step may use again.
    pub fn into_memory(self) -> SurfaceMemory {
        SurfaceMemory { start: self.start, scripted: self.scripted, idle_ends: self.idle_ends }
    }

    /// Where the vertices of an island end with the velocity change `dv` of its unknowns; the others stay.
    pub fn end_positions(&self, island: &Island, dv: &[Vec3]) -> End<'_> {
        let mut memory = self.idle_ends.take().unwrap_or_else(|| EndMemory {
            x: self.scripted.clone(),
            centers: vec![Vec3::zeros(); self.model.rigid_bodies.len()],
            bodies: vec![],
        });
        let EndMemory { x: end, centers, bodies } = &mut memory;
        let (model, velocities) = (self.model, &self.state.velocities);
        for Segment { body, unknowns, start } in island.deformable() {
            let range = self.surfaces.vertices[*body as usize].clone();
            end[range.clone()].par_iter_mut().with_min_len(512).zip(range).for_each(|(x, k)| {
                let (nodes, weights) = (&model.collision.nodes[k], &model.collision.weights[k]);
                let velocity = |n: u32| velocities[n as usize] + dv[n as usize - unknowns.start + start];
                // A mesh that is its own surface has vertices at its nodes.
                let motion =
                    if weights[0] == 1.0 { velocity(nodes[0]) } else { nodes.iter().zip(weights).map(|(n, w)| velocity(*n) * *w).sum() };
                *x += motion * self.dt;
            });
        }
        for Segment { body, start, .. } in island.rigid() {
            let r = *body as usize - model.bodies.len();
            let pose = self.pose_at_end(r, [&dv[*start], &dv[*start + 1]]);
            centers[r] = pose.translation.vector;
            for k in self.surfaces.vertices[*body as usize].clone() {
                let local = self.surfaces.rigid_vertices[k - model.collision.n_vertices()].1;
                end[k] = (pose * nalgebra::Point3::from(local)).coords;
            }
        }
        bodies.clear();
        bodies.extend(island.segments.iter().map(|segment| segment.body));
        let EndMemory { x, centers, bodies } = memory;
        End { x, centers, bodies, step: self }
    }

    /// The pose of a rigid body at the end, with the changes of its linear and angular velocity.
    pub(super) fn pose_at_end(&self, r: usize, [linear, angular]: [&Vec3; 2]) -> Isometry {
        let rigid = &self.model.rigid_bodies[r];
        match rigid.mobility {
            Mobility::Driven(_) => rigid.pose_at(self.state.time + self.dt),
            Mobility::Free { .. } => self.state.rigid_bodies[r].moved(linear, angular, self.dt).pose,
        }
    }

    /// The two bodies of a pair of features.
    pub fn bodies(&self, pair: &PairId) -> [usize; 2] {
        let vertices = self.vertices(pair);
        let second = if pair.kind == PairKind::EdgeEdge { vertices[2] } else { vertices[1] };
        [vertices[0], second].map(|v| self.surfaces.mesh.body[v as usize] as usize)
    }

    /// The body of the first feature of a pair with an obstacle.
    pub fn obstacle_feature_body(&self, pair: &PairId) -> usize {
        let mesh = &self.surfaces.mesh;
        let vertex = match pair.kind {
            PairKind::EdgeObstacle => mesh.edges[pair.first as usize][0],
            PairKind::TriangleObstacle => mesh.triangles[pair.first as usize][0],
            _ => pair.first,
        };
        mesh.body[vertex as usize] as usize
    }

    /// The four vertices of a pair of features.
    fn vertices(&self, pair: &PairId) -> [u32; 4] {
        let mesh = &self.surfaces.mesh;
        match pair.kind {
            PairKind::EdgeEdge => {
                let ([a, b], [c, d]) = (mesh.edges[pair.first as usize], mesh.edges[pair.second as usize]);
                [a, b, c, d]
            }
            _ => {
                let [a, b, c] = mesh.triangles[pair.second as usize];
                [pair.first, a, b, c]
            }
        }
    }

    /// A remembered pair, with the geometry of the start of the step; none if its features are not within `near` [m] of
    /// each other any more.
    pub fn at_start(&self, pair: &PairId, end: &End, near: f64) -> Option<Linearisation> {
        let pair_of = collision_pair(pair);
        let found = geometry::closest(&self.surfaces.mesh, pair_of, &self.start);
        let normal = geometry::pushing_direction(&self.surfaces.mesh, pair_of, &self.start, &found.direction, found.clamped);
        let gap = found.distance * found.direction.dot(&normal);
        (gap > 0.0 && found.distance < near).then(|| self.linearisation(pair, &found.weights, normal, end))
    }

    /// A pair at the end of the step, on the side that `old_normal` tells; with how far the features are beside each
    /// other [m].
    pub fn at_end(&self, pair: &PairId, old_normal: &Vec3, end: &End) -> (Linearisation, f64) {
        let pair_of = collision_pair(pair);
        let found = geometry::closest(&self.surfaces.mesh, pair_of, &end.x);
        let normal = geometry::pushing_direction(&self.surfaces.mesh, pair_of, &end.x, old_normal, found.clamped);
        let apart = found.direction * found.distance;
        let aside = (apart - normal * apart.dot(&normal)).norm();
        (self.linearisation(pair, &found.weights, normal, end), aside)
    }

    /// Candidates that cross on the way to `end`. Ways are straight where motion is not: what ends as it started has
    /// not met on the true way.
    pub fn crossings(&self, candidates: &Candidates, end: &End) -> Vec<Crossing> {
        let mut crossings = Crossings::default();
        self.find_crossings(candidates, end, &mut crossings);
        crossings.found
    }

    fn find_crossings(&self, candidates: &Candidates, end: &End, crossings: &mut Crossings) {
        crossings.find(&self.surfaces.mesh, candidates, &self.start, &end.x);
        crossings.found.retain(|crossing| !crossing.returns);
    }

    /// Adds the pairs of `candidates` that cross on the way to `end` to `met`. Those of flat and concave edges, and
    /// those from inside (what came in leaves elsewhere), are told only if there is nothing else to do (`busy`, or
    /// other crossings): resolving the others mostly resolves them.
    /// `known` tells which pairs have a row already.
    pub fn cross(
        &self,
        candidates: &Candidates,
        end: &End,
        known: impl Fn(&PairId) -> bool,
        near: f64,
        busy: bool,
        crossings: &mut Crossings,
        met: &mut Vec<(PairId, Linearisation)>,
    ) {
        let mesh = &self.surfaces.mesh;
        self.find_crossings(candidates, end, crossings);
        let comes_first = |crossing: &Crossing| mesh.meets_outside(crossing.pair, &self.start, &crossing.normal);
        let any_first = busy || crossings.found.iter().any(comes_first);
        met.extend(crossings.found.iter().filter(|crossing| !any_first || comes_first(crossing)).map(|crossing| {
            let pair = pair_id(&crossing.pair);
            if known(&pair) {
                let (found, aside) = self.at_end(&pair, &crossing.normal, end);
                if found.gap < 0.0 && aside < near {
                    return (pair, found);
                }
            }
            let at_touch = self.linearisation(&pair, &crossing.weights, crossing.normal, end);
            let start = self.combine(&pair, &crossing.weights, &self.start);
            let normal = geometry::pushing_direction(mesh, crossing.pair, &self.start, &crossing.normal, false);
            let pushed = self.linearisation(&pair, &crossing.weights, normal, end);
            let row = if pushed.gap < 0.0 && start.dot(&normal) > 0.0 { pushed } else { at_touch };
            (pair, row)
        }));
    }

    fn combine(&self, pair: &PairId, weights: &[f64; 4], x: &[Vec3]) -> Vec3 {
        self.vertices(pair).iter().zip(weights).map(|(v, w)| x[*v as usize] * *w).sum()
    }

    fn linearisation(&self, pair: &PairId, weights: &[f64; 4], normal: Vec3, end: &End) -> Linearisation {
        let vertices = self.vertices(pair);
        let separation = self.combine(pair, weights, &end.x);
        let slip = separation - self.combine(pair, weights, &self.start);
        let first_side = vertices.iter().zip(weights).filter(|(_, w)| **w > 0.0);
        let (sum, weight) = first_side.fold((Vec3::zeros(), 0.0), |(sum, weight), (v, w)| (sum + end.x[*v as usize] * *w, weight + w));
        let point = if weight > 0.0 { sum / weight } else { sum };
        Linearisation {
            sum: vertices.into_iter().zip(*weights).collect(),
            normal,
            gap: separation.dot(&normal),
            slip,
            point,
            weights: [1.0, 0.0, 0.0],
        }
    }

    /// The row of H of a weighted sum of up to four vertices, into `entries`.
    pub fn put_entries(&self, sum: &[(u32, f64)], end: &End, entries: &mut Vec<JacobianEntry>) {
        let model = self.model;
        let (mut linear, mut angular) = ([(0, 0.0); 16], [(0, Vec3::zeros()); 4]);
        let (mut n_linear, mut n_angular) = (0, 0);
        let mut add = |unknown: u32, weight: f64| {
            linear[n_linear] = (unknown, weight);
            n_linear += 1;
        };
        for &(v, weight) in sum {
            let v = v as usize;
            if v < model.collision.n_vertices() {
                let corners = model.collision.nodes[v].iter().zip(&model.collision.weights[v]);
                corners.filter(|(n, w)| **w != 0.0 && !model.fixed[**n as usize]).for_each(|(n, w)| add(*n, weight * w));
                continue;
            }
            let r = self.surfaces.rigid_vertices[v - model.collision.n_vertices()].0 as usize;
            if model.rigid_bodies.get(r).is_some_and(|r| r.is_free()) {
                let arm = end.x[v] - end.centers[r];
                add(model.linear_unknown(r) as u32, weight);
                angular[n_angular] = (model.angular_unknown(r) as u32, arm * weight);
                n_angular += 1;
            }
        }
        merge(&mut linear[..n_linear], &mut angular[..n_angular], entries);
    }
}

/// Entries on different unknowns from weights of nodes and centres of mass, and weighted arms of rigid bodies.
fn merge(linear: &mut [(u32, f64)], angular: &mut [(u32, Vec3)], entries: &mut Vec<JacobianEntry>) {
    linear.sort_by_key(|(n, _)| *n);
    angular.sort_by_key(|(n, _)| *n);
    entries.clear();
    for group in linear.chunk_by(|a, b| a.0 == b.0) {
        let weight: f64 = group.iter().map(|(_, w)| w).sum();
        if weight != 0.0 {
            entries.push(JacobianEntry::Linear { unknown: group[0].0, weight });
        }
    }
    for group in angular.chunk_by(|a, b| a.0 == b.0) {
        entries.push(JacobianEntry::Angular { unknown: group[0].0, arm: group.iter().map(|(_, a)| a).sum() });
    }
}

fn collision_pair(pair: &PairId) -> Pair {
    match pair.kind {
        PairKind::EdgeEdge => Pair::EdgeEdge { first: pair.first, second: pair.second },
        _ => Pair::VertexFace { vertex: pair.first, triangle: pair.second },
    }
}

fn pair_id(pair: &Pair) -> PairId {
    match *pair {
        Pair::VertexFace { vertex, triangle } => PairId { kind: PairKind::VertexTriangle, first: vertex, second: triangle },
        Pair::EdgeEdge { first, second } => PairId { kind: PairKind::EdgeEdge, first, second },
    }
}
