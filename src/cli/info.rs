//! `pliant info`: this program and the adapters it could use.

use clap::Args;

use super::Failure;
use crate::material::presets::{PRESETS, Preset};
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
    for Preset { name, model, young_modulus, poisson_ratio, density, source } in PRESETS {
        say!("{name:<18} {:<20} {young_modulus:>10e} {poisson_ratio:>6} {density:>8}  {source}", model.name());
    }
}
