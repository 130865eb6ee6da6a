//! Conjugate gradients in f32 with two levels of preconditioning: the inverse of the diagonal blocks, and fields on
//! the points of a lattice (`fem-study.md` 5).
//!
//! The points p of the cell of a node i move it by `sum_p w_ip R_p u_p`, with trilinear weights of the rest pose. The
//! coarse matrix `P^T A P` of the u is that of the rest pose, factored once a time step length; a step brings the
//! rotations R_p only. Rigid motions of aggregates, which the study chose, take twice the iterations on large bodies:
//! they tear at the seams, while such fields are continuous and hold all linear ones.

#[cfg(test)]
mod tests;

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::coarse::Coarse;
use super::lattice::{Cells, cells};
use super::sell::{self, Block, Fill, HEIGHT, Node, Product, Slice, SlicedPattern, Slot, registers, slice_nodes, unslice};
use super::{FactorWork, Pattern, RankOne, Solved, Until};
use crate::math::{Mat3, Vec3};
use crate::memory::Pages;

/// Slices that a thread takes at once, and the fewest that are worth waking another for.
const CHUNK: usize = 64;
const FEWEST_CHUNKS: usize = 8;
const NONE: u32 = u32::MAX;

/// The free nodes of one body in an order of its own: cell after cell of a lattice, each filled up to whole slices.
#[derive(Clone, Debug)]
pub struct Layout {
    pub(super) range: Range<usize>,
    /// Node at each place, counted from the first of the body; `u32::MAX` for places without.
    pub(super) nodes: Vec<u32>,
    /// Place of each node; `u32::MAX` for fixed nodes.
    pub(super) places: Vec<u32>,
    pattern: SlicedPattern,
    /// Slices of each cell, and cell of each slice.
    pub(super) cells: Vec<Range<usize>>,
    pub(super) owners: Vec<u32>,
    /// Points of each cell.
    pub(super) corners: Vec<[u32; 8]>,
    /// Corners at each point, by 8 x cell + corner.
    at_points: Vec<Vec<u32>>,
    /// Rest positions of the points.
    pub(super) points: Vec<Vec3>,
    /// Where each place stands in its cell, 0 to 1 along each axis.
    pub(super) fractions: Vec<Vec3>,
    sliced_fractions: Pages<Slice>,
    lanes: [usize; HEIGHT],
}

impl Layout {
    /// Covers the rows `range` of `pattern`, a block of their own (a body), without fixed nodes; `fixed` and
    /// `positions` (at rest) are given for all nodes.
    pub fn new(pattern: &Pattern, range: &Range<usize>, fixed: &[bool], positions: &[Vec3]) -> Self {
        let Cells { nodes: parts, corners, places: within, points } = cells(pattern, range, fixed, positions);
        let (mut nodes, mut ranges) = (vec![], vec![]);
        for mut part in parts {
            // Rows of like length side by side.
            part.sort_by_key(|i| std::cmp::Reverse(pattern.row(range.start + *i as usize).len()));
            let first = nodes.len() / HEIGHT;
            nodes.extend(part);
            nodes.resize(nodes.len().next_multiple_of(HEIGHT), NONE);
            ranges.push(first..nodes.len() / HEIGHT);
        }
        let mut places = vec![NONE; range.len()];
        for (place, node) in nodes.iter().enumerate().filter(|(_, node)| **node != NONE) {
            places[*node as usize] = place as u32;
        }
        let fractions: Vec<Vec3> = nodes.iter().map(|node| within.get(*node as usize).copied().unwrap_or_default()).collect();
        let mut sliced_fractions = Pages::zeros(nodes.len() / HEIGHT);
        let rows: Vec<Node> = fractions.iter().map(|f| [f.x as f32, f.y as f32, f.z as f32, 0.0]).collect();
        slice_nodes(&rows, &mut sliced_fractions);
        let owners = ranges.iter().enumerate().flat_map(|(c, slices)| slices.clone().map(move |_| c as u32)).collect();
        let mut at_points = vec![vec![]; points.len()];
        for (slot, point) in corners.as_flattened().iter().enumerate() {
            at_points[*point as usize].push(slot as u32);
        }
        let mut layout = Self {
            range: range.clone(),
            nodes,
            places,
            pattern: SlicedPattern::default(),
            cells: ranges,
            owners,
            corners,
            at_points,
            points,
            fractions,
            sliced_fractions,
            lanes: sell::lanes(),
        };
        layout.pattern = layout.sliced(pattern);
        layout
    }

    /// Blocks (i, j) of an edge e (i < j) come from the source 2 e, blocks (j, i) from 2 e + 1; a source of zeros
    /// stands behind all.
    fn sliced(&self, pattern: &Pattern) -> SlicedPattern {
        let (none, zero) = (self.nodes.len() as u32, 2 * pattern.edges.len() as u32);
        let (mut starts, mut columns, mut sources) = (vec![0], vec![], vec![]);
        for (s, nodes) in self.nodes.chunks_exact(HEIGHT).enumerate() {
            let rows: Vec<Vec<(u32, u32)>> = nodes
                .iter()
                .map(|node| {
                    let Some(i) = (*node != NONE).then_some(self.range.start + *node as usize) else { return vec![] };
                    let blocks = pattern.row(i).filter(|b| *b != pattern.diagonals[i] as usize);
                    let entry = |b: usize| {
                        let j = pattern.columns[b] as usize;
                        // What is held counts in the sum of the row, and nowhere else.
                        let place = self.places[j - self.range.start];
                        (if place == NONE { none } else { place }, 2 * pattern.block_edges[b] + u32::from(j < i))
                    };
                    blocks.map(entry).collect()
                })
                .collect();
            columns.push(std::array::from_fn(|lane| (HEIGHT * s + lane) as u32));
            sources.push([zero; HEIGHT]);
            for k in 0..rows.iter().map(Vec::len).max().unwrap_or(0) {
                let entry = |lane: usize| rows[lane].get(k).copied().unwrap_or((none, zero));
                columns.push(std::array::from_fn(|lane| entry(lane).0));
                sources.push(std::array::from_fn(|lane| entry(lane).1));
            }
            starts.push(columns.len() as u32);
        }
        SlicedPattern { starts, columns: columns[..].into(), sources: sources[..].into() }
    }

    pub fn n_points(&self) -> usize {
        self.points.len()
    }

    /// The nodes that a point of the lattice moves, counted from the first of the body, and how much.
    pub fn moved_by(&self, point: usize) -> impl Iterator<Item = (usize, f64)> {
        self.at_points[point].iter().flat_map(|slot| {
            let slices = &self.cells[*slot as usize / 8];
            let places = HEIGHT * slices.start..HEIGHT * slices.end;
            let there = places.filter(|place| self.nodes[*place] != NONE);
            there.map(|place| (self.nodes[place] as usize, weights(&self.fractions[place])[*slot as usize % 8]))
        })
    }
}

/// Trilinear weights of the corners of a cell at a place in it.
pub(super) fn weights(f: &Vec3) -> [f64; 8] {
    std::array::from_fn(|corner| (0..3).map(|axis| if corner >> axis & 1 == 1 { f[axis] } else { 1.0 - f[axis] }).product())
}

/// Matrix and preconditioner of one body in a step, and the vectors of a solve; memory is kept.
#[derive(Clone, Debug, Default)]
pub struct TwoLevel {
    slots: Pages<Slot>,
    inverses: Pages<Slot>,
    /// R_p.
    rotations: Vec<Mat3>,
    sums: Vec<Node>,
    /// Direction by rows, and a zero behind them.
    rows: Pages<Node>,
    x: Pages<Slice>,
    r: Pages<Slice>,
    z: Pages<Slice>,
    p: Pages<Slice>,
    q: Pages<Slice>,
    /// Partial sums of the chunks.
    parts: Vec<[f64; 2]>,
    /// Residual and correction of the points in the rest pose.
    coarse_residual: Vec<Vec3>,
    coarse_correction: Vec<Vec3>,
    /// For each cell, the residual summed up at its corners, and the correction as a polynomial of the place in it.
    moments: Vec<Trilinear>,
    motions: Vec<Trilinear>,
    factor: FactorWork,
    springs: Vec<RankOne>,
}

impl TwoLevel {
    /// Takes the matrix of a step. `blocks` are the blocks of all edges of the pattern, see [`Layout`]; `sum` tells of
    /// a node what its row sums up to [kg]; `springs` are those of the body; `rotation` of a point.
    pub fn assemble(
        &mut self,
        layout: &Layout,
        blocks: &[Block],
        sum: impl Fn(usize) -> f64,
        springs: impl Iterator<Item = RankOne>,
        rotation: impl Fn(usize) -> Mat3,
    ) {
        let n = layout.pattern.n_slices();
        self.slots.fit(layout.pattern.columns.len());
        for vector in [&mut self.x, &mut self.r, &mut self.z, &mut self.p, &mut self.q] {
            vector.fit(n);
        }
        self.inverses.fit(n);
        self.rows.fit(n * HEIGHT + 1);
        self.parts.resize(n.div_ceil(CHUNK), [0.0; 2]);
        for vector in [&mut self.coarse_residual, &mut self.coarse_correction] {
            vector.resize(layout.n_points(), Vec3::zeros());
        }
        for sums in [&mut self.moments, &mut self.motions] {
            sums.resize(layout.cells.len(), Trilinear::default());
        }
        self.sums.clear();
        self.sums.extend(layout.nodes.iter().map(|node| {
            let sum = if *node == NONE { 0.0 } else { sum(layout.range.start + *node as usize) };
            [sum as f32, 0.0, 0.0, 0.0]
        }));
        self.springs.clear();
        self.springs.extend(springs);
        for spring in &self.springs {
            for (node, weight) in spring.nodes.iter().zip(&spring.weights).filter(|(_, w)| **w != 0.0) {
                let place = layout.places[*node as usize - layout.range.start];
                if place != NONE {
                    self.sums[place as usize][1] += (spring.factor * weight * weight) as f32;
                }
            }
        }
        self.rotations.clear();
        self.rotations.extend((0..layout.n_points()).map(rotation));
        let Self { sums, slots, inverses, .. } = self;
        fill(Fill { pattern: &layout.pattern, first: 0, blocks, sums, slots, inverses });
    }

    /// With the coarse factor or, without one, with the diagonal blocks alone: solves `A x = b` to `|b - A x| <=
    /// tolerance` (2-norm, units of b) from the start value in `x`, or from zero if that is better. `b` and `x` are
    /// those of the nodes of the body; springs are part of A. x is zero at fixed nodes. The residual is that of the
    /// recursion; the true one stays above about 1e-7 |A| |x|.
    pub fn solve(&mut self, layout: &Layout, coarse: Option<&Coarse>, b: &[Vec3], x: &mut [Vec3], until: Until) -> Solved {
        self.take(layout, x);
        slice_nodes(&self.rows, &mut self.p);
        self.product(layout);
        self.take(layout, b);
        slice_nodes(&self.rows, &mut self.r);
        self.x.fill(Slice::default());
        let [mut residual2, mut fine] = self.update(1.0);
        let better_than_zero = residual2 < super::dot(b, b); // also false for NaN
        if !better_than_zero {
            for vector in [&mut self.x, &mut self.p, &mut self.q] {
                vector.fill(Slice::default());
            }
            slice_nodes(&self.rows, &mut self.r);
            [residual2, fine] = self.update(0.0);
        }
        self.motions.fill(Trilinear::default());
        let mut rho = 0.0;
        let mut iterations = 0;
        while until.goes_on(residual2.sqrt(), iterations) {
            let rho_new = fine + coarse.map_or(0.0, |coarse| self.correct_coarsely(layout, coarse));
            let beta = if iterations == 0 { 0.0 } else { rho_new / rho };
            rho = rho_new;
            self.turn_direction(layout, beta);
            let alpha = rho / self.product(layout);
            if !(alpha.is_finite() && alpha > 0.0) {
                break;
            }
            [residual2, fine] = self.update(alpha);
            iterations += 1;
        }
        unslice(&self.x, &mut self.rows);
        for (x, place) in x.iter_mut().zip(&layout.places) {
            let row = self.rows.get(*place as usize).copied().unwrap_or_default();
            *x = Vec3::new(row[0].into(), row[1].into(), row[2].into());
        }
        let residual = residual2.sqrt();
        Solved { iterations, residual, converged: residual <= until.residual }
    }

    /// Puts `v` into the rows.
    fn take(&mut self, layout: &Layout, v: &[Vec3]) {
        for (row, node) in self.rows.iter_mut().zip(&layout.nodes) {
            *row = v.get(*node as usize).map_or_else(Node::default, |v| [v.x as f32, v.y as f32, v.z as f32, 0.0]);
        }
    }

    /// q = A p, with p in the rows too; returns p.q.
    fn product(&mut self, layout: &Layout) -> f64 {
        let Self { slots, rows, p, q, parts, springs, .. } = self;
        let (pattern, nodes, slots) = (&layout.pattern, &rows[..], &slots[..]);
        (q.par_chunks_mut(CHUNK), p.par_chunks(CHUNK), &mut parts[..]).into_par_iter().with_min_len(FEWEST_CHUNKS).enumerate().for_each(
            |(chunk, (y, x, part))| {
                let first = chunk * CHUNK;
                let slots = &slots[pattern.starts[first] as usize..pattern.starts[first + y.len()] as usize];
                part[0] = Arch::new().dispatch(Product { pattern, first, slots, nodes, x, y });
            },
        );
        let mut sum = parts.iter().map(|part| part[0]).sum();
        for spring in springs {
            let places = || spring.nodes.iter().zip(&spring.weights).map(|(n, w)| (layout.places[*n as usize - layout.range.start], *w));
            let free = || places().filter(|(place, w)| *place != NONE && *w != 0.0);
            let mut value = Vec3::zeros();
            for (place, w) in free() {
                let [x, y, z, _] = nodes[place as usize].map(f64::from);
                value += Vec3::new(x, y, z) * w;
            }
            for (place, w) in free() {
                let (slice, lane) = (place as usize / HEIGHT, layout.lanes[place as usize % HEIGHT]);
                (0..3).for_each(|c| q[slice].0[c][lane] += (spring.factor * w * value[c]) as f32);
            }
            sum += spring.factor * value.norm_squared();
        }
        sum
    }

    /// x += alpha p, r -= alpha q, z = D^-1 r; returns r.r and r.z.
    fn update(&mut self, alpha: f64) -> [f64; 2] {
        let Self { inverses, x, r, z, p, q, parts, .. } = self;
        let vectors = (x.par_chunks_mut(CHUNK), r.par_chunks_mut(CHUNK), z.par_chunks_mut(CHUNK));
        let given = (p.par_chunks(CHUNK), q.par_chunks(CHUNK), inverses.par_chunks(CHUNK));
        vectors.into_par_iter().zip(given).zip(&mut parts[..]).with_min_len(FEWEST_CHUNKS).for_each(
            |(((x, r, z), (p, q, inverses)), part)| {
                *part = Arch::new().dispatch(Update { alpha: alpha as f32, p, q, inverses, x, r, z });
            },
        );
        parts.iter().fold([0.0; 2], |sum, part| [sum[0] + part[0], sum[1] + part[1]])
    }

    /// The coarse correction c of the residual; returns r.P c.
    fn correct_coarsely(&mut self, layout: &Layout, coarse: &Coarse) -> f64 {
        let Self { rotations, r, coarse_residual, coarse_correction, moments, motions, factor, .. } = self;
        let (fractions, r) = (&layout.sliced_fractions[..], &r[..]);
        (&mut moments[..], &layout.cells).into_par_iter().with_min_len(FEWEST_CHUNKS * 8).for_each(|(moments, slices)| {
            *moments = Arch::new().dispatch(Restrict { r: &r[slices.clone()], fractions: &fractions[slices.clone()] });
            to_corners(moments);
        });
        for ((residual, rotation), slots) in coarse_residual.iter_mut().zip(&*rotations).zip(&layout.at_points) {
            let moments = slots.iter().map(|slot| moments[*slot as usize / 8][*slot as usize % 8]);
            let sum = moments.fold(Vec3::zeros(), |sum, [x, y, z]| sum + Vec3::new(x.into(), y.into(), z.into()));
            *residual = rotation.tr_mul(&sum);
        }
        coarse.solve(coarse_residual, coarse_correction, factor);
        let product = super::dot(coarse_residual, coarse_correction);
        for (correction, rotation) in coarse_correction.iter_mut().zip(rotations) {
            *correction = *rotation * *correction;
        }
        for (motion, corners) in motions.iter_mut().zip(&layout.corners) {
            *motion = corners.map(|point| coarse_correction[point as usize].map(|c| c as f32).into());
            to_polynomial(motion);
        }
        product
    }

    /// p = z + P c + beta p, also by rows.
    fn turn_direction(&mut self, layout: &Layout, beta: f64) {
        let Self { z, p, rows, motions, .. } = self;
        let motions = &motions[..];
        let vectors = (p.par_chunks_mut(CHUNK), rows.par_chunks_mut(CHUNK * HEIGHT));
        let given = (z.par_chunks(CHUNK), layout.sliced_fractions.par_chunks(CHUNK), layout.owners.par_chunks(CHUNK));
        vectors.into_par_iter().zip(given).with_min_len(FEWEST_CHUNKS).for_each(|((p, rows), (z, fractions, owners))| {
            Arch::new().dispatch(Direction { beta: beta as f32, z, fractions, owners, motions, p, rows });
        });
    }
}

/// A vector for each corner of a cell, or the factors of 1, x, y, xy, z, xz, yz, xyz: bit a of an index stands for the
/// axis a.
type Trilinear = [[f32; 3]; 8];

/// From values at the corners to the factors of the polynomial that takes them.
fn to_polynomial(values: &mut Trilinear) {
    for bit in [1, 2, 4] {
        for k in (0..8).filter(|k| k & bit == 0) {
            for c in 0..3 {
                values[k | bit][c] -= values[k][c];
            }
        }
    }
}

/// The transpose of [`to_polynomial`]: from sums weighted with 1, x, y, ... to sums weighted with what each corner has.
fn to_corners(sums: &mut Trilinear) {
    for bit in [1, 2, 4] {
        for k in (0..8).filter(|k| k & bit == 0) {
            for c in 0..3 {
                sums[k][c] -= sums[k | bit][c];
            }
        }
    }
}

/// Fills slices, halves of them by different threads.
fn fill(whole: Fill) {
    let Fill { pattern, first, blocks, sums, slots, inverses } = whole;
    let n = inverses.len();
    if n <= 2 * CHUNK {
        return Arch::new().dispatch(Fill { pattern, first, blocks, sums, slots, inverses });
    }
    let half = (n / 2).next_multiple_of(CHUNK);
    let (sums, sums_after) = sums.split_at(half * HEIGHT);
    let (slots, slots_after) = slots.split_at_mut((pattern.starts[first + half] - pattern.starts[first]) as usize);
    let (inverses, inverses_after) = inverses.split_at_mut(half);
    rayon::join(
        || fill(Fill { pattern, first, blocks, sums, slots, inverses }),
        || fill(Fill { pattern, first: first + half, blocks, sums: sums_after, slots: slots_after, inverses: inverses_after }),
    );
}

/// See [`TwoLevel::update`].
struct Update<'a> {
    alpha: f32,
    p: &'a [Slice],
    q: &'a [Slice],
    inverses: &'a [Slot],
    x: &'a mut [Slice],
    r: &'a mut [Slice],
    z: &'a mut [Slice],
}

impl WithSimd for Update<'_> {
    type Output = [f64; 2];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [f64; 2] {
        let Self { alpha, p, q, inverses, x, r, z } = self;
        let (plus, minus) = (simd.splat_f32s(alpha), simd.splat_f32s(-alpha));
        let mut sums = [simd.splat_f32s(0.0); 2];
        for (((((x, r), z), p), q), inverse) in x.iter_mut().zip(r).zip(z).zip(p).zip(q).zip(inverses) {
            for k in 0..registers::<S>() {
                let (mut xs, mut rs) = (x.load::<S>(k), r.load::<S>(k));
                let (ps, qs) = (p.load::<S>(k), q.load::<S>(k));
                for c in 0..3 {
                    xs[c] = simd.mul_add_f32s(plus, ps[c], xs[c]);
                    rs[c] = simd.mul_add_f32s(minus, qs[c], rs[c]);
                }
                let zs = sell::times(simd, inverse, k, &rs);
                x.store::<S>(k, xs);
                r.store::<S>(k, rs);
                z.store::<S>(k, zs);
                sums[0] = simd.add_f32s(sums[0], sell::dot(simd, &rs, &rs));
                sums[1] = simd.add_f32s(sums[1], sell::dot(simd, &rs, &zs));
            }
        }
        [simd.reduce_sum_f32s(sums[0]).into(), simd.reduce_sum_f32s(sums[1]).into()]
    }
}

/// Sums of the residual of one cell, weighted with 1, x, y, xy, z, xz, yz, xyz.
struct Restrict<'a> {
    r: &'a [Slice],
    fractions: &'a [Slice],
}

impl WithSimd for Restrict<'_> {
    type Output = Trilinear;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Trilinear {
        let mut found = Trilinear::default();
        for c in 0..3 {
            let mut sums = [simd.splat_f32s(0.0); 8];
            for (r, fractions) in self.r.iter().zip(self.fractions) {
                for k in 0..registers::<S>() {
                    let ([x, y, z], r) = (fractions.load::<S>(k), r.load::<S>(k)[c]);
                    let (rx, ry) = (simd.mul_f32s(r, x), simd.mul_f32s(r, y));
                    let terms = [r, rx, ry, simd.mul_f32s(rx, y)];
                    for (i, term) in terms.into_iter().enumerate() {
                        sums[i] = simd.add_f32s(sums[i], term);
                        sums[4 + i] = simd.mul_add_f32s(term, z, sums[4 + i]);
                    }
                }
            }
            for (found, sum) in found.iter_mut().zip(sums) {
                found[c] = simd.reduce_sum_f32s(sum);
            }
        }
        found
    }
}

/// See [`TwoLevel::turn_direction`].
struct Direction<'a> {
    beta: f32,
    z: &'a [Slice],
    fractions: &'a [Slice],
    owners: &'a [u32],
    motions: &'a [Trilinear],
    p: &'a mut [Slice],
    rows: &'a mut [Node],
}

impl WithSimd for Direction<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { beta, z, fractions, owners, motions, p, rows } = self;
        let beta = simd.splat_f32s(beta);
        for ((((p, rows), z), fractions), owner) in p.iter_mut().zip(rows.chunks_exact_mut(HEIGHT)).zip(z).zip(fractions).zip(owners) {
            let motion = &motions[*owner as usize];
            for k in 0..registers::<S>() {
                let (mut ps, zs) = (p.load::<S>(k), z.load::<S>(k));
                let [x, y, z] = fractions.load::<S>(k);
                for c in 0..3 {
                    let factor = |m: usize| simd.splat_f32s(motion[m][c]);
                    let line = |m: usize| simd.mul_add_f32s(factor(m + 1), x, factor(m));
                    let plane = |m: usize| simd.mul_add_f32s(line(m + 2), y, line(m));
                    let coarse = simd.mul_add_f32s(plane(4), z, plane(0));
                    ps[c] = simd.mul_add_f32s(beta, ps[c], simd.add_f32s(zs[c], coarse));
                }
                p.store::<S>(k, ps);
                sell::to_nodes(simd, ps, &mut rows[k * S::F32_LANES..(k + 1) * S::F32_LANES]);
            }
        }
    }
}
