//! Conjugate residuals on the device, on the whole system of velocities and multipliers, with states that change on the
//! way: for bodies and contacts of all kinds, in the tables of `gpu::cwc`. Twin: `contact::cr` with the `Full` preconditioner.
//!
//! L = C H is a gather over the Jacobian entries of a contact, L^T one over the incidences of a touched unknown, so that
//! nothing is added up by two threads. A round of five kernels is an iteration, or the restart after a change of states; each
//! island decides for itself which of them (`shaders/lib/cr.wgsl`).

mod layout;

use std::ops::Range;
use std::sync::Arc;

#[cfg(test)]
pub use layout::ROW_R;
pub use layout::{CrControlData, HOST};

use self::layout::{
    COMPLIANCE, CrData, CrIslandData, CrTables, INACTIVE, MULTIPLIER, PHASE_ENTRY, PLANES, SLIDING, SLOTS, STICKING, VECTORS,
};
use super::cwc::Tables;
use super::cwc::layout::{CwcData, RowData};
use super::device::{Device, DeviceError};
use super::kernel::{Bound, Buffers, Stage, groups_for, kernels};
use super::layout::{BlockData, vec4};
use super::limits::WORKGROUP;
use super::outbox::Outbox;
use super::wgsl::WordTable;
use crate::contact::{Constraint, Status};
use crate::math::{Mat3, Vec3};
use crate::model::Model;

/// Rounds between two checks whether all islands are done.
const CHECK_INTERVAL: u32 = 4;
/// Planes that the host writes, and with the compliance those that it reads.
const WRITTEN: usize = MULTIPLIER + 1;
pub const READ: usize = COMPLIANCE + 1;

/// Contacts that are solved for together with the bodies that they link.
pub struct CrIsland<'a> {
    pub contacts: &'a [Constraint],
    pub unknowns: Range<usize>,
    /// Its deformable bodies.
    pub bodies: Range<usize>,
    pub control: CrControlData,
}

kernels! {
    /// Kernels of a round.
    pub struct Kernels in "cr", HOST {
        free_residual: Bound,
        flag_touched: Bound,
        precondition_rows: Bound,
        precondition: Bound,
        advance_along: Bound,
        evaluate_states: Bound,
        multiply_residual: Bound,
        control_rounds: Bound,
    }
}

pub struct Cr {
    kernels: Kernels,
    /// Most workgroups of an island.
    most_groups: u32,
    data: CrData,
    tables: CwcData,
}

/// Tables of the contacts are those of this solver.
const RENAMED: [(&str, &str); 4] = [("cwc", "cr_tables"), ("cwc_words", "cr_words"), ("cwc_rows", "cr_rows"), ("cwc_state", "cr_state")];
/// Buffers that grow with the contacts, and the bytes of their items.
const GROWING: [(&str, usize); 4] =
    [("cr_words", 4), ("cr_rows", size_of::<RowData>()), ("cr_state", 16), ("cr_controls", size_of::<CrControlData>())];

impl Cr {
    pub fn new(device: &Arc<Device>, buffers: &mut Buffers, model: &Model) -> Result<Self, DeviceError> {
        let data = CrData { n_unknowns: model.n_unknowns() as u32, ..CrData::default() };
        buffers.uniform("cr", &[data]);
        buffers.uniform("cr_tables", &[CwcData::default()]);
        for (name, bytes) in GROWING {
            buffers.storage::<u8>(name, bytes)?;
        }
        buffers.storage::<[f32; 4]>("cr_vectors", VECTORS * model.n_unknowns())?;
        buffers.zeroed("cr_arguments", 16, wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::INDIRECT)?;
        Ok(Self {
            kernels: Kernels::new(buffers, &RENAMED)?,
            // Every workgroup reads the partial sums of all of its island's.
            most_groups: if device.is_hardware() { 512 } else { 4 },
            data,
            tables: CwcData::default(),
        })
    }

    /// Brings a solve to the device with the next submission of `outbox`. `tables`: of the contacts of `islands`; `rigid`:
    /// blocks of A of the rigid bodies' unknowns, and their inverses.
    pub fn upload(
        &mut self,
        buffers: &mut Buffers,
        outbox: &mut Outbox,
        tables: &Tables,
        islands: &[CrIsland],
        rigid: (&[Mat3], &[Mat3]),
    ) -> Result<(), DeviceError> {
        let mut sections = self.sections(islands);
        let blocks = rigid.0.iter().zip(rigid.1).flat_map(|(block, inverse)| [block, inverse]);
        sections.rigid_blocks.extend(blocks.map(|block| std::array::from_fn::<f32, 9, _>(|i| block.as_slice()[i] as f32)));
        let mut words = tables.words.clone();
        let (n, n_groups) = (tables.rows.len(), sections.groups.len());
        self.data = CrData {
            sections: sections.append_to(&mut words),
            n_islands: islands.len() as u32,
            n_groups: n_groups as u32,
            sums: (PLANES * n) as u32,
            loads: (PLANES * n + SLOTS * n_groups) as u32,
            ..self.data
        };
        self.tables = tables.data;
        let n_state = self.data.loads as usize + tables.data.n_touched as usize;
        let mut is_new = false;
        for ((name, bytes), count) in GROWING.into_iter().zip([words.len(), n, n_state, islands.len()]) {
            if (count * bytes) as u64 > buffers.get(name).size() {
                buffers.storage::<u8>(name, (count + count / 2) * bytes)?;
                is_new = true;
            }
        }
        if is_new {
            self.kernels.rebind(buffers)?;
        }
        let contacts = || islands.iter().flat_map(|island| island.contacts);
        let planes: [Vec<[f32; 4]>; WRITTEN] = std::array::from_fn(|plane| contacts().map(|contact| written(contact)[plane]).collect());
        let controls: Vec<CrControlData> = islands.iter().map(|island| entry(&island.control)).collect();
        outbox.put(buffers.get("cr"), 0, &[self.data]);
        outbox.put(buffers.get("cr_tables"), 0, &[self.tables]);
        outbox.put(buffers.get("cr_words"), 0, &words);
        outbox.put(buffers.get("cr_rows"), 0, &tables.rows);
        outbox.put(buffers.get("cr_state"), 0, planes.concat().as_slice());
        outbox.put(buffers.get("cr_controls"), 0, &controls);
        Ok(())
    }

    /// The islands with their workgroups.
    fn sections(&self, islands: &[CrIsland]) -> CrTables {
        let mut sections = CrTables::default();
        let mut first_contact = 0;
        for (k, island) in islands.iter().enumerate() {
            let wanted = island.unknowns.len().max(island.contacts.len()).div_ceil(WORKGROUP as usize) as u32;
            let first_group = sections.groups.len() as u32;
            let n_groups = wanted.clamp(1, self.most_groups);
            sections.groups.extend(std::iter::repeat_n(k as u32, n_groups as usize));
            let end_contact = first_contact + island.contacts.len() as u32;
            sections.islands.push(CrIslandData {
                first_group,
                end_group: first_group + n_groups,
                first_unknown: island.unknowns.start as u32,
                end_unknown: island.unknowns.end as u32,
                first_contact,
                end_contact,
                first_body: island.bodies.start as u32,
                end_body: island.bodies.end as u32,
            });
            first_contact = end_contact;
        }
        sections
    }

    /// Residual at the contacts that were brought; needs the residual of the bodies without contacts
    /// (`elastic::ConjugateGradient::record_start`).
    pub fn record_entry(&self, pass: &mut wgpu::ComputePass) {
        let Kernels { free_residual, flag_touched, evaluate_states, multiply_residual, control_rounds, .. } = &self.kernels;
        let groups = [self.data.n_groups, 1, 1];
        free_residual.dispatch_groups(pass, groups);
        flag_touched.dispatch_groups(pass, groups_for((self.tables.n_touched as usize).max((self.data.n_islands * WORKGROUP) as usize)));
        evaluate_states.dispatch_groups(pass, groups);
        multiply_residual.dispatch_groups(pass, groups);
        control_rounds.dispatch_groups(pass, [1, 1, 1]);
    }

    /// Records a multiple of `CHECK_INTERVAL` rounds; those after the end of all islands are empty.
    pub fn record_rounds(&self, pass: &mut wgpu::ComputePass, buffers: &Buffers, rounds: u32) {
        let Kernels { precondition_rows, precondition, advance_along, evaluate_states, multiply_residual, .. } = &self.kernels;
        for k in 0..rounds.next_multiple_of(CHECK_INTERVAL) {
            for kernel in [precondition_rows, precondition, advance_along, evaluate_states, multiply_residual] {
                kernel.dispatch_indirect(pass, buffers.get("cr_arguments"), 0);
            }
            if (k + 1) % CHECK_INTERVAL == 0 {
                self.kernels.control_rounds.dispatch_groups(pass, [1, 1, 1]);
            }
        }
    }
}

/// Least bytes of an iteration: the matrix with its columns, the inverse diagonal, the vectors over unknowns that the kernels read and write, and the planes over
/// contacts.
pub fn bytes_of_iteration(model: &Model, n_contacts: usize) -> u64 {
    let blocks = (size_of::<BlockData>() + 4) * model.pattern.n_blocks();
    (blocks + size_of::<BlockData>() * model.n_nodes() + 16 * (27 * model.n_unknowns() + 24 * n_contacts)) as u64
}

/// The control block of a solve that goes on.
fn entry(before: &CrControlData) -> CrControlData {
    let CrControlData { iterations, is_loaded, scale, least_scale, bound2, final2, .. } = *before;
    CrControlData {
        iterations,
        is_loaded,
        scale,
        least_scale,
        bound2,
        final2,
        phase: PHASE_ENTRY,
        next_phase: PHASE_ENTRY,
        ..CrControlData::default()
    }
}

/// What changes in a contact, as in the first planes.
fn written(contact: &Constraint) -> [[f32; 4]; WRITTEN] {
    let status = match contact.force.status {
        Status::Inactive => INACTIVE,
        Status::Sticking => STICKING,
        Status::Sliding => SLIDING,
    };
    let turning = if contact.force.sliding_compliance.is_finite() { contact.force.sliding_compliance } else { -1.0 };
    let axis = |r: usize| vec4(&contact.row.frame.row(r).transpose(), contact.row.offset[r]);
    [vec4(&Vec3::new(status.into(), turning, contact.force.sliding_force.y), 0.0), axis(1), axis(2), vec4(&contact.force.multiplier, 0.0)]
}

/// Takes over what a solve made of a contact, with its tangents turned to where the force slides.
pub fn take(contact: &mut Constraint, planes: [&[f32; 4]; READ]) {
    let three = |v: &[f32; 4]| Vec3::new(v[0].into(), v[1].into(), v[2].into());
    let [state, tangent, _, multiplier, compliance] = planes.map(three);
    let (c, s) = (contact.row.frame.row(1).transpose().dot(&tangent), contact.row.frame.row(2).transpose().dot(&tangent));
    let size = c.hypot(s);
    let (c, s) = if size > 0.0 { (c / size, s / size) } else { (1.0, 0.0) };
    let here = |y: f64, z: f64| Vec3::new(0.0, c * y - s * z, s * y + c * z);
    contact.force.multiplier = Vec3::new(multiplier.x, 0.0, 0.0);
    contact.force.sliding_force = Vec3::zeros();
    contact.force.sliding_compliance = f64::INFINITY;
    let status = state.x as u32;
    if status == INACTIVE {
        contact.force.status = Status::Inactive;
    } else if status == STICKING {
        contact.force.status = Status::Sticking;
        contact.force.multiplier += here(multiplier.y, multiplier.z);
    } else {
        contact.slide(&here(state.z, 0.0), if state.y < 0.0 { f64::INFINITY } else { state.y });
        contact.force.multiplier.z = multiplier.z;
    }
    contact.scaling.compliance = Mat3::from_diagonal(&compliance);
}
