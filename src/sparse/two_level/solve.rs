//! Conjugate gradients on the matrix of one body, and the corrections of a contact solve, which go on from one to the
//! next with the residual that they have left.

use pulp::Arch;
use rayon::prelude::*;

use super::kernels::{Direction, Restrict, Trilinear, Update, to_corners, to_polynomial};
use super::{CHUNK, Layout, NONE, TwoLevel};
use crate::cancel::CancelToken;
use crate::math::Vec3;
use crate::memory::Pages;
use crate::sparse::coarse::Coarse;
use crate::sparse::sell::{HEIGHT, Node, Product, Slice, slice_nodes, unslice};
use crate::sparse::{FactorWork, RestFactor, Solved, Until, dot};

/// The fewest chunks of slices that are worth waking another thread for.
const FEWEST_CHUNKS: usize = 8;

/// The system of one body: its matrix, with the coarse factor or, without one, with the diagonal blocks alone as
/// preconditioner.
#[derive(Clone, Copy, Debug)]
pub struct TwoLevelSystem<'a> {
    pub layout: &'a Layout,
    pub coarse: Option<&'a Coarse>,
    pub matrix: &'a TwoLevel,
    /// A factor of the matrix itself, where there is one: corrections have that as their preconditioner.
    pub factor: Option<&'a RestFactor>,
}

/// The vectors of a solve; memory is kept.
#[derive(Clone, Debug, Default)]
pub struct TwoLevelWork {
    /// Direction by rows, and a zero behind them.
    rows: Pages<Node>,
    x: Pages<Slice>,
    r: Pages<Slice>,
    z: Pages<Slice>,
    p: Pages<Slice>,
    /// A p, by rows.
    q: Pages<Node>,
    /// Partial sums of the chunks.
    parts: Vec<[f64; 2]>,
    /// Residual and correction of the points in the rest pose.
    coarse_residual: Vec<Vec3>,
    coarse_correction: Vec<Vec3>,
    /// For each cell, the residual summed up at its corners, and the correction as a polynomial of the place in it.
    moments: Vec<Trilinear>,
    motions: Vec<Trilinear>,
    factor: FactorWork,
    /// A residual and its correction by the factor of the matrix itself, by the nodes of the body.
    by_nodes: [Vec<Vec3>; 2],
}

/// What a correction came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Corrected {
    pub iterations: u32,
    /// Largest entry of the correction [m/s].
    pub largest: f64,
    /// Largest entry of the preconditioned residual that is left [m/s]: about what still is to be corrected.
    pub left: f64,
    /// 2-norm of the residual that is left [kg m/s].
    pub residual: f64,
}

/// When a correction ends.
#[derive(Clone, Copy, Debug)]
pub struct Enough<'a> {
    /// The preconditioned residual has no larger entry than this [m/s],
    pub left: f64,
    /// or than this part of the first one.
    pub part: f64,
    pub iterations: u32,
    pub cancel: &'a CancelToken,
}

impl TwoLevelSystem<'_> {
    /// Solves `A x = b` to `|b - A x| <= tolerance` (2-norm, units of b) from the start value in `x`, or from zero if
    /// that is better. `b` and `x` are those of the nodes of the body; springs are part of A. x is zero at fixed nodes.
    /// The residual is that of the recursion; the true one stays above about 1e-7 |A| |x|.
    pub fn solve(&self, b: &[Vec3], x: &mut [Vec3], until: Until, work: &mut TwoLevelWork) -> Solved {
        work.fit(self.layout);
        work.begin(self, b, x);
        let [mut residual2, mut fine] = work.update(self, 1.0);
        let better_than_zero = residual2 < dot(b, b); // also false for NaN
        if !better_than_zero {
            slice_nodes(&work.rows, &mut work.r);
            [residual2, fine] = work.precondition(self);
        }
        let mut rho = 0.0;
        let mut iterations = 0;
        while until.goes_on(residual2.sqrt(), iterations) {
            let rho_new = fine + work.correct_coarsely(self);
            let beta = if iterations == 0 { 0.0 } else { rho_new / rho };
            rho = rho_new;
            work.turn_direction(self.layout, beta);
            let alpha = rho / work.product(self);
            if !(alpha.is_finite() && alpha > 0.0) {
                break;
            }
            [residual2, fine] = work.update(self, alpha);
            iterations += 1;
        }
        work.add_to(self.layout, x, |x, change| *x = change);
        let residual = residual2.sqrt();
        Solved { iterations, residual, converged: residual <= until.residual }
    }

    /// Begins corrections of `x`: takes the residual `b - A x`, of the nodes of the body [kg m/s].
    pub fn begin_corrections(&self, b: &[Vec3], x: &[Vec3], work: &mut TwoLevelWork) {
        work.fit(self.layout);
        work.begin(self, b, x);
        work.update(self, 1.0);
    }

    /// Adds a change of the load to the residual [kg m/s].
    pub fn add_load(&self, change: &[Vec3], work: &mut TwoLevelWork) {
        work.take(self.layout, change);
        slice_nodes(&work.rows, &mut work.z);
        for (r, change) in work.r.iter_mut().zip(&*work.z) {
            r.0.iter_mut().flatten().zip(change.0.iter().flatten()).for_each(|(r, change)| *r += change);
        }
    }

    /// Adds to `x` [m/s] what brings the residual down as far as is enough.
    pub fn correct(&self, enough: Enough, x: &mut [Vec3], work: &mut TwoLevelWork) -> Corrected {
        let [mut residual2, mut fine] = work.precondition(self);
        let mut done = Corrected::default();
        let (mut rho, mut bound) = (0.0, enough.left);
        loop {
            let rho_new = match self.factor {
                Some(factor) => work.correct_by(self.layout, factor),
                None => fine + work.correct_coarsely(self),
            };
            let beta = if done.iterations == 0 { 0.0 } else { rho_new / rho };
            rho = rho_new;
            done.left = work.turn_direction(self.layout, beta);
            if done.iterations == 0 {
                bound = bound.max(enough.part * done.left);
            }
            // Written so that what is not a number ends it.
            let goes_on = done.left > bound && done.iterations < enough.iterations && !enough.cancel.is_cancelled();
            if !goes_on {
                break;
            }
            let alpha = rho / work.product(self);
            if !(alpha.is_finite() && alpha > 0.0) {
                break;
            }
            [residual2, fine] = work.update(self, alpha);
            done.iterations += 1;
        }
        done.residual = residual2.sqrt();
        if done.iterations > 0 {
            work.add_to(self.layout, x, |x, change| {
                done.largest = done.largest.max(change.amax());
                *x += change;
            });
        }
        done
    }
}

impl TwoLevelWork {
    fn fit(&mut self, layout: &Layout) {
        let n = layout.pattern.n_slices();
        for vector in [&mut self.x, &mut self.r, &mut self.z, &mut self.p] {
            vector.fit(n);
        }
        self.q.fit(n * HEIGHT);
        self.rows.fit(n * HEIGHT + 1);
        self.parts.resize(n.div_ceil(CHUNK), [0.0; 2]);
        for vector in [&mut self.coarse_residual, &mut self.coarse_correction] {
            vector.resize(layout.n_points(), Vec3::zeros());
        }
        for sums in [&mut self.moments, &mut self.motions] {
            sums.resize(layout.cells.len(), Trilinear::default());
        }
    }

    /// Hands the x of each node of the body to `add`; zero at fixed nodes.
    fn add_to(&mut self, layout: &Layout, x: &mut [Vec3], mut add: impl FnMut(&mut Vec3, Vec3)) {
        x.iter_mut().zip(of_nodes(&self.x, &mut self.rows, layout)).for_each(|(x, found)| add(x, found));
    }

    /// q = A x and r = b, before the first [`update`](Self::update), by 1: it takes x in p, and r = b - A x.
    fn begin(&mut self, system: &TwoLevelSystem, b: &[Vec3], x: &[Vec3]) {
        self.take(system.layout, x);
        slice_nodes(&self.rows, &mut self.p);
        self.product(system);
        self.take(system.layout, b);
        slice_nodes(&self.rows, &mut self.r);
        self.x.fill(Slice::default());
        self.motions.fill(Trilinear::default());
    }

    /// z = D^-1 r, and x = 0; returns r.r and r.z.
    fn precondition(&mut self, system: &TwoLevelSystem) -> [f64; 2] {
        for vector in [&mut self.x, &mut self.p] {
            vector.fill(Slice::default());
        }
        self.q.fill(Node::default());
        self.update(system, 0.0)
    }

    /// Puts `v` into the rows.
    fn take(&mut self, layout: &Layout, v: &[Vec3]) {
        for (row, node) in self.rows.iter_mut().zip(&layout.nodes) {
            *row = v.get(*node as usize).map_or_else(Node::default, |v| [v.x as f32, v.y as f32, v.z as f32, 0.0]);
        }
    }

    /// q = A p, with p in the rows too; returns p.q.
    fn product(&mut self, system: &TwoLevelSystem) -> f64 {
        let Self { rows, q, parts, .. } = self;
        let TwoLevelSystem { layout, matrix: TwoLevel { slots, sums, springs, .. }, .. } = *system;
        let (pattern, nodes, slots) = (&layout.pattern, &rows[..], &slots[..]);
        (q.par_chunks_mut(CHUNK * HEIGHT), sums.par_chunks(CHUNK * HEIGHT), &mut parts[..])
            .into_par_iter()
            .with_min_len(FEWEST_CHUNKS)
            .enumerate()
            .for_each(|(chunk, (y, sums, part))| {
                let first = chunk * CHUNK;
                let slots = &slots[pattern.starts[first] as usize..pattern.starts[first + y.len() / HEIGHT] as usize];
                part[0] = Arch::new().dispatch(Product { pattern, first, sums, slots, x: nodes, y });
            });
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
                (0..3).for_each(|c| q[place as usize][c] += (spring.factor * w * value[c]) as f32);
            }
            sum += spring.factor * value.norm_squared();
        }
        sum
    }

    /// x += alpha p, r -= alpha q, z = D^-1 r; returns r.r and r.z.
    fn update(&mut self, system: &TwoLevelSystem, alpha: f64) -> [f64; 2] {
        let Self { x, r, z, p, q, parts, .. } = self;
        let inverses = &system.matrix.inverses;
        let vectors = (x.par_chunks_mut(CHUNK), r.par_chunks_mut(CHUNK), z.par_chunks_mut(CHUNK));
        let given = (p.par_chunks(CHUNK), q.par_chunks(CHUNK * HEIGHT), inverses.par_chunks(CHUNK));
        vectors.into_par_iter().zip(given).zip(&mut parts[..]).with_min_len(FEWEST_CHUNKS).for_each(
            |(((x, r, z), (p, q, inverses)), part)| {
                *part = Arch::new().dispatch(Update { alpha: alpha as f32, p, q, inverses, x, r, z });
            },
        );
        parts.iter().fold([0.0; 2], |sum, part| [sum[0] + part[0], sum[1] + part[1]])
    }

    /// The coarse correction c of the residual, none without a coarse factor; returns r.P c.
    fn correct_coarsely(&mut self, system: &TwoLevelSystem) -> f64 {
        let TwoLevelSystem { layout, coarse: Some(coarse), matrix: TwoLevel { rotations, .. }, .. } = *system else { return 0.0 };
        let Self { r, coarse_residual, coarse_correction, moments, motions, factor, .. } = self;
        let (fractions, r) = (&layout.sliced_fractions[..], &r[..]);
        (&mut moments[..], &layout.cells).into_par_iter().with_min_len(FEWEST_CHUNKS * 8).for_each(|(moments, slices)| {
            *moments = Arch::new().dispatch(Restrict { r: &r[slices.clone()], fractions: &fractions[slices.clone()] });
            to_corners(moments);
        });
        for ((residual, rotation), slots) in coarse_residual.iter_mut().zip(rotations).zip(&layout.at_points) {
            let moments = slots.iter().map(|slot| moments.as_flattened()[*slot as usize]);
            let sum = moments.fold(Vec3::zeros(), |sum, [x, y, z, _]| sum + Vec3::new(x.into(), y.into(), z.into()));
            *residual = rotation.tr_mul(&sum);
        }
        coarse.solve(coarse_residual, coarse_correction, factor);
        let product = dot(coarse_residual, coarse_correction);
        for (correction, rotation) in coarse_correction.iter_mut().zip(rotations) {
            *correction = *rotation * *correction;
        }
        for (motion, corners) in motions.iter_mut().zip(&layout.corners) {
            *motion = corners.map(|point| {
                let correction = &coarse_correction[point as usize];
                [correction.x as f32, correction.y as f32, correction.z as f32, 0.0]
            });
            to_polynomial(motion);
        }
        product
    }

    /// z = F^-1 r with a factor; returns r.z. The motions of the coarse correction are zero, as they are when
    /// corrections begin.
    fn correct_by(&mut self, layout: &Layout, factor: &RestFactor) -> f64 {
        let [mut residual, mut correction] = std::mem::take(&mut self.by_nodes);
        residual.clear();
        residual.extend(of_nodes(&self.r, &mut self.rows, layout));
        correction.resize(residual.len(), Vec3::zeros());
        factor.solve(&residual, &mut correction, &mut self.factor);
        self.take(layout, &correction);
        slice_nodes(&self.rows, &mut self.z);
        let product = dot(&residual, &correction);
        self.by_nodes = [residual, correction];
        product
    }

    /// p = z + P c + beta p, also by rows; returns the largest entry of z + P c.
    fn turn_direction(&mut self, layout: &Layout, beta: f64) -> f64 {
        let Self { z, p, rows, motions, parts, .. } = self;
        let motions = &motions[..];
        let vectors = (p.par_chunks_mut(CHUNK), rows.par_chunks_mut(CHUNK * HEIGHT));
        let given = (z.par_chunks(CHUNK), layout.sliced_fractions.par_chunks(CHUNK), layout.owners.par_chunks(CHUNK));
        vectors.into_par_iter().zip(given).zip(&mut parts[..]).with_min_len(FEWEST_CHUNKS).for_each(
            |(((p, rows), (z, fractions, owners)), part)| {
                part[0] = Arch::new().dispatch(Direction { beta: beta as f32, z, fractions, owners, motions, p, rows }).into();
            },
        );
        parts.iter().fold(0.0, |largest, part| if part[0] <= largest { largest } else { part[0] })
    }
}

/// A vector by the nodes of the body; zero at fixed ones. `rows`: memory.
fn of_nodes<'a>(vector: &[Slice], rows: &'a mut [Node], layout: &'a Layout) -> impl Iterator<Item = Vec3> + 'a {
    unslice(vector, rows);
    let rows = &*rows;
    layout.places.iter().map(|place| {
        let [x, y, z, _] = rows.get(*place as usize).copied().unwrap_or_default();
        Vec3::new(x.into(), y.into(), z.into())
    })
}
