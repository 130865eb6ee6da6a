//! The GPU backend as `sim` sees it. `no_device` stands in its place in a build without it.

#[cfg(test)]
mod budgets;

use std::sync::Arc;

use super::auto::SHARE;
use super::{BackendInfo, Options, SimulationError, methods_of};
use crate::cancel::CancelToken;
use crate::gpu::{self, AdapterDescription, DeviceBackend, DeviceRequest};
pub use crate::gpu::{DetectionPlace, Device, DeviceError};
use crate::material::Tangent;
use crate::model::{Integration, Model, Params};
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

/// A stepper on `device`; `info` takes its methods and how many threads of the host it uses. Ends with an error soon
/// after `cancel` is cancelled.
pub fn stepper(
    device: Arc<Device>,
    model: &Arc<Model>,
    params: &Params,
    options: &Options,
    info: &mut BackendInfo,
    cancel: &CancelToken,
) -> Result<Box<dyn Stepper>, SimulationError> {
    // The energy guard and Newton's method are the host's: only bodies that it does not look at are stepped without
    // the host.
    let is_guarded = model.materials.iter().any(|m| m.model.tangent() != Tangent::Warped || m.stretch_limits.is_some());
    let is_linearised_once = params.integration == Integration::SemiImplicit;
    if !is_guarded && is_linearised_once && gpu::Stepper::takes(model) {
        return Ok(Box::new(gpu::Stepper::new_unless(device, model.clone(), cancel)?));
    }
    let backend = DeviceBackend::new_unless(device, model, cancel)?.detecting(options.detection);
    info.methods = methods_of(&backend);
    info.check_method(params.method)?;
    let stepper = Threaded::implicit_unless(model.clone(), backend, options.threads.unwrap_or(0), cancel)?;
    info.threads = stepper.threads();
    Ok(Box::new(stepper))
}

/// The adapters, best first, and which one would be used, in lines of text.
pub fn describe_adapters() -> Vec<String> {
    let adapters = gpu::list_adapters();
    if adapters.is_empty() {
        return vec![
            "no graphics adapter was found: install a Vulkan driver (on Debian or Ubuntu `apt-get install mesa-vulkan-drivers libvulkan1`)"
                .into(),
            "--backend auto uses the CPU, because there is no adapter".into(),
        ];
    }
    let mut lines: Vec<String> = adapters.iter().flat_map(describe).collect();
    lines.push(String::new());
    // `list_adapters` has the best first.
    let best = adapters.iter().find(|adapter| adapter.unsuitable.is_none());
    lines.extend(choices(best.map(|best| (best.info.name.as_str(), best.info.device_type == wgpu::DeviceType::Cpu))));
    lines
}

/// What each choice of a backend uses; `best` is the name of the best adapter that can run the kernels, and whether it
/// is software.
fn choices(best: Option<(&str, bool)>) -> Vec<String> {
    let Some((name, is_software)) = best else {
        return vec!["--backend auto uses the CPU, because no adapter can run the kernels".into()];
    };
    let auto = if is_software {
        "--backend auto uses the CPU, because the only adapter is software".into()
    } else {
        format!(
            "--backend auto uses the CPU for scenes of few tets or of light bodies; any other scene begins on both, and goes on with {name} \
             if its first steps take at most {:.0} % of the time there, else with the CPU",
            100.0 * SHARE
        )
    };
    vec![format!("--backend gpu uses {name}, the best adapter that can run the kernels"), auto]
}

fn describe(adapter: &AdapterDescription) -> Vec<String> {
    let info = &adapter.info;
    let mut lines = vec![String::new(), format!("{} ({:?}, {:?})", info.name, info.device_type, info.backend)];
    if !info.driver.is_empty() {
        lines.push(format!("  driver    {} {}", info.driver, info.driver_info));
    }
    let limits = &adapter.limits;
    lines.push(format!(
        "  limits    buffers of {} MiB, {} storage buffers a stage, {} invocations a workgroup, textures of {} pixels",
        limits.max_buffer_size >> 20,
        limits.max_storage_buffers_per_shader_stage,
        limits.max_compute_invocations_per_workgroup,
        limits.max_texture_dimension_2d
    ));
    let interesting = [
        ("timestamps", wgpu::Features::TIMESTAMP_QUERY),
        ("subgroups", wgpu::Features::SUBGROUP),
        ("f16", wgpu::Features::SHADER_F16),
        ("f64", wgpu::Features::SHADER_F64),
    ];
    let features: Vec<&str> = interesting.iter().filter(|(_, f)| adapter.features.contains(*f)).map(|(name, _)| *name).collect();
    lines.push(format!("  features  {}", if features.is_empty() { "none of interest".into() } else { features.join(", ") }));
    lines.extend(adapter.unsuitable.as_ref().map(|reason| format!("  cannot be used: {reason}")));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A card alone decides nothing: the scene and the times of its first steps do.
    #[test]
    fn the_choices_are_told_as_they_are_made() {
        let [no_kernels, software, card] = [None, Some(("llvmpipe", true)), Some(("A card", false))].map(|best| choices(best).join("\n"));
        assert!(no_kernels.contains("no adapter can run the kernels") && !no_kernels.contains("--backend gpu"));
        assert!(
            software.contains("--backend gpu uses llvmpipe")
                && software.contains("auto uses the CPU, because the only adapter is software")
        );
        assert!(card.contains("--backend gpu uses A card") && card.contains("at most 70 % of the time"), "{card}");
    }
}
