//! Contacts of a step: found, linearised, and summed up.
//!
//! Surfaces start a step apart from each other, by induction. Their vertices go on straight lines; whatever would cross
//! on the way becomes a row, and rows follow the moved geometry, until nothing crosses any more.

mod certificate;
mod joints;
mod obstacles;
mod surfaces;
mod touching;

pub use certificate::InjectivityCertificate;
pub use surfaces::{SurfaceMemory, SurfaceStep, Surfaces};
pub use touching::set_apart;

pub mod row_life;

pub use self::surfaces::End;

use super::islands::{Island, Islands, Trial};

use rayon::prelude::*;

use self::obstacles::Entering;
use self::row_life::{Aim, Present, RowLife};
use crate::contact::{Constraint, ContactPoint, JacobianEntry, Linearisation, Source, Status};
use crate::geometry::{Candidates, Crossings, MovingShape};
use crate::math::Vec3;
use crate::memory::Pool;
use crate::model::Model;
use crate::model::{GapPolicy, Params, State};
use crate::model::{PairId, PairKind};

/// The safety distance is the middle of the band (0, eps2) in which gaps of active contacts end.
pub const SAFETY: f64 = 0.5;
/// Points of an edge or a triangle whose weights are as near as this are one to an obstacle.
const SAME_POINT: f64 = 0.02;
/// At most so many tolerances of what a sticking contact has slipped are taken back in a step.
const MAX_SLIPPED: f64 = 4.0;

/// Geometry of one step: start positions, obstacles over the step, and how the rows follow the moved points.
pub struct Detection<'a> {
    pub model: &'a Model,
    pub step: SurfaceStep<'a>,
    dt: f64,
    tolerance: f64,
    obstacles: Vec<MovingShape>,
    idle_looks: Pool<Look>,
    idle_entries: Pool<Vec<JacobianEntry>>,
    /// Remembered contacts aim at the gap that they have, not at the middle of the band.
    keeps_gaps: bool,
}

/// Memory that goes from step to step.
#[derive(Debug, Default)]
pub struct DetectionMemory {
    surfaces: SurfaceMemory,
    obstacles: Vec<MovingShape>,
    idle_looks: Pool<Look>,
    /// Of contacts that are no more.
    idle_entries: Pool<Vec<JacobianEntry>>,
}

impl DetectionMemory {
    /// Takes that of contacts which are no longer needed.
    pub fn keep(&self, contacts: &mut Vec<Constraint>) {
        contacts.drain(..).for_each(|contact| self.idle_entries.put(contact.row.entries));
    }
}

/// Memory of a look at the moved geometry.
#[derive(Debug, Default)]
struct Look {
    /// Pairs that have a contact, with its place.
    known: Vec<(PairId, usize)>,
    /// Of each contact between features where the pair is at the end, and how far its features are beside each other
    /// [m].
    ends: Vec<Option<(Linearisation, f64)>>,
    entering: Entering,
    crossings: Crossings,
    met: Vec<(PairId, Linearisation)>,
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
    /// Surfaces would cross.
    pub crosses: bool,
}

/// A trial motion, and where it brings the surfaces.
struct Moved<'m> {
    trial: &'m Trial<'m>,
    end: &'m End<'m>,
}

impl<'a> Detection<'a> {
    pub fn new(model: &'a Model, surfaces: &'a Surfaces, state: &'a State, params: &Params, memory: DetectionMemory) -> Self {
        let DetectionMemory { surfaces: surface_memory, mut obstacles, idle_looks, idle_entries } = memory;
        let (t0, t1) = (state.time, state.time + params.time_step);
        let moving = |o: &crate::model::Obstacle| MovingShape { shape: o.shape, pose_t0: o.pose_at(t0), pose_t1: o.pose_at(t1) };
        obstacles.clear();
        obstacles.extend(model.obstacles.iter().map(moving));
        Self {
            model,
            step: SurfaceStep::new(model, surfaces, state, params.time_step, surface_memory),
            dt: params.time_step,
            tolerance: params.contact_tolerance,
            obstacles,
            idle_looks,
            idle_entries,
            keeps_gaps: params.gap_policy == GapPolicy::Keep,
        }
    }

    /// What the next step may use again.
    pub fn into_memory(self) -> DetectionMemory {
        let Self { step, obstacles, idle_looks, idle_entries, .. } = self;
        DetectionMemory { surfaces: step.into_memory(), obstacles, idle_looks, idle_entries }
    }

    /// The bodies of the contacts of the last step that are still there.
    pub fn warm_bodies(&self) -> impl Iterator<Item = [u32; 2]> + '_ {
        let entries = &self.step.state.contacts.entries;
        entries.iter().filter(|e| self.exists(&e.pair)).map(|e| self.bodies(&e.pair).map(|body| body as u32))
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
        let end = self.step.end_positions(trial.island, trial.dv);
        let entries = warm.iter().map(|k| &self.step.state.contacts.entries[*k as usize]);
        contacts.extend(entries.filter_map(|entry| {
            let found = if entry.pair.kind.is_with_obstacle() {
                self.obstacle_at_start(&entry.pair, &end)?
            } else {
                self.step.at_start(&entry.pair, &end, row_life::MAX_ASIDE * self.tolerance)?
            };
            let mut point = self.new_point(entry.pair);
            if self.keeps_gaps {
                point.stick_anchor_offset = entry.slip * (MAX_SLIPPED * self.tolerance / entry.slip.norm()).min(1.0);
                // What rests stays where it is in the band: nothing is pushed back and forth.
                let gap_at_start = found.gap - found.slip.dot(&found.normal);
                point.contact_offset = gap_at_start.clamp(SAFETY * self.tolerance, 1.5 * SAFETY * self.tolerance);
            }
            let mut contact = self.new_contact(point);
            self.step.put_entries(&found.sum, &end, &mut contact.row.entries);
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
        let mut look = self.idle_looks.take().unwrap_or_default();
        let Look { known, ends, entering, crossings, met } = &mut look;
        let mut off = self.renew_stale(contacts, ends, &moved);
        known.clear();
        known.extend(contacts.iter().enumerate().filter_map(|(k, c)| Some((c.point()?.pair, k))));
        known.sort_unstable();
        let is_known = |pair: &PairId| known.binary_search_by_key(pair, |(known, _)| *known).is_ok();
        self.entering_obstacles(&moved, entering, met);
        let n_entering = met.len();
        self.step.cross(candidates, end, is_known, row_life::MAX_ASIDE * self.tolerance, off > 0.0 || n_entering > 0, crossings, met);
        let crosses = met.len() > n_entering;
        met.sort_by_key(|(pair, _)| *pair);
        for (pair, found) in met.drain(..) {
            off = off.max(self.add_crossing(pair, found, known, contacts, &moved));
        }
        self.idle_looks.put(look);
        Renewal { gap_error: off, crosses }
    }

    /// With more rows than this the solve of an island is given up: bodies have gone through each other, and smaller
    /// steps will find fewer.
    pub fn max_rows(&self, island: &Island, contacts: &[Constraint]) -> usize {
        let of_body = |body: usize| MIN_CONTACTS_LIMIT.max(3 * self.step.surfaces.vertices[body].len());
        let joints = contacts.iter().filter(|c| c.law.is_bilateral()).count();
        joints + island.segments.iter().map(|segment| of_body(segment.body as usize)).sum::<usize>()
    }

    /// The gap that the row of the contact predicts [m].
    fn predicted_gap(&self, contact: &Constraint, moved: &Moved) -> f64 {
        let contact_offset = contact.point().map_or(0.0, |point| point.contact_offset);
        contact.row.motion(|unknown| moved.trial.at(unknown), self.dt).x + contact_offset
    }

    /// False for a pair of another model.
    fn exists(&self, pair: &PairId) -> bool {
        let mesh = &self.step.surfaces.mesh;
        let (vertices, edges, triangles, obstacles) = (mesh.body.len(), mesh.edges.len(), mesh.triangles.len(), self.obstacles.len());
        let (first, second) = match pair.kind {
            PairKind::VertexObstacle => (vertices, obstacles),
            PairKind::EdgeObstacle => (edges, obstacles),
            PairKind::TriangleObstacle => (triangles, obstacles),
            PairKind::VertexTriangle => (vertices, triangles),
            PairKind::EdgeEdge => (edges, edges),
        };
        (pair.first as usize) < first && (pair.second as usize) < second
    }

    /// The contact bodies of a pair.
    fn bodies(&self, pair: &PairId) -> [usize; 2] {
        if pair.kind.is_with_obstacle() {
            [self.step.obstacle_feature_body(pair), self.model.obstacle_body(pair.second as usize)]
        } else {
            self.step.bodies(pair)
        }
    }

    fn new_point(&self, pair: PairId) -> ContactPoint {
        ContactPoint { contact_offset: SAFETY * self.tolerance, ..ContactPoint::new(pair) }
    }

    /// A contact at the point, without a row yet.
    fn new_contact(&self, point: ContactPoint) -> Constraint {
        let bodies = self.bodies(&point.pair);
        let friction = self.model.friction_between(bodies[0], bodies[1]);
        let mut contact = Constraint::contact(point, bodies.map(|b| b as u32), friction);
        contact.row.entries = self.idle_entries.take().unwrap_or_default();
        contact
    }

    /// The pair at the end of the step, and how far its features are beside each other [m].
    fn found(&self, point: &ContactPoint, normal: &Vec3, moved: &Moved) -> (Linearisation, f64) {
        if point.pair.kind.is_with_obstacle() {
            return (self.obstacle_at_end(&point.pair, &point.weights, moved.end), 0.0);
        }
        self.step.at_end(&point.pair, normal, moved.end)
    }

    /// Renews the rows whose gap at the end is another than they predicted, and drops those whose features have slid
    /// off each other; how far gaps are from what the rows predicted [m], 0 if no row has changed. `ends`: memory.
    fn renew_stale(&self, contacts: &mut Vec<Constraint>, ends: &mut Vec<Option<(Linearisation, f64)>>, moved: &Moved) -> f64 {
        let end_of = |contact: &Constraint| Some(self.found(contact.point()?, &contact.row.normal(), moved));
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
                contact.is_active() && life.wants_renewal(found.gap, || self.predicted_gap(contact, moved), self.tolerance)
            };
            if is_stale {
                let gap = found.gap;
                gap_error = gap_error.max(self.gap_error(self.renew(contact, found, moved), gap));
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

    /// Gives features that cross a row, a new one or that which let them pass; the gap error [m]. `known`: pairs with a
    /// contact, sorted, with the place of the contact.
    fn add_crossing(
        &self,
        pair: PairId,
        found: Linearisation,
        known: &[(PairId, usize)],
        contacts: &mut Vec<Constraint>,
        moved: &Moved,
    ) -> f64 {
        let same = known.partition_point(|(known, _)| *known < pair)..known.partition_point(|(known, _)| *known <= pair);
        let mut same = known[same].iter().map(|(_, place)| *place);
        let with_obstacle = pair.kind.is_with_obstacle();
        // An edge or a triangle that bends over an obstacle is held where it was deepest before, too.
        let weights = |place: usize| contacts[place].point().map_or([0.0; 3], |point| point.weights);
        let place = same.find(|place| !with_obstacle || apart(&weights(*place), &found.weights) < SAME_POINT);
        let gap = found.gap;
        let Some(place) = place else {
            let mut contact = self.new_contact(ContactPoint { life: RowLife::met(), ..self.new_point(pair) });
            self.take(&mut contact, found, moved);
            contact.force.status = Status::Sliding;
            contacts.push(contact);
            return self.gap_error(true, gap);
        };
        // Its row was renewed with the others.
        if with_obstacle && self.obstacle_at_end(&pair, &weights(place), moved.end).gap < 0.0 {
            return 0.0;
        }
        // Its row let it pass: the one of the crossing does not.
        let contact = &mut contacts[place];
        if !with_obstacle && let Some(point) = contact.point_mut() {
            point.life.on_crossing();
        }
        let was_active = contact.is_active();
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
        self.step.put_entries(&found.sum, moved.end, &mut contact.row.entries);
        contact.linearise(&found, |unknown| moved.trial.at(unknown), self.dt);
        (contact.row.frame - before.0).norm() > 1e-9 || (contact.row.offset - before.1).norm() > 1e-3 * self.tolerance
    }
}

fn apart(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}
