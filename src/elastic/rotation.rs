//! The rotation of an element, followed from step to step.

use pulp::Simd;

use crate::math::Mat3;
use crate::math::lanes::{Lanes, Matrix, choose, dot, scaled, times, times_vector, trace, transpose};

/// A unit quaternion (x, y, z, w).
pub type Quaternion = [f64; 4];

pub const IDENTITY: Quaternion = [0.0, 0.0, 0.0, 1.0];

/// Most improvements of a rotation in a time step, and the correction [rad] after which there is another. What one of
/// 0.05 rad leaves is 3e-5 rad, which the next step takes away.
pub const MAX_STEPS: usize = 8;
pub const TOLERANCE: f64 = 0.05;

/// [`matrices`] of one.
pub fn matrix(q: &Quaternion) -> Mat3 {
    let rows = matrices(&q.map(Lanes::from));
    Mat3::from_fn(|r, c| rows[r][c].into())
}

/// Weighted mean of rotations: the sum of their quaternions, of which R and -R are both signs.
pub fn mean(rotations: impl IntoIterator<Item = (Quaternion, f64)>) -> Mat3 {
    let mut sum = [0.0; 4];
    for (q, weight) in rotations {
        let side = q[0] * sum[0] + q[1] * sum[1] + q[2] * sum[2] + q[3] * sum[3];
        let weight = weight.copysign(side);
        for k in 0..4 {
            sum[k] += q[k] * weight;
        }
    }
    let norm = sum.iter().map(|c| c * c).sum::<f64>().sqrt();
    matrix(&sum.map(|c| c / norm))
}

/// Rotation matrix of a unit quaternion.
#[inline(always)]
pub fn matrices<S: Simd>([x, y, z, w]: &[Lanes<S>; 4]) -> Matrix<S> {
    let (x2, y2, z2) = (*x + *x, *y + *y, *z + *z);
    let (xx, yy, zz) = (x2 * *x, y2 * *y, z2 * *z);
    let (xy, xz, yz) = (x2 * *y, x2 * *z, y2 * *z);
    let (wx, wy, wz) = (x2 * *w, y2 * *w, z2 * *w);
    [[-(yy + zz) + 1.0, xy - wz, xz + wy], [xy + wz, -(xx + zz) + 1.0, yz - wx], [xz - wy, yz + wx, -(xx + yy) + 1.0]]
}

/// Follows the rotation of F from `q`, the rotation of the last step: one step of [`improve`], more in lanes that
/// turned far.
#[inline(always)]
pub fn follow<S: Simd>(q: [Lanes<S>; 4], f: &Matrix<S>) -> [Lanes<S>; 4] {
    let (mut q, mut correction) = improve(&q, f);
    for _ in 1..MAX_STEPS {
        let unsettled = correction + -TOLERANCE;
        if unsettled.largest() < 0.0 {
            break;
        }
        // Lanes end on their own: no tet depends on which others share its register.
        let (improved, next) = improve(&q, f);
        q = choose(unsettled, &improved, &q);
        correction = unsettled.choose(next, correction);
    }
    q
}

/// One improvement of `q` towards the rotation R of the polar decomposition F = R S, det R = +1.
///
/// With B = R^T F the trace of exp(-[w]) B is stationary to second order at w = (tr(B) I - sym B)^-1 vex(B - B^T); the
/// Cayley step q (1, w/2) keeps q a rotation, and converges quadratically (`fem-study.md` 2). Where that matrix is not
/// positive definite (far from the answer, or an inverted element) a gradient step [Mueller et al. 2016, A robust
/// method to extract the rotational part of deformations] is taken: it follows the old orientation through the
/// inversion instead of jumping to a reflection. Returns it with |w| [rad].
#[inline(always)]
pub fn improve<S: Simd>(q: &[Lanes<S>; 4], f: &Matrix<S>) -> ([Lanes<S>; 4], Lanes<S>) {
    let b = times(&transpose(&matrices(q)), f);
    let axial = [b[2][1] - b[1][2], b[0][2] - b[2][0], b[1][0] - b[0][1]];
    let trace = trace(&b);
    let [h00, h11, h22] = [trace - b[0][0], trace - b[1][1], trace - b[2][2]];
    let [h01, h02, h12] = [(b[0][1] + b[1][0]) * -0.5, (b[0][2] + b[2][0]) * -0.5, (b[1][2] + b[2][1]) * -0.5];
    let minor = h00 * h11 - h01 * h01;
    let (a01, a02, a12) = (h02 * h12 - h01 * h22, h01 * h12 - h02 * h11, h01 * h02 - h00 * h12);
    let adjugate = [[h11 * h22 - h12 * h12, a01, a02], [a01, h00 * h22 - h02 * h02, a12], [a02, a12, minor]];
    let determinant = dot(&[h00, h01, h02], &adjugate[0]);
    let scale = trace.abs().max(1e-12);
    let definite = h00.min(minor).min(determinant - scale * scale * scale * 1e-3);
    let newton = times_vector(&adjugate, &axial);
    let divisor = definite.choose(determinant, trace.abs() + 1e-9).inverse();
    let w = scaled(&choose(definite, &newton, &axial), divisor);
    // A step of at most about 0.8 rad: the quadratic model says nothing beyond.
    let length = dot(&w, &w).sqrt();
    let part = length.max(0.8).inverse() * (0.5 * 0.8);
    let [dx, dy, dz] = scaled(&w, part);
    let [x, y, z, s] = *q;
    let product = [x + s * dx + y * dz - z * dy, y + s * dy + z * dx - x * dz, z + s * dz + x * dy - y * dx, s - x * dx - y * dy - z * dz];
    (scaled(&product, dot(&product, &product).sqrt().inverse()), length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Quat, Vec3};

    /// [`super::improve`] of one rotation.
    fn improve(q: &mut Quaternion, f: &Mat3) {
        let f = [0, 1, 2].map(|r| [0, 1, 2].map(|c| Lanes::from(f[(r, c)])));
        *q = super::improve(&q.map(Lanes::from), &f).0.map(f64::from);
    }

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
