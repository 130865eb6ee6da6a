//! Neighbouring leaves of one deformable body that surely do not meet: their features were apart, and hardly anything
//! but a common rigid motion has come since.

#[cfg(test)]
mod tests;

use std::ops::Range;

use arrayvec::ArrayVec;
use rayon::prelude::*;

use super::features::Features;
use super::sweep::{LANES, Sweep};
use crate::geometry::closest::{between_edges, between_vertex_and_face};
use crate::geometry::mesh::Mesh;
use crate::math::{Aabb, Mat3, Vec3};

/// Pairs of leaves with what is known of them. It only tells which of them a search may pass over: at the reference no
/// two features without a common vertex were nearer to each other than `least`; a leaf moves as a frame on three of its
/// vertices, but for some deformation; so they still are as far apart as `least` less all that has changed. While that
/// is more than what the boxes of vertices add, no pair of features would be kept
/// ([`Bvh::keep_near`](super::Bvh::keep_near)), whatever the reference was.
#[derive(Clone, Debug, Default)]
pub(super) struct LeafPairs {
    leaves: Vec<Leaf>,
    /// Vertices of each leaf.
    vertices: Vec<u32>,
    /// Pairs of leaves (the lesser first, sorted), and the first one of each leaf.
    pairs: Vec<LeafPair>,
    starts: Vec<u32>,
}

/// A leaf in its own frame.
#[derive(Clone, Debug)]
struct Leaf {
    vertices: Range<usize>,
    /// Three vertices that carry the frame.
    corners: [u32; 3],
    /// Features are looked at up to this distance [m]; 0 if the body does not meet itself.
    near: f64,
    /// Where its vertices are in its frame at its reference [m]; how many references it has had, and searches since the
    /// last one.
    reference: Vec<Vec3>,
    n_references: u32,
    age: u32,
    rotation: Mat3,
    origin: Vec3,
    /// The largest distance of a vertex from the origin at the reference [m].
    radius: f64,
    /// How far vertices are from where the frame takes the reference [m].
    deformation: f64,
    /// Bounds of the motions of its vertices in the step, with what their boxes add [m].
    motion: Aabb,
    /// Largest coordinate, for rounding [m].
    size: f64,
}

/// Two leaves at their common reference.
#[derive(Clone, Debug)]
struct LeafPair {
    leaves: [u32; 2],
    references: [u32; 2],
    /// Distance below which no two features were [m].
    least: f64,
    /// The second leaf in the frame of the first.
    rotation: Mat3,
    origin: Vec3,
    /// Deformation of both at the common reference [m].
    deformation: f64,
    /// How far features are apart now [m], at least.
    distance: f64,
    /// Searches until it is measured again, and how many it was the last time.
    wait: u32,
    last_wait: u32,
    is_apart: bool,
}

/// Features are measured up to this distance, in mean edge lengths of the body.
const NEAR_IN_EDGES: f64 = 0.7;
/// A leaf takes a new reference once it is deformed by this part of `near`.
const MAX_DEFORMATION: f64 = 0.15;
/// Searches from one reference of a leaf to the next.
const MIN_AGE: u32 = 4;
/// Searches after which a pair is measured again that was not apart, at first and at most.
const WAITS: [u32; 2] = [4, 64];
/// Rounding of boxes, in coordinates.
const BOX_ROUNDING: f64 = 8.0 * f32::EPSILON as f64;
/// Leaves and pairs that one thread takes, at least.
const MIN_LEAVES: usize = 64;
const MIN_PAIRS: usize = 256;

/// The features of all leaves.
pub(super) struct LeafFeatures<'a> {
    pub mesh: &'a Mesh,
    pub vertices: &'a Features<1>,
    pub edges: &'a Features<2>,
    pub triangles: &'a Features<3>,
}

impl LeafPairs {
    /// Of the leaves with these `features`, at rest at `x` [m]; `near_pairs` are those of one body whose boxes are
    /// near each other, `near` [m] of each body is that distance, 0 where a body does not meet itself.
    pub fn new(features: &LeafFeatures, x: &[Vec3], near: &[f64], mut near_pairs: Vec<[u32; 2]>) -> Self {
        let mut all = Self::default();
        for leaf in 0..features.triangles.n_leaves() as u32 {
            let first = all.vertices.len();
            features.triangles.of_leaf(leaf).for_each(|(_, corners)| all.vertices.extend(corners));
            all.vertices[first..].sort_unstable();
            let n = first + dedup(&mut all.vertices[first..]);
            all.vertices.truncate(n);
            let own = &all.vertices[first..];
            let body = features.mesh.body[own[0] as usize] as usize;
            all.leaves.push(Leaf::new(first..n, corners_of(own, x), near[body]));
        }
        near_pairs.iter_mut().for_each(|pair| pair.sort_unstable());
        near_pairs.sort_unstable();
        near_pairs.dedup();
        all.starts = (0..=all.leaves.len() as u32).map(|leaf| near_pairs.partition_point(|pair| pair[0] < leaf) as u32).collect();
        all.pairs = near_pairs.into_iter().map(LeafPair::new).collect();
        all
    }

    /// How near features have to be to be measured [m], for a body with this mean edge length.
    pub fn near(mean_edge: f64) -> f64 {
        NEAR_IN_EDGES * mean_edge
    }

    /// Whether any body meets itself.
    pub fn any(&self) -> bool {
        !self.pairs.is_empty()
    }

    pub fn n_leaves(&self) -> usize {
        self.leaves.len()
    }

    pub fn n_pairs(&self) -> usize {
        self.pairs.len()
    }

    /// The vertices of a leaf.
    pub fn vertices(&self, leaf: u32) -> &[u32] {
        &self.vertices[self.leaves[leaf as usize].vertices.clone()]
    }

    /// Whether features of the two leaves surely do not meet in the step of the last [`update`](Self::update).
    #[inline]
    pub fn are_apart(&self, a: u32, b: u32) -> bool {
        let (first, second) = (a.min(b), a.max(b));
        let row = self.starts[first as usize] as usize..self.starts[first as usize + 1] as usize;
        self.pairs[row].iter().find(|pair| pair.leaves[1] >= second).is_some_and(|pair| pair.leaves[1] == second && pair.is_apart)
    }

    /// Follows the shape of all leaves to `x` [m] and says which pairs are apart in a step with these sweeps of the
    /// vertices. Pairs of which too little is known are measured anew.
    pub fn update(&mut self, features: &LeafFeatures, x: &[Vec3], sweeps: &[Sweep], is_wanted: &(impl Fn(u32) -> bool + Sync)) {
        let Self { leaves, vertices, pairs, .. } = self;
        leaves.par_iter_mut().with_min_len(MIN_LEAVES).for_each(|leaf| {
            if leaf.near > 0.0 && is_wanted(features.mesh.body[leaf.corners[0] as usize]) {
                let vertices = &vertices[leaf.vertices.clone()];
                leaf.follow(vertices, x);
                leaf.motion = motion_of(vertices, sweeps);
            }
        });
        let leaves = &*leaves;
        pairs.par_iter_mut().with_min_len(MIN_PAIRS).for_each(|pair| {
            let [a, b] = pair.leaves.map(|leaf| &leaves[leaf as usize]);
            if !is_wanted(features.mesh.body[a.corners[0] as usize]) {
                return;
            }
            pair.distance = pair.distance_now(a, b);
            pair.is_apart = pair.distance > added(a, b);
            if pair.is_apart {
                pair.last_wait = WAITS[0];
                return;
            }
            pair.wait = pair.wait.saturating_sub(1);
            // What moves too fast would be measured in vain.
            if pair.wait == 0 && added(a, b) < 0.5 * a.near {
                pair.measure(a, b, features.least_distance(pair.leaves, x, a.near));
                pair.is_apart = pair.distance > added(a, b);
                pair.last_wait = if pair.is_apart { WAITS[0] } else { (2 * pair.last_wait).min(WAITS[1]) };
                pair.wait = pair.last_wait;
            }
        });
    }

    /// The sweeps of the vertices of the leaves that `has_moved` names are other ones.
    pub fn move_on(&mut self, sweeps: &[Sweep], has_moved: impl Fn(u32) -> bool) {
        let Self { leaves, vertices, pairs, .. } = self;
        for (_, leaf) in (0..).zip(&mut *leaves).filter(|(leaf, _)| has_moved(*leaf)) {
            leaf.motion = motion_of(&vertices[leaf.vertices.clone()], sweeps);
        }
        for pair in pairs.iter_mut().filter(|pair| pair.is_apart) {
            let [a, b] = pair.leaves.map(|leaf| &leaves[leaf as usize]);
            pair.is_apart = pair.distance > added(a, b);
        }
    }

    /// How many pairs there are, and how many of them are apart.
    #[cfg(test)]
    pub fn counts(&self) -> [usize; 2] {
        [self.pairs.len(), self.pairs.iter().filter(|pair| pair.is_apart).count()]
    }
}

impl Leaf {
    fn new(vertices: Range<usize>, corners: [u32; 3], near: f64) -> Self {
        Self {
            vertices,
            corners,
            near,
            reference: vec![],
            n_references: 0,
            age: MIN_AGE,
            rotation: Mat3::identity(),
            origin: Vec3::zeros(),
            radius: 0.0,
            deformation: f64::INFINITY,
            motion: Aabb::EMPTY,
            size: 0.0,
        }
    }

    /// Takes the frame to `x` [m], and a new reference where the shape has changed much.
    fn follow(&mut self, vertices: &[u32], x: &[Vec3]) {
        let [a, b, c] = self.corners.map(|v| x[v as usize]);
        self.origin = (a + b + c) / 3.0;
        self.age = self.age.saturating_add(1);
        self.deformation = f64::INFINITY;
        let Some(along) = (b - a).try_normalize(0.0) else { return };
        let Some(normal) = along.cross(&(c - a)).try_normalize(0.0) else { return };
        self.rotation = Mat3::from_columns(&[along, normal.cross(&along), normal]);
        let local = |v: u32| self.rotation.tr_mul(&(x[v as usize] - self.origin));
        self.size = vertices.iter().map(|v| x[*v as usize].amax()).fold(0.0, f64::max);
        if self.n_references > 0 {
            // One that is not finite is the most.
            let furthest = |most: f64, d: f64| if d <= most { most } else { d };
            self.deformation =
                vertices.iter().zip(&self.reference).map(|(v, before)| (local(*v) - before).norm_squared()).fold(0.0, furthest).sqrt();
        }
        if self.deformation > MAX_DEFORMATION * self.near && self.age > MIN_AGE {
            let (rotation, origin) = (self.rotation, self.origin);
            self.reference.clear();
            self.reference.extend(vertices.iter().map(|v| rotation.tr_mul(&(x[*v as usize] - origin))));
            self.radius = self.reference.iter().map(Vec3::norm).fold(0.0, f64::max);
            self.n_references += 1;
            (self.age, self.deformation) = (0, 0.0);
        }
    }
}

impl LeafPair {
    fn new(leaves: [u32; 2]) -> Self {
        Self {
            leaves,
            references: [0; 2],
            least: 0.0,
            rotation: Mat3::identity(),
            origin: Vec3::zeros(),
            deformation: 0.0,
            distance: 0.0,
            wait: 0,
            last_wait: WAITS[0],
            is_apart: false,
        }
    }

    /// The second leaf in the frame of the first.
    fn placement(a: &Leaf, b: &Leaf) -> (Mat3, Vec3) {
        (a.rotation.tr_mul(&b.rotation), a.rotation.tr_mul(&(b.origin - a.origin)))
    }

    /// How far the features of the leaves are apart at least [m].
    fn distance_now(&self, a: &Leaf, b: &Leaf) -> f64 {
        if self.least == 0.0 || self.references != [a.n_references, b.n_references] {
            return 0.0;
        }
        let (rotation, origin) = Self::placement(a, b);
        // Two rotations take a point to places no further apart than its distance times their difference (2-norm: the
        // sum of squares holds it twice).
        let turned = (rotation - self.rotation).norm() * std::f64::consts::FRAC_1_SQRT_2 * b.radius;
        self.least - (self.deformation + a.deformation + b.deformation + (origin - self.origin).norm() + turned)
    }

    /// Makes the present shape of the two leaves their common reference.
    fn measure(&mut self, a: &Leaf, b: &Leaf, least: f64) {
        self.references = [a.n_references, b.n_references];
        (self.rotation, self.origin) = Self::placement(a, b);
        self.deformation = a.deformation + b.deformation;
        self.least = least;
        // At once, whatever the deformation from the references of the leaves.
        self.distance = if self.deformation.is_finite() { least } else { 0.0 };
    }
}

/// How much nearer to each other the boxes of the vertices may bring features of two leaves in a step [m].
fn added(a: &Leaf, b: &Leaf) -> f64 {
    let nearer = (a.motion.max - b.motion.min).sup(&(b.motion.max - a.motion.min));
    nearer.norm() + BOX_ROUNDING * a.size.max(b.size)
}

/// Bounds of the motions of vertices from the box of their start to that of their end.
fn motion_of(vertices: &[u32], sweeps: &[Sweep]) -> Aabb {
    vertices.iter().map(|v| sweeps[*v as usize].motion()).fold(Aabb::EMPTY, |all, [low, high]| all.with(&low).with(&high))
}

/// Three vertices that are far from each other and from one line.
fn corners_of(vertices: &[u32], x: &[Vec3]) -> [u32; 3] {
    let at = |v: u32| x[v as usize];
    let furthest = |measure: &dyn Fn(u32) -> f64| vertices.iter().copied().max_by(|a, b| measure(*a).total_cmp(&measure(*b)));
    let first = vertices[0];
    let second = furthest(&|v| (at(v) - at(first)).norm_squared()).unwrap_or(first);
    let third = furthest(&|v| (at(v) - at(first)).cross(&(at(second) - at(first))).norm_squared()).unwrap_or(first);
    [first, second, third]
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

/// Features of one kind that a leaf has at most: three of each of its triangles.
const MAX_FEATURES: usize = 3 * LANES;

/// A feature with the ball that holds it.
struct Ball<const N: usize> {
    corners: [u32; N],
    center: Vec3,
    radius: f64,
}

fn balls<const N: usize>(features: &Features<N>, leaf: u32, x: &[Vec3]) -> ArrayVec<Ball<N>, MAX_FEATURES> {
    let ball = |(_, corners): (u32, [u32; N])| {
        let center = corners.iter().map(|v| x[*v as usize]).sum::<Vec3>() / N as f64;
        let radius = corners.iter().map(|v| (x[*v as usize] - center).norm()).fold(0.0, f64::max);
        Ball { corners, center, radius }
    };
    features.of_leaf(leaf).map(ball).collect()
}

/// The least of `least` and the distances of features without a common vertex.
fn least_between<const N: usize, const M: usize>(
    least: f64,
    first: &[Ball<N>],
    second: &[Ball<M>],
    between: impl Fn(&[u32; N], &[u32; M]) -> Vec3,
) -> f64 {
    let mut least = least;
    for a in first {
        for b in second {
            let reach = least + a.radius + b.radius;
            // Written so that what is not finite is looked at.
            let is_far = (a.center - b.center).norm_squared() > reach * reach;
            if !is_far && !a.corners.iter().any(|v| b.corners.contains(v)) {
                let distance = between(&a.corners, &b.corners).norm();
                least = if distance >= least { least } else { distance.max(0.0) };
            }
        }
    }
    least
}

impl LeafFeatures<'_> {
    /// Distance of the nearest two features without a common vertex of two leaves at `x` [m], or `near` if that is
    /// less.
    fn least_distance(&self, [a, b]: [u32; 2], x: &[Vec3], near: f64) -> f64 {
        let at = |v: u32| x[v as usize];
        let of_edges = |[a, b]: &[u32; 2], [c, d]: &[u32; 2]| between_edges(&[at(*a), at(*b), at(*c), at(*d)]);
        let of_face = |[v]: &[u32; 1], [a, b, c]: &[u32; 3]| between_vertex_and_face(&[at(*v), at(*a), at(*b), at(*c)]);
        let least = least_between(near, &balls(self.edges, a, x), &balls(self.edges, b, x), of_edges);
        let least = least_between(least, &balls(self.vertices, a, x), &balls(self.triangles, b, x), of_face);
        if a == b {
            return least;
        }
        least_between(least, &balls(self.vertices, b, x), &balls(self.triangles, a, x), of_face)
    }
}
