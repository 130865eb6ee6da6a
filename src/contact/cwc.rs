//! Corrected warped compliance: contact laws are solved in the space of the contact forces, with the compliance of the rest pose rotated node by
//! node; outer passes correct the velocities with the true matrix (`contact-study.md` 4).
//!
//! With R the rotations of the nodes and A0 the matrix of the rest pose, `A~^-1 r = R A0^-1 R^T r` stands for A^-1: in the compliance W~ = J A~^-1 J^T of the
//! contacts, and as preconditioner of the elastic solve. Forces that are found with W~ move the contacts exactly as foreseen, so gaps, sticking and cones hold after
//! every pass; the passes only remove what A~ leaves of the elastic residual.

use std::ops::Range;

use super::dual;
use super::warped::{self, ContactIsland};
use super::{Constraint, Law, NaturalError, Problem};
use crate::math::{Mat3, Vec3};
use crate::sparse::{Columns, FactorWork, RestFactor, dot};

/// A body of the problem: a block of its own of the matrix.
pub struct Block<'a> {
    /// Contact body (`Model::contact_body_name`).
    pub body: u32,
    pub unknowns: Range<usize>,
    /// None: the block diagonal of A stands for A. Exact for a rigid body, slow for a deformable one.
    pub rest: Option<Rest<'a>>,
    /// What the block of A makes of a common velocity of all its nodes [kg]; none where there is no such number (held or rigid bodies).
    pub mass: Option<f64>,
}

/// The rest pose of a deformable body; bodies that differ in their place only share factor and columns.
#[derive(Clone, Copy)]
pub struct Rest<'a> {
    pub factor: &'a RestFactor,
    /// Compliance of the nodes that surface points move with.
    pub columns: &'a Columns,
    /// Rotation of each node of the body from the pose that the factor knows.
    pub rotations: &'a [Mat3],
}

#[derive(Clone, Copy, Debug)]
pub struct CwcOptions {
    /// Bound on the 2-norm of the velocity residual, relative to which the report tells it [kg m/s].
    pub residual: f64,
    /// Bound on what the elastic residual still moves [m].
    pub elastic_tolerance: f64,
    /// Bound on the passes between two looks at the geometry.
    pub max_passes: u32,
    /// Ends unconverged once the inner solvers have failed as often as they may, instead of looking for the best that can be had.
    pub gives_up: bool,
    /// With more contacts than this the solve is given up: bodies have gone through each other, and smaller steps will find fewer.
    pub max_contacts: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CwcOutcome {
    /// Products with W~ and elastic iterations.
    pub iterations: u32,
    pub passes: u32,
    pub relinearisations: u32,
    /// 2-norm of the velocity residual [kg m/s].
    pub residual: f64,
    /// Largest natural map of the contacts at the end [m].
    pub error: f64,
    pub converged: bool,
}

/// Vectors kept between steps.
#[derive(Debug, Default)]
pub struct CwcWork {
    islands: Vec<ContactIsland>,
    assembly: warped::Scratch,
    laws: Vec<Law>,
    /// Forces of the contacts, and those before a pass.
    forces: [Vec<Vec3>; 2],
    duals: Vec<DualWork>,
    residual: Vec<Vec3>,
    z: Vec<Vec3>,
    blocks: Vec<BlockWork>,
}

/// Memory of the solves of an island.
#[derive(Debug, Default)]
struct DualWork {
    dual: dual::Work,
    gather: dual::Gather,
    zero: Vec<Vec3>,
    free: Vec<Vec3>,
}

#[derive(Clone, Debug, Default)]
struct BlockWork {
    rotated: Vec<Vec3>,
    factor: FactorWork,
    /// Preconditioned residual, direction and its product of the conjugate gradients.
    krylov: [Vec<Vec3>; 3],
    /// How much of the correction of a pass is left in the next; the last correction [m].
    contraction: f64,
    last: f64,
}

/// Passes contract slower than this: the elastic solve becomes a conjugate-gradient one.
const SLOW: f64 = 0.2;
/// Most of its iterations in a pass.
const MAX_ELASTIC_ITERATIONS: u32 = 60;
/// Most looks at the geometry that may change the rows.
pub const MAX_RELINEARISATIONS: u32 = 20;
/// Forces are found to this part of what the elastic residual of the pass still moves.
pub const FORCING: f64 = 0.1;
/// Forces are sought to this part of the contact tolerance, and taken if they come as near as that: gaps that aim at the middle of the band stay in it.
const FINEST: f64 = 0.2;
pub const ACCEPTED: f64 = 0.5;
/// Forces are found to this part of how far the geometry was from the rows before.
pub const ROUGHLY: f64 = 0.05;
/// Bounds on the inner iterations of a pass that is not yet about the last digits.
const FIRST_ITERATIONS: [u32; 2] = [80, 320];
/// The whole chain of inner solvers is given up after this many failures in a step.
pub const MAX_FAILURES: u32 = 3;

/// Solves for `dv` and the contacts' forces. `adapt(dv, contacts)` looks at the moved geometry when forces and velocities have settled: it adds contacts and renews
/// rows, and returns how far gaps were from what their rows told [m], 0 if nothing changed. Rows that are far off are first solved for roughly.
pub fn solve(
    problem: &Problem,
    blocks: &[Block],
    contacts: &mut Vec<Constraint>,
    dv: &mut [Vec3],
    options: &CwcOptions,
    work: &mut CwcWork,
    mut adapt: impl FnMut(&[Vec3], &mut Vec<Constraint>) -> f64,
) -> CwcOutcome {
    let mut outcome = CwcOutcome::default();
    for vector in [&mut work.residual, &mut work.z] {
        vector.resize(dv.len(), Vec3::zeros());
    }
    work.blocks.resize_with(blocks.len(), BlockWork::default);
    let mut failures = 0;
    let finest = ACCEPTED * problem.tolerance;
    let mut accuracy = finest;
    loop {
        let settled = settle(problem, blocks, contacts, dv, accuracy, options, work, &mut failures, &mut outcome);
        if options.gives_up && failures >= MAX_FAILURES && !settled {
            return outcome;
        }
        let off = adapt(dv, contacts);
        let was_rough = accuracy > finest;
        accuracy = finest.max(ROUGHLY * off);
        if off == 0.0 && was_rough {
            continue;
        }
        let changed = off > 0.0;
        if !changed || outcome.relinearisations >= MAX_RELINEARISATIONS || contacts.len() > options.max_contacts {
            outcome.converged = settled && !changed;
            return outcome;
        }
        outcome.relinearisations += 1;
    }
}

/// Forces and velocities for the present rows, gaps to `accuracy` [m]; true if both are within their tolerances.
fn settle(
    problem: &Problem,
    blocks: &[Block],
    contacts: &mut [Constraint],
    dv: &mut [Vec3],
    accuracy: f64,
    options: &CwcOptions,
    work: &mut CwcWork,
    failures: &mut u32,
    outcome: &mut CwcOutcome,
) -> bool {
    let CwcWork { islands, assembly, laws, forces: [p, before], residual, z, blocks: block_work, duals } = work;
    warped::assemble(problem, blocks, contacts, islands, assembly);
    duals.resize_with(islands.len(), DualWork::default);
    laws.clear();
    laws.extend(contacts.iter().map(|contact| contact.law));
    p.clear();
    p.extend(contacts.iter().map(Constraint::force_on_first));
    let elastic_tolerance = options.elastic_tolerance * (accuracy / (ACCEPTED * problem.tolerance));
    // Forces are found with the velocities of the first pass.
    let mut settled = contacts.is_empty();
    for block in block_work.iter_mut() {
        (block.contraction, block.last) = (0.0, 0.0);
    }
    for _ in 0..options.max_passes {
        problem.residual(contacts, p, dv, residual);
        outcome.residual = dot(residual, residual).sqrt();
        // Without contacts the residual tells when to stop.
        let bound = if contacts.is_empty() { 0.0 } else { elastic_tolerance };
        let (largest, iterations) = correct(problem, blocks, residual, z, bound, block_work);
        let moves = largest * problem.dt;
        outcome.iterations += iterations;
        let still = if contacts.is_empty() { outcome.residual <= options.residual } else { moves < elastic_tolerance };
        if still && settled {
            if !contacts.is_empty() {
                keep_momentum(problem, blocks, residual, dv);
            }
            store(contacts, p);
            release(contacts, dv, problem.unknowns.start, problem.dt, accuracy / ACCEPTED);
            return true;
        }
        dv.iter_mut().zip(&*z).for_each(|(v, z)| *v += z);
        outcome.passes += 1;
        if contacts.is_empty() {
            continue;
        }
        let aim = f64::max(FINEST / ACCEPTED * accuracy, FORCING * moves);
        let tolerance = accuracy.max(aim);
        let is_last = tolerance == accuracy;
        before.clone_from(p);
        let chain = if is_last && *failures < MAX_FAILURES { Chain::Whole } else { Chain::First };
        let found = obey(problem, contacts, laws, dv, [tolerance, aim], chain, islands, duals, p);
        outcome.iterations += found.iterations;
        outcome.error = found.error.max();
        // What the whole chain cannot do better is taken within the tolerance itself.
        settled = is_last && (found.converged || outcome.error < accuracy / ACCEPTED);
        *failures += u32::from(is_last && !found.converged);
        if options.gives_up && *failures >= MAX_FAILURES && !settled {
            break;
        }
        // The change of the forces moves the bodies as foreseen.
        residual.fill(Vec3::zeros());
        for ((contact, p), before) in contacts.iter().zip(&*p).zip(&*before) {
            problem.spread(contact, &(p - before), 1.0, residual);
        }
        invert_all(problem, blocks, residual, z, block_work);
        dv.iter_mut().zip(&*z).for_each(|(v, z)| *v += z);
    }
    store(contacts, p);
    false
}

/// What is open by more than `gap` [m] is not in contact: the force that the tolerance has left there moves less than that.
pub fn release(contacts: &mut [Constraint], dv: &[Vec3], first: usize, dt: f64, gap: f64) {
    for contact in contacts.iter_mut().filter(|c| c.is_active() && c.law.is_unilateral()) {
        if contact.row.motion(dv, first, dt).x > gap {
            contact.force.release();
        }
    }
}

/// The residual of a body sums up to momentum that is lost: its common motion takes it. That moves gaps by less than the residual did.
fn keep_momentum(problem: &Problem, blocks: &[Block], residual: &[Vec3], dv: &mut [Vec3]) {
    let first = problem.unknowns.start;
    for block in blocks {
        let Some(mass) = block.mass else { continue };
        let range = block.unknowns.start - first..block.unknowns.end - first;
        let change = residual[range.clone()].iter().sum::<Vec3>() / mass;
        dv[range].iter_mut().for_each(|dv| *dv += change);
    }
}

/// How many of the inner solvers are tried.
#[derive(Clone, Copy, PartialEq)]
enum Chain {
    First,
    Whole,
}

/// Forces that obey the laws as far as W~ tells, island by island; the worst of their outcomes, with the iterations of the slowest.
fn obey(
    problem: &Problem,
    contacts: &[Constraint],
    laws: &[Law],
    dv: &[Vec3],
    [tolerance, aim]: [f64; 2],
    chain: Chain,
    islands: &[ContactIsland],
    duals: &mut [DualWork],
    p: &mut [Vec3],
) -> dual::Outcome {
    let iterations = match chain {
        Chain::First => FIRST_ITERATIONS,
        Chain::Whole => dual::Options::default().iterations,
    };
    let on_island = |ContactIsland { contacts: range, compliance }: &ContactIsland, work: &mut DualWork, p: &mut [Vec3]| {
        let DualWork { dual, gather, zero, free } = work;
        for vector in [&mut *zero, free] {
            vector.clear();
            vector.resize(p.len(), Vec3::zeros());
        }
        // Without the present forces, as far as W~ tells.
        compliance.product(p, zero, free, gather);
        for ((free, contact), p) in free.iter_mut().zip(&contacts[range.clone()]).zip(&*p) {
            *free = problem.motion(contact, p, dv) - *free;
        }
        let laws = &laws[range.clone()];
        dual::solve(&dual::Problem { w: compliance, laws, free }, p, &dual::Options { tolerance, aim: aim / tolerance, iterations }, dual)
    };
    on_contact_islands(islands, duals, p, &on_island)
}

/// Hands the islands to `solve`, with their memory and forces, halves of them to different threads.
fn on_contact_islands(
    islands: &[ContactIsland],
    duals: &mut [DualWork],
    p: &mut [Vec3],
    solve: &(impl Fn(&ContactIsland, &mut DualWork, &mut [Vec3]) -> dual::Outcome + Sync),
) -> dual::Outcome {
    match islands {
        [] => dual::Outcome { method: dual::Method::Spectral, iterations: 0, error: NaturalError::default(), converged: true },
        [island] => solve(island, &mut duals[0], p),
        [first, ..] => {
            let (islands, islands_after) = islands.split_at(islands.len() / 2);
            let (duals, duals_after) = duals.split_at_mut(islands.len());
            let (p, p_after) = p.split_at_mut(islands_after[0].contacts.start - first.contacts.start);
            let (a, b) = rayon::join(
                || on_contact_islands(islands, duals, p, solve),
                || on_contact_islands(islands_after, duals_after, p_after, solve),
            );
            dual::Outcome {
                iterations: a.iterations.max(b.iterations),
                converged: a.converged && b.converged,
                ..if a.error.max() >= b.error.max() { a } else { b }
            }
        }
    }
}

/// Puts the forces into the contacts, with the states that they mean.
pub fn store(contacts: &mut [Constraint], p: &[Vec3]) {
    contacts.iter_mut().zip(p).for_each(|(contact, p)| contact.set_force_on_first(p));
}

/// Consecutive blocks with their memory and their parts of two vectors.
struct Parts<'a, 'b> {
    blocks: &'a [Block<'b>],
    r: &'a mut [Vec3],
    z: &'a mut [Vec3],
    work: &'a mut [BlockWork],
}

impl Parts<'_, '_> {
    /// Hands each block to `solve`, halves of them to different threads; returns the largest of what it tells.
    fn solve(self, solve: &(impl Fn(&Block, &mut [Vec3], &mut [Vec3], &mut BlockWork) -> (f64, u32) + Sync)) -> (f64, u32) {
        let Self { blocks, r, z, work } = self;
        match blocks {
            [] => (0.0, 0),
            [block] => solve(block, r, z, &mut work[0]),
            [first, ..] => {
                let (blocks, blocks_after) = blocks.split_at(blocks.len() / 2);
                let here = blocks_after[0].unknowns.start - first.unknowns.start;
                let ((r, r_after), (z, z_after)) = (r.split_at_mut(here), z.split_at_mut(here));
                let (work, work_after) = work.split_at_mut(blocks.len());
                let (a, b) = rayon::join(
                    || Parts { blocks, r, z, work }.solve(solve),
                    || Parts { blocks: blocks_after, r: r_after, z: z_after, work: work_after }.solve(solve),
                );
                (a.0.max(b.0), a.1.max(b.1))
            }
        }
    }
}

/// `z = A~^-1 r`.
fn invert_all(problem: &Problem, blocks: &[Block], r: &mut [Vec3], z: &mut [Vec3], work: &mut [BlockWork]) {
    Parts { blocks, r, z, work }.solve(&|block, r, z, work| {
        invert(problem, block, r, z, work);
        (0.0, 0)
    });
}

fn invert(problem: &Problem, block: &Block, r: &[Vec3], z: &mut [Vec3], work: &mut BlockWork) {
    match &block.rest {
        None => problem.a.precondition(&block.unknowns, r, z),
        Some(rest) => {
            let BlockWork { rotated, factor, .. } = work;
            rotated.clear();
            rotated.extend(r.iter().zip(rest.rotations).map(|(r, rotation)| rotation.tr_mul(r)));
            rest.factor.solve(rotated, z, factor);
            z.iter_mut().zip(rest.rotations).for_each(|(z, rotation)| *z = rotation * *z);
        }
    }
}

/// `z` so that A z is near `r`; returns the largest entry of A~^-1 r and the iterations of the slowest body. One application of A~^-1 a body, unless passes with
/// that contract slowly: then conjugate gradients, which it preconditions.
fn correct(problem: &Problem, blocks: &[Block], r: &mut [Vec3], z: &mut [Vec3], tolerance: f64, work: &mut [BlockWork]) -> (f64, u32) {
    Parts { blocks, r, z, work }.solve(&|block, r, z, work| {
        invert(problem, block, r, z, work);
        let largest = largest(z) * problem.dt;
        if work.last > 0.0 {
            work.contraction = work.contraction.max(largest / work.last);
        }
        work.last = largest;
        let slow = work.contraction > SLOW || (block.rest.is_none() && block.unknowns.len() > 2);
        if !slow || largest < tolerance {
            return (largest / problem.dt, 1);
        }
        (largest / problem.dt, 1 + conjugate_gradient(problem, block, r, z, 0.05 * largest.max(10.0 * tolerance), work))
    })
}

fn largest(z: &[Vec3]) -> f64 {
    z.iter().map(Vec3::amax).fold(0.0, f64::max)
}

/// Solves A z = r on one block until A~^-1 of the residual moves nothing by more than `bound` [m]. At the start `z` is A~^-1 r; `r` is used up.
fn conjugate_gradient(problem: &Problem, block: &Block, r: &mut [Vec3], z: &mut [Vec3], bound: f64, work: &mut BlockWork) -> u32 {
    let mut vectors = std::mem::take(&mut work.krylov);
    for vector in &mut vectors {
        vector.resize(z.len(), Vec3::zeros());
    }
    let iterations = iterate(problem, block, r, z, bound, &mut vectors, work);
    work.krylov = vectors;
    iterations
}

fn iterate(
    problem: &Problem,
    block: &Block,
    r: &mut [Vec3],
    z: &mut [Vec3],
    bound: f64,
    vectors: &mut [Vec<Vec3>; 3],
    work: &mut BlockWork,
) -> u32 {
    let [preconditioned, direction, product] = vectors;
    preconditioned.copy_from_slice(z);
    direction.copy_from_slice(z);
    z.fill(Vec3::zeros());
    let mut rho = dot(r, preconditioned);
    for iteration in 1..=MAX_ELASTIC_ITERATIONS {
        problem.a.apply(problem.pattern, problem.fixed, &block.unknowns, direction, product);
        let alpha = rho / dot(direction, product);
        if !alpha.is_finite() {
            return iteration;
        }
        crate::sparse::axpy(z, alpha, direction);
        crate::sparse::axpy(r, -alpha, product);
        invert(problem, block, r, preconditioned, work);
        if largest(preconditioned) * problem.dt < bound {
            return iteration;
        }
        let rho_new = dot(r, preconditioned);
        crate::sparse::xpay(direction, preconditioned, rho_new / rho);
        rho = rho_new;
    }
    MAX_ELASTIC_ITERATIONS
}
