//! Contacts of a step: found, linearised, and summed up.

use rayon::prelude::*;

use crate::collision::{MovingShape, TangentPlane};
use crate::contact::{Contact, Problem, RememberedContact, Status};
use crate::math::{Aabb, Vec3};
use crate::model::{Body, Model, Shape, interpolate};
use crate::solver::{ContactReport, PairForce, Params, State};

/// The safety distance is the middle of the band (0, eps2) in which gaps of active contacts end.
const SAFETY: f64 = 0.5;
/// Most turn of a normal in one renewal: 15 degrees.
const MAX_TURN_COS: f64 = 0.965_925_8;

/// Geometry of one step: start positions, obstacles over the step, and how the rows follow the moved points.
pub struct Detection<'a> {
    model: &'a Model,
    state: &'a State,
    dt: f64,
    tolerance: f64,
    obstacles: Vec<MovingShape>,
}

impl<'a> Detection<'a> {
    pub fn new(model: &'a Model, state: &'a State, params: &Params) -> Self {
        let (t0, t1) = (state.time, state.time + params.time_step);
        let moving = |o: &crate::model::Obstacle| MovingShape { shape: o.shape, pose_t0: o.pose_at(t0), pose_t1: o.pose_at(t1) };
        Self {
            model,
            state,
            dt: params.time_step,
            tolerance: params.contact_tolerance,
            obstacles: model.obstacles.iter().map(moving).collect(),
        }
    }

    /// The contacts of `body` that carried a force in the last step, with that force.
    pub fn remembered(&self, body: &Body) -> Vec<Contact> {
        let contact = |entry: &RememberedContact| {
            let mut contact = self.new_contact(entry.vertex, entry.obstacle);
            let (x0, motion) = self.start(entry.vertex);
            // The obstacle carries the point along: where it would be without relative motion.
            let obstacle = &self.obstacles[entry.obstacle as usize];
            let carried = obstacle.pose_t1 * (obstacle.pose_t0.inverse() * nalgebra::Point3::from(x0));
            let plane = obstacle.tangent_plane(&x0, &carried.coords);
            contact.linearise(&plane, &(x0 + motion), &motion, SAFETY * self.tolerance);
            contact.remember(entry);
            contact
        };
        let entries = &self.state.contacts.entries;
        entries.iter().filter(|e| body.vertices.contains(&(e.vertex as usize))).map(contact).collect()
    }

    /// Adds contacts for points of `body` that would enter an obstacle with the velocity change `dv` of its nodes, and renews the rows of active contacts whose
    /// true gap has left (0, eps2). True if anything changed.
    pub fn adapt(&self, body: &Body, dv: &[Vec3], contacts: &mut Vec<Contact>) -> bool {
        let mut changed = false;
        for contact in contacts.iter_mut() {
            let plane = self.plane(body, contact.vertex, contact.obstacle, dv);
            let stale = match contact.status {
                Status::Inactive => plane.gap < 0.0,
                _ => plane.gap <= 0.0 || plane.gap >= self.tolerance,
            };
            if stale {
                changed |= self.renew(contact, &plane);
            }
        }
        let mut known: Vec<(u32, u32)> = contacts.iter().map(|c| (c.obstacle, c.vertex)).collect();
        known.sort_unstable();
        for (o, v) in self.entering(body, dv) {
            if known.binary_search(&(o, v)).is_err() {
                let mut contact = self.new_contact(v, o);
                self.renew(&mut contact, &self.plane(body, v, o, dv));
                contact.status = Status::Sliding;
                contacts.push(contact);
                changed = true;
            }
        }
        changed
    }

    fn new_contact(&self, vertex: u32, obstacle: u32) -> Contact {
        let body = self.model.surface.bodies[vertex as usize] as usize;
        Contact::new(vertex, obstacle, self.model.obstacles[obstacle as usize].friction[body])
    }

    /// Start position of a surface point and its motion over the step at dv = 0.
    fn start(&self, vertex: u32) -> (Vec3, Vec3) {
        let (nodes, weights) = (&self.model.surface.nodes[vertex as usize], &self.model.surface.weights[vertex as usize]);
        let x0 = interpolate(&self.model.rest_positions, nodes, weights) + interpolate(&self.state.displacements, nodes, weights);
        (x0, interpolate(&self.state.velocities, nodes, weights) * self.dt)
    }

    fn plane(&self, body: &Body, vertex: u32, obstacle: u32, dv: &[Vec3]) -> TangentPlane {
        let (x0, motion) = self.start(vertex);
        let (nodes, weights) = (&self.model.surface.nodes[vertex as usize], &self.model.surface.weights[vertex as usize]);
        let change: Vec3 = nodes.iter().zip(weights).map(|(n, w)| dv[*n as usize - body.nodes.start] * *w).sum();
        self.obstacles[obstacle as usize].tangent_plane(&x0, &(x0 + motion + change * self.dt))
    }

    /// Takes the new tangent plane, turned by at most 15 degrees; false if the row is the same as before.
    fn renew(&self, contact: &mut Contact, plane: &TangentPlane) -> bool {
        let (x0, motion) = self.start(contact.vertex);
        let mut plane = *plane;
        let old_normal = contact.frame.row(0).transpose();
        // Halve the turn until it is allowed.
        while contact.is_active() && old_normal.dot(&plane.normal) < MAX_TURN_COS {
            let middle = old_normal + plane.normal;
            if middle.norm() < 1e-3 {
                break;
            }
            plane.normal = middle.normalize();
        }
        let before = (contact.frame, contact.offset);
        contact.linearise(&plane, &(x0 + motion), &motion, SAFETY * self.tolerance);
        (contact.frame - before.0).norm() > 1e-9 || (contact.offset - before.1).norm() > 1e-3 * self.tolerance
    }

    /// (obstacle, vertex) of the surface points of `body` that end inside an obstacle, in ascending order.
    fn entering(&self, body: &Body, dv: &[Vec3]) -> Vec<(u32, u32)> {
        let mut swept = Aabb::EMPTY;
        for (i, dv) in body.nodes.clone().zip(dv) {
            let start = self.model.rest_positions[i] + self.state.displacements[i];
            swept = swept.with(&start).with(&(start + (self.state.velocities[i] + dv) * self.dt));
        }
        let mut found = vec![];
        for (o, _) in self.obstacles.iter().enumerate().filter(|(_, o)| may_touch(o, &swept)) {
            let inside = |v: &u32| self.plane(body, *v, o as u32, dv).gap < 0.0;
            let vertices: Vec<u32> = body.vertices.clone().into_par_iter().map(|v| v as u32).filter(inside).collect();
            found.extend(vertices.into_iter().map(|v| (o as u32, v)));
        }
        found
    }
}

/// False only if no point of the box can be inside the obstacle at any time of the step.
fn may_touch(obstacle: &MovingShape, aabb: &Aabb) -> bool {
    let (center, radius) = (aabb.center(), 0.5 * aabb.extent().norm());
    [&obstacle.pose_t0, &obstacle.pose_t1].iter().any(|pose| {
        let local = pose.inverse_transform_point(&center.into()).coords;
        let reach = match obstacle.shape {
            Shape::Plane => 0.0,
            _ => (obstacle.pose_t1.translation.vector - obstacle.pose_t0.translation.vector).norm(),
        };
        crate::collision::nearest(&obstacle.shape, &local).distance < radius + reach
    })
}

/// What the contacts of one body tell after its solve.
pub fn report(model: &Model, problem: &Problem, contacts: &[Contact], dv: &[Vec3]) -> ContactReport {
    let mut report = ContactReport { contacts: contacts.len() as u32, ..ContactReport::default() };
    for contact in contacts.iter().filter(|c| c.is_active()) {
        let motion = contact.offset + contact.rows(problem, dv);
        let (normal, friction) = (contact.normal_force(), contact.friction());
        let limit = contact.friction * normal;
        report.active += 1;
        report.max_gap_of_active = report.max_gap_of_active.max(motion.x + SAFETY * problem.tolerance);
        let compliance = contact.compliance[(0, 0)];
        let mut error = fischer_burmeister(compliance * normal, motion.x);
        if contact.status == Status::Sliding {
            let slip = Vec3::new(0.0, motion.y, motion.z).norm();
            error = error.max(fischer_burmeister(compliance * (limit - friction.norm()), slip).abs());
            report.dissipated_by_friction += friction.norm() * slip;
        }
        report.max_complementarity_error = report.max_complementarity_error.max(error.abs());
        report.max_cone_violation = report.max_cone_violation.max(friction.norm() - limit);
        report.normal_force_total += normal;
        report.friction_force_total += friction.norm();
        let (body, obstacle) = (model.surface.bodies[contact.vertex as usize], contact.obstacle);
        let index = report.pairs.iter().position(|p| p.body == body && p.obstacle == obstacle).unwrap_or_else(|| {
            report.pairs.push(PairForce { body, obstacle, ..PairForce::default() });
            report.pairs.len() - 1
        });
        let pair = &mut report.pairs[index];
        pair.normal += contact.frame.row(0).transpose() * normal;
        pair.friction += contact.memory().friction_force;
        pair.contacts += 1;
    }
    report.pairs.sort_by_key(|p| (p.body, p.obstacle));
    report
}

/// x + y - sqrt(x^2 + y^2): zero exactly where 0 <= x _|_ y >= 0.
fn fischer_burmeister(x: f64, y: f64) -> f64 {
    x + y - x.hypot(y)
}
