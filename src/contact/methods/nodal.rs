//! The contact problem of the block diagonal D of the matrix, in which a contact meets only those that share nodes with
//! it: groups of contacts that share none are problems of their own.

use std::ops::Range;

use rayon::prelude::*;

use crate::contact::{Constraint, Law, Problem, Scale};
use crate::disjoint_sets::DisjointSets;
use crate::math::{Mat3, Vec3};

/// Groups of contacts that share nodes, each with a copy of its rows, close together in memory.
#[derive(Debug)]
pub struct Nodal {
    groups: Vec<Group>,
}

#[derive(Debug)]
struct Group {
    rows: Vec<Row>,
    jacobian: Vec<JacobianBlock>,
    /// Unknowns of the contacts, and D^-1 of the forces on them on top of what the solve begins with.
    unknowns: Vec<u32>,
    velocities: Vec<Vec3>,
    forces: Vec<Vec3>,
}

#[derive(Debug)]
struct Row {
    contact: u32,
    jacobian: Range<usize>,
    law: Law,
    block: Mat3,
    scale: Scale,
    /// Motion without velocity changes [m], and what a force adds to it by itself [m/N].
    offset: Vec3,
    give: Vec3,
}

/// What a contact and an unknown do to each other.
#[derive(Debug)]
struct JacobianBlock {
    /// Place among the unknowns of the group.
    unknown: u32,
    /// dt C H [s]: motion of the contact from a velocity change.
    motion: Mat3,
    /// D^-1 (dt C H)^T: velocity change from a force.
    velocity: Mat3,
}

impl Nodal {
    /// `blocks`: of each contact what it moves by its own force [m/N].
    pub fn new(problem: &Problem, contacts: &[Constraint], laws: &[Law], blocks: &[Mat3]) -> Self {
        // Contacts are joined with the first one on each of their unknowns.
        let mut classes = DisjointSets::new(contacts.len());
        let mut first_on = vec![usize::MAX; problem.system.len()];
        for (k, contact) in contacts.iter().enumerate() {
            for entry in &contact.row.entries {
                match &mut first_on[problem.place(entry.unknown())] {
                    none if *none == usize::MAX => *none = k,
                    other => {
                        classes.join(k, *other);
                    }
                }
            }
        }
        let mut members: Vec<Vec<usize>> = vec![vec![]; contacts.len()];
        (0..contacts.len()).for_each(|k| members[classes.root(k)].push(k));
        members.retain(|members| !members.is_empty());
        let groups = members.par_iter().map(|members| Group::new(problem, contacts, laws, blocks, members)).collect();
        Self { groups }
    }

    #[cfg(test)]
    pub fn n_groups(&self) -> usize {
        self.groups.len()
    }

    /// Gauss-Seidel from the forces `p` [N] and the velocity changes `base` without contact forces, to and fro through
    /// each group until no force changes the motion of its contact by more than `tolerance` [m]. Returns the work of
    /// that [bytes].
    pub fn solve(&mut self, p: &mut [Vec3], base: &[Vec3], tolerance: f64, max_sweeps: usize) -> u64 {
        let work = self.groups.par_iter_mut().map(|group| group.solve(p, base, tolerance, max_sweeps) * group.sweep_work()).sum();
        for group in &self.groups {
            group.rows.iter().zip(&group.forces).for_each(|(row, force)| p[row.contact as usize] = *force);
        }
        work
    }

    /// Work of a sweep through all groups [bytes].
    pub fn sweep_work(&self) -> u64 {
        self.groups.iter().map(Group::sweep_work).sum()
    }
}

impl Group {
    /// `members`: its contacts, in order.
    fn new(problem: &Problem, contacts: &[Constraint], laws: &[Law], blocks: &[Mat3], members: &[usize]) -> Self {
        let mut unknowns: Vec<u32> =
            members.iter().flat_map(|k| &contacts[*k].row.entries).map(|entry| problem.place(entry.unknown()) as u32).collect();
        unknowns.sort_unstable();
        unknowns.dedup();
        let mut jacobian = vec![];
        let mut row = |k: &usize| {
            let contact = &contacts[*k];
            jacobian.extend(contact.row.entries.iter().map(|entry| {
                let motion = contact.row.frame * entry.matrix() * problem.dt;
                let unknown = unknowns.partition_point(|u| (*u as usize) < problem.place(entry.unknown())) as u32;
                JacobianBlock { unknown, motion, velocity: problem.system.a.inverse_diagonals[entry.unknown()] * motion.transpose() }
            }));
            Row {
                contact: *k as u32,
                jacobian: jacobian.len() - contact.row.entries.len()..jacobian.len(),
                law: laws[*k],
                block: blocks[*k],
                scale: Scale::new(&blocks[*k]),
                offset: contact.row.offset,
                give: contact.law.compliance(),
            }
        };
        let rows = members.iter().map(&mut row).collect();
        Self { rows, jacobian, unknowns, velocities: vec![], forces: vec![] }
    }

    /// What a sweep reads, and as much again for the laws.
    fn sweep_work(&self) -> u64 {
        2 * (self.rows.len() * size_of::<Row>() + self.jacobian.len() * size_of::<JacobianBlock>()) as u64
    }

    /// Returns how many sweeps it took.
    fn solve(&mut self, p: &[Vec3], base: &[Vec3], tolerance: f64, max_sweeps: usize) -> u64 {
        let Self { rows, jacobian, unknowns, velocities, forces } = self;
        forces.clear();
        forces.extend(rows.iter().map(|row| p[row.contact as usize]));
        velocities.clear();
        velocities.extend(unknowns.iter().map(|u| base[*u as usize]));
        let push = |jacobian: &[JacobianBlock], force: &Vec3, velocities: &mut [Vec3]| {
            jacobian.iter().for_each(|block| velocities[block.unknown as usize] += block.velocity * force);
        };
        for (row, force) in rows.iter().zip(&*forces) {
            push(&jacobian[row.jacobian.clone()], force, velocities);
        }
        for sweep in 0..max_sweeps {
            let mut largest = 0.0f64;
            for i in 0..rows.len() {
                let k = if sweep % 2 == 0 { i } else { rows.len() - 1 - i };
                let (row, force) = (&rows[k], &mut forces[k]);
                let jacobian = &jacobian[row.jacobian.clone()];
                let motion = row.offset + row.give.component_mul(force);
                let motion = jacobian.iter().fold(motion, |sum, block| sum + block.motion * velocities[block.unknown as usize]);
                let change = row.law.relax(force, &motion, &row.block, &row.scale) - *force;
                if change != Vec3::zeros() {
                    *force += change;
                    push(jacobian, &change, velocities);
                    largest = largest.max(change.x.abs() * row.scale.normal).max(change.y.hypot(change.z) * row.scale.tangential);
                }
            }
            if largest <= tolerance {
                return sweep as u64 + 1;
            }
        }
        max_sweeps as u64
    }
}
