//! Where surface points and obstacles meet: signed distances and the linearisation that a contact row is made of.

use arrayvec::ArrayVec;
use pulp::{Arch, Simd, WithSimd};

use super::Shape;
use crate::math::{Isometry, Mat3, Vec3};

/// Nearest point of a shape's boundary, in the shape's frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// Distance [m], negative inside.
    pub distance: f64,
    /// Outward unit normal of the boundary at `point`.
    pub normal: Vec3,
    pub point: Vec3,
}

/// The boundary point of `shape` nearest to `p`, both in the shape's frame. On the medial axis, where several points
/// are nearest, one is chosen by a fixed rule.
pub fn nearest(shape: &Shape, p: &Vec3) -> Nearest {
    match *shape {
        Shape::Plane => Nearest { distance: p.y, normal: Vec3::y(), point: Vec3::new(p.x, 0.0, p.z) },
        Shape::Sphere { radius } => {
            let r = p.norm();
            let normal = if r > 0.0 { p / r } else { Vec3::y() };
            Nearest { distance: r - radius, normal, point: normal * radius }
        }
        Shape::Box { half_extents } => nearest_on_box(&half_extents, p),
        Shape::Cylinder { radius, half_height } => {
            // The profile is the rectangle [0, radius] x [-half_height, half_height] in (radial, axial) coordinates.
            let radial = Vec3::new(p.x, 0.0, p.z);
            let rho = radial.norm();
            let outward = if rho > 0.0 { radial / rho } else { Vec3::x() };
            let profile = nearest_on_box(&Vec3::new(radius, half_height, f64::INFINITY), &Vec3::new(rho, p.y, 0.0));
            let lift = |v: &Vec3| outward * v.x + Vec3::y() * v.y;
            Nearest { distance: profile.distance, normal: lift(&profile.normal), point: lift(&profile.point) }
        }
    }
}

fn nearest_on_box(half: &Vec3, p: &Vec3) -> Nearest {
    let clamped = Vec3::from_fn(|i, _| p[i].clamp(-half[i], half[i]));
    let outside = p - clamped;
    let distance = outside.norm();
    if distance > 0.0 {
        return Nearest { distance, normal: outside / distance, point: clamped };
    }
    let depth = Vec3::from_fn(|i, _| half[i] - p[i].abs());
    let axis = (1..3).fold(0, |best, i| if depth[i] < depth[best] { i } else { best });
    let mut normal = Vec3::zeros();
    normal[axis] = if p[axis] < 0.0 { -1.0 } else { 1.0 };
    let mut point = *p;
    point[axis] = half[axis] * normal[axis];
    Nearest { distance: -depth[axis], normal, point }
}

/// Smallest half thickness of a shape [m]: a point that moves less than this in a step cannot pass through unseen.
pub fn half_thickness(shape: &Shape) -> f64 {
    match *shape {
        Shape::Plane => f64::INFINITY,
        Shape::Box { half_extents } => half_extents.min(),
        Shape::Sphere { radius } => radius,
        Shape::Cylinder { radius, half_height } => radius.min(half_height),
    }
}

/// How far a ball or a cylinder of some radius [m] may rise above the corners of an edge or a triangle of a size [m],
/// its longest edge: a feature with all corners further than this from it has no point inside. For a cylinder only if
/// all of them are beside the mantle.
///
/// A point p of the feature is a mean of its corners x with weights w, and `|p|^2 = sum w |x|^2 - sum_{a<b} w_a w_b
/// |x_a - x_b|^2`, where the products of weights sum up to a third at most.
pub fn sagitta(radius: f64, size: f64) -> f64 {
    let spread = size * size / 3.0;
    spread / (radius + (radius * radius + spread).sqrt())
}

/// An obstacle over one step.
#[derive(Clone, Copy, Debug)]
pub struct MovingShape {
    pub shape: Shape,
    /// World from shape, at both ends of the step.
    pub pose_t0: Isometry,
    pub pose_t1: Isometry,
}

/// The geometry that a contact row is made of: the tangent plane of the obstacle where a point meets it.
#[derive(Clone, Copy, Debug)]
pub struct TangentPlane {
    /// Outward unit normal at the end of the step, world frame.
    pub normal: Vec3,
    /// Point of the obstacle at the end of the step [m], world frame.
    pub point: Vec3,
    /// Motion of that material point of the obstacle over the step [m].
    pub displacement: Vec3,
    /// Distance of the end position [m], measured along the normal.
    pub gap: f64,
    /// Over a rim, along the edge or triangle that the point is of.
    pub lies_along: bool,
}

/// Most evaluations along the path of a fast point.
const MAX_PATH_SAMPLES: usize = 64;

/// Where the path from `p0`, outside, to `p1` first comes within `near` [m] of the boundary, if it does: no step is
/// longer than the distance to it, so nothing is jumped over however thin it is.
fn first_entry(shape: &Shape, p0: &Vec3, p1: &Vec3, near: f64) -> Option<Nearest> {
    let length = (p1 - p0).norm();
    let mut travelled = 0.0;
    for _ in 0..MAX_PATH_SAMPLES {
        let here = nearest(shape, &(p0 + (p1 - p0) * (travelled / length)));
        // A point that starts inside is left to the nearest boundary.
        if here.distance < 0.0 && travelled == 0.0 {
            return None;
        }
        if here.distance <= near {
            return Some(here);
        }
        travelled += here.distance;
        if travelled > length {
            return None;
        }
    }
    None
}

/// The plane through the rim of a cylinder at the point `p` that lies along an edge or a triangle; its distance is that
/// of `p`. None where the feature lies along no such plane between those of cap and mantle, or one of these tells more:
/// the feature sinks less deep below it.
///
/// Where a feature bends over a rim, cap and mantle are as near as each other in its deepest point, and a row along the
/// normal of either pushes it along itself, below the other. The least way out is across both feature and rim.
fn across_rim(shape: &Shape, p: &Vec3, corners: &[Vec3], near: &Nearest) -> Option<Nearest> {
    let Shape::Cylinder { radius, half_height } = *shape else { return None };
    let (mantle, cap) = (Vec3::new(p.x, 0.0, p.z).try_normalize(0.0)?, Vec3::y() * p.y.signum());
    // In these two directions: across an edge, and along the normal of a triangle.
    let (of_cap, of_mantle) = match *corners {
        [a, b] => ((b - a).dot(&mantle), -(b - a).dot(&cap)),
        [a, b, c] => {
            let normal = (b - a).cross(&(c - a));
            (normal.dot(&cap), normal.dot(&mantle))
        }
        _ => return None,
    };
    let is_between = of_cap * of_mantle > 0.0;
    let normal = is_between.then(|| cap * of_cap.abs() + mantle * of_mantle.abs())?.try_normalize(0.0)?;
    let point = mantle * radius + cap * half_height;
    let sinks = |point: &Vec3, normal: &Vec3| corners.iter().map(|x| (x - point).dot(normal)).fold(f64::INFINITY, f64::min);
    let is_least = sinks(&point, &normal) > sinks(&near.point, &near.normal);
    is_least.then(|| Nearest { distance: (p - point).dot(&normal), normal, point })
}

impl MovingShape {
    /// Whether a point that goes so far, seen from the shape [m], may come out of another side than it goes in.
    pub fn may_pass(&self, way: f64) -> bool {
        // Written so that what is not a number may.
        let is_short = way <= 0.5 * half_thickness(&self.shape);
        !is_short
    }

    /// How far a point goes in the step seen from the shape, at most [m], that goes `way` [m] in space and starts at a
    /// distance of `arm` [m] from the middle.
    pub fn way_seen(&self, way: f64, arm: f64) -> f64 {
        way + (self.pose_t1.translation.vector - self.pose_t0.translation.vector).norm() + self.turn() * arm
    }

    /// How much further than its middle a point of it at unit distance goes as it turns, at most [-]: the 2-norm of the
    /// difference of two rotations by their angle.
    fn turn(&self) -> f64 {
        2.0 * (0.5 * self.pose_t0.rotation.angle_to(&self.pose_t1.rotation)).sin() + f64::EPSILON
    }

    /// How far a point is from the nearer rim along the axis of a cylinder, at the end of the step [m]; below 0 beyond
    /// it. There is none in other shapes.
    pub fn room_at_end(&self, x: &Vec3) -> f64 {
        let Shape::Cylinder { half_height, .. } = self.shape else { return f64::INFINITY };
        half_height - (x - self.pose_t1.translation.vector).dot(&(self.pose_t1.rotation * Vec3::y())).abs()
    }

    /// The tangent plane for a point that goes from `x_t0` to `x_t1` [m, world]. The path is followed in the obstacle's
    /// frame, so that a fast point meets the side it enters by, not the one it would leave by.
    pub fn tangent_plane(&self, x_t0: &Vec3, x_t1: &Vec3) -> TangentPlane {
        self.tangent_plane_along(&[], x_t0, x_t1)
    }

    /// The same for a point of an edge or a triangle, with the places of its corners at the end of the step [m, world]:
    /// over a rim the plane lies along the feature.
    pub fn tangent_plane_along(&self, corners: &[Vec3], x_t0: &Vec3, x_t1: &Vec3) -> TangentPlane {
        let local = |x: &Vec3| self.pose_t1.inverse_transform_point(&(*x).into()).coords;
        let p0 = self.pose_t0.inverse_transform_point(&(*x_t0).into()).coords;
        let p1 = local(x_t1);
        let mut near = nearest(&self.shape, &p1);
        let is_fast = self.may_pass((p1 - p0).norm()) && near.distance < (p1 - p0).norm();
        if is_fast {
            near = first_entry(&self.shape, &p0, &p1, 1e-3 * half_thickness(&self.shape)).unwrap_or(near);
        }
        let corners: ArrayVec<Vec3, 3> = corners.iter().map(local).collect();
        // What is fast may come out of the other side: it comes from above the plane that holds it.
        let across = across_rim(&self.shape, &p1, &corners, &near).filter(|along| !is_fast || (p0 - along.point).dot(&along.normal) > 0.0);
        let lies_along = across.is_some();
        let near = across.unwrap_or(near);
        let point = self.pose_t1.transform_point(&near.point.into()).coords;
        let start = self.pose_t0.transform_point(&near.point.into()).coords;
        let normal = self.pose_t1.rotation * near.normal;
        TangentPlane { normal, point, displacement: point - start, gap: (x_t1 - point).dot(&normal), lies_along }
    }
}

/// What tells the gap of most points without a tangent plane.
#[derive(Clone, Copy, Debug)]
pub enum GapBounds {
    /// The plane at the end of the step: a point of it [m], and its normal.
    Plane { point: Vec3, normal: Vec3 },
    /// A ball around the shape at both ends of the step.
    Ball {
        /// [m]
        centers: [Vec3; 2],
        radius: f64,
        /// How much further than its centre a point at unit distance goes as the shape turns, at most [-].
        turn: f64,
    },
    /// A cylinder at both ends of the step: its middle [m], and its frame from space.
    Cylinder { radius: f64, half_height: f64, centers: [Vec3; 2], frames: [Mat3; 2] },
}

impl GapBounds {
    /// The gap [m] of a point that goes from `x0` to `x1` [m]: exact for a plane; for a point that stays out of the
    /// ball or cylinder all the way a lower bound of the distance, above 0; none else.
    #[inline(always)]
    pub fn gap(&self, x0: &Vec3, x1: &Vec3) -> Option<f64> {
        match self {
            Self::Plane { point, normal } => Some((x1 - point).dot(normal)),
            Self::Ball { centers, radius, turn } => {
                // Seen from the shape, the point goes straight, and no further than this.
                let (from, to) = (x0 - centers[0], x1 - centers[1]);
                let distance = to.norm() - radius;
                let way = (to - from).norm() + turn * from.norm();
                (distance > way).then_some(distance)
            }
            Self::Cylinder { radius, half_height, centers, frames } => {
                let [from, to] = [frames[0] * (x0 - centers[0]), frames[1] * (x1 - centers[1])];
                let (across, along) = ((to.x * to.x + to.z * to.z).sqrt() - radius, to.y.abs() - half_height);
                let (across, along) = (across.max(0.0), along.max(0.0));
                let distance = (across * across + along * along).sqrt();
                (distance > (to - from).norm()).then_some(distance)
            }
        }
    }

    /// The gaps [m] of some of the points that go from `x0` to `x1` [m], with the widest registers; not a number where
    /// [`gap`](Self::gap) tells none.
    pub fn gaps(&self, points: &[u32], x0: &[Vec3], x1: &[Vec3], gaps: &mut [f64]) {
        Arch::new().dispatch(Gaps { bounds: self, points, x0, x1, gaps });
    }
}

/// [`GapBounds::gaps`].
struct Gaps<'a> {
    bounds: &'a GapBounds,
    points: &'a [u32],
    x0: &'a [Vec3],
    x1: &'a [Vec3],
    gaps: &'a mut [f64],
}

impl WithSimd for Gaps<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { bounds, points, x0, x1, gaps } = self;
        for (gap, point) in gaps.iter_mut().zip(points) {
            *gap = bounds.gap(&x0[*point as usize], &x1[*point as usize]).unwrap_or(f64::NAN);
        }
    }
}

impl MovingShape {
    /// What tells the gap of most points.
    pub fn gap_bounds(&self) -> GapBounds {
        let Self { shape, pose_t0, pose_t1 } = self;
        let radius = match *shape {
            Shape::Plane => {
                let there = nearest(shape, &Vec3::zeros());
                return GapBounds::Plane {
                    point: pose_t1.transform_point(&there.point.into()).coords,
                    normal: pose_t1.rotation * there.normal,
                };
            }
            Shape::Box { half_extents } => half_extents.norm(),
            Shape::Sphere { radius } => radius,
            Shape::Cylinder { radius, half_height } => {
                return GapBounds::Cylinder {
                    radius,
                    half_height,
                    centers: [pose_t0, pose_t1].map(|pose| pose.translation.vector),
                    frames: [pose_t0, pose_t1].map(|pose| pose.rotation.inverse().to_rotation_matrix().into_inner()),
                };
            }
        };
        GapBounds::Ball { centers: [pose_t0, pose_t1].map(|pose| pose.translation.vector), radius, turn: self.turn() }
    }
}

/// Two unit vectors that form a right-handed orthonormal frame with the unit vector `n`
/// [Duff et al. 2017, Building an orthonormal basis, revisited].
pub fn tangents(n: &Vec3) -> [Vec3; 2] {
    let sign = if n.z < 0.0 { -1.0 } else { 1.0 };
    let a = -1.0 / (sign + n.z);
    let b = n.x * n.y * a;
    [Vec3::new(1.0 + sign * n.x * n.x * a, sign * b, -sign * n.x), Vec3::new(b, sign + n.y * n.y * a, -n.y)]
}

#[cfg(test)]
mod tests {
    use super::super::deepest_weights;
    use super::*;

    const SHAPES: [Shape; 4] = [
        Shape::Plane,
        Shape::Box { half_extents: Vec3::new(0.3, 0.5, 0.7) },
        Shape::Sphere { radius: 0.4 },
        Shape::Cylinder { radius: 0.3, half_height: 0.6 },
    ];

    /// A low-discrepancy point in [-1, 1]^3.
    fn sample(k: usize) -> Vec3 {
        Vec3::new(0.819_172_5, 0.671_043_6, 0.549_700_5).map(|a: f64| (a * k as f64).fract() * 2.0 - 1.0)
    }

    #[test]
    fn distance_normal_and_point_agree() {
        for shape in &SHAPES {
            for p in (1..500).map(sample) {
                let n = nearest(shape, &p);
                assert!((n.normal.norm() - 1.0).abs() < 1e-12);
                assert!((n.point + n.normal * n.distance - p).norm() < 1e-12, "{shape:?} {p}: {n:?}");
                let there = nearest(shape, &n.point);
                assert!(there.distance.abs() < 1e-12);
            }
        }
    }

    #[test]
    fn normal_is_the_gradient_of_the_distance() {
        for shape in &SHAPES {
            for p in (1..200).map(sample) {
                let n = nearest(shape, &p);
                let e = 1e-6;
                let gradient = Vec3::from_fn(|i, _| {
                    let mut d = Vec3::zeros();
                    d[i] = e;
                    (nearest(shape, &(p + d)).distance - nearest(shape, &(p - d)).distance) / (2.0 * e)
                });
                assert!((gradient - n.normal).norm() < 1e-4, "{shape:?} {p}");
            }
        }
    }

    #[test]
    fn a_fast_point_meets_the_side_it_enters_by() {
        let wall = MovingShape {
            shape: Shape::Box { half_extents: Vec3::new(0.05, 1.0, 1.0) },
            pose_t0: Isometry::identity(),
            pose_t1: Isometry::identity(),
        };
        let plane = wall.tangent_plane(&Vec3::new(0.2, 0.1, 0.0), &Vec3::new(-0.3, 0.1, 0.0));
        assert!((plane.normal - Vec3::x()).norm() < 1e-12 && plane.gap < -0.34, "{plane:?}");
    }

    /// The feature lies as deep below the plane everywhere, and all of the cylinder lies below it.
    #[test]
    fn over_a_rim_the_plane_lies_along_the_feature() {
        let (radius, half_height, still) = (0.3, 0.6, Isometry::identity());
        let moving = MovingShape { shape: Shape::Cylinder { radius, half_height }, pose_t0: still, pose_t1: still };
        for k in 1..300 {
            let (angle, lean) = (sample(k).x * std::f64::consts::PI, sample(k).y);
            let (mantle, around) = (Vec3::new(angle.cos(), 0.0, angle.sin()), Vec3::new(-angle.sin(), 0.0, angle.cos()));
            let tilt: f64 = 0.8 + 0.2 * lean;
            let side = if k % 2 == 0 { Vec3::y() } else { -Vec3::y() };
            let normal = side * tilt.cos() + mantle * tilt.sin();
            let (over, depth) = (side * tilt.sin() - mantle * tilt.cos(), 1e-3 * (1.0 + sample(k).z.abs()));
            // As deep below the cap as below the mantle.
            let rim = mantle * radius + side * half_height;
            let deepest = rim - (mantle + side) * (depth / (tilt.cos() + tilt.sin()));
            let corners = [over + around * 0.3, -over - around * 0.3, around].map(|way| deepest + way * 0.1);
            for feature in [&corners[..2], &corners] {
                let plane = moving.tangent_plane_along(feature, &deepest, &deepest);
                assert!((plane.normal - normal).norm() < 1e-9 && (plane.gap + depth).abs() < 1e-12, "{k}: {plane:?}");
                assert!(feature.iter().all(|x| ((x - plane.point).dot(&plane.normal) + depth).abs() < 1e-12));
                for point in (1..60).map(|i| nearest(&moving.shape, &sample(i)).point) {
                    assert!((point - plane.point).dot(&plane.normal) < 1e-12, "{k}: {point}");
                }
            }
            let of_point = moving.tangent_plane(&deepest, &deepest);
            let sinks = corners.iter().map(|x| (x - of_point.point).dot(&of_point.normal)).fold(0.0, f64::min);
            assert!(sinks < -5.0 * depth, "cap or mantle alone would push the feature much further: {sinks}");
        }
        // What lies on the mantle or stands on the cap is not over the rim.
        let on_mantle = [Vec3::new(0.299, 0.2, -0.2), Vec3::new(0.299, 0.1, 0.2)];
        let on_cap = [Vec3::new(-0.1, 0.599, 0.05), Vec3::new(0.1, 0.599, 0.0)];
        for feature in [on_mantle, on_cap] {
            let middle = (feature[0] + feature[1]) * 0.5;
            let [along, plain] = [moving.tangent_plane_along(&feature, &middle, &middle), moving.tangent_plane(&middle, &middle)];
            assert_eq!((along.normal, along.point), (plain.normal, plain.point));
        }
    }

    #[test]
    fn no_point_of_a_feature_is_deeper_than_the_one_of_the_formula() {
        let mut told = 0;
        for shape in &SHAPES[2..] {
            for k in 1..400 {
                let middle = sample(k) * 0.8;
                let corners: Vec<Vec3> = (1..4).map(|i| middle + sample(31 * k + i) * 0.2).collect();
                for corners in [&corners[..], &corners[..2]] {
                    let weights = deepest_weights(shape, corners);
                    told += 1;
                    let distance =
                        |weights: [f64; 3]| nearest(shape, &corners.iter().zip(weights).map(|(x, w)| x * w).sum::<Vec3>()).distance;
                    let least = distance(weights);
                    for point in (1..50).map(sample) {
                        let (s, t) = (0.5 + 0.5 * point.x, if corners.len() == 3 { 0.5 + 0.5 * point.y } else { 0.0 });
                        assert!(distance([1.0 - s, s * (1.0 - t), s * t]) > least - 1e-13, "{shape:?} {k}");
                    }
                }
            }
        }
        assert!(told > 800, "{told}");
    }

    #[test]
    fn bounds_of_gaps_are_below_the_gaps_of_all_ways() {
        let turned = Isometry::new(Vec3::new(0.05, -0.02, 0.03), Vec3::new(0.2, 0.1, -0.3));
        let mut told = 0;
        for shape in SHAPES {
            let moving = MovingShape { shape, pose_t0: Isometry::identity(), pose_t1: turned };
            let bounds = moving.gap_bounds();
            for k in 1..2000 {
                let x0 = sample(k) * 2.0;
                let x1 = x0 + sample(7 * k) * 0.4;
                let Some(gap) = bounds.gap(&x0, &x1) else { continue };
                told += 1;
                let plane = moving.tangent_plane(&x0, &x1);
                let p1 = turned.inverse_transform_point(&x1.into()).coords;
                match shape {
                    Shape::Plane => assert!((gap - plane.gap).abs() < 1e-14),
                    _ => assert!(gap > 0.0 && plane.gap > 0.0 && gap <= nearest(&shape, &p1).distance + 1e-15),
                }
            }
        }
        assert!(told > 3000, "{told}");
    }

    /// Corners that are as far from a ball of radius 1 as the sagitta tells span triangles that reach to it, and none
    /// that reach into it.
    #[test]
    fn triangles_reach_as_deep_as_the_sagitta_tells() {
        for size in [1e-3, 0.1, 0.5, 1.0, 1.7] {
            let distance = sagitta(1.0, size);
            // On a circle around the y axis at this distance; equilateral.
            let r = size / 3.0f64.sqrt();
            let y = ((1.0 + distance).powi(2) - r * r).sqrt();
            assert!((y - 1.0).abs() < 1e-12, "{size}: {y}");
            for k in 1..500 {
                // Three points as far as that, and no longer edges.
                let corners = [0, 1, 2].map(|c| (Vec3::y() + sample(3 * k + c) * (0.3 * size)).normalize() * (1.0 + distance));
                let longest = [0, 1, 2].map(|c| (corners[c] - corners[(c + 1) % 3]).norm()).into_iter().fold(0.0, f64::max);
                assert!(longest <= 1.2 * size);
                let weights = deepest_weights(&Shape::Sphere { radius: 1.0 }, &corners);
                let deepest: Vec3 = corners.iter().zip(weights).map(|(x, w)| x * w).sum();
                assert!(longest > size || deepest.norm() > 1.0 - 1e-12, "{size} {k}: {}", deepest.norm() - 1.0);
            }
        }
        assert_eq!(sagitta(1.0, 0.0), 0.0);
    }

    #[test]
    fn tangents_are_orthonormal() {
        for p in (1..100).map(sample).chain([Vec3::z(), -Vec3::z(), Vec3::y()]) {
            let n = p.normalize();
            let [a, b] = tangents(&n);
            assert!(
                a.dot(&b).abs() < 1e-12 && a.dot(&n).abs() < 1e-12 && (a.cross(&b) - n).norm() < 1e-12 || (b.cross(&a) - n).norm() < 1e-12
            );
        }
    }
}
