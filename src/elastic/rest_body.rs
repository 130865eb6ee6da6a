//! The factor of one body, turned to its present pose.

use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use super::node_rotations::{Asked, NodeRotations, Turn, node_rotation};
use super::rotation::Quaternion;
use super::{SystemInputs, elements, matrix};
use crate::math::Mat3;
use crate::model::{Loads, Model, Params, State};
use crate::sparse::{Columns, Operator, RestFactor};

/// The factor and compliance that bodies of one shape and material share.
#[derive(Debug)]
pub struct RestShape {
    pub factor: RestFactor,
    pub columns: Columns,
}

/// The factor of one deformable body in its rest pose or a later one, turned to its present pose.
#[derive(Debug)]
pub struct RestBody {
    pub shape: Arc<RestShape>,
    /// Rotation from the pose that the shape was made of to the rest pose of this body.
    pub turn: Turn,
    /// Rotation of each node from the pose of the shape; of a body whose contacts are solved with its matrix in f32
    /// those that were asked for.
    rotations: Vec<Mat3>,
    asked: Vec<OnceLock<Mat3>>,
}

impl RestBody {
    pub fn new(shape: Arc<RestShape>, turn: Turn) -> Self {
        Self { rotations: vec![Mat3::identity(); shape.factor.n_nodes()], shape, turn, asked: vec![] }
    }

    /// Turns the factor of the body number `body`; `lazily`: nodes are turned when they are asked for.
    pub fn turn(&mut self, model: &Model, body: usize, tet_rotations: &[Quaternion], lazily: bool) {
        let Self { turn, rotations, asked, .. } = self;
        let nodes = &model.bodies[body].nodes;
        asked.clear();
        if lazily {
            asked.resize_with(nodes.len(), OnceLock::new);
            return;
        }
        rotations.par_iter_mut().with_min_len(128).zip(nodes.clone()).for_each(|(rotation, node)| {
            *rotation = node_rotation(model, tet_rotations, node) * turn.of(node - nodes.start);
        });
    }

    /// Rotations of the nodes of the body number `body` in the step to whose tet rotations it was last turned.
    pub fn rotations<'a>(&'a self, model: &'a Model, body: usize, tet_rotations: &'a [Quaternion]) -> NodeRotations<'a> {
        let Self { turn, rotations, asked, .. } = self;
        match asked.is_empty() {
            true => NodeRotations::All(rotations),
            false => NodeRotations::Asked(Asked { model, tet_rotations, first: model.bodies[body].nodes.start, turn, found: asked }),
        }
    }
}

/// The matrix of all bodies as `state` is, which does not move, and the rotations of the tets there.
pub fn matrix_of_pose(model: &Model, params: &Params, state: &State) -> (Operator, Vec<Quaternion>) {
    let (elements, rotations) = elements(model, state, params.time_step);
    let mut a = Operator::default();
    let inputs = SystemInputs { model, state, params, loads: &Loads::default(), second_order: &[] };
    matrix(inputs, &elements.tangents, &mut a, &mut vec![]);
    (a, rotations)
}
