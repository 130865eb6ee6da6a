//! The step on the device. Twin of `step::ImplicitStepper`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use super::device::{Device, DeviceError};
use super::elastic::{
    ARGUMENTS_NODES, ARGUMENTS_POINTS, Assembly, ConjugateGradient, GATE_INTERVAL, HOST, bytes_of_system, create_buffers_unless,
};
use super::kernel::{Bound, Buffers, Kernel, Stage, kernels};
use super::layout::{ControlData, MAX_GRABS, ParamsData, joined, split, three, vec4};
use super::limits::MAX_WHOLE_NODES;
use super::readback::{ReadbackBuffer, Stopwatch};
use super::staging::UploadStaging;
use super::tiles::{CORES_OF_DEVICE, Tiles};
use super::upload::{Groups, controls, params_data, upload_model_unless};
use crate::body::BodyRef;
use crate::budget::TET_WORK;
use crate::cancel::CancelToken;
use crate::math::Vec3;
use crate::model::Model;
use crate::model::WarmStart;
use crate::model::{HeldPoint, History, Loads, Params, State};
use crate::step::{Choice, DeviceWork, StageWork, StepError, StepReport, Stepper, SurfacePositions, check_cancelled};

kernels! {
    /// The end of a step.
    pub(super) struct Kernels in "elastic", HOST {
        update: Bound,
    }
}

kernels! {
    /// Positions of the surface, bound once for each buffer that may take them.
    pub(super) struct SurfaceKernels in "elastic", HOST {
        skin: Arc<Kernel>,
    }
}

/// The GPU backend where nothing can touch and nothing of a step is the host's: all stays on the device.
pub struct GpuStepper {
    device: Arc<Device>,
    model: Arc<Model>,
    buffers: Buffers,
    groups: Groups,
    tiles: Tiles,
    assembly: Assembly,
    cg: ConjugateGradient,
    kernels: Kernels,
    /// Each writes its own of the surface buffers, which take turns: the last one can be drawn while the next is
    /// written.
    skins: Vec<(Bound, Arc<wgpu::Buffer>)>,
    surface: usize,
    readback: ReadbackBuffer,
    staging: UploadStaging,
    stopwatch: Stopwatch,
    /// Of the step that is being recorded.
    work: DeviceWork,
    /// Of the state, which is on the device.
    time: f64,
    script_delay: f64,
    /// The state as it was fetched last, until it changes.
    fetched: Option<State>,
    /// Nodes that the grabs of the step hold: its answer brings their motions.
    watched: Vec<u32>,
    /// By ascending node: displacements [m] and velocities [m/s] that are known, until the state changes.
    known: BTreeMap<u32, (Vec3, Vec3)>,
    /// Submissions since the last step that the host has waited for.
    round_trips: u32,
    /// The step that was begun last, by its number in errors.
    step: u64,
    /// Iterations that were recorded for it.
    recorded: u32,
    /// Iterations of the last step: the size of the next first batch.
    last_iterations: u32,
    held: Held,
}

/// What loads leave on the device.
#[derive(Default)]
pub(super) struct Held {
    /// Nodes with an entry in `grab_weights`.
    grabbed: Vec<u32>,
}

impl Held {
    /// Forces on nodes and weights of grabs.
    pub fn put(&mut self, staging: &mut UploadStaging, buffers: &Buffers, model: &Model, loads: &Loads) {
        if !loads.node_forces.is_empty() {
            let forces: Vec<_> = loads.node_forces.iter().map(|f| vec4(f, 0.0)).collect();
            staging.put(buffers.get("node_forces"), 0, &forces);
        }
        let weights = grab_weights(model, loads);
        // What is held no more: a node has one place in the staging buffer.
        self.grabbed.retain(|node| weights.binary_search_by_key(node, |(held, _)| *held).is_err());
        let mut put = |node: u32, weights: [f32; 4]| staging.put(buffers.get("grab_weights"), 16 * u64::from(node), &[weights]);
        self.grabbed.iter().for_each(|node| put(*node, [0.0; 4]));
        weights.iter().for_each(|(node, weights)| put(*node, *weights));
        self.grabbed = weights.into_iter().map(|(node, _)| node).collect();
    }
}

/// Layout of the readback buffer.
const FAULT_AT: u64 = 0;
const TIMES_AT: u64 = 256;
const WATCHED_AT: usize = (TIMES_AT + Stopwatch::BYTES) as usize;
const CONTROLS_AT: usize = WATCHED_AT + MOTION.len() * MAX_WATCHED * 16;
/// Nodes of the points of all grabs.
const MAX_WATCHED: usize = MAX_GRABS * 12;

/// What comes back after a submission.
struct Answer {
    controls: Vec<ControlData>,
    fault: u32,
    /// Of the watched nodes, for each of [`MOTION`].
    watched: Vec<[f32; 4]>,
}

/// Stage of what goes to the device and comes back.
pub(super) const TRANSFER: &str = "transfer";

const SURFACES: [&str; 3] = ["surface_0", "surface_1", "surface_2"];
/// What a failed step must give back, and where it is kept.
const BACKUPS: [(&str, &str); 5] = [
    ("displacements_hi", "backup_hi"),
    ("displacements_lo", "backup_lo"),
    ("velocities", "backup_velocities"),
    ("rotations", "backup_rotations"),
    ("dv", "backup_dv"),
];

impl GpuStepper {
    /// Whether there are only deformable bodies that nothing can touch, that start in their shape and keep it, and
    /// whose elements remember nothing but their rotation.
    pub fn takes(model: &Model) -> bool {
        let starts_deformed = model.bodies.iter().any(|body| model.starts_deformed(body));
        !(model.may_touch() || !model.rigid_bodies.is_empty() || starts_deformed || model.n_state_rows() > 0)
    }

    pub fn new(device: Arc<Device>, model: Arc<Model>) -> Result<Self, DeviceError> {
        Self::new_unless(device, model, &CancelToken::default())
    }

    /// The same, which ends with [`DeviceError::Cancelled`] soon after `cancel` is cancelled.
    pub fn new_unless(device: Arc<Device>, model: Arc<Model>, cancel: &CancelToken) -> Result<Self, DeviceError> {
        if !Self::takes(&model) {
            return Err(DeviceError::MayTouch);
        }
        let mut buffers = Buffers::new(device.clone());
        upload_model_unless(&mut buffers, &model, cancel)?;
        let (tiles, groups) = create_buffers_unless(&device, &mut buffers, &model, MAX_WHOLE_NODES as usize, cancel)?;
        buffers.uniform("params", &[params_data(&model, &Params::default(), &Loads::default(), &groups)]);
        let skins = skins(&mut buffers, &model)?;
        let readback_bytes = (CONTROLS_AT + model.bodies.len() * size_of::<ControlData>()) as u64;
        let mut stepper = Self {
            assembly: Assembly::new(&buffers, &model, &[])?,
            cg: ConjugateGradient::new(&buffers, groups)?,
            kernels: Kernels::new(&buffers, &[])?,
            skins,
            surface: 0,
            readback: ReadbackBuffer::new(&device, readback_bytes),
            staging: upload_staging(&device, &model),
            stopwatch: Stopwatch::new(&device),
            work: DeviceWork::default(),
            time: 0.0,
            script_delay: 0.0,
            fetched: None,
            watched: vec![],
            known: BTreeMap::new(),
            round_trips: 0,
            step: 0,
            recorded: 0,
            last_iterations: 16,
            held: Held::default(),
            groups,
            tiles,
            buffers,
            model,
            device,
        };
        let initial = State::initial(&stepper.model);
        stepper.restore(&initial);
        match stepper.device.fault() {
            Some(fault) => Err(fault),
            None => Ok(stepper),
        }
    }

    fn encoder(&self) -> wgpu::CommandEncoder {
        self.device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("step") })
    }

    fn lost(&self, error: &DeviceError) -> StepError {
        StepError::DeviceLost { step: self.step, reason: error.to_string() }
    }

    /// One step, as the algorithm reads. Everything up to the positions of the surface is recorded at once: what
    /// follows the solve runs only when the solve has ended, so that most steps are one submission and one small
    /// answer.
    fn advance(&mut self, params: &Params, loads: &Loads) -> Result<StepReport, StepError> {
        if let Some(fault) = self.device.fault() {
            return Err(self.lost(&fault));
        }
        check_cancelled(loads)?;
        (self.fetched, self.step, self.recorded) = (None, loads.step, 0);
        self.known.clear();
        self.watched = watched_nodes(loads.grabs.iter().take(MAX_GRABS).map(|grab| &grab.point));
        let mut report = StepReport { round_trips: std::mem::take(&mut self.round_trips), ..StepReport::default() };
        loads.budget.spend(TET_WORK * self.model.tets.len() as u64);
        let affordable = self.tiles.within_budget(&self.model, params, loads);
        self.write_loads(&affordable, loads);
        self.surface = (self.surface + 1) % self.skins.len();
        let mut encoder = self.encoder();
        self.staging.record(&mut encoder).map_err(|error| self.lost(&error))?;
        for (name, backup) in BACKUPS {
            let (from, to) = (self.buffers.get(name), self.buffers.get(backup));
            encoder.copy_buffer_to_buffer(from, 0, to, 0, from.size());
        }
        encoder.clear_buffer(self.buffers.get("fault"), 0, None);
        let n_grabs = loads.grabs.len();
        self.record(&mut encoder, "elements", |s, pass| s.assembly.record_elements(pass, &s.model));
        self.record(&mut encoder, "assembly", |s, pass| s.assembly.record_system(pass, &s.model, n_grabs, s.groups.rows));
        self.record(&mut encoder, "elastic solve", |s, pass| s.cg.record_start(pass));
        let mut iterations = self.batch(self.last_iterations + 2);
        let Answer { controls, fault, watched } = loop {
            self.record(&mut encoder, "elastic solve", |s, pass| s.cg.record_iterations(pass, &s.buffers, iterations));
            self.record_end(&mut encoder);
            self.recorded += iterations;
            let answer = self.submit(encoder, &mut report).map_err(|error| self.lost(&error))?;
            if answer.controls.iter().all(|control| control.elastic_done != 0) {
                break answer;
            }
            if let Err(cancelled) = check_cancelled(loads) {
                self.roll_back();
                return Err(cancelled);
            }
            iterations = self.batch(2 * iterations);
            encoder = self.encoder();
        };
        // `fault` is as `shaders/elastic/update.wgsl` leaves it.
        let moved = (fault != 0).then(|| ("the velocity", self.model.node_bodies[self.model.n_nodes() - fault as usize]));
        let stopped = controls.iter().position(|control| !control.residual2.is_finite()).map(|body| ("the force", body as u32));
        if let Some((what, body)) = moved.or(stopped) {
            return Err(self.not_finite(what, BodyRef::Deformable(body), params.time_step));
        }
        self.learn(&watched);
        self.count_bytes(params, loads, &controls);
        report.device_work = std::mem::take(&mut self.work);
        report.converged = true;
        report.choice = Choice { method: params.method, reason: "nothing can touch in this scene" };
        // What the budget has ended is accepted as it is, as nothing can cross.
        let is_cut = |control: &ControlData| control.converged == 0 && control.iterations >= affordable.max_iterations;
        let is_limited = affordable.max_iterations < params.max_iterations && controls.iter().any(is_cut);
        report.limited = is_limited.then_some(0);
        for control in &controls {
            report.join(StepReport {
                iterations: control.iterations,
                residual: f64::from(control.residual2).sqrt() / f64::from(control.scale),
                converged: control.converged != 0,
                ..StepReport::default()
            });
        }
        self.last_iterations = controls.iter().map(|control| control.iterations).max().unwrap_or(0);
        self.time += params.time_step;
        Ok(report)
    }

    /// Takes the step back and says where it failed.
    fn not_finite(&mut self, what: &'static str, body: BodyRef, dt: f64) -> StepError {
        self.roll_back();
        let (model, step) = (self.model.clone(), self.step);
        match self.state() {
            Ok(state) => StepError::not_finite(what, &model, body, state, dt, step),
            Err(error) => error,
        }
    }

    /// Iterations in one submission: short enough that drawing on the same queue never waits long.
    fn batch(&self, wanted: u32) -> u32 {
        let most = if self.device.is_hardware() { 128 } else { (600_000 / self.model.pattern.n_blocks().max(1)) as u32 };
        wanted.min(most.clamp(GATE_INTERVAL, 128)).next_multiple_of(GATE_INTERVAL)
    }

    fn write_loads(&mut self, params: &Params, loads: &Loads) {
        self.tiles.select(&self.buffers, &self.model, params);
        self.work = DeviceWork::default();
        let (model, staging, buffers) = (&self.model, &mut self.staging, &self.buffers);
        staging.put(buffers.get("params"), 0, &[params_data(model, params, loads, &self.groups)]);
        staging.put(buffers.get("reductions"), 0, &controls(model, params, loads, &vec![false; model.bodies.len()]));
        self.held.put(staging, buffers, model, loads);
    }

    /// A timed pass of a stage; its dispatches are counted.
    fn record(&mut self, encoder: &mut wgpu::CommandEncoder, stage: &'static str, what: impl FnOnce(&Self, &mut wgpu::ComputePass)) {
        let before = self.buffers.n_dispatches();
        let mut pass = self.stopwatch.pass(encoder, stage);
        what(self, &mut pass);
        self.work.add(stage, StageWork { dispatches: self.buffers.n_dispatches() - before, ..StageWork::default() });
    }

    /// New state and surface, once everything is solved.
    fn record_end(&mut self, encoder: &mut wgpu::CommandEncoder) {
        self.record(encoder, "update", |s, pass| {
            let arguments = s.buffers.get("arguments");
            s.kernels.update.dispatch_indirect(pass, arguments, ARGUMENTS_NODES);
            s.skins[s.surface].0.dispatch_indirect(pass, arguments, ARGUMENTS_POINTS);
        });
    }

    /// What the stages before the contacts have moved; the solve counts as work of the step.
    fn count_bytes(&mut self, params: &Params, loads: &Loads, controls: &[ControlData]) {
        let [elements, assembly] = bytes_of_system(&self.model);
        let [iteration, start] = self.tiles.bytes_of_iteration(&self.model, params.is_two_level());
        let iterations = controls.iter().map(|control| control.iterations).max().unwrap_or(0);
        let solve = start + u64::from(iterations) * iteration;
        loads.budget.spend(solve / CORES_OF_DEVICE);
        for (stage, bytes) in [("elements", elements), ("assembly", assembly), ("elastic solve", solve)] {
            self.work.add(stage, StageWork { bytes, ..StageWork::default() });
        }
        self.work.add("elastic solve", self.groups.loops(self.recorded, iterations));
    }

    /// Submits and waits for the small answer; adds the times of the stages.
    fn submit(&mut self, mut encoder: wgpu::CommandEncoder, report: &mut StepReport) -> Result<Answer, DeviceError> {
        let start = Instant::now();
        let control_bytes = self.model.bodies.len() * size_of::<ControlData>();
        self.readback.collect(&mut encoder, self.buffers.get("reductions"), control_bytes as u64, CONTROLS_AT as u64);
        self.readback.collect(&mut encoder, self.buffers.get("fault"), 4, FAULT_AT);
        let watched = MOTION.iter().flat_map(|name| self.watched.iter().map(move |node| (name, *node)));
        for (k, (name, node)) in watched.enumerate() {
            let at = (WATCHED_AT + 16 * k) as u64;
            self.readback.collect_from(&mut encoder, self.buffers.get(name), 16 * u64::from(node), 16, at);
        }
        let watched_bytes = 16 * MOTION.len() * self.watched.len();
        let fetched = (control_bytes + 4 + watched_bytes) as u64;
        self.work.add(TRANSFER, StageWork { sent: self.staging.take_sent(), fetched, ..StageWork::default() });
        self.stopwatch.collect(&mut encoder, &self.readback, TIMES_AT);
        let Self { readback, stopwatch, staging, .. } = self;
        let submitted = readback.submit(encoder, |bytes| {
            let answer = Answer {
                controls: bytemuck::pod_collect_to_vec(&bytes[CONTROLS_AT..][..control_bytes]),
                fault: bytemuck::pod_read_unaligned(&bytes[FAULT_AT as usize..][..4]),
                watched: bytemuck::pod_collect_to_vec(&bytes[WATCHED_AT..][..watched_bytes]),
            };
            (answer, stopwatch.read(&bytes[TIMES_AT as usize..]))
        });
        staging.take_back();
        let (answer, times) = submitted?;
        report.round_trips += 1;
        match times {
            Some(times) => times.into_iter().for_each(|(stage, ms)| report.stages.add(stage, ms)),
            None => report.stages.add("step", start.elapsed().as_secs_f64() * 1e3),
        }
        Ok(answer)
    }

    /// Keeps the motions of the watched nodes: of each of [`MOTION`] one vector a node.
    fn learn(&mut self, motions: &[[f32; 4]]) {
        let n = self.watched.len();
        for (k, node) in self.watched.iter().enumerate() {
            self.known.insert(*node, (joined(&motions[k], &motions[n + k]), three(&motions[2 * n + k])));
        }
    }

    /// Gives back the state before the step.
    fn roll_back(&mut self) {
        let mut encoder = self.encoder();
        for (name, backup) in BACKUPS {
            let (from, to) = (self.buffers.get(backup), self.buffers.get(name));
            encoder.copy_buffer_to_buffer(from, 0, to, 0, from.size());
        }
        self.show(encoder);
    }

    /// Submits, with the surface of the state.
    fn show(&mut self, mut encoder: wgpu::CommandEncoder) {
        self.surface = (self.surface + 1) % self.skins.len();
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            self.skins[self.surface].0.dispatch(&mut pass, self.model.n_vertices());
        }
        self.device.queue.submit([encoder.finish()]);
    }

    fn restore(&mut self, state: &State) {
        let (high, low): (Vec<_>, Vec<_>) = state.displacements.iter().map(split).unzip();
        self.buffers.write("displacements_hi", &high);
        self.buffers.write("displacements_lo", &low);
        self.buffers.write("velocities", &state.velocities.iter().map(|v| vec4(v, 0.0)).collect::<Vec<_>>());
        self.buffers.write("rotations", &state.rotations.iter().map(|q| q.map(|c| c as f32)).collect::<Vec<_>>());
        self.buffers.write("dv", &state.velocity_changes.iter().map(|v| vec4(v, 0.0)).collect::<Vec<_>>());
        (self.fetched, self.time, self.script_delay) = (None, state.time, state.script_delay);
        self.known.clear();
        let encoder = self.encoder();
        self.show(encoder);
    }
}

/// The buffers of displacements, in two parts, and velocities.
const MOTION: [&str; 3] = ["displacements_hi", "displacements_lo", "velocities"];

/// The nodes of some points, ascending and each once.
fn watched_nodes<'p>(points: impl Iterator<Item = &'p HeldPoint>) -> Vec<u32> {
    let nodes = |point: &HeldPoint| match point {
        HeldPoint::Nodes { nodes, .. } => *nodes,
        HeldPoint::Rigid { .. } => unreachable!("a model with rigid bodies is refused by `new`"),
    };
    let mut watched: Vec<u32> = points.flat_map(nodes).collect();
    watched.sort_unstable();
    watched.dedup();
    watched
}

impl GpuStepper {
    /// Parts of buffers of `vec4<f32>` in one trip: of each a name, its first element and how many there are.
    fn fetch(&mut self, parts: &[(&str, usize, usize)]) -> Result<Vec<[f32; 4]>, StepError> {
        let bytes = parts.iter().map(|(.., n)| 16 * *n as u64).sum();
        if bytes == 0 {
            return Ok(vec![]);
        }
        self.round_trips += 1;
        let readback = ReadbackBuffer::new(&self.device, bytes);
        let (mut encoder, mut at) = (self.encoder(), 0);
        for (name, first, n) in parts.iter().filter(|(.., n)| *n > 0) {
            let part = 16 * *n as u64;
            readback.collect_from(&mut encoder, self.buffers.get(name), 16 * *first as u64, part, at);
            at += part;
        }
        readback.submit(encoder, bytemuck::pod_collect_to_vec).map_err(|error| self.lost(&error))
    }

    fn fetch_state(&mut self) -> Result<State, StepError> {
        let (n, n_tets) = (self.model.n_nodes(), self.model.tets.len());
        let [high, low, velocities] = MOTION;
        let values = self.fetch(&[(high, 0, n), (low, 0, n), (velocities, 0, n), ("dv", 0, n), ("rotations", 0, n_tets)])?;
        let (of_nodes, rotations) = values.split_at(4 * n);
        let part = |k: usize| &of_nodes[k * n..(k + 1) * n];
        Ok(State {
            time: self.time,
            script_delay: self.script_delay,
            displacements: part(0).iter().zip(part(1)).map(|(high, low)| joined(high, low)).collect(),
            velocities: part(2).iter().map(three).collect(),
            velocity_changes: part(3).iter().map(three).collect(),
            rotations: rotations.iter().map(|q| q.map(f64::from)).collect(),
            rigid_bodies: vec![],
            attachment_forces: vec![],
            contacts: WarmStart::default(),
            // Where nothing touches nothing is told apart.
            tangled: vec![false; self.model.bodies.len()],
            tangled_times: vec![0.0; self.model.bodies.len()],
            proofs: vec![],
            outgrown: vec![0; self.model.bodies.len()],
            slow: vec![0; self.model.bodies.len()],
            later_poses: vec![None; self.model.bodies.len()],
            history: History::default(),
        })
    }
}

impl Stepper for GpuStepper {
    fn step(&mut self, params: &Params, loads: &Loads) -> Result<StepReport, StepError> {
        self.advance(params, loads)
    }

    fn time(&self) -> f64 {
        self.time
    }

    fn script_time(&self) -> f64 {
        self.time - self.script_delay
    }

    fn state(&mut self) -> Result<&State, StepError> {
        let state = match self.fetched.take() {
            Some(state) => state,
            None => self.fetch_state()?,
        };
        Ok(self.fetched.insert(state))
    }

    fn motions(&mut self, points: &[HeldPoint]) -> Result<Vec<(Vec3, Vec3)>, StepError> {
        if let Some(state) = &self.fetched {
            return Ok(points.iter().map(|point| point.motion(&self.model, state)).collect());
        }
        // The step has brought those of the points that it held; others are fetched once.
        let missing: Vec<u32> = watched_nodes(points.iter()).into_iter().filter(|node| !self.known.contains_key(node)).collect();
        let parts: Vec<_> = MOTION.iter().flat_map(|name| missing.iter().map(move |node| (*name, *node as usize, 1))).collect();
        let motions = self.fetch(&parts)?;
        self.watched = missing;
        self.learn(&motions);
        let of_node = |node: usize| self.known[&(node as u32)];
        let of_rigid = |_| unreachable!("a model with rigid bodies is refused by `new`");
        Ok(points.iter().map(|point| point.motion_from(&self.model, of_node, of_rigid)).collect())
    }

    fn set_state(&mut self, state: &State) -> Result<(), StepError> {
        self.restore(state);
        match self.device.fault() {
            Some(fault) => Err(self.lost(&fault)),
            None => Ok(()),
        }
    }

    fn surface(&mut self) -> SurfacePositions {
        SurfacePositions::Device(self.skins[self.surface].1.clone())
    }
}

/// Kernels that find the vertices of the drawn surface, each with the buffer that it writes.
pub(super) fn skins(buffers: &mut Buffers, model: &Model) -> Result<Vec<(Bound, Arc<wgpu::Buffer>)>, DeviceError> {
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::VERTEX | wgpu::BufferUsages::COPY_SRC;
    for name in SURFACES {
        buffers.zeroed(name, 16 * model.n_vertices() as u64, usage)?;
    }
    let SurfaceKernels { skin } = SurfaceKernels::new(buffers, &[])?;
    let skin = |name: &str| Ok((skin.bind(buffers, &[("surface", name)])?, Arc::new(buffers.get(name).clone())));
    SURFACES.iter().map(|name| skin(name)).collect()
}

/// Room for the parameters, the start of every body, a force on every node, and what is and was grabbed.
pub(super) fn upload_staging(device: &Arc<Device>, model: &Model) -> UploadStaging {
    let grabbed = 2 * MAX_GRABS * 12;
    let bytes = size_of::<ParamsData>() + model.bodies.len() * size_of::<ControlData>() + 16 * (model.n_nodes() + grabbed);
    UploadStaging::new(device, bytes, 4 + grabbed)
}

/// For each held node that can move its weight in every grab, by ascending node.
pub(super) fn grab_weights(model: &Model, loads: &Loads) -> Vec<(u32, [f32; 4])> {
    let mut weights = std::collections::BTreeMap::<u32, [f64; 4]>::new();
    for (k, grab) in loads.grabs.iter().take(4).enumerate() {
        let HeldPoint::Nodes { nodes, weights: held } = &grab.point else { continue };
        for (node, weight) in nodes.iter().zip(held).filter(|(n, w)| **w != 0.0 && !model.fixed[**n as usize]) {
            weights.entry(*node).or_default()[k] += weight;
        }
    }
    weights.into_iter().map(|(node, weights)| (node, weights.map(|w| w as f32))).collect()
}
