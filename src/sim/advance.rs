//! One step: its substeps, and the halves of those that fail.

use super::pace::{MAX_HALVINGS, patience};
use super::threads::clock;
use super::{Control, Simulation, solve_duration};
use crate::model::{AcceptancePolicy, Params, State};
use crate::step::{StepError, StepReport, THROWN_AWAY};

impl Simulation {
    /// Substep by substep.
    pub(super) fn advance_substeps(&mut self, control: &Control) -> Result<StepReport, StepError> {
        let substeps = self.params.substeps.max(1);
        let dt = solve_duration(&self.params);
        if substeps == 1 {
            return self.advance_at_pace(dt, control);
        }
        let before = self.stepper.state()?.clone();
        let advanced = (1..substeps).try_fold(self.advance_at_pace(dt, control)?, |mut report, _| {
            report.follow(self.advance_at_pace(dt, control)?);
            Ok(report)
        });
        self.unless_failed(advanced, &before)
    }

    /// Advances by `dt`, in parts as large as the pace tells.
    fn advance_at_pace(&mut self, dt: f64, control: &Control) -> Result<StepReport, StepError> {
        let begun = self.pace.begin(dt);
        let report = self.advance(dt, 0, begun, control)?;
        self.pace.end(dt, begun, report.halvings);
        Ok(report)
    }

    /// Gives back the state before a solve that failed.
    fn unless_failed(&mut self, advanced: Result<StepReport, StepError>, before: &State) -> Result<StepReport, StepError> {
        if advanced.is_err() {
            self.stepper.set_state(before)?;
        }
        advanced
    }

    /// Advances by a part `dt` of a step that was halved so often; `begun`: halvings of the largest parts that are
    /// tried.
    fn advance(&mut self, dt: f64, halvings: u32, begun: u32, control: &Control) -> Result<StepReport, StepError> {
        if halvings < begun {
            return self.advance_halves(dt, halvings, begun, control);
        }
        let is_particular = self.params.acceptance == AcceptancePolicy::MustConverge;
        let acceptance = match halvings {
            0 => self.params.acceptance,
            MAX_HALVINGS => AcceptancePolicy::Anything,
            _ if is_particular => AcceptancePolicy::MustSettle,
            _ => AcceptancePolicy::MustNotCross,
        };
        let params = Params { time_step: dt, acceptance, halvings, ..self.params };
        let mut loads = self.loads(control)?;
        // What is taken as it is may take as long as it likes.
        loads.budget = loads.budget.of_attempt(patience(halvings).filter(|_| is_particular));
        let start = clock();
        match self.stepper.step(&params, &loads) {
            Ok(report) => Ok(StepReport { attempts: 1, halvings, ..report }),
            Err(error) if error.may_halve() && halvings < MAX_HALVINGS => {
                self.tally.rollbacks += 1;
                let thrown_away = clock() - start;
                let mut report = self.advance_halves(dt, halvings, begun, control)?;
                report.attempts += 1;
                report.taken_back = Some(error.cause());
                report.stages.add(THROWN_AWAY, thrown_away);
                Ok(report)
            }
            Err(error @ StepError::DeviceTooSmall { .. }) if self.falls_back => {
                self.go_on_on_cpu(&error)?;
                self.advance(dt, halvings, begun, control)
            }
            Err(error) => {
                if matches!(error, StepError::NotFinite { .. }) {
                    self.tally.non_finite += 1;
                }
                Err(error)
            }
        }
    }

    /// Both halves of a part, or neither.
    fn advance_halves(&mut self, dt: f64, halvings: u32, begun: u32, control: &Control) -> Result<StepReport, StepError> {
        let before = self.stepper.state()?.clone();
        let halves = self.advance(dt * 0.5, halvings + 1, begun, control).and_then(|mut first| {
            first.follow(self.advance(dt * 0.5, halvings + 1, begun, control)?);
            Ok(first)
        });
        self.unless_failed(halves, &before)
    }
}
