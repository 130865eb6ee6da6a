//! What the conjugate residuals on the device believe of their residuals, against the rows and the matrix of the CPU.

use super::*;
use crate::contact::{Problem, Status};
use crate::elastic::{SystemInputs, TetGroups, elements, matrix, right_hand_side};
use crate::gpu::device::test_device;
use crate::gpu::engine::tests::{contacts, model};
use crate::gpu::readback::read;
use crate::math::Quat;
use crate::model::Loads;
use crate::model::Params;

fn noise(k: usize) -> f64 {
    (12.9898 * k as f64 + 4.1).sin()
}

/// The nine contacts of the other test, with states of all kinds.
fn with_states(model: &Model) -> Vec<Constraint> {
    let mut contacts = contacts(model);
    for (k, contact) in contacts.iter_mut().enumerate() {
        contact.row.offset = Vec3::new(noise(3 * k), noise(3 * k + 1), noise(3 * k + 2)) * 1e-3;
        contact.force.status = if k % 4 == 3 { Status::Inactive } else { Status::Sticking };
        if contact.force.status == Status::Sticking {
            contact.force.multiplier = Vec3::new(-4.0 - noise(k), noise(k + 7), noise(k + 9));
        }
        if k % 4 == 1 {
            contact.slide(&Vec3::new(0.0, 1.0, noise(k)), if k == 1 { 1e-4 } else { f64::INFINITY });
        }
    }
    contacts
}

/// Residuals of the velocities and of the rows at `dv`, zero where the one has no freedom and the other is no row of the system.
fn residuals(problem: &Problem, contacts: &[Constraint], dv: &[Vec3]) -> [Vec<Vec3>; 2] {
    let force = |c: &Constraint| {
        -(c.force.mask(c.force.multiplier) + if c.force.status == Status::Sliding { c.force.sliding_force } else { Vec3::zeros() })
    };
    let forces: Vec<Vec3> = contacts.iter().map(force).collect();
    let mut r = vec![Vec3::zeros(); dv.len()];
    problem.residual(contacts, &forces, dv, &mut r);
    let of_row = |c: &Constraint| c.force.mask(c.row_compliance().component_mul(&c.force.multiplier) - c.row.offset - problem.rows(c, dv));
    [r, contacts.iter().map(of_row).collect()]
}

fn largest(a: &[Vec3]) -> f64 {
    a.iter().map(Vec3::amax).fold(0.0, f64::max)
}

fn apart(a: &[Vec3], b: &[Vec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).amax()).fold(0.0, f64::max)
}

#[test]
fn residuals_are_those_of_the_rows_and_the_matrix() {
    let model = model();
    let n = model.n_unknowns();
    let (params, loads) = (Params { solver: ContactMethod::Cr, ..Params::default() }, Loads::default());
    let turn = Quat::from_scaled_axis(Vec3::new(0.7, -0.4, 1.1));
    let mut state = State::initial(&model);
    for (k, (u, x)) in state.displacements.iter_mut().zip(&model.rest_positions).enumerate() {
        *u = turn * x - x + Vec3::repeat(1e-3 * noise(k));
    }
    state.rotations.fill([turn.i, turn.j, turn.k, turn.w]);
    let free = |k: usize| k >= model.n_nodes() || !model.fixed[k];
    let start: Vec<Vec3> =
        (0..n).map(|k| if free(k) { Vec3::new(noise(k), noise(k + 3), noise(k + 5)) * 0.1 } else { Vec3::zeros() }).collect();
    let mut contacts = with_states(&model);

    let groups = TetGroups::new(&model.tets, &model.materials);
    let step = Step { model: &model, groups: &groups, state: &state, params: &params, loads: &loads, solver: params.solver };
    let mut engine = DeviceBackend::new(test_device(), &model).unwrap();
    engine.begin(&step, &mut StepWork::new(&model), &mut StepReport::default()).unwrap();
    let vectors = |v: &[Vec3]| v.iter().map(|v| vec4(v, 0.0)).collect::<Vec<_>>();
    engine.outbox.put(engine.buffers.get("dv"), 0, &vectors(&start));
    engine.outbox.put(engine.buffers.get("reductions"), 0, &controls(&model, &params, &loads, &[true]));
    let mut solver = Cr::new(&engine.device, &mut engine.buffers, &model).unwrap();
    let tables =
        Tables::new(&model, &[rows_of(&contacts)], Inverses { rests: &[], rigid: &engine.inverses }, &mut ColumnStore::default(), 0);
    let control = CrControlData { is_loaded: 1, scale: 1e-9, ..CrControlData::default() };
    let island = CrIsland { contacts: &contacts, unknowns: 0..n, bodies: 0..1, control };
    let rigid = (&engine.links.rigid_blocks[..], &engine.inverses[..]);
    solver.upload(&mut engine.buffers, &mut engine.outbox, &tables, &[island], rigid).unwrap();
    let mut encoder = engine.encoder();
    engine.outbox.record(&mut encoder).unwrap();
    engine.record(&mut encoder, "assembly", |s, pass| {
        s.assembly.record_elements(pass, &model);
        s.assembly.record_system(pass, &model, 0, s.groups.rows);
    });
    let (from, to) = (engine.buffers.get("rhs_free"), engine.buffers.get("rhs"));
    encoder.copy_buffer_to_buffer(from, 0, to, 0, from.size());
    engine.record(&mut encoder, "contact solve", |s, pass| {
        s.cg.record_start(pass);
        solver.record_entry(pass);
        // A restart and three iterations.
        solver.record_rounds(pass, &s.buffers, 4);
    });
    engine.device.queue.submit([encoder.finish()]);
    let get = |name: &str, n: usize| -> Vec<Vec3> {
        read::<[f32; 4]>(&engine.device, &engine.buffers, name, n).unwrap().iter().map(three).collect()
    };
    let (dv, found_v) = (get("dv", n), get("cr_vectors", n));
    let planes = read::<[f32; 4]>(&engine.device, &engine.buffers, "cr_state", (cr::ROW_R + 1) * contacts.len()).unwrap();
    let found_c: Vec<Vec3> = planes[cr::ROW_R * contacts.len()..].iter().map(three).collect();
    let told = read::<CrControlData>(&engine.device, &engine.buffers, "cr_controls", 1).unwrap()[0];
    assert_eq!((told.iterations, told.done), (3, 0), "{told:?}");

    let (found, _) = elements(&model, &state, params.time_step);
    let inputs = SystemInputs { model: &model, state: &state, params: &params, loads: &loads };
    let (mut a, mut rhs) = (Operator::default(), vec![Vec3::zeros(); n]);
    matrix(inputs, &found.tangents, &mut a, &mut vec![]);
    right_hand_side(inputs, &found.forces, &mut rhs);
    let problem = Problem {
        a: &a,
        pattern: &model.pattern,
        fixed: &model.fixed,
        unknowns: 0..n,
        dt: params.time_step,
        rhs: &rhs,
        tolerance: params.contact_tolerance,
    };
    let [start_v, start_c] = residuals(&problem, &contacts, &start);
    let before = contacts.clone();
    for (j, contact) in contacts.iter_mut().enumerate() {
        cr::take(contact, std::array::from_fn(|plane| &planes[plane * before.len() + j]));
    }
    let [wanted_v, wanted_c] = residuals(&problem, &contacts, &dv);
    let off = [apart(&found_v, &wanted_v) / largest(&start_v), apart(&found_c, &wanted_c) / largest(&start_c)];
    println!(
        "off {off:?}; residuals fell to {:.1e} and {:.1e}",
        largest(&wanted_v) / largest(&start_v),
        largest(&wanted_c) / largest(&start_c)
    );
    assert!(off[0] < 1e-5 && off[1] < 1e-5, "{off:?}");
    assert!(contacts.iter().zip(&before).all(|(a, b)| a.force.status == b.force.status && (a.row.frame - b.row.frame).amax() < 1e-6));
    // The same comparison sees the multipliers before, and an arm that is another.
    assert!(apart(&found_v, &residuals(&problem, &before, &dv)[0]) / largest(&start_v) > 1e-4);
    let turned = contacts.iter_mut().flat_map(|c| &mut c.row.entries);
    turned.for_each(|entry| {
        if let crate::contact::JacobianEntry::Angular { arm, .. } = entry {
            arm.x += 1e-3;
        }
    });
    let [other_v, other_c] = residuals(&problem, &contacts, &dv);
    assert!(apart(&found_v, &other_v) / largest(&start_v) > 1e-5 && apart(&found_c, &other_c) / largest(&start_c) > 1e-5);
}
