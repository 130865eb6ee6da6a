//! Conjugate residuals on the device, on the whole system of velocities and multipliers, with states that change on the way: for bodies and contacts of all kinds,
//! in the tables of `gpu::cwc`. Twin: `contact::cr` with the `Full` preconditioner.
//!
//! L = C H is a gather over the levers of a contact, L^T one over the items of a place, so that nothing is added up by two threads. A round of five kernels is an
//! iteration, or the restart after a change of states; what it is, each island decides for itself (`shaders/lib/cr.wgsl`).

use std::ops::Range;
use std::sync::Arc;

use super::cwc::Tables;
use super::kernel::{Bound, Buffers, Kernel, groups_for};
use super::layout::{BlockData, CrControlData, CrData, CwcData, RowData, vec4};
use super::outbox::Outbox;
use super::{Device, DeviceError, WORKGROUP};
use crate::contact::{Constraint, Status};
use crate::math::{Mat3, Vec3};
use crate::model::Model;

/// Rounds between two looks at whether all islands are done.
const LOOK: u32 = 4;
/// Vectors over unknowns, planes over contacts and slots of sums (`shaders/lib/cr.wgsl`).
const VECTORS: usize = 9;
const PLANES: usize = 14;
const SLOTS: usize = 6;
/// Planes that the host writes, and with the compliance those that it reads.
const WRITTEN: usize = 4;
pub const READ: usize = 5;
/// `CrControl.phase` at the start.
const PHASE_ENTRY: u32 = 2;

/// Contacts that are solved for together with the bodies that they link.
pub struct CrIsland<'a> {
    pub contacts: &'a [Constraint],
    pub unknowns: Range<usize>,
    /// Of the deformable bodies.
    pub bodies: Range<usize>,
    pub control: CrControlData,
}

pub struct Cr {
    kernels: Vec<Kernel>,
    bound: Bounds,
    /// Most workgroups of an island.
    most_groups: u32,
    data: CrData,
    tables: CwcData,
}

struct Bounds {
    enter: Bound,
    mark: Bound,
    rows: Bound,
    precondition: Bound,
    move_along: Bound,
    judge: Bound,
    product: Bound,
    gate: Bound,
}

const NAMES: [&str; 8] = ["enter", "mark", "rows", "precondition", "move_along", "judge", "product", "gate"];
/// Tables of the contacts are those of this solver.
const RENAMED: [(&str, &str); 4] = [("cwc", "cr_tables"), ("cwc_words", "cr_words"), ("cwc_rows", "cr_rows"), ("cwc_state", "cr_state")];
/// Buffers that grow with the contacts, and the bytes of their items.
const GROWING: [(&str, usize); 4] =
    [("cr_words", 4), ("cr_rows", size_of::<RowData>()), ("cr_state", 16), ("cr_controls", size_of::<CrControlData>())];

impl Bounds {
    fn new(kernels: &[Kernel], buffers: &Buffers) -> Result<Self, DeviceError> {
        let bind = |k: usize| kernels[k].bind(buffers, &RENAMED);
        Ok(Self {
            enter: bind(0)?,
            mark: bind(1)?,
            rows: bind(2)?,
            precondition: bind(3)?,
            move_along: bind(4)?,
            judge: bind(5)?,
            product: bind(6)?,
            gate: bind(7)?,
        })
    }
}

impl Cr {
    pub fn new(device: &Arc<Device>, buffers: &mut Buffers, model: &Model) -> Result<Self, DeviceError> {
        buffers.uniform("cr", &[CrData::default()]);
        buffers.uniform("cr_tables", &[CwcData::default()]);
        for (name, bytes) in GROWING {
            buffers.storage::<u8>(name, bytes)?;
        }
        buffers.storage::<[f32; 4]>("cr_vectors", VECTORS * model.n_unknowns())?;
        buffers.zeroed("cr_arguments", 16, wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::INDIRECT)?;
        let kernels = NAMES.iter().map(|name| Kernel::new(device, &format!("cr/{name}"))).collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            bound: Bounds::new(&kernels, buffers)?,
            kernels,
            // Every workgroup reads the partial sums of all of its island's.
            most_groups: if device.is_hardware() { 512 } else { 4 },
            data: CrData::default(),
            tables: CwcData::default(),
        })
    }

    /// Brings a solve to the device with the next submission of `outbox`. `tables`: of the contacts of `islands`; `rigid`: blocks of A of the rigid bodies'
    /// unknowns, and their inverses.
    pub fn upload(
        &mut self,
        buffers: &mut Buffers,
        outbox: &mut Outbox,
        tables: &Tables,
        islands: &[CrIsland],
        rigid: (&[Mat3], &[Mat3]),
        n_unknowns: usize,
    ) -> Result<(), DeviceError> {
        let mut island_words: Vec<[u32; 8]> = vec![];
        let mut groups: Vec<u32> = vec![];
        let mut first = 0;
        for (k, island) in islands.iter().enumerate() {
            let end = first + island.contacts.len();
            let wanted = island.unknowns.len().max(island.contacts.len()).div_ceil(WORKGROUP as usize) as u32;
            let begin = groups.len() as u32;
            groups.extend(std::iter::repeat_n(k as u32, wanted.clamp(1, self.most_groups) as usize));
            let ranges = [island.unknowns.clone(), first..end, island.bodies.clone()].map(|range| [range.start as u32, range.end as u32]);
            let [unknowns, contacts, bodies] = ranges;
            island_words.push([begin, groups.len() as u32, unknowns[0], unknowns[1], contacts[0], contacts[1], bodies[0], bodies[1]]);
            first = end;
        }
        let mut words = tables.words.clone();
        let mut put = |part: &[u32]| {
            let offset = words.len() as u32;
            words.extend_from_slice(part);
            offset
        };
        let of_rigid = rigid.0.iter().zip(rigid.1).flat_map(|(block, inverse)| block.iter().chain(inverse));
        let n = tables.rows.len();
        self.data = CrData {
            n_islands: islands.len() as u32,
            n_groups: groups.len() as u32,
            n_unknowns: n_unknowns as u32,
            islands: put(island_words.as_flattened()),
            groups: put(&groups),
            rigid: put(&of_rigid.map(|x| (*x as f32).to_bits()).collect::<Vec<_>>()),
            sums: (PLANES * n) as u32,
            loads: (PLANES * n + SLOTS * groups.len()) as u32,
        };
        self.tables = tables.data;
        let n_state = self.data.loads as usize + tables.data.n_places as usize;
        let mut is_new = false;
        for ((name, bytes), count) in GROWING.into_iter().zip([words.len(), n, n_state, islands.len()]) {
            if (count * bytes) as u64 > buffers.get(name).size() {
                buffers.storage::<u8>(name, (count + count / 2) * bytes)?;
                is_new = true;
            }
        }
        if is_new {
            self.bound = Bounds::new(&self.kernels, buffers)?;
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

    /// Residual at the contacts that were brought; needs that of the bodies without contacts (`elastic::ConjugateGradient::record_start`).
    pub fn record_entry(&self, pass: &mut wgpu::ComputePass) {
        let Bounds { enter, mark, judge, product, gate, .. } = &self.bound;
        let groups = [self.data.n_groups, 1, 1];
        enter.dispatch_groups(pass, groups);
        mark.dispatch_groups(pass, groups_for((self.tables.n_places as usize).max((self.data.n_islands * WORKGROUP) as usize)));
        judge.dispatch_groups(pass, groups);
        product.dispatch_groups(pass, groups);
        gate.dispatch_groups(pass, [1, 1, 1]);
    }

    /// Records a multiple of `LOOK` rounds; those after the end of all islands are empty.
    pub fn record_rounds(&self, pass: &mut wgpu::ComputePass, buffers: &Buffers, rounds: u32) {
        let Bounds { rows, precondition, move_along, judge, product, gate, .. } = &self.bound;
        for k in 0..rounds.next_multiple_of(LOOK) {
            for kernel in [rows, precondition, move_along, judge, product] {
                kernel.dispatch_indirect(pass, buffers.get("cr_arguments"), 0);
            }
            if (k + 1) % LOOK == 0 {
                gate.dispatch_groups(pass, [1, 1, 1]);
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
        Status::Inactive => 0.0,
        Status::Sticking => 1.0,
        Status::Sliding => 2.0,
    };
    let turning = if contact.force.sliding_compliance.is_finite() { contact.force.sliding_compliance } else { -1.0 };
    let axis = |r: usize| vec4(&contact.row.frame.row(r).transpose(), contact.row.offset[r]);
    [vec4(&Vec3::new(status, turning, contact.force.sliding_force.y), 0.0), axis(1), axis(2), vec4(&contact.force.multiplier, 0.0)]
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
    if state.x == 0.0 {
        contact.force.status = Status::Inactive;
    } else if state.x == 1.0 {
        contact.force.status = Status::Sticking;
        contact.force.multiplier += here(multiplier.y, multiplier.z);
    } else {
        contact.slide(&here(state.z, 0.0), if state.y < 0.0 { f64::INFINITY } else { state.y });
        contact.force.multiplier.z = multiplier.z;
    }
    contact.scaling.compliance = Mat3::from_diagonal(&compliance);
}
