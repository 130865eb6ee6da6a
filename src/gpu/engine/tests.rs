//! The compliance of contacts on the device against the matrix that the CPU assembles.

use nalgebra::DMatrix;

use super::*;
use crate::body::BodyRef;
use crate::contact::{Constraint, ContactPoint, JacobianEntry, Law};
use crate::cpu::CpuBackend;
use crate::elastic::{SystemInputs, TetGroups, elements, matrix};
use crate::gpu::cwc::triangle;
use crate::gpu::device::test_device;
use crate::gpu::readback::read;
use crate::material::Material;
use crate::math::{Isometry, Quat};
use crate::mesh::shapes;
use crate::model::{Loads, Params};
use crate::model::{Mobility, ModelBuilder, RigidBody, SoftBody};
use crate::model::{PairId, PairKind};
use crate::step::ImplicitStepper;
use crate::step::Stepper;

/// A soft box, held at a corner, and a rigid brick.
pub fn model() -> Model {
    let material = Material { young_modulus: 1e5, stiffness_damping: 0.002, ..Default::default() };
    let mut soft = SoftBody::with_boundary_surface("soft", material, shapes::box_tets(Vec3::new(0.2, 0.1, 0.1), [3, 2, 2]));
    soft.fixed = (0..soft.tets.positions.len()).map(|i| i == 0).collect();
    let surface = shapes::surface_box(Vec3::repeat(0.1));
    let mut builder = ModelBuilder::default();
    builder.soft_body(soft);
    builder.rigid_body(RigidBody {
        name: "brick".into(),
        mobility: Mobility::Free { mass: 2.0, inertia: Mat3::from_diagonal(&Vec3::new(0.01, 0.02, 0.03)) },
        vertices: surface.positions,
        triangles: surface.triangles,
        texture_coordinates: None,
        pose: Isometry::from_parts(Vec3::new(0.0, 0.5, 0.0).into(), Quat::from_scaled_axis(Vec3::new(0.3, 0.2, 0.1))),
        velocity: Vec3::zeros(),
        angular_velocity: Vec3::new(0.1, 0.2, 0.3),
        color: None,
    });
    builder.build().unwrap()
}

/// Points of the box against the brick, against the ground, and a spring between them, in frames that look anywhere.
pub fn contacts(model: &Model) -> Vec<Constraint> {
    let n = model.n_nodes() as u32;
    let linear = |unknown, weight| JacobianEntry::Linear { unknown, weight };
    let contact = |k: u32| {
        let (a, b) = (1 + (5 * k) % (n - 1), 1 + (7 * k + 3) % (n - 1));
        let mut entries = vec![linear(a, 0.3)];
        if a != b {
            entries.push(linear(b, 0.7));
        }
        let with_brick = !k.is_multiple_of(3);
        if with_brick {
            let arm = Vec3::new(0.05, 0.01 * f64::from(k), -0.03);
            entries.extend([linear(n, -1.0), JacobianEntry::Angular { unknown: n + 1, arm: -arm }]);
        }
        let axis = Vec3::new(f64::from(k).sin(), (2.0 * f64::from(k)).cos(), 0.3);
        let frame = nalgebra::Rotation3::new(axis * f64::from(k)).into_inner();
        let pair = PairId { kind: PairKind::VertexTriangle, first: k, second: 0 };
        let mut contact = Constraint::contact(
            ContactPoint::new(pair),
            [BodyRef::Deformable(0), if with_brick { BodyRef::Rigid(0) } else { BodyRef::Obstacle(0) }],
            0.5,
        );
        (contact.row.entries, contact.row.frame) = (entries, frame);
        if k == 4 {
            contact.law = Law::Bilateral { compliance: Vec3::new(1e-4, 2e-4, 3e-4) };
        }
        contact
    };
    (0..9).map(contact).collect()
}

/// dt^2 C H A^-1 H^T C^T with what springs add, A of the box turned as a whole by the rotations in `state`.
fn wanted(model: &Model, state: &State, params: &Params, contacts: &[Constraint]) -> DMatrix<f64> {
    let (found, _) = elements(model, state, params.time_step);
    let mut a = Operator::default();
    matrix(SystemInputs { model, state, params, loads: &Loads::default(), second_order: &[] }, &found.tangents, &mut a, &mut vec![]);
    let n = 3 * model.n_unknowns();
    let mut dense = DMatrix::zeros(n, n);
    for i in 0..model.n_nodes() {
        for b in model.pattern.row(i) {
            let j = model.pattern.columns[b] as usize;
            let is_free = !model.fixed[i] && !model.fixed[j];
            let block = if is_free { a.blocks[b] } else { Mat3::identity() * f64::from(u8::from(i == j)) };
            dense.fixed_view_mut::<3, 3>(3 * i, 3 * j).copy_from(&block);
        }
    }
    for (k, block) in a.rigid_blocks.iter().enumerate() {
        let i = 3 * (model.n_nodes() + k);
        dense.fixed_view_mut::<3, 3>(i, i).copy_from(block);
    }
    let mut rows = DMatrix::zeros(3 * contacts.len(), n);
    for (k, contact) in contacts.iter().enumerate() {
        for entry in &contact.row.entries {
            let block = contact.row.frame * entry.matrix() * params.time_step;
            let mut place = rows.fixed_view_mut::<3, 3>(3 * k, 3 * entry.unknown());
            place += block;
        }
    }
    let mut w = &rows * dense.try_inverse().unwrap() * rows.transpose();
    for (k, contact) in contacts.iter().enumerate() {
        let mut place = w.fixed_view_mut::<3, 3>(3 * k, 3 * k);
        place += Mat3::from_diagonal(&contact.law.compliance());
    }
    w
}

#[test]
fn the_compliance_of_contacts_is_that_of_the_matrix() {
    let model = model();
    let params = Params { time_step: 1.0 / 60.0, ..Params::default() };
    let turn = Quat::from_scaled_axis(Vec3::new(0.7, -0.4, 1.1));
    let mut state = State::initial(&model);
    for (u, x) in state.displacements.iter_mut().zip(&model.rest_positions) {
        *u = turn * x - x;
    }
    state.rotations.fill([turn.i, turn.j, turn.k, turn.w]);
    let contacts = contacts(&model);
    let reference = wanted(&model, &state, &params, &contacts);

    let loads = Loads::default();
    let groups = TetGroups::of(&model);
    let step = StepInputs {
        model: &model,
        groups: &groups,
        state: &state,
        params: &params,
        loads: &loads,
        method: ContactMethod::Cwc,
        second_order: &[],
        iterate: None,
        boxes: None,
    };
    let mut dv = vec![Vec3::zeros(); model.n_unknowns()];
    let mut engine = DeviceBackend::new(test_device(), &model).unwrap();
    engine.begin(&step, &mut dv, &mut StepReport::default()).unwrap();
    let whole = Island::whole(&model);
    let island = IslandRows { contacts: &contacts, segments: whole.deformable(), accuracy: 2.5e-6, factor: 1.0 };
    let tables = engine.cwc.tables(&model, &[island], Inverses { rests: engine.rests.bodies(), rigid: &engine.inverses });
    engine.cwc.upload(&mut engine.buffers, &mut engine.staging, &tables).unwrap();
    let mut encoder = engine.encoder();
    engine.staging.record(&mut encoder).unwrap();
    engine.record(&mut encoder, "elements", |s, pass| s.assembly.record_elements(pass, &model));
    engine.record(&mut encoder, "assembly", |s, pass| s.assembly.record_system(pass, &model, 0, s.groups.rows));
    engine.record(&mut encoder, "contact solve", |s, pass| s.cwc.record_compliance(pass));
    engine.device.queue.submit([encoder.finish()]);
    let weights: Vec<f32> = read(&engine.device, &engine.buffers, "cwc_weights", 9 * tables.n_weights).unwrap();

    let mut found = DMatrix::<f64>::zeros(reference.nrows(), reference.ncols());
    for (k, row) in tables.rows.iter().enumerate() {
        for side in row.sides {
            for j in 0..side.n_members {
                let other = tables.sections.member_contacts[(side.first_member + j) as usize] as usize;
                let (row, column) = (side.own.max(j) as usize, side.own.min(j) as usize);
                let block = &weights[9 * (side.weights as usize + triangle(row) + column)..][..9];
                let block = Mat3::from_row_iterator(block.iter().map(|x| f64::from(*x)));
                let mut place = found.fixed_view_mut::<3, 3>(3 * k, 3 * other);
                place += if j > side.own { block.transpose() } else { block };
            }
        }
    }
    let difference = |other: &DMatrix<f64>| (&found - other).amax() / reference.amax();
    assert!(difference(&reference) < 1e-5, "{:e}", difference(&reference));
    // The same comparison sees a body that was not turned.
    let unturned = wanted(&model, &State::initial(&model), &params, &contacts);
    assert!(difference(&unturned) > 1e-3, "{:e}", difference(&unturned));

    // The largest eigenvalue of D^-1 W that the step length comes from.
    let scales: Vec<[f32; 4]> = read(&engine.device, &engine.buffers, "cwc_state", tables.n_state).unwrap();
    let scale = |k: usize| scales[SCALE * contacts.len() + k / 3][usize::from(!k.is_multiple_of(3))];
    let half: Vec<f64> = (0..reference.nrows()).map(|k| f64::from(scale(k)).sqrt()).collect();
    let scaled = DMatrix::from_fn(half.len(), half.len(), |i, j| reference[(i, j)] / (half[i] * half[j]));
    let largest = scaled.symmetric_eigenvalues().max();
    let n_groups = tables.data.n_groups as usize;
    let sums = &scales[tables.data.sums as usize + 2 * n_groups..][..n_groups];
    let probed = sums.iter().map(|s| f64::from(s[0])).sum::<f64>() / sums.iter().map(|s| f64::from(s[2])).sum::<f64>();
    assert!(probed < 1.0001 * largest && 1.1 * probed > largest, "{probed} {largest}");
}

/// Boxes fall on each other and the floor.
pub fn falling(n: usize) -> std::sync::Arc<Model> {
    let material = Material { young_modulus: 5e4, stiffness_damping: 0.002, ..Default::default() };
    let mut builder = ModelBuilder::default();
    for k in 0..n {
        let mut tets = shapes::box_tets(Vec3::repeat(0.1), [2, 2, 2]);
        tets.positions.iter_mut().for_each(|x| *x += Vec3::new(0.013 * k as f64, 0.051 + 0.103 * k as f64, 0.004));
        let mut soft = SoftBody::with_boundary_surface(format!("box {k}"), material, tets);
        soft.velocities.fill(Vec3::y() * (-0.4 - 0.5 * k as f64));
        builder.soft_body(soft);
    }
    let plane = crate::geometry::Shape::Plane;
    builder.obstacle(crate::model::Obstacle {
        name: "floor".into(),
        shape: plane,
        pose: Isometry::identity(),
        motion: None,
        friction: vec![0.5; n],
        color: None,
    });
    std::sync::Arc::new(builder.build().unwrap())
}

/// Islands that one workgroup holds and islands that many share come to the same step.
#[test]
fn forces_are_the_same_in_one_workgroup_and_in_many() {
    let model = falling(2);
    let run = |most_whole: usize| {
        let mut engine = DeviceBackend::new(test_device(), &model).unwrap();
        engine.cwc.most_whole = most_whole;
        let mut stepper = ImplicitStepper::new(model.clone(), engine, || 0.0).unwrap();
        let report = stepper.step(&Params::default(), &Loads::default()).unwrap();
        assert!(report.converged, "{report:?}");
        (stepper.state().unwrap().positions(&model), report.contact.active)
    };
    let ((one, active), (many, _)) = (run(256), run(0));
    let apart = one.iter().zip(&many).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
    assert!(active > 16 && apart < Params::default().contact_tolerance, "{active} {apart:e}");
    assert!(one == run(256).0 && many == run(0).0, "the same bits");
}

/// Who adds up the sums of an island that many workgroups share changes no bit.
#[test]
fn sums_of_large_islands_are_added_up_once() {
    let model = falling(3);
    let run = |max_joined: u32| {
        let mut engine = DeviceBackend::new(test_device(), &model).unwrap();
        (engine.cwc.most_whole, engine.cwc.max_joined) = (0, max_joined);
        let mut stepper = ImplicitStepper::new(model.clone(), engine, || 0.0).unwrap();
        let (mut dispatches, mut active) = (0, 0);
        for _ in 0..3 {
            let report = stepper.step(&Params::default(), &Loads::default()).unwrap();
            active = report.contact.active.max(active);
            dispatches += report.device_work.0.iter().map(|(_, work)| work.dispatches).sum::<u32>();
        }
        (stepper.state().unwrap().clone(), active, dispatches)
    };
    let (once, each) = (run(2), run(u32::MAX));
    assert!(once.0 == each.0 && each.1 > 16, "{}", each.1);
    // The sums take dispatches of their own.
    assert!(once.2 > each.2 + each.2 / 4, "{} {}", once.2, each.2);
}

/// Passes of a submission and iterations of a recorded pass are a cut: what is recorded beyond what is needed changes
/// nothing, and what is not goes on.
#[test]
fn how_work_is_cut_changes_no_bit() {
    let model = falling(3);
    let mut host = ImplicitStepper::new(model.clone(), CpuBackend::default(), || 0.0).unwrap();
    for _ in 0..3 {
        host.step(&Params::default(), &Loads::default()).unwrap();
    }
    let landing = host.state().unwrap();
    for most_whole in [256, 0] {
        let cut = |passes: u32, iterations: u32| {
            let mut engine = DeviceBackend::new(test_device(), &model).unwrap();
            engine.cwc.most_whole = most_whole;
            (engine.foreseen, engine.foreseen_iterations) = ([passes; 2], [iterations; 2]);
            let mut stepper = ImplicitStepper::new(model.clone(), engine, || 0.0).unwrap();
            stepper.set_state(landing).unwrap();
            let report = stepper.step(&Params::default(), &Loads::default()).unwrap();
            assert!(report.converged && report.contact.active > 16, "{report:?}");
            (stepper.state().unwrap().clone(), report.iterations, report.round_trips)
        };
        let (whole, parts) = (cut(8, ITERATIONS), cut(2, CHECK_INTERVAL));
        println!("{} iterations, {} and {} round trips", whole.1, whole.2, parts.2);
        assert!(whole.1 > 3 * CHECK_INTERVAL && whole.2 < parts.2, "{} {} {}", whole.1, whole.2, parts.2);
        assert!((&whole.0, whole.1) == (&parts.0, parts.1));
    }
}

/// Contacts that the device has no room for are told, with what would help; the state stays, and the device goes on
/// once there is room.
#[test]
fn contacts_that_the_device_has_no_room_for_are_told() {
    let model = falling(2);
    let (params, loads) = (Params::default(), Loads::default());
    let new = || ImplicitStepper::new(model.clone(), DeviceBackend::new(test_device(), &model).unwrap(), || 0.0).unwrap();
    let (mut small, mut large) = (new(), new());
    small.backend_mut().cwc.limit = 0;
    let before = small.state().unwrap().clone();
    let error = small.step(&params, &loads).unwrap_err();
    assert!(matches!(error, StepError::DeviceTooSmall { .. }) && error.to_string().contains("--backend cpu"), "{error}");
    assert!(*small.state().unwrap() == before);
    small.backend_mut().cwc.limit = u64::MAX;
    for stepper in [&mut small, &mut large] {
        assert!(stepper.step(&params, &loads).unwrap().converged);
    }
    assert!(small.state().unwrap() == large.state().unwrap());
}

/// A step that fails leaves everything as it was, and the next one is as if it had not been.
#[test]
fn a_step_that_fails_leaves_the_device_as_it_was() {
    let model = falling(2);
    let params = Params::default();
    let new = || ImplicitStepper::new(model.clone(), DeviceBackend::new(test_device(), &model).unwrap(), || 0.0).unwrap();
    let (mut failing, mut other) = (new(), new());
    let step = |stepper: &mut ImplicitStepper<DeviceBackend>| stepper.step(&params, &Loads::default()).unwrap();
    for stepper in [&mut failing, &mut other] {
        step(stepper);
    }
    let bad = Loads { node_forces: vec![Vec3::repeat(f64::NAN); model.n_nodes()], ..Loads::default() };
    let before = failing.state().unwrap().clone();
    let error = failing.step(&params, &bad).unwrap_err();
    assert!(matches!(error, StepError::NotFinite { .. }), "{error}");
    assert!(*failing.state().unwrap() == before);
    for stepper in [&mut failing, &mut other] {
        step(stepper);
    }
    assert!(failing.state().unwrap() == other.state().unwrap());
}

#[test]
fn what_is_made_of_a_model_can_be_cancelled_wherever_it_is() {
    let model = model();
    let mut questions = 0;
    while let Err(error) = DeviceBackend::new_unless(test_device(), &model, &CancelToken::after(questions)) {
        assert!(matches!(error, DeviceError::Cancelled(_)), "after {questions} questions: {error}");
        questions += 1;
    }
    assert!(questions >= 6, "asked {questions} times only");
}
