//! Surfaces over one step: where their vertices start, where a trial motion brings them, and the rows of sums of them.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::Surfaces;
use crate::body::BodyRef;
use crate::contact::JacobianEntry;
use crate::contact::islands::Island;
use crate::geometry::NodeMotions;
use crate::math::{Isometry, Vec3, fill_with, for_each_part};
use crate::memory::Pool;
use crate::model::{Mobility, Model, State, StepSpan};
use crate::sparse::Segment;

/// Where everything ends with some velocity change.
pub struct End<'s> {
    /// All vertices [m].
    pub x: Vec<Vec3>,
    /// Centres of mass of the rigid bodies of the island [m].
    centers: Vec<Vec3>,
    pub step: &'s SurfaceStep<'s>,
    /// Of the island, with the place of the first velocity of each.
    bodies: Vec<(BodyRef, usize)>,
    /// Velocities of the nodes of the island [m/s].
    velocities: Vec<Row>,
}

impl End<'_> {
    /// How all nodes move; of an end of the whole scene.
    pub fn node_motions(&self) -> NodeMotions<'_> {
        NodeMotions { displacements: &self.step.rows, velocities: &self.velocities, dt: self.step.dt }
    }

    /// How the nodes of a deformable body move; none of others, or of one of another island.
    pub fn motions_of(&self, body: BodyRef) -> Option<NodeMotions<'_>> {
        let nodes = self.step.model.bodies.get(body.index()).filter(|_| body.is_deformable())?.nodes.clone();
        let place = self.bodies.binary_search_by_key(&body, |(body, _)| *body).ok()?;
        let velocities = &self.velocities[self.bodies[place].1..][..nodes.len()];
        Some(NodeMotions { displacements: &self.step.rows[nodes], velocities, dt: self.step.dt })
    }

    /// The row of H of a weighted sum of up to four vertices, into `entries`.
    pub fn put_entries(&self, sum: &[(u32, f64)], entries: &mut Vec<JacobianEntry>) {
        let (model, surfaces) = (self.step.model, self.step.surfaces);
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
            let carrier = surfaces.carried_vertices[v - model.collision.n_vertices()].0;
            if model.is_movable(carrier) {
                let r = carrier.index();
                let arm = self.x[v] - self.centers[r];
                add(model.linear_unknown(r) as u32, weight);
                angular[n_angular] = (model.angular_unknown(r) as u32, arm * weight);
                n_angular += 1;
            }
        }
        merge(&mut linear[..n_linear], &mut angular[..n_angular], entries);
    }
}

impl Drop for End<'_> {
    /// Leaves the memory to the next one.
    fn drop(&mut self) {
        let [x, centers] = [&mut self.x, &mut self.centers].map(std::mem::take);
        let (bodies, velocities) = (std::mem::take(&mut self.bodies), std::mem::take(&mut self.velocities));
        self.step.idle_ends.put(EndMemory { x, centers, bodies, velocities, is_of_step: true });
    }
}

/// Memory of an end.
#[derive(Debug, Default)]
struct EndMemory {
    /// If it is of this step, all vertices but those of `bodies` are where the script has them: many small islands
    /// would else copy the whole scene each time they move.
    x: Vec<Vec3>,
    centers: Vec<Vec3>,
    bodies: Vec<(BodyRef, usize)>,
    velocities: Vec<Row>,
    is_of_step: bool,
}

/// Memory that goes from step to step.
#[derive(Debug, Default)]
pub struct SurfaceMemory {
    start: Vec<Vec3>,
    scripted: Vec<Vec3>,
    rows: Vec<Row>,
    idle_ends: Pool<EndMemory>,
}

/// Surfaces in one step.
pub struct SurfaceStep<'a> {
    pub model: &'a Model,
    pub surfaces: &'a Surfaces,
    pub state: &'a State,
    dt: f64,
    /// The time of given motions at the end [s].
    script_end: f64,
    /// All vertices at the start of the step [m].
    pub start: Vec<Vec3>,
    /// Where the vertices end that follow a script; the others at the start [m].
    scripted: Vec<Vec3>,
    /// Displacements of the nodes at the start [m].
    rows: Vec<Row>,
    /// Memory of ends that are no longer in use.
    idle_ends: Pool<EndMemory>,
}

impl<'a> SurfaceStep<'a> {
    pub fn new(model: &'a Model, surfaces: &'a Surfaces, state: &'a State, span: StepSpan, memory: SurfaceMemory) -> Self {
        let SurfaceMemory { mut start, mut scripted, mut rows, mut idle_ends } = memory;
        start.resize(surfaces.mesh.body.len(), Vec3::zeros());
        fill_with(&mut rows, state.displacements.len(), |node| row_of(&state.displacements[node]));
        let collision = &model.collision;
        let soft = &mut start[..collision.n_vertices()];
        let parts = (soft.par_chunks_mut(VERTICES), surfaces.rest.par_chunks(VERTICES));
        let of_nodes = (collision.nodes.par_chunks(VERTICES), collision.weights.par_chunks(VERTICES));
        (parts, of_nodes).into_par_iter().for_each(|((x, from), (nodes, weights))| {
            Arch::new().dispatch(Displace { x, from, nodes, weights, rows: &rows, first: 0, factor: 1.0 });
        });
        fill_with(&mut scripted, start.len(), |vertex| start[vertex]);
        let (script_start, script_end) = (state.script_time(), state.script_time() + span.script);
        for (k, (carrier, local)) in (model.collision.n_vertices()..).zip(&surfaces.carried_vertices) {
            let (place, local) = (carrier.index(), nalgebra::Point3::from(*local));
            let (pose, script) = if let BodyRef::Rigid(_) = carrier {
                let body = &model.rigid_bodies[place];
                (state.rigid_bodies[place].pose, (!body.is_free()).then(|| body.pose_at(script_end)))
            } else {
                (model.obstacles[place].pose_at(script_start), Some(model.obstacles[place].pose_at(script_end)))
            };
            start[k] = (pose * local).coords;
            scripted[k] = (script.unwrap_or(pose) * local).coords;
        }
        idle_ends.all_mut().iter_mut().for_each(|end| end.is_of_step = false);
        Self { model, surfaces, state, dt: span.dt, script_end, start, scripted, rows, idle_ends }
    }

    /// Displacements of the nodes of a deformable body at the start [m].
    pub fn displacements_of(&self, body: usize) -> &[Row] {
        &self.rows[self.model.bodies[body].nodes.clone()]
    }

    /// The time of given motions at the end [s].
    pub fn script_end(&self) -> f64 {
        self.script_end
    }

    /// What the next step may use again.
    pub fn into_memory(self) -> SurfaceMemory {
        SurfaceMemory { start: self.start, scripted: self.scripted, rows: self.rows, idle_ends: self.idle_ends }
    }

    /// Where the vertices of an island end with the velocity change `dv` of its unknowns; the others stay.
    pub fn end_positions(&self, island: &Island, dv: &[Vec3]) -> End<'_> {
        let mut memory = self.idle_ends.take().unwrap_or_default();
        self.restore_others(&mut memory, island);
        let EndMemory { x: end, centers, bodies, velocities, .. } = &mut memory;
        let (model, before) = (self.model, &self.state.velocities);
        let collision = &model.collision;
        let deformable = island.deformable();
        velocities.resize(deformable.last().map_or(0, |last| last.places().end), Row::default());
        for_each_part(deformable, &Segment::places, (0, velocities), &|segment, rows| {
            for ((row, v), dv) in rows.iter_mut().zip(&before[segment.unknowns.clone()]).zip(&dv[segment.places()]) {
                *row = row_of(&(v + dv));
            }
        });
        let vertices = |segment: &Segment| self.surfaces.features(segment.body).vertices.clone();
        for_each_part(deformable, &vertices, (0, end), &|segment, end| {
            let (range, first, factor) = (vertices(segment), segment.unknowns.start, self.dt);
            let rows = &velocities[segment.start..];
            let parts = (end.par_chunks_mut(VERTICES), self.start[range.clone()].par_chunks(VERTICES));
            let of_nodes = (collision.nodes[range.clone()].par_chunks(VERTICES), collision.weights[range].par_chunks(VERTICES));
            (parts, of_nodes).into_par_iter().for_each(|((x, from), (nodes, weights))| {
                Arch::new().dispatch(Displace { x, from, nodes, weights, rows, first, factor });
            });
        });
        for Segment { body, start, .. } in island.rigid() {
            let r = body.index();
            let pose = self.pose_at_end(r, [&dv[*start], &dv[*start + 1]]);
            centers[r] = pose.translation.vector;
            for k in self.surfaces.features(*body).vertices.clone() {
                let local = self.surfaces.carried_vertices[k - model.collision.n_vertices()].1;
                end[k] = (pose * nalgebra::Point3::from(local)).coords;
            }
        }
        bodies.clear();
        bodies.extend(island.segments.iter().map(|segment| (segment.body, segment.start)));
        let EndMemory { x, centers, bodies, velocities, .. } = memory;
        End { x, centers, bodies, velocities, step: self }
    }

    /// Brings all vertices but those of the island to where the script has them.
    fn restore_others(&self, memory: &mut EndMemory, island: &Island) {
        let EndMemory { x, centers, bodies, is_of_step, .. } = memory;
        if *is_of_step {
            let is_other = |(body, _): &&(BodyRef, usize)| island.segments.binary_search_by_key(body, |segment| segment.body).is_err();
            for (body, _) in bodies.iter().filter(is_other) {
                let range = self.surfaces.features(*body).vertices.clone();
                x[range.clone()].copy_from_slice(&self.scripted[range]);
            }
            return;
        }
        x.resize(self.scripted.len(), Vec3::zeros());
        centers.resize(self.model.rigid_bodies.len(), Vec3::zeros());
        let mut first = 0;
        for Segment { body, .. } in island.deformable() {
            let range = self.surfaces.features(*body).vertices.clone();
            x[first..range.start].copy_from_slice(&self.scripted[first..range.start]);
            first = range.end;
        }
        x[first..].copy_from_slice(&self.scripted[first..]);
    }

    /// The pose of a rigid body at the end, with the changes of its linear and angular velocity.
    pub(super) fn pose_at_end(&self, r: usize, [linear, angular]: [&Vec3; 2]) -> Isometry {
        let rigid = &self.model.rigid_bodies[r];
        match rigid.mobility {
            Mobility::Driven(_) => rigid.pose_at(self.script_end),
            Mobility::Free { .. } => self.state.rigid_bodies[r].moved(linear, angular, self.dt).pose,
        }
    }
}

/// Three numbers of a node, and a zero: one register.
pub type Row = [f64; 4];

fn row_of(x: &Vec3) -> Row {
    [x.x, x.y, x.z, 0.0]
}

/// Vertices that one thread takes at a time.
pub const VERTICES: usize = 2048;

/// `x = from + factor` times the interpolated rows of the nodes, those of node `first` and the following ones; by the
/// widest registers, in the order of [`interpolate`](crate::model::interpolate).
struct Displace<'a> {
    x: &'a mut [Vec3],
    from: &'a [Vec3],
    nodes: &'a [[u32; 4]],
    weights: &'a [[f64; 4]],
    rows: &'a [Row],
    first: usize,
    factor: f64,
}

impl WithSimd for Displace<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { x, from, nodes, weights, rows, first, factor } = self;
        for (((x, from), nodes), weights) in x.iter_mut().zip(from).zip(nodes).zip(weights) {
            let row = |corner: usize| &rows[nodes[corner] as usize - first];
            // A mesh that is its own surface has vertices at its nodes.
            let mut sum = *row(0);
            if weights[0] != 1.0 {
                sum = [0.0; 4];
                for corner in 0..4 {
                    let row = row(corner);
                    for k in 0..4 {
                        sum[k] += row[k] * weights[corner];
                    }
                }
            }
            *x = Vec3::new(from.x + sum[0] * factor, from.y + sum[1] * factor, from.z + sum[2] * factor);
        }
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
