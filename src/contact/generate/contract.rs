//! What makes contacts: the contract of a contact generator.
//!
//! ```text
//!   Surfaces, State --> SurfaceStep (where all vertices start)
//!                            |  velocity change of a trial
//!                            v
//!                          Moved (where it brings things) --> ContactGenerator::meet --> pairs that meet, their rows
//! ```
//!
//! A generator knows one kind of geometry. Everything else is the same for all and stands in [`super::Detection`]: what
//! is remembered from step to step, the life of a row, when a row is renewed.

use super::{End, SurfaceStep};
use arrayvec::ArrayVec;

use crate::body::BodyRef;
use crate::cancel::CancelToken;
use crate::contact::islands::Trial;
use crate::contact::{ContactPoint, JacobianEntry, Linearisation};
use crate::geometry::{Candidates, Crossing};
use crate::math::Vec3;
use crate::model::{PairId, PairKind, WarmContact};

/// Pairs that meet in a trial motion, with what their rows are made of.
pub type Met = Vec<(PairId, Linearisation)>;

/// A trial motion, and where it brings the surfaces. The velocity changes tell of everything that has no vertices.
#[derive(Clone, Copy)]
pub struct Moved<'m> {
    pub trial: &'m Trial<'m>,
    pub end: &'m End<'m>,
}

impl<'m> Moved<'m> {
    pub fn step(&self) -> &'m SurfaceStep<'m> {
        self.end.step
    }
}

/// Where a generator looks for pairs that meet.
pub struct Search<'s> {
    pub moved: Moved<'s>,
    /// Of the pairs of features of surfaces that may meet those which can in this trial.
    pub candidates: &'s Candidates,
    /// Pairs that have a contact, sorted, with the place of the contact.
    pub known: &'s [(PairId, usize)],
    /// Features of a pair that are further beside each other than this [m] do not touch.
    pub near: f64,
    /// Rows have changed already: what only matters if nothing else does may be left out.
    pub is_busy: bool,
    /// Once it is cancelled a part of what meets is enough: the step ends.
    pub cancel: &'s CancelToken,
}

impl Search<'_> {
    pub fn is_known(&self, pair: &PairId) -> bool {
        self.known.binary_search_by_key(pair, |(known, _)| *known).is_ok()
    }
}

/// Two features in each other's way.
#[derive(Clone, Debug)]
pub struct Overlap {
    pub bodies: [BodyRef; 2],
    /// Of both features, without those of exact shapes.
    pub vertices: ArrayVec<u32, 4>,
    /// Part of the way that they can go.
    pub time: f64,
    /// Motion of the one that does not react, if there is one [m].
    pub immovable_motion: Vec3,
}

/// Candidates and rows for a trial motion, of one kind of geometry.
pub trait ContactGenerator: Send + Sync {
    /// The pairs that it makes, and no other generator.
    fn kinds(&self) -> &'static [PairKind];

    /// A step begins that goes from `times[0]` to `times[1]` [s].
    fn begin(&mut self, _step: &SurfaceStep, _times: [f64; 2]) {}

    /// False for a pair of another model.
    fn exists(&self, step: &SurfaceStep, pair: &PairId) -> bool;

    /// The bodies of the two features.
    fn bodies(&self, step: &SurfaceStep, pair: &PairId) -> [BodyRef; 2];

    /// Tells the bodies that may meet in this step, if both are movable: they belong to one island. `candidates` are
    /// those of surfaces.
    fn link(&self, _step: &SurfaceStep, _candidates: &Candidates, _link: &mut dyn FnMut([BodyRef; 2])) {}

    /// A remembered contact: where it sticks, with the geometry of the start of the step; where it slides, as the
    /// generator sees fit, with that of the trial motion. None if its features are not within `near` [m] of each other
    /// any more.
    fn at_start(&self, contact: &WarmContact, near: f64, moved: &Moved) -> Option<Linearisation>;

    /// The pair of a contact at the end of a trial motion, on the side that the contact's `normal` tells; with how far
    /// the features are beside each other [m].
    fn at_end(&self, point: &ContactPoint, normal: &Vec3, moved: &Moved) -> (Linearisation, f64);

    /// Adds the pairs that meet in a trial motion.
    fn meet(&self, search: &Search, met: &mut Met);

    /// The row of H of a pair, into `entries`. `Linearisation::sum` names vertices, unless a generator says otherwise
    /// here.
    fn put_entries(&self, found: &Linearisation, moved: &Moved, entries: &mut Vec<JacobianEntry>) {
        moved.end.put_entries(&found.sum, entries);
    }

    /// Continuous: pairs meet that cross anywhere on the way, and no step ends after such a way. Else those that
    /// overlap at the end.
    fn is_continuous(&self) -> bool {
        false
    }

    /// What crosses on the way to `end`, whether it has a contact or not; of a continuous generator. Only a part of it
    /// once `cancel` is cancelled.
    fn crossings(&self, _candidates: &Candidates, _end: &End, _cancel: &CancelToken) -> Vec<Crossing> {
        vec![]
    }

    /// What is in the way of a trial motion to `end`; only a part of it once `cancel` is cancelled.
    fn overlaps(&self, candidates: &Candidates, end: &End, cancel: &CancelToken) -> Vec<Overlap>;

    /// Whether `found` belongs to the contact at `point`, which is of the same pair: pairs may have several contacts.
    fn is_same_contact(&self, _point: &ContactPoint, _found: &Linearisation) -> bool {
        true
    }

    /// The vertices that share the force of a contact, where they are at the positions `x` [m], and how much of it each
    /// takes, for the pressure on surfaces; those of exact shapes take none.
    fn shares(&self, step: &SurfaceStep, contact: &WarmContact, x: &[Vec3]) -> Vec<(u32, f64)>;
}
