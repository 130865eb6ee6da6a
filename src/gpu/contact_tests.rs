//! The contact loop against the CPU's on whole steps.

use std::sync::Arc;

use super::Stepper as GpuStepper;
use super::device::test_device;
use crate::material::Material;
use crate::math::{Isometry, Quat, Vec3};
use crate::mesh::shapes;
use crate::model::{Model, ModelBuilder, Motion, Obstacle, Shape, SoftBody};
use crate::solver::cpu::CpuStepper;
use crate::solver::{ContactSolver, Loads, Params, State, StepReport, Stepper};

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
    for o in obstacles {
        builder.obstacle(o);
    }
    Arc::new(builder.build().unwrap())
}

fn run(stepper: &mut dyn Stepper, steps: usize) -> (State, Vec<StepReport>) {
    let params = Params { tolerance: 3e-5, solver: ContactSolver::Cr, ..Params::default() };
    let reports = (0..steps).map(|_| stepper.step(&params, &Loads::default()).unwrap()).collect();
    (stepper.state().unwrap(), reports)
}

/// The device looks at vertices only.
fn with_vertices(model: Arc<Model>) -> CpuStepper {
    CpuStepper::new(model, 1).unwrap().with_vertices_only().unwrap()
}

fn tilted(degrees: f64) -> Isometry {
    Isometry::from_parts(Default::default(), Quat::from_scaled_axis(Vec3::new(0.0, 0.0, -degrees.to_radians())))
}

/// Largest distance between the nodes of two states, relative to the cube.
fn apart(a: &State, b: &State) -> f64 {
    a.displacements.iter().zip(&b.displacements).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max) / 0.2
}

/// Both backends from the same start: the same motion and the same forces within `bound`.
fn agree(model: &Arc<Model>, steps: usize, bound: f64) -> State {
    let (on_gpu, found) = run(&mut GpuStepper::new(test_device(), model.clone()).unwrap(), steps);
    let (on_cpu, wanted) = run(&mut with_vertices(model.clone()), steps);
    assert!(apart(&on_gpu, &on_cpu) < bound, "{:e}", apart(&on_gpu, &on_cpu));
    for (k, (a, b)) in found.iter().zip(&wanted).enumerate() {
        assert!(a.converged, "step {k}: {a:?}");
        let (a, b) = (&a.contact, &b.contact);
        let weight = 9.81 * model.bodies[0].mass;
        assert!((a.normal_force_total - b.normal_force_total).abs() < 100.0 * bound * weight, "step {k}: {a:?} {b:?}");
        assert!((a.friction_force_total - b.friction_force_total).abs() < 100.0 * bound * weight, "step {k}: {a:?} {b:?}");
        assert!(a.max_gap_of_active < 5e-6 && a.max_complementarity_error < 2e-5, "step {k}: {a:?}");
        let sum: Vec3 = a.pairs.iter().map(|p| p.normal + p.friction).sum();
        let same: Vec3 = b.pairs.iter().map(|p| p.normal + p.friction).sum();
        assert!((sum - same).norm() < 100.0 * bound * weight, "step {k}: {sum} {same}");
    }
    assert!(found.last().unwrap().contact.active > 0, "nothing touches at the end");
    // The same comparison sees friction that is a tenth less.
    let mut smoother = (**model).clone();
    smoother.obstacles.iter_mut().for_each(|o| o.friction[0] *= 0.9);
    let (other, _) = run(&mut with_vertices(Arc::new(smoother)), steps);
    assert!(apart(&on_gpu, &other) > bound, "{:e}", apart(&on_gpu, &other));
    on_gpu
}

#[test]
fn a_cube_lands_as_on_the_cpu() {
    let model = cube(vec![obstacle(Shape::Plane, Isometry::identity(), None)], 0.02);
    let state = agree(&model, 14, 5e-5);
    let lowest = model.surface_positions(&state.positions(&model)).iter().map(|p| p.y).fold(f64::INFINITY, f64::min);
    assert!(lowest > 0.0 && lowest < 5e-6, "{lowest:e}");
}

#[test]
fn a_cube_slides_as_on_the_cpu() {
    let model = cube(vec![obstacle(Shape::Plane, tilted(35.0), None)], 1e-4);
    // While it lands, which points stick first is decided within the tolerance of the slip. The CPU itself ends 2e-4 to 6e-4 away with a
    // residual bound that is a tenth or a half less.
    agree(&model, 12, 5e-4);
}

#[test]
fn every_shape_holds_as_on_the_cpu() {
    let at = |x: f64, y: f64, z: f64| Isometry::translation(x, y, z);
    let lying = |pose: Isometry| pose * Quat::from_scaled_axis(Vec3::new(std::f64::consts::FRAC_PI_2, 0.0, 0.0));
    let turning = Some(Motion { velocity: Vec3::new(0.0, 0.0, 0.1), angular_velocity: Vec3::new(0.0, 0.0, 2.0), ..Motion::default() });
    let table = Shape::Box { half_extents: Vec3::new(0.05, 0.1, 0.3) };
    let model = cube(
        vec![
            obstacle(table, at(0.09, -0.1, 0.0), None),
            obstacle(Shape::Sphere { radius: 0.08 }, at(-0.06, -0.08, 0.05), None),
            obstacle(Shape::Cylinder { radius: 0.06, half_height: 0.2 }, lying(at(-0.05, -0.06, -0.06)), turning),
            obstacle(Shape::Plane, at(0.0, -1.0, 0.0), None),
        ],
        0.01,
    );
    agree(&model, 12, 5e-5);
}

#[test]
fn a_resumed_contact_goes_on_as_if_it_had_not_stopped() {
    let model = cube(vec![obstacle(Shape::Plane, tilted(15.0), None)], 1e-4);
    let mut stepper = GpuStepper::new(test_device(), model.clone()).unwrap();
    let (saved, _) = run(&mut stepper, 4);
    assert!(!saved.contacts.entries.is_empty());
    let (end, _) = run(&mut stepper, 4);
    let mut other = GpuStepper::new(test_device(), model).unwrap();
    other.set_state(&saved).unwrap();
    assert!(other.state().unwrap() == saved);
    assert!(run(&mut other, 4).0 == end);
    let mut forgetful = saved.clone();
    forgetful.contacts.entries.clear();
    other.set_state(&forgetful).unwrap();
    assert!(run(&mut other, 4).0 != end, "the memory of contacts matters");
}
