//! Products of a matrix with a vector, and the copy that they are held against.

use std::sync::Arc;

use super::layout::{HOST, LabData};
use super::{MAX_GROUPS, common_buffers};
use crate::gpu::{Bound, Buffers, Device, DeviceError, GRID_ROW, Kernel, KernelSource, Stage, WORKGROUP, kernels, read_buffer};
use crate::lab::sparse::{Grouped, Sell};

/// The kernel of all mappings of the thesis, which are its constants.
pub const GROUPED: KernelSource = KernelSource { name: "lab/grouped", host: &HOST };

kernels! {
    /// The product with SELL-32 by itself.
    pub struct SellKernel in "lab", HOST {
        sell: Bound { parity: "parity_even" },
    }
}

kernels! {
    pub struct CopyKernel in "lab", HOST {
        copy: Bound,
    }
}

/// A product in one of the thesis' mappings.
pub struct GroupedProduct {
    device: Arc<Device>,
    buffers: Buffers,
    kernel: Bound,
    groups: u32,
    n_rows: usize,
}

impl GroupedProduct {
    /// `x` has the length of the padded columns.
    pub fn new(device: &Arc<Device>, matrix: &Grouped<f32>, x: &[f32]) -> Result<Self, DeviceError> {
        let mut buffers = Buffers::new(device.clone());
        let starts: Vec<u32> = [matrix.n_groups() as u32].into_iter().chain(matrix.starts.iter().copied()).collect();
        buffers.upload("starts", &starts)?;
        buffers.upload("columns", &matrix.columns)?;
        buffers.upload("values", &matrix.values)?;
        buffers.upload("row_map", &matrix.row_map)?;
        buffers.upload("x", x)?;
        let n_rows = matrix.n_block_rows * matrix.block as usize;
        buffers.storage::<f32>("y", n_rows)?;
        let constants =
            [("THREADS", matrix.threads), ("SIDE", matrix.block), ("SLOTS", matrix.shape[0])].map(|(name, value)| (name, f64::from(value)));
        let kernel = Kernel::specialised(device, GROUPED, &constants)?.bind(&buffers, &[])?;
        Ok(Self { device: device.clone(), buffers, kernel, groups: matrix.n_groups() as u32, n_rows })
    }

    pub fn record(&self, pass: &mut wgpu::ComputePass) {
        let row = GRID_ROW / WORKGROUP;
        self.kernel.dispatch_groups(pass, [self.groups.min(row), self.groups.div_ceil(row), 1]);
    }

    /// The last product.
    pub fn result(&self) -> Result<Vec<f32>, DeviceError> {
        read_buffer(&self.device, self.buffers.get("y"), self.n_rows)
    }
}

/// Uploads a matrix for `lab/sell`.
pub(super) fn upload_sell(buffers: &mut Buffers, matrix: &Sell<f32, 32>) -> Result<(), DeviceError> {
    let (rows, columns, entries) = matrix.arrays();
    buffers.upload("rows", &rows)?;
    buffers.upload("columns", &columns)?;
    buffers.upload("entries", &entries)
}

/// A product with SELL-32.
pub struct SellProduct {
    device: Arc<Device>,
    buffers: Buffers,
    kernel: Bound,
    groups: u32,
    n_rows: usize,
}

impl SellProduct {
    /// `x` has the length of the padded columns.
    pub fn new(device: &Arc<Device>, matrix: &Sell<f32, 32>, x: &[f32]) -> Result<Self, DeviceError> {
        let mut buffers = Buffers::new(device.clone());
        common_buffers(&mut buffers)?;
        upload_sell(&mut buffers, matrix)?;
        let n_rows = matrix.n_block_rows;
        // Two slices a workgroup.
        let groups = matrix.n_slices().div_ceil(2).clamp(1, MAX_GROUPS) as u32;
        buffers.uniform("lab", &[LabData { n_rows: n_rows as u32, n_slices: matrix.n_slices() as u32, groups, ..LabData::default() }]);
        buffers.upload("x", &super::blocks(x))?;
        buffers.storage::<[f32; 4]>("y", n_rows)?;
        let kernel = SellKernel::new(&buffers, &[])?.sell;
        Ok(Self { device: device.clone(), buffers, kernel, groups, n_rows })
    }

    pub fn record(&self, pass: &mut wgpu::ComputePass) {
        self.kernel.dispatch_groups(pass, [self.groups, 1, 1]);
    }

    /// The last product.
    pub fn result(&self) -> Result<Vec<f32>, DeviceError> {
        Ok(super::entries(&read_buffer(&self.device, self.buffers.get("y"), self.n_rows)?))
    }
}

/// `y = x`.
pub struct DeviceCopy {
    kernel: Bound,
    groups: u32,
}

impl DeviceCopy {
    /// Of `bytes` bytes.
    pub fn new(device: &Arc<Device>, bytes: u64) -> Result<Self, DeviceError> {
        let mut buffers = Buffers::new(device.clone());
        common_buffers(&mut buffers)?;
        let n_rows = (bytes / 16) as usize;
        let groups = n_rows.div_ceil(WORKGROUP as usize).clamp(1, MAX_GROUPS) as u32;
        buffers.uniform("lab", &[LabData { n_rows: n_rows as u32, groups, ..LabData::default() }]);
        buffers.storage::<[f32; 4]>("x", n_rows)?;
        buffers.storage::<[f32; 4]>("y", n_rows)?;
        Ok(Self { kernel: CopyKernel::new(&buffers, &[])?.copy, groups })
    }

    pub fn record(&self, pass: &mut wgpu::ComputePass) {
        self.kernel.dispatch_groups(pass, [self.groups, 1, 1]);
    }
}
