//! Twins of the CPU solvers on the device, in f32 and resident: positions never leave it to be drawn.

mod device;

pub use device::{AdapterDescription, Device, DeviceError, DeviceRequest, instance, list_adapters};
