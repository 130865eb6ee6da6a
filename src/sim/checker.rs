//! (placeholder until the checker lands)

use crate::math::{Isometry, Vec3};
use crate::model::Model;

pub fn max_penetration(_model: &Model, _positions: &[Vec3], _poses: &[Isometry]) -> f64 {
    f64::NAN
}
