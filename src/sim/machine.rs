//! The program and the machine that it runs on, for `pliant info` and for reports.

use serde::Serialize;

use super::backend::describe_adapters;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Machine {
    pub version: &'static str,
    /// Operating system and processor architecture.
    pub system: String,
    /// Threads of the CPU backend.
    pub cores: usize,
    /// The graphics adapters, best first, and which one would be used: lines of text.
    pub adapters: Vec<String>,
}

impl Machine {
    /// Asks the system, which takes a moment where there are drivers to load.
    pub fn examine() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            system: format!("{}, {}", std::env::consts::OS, std::env::consts::ARCH),
            cores: std::thread::available_parallelism().map_or(1, |n| n.get()),
            adapters: describe_adapters(),
        }
    }

    /// What `pliant info` says.
    pub fn lines(&self) -> Vec<String> {
        let first = [format!("pliant {} ({})", self.version, self.system), format!("{} cores for the CPU backend", self.cores)];
        first.into_iter().chain(self.adapters.iter().cloned()).collect()
    }
}

/// The instructions that the CPU backend computes with here, such as "x86_64 V3". Others have other lanes, and may
/// round a product and a sum together or one by one, so that bits differ.
pub fn instructions() -> String {
    let kind = format!("{:?}", pulp::Arch::new());
    format!("{} {}", std::env::consts::ARCH, kind.split(['(', ' ']).next().unwrap_or_default())
}
