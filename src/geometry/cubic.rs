//! Roots in [0, 1] of the polynomials of time that tell when features meet.

/// Cubic in Bernstein form: it lies between its coefficients.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cubic {
    pub coefficients: [f64; 4],
    /// What is not to be told from 0.
    pub noise: f64,
}

impl Cubic {
    #[inline]
    pub fn nowhere_zero(&self) -> bool {
        let ([a, b, c, d], noise) = (self.coefficients, self.noise);
        (a > noise && b > noise && c > noise && d > noise) || (a < -noise && b < -noise && c < -noise && d < -noise)
    }

    pub fn everywhere_zero(&self) -> bool {
        self.coefficients.iter().all(|b| b.abs() <= self.noise)
    }

    /// By de Casteljau's rule.
    fn value(&self, t: f64) -> f64 {
        let (b, s) = (&self.coefficients, 1.0 - t);
        let [c0, c1, c2] = [b[0] * s + b[1] * t, b[1] * s + b[2] * t, b[2] * s + b[3] * t];
        (c0 * s + c1 * t) * s + (c1 * s + c2 * t) * t
    }

    pub fn slope(&self, t: f64) -> f64 {
        let (b, s) = (&self.coefficients, 1.0 - t);
        3.0 * ((b[1] - b[0]) * s * s + 2.0 * (b[2] - b[1]) * s * t + (b[3] - b[2]) * t * t)
    }

    /// Roots, and turning points and ends that come as close to 0 as the noise.
    pub fn roots(&self) -> Times {
        let b = &self.coefficients;
        let mut ends = Times::default();
        ends.add(0.0);
        ends.add_quadratic(b[1] - b[0], b[2] - b[1], b[3] - b[2]);
        ends.add(1.0);
        let ends = ends.sorted();
        let mut times = Times::default();
        for t in ends.iter().filter(|t| self.value(**t).abs() <= self.noise) {
            times.add(*t);
        }
        for pair in ends.windows(2) {
            if (self.value(pair[0]) < 0.0) != (self.value(pair[1]) < 0.0) {
                times.add(self.root(pair[0], pair[1]));
            }
        }
        times
    }

    /// The root between `lo` and `hi`, where the cubic has different signs and no turning point between: Newton's
    /// method, halving where it leaves the bracket.
    fn root(&self, mut lo: f64, mut hi: f64) -> f64 {
        let (first, last) = (self.value(lo), self.value(hi));
        let mut t = lo + (hi - lo) * (first / (first - last));
        for _ in 0..100 {
            let f = self.value(t);
            if f == 0.0 {
                return t;
            }
            if (f < 0.0) == (first < 0.0) {
                lo = t;
            } else {
                hi = t;
            }
            let newton = t - f / self.slope(t);
            let next = if newton > lo && newton < hi { newton } else { 0.5 * (lo + hi) };
            if (next - t).abs() <= f64::EPSILON {
                return next;
            }
            t = next;
        }
        t
    }
}

/// A few times in [0, 1].
#[derive(Default)]
pub(super) struct Times {
    times: [f64; 16],
    count: usize,
}

impl Times {
    /// Leaves out what is no time.
    pub fn add(&mut self, t: f64) {
        if (0.0..=1.0).contains(&t) && self.count < self.times.len() {
            self.times[self.count] = t;
            self.count += 1;
        }
    }

    /// Roots of c0 (1-t)^2 + 2 c1 t (1-t) + c2 t^2.
    pub fn add_quadratic(&mut self, c0: f64, c1: f64, c2: f64) {
        let h = c1 - c0;
        let discriminant = c1 * c1 - c0 * c2;
        if discriminant >= 0.0 {
            let q = -(h + discriminant.sqrt().copysign(h));
            self.add(q / (c0 - 2.0 * c1 + c2));
            self.add(c0 / q);
        }
    }

    pub fn sorted(&mut self) -> &[f64] {
        let times = &mut self.times[..self.count];
        times.sort_unstable_by(f64::total_cmp);
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots(coefficients: [f64; 4]) -> Vec<f64> {
        Cubic { coefficients, noise: 1e-15 }.roots().sorted().to_vec()
    }

    #[test]
    fn all_roots_are_found_in_order() {
        // (t - a)(t - b)(t - c) by its blossom.
        for [a, b, c] in [[0.1, 0.5, 0.9], [0.3, 0.3 + 1e-6, 2.0], [-1.0, 0.25, 3.0], [1e-9, 0.5, 1.0 - 1e-9]] {
            let blossom = |u: f64, v: f64, w: f64| {
                let p = |x: f64, y: f64, z: f64| (x - a) * (y - b) * (z - c);
                (p(u, v, w) + p(u, w, v) + p(v, u, w) + p(v, w, u) + p(w, u, v) + p(w, v, u)) / 6.0
            };
            let found = roots([blossom(0.0, 0.0, 0.0), blossom(0.0, 0.0, 1.0), blossom(0.0, 1.0, 1.0), blossom(1.0, 1.0, 1.0)]);
            let expected: Vec<f64> = [a, b, c].into_iter().filter(|t| (0.0..=1.0).contains(t)).collect();
            assert_eq!(found.len(), expected.len(), "{found:?}");
            assert!(found.iter().zip(&expected).all(|(f, e)| (f - e).abs() < 1e-9), "{found:?}");
        }
    }

    #[test]
    fn roots_that_are_only_touched_count() {
        // (t - 1/2)^2 and t^3.
        assert!(roots([0.25, -1.0 / 12.0, -1.0 / 12.0, 0.25]).iter().any(|t| (t - 0.5).abs() < 1e-7));
        assert!(roots([0.0, 0.0, 0.0, 1.0]).contains(&0.0));
        assert!(roots([1.0, 0.5, 0.2, 0.1]).is_empty());
        assert!(roots([f64::NAN; 4]).is_empty());
    }
}
