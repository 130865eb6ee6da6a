//! One semi-implicit step, to be read from the top: what may touch, islands, velocity changes and contact forces, what
//! crosses, the new state.

use std::sync::Arc;

use super::choose::{Choice, choose};
use super::guard::Guard;
use super::hanging::Hanging;
use super::limit::{Limited, Limiter};
use super::newton::{Newton, Next};
use super::predict::{free_fall, predict_positions};
use super::spin::keep_spin;
use super::{Backend, Clock, StepError, StepInputs, StepReport, Stepper, SurfacePositions, Work, check_cancelled};
use crate::body::BodyRef;
use crate::budget::{CANDIDATE_WORK, COVER_WORK, SEARCH_WORK, TET_WORK};
use crate::cancel::CancelToken;
use crate::contact::generate::{Detection, InjectivityCertificate, Overlap, Surfaces, untangle};
use crate::contact::{Constraint, ContactReport, Source};
use crate::elastic::TetGroups;
use crate::geometry::{Bvh, Candidates, Mesh, MeshError, SearchLimit};
use crate::math::Vec3;
use crate::model::{AcceptancePolicy, ContactMethod, HeldPoint, Integration, LaterPose, Loads, Model, Params, State, StepSpan};

/// The semi-implicit step with any backend.
pub struct ImplicitStepper<B> {
    backend: B,
    clock: Clock,
    pub(crate) model: Arc<Model>,
    groups: TetGroups,
    pub(crate) surfaces: Surfaces,
    bvh: Bvh,
    certificate: InjectivityCertificate,
    pub(crate) state: State,
    work: Work,
    pub(crate) newton: Newton,
    hanging: Hanging,
}

/// Searches for candidates where a smaller step is no answer any more; more than one is needed only if bodies leave
/// their predicted trajectories.
const MAX_SEARCHES: usize = 4;
/// Searches while a smaller step is a better answer than a fourth one.
const MAX_SEARCHES_BEFORE_HALVING: usize = 3;
/// Most pairs that a search finds: more fit into no memory, and only what flies to pieces has so many.
const MAX_CANDIDATES: usize = 5_000_000;
/// After so many steps in a row in which the factor of the rest pose said too little one of a later pose is made.
const LASTING: u32 = 3;
/// Bodies with later poses have no more nodes in all: bodies that are alike share the factor of their rest pose, but
/// not these.
const MOST_POSED: usize = 50_000;
/// Pairs for each triangle that a search finds whatever is left of the budget; what rests has a tenth of one.
const LEAST_CANDIDATES: usize = 4;

/// How islands were solved with the candidates that they have.
#[derive(PartialEq)]
enum Islands {
    Solved,
    /// Some bodies do not move as they were solved.
    HeldBack,
    /// Not to the end: what has left its boxes is searched for first.
    ToBeSearched,
    BudgetExceeded,
}

/// The velocity changes about which candidates are sought.
enum Expected {
    /// Those of the last step.
    AsBefore,
    /// Those that were solved for.
    AsSolved,
}

/// How a solve of all islands ended.
enum Solved {
    Accepted,
    /// A body that was certified not to touch itself has lost its certificate in a limited step, which is made again
    /// without it.
    CertificateLost,
    /// What is limited is in the way of a given motion: the step is solved again, in which these wait.
    RunOver,
}

impl<B: Backend> ImplicitStepper<B> {
    /// # Errors
    /// If the surfaces cannot be tested for contact.
    pub fn new(model: Arc<Model>, backend: B, clock: Clock) -> Result<Self, MeshError> {
        let surfaces = Surfaces::new(&model)?;
        let bvh = Bvh::carried(&surfaces.mesh, &surfaces.rest, &Surfaces::hosts(&model));
        Ok(Self::with_surfaces(model, backend, clock, surfaces, bvh))
    }

    /// With the surfaces of the model, and the tree over them ([`Bvh::carried`]).
    pub fn with_surfaces(model: Arc<Model>, backend: B, clock: Clock, surfaces: Surfaces, bvh: Bvh) -> Self {
        let certificate = InjectivityCertificate::new(&model, &surfaces.mesh, &surfaces.rest);
        let (state, work) = (State::initial(&model), Work::new(&model));
        let groups = TetGroups::at(&model, &state);
        let (newton, hanging) = (Newton::default(), Hanging::default());
        Self { backend, clock, groups, state, work, newton, hanging, model, surfaces, bvh, certificate }
    }

    #[cfg(test)]
    pub fn backend_mut(&mut self) -> &mut B {
        &mut self.backend
    }

    /// One step.
    pub(crate) fn advance(&mut self, params: &Params, loads: &Loads) -> Result<StepReport, StepError> {
        check_cancelled(loads)?;
        self.work.unlimited.clear();
        self.work.held.clear();
        self.work.is_torn = false;
        let choice = choose(params, &self.model, loads, &self.backend, &mut self.work.mass_dominated);
        let mut report = StepReport::begin(self.clock, choice);
        let mut span = StepSpan { dt: params.time_step, script: params.time_step };
        let mut is_solved = false;
        loop {
            report.converged = true;
            let Self { backend, model, groups, state, work, newton, surfaces, bvh, certificate, .. } = self;
            let step =
                StepInputs { model, groups, state, params, loads, method: choice.method, second_order: &[], iterate: None, boxes: None };
            let mut newton = (params.integration != Integration::SemiImplicit).then_some(newton);
            if !is_solved {
                newton.iter_mut().for_each(|newton| newton.begin(model, state, params));
                let inputs = newton.as_ref().map_or(step, |newton| newton.inputs(&step));
                backend.begin(&inputs, &mut work.dv, &mut report)?;
                loads.budget.spend(TET_WORK * model.tets.len() as u64);
            }
            let memory = std::mem::take(&mut work.detection_memory);
            let detection = report.stages.time("detection", || Detection::new(model, surfaces, state, params, span, &loads.cancel, memory));
            let solved = Solve { step, newton, detection: &detection, backend, bvh, certificate, work, report: &mut report }.run(is_solved);
            self.work.detection_memory = detection.into_memory();
            match solved? {
                Solved::Accepted => break,
                Solved::CertificateLost => is_solved = false,
                Solved::RunOver => {
                    span.script = 0.0;
                    // Without work left, what was found is limited once more.
                    is_solved = loads.budget.is_spent() || loads.budget.is_exceeded();
                }
            }
        }
        let Self { backend, model, groups, state, work, newton, hanging, surfaces, certificate, .. } = self;
        if span.script < span.dt {
            report.waited = span.dt;
            report.limited = report.limited.or(Some(0));
        }
        let step = StepInputs { model, groups, state, params, loads, method: choice.method, second_order: &[], iterate: None, boxes: None };
        // What a driven body waits at is held by it.
        report.hanging = if report.waited > 0.0 { vec![] } else { hanging.find(&step, &work.dv, &work.found, &work.held) };
        report.stages.time("update", || {
            if params.integration == Integration::Bdf2 {
                newton.end(report.limited.is_some());
                state.advance_second_order(model, &work.dv, span, &newton.second_order, &newton.is_smooth);
            } else {
                state.history.clear();
                state.advance(model, &work.dv, span);
            }
            if !work.unlimited.is_empty() {
                // The next solve starts from what this one found, not from what stopped it.
                state.velocity_changes.copy_from_slice(&work.unlimited);
                work.unlimited.clear();
            }
            let was_tangled = state.tangled.contains(&true);
            if untangle(model, surfaces, state, params.time_step) {
                work.guard = Guard::default();
            }
            if was_tangled {
                *groups = TetGroups::at(model, state);
            }
            if work.is_torn {
                // Forces that tore something apart are no beginning.
                state.contacts.entries.clear();
            } else {
                remember(state, &work.found, &mut work.order, params.time_step);
            }
            work.detection_memory.keep(&mut work.found);
            certificate.keep(state);
            backend.commit(model, state)?;
            keep_poses(model, state, &report.outgrown);
            count_slow(state, &report.slow);
            Ok(())
        })?;
        let bodies = self.state.tangled.iter().enumerate().filter(|(_, is_tangled)| **is_tangled);
        report.tangled = bodies.map(|(body, _)| BodyRef::Deformable(body as u32)).collect();
        Ok(report)
    }
}

/// The solve of one step: candidates, islands, forces, until nothing crosses.
struct Solve<'a, B> {
    /// At the start of the step.
    step: StepInputs<'a>,
    /// Unless the step is linearised once.
    newton: Option<&'a mut Newton>,
    detection: &'a Detection<'a>,
    backend: &'a mut B,
    bvh: &'a mut Bvh,
    certificate: &'a mut InjectivityCertificate,
    work: &'a mut Work,
    report: &'a mut StepReport,
}

impl<B: Backend> Solve<'_, B> {
    /// `is_solved`: the velocity changes are there, and are only limited.
    fn run(mut self, is_solved: bool) -> Result<Solved, StepError> {
        let StepInputs { model, groups, state, .. } = self.step;
        self.report.stages.time("detection", || self.certificate.start(model, groups, state));
        let mut candidates = std::mem::take(&mut self.work.candidates);
        let solved = self.find_candidates(&mut candidates, Expected::AsBefore).and_then(|()| match is_solved {
            true => self.limit(&mut candidates),
            false => self.solve_among(&mut candidates),
        });
        self.work.candidates = candidates;
        solved
    }

    /// Pairs of features that may meet if velocities change about as is expected.
    fn find_candidates(&mut self, candidates: &mut Candidates, expected: Expected) -> Result<(), StepError> {
        let Self { step: StepInputs { state, params, loads, .. }, detection, backend, bvh, certificate, work, report, .. } = self;
        let Work { dv, predicted, .. } = &mut **work;
        let dv = match expected {
            Expected::AsBefore => &state.velocity_changes,
            Expected::AsSolved => &*dv,
        };
        report.stages.time("detection", || {
            // What is tangled has no pairs with itself, either.
            bvh.set_certified(certificate.is_certified().zip(&state.tangled).map(|(certified, tangled)| certified || *tangled));
            predict_positions(detection, bvh, dv, params, predicted);
        });
        report.searches += 1;
        let mesh = &detection.step.surfaces.mesh;
        bvh.limit_search(search_limit(loads, mesh));
        backend.find_candidates(bvh, mesh, &detection.step.start, candidates, report)?;
        let n_vertices = if bvh.is_idle() { 0 } else { detection.step.start.len() };
        loads.budget.spend(SEARCH_WORK * n_vertices as u64 + CANDIDATE_WORK * bvh.n_found(candidates.len()) as u64);
        check_cancelled(loads)
    }

    /// Solves all islands, searching again for what left its predicted trajectory, and accepts or refuses what comes of
    /// it.
    fn solve_among(&mut self, candidates: &mut Candidates) -> Result<Solved, StepError> {
        let StepInputs { model, groups, state, params, loads, .. } = self.step;
        let (detection, mesh) = (self.detection, &self.detection.step.surfaces.mesh);
        let may_halve = params.acceptance.may_halve();
        let mut overlaps: Vec<Overlap> = vec![];
        if !self.bvh.is_complete() {
            // What was predicted is of no use, then or in the next step.
            self.work.dv.iter_mut().zip(free_fall(model, params)).for_each(|(dv, fall)| *dv = fall);
            return self.refuse(StepError::NotConverged { step: loads.step }, candidates);
        }
        let mut solves_left = if may_halve { MAX_SEARCHES_BEFORE_HALVING } else { MAX_SEARCHES };
        let (mut is_first, mut may_search_early) = (true, true);
        while solves_left > 0 {
            let Self { work, report, .. } = self;
            report.stages.time("detection", || {
                work.islands.split(model, mesh, candidates, |link| detection.link_bodies(candidates, link));
                work.assign_contacts(detection, std::mem::take(&mut is_first));
            });
            let solved = match self.solve_islands(may_search_early) {
                Ok(Islands::BudgetExceeded) => return self.limit(candidates),
                Ok(solved) => solved,
                Err(error) if error.may_halve() => return self.refuse(error, candidates),
                Err(error) => return Err(error),
            };
            let Self { bvh, certificate, work, report, .. } = self;
            // What left its box may have met what was not looked at, and what may touch itself after all as well.
            let end = detection.step.end_positions(&detection.step.surfaces.whole, &work.dv);
            let mut left = report.stages.time("detection", || bvh.cover(mesh, &end.x) + bvh.cover_nodes(&end.node_motions()));
            let is_lost = report.stages.time("detection", || certificate.end(model, groups, state, &work.dv, params.time_step));
            loads.budget.spend(COVER_WORK * end.x.len() as u64 + SEARCH_WORK * left as u64);
            if is_lost {
                left = end.x.len();
                self.find_candidates(candidates, Expected::AsSolved)?;
            } else if left > 0 {
                report.searches += 1;
                let before = candidates.len();
                bvh.limit_search(search_limit(loads, mesh));
                report.stages.time("detection", || bvh.find_more(mesh, &detection.step.start, candidates));
                loads.budget.spend(CANDIDATE_WORK * bvh.n_found(candidates.len() - before) as u64);
                check_cancelled(loads)?;
            }
            let Self { bvh, work, report, .. } = self;
            if !bvh.is_complete() {
                return self.refuse(StepError::NotConverged { step: loads.step }, candidates);
            }
            if solved == Islands::ToBeSearched {
                may_search_early = false;
                continue;
            }
            // A body loses its certificate once a step.
            solves_left -= usize::from(!is_lost);
            // Each island has seen that none of its candidates crosses, and that nothing enters obstacles; else all is
            // tested.
            let is_held = solved == Islands::HeldBack;
            let is_sure = left == 0 && report.converged && !is_held && !work.crosses();
            overlaps = report.stages.time("detection", || if is_sure { vec![] } else { detection.overlaps(candidates, &end) });
            if !is_sure {
                loads.budget.spend(detection.overlaps_work(candidates));
                check_cancelled(loads)?;
            }
            if left == 0 || overlaps.is_empty() || loads.budget.is_spent() {
                break;
            }
        }
        if let Some(overlap) = overlaps.first() {
            let [a, b] = overlap.bodies.map(|body| model.body_name(body).to_owned());
            return self.refuse(StepError::Crossing { a, b, step: loads.step }, candidates);
        }
        Ok(Solved::Accepted)
    }

    /// Solves the islands as they are; what is tangled is not turned by that. `may_search_early`: they may stop where
    /// it is better to search again first.
    fn solve_islands(&mut self, may_search_early: bool) -> Result<Islands, StepError> {
        let solved = self.solve_equations(may_search_early)?;
        let Work { found, dv, .. } = &mut *self.work;
        let is_solved = solved != Islands::BudgetExceeded && solved != Islands::ToBeSearched;
        let is_turned_back = is_solved && keep_spin(&self.step, found, dv);
        Ok(if is_turned_back { Islands::HeldBack } else { solved })
    }

    /// Solves the equations of all islands, again and again where Newton's method asks for it, and holds back what gains
    /// energy.
    fn solve_equations(&mut self, may_search_early: bool) -> Result<Islands, StepError> {
        let Self { step, newton, detection, backend, bvh, work, report, .. } = self;
        let StepInputs { model, params, loads, .. } = *step;
        loop {
            let inputs = newton.as_ref().map_or(*step, |newton| newton.inputs(step));
            let inputs = StepInputs { boxes: may_search_early.then_some(&**bvh), ..inputs };
            backend.solve_islands(&inputs, detection, work, report)?;
            check_cancelled(loads)?;
            // Contacts are those of the last solve, as is what it has left: friction takes no energy in those before.
            (report.contact, report.converged, report.is_unsettled) = (ContactReport::default(), true, false);
            report.follow(work.collect());
            if loads.budget.is_exceeded() {
                return Ok(Islands::BudgetExceeded);
            }
            if loads.budget.has_lost_patience() {
                return Err(StepError::TooHard { step: loads.step });
            }
            if let Some(unknown) = work.dv.iter().position(|dv| !dv.iter().all(|c| c.is_finite())) {
                let body = model.body_of_unknown(unknown);
                return Err(StepError::not_finite("the velocity", model, body, step.state, params.time_step, loads.step));
            }
            let is_refused = match params.acceptance {
                AcceptancePolicy::MustConverge => !report.converged,
                // Other methods may need more iterations than they have.
                AcceptancePolicy::MustSettle => report.is_unsettled && step.method == ContactMethod::Cwc,
                AcceptancePolicy::MustNotCross | AcceptancePolicy::Anything => false,
            };
            if is_refused {
                return Err(StepError::NotConverged { step: loads.step });
            }
            if work.is_to_be_searched() {
                return Ok(Islands::ToBeSearched);
            }
            let (states, Work { islands, found, dv, guard, .. }) = (backend.element_states(), &mut **work);
            let Some(newton) = newton else {
                let residual = report.residual;
                let held = report.stages.time("elements", || guard.hold_back(step, states, found, residual, dv));
                report.energy_halvings += held.halvings;
                let solved = if held.halvings > 0 { Islands::HeldBack } else { Islands::Solved };
                return held.refused.map_or(Ok(solved), Err);
            };
            if let Next::Done { is_cut } = newton.advance(step, states, islands, found, dv, report)? {
                return Ok(if is_cut { Islands::HeldBack } else { Islands::Solved });
            }
            backend.linearise(&newton.inputs(step), report)?;
            report.stages.time("detection", || work.assign_contacts(detection, false));
        }
    }

    /// A step that is not accepted as it is fails, so that it is halved, where that may be and can still be afforded.
    /// Else what would cross is limited; without a budget nothing that is not finite is accepted.
    fn refuse(&mut self, error: StepError, candidates: &mut Candidates) -> Result<Solved, StepError> {
        let StepInputs { params, loads: Loads { budget, .. }, .. } = self.step;
        let may_halve = params.acceptance.may_halve() && budget.affords_another_attempt();
        if may_halve || (matches!(error, StepError::NotFinite { .. }) && !budget.is_limited()) {
            return Err(error);
        }
        self.limit(candidates)
    }

    /// Accepts the step as far as it was solved: what would cross is limited in its motion.
    fn limit(&mut self, candidates: &mut Candidates) -> Result<Solved, StepError> {
        let Self { step: StepInputs { model, groups, state, params, loads, .. }, detection, bvh, certificate, work, report, .. } = self;
        work.unlimited.clone_from(&work.dv);
        let (allowance, limit) = (loads.budget.of_limiting(), search_limit(loads, &detection.step.surfaces.mesh));
        let limiter = Limiter {
            model,
            state,
            detection,
            bvh,
            dt: params.time_step,
            tolerance: params.contact_tolerance,
            limit,
            allowance: &allowance,
        };
        let limited = report.stages.time("detection", || limiter.limit(candidates, &mut work.dv));
        loads.budget.spend(allowance.spent());
        let Some(limited) = limited else {
            check_cancelled(loads)?;
            std::mem::swap(&mut work.dv, &mut work.unlimited);
            work.unlimited.clear();
            return Ok(Solved::RunOver);
        };
        let Limited { n_vertices, held, is_torn } = limited;
        work.held = held;
        work.is_torn = is_torn;
        if is_torn {
            work.unlimited.clear();
            work.unlimited.extend(free_fall(model, params));
        }
        check_cancelled(loads)?;
        report.limited = Some(n_vertices as u32);
        report.converged = false;
        // Pairs of certified bodies with themselves were not among the candidates.
        if report.stages.time("detection", || certificate.end(model, groups, state, &work.dv, params.time_step)) {
            certificate.give_up();
            return Ok(Solved::CertificateLost);
        }
        Ok(Solved::Accepted)
    }
}

/// How many pairs a search may find with what is left of the budget.
fn search_limit(loads: &Loads, mesh: &Mesh) -> SearchLimit {
    let affordable = |left: u64| ((left / CANDIDATE_WORK) as usize).max(LEAST_CANDIDATES * mesh.triangles.len());
    let candidates = loads.budget.left().map_or(MAX_CANDIDATES, affordable).min(MAX_CANDIDATES);
    SearchLimit { candidates, cancel: loads.cancel.clone() }
}

/// Keeps what the next step begins with: forces of joints and of active contacts. `order`: memory.
fn remember(state: &mut State, contacts: &[Constraint], order: &mut Vec<u32>, dt: f64) {
    for joint in contacts {
        if let Source::Joint { attachment } = joint.source {
            state.attachment_forces[attachment as usize] = joint.force_in_space();
        }
    }
    let pressing = |k: &u32| contacts[*k as usize].point().is_some() && contacts[*k as usize].is_active();
    order.clear();
    order.extend((0..contacts.len() as u32).filter(pressing));
    order.sort_unstable_by_key(|k| (contacts[*k as usize].id(), *k));
    let State { contacts: warm_start, velocity_changes, .. } = state;
    let entries = &mut warm_start.entries;
    entries.clear();
    entries.extend(order.iter().filter_map(|k| contacts[*k as usize].memory(|unknown| velocity_changes[unknown], dt)));
    entries.dedup_by(|next, first| first.pair == next.pair && first.join(next));
}

/// Bodies whose factor said too little in the step go on with that of the pose at its end, where that lasts: an impact
/// is over before another pose than the one at rest serves.
fn keep_poses(model: &Model, state: &mut State, outgrown: &[BodyRef]) {
    let n_nodes = |body: usize| model.bodies[body].nodes.len();
    let mut n_posed: usize = (0..model.bodies.len()).filter(|body| state.later_poses[*body].is_some()).map(n_nodes).sum();
    for body in 0..model.bodies.len() {
        // What is tangled has another matrix than its materials tell.
        let is_outgrown = outgrown.contains(&BodyRef::Deformable(body as u32)) && !state.tangled[body];
        state.outgrown[body] = in_a_row(state.outgrown[body], is_outgrown);
        let is_posed = state.later_poses[body].is_some();
        let may_begin = || state.outgrown[body] >= LASTING && n_posed + n_nodes(body) <= MOST_POSED;
        if is_outgrown && (is_posed || may_begin()) {
            n_posed += if is_posed { 0 } else { n_nodes(body) };
            state.later_poses[body] = Some(Arc::new(LaterPose::of(model, state, body)));
        }
    }
}

/// Counts the steps in a row in which corrections of a body were slow.
fn count_slow(state: &mut State, slow: &[BodyRef]) {
    for (body, steps) in state.slow.iter_mut().enumerate() {
        *steps = in_a_row(*steps, slow.contains(&BodyRef::Deformable(body as u32)));
    }
}

/// How many steps in a row it is after another one, in which it `is_so` or not.
fn in_a_row(steps: u32, is_so: bool) -> u32 {
    if is_so { steps.saturating_add(1) } else { 0 }
}

impl<B: Backend> Stepper for ImplicitStepper<B> {
    fn prepare(&mut self, params: &Params, cancel: &CancelToken) {
        let Choice { method, .. } = choose(params, &self.model, &Loads::default(), &self.backend, &mut self.work.mass_dominated);
        self.backend.prepare(&self.model, params, method, cancel);
    }

    fn step(&mut self, params: &Params, loads: &Loads) -> Result<StepReport, StepError> {
        let stepped = self.advance(params, loads);
        if stepped.is_err() {
            // As if it had not been begun.
            self.certificate.recall(&self.state);
        }
        stepped
    }

    fn time(&self) -> f64 {
        self.state.time
    }

    fn script_time(&self) -> f64 {
        self.state.script_time()
    }

    fn state(&mut self) -> Result<&State, StepError> {
        Ok(&self.state)
    }

    fn motions(&mut self, points: &[HeldPoint]) -> Result<Vec<(Vec3, Vec3)>, StepError> {
        Ok(points.iter().map(|point| point.motion(&self.model, &self.state)).collect())
    }

    fn set_state(&mut self, state: &State) -> Result<(), StepError> {
        if self.state.tangled.contains(&true) || state.tangled.contains(&true) {
            self.groups = TetGroups::at(&self.model, state);
        }
        self.state.clone_from(state);
        self.work.guard = Guard::default();
        self.certificate.recall(state);
        self.backend.restore(&self.model, state)
    }

    fn surface(&mut self) -> SurfacePositions {
        self.backend.surface(&self.model, &self.state)
    }
}
