//! The rest pose as a preconditioner: one factor a body and time step, turned by the rotations of the nodes.

use rayon::prelude::*;

use super::rotation::{self, Quaternion};
use super::{Damping, Element, elements, matrix};
use crate::math::{Mat3, Vec3};
use crate::model::{End, Model};
use crate::solver::{Loads, Params, State};
use crate::sparse::{Columns, Operator, RestFactor};

/// Bodies with more nodes go without a factor: its memory and the time to make it grow faster than what it saves.
const MAX_NODES: usize = 20_000;
/// Memory of the compliance columns of one body [bytes].
const COLUMNS_LIMIT: usize = 256 << 20;
/// Factors of this many time steps are kept: a step that fails is halved and later whole again.
const KEPT: usize = 2;

/// Of one deformable body.
#[derive(Debug)]
pub struct RestBody {
    pub factor: RestFactor,
    pub columns: Columns,
    /// Rotation of each node.
    pub rotations: Vec<Mat3>,
}

/// Factors for the time steps in use.
#[derive(Debug, Default)]
pub struct RestPoses {
    /// (time step, bodies), the last used first.
    kept: Vec<(f64, Vec<Option<RestBody>>)>,
}

impl RestPoses {
    /// The bodies with the factor of this time step and the rotations of `tet_rotations`.
    pub fn turned(&mut self, model: &Model, params: &Params, damping: &Damping, tet_rotations: &[Quaternion]) -> &mut [Option<RestBody>] {
        let place = self.kept.iter().position(|(dt, _)| *dt == params.time_step);
        let found = match place {
            Some(place) => self.kept.remove(place),
            None => (params.time_step, build(model, params, damping)),
        };
        self.kept.insert(0, found);
        self.kept.truncate(KEPT);
        let bodies = &mut self.kept[0].1;
        for (body, rest) in model.bodies.iter().zip(bodies.iter_mut()) {
            let Some(rest) = rest else { continue };
            rest.rotations.par_iter_mut().with_min_len(128).zip(body.nodes.clone()).for_each(|(rotation, node)| {
                *rotation = node_rotation(model, tet_rotations, node);
            });
        }
        bodies
    }
}

/// Mean of the rotations of the tets at a node, weighted with their volumes: the sum of their quaternions, of which R and -R are both signs.
fn node_rotation(model: &Model, tet_rotations: &[Quaternion], node: usize) -> Mat3 {
    let mut sum = [0.0; 4];
    for corner in model.node_corners.get(node) {
        let tet = (corner / 4) as usize;
        let q = &tet_rotations[tet];
        let side = q[0] * sum[0] + q[1] * sum[1] + q[2] * sum[2] + q[3] * sum[3];
        let weight = model.tets[tet].volume.copysign(side);
        for k in 0..4 {
            sum[k] += q[k] * weight;
        }
    }
    let norm = sum.iter().map(|c| c * c).sum::<f64>().sqrt();
    rotation::matrix(&sum.map(|c| c / norm))
}

fn build(model: &Model, params: &Params, damping: &Damping) -> Vec<Option<RestBody>> {
    // The matrix of the undeformed bodies at rest.
    let state = State::initial(model);
    let still = vec![Vec3::zeros(); model.n_nodes()];
    let mut rest_elements = vec![Element::default(); model.tets.len()];
    let mut rotations = state.rotations.clone();
    elements(&model.tets, &mut rotations, &state.displacements, &still, params.time_step, &damping.betas, &mut rest_elements);
    let mut a = Operator::default();
    matrix(model, &rest_elements, &state, params, &Loads::default(), damping, &mut a, &mut vec![]);
    let held = |end: &End| match end {
        End::Nodes(nodes) => nodes.iter().map(|(n, _)| *n).collect(),
        _ => vec![],
    };
    let attached: Vec<u32> = model.attachments.iter().flat_map(|attachment| &attachment.ends).flat_map(held).collect();
    let of_body = |body: &crate::model::Body| {
        let range = body.nodes.clone();
        if range.len() > MAX_NODES {
            return None;
        }
        // Not positive definite only where the material is not: then conjugate gradients do without.
        let factor = RestFactor::new(&model.pattern, &a.blocks, &range, &model.fixed, &model.rest_positions).ok()?;
        let mut touched: Vec<u32> = body
            .collision_vertices
            .clone()
            .flat_map(|v| model.collision.nodes[v].into_iter().zip(model.collision.weights[v]))
            .filter(|(_, w)| *w != 0.0)
            .map(|(n, _)| n)
            .chain(attached.iter().copied())
            .filter(|n| range.contains(&(*n as usize)) && !model.fixed[*n as usize])
            .map(|n| n - range.start as u32)
            .collect();
        touched.sort_unstable();
        touched.dedup();
        let columns = Columns::new(&factor, &touched, COLUMNS_LIMIT);
        Some(RestBody { factor, columns, rotations: vec![Mat3::identity(); range.len()] })
    };
    model.bodies.par_iter().map(of_body).collect()
}
