//! The element pass against single numbers, and the gather of tangents.

mod reshaped;
mod some_bodies;

use pulp::{Scalar, WithSimd};

use super::elements::{CornerGradients, EdgeTangents};
use super::groups::{Group, SideBySide, rows_of};
use super::pass::{Adds, Inputs, Outputs, Pass};
use super::registers::LANES;
use super::stress::gradient;
use super::*;
use crate::element::{Element, Tet4, Tet4Rest};
use crate::material::{
    Constitutive, ConstitutiveModel, Corotational, Deformation, InFrame, Lame, Material, MaterialModel, Tangent, ValidRange, VolumeChange,
};
use crate::math::lanes::{Lanes, Matrix, Row, from_matrix};
use crate::math::{Mat3, Quat, Vec3};
use crate::mesh::TetMesh;
use crate::model::{Loads, Model, ModelBuilder, Params, SoftBody, State, Tet};
use crate::sparse::Operator;
use bytemuck::Zeroable;

const X: [Vec3; 4] = [Vec3::new(0.0, 0.0, 0.0), Vec3::new(0.1, 0.01, 0.0), Vec3::new(0.0, 0.12, 0.02), Vec3::new(0.01, 0.0, 0.09)];

fn rubber() -> Material {
    Material { young_modulus: 5e5, poisson_ratio: 0.2, ..Material::default() }
}

fn model(material: Material) -> Model {
    let mut builder = ModelBuilder::default();
    builder.soft_body(SoftBody::with_boundary_surface("tet", material, TetMesh { positions: X.to_vec(), tets: vec![[0, 1, 2, 3]] }));
    builder.build().unwrap()
}

fn state(model: &Model, displacements: Vec<Vec3>, turn: Quat) -> State {
    State { displacements, rotations: vec![[turn.i, turn.j, turn.k, turn.w]; model.tets.len()], ..State::initial(model) }
}

fn forces(model: &Model, state: &State) -> [Vec3; 4] {
    elements(model, state, 0.01).0.forces.tets[0].map(|[x, y, z, _]| Vec3::new(x, y, z))
}

#[test]
fn a_turned_element_has_no_force() {
    let model = model(rubber());
    let turn = Quat::from_scaled_axis(Vec3::new(1.0, 2.0, -0.5));
    let turned: Vec<Vec3> = X.iter().map(|x| turn * x + Vec3::new(3.0, 1.0, -2.0) - x).collect();
    let scale = model.materials[0].lame().mu * model.tets[0].volume.powf(2.0 / 3.0);
    let largest = |u: Vec<Vec3>| forces(&model, &state(&model, u, turn)).iter().map(|f| f.norm()).fold(0.0, f64::max);
    assert!(largest(turned.clone()) < 1e-12 * scale);
    // A strain does make a force.
    assert!(largest(turned.iter().zip(&X).map(|(u, x)| u + x * 1e-6).collect()) > 1e-9 * scale);
}

#[test]
fn force_is_minus_the_energy_gradient() {
    let model = model(rubber());
    let u: Vec<Vec3> = (0..4).map(|k| Vec3::new(0.011, -0.007, 0.004) * (k as f64 * 1.7).sin()).collect();
    let mut displaced = state(&model, u, Quat::identity());
    (0..8).for_each(|_| displaced.rotations = elements(&model, &displaced, 0.01).1);
    let f = forces(&model, &displaced);
    for c in 0..4 {
        for axis in 0..3 {
            let eps = 1e-7;
            let shifted = |s: f64| {
                let mut state = displaced.clone();
                state.displacements[c][axis] += s;
                strain_energy(&model, &state)
            };
            let slope = (shifted(eps) - shifted(-eps)) / (2.0 * eps);
            assert!((slope + f[c][axis]).abs() < 1e-5 * f[c].norm().max(1.0), "{slope} {}", f[c][axis]);
        }
    }
}

/// The tets, scrambled from small strains to some that are turned inside out, with rotations that are far off.
fn scrambled(n: usize) -> (Vec<Tet>, State, Vec<Material>) {
    let random = |k: usize| Vec3::from_fn(|i, _| ((3 * k + i) as f64 * 12.989_8).sin());
    let Tet4Rest { gradients, volume } = Tet4Rest::new(&X).unwrap();
    let tet = |t: u32| Tet { nodes: [0, 1, 2, 3].map(|c| 4 * t + c), gradients, volume, material: t / 6, body: 0 };
    let quaternion = |t: usize| {
        let turn = Quat::from_scaled_axis(random(t + 200) * (0.3 * t as f64));
        [turn.i, turn.j, turn.k, turn.w]
    };
    let empty = State::initial(&ModelBuilder::default().build().unwrap());
    let state = State {
        displacements: (0..4 * n).map(|k| random(k) * (0.03 * (k / 4) as f64)).collect(),
        velocities: (0..4 * n).map(|k| random(k + 100)).collect(),
        rotations: (0..n).map(quaternion).collect(),
        ..empty
    };
    let soft = Material { young_modulus: 3e4, poisson_ratio: 0.45, stiffness_damping: 0.002, ..Material::default() };
    ((0..n as u32).map(tet).collect(), state, vec![rubber(), soft])
}

/// The pass over one model's tets, number by number.
fn alone<M: ConstitutiveModel>(model: M, beta: f64, tets: &[Tet], state: &State, dt: f64) -> (Elements, Vec<[f64; 4]>) {
    let mut groups = TetGroups { groups: vec![Group::zeroed(); tets.len().div_ceil(LANES)], ..TetGroups::default() };
    for (group, tets) in groups.groups.iter_mut().zip(tets.chunks(LANES)) {
        let rows = rows_of(tets, group);
        SideBySide { rows: &rows, group }.with_simd(Scalar::new());
    }
    let (mut motions, n, mut states) = (vec![], tets.len(), state.rotations.clone());
    gather_motions(&state.displacements, &state.velocities, &mut motions);
    let gradients = vec![CornerGradients::default(); n];
    let mut found = Elements {
        forces: Forces { tets: vec![[[0.0; 4]; 4]; n], patches: vec![] },
        tangents: Tangents {
            gradients,
            volume_gradients: vec![CornerGradients::default(); n],
            edges: vec![EdgeTangents::default(); n],
            patches: vec![],
        },
    };
    let Elements { forces: Forces { tets: forces, .. }, tangents: Tangents { gradients, volume_gradients, edges, .. } } = &mut found;
    let (rotations, rows) = states.split_at_mut(n);
    let outputs = Outputs { tets: 0..n, rotations, states: rows, forces, gradients, volume_gradients, edges };
    let inputs = Inputs { groups: &groups, motions: &motions, dt, follow: true, iterate: None, only: None };
    Pass {
        model,
        stiffness_damping: beta,
        rows_of_tet: M::STATE_ROWS,
        degeneration: None,
        frame: None,
        flow: None,
        adds: Adds::default(),
        inputs,
        outputs,
    }
    .with_simd(Scalar::new());
    (found, states)
}

/// Lanes give what single numbers give, where a register is not full, two materials share it, tets are inverted or
/// rotations far off.
#[test]
fn lanes_and_materials_do_not_mix() {
    let n = 11;
    let (tets, state, materials) = scrambled(n);
    assert!(tets.iter().filter(|t| (Mat3::identity() + gradient(t, &state.displacements)).determinant() < 0.0).count() > 1);
    let (mut together, mut motions, mut rotations) = (Elements::default(), vec![], state.rotations.clone());
    gather_motions(&state.displacements, &state.velocities, &mut motions);
    let groups = TetGroups::new(&tets, &materials);
    assert_eq!(groups.runs.len(), 2);
    groups.pass::<_, true>(&mut rotations, &motions, 0.01, &mut together.forces, &mut together.tangents);
    let single: Vec<_> = materials.iter().map(|m| alone(Corotational::new(m), m.stiffness_damping, &tets, &state, 0.01)).collect();
    for t in 0..n {
        let (found, states) = &single[tets[t].material as usize];
        let near = |a: f64, b: f64, scale: f64| (a - b).abs() <= 1e-9 * scale;
        assert!(rotations[t].iter().zip(&states[t]).all(|(a, b)| near(*a, *b, 1.0)), "{t}: {:?} {:?}", rotations[t], states[t]);
        let vectors = |of: &Elements| [of.forces.tets[t], of.tangents.gradients[t].0].as_flattened().to_vec();
        for (a, b) in vectors(&together).into_iter().zip(vectors(found)) {
            let norm = b.iter().map(|b| b * b).sum::<f64>().sqrt();
            assert!(a.iter().zip(&b).all(|(x, y)| near(*x, *y, norm)), "{t}: {a:?} {b:?}");
        }
        let other = &single[1 - tets[t].material as usize].0;
        assert!(
            (other.forces.tets[t][1][0] - found.forces.tets[t][1][0]).abs() > 1e-3 * found.forces.tets[t][1][0].abs(),
            "materials differ"
        );
    }
}

/// A material whose tangent is kept edge by edge, and that remembers how often it was asked: all of the contract that
/// the product's materials leave out.
#[derive(Clone, Copy)]
struct Counting(Corotational);

impl ConstitutiveModel for Counting {
    const TANGENT: Tangent = Tangent::General;
    const STATE_ROWS: usize = 2;
    type Kinematics<S: pulp::Simd> = InFrame<S>;
    type Moduli<S: pulp::Simd> = [Lanes<S>; 2];

    fn new(material: &Material) -> Self {
        Self(Corotational::new(material))
    }

    fn lame(&self) -> Lame {
        self.0.lame()
    }

    fn valid_range(&self) -> ValidRange {
        self.0.valid_range()
    }

    fn kinematics<S: pulp::Simd>(&self, at: &Deformation<S>) -> InFrame<S> {
        assert_eq!(at.state.len(), 2);
        self.0.kinematics(at)
    }

    fn energy<S: pulp::Simd>(&self, volume: Lanes<S>, at: &InFrame<S>) -> Lanes<S> {
        self.0.energy(volume, at)
    }

    fn stress<S: pulp::Simd>(&self, volume: Lanes<S>, at: &InFrame<S>) -> Matrix<S> {
        self.0.stress(volume, at)
    }

    fn moduli<S: pulp::Simd>(&self, volume: Lanes<S>, at: &InFrame<S>) -> [Lanes<S>; 2] {
        self.0.moduli(volume, at)
    }

    fn differential<S: pulp::Simd>(&self, at: &InFrame<S>, moduli: &[Lanes<S>; 2], change: &Matrix<S>) -> Matrix<S> {
        self.0.differential(at, moduli, change)
    }

    fn derivative<S: pulp::Simd>(&self, volume: Lanes<S>, at: &InFrame<S>, change: &Matrix<S>) -> Matrix<S> {
        self.0.derivative(volume, at, change)
    }

    fn without_volume_energy(&self) -> Self {
        Self(self.0.without_volume_energy())
    }

    fn volume_change<S: pulp::Simd>(&self, at: &InFrame<S>) -> VolumeChange<S> {
        self.0.volume_change(at)
    }

    fn volume_energy<S: pulp::Simd>(&self, change: Lanes<S>) -> [Lanes<S>; 3] {
        self.0.volume_energy(change)
    }

    fn advance<S: pulp::Simd>(&self, gradient: &Matrix<S>, _: &Matrix<S>, time_step: f64, state: &mut [Row<S>]) {
        state[0][3] = state[0][3] + 1.0;
        state[1][0] = state[1][0] + gradient[0][1] * time_step;
    }
}

/// The edges of a general tangent are those of the vectors of a warped one; forces agree; and every element keeps its
/// own rows of state.
#[test]
fn a_general_tangent_and_a_state_are_kept() {
    let (tets, mut state, materials) = scrambled(7);
    let n = tets.len();
    let (warped, _) = alone(Corotational::new(&materials[1]), 0.002, &tets, &state, 0.01);
    state.rotations.extend((0..2 * n).map(|k| [k as f64; 4]));
    let (general, states) = alone(Counting::new(&materials[1]), 0.002, &tets, &state, 0.01);
    for (t, tet) in tets.iter().enumerate() {
        for j in 0..Tet4::NODES {
            for i in (0..Tet4::NODES).filter(|i| *i != j) {
                let item = [Tet4::edge_item(t, [i, j])];
                let only = |tangents: &Tangents<f64>, gradients: bool| {
                    let mut tangents = tangents.clone();
                    tangents.gradients.iter_mut().filter(|_| !gradients).for_each(|g| *g = CornerGradients::default());
                    edge_block(&tangents, &item)
                };
                let (a, b) = (only(&warped.tangents, true), only(&general.tangents, false));
                assert!((a - b).norm() < 1e-10 * a.norm(), "{t} {i} {j}: {a} {b}");
                assert!(i < j || (a - a.transpose()).norm() < 1e-12 * a.norm() || (a.transpose() - b).norm() > 1e-6 * a.norm());
            }
        }
        for (a, b) in warped.forces.tets[t].iter().flatten().zip(general.forces.tets[t].iter().flatten()) {
            assert!((a - b).abs() < 1e-9 * warped.forces.tets[t].iter().flatten().map(|f| f.abs()).fold(0.0, f64::max));
        }
        let g = gradient(tet, &state.displacements);
        let (before, after) = (&state.rotations[n + 2 * t..][..2], &states[n + 2 * t..][..2]);
        assert_eq!(after[0], [before[0][0], before[0][1], before[0][2], before[0][3] + 1.0]);
        assert!((after[1][0] - before[1][0] - 0.01 * g[(0, 1)]).abs() < 1e-15 && after[1][1..] == before[1][1..]);
    }
}

/// However an element keeps its tangent, an edge gathers the differential of its model, beside elements that keep
/// theirs otherwise.
#[test]
fn edges_gather_the_differential_of_every_model() {
    for (k, model) in MaterialModel::ALL.iter().enumerate() {
        let n = 11;
        let (tets, state, mut materials) = scrambled(n);
        materials[1].model = *model;
        materials[0].model = MaterialModel::ALL[(k + 1) % MaterialModel::ALL.len()];
        let (mut found, mut motions, mut rotations) = (Elements::default(), vec![], state.rotations.clone());
        gather_motions(&state.displacements, &state.velocities, &mut motions);
        TetGroups::new(&tets, &materials).pass::<_, true>(&mut rotations, &motions, 0.01, &mut found.forces, &mut found.tangents);
        for (t, tet) in tets.iter().enumerate() {
            let material = &materials[tet.material as usize];
            let (g, r) = (gradient(tet, &state.displacements), rotation::matrix(&rotations[t]));
            let at = Deformation { gradient: from_matrix(&g), rotation: from_matrix(&r), state: &[] };
            let constitutive = Constitutive::new(material);
            for [i, j] in [[0, 1], [2, 1], [3, 0], [2, 3]] {
                let factor = tet.volume * 0.01 * (0.01 + material.stiffness_damping);
                let column = |axis: usize| {
                    let mut change = Mat3::zeros();
                    change.set_row(axis, &tet.gradients[j].transpose());
                    constitutive.differential(&at, &change) * tet.gradients[i] * factor
                };
                let wanted = Mat3::from_columns(&[0, 1, 2].map(column));
                let block = edge_block(&found.tangents, &[Tet4::edge_item(t, [i, j])]);
                assert!((block - wanted).norm() < 1e-9 * wanted.norm(), "{model:?} {t} {i} {j}: {block} {wanted}");
                let other = edge_block(&found.tangents, &[Tet4::edge_item(t, [j, i])]);
                assert!((other.transpose() - wanted).norm() < 1e-9 * wanted.norm(), "{model:?} {t} {i} {j}");
                assert!(t == 0 || (other - wanted).norm() > 1e-6 * wanted.norm(), "{model:?} {t} {i} {j}: it is not symmetric");
            }
        }
    }
}

/// An edge between two materials has the sum of what each gives.
#[test]
fn the_block_of_an_edge_between_materials_is_the_sum() {
    let mut builder = ModelBuilder::default();
    let positions = X.iter().copied().chain([Vec3::new(-0.05, 0.02, 0.07)]).collect();
    let tets = TetMesh { positions, tets: vec![[0, 1, 2, 3], [0, 3, 2, 4]] };
    builder.soft_body(SoftBody::with_boundary_surface("pair", rubber(), tets));
    let mut model = builder.build().unwrap();
    model.materials.push(Material { young_modulus: 2e5, poisson_ratio: 0.45, ..Material::default() });
    let blocks = |materials: [u32; 2], keep: [bool; 2]| {
        let mut model = model.clone();
        model.tets.iter_mut().zip(materials).for_each(|(tet, material)| tet.material = material);
        let (mut found, _) = elements(&model, &State::initial(&model), 0.01);
        found.tangents.gradients.iter_mut().zip(keep).filter(|(_, keep)| !keep).for_each(|(g, _)| *g = CornerGradients::default());
        let mut single = Tangents::default();
        found.tangents.round(&mut single);
        let mut singles = crate::memory::Pages::default();
        single_blocks(&model, 0, &single, &mut singles);
        let edges: Vec<Mat3> = (0..model.pattern.edges.len()).map(|e| edge_block(&found.tangents, model.edge_tets.get(e))).collect();
        let mut a = Operator::default();
        let (state, params, loads) = (State::initial(&model), Params::default(), Loads::default());
        matrix(
            SystemInputs { model: &model, state: &state, params: &params, loads: &loads, second_order: &[] },
            &found.tangents,
            &mut a,
            &mut vec![],
        );
        let rounded: Vec<Mat3> = (0..edges.len()).map(|e| Mat3::from_fn(|r, c| f64::from(singles[2 * e][c][r]))).collect();
        (edges, rounded)
    };
    let (first, _) = blocks([0, 1], [true, false]);
    let (second, _) = blocks([0, 1], [false, true]);
    let (both, rounded) = blocks([0, 1], [true, true]);
    let (alike, _) = blocks([0, 0], [true, true]);
    let mut differs = false;
    for e in 0..both.len() {
        assert!((first[e] + second[e] - both[e]).norm() < 1e-12 * both[e].norm(), "edge {e}");
        assert!((rounded[e] - both[e]).norm() < 1e-6 * both[e].norm(), "edge {e} in f32");
        differs |= (alike[e] - both[e]).norm() > 1e-3 * both[e].norm();
    }
    assert!(differs, "the second material matters");
}
