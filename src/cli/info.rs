//! `pliant info`: this program and the adapters it could use.

use clap::Args;

use super::Failure;
use crate::gpu::{AdapterDescription, list_adapters};
use crate::material::presets::{PRESETS, Preset};

#[derive(Args, Clone, Copy)]
pub struct InfoArgs {
    /// List the presets of materials instead, with where their numbers come from
    #[arg(long)]
    materials: bool,
}

pub fn info(args: InfoArgs) -> Result<(), Failure> {
    if args.materials {
        materials();
        return Ok(());
    }
    say!("pliant {}", env!("CARGO_PKG_VERSION"));
    say!("{} cores for the CPU backend", std::thread::available_parallelism().map_or(1, |n| n.get()));
    let adapters = list_adapters();
    if adapters.is_empty() {
        say!(
            "no graphics adapter was found: install a Vulkan driver (on Debian or Ubuntu `apt-get install mesa-vulkan-drivers libvulkan1`)"
        );
        say!("--backend auto uses the CPU, because there is no adapter");
        return Ok(());
    }
    for adapter in &adapters {
        describe(adapter);
    }
    // `list_adapters` has the best first.
    match adapters.iter().find(|a| a.unsuitable.is_none()) {
        None => say!("\n--backend auto uses the CPU, because no adapter can run the kernels"),
        Some(best) if best.info.device_type == wgpu::DeviceType::Cpu => {
            say!("\n--backend gpu uses {}", best.info.name);
            say!("--backend auto uses the CPU, because the only adapter is software");
        }
        Some(best) => say!("\n--backend gpu and auto use {}, because it is the first hardware adapter", best.info.name),
    }
    Ok(())
}

fn materials() {
    say!("{:<18} {:<20} {:>10} {:>6} {:>8}", "preset", "model", "E [Pa]", "nu", "kg/m^3");
    for Preset { name, model, young_modulus, poisson_ratio, density, source } in PRESETS {
        say!("{name:<18} {:<20} {young_modulus:>10e} {poisson_ratio:>6} {density:>8}  {source}", model.name());
    }
}

fn describe(adapter: &AdapterDescription) {
    let info = &adapter.info;
    say!("\n{} ({:?}, {:?})", info.name, info.device_type, info.backend);
    if !info.driver.is_empty() {
        say!("  driver    {} {}", info.driver, info.driver_info);
    }
    let limits = &adapter.limits;
    say!(
        "  limits    buffers of {} MiB, {} storage buffers a stage, {} invocations a workgroup, textures of {} pixels",
        limits.max_buffer_size >> 20,
        limits.max_storage_buffers_per_shader_stage,
        limits.max_compute_invocations_per_workgroup,
        limits.max_texture_dimension_2d
    );
    let interesting = [
        ("timestamps", wgpu::Features::TIMESTAMP_QUERY),
        ("subgroups", wgpu::Features::SUBGROUP),
        ("f16", wgpu::Features::SHADER_F16),
        ("f64", wgpu::Features::SHADER_F64),
    ];
    let features: Vec<&str> = interesting.iter().filter(|(_, f)| adapter.features.contains(*f)).map(|(name, _)| *name).collect();
    say!("  features  {}", if features.is_empty() { "none of interest".into() } else { features.join(", ") });
    if let Some(reason) = &adapter.unsuitable {
        say!("  cannot be used: {reason}");
    }
}
