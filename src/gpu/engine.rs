//! Elements, matrix and contact forces on the device, for a backend that leaves to the CPU what may meet and whether
//! it crosses.
//!
//! The state is the host's, in f64; the device has it in f32, in two parts. A round is one or more submissions: rows
//! and forces go to the device, it solves, and velocities and forces come back. Then the host looks at the moved
//! geometry.

mod compliance;
mod iterate;
mod laws;
#[cfg(test)]
pub mod tests;

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;

use super::cwc::{CHECK_INTERVAL, Cwc, FACTOR, FORCE, ITERATIONS, Inverses, IslandRows, PROGRESS, SCALE, Tables, VECTORS};
use super::detection::{DetectionPlace, Detector};
use super::device::{Device, DeviceError};
use super::elastic::{Assembly, ConjugateGradient, bytes_of_system, create_buffers_unless};
use super::kernel::{Bound, Buffers};
use super::layout::{ControlData, split, three, vec4};
use super::limits::MAX_WHOLE_NODES;
use super::readback::{ReadbackBuffer, Stopwatch};
use super::staging::UploadStaging;
use super::stepper::{Held, TRANSFER, skins, upload_staging};
use super::tiles::Tiles;
use super::upload::{Groups, controls, params_data, upload_model_unless};
use crate::cancel::CancelToken;
use crate::contact::generate::Detection;
use crate::contact::islands::{Island, Trial};
use crate::contact::methods::cwc;
use crate::contact::problem::restore_momentum;
use crate::contact::{Constraint, contact_report, driver};
use crate::elastic::{Quaternion, RestPoses, link, rigid_right_hand_side};
use crate::geometry::{Bvh, Candidates, Mesh};
use crate::math::{Mat3, Vec3};
use crate::model::{AcceptancePolicy, ContactMethod, HeldPoint, Model, Params, State};
use crate::sparse::{Operator, Segment};
use crate::step::{Backend, DeviceWork, IslandWork, StageWork, StepError, StepInputs, StepReport, SurfacePositions, Work, check_cancelled};

/// The device as backend.
pub struct DeviceBackend {
    device: Arc<Device>,
    buffers: Buffers,
    groups: Groups,
    tiles: Tiles,
    assembly: Assembly,
    cg: ConjugateGradient,
    cwc: Cwc,
    detector: Detector,
    /// Rest poses of the deformable bodies.
    rests: RestPoses,
    /// Rotations of the tets in this step, and what they remember behind; whether they were read in it.
    rotations: Vec<Quaternion>,
    has_rotations: bool,
    laws: laws::Kept,
    iterate: iterate::Iterate,
    /// Each writes its own of the surface buffers, which take turns.
    skins: Vec<(Bound, Arc<wgpu::Buffer>)>,
    surface: usize,
    readback: ReadbackBuffer,
    staging: UploadStaging,
    stopwatch: Stopwatch,
    held: Held,
    work: DeviceWork,
    /// A step was begun and has not ended.
    is_open: bool,
    /// Elements and matrix of the step are still to be made.
    is_fresh: bool,
    /// Of the step: blocks of the rigid bodies, their inverses and right-hand side, two a body.
    links: Operator,
    inverses: Vec<Mat3>,
    rigid_rhs: Vec<Vec3>,
    /// Deformable bodies that no node is held of.
    is_free: Vec<bool>,
    /// Passes that the first round of a step and the later ones took last. They decide how work is cut into
    /// submissions, not what it comes to.
    foreseen: [u32; 2],
    /// Likewise iterations for the forces in a pass.
    foreseen_iterations: [u32; 2],
    /// Elastic iterations and iterations for the forces that were recorded in the present round.
    recorded: [u32; 2],
    step: u64,
}

/// Layout of the readback buffer.
const TIMES_AT: u64 = 0;
const CONTROLS_AT: u64 = TIMES_AT + Stopwatch::BYTES;

impl DeviceBackend {
    pub fn new(device: Arc<Device>, model: &Model) -> Result<Self, DeviceError> {
        Self::new_unless(device, model, &CancelToken::default())
    }

    /// The same, which ends with [`DeviceError::Cancelled`] soon after `cancel` is cancelled.
    pub fn new_unless(device: Arc<Device>, model: &Model, cancel: &CancelToken) -> Result<Self, DeviceError> {
        let mut buffers = Buffers::new(device.clone());
        upload_model_unless(&mut buffers, model, cancel)?;
        let (tiles, groups) = create_buffers_unless(&device, &mut buffers, model, MAX_WHOLE_NODES as usize, cancel)?;
        buffers.uniform("params", &[params_data(model, &Default::default(), &Default::default(), &groups)]);
        let skins = skins(&mut buffers, model)?;
        let engine = Self {
            assembly: Assembly::new(&buffers, model, &[("rhs", "rhs_free")])?,
            cg: ConjugateGradient::new(&buffers, groups)?,
            cwc: Cwc::new(&device, &mut buffers)?,
            detector: Detector::new(&device, DetectionPlace::Auto),
            rests: RestPoses::default(),
            rotations: vec![],
            has_rotations: false,
            laws: laws::Kept::default(),
            iterate: iterate::Iterate::default(),
            skins,
            surface: 0,
            readback: ReadbackBuffer::new(&device, CONTROLS_AT),
            staging: upload_staging(&device, model),
            stopwatch: Stopwatch::new(&device),
            held: Held::default(),
            work: DeviceWork::default(),
            is_open: true,
            is_fresh: true,
            links: Operator::default(),
            inverses: vec![],
            rigid_rhs: vec![],
            is_free: model.bodies.iter().map(|body| !model.fixed[body.nodes.clone()].contains(&true)).collect(),
            foreseen: [*compliance::PASSES.start(); 2],
            foreseen_iterations: [*compliance::CUT.end(); 2],
            recorded: [0; 2],
            step: 0,
            groups,
            tiles,
            buffers,
            device,
        };
        match engine.device.fault() {
            Some(fault) => Err(fault),
            None => Ok(engine),
        }
    }

    /// Looks for contacts at `place`: what it comes to is the same.
    pub fn detecting(self, place: DetectionPlace) -> Self {
        Self { detector: Detector::new(&self.device, place), ..self }
    }

    fn encoder(&self) -> wgpu::CommandEncoder {
        self.device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("step") })
    }

    fn lost(&self, error: &DeviceError) -> StepError {
        StepError::DeviceLost { step: self.step, reason: error.to_string() }
    }

    /// A submission, with what the host has to bring, and elements and matrix if the step does not have them yet;
    /// whether it makes them.
    fn begin_submission(&mut self, step: &StepInputs) -> Result<(wgpu::CommandEncoder, bool), DeviceError> {
        let mut encoder = self.encoder();
        self.staging.record(&mut encoder)?;
        let is_fresh = std::mem::take(&mut self.is_fresh);
        if is_fresh {
            let n_grabs = step.loads.grabs.len();
            self.record(&mut encoder, "elements", |s, pass| s.assembly.record_elements(pass, step.model));
            self.record(&mut encoder, "assembly", |s, pass| s.assembly.record_system(pass, step.model, n_grabs, s.groups.rows));
        }
        Ok((encoder, is_fresh))
    }

    /// A timed pass of a stage; its dispatches are counted.
    fn record(&mut self, encoder: &mut wgpu::CommandEncoder, stage: &'static str, what: impl FnOnce(&Self, &mut wgpu::ComputePass)) {
        let before = self.buffers.n_dispatches();
        let mut pass = self.stopwatch.pass(encoder, stage);
        what(self, &mut pass);
        self.work.add(stage, StageWork { dispatches: self.buffers.n_dispatches() - before, ..StageWork::default() });
    }

    /// Submits and waits for `parts` of buffers, each a name, its first byte and how many there are, which `read`
    /// then sees.
    fn deliver<T>(
        &mut self,
        mut encoder: wgpu::CommandEncoder,
        parts: &[(&str, u64, usize)],
        report: &mut StepReport,
        read: impl FnOnce(&[&[u8]]) -> T,
    ) -> Result<T, DeviceError> {
        let start = Instant::now();
        let (mut places, mut end) = (Vec::<Range<usize>>::new(), CONTROLS_AT as usize);
        for (_, _, bytes) in parts {
            places.push(end..end + bytes);
            end += bytes;
        }
        self.readback.reserve(end as u64);
        for ((name, from, bytes), place) in parts.iter().zip(&places).filter(|((_, _, bytes), _)| *bytes > 0) {
            self.readback.collect_from(&mut encoder, self.buffers.get(name), *from, *bytes as u64, place.start as u64);
        }
        self.stopwatch.collect(&mut encoder, &self.readback, TIMES_AT);
        let Self { readback, stopwatch, staging, .. } = self;
        let submitted = readback.submit(encoder, |bytes| {
            let found: Vec<&[u8]> = places.iter().map(|place| &bytes[place.clone()]).collect();
            (read(&found), stopwatch.read(&bytes[TIMES_AT as usize..]))
        });
        staging.take_back();
        let (answer, times) = submitted?;
        let fetched = (end - CONTROLS_AT as usize) as u64;
        self.work.add(TRANSFER, StageWork { sent: self.staging.take_sent(), fetched, ..StageWork::default() });
        report.round_trips += 1;
        match times {
            Some(times) => times.into_iter().for_each(|(stage, ms)| report.stages.add(stage, ms)),
            None => report.stages.add("device", start.elapsed().as_secs_f64() * 1e3),
        }
        Ok(answer)
    }

    /// Rotations of the tets that the next pass over the elements begins with.
    fn bring_rotations(&mut self, rotations: &[Quaternion]) {
        let rotations: Vec<_> = rotations.iter().map(|q| q.map(|c| c as f32)).collect();
        self.staging.put(self.buffers.get("rotations"), 0, &rotations);
    }

    /// Puts the state where the kernels read it, and submits with the surface there.
    fn show(&mut self, model: &Model, state: &State) -> Result<(), DeviceError> {
        let (high, low): (Vec<_>, Vec<_>) = state.displacements.iter().map(split).unzip();
        let velocities: Vec<_> = state.velocities.iter().map(|v| vec4(v, 0.0)).collect();
        let dv: Vec<_> = state.velocity_changes.iter().map(|v| vec4(v, 0.0)).collect();
        for (name, values) in [("displacements_hi", high), ("displacements_lo", low), ("velocities", velocities), ("dv", dv)] {
            self.staging.put(self.buffers.get(name), 0, &values);
        }
        self.surface = (self.surface + 1) % self.skins.len();
        let mut encoder = self.encoder();
        self.staging.record(&mut encoder)?;
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            self.skins[self.surface].0.dispatch(&mut pass, model.n_vertices());
        }
        self.device.queue.submit([encoder.finish()]);
        self.staging.take_back();
        self.device.fault().map_or(Ok(()), Err)
    }
}

fn is_finite(vectors: &[[f32; 4]]) -> bool {
    vectors.iter().flatten().all(|x| x.is_finite())
}

impl Backend for DeviceBackend {
    fn offers(&self, method: ContactMethod) -> bool {
        method == ContactMethod::Cwc
    }

    fn prepare(&mut self, model: &Model, params: &Params, _: ContactMethod, cancel: &CancelToken) {
        self.rests.prepare(model, params, cancel);
    }

    fn find_candidates(
        &mut self,
        bvh: &mut Bvh,
        mesh: &Mesh,
        x: &[Vec3],
        candidates: &mut Candidates,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        *candidates = self.detector.query(bvh, mesh, x, report).map_err(|error| self.lost(&error))?;
        Ok(())
    }

    fn begin(&mut self, step: &StepInputs, dv: &mut [Vec3], _: &mut StepReport) -> Result<(), StepError> {
        let &StepInputs { model, state, params, loads, .. } = step;
        if let Some(fault) = self.device.fault() {
            return Err(self.lost(&fault));
        }
        if self.is_open {
            self.restore(model, state)?;
        }
        (self.is_open, self.is_fresh, self.has_rotations, self.step) = (true, true, false, loads.step);
        self.work = DeviceWork::default();
        self.tiles.select(&self.buffers, model, params);
        link(step.system(), &mut self.links);
        self.inverses.clear();
        self.inverses.extend(self.links.rigid_blocks.iter().map(|block| block.try_inverse().unwrap_or_else(Mat3::zeros)));
        self.rigid_rhs.resize(2 * model.rigid_bodies.len(), Vec3::zeros());
        rigid_right_hand_side(step.system(), &mut self.rigid_rhs);
        self.rests.select(model, params, true, &loads.cancel);
        check_cancelled(loads)?;
        dv.copy_from_slice(&state.velocity_changes);
        for ((dv, inverse), rhs) in dv[model.n_nodes()..].iter_mut().zip(&self.inverses).zip(&self.rigid_rhs) {
            *dv = inverse * rhs;
        }
        self.bring_laws(step, true);
        let Self { staging, buffers, held, rigid_rhs, groups, tiles, .. } = self;
        staging.put(buffers.get("params"), 0, &[params_data(model, &tiles.within_budget(model, params, loads), loads, groups)]);
        held.put(staging, buffers, model, loads);
        let rigid = 16 * model.n_nodes() as u64;
        let vectors = |v: &[Vec3]| v.iter().map(|v| vec4(v, 0.0)).collect::<Vec<_>>();
        staging.put(buffers.get("rhs_free"), rigid, &vectors(rigid_rhs));
        staging.put(buffers.get("dv"), rigid, &vectors(&dv[model.n_nodes()..]));
        self.bring_iterate(step, dv);
        Ok(())
    }

    fn linearise(&mut self, step: &StepInputs, _: &mut StepReport) -> Result<(), StepError> {
        self.is_fresh = true;
        let Self { staging, buffers, groups, tiles, .. } = self;
        // The linear systems are solved ever finer.
        let &StepInputs { model, params, loads, .. } = step;
        staging.put(buffers.get("params"), 0, &[params_data(model, &tiles.within_budget(model, params, loads), loads, groups)]);
        self.bring_laws(step, false);
        self.bring_iterate(step, step.iterate.unwrap_or_default());
        Ok(())
    }

    fn element_states(&self) -> &[Quaternion] {
        &self.rotations
    }

    fn solve_islands(
        &mut self,
        step: &StepInputs,
        detection: &Detection,
        work: &mut Work,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        self.solve_with_compliance(step, detection, work, report)
    }

    fn commit(&mut self, model: &Model, state: &mut State) -> Result<(), StepError> {
        std::mem::swap(&mut state.rotations, &mut self.rotations);
        self.is_open = false;
        self.show(model, state).map_err(|error| self.lost(&error))
    }

    fn restore(&mut self, model: &Model, state: &State) -> Result<(), StepError> {
        self.is_open = false;
        self.bring_rotations(&state.rotations);
        // They stand behind the rotations.
        self.laws.rows.clear();
        self.show(model, state).map_err(|error| self.lost(&error))
    }

    fn surface(&mut self, _: &Model, _: &State) -> SurfacePositions {
        SurfacePositions::Device(self.skins[self.surface].1.clone())
    }
}

/// Bodies that one thread takes, at least.
const MIN_BODIES_PER_TASK: usize = 16;

impl DeviceBackend {
    /// A solve in f32 loses momentum: what the impulses on each body of an island make of it, less what it has, is
    /// restored. `contacts`: all of the island; `dv`: its velocity changes.
    fn keep_momentum(&self, step: &StepInputs, island: &Island, contacts: &[Constraint], dv: &mut [Vec3]) {
        let &StepInputs { model, state, params, loads, .. } = step;
        let dt = params.time_step;
        let segments = island.deformable();
        let of_nodes = |segment: &Segment| {
            let body = &model.bodies[segment.body.index()];
            let damping = dt * body.mass_damping;
            let mut lost = params.gravity * (dt * body.mass);
            for (i, dv) in segment.unknowns.clone().zip(&dv[segment.places()]) {
                lost -= (state.velocities[i] * damping + dv * (1.0 + damping)) * model.node_masses[i];
                lost += loads.node_forces.get(i).map_or(Vec3::zeros(), |force| force * dt);
            }
            lost
        };
        let mut lost: Vec<Vec3> = segments.par_iter().with_min_len(MIN_BODIES_PER_TASK).map(of_nodes).collect();
        for contact in contacts {
            let impulse = contact.force_in_space() * dt;
            let [first, second] = contact.bodies;
            for body in [Some(first), (second != first).then_some(second)].into_iter().flatten() {
                let Ok(k) = segments.binary_search_by_key(&body, |segment| segment.body) else { continue };
                let nodes = &segments[k].unknowns;
                let weight: f64 = contact.row.entries.iter().filter(|e| nodes.contains(&e.unknown())).map(|e| e.matrix()[(0, 0)]).sum();
                lost[k] += impulse * weight;
            }
        }
        for (segment, lost) in segments.iter().zip(lost) {
            let (b, nodes) = (segment.body.index(), &segment.unknowns);
            let holds = |point: &HeldPoint| matches!(point, HeldPoint::Nodes { nodes: held, .. } if nodes.contains(&(held[0] as usize)));
            if self.is_free[b] && !loads.grabs.iter().any(|grab| holds(&grab.point)) {
                let mass = (1.0 + dt * model.bodies[b].mass_damping) * model.bodies[b].mass;
                restore_momentum(&mut dv[segment.places()], lost, mass);
            }
        }
    }

    /// Velocity changes of the rigid bodies of an island from the impulses on them, in f64.
    fn move_rigid_bodies(&self, step: &StepInputs, island: &Island, contacts: &[Constraint], dv: &mut [Vec3]) {
        let (n_nodes, dt) = (step.model.n_nodes(), step.params.time_step);
        for segment in island.rigid() {
            let first = segment.unknowns.start;
            let mut impulses = [self.rigid_rhs[first - n_nodes], self.rigid_rhs[first + 1 - n_nodes]];
            for contact in contacts.iter().filter(|contact| contact.bodies.contains(&segment.body)) {
                let impulse = contact.force_in_space() * dt;
                for entry in contact.row.entries.iter().filter(|entry| segment.unknowns.contains(&entry.unknown())) {
                    impulses[entry.unknown() - first] += entry.transposed(&impulse);
                }
            }
            for (k, impulse) in impulses.iter().enumerate() {
                dv[segment.start + k] = self.inverses[first + k - n_nodes] * impulse;
            }
        }
    }
}
