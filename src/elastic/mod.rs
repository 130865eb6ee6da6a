//! Elasticity: forces and tangents of the elements, the matrix of the semi-implicit step, and the rest pose that preconditions it.

mod assembly;
pub(crate) mod elements;
pub(crate) mod lanes;
mod rest_pose;
pub(crate) mod rotation;
mod stress;

pub use assembly::{Damping, edge_block, link, matrix, right_hand_side, rigid_right_hand_side, single_blocks};
pub use elements::{CornerForces, CornerGradients, Elements, NodeMotion, TetGroups, elements, gather_motions, gradient, round};
pub use rest_pose::{Aggregates, Levels, RestBody, RestPoses, RestShape, SAMPLES, coarse_factors, stiffness};
pub use rotation::{IDENTITY, Quaternion};
pub use stress::{cauchy_stress, von_mises};
