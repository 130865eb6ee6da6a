//! Passes and matrices of some bodies alone.

use super::rubber;
use crate::elastic::registers::gather_motions;
use crate::elastic::{Elements, PassAbout, SystemInputs, Tangents, TetGroups, elements, matrix, matrix_of, single_blocks};
use crate::math::{Mat3, Vec3};
use crate::memory::Pages;
use crate::mesh::shapes;
use crate::model::{Loads, Model, ModelBuilder, Params, SoftBody, State};
use crate::sparse::Operator;

/// Beams of 540 tets beside each other, with each node somewhere else than at rest.
fn beams(n: usize) -> (Model, State) {
    let mut builder = ModelBuilder::default();
    for k in 0..n {
        let mut tets = shapes::box_tets(Vec3::new(1.0, 0.2, 0.2), [10, 3, 3]);
        tets.positions.iter_mut().for_each(|p| p.z += k as f64);
        builder.soft_body(SoftBody::with_boundary_surface(format!("beam {k}"), rubber(), tets));
    }
    let model = builder.build().unwrap();
    let mut state = State::initial(&model);
    let noise = |k: usize| Vec3::new((1.3 * k as f64).sin(), (2.1 * k as f64).cos(), (0.7 * k as f64).sin()) * 5e-3;
    state.displacements.iter_mut().enumerate().for_each(|(k, u)| *u = noise(k));
    (model, state)
}

#[test]
fn a_pass_over_some_tets_finds_theirs_and_leaves_out_what_is_far() {
    let (model, state) = beams(6);
    let (whole, rotations) = elements(&model, &state, 0.01);
    let mut motions = vec![];
    gather_motions(&state.displacements, &state.velocities, &mut motions);
    let wanted = [1, 4].map(|body: usize| model.bodies[body].tets.clone());
    let mut found = Elements::default();
    let Elements { forces, tangents } = &mut found;
    let about = PassAbout { only: Some(&wanted), ..PassAbout::default() };
    TetGroups::of(&model).pass_about::<f64, false>(&mut rotations.clone(), &motions, about, 0.01, forces, tangents);
    let differs = |tet: usize| found.tangents.gradients[tet].0 != whole.tangents.gradients[tet].0;
    assert!(wanted.iter().all(|tets| !tets.clone().any(differs)));
    let left_out = (0..model.tets.len()).filter(|tet| differs(*tet)).count();
    assert!(left_out > model.tets.len() / 4, "{left_out} of {}", model.tets.len());
}

#[test]
fn the_rows_of_some_bodies_are_those_of_the_matrix() {
    let (model, state) = beams(5);
    let (params, loads) = (Params::default(), Loads::default());
    let inputs = SystemInputs { model: &model, state: &state, params: &params, loads: &loads, second_order: &[] };
    let (elements, _) = elements(&model, &state, 0.01);
    let (mut whole, mut some) = (Operator::default(), Operator::default());
    matrix(inputs, &elements.tangents, &mut whole, &mut vec![]);
    let bodies = [0, 2, 3];
    matrix_of(inputs, &bodies, &elements.tangents, &mut some, &mut vec![]);
    for (number, body) in model.bodies.iter().enumerate() {
        let blocks = model.pattern.blocks_of(&body.nodes);
        let is_there = bodies.contains(&number);
        assert_eq!(some.blocks[blocks.clone()] == whole.blocks[blocks.clone()], is_there, "{number}");
        assert!(is_there || some.blocks[blocks].iter().all(|block| *block == Mat3::zeros()));
        assert_eq!(some.inverse_diagonals[body.nodes.clone()] == whole.inverse_diagonals[body.nodes.clone()], is_there, "{number}");
    }
}

/// Blocks in f32 are those of each body by itself, whatever the tangents are kept in.
#[test]
fn single_blocks_are_those_of_a_body() {
    let (model, state) = beams(3);
    let (elements, _) = elements(&model, &state, 0.01);
    let mut rounded: Tangents<f32> = Tangents::default();
    elements.tangents.round(&mut rounded);
    let (params, loads) = (Params::default(), Loads::default());
    let inputs = SystemInputs { model: &model, state: &state, params: &params, loads: &loads, second_order: &[] };
    let mut edge_blocks = vec![];
    matrix(inputs, &elements.tangents, &mut Operator::default(), &mut edge_blocks);
    let largest = edge_blocks.iter().map(Mat3::amax).fold(0.0, f64::max);
    let mut blocks = Pages::default();
    for (number, body) in model.bodies.iter().enumerate() {
        let edges = model.pattern.edges_of(&body.nodes);
        assert!(edges.clone().all(|edge| model.pattern.edges[edge].iter().all(|node| body.nodes.contains(&(*node as usize)))));
        for of_rounded in [false, true] {
            match of_rounded {
                true => single_blocks(&model, number, &rounded, &mut blocks),
                false => single_blocks(&model, number, &elements.tangents, &mut blocks),
            }
            assert_eq!(blocks.len(), 2 * edges.len() + 1);
            for (pair, edge) in blocks.chunks_exact(2).zip(edges.clone()) {
                let off = |r: usize, c: usize| f64::from(pair[0][c][r]) - edge_blocks[edge][(r, c)];
                assert!((0..9).all(|k| off(k / 3, k % 3).abs() < 1e-6 * largest));
                assert!((0..9).all(|k| pair[0][k / 3][k % 3] == pair[1][k % 3][k / 3]));
            }
            assert_eq!(blocks[2 * edges.len()], [[0.0; 4]; 3]);
        }
    }
}
