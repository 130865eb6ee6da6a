//! Stands for the GPU backend in a build without it: a device cannot be had, and the error says why.

use std::sync::Arc;

use super::{BackendInfo, Options, SimulationError};
use crate::cancel::CancelToken;
use crate::model::{Model, Params};
use crate::step::Stepper;

/// There is none.
#[derive(Clone, Copy, Debug)]
pub enum Device {}

/// There is nothing to choose.
#[derive(Clone, Copy, Debug, Default)]
pub struct DetectionPlace;

#[derive(Debug, thiserror::Error, PartialEq)]
pub enum DeviceError {
    #[error("this program was built without the Cargo feature `gpu`")]
    NotBuilt,
}

pub fn open(_: &Options) -> Result<Arc<Device>, DeviceError> {
    Err(DeviceError::NotBuilt)
}

pub fn name(device: &Device) -> &str {
    match *device {}
}

pub fn is_hardware(device: &Device) -> bool {
    match *device {}
}

pub fn stepper(
    device: Arc<Device>,
    _: &Arc<Model>,
    _: &Params,
    _: &Options,
    _: &mut BackendInfo,
    _: &CancelToken,
) -> Result<Box<dyn Stepper>, SimulationError> {
    match *device {}
}

/// A sentence in place of the adapters.
pub fn describe_adapters() -> Vec<String> {
    vec![format!("graphics adapters are not used: {}", DeviceError::NotBuilt)]
}
