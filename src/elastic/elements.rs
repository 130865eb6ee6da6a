//! Forces and tangents of all elements, as the element pass leaves them and the assembly gathers them.

use std::ops::{Add, AddAssign, Mul, Range};

#[cfg(test)]
use rayon::prelude::*;

use super::groups::{Patches, TetGroups};
use super::pass::{Inputs, Outputs, pass};
use super::patches::{self, EdgeBlock, EdgeBlocks};
use super::registers::{Iterate, NodeMotion, gather_motions};
use super::rotation::Quaternion;
use crate::element::{Element, Tet4};
use crate::material::Tangent;
use crate::model::{Model, State};

/// Forces and tangents of all elements. The fourth component of a force is zero: sums of forces are single
/// instructions.
#[derive(Clone, Debug, Default)]
pub struct Elements {
    pub forces: Forces,
    pub tangents: Tangents<f64>,
}

/// Forces on the corners of all elements [N].
#[derive(Clone, Debug, Default)]
pub struct Forces {
    /// Of tets; nothing of those that are parts of other elements.
    pub tets: Vec<CornerForces>,
    /// Of elements of several tets, corner by corner ([`Model::patch_corners`]).
    pub patches: Vec<[f64; 4]>,
}

/// Elastic and stiffness-damping force on each corner of a tet [N], evaluated at the linear prediction `x + (dt +
/// beta) v` with R frozen, so that dt * force already holds the terms -(dt^2 + dt beta) K v of the increment form.
pub type CornerForces = [[f64; 4]; Tet4::NODES];

/// The parts of (dt^2 + dt beta) K of all elements. The block of an edge is the sum of both.
#[derive(Clone, Debug, Default)]
pub struct Tangents<T> {
    /// Vectors of elements with a warped or mixed tangent; zero in other elements, empty where all tangents are
    /// general.
    pub gradients: Vec<CornerGradients<T>>,
    /// sqrt(lambda V (dt^2 + dt beta)) C g_c for each corner of elements with a mixed tangent, whose block of corners
    /// (i, j) is a_j a_i^T + (a_i.a_j) I + c_i c_j^T; zero in other elements, empty where no element has such a
    /// tangent.
    pub volume_gradients: Vec<CornerGradients<T>>,
    /// Blocks of elements with a general tangent, zero in other elements; empty where no element has such a tangent.
    pub edges: Vec<EdgeTangents<T>>,
    /// Blocks of the edges of elements of several tets, of which each has [`Element::EDGES`].
    pub patches: Vec<EdgeBlock<T>>,
}

/// sqrt(mu V (dt^2 + dt beta)) R g_c for each corner of a tet, followed by lambda/mu: the matrix block of corners (i,
/// j) is (lambda/mu) a_i a_j^T + a_j a_i^T + (a_i.a_j) I  (`elasticity.md` 2). In f32 a line of the cache.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct CornerGradients<T>(pub [[T; 4]; Tet4::NODES]);

/// The blocks of the edges (i, j), i < j, of a tet, by columns that are followed by a zero ([`Element::edge_number`]).
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
pub struct EdgeTangents<T>(pub [[[T; 4]; 3]; Tet4::EDGES]);

/// The type of number that tangents are kept in.
pub trait Precision: Copy + Default + PartialEq + Send + Sync + Add<Output = Self> + AddAssign + Mul<Output = Self> {
    fn rounded(value: f64) -> Self;
    fn edges(blocks: &mut [EdgeBlock<Self>]) -> EdgeBlocks<'_>;
    fn exact(self) -> f64;
}

impl Precision for f64 {
    #[inline(always)]
    fn rounded(value: f64) -> Self {
        value
    }

    fn edges(blocks: &mut [EdgeBlock<f64>]) -> EdgeBlocks<'_> {
        EdgeBlocks::Double(blocks)
    }

    #[inline(always)]
    fn exact(self) -> f64 {
        self
    }
}

impl Precision for f32 {
    #[inline(always)]
    fn rounded(value: f64) -> Self {
        value as f32
    }

    fn edges(blocks: &mut [EdgeBlock<f32>]) -> EdgeBlocks<'_> {
        EdgeBlocks::Single(blocks)
    }

    #[inline(always)]
    fn exact(self) -> f64 {
        f64::from(self)
    }
}

#[cfg(test)]
impl Tangents<f64> {
    /// The same in f32.
    pub fn round(&self, rounded: &mut Tangents<f32>) {
        let round = |(rounded, exact): (&mut CornerGradients<f32>, &CornerGradients<f64>)| rounded.0 = exact.0.map(|g| g.map(|g| g as f32));
        for (rounded, exact) in [(&mut rounded.gradients, &self.gradients), (&mut rounded.volume_gradients, &self.volume_gradients)] {
            rounded.resize(exact.len(), CornerGradients::default());
            rounded.par_iter_mut().with_min_len(4096).zip(exact).for_each(round);
        }
        rounded.edges.resize(self.edges.len(), EdgeTangents::default());
        let round = |(rounded, exact): (&mut EdgeTangents<f32>, &EdgeTangents<f64>)| {
            rounded.0 = exact.0.map(|block| block.map(|column| column.map(|x| x as f32)));
        };
        rounded.edges.par_iter_mut().with_min_len(1024).zip(&self.edges).for_each(round);
        rounded.patches.resize(self.patches.len(), EdgeBlock::default());
        let round = |(rounded, exact): (&mut EdgeBlock<f32>, &EdgeBlock<f64>)| *rounded = exact.map(|column| column.map(|x| x as f32));
        rounded.patches.par_iter_mut().with_min_len(4096).zip(&self.patches).for_each(round);
    }
}

/// What a pass over the elements is about.
#[derive(Clone, Copy, Default)]
pub struct PassAbout<'a> {
    /// Of the non-linear step.
    pub iterate: Option<Iterate<'a>>,
    /// Ascending ranges of tets: others are left out, but for some near these and all elements of several tets.
    pub only: Option<&'a [Range<usize>]>,
}

impl TetGroups {
    /// Forces and tangents of all elements, with their rotations and states followed from those of the last step; or,
    /// without `FOLLOW`, with those that are given. `states`: see [`State::rotations`].
    pub fn pass<T: Precision, const FOLLOW: bool>(
        &self,
        states: &mut [[f64; 4]],
        motions: &[NodeMotion],
        dt: f64,
        forces: &mut Forces,
        tangents: &mut Tangents<T>,
    ) {
        self.pass_about::<T, FOLLOW>(states, motions, PassAbout::default(), dt, forces, tangents);
    }

    /// The same, of some tets or about an iterate.
    pub fn pass_about<T: Precision, const FOLLOW: bool>(
        &self,
        states: &mut [[f64; 4]],
        motions: &[NodeMotion],
        PassAbout { iterate, only }: PassAbout,
        dt: f64,
        forces: &mut Forces,
        tangents: &mut Tangents<T>,
    ) {
        let n = self.n_tets;
        forces.tets.resize(n, Default::default());
        let has_vectors = self.has_tangents(Tangent::Warped) || self.has_tangents(Tangent::Mixed);
        tangents.gradients.resize(if has_vectors { n } else { 0 }, CornerGradients::default());
        tangents.volume_gradients.resize(if self.has_tangents(Tangent::Mixed) { n } else { 0 }, CornerGradients::default());
        tangents.edges.resize(if self.has_tangents(Tangent::General) { n } else { 0 }, EdgeTangents::default());
        let all_states = states;
        let (rotations, states) = all_states.split_at_mut(n);
        for stretch in self.stretches.iter().filter(|stretch| !stretch.is_empty()) {
            let runs = &self.runs[stretch.clone()];
            let tets = runs[0].tets.start..runs[runs.len() - 1].tets.end;
            let kept = |is_empty: bool| if is_empty { 0..0 } else { tets.clone() };
            let (vectors, volumes) = (kept(tangents.gradients.is_empty()), kept(tangents.volume_gradients.is_empty()));
            let edges = kept(tangents.edges.is_empty());
            let outputs = Outputs {
                rotations: &mut rotations[tets.clone()],
                states: &mut states[runs[0].first_row..],
                forces: &mut forces.tets[tets.clone()],
                gradients: &mut tangents.gradients[vectors],
                volume_gradients: &mut tangents.volume_gradients[volumes],
                edges: &mut tangents.edges[edges],
                tets,
            };
            pass(Inputs { groups: self, motions, dt, follow: FOLLOW, iterate, only }, runs, outputs);
        }
        let states = &mut *all_states;
        self.pass_patches::<T, FOLLOW>(states, motions, iterate, dt, &mut forces.patches, &mut tangents.patches);
    }

    /// The same of the elements of several tets alone.
    pub(super) fn pass_patches<T: Precision, const FOLLOW: bool>(
        &self,
        states: &mut [[f64; 4]],
        motions: &[NodeMotion],
        iterate: Option<Iterate>,
        dt: f64,
        forces: &mut Vec<[f64; 4]>,
        tangents: &mut Vec<EdgeBlock<T>>,
    ) {
        let Some(Patches { cells, tets10, n_corners, n_edges }) = &self.patches else { return };
        let (rotations, states) = states.split_at_mut(self.n_tets);
        forces.resize(n_corners[1], [0.0; 4]);
        tangents.resize(n_edges[1], EdgeBlock::default());
        let (cell_forces, tet_forces) = forces.split_at_mut(n_corners[0]);
        let (cell_edges, tet_edges) = tangents.split_at_mut(n_edges[0]);
        let inputs = patches::Inputs { motions, dt, follow: FOLLOW, iterate };
        let edges = T::edges(cell_edges);
        cells.pass(
            inputs,
            patches::Outputs { firsts: [0; 3], rotations: &mut *rotations, states: &mut *states, forces: cell_forces, edges },
        );
        let edges = T::edges(tet_edges);
        tets10.pass(inputs, patches::Outputs { firsts: [0; 3], rotations, states, forces: tet_forces, edges });
    }
}

/// Forces and tangents of all elements at `state`, and what the elements remember from there.
pub fn elements(model: &Model, state: &State, dt: f64) -> (Elements, Vec<Quaternion>) {
    let (mut found, mut motions, mut states) = (Elements::default(), vec![], state.rotations.clone());
    gather_motions(&state.displacements, &state.velocities, &mut motions);
    TetGroups::of(model).pass::<_, true>(&mut states, &motions, dt, &mut found.forces, &mut found.tangents);
    (found, states)
}
