//! Corrected warped compliance on the device: compliance of the contacts from the columns of the rest pose, forces by
//! an accelerated projected gradient, one dispatch an iteration. Twin: `contact::cwc`.
//!
//! A pass solves for the velocities with the forces that are known, measures how far the contacts then are from their
//! laws, and improves the forces as far as the compliance tells. Velocities come from the true matrix in every pass,
//! so that what is measured is what is true; islands whose forces are found wait for the others.

mod columns;
pub mod layout;
mod tables;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use columns::ColumnStore;
pub use layout::{FACTOR, FORCE, ITERATIONS, PROGRESS, SCALE, VECTORS};
#[cfg(test)]
pub use tables::triangle;
pub use tables::{Inverses, IslandRows, Tables};

use self::layout::{ARGUMENTS_GROUPS, ARGUMENTS_ISLANDS, CwcData, HOST, IslandData, RowData, WHOLE_DISPATCHES};
use super::device::{Device, DeviceError};
use super::kernel::{Bound, Buffers, ByParity, Stage, groups_for, kernels};
use super::limits::WORKGROUP;
use super::staging::UploadStaging;
use crate::model::Model;

/// Iterations between two checks whether all islands are over; even, so that what goes on begins with an even
/// iteration.
pub const CHECK_INTERVAL: u32 = 8;
/// Iterations for the largest eigenvalue.
const PROBES: u32 = 8;

/// Most contacts of an island whose forces one workgroup finds: one a thread, or, where dispatches are dear, as many
/// as a thread may go round (`shaders/cwc/solve_small_island.wgsl`).
fn most_whole(device: &Device) -> usize {
    if device.is_hardware() { WORKGROUP as usize } else { 256 }
}

/// Most workgroups of an island that each add up what all of them have left. 256, of 1024 contacts, read 1 MB from the
/// cache of a card, which takes no longer than the dispatch of `join_sums`; that grows with the square.
const MAX_JOINED: u32 = 256;

kernels! {
    /// Kernels of a pass over the contacts.
    pub struct Kernels in "cwc", HOST {
        rotate_nodes: Bound,
        compliance: Bound,
        scales: Bound,
        probe_eigenvalue: ByParity,
        scatter_forces: Bound,
        measure_error: Bound,
        update_status: Bound,
        join_sums: ByParity,
        iterate_forces: ByParity,
        finish_pass: Bound,
        solve_small_island: Bound,
    }
}

pub struct Cwc {
    kernels: Kernels,
    columns: ColumnStore,
    /// Islands of up to this many contacts are solved in one workgroup.
    pub most_whole: usize,
    pub max_joined: u32,
    /// The present solve, with whether it has islands that many workgroups share, and islands that one workgroup holds.
    data: CwcData,
    has: [bool; 2],
    /// Whether there are islands whose sums are added up on their own.
    has_large: bool,
    /// Largest buffer [bytes].
    pub limit: u64,
}

/// Bytes of a 3x3 block.
const BLOCK: usize = size_of::<[f32; 9]>();
/// Buffers that grow with the contacts, and the bytes of their items.
const GROWING: [(&str, usize); 5] =
    [("cwc_words", 4), ("cwc_rows", size_of::<RowData>()), ("cwc_state", 16), ("cwc_weights", BLOCK), ("cwc_motions", BLOCK)];

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
        let arguments =
            wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::INDIRECT | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        buffers.zeroed("cwc_arguments", 32, arguments)?;
        let mut columns = ColumnStore::default();
        columns.upload(buffers)?;
        Ok(Self {
            kernels: Kernels::new(buffers, &[])?,
            columns,
            most_whole: most_whole(device),
            max_joined: MAX_JOINED,
            data: CwcData::default(),
            has: [false; 2],
            has_large: false,
            limit: device.largest_buffer(),
        })
    }

    /// Lays out the contacts of `islands`; see [`Tables::new`].
    pub fn tables(&mut self, model: &Model, islands: &[IslandRows], inverses: Inverses) -> Tables {
        Tables::new(model, islands, inverses, &mut self.columns, self.most_whole)
    }

    /// Brings a solve to the device with the next submission of `staging`: its tables, and the forces that it starts
    /// from. Where the device has no room for them nothing has changed.
    pub fn upload(&mut self, buffers: &mut Buffers, staging: &mut UploadStaging, tables: &Tables) -> Result<(), DeviceError> {
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
            self.kernels.rebind(buffers)?;
        }
        (self.data, self.has) = (CwcData { max_joined: self.max_joined, ..tables.data }, [tables.has_shared, tables.has_whole]);
        let is_large = |island: &IslandData| island.is_whole == 0 && island.end_group - island.first_group > self.max_joined;
        self.has_large = tables.sections.islands.iter().any(is_large);
        staging.put(buffers.get("cwc"), 0, &[self.data]);
        staging.put(buffers.get("cwc_words"), 0, &tables.words);
        staging.put(buffers.get("cwc_rows"), 0, &tables.rows);
        staging.put(buffers.get("cwc_state"), (16 * FORCE * tables.rows.len()) as u64, &tables.forces);
        let mut solves = vec![[0f32; 4]; VECTORS * tables.data.n_islands as usize];
        solves.iter_mut().skip(FACTOR).step_by(VECTORS).zip(&tables.factors).for_each(|(solve, factor)| solve[1] = *factor);
        staging.put(buffers.get("cwc_state"), 16 * u64::from(tables.data.solves), &solves);
        Ok(())
    }

    /// Compliance, scales and largest eigenvalue of the contacts that were brought.
    pub fn record_compliance(&self, pass: &mut wgpu::ComputePass) {
        if self.data.n_contacts == 0 {
            return;
        }
        let kernels = &self.kernels;
        kernels.rotate_nodes.dispatch(pass, self.data.n_touched as usize);
        kernels.compliance.dispatch_groups(pass, groups_for((self.data.n_members * WORKGROUP) as usize));
        kernels.scales.dispatch(pass, self.data.n_contacts as usize);
        for k in 0..PROBES {
            kernels.probe_eigenvalue.at(k).dispatch_groups(pass, [self.data.n_groups, 1, 1]);
        }
    }

    /// Forces go into the right-hand side; the elastic solves of all `n_bodies` bodies begin anew.
    pub fn record_scatter(&self, pass: &mut wgpu::ComputePass, n_bodies: usize) {
        self.kernels.scatter_forces.dispatch(pass, n_bodies.max(self.data.n_touched as usize));
    }

    /// The second half of a pass, with `iterations` for islands that many workgroups share (a multiple of
    /// [`CHECK_INTERVAL`]). Islands that need more go on where the next pass is recorded, instead of beginning it:
    /// the number decides only how work is cut.
    pub fn record_forces(&self, pass: &mut wgpu::ComputePass, buffers: &Buffers, iterations: u32) {
        if self.data.n_contacts == 0 {
            return;
        }
        let Kernels { measure_error, update_status, join_sums, iterate_forces, finish_pass, solve_small_island, .. } = &self.kernels;
        let [has_shared, has_whole] = self.has;
        let of_islands = groups_for((self.data.n_islands * WORKGROUP) as usize);
        measure_error.dispatch_groups(pass, [self.data.n_groups, 1, 1]);
        update_status.dispatch_groups(pass, of_islands);
        for _ in 0..if has_whole { WHOLE_DISPATCHES } else { 0 } {
            solve_small_island.dispatch_groups(pass, of_islands);
        }
        if !has_shared {
            return;
        }
        let arguments = buffers.get("cwc_arguments");
        finish_pass.dispatch_groups(pass, [1, 1, 1]);
        for k in 0..iterations {
            if self.has_large {
                join_sums.at(k).dispatch_indirect(pass, arguments, ARGUMENTS_ISLANDS);
            }
            iterate_forces.at(k).dispatch_indirect(pass, arguments, ARGUMENTS_GROUPS);
            if (k + 1) % CHECK_INTERVAL == 0 {
                finish_pass.dispatch_groups(pass, [1, 1, 1]);
            }
        }
    }
}
