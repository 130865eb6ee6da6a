//! Singular values of 3x3 matrices and functions of symmetric ones, lane by lane.

use pulp::Simd;

use super::lanes::{Lanes, Matrix, Vector, choose, cross, dot, minus, plus, scaled, times, transpose};

/// Most sweeps of rotations; four or five are usual.
const MAX_SWEEPS: usize = 12;
/// Square of the cosine between two columns, or of an entry beside the diagonal as a part of the matrix, of which the
/// next sweep leaves nothing: it converges quadratically.
const LAST2: f64 = 1e-15;
/// What divides nothing by nothing.
const TINY: f64 = 1e-150;

/// `F = sum_k s_k u_k v_k^T` with rotations U and V, so that the last of the values bears the sign of det F
/// (`elasticity.md` 6.1, sign rule): s_0 >= s_1 >= |s_2|.
#[derive(Clone, Copy, Debug)]
pub struct Singular<S: Simd> {
    pub values: Vector<S>,
    /// u_k, so U^T.
    pub left: Matrix<S>,
    /// v_k, so V^T.
    pub right: Matrix<S>,
}

impl<S: Simd> Singular<S> {
    /// By one-sided rotations [Hestenes 1958]: columns of F V are turned until they stand at right angles, so that
    /// small values are as exact as large ones.
    #[inline(always)]
    pub fn of(f: &Matrix<S>) -> Self {
        let zero = f[0][0] * 0.0;
        let mut columns = transpose(f);
        let mut right = [[zero + 1.0, zero, zero], [zero, zero + 1.0, zero], [zero, zero, zero + 1.0]];
        let mut unsettled = zero + 1.0;
        for _ in 0..MAX_SWEEPS {
            let (mut next, mut next_right, mut again) = (columns, right, zero);
            for [p, q] in [[0, 1], [0, 2], [1, 2]] {
                let (a, b, c) = (dot(&next[p], &next[p]), dot(&next[q], &next[q]), dot(&next[p], &next[q]));
                let skew = c * c - a * b * LAST2;
                again = skew.choose(zero + 1.0, again);
                let turn = Turn::diagonalising(b - a, c);
                turn.apply(&mut next, p, q);
                turn.apply(&mut next_right, p, q);
            }
            // Lanes end on their own: no element depends on which others share its register.
            for k in 0..3 {
                columns[k] = choose(unsettled, &next[k], &columns[k]);
                right[k] = choose(unsettled, &next_right[k], &right[k]);
            }
            unsettled = unsettled.min(again);
            if unsettled.largest() <= 0.0 {
                break;
            }
        }
        for [p, q] in [[0, 1], [1, 2], [0, 1]] {
            let later_is_longer = dot(&columns[q], &columns[q]) - dot(&columns[p], &columns[p]);
            for rows in [&mut columns, &mut right] {
                let (a, b) = (rows[p], rows[q]);
                rows[p] = choose(later_is_longer, &b, &a);
                rows[q] = choose(later_is_longer, &[-a[0], -a[1], -a[2]], &b);
            }
        }
        let first = normalized_or(&columns[0], &[zero + 1.0, zero, zero]);
        let across = minus(&columns[1], &scaled(&first, dot(&first, &columns[1])));
        let second = normalized_or(&across, &any_normal(&first));
        // Once more at right angles: of a short column little may be left.
        let across = minus(&second, &scaled(&first, dot(&first, &second)));
        let second = scaled(&across, dot(&across, &across).sqrt().inverse());
        let left = [first, second, cross(&first, &second)];
        let values = [dot(&left[0], &columns[0]), dot(&left[1], &columns[1]), dot(&left[2], &columns[2])];
        Self { values, left, right }
    }

    /// `U^T A V`.
    #[inline(always)]
    pub fn in_frame(&self, a: &Matrix<S>) -> Matrix<S> {
        times(&times(&self.left, a), &transpose(&self.right))
    }

    /// `U A V^T`.
    #[inline(always)]
    pub fn out_of_frame(&self, a: &Matrix<S>) -> Matrix<S> {
        times(&times(&transpose(&self.left), a), &self.right)
    }
}

/// `sum_k f(e_k) q_k q_k^T` of a symmetric matrix with eigenvalues e_k and eigenvectors q_k.
#[inline(always)]
pub fn of_eigenvalues<S: Simd>(a: &Matrix<S>, f: impl Fn(Lanes<S>) -> Lanes<S>) -> Matrix<S> {
    let zero = a[0][0] * 0.0;
    let mut h = *a;
    let mut vectors = [[zero + 1.0, zero, zero], [zero, zero + 1.0, zero], [zero, zero, zero + 1.0]];
    let mut unsettled = zero + 1.0;
    for _ in 0..MAX_SWEEPS {
        let norm2 = dot(&h[0], &h[0]) + dot(&h[1], &h[1]) + dot(&h[2], &h[2]);
        let again = h[0][1] * h[0][1] + h[0][2] * h[0][2] + h[1][2] * h[1][2] - norm2 * LAST2;
        let (mut next, mut next_vectors) = (h, vectors);
        for [p, q] in [[0, 1], [0, 2], [1, 2]] {
            let turn = Turn::diagonalising(next[q][q] - next[p][p], next[p][q]);
            turn.apply(&mut next, p, q);
            let mut columns = transpose(&next);
            turn.apply(&mut columns, p, q);
            next = columns;
            turn.apply(&mut next_vectors, p, q);
        }
        for k in 0..3 {
            h[k] = choose(unsettled, &next[k], &h[k]);
            vectors[k] = choose(unsettled, &next_vectors[k], &vectors[k]);
        }
        unsettled = unsettled.min(again);
        if unsettled.largest() <= 0.0 {
            break;
        }
    }
    let mut sum = [[zero; 3]; 3];
    for k in 0..3 {
        let vector = vectors[k];
        let along = scaled(&vector, f(h[k][k]));
        for r in 0..3 {
            sum[r] = plus(&sum[r], along[r], &vector);
        }
    }
    sum
}

/// A rotation of two rows against each other.
#[derive(Clone, Copy)]
struct Turn<S: Simd> {
    cosine: Lanes<S>,
    sine: Lanes<S>,
}

impl<S: Simd> Turn<S> {
    /// The smaller of the rotations that make `[[a, c], [c, a + difference]]` diagonal.
    #[inline(always)]
    fn diagonalising(difference: Lanes<S>, c: Lanes<S>) -> Self {
        let root = difference.abs() + (difference * difference + c * c * 4.0).sqrt();
        let twice = (c + c) * root.max(TINY).inverse();
        let tangent = difference.choose(twice, -twice);
        let cosine = (tangent * tangent + 1.0).sqrt().inverse();
        Self { cosine, sine: tangent * cosine }
    }

    #[inline(always)]
    fn apply(&self, rows: &mut Matrix<S>, p: usize, q: usize) {
        let (a, b) = (rows[p], rows[q]);
        rows[p] = plus(&scaled(&a, self.cosine), -self.sine, &b);
        rows[q] = plus(&scaled(&b, self.cosine), self.sine, &a);
    }
}

/// `a / |a|`, or `other` where a is none.
#[inline(always)]
fn normalized_or<S: Simd>(a: &Vector<S>, other: &Vector<S>) -> Vector<S> {
    let norm2 = dot(a, a);
    choose(norm2 + -TINY * TINY, &scaled(a, norm2.sqrt().max(TINY).inverse()), other)
}

/// A unit vector at a right angle to a unit vector.
#[inline(always)]
fn any_normal<S: Simd>([x, y, z]: &Vector<S>) -> Vector<S> {
    let zero = *x * 0.0;
    let is_not_along_x = -(*x * *x) + 0.5;
    let a = choose(is_not_along_x, &[zero, *z, -*y], &[-*z, zero, *x]);
    scaled(&a, dot(&a, &a).sqrt().inverse())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Mat3;
    use crate::math::lanes::{from_matrix, to_matrix};

    fn random(k: usize) -> Mat3 {
        Mat3::from_fn(|i, j| ((9 * k + 3 * i + j) as f64 * 12.989_8).sin())
    }

    /// Scrambled, mirrored, flattened to a plane, a line and a point, with equal values, and turned only.
    fn cases() -> Vec<Mat3> {
        let turn = crate::math::Quat::from_scaled_axis(crate::math::Vec3::new(0.4, -2.0, 1.0)).to_rotation_matrix().into_inner();
        let flat = |d: [f64; 3]| turn * Mat3::from_diagonal(&d.into()) * random(90).svd(true, true).u.unwrap();
        let special = [flat([1.0, 0.7, 0.0]), flat([1.0, 0.0, 0.0]), Mat3::zeros(), flat([1.0, 1.0, 1e-9]), flat([1.0, 1.0, -1.0]), turn];
        (0..40).map(random).chain(special).collect()
    }

    #[test]
    fn singular_vectors_and_values_make_the_matrix() {
        for f in cases() {
            let found = Singular::of(&from_matrix(&f));
            let (u, v) = (to_matrix(&found.left).transpose(), to_matrix(&found.right).transpose());
            let s = found.values.map(f64::from);
            for rotation in [u, v] {
                assert!(
                    (rotation.transpose() * rotation - Mat3::identity()).norm() < 1e-14 && rotation.determinant() > 0.0,
                    "{f} {rotation}"
                );
            }
            assert!((u * Mat3::from_diagonal(&s.into()) * v.transpose() - f).norm() < 1e-14 * (1.0 + f.norm()), "{f} {s:?}");
            assert!(s[0] >= s[1] - 1e-15 && s[1] >= s[2].abs() - 1e-15, "{s:?}");
            let sizes = f.svd(false, false).singular_values;
            assert!((0..3).all(|k| (s[k].abs() - sizes[k]).abs() < 1e-13), "{s:?} {sizes}");
        }
    }

    #[test]
    fn a_function_of_eigenvalues_is_that_of_the_decomposition() {
        for a in cases() {
            let a = a + a.transpose();
            let found = to_matrix(&of_eigenvalues(&from_matrix(&a), Lanes::abs));
            let mut eigen = a.symmetric_eigen();
            eigen.eigenvalues.apply(|value| *value = value.abs());
            assert!((found - eigen.recompose()).norm() < 1e-13 * (1.0 + a.norm()), "{a} {found}");
            assert!((to_matrix(&of_eigenvalues(&from_matrix(&a), |x| x)) - a).norm() < 1e-14 * (1.0 + a.norm()));
        }
    }
}
