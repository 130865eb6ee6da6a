//! A tree of boxes over the triangles of a surface that does not move: what lies near, and what lies inside.

use std::f64::consts::PI;

use super::SurfaceMesh;
use crate::math::{Aabb, Vec3};

/// Triangles of a leaf.
const LEAF: usize = 8;

/// A group of triangles counts as one dipole from this many of its radii on: the winding number is then wrong by less than 0.02.
const FAR: f64 = 3.0;

pub(super) struct Tree<'a> {
    surface: &'a SurfaceMesh,
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
    /// Sum of the vector areas [m^2], their centre weighted by area, and how far a corner is from it at most [m].
    dipole: Vec3,
    center: Vec3,
    radius: f64,
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
        if end - begin > LEAF {
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

    /// How many times the surface winds around a point [Jacobson, Kavan & Sorkine-Hornung 2013]: 1 inside of a closed surface, 0
    /// outside, and a smooth value between where it has holes. Far parts count as dipoles [Barill, Dickson, Schmidt, Levin &
    /// Jacobson 2018, with their first term alone].
    pub fn winding(&self, point: &Vec3) -> f64 {
        let (mut far, mut near) = (0.0, 0.0);
        self.visit(
            |node| {
                let to = node.center - point;
                let distance = to.norm();
                let is_far = distance > FAR * node.radius;
                if is_far {
                    far += node.dipole.dot(&to) / distance.powi(3);
                }
                !is_far
            },
            |triangle| near += solid_angle(&self.surface.corners(triangle).map(|corner| corner - point)),
        );
        (far + near) / (4.0 * PI)
    }

    /// Calls `each` with the triangles whose boxes touch `bounds`.
    pub fn near(&self, bounds: &Aabb, each: impl FnMut(usize)) {
        self.visit(|node| (0..3).all(|k| node.bounds.min[k] <= bounds.max[k] && bounds.min[k] <= node.bounds.max[k]), each);
    }

    /// Walks down where `enter` says so, and calls `each` with the triangles of the leaves reached.
    fn visit(&self, mut enter: impl FnMut(&Node) -> bool, mut each: impl FnMut(usize)) {
        let mut waiting = vec![0];
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
