//! Tets that hold a surface strictly and closely: the tets of a body-centred cubic lattice that touch the body, with
//! their nodes moved.
//!
//! Inner nodes go to the minimum of the optimal-Delaunay energy [Chen 2004; Alliez, Cohen-Steiner, Yvinec & Desbrun
//! 2005], border nodes towards the surface and towards the middle of their neighbours. A border node moves only where
//! none of its faces sweeps over a triangle of the surface: whatever was inside stays inside.

use super::bcc::{BccLattice, Edge, at_fineness};
use super::fineness::Fineness;
use super::inside::Inside;
use crate::cancel::{CancelToken, Cancelled};
use crate::math::{Aabb, Vec3};
use crate::mesh::measure::dihedral_angles;
use crate::mesh::tree::Tree;
use crate::mesh::{MeshError, SurfaceMesh, TetMesh};

/// No move makes a dihedral angle less than this [degrees]; the angles of the lattice are 60 and 90.
pub const MIN_DIHEDRAL_ANGLE: f64 = 15.0;

/// The number of times that each node moves.
const N_SWEEPS: usize = 8;

/// Moves below this part of a cell are not made: most inner nodes have nowhere to go.
const MIN_MOVE: f64 = 0.01;

/// Border nodes stop this part of a cell before the surface.
const SURFACE_GAP: f64 = 0.02;

/// Tets around a surface: all of it lies inside, open or not. Inside is as for [`super::voxel::tetrahedralise`].
pub fn tetrahedralise(surface: &SurfaceMesh, fineness: Fineness, cancel: &CancelToken) -> Result<TetMesh, MeshError> {
    let mut mesh = at_fineness(surface, fineness, cancel, |inside, spacing| cover(surface, inside, spacing))?;
    // Twelve tets have the volume of a cell.
    let spacing = (12.0 * mesh.volume(0)).cbrt();
    Smoother::new(&mesh, surface, spacing).smooth(&mut mesh.positions, cancel)?;
    Ok(mesh)
}

/// The tets of a lattice that have a point inside or touch a triangle.
fn cover(surface: &SurfaceMesh, inside: &Inside, spacing: f64) -> Result<TetMesh, MeshError> {
    let lattice = BccLattice::around(surface, spacing);
    let is_inside = lattice.marks(inside)?;
    let tree = inside.tree();
    let kept = |points: [usize; 4], _: [Edge; 6], _: bool| {
        if inside.cancel.is_cancelled() {
            return None;
        }
        let holds = points.iter().any(|&point| is_inside[point]) || touches(tree, &points.map(|point| lattice.position(point)));
        holds.then_some(points.map(|point| point as u32))
    };
    let mesh = lattice.mesh(lattice.len(), kept, |point| lattice.position(point));
    inside.cancel.check()?;
    Ok(mesh)
}

/// Whether a triangle meets a tet; it may say so of a few flat triangles that do not.
fn touches(tree: &Tree, tet: &[Vec3; 4]) -> bool {
    let mut found = false;
    tree.near(&Aabb::of(tet), |triangle| found = found || !are_apart(tet, &tree.surface.corners(triangle)));
    found
}

/// Whether an axis separates a tet from a triangle: a normal of a face or a cross product of two edges.
fn are_apart(tet: &[Vec3; 4], triangle: &[Vec3; 3]) -> bool {
    let [a, b, c, d] = *tet;
    let tet_edges = [b - a, c - a, d - a, c - b, d - b, d - c];
    let [p, q, r] = *triangle;
    let edges = [q - p, r - q, p - r];
    let separates = |axis: Vec3| {
        let [low, high] = extremes(tet.iter().map(|x| (x - p).dot(&axis)));
        let [from, to] = extremes(triangle.iter().map(|x| (x - p).dot(&axis)));
        low > to || high < from
    };
    let normals = [
        edges[0].cross(&edges[1]),
        tet_edges[0].cross(&tet_edges[1]),
        tet_edges[1].cross(&tet_edges[2]),
        tet_edges[2].cross(&tet_edges[0]),
        tet_edges[3].cross(&tet_edges[4]),
    ];
    normals.into_iter().any(separates) || tet_edges.iter().any(|e| edges.iter().any(|f| separates(e.cross(f))))
}

fn extremes(values: impl Iterator<Item = f64>) -> [f64; 2] {
    values.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| [low.min(x), high.max(x)])
}

/// A list of numbers for each node.
struct NodeLists {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl NodeLists {
    /// Lists each item at all of its nodes.
    fn of<const N: usize>(nodes: usize, items: &[[u32; N]]) -> Self {
        let mut starts = vec![0; nodes + 1];
        items.iter().flatten().for_each(|&node| starts[node as usize + 1] += 1);
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut listed = vec![0; N * items.len()];
        for (item, nodes) in items.iter().enumerate() {
            for &node in nodes {
                listed[next[node as usize] as usize] = item as u32;
                next[node as usize] += 1;
            }
        }
        Self { starts, items: listed }
    }

    fn of_node(&self, node: usize) -> impl Iterator<Item = usize> {
        self.items[self.starts[node] as usize..self.starts[node + 1] as usize].iter().map(|&item| item as usize)
    }
}

struct Smoother<'a> {
    tree: Tree<'a>,
    spacing: f64,
    tets: Vec<[u32; 4]>,
    border: Vec<[u32; 3]>,
    tets_at: NodeLists,
    border_at: NodeLists,
}

impl<'a> Smoother<'a> {
    fn new(mesh: &TetMesh, surface: &'a SurfaceMesh, spacing: f64) -> Self {
        let (n, border) = (mesh.positions.len(), mesh.boundary());
        let (tets_at, border_at) = (NodeLists::of(n, &mesh.tets), NodeLists::of(n, &border));
        Self { tree: Tree::new(surface), spacing, tets: mesh.tets.clone(), border, tets_at, border_at }
    }

    fn smooth(&self, positions: &mut [Vec3], cancel: &CancelToken) -> Result<(), Cancelled> {
        for _ in 0..N_SWEEPS {
            for node in 0..positions.len() {
                cancel.check()?;
                let is_border = self.border_at.of_node(node).next().is_some();
                let target = if is_border { self.border_target(node, positions) } else { self.inner_target(node, positions) };
                if (target - positions[node]).norm() < MIN_MOVE * self.spacing {
                    continue;
                }
                let least = self.least_angle(node, positions).min(MIN_DIHEDRAL_ANGLE);
                let from = positions[node];
                // The whole move, or a part of it.
                for part in [1.0, 0.5, 0.25] {
                    positions[node] = from.lerp(&target, part);
                    if self.least_angle(node, positions) >= least && !(is_border && self.sweeps_surface(node, &from, positions)) {
                        break;
                    }
                    positions[node] = from;
                }
            }
        }
        Ok(())
    }

    /// The mean of the circumcentres of the tets around a node, weighted by volume: the minimum of the energy while the
    /// tets stay.
    fn inner_target(&self, node: usize, positions: &[Vec3]) -> Vec3 {
        let (mut sum, mut volume) = (Vec3::zeros(), 0.0);
        for tet in self.tets_at.of_node(node) {
            let [a, b, c, d] = self.tets[tet].map(|n| positions[n as usize]);
            let (u, v, w) = (b - a, c - a, d - a);
            let six = u.dot(&v.cross(&w));
            let to_center = v.cross(&w) * u.norm_squared() + w.cross(&u) * v.norm_squared() + u.cross(&v) * w.norm_squared();
            // Volume times circumcentre; the sixth cancels.
            sum += a * six + to_center * 0.5;
            volume += six;
        }
        sum / volume
    }

    /// The middle between the neighbours' mean and the place just before the surface that is nearest to it.
    fn border_target(&self, node: usize, positions: &[Vec3]) -> Vec3 {
        let (mut sum, mut count) = (Vec3::zeros(), 0.0);
        for face in self.border_at.of_node(node) {
            for &n in self.border[face].iter().filter(|&&n| n as usize != node) {
                sum += positions[n as usize];
                count += 1.0;
            }
        }
        let mean = (positions[node] + sum / count) * 0.5;
        let gap = SURFACE_GAP * self.spacing;
        let nearest = self.tree.closest(&mean);
        let away = positions[node] - self.tree.closest(&positions[node]);
        nearest + away * (gap / away.norm().max(gap))
    }

    /// The least dihedral angle of the tets around a node; negative where a tet is inside out.
    fn least_angle(&self, node: usize, positions: &[Vec3]) -> f64 {
        let angles = self.tets_at.of_node(node).map(|tet| {
            let corners @ [a, b, c, d] = self.tets[tet].map(|n| positions[n as usize]);
            let is_positive = (b - a).dot(&(c - a).cross(&(d - a))) > 0.0;
            if is_positive { dihedral_angles(&corners).into_iter().fold(180.0, f64::min) } else { -1.0 }
        });
        angles.fold(180.0, f64::min)
    }

    /// Whether a face of the border passes over the surface while its node moves.
    fn sweeps_surface(&self, node: usize, from: &Vec3, positions: &[Vec3]) -> bool {
        self.border_at.of_node(node).any(|face| {
            let [a, b, c] = self.border[face].map(|n| positions[n as usize]);
            touches(&self.tree, &[a, b, c, *from])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::fill::stuffing;
    use crate::mesh::measure::Shape;
    use crate::mesh::{assets, embed, parse_surface, shapes};

    #[test]
    fn the_surface_is_held_strictly_and_closely() {
        let builtin = |name: &str| parse_surface(name, assets::builtin(name).unwrap()).unwrap();
        let mut open = shapes::icosphere(1.0, 3);
        open.triangles.truncate(1000);
        let cancel = CancelToken::default();
        for (name, surface) in
            [("ball", shapes::icosphere(1.0, 3)), ("open", open), ("bunny", builtin("bunny_coarse.obj")), ("knot", builtin("knot.off"))]
        {
            let mesh = tetrahedralise(&surface, Fineness::Cells(14), &cancel).unwrap();
            mesh.check().unwrap();
            let shape = Shape::of(&mesh);
            assert!(shape.dihedral[0] >= MIN_DIHEDRAL_ANGLE - 1e-9, "{name}: {:?}", shape.dihedral);
            // Points of all triangles, not only their corners.
            let fine = surface.subdivided(surface.aabb().extent().max() / 60.0);
            let points: Vec<Vec3> = (0..fine.triangles.len()).flat_map(|t| fine.corners(t)).collect();
            let least = |mesh: &TetMesh, points: &[Vec3]| {
                let embedding = embed(mesh, points).unwrap();
                embedding.weights.iter().flatten().fold(f64::INFINITY, |least, &w| w.min(least))
            };
            assert!(least(&mesh, &points) > -1e-9, "{name}: {:e}", least(&mesh, &points));
            // Tets that follow the surface do not hold it.
            let stuffed = stuffing::tetrahedralise(&surface, Fineness::Cells(14), &cancel).unwrap();
            assert!(least(&stuffed, &points[..60]) < -1e-4, "{name}");
            let lattice =
                cover(&surface, &Inside::new(&surface, &cancel).unwrap(), surface.aabb().extent().max() / 14.0).unwrap().total_volume();
            assert!(shape.volume < 0.95 * lattice, "{name}: {} of {lattice}", shape.volume);
        }
    }
}
