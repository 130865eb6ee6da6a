//! What elements of several tets gain in energy on a way of their nodes: see `elastic::energy`.

use super::*;
use crate::elastic::way::{IsQuadratic, Way};

impl<const N: usize, const P: usize> PatchGroups<N, P> {
    /// The energy of all these elements is quadratic as a step takes it.
    pub fn are_quadratic(&self, tets: &Range<usize>) -> bool {
        self.parts_of(tets).iter().all(|part| part.material.visit(IsQuadratic) && part.stretch_limit.is_none())
    }

    /// Adds the gain [J] of each element with some of `tets` to the first of its tets. `n_tets`: of all bodies.
    pub fn energy_gains(&self, way: Way, n_tets: usize, tets: &Range<usize>, gains: &mut [f64]) {
        self.gains_of_parts(way, n_tets, self.parts_of(tets), tets.start, gains);
    }

    /// The parts with some consecutive tets, which are those of whole bodies.
    fn parts_of(&self, tets: &Range<usize>) -> &[Part] {
        let first = self.parts.partition_point(|part| part.tets.end <= tets.start);
        let end = self.parts.partition_point(|part| part.tets.start < tets.end);
        &self.parts[first..end.max(first)]
    }

    /// Halves of the parts to different threads; `gains` are those from the tet `first` on.
    fn gains_of_parts(&self, way: Way, n_tets: usize, parts: &[Part], first: usize, gains: &mut [f64]) {
        match parts {
            [] => {}
            [part] => {
                part.material.visit(GainsOfPart { groups: self, part, way, n_tets, first, gains: &mut *gains });
                if let Some(limit) = part.stretch_limit {
                    GainsOfPart { groups: self, part, way, n_tets, first, gains }.visit(limit);
                }
            }
            _ => {
                let (before, after) = parts.split_at(parts.len() / 2);
                let middle = after[0].tets.start;
                let (gains, gains_after) = gains.split_at_mut(middle - first);
                rayon::join(
                    || self.gains_of_parts(way, n_tets, before, first, gains),
                    || self.gains_of_parts(way, n_tets, after, middle, gains_after),
                );
            }
        }
    }
}

struct GainsOfPart<'a, const N: usize, const P: usize> {
    groups: &'a PatchGroups<N, P>,
    part: &'a Part,
    way: Way<'a>,
    n_tets: usize,
    first: usize,
    gains: &'a mut [f64],
}

impl<const N: usize, const P: usize> Visitor for GainsOfPart<'_, N, P> {
    type Output = ();

    fn visit<M: ConstitutiveModel>(self, model: M) {
        Arch::new().dispatch(Gains { model, of: self });
    }
}

struct Gains<'a, M, const N: usize, const P: usize> {
    model: M,
    of: GainsOfPart<'a, N, P>,
}

impl<M: ConstitutiveModel, const N: usize, const P: usize> WithSimd for Gains<'_, M, N, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { model, of: GainsOfPart { groups, part, way, n_tets, first, gains } } = self;
        let deviatoric = model.without_volume_energy();
        for (g, group) in groups.groups[part.groups.clone()].iter().enumerate() {
            for k in 0..LANES / S::F64_LANES {
                let lane = k * S::F64_LANES;
                let n = group.len.saturating_sub(lane).min(S::F64_LANES);
                if n > 0 {
                    let of = Register { group, lanes: [lane, n], patch: g * LANES + lane, part };
                    let gain = gain(simd, [&model, &deviatoric], &way, n_tets, &of);
                    let zero = gain * 0.0;
                    of.store([gain, zero, zero, zero], |at, [gain, ..]| gains[group.tets[lane + at] as usize - first] += gain);
                }
            }
        }
    }
}

#[inline(always)]
fn gain<M: ConstitutiveModel, S: Simd, const N: usize, const P: usize>(
    simd: S,
    [model, deviatoric]: [&M; 2],
    way: &Way,
    n_tets: usize,
    of: &Register<N, P>,
) -> Lanes<S> {
    let [displacements, velocities] = of.motions(simd, way.motions);
    let (zero, time) = (Lanes::splat(simd, 0.0), Lanes::splat(simd, way.time));
    let (mut gain, mut volume, mut changes) = (zero, zero, [zero; 2]);
    // Of stiffness damping: products of the tangent along the way with the velocities before it and those along it, and
    // the rates of the mean volume change with both.
    let damping = way.damping.filter(|_| of.part.stiffness_damping > 0.0);
    let before = damping.map_or([[zero; 3]; N], |damping| of.vectors(simd, damping.velocities));
    let (mut works, mut swelling_rates) = ([zero; 2], [zero; 2]);
    for p in 0..P {
        let flowed = of.flowed(simd, p, |row| way.states[n_tets + of.part.rows.start + row]);
        let gradients = of.reshaped(simd, p, &flowed);
        let gradient = elastic_gradient(simd, &gradients, &displacements, &flowed);
        let rates = Patch::<N, P>::gradient(&gradients, &velocities);
        let end = [plus(&gradient[0], time, &rates[0]), plus(&gradient[1], time, &rates[1]), plus(&gradient[2], time, &rates[2])];
        let mut q = load(simd, |lane| way.states[of.part.tets.start + of.tet(lane, p)]);
        let mut q_end = q;
        if let Some(frame) = of.part.frame {
            q = load(simd, |_| frame);
            q_end = q;
        } else if (M::IS_FRAMED || damping.is_some()) && (M::TANGENT != Tangent::Warped || way.turns_frames) {
            // A tangent counts on the frame in any case.
            q = rotation::follow(q, &plus_identity(&gradient));
            q_end = rotation::follow(q, &plus_identity(&end));
        }
        let mut state = [[zero; 4]; MAX_STATE_ROWS];
        let state = &mut state[..M::STATE_ROWS];
        for (row, state) in state.iter_mut().enumerate() {
            *state = load(simd, |lane| way.states[n_tets + of.part.rows.start + of.tet(lane, p) * of.part.rows_of_tet + row]);
        }
        let v = of.number(simd, &of.group.volumes[p]);
        let at = Deformation { gradient, rotation: rotation::matrices(&q), state };
        let at_end = Deformation { gradient: end, rotation: rotation::matrices(&q_end), state };
        gain = gain + (deviatoric.energy_at(v, &at_end) - deviatoric.energy_at(v, &at));
        volume = volume + v;
        changes = [model.volume_change_at(&at).mul_add(v, changes[0]), model.volume_change_at(&at_end).mul_add(v, changes[1])];
        if damping.is_some() {
            let at = deviatoric.kinematics(&at);
            let here = model.volume_change(&at);
            let stress = deviatoric.differential(&at, &deviatoric.moduli(v, &at), &rates);
            for (k, rates) in [Patch::<N, P>::gradient(&gradients, &before), rates].into_iter().enumerate() {
                for row in 0..3 {
                    works[k] = works[k] + dot(&stress[row], &rates[row]);
                    swelling_rates[k] = dot(&here.gradient[row], &rates[row]).mul_add(v, swelling_rates[k]);
                }
            }
        }
    }
    let per_volume = volume.inverse();
    let [energy, _, curvature] = model.volume_energy(changes[0] * per_volume);
    let [energy_at_end, ..] = model.volume_energy(changes[1] * per_volume);
    gain = (energy_at_end - energy).mul_add(volume, gain);
    let Some(damping) = damping else { return gain };
    let stiffening = curvature * per_volume * swelling_rates[1];
    let [before, along] = [stiffening.mul_add(swelling_rates[0], works[0]), stiffening.mul_add(swelling_rates[1], works[1])];
    let part = way.time / damping.time_step;
    (before * part + along * (0.5 * damping.factor * part * part)) * (of.part.stiffness_damping * damping.time_step) + gain
}
