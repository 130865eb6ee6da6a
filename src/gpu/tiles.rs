//! Tiles: the free nodes of one aggregate of a body, which one workgroup of the elastic solve works on; and the
//! coarse space that they span, as the inverse of its matrix in the rest pose. Twin: `gpu::tests::two_level_on_cpu`,
//! as the CPU backend has another coarse space (`sparse::TwoLevel`).

use super::kernel::Buffers;
use super::layout::{BlockData, MemberData, NONE, Pattern, ShareData, TileData};
use super::limits::{MAX_WHOLE_NODES, MAX_WHOLE_TILES};
use super::upload::Groups;
use super::wgsl::WordTable;
use crate::budget::Allowance;
use crate::cancel::{CancelToken, Cancelled};
use crate::elastic::{Aggregates, SAMPLES, coarse_factors};
use crate::model::{Loads, Model, Params};

pub struct Tiles {
    /// Of all bodies.
    aggregates: Vec<Aggregates>,
    /// Where the inverse of each body begins among all of them.
    starts: Vec<usize>,
    /// Inverses by time step, the last used first: a step that fails is halved and later whole again.
    kept: Vec<(f64, Vec<[f32; 4]>)>,
    /// Time step of those on the device.
    uploaded: Option<f64>,
}

/// A device reads as fast as so many cores, at least.
pub const CORES_OF_DEVICE: u64 = 8;
/// Inverses of this many time steps are kept.
const KEPT: usize = 2;
/// Vectors of the block of a pair of aggregates.
const PAIR: usize = 9;
/// Reading the inverse of the coarse matrix takes no longer than reading this many blocks a node.
const BLOCKS: f64 = 13.0;

/// Most aggregates of a body of `n` nodes: the dense inverse, of 36 numbers a pair, is no larger than the matrix, of
/// 9 numbers a block.
fn most_aggregates(n: usize) -> usize {
    (BLOCKS * n as f64 / 4.0).sqrt() as usize
}

impl Tiles {
    /// The tiles of `model`, workgroups of the kernels, and the words of [`Pattern`]. `shares`: of the kernels over
    /// rows. Bodies of up to `most_whole` free nodes are solved in one workgroup, if it can hold them. Ends soon after
    /// `cancel` is cancelled.
    pub fn new_unless(
        model: &Model,
        shares: &[ShareData],
        most_whole: usize,
        cancel: &CancelToken,
    ) -> Result<(Self, Groups, Vec<u32>), Cancelled> {
        let of_body = |body: &crate::model::Body| {
            cancel.check()?;
            Ok(Aggregates::new(model, body, most_aggregates(body.nodes.len())))
        };
        let aggregates: Vec<Aggregates> = model.bodies.iter().map(of_body).collect::<Result<_, Cancelled>>()?;
        cancel.check()?;
        let n_free = |body: usize| model.bodies[body].nodes.clone().filter(|i| !model.fixed[*i]).count();
        let most_nodes = most_whole.min(MAX_WHOLE_NODES as usize);
        let is_whole = |body: usize| n_free(body) <= most_nodes && count(&aggregates[body]) <= MAX_WHOLE_TILES as usize;
        let (whole, large): (Vec<usize>, Vec<usize>) = (0..aggregates.len()).partition(|body| is_whole(*body));

        let mut pattern =
            Pattern { row_starts: model.pattern.row_starts.clone(), columns: model.pattern.columns.clone(), ..Pattern::default() };
        let mut starts = vec![0; aggregates.len()];
        let mut end = 0;
        for &body in &large {
            starts[body] = end;
            end += put_tiles(&mut pattern, model, body, &aggregates[body], shares, end);
        }
        let loop_tiles = pattern.tiles.len() as u32;
        for &body in &whole {
            starts[body] = end;
            pattern.whole.push(pattern.tiles.len() as u32);
            end += put_tiles(&mut pattern, model, body, &aggregates[body], shares, end);
        }
        starts.push(end);
        let (words, offsets) = pattern.pack();
        let groups = Groups {
            rows: shares.len() as u32,
            tiles: pattern.tiles.len() as u32,
            loop_tiles,
            whole: whole.len() as u32,
            pattern: offsets,
        };
        Ok((Self { aggregates, starts, kept: vec![], uploaded: None }, groups, words))
    }

    /// Vectors of all inverses.
    pub fn n_vectors(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Least bytes that an iteration of the elastic solve moves, and its start.
    pub fn bytes_of_iteration(&self, model: &Model, is_two_level: bool) -> [u64; 2] {
        let blocks = (size_of::<BlockData>() + 4) * model.pattern.n_blocks();
        let coarse = if is_two_level { 16 * self.n_vectors() } else { 0 };
        let diagonals = size_of::<BlockData>() * model.n_nodes();
        // Vectors: the product reads u, r and writes w; the rest of it reads w and has x, r, u, p, s read and
        // written. Both read the members.
        let iteration = blocks + coarse + diagonals + 16 * model.n_nodes() * (3 + 11 + 2);
        // The start value is read, r written; then r is read, b read twice, u written.
        [iteration as u64, (blocks + coarse + diagonals + 16 * model.n_nodes() * (6 + 2)) as u64]
    }

    /// `params` with no more iterations of a solve than the budget of the step has left.
    pub fn within_budget(&self, model: &Model, params: &Params, loads: &Loads) -> Params {
        let [iteration, _] = self.bytes_of_iteration(model, params.is_two_level());
        let affordable = Allowance::of_island(loads.budget.left(), 1, 1.0).iterations(iteration / CORES_OF_DEVICE);
        Params { max_iterations: params.max_iterations.min(affordable), ..*params }
    }

    /// Brings the inverses for the time step of `params` to the device, unless they are there or not asked for.
    pub fn select(&mut self, buffers: &Buffers, model: &Model, params: &Params) {
        let dt = params.time_step;
        if !params.is_two_level() || self.uploaded == Some(dt) {
            return;
        }
        match self.kept.iter().position(|(known, _)| *known == dt) {
            Some(place) => self.kept[..=place].rotate_right(1),
            None => {
                self.kept.insert(0, (dt, self.inverses(model, params)));
                self.kept.truncate(KEPT);
            }
        }
        buffers.write_at("preconditioner", (size_of::<BlockData>() * model.n_nodes()) as u64, &self.kept[0].1);
        self.uploaded = Some(dt);
    }

    /// Zero for bodies whose matrix f32 does not hold: they do without.
    fn inverses(&self, model: &Model, params: &Params) -> Vec<[f32; 4]> {
        let mut vectors = vec![[0.0; 4]; self.n_vectors()];
        let factors = coarse_factors(model, params, &self.aggregates);
        for ((factor, aggregates), start) in factors.iter().zip(&self.aggregates).zip(&self.starts) {
            let Some(factor) = factor.as_ref().filter(|_| aggregates.parts.n_parts() > 0) else { continue };
            let n = count(aggregates);
            for (pair, blocks) in factor.inverse().iter().enumerate() {
                let (a, b) = (pair / n, pair % n);
                let numbers = || blocks.iter().flat_map(|block| block.as_slice()).map(|x| *x as f32);
                for k in 0..PAIR {
                    let mut four = numbers().skip(4 * k);
                    vectors[start + PAIR * n * a + n * k + b] = std::array::from_fn(|_| four.next().unwrap_or(0.0));
                }
            }
        }
        vectors
    }
}

/// Appends the tiles of a body, whose inverse begins at vector `first` of all inverses; returns the vectors of the
/// inverse.
fn put_tiles(pattern: &mut Pattern, model: &Model, body: usize, own: &Aggregates, shares: &[ShareData], first: usize) -> usize {
    let (n, first_tile, first_node) = (count(own), pattern.tiles.len() as u32, model.bodies[body].nodes.start as u32);
    let share = shares.iter().position(|share| share.body == body as u32).unwrap_or(0) as u32;
    for a in 0..n {
        let begin = pattern.members.len() as u32;
        // A body without free nodes has an empty tile, so that its loop ends too.
        let nodes = if a < own.parts.n_parts() { own.parts.members(a) } else { &[] };
        let member = |(node, arm): &(u32, crate::math::Vec3)| MemberData { arm: super::layout::vec3(arm), node: first_node + node };
        pattern.members.extend(nodes.iter().map(member));
        pattern.tiles.push(TileData {
            first: begin,
            end: pattern.members.len() as u32,
            body: body as u32,
            first_tile,
            n_tiles: n as u32,
            coarse: (3 * model.n_nodes() + first + PAIR * n * a) as u32,
            share,
        });
        let chosen = own.samples.get(a).into_iter().flatten().copied().chain(std::iter::repeat(NONE));
        pattern.samples.extend(chosen.take(SAMPLES));
    }
    PAIR * n * n
}

/// Tiles of a body.
fn count(aggregates: &Aggregates) -> usize {
    aggregates.parts.n_parts().max(1)
}
