//! The mesh rule of the shared scenes: a grid of box cells, each cut into the same six Kuhn tets around one diagonal.

use nalgebra::Vector3;

/// [m]
pub type Vec3 = Vector3<f64>;

/// The paths from corner 0 to corner 7 of a cell, one axis a step; bit `a` of a corner is set on the far side of axis `a`.
/// Positively ordered.
const TETS: [[usize; 4]; 6] = [[0, 1, 3, 7], [0, 2, 6, 7], [0, 4, 5, 7], [0, 5, 1, 7], [0, 3, 2, 7], [0, 6, 4, 7]];

/// The faces of a tet, outwards, each opposite to the corner of its index.
const FACES: [[usize; 3]; 4] = [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]];

/// One deformable box as it is at the start.
#[derive(Clone, Debug)]
pub struct Mesh {
    /// [m]
    pub nodes: Vec<Vec3>,
    pub tets: Vec<[u32; 4]>,
    /// Outwards.
    pub surface: Vec<[u32; 3]>,
    /// A quarter of each tet [kg].
    pub masses: Vec<f64>,
}

impl Mesh {
    /// A box of `size` [m] around `center` [m]. Nodes are numbered slice by slice along the axis with the most cells, as in Pliant.
    pub fn grid(center: Vec3, size: Vec3, cells: [usize; 3], density: f64) -> Self {
        let mut order = [0, 1, 2];
        order.sort_by_key(|&axis| std::cmp::Reverse(cells[axis]));
        let index = |point: [usize; 3]| order.iter().fold(0, |index, &axis| index * (cells[axis] + 1) + point[axis]) as u32;

        let place = |point: [usize; 3]| center + Vec3::from_fn(|axis, _| size[axis] * (point[axis] as f64 / cells[axis] as f64 - 0.5));
        let nodes: Vec<Vec3> = walk(cells.map(|n| n + 1), order).map(place).collect();

        let corner = |cell: [usize; 3], corner: usize| index(std::array::from_fn(|axis| cell[axis] + (corner >> axis & 1)));
        let tets: Vec<[u32; 4]> = walk(cells, order).flat_map(|cell| TETS.map(|tet| tet.map(|c| corner(cell, c)))).collect();

        let mut masses = vec![0.0; nodes.len()];
        for tet in &tets {
            let [a, b, c, d] = tet.map(|n| nodes[n as usize]);
            let volume = (b - a).cross(&(c - a)).dot(&(d - a)) / 6.0;
            tet.iter().for_each(|&n| masses[n as usize] += 0.25 * density * volume);
        }
        let surface = boundary(&tets);
        Self { nodes, tets, surface, masses }
    }
}

/// The faces that belong to one tet only.
fn boundary(tets: &[[u32; 4]]) -> Vec<[u32; 3]> {
    let mut faces: Vec<([u32; 3], [u32; 3])> = tets
        .iter()
        .flat_map(|tet| FACES.map(|face| face.map(|corner| tet[corner])))
        .map(|face| {
            let mut key = face;
            key.sort_unstable();
            (key, face)
        })
        .collect();
    faces.sort_unstable();
    faces.chunk_by(|a, b| a.0 == b.0).filter(|alike| alike.len() == 1).map(|alike| alike[0].1).collect()
}

/// All index triples below `size`; the last axis of `order` runs fastest.
fn walk(size: [usize; 3], order: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    (0..size.iter().product()).map(move |mut rest| {
        let mut index = [0; 3];
        for &axis in order.iter().rev() {
            index[axis] = rest % size[axis];
            rest /= size[axis];
        }
        index
    })
}
