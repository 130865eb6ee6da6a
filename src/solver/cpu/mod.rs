//! The reference backend: f64, threaded, every formula in its plain form.

mod assemble;
mod contacts;
mod elements;
mod rotation;

pub use assemble::{Damping, edge_block, matrix, right_hand_side};
pub use elements::{Element, corotational_stress, element, elements, gradient};
pub use rotation::{IDENTITY, Quaternion, improve, matrix as rotation_matrix};

use std::sync::Arc;

use self::contacts::Detection;
use rayon::prelude::*;

use super::{Loads, Params, StageTimes, State, StepError, StepReport, Stepper, SurfacePositions};
use crate::contact::{Contact, ContactMemory, CrOptions, CrWork, Problem, solve};
use crate::math::{Mat3, Vec3};
use crate::model::{Body, Model};
use crate::sparse::{Operator, conjugate_gradient, dot};

/// The CPU backend.
pub struct CpuStepper {
    model: Arc<Model>,
    pool: Arc<rayon::ThreadPool>,
    damping: Damping,
    state: State,
    work: Work,
}

#[derive(Default)]
struct Work {
    rotations: Vec<Quaternion>,
    elements: Vec<Element>,
    rhs: Vec<Vec3>,
    a: Operator,
    edge_blocks: Vec<Mat3>,
    dv: Vec<Vec3>,
    bodies: Vec<BodyWork>,
}

/// What the solve of one body needs and leaves.
#[derive(Default)]
struct BodyWork {
    cg: [Vec<Vec3>; 4],
    cr: CrWork,
    contacts: Vec<Contact>,
}

impl State {
    /// Where `model` starts: undeformed, with its initial velocities.
    pub fn initial(model: &Model) -> Self {
        Self {
            step: 0,
            time: 0.0,
            displacements: vec![Vec3::zeros(); model.n_nodes()],
            velocities: model.initial_velocities.clone(),
            rotations: vec![IDENTITY; model.tets.len()],
            velocity_changes: vec![Vec3::zeros(); model.n_nodes()],
            contacts: ContactMemory::default(),
        }
    }

    /// Node positions [m].
    pub fn positions(&self, model: &Model) -> Vec<Vec3> {
        model.rest_positions.iter().zip(&self.displacements).map(|(x, u)| x + u).collect()
    }
}

impl CpuStepper {
    /// `threads` = 0 takes one a core.
    pub fn new(model: Arc<Model>, threads: usize) -> Result<Self, rayon::ThreadPoolBuildError> {
        let pool = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(threads).build()?);
        let n = model.n_nodes();
        let work = Work {
            elements: vec![Element::default(); model.tets.len()],
            rhs: vec![Vec3::zeros(); n],
            dv: vec![Vec3::zeros(); n],
            bodies: model.bodies.iter().map(|_| BodyWork::default()).collect(),
            ..Work::default()
        };
        Ok(Self { damping: Damping::of(&model), state: State::initial(&model), work, pool, model })
    }

    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// One step, as the algorithm reads.
    fn advance(&mut self, params: &Params, loads: &Loads) -> Result<StepReport, StepError> {
        let Self { model, damping, state, work, .. } = self;
        let model: &Model = model;
        let dt = params.time_step;
        let mut report = StepReport { converged: true, ..StepReport::default() };
        work.rotations.clone_from(&state.rotations);

        report.stages.time("elements", || {
            elements(&model.tets, &mut work.rotations, &state.displacements, &state.velocities, dt, &damping.betas, &mut work.elements);
        });
        report.stages.time("assembly", || {
            right_hand_side(model, &work.elements, &state.velocities, &state.displacements, params, loads, damping, &mut work.rhs);
            matrix(model, &work.elements, params, loads, damping, &mut work.a, &mut work.edge_blocks);
        });
        // Bodies meet only obstacles, so each is a problem of its own: solved side by side, and none waits for another's contacts.
        let detection = Detection::new(model, state, params);
        let problem = |body: &Body| Problem {
            a: &work.a,
            pattern: &model.pattern,
            fixed: &model.fixed,
            nodes: body.nodes.clone(),
            surface: &model.surface,
            dt,
            rhs: &work.rhs[body.nodes.clone()],
            tolerance: params.contact_tolerance,
        };
        work.dv.copy_from_slice(&state.velocity_changes);
        let solved: Vec<StepReport> = split_by_body(model, &mut work.dv)
            .into_par_iter()
            .zip(&mut work.bodies)
            .zip(&model.bodies)
            .map(|((dv, body_work), body)| {
                let scale = driving_impulse(model, body, &work.elements[body.tets.clone()], &state.velocities, params, loads);
                solve_body(model, body, &problem(body), &detection, params, scale, dv, body_work)
            })
            .collect();
        for part in solved {
            report.join(part);
        }
        report.stages.time("update", || -> Result<(), StepError> {
            if let Some(node) = work.dv.iter().position(|dv| !dv.iter().all(|c| c.is_finite())) {
                let body = model.bodies[model.node_bodies[node] as usize].name.clone();
                return Err(StepError::NotFinite { what: "the velocity", body, step: state.step });
            }
            for ((v, u), dv) in state.velocities.iter_mut().zip(&mut state.displacements).zip(&work.dv) {
                *v += dv;
                *u += *v * dt;
            }
            std::mem::swap(&mut state.rotations, &mut work.rotations);
            state.contacts.entries = work.bodies.iter().flat_map(|b| &b.contacts).filter(|c| c.is_active()).map(Contact::memory).collect();
            state.contacts.entries.sort_by_key(|c| (c.vertex, c.obstacle));
            state.step += 1;
            state.time += dt;
            state.velocity_changes.copy_from_slice(&work.dv);
            Ok(())
        })?;
        Ok(report)
    }
}

/// The parts of a vector over all nodes that belong to the bodies, in order.
fn split_by_body<'a>(model: &Model, mut v: &'a mut [Vec3]) -> Vec<&'a mut [Vec3]> {
    let mut parts = vec![];
    for body in &model.bodies {
        let (part, rest) = v.split_at_mut(body.nodes.len());
        parts.push(part);
        v = rest;
    }
    parts
}

/// Finds the velocity change of one body: conjugate gradients while nothing touches, else conjugate residuals with its contacts.
fn solve_body(
    model: &Model,
    body: &Body,
    problem: &Problem,
    detection: &Detection,
    params: &Params,
    scale: f64,
    dv: &mut [Vec3],
    work: &mut BodyWork,
) -> StepReport {
    let mut report = StepReport::default();
    let bound = params.tolerance * scale;
    let BodyWork { cg, cr, contacts } = work;
    *contacts = report.stages.time("detection", || detection.remembered(body));
    if contacts.is_empty() {
        let solved = report.stages.time("elastic solve", || {
            conjugate_gradient(problem.a, problem.pattern, problem.fixed, &problem.nodes, problem.rhs, dv, bound, params.max_iterations, cg)
        });
        report.iterations = solved.iterations;
        report.residual = solved.residual / scale;
        report.converged = solved.converged;
        report.stages.time("detection", || detection.adapt(body, dv, contacts));
    }
    if contacts.is_empty() {
        return report;
    }
    let options = CrOptions { residual: bound, max_iterations: params.max_contact_iterations };
    let mut detecting = StageTimes::default();
    let start = std::time::Instant::now();
    let outcome =
        solve(problem, contacts, dv, &options, cr, |dv, contacts| detecting.time("detection", || detection.adapt(body, dv, contacts)));
    report.stages.add("contact solve", start.elapsed().as_secs_f64() * 1e3 - detecting.total());
    report.stages.add("detection", detecting.total());
    report.iterations += outcome.iterations;
    report.restarts = outcome.restarts;
    report.relinearisations = outcome.relinearisations;
    report.residual = outcome.residual / scale;
    report.converged = outcome.converged;
    report.contact = contacts::report(model, problem, contacts, dv);
    report
}

/// What the residual of a body is measured against [kg m/s]: the impulse of its loads in this step (2-norm over nodes). Without any, the momentum and the
/// element forces, so that a free body is solved as well as a loaded one.
fn driving_impulse(model: &Model, body: &Body, elements: &[Element], velocities: &[Vec3], params: &Params, loads: &Loads) -> f64 {
    let dt = params.time_step;
    let masses = &model.node_masses[body.nodes.clone()];
    let mass_norm = masses.iter().map(|m| m * m).sum::<f64>().sqrt();
    let mut scale = dt * params.gravity.norm() * mass_norm;
    if let Some(forces) = loads.node_forces.get(body.nodes.clone()) {
        scale += dt * dot(forces, forces).sqrt();
    }
    if scale == 0.0 {
        let momentum2: f64 = velocities[body.nodes.clone()].iter().zip(masses).map(|(v, m)| v.norm_squared() * m * m).sum();
        let forces2: f64 = elements.iter().flat_map(|e| &e.forces).map(Vec3::norm_squared).sum();
        scale = 1e-2 * momentum2.sqrt() + dt * forces2.sqrt();
    }
    // A body at rest without loads has nothing to solve; any positive bound ends it at once.
    scale.max(1e-12 * mass_norm)
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
        Ok(())
    }

    fn surface(&mut self) -> SurfacePositions {
        let positions = self.model.surface_positions(&self.state.positions(&self.model));
        SurfacePositions::Host(positions.iter().map(|p| [p.x as f32, p.y as f32, p.z as f32, 1.0]).collect())
    }

    fn solver_name(&self) -> &'static str {
        "cr"
    }
}
