//! The rotation of an element, followed from step to step.

use crate::math::{Mat3, Vec3};

/// A unit quaternion (x, y, z, w).
pub type Quaternion = [f64; 4];

pub const IDENTITY: Quaternion = [0.0, 0.0, 0.0, 1.0];

/// Rotation matrix of a unit quaternion.
pub fn matrix(q: &Quaternion) -> Mat3 {
    let [x, y, z, w] = *q;
    Mat3::new(
        1.0 - 2.0 * (y * y + z * z),
        2.0 * (x * y - w * z),
        2.0 * (x * z + w * y),
        2.0 * (x * y + w * z),
        1.0 - 2.0 * (x * x + z * z),
        2.0 * (y * z - w * x),
        2.0 * (x * z - w * y),
        2.0 * (y * z + w * x),
        1.0 - 2.0 * (x * x + y * y),
    )
}

/// One improvement of `q` towards the rotation R of the polar decomposition F = R S, det R = +1.
///
/// With B = R^T F the trace of exp(-[w]) B is stationary to second order at w = (tr(B) I - sym B)^-1 vex(B - B^T); the Cayley step
/// q (1, w/2) keeps q a rotation, and converges quadratically (`fem-study.md` 2). Where that matrix is not positive definite (far from the answer, or
/// an inverted element) a gradient step [Mueller et al. 2016, A robust method to extract the rotational part of deformations] is taken:
/// it follows the old orientation through the inversion instead of jumping to a reflection. Returns |w| [rad].
pub fn improve(q: &mut Quaternion, f: &Mat3) -> f64 {
    let b = matrix(q).transpose() * f;
    let axial = Vec3::new(b[(2, 1)] - b[(1, 2)], b[(0, 2)] - b[(2, 0)], b[(1, 0)] - b[(0, 1)]);
    let trace = b.trace();
    let hessian = Mat3::identity() * trace - (b + b.transpose()) * 0.5;
    let minor = hessian[(0, 0)] * hessian[(1, 1)] - hessian[(0, 1)] * hessian[(1, 0)];
    let determinant = hessian.determinant();
    let scale = trace.abs().max(1e-12);
    let definite = hessian[(0, 0)] > 0.0 && minor > 0.0 && determinant > 1e-3 * scale * scale * scale;
    let w = match hessian.try_inverse().filter(|_| definite) {
        Some(inverse) => inverse * axial,
        None => axial / (trace.abs() + 1e-9),
    };
    // A step of at most about 0.8 rad: the quadratic model says nothing beyond.
    let length = w.norm();
    let w = if length > 0.8 { w * (0.8 / length) } else { w };
    let [x, y, z, s] = *q;
    let (dx, dy, dz) = (0.5 * w.x, 0.5 * w.y, 0.5 * w.z);
    let product = [x + s * dx + y * dz - z * dy, y + s * dy + z * dx - x * dz, z + s * dz + x * dy - y * dx, s - x * dx - y * dy - z * dz];
    let inverse_norm = 1.0 / product.iter().map(|c| c * c).sum::<f64>().sqrt();
    *q = product.map(|c| c * inverse_norm);
    length
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Quat;

    #[test]
    fn two_warm_steps_reach_the_polar_rotation() {
        let stretch = Mat3::new(1.1, 0.05, -0.02, 0.05, 0.9, 0.03, -0.02, 0.03, 1.05);
        let rotation = Quat::from_scaled_axis(Vec3::new(0.4, -1.0, 2.0));
        let f = rotation.to_rotation_matrix().matrix() * stretch;
        let start = rotation * Quat::from_scaled_axis(Vec3::new(0.03, 0.02, -0.04));
        let mut q = [start.i, start.j, start.k, start.w];
        improve(&mut q, &f);
        let after_one = (matrix(&q) - rotation.to_rotation_matrix().matrix()).norm();
        improve(&mut q, &f);
        let after_two = (matrix(&q) - rotation.to_rotation_matrix().matrix()).norm();
        assert!(after_one < 1e-3 && after_two < 1e-8, "{after_one:e} {after_two:e}");
    }

    #[test]
    fn an_inverted_element_keeps_a_finite_rotation() {
        let f = Mat3::from_diagonal(&Vec3::new(1.0, 1.0, -0.3));
        let mut q = IDENTITY;
        for _ in 0..50 {
            improve(&mut q, &f);
        }
        assert!((matrix(&q) - Mat3::identity()).norm() < 1e-9, "the old orientation is kept");
    }
}
