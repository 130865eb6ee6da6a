//! What is laid over a constitutive model: rest shapes that have flowed, and limits of stretch.

use super::*;
use crate::material::{MaterialModel, PlasticRows, Plasticity, StretchLimits};

/// It remembers, but does not flow.
const FROZEN: Plasticity = Plasticity { yield_strain: 0.01, creep: 0.0, max_strain: 1.0 };

/// Rows of U_p^-1 - I that are left by a large strain.
fn flowed(material: Material) -> PlasticRows {
    let rule = Plasticity { creep: f64::INFINITY, ..FROZEN };
    let gradient = Mat3::new(0.2, 0.1, -0.05, 0.0, -0.15, 0.1, 0.12, 0.0, 0.05);
    let rows = rule.advance(&crate::material::Constitutive::new(&material), &gradient, 0.01, PlasticRows::default());
    assert!(rows.strain().norm() > 0.1);
    rows
}

fn one_tet(positions: [Vec3; 4], material: Material) -> Model {
    let mut builder = ModelBuilder::default();
    let tets = TetMesh { positions: positions.to_vec(), tets: vec![[0, 1, 2, 3]] };
    builder.soft_body(SoftBody::with_boundary_surface("tet", material, tets));
    builder.build().unwrap()
}

/// State in which the nodes are at `positions` and move.
fn moving(model: &Model, positions: &[Vec3; 4], rows: Option<PlasticRows>) -> State {
    let turn = Quat::from_scaled_axis(Vec3::new(0.2, -0.1, 0.15));
    let mut rotations = vec![[turn.i, turn.j, turn.k, turn.w]];
    rotations.extend(rows.iter().flat_map(|rows| rows.0));
    State {
        displacements: positions.iter().zip(&model.rest_positions).map(|(x, rest)| x - rest).collect(),
        velocities: (0..4).map(|k| Vec3::new(0.3, -0.2, 0.1) * (k as f64 * 1.3).sin()).collect(),
        rotations,
        ..State::initial(model)
    }
}

fn blocks(found: &Elements) -> Vec<Mat3> {
    let pairs = (0..4).flat_map(|j| (0..4).filter(move |i| *i != j).map(move |i| [i, j]));
    pairs.map(|pair| edge_block(&found.tangents, &[Tet4::edge_item(0, pair)])).collect()
}

fn positions() -> [Vec3; 4] {
    let f = Mat3::new(1.25, 0.2, -0.1, -0.15, 0.95, 0.1, 0.1, -0.05, 1.1);
    X.map(|x| f * x + Vec3::new(1.0, 2.0, 3.0))
}

/// A flowed element is an elastic one of the shape to which it would return: forces, tangents, rotation, energy and
/// stress, for every model, with and without limits.
#[test]
fn a_flowed_element_is_one_of_another_rest_shape() {
    for (model, max) in MaterialModel::ALL.iter().flat_map(|model| [(model, None), (model, Some(1.05))]) {
        let elastic = Material { model: *model, stiffness_damping: 0.003, stretch_limits: StretchLimits::new(None, max), ..rubber() };
        let plastic = Material { plasticity: Some(FROZEN), ..elastic };
        let rows = flowed(elastic);
        let stretch = (Mat3::identity() + rows.change()).try_inverse().unwrap();
        let [one, other] = [one_tet(X, plastic), one_tet(X.map(|x| stretch * x), elastic)];
        let [state, of_other] = [moving(&one, &positions(), Some(rows)), moving(&other, &positions(), None)];
        let [(found, after), (wanted, _)] = [elements(&one, &state, 0.01), elements(&other, &of_other, 0.01)];
        let scale = wanted.forces.tets[0].iter().flatten().fold(0.0, |most: f64, f| most.max(f.abs()));
        for (a, b) in found.forces.tets[0].iter().flatten().zip(wanted.forces.tets[0].iter().flatten()) {
            assert!((a - b).abs() < 1e-9 * scale, "{model:?}: {a} {b}");
        }
        for (a, b) in blocks(&found).iter().zip(&blocks(&wanted)) {
            assert!((a - b).norm() < 1e-9 * b.norm(), "{model:?}: {a} {b}");
        }
        // What does not flow is remembered, up to roundings.
        for (before, after) in rows.0.iter().flatten().zip(after[1..].iter().flatten()) {
            assert!((before - after).abs() < 1e-13, "{model:?}: {before} {after}");
        }
        let [a, b] = [strain_energy(&one, &state), strain_energy(&other, &of_other)];
        assert!((a - b).abs() < 1e-9 * b, "{model:?}: {a} {b}");
        let [a, b] = [(&one, &state), (&other, &of_other)]
            .map(|(model, state)| cauchy_stresses(model, &state.displacements, &state.rotations[1..])[0].unwrap());
        assert!((a - b).norm() < 1e-9 * b.norm(), "{model:?}: {a} {b}");
        // The shape matters.
        let forgotten = elements(&one, &moving(&one, &positions(), Some(PlasticRows::default())), 0.01).0;
        assert!((forgotten.forces.tets[0][1][0] - found.forces.tets[0][1][0]).abs() > 1e-2 * scale, "{model:?}");
    }
}

/// Nothing has flowed: the very same bits, whether a material could flow or not.
#[test]
fn what_has_not_flowed_is_elastic_bit_for_bit() {
    let soft = Plasticity { yield_strain: 5.0, ..FROZEN };
    for model in MaterialModel::ALL {
        let elastic = Material { model: *model, stiffness_damping: 0.003, ..rubber() };
        let [one, other] = [one_tet(X, Material { plasticity: Some(soft), ..elastic }), one_tet(X, elastic)];
        let (found, after) = elements(&one, &moving(&one, &positions(), Some(PlasticRows::default())), 0.01);
        let (wanted, rotations) = elements(&other, &moving(&other, &positions(), None), 0.01);
        assert!(found.forces.tets == wanted.forces.tets && blocks(&found) == blocks(&wanted), "{model:?}");
        assert_eq!(after[..1], rotations[..], "{model:?}");
        assert!(after[1..].iter().flatten().all(|x| *x == 0.0), "{model:?}");
    }
}

/// With limits forces are those of the energy, and the blocks are their derivative where the tangent is exact.
#[test]
fn limits_add_forces_and_tangents() {
    let material =
        |max| Material { model: MaterialModel::StVenantKirchhoff, stretch_limits: StretchLimits::new(Some(0.5), max), ..rubber() };
    let at = X.map(|x| Mat3::new(1.3, 0.1, 0.0, -0.1, 1.25, 0.05, 0.0, 0.1, 1.2) * x);
    let resting = |model: &Model, x: &[Vec3; 4]| State { velocities: vec![Vec3::zeros(); 4], ..moving(model, x, None) };
    let mut stiffness = vec![];
    for max in [None, Some(1.1), Some(1.5)] {
        let model = one_tet(X, material(max));
        let forces = |x: &[Vec3; 4]| elements(&model, &resting(&model, x), 0.01).0.forces.tets[0];
        let (found, h) = (elements(&model, &resting(&model, &at), 0.01).0, 1e-7);
        let moved = |c: usize, axis: usize, step: f64| {
            let mut x = at;
            x[c][axis] += step;
            x
        };
        for c in 0..4 {
            for axis in 0..3 {
                let [more, less] = [h, -h].map(|step| moved(c, axis, step));
                let energy = |x| strain_energy(&model, &resting(&model, x));
                let slope = (energy(&more) - energy(&less)) / (2.0 * h);
                let force = found.forces.tets[0][c][axis];
                assert!((slope + force).abs() < 1e-5 * force.abs().max(1.0), "{max:?}: {slope} {force}");
                let (after, before) = (forces(&more), forces(&less));
                for i in (0..4).filter(|i| *i != c) {
                    let block = edge_block(&found.tangents, &[Tet4::edge_item(0, [i, c])]) / (0.01 * 0.01);
                    for row in 0..3 {
                        let wanted = -(after[i][row] - before[i][row]) / (2.0 * h);
                        assert!((block[(row, axis)] - wanted).abs() < 1e-5 * block.norm(), "{max:?}: {block} {wanted}");
                    }
                }
            }
        }
        stiffness.push(edge_block(&found.tangents, &[Tet4::edge_item(0, [0, 1])]).norm());
    }
    // Beyond the limits it is stiffer by far, within them the very same.
    assert!(stiffness[1] > 3.0 * stiffness[0] && stiffness[2] == stiffness[0], "{stiffness:?}");
}

/// Tets of different materials beside each other have what each has alone, in f64 and f32.
#[test]
fn neighbours_in_a_register_flow_on_their_own() {
    let (tets, mut state, _) = scrambled(11);
    let soft = Material { young_modulus: 3e4, stretch_limits: StretchLimits::new(Some(0.8), Some(1.1)), ..rubber() };
    let flowing = Plasticity { yield_strain: 0.02, creep: 50.0, max_strain: 1.0 };
    let materials = [Material { model: MaterialModel::NeoHookean, plasticity: Some(flowing), ..rubber() }, soft];
    let rows = |t: usize| if tets[t].material == 0 { 2 } else { 0 };
    state.rotations.extend(std::iter::repeat_n([0.0; 4], (0..11).map(rows).sum()));
    let mut motions = vec![];
    gather_motions(&state.displacements, &state.velocities, &mut motions);
    let pass = |tets: &[Tet], states: &[[f64; 4]]| {
        let (mut found, mut states, mut single) = (Elements::default(), states.to_vec(), Tangents::<f32>::default());
        let groups = TetGroups::new(tets, &materials);
        groups.pass::<_, true>(&mut states, &motions, 0.01, &mut found.forces, &mut found.tangents);
        // Once more, into the same places.
        groups.pass::<_, false>(&mut states, &motions, 0.01, &mut found.forces, &mut found.tangents);
        groups.pass::<_, false>(&mut states, &motions, 0.01, &mut found.forces, &mut single);
        (found, states, single)
    };
    let (together, states, single) = pass(&tets, &state.rotations);
    let (mut place, mut n_flowed) = (11, 0);
    for t in 0..11 {
        let own = [&state.rotations[t..t + 1], &state.rotations[place..][..rows(t)]].concat();
        let (alone, after, _) = pass(&tets[t..t + 1], &own);
        assert_eq!(alone.forces.tets[0], together.forces.tets[t], "{t}");
        assert_eq!(alone.tangents.edges[0].0, together.tangents.edges[t].0, "{t}");
        assert_eq!(after[1..], states[place..][..rows(t)], "{t}");
        n_flowed += usize::from(after[1..].iter().flatten().any(|x| *x != 0.0));
        let size = alone.tangents.edges[0].0.iter().flatten().flatten().fold(0.0, |most: f64, x| most.max(x.abs()));
        for (a, b) in alone.tangents.edges[0].0.iter().flatten().flatten().zip(single.edges[t].0.iter().flatten().flatten()) {
            assert!((a - f64::from(*b)).abs() <= 1e-6 * size, "{t}: {a} {b}");
        }
        place += rows(t);
    }
    assert!(n_flowed > 1, "{n_flowed}");
}
