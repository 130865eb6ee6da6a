//! The contact problem of the block diagonal D of the matrix, in which a contact meets only those that share nodes with
//! it: groups of contacts that share none are problems of their own.

use std::ops::Range;

use rayon::prelude::*;

use crate::cancel::CancelToken;
use crate::contact::{Constraint, JacobianEntry, Law, Problem, Scale};
use crate::disjoint_sets::DisjointSets;
use crate::math::{Mat3, Vec3};

/// Work of a sweep for a row, its law included, and for each of its entries [bytes]: what they read is in the cache, and
/// the time that they take is that of about so many bytes from there (estimated).
const ROW_WORK: usize = 1500;
const ENTRY_WORK: usize = 250;

/// Groups of contacts that share nodes, each with a copy of its rows, close together in memory, which is kept.
#[derive(Debug, Default)]
pub struct Nodal {
    /// Those in use come first.
    groups: Vec<Group>,
    n_groups: usize,
    /// Sweeps end once it is cancelled: nobody takes their forces then.
    cancel: CancelToken,
    classes: DisjointSets,
    /// The first contact on each unknown.
    first_on: Vec<u32>,
    /// The contacts, by class, and the parts of that list.
    order: Vec<(u32, u32)>,
    members: Vec<Range<usize>>,
}

#[derive(Debug, Default)]
struct Group {
    rows: Vec<Row>,
    /// Entries of all rows; their unknowns are places among those of the group.
    entries: Vec<JacobianEntry>,
    /// Places of the unknowns in vectors of the system, and their blocks of D^-1.
    unknowns: Vec<u32>,
    inverses: Vec<Mat3>,
    velocities: Vec<Vec3>,
    forces: Vec<Vec3>,
    /// What the forces do to the unknowns [kg m/s].
    impulses: Vec<Vec3>,
}

#[derive(Debug)]
struct Row {
    contact: u32,
    entries: Range<usize>,
    law: Law,
    /// dt C [s].
    frame: Mat3,
    block: Mat3,
    scale: Scale,
    /// Motion without velocity changes [m], and what a force adds to it by itself [m/N].
    offset: Vec3,
    give: Vec3,
}

impl Nodal {
    #[cfg(test)]
    pub fn new(problem: &Problem, contacts: &[Constraint], laws: &[Law], blocks: &[Mat3]) -> Self {
        let mut nodal = Self::default();
        nodal.take(problem, contacts, laws, blocks);
        nodal
    }

    /// Takes rows; `blocks`: of each contact what it moves by its own force [m/N].
    pub fn take(&mut self, problem: &Problem, contacts: &[Constraint], laws: &[Law], blocks: &[Mat3]) {
        let Self { groups, n_groups, cancel, classes, first_on, order, members } = self;
        *cancel = problem.cancel.clone();
        // Contacts are joined with the first one on each of their unknowns.
        classes.reset(contacts.len());
        first_on.clear();
        first_on.resize(problem.system.len(), u32::MAX);
        for (k, contact) in contacts.iter().enumerate() {
            for entry in &contact.row.entries {
                match &mut first_on[problem.place(entry.unknown())] {
                    none if *none == u32::MAX => *none = k as u32,
                    other => {
                        classes.join(k, *other as usize);
                    }
                }
            }
        }
        order.clear();
        order.extend((0..contacts.len()).map(|k| (classes.root(k) as u32, k as u32)));
        order.sort_unstable();
        members.clear();
        members.extend(order.chunk_by(|a, b| a.0 == b.0).scan(0, |end, chunk| {
            *end += chunk.len();
            Some(*end - chunk.len()..*end)
        }));
        *n_groups = members.len();
        groups.resize_with(groups.len().max(members.len()), Group::default);
        let order = &*order;
        groups
            .par_iter_mut()
            .zip(members)
            .for_each(|(group, members)| group.take(problem, contacts, laws, blocks, &order[members.clone()]));
    }

    #[cfg(test)]
    pub fn n_groups(&self) -> usize {
        self.n_groups
    }

    /// Gauss-Seidel from the forces `p` [N] and the velocity changes `base` without contact forces, to and fro through
    /// each group until no force changes the motion of its contact by more than `tolerance` [m]. Returns the work of
    /// that [bytes].
    pub fn solve(&mut self, p: &mut [Vec3], base: &[Vec3], tolerance: f64, max_sweeps: usize) -> u64 {
        let Self { groups, n_groups, cancel, .. } = self;
        let work =
            groups[..*n_groups].par_iter_mut().map(|group| group.solve(p, base, tolerance, max_sweeps, cancel) * group.sweep_work()).sum();
        for group in &groups[..*n_groups] {
            group.rows.iter().zip(&group.forces).for_each(|(row, force)| p[row.contact as usize] = *force);
        }
        work
    }

    /// Puts J^T p of the last solve [kg m/s] into the unknowns that contacts touch.
    pub fn put_impulses(&self, impulses: &mut [Vec3]) {
        for group in &self.groups[..self.n_groups] {
            group.unknowns.iter().zip(&group.impulses).for_each(|(unknown, impulse)| impulses[*unknown as usize] = *impulse);
        }
    }

    /// Work of a sweep through all groups [bytes].
    pub fn sweep_work(&self) -> u64 {
        self.groups[..self.n_groups].iter().map(Group::sweep_work).sum()
    }
}

impl Group {
    /// Takes the rows of `members`, contacts in order.
    fn take(&mut self, problem: &Problem, contacts: &[Constraint], laws: &[Law], blocks: &[Mat3], members: &[(u32, u32)]) {
        let Self { rows, entries, unknowns, inverses, .. } = self;
        let members = || members.iter().map(|(_, k)| *k as usize);
        unknowns.clear();
        unknowns.extend(members().flat_map(|k| &contacts[k].row.entries).map(|entry| problem.place(entry.unknown()) as u32));
        unknowns.sort_unstable();
        unknowns.dedup();
        inverses.clear();
        inverses.resize(unknowns.len(), Mat3::zeros());
        entries.clear();
        rows.clear();
        rows.extend(members().map(|k| {
            let contact = &contacts[k];
            entries.extend(contact.row.entries.iter().map(|entry| {
                let own = unknowns.partition_point(|u| (*u as usize) < problem.place(entry.unknown()));
                inverses[own] = problem.system.a.inverse_diagonals[entry.unknown()];
                entry.of(own as u32)
            }));
            Row {
                contact: k as u32,
                entries: entries.len() - contact.row.entries.len()..entries.len(),
                law: laws[k],
                frame: contact.row.frame * problem.dt,
                block: blocks[k],
                scale: Scale::new(&blocks[k]),
                offset: contact.row.offset,
                give: contact.law.compliance(),
            }
        }));
    }

    fn sweep_work(&self) -> u64 {
        (self.rows.len() * ROW_WORK + self.entries.len() * ENTRY_WORK) as u64
    }

    /// Returns how many sweeps it took.
    fn solve(&mut self, p: &[Vec3], base: &[Vec3], tolerance: f64, max_sweeps: usize, cancel: &CancelToken) -> u64 {
        self.forces.clear();
        self.forces.extend(self.rows.iter().map(|row| p[row.contact as usize]));
        self.put_impulses();
        let Self { rows, entries, unknowns, inverses, velocities, forces, impulses } = self;
        velocities.clear();
        let moved = unknowns.iter().zip(&*inverses).zip(&*impulses);
        velocities.extend(moved.map(|((unknown, inverse), impulse)| base[*unknown as usize] + inverse * impulse));
        let mut sweeps = 0;
        while sweeps < max_sweeps && !cancel.has_been_cancelled() {
            let mut largest = 0.0f64;
            for i in 0..rows.len() {
                let k = if sweeps % 2 == 0 { i } else { rows.len() - 1 - i };
                let (row, force) = (&rows[k], &mut forces[k]);
                let entries = &entries[row.entries.clone()];
                let velocity: Vec3 = entries.iter().map(|entry| entry.apply(&velocities[entry.unknown()])).sum();
                let motion = row.offset + row.give.component_mul(force) + row.frame * velocity;
                let change = row.law.relax(force, &motion, &row.block, &row.scale) - *force;
                if change != Vec3::zeros() {
                    *force += change;
                    let impulse = row.frame.tr_mul(&change);
                    for entry in entries {
                        velocities[entry.unknown()] += inverses[entry.unknown()] * entry.transposed(&impulse);
                    }
                    largest = largest.max(change.x.abs() * row.scale.normal).max(change.y.hypot(change.z) * row.scale.tangential);
                }
            }
            sweeps += 1;
            if largest <= tolerance {
                break;
            }
        }
        self.put_impulses();
        sweeps as u64
    }

    /// J^T of its forces.
    fn put_impulses(&mut self) {
        let Self { rows, entries, unknowns, forces, impulses, .. } = self;
        impulses.clear();
        impulses.resize(unknowns.len(), Vec3::zeros());
        for (row, force) in rows.iter().zip(&*forces) {
            let impulse = row.frame.tr_mul(force);
            for entry in &entries[row.entries.clone()] {
                impulses[entry.unknown()] += entry.transposed(&impulse);
            }
        }
    }
}
