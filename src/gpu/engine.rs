//! Elements, matrix and contact forces on the device, for a backend that leaves to the CPU what may meet and whether it crosses.
//!
//! The state is the host's, in f64; the device has it in f32, in two parts. A round is one or more submissions: rows and forces go to the device, it solves, and
//! velocities and forces come back. Then the host looks at the moved geometry.

mod compliance;
mod residuals;
#[cfg(test)]
pub mod tests;

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;

use super::cr::Cr;
use super::cwc::{
    CHECK_INTERVAL as LOOK, Cwc, FACTOR, FORCE, ITERATIONS, Inverses, IslandRows, PROGRESS as TOLD, SCALE, Tables, VECTORS as SOLVE,
};
use super::detection::{DetectionPlace, Detector};
use super::device::{Device, DeviceError};
use super::elastic::{Assembly, ConjugateGradient, bytes_of_system, create_buffers};
use super::kernel::{Bound, Buffers, Stage};
use super::layout::{ControlData, split, three, vec4};
use super::limits::MAX_WHOLE_NODES;
use super::outbox::Outbox;
use super::readback::{Mailbox, Stopwatch};
use super::stepper::{Held, outbox, skins};
use super::tiles::Tiles;
use super::upload::{Groups, controls, params_data, upload_model};
use crate::contact::contact_report;
use crate::contact::generate::{Detection, Island};
use crate::contact::{Constraint, cwc};
use crate::elastic::{Quaternion, link, rigid_right_hand_side};
use crate::geometry::{Bvh, Candidates, Mesh};
use crate::math::{Mat3, Vec3};
use crate::model::Model;
use crate::model::{AcceptancePolicy, ContactMethod, HeldPoint, State};
use crate::sparse::Operator;
use crate::step::{DeviceWork, StepError, StepReport, SurfacePositions, Work};
use crate::step::{ELASTIC_TOLERANCE, Host, IslandWork, MAX_PASSES, Step, StepWork, max_contacts};
use crate::step::{Engine, Given};

/// The device as engine.
pub struct DeviceBackend {
    device: Arc<Device>,
    buffers: Buffers,
    groups: Groups,
    tiles: Tiles,
    assembly: Assembly,
    cg: ConjugateGradient,
    cwc: Cwc,
    detector: Detector,
    /// Once it was asked for.
    cr: Option<Cr>,
    /// Each writes its own of the surface buffers, which take turns.
    skins: Vec<(Bound, Arc<wgpu::Buffer>)>,
    surface: usize,
    mailbox: Mailbox,
    outbox: Outbox,
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
    /// Passes that the first round of a step and the later ones took last. They decide how work is cut into submissions, not what it comes to.
    foreseen: [u32; 2],
    /// Likewise iterations for the forces in a pass.
    foreseen_iterations: [u32; 2],
    step: u64,
}

/// Layout of the mailbox.
const TIMES_AT: u64 = 0;
const CONTROLS_AT: u64 = TIMES_AT + Stopwatch::BYTES;

impl DeviceBackend {
    pub fn new(device: Arc<Device>, model: &Model) -> Result<Self, DeviceError> {
        let mut buffers = Buffers::new(device.clone());
        upload_model(&mut buffers, model)?;
        let (tiles, groups) = create_buffers(&device, &mut buffers, model, MAX_WHOLE_NODES as usize)?;
        buffers.uniform("params", &[params_data(model, &Default::default(), &Default::default(), &groups)]);
        let skins = skins(&mut buffers, model)?;
        let engine = Self {
            assembly: Assembly::new(&buffers, &[("rhs", "rhs_free")])?,
            cg: ConjugateGradient::new(&buffers, groups)?,
            cwc: Cwc::new(&device, &mut buffers)?,
            detector: Detector::new(&device, DetectionPlace::Auto),
            cr: None,
            skins,
            surface: 0,
            mailbox: Mailbox::new(&device, CONTROLS_AT),
            outbox: outbox(&device, model),
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

    /// A submission, with what the host has to bring, and elements and matrix if the step does not have them yet; whether it makes them.
    fn begin_submission(&mut self, step: &Step) -> Result<(wgpu::CommandEncoder, bool), DeviceError> {
        let mut encoder = self.encoder();
        self.outbox.record(&mut encoder)?;
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
        self.work.add(stage, Work { dispatches: self.buffers.n_dispatches() - before, bytes: 0 });
    }

    /// Submits and waits for `parts` of buffers, each a name, its first byte and how many there are, which `read` then sees.
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
        self.mailbox.reserve(end as u64);
        for ((name, from, bytes), place) in parts.iter().zip(&places).filter(|((_, _, bytes), _)| *bytes > 0) {
            self.mailbox.collect_from(&mut encoder, self.buffers.get(name), *from, *bytes as u64, place.start as u64);
        }
        self.stopwatch.collect(&mut encoder, &self.mailbox, TIMES_AT);
        let Self { mailbox, stopwatch, outbox, .. } = self;
        let submitted = mailbox.submit(encoder, |bytes| {
            let found: Vec<&[u8]> = places.iter().map(|place| &bytes[place.clone()]).collect();
            (read(&found), stopwatch.read(&bytes[TIMES_AT as usize..]))
        });
        outbox.take_back();
        let (answer, times) = submitted?;
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
        self.outbox.put(self.buffers.get("rotations"), 0, &rotations);
    }

    /// Puts the state where the kernels read it, and submits with the surface there.
    fn show(&mut self, model: &Model, state: &State) -> Result<(), DeviceError> {
        let (high, low): (Vec<_>, Vec<_>) = state.displacements.iter().map(split).unzip();
        let velocities: Vec<_> = state.velocities.iter().map(|v| vec4(v, 0.0)).collect();
        let dv: Vec<_> = state.velocity_changes.iter().map(|v| vec4(v, 0.0)).collect();
        for (name, values) in [("displacements_hi", high), ("displacements_lo", low), ("velocities", velocities), ("dv", dv)] {
            self.outbox.put(self.buffers.get(name), 0, &values);
        }
        self.surface = (self.surface + 1) % self.skins.len();
        let mut encoder = self.encoder();
        self.outbox.record(&mut encoder)?;
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            self.skins[self.surface].0.dispatch(&mut pass, model.n_vertices());
        }
        self.device.queue.submit([encoder.finish()]);
        self.outbox.take_back();
        self.device.fault().map_or(Ok(()), Err)
    }
}

fn is_finite(vectors: &[[f32; 4]]) -> bool {
    vectors.iter().flatten().all(|x| x.is_finite())
}

impl Engine for DeviceBackend {
    fn solver(&self, given: &Given, _: &mut Option<(f64, bool)>) -> ContactMethod {
        if given.params.solver == ContactMethod::Cr { ContactMethod::Cr } else { ContactMethod::Cwc }
    }

    fn find(
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

    fn begin(&mut self, step: &Step, work: &mut StepWork, _: &mut StepReport) -> Result<(), StepError> {
        let &Step { model, state, params, loads, .. } = step;
        if let Some(fault) = self.device.fault() {
            return Err(self.lost(&fault));
        }
        if self.is_open {
            self.restore(model, state)?;
        }
        (self.is_open, self.is_fresh, self.step) = (true, true, state.step);
        self.work = DeviceWork::default();
        self.tiles.select(&self.buffers, model, params);
        link(step.inputs(), &mut self.links);
        self.inverses.clear();
        self.inverses.extend(self.links.rigid_blocks.iter().map(|block| block.try_inverse().unwrap_or_else(Mat3::zeros)));
        self.rigid_rhs.resize(2 * model.rigid_bodies.len(), Vec3::zeros());
        rigid_right_hand_side(step.inputs(), &mut self.rigid_rhs);
        work.dv.copy_from_slice(&state.velocity_changes);
        // Conjugate residuals know no rest poses, and start from the change of the last step.
        if step.solver == ContactMethod::Cwc {
            work.rests.select(model, params, ContactMethod::Cwc);
            for ((dv, inverse), rhs) in work.dv[model.n_nodes()..].iter_mut().zip(&self.inverses).zip(&self.rigid_rhs) {
                *dv = inverse * rhs;
            }
        }
        let Self { outbox, buffers, held, rigid_rhs, groups, .. } = self;
        outbox.put(buffers.get("params"), 0, &[params_data(model, params, loads, groups)]);
        held.put(outbox, buffers, model, loads);
        let rigid = 16 * model.n_nodes() as u64;
        let vectors = |v: &[Vec3]| v.iter().map(|v| vec4(v, 0.0)).collect::<Vec<_>>();
        outbox.put(buffers.get("rhs_free"), rigid, &vectors(rigid_rhs));
        outbox.put(buffers.get("dv"), rigid, &vectors(&work.dv[model.n_nodes()..]));
        Ok(())
    }

    fn solve(&mut self, step: &Step, detection: &Detection, work: &mut StepWork, report: &mut StepReport) -> Result<(), StepError> {
        if step.solver == ContactMethod::Cr {
            self.solve_with_residuals(step, detection, work, report)
        } else {
            self.solve_with_compliance(step, detection, work, report)
        }
    }

    fn end(&mut self, model: &Model, state: &mut State, work: &mut StepWork) -> Result<(), StepError> {
        std::mem::swap(&mut state.rotations, &mut work.rotations);
        self.is_open = false;
        self.show(model, state).map_err(|error| self.lost(&error))
    }

    fn restore(&mut self, model: &Model, state: &State) -> Result<(), StepError> {
        self.is_open = false;
        self.bring_rotations(&state.rotations);
        self.show(model, state).map_err(|error| self.lost(&error))
    }

    fn surface(&mut self, _: &Model, _: &State) -> SurfacePositions {
        SurfacePositions::Device(self.skins[self.surface].1.clone())
    }
}

/// Bodies that one thread takes, at least.
const BODIES: usize = 16;

impl DeviceBackend {
    /// A body that nothing holds changes its momentum by the impulses on it: its common motion takes what the solve in f32 has lost of them. That moves gaps by less
    /// than the residual did. `contacts`: all of the bodies. Twin: `contact::cwc::keep_momentum`.
    fn keep_momentum(&self, step: &Step, bodies: Range<usize>, contacts: &[Constraint], dv: &mut [Vec3]) {
        let &Step { model, state, params, loads, .. } = step;
        let dt = params.time_step;
        let of_nodes = |body: usize| {
            let (nodes, damping) = (model.bodies[body].nodes.clone(), dt * model.bodies[body].material.mass_damping);
            let mut lost = params.gravity * (dt * model.bodies[body].mass);
            for i in nodes {
                lost -= (state.velocities[i] * damping + dv[i] * (1.0 + damping)) * model.node_masses[i];
                lost += loads.node_forces.get(i).map_or(Vec3::zeros(), |force| force * dt);
            }
            lost
        };
        let mut lost: Vec<Vec3> = bodies.clone().into_par_iter().with_min_len(BODIES).map(of_nodes).collect();
        for contact in contacts {
            let impulse = contact.force_in_space() * dt;
            let [first, second] = contact.bodies.map(|body| body as usize);
            for body in [Some(first), (second != first).then_some(second)].into_iter().flatten().filter(|body| bodies.contains(body)) {
                let nodes = &model.bodies[body].nodes;
                let weight: f64 = contact.row.entries.iter().filter(|e| nodes.contains(&e.unknown())).map(|e| e.matrix()[(0, 0)]).sum();
                lost[body - bodies.start] += impulse * weight;
            }
        }
        for (body, lost) in bodies.zip(lost) {
            let nodes = model.bodies[body].nodes.clone();
            let holds = |point: &HeldPoint| matches!(point, HeldPoint::Nodes { nodes: held, .. } if nodes.contains(&(held[0] as usize)));
            if self.is_free[body] && !loads.grabs.iter().any(|grab| holds(&grab.point)) {
                let change = lost / ((1.0 + dt * model.bodies[body].material.mass_damping) * model.bodies[body].mass);
                dv[nodes].iter_mut().for_each(|dv| *dv += change);
            }
        }
    }

    /// Velocity changes of the rigid bodies of a island from the impulses on them, in f64.
    fn move_rigid_bodies(&self, model: &Model, island: &Island, contacts: &[Constraint], dt: f64, dv: &mut [Vec3]) {
        let unknowns = island.unknowns.start.max(model.n_nodes())..island.unknowns.end.max(model.n_nodes());
        let mut impulses = self.rigid_rhs[unknowns.start - model.n_nodes()..unknowns.end - model.n_nodes()].to_vec();
        for contact in contacts {
            let impulse = contact.force_in_space() * dt;
            for entry in contact.row.entries.iter().filter(|entry| unknowns.contains(&entry.unknown())) {
                impulses[entry.unknown() - unknowns.start] += entry.transposed(&impulse);
            }
        }
        for (i, impulse) in unknowns.zip(&impulses) {
            dv[i] = self.inverses[i - model.n_nodes()] * impulse;
        }
    }
}
