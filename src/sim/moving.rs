//! Bodies that are carried to another place in the middle of a run, as they are: deformed, in motion.

use super::{CommandError, Simulation, finite, start};
use crate::body::BodyRef;
use crate::math::{Isometry, Quat, Vec3};
use crate::model::{Model, State};

impl Simulation {
    /// Moves bodies by one motion of the world: turned by `rotation` [rad] about the origin, then shifted by
    /// `translation` [m]. Refused where they would overlap something, or are fixed.
    pub(super) fn move_bodies(&mut self, names: &[String], translation: &Vec3, rotation: &Vec3) -> Result<(), CommandError> {
        finite("a motion", translation)?;
        finite("a motion", rotation)?;
        let motion = Isometry::from_parts((*translation).into(), Quat::from_scaled_axis(*rotation));
        let model = self.model.clone();
        let mut state = self.stepper.state().map_err(|error| CommandError::Step(error.to_string()))?.clone();
        for name in names {
            let body = self.free_body(name)?;
            if body.is_deformable() && model.bodies[body.index()].nodes.clone().any(|node| model.fixed[node]) {
                return Err(CommandError::Fixed { body: name.clone() });
            }
            carry(&mut state, &model, body, &motion);
        }
        // Contacts of other bodies with these are no longer there, and a step of second order begins anew.
        state.contacts.entries.clear();
        state.history.clear();
        // The induction of contact needs a start without crossings.
        if let Err(found) = start::check_start(&self.checker, &model, &state, self.params.contact_tolerance) {
            // What overlaps elsewhere is not of this motion, but the error does not name all.
            let is_moved = |overlap: &&start::StartOverlap| overlap.bodies.iter().any(|name| names.contains(name));
            let of_motion = found.named.iter().find(is_moved).or(found.named.first().filter(|_| found.more > 0));
            if let Some(start::StartOverlap { bodies: [a, b], depth, .. }) = of_motion {
                return Err(CommandError::InTheWay { bodies: [a.clone(), b.clone()], millimetres: format!("{:.1}", 1e3 * depth) });
            }
        }
        self.stepper.set_state(&state).map_err(|error| CommandError::Step(error.to_string()))
    }
}

/// Carries one body along. Its mean velocity stays; what its points move relative to that, and its spin, turn with it.
fn carry(state: &mut State, model: &Model, body: BodyRef, motion: &Isometry) {
    for unknown in (0..model.n_unknowns()).filter(|unknown| model.body_of_unknown(*unknown) == body) {
        state.velocity_changes[unknown] = Vec3::zeros();
    }
    let place = body.index();
    if !body.is_deformable() {
        let rigid = &mut state.rigid_bodies[place];
        rigid.pose = motion * rigid.pose;
        rigid.angular_velocity = motion.rotation * rigid.angular_velocity;
        return;
    }
    let body = &model.bodies[place];
    let mass: f64 = model.node_masses[body.nodes.clone()].iter().sum();
    let momentum: Vec3 = body.nodes.clone().map(|node| state.velocities[node] * model.node_masses[node]).sum();
    let mean = momentum / mass;
    for node in body.nodes.clone() {
        let rest = model.rest_positions[node];
        state.displacements[node] = (motion * nalgebra::Point3::from(rest + state.displacements[node])).coords - rest;
        state.velocities[node] = mean + motion.rotation * (state.velocities[node] - mean);
    }
    // Rows that materials remember are of the body at rest.
    for rotation in &mut state.rotations[body.tets.clone()] {
        let turned = motion.rotation * Quat::from_quaternion(nalgebra::Quaternion::from(*rotation));
        *rotation = turned.coords.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::BackendChoice;
    use crate::sim::Command;
    use crate::sim::tests::{self, state_after};

    const SCENE: &str = "format = 1\n[simulation]\ntime_step = 0.005\n[material.gum]\n\
                         [[body]]\nname = \"first\"\nmaterial = \"gum\"\nshape = { type = \"box\", size = [0.2, 0.2, 0.2], cells = [2, 2, 2] }\n\
                         position = [0, 0.3, 0]\nvelocity = [0, 0, 0.5]\nangular_velocity = [0, 3, 0]\n\
                         [[body]]\nname = \"second\"\nmaterial = \"gum\"\nshape = { type = \"box\", size = [0.2, 0.2, 0.2], cells = [1, 1, 1] }\n\
                         position = [1, 0.1, 0]\n\
                         [[body]]\nname = \"block\"\nkind = \"rigid\"\nshape = { type = \"box\", size = [0.2, 0.2, 0.2] }\nposition = [2, 1, 0]\n\
                         angular_velocity = [1, 0, 0]\n\
                         [[body]]\nname = \"bar\"\nmaterial = \"gum\"\nshape = { type = \"box\", size = [0.2, 0.2, 0.2], cells = [1, 1, 1] }\n\
                         position = [3, 1, 0]\nfix = [{ side = \"y+\" }]\n\
                         [[body]]\nname = \"floor\"\nkind = \"static\"\nshape = { type = \"plane\" }\n";

    fn simulation() -> Simulation {
        tests::simulation(BackendChoice::Cpu, SCENE, &[])
    }

    fn motion(bodies: &[&str], translation: Vec3, rotation: Vec3) -> Command {
        Command::MoveBodies { bodies: bodies.iter().map(|name| (*name).to_owned()).collect(), translation, rotation }
    }

    /// As it was, elsewhere: it goes on like one that was not moved, but turned; others go on; it repeats to the bit.
    #[test]
    fn bodies_are_carried_as_they_are() {
        let mut simulation = simulation();
        let before = state_after(&mut simulation, 5);
        let turn = Vec3::new(0.3, 1.1, -0.4);
        let shift = Vec3::new(0.0, 3.0, 0.0);
        simulation.apply(&motion(&["first", "block"], shift, turn)).unwrap();
        let after = simulation.state().unwrap().clone();
        let rotation = Quat::from_scaled_axis(turn);
        let model = simulation.model().clone();
        let n = model.bodies[0].nodes.len();
        let at = |state: &State, node: usize| model.rest_positions[node] + state.displacements[node];
        for node in 0..n {
            assert!((at(&after, node) - (rotation * at(&before, node) + shift)).norm() < 1e-12);
            let [v, w] = [&before, &after].map(|state| state.velocities[node] - state.velocities[0]);
            assert!((rotation * v - w).norm() < 1e-12, "{v:?} {w:?}");
        }
        let momentum = |state: &State| -> Vec3 { (0..n).map(|node| state.velocities[node] * model.node_masses[node]).sum() };
        assert!((momentum(&before) - momentum(&after)).norm() < 1e-12 * (1.0 + momentum(&before).norm()));
        assert!(before.displacements[n..] == after.displacements[n..] && before.velocities[n..] == after.velocities[n..]);
        let [from, to] = [&before, &after].map(|state| state.rigid_bodies[0]);
        assert!((to.pose.translation.vector - (rotation * from.pose.translation.vector + shift)).norm() < 1e-12);
        assert!(to.velocity == from.velocity && (to.angular_velocity - rotation * from.angular_velocity).norm() < 1e-12);
        // Its strains and spin are the same.
        let [moved, still] = [state_after(&mut simulation, 10), state_after(&mut self::simulation(), 15)];
        for node in 0..n {
            let [x, y] = [&still, &moved].map(|state| at(state, node) - at(state, 0));
            assert!((rotation * x - y).norm() < 1e-4, "{x:?} {y:?}");
        }
        let later = state_after(&mut simulation, 30);
        let log = simulation.log().clone();
        let mut again = self::simulation();
        for step in 0..45 {
            log.at(step).iter().for_each(|logged| again.apply(&logged.command).unwrap());
            again.step().unwrap();
        }
        assert!(*again.state().unwrap() == later);
    }

    #[test]
    fn what_is_in_the_way_fixed_or_no_body_is_refused() {
        let mut simulation = simulation();
        let before = state_after(&mut simulation, 5);
        for (bodies, by, told) in [
            (&["first"][..], Vec3::new(0.95, -0.15, 0.0), "\"first\" and \"second\" would overlap"),
            (&["first"], Vec3::new(0.0, -0.3, 0.0), "\"first\" and \"floor\" would overlap"),
            (&["block"], Vec3::new(-1.0, -0.9, 0.0), "would overlap"),
            (&["second", "bar"], Vec3::new(0.0, 2.0, 0.0), "\"bar\" is pinned"),
            (&["floor"], Vec3::y(), "no body \"floor\" that moves freely"),
            (&["first"], Vec3::repeat(f64::NAN), "must be finite"),
        ] {
            let refused = simulation.apply(&motion(bodies, by, Vec3::zeros())).unwrap_err().to_string();
            assert!(refused.contains(told), "{refused}");
        }
        assert!(*simulation.state().unwrap() == before && simulation.log().entries.is_empty());
        // Both together keep their distance, wherever one alone would meet the other.
        simulation.apply(&motion(&["first", "second"], Vec3::new(1.0, 0.0, 0.0), Vec3::zeros())).unwrap();
    }
}
