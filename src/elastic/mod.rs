//! Elasticity: forces and tangents of the elements, the matrix of the semi-implicit step, and the rest pose that
//! preconditions it.

mod assembly;
mod degeneration;
pub(crate) mod elements;
mod energy;
mod flow;
mod groups;
mod later_pose;
mod node_rotations;
mod pass;
mod patches;
mod range;
mod recovery;
pub(crate) mod registers;
mod rest_body;
mod rest_pose;
pub(crate) mod rotation;
mod stress;
mod way;
#[cfg(test)]
mod patch_tests;
#[cfg(test)]
mod tests;

pub use assembly::{
    Inertia, SECOND_ORDER, SystemInputs, edge_block, grab_factor, link, matrix, matrix_of, pull, right_hand_side, rigid_right_hand_side,
    single_blocks,
};
pub use degeneration::Degeneration;
pub use elements::{CornerForces, CornerGradients, EdgeTangents, Elements, Forces, PassAbout, Tangents, elements};
pub use energy::ForcesMemory;
pub use groups::TetGroups;
pub use node_rotations::NodeRotations;
pub use range::{BeyondRange, beyond_range, most_strained};
pub use recovery::{MeanDeformation, frames, mean_deformation, patience};
pub use registers::{Iterate, NodeMotion, gather_motions};
pub use rest_body::{RestBody, RestShape};
pub use rest_pose::{Aggregates, Levels, RestPoses, SAMPLES, coarse_factors, stiffness};
pub use rotation::{IDENTITY, MAX_STEPS as MAX_ROTATION_STEPS, Quaternion, TOLERANCE as ROTATION_TOLERANCE};
pub use stress::{cauchy_stresses, deformation_gradient, gradient, patch_gradient, state_rows, strain_energy, von_mises};
pub use way::{Damping, Way};
