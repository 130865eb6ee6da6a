//! Surfaces that touch or cross themselves at rest, as meshes of others do. Contact keeps features apart that are apart
//! at the start, each on its side; for others there is no side.

use crate::cancel::{CancelToken, Cancelled};
use crate::geometry::{Bvh, Mesh, Mobility, Pair, closest};
use crate::math::{Mat3, Vec3};
use crate::mesh::{Embedding, SurfaceMesh, TetMesh, doctor};

/// Triangles, and where their vertices lie in the tets.
pub type Skin = (Vec<[u32; 3]>, Embedding);

/// Features nearer than this part of the contact tolerance touch.
const TOUCHING: f64 = 0.1;
/// How far vertices of features that touch are moved inwards, in contact tolerances; twice as far each time they still
/// touch.
const INWARDS: [f64; 3] = [1.0, 2.0, 4.0];
/// At most this part of the height of their tet.
const MOST_OF_TET: f64 = 0.1;

/// What was done about a surface that meets itself at rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtRest {
    Apart,
    /// This many of its vertices were moved inwards.
    SetApart(usize),
    /// It passes through itself: this many of its features cross or touch at rest, and cannot be set apart.
    PassesThroughItself(usize),
}

/// Moves vertices of `skin` inwards that touch features of the same surface at rest, by about the contact tolerance
/// `tolerance` [m].
pub fn settle(tets: &TetMesh, skin: &mut Skin, tolerance: f64, cancel: &CancelToken) -> Result<AtRest, Cancelled> {
    let mut x = skin.1.positions(&tets.positions);
    // A surface that gives no mesh is told by the simulation.
    let Ok(mesh) = Mesh::new(skin.0.clone(), vec![0; x.len()], vec![Mobility::Deformable]) else { return Ok(AtRest::Apart) };
    let mut touching = touching_vertices(&mesh, &x, tolerance);
    let mut is_moved = vec![false; x.len()];
    if !touching.is_empty() {
        let inwards = Inwards::new(tets, skin, &x);
        for far in INWARDS {
            cancel.check()?;
            for &v in &touching {
                is_moved[v as usize] |= inwards.shift(skin, v as usize, far * tolerance);
            }
            x = skin.1.positions(&tets.positions);
            touching = touching_vertices(&mesh, &x, tolerance);
            if touching.is_empty() {
                break;
            }
        }
    }
    // Parts that are in each other by no more than that do not cross any longer.
    let surface = SurfaceMesh { positions: x, triangles: skin.0.clone(), ..SurfaceMesh::default() };
    let n_moved = is_moved.iter().filter(|is_moved| **is_moved).count();
    Ok(match (touching.len() + doctor::crossings_unless(&surface, cancel)?.len(), n_moved) {
        (0, 0) => AtRest::Apart,
        (0, n) => AtRest::SetApart(n),
        (n, _) => AtRest::PassesThroughItself(n),
    })
}

/// The vertices of features that touch another one, ascending.
fn touching_vertices(mesh: &Mesh, x: &[Vec3], tolerance: f64) -> Vec<u32> {
    let mut bvh = Bvh::new(mesh, x);
    bvh.refit(mesh, x, &vec![Vec3::zeros(); x.len()], tolerance, 0.0);
    let candidates = bvh.query(mesh, x);
    let touches = |pair: &Pair| closest(mesh, *pair, x).distance < TOUCHING * tolerance;
    let mut vertices: Vec<u32> = candidates.pairs().filter(touches).flat_map(|pair| mesh.vertices(pair)).collect();
    vertices.sort_unstable();
    vertices.dedup();
    vertices
}

/// The ways inwards of the vertices of a skin.
struct Inwards<'a> {
    tets: &'a TetMesh,
    /// Not of unit length.
    normals: Vec<Vec3>,
    /// The tets at each node.
    at_node: Vec<Vec<u32>>,
}

impl<'a> Inwards<'a> {
    fn new(tets: &'a TetMesh, skin: &Skin, x: &[Vec3]) -> Self {
        let mut normals = vec![Vec3::zeros(); x.len()];
        for triangle in &skin.0 {
            let [a, b, c] = triangle.map(|v| x[v as usize]);
            triangle.iter().for_each(|v| normals[*v as usize] += (b - a).cross(&(c - a)));
        }
        let mut at_node = vec![vec![]; tets.positions.len()];
        for (t, tet) in (0..).zip(&tets.tets) {
            tet.iter().for_each(|node| at_node[*node as usize].push(t));
        }
        Self { tets, normals, at_node }
    }

    /// Moves a vertex inwards by `far` [m], or less where its tet is flat; whether it can be moved.
    fn shift(&self, skin: &mut Skin, v: usize, far: f64) -> bool {
        let Some(inward) = (-self.normals[v]).try_normalize(0.0) else { return false };
        let (nodes, weights) = (&mut skin.1.nodes[v], &mut skin.1.weights[v]);
        // Rates of its weights [1/m], in the tet at its node that reaches furthest inwards, or in its own one.
        let of_tet = |tet: &[u32; 4]| Some((*tet, rates(&tet.map(|node| self.tets.positions[node as usize]), &inward)?));
        let (tet, rates) = if weights[0] == 1.0 && nodes[1..].iter().all(|node| *node == nodes[0]) {
            let node = nodes[0];
            let least = |(tet, rates): &([u32; 4], [f64; 4])| {
                tet.iter().zip(rates).filter(|(corner, _)| **corner != node).map(|(_, rate)| *rate).fold(f64::INFINITY, f64::min)
            };
            let at_node = self.at_node[node as usize].iter().filter_map(|tet| of_tet(&self.tets.tets[*tet as usize]));
            let Some(found) = at_node.max_by(|a, b| least(a).total_cmp(&least(b))) else { return false };
            *weights = found.0.map(|corner| if corner == node { 1.0 } else { 0.0 });
            found
        } else {
            let Some(found) = of_tet(nodes) else { return false };
            found
        };
        let steepest = rates.iter().fold(0.0f64, |most, rate| most.max(rate.abs()));
        *nodes = tet;
        weights.iter_mut().zip(rates).for_each(|(weight, rate)| *weight += rate * far.min(MOST_OF_TET / steepest));
        true
    }
}

/// How fast the weights of a point in a tet change along `direction` [1/m]; nothing of a flat one.
fn rates(&[a, b, c, d]: &[Vec3; 4], direction: &Vec3) -> Option<[f64; 4]> {
    let along = Mat3::from_columns(&[b - a, c - a, d - a]).try_inverse()? * direction;
    Some([-along.sum(), along.x, along.y, along.z])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::shapes;

    fn two_boxes(shift: Vec3) -> TetMesh {
        let mut mesh = shapes::box_tets(Vec3::repeat(1.0), [2, 2, 2]);
        let (n, fine) = (mesh.positions.len() as u32, shapes::box_tets(Vec3::repeat(1.0), [3, 3, 3]));
        mesh.positions.extend(fine.positions.iter().map(|p| p + shift));
        mesh.tets.extend(fine.tets.iter().map(|tet| tet.map(|node| node + n)));
        mesh
    }

    #[test]
    fn parts_that_touch_are_set_apart_and_others_stay() {
        const TOLERANCE: f64 = 1e-4;
        let settled = |mesh: &TetMesh| {
            let mut skin = mesh.boundary_skin();
            let found = settle(mesh, &mut skin, TOLERANCE, CancelToken::never()).unwrap();
            (found, skin)
        };
        // Face on face, edge at edge, corner at corner.
        for shift in [Vec3::new(0.0, 1.0, 0.0), Vec3::new(0.2, 1.0, 0.1), Vec3::new(1.0, 1.0, 0.0), Vec3::repeat(1.0)] {
            let mesh = two_boxes(shift);
            let (found, skin) = settled(&mesh);
            assert!(matches!(found, AtRest::SetApart(n) if n > 1), "{shift:?}: {found:?}");
            let (x, before) = (skin.1.positions(&mesh.positions), mesh.boundary_skin().1.positions(&mesh.positions));
            let most = x.iter().zip(&before).map(|(x, y)| (x - y).norm()).fold(0.0, f64::max);
            assert!(most > 0.5 * TOLERANCE && most < 8.0 * TOLERANCE, "{shift:?}: {most}");
            let mut again = skin.clone();
            assert_eq!(settle(&mesh, &mut again, TOLERANCE, CancelToken::never()), Ok(AtRest::Apart), "{shift:?}");
            assert!(again == skin, "{shift:?}");
        }
        let apart = two_boxes(Vec3::y() * 1.001);
        assert_eq!(settled(&apart), (AtRest::Apart, apart.boundary_skin()));
        assert!(matches!(settled(&two_boxes(Vec3::repeat(0.7))).0, AtRest::PassesThroughItself(n) if n > 0));
        // In each other by less than they are set apart.
        assert!(matches!(settled(&two_boxes(Vec3::new(0.2, 1.0 - 1e-7, 0.1))).0, AtRest::SetApart(n) if n > 1));
        // The two sides of a sheet do not touch.
        let sheet = shapes::box_tets(Vec3::new(1.0, 5e-5, 1.0), [4, 1, 4]);
        assert_eq!(settled(&sheet).0, AtRest::Apart);
    }
}
