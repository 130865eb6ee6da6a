//! Newton's method, steps of second order, and what they do to energy and momentum.

use super::hard_starts::{NewStepper, Row, TOLERANCES};
use super::*;
use crate::elastic::strain_energy;
use crate::element::ElementKind;
use crate::material::MaterialModel;
use crate::model::Integration;
use crate::step::StepReport;

const ALL: [Integration; 3] = [Integration::SemiImplicit, Integration::Newton, Integration::Bdf2];
const MODELS: [MaterialModel; 3] = [MaterialModel::Corotational, MaterialModel::NeoHookean, MaterialModel::StableNeoHookean];

/// A bar of 1 x .2 x .2 m, clamped at one end or free.
fn bar(model: MaterialModel, is_clamped: bool, damping: [f64; 2]) -> Arc<Model> {
    let [mass_damping, stiffness_damping] = damping;
    let material = Material { model, young_modulus: 2e5, poisson_ratio: 0.3, mass_damping, stiffness_damping, ..Material::default() };
    let mut body = SoftBody::with_boundary_surface("bar", material, shapes::box_tets(Vec3::new(1.0, 0.2, 0.2), [6, 2, 2]));
    body.fixed = body.tets.positions.iter().map(|x| is_clamped && x.x < -0.499).collect();
    let mut builder = ModelBuilder::default();
    builder.soft_body(body);
    Arc::new(builder.build().unwrap())
}

fn stepper(model: &Arc<Model>) -> ImplicitStepper<CpuBackend> {
    ImplicitStepper::new(model.clone(), CpuBackend::default(), || 0.0).unwrap()
}

fn params(integration: Integration, tolerance: f64) -> Params {
    Params { integration, tolerance, newton_tolerance: tolerance, ..Params::default() }
}

fn weightless(integration: Integration) -> Params {
    Params { gravity: Vec3::zeros(), ..params(integration, 1e-9) }
}

/// Some steps from `state`.
fn run(model: &Arc<Model>, state: &State, params: &Params, n: u32) -> (State, Vec<StepReport>) {
    let mut stepper = stepper(model);
    stepper.set_state(state).unwrap();
    let reports = (0..n).map(|_| stepper.step(params, &Loads::default()).unwrap()).collect();
    (stepper.state().unwrap().clone(), reports)
}

fn energy(model: &Model, state: &State) -> f64 {
    let kinetic: f64 = state.velocities.iter().zip(&model.node_masses).map(|(v, m)| 0.5 * m * v.norm_squared()).sum();
    kinetic + strain_energy(model, state)
}

fn angular_momentum(model: &Model, state: &State) -> f64 {
    let x = state.positions(model);
    (0..model.n_nodes()).map(|i| x[i].cross(&state.velocities[i]) * model.node_masses[i]).sum::<Vec3>().norm()
}

fn momentum(model: &Model, state: &State) -> Vec3 {
    state.velocities.iter().zip(&model.node_masses).map(|(v, m)| v * *m).sum()
}

fn moving(model: &Model, displacement: impl Fn(&Vec3) -> Vec3, velocity: impl Fn(&Vec3) -> Vec3) -> State {
    let mut state = State::initial(model);
    state.displacements = model.rest_positions.iter().map(displacement).collect();
    state.velocities = model.rest_positions.iter().map(velocity).collect();
    state
}

/// Root mean square of the distances of the nodes [m].
fn distance(a: &State, b: &State) -> f64 {
    let square: f64 = a.displacements.iter().zip(&b.displacements).map(|(a, b)| (a - b).norm_squared()).sum();
    (square / a.displacements.len() as f64).sqrt()
}

/// Backward Euler errs in proportion to the time step, the step of second order to its square; with damping, too.
#[test]
fn errors_fall_with_the_order_of_the_integration() {
    for (model, damping) in [(MaterialModel::Corotational, [0.0; 2]), (MaterialModel::NeoHookean, [0.5, 0.005])] {
        let bar = bar(model, true, damping);
        let end = |integration, n: u32| {
            let params = Params { time_step: 0.16 / f64::from(n), ..params(integration, 1e-9) };
            run(&bar, &State::initial(&bar), &params, n).0
        };
        let exact = end(Integration::Bdf2, 512);
        for (integration, orders) in [(Integration::Newton, 0.85..1.1), (Integration::Bdf2, 1.6..2.3)] {
            let [coarse, fine] = [32, 64].map(|n| distance(&end(integration, n), &exact));
            let order = (coarse / fine).log2();
            println!("{model:?} damped {damping:?}, {integration:?}: {coarse:.2e} m, {fine:.2e} m, order {order:.2}");
            assert!(orders.contains(&order), "{model:?} {integration:?}: {order}");
        }
    }
}

/// A stretched bar swings lengthwise: backward Euler eats its energy, the step of second order hardly any. None adds
/// some.
#[test]
fn second_order_keeps_the_energy_of_what_vibrates() {
    let bar = bar(MaterialModel::NeoHookean, false, [0.0; 2]);
    let start = moving(&bar, |x| Vec3::new(0.1 * x.x, 0.0, 0.0), |_| Vec3::zeros());
    let before = energy(&bar, &start);
    let [euler, newton, second] = ALL.map(|integration| {
        let mut state = start.clone();
        let mut largest = 0.0_f64;
        let mut stepper = stepper(&bar);
        stepper.set_state(&start).unwrap();
        for _ in 0..50 {
            stepper.step(&Params { time_step: 5e-3, ..weightless(integration) }, &Loads::default()).unwrap();
            state.clone_from(stepper.state().unwrap());
            largest = largest.max(energy(&bar, &state) / before);
        }
        assert!(largest < 1.0, "{integration:?}: {largest}");
        energy(&bar, &state) / before
    });
    println!("left of the energy: semi-implicit {euler:.4}, newton {newton:.4}, bdf2 {second:.4}");
    assert!(second > 2.0 * newton.max(euler), "{euler} {newton} {second}");
}

/// The semi-implicit step keeps the spin of a cube (`materials-study.md` 0.2); Newton's loses a third of it in a turn,
/// the step of second order some percent.
#[test]
fn spin_is_kept() {
    for model in MODELS {
        let material = Material { model, young_modulus: 1e5, poisson_ratio: 0.3, ..Material::default() };
        let mut builder = ModelBuilder::default();
        builder.soft_body(SoftBody::with_boundary_surface("cube", material, shapes::box_tets(Vec3::repeat(0.2), [3; 3])));
        let cube = Arc::new(builder.build().unwrap());
        let start = moving(&cube, |_| Vec3::zeros(), |x| Vec3::new(0.0, 0.0, 10.0).cross(x));
        let left = |integration| angular_momentum(&cube, &run(&cube, &start, &weightless(integration), 63).0);
        let [semi, newton, second] = ALL.map(|integration| left(integration) / angular_momentum(&cube, &start));
        println!("{model:?}: left of the angular momentum after a turn: {semi:.5} {newton:.4} {second:.4}");
        assert!((semi - 1.0).abs() < 1e-4 && second > 0.95 && newton < 0.8, "{model:?}: {semi} {newton} {second}");
    }
}

#[test]
fn momentum_is_kept() {
    for model in MODELS {
        let bar = bar(model, false, [0.0; 2]);
        let start = moving(&bar, |x| Vec3::new(0.3 * x.x, -0.2 * x.x * x.x, 0.0), |x| Vec3::new(3.0, x.x, 1.0));
        for integration in ALL {
            let after = momentum(&bar, &run(&bar, &start, &weightless(integration), 20).0);
            let lost = (after - momentum(&bar, &start)).norm() / after.norm();
            assert!(lost < 1e-10, "{model:?} {integration:?}: {lost:e}");
        }
    }
}

/// The residual that Newton's method leaves after each iteration of a step from a bent bar.
fn residuals(model: MaterialModel, stretch: Vec3) -> Vec<f64> {
    let bar = bar(model, true, [0.0; 2]);
    let displacement = |x: &Vec3| {
        let along = x.x + 0.5;
        Vec3::new(along * stretch.x, x.y * stretch.y - 0.1 * along * along, x.z * stretch.z)
    };
    let mut stepper = stepper(&bar);
    stepper.set_state(&moving(&bar, displacement, |_| Vec3::zeros())).unwrap();
    stepper.step(&Params { time_step: 2e-3, ..params(Integration::Newton, 1e-11) }, &Loads::default()).unwrap();
    println!("{model:?}, stretched by {:?}: {:?}", stretch.as_slice(), stepper.newton.residuals);
    stepper.newton.residuals.clone()
}

/// Where no element is compressed the matrix of a principal model is the exact tangent, and the residual falls
/// quadratically; elsewhere it was made positive, and the residual falls by a good part in each iteration.
#[test]
fn the_residual_of_a_bent_bar_falls_quadratically() {
    for model in [MaterialModel::NeoHookean, MaterialModel::MooneyRivlin] {
        let pulled = residuals(model, Vec3::new(0.4, 0.2, 0.2));
        let [.., before, last] = pulled[..] else { panic!("{pulled:?}") };
        assert!(pulled.len() <= 5 && last < 1e-11, "{pulled:?}");
        assert!(before > 1e-8 && last < before.powf(1.5), "{pulled:?}");
    }
    for model in MODELS {
        let bent = residuals(model, Vec3::zeros());
        assert!(bent.len() <= 12 && bent.windows(2).skip(1).all(|pair| pair[1] < 0.3 * pair[0]), "{model:?}: {bent:?}");
    }
}

/// Impacts inject no energy, whatever the step remembers, and nothing passes through the floor.
#[test]
fn a_bounce_gains_no_energy() {
    for model in MODELS {
        let material = Material { model, young_modulus: 5e4, poisson_ratio: 0.3, ..Material::default() };
        let mut builder = ModelBuilder::default();
        let mut tets = shapes::box_tets(Vec3::repeat(0.2), [3, 3, 3]);
        tets.positions.iter_mut().for_each(|x| x.y += 0.3);
        builder.soft_body(SoftBody::with_boundary_surface("cube", material, tets));
        let (shape, pose) = (Shape::Plane, Isometry::identity());
        builder.obstacle(Obstacle { name: "floor".into(), shape, pose, motion: None, friction: vec![0.5], color: None });
        let cube = Arc::new(builder.build().unwrap());
        for integration in ALL {
            let params = Params { newton_tolerance: 1e-6, ..Params { integration, ..Params::default() } };
            let height = |state: &State| {
                let x = state.positions(&cube);
                -params.gravity.y * x.iter().zip(&cube.node_masses).map(|(x, m)| x.y * m).sum::<f64>()
            };
            let mut stepper = stepper(&cube);
            let start = stepper.state().unwrap().clone();
            let before = energy(&cube, &start) + height(&start);
            let (mut largest, mut touched, mut lowest) = (0.0_f64, 0, 1.0_f64);
            for _ in 0..60 {
                let report = stepper.step(&params, &Loads::default()).unwrap();
                touched += u32::from(report.contact.active > 0);
                let state = stepper.state().unwrap();
                largest = largest.max((energy(&cube, state) + height(state)) / before);
                lowest = state.positions(&cube).iter().fold(lowest, |lowest, x| lowest.min(x.y));
            }
            println!("{model:?} {integration:?}: at most {largest:.5} of the energy, {touched} steps with contact, lowest {lowest:.1e} m");
            assert!(touched > 3 && largest < 1.0 + 1e-4 && lowest >= 0.0, "{model:?} {integration:?}: {largest} {touched} {lowest}");
        }
    }
}

/// The same bits for any number of threads.
#[test]
fn threads_leave_no_trace() {
    let bar = bar(MaterialModel::NeoHookean, true, [0.0, 0.001]);
    for integration in ALL {
        let [one, three] = [1, 3].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| run(&bar, &State::initial(&bar), &params(integration, 1e-6), 10).0)
        });
        assert!(one == three, "{integration:?}");
    }
}

/// Another time step begins a new history: that step is one of backward Euler, to the last bit.
#[test]
fn a_history_serves_its_own_time_step_only() {
    let bar = bar(MaterialModel::StableNeoHookean, true, [0.0; 2]);
    let second = params(Integration::Bdf2, 1e-8);
    let (before, _) = run(&bar, &State::initial(&bar), &second, 5);
    let next = |integration, time_step| run(&bar, &before, &Params { integration, time_step, ..second }, 1).0.displacements;
    assert!(next(Integration::Bdf2, 5e-3) == next(Integration::Newton, 5e-3));
    assert!(next(Integration::Bdf2, 1e-2) != next(Integration::Newton, 1e-2));
}

const ON_CPU: NewStepper = |model| Box::new(ImplicitStepper::new(model.clone(), CpuBackend::default(), || 0.0).expect("a surface"));

/// A few of the hard starts of every model; `tests/long.rs` has all.
#[test]
fn hard_starts_gain_no_energy() {
    for model in MaterialModel::ALL {
        let row = Row::run(*model, Integration::SemiImplicit, [&[1e5], &[0.3, 0.49]], 2, ON_CPU);
        println!("{row}");
        row.check(TOLERANCES);
    }
    // The frames of corotational elements need no guard; others do.
    let [corotational, stable] = [MaterialModel::Corotational, MaterialModel::StableNeoHookean]
        .map(|model| Row::run(model, Integration::SemiImplicit, [&[1e6], &[0.49]], 2, ON_CPU).halvings());
    assert!(corotational == 0 && stable > 0, "{corotational} {stable}");
}

/// Newton's method and steps of second order come through them, too.
#[test]
fn hard_starts_are_solved_by_newtons_method() {
    for integration in [Integration::Newton, Integration::Bdf2] {
        let row = Row::run(MaterialModel::StableNeoHookean, integration, [&[1e5], &[0.45]], 2, ON_CPU);
        println!("{row}");
        row.check(TOLERANCES);
    }
}

/// Elements of several tets are solved, too: what is measured at the end is what the linear steps have led to.
#[test]
fn newtons_method_solves_every_kind_of_element() {
    for (name, kind) in ElementKind::ALL {
        let material = Material { model: MaterialModel::NeoHookean, young_modulus: 2e5, poisson_ratio: 0.45, ..Material::default() };
        let mut mesh = shapes::box_tets(Vec3::new(1.0, 0.2, 0.2), [4, 2, 2]);
        if kind == ElementKind::Quadratic {
            mesh = mesh.quadratic(&[]).0;
        }
        let mut body = SoftBody::with_boundary_surface("bar", material, mesh);
        body.element = kind;
        body.fixed = body.tets.positions.iter().map(|x| x.x < -0.499).collect();
        let mut builder = ModelBuilder::default();
        builder.soft_body(body);
        let bar = Arc::new(builder.build().unwrap());
        for integration in [Integration::Newton, Integration::Bdf2] {
            let (_, reports) = run(&bar, &State::initial(&bar), &params(integration, 1e-8), 10);
            let most = reports.iter().map(|report| report.newton_iterations).max().unwrap();
            let residual = reports.iter().map(|report| report.newton_residual).fold(0.0, f64::max);
            println!("{name} {integration:?}: at most {most} iterations, residual {residual:.1e}");
            assert!(residual <= 1e-8 && most <= 12, "{name} {integration:?}: {most} {residual:e}");
        }
    }
}
