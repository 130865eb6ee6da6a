//! Poses that stand for the rest pose where a body has come too far from it.

use super::{LaterPose, Model, State};

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
