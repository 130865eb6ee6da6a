//! Every kernel against its CPU twin on scrambled input; and each comparison shows that it can fail.

mod budgets;
mod patches;
pub mod shaders;
mod stresses;

use std::sync::Arc;

use super::device::test_device;
use super::elastic::{Assembly, ConjugateGradient, create_buffers_unless};
use super::kernel::{Buffers, Stage};
use super::layout::{BlockData, ControlData, joined, split, three, vec4};
use super::readback::read;
use super::tiles::Tiles;
use super::upload::{Groups, controls, params_data, upload_model_unless};
use super::{Device, Stepper as GpuStepper};
use crate::body::BodyRef;
use crate::cancel::CancelToken;
use crate::cpu::CpuBackend;
use crate::elastic::{Aggregates, Elements, SystemInputs, coarse_factors};
use crate::material::{Material, MaterialModel, Tangent};
use crate::math::{Mat3, Vec3};
use crate::mesh::shapes;
use crate::model::{Grab, HeldPoint, Loads, Params, Preconditioner, State};
use crate::model::{Model, ModelBuilder, SoftBody};
use crate::sparse::{Operator, Segment, Solved, System, Until, axpy, conjugate_gradient, dot, xpay};
use crate::step::ImplicitStepper;
use crate::step::{Stepper, SurfacePositions};

/// A bar of 0.6 x 0.2 x 0.2 m, held at x = 0, that does not touch itself.
pub(super) fn bar(cells: [u32; 3], damping: f64) -> Arc<Model> {
    let tets = shapes::box_tets(Vec3::new(0.6, 0.2, 0.2), cells);
    let material = Material { young_modulus: 1e5, mass_damping: damping, stiffness_damping: 0.01 * damping, ..Default::default() };
    let mut body = SoftBody::with_boundary_surface("bar", material, tets);
    let left = body.tets.positions.iter().map(|p| p.x).fold(f64::INFINITY, f64::min);
    body.fixed = body.tets.positions.iter().map(|p| p.x < left + 1e-9).collect();
    body.self_contact = false;
    let mut builder = ModelBuilder::default();
    builder.soft_body(body);
    Arc::new(builder.build().unwrap())
}

/// A bar of each constitutive model, the second half of its tets corotational with other moduli and damping.
fn bars_of_two_materials() -> impl Iterator<Item = Bench> {
    MaterialModel::ALL.iter().map(|first| {
        let mut model = Arc::unwrap_or_clone(bar([5, 2, 2], 0.7));
        model.materials[0].model = *first;
        model.materials.push(Material { poisson_ratio: 0.45, young_modulus: 3e5, stiffness_damping: 0.002, ..Material::default() });
        let half = model.tets.len() / 2;
        model.tets[half..].iter_mut().for_each(|tet| tet.material = 1);
        Bench::new(&Arc::new(model))
    })
}

#[test]
fn what_may_touch_is_not_for_the_resident_stepper() {
    let mut model = Arc::unwrap_or_clone(bar([1, 1, 1], 0.0));
    assert!(GpuStepper::new(test_device(), Arc::new(model.clone())).is_ok());
    let ends = [crate::model::End::World(Vec3::zeros()), crate::model::End::Nodes(vec![(0, 1.0)])];
    model.attachments.push(crate::model::Attachment { name: "rope".into(), ends, stiffness: 1.0, damping: 0.0, length: 1.0 });
    assert_eq!(GpuStepper::new(test_device(), Arc::new(model)).err(), Some(crate::gpu::DeviceError::MayTouch));
}

/// A repeatable number in [-1, 1].
fn noise(k: usize) -> f64 {
    (k as f64 * 12.989_8).sin() * 43_758.545_3 % 1.0
}

fn scrambled(n: usize, size: f64, seed: usize) -> Vec<Vec3> {
    (0..n).map(|i| Vec3::new(noise(3 * i + seed), noise(3 * i + 1 + seed), noise(3 * i + 2 + seed)) * size).collect()
}

/// A bent, moving state; zero motion where the nodes are fixed.
fn scrambled_state(model: &Model) -> State {
    let mut state = State::initial(model);
    let turn = |x: &Vec3| crate::math::Quat::from_scaled_axis(Vec3::new(0.3, 0.2, 1.5) * (x.x + 0.3)) * x - x;
    for (i, (u, v)) in scrambled(model.n_nodes(), 0.004, 1).into_iter().zip(scrambled(model.n_nodes(), 1.0, 7)).enumerate() {
        if !model.fixed[i] {
            state.displacements[i] = turn(&model.rest_positions[i]) + u;
            state.velocities[i] = v;
        }
    }
    state
}

fn a_grab(model: &Model) -> Grab {
    let mut nodes = [0; 12];
    let mut weights = [0.0; 12];
    for (corner, vertex) in model.surface.triangles[model.surface.triangles.len() / 2].iter().enumerate() {
        nodes[4 * corner] = model.surface.nodes[*vertex as usize][0];
        weights[4 * corner] = [0.5, 0.3, 0.2][corner];
    }
    Grab { point: HeldPoint::Nodes { nodes, weights }, stiffness: 800.0, damping: 3.0, target: Vec3::new(0.4, 0.3, 0.1) }
}

fn relative_error(found: &[Vec3], wanted: &[Vec3]) -> f64 {
    let size = wanted.iter().map(Vec3::norm_squared).sum::<f64>().sqrt();
    found.iter().zip(wanted).map(|(a, b)| (a - b).norm_squared()).sum::<f64>().sqrt() / size
}

/// Kernels with a state on the device, and what the CPU makes of the same state.
struct Bench {
    device: Arc<Device>,
    model: Arc<Model>,
    buffers: Buffers,
    tiles: Tiles,
    groups: Groups,
    params: Params,
    loads: Loads,
    state: State,
}

impl Bench {
    fn new(model: &Arc<Model>) -> Self {
        Self::with_whole(model, 0)
    }

    /// Bodies of up to `most_whole` nodes are solved in one workgroup.
    fn with_whole(model: &Arc<Model>, most_whole: usize) -> Self {
        let device = test_device();
        let mut buffers = Buffers::new(device.clone());
        upload_model_unless(&mut buffers, model, CancelToken::never()).unwrap();
        let (tiles, groups) = create_buffers_unless(&device, &mut buffers, model, most_whole, CancelToken::never()).unwrap();
        let mut node_forces = scrambled(model.n_nodes(), 0.3, 99);
        node_forces[0] = Vec3::new(5.0, 0.0, 0.0);
        let loads = Loads { grabs: vec![a_grab(model)], node_forces, ..Loads::default() };
        let params = Params::default();
        let state = scrambled_state(model);
        buffers.uniform("params", &[params_data(model, &params, &loads, &groups)]);
        buffers.write("velocities", &state.velocities.iter().map(|v| vec4(v, 0.0)).collect::<Vec<_>>());
        buffers.write("rotations", &state.rotations.iter().map(|q| q.map(|c| c as f32)).collect::<Vec<_>>());
        buffers.write("node_forces", &loads.node_forces.iter().map(|v| vec4(v, 0.0)).collect::<Vec<_>>());
        let mut weights = vec![[0f32; 4]; model.n_nodes()];
        for (node, weight) in super::stepper::grab_weights(model, &loads) {
            weights[node as usize] = weight;
        }
        buffers.write("grab_weights", &weights);
        let displacements = state.displacements.clone();
        let mut bench = Self { device, model: model.clone(), buffers, tiles, groups, params, loads, state };
        bench.displace(displacements);
        bench
    }

    fn displace(&mut self, displacements: Vec<Vec3>) {
        let (high, low): (Vec<_>, Vec<_>) = displacements.iter().map(split).unzip();
        self.buffers.write("displacements_hi", &high);
        self.buffers.write("displacements_lo", &low);
        self.state.displacements = displacements;
    }

    fn run(&self, record: impl FnOnce(&mut wgpu::ComputePass)) {
        let mut encoder = self.device.device.create_command_encoder(&Default::default());
        record(&mut encoder.begin_compute_pass(&Default::default()));
        self.device.queue.submit([encoder.finish()]);
    }

    fn vectors(&self, name: &str, n: usize) -> Vec<Vec3> {
        read::<[f32; 4]>(&self.device, &self.buffers, name, n).unwrap().iter().map(three).collect()
    }

    fn assemble(&self) {
        let assembly = Assembly::new(&self.buffers, &self.model, &[]).unwrap();
        self.run(|pass| {
            assembly.record_elements(pass, &self.model);
            assembly.record_system(pass, &self.model, 1, self.groups.rows);
        });
    }

    fn cpu_elements(&self, state: &State) -> Elements {
        crate::elastic::elements(&self.model, state, self.params.time_step).0
    }

    fn cpu_system(&self) -> (Vec<Vec3>, Operator) {
        let (model, elements) = (&self.model, self.cpu_elements(&self.state));
        let inputs = SystemInputs { model, state: &self.state, params: &self.params, loads: &self.loads, second_order: &[] };
        let (mut rhs, mut a) = (vec![Vec3::zeros(); model.n_nodes()], Operator::default());
        crate::elastic::right_hand_side(inputs, &elements.forces, &mut rhs);
        crate::elastic::matrix(inputs, &elements.tangents, &mut a, &mut vec![]);
        (rhs, a)
    }
}

fn blocks(data: &[BlockData]) -> Vec<Mat3> {
    let row = |r: &[f32; 4]| three(r).transpose();
    data.iter().map(|b| Mat3::from_rows(&[row(&b.x), row(&b.y), row(&b.z)])).collect()
}

fn columns(blocks: &[Mat3]) -> Vec<Vec3> {
    blocks.iter().flat_map(|b| [0, 1, 2].map(|c| b.column(c).into_owned())).collect()
}

#[test]
fn elements_are_those_of_the_cpu() {
    for bench in bars_of_two_materials() {
        compare_elements(&bench);
    }
}

fn compare_elements(bench: &Bench) {
    bench.assemble();
    let n = bench.model.tets.len();
    let all = |of: &mut dyn Iterator<Item = &[[f64; 4]; 4]>| of.flatten().map(|[x, y, z, _]| Vec3::new(*x, *y, *z)).collect::<Vec<_>>();
    let (forces, gradients) = (bench.vectors("corner_forces", 4 * n), bench.vectors("corner_gradients", 4 * n));
    let wanted = bench.cpu_elements(&bench.state);
    let force_error = |of: &Elements| relative_error(&forces, &all(&mut of.forces.tets.iter()));
    // The others keep blocks of edges here; `right_hand_side_and_matrix_are_those_of_the_cpu` compares those.
    let is_warped: Vec<bool> = bench.model.tets.iter().map(|tet| bench.model.material(tet).model.tangent() == Tangent::Warped).collect();
    let warped = |vectors: &[Vec3]| vectors.iter().enumerate().filter(|(k, _)| is_warped[k / 4]).map(|(_, v)| *v).collect::<Vec<_>>();
    let gradient_error =
        |of: &Elements| relative_error(&warped(&gradients), &warped(&all(&mut of.tangents.gradients.iter().map(|g| &g.0))));
    assert!(force_error(&wanted) < 2e-6, "{:e}", force_error(&wanted));
    assert!(gradient_error(&wanted) < 2e-6, "{:e}", gradient_error(&wanted));
    // The bound notices a thousandth of the deformation.
    let mut other = bench.state.clone();
    other.displacements.iter_mut().for_each(|u| *u *= 1.001);
    let wrong = bench.cpu_elements(&other);
    assert!(force_error(&wrong) > 1e-4 && gradient_error(&wrong) > 2e-6, "{:e} {:e}", force_error(&wrong), gradient_error(&wrong));
}

/// Forces and matrix of every model where elements are flattened and turned inside out.
#[test]
fn inverted_elements_are_those_of_the_cpu() {
    for mut bench in bars_of_two_materials() {
        let model = bench.model.clone();
        let scrambled = scrambled(model.n_nodes(), 0.12, 3).into_iter().zip(&model.fixed);
        bench.displace(scrambled.map(|(u, fixed)| if *fixed { Vec3::zeros() } else { u }).collect());
        bench.assemble();
        let n = model.tets.iter().filter(|tet| tet.material == 0).count();
        let det = |tet: &crate::model::Tet| crate::elastic::deformation_gradient(tet, &bench.state.displacements).determinant();
        assert!(model.tets[..n].iter().filter(|tet| det(tet) < 0.0).count() > n / 20);
        let found = bench.vectors("corner_forces", 4 * n);
        let forces = |state: &State| {
            bench.cpu_elements(state).forces.tets[..n].as_flattened().iter().map(|[x, y, z, _]| Vec3::new(*x, *y, *z)).collect::<Vec<_>>()
        };
        let error = relative_error(&found, &forces(&bench.state));
        assert!(error < 1e-4, "{:?} {error:e}", model.materials[0].model);
        let mut other = bench.state.clone();
        other.displacements.iter_mut().for_each(|u| *u *= 1.001);
        assert!(relative_error(&found, &forces(&other)) > 1e-4);
        let blocks_found = blocks(&read(&bench.device, &bench.buffers, "blocks", model.pattern.n_blocks()).unwrap());
        let mut wanted = bench.cpu_system().1.blocks;
        for i in (0..model.n_nodes()).filter(|i| model.fixed[*i]) {
            wanted[model.pattern.row(i)].fill(Mat3::zeros());
        }
        let error = relative_error(&columns(&blocks_found), &columns(&wanted));
        assert!(error < 1e-4, "{:?} {error:e}", model.materials[0].model);
    }
}

#[test]
fn a_far_body_is_as_precise_as_a_near_one() {
    let mut bench = Bench::new(&bar([4, 2, 2], 0.0));
    bench.displace(bench.state.displacements.iter().map(|u| u + Vec3::new(100.0, 50.0, -70.0)).collect());
    bench.assemble();
    let forces = bench.cpu_elements(&bench.state).forces.tets;
    let wanted: Vec<_> = forces.iter().flatten().map(|[x, y, z, _]| Vec3::new(*x, *y, *z)).collect();
    let error = relative_error(&bench.vectors("corner_forces", wanted.len()), &wanted);
    assert!(error < 2e-6, "{error:e}");
}

#[test]
fn right_hand_side_and_matrix_are_those_of_the_cpu() {
    for bench in bars_of_two_materials() {
        compare_systems(&bench);
    }
}

fn compare_systems(bench: &Bench) {
    bench.assemble();
    let (wanted_rhs, a) = bench.cpu_system();
    let rhs = bench.vectors("rhs", bench.model.n_nodes());
    let error = relative_error(&rhs, &wanted_rhs);
    assert!(error < 2e-6, "{error:e}");
    let less: Vec<_> = wanted_rhs.iter().map(|r| r * 1.000_01).collect();
    assert!(relative_error(&rhs, &less) > 2e-6);

    let pattern = &bench.model.pattern;
    let found = blocks(&read(&bench.device, &bench.buffers, "blocks", pattern.n_blocks()).unwrap());
    let mut wanted = a.blocks.clone();
    for i in (0..pattern.n_rows()).filter(|i| bench.model.fixed[*i]) {
        wanted[pattern.row(i)].fill(Mat3::zeros());
    }
    let error = relative_error(&columns(&found), &columns(&wanted));
    assert!(error < 1e-6, "{error:e}");
    let transposed: Vec<_> = wanted.iter().map(Mat3::transpose).collect();
    assert!(relative_error(&columns(&found), &columns(&transposed)) > 1e-4);

    let found = blocks(&read(&bench.device, &bench.buffers, "preconditioner", pattern.n_rows()).unwrap());
    let error = relative_error(&columns(&found), &columns(&a.inverse_diagonals));
    assert!(error < 1e-5, "{error:e}");
}

/// Conjugate gradients with the device's two levels in f64: the twin of `shaders/cg`.
fn two_level_on_cpu(bench: &Bench, bound: f64) -> Solved {
    let model = &bench.model;
    let (rhs, a) = bench.cpu_system();
    let n = rhs.len();
    let aggregates = [Aggregates::new(model, &model.bodies[0], usize::MAX)];
    let inverse = coarse_factors(model, &bench.params, &aggregates)[0].as_ref().unwrap().inverse();
    let (_, rotations) = crate::elastic::elements(model, &bench.state, bench.params.time_step);
    let parts = &aggregates[0].parts;
    let turns: &Vec<Mat3> = &(0..parts.n_parts()).map(|k| aggregates[0].rotation(k, &rotations)).collect();
    let precondition = |r: &[Vec3], z: &mut [Vec3]| {
        a.precondition(&(0..n), r, z);
        let turned = |k: usize| parts.members(k).iter().map(move |(i, arm)| (*i as usize, turns[k] * arm));
        let mut loads = vec![];
        for (k, turn) in turns.iter().enumerate() {
            let (force, torque) = turned(k).fold((Vec3::zeros(), Vec3::zeros()), |(f, t), (i, d)| (f + r[i], t + d.cross(&r[i])));
            loads.push((turn.tr_mul(&force), turn.tr_mul(&torque)));
        }
        for (k, turn) in turns.iter().enumerate() {
            let pairs = || inverse[k * turns.len()..].iter().zip(&loads);
            let shift = turn * pairs().map(|([ff, ft, ..], (force, torque))| ff * force + ft * torque).sum::<Vec3>();
            let spin = turn * pairs().map(|([.., tf, tt], (force, torque))| tf * force + tt * torque).sum::<Vec3>();
            turned(k).for_each(|(i, d)| z[i] += shift + spin.cross(&d));
        }
    };
    let [mut x, mut z, mut p, mut q] = [(); 4].map(|()| vec![Vec3::zeros(); n]);
    let (mut r, mut rho, mut iterations) = (rhs.clone(), 1.0, 0);
    while dot(&r, &r).sqrt() > bound && iterations < 200 {
        precondition(&r, &mut z);
        let before = std::mem::replace(&mut rho, dot(&r, &z));
        xpay(&mut p, &z, if iterations == 0 { 0.0 } else { rho / before });
        a.apply(&model.pattern, &model.fixed, &(0..n), &p, &mut q);
        let alpha = rho / dot(&p, &q);
        axpy(&mut x, alpha, &p);
        axpy(&mut r, -alpha, &q);
        iterations += 1;
    }
    let residual = dot(&r, &r).sqrt();
    Solved { iterations, residual, converged: residual <= bound }
}

fn jacobi_on_cpu(bench: &Bench, bound: f64) -> Solved {
    let (rhs, a) = bench.cpu_system();
    let (Model { pattern, fixed, .. }, mut dv) = (&*bench.model, vec![Vec3::zeros(); rhs.len()]);
    let segments = [Segment { body: BodyRef::Deformable(0), unknowns: 0..rhs.len(), start: 0 }];
    let system = System { a: &a, pattern, fixed, segments: &segments };
    let until = Until { residual: bound, iterations: 200, cancel: CancelToken::never() };
    conjugate_gradient(&system, &rhs, &mut dv, until, &mut Default::default())
}

/// Solves on the device, in one workgroup where the body has up to `most_whole` nodes.
fn check_conjugate_gradients(most_whole: usize, preconditioner: Preconditioner) {
    let mut bench = Bench::with_whole(&bar([9, 4, 4], 0.2), most_whole);
    bench.params = Params { preconditioner, tolerance: 1e-4, ..bench.params };
    bench.buffers.write("params", &[params_data(&bench.model, &bench.params, &bench.loads, &bench.groups)]);
    bench.assemble();
    let Bench { tiles, buffers, model, params, .. } = &mut bench;
    tiles.select(buffers, model, params);
    let cg = ConjugateGradient::new(&bench.buffers, bench.groups).unwrap();
    let control = |iterations| {
        bench.buffers.write("reductions", &controls(&bench.model, &bench.params, &bench.loads, &[false]));
        bench.run(|pass| {
            cg.record_start(pass);
            cg.record_iterations(pass, &bench.buffers, iterations);
        });
        read::<ControlData>(&bench.device, &bench.buffers, "reductions", 1).unwrap()[0]
    };
    // A loop in one workgroup makes more iterations at once than this body takes with two levels.
    let few = control(8);
    if most_whole == 0 {
        assert_eq!((few.elastic_done, few.iterations), (0, 8));
    }
    bench.buffers.write("dv", &vec![[0f32; 4]; bench.model.n_nodes()]);
    let end = control(200);
    let bound = f64::from(end.target2).sqrt();
    let is_two_level = preconditioner == Preconditioner::TwoLevel;
    let [solved, other] = match is_two_level {
        true => [two_level_on_cpu(&bench, bound), jacobi_on_cpu(&bench, bound)],
        false => [jacobi_on_cpu(&bench, bound), two_level_on_cpu(&bench, bound)],
    };
    assert_eq!((end.elastic_done, end.converged), (1, 1));
    assert!(end.iterations.abs_diff(solved.iterations) <= 2, "{} {}", end.iterations, solved.iterations);
    assert!(end.iterations.abs_diff(other.iterations) > 5, "the two preconditioners are told apart: {other:?}");
    // The residual that the device believes is the true one.
    let (rhs, a) = bench.cpu_system();
    let mut product = vec![Vec3::zeros(); rhs.len()];
    let found = bench.vectors("dv", rhs.len());
    a.apply(&bench.model.pattern, &bench.model.fixed, &(0..rhs.len()), &found, &mut product);
    let residual = rhs.iter().zip(&product).map(|(b, q)| (b - q).norm_squared()).sum::<f64>().sqrt();
    assert!(residual < 1.1 * bound, "{residual:e} {bound:e}");
    // A better start value than zero is kept: nothing is left to do.
    assert!(control(8).iterations <= 1);
}

#[test]
fn conjugate_gradients_with_two_levels_solve_the_system() {
    check_conjugate_gradients(0, Preconditioner::TwoLevel);
    check_conjugate_gradients(usize::MAX, Preconditioner::TwoLevel);
}

#[test]
fn conjugate_gradients_with_diagonal_blocks_solve_the_system() {
    check_conjugate_gradients(0, Preconditioner::Jacobi);
    check_conjugate_gradients(usize::MAX, Preconditioner::Jacobi);
}

#[test]
fn a_tight_tolerance_takes_no_more_iterations_than_on_the_cpu() {
    for most_whole in [0, usize::MAX] {
        let mut bench = Bench::with_whole(&bar([15, 3, 3], 0.2), most_whole);
        bench.params = Params { tolerance: 1e-6, max_iterations: 300, ..bench.params };
        bench.buffers.write("params", &[params_data(&bench.model, &bench.params, &bench.loads, &bench.groups)]);
        bench.assemble();
        let Bench { tiles, buffers, model, params, .. } = &mut bench;
        tiles.select(buffers, model, params);
        let cg = ConjugateGradient::new(&bench.buffers, bench.groups).unwrap();
        bench.buffers.write("reductions", &controls(&bench.model, &bench.params, &bench.loads, &[false]));
        bench.run(|pass| {
            cg.record_start(pass);
            cg.record_iterations(pass, &bench.buffers, 320);
        });
        let end = read::<ControlData>(&bench.device, &bench.buffers, "reductions", 1).unwrap()[0];
        let solved = two_level_on_cpu(&bench, f64::from(end.target2).sqrt());
        assert!(end.converged == 1 && end.iterations.abs_diff(solved.iterations) <= 2, "{} {}", end.iterations, solved.iterations);
    }
}

#[test]
fn bodies_in_one_workgroup_and_in_many_are_solved_side_by_side() {
    let mut builder = ModelBuilder::default();
    for (name, cells, young_modulus) in [("small", [3, 3, 3], 1e4), ("large", [8, 5, 4], 3e5), ("still", [1, 1, 1], 1e5)] {
        let tets = shapes::box_tets(Vec3::new(0.6, 0.2, 0.2), cells);
        builder.soft_body(SoftBody::with_boundary_surface(name, Material { young_modulus, ..Default::default() }, tets));
    }
    let mut model = builder.build().unwrap();
    // One that cannot move at all has nothing to solve.
    let still = model.bodies[2].nodes.clone();
    model.fixed[still].fill(true);
    let mut bench = Bench::with_whole(&Arc::new(model), 100);
    let Groups { tiles, loop_tiles, whole, .. } = bench.groups;
    assert!(whole == 2 && loop_tiles > 1 && tiles > loop_tiles + 1, "{:?}", bench.groups);
    bench.assemble();
    let Bench { tiles, buffers, model, params, .. } = &mut bench;
    tiles.select(buffers, model, params);
    let cg = ConjugateGradient::new(&bench.buffers, bench.groups).unwrap();
    let (rhs, a) = bench.cpu_system();
    // Of each body, how it ended and its true residual in units of the one to reach.
    let solve = |iterations| {
        bench.buffers.write("dv", &vec![[0f32; 4]; bench.model.n_nodes()]);
        bench.buffers.write("reductions", &controls(&bench.model, &bench.params, &bench.loads, &[false; 3]));
        bench.run(|pass| {
            cg.record_start(pass);
            cg.record_iterations(pass, &bench.buffers, iterations);
        });
        let ends = read::<ControlData>(&bench.device, &bench.buffers, "reductions", 3).unwrap();
        let mut product = vec![Vec3::zeros(); rhs.len()];
        a.apply(&bench.model.pattern, &bench.model.fixed, &(0..rhs.len()), &bench.vectors("dv", rhs.len()), &mut product);
        let residual2 = |body: usize| bench.model.bodies[body].nodes.clone().map(|i| (rhs[i] - product[i]).norm_squared()).sum::<f64>();
        [0, 1, 2].map(|body| (ends[body], (residual2(body) / f64::from(ends[body].target2)).sqrt()))
    };
    let ends = solve(60);
    assert!(ends.iter().all(|(end, residual)| (end.elastic_done, end.converged) == (1, 1) && *residual < 1.1), "{ends:?}");
    let [small, large, still] = ends.map(|(end, _)| end.iterations);
    assert!(still == 0 && small > 0 && large > small, "{ends:?}");
    let [small, large, _] = solve(4);
    assert!(small.0.elastic_done == 1 && large.0.elastic_done == 0 && large.1 > 1.1, "{large:?}");
}

#[test]
fn update_moves_and_marks_what_is_not_finite() {
    let bench = Bench::new(&bar([3, 1, 1], 0.0));
    let n = bench.model.n_nodes();
    let mut dv = scrambled(n, 2.0, 55);
    bench.buffers.write("dv", &dv.iter().map(|v| vec4(v, 0.0)).collect::<Vec<_>>());
    let kernels = super::stepper::Kernels::new(&bench.buffers, &[]).unwrap();
    bench.run(|pass| kernels.update.dispatch(pass, n));
    let high = read::<[f32; 4]>(&bench.device, &bench.buffers, "displacements_hi", n).unwrap();
    let low = read::<[f32; 4]>(&bench.device, &bench.buffers, "displacements_lo", n).unwrap();
    let found: Vec<_> = high.iter().zip(&low).map(|(h, l)| joined(h, l)).collect();
    let moved = |dt: f64| -> Vec<Vec3> {
        let State { displacements, velocities, .. } = &bench.state;
        displacements.iter().zip(velocities).zip(&dv).map(|((u, v), dv)| u + (v + dv) * dt).collect()
    };
    assert!(relative_error(&found, &moved(0.01)) < 1e-7, "{:e}", relative_error(&found, &moved(0.01)));
    assert!(relative_error(&found, &moved(0.010_001)) > 1e-7);
    assert!(low.iter().flatten().all(|l| l.abs() <= 1.0 / 8192.0) && high.iter().flatten().all(|h| (h * 4096.0).fract() == 0.0));
    assert_eq!(read::<u32>(&bench.device, &bench.buffers, "fault", 1).unwrap()[0], 0);
    dv[4].y = f64::NAN;
    dv[6].x = f64::INFINITY;
    bench.buffers.write("dv", &dv.iter().map(|v| vec4(v, 0.0)).collect::<Vec<_>>());
    bench.run(|pass| kernels.update.dispatch(pass, n));
    assert_eq!(read::<u32>(&bench.device, &bench.buffers, "fault", 1).unwrap()[0] as usize, n - 4);
}

fn surface(device: &Arc<Device>, stepper: &mut GpuStepper, n: usize) -> Vec<Vec3> {
    let SurfacePositions::Device(surface) = stepper.surface() else { panic!("the surface has left the device") };
    super::readback::read_buffer::<[f32; 4]>(device, super::surface_buffer(&surface), n).unwrap().iter().map(three).collect()
}

#[test]
fn fifty_steps_agree_with_the_cpu_and_repeat_themselves() {
    let model = bar([6, 2, 2], 0.1);
    let params = Params { tolerance: 1e-4, ..Params::default() };
    let run_gpu = || {
        let mut stepper = GpuStepper::new(test_device(), model.clone()).unwrap();
        let mut loads = Loads::default();
        for step in 0..50 {
            loads.grabs = if (10..30).contains(&step) { vec![a_grab(&model)] } else { vec![] };
            let report = stepper.step(&params, &loads).unwrap();
            assert!(report.converged && report.residual <= 1e-4, "{report:?}");
        }
        (stepper.state().unwrap().clone(), surface(&test_device(), &mut stepper, model.n_vertices()))
    };
    let mut cpu = ImplicitStepper::new(model.clone(), CpuBackend::default(), || 0.0).unwrap();
    let mut loads = Loads::default();
    let mut before = vec![];
    for step in 0..50 {
        loads.grabs = if (10..30).contains(&step) { vec![a_grab(&model)] } else { vec![] };
        before = cpu.state().unwrap().displacements.clone();
        cpu.step(&params, &loads).unwrap();
    }
    let (found, skin) = run_gpu();
    let wanted = cpu.state().unwrap();
    let worst = |u: &[Vec3]| found.displacements.iter().zip(u).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max) / model.size();
    assert!(worst(&wanted.displacements) < 2e-5, "{:e}", worst(&wanted.displacements));
    assert!(worst(&before) > 2e-5, "one step less is seen");
    let positions = model.surface_positions(&found.positions(&model));
    assert!(relative_error(&skin, &positions) < 1e-6);
    let (again, _) = run_gpu();
    assert!(again == found, "the same commands give the same state to the last bit");
}

#[test]
fn steps_after_the_first_make_no_buffers() {
    let device = Device::open(&Default::default()).unwrap();
    let tets = shapes::box_tets(Vec3::new(0.2, 0.2, 0.2), [3, 3, 3]);
    let mut builder = ModelBuilder::default();
    let material = Material { young_modulus: 1e5, ..Default::default() };
    builder.soft_body(SoftBody { self_contact: false, ..SoftBody::with_boundary_surface("cube", material, tets) });
    let model = Arc::new(builder.build().unwrap());
    let mut stepper = GpuStepper::new(device.clone(), model.clone()).unwrap();
    let step = |stepper: &mut GpuStepper, k: usize| {
        let grabs = if k % 3 == 1 { vec![a_grab(&model)] } else { vec![] };
        let node_forces = if k % 4 == 2 { scrambled(model.n_nodes(), 0.01, k) } else { vec![] };
        stepper.step(&Params::default(), &Loads { grabs, node_forces, ..Loads::default() }).unwrap();
    };
    step(&mut stepper, 0);
    let before = device.n_created();
    (1..20).for_each(|k| step(&mut stepper, k));
    assert_eq!(device.n_created(), before);
    // The count notices one.
    stepper.state().unwrap();
    assert!(device.n_created() > before);
}

#[test]
fn only_the_device_makes_buffers() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/gpu");
    let mut seen = 0;
    for file in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
        let text = std::fs::read_to_string(&file).unwrap();
        for call in ["device.create_buffer(", "device.create_bind_group(", "queue.write_buffer("] {
            // The device of wgpu is a field of ours.
            let raw = if call.starts_with("queue") { call.to_owned() } else { format!("device.{call}") };
            let allowed = ["device.rs", "tests.rs"].iter().any(|name| file.ends_with(name));
            assert!(allowed || !text.contains(&raw), "{}: {raw} is not counted", file.display());
            seen += usize::from(text.contains(call));
        }
    }
    assert!(seen > 3, "{seen}");
}

#[test]
fn a_state_goes_to_the_device_and_back() {
    let model = bar([4, 2, 2], 0.1);
    let mut stepper = GpuStepper::new(test_device(), model.clone()).unwrap();
    (0..5).for_each(|_| drop(stepper.step(&Params::default(), &Loads::default()).unwrap()));
    let saved = stepper.state().unwrap().clone();
    (0..5).for_each(|_| drop(stepper.step(&Params::default(), &Loads::default()).unwrap()));
    let end = stepper.state().unwrap().clone();
    let mut other = GpuStepper::new(test_device(), model).unwrap();
    other.set_state(&saved).unwrap();
    assert!(*other.state().unwrap() == saved);
    (0..5).for_each(|_| drop(other.step(&Params::default(), &Loads::default()).unwrap()));
    assert!(*other.state().unwrap() == end, "a resumed run goes on as if it had not stopped");
}

#[test]
fn a_step_that_is_not_finite_is_taken_back() {
    let model = bar([3, 1, 1], 0.0);
    let mut stepper = GpuStepper::new(test_device(), model.clone()).unwrap();
    stepper.step(&Params::default(), &Loads::default()).unwrap();
    let before = stepper.state().unwrap().clone();
    let loads = Loads { node_forces: vec![Vec3::new(f64::NAN, 0.0, 0.0); model.n_nodes()], ..Loads::default() };
    let error = stepper.step(&Params::default(), &loads).unwrap_err();
    assert!(error.to_string().contains("\"bar\""), "{error}");
    assert!(*stepper.state().unwrap() == before);
    assert!(stepper.step(&Params::default(), &Loads::default()).unwrap().converged);
}
