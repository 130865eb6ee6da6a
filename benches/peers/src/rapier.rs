//! The scenes in Rapier. What is not set here is Rapier's default; the README says why the rest is.

use std::collections::BTreeMap;
use std::time::Instant;

use rapier3d::prelude::*;

use crate::measure::{Run, State};
use crate::mesh::Vec3;
use crate::scene::{Body, Scene};

/// Half the thickness of the floor, and half its width [m].
const FLOOR: [Real; 2] = [0.5, 10.0];

/// Bodies with up to so many unknowns are factorised instead of iterated on: the cube of `drop` too, which is faster.
const FACTORISED: usize = 3000;

/// Computes `frames` frames and keeps all states. `skin` [m]: the distance that Rapier keeps around a soft body.
pub fn run(scene: &Scene, solver: SoftBodySolver, skin: f64, frames: usize) -> Run {
    let mut world = PhysicsWorld::new();
    world.gravity = vector(&scene.gravity);
    world.integration_parameters.dt = scene.time_step as Real;
    world.integration_parameters.soft_bodies.fem.max_dense_dofs = FACTORISED;
    if scene.floor {
        let [thickness, width] = FLOOR;
        let floor = RigidBodyBuilder::fixed().translation(Vector::new(0.0, -thickness, 0.0));
        world.insert(floor, ColliderBuilder::cuboid(width, thickness, width).friction(scene.friction as Real));
    }
    let bodies: Vec<SoftBodyHandle> =
        scene.bodies.iter().map(|body| world.insert_soft_body(soft_body(scene, body, solver, skin))).collect();

    let mut run = Run { ms: vec![], states: BTreeMap::new() };
    for frame in 1..=frames {
        let start = Instant::now();
        world.step();
        run.ms.push(start.elapsed().as_secs_f64() * 1e3);
        let particles = bodies.iter().flat_map(|body| world.soft_bodies[*body].particles());
        let (positions, velocities) = particles.map(|p| (vec3(p.position()), vec3(p.velocity()))).unzip();
        run.states.insert(frame, State { positions, velocities });
    }
    run
}

fn soft_body(scene: &Scene, body: &Body, solver: SoftBodySolver, skin: f64) -> SoftBodyBuilder {
    let material = SoftBodyMaterial {
        young_modulus: scene.material.young_modulus as Real,
        poisson_ratio: scene.material.poisson_ratio as Real,
        ..SoftBodyMaterial::default()
    };
    SoftBodyBuilder::new(body.mesh.nodes.iter().map(vector).collect())
        .cells(body.mesh.tets.clone())
        .masses(body.mesh.masses.iter().map(|m| *m as Real).collect())
        .pinned_particles(body.fixed.iter().copied())
        .cell_model(SoftBodyCellModel::Corotational)
        .material(material)
        .solver(solver)
        .linear_damping(scene.material.mass_damping as Real)
        .particle_radius(skin as Real)
        // Its shape becomes the body's surface.
        .surface_collider(ColliderBuilder::ball(1.0).friction(scene.friction as Real))
        .can_sleep(false)
}

fn vector(v: &Vec3) -> Vector {
    Vector::new(v.x as Real, v.y as Real, v.z as Real)
}

fn vec3(v: Vector) -> Vec3 {
    Vec3::new(f64::from(v.x), f64::from(v.y), f64::from(v.z))
}
