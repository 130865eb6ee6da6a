//! The reference backend: f64, threaded, every formula in its plain form.

mod assemble;
mod contacts;
mod elements;
mod lanes;
mod monotone;
mod rest;
mod rotation;
mod solve;
mod stress;
#[cfg(test)]
mod tests;

pub use self::contacts::{ContactPressure, set_apart};
pub use assemble::{Damping, edge_block, matrix, right_hand_side};
use assemble::{link, single_blocks};
use elements::{CornerForces, SingleElements};
pub use elements::{Element, NodeMotion, TetGroups, elements, gradient};
pub use rotation::{IDENTITY, Quaternion};
pub use stress::{cauchy_stress, von_mises};

use std::sync::Arc;

use self::contacts::{Detection, Scope, Surfaces};
use self::monotone::Monotone;
use self::rest::{RestPoses, stiffness};
use self::solve::{Elastic, ScopeWork, solve_scope};
use rayon::prelude::*;

use super::{ContactSolver, Demand, Loads, Params, RigidState, State, StepError, StepReport, Stepper, SurfacePositions};
use crate::collision::{Bvh, Candidates, MeshError};
use crate::contact::baselines::Method;
use crate::contact::{Contact, ContactMemory, Problem};
use crate::math::{Mat3, Vec3, split_mut};
use crate::model::{Attachment, Model};
use crate::sparse::{Operator, SingleBlock, TwoLevel};

/// The CPU backend.
pub struct CpuStepper {
    model: Arc<Model>,
    pool: Arc<rayon::ThreadPool>,
    damping: Damping,
    groups: TetGroups,
    surfaces: Surfaces,
    bvh: Bvh,
    monotone: Monotone,
    /// Obstacles are also met by points inside edges and triangles.
    inside_features: bool,
    state: State,
    work: Work,
}

#[derive(Debug, thiserror::Error)]
pub enum CpuError {
    #[error("the CPU backend's threads could not be started: {0}. Ask for fewer with --threads")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    #[error("the surfaces cannot be tested for contact: {0}; repair the mesh")]
    Surfaces(#[from] MeshError),
}

#[derive(Default)]
struct Work {
    rotations: Vec<Quaternion>,
    motions: Vec<NodeMotion>,
    elements: SingleElements,
    /// In f64, for steps that need the matrix in f64.
    whole_elements: Vec<Element>,
    rhs: Vec<Vec3>,
    a: Operator,
    edge_blocks: Vec<Mat3>,
    single_blocks: Vec<SingleBlock>,
    /// Of the deformable bodies.
    systems: Vec<TwoLevel>,
    dv: Vec<Vec3>,
    /// Time step, and whether all bodies are light in it.
    lightness: Option<(f64, bool)>,
    rests: RestPoses,
    scopes: Vec<ScopeWork>,
}

/// Boxes of the broad phase hold this many times the way that the last velocities foretell.
const REACH: f64 = 2.0;
/// And at least this many contact tolerances around it.
const MARGIN: f64 = 20.0;
/// Most searches for pairs in the last resort: more than one is needed only if bodies go where nothing foretold them.
const MAX_SEARCHES: usize = 4;

impl State {
    /// Where `model` starts: undeformed, with its initial velocities.
    pub fn initial(model: &Model) -> Self {
        let rigid = |r: &crate::model::RigidBody| RigidState { pose: r.pose, velocity: r.velocity, angular_velocity: r.angular_velocity };
        Self {
            step: 0,
            time: 0.0,
            displacements: vec![Vec3::zeros(); model.n_nodes()],
            velocities: model.initial_velocities.clone(),
            rotations: vec![IDENTITY; model.tets.len()],
            velocity_changes: vec![Vec3::zeros(); model.n_unknowns()],
            rigid_bodies: model.rigid_bodies.iter().map(rigid).collect(),
            contacts: ContactMemory::default(),
            attachment_forces: vec![Vec3::zeros(); model.attachments.len()],
        }
    }

    /// Node positions [m].
    pub fn positions(&self, model: &Model) -> Vec<Vec3> {
        model.rest_positions.iter().zip(&self.displacements).map(|(x, u)| x + u).collect()
    }

    /// Where the two ends of an attachment are [m].
    pub fn attachment_points(&self, model: &Model, attachment: &Attachment) -> [Vec3; 2] {
        attachment.points(model, |n| self.displacements[n], |r| self.rigid_bodies[r].pose, self.time)
    }
}

impl CpuStepper {
    /// `threads` = 0 takes one a core.
    pub fn new(model: Arc<Model>, threads: usize) -> Result<Self, CpuError> {
        let pool = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(threads).build()?);
        let n = model.n_unknowns();
        let work = Work { rhs: vec![Vec3::zeros(); n], dv: vec![Vec3::zeros(); n], ..Work::default() };
        let surfaces = Surfaces::new(&model, true)?;
        let bvh = Bvh::new(&surfaces.mesh, &surfaces.rest);
        let monotone = Monotone::new(&model, &surfaces.mesh, &surfaces.rest);
        let damping = Damping::of(&model);
        let groups = TetGroups::new(&model.tets, &damping.betas);
        Ok(Self { damping, groups, state: State::initial(&model), work, pool, model, surfaces, bvh, monotone, inside_features: true })
    }

    /// Looks at obstacles with vertices only, as the device does.
    #[cfg(test)]
    pub fn with_vertices_only(self) -> Result<Self, CpuError> {
        let surfaces = Surfaces::new(&self.model, false)?;
        Ok(Self { inside_features: false, bvh: Bvh::new(&surfaces.mesh, &surfaces.rest), surfaces, ..self })
    }

    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// One step, as the algorithm reads.
    fn advance(&mut self, params: &Params, loads: &Loads) -> Result<StepReport, StepError> {
        let Self { model, damping, groups, state, work, surfaces, bvh, monotone, inside_features, .. } = self;
        let model: &Model = model;
        let dt = params.time_step;
        let mut report = StepReport { converged: true, ..StepReport::default() };
        work.rotations.clone_from(&state.rotations);

        report.stages.time("elements", || {
            let Work { rotations, motions, elements, .. } = &mut *work;
            groups.follow(rotations, &state.displacements, &state.velocities, dt, motions, elements);
        });
        report.stages.time("assembly", || {
            right_hand_side(model, &work.elements, state, params, loads, damping, &mut work.rhs);
        });
        let solver = chosen(params, model, loads, &mut work.lightness);
        // What nothing touches is solved in f32; the matrix in f64 is made for those that are left.
        let is_two_level = solver == ContactSolver::Cwc;
        let mut is_assembled = false;
        if is_two_level {
            report.stages.time("assembly", || {
                work.rests.select(model, params, damping);
                link(model, state, params, loads, &mut work.a);
            });
            work.systems.resize_with(model.bodies.len(), TwoLevel::default);
        }
        work.dv.copy_from_slice(&state.velocity_changes);
        let detection = report.stages.time("detection", || Detection::new(model, surfaces, state, params, *inside_features));
        report.stages.time("detection", || {
            monotone.start(model, groups, state);
            bvh.trust(monotone.is_sure());
        });
        let mut candidates = report.stages.time("detection", || foretold(&detection, bvh, &work.dv, params));
        let mut found: Vec<Contact> = vec![];
        let mut crossing = vec![];
        // A smaller step is a better answer than a third search, while there may be one.
        let searches = if params.demand == Demand::Anything { MAX_SEARCHES } else { 2 };
        for search in 0..searches {
            let scopes = Scope::split(model, &surfaces.mesh, &candidates);
            work.scopes.resize_with(scopes.len(), ScopeWork::default);
            for (scope, scope_work) in scopes.iter().zip(&mut work.scopes) {
                let ours = |c: &Contact| scope.owns(model, &c.bodies.map(|b| b as usize));
                scope_work.contacts = match search {
                    0 => {
                        let dv = &work.dv[scope.unknowns.clone()];
                        let mut contacts = detection.remembered(scope, dv);
                        contacts.extend(detection.attached(scope, dv));
                        contacts
                    }
                    _ => found.extract_if(.., |c| ours(c)).collect(),
                };
            }
            let scale = |scope: &Scope| driving_impulse(model, scope, &work.elements, state, params, loads);
            let mut solved: Vec<Option<StepReport>> = scopes.iter().map(|_| None).collect();
            let is_untouched = |w: &ScopeWork| w.contacts.is_empty();
            if is_two_level && work.scopes.iter().any(is_untouched) {
                report.stages.time("assembly", || single_blocks(model, &work.elements.gradients, &mut work.single_blocks));
                let (aggregates, coarse) = work.rests.coarse();
                let (links, rhs, rotations, blocks) = (&work.a, &work.rhs[..], &work.rotations[..], &work.single_blocks[..]);
                let elastic = Elastic { model, rotations, blocks, links, rhs, params };
                let soft = |scope: &Scope| scope.deformable(model.bodies.len());
                let dv_parts = split_mut(&mut work.dv, scopes.iter().map(|scope| scope.unknowns.len()));
                let system_parts = split_mut(&mut work.systems, scopes.iter().map(|scope| soft(scope).len()));
                let parts = (dv_parts, system_parts, &mut work.scopes, &scopes, &mut solved).into_par_iter();
                parts.filter(|(_, _, scope_work, ..)| is_untouched(scope_work)).for_each(|(dv, systems, scope_work, scope, solved)| {
                    let Some(mut report) = elastic.solve(scope, &aggregates[soft(scope)], &coarse[soft(scope)], systems, scale(scope), dv)
                    else {
                        return;
                    };
                    let ScopeWork { contacts, crosses, .. } = scope_work;
                    *crosses = report.stages.time("detection", || detection.adapt(scope, dv, contacts)).crosses;
                    *solved = (contacts.is_empty() && report.converged).then_some(report);
                });
            }
            if solved.iter().any(Option::is_none) {
                if !is_assembled {
                    report.stages.time("assembly", || {
                        groups.again(&mut work.rotations, &work.motions, dt, &mut work.whole_elements);
                        matrix(model, &work.whole_elements, state, params, loads, damping, &mut work.a, &mut work.edge_blocks);
                    });
                }
                let rests = match solver {
                    ContactSolver::Cwc if is_assembled => work.rests.bodies(),
                    ContactSolver::Cwc => report.stages.time("assembly", || work.rests.turned(model, params, damping, &work.rotations)),
                    _ => &[],
                };
                is_assembled = true;
                let problem = |scope: &Scope| Problem {
                    a: &work.a,
                    pattern: &model.pattern,
                    fixed: &model.fixed,
                    unknowns: scope.unknowns.clone(),
                    dt,
                    rhs: &work.rhs[scope.unknowns.clone()],
                    tolerance: params.contact_tolerance,
                };
                let dv_parts = split_mut(&mut work.dv, scopes.iter().map(|scope| scope.unknowns.len()));
                // Only `cwc` has rest poses.
                let rest_parts: Vec<&[_]> = scopes.iter().map(|scope| &rests[scope.deformable(rests.len())]).collect();
                let parts = (dv_parts, rest_parts, &mut work.scopes, &scopes, &mut solved).into_par_iter();
                parts.filter(|(.., solved)| solved.is_none()).for_each(|(dv, rests, scope_work, scope, solved)| {
                    let params = Params { solver, ..*params };
                    *solved = Some(solve_scope(&problem(scope), scope, &detection, &params, scale(scope), dv, rests, scope_work));
                });
            }
            let mut together = StepReport { converged: true, ..StepReport::default() };
            solved.into_iter().flatten().for_each(|part| together.join(part));
            report.follow(together);
            if let Some(what) = not_finite(model, &work.dv) {
                return Err(StepError::NotFinite { what: "the velocity", body: what, step: state.step });
            }
            if !report.converged && params.demand == Demand::Converged && params.solver.is_default() {
                return Err(StepError::NotConverged { step: state.step });
            }
            // What left its box may have met what was not looked at.
            let end = detection.step.end_positions(&Scope::whole(model), &work.dv);
            let left = report.stages.time("detection", || bvh.cover(&end.x));
            if report.stages.time("detection", || monotone.end(model, groups, state, &work.dv, dt)) {
                // The step as it would have been without the proof.
                drop(end);
                return self.advance(params, loads);
            }
            if left > 0 {
                candidates = report.stages.time("detection", || bvh.query(&surfaces.mesh, &detection.step.start));
            }
            // Each scope has seen that nothing of what it looks at crosses, else all is looked at.
            let is_sure = left == 0 && report.converged && !work.scopes.iter().any(|w| w.crosses);
            crossing = report.stages.time("detection", || if is_sure { vec![] } else { detection.step.crossings(&candidates, &end) });
            found = work.scopes.iter_mut().flat_map(|w| std::mem::take(&mut w.contacts)).collect();
            if left == 0 || crossing.is_empty() {
                break;
            }
        }
        if let Some(crossing) = crossing.first() {
            let [a, b] = surfaces.mesh.bodies(crossing.pair).map(|b| model.contact_body_name(b as usize).to_owned());
            if params.demand != Demand::Anything {
                return Err(StepError::Crossing { a, b, step: state.step });
            }
            stop_before_crossing(&detection, &candidates, state, &mut work.dv);
            report.converged = false;
        }
        report.stages.time("update", || {
            for ((v, u), dv) in state.velocities.iter_mut().zip(&mut state.displacements).zip(&work.dv) {
                *v += dv;
                *u += *v * dt;
            }
            for (r, rigid) in state.rigid_bodies.iter_mut().enumerate() {
                let body = &model.rigid_bodies[r];
                if body.is_free() {
                    *rigid = rigid.moved(&work.dv[model.linear_unknown(r)], &work.dv[model.angular_unknown(r)], dt);
                } else {
                    rigid.pose = body.pose_at(state.time + dt);
                }
            }
            std::mem::swap(&mut state.rotations, &mut work.rotations);
            for spring in found.extract_if(.., |c| c.spring.is_some()) {
                state.attachment_forces[spring.pair.first as usize] = spring.force_in_space();
            }
            state.contacts.entries = found.iter().filter(|c| c.is_active()).map(|c| c.memory(&work.dv, 0, dt)).collect();
            state.contacts.entries.sort_by_key(|c| c.pair);
            state.contacts.entries.dedup_by(|next, first| first.pair == next.pair && first.join(next));
            state.step += 1;
            state.time += dt;
            state.velocity_changes.copy_from_slice(&work.dv);
        });
        Ok(report)
    }
}

/// Pairs that can meet if velocities change as they did in the last step.
fn foretold(detection: &Detection, bvh: &mut Bvh, dv: &[Vec3], params: &Params) -> Candidates {
    if bvh.is_idle() {
        return Candidates::default();
    }
    let (start, mesh) = (&detection.step.start, &detection.step.surfaces.mesh);
    let end = detection.step.end_positions(&Scope::whole(detection.model), dv);
    let reach: Vec<Vec3> = end.x.iter().zip(start).map(|(x1, x0)| (x1 - x0) * REACH).collect();
    bvh.refit(mesh, start, &reach, MARGIN * params.contact_tolerance);
    bvh.query(mesh, start)
}

/// The last resort: all velocities are scaled so that nothing goes as far as to where something would cross.
fn stop_before_crossing(detection: &Detection, candidates: &Candidates, state: &State, dv: &mut [Vec3]) {
    let whole = Scope::whole(detection.model);
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

/// What the residual of a scope is measured against [kg m/s]: the impulse of its loads in this step (2-norm over nodes). Without any, the momentum and the
/// element forces, so that a free body is solved as well as a loaded one.
fn driving_impulse(model: &Model, scope: &Scope, elements: &impl CornerForces, state: &State, params: &Params, loads: &Loads) -> f64 {
    let dt = params.time_step;
    let soft = scope.deformable(model.bodies.len());
    let rigid = scope.bodies.start.max(model.bodies.len())..scope.bodies.end.max(model.bodies.len());
    let nodes = model.bodies[soft.clone()].iter().flat_map(|b| b.nodes.clone());
    let rigid = rigid.map(|b| b - model.bodies.len());
    let of_nodes = nodes.clone().map(|i| (model.node_masses[i], state.velocities[i]));
    let of_rigid = rigid.filter_map(|r| {
        let (mass, _) = model.rigid_bodies[r].inertia_in_space(&state.rigid_bodies[r].pose.rotation)?;
        Some((mass, state.rigid_bodies[r].velocity))
    });
    let (mass2, momentum2) =
        of_nodes.chain(of_rigid).fold((0.0, 0.0), |(mass2, momentum2), (m, v)| (mass2 + m * m, momentum2 + v.norm_squared() * m * m));
    let mut scale = dt * params.gravity.norm() * mass2.sqrt();
    if !loads.node_forces.is_empty() {
        scale += dt * nodes.map(|i| loads.node_forces[i].norm_squared()).sum::<f64>().sqrt();
    }
    // The impulse of a spring, or, if it is stiff, one that would take its stretch away.
    for attachment in model.attachments.iter().filter(|a| scope.owns(model, &a.contact_bodies(model).map(|b| b.unwrap_or(usize::MAX)))) {
        let [a, b] = state.attachment_points(model, attachment);
        let stretch = ((a - b).norm() - attachment.length).abs();
        scale += dt * stretch / (1.0 / attachment.stiffness + dt * dt / mass2.sqrt());
    }
    if scale == 0.0 {
        let tets = model.bodies[soft].iter().flat_map(|b| b.tets.clone());
        let forces2: f64 = tets.flat_map(|t| elements.forces(t)).flatten().map(|f| f * f).sum();
        scale = 1e-2 * momentum2.sqrt() + dt * forces2.sqrt();
    }
    // A body at rest without loads has nothing to solve; any positive bound ends it at once.
    scale.max(1e-12 * mass2.sqrt())
}

impl Stepper for CpuStepper {
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
        Ok(())
    }

    fn surface(&mut self) -> SurfacePositions {
        let positions = self.model.surface_positions(&self.state.positions(&self.model));
        SurfacePositions::Host(positions.iter().map(|p| [p.x as f32, p.y as f32, p.z as f32, 1.0]).collect())
    }
}

/// Where no diagonal block of A is more than this many times the mass of its node, bodies answer to a contact with little more than the nodes that it touches:
/// constraint anticipation then takes a few sweeps. Measured with one thread, a step in ms with anticipation and with warped compliance: `pyramid` (2.3) 418 and
/// 1074; `rings` (7.0) 180 and 102 in the heap, 68 and 36 at rest.
const LIGHT: f64 = 4.0;

/// The method of a step. What is held by springs is left to the warped compliance: a sweep sees springs with the old velocities.
/// `lightness`: what was found for the last time step.
fn chosen(params: &Params, model: &Model, loads: &Loads, lightness: &mut Option<(f64, bool)>) -> ContactSolver {
    if params.solver != ContactSolver::Auto {
        return params.solver;
    }
    let dt = params.time_step;
    let is_light = || model.n_nodes() > 0 && model.bodies.iter().all(|body| stiffness(model, body, dt) <= LIGHT);
    lightness.take_if(|(known, _)| *known != dt);
    let (_, is_light) = *lightness.get_or_insert_with(|| (dt, is_light()));
    let is_free = loads.grabs.is_empty() && model.attachments.is_empty();
    if is_free && is_light { ContactSolver::Baseline(Method::Anticipation) } else { ContactSolver::Cwc }
}
