//! Random numbers for scattered copies.

use crate::math::Quat;

/// SplitMix64 [Steele, Lea & Flood 2014]: the same numbers on every machine, for ever.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform over all rotations: a point of the ball in four dimensions, projected to its sphere.
    pub fn rotation(&mut self) -> Quat {
        loop {
            let q = nalgebra::Vector4::from_fn(|_, _| 2.0 * self.unit() - 1.0);
            if (1e-4..=1.0).contains(&q.norm_squared()) {
                return Quat::new_normalize(nalgebra::Quaternion::from(q));
            }
        }
    }
}
