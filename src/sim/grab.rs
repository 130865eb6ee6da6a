//! Holding a material point of a surface.

use super::{Command, CommandError, Grip};
use crate::math::Vec3;
use crate::model::{Grab, HeldPoint, Model};
use crate::scene::RecordedGrab;

/// Natural frequency of a body on its grab spring [rad/s]: a hand that follows at about 2 Hz.
const FREQUENCY: f64 = 2.0 * std::f64::consts::PI * 2.0;
/// Damping ratio of that spring.
const DAMPING_RATIO: f64 = 0.5;
/// The same of a firm grip: a tool that follows at about 8 Hz and does not swing.
const FIRM_FREQUENCY: f64 = 2.0 * std::f64::consts::PI * 8.0;
const FIRM_DAMPING_RATIO: f64 = 1.0;
/// The pull saturates at this many times the body's weight on earth: enough to throw a body, too little to tear it,
/// whatever the mouse does.
const MAX_WEIGHTS: f64 = 5.0;
const FIRM_MAX_WEIGHTS: f64 = 50.0;

/// A grab as the simulation keeps it.
#[derive(Clone, Debug)]
pub struct Held {
    pub id: u32,
    pub target: Vec3,
    pub point: HeldPoint,
    /// As `Command::Grab` gave them.
    triangle: u32,
    barycentric: [f64; 3],
    grip: Grip,
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
            grip: Grip::default(),
            stiffness: mass * FREQUENCY * FREQUENCY,
            damping: 2.0 * DAMPING_RATIO * mass * FREQUENCY,
            max_force: MAX_WEIGHTS * mass * 9.81,
        })
    }

    /// Pulls as hard as suits the masses of `model`, which has the surfaces of the model before.
    pub fn reweigh(&mut self, model: &Model) {
        if let Ok(held) = Self::new(model, self.id, self.triangle, self.barycentric, self.target) {
            let grip = self.grip;
            *self = held;
            self.take(model, grip);
        }
    }

    /// Holds in another way.
    pub fn take(&mut self, model: &Model, grip: Grip) {
        if let Ok(held) = Self::new(model, self.id, self.triangle, self.barycentric, self.target) {
            *self = Self { grip, ..held };
        }
        if let (HeldPoint::Nodes { .. }, true) = (&self.point, grip.radius > 0.0) {
            self.point = area(model, &model.surface.triangles[self.triangle as usize], &self.barycentric, grip);
        }
        if grip.firm {
            let mass = self.stiffness / (FREQUENCY * FREQUENCY);
            self.stiffness = mass * FIRM_FREQUENCY * FIRM_FREQUENCY;
            self.damping = 2.0 * FIRM_DAMPING_RATIO * mass * FIRM_FREQUENCY;
            self.max_force = FIRM_MAX_WEIGHTS * mass * 9.81;
        }
    }

    /// The target, no further from the point than where the pull saturates.
    fn reachable_target(&self, point: &Vec3) -> Vec3 {
        let (offset, reach) = (self.target - point, self.max_force / self.stiffness);
        let length = offset.norm();
        if length > reach { point + offset * (reach / length) } else { self.target }
    }

    /// The commands that start this grab where it is now.
    pub fn commands(&self) -> impl Iterator<Item = Command> {
        let grab = Command::Grab { id: self.id, triangle: self.triangle, barycentric: self.barycentric, target: self.target };
        let grip = Command::Grip { id: self.id, grip: self.grip };
        [grab].into_iter().chain((self.grip != Grip::default()).then_some(grip))
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

/// The mean of the nodes around a point of a triangle, by their distances at rest: some of them, far from each other,
/// stand for those around them.
fn area(model: &Model, triangle: &[u32; 3], barycentric: &[f64; 3], grip: Grip) -> HeldPoint {
    let at_rest = model.surface_positions(&model.rest_positions);
    let sum: f64 = barycentric.iter().sum();
    let middle: Vec3 = triangle.iter().zip(barycentric).map(|(v, b)| at_rest[*v as usize] * (b / sum)).sum();
    let body = &model.bodies[model.surface.bodies[triangle[0] as usize] as usize];
    let distance = |a: usize, b: &Vec3| (model.rest_positions[a] - b).norm();
    let around: Vec<(usize, f64)> =
        body.nodes.clone().map(|node| (node, grip.falloff(distance(node, &middle)))).filter(|(_, share)| *share > 0.0).collect();
    let Some(first) = (0..around.len()).max_by(|a, b| around[*a].1.total_cmp(&around[*b].1)) else {
        return point_of_nodes(model, triangle, barycentric.map(|b| b / sum));
    };
    let (mut nodes, mut weights) = ([around[first].0 as u32; 12], [0.0; 12]);
    // The next one is the one that is furthest from those before.
    let mut nearest: Vec<(f64, usize)> =
        around.iter().map(|(node, _)| (distance(*node, &model.rest_positions[around[first].0]), 0)).collect();
    for slot in 1..nodes.len().min(around.len()) {
        let next = (0..around.len()).max_by(|a, b| nearest[*a].0.total_cmp(&nearest[*b].0).then(b.cmp(a))).unwrap_or(first);
        nodes[slot] = around[next].0 as u32;
        for ((node, _), nearest) in around.iter().zip(&mut nearest) {
            let d = distance(*node, &model.rest_positions[around[next].0]);
            if d < nearest.0 {
                *nearest = (d, slot);
            }
        }
    }
    let total: f64 = around.iter().map(|(_, share)| share).sum();
    for ((_, share), (_, slot)) in around.iter().zip(&nearest) {
        weights[*slot] += share / total;
    }
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

    /// Thrown, a block flies on with the velocity of the hand.
    #[test]
    fn a_block_that_is_let_go_in_motion_is_thrown() {
        let mut simulation = simulation("[0, 0, 0]");
        let start = hold(&mut simulation, Vec3::zeros());
        simulation.apply(&Command::Grip { id: 1, grip: Grip { firm: true, radius: 0.0 } }).unwrap();
        for step in 0..100 {
            let target = start + Vec3::x() * (1.0 * 0.01 * f64::from(step));
            simulation.apply(&Command::MoveGrab { id: 1, target }).unwrap();
            simulation.step().unwrap();
        }
        simulation.apply(&Command::ReleaseGrab { id: 1 }).unwrap();
        simulation.step().unwrap();
        let velocity = block(&mut simulation).velocity;
        assert!(velocity.x > 0.5 && velocity.x < 2.0, "{velocity:?}");
    }

    /// A firm grip is nearer to its target than a hand, and a wide one holds the middle of what is around.
    #[test]
    fn grips_are_firm_or_wide_and_kept_with_the_grab() {
        let lag = |grip: Grip| {
            let mut simulation = simulation("[0, -9.81, 0]");
            let start = hold(&mut simulation, Vec3::zeros());
            simulation.apply(&Command::MoveGrab { id: 1, target: start }).unwrap();
            simulation.apply(&Command::Grip { id: 1, grip }).unwrap();
            (0..50).for_each(|_| drop(simulation.step().unwrap()));
            (simulation.grabs().unwrap()[0].point - start).norm()
        };
        let (hand, firm) = (lag(Grip::default()), lag(Grip { firm: true, radius: 0.0 }));
        assert!(firm < 0.2 * hand, "{firm} {hand}");

        let mut simulation = simulation("[0, 0, 0]");
        let model = simulation.model().clone();
        let wide = Grip { radius: 1.0, firm: false };
        simulation.apply(&Command::Grab { id: 7, triangle: 0, barycentric: [1.0, 0.0, 0.0], target: Vec3::zeros() }).unwrap();
        let corner = simulation.grabs().unwrap()[0].point;
        simulation.apply(&Command::Grip { id: 7, grip: wide }).unwrap();
        let HeldPoint::Nodes { nodes, weights } = simulation.held[0].point else { panic!("it is soft") };
        let used: std::collections::BTreeSet<u32> = nodes.iter().zip(weights).filter(|(_, w)| *w > 0.0).map(|(n, _)| *n).collect();
        assert!(used.len() == 8 && (weights.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{nodes:?} {weights:?}");
        let middle = model.rest_positions[..8].iter().sum::<Vec3>() / 8.0;
        let held = simulation.grabs().unwrap()[0].point;
        assert!((held - middle).norm() < (corner - middle).norm() && (held - corner).norm() > 1e-3);
        // As it is saved, and weighed anew.
        let commands: Vec<Command> = simulation.held[0].commands().collect();
        assert_eq!(commands[1], Command::Grip { id: 7, grip: wide });
        let before = simulation.held[0].point;
        simulation.held[0].reweigh(&model);
        assert_eq!(simulation.held[0].point, before);
        let bad = simulation.apply(&Command::Grip { id: 7, grip: Grip { radius: f64::NAN, firm: false } }).unwrap_err();
        assert!(bad.to_string().contains("radius"));
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
