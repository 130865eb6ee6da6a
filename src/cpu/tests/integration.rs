//! Newton's method, steps of second order, and what they do to energy and momentum.

use super::*;
use crate::elastic::strain_energy;
use crate::material::MaterialModel;
use crate::model::Integration;
use crate::step::StepReport;

/// A clamped or free bar of 1 x .2 x .2 m.
fn bar(model: MaterialModel, nu: f64, is_clamped: bool, damping: f64) -> Arc<Model> {
    let material = Material { model, young_modulus: 2e5, poisson_ratio: nu, stiffness_damping: damping, ..Material::default() };
    let tets = shapes::box_tets(Vec3::new(1.0, 0.2, 0.2), [6, 2, 2]);
    let mut body = SoftBody::with_boundary_surface("bar", material, tets);
    body.fixed = body.tets.positions.iter().map(|x| is_clamped && x.x < -0.499).collect();
    let mut builder = ModelBuilder::default();
    builder.soft_body(body);
    Arc::new(builder.build().unwrap())
}

fn stepper(model: &Arc<Model>) -> ImplicitStepper<CpuBackend> {
    ImplicitStepper::new(model.clone(), CpuBackend::default(), || 0.0).unwrap()
}

fn total_energy(model: &Model, state: &State) -> f64 {
    let kinetic: f64 = state.velocities.iter().zip(&model.node_masses).map(|(v, m)| 0.5 * m * v.norm_squared()).sum();
    kinetic + strain_energy(model, state)
}

fn angular_momentum(model: &Model, state: &State) -> Vec3 {
    let x = state.positions(model);
    (0..model.n_nodes()).map(|i| x[i].cross(&state.velocities[i]) * model.node_masses[i]).sum()
}

#[test]
fn explore() {
    for &material in MaterialModel::ALL {
        let model = bar(material, 0.3, true, 0.0);
        for tolerance in [1e-1, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10] {
            let params = Params { integration: Integration::Newton, newton_tolerance: tolerance, ..Params::default() };
            let mut stepper = stepper(&model);
            let reports: Vec<StepReport> = (0..20).map(|_| stepper.step(&params, &Loads::default()).unwrap()).collect();
            let last = reports.last().unwrap();
            println!(
                "{material:?} {tolerance:e}: {} its, residual {:e}, linear {}",
                last.newton_iterations, last.newton_residual, last.iterations
            );
        }
        // Spin.
        let model = bar(material, 0.3, false, 0.0);
        for integration in [Integration::SemiImplicit, Integration::Newton, Integration::Bdf2] {
            let params = Params { integration, gravity: Vec3::zeros(), tolerance: 1e-8, newton_tolerance: 1e-8, ..Params::default() };
            let mut stepper = stepper(&model);
            let mut state = State::initial(&model);
            let omega = Vec3::new(0.0, 0.0, 10.0);
            state.velocities.iter_mut().zip(&model.rest_positions).for_each(|(v, x)| *v = omega.cross(x));
            stepper.set_state(&state).unwrap();
            let before = (angular_momentum(&model, &state).norm(), total_energy(&model, &state));
            let mut its = 0;
            for _ in 0..63 {
                its += stepper.step(&params, &Loads::default()).unwrap().newton_iterations;
            }
            let state = stepper.state().unwrap();
            println!(
                "{material:?} {integration:?} L {} E {} its {its}",
                angular_momentum(&model, state).norm() / before.0,
                total_energy(&model, state) / before.1
            );
        }
        // Order.
        let model = bar(material, 0.3, true, 0.0);
        let end = |integration: Integration, n: u32| {
            let params =
                Params { integration, time_step: 0.16 / f64::from(n), tolerance: 1e-10, newton_tolerance: 1e-10, ..Params::default() };
            let mut stepper = stepper(&model);
            for _ in 0..n {
                stepper.step(&params, &Loads::default()).unwrap();
            }
            stepper.state().unwrap().clone()
        };
        let exact = end(Integration::Bdf2, 1024);
        for integration in [Integration::SemiImplicit, Integration::Newton, Integration::Bdf2] {
            let error = |n: u32| {
                let found = end(integration, n);
                let square: f64 = found.displacements.iter().zip(&exact.displacements).map(|(a, b)| (a - b).norm_squared()).sum();
                (square / model.n_nodes() as f64).sqrt()
            };
            let errors = [16, 32, 64, 128].map(error);
            println!("{material:?} {integration:?} {errors:?} {:?}", [0, 1, 2].map(|k| (errors[k] / errors[k + 1]).log2()));
        }
    }
}
