//! The last resort of a step: what would still cross is limited in its motion, and the rest moves.
//!
//! Nodes that carry crossing features give up a part of their motion, those around them as far as they cross then. What
//! they keep is a common motion of all bodies that are in each other's way: v + omega x r takes all points through
//! affine maps, under which nothing meets that was apart. So a tangle goes on falling and turning, whatever its parts
//! do; only what crosses something that does not move stops with it.

use std::ops::Range;

use crate::body::{BodyNumbering, BodyRef};
use crate::contact::generate::{Detection, Overlap};
use crate::contact::islands::Island;
use crate::disjoint_sets::DisjointSets;
use crate::geometry::{Bvh, Candidates};
use crate::math::{Mat3, Vec3};
use crate::model::{Model, State};

/// Rounds in which only nodes of what crosses are limited, and those until everything stops.
const LOCAL_ROUNDS: usize = 8;
/// Round from which what does not react holds all limited nodes of the bodies that it meets.
const HOLDING_ROUND: usize = 5;
const ROUNDS: usize = 14;
/// What is left of a motion in each round beyond the local ones.
const SHRINKING: f64 = 0.25;
/// Nodes around one that is limited give way, so far from it.
const SOFT_NODES: usize = 3;
/// A motion of which less is left stops.
const LEAST: f64 = 1e-6;
/// No node goes further from the common motion of its body than this, in mean edge lengths: what goes further is beyond
/// all searches.
const MAX_EDGES: f64 = 1.0;

/// The motions of a step that are limited.
pub(super) struct Limiter<'a> {
    pub model: &'a Model,
    pub state: &'a State,
    pub detection: &'a Detection<'a>,
    pub bvh: &'a mut Bvh,
    pub dt: f64,
}

/// How much each unknown keeps of its own motion, and what it keeps instead.
struct Limits {
    /// One a body with unknowns.
    sets: DisjointSets,
    /// By the root of a set: the velocity of what holds it [m/s], if that does not react.
    held: Vec<Option<Vec3>>,
    /// By unknown: what it keeps of its own motion, and the velocity of what does not react and is in its way [m/s].
    kept: Vec<f64>,
    blocked: Vec<Option<Vec3>>,
}

/// v + omega x (x - center).
struct CommonMotion {
    velocity: Vec3,
    angular_velocity: Vec3,
    center: Vec3,
}

impl Limiter<'_> {
    /// Changes `dv` so that nothing crosses, and returns how many vertices are limited for that.
    pub fn limit(self, candidates: &mut Candidates, dv: &mut [Vec3]) -> usize {
        let numbering = self.model.numbering();
        self.stop_what_is_not_finite(dv);
        let full = self.velocities(dv);
        let n = numbering.n_with_unknowns();
        let mut limits = Limits {
            sets: DisjointSets::new(n),
            held: (0..n).map(|number| self.has_fixed_nodes(numbering.body(number)).then(Vec3::zeros)).collect(),
            kept: vec![1.0; dv.len()],
            blocked: vec![None; dv.len()],
        };
        self.bound_deformation(&numbering, &full, &mut limits);
        self.apply(&numbering, &full, &mut limits, dv);
        for round in 0..ROUNDS {
            let whole = &self.detection.step.surfaces.whole;
            let end = self.detection.step.end_positions(whole, dv);
            if !self.mark(&numbering, &self.detection.overlaps(candidates, &end), round, &mut limits) {
                break;
            }
            drop(end);
            self.soften(&mut limits);
            self.apply(&numbering, &full, &mut limits, dv);
            // Other ways than those that were predicted.
            let mesh = &self.detection.step.surfaces.mesh;
            let end = self.detection.step.end_positions(whole, dv);
            if self.bvh.cover(mesh, &end.x) > 0 {
                self.bvh.find_more(mesh, &self.detection.step.start, candidates);
            }
        }
        self.stop_where_it_crosses(candidates, dv);
        let limited = |v: usize| self.unknowns_of_vertex(v as u32).into_iter().any(|unknown| limits.kept[unknown] < 1.0);
        (0..self.detection.step.start.len()).filter(|v| limited(*v)).count()
    }

    /// A body whose solve has gone out of all bounds keeps its velocity.
    fn stop_what_is_not_finite(&self, dv: &mut [Vec3]) {
        for segment in &self.detection.step.surfaces.whole.segments {
            let own = &mut dv[segment.unknowns.clone()];
            if !own.iter().all(|dv| dv.iter().all(|c| c.is_finite())) {
                own.fill(Vec3::zeros());
            }
        }
    }

    fn velocities(&self, dv: &[Vec3]) -> Vec<Vec3> {
        self.before().zip(dv).map(|(v, dv)| v + dv).collect()
    }

    /// Velocities of all unknowns at the start of the step.
    fn before(&self) -> impl Iterator<Item = Vec3> {
        let rigid = self.state.rigid_bodies.iter().flat_map(|r| [r.velocity, r.angular_velocity]);
        self.state.velocities.iter().copied().chain(rigid)
    }

    fn has_fixed_nodes(&self, body: BodyRef) -> bool {
        body.is_deformable() && self.unknowns(body).any(|node| self.model.fixed[node])
    }

    fn position(&self, node: usize) -> Vec3 {
        self.model.rest_positions[node] + self.state.displacements[node]
    }

    fn unknowns_of_vertex(&self, vertex: u32) -> Vec<usize> {
        let (model, surfaces, v) = (self.model, self.detection.step.surfaces, vertex as usize);
        if v < model.collision.n_vertices() {
            let corners = model.collision.nodes[v].iter().zip(&model.collision.weights[v]);
            return corners.filter(|(_, w)| **w != 0.0).map(|(n, _)| *n as usize).collect();
        }
        match surfaces.body_of_vertex(vertex) {
            body @ BodyRef::Rigid(_) if model.is_movable(body) => {
                let first = model.linear_unknown(body.index());
                vec![first, first + 1]
            }
            _ => vec![],
        }
    }

    /// Limits what goes far from the common motion of its body.
    fn bound_deformation(&self, numbering: &BodyNumbering, full: &[Vec3], limits: &mut Limits) {
        for number in 0..self.model.bodies.len() {
            let body = numbering.body(number);
            let common = match limits.held[number] {
                Some(velocity) => CommonMotion { velocity, angular_velocity: Vec3::zeros(), center: Vec3::zeros() },
                None => self.common_motion(&[body], full),
            };
            let furthest = MAX_EDGES * self.bvh.mean_edge(number);
            for node in self.unknowns(body) {
                let own = self.dt * (full[node] - common.at(&self.position(node))).norm();
                if own > furthest {
                    limits.keep(node, furthest / own);
                }
            }
        }
    }

    /// Lets nodes near those that are limited give up a part of their motion too, half as much from node to node: else
    /// tets between them would be crushed, and the next step could not be solved either.
    fn soften(&self, limits: &mut Limits) {
        let pattern = &self.model.pattern;
        for _ in 0..SOFT_NODES {
            let before = limits.kept.clone();
            let least = |node: usize| pattern.row(node).map(|block| before[pattern.columns[block] as usize]).fold(1.0, f64::min);
            for (node, kept) in limits.kept[..self.model.n_nodes()].iter_mut().enumerate() {
                *kept = kept.min(0.5 + 0.5 * least(node));
            }
        }
    }

    /// Marks what has to give way; false if nothing is in the way of anything.
    fn mark(&self, numbering: &BodyNumbering, overlaps: &[Overlap], round: usize, limits: &mut Limits) -> bool {
        for overlap in overlaps {
            let movable = overlap.bodies.map(|body| numbering.number(body).filter(|_| self.model.is_movable(body)));
            if let [Some(a), Some(b)] = movable {
                let held = [a, b].map(|body| limits.held[limits.sets.root(body)]);
                limits.sets.join(a, b);
                let root = limits.sets.root(a);
                limits.held[root] = held[0].or(held[1]);
            }
            // What does not react holds the nodes that meet it, they hold those that meet them, and what is left then
            // holds all that hangs together with it.
            let held = if let [Some(_), Some(_)] = movable { None } else { Some(overlap.immovable_motion / self.dt) };
            let unknowns: Vec<usize> = overlap.vertices.iter().flat_map(|v| self.unknowns_of_vertex(*v)).collect();
            let blocked = held.or_else(|| unknowns.iter().find_map(|unknown| limits.blocked[*unknown]));
            if round >= HOLDING_ROUND
                && let Some(own) = movable.into_iter().flatten().next()
            {
                let root = limits.sets.root(own);
                limits.held[root] = limits.held[root].or(blocked);
            }
            if round < LOCAL_ROUNDS {
                let part = 0.5 * overlap.time;
                for unknown in unknowns {
                    limits.keep(unknown, part);
                    limits.blocked[unknown] = blocked.filter(|_| held.is_some() || round > 0).or(limits.blocked[unknown]);
                }
            } else {
                let part = if round + 1 == ROUNDS { 0.0 } else { SHRINKING };
                for number in movable.into_iter().flatten() {
                    self.unknowns(numbering.body(number)).for_each(|unknown| limits.keep(unknown, part));
                }
            }
        }
        !overlaps.is_empty()
    }

    fn unknowns(&self, body: BodyRef) -> Range<usize> {
        match body {
            BodyRef::Deformable(_) => self.model.bodies[body.index()].nodes.clone(),
            BodyRef::Rigid(_) => self.model.linear_unknown(body.index())..self.model.angular_unknown(body.index()) + 1,
            BodyRef::Obstacle(_) | BodyRef::World => 0..0,
        }
    }

    /// The velocity changes with what all unknowns keep.
    fn apply(&self, numbering: &BodyNumbering, full: &[Vec3], limits: &mut Limits, dv: &mut [Vec3]) {
        let before: Vec<Vec3> = self.before().collect();
        let n = numbering.n_with_unknowns();
        for root in (0..n).filter(|number| limits.sets.root(*number) == *number).collect::<Vec<_>>() {
            let members: Vec<BodyRef> = (0..n).filter(|k| limits.sets.root(*k) == root).map(|k| numbering.body(k)).collect();
            let is_limited = |body: &BodyRef| self.unknowns(*body).any(|unknown| limits.kept[unknown] < 1.0);
            if !members.iter().any(is_limited) {
                continue;
            }
            let common = match limits.held[root] {
                Some(velocity) => CommonMotion { velocity, angular_velocity: Vec3::zeros(), center: Vec3::zeros() },
                None => self.common_motion(&members, full),
            };
            for body in members {
                let is_limited = |unknown: &usize| limits.kept[*unknown] < 1.0 && self.model.fixed.get(*unknown) != Some(&true);
                for unknown in self.unknowns(body).filter(is_limited) {
                    let common = match body {
                        BodyRef::Deformable(_) if limits.blocked[unknown].is_some() => limits.blocked[unknown].unwrap_or_default(),
                        BodyRef::Deformable(_) => common.at(&self.position(unknown)),
                        _ if unknown == self.unknowns(body).start => common.velocity,
                        _ => Vec3::zeros(),
                    };
                    dv[unknown] = common + (full[unknown] - common) * limits.kept[unknown] - before[unknown];
                }
            }
        }
    }

    /// The motion of bodies that keeps their momentum, and their angular momentum where all are deformable: a rigid
    /// body does not turn through an affine map.
    fn common_motion(&self, bodies: &[BodyRef], full: &[Vec3]) -> CommonMotion {
        let points = || {
            bodies.iter().flat_map(|body| {
                self.unknowns(*body).filter_map(|unknown| match body {
                    BodyRef::Deformable(_) => Some((self.model.node_masses[unknown], self.position(unknown), full[unknown])),
                    _ if unknown == self.unknowns(*body).start => {
                        let rigid = &self.state.rigid_bodies[body.index()];
                        let (mass, _) = self.model.rigid_bodies[body.index()].inertia_in_space(&rigid.pose.rotation)?;
                        Some((mass, rigid.pose.translation.vector, full[unknown]))
                    }
                    _ => None,
                })
            })
        };
        let mass: f64 = points().map(|(m, ..)| m).sum();
        let mean = |of: &dyn Fn(&(f64, Vec3, Vec3)) -> Vec3| points().map(|point| of(&point) * point.0).sum::<Vec3>() / mass;
        let (center, velocity) = (mean(&|point| point.1), mean(&|point| point.2));
        let mut angular_velocity = Vec3::zeros();
        if bodies.iter().all(|body| body.is_deformable()) {
            let (mut inertia, mut momentum) = (Mat3::zeros(), Vec3::zeros());
            for (m, x, v) in points() {
                let r = x - center;
                inertia += (Mat3::identity() * r.norm_squared() - r * r.transpose()) * m;
                momentum += r.cross(&v) * m;
            }
            angular_velocity = inertia.try_inverse().map_or_else(Vec3::zeros, |inverse| inverse * momentum);
        }
        let is_finite = |v: &Vec3| v.iter().all(|c| c.is_finite());
        if !is_finite(&angular_velocity) {
            angular_velocity = Vec3::zeros();
        }
        CommonMotion { velocity, angular_velocity, center }
    }

    /// If all that was not enough, everything goes only as far as to where something would cross.
    fn stop_where_it_crosses(&self, candidates: &Candidates, dv: &mut [Vec3]) {
        const MAX_STOPS: u32 = 8;
        let whole: &Island = &self.detection.step.surfaces.whole;
        let before: Vec<Vec3> = self.before().collect();
        let full = self.velocities(dv);
        let mut part = 1.0;
        for _ in 0..MAX_STOPS {
            let found = self.detection.crossings(candidates, &self.detection.step.end_positions(whole, dv));
            let Some(earliest) = found.iter().map(|c| c.time).reduce(f64::min) else { return };
            part *= 0.5 * earliest;
            for ((dv, full), before) in dv.iter_mut().zip(&full).zip(&before) {
                *dv = full * part - before;
            }
        }
        dv.iter_mut().zip(&before).for_each(|(dv, before)| *dv = -before);
    }
}

impl Limits {
    fn keep(&mut self, unknown: usize, part: f64) {
        self.kept[unknown] = if self.kept[unknown] * part < LEAST { 0.0 } else { self.kept[unknown] * part };
    }
}

impl CommonMotion {
    fn at(&self, x: &Vec3) -> Vec3 {
        self.velocity + self.angular_velocity.cross(&(x - self.center))
    }
}
