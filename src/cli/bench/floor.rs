//! Least time of a step on a device: its dispatches, its bytes, and its round trips to the host.

use std::str::FromStr;
use std::sync::Arc;

use serde::Serialize;

use super::{Failure, Milliseconds, device};
use crate::gpu::Device;
use crate::lab::device::{DeviceCopy, seconds};

/// Costs of a device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Costs {
    /// Time of a dispatch that waits for the one before [us].
    pub dispatch_us: f64,
    /// Bandwidth of large copies, bytes that are read and written [GB/s].
    pub gb_per_s: f64,
    /// Time of a submission that the host waits for [us].
    pub round_trip_us: f64,
}

/// Work of a mean step on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Demand {
    pub dispatches: f64,
    /// Least bytes, where they are counted.
    pub bytes: f64,
    pub round_trips: f64,
    /// Time of the host's own work [ms].
    pub host_ms: f64,
}

/// A prediction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Floor {
    pub costs: Costs,
    pub demand: Demand,
    pub ms: f64,
}

/// Bytes of an array whose copy costs no time but that of its dispatch.
const SMALL: u64 = 4096;
const ROUND_TRIPS: usize = 30;

impl Costs {
    pub fn measured(device: &Arc<Device>) -> Result<Self, Failure> {
        let small = DeviceCopy::new(device, SMALL)?;
        let dispatch = device::repeat(device, |pass| small.record(pass))?;
        let trips: Result<Vec<f64>, _> =
            (0..ROUND_TRIPS).map(|_| Ok::<_, Failure>(1e3 * seconds(device, 1, |pass| small.record(pass))?)).collect();
        let trip = Milliseconds::of(trips?);
        let gb_per_s = device::copy(device)?.limit_gb_per_s.unwrap_or(f64::INFINITY);
        Ok(Self { dispatch_us: 1e3 * dispatch.median, gb_per_s, round_trip_us: 1e3 * trip.median })
    }

    pub fn floor(self, demand: Demand) -> Floor {
        let Demand { dispatches, bytes, round_trips, host_ms } = demand;
        let ms = host_ms + 1e-3 * (dispatches * self.dispatch_us + round_trips * self.round_trip_us) + 1e-6 * bytes / self.gb_per_s;
        Floor { costs: self, demand, ms }
    }
}

impl FromStr for Costs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Result<Vec<f64>, _> = text.split(',').map(|number| number.trim().parse::<f64>()).collect();
        match numbers.as_deref() {
            Ok(&[dispatch_us, gb_per_s, round_trip_us])
                if [dispatch_us, gb_per_s, round_trip_us].iter().all(|x| *x > 0.0 && x.is_finite()) =>
            {
                Ok(Self { dispatch_us, gb_per_s, round_trip_us })
            }
            _ => {
                Err("three positive numbers are expected: microseconds a dispatch, GB/s, microseconds a round trip, as in 3,2000,50".into())
            }
        }
    }
}

impl Floor {
    pub fn print(&self, device: &str) {
        let Self { costs: Costs { dispatch_us, gb_per_s, round_trip_us }, demand: Demand { dispatches, bytes, round_trips, host_ms }, ms } =
            *self;
        say!(
            "    {device}: at least {ms:.3} ms = {dispatches:.1} dispatches of {dispatch_us:.2} us, {:.3} MB at {gb_per_s:.1} GB/s, {round_trips:.1} round trips of \
             {round_trip_us:.1} us, and {host_ms:.3} ms of this host",
            1e-6 * bytes
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_add_up() {
        let costs: Costs = "3, 2000,50".parse().unwrap();
        let floor = costs.floor(Demand { dispatches: 100.0, bytes: 4e6, round_trips: 2.0, host_ms: 0.5 });
        assert!((floor.ms - (0.3 + 0.002 + 0.1 + 0.5)).abs() < 1e-12, "{floor:?}");
        for wrong in ["", "3,2000", "3,2000,50,1", "3,0,50", "3,fast,50", "nan,1,1"] {
            assert!(wrong.parse::<Costs>().is_err(), "{wrong}");
        }
    }
}
