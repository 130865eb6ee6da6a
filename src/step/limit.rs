//! The last resort of a step: what would still cross is limited in its motion, and the rest moves.
//!
//! Nodes that carry crossing features give up a part of their motion, those around them as far as they cross then. What
//! they keep is a common motion of all bodies that are in each other's way: v + omega x r takes all points through
//! affine maps, under which nothing meets that was apart. So a tangle goes on falling and turning, whatever its parts
//! do; only what crosses something that does not move stops with it. A body that goes far in a step keeps its common
//! motion from the beginning, and goes a part of the way to what does not move: node by node it would be crushed.

use std::ops::Range;

use super::predict::refit_about;
use crate::body::{BodyNumbering, BodyRef};
use crate::budget::{Allowance, CANDIDATE_WORK, COVER_WORK, SEARCH_WORK};
use crate::contact::generate::{Detection, End, Overlap};
use crate::disjoint_sets::DisjointSets;
use crate::geometry::{Bvh, Candidates, SearchLimit};
use crate::math::{Mat3, Vec3};
use crate::model::{Model, State};

/// Rounds in which only nodes of what crosses are limited, and those until everything stops.
const LOCAL_ROUNDS: usize = 8;
/// Round from which what does not react holds all limited nodes of the bodies that it meets.
const HOLDING_ROUND: usize = 5;
const ROUNDS: usize = 14;
/// Rounds that are left when the work is used up.
const LAST_ROUNDS: usize = 1;
/// What is left of a motion in each round beyond the local ones.
const SHRINKING: f64 = 0.25;
/// Nodes around one that is limited give way, so far from it.
const SOFT_NODES: usize = 3;
/// A motion of which less is left stops.
const LEAST: f64 = 1e-6;
/// A body that goes this many mean edge lengths in a step goes as a whole.
const FAR_EDGES: f64 = 8.0;
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
    /// Contact tolerance [m].
    pub tolerance: f64,
    /// Of its searches, and of all its work: when that is used up, bodies that would cross keep their common motion.
    pub limit: SearchLimit,
    pub allowance: &'a Allowance,
}

/// How the limiting of a step ended.
pub(super) struct Limited {
    /// Vertices that are limited in their motion.
    pub n_vertices: usize,
    /// Bodies in whose way, or in the way of what hangs together with them, stands what does not react.
    pub held: Vec<BodyRef>,
    /// Something went so far that the motion says nothing about the next step.
    pub is_torn: bool,
}

/// How much each unknown keeps of its own motion, and what it keeps instead.
struct Limits {
    /// One a body with unknowns.
    sets: DisjointSets,
    /// By the root of a set: the velocity of what holds it [m/s], if that does not react.
    held: Vec<Option<Vec3>>,
    /// By the root of a set: the part that its common motion keeps beside that velocity.
    approach: Vec<f64>,
    /// By body: whether it goes far.
    is_far: Vec<bool>,
    /// What bodies and unknowns keep of what they had, by the overlaps of a round.
    body_parts: Vec<f64>,
    parts: Vec<f64>,
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

impl<'a> Limiter<'a> {
    /// Changes `dv` so that nothing crosses. None if given motions leave no way.
    pub fn limit(mut self, candidates: &mut Candidates, dv: &mut [Vec3]) -> Option<Limited> {
        let numbering = self.model.numbering();
        self.stop_what_is_not_finite(dv);
        let full = self.velocities(dv);
        let n = numbering.n_with_unknowns();
        let mut limits = Limits {
            sets: DisjointSets::new(n),
            held: (0..n).map(|number| self.has_fixed_nodes(numbering.body(number)).then(Vec3::zeros)).collect(),
            approach: vec![1.0; n],
            is_far: vec![false; n],
            body_parts: vec![1.0; n],
            parts: vec![1.0; dv.len()],
            kept: vec![1.0; dv.len()],
            blocked: vec![None; dv.len()],
        };
        let is_torn = self.bound_deformation(&numbering, &full, &mut limits);
        self.apply(&numbering, &full, &mut limits, dv);
        self.bvh.limit_search(self.limit.clone());
        let mut end = self.search_again(candidates, dv);
        let mut round = 0;
        if !self.bvh.is_complete() {
            self.keep_common_motions(&numbering, &full, &mut limits, dv);
            end = self.search_again(candidates, dv);
            round = LOCAL_ROUNDS;
        }
        let mut is_free = false;
        while round < ROUNDS && self.bvh.is_complete() {
            self.allowance.spend(self.detection.overlaps_work(candidates));
            let overlaps = self.detection.overlaps(candidates, &end);
            is_free = overlaps.is_empty();
            if is_free {
                break;
            }
            self.mark(&numbering, &overlaps, round, &mut limits);
            if round + 1 == ROUNDS {
                self.join_candidates(&numbering, candidates, &mut limits);
            }
            limits.take_parts();
            self.soften(&mut limits);
            self.apply(&numbering, &full, &mut limits, dv);
            end = self.search_again(candidates, dv);
            round = if self.allowance.is_spent() { (round + 1).max(ROUNDS - LAST_ROUNDS) } else { round + 1 };
        }
        if !self.bvh.is_complete() {
            self.stop(dv)?;
        } else if !is_free {
            self.stop_where_it_crosses(&numbering, candidates, end, dv)?;
        }
        let limited = |v: usize| self.unknowns_of_vertex(v as u32).into_iter().any(|unknown| limits.kept[unknown] < 1.0);
        let n_vertices = (0..self.detection.step.start.len()).filter(|v| limited(*v)).count();
        let held = (0..n).filter(|number| limits.held[limits.sets.root(*number)].is_some()).map(|number| numbering.body(number)).collect();
        Some(Limited { n_vertices, held, is_torn })
    }

    fn end(&self, dv: &[Vec3]) -> End<'a> {
        let step = &self.detection.step;
        step.end_positions(&step.surfaces.whole, dv)
    }

    /// Searches for what may meet on other trajectories than those that were predicted; all anew if the last search was
    /// given up. Returns where they end.
    fn search_again(&mut self, candidates: &mut Candidates, dv: &[Vec3]) -> End<'a> {
        let (step, before) = (&self.detection.step, candidates.len());
        let (mesh, end) = (&step.surfaces.mesh, self.end(dv));
        self.allowance.spend(COVER_WORK * end.x.len() as u64);
        if !self.bvh.is_complete() {
            refit_about(self.bvh, step, &end, self.tolerance, &mut vec![]);
            self.bvh.find(mesh, &step.start, candidates);
            self.allowance.spend(SEARCH_WORK * end.x.len() as u64 + CANDIDATE_WORK * self.bvh.n_found(candidates.len()) as u64);
            return end;
        }
        let left = self.bvh.cover(mesh, &end.x) + self.bvh.cover_nodes(&end.node_motions());
        if left > 0 {
            self.bvh.find_more(mesh, &step.start, candidates);
            self.allowance.spend(SEARCH_WORK * left as u64 + CANDIDATE_WORK * self.bvh.n_found(candidates.len() - before) as u64);
        }
        end
    }

    /// Deformable bodies give up all their own motion: affine maps let no body cross itself, and nobody has to search
    /// for that.
    fn keep_common_motions(&mut self, numbering: &BodyNumbering, full: &[Vec3], limits: &mut Limits, dv: &mut [Vec3]) {
        limits.kept[..self.model.n_nodes()].fill(0.0);
        let n_deformable = self.model.bodies.len();
        limits.is_far[..n_deformable].iter_mut().zip(&limits.held).for_each(|(is_far, held)| *is_far = held.is_none());
        self.bvh.set_certified(self.model.bodies.iter().map(|_| true));
        self.apply(numbering, full, limits, dv);
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

    /// Limits what goes far from the common motion of its body; whether there is such a thing.
    fn bound_deformation(&self, numbering: &BodyNumbering, full: &[Vec3], limits: &mut Limits) -> bool {
        let mut is_torn = false;
        for number in 0..self.model.bodies.len() {
            let (body, is_held) = (numbering.body(number), limits.held[number].is_some());
            let common = self.held_motion(&[body], full, limits.held[number], 0.0);
            let furthest = MAX_EDGES * self.bvh.mean_edge(number);
            limits.is_far[number] = !is_held && self.dt * common.velocity.norm() > FAR_EDGES * self.bvh.mean_edge(number);
            if is_held {
                limits.approach[number] = 0.0;
            } else if limits.is_far[number] {
                self.unknowns(body).for_each(|node| limits.kept[node] = 0.0);
            }
            for node in self.unknowns(body) {
                let own = self.dt * (full[node] - common.at(&self.position(node))).norm();
                // Also what is not finite any more.
                if own.is_nan() || own > furthest {
                    limits.keep(node, furthest / own);
                    is_torn = true;
                }
            }
        }
        is_torn
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

    /// Marks what has to give way.
    fn mark(&self, numbering: &BodyNumbering, overlaps: &[Overlap], round: usize, limits: &mut Limits) {
        for overlap in overlaps {
            let movable = overlap.bodies.map(|body| numbering.number(body).filter(|_| self.model.is_movable(body)));
            if let [Some(a), Some(b)] = movable {
                limits.join(a, b);
            }
            // What does not react holds the nodes that meet it, they hold those that meet them, and what is left then
            // holds all that hangs together with it.
            let held = if let [Some(_), Some(_)] = movable { None } else { Some(overlap.immovable_motion / self.dt) };
            let unknowns: Vec<usize> = overlap.vertices.iter().flat_map(|v| self.unknowns_of_vertex(*v)).collect();
            let blocked = held.or_else(|| unknowns.iter().find_map(|unknown| limits.blocked[*unknown]));
            let part = if round + 1 == ROUNDS { 0.0 } else { 0.5 * overlap.time };
            if let Some(own) = movable.into_iter().flatten().next()
                && (round >= HOLDING_ROUND || limits.is_far[own])
                && blocked.is_some()
            {
                let root = limits.sets.root(own);
                limits.held[root] = limits.held[root].or(blocked);
                limits.body_parts[own] = limits.body_parts[own].min(if limits.is_far[own] { part } else { 0.0 });
            }
            if movable.into_iter().flatten().any(|own| limits.is_far[own]) {
                // What meets such a body goes with it.
                for number in movable.into_iter().flatten() {
                    self.unknowns(numbering.body(number)).for_each(|unknown| limits.parts[unknown] = 0.0);
                }
                continue;
            }
            if round < LOCAL_ROUNDS {
                for unknown in unknowns {
                    limits.parts[unknown] = limits.parts[unknown].min(part);
                    limits.blocked[unknown] = blocked.filter(|_| held.is_some() || round > 0).or(limits.blocked[unknown]);
                }
            } else {
                let part = part.min(SHRINKING);
                for number in movable.into_iter().flatten() {
                    self.unknowns(numbering.body(number)).for_each(|unknown| limits.parts[unknown] = limits.parts[unknown].min(part));
                }
            }
        }
    }

    /// What may meet what is limited, and what may meet that, has one motion with it: there is no other round to find
    /// out what does.
    fn join_candidates(&self, numbering: &BodyNumbering, candidates: &Candidates, limits: &mut Limits) {
        let n = numbering.n_with_unknowns();
        self.for_each_movable_link(numbering, candidates, &mut |a, b| limits.join(a, b));
        let is_limited = |body: usize| self.unknowns(numbering.body(body)).any(|unknown| limits.parts[unknown] < 1.0);
        let limited: Vec<usize> = (0..n).filter(|body| is_limited(*body)).collect();
        let mut has_limited = vec![false; n];
        limited.into_iter().for_each(|body| has_limited[limits.sets.root(body)] = true);
        for body in 0..n {
            if has_limited[limits.sets.root(body)] {
                self.unknowns(numbering.body(body)).for_each(|unknown| limits.parts[unknown] = 0.0);
            }
        }
    }

    /// Hands the numbers of movable bodies that are linked by candidates to `link`.
    fn for_each_movable_link(&self, numbering: &BodyNumbering, candidates: &Candidates, link: &mut dyn FnMut(usize, usize)) {
        let movable = |body: BodyRef| numbering.number(body).filter(|_| self.model.is_movable(body));
        self.detection.link_bodies(candidates, &mut |bodies| {
            if let [Some(a), Some(b)] = bodies.map(movable) {
                link(a, b);
            }
        });
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
        let mut by_root: Vec<(usize, BodyRef)> =
            (0..numbering.n_with_unknowns()).map(|number| (limits.sets.root(number), numbering.body(number))).collect();
        by_root.sort_by_key(|(root, _)| *root);
        for members in by_root.chunk_by(|a, b| a.0 == b.0) {
            let root = members[0].0;
            let members: Vec<BodyRef> = members.iter().map(|(_, body)| *body).collect();
            let is_limited = |body: &BodyRef| self.unknowns(*body).any(|unknown| limits.kept[unknown] < 1.0);
            if !members.iter().any(is_limited) {
                continue;
            }
            let common = self.held_motion(&members, full, limits.held[root], limits.approach[root]);
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

    /// The common motion of bodies, of which only a part is left beside the velocity of what holds them.
    fn held_motion(&self, bodies: &[BodyRef], full: &[Vec3], held: Option<Vec3>, approach: f64) -> CommonMotion {
        match held {
            Some(velocity) if approach == 0.0 => CommonMotion { velocity, angular_velocity: Vec3::zeros(), center: Vec3::zeros() },
            Some(held) => {
                let CommonMotion { velocity, angular_velocity, center } = self.common_motion(bodies, full);
                CommonMotion { velocity: held + (velocity - held) * approach, angular_velocity: angular_velocity * approach, center }
            }
            None => self.common_motion(bodies, full),
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

    /// If all that was not enough, bodies that may meet each other go only as far as to where some of them would cross:
    /// on a part of their way they meet nothing else. What moves as given would go on: None if there is such a thing.
    fn stop_where_it_crosses(&self, numbering: &BodyNumbering, candidates: &Candidates, mut end: End<'a>, dv: &mut [Vec3]) -> Option<()> {
        const MAX_STOPS: u32 = 8;
        const LEAST_STOPS: u32 = 2;
        let n = numbering.n_with_unknowns();
        let mut clusters = DisjointSets::new(n);
        self.for_each_movable_link(numbering, candidates, &mut |a, b| {
            clusters.join(a, b);
        });
        let before: Vec<Vec3> = self.before().collect();
        let full = self.velocities(dv);
        // By the first body of a cluster.
        let (mut parts, mut earliest) = (vec![1.0; n], vec![1.0f64; n]);
        for stop in 0..MAX_STOPS {
            self.allowance.spend(self.detection.overlaps_work(candidates));
            let found = self.detection.overlaps(candidates, &end);
            if found.is_empty() {
                return Some(());
            }
            if self.detection.script_moves() {
                return None;
            }
            let is_last = stop + 1 == MAX_STOPS || (self.allowance.is_spent() && stop >= LEAST_STOPS);
            for overlap in &found {
                for number in overlap.bodies.iter().filter_map(|body| numbering.number(*body)).filter(|number| *number < n) {
                    let root = clusters.root(number);
                    earliest[root] = earliest[root].min(if is_last { 0.0 } else { 0.5 * overlap.time });
                }
            }
            parts.iter_mut().zip(&mut earliest).for_each(|(part, earliest)| *part *= std::mem::replace(earliest, 1.0));
            for body in 0..n {
                let part = parts[clusters.root(body)];
                self.unknowns(numbering.body(body)).for_each(|unknown| dv[unknown] = full[unknown] * part - before[unknown]);
            }
            if is_last {
                break;
            }
            end = self.end(dv);
        }
        Some(())
    }

    /// Nothing moves in this step; None if something moves as given.
    fn stop(&self, dv: &mut [Vec3]) -> Option<()> {
        if self.detection.script_moves() {
            return None;
        }
        dv.iter_mut().zip(self.before()).for_each(|(dv, before)| *dv = -before);
        Some(())
    }
}

impl Limits {
    /// Two bodies have one common motion from now on.
    fn join(&mut self, a: usize, b: usize) {
        let roots = [a, b].map(|body| self.sets.root(body));
        self.sets.join(a, b);
        let root = self.sets.root(a);
        self.held[root] = self.held[roots[0]].or(self.held[roots[1]]);
        self.approach[root] = self.approach[roots[0]].min(self.approach[roots[1]]);
    }

    /// Takes what the overlaps of a round leave. However many overlaps a body has, the earliest says how far it goes.
    fn take_parts(&mut self) {
        for number in 0..self.body_parts.len() {
            let part = std::mem::replace(&mut self.body_parts[number], 1.0);
            let root = self.sets.root(number);
            self.approach[root] *= part;
        }
        for unknown in 0..self.parts.len() {
            let part = std::mem::replace(&mut self.parts[unknown], 1.0);
            if part < 1.0 {
                self.keep(unknown, part);
            }
        }
    }

    fn keep(&mut self, unknown: usize, part: f64) {
        self.kept[unknown] = if self.kept[unknown] * part < LEAST { 0.0 } else { self.kept[unknown] * part };
    }
}

impl CommonMotion {
    fn at(&self, x: &Vec3) -> Vec3 {
        self.velocity + self.angular_velocity.cross(&(x - self.center))
    }
}
