//! Twins of the CPU solvers on the device, in f32 and resident: positions never leave it to be drawn.

mod cr;
mod cwc;
mod detection;
mod device;
mod elastic;
mod engine;
mod kernel;
mod layout;
mod outbox;
mod readback;
mod shader;
mod stepper;
#[cfg(test)]
mod tests;
mod tiles;

pub use detection::{DetectionPlace, Detector, Sieved};
pub use device::{AdapterDescription, Device, DeviceError, DeviceRequest, instance, list_adapters};
pub use engine::DeviceBackend;
pub use kernel::{Bound, Buffers, Kernel};
pub use readback::{Mailbox, read_buffer};
pub use shader::{Binding, Shader, ShaderError};
pub use stepper::GpuStepper as Stepper;

#[cfg(test)]
pub(crate) use device::test_device;
#[cfg(test)]
pub(crate) use layout::tests::{same_layout, wgsl_layout};

/// Threads of a workgroup.
pub const WORKGROUP: u32 = 64;
/// Threads of one row of workgroups where a dispatch needs two dimensions (a dimension has at most 65,535 workgroups).
pub const GRID_ROW: u32 = 32_768 * WORKGROUP;
/// Most workgroups of a kernel over rows, and deformable bodies: their shares fill the 64 KiB that WebGPU guarantees a uniform buffer.
pub const MAX_ROW_GROUPS: u32 = 2048;
/// Most free nodes and tiles of a body that is solved in one workgroup. On llvmpipe a step of 810 tets (225 nodes) takes 0.7 of the processor time that it takes
/// with a dispatch for every half of an iteration.
pub const MAX_WHOLE_NODES: u32 = 1024;
pub const MAX_WHOLE_TILES: u32 = 32;
