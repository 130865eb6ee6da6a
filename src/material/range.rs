//! The deformations up to which a model answers as the solid that it stands for.

use std::fmt;

use crate::math::Mat3;

/// Deformations at which the stress of a model is that of the solid that it stands for. Up to the bounds a model
/// resists more the more it is deformed, whether it is stretched alike on all sides or along one axis between walls;
/// beyond them it still answers, but gives way, is continued by an expansion, or is far from any solid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValidRange {
    /// The least and the largest principal stretch [-].
    pub stretches: [f64; 2],
    /// The least and the largest J = det F [-]; what is turned inside out is beyond any range.
    pub volumes: [f64; 2],
    /// What the model does beyond, and what helps: sentences for a user.
    pub beyond: &'static str,
}

/// How an element is beyond a range. As text, the end of a sentence about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Violation {
    Inverted,
    /// J, and the bound that it is beyond [-].
    Volume {
        ratio: f64,
        bound: f64,
    },
    /// A principal stretch, and the bound that it is beyond [-].
    Stretch {
        stretch: f64,
        bound: f64,
    },
}

impl ValidRange {
    /// Everything.
    pub const ALL: Self = Self { stretches: [0.0, f64::INFINITY], volumes: [f64::NEG_INFINITY, f64::INFINITY], beyond: "" };

    /// Whether a deformation gradient is within the range: that [`Self::violation`] has nothing to tell, without
    /// singular values. The principal stretches are at least a where F^T F - a^2 I is positive semidefinite.
    pub fn holds(&self, f: &Mat3) -> bool {
        let ([least, most], [smallest, largest]) = (self.stretches, self.volumes);
        let ratio = f.determinant();
        // Written so that nothing holds of what is not a number.
        if !(ratio >= smallest && ratio <= largest) {
            return false;
        }
        let right_cauchy_green = f.transpose() * f;
        let squared = |stretch: f64| Mat3::from_diagonal_element(stretch * stretch);
        (least <= 0.0 || is_positive(&(right_cauchy_green - squared(least))))
            && (most.is_infinite() || is_positive(&(squared(most) - right_cauchy_green)))
    }

    /// How a deformation gradient is beyond the range, the worst first; none where it is within.
    pub fn violation(&self, f: &Mat3) -> Option<Violation> {
        let ([least, most], [smallest, largest]) = (self.stretches, self.volumes);
        let ratio = f.determinant();
        if smallest >= 0.0 && ratio < 0.0 {
            return Some(Violation::Inverted);
        }
        let volume = [smallest, largest].into_iter().zip([ratio < smallest, ratio > largest]).find(|(_, is_beyond)| *is_beyond);
        if let Some((bound, _)) = volume {
            return Some(Violation::Volume { ratio, bound });
        }
        let stretches = f.singular_values();
        let beyond = [(stretches.min(), least, stretches.min() < least), (stretches.max(), most, stretches.max() > most)];
        beyond.into_iter().find(|(.., is_beyond)| *is_beyond).map(|(stretch, bound, _)| Violation::Stretch { stretch, bound })
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let holds = |value: f64, bound: f64| if value < bound { format!("from {bound:.2} on") } else { format!("up to {bound:.2}") };
        match *self {
            Self::Inverted => write!(f, "is inside out"),
            Self::Volume { ratio, bound } => write!(f, "has {ratio:.2} of its volume, where the model holds {}", holds(ratio, bound)),
            Self::Stretch { stretch, bound } => {
                write!(f, "is {stretch:.2} times as long as at rest in one direction, where the model holds {}", holds(stretch, bound))
            }
        }
    }
}

/// Whether a symmetric matrix is positive definite, by its leading minors.
fn is_positive(m: &Mat3) -> bool {
    let minor = m[(0, 0)] * m[(1, 1)] - m[(0, 1)] * m[(0, 1)];
    m[(0, 0)] > 0.0 && minor > 0.0 && m.determinant() > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::{Constitutive, Deformation, Material, MaterialModel};
    use crate::math::lanes::from_matrix;
    use crate::math::{Quat, Vec3};

    fn turned(f: &Mat3) -> Mat3 {
        let turn = |axis: Vec3| Quat::from_scaled_axis(axis).to_rotation_matrix().into_inner();
        turn(Vec3::new(0.3, -2.0, 1.0)) * f * turn(Vec3::new(-1.0, 0.4, 0.7))
    }

    fn stretched(stretches: [f64; 3]) -> Mat3 {
        turned(&Mat3::from_diagonal(&Vec3::from(stretches)))
    }

    #[test]
    fn what_is_beyond_is_told_with_its_bound() {
        let range = ValidRange { stretches: [0.5, 2.0], volumes: [0.6, 3.0], beyond: "" };
        let told = |stretches: [f64; 3]| {
            let f = stretched(stretches);
            let violation = range.violation(&f);
            assert_eq!(range.holds(&f), violation.is_none(), "{stretches:?}");
            violation.map(|violation| violation.to_string())
        };
        assert_eq!(told([1.0, 1.0, 1.0]), None);
        assert_eq!(told([0.51, 1.5, 1.99]), None);
        assert_eq!(
            told([0.49, 1.5, 1.9]).unwrap(),
            "is 0.49 times as long as at rest in one direction, where the model holds from 0.50 on"
        );
        assert_eq!(told([1.0, 2.01, 1.0]).unwrap(), "is 2.01 times as long as at rest in one direction, where the model holds up to 2.00");
        assert_eq!(told([0.8, 0.8, 0.8]).unwrap(), "has 0.51 of its volume, where the model holds from 0.60 on");
        assert_eq!(told([1.8, 1.8, 1.8]).unwrap(), "has 5.83 of its volume, where the model holds up to 3.00");
        assert_eq!(told([1.0, 1.0, -0.9]).unwrap(), "is inside out");
        assert!(!range.holds(&Mat3::from_element(f64::NAN)) && ValidRange::ALL.holds(&stretched([3.0, 0.1, -2.0])));
    }

    /// The nominal stress [Pa] along x.
    fn stress(material: &Constitutive, stretches: [f64; 3]) -> f64 {
        let gradient = Mat3::from_diagonal(&Vec3::from(stretches)) - Mat3::identity();
        let at = Deformation { gradient: from_matrix(&gradient), rotation: from_matrix(&Mat3::identity()), state: &[] };
        material.stress(&at)[(0, 0)]
    }

    type Path = fn(f64) -> [f64; 3];
    /// Stretched alike on all sides, and along x between walls.
    const PATHS: [Path; 2] = [|s| [s, s, s], |s| [s, 1.0, 1.0]];

    /// Ends of a range along a path, the upper one at most 3.
    fn ends(range: &ValidRange, path: Path) -> [f64; 2] {
        let inside = |s: f64| range.holds(&Mat3::from_diagonal(&Vec3::from(path(s))));
        let end = |mut outside: f64| {
            let mut within = 1.0;
            for _ in 0..60 {
                let middle = 0.5 * (outside + within);
                *if inside(middle) { &mut within } else { &mut outside } = middle;
            }
            within
        };
        [end(0.0), end(3.0)]
    }

    #[test]
    fn up_to_its_bounds_a_model_resists_the_more_the_more_it_is_deformed() {
        for model in MaterialModel::ALL {
            for poisson_ratio in [0.0, 0.2, 0.3, 0.45, 0.49, 0.499] {
                for mooney_share in [0.0, 0.2, 0.3] {
                    let material = Constitutive::new(&Material { model: *model, poisson_ratio, mooney_share, ..Material::default() });
                    let range = material.valid_range();
                    assert!(range.holds(&turned(&Mat3::identity())) && !range.beyond.is_empty());
                    for path in PATHS {
                        let [low, high] = ends(&range, path);
                        assert!(low < 0.95 && high > 1.05, "{material:?}: {low} {high}");
                        let at = |k: u32| stress(&material, path(low + (high - low) * f64::from(k) / 200.0));
                        for k in 0..200 {
                            assert!(at(k + 1) > at(k), "{material:?} gives way within its range, {k} of 200 between {low} and {high}");
                        }
                    }
                }
            }
        }
    }

    /// Beyond the bound these two yield: their range is no smaller than it must be.
    #[test]
    fn a_model_that_gives_way_does_so_right_beyond_its_bound() {
        for (model, path) in [
            (MaterialModel::StVenantKirchhoff, PATHS[0]),
            (MaterialModel::StVenantKirchhoff, PATHS[1]),
            (MaterialModel::StableNeoHookean, PATHS[0]),
        ] {
            for poisson_ratio in [0.0, 0.3, 0.49] {
                let material = Constitutive::new(&Material { model, poisson_ratio, ..Material::default() });
                let [low, _] = ends(&material.valid_range(), path);
                let at = |s: f64| stress(&material, path(s));
                assert!(at(low - 0.02) > at(low - 1e-6) && at(low + 1e-6) < at(low + 0.02), "{model:?} {poisson_ratio}: {low}");
            }
        }
    }

    /// Pulled or pressed with free sides a linear law has these parts of the stress of rubber (`materials-study.md` 7).
    #[test]
    fn at_the_bounds_of_the_linear_law_it_is_no_rubber() {
        let [least, most] = Constitutive::new(&Material::default()).valid_range().stretches;
        // Young's modulus 1, incompressible.
        let rubber = |s: f64| (s - 1.0 / (s * s)) / 3.0;
        let part = |s: f64| (s - 1.0) / rubber(s);
        assert!((part(least) - 0.43).abs() < 0.01 && (part(most) - 1.71).abs() < 0.01, "{} {}", part(least), part(most));
    }
}
