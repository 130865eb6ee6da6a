//! Levenberg-Marquardt for a few parameters.

use nalgebra::{DMatrix, DVector};

#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq)]
pub enum FitError {
    #[error("{samples} measurements cannot fix {parameters} parameters")]
    TooFew { samples: usize, parameters: usize },
    #[error("a measurement is not finite")]
    NotFinite,
}

const MAX_STEPS: usize = 200;

/// Parameters p near `start` that make `sum_i (f(p, x_i) - y_i)^2` least [Levenberg 1944; Marquardt 1963]: the diagonal
/// of J^T J is raised until a step helps. Derivatives are central differences.
pub fn fit<const P: usize>(f: impl Fn(&[f64; P], f64) -> f64, samples: &[(f64, f64)], start: [f64; P]) -> Result<[f64; P], FitError> {
    if samples.len() < P {
        return Err(FitError::TooFew { samples: samples.len(), parameters: P });
    }
    let residuals = |p: &[f64; P]| DVector::from_iterator(samples.len(), samples.iter().map(|(x, y)| y - f(p, *x)));
    let mut p = start;
    let mut r = residuals(&p);
    if !r.norm_squared().is_finite() {
        return Err(FitError::NotFinite);
    }
    let mut damping = 1e-3;
    for _ in 0..MAX_STEPS {
        let jacobian = DMatrix::from_fn(samples.len(), P, |i, k| {
            let h = 1e-6 * p[k].abs().max(1e-3);
            let at = |shift: f64| {
                let mut moved = p;
                moved[k] += shift;
                f(&moved, samples[i].0)
            };
            (at(h) - at(-h)) / (2.0 * h)
        });
        let normal = jacobian.transpose() * &jacobian;
        let gradient = jacobian.transpose() * &r;
        let mut improved = false;
        while damping < 1e12 {
            let mut damped = normal.clone();
            for k in 0..P {
                damped[(k, k)] += damping * normal[(k, k)].max(1e-12);
            }
            let step = damped.cholesky().map(|factor| factor.solve(&gradient));
            if let Some(step) = step {
                let moved: [f64; P] = std::array::from_fn(|k| p[k] + step[k]);
                let left = residuals(&moved);
                if left.norm_squared() < r.norm_squared() {
                    let gain = 1.0 - left.norm_squared() / r.norm_squared();
                    (p, r) = (moved, left);
                    damping = (0.3 * damping).max(1e-12);
                    improved = gain > 1e-14;
                    break;
                }
            }
            damping *= 4.0;
        }
        if !improved {
            break;
        }
    }
    Ok(p)
}
