//! The recorded past of a run, in a stated amount of memory: pictures of its steps, to look at, and exact states, to go
//! on from. Both are thinned with age. Who goes back and changes something makes a branch: the steps up to there belong
//! to both, and what came after stays as another branch.

mod figures;
mod film;
mod keeping;
mod picture;
mod recorded;
mod saving;
#[cfg(test)]
mod tests;
mod timeline;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use figures::{EnergyMeter, Figures, PairFigures};
use film::Film;
use keeping::Kept;
use picture::Counts;
pub use picture::{Details, Picture, Rounding, Settings, pose_between};
pub use recorded::{Moment, Recorded, SharedPast, locked};
pub use saving::RepeatError;
pub use timeline::{Event, EventKind, Lane};

pub use super::BranchId;
use super::{Checkpoint, CommandLog, Way};
use crate::model::Model;
use crate::sim::report::state_hash;

/// Memory that the past of a run may take [bytes]: half of it for pictures, half for exact states.
pub const DEFAULT_BUDGET: usize = 256 << 20;

/// More branches than these are forgotten, the oldest first.
pub const MAX_BRANCHES: usize = 8;

/// All branches of a run. One of them is live: it is the one that the simulation is at the end of.
pub struct Past {
    budget: usize,
    rounding: Rounding,
    counts: Counts,
    /// Pictures recorded so far: the clock by which things are old.
    recorded: u64,
    segments: BTreeMap<u32, Segment>,
    branches: Vec<Branch>,
    n_branches: BranchId,
    n_segments: u32,
    /// Counts changes, so that others see that there was one.
    version: u64,
}

/// Steps that were recorded in one go: from a start or a fork to the end.
struct Segment {
    film: Film,
    checkpoints: Kept,
    /// Steps that were not as they should be.
    faults: Vec<(u64, EventKind)>,
    /// The numbers of its steps, for plots.
    figures: Vec<Arc<Figures>>,
}

struct Branch {
    id: BranchId,
    /// The segments that it goes through, each with the last step that it has of it.
    path: Vec<(u32, u64)>,
    log: CommandLog,
    /// Where it ends, while it is not live: with the commands that were given there.
    end: Option<Arc<Checkpoint>>,
    /// The hash of the state there.
    end_hash: String,
    /// It is on no timeline, and the first to go once there is no room.
    is_forgotten: bool,
}

/// The last step that two branches have in common, by the segments that they go through; none if they have different
/// starts.
fn last_common_step(a: &[(u32, u64)], b: &[(u32, u64)]) -> Option<u64> {
    let pairs = a.iter().zip(b).take_while(|((a, _), (b, _))| a == b);
    pairs.last().map(|((_, until), (_, other_until))| *until.min(other_until))
}

impl Past {
    /// An empty past of simulations of `model`, with its memory [bytes].
    pub fn new(model: &Model, budget: usize) -> Self {
        Self {
            budget,
            rounding: Rounding::of(model),
            counts: Counts::of(model),
            recorded: 0,
            segments: BTreeMap::new(),
            branches: vec![],
            n_branches: 0,
            n_segments: 0,
            version: 0,
        }
    }

    /// The branch whose end the simulation is at; none before the first one was begun.
    pub fn live(&self) -> Option<BranchId> {
        self.branches.iter().find(|branch| branch.end.is_none()).map(|branch| branch.id)
    }

    /// Changes with everything that is recorded, forked or forgotten.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Memory in use [bytes].
    pub fn bytes(&self) -> usize {
        self.film_bytes() + self.checkpoint_bytes()
    }

    fn film_bytes(&self) -> usize {
        self.segments.values().map(|segment| segment.film.bytes()).sum()
    }

    fn checkpoint_bytes(&self) -> usize {
        let ends = self.branches.iter().filter_map(|branch| branch.end.as_ref());
        self.segments.values().map(|segment| segment.checkpoints.bytes()).sum::<usize>() + ends.map(|end| end.bytes()).sum::<usize>()
    }

    /// Whether the state after `step` should be kept exactly: the last ten steps, and every tenth. Of states that are
    /// large for the memory, every tenth only.
    pub fn wants_checkpoint(&self, step: u64) -> bool {
        let largest = self.segments.values().map(|segment| segment.checkpoints.last_bytes()).max().unwrap_or(0);
        step.is_multiple_of(10) || 40 * largest < self.budget / 2
    }

    /// Begins a branch that shares nothing with others: at the start of a scene, after a reset. `left` is where the
    /// live branch was left, with its log.
    pub fn begin(
        &mut self,
        left: Option<(Checkpoint, &CommandLog)>,
        log: CommandLog,
        picture: Picture,
        checkpoint: Checkpoint,
    ) -> BranchId {
        if let Some((end, log)) = left {
            self.leave(end, log);
        }
        let segment = self.segment();
        let id = self.branch(vec![(segment, u64::MAX)], log);
        self.record(picture, Some(checkpoint));
        id
    }

    /// Begins a branch that has the steps of the live one up to `at`, where the simulation stands, and the commands
    /// before; `left` is where the live one was left, with its log.
    pub fn fork(&mut self, left: (Checkpoint, &CommandLog), at: Checkpoint) -> BranchId {
        let live = self.branches.iter().find(|branch| branch.end.is_none());
        let mut path: Vec<(u32, u64)> = live.map(|branch| branch.path.clone()).unwrap_or_default();
        self.leave(left.0, left.1);
        let step = at.step();
        // The segment in which the fork is, is the last one.
        let shared = path.iter().position(|(_, until)| step <= *until).map_or(path.len(), |last| last + 1);
        path.truncate(shared);
        if let Some(last) = path.last_mut() {
            last.1 = step;
        }
        let entries = left.1.entries.iter().take_while(|logged| logged.step < step).cloned().collect();
        let segment = self.segment();
        path.push((segment, u64::MAX));
        let id = self.branch(path, CommandLog { entries, ..CommandLog::starting_as(left.1) });
        self.keep(at);
        id
    }

    /// Makes another branch the live one. The simulation must stand where that ended.
    pub fn switch(&mut self, left: (Checkpoint, &CommandLog), to: BranchId) {
        self.leave(left.0, left.1);
        if let Some(branch) = self.branches.iter_mut().find(|branch| branch.id == to) {
            (branch.end, branch.is_forgotten) = (None, false);
        }
        self.version += 1;
    }

    /// The live branch is so no longer.
    fn leave(&mut self, end: Checkpoint, log: &CommandLog) {
        if let Some(live) = self.branches.iter_mut().find(|branch| branch.end.is_none()) {
            live.log.clone_from(log);
            live.end_hash = state_hash(end.state());
            live.end = Some(Arc::new(end));
        }
    }

    fn segment(&mut self) -> u32 {
        self.n_segments += 1;
        let film = Film::new(self.rounding, self.counts);
        self.segments.insert(self.n_segments, Segment { film, checkpoints: Kept::default(), faults: vec![], figures: vec![] });
        self.n_segments
    }

    fn branch(&mut self, path: Vec<(u32, u64)>, log: CommandLog) -> BranchId {
        self.n_branches += 1;
        self.branches.push(Branch { id: self.n_branches, path, log, end: None, end_hash: String::new(), is_forgotten: false });
        if self.branches.len() > MAX_BRANCHES {
            self.forget_oldest();
        }
        self.version += 1;
        self.n_branches
    }

    /// Takes a branch that is not live off the timeline, or puts it there again. Forgotten ones are the first to go,
    /// with what no other one shares with them, once there is no room. False where there is no such branch any more.
    pub fn set_forgotten(&mut self, id: BranchId, is_forgotten: bool) -> bool {
        let Some(branch) = self.branches.iter_mut().find(|branch| branch.id == id && branch.end.is_some()) else { return false };
        branch.is_forgotten = is_forgotten;
        self.version += 1;
        true
    }

    fn remove(&mut self, place: usize) {
        self.branches.remove(place);
        let used = |segment: &u32| self.branches.iter().any(|branch| branch.path.iter().any(|(id, _)| id == segment));
        let unused: Vec<u32> = self.segments.keys().filter(|segment| !used(segment)).copied().collect();
        for segment in unused {
            self.segments.remove(&segment);
        }
    }

    /// Records the end of a step of the live branch.
    pub fn record(&mut self, picture: Picture, checkpoint: Option<Checkpoint>) {
        let (step, recorded) = (picture.step, self.recorded);
        let faults = picture.details.report.as_deref().into_iter().flat_map(EventKind::of_report);
        let faults: Vec<(u64, EventKind)> = faults.map(|fault| (step, fault)).collect();
        let Some(segment) = self.live_segment() else { return };
        segment.faults.extend(faults);
        segment.film.push(picture, recorded);
        self.recorded += 1;
        self.version += 1;
        if let Some(checkpoint) = checkpoint {
            self.keep(checkpoint);
        }
        self.thin();
    }

    /// Takes over what is new in the log of the live branch; what was logged for steps that are done no longer changes.
    pub fn follow(&mut self, log: &CommandLog) {
        let Some(live) = self.branches.iter_mut().find(|branch| branch.end.is_none()) else { return };
        let known = live.log.entries.last().map_or(0, |last| log.entries.partition_point(|logged| logged.step < last.step));
        live.log.entries.truncate(known);
        live.log.entries.extend_from_slice(log.entries.get(known..).unwrap_or_default());
    }

    fn live_segment(&mut self) -> Option<&mut Segment> {
        let live = self.branches.iter().find(|branch| branch.end.is_none())?;
        self.segments.get_mut(&live.path.last()?.0)
    }

    fn keep(&mut self, checkpoint: Checkpoint) {
        let recorded = self.recorded;
        if let Some(segment) = self.live_segment() {
            segment.checkpoints.push(checkpoint, recorded);
        }
    }

    /// Makes everything fit into the memory again.
    fn thin(&mut self) {
        let half = self.budget / 2;
        while self.film_bytes() > half && (self.thin_films() || self.forget_oldest()) {}
        while self.checkpoint_bytes() > half && (self.thin_checkpoints() || self.forget_oldest()) {}
    }

    /// Thins the pictures that are finest for their age; false if none are left to be thinned.
    fn thin_films(&mut self) -> bool {
        let candidates = self.segments.iter().filter_map(|(id, segment)| Some((*id, segment.film.thinnable(self.recorded)?)));
        let Some((id, pair)) = candidates.min_by(|(_, a), (_, b)| a.order.total_cmp(&b.order)) else { return false };
        if let Some(segment) = self.segments.get_mut(&id) {
            segment.film.thin(pair);
        }
        true
    }

    /// The same of exact states.
    fn thin_checkpoints(&mut self) -> bool {
        let candidates = self.segments.iter().filter_map(|(id, segment)| Some((*id, segment.checkpoints.thinnable(self.recorded)?)));
        let Some((id, (place, _))) = candidates.min_by(|(_, a), (_, b)| a.1.total_cmp(&b.1)) else { return false };
        if let Some(segment) = self.segments.get_mut(&id) {
            segment.checkpoints.remove(place);
        }
        true
    }

    /// Gives up a forgotten branch, else the oldest one that is not live; false if there is none.
    fn forget_oldest(&mut self) -> bool {
        let forgotten = self.branches.iter().position(|branch| branch.end.is_some() && branch.is_forgotten);
        let oldest = forgotten.or_else(|| self.branches.iter().position(|branch| branch.end.is_some()));
        oldest.into_iter().for_each(|place| self.remove(place));
        oldest.is_some()
    }

    /// The segments of a branch, each with the last step that the branch has of it.
    fn path(&self, id: BranchId) -> impl DoubleEndedIterator<Item = (&Segment, u64)> + '_ {
        let branch = self.branches.iter().find(|branch| branch.id == id);
        let path = branch.into_iter().flat_map(|branch| &branch.path);
        path.filter_map(|(segment, until)| Some((self.segments.get(segment)?, *until)))
    }

    /// Step and time [s] of the last picture of a branch.
    pub fn end_of(&self, id: BranchId) -> Option<(u64, f64)> {
        self.path(id).rev().find_map(|(segment, until)| segment.film.places().take_while(|(step, _)| *step <= until).last())
    }

    /// The picture of `step` on a branch, or of the last step before it that is kept.
    pub fn picture(&self, id: BranchId, step: u64) -> Option<Picture> {
        self.path(id).rev().find_map(|(segment, until)| segment.film.picture(step.min(until)))
    }

    /// How everything looked at a time [s] of a branch, between the pictures of two steps.
    pub fn picture_at(&self, id: BranchId, time: f64) -> Option<Picture> {
        let places = self.places(id);
        let next = places.partition_point(|(_, at)| *at <= time + 1e-12);
        let (step, at) = *places.get(next.saturating_sub(1))?;
        let picture = self.picture(id, step)?;
        let next = places.get(next).filter(|_| at < time).and_then(|(step, _)| self.picture(id, *step));
        Some(next.map_or_else(|| picture.clone(), |next| picture.between(&next, time)))
    }

    /// The steps of a branch of which pictures are kept, with their times [s], ascending.
    pub fn places(&self, id: BranchId) -> Vec<(u64, f64)> {
        self.path(id).flat_map(|(segment, until)| segment.film.places().take_while(move |(step, _)| *step <= until)).collect()
    }

    /// The way to the exact state right after `step` of a branch, before the commands that were given there.
    pub fn way_to(&self, id: BranchId, step: u64) -> Option<Way> {
        let log = self.branches.iter().find(|branch| branch.id == id)?.log.clone();
        let from = self.path(id).rev().find_map(|(segment, until)| segment.checkpoints.last_until(step.min(until)))?;
        Some(Way { from, log, to: step, with_last_commands: false })
    }

    /// Where a branch that is not live has ended, and the commands up to there.
    pub fn end(&self, id: BranchId) -> Option<(Arc<Checkpoint>, CommandLog)> {
        let branch = self.branches.iter().find(|branch| branch.id == id)?;
        Some((branch.end.clone()?, branch.log.clone()))
    }
}
