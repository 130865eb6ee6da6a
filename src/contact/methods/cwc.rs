//! Corrected warped compliance: contact laws are solved in the space of the contact forces, with the compliance of the
//! rest pose rotated node by node; outer passes correct the velocities with the true matrix (`contact-study.md` 4).
//!
//! With R the rotations of the nodes and A0 the matrix of the rest pose, `A~^-1 r = R A0^-1 R^T r` stands for A^-1: in
//! the compliance W~ = J A~^-1 J^T of the contacts, and as preconditioner of the elastic solve. Forces that are found
//! with W~ move the contacts exactly as foreseen, so gaps, sticking and cones hold after every pass; the passes only
//! remove what A~ leaves of the elastic residual.

mod correction;
mod full_space;
mod present;
mod single;
#[cfg(test)]
mod tests;

use super::secant::Secants;
use super::warped::{self, ContactIsland};
use super::working_set::WorkingSet;
use super::{Factored, RowSolver};
use crate::budget::CONTACT_WORK;
use crate::contact::driver::{ACCEPTED, MAX_FAILURES, RowsSolved, Schedule};
use crate::contact::dual;
use crate::contact::problem::{product_work, restore_momentum};
use crate::contact::{Block, Constraint, Law, Problem};
use crate::math::Vec3;
use crate::sparse::{FactorWork, Pattern, Segment, TwoLevelWork, dot};
use correction::{correct, invert_all};
use full_space::Solved;
use present::Present;

/// Elastic corrections with fixed rows, at most.
pub const MAX_PASSES: u32 = 12;
/// Rows that may still change are solved to this part of how far gaps were from what the rows predicted.
pub const SCHEDULE: Schedule = Schedule::Part(0.05);
/// The elastic residual may still move this part of the contact tolerance at rest, as friction remembers how a landing
/// was solved (`contact-study.md` 4.1), and this part where bodies are fast.
const ELASTIC_TOLERANCES: [f64; 2] = [0.04, 0.4];
/// Between the two it may move this part of the longest way that a node of the island goes.
const ELASTIC_PART: f64 = 1e-3;

/// What the elastic residual of an island may still move [m], with the contact `tolerance` [m] and the longest `motion`
/// of a node in the step, as it starts [m].
pub fn elastic_tolerance(tolerance: f64, motion: f64) -> f64 {
    let [at_rest, fast] = ELASTIC_TOLERANCES.map(|part| part * tolerance);
    // Written so that a motion that is not a number is at rest.
    (ELASTIC_PART * motion).max(at_rest).min(fast)
}

/// The method with its vectors, kept between steps.
#[derive(Debug)]
pub struct Cwc {
    /// Elastic corrections with fixed rows, at most.
    max_passes: u32,
    /// Inner solves that have failed since the beginning.
    failures: u32,
    /// The first rows of a problem are to be solved.
    is_first: bool,
    /// This problem is one for W~; none ever is.
    is_condensed: bool,
    is_never_condensed: bool,
    /// Rows have become too many for W~.
    is_outgrown: bool,
    /// Shifts of the splitting in full space, in units of scales.
    shift: f64,
    cg: [Vec<Vec3>; 4],
    islands: Vec<ContactIsland>,
    assembly: warped::Scratch,
    touched_parts: Vec<usize>,
    /// By unknown of the problem: whether its column of the compliance was counted, or needs not be.
    counted: Vec<bool>,
    laws: Vec<Law>,
    /// Forces of the contacts, and those before a pass.
    forces: [Vec<Vec3>; 2],
    duals: Vec<DualWork>,
    residual: Vec<Vec3>,
    z: Vec<Vec3>,
    /// Velocity changes before the last change of the forces [m/s].
    unchanged: Vec<Vec3>,
    blocks: Vec<BlockWork>,
    /// By block, where the rest pose says too little.
    present: Vec<Option<Present>>,
    working_set: WorkingSet,
}

/// Memory of the solves of an island.
#[derive(Debug, Default)]
struct DualWork {
    dual: dual::Work,
    gather: dual::Gather,
    zero: Vec<Vec3>,
    free: Vec<Vec3>,
    foreseen: Vec<Vec3>,
}

#[derive(Clone, Debug, Default)]
struct BlockWork {
    rotated: Vec<Vec3>,
    factor: FactorWork,
    /// Preconditioned residual, direction and its product of the conjugate gradients; their first residual, and that
    /// preconditioned.
    krylov: [Vec<Vec3>; 5],
    /// How much of the correction of a pass is left in the next; the last correction [m].
    contraction: f64,
    last: f64,
    /// Passes that moved more than the one before, since the beginning.
    growths: u32,
    /// Applications of the factor since they were last asked for, and since the beginning.
    solves: u32,
    applied: u32,
    /// A factor of the matrix itself was sought; it is to be sought, as corrections are slow without one.
    is_renewed: bool,
    is_suspect: bool,
    is_slow: bool,
    /// Work that corrections since the beginning would not have taken with a factor of the matrix itself [bytes].
    excess: u64,
    /// What the factor leaves out.
    secants: Secants,
    /// Corrections with the matrix in f32.
    single: TwoLevelWork,
}

/// Forces are found to this part of what the elastic residual of the pass still moves.
pub const FORCING: f64 = 0.1;
/// Forces are sought to this part of the contact tolerance, and taken if they come as near as that: gaps that aim at
/// the middle of the band stay in it.
const FINEST: f64 = 0.2;
/// The first rows of a problem are solved to this part of what the first pass moves, if that is rougher than asked for:
/// so far from where they began, bodies are going to meet others, and at other places.
const ROUGH: f64 = 0.02;
/// Bounds on the inner iterations of a pass that is not yet about the last digits.
const FIRST_ITERATIONS: [u32; 3] = [80, 300, 320];
/// Work of the assembly of a block of W~ [bytes]: some 400 ns between contacts of large bodies (gallery).
const BLOCK_WORK: u64 = 12_000;
/// Inner and elastic iterations that are made whatever is left of the allowance.
const LEAST_ITERATIONS: u64 = 4;

impl Default for Cwc {
    fn default() -> Self {
        Self::with_max_passes(MAX_PASSES)
    }
}

impl Cwc {
    /// With another bound on the elastic corrections with fixed rows.
    pub fn with_max_passes(max_passes: u32) -> Self {
        Self {
            max_passes,
            failures: 0,
            is_first: true,
            is_condensed: false,
            is_never_condensed: false,
            is_outgrown: false,
            shift: full_space::SHIFT,
            cg: Default::default(),
            islands: vec![],
            assembly: Default::default(),
            touched_parts: vec![],
            counted: vec![],
            laws: vec![],
            forces: Default::default(),
            duals: vec![],
            residual: vec![],
            z: vec![],
            unchanged: vec![],
            blocks: vec![],
            present: vec![],
            working_set: WorkingSet::default(),
        }
    }

    /// The same, always in full space.
    #[cfg(test)]
    pub fn in_full_space(max_passes: u32) -> Self {
        Self { is_never_condensed: true, ..Self::with_max_passes(max_passes) }
    }
}

impl RowSolver for Cwc {
    fn schedule(&self) -> Schedule {
        SCHEDULE
    }

    fn begin(&mut self, problem: &Problem, dv: &[Vec3]) {
        self.failures = 0;
        (self.is_first, self.is_condensed, self.is_outgrown, self.shift) = (true, false, false, full_space::SHIFT);
        for vector in [&mut self.residual, &mut self.z, &mut self.unchanged] {
            vector.resize(dv.len(), Vec3::zeros());
        }
        self.blocks.resize_with(problem.blocks.len(), BlockWork::default);
        for block in &mut self.blocks {
            block.secants.forget();
            (block.applied, block.growths, block.excess) = (0, 0, 0);
            (block.is_renewed, block.is_suspect, block.is_slow) = (false, false, false);
        }
        self.assembly.forget();
        self.present.clear();
        self.counted.clear();
        self.counted.resize(dv.len(), false);
    }

    fn end(&mut self, problem: &Problem) -> Factored {
        // Factors of single steps are large.
        let mut factored = Factored::default();
        self.present.resize_with(problem.blocks.len(), || None);
        for ((present, block), work) in self.present.drain(..).zip(problem.blocks).zip(&self.blocks) {
            let (is_made, is_refused) = (present.is_some(), work.is_renewed && present.is_none());
            if work.is_slow && !is_refused {
                factored.slow.push(block.segment.body);
            } else if is_made {
                factored.outgrown.push(block.segment.body);
            }
        }
        factored
    }

    fn solve_rows(&mut self, problem: &Problem, rows: &mut [Constraint], dv: &mut [Vec3], mut accuracy: f64) -> RowsSolved {
        let mut solved = RowsSolved::default();
        let is_large = |block: &Block| block.rest.is_none() && block.segment.unknowns.len() > 2;
        let is_single = problem.is_single();
        if rows.is_empty() && !is_single && problem.blocks.iter().any(is_large) {
            // Without a factor, one long solve is better than many short ones.
            solved.iterations = problem.solve_elastic(dv, &mut self.cg).iterations;
        }
        let before = self.failures;
        let mut present = std::mem::take(&mut self.present);
        if self.is_first && is_single && !rows.is_empty() && present::recall(problem, &mut self.blocks) {
            present::renew(problem, &mut self.blocks, &mut self.counted, &mut present);
        }
        // Rows have outgrown W~, and have come back to it.
        let (mut was_outgrown, mut is_handed_back) = (false, false);
        loop {
            let blocks = present::blocks(problem.blocks, &present, &self.blocks);
            let problem_now = Problem { blocks: &blocks, ..*problem };
            let n_rows = self.working_set.begin(problem, rows, dv, accuracy);
            if self.is_first && problem.bounds.gives_up && self.working_set.is_too_much(n_rows) {
                solved.exhausted = true;
                break;
            }
            if !self.is_condensed {
                match self.iterate_in_full_space(problem, rows, n_rows, dv, accuracy, &mut solved) {
                    Solved::Settled => solved.settled = true,
                    // W~ would need far longer, and a smaller step less than both.
                    Solved::Unsettled if problem.bounds.may_halve => solved.exhausted = true,
                    Solved::Ended => solved.exhausted = true,
                    Solved::Unsettled => self.is_condensed = true,
                    // What begins a solve may be few rows again where their company is not: one would hand them to the
                    // other for ever.
                    Solved::NotHere => {
                        is_handed_back = was_outgrown && !self.is_condensed;
                        self.is_condensed |= is_handed_back;
                    }
                }
                if solved.settled || solved.exhausted {
                    break;
                }
                if self.is_condensed && !is_handed_back {
                    // Forces have changed, and with them which rows come first.
                    continue;
                }
            }
            solved.settled = match is_single {
                true => self.iterate_single(&problem_now, rows, n_rows, dv, accuracy, &mut solved),
                false => self.iterate(&problem_now, rows, n_rows, dv, accuracy, &mut solved),
            };
            if std::mem::take(&mut self.is_outgrown) {
                accuracy = accuracy.max(solved.accuracy);
                was_outgrown = true;
                continue;
            }
            if solved.settled || solved.exhausted || !present::renew(problem, &mut self.blocks, &mut self.counted, &mut present) {
                break;
            }
            // Those with the rest pose do not count against the factor that is exact.
            self.failures = before;
            self.assembly.forget();
        }
        self.present = present;
        // The next rows may be others.
        self.is_condensed &= !is_handed_back;
        if rows.is_empty() && !is_single && !solved.settled && !solved.exhausted {
            // The factor of the rest pose says nothing of a pose that is far from it (a mirror image): without it.
            let alone = problem.solve_elastic(dv, &mut self.cg);
            solved.iterations += alone.iterations;
            (solved.settled, solved.residual) = (alone.converged, alone.residual);
            problem.residual(rows, &[], dv, &mut self.residual);
            keep_momentum(problem.blocks, &self.residual, dv);
        }
        // Rows whose passes are used up have failed as well.
        solved.failures = (self.failures - before).max(u32::from(!solved.settled));
        solved.solves = self.blocks.iter_mut().map(|block| std::mem::take(&mut block.solves)).sum();
        solved
    }
}

impl Cwc {
    /// Forces and velocities for the present rows, the first `n_rows` to begin with, gaps to `accuracy` [m]; true if
    /// both are within their tolerances.
    fn iterate(
        &mut self,
        problem: &Problem,
        rows: &mut [Constraint],
        mut n_rows: usize,
        dv: &mut [Vec3],
        mut accuracy: f64,
        outcome: &mut RowsSolved,
    ) -> bool {
        let Self {
            islands,
            assembly,
            touched_parts,
            counted,
            laws,
            forces: [p, before],
            residual,
            z,
            blocks: block_work,
            duals,
            max_passes,
            failures,
            is_first,
            working_set,
            is_condensed,
            is_outgrown,
            ..
        } = self;
        let bounds = &problem.bounds;
        let is_touched = !rows.is_empty();
        for block in block_work.iter_mut() {
            (block.contraction, block.last) = (0.0, 0.0);
        }
        if *is_first {
            // The last step had the columns of what it remembers: they are mostly there, and no budget depends on that.
            columns_work(problem, rows, counted);
        }
        let mut is_assembled = false;
        // Forces are found with the velocities of the first pass.
        let mut settled = false;
        let mut iteration_work = 0;
        let mut passes_left = *max_passes;
        while passes_left > 0 {
            let contacts = &mut rows[..n_rows];
            if !std::mem::replace(&mut is_assembled, true) {
                problem.allowance.spend(assembly_work(problem, contacts, touched_parts) + columns_work(problem, contacts, counted));
                if !problem.must_end() {
                    warped::assemble(problem, contacts, block_work.iter().map(|work| &work.secants), islands, assembly);
                }
                duals.resize_with(islands.len(), DualWork::default);
                laws.clear();
                laws.extend(contacts.iter().map(|c: &Constraint| c.law));
                p.clear();
                p.extend(contacts.iter().map(Constraint::force_on_first));
                iteration_work = islands.iter().map(|island| island.compliance.work()).sum();
                settled = contacts.is_empty();
            }
            if problem.must_end() {
                outcome.exhausted = true;
                break;
            }
            problem.allowance.spend(problem.product_work() + 2 * solve_work(problem));
            problem.residual(contacts, p, dv, residual);
            outcome.residual = dot(residual, residual).sqrt();
            // Without contacts the residual tells when to stop.
            let bound = if is_touched { elastic_part(problem, accuracy) } else { 0.0 };
            let (largest, iterations) = correct(problem, residual, z, bound, block_work);
            let moves = largest * problem.dt;
            outcome.iterations += iterations;
            problem.allowance.spend(u64::from(iterations - 1) * (problem.product_work() + solve_work(problem)));
            if std::mem::take(is_first) && is_touched && ROUGH * moves > accuracy {
                accuracy = ROUGH * moves;
                outcome.accuracy = accuracy;
            }
            let still = if is_touched { moves < elastic_part(problem, accuracy) } else { outcome.residual <= bounds.residual };
            if still && settled {
                // The roundings of a factor that ends a solve without contacts at once would sum up.
                if is_touched || block_work.iter().any(|work| work.is_renewed) {
                    keep_momentum(problem.blocks, residual, dv);
                }
                store(contacts, p);
                release(contacts, |unknown| dv[problem.place(unknown)], problem.dt, accuracy / ACCEPTED);
                return true;
            }
            dv.iter_mut().zip(&*z).for_each(|(v, z)| *v += z);
            outcome.passes += 1;
            if is_touched && learns(block_work) {
                store(contacts, p);
                assembly.forget();
                is_assembled = false;
                continue;
            }
            if present::is_due(problem, block_work) {
                break;
            }
            passes_left -= 1;
            let aim = f64::max(FINEST / ACCEPTED * accuracy, FORCING * moves);
            let tolerance = accuracy.max(aim);
            if !contacts.is_empty() {
                let is_last = tolerance == accuracy;
                before.clone_from(p);
                let chain = if is_last && *failures < MAX_FAILURES { Chain::Whole } else { Chain::First };
                let found = Rows { problem, contacts, laws, dv, tolerance, aim, chain }.solve_forces(islands, duals, p);
                outcome.iterations += found.iterations;
                outcome.dual_iterations += found.iterations;
                problem.allowance.spend(u64::from(found.iterations) * iteration_work + found.factor_work);
                // What the whole chain cannot do better is taken within the tolerance itself.
                settled = is_last && (found.converged || found.error.max() < accuracy / ACCEPTED);
                *failures += u32::from(is_last && !found.converged);
                // Neither the motion nor the forces change any more: another pass would be this one.
                let is_stuck = still && !settled && *p == *before;
                if is_stuck || (bounds.gives_up && *failures >= MAX_FAILURES && !settled) {
                    break;
                }
                // The change of the forces moves the bodies as predicted.
                residual.fill(Vec3::zeros());
                for ((contact, p), before) in contacts.iter().zip(&*p).zip(&*before) {
                    problem.spread(contact, &(p - before), 1.0, residual);
                }
                invert_all(problem, residual, z, block_work);
                dv.iter_mut().zip(&*z).for_each(|(v, z)| *v += z);
            }
            let grown = working_set.grow(problem, rows, n_rows, dv, tolerance);
            if grown > n_rows {
                store(&mut rows[..n_rows], p);
                if !*is_condensed && full_space::is_for(problem, &rows[..grown], touched_parts) {
                    *is_outgrown = true;
                    return false;
                }
                (n_rows, is_assembled, passes_left) = (grown, false, passes_left.max(*max_passes / 2));
            }
        }
        store(&mut rows[..n_rows], p);
        false
    }
}

/// What the elastic residual may still move [m] where rows are solved to `accuracy` [m].
fn elastic_part(problem: &Problem, accuracy: f64) -> f64 {
    problem.bounds.elastic_tolerance * (accuracy / (ACCEPTED * problem.tolerance))
}

/// What is open by more than `gap` [m] is not in contact: the force that the tolerance has left there moves less than
/// that.
pub fn release(contacts: &mut [Constraint], dv: impl Fn(usize) -> Vec3, dt: f64, gap: f64) {
    for contact in contacts.iter_mut().filter(|c| c.is_active() && c.law.is_unilateral()) {
        if contact.row.motion(&dv, dt).x > gap {
            contact.force.release();
        }
    }
}

/// The residual of a body sums up to momentum that is lost.
fn keep_momentum(blocks: &[Block], residual: &[Vec3], dv: &mut [Vec3]) {
    for block in blocks {
        let Some(mass) = block.mass else { continue };
        let range = block.segment.places();
        restore_momentum(&mut dv[range.clone()], residual[range].iter().sum(), mass);
    }
}

/// How many of the inner solvers are tried.
#[derive(Clone, Copy, PartialEq)]
enum Chain {
    First,
    Whole,
}

/// Rows whose forces are sought, with the velocity changes and the accuracy of a pass.
struct Rows<'a> {
    problem: &'a Problem<'a>,
    contacts: &'a [Constraint],
    laws: &'a [Law],
    dv: &'a [Vec3],
    /// Natural maps within the tolerance are accepted, and improved to the aim where that is cheap [m].
    tolerance: f64,
    aim: f64,
    chain: Chain,
}

impl Rows<'_> {
    /// Forces that obey the laws as far as W~ tells, island by island; the worst of their outcomes, with the iterations
    /// of the slowest.
    fn solve_forces(&self, islands: &[ContactIsland], duals: &mut [DualWork], p: &mut [Vec3]) -> dual::Outcome {
        let iterations = match self.chain {
            Chain::First => FIRST_ITERATIONS,
            Chain::Whole => dual::Options::default().iterations,
        };
        // No more of them than what is left of the allowance.
        let work_left = self.problem.allowance.left();
        let mut affordable = work_left / islands.iter().map(|island| island.compliance.work()).sum::<u64>().max(1);
        let iterations = iterations.map(|bound| {
            let granted = u64::from(bound).min(affordable.max(LEAST_ITERATIONS));
            affordable = affordable.saturating_sub(granted);
            granted as u32
        });
        let options = dual::Options { tolerance: self.tolerance, aim: self.aim / self.tolerance, iterations };
        let on_island = |ContactIsland { contacts: range, compliance }: &ContactIsland, work: &mut DualWork, p: &mut [Vec3]| {
            let DualWork { dual, gather, zero, free, .. } = work;
            for vector in [&mut *zero, free] {
                vector.clear();
                vector.resize(p.len(), Vec3::zeros());
            }
            // Without the present forces, as far as W~ tells.
            compliance.product(p, zero, free, gather);
            for ((free, contact), p) in free.iter_mut().zip(&self.contacts[range.clone()]).zip(&*p) {
                *free = self.problem.motion(contact, p, self.dv) - *free;
            }
            let laws = &self.laws[range.clone()];
            dual::solve(&dual::Problem { w: compliance, laws, free, cancel: self.problem.cancel, work_left }, p, &options, dual)
        };
        on_contact_islands(islands, duals, p, &on_island)
    }
}

/// Hands the islands to `solve`, with their memory and forces, halves of them to different threads.
fn on_contact_islands(
    islands: &[ContactIsland],
    duals: &mut [DualWork],
    p: &mut [Vec3],
    solve: &(impl Fn(&ContactIsland, &mut DualWork, &mut [Vec3]) -> dual::Outcome + Sync),
) -> dual::Outcome {
    match islands {
        [] => dual::Outcome::none(),
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
                factor_work: a.factor_work + b.factor_work,
                ..if a.error.max() >= b.error.max() { a } else { b }
            }
        }
    }
}

/// Puts the forces into the contacts, with the states that they mean.
pub fn store(contacts: &mut [Constraint], p: &[Vec3]) {
    contacts.iter_mut().zip(p).for_each(|(contact, p)| contact.set_force_on_first(p));
}

/// Whether the last correction has changed A~^-1 of a body.
fn learns(work: &mut [BlockWork]) -> bool {
    work.iter_mut().fold(false, |learns, work| work.secants.take_new() | learns)
}

/// Work of the assembly of W~ for these contacts [bytes]: rows of one part of a body meet each other.
/// `parts`: memory.
fn assembly_work(problem: &Problem, contacts: &[Constraint], parts: &mut Vec<usize>) -> u64 {
    parts.clear();
    parts.extend(contacts.iter().flat_map(|contact| warped::sides(problem, contact, |_| ())).flatten());
    parts.sort_unstable();
    let rows = parts.chunk_by(|a, b| a == b).map(|rows| rows.len() as u64);
    BLOCK_WORK * rows.map(|n| n * n / 2).sum::<u64>()
}

/// Work of the columns of the rest compliance of the nodes that these contacts touch, where it is not counted yet
/// [bytes]: each takes about as long as the factor is read once.
fn columns_work(problem: &Problem, contacts: &[Constraint], counted: &mut [bool]) -> u64 {
    let mut work = 0;
    for contact in contacts {
        for block in contact.bodies.iter().filter_map(|body| problem.block_of(*body)) {
            let block = &problem.blocks[block];
            let Some(rest) = &block.rest else { continue };
            let unknowns = warped::representatives(contact, block, |_| true).map(|(unknown, _)| unknown);
            let new = unknowns.filter(|unknown| !std::mem::replace(&mut counted[problem.place(*unknown)], true)).count();
            work += new as u64 * rest.columns.way_memory() as u64;
        }
    }
    work
}

/// Work of one application of A~^-1 to all bodies [bytes]: a solve reads a factor twice.
fn solve_work(problem: &Problem) -> u64 {
    solve_work_of(problem.blocks)
}

fn solve_work_of(blocks: &[Block]) -> u64 {
    blocks.iter().filter_map(|block| block.rest.as_ref()).map(|rest| 2 * rest.factor.memory() as u64).sum()
}

/// Work of a product with the matrix of the bodies of an island, of one with its inverse, and of a look at its contacts
/// [bytes]: how long an island takes is told in these.
pub fn unit_of_work(pattern: &Pattern, segments: &[Segment], blocks: &[Block], n_contacts: usize) -> u64 {
    product_work(pattern, segments) + solve_work_of(blocks) + CONTACT_WORK * n_contacts as u64
}
