//! Random cases and numbers for tests: the same on every machine and in every run, bounded in number. A case that fails
//! is told as small as it can be made, and no file is written.

use std::fmt::Debug;

use nalgebra::Vector3;
use proptest::prelude::{Rng, Strategy};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Tries a property on `cases` values. It fails by a panic.
#[allow(dead_code)]
pub fn for_all<S: Strategy<Value: Debug>>(cases: u32, strategy: &S, property: impl Fn(S::Value)) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let outcome = runner.run(strategy, |value| {
        property(value);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

/// Numbers for a test of one case, whose size matters more than its values.
pub struct Random(TestRng);

#[allow(dead_code)]
impl Random {
    pub fn new(seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        Self(TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
    }

    /// In [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// In [-1, 1).
    pub fn signed(&mut self) -> f64 {
        2.0 * self.unit() - 1.0
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }

    /// Each component in [-1, 1).
    pub fn vector(&mut self) -> Vector3<f64> {
        Vector3::new(self.signed(), self.signed(), self.signed())
    }

    /// Each number in [-1, 1).
    pub fn list(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.signed()).collect()
    }
}
