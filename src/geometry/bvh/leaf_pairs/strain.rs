//! How much the tets of leaves are deformed against each other in a step.

#[cfg(test)]
mod tests;

use rayon::prelude::*;

use super::join::join_leaves;
use super::{LeafFeatures, STRAIN_MARGIN};
use crate::geometry::hosts::{HostTet, Hosts, NodeMotions};
use crate::math::Mat3;

/// Nine entries of a deformation gradient, and three zeros.
type Gradient = [f32; 12];

/// A deformation gradient at the start and at the end of a step.
#[derive(Clone, Copy, Debug, Default)]
struct Gradients {
    start: Gradient,
    end: Gradient,
}

impl Gradients {
    /// The greater of the distances of both ends from those of another one (Frobenius norm, which bounds the 2-norm).
    #[inline(always)]
    fn distance(&self, other: &Self) -> f32 {
        let [start, end] = [(&self.start, &other.start), (&self.end, &other.end)].map(|(a, b)| distance2(a, b));
        // What is not a number is the most; the end is none where the start is none.
        let most = if end <= start { start } else { end };
        most.sqrt()
    }

    /// The mean of some.
    #[inline(always)]
    fn mean<'g>(all: impl ExactSizeIterator<Item = &'g Self>) -> Self {
        let share = 1.0 / all.len() as f32;
        let mut mean = Self::default();
        for gradients in all {
            for k in 0..12 {
                mean.start[k] += share * gradients.start[k];
                mean.end[k] += share * gradients.end[k];
            }
        }
        mean
    }

    /// A lower bound of the singular values at any time of the step.
    fn least_singular_value(&self) -> f32 {
        let [start, end] = [&self.start, &self.end].map(|f| Mat3::from_fn(|r, c| f64::from(f[4 * r + c])));
        let middle = (start + end) * 0.5;
        let half_change = 0.5 * (end - start).norm();
        let square = middle.tr_mul(&middle);
        // No eigenvalue is further from 1 than the square is from the identity: mostly near enough.
        let about = 1.0 - (square - Mat3::identity()).norm();
        let least = if about > ENOUGH { about } else { least_eigenvalue(&square) };
        (0.999 * least.max(0.0).sqrt() - half_change) as f32
    }
}

#[inline(always)]
fn distance2(a: &Gradient, b: &Gradient) -> f32 {
    let mut sums = [0.0; 4];
    for row in 0..3 {
        for k in 0..4 {
            let difference = a[4 * row + k] - b[4 * row + k];
            sums[k] += difference * difference;
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// Lower bounds of eigenvalues above this are not worth to be made better.
const ENOUGH: f64 = 0.9;

/// A lower bound of the eigenvalues of a symmetric positive matrix: two steps of Laguerre's method on the
/// characteristic polynomial, which from below all of its (real) roots comes near to the least one and not beyond.
fn least_eigenvalue(s: &Mat3) -> f64 {
    let trace = s.trace();
    let minors = 0.5 * (trace * trace - (s * s).trace());
    let determinant = s.determinant();
    let mut root = 0.0;
    for _ in 0..2 {
        // p(x) = x^3 - trace x^2 + minors x - determinant
        let p = ((root - trace) * root + minors) * root - determinant;
        let slope = (3.0 * root - 2.0 * trace) * root + minors;
        let curvature = 6.0 * root - 2.0 * trace;
        let discriminant = (2.0 * (2.0 * slope * slope - 3.0 * p * curvature)).max(0.0).sqrt();
        let step = 3.0 * p / (slope + discriminant);
        if !(step.is_finite() && step < 0.0) {
            break;
        }
        root -= step;
    }
    root
}

/// The tets of a leaf in a step.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LeafStrain {
    /// The mean of those of its tets.
    gradients: Gradients,
    /// How far its tets are from that at most.
    spread: f32,
    /// The least singular value of the mean.
    least: f32,
}

impl LeafStrain {
    /// Of a leaf with these tets.
    #[inline(always)]
    fn of<'g>(tets: impl ExactSizeIterator<Item = &'g Gradients> + Clone) -> Self {
        let mean = Gradients::mean(tets.clone());
        let worse = |most: f32, tet: &Gradients| {
            let distance = mean.distance(tet);
            if distance <= most { most } else { distance }
        };
        Self { spread: tets.fold(0.0, worse), least: mean.least_singular_value(), gradients: mean }
    }

    /// A bound of the deformation of the tets of two leaves against each other: the greatest |F - M| of them by the
    /// least singular value of M, which lies on the way from one mean to the other, as far from the tets of both.
    #[inline(always)]
    pub fn between(a: &Self, b: &Self) -> f32 {
        let (most, half) = (a.spread.max(b.spread), 0.5 * (a.spread + b.spread + a.gradients.distance(&b.gradients)));
        // Where the tets of one are around those of the other, M is its mean.
        let greatest = if half < most { most } else { half };
        // Singular values differ by no more than their matrices do.
        let least = (a.least - (greatest - a.spread)).max(b.least - (greatest - b.spread));
        // M is as it was expected, F may be another.
        if least > 0.0 { (greatest + STRAIN_MARGIN) / least } else { f32::INFINITY }
    }
}

/// What each step reads of a tet: as little as can be, it is all that it costs.
#[derive(Clone, Copy, Debug)]
struct Tet {
    nodes: [u32; 4],
    /// Gradients of the shape functions of all nodes but the first [1/m].
    gradients: [[f32; 3]; 3],
    body: u32,
}

/// The tets that carry leaves, and how they are deformed in the present step.
#[derive(Clone, Debug, Default)]
pub(super) struct Strains {
    tets: Vec<Tet>,
    /// Their numbers among all tets that carry something.
    hosts: Vec<u32>,
    /// Those that leaves were last followed with: the true ones at the end are within [`STRAIN_MARGIN`] of them.
    gradients: Vec<Gradients>,
    /// Memory: whether the ends were further from them.
    are_far: Vec<bool>,
    /// The tets of each leaf of a pair; none of one with a vertex that no tet carries, or one that is
    /// too slender does.
    starts: Vec<u32>,
    of_leaves: Vec<u32>,
    pub leaves: Vec<LeafStrain>,
    /// Leaves that were looked at again when they were last followed.
    pub has_changed: Vec<bool>,
}

/// Leaves and tets that one thread takes at a time.
const LEAVES: usize = 256;
const TETS: usize = 1024;

impl Strains {
    /// Of leaves of which `pairs` are near each other.
    pub fn new(features: &LeafFeatures, pairs: &[[u32; 2]]) -> Self {
        let mut is_paired = vec![false; features.triangles.n_leaves()];
        pairs.iter().flatten().for_each(|leaf| is_paired[*leaf as usize] = true);
        let hosts_of_leaf = |leaf: u32| {
            if !is_paired[leaf as usize] {
                return vec![];
            }
            let triangles: Vec<[u32; 3]> = features.triangles.of_leaf(leaf).map(|(_, corners)| corners).collect();
            let is_carried = triangles.iter().flatten().all(|v| !features.hosts.of(*v).is_empty());
            let mut own: Vec<u32> =
                if is_carried { triangles.iter().flat_map(|corners| hosts_of_triangle(features, corners)).collect() } else { vec![] };
            own.sort_unstable();
            own.dedup();
            if own.iter().any(|host| features.hosts.tets[*host as usize].is_too_slender()) { vec![] } else { own }
        };
        let mut hosts: Vec<Vec<u32>> = (0..features.triangles.n_leaves() as u32).into_par_iter().map(hosts_of_leaf).collect();
        join_leaves(features.hosts, pairs, &mut hosts);
        let mut all = Self { starts: vec![0], ..Self::default() };
        let mut numbers = vec![u32::MAX; features.hosts.tets.len()];
        for (own, leaf) in hosts.into_iter().zip(0..) {
            let body = features.triangles.of_leaf(leaf).next().map_or(0, |(_, corners)| features.mesh.body[corners[0] as usize]);
            for host in own {
                let number = &mut numbers[host as usize];
                if *number == u32::MAX {
                    *number = all.tets.len() as u32;
                    let HostTet { nodes, gradients: [_, gradients @ ..], .. } = features.hosts.tets[host as usize];
                    let gradients = gradients.map(|gradient| gradient.map(|entry| entry as f32).into());
                    all.tets.push(Tet { nodes, gradients, body });
                    all.hosts.push(host);
                }
                all.of_leaves.push(*number);
            }
            all.starts.push(all.of_leaves.len() as u32);
        }
        all.gradients = vec![Gradients::default(); all.tets.len()];
        all.leaves = vec![LeafStrain::default(); all.starts.len() - 1];
        all.has_changed = vec![false; all.leaves.len()];
        all
    }

    /// Whether tets carry all vertices of the leaf.
    pub fn carries(&self, leaf: u32) -> bool {
        !self.tets_of(leaf).is_empty()
    }

    fn tets_of(&self, leaf: u32) -> &[u32] {
        &self.of_leaves[self.starts[leaf as usize] as usize..self.starts[leaf as usize + 1] as usize]
    }

    /// The tets of two leaves.
    pub fn tets_of_both<'h>(&self, hosts: &'h Hosts, leaves: [u32; 2]) -> Vec<&'h HostTet> {
        let mut tets: Vec<u32> = leaves.iter().flat_map(|leaf| self.tets_of(*leaf)).copied().collect();
        tets.sort_unstable();
        tets.dedup();
        tets.into_iter().map(|tet| &hosts.tets[self.hosts[tet as usize] as usize]).collect()
    }

    /// Follows the leaves of all bodies but the `certified` ones, which do not touch themselves, to where nodes move.
    pub fn follow(&mut self, nodes: &NodeMotions, certified: &[bool]) {
        let Self { tets, gradients, has_changed, starts, of_leaves, .. } = self;
        let follow = |(gradients, tet): (&mut Gradients, &Tet)| {
            if !certified[tet.body as usize] {
                *gradients = gradients_of(tet, nodes);
            }
        };
        gradients.par_iter_mut().zip(&*tets).with_min_len(TETS).for_each(follow);
        for (has_changed, range) in has_changed.iter_mut().zip(starts.windows(2)) {
            let first = of_leaves[range[0] as usize..range[1] as usize].first();
            *has_changed = first.is_some_and(|tet| !certified[tets[*tet as usize].body as usize]);
        }
        self.update();
    }

    /// The same where other ends were expected, of the leaves with tets that end otherwise by more than the margin:
    /// how the others were followed still holds. False if there are no such leaves.
    pub fn follow_ends(&mut self, nodes: &NodeMotions, certified: &[bool]) -> bool {
        let Self { tets, gradients, are_far, starts, of_leaves, has_changed, .. } = self;
        // Ends within the margin are not taken: small changes would else add up unseen.
        let renew = |(tet, gradients): (&Tet, &mut Gradients)| {
            if certified[tet.body as usize] {
                return false;
            }
            let end = gradients_of(tet, nodes).end;
            let is_near = distance2(&end, &gradients.end) < STRAIN_MARGIN * STRAIN_MARGIN;
            if !is_near {
                gradients.end = end;
            }
            !is_near
        };
        tets.par_iter().zip(gradients).with_min_len(TETS).map(renew).collect_into_vec(are_far);
        if !are_far.contains(&true) {
            return false;
        }
        for (has_changed, range) in has_changed.iter_mut().zip(starts.windows(2)) {
            *has_changed = of_leaves[range[0] as usize..range[1] as usize].iter().any(|tet| are_far[*tet as usize]);
        }
        self.update();
        true
    }

    /// Follows the leaves that have changed.
    fn update(&mut self) {
        let Self { gradients, starts, of_leaves, leaves, has_changed, .. } = self;
        let all = leaves.par_iter_mut().zip(starts.par_windows(2)).zip(&*has_changed).with_min_len(LEAVES);
        all.filter(|(_, has_changed)| **has_changed).for_each(|((leaf, range), _)| {
            let own = &of_leaves[range[0] as usize..range[1] as usize];
            if !own.is_empty() {
                *leaf = LeafStrain::of(own.iter().map(|tet| &gradients[*tet as usize]));
            }
        });
    }
}

/// The deformation gradients of a tet at both ends of a step.
#[inline(always)]
fn gradients_of(tet: &Tet, nodes: &NodeMotions) -> Gradients {
    let mut found = Gradients::default();
    let [first, others @ ..] = tet.nodes.map(|node| (&nodes.displacements[node as usize], &nodes.velocities[node as usize]));
    for row in 0..3 {
        let (mut start, mut change) = ([0.0; 3], [0.0; 3]);
        for ((displacement, velocity), gradient) in others.iter().zip(&tet.gradients) {
            // Differences first: far from its rest place nothing of a body would be left in f32.
            let (displacement, velocity) = (displacement[row] - first.0[row], velocity[row] - first.1[row]);
            for k in 0..3 {
                start[k] += displacement * f64::from(gradient[k]);
                change[k] += velocity * f64::from(gradient[k]);
            }
        }
        start[row] += 1.0;
        for k in 0..3 {
            found.start[4 * row + k] = start[k] as f32;
            found.end[4 * row + k] = (start[k] + nodes.dt * change[k]) as f32;
        }
    }
    found
}

/// The tets that carry a triangle: those that have all three corners, where there are such, else those of its corners.
fn hosts_of_triangle(features: &LeafFeatures, corners: &[u32; 3]) -> Vec<u32> {
    let [a, b, c] = corners.map(|v| features.hosts.of(v));
    if [a, b, c].iter().all(|hosts| hosts.len() > 1) {
        let common: Vec<u32> = a.iter().copied().filter(|host| b.contains(host) && c.contains(host)).collect();
        if !common.is_empty() {
            return common;
        }
    }
    [a, b, c].concat()
}
