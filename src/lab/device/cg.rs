//! Jacobi conjugate gradients that never leave the device: two dispatches an iteration, one reduction.

use std::sync::Arc;

use super::layout::{HOST, LabControlData, LabData};
use super::product::upload_sell;
use super::{blocks, common_buffers, entries, row_groups};
use crate::gpu::{Bound, Buffers, ByParity, Device, DeviceError, Stage, kernels, read_buffer};
use crate::lab::sparse::Sell;
use crate::sparse::Solved;

/// Iterations between two looks at whether the loop is over, a dispatch of one thread; even, so that a batch starts
/// with an even iteration.
const GATE_INTERVAL: u32 = 8;
/// Iterations of one submission: none is waited for, but drawing on the same queue is let in between.
const BATCH: u32 = 64;

kernels! {
    /// Kernels of the conjugate gradients.
    pub struct Kernels in "lab", HOST {
        cg_start: Bound,
        sell: ByParity { x: "u", y: "w" },
        cg_advance: ByParity,
        cg_gate: Bound,
    }
}

/// A matrix on the device, and what a solve with it needs.
pub struct DeviceCg {
    device: Arc<Device>,
    buffers: Buffers,
    data: LabData,
    kernels: Kernels,
}

impl DeviceCg {
    /// Dispatches of an iteration, those of the gate included.
    pub const DISPATCHES: f64 = 2.0 + 1.0 / GATE_INTERVAL as f64;

    /// `inverse_diagonal` holds 1/A_kk, padded to whole blocks.
    pub fn new(device: &Arc<Device>, matrix: &Sell<f32, 32>, inverse_diagonal: &[f32]) -> Result<Self, DeviceError> {
        let mut buffers = Buffers::new(device.clone());
        common_buffers(&mut buffers)?;
        upload_sell(&mut buffers, matrix)?;
        let n = matrix.n_block_rows;
        let data = LabData { n_rows: n as u32, n_slices: matrix.n_slices() as u32, groups: row_groups(device, n), ..LabData::default() };
        buffers.uniform("lab", &[data]);
        buffers.upload("inverse_diagonal", &blocks(inverse_diagonal))?;
        for name in ["b", "u", "w", "p", "s", "x", "r"] {
            buffers.storage::<[f32; 4]>(name, n)?;
        }
        buffers.zeroed("arguments", 256, wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::INDIRECT)?;
        Ok(Self { kernels: Kernels::new(&buffers, &[])?, device: device.clone(), buffers, data })
    }

    /// Readies the kernels of an iteration, so that they can be timed one by one.
    pub fn record_start(&self, pass: &mut wgpu::ComputePass) {
        self.kernels.cg_start.dispatch_groups(pass, [self.data.groups, 1, 1]);
    }

    /// The product of an iteration.
    pub fn record_product(&self, pass: &mut wgpu::ComputePass) {
        self.kernels.sell.at(0).dispatch_groups(pass, [self.data.groups, 1, 1]);
    }

    /// All of an iteration but the product.
    pub fn record_advance(&self, pass: &mut wgpu::ComputePass) {
        self.kernels.cg_advance.at(0).dispatch_groups(pass, [self.data.groups, 1, 1]);
    }

    /// Solves `A x = b` from x = 0 to `|b - A x| <= tolerance` (2-norm, as the recurrence knows it). The host waits
    /// once, at the end.
    pub fn solve(&mut self, b: &[f32], tolerance: f64, max_iterations: u32) -> Result<(Vec<f32>, Solved), DeviceError> {
        self.buffers.write("b", &blocks(b));
        let solved = self.run(tolerance, max_iterations)?;
        Ok((entries(&read_buffer(&self.device, self.buffers.get("x"), self.data.n_rows as usize)?), solved))
    }

    /// [`Self::solve`] with the right-hand side of the last call.
    pub fn run(&mut self, tolerance: f64, max_iterations: u32) -> Result<Solved, DeviceError> {
        self.data.max_iterations = max_iterations;
        self.data.target2 = (tolerance * tolerance) as f32;
        self.buffers.write("lab", &[self.data]);
        // The state that is read by a look at the residual after the last iteration.
        let iterations = (max_iterations + 1).next_multiple_of(GATE_INTERVAL);
        let arguments = self.buffers.get("arguments");
        for first in (0..iterations).step_by(BATCH as usize) {
            let mut encoder = self.device.device.create_command_encoder(&Default::default());
            {
                let mut pass = encoder.begin_compute_pass(&Default::default());
                if first == 0 {
                    self.kernels.cg_start.dispatch_groups(&mut pass, [self.data.groups, 1, 1]);
                }
                for k in first..iterations.min(first + BATCH) {
                    if k % GATE_INTERVAL == 0 {
                        self.kernels.cg_gate.dispatch_groups(&mut pass, [1, 1, 1]);
                    }
                    self.kernels.sell.at(k).dispatch_indirect(&mut pass, arguments, 0);
                    self.kernels.cg_advance.at(k).dispatch_indirect(&mut pass, arguments, 0);
                }
            }
            self.device.queue.submit([encoder.finish()]);
        }
        let control = read_buffer::<LabControlData>(&self.device, self.buffers.get("sums"), 1)?[0];
        Ok(Solved { iterations: control.iterations, residual: f64::from(control.residual2).sqrt(), converged: control.converged != 0 })
    }
}
