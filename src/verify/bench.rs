//! What checks are made with: bodies of procedural meshes, simulations of them on the chosen backend, and rest.

use std::sync::Arc;

use super::unmeasured::Unmeasured;
use crate::cancel::CancelToken;
use crate::material::{Material, MaterialModel};
use crate::math::{Mat3, Vec3};
use crate::mesh::{TetMesh, shapes};
use crate::model::{Model, ModelBuilder, Obstacle, Params, SoftBody, State};
use crate::scene::{self, BackendChoice, Built, Force, Scene};
use crate::sim::{Options, Simulation};
use crate::step::StepError;

/// Where checks run and how far they are.
pub struct Bench<'a> {
    /// With the backend, which is the CPU or the device.
    pub options: Options,
    pub cancel: CancelToken,
    /// Factor on the stiffness of every simulated body: 1, unless a test wants to see red.
    pub stiffening: f64,
    /// Told the part of the check that is done.
    pub progress: &'a mut dyn FnMut(f64),
}

/// Steps that are so long that inertia hardly counts [s]: each is a step of Newton's method towards rest.
const STATIC_STEP: f64 = 1.0;
const MAX_STATIC_STEPS: u32 = 200;

impl Bench<'_> {
    pub fn is_on_device(&self) -> bool {
        self.options.backend == Some(BackendChoice::Gpu)
    }

    /// Does something on another backend.
    pub fn on<T>(&mut self, backend: BackendChoice, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.options.backend.replace(backend);
        let result = work(self);
        self.options.backend = before;
        result
    }

    /// The bound for f64, or that for f32 of the device.
    pub fn pick(&self, cpu: f64, device: f64) -> f64 {
        if self.is_on_device() { device } else { cpu }
    }

    pub fn done(&mut self, share: f64) {
        (self.progress)(share);
    }

    /// The material of a simulated body: 1000 kg/m^3.
    pub fn material(&self, model: MaterialModel, young_modulus: f64, poisson_ratio: f64) -> Material {
        Material { model, young_modulus: self.stiffening * young_modulus, poisson_ratio, density: 1000.0, ..Material::default() }
    }

    /// For a body at rest: no gravity, no inertia to speak of, and as accurate as the backend's numbers.
    pub fn static_params(&self) -> Params {
        Params {
            time_step: STATIC_STEP,
            gravity: Vec3::zeros(),
            tolerance: self.pick(1e-9, 1e-5),
            max_iterations: 20_000,
            ..Params::default()
        }
    }

    pub fn simulate(&self, model: Model, params: Params, forces: Vec<Force>) -> Result<Simulation, Unmeasured> {
        let empty = Scene::from_text("check", "check", "format = 1", None, &[])?;
        self.open(Built { model: Arc::new(model), params, forces, ..scene::build(&empty)? })
    }

    /// A simulation of a scene file's text.
    pub fn simulate_scene(&self, text: &str) -> Result<Simulation, Unmeasured> {
        let scene = Scene::from_text("check", "check", text, None, &[])?;
        self.open(scene::build_unless(&scene, &self.cancel)?)
    }

    fn open(&self, built: Built) -> Result<Simulation, Unmeasured> {
        Ok(Simulation::new_unless(built, &self.options, &self.cancel)?)
    }

    /// One step, which is a fault if it is only accepted for want of a better one.
    pub fn step(&self, simulation: &mut Simulation) -> Result<(), Unmeasured> {
        let step = simulation.step_index();
        if simulation.step_unless(&self.cancel)?.converged { Ok(()) } else { Err(Unmeasured::Step(StepError::NotConverged { step })) }
    }

    /// Steps until no node moves further than `still` [m] in one.
    pub fn to_rest(&self, simulation: &mut Simulation, still: f64) -> Result<State, Unmeasured> {
        let time_step = simulation.params().time_step;
        let mut moved = f64::INFINITY;
        for _ in 0..MAX_STATIC_STEPS {
            self.step(simulation)?;
            let state = simulation.state()?;
            moved = time_step * state.velocities.iter().map(Vec3::norm).fold(0.0, f64::max);
            if moved < still {
                return Ok(state.clone());
            }
        }
        Err(Unmeasured::NoRest { steps: MAX_STATIC_STEPS, moved })
    }
}

/// A model of one deformable body that does not meet itself.
pub fn alone(body: SoftBody) -> Result<Model, Unmeasured> {
    with_obstacles(SoftBody { self_contact: false, ..body }, vec![])
}

/// A model of one deformable body and what it may meet.
pub fn with_obstacles(body: SoftBody, obstacles: Vec<Obstacle>) -> Result<Model, Unmeasured> {
    let mut builder = ModelBuilder::default();
    builder.soft_body(body);
    for obstacle in obstacles {
        builder.obstacle(obstacle);
    }
    Ok(builder.build()?)
}

/// A box of `size` [m] from x = 0, else around the origin.
pub fn bar(material: Material, size: Vec3, cells: [u32; 3]) -> SoftBody {
    let mut mesh = shapes::box_tets(size, cells);
    mesh.positions.iter_mut().for_each(|p| p.x += 0.5 * size.x);
    SoftBody::with_boundary_surface("body", material, mesh)
}

/// The same, its nodes at `holds` never moving.
pub fn held(mut body: SoftBody, holds: impl Fn(&Vec3) -> bool) -> SoftBody {
    body.fixed = body.tets.positions.iter().map(holds).collect();
    body
}

/// Moves the inner nodes of a box about by up to a fifth of a cell, always by the same lengths.
pub fn scramble(mesh: &mut TetMesh, cells: [u32; 3]) {
    let bounds = crate::math::Aabb::of(&mesh.positions);
    let extent = bounds.extent();
    let step = Vec3::from_fn(|a, _| 0.2 * extent[a] / f64::from(cells[a]));
    let is_inside = |p: &Vec3| (0..3).all(|a| (p[a] - bounds.center()[a]).abs() < 0.499 * extent[a]);
    for (k, p) in mesh.positions.iter_mut().enumerate() {
        if is_inside(p) {
            *p += noise(k).component_mul(&step);
        }
    }
}

/// Numbers in [-1, 1] that look random, the same for the same `k`.
pub fn noise(k: usize) -> Vec3 {
    let number = |k: usize| {
        let x = (k as f64 + 1.0) * 12.989_8;
        2.0 * (x.sin() * 43_758.545_3).rem_euclid(1.0) - 1.0
    };
    Vec3::from_fn(|a, _| number(3 * k + a))
}

/// Forces on the nodes of the surface under the traction `P N` [Pa] at rest, N being the outward normal, for good.
pub fn tractions(model: &Model, stress: &Mat3) -> Vec<Force> {
    surface_loads(model, |_, area| stress * area)
}

/// Forces on the nodes of the surface: each triangle gives its nodes a third of `load(middle, outward area)` [N].
pub fn surface_loads(model: &Model, load: impl Fn(&Vec3, &Vec3) -> Vec3) -> Vec<Force> {
    let mut forces = vec![Vec3::zeros(); model.n_nodes()];
    for triangle in &model.surface.triangles {
        let nodes = triangle.map(|v| model.surface.nodes[v as usize][0] as usize);
        let [a, b, c] = nodes.map(|n| model.rest_positions[n]);
        let total = load(&((a + b + c) / 3.0), &((b - a).cross(&(c - a)) * 0.5));
        nodes.iter().for_each(|n| forces[*n] += total / 3.0);
    }
    node_forces(&forces)
}

/// Forces on single nodes [N] that act for good.
pub fn node_forces(forces: &[Vec3]) -> Vec<Force> {
    let acting = (0..).zip(forces).filter(|(_, force)| **force != Vec3::zeros());
    acting.map(|(node, force)| Force { nodes: vec![node], force: *force, start: 0.0, end: f64::INFINITY }).collect()
}

/// Mean of a value over the nodes that `selects` by their place at rest.
pub fn mean(model: &Model, selects: impl Fn(&Vec3) -> bool, value: impl Fn(usize) -> f64) -> f64 {
    let chosen = (0..model.n_nodes()).filter(|n| selects(&model.rest_positions[*n]));
    let (sum, count) = chosen.fold((0.0, 0), |(sum, count), n| (sum + value(n), count + 1));
    sum / f64::from(count)
}
