//! The contact loop against the CPU's on whole steps.

use std::sync::Arc;

use super::Stepper as GpuStepper;
use super::device::test_device;
use crate::material::Material;
use crate::math::{Isometry, Quat, Vec3};
use crate::mesh::shapes;
use crate::model::{Model, ModelBuilder, Motion, Obstacle, Shape, SoftBody};
use crate::solver::cpu::CpuStepper;
use crate::solver::{Loads, Params, State, StepReport, Stepper};

fn obstacle(shape: Shape, pose: Isometry, motion: Option<Motion>) -> Obstacle {
    Obstacle { name: "obstacle".into(), shape, pose, motion, friction: vec![0.5], color: None }
}

/// A cube of 0.2 m in the air over `obstacles`, turned with the first of them.
fn cube(obstacles: Vec<Obstacle>, height: f64) -> Arc<Model> {
    let mut tets = shapes::box_tets(Vec3::new(0.2, 0.2, 0.2), [4, 4, 4]);
    let turn = obstacles[0].pose.rotation;
    tets.positions.iter_mut().for_each(|p| *p = turn * (*p + Vec3::new(0.0, 0.1 + height, 0.0)));
    let material = Material { young_modulus: 2e5, stiffness_damping: 0.002, ..Default::default() };
    let mut builder = ModelBuilder::default();
    builder.soft_body(SoftBody::with_boundary_surface("cube", material, tets));
    obstacles.into_iter().for_each(|o| drop(builder.obstacle(o)));
    Arc::new(builder.build().unwrap())
}

fn run(stepper: &mut dyn Stepper, steps: usize) -> (State, Vec<StepReport>) {
    let params = Params { tolerance: 1e-4, ..Params::default() };
    let reports = (0..steps).map(|_| stepper.step(&params, &Loads::default()).unwrap()).collect();
    (stepper.state().unwrap(), reports)
}

fn center(model: &Model, state: &State) -> Vec3 {
    state.positions(model).iter().zip(&model.node_masses).map(|(x, m)| x * *m).sum::<Vec3>() / model.bodies[0].mass
}

fn tilted(degrees: f64) -> Isometry {
    Isometry::from_parts(Default::default(), Quat::from_scaled_axis(Vec3::new(0.0, 0.0, -degrees.to_radians())))
}

/// Both backends from the same start; how far apart their bodies are, relative to the cube.
fn compare(name: &str, model: &Arc<Model>, steps: usize) -> (f64, Vec<StepReport>, Vec<StepReport>) {
    let (on_gpu, found) = run(&mut GpuStepper::new(test_device(), model.clone()).unwrap(), steps);
    let (on_cpu, wanted) = run(&mut CpuStepper::new(model.clone(), 1).unwrap(), steps);
    for (k, (a, b)) in found.iter().zip(&wanted).enumerate() {
        println!(
            "{name} {k}: gpu it {} rst {} rel {} conv {} res {:.1e} act {}/{} N {:.3} F {:.3} gap {:.1e} fb {:.1e} cone {:.1e} ms {:.1} | cpu it {} rst {} rel {} conv {} act {}/{} N {:.3} F {:.3}",
            a.iterations, a.restarts, a.relinearisations, a.converged, a.residual, a.contact.active, a.contact.contacts, a.contact.normal_force_total,
            a.contact.friction_force_total, a.contact.max_gap_of_active, a.contact.max_complementarity_error, a.contact.max_cone_violation, a.stages.total(),
            b.iterations, b.restarts, b.relinearisations, b.converged, b.contact.active, b.contact.contacts, b.contact.normal_force_total,
            b.contact.friction_force_total
        );
    }
    let worst = on_gpu.displacements.iter().zip(&on_cpu.displacements).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
    println!("{name} worst {worst:e} center {:?} {:?}", center(model, &on_gpu), center(model, &on_cpu));
    (worst / 0.2, found, wanted)
}

#[test]
fn drop_on_floor() {
    compare("floor", &cube(vec![obstacle(Shape::Plane, Isometry::identity(), None)], 0.02), 40);
}

#[test]
fn slide() {
    compare("slope35", &cube(vec![obstacle(Shape::Plane, tilted(35.0), None)], 0.0001), 30);
    compare("slope15", &cube(vec![obstacle(Shape::Plane, tilted(15.0), None)], 0.0001), 30);
}
