//! A body-centred cubic lattice and its tets: two long edges at right angles and four short edges, all dihedral angles
//! 60 or 90 degrees.

use rayon::prelude::*;

use super::fineness::{Fineness, RESOLUTIONS, check_resolution};
use super::inside::{Inside, PointGrid};
use crate::cancel::CancelToken;
use crate::math::Vec3;
use crate::mesh::{MeshError, SurfaceMesh, TetMesh};

/// A wanted number of tets counts as met when the mesh misses it by at most this part of it.
const COUNT_TOLERANCE: f64 = 0.05;

/// At most this many meshes are made to meet a wanted number of tets; the nearest is taken.
const MAX_TRIES: usize = 4;

/// Fills a surface at a wanted fineness; `fill` does so with cells of a given edge [m].
pub(super) fn at_fineness(
    surface: &SurfaceMesh,
    fineness: Fineness,
    cancel: &CancelToken,
    fill: impl Fn(&Inside, f64) -> Result<TetMesh, MeshError>,
) -> Result<TetMesh, MeshError> {
    if let Fineness::Cells(resolution) = fineness {
        check_resolution(resolution)?;
    }
    surface.check()?;
    let inside = Inside::new(surface, cancel)?;
    let longest = surface.aabb().extent().max();
    let wanted = match fineness {
        Fineness::Cells(resolution) => return fill(&inside, longest / f64::from(resolution)),
        Fineness::Tets(tets) => tets as f64,
    };
    let [coarsest, finest] = [*RESOLUTIONS.start(), *RESOLUTIONS.end()].map(|cells| longest / f64::from(cells));
    // Twelve tets for the volume of each cell, and about five for each square of a cell's side at the border: the
    // number found is taken from the mesh that is made.
    let (area, volume) = (surface.area(), surface.signed_volume().abs());
    let spacing_for = |per_area: f64| {
        let count = |h: f64| 12.0 * volume / h.powi(3) + per_area * area / h.powi(2);
        let (mut low, mut high) = (finest, coarsest);
        for _ in 0..50 {
            let middle = (low * high).sqrt();
            if count(middle) > wanted { low = middle } else { high = middle }
        }
        (low * high).sqrt()
    };
    let mut best: Option<(f64, TetMesh)> = None;
    let mut spacing = spacing_for(5.0);
    for _ in 0..MAX_TRIES {
        let mesh = fill(&inside, spacing)?;
        let got = mesh.tets.len() as f64;
        let miss = (got / wanted - 1.0).abs();
        if best.as_ref().is_some_and(|(least, _)| *least <= miss) {
            break;
        }
        best = Some((miss, mesh));
        let next = spacing_for((got - 12.0 * volume / spacing.powi(3)) * spacing.powi(2) / area);
        if miss < COUNT_TOLERANCE || next == spacing {
            break;
        }
        spacing = next;
    }
    best.map(|(_, mesh)| mesh).ok_or(MeshError::NoTets)
}

/// A body-centred cubic lattice. Its points are the corners of cubes, then the centres of the cubes.
pub(super) struct BccLattice {
    pub(super) corners: PointGrid,
    pub(super) centers: PointGrid,
}

/// The number of edges that belong to a point: three long edges, to the next point of its kind along each axis, and,
/// for centres, eight short edges to the corners of their cube. Bit `a` of a short edge is set when the corner is on
/// the far side of axis `a`.
pub(super) const EDGES_PER_POINT: usize = 11;
const LONG_EDGES: usize = 3;

/// An edge by its point and its place among the point's edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edge(u32);

impl Edge {
    pub(super) fn new(point: usize, kind: usize) -> Self {
        Self((point * EDGES_PER_POINT + kind) as u32)
    }

    pub(super) fn is_long(self) -> bool {
        (self.0 as usize % EDGES_PER_POINT) < LONG_EDGES
    }
}

impl BccLattice {
    /// A lattice whose outermost points are at least half a cell outside of the surface.
    pub(super) fn around(surface: &SurfaceMesh, spacing: f64) -> Self {
        let bounds = surface.aabb();
        let cells: [usize; 3] = std::array::from_fn(|axis| (bounds.extent()[axis] / spacing - 1e-9).ceil().max(1.0) as usize + 2);
        let first = bounds.center() - Vec3::new(cells[0] as f64, cells[1] as f64, cells[2] as f64) * (spacing / 2.0);
        let corners = PointGrid { first, spacing, count: cells.map(|n| n + 1) };
        Self { corners, centers: PointGrid { first: first.add_scalar(spacing / 2.0), spacing, count: cells } }
    }

    pub(super) fn len(&self) -> usize {
        self.corners.len() + self.centers.len()
    }

    fn corner(&self, index: [usize; 3]) -> usize {
        self.corners.slot(index)
    }

    fn center(&self, index: [usize; 3]) -> usize {
        self.corners.len() + self.centers.slot(index)
    }

    pub(super) fn position(&self, point: usize) -> Vec3 {
        match point.checked_sub(self.corners.len()) {
            None => self.corners.position(self.corners.index(point)),
            Some(slot) => self.centers.position(self.centers.index(slot)),
        }
    }

    /// The other end of an edge; nothing beyond the end of the lattice.
    pub(super) fn end(&self, point: usize, kind: usize) -> Option<usize> {
        let center = point.checked_sub(self.corners.len());
        let (points, slot) = center.map_or((&self.corners, point), |slot| (&self.centers, slot));
        let mut index = points.index(slot);
        if kind < LONG_EDGES {
            index[kind] += 1;
            return (index[kind] < points.count[kind]).then(|| point - slot + points.slot(index));
        }
        center.map(|_| self.corner(std::array::from_fn(|axis| index[axis] + ((kind - LONG_EDGES) >> axis & 1))))
    }

    pub(super) fn ends(&self, edge: Edge) -> [usize; 2] {
        let (point, kind) = (edge.0 as usize / EDGES_PER_POINT, edge.0 as usize % EDGES_PER_POINT);
        [point, self.end(point, kind).unwrap_or(point)]
    }

    /// For each point whether it is inside.
    pub(super) fn marks(&self, inside: &Inside) -> Result<Vec<bool>, MeshError> {
        let mut marks = inside.marks(&self.corners)?;
        marks.extend(inside.marks(&self.centers)?);
        Ok(marks)
    }

    /// A mesh of the parts of all tets. `parts_of` gives the parts of a tet by nodes below `nodes`, `position` the
    /// position of a node. Used nodes and tets are numbered slice by slice along the longest axis, which keeps the
    /// indices of neighbours near each other.
    pub(super) fn mesh<I: IntoIterator<Item = [u32; 4]>>(
        &self,
        nodes: usize,
        parts_of: impl Fn([usize; 4], [Edge; 6], bool) -> I + Sync,
        position: impl Fn(usize) -> Vec3,
    ) -> TetMesh {
        let mut order = [0, 1, 2];
        order.sort_by_key(|&axis| std::cmp::Reverse(self.centers.count[axis]));
        let counts = order.map(|axis| self.centers.count[axis]);
        let tets_of_row = |row: usize| {
            let mut tets: Vec<[u32; 4]> = Vec::new();
            for k in 0..counts[2] {
                let mut cell = [0; 3];
                (cell[order[0]], cell[order[1]], cell[order[2]]) = (row / counts[1], row % counts[1], k);
                self.each_tet(cell, |points, edges, even_first| tets.extend(parts_of(points, edges, even_first)));
            }
            tets
        };
        let rows = (0..counts[0] * counts[1]).into_par_iter();
        let mut mesh = TetMesh { positions: Vec::new(), tets: rows.flat_map_iter(tets_of_row).collect() };
        const UNUSED: u32 = u32::MAX;
        let mut number = vec![UNUSED; nodes];
        for node in mesh.tets.iter_mut().flatten() {
            let number = &mut number[*node as usize];
            if *number == UNUSED {
                *number = mesh.positions.len() as u32;
                mesh.positions.push(position(*node as usize));
            }
            *node = *number;
        }
        mesh
    }

    /// Calls `each` with the tets around the three long edges that belong to the centre of a cell: their points,
    /// centres first, their edges as [`TET_EDGES`] has them, and whether the third of these, rather than the fifth, is
    /// even.
    fn each_tet(&self, cell: [usize; 3], mut each: impl FnMut([usize; 4], [Edge; 6], bool)) {
        let center = self.center(cell);
        for axis in 0..3 {
            let Some(next) = self.end(center, axis) else { continue };
            // The corners of the square between both cubes, counter-clockwise seen from the far side, as the bits of
            // short edges.
            let (u, v) = (1 << ((axis + 1) % 3), 1 << ((axis + 2) % 3));
            let ring = [0, u, u | v, v].map(|bits| bits | 1 << axis);
            let corner = |bits: usize| self.corner(std::array::from_fn(|a| cell[a] + (bits >> a & 1)));
            for k in 0..4 {
                let (p, q) = (ring[k], ring[(k + 1) % 4]);
                let near = |bits: usize| Edge::new(center, LONG_EDGES + bits);
                let far = |bits: usize| Edge::new(next, LONG_EDGES + (bits ^ 1 << axis));
                let between = Edge::new(corner(p & q), (p ^ q).trailing_zeros() as usize);
                let edges = [Edge::new(center, axis), between, near(p), far(q), near(q), far(p)];
                each([center, next, corner(p), corner(q)], edges, p.count_ones() % 2 == 0);
            }
        }
    }
}

/// The edges of a lattice tet of two centres (corners 0 and 1) and two corners (2 and 3): the long edges, then the
/// short edges in opposite pairs.
pub(super) const TET_EDGES: [[usize; 2]; 6] = [[0, 1], [2, 3], [0, 2], [1, 3], [0, 3], [1, 2]];
