//! Grids of hexahedral cells, each cut into six tets of equal shape around one diagonal [Kuhn 1960; Freudenthal 1942].
//! Every cell is cut alike (or mirrored), so that the tets of neighbours meet in whole faces.

use super::TetMesh;
use crate::math::Vec3;

/// The tets of the unit cell, positively ordered. A corner is three bits: bit `a` is set on the far side of axis `a`.
/// Every tet is a path from corner 0 to corner 7, a step along each axis.
pub(super) const KUHN: [[usize; 4]; 6] = [[0, 1, 3, 7], [0, 2, 6, 7], [0, 4, 5, 7], [0, 5, 1, 7], [0, 3, 2, 7], [0, 6, 4, 7]];

/// A grid of cells.
pub(super) struct KuhnGrid {
    /// Number of cells along each axis.
    pub cells: [usize; 3],
    /// The axis, if any, whose last cells join the first.
    pub wrapped: Option<usize>,
}

impl KuhnGrid {
    /// Tets of the kept cells. `mirrored` gives the axes, as bits, along which a cell's cut is mirrored: a cell and its
    /// neighbour must agree on all axes but the one between them. Nodes and tets are numbered slice by slice along the
    /// longest axis, which keeps the indices of neighbours near each other.
    pub fn tetrahedralise(
        &self,
        keep: impl Fn([usize; 3]) -> bool,
        mirrored: impl Fn([usize; 3]) -> usize,
        position: impl Fn([usize; 3]) -> Vec3,
    ) -> TetMesh {
        let mut order = [0, 1, 2];
        order.sort_by_key(|&axis| std::cmp::Reverse(self.cells[axis]));
        let points: [usize; 3] = std::array::from_fn(|axis| self.cells[axis] + usize::from(self.wrapped != Some(axis)));
        let slot = |point: [usize; 3]| order.iter().fold(0, |slot, &axis| slot * points[axis] + point[axis] % points[axis]);
        let corner_slot = |cell: [usize; 3], corner: usize| slot(std::array::from_fn(|axis| cell[axis] + (corner >> axis & 1)));

        const UNUSED: u32 = u32::MAX;
        let kept: Vec<[usize; 3]> = walk(self.cells, order).filter(|&cell| keep(cell)).collect();
        let mut node_at = vec![UNUSED; points.iter().product()];
        for &cell in &kept {
            for corner in 0..8 {
                node_at[corner_slot(cell, corner)] = 0;
            }
        }
        let mut mesh = TetMesh::default();
        for point in walk(points, order) {
            let node = &mut node_at[slot(point)];
            if *node != UNUSED {
                *node = mesh.positions.len() as u32;
                mesh.positions.push(position(point));
            }
        }
        mesh.tets.reserve(kept.len() * KUHN.len());
        for &cell in &kept {
            let mirror = mirrored(cell);
            for tet in KUHN {
                let mut nodes = tet.map(|corner| node_at[corner_slot(cell, corner ^ mirror)]);
                // Each mirroring turns the tet inside out.
                if mirror.count_ones() % 2 == 1 {
                    nodes.swap(1, 2);
                }
                mesh.tets.push(nodes);
            }
        }
        mesh
    }
}

/// All index triples below `size`; the last axis of `order` runs fastest.
fn walk(size: [usize; 3], order: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    let [outer, middle, inner] = order.map(|axis| size[axis]);
    (0..outer).flat_map(move |i| {
        (0..middle).flat_map(move |j| {
            (0..inner).map(move |k| {
                let mut index = [0; 3];
                (index[order[0]], index[order[1]], index[order[2]]) = (i, j, k);
                index
            })
        })
    })
}
