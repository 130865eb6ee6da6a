//! The velocity change of the bodies of one island.

use std::sync::Arc;

use crate::contact::PairForce;
use crate::contact::baselines::{self, BaselineWork, Bodies};
use crate::contact::contact_report as summed_up;
use crate::contact::generate::{Detection, Island};
use crate::contact::{
    Block, Constraint, CrOptions, CrWork, CwcOptions, CwcWork, FrictionUpdate, Preconditioner, Problem, Rest, solve, solve_cwc,
    update_compliances,
};
use crate::elastic::{Levels, Quaternion, RestBody};
use crate::math::{Mat3, Vec3};
use crate::memory::{Pool, reuse_allocation};
use crate::model::{AcceptancePolicy, ContactMethod, Params};
use crate::model::{Body, Model};
use crate::sparse::{Coarse, Operator, RankOne, SingleBlock, Solved, TwoLevel, conjugate_gradient};
use crate::step::{StageTimes, StepReport};

/// What the solve of one island needs and leaves.
#[derive(Default)]
pub struct IslandWork {
    cg: [Vec<Vec3>; 4],
    cr: CrWork,
    cwc: CwcWork,
    baseline: BaselineWork,
    load: Vec<f64>,
    /// The memory of a list of blocks.
    blocks: Vec<Block<'static>>,
    /// That of what reports hand out.
    pub pairs: Arc<Pool<Vec<PairForce>>>,
    pub contacts: Vec<Constraint>,
    /// None before it is solved.
    pub solved: Option<StepReport>,
    /// The last look at the geometry saw surfaces cross.
    pub crosses: bool,
}

/// With the method that `params` names. `rests`: of the deformable bodies of the island.
pub fn solve_island(
    problem: &Problem,
    island: &Island,
    detection: &Detection,
    params: &Params,
    scale: f64,
    dv: &mut [Vec3],
    rests: &[Option<RestBody>],
    work: &mut IslandWork,
) -> StepReport {
    let mut report = match params.solver {
        ContactMethod::Cwc => with_compliance(problem, island, detection, params, scale, dv, rests, work),
        _ => with_residuals(problem, island, detection, params, scale, dv, work),
    };
    // All methods are measured with the same scales.
    update_compliances(problem, &mut work.contacts, &mut work.load);
    report.residual /= scale;
    report.contact = summed_up(&work.contacts, dv, problem.unknowns.start, problem.dt, &work.pairs);
    report
}

/// What the elastic solve of the bodies of one island needs.
pub struct Elastic<'a> {
    pub model: &'a Model,
    pub rotations: &'a [Quaternion],
    pub blocks: &'a [SingleBlock],
    /// Rigid bodies and springs.
    pub links: &'a Operator,
    pub rhs: &'a [Vec3],
    pub params: &'a Params,
}

impl Elastic<'_> {
    /// The velocity change of a island without contacts, body by body: `dv` holds the start value and the result. None if f32 does not hold the matrix of one of them.
    pub fn solve(
        &self,
        island: &Island,
        levels: &[Levels],
        coarse: &[Option<Coarse>],
        systems: &mut [TwoLevel],
        scale: f64,
        dv: &mut [Vec3],
    ) -> Option<StepReport> {
        let model = self.model;
        if coarse.iter().any(Option::is_none) {
            return None;
        }
        let bodies = &model.bodies[island.deformable(model.bodies.len())];
        let n_nodes: usize = bodies.iter().map(|body| body.nodes.len()).sum();
        let mut report = StepReport { converged: true, ..StepReport::default() };
        let mut residual2 = 0.0;
        let (mut soft, rigid) = dv.split_at_mut(n_nodes);
        for (((body, levels), coarse), system) in bodies.iter().zip(levels).zip(coarse.iter().flatten()).zip(systems) {
            let (dv, rest) = soft.split_at_mut(body.nodes.len());
            soft = rest;
            let share = body.nodes.len() as f64 / n_nodes as f64;
            let Params { tolerance, max_iterations, fixed_iterations, .. } = *self.params;
            let limits = fixed_iterations.map_or((tolerance * scale * share.sqrt(), max_iterations), |iterations| (0.0, iterations));
            let solved = self.solve_body(body, levels, coarse, system, limits, dv, &mut report.stages);
            report.iterations = report.iterations.max(solved.iterations);
            report.converged &= solved.converged || fixed_iterations.is_some();
            residual2 += solved.residual * solved.residual;
        }
        let first = island.unknowns.end - rigid.len();
        let n = model.n_nodes();
        for (i, dv) in (first..).zip(rigid) {
            // A driven body has no mass that counts.
            *dv = self.links.rigid_blocks[i - n].try_inverse().unwrap_or_else(Mat3::zeros) * self.rhs[i];
        }
        report.residual = residual2.sqrt() / scale;
        Some(report)
    }

    fn solve_body(
        &self,
        body: &Body,
        levels: &Levels,
        coarse: &Coarse,
        system: &mut TwoLevel,
        (bound, max_iterations): (f64, u32),
        dv: &mut [Vec3],
        stages: &mut StageTimes,
    ) -> Solved {
        let Self { model, params, .. } = self;
        let is_ours = |spring: &&RankOne| body.nodes.contains(&(spring.nodes[0] as usize));
        let springs = || self.links.rank_ones.iter().filter(is_ours);
        let damped = 1.0 + params.time_step * body.material.mass_damping;
        stages.time("assembly", || {
            let sum = |i: usize| damped * model.node_masses[i];
            system.assemble(&levels.layout, self.blocks, sum, springs().copied(), |point| levels.rotation(point, self.rotations));
        });
        stages.time("elastic solve", || {
            let rhs = &self.rhs[body.nodes.clone()];
            let coarse = params.is_two_level().then_some(coarse);
            let solved = system.solve(&levels.layout, coarse, rhs, dv, bound, max_iterations);
            let is_free = springs().next().is_none() && !model.fixed[body.nodes.clone()].contains(&true);
            if is_free {
                // The matrix takes a common velocity to the masses: what the residual sums up to is momentum that its common motion takes.
                let masses = &model.node_masses[body.nodes.clone()];
                let lost = rhs.iter().sum::<Vec3>() - dv.iter().zip(masses).map(|(dv, m)| dv * *m).sum::<Vec3>() * damped;
                let change = lost / (damped * body.mass);
                dv.iter_mut().for_each(|dv| *dv += change);
            }
            solved
        })
    }
}

fn with_compliance(
    problem: &Problem,
    island: &Island,
    detection: &Detection,
    params: &Params,
    scale: f64,
    dv: &mut [Vec3],
    rests: &[Option<RestBody>],
    work: &mut IslandWork,
) -> StepReport {
    let mut report = StepReport::default();
    let model = detection.model;
    let mut list: Vec<Block> = std::mem::take(&mut work.blocks);
    blocks(problem, island, model, rests, &mut list);
    let options = CwcOptions {
        residual: params.tolerance * scale,
        elastic_tolerance: ELASTIC_TOLERANCE * params.contact_tolerance,
        max_passes: MAX_PASSES,
        gives_up: params.acceptance == AcceptancePolicy::MustConverge,
        max_contacts: max_contacts(island, detection, &work.contacts),
    };
    let IslandWork { cg, cwc, contacts, crosses, blocks: memory, .. } = work;
    let is_large = |block: &Block| block.rest.is_none() && (block.body as usize) < model.bodies.len();
    if contacts.is_empty() && list.iter().any(is_large) {
        // Without a factor, one long solve is better than many short ones.
        let solved = report.stages.time("elastic solve", || elastic(problem, (options.residual, params.max_iterations), dv, cg));
        report.iterations = solved.iterations;
    }
    let mut detecting = StageTimes::default();
    let start = std::time::Instant::now();
    let outcome = solve_cwc(problem, &list, contacts, dv, &options, cwc, |dv, contacts| {
        let adapted = detecting.time("detection", || detection.adapt(island, dv, contacts));
        *crosses = adapted.crosses;
        adapted.off
    });
    *memory = reuse_allocation(list);
    report.stages.add(if contacts.is_empty() { "elastic solve" } else { "contact solve" }, ms_since(start) - detecting.total());
    report.stages.add("detection", detecting.total());
    report.iterations += outcome.iterations;
    report.restarts = outcome.passes;
    report.relinearisations = outcome.relinearisations;
    report.residual = outcome.residual;
    report.converged = outcome.converged;
    report
}

/// The bodies of a island as blocks of the matrix, added to `list`.
pub fn blocks<'a>(problem: &Problem, island: &Island, model: &Model, rests: &'a [Option<RestBody>], list: &mut Vec<Block<'a>>) {
    let mut rests = rests.iter();
    let of_body = |body: usize| match body.checked_sub(model.bodies.len()) {
        None => Block {
            body: body as u32,
            unknowns: model.bodies[body].nodes.clone(),
            rest: rests.next().and_then(Option::as_ref).map(|rest| Rest {
                factor: &rest.shape.factor,
                columns: &rest.shape.columns,
                rotations: &rest.rotations,
            }),
            mass: (!model.fixed[model.bodies[body].nodes.clone()].contains(&true))
                .then(|| (1.0 + problem.dt * model.bodies[body].material.mass_damping) * model.bodies[body].mass),
        },
        Some(r) => Block { body: body as u32, unknowns: model.linear_unknown(r)..model.angular_unknown(r) + 1, rest: None, mass: None },
    };
    list.extend(island.bodies.clone().map(of_body));
}

/// What the elastic residual may still move, as a part of the contact tolerance: friction remembers how a landing was solved (`contact-study.md` 4.1).
pub const ELASTIC_TOLERANCE: f64 = 0.04;
/// Most passes between two looks at the geometry.
pub const MAX_PASSES: u32 = 12;

/// With more contacts than this a solve is given up: bodies have gone through each other, and smaller steps will find fewer.
pub fn max_contacts(island: &Island, detection: &Detection, contacts: &[Constraint]) -> usize {
    let of_body = |body: usize| CONTACTS_OF_A_BODY.max(3 * detection.step.surfaces.vertices[body].len());
    contacts.iter().filter(|c| c.law.is_bilateral()).count() + island.bodies.clone().map(of_body).sum::<usize>()
}

/// So many contacts at least are solved for each body; three times its surface vertices if that is more.
const CONTACTS_OF_A_BODY: usize = 100;

/// Without contacts, to a residual or for so many iterations.
fn elastic(problem: &Problem, (bound, iterations): (f64, u32), dv: &mut [Vec3], work: &mut [Vec<Vec3>; 4]) -> Solved {
    let Problem { a, pattern, fixed, unknowns, rhs, .. } = problem;
    conjugate_gradient(a, pattern, fixed, unknowns, rhs, dv, bound, iterations, work)
}

fn ms_since(start: std::time::Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

/// Conjugate gradients while nothing touches, else conjugate residuals or a baseline with the contacts.
fn with_residuals(
    problem: &Problem,
    island: &Island,
    detection: &Detection,
    params: &Params,
    scale: f64,
    dv: &mut [Vec3],
    work: &mut IslandWork,
) -> StepReport {
    let mut report = StepReport::default();
    let bound = params.tolerance * scale;
    let IslandWork { cg, cr, baseline, contacts, crosses, .. } = work;
    if contacts.is_empty() {
        let limits = params.fixed_iterations.map_or((bound, params.max_iterations), |iterations| (0.0, iterations));
        let solved = report.stages.time("elastic solve", || elastic(problem, limits, dv, cg));
        report.iterations = solved.iterations;
        report.residual = solved.residual;
        report.converged = solved.converged || params.fixed_iterations.is_some();
        *crosses = report.stages.time("detection", || detection.adapt(island, dv, contacts)).crosses;
    }
    if contacts.is_empty() {
        return report;
    }
    let mut options = CrOptions::new(bound, params.max_contact_iterations);
    let mut detecting = StageTimes::default();
    let start = std::time::Instant::now();
    let adapt = |dv: &[Vec3], contacts: &mut Vec<Constraint>| {
        let adapted = detecting.time("detection", || detection.adapt(island, dv, contacts));
        *crosses = adapted.crosses;
        adapted.off > 0.0
    };
    let outcome = match params.solver {
        method @ (ContactMethod::Ica | ContactMethod::Sp | ContactMethod::Pgs | ContactMethod::Ssn) => {
            let method = match method {
                ContactMethod::Ica => baselines::Method::Anticipation,
                ContactMethod::Sp => baselines::Method::Staggered,
                ContactMethod::Pgs => baselines::Method::GaussSeidel,
                _ => baselines::Method::Newton,
            };
            options.max_iterations *= BASELINE_ITERATIONS;
            baselines::solve(method, problem, &bodies(island, detection.model), contacts, dv, &options, baseline, adapt)
        }
        solver => {
            options.preconditioner = match solver {
                ContactMethod::CrDiag => Preconditioner::Diagonal,
                ContactMethod::CrNone => Preconditioner::None,
                _ => Preconditioner::Full,
            };
            if solver == ContactMethod::CrTurn {
                options.friction = FrictionUpdate::Turn;
            }
            if options.preconditioner != Preconditioner::Full {
                options.max_iterations *= BASELINE_ITERATIONS;
            }
            solve(problem, contacts, dv, &options, cr, adapt)
        }
    };
    report.stages.add("contact solve", ms_since(start) - detecting.total());
    report.stages.add("detection", detecting.total());
    report.iterations += outcome.iterations;
    report.restarts = outcome.restarts;
    report.relinearisations = outcome.relinearisations;
    report.residual = outcome.residual;
    report.converged = outcome.converged;
    report
}

/// Baselines may take this many times the iterations, so that what they need is seen.
const BASELINE_ITERATIONS: u32 = 10;

fn bodies(island: &Island, model: &Model) -> Bodies {
    let unknowns = |body: usize| match body.checked_sub(model.bodies.len()) {
        None => model.bodies[body].nodes.clone(),
        Some(r) => model.linear_unknown(r)..model.angular_unknown(r) + 1,
    };
    Bodies { first: island.bodies.start as u32, unknowns: island.bodies.clone().map(unknowns).collect() }
}
