//! The backend on the device, in f32. Kernels are declared by the file that owns their stage (`kernels!`), and what
//! they share with the host is declared in Rust (`wgsl`).

mod compiled;
mod cwc;
mod detection;
mod device;
mod elastic;
mod engine;
mod kernel;
mod layout;
mod limits;
mod staging;
mod readback;
mod shader;
mod stepper;
#[cfg(test)]
mod tests;
mod tiles;
mod upload;
pub mod wgsl;

pub use detection::{DetectionPlace, Detector, Sieved};
pub use device::{AdapterDescription, Device, DeviceError, DeviceRequest, instance, list_adapters};
pub use engine::DeviceBackend;
pub(crate) use kernel::kernels;
pub use kernel::{Bound, Buffers, ByParity, DeclaredKernel, Kernel, KernelSource, Stage};
pub use limits::{GRID_ROW, MAX_ROW_GROUPS, WORKGROUP};
pub use readback::{ReadbackBuffer, read_buffer};
pub use shader::{Binding, Shader, ShaderError};
pub use stepper::GpuStepper as Stepper;
pub use wgsl::HostModule;
pub(crate) use wgsl::{shared_slots, shared_struct};

#[cfg(test)]
pub(crate) use compiled::CompiledKernels;
#[cfg(test)]
pub(crate) use device::test_device;
#[cfg(test)]
pub(crate) use tests::shaders::{check_kernels, check_structs};

use std::any::Any;
use std::sync::Arc;

/// The buffer behind a surface that a stepper of this module handed out.
pub fn surface_buffer(surface: &Arc<dyn Any + Send + Sync>) -> &wgpu::Buffer {
    surface.downcast_ref().expect("this backend alone keeps surfaces on a device, and it hands out buffers")
}
