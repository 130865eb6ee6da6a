//! The neo-Hookean material, continued through inversion. Its twin is `shaders/material/neo_hookean.wgsl`.

use pulp::Simd;

use super::principal::{Invariants, Principal, StretchEnergy, cofactors, logarithmic, range_of_logarithmic};
use super::{Lame, Material, ValidRange};
use crate::math::lanes::{Lanes, Matrix, Vector, choose, dot, plus, scaled, times_vector, transpose};

pub type NeoHookean = Principal<NeoHookeanEnergy>;

/// `Psi = mu/2 (|s|^2 - 3) - mu ln J + lambda/2 (ln J)^2`, J = s_0 s_1 s_2 (`elasticity.md` 6, D.69), where J is at
/// least [`LEAST_J`]. Below, the second-order expansion along the ray from rest, at its point q with that J: finite
/// forces that grow linearly, so that inverted elements come back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NeoHookeanEnergy {
    lame: Lame,
}

/// eps of `elasticity.md` 6: the expansion begins here.
pub const LEAST_J: f64 = 0.7;
/// Halvings of the interval in which the ray meets `LEAST_J`.
const BISECTIONS: usize = 54;

/// What a ray from rest r = (1, 1, 1) to s has at its point q = r + t d of J = eps.
struct Ray<S: Simd> {
    /// s - r
    d: Vector<S>,
    t: Lanes<S>,
    /// 1 - t
    w: Lanes<S>,
    q: Vector<S>,
    /// 1 / q
    a: Vector<S>,
    /// Gradient of t by s.
    t_gradient: Vector<S>,
    /// y = d / q, u = -a y.
    y: Vector<S>,
    u: Vector<S>,
    /// sum y, sum y^2
    y1: Lanes<S>,
    y2: Lanes<S>,
}

impl<S: Simd> Ray<S> {
    #[inline(always)]
    fn new(s: &Vector<S>) -> Self {
        let one = s[0] * 0.0 + 1.0;
        let d = [s[0] - one, s[1] - one, s[2] - one];
        // J falls from 1 to 0 where the first stretch vanishes; beyond, the cubic has other roots.
        let mut end = one;
        for k in 0..3 {
            end = end.min((-d[k]).choose((-d[k]).max(f64::MIN_POSITIVE).inverse(), one));
        }
        let (mut low, mut high) = (one * 0.0, end);
        for _ in 0..BISECTIONS {
            let middle = (low + high) * 0.5;
            let q = plus(&[one, one, one], middle, &d);
            let is_above = q[0] * q[1] * q[2] + -LEAST_J;
            (low, high) = (is_above.choose(middle, low), is_above.choose(high, middle));
        }
        let t = (low + high) * 0.5;
        let q = plus(&[one, one, one], t, &d);
        let a = [q[0].inverse(), q[1].inverse(), q[2].inverse()];
        let y = [d[0] * a[0], d[1] * a[1], d[2] * a[2]];
        let y1 = y[0] + y[1] + y[2];
        let t_gradient = scaled(&a, -t * y1.inverse());
        let u = [-a[0] * y[0], -a[1] * y[1], -a[2] * y[2]];
        Self { d, t, w: one - t, q, a, t_gradient, y, u, y1, y2: dot(&y, &y) }
    }
}

impl NeoHookeanEnergy {
    /// Positive where the expansion holds.
    #[inline(always)]
    fn is_beyond<S: Simd>(s: &Vector<S>) -> Lanes<S> {
        -(s[0] * s[1] * s[2]) + LEAST_J
    }

    /// ln J, and lambda ln J - mu, where J is at least [`LEAST_J`].
    #[inline(always)]
    fn logarithm<S: Simd>(&self, s: &Vector<S>) -> [Lanes<S>; 2] {
        let log = logarithm(s[0] * s[1] * s[2]);
        [log, log * self.lame.lambda + -self.lame.mu]
    }

    /// `mu/2 (|s|^2 - 3) - mu ln J + lambda/2 (ln J)^2` of the first term's difference and J.
    #[inline(always)]
    fn energy_of<S: Simd>(&self, squares: Lanes<S>, j: Lanes<S>) -> Lanes<S> {
        let log = logarithm(j);
        squares * (0.5 * self.lame.mu) + log * (log * (0.5 * self.lame.lambda) + -self.lame.mu)
    }

    #[inline(always)]
    fn energy_inside<S: Simd>(&self, s: &Vector<S>) -> Lanes<S> {
        self.energy_of(dot(s, s) + -3.0, s[0] * s[1] * s[2])
    }

    /// `p_i = mu s_i + (lambda ln J - mu) / s_i` (D.70), with `a = 1 / s`.
    #[inline(always)]
    fn gradient_inside<S: Simd>(&self, s: &Vector<S>, a: &Vector<S>) -> Vector<S> {
        let [_, c] = self.logarithm(s);
        plus(&scaled(s, c * 0.0 + self.lame.mu), c, a)
    }

    /// `H = mu I - (lambda ln J - mu) diag(a^2) + lambda a a^T`.
    #[inline(always)]
    fn hessian_inside<S: Simd>(&self, s: &Vector<S>, a: &Vector<S>) -> Matrix<S> {
        let [_, c] = self.logarithm(s);
        let mut h = outer(a, &scaled(a, c * 0.0 + self.lame.lambda));
        for i in 0..3 {
            h[i][i] = h[i][i] + self.lame.mu - c * a[i] * a[i];
        }
        h
    }

    /// Third derivative along d, `T[d]`, at q.
    #[inline(always)]
    fn third<S: Simd>(&self, ray: &Ray<S>) -> Matrix<S> {
        let Ray { q, a, y, u, y1, .. } = ray;
        let (lambda, [_, c]) = (self.lame.lambda, self.logarithm(q));
        let mut third = sum(&outer(u, &scaled(a, c * 0.0 + lambda)), &outer(a, &scaled(u, c * 0.0 + lambda)));
        for i in 0..3 {
            third[i][i] = third[i][i] + a[i] * a[i] * (c * y[i] * 2.0 - *y1 * lambda);
        }
        third
    }

    /// Fourth derivative along d twice, `T4[d, d]`, at q.
    #[inline(always)]
    fn fourth<S: Simd>(&self, ray: &Ray<S>) -> Matrix<S> {
        let Ray { q, a, y, u, y1, y2, .. } = ray;
        let (lambda, [_, c]) = (self.lame.lambda, self.logarithm(q));
        let ay2 = [a[0] * y[0] * y[0], a[1] * y[1] * y[1], a[2] * y[2] * y[2]];
        let twice = c * 0.0 + 2.0 * lambda;
        let mut fourth = sum(&sum(&outer(&scaled(&ay2, twice), a), &outer(a, &scaled(&ay2, twice))), &outer(&scaled(u, twice), u));
        for i in 0..3 {
            let along = *y2 * lambda + *y1 * y[i] * (4.0 * lambda) - c * y[i] * y[i] * 6.0;
            fourth[i][i] = fourth[i][i] + a[i] * a[i] * along;
        }
        fourth
    }

    /// `Psi(q) + w g.d + w^2/2 d.H d` (D.71).
    #[inline(always)]
    fn energy_beyond<S: Simd>(&self, ray: &Ray<S>) -> Lanes<S> {
        let Ray { d, q, a, w, .. } = ray;
        let slope = dot(&self.gradient_inside(q, a), d);
        let curvature = dot(d, &times_vector(&self.hessian_inside(q, a), d));
        self.energy_inside(q) + *w * (slope + *w * curvature * 0.5)
    }

    /// `g + w H d + w^2/2 Z`, `Z = t T[d,d] + T[d,d,d] dt`.
    #[inline(always)]
    fn gradient_beyond<S: Simd>(&self, ray: &Ray<S>) -> Vector<S> {
        let Ray { d, q, a, w, .. } = ray;
        let h_d = times_vector(&self.hessian_inside(q, a), d);
        let z = ray.turning(&times_vector(&self.third(ray), d));
        plus(&plus(&self.gradient_inside(q, a), *w, &h_d), *w * *w * 0.5, &z)
    }

    /// `H Q + w H - (H d) dt^T + w T[d] Q - w Z dt^T + w^2/2 dZ`, with `Q = t I + d dt^T` and
    /// `dZ = T[d,d] dt^T + t (T4[d,d] Q + 2 T[d]) + dt (Q^T T4[d,d,d] + 3 T[d,d])^T + T[d,d,d] ddt`.
    #[inline(always)]
    fn hessian_beyond<S: Simd>(&self, ray: &Ray<S>) -> Matrix<S> {
        let Ray { d, q, a, t, w, t_gradient, y1, .. } = ray;
        let (h, third, fourth) = (self.hessian_inside(q, a), self.third(ray), self.fourth(ray));
        let (h_d, t_dd, t4_ddd) = (times_vector(&h, d), times_vector(&third, d), times_vector(&fourth, d));
        let t_ddd = dot(&t_dd, d);
        let z = ray.turning(&t_dd);
        let moved = ray.moved(); // Q
        // ddt = -(a dt^T)/D + (t/D) diag(a^2) Q + (t/D^2) a (a - Q^T (d a^2))^T, D = a.d
        let inverse = y1.inverse();
        let mut bend = outer(&scaled(a, -inverse), t_gradient);
        let turned = times_vector(&transpose(&moved), &[d[0] * a[0] * a[0], d[1] * a[1] * a[1], d[2] * a[2] * a[2]]);
        let rest = [a[0] - turned[0], a[1] - turned[1], a[2] - turned[2]];
        bend = sum(&bend, &outer(&scaled(a, *t * inverse * inverse), &rest));
        for i in 0..3 {
            bend[i] = plus(&bend[i], *t * inverse * a[i] * a[i], &moved[i]);
        }
        let by_moved = |m: &Matrix<S>| crate::math::lanes::times(m, &moved);
        let (h_q, third_q, fourth_q) = (by_moved(&h), by_moved(&third), by_moved(&fourth));
        let along = plus(&times_vector(&transpose(&moved), &t4_ddd), *t * 0.0 + 3.0, &t_dd);
        let z_changes = [outer(&t_dd, t_gradient), outer(t_gradient, &along)];
        let mut found = h_q;
        for i in 0..3 {
            let mut z_change = plus(&z_changes[0][i], *t, &fourth_q[i]);
            z_change = plus(&z_change, *t * 2.0, &third[i]);
            z_change = plus(&z_change, *t * 0.0 + 1.0, &z_changes[1][i]);
            z_change = plus(&z_change, t_ddd, &bend[i]);
            found[i] = plus(&found[i], *w, &h[i]);
            found[i] = plus(&found[i], -h_d[i] - *w * z[i], t_gradient);
            found[i] = plus(&found[i], *w, &third_q[i]);
            found[i] = plus(&found[i], *w * *w * 0.5, &z_change);
        }
        // Symmetric but for rounding.
        for [i, j] in [[0, 1], [0, 2], [1, 2]] {
            let mean = (found[i][j] + found[j][i]) * 0.5;
            (found[i][j], found[j][i]) = (mean, mean);
        }
        found
    }
}

impl<S: Simd> Ray<S> {
    /// Z of `T[d,d]`.
    #[inline(always)]
    fn turning(&self, t_dd: &Vector<S>) -> Vector<S> {
        plus(&scaled(t_dd, self.t), dot(t_dd, &self.d), &self.t_gradient)
    }

    /// Q: how q moves with s.
    #[inline(always)]
    fn moved(&self) -> Matrix<S> {
        let mut moved = outer(&self.d, &self.t_gradient);
        for i in 0..3 {
            moved[i][i] = moved[i][i] + self.t;
        }
        moved
    }
}

impl StretchEnergy for NeoHookeanEnergy {
    fn new(material: &Material) -> Self {
        Self { lame: material.lame() }
    }

    fn lame(&self) -> Lame {
        self.lame
    }

    /// From J = eps, where the expansion of `elasticity.md` 6 begins, to `ln J = 1 + mu/lambda`.
    fn valid_range(&self) -> ValidRange {
        range_of_logarithmic([-self.lame.mu, self.lame.lambda], LEAST_J)
    }

    #[inline(always)]
    fn energy<S: Simd>(&self, s: &Vector<S>) -> Lanes<S> {
        let (beyond, inside) = (Self::is_beyond(s), self.energy_inside(s));
        if beyond.largest() <= 0.0 {
            return inside;
        }
        beyond.choose(self.energy_beyond(&Ray::new(s)), inside)
    }

    #[inline(always)]
    fn energy_by_invariants<S: Simd>(&self, of: &Invariants<S>) -> Option<[Lanes<S>; 2]> {
        Some([self.energy_of(of.squares, of.volume), -of.volume + LEAST_J])
    }

    #[inline(always)]
    fn gradient<S: Simd>(&self, s: &Vector<S>) -> Vector<S> {
        let (beyond, inside) = (Self::is_beyond(s), self.gradient_inside(s, &inverses(s)));
        if beyond.largest() <= 0.0 {
            return inside;
        }
        choose(beyond, &self.gradient_beyond(&Ray::new(s)), &inside)
    }

    #[inline(always)]
    fn hessian<S: Simd>(&self, s: &Vector<S>) -> Matrix<S> {
        let (beyond, inside) = (Self::is_beyond(s), self.hessian_inside(s, &inverses(s)));
        if beyond.largest() <= 0.0 {
            return inside;
        }
        let found = self.hessian_beyond(&Ray::new(s));
        [choose(beyond, &found[0], &inside[0]), choose(beyond, &found[1], &inside[1]), choose(beyond, &found[2], &inside[2])]
    }

    fn without_volume_energy(&self) -> Self {
        Self { lame: Lame { lambda: 0.0, ..self.lame } }
    }

    #[inline(always)]
    fn volume_change<S: Simd>(&self, s: &Vector<S>) -> (Lanes<S>, Vector<S>) {
        (s[0] * s[1] * s[2], cofactors(s))
    }

    #[inline(always)]
    fn volume_by_invariants<S: Simd>(&self, of: &Invariants<S>) -> Option<Lanes<S>> {
        Some(of.volume)
    }

    /// `lambda/2 (ln J)^2`.
    #[inline(always)]
    fn volume_energy<S: Simd>(&self, change: Lanes<S>) -> [Lanes<S>; 3] {
        let [value, slope, curvature] = logarithmic([0.0, self.lame.lambda], LEAST_J, change);
        [value, slope, curvature.max(0.0)]
    }
}

/// ln J, where J is at least [`LEAST_J`].
#[inline(always)]
fn logarithm<S: Simd>(j: Lanes<S>) -> Lanes<S> {
    j.max(LEAST_J).map(f64::ln)
}

#[inline(always)]
fn inverses<S: Simd>(s: &Vector<S>) -> Vector<S> {
    [s[0].inverse(), s[1].inverse(), s[2].inverse()]
}

/// `a b^T`.
#[inline(always)]
fn outer<S: Simd>(a: &Vector<S>, b: &Vector<S>) -> Matrix<S> {
    [scaled(b, a[0]), scaled(b, a[1]), scaled(b, a[2])]
}

#[inline(always)]
fn sum<S: Simd>(a: &Matrix<S>, b: &Matrix<S>) -> Matrix<S> {
    let one = a[0][0] * 0.0 + 1.0;
    [plus(&a[0], one, &b[0]), plus(&a[1], one, &b[1]), plus(&a[2], one, &b[2])]
}
