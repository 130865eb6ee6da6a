//! Rotations of the nodes of a body from the pose of its factor.

use std::sync::OnceLock;

use super::rotation::{self, Quaternion};
use crate::element::{Element, Tet4};
use crate::math::Mat3;
use crate::model::Model;

/// The rotations of the nodes of one body, counted from its first one.
#[derive(Clone, Copy)]
pub enum NodeRotations<'a> {
    /// Of all nodes.
    All(&'a [Mat3]),
    /// Found when they are asked for: of a large body only nodes at contacts are.
    Asked(Asked<'a>),
    /// The factor is of the present pose.
    None,
}

/// Rotations from the pose that a factor is of to the rest pose of its body.
#[derive(Debug)]
pub enum Turn {
    /// The factor is of the rest pose of a body of the same shape.
    Whole(Mat3),
    /// It is of a later pose; of each node.
    OfNodes(Vec<Mat3>),
}

impl Turn {
    /// Of one node, counted from the first of the body.
    pub fn of(&self, node: usize) -> Mat3 {
        match self {
            Self::Whole(turn) => *turn,
            Self::OfNodes(turns) => turns[node],
        }
    }
}

/// What rotations are found from, and those that were.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub model: &'a Model,
    pub tet_rotations: &'a [Quaternion],
    /// First node of the body.
    pub first: usize,
    pub turn: &'a Turn,
    /// One a node.
    pub found: &'a [OnceLock<Mat3>],
}

impl NodeRotations<'_> {
    pub fn get(&self, node: usize) -> Mat3 {
        match self {
            Self::All(rotations) => rotations[node],
            Self::None => Mat3::identity(),
            Self::Asked(Asked { model, tet_rotations, first, turn, found }) => {
                *found[node].get_or_init(|| node_rotation(model, tet_rotations, first + node) * turn.of(node))
            }
        }
    }
}

/// Mean of the rotations of the tets at a node, weighted with their volumes.
pub fn node_rotation(model: &Model, tet_rotations: &[Quaternion], node: usize) -> Mat3 {
    let tets = model.node_corners.get(node).iter().map(|corner| Tet4::corner_of(*corner).0);
    rotation::mean(tets.map(|tet| (tet_rotations[tet], model.tets[tet].volume)))
}
