//! Conjugate gradients in f32 with two levels of preconditioning: the inverse of the diagonal blocks, and rigid motions of aggregates (`fem-study.md` 5).
//!
//! The aggregate a moves its nodes by `t + w x d_i`, `d_i = R_a D_i`, with `D_i` from its centre in the rest pose. Its coarse matrix `P^T A P` is that of the
//! rest pose, factored once a time step length; a step brings the rotations R_a only.

#[cfg(test)]
mod tests;

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::aggregates::aggregates;
use super::sell::{self, Block, Fill, HEIGHT, Node, Product, Slice, SlicedPattern, Slot, registers, slice_nodes, unslice};
use super::{FactorWork, NotPositiveDefinite, Pattern, RankOne, RestFactor, Solved};
use crate::math::{Mat3, Vec3};
use crate::memory::Pages;

/// Slices that a thread takes at once, and the fewest that are worth waking another for.
const CHUNK: usize = 64;
const FEWEST_CHUNKS: usize = 8;
/// Added to the rotations' diagonal of the coarse matrix, as a part of its mean: nodes on a line do not tell one of them.
const SHIFT: f64 = 1e-4;

const NONE: u32 = u32::MAX;

/// The free nodes of one body in an order of its own: aggregate after aggregate, each filled up to whole slices.
#[derive(Clone, Debug)]
pub struct Layout {
    range: Range<usize>,
    /// Node at each place, counted from the first of the body; `u32::MAX` for places without.
    nodes: Vec<u32>,
    /// Place of each node; `u32::MAX` for fixed nodes.
    places: Vec<u32>,
    pattern: SlicedPattern,
    /// Slices of each aggregate, and aggregate of each slice.
    aggregates: Vec<Range<usize>>,
    owners: Vec<u32>,
    centers: Vec<Vec3>,
    /// D_i of each place, in units of the aggregate's radius.
    arms: Vec<Vec3>,
    sliced_arms: Vec<Slice>,
    lanes: [usize; HEIGHT],
}

impl Layout {
    /// Of the rows `range` of `pattern`, a block of their own (a body), without fixed nodes; `fixed` and `positions` (at rest) are given for all nodes. With
    /// about `most` aggregates or fewer.
    pub fn new(pattern: &Pattern, range: &Range<usize>, fixed: &[bool], positions: &[Vec3], most: usize) -> Self {
        let groups = aggregates(pattern, range, fixed, positions, most);
        let (mut nodes, mut arms, mut centers, mut ranges) = (vec![], vec![], vec![], vec![]);
        for mut group in groups {
            // Rows of like length side by side.
            group.sort_by_key(|i| std::cmp::Reverse(pattern.row(range.start + *i as usize).len()));
            let at = |i: &u32| positions[range.start + *i as usize];
            let center = group.iter().map(at).sum::<Vec3>() / group.len() as f64;
            let radius = (group.iter().map(|i| (at(i) - center).norm_squared()).sum::<f64>() / group.len() as f64).sqrt();
            let unit = if radius > 0.0 { 1.0 / radius } else { 0.0 };
            let first = nodes.len() / HEIGHT;
            arms.extend(group.iter().map(|i| (at(i) - center) * unit));
            nodes.extend(group);
            nodes.resize(nodes.len().next_multiple_of(HEIGHT), NONE);
            arms.resize(nodes.len(), Vec3::zeros());
            centers.push(center);
            ranges.push(first..nodes.len() / HEIGHT);
        }
        let mut places = vec![NONE; range.len()];
        for (place, node) in nodes.iter().enumerate().filter(|(_, node)| **node != NONE) {
            places[*node as usize] = place as u32;
        }
        let mut sliced_arms = vec![Slice::default(); nodes.len() / HEIGHT];
        let rows: Vec<Node> = arms.iter().map(|d| [d.x as f32, d.y as f32, d.z as f32, 0.0]).collect();
        slice_nodes(&rows, &mut sliced_arms);
        let owners = ranges.iter().enumerate().flat_map(|(a, slices)| slices.clone().map(move |_| a as u32)).collect();
        let mut layout = Self {
            range: range.clone(),
            nodes,
            places,
            pattern: SlicedPattern::default(),
            aggregates: ranges,
            owners,
            centers,
            arms,
            sliced_arms,
            lanes: sell::lanes(),
        };
        layout.pattern = layout.sliced(pattern);
        layout
    }

    /// Blocks (i, j) of an edge e (i < j) come from the source 2 e, blocks (j, i) from 2 e + 1; a source of zeros stands behind all.
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

    pub fn n_aggregates(&self) -> usize {
        self.aggregates.len()
    }

    /// The nodes of an aggregate, counted from the first of the body.
    pub fn nodes_of(&self, aggregate: usize) -> impl Iterator<Item = usize> {
        self.members(aggregate).map(|(node, _)| node)
    }

    /// The nodes of an aggregate with their arms D_i, in units of its radius.
    pub fn members(&self, aggregate: usize) -> impl Iterator<Item = (usize, Vec3)> {
        let slices = &self.aggregates[aggregate];
        let places = HEIGHT * slices.start..HEIGHT * slices.end;
        let members = self.nodes[places.clone()].iter().zip(&self.arms[places]);
        members.filter(|(node, _)| **node != NONE).map(|(node, arm)| (*node as usize, *arm))
    }
}

/// The factor of the coarse matrix.
#[derive(Clone, Debug)]
pub struct Coarse(RestFactor);

impl Coarse {
    /// From the matrix `blocks` of the rest pose. Unknowns of an aggregate: t, then w.
    pub fn new(layout: &Layout, pattern: &Pattern, blocks: &[Mat3]) -> Result<Self, NotPositiveDefinite> {
        let n = layout.n_aggregates();
        let owner = |place: u32| layout.owners[place as usize / HEIGHT];
        let rows = || layout.range.clone().zip(&layout.places).filter(|(_, place)| **place != NONE);
        let row = |i: usize| {
            let columns = pattern.row(i).map(|b| (b, layout.places[pattern.columns[b] as usize - layout.range.start]));
            columns.filter(|(_, place)| *place != NONE)
        };
        let mut pairs: Vec<[u32; 2]> =
            rows().flat_map(|(i, p)| row(i).map(|(_, q)| [owner(*p), owner(q)])).filter(|[a, b]| a < b).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let across = pairs.iter().flat_map(|[a, b]| [[2 * a, 2 * b], [2 * a, 2 * b + 1], [2 * a + 1, 2 * b], [2 * a + 1, 2 * b + 1]]);
        let mut edges: Vec<[u32; 2]> = (0..n as u32).map(|a| [2 * a, 2 * a + 1]).chain(across).collect();
        edges.sort_unstable();
        let coarse = Pattern::new(2 * n, edges);
        let mut sums = vec![Mat3::zeros(); coarse.n_blocks()];
        let mut add = |r: u32, c: u32, block: Mat3| {
            let row = coarse.row(r as usize);
            if let Ok(place) = coarse.columns[row.clone()].binary_search(&c) {
                sums[row.start + place] += block;
            }
        };
        for (i, p) in rows() {
            let (a, d_i) = (owner(*p), layout.arms[*p as usize].cross_matrix());
            for (b, q) in row(i) {
                let (other, d_j, block) = (owner(q), layout.arms[q as usize].cross_matrix(), blocks[b]);
                add(2 * a, 2 * other, block);
                add(2 * a, 2 * other + 1, -block * d_j);
                add(2 * a + 1, 2 * other, d_i * block);
                add(2 * a + 1, 2 * other + 1, -d_i * block * d_j);
            }
        }
        let turning = |a: usize| coarse.diagonals[2 * a + 1] as usize;
        let mean = (0..n).map(|a| sums[turning(a)].trace()).sum::<f64>() / (3 * n.max(1)) as f64;
        (0..n).for_each(|a| sums[turning(a)] += Mat3::identity() * (SHIFT * mean));
        let positions: Vec<Vec3> = layout.centers.iter().flat_map(|c| [*c; 2]).collect();
        RestFactor::new(&coarse, &sums, &(0..2 * n), &vec![false; 2 * n], &positions).map(Self)
    }

    /// Inverse of the coarse matrix, symmetric to the last bit: for every pair (a, b) of aggregates, b after b within a, its 3x3 blocks from the force on b to
    /// the shift of a, torque to shift, force to turn, torque to turn.
    pub fn inverse(&self) -> Vec<[Mat3; 4]> {
        let n = self.0.n_nodes() / 2;
        // Column 3 u + c: what a unit load c on the unknown u does.
        let column = |work: &mut (Vec<Vec3>, FactorWork), k: usize| {
            let (load, factor) = work;
            load.fill(Vec3::zeros());
            load[k / 3][k % 3] = 1.0;
            let mut x = vec![Vec3::zeros(); 2 * n];
            self.0.solve(load, &mut x, factor);
            x
        };
        let columns: Vec<Vec<Vec3>> =
            (0..6 * n).into_par_iter().with_min_len(16).map_init(|| (vec![Vec3::zeros(); 2 * n], FactorWork::default()), column).collect();
        let entry = |r: usize, c: usize| 0.5 * (columns[c][r / 3][r % 3] + columns[r][c / 3][c % 3]);
        let block = |u: usize, v: usize| Mat3::from_fn(|r, c| entry(3 * u + r, 3 * v + c));
        let pair = |k: usize| {
            let (a, b) = (2 * (k / n), 2 * (k % n));
            [block(a, b), block(a, b + 1), block(a + 1, b), block(a + 1, b + 1)]
        };
        (0..n * n).into_par_iter().with_min_len(64).map(pair).collect()
    }
}

/// Matrix and preconditioner of one body in a step, and the vectors of a solve; memory is kept.
#[derive(Clone, Debug, Default)]
pub struct TwoLevel {
    slots: Pages<Slot>,
    inverses: Pages<Slot>,
    /// d_i.
    arms: Pages<Slice>,
    /// R_a.
    rotations: Vec<Mat3>,
    sums: Vec<Node>,
    /// Direction by rows, and a zero behind them.
    rows: Pages<Node>,
    x: Pages<Slice>,
    r: Pages<Slice>,
    z: Pages<Slice>,
    p: Pages<Slice>,
    q: Pages<Slice>,
    /// Of the chunks.
    parts: Vec<[f64; 2]>,
    /// t and w of all aggregates: residual and correction in the rest pose, correction in space.
    coarse_residual: Vec<Vec3>,
    coarse_correction: Vec<Vec3>,
    motions: Vec<[f32; 6]>,
    factor: FactorWork,
    springs: Vec<RankOne>,
}

impl TwoLevel {
    /// Takes the matrix of a step. `blocks` are the blocks of all edges of the pattern, see [`Layout`]; `sum` tells of a node what its row sums up to [kg];
    /// `springs` are those of the body; `rotation` of an aggregate.
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
        for vector in [&mut self.arms, &mut self.x, &mut self.r, &mut self.z, &mut self.p, &mut self.q] {
            vector.fit(n);
        }
        self.inverses.fit(n);
        self.rows.fit(n * HEIGHT + 1);
        self.parts.resize(n.div_ceil(CHUNK), [0.0; 2]);
        for vector in [&mut self.coarse_residual, &mut self.coarse_correction] {
            vector.resize(2 * layout.n_aggregates(), Vec3::zeros());
        }
        self.motions.resize(layout.n_aggregates(), [0.0; 6]);
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
        self.rotations.extend((0..layout.n_aggregates()).map(rotation));
        Arch::new().dispatch(Turn { layout, rotations: &self.rotations, turned: &mut self.arms });
        let Self { sums, slots, inverses, .. } = self;
        fill(Fill { pattern: &layout.pattern, first: 0, blocks, sums, slots, inverses });
    }

    /// With the coarse factor or, without one, with the diagonal blocks alone: solves `A x = b` to `|b - A x| <= tolerance` (2-norm, units of b) from the start value in `x`, or from zero if that is better. `b` and `x` are those of the
    /// nodes of the body; springs are part of A. x is zero at fixed nodes. The residual is that of the recursion; the true one stays above about 1e-7 |A| |x|.
    pub fn solve(
        &mut self,
        layout: &Layout,
        coarse: Option<&Coarse>,
        b: &[Vec3],
        x: &mut [Vec3],
        tolerance: f64,
        max_iterations: u32,
    ) -> Solved {
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
        self.motions.fill([0.0; 6]);
        let mut rho = 0.0;
        let mut iterations = 0;
        while residual2.sqrt() > tolerance && iterations < max_iterations {
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
        Solved { iterations, residual, converged: residual <= tolerance }
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
        let Self { arms, rotations, r, coarse_residual, coarse_correction, motions, factor, .. } = self;
        let (arms, r) = (&arms[..], &r[..]);
        let restricted = (coarse_residual.par_chunks_exact_mut(2), &layout.aggregates, &rotations[..]).into_par_iter();
        restricted.with_min_len(FEWEST_CHUNKS * 8).for_each(|(residual, slices, rotation)| {
            let [force, torque] = Arch::new().dispatch(Restrict { r: &r[slices.clone()], arms: &arms[slices.clone()] });
            residual[0] = rotation.tr_mul(&force);
            residual[1] = rotation.tr_mul(&torque);
        });
        coarse.0.solve(coarse_residual, coarse_correction, factor);
        for ((motion, correction), rotation) in motions.iter_mut().zip(coarse_correction.chunks_exact(2)).zip(rotations) {
            let (t, w) = (*rotation * correction[0], *rotation * correction[1]);
            *motion = [t.x as f32, t.y as f32, t.z as f32, w.x as f32, w.y as f32, w.z as f32];
        }
        super::dot(coarse_residual, coarse_correction)
    }

    /// p = z + P c + beta p, also by rows.
    fn turn_direction(&mut self, layout: &Layout, beta: f64) {
        let Self { arms, z, p, rows, motions, .. } = self;
        let motions = &motions[..];
        let vectors = (p.par_chunks_mut(CHUNK), rows.par_chunks_mut(CHUNK * HEIGHT));
        let given = (z.par_chunks(CHUNK), arms.par_chunks(CHUNK), layout.owners.par_chunks(CHUNK));
        vectors.into_par_iter().zip(given).with_min_len(FEWEST_CHUNKS).for_each(|((p, rows), (z, arms, owners))| {
            Arch::new().dispatch(Direction { beta: beta as f32, z, arms, owners, motions, p, rows });
        });
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

/// d_i = R_a D_i.
struct Turn<'a> {
    layout: &'a Layout,
    rotations: &'a [Mat3],
    turned: &'a mut [Slice],
}

impl WithSimd for Turn<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for ((turned, arms), owner) in self.turned.iter_mut().zip(&self.layout.sliced_arms).zip(&self.layout.owners) {
            let rotation = &self.rotations[*owner as usize];
            for k in 0..registers::<S>() {
                let arm = arms.load::<S>(k);
                let mut d = arm;
                for row in 0..3 {
                    let mut entries = arm;
                    for c in 0..3 {
                        entries[c] = simd.splat_f32s(rotation[(row, c)] as f32);
                    }
                    d[row] = sell::dot(simd, &entries, &arm);
                }
                turned.store::<S>(k, d);
            }
        }
    }
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

/// Sum and moment of the residual of one aggregate.
struct Restrict<'a> {
    r: &'a [Slice],
    arms: &'a [Slice],
}

impl WithSimd for Restrict<'_> {
    type Output = [Vec3; 2];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [Vec3; 2] {
        let mut sums = [[simd.splat_f32s(0.0); 3]; 2];
        for (r, arms) in self.r.iter().zip(self.arms) {
            for k in 0..registers::<S>() {
                let force = r.load::<S>(k);
                let moment = sell::cross(simd, &arms.load::<S>(k), &force);
                for c in 0..3 {
                    sums[0][c] = simd.add_f32s(sums[0][c], force[c]);
                    sums[1][c] = simd.add_f32s(sums[1][c], moment[c]);
                }
            }
        }
        sums.map(|[x, y, z]| Vec3::new(simd.reduce_sum_f32s(x).into(), simd.reduce_sum_f32s(y).into(), simd.reduce_sum_f32s(z).into()))
    }
}

/// See [`TwoLevel::turn_direction`].
struct Direction<'a> {
    beta: f32,
    z: &'a [Slice],
    arms: &'a [Slice],
    owners: &'a [u32],
    motions: &'a [[f32; 6]],
    p: &'a mut [Slice],
    rows: &'a mut [Node],
}

impl WithSimd for Direction<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { beta, z, arms, owners, motions, p, rows } = self;
        let beta = simd.splat_f32s(beta);
        for ((((p, rows), z), arms), owner) in p.iter_mut().zip(rows.chunks_exact_mut(HEIGHT)).zip(z).zip(arms).zip(owners) {
            let motion = &motions[*owner as usize];
            let mut turning = [simd.splat_f32s(0.0); 3];
            for c in 0..3 {
                turning[c] = simd.splat_f32s(motion[3 + c]);
            }
            for k in 0..registers::<S>() {
                let mut ps = p.load::<S>(k);
                let (zs, turned) = (z.load::<S>(k), sell::cross(simd, &turning, &arms.load::<S>(k)));
                for c in 0..3 {
                    let coarse = simd.add_f32s(simd.splat_f32s(motion[c]), turned[c]);
                    ps[c] = simd.mul_add_f32s(beta, ps[c], simd.add_f32s(zs[c], coarse));
                }
                p.store::<S>(k, ps);
                sell::to_nodes(simd, ps, &mut rows[k * S::F32_LANES..(k + 1) * S::F32_LANES]);
            }
        }
    }
}
