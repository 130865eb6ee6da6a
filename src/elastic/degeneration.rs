//! Degeneration-aware polar decomposition: rotations that stay continuous where an element collapses and turns inside
//! out (`elasticity.md` 5, `materials-study.md` 4).
//!
//! The rotation of F = R S jumps where two singular values meet below zero. Here the element remembers which of its
//! features met when it collapsed, a vertex and a face or two edges, and its rotation is that of the shape in which
//! those are drawn apart again: of `F_bar = F + U D_m^-1`, whose determinant is never below half the ratio at which this
//! sets in. At that ratio U = 0 with a slope of 0.

use pulp::{Scalar, Simd};

use super::registers::{LANES, load, store};
use crate::math::lanes::{Matrix, Row, Vector, from_matrix, plus_identity, to_matrix};
use crate::math::singular::Singular;
use crate::math::{Mat3, Quat, Vec3};

/// Vertices of the features A and B of a tet: a vertex and the opposite face, or two opposite edges. They stand in the
/// order in which A moves along [`normal`] where the volume grows.
struct Pair {
    a: &'static [usize],
    b: &'static [usize],
}

const PAIRS: [Pair; 7] = [
    Pair { a: &[0], b: &[1, 3, 2] },
    Pair { a: &[1], b: &[0, 2, 3] },
    Pair { a: &[2], b: &[0, 3, 1] },
    Pair { a: &[3], b: &[0, 1, 2] },
    Pair { a: &[0, 1], b: &[2, 3] },
    Pair { a: &[0, 2], b: &[3, 1] },
    Pair { a: &[0, 3], b: &[1, 2] },
];

/// Features that are shorter than this part of the element in the other direction (needles) have no direction in which
/// they could be drawn apart.
const NEEDLE: f64 = 1e-3;
/// Halvings of an interval in which the volume changes its sign.
const BISECTIONS: usize = 60;

/// The rule, for elements that are compressed below a part of their volume. Each remembers
/// [`crate::material::DEGENERATION_ROWS`]: the number of its pair of features, 1 to 7, or 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Degeneration {
    /// beta: det F below which an element degenerates [-], above 0 and below 1.
    pub ratio: f64,
}

/// The vertices of a tet, the first of them at the origin.
type Corners = [Vec3; 4];

impl Degeneration {
    /// Chooses what elements remember from now on. They have moved from the gradients G = F - I `from` to `to`; of
    /// `pairs` the first number counts. `gradients`: of the shape functions of the last three corners [1/m].
    #[inline(always)]
    pub fn advance<S: Simd>(&self, simd: S, gradients: &[Vector<S>; 3], from: &Matrix<S>, to: &Matrix<S>, pairs: Row<S>) -> Row<S> {
        if self.are_sound(to) && pairs[0].largest() <= 0.0 {
            return pairs;
        }
        let (gradients, from, to) = (lanes_of(gradients), lanes_of(from), lanes_of(to));
        of_lanes(simd, pairs, |lane, pair| {
            let [rest, from, to] = [inverse(&gradients[lane]), deformation_gradient(&from[lane]), deformation_gradient(&to[lane])];
            [self.pair(&rest, &from, &to, pair[0]), 0.0, 0.0, 0.0]
        })
    }

    /// The rotations at the gradients G = F - I with what is remembered; `q`, the followed ones, of elements that have
    /// no pair.
    #[inline(always)]
    pub fn turn<S: Simd>(&self, simd: S, gradients: &[Vector<S>; 3], gradient: &Matrix<S>, pairs: Row<S>, q: Row<S>) -> Row<S> {
        if self.are_sound(gradient) || pairs[0].largest() <= 0.0 {
            return q;
        }
        let (gradients, gradient) = (lanes_of(gradients), lanes_of(gradient));
        let mut numbers = [0.0; LANES];
        store(pairs, &mut numbers, |number, row| *number = row[0]);
        of_lanes(simd, q, |lane, q| {
            let f = deformation_gradient(&gradient[lane]);
            if f.determinant() >= self.ratio {
                return q;
            }
            self.rotation(&inverse(&gradients[lane]), &f, numbers[lane]).unwrap_or(q)
        })
    }

    /// As [`Self::advance`], where a step begins, and [`Self::turn`] of one element: the number that it remembers from
    /// now on, and its rotation where that is not the followed one. `from`: F before the last step, none where no step
    /// begins; `to`: F; `gradients`: of the shape functions of the last three corners [1/m].
    pub fn of_element(&self, gradients: &[Vec3; 3], from: Option<&Mat3>, to: &Mat3, remembered: f64) -> (f64, Option<[f64; 4]>) {
        let is_sound = to.determinant() >= self.ratio;
        if is_sound && (remembered == 0.0 || from.is_none()) {
            return (remembered, None);
        }
        let rest = Mat3::from_rows(&gradients.map(|gradient| gradient.transpose())).try_inverse().unwrap_or_else(Mat3::zeros);
        let pair = from.map_or(remembered, |from| self.pair(&rest, from, to, remembered));
        (pair, if is_sound { None } else { self.rotation(&rest, to, pair) })
    }

    /// All det F of a register reach the ratio; false for what is not a number.
    #[inline(always)]
    fn are_sound<S: Simd>(&self, gradient: &Matrix<S>) -> bool {
        let [a, b, c] = plus_identity(gradient);
        let cofactor = |i: usize, j: usize| b[i] * c[j] - b[j] * c[i];
        let determinant = a[0] * cofactor(1, 2) + a[1] * cofactor(2, 0) + a[2] * cofactor(0, 1);
        let missing = -determinant + self.ratio;
        missing.largest() <= 0.0
    }

    /// The number of the pair of an element that has moved from F to F, given the one that it remembers. `rest`: D_m,
    /// its edges from the first vertex at rest [m].
    fn pair(&self, rest: &Mat3, from: &Mat3, to: &Mat3, remembered: f64) -> f64 {
        let determinant = to.determinant();
        if determinant >= self.ratio || !determinant.is_finite() {
            return 0.0;
        }
        if number(remembered).is_some() {
            return remembered;
        }
        let met = (from.determinant() >= self.ratio).then(|| first_collapse(from, to)).flatten();
        let place = match met {
            // Which features met: not to be asked for inside of both exactly, of roundings at an edge.
            Some(t) => innermost(&corners(&((from + (to - from) * t) * rest))),
            None => nearest(&corners(&(to * rest))),
        };
        (place + 1) as f64
    }

    /// The rotation of F_bar as a quaternion (x, y, z, w); that of the signed singular values where the features of the
    /// pair have no direction; None without a pair.
    fn rotation(&self, rest: &Mat3, f: &Mat3, remembered: f64) -> Option<[f64; 4]> {
        let shifted = self.undegenerate(rest, f, number(remembered)?).unwrap_or(*f);
        let Singular { left, right, .. } = Singular::<Scalar>::of(&from_matrix(&shifted));
        let rotation = to_matrix(&left).transpose() * to_matrix(&right);
        let q = Quat::from_rotation_matrix(&nalgebra::Rotation3::from_matrix_unchecked(rotation));
        let q = [q.i, q.j, q.k, q.w];
        q.iter().all(|c| c.is_finite()).then_some(q)
    }

    /// F_bar, given the place of a pair; None of a needle.
    fn undegenerate(&self, rest: &Mat3, f: &Mat3, place: usize) -> Option<Mat3> {
        let edges = f * rest;
        let x = corners(&edges);
        let normal = normal(&x, &PAIRS[place]);
        let area = normal.norm();
        let size2 = rest.norm_squared() / 3.0;
        if area.is_nan() || area <= NEEDLE * size2 {
            return None;
        }
        // A shift of A along the unit normal adds the area to the determinant for each metre.
        let height = edges.determinant() / area;
        let least = self.ratio * rest.determinant() / area;
        let shift = normal * (push(height, least) / area);
        let of = |vertex: usize| if PAIRS[place].a.contains(&vertex) { shift } else { Vec3::zeros() };
        let moved = Mat3::from_columns(&[of(1) - of(0), of(2) - of(0), of(3) - of(0)]);
        Some(f + moved * rest.try_inverse()?)
    }
}

/// `lambda(w, h)`: 0 from a height of h on, and what keeps h/2 below 0; its slope is continuous.
fn push(height: f64, least: f64) -> f64 {
    match height {
        w if w >= least => 0.0,
        w if w >= 0.0 => (least - w) * (least - w) / (2.0 * least),
        w => 0.5 * least - w,
    }
}

/// The place of a remembered pair.
fn number(remembered: f64) -> Option<usize> {
    (remembered >= 1.0).then(|| (remembered as usize - 1).min(PAIRS.len() - 1))
}

fn corners(edges: &Mat3) -> Corners {
    [Vec3::zeros(), edges.column(0).into(), edges.column(1).into(), edges.column(2).into()]
}

/// The normal of the face, or of both edges; as long as what it is made of.
fn normal(x: &Corners, Pair { a, b }: &Pair) -> Vec3 {
    let along = x[b[1]] - x[b[0]];
    match a {
        [p, q] => (x[*q] - x[*p]).cross(&along),
        _ => along.cross(&(x[b[2]] - x[b[0]])),
    }
}

/// The smallest barycentric coordinate of where the features of a pair are nearest; they meet where it is not negative.
fn smallest_barycentric(x: &Corners, pair: &Pair) -> f64 {
    let Pair { a, b } = pair;
    let n = normal(x, pair);
    let n2 = n.norm_squared();
    let smallest = match a {
        [p, q] => {
            let (along_a, along_b, between) = (x[*q] - x[*p], x[b[1]] - x[b[0]], x[b[0]] - x[*p]);
            let (s, t) = (between.cross(&along_b).dot(&n) / n2, between.cross(&along_a).dot(&n) / n2);
            s.min(1.0 - s).min(t).min(1.0 - t)
        }
        _ => {
            let p = x[a[0]];
            let part = |i: usize, j: usize| (x[b[i]] - p).cross(&(x[b[j]] - p)).dot(&n) / n2;
            part(1, 2).min(part(2, 0)).min(part(0, 1))
        }
    };
    // Features without a normal meet nowhere.
    if smallest.is_finite() { smallest } else { f64::NEG_INFINITY }
}

/// The pair whose features meet deepest inside of each other.
fn innermost(x: &Corners) -> usize {
    let depths = PAIRS.each_ref().map(|pair| smallest_barycentric(x, pair));
    (0..PAIRS.len()).fold(0, |best, place| if depths[place] > depths[best] { place } else { best })
}

/// Without a past: of the pairs whose features are over each other the nearest.
fn nearest(x: &Corners) -> usize {
    let over = (0..PAIRS.len()).filter(|place| smallest_barycentric(x, &PAIRS[*place]) >= 0.0);
    // All have the same volume; the largest area has the smallest height.
    let area = |place: &usize| normal(x, &PAIRS[*place]).norm();
    over.max_by(|a, b| area(a).total_cmp(&area(b)).then(b.cmp(a))).unwrap_or_else(|| innermost(x))
}

/// The first time, from 0 to 1, at which the determinant is 0 on the straight way between two gradients.
fn first_collapse(from: &Mat3, to: &Mat3) -> Option<f64> {
    let way = to - from;
    let at = |t: f64| (from + way * t).determinant();
    // det (A + t B) is a cubic with these coefficients; between the roots of its slope it is monotone.
    let (linear, quadratic, cubic) = ((cofactors(from)).dot(&way), cofactors(&way).dot(from), way.determinant());
    let (half, discriminant) = (-quadratic, quadratic * quadratic - 3.0 * linear * cubic);
    let mut ends = [1.0; 3];
    if discriminant >= 0.0 {
        let sum = half + half.signum() * discriminant.sqrt();
        ends = [sum / (3.0 * cubic), linear / sum, 1.0].map(|t| if t > 0.0 && t < 1.0 { t } else { 1.0 });
        ends.sort_by(f64::total_cmp);
    }
    let mut start = 0.0;
    for end in ends {
        if at(end) <= 0.0 {
            let (mut low, mut high) = (start, end);
            for _ in 0..BISECTIONS {
                let middle = 0.5 * (low + high);
                if at(middle) <= 0.0 { high = middle } else { low = middle }
            }
            return Some(high);
        }
        start = end;
    }
    None
}

fn cofactors(m: &Mat3) -> Mat3 {
    let [a, b, c]: [Vec3; 3] = [m.column(0).into(), m.column(1).into(), m.column(2).into()];
    Mat3::from_columns(&[b.cross(&c), c.cross(&a), a.cross(&b)])
}

/// D_m from the gradients of the last three shape functions, its inverse's rows.
fn inverse(gradients: &[[f64; 3]; 3]) -> Mat3 {
    Mat3::from_fn(|r, c| gradients[r][c]).try_inverse().unwrap_or_else(Mat3::zeros)
}

fn deformation_gradient(gradient: &[[f64; 3]; 3]) -> Mat3 {
    Mat3::from_fn(|r, c| gradient[r][c]) + Mat3::identity()
}

/// Rows of three numbers, lane by lane.
#[inline(always)]
fn lanes_of<S: Simd>(rows: &[Vector<S>; 3]) -> [[[f64; 3]; 3]; LANES] {
    let mut lanes = [[[0.0; 3]; 3]; LANES];
    for (k, row) in rows.iter().enumerate() {
        store([row[0], row[1], row[2], row[0] * 0.0], &mut lanes, |lane, [x, y, z, _]| lane[k] = [x, y, z]);
    }
    lanes
}

/// Another four numbers for each lane, made one by one: no element depends on which others share its register.
#[inline(always)]
fn of_lanes<S: Simd>(simd: S, rows: Row<S>, mut of: impl FnMut(usize, [f64; 4]) -> [f64; 4]) -> Row<S> {
    let mut lanes = [[0.0; 4]; LANES];
    store(rows, &mut lanes, |lane, row| *lane = row);
    for (lane, row) in lanes.iter_mut().enumerate().take(S::F64_LANES) {
        *row = of(lane, *row);
    }
    load(simd, |lane| lanes[lane])
}

#[cfg(test)]
mod tests;
