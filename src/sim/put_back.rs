//! A body that goes back to where it started while the others go on.

use super::{CommandError, Simulation, start};
use crate::body::BodyRef;
use crate::model::{Model, State};

impl Simulation {
    /// Puts a body back; refused where another one is there now.
    pub(super) fn put_back(&mut self, name: &str) -> Result<(), CommandError> {
        let model = self.model.clone();
        let body = self.free_body(name)?;
        let start = super::start(&model, &self.params);
        let mut state = self.stepper.state().map_err(|error| CommandError::Step(error.to_string()))?.clone();
        copy(&mut state, &start, &model, body);
        // Nothing of the others is warm where this one is part of it, and a step of second order begins anew.
        state.contacts.entries.clear();
        state.history.clear();
        start::check_start(&self.checker, &model, &state, self.params.contact_tolerance)
            .map_err(|fault| CommandError::NoRoom { body: name.to_owned(), fault: fault.to_string() })?;
        self.stepper.set_state(&state).map_err(|error| CommandError::Step(error.to_string()))
    }

    /// The body of a name, which moves freely.
    pub(super) fn free_body(&self, name: &str) -> Result<BodyRef, CommandError> {
        let (model, numbering) = (&self.model, self.model.numbering());
        let body = (0..numbering.n_with_unknowns()).map(|number| numbering.body(number)).find(|body| model.body_name(*body) == name);
        body.filter(|body| model.is_movable(*body)).ok_or_else(|| CommandError::NothingFree { body: name.to_owned() })
    }
}

/// Gives `to` what is of one body in `from`.
fn copy(to: &mut State, from: &State, model: &Model, body: BodyRef) {
    for unknown in (0..model.n_unknowns()).filter(|unknown| model.body_of_unknown(*unknown) == body) {
        to.velocity_changes[unknown] = from.velocity_changes[unknown];
    }
    let place = body.index();
    if !body.is_deformable() {
        to.rigid_bodies[place] = from.rigid_bodies[place];
        return;
    }
    let nodes = &model.bodies[place].nodes;
    to.displacements[nodes.clone()].copy_from_slice(&from.displacements[nodes.clone()]);
    to.velocities[nodes.clone()].copy_from_slice(&from.velocities[nodes.clone()]);
    for rows in model.element_rows(place) {
        to.rotations[rows.clone()].copy_from_slice(&from.rotations[rows]);
    }
    to.tangled[place] = from.tangled[place];
    to.tangled_times[place] = from.tangled_times[place];
    to.outgrown[place] = from.outgrown[place];
    to.slow[place] = from.slow[place];
    to.later_poses[place].clone_from(&from.later_poses[place]);
}

#[cfg(test)]
mod tests {
    use crate::math::Vec3;
    use crate::scene::BackendChoice;
    use crate::sim::tests::{self, state_after};
    use crate::sim::{Command, Simulation};

    const SCENE: &str = "format = 1\n[material.gum]\n\
                         [[body]]\nname = \"first\"\nmaterial = \"gum\"\nshape = { type = \"box\", size = [0.2, 0.2, 0.2], cells = [1, 1, 1] }\n\
                         position = [0, 1, 0]\nvelocity = [0, 0, 1]\n\
                         [[body]]\nname = \"second\"\nmaterial = \"gum\"\nshape = { type = \"box\", size = [0.2, 0.2, 0.2], cells = [1, 1, 1] }\n\
                         position = [1, 1, 0]\n\
                         [[body]]\nname = \"block\"\nkind = \"rigid\"\nshape = { type = \"box\", size = [0.2, 0.2, 0.2] }\nposition = [2, 1, 0]\n\
                         [[body]]\nname = \"floor\"\nkind = \"static\"\nshape = { type = \"plane\" }\n";

    fn simulation() -> Simulation {
        tests::simulation(BackendChoice::Cpu, SCENE, &[])
    }

    #[test]
    fn one_body_starts_again_and_the_others_go_on() {
        let mut simulation = simulation();
        let start = state_after(&mut simulation, 0);
        let before = state_after(&mut simulation, 10);
        for name in ["first", "block"] {
            simulation.apply(&Command::PutBack { body: name.into() }).unwrap();
        }
        let after = simulation.state().unwrap().clone();
        assert!(after.displacements[..8] == start.displacements[..8] && after.velocities[..8] == start.velocities[..8]);
        assert!(before.displacements[8..] == after.displacements[8..] && before.displacements[8].y < -0.01);
        assert_eq!((after.rigid_bodies[0], after.time), (start.rigid_bodies[0], before.time));
        // It falls as it did, and the same commands lead to the same bits.
        let later = state_after(&mut simulation, 10);
        assert!((later.displacements[0] - before.displacements[0]).norm() < 1e-9, "{:?}", later.displacements[0]);
        let log = simulation.log().clone();
        let mut again = self::simulation();
        for step in 0..20 {
            log.at(step).iter().for_each(|logged| again.apply(&logged.command).unwrap());
            again.step().unwrap();
        }
        assert!(*again.state().unwrap() == later);
    }

    #[test]
    fn what_is_in_the_way_or_no_body_is_refused() {
        let mut simulation = simulation();
        for name in ["third", "floor"] {
            let refused = simulation.apply(&Command::PutBack { body: name.into() }).unwrap_err().to_string();
            assert!(refused.contains("no body"), "{refused}");
        }
        let mut state = simulation.state().unwrap().clone();
        state.displacements[8..16].iter_mut().for_each(|u| *u = Vec3::new(-0.95, 0.0, 0.0));
        simulation.stepper.set_state(&state).unwrap();
        let refused = simulation.apply(&Command::PutBack { body: "first".into() }).unwrap_err().to_string();
        assert!(refused.contains("\"first\" cannot go back") && refused.contains("overlap"), "{refused}");
        assert!(*simulation.state().unwrap() == state && simulation.log().entries.is_empty());
    }
}
