//! The warped compliance W~ = dt^2 C H A~^-1 H^T C^T of the contacts, A~^-1 = R A0^-1 R^T with the rest pose A0 and the rotations R of the nodes
//! (`contact-study.md` 4).

#[cfg(test)]
mod tests;

use std::ops::Range;

use nalgebra::Matrix3;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::cwc::Block;
use super::dual::{Compliance, IMMOVABLE};
use super::{Contact, Problem};
use crate::math::Mat3;
use crate::sparse::Requested;

/// Bodies that contacts link with each other, and with no others.
#[derive(Debug, Default)]
pub(super) struct Island {
    pub contacts: Range<usize>,
    pub compliance: Compliance,
}

/// A 3x3 block whose rows fill a register each; the last entries mean nothing.
type Rows = [[f32; 4]; 3];

/// One entry of a contact's row of H: `matrix` is dt C H R for it.
struct Lever {
    /// Node of the body, or unknown of the rigid body.
    place: u32,
    /// Where it stands among those of the meeting.
    slot: u32,
    matrix: Matrix3<f32>,
    transposed: Rows,
}

/// What the contacts of one pair of bodies have in common.
#[derive(Default)]
struct Meeting {
    contacts: Range<usize>,
    /// Number of the movable block on each side; a body that meets itself is on the first.
    blocks: [Option<usize>; 2],
    /// Places that levers of each side have, ascending.
    places: [Vec<u32>; 2],
}

/// Puts the contacts in order, by island, then by pair of bodies, and fills W~ of each island.
pub(super) fn assemble(problem: &Problem, blocks: &[Block], contacts: &mut [Contact], islands: &mut Vec<Island>) {
    // Blocks are those of consecutive bodies.
    let first_body = blocks.first().map_or(0, |block| block.body);
    let n_blocks = blocks.len();
    let block_of_body = |body: u32| body.checked_sub(first_body).map(|b| b as usize).filter(|b| *b < n_blocks);
    let island_of = islands_of(n_blocks, contacts.iter().map(|c| c.bodies.map(block_of_body)));
    let island_of_contact = |c: &Contact| c.bodies.iter().find_map(|b| block_of_body(*b)).map_or(u32::MAX, |b| island_of[b]);
    contacts.sort_by_cached_key(|c| (island_of_contact(c), c.bodies, c.pair));
    let contacts: &[Contact] = contacts;
    // As `Compliance` groups them: what does not move is one.
    let blocks_of = |c: &Contact| c.bodies.map(block_of_body);
    let mut meetings: Vec<Meeting> = chunks(contacts, |a, b| blocks_of(a) == blocks_of(b))
        .map(|range| Meeting { blocks: blocks_of(&contacts[range.start]), contacts: range, ..Meeting::default() })
        .collect();

    let mut levers: Vec<[Vec<Lever>; 2]> = meetings
        .par_iter()
        .flat_map_iter(|meeting| contacts[meeting.contacts.clone()].iter().map(|contact| levers_of(problem, blocks, meeting, contact)))
        .collect();
    let mut touched = vec![vec![]; n_blocks];
    for meeting in &mut meetings {
        for (side, places) in meeting.places.iter_mut().enumerate() {
            let levers = &mut levers[meeting.contacts.clone()];
            places.extend(levers.iter().flat_map(|sides| &sides[side]).map(|lever| lever.place));
            places.sort_unstable();
            places.dedup();
            for lever in levers.iter_mut().flat_map(|sides| &mut sides[side]) {
                lever.slot = places.partition_point(|place| *place < lever.place) as u32;
            }
            if let Some(block) = meeting.blocks[side] {
                touched[block].extend(&*places);
            }
        }
    }
    // Columns of the rest compliance for every node that is touched.
    let columns_of: Vec<Option<Requested>> =
        blocks.iter().zip(&touched).map(|(block, nodes)| block.rest.map(|rest| rest.columns.request(rest.factor, nodes))).collect();
    let mut meeting_of = vec![0; contacts.len()];
    for (m, meeting) in meetings.iter().enumerate() {
        meeting_of[meeting.contacts.clone()].fill(m);
    }
    let bodies: Vec<[u32; 2]> = contacts.iter().map(|c| c.bodies.map(|b| if block_of_body(b).is_some() { b } else { IMMOVABLE })).collect();

    let ranges: Vec<Range<usize>> = chunks(contacts, |a, b| island_of_contact(a) == island_of_contact(b)).collect();
    islands.resize_with(ranges.len(), Island::default);
    islands.par_iter_mut().zip(ranges).for_each(|(island, range)| {
        let first = range.start;
        island.contacts = range.clone();
        island.compliance.assemble(&bodies[range], |k, columns, out| {
            let others = &levers[first + columns.start..first + columns.end];
            let (own, other) = (&meetings[meeting_of[first + k]], &meetings[meeting_of[first + columns.start]]);
            Arch::new().dispatch(FillBlocks {
                problem,
                blocks,
                columns_of: &columns_of,
                own,
                own_levers: &levers[first + k],
                other,
                others,
                out,
            });
            if columns.contains(&k) {
                out[k - columns.start] += contacts[first + k].own_compliance();
            }
        });
    });
}

/// The blocks of W~ of one contact with some of a meeting.
struct FillBlocks<'a> {
    problem: &'a Problem<'a>,
    blocks: &'a [Block<'a>],
    columns_of: &'a [Option<Requested<'a>>],
    own: &'a Meeting,
    own_levers: &'a [Vec<Lever>; 2],
    other: &'a Meeting,
    others: &'a [[Vec<Lever>; 2]],
    out: &'a mut [Mat3],
}

impl WithSimd for FillBlocks<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { problem, blocks, columns_of, own, own_levers, other, others, out } = self;
        let mut motions: Vec<Rows> = vec![];
        let mut sums = [[[0.0; 4]; 3]; Compliance::AT_ONCE];
        for (block, own_levers) in own.blocks.iter().zip(own_levers) {
            let Some(block) = block else { continue };
            let Some(side) = other.blocks.iter().position(|b| b == &Some(*block)) else { continue };
            motions.clear();
            motions.resize(other.places[side].len(), Rows::default());
            for lever in own_levers {
                add_motions::<S>(problem, &blocks[*block], columns_of[*block].as_ref(), lever, &other.places[side], &mut motions);
            }
            for (levers, sum) in others.iter().zip(&mut sums) {
                for lever in &levers[side] {
                    let motion = &motions[lever.slot as usize];
                    add_product::<S>(&[0, 1, 2].map(|r| [motion[r][0], motion[r][1], motion[r][2]]), &lever.transposed, sum);
                }
            }
        }
        for (sum, out) in sums.iter().zip(out) {
            *out = Mat3::from_fn(|r, c| f64::from(sum[r][c]));
        }
    }
}

/// Ranges of neighbours that belong together.
fn chunks<'c>(contacts: &'c [Contact], same: impl Fn(&Contact, &Contact) -> bool + 'c) -> impl Iterator<Item = Range<usize>> + 'c {
    contacts.chunk_by(same).scan(0, |end, chunk| {
        *end += chunk.len();
        Some(*end - chunk.len()..*end)
    })
}

/// The levers of a contact on its two sides.
fn levers_of(problem: &Problem, blocks: &[Block], meeting: &Meeting, contact: &Contact) -> [Vec<Lever>; 2] {
    let mut sides = [vec![], vec![]];
    for entry in &contact.entries {
        let in_block = |block: &Option<usize>| block.is_some_and(|b| blocks[b].unknowns.contains(&entry.unknown()));
        let Some(side) = meeting.blocks.iter().position(in_block) else { continue };
        let Some(block) = meeting.blocks[side].map(|b| &blocks[b]) else { continue };
        let place = entry.unknown() - block.unknowns.start;
        let mut matrix = contact.frame * entry.matrix() * problem.dt;
        if let Some(rest) = &block.rest {
            matrix *= rest.rotations[place];
        }
        let matrix = matrix.cast::<f32>();
        let transposed = [0, 1, 2].map(|r| [matrix[(0, r)], matrix[(1, r)], matrix[(2, r)], 0.0]);
        sides[side].push(Lever { place: place as u32, slot: 0, matrix, transposed });
    }
    sides
}

/// Adds what impulses at `places` of the body move at the lever: `dt C H R A0^-1`, still to be turned by the rotations of the places.
#[inline(always)]
fn add_motions<S: Simd>(
    problem: &Problem,
    block: &Block,
    columns: Option<&Requested>,
    lever: &Lever,
    places: &[u32],
    motions: &mut [Rows],
) {
    let matrix = [0, 1, 2].map(|r| [lever.matrix[(r, 0)], lever.matrix[(r, 1)], lever.matrix[(r, 2)]]);
    let rows = |m: &Mat3| [0, 1, 2].map(|r| [m[(r, 0)] as f32, m[(r, 1)] as f32, m[(r, 2)] as f32, 0.0]);
    // The block diagonal of A, for a body without a factor or where a column is missing.
    let own = |turned: &dyn Fn(Mat3) -> Mat3| {
        let inverse = problem.a.inverse_diagonals[block.unknowns.start + lever.place as usize];
        places.binary_search(&lever.place).ok().map(|slot| (slot, rows(&turned(inverse))))
    };
    let (Some(rest), Some(columns)) = (&block.rest, columns) else {
        if let Some((slot, inverse)) = own(&|inverse| inverse) {
            add_product::<S>(&matrix, &inverse, &mut motions[slot]);
        }
        return;
    };
    if let Some(column) = columns.column(lever.place) {
        for (place, motion) in places.iter().zip(motions) {
            if let Some(b) = column.block(*place) {
                // Block (place, lever) column by column is block (lever, place) row by row.
                add_product::<S>(&matrix, &[[b[0], b[1], b[2], 0.0], [b[3], b[4], b[5], 0.0], [b[6], b[7], b[8], 0.0]], motion);
            }
        }
        return;
    }
    let rotation = &rest.rotations[lever.place as usize];
    let own = own(&|inverse| rotation.tr_mul(&(inverse * rotation)));
    for (slot, (place, motion)) in places.iter().zip(motions).enumerate() {
        let stored = columns.get(lever.place, *place).map(|block| rows(&block));
        if let Some(block) = stored.or_else(|| own.filter(|(own, _)| *own == slot).map(|(_, block)| block)) {
            add_product::<S>(&matrix, &block, motion);
        }
    }
}

/// `out += a b`.
#[inline(always)]
fn add_product<S: Simd>(a: &[[f32; 3]; 3], b: &Rows, out: &mut Rows) {
    for r in 0..3 {
        for c in 0..4 {
            for k in 0..3 {
                // Without the instruction the fused product would be a call.
                out[r][c] = if S::IS_SCALAR { out[r][c] + a[r][k] * b[k][c] } else { a[r][k].mul_add(b[k][c], out[r][c]) };
            }
        }
    }
}

/// Number of the island of each block: the first block that contacts link it with.
fn islands_of(n_blocks: usize, links: impl Iterator<Item = [Option<usize>; 2]>) -> Vec<u32> {
    let mut parent: Vec<u32> = (0..n_blocks as u32).collect();
    fn root(parent: &mut [u32], mut b: u32) -> u32 {
        while parent[b as usize] != b {
            parent[b as usize] = parent[parent[b as usize] as usize];
            b = parent[b as usize];
        }
        b
    }
    for [a, b] in links {
        if let (Some(a), Some(b)) = (a, b) {
            let (a, b) = (root(&mut parent, a as u32), root(&mut parent, b as u32));
            parent[a.max(b) as usize] = a.min(b);
        }
    }
    (0..n_blocks as u32).map(|b| root(&mut parent, b)).collect()
}
