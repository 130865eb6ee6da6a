//! Neighbouring leaves of one deformable body whose features surely do not meet, or only some of them: the tets that
//! carry them are too little deformed against each other for that.
//!
//! The vertices of a leaf are material points of linear tets, so the way between two of them is as long as its rest
//! length allows: with F the deformation gradients of the tets on a path of rest length L from X to Y, and M any matrix,
//! `|x - y - M (X - Y)| <= max |F - M| L`. Points of two features are sums of their vertices with positive weights, so
//! features at a rest distance d, whose vertices have paths no longer than L, are `s d - e L` apart at least, where s is
//! the least singular value of M and e the greatest |F - M|. They cannot meet as long as `e / s < d / L`, whatever
//! translation, rotation or common stretch the two leaves have made. F and M are linear in the time of a step, and what
//! holds at both of its ends holds between.
//!
//! Nothing is remembered from step to step: what a search finds follows from the state alone.

mod build;
mod join;
mod strain;
#[cfg(test)]
mod tests;

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::features::Features;
use crate::cancel::{CancelToken, Cancelled};
use crate::geometry::hosts::{Hosts, NodeMotions};
use crate::geometry::mesh::Mesh;
use crate::math::Vec3;
use strain::{LeafStrain, Strains};

/// Pairs of leaves that are near each other at rest, with the features of each that deformation may bring together.
#[derive(Clone, Debug, Default)]
pub(super) struct LeafPairs {
    /// The lesser leaf first, sorted; no leaf that is not carried by tets.
    ends: Vec<[u32; 2]>,
    /// First pair of each lesser leaf, and the end.
    starts: Vec<u32>,
    /// Of each pair the deformation below which none of its features meet, and its part of `features`.
    least_strains: Vec<f32>,
    lists: Vec<u32>,
    features: Vec<NearFeatures>,
    strains: Strains,
    /// Of each pair how many of its listed features may meet, or [`ALL`] where any may.
    n_open: Vec<u32>,
    /// Of each pair, whether those are more than the last time.
    has_more: Vec<bool>,
}

/// Two features of two leaves: a vertex and a triangle, or two edges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NearFeatures {
    /// Deformation of the leaves against each other up to which the features do not meet: d / L.
    strain: f32,
    pub items: [u32; 2],
    pub are_edges: bool,
}

/// Features of two leaves, listed or not, that may meet.
const ALL: u32 = u32::MAX;

/// Leaves are near each other within this many mean edge lengths of their body.
const NEAR_IN_EDGES: f64 = 0.7;
/// Where leaves are deformed more against each other than this, all of their features are compared.
const MAX_STRAIN: f32 = 0.25;
/// How much deformation gradients may differ from the predicted ones at the end of a step before leaves are looked at
/// again.
const STRAIN_MARGIN: f32 = 0.02;
/// Pairs that one thread takes at a time.
const PAIRS: usize = 1024;
/// While pairs are made, it is asked once in so many whether that is cancelled: 20 to 50 us each.
const PAIRS_PER_QUESTION: usize = 1024;
/// Part of the time after which it is known which tets carry the leaves of pairs.
const JOINED: f32 = 0.1;

/// The features of all leaves, and what carries them.
pub(super) struct LeafFeatures<'a> {
    pub mesh: &'a Mesh,
    pub vertices: &'a Features<1>,
    pub edges: &'a Features<2>,
    pub triangles: &'a Features<3>,
    pub hosts: &'a Hosts,
}

impl LeafPairs {
    /// How near leaves have to be at rest to be pairs [m], in a body with this mean edge length.
    pub fn near(mean_edge: f64) -> f64 {
        NEAR_IN_EDGES * mean_edge
    }

    /// Of the leaves with these `features`, at rest at `x` [m]; `pairs` are the leaves of one body that are near each
    /// other. Ends soon after `cancel` is cancelled.
    pub fn new_unless(
        features: &LeafFeatures,
        x: &[Vec3],
        mut pairs: Vec<[u32; 2]>,
        mean_edges: &[f64],
        cancel: &CancelToken,
    ) -> Result<Self, Cancelled> {
        pairs.iter_mut().for_each(|pair| pair.sort_unstable());
        let strains = Strains::new(features, &pairs);
        cancel.reached(JOINED);
        cancel.check()?;
        pairs.retain(|pair| pair.iter().all(|leaf| strains.carries(*leaf)));
        pairs.sort_unstable();
        pairs.dedup();
        let list = |ends: &[u32; 2]| Some((*ends, build::list(features, &strains, *ends, x, mean_edges)?));
        let mut listed = Vec::with_capacity(pairs.len());
        for (k, some) in pairs.chunks(PAIRS_PER_QUESTION).enumerate() {
            cancel.reached(JOINED + (1.0 - JOINED) * (k * PAIRS_PER_QUESTION) as f32 / pairs.len() as f32);
            cancel.check()?;
            listed.par_extend(some.par_iter().with_min_len(64).filter_map(list));
        }
        let (pairs, lists): (Vec<[u32; 2]>, Vec<Vec<NearFeatures>>) = listed.into_iter().unzip();
        let n_leaves = features.triangles.n_leaves();
        let mut starts = vec![0; n_leaves + 1];
        pairs.iter().for_each(|pair| starts[pair[0] as usize + 1] += 1);
        (0..n_leaves).for_each(|leaf| starts[leaf + 1] += starts[leaf]);
        let mut ends_of_lists = vec![0];
        ends_of_lists.extend(lists.iter().scan(0, |end, list| {
            *end += list.len() as u32;
            Some(*end)
        }));
        Ok(Self {
            starts,
            least_strains: lists.iter().map(|list| list.first().map_or(MAX_STRAIN, |first| first.strain)).collect(),
            lists: ends_of_lists,
            features: lists.concat(),
            n_open: vec![ALL; pairs.len()],
            has_more: vec![],
            ends: pairs,
            strains,
        })
    }

    /// The pairs whose lesser leaf it is.
    fn of_lesser(&self, leaf: u32) -> Range<usize> {
        match self.starts.get(leaf as usize..leaf as usize + 2) {
            Some(&[start, end]) => start as usize..end as usize,
            _ => 0..0,
        }
    }

    /// Whether two leaves are a pair: [`unknown`](Self::unknown) and [`listed`](Self::listed) tell what is to be
    /// compared of it.
    #[inline]
    pub fn contains(&self, a: u32, b: u32) -> bool {
        self.number(a, b).is_some()
    }

    fn number(&self, a: u32, b: u32) -> Option<usize> {
        let (first, second) = (a.min(b), a.max(b));
        let mut own = self.of_lesser(first);
        own.find(|pair| self.ends[*pair][1] >= second).filter(|pair| self.ends[*pair][1] == second)
    }

    /// All pairs, sorted, the lesser leaf first.
    pub fn all(&self) -> &[[u32; 2]] {
        &self.ends
    }

    pub fn n_pairs(&self) -> usize {
        self.ends.len()
    }

    /// Pairs of which any features may meet.
    pub fn unknown(&self) -> impl Iterator<Item = [u32; 2]> + '_ {
        self.n_open.iter().zip(&self.ends).filter(|(n, _)| **n == ALL).map(|(_, ends)| *ends)
    }

    /// Pairs of which some features may meet, and their leaves.
    pub fn listed(&self) -> impl Iterator<Item = (u32, [u32; 2])> + '_ {
        let all = self.n_open.iter().zip(&self.ends).zip(0..);
        all.filter(|((n, _), _)| **n != 0 && **n != ALL).map(|((_, ends), pair)| (pair, *ends))
    }

    /// The features of such a pair that may meet.
    pub fn near_features(&self, pair: u32) -> &[NearFeatures] {
        let first = self.lists[pair as usize] as usize;
        &self.features[first..first + self.n_open[pair as usize] as usize]
    }

    /// Whether two features of two leaves may meet, as far as is known here.
    pub fn may_meet(&self, leaves: [u32; 2], are_edges: bool, items: [u32; 2]) -> bool {
        let Some(pair) = self.number(leaves[0], leaves[1]) else { return true };
        self.n_open[pair] == ALL || self.near_features(pair as u32).iter().any(|near| near.are_edges == are_edges && near.items == items)
    }

    /// Forgets how nodes move: any features of all pairs may meet.
    pub fn forget(&mut self) {
        self.n_open.fill(ALL);
    }

    /// Says which features may meet where nodes move so, or nearly so at the end; of all bodies but the `certified`
    /// ones, whose leaves are not compared.
    pub fn follow(&mut self, nodes: &NodeMotions, certified: &[bool]) {
        self.strains.follow(nodes, certified);
        self.open_pairs();
    }

    /// Says which features may meet where nodes move so in the step that was [followed](Self::follow) with other ends;
    /// calls `reopened` with the leaves of which more features may meet than before.
    pub fn follow_ends(&mut self, nodes: &NodeMotions, certified: &[bool], mut reopened: impl FnMut(u32)) {
        if !self.strains.follow_ends(nodes, certified) {
            return;
        }
        self.open_pairs();
        let pairs = self.has_more.iter().zip(&self.ends).filter(|(has_more, _)| **has_more);
        pairs.for_each(|(_, ends)| ends.iter().for_each(|leaf| reopened(*leaf)));
    }

    /// Counts the open features of the pairs of leaves that have changed, and says of each pair whether those are more
    /// than before.
    fn open_pairs(&mut self) {
        let Self { ends, least_strains, lists, features, strains, n_open, has_more, .. } = self;
        has_more.clear();
        has_more.resize(ends.len(), false);
        let parts = (n_open.par_chunks_mut(PAIRS), has_more.par_chunks_mut(PAIRS));
        let given = (ends.par_chunks(PAIRS), least_strains.par_chunks(PAIRS));
        (parts, given).into_par_iter().enumerate().for_each(|(k, ((n_open, has_more), (ends, least_strains)))| {
            let lists = &lists[k * PAIRS..];
            Arch::new().dispatch(OpenPairs { n_open, has_more, ends, least_strains, lists, features, strains });
        });
    }

    /// How many pairs there are, of how many no features may meet, and of how many any may.
    #[cfg(test)]
    pub fn counts(&self) -> [usize; 3] {
        let count = |n: u32| self.n_open.iter().filter(|n_open| **n_open == n).count();
        [self.ends.len(), count(0), count(ALL)]
    }
}

/// Counts the open features of pairs, with the widest registers.
struct OpenPairs<'a> {
    n_open: &'a mut [u32],
    has_more: &'a mut [bool],
    ends: &'a [[u32; 2]],
    least_strains: &'a [f32],
    lists: &'a [u32],
    features: &'a [NearFeatures],
    strains: &'a Strains,
}

impl WithSimd for OpenPairs<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { n_open, has_more, ends, least_strains, lists, features, strains } = self;
        let pairs = n_open.iter_mut().zip(has_more).zip(ends.iter().zip(least_strains)).zip(lists.windows(2));
        for (((n_open, has_more), ([a, b], least)), list) in pairs {
            let (a, b) = (*a as usize, *b as usize);
            if !(strains.has_changed[a] || strains.has_changed[b]) {
                continue;
            }
            let strain = LeafStrain::between(&strains.leaves[a], &strains.leaves[b]);
            // Written so that what is not a number opens all.
            let n = if strain < *least {
                0
            } else if strain < MAX_STRAIN {
                features[list[0] as usize..list[1] as usize].partition_point(|near| near.strain <= strain) as u32
            } else {
                ALL
            };
            *has_more = n > *n_open;
            *n_open = n;
        }
    }
}
