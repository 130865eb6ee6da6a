//! Going back in time, and from branch to branch.

use std::time::Instant;

use super::{Activity, Loop, Severity};
use crate::app::engine::{Arrival, Engine};
use crate::cancel::CancelToken;
use crate::sim::Command;
use crate::sim::past::BranchId;

/// A way through the past.
#[derive(Clone, Debug, PartialEq)]
pub enum Journey {
    /// To the end of a step of the present branch, where another one begins with these commands.
    Back { step: u64, commands: Vec<Command>, play: bool },
    /// To the end of another branch.
    Branch(BranchId),
    /// To right before this command was given.
    TakeBack { command: Command, play: bool },
}

impl Loop {
    /// Pauses, goes, and says that it has ended, also where it came to nothing.
    pub(super) fn travel(&mut self, generation: u64, journey: Journey) {
        self.playing = false;
        self.steps_wanted = 0;
        if self.next.scene.as_ref().is_some_and(|scene| scene.generation == generation) {
            self.next.arrival = match journey {
                Journey::Back { step, commands, play } => self.go_back(step, &commands, play),
                Journey::Branch(to) => self.arrival(|engine, _, _| engine.switch(to).map(|()| Arrival::There), None),
                Journey::TakeBack { command, play } => {
                    let arrival = self.arrival(|engine, cancel, passed| engine.take_back(&command, cancel, passed), None);
                    self.playing = play && arrival != Arrival::Failed;
                    arrival
                }
            };
        }
        self.next.journeys += 1;
        self.next.report = None;
        self.recording = None;
        self.next.frame_due = None;
        self.refresh_view();
        self.set_playing(self.playing);
    }

    fn go_back(&mut self, step: u64, commands: &[Command], play: bool) -> Arrival {
        let branch = |engine: &mut dyn Engine, cancel: &CancelToken, passed: &mut dyn FnMut(u64)| {
            let is_there = engine.branch(step, cancel, passed)?;
            Ok(if is_there { Arrival::There } else { Arrival::Stopped })
        };
        let arrival = self.arrival(branch, Some(step));
        match arrival {
            Arrival::There => {
                commands.iter().for_each(|command| self.apply(command));
                self.playing = play;
            }
            Arrival::Stopped => self.notify(Severity::Info, format!("Going back to step {step} was stopped; everything is as before")),
            Arrival::NotThere | Arrival::Failed => {}
        }
        arrival
    }

    /// Lets the engine go a way, shows how far it is, and tells why it has failed. `to`: the step at its end, if that
    /// is known.
    fn arrival<F>(&mut self, way: F, to: Option<u64>) -> Arrival
    where
        F: FnOnce(&mut dyn Engine, &CancelToken, &mut dyn FnMut(u64)) -> Result<Arrival, String>,
    {
        let (shared, cancel, since) = (self.shared.clone(), self.cancel.clone(), Instant::now());
        let mut on_way = self.next.clone();
        let mut passed = |at: u64| {
            on_way.activity = Activity::Travelling { at, to, since };
            shared.post(&on_way);
        };
        match self.guarded(|engine| way(engine, &cancel, &mut passed)) {
            Some(Ok(arrival)) => arrival,
            Some(Err(text)) => {
                self.notify(Severity::Error, text);
                Arrival::Failed
            }
            None => Arrival::Failed,
        }
    }
}
