//! A tree of boxes over the triangles of a surface that does not move: it finds what lies near and what lies inside.

use std::f64::consts::PI;

use arrayvec::ArrayVec;

use super::SurfaceMesh;
use crate::math::{Aabb, Vec3};

/// A leaf has at most this many triangles.
const LEAF_TRIANGLES: usize = 8;

/// A group of triangles counts as one dipole from this many of its radii on: the winding number is then wrong by less
/// than 0.02.
const DIPOLE_RADII: f64 = 3.0;

pub(super) struct Tree<'a> {
    pub surface: &'a SurfaceMesh,
    /// Triangles leaf by leaf.
    order: Vec<u32>,
    /// The left child of a node follows it.
    nodes: Vec<Node>,
}

struct Node {
    bounds: Aabb,
    /// Triangles `order[begin..end]`.
    begin: usize,
    end: usize,
    /// The right child; 0 for a leaf.
    right: usize,
    /// Sum of the vector areas [m^2], the centre of the triangles weighted by area, and the largest distance of a
    /// corner from that centre [m].
    dipole: Vec3,
    center: Vec3,
    radius: f64,
}

/// A search has fewer nodes than this waiting: one a level, and halving 2^32 triangles takes 32 levels.
const MAX_WAITING: usize = 64;

impl Node {
    /// Squared distance [m^2] from a point to the box.
    fn squared_distance(&self, point: &Vec3) -> f64 {
        (self.bounds.min - point).sup(&(point - self.bounds.max)).sup(&Vec3::zeros()).norm_squared()
    }
}

impl<'a> Tree<'a> {
    pub fn new(surface: &'a SurfaceMesh) -> Self {
        let centers: Vec<Vec3> = (0..surface.triangles.len()).map(|t| surface.corners(t).iter().sum::<Vec3>() / 3.0).collect();
        let order: Vec<u32> = (0..surface.triangles.len() as u32).collect();
        let mut tree = Self { surface, order, nodes: Vec::new() };
        tree.split(0, surface.triangles.len(), &centers);
        tree
    }

    /// Makes the subtree of the triangles `order[begin..end]`, halved at the median along the longest side.
    fn split(&mut self, begin: usize, end: usize, centers: &[Vec3]) {
        let part = &self.order[begin..end];
        let bounds = part.iter().fold(Aabb::EMPTY, |all, &t| all.joined(Aabb::of(&self.surface.corners(t as usize))));
        let (mut dipole, mut weighted, mut area) = (Vec3::zeros(), Vec3::zeros(), 0.0);
        for &t in part {
            let [a, b, c] = self.surface.corners(t as usize);
            let vector = (b - a).cross(&(c - a)) * 0.5;
            dipole += vector;
            weighted += centers[t as usize] * vector.norm();
            area += vector.norm();
        }
        let center = if area > 0.0 { weighted / area } else { bounds.center() };
        let radius = (bounds.max - center).sup(&(center - bounds.min)).norm();
        let node = self.nodes.len();
        self.nodes.push(Node { bounds, begin, end, right: 0, dipole, center, radius });
        if end - begin > LEAF_TRIANGLES {
            let spread = Aabb::of(part.iter().map(|&t| &centers[t as usize])).extent();
            let axis = spread.imax();
            let middle = (end - begin) / 2;
            self.order[begin..end]
                .select_nth_unstable_by(middle, |&a, &b| centers[a as usize][axis].total_cmp(&centers[b as usize][axis]).then(a.cmp(&b)));
            self.split(begin, begin + middle, centers);
            self.nodes[node].right = self.nodes.len();
            self.split(begin + middle, end, centers);
        }
    }

    /// The number of times that the surface winds around a point [Jacobson, Kavan & Sorkine-Hornung 2013]: 1 inside of
    /// a closed surface, 0 outside, and a smooth value between where it has holes. Far parts count as dipoles [Barill,
    /// Dickson, Schmidt, Levin & Jacobson 2018, with their first term alone].
    pub fn winding(&self, point: &Vec3) -> f64 {
        let (mut far, mut near) = (0.0, 0.0);
        self.visit(
            |node| {
                let to = node.center - point;
                let distance = to.norm();
                let is_far = distance > DIPOLE_RADII * node.radius;
                if is_far {
                    far += node.dipole.dot(&to) / distance.powi(3);
                }
                !is_far
            },
            |triangle| near += solid_angle(&self.surface.corners(triangle).map(|corner| corner - point)),
        );
        (far + near) / (4.0 * PI)
    }

    /// Distance [m] from a point to the surface; infinite without triangles.
    pub fn distance(&self, point: &Vec3) -> f64 {
        self.nearest(point).0.sqrt()
    }

    /// The point of the surface that is nearest to a given point.
    pub fn closest(&self, point: &Vec3) -> Vec3 {
        self.nearest(point).1
    }

    /// The triangle that is nearest to a point; among equals always the same one.
    pub fn closest_triangle(&self, point: &Vec3) -> usize {
        self.nearest(point).2
    }

    fn nearest(&self, point: &Vec3) -> (f64, Vec3, usize) {
        let mut best = (f64::INFINITY, *point, 0);
        let mut waiting = ArrayVec::<(f64, usize), MAX_WAITING>::new();
        waiting.push((self.nodes[0].squared_distance(point), 0));
        while let Some((at_least, index)) = waiting.pop() {
            let node = &self.nodes[index];
            if at_least >= best.0 {
                continue;
            }
            if node.right == 0 {
                for &t in &self.order[node.begin..node.end] {
                    let nearest = closest_on_triangle(&self.surface.corners(t as usize), point);
                    let squared = (nearest - point).norm_squared();
                    if squared < best.0 {
                        best = (squared, nearest, t as usize);
                    }
                }
                continue;
            }
            // The nearer child is searched first.
            let [a, b] = [index + 1, node.right].map(|child| (self.nodes[child].squared_distance(point), child));
            waiting.extend(if a.0 <= b.0 { [b, a] } else { [a, b] });
        }
        best
    }

    /// Calls `each` with the triangles whose boxes touch `bounds`.
    pub fn near(&self, bounds: &Aabb, each: impl FnMut(usize)) {
        self.visit(|node| (0..3).all(|k| node.bounds.min[k] <= bounds.max[k] && bounds.min[k] <= node.bounds.max[k]), each);
    }

    /// Walks down where `enter` says so, and calls `each` with the triangles of the leaves reached.
    fn visit(&self, mut enter: impl FnMut(&Node) -> bool, mut each: impl FnMut(usize)) {
        let mut waiting = ArrayVec::<usize, MAX_WAITING>::from_iter([0]);
        while let Some(index) = waiting.pop() {
            let node = &self.nodes[index];
            if !enter(node) {
                continue;
            }
            if node.right == 0 {
                self.order[node.begin..node.end].iter().for_each(|&t| each(t as usize));
            } else {
                waiting.extend([node.right, index + 1]);
            }
        }
    }
}

/// Solid angle of a triangle seen from the origin, positive when it faces away [van Oosterom & Strackee 1983].
pub(super) fn solid_angle([a, b, c]: &[Vec3; 3]) -> f64 {
    let (la, lb, lc) = (a.norm(), b.norm(), c.norm());
    let numerator = a.dot(&b.cross(c));
    let denominator = la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb;
    2.0 * numerator.atan2(denominator)
}

/// The point of a triangle nearest to a given point: its projection when that falls inside, else the nearest on the
/// edges. The triangle may be flat.
pub(super) fn closest_on_triangle(&[a, b, c]: &[Vec3; 3], point: &Vec3) -> Vec3 {
    let normal = (b - a).cross(&(c - a));
    let area = normal.norm_squared();
    let inside = |from: Vec3, to: Vec3| (to - from).cross(&(point - from)).dot(&normal) >= 0.0;
    if area > 0.0 && inside(a, b) && inside(b, c) && inside(c, a) {
        return point - normal * ((point - a).dot(&normal) / area);
    }
    let on_edge = |from: Vec3, to: Vec3| {
        let along = to - from;
        from + along * ((point - from).dot(&along) / along.norm_squared().max(f64::MIN_POSITIVE)).clamp(0.0, 1.0)
    };
    let nearer = |p: Vec3, q: Vec3| if (q - point).norm_squared() < (p - point).norm_squared() { q } else { p };
    nearer(nearer(on_edge(a, b), on_edge(b, c)), on_edge(c, a))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{assets, parse_surface, shapes};

    fn exact(surface: &SurfaceMesh, point: &Vec3) -> f64 {
        let angle = |t: usize| solid_angle(&surface.corners(t).map(|corner| corner - point));
        (0..surface.triangles.len()).map(angle).sum::<f64>() / (4.0 * PI)
    }

    #[test]
    fn winding_numbers_are_those_of_the_full_sum() {
        let mut knot = parse_surface("knot.off", assets::builtin("knot.off").unwrap()).unwrap();
        for open in [false, true] {
            if open {
                knot.triangles.truncate(3000);
            }
            let tree = Tree::new(&knot);
            let bounds = knot.aabb();
            let (mut worst, mut inside) = (0.0f64, 0);
            for i in 0..500 {
                let s = [0.618034, 0.414214, 0.732051].map(|r: f64| (r * f64::from(i + 1)).fract());
                let point = bounds.min + bounds.extent().component_mul(&Vec3::from(s));
                let w = exact(&knot, &point);
                worst = worst.max((tree.winding(&point) - w).abs());
                inside += usize::from(w > 0.5);
                assert!(open || (w - w.round()).abs() < 1e-9);
            }
            assert!(worst < 0.02 && worst > 0.0 && inside > 10, "{worst} {inside}");
        }
    }

    #[test]
    fn distances_are_those_of_a_full_search() {
        let mut knot = parse_surface("knot.off", assets::builtin("knot.off").unwrap()).unwrap();
        // A triangle without area, and one that is a point.
        knot.triangles.extend([[0, 1, 0], [7, 7, 7]]);
        let tree = Tree::new(&knot);
        let bounds = knot.aabb();
        for i in 0..300 {
            let s = [0.618034, 0.414214, 0.732051].map(|r: f64| (r * f64::from(i + 1)).fract() * 1.4 - 0.2);
            let point = bounds.min + bounds.extent().component_mul(&Vec3::from(s));
            let to = |t: usize| (closest_on_triangle(&knot.corners(t), &point) - point).norm();
            let exact = (0..knot.triangles.len()).map(to).fold(f64::INFINITY, f64::min);
            assert!((tree.distance(&point) - exact).abs() <= 1e-12 * exact, "{exact}");
        }
        assert!(tree.distance(&knot.positions[5]) < 1e-12);
    }

    #[test]
    fn near_finds_what_a_full_search_finds() {
        let surface = shapes::surface_torus(1.0, 0.3, 16);
        let tree = Tree::new(&surface);
        let bounds = Aabb { min: Vec3::new(0.5, -0.2, -0.3), max: Vec3::new(1.0, 0.1, 0.4) };
        let mut found = vec![];
        tree.near(&bounds, |t| found.push(t));
        for t in 0..surface.triangles.len() {
            let own = Aabb::of(&surface.corners(t));
            let touches = (0..3).all(|k| own.min[k] <= bounds.max[k] && bounds.min[k] <= own.max[k]);
            assert!(!touches || found.contains(&t));
        }
        assert!(found.len() < surface.triangles.len() / 2);
    }
}
