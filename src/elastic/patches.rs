//! The pass over elements of several tets, whose points share one volume change.

mod blocks;
mod energy;

use std::array::from_fn;
use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

pub use blocks::{EdgeBlock, EdgeBlocks};

use super::flow::Flow;
use super::registers::{Iterate, LANES, MAX_STATE_ROWS, NodeMotion, load, load_rows, store};
use super::rotation::{self, Quaternion};
use crate::element::{Element, Patch};
use crate::material::{
    Constitutive, ConstitutiveModel, Deformation, Material, PLASTIC_ROWS, StretchLimit, Tangent, Visitor, plastic_change,
};
use crate::math::lanes::{Lanes, Matrix, Row, Vector, dot, plus, plus_identity, scaled, times_vector};

/// Groups that a thread takes at once.
const CHUNK: usize = 16;

/// The constants of all elements of a kind in groups of [`LANES`]. No group has elements of two materials.
#[derive(Clone, Debug)]
pub(super) struct PatchGroups<const N: usize, const P: usize> {
    groups: Vec<Group<N, P>>,
    parts: Vec<Part>,
}

/// Elements side by side; those beyond the end are the last one once more.
#[derive(Clone, Debug)]
struct Group<const N: usize, const P: usize> {
    /// [1/m]
    gradients: [[[[f64; LANES]; 3]; N]; P],
    /// [m^3]
    volumes: [[f64; LANES]; P],
    nodes: [[u32; N]; LANES],
    /// First tet of each.
    tets: [u32; LANES],
    /// Points that all have.
    n_points: [u8; LANES],
    n_tets: [u8; LANES],
    /// Elements that are not there twice.
    len: usize,
}

/// Consecutive elements of one body and material, for one thread.
#[derive(Clone, Debug)]
struct Part {
    groups: Range<usize>,
    patches: Range<usize>,
    tets: Range<usize>,
    /// Rows of state of the tets.
    rows: Range<usize>,
    rows_of_tet: usize,
    material: Constitutive,
    /// They flow.
    flow: Option<Flow>,
    /// beta [s]
    stiffness_damping: f64,
    /// The frame in which all points answer, where it is not their own.
    frame: Option<Quaternion>,
    /// What is laid over the model.
    stretch_limit: Option<StretchLimit>,
}

/// What the pass writes for some consecutive elements.
pub(super) struct Outputs<'a> {
    /// First of the elements, of their tets and of the rows of their states.
    pub firsts: [usize; 3],
    pub rotations: &'a mut [Quaternion],
    pub states: &'a mut [[f64; 4]],
    /// N a patch.
    pub forces: &'a mut [[f64; 4]],
    /// [`Element::EDGES`] a patch.
    pub edges: EdgeBlocks<'a>,
}

/// The pass reads these besides the constants.
#[derive(Clone, Copy)]
pub(super) struct Inputs<'a> {
    pub motions: &'a [NodeMotion],
    /// [s]
    pub dt: f64,
    /// Rotations and states are followed from those of the last step, else taken as they are.
    pub follow: bool,
    pub iterate: Option<Iterate<'a>>,
}

impl<const N: usize, const P: usize> PatchGroups<N, P> {
    /// `rows_of` tells where the rows of state of a tet begin, and how many they are; `body_of` whose it is; `frame` in
    /// which one it answers where that is not its own.
    pub fn new(
        patches: &[Patch<N, P>],
        materials: &[Material],
        rows_of: impl Fn(usize) -> [usize; 2],
        body_of: impl Fn(usize) -> u32,
        frame: impl Fn(usize) -> Option<Quaternion>,
    ) -> Self {
        let (mut groups, mut parts) = (vec![], vec![]);
        let mut begin = 0;
        let frame = |patch: &Patch<N, P>| frame(patch.tets[0] as usize);
        let body = |patch: &Patch<N, P>| body_of(patch.tets[0] as usize);
        let are_alike = |a: &Patch<N, P>, b: &Patch<N, P>| a.material == b.material && frame(a) == frame(b) && body(a) == body(b);
        for same in patches.chunk_by(|a, b| are_alike(a, b) && a.tets[1] == b.tets[0]) {
            let material = &materials[same[0].material as usize];
            for patches in same.chunks(CHUNK * LANES) {
                let first = groups.len();
                groups.extend(patches.chunks(LANES).map(Group::new));
                let tets = patches[0].tets().start..patches[patches.len() - 1].tets().end;
                let ([first_row, rows_of_tet], constitutive) = (rows_of(tets.start), Constitutive::new(material));
                parts.push(Part {
                    groups: first..groups.len(),
                    patches: begin..begin + patches.len(),
                    rows: first_row..first_row + rows_of_tet * tets.len(),
                    rows_of_tet,
                    tets,
                    material: constitutive,
                    flow: material.plasticity.map(|rule| Flow { rule, material: constitutive }),
                    stiffness_damping: material.stiffness_damping,
                    frame: frame(&same[0]),
                    stretch_limit: material.stretch_limits.map(|_| StretchLimit::new(material)),
                });
                begin += patches.len();
            }
        }
        Self { groups, parts }
    }

    /// Forces and tangents of all elements.
    pub fn pass(&self, inputs: Inputs, outputs: Outputs) {
        self.pass_parts(inputs, &self.parts, outputs);
    }

    /// Halves of the parts to different threads.
    fn pass_parts(&self, inputs: Inputs, parts: &[Part], outputs: Outputs) {
        match parts {
            [] => {}
            [part] => {
                let mut outputs = outputs.from(part, N);
                part.material.visit(OfPart { groups: self, part, inputs, outputs: outputs.all(), adds: false });
                // Of what is remembered, the limit takes what the model left.
                if let Some(limit) = part.stretch_limit {
                    let inputs = Inputs { follow: false, ..inputs };
                    OfPart { groups: self, part, inputs, outputs, adds: true }.visit(limit);
                }
            }
            _ => {
                let (before, after) = parts.split_at(parts.len() / 2);
                let [outputs, outputs_after] = outputs.split_at(&after[0], N);
                rayon::join(|| self.pass_parts(inputs, before, outputs), || self.pass_parts(inputs, after, outputs_after));
            }
        }
    }
}

impl Outputs<'_> {
    fn all(&mut self) -> Outputs<'_> {
        let Self { firsts, rotations, states, forces, edges } = self;
        Outputs { firsts: *firsts, rotations, states, forces, edges: edges.all() }
    }

    /// Those before a part and those from it on.
    fn split_at(self, part: &Part, nodes: usize) -> [Self; 2] {
        let [first_patch, first_tet, first_row] = self.firsts;
        let n = part.patches.start - first_patch;
        let (rotations, rotations_after) = self.rotations.split_at_mut(part.tets.start - first_tet);
        let (states, states_after) = self.states.split_at_mut(part.rows.start - first_row);
        let (forces, forces_after) = self.forces.split_at_mut(n * nodes);
        let [edges, edges_after] = self.edges.split_at(n * (nodes * (nodes - 1) / 2));
        let firsts = [part.patches.start, part.tets.start, part.rows.start];
        [
            Self { firsts: self.firsts, rotations, states, forces, edges },
            Self { firsts, rotations: rotations_after, states: states_after, forces: forces_after, edges: edges_after },
        ]
    }

    /// Those from a part on.
    fn from(self, part: &Part, nodes: usize) -> Self {
        let [_, after] = self.split_at(part, nodes);
        after
    }
}

impl<const N: usize, const P: usize> Group<N, P> {
    fn new(patches: &[Patch<N, P>]) -> Self {
        let at = |lane: usize| &patches[lane.min(patches.len() - 1)];
        Self {
            gradients: from_fn(|p| from_fn(|c| from_fn(|axis| from_fn(|lane| at(lane).gradients[p][c][axis])))),
            volumes: from_fn(|p| from_fn(|lane| at(lane).volumes[p])),
            nodes: from_fn(|lane| at(lane).nodes),
            tets: from_fn(|lane| at(lane).tets[0]),
            n_points: from_fn(|lane| at(lane).n_points() as u8),
            n_tets: from_fn(|lane| at(lane).tets().len() as u8),
            len: patches.len(),
        }
    }
}

/// The elements of a part, all of one model.
struct OfPart<'a, const N: usize, const P: usize> {
    groups: &'a PatchGroups<N, P>,
    part: &'a Part,
    inputs: Inputs<'a>,
    outputs: Outputs<'a>,
    /// Forces and blocks are added to what is there.
    adds: bool,
}

impl<const N: usize, const P: usize> Visitor for OfPart<'_, N, P> {
    type Output = ();

    fn visit<M: ConstitutiveModel>(self, model: M) {
        Arch::new().dispatch(Pass { model, of: self });
    }
}

struct Pass<'a, M, const N: usize, const P: usize> {
    model: M,
    of: OfPart<'a, N, P>,
}

impl<M: ConstitutiveModel, const N: usize, const P: usize> WithSimd for Pass<'_, M, N, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { model, of: OfPart { groups, part, inputs, mut outputs, adds } } = self;
        let reach = Lanes::splat(simd, part.stiffness_damping) + inputs.dt;
        let deviatoric = model.without_volume_energy();
        for (g, group) in groups.groups[part.groups.clone()].iter().enumerate() {
            for k in 0..LANES / S::F64_LANES {
                let first = k * S::F64_LANES;
                let n = group.len.saturating_sub(first).min(S::F64_LANES);
                if n > 0 {
                    let of = Register { group, lanes: [first, n], patch: g * LANES + first, part };
                    register(simd, [&model, &deviatoric], reach, inputs, &of, &mut outputs, adds);
                }
            }
        }
    }
}

/// Elements of a group that a register takes.
struct Register<'a, const N: usize, const P: usize> {
    group: &'a Group<N, P>,
    /// First, and how many of them are kept.
    lanes: [usize; 2],
    /// The first, counted from that of the part.
    patch: usize,
    part: &'a Part,
}

impl<const N: usize, const P: usize> Register<'_, N, P> {
    #[inline(always)]
    fn number<S: Simd>(&self, simd: S, of: &[f64; LANES]) -> Lanes<S> {
        let (values, _) = S::as_simd_f64s(of);
        Lanes::new(simd, values[self.lanes[0] / S::F64_LANES])
    }

    #[inline(always)]
    fn gradients<S: Simd>(&self, simd: S, point: usize) -> [Vector<S>; N] {
        let mut gradients = [[Lanes::splat(simd, 0.0); 3]; N];
        for c in 0..N {
            for axis in 0..3 {
                gradients[c][axis] = self.number(simd, &self.group.gradients[point][c][axis]);
            }
        }
        gradients
    }

    /// The same from the shape to which the elements would return, given U_p^-1 - I where they flow
    /// ([`crate::material::Plasticity`]).
    #[inline(always)]
    fn reshaped<S: Simd>(&self, simd: S, point: usize, flowed: &Option<Matrix<S>>) -> [Vector<S>; N] {
        let mut gradients = self.gradients(simd, point);
        if let Some(change) = flowed {
            for gradient in &mut gradients {
                *gradient = plus(gradient, Lanes::splat(simd, 1.0), &times_vector(change, gradient));
            }
        }
        gradients
    }

    /// U_p^-1 - I at a point where the elements flow; `state` gives a row of those of the part.
    #[inline(always)]
    fn flowed<S: Simd>(&self, simd: S, point: usize, state: impl Fn(usize) -> [f64; 4]) -> Option<Matrix<S>> {
        self.part.flow.as_ref()?;
        let place = |lane: usize| (self.tet(lane, point) + 1) * self.part.rows_of_tet - PLASTIC_ROWS;
        Some(plastic_change(&[load(simd, |lane| state(place(lane))), load(simd, |lane| state(place(lane) + 1))]))
    }

    /// Takes what the elements remember of a point to the start of a step [s], for all tets that keep it.
    #[inline(always)]
    fn flow<S: Simd>(&self, flow: &Flow, gradient: &Matrix<S>, dt: f64, point: usize, states: &mut [[f64; 4]]) {
        let rows = self.part.rows_of_tet;
        let has_point = |lane: usize| point < self.group.n_points[self.lanes[0] + lane] as usize;
        let rows_of = |lane: usize| {
            let first = rows * self.tet(lane, point);
            first..if has_point(lane) { first + rows } else { first }
        };
        flow.advance(gradient, dt, self.lanes[1], states, rows_of);
        for lane in (0..self.lanes[1]).filter(|lane| has_point(*lane)) {
            for k in (P..self.group.n_tets[self.lanes[0] + lane] as usize - point).step_by(P) {
                let from = rows_of(lane);
                let to = from.start + rows * k;
                states.copy_within(from, to);
            }
        }
    }

    /// Displacements and velocities of the nodes.
    #[inline(always)]
    fn motions<S: Simd>(&self, simd: S, motions: &[NodeMotion]) -> [[Vector<S>; N]; 2] {
        let mut found = [[[Lanes::splat(simd, 0.0); 3]; N]; 2];
        let nodes = &self.group.nodes[self.lanes[0]..][..S::F64_LANES];
        for c in 0..N {
            for which in 0..2 {
                let [x, y, z, _] = load_rows(simd, nodes, |nodes| motions[nodes[c] as usize].0[which]);
                found[which][c] = [x, y, z];
            }
        }
        found
    }

    /// Vectors of the nodes, each followed by a zero.
    #[inline(always)]
    fn vectors<S: Simd>(&self, simd: S, of: &[[f64; 4]]) -> [Vector<S>; N] {
        let mut found = [[Lanes::splat(simd, 0.0); 3]; N];
        let nodes = &self.group.nodes[self.lanes[0]..][..S::F64_LANES];
        for (c, found) in found.iter_mut().enumerate() {
            let [x, y, z, _] = load_rows(simd, nodes, |nodes| of[nodes[c] as usize]);
            *found = [x, y, z];
        }
        found
    }

    /// The tet of a lane that keeps a point, counted from the first one of the part; the last it has where it lacks the
    /// point.
    #[inline(always)]
    fn tet(&self, lane: usize, point: usize) -> usize {
        let lane = self.lanes[0] + lane;
        self.group.tets[lane] as usize - self.part.tets.start + point.min(self.group.n_points[lane] as usize - 1)
    }

    /// Writes four numbers of each element that is kept.
    #[inline(always)]
    fn store<S: Simd>(&self, row: Row<S>, mut write: impl FnMut(usize, [f64; 4])) {
        let mut lanes: [usize; LANES] = from_fn(|lane| lane);
        store(row, &mut lanes, |lane, row| {
            if *lane < self.lanes[1] {
                write(*lane, row);
            }
        });
    }

    /// Writes what a tet remembers of a point to all tets that keep it.
    #[inline(always)]
    fn remember<S: Simd>(&self, point: usize, row: Row<S>, mut write: impl FnMut(usize, [f64; 4])) {
        self.store(row, |lane, row| {
            let at = self.lanes[0] + lane;
            for k in (point..self.group.n_tets[at] as usize).step_by(P) {
                write(self.group.tets[at] as usize - self.part.tets.start + k, row);
            }
        });
    }
}

/// The points of the elements of a register, where tangents are general.
type Points<S, M, const P: usize> = [Option<(<M as ConstitutiveModel>::Kinematics<S>, <M as ConstitutiveModel>::Moduli<S>)>; P];

#[inline(always)]
fn register<M: ConstitutiveModel, S: Simd, const N: usize, const P: usize>(
    simd: S,
    [model, deviatoric]: [&M; 2],
    reach: Lanes<S>,
    inputs: Inputs,
    of: &Register<N, P>,
    out: &mut Outputs,
    adds: bool,
) {
    let [displacements, velocities] = of.motions(simd, inputs.motions);
    let zero = Lanes::splat(simd, 0.0);
    let changes = inputs.iterate.map_or([[zero; 3]; N], |iterate| of.vectors(simd, iterate.changes));
    let (beta, step) = (reach + -inputs.dt, Lanes::splat(simd, -inputs.dt));
    let (ahead, reach_of_tangent) = match inputs.iterate {
        None => (reach, reach),
        Some(Iterate { damped, .. }) => {
            let damped: [f64; LANES] = from_fn(|lane| damped[of.group.tets[lane] as usize]);
            (zero + 1.0, of.number(simd, &damped).mul_add(beta, reach))
        }
    };
    let factor = reach_of_tangent * inputs.dt;
    let (mut volume, mut change, mut change_rate) = (zero, zero, zero);
    // Of all but the energy of the volume change; and the derivatives of its mean by the nodes, times the volume.
    let (mut forces, mut swellings) = ([[zero; 3]; N], [[zero; 3]; N]);
    // sqrt(mu V reach dt) R g of warped and mixed tangents, which are alike without lambda; and what general ones
    // follow from.
    let mut turned = [[[zero; 3]; N]; P];
    let mut points: Points<S, M, P> = [None; P];
    let mut flowed = [None; P];
    let begins = inputs.follow && inputs.iterate.is_none_or(|iterate| iterate.is_first);
    for p in 0..P {
        if let Some(flow) = of.part.flow.as_ref().filter(|_| begins) {
            of.flow(flow, &Patch::<N, P>::gradient(&of.gradients(simd, p), &displacements), inputs.dt, p, out.states);
        }
        flowed[p] = of.flowed(simd, p, |row| out.states[row]);
        let gradients = of.reshaped(simd, p, &flowed[p]);
        let gradient = elastic_gradient(simd, &gradients, &displacements, &flowed[p]);
        let mut q = load(simd, |lane| out.rotations[of.tet(lane, p)]);
        if inputs.follow {
            // (A closure around this would not be compiled for the wide registers.)
            q = match of.part.frame {
                Some(frame) => load(simd, |_| frame),
                None => rotation::follow(q, &plus_identity(&gradient)),
            };
            of.remember(p, q, |tet, q| out.rotations[tet] = q);
        }
        let rotation = rotation::matrices(&q);
        let mut state = [[zero; 4]; MAX_STATE_ROWS];
        let state = &mut state[..M::STATE_ROWS];
        for (row, state) in state.iter_mut().enumerate() {
            *state = load(simd, |lane| out.states[of.tet(lane, p) * of.part.rows_of_tet + row]);
        }
        if begins && M::STATE_ROWS > 0 {
            deviatoric.advance(&gradient, &rotation, inputs.dt, state);
            for (row, state) in state.iter().enumerate() {
                of.remember(p, *state, |tet, state| out.states[tet * of.part.rows_of_tet + row] = state);
            }
        }
        let v = of.number(simd, &of.group.volumes[p]);
        let kinematics = deviatoric.kinematics(&Deformation { gradient, rotation, state });
        let moduli = deviatoric.moduli(v, &kinematics);
        let mut rates = Patch::<N, P>::gradient(&gradients, &velocities);
        let stress = if inputs.iterate.is_none() {
            deviatoric.predicted_stress(v, &kinematics, &moduli, &rates, reach)
        } else {
            // Back to where velocities do not change, as the pass over tets does.
            let change = Patch::<N, P>::gradient(&gradients, &changes);
            let mut stress = deviatoric.stress(v, &kinematics);
            for row in 0..3 {
                rates[row] = plus(&scaled(&rates[row], beta), step, &change[row]);
            }
            let moved = deviatoric.differential(&kinematics, &moduli, &rates);
            for row in 0..3 {
                for column in 0..3 {
                    stress[row][column] = stress[row][column] + moved[row][column];
                }
            }
            stress
        };
        let here = model.volume_change(&kinematics);
        let swelling = [scaled(&here.gradient[0], v), scaled(&here.gradient[1], v), scaled(&here.gradient[2], v)];
        volume = volume + v;
        change = here.value.mul_add(v, change);
        let mut pull = stress;
        for row in 0..3 {
            change_rate = change_rate + dot(&swelling[row], &rates[row]);
            pull[row] = scaled(&stress[row], zero + -1.0);
        }
        for c in 0..N {
            add_product(&mut forces[c], &pull, &gradients[c]);
            add_product(&mut swellings[c], &swelling, &gradients[c]);
        }
        match M::TANGENT {
            Tangent::Warped | Tangent::Mixed => {
                turned[p] = Patch::<N, P>::scatter(&gradients, &rotation, (v * factor * deviatoric.lame().mu).sqrt());
            }
            Tangent::General => points[p] = Some((kinematics, moduli)),
        }
    }
    let per_volume = volume.inverse();
    let [_, slope, curvature] = model.volume_energy(change * per_volume);
    let pressure = slope + ahead * curvature * change_rate * per_volume;
    for c in 0..N {
        let [x, y, z] = plus(&forces[c], -pressure, &swellings[c]);
        of.store([x, y, z, zero], |lane, force| {
            let place = &mut out.forces[(of.patch + lane) * N + c];
            *place = if adds { std::array::from_fn(|k| place[k] + force[k]) } else { force };
        });
    }

    let stiffening = curvature * per_volume * factor;
    let n_edges = Patch::<N, P>::EDGES;
    for j in 1..N {
        let of_volume = scaled(&swellings[j], stiffening);
        // Columns of the blocks of the edges (i, j).
        let mut blocks = [[[zero; 3]; 3]; N];
        for (p, point) in points.iter().enumerate() {
            if let Some(point) = point {
                general(deviatoric, point, &of.reshaped(simd, p, &flowed[p]), j, factor, &mut blocks);
            }
        }
        for i in 0..j {
            let mut block = if M::TANGENT == Tangent::General { blocks[i] } else { warped(zero, &turned, [i, j]) };
            for c in 0..3 {
                block[c] = plus(&block[c], of_volume[c], &swellings[i]);
            }
            let place = of.patch * n_edges + Patch::<N, P>::edge_number(i, j);
            out.edges.set(place, n_edges, of.lanes[1], &block, zero, adds);
        }
    }
}

/// F_e - I at a point, given gradients of [`Register::reshaped`].
#[inline(always)]
fn elastic_gradient<S: Simd, const N: usize>(
    simd: S,
    gradients: &[Vector<S>; N],
    displacements: &[Vector<S>; N],
    flowed: &Option<Matrix<S>>,
) -> Matrix<S> {
    // (How many points there are is no matter here.)
    let mut gradient = Patch::<N, 1>::gradient(gradients, displacements);
    if let Some(change) = flowed {
        for (row, change) in gradient.iter_mut().zip(change) {
            *row = plus(row, Lanes::splat(simd, 1.0), change);
        }
    }
    gradient
}

/// `sum += a x`
#[inline(always)]
fn add_product<S: Simd>(sum: &mut Vector<S>, a: &Matrix<S>, x: &Vector<S>) {
    for row in 0..3 {
        for column in 0..3 {
            sum[row] = a[row][column].mul_add(x[column], sum[row]);
        }
    }
}

/// The block of an edge where tangents are warped, the sum of `a_j a_i^T + (a_i . a_j) I` by columns over the points:
/// those of [`crate::material::warped_differential`] with a = sqrt(mu V) R g. (Products are the trace of the first.)
#[inline(always)]
fn warped<S: Simd, const N: usize, const P: usize>(zero: Lanes<S>, turned: &[[Vector<S>; N]; P], [i, j]: [usize; 2]) -> Matrix<S> {
    let mut block = [[zero; 3]; 3];
    for of_point in turned {
        let (ai, aj) = (&of_point[i], &of_point[j]);
        for c in 0..3 {
            block[c] = plus(&block[c], ai[c], aj);
        }
    }
    let product = block[0][0] + block[1][1] + block[2][2];
    for c in 0..3 {
        block[c][c] = block[c][c] + product;
    }
    block
}

/// The same of any tangent: column c of K_ij is `V dP[e_c g_j^T] g_i`.
#[inline(always)]
fn general<M: ConstitutiveModel, S: Simd, const N: usize>(
    model: &M,
    (kinematics, moduli): &(M::Kinematics<S>, M::Moduli<S>),
    gradients: &[Vector<S>; N],
    j: usize,
    factor: Lanes<S>,
    blocks: &mut [Matrix<S>; N],
) {
    let zero = factor * 0.0;
    for c in 0..3 {
        let mut change = [[zero; 3]; 3];
        change[c] = scaled(&gradients[j], factor);
        let stress = model.differential(kinematics, moduli, &change);
        for i in 0..j {
            let force = times_vector(&stress, &gradients[i]);
            for axis in 0..3 {
                blocks[i][c][axis] = blocks[i][c][axis] + force[axis];
            }
        }
    }
}
