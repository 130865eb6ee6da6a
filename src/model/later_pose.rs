//! Poses that stand for the rest pose where a body has come too far from it.

use super::{Model, State};
use crate::math::Vec3;

/// The pose of one deformable body that its factor for contact is of. With model and time step all that the factor
/// follows from: a run that is resumed makes the same one again.
#[derive(Clone, Debug, PartialEq)]
pub struct LaterPose {
    /// Of its nodes [m].
    pub displacements: Vec<Vec3>,
    /// What its elements remember, as in [`State::rotations`]: the rotations of its tets, then the other rows.
    pub rotations: Vec<[f64; 4]>,
}

impl LaterPose {
    /// The pose of the body number `body` in a state.
    pub fn of(model: &Model, state: &State, body: usize) -> Self {
        let rows = model.element_rows(body).into_iter().flat_map(|rows| &state.rotations[rows]);
        Self { displacements: state.displacements[model.bodies[body].nodes.clone()].to_vec(), rotations: rows.copied().collect() }
    }

    /// Gives a state this pose of the body number `body`.
    pub fn put(&self, model: &Model, body: usize, state: &mut State) {
        state.displacements[model.bodies[body].nodes.clone()].copy_from_slice(&self.displacements);
        let [of_tets, others] = model.element_rows(body);
        let (rotations, rows) = self.rotations.split_at(of_tets.len());
        state.rotations[of_tets].copy_from_slice(rotations);
        state.rotations[others].copy_from_slice(rows);
    }
}
