//! Holding a material point of a surface.

use super::{Command, CommandError};
use crate::math::Vec3;
use crate::model::{Grab, HeldPoint, Model};
use crate::scene::RecordedGrab;

/// Natural frequency of a body on its grab spring [rad/s]: a hand that follows at about 2 Hz.
const FREQUENCY: f64 = 2.0 * std::f64::consts::PI * 2.0;
/// Damping ratio of that spring.
const DAMPING_RATIO: f64 = 0.5;
/// The pull saturates at this many times the body's weight on earth: enough to throw a body, too little to tear it,
/// whatever the mouse does.
const MAX_WEIGHTS: f64 = 5.0;

/// A grab as the simulation keeps it.
#[derive(Clone, Debug)]
pub struct Held {
    pub id: u32,
    pub target: Vec3,
    pub point: HeldPoint,
    /// As `Command::Grab` gave them.
    triangle: u32,
    barycentric: [f64; 3],
    stiffness: f64,
    damping: f64,
    max_force: f64,
}

/// A grab as others see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GrabView {
    pub id: u32,
    /// The held material point [m].
    pub point: Vec3,
    /// Where it is pulled to [m].
    pub target: Vec3,
    /// On the body [N].
    pub force: Vec3,
}

impl Held {
    /// `triangle` counts as in `Command::Grab`.
    pub fn new(model: &Model, id: u32, triangle: u32, barycentric: [f64; 3], target: Vec3) -> Result<Self, CommandError> {
        let sum: f64 = barycentric.iter().sum();
        if !(sum.is_finite() && sum > 0.0) {
            return Err(CommandError::BadValue {
                what: "barycentric weights",
                and: " with a positive sum",
                value: format!("{barycentric:?}"),
            });
        }
        let weights = barycentric.map(|b| b / sum);
        let (point, mass) = match model.surface.triangles.get(triangle as usize) {
            Some(vertices) => {
                let body = &model.bodies[model.surface.bodies[vertices[0] as usize] as usize];
                (point_of_nodes(model, vertices, weights), body.mass)
            }
            None => {
                let n_triangles = model.n_held_triangles();
                let (body, local) =
                    model.held_rigid_triangle(triangle as usize).ok_or(CommandError::NoTriangle { triangle, n_triangles })?;
                let rigid = &model.rigid_bodies[body];
                let point = rigid.triangles[local].iter().zip(weights).map(|(v, b)| rigid.vertices[*v as usize] * b).sum();
                (HeldPoint::Rigid { body, point }, rigid.mass().unwrap_or(0.0))
            }
        };
        Ok(Self {
            id,
            target,
            point,
            triangle,
            barycentric,
            stiffness: mass * FREQUENCY * FREQUENCY,
            damping: 2.0 * DAMPING_RATIO * mass * FREQUENCY,
            max_force: MAX_WEIGHTS * mass * 9.81,
        })
    }

    /// Pulls as hard as suits the masses of `model`, which has the surfaces of the model before.
    pub fn reweigh(&mut self, model: &Model) {
        if let Ok(held) = Self::new(model, self.id, self.triangle, self.barycentric, self.target) {
            *self = held;
        }
    }

    /// The target, no further from the point than where the pull saturates.
    fn reachable_target(&self, point: &Vec3) -> Vec3 {
        let (offset, reach) = (self.target - point, self.max_force / self.stiffness);
        let length = offset.norm();
        if length > reach { point + offset * (reach / length) } else { self.target }
    }

    /// The command that starts this grab where it is now.
    pub fn command(&self) -> Command {
        Command::Grab { id: self.id, triangle: self.triangle, barycentric: self.barycentric, target: self.target }
    }

    /// The load that the next step takes, the held point being at `position` [m].
    pub fn load(&self, position: &Vec3) -> Grab {
        let target = self.reachable_target(position);
        Grab { point: self.point, stiffness: self.stiffness, damping: self.damping, target }
    }

    /// The grab, its point being at `point` [m] with `velocity` [m/s].
    pub fn view(&self, (point, velocity): (Vec3, Vec3)) -> GrabView {
        let force = (self.reachable_target(&point) - point) * self.stiffness - velocity * self.damping;
        GrabView { id: self.id, point, target: self.target, force }
    }
}

/// A recorded hand of the scene. It depends on the time alone, so it needs no place in logs and saved states.
#[derive(Clone, Debug)]
pub struct Hand {
    held: Held,
    recorded: RecordedGrab,
}

impl Hand {
    /// The hands of a scene. Their numbers go down from the highest, so that commands do not meet them.
    pub fn all(model: &Model, recorded: Vec<RecordedGrab>) -> Result<Vec<Self>, CommandError> {
        let hand = |(id, recorded): (u32, RecordedGrab)| {
            let held = Held::new(model, id, recorded.triangle, recorded.barycentric, Vec3::zeros())?;
            Ok(Self { held, recorded })
        };
        (0..=u32::MAX).rev().zip(recorded).map(hand).collect()
    }

    /// The grab at `time` [s], while the hand holds.
    pub fn held_at(&self, time: f64) -> Option<Held> {
        Some(Held { target: self.recorded.target_at(time)?, ..self.held.clone() })
    }

    /// See [`Held::reweigh`].
    pub fn reweigh(&mut self, model: &Model) {
        self.held.reweigh(model);
    }

    pub fn is_over(&self, time: f64) -> bool {
        self.recorded.is_over(time)
    }
}

/// A point of a triangle of the deformable surface.
fn point_of_nodes(model: &Model, vertices: &[u32; 3], barycentric: [f64; 3]) -> HeldPoint {
    // Three vertices with four nodes each; a node that occurs twice gets one entry with the sum of its weights.
    let (mut nodes, mut weights, mut n) = ([0u32; 12], [0.0; 12], 0);
    for (vertex, b) in vertices.iter().zip(barycentric) {
        let k = *vertex as usize;
        for (node, weight) in model.surface.nodes[k].iter().zip(&model.surface.weights[k]).filter(|(_, w)| **w != 0.0) {
            let slot = nodes[..n].iter().position(|m| m == node).unwrap_or(n);
            nodes[slot] = *node;
            weights[slot] += weight * b;
            n = n.max(slot + 1);
        }
    }
    let unused = nodes[0];
    nodes[n..].fill(unused);
    HeldPoint::Nodes { nodes, weights }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{BackendChoice, Scene, build};
    use crate::sim::{Command, Options, Simulation};

    const SCENE: &str = r#"
format = 1
[material.rubber]
[[body]]
name = "soft"
shape = { type = "box", size = [0.1, 0.1, 0.1], cells = [1, 1, 1] }
position = [-2, 0, 0]
material = "rubber"
[[body]]
name = "race"
kind = "static"
shape = { type = "torus", radius = 0.2, tube_radius = 0.05, resolution = 4 }
position = [2, 0, 0]
[[body]]
name = "block"
kind = "rigid"
shape = { type = "box", size = [0.2, 0.1, 0.4] }
mass = 3.0
"#;

    fn simulation(gravity: &str) -> Simulation {
        let flags = [format!("simulation.gravity={gravity}")];
        let scene = Scene::from_text("grab", "grab.toml", SCENE, None, &flags).unwrap();
        let options = Options { backend: Some(BackendChoice::Cpu), threads: Some(1), ..Options::default() };
        Simulation::new(build(&scene).unwrap(), &options).unwrap()
    }

    /// Holds corner 0 of the first triangle of the block.
    fn hold(simulation: &mut Simulation, target: Vec3) -> Vec3 {
        let triangle = simulation.model().surface.triangles.len() as u32;
        simulation.apply(&Command::Grab { id: 1, triangle, barycentric: [1.0, 0.0, 0.0], target }).unwrap();
        simulation.grabs().unwrap()[0].point
    }

    fn block(simulation: &mut Simulation) -> crate::model::RigidState {
        simulation.state().unwrap().rigid_bodies[1]
    }

    #[test]
    fn triangles_of_free_rigid_bodies_follow_those_of_the_surface() {
        let mut simulation = simulation("[0, 0, 0]");
        let model = simulation.model().clone();
        let (soft, block) = (model.surface.triangles.len(), &model.rigid_bodies[1]);
        assert_eq!(model.n_held_triangles(), soft + block.triangles.len(), "the race cannot be held");
        assert_eq!((model.held_rigid_triangle(soft), model.held_rigid_triangle(soft - 1)), (Some((1, 0)), None));
        for triangle in 0..model.n_held_triangles() as u32 + 1 {
            let grab = Command::Grab { id: 1, triangle, barycentric: [1.0, 2.0, 1.0], target: Vec3::zeros() };
            let result = simulation.apply(&grab);
            let middle = |corners: [Vec3; 3]| corners[0] * 0.25 + corners[1] * 0.5 + corners[2] * 0.25;
            let wanted = match (triangle as usize).checked_sub(soft) {
                None => {
                    middle(model.surface.triangles[triangle as usize].map(|v| model.surface_positions(&model.rest_positions)[v as usize]))
                }
                Some(local) if local < block.triangles.len() => middle(block.triangles[local].map(|v| block.vertices[v as usize])),
                Some(_) => {
                    let text = result.unwrap_err().to_string();
                    assert!(text.contains("cannot be held") && text.contains("static and driven bodies"), "{text}");
                    continue;
                }
            };
            assert!(result.is_ok() && (simulation.grabs().unwrap()[0].point - wanted).norm() < 1e-12, "{triangle}");
        }
    }

    #[test]
    fn a_block_follows_the_hand_and_comes_to_rest_there() {
        let mut simulation = simulation("[0, 0, 0]");
        let start = hold(&mut simulation, Vec3::zeros());
        let target = start + Vec3::new(0.3, 0.2, -0.1);
        simulation.apply(&Command::MoveGrab { id: 1, target }).unwrap();
        simulation.step().unwrap();
        let pull = simulation.grabs().unwrap()[0].force;
        assert!(pull.dot(&(target - start)) > 0.0);
        let momentum = block(&mut simulation).velocity;
        assert!(momentum.normalize().dot(&(target - start).normalize()) > 0.999, "it starts straight towards the hand");
        for _ in 0..400 {
            simulation.step().unwrap();
        }
        let held = simulation.grabs().unwrap()[0];
        assert!((held.point - target).norm() < 2e-2, "{}", (held.point - target).norm());
        let mut others = simulation.state().unwrap().clone();
        assert_eq!(others.rigid_bodies.remove(0).pose, simulation.model().rigid_bodies[0].pose);
        assert!(others.displacements.iter().all(|u| u.norm() == 0.0));
        simulation.apply(&Command::ReleaseGrab { id: 1 }).unwrap();
        let before = block(&mut simulation).velocity;
        simulation.step().unwrap();
        assert!((block(&mut simulation).velocity - before).norm() < 1e-12, "released, it flies freely");
    }

    #[test]
    fn a_held_block_hangs_with_its_weight_on_the_hand() {
        let mut simulation = simulation("[0, -9.81, 0]");
        let start = hold(&mut simulation, Vec3::zeros());
        simulation.apply(&Command::MoveGrab { id: 1, target: start }).unwrap();
        // A pendulum on a damped spring: air does not brake it, so look at means over some swings.
        let (mut force, n) = (Vec3::zeros(), 2000);
        for _ in 0..n {
            simulation.step().unwrap();
            force += simulation.grabs().unwrap()[0].force / f64::from(n);
        }
        assert!((force.y / (3.0 * 9.81) - 1.0).abs() < 0.03, "{force:?}");
        assert!(block(&mut simulation).pose.translation.vector.y < start.y - 0.05);
    }

    #[test]
    fn even_long_steps_and_wild_pulls_are_stable() {
        let mut simulation = simulation("[0, -9.81, 0]");
        simulation.apply(&Command::SetTimeStep(0.05)).unwrap();
        let start = hold(&mut simulation, Vec3::zeros());
        for step in 0..200 {
            let target = start + Vec3::new(f64::from(step % 3) - 1.0, f64::from(step % 2), f64::from(step % 5) - 2.0) * 10.0;
            simulation.apply(&Command::MoveGrab { id: 1, target }).unwrap();
            simulation.step().unwrap();
            let block = block(&mut simulation);
            assert!(block.velocity.norm() < 30.0 && block.angular_velocity.norm() < 300.0, "step {step}: {block:?}");
        }
    }
}
