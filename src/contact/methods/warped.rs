//! The warped compliance W~ = dt^2 C H A~^-1 H^T C^T of the contacts, A~^-1 = R A0^-1 R^T with the rest pose A0 and the
//! rotations R of the nodes (`contact-study.md` 4).

mod kept;
#[cfg(test)]
mod tests;

use std::ops::Range;

use nalgebra::Matrix3;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::secant::{SecantMotions, Secants};
use crate::body::BodyRef;
use crate::contact::dual::Compliance;
use crate::contact::{Block, Constraint, JacobianEntry, Problem, Scale, SourceId};
use crate::disjoint_sets::DisjointSets;
use crate::math::Mat3;
use crate::memory::Pool;
use crate::sparse::Requested;
use kept::{Kept, fill_unknown};

/// Most nodes of a large body that stand for the region of a spring.
const REPRESENTATIVES: usize = 256;

/// Parts of bodies that contacts link with each other, and with no others.
#[derive(Debug, Default)]
pub(super) struct ContactIsland {
    pub contacts: Range<usize>,
    pub compliance: Compliance,
}

/// A 3x3 block whose rows fill a register each; the last entries mean nothing.
type Rows = [[f32; 4]; 3];

/// One entry of a contact's row of H: `matrix` is dt C H R for it.
#[derive(Clone, Debug, Default)]
struct JacobianBlock {
    /// Node of the body, or unknown of the rigid body.
    place: u32,
    /// Where it stands among those of its pair of parts.
    slot: u32,
    matrix: Matrix3<f32>,
    transposed: Rows,
}

/// The entries of the rows of all contacts, on their two sides.
#[derive(Debug, Default)]
struct Jacobian {
    all: Vec<JacobianBlock>,
    /// Of each contact: its first one, and how many each side has.
    spans: Vec<(usize, [usize; 2])>,
}

impl Jacobian {
    fn range(&self, contact: usize, side: usize) -> Range<usize> {
        let (first, [n, m]) = self.spans[contact];
        if side == 0 { first..first + n } else { first + n..first + n + m }
    }

    fn of(&self, contact: usize, side: usize) -> &[JacobianBlock] {
        &self.all[self.range(contact, side)]
    }

    fn of_mut(&mut self, contact: usize, side: usize) -> &mut [JacobianBlock] {
        let range = self.range(contact, side);
        &mut self.all[range]
    }
}

/// What the contacts of one pair of parts of bodies have in common.
#[derive(Debug, Default)]
struct PartPair {
    contacts: Range<usize>,
    /// Number of the movable block on each side.
    blocks: [Option<usize>; 2],
    /// Its part that is touched; one that meets itself is on the first side.
    parts: [Option<u32>; 2],
    /// Places that entries of each side have, ascending.
    places: [Vec<u32>; 2],
}

/// By what contacts are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// The lowest of its parts; [`u32::MAX`] where nothing moves.
    island: u32,
    bodies: [BodyRef; 2],
    /// The parts that the two sides touch, by the places of their first unknowns; none of what does not move. Parts that
    /// a side of any contact joins are one.
    parts: [Option<u32>; 2],
    id: SourceId,
}

/// Memory of [`assemble`].
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// Of the places of first unknowns of parts: which are one, and which contacts link.
    parts: DisjointSets,
    links: DisjointSets,
    order: Vec<(Place, usize)>,
    part_pairs: Vec<PartPair>,
    pair_of: Vec<usize>,
    jacobian: Jacobian,
    /// Places of each block that are touched, and the columns of the rest compliance for them.
    touched: Vec<(Vec<u32>, Requested)>,
    bodies: Vec<[Option<u32>; 2]>,
    motions: Pool<Vec<Option<Rows>>>,
    kept: Kept,
}

impl Scratch {
    /// The next assembly is of other matrices or secants than the last one.
    pub fn forget(&mut self) {
        self.kept.forget();
    }
}

/// Puts the contacts in order, by island, then by pair of bodies, and fills W~ of each island; what is known of the last
/// assembly, unless that is [forgotten](Scratch::forget), stays. `secants`: of each block.
pub(super) fn assemble<'a>(
    problem: &Problem,
    contacts: &mut [Constraint],
    secants: impl Iterator<Item = &'a Secants>,
    islands: &mut Vec<ContactIsland>,
    scratch: &mut Scratch,
) {
    scratch.kept.take(islands, &mut scratch.jacobian);
    gather_rows(problem, contacts, scratch);
    let blocks = problem.blocks;
    let Scratch { order, part_pairs, pair_of, jacobian, touched, bodies, motions, kept, .. } = scratch;
    let (contacts, order): (&[Constraint], _) = (contacts, &order[..]);
    bodies.clear();
    bodies.extend(order.iter().map(|(place, _)| place.parts));

    let mut n_islands = 0;
    for range in chunks(order, |a, b| a.island == b.island) {
        if n_islands == islands.len() {
            islands.push(ContactIsland::default());
        }
        islands[n_islands].contacts = range;
        n_islands += 1;
    }
    islands.truncate(n_islands);
    let secant_motions = SecantMotions::new(problem, contacts, secants);
    kept.find(contacts, order, jacobian);
    let (part_pairs, jacobian, columns, known) = (&part_pairs[..], &*jacobian, &touched[..], &*kept);
    islands.par_iter_mut().for_each(|ContactIsland { contacts: range, compliance }| {
        let first = range.start;
        compliance.assemble(&bodies[range.clone()], |k, columns_of_w, out| {
            // Thousands of contacts take seconds.
            if problem.cancel.has_been_cancelled() {
                return;
            }
            let known_block = known.blocks_of(first + k);
            let columns_of_w = first + columns_of_w.start..first + columns_of_w.end;
            fill_unknown(columns_of_w, out, known_block, |columns_of_w, out| {
                let mut memory = motions.take().unwrap_or_default();
                Arch::new().dispatch(FillBlocks {
                    problem,
                    columns,
                    jacobian,
                    own: (&part_pairs[pair_of[first + k]], first + k),
                    other: (&part_pairs[pair_of[columns_of_w.start]], columns_of_w.start),
                    motions: &mut memory,
                    out,
                });
                motions.put(memory);
                secant_motions.add(first + k, columns_of_w.clone(), out);
                if columns_of_w.contains(&(first + k)) {
                    out[first + k - columns_of_w.start] += Mat3::from_diagonal(&contacts[first + k].law.compliance());
                }
            });
        });
    });
    let is_complete = !problem.cancel.has_been_cancelled()
        && blocks
            .iter()
            .zip(&*touched)
            .all(|(block, (nodes, requested))| block.rest.is_none() || nodes.is_empty() || requested.is_complete);
    kept.remember(contacts, order, islands, is_complete);
    touched.iter_mut().for_each(|(_, requested)| requested.clear());
}

/// Puts the contacts in order as [`assemble`] does, and hands out the scales of the diagonal blocks of W~ alone.
pub(super) fn scales(problem: &Problem, contacts: &mut [Constraint], scratch: &mut Scratch) -> Vec<Scale> {
    scratch.kept.forget();
    gather_rows(problem, contacts, scratch);
    let Scratch { part_pairs, pair_of, jacobian, touched, motions, .. } = scratch;
    let (part_pairs, jacobian, columns) = (&part_pairs[..], &*jacobian, &touched[..]);
    let scale = |(k, contact): (usize, &Constraint)| {
        let (mut block, mut memory) = ([Mat3::zeros()], motions.take().unwrap_or_default());
        let own = (&part_pairs[pair_of[k]], k);
        Arch::new().dispatch(FillBlocks { problem, columns, jacobian, own, other: own, motions: &mut memory, out: &mut block });
        motions.put(memory);
        Scale::new(&(block[0] + Mat3::from_diagonal(&contact.law.compliance())))
    };
    let scales = contacts.par_iter().enumerate().map(scale).collect();
    touched.iter_mut().for_each(|(_, requested)| requested.clear());
    scales
}

/// Puts the contacts in order, by island, then by pair of bodies, and finds their rows and the columns of the rest
/// compliance that these need.
fn gather_rows(problem: &Problem, contacts: &mut [Constraint], scratch: &mut Scratch) {
    let blocks = problem.blocks;
    let Scratch { parts, links, order, part_pairs, pair_of, jacobian, touched, .. } = scratch;
    // Blocks are in the order of their bodies.
    let n_blocks = blocks.len();
    find_places(problem, contacts, parts, links, order);
    sort_contacts(contacts, order);
    let (contacts, order, parts): (&[Constraint], _, _) = (contacts, &order[..], &*parts);
    // As `Compliance` groups them: what does not move is one.
    pair_of.clear();
    for range in chunks(order, |a, b| a.parts == b.parts) {
        let m = pair_of.last().map_or(0, |m| m + 1);
        pair_of.resize(range.end, m);
        if m == part_pairs.len() {
            part_pairs.push(PartPair::default());
        }
        let pair = &mut part_pairs[m];
        pair.parts = order[range.start].0.parts;
        pair.blocks = contacts[range.start].bodies.map(|body| problem.block_of(body));
        pair.contacts = range;
    }
    // Others keep their memory.
    let part_pairs = &mut part_pairs[..pair_of.last().map_or(0, |m| m + 1)];

    let Jacobian { all, spans } = jacobian;
    let mut n_entries = 0;
    spans.clear();
    spans.extend(contacts.iter().map(|contact| {
        n_entries += contact.row.entries.len();
        (n_entries - contact.row.entries.len(), [0; 2])
    }));
    all.resize(n_entries, JacobianBlock::default());
    let fill = |k: usize, jacobian: &mut [JacobianBlock]| put_jacobian(problem, (&part_pairs[pair_of[k]], parts), &contacts[k], jacobian);
    fill_jacobian(0, spans, all, &fill);
    touched.resize_with(n_blocks, Default::default);
    touched.iter_mut().for_each(|(nodes, _)| nodes.clear());
    assign_slots(part_pairs, jacobian, touched);
    for (block, (nodes, requested)) in blocks.iter().zip(touched.iter_mut()) {
        if let Some(rest) = &block.rest {
            rest.columns.request(rest.factor, nodes, problem.cancel, requested);
        }
    }
}

/// Says which places each pair of parts touches on its two sides, where each entry stands among them, and which places
/// of each block are touched.
fn assign_slots(part_pairs: &mut [PartPair], jacobian: &mut Jacobian, touched: &mut [(Vec<u32>, Requested)]) {
    for PartPair { contacts, blocks, places, .. } in part_pairs.iter_mut() {
        for (side, places) in places.iter_mut().enumerate() {
            places.clear();
            places.extend(contacts.clone().flat_map(|k| jacobian.of(k, side)).map(|entry| entry.place));
            places.sort_unstable();
            places.dedup();
            for k in contacts.clone() {
                for entry in jacobian.of_mut(k, side) {
                    entry.slot = places.partition_point(|place| *place < entry.place) as u32;
                }
            }
            if let Some(block) = blocks[side] {
                touched[block].0.extend_from_slice(places);
            }
        }
    }
}

/// By what each contact is sorted, into `order`, which says where it stood, too. `links`: memory.
fn find_places(
    problem: &Problem,
    contacts: &[Constraint],
    parts: &mut DisjointSets,
    links: &mut DisjointSets,
    order: &mut Vec<(Place, usize)>,
) {
    let place = |part: usize| problem.place(part);
    for sets in [&mut *parts, links] {
        sets.reset(problem.system.len());
    }
    order.clear();
    order.extend(contacts.iter().enumerate().map(|(k, contact)| {
        let sides = sides(problem, contact, |[a, b]| {
            parts.join(place(a), place(b));
        });
        let parts = sides.map(|part| part.map(|part| place(part) as u32));
        (Place { island: u32::MAX, bodies: contact.bodies, parts, id: contact.id() }, k)
    }));
    for (Place { bodies, parts: sides, .. }, _) in order.iter_mut() {
        *sides = sides.map(|part| part.map(|part| parts.root(part as usize) as u32));
        if bodies[0] == bodies[1] {
            sides.sort_unstable();
        }
        if let [Some(a), Some(b)] = *sides {
            links.join(a as usize, b as usize);
        }
    }
    for (Place { island, parts: sides, .. }, _) in order.iter_mut() {
        *island = sides.iter().flatten().next().map_or(u32::MAX, |part| links.root(*part as usize) as u32);
    }
}

/// The parts that the two sides of a contact touch ([`Problem::part`]): of a body that meets itself the first two, or
/// one for both sides. Others that a side touches, too, are told as joined with that.
pub(super) fn sides(problem: &Problem, contact: &Constraint, mut join: impl FnMut([usize; 2])) -> [Option<usize>; 2] {
    let blocks = contact.bodies.map(|body| Some(&problem.blocks[problem.block_of(body)?]));
    let is_own = contact.bodies[0] == contact.bodies[1];
    let mut sides = [None; 2];
    for unknown in contact.row.entries.iter().map(JacobianEntry::unknown) {
        let of_block = |block: &Option<&Block>| block.is_some_and(|block| block.segment.unknowns.contains(&unknown));
        let Some(mut side) = blocks.iter().position(of_block) else { continue };
        let part = problem.part(unknown);
        side += usize::from(is_own && sides[0].is_some_and(|first| first != part));
        match sides[side] {
            Some(first) if first != part => join([first, part]),
            _ => sides[side] = Some(part),
        }
    }
    if is_own {
        sides[1] = sides[1].or(sides[0]);
    }
    for (side, block) in sides.iter_mut().zip(blocks) {
        *side = side.or_else(|| Some(problem.part(block?.segment.unknowns.start)));
    }
    sides
}

/// Sorts by the places, each with where its contact stands.
fn sort_contacts(contacts: &mut [Constraint], order: &mut [(Place, usize)]) {
    order.sort_unstable();
    for k in 0..contacts.len() {
        // What stood here has gone on to where an earlier one came from.
        let mut from = order[k].1;
        while from < k {
            from = order[from].1;
        }
        order[k].1 = from;
        contacts.swap(k, from);
    }
}

/// Contacts whose entries a thread finds at once.
const CHUNK: usize = 64;

/// Hands the entries of each contact, from the first-th on, to `fill`, which says how many each side has; halves of
/// them to different threads.
fn fill_jacobian(
    first: usize,
    spans: &mut [(usize, [usize; 2])],
    jacobian: &mut [JacobianBlock],
    fill: &(impl Fn(usize, &mut [JacobianBlock]) -> [usize; 2] + Sync),
) {
    let Some((start, _)) = spans.first() else { return };
    let start = *start;
    if spans.len() > CHUNK {
        let half = spans.len() / 2;
        let (spans, spans_after) = spans.split_at_mut(half);
        let (jacobian, jacobian_after) = jacobian.split_at_mut(spans_after[0].0 - start);
        rayon::join(|| fill_jacobian(first, spans, jacobian, fill), || fill_jacobian(first + half, spans_after, jacobian_after, fill));
        return;
    }
    let n = jacobian.len();
    for k in 0..spans.len() {
        let end = spans.get(k + 1).map_or(n, |(next, _)| next - start);
        spans[k].1 = fill(first + k, &mut jacobian[spans[k].0 - start..end]);
    }
}

/// The blocks of W~ of one contact with some of a pair of parts.
struct FillBlocks<'a> {
    problem: &'a Problem<'a>,
    /// Of each block.
    columns: &'a [(Vec<u32>, Requested)],
    jacobian: &'a Jacobian,
    /// The contact and its pair of parts; the first of the others and theirs.
    own: (&'a PartPair, usize),
    other: (&'a PartPair, usize),
    /// Memory: what the contact moves at places of the others, as far as it was asked for.
    motions: &'a mut Vec<Option<Rows>>,
    out: &'a mut [Mat3],
}

impl WithSimd for FillBlocks<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { problem, columns, jacobian, own: (own, contact), other: (other, first), motions, out } = self;
        let mut sums = [[[0.0; 4]; 3]; Compliance::AT_ONCE];
        for (own_side, (part, block)) in own.parts.iter().zip(own.blocks).enumerate() {
            let Some(block) = block.filter(|_| part.is_some()) else { continue };
            let Some(side) = other.parts.iter().position(|other| other == part) else { continue };
            motions.clear();
            motions.resize(other.places[side].len(), None);
            let impulses = jacobian.of(contact, own_side);
            for (k, sum) in (first..first + out.len()).zip(&mut sums) {
                for entry in jacobian.of(k, side) {
                    // Those before the contact have places of their own, which are left out.
                    let motion = motions[entry.slot as usize]
                        .get_or_insert_with(|| motion::<S>(problem, &problem.blocks[block], &columns[block].1, impulses, entry.place));
                    add_product::<S>(&[0, 1, 2].map(|r| [motion[r][0], motion[r][1], motion[r][2]]), &entry.transposed, sum);
                }
            }
        }
        for (sum, out) in sums.iter().zip(out) {
            *out = Mat3::from_fn(|r, c| f64::from(sum[r][c]));
        }
    }
}

/// Ranges of neighbours that belong together.
fn chunks<'c>(order: &'c [(Place, usize)], same: impl Fn(&Place, &Place) -> bool + 'c) -> impl Iterator<Item = Range<usize>> + 'c {
    order.chunk_by(move |a, b| same(&a.0, &b.0)).scan(0, |end, chunk| {
        *end += chunk.len();
        Some(*end - chunk.len()..*end)
    })
}

/// Puts the entries of a contact on its two sides, and says how many each has.
fn put_jacobian(
    problem: &Problem,
    (pair, parts): (&PartPair, &DisjointSets),
    contact: &Constraint,
    jacobian: &mut [JacobianBlock],
) -> [usize; 2] {
    let blocks = problem.blocks;
    let mut counts = [0; 2];
    let mut jacobian = jacobian.iter_mut();
    for side in 0..2 {
        // A part that meets itself is on the first side.
        let Some(block) = pair.blocks[side].filter(|_| side == 0 || pair.parts[0] != pair.parts[1]) else { continue };
        let block = &blocks[block];
        // A body that meets itself has parts on both sides.
        let is_shared = pair.blocks[0] == pair.blocks[1] && pair.parts[0] != pair.parts[1];
        let of_side = |unknown| !is_shared || pair.parts[side] == Some(parts.find(problem.place(problem.part(unknown))) as u32);
        for ((unknown, matrix), out) in representatives(contact, block, of_side).zip(&mut jacobian) {
            let place = unknown - block.segment.unknowns.start;
            let mut matrix = contact.row.frame * matrix * problem.dt;
            if let Some(rest) = &block.rest {
                matrix *= rest.rotations.get(place);
            }
            let matrix = matrix.cast::<f32>();
            let transposed = [0, 1, 2].map(|r| [matrix[(0, r)], matrix[(1, r)], matrix[(2, r)], 0.0]);
            *out = JacobianBlock { place: place as u32, slot: 0, matrix, transposed };
            counts[side] += 1;
        }
    }
    counts
}

/// The entries of a row on a block, those of one side: unknowns and their parts of H. A spring on a region of a body that
/// is corrected with its matrix in f32, whose W~ need not be exact, has [`REPRESENTATIVES`] of them at most, each for its
/// neighbours too: columns of thousands of nodes would leave no memory for those of contacts.
pub(super) fn representatives<'a>(
    contact: &'a Constraint,
    block: &'a Block,
    of_side: impl Fn(usize) -> bool + 'a,
) -> impl Iterator<Item = (usize, Mat3)> + 'a {
    let of_block = move |entry: &&JacobianEntry| block.segment.unknowns.contains(&entry.unknown()) && of_side(entry.unknown());
    let n = if block.single.is_some() { contact.row.entries.iter().filter(&of_block).count() } else { 0 };
    lumps(contact.row.entries.iter().filter(of_block), n.div_ceil(REPRESENTATIVES).max(1))
}

/// Entries in lumps of `size` that follow each other, each on the first of its unknowns.
fn lumps<'a>(mut entries: impl Iterator<Item = &'a JacobianEntry> + 'a, size: usize) -> impl Iterator<Item = (usize, Mat3)> + 'a {
    std::iter::from_fn(move || {
        let (first, mut sum) = entries.next().map(|entry| (entry.unknown(), entry.matrix()))?;
        entries.by_ref().take(size - 1).for_each(|entry| sum += entry.matrix());
        Some((first, sum))
    })
}

/// What an impulse at `place` of the body moves at the row of a contact with these entries: `dt C H R A0^-1`, still to be
/// turned by the rotation of the place.
#[inline(always)]
fn motion<S: Simd>(problem: &Problem, block: &Block, columns: &Requested, entries: &[JacobianBlock], place: u32) -> Rows {
    let rows = |m: &Mat3| [0, 1, 2].map(|r| [m[(r, 0)] as f32, m[(r, 1)] as f32, m[(r, 2)] as f32, 0.0]);
    let mut motion = Rows::default();
    for entry in entries {
        let matrix = [0, 1, 2].map(|r| [entry.matrix[(r, 0)], entry.matrix[(r, 1)], entry.matrix[(r, 2)]]);
        // The block diagonal of A, for a body without a factor or where a column is missing.
        let inverse = || problem.inverse_diagonal(block.segment.unknowns.start + place as usize);
        let is_own = entry.place == place;
        let Some(rest) = &block.rest else {
            if is_own {
                add_product::<S>(&matrix, &rows(&inverse()), &mut motion);
            }
            continue;
        };
        if let Some(b) = columns.block(rest.columns, entry.place, place) {
            add_product::<S>(&matrix, &b.map(|row| [row[0], row[1], row[2], 0.0]), &mut motion);
        } else if is_own {
            let rotation = rest.rotations.get(place as usize);
            add_product::<S>(&matrix, &rows(&rotation.tr_mul(&(inverse() * rotation))), &mut motion);
        }
    }
    motion
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
