//! Tetrahedra for any surface: the cells of a regular grid that hold a part of the body, six equal tets each. The surface then
//! lies strictly inside and is carried along by an embedding.

use super::fill::{RESOLUTIONS, check_resolution};
use super::inside::{Inside, Points};
use super::lattice::Lattice;
use super::{MeshError, SurfaceMesh, TetMesh, doctor};
use crate::math::Vec3;

/// Gap between the surface and the end of the grid, in cells.
const MARGIN: f64 = 0.01;

/// A tet mesh that contains the surface: every grid cell that touches the surface or has its centre inside. `resolution` is
/// the number of cells along the longest side. All tets have the same volume. A closed surface may intersect itself (inside is
/// where the winding number is not zero) and consist of several pieces, cavities included. Of an open one, or one whose triangles
/// disagree which side is outside, inside is where the generalised winding number is nearer to one than to zero: a sheet becomes a
/// layer of cells.
pub fn tetrahedralise(surface: &SurfaceMesh, resolution: u32) -> Result<TetMesh, MeshError> {
    check_resolution(resolution)?;
    surface.check()?;
    let inside = Inside::new(surface)?;
    let grid = Grid::around(surface, resolution);
    let (kept, _) = grid.kept(surface, &inside);
    let lattice = Lattice { cells: grid.cells, wrapped: None };
    Ok(lattice.tetrahedralise(|cell| kept[grid.slot(cell)], |_| 0, |point| grid.point(point.map(|i| i as f64))))
}

/// The finest resolution at which [`tetrahedralise`] gives about `tets` of them or less, or the coarsest there is. Estimated: the
/// volume in cells, and those cells beyond it that a surface touches without their centre being inside, 3/4 for each square of
/// a cell's side in the mean over all directions of a plane.
pub fn resolution_for(found: &doctor::Diagnosis, tets: u64) -> u32 {
    let longest = found.bounds.extent().max();
    let is_solid = found.is_solid();
    let estimate = |resolution: u32| {
        let cell = longest / f64::from(resolution);
        let (inside, sides) = if is_solid { (found.signed_volume, 1.0) } else { (0.0, 2.0) };
        6.0 * (inside / cell.powi(3) + 0.75 * sides * found.area / cell.powi(2))
    };
    RESOLUTIONS.rev().find(|&resolution| estimate(resolution) <= tets as f64).unwrap_or(*RESOLUTIONS.start())
}

pub(super) struct Grid {
    origin: Vec3,
    /// Edge of a cell [m].
    spacing: f64,
    pub cells: [usize; 3],
}

impl Grid {
    /// The cells that touch the surface or have their centre inside, and those that touch it, by their slots.
    pub fn kept(&self, surface: &SurfaceMesh, inside: &Inside) -> (Vec<bool>, Vec<bool>) {
        let touched = touched(surface, self);
        let mut kept = inside.marks(&Points { first: self.center([0; 3]), spacing: self.spacing, count: self.cells });
        kept.iter_mut().zip(&touched).for_each(|(kept, touched)| *kept |= touched);
        (kept, touched)
    }

    pub fn around(surface: &SurfaceMesh, resolution: u32) -> Self {
        let bounds = surface.aabb();
        let spacing = bounds.extent().max() / (f64::from(resolution) - 2.0 * MARGIN);
        let cells = std::array::from_fn(|axis| (bounds.extent()[axis] / spacing + 2.0 * MARGIN - 1e-9).ceil().max(1.0));
        let origin = bounds.center() - Vec3::from(cells) * (spacing / 2.0);
        Self { origin, spacing, cells: cells.map(|n| n as usize) }
    }

    pub fn point(&self, index: [f64; 3]) -> Vec3 {
        self.origin + Vec3::from(index) * self.spacing
    }

    fn center(&self, cell: [usize; 3]) -> Vec3 {
        self.point(cell.map(|i| i as f64 + 0.5))
    }

    fn slot(&self, cell: [usize; 3]) -> usize {
        (cell[2] * self.cells[1] + cell[1]) * self.cells[0] + cell[0]
    }

    /// First and last cell along an axis that the interval may touch.
    fn range(&self, axis: usize, min: f64, max: f64) -> std::ops::RangeInclusive<usize> {
        let last = self.cells[axis] - 1;
        let index = |x: f64| (x - self.origin[axis]) / self.spacing;
        // A float becomes 0 when negative; a hair of slack covers its rounding.
        let first = (index(min) - 1e-9).floor() as usize;
        first.min(last)..=((index(max) + 1e-9).floor() as usize).min(last)
    }
}

/// Which cells a triangle touches.
fn touched(surface: &SurfaceMesh, grid: &Grid) -> Vec<bool> {
    let mut touched = vec![false; grid.cells.iter().product()];
    let half = grid.spacing * (0.5 + 1e-9);
    for triangle in 0..surface.triangles.len() {
        let corners = surface.corners(triangle);
        let min = corners[0].inf(&corners[1]).inf(&corners[2]);
        let max = corners[0].sup(&corners[1]).sup(&corners[2]);
        let [xs, ys, zs] = [0, 1, 2].map(|axis| grid.range(axis, min[axis], max[axis]));
        for k in zs {
            for j in ys.clone() {
                for i in xs.clone() {
                    let slot = grid.slot([i, j, k]);
                    if !touched[slot] {
                        let center = grid.center([i, j, k]);
                        touched[slot] = triangle_touches_cube(&corners.map(|c| c - center), half);
                    }
                }
            }
        }
    }
    touched
}

/// Whether a triangle meets the cube `[-half, half]^3`: no axis among the 13 candidates separates them [Akenine-Moller 2001].
fn triangle_touches_cube(corners: &[Vec3; 3], half: f64) -> bool {
    let edges = [corners[1] - corners[0], corners[2] - corners[1], corners[0] - corners[2]];
    let apart = |axis: Vec3| {
        let reach = half * axis.abs().sum();
        let [a, b, c] = corners.map(|corner| corner.dot(&axis));
        a.min(b).min(c) > reach || a.max(b).max(c) < -reach
    };
    let sides = [Vec3::x(), Vec3::y(), Vec3::z()];
    // The plane first: for a large triangle it refuses most cells of its box.
    let separated = apart(edges[0].cross(&edges[1]))
        || sides.iter().any(|&side| apart(side))
        || sides.iter().any(|side| edges.iter().any(|edge| apart(side.cross(edge))));
    !separated
}

#[cfg(test)]
mod tests;
