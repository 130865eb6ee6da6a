//! One implicit step, as the algorithm reads.

use std::sync::Arc;

use super::{Step, StepError, StepReport, StepWork, Stepper, SurfacePositions};
use crate::contact::generate::{Detection, InjectivityCertificate, Island, Surfaces};
use crate::contact::{Constraint, Source};
use crate::elastic::{TetGroups, stiffness};
use crate::geometry::{Bvh, Candidates, Mesh, MeshError};
use crate::math::Vec3;
use crate::model::Model;
use crate::model::{AcceptancePolicy, ContactMethod, Loads, Params, State};

/// The CPU backend; with another engine, a backend that leaves to the CPU what may meet and whether it crosses.
pub struct ImplicitStepper<E = Host> {
    engine: E,
    pub(super) model: Arc<Model>,
    pub(super) pool: Arc<rayon::ThreadPool>,
    groups: TetGroups,
    pub(super) surfaces: Surfaces,
    bvh: Bvh,
    monotone: InjectivityCertificate,
    pub(super) state: State,
    work: StepWork,
}

/// What solves a step for the unknowns and the contact forces.
pub trait Engine: Send {
    /// The method of a step.
    fn solver(&self, step: &Given, lightness: &mut Option<(f64, bool)>) -> ContactMethod;
    /// Pairs of features that may meet, as [`Bvh::find`] finds them.
    fn find(
        &mut self,
        bvh: &mut Bvh,
        mesh: &Mesh,
        x: &[Vec3],
        candidates: &mut Candidates,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        report.stages.time("detection", || bvh.find(mesh, x, candidates));
        Ok(())
    }
    /// Elements, right-hand side and what follows from them at the step's state; `work.dv` takes the start value. A step that was begun and did not end has
    /// never been.
    fn begin(&mut self, step: &Step, work: &mut StepWork, report: &mut StepReport) -> Result<(), StepError>;
    /// Solves all islands from the contacts that they were dealt, following the geometry with `detection` until nothing crosses any more.
    fn solve(&mut self, step: &Step, detection: &Detection, work: &mut StepWork, report: &mut StepReport) -> Result<(), StepError>;
    /// The step is accepted: `state` has moved on by `work.dv` and still lacks the rotations of the tets.
    fn end(&mut self, model: &Model, state: &mut State, work: &mut StepWork) -> Result<(), StepError>;
    /// Continues from `state`.
    fn restore(&mut self, model: &Model, state: &State) -> Result<(), StepError>;
    /// The vertices of the drawn surface at `state`.
    fn surface(&mut self, model: &Model, state: &State) -> SurfacePositions;
}

/// What a step begins with.
pub struct Given<'a> {
    pub model: &'a Model,
    pub params: &'a Params,
    pub loads: &'a Loads,
}

/// The CPU itself as engine.
#[derive(Debug, Default)]
pub struct Host;

impl Engine for Host {
    fn solver(&self, &Given { model, params, loads }: &Given, lightness: &mut Option<(f64, bool)>) -> ContactMethod {
        choose(params, model, loads, lightness)
    }

    fn begin(&mut self, step: &Step, work: &mut StepWork, report: &mut StepReport) -> Result<(), StepError> {
        step.pass_elements(work, &mut report.stages);
        Ok(())
    }

    fn solve(&mut self, step: &Step, detection: &Detection, work: &mut StepWork, report: &mut StepReport) -> Result<(), StepError> {
        step.solve_untouched(detection, work, &mut report.stages);
        step.solve_touched(detection, work, &mut report.stages);
        Ok(())
    }

    fn end(&mut self, _: &Model, state: &mut State, work: &mut StepWork) -> Result<(), StepError> {
        std::mem::swap(&mut state.rotations, &mut work.rotations);
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

#[derive(Debug, thiserror::Error)]
pub enum CpuError {
    #[error("the CPU backend's threads could not be started: {0}. Ask for fewer with --threads")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    #[error("the surfaces cannot be tested for contact: {0}; repair the mesh")]
    Surfaces(#[from] MeshError),
}

/// Ends may be so many contact tolerances from where the last velocities predict_positions them, and so many more where edges are long.
const MARGIN: f64 = 4.0;
const ROOM: f64 = 16.0;
/// Most searches for pairs in the last resort: more than one is needed only if bodies go where nothing predicted them.
const MAX_SEARCHES: usize = 4;

impl State {
    /// Keeps what the next step begins with: forces of springs and of active contacts. `order`: memory.
    fn remember(&mut self, contacts: &[Constraint], order: &mut Vec<u32>, dt: f64) {
        for joint in contacts {
            if let Source::Joint { attachment } = joint.source {
                self.attachment_forces[attachment as usize] = joint.force_in_space();
            }
        }
        let pressing = |k: &u32| contacts[*k as usize].point().is_some() && contacts[*k as usize].is_active();
        order.clear();
        order.extend((0..contacts.len() as u32).filter(pressing));
        order.sort_unstable_by_key(|k| (contacts[*k as usize].id(), *k));
        let entries = &mut self.contacts.entries;
        entries.clear();
        entries.extend(order.iter().filter_map(|k| contacts[*k as usize].memory(&self.velocity_changes, 0, dt)));
        entries.dedup_by(|next, first| first.pair == next.pair && first.join(next));
    }
}

impl ImplicitStepper {
    /// `threads` = 0 takes one a core.
    pub fn new(model: Arc<Model>, threads: usize) -> Result<Self, CpuError> {
        Self::with_engine(model, threads, Host)
    }
}

impl<E: Engine> ImplicitStepper<E> {
    /// `threads` = 0 takes one a core.
    pub fn with_engine(model: Arc<Model>, threads: usize, engine: E) -> Result<Self, CpuError> {
        let pool = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(threads).build()?);
        let work = StepWork::new(&model);
        let surfaces = Surfaces::new(&model)?;
        let bvh = Bvh::new(&surfaces.mesh, &surfaces.rest);
        let monotone = InjectivityCertificate::new(&model, &surfaces.mesh, &surfaces.rest);
        let groups = TetGroups::new(&model.tets, &model.materials);
        Ok(Self { engine, groups, state: State::initial(&model), work, pool, model, surfaces, bvh, monotone })
    }

    #[cfg(test)]
    pub fn engine_mut(&mut self) -> &mut E {
        &mut self.engine
    }

    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// One step, as the algorithm reads.
    pub(super) fn advance(&mut self, params: &Params, loads: &Loads) -> Result<StepReport, StepError> {
        let Self { engine, model, groups, state, work, surfaces, bvh, monotone, .. } = self;
        let model: &Model = model;
        let solver = engine.solver(&Given { model, params, loads }, &mut work.lightness);
        let step = Step { model, groups, state, params, loads, solver };
        let mut report = StepReport { converged: true, ..StepReport::default() };
        engine.begin(&step, work, &mut report)?;
        let memory = std::mem::take(&mut work.detection_memory);
        let detection = report.stages.time("detection", || Detection::new(model, surfaces, state, params, memory));
        report.stages.time("detection", || {
            monotone.start(model, groups, state);
            bvh.set_certified(monotone.is_certified());
            predict_positions(&detection, bvh, &state.velocity_changes, params, &mut work.predicted);
        });
        let mut candidates = std::mem::take(&mut work.candidates);
        engine.find(bvh, &surfaces.mesh, &detection.step.start, &mut candidates, &mut report)?;
        let mut crossing = vec![];
        // A smaller step is a better answer than a third search, while there may be one.
        let searches = if params.acceptance == AcceptancePolicy::Anything { MAX_SEARCHES } else { 2 };
        for search in 0..searches {
            report.stages.time("detection", || {
                work.islands.split(model, &surfaces.mesh, &candidates);
                work.deal_contacts(&detection, search == 0);
            });
            engine.solve(&step, &detection, work, &mut report)?;
            report.follow(work.take_report());
            if let Some(what) = not_finite(model, &work.dv) {
                return Err(StepError::NotFinite { what: "the velocity", body: what, step: state.step });
            }
            if !report.converged && params.acceptance == AcceptancePolicy::MustConverge && params.solver.must_converge() {
                return Err(StepError::NotConverged { step: state.step });
            }
            // What left its box may have met what was not looked at.
            let end = detection.step.end_positions(&Island::whole(model), &work.dv);
            let left = report.stages.time("detection", || bvh.cover(&surfaces.mesh, &end.x));
            if report.stages.time("detection", || monotone.end(model, groups, state, &work.dv, params.time_step)) {
                // The step as it would have been without the proof.
                drop(end);
                (work.candidates, work.detection_memory) = (candidates, detection.into_memory());
                return self.advance(params, loads);
            }
            if left > 0 {
                report.stages.time("detection", || bvh.find_more(&surfaces.mesh, &detection.step.start, &mut candidates));
            }
            // Each island has seen that nothing of what it looks at crosses, else all is looked at.
            let is_sure = left == 0 && report.converged && !work.crosses();
            crossing = report.stages.time("detection", || if is_sure { vec![] } else { detection.step.crossings(&candidates, &end) });
            work.gather_contacts();
            if left == 0 || crossing.is_empty() {
                break;
            }
        }
        if let Some(crossing) = crossing.first() {
            let [a, b] = surfaces.mesh.bodies(crossing.pair).map(|b| model.contact_body_name(b as usize).to_owned());
            if params.acceptance != AcceptancePolicy::Anything {
                return Err(StepError::Crossing { a, b, step: state.step });
            }
            stop_before_crossing(&detection, &candidates, state, &mut work.dv);
            report.converged = false;
        }
        (work.candidates, work.detection_memory) = (candidates, detection.into_memory());
        report.stages.time("update", || {
            state.advance(model, &work.dv, params.time_step);
            state.remember(&work.found, &mut work.order, params.time_step);
            work.detection_memory.keep(&mut work.found);
            engine.end(model, state, work)
        })?;
        Ok(report)
    }
}

/// Fits the boxes of the vertices to where they go if velocities change as they did in the last step.
pub(super) fn predict_positions(detection: &Detection, bvh: &mut Bvh, dv: &[Vec3], params: &Params, way: &mut Vec<Vec3>) {
    if bvh.is_idle() {
        return;
    }
    let (start, mesh) = (&detection.step.start, &detection.step.surfaces.mesh);
    let end = detection.step.end_positions(&Island::whole(detection.model), dv);
    way.clear();
    way.extend(end.x.iter().zip(start).map(|(x1, x0)| x1 - x0));
    let tolerance = params.contact_tolerance;
    bvh.refit(mesh, start, way, MARGIN * tolerance, ROOM * tolerance);
}

/// The last resort: all velocities are scaled so that nothing goes as far as to where something would cross.
fn stop_before_crossing(detection: &Detection, candidates: &Candidates, state: &State, dv: &mut [Vec3]) {
    let whole = Island::whole(detection.model);
    let rigid = state.rigid_bodies.iter().flat_map(|r| [r.velocity, r.angular_velocity]);
    let before: Vec<Vec3> = state.velocities.iter().copied().chain(rigid).collect();
    let full: Vec<Vec3> = before.iter().zip(&*dv).map(|(v, dv)| v + dv).collect();
    let mut part = 1.0;
    for _ in 0..8 {
        let found = detection.step.crossings(candidates, &detection.step.end_positions(&whole, dv));
        let Some(earliest) = found.iter().map(|c| c.time).reduce(f64::min) else { return };
        part *= 0.5 * earliest;
        for ((dv, full), before) in dv.iter_mut().zip(&full).zip(&before) {
            *dv = full * part - before;
        }
    }
    dv.iter_mut().zip(&before).for_each(|(dv, before)| *dv = -before);
}

/// Name of the first body with a velocity that is not finite.
fn not_finite(model: &Model, dv: &[Vec3]) -> Option<String> {
    let unknown = dv.iter().position(|dv| !dv.iter().all(|c| c.is_finite()))?;
    Some(match unknown.checked_sub(model.n_nodes()) {
        None => model.bodies[model.node_bodies[unknown] as usize].name.clone(),
        Some(rigid) => model.rigid_bodies[rigid / 2].name.clone(),
    })
}

impl<E: Engine> Stepper for ImplicitStepper<E> {
    fn step(&mut self, params: &Params, loads: &Loads) -> Result<StepReport, StepError> {
        let pool = self.pool.clone();
        pool.install(|| self.advance(params, loads))
    }

    fn state(&mut self) -> Result<State, StepError> {
        Ok(self.state.clone())
    }

    fn set_state(&mut self, state: &State) -> Result<(), StepError> {
        self.state.clone_from(state);
        self.monotone.forget();
        self.engine.restore(&self.model, state)
    }

    fn surface(&mut self) -> SurfacePositions {
        self.engine.surface(&self.model, &self.state)
    }
}

/// Where no diagonal block of A is more than this many times the mass of its node, bodies answer to a contact with little more than the nodes that it touches:
/// constraint anticipation then takes a few sweeps. Measured with one thread, a step in ms with anticipation and with warped compliance: `pyramid` (2.3) 223 and
/// 1074; `rings` (7.0) 59 and 62 in the heap; with two threads, from there to rest, 33 and 20.
const LIGHT: f64 = 4.0;

/// The method of a step. What is held by springs is left to the warped compliance: a sweep sees springs with the old velocities.
/// `lightness`: what was found for the last time step.
pub fn choose(params: &Params, model: &Model, loads: &Loads, lightness: &mut Option<(f64, bool)>) -> ContactMethod {
    if params.solver != ContactMethod::Auto {
        return params.solver;
    }
    let dt = params.time_step;
    let is_light = || model.n_nodes() > 0 && model.bodies.iter().all(|body| stiffness(model, body, dt) <= LIGHT);
    lightness.take_if(|(known, _)| *known != dt);
    let (_, is_light) = *lightness.get_or_insert_with(|| (dt, is_light()));
    let is_free = loads.grabs.is_empty() && model.attachments.is_empty();
    if is_free && is_light { ContactMethod::Ica } else { ContactMethod::Cwc }
}
