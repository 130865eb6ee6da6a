//! Least time of a step on a device: its dispatches and what they move, the loops that one workgroup goes round, what
//! the host records, sends, fetches and waits for.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use super::{Failure, Milliseconds, device};
use crate::gpu::Device;
use crate::lab::device::{DeviceCopy, seconds};
use crate::step::StageWork;

/// Costs of a device and its host.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Costs {
    /// Time of a dispatch that waits for the one before [us], and of one that turns out empty.
    pub dispatch_us: f64,
    pub empty_us: f64,
    /// Time that the host takes to record one [us].
    pub recording_us: f64,
    /// Time that a workgroup takes once round a loop with two sums over its threads [us].
    pub loop_us: f64,
    /// Size of the cache that all workgroups share [MB], and its bandwidth [GB/s].
    pub cache_mb: f64,
    pub cache_gb_per_s: f64,
    /// Bandwidth of large copies, bytes that are read and written [GB/s].
    pub gb_per_s: f64,
    /// Bandwidth between host and device [GB/s].
    pub bus_gb_per_s: f64,
    /// Time of a submission that the host waits for [us].
    pub round_trip_us: f64,
}

/// Devices by name, with costs that were looked up or assumed: none of them has been measured.
const PRESETS: [(&str, Costs); 3] = [
    // A desktop card of 2023 beside eight cores.
    ("rtx4070", Costs::of([2.5, 1.5, 2.0, 1.5, 36.0, 2000.0, 480.0, 12.0, 80.0])),
    // A card of a computing centre.
    ("h200", Costs::of([3.0, 2.0, 2.5, 1.8, 50.0, 5000.0, 4000.0, 12.0, 60.0])),
    // Graphics in the processor of a laptop, in the same memory.
    ("igpu", Costs::of([5.0, 3.0, 2.5, 3.0, 3.0, 250.0, 75.0, 45.0, 150.0])),
];

/// Work of a mean step on a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Demand {
    pub stages: Vec<StageDemand>,
    /// Bytes to the device and back.
    pub transfer: f64,
    pub round_trips: f64,
    /// Time of the host's own work without recording [ms].
    pub host_ms: f64,
}

/// Of one stage, as [`StageWork`] counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StageDemand {
    pub dispatches: f64,
    pub empty: f64,
    pub serial: f64,
    pub bytes: f64,
}

/// A prediction, and its parts [ms].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Floor {
    pub costs: Costs,
    pub demand: Demand,
    pub ms: f64,
    /// Dispatches that do something: each takes its launch or its bytes, whichever is longer.
    pub kernels_ms: f64,
    pub empty_ms: f64,
    pub serial_ms: f64,
    pub recording_ms: f64,
    pub transfer_ms: f64,
    pub waiting_ms: f64,
}

/// Bytes of an array whose copy costs no time but that of its dispatch, and of one that a cache holds.
const SMALL: u64 = 4096;
const CACHED: u64 = 1 << 20;
const ROUND_TRIPS: usize = 30;
/// Dispatches whose recording is measured.
const RECORDED: u32 = 1000;
/// A dispatch that is empty, and a turn of a loop in a workgroup, in dispatches: so in all of [`PRESETS`].
const OF_DISPATCH: f64 = 0.6;
/// What a bus does where it is not measured, and memory that host and device share is no bus [GB/s].
const BUS_GB_PER_S: f64 = 12.0;

impl StageDemand {
    /// The mean of `steps` steps.
    pub fn of(work: &StageWork, steps: f64) -> Self {
        Self {
            dispatches: f64::from(work.dispatches) / steps,
            empty: f64::from(work.empty) / steps,
            serial: f64::from(work.serial) / steps,
            bytes: work.bytes as f64 / steps,
        }
    }
}

impl Costs {
    /// In the order of the fields.
    const fn of(
        [dispatch_us, empty_us, recording_us, loop_us, cache_mb, cache_gb_per_s, gb_per_s, bus_gb_per_s, round_trip_us]: [f64; 9],
    ) -> Self {
        Self { dispatch_us, empty_us, recording_us, loop_us, cache_mb, cache_gb_per_s, gb_per_s, bus_gb_per_s, round_trip_us }
    }

    /// Of this device, as far as they can be measured from outside.
    pub fn measured(device: &Arc<Device>) -> Result<Self, Failure> {
        let (small, cached) = (DeviceCopy::new(device, SMALL)?, DeviceCopy::new(device, CACHED)?);
        let dispatch_us = 1e3 * device::repeat(device, |pass| small.record(pass))?.median;
        let trips: Result<Vec<f64>, _> =
            (0..ROUND_TRIPS).map(|_| Ok::<_, Failure>(1e3 * seconds(device, 1, |pass| small.record(pass))?)).collect();
        let cached_ms = device::repeat(device, |pass| cached.record(pass))?.median;
        let mut encoder = device.device.create_command_encoder(&Default::default());
        let start = Instant::now();
        let mut pass = encoder.begin_compute_pass(&Default::default());
        (0..RECORDED).for_each(|_| small.record(&mut pass));
        drop(pass);
        drop(encoder.finish());
        let recording_us = 1e6 * start.elapsed().as_secs_f64() / f64::from(RECORDED);
        let gb_per_s = device::copy(device)?.limit_gb_per_s.unwrap_or(f64::INFINITY);
        Ok(Self {
            dispatch_us,
            empty_us: OF_DISPATCH * dispatch_us,
            recording_us,
            loop_us: OF_DISPATCH * dispatch_us,
            cache_mb: 1e-6 * CACHED as f64,
            cache_gb_per_s: (1e-6 * (2 * CACHED) as f64 / cached_ms).max(gb_per_s),
            gb_per_s,
            bus_gb_per_s: if device.is_hardware() { BUS_GB_PER_S } else { gb_per_s },
            round_trip_us: 1e3 * Milliseconds::of(trips?).median,
        })
    }

    /// Dispatches of a stage that do something [ms]. Their bytes come from the cache if those of a mean one fit there.
    fn kernels_ms(&self, stage: &StageDemand) -> f64 {
        let filled = (stage.dispatches - stage.empty).max(0.0);
        let is_cached = stage.bytes <= 1e6 * self.cache_mb * filled.max(1.0);
        let gb_per_s = if is_cached { self.cache_gb_per_s } else { self.gb_per_s };
        (1e-3 * filled * self.dispatch_us).max(1e-6 * stage.bytes / gb_per_s)
    }

    pub fn floor(self, demand: Demand) -> Floor {
        let sum = |of: &dyn Fn(&StageDemand) -> f64| demand.stages.iter().map(of).sum::<f64>();
        let kernels_ms = sum(&|stage| self.kernels_ms(stage));
        let empty_ms = 1e-3 * self.empty_us * sum(&|stage| stage.empty);
        let serial_ms = 1e-3 * self.loop_us * sum(&|stage| stage.serial);
        let recording_ms = 1e-3 * self.recording_us * sum(&|stage| stage.dispatches);
        let transfer_ms = 1e-6 * demand.transfer / self.bus_gb_per_s;
        let waiting_ms = 1e-3 * self.round_trip_us * demand.round_trips;
        let ms = kernels_ms + empty_ms + serial_ms + recording_ms + transfer_ms + waiting_ms + demand.host_ms;
        Floor { costs: self, demand, ms, kernels_ms, empty_ms, serial_ms, recording_ms, transfer_ms, waiting_ms }
    }
}

impl FromStr for Costs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((_, costs)) = PRESETS.iter().find(|(name, _)| *name == text.trim()) {
            return Ok(*costs);
        }
        let numbers: Result<Vec<f64>, _> = text.split(',').map(|number| number.trim().parse::<f64>()).collect();
        let numbers = numbers.ok().and_then(|numbers| <[f64; 9]>::try_from(numbers).ok());
        match numbers.filter(|numbers| numbers.iter().all(|x| *x > 0.0 && x.is_finite())) {
            Some(numbers) => Ok(Self::of(numbers)),
            None => Err(format!(
                "a device ({}) or nine positive numbers are expected: microseconds of a dispatch, of an empty one, of recording one and of a \
                 turn of a loop in a workgroup; MB and GB/s of the cache, GB/s of the memory and of the bus; microseconds of a round trip",
                PRESETS.map(|(name, _)| name).join(", ")
            )),
        }
    }
}

impl Floor {
    pub fn print(&self, device: &str) {
        let Self { demand, ms, kernels_ms, empty_ms, serial_ms, recording_ms, transfer_ms, waiting_ms, .. } = self;
        let sum = |of: fn(&StageDemand) -> f64| demand.stages.iter().map(of).sum::<f64>();
        let (dispatches, empty) = (sum(|stage| stage.dispatches), sum(|stage| stage.empty));
        say!(
            "    {device}: at least {ms:.3} ms = {kernels_ms:.3} in {:.1} dispatches with {:.3} MB, {empty_ms:.3} in {empty:.1} empty ones, \
             {serial_ms:.3} in {:.1} turns of loops, {recording_ms:.3} of recording, {transfer_ms:.3} for {:.3} MB to and fro, {waiting_ms:.3} in \
             {:.1} round trips, and {:.3} of this host",
            dispatches - empty,
            1e-6 * sum(|stage| stage.bytes),
            sum(|stage| stage.serial),
            1e-6 * demand.transfer,
            demand.round_trips,
            demand.host_ms
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dispatch 3 us, empty 2, recording 1, loop 0.5; cache 10 MB at 1000 GB/s, memory 100 GB/s, bus 10 GB/s,
    /// trip 50 us.
    const DEVICE: &str = "3,2,1,0.5,10,1000,100,10,50";

    #[test]
    fn costs_add_up() {
        let costs: Costs = DEVICE.parse().unwrap();
        let stages = vec![
            // Bound by launches: 80 x 3 us, while 8 MB take 8 us from the cache. 20 empty ones, 40 turns of loops.
            StageDemand { dispatches: 100.0, empty: 20.0, serial: 40.0, bytes: 8e6 },
            // Bound by the cache: 10 dispatches of 5 MB take 5 us each.
            StageDemand { dispatches: 10.0, bytes: 50e6, ..StageDemand::default() },
            // Bound by the memory: 2 dispatches of 20 MB take 200 us each.
            StageDemand { dispatches: 2.0, bytes: 40e6, ..StageDemand::default() },
        ];
        let floor = costs.floor(Demand { stages, transfer: 1e6, round_trips: 2.0, host_ms: 0.5 });
        let parts = [
            (floor.kernels_ms, 0.240 + 0.050 + 0.400),
            (floor.empty_ms, 0.040),
            (floor.serial_ms, 0.020),
            (floor.recording_ms, 0.112),
            (floor.transfer_ms, 0.1),
            (floor.waiting_ms, 0.1),
        ];
        for (k, (found, wanted)) in parts.into_iter().enumerate() {
            assert!((found - wanted).abs() < 1e-12, "part {k}: {found} instead of {wanted}");
        }
        assert!((floor.ms - (0.69 + 0.04 + 0.02 + 0.112 + 0.1 + 0.1 + 0.5)).abs() < 1e-12, "{floor:?}");
    }

    /// All iterations in one workgroup are fewer dispatches, and no less time: the model must see both.
    #[test]
    fn loops_in_a_workgroup_are_not_free() {
        let costs: Costs = "rtx4070".parse().unwrap();
        let ms = |stage: StageDemand| costs.floor(Demand { stages: vec![stage], ..Demand::default() }).ms;
        let many = ms(StageDemand { dispatches: 450.0, bytes: 450.0 * 0.2e6, ..StageDemand::default() });
        let one = ms(StageDemand { dispatches: 10.0, serial: 450.0, bytes: 450.0 * 0.2e6, ..StageDemand::default() });
        assert!((many - 450.0 * (2.5 + 2.0) * 1e-3).abs() < 1e-9, "{many}");
        assert!((one - (0.045 + 0.675 + 0.020)).abs() < 1e-9, "{one}");
        // A dispatch costs its recording too: empty ones are not free either.
        assert!(ms(StageDemand { dispatches: 100.0, empty: 100.0, ..StageDemand::default() }) > 0.3);
    }

    #[test]
    fn the_mean_of_steps_is_taken() {
        let work = StageWork { dispatches: 10, bytes: 400, empty: 4, serial: 6, ..StageWork::default() };
        assert_eq!(StageDemand::of(&work, 4.0), StageDemand { dispatches: 2.5, empty: 1.0, serial: 1.5, bytes: 100.0 });
    }

    #[test]
    fn costs_are_named_or_numbers() {
        for (name, costs) in PRESETS {
            assert_eq!(name.parse::<Costs>(), Ok(costs));
        }
        for wrong in ["", "3,2000", "rtx", "3,2,1,0.5,10,1000,100,10", "3,2,1,0.5,10,1000,100,10,0", "3,2,1,0.5,10,1000,100,nan,50"] {
            let error = wrong.parse::<Costs>().unwrap_err();
            assert!(error.contains("rtx4070, h200, igpu"), "{error}");
        }
    }
}
