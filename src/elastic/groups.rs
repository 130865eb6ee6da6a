//! The constants of all elements as the lanes of a register take them.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use pulp::{Arch, Simd, WithSimd};

use super::degeneration::Degeneration;
use super::patches::PatchGroups;
use super::recovery::frames;
use super::registers::{LANES, NodeMotion, as_rows_mut};
use super::rotation::Quaternion;
use crate::element::{Cell, Element, ElementKind, Patch, Tet4};
use crate::material::{Constitutive, ConstitutiveModel, Material, Plasticity, StretchLimit, Tangent};
use crate::math::lanes::{Lanes, Matrix, plus, times_vector};
use crate::model::{Model, State, Tet};

/// Numbers of a tet in a group: the gradients of three corners and the volume.
const NUMBERS: usize = 10;

/// The constants of all tets in groups of [`LANES`], the runs of tets of one material, and what other elements there
/// are.
#[derive(Clone, Debug, Default)]
pub struct TetGroups {
    pub(super) groups: Vec<Group>,
    /// Of tets that are elements.
    pub(super) runs: Vec<Run>,
    /// Runs without other tets between them.
    pub(super) stretches: Vec<Range<usize>>,
    pub(super) n_tets: usize,
    pub(super) patches: Option<Patches>,
}

/// Elements of several tets.
#[derive(Clone, Debug)]
pub(super) struct Patches {
    pub cells: PatchGroups<8, 6>,
    pub tets10: PatchGroups<10, 4>,
    /// How many corners and edges they have, and how many of them are those of cells.
    pub n_corners: [usize; 2],
    pub n_edges: [usize; 2],
}

/// Consecutive tets of one material. A register across the end of a run is evaluated once for each of its runs.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub tets: Range<usize>,
    pub material: Constitutive,
    /// beta [s]
    pub stiffness_damping: f64,
    /// Place of its first row of state among those of all runs.
    pub first_row: usize,
    pub rows_of_tet: usize,
    /// Its elements remember the row behind those of the model.
    pub degeneration: Option<Degeneration>,
    /// The frame in which all its elements answer, where it is not their own.
    pub frame: Option<Quaternion>,
    pub plasticity: Option<Plasticity>,
    /// What is laid over the model.
    pub stretch_limit: Option<StretchLimit>,
}

/// Tets side by side; those beyond the end are the last one once more.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
pub(super) struct Group {
    /// grad N_c of the last three corners [1/m], then the volume [m^3].
    pub numbers: [[f64; LANES]; NUMBERS],
    pub nodes: [[u32; Tet4::NODES]; LANES],
}

/// The tets of one register.
pub(super) struct Register<S: Simd> {
    pub gradients: <Tet4 as Element>::Gradients<S>,
    /// [m^3]
    pub volume: Lanes<S>,
}

impl TetGroups {
    pub fn new(tets: &[Tet], materials: &[Material]) -> Self {
        let mut groups = vec![Group::zeroed(); tets.len().div_ceil(LANES)];
        for (group, tets) in groups.iter_mut().zip(tets.chunks(LANES)) {
            let rows = rows_of(tets, group);
            Arch::new().dispatch(SideBySide { rows: &rows, group });
        }
        let runs = runs(tets, materials, Tangled::default());
        Self { groups, stretches: std::iter::once(0..runs.len()).collect(), runs, n_tets: tets.len(), patches: None }
    }

    /// Of all bodies of a model.
    pub fn of(model: &Model) -> Self {
        Self::with_tangled(model, Tangled::default())
    }

    /// The same in a state, where tangled bodies answer as [`Material::recovering`] and [`frames`] say.
    pub fn at(model: &Model, state: &State) -> Self {
        Self::with_tangled(model, Tangled { are: &state.tangled, frames: &frames(model, state) })
    }

    fn with_tangled(model: &Model, tangled: Tangled) -> Self {
        let mut all = Self::new(&model.tets, &model.materials);
        all.runs = runs(&model.tets, &model.materials, tangled);
        all.stretches = std::iter::once(0..all.runs.len()).collect();
        if model.n_patch_corners() == 0 {
            return all;
        }
        // The rows of state follow each other over all tets, whatever elements they are of.
        let rows_of = |tet: usize| {
            let run = &all.runs[all.runs.partition_point(|run| run.tets.end <= tet)];
            [run.first_row + (tet - run.tets.start) * run.rows_of_tet, run.rows_of_tet]
        };
        // The law of a tangled body is elastic, as in `runs`.
        let recovering =
            model.materials.iter().map(|material| Material { plasticity: None, stretch_limits: None, ..material.recovering() });
        let frame = |tet: usize| tangled.frame(&model.tets[tet]);
        let body_of = |tet: usize| model.node_bodies[model.tets[tet].nodes[0] as usize];
        let materials: Vec<Material> = model.materials.iter().copied().chain(recovering).collect();
        let patches = Patches {
            cells: PatchGroups::new(&with_law(&model.cells, model, tangled), &materials, rows_of, body_of, frame),
            tets10: PatchGroups::new(&with_law(&model.tets10, model, tangled), &materials, rows_of, body_of, frame),
            n_corners: [model.first_corner_of_tets10(), model.n_patch_corners()],
            n_edges: [Cell::EDGES * model.cells.len(), model.n_patch_edges()],
        };
        let mut runs: Vec<Run> = vec![];
        let mut stretches: Vec<Range<usize>> = vec![];
        for body in model.bodies.iter().filter(|body| body.element == ElementKind::Linear) {
            let is_next = runs.last().is_some_and(|run| run.tets.end == body.tets.start);
            let first = if is_next { stretches.pop().map_or(runs.len(), |stretch| stretch.start) } else { runs.len() };
            for run in all.runs.iter().filter(|run| run.tets.start < body.tets.end && run.tets.end > body.tets.start) {
                let tets = run.tets.start.max(body.tets.start)..run.tets.end.min(body.tets.end);
                let [first_row, _] = rows_of(tets.start);
                runs.push(Run { tets, first_row, ..run.clone() });
            }
            stretches.push(first..runs.len());
        }
        (all.runs, all.stretches, all.patches) = (runs, stretches, Some(patches));
        all
    }

    /// Tets of whole groups, with those beyond the end.
    pub fn n_lanes(&self) -> usize {
        self.groups.len() * LANES
    }

    /// Some tets have a tangent of this form.
    pub(super) fn has_tangents(&self, tangent: Tangent) -> bool {
        let has = |run: &Run| run.material.model().tangent() == tangent || tangent == Tangent::General && run.stretch_limit.is_some();
        self.runs.iter().any(has)
    }

    /// The gradient of node vectors (each followed by a zero) in the tets of the k-th register of group `g`.
    #[inline(always)]
    pub fn gradient<S: Simd>(&self, simd: S, g: usize, k: usize, of: &[[f64; 4]]) -> Matrix<S> {
        let group = &self.groups[g];
        let mut corners = [[Lanes::splat(simd, 0.0); 3]; Tet4::NODES];
        for c in 0..Tet4::NODES {
            let mut rows = [simd.splat_f64s(0.0); 4];
            for (row, nodes) in as_rows_mut::<S>(&mut rows).iter_mut().zip(group.nodes::<S>(k)) {
                *row = of[nodes[c] as usize];
            }
            let [x, y, z, _] = Lanes::join(simd, rows);
            corners[c] = [x, y, z];
        }
        Tet4::gradient(&group.register(simd, k).gradients, &corners)
    }
}

/// Which bodies are tangled.
#[derive(Clone, Copy, Default)]
struct Tangled<'a> {
    /// Of each body; none where no body is.
    are: &'a [bool],
    /// Likewise, the frame in which it answers.
    frames: &'a [Option<Quaternion>],
}

impl Tangled<'_> {
    fn has(&self, tet: &Tet) -> bool {
        self.are.get(tet.body as usize) == Some(&true)
    }

    fn frame(&self, tet: &Tet) -> Option<Quaternion> {
        self.frames.get(tet.body as usize).copied().flatten()
    }
}

/// Elements whose bodies are tangled have the material that follows theirs by as many places as the model has.
fn with_law<const N: usize, const P: usize>(patches: &[Patch<N, P>], model: &Model, tangled: Tangled) -> Vec<Patch<N, P>> {
    let is_tangled = |patch: &Patch<N, P>| tangled.has(&model.tets[patch.tets[0] as usize]);
    let shift = |patch: &Patch<N, P>| if is_tangled(patch) { model.materials.len() as u32 } else { 0 };
    patches.iter().map(|patch| Patch { material: patch.material + shift(patch), ..*patch }).collect()
}

fn runs(tets: &[Tet], materials: &[Material], tangled: Tangled) -> Vec<Run> {
    let law = |tet: &Tet| (tet.material, tangled.has(tet), tangled.frame(tet));
    let mut runs: Vec<Run> = vec![];
    let mut first_row = 0;
    for tets_of_run in tets.chunk_by(|a, b| law(a) == law(b)) {
        let first = runs.last().map_or(0, |run| run.tets.end);
        let material = &materials[tets_of_run[0].material as usize];
        // The law of a tangled body is elastic; what flows keeps its rows meanwhile.
        let (_, is_tangled, frame) = law(&tets_of_run[0]);
        let constitutive = Constitutive::new(&if is_tangled { material.recovering() } else { *material });
        let rows_of_tet = material.state_rows();
        runs.push(Run {
            tets: first..first + tets_of_run.len(),
            material: constitutive,
            stiffness_damping: material.stiffness_damping,
            first_row,
            rows_of_tet,
            degeneration: material.degeneration_ratio.filter(|_| frame.is_none()).map(|ratio| Degeneration { ratio }),
            frame,
            plasticity: material.plasticity.filter(|_| !is_tangled),
            stretch_limit: material.stretch_limits.filter(|_| !is_tangled).map(|_| StretchLimit::new(material)),
        });
        first_row += rows_of_tet * tets_of_run.len();
    }
    runs
}

impl<S: Simd> Register<S> {
    /// Measures the tets from the shape to which they would return, given U_p^-1 - I ([`Plasticity`]), whose volume is
    /// the same; returns F_e - I.
    #[inline(always)]
    pub fn reshape(&mut self, change: &Matrix<S>, displacements: &<Tet4 as Element>::Vectors<S>) -> Matrix<S> {
        let one = self.volume * 0.0 + 1.0;
        for gradient in &mut self.gradients {
            *gradient = plus(gradient, one, &times_vector(change, gradient));
        }
        let [a, b, c] = Tet4::gradient(&self.gradients, displacements);
        [plus(&a, one, &change[0]), plus(&b, one, &change[1]), plus(&c, one, &change[2])]
    }
}

impl Group {
    #[inline(always)]
    pub fn register<S: Simd>(&self, simd: S, k: usize) -> Register<S> {
        let mut numbers = [Lanes::splat(simd, 0.0); NUMBERS];
        for (number, values) in numbers.iter_mut().zip(&self.numbers) {
            let (values, _) = S::as_simd_f64s(values);
            *number = Lanes::new(simd, values[k]);
        }
        let [ax, ay, az, bx, by, bz, cx, cy, cz, volume] = numbers;
        Register { gradients: [[ax, ay, az], [bx, by, bz], [cx, cy, cz]], volume }
    }

    /// Nodes of the tets of the k-th register.
    #[inline(always)]
    fn nodes<S: Simd>(&self, k: usize) -> &[[u32; Tet4::NODES]] {
        &self.nodes[k * S::F64_LANES..(k + 1) * S::F64_LANES]
    }

    /// Displacements and velocities of the corners of the tets of the k-th register.
    #[inline(always)]
    pub fn motions<S: Simd>(&self, simd: S, k: usize, motions: &[NodeMotion]) -> [<Tet4 as Element>::Vectors<S>; 2] {
        let mut displacements = [[Lanes::splat(simd, 0.0); 3]; Tet4::NODES];
        let mut velocities = displacements;
        for c in 0..Tet4::NODES {
            let (mut u, mut v) = ([simd.splat_f64s(0.0); 4], [simd.splat_f64s(0.0); 4]);
            for ((u, v), nodes) in as_rows_mut::<S>(&mut u).iter_mut().zip(as_rows_mut::<S>(&mut v)).zip(self.nodes::<S>(k)) {
                [*u, *v] = motions[nodes[c] as usize].0;
            }
            let [x, y, z, _] = Lanes::join(simd, u);
            displacements[c] = [x, y, z];
            let [x, y, z, _] = Lanes::join(simd, v);
            velocities[c] = [x, y, z];
        }
        [displacements, velocities]
    }
}

/// The numbers of a group tet by tet; the group gets its nodes.
pub(super) fn rows_of(tets: &[Tet], group: &mut Group) -> [[[f64; 4]; LANES]; 3] {
    let mut rows = [[[0.0; 4]; LANES]; 3];
    for lane in 0..LANES {
        let tet = &tets[lane.min(tets.len() - 1)];
        let [_, a, b, c] = &tet.gradients;
        rows[0][lane] = [a.x, a.y, a.z, b.x];
        rows[1][lane] = [b.y, b.z, c.x, c.y];
        rows[2][lane] = [c.z, tet.volume, 0.0, 0.0];
        group.nodes[lane] = tet.nodes;
    }
    rows
}

/// Brings the numbers of tets side by side.
pub(super) struct SideBySide<'a> {
    pub rows: &'a [[[f64; 4]; LANES]; 3],
    pub group: &'a mut Group,
}

impl WithSimd for SideBySide<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for (rows, numbers) in self.rows.iter().zip(self.group.numbers.chunks_mut(4)) {
            let (rows, _) = S::as_simd_f64s(rows.as_flattened());
            for (k, rows) in rows.chunks_exact(4).enumerate() {
                let joined = simd.deinterleave_shfl_f64s([rows[0], rows[1], rows[2], rows[3]]);
                for (numbers, joined) in numbers.iter_mut().zip(joined) {
                    S::as_mut_simd_f64s(numbers).0[k] = joined;
                }
            }
        }
    }
}
