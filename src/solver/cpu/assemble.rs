//! Right-hand side and matrix, gathered from the element pass: one owner for every entry, so no order of threads can show.

use rayon::prelude::*;

use super::elements::Element;
use crate::math::{Mat3, Vec3};
use crate::model::Model;
use crate::solver::{Loads, Params, State};
use crate::sparse::{CHUNK, Operator, RankOne};

/// Rayleigh damping of each body: alpha [1/s] and beta [s].
#[derive(Clone, Debug, Default)]
pub struct Damping {
    pub alphas: Vec<f64>,
    pub betas: Vec<f64>,
}

impl Damping {
    pub fn of(model: &Model) -> Self {
        let materials = model.bodies.iter().map(|b| b.material);
        Self { alphas: materials.clone().map(|m| m.mass_damping).collect(), betas: materials.map(|m| m.stiffness_damping).collect() }
    }
}

/// The right-hand side of  A dv = rhs  [kg m/s]:
/// dt (f_el(x + (dt + beta) v) + m g + f_ext) - dt alpha m v, with R frozen in f_el. It is Algorithm 3 of the thesis (corrected signs,
/// `elasticity.md` 3.2, 7) in the unknown dv = v' - v. Zero at fixed nodes. Of a free rigid body: weight and gyroscopic torque.
pub fn right_hand_side(
    model: &Model,
    elements: &[Element],
    state: &State,
    params: &Params,
    loads: &Loads,
    damping: &Damping,
    rhs: &mut [Vec3],
) {
    let dt = params.time_step;
    let State { velocities, displacements, .. } = state;
    let (nodes, rigid) = rhs.split_at_mut(model.n_nodes());
    for ((body, state), rhs) in model.rigid_bodies.iter().zip(&state.rigid_bodies).zip(rigid.chunks_exact_mut(2)) {
        rhs.fill(Vec3::zeros());
        if let Some((mass, inertia)) = body.inertia_in_space(&state.pose.rotation) {
            rhs[0] = params.gravity * (mass * dt);
            rhs[1] = -state.angular_velocity.cross(&(inertia * state.angular_velocity)) * dt;
        }
    }
    nodes.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, rhs)| {
        for (k, rhs) in rhs.iter_mut().enumerate() {
            let i = chunk * CHUNK + k;
            let mut force = params.gravity * model.node_masses[i];
            for corner in model.node_corners.get(i) {
                force += elements[(corner / 4) as usize].forces[(corner % 4) as usize];
            }
            if let Some(extra) = loads.node_forces.get(i) {
                force += extra;
            }
            let alpha = damping.alphas[model.node_bodies[i] as usize];
            *rhs = (force - velocities[i] * (alpha * model.node_masses[i])) * dt;
        }
    });
    for grab in &loads.grabs {
        let term = RankOne { nodes: grab.nodes, weights: grab.weights, factor: 1.0 };
        let position = term.gather(&model.rest_positions, 0) + term.gather(displacements, 0);
        let velocity = term.gather(velocities, 0);
        let pull = (grab.target - position) * (dt * grab.stiffness) - velocity * (dt * dt * grab.stiffness + dt * grab.damping);
        term.spread(&pull, nodes, 0);
    }
    for (rhs, _) in nodes.iter_mut().zip(&model.fixed).filter(|(_, fixed)| **fixed) {
        *rhs = Vec3::zeros();
    }
}

/// The matrix  A = (1 + dt alpha) M + (dt^2 + dt beta) K_warped + springs, by edge gather (`fem-study.md` 3): a block (i, j) is summed over
/// the tets that share the edge, its transpose is (j, i), and a diagonal block follows from the rows of K summing to zero. Rigid bodies have mass and inertia.
pub fn matrix(
    model: &Model,
    elements: &[Element],
    state: &State,
    params: &Params,
    loads: &Loads,
    damping: &Damping,
    a: &mut Operator,
    edge_blocks: &mut Vec<Mat3>,
) {
    let dt = params.time_step;
    let pattern = &model.pattern;
    edge_blocks.resize(pattern.edges.len(), Mat3::zeros());
    edge_blocks.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, blocks)| {
        for (k, block) in blocks.iter_mut().enumerate() {
            *block = edge_block(elements, model.edge_tets.get(chunk * CHUNK + k));
        }
    });
    a.blocks.resize(pattern.n_blocks(), Mat3::zeros());
    for (block, [ij, ji]) in edge_blocks.iter().zip(&pattern.edge_blocks) {
        a.blocks[*ij as usize] = *block;
        a.blocks[*ji as usize] = block.transpose();
    }
    for i in 0..model.n_nodes() {
        let alpha = damping.alphas[model.node_bodies[i] as usize];
        let diagonal = pattern.diagonals[i] as usize;
        let mut sum = Mat3::identity() * (model.node_masses[i] * (1.0 + dt * alpha));
        for b in pattern.row(i).filter(|b| *b != diagonal) {
            sum -= a.blocks[b];
        }
        a.blocks[diagonal] = sum;
    }
    a.rigid_blocks.clear();
    for (body, state) in model.rigid_bodies.iter().zip(&state.rigid_bodies) {
        let (mass, inertia) = body.inertia_in_space(&state.pose.rotation).unwrap_or((0.0, Mat3::zeros()));
        a.rigid_blocks.extend([Mat3::identity() * mass, inertia]);
    }
    a.rank_ones.clear();
    a.rank_ones.extend(loads.grabs.iter().map(|grab| RankOne {
        nodes: grab.nodes,
        weights: grab.weights,
        factor: dt * dt * grab.stiffness + dt * grab.damping,
    }));
    a.invert_diagonals(pattern, &model.fixed);
}

/// Sum over the tets of one edge of (lambda/mu) a_i a_j^T + a_j a_i^T + (a_i.a_j) I.
pub fn edge_block(elements: &[Element], edge_tets: &[u32]) -> Mat3 {
    edge_tets
        .iter()
        .map(|item| {
            let element = &elements[(item / 16) as usize];
            let (ai, aj) = (element.gradients[(item / 4 % 4) as usize], element.gradients[(item % 4) as usize]);
            let outer = ai * aj.transpose();
            outer * element.lambda_over_mu + outer.transpose() + Mat3::identity() * ai.dot(&aj)
        })
        .sum()
}
