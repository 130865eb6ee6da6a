//! The surfaces that meet each other through their features: one numbering of vertices, edges and triangles for all
//! bodies.

use crate::math::Vec3;

/// How a body of the collision mesh can move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mobility {
    /// Every vertex for itself: the surface may meet itself.
    Deformable,
    /// Every vertex for itself, but the surface passes through itself.
    PassesThroughItself,
    /// As a whole.
    Rigid,
    /// Not by contact: two of these are never tested against each other.
    Immovable,
}

/// Why a collision mesh cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeshError {
    #[error("triangle {triangle} names vertex {vertex}, but there are {count}")]
    UnknownVertex { triangle: usize, vertex: u32, count: usize },
    #[error("vertex {vertex} belongs to body {body}, but there are {count}")]
    UnknownBody { vertex: usize, body: u32, count: usize },
    #[error("triangle {triangle} has vertices of more than one body")]
    MixedBodies { triangle: usize },
}

/// Two features that can touch. The order (all vertex-face pairs first) is the order of contact rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pair {
    VertexFace {
        vertex: u32,
        triangle: u32,
    },
    /// `first < second`.
    EdgeEdge {
        first: u32,
        second: u32,
    },
}

/// Topology of the surfaces of all bodies. Positions live elsewhere: one slice over all vertices.
#[derive(Clone, Debug)]
pub struct Mesh {
    /// Vertices of each triangle, anticlockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
    /// Unique, sorted; the smaller vertex first.
    pub edges: Vec<[u32; 2]>,
    /// The two triangles of each edge, [`NONE`](Self::NONE) where there is none. Of the triangles of a non-manifold
    /// edge, the first two.
    pub edge_triangles: Vec<[u32; 2]>,
    /// Body of each vertex.
    pub body: Vec<u32>,
    /// One per body.
    pub mobility: Vec<Mobility>,
    /// Edges and vertices that each triangle stands for in the search (it is the first that has them), padded with
    /// `NONE`.
    owned_edges: Vec<[u32; 3]>,
    owned_vertices: Vec<[u32; 3]>,
}

impl Mesh {
    pub const NONE: u32 = u32::MAX;

    /// `body` is the body of each vertex, `mobility` that of each body. Vertices without a triangle are never tested.
    pub fn new(triangles: Vec<[u32; 3]>, body: Vec<u32>, mobility: Vec<Mobility>) -> Result<Self, MeshError> {
        if let Some((vertex, &b)) = body.iter().enumerate().find(|(_, b)| **b as usize >= mobility.len()) {
            return Err(MeshError::UnknownBody { vertex, body: b, count: mobility.len() });
        }
        for (triangle, corners) in triangles.iter().enumerate() {
            if let Some(&vertex) = corners.iter().find(|v| **v as usize >= body.len()) {
                return Err(MeshError::UnknownVertex { triangle, vertex, count: body.len() });
            }
            if corners.iter().any(|v| body[*v as usize] != body[corners[0] as usize]) {
                return Err(MeshError::MixedBodies { triangle });
            }
        }
        // (edge, triangle) sorted: equal edges lie together, their triangles in order.
        let mut sides: Vec<([u32; 2], u32)> = Vec::with_capacity(3 * triangles.len());
        for (t, &[a, b, c]) in triangles.iter().enumerate() {
            sides.extend([[a, b], [b, c], [c, a]].iter().filter(|e| e[0] != e[1]).map(|&[p, q]| ([p.min(q), p.max(q)], t as u32)));
        }
        sides.sort_unstable();
        sides.dedup();
        let mut edges = Vec::with_capacity(sides.len() / 2);
        let mut edge_triangles = Vec::with_capacity(sides.len() / 2);
        let mut owned_edges = vec![[Self::NONE; 3]; triangles.len()];
        for same in sides.chunk_by(|a, b| a.0 == b.0) {
            add(&mut owned_edges[same[0].1 as usize], edges.len() as u32);
            edges.push(same[0].0);
            edge_triangles.push([same[0].1, same.get(1).map_or(Self::NONE, |s| s.1)]);
        }
        let mut owned_vertices = vec![[Self::NONE; 3]; triangles.len()];
        let mut has_owner = vec![false; body.len()];
        for (t, corners) in triangles.iter().enumerate() {
            for &v in corners {
                if !std::mem::replace(&mut has_owner[v as usize], true) {
                    add(&mut owned_vertices[t], v);
                }
            }
        }
        Ok(Self { triangles, edges, edge_triangles, body, mobility, owned_edges, owned_vertices })
    }

    pub fn body_of_triangle(&self, triangle: u32) -> u32 {
        self.body[self.triangles[triangle as usize][0] as usize]
    }

    /// Whether features of two bodies (or of one body) are tested against each other.
    pub fn may_meet(&self, a: u32, b: u32) -> bool {
        let (of_a, of_b) = (self.mobility[a as usize], self.mobility[b as usize]);
        if a == b { of_a == Mobility::Deformable } else { of_a != Mobility::Immovable || of_b != Mobility::Immovable }
    }

    /// The vertices of a pair: vertex, then triangle; or first, then second edge.
    pub fn vertices(&self, pair: Pair) -> [u32; 4] {
        match pair {
            Pair::VertexFace { vertex, triangle } => {
                let [a, b, c] = self.triangles[triangle as usize];
                [vertex, a, b, c]
            }
            Pair::EdgeEdge { first, second } => {
                let ([a, b], [c, d]) = (self.edges[first as usize], self.edges[second as usize]);
                [a, b, c, d]
            }
        }
    }

    /// The bodies on the two sides of a pair.
    pub fn bodies(&self, pair: Pair) -> [u32; 2] {
        let [a, _, _, d] = self.vertices(pair);
        [self.body[a as usize], self.body[d as usize]]
    }

    /// Whether a touch with this normal (from the second feature to the first) is one of outer sides: a vertex in front
    /// of a triangle, or two convex edges.
    pub fn meets_outside(&self, pair: Pair, x: &[Vec3], normal: &Vec3) -> bool {
        match pair {
            Pair::VertexFace { triangle, .. } => {
                let [a, b, c] = self.triangles[triangle as usize].map(|v| x[v as usize]);
                (b - a).cross(&(c - a)).dot(normal) > 0.0
            }
            Pair::EdgeEdge { first, second } => {
                let faces = |edge: u32, side: f64| {
                    let cone = self.normal_cone(edge, x);
                    cone.is_convex() && cone.outward().dot(normal) * side > 0.0
                };
                faces(second, 1.0) && faces(first, -1.0)
            }
        }
    }

    /// The directions in which the surface can push at an edge.
    pub fn normal_cone(&self, edge: u32, x: &[Vec3]) -> NormalCone {
        let ends = self.edges[edge as usize];
        let [p, q] = ends.map(|v| x[v as usize]);
        let along = (q - p).try_normalize(0.0);
        let faces = self.edge_triangles[edge as usize].map(|t| {
            let corners = self.triangles.get(t as usize)?;
            let third = corners.iter().find(|v| !ends.contains(v))?;
            let [a, b, c] = corners.map(|v| x[v as usize]);
            let normal = (b - a).cross(&(c - a)).try_normalize(0.0)?;
            let along = along?;
            let inward = x[*third as usize] - p;
            Some((normal, (inward - along * along.dot(&inward)).try_normalize(0.0)?))
        });
        NormalCone { along, faces }
    }

    pub(super) fn owned_edges(&self, triangle: u32) -> impl Iterator<Item = u32> + '_ {
        self.owned_edges[triangle as usize].iter().copied().take_while(|e| *e != Self::NONE)
    }

    pub(super) fn owned_vertices(&self, triangle: u32) -> impl Iterator<Item = u32> + '_ {
        self.owned_vertices[triangle as usize].iter().copied().take_while(|v| *v != Self::NONE)
    }
}

/// The surface at an edge, and the directions in which it can push.
#[derive(Clone, Copy, Debug)]
pub struct NormalCone {
    /// Unit direction of the edge, none if it has collapsed.
    along: Option<Vec3>,
    /// Unit normal and unit tangent (perpendicular to the edge, pointing into the face) of its triangles, none where
    /// there is no triangle or a collapsed one.
    faces: [Option<(Vec3, Vec3)>; 2],
}

impl NormalCone {
    /// Whether the surface bends away: t1.n2 < 0 and t2.n1 < 0 with the unit normals and the in-face tangents of the
    /// two triangles [collision thesis, eq. 6.1]. A flat edge is not convex; the rim of an open surface is.
    pub fn is_convex(&self) -> bool {
        match self.faces {
            [Some((n1, t1)), Some((n2, t2))] => t1.dot(&n2) < -FLAT && t2.dot(&n1) < -FLAT,
            _ => true,
        }
    }

    /// A direction out of the solid, not normalised: n1 + n2 - t1 - t2 at convex edges [collision thesis, eq. 6.2],
    /// else the sum of the two normals. Zero where both triangles have collapsed.
    pub fn outward(&self) -> Vec3 {
        let convex = self.is_convex();
        self.faces.iter().flatten().map(|(n, t)| if convex { n - t } else { *n }).sum()
    }

    /// The direction nearest to `n` (unit) in which the surface can push: between the normals of its two triangles, or
    /// their mean where it is concave and nearly flat, so that small deformations turn nothing. What lies in a crease
    /// is pushed by each of its sides: the mean of their normals would, in one that is nearly closed, push along both
    /// and bring nothing away from them. `n` itself at a rim.
    pub fn in_normal_cone(&self, n: &Vec3) -> Vec3 {
        let [Some((n1, _)), Some((n2, _))] = self.faces else { return *n };
        let Some(middle) = (n1 + n2).try_normalize(1e-6) else { return *n };
        if !self.is_convex() && n1.dot(&middle) > CREASED {
            return middle;
        }
        let across = self.along.map_or(*n, |along| n - along * along.dot(n));
        if across.dot(&middle) >= n1.dot(&middle) * across.norm() {
            return *n;
        }
        if n.dot(&n1) > n.dot(&n2) { n1 } else { n2 }
    }

    /// Whether the plane across `n` (unit) through the edge has the surface around the edge behind it, but for a sine
    /// of `slack`.
    pub fn is_supported(&self, n: &Vec3, slack: f64) -> bool {
        let is_behind = |(_, tangent): &(Vec3, Vec3)| tangent.dot(n) < slack;
        (self.in_normal_cone(n) - n).norm() < slack && self.faces.iter().flatten().all(is_behind)
    }

    /// Whether a direction (unit) goes along the edge.
    pub fn is_along(&self, n: &Vec3) -> bool {
        self.along.is_some_and(|along| along.cross(n).norm() < ALONG)
    }
}

/// Sine of the angle between an edge and a direction up to which a push in that direction brings nothing away from it.
const ALONG: f64 = 0.1;

/// Cosine of half the angle between the normals of the sides of a concave edge from which on it is a crease: 26
/// degrees.
const CREASED: f64 = 0.9;

/// Sine of the angle up to which an edge counts as flat.
const FLAT: f64 = 1e-9;

/// Puts `item` into the first free place.
fn add(places: &mut [u32; 3], item: u32) {
    if let Some(place) = places.iter_mut().find(|p| **p == Mesh::NONE) {
        *place = item;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::tests::cube;

    #[test]
    fn a_cube_has_twelve_convex_and_six_flat_edges() {
        let (triangles, x) = cube(1, 1.0, Vec3::zeros());
        let mesh = Mesh::new(triangles, vec![0; 8], vec![Mobility::Deformable]).unwrap();
        assert_eq!((mesh.edges.len(), mesh.triangles.len()), (18, 12));
        let convex = (0..18).filter(|e| mesh.normal_cone(*e, &x).is_convex()).count();
        assert_eq!(convex, 12);
        assert!(mesh.edge_triangles.iter().flatten().all(|t| *t != Mesh::NONE));
        let owned = |t| (mesh.owned_edges(t).count(), mesh.owned_vertices(t).count());
        assert_eq!((0..12).map(owned).fold((0, 0), |s, o| (s.0 + o.0, s.1 + o.1)), (18, 8));
    }

    #[test]
    fn convexity_flips_when_the_dihedral_angle_passes_180_degrees() {
        let mesh = Mesh::new(vec![[0, 1, 2], [1, 0, 3]], vec![0; 4], vec![Mobility::Deformable]).unwrap();
        let edge = mesh.edges.iter().position(|e| *e == [0, 1]).unwrap() as u32;
        for (lift, convex) in [(-0.3, true), (-1e-6, true), (0.0, false), (1e-6, false), (0.3, false)] {
            let x = [Vec3::zeros(), Vec3::x(), Vec3::new(0.5, 1.0, lift), Vec3::new(0.5, -1.0, lift)];
            assert_eq!(mesh.normal_cone(edge, &x).is_convex(), convex, "{lift}");
        }
    }

    /// A crease that is nearly closed pushes from its sides, not along them.
    #[test]
    fn an_edge_pushes_between_the_normals_of_its_sides() {
        let mesh = Mesh::new(vec![[0, 1, 2], [1, 0, 3]], vec![0; 4], vec![Mobility::Deformable]).unwrap();
        let edge = mesh.edges.iter().position(|e| *e == [0, 1]).unwrap() as u32;
        let degrees = |angle: f64| Vec3::new(0.0, angle.to_radians().sin(), angle.to_radians().cos());
        // How far each side is turned up from flat: the normals lean to the middle by as much, to the outside if down.
        for lift in [-89.0f64, -45.0, -1.0, 1.0, 45.0, 89.0] {
            let (sin, cos) = lift.to_radians().sin_cos();
            let x = [Vec3::zeros(), Vec3::x(), Vec3::new(0.5, cos, sin), Vec3::new(0.5, -cos, sin)];
            let cone = mesh.normal_cone(edge, &x);
            for angle in [-120.0, -60.0, -0.5, 0.0, 0.5, 30.0, 88.0, 120.0] {
                let most = if lift == 1.0 { 0.0 } else { lift.abs() };
                let within = f64::clamp(angle, -most, most);
                let found = cone.in_normal_cone(&degrees(angle));
                assert!((found - degrees(within)).norm() < 1e-12, "{lift} {angle}: {found:?}");
                let is_supported = lift < 0.0 && within == angle;
                assert_eq!(cone.is_supported(&degrees(angle), 1e-3), is_supported, "{lift} {angle}");
            }
        }
        let flat = [Vec3::zeros(), Vec3::x(), Vec3::new(0.5, 1.0, 0.0), Vec3::new(0.5, -1.0, 0.0)];
        let cone = mesh.normal_cone(edge, &flat);
        assert_eq!(cone.in_normal_cone(&degrees(70.0)), Vec3::z());
        assert!(cone.is_supported(&Vec3::z(), 1e-3) && !cone.is_supported(&degrees(70.0), 1e-3));
    }

    #[test]
    fn strange_topology_is_kept_or_refused() {
        let deformable = || vec![Mobility::Deformable];
        // Three triangles at one edge, and one that names a vertex twice.
        let mesh = Mesh::new(vec![[0, 1, 2], [1, 0, 3], [0, 1, 4], [2, 2, 3]], vec![0; 5], deformable()).unwrap();
        assert_eq!(mesh.edge_triangles[0], [0, 1]);
        assert_eq!(mesh.edges.iter().filter(|e| **e == [2, 3]).count(), 1);
        let x = [Vec3::zeros(), Vec3::x(), Vec3::y(), -Vec3::y(), Vec3::z()];
        assert!((0..mesh.edges.len() as u32).all(|e| mesh.normal_cone(e, &x).outward().iter().all(|c| c.is_finite())));
        assert!(matches!(Mesh::new(vec![[0, 1, 5]], vec![0; 5], deformable()), Err(MeshError::UnknownVertex { vertex: 5, .. })));
        assert!(matches!(Mesh::new(vec![], vec![0, 3], deformable()), Err(MeshError::UnknownBody { vertex: 1, .. })));
        let two = vec![Mobility::Deformable; 2];
        assert!(matches!(Mesh::new(vec![[0, 1, 2]], vec![0, 0, 1], two), Err(MeshError::MixedBodies { triangle: 0 })));
    }
}
