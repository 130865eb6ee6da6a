//! What makes contacts: the contract of a contact generator.
//!
//! ```text
//!   Surfaces, State --> SurfaceStep (where all vertices start)
//!                            |  velocity change of a trial
//!                            v
//!                           End (where they end) --> ContactGenerator::meet --> pairs that meet, with their rows
//! ```
//!
//! A generator knows one kind of geometry. Everything else is the same for all and stands in [`super::Detection`]: what
//! is remembered from step to step, the life of a row, when a row is renewed.

use super::{End, SurfaceStep};
use crate::body::BodyRef;
use crate::contact::{ContactPoint, Linearisation};
use crate::geometry::Candidates;
use crate::model::{PairId, PairKind};

use super::super::islands::Island;

/// Pairs that meet in a trial motion, with what their rows are made of.
pub type Met = Vec<(PairId, Linearisation)>;

/// Where a generator looks for pairs that meet.
pub struct Search<'s> {
    pub island: &'s Island,
    /// Of the pairs of features that may meet those which can in this trial.
    pub candidates: &'s Candidates,
    pub end: &'s End<'s>,
    /// Pairs that have a contact, sorted, with the place of the contact.
    pub known: &'s [(PairId, usize)],
    /// Features of a pair that are further beside each other than this [m] do not touch.
    pub near: f64,
    /// Rows have changed already: what only matters if nothing else does may be left out.
    pub is_busy: bool,
}

impl Search<'_> {
    pub fn is_known(&self, pair: &PairId) -> bool {
        self.known.binary_search_by_key(pair, |(known, _)| *known).is_ok()
    }
}

/// Candidates and rows for a trial motion, of one kind of geometry.
pub trait ContactGenerator: Sync {
    /// The pairs that it makes, and no other generator.
    fn kinds(&self) -> &'static [PairKind];

    /// False for a pair of another model.
    fn exists(&self, step: &SurfaceStep, pair: &PairId) -> bool;

    /// The bodies of the two features.
    fn bodies(&self, step: &SurfaceStep, pair: &PairId) -> [BodyRef; 2];

    /// Tells the bodies that may meet in this step, if both are movable: they belong to one island.
    fn link(&self, _step: &SurfaceStep, _candidates: &Candidates, _link: &mut dyn FnMut([BodyRef; 2])) {}

    /// A remembered pair, with the geometry of the start of the step; none if its features are not within `near` [m] of
    /// each other any more.
    fn at_start(&self, pair: &PairId, near: f64, end: &End) -> Option<Linearisation>;

    /// The pair of a contact at the end of a trial motion, on the side that the contact's `normal` tells; with how far
    /// the features are beside each other [m].
    fn at_end(&self, point: &ContactPoint, normal: &crate::math::Vec3, end: &End) -> (Linearisation, f64);

    /// Adds the pairs that meet in a trial motion.
    fn meet(&self, search: &Search, met: &mut Met);

    /// Continuous: pairs meet that cross anywhere on the way, and no step ends after such a way. Else those that
    /// overlap at the end.
    fn is_continuous(&self) -> bool;

    /// Whether `found` belongs to the contact at `point`, which is of the same pair: pairs may have several contacts.
    fn is_same_contact(&self, _point: &ContactPoint, _found: &Linearisation) -> bool {
        true
    }
}
