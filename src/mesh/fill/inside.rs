//! Tells the inside of a surface from its outside.

use std::sync::OnceLock;

use rayon::prelude::*;

use crate::cancel::CancelToken;
use crate::math::{Aabb, Vec3};
use crate::mesh::tree::Tree;
use crate::mesh::{MeshError, SurfaceMesh, doctor};

/// Tells inside from outside. A closed surface may intersect itself (inside is where the winding number is not zero)
/// and consist of several pieces, cavities included. Where a surface is open, or its triangles disagree which side is
/// outside, inside is where the generalised winding number is nearer to one than to zero.
pub(super) struct Inside<'a> {
    surface: &'a SurfaceMesh,
    tree: OnceLock<Tree<'a>>,
    /// Whether the surface is open or its triangles disagree which side is outside.
    is_broken: bool,
    /// Ends what is asked of many points.
    pub cancel: CancelToken,
}

/// A regular grid of points, numbered along x first.
pub(super) struct PointGrid {
    pub first: Vec3,
    /// Distance between neighbours [m].
    pub spacing: f64,
    pub count: [usize; 3],
}

impl PointGrid {
    pub fn position(&self, [i, j, k]: [usize; 3]) -> Vec3 {
        self.first + Vec3::new(i as f64, j as f64, k as f64) * self.spacing
    }

    pub fn slot(&self, [i, j, k]: [usize; 3]) -> usize {
        (k * self.count[1] + j) * self.count[0] + i
    }

    pub fn index(&self, slot: usize) -> [usize; 3] {
        [slot % self.count[0], slot / self.count[0] % self.count[1], slot / self.count[0] / self.count[1]]
    }

    pub fn len(&self) -> usize {
        self.count.iter().product()
    }

    /// The points that may lie in an interval along an axis.
    fn range(&self, axis: usize, min: f64, max: f64) -> std::ops::Range<usize> {
        let index = |x: f64| (x - self.first[axis]) / self.spacing;
        // A float becomes 0 when negative; a hair of slack covers its rounding.
        let first = (index(min) - 1e-9).ceil() as usize;
        let end = ((index(max) + 1e-9).floor() + 1.0) as usize;
        first..end.min(self.count[axis])
    }
}

impl<'a> Inside<'a> {
    /// Refuses a closed surface that encloses no volume, and any surface without extent.
    pub fn new(surface: &'a SurfaceMesh, cancel: &CancelToken) -> Result<Self, MeshError> {
        cancel.check()?;
        let found = doctor::diagnose(surface);
        let is_broken = found.boundary_edges > 0 || found.misoriented_edges > 0;
        if !is_broken && !found.is_solid() {
            return Err(MeshError::NoVolume { volume: found.signed_volume });
        }
        if found.bounds.extent().max() <= 0.0 {
            return Err(MeshError::NoVolume { volume: 0.0 });
        }
        Ok(Self { surface, tree: OnceLock::new(), is_broken, cancel: cancel.clone() })
    }

    /// The tree of the triangles, built at its first use.
    pub fn tree(&self) -> &Tree<'a> {
        self.tree.get_or_init(|| Tree::new(self.surface))
    }

    /// Whether a point is inside.
    pub fn holds(&self, point: &Vec3) -> bool {
        self.tree().winding(point).abs() > 0.5
    }

    /// Gives the part of the segment from a point inside to a point outside that is inside: up to the last triangle
    /// crossed, before which a closed surface winds around. For a surface that is not closed it is found to within
    /// `precision` [m].
    pub fn exit(&self, from: &Vec3, to: &Vec3, precision: f64) -> f64 {
        let crossed = if self.is_broken { None } else { self.last_crossing(from, to) };
        crossed.unwrap_or_else(|| self.searched_exit(from, to, precision))
    }

    /// The last place of a segment where it meets a triangle, as a part of its length [Moller & Trumbore 1997].
    fn last_crossing(&self, from: &Vec3, to: &Vec3) -> Option<f64> {
        // Neighbours overlap by their roundings, so that nothing slips through between.
        const SLACK: f64 = 1e-9;
        let segment = to - from;
        let mut last = None;
        self.tree().near(&Aabb::of([from, to]), |triangle| {
            let [a, b, c] = self.surface.corners(triangle);
            let (u, v) = (b - a, c - a);
            let across = segment.cross(&v);
            let determinant = u.dot(&across);
            let start = from - a;
            let along = start.cross(&u);
            let [s, t, share] = [start.dot(&across), segment.dot(&along), v.dot(&along)].map(|x| x / determinant);
            if s >= -SLACK && t >= -SLACK && s + t <= 1.0 + SLACK && (-SLACK..=1.0 + SLACK).contains(&share) {
                last = Some(share.clamp(0.0, 1.0).max(last.unwrap_or(0.0)));
            }
        });
        last
    }

    /// A root of the signed distance by the method of false position, with a bisection at every third step: where a
    /// hole is closed by winding numbers alone, the distance is not zero.
    fn searched_exit(&self, from: &Vec3, to: &Vec3, precision: f64) -> f64 {
        let distance = |share: f64| self.tree().distance(&from.lerp(to, share));
        let holds = |share: f64| self.holds(&from.lerp(to, share));
        let step = precision / (to - from).norm();
        let (mut low, mut high) = ((0.0, distance(0.0)), (1.0, -distance(1.0)));
        let mut steps = 0;
        while high.0 - low.0 > step {
            steps += 1;
            let secant = low.0 + (high.0 - low.0) * low.1 / (low.1 - high.1);
            let share = if steps % 3 == 0 || secant.is_nan() { 0.5 * (low.0 + high.0) } else { secant };
            let distance = distance(share);
            // A wall within the body is near, too, but nothing ends there.
            if distance <= precision && holds(share - 2.0 * step) && !holds(share + 2.0 * step) {
                return share.clamp(0.0, 1.0);
            }
            if holds(share) {
                low = (share, distance);
                high.1 *= 0.5;
            } else {
                high = (share, -distance);
                low.1 *= 0.5;
            }
        }
        0.5 * (low.0 + high.0)
    }

    /// For each point of a grid, by its slot, whether it is inside.
    pub fn marks(&self, points: &PointGrid) -> Result<Vec<bool>, MeshError> {
        let marks = if self.is_broken {
            self.tree();
            let holds = |slot: usize| !self.cancel.is_cancelled() && self.holds(&points.position(points.index(slot)));
            (0..points.len()).into_par_iter().map(holds).collect()
        } else {
            mark_rows(self.surface, points)
        };
        self.cancel.check()?;
        Ok(marks)
    }

    /// Measures the part of each cell of a grid that is inside, and the volume inside, counted in cells; nothing for a
    /// surface that is not closed. `first` is the lowest corner. The parts are measured along rows in x; the sum is
    /// made as exact as the enclosed volume. Space that the surface winds around several times counts once.
    pub fn shares(&self, first: Vec3, spacing: f64, cells: [usize; 3]) -> Result<Option<(Vec<f64>, f64)>, MeshError> {
        if self.is_broken {
            return Ok(None);
        }
        self.cancel.check()?;
        let [nx, ny, nz] = cells;
        let apart = spacing / ROWS_PER_SIDE as f64;
        let rows =
            PointGrid { first: first + Vec3::repeat(0.5 * apart), spacing: apart, count: [1, ny * ROWS_PER_SIDE, nz * ROWS_PER_SIDE] };
        let crossings = crossings(self.surface, &rows);
        let mut shares = vec![0.0; nx * ny * nz];
        // For each row of cells: the volume inside, and the same times the winding number.
        let measure = |(row, shares): (usize, &mut [f64])| {
            let (mut filled, mut wound) = (0.0, 0.0);
            for line in 0..ROWS_PER_CELL as usize {
                let [j, k] = [row % ny * ROWS_PER_SIDE + line % ROWS_PER_SIDE, row / ny * ROWS_PER_SIDE + line / ROWS_PER_SIDE];
                let mut winding = 0;
                for pair in crossings[k * ny * ROWS_PER_SIDE + j].windows(2) {
                    winding += pair[0].1;
                    let [from, to] = [pair[0].0, pair[1].0].map(|x| ((x - first.x) / spacing).clamp(0.0, nx as f64));
                    // Negative where a row has come in from outside.
                    wound -= f64::from(winding) * (to - from) / ROWS_PER_CELL;
                    if winding == 0 {
                        continue;
                    }
                    filled += (to - from) / ROWS_PER_CELL;
                    for (cell, share) in shares.iter_mut().enumerate().take(to.ceil() as usize).skip(from as usize) {
                        *share += (to.min(cell as f64 + 1.0) - from.max(cell as f64)) / ROWS_PER_CELL;
                    }
                }
            }
            [filled, wound]
        };
        let sums: Vec<[f64; 2]> = shares.par_chunks_mut(nx).enumerate().map(measure).collect();
        let [filled, wound] = [0, 1].map(|i| sums.iter().map(|sum| sum[i]).sum::<f64>());
        self.cancel.check()?;
        // The rows miss the same part of both volumes.
        Ok(Some((shares, filled + self.surface.signed_volume() / spacing.powi(3) - wound)))
    }
}

/// The number of rows of [`Inside::shares`] along each side of a cell.
const ROWS_PER_SIDE: usize = 4;
const ROWS_PER_CELL: f64 = (ROWS_PER_SIDE * ROWS_PER_SIDE) as f64;

/// Finds for each row of a grid in x where it crosses a closed surface, from low x on, and by how much the winding
/// number changes there.
///
/// A row meets a triangle when its point `(y, z)` lies in the projected triangle. That is counted edge by edge with a
/// half-open rule that gives both triangles of an edge exactly opposite numbers, so that for a closed surface the
/// crossings of a row cancel exactly, whatever the rounding and however the row hits edges or vertices.
fn crossings(surface: &SurfaceMesh, points: &PointGrid) -> Vec<Vec<(f64, i32)>> {
    let [_, ny, nz] = points.count;
    let mut crossings: Vec<Vec<(f64, i32)>> = vec![Vec::new(); ny * nz];
    for triangle in 0..surface.triangles.len() {
        let corners = surface.corners(triangle);
        let min = corners[0].inf(&corners[1]).inf(&corners[2]);
        let max = corners[0].sup(&corners[1]).sup(&corners[2]);
        let normal = (corners[1] - corners[0]).cross(&(corners[2] - corners[0]));
        for k in points.range(2, min.z, max.z) {
            for j in points.range(1, min.y, max.y) {
                let row = points.position([0, j, k]);
                let winding: i32 = [(0, 1), (1, 2), (2, 0)].iter().map(|&(a, b)| edge_winding(&corners[a], &corners[b], &row)).sum();
                if winding != 0 {
                    // The plane's x on this row, kept within the triangle: a sliver's plane may be wild.
                    let x = corners[0].x - ((row.y - corners[0].y) * normal.y + (row.z - corners[0].z) * normal.z) / normal.x;
                    let x = if x.is_nan() { min.x } else { x.clamp(min.x, max.x) };
                    crossings[k * ny + j].push((x, winding));
                }
            }
        }
    }
    crossings.par_iter_mut().for_each(|row| row.sort_by(|a, b| a.0.total_cmp(&b.0)));
    crossings
}

/// Marks the points inside of a closed surface, by the winding number along their rows in x.
fn mark_rows(surface: &SurfaceMesh, points: &PointGrid) -> Vec<bool> {
    let [nx, ny, _] = points.count;
    let mut marks = vec![false; points.len()];
    marks.par_chunks_mut(nx).zip(&crossings(surface, points)).enumerate().for_each(|(row, (marks, crossings))| {
        let mut passed = crossings.iter().peekable();
        let mut winding = 0;
        for (i, mark) in marks.iter_mut().enumerate() {
            let x = points.position([i, row % ny, row / ny]).x;
            while let Some((_, sign)) = passed.next_if(|(at, _)| *at < x) {
                winding += sign;
            }
            *mark = winding != 0;
        }
    });
    marks
}

/// The part of an edge in the winding of its triangle around a row, projected along x: +-1 when the edge passes the
/// row's height on the side of larger y, else 0. Reversing the edge negates it exactly, for it is worked out from the
/// lower end.
fn edge_winding(from: &Vec3, to: &Vec3, row: &Vec3) -> i32 {
    if (from.z <= row.z) == (to.z <= row.z) {
        return 0;
    }
    let (sign, low, high) = if from.z <= row.z { (1, from, to) } else { (-1, to, from) };
    let y = low.y + (row.z - low.z) * ((high.y - low.y) / (high.z - low.z));
    if y > row.y { sign } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::{assets, parse_surface};

    #[test]
    fn segments_out_of_a_ball_leave_it_at_its_surface() {
        let ball = crate::mesh::shapes::icosphere(1.0, 4);
        let mut open = ball.clone();
        open.triangles.retain(|t| t.iter().any(|&v| ball.positions[v as usize].z < 0.9));
        // A wall within, which changes nothing.
        let mut walled = ball.clone();
        let n = walled.positions.len() as u32;
        walled.positions.extend(ball.positions.iter().map(|p| p * 0.5));
        walled.triangles.extend(ball.triangles.iter().map(|t| t.map(|v| v + n)));
        for (surface, precision) in [(&ball, 0.0), (&walled, 0.0), (&open, 1e-4)] {
            let inside = Inside::new(surface, &CancelToken::default()).unwrap();
            for k in 0..50 {
                let way = Vec3::new((k as f64 * 0.7).sin(), (k as f64 * 1.3).cos(), (k as f64 * 0.9).sin() - 1.0).normalize() * 1.7;
                let share = inside.exit(&Vec3::new(0.1, 0.0, 0.0), &way, precision);
                let end = Vec3::new(0.1, 0.0, 0.0).lerp(&way, share);
                assert!((0.995..1.0001).contains(&end.norm()), "{}", end.norm());
                assert!((inside.searched_exit(&Vec3::new(0.1, 0.0, 0.0), &way, 1e-6) - share).abs() < 1e-3);
            }
        }
        // Where the ball is open the inside ends without a triangle.
        let share = Inside::new(&open, &CancelToken::default()).unwrap().exit(&Vec3::zeros(), &(Vec3::z() * 2.0), 1e-4);
        assert!((0.3..0.5).contains(&share), "{share}");
    }

    #[test]
    fn rows_and_winding_numbers_agree() {
        let elephant = parse_surface("elephant.off", assets::builtin("elephant.off").unwrap()).unwrap();
        let inside = Inside::new(&elephant, &CancelToken::default()).unwrap();
        let bounds = elephant.aabb();
        let spacing = bounds.extent().max() / 17.3;
        let points = PointGrid { first: bounds.min, spacing, count: [0, 1, 2].map(|k| (bounds.extent()[k] / spacing) as usize + 2) };
        let marks = inside.marks(&points).unwrap();
        let wound = |slot: usize| inside.holds(&points.position(points.index(slot)));
        assert!((0..points.len()).all(|slot| points.slot(points.index(slot)) == slot && marks[slot] == wound(slot)));
        assert!((200..points.len() / 2).contains(&marks.iter().filter(|m| **m).count()));
    }
}
