//! The contact loop on the device: conjugate residuals with changing contact states. Twin of `contact::solve` and of the detection in
//! `solver::cpu`; a round of five kernels is one iteration, one restart or one look at the geometry, as the control block says.

use std::sync::Arc;

use super::elastic::{ARGUMENTS_CONTACT, ARGUMENTS_PAIRS, ARGUMENTS_POINTS, ConjugateGradient, GATE_INTERVAL};
use super::kernel::{Bound, Buffers, Kernel, bound};
use super::layout::{
    CONTACT_BYTES, CONTACT_VECTORS, EMPTY, MemoryData, POINT_START_BYTES, PairForcesData, SLIDING, STICKING, obstacle_data, pairs, slots,
    upload_contacts, vec3,
};
use super::{Device, DeviceError};
use crate::contact::{ContactMemory, PairId, PairKind, RememberedContact};
use crate::math::Vec3;
use crate::model::Model;
use crate::solver::{ContactReport, PairForce};

pub struct ContactLoop {
    starts: Bound,
    /// For even and odd steps: what is remembered and what is kept take turns, so that a failed step loses nothing.
    remember: [Bound; 2],
    keep: [Bound; 2],
    rows: Bound,
    precondition: Bound,
    move_along: Bound,
    judge: Bound,
    product: Bound,
    pair_forces: Bound,
    /// Which of `MEMORIES` the next step remembers.
    turn: usize,
}

const MEMORIES: [&str; 2] = ["memory_even", "memory_odd"];

impl ContactLoop {
    pub fn new(device: &Arc<Device>, buffers: &mut Buffers, model: &Model) -> Result<Self, DeviceError> {
        upload_contacts(buffers, model)?;
        let contacts = model.n_vertices() * slots(model);
        buffers.storage::<u8>("contacts", contacts * CONTACT_BYTES)?;
        buffers.storage::<u8>("point_starts", model.n_vertices() * POINT_START_BYTES)?;
        buffers.storage::<[f32; 4]>("point_vectors", 2 * model.n_vertices())?;
        buffers.storage::<[f32; 4]>("vectors", CONTACT_VECTORS * model.n_nodes())?;
        buffers.storage::<PairForcesData>("pair_forces_out", pairs(model).len())?;
        buffers.upload("obstacles", &obstacle_data(model, 0.0, 0.0))?;
        for name in MEMORIES {
            buffers.storage::<MemoryData>(name, contacts)?;
        }
        let (remember, keep) = (Kernel::new(device, "contact/remember")?, Kernel::new(device, "contact/keep")?);
        let [even, odd] = MEMORIES;
        Ok(Self {
            starts: bound(buffers, "contact/starts")?,
            remember: [remember.bind(buffers, &[("memory", even)])?, remember.bind(buffers, &[("memory", odd)])?],
            keep: [keep.bind(buffers, &[("memory_next", odd)])?, keep.bind(buffers, &[("memory_next", even)])?],
            rows: bound(buffers, "contact/rows")?,
            precondition: bound(buffers, "contact/precondition")?,
            move_along: bound(buffers, "contact/move_along")?,
            judge: bound(buffers, "contact/judge")?,
            product: bound(buffers, "contact/product")?,
            pair_forces: bound(buffers, "contact/pair_forces")?,
            turn: 0,
        })
    }

    /// Start positions and the contacts of the last step.
    pub fn record_remembered(&self, pass: &mut wgpu::ComputePass, model: &Model) {
        self.starts.dispatch(pass, model.n_vertices());
        self.remember[self.turn].dispatch(pass, model.n_vertices());
    }

    /// The end of a round: bodies that had no contacts are looked at where their elastic solve has brought them, the others begin.
    pub fn record_detection(&self, pass: &mut wgpu::ComputePass, buffers: &Buffers) {
        for kernel in [&self.judge, &self.product] {
            kernel.dispatch_indirect(pass, buffers.get("arguments"), ARGUMENTS_CONTACT);
        }
    }

    /// Records a multiple of `GATE_INTERVAL` rounds; those after the end of the loop are empty.
    pub fn record_rounds(&self, pass: &mut wgpu::ComputePass, buffers: &Buffers, cg: &ConjugateGradient, rounds: u32) {
        let arguments = buffers.get("arguments");
        for k in 0..rounds.next_multiple_of(GATE_INTERVAL) {
            for kernel in [&self.rows, &self.precondition, &self.move_along, &self.judge, &self.product] {
                kernel.dispatch_indirect(pass, arguments, ARGUMENTS_CONTACT);
            }
            if (k + 1) % GATE_INTERVAL == 0 {
                cg.record_gate(pass);
            }
        }
    }

    /// Forces for the report and for the next step.
    pub fn record_end(&self, pass: &mut wgpu::ComputePass, buffers: &Buffers) {
        self.keep[self.turn].dispatch_indirect(pass, buffers.get("arguments"), ARGUMENTS_POINTS);
        self.pair_forces.dispatch_indirect(pass, buffers.get("arguments"), ARGUMENTS_PAIRS);
    }

    /// The step was accepted: what it kept is what the next one remembers.
    pub fn accept(&mut self) {
        self.turn = 1 - self.turn;
    }

    /// The buffer of what the next step remembers.
    pub fn memory(&self) -> &'static str {
        MEMORIES[self.turn]
    }
}

/// What `pair_forces` found, summed up.
pub fn report(model: &Model, forces: &[PairForcesData]) -> ContactReport {
    let mut report = ContactReport::default();
    for (pair, forces) in pairs(model).iter().zip(forces) {
        let vector = |v: &[f32; 4]| Vec3::new(v[0].into(), v[1].into(), v[2].into());
        let active = forces.normal[3] as u32;
        report.contacts += forces.friction[3] as u32;
        report.active += active;
        report.normal_force_total += f64::from(forces.sums[0]);
        report.friction_force_total += f64::from(forces.sums[1]);
        report.dissipated_by_friction += f64::from(forces.sums[2]);
        report.max_gap_of_active = report.max_gap_of_active.max(forces.largest[0].into());
        report.max_complementarity_error = report.max_complementarity_error.max(forces.largest[1].into());
        report.max_cone_violation = report.max_cone_violation.max(forces.largest[2].into());
        if active > 0 {
            let (normal, friction) = (vector(&forces.normal), vector(&forces.friction));
            let bodies = [pair.body, model.obstacle_body(pair.obstacle as usize) as u32];
            report.pairs.push(PairForce { bodies, normal, friction, contacts: active });
        }
    }
    report
}

/// Remembered contacts in their places on the device; a point keeps as many as it has slots.
pub fn memory_data(model: &Model, memory: &ContactMemory) -> Vec<MemoryData> {
    let slots = slots(model);
    let mut data = vec![MemoryData::default(); model.n_vertices() * slots];
    for entry in memory.entries.iter().filter(|e| fits(model, &e.pair)) {
        let (vertex, obstacle) = (entry.pair.first as usize, entry.pair.second);
        let places = &mut data[vertex * slots..][..slots];
        let body = model.surface.bodies[vertex] as usize;
        if let Some(place) = places.iter_mut().find(|place| place.status == EMPTY) {
            *place = MemoryData {
                friction_force: vec3(&entry.friction_force),
                normal_force: entry.normal_force as f32,
                obstacle,
                status: if entry.sliding { SLIDING } else { STICKING },
                friction: model.obstacles[obstacle as usize].friction[body] as f32,
                pad: 0,
            };
        }
    }
    data
}

fn fits(model: &Model, pair: &PairId) -> bool {
    pair.kind == PairKind::VertexObstacle && (pair.first as usize) < model.n_vertices() && (pair.second as usize) < model.obstacles.len()
}

pub fn memory_from(model: &Model, data: &[MemoryData]) -> ContactMemory {
    let slots = slots(model).max(1);
    let entry = |(place, data): (usize, &MemoryData)| RememberedContact {
        pair: PairId { kind: PairKind::VertexObstacle, first: (place / slots) as u32, second: data.obstacle },
        normal_force: data.normal_force.into(),
        friction_force: Vec3::new(data.friction_force[0].into(), data.friction_force[1].into(), data.friction_force[2].into()),
        sliding: data.status == SLIDING,
        slip: Vec3::zeros(),
        place: None,
    };
    let mut entries: Vec<_> = data.iter().enumerate().filter(|(_, data)| data.status != EMPTY).map(entry).collect();
    entries.sort_by_key(|entry| entry.pair);
    ContactMemory { entries }
}
