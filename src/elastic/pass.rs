//! The element pass: one loop over the registers of all tets, compiled once for each constitutive model.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::degeneration::Degeneration;
use super::elements::{CornerForces, CornerGradients, EdgeTangents, Precision};
use super::flow::Flow;
use super::groups::{Register, Run, TetGroups};
use super::registers::{Iterate, LANES, MAX_STATE_ROWS, NodeMotion, load, store};
use super::rotation::{self, Quaternion};
use crate::element::{Element, Tet4};
use crate::material::{ConstitutiveModel, Deformation, Lame, PLASTIC_ROWS, Tangent, Visitor, plastic_change};
use crate::math::lanes::{Lanes, Matrix, Row, plus, plus_identity, scaled, times};

/// Tets that a thread takes at once.
const CHUNK: usize = 256;

type Vectors<S> = <Tet4 as Element>::Vectors<S>;

/// The pass reads these besides the numbers of the material.
#[derive(Clone, Copy)]
pub(super) struct Inputs<'a> {
    pub groups: &'a TetGroups,
    /// Motions of all nodes.
    pub motions: &'a [NodeMotion],
    /// [s]
    pub dt: f64,
    /// Rotations and states are followed from those of the last step; else taken as they are.
    pub follow: bool,
    pub iterate: Option<Iterate<'a>>,
    /// What a thread takes at once without one of these tets is left out, if they are given; ascending.
    pub only: Option<&'a [Range<usize>]>,
}

impl Inputs<'_> {
    fn leaves_out(&self, tets: &Range<usize>) -> bool {
        let next = |only: &[Range<usize>]| only.get(only.partition_point(|range| range.end <= tets.start)).cloned();
        self.only.is_some_and(|only| next(only).is_none_or(|range| range.start >= tets.end))
    }
}

/// The pass writes these for some consecutive tets.
pub(super) struct Outputs<'a, T> {
    pub tets: Range<usize>,
    pub rotations: &'a mut [Quaternion],
    /// Rows of state of those tets that have some.
    pub states: &'a mut [[f64; 4]],
    pub forces: &'a mut [CornerForces],
    /// Empty where all tangents are general.
    pub gradients: &'a mut [CornerGradients<T>],
    /// Empty where no tangent is mixed.
    pub volume_gradients: &'a mut [CornerGradients<T>],
    /// Empty where no tangent is general.
    pub edges: &'a mut [EdgeTangents<T>],
}

impl<'a, T: Precision> Outputs<'a, T> {
    /// The places of `tets`, each of which has `rows` rows of state.
    #[inline(always)]
    fn part(&mut self, tets: &Range<usize>, rows: usize) -> Outputs<'_, T> {
        let at = tets.start - self.tets.start..tets.end - self.tets.start;
        let kept = |is_empty: bool| if is_empty { 0..0 } else { at.clone() };
        let gradients = kept(self.gradients.is_empty());
        let (volume_gradients, edges) = (kept(self.volume_gradients.is_empty()), kept(self.edges.is_empty()));
        Outputs {
            tets: tets.clone(),
            rotations: &mut self.rotations[at.clone()],
            states: &mut self.states[at.start * rows..at.end * rows],
            forces: &mut self.forces[at.clone()],
            gradients: &mut self.gradients[gradients],
            volume_gradients: &mut self.volume_gradients[volume_gradients],
            edges: &mut self.edges[edges],
        }
    }

    #[inline(always)]
    fn all(&mut self) -> Outputs<'_, T> {
        let Self { tets, rotations, states, forces, gradients, volume_gradients, edges } = self;
        Outputs { tets: tets.clone(), rotations, states, forces, gradients, volume_gradients, edges }
    }

    /// The places of the tets before `tet` and those of the tets from it on; `rows` rows of state belong to the former.
    fn split_at(self, tet: usize, rows: usize) -> [Self; 2] {
        let n = tet - self.tets.start;
        let (rotations, rotations_after) = self.rotations.split_at_mut(n);
        let (states, states_after) = self.states.split_at_mut(rows);
        let (forces, forces_after) = self.forces.split_at_mut(n);
        let n_vectors = n.min(self.gradients.len());
        let (gradients, gradients_after) = self.gradients.split_at_mut(n_vectors);
        let n_mixed = n.min(self.volume_gradients.len());
        let (volume_gradients, volume_gradients_after) = self.volume_gradients.split_at_mut(n_mixed);
        let n_edges = n.min(self.edges.len());
        let (edges, edges_after) = self.edges.split_at_mut(n_edges);
        [
            Self { tets: self.tets.start..tet, rotations, states, forces, gradients, volume_gradients, edges },
            Self {
                tets: tet..self.tets.end,
                rotations: rotations_after,
                states: states_after,
                forces: forces_after,
                gradients: gradients_after,
                volume_gradients: volume_gradients_after,
                edges: edges_after,
            },
        ]
    }
}

/// Fills `outputs`, the tets of `runs`; halves of the runs, then halves of a long run to different threads.
pub(super) fn pass<T: Precision>(inputs: Inputs, runs: &[Run], outputs: Outputs<T>) {
    match runs {
        [] => {}
        _ if inputs.leaves_out(&outputs.tets) => {}
        [run] if outputs.tets.len() <= CHUNK => run.material.visit(OfRun::<T> { inputs, run, outputs }),
        [run] => {
            let middle = (outputs.tets.start + outputs.tets.len() / 2).next_multiple_of(CHUNK);
            if middle >= outputs.tets.end {
                return run.material.visit(OfRun::<T> { inputs, run, outputs });
            }
            let rows = (middle - outputs.tets.start) * run.rows_of_tet;
            let [before, after] = outputs.split_at(middle, rows);
            rayon::join(|| pass(inputs, runs, before), || pass(inputs, runs, after));
        }
        _ => {
            let (first, second) = runs.split_at(runs.len() / 2);
            let [before, after] = outputs.split_at(second[0].tets.start, second[0].first_row - first[0].first_row);
            rayon::join(|| pass(inputs, first, before), || pass(inputs, second, after));
        }
    }
}

/// Tets of one material, on one thread.
struct OfRun<'a, T> {
    inputs: Inputs<'a>,
    run: &'a Run,
    outputs: Outputs<'a, T>,
}

impl<T: Precision> Visitor for OfRun<'_, T> {
    type Output = ();

    fn visit<M: ConstitutiveModel>(self, model: M) {
        let Self { inputs, run, mut outputs } = self;
        let &Run { material, stiffness_damping, rows_of_tet, degeneration, frame, plasticity, stretch_limit, .. } = run;
        let (flow, outputs_of_model) = (plasticity.map(|rule| Flow { rule, material }), outputs.all());
        Arch::new().dispatch(Pass {
            model,
            stiffness_damping,
            rows_of_tet,
            degeneration,
            frame,
            flow,
            adds: Adds::default(),
            inputs,
            outputs: outputs_of_model,
        });
        // Of what is remembered, the limit takes what the model left.
        if let Some(model) = stretch_limit {
            let inputs = Inputs { follow: false, ..inputs };
            let adds = Adds { forces: true, edges: M::TANGENT == Tangent::General };
            Arch::new().dispatch(Pass { model, stiffness_damping, rows_of_tet, degeneration: None, frame, flow, adds, inputs, outputs });
        }
    }
}

/// The tets of one thread, all of one model.
pub(super) struct Pass<'a, M, T> {
    pub model: M,
    pub stiffness_damping: f64,
    pub rows_of_tet: usize,
    pub degeneration: Option<Degeneration>,
    /// Not followed, but given.
    pub frame: Option<Quaternion>,
    pub flow: Option<Flow>,
    pub adds: Adds,
    pub inputs: Inputs<'a>,
    pub outputs: Outputs<'a, T>,
}

impl<M: ConstitutiveModel, T: Precision> WithSimd for Pass<'_, M, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { model, stiffness_damping, rows_of_tet, degeneration, frame, flow, adds, inputs, mut outputs } = self;
        let reach = Lanes::splat(simd, stiffness_damping) + inputs.dt;
        let frame = frame.map(|q| load(simd, |_| q));
        let layer = Layer { model, reach, rows_of_tet, degeneration, frame, flow, adds };
        let Range { start, end } = outputs.tets;
        for g in start / LANES..end.div_ceil(LANES) {
            for k in 0..LANES / S::F64_LANES {
                let first = g * LANES + k * S::F64_LANES;
                let kept = first.max(start)..(first + S::F64_LANES).min(end);
                if kept.is_empty() {
                    continue;
                }
                // Lanes of other runs and those beyond the end are not kept. (One call: the formulas of all models are
                // compiled into it.)
                let mut part = outputs.part(&kept, rows_of_tet);
                let is_whole = kept.len() == S::F64_LANES;
                let mut spare = (!is_whole).then(Spare::default);
                if let Some(spare) = &mut spare {
                    spare.read(&part, kept.start - first, rows_of_tet);
                }
                register(simd, &layer, inputs, [g, k], spare.as_mut().map_or_else(|| part.all(), Spare::all));
                if let Some(spare) = &spare {
                    spare.write(&mut part, kept.start - first, rows_of_tet);
                }
            }
        }
    }
}

/// A pass adds to what is there, instead of taking its place.
#[derive(Clone, Copy, Default)]
pub(super) struct Adds {
    pub forces: bool,
    pub edges: bool,
}

/// What a pass does with each register.
struct Layer<S: Simd, M> {
    model: M,
    reach: Lanes<S>,
    rows_of_tet: usize,
    degeneration: Option<Degeneration>,
    frame: Option<Row<S>>,
    flow: Option<Flow>,
    adds: Adds,
}

/// Places for all lanes of a register.
#[derive(Default)]
struct Spare<T> {
    rotations: [Quaternion; LANES],
    states: [[[f64; 4]; LANES]; MAX_STATE_ROWS],
    forces: [CornerForces; LANES],
    gradients: [CornerGradients<T>; LANES],
    volume_gradients: [CornerGradients<T>; LANES],
    edges: [EdgeTangents<T>; LANES],
}

impl<T: Precision> Spare<T> {
    fn all(&mut self) -> Outputs<'_, T> {
        let Self { rotations, states, forces, gradients, volume_gradients, edges } = self;
        Outputs { tets: 0..LANES, rotations, states: states.as_flattened_mut(), forces, gradients, volume_gradients, edges }
    }

    /// Reads what `part`, the lanes from `first` on, begins with; other lanes take the nearest of them.
    fn read(&mut self, part: &Outputs<T>, first: usize, rows: usize) {
        for lane in 0..LANES {
            let nearest = lane.clamp(first, first + part.tets.len() - 1) - first;
            self.rotations[lane] = part.rotations[nearest];
            let states = &mut self.states.as_flattened_mut()[rows * lane..][..rows];
            states.copy_from_slice(&part.states[rows * nearest..][..rows]);
        }
        // What the limit adds to.
        self.forces[first..][..part.forces.len()].copy_from_slice(part.forces);
        self.gradients[first..][..part.gradients.len()].copy_from_slice(part.gradients);
        self.volume_gradients[first..][..part.volume_gradients.len()].copy_from_slice(part.volume_gradients);
        self.edges[first..][..part.edges.len()].copy_from_slice(part.edges);
    }

    /// Writes to `part` what its lanes ended with.
    fn write(&self, part: &mut Outputs<T>, first: usize, rows: usize) {
        let n = part.tets.len();
        part.rotations.copy_from_slice(&self.rotations[first..][..n]);
        part.states.copy_from_slice(&self.states.as_flattened()[rows * first..][..rows * n]);
        part.forces.copy_from_slice(&self.forces[first..][..n]);
        let n_vectors = part.gradients.len();
        part.gradients.copy_from_slice(&self.gradients[first..][..n_vectors]);
        let n_mixed = part.volume_gradients.len();
        part.volume_gradients.copy_from_slice(&self.volume_gradients[first..][..n_mixed]);
        let n_edges = part.edges.len();
        part.edges.copy_from_slice(&self.edges[first..][..n_edges]);
    }
}

/// The tets of the k-th register of group g; `out` has a place for each lane.
#[inline(always)]
fn register<M: ConstitutiveModel, T: Precision, S: Simd>(
    simd: S,
    layer: &Layer<S, M>,
    inputs: Inputs,
    [g, k]: [usize; 2],
    out: Outputs<T>,
) {
    let Inputs { groups, motions, dt, follow, iterate, .. } = inputs;
    let Outputs { rotations, states, forces, gradients, volume_gradients, edges, .. } = out;
    let &Layer { ref model, reach, rows_of_tet, degeneration, frame, flow, adds } = layer;
    // What elements remember is taken to the start of the step.
    let begins = follow && iterate.is_none_or(|iterate| iterate.is_first);
    let mut element = groups.groups[g].register(simd, k);
    let [displacements, velocities] = groups.groups[g].motions(simd, k, motions);
    let mut gradient = Tet4::gradient(&element.gradients, &displacements);
    // How the shape has flowed: dF_e = dF (I + this).
    let mut reshaped = None;
    if let Some(flow) = &flow {
        if begins {
            flow.advance(&gradient, dt, S::F64_LANES, states, |lane| rows_of_tet * lane..rows_of_tet * (lane + 1));
        }
        let place = |lane: usize| (lane + 1) * rows_of_tet - PLASTIC_ROWS;
        let rows = [load(simd, |lane| states[place(lane)]), load(simd, |lane| states[place(lane) + 1])];
        let change = plastic_change(&rows);
        gradient = element.reshape(&change, &displacements);
        reshaped = Some(plus_identity(&change));
    }
    let rates = Tet4::gradient(&element.gradients, &velocities);
    let mut q = load(simd, |lane| rotations[lane]);
    if follow {
        // (A closure around this would not be compiled for the wide registers.)
        q = match frame {
            Some(frame) => frame,
            None => rotation::follow(q, &plus_identity(&gradient)),
        };
        // Of corotational materials.
        if M::TANGENT == Tangent::Warped
            && let Some(degeneration) = &degeneration
        {
            let place = |lane: usize| lane * rows_of_tet + M::STATE_ROWS;
            let mut pairs = load(simd, |lane| states[place(lane)]);
            if begins {
                // Where they come from: as far back along their velocities as this step is long.
                let back = Lanes::splat(simd, -dt);
                let [a, b, c] = &gradient;
                let from = [plus(a, back, &rates[0]), plus(b, back, &rates[1]), plus(c, back, &rates[2])];
                pairs = degeneration.advance(simd, &element.gradients, &from, &gradient, pairs);
                let mut lanes: [usize; LANES] = std::array::from_fn(|lane| lane);
                store(pairs, &mut lanes, |lane, pair| states[place(*lane)] = pair);
            }
            q = degeneration.turn(simd, &element.gradients, &gradient, pairs, q);
        }
        store(q, rotations, |place, q| *place = q);
    }
    let rotation = rotation::matrices(&q);
    let mut state = [[Lanes::splat(simd, 0.0); 4]; MAX_STATE_ROWS];
    let state = &mut state[..M::STATE_ROWS];
    for (row, state) in state.iter_mut().enumerate() {
        *state = load(simd, |lane| states[lane * rows_of_tet + row]);
    }
    if begins && M::STATE_ROWS > 0 {
        model.advance(&gradient, &rotation, dt, state);
        let mut lanes: [usize; LANES] = std::array::from_fn(|lane| lane);
        for (row, state) in state.iter().enumerate() {
            store(*state, &mut lanes, |lane, state| states[*lane * rows_of_tet + row] = state);
        }
    }
    let at = Deformation { gradient, rotation, state };
    let at = model.kinematics(&at);
    let moduli = model.moduli(element.volume, &at);
    let (zero, one) = (Lanes::splat(simd, 0.0), Lanes::splat(simd, 1.0));
    let (stress, reach) = match iterate {
        None => (model.predicted_stress(element.volume, &at, &moduli, &rates, reach), reach),
        Some(Iterate { changes, damped, .. }) => {
            let (beta, step) = (reach + -dt, Lanes::splat(simd, -dt));
            let change = groups.gradient(simd, g, k, changes);
            let change = reshaped.map_or(change, |reshaped| times(&change, &reshaped));
            let mut back = [scaled(&rates[0], beta), scaled(&rates[1], beta), scaled(&rates[2], beta)];
            for (back, change) in back.iter_mut().zip(&change) {
                *back = plus(back, step, change);
            }
            let mut stress = model.stress(element.volume, &at);
            let moved = model.differential(&at, &moduli, &back);
            for (stress, moved) in stress.iter_mut().zip(&moved) {
                *stress = plus(stress, one, moved);
            }
            let (damped, _) = S::as_simd_f64s(&damped[g * LANES..(g + 1) * LANES]);
            (stress, Lanes::new(simd, damped[k]).mul_add(beta, reach))
        }
    };
    let corners = Tet4::scatter(&element.gradients, &stress, -one);
    let vectors = match M::TANGENT {
        Tangent::Warped => warped(model, &element, &rotation, reach * dt),
        Tangent::Mixed => shearing(model, &element, &rotation, reach * dt),
        Tangent::General => [[zero; 4]; Tet4::NODES],
    };
    for c in 0..Tet4::NODES {
        let [x, y, z] = corners[c];
        if adds.forces {
            store([x, y, z, zero], forces, |place, f| add(&mut place[c], f));
            continue;
        }
        if !gradients.is_empty() {
            store(vectors[c], gradients, |place, a| place.0[c] = a.map(T::rounded));
        }
        store([x, y, z, zero], forces, |place, f| place[c] = f);
    }
    if M::TANGENT == Tangent::Mixed {
        let scale = (element.volume * reach * (dt * model.lame().lambda)).sqrt();
        let vectors: Vectors<S> = Tet4::scatter(&element.gradients, &model.volume_change(&at).gradient, scale);
        for c in 0..Tet4::NODES {
            let [x, y, z] = vectors[c];
            store([x, y, z, zero], volume_gradients, |place, a| place.0[c] = a.map(T::rounded));
        }
    } else if !volume_gradients.is_empty() && !adds.forces {
        volume_gradients.fill(CornerGradients::default());
    }
    if M::TANGENT == Tangent::General {
        general(model, &element, &at, &moduli, reach * dt, |edge, axis, column| {
            store(column, edges, |place, column| {
                let place = &mut place.0[edge][axis];
                let mut sum = if adds.edges { place.map(T::exact) } else { [0.0; 4] };
                add(&mut sum, column);
                *place = sum.map(T::rounded);
            });
        });
    } else if !edges.is_empty() && !adds.forces {
        edges.fill(EdgeTangents::default());
    }
}

#[inline(always)]
fn add(sum: &mut [f64; 4], x: [f64; 4]) {
    for (sum, x) in sum.iter_mut().zip(x) {
        *sum += x;
    }
}

/// Hands out the blocks of the edges, column by column, times `factor`.
#[inline(always)]
fn general<M: ConstitutiveModel, S: Simd>(
    model: &M,
    element: &Register<S>,
    at: &M::Kinematics<S>,
    moduli: &M::Moduli<S>,
    factor: Lanes<S>,
    mut keep: impl FnMut(usize, usize, Row<S>),
) {
    let [a, b, c] = element.gradients;
    let gradients = [[-(a[0] + b[0] + c[0]), -(a[1] + b[1] + c[1]), -(a[2] + b[2] + c[2])], a, b, c];
    for j in 1..Tet4::NODES {
        for i in 0..j {
            let block = model.block(at, moduli, &gradients[i], &scaled(&gradients[j], factor));
            for axis in 0..3 {
                keep(Tet4::edge_number(i, j), axis, [block[0][axis], block[1][axis], block[2][axis], factor * 0.0]);
            }
        }
    }
}

/// sqrt(mu V factor) R g_c of each node, and lambda/mu: see [`CornerGradients`].
#[inline(always)]
fn warped<M: ConstitutiveModel, S: Simd>(
    model: &M,
    element: &Register<S>,
    rotation: &Matrix<S>,
    factor: Lanes<S>,
) -> [Row<S>; Tet4::NODES] {
    let Lame { mu, lambda } = model.lame();
    let mut vectors = shearing(model, element, rotation, factor);
    vectors.iter_mut().for_each(|vector| vector[3] = vector[3] + lambda / mu);
    vectors
}

/// The same with zeros for lambda/mu.
#[inline(always)]
fn shearing<M: ConstitutiveModel, S: Simd>(
    model: &M,
    element: &Register<S>,
    rotation: &Matrix<S>,
    factor: Lanes<S>,
) -> [Row<S>; Tet4::NODES] {
    let scale = (element.volume * factor * model.lame().mu).sqrt();
    let turned: Vectors<S> = Tet4::scatter(&element.gradients, rotation, scale);
    let mut vectors = [[scale * 0.0; 4]; Tet4::NODES];
    for c in 0..Tet4::NODES {
        vectors[c][..3].copy_from_slice(&turned[c]);
    }
    vectors
}
