//! Which tet holds a point.

use super::TetMesh;
use crate::cancel::{CancelToken, Cancelled};
use crate::math::{Aabb, Vec3};

/// Rounding may put a point on a face outside of the tets on both of its sides, by this part of their size.
const WEIGHT_TOLERANCE: f64 = 1e-10;

/// Barycentric weights of a point in a tet, by ratios of volumes.
pub fn weights([a, b, c, d]: &[Vec3; 4], point: &Vec3) -> [f64; 4] {
    let (ab, ac, ad, ap) = (b - a, c - a, d - a, point - a);
    let volume = ab.dot(&ac.cross(&ad));
    let w = [ap.dot(&ac.cross(&ad)), ab.dot(&ap.cross(&ad)), ab.dot(&ac.cross(&ap))].map(|part| part / volume);
    [1.0 - w[0] - w[1] - w[2], w[0], w[1], w[2]]
}

/// Each cell lists the tets whose boxes touch it.
pub struct TetGrid<'a> {
    mesh: &'a TetMesh,
    bounds: Aabb,
    cells: [usize; 3],
    /// Edges of a cell [m].
    spacing: Vec3,
    /// The tets of cell `c` are `tets[starts[c]..starts[c + 1]]`.
    starts: Vec<u32>,
    tets: Vec<u32>,
}

impl<'a> TetGrid<'a> {
    /// Ends soon after `cancel` is cancelled.
    pub fn new_unless(mesh: &'a TetMesh, cancel: &CancelToken) -> Result<Self, Cancelled> {
        let bounds = Aabb::of(&mesh.positions);
        // About two tets a cell when they fill the box; never more than 256 cells along an axis.
        let edge = (bounds.extent().product() / mesh.tets.len() as f64 * 2.0).cbrt();
        let cells = std::array::from_fn(|axis| ((bounds.extent()[axis] / edge).ceil() as usize).clamp(1, 256));
        let spacing = bounds.extent().component_div(&Vec3::from(cells.map(|n| n as f64)));
        let mut grid = Self { mesh, bounds, cells, spacing, starts: Vec::new(), tets: Vec::new() };

        let slots = cells.iter().product::<usize>();
        let mut counts = vec![0u32; slots + 1];
        grid.each_listing(&cancel.part(0.0, 0.5), |slot, _| counts[slot + 1] += 1)?;
        for slot in 0..slots {
            counts[slot + 1] += counts[slot];
        }
        let mut listed = vec![0; counts[slots] as usize];
        let mut next = counts.clone();
        grid.each_listing(&cancel.part(0.5, 1.0), |slot, tet| {
            listed[next[slot] as usize] = tet;
            next[slot] += 1;
        })?;
        (grid.starts, grid.tets) = (counts, listed);
        Ok(grid)
    }

    /// Calls `list(cell, tet)` for every cell that the box of a tet touches.
    fn each_listing(&self, cancel: &CancelToken, mut list: impl FnMut(usize, u32)) -> Result<(), Cancelled> {
        for tet in 0..self.mesh.tets.len() {
            cancel.check_item(tet, self.mesh.tets.len())?;
            let bounds = Aabb::of(&self.mesh.corners(tet));
            let (min, max) = (self.cell(&bounds.min), self.cell(&bounds.max));
            each_cell(min, max, |cell| list(self.slot(cell), tet as u32));
        }
        Ok(())
    }

    /// The cell of a point, or the nearest cell when the point lies outside the grid.
    fn cell(&self, point: &Vec3) -> [usize; 3] {
        std::array::from_fn(|axis| {
            // A cast from float saturates, so that negative values give cell 0.
            (((point[axis] - self.bounds.min[axis]) / self.spacing[axis]) as usize).min(self.cells[axis] - 1)
        })
    }

    fn slot(&self, cell: [usize; 3]) -> usize {
        (cell[2] * self.cells[1] + cell[1]) * self.cells[0] + cell[0]
    }

    fn tets_of(&self, cell: [usize; 3]) -> &[u32] {
        let slot = self.slot(cell);
        &self.tets[self.starts[slot] as usize..self.starts[slot + 1] as usize]
    }

    /// The tet that holds a point. On a border between tets it is the tet in which the point lies deepest; the first of
    /// equals.
    pub fn locate(&self, point: &Vec3) -> Option<usize> {
        let mut best = (f64::NEG_INFINITY, 0);
        for &tet in self.tets_of(self.cell(point)) {
            let weights = weights(&self.mesh.corners(tet as usize), point);
            let least = weights.into_iter().fold(f64::INFINITY, f64::min);
            if least > best.0 {
                best = (least, tet as usize);
            }
        }
        (best.0 >= -WEIGHT_TOLERANCE).then_some(best.1)
    }
}

fn each_cell(min: [usize; 3], max: [usize; 3], mut visit: impl FnMut([usize; 3])) {
    for k in min[2]..=max[2] {
        for j in min[1]..=max[1] {
            for i in min[0]..=max[0] {
                visit([i, j, k]);
            }
        }
    }
}
