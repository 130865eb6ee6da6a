//! The performance model of the thesis: throughput curves, and what they say about conjugate gradients on one device
//! and on several (`linear-algebra.md` 5).

use super::{FitError, fit};

/// Throughput of a kernel that memory bounds, against the number m of elements of four bytes that it moves (3.3):
/// `B(m) = nu / (1 + exp(-(log2 m - mu) / sigma))`.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Throughput {
    /// log2 of the elements at which half of nu is reached.
    pub mu: f64,
    pub sigma: f64,
    /// [GB/s]
    pub nu: f64,
}

/// 1/ln 2.
const SIGMA_OF_LATENCY: f64 = std::f64::consts::LOG2_E;

impl Throughput {
    pub const fn new(mu: f64, sigma: f64, nu: f64) -> Self {
        Self { mu, sigma, nu }
    }

    /// Of a kernel that is part of another.
    pub const FREE: Self = Self::new(0.0, SIGMA_OF_LATENCY, f64::INFINITY);

    /// The curve through measurements (m, GB/s) that show its rise, and the mean relative error it leaves. The fit
    /// starts from a latency and a bandwidth.
    pub fn fitted(samples: &[(f64, f64)]) -> Result<(Self, f64), FitError> {
        let of = |[mu, sigma, nu]: &[f64; 3]| Self::new(*mu, *sigma, *nu);
        let most = samples.iter().map(|(_, speed)| *speed).fold(0.0, f64::max);
        let shortest = samples.iter().copied().reduce(|a, b| if b.0 < a.0 { b } else { a });
        let latency = shortest.map_or(0.0, |(m, speed)| 4e-9 * m * (1.0 / speed - 1.0 / most)).max(1e-7);
        let start = Self::of_latency(latency, most);
        let found = of(&fit(|p, m| of(p).speed(m), samples, [start.mu, start.sigma, start.nu])?);
        Ok((found, found.error(samples)))
    }

    /// The curve through measurements (m, GB/s) that are all beyond its rise, and the mean relative error it leaves.
    /// They say nothing of mu and sigma: these are those of a latency [s] that was measured by itself.
    pub fn saturated(latency: f64, samples: &[(f64, f64)]) -> Result<(Self, f64), FitError> {
        let most = samples.iter().map(|(_, speed)| *speed).fold(0.0, f64::max);
        let [nu] = fit(|[nu], m| Self::of_latency(latency, *nu).speed(m), samples, [most])?;
        let found = Self::of_latency(latency, nu);
        Ok((found, found.error(samples)))
    }

    /// Mean relative error at measurements.
    fn error(&self, samples: &[(f64, f64)]) -> f64 {
        samples.iter().map(|(m, speed)| (self.speed(*m) - speed).abs() / speed).sum::<f64>() / samples.len() as f64
    }

    /// A latency [s] and then `nu` [GB/s]: `B = nu / (1 + latency nu / 4m)` is (3.3) with `2^mu = latency nu / 4` and
    /// sigma = 1/ln 2, close to all that the thesis fitted.
    pub fn of_latency(latency: f64, nu: f64) -> Self {
        Self::new((latency * nu * 1e9 / 4.0).log2(), SIGMA_OF_LATENCY, nu)
    }

    /// [GB/s]
    pub fn speed(&self, m: f64) -> f64 {
        self.nu / (1.0 + (-(m.log2() - self.mu) / self.sigma).exp())
    }

    /// Seconds for `m` elements of four bytes (3.5).
    pub fn seconds(&self, m: f64) -> f64 {
        4.0 * m / (self.speed(m) * 1e9)
    }
}

/// The curves of the kernels of an iteration (Algorithm 2), and how many elements of four bytes each moves.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct CgModel {
    /// 2 elements a stored entry: value and vector.
    pub product: Throughput,
    /// 2, 3, 9 and 6 elements a row.
    pub cg2: Throughput,
    pub cg3: Throughput,
    pub cg4: Throughput,
    pub cg5: Throughput,
    /// One element a row, three times.
    pub reduction: Throughput,
    /// Between devices.
    pub exchange: Throughput,
    /// Of a barrier of all devices, four an iteration [s].
    pub synchronisation: f64,
}

/// Operations a row of an iteration, beside the product.
const FLOPS_A_ROW: f64 = 15.0;

impl CgModel {
    /// Seconds of an iteration with `x` rows and `e` stored entries on one device (3.4).
    pub fn iteration(&self, x: f64, e: f64) -> f64 {
        self.product.seconds(2.0 * e)
            + self.cg2.seconds(2.0 * x)
            + self.cg3.seconds(3.0 * x)
            + self.cg4.seconds(9.0 * x)
            + self.cg5.seconds(6.0 * x)
            + 3.0 * self.reduction.seconds(x)
    }

    /// Seconds of an iteration on `n` equal devices with about the same number of blocks each; v goes through the host
    /// (3.9).
    pub fn iteration_on(&self, n: usize, x: f64, e: f64) -> f64 {
        if n == 1 {
            return self.iteration(x, e);
        }
        let parts = n as f64;
        self.iteration(x / parts, e / parts) + self.exchange.seconds(x * parts) + 4.0 * self.synchronisation
    }

    /// What `n` devices gain (3.9).
    pub fn speed_up(&self, n: usize, x: f64, e: f64) -> f64 {
        self.iteration(x, e) / self.iteration_on(n, x, e)
    }

    /// Operations of an iteration; stored zeros count only if `density`, the part of the stored entries that is not
    /// one, is 1 (3.6, 3.8).
    pub fn flops(x: f64, e: f64, density: f64) -> f64 {
        2.0 * e * density + FLOPS_A_ROW * x
    }
}
