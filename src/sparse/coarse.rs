//! The factor of the coarse matrix of a lattice, see [`Layout`].

use std::sync::OnceLock;

use rayon::prelude::*;

use super::two_level::{Layout, weights};
use super::{Columns, FactorWork, NotPositiveDefinite, Pattern, RestFactor};
use crate::cancel::CancelToken;
use crate::math::{Mat3, Vec3};

/// Added to each diagonal block of the coarse matrix, as a part of its mean: few nodes in a cell do not tell all that
/// its points can do.
const SHIFT: f64 = 1e-4;
/// As a part of the largest one, for points that move nothing.
const LEAST: f64 = 1e-8;
/// Cells whose parts of the matrix are in memory at once.
const BATCH: usize = 128;

/// Memory of the columns [bytes].
const COLUMNS_LIMIT: usize = 128 << 20;

const NONE: u32 = u32::MAX;

/// The factor of P^T A P in the rest pose, one unknown a point of the lattice.
#[derive(Debug)]
pub struct Coarse {
    pub(super) factor: RestFactor,
    /// Of all points, once they are asked for.
    columns: OnceLock<Columns>,
}

/// The second of two cells, and the blocks between the corners of both.
type Couplings = Vec<(u32, [[Mat3; 8]; 8])>;

impl Coarse {
    #[cfg(test)]
    pub fn new(layout: &Layout, pattern: &Pattern, blocks: &[Mat3]) -> Result<Self, NotPositiveDefinite> {
        Self::new_unless(layout, pattern, blocks, CancelToken::never())
    }

    /// From the matrix `blocks` of the rest pose. Ends soon after `cancel` is cancelled, as if the matrix were not
    /// positive definite.
    pub fn new_unless(layout: &Layout, pattern: &Pattern, blocks: &[Mat3], cancel: &CancelToken) -> Result<Self, NotPositiveDefinite> {
        let n = layout.n_points();
        let cells = 0..layout.cells.len();
        let together = |[a, b]: [usize; 2]| layout.corners[a].into_iter().flat_map(move |p| layout.corners[b].map(|q| [p, q]));
        let pairs =
            cells.clone().into_par_iter().flat_map_iter(|a| neighbours(layout, pattern, a).into_iter().map(move |b| [a, b as usize]));
        let mut edges: Vec<[u32; 2]> = pairs.flat_map_iter(together).filter(|[p, q]| p < q).collect();
        edges.par_sort_unstable();
        edges.dedup();
        let coarse = Pattern::new(n, edges);
        let mut sums = vec![Mat3::zeros(); coarse.n_blocks()];
        for first in cells.clone().step_by(BATCH) {
            cancel.reached(0.7 * first as f32 / cells.len() as f32);
            cancel.check().map_err(|_| NotPositiveDefinite)?;
            let batch = first..(first + BATCH).min(cells.end);
            let parts: Vec<Couplings> = batch.clone().into_par_iter().map(|a| couplings(layout, pattern, blocks, a)).collect();
            for (a, couplings) in batch.zip(parts) {
                for (b, between) in couplings {
                    for (p, row) in layout.corners[a].iter().zip(&between) {
                        let columns = coarse.row(*p as usize);
                        for (q, block) in layout.corners[b as usize].iter().zip(row) {
                            if let Ok(place) = coarse.columns[columns.clone()].binary_search(q) {
                                sums[columns.start + place] += block;
                            }
                        }
                    }
                }
            }
        }
        let mean = |p: usize| sums[coarse.diagonals[p] as usize].trace() / 3.0;
        let largest = (0..n).map(mean).fold(0.0, f64::max);
        for diagonal in &coarse.diagonals {
            let block = &mut sums[*diagonal as usize];
            *block += Mat3::identity() * (SHIFT * block.trace() / 3.0).max(LEAST * largest);
        }
        let fixed = vec![false; n];
        RestFactor::new_unless(&coarse, &sums, &(0..n), (&fixed, &layout.points), usize::MAX, &cancel.part(0.7, 1.0))
            .map(|factor| Self { factor, columns: OnceLock::new() })
    }

    pub(super) fn solve(&self, rhs: &[Vec3], x: &mut [Vec3], work: &mut FactorWork) {
        self.factor.solve(rhs, x, work);
    }

    /// The columns of all points.
    pub(super) fn columns(&self) -> &Columns {
        let points = || Vec::from_iter(0..self.factor.n_nodes() as u32);
        self.columns.get_or_init(|| Columns::new(&self.factor, &points(), COLUMNS_LIMIT))
    }
}

/// The rows of the cell `a` with their places: blocks and the places of their columns.
fn rows<'a>(layout: &'a Layout, pattern: &'a Pattern, a: usize) -> impl Iterator<Item = (usize, impl Iterator<Item = (usize, usize)>)> {
    let slices = &layout.cells[a];
    let places = super::sell::HEIGHT * slices.start..super::sell::HEIGHT * slices.end;
    places.filter(|place| layout.nodes[*place] != NONE).map(move |place| {
        let first = layout.range.start;
        let row = pattern.row(first + layout.nodes[place] as usize);
        let columns = row.map(move |b| (b, layout.places[pattern.columns[b] as usize - first] as usize));
        (place, columns.filter(|(_, place)| *place != NONE as usize))
    })
}

fn owner(layout: &Layout, place: usize) -> u32 {
    layout.owners[place / super::sell::HEIGHT]
}

/// Cells that share an edge of the mesh with the cell `a`, and this itself; ascending.
fn neighbours(layout: &Layout, pattern: &Pattern, a: usize) -> Vec<u32> {
    let mut found: Vec<u32> = rows(layout, pattern, a).flat_map(|(_, row)| row.map(|(_, q)| owner(layout, q))).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The part of the coarse matrix that the rows of the cell `a` make.
fn couplings(layout: &Layout, pattern: &Pattern, blocks: &[Mat3], a: usize) -> Couplings {
    let mut found: Couplings = neighbours(layout, pattern, a).into_iter().map(|b| (b, [[Mat3::zeros(); 8]; 8])).collect();
    let mut columns = vec![];
    for (place, row) in rows(layout, pattern, a) {
        columns.clear();
        columns.extend(row.map(|(block, q)| (owner(layout, q), block, q)));
        columns.sort_unstable();
        let own = weights(&layout.fractions[place]);
        for of_cell in columns.chunk_by(|x, y| x.0 == y.0) {
            // Of this row and the corners of the other cell.
            let mut sums = [Mat3::zeros(); 8];
            for (_, block, q) in of_cell {
                for (sum, weight) in sums.iter_mut().zip(weights(&layout.fractions[*q])) {
                    *sum += blocks[*block] * weight;
                }
            }
            let Ok(k) = found.binary_search_by_key(&of_cell[0].0, |(b, _)| *b) else { continue };
            for (row, own) in found[k].1.iter_mut().zip(own) {
                row.iter_mut().zip(&sums).for_each(|(entry, sum)| *entry += sum * own);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sparse::{Operator, dot, elastic_box};

    /// P u, of all nodes.
    fn carried(layout: &Layout, n: usize, u: &[Vec3]) -> Vec<Vec3> {
        let mut x = vec![Vec3::zeros(); n];
        for (point, u) in u.iter().enumerate() {
            layout.moved_by(point).for_each(|(node, weight)| x[node] += u * weight);
        }
        x
    }

    #[test]
    fn the_factor_finds_the_field_that_a_load_belongs_to() {
        let (pattern, blocks, positions) = elastic_box(11, 0.2, 1.0 / 60.0);
        let n = positions.len();
        let fixed: Vec<bool> = (0..n).map(|i| i < 130).collect();
        let layout = Layout::new(&pattern, &(0..n), &fixed, &positions);
        let coarse = Coarse::new(&layout, &pattern, &blocks).unwrap();
        let a = Operator { blocks, ..Operator::default() };
        let field: Vec<Vec3> = (0..layout.n_points()).map(|i| Vec3::new((i as f64).sin(), (1.3 * i as f64).cos(), 0.3)).collect();
        let wanted = carried(&layout, n, &field);
        let mut forces = vec![Vec3::zeros(); n];
        a.apply(&pattern, &fixed, &(0..n), &wanted, &mut forces);
        let load: Vec<Vec3> = (0..field.len()).map(|point| layout.moved_by(point).map(|(node, w)| forces[node] * w).sum()).collect();
        let off = |load: &[Vec3]| {
            let mut found = vec![Vec3::zeros(); field.len()];
            coarse.solve(load, &mut found, &mut FactorWork::default());
            let found = carried(&layout, n, &found);
            let difference: Vec<Vec3> = found.iter().zip(&wanted).map(|(x, y)| x - y).collect();
            (dot(&difference, &difference) / dot(&wanted, &wanted)).sqrt()
        };
        assert!(layout.n_points() > 30 && off(&load) < 2e-2, "{}", off(&load));
        let wrong: Vec<Vec3> = load.iter().map(|l| l * 1.1).collect();
        assert!(off(&wrong) > 5e-2);
    }
}
