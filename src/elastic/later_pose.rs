//! Factors of later poses: where a contact solve had to factor the matrix of its step, as the factor said too little,
//! that of the pose at the end of the step is kept, turned on as the nodes turn, until it says too little itself. It
//! follows from [`State::later_poses`] alone.

use std::sync::Arc;

use rayon::prelude::*;

use super::node_rotations::{Turn, node_rotation};
use super::rest_body::{RestBody, RestShape, matrix_of_pose};
use crate::cancel::CancelToken;
use crate::math::Vec3;
use crate::model::{LaterPose, Model, Params, State};

/// The factor of a body in a later pose.
#[derive(Debug)]
pub struct LaterBody {
    pose: Arc<LaterPose>,
    /// None where the matrix of the pose is not positive definite.
    pub body: Option<RestBody>,
}

/// Makes the factors of the later poses of a state, unless they are there. Where `cancel` is cancelled meanwhile some
/// are missing; the next call makes them.
pub fn follow(
    later: &mut Vec<Option<LaterBody>>,
    rests: &[Option<RestBody>],
    (model, params): (&Model, &Params),
    state: &State,
    cancel: &CancelToken,
) {
    later.resize_with(model.bodies.len(), || None);
    let mut due: Vec<(usize, &Arc<LaterPose>, &RestShape)> = vec![];
    for (body, later) in later.iter_mut().enumerate() {
        let pose = state.later_poses.get(body).and_then(Option::as_ref);
        let is_there = |later: &LaterBody| pose.is_some_and(|pose| Arc::ptr_eq(&later.pose, pose) || later.pose == *pose);
        if later.as_ref().is_some_and(is_there) {
            continue;
        }
        *later = None;
        let rest = rests.get(body).and_then(Option::as_ref);
        due.extend(pose.zip(rest).map(|(pose, rest)| (body, pose, &*rest.shape)));
    }
    if due.is_empty() {
        return;
    }
    let mut posed = State { velocities: vec![Vec3::zeros(); model.n_nodes()], ..State::at_rest(model) };
    due.iter().for_each(|(body, pose, _)| pose.put(model, *body, &mut posed));
    let (a, rotations) = matrix_of_pose(model, params, &posed);
    let made = due.into_par_iter().map(|(body, pose, rest)| {
        let nodes = model.bodies[body].nodes.clone();
        let rows = &a.blocks[model.pattern.row_starts[nodes.start] as usize..];
        let factor = rest.factor.of_matrix(&model.pattern, rows, nodes.start, cancel).ok();
        let made = factor.map(|factor| {
            let turns = nodes.map(|node| node_rotation(model, &rotations, node).transpose()).collect();
            RestBody::new(Arc::new(RestShape { factor, columns: rest.columns.of_factor() }), Turn::OfNodes(turns))
        });
        (body, LaterBody { pose: pose.clone(), body: made })
    });
    let made: Vec<(usize, LaterBody)> = made.collect();
    if !cancel.is_cancelled() {
        made.into_iter().for_each(|(body, made)| later[body] = Some(made));
    }
}
