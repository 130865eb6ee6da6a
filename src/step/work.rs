//! What a step works with, whatever backend solves it. Memory is kept from step to step.

use std::sync::Arc;

use rayon::prelude::*;

use super::StepReport;
use super::guard::Guard;
use crate::body::BodyRef;
use crate::contact::generate::{Detection, DetectionMemory};
use crate::contact::islands::{Island, Islands, Trial};
use crate::contact::{Constraint, PairForce};
use crate::geometry::Candidates;
use crate::math::Vec3;
use crate::memory::Pool;
use crate::model::Model;

/// Islands that a thread begins with, at least.
const ISLANDS: usize = 64;

#[derive(Default)]
pub struct Work {
    /// Velocity changes of all unknowns [m/s], [rad/s]: where the solve starts, and what it finds.
    pub dv: Vec<Vec3>,
    pub islands: Islands,
    /// One an island.
    pub island_works: Vec<IslandWork>,
    pub(super) detection_memory: DetectionMemory,
    pub(super) candidates: Candidates,
    /// Velocity changes as they were solved, of a step that was then limited; else empty.
    pub(super) unlimited: Vec<Vec3>,
    /// Bodies that were limited by what does not react.
    pub(super) held: Vec<BodyRef>,
    /// Of such a step: something went so far that neither these nor the contact forces say anything about the next one.
    pub(super) is_torn: bool,
    /// Contacts of all islands, as solved.
    pub(super) found: Vec<Constraint>,
    /// Memory of what the next step remembers.
    pub(super) order: Vec<u32>,
    /// Predicted motions of all vertices [m].
    pub(super) predicted: Vec<Vec3>,
    pub(super) guard: Guard,
    /// Time step, and whether the masses of all bodies dominate their stiffness in it.
    pub(super) mass_dominated: Option<(f64, bool)>,
}

/// The solve of one island: where it stands, and what it found.
#[derive(Default)]
pub struct IslandWork {
    /// Velocity changes of the unknowns of the island.
    pub dv: Vec<Vec3>,
    pub contacts: Vec<Constraint>,
    /// None before it is solved.
    pub solved: Option<StepReport>,
    /// The last trial motion made surfaces cross.
    pub crosses: bool,
    /// It was not solved to the end, as its vertices have left their boxes ([`StepInputs::boxes`](super::StepInputs)).
    pub is_to_be_searched: bool,
    /// Lists that reports hand out.
    pub pairs: Arc<Pool<Vec<PairForce>>>,
    /// Contacts of the last step that are solved here, as places in their list.
    warm: Vec<u32>,
}

impl Work {
    pub fn new(model: &Model) -> Self {
        Self { dv: vec![Vec3::zeros(); model.n_unknowns()], ..Self::default() }
    }

    /// Each island gets the contacts that it begins with: in the first search of a step the warm ones and the joints,
    /// later those that were found so far.
    pub fn assign_contacts(&mut self, detection: &Detection, is_first: bool) {
        let Self { dv, islands, island_works: works, found, .. } = self;
        works.resize_with(islands.list.len(), IslandWork::default);
        islands.list.par_iter().zip(&mut *works).with_min_len(ISLANDS).for_each(|(island, work)| {
            (work.solved, work.is_to_be_searched) = (None, false);
            work.contacts.clear();
            work.warm.clear();
            island.gather(dv, &mut work.dv);
        });
        if !is_first {
            for contact in found.drain(..) {
                if let Some(owner) = islands.owner(contact.bodies) {
                    works[owner].contacts.push(contact);
                }
            }
            return;
        }
        for (k, owner) in detection.owners(islands).enumerate() {
            owner.into_iter().for_each(|owner| works[owner].warm.push(k as u32));
        }
        let Islands { list, local, .. } = &*islands;
        list.par_iter().zip(works).enumerate().for_each(|(k, (island, IslandWork { dv, contacts, warm, .. }))| {
            let trial = Trial { island, local, dv };
            detection.remember(warm, &trial, contacts);
            detection.attach(islands, k, &trial, contacts);
        });
    }

    /// Hands each island to `solve`, on all threads; `memory` holds one item an island.
    pub fn for_each_island<M: Default + Send>(
        &mut self,
        memory: &mut Vec<M>,
        solve: impl Fn(&Island, &[u32], &mut IslandWork, &mut M) + Sync,
    ) {
        let Self { islands: Islands { list, local, .. }, island_works, .. } = self;
        if memory.len() < list.len() {
            memory.resize_with(list.len(), M::default);
        }
        list.par_iter().zip(island_works).zip(memory).for_each(|((island, work), memory)| solve(island, local, work, memory));
    }

    /// Brings velocity changes and contacts of all islands together, and sums up their reports.
    pub fn collect(&mut self) -> StepReport {
        let Self { dv, islands, island_works, found, .. } = self;
        found.clear();
        let mut together = StepReport { converged: true, ..StepReport::default() };
        for (island, work) in islands.list.iter().zip(island_works) {
            island.scatter(&work.dv, dv);
            found.append(&mut work.contacts);
            if let Some(mut part) = work.solved.take() {
                if work.is_to_be_searched {
                    // What is left is for the solve to come.
                    part.residual = 0.0;
                }
                together.join(part);
            }
        }
        together
    }

    /// An island was not solved to the end, as its vertices have left their boxes.
    pub fn is_to_be_searched(&self) -> bool {
        self.island_works.iter().any(|work| work.is_to_be_searched)
    }

    /// The last trial motion of an island made its surfaces cross, or ended inside an obstacle.
    pub fn crosses(&self) -> bool {
        self.island_works.iter().any(|work| work.crosses)
    }
}
