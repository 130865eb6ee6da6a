//! What elements of several tets gain on a straight way of their nodes, with one volume change each: the part of the energy
//! pass that belongs to them. Stiffness damping is left out, which Newton's method alone asks for: it is refused for them.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::energy::Way;
use super::groups::{LANES, load};
use super::pass::MAX_STATE_ROWS;
use super::patches::{Part, PatchGroups, Register};
use super::rotation;
use crate::element::{Element, Patch};
use crate::material::{ConstitutiveModel, Deformation, Tangent, Visitor};
use crate::math::lanes::{Lanes, Vector, plus, plus_identity};

impl<const N: usize, const P: usize> PatchGroups<N, P> {
    /// The energy [J] that each element gains, to the place of its first tet among those of `tets`; zero to the others.
    /// `first_row`: where rows of state begin in what elements remember.
    pub fn energy_gains(&self, way: &Way, first_row: usize, tets: &Range<usize>, gains: &mut [f64]) {
        let meeting = self.parts.par_iter().filter(|part| part.tets.start < tets.end && part.tets.end > tets.start);
        let found: Vec<Vec<(usize, f64)>> =
            meeting.map(|part| part.material.visit(OfPart { groups: self, part, way, first_row })).collect();
        for part in self.parts.iter().filter(|part| part.tets.start < tets.end && part.tets.end > tets.start) {
            let own = part.tets.start.max(tets.start)..part.tets.end.min(tets.end);
            gains[own.start - tets.start..own.end - tets.start].fill(0.0);
        }
        for (tet, gain) in found.into_iter().flatten().filter(|(tet, _)| tets.contains(tet)) {
            gains[tet - tets.start] = gain;
        }
    }

    /// The parts that have some of `tets`.
    pub fn parts_of(&self, tets: &Range<usize>) -> impl Iterator<Item = &Part> {
        let tets = tets.clone();
        self.parts.iter().filter(move |part| part.tets.start < tets.end && part.tets.end > tets.start)
    }
}

struct OfPart<'a, const N: usize, const P: usize> {
    groups: &'a PatchGroups<N, P>,
    part: &'a Part,
    way: &'a Way<'a>,
    first_row: usize,
}

impl<const N: usize, const P: usize> Visitor for OfPart<'_, N, P> {
    type Output = Vec<(usize, f64)>;

    fn visit<M: ConstitutiveModel>(self, model: M) -> Self::Output {
        Arch::new().dispatch(Pass { model, of: self })
    }
}

struct Pass<'a, M, const N: usize, const P: usize> {
    model: M,
    of: OfPart<'a, N, P>,
}

impl<M: ConstitutiveModel, const N: usize, const P: usize> WithSimd for Pass<'_, M, N, P> {
    type Output = Vec<(usize, f64)>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let Self { model, of: OfPart { groups, part, way, first_row } } = self;
        let deviatoric = model.without_volume_energy();
        let mut found = vec![];
        for (g, group) in groups.groups[part.groups.clone()].iter().enumerate() {
            for k in 0..LANES / S::F64_LANES {
                let first = k * S::F64_LANES;
                let n = group.len.saturating_sub(first).min(S::F64_LANES);
                if n > 0 {
                    let of = Register { group, lanes: [first, n], patch: g * LANES + first, part };
                    let gain = register(simd, [&model, &deviatoric], way, first_row, &of);
                    of.store([gain; 4], |lane, [gain, ..]| found.push((group.tets[first + lane] as usize, gain)));
                }
            }
        }
        found
    }
}

#[inline(always)]
fn register<M: ConstitutiveModel, S: Simd, const N: usize, const P: usize>(
    simd: S,
    [model, deviatoric]: [&M; 2],
    way: &Way,
    first_row: usize,
    of: &Register<N, P>,
) -> Lanes<S> {
    let [displacements, velocities] = of.motions(simd, way.motions);
    let (zero, time) = (Lanes::splat(simd, 0.0), Lanes::splat(simd, way.time));
    let mut ends: [Vector<S>; N] = displacements;
    for c in 0..N {
        ends[c] = plus(&displacements[c], time, &velocities[c]);
    }
    let (mut volume, mut changes, mut gain) = (zero, [zero; 2], zero);
    for p in 0..P {
        let gradients = of.gradients(simd, p);
        let [start, end] = [Patch::<N, P>::gradient(&gradients, &displacements), Patch::<N, P>::gradient(&gradients, &ends)];
        let mut q = load(simd, |lane| way.states[of.part.tets.start + of.tet(lane, p)]);
        let mut q_end = q;
        if M::TANGENT != Tangent::Warped || way.turns_frames {
            q = rotation::follow(q, &plus_identity(&start));
            q_end = rotation::follow(q, &plus_identity(&end));
        }
        let mut state = [[zero; 4]; MAX_STATE_ROWS];
        let state = &mut state[..M::STATE_ROWS];
        for (row, state) in state.iter_mut().enumerate() {
            let place = |lane: usize| first_row + of.part.rows.start + of.tet(lane, p) * M::STATE_ROWS + row;
            *state = load(simd, |lane| way.states[place(lane)]);
        }
        let v = of.number(simd, &of.group.volumes[p]);
        volume = volume + v;
        let mut energies = [zero; 2];
        for (k, (gradient, q)) in [(start, q), (end, q_end)].into_iter().enumerate() {
            let at = deviatoric.kinematics(&Deformation { gradient, rotation: rotation::matrices(&q), state });
            energies[k] = deviatoric.energy(v, &at);
            changes[k] = model.volume_change(&at).value.mul_add(v, changes[k]);
        }
        gain = gain + (energies[1] - energies[0]);
    }
    let per_volume = volume.inverse();
    let [[before, ..], [after, ..]] = [model.volume_energy(changes[0] * per_volume), model.volume_energy(changes[1] * per_volume)];
    gain + (after - before) * volume
}
