//! Statistics of the steps of a run, kept for reports and traces.

use crate::body::BodyRef;
use crate::elastic::BeyondRange;
use crate::model::ContactMethod;
use crate::step::{StageTimes, StageWork, StepReport};

/// One step in numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepRecord {
    /// At the end of the step [s].
    pub time: f64,
    /// Wall time [ms].
    pub ms: f64,
    pub iterations: u32,
    pub passes: u32,
    /// None where the method knows no restarts.
    pub restarts: Option<u32>,
    pub relinearisations: u32,
    pub solves: u32,
    pub dual_iterations: u32,
    pub searches: u32,
    pub attempts: u32,
    pub round_trips: u32,
    /// What the step has asked of a device.
    pub device: StageWork,
    pub residual: f64,
    /// Iterations of Newton's method and what it left, where the step was solved by it.
    pub newton: Option<(u32, f64)>,
    pub energy_halvings: u32,
    pub converged: bool,
    pub contacts: u32,
    pub active_contacts: u32,
    /// By the independent checker [m]; none if it was not asked for.
    pub penetration: Option<f64>,
}

/// Steps beyond this many are forgotten from the front (a window may run for days).
const MAX_RECORDS: usize = 200_000;
/// A body hangs in mid-air once it has stood still for so many steps: a single one is a matter of the contact that it
/// has just lost.
const HANGING_STEPS: u32 = 5;

#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub records: Vec<StepRecord>,
    /// Sums of stage times over all steps [ms].
    pub stages: StageTimes,
    pub steps: u64,
    pub unconverged_steps: u64,
    pub limited_steps: u64,
    /// How long given motions waited for what could not give way [s].
    pub waited: f64,
    /// Steps after which a body was tangled.
    pub tangled_steps: u64,
    /// Bodies that stood still for some steps though nothing held them, in the order in which that was seen.
    pub hanging_bodies: Vec<BodyRef>,
    /// Those that do so now, and for how many steps.
    still_steps: Vec<(BodyRef, u32)>,
    /// Bodies that were deformed beyond what their models hold, each as it was when most of it was.
    pub beyond_range: Vec<BeyondRange>,
    pub rollbacks: u64,
    pub non_finite: u64,
    /// Points that were deep in an obstacle, and edges that were deep in a surface, without a contact force; summed
    /// over the measured steps.
    pub missed_candidates: u64,
    pub max_residual: f64,
    /// Halvings of motions that would have gained energy.
    pub energy_halvings: u64,
    pub max_penetration: Option<f64>,
    pub max_gap_of_active: f64,
    pub max_complementarity_error: f64,
    pub max_cone_violation: f64,
    pub dissipated_by_friction: f64,
    /// The last step's report: contact forces and pairs as they stand.
    pub last: StepReport,
}

/// Whether a method begins its Krylov space anew.
fn has_restarts(method: ContactMethod) -> bool {
    matches!(method, ContactMethod::Cr | ContactMethod::CrDiag | ContactMethod::CrNone | ContactMethod::CrTurn)
}

impl Tally {
    pub fn record(&mut self, report: &StepReport, time: f64, ms: f64, penetration: Option<f64>) {
        if self.records.len() == MAX_RECORDS {
            self.records.drain(..MAX_RECORDS / 2);
        }
        self.records.push(StepRecord {
            time,
            ms,
            iterations: report.iterations,
            passes: report.passes,
            restarts: has_restarts(report.choice.method).then_some(report.restarts),
            relinearisations: report.relinearisations,
            solves: report.solves,
            dual_iterations: report.dual_iterations,
            searches: report.searches,
            attempts: report.attempts,
            round_trips: report.round_trips,
            device: report.device_work.total(),
            residual: report.residual,
            newton: (report.newton_iterations > 0).then_some((report.newton_iterations, report.newton_residual)),
            energy_halvings: report.energy_halvings,
            converged: report.converged,
            contacts: report.contact.contacts,
            active_contacts: report.contact.active,
            penetration,
        });
        for (stage, ms) in &report.stages.times {
            self.stages.add(stage, *ms);
        }
        self.steps += 1;
        self.unconverged_steps += u64::from(!report.converged);
        self.limited_steps += u64::from(report.limited.is_some());
        self.waited += report.waited;
        self.tangled_steps += u64::from(!report.tangled.is_empty());
        self.count_hanging(&report.hanging);
        report.beyond_range.iter().for_each(|found| self.keep_worst(found));
        self.energy_halvings += u64::from(report.energy_halvings);
        self.max_residual = self.max_residual.max(report.residual);
        if let Some(depth) = penetration {
            self.max_penetration = Some(self.max_penetration.map_or(depth, |d| d.max(depth)));
        }
        let contact = &report.contact;
        self.max_gap_of_active = self.max_gap_of_active.max(contact.max_gap_of_active);
        self.max_complementarity_error = self.max_complementarity_error.max(contact.max_complementarity_error);
        self.max_cone_violation = self.max_cone_violation.max(contact.max_cone_violation);
        self.dissipated_by_friction += contact.dissipated_by_friction;
        self.last = report.clone();
    }

    fn keep_worst(&mut self, found: &BeyondRange) {
        match self.beyond_range.iter_mut().find(|known| known.body == found.body) {
            Some(known) if known.part < found.part => *known = found.clone(),
            Some(_) => {}
            None => self.beyond_range.push(found.clone()),
        }
    }

    fn count_hanging(&mut self, hanging: &[BodyRef]) {
        let Self { still_steps, hanging_bodies, .. } = self;
        still_steps.retain(|(body, _)| hanging.contains(body));
        for body in hanging {
            let steps = match still_steps.iter_mut().find(|(known, _)| known == body) {
                Some((_, steps)) => {
                    *steps += 1;
                    *steps
                }
                None => {
                    still_steps.push((*body, 1));
                    1
                }
            };
            if steps >= HANGING_STEPS && !hanging_bodies.contains(body) {
                hanging_bodies.push(*body);
            }
        }
    }

    /// Bodies that stand still now, and have for some steps, though nothing holds them.
    pub fn hanging_now(&self) -> impl Iterator<Item = BodyRef> {
        self.still_steps.iter().filter(|(_, steps)| *steps >= HANGING_STEPS).map(|(body, _)| *body)
    }
}
