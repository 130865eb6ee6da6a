//! One of several devices that share a matrix by its rows. Several may be logical devices of one adapter.

use std::ops::Range;
use std::sync::Arc;

use super::layout::{DOT, HOST, LabData, RESIDUAL};
use super::product::upload_sell;
use super::{blocks, common_buffers, entries, row_groups};
use crate::gpu::{Bound, Buffers, Device, DeviceError, MAX_ROW_GROUPS, Stage, kernels, read_buffer};
use crate::lab::sparse::{Bcsr, Segment, Sell, Worker};

kernels! {
    /// Kernels of one of several devices.
    pub struct Kernels in "lab", HOST {
        sell: Bound { parity: "parity_even", x: "v", y: "u" },
        advance: Bound,
        direction: Bound,
    }
}

/// A device with its rows and a copy of the whole direction.
pub struct DeviceWorker {
    device: Arc<Device>,
    buffers: Buffers,
    segment: Segment,
    data: LabData,
    kernels: Kernels,
}

impl DeviceWorker {
    /// The rows `segment` of `matrix`; `inverse_diagonal` and `b` hold all rows, padded to whole blocks.
    pub fn new(
        device: Arc<Device>,
        matrix: &Bcsr<f32, 3>,
        segment: &Segment,
        inverse_diagonal: &[f32],
        b: &[f32],
    ) -> Result<Self, DeviceError> {
        let mut buffers = Buffers::new(device.clone());
        common_buffers(&mut buffers)?;
        let own = Sell::<f32, 32>::new(&matrix.rows(segment));
        upload_sell(&mut buffers, &own)?;
        let n = segment.len();
        let data = LabData {
            n_rows: n as u32,
            n_slices: own.n_slices() as u32,
            first_row: segment.start as u32,
            groups: row_groups(&device, n),
            ..LabData::default()
        };
        buffers.uniform("lab", &[data]);
        let rows = 3 * segment.start..3 * segment.end;
        buffers.upload("inverse_diagonal", &blocks(&inverse_diagonal[rows.clone()]))?;
        buffers.upload("r", &blocks(&b[rows]))?;
        buffers.storage::<[f32; 4]>("v", matrix.n_block_rows())?;
        for name in ["u", "x", "own"] {
            buffers.storage::<[f32; 4]>(name, n)?;
        }
        Ok(Self { kernels: Kernels::new(&buffers, &[])?, device, buffers, segment: segment.clone(), data })
    }

    fn run(&mut self, kernel: impl Fn(&Kernels) -> &Bound, factor: f64) {
        self.data.factor = factor as f32;
        self.buffers.write("lab", &[self.data]);
        let mut encoder = self.device.device.create_command_encoder(&Default::default());
        kernel(&self.kernels).dispatch_groups(&mut encoder.begin_compute_pass(&Default::default()), [self.data.groups, 1, 1]);
        self.device.queue.submit([encoder.finish()]);
    }

    /// Sum of a slot, in the order of the workgroups.
    fn sum(&self, slot: usize) -> Result<[f64; 2], DeviceError> {
        let first = super::SUMS_HEADER + slot * MAX_ROW_GROUPS as usize;
        let sums = read_buffer::<[f32; 4]>(&self.device, self.buffers.get("sums"), first + self.data.groups as usize)?;
        Ok(sums[first..].iter().fold([0.0; 2], |[a, b], part| [a + f64::from(part[0]), b + f64::from(part[1])]))
    }
}

impl Worker<f32> for DeviceWorker {
    type Error = DeviceError;

    fn rows(&self) -> Range<usize> {
        3 * self.segment.start..3 * self.segment.end
    }

    fn start(&mut self, own: &mut [f32]) -> Result<[f64; 2], DeviceError> {
        let sums = self.advance(0.0)?;
        self.direction(0.0, own)?;
        Ok(sums)
    }

    fn product(&mut self, v: &[f32]) -> Result<f64, DeviceError> {
        self.buffers.write("v", &blocks(v));
        self.run(|kernels| &kernels.sell, 0.0);
        Ok(self.sum(DOT)?[0])
    }

    fn advance(&mut self, t: f64) -> Result<[f64; 2], DeviceError> {
        self.run(|kernels| &kernels.advance, t);
        self.sum(RESIDUAL)
    }

    fn direction(&mut self, s: f64, own: &mut [f32]) -> Result<(), DeviceError> {
        self.run(|kernels| &kernels.direction, s);
        own.copy_from_slice(&entries(&read_buffer(&self.device, self.buffers.get("own"), self.segment.len())?));
        Ok(())
    }

    fn solution(&mut self) -> Result<Vec<f32>, DeviceError> {
        Ok(entries(&read_buffer(&self.device, self.buffers.get("x"), self.segment.len())?))
    }
}
