//! Elasticity: forces and tangents of the elements, the matrix of the semi-implicit step, and the rest pose that
//! preconditions it.

mod assembly;
pub(crate) mod elements;
pub(crate) mod groups;
mod node_rotations;
mod pass;
mod rest_pose;
pub(crate) mod rotation;
mod stress;
#[cfg(test)]
mod tests;

pub use assembly::{SystemInputs, edge_block, link, matrix, right_hand_side, rigid_right_hand_side, single_blocks};
pub use elements::{CornerForces, CornerGradients, EdgeTangents, Elements, Tangents, elements};
pub use groups::{NodeMotion, TetGroups, gather_motions};
pub use node_rotations::NodeRotations;
pub use rest_pose::{Aggregates, Levels, RestBody, RestPoses, RestShape, SAMPLES, coarse_factors, stiffness};
pub use rotation::{IDENTITY, MAX_STEPS as MAX_ROTATION_STEPS, Quaternion, TOLERANCE as ROTATION_TOLERANCE};
pub use stress::{cauchy_stress, deformation_gradient, state_rows, strain_energy, von_mises};
