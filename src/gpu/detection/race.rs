//! Which of two ways to the same answer is faster: both are tried.

use super::DetectionPlace;

/// Host against device.
#[derive(Debug)]
pub struct Race {
    place: DetectionPlace,
    /// Runs of both, and their least time for a pair [ms].
    runs: [u32; 2],
    best: [f64; 2],
    /// Pairs of the last run that counted.
    pairs: usize,
}

/// With fewer pairs the device is not asked: the way there and back takes longer than the host, some 0.1 us a pair.
const FEWEST: usize = 4096;
/// Runs of each before it is decided. The first one begins with compiling.
const RUNS: u32 = 4;
/// It is tried again with so many times the pairs, or so many times fewer.
const OTHER: usize = 4;

impl Race {
    pub fn new(place: DetectionPlace) -> Self {
        Self { place, runs: [0; 2], best: [f64::INFINITY; 2], pairs: 0 }
    }

    /// Where the next run of about so many pairs is to be.
    pub fn is_on_device(&self, pairs: usize) -> bool {
        match self.place {
            DetectionPlace::Host => false,
            DetectionPlace::Device => true,
            DetectionPlace::Auto if pairs < FEWEST => false,
            DetectionPlace::Auto if self.runs.iter().any(|runs| *runs < RUNS) => self.runs[1] <= self.runs[0],
            DetectionPlace::Auto => self.best[1] < self.best[0],
        }
    }

    /// A run took `ms` for so many pairs.
    pub fn note(&mut self, on_device: bool, pairs: usize, ms: f64) {
        if self.place != DetectionPlace::Auto || pairs < FEWEST {
            return;
        }
        let is_decided = self.runs.iter().all(|runs| *runs >= RUNS);
        if is_decided && (pairs > OTHER * self.pairs || OTHER * pairs < self.pairs) {
            *self = Self::new(self.place);
        } else if is_decided {
            return;
        }
        let k = usize::from(on_device);
        self.runs[k] += 1;
        self.best[k] = self.best[k].min(ms / pairs as f64);
        self.pairs = pairs;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs of a race in which the device takes `device` ms a pair and the host 1.
    fn runs(race: &mut Race, pairs: usize, device: f64, n: usize) -> Vec<bool> {
        let mut places = vec![];
        for _ in 0..n {
            let on_device = race.is_on_device(pairs);
            race.note(on_device, pairs, pairs as f64 * if on_device { device } else { 1.0 });
            places.push(on_device);
        }
        places
    }

    #[test]
    fn the_faster_place_wins_once_both_have_run() {
        for (device, wins) in [(0.5, true), (2.0, false)] {
            let mut race = Race::new(DetectionPlace::Auto);
            let places = runs(&mut race, 10_000, device, 20);
            assert_eq!(places[..8].iter().filter(|on_device| **on_device).count(), 4);
            assert!(places[8..].iter().all(|on_device| *on_device == wins));
            // Another number of pairs is another race.
            runs(&mut race, 100_000, 1.0 / device, 20);
            assert_eq!(race.is_on_device(100_000), !wins);
            assert!(!race.is_on_device(100));
        }
    }

    #[test]
    fn what_is_forced_stays() {
        for (place, on_device) in [(DetectionPlace::Host, false), (DetectionPlace::Device, true)] {
            let mut race = Race::new(place);
            assert!(runs(&mut race, 10_000, if on_device { 9.0 } else { 0.1 }, 12).iter().all(|there| *there == on_device));
        }
    }
}
