//! `pliant info`: this program and the adapters it could use.

use clap::Args;

use super::Failure;
use crate::material::presets::{PRESETS, Preset, Sourced};
use crate::sim::Machine;

#[derive(Args, Clone, Copy)]
#[command(after_help = "Examples:\n  \
                  pliant info               adapters and what auto would choose\n  \
                  pliant info --materials   presets of materials")]
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
    for line in Machine::examine().lines() {
        say!("{line}");
    }
    Ok(())
}

fn materials() {
    say!("{:<18} {:<20} {:>10} {:>6} {:>8}", "preset", "model", "E [Pa]", "nu", "kg/m^3");
    for preset in PRESETS {
        let Preset { name, model, young_modulus, poisson_ratio, density } = preset;
        say!("{name:<18} {:<20} {:>10e} {:>6} {:>8}", model.name(), young_modulus.value, poisson_ratio.value, density.value);
        for (number, Sourced { source, .. }) in [("E", young_modulus), ("nu", poisson_ratio), ("density", density)] {
            say!("    {number}: {source}");
        }
    }
}
