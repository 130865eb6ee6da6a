//! Contacts of a step: found, linearised, and summed up.
//!
//! Surfaces start a step apart from each other, by induction. Their vertices go on straight lines; whatever would cross
//! on the way becomes a row, and rows follow the moved geometry, until nothing crosses any more.

mod certificate;
pub mod contract;
mod joints;
mod obstacles;
pub mod row_life;
mod surface_pairs;
mod surface_step;
mod surfaces;
mod tangled;
mod touching;

pub use certificate::InjectivityCertificate;
pub use surface_step::{End, SurfaceMemory, SurfaceStep};
pub use surfaces::Surfaces;
pub use tangled::untangle;
pub use touching::set_apart;

use rayon::prelude::*;

pub use self::contract::Overlap;
use self::contract::{ContactGenerator, Met, Moved, Search};
use self::obstacles::Obstacles;
use self::row_life::{Aim, Present, RowLife};
use self::surface_pairs::SurfacePairs;
use super::islands::{Island, Islands, Trial};
use crate::body::BodyRef;
use crate::budget::{CONTACT_WORK, CROSSING_WORK, VERTEX_WORK};
use crate::cancel::CancelToken;
use crate::contact::{Constraint, ContactPoint, JacobianEntry, Linearisation, Source, Status};
use crate::geometry::{Candidates, Crossing};
use crate::memory::Pool;
use crate::model::{GapPolicy, Model, PairId, PairKind, Params, State, StepSpan};

/// The safety distance is the middle of the band (0, eps2) in which gaps of active contacts end.
pub const SAFETY: f64 = 0.5;
/// At most so many tolerances of what a sticking contact has slipped are taken back in a step.
const MAX_SLIPPED: f64 = 4.0;

/// What makes contacts.
#[derive(Debug, Default)]
pub struct Generators {
    obstacles: Obstacles,
    surface_pairs: SurfacePairs,
}

impl Generators {
    /// All, in the order in which they look.
    fn all(&self) -> [&dyn ContactGenerator; 2] {
        [&self.obstacles, &self.surface_pairs]
    }

    fn all_mut(&mut self) -> [&mut dyn ContactGenerator; 2] {
        [&mut self.obstacles, &mut self.surface_pairs]
    }

    /// The one that makes pairs of this kind.
    pub fn of(&self, kind: PairKind) -> &dyn ContactGenerator {
        let found = self.all().into_iter().find(|generator| generator.kinds().contains(&kind));
        found.expect("each kind of pair has its generator (tested)")
    }
}

/// Contacts of one step: those that it begins with, those that trial motions find, and how their rows follow.
pub struct Detection<'a> {
    pub model: &'a Model,
    pub step: SurfaceStep<'a>,
    dt: f64,
    tolerance: f64,
    generators: Generators,
    idle_renewals: Pool<Renewing>,
    idle_entries: Pool<Vec<JacobianEntry>>,
    /// Remembered contacts aim at the gap that they have, not at the middle of the band.
    keeps_gaps: bool,
    /// Of the step: once it is cancelled, renewals, crossings and overlaps are not complete.
    cancel: CancelToken,
}

/// Memory that goes from step to step.
#[derive(Debug, Default)]
pub struct DetectionMemory {
    surfaces: SurfaceMemory,
    generators: Generators,
    idle_renewals: Pool<Renewing>,
    /// Of contacts that are no more.
    idle_entries: Pool<Vec<JacobianEntry>>,
}

impl DetectionMemory {
    /// Takes that of contacts which are no longer needed.
    pub fn keep(&self, contacts: &mut Vec<Constraint>) {
        contacts.drain(..).for_each(|contact| self.idle_entries.put(contact.row.entries));
    }
}

/// Memory of one renewal of the rows.
#[derive(Debug, Default)]
struct Renewing {
    /// Pairs that have a contact, with its place.
    known: Vec<(PairId, usize)>,
    /// Of each contact where its pair is at the end, and how far its features are beside each other [m]; none of a
    /// joint.
    ends: Vec<Option<(Linearisation, f64)>>,
    /// Pairs that overlap at the end, whose rows were renewed for that and go to and fro, sorted.
    settling: Vec<PairId>,
    met: Met,
}

/// At least this many contacts are allowed for each body; three times its surface vertices if that is more.
const MIN_CONTACTS_LIMIT: usize = 100;

/// Contacts that one thread looks at, at least.
const CONTACTS: usize = 128;

/// What a renewal of the rows from the moved geometry came to.
#[derive(Clone, Copy, Debug)]
pub struct Renewal {
    /// How far gaps are from what their rows predicted [m]; 0 if no row has changed.
    pub gap_error: f64,
    /// Surfaces would cross, or what has a row ends inside an obstacle all the same: forces are only so exact.
    pub crosses: bool,
}

impl<'a> Detection<'a> {
    pub fn new(
        model: &'a Model,
        surfaces: &'a Surfaces,
        state: &'a State,
        params: &Params,
        span: StepSpan,
        cancel: &CancelToken,
        memory: DetectionMemory,
    ) -> Self {
        let DetectionMemory { surfaces: surface_memory, mut generators, idle_renewals, idle_entries } = memory;
        let times = [state.script_time(), state.script_time() + span.script];
        let step = SurfaceStep::new(model, surfaces, state, span, surface_memory);
        generators.all_mut().into_iter().for_each(|generator| generator.begin(&step, times));
        Self {
            model,
            step,
            dt: params.time_step,
            tolerance: params.contact_tolerance,
            generators,
            idle_renewals,
            idle_entries,
            keeps_gaps: params.gap_policy == GapPolicy::Keep,
            cancel: cancel.clone(),
        }
    }

    /// Whether a given motion goes on in this step.
    pub fn script_moves(&self) -> bool {
        let (model, from, to) = (self.model, self.step.state.script_time(), self.step.script_end());
        let obstacles = model.obstacles.iter().any(|obstacle| obstacle.pose_at(from) != obstacle.pose_at(to));
        obstacles || model.rigid_bodies.iter().any(|body| !body.is_free() && body.pose_at(from) != body.pose_at(to))
    }

    /// What the next step may use again.
    pub fn into_memory(self) -> DetectionMemory {
        let Self { step, generators, idle_renewals, idle_entries, .. } = self;
        DetectionMemory { surfaces: step.into_memory(), generators, idle_renewals, idle_entries }
    }

    /// Tells the bodies that may meet in this step: those of candidates, and those of the contacts of the last step
    /// that are still there, which are tried again though their features may part.
    pub fn link_bodies(&self, candidates: &Candidates, link: &mut dyn FnMut([BodyRef; 2])) {
        self.generators.all().iter().for_each(|generator| generator.link(&self.step, candidates, link));
        self.step.state.contacts.entries.iter().filter(|e| self.exists(&e.pair)).for_each(|e| link(self.bodies(&e.pair)));
    }

    /// The island in which each contact of the last step is solved, if it is still there.
    pub fn owners<'s>(&'s self, islands: &'s Islands) -> impl Iterator<Item = Option<usize>> + 's {
        let entries = &self.step.state.contacts.entries;
        entries.iter().map(|e| self.exists(&e.pair).then(|| islands.owner(self.bodies(&e.pair))).flatten())
    }

    /// Adds the contacts `warm` of the last step (places in its list), with the force that they carried; the trial is
    /// where the solve starts.
    pub fn remember(&self, warm: &[u32], trial: &Trial, contacts: &mut Vec<Constraint>) {
        if warm.is_empty() {
            return;
        }
        let moved = Moved { trial, end: &self.step.end_positions(trial.island, trial.dv) };
        let entries = warm.iter().map(|k| &self.step.state.contacts.entries[*k as usize]);
        contacts.extend(entries.filter_map(|entry| {
            let generator = self.generators.of(entry.pair.kind);
            let found = generator.at_start(entry, self.near(), &moved)?;
            let mut point = self.new_point(entry.pair);
            if self.keeps_gaps {
                point.stick_anchor_offset = entry.slip * (MAX_SLIPPED * self.tolerance / entry.slip.norm()).min(1.0);
                // What rests stays where it is in the band: nothing is pushed back and forth.
                let gap_at_start = found.gap - found.slip.dot(&found.normal);
                point.contact_offset = gap_at_start.clamp(SAFETY * self.tolerance, 1.5 * SAFETY * self.tolerance);
            }
            let mut contact = self.new_contact(point);
            generator.put_entries(&found, &moved, &mut contact.row.entries);
            contact.linearise(&found, |unknown| trial.at(unknown), self.dt);
            contact.warm_start(entry);
            Some(contact)
        }));
    }

    /// Follows springs, adds contacts for features of the island that would cross something with the velocity change
    /// `dv`, and renews the rows of active contacts whose true gap has left (0, eps2).
    pub fn renew_rows(&self, trial: &Trial, contacts: &mut Vec<Constraint>) -> Renewal {
        self.renew_rows_among(&trial.island.candidates, trial, &self.step.end_positions(trial.island, trial.dv), contacts)
    }

    /// The same where `end` is known, and that of the candidates of the island only `candidates` can cross on the way
    /// there.
    pub fn renew_rows_among(&self, candidates: &Candidates, trial: &Trial, end: &End, contacts: &mut Vec<Constraint>) -> Renewal {
        let moved = Moved { trial, end };
        let mut scratch = self.idle_renewals.take().unwrap_or_default();
        let Renewing { known, ends, settling, met } = &mut scratch;
        settling.clear();
        let mut gap_error = self.renew_stale(contacts, ends, settling, &moved);
        settling.sort_unstable();
        known.clear();
        known.extend(contacts.iter().enumerate().filter_map(|(k, c)| Some((c.point()?.pair, k))));
        known.sort_unstable();
        let mut crosses = false;
        for generator in self.generators.all() {
            let (before, is_busy) = (met.len(), gap_error > 0.0 || !met.is_empty());
            generator.meet(&Search { moved, candidates, known, near: self.near(), is_busy, cancel: &self.cancel }, met);
            crosses |= met.len() > before;
        }
        met.sort_by_key(|(pair, _)| *pair);
        for (pair, found) in met.drain(..) {
            let is_settling = settling.binary_search(&pair).is_ok();
            gap_error = gap_error.max(self.add_met(pair, found, is_settling, known, contacts, &moved));
        }
        self.idle_renewals.put(scratch);
        Renewal { gap_error, crosses }
    }

    /// What crosses on the way to `end`, whether its pairs have rows or not.
    pub fn crossings(&self, candidates: &Candidates, end: &End) -> Vec<Crossing> {
        self.generators.all().iter().flat_map(|generator| generator.crossings(candidates, end, &self.cancel)).collect()
    }

    /// What crosses on the way to `end`, and what goes into an obstacle and is inside of it there.
    pub fn overlaps(&self, candidates: &Candidates, end: &End) -> Vec<Overlap> {
        self.generators.all().iter().flat_map(|generator| generator.overlaps(candidates, end, &self.cancel)).collect()
    }

    /// With more rows than this the solve of an island is given up: bodies have gone through each other, and smaller
    /// steps will find fewer.
    pub fn max_rows(&self, island: &Island, contacts: &[Constraint]) -> usize {
        let of_body = |body: BodyRef| MIN_CONTACTS_LIMIT.max(3 * self.step.surfaces.features(body).vertices.len());
        let joints = contacts.iter().filter(|c| c.law.is_bilateral()).count();
        joints + island.segments.iter().map(|segment| of_body(segment.body)).sum::<usize>()
    }

    /// Work of a look at what overlaps [bytes].
    pub fn overlaps_work(&self, candidates: &Candidates) -> u64 {
        candidates.len() as u64 * CROSSING_WORK + (self.step.start.len() * self.model.obstacles.len()) as u64 * VERTEX_WORK
    }

    /// Work of a renewal of the rows of an island [bytes].
    pub fn renewal_work(&self, island: &Island, contacts: &[Constraint]) -> u64 {
        let n_vertices: usize = island.segments.iter().map(|segment| self.step.surfaces.features(segment.body).vertices.len()).sum();
        island.candidates.len() as u64 * CROSSING_WORK
            + contacts.len() as u64 * CONTACT_WORK
            + (n_vertices * self.model.obstacles.len()) as u64 * VERTEX_WORK
    }

    /// The gap that the row of the contact predicts [m].
    fn predicted_gap(&self, contact: &Constraint, moved: &Moved) -> f64 {
        let contact_offset = contact.point().map_or(0.0, |point| point.contact_offset);
        contact.row.motion(|unknown| moved.trial.at(unknown), self.dt).x + contact_offset
    }

    /// Features of a pair that are further beside each other [m] do not touch.
    fn near(&self) -> f64 {
        row_life::MAX_ASIDE * self.tolerance
    }

    /// False for a pair of another model.
    fn exists(&self, pair: &PairId) -> bool {
        self.generators.of(pair.kind).exists(&self.step, pair)
    }

    fn bodies(&self, pair: &PairId) -> [BodyRef; 2] {
        self.generators.of(pair.kind).bodies(&self.step, pair)
    }

    fn new_point(&self, pair: PairId) -> ContactPoint {
        ContactPoint { contact_offset: SAFETY * self.tolerance, ..ContactPoint::new(pair) }
    }

    /// A contact at the point, without a row yet.
    fn new_contact(&self, point: ContactPoint) -> Constraint {
        let bodies = self.bodies(&point.pair);
        let friction = self.model.friction_between(bodies[0], bodies[1]);
        let mut contact = Constraint::contact(point, bodies, friction);
        contact.row.entries = self.idle_entries.take().unwrap_or_default();
        contact
    }

    /// Renews the rows whose gap at the end is another than they predicted, and drops those whose features have slid
    /// off each other; how far gaps are from what the rows predicted [m], 0 if no row has changed. `ends`: memory;
    /// `settling`: takes the pairs that overlap and go to and fro.
    fn renew_stale(
        &self,
        contacts: &mut Vec<Constraint>,
        ends: &mut Vec<Option<(Linearisation, f64)>>,
        settling: &mut Vec<PairId>,
        moved: &Moved,
    ) -> f64 {
        let end_of = |contact: &Constraint| {
            let point = contact.point()?;
            Some(self.generators.of(point.pair.kind).at_end(point, &contact.row.normal(), moved))
        };
        contacts.par_iter().with_min_len(CONTACTS).map(end_of).collect_into_vec(ends);
        let mut ends = ends.drain(..);
        let mut gap_error = 0.0f64;
        contacts.retain_mut(|contact| {
            let (found, aside, life) = match (&contact.source, ends.next().flatten()) {
                (Source::Contact(point), Some((found, aside))) => (found, aside, point.life),
                (Source::Joint { attachment }, _) => {
                    let attachment = *attachment;
                    gap_error = gap_error.max(self.gap_error(self.follow(contact, attachment, moved), 0.0));
                    return true;
                }
                (Source::Contact(_), None) => unreachable!("each contact has an end"),
            };
            if life.is_dropped(aside, self.tolerance) {
                gap_error = gap_error.max(self.gap_error(contact.is_active(), found.gap));
                self.idle_entries.put(std::mem::take(&mut contact.row.entries));
                return false;
            }
            let is_stale = if found.gap <= 0.0 {
                // Features that are apart along the surface more than they overlap do not touch; if they cross, they
                // are found to do so.
                aside <= -found.gap
            } else {
                // Where a rigid body turns otherwise than it did, all its rows foresee wrong gaps, by as much as it has
                // turned squared: were those renewed alone that carry, one after the other would come to carry.
                let matters = contact.is_active() || contact.row.is_curved();
                matters && life.wants_renewal(found.gap, || self.predicted_gap(contact, moved), self.tolerance)
            };
            if is_stale {
                let (gap, counts) = (found.gap, found.gap <= 0.0 || contact.is_active());
                let changed = self.renew(contact, found, moved);
                gap_error = gap_error.max(self.gap_error(changed && counts, gap));
                settling.extend(contact.point().filter(|point| gap <= 0.0 && point.life.goes_to_and_fro()).map(|point| point.pair));
            }
            true
        });
        gap_error
    }

    /// How far a gap [m] is from what its row predicted, where the row has changed: rows may change where gaps hardly
    /// do.
    fn gap_error(&self, changed: bool, gap: f64) -> f64 {
        if changed { gap.abs().max(self.tolerance) } else { 0.0 }
    }

    /// Gives a pair that meets a row, a new one or that which let it pass; the gap error [m]. `is_settling`: it overlaps
    /// at the end, and its row, which goes to and fro, was renewed for that; `known`: pairs with a contact, sorted, with
    /// the place of the contact.
    fn add_met(
        &self,
        pair: PairId,
        mut found: Linearisation,
        is_settling: bool,
        known: &[(PairId, usize)],
        contacts: &mut Vec<Constraint>,
        moved: &Moved,
    ) -> f64 {
        let generator = self.generators.of(pair.kind);
        let same = known.partition_point(|(known, _)| *known < pair)..known.partition_point(|(known, _)| *known <= pair);
        let is_same = |place: &usize| contacts[*place].point().is_some_and(|point| generator.is_same_contact(point, &found));
        let Some(place) = known[same].iter().map(|(_, place)| *place).find(is_same) else {
            let gap = found.gap;
            let mut contact = self.new_contact(ContactPoint { life: RowLife::met(), ..self.new_point(pair) });
            self.take(&mut contact, found, moved);
            contact.force.status = Status::Sliding;
            contacts.push(contact);
            return self.gap_error(true, gap);
        };
        let (contact, gap) = (&mut contacts[place], found.gap);
        let (was_active, normal) = (contact.is_active(), contact.row.normal());
        let predicted_gap = self.predicted_gap(contact, moved);
        let Some(point) = contact.point_mut() else { return 0.0 };
        if !generator.is_continuous() && generator.at_end(point, &normal, moved).0.gap < 0.0 {
            // Its row was renewed with the others.
            return 0.0;
        }
        if generator.is_continuous() && is_settling {
            // So was this one. Another row of the same end would be without what the first was given beyond: the normal
            // damped, and more asked of a gap that had opened less than predicted.
            point.life.cross();
            if !was_active {
                contact.force.status = Status::Sliding;
            }
            return self.gap_error(!was_active, gap);
        }
        let present = Present { normal, predicted_gap, contact_offset: point.contact_offset, tolerance: self.tolerance };
        if generator.is_continuous() {
            // Its row let it pass: the one of the crossing does not.
            found.gap = point.life.on_crossing(&present, gap);
        } else {
            // At the rim of an obstacle points that are nearly the same meet planes that are not.
            let aim = point.life.on_renewal(&present, Aim { normal: found.normal, gap });
            (found.normal, found.gap) = (aim.normal, aim.gap);
        }
        let changed = self.take(contact, found, moved);
        if !was_active {
            contact.force.status = Status::Sliding;
        }
        self.gap_error(changed || !was_active, gap)
    }

    /// Renews the row of a contact, as its life allows; false if the row is the same as before.
    fn renew(&self, contact: &mut Constraint, mut found: Linearisation, moved: &Moved) -> bool {
        if contact.is_active() {
            let (normal, predicted_gap) = (contact.row.normal(), self.predicted_gap(contact, moved));
            let Some(point) = contact.point_mut() else { return false };
            let present = Present { normal, predicted_gap, contact_offset: point.contact_offset, tolerance: self.tolerance };
            let aim = point.life.on_renewal(&present, Aim { normal: found.normal, gap: found.gap });
            (found.normal, found.gap) = (aim.normal, aim.gap);
        }
        self.take(contact, found, moved)
    }

    /// Takes the new linearisation; false if the row is the same as before.
    fn take(&self, contact: &mut Constraint, found: Linearisation, moved: &Moved) -> bool {
        let before = (contact.row.frame, contact.row.offset);
        if let Some(point) = contact.point() {
            self.generators.of(point.pair.kind).put_entries(&found, moved, &mut contact.row.entries);
        }
        contact.linearise(&found, |unknown| moved.trial.at(unknown), self.dt);
        (contact.row.frame - before.0).norm() > 1e-9 || (contact.row.offset - before.1).norm() > 1e-3 * self.tolerance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_pair_has_one_generator() {
        let generators = Generators::default();
        for kind in PairKind::ALL {
            assert_eq!(generators.all().iter().filter(|generator| generator.kinds().contains(&kind)).count(), 1, "{kind:?}");
        }
    }
}
