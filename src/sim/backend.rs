//! The one place that opens a backend: the processor's, or the device's where the program is built with it.

mod auto;
#[cfg_attr(not(feature = "gpu"), path = "backend/no_device.rs")]
mod device;

use std::sync::Arc;

use auto::{Race, reason_for_cpu};
pub use device::{DetectionPlace, Device, DeviceError, describe_adapters};

use super::threads::clock;
use super::{SimulationError, Threaded};
use crate::cancel::CancelToken;
use crate::cpu::{CpuBackend, Methods};
use crate::model::{ContactMethod, Model, Params};
use crate::scene::BackendChoice;
use crate::step::{Backend, Stepper};

/// The choices that a caller has beside the scene.
#[derive(Clone, Default)]
pub struct Options {
    /// Instead of the scene's.
    pub backend: Option<BackendChoice>,
    /// Part of an adapter's name.
    pub adapter: Option<String>,
    /// Threads of the CPU backend; one a core if none.
    pub threads: Option<usize>,
    /// A device that is open already, for the GPU backend to share.
    pub device: Option<Arc<Device>>,
    /// Where the GPU backend looks for contacts; the result is the same.
    pub detection: DetectionPlace,
    /// Methods of contact of the CPU backend: those of the product, unless the laboratory brings more.
    pub methods: Option<Methods>,
    /// Steps whose contacts are not solved to their tolerance are taken as they are: to compare methods by what they
    /// leave.
    pub accept_unconverged: bool,
}

/// The backend that computes, and the reason for it.
#[derive(Clone, Debug, PartialEq)]
pub struct BackendInfo {
    /// "cpu" or "gpu".
    pub backend: &'static str,
    pub adapter: Option<String>,
    pub solver: &'static str,
    /// The methods of contact that it has.
    pub methods: Vec<ContactMethod>,
    /// Threads of the CPU backend.
    pub threads: usize,
    pub reason: String,
}

impl BackendInfo {
    /// Refuses a method of contact that the backend does not have.
    pub fn check_method(&self, method: ContactMethod) -> Result<(), SimulationError> {
        if self.methods.contains(&method) {
            return Ok(());
        }
        let offered: Vec<&str> = self.methods.iter().map(|method| method.name()).collect();
        Err(SimulationError::Solver { solver: method.name(), backend: self.backend, offered: offered.join(", ") })
    }
}

/// The methods of contact that a backend has; it can always choose one itself.
fn methods_of(backend: &impl Backend) -> Vec<ContactMethod> {
    let is_there = |method: &ContactMethod| *method == ContactMethod::Auto || backend.offers(*method);
    ContactMethod::ALL.iter().map(|(_, method)| *method).filter(is_there).collect()
}

type Opened = (Box<dyn Stepper>, BackendInfo);

/// Which of the two makes the first steps faster.
fn faster(mut device: Opened, mut cpu: Opened, params: &Params, cancel: &CancelToken) -> Result<Opened, SimulationError> {
    let race = Race::run(&mut *cpu.0, &mut *device.0, params, cancel, clock)?;
    let (stepper, info) = if race.is_won_by_device() { device } else { cpu };
    Ok((stepper, BackendInfo { reason: race.reason(), ..info }))
}

/// The choices with a device that is open, for all backends that are opened with them to share.
pub fn with_device(options: &Options) -> Result<Options, DeviceError> {
    Ok(Options { device: Some(device::open(options)?), ..options.clone() })
}

/// The backend for a run of small scenes, none of which says whether a device pays: the device if it is asked for, or
/// if there is a hardware adapter and nothing is asked for. Returns the options that name it, with the device open, and
/// the reason.
///
/// # Errors
/// If the device is asked for and cannot be opened.
pub fn settle_backend(options: &Options) -> Result<(Options, String), SimulationError> {
    let on_cpu = |reason: String| Ok((Options { backend: Some(BackendChoice::Cpu), ..options.clone() }, reason));
    let on_gpu = |device: Arc<Device>, reason: String| {
        Ok((Options { backend: Some(BackendChoice::Gpu), device: Some(device), ..options.clone() }, reason))
    };
    match options.backend.unwrap_or_default() {
        BackendChoice::Cpu => on_cpu("asked for".into()),
        BackendChoice::Gpu => on_gpu(device::open(options)?, "asked for".into()),
        BackendChoice::Auto => match device::open(options) {
            Ok(device) if device::is_hardware(&device) => on_gpu(device, "there is a hardware adapter".into()),
            Ok(device) => on_cpu(format!("the only adapter is software ({})", device::name(&device))),
            Err(error) => on_cpu(format!("no adapter: {error}")),
        },
    }
}

/// Name of the open device of some options.
pub fn adapter_name(options: &Options) -> Option<&str> {
    options.device.as_deref().map(device::name)
}

/// The backend of a choice, for solves of `params.time_step` each. Soon after `cancel` is cancelled it ends with
/// [`SimulationError::Cancelled`].
pub fn open_backend(
    choice: BackendChoice,
    params: &Params,
    options: &Options,
    model: &Arc<Model>,
    cancel: &CancelToken,
) -> Result<Opened, SimulationError> {
    let (threads, method) = (options.threads.unwrap_or(0), params.method);
    let on_cpu = |reason: String| -> Result<Opened, SimulationError> {
        let backend = options.methods.map_or_else(CpuBackend::default, CpuBackend::with_methods);
        let mut info =
            BackendInfo { backend: "cpu", adapter: None, solver: method.name(), methods: methods_of(&backend), threads: 0, reason };
        info.check_method(method)?;
        let stepper = Threaded::implicit_unless(model.clone(), backend, threads, cancel)?;
        info.threads = stepper.threads();
        Ok((Box::new(stepper), info))
    };
    let on_gpu = |device: Arc<Device>, reason: String| -> Result<Opened, SimulationError> {
        let adapter = Some(device::name(&device).to_owned());
        // Where nothing touches, every method has nothing to do.
        let methods = ContactMethod::ALL.map(|(_, method)| method).to_vec();
        let mut info = BackendInfo { backend: "gpu", adapter, solver: method.name(), methods, threads: 1, reason };
        let stepper = device::stepper(device, model, params, options, &mut info, cancel);
        // Whatever error a cancelled one ends with.
        cancel.check()?;
        Ok((stepper?, info))
    };
    match choice {
        BackendChoice::Cpu => on_cpu("asked for".into()),
        BackendChoice::Gpu => on_gpu(device::open(options)?, "asked for".into()),
        BackendChoice::Auto => match device::open(options) {
            Ok(device) if device::is_hardware(&device) => match reason_for_cpu(model, params) {
                Some(reason) => on_cpu(reason),
                None => match on_gpu(device, String::new()) {
                    Ok(on_device) => {
                        cancel.check()?;
                        let on_cpu = on_cpu(String::new())?;
                        cancel.check()?;
                        faster(on_device, on_cpu, params, cancel)
                    }
                    Err(SimulationError::Cancelled(cancelled)) => Err(cancelled.into()),
                    Err(error) => on_cpu(format!("the device cannot take this scene: {error}")),
                },
            },
            Ok(device) => on_cpu(format!("the only adapter is software ({})", device::name(&device))),
            Err(error) => on_cpu(format!("no adapter: {error}")),
        },
    }
}
