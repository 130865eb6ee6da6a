//! The GPU backend as `sim` sees it. `no_device` stands in its place in a build without it.

#[cfg(test)]
mod budgets;

use std::sync::Arc;

use super::{BackendInfo, Options, SimulationError, methods_of};
use crate::gpu::{self, DeviceBackend, DeviceRequest};
pub use crate::gpu::{DetectionPlace, Device, DeviceError};
use crate::material::Tangent;
use crate::model::{ContactMethod, Model};
use crate::sim::Threaded;
use crate::step::Stepper;

/// The caller's device, else the adapter that the caller names.
pub fn open(options: &Options) -> Result<Arc<Device>, DeviceError> {
    match &options.device {
        Some(device) => Ok(device.clone()),
        None => Device::open(&DeviceRequest { adapter: options.adapter.clone(), ..Default::default() }),
    }
}

pub fn name(device: &Device) -> &str {
    &device.info.name
}

pub fn is_hardware(device: &Device) -> bool {
    device.is_hardware()
}

/// A stepper on `device`; `info` takes its methods and how many threads of the host it uses.
pub fn stepper(
    device: Arc<Device>,
    model: &Arc<Model>,
    method: ContactMethod,
    options: &Options,
    info: &mut BackendInfo,
) -> Result<Box<dyn Stepper>, SimulationError> {
    // The energy guard is the host's: only bodies that it does not look at are stepped without the host.
    let is_guarded = model.materials.iter().any(|material| material.model.tangent() != Tangent::Warped);
    if !is_guarded && !model.may_touch() && model.rigid_bodies.is_empty() {
        return Ok(Box::new(gpu::Stepper::new(device, model.clone())?));
    }
    let backend = DeviceBackend::new(device, model)?.detecting(options.detection);
    info.methods = methods_of(&backend);
    info.check_method(method)?;
    let stepper = Threaded::implicit(model.clone(), backend, options.threads.unwrap_or(0))?;
    info.threads = stepper.threads();
    Ok(Box::new(stepper))
}
