//! Going back in time, and from branch to branch.

use std::time::Instant;

use super::{Activity, Loop, Severity};
use crate::sim::Command;
use crate::sim::past::BranchId;

/// A way through the past.
#[derive(Clone, Debug, PartialEq)]
pub enum Journey {
    /// To the end of a step of the present branch, where another one begins with these commands.
    Back { step: u64, commands: Vec<Command>, play: bool },
    /// To the end of another branch.
    Branch(BranchId),
}

impl Loop {
    /// Pauses, goes, and says that it has ended, also where it came to nothing.
    pub(super) fn travel(&mut self, generation: u64, journey: Journey) {
        self.playing = false;
        self.steps_wanted = 0;
        if self.next.scene.as_ref().is_some_and(|scene| scene.generation == generation) {
            match journey {
                Journey::Back { step, commands, play } => self.go_back(step, &commands, play),
                Journey::Branch(to) => {
                    if let Some(Err(text)) = self.guarded(|engine| engine.switch(to)) {
                        self.notify(Severity::Error, text);
                    }
                }
            }
        }
        self.next.journeys += 1;
        self.next.report = None;
        self.recording = None;
        self.next.frame_due = None;
        self.refresh_view();
        self.set_playing(self.playing);
    }

    fn go_back(&mut self, step: u64, commands: &[Command], play: bool) {
        let (shared, cancel, since) = (self.shared.clone(), self.cancel.clone(), Instant::now());
        let mut on_way = self.next.clone();
        let mut passed = |at: u64| {
            on_way.activity = Activity::Travelling { at, to: step, since };
            shared.post(&on_way);
        };
        match self.guarded(|engine| engine.branch(step, &cancel, &mut passed)) {
            Some(Ok(true)) => {
                commands.iter().for_each(|command| self.apply(command));
                self.playing = play;
            }
            Some(Ok(false)) => self.notify(Severity::Info, format!("Going back to step {step} was stopped; everything is as before")),
            Some(Err(text)) => self.notify(Severity::Error, text),
            None => {}
        }
    }
}
