//! The laboratory on the device, in f32: the mappings of the thesis, SELL-32, conjugate gradients with two dispatches
//! an iteration, and one of several devices that share a matrix. Twins of `lab::sparse`.

mod cg;
mod layout;
mod product;
#[cfg(test)]
mod tests;
mod worker;

pub use cg::DeviceCg;
pub use product::{DeviceCopy, GroupedProduct, SellProduct};
pub use worker::DeviceWorker;

use std::sync::Arc;
use std::time::Instant;

use self::layout::{LabControlData, SLOTS};
use crate::gpu::{Buffers, Device, DeviceError, MAX_ROW_GROUPS, ReadbackBuffer, WORKGROUP};

/// `LabSums` of `shaders/lib/lab.wgsl`: vectors before the sums.
const SUMS_HEADER: usize = 2 * size_of::<LabControlData>() / 16;

/// Workgroups of the kernels over rows: every one adds up what all of them left, so there are few where cores are few.
fn row_groups(device: &Device, n_rows: usize) -> u32 {
    let most = if device.is_hardware() { MAX_ROW_GROUPS / 2 } else { 8 };
    (n_rows as u32).div_ceil(WORKGROUP).clamp(1, most)
}

/// Most workgroups of a kernel that leaves no sums.
const MAX_GROUPS: usize = 32_768;

/// Buffers that every kernel of the laboratory binds.
fn common_buffers(buffers: &mut Buffers) -> Result<(), DeviceError> {
    buffers.storage::<[f32; 4]>("sums", SUMS_HEADER + SLOTS * MAX_ROW_GROUPS as usize)?;
    for (name, now) in [("parity_even", 0u32), ("parity_odd", 1)] {
        buffers.uniform(name, &[now, 0, 0, 0]);
    }
    Ok(())
}

/// Three entries of a vector as the kernels read them; the fourth is zero.
fn blocks(values: &[f32]) -> Vec<[f32; 4]> {
    values.as_chunks::<3>().0.iter().map(|v| [v[0], v[1], v[2], 0.0]).collect()
}

fn entries(blocks: &[[f32; 4]]) -> Vec<f32> {
    blocks.iter().flat_map(|b| [b[0], b[1], b[2]]).collect()
}

/// Seconds of one of `repetitions` of `record` in one pass, by the clock of the host.
pub fn seconds(device: &Arc<Device>, repetitions: usize, mut record: impl FnMut(&mut wgpu::ComputePass)) -> Result<f64, DeviceError> {
    let readback = ReadbackBuffer::new(device, 16);
    let mut encoder = device.device.create_command_encoder(&Default::default());
    {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        (0..repetitions).for_each(|_| record(&mut pass));
    }
    let start = Instant::now();
    readback.submit(encoder, |_| ())?;
    Ok(start.elapsed().as_secs_f64() / repetitions as f64)
}
