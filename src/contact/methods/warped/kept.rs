//! Blocks of W~ that are as they were: a renewal gives new rows to a few of hundreds of contacts, and only what these
//! have to do with is computed anew.

use std::ops::Range;

use super::{ContactIsland, Jacobian, JacobianBlock, Place};
use crate::contact::{Constraint, SourceId};
use crate::math::{Mat3, Vec3};

/// The last assembly, and which contacts have the rows that they had there.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// It was one of the same matrices and secants, with all the columns that it asked for: a block of two contacts
    /// that have kept their rows has the same bits.
    is_valid: bool,
    islands: Vec<ContactIsland>,
    jacobian: Jacobian,
    contacts: Vec<Known>,
    /// By name, then by number.
    by_id: Vec<(SourceId, u32)>,
    /// By contact of the present assembly: its number in the last one.
    numbers: Vec<Option<u32>>,
}

/// A contact of the last assembly.
#[derive(Clone, Copy, Debug)]
struct Known {
    parts: [Option<u32>; 2],
    compliance: Vec3,
    /// Its island.
    island: u32,
}

impl Kept {
    /// The next assembly is of other matrices.
    pub fn forget(&mut self) {
        self.is_valid = false;
    }

    /// Takes the islands and the rows of the last assembly, and gives memory for those of the next one.
    pub fn take(&mut self, islands: &mut Vec<ContactIsland>, jacobian: &mut Jacobian) {
        std::mem::swap(&mut self.islands, islands);
        std::mem::swap(&mut self.jacobian, jacobian);
    }

    /// Finds the contacts of the present assembly that have kept their rows.
    pub fn find(&mut self, contacts: &[Constraint], order: &[(Place, usize)], jacobian: &Jacobian) {
        let Self { is_valid, jacobian: before, contacts: known, by_id, numbers, .. } = self;
        numbers.clear();
        if !*is_valid {
            numbers.resize(contacts.len(), None);
            return;
        }
        numbers.extend(contacts.iter().zip(order).enumerate().map(|(k, (contact, (place, _)))| {
            let first = by_id.partition_point(|(id, _)| *id < place.id);
            let mut named = by_id[first..].iter().take_while(|(id, _)| *id == place.id).map(|(_, number)| *number);
            named.find(|number| {
                let old = &known[*number as usize];
                let has_rows = |side| same(jacobian.of(k, side), before.of(*number as usize, side));
                old.parts == place.parts && old.compliance == contact.law.compliance() && (0..2).all(has_rows)
            })
        }));
    }

    /// How many contacts of the present assembly have kept their rows.
    #[cfg(test)]
    pub fn n_kept(&self) -> usize {
        self.numbers.iter().flatten().count()
    }

    /// The blocks of one contact with others, those that are as they were.
    pub fn blocks_of(&self, contact: usize) -> impl FnMut(usize) -> Option<Mat3> + '_ {
        let own = self.numbers[contact].map(|number| (number, &self.islands[self.contacts[number as usize].island as usize]));
        let local = |number: u32, island: &ContactIsland| (number as usize).checked_sub(island.contacts.start);
        let mut blocks = own.and_then(|(number, island)| Some(island.compliance.blocks_of(local(number, island)?)));
        move |other| {
            let (blocks, (_, island)) = (blocks.as_mut()?, own?);
            let other = self.numbers[other]?;
            island.contacts.contains(&(other as usize)).then(|| blocks(local(other, island)?)).flatten()
        }
    }

    /// Keeps what the present assembly was of; `is_complete`: nothing that it asked for was missing.
    pub fn remember(&mut self, contacts: &[Constraint], order: &[(Place, usize)], islands: &[ContactIsland], is_complete: bool) {
        let Self { is_valid, contacts: known, by_id, .. } = self;
        *is_valid = is_complete;
        known.clear();
        for (island, ContactIsland { contacts: range, .. }) in (0..).zip(islands) {
            known.extend(range.clone().map(|k| {
                let (Place { parts, .. }, compliance) = (&order[k].0, contacts[k].law.compliance());
                Known { parts: *parts, compliance, island }
            }));
        }
        by_id.clear();
        by_id.extend(order.iter().zip(0..).map(|((place, _), number)| (place.id, number)));
        by_id.sort_unstable();
    }
}

/// Whether two sides of rows are the same; where an entry stands in the memory of its pair does not count.
fn same(a: &[JacobianBlock], b: &[JacobianBlock]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.place == b.place && a.matrix == b.matrix)
}

/// Fills the blocks of a contact with `columns`: hands out those that are `known`, and runs of the others to `fill`.
pub(super) fn fill_unknown(
    columns: Range<usize>,
    out: &mut [Mat3],
    mut known: impl FnMut(usize) -> Option<Mat3>,
    mut fill: impl FnMut(Range<usize>, &mut [Mat3]),
) {
    let mut unknown = columns.start..columns.start;
    for column in columns.clone() {
        if let Some(block) = known(column) {
            out[column - columns.start] = block;
            if !unknown.is_empty() {
                fill(unknown.clone(), &mut out[unknown.start - columns.start..unknown.end - columns.start]);
            }
            unknown.start = column + 1;
        }
        unknown.end = column + 1;
    }
    if !unknown.is_empty() {
        fill(unknown.clone(), &mut out[unknown.start - columns.start..]);
    }
}
