//! The CPU backend: the reference, in f64 with threads; bodies that nothing touches are solved in f32 where that is as
//! good.

mod body_system;
mod matrix;
#[cfg(test)]
mod tests;
mod touched;
mod untouched;

use self::body_system::BodySystem;
use self::matrix::Matrix;
use self::touched::{IslandScratch, TouchedIslands};
use self::untouched::UntouchedBodies;
use crate::budget::Allowance;
use crate::cancel::CancelToken;
use crate::contact::generate::Detection;
use crate::contact::islands::{Island, Trial};
use crate::contact::methods::{self, RowSolver};
use crate::elastic::{Quaternion, RestPoses};
use crate::math::Vec3;
use crate::model::{ContactMethod, Model, Params, State};
use crate::step::{Backend, IslandWork, StepError, StepInputs, StepReport, SurfacePositions, Work, check_cancelled};

/// Where less than one in so many bodies will be touched, tangents in f64 are made of these alone.
const FEW: usize = 4;

/// Makes the solver of a method, if it knows the method.
pub type Methods = fn(ContactMethod) -> Option<Box<dyn RowSolver>>;

/// The CPU as backend.
pub struct CpuBackend {
    methods: Methods,
    matrix: Matrix,
    rests: RestPoses,
    /// Matrices of the deformable bodies in f32; while islands are solved they have them.
    systems: Vec<Option<Box<BodySystem>>>,
    islands: Vec<IslandScratch>,
    /// Matrices of the bodies of each island, while islands without contacts are solved.
    #[expect(clippy::vec_box, reason = "they go from list to list in each step")]
    untouched: Vec<Vec<Box<BodySystem>>>,
    turned: Turned,
}

impl Default for CpuBackend {
    fn default() -> Self {
        Self::with_methods(methods::row_solver)
    }
}

impl CpuBackend {
    /// With other methods than those of the product: the laboratory's.
    pub fn with_methods(methods: Methods) -> Self {
        Self {
            methods,
            matrix: Matrix::default(),
            rests: RestPoses::default(),
            systems: vec![],
            islands: vec![],
            untouched: vec![],
            turned: Turned::default(),
        }
    }

    /// Islands without contacts, in f32, if they end without any.
    fn solve_untouched(
        &mut self,
        step: &StepInputs,
        detection: &Detection,
        work: &mut Work,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        let is_untouched = |work: &IslandWork| work.contacts.is_empty();
        if step.params.is_double() || !work.island_works.iter().any(is_untouched) {
            return Ok(());
        }
        let Self { matrix, rests, systems, untouched, .. } = self;
        report.stages.time("assembly", || {
            rests.select(step.model, step.params, step.method == ContactMethod::Cwc, &step.loads.cancel);
            matrix.link(step);
        });
        check_cancelled(step.loads)?;
        untouched.resize_with(untouched.len().max(work.islands.list.len()), Vec::new);
        lend(systems, &work.islands.list, &mut *untouched);
        let bodies = UntouchedBodies::new(step, matrix, rests, report.stages.clock());
        let (budget, n_islands) = (&step.loads.budget, work.islands.list.len());
        let work_left = budget.left();
        work.for_each_island(untouched, |island, local, work, systems| {
            if !is_untouched(work) {
                return;
            }
            let allowance = Allowance::of_island(work_left, n_islands, island.share(step.model));
            let solved = bodies.solve(island, systems, &mut work.dv, &allowance);
            // What is not solved so is solved in f64: that decides whether the budget is exceeded.
            budget.spend(allowance.spent());
            let Some(mut solved) = solved else { return };
            let trial = Trial { island, local, dv: &work.dv };
            work.crosses = solved.stages.time("detection", || detection.renew_rows(&trial, &mut work.contacts)).crosses;
            work.solved = (work.contacts.is_empty() && solved.converged).then_some(solved);
        });
        take_back(systems, &work.islands.list, &mut *untouched);
        Ok(())
    }

    /// Islands that are not solved yet: in f64, and the matrices of large bodies in f32.
    fn solve_touched(
        &mut self,
        step: &StepInputs,
        detection: &Detection,
        work: &mut Work,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        if work.island_works.iter().all(|work| work.solved.is_some()) {
            return Ok(());
        }
        let Self { matrix, rests, islands, methods, systems, turned, .. } = self;
        let has_rests = step.method == ContactMethod::Cwc;
        let has_fields = step.method == ContactMethod::Cr;
        report.stages.time("assembly", || {
            if has_fields {
                rests.select(step.model, step.params, false, &step.loads.cancel);
            }
            let open = work.islands.list.iter().zip(&work.island_works).filter(|(_, work)| work.solved.is_none());
            let open = open.map(|(island, _)| island);
            if has_rests {
                turned.follow(rests, step, matrix, open.clone());
            }
            let is_single = |island: &Island| has_rests && rests.are_single(step.params, island.deformable());
            let mut double = open.filter(|island| !is_single(island)).peekable();
            if double.peek().is_some() {
                matrix.assemble_double(step, double);
            }
            matrix.link(step);
        });
        check_cancelled(step.loads)?;
        let (work_left, n_islands) = (step.loads.budget.left(), work.islands.list.len());
        let (methods, clock) = (*methods, report.stages.clock());
        let fields = has_fields.then_some(&*rests);
        let rests = has_rests.then_some(&*rests);
        let touched = TouchedIslands { step, detection, matrix, rests, fields, methods, clock, work_left, n_islands };
        islands.resize_with(islands.len().max(n_islands), IslandScratch::default);
        lend(systems, &work.islands.list, islands.iter_mut().map(|scratch| &mut scratch.systems));
        work.for_each_island(islands, |island, local, work, scratch| {
            if work.solved.is_none() {
                touched.solve(island, local, work, scratch);
            }
        });
        take_back(systems, &work.islands.list, islands.iter_mut().map(|scratch| &mut scratch.systems));
        Ok(())
    }
}

impl Backend for CpuBackend {
    fn offers(&self, method: ContactMethod) -> bool {
        (self.methods)(method).is_some()
    }

    fn prepare(&mut self, model: &Model, params: &Params, method: ContactMethod, cancel: &CancelToken) {
        if method == ContactMethod::Cwc {
            self.rests.prepare_with_halves(model, params, cancel);
        }
    }

    fn begin(&mut self, step: &StepInputs, dv: &mut [Vec3], report: &mut StepReport) -> Result<(), StepError> {
        self.turned.are.clear();
        self.systems.iter_mut().flatten().for_each(|system| system.forget());
        // What touched will touch.
        let will_touch = !step.state.contacts.entries.is_empty() || !step.model.attachments.is_empty();
        if will_touch && step.method == ContactMethod::Cwc {
            report.stages.time("assembly", || self.rests.prepare(step.model, step.params, &step.loads.cancel));
        }
        let is_single = step.method == ContactMethod::Cwc && self.rests.are_all_single(step.params);
        let n_touched = 2 * (step.state.contacts.entries.len() + step.model.attachments.len());
        let are_few = FEW * n_touched < step.model.bodies.len();
        self.matrix.begin(step, will_touch && !is_single && !are_few, &mut report.stages);
        // What touched will touch: the solve starts from the change of the last step.
        dv.copy_from_slice(&step.state.velocity_changes);
        Ok(())
    }

    fn linearise(&mut self, step: &StepInputs, report: &mut StepReport) -> Result<(), StepError> {
        self.turned.are.clear();
        self.systems.iter_mut().flatten().for_each(|system| system.forget());
        self.matrix.linearise(step, false, true, &mut report.stages);
        Ok(())
    }

    fn element_states(&self) -> &[Quaternion] {
        self.matrix.rotations()
    }

    fn solve_islands(
        &mut self,
        step: &StepInputs,
        detection: &Detection,
        work: &mut Work,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        self.solve_untouched(step, detection, work, report)?;
        self.solve_touched(step, detection, work, report)
    }

    fn commit(&mut self, _: &Model, state: &mut State) -> Result<(), StepError> {
        self.matrix.swap_rotations(&mut state.rotations);
        Ok(())
    }

    fn restore(&mut self, _: &Model, _: &State) -> Result<(), StepError> {
        Ok(())
    }

    fn surface(&mut self, model: &Model, state: &State) -> SurfacePositions {
        let positions = model.surface_positions(&state.positions(model));
        SurfacePositions::Host(positions.iter().map(|p| [p.x as f32, p.y as f32, p.z as f32, 1.0]).collect())
    }
}

/// The deformable bodies whose factors are turned to a step.
#[derive(Default)]
struct Turned {
    /// Empty before the first.
    are: Vec<bool>,
    are_due: Vec<bool>,
}

impl Turned {
    /// Turns the factors of the bodies of some islands, unless they are.
    fn follow<'i>(&mut self, rests: &mut RestPoses, step: &StepInputs, matrix: &Matrix, islands: impl Iterator<Item = &'i Island>) {
        let Self { are, are_due } = self;
        if are.is_empty() {
            rests.follow(step.model, step.params, step.state, &step.loads.cancel);
            are.resize(step.model.bodies.len(), false);
        }
        are_due.clear();
        are_due.resize(are.len(), false);
        for body in islands.flat_map(Island::deformable).map(|segment| segment.body.index()) {
            are_due[body] = !std::mem::replace(&mut are[body], true);
        }
        rests.turn_bodies(step.model, are_due, matrix.rotations());
    }
}

/// The matrices go to the islands of their bodies.
fn lend<'m>(systems: &mut Vec<Option<Box<BodySystem>>>, islands: &[Island], lists: impl IntoIterator<Item = &'m mut Vec<Box<BodySystem>>>) {
    let n_bodies = islands.iter().flat_map(Island::deformable).map(|segment| segment.body.index() + 1).max().unwrap_or(0);
    systems.resize_with(systems.len().max(n_bodies), || None);
    for (island, own) in islands.iter().zip(lists) {
        own.extend(island.deformable().iter().map(|segment| systems[segment.body.index()].take().unwrap_or_default()));
    }
}

/// And back.
fn take_back<'m>(
    systems: &mut [Option<Box<BodySystem>>],
    islands: &[Island],
    lists: impl IntoIterator<Item = &'m mut Vec<Box<BodySystem>>>,
) {
    for (island, own) in islands.iter().zip(lists) {
        island.deformable().iter().zip(own.drain(..)).for_each(|(segment, system)| systems[segment.body.index()] = Some(system));
    }
}
