//! Tetrahedra for any surface: cells of a regular grid, six equal tets each, as many as have the body's volume. An
//! embedding carries the surface along; parts of it stand out by a cell's diagonal at most.

use super::border;
use super::fineness::{Border, RESOLUTIONS, check_resolution};
use super::inside::{Inside, PointGrid};
use crate::cancel::CancelToken;
use crate::math::Vec3;
use crate::mesh::kuhn::KuhnGrid;
use crate::mesh::{MeshError, SurfaceMesh, TetMesh, doctor};

/// Gap between the surface and the ends of the grid along the longest side, in cells.
const GRID_MARGIN: f64 = 0.01;

/// A tet mesh of the volume that a closed surface encloses: the grid cells inside, and of the cells that the surface
/// touches as many as the volume asks for ([`border`]), or all of them with [`Border::Covering`]. `resolution` is the
/// number of cells along the longest side. All tets have the same volume. The surface may intersect itself (inside is
/// where the winding number is not zero) and consist of several pieces, cavities included. Parts thinner than a cell
/// are not lost: then the volume is larger than the surface's.
///
/// Where a surface is open, or its triangles disagree which side is outside, inside is where the generalised winding
/// number is nearer to one than to zero, and all cells stay that the surface touches or that have their centre inside:
/// there is no volume to meet, and such bodies touch others with the outside of their tets. A sheet becomes a layer of
/// cells.
pub fn tetrahedralise(surface: &SurfaceMesh, resolution: u32, border: Border, cancel: &CancelToken) -> Result<TetMesh, MeshError> {
    check_resolution(resolution)?;
    surface.check()?;
    let inside = Inside::new(surface, cancel)?;
    let grid = Grid::around(surface, resolution);
    let (kept, _) = grid.kept(surface, &inside, border)?;
    let lattice = KuhnGrid { cells: grid.cells, wrapped: None };
    Ok(lattice.tetrahedralise(|cell| kept[grid.slot(cell)], |_| 0, |point| grid.point(point.map(|i| i as f64))))
}

/// The finest resolution at which [`tetrahedralise`] gives about `tets` tets or less, or the coarsest there is. The
/// number is estimated: the volume in cells, and beyond it the cells that a surface touches while their centre is
/// outside, 3/4 for each square of a cell's side on average over all directions of a plane. Where the volume is met,
/// the latter cells are not there, but there is one layer of cells at least, of two sides.
pub fn resolution_for(found: &doctor::Diagnosis, tets: u64, border: Border) -> u32 {
    let longest = found.bounds.extent().max();
    let estimate = |resolution: u32| {
        let cell = longest / f64::from(resolution);
        let (inside, side) = (found.signed_volume / cell.powi(3), 0.75 * found.area / cell.powi(2));
        6.0 * match border {
            _ if !found.is_solid() => 2.0 * side,
            Border::Volume => inside.max(side),
            Border::Covering => inside + side,
        }
    };
    RESOLUTIONS.rev().find(|&resolution| estimate(resolution) <= tets as f64).unwrap_or(*RESOLUTIONS.start())
}

/// The volume [m^3] that a closed surface encloses; space that the surface winds around several times counts once and
/// is measured along rows, to about a hundredth. Nothing for a surface that is open or whose triangles disagree which
/// side is outside.
pub fn enclosed_volume(surface: &SurfaceMesh, cancel: &CancelToken) -> Result<Option<f64>, MeshError> {
    surface.check()?;
    // The grid only finds where a surface overlaps itself; without overlap the sum is exact.
    let grid = Grid::around(surface, 24);
    let found = Inside::new(surface, cancel)?.shares(grid.origin, grid.spacing, grid.cells)?;
    Ok(found.map(|(_, cells)| cells * grid.spacing.powi(3)))
}

pub(super) struct Grid {
    origin: Vec3,
    /// Edge of a cell [m].
    spacing: f64,
    pub cells: [usize; 3],
}

impl Grid {
    /// For each cell, by its slot: whether tets are made of it, and whether the surface touches it.
    pub fn kept(&self, surface: &SurfaceMesh, inside: &Inside, border: Border) -> Result<(Vec<bool>, Vec<bool>), MeshError> {
        let touched = touched(surface, self);
        let mut kept = inside.marks(&PointGrid { first: self.center([0; 3]), spacing: self.spacing, count: self.cells })?;
        kept.iter_mut().zip(&touched).for_each(|(kept, touched)| *kept |= touched);
        let shares = if border == Border::Volume { inside.shares(self.origin, self.spacing, self.cells)? } else { None };
        if let Some((shares, volume)) = shares {
            border::trim(&mut kept, &touched, &shares, volume, self.cells);
        }
        Ok((kept, touched))
    }

    pub fn around(surface: &SurfaceMesh, resolution: u32) -> Self {
        let bounds = surface.aabb();
        let spacing = bounds.extent().max() / (f64::from(resolution) - 2.0 * GRID_MARGIN);
        let cells = std::array::from_fn(|axis| (bounds.extent()[axis] / spacing - 1e-9).ceil().max(1.0));
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

/// For each cell whether a triangle touches it.
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

/// Whether a triangle meets the cube `[-half, half]^3`: no axis among the 13 candidates separates them [Akenine-Moller
/// 2001].
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
