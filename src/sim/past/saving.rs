//! The branches of a run as a session, and back.

use super::{Branch, BranchId, Past, Recorded, last_common_step, locked};
use crate::cancel::CancelToken;
use crate::sim::{
    Checkpoint, Command, CommandError, CommandLog, ResumedParams, SaveError, Session, SessionBranch, SessionError, SessionHeader,
    SessionTree, TravelError,
};
use crate::step::StepError;

/// Why a session could not be repeated.
#[derive(Debug, thiserror::Error)]
pub enum RepeatError {
    #[error(transparent)]
    Travel(#[from] TravelError),
    #[error(transparent)]
    State(#[from] SaveError),
    #[error(transparent)]
    Start(#[from] SessionError),
}

impl From<StepError> for RepeatError {
    fn from(error: StepError) -> Self {
        Self::Travel(error.into())
    }
}

impl From<CommandError> for RepeatError {
    fn from(error: CommandError) -> Self {
        Self::Travel(error.into())
    }
}

impl Recorded {
    /// All branches so far, but those that are forgotten. `scene` and `set` name the start, as the command line would.
    pub fn session(&mut self, scene: String, set: Vec<String>) -> Result<SessionTree, StepError> {
        let live = self.simulation.session(scene, set)?;
        let mut past = locked(&self.past);
        past.follow(self.simulation.log());
        Ok(past.session(live))
    }

    /// Repeats all branches of a session of this scene from its start, each from where it left another one, and goes to
    /// the end of the current one. Then the past holds them, by their numbers, and nothing else. Where that is cancelled
    /// or fails, the simulation is somewhere on the way.
    pub fn repeat(&mut self, tree: &SessionTree, cancel: &CancelToken) -> Result<(), RepeatError> {
        let start = self.simulation.checkpoint()?;
        locked(&self.past).clear();
        let (mut done, all) = (0, tree.n_steps().max(1) as f32);
        for SessionBranch { id, left, session } in tree.branches() {
            locked(&self.past).number_next(*id);
            let first = match left.map(|(from, at)| self.leave(from, at, cancel)) {
                Some(Ok(())) => self.simulation.log().entries.len(),
                // There was no memory to keep the other one: what they have in common is repeated, too.
                None | Some(Err(TravelError::Forgotten { .. })) => self.begin_session(&start, session)?,
                Some(Err(error)) => return Err(error.into()),
            };
            let mut commands = session.commands[first..].iter().peekable();
            let last = session.header.last_step;
            for step in self.simulation.step_index()..=last {
                while let Some(logged) = commands.next_if(|logged| logged.step == step) {
                    self.apply(&logged.command)?;
                }
                if step < last {
                    let part = (done as f32 / all).min(1.0);
                    cancel.report("repeating the session", part);
                    self.step_unless(&cancel.part(part, part))?;
                    done += 1;
                }
            }
        }
        self.stand_at(tree.current().id)?;
        Ok(())
    }

    /// Goes to the end of a branch, if it is not there.
    fn stand_at(&mut self, branch: BranchId) -> Result<(), TravelError> {
        let is_there = locked(&self.past).live() == Some(branch);
        if is_there { Ok(()) } else { self.switch(branch) }
    }

    /// Begins a branch right after a step of another one, in which nothing is let go.
    fn leave(&mut self, from: BranchId, at: u64, cancel: &CancelToken) -> Result<(), TravelError> {
        self.stand_at(from)?;
        self.fork(at, cancel, |_| ()).map(drop)
    }

    /// Begins a branch where a session begins, in which everything is done up to its last reset there; how many commands
    /// that were.
    fn begin_session(&mut self, start: &Checkpoint, session: &Session) -> Result<usize, RepeatError> {
        let Session { header: SessionHeader { first_step, state, .. }, commands } = session;
        let at_start = &commands[..commands.partition_point(|logged| logged.step == *first_step)];
        let n_before = at_start.iter().rposition(|logged| logged.command == Command::Reset).map_or(0, |reset| reset + 1);
        self.begin_anew(RepeatError::from, |simulation| {
            simulation.restore(start, CommandLog::default())?;
            if let Some(state) = state {
                simulation.resume_with(state, ResumedParams::Present)?;
                // The session has the values of then.
                simulation.log.entries.clear();
            }
            session.check_start(simulation)?;
            Ok(commands[..n_before].iter().try_for_each(|logged| simulation.apply(&logged.command))?)
        })?;
        Ok(n_before)
    }
}

impl Past {
    /// Forgets everything.
    fn clear(&mut self) {
        self.segments.clear();
        self.branches.clear();
        self.version += 1;
    }

    /// The next branch has this number.
    fn number_next(&mut self, id: BranchId) {
        self.n_branches = id.saturating_sub(1);
    }

    /// All branches but forgotten ones; `live` is that of the live one.
    fn session(&self, live: Session) -> SessionTree {
        let mut kept: Vec<(&Branch, SessionBranch)> = vec![];
        for branch in self.branches.iter().filter(|branch| !branch.is_forgotten || branch.end.is_none()) {
            let session = match &branch.end {
                None => live.clone(),
                Some(end) => {
                    let (mut header, log) = (live.header.clone(), branch.log.clone());
                    (header.first_step, header.state) = (log.first_step, log.state);
                    (header.last_step, header.state_hash) = (end.step(), branch.end_hash.clone());
                    Session { header, commands: log.entries }
                }
            };
            // The first one that goes the same way for as long as any does.
            let mut left = None;
            for (other, saved) in &kept {
                let common = last_common_step(&branch.path, &other.path).filter(|at| has_in_common(&session, &saved.session, *at));
                if common.is_some_and(|at| left.is_none_or(|(_, most)| at > most)) {
                    left = common.map(|at| (other.id, at));
                }
            }
            kept.push((branch, SessionBranch { id: branch.id, left, session }));
        }
        let (id, branches) = (self.live().unwrap_or_default(), kept.into_iter().map(|(_, branch)| branch).collect());
        SessionTree::new(branches, id).unwrap_or_else(|| live.into())
    }
}

/// Whether two sessions have the same start, and the same commands before `step`, which both have come to.
fn has_in_common(a: &Session, b: &Session, step: u64) -> bool {
    let before = |session: &Session| session.commands.partition_point(|logged| logged.step < step);
    let (of_a, of_b) = (&a.commands[..before(a)], &b.commands[..before(b)]);
    let is_in = |session: &Session| (session.header.first_step..=session.header.last_step).contains(&step);
    let start = |session: &Session| (session.header.first_step, session.header.state.clone());
    start(a) == start(b) && is_in(a) && is_in(b) && of_a == of_b
}
