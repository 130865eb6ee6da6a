//! Surfaces over one step: where their vertices start, where a trial motion brings them, and the rows of sums of them.

use rayon::prelude::*;

use super::Surfaces;
use crate::body::BodyRef;
use crate::contact::JacobianEntry;
use crate::contact::islands::Island;
use crate::math::{Isometry, Vec3};
use crate::memory::Pool;
use crate::model::{Mobility, Model, State, interpolate};
use crate::sparse::Segment;

/// Where everything ends with some velocity change.
pub struct End<'s> {
    /// All vertices [m].
    pub x: Vec<Vec3>,
    /// Centres of mass of the rigid bodies of the island [m].
    centers: Vec<Vec3>,
    pub step: &'s SurfaceStep<'s>,
    bodies: Vec<BodyRef>,
}

impl End<'_> {
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
    /// Leaves the memory to the next one, with all vertices where the script has them: many small islands would else
    /// copy the whole scene each time they move.
    fn drop(&mut self) {
        for body in &self.bodies {
            let range = self.step.surfaces.features(*body).vertices.clone();
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
    bodies: Vec<BodyRef>,
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
    pub model: &'a Model,
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
        for (k, (carrier, local)) in (model.collision.n_vertices()..).zip(&surfaces.carried_vertices) {
            let (place, local) = (carrier.index(), nalgebra::Point3::from(*local));
            let at_end = state.time + dt;
            let (pose, script) = if let BodyRef::Rigid(_) = carrier {
                let body = &model.rigid_bodies[place];
                (state.rigid_bodies[place].pose, (!body.is_free()).then(|| body.pose_at(at_end)))
            } else {
                (model.obstacles[place].pose_at(state.time), Some(model.obstacles[place].pose_at(at_end)))
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
            let range = self.surfaces.features(*body).vertices.clone();
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
            let r = body.index();
            let pose = self.pose_at_end(r, [&dv[*start], &dv[*start + 1]]);
            centers[r] = pose.translation.vector;
            for k in self.surfaces.features(*body).vertices.clone() {
                let local = self.surfaces.carried_vertices[k - model.collision.n_vertices()].1;
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
