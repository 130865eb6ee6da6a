//! A simulation that records its past.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{BranchId, EnergyMeter, Past};
use crate::cancel::CancelToken;
use crate::sim::{Command, CommandError, CommandLog, ResumedParams, SaveError, Simulation, TravelError, Way};
use crate::step::{StepError, StepReport};

/// A past that others may look into while a step is computed: nobody holds it for longer than it takes to add or to
/// read a picture.
pub type SharedPast = Arc<Mutex<Past>>;

/// On a device every so many steps are recorded, as each has to be fetched from it.
const DEVICE_STRIDE: u64 = 4;

/// A simulation and its past. It is changed through this alone, so that the past misses nothing.
pub struct Recorded {
    pub(super) simulation: Simulation,
    pub(super) past: SharedPast,
    meter: EnergyMeter,
}

/// When the simulation is shown while steps are computed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// With the commands that were given before the step.
    BeforeStep,
    AfterStep,
}

/// The past, whoever has held it last.
pub fn locked(past: &Mutex<Past>) -> MutexGuard<'_, Past> {
    past.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Recorded {
    /// Records from here on, in so much memory [bytes].
    pub fn new(mut simulation: Simulation, budget: usize) -> Result<Self, StepError> {
        let mut past = Past::new(simulation.model(), budget);
        past.begin(None, simulation.log().clone(), simulation.picture(None)?, simulation.checkpoint()?);
        Ok(Self { simulation, past: Arc::new(Mutex::new(past)), meter: EnergyMeter::default() })
    }

    /// The simulation, to be looked at.
    pub fn simulation(&mut self) -> &mut Simulation {
        &mut self.simulation
    }

    pub fn past(&self) -> &SharedPast {
        &self.past
    }

    /// One step, which is then recorded.
    pub fn step_unless(&mut self, cancel: &CancelToken) -> Result<StepReport, StepError> {
        let report = self.simulation.step_unless(cancel)?;
        let step = self.simulation.step_index();
        if self.simulation.backend().backend == "gpu" && !step.is_multiple_of(DEVICE_STRIDE) {
            return Ok(report);
        }
        let wants_checkpoint = locked(&self.past).wants_checkpoint(step);
        let checkpoint = wants_checkpoint.then(|| self.simulation.checkpoint()).transpose()?;
        let picture = self.simulation.picture(Some(Arc::new(report.clone())))?;
        let figures = self.simulation.figures(&report, &mut self.meter)?;
        let mut past = locked(&self.past);
        past.follow(self.simulation.log());
        past.record(picture, checkpoint);
        past.note(figures);
        Ok(report)
    }

    /// Does what a command says. A reset begins a branch of its own.
    pub fn apply(&mut self, command: &Command) -> Result<(), CommandError> {
        if *command == Command::Reset {
            return self.begin_anew(|error| CommandError::Step(error.to_string()), |simulation| simulation.apply(command));
        }
        self.simulation.apply(command)?;
        locked(&self.past).follow(self.simulation.log());
        Ok(())
    }

    /// Goes on from a state that was saved, with the present parameters, in a branch of its own.
    pub fn resume(&mut self, path: &Path) -> Result<(), SaveError> {
        self.begin_anew(SaveError::from, |simulation| simulation.resume_with(path, ResumedParams::Present))
    }

    /// Begins a branch that has nothing in common with others, where `change` takes the simulation.
    pub(super) fn begin_anew<E>(
        &mut self,
        failed: impl Fn(StepError) -> E,
        change: impl FnOnce(&mut Simulation) -> Result<(), E>,
    ) -> Result<(), E> {
        let (end, log) = (self.simulation.checkpoint().map_err(&failed)?, self.simulation.log().clone());
        change(&mut self.simulation)?;
        let (picture, start) = (self.simulation.picture(None).map_err(&failed)?, self.simulation.checkpoint().map_err(&failed)?);
        locked(&self.past).begin(Some((end, &log)), self.simulation.log().clone(), picture, start);
        Ok(())
    }

    /// Begins a branch right after `step` of the live one, and lets go of what was held there; `passed` is told of each
    /// step on the way. Where that is cancelled or fails, everything is as before.
    pub fn branch(&mut self, step: u64, cancel: &CancelToken, passed: impl FnMut(u64)) -> Result<BranchId, TravelError> {
        let branch = self.fork(step, cancel, passed)?;
        self.simulation.release_all()?;
        Ok(branch)
    }

    /// The same, but what was held stays so.
    pub(super) fn fork(&mut self, step: u64, cancel: &CancelToken, passed: impl FnMut(u64)) -> Result<BranchId, TravelError> {
        let (end, log) = (self.simulation.checkpoint()?, self.simulation.log().clone());
        let live = {
            let mut past = locked(&self.past);
            past.follow(&log);
            past.live()
        };
        let way = live.and_then(|live| locked(&self.past).way_to(live, step)).ok_or(TravelError::Forgotten { step })?;
        let arrived = self.simulation.travel(&way, cancel, passed).and_then(|()| Ok(self.simulation.checkpoint()?));
        let at = match arrived {
            Ok(at) => at,
            Err(error) => {
                self.simulation.restore(&end, log)?;
                return Err(error);
            }
        };
        Ok(locked(&self.past).fork((end, &log), at))
    }

    /// Goes to right before the last time that a command was given, on the live branch and since its last reset. Where
    /// no step was done since, the branch goes on from there without the command and without all that was commanded
    /// after it; else another branch begins there, as by [`Self::branch`]. False where the command was not given. Where
    /// it is cancelled or fails, everything is as before.
    pub fn take_back(&mut self, command: &Command, cancel: &CancelToken, passed: impl FnMut(u64)) -> Result<bool, TravelError> {
        let log = self.simulation.log().clone();
        let since = log.entries.iter().rposition(|logged| logged.command == Command::Reset).map_or(0, |reset| reset + 1);
        let found = log.entries[since..].iter().rposition(|logged| logged.command == *command);
        let Some(place) = found.map(|place| since + place) else { return Ok(false) };
        let step = log.entries[place].step;
        if step < self.simulation.step_index() {
            // What was held is let go of; what else was commanded there before is done again.
            let is_kept =
                |command: &Command| command.is_change() || matches!(command, Command::PutBack { .. } | Command::MoveBodies { .. });
            let before = log.entries[..place].iter().filter(|logged| logged.step == step && is_kept(&logged.command));
            self.branch(step, cancel, passed)?;
            before.map(|logged| &logged.command).try_for_each(|command| self.apply(command))?;
            return Ok(true);
        }
        let end = self.simulation.checkpoint()?;
        let way = {
            let mut past = locked(&self.past);
            past.follow(&log);
            past.live().and_then(|live| past.way_to(live, step)).ok_or(TravelError::Forgotten { step })?
        };
        let before = CommandLog { entries: log.entries[..place].to_vec(), ..CommandLog::starting_as(&log) };
        let way = Way { log: before, with_last_commands: true, ..way };
        if let Err(error) = self.simulation.travel(&way, cancel, passed) {
            self.simulation.restore(&end, log)?;
            return Err(error);
        }
        let mut past = locked(&self.past);
        past.follow(self.simulation.log());
        past.version += 1;
        Ok(true)
    }

    /// Computes the steps of a branch between two times [s] again, to the same bits, for who needs more of them than
    /// their pictures. `seen` is shown the end of the last step before them that is kept, and then both ends of each;
    /// they end early where it says false. After that, and where it is cancelled or fails, everything is as before.
    pub fn relive<F>(&mut self, branch: BranchId, [from, to]: [f64; 2], cancel: &CancelToken, seen: F) -> Result<(), TravelError>
    where
        F: FnMut(&mut Simulation, Moment) -> Result<bool, StepError>,
    {
        let (end, log) = (self.simulation.checkpoint()?, self.simulation.log().clone());
        let (way, last) = {
            let mut past = locked(&self.past);
            past.follow(&log);
            let places = past.places(branch);
            let first = places.partition_point(|(_, time)| *time <= from + 1e-12).saturating_sub(1);
            let first = places.get(first).map_or(0, |(step, _)| *step);
            (past.way_to(branch, first).ok_or(TravelError::Forgotten { step: first })?, places.last().map_or(first, |(step, _)| *step))
        };
        let relived = self.relive_along(&way, (last, to), cancel, seen);
        self.simulation.restore(&end, log)?;
        relived
    }

    /// Goes a way, and on until a step or a time [s].
    fn relive_along<F>(&mut self, way: &Way, (last, to): (u64, f64), cancel: &CancelToken, mut seen: F) -> Result<(), TravelError>
    where
        F: FnMut(&mut Simulation, Moment) -> Result<bool, StepError>,
    {
        let simulation = &mut self.simulation;
        simulation.travel(way, cancel, |_| ())?;
        let mut goes_on = seen(simulation, Moment::AfterStep)?;
        while goes_on && simulation.step_index() < last && simulation.time() < to {
            way.log.at(simulation.step_index()).iter().try_for_each(|logged| simulation.apply(&logged.command))?;
            if !seen(simulation, Moment::BeforeStep)? {
                break;
            }
            match simulation.step_unless(cancel) {
                Err(StepError::Cancelled { .. }) => return Err(TravelError::Cancelled { step: last }),
                stepped => stepped?,
            };
            goes_on = seen(simulation, Moment::AfterStep)?;
        }
        Ok(())
    }

    /// Goes to the end of another branch.
    pub fn switch(&mut self, to: BranchId) -> Result<(), TravelError> {
        let step = self.simulation.step_index();
        let (end, log) = locked(&self.past).end(to).ok_or(TravelError::Forgotten { step })?;
        let (left, left_log) = (self.simulation.checkpoint()?, self.simulation.log().clone());
        self.simulation.restore(&end, log)?;
        locked(&self.past).switch((left, &left_log), to);
        Ok(())
    }
}
