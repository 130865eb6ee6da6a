//! Times of repeated work, and the bandwidth that it is held against.

use std::time::Instant;

use rayon::prelude::*;

use super::Milliseconds;

/// Work is repeated for about this long [s], but at least [`LEAST`] times and at most [`MOST`]. Tests look at the
/// figures, not at the speed.
const SPAN: f64 = if cfg!(test) { 0.0 } else { 0.6 };
const LEAST: usize = 7;
const MOST: usize = 400;
const WARM_UP: usize = 2;

/// Times of `work`, repeated after a warm-up.
pub fn repeat(mut work: impl FnMut()) -> Milliseconds {
    (0..WARM_UP).for_each(|_| work());
    let begin = Instant::now();
    let mut ms = vec![];
    while ms.len() < LEAST || (ms.len() < MOST && begin.elapsed().as_secs_f64() < SPAN) {
        let start = Instant::now();
        work();
        ms.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Milliseconds::of(ms)
}

impl Milliseconds {
    /// Times of all repetitions.
    pub fn of(mut ms: Vec<f64>) -> Self {
        ms.sort_by(f64::total_cmp);
        let [Some(min), Some(max)] = [ms.first(), ms.last()] else { return Self::default() };
        Self { median: ms[ms.len() / 2], min: *min, max: *max, repetitions: ms.len() }
    }
}

/// Gigabytes a second.
pub fn gb_per_s(bytes: u64, ms: f64) -> f64 {
    bytes as f64 / ms * 1e-6
}

/// Bytes of each array of the bandwidth measurement: far above any cache.
pub const LIMIT_BYTES: usize = 128 << 20;
const CHUNK: usize = 64 * 1024;

/// Bandwidth of the memory: reading and writing are counted once each; bytes that a processor reads only to overwrite
/// them are not counted.
#[derive(Clone, Copy, Debug)]
pub struct Bandwidth {
    /// `y = x`.
    pub copy: Milliseconds,
    /// `z = x + s y`.
    pub triad: Milliseconds,
}

impl Bandwidth {
    /// With the threads of the pool that this runs in.
    pub fn measure() -> Self {
        let n = LIMIT_BYTES / 8;
        let (x, mut y, mut z) = (vec![1.0f64; n], vec![2.0; n], vec![0.0; n]);
        let copy = repeat(|| y.par_chunks_mut(CHUNK).zip(x.par_chunks(CHUNK)).for_each(|(y, x)| y.copy_from_slice(x)));
        let triad = repeat(|| {
            z.par_chunks_mut(CHUNK).zip(x.par_chunks(CHUNK)).zip(y.par_chunks(CHUNK)).for_each(|((z, x), y)| {
                z.iter_mut().zip(x).zip(y).for_each(|((z, x), y)| *z = x + 3.0 * y);
            });
        });
        Self { copy, triad }
    }

    pub fn copy_gb_per_s(&self) -> f64 {
        gb_per_s(2 * LIMIT_BYTES as u64, self.copy.min)
    }

    pub fn triad_gb_per_s(&self) -> f64 {
        gb_per_s(3 * LIMIT_BYTES as u64, self.triad.min)
    }

    /// The better of the two, each in its fastest repetition.
    pub fn limit(&self) -> f64 {
        self.copy_gb_per_s().max(self.triad_gb_per_s())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_of_the_sorted_times() {
        let ms = Milliseconds::of(vec![3.0, 1.0, 2.0, 9.0, 2.5]);
        assert_eq!((ms.min, ms.median, ms.max, ms.repetitions), (1.0, 2.5, 9.0, 5));
        assert_eq!(gb_per_s(5_000_000, 2.5), 2.0);
    }
}
