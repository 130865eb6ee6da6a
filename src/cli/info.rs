//! `pliant info`: this program and the adapters it could use.

use super::Failure;
use crate::sim::Machine;

pub fn info() -> Result<(), Failure> {
    for line in Machine::examine().lines() {
        say!("{line}");
    }
    Ok(())
}
