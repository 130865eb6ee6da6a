//! The past as a timeline shows it: a lane for each branch, with what happened in it.

use super::{BranchId, Past, last_common_step};
use crate::sim::Command;
use crate::step::StepReport;

/// A branch on the timeline.
#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    pub id: BranchId,
    /// Whether the simulation is at its end.
    pub is_live: bool,
    /// Steps whose pictures are kept, with their times [s], ascending.
    pub places: Vec<(u64, f64)>,
    /// The stretches that it goes through, each with the last step that it has of it.
    path: Vec<(u32, u64)>,
    /// In the order of their steps.
    pub events: Vec<Event>,
}

/// A mark on the timeline.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Steps that were done.
    pub step: u64,
    /// [s]
    pub time: f64,
    pub kind: EventKind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum EventKind {
    Grabbed,
    Released,
    /// A body was put back to where it started.
    PutBack(String),
    /// Bodies were moved by hand.
    Moved(Vec<String>),
    /// A value was changed: what, in words.
    Edited(String),
    NotConverged,
    /// So many points were limited in their motion.
    Limited(u32),
}

impl EventKind {
    /// What was not as it should be in a step.
    pub fn of_report(report: &StepReport) -> Option<Self> {
        match report.limited {
            Some(n) => Some(Self::Limited(n)),
            None => (!report.converged).then_some(Self::NotConverged),
        }
    }

    /// What a command does, if it is told.
    pub fn of_command(command: &Command) -> Option<Self> {
        Some(match command {
            Command::Grab { .. } => Self::Grabbed,
            Command::ReleaseGrab { .. } => Self::Released,
            Command::PutBack { body } => Self::PutBack(body.clone()),
            Command::MoveBodies { bodies, .. } => Self::Moved(bodies.clone()),
            Command::MoveGrab { .. } | Command::Grip { .. } | Command::Reset => return None,
            Command::SetMaterial(named) => Self::Edited(format!("material \"{}\"", named.name)),
            Command::SetGravity(_) => Self::Edited("gravity".into()),
            Command::SetTimeStep(_) => Self::Edited("time step".into()),
            Command::SetMaxStepMs(_) => Self::Edited("work of a step".into()),
            Command::SetIntegration(_) => Self::Edited("integration".into()),
            Command::Set(setting) => Self::Edited(setting.declared().0.into()),
            Command::SetFriction(_) => Self::Edited("friction".into()),
            Command::SetFixed(_) => Self::Edited("what is fixed".into()),
        })
    }

    /// As a sentence.
    pub fn sentence(&self) -> String {
        match self {
            Self::Grabbed => "A body was grabbed".into(),
            Self::Released => "It was let go".into(),
            Self::PutBack(body) => format!("{body} was dropped again"),
            Self::Moved(bodies) => format!("Moved by hand: {}", bodies.join(", ")),
            Self::Edited(what) => format!("Changed: {what}"),
            Self::NotConverged => "The step did not converge".into(),
            Self::Limited(0) => "The step was too hard for its time: it is not solved to the end".into(),
            Self::Limited(n) => format!("The step was too hard for its time: {n} points were limited"),
        }
    }
}

impl Lane {
    /// The last step that it has in common with another one; 0 if there is none.
    pub fn last_common_step(&self, other: &Self) -> u64 {
        last_common_step(&self.path, &other.path).unwrap_or(0)
    }

    /// The place of the last picture that is not after `time` [s]; the first one if all are.
    pub fn place_at(&self, time: f64) -> Option<(u64, f64)> {
        let n = self.places.partition_point(|(_, at)| *at <= time + 1e-12);
        self.places.get(n.saturating_sub(1)).copied()
    }

    /// The place of the last picture that is not after `step`.
    pub fn place_of(&self, step: u64) -> Option<(u64, f64)> {
        let n = self.places.partition_point(|(at, _)| *at <= step);
        self.places.get(n.saturating_sub(1)).copied()
    }

    /// The places beside that of `step`.
    pub fn before(&self, step: u64) -> Option<(u64, f64)> {
        let n = self.places.partition_point(|(at, _)| *at < step);
        self.places.get(n.checked_sub(1)?).copied()
    }

    pub fn after(&self, step: u64) -> Option<(u64, f64)> {
        self.places.get(self.places.partition_point(|(at, _)| *at <= step)).copied()
    }
}

impl Past {
    /// All branches but forgotten ones, in the order in which they began.
    pub fn lanes(&self) -> Vec<Lane> {
        self.branches.iter().filter(|branch| !branch.is_forgotten).map(|branch| self.lane(branch.id)).collect()
    }

    fn lane(&self, id: BranchId) -> Lane {
        let branch = self.branches.iter().find(|branch| branch.id == id);
        let mut lane = Lane {
            id,
            is_live: branch.is_some_and(|branch| branch.end.is_none()),
            places: self.places(id),
            path: branch.map(|branch| branch.path.clone()).unwrap_or_default(),
            events: vec![],
        };
        let faults = self.path(id).flat_map(|(segment, until)| segment.faults.iter().take_while(move |(step, _)| *step <= until));
        let entries = branch.map_or(&[][..], |branch| &branch.log.entries);
        // What a reset repeats was not done by anybody.
        let repeated = entries.iter().rposition(|logged| logged.command == Command::Reset).map_or(0, |reset| reset + 1);
        let commands = entries[repeated..].iter().filter_map(|logged| Some((logged.step, EventKind::of_command(&logged.command)?)));
        let events = faults.cloned().chain(commands);
        lane.events = events.map(|(step, kind)| Event { step, time: lane.place_of(step).map_or(0.0, |(_, time)| time), kind }).collect();
        lane.events.sort_by_key(|event| event.step);
        lane
    }
}
