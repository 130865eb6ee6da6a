//! Every kernel against its CPU twin on scrambled input; and each comparison shows that it can fail.

use std::sync::Arc;

use super::device::test_device;
use super::elastic::{Assembly, ConjugateGradient, create_buffers};
use super::kernel::{Buffers, bound};
use super::layout::{BlockData, ControlData, controls, joined, params_data, split, upload_model, vec4};
use super::readback::read;
use super::{Device, Stepper as GpuStepper};
use crate::material::Material;
use crate::math::{Mat3, Vec3};
use crate::mesh::shapes;
use crate::model::{Model, ModelBuilder, SoftBody};
use crate::solver::cpu::{self, CpuStepper, Damping, Element};
use crate::solver::{Grab, HeldPoint, Loads, Params, State, Stepper, SurfacePositions};
use crate::sparse::{Operator, conjugate_gradient};

/// A bar of 0.6 x 0.2 x 0.2 m, held at x = 0.
pub(super) fn bar(cells: [u32; 3], damping: f64) -> Arc<Model> {
    let tets = shapes::box_tets(Vec3::new(0.6, 0.2, 0.2), cells);
    let material = Material { young_modulus: 1e5, mass_damping: damping, stiffness_damping: 0.01 * damping, ..Default::default() };
    let mut body = SoftBody::with_boundary_surface("bar", material, tets);
    let left = body.tets.positions.iter().map(|p| p.x).fold(f64::INFINITY, f64::min);
    body.fixed = body.tets.positions.iter().map(|p| p.x < left + 1e-9).collect();
    let mut builder = ModelBuilder::default();
    builder.soft_body(body);
    Arc::new(builder.build().unwrap())
}

#[test]
fn rigid_bodies_are_refused() {
    let surface = shapes::surface_box(Vec3::repeat(1.0));
    let mut builder = ModelBuilder::default();
    builder.rigid_body(crate::model::RigidBody {
        name: "brick".into(),
        mobility: crate::model::Mobility::Free { mass: 1.0, inertia: Mat3::identity() },
        vertices: surface.positions,
        triangles: surface.triangles,
        texture_coordinates: None,
        pose: crate::math::Isometry::identity(),
        velocity: Vec3::zeros(),
        angular_velocity: Vec3::zeros(),
        color: None,
    });
    let refused = GpuStepper::new(test_device(), Arc::new(builder.build().unwrap())).err().unwrap();
    assert_eq!(refused, crate::gpu::DeviceError::RigidBody { body: "brick".into() });
    assert!(refused.to_string().contains("\"brick\""), "{refused}");
}

#[test]
fn attachments_are_refused() {
    let mut model = Arc::unwrap_or_clone(bar([1, 1, 1], 0.0));
    let ends = [crate::model::End::World(Vec3::zeros()), crate::model::End::Nodes(vec![(0, 1.0)])];
    model.attachments.push(crate::model::Attachment { name: "rope".into(), ends, stiffness: 1.0, damping: 0.0, length: 1.0 });
    let refused = GpuStepper::new(test_device(), Arc::new(model)).err().unwrap();
    assert_eq!(refused, crate::gpu::DeviceError::Attachment { name: "rope".into() });
    assert!(refused.to_string().contains("\"rope\""), "{refused}");
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

fn three(v: &[f32; 4]) -> Vec3 {
    Vec3::new(v[0].into(), v[1].into(), v[2].into())
}

/// Kernels with a state on the device, and what the CPU makes of the same state.
struct Bench {
    device: Arc<Device>,
    model: Arc<Model>,
    buffers: Buffers,
    groups: u32,
    params: Params,
    loads: Loads,
    state: State,
}

impl Bench {
    fn new(model: &Arc<Model>) -> Self {
        let device = test_device();
        let mut buffers = Buffers::new(device.clone());
        upload_model(&mut buffers, model).unwrap();
        let groups = create_buffers(&device, &mut buffers, model).unwrap();
        let mut node_forces = scrambled(model.n_nodes(), 0.3, 99);
        node_forces[0] = Vec3::new(5.0, 0.0, 0.0);
        let loads = Loads { grabs: vec![a_grab(model)], node_forces };
        let params = Params::default();
        let state = scrambled_state(model);
        buffers.uniform("params", &[params_data(model, &params, &loads, groups)]);
        let (high, low): (Vec<_>, Vec<_>) = state.displacements.iter().map(split).unzip();
        buffers.write("displacements_hi", &high);
        buffers.write("displacements_lo", &low);
        buffers.write("velocities", &state.velocities.iter().map(|v| vec4(v, 0.0)).collect::<Vec<_>>());
        buffers.write("rotations", &state.rotations.iter().map(|q| q.map(|c| c as f32)).collect::<Vec<_>>());
        buffers.write("node_forces", &loads.node_forces.iter().map(|v| vec4(v, 0.0)).collect::<Vec<_>>());
        let mut weights = vec![[0f32; 4]; model.n_nodes()];
        for (node, weight) in super::stepper::grab_weights(model, &loads) {
            weights[node as usize] = weight;
        }
        buffers.write("grab_weights", &weights);
        Self { device, model: model.clone(), buffers, groups, params, loads, state }
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
        let assembly = Assembly::new(&self.buffers).unwrap();
        self.run(|pass| {
            assembly.record_elements(pass, &self.model);
            assembly.record_system(pass, &self.model, 1, self.groups);
        });
    }

    fn cpu_elements(&self, state: &State) -> Vec<Element> {
        let mut rotations = state.rotations.clone();
        let mut elements = vec![Element::default(); self.model.tets.len()];
        let betas = Damping::of(&self.model).betas;
        let dt = self.params.time_step;
        cpu::elements(&self.model.tets, &mut rotations, &state.displacements, &state.velocities, dt, &betas, &mut elements);
        elements
    }

    fn cpu_system(&self) -> (Vec<Vec3>, Operator) {
        let (model, elements, damping) = (&self.model, self.cpu_elements(&self.state), Damping::of(&self.model));
        let (mut rhs, mut a) = (vec![Vec3::zeros(); model.n_nodes()], Operator::default());
        cpu::right_hand_side(model, &elements, &self.state, &self.params, &self.loads, &damping, &mut rhs);
        cpu::matrix(model, &elements, &self.state, &self.params, &self.loads, &damping, &mut a, &mut vec![]);
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
    let bench = Bench::new(&bar([5, 2, 2], 0.7));
    bench.assemble();
    let n = bench.model.tets.len();
    let all = |elements: &[Element], pick: fn(&Element) -> [Vec3; 4]| elements.iter().flat_map(pick).collect::<Vec<_>>();
    let (forces, gradients) = (bench.vectors("corner_forces", 4 * n), bench.vectors("corner_gradients", 4 * n));
    let wanted = bench.cpu_elements(&bench.state);
    let force_error = |elements: &[Element]| relative_error(&forces, &all(elements, |e| e.forces()));
    let gradient_error = |elements: &[Element]| relative_error(&gradients, &all(elements, |e| e.gradients()));
    assert!(force_error(&wanted) < 2e-6, "{:e}", force_error(&wanted));
    assert!(gradient_error(&wanted) < 2e-6, "{:e}", gradient_error(&wanted));
    // The bound notices a thousandth of the deformation.
    let mut other = bench.state.clone();
    other.displacements.iter_mut().for_each(|u| *u *= 1.001);
    let wrong = bench.cpu_elements(&other);
    assert!(force_error(&wrong) > 1e-4 && gradient_error(&wrong) > 2e-6, "{:e} {:e}", force_error(&wrong), gradient_error(&wrong));
}

#[test]
fn a_far_body_is_as_precise_as_a_near_one() {
    let mut bench = Bench::new(&bar([4, 2, 2], 0.0));
    bench.state.displacements.iter_mut().for_each(|u| *u += Vec3::new(100.0, 50.0, -70.0));
    let (high, low): (Vec<_>, Vec<_>) = bench.state.displacements.iter().map(split).unzip();
    bench.buffers.write("displacements_hi", &high);
    bench.buffers.write("displacements_lo", &low);
    bench.assemble();
    let wanted: Vec<_> = bench.cpu_elements(&bench.state).iter().flat_map(|e| e.forces()).collect();
    let error = relative_error(&bench.vectors("corner_forces", wanted.len()), &wanted);
    assert!(error < 2e-6, "{error:e}");
}

#[test]
fn right_hand_side_and_matrix_are_those_of_the_cpu() {
    let bench = Bench::new(&bar([5, 2, 2], 0.7));
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

    let found = blocks(&read(&bench.device, &bench.buffers, "inverse_diagonals", pattern.n_rows()).unwrap());
    let error = relative_error(&columns(&found), &columns(&a.inverse_diagonals));
    assert!(error < 1e-5, "{error:e}");
}

#[test]
fn conjugate_gradients_solve_the_system() {
    let bench = Bench::new(&bar([6, 3, 3], 0.2));
    bench.assemble();
    let cg = ConjugateGradient::new(&bench.buffers, &bench.device).unwrap();
    let control = |iterations| {
        bench.buffers.write("reductions", &controls(&bench.model, &bench.params, &bench.loads, &[false]));
        bench.run(|pass| {
            cg.record_start(pass, bench.groups);
            cg.record_iterations(pass, &bench.buffers, iterations);
        });
        read::<ControlData>(&bench.device, &bench.buffers, "reductions", 1).unwrap()[0]
    };
    let few = control(8);
    assert_eq!((few.done, few.iterations), (0, 8));
    bench.buffers.write("dv", &vec![[0f32; 4]; bench.model.n_nodes()]);
    let end = control(200);
    let (rhs, a) = bench.cpu_system();
    let (mut dv, mut product) = (vec![Vec3::zeros(); rhs.len()], vec![Vec3::zeros(); rhs.len()]);
    let bound = f64::from(end.target2).sqrt();
    let solved = conjugate_gradient(
        &a,
        &bench.model.pattern,
        &bench.model.fixed,
        &(0..rhs.len()),
        &rhs,
        &mut dv,
        bound,
        200,
        &mut Default::default(),
    );
    assert_eq!((end.done, end.converged), (1, 1));
    assert!(end.iterations.abs_diff(solved.iterations) <= 1, "{} {}", end.iterations, solved.iterations);
    // The residual that the device believes is the true one.
    let found = bench.vectors("dv", rhs.len());
    a.apply(&bench.model.pattern, &bench.model.fixed, &(0..rhs.len()), &found, &mut product);
    let residual = rhs.iter().zip(&product).map(|(b, q)| (b - q).norm_squared()).sum::<f64>().sqrt();
    assert!(residual < 1.1 * bound, "{residual:e} {bound:e}");
    assert!(f64::from(few.residual2).sqrt() > bound);
    // A better start value than zero is kept: nothing is left to do.
    assert!(control(8).iterations <= 1);
}

#[test]
fn update_moves_and_marks_what_is_not_finite() {
    let bench = Bench::new(&bar([3, 1, 1], 0.0));
    let n = bench.model.n_nodes();
    let mut dv = scrambled(n, 2.0, 55);
    bench.buffers.write("dv", &dv.iter().map(|v| vec4(v, 0.0)).collect::<Vec<_>>());
    let update = bound(&bench.buffers, "elastic/update").unwrap();
    bench.run(|pass| update.dispatch(pass, n));
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
    bench.run(|pass| update.dispatch(pass, n));
    assert_eq!(read::<u32>(&bench.device, &bench.buffers, "fault", 1).unwrap()[0] as usize, n - 4);
}

fn surface(device: &Arc<Device>, stepper: &mut GpuStepper, n: usize) -> Vec<Vec3> {
    let SurfacePositions::Device(buffer) = stepper.surface() else { panic!("the surface has left the device") };
    super::readback::read_buffer::<[f32; 4]>(device, &buffer, n).unwrap().iter().map(three).collect()
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
        (stepper.state().unwrap(), surface(&test_device(), &mut stepper, model.n_vertices()))
    };
    let mut cpu = CpuStepper::new(model.clone(), 1).unwrap();
    let mut loads = Loads::default();
    let mut before = vec![];
    for step in 0..50 {
        loads.grabs = if (10..30).contains(&step) { vec![a_grab(&model)] } else { vec![] };
        before = cpu.state().unwrap().displacements;
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
fn a_state_goes_to_the_device_and_back() {
    let model = bar([4, 2, 2], 0.1);
    let mut stepper = GpuStepper::new(test_device(), model.clone()).unwrap();
    (0..5).for_each(|_| drop(stepper.step(&Params::default(), &Loads::default()).unwrap()));
    let saved = stepper.state().unwrap();
    (0..5).for_each(|_| drop(stepper.step(&Params::default(), &Loads::default()).unwrap()));
    let end = stepper.state().unwrap();
    let mut other = GpuStepper::new(test_device(), model).unwrap();
    other.set_state(&saved).unwrap();
    assert!(other.state().unwrap() == saved);
    (0..5).for_each(|_| drop(other.step(&Params::default(), &Loads::default()).unwrap()));
    assert!(other.state().unwrap() == end, "a resumed run goes on as if it had not stopped");
}

#[test]
fn a_step_that_is_not_finite_is_taken_back() {
    let model = bar([3, 1, 1], 0.0);
    let mut stepper = GpuStepper::new(test_device(), model.clone()).unwrap();
    stepper.step(&Params::default(), &Loads::default()).unwrap();
    let before = stepper.state().unwrap();
    let loads = Loads { node_forces: vec![Vec3::new(f64::NAN, 0.0, 0.0); model.n_nodes()], ..Loads::default() };
    let error = stepper.step(&Params::default(), &loads).unwrap_err();
    assert!(error.to_string().contains("\"bar\""), "{error}");
    assert!(stepper.state().unwrap() == before);
    assert!(stepper.step(&Params::default(), &Loads::default()).unwrap().converged);
}
