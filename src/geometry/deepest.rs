//! The point of an edge or a triangle that is deepest in a convex shape, or nearest to it.

use arrayvec::ArrayVec;

use super::closest::nearest_weights;
use super::{Shape, nearest};
use crate::math::Vec3;

/// Evaluations of a search along a line: the interval shrinks by 0.62 each.
const SEARCH_STEPS: usize = 36;

/// A triangle whose unit normal is nearer than this to the axis of a cylinder is as deep below its cap everywhere.
const LEVEL: f64 = 1e-12;

/// Weights of the corners of a vertex, an edge or a triangle, in the shape's frame, in its point that is deepest in the
/// shape or nearest to it.
pub fn deepest_weights(shape: &Shape, corners: &[Vec3]) -> [f64; 3] {
    let over_rim = || match *shape {
        Shape::Cylinder { radius, half_height } => Cylinder { radius, half_height }.over_rim(corners),
        _ => None,
    };
    on_round(shape, corners).or_else(over_rim).unwrap_or_else(|| searched(shape, corners))
}

/// The same of a sphere or the mantle of a cylinder; none where the deepest point is not on these.
///
/// The distance of a sphere is that of its middle less the radius, and the distance of a cylinder is never less than
/// that of its axis less the radius: where both are the same, the point nearest to the axis is the deepest.
fn on_round(shape: &Shape, corners: &[Vec3]) -> Option<[f64; 3]> {
    let (radius, flattened): (f64, ArrayVec<Vec3, 3>) = match *shape {
        Shape::Sphere { radius } => (radius, corners.iter().copied().collect()),
        Shape::Cylinder { radius, .. } => (radius, corners.iter().map(horizontal).collect()),
        Shape::Plane | Shape::Box { .. } => return None,
    };
    let weights = nearest_weights(&flattened, &Vec3::zeros());
    let of_axis = weighted(&flattened, &weights).norm() - radius;
    let is_deepest = of_axis > -radius && nearest(shape, &weighted(corners, &weights)).distance <= of_axis + 1e-14 * radius;
    is_deepest.then_some(weights)
}

/// A cylinder about the y axis.
#[derive(Clone, Copy, Debug)]
struct Cylinder {
    radius: f64,
    half_height: f64,
}

impl Cylinder {
    fn shape(&self) -> Shape {
        Shape::Cylinder { radius: self.radius, half_height: self.half_height }
    }

    /// Of a feature whose point nearest to the axis is beyond a cap; none where no formula tells it.
    fn over_rim(&self, corners: &[Vec3]) -> Option<[f64; 3]> {
        match *corners {
            [a, b] => self.edge_over_rim(&a, &b),
            [a, b, c] => self.triangle_over_rim(&[a, b, c]),
            _ => None,
        }
    }

    /// Inside the distance is the larger of those from cap and mantle, each convex along the edge: it is least where
    /// one of them is, or where they are the same.
    fn edge_over_rim(&self, a: &Vec3, b: &Vec3) -> Option<[f64; 3]> {
        let way = b - a;
        let at = |s: f64| a + way * s;
        let within = |s: f64| if s.is_finite() { s.clamp(0.0, 1.0) } else { 0.0 };
        let of_mantle = within(-horizontal(a).dot(&horizontal(&way)) / horizontal(&way).norm_squared());
        let of_cap = if way.y == 0.0 { of_mantle } else { within(-a.y / way.y) };
        let mut places: ArrayVec<f64, 4> = [of_mantle, of_cap].into_iter().collect();
        // rho = |y| + (radius - half height), between these two, where y has one sign.
        let (side, excess) = (at(of_mantle).y.signum(), self.radius - self.half_height);
        let (y, slope) = (side * a.y + excess, side * way.y);
        let squared = horizontal(&way).norm_squared() - slope * slope;
        let mixed = horizontal(a).dot(&horizontal(&way)) - y * slope;
        let constant = horizontal(a).norm_squared() - y * y;
        let root = mixed + mixed.signum() * (mixed * mixed - squared * constant).sqrt();
        let between = of_mantle.min(of_cap)..=of_mantle.max(of_cap);
        places.extend([-root / squared, -constant / root].into_iter().filter(|s| between.contains(s)));
        let distance = |s: &f64| nearest(&self.shape(), &at(*s)).distance;
        let deepest = places.into_iter().min_by(|s, t| distance(s).total_cmp(&distance(t)))?;
        (distance(&deepest) < 0.0).then_some([1.0 - deepest, deepest, 0.0])
    }

    /// The plane of a triangle is nearest to a rim straight above or below its normal, where it is as deep below cap as
    /// below mantle; where that point is not of the triangle an edge has the deepest one.
    fn triangle_over_rim(&self, corners: &[Vec3; 3]) -> Option<[f64; 3]> {
        let [a, b, c] = corners;
        let to_axis = nearest_weights(&corners.map(|x| horizontal(&x)), &Vec3::zeros());
        let normal = (b - a).cross(&(c - a)).try_normalize(0.0)?;
        if horizontal(&normal).norm() < LEVEL {
            return Some(to_axis);
        }
        // What cuts a disc right through is deepest on its middle plane, and what the axis of a rod pierces there.
        let heights = corners.map(|x| x.y);
        let is_cut = heights.iter().any(|y| *y < 0.0) && heights.iter().any(|y| *y > 0.0) && self.radius > self.half_height;
        if is_cut || nearest(&self.shape(), &weighted(corners, &to_axis)).distance <= -self.radius * (1.0 - 1e-9) {
            return None;
        }
        for normal in [normal, -normal] {
            let out = horizontal(&normal).normalize();
            let up = Vec3::y() * normal.y.signum();
            let rim = out * self.radius + up * self.half_height;
            let gap = normal.dot(&(a - rim));
            // Inside, from the rim inwards as far below the cap as below the mantle; outside, straight to the plane.
            let point = if gap < 0.0 { rim + (out + up) * (gap / normal.dot(&(out + up))) } else { rim + normal * gap };
            if point.dot(&out) < 0.0 || point.dot(&up) < 0.0 {
                continue;
            }
            let weights = [[b, c], [c, a], [a, b]].map(|[q, r]| (q - point).cross(&(r - point)).dot(&normal));
            let sum: f64 = weights.iter().sum();
            if weights.iter().all(|w| w / sum >= 0.0) {
                return Some(weights.map(|w| w / sum));
            }
        }
        let of_edge = |k: usize| {
            let [i, j] = [k, (k + 1) % 3];
            let [of_i, of_j, _] = deepest_weights(&self.shape(), &[corners[i], corners[j]]);
            let mut weights = [0.0; 3];
            (weights[i], weights[j]) = (of_i, of_j);
            weights
        };
        let distance = |weights: &[f64; 3]| nearest(&self.shape(), &weighted(corners, weights)).distance;
        (0..3).map(of_edge).min_by(|v, w| distance(v).total_cmp(&distance(w)))
    }
}

fn horizontal(x: &Vec3) -> Vec3 {
    Vec3::new(x.x, 0.0, x.z)
}

fn weighted(corners: &[Vec3], weights: &[f64; 3]) -> Vec3 {
    corners.iter().zip(weights).map(|(x, w)| x * *w).sum()
}

/// By nested searches along lines.
fn searched(shape: &Shape, corners: &[Vec3]) -> [f64; 3] {
    let distance = |p: &Vec3| nearest(shape, p).distance;
    match *corners {
        [a, b] => {
            let s = least(|s| distance(&(a + (b - a) * s))).0;
            [1.0 - s, s, 0.0]
        }
        [a, b, c] => {
            let along = |t: f64| least(|s| distance(&(a * (1.0 - s) + (b * (1.0 - t) + c * t) * s)));
            let t = least(|t| along(t).1).0;
            let s = along(t).0;
            [1.0 - s, s * (1.0 - t), s * t]
        }
        _ => [1.0, 0.0, 0.0],
    }
}

/// Where in [0, 1] the convex function `f` is least, and its value there (golden section).
fn least(f: impl Fn(f64) -> f64) -> (f64, f64) {
    const RATIO: f64 = 0.618_033_988_749_895;
    let (mut a, mut b) = (0.0, 1.0);
    let (mut c, mut d) = (b - RATIO * (b - a), a + RATIO * (b - a));
    let (mut fc, mut fd) = (f(c), f(d));
    for _ in 0..SEARCH_STEPS {
        if fc <= fd {
            (b, d, fd) = (d, c, fc);
            c = b - RATIO * (b - a);
            fc = f(c);
        } else {
            (a, c, fc) = (c, d, fd);
            d = a + RATIO * (b - a);
            fd = f(d);
        }
    }
    let middle = 0.5 * (a + b);
    (middle, f(middle))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: [Shape; 4] = [
        Shape::Sphere { radius: 0.4 },
        Shape::Cylinder { radius: 0.3, half_height: 0.6 },
        Shape::Cylinder { radius: 0.5, half_height: 0.1 },
        Shape::Cylinder { radius: 0.05, half_height: 0.5 },
    ];

    /// A low-discrepancy point in [-1, 1]^3.
    fn sample(k: usize) -> Vec3 {
        Vec3::new(0.819_172_5, 0.671_043_6, 0.549_700_5).map(|a: f64| (a * k as f64).fract() * 2.0 - 1.0)
    }

    /// Triangles of all sizes at the boundary of a shape, some of them level or upright.
    fn triangle(shape: &Shape, k: usize) -> [Vec3; 3] {
        let at = nearest(shape, &(sample(k) * 0.7)).point + sample(5 * k + 2) * 0.02;
        let size = [0.02, 0.2, 1.0][k % 3];
        let turned = |x: Vec3| match k % 7 {
            0 => horizontal(&x),
            1 => Vec3::new(x.x, x.y, 0.0),
            _ => x,
        };
        [1, 2, 3].map(|i| at + turned(sample(31 * k + i)) * size)
    }

    #[test]
    fn nothing_of_a_feature_is_deeper_than_its_deepest_point() {
        for shape in &SHAPES {
            let (mut inside, mut over_rim) = (0, 0);
            for k in 1..600 {
                let corners = triangle(shape, k);
                for corners in [&corners[..], &corners[..2]] {
                    let weights = deepest_weights(shape, corners);
                    assert!(weights.iter().all(|w| *w >= 0.0) && (weights.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{weights:?}");
                    let distance = |weights: &[f64; 3]| nearest(shape, &weighted(corners, weights)).distance;
                    let least = distance(&weights);
                    for point in (1..60).map(sample) {
                        let (s, t) = (0.5 + 0.5 * point.x, if corners.len() == 3 { 0.5 + 0.5 * point.y } else { 0.0 });
                        assert!(distance(&[1.0 - s, s * (1.0 - t), s * t]) > least - 1e-13, "{shape:?} {k}");
                    }
                    let by_search = distance(&searched(shape, corners));
                    assert!((least - by_search).abs() < 3e-7, "{shape:?} {k}: {least} for {by_search}");
                    inside += u32::from(least < 0.0);
                    over_rim += u32::from(least < 0.0 && on_round(shape, corners).is_none());
                }
            }
            assert!(inside > 300 && (over_rim > 50 || matches!(shape, Shape::Sphere { .. })), "{shape:?}: {inside}, {over_rim}");
        }
    }
}
