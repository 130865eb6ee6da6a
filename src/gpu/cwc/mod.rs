//! Corrected warped compliance on the device: compliance of the contacts from the columns of the rest pose, forces by an accelerated projected gradient, one dispatch
//! an iteration. Twin: `contact::cwc`.
//!
//! A pass solves for the velocities with the forces that are known, measures how far the contacts then are from their laws, and improves the forces as far as the
//! compliance tells. Velocities come from the true matrix in every pass, so that what is measured is what is true; islands that have settled wait for the others.

mod columns;
mod tables;

use std::sync::Arc;

pub use columns::ColumnStore;
pub use tables::{FACTOR, FORCE, IslandRows, SCALE, SOLVE, TOLD, Tables};

use super::kernel::{Bound, Buffers, Kernel, groups_for};
use super::layout::CwcData;
use super::outbox::Outbox;
use super::{Device, DeviceError, GRID_ROW, WORKGROUP};
use crate::elastic::RestBody;
use crate::math::Mat3;
use crate::model::Model;

/// Most iterations of a pass.
pub const ITERATIONS: u32 = 240;
/// Iterations between two looks at whether all islands are over; even, so that what goes on begins with an even one.
pub const LOOK: u32 = 8;
/// Iterations for the largest eigenvalue.
const PROBES: u32 = 8;

/// Dispatches of a pass for islands that one workgroup holds.
pub const WHOLES: u32 = 10;

/// Most contacts of an island whose forces one workgroup finds: one a thread, or, where dispatches are dear, as many as a thread may go round
/// (`shaders/cwc/whole.wgsl`).
fn most_whole(device: &Device) -> usize {
    if device.is_hardware() { WORKGROUP as usize } else { 256 }
}

const NAMES: [&str; 10] = ["turn", "compliance", "scales", "probe", "spread", "measure", "judge", "iterate", "close", "whole"];

pub struct Cwc {
    kernels: Vec<Kernel>,
    bound: Bounds,
    columns: ColumnStore,
    /// Islands of up to so many contacts are solved in one workgroup.
    pub most_whole: usize,
    /// Of the present solve, with whether it has islands that many workgroups share, and that one holds.
    data: CwcData,
    has: [bool; 2],
    /// Largest buffer [bytes].
    pub limit: u64,
}

struct Bounds {
    turn: Bound,
    compliance: Bound,
    scales: Bound,
    /// For even and odd iterations.
    probe: [Bound; 2],
    spread: Bound,
    measure: Bound,
    judge: Bound,
    iterate: [Bound; 2],
    close: Bound,
    whole: Bound,
}

impl Bounds {
    fn new(kernels: &[Kernel], buffers: &Buffers) -> Result<Self, DeviceError> {
        let bind = |k: usize, parity: &str| kernels[k].bind(buffers, &[("parity", parity)]);
        let both = |k: usize| Ok::<_, DeviceError>([bind(k, "parity_even")?, bind(k, "parity_odd")?]);
        let one = |k: usize| bind(k, "parity_even");
        Ok(Self {
            turn: one(0)?,
            compliance: one(1)?,
            scales: one(2)?,
            probe: both(3)?,
            spread: one(4)?,
            measure: one(5)?,
            judge: one(6)?,
            iterate: both(7)?,
            close: one(8)?,
            whole: one(9)?,
        })
    }
}

/// Buffers that grow with the contacts, and the bytes of their items.
const GROWING: [(&str, usize); 5] = [("cwc_words", 4), ("cwc_rows", 112), ("cwc_state", 16), ("cwc_weights", 36), ("cwc_motions", 36)];

impl Cwc {
    pub fn new(device: &Arc<Device>, buffers: &mut Buffers) -> Result<Self, DeviceError> {
        buffers.uniform("cwc", &[CwcData::default()]);
        for (name, bytes) in GROWING {
            buffers.zeroed(
                name,
                bytes as u64,
                wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
            )?;
        }
        buffers.zeroed("cwc_arguments", 16, wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::INDIRECT)?;
        let mut columns = ColumnStore::default();
        columns.upload(buffers)?;
        let kernels = NAMES.iter().map(|name| Kernel::new(device, &format!("cwc/{name}"))).collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            bound: Bounds::new(&kernels, buffers)?,
            kernels,
            columns,
            most_whole: most_whole(device),
            data: CwcData::default(),
            has: [false; 2],
            limit: device.largest_buffer(),
        })
    }

    /// Lays out the contacts of `islands`; see [`Tables::new`].
    pub fn tables(&mut self, model: &Model, islands: &[IslandRows], rests: &[Option<RestBody>], inverses: &[Mat3]) -> Tables {
        Tables::new(model, islands, rests, inverses, &mut self.columns, self.most_whole)
    }

    /// Brings a solve to the device with the next submission of `outbox`: its tables, and the forces that it starts from. Where it has no room for them nothing has
    /// changed.
    pub fn upload(&mut self, buffers: &mut Buffers, outbox: &mut Outbox, tables: &Tables) -> Result<(), DeviceError> {
        let counts = [tables.words.len(), tables.rows.len(), tables.n_state, tables.n_weights, tables.n_motions];
        let needed = || GROWING.into_iter().zip(counts).map(|((name, bytes), count)| (name, (count * bytes) as u64));
        if let Some((name, needed)) = needed().find(|(_, needed)| *needed > self.limit) {
            return Err(buffers.too_large(name, needed, self.limit));
        }
        let mut is_new = self.columns.upload(buffers)?;
        for (name, needed) in needed() {
            if needed > buffers.get(name).size() {
                buffers.storage::<u8>(name, (needed + needed / 2).min(self.limit) as usize)?;
                is_new = true;
            }
        }
        if is_new {
            self.bound = Bounds::new(&self.kernels, buffers)?;
        }
        (self.data, self.has) = (tables.data, [tables.has_shared, tables.has_whole]);
        outbox.put(buffers.get("cwc"), 0, &[tables.data]);
        outbox.put(buffers.get("cwc_words"), 0, &tables.words);
        outbox.put(buffers.get("cwc_rows"), 0, &tables.rows);
        outbox.put(buffers.get("cwc_state"), (16 * FORCE * tables.rows.len()) as u64, &tables.forces);
        let mut solves = vec![[0f32; 4]; SOLVE * tables.data.n_islands as usize];
        solves.iter_mut().skip(FACTOR).step_by(SOLVE).zip(&tables.factors).for_each(|(solve, factor)| solve[1] = *factor);
        outbox.put(buffers.get("cwc_state"), 16 * u64::from(tables.data.solves), &solves);
        Ok(())
    }

    /// Compliance, scales and largest eigenvalue of the contacts that were brought.
    pub fn record_compliance(&self, pass: &mut wgpu::ComputePass) {
        let Bounds { turn, compliance, scales, probe, .. } = &self.bound;
        if self.data.n_contacts == 0 {
            return;
        }
        turn.dispatch(pass, self.data.n_places as usize);
        compliance.dispatch_groups(pass, groups_for((self.data.n_members * WORKGROUP) as usize));
        scales.dispatch(pass, self.data.n_contacts as usize);
        for k in 0..PROBES {
            probe[(k % 2) as usize].dispatch_groups(pass, [self.data.n_groups, 1, 1]);
        }
    }

    /// Forces go into the right-hand side; the elastic solves of all `n_bodies` bodies begin anew.
    pub fn record_spread(&self, pass: &mut wgpu::ComputePass, n_bodies: usize) {
        self.bound.spread.dispatch(pass, n_bodies.max(self.data.n_places as usize));
    }

    /// The second half of a pass, with `iterations` for islands that many workgroups share (a multiple of [`LOOK`]). Islands that are then not
    /// over go on with them where the next pass is recorded, instead of beginning it: only how work is cut depends on the number.
    pub fn record_forces(&self, pass: &mut wgpu::ComputePass, buffers: &Buffers, iterations: u32) {
        let Bounds { measure, judge, iterate, close, whole, .. } = &self.bound;
        if self.data.n_contacts == 0 {
            return;
        }
        measure.dispatch_groups(pass, [self.data.n_groups, 1, 1]);
        judge.dispatch_groups(pass, [1, 1, 1]);
        let [has_shared, has_whole] = self.has;
        for _ in 0..if has_whole { WHOLES } else { 0 } {
            whole.dispatch_groups(pass, groups_for((self.data.n_islands * WORKGROUP) as usize));
        }
        for k in 0..if has_shared { iterations } else { 0 } {
            iterate[(k % 2) as usize].dispatch_indirect(pass, buffers.get("cwc_arguments"), 0);
            if (k + 1) % LOOK == 0 {
                close.dispatch_groups(pass, [1, 1, 1]);
            }
        }
    }
}

/// A row of workgroups has room for as many members.
const _: () = assert!(GRID_ROW.is_multiple_of(WORKGROUP));
