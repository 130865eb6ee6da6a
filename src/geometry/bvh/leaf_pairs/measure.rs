//! How far the features of two leaves are from each other.

use arrayvec::ArrayVec;
use pulp::{Arch, Simd, WithSimd};

use super::super::features::Features;
use super::super::sweep::LANES;
use crate::geometry::closest::{between_edges, between_vertex_and_face};
use crate::geometry::mesh::Mesh;
use crate::math::Vec3;

/// The features of all leaves.
pub(in super::super) struct LeafFeatures<'a> {
    pub mesh: &'a Mesh,
    pub vertices: &'a Features<1>,
    pub edges: &'a Features<2>,
    pub triangles: &'a Features<3>,
}

/// Two features of two leaves that were near each other: a vertex and a triangle, or two edges.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct NearFeatures {
    /// [m].
    pub distance: f64,
    pub items: [u32; 2],
    pub are_edges: bool,
}

/// Features of one kind that a leaf has at most: three of each of its triangles.
const MAX_FEATURES: usize = 3 * LANES;

/// A feature with the ball that holds it.
struct Ball<const N: usize> {
    item: u32,
    corners: [u32; N],
    center: Vec3,
    radius: f64,
}

#[inline(always)]
fn balls<const N: usize>(features: &Features<N>, leaf: u32, x: &[Vec3]) -> ArrayVec<Ball<N>, MAX_FEATURES> {
    let ball = |(item, corners): (u32, [u32; N])| {
        let center = corners.iter().map(|v| x[*v as usize]).sum::<Vec3>() / N as f64;
        let radius = corners.iter().map(|v| (x[*v as usize] - center).norm()).fold(0.0, f64::max);
        Ball { item, corners, center, radius }
    };
    features.of_leaf(leaf).map(ball).collect()
}

/// Calls `each` with the features without a common vertex that are nearer to each other than `reach` [m], and their
/// distance; it returns the reach for those that follow. Returns the last one.
#[inline(always)]
fn for_each_within<const N: usize, const M: usize>(
    reach: f64,
    first: &[Ball<N>],
    second: &[Ball<M>],
    between: impl Fn(&[u32; N], &[u32; M]) -> Vec3,
    mut each: impl FnMut([u32; 2], f64) -> f64,
) -> f64 {
    let mut reach = reach;
    for a in first {
        for b in second {
            let furthest = reach + a.radius + b.radius;
            // Written so that what is not finite is looked at.
            let is_far = (a.center - b.center).norm_squared() > furthest * furthest;
            if is_far || a.corners.iter().any(|v| b.corners.contains(v)) {
                continue;
            }
            let distance = between(&a.corners, &b.corners).norm();
            if distance >= reach {
                continue;
            }
            reach = each([a.item, b.item], distance.max(0.0));
        }
    }
    reach
}

/// [`LeafFeatures::least_distance`], with the widest registers.
struct LeastDistance<'a> {
    features: &'a LeafFeatures<'a>,
    leaves: [u32; 2],
    x: &'a [Vec3],
    near: f64,
}

impl WithSimd for LeastDistance<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        let Self { features, leaves, x, near } = self;
        let mut least = near;
        features.for_each_near(leaves, x, near, |pair| {
            least = least.min(pair.distance);
            least
        });
        least
    }
}

impl LeafFeatures<'_> {
    /// Distance of the nearest two features without a common vertex of two leaves at `x` [m], or `near` if that is
    /// less.
    pub fn least_distance(&self, leaves: [u32; 2], x: &[Vec3], near: f64) -> f64 {
        Arch::new().dispatch(LeastDistance { features: self, leaves, x, near })
    }

    /// All features without a common vertex of two leaves that are nearer to each other than `near` at `x` [m], the
    /// nearest first.
    pub fn list_near(&self, leaves: [u32; 2], x: &[Vec3], near: f64, list: &mut Vec<NearFeatures>) {
        list.clear();
        self.for_each_near(leaves, x, near, |pair| {
            // Two edges of one leaf come twice.
            if !pair.are_edges || leaves[0] != leaves[1] || pair.items[0] < pair.items[1] {
                list.push(pair);
            }
            near
        });
        list.sort_unstable_by(|a, b| a.distance.total_cmp(&b.distance).then(a.are_edges.cmp(&b.are_edges)).then(a.items.cmp(&b.items)));
    }

    /// `each` returns how near features that follow have to be [m].
    #[inline(always)]
    fn for_each_near(&self, [a, b]: [u32; 2], x: &[Vec3], near: f64, mut each: impl FnMut(NearFeatures) -> f64) {
        let at = |v: u32| x[v as usize];
        let of_edges = |[a, b]: &[u32; 2], [c, d]: &[u32; 2]| between_edges(&[at(*a), at(*b), at(*c), at(*d)]);
        let of_face = |[v]: &[u32; 1], [a, b, c]: &[u32; 3]| between_vertex_and_face(&[at(*v), at(*a), at(*b), at(*c)]);
        let mut put = |are_edges: bool, items: [u32; 2], distance: f64| each(NearFeatures { distance, items, are_edges });
        let reach = for_each_within(near, &balls(self.edges, a, x), &balls(self.edges, b, x), of_edges, |i, d| put(true, i, d));
        let reach = for_each_within(reach, &balls(self.vertices, a, x), &balls(self.triangles, b, x), of_face, |i, d| put(false, i, d));
        if a != b {
            for_each_within(reach, &balls(self.vertices, b, x), &balls(self.triangles, a, x), of_face, |i, d| put(false, i, d));
        }
    }
}
