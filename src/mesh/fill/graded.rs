//! Voxels with a coarse inside: the cells of [`super::voxel`], merged where the surface is far.
//!
//! Eight cells become one cell of twice the edge where they and all cells around them are free of surface, and so on
//! with the merged cells: an octree in which neighbours, across corners too, differ by one level at most. A cell among
//! equals has the six tets of a grid; a cell beside finer cells is split from its centre, over faces that are divided
//! as the finer side divides them.

use super::fineness::{Border, Fineness, RESOLUTIONS, check_resolution};
use super::inside::Inside;
use super::voxel::Grid;
use crate::cancel::CancelToken;
use crate::mesh::kuhn::KUHN;
use crate::mesh::{MeshError, SurfaceMesh, TetMesh};

/// Least and largest dihedral angle of the tets [degrees]; in an equal grid they are 45 and 90.
pub const DIHEDRAL_ANGLES: [f64; 2] = [19.4, 144.8];

/// A tet mesh of the same outside as [`super::voxel::tetrahedralise`] makes. A wanted number of tets is not exceeded.
pub fn tetrahedralise(surface: &SurfaceMesh, fineness: Fineness, border: Border, cancel: &CancelToken) -> Result<TetMesh, MeshError> {
    if let Fineness::Cells(resolution) = fineness {
        check_resolution(resolution)?;
    }
    surface.check()?;
    let inside = Inside::new(surface, cancel)?;
    let mesh = |resolution: u32| -> Result<TetMesh, MeshError> {
        let grid = Grid::around(surface, resolution);
        let (kept, touched) = grid.kept(surface, &inside, border)?;
        Ok(Octree::new(grid.cells, kept, &touched).tetrahedralise(&grid))
    };
    match fineness {
        Fineness::Cells(resolution) => mesh(resolution),
        Fineness::Tets(tets) => {
            // By halving: finer grids have more tets.
            let (mut low, mut high) = (*RESOLUTIONS.start(), *RESOLUTIONS.end() + 1);
            while high - low > 1 {
                let middle = (low + high) / 2;
                if mesh(middle)?.tets.len() as u64 <= tets { low = middle } else { high = middle }
            }
            mesh(low)
        }
    }
}

/// Cells whose edges are 1, 2, 4, … times the edge of a grid's cell.
struct Octree {
    /// Cells of the grid along each axis.
    cells: [usize; 3],
    /// For each level the cells that exist there, whether or not they are merged into a cell of the next level.
    levels: Vec<Vec<bool>>,
}

impl Octree {
    fn new(cells: [usize; 3], kept: Vec<bool>, touched: &[bool]) -> Self {
        let free = kept.iter().zip(touched).map(|(kept, touched)| *kept && !touched).collect();
        let mut tree = Self { cells, levels: vec![free] };
        loop {
            let level = tree.levels.len();
            let [nx, ny, nz] = tree.count(level);
            let mut merged = Vec::with_capacity(nx * ny * nz);
            for k in 0..nz {
                for j in 0..ny {
                    for i in 0..nx {
                        // A cell's eight parts and the cells around them.
                        let part = |offset: i32, index: usize| 2 * index as i32 + offset - 1;
                        let holds = |n: i32| tree.has(level - 1, [part(n & 3, i), part(n >> 2 & 3, j), part(n >> 4, k)]);
                        merged.push((0..64).all(holds));
                    }
                }
            }
            if !merged.contains(&true) {
                // At the finest level all kept cells exist, touched or not.
                tree.levels[0] = kept;
                return tree;
            }
            tree.levels.push(merged);
        }
    }

    /// Cells of a level along each axis.
    fn count(&self, level: usize) -> [usize; 3] {
        self.cells.map(|n| n >> level)
    }

    fn has(&self, level: usize, cell: [i32; 3]) -> bool {
        let Some(marks) = self.levels.get(level) else { return false };
        let count = self.count(level);
        let is_in = (0..3).all(|axis| (0..count[axis] as i32).contains(&cell[axis]));
        is_in && marks[(cell[2] as usize * count[1] + cell[1] as usize) * count[0] + cell[0] as usize]
    }

    /// The cells that are not merged: their levels and places, slice by slice along the longest axis.
    fn leaves(&self) -> Vec<(usize, [i32; 3])> {
        let mut leaves = Vec::new();
        for level in 0..self.levels.len() {
            let [nx, ny, nz] = self.count(level);
            for slot in 0..nx * ny * nz {
                let cell = [slot % nx, slot / nx % ny, slot / nx / ny].map(|i| i as i32);
                if self.has(level, cell) && !self.has(level + 1, cell.map(|i| i >> 1)) {
                    leaves.push((level, cell));
                }
            }
        }
        let mut order = [0, 1, 2];
        order.sort_by_key(|&axis| std::cmp::Reverse(self.cells[axis]));
        leaves.sort_by_key(|&(level, cell)| order.map(|axis| cell[axis] << level));
        leaves
    }

    fn tetrahedralise(&self, grid: &Grid) -> TetMesh {
        let mut tets: Vec<[[i32; 3]; 4]> = Vec::new();
        for (level, cell) in self.leaves() {
            let (corner, edge) = (cell.map(|i| i << level), 1 << level);
            if level > 0 && self.is_beside_finer(level, cell) {
                let center = corner.map(|i| i + edge / 2);
                self.each_border_triangle(level, cell, |[a, b, c]| tets.push([center, a, b, c]));
            } else {
                let at = |bits: usize| std::array::from_fn(|axis| corner[axis] + edge * (bits >> axis & 1) as i32);
                tets.extend(KUHN.map(|tet| tet.map(at)));
            }
        }
        // Nodes are numbered as the tets name them.
        const UNUSED: u32 = u32::MAX;
        let [nx, ny, nz] = self.cells.map(|n| n + 1);
        let mut node_at = vec![UNUSED; nx * ny * nz];
        let mut mesh = TetMesh::default();
        for tet in tets {
            mesh.tets.push(tet.map(|point| {
                let [i, j, k] = point.map(|i| i as usize);
                let node = &mut node_at[(k * ny + j) * nx + i];
                if *node == UNUSED {
                    *node = mesh.positions.len() as u32;
                    mesh.positions.push(grid.point(point.map(f64::from)));
                }
                *node
            }));
        }
        mesh
    }

    /// Whether a cell of this size is missing `toward` a neighbour (-1, 0 or 1 along each axis), where finer cells are
    /// then.
    fn is_finer(&self, level: usize, cell: [i32; 3], toward: [i32; 3]) -> bool {
        !self.has(level, std::array::from_fn(|axis| cell[axis] + toward[axis]))
    }

    /// Whether finer cells share a face or an edge with this cell.
    fn is_beside_finer(&self, level: usize, cell: [i32; 3]) -> bool {
        (0..27).map(|n| [n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1]).any(|toward| {
            let sides = toward.iter().filter(|&&side| side != 0).count();
            (sides == 1 || sides == 2) && self.is_finer(level, cell, toward)
        })
    }

    /// Calls `each` with the triangles around a cell beside finer cells, counter-clockwise seen from outside. A face
    /// and its edges are divided alike from both of their sides: each square by the diagonal from its lower to its
    /// upper corner, as the tets of a grid do.
    fn each_border_triangle(&self, level: usize, cell: [i32; 3], mut each: impl FnMut([[i32; 3]; 3])) {
        let half = 1 << (level - 1);
        for axis in 0..3 {
            let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
            for side in [-1, 1] {
                let toward = |a: i32, b: i32| {
                    let mut toward = [0; 3];
                    (toward[axis], toward[u], toward[v]) = (side, a, b);
                    toward
                };
                // A point of the face in halves of its edges.
                let mut emit = |triangle: [[i32; 2]; 3]| {
                    let mut points = triangle.map(|[a, b]| {
                        let mut point = cell.map(|i| i * 2 * half);
                        point[axis] += (side + 1) * half;
                        point[u] += a * half;
                        point[v] += b * half;
                        point
                    });
                    if side < 0 {
                        points.swap(1, 2);
                    }
                    each(points);
                };
                if self.is_finer(level, cell, toward(0, 0)) {
                    for [a, b] in [[0, 0], [1, 0], [0, 1], [1, 1]] {
                        emit([[a, b], [a + 1, b], [a + 1, b + 1]]);
                        emit([[a, b], [a + 1, b + 1], [a, b + 1]]);
                    }
                    continue;
                }
                // Finer cells beyond the face would have divided it; finer cells at one of its edges divide that edge
                // alone.
                let is_halved = |a: i32, b: i32| {
                    let mut beside = toward(a, b);
                    let diagonal = self.is_finer(level, cell, beside);
                    beside[axis] = 0;
                    diagonal || self.is_finer(level, cell, beside)
                };
                for [a, corner, b, toward_a, toward_b] in
                    [[[0, 0], [2, 0], [2, 2], [0, -1], [1, 0]], [[2, 2], [0, 2], [0, 0], [0, 1], [-1, 0]]]
                {
                    let middle = |end: [i32; 2]| [(end[0] + corner[0]) / 2, (end[1] + corner[1]) / 2];
                    let (m, n) = (middle(a), middle(b));
                    match (is_halved(toward_a[0], toward_a[1]), is_halved(toward_b[0], toward_b[1])) {
                        (false, false) => emit([a, corner, b]),
                        (true, false) => [[a, m, b], [m, corner, b]].into_iter().for_each(&mut emit),
                        (false, true) => [[a, corner, n], [a, n, b]].into_iter().for_each(&mut emit),
                        (true, true) => [[m, corner, n], [a, m, n], [a, n, b]].into_iter().for_each(&mut emit),
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::Vec3;
    use crate::mesh::fill::voxel;
    use crate::mesh::measure::Shape;
    use crate::mesh::{assets, parse_surface, shapes};

    fn builtin(name: &str) -> SurfaceMesh {
        parse_surface(name, assets::builtin(name).unwrap()).unwrap()
    }

    /// The triangles of the outside by their corners' places.
    fn outside(mesh: &TetMesh) -> Vec<[[u64; 3]; 3]> {
        let place = |node: u32| -> [u64; 3] { mesh.positions[node as usize].map(f64::to_bits).into() };
        let mut triangles: Vec<_> = mesh.boundary().into_iter().map(|triangle| triangle.map(place)).collect();
        for triangle in &mut triangles {
            let first = (0..3).min_by_key(|&i| triangle[i]).unwrap();
            triangle.rotate_left(first);
        }
        triangles.sort_unstable();
        triangles
    }

    #[test]
    fn the_inside_is_coarser_and_the_outside_the_same() {
        let mut extremes = [180f64, 0f64];
        let surfaces = [
            ("ball", shapes::icosphere(1.0, 3), 40, 0.6),
            ("box", shapes::surface_box(Vec3::new(1.0, 0.5, 0.7)), 40, 0.6),
            ("bunny", builtin("bunny.obj"), 48, 0.75),
            ("knot", builtin("knot.off"), 32, 1.0),
        ];
        for (name, surface, resolution, most) in surfaces {
            let fine = voxel::tetrahedralise(&surface, resolution, Border::Volume, &CancelToken::default()).unwrap();
            let mesh = tetrahedralise(&surface, Fineness::Cells(resolution), Border::Volume, &CancelToken::default()).unwrap();
            mesh.check().unwrap();
            let shape = Shape::of(&mesh);
            extremes = [extremes[0].min(shape.dihedral[0]), extremes[1].max(shape.dihedral[1])];
            assert!((mesh.tets.len() as f64) <= most * fine.tets.len() as f64, "{name}: {} of {}", mesh.tets.len(), fine.tets.len());
            assert!((shape.volume / fine.total_volume() - 1.0).abs() < 1e-9, "{name}");
            // Where tets did not meet in whole faces there would be more of these.
            assert!(outside(&mesh) == outside(&fine), "{name}");
        }
        let [least, most] = DIHEDRAL_ANGLES;
        assert!((least..least + 0.2).contains(&extremes[0]) && (most - 0.2..=most).contains(&extremes[1]), "{extremes:?}");
    }

    #[test]
    fn a_wanted_number_of_tets_is_not_exceeded() {
        let ball = shapes::icosphere(1.0, 3);
        let got = tetrahedralise(&ball, Fineness::Tets(40_000), Border::Volume, &CancelToken::default()).unwrap().tets.len();
        assert!((35_000..=40_000).contains(&got), "{got}");
        assert_eq!(
            tetrahedralise(&ball, Fineness::Cells(5), Border::Volume, &CancelToken::default()),
            voxel::tetrahedralise(&ball, 5, Border::Volume, &CancelToken::default())
        );
    }
}
