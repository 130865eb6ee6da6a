//! What a step tells about itself.

use arrayvec::ArrayVec;

use super::Choice;
use crate::body::BodyRef;
use crate::contact::ContactReport;
use crate::contact::driver::Relinearisation;
use crate::elastic::BeyondRange;

/// A clock: milliseconds since some start. The core asks for no time of day; whoever steps brings a clock for the
/// figures.
pub type Clock = fn() -> f64;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepReport {
    /// The method of contact, and why it was chosen.
    pub choice: Choice,
    /// Inner and elastic iterations.
    pub iterations: u32,
    /// Elastic corrections with fixed rows.
    pub passes: u32,
    /// Beginnings of a Krylov space anew, by changed contact states; of conjugate residuals only.
    pub restarts: u32,
    /// Renewals of the rows from the moved geometry.
    pub relinearisations: u32,
    /// Applications of the factor of the rest pose, in all islands together.
    pub solves: u32,
    /// Inner iterations for the contact forces alone, in all islands together.
    pub dual_iterations: u32,
    /// Searches for candidates.
    pub searches: u32,
    /// Times that the step was begun, whole or in parts: those that were refused and halved count too.
    pub attempts: u32,
    /// Halvings of its smallest part.
    pub halvings: u32,
    /// Why the step was taken back and halved, if it was; the first cause of several.
    pub taken_back: Option<String>,
    /// Final residual 2-norm relative to the driving impulse [-].
    pub residual: f64,
    pub converged: bool,
    /// Contacts have forces that were not found: their rows may contradict each other.
    pub is_unsettled: bool,
    /// The step was accepted before its contacts were solved, and so many vertices were limited in their motion, so
    /// that nothing crosses.
    pub limited: Option<u32>,
    /// How long given motions waited in the step, as they would have run over what was limited [s].
    pub waited: f64,
    /// Iterations of Newton's method; 0 of a step that is linearised once.
    pub newton_iterations: u32,
    /// What Newton's method leaves of the non-linear equation: 2-norm relative to the driving impulse [-], of the worst
    /// island.
    pub newton_residual: f64,
    /// Halvings of the motions of bodies that would have gained energy (`step/guard.rs`).
    pub energy_halvings: u32,
    /// Bodies that stood still though nothing holds them, ascending; of a whole step those that have for some steps.
    pub hanging: Vec<BodyRef>,
    /// Bodies whose surface passes through itself or is inside out at the end, ascending
    /// ([`State::tangled`](crate::model::State)).
    pub tangled: Vec<BodyRef>,
    /// Deformable bodies whose factor for contact said too little, ascending: the next step has one of the pose at the
    /// end ([`State::later_poses`](crate::model::State)).
    pub outgrown: Vec<BodyRef>,
    /// Deformable bodies whose corrections are slow without a factor of the matrix, ascending: the next step begins
    /// with one of its own ([`State::slow`](crate::model::State)).
    pub slow: Vec<BodyRef>,
    /// Bodies that are deformed beyond what their models hold, ascending; of the steps after which that was looked at.
    pub beyond_range: Vec<BeyondRange>,
    pub contact: ContactReport,
    pub stages: StageTimes,
    /// Empty on the CPU.
    pub device_work: DeviceWork,
    /// Submissions that the host has waited for.
    pub round_trips: u32,
}

impl StepReport {
    /// The report of a step that begins: converged unless a part says otherwise.
    pub fn begin(clock: Clock, choice: Choice) -> Self {
        Self { choice, converged: true, ..Self::timed(clock) }
    }

    /// An empty report that can time its stages.
    pub fn timed(clock: Clock) -> Self {
        Self { stages: StageTimes::new(clock), ..Self::default() }
    }

    /// Takes the figures of a relinearisation loop.
    pub fn take_progress(&mut self, progress: &Relinearisation, converged: bool) {
        let total = &progress.total;
        self.iterations += total.iterations;
        self.passes = total.passes;
        self.restarts = total.restarts;
        self.relinearisations = progress.relinearisations;
        self.solves += total.solves;
        self.dual_iterations += total.dual_iterations;
        self.residual = total.residual;
        self.converged = converged;
        self.is_unsettled = progress.is_unsettled;
    }

    /// Joins the report of another body's solve in the same step: iterations are those of the slowest, residuals the
    /// worst; contacts, forces, solves and iterations for the forces alone add up. Times add up too: with several
    /// threads they are thread time.
    pub fn join(&mut self, other: Self) {
        self.iterations = self.iterations.max(other.iterations);
        self.passes = self.passes.max(other.passes);
        self.restarts = self.restarts.max(other.restarts);
        self.relinearisations = self.relinearisations.max(other.relinearisations);
        self.solves += other.solves;
        self.dual_iterations += other.dual_iterations;
        self.residual = self.residual.max(other.residual);
        self.converged &= other.converged;
        self.is_unsettled |= other.is_unsettled;
        self.take_factored(other.outgrown, other.slow);
        for (stage, ms) in other.stages.times {
            self.stages.add(stage, ms);
        }
        let (sum, part) = (&mut self.contact, other.contact);
        sum.contacts += part.contacts;
        sum.active += part.active;
        sum.max_gap_of_active = sum.max_gap_of_active.max(part.max_gap_of_active);
        sum.max_complementarity_error = sum.max_complementarity_error.max(part.max_complementarity_error);
        sum.max_cone_violation = sum.max_cone_violation.max(part.max_cone_violation);
        sum.normal_force_total += part.normal_force_total;
        sum.friction_force_total += part.friction_force_total;
        sum.dissipated_by_friction += part.dissipated_by_friction;
        if sum.pairs.is_empty() {
            sum.pairs = part.pairs;
        } else {
            sum.pairs.extend_from_slice(&part.pairs);
        }
    }

    fn take_factored(&mut self, outgrown: Vec<BodyRef>, slow: Vec<BodyRef>) {
        for (all, bodies) in [(&mut self.outgrown, outgrown), (&mut self.slow, slow)] {
            all.extend(bodies);
            all.sort_unstable();
            all.dedup();
        }
    }

    /// Joins the report of the next part of the same step: work adds up, errors keep the worst, contact forces are the
    /// later ones.
    pub fn follow(&mut self, next: Self) {
        self.iterations += next.iterations;
        self.passes += next.passes;
        self.restarts += next.restarts;
        self.relinearisations += next.relinearisations;
        self.solves += next.solves;
        self.dual_iterations += next.dual_iterations;
        self.searches += next.searches;
        self.attempts += next.attempts;
        self.halvings = self.halvings.max(next.halvings);
        self.taken_back = self.taken_back.take().or(next.taken_back);
        self.residual = self.residual.max(next.residual);
        self.converged &= next.converged;
        self.is_unsettled |= next.is_unsettled;
        self.limited = self.limited.max(next.limited);
        self.waited += next.waited;
        self.energy_halvings += next.energy_halvings;
        self.newton_iterations += next.newton_iterations;
        self.newton_residual = self.newton_residual.max(next.newton_residual);
        self.hanging.retain(|body| next.hanging.contains(body));
        self.tangled = next.tangled;
        self.take_factored(next.outgrown, next.slow);
        for (stage, ms) in next.stages.times {
            self.stages.add(stage, ms);
        }
        self.round_trips += next.round_trips;
        for (stage, work) in next.device_work.0 {
            self.device_work.add(stage, work);
        }
        let before = std::mem::replace(&mut self.contact, next.contact);
        let contact = &mut self.contact;
        contact.max_gap_of_active = contact.max_gap_of_active.max(before.max_gap_of_active);
        contact.max_complementarity_error = contact.max_complementarity_error.max(before.max_complementarity_error);
        contact.max_cone_violation = contact.max_cone_violation.max(before.max_cone_violation);
        contact.dissipated_by_friction += before.dissipated_by_friction;
    }
}

/// What a stage asks of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StageWork {
    /// Recorded, with those that turn out empty. Each waits for the one before: there are as many barriers.
    pub dispatches: u32,
    /// Least bytes of the dispatches that are not empty: each array once, twice where it is read and written.
    pub bytes: u64,
    /// Of the recorded dispatches, those that turned out empty: the loops that they belong to were over.
    pub empty: u32,
    /// Turns of loops within kernels of one workgroup, one after another: those of the slowest.
    pub serial: u32,
    /// Bytes that the host has sent, and those that it has fetched.
    pub sent: u64,
    pub fetched: u64,
}

impl std::ops::AddAssign for StageWork {
    fn add_assign(&mut self, other: Self) {
        self.dispatches += other.dispatches;
        self.bytes += other.bytes;
        self.empty += other.empty;
        self.serial += other.serial;
        self.sent += other.sent;
        self.fetched += other.fetched;
    }
}

/// Work of the stages of a step, in the order in which they first ran.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceWork(pub Vec<(&'static str, StageWork)>);

impl DeviceWork {
    pub fn add(&mut self, stage: &'static str, work: StageWork) {
        match self.0.iter_mut().find(|(name, _)| *name == stage) {
            Some((_, total)) => *total += work,
            None => self.0.push((stage, work)),
        }
    }

    /// Of all stages.
    pub fn total(&self) -> StageWork {
        self.0.iter().fold(StageWork::default(), |mut total, (_, work)| {
            total += *work;
            total
        })
    }
}

/// Wall time of the stages of a step [ms], in the order in which they first ran.
#[derive(Clone, Debug, Default)]
pub struct StageTimes {
    pub times: ArrayVec<(&'static str, f64), MAX_STAGES>,
    /// None: nothing is timed.
    clock: Option<Clock>,
}

/// More than any step has.
const MAX_STAGES: usize = 16;

/// Clocks do not matter.
impl PartialEq for StageTimes {
    fn eq(&self, other: &Self) -> bool {
        self.times == other.times
    }
}

/// The stage of attempts at a step that were given up for halves of it.
pub const THROWN_AWAY: &str = "thrown away";

impl StageTimes {
    pub fn new(clock: Clock) -> Self {
        Self { times: ArrayVec::new(), clock: Some(clock) }
    }

    /// The clock that stages are timed with.
    pub fn clock(&self) -> Clock {
        self.clock.unwrap_or(|| 0.0)
    }

    /// Runs `work` and adds its wall time to `stage`.
    pub fn time<T>(&mut self, stage: &'static str, work: impl FnOnce() -> T) -> T {
        let Some(clock) = self.clock else { return work() };
        let start = clock();
        let result = work();
        self.add(stage, clock() - start);
        result
    }

    pub fn add(&mut self, stage: &'static str, milliseconds: f64) {
        match self.times.iter_mut().find(|(name, _)| *name == stage) {
            Some((_, total)) => *total += milliseconds,
            // No step has so many; one beyond would be missing here.
            None => drop(self.times.try_push((stage, milliseconds))),
        }
    }

    /// Time of one stage [ms].
    pub fn of(&self, stage: &str) -> f64 {
        self.times.iter().find(|(name, _)| *name == stage).map_or(0.0, |(_, ms)| *ms)
    }

    pub fn total(&self) -> f64 {
        self.times.iter().map(|(_, ms)| ms).sum()
    }
}
