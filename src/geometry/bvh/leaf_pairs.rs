//! Neighbouring leaves of one deformable body that surely do not meet, or only with a few of their features: the others
//! were apart, and hardly anything but a common rigid motion has come since.

mod bodies;
mod frames;
mod measure;
#[cfg(test)]
mod tests;

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::sweep::Sweep;
use crate::math::{Mat3, Vec3};
use bodies::{Bodies, Standing};
use frames::{Leaf, added, corners_of, motion_of};
pub(super) use measure::{LeafFeatures, NearFeatures};

/// Pairs of leaves with what is known of them. It only tells which of them a search may pass over: at the reference of a
/// pair no two features without a common vertex were nearer to each other than `least`; a leaf moves as a frame on three
/// of its vertices, but for some deformation; so they still are as far apart as `least` less all that has changed. While
/// that is more than what the boxes of vertices add, no pair of features would be kept
/// ([`Bvh::keep_near`](super::Bvh::keep_near)), whatever the reference was. The same holds for each pair of features
/// alone, and for all leaves of a body that stray little from where its rigid motion takes them.
#[derive(Clone, Debug, Default)]
pub(super) struct LeafPairs {
    leaves: Vec<Leaf>,
    /// Vertices of each leaf.
    vertices: Vec<u32>,
    bodies: Bodies,
    /// Pairs of leaves that were near each other at the reference of their body, the lesser first, sorted.
    ends: Vec<[u32; 2]>,
    are_ends_new: bool,
    incident: Incident,
    pairs: Vec<LeafPair>,
    /// What is known of each pair, and whether it was looked at in the last update.
    known: Vec<Known>,
    is_due: Vec<bool>,
    /// How far apart leaves are that were looked at in the last update and are apart [m]; of the others no bound.
    spares: Vec<f64>,
    /// Leaves whose frames are needed.
    is_needed: Vec<bool>,
}

/// The pairs of each leaf.
#[derive(Clone, Debug, Default)]
struct Incident {
    /// Of each leaf the first pair whose lesser leaf it is, and the end.
    starts: Vec<u32>,
    /// The same in `others`: the pairs whose greater leaf it is.
    other_starts: Vec<u32>,
    others: Vec<u32>,
}

/// Which features of two leaves may meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// None.
    Apart,
    /// Some of a list.
    Listed,
    /// Perhaps any.
    Nothing,
}

/// Two leaves at their common reference.
#[derive(Clone, Debug)]
struct LeafPair {
    references: [u32; 2],
    /// Distance below which no two features were [m].
    least: f64,
    /// All features that were nearer than `reach` [m], the nearest first; none where that is 0.
    near: Vec<NearFeatures>,
    reach: f64,
    /// The second leaf in the frame of the first.
    rotation: Mat3,
    origin: Vec3,
    /// Deformation of both at the common reference [m].
    deformation: f64,
    /// How much nearer features may be now than at the reference [m], and in the step.
    change: f64,
    limit: f64,
    /// Searches until it is measured again, and how many it was the last time; searches to which the last one was of
    /// use.
    wait: u32,
    last_wait: u32,
    n_uses: u32,
}

/// Features are measured up to this distance, in mean edge lengths of the body.
const NEAR_IN_EDGES: f64 = 0.7;
/// Searches from one measurement of a pair to the next, at first and at most.
const WAITS: [u32; 2] = [4, 64];
/// Uses for which a measurement was worth its time.
const MIN_USES: u32 = 8;
/// Leaves and pairs that one thread takes at a time.
const LEAVES: usize = 128;
const PAIRS: usize = 512;

impl LeafPairs {
    /// Of the leaves with these `features`, at rest at `x` [m], without pairs; `near` [m] of each body is how near
    /// leaves are that are pairs, 0 where a body does not meet itself.
    pub fn new(features: &LeafFeatures, x: &[Vec3], near: &[f64]) -> Self {
        let mut all = Self::default();
        let body_of = |vertex: u32| features.mesh.body[vertex as usize] as usize;
        for leaf in 0..features.triangles.n_leaves() as u32 {
            let first = all.vertices.len();
            features.triangles.of_leaf(leaf).for_each(|(_, corners)| all.vertices.extend(corners));
            all.vertices[first..].sort_unstable();
            let n = first + dedup(&mut all.vertices[first..]);
            all.vertices.truncate(n);
            let own = &all.vertices[first..];
            all.leaves.push(Leaf::new(first..n, corners_of(own, x), near[body_of(own[0])]));
        }
        all.is_needed = vec![false; all.leaves.len()];
        all.incident = Incident::new(all.leaves.len(), &[]);
        all.bodies = Bodies::new(&all.leaves, near.len(), |leaf| body_of(leaf.corners[0]), x);
        all
    }

    /// How near features have to be to be measured [m], for a body with this mean edge length.
    pub fn near(mean_edge: f64) -> f64 {
        NEAR_IN_EDGES * mean_edge
    }

    /// Whether any body meets itself.
    pub fn any(&self) -> bool {
        !self.ends.is_empty()
    }

    pub fn n_pairs(&self) -> usize {
        self.ends.len()
    }

    /// The vertices of a leaf.
    pub fn vertices(&self, leaf: u32) -> &[u32] {
        &self.vertices[self.leaves[leaf as usize].vertices.clone()]
    }

    /// Whether two leaves are a pair: [`unknown`](Self::unknown) and [`listed`](Self::listed) tell what is to be
    /// compared of it.
    #[inline]
    pub fn contains(&self, a: u32, b: u32) -> bool {
        let (first, second) = (a.min(b), a.max(b));
        self.ends[self.incident.of_lesser(first as usize)].iter().find(|pair| pair[1] >= second).is_some_and(|pair| pair[1] == second)
    }

    /// Whether the leaf may meet leaves of its body with which it is no pair.
    #[inline]
    pub fn is_lost(&self, leaf: u32) -> bool {
        self.bodies.standings[leaf as usize] == Standing::Lost
    }

    /// Pairs of which any features may meet.
    pub fn unknown(&self) -> impl Iterator<Item = [u32; 2]> + '_ {
        self.with(Known::Nothing).map(|pair| self.ends[pair as usize])
    }

    /// Pairs of which some features may meet, and their leaves.
    pub fn listed(&self) -> impl Iterator<Item = (u32, [u32; 2])> + '_ {
        self.with(Known::Listed).map(|pair| (pair, self.ends[pair as usize]))
    }

    /// The features of such a pair that may meet.
    pub fn near_features(&self, pair: u32) -> impl Iterator<Item = &NearFeatures> + '_ {
        let LeafPair { near, limit, .. } = &self.pairs[pair as usize];
        near.iter().take_while(|features| features.distance <= *limit)
    }

    fn with(&self, known: Known) -> impl Iterator<Item = u32> + '_ {
        let is_followed = |pair: &[u32; 2]| self.bodies.standings[pair[0] as usize] != Standing::Idle;
        let all = self.known.iter().zip(&self.ends).zip(0u32..);
        all.filter(move |((k, ends), _)| **k == known && is_followed(ends)).map(|(_, pair)| pair)
    }

    /// Follows the bodies that are wanted to `x` [m], in a step with these sweeps of the vertices. Returns those that
    /// should [`renew`](Self::renew) their reference before the [`update`](Self::update) of their pairs.
    pub fn follow(
        &mut self,
        features: &LeafFeatures,
        x: &[Vec3],
        sweeps: &[Sweep],
        is_wanted: &(impl Fn(u32) -> bool + Sync),
    ) -> Vec<usize> {
        self.bodies.follow(features.mesh, (&self.leaves, &self.vertices), x, sweeps, is_wanted);
        self.bodies.due()
    }

    /// Makes `x` [m] the reference of a body, where all leaves but `near_pairs` are further apart than `near`.
    pub fn renew(&mut self, features: &LeafFeatures, body: usize, x: &[Vec3], mut near_pairs: Vec<[u32; 2]>) {
        self.bodies.renew(features.mesh, &self.leaves, body, x);
        near_pairs.iter_mut().for_each(|pair| pair.sort_unstable());
        near_pairs.sort_unstable();
        near_pairs.dedup();
        let leaves = self.bodies.list[body].leaves.clone();
        let first_of = |leaf: usize| self.ends.partition_point(|pair| (pair[0] as usize) < leaf);
        let old = first_of(leaves.start)..first_of(leaves.end);
        // What is known of pairs is kept.
        let mut before = self.ends[old.clone()].iter().zip(self.pairs[old.clone()].iter_mut().zip(&self.known[old.clone()])).peekable();
        let (mut pairs, mut known) = (vec![], vec![]);
        for ends in &near_pairs {
            while before.next_if(|(old, _)| *old < ends).is_some() {}
            let (pair, what) = before
                .next_if(|(old, _)| *old == ends)
                .map_or_else(|| (LeafPair::new(), Known::Nothing), |(_, (pair, known))| (std::mem::replace(pair, LeafPair::new()), *known));
            pairs.push(pair);
            known.push(what);
        }
        drop(before);
        self.ends.splice(old.clone(), near_pairs);
        self.pairs.splice(old.clone(), pairs);
        self.known.splice(old, known);
        self.are_ends_new = true;
    }

    /// Says what is known of the pairs of the bodies that are [`followed`](Self::follow). Pairs of which too little is
    /// known are measured anew.
    pub fn update(&mut self, features: &LeafFeatures, x: &[Vec3], sweeps: &[Sweep]) {
        // Many bodies may have been renewed.
        if std::mem::take(&mut self.are_ends_new) {
            self.incident = Incident::new(self.leaves.len(), &self.ends);
        }
        self.update_pairs(features, x, sweeps, &|_| true);
        self.bound_slack(true);
    }

    /// Says what is known of the pairs with leaves that are meant.
    fn update_pairs(&mut self, features: &LeafFeatures, x: &[Vec3], sweeps: &[Sweep], is_meant: &(impl Fn(u32) -> bool + Sync)) {
        let Self { leaves, vertices, pairs, ends, known, spares, is_due, is_needed, bodies, incident, .. } = self;
        let of_pair = |([a, b], known): (&[u32; 2], &Known)| {
            let [first, second] = [a, b].map(|leaf| bodies.standings[*leaf as usize]);
            let are_quiet = first == Standing::Quiet && second == Standing::Quiet;
            first != Standing::Idle && (is_meant(*a) || is_meant(*b)) && !(*known == Known::Apart && are_quiet)
        };
        ends.par_iter().zip(&*known).with_min_len(PAIRS).map(of_pair).collect_into_vec(is_due);
        let is_any_due = |k: usize| incident.of(k).any(|pair| is_due[pair]);
        (0..leaves.len()).into_par_iter().with_min_len(LEAVES).map(is_any_due).collect_into_vec(is_needed);
        let of_leaves = (leaves.par_chunks_mut(LEAVES), is_needed.par_chunks(LEAVES));
        of_leaves.into_par_iter().for_each(|(leaves, is_needed)| {
            Arch::new().dispatch(FollowLeaves { leaves, is_needed, vertices, x, sweeps });
        });
        spares.resize(pairs.len(), f64::INFINITY);
        let (leaves, is_due) = (&*leaves, &*is_due);
        let of_pairs = (pairs.par_chunks_mut(PAIRS), known.par_chunks_mut(PAIRS), spares.par_chunks_mut(PAIRS));
        (of_pairs, (ends.par_chunks(PAIRS), is_due.par_chunks(PAIRS))).into_par_iter().for_each(
            |((pairs, known, spares), (ends, is_due))| {
                Arch::new().dispatch(UpdatePairs { pairs, known, spares, ends, is_due, leaves, features, x });
            },
        );
    }

    /// As [`follow`](Self::follow) and [`update`](Self::update), after the ends of some vertices have changed in the
    /// same step: only of the leaves that have such.
    pub fn update_moved(
        &mut self,
        features: &LeafFeatures,
        x: &[Vec3],
        sweeps: &[Sweep],
        moved: &[bool],
        has_moved: &(impl Fn(u32) -> bool + Sync),
    ) {
        self.bodies.follow_moved(features.mesh, (&self.leaves, &self.vertices), x, sweeps, moved, has_moved);
        self.update_pairs(features, x, sweeps, has_moved);
        self.bound_slack(false);
    }

    /// Bounds how far leaves may stray by the pairs that were looked at; see [`Bodies::bound_slack`].
    fn bound_slack(&mut self, are_all: bool) {
        let Self { leaves, bodies, incident, spares, .. } = self;
        bodies.bound_slack(leaves, are_all, |k| incident.of(k).map(|pair| spares[pair]).fold(f64::INFINITY, f64::min));
    }

    /// How many pairs there are, how many of them are apart, and how many have a list of near features.
    #[cfg(test)]
    pub fn counts(&self) -> [usize; 3] {
        let count = |known: Known| self.known.iter().filter(|k| **k == known).count();
        [self.ends.len(), count(Known::Apart), count(Known::Listed)]
    }

    /// How many leaves are where their bodies take them.
    #[cfg(test)]
    pub fn n_quiet(&self) -> usize {
        self.bodies.standings.iter().filter(|standing| **standing == Standing::Quiet).count()
    }
}

impl Incident {
    /// Of `n` leaves. `ends`: the leaves of each pair, sorted.
    fn new(n: usize, ends: &[[u32; 2]]) -> Self {
        let starts_of = |end: usize| {
            let mut starts = vec![0; n + 1];
            ends.iter().for_each(|pair| starts[pair[end] as usize + 1] += 1);
            (0..n).for_each(|leaf| starts[leaf + 1] += starts[leaf]);
            starts
        };
        let (starts, other_starts): (Vec<u32>, Vec<u32>) = (starts_of(0), starts_of(1));
        let (mut next, mut others) = (other_starts.clone(), vec![0; ends.len()]);
        for (pair, [_, greater]) in (0u32..).zip(ends) {
            let place = &mut next[*greater as usize];
            others[*place as usize] = pair;
            *place += 1;
        }
        Self { starts, other_starts, others }
    }

    /// The pairs whose lesser leaf is `leaf`.
    fn of_lesser(&self, leaf: usize) -> Range<usize> {
        self.starts[leaf] as usize..self.starts[leaf + 1] as usize
    }

    /// The pairs of a leaf; that of the leaf with itself comes twice.
    fn of(&self, leaf: usize) -> impl Iterator<Item = usize> + '_ {
        let others = self.other_starts[leaf] as usize..self.other_starts[leaf + 1] as usize;
        self.of_lesser(leaf).chain(self.others[others].iter().map(|pair| *pair as usize))
    }
}

/// Follows the leaves that are needed, with the widest registers.
struct FollowLeaves<'a> {
    leaves: &'a mut [Leaf],
    is_needed: &'a [bool],
    vertices: &'a [u32],
    x: &'a [Vec3],
    sweeps: &'a [Sweep],
}

impl WithSimd for FollowLeaves<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { leaves, is_needed, vertices, x, sweeps } = self;
        for (leaf, _) in leaves.iter_mut().zip(is_needed).filter(|(_, is_needed)| **is_needed) {
            let vertices = &vertices[leaf.vertices.clone()];
            leaf.follow(vertices, x);
            leaf.motion = motion_of(vertices, sweeps);
        }
    }
}

/// Updates the pairs that are due, with the widest registers.
struct UpdatePairs<'a> {
    pairs: &'a mut [LeafPair],
    known: &'a mut [Known],
    spares: &'a mut [f64],
    ends: &'a [[u32; 2]],
    is_due: &'a [bool],
    leaves: &'a [Leaf],
    features: &'a LeafFeatures<'a>,
    x: &'a [Vec3],
}

impl WithSimd for UpdatePairs<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { pairs, known, spares, ends, is_due, leaves, features, x } = self;
        for ((((pair, known), spare), ends), is_due) in pairs.iter_mut().zip(known).zip(spares).zip(ends).zip(is_due) {
            *spare = f64::INFINITY;
            if *is_due {
                *known = pair.update(*ends, leaves, features, x);
                if *known == Known::Apart {
                    *spare = pair.least - pair.change;
                }
            }
        }
    }
}

impl LeafPair {
    fn new() -> Self {
        Self {
            references: [0; 2],
            least: 0.0,
            near: vec![],
            reach: 0.0,
            rotation: Mat3::identity(),
            origin: Vec3::zeros(),
            deformation: 0.0,
            change: f64::INFINITY,
            limit: f64::INFINITY,
            wait: 0,
            last_wait: WAITS[0] / 2,
            n_uses: 0,
        }
    }

    /// The second leaf in the frame of the first.
    #[inline(always)]
    fn placement(a: &Leaf, b: &Leaf) -> (Mat3, Vec3) {
        (a.rotation.tr_mul(&b.rotation), a.rotation.tr_mul(&(b.origin - a.origin)))
    }

    /// What is known in a step in which the boxes of vertices bring features nearer by `added` [m] at most.
    #[inline(always)]
    fn known(&self) -> Known {
        if self.least > self.limit {
            Known::Apart
        } else if self.reach > self.limit {
            Known::Listed
        } else {
            Known::Nothing
        }
    }

    /// Says what is known at `x` [m], and measures the pair if that is too little.
    #[inline(always)]
    fn update(&mut self, ends: [u32; 2], leaves: &[Leaf], features: &LeafFeatures, x: &[Vec3]) -> Known {
        let [a, b] = ends.map(|leaf| &leaves[leaf as usize]);
        let added = added(a, b);
        self.change = self.change_to(a, b);
        self.limit = self.change + added;
        let known = self.known();
        if known != Known::Nothing {
            self.n_uses = self.n_uses.saturating_add(1);
            if self.n_uses >= MIN_USES {
                (self.wait, self.last_wait) = (0, WAITS[0] / 2);
            }
            return known;
        }
        self.wait = self.wait.saturating_sub(1);
        // What moves too fast would be measured in vain.
        if self.wait > 0 || added >= 0.5 * a.near {
            return known;
        }
        self.measure(ends, [a, b], features, x, added);
        self.last_wait = (2 * self.last_wait).min(WAITS[1]);
        (self.wait, self.n_uses) = (self.last_wait, 0);
        self.known()
    }

    /// How much nearer features may be than at the common reference of the leaves [m].
    #[inline(always)]
    fn change_to(&self, a: &Leaf, b: &Leaf) -> f64 {
        if self.references != [a.n_references, b.n_references] {
            return f64::INFINITY;
        }
        let (rotation, origin) = Self::placement(a, b);
        // Two rotations take a point to places no further apart than its distance times their difference (2-norm: the
        // sum of squares holds it twice).
        let turned = (rotation - self.rotation).norm() * std::f64::consts::FRAC_1_SQRT_2 * b.radius;
        self.deformation + a.deformation + b.deformation + (origin - self.origin).norm() + turned
    }

    /// Makes the present shape of the two leaves their common reference.
    fn measure(&mut self, ends: [u32; 2], [a, b]: [&Leaf; 2], features: &LeafFeatures, x: &[Vec3], added: f64) {
        self.references = [a.n_references, b.n_references];
        (self.rotation, self.origin) = Self::placement(a, b);
        self.deformation = a.deformation + b.deformation;
        (self.least, self.reach) = (features.least_distance(ends, x, a.near), 0.0);
        self.near.clear();
        if self.least <= added {
            features.list_near(ends, x, a.near, &mut self.near);
            self.reach = a.near;
        }
        // At once, whatever the deformation from the references of the leaves.
        self.change = if self.deformation.is_finite() { 0.0 } else { f64::INFINITY };
        self.limit = self.change + added;
    }
}

/// Moves repeated items of a sorted list behind the others, and says how many different ones there are.
fn dedup(items: &mut [u32]) -> usize {
    let mut n = 0;
    for k in 0..items.len() {
        if n == 0 || items[k] != items[n - 1] {
            items[n] = items[k];
            n += 1;
        }
    }
    n
}
