//! Contact and friction with obstacles against known answers.

use std::sync::Arc;

use nalgebra::{DMatrix, DVector};
use pliant::body::BodyRef;
use pliant::cpu::CpuBackend;
use pliant::elastic;
use pliant::elastic::SystemInputs;
use pliant::geometry::Shape;
use pliant::lab;
use pliant::math::{Isometry, Quat, Vec3};
use pliant::mesh::shapes;
use pliant::model::{ContactMethod, Loads, Params, State};
use pliant::model::{Model, Motion, Obstacle, SoftBody};
use pliant::sim::{Simulation, Threaded};
use pliant::step::{StepReport, Stepper};

use crate::lab::*;

const G: f64 = 9.81;

fn floor(friction: f64) -> Obstacle {
    obstacle(Shape::Plane, Isometry::identity(), friction)
}

/// A block of 0.2 x 0.1 x 0.2 m whose lower face lies `above` [m] over the plane through the origin, turned with it.
fn block(young_modulus: f64, above: f64, turn: &Quat, cells: [u32; 3]) -> SoftBody {
    let mut mesh = shapes::box_tets(Vec3::new(0.2, 0.1, 0.2), cells);
    for p in &mut mesh.positions {
        p.y += 0.05 + above;
        *p = turn * *p;
    }
    let mut material = rubber(young_modulus, 0.3);
    material.stiffness_damping = 0.005;
    body("block", material, mesh)
}

/// A run with what was seen on the way.
struct Run {
    model: Arc<Model>,
    simulation: Simulation,
    deepest: f64,
    unconverged: u32,
    cone: f64,
    complementarity: f64,
}

impl Run {
    fn new(backend: Backend, model: &Arc<Model>) -> Self {
        Self::with(backend, model, ContactMethod::Auto, Params::default())
    }

    fn with(backend: Backend, model: &Arc<Model>, solver: ContactMethod, params: Params) -> Self {
        let simulation = backend.simulation_of(model, solver, params);
        Self { model: model.clone(), simulation, deepest: 0.0, unconverged: 0, cone: 0.0, complementarity: 0.0 }
    }

    fn state(&mut self) -> State {
        self.simulation.state().unwrap().clone()
    }

    fn step(&mut self) -> (State, StepReport) {
        let report = self.simulation.step().unwrap();
        let state = self.state();
        self.deepest = self.deepest.max(penetration(&self.model, &state));
        self.unconverged += u32::from(!report.converged);
        self.cone = self.cone.max(report.contact.max_cone_violation);
        self.complementarity = self.complementarity.max(report.contact.max_complementarity_error);
        (state.clone(), report)
    }

    fn steps(&mut self, n: usize) -> (State, StepReport) {
        (1..n).for_each(|_| {
            self.step();
        });
        self.step()
    }

    fn told(&self) -> String {
        format!("deepest {:.1e} unconverged {} cone {:.1e} N fb {:.1e} m", self.deepest, self.unconverged, self.cone, self.complementarity)
    }
}

fn velocity(model: &Model, state: &State) -> Vec3 {
    momentum(model, state) / total_mass(model)
}

#[test]
fn a_resting_block_is_carried_by_its_weight() {
    for &backend in Backend::CONTACT {
        let model = model(vec![block(2e5, 0.02, &Quat::identity(), [6, 3, 6])], vec![floor(0.5)]);
        let mut run = Run::new(backend, &model);
        run.steps(130);
        // Forces are within a tolerance, so that what rests trembles: by as much in the mean, and more in single steps.
        let trembles = (0..20).map(|_| max_speed(&run.step().0)).sum::<f64>() / 20.0;
        let (state, report) = run.step();
        let weight = total_mass(&model) * G;
        let pair = &report.contact.pairs[0];
        let gaps: Vec<f64> =
            state.contacts.entries.iter().map(|c| model.surface_positions(&state.positions(&model))[c.pair.first as usize].y).collect();
        let (low, high) = gaps.iter().fold((f64::MAX, f64::MIN), |(l, h), g| (l.min(*g), h.max(*g)));
        println!(
            "{backend:?}: force/weight {:.6} side {:.1e} speed {:.1e} gaps {low:.2e}..{high:.2e} {}",
            pair.normal.y / weight,
            pair.friction.xz().norm() / weight,
            trembles,
            run.told()
        );
        assert!((pair.normal.y / weight - 1.0).abs() < 0.01);
        assert!(trembles < 1e-4 && run.deepest < 1e-4);
        assert!(low > 0.0 && high < Params::default().contact_tolerance, "gaps {low:e} {high:e}");
        assert!(gaps.len() > 20);
    }
}

#[test]
fn a_block_on_a_slope_sticks_below_and_slides_above_the_angle_of_friction() {
    for &backend in Backend::CONTACT {
        let mut wrong = vec![];
        for (mu, ratio) in [(0.3, 0.9), (0.3, 1.2), (0.5, 0.8), (0.5, 1.1), (0.5, 1.4), (0.8, 0.95), (0.8, 1.3)] {
            let angle = f64::atan(mu * ratio);
            let turn = Quat::from_scaled_axis(Vec3::z() * -angle);
            let mut plane = floor(mu);
            plane.pose = Isometry::from_parts(Default::default(), turn);
            let model = model(vec![block(5e5, 1e-4, &turn, [6, 3, 6])], vec![plane]);
            let mut run = Run::new(backend, &model);
            let start = std::time::Instant::now();
            let down = turn * Vec3::x();
            let (before, _) = run.steps(40);
            let (mut impulse, mut friction, mut aside, mut creep) = (0.0, Vec3::zeros(), 0.0f64, 0.0f64);
            for _ in 0..80 {
                let (state, report) = run.step();
                let pair = &report.contact.pairs[0];
                impulse += pair.normal.norm();
                friction += pair.friction;
                aside = aside.max((pair.friction + down * pair.friction.norm()).norm() / pair.friction.norm());
                creep = creep.max(max_speed(&state));
            }
            let after = run.state();
            let acceleration = (velocity(&model, &after) - velocity(&model, &before)).dot(&down) / 0.8;
            let wanted = G * (angle.sin() - mu * angle.cos());
            eprintln!(
                "{backend:?} mu {mu} tan/mu {ratio}: a {acceleration:.5} of {wanted:.5} ({:+.2} %), friction/(mu normal) {:.5} aside {aside:.1e} creep {creep:.1e} {} {:.0?}",
                100.0 * (acceleration / wanted - 1.0),
                friction.norm() / (mu * impulse),
                run.told(),
                start.elapsed()
            );
            let holds = if ratio < 1.0 {
                creep < 2e-3
            } else {
                (acceleration / wanted - 1.0).abs() < 0.01 && (friction.norm() / (mu * impulse) - 1.0).abs() < 1e-3 && aside < 0.02
            };
            if !(holds && run.deepest < 1e-4) {
                wrong.push((mu, ratio));
            }
        }
        assert!(wrong.is_empty(), "{backend:?}: wrong at (mu, tan/mu) {wrong:?}");
    }
}

/// `contact-cr.md` 13, facts 4 and 7.
#[test]
fn a_sliding_block_is_slowed_down_by_mu_g() {
    let (mu, speed) = (0.5, 4.0);
    let direction = Vec3::new(0.8, 0.0, 0.6);
    for solver in [ContactMethod::Cwc, ContactMethod::Cr] {
        let mut sliding = block(5e5, 2e-6, &Quat::identity(), [4, 2, 4]);
        sliding.velocities.fill(direction * speed);
        let model = model(vec![sliding], vec![floor(mu)]);
        let mut run = Run::with(Backend::Cpu, &model, solver, Params { tolerance: 1e-6, ..Params::default() });
        let (before, _) = run.steps(10);
        let (mut aside, mut off, mut gap) = (0.0f64, 0.0f64, 0.0f64);
        for _ in 0..60 {
            let (state, report) = run.step();
            if report.converged {
                gap = gap.max(report.contact.max_gap_of_active);
            }
            let pair = &report.contact.pairs[0];
            let along = velocity(&model, &state).normalize();
            aside = aside.max((pair.friction.normalize() + along).norm());
            off = off.max((pair.friction.norm() / (mu * pair.normal.norm()) - 1.0).abs());
        }
        let after = run.state();
        let slowed = (velocity(&model, &before) - velocity(&model, &after)).dot(&direction) / 0.6;
        println!("{solver:?}: slowed by {:.5} mu g, friction {aside:.1e} aside and {off:.1e} off, {}", slowed / (mu * G), run.told());
        assert!((slowed / (mu * G) - 1.0).abs() < 0.01);
        assert!(aside < 1e-3 && off < 1e-4, "{solver:?}: {aside} {off}");
        // Fact 7: gaps end in the band.
        assert!(
            gap > 0.0 && gap < Params::default().contact_tolerance && run.deepest == 0.0,
            "{solver:?}: gap {gap}, {} deep",
            run.deepest
        );
    }
}

/// One frictionless step against the dense quadratic programme  min 1/2 dv.A dv - dv.rhs  s.t.  gap(dv) >= safety.
#[test]
fn a_frictionless_step_solves_the_quadratic_programme() {
    let turn = Quat::from_scaled_axis(Vec3::new(0.2, 0.0, -0.3));
    let mut plane = floor(0.0);
    plane.pose = Isometry::from_parts(Default::default(), turn);
    let normal = turn * Vec3::y();
    let model = model(vec![block(2e5, 0.004, &turn, [4, 2, 4])], vec![plane]);
    let params =
        Params { tolerance: 1e-12, contact_tolerance: 1e-11, max_iterations: 20_000, max_contact_iterations: 20_000, ..Params::default() };
    let mut state = State::initial(&model);
    let mut random = Random::new(11);
    for (i, v) in state.velocities.iter_mut().enumerate() {
        // It comes down rocking, so that some points touch and some do not.
        *v = -normal * 0.6 + Vec3::new(0.0, 0.0, 2.0).cross(&model.rest_positions[i]) + random.vector() * 0.05;
    }
    let dt = params.time_step;

    // The dense problem.
    let (elements, _) = elastic::elements(&model, &state, dt);
    let inputs = SystemInputs { model: &model, state: &state, params: &params, loads: &Loads::default(), second_order: &[] };
    let mut rhs = vec![Vec3::zeros(); model.n_nodes()];
    elastic::right_hand_side(inputs, &elements.forces, &mut rhs);
    let (mut operator, mut blocks) = (Default::default(), vec![]);
    elastic::matrix(inputs, &elements.tangents, &mut operator, &mut blocks);
    let n = 3 * model.n_nodes();
    let mut a = DMatrix::<f64>::zeros(n, n);
    for i in 0..model.n_nodes() {
        for b in model.pattern.row(i) {
            a.view_mut((3 * i, 3 * model.pattern.columns[b] as usize), (3, 3)).copy_from(&operator.blocks[b]);
        }
    }
    let a = a.cholesky().unwrap();
    let points: Vec<usize> = model.surface.nodes.iter().map(|nodes| nodes[0] as usize).collect();
    let mut j = DMatrix::<f64>::zeros(points.len(), n);
    let mut offset = DVector::<f64>::zeros(points.len());
    for (row, &node) in points.iter().enumerate() {
        for axis in 0..3 {
            j[(row, 3 * node + axis)] = dt * normal[axis];
        }
        let x = model.rest_positions[node] + state.displacements[node] + state.velocities[node] * dt;
        offset[row] = x.dot(&normal) - 0.5 * params.contact_tolerance;
    }
    let b = DVector::from_iterator(n, rhs.iter().flat_map(|v| v.iter().copied()));
    let free = a.solve(&b);
    let w = &j * a.solve(&j.transpose());
    let q = &j * &free + &offset;
    // Projected Gauss-Seidel finds the active set, a dense solve its forces.
    let mut lambda = DVector::<f64>::zeros(points.len());
    for _ in 0..20_000 {
        for k in 0..points.len() {
            let gap = q[k] + w.row(k).dot(&lambda.transpose());
            lambda[k] = f64::max(0.0, lambda[k] - gap / w[(k, k)]);
        }
    }
    let active: Vec<usize> = (0..points.len()).filter(|k| lambda[*k] > 0.0).collect();
    let reduced = w.select_rows(&active).select_columns(&active);
    let forces = reduced.lu().solve(&-q.select_rows(&active)).unwrap();
    let mut lambda = DVector::<f64>::zeros(points.len());
    active.iter().zip(forces.iter()).for_each(|(k, f)| lambda[*k] = *f);
    let gaps = &q + &w * &lambda;
    assert!(lambda.min() >= 0.0 && gaps.min() > -1e-14, "the reference solves it: {:e} {:e}", lambda.min(), gaps.min());
    let reference = &free + a.solve(&(j.transpose() * &lambda));

    // Compliances are kept in short numbers: their last digits are those of the gaps.
    let residuals = [ContactMethod::Cr, ContactMethod::CrDiag, ContactMethod::CrNone].map(|solver| (solver, 1e-11, 1e-8));
    for (solver, contact_tolerance, bound) in residuals.into_iter().chain([(ContactMethod::Cwc, 1e-8, 1e-5)]) {
        let backend = CpuBackend::with_methods(lab::methods::row_solver);
        let mut stepper = Threaded::implicit(model.clone(), backend, 1).unwrap();
        stepper.set_state(&state).unwrap();
        let report = stepper.step(&Params { method: solver, contact_tolerance, ..params }, &Loads::default()).unwrap();
        let found = stepper.state().unwrap();
        let dv = DVector::from_iterator(n, found.velocities.iter().zip(&state.velocities).flat_map(|(a, b)| (a - b).data.0[0]));
        let error = (&dv - &reference).norm() / reference.norm();
        let mut found_lambda = DVector::<f64>::zeros(points.len());
        found.contacts.entries.iter().for_each(|c| found_lambda[c.pair.first as usize] = c.normal_force);
        let force_error = (&found_lambda - &lambda).norm() / lambda.norm();
        println!(
            "{solver:?}: {} of {} points touch; dv error {error:e}, force error {force_error:e}; iterations {} restarts {} converged {}",
            active.len(),
            points.len(),
            report.iterations,
            report.restarts,
            report.converged
        );
        assert!(active.len() > 5 && active.len() < 25, "{} contacts", active.len());
        assert!(error < bound && force_error < bound, "{solver:?} {error:e} {force_error:e}");
    }
    assert!((&free - &reference).norm() / reference.norm() > 1e-2, "contact matters here");
}

fn ball(center: Vec3) -> SoftBody {
    let mut mesh = shapes::sphere(0.08, 6);
    mesh.positions.iter_mut().for_each(|p| *p += center);
    let mut material = rubber(5e4, 0.4);
    material.stiffness_damping = 0.005;
    body("ball", material, mesh)
}

#[test]
fn balls_dropped_on_every_shape_stay_outside() {
    let lying = Isometry::from_parts(Vec3::new(0.0, 0.1, 0.0).into(), Quat::from_scaled_axis(Vec3::x() * std::f64::consts::FRAC_PI_2));
    let at = |y: f64| Isometry::translation(0.0, y, 0.0);
    let tilted = |angles: Vec3| Isometry::from_parts(Vec3::new(0.0, 0.1, 0.0).into(), Quat::from_scaled_axis(angles));
    let half_extents = Vec3::new(0.1, 0.1, 0.1);
    let corner = Quat::rotation_between(&Vec3::new(1.0, 1.0, 1.0), &Vec3::y()).unwrap().scaled_axis();
    let cases = [
        ("sphere", Shape::Sphere { radius: 0.1 }, at(0.1)),
        ("lying cylinder", Shape::Cylinder { radius: 0.1, half_height: 0.2 }, lying),
        ("standing cylinder", Shape::Cylinder { radius: 0.1, half_height: 0.1 }, at(0.1)),
        ("box", Shape::Box { half_extents }, at(0.1)),
        ("edge of a box", Shape::Box { half_extents }, tilted(Vec3::z() * std::f64::consts::FRAC_PI_4)),
        ("corner of a box", Shape::Box { half_extents }, tilted(corner)),
    ];
    for &backend in Backend::CONTACT {
        for (name, shape, pose) in &cases {
            let top = 0.1
                + match name {
                    n if n.starts_with("edge") => 0.1 * 2f64.sqrt(),
                    n if n.starts_with("corner") => 0.1 * 3f64.sqrt(),
                    _ => 0.1,
                };
            let model = model(vec![ball(Vec3::new(0.012, top + 0.08 + 0.1, 0.007))], vec![floor(0.5), obstacle(*shape, *pose, 0.3)]);
            let mut run = Run::new(backend, &model);
            let start = std::time::Instant::now();
            let mut hit = false;
            for _ in 0..150 {
                let (_, report) = run.step();
                hit |= report.contact.pairs.iter().any(|p| p.bodies.contains(&BodyRef::Obstacle(1)));
            }
            let (state, _) = run.step();
            let c = center_of_mass(&model, &state);
            println!(
                "{backend:?} {name}: {} ends at ({:.3} {:.3} {:.3}) with {:.1e} m/s, {:.0?}",
                run.told(),
                c.x,
                c.y,
                c.z,
                max_speed(&state),
                start.elapsed()
            );
            assert!(hit, "{name}: never touched");
            assert!(run.deepest < 1e-4, "{name}: {:e} m deep", run.deepest);
            assert!(deformations(&model, &state).iter().all(|f| f.determinant() > 0.0), "{name}: inverted");
            assert!(c.y > 0.05 && c.norm() < 2.0, "{name}: flew off to {c}");
        }
    }
}

#[test]
fn a_turning_cylinder_carries_a_block_along() {
    for &backend in Backend::CONTACT {
        let radius = 0.5;
        let mut roller = obstacle(
            Shape::Cylinder { radius, half_height: 0.3 },
            Isometry::from_parts(Vec3::new(0.0, -radius, 0.0).into(), Quat::from_scaled_axis(Vec3::x() * std::f64::consts::FRAC_PI_2)),
            0.8,
        );
        let omega = 0.2;
        roller.motion = Some(Motion { angular_velocity: Vec3::z() * -omega, ..Motion::default() });
        let model = model(vec![block(1e5, 1e-3, &Quat::identity(), [8, 4, 8])], vec![roller]);
        let mut run = Run::new(backend, &model);
        let (before, _) = run.steps(100);
        let (after, _) = run.steps(40);
        let moved = center_of_mass(&model, &after) - center_of_mass(&model, &before);
        // The block turns with the cylinder: its centre moves on a circle about the axis.
        let wanted = omega * 0.4 * (center_of_mass(&model, &before) + Vec3::y() * radius).norm();
        println!("{backend:?}: moved {:.6} of {wanted:.6} m, {}", moved.norm(), run.told());
        assert!((moved.x / wanted - 1.0).abs() < 0.02 && run.deepest < 1e-4, "moved {moved}");
    }
}

#[test]
fn a_fast_body_does_not_pass_a_thin_wall() {
    for &backend in Backend::CONTACT {
        for (thickness, speed) in [(0.02, 20.0), (0.01, 20.0), (0.004, 50.0)] {
            for start in [0.11, 0.163, 0.207] {
                let wall = obstacle(Shape::Box { half_extents: Vec3::new(0.5 * thickness, 0.5, 0.5) }, Isometry::identity(), 0.3);
                // It is about the wall: a ball that is flattened to nothing would meet itself everywhere.
                let mut soft = SoftBody { self_contact: false, ..ball(Vec3::new(-start, 0.0, 0.0)) };
                soft.velocities.fill(Vec3::x() * speed);
                let model = model(vec![soft], vec![wall]);
                let mut run = Run::with(backend, &model, ContactMethod::Auto, Params { gravity: Vec3::zeros(), ..Params::default() });
                let (mut passed, mut inverted) = (0, 0);
                for _ in 0..15 {
                    let (state, _) = run.step();
                    // The surface is what meets the wall; inner nodes may overshoot it while a blow this hard crushes
                    // the body.
                    let surface = model.surface_positions(&state.positions(&model));
                    passed = passed.max(surface.iter().filter(|x| x.x > -0.5 * thickness + 1e-4).count());
                    inverted = deformations(&model, &state).iter().filter(|f| f.determinant() <= 0.0).count();
                }
                let state = run.state();
                let v = velocity(&model, &state);
                println!(
                    "{backend:?} wall {thickness} m, {speed} m/s from {start}: vertices beyond {passed}, leaves with {:.2} m/s, inverted {inverted}, {}",
                    v.x,
                    run.told()
                );
                assert!(
                    passed == 0 && v.x < 0.0,
                    "{passed} vertices passed the wall of {thickness} m at {speed} m/s; velocity after {}",
                    v.x
                );
            }
        }
    }
}

#[test]
fn contact_has_the_same_bits_for_any_number_of_threads() {
    let model = model(vec![ball(Vec3::new(0.0, 0.09, 0.0))], vec![floor(0.5)]);
    let run = |threads: usize| {
        let mut stepper = Threaded::on_cpu(model.clone(), threads).unwrap();
        let reports: Vec<u32> = (0..40).map(|_| stepper.step(&Params::default(), &Loads::default()).unwrap().iterations).collect();
        (stepper.state().unwrap().clone(), reports)
    };
    let one = run(1);
    assert!(!one.0.contacts.entries.is_empty());
    assert!(one == run(1) && one == run(2) && one == run(3));
}
