//! The kernels of a pass against what they are twins of, each by itself on scrambled input.

use super::layout::*;
use super::*;
use crate::cancel::CancelToken;
use crate::contact::islands::Island;
use crate::contact::{Constraint, NaturalError, Scale};
use crate::gpu::device::test_device;
use crate::gpu::elastic::create_buffers_unless;
use crate::gpu::engine::tests::{contacts, model};
use crate::gpu::layout::{ControlData, three, vec4};
use crate::gpu::readback::read;
use crate::gpu::upload::{params_data, upload_model_unless};
use crate::math::{Mat3, Vec3};
use crate::model::{Loads, Params};

/// A repeatable number in [-1, 1].
fn noise(k: usize) -> f64 {
    (k as f64 * 12.989_8 + 0.7).sin() * 43_758.545_3 % 1.0
}

fn scrambled(n: usize, size: f64, seed: usize) -> Vec<Vec3> {
    (0..n).map(|i| Vec3::new(noise(3 * i + seed), noise(3 * i + 1 + seed), noise(3 * i + 2 + seed)) * size).collect()
}

fn lanes(v: &[f32; 4]) -> [f64; 4] {
    v.map(f64::from)
}

/// Contacts on the device with a state and a compliance that mean nothing.
struct Bench {
    device: Arc<Device>,
    buffers: Buffers,
    cwc: Cwc,
    tables: Tables,
    contacts: Vec<Constraint>,
    rigid_inverses: Vec<Mat3>,
    n_unknowns: usize,
    dt: f64,
    /// `cwc_state` and `cwc_weights`, as they were written.
    state: Vec<[f32; 4]>,
    weights: Vec<f32>,
}

const ACCURACY: f64 = 1e-3;

impl Bench {
    /// `ends`: of the contacts of each island. The first island has the deformable body.
    fn new(ends: &[usize]) -> Self {
        let (device, model, params) = (test_device(), model(), Params::default());
        let mut buffers = Buffers::new(device.clone());
        upload_model_unless(&mut buffers, &model, CancelToken::never()).unwrap();
        let (_, groups) = create_buffers_unless(&device, &mut buffers, &model, 0, CancelToken::never()).unwrap();
        buffers.uniform("params", &[params_data(&model, &params, &Loads::default(), &groups)]);
        let contacts = contacts(&model);
        let (starts, whole) = ([&[0][..], ends].concat(), Island::whole(&model));
        let island = |(k, end): (usize, &usize)| IslandRows {
            contacts: &contacts[starts[k]..*end],
            segments: if k == 0 { whole.deformable() } else { &[] },
            accuracy: ACCURACY,
            factor: 1.0,
        };
        let islands: Vec<IslandRows> = ends.iter().enumerate().map(island).collect();
        let rigid_inverses: Vec<Mat3> = scrambled(2, 0.2, 5).iter().map(|v| Mat3::from_diagonal_element(0.7) + v * v.transpose()).collect();
        let mut cwc = Cwc::new(&device, &mut buffers).unwrap();
        cwc.most_whole = 0;
        let tables = cwc.tables(&model, &islands, Inverses { rests: &[], rigid: &rigid_inverses });
        let mut staging = UploadStaging::new(&device, 1 << 16, 8);
        cwc.upload(&mut buffers, &mut staging, &tables).unwrap();
        let mut encoder = device.device.create_command_encoder(&Default::default());
        staging.record(&mut encoder).unwrap();
        device.queue.submit([encoder.finish()]);
        staging.take_back();
        let n_unknowns = model.n_unknowns();
        let mut bench = Self {
            state: scrambled(tables.n_state, 1e-3, 40).iter().map(|v| vec4(v, 0.0)).collect(),
            weights: (0..9 * tables.n_weights).map(|k| (1e-3 * noise(7 * k)) as f32).collect(),
            dt: params.time_step,
            device,
            buffers,
            cwc,
            tables,
            contacts,
            rigid_inverses,
            n_unknowns,
        };
        for k in 0..bench.contacts.len() {
            let [normal, tangential] = [1.5 + noise(k), 2.5 + noise(k + 50)].map(|s| s * 1e-3);
            *bench.plane(SCALE, k) = [normal, tangential, 1.0 / normal, 1.0 / tangential].map(|s| s as f32);
            let force = Vec3::new(1.0 + noise(k), noise(k + 1), noise(k + 2));
            for plane in [ITERATE, ITERATE + 1, FORCE] {
                *bench.plane(plane, k) = vec4(&(force + scrambled(1, 0.3, 90 * plane + k)[0]), 0.0);
            }
        }
        bench
    }

    fn plane(&mut self, plane: usize, contact: usize) -> &mut [f32; 4] {
        &mut self.state[plane * self.contacts.len() + contact]
    }

    fn solve(&mut self, island: usize, vector: usize) -> &mut [f32; 4] {
        &mut self.state[self.tables.data.solves as usize + island * VECTORS + vector]
    }

    fn sum(&mut self, slot: usize, group: usize) -> &mut [f32; 4] {
        &mut self.state[self.tables.data.sums as usize + slot * self.tables.data.n_groups as usize + group]
    }

    fn vector(&self, plane: usize, contact: usize) -> Vec3 {
        three(&self.state[plane * self.contacts.len() + contact])
    }

    fn scale(&self, contact: usize) -> Scale {
        let [normal, tangential, inverse_normal, inverse_tangential] = lanes(&self.state[SCALE * self.contacts.len() + contact]);
        Scale { normal, tangential, inverse_normal, inverse_tangential }
    }

    /// Writes state and compliance, runs a kernel, and reads the state.
    fn run(&self, record: impl FnOnce(&Kernels, &mut wgpu::ComputePass)) -> Vec<[f32; 4]> {
        self.buffers.write("cwc_state", &self.state);
        self.buffers.write("cwc_weights", &self.weights);
        let mut encoder = self.device.device.create_command_encoder(&Default::default());
        record(&self.cwc.kernels, &mut encoder.begin_compute_pass(&Default::default()));
        self.device.queue.submit([encoder.finish()]);
        read(&self.device, &self.buffers, "cwc_state", self.tables.n_state).unwrap()
    }

    fn groups(&self) -> [u32; 3] {
        [self.tables.data.n_groups, 1, 1]
    }

    fn planes(&self, state: &[[f32; 4]], plane: usize) -> Vec<Vec3> {
        state[plane * self.contacts.len()..][..self.contacts.len()].iter().map(three).collect()
    }

    /// The sums of all workgroups in a slot.
    fn slots(&self, state: &[[f32; 4]], slot: usize) -> Vec<[f64; 4]> {
        let n = self.tables.data.n_groups as usize;
        state[self.tables.data.sums as usize + slot * n..][..n].iter().map(lanes).collect()
    }

    /// W times the vectors of a plane.
    fn product(&self, plane: usize) -> Vec<Vec3> {
        let row = |k: usize| {
            let mut sum = Vec3::zeros();
            for side in self.tables.rows[k].sides {
                for j in 0..side.n_members {
                    let other = self.tables.sections.member_contacts[(side.first_member + j) as usize] as usize;
                    let (row, column) = (side.own.max(j) as usize, side.own.min(j) as usize);
                    let block = &self.weights[9 * (side.weights as usize + triangle(row) + column)..][..9];
                    let block = Mat3::from_row_iterator(block.iter().map(|x| f64::from(*x)));
                    sum += if j > side.own { block.transpose() } else { block } * self.vector(plane, other);
                }
            }
            sum
        };
        (0..self.contacts.len()).map(row).collect()
    }
}

/// Largest difference in units of the largest of `wanted`.
fn apart(found: &[Vec3], wanted: &[Vec3]) -> f64 {
    let size = wanted.iter().map(Vec3::amax).fold(0.0, f64::max);
    found.iter().zip(wanted).map(|(a, b)| (a - b).amax()).fold(0.0, f64::max) / size
}

fn assert_close(found: f64, wanted: f64) {
    assert!((found - wanted).abs() < 1e-5 * wanted.abs().max(1e-6), "{found:e} instead of {wanted:e}");
}

#[test]
fn measure_error_is_that_of_the_laws() {
    let bench = Bench::new(&[9]);
    let dv = scrambled(bench.n_unknowns, 0.1, 3);
    bench.buffers.write("dv", &dv.iter().map(|v| vec4(v, 0.0)).collect::<Vec<_>>());
    let mut bench = bench;
    bench.solve(0, 0).fill(0.0);
    bench.solve(0, FACTOR).fill(0.0);
    let state = bench.run(|kernels, pass| kernels.measure_error.dispatch_groups(pass, bench.groups()));
    let motions = |factor: f64| -> Vec<Vec3> {
        let dv: Vec<Vec3> = dv.iter().map(|v| v * factor).collect();
        let motion = |(k, c): (usize, &Constraint)| {
            c.row.motion(|unknown| dv[unknown], bench.dt) + c.law.compliance().component_mul(&bench.vector(FORCE, k))
        };
        bench.contacts.iter().enumerate().map(motion).collect()
    };
    let found = bench.planes(&state, FREE);
    assert!(apart(&found, &motions(1.0)) < 1e-6 && apart(&found, &motions(1.001)) > 1e-6);
    assert_eq!(bench.planes(&state, ITERATE), bench.planes(&bench.state, FORCE));
    for (group, sums) in bench.slots(&state, SUM_ITERATE).iter().enumerate() {
        let GroupData { first, end, .. } = bench.tables.sections.groups[group];
        let (mut along, mut error, mut length) = (0.0, 0f64, 0.0);
        for k in first as usize..end as usize {
            let (u, scale) = (motions(1.0)[k], bench.scale(k));
            error = error.max(bench.contacts[k].law.error(&bench.vector(FORCE, k), &u, &scale).max());
            let way = bench.vector(PREDICTED, k) - bench.vector(START, k);
            let scaled = way.component_mul(&Vec3::new(scale.inverse_normal, scale.inverse_tangential, scale.inverse_tangential));
            along += scaled.dot(&(u - bench.vector(START, k)));
            length += scaled.dot(&way);
        }
        [along, error, length].iter().zip(sums).for_each(|(wanted, found)| assert_close(*found, *wanted));
    }
}

#[test]
fn scatter_forces_are_those_of_the_rows() {
    let mut bench = Bench::new(&[9]);
    let (n, n_nodes) = (bench.n_unknowns, bench.n_unknowns - 2);
    let free = scrambled(n, 0.1, 11);
    let run = |bench: &Bench| {
        bench.buffers.write("rhs_free", &free.iter().map(|v| vec4(v, 0.0)).collect::<Vec<_>>());
        for name in ["rhs", "dv"] {
            bench.buffers.write(name, &vec![[0f32; 4]; n]);
        }
        bench.buffers.write("reductions", &[ControlData { iterations: 5, elastic_done: 1, ..ControlData::default() }]);
        bench.run(|kernels, pass| kernels.scatter_forces.dispatch(pass, bench.tables.data.n_touched as usize));
        let get =
            |name: &str| -> Vec<Vec3> { read::<[f32; 4]>(&bench.device, &bench.buffers, name, n).unwrap().iter().map(three).collect() };
        let control = read::<ControlData>(&bench.device, &bench.buffers, "reductions", 1).unwrap()[0];
        let mut found = get("rhs");
        found[n_nodes..].copy_from_slice(&get("dv")[n_nodes..]);
        (found, control)
    };
    bench.solve(0, 0).fill(0.0);
    bench.solve(0, FACTOR).fill(0.0);
    let wanted = |factor: f64| {
        let mut impulses = free.clone();
        for (k, contact) in bench.contacts.iter().enumerate() {
            contact.row.spread(&bench.vector(FORCE, k), factor, bench.dt, |unknown, impulse| impulses[unknown] += impulse);
        }
        for (impulse, inverse) in impulses[n_nodes..].iter_mut().zip(&bench.rigid_inverses) {
            *impulse = inverse * *impulse;
        }
        let touched: Vec<u32> = bench.tables.sections.touched.iter().map(|touched| touched.unknown).collect();
        (0..n).map(|i| if touched.contains(&(i as u32)) { impulses[i] } else { Vec3::zeros() }).collect::<Vec<_>>()
    };
    let (found, control) = run(&bench);
    assert!(apart(&found, &wanted(1.0)) < 1e-6 && apart(&found, &wanted(1.001)) > 1e-6, "{:e}", apart(&found, &wanted(1.0)));
    assert_eq!((control.remembered, control.contact_iterations, control.iterations, control.elastic_done), (0, 5, 0, 0));
    // An island whose forces are found keeps what it has.
    bench.solve(0, FACTOR)[2] = 1.0;
    let (found, control) = run(&bench);
    assert!(found.iter().all(|v| *v == Vec3::zeros()) && control.remembered == 2);
}

/// The vectors of an island after a pass. Twin: the decisions of `contact::cwc`.
fn updated(solve: [[f64; 4]; 3], sums: [f64; 4], curvature: [f64; 4], is_solved: bool) -> [[f64; 4]; 4] {
    let [state, mut factor, mut progress] = solve;
    progress[1] += state[3];
    progress[3] += 1.0;
    progress[2] = if curvature[0] > 0.0 { curvature[2] / (EIGENVALUE_MARGIN * curvature[0]) } else { 0.0 };
    let (error, passes) = (sums[1], factor[3]);
    let mut is_over = factor[2] != 0.0;
    if !is_over && is_solved && passes < MAX_PASSES {
        if passes > 0.0 && sums[2] > 0.0 {
            let change = (sums[0] / sums[2]).clamp(1.0 / MAX_FACTOR_CHANGE, MAX_FACTOR_CHANGE);
            factor[1] = (factor[1] * change).clamp(MIN_FACTOR, MAX_FACTOR);
        }
        progress[0] = error;
        factor[0] = f64::max(FINEST * ACCURACY, FORCING * error);
        let accepted = match passes {
            _ if passes > MANY_PASSES => COARSEST,
            _ if passes > 0.0 => 1.0,
            _ => FINEST,
        };
        is_over = error < accepted * ACCURACY;
        factor[2] = f64::from(u8::from(is_over));
        factor[3] += 1.0;
    }
    is_over = is_over || !is_solved || factor[3] >= MAX_PASSES;
    [[1.0, error, f64::from(u8::from(is_over)), 0.0], [progress[2], 0.0, 0.0, 0.0], factor, progress]
}

#[test]
fn update_status_decides_as_its_twin() {
    let mut bench = Bench::new(&[2, 4, 6, 8, 9]);
    // State and factor of each island, and the error [m]: in its first pass, in a later one whose motions were
    // foretold too small, with many passes behind it, in the middle of a pass, and with forces that are found.
    let cases = [
        ([1.0, 1.0, 1.0, 7.0], [0.0, 1.0, 0.0, 0.0], 0.1 * FINEST * ACCURACY),
        ([1.0, 1.0, 1.0, 30.0], [1e-4, 1.3, 0.0, 2.0], 1.5 * ACCURACY),
        ([1.0, 1.0, 1.0, 9.0], [1e-4, 6.0, 0.0, MANY_PASSES + 1.0], 1.5 * ACCURACY),
        ([1.0, 1.0, 0.0, 3.0], [1e-4, 1.0, 0.0, 1.0], 1.0),
        ([1.0, 1.0, 1.0, 3.0], [1e-4, 1.0, 1.0, 4.0], 0.3 * ACCURACY),
    ];
    for (island, (state, factor, error)) in cases.into_iter().enumerate() {
        let single = |v: [f64; 4]| v.map(|x| x as f32);
        *bench.solve(island, STATE) = single(state);
        *bench.solve(island, FACTOR) = single(factor);
        *bench.solve(island, PROGRESS) = single([0.5, 10.0, 0.25, 3.0]);
        *bench.sum(SUM_ITERATE, island) = single([1.7e-3, error, 1e-3, 0.0]);
        *bench.sum(SUM_PROBE, island) = single([2.0, 0.0, 3.0, 0.0]);
    }
    for is_solved in [true, false] {
        bench.buffers.write("reductions", &[ControlData { elastic_done: u32::from(is_solved), ..ControlData::default() }]);
        let state = bench.run(|kernels, pass| kernels.update_status.dispatch_groups(pass, [cases.len() as u32, 1, 1]));
        for island in 0..cases.len() {
            let vectors = [STATE, FACTOR, PROGRESS].map(|vector| lanes(bench.solve(island, vector)));
            let [sums, curvature] = [SUM_ITERATE, SUM_PROBE].map(|slot| lanes(bench.sum(slot, island)));
            let wanted = updated(vectors, sums, curvature, is_solved || island > 0);
            let first = bench.tables.data.solves as usize + island * VECTORS;
            let found = [STATE, STATE + 1, FACTOR, PROGRESS].map(|vector| lanes(&state[first + vector]));
            let off = found.iter().flatten().zip(wanted.iter().flatten()).map(|(a, b)| (a - b).abs() / b.abs().max(1e-3));
            let off = off.fold(0.0, f64::max);
            let goes_on = island == 3;
            assert!((off < 1e-5) != goes_on, "{island}: {found:?} instead of {wanted:?}");
            assert!(!goes_on || state[first..][..VECTORS] == bench.state[first..][..VECTORS]);
        }
    }
    // An island of several workgroups: sums, and the largest error.
    let mut bench = Bench::new(&[9]);
    let (vectors, mut all) = ([cases[1].0, cases[1].1, [0.5, 10.0, 0.25, 3.0]], [[0.0; 4]; 2]);
    for (vector, values) in [STATE, FACTOR, PROGRESS].into_iter().zip(vectors) {
        *bench.solve(0, vector) = values.map(|x| x as f32);
    }
    for group in 0..bench.tables.data.n_groups as usize {
        let k = group as f64;
        let of_group = [[1e-3 * (1.0 + k), ACCURACY * (2.0 - k), 2e-3, 0.0], [1.0 + k, 0.0, 2.0 + k, 0.0]];
        for ((slot, values), all) in [SUM_ITERATE, SUM_PROBE].into_iter().zip(of_group).zip(&mut all) {
            *bench.sum(slot, group) = values.map(|x| x as f32);
            *all = [all[0] + values[0], all[1].max(values[1]), all[2] + values[2], 0.0];
        }
    }
    bench.buffers.write("reductions", &[ControlData { elastic_done: 1, ..ControlData::default() }]);
    let state = bench.run(|kernels, pass| kernels.update_status.dispatch_groups(pass, [1, 1, 1]));
    let wanted = updated(vectors, all[0], all[1], true);
    let first = bench.tables.data.solves as usize;
    for (vector, wanted) in [STATE, STATE + 1, FACTOR, PROGRESS].into_iter().zip(wanted) {
        lanes(&state[first + vector]).iter().zip(wanted).for_each(|(found, wanted)| assert_close(*found, wanted));
    }
}

#[test]
fn finish_pass_ends_the_iterations_once_all_islands_are_over() {
    let mut bench = Bench::new(&[4, 9]);
    let n_groups = bench.tables.data.n_groups;
    for (overs, wanted) in [([0.0, 1.0], [n_groups, 1, 1, 0, 2, 1, 1, 0]), ([1.0, 1.0], [0; 8])] {
        for (island, over) in overs.into_iter().enumerate() {
            *bench.solve(island, STATE) = [1.0, 1.0, over, 8.0];
        }
        bench.buffers.write("cwc_arguments", &[7u32; 8]);
        bench.run(|kernels, pass| kernels.finish_pass.dispatch_groups(pass, [1, 1, 1]));
        assert_eq!(read::<u32>(&bench.device, &bench.buffers, "cwc_arguments", 8).unwrap(), wanted);
    }
}

/// An iteration of the accelerated gradient in f64, from plane `ITERATE` with momentum. Twin: the loop of
/// `contact::dual::apgd`.
struct Iterated {
    forces: Vec<Vec3>,
    motions: Vec<Vec3>,
    /// Climb and largest error of each contact.
    sums: Vec<[f64; 2]>,
}

fn iterated(bench: &Bench, momentum: f64, length: f64, factor: f64) -> Iterated {
    let images = bench.product(ITERATE);
    let mut all = Iterated { forces: vec![], motions: vec![], sums: vec![] };
    for (k, contact) in bench.contacts.iter().enumerate() {
        let scale = bench.scale(k);
        let scale = Scale {
            normal: scale.normal * factor,
            tangential: scale.tangential * factor,
            inverse_normal: scale.inverse_normal / factor,
            inverse_tangential: scale.inverse_tangential / factor,
        };
        let (p, before) = (bench.vector(ITERATE, k), bench.vector(ITERATE + 1, k));
        let u = bench.vector(FREE, k) + images[k] * factor;
        let ahead = p + (p - before) * momentum;
        let ahead_motion = u + (u - bench.vector(LAST, k)) * momentum;
        let q = contact.law.project(&ahead, &ahead_motion, length, &scale);
        let NaturalError { normal, tangential } = contact.law.error(&p, &u, &scale);
        let change = (ahead - q).component_mul(&Vec3::new(scale.normal, scale.tangential, scale.tangential));
        all.forces.push(q);
        all.motions.push(u);
        all.sums.push([change.dot(&(q - p)), normal.max(tangential)]);
    }
    all
}

#[test]
fn iterate_forces_is_a_step_of_the_accelerated_gradient() {
    let mut bench = Bench::new(&[9]);
    let (theta, best, length, factor) = (3.0, 0.4, 0.3, 1.25);
    *bench.solve(0, STATE) = [theta, best, 0.0, 6.0];
    *bench.solve(0, STATE + 1) = [length, 0.0, 0.0, 0.0];
    *bench.solve(0, FACTOR) = [1e-4, factor, 0.0, 2.0];
    for group in 0..bench.tables.data.n_groups as usize {
        // The iteration before: it went down, and came nearer to the laws than the best one.
        *bench.sum(SUM_ITERATE + 1, group) = [-1.0, 0.3 - 0.1 * group as f32, 0.0, 0.0];
    }
    let state = bench.run(|kernels, pass| kernels.iterate_forces.at(0).dispatch_groups(pass, bench.groups()));
    let [theta, length, factor] = [theta, length, factor].map(f64::from);
    let theta_next = 0.5 * (1.0 + (1.0 + 4.0 * theta * theta).sqrt());
    let momentum = (theta - 1.0) / theta_next;
    let wanted = iterated(&bench, momentum, length, factor);
    let forces = bench.planes(&state, ITERATE + 1);
    assert!(apart(&forces, &wanted.forces) < 1e-5, "{:e}", apart(&forces, &wanted.forces));
    assert!(apart(&bench.planes(&state, LAST), &wanted.motions) < 1e-5);
    // The comparison sees another momentum and another factor.
    for other in [iterated(&bench, 0.99 * momentum, length, factor), iterated(&bench, momentum, length, 1.001 * factor)] {
        assert!(apart(&forces, &other.forces) > 1e-5);
    }
    // The forces before were the best so far, with the motion that is predicted with them.
    assert_eq!(bench.planes(&state, FORCE), bench.planes(&bench.state, ITERATE + 1));
    assert_eq!(bench.planes(&state, PREDICTED), bench.planes(&bench.state, LAST));
    for (group, found) in bench.slots(&state, SUM_ITERATE).iter().enumerate() {
        let GroupData { first, end, .. } = bench.tables.sections.groups[group];
        let own = &wanted.sums[first as usize..end as usize];
        assert_close(found[0], own.iter().map(|sums| sums[0]).sum());
        assert_close(found[1], own.iter().map(|sums| sums[1]).fold(0.0, f64::max));
    }
    let solve = lanes(&state[bench.tables.data.solves as usize + STATE + 2]);
    assert_close(solve[0], theta_next);
    assert_close(solve[1], 0.3);
    assert_eq!(solve[2..], [0.0, 7.0]);
}
