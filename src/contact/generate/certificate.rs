//! Bodies that cannot touch themselves in a step, by a proof over their tets instead of a search among the pairs of
//! their surface.
//!
//! Let the rest shape be convex and R a rotation with `sym(R^T F) > 0` in every tet, for the deformation gradients F at
//! both ends of the step. Vertices go on straight lines, so F and with it sym(R^T F) is linear in time and positive all
//! the way. On the segment between two points X, Y of the body
//! `(Y - X) . R^T (y - x) = int (Y - X)^T R^T F (Y - X) > 0`: no two points ever come to the same place.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use crate::disjoint_sets::DisjointSets;
use crate::elastic::TetGroups;
use crate::elastic::registers::{LANES, store};
use crate::elastic::rotation;
use crate::geometry::Mesh;
use crate::math::lanes::{Lanes, Matrix, times, transpose};
use crate::math::{Mat3, Vec3, fill_with};
use crate::model::{Body, InjectivityProof, Model, State};

/// The least eigenvalue of sym(R^T F) that is accepted: distances stay at least this part of those at rest.
const LEAST: f64 = 0.05;
/// Steps after which a body without proof is tried again: a proof that does not last costs a step.
const PATIENCE: u32 = 32;
/// Tets that tell the rotation of a body.
const SAMPLES: usize = 256;
/// Rounding of angles and volumes of the rest shape: distances are off by no more than this part.
const ROUNDING: f64 = 1e-6;
/// Groups of tets that a thread takes at once.
const CHUNK: usize = 256;

/// What is known of one body.
#[derive(Clone, Debug)]
struct Proof {
    is_convex: bool,
    /// For the present state; what is unknown is looked for at once.
    known: InjectivityProof,
    /// It is of a state that was brought, and still to be tested.
    is_recalled: bool,
}

const UNKNOWN: InjectivityProof = InjectivityProof { rotation: None, age: PATIENCE };

/// Of the deformable bodies.
#[derive(Clone, Debug, Default)]
pub struct InjectivityCertificate {
    proofs: Vec<Proof>,
    /// Displacements of all nodes, each followed by a zero.
    displacements: Vec<[f64; 4]>,
}

impl InjectivityCertificate {
    /// `mesh`: the surfaces of the bodies, first those of the deformable ones, at `rest`.
    pub fn new(model: &Model, mesh: &Mesh, rest: &[Vec3]) -> Self {
        let proof = |body: &Body| Proof { is_convex: is_convex(model, body, mesh, rest), known: UNKNOWN, is_recalled: false };
        Self { proofs: model.bodies.par_iter().map(proof).collect(), displacements: vec![] }
    }

    /// Goes on with what `state` knows, which then holds at its start.
    pub fn recall(&mut self, state: &State) {
        for (body, proof) in self.proofs.iter_mut().enumerate() {
            (proof.known, proof.is_recalled) = (state.proofs.get(body).copied().unwrap_or(UNKNOWN), true);
        }
    }

    /// Gives what is known at the end of a step to its state: what the next step does depends on it.
    pub fn keep(&self, state: &mut State) {
        state.proofs.clear();
        state.proofs.extend(self.proofs.iter().map(|proof| proof.known));
    }

    /// Takes back all proofs for a while: a step that is to be made without one of them is made without any, where
    /// there is no work left to make it again for one after the other.
    pub fn give_up(&mut self) {
        self.proofs.iter_mut().for_each(|proof| proof.known = InjectivityProof { rotation: None, age: 0 });
    }

    /// Looks for proofs for the start of a step.
    pub fn start(&mut self, model: &Model, groups: &TetGroups, state: &State) {
        if self.proofs.iter().any(|proof| proof.is_recalled || proof.is_wanted()) {
            take(&mut self.displacements, state, |node| state.displacements[node]);
        }
        let Self { proofs, displacements } = self;
        proofs.par_iter_mut().zip(&model.bodies).for_each(|(proof, body)| {
            let holds = |rotation: &Mat3| is_monotone(groups, body, displacements, rotation);
            // A body may have been put elsewhere.
            if std::mem::take(&mut proof.is_recalled) && proof.known.rotation.is_some_and(|rotation| !holds(&rotation)) {
                proof.known = UNKNOWN;
            }
            if proof.is_wanted() {
                proof.known = InjectivityProof { rotation: Some(mean_rotation(body, state)).filter(holds), age: 0 };
            }
            proof.known.age = proof.known.age.saturating_add(1);
        });
    }

    /// Of each body, whether it cannot touch itself.
    pub fn is_certified(&self) -> impl Iterator<Item = bool> {
        self.proofs.iter().map(|proof| proof.known.rotation.is_some())
    }

    /// Takes back the proofs that do not hold to the end of the step with the velocity change `dv`; true if there are
    /// such: then the step must be made without. A proof may change its rotation.
    pub fn end(&mut self, model: &Model, groups: &TetGroups, state: &State, dv: &[Vec3], dt: f64) -> bool {
        if self.is_certified().all(|is_certified| !is_certified) {
            return false;
        }
        take(&mut self.displacements, state, |node| state.displacements[node] + (state.velocities[node] + dv[node]) * dt);
        let Self { proofs, displacements } = self;
        let is_lost = |(b, (proof, body)): (usize, (&mut Proof, &Body))| {
            let rotation = proof.known.rotation.as_ref()?;
            if is_monotone(groups, body, displacements, rotation) {
                return None;
            }
            let rotation = mean_rotation(body, state);
            proof.known.rotation = is_monotone(groups, body, displacements, &rotation).then_some(rotation);
            Some(b)
        };
        let lost: Vec<usize> = proofs.par_iter_mut().zip(&model.bodies).enumerate().filter_map(is_lost).collect();
        if lost.is_empty() {
            return false;
        }
        // Another rotation must hold at the start, too.
        take(&mut self.displacements, state, |node| state.displacements[node]);
        let mut is_lost = false;
        for b in lost {
            let (proof, body) = (&mut self.proofs[b].known, &model.bodies[b]);
            proof.rotation = proof.rotation.filter(|rotation| is_monotone(groups, body, &self.displacements, rotation));
            proof.age = 0;
            is_lost |= proof.rotation.is_none();
        }
        is_lost
    }
}

impl Proof {
    fn is_wanted(&self) -> bool {
        self.is_convex && self.known.rotation.is_none() && self.known.age >= PATIENCE
    }
}

fn take(displacements: &mut Vec<[f64; 4]>, state: &State, of: impl Fn(usize) -> Vec3 + Sync) {
    fill_with(displacements, state.displacements.len(), |node| {
        let u = of(node);
        [u.x, u.y, u.z, 0.0]
    });
}

fn mean_rotation(body: &Body, state: &State) -> Mat3 {
    let tets = body.tets.clone().step_by(body.tets.len().div_ceil(SAMPLES));
    rotation::mean(tets.map(|tet| (state.rotations[tet], 1.0)))
}

/// Whether the body touches itself with the boundary of its tets, and that is the closed surface of a convex body.
fn is_convex(model: &Model, body: &Body, mesh: &Mesh, rest: &[Vec3]) -> bool {
    let vertices = body.collision_vertices.clone();
    if !body.self_contact || model.collision.weights[vertices.clone()].iter().any(|weights| weights[0] != 1.0) {
        return false;
    }
    // A closed surface in one piece that bends inwards nowhere encloses a convex body [Tietze 1928, Nakajima 1928];
    // tets of its volume fill it.
    let triangles = &mesh.triangles[body.collision_triangles.clone()];
    let center = vertices.clone().map(|v| rest[v]).sum::<Vec3>() / vertices.len() as f64;
    let corners = |t: &[u32; 3]| t.map(|v| rest[v as usize] - center);
    let volume: f64 = triangles.iter().map(corners).map(|[a, b, c]| a.dot(&b.cross(&c)) / 6.0).sum();
    let edges: Vec<usize> = (0..mesh.edges.len()).filter(|e| vertices.contains(&(mesh.edges[*e][0] as usize))).collect();
    let bends_inwards = |e: &usize| {
        let ends = mesh.edges[*e];
        let [first, second] = mesh.edge_triangles[*e].map(|t| mesh.triangles.get(t as usize));
        let (Some(first), Some(second)) = (first, second) else { return true };
        let Some(third) = second.iter().find(|v| !ends.contains(v)) else { return true };
        let [a, b, c] = first.map(|v| rest[v as usize]);
        let normal = (b - a).cross(&(c - a));
        let across = rest[*third as usize] - a;
        across.dot(&normal) > ROUNDING * across.norm() * normal.norm()
    };
    // Of a sphere in one piece V - E + F = 2, and each edge has two triangles.
    let is_one_sphere = vertices.len() + triangles.len() == edges.len() + 2 && 3 * triangles.len() == 2 * edges.len();
    is_one_sphere
        && is_connected(&edges, mesh, &vertices)
        && (volume - body.volume).abs() < ROUNDING * volume
        && !edges.iter().any(bends_inwards)
}

fn is_connected(edges: &[usize], mesh: &Mesh, vertices: &Range<usize>) -> bool {
    let mut parts = DisjointSets::new(vertices.len());
    let mut joins = |e: &usize| {
        let [a, b] = mesh.edges[*e].map(|v| v as usize - vertices.start);
        parts.join(a, b)
    };
    edges.iter().filter(|e| joins(e)).count() + 1 == vertices.len()
}

/// Whether sym(R^T F) - `LEAST` is positive definite in all tets of the body.
fn is_monotone(groups: &TetGroups, body: &Body, displacements: &[[f64; 4]], rotation: &Mat3) -> bool {
    let of_body = body.tets.start / LANES..body.tets.end.div_ceil(LANES);
    of_body.into_par_iter().step_by(CHUNK).all(|first| {
        let last = (first + CHUNK).min(body.tets.end.div_ceil(LANES));
        Arch::new().dispatch(Check { groups, range: first..last, tets: &body.tets, displacements, rotation })
    })
}

/// [`is_monotone`] of some groups of tets.
struct Check<'a> {
    groups: &'a TetGroups,
    range: Range<usize>,
    tets: &'a Range<usize>,
    displacements: &'a [[f64; 4]],
    rotation: &'a Mat3,
}

impl WithSimd for Check<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let zero = Lanes::splat(simd, 0.0);
        let (one, minus_one) = (zero + 1.0, zero + -1.0);
        let mut turn: Matrix<S> = [[zero; 3]; 3];
        for r in 0..3 {
            for c in 0..3 {
                turn[r][c] = Lanes::splat(simd, self.rotation[(r, c)]);
            }
        }
        let back = transpose(&turn);
        let mut least = one;
        for g in self.range {
            for k in 0..LANES / S::F64_LANES {
                let gradient = self.groups.gradient(simd, g, k, self.displacements);
                let b = times(&back, &gradient);
                // The gradient lacks the identity.
                let mut h = b;
                for i in 0..3 {
                    for j in 0..3 {
                        h[i][j] = (b[i][j] + b[j][i] + back[i][j] + back[j][i]) * 0.5;
                    }
                    h[i][i] = h[i][i] + -LEAST;
                }
                let minor = h[0][0] * h[1][1] - h[0][1] * h[0][1];
                let c0 = h[1][1] * h[2][2] - h[1][2] * h[1][2];
                let c1 = h[0][2] * h[1][2] - h[0][1] * h[2][2];
                let c2 = h[0][1] * h[1][2] - h[0][2] * h[1][1];
                let determinant = h[0][0] * c0 + h[0][1] * c1 + h[0][2] * c2;
                // Not a number is not positive.
                let is_definite = h[0][0].choose(minor.choose(determinant.choose(one, minus_one), minus_one), minus_one);
                let here = g * LANES + k * S::F64_LANES;
                if here >= self.tets.start && here + S::F64_LANES <= self.tets.end {
                    least = least.min(is_definite);
                    continue;
                }
                let mut holds = true;
                let mut tets: [usize; LANES] = std::array::from_fn(|lane| here + lane);
                let holds_in = |tet: &mut usize, row: [f64; 4]| holds &= !self.tets.contains(tet) || row[0] > 0.0;
                store([is_definite; 4], &mut tets, holds_in);
                if !holds {
                    return false;
                }
            }
        }
        (-least).largest() < 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::generate::Surfaces;
    use crate::material::Material;
    use crate::math::Quat;
    use crate::mesh::{TetMesh, shapes};
    use crate::model::{ModelBuilder, SoftBody};

    fn model(bodies: Vec<TetMesh>) -> Model {
        let mut builder = ModelBuilder::default();
        bodies.into_iter().for_each(|tets| {
            builder.soft_body(SoftBody::with_boundary_surface("body", Material::default(), tets));
        });
        builder.build().unwrap()
    }

    fn monotone(model: &Model) -> InjectivityCertificate {
        let surfaces = Surfaces::new(model).unwrap();
        InjectivityCertificate::new(model, &surfaces.mesh, &surfaces.rest)
    }

    /// Tets of the cells of `tets` that `keep` names by their centres.
    fn part(mut tets: TetMesh, keep: impl Fn(&Vec3) -> bool) -> TetMesh {
        let positions = tets.positions.clone();
        tets.tets.retain(|t| keep(&(t.iter().map(|n| positions[*n as usize]).sum::<Vec3>() / 4.0)));
        let mut place = vec![u32::MAX; positions.len()];
        let mut kept = vec![];
        for n in tets.tets.iter_mut().flatten() {
            let place = &mut place[*n as usize];
            if *place == u32::MAX {
                *place = kept.len() as u32;
                kept.push(positions[*n as usize]);
            }
            *n = *place;
        }
        TetMesh { positions: kept, ..tets }
    }

    #[test]
    fn convex_bodies_are_told_from_others() {
        let block = || shapes::box_tets(Vec3::new(0.4, 0.2, 0.2), [4, 2, 2]);
        let hooked = part(block(), |x| x.x < 0.0 || x.y < 0.0);
        // Convex each, but not together: half of the cells, and a part for itself.
        let parted = part(block(), |x| x.x < -0.1 || x.x > 0.1);
        let model = model(vec![block(), hooked, parted]);
        let found: Vec<bool> = monotone(&model).proofs.iter().map(|proof| proof.is_convex).collect();
        assert_eq!(found, [true, false, false]);
    }

    /// A bar that is turned and bent more and more: proofs end before its ends meet, and a tet that is turned inside
    /// out ends them at once. Two bars, so that one group of tets belongs to both.
    #[test]
    fn proofs_hold_while_no_two_points_can_meet() {
        let bar = || shapes::box_tets(Vec3::new(1.0, 0.1, 0.1), [9, 1, 1]);
        let model = model(vec![bar(), bar()]);
        let groups = TetGroups::of(&model);
        let turn = Quat::from_scaled_axis(Vec3::new(0.4, -2.0, 1.0));
        let bent = |x: &Vec3, angle: f64| {
            let (radius, phi) = (1.0 / angle, x.x * angle);
            turn * Vec3::new((radius - x.y) * phi.sin(), radius - (radius - x.y) * phi.cos(), x.z)
        };
        let sure_after = |angle: f64, upset: bool| {
            let mut state = State::initial(&model);
            let n = model.bodies[0].nodes.len();
            for (i, x) in model.rest_positions.iter().enumerate() {
                state.displacements[i] = if i < n { bent(x, angle) - x } else { turn * x - x };
            }
            state.rotations.fill([turn.i, turn.j, turn.k, turn.w]);
            let mut monotone = monotone(&model);
            monotone.start(&model, &groups, &state);
            let before: Vec<bool> = monotone.is_certified().collect();
            // Two points change places within the step.
            let mut dv = vec![Vec3::zeros(); model.n_unknowns()];
            if upset {
                let tet = model.tets[model.bodies[1].tets.start].nodes;
                let change = (state.positions(&model)[tet[3] as usize] - state.positions(&model)[tet[0] as usize]) * 1.5;
                dv[tet[0] as usize] = change / 0.01;
            }
            let is_lost = monotone.end(&model, &groups, &state, &dv, 0.01);
            (before, is_lost, monotone.is_certified().collect::<Vec<bool>>())
        };
        assert_eq!(sure_after(1.5, false), (vec![true, true], false, vec![true, true]));
        assert_eq!(sure_after(1.5, true), (vec![true, true], true, vec![true, false]));
        // Its ends are turned by more than a right angle from the middle.
        assert_eq!(sure_after(3.5, false), (vec![false, true], false, vec![false, true]));
    }

    /// What a state knows is gone on with where it still holds.
    #[test]
    fn what_is_recalled_is_tested_once() {
        let model = model(vec![shapes::box_tets(Vec3::new(1.0, 0.1, 0.1), [9, 1, 1])]);
        let groups = TetGroups::of(&model);
        let mut state = State::initial(&model);
        let mut first = monotone(&model);
        (0..3).for_each(|_| first.start(&model, &groups, &state));
        first.keep(&mut state);
        let known = state.proofs[0];
        assert!(known.rotation.is_some() && known.age == 3, "{known:?}");
        let mut second = monotone(&model);
        second.recall(&state);
        // It goes on with the rotation that it has, not with the present one, which is about the same.
        let turn = |state: &mut State, angle: f64| {
            let turn = Quat::from_scaled_axis(Vec3::z() * angle);
            state.displacements = model.rest_positions.iter().map(|x| turn * x - x).collect();
            state.rotations.fill([turn.i, turn.j, turn.k, turn.w]);
        };
        turn(&mut state, 0.1);
        second.start(&model, &groups, &state);
        second.keep(&mut state);
        assert_eq!(state.proofs, [InjectivityProof { age: 4, ..known }]);
        // It was put elsewhere.
        turn(&mut state, 2.0);
        second.recall(&state);
        second.start(&model, &groups, &state);
        second.keep(&mut state);
        assert!(state.proofs[0].age == 1 && state.proofs[0].rotation.is_some_and(|rotation| Some(rotation) != known.rotation));
        // A state that knows nothing: it is looked for at once.
        state.proofs.clear();
        second.recall(&state);
        second.start(&model, &groups, &state);
        assert_eq!(second.is_certified().collect::<Vec<bool>>(), [true]);
    }
}
