//! The matrix of a step itself, factored, for a body that the rest pose says too little about: where slivers have
//! turned against their neighbours, or a body is pressed to a part of its height, conjugate gradients on the factor of
//! the rest pose take hundreds of iterations, and forces that are found with its W~ never become right. A factor of the
//! present matrix takes as long as some fifty to a hundred applications of it, and then passes contract at once. So no
//! problem takes much more than twice as long as with the better of the two. It lasts as long as the problem; the next
//! step begins with a factor of the pose that this one ends in, which is kept as long as it serves
//! ([`State::later_poses`](crate::model::State)).
//!
//! Corrections of two levels know nothing of bending: in a sheet of one layer of cells they take some fifty iterations
//! each, and one with a factor of the matrix. Where that would have paid by now it is made. As a sheet that bends has
//! another matrix in each step, the next steps begin with a factor of their own ([`State::slow`](crate::model::State));
//! no pose is kept.

use std::borrow::Cow;

use super::BlockWork;
use super::correction::SLOW;
use crate::contact::{Block, Constraint, Problem, Rest, Single};
use crate::elastic::NodeRotations;
use crate::math::Mat3;
use crate::sparse::{Columns, RestFactor, SingleBlock, TwoLevelSystem};

/// Applications of a factor that take as long as to make one: of a factor that stays in the cache, and of a larger one.
const PRICES: [u32; 2] = [100, 45];
/// Factors up to this memory stay in the cache [bytes].
const CACHED: usize = 8 << 20;
/// Where so many passes have moved more than the one before it is clear after half the price that they lead nowhere;
/// one may do so when the last digits of forces come.
const GROWTHS: u32 = 3;

/// After so many steps that began with a factor corrections are tried without one again, and go on so if they take no
/// more than this part of a factor. As much is to be left for solving where a factor is made.
const TRIED: u32 = 8;
const FORGONE: u64 = 4;

/// The factor of the matrix of one body as it is in the step, and its compliance.
#[derive(Debug)]
pub struct Present {
    factor: RestFactor,
    columns: Columns,
}

/// The blocks, those that have a present factor with that, where they are slow for corrections as well.
pub fn blocks<'a>(blocks: &'a [Block<'a>], present: &'a [Option<Present>], work: &[BlockWork]) -> Cow<'a, [Block<'a>]> {
    if present.iter().all(Option::is_none) {
        return Cow::Borrowed(blocks);
    }
    let with = |((block, present), work): ((&Block<'a>, &'a Option<Present>), &BlockWork)| {
        let rest = present.as_ref().map(|Present { factor, columns }| Rest { factor, columns, rotations: NodeRotations::None });
        let factor = present.as_ref().filter(|_| work.is_slow).map(|present| &present.factor);
        let single = block.single.map(|single| Single { system: TwoLevelSystem { factor, ..single.system }, ..single });
        Block { rest: rest.or(block.rest), single, ..block.clone() }
    };
    blocks.iter().zip(present).zip(work).map(with).collect()
}

/// Whether the matrix of a body is to be factored.
pub fn is_due(problem: &Problem, work: &[BlockWork]) -> bool {
    problem.blocks.iter().zip(work).any(|(block, work)| is_dear(block, work) && work_of(problem, block, work).is_some())
}

/// Whether the rest pose has taken as long as a factor would, or is going to.
fn is_dear(block: &Block, work: &BlockWork) -> bool {
    let price = PRICES[usize::from(!is_cached(block))];
    work.applied >= price || (work.applied >= price / 2 && work.growths >= GROWTHS)
}

fn is_cached(block: &Block) -> bool {
    block.rest.as_ref().is_none_or(|rest| rest.factor.memory() <= CACHED)
}

/// Suspects the bodies of a contact where W~ leaves most; false if their matrices are factored already, or that would
/// take longer than all that the solve has done while there is a smaller step, which is nearer to the rest pose.
pub fn suspect(problem: &Problem, contact: &Constraint, work: &mut [BlockWork]) -> bool {
    let mut any = false;
    for block in contact.bodies.iter().filter_map(|body| problem.block_of(*body)) {
        let (of, work) = (&problem.blocks[block], &mut work[block]);
        let is_cheap = |cost: u64| !problem.bounds.may_halve || is_cached(of) || cost <= problem.allowance.spent();
        work.is_suspect = work_of(problem, of, work).is_some_and(is_cheap);
        any |= work.is_suspect;
    }
    any
}

/// Suspects the bodies whose corrections were slow in the last step; false if there are none.
pub fn recall(problem: &Problem, work: &mut [BlockWork]) -> bool {
    suspect_slow(problem, work, |block, _| block.slow % TRIED != 0)
}

/// Counts the work of a correction [bytes], less that of two solves with a factor in its place.
pub fn count_correction(work_done: u64, block: &Block, work: &mut BlockWork) {
    let solves = block.rest.as_ref().map_or(0, |rest| 2 * 2 * rest.factor.memory() as u64);
    work.excess += work_done.saturating_sub(solves);
}

/// Suspects the bodies for whose corrections a factor would have paid; false if there are none.
pub fn suspect_corrections(problem: &Problem, work: &mut [BlockWork]) -> bool {
    let is_slow = |block: &Block, work: &BlockWork| {
        let enough = |rest: &Rest| rest.factor.work_of_making() / if block.slow > 0 { FORGONE } else { 1 };
        block.rest.as_ref().is_some_and(|rest| work.excess >= enough(rest))
    };
    suspect_slow(problem, work, is_slow)
}

fn suspect_slow(problem: &Problem, work: &mut [BlockWork], is_slow: impl Fn(&Block, &BlockWork) -> bool) -> bool {
    let mut any = false;
    for (block, work) in problem.blocks.iter().zip(work) {
        if block.single.is_some() && !work.is_renewed && is_slow(block, work) {
            // Where there is no room for it any more the next step begins with it.
            work.is_slow = true;
            work.is_suspect = work_of(problem, block, work).is_some();
            any |= work.is_suspect;
        }
    }
    any
}

/// Factors the matrices of bodies whose passes contract slowly, where the solve has not ended; false if there is none.
/// `counted`: whether the columns of unknowns were counted.
pub fn renew(problem: &Problem, work: &mut [BlockWork], counted: &mut [bool], present: &mut Vec<Option<Present>>) -> bool {
    present.resize_with(problem.blocks.len(), || None);
    let mut any = false;
    for ((block, work), present) in problem.blocks.iter().zip(work).zip(present) {
        if !is_dear(block, work) && work.contraction <= SLOW && !work.is_suspect {
            continue;
        }
        let (Some(cost), Some(rest)) = (work_of(problem, block, work), &block.rest) else { continue };
        problem.allowance.spend(cost);
        (work.is_renewed, any) = (true, true);
        let (pattern, first) = (problem.system.pattern, block.segment.unknowns.start);
        let Ok(factor) = rest.factor.of_matrix(pattern, &matrix_of(problem, block), first, problem.cancel) else { continue };
        work.secants.forget();
        counted[block.segment.places()].fill(false);
        *present = Some(Present { factor, columns: rest.columns.of_factor() });
    }
    any
}

/// Work of factoring the matrix of a body [bytes], if it was not sought yet and can be afforded. Unless it is told by
/// its products it is counted as dear as the dearer of the two: a budget is kept rather than used up.
fn work_of(problem: &Problem, block: &Block, work: &BlockWork) -> Option<u64> {
    let rest = block.rest.as_ref().filter(|_| !work.is_renewed)?;
    let (told, dearest) = (rest.factor.work_of_making(), u64::from(PRICES[0]) * 2 * rest.factor.memory() as u64);
    let (cost, room) = if work.is_slow { (told, told + told / FORGONE) } else { (dearest, 2 * dearest) };
    (problem.allowance.left() > room).then_some(cost)
}

/// The blocks of the rows of a body, in f64.
pub fn matrix_of<'a>(problem: &Problem<'a>, block: &Block<'a>) -> Cow<'a, [Mat3]> {
    let (pattern, rows) = (problem.system.pattern, &block.segment.unknowns);
    let Some(Single { edge_blocks, node_masses, damped, .. }) = block.single else {
        return Cow::Borrowed(&problem.system.a.blocks[pattern.blocks_of(rows)]);
    };
    let first_edge = pattern.edges_of(rows).start;
    let row = |i: usize| {
        let diagonal = pattern.diagonals[i] as usize;
        let mut row: Vec<Mat3> = pattern
            .row(i)
            .map(|b| match b == diagonal {
                true => Mat3::identity() * (damped * node_masses[i - rows.start]),
                // The edge of each block, and after it the other way.
                false => doubled(&edge_blocks[2 * (pattern.block_edges[b] as usize - first_edge) + usize::from(b < diagonal)]),
            })
            .collect();
        let own = diagonal - pattern.row(i).start;
        let others: Mat3 = row.iter().enumerate().filter(|(k, _)| *k != own).map(|(_, block)| block).sum();
        row[own] -= others;
        row
    };
    Cow::Owned(rows.clone().flat_map(row).collect())
}

fn doubled(block: &SingleBlock) -> Mat3 {
    Mat3::from_fn(|r, c| f64::from(block[c][r]))
}
