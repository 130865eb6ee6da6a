//! The linear tetrahedron: its displacement gradient is constant.

use pulp::Simd;

use super::Element;
use crate::math::lanes::{Lanes, Matrix, Vector, minus, scaled, times, times_transposed, transpose};
use crate::math::{Mat3, Vec3};

/// Four nodes, one quadrature point. It keeps the gradients of the last three nodes; that of the first is minus their
/// sum.
#[derive(Clone, Copy, Debug)]
pub struct Tet4;

impl Element for Tet4 {
    const NODES: usize = 4;
    const QUADRATURE_POINTS: usize = 1;
    type Gradients<S: Simd> = [Vector<S>; 3];
    type Vectors<S: Simd> = [Vector<S>; 4];

    /// Summed from differences to the first node, so that a common translation leaves no trace.
    #[inline(always)]
    fn gradient<S: Simd>(gradients: &[Vector<S>; 3], [a, b, c, d]: &[Vector<S>; 4]) -> Matrix<S> {
        times(&transpose(&[minus(b, a), minus(c, a), minus(d, a)]), gradients)
    }

    #[inline(always)]
    fn scatter<S: Simd>(gradients: &[Vector<S>; 3], p: &Matrix<S>, factor: Lanes<S>) -> [Vector<S>; 4] {
        let [a, b, c] = times_transposed(gradients, p);
        let [a, b, c] = [scaled(&a, factor), scaled(&b, factor), scaled(&c, factor)];
        [[-(a[0] + b[0] + c[0]), -(a[1] + b[1] + c[1]), -(a[2] + b[2] + c[2])], a, b, c]
    }
}

/// The rest shape of one tet.
#[derive(Clone, Copy, Debug)]
pub struct Tet4Rest {
    /// grad N_c [1/m]; the four sum to zero.
    pub gradients: [Vec3; 4],
    /// [m^3]
    pub volume: f64,
}

impl Tet4Rest {
    /// The rest shape of a tet with these corners [m]; an error is its volume, which is not positive.
    pub fn new(x: &[Vec3; 4]) -> Result<Self, f64> {
        let edges = Mat3::from_columns(&[x[1] - x[0], x[2] - x[0], x[3] - x[0]]);
        let volume = edges.determinant() / 6.0;
        let inverse = edges.try_inverse().filter(|_| volume > 0.0).ok_or(volume)?;
        let [g1, g2, g3] = [0, 1, 2].map(|r| Vec3::from(inverse.row(r).transpose()));
        Ok(Self { gradients: [-g1 - g2 - g3, g1, g2, g3], volume })
    }
}

#[cfg(test)]
mod tests {
    use pulp::Scalar;

    use super::*;
    use crate::math::lanes::{from_matrix, to_matrix};

    fn rest() -> ([Vec3; 4], Tet4Rest) {
        let x = [Vec3::zeros(), Vec3::new(0.1, 0.01, 0.0), Vec3::new(0.0, 0.12, 0.02), Vec3::new(0.01, 0.0, 0.09)];
        (x, Tet4Rest::new(&x).unwrap())
    }

    fn in_lanes(v: &Vec3) -> Vector<Scalar> {
        [v.x, v.y, v.z].map(Lanes::from)
    }

    #[test]
    fn an_affine_motion_has_its_own_gradient() {
        let (x, rest) = rest();
        let a = Mat3::new(0.1, 0.3, -0.2, 0.05, -0.4, 0.15, 0.2, 0.1, -0.3);
        let [_, gradients @ ..] = rest.gradients.each_ref().map(in_lanes);
        let found = Tet4::gradient(&gradients, &x.map(|x| in_lanes(&(a * x + Vec3::new(3.0, 1.0, -2.0)))));
        assert!((to_matrix(&found) - a).norm() < 1e-12);
        assert!((rest.volume - (x[1].cross(&x[2])).dot(&x[3]) / 6.0).abs() < 1e-18);
        let mirrored = Tet4Rest::new(&[x[0], x[2], x[1], x[3]]).unwrap_err();
        assert!((mirrored + rest.volume).abs() < 1e-18);
    }

    /// The virtual work of the forces is that of the stress: `sum_c f_c . a_c = P : grad a`.
    #[test]
    fn scatter_is_the_transpose_of_the_gradient() {
        let (_, rest) = rest();
        let [_, gradients @ ..] = rest.gradients.each_ref().map(in_lanes);
        let p = Mat3::new(1.0, -2.0, 0.5, 0.3, 4.0, -1.0, 2.0, 0.7, -3.0);
        let a = [0, 1, 2, 3].map(|c| Vec3::from_fn(|r, _| ((3 * c + r) as f64 * 12.989_8).sin()));
        let forces = Tet4::scatter(&gradients, &from_matrix(&p), Lanes::from(1.0)).map(|f| Vec3::from(f.map(f64::from)));
        let work: f64 = forces.iter().zip(&a).map(|(f, a)| f.dot(a)).sum();
        let gradient = to_matrix(&Tet4::gradient(&gradients, &a.map(|a| in_lanes(&a))));
        assert!((work - p.dot(&gradient)).abs() < 1e-10 * work.abs(), "{work} {}", p.dot(&gradient));
    }

    #[test]
    fn items_name_their_corners() {
        assert_eq!(Tet4::corner_of(Tet4::corner_item(7, 3)), (7, 3));
        assert_eq!(Tet4::edge_of(Tet4::edge_item(9, [2, 1])), (9, [2, 1]));
        let pairs: Vec<[usize; 2]> = (0..Tet4::NODES).flat_map(|j| (0..j).map(move |i| [i, j])).collect();
        let numbers: Vec<usize> = pairs.iter().map(|[i, j]| Tet4::edge_number(*i, *j)).collect();
        assert_eq!(numbers, (0..Tet4::EDGES).collect::<Vec<_>>());
    }
}
