//! Candidates and crossings with the device's help: it sieves, and the host decides. Both are those of the host bit
//! for bit, wherever they are looked for.

mod search;
mod sieve;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub use search::Kernels as SearchKernels;
#[cfg(test)]
pub use sieve::Kernels as SieveKernels;

use std::sync::Arc;
use std::time::Instant;

use self::search::{Search, flags};
use self::sieve::Sieve;
use super::device::{Device, DeviceError};
use crate::contact::generate::{Detection, End};
use crate::contact::islands::Island;
use crate::geometry::{Bvh, Candidates, Mesh, Mobility};
use crate::math::Vec3;
use crate::step::StepReport;

/// Where contacts are looked for by a backend that solves for them on the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DetectionPlace {
    /// On a hardware adapter from [`MIN_VERTICES`] and [`MIN_PAIRS`] on, by size alone, so that a run repeats; on a
    /// software adapter the host.
    #[default]
    Auto,
    Host,
    /// The device sieves, the host decides.
    Device,
}

impl DetectionPlace {
    fn is_on_device(self, size: usize, min_size: usize) -> bool {
        match self {
            Self::Host => false,
            Self::Device => true,
            Self::Auto => size >= min_size,
        }
    }

    /// By the word that `--detection` uses.
    pub fn from_name(name: &str) -> Option<Self> {
        [("auto", Self::Auto), ("host", Self::Host), ("device", Self::Device)].iter().find(|(n, _)| *n == name).map(|(_, place)| *place)
    }
}

/// The device searches from this many vertices of bodies that move on: they, not the pairs that are left in the end,
/// are what a search works on. Two busy cores search `bunnies` (44,520 vertices) in 38 ms, .9 us a vertex, where the device
/// takes 10 dispatches, 68 MB and a round trip: .2 ms if these cost 3 us, 2 TB/s and 80 us (`pliant bench detection
/// --scene bunnies`). No card has been measured: at this many the host would take four times as long.
const MIN_VERTICES: usize = 1024;
/// The device sieves from this many candidates on: the host takes some .1 us each in every round, the device a dispatch
/// and a round trip, and at this many both take as long. The heap of `rings` has 3,500.
const MIN_PAIRS: usize = 1024;

/// Pairs that there is room for at first.
const CAPACITY: usize = 1 << 16;

pub struct Detector {
    device: Arc<Device>,
    search: Option<Search>,
    sieve: Option<Sieve>,
    place: DetectionPlace,
    /// The sieve knows the candidates of the present search.
    is_begun: bool,
}

/// What is left to look at.
pub struct Sieved<'d> {
    pub end: End<'d>,
    /// Of each island.
    pub candidates: Vec<Candidates>,
}

/// Vertices of bodies that move.
fn n_searching(mesh: &Mesh) -> usize {
    mesh.body.iter().filter(|body| mesh.mobility[**body as usize] != Mobility::Immovable).count()
}

impl Detector {
    pub fn new(device: &Arc<Device>, place: DetectionPlace) -> Self {
        let place = if place == DetectionPlace::Auto && !device.is_hardware() { DetectionPlace::Host } else { place };
        Self { device: device.clone(), search: None, sieve: None, place, is_begun: false }
    }

    /// As [`Bvh::query`].
    pub fn query(&mut self, bvh: &mut Bvh, mesh: &Mesh, x: &[Vec3], report: &mut StepReport) -> Result<Candidates, DeviceError> {
        if bvh.is_idle() || mesh.edges.is_empty() {
            return Ok(bvh.query(mesh, x));
        }
        let start = Instant::now();
        let found = if self.place.is_on_device(n_searching(mesh), MIN_VERTICES) { self.search(bvh, mesh, report)? } else { None };
        let candidates = match &found {
            Some(found) => bvh.candidates_among(mesh, x, found),
            None => bvh.query(mesh, x),
        };
        report.stages.add("detection", start.elapsed().as_secs_f64() * 1e3);
        Ok(candidates)
    }

    fn search(&mut self, bvh: &Bvh, mesh: &Mesh, report: &mut StepReport) -> Result<Option<Candidates>, DeviceError> {
        let search = match &mut self.search {
            Some(search) => search,
            none => none.insert(Search::new(&self.device, &bvh.leaves(), mesh.body.len(), mesh.mobility.len(), CAPACITY)?),
        };
        let of_body = |body: usize| flags(mesh.mobility[body] != Mobility::Immovable, bvh.meets_itself(mesh, body));
        let bodies: Vec<u32> = (0..mesh.mobility.len()).map(of_body).collect();
        let found = search.find(&bodies, bvh.vertex_sweeps())?;
        report.device_work.add("detection", search.work);
        report.round_trips += search.round_trips;
        Ok(found)
    }

    /// The candidates of all islands have changed.
    pub fn forget(&mut self) {
        self.is_begun = false;
    }

    /// What is to be looked at of `islands` with the velocity change `dv` of all unknowns; none if it is all.
    /// `is_open` tells of a island whether it is looked at.
    pub fn sieve<'d>(
        &mut self,
        detection: &'d Detection,
        islands: &[Island],
        is_open: impl Fn(usize) -> bool,
        dv: &[Vec3],
        report: &mut StepReport,
    ) -> Result<Option<Sieved<'d>>, DeviceError> {
        let open = islands.iter().enumerate().filter(|(k, _)| is_open(*k));
        let n_open = open.map(|(_, island)| island.candidates.len()).sum();
        if n_open == 0 || !self.place.is_on_device(n_open, MIN_PAIRS) {
            return Ok(None);
        }
        let step = &detection.step;
        let sieve = match &mut self.sieve {
            Some(sieve) => sieve,
            none => none.insert(Sieve::new(&self.device, &step.surfaces.mesh)?),
        };
        let parts = || islands.iter().map(|island| &island.candidates);
        if !std::mem::replace(&mut self.is_begun, true) {
            sieve.begin(parts(), &step.start)?;
        }
        let end = step.end_positions(&step.surfaces.whole, dv);
        let candidates = sieve.look(parts(), &end.x)?;
        report.device_work.add("detection", sieve.work);
        report.round_trips += 1;
        Ok(Some(Sieved { end, candidates }))
    }
}
