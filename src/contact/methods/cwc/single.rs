//! Passes where the deformable bodies have their matrix in f32. Velocities are corrected by conjugate gradients of two
//! levels on the true matrix, whose residual goes on from pass to pass: an iteration reads a tenth of what a solve with
//! the factor reads, and bodies that are far from their rest pose take no more of them. W~ only finds the forces; gaps
//! and slip are those of the true compliance, and say when the forces are good.

use super::correction::{Parts, invert};
use super::{ACCEPTED, BlockWork, Chain, Cwc, DualWork, FINEST, LEAST_ITERATIONS, MAX_FAILURES, Rows};
use super::{assembly_work, columns_work, elastic_part, full_space, learns, present, release, solve_work, store};
use crate::contact::driver::RowsSolved;
use crate::contact::methods::secant::MISRATED;
use crate::contact::methods::warped::{self, ContactIsland};
use crate::contact::methods::working_set;
use crate::contact::problem::restore_momentum;
use crate::contact::{Block, Constraint, NaturalError, Problem, Scale, Single};
use crate::math::Vec3;
use crate::sparse::{Corrected, Enough, TwoLevelSystem, dot};

/// A pass after which others follow corrects velocities to this part of what it begins with: W~ leaves as much.
const PART: f64 = 0.05;
/// The elastic residual moves no more than this part of the accuracy, or of the error before the pass: else it would be
/// what the forces are sought for.
const CLEAR: f64 = 0.15;
const CLEAR_OF_ERROR: f64 = 0.03;
/// Forces are found to this part of the error before: W~ leaves about as much.
const FORCING: f64 = 0.05;
/// An error that falls to no less than this part in a pass hardly falls.
const STALLED: f64 = 0.5;
/// Where it does not, W~ is at fault if velocities have moved by this part of it at least: forces that move bodies by
/// more than was foreseen leave no more than they move, on both sides of a contact. Where less has moved, corrections
/// may have left the error, although they are as good as asked for: what the preconditioner tells of a residual is less
/// than what the residual moves, a hundredth of it in a thin sheet, whose bending the lattice does not know. They are
/// asked for a part of that then, down to the least; what moves by less than the second part of the error in answer to
/// that has nothing left, and W~ foresees more than comes.
const OWN: f64 = 0.5;
const UNMOVED: f64 = 0.1;
const FINER: f64 = 0.1;
const FINEST_LEFT: f64 = 1e-4;
/// Where forces are not found to their accuracy, again and again, an error that falls to no less than this part in a
/// pass does not fall.
const STUCK: f64 = 0.9;
/// W~ is another compliance than that of the body where the error has grown in so many passes.
const DIVERGED: u32 = 3;
/// Nothing lies further from where it should be, in units of what the first pass and the deepest row have to move: where
/// forces grow for rows that contradict each other, or by a W~ that is not that of the body, each pass takes bodies some
/// hundred times as far as the one before.
const RUNAWAY: f64 = 100.0;
/// As `super::ROUGH`; passes are cheaper here, and so is to come back.
const ROUGH: f64 = 0.05;
/// Most iterations of a pass.
const MAX_ITERATIONS: u32 = 80;

impl Cwc {
    /// Forces and velocities for the present rows, as `iterate` finds them.
    pub(super) fn iterate_single(
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
            residual: change,
            z: load,
            unchanged,
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
        // What there is to be moved [m].
        let mut reach = rows.iter().map(|row| -working_set::gap(problem, row, dv)).fold(accuracy, f64::max);
        if *is_first {
            // As for the other bodies, what is remembered has its columns.
            columns_work(problem, rows, counted);
        }
        load.copy_from_slice(problem.rhs);
        for row in &rows[..n_rows] {
            problem.spread(row, &row.force_on_first(), 1.0, load);
        }
        problem.system.clear_fixed(load);
        SingleParts::of(problem, load, dv, block_work).for_each(&|block, load, dv, work| {
            if let Some(Single { system, .. }) = block.single {
                system.begin_corrections(load, dv, &mut work.single);
            }
            Corrected::default()
        });
        let mut is_assembled = false;
        let (mut last_error, mut growths, first_pass) = (f64::INFINITY, 0, outcome.passes + 1);
        // The last pass has changed the forces; this one goes on with corrections alone.
        let (mut is_news, mut goes_on) = (false, false);
        let mut iteration_work = 0;
        let correction_work = correction_work(problem);
        let (mut tolerance, mut acceptable, mut part, mut finer) = (accuracy, accuracy, PART, 1.0f64);
        let mut passes_left = *max_passes;
        while passes_left > 0 {
            passes_left -= 1;
            if problem.must_end() {
                outcome.exhausted = true;
                break;
            }
            // Without contacts the residual tells when to stop.
            let bound =
                if is_touched { elastic_part(problem, accuracy).min((CLEAR * accuracy).max(CLEAR_OF_ERROR * last_error)) } else { 0.0 };
            let affordable = problem.allowance.left() / correction_work.max(1);
            let iterations = affordable.clamp(LEAST_ITERATIONS, u64::from(MAX_ITERATIONS)) as u32;
            let bound = finer * bound;
            let enough = Enough { left: bound / problem.dt, part, iterations, cancel: problem.cancel };
            let corrected = SingleParts::of(problem, load, dv, block_work)
                .for_each(&|block, load, dv, work| correct(problem, block, load, dv, enough, work));
            problem.allowance.spend(u64::from(corrected.iterations + 1) * correction_work);
            outcome.iterations += corrected.iterations;
            outcome.passes += 1;
            outcome.residual = corrected.residual;
            let moves = corrected.largest * problem.dt;
            if std::mem::take(is_first) && is_touched && ROUGH * moves > accuracy {
                accuracy = ROUGH * moves;
                outcome.accuracy = accuracy;
                (tolerance, acceptable) = (tolerance.max(accuracy), accuracy);
            }
            if !is_touched {
                if outcome.residual <= bounds.residual {
                    return true;
                }
                continue;
            }
            if present::suspect_corrections(problem, block_work) {
                break;
            }
            let grown = working_set.grow(problem, rows, n_rows, dv, tolerance);
            if grown > n_rows || !is_assembled {
                if is_assembled {
                    store(&mut rows[..n_rows], p);
                }
                if !*is_condensed && full_space::is_for(problem, &rows[..grown], touched_parts) {
                    *is_outgrown = true;
                    return false;
                }
                // The last pass was one of other rows.
                (n_rows, is_assembled, last_error, is_news) = (grown, true, f64::INFINITY, false);
                let taken = &rows[..n_rows];
                problem.allowance.spend(assembly_work(problem, taken, touched_parts) + columns_work(problem, taken, counted));
                if problem.must_end() {
                    outcome.exhausted = true;
                    return false;
                }
                warped::assemble(problem, &mut rows[..n_rows], block_work.iter().map(|work| &work.secants), islands, assembly);
                duals.resize_with(islands.len(), DualWork::default);
                laws.clear();
                laws.extend(rows[..n_rows].iter().map(|c: &Constraint| c.law));
                p.clear();
                p.extend(rows[..n_rows].iter().map(Constraint::force_on_first));
                iteration_work = islands.iter().map(|island| island.compliance.work()).sum();
            }
            let contacts = &mut rows[..n_rows];
            let error = natural_error(problem, contacts, p, islands, dv);
            growths += u32::from(error > last_error && !goes_on);
            if outcome.passes == first_pass {
                reach = reach.max(error).max(moves);
            }
            let is_within_reach = error <= RUNAWAY * reach;
            if !is_within_reach {
                outcome.exhausted = !present::suspect(problem, worst_contact(problem, contacts, p, islands, dv), block_work);
                break;
            }
            // The error is what the forces, corrections or W~ have left: where it stays, the passes lead nowhere unless
            // corrections go on, or W~ learns from the last change of the forces.
            let (stalls, is_clear) = (error > STALLED * last_error, corrected.left * problem.dt <= CLEAR * error);
            let (is_still, is_wrong) = (corrected.left * problem.dt <= bound, stalls && error >= acceptable);
            let is_moved = moves >= if goes_on { UNMOVED } else { OWN } * error;
            if is_wrong && is_still && !is_moved && !goes_on && finer > FINEST_LEFT && passes_left > 0 {
                (finer, part, goes_on) = (FINER * finer, 0.0, true);
                passes_left += 1;
                continue;
            }
            // The motion answers to the forces, not to what corrections had left before, where it is large at once, or
            // where they went on in vain.
            let went_on = std::mem::take(&mut goes_on);
            if went_on && !is_moved {
                finer /= FINER;
            }
            let is_answer = std::mem::take(&mut is_news) && is_clear && is_moved != went_on;
            if is_answer && is_wrong && are_misrated(problem, contacts, [before, p], islands, duals, [unchanged, dv]) {
                problem.allowance.spend(solve_work(problem));
                learn_from(problem, change, unchanged, dv, block_work);
                if learns(block_work) {
                    store(contacts, p);
                    assembly.forget();
                    (is_assembled, last_error, growths) = (false, f64::INFINITY, 0);
                    passes_left += 1;
                    continue;
                }
            }
            if growths >= DIVERGED && present::suspect(problem, worst_contact(problem, contacts, p, islands, dv), block_work) {
                break;
            }
            if error < acceptable {
                if is_still {
                    keep_momentum(problem, load, dv);
                    store(contacts, p);
                    release(contacts, |unknown| dv[problem.place(unknown)], problem.dt, accuracy / ACCEPTED);
                    return true;
                }
                part = 0.0;
                continue;
            }
            if passes_left == 0 {
                // Before the step is refused, where W~ may be at fault.
                present::suspect(problem, worst_contact(problem, contacts, p, islands, dv), block_work);
                break;
            }
            // The next pass may be the last.
            part = if PART * error < acceptable { 0.0 } else { PART };
            let aim = f64::max(FINEST / ACCEPTED * accuracy, FORCING * error);
            tolerance = accuracy.max(aim);
            let is_last = tolerance == accuracy;
            before.clone_from(p);
            let chain = if is_last && *failures < MAX_FAILURES { Chain::Whole } else { Chain::First };
            let found = Rows { problem, contacts, laws, dv, tolerance, aim, chain }.solve_forces(islands, duals, p);
            outcome.iterations += found.iterations;
            outcome.dual_iterations += found.iterations;
            problem.allowance.spend(u64::from(found.iterations) * iteration_work + found.factor_work);
            // What the whole chain cannot do better is taken within the tolerance itself.
            acceptable = if is_last && !found.converged { accuracy / ACCEPTED } else { accuracy };
            // Searching on with these rows is in vain then.
            *failures += u32::from(!found.converged && (is_last || stalls));
            // Neither the motion nor the forces change any more, or forces are found no better: another pass would be
            // this one.
            let is_idle = *p == *before || (*failures >= MAX_FAILURES && error > STUCK * last_error);
            let is_stuck = is_still && is_last && !found.converged && is_idle;
            last_error = error;
            if is_stuck || (bounds.gives_up && *failures >= MAX_FAILURES && found.error.max() >= acceptable) {
                // Before the step is halved, where W~ may be at fault.
                present::suspect(problem, worst_contact(problem, contacts, p, islands, dv), block_work);
                break;
            }
            // What is left of corrections before would be taken for an answer to the change.
            is_news = is_clear && found.converged;
            unchanged.clone_from_slice(dv);
            change.fill(Vec3::zeros());
            for ((contact, p), before) in contacts.iter().zip(&*p).zip(&*before) {
                problem.spread(contact, &(p - before), 1.0, change);
            }
            problem.system.clear_fixed(change);
            load.iter_mut().zip(&*change).for_each(|(load, change)| *load += change);
            SingleParts::of(problem, change, dv, block_work).for_each(&|block, change, _, work| {
                if let Some(Single { system, .. }) = block.single {
                    system.add_load(change, &mut work.single);
                }
                Corrected::default()
            });
        }
        if is_assembled {
            store(&mut rows[..n_rows], p);
        }
        false
    }
}

/// Corrects the velocity changes `dv` of a body under its load.
fn correct(problem: &Problem, block: &Block, load: &[Vec3], dv: &mut [Vec3], enough: Enough, work: &mut BlockWork) -> Corrected {
    if let Some(Single { system, .. }) = block.single {
        let corrected = system.correct(enough, dv, &mut work.single);
        present::count_correction(u64::from(corrected.iterations) * iteration_work(&system), block, work);
        return corrected;
    }
    // The block diagonal of a rigid body is its matrix.
    let inverses = &problem.system.a.inverse_diagonals[block.segment.unknowns.clone()];
    let mut largest = 0.0f64;
    for ((dv, load), inverse) in dv.iter_mut().zip(load).zip(inverses) {
        let found = inverse * load;
        largest = largest.max((found - *dv).amax());
        *dv = found;
    }
    Corrected { largest, ..Corrected::default() }
}

/// Whether the last change of the forces has moved the contacts of an island by more than W~ had foreseen, or by less,
/// and passes hardly put that right by themselves: forces before it and now [N s], velocity changes before it and now
/// [m/s].
fn are_misrated(
    problem: &Problem,
    contacts: &[Constraint],
    [before, p]: [&[Vec3]; 2],
    islands: &[ContactIsland],
    duals: &mut [DualWork],
    [unchanged, dv]: [&[Vec3]; 2],
) -> bool {
    islands.iter().zip(duals).any(|(ContactIsland { contacts: range, compliance }, work)| {
        let DualWork { gather, zero, free: change, foreseen, .. } = work;
        let (before, p) = (&before[range.clone()], &p[range.clone()]);
        change.clear();
        change.extend(p.iter().zip(before).map(|(p, before)| p - before));
        for vector in [&mut *zero, foreseen] {
            vector.clear();
            vector.resize(p.len(), Vec3::zeros());
        }
        compliance.product(change, zero, foreseen, gather);
        let forces = contacts[range.clone()].iter().zip(p.iter().zip(before));
        let moved = forces.map(|(contact, (p, before))| problem.motion(contact, p, dv) - problem.motion(contact, before, unchanged));
        let moved: f64 = change.iter().zip(moved).map(|(change, moved)| change.dot(&moved)).sum();
        let foreseen = dot(change, foreseen);
        (moved - foreseen).abs() > MISRATED * foreseen
    })
}

/// Learns what A~^-1 misrates from the last pass: a `change` of the load [kg m/s] has moved the bodies from
/// `unchanged` to `dv` [m/s], up to what corrections leave.
fn learn_from(problem: &Problem, change: &mut [Vec3], unchanged: &mut [Vec3], dv: &[Vec3], work: &mut [BlockWork]) {
    let parts = &problem.system.pattern.parts;
    unchanged.iter_mut().zip(dv).for_each(|(v, dv)| *v = dv - *v);
    Parts { blocks: problem.blocks, r: change, z: unchanged, work }.solve(&|block, change, moved, work| {
        // Where a factor of the matrix itself was sought, there is nothing to be learnt about that of the rest pose.
        if block.rest.is_some() && !work.is_renewed {
            let mut foreseen = std::mem::take(&mut work.krylov[0]);
            foreseen.resize(change.len(), Vec3::zeros());
            invert(problem, block, change, &mut foreseen, work);
            work.secants.learn(moved, change, &foreseen, &parts[block.segment.unknowns.clone()]);
            work.krylov[0] = foreseen;
        }
        (0.0, 0)
    });
}

/// Largest natural map of the contacts, with the velocity changes as they are [m].
fn natural_error(problem: &Problem, contacts: &[Constraint], p: &[Vec3], islands: &[ContactIsland], dv: &[Vec3]) -> f64 {
    let of_island = |ContactIsland { contacts: range, compliance }: &ContactIsland| {
        problem.natural_error(&contacts[range.clone()], &p[range.clone()], compliance.scales(), dv)
    };
    // What is not a number is the most.
    let worse = |most: f64, error: NaturalError| if error.max() <= most { most } else { error.max() };
    islands.iter().map(of_island).fold(0.0, worse)
}

/// The contact with the largest natural map; there is one at least.
fn worst_contact<'c>(problem: &Problem, contacts: &'c [Constraint], p: &[Vec3], islands: &[ContactIsland], dv: &[Vec3]) -> &'c Constraint {
    let places = islands.iter().flat_map(|island| island.contacts.clone().zip(island.compliance.scales()));
    let error = |k: usize, scale: &Scale| problem.natural_error(&contacts[k..=k], &p[k..=k], std::slice::from_ref(scale), dv).max();
    let worst = places.map(|(k, scale)| (error(k, scale), k)).max_by(|a, b| a.0.total_cmp(&b.0));
    &contacts[worst.map_or(0, |(_, k)| k)]
}

/// A body changes its momentum by the impulses on it, whatever the matrix in f32 makes of them.
fn keep_momentum(problem: &Problem, load: &[Vec3], dv: &mut [Vec3]) {
    for block in problem.blocks {
        let (Some(mass), Some(Single { system, node_masses, damped, .. })) = (block.mass, block.single) else { continue };
        let (load, dv) = (&load[block.segment.places()], &mut dv[block.segment.places()]);
        let own = dv.iter().zip(node_masses).map(|(dv, mass)| dv * *mass).sum::<Vec3>() * damped;
        let of_springs = system.matrix.sum_of_springs(system.layout, dv);
        restore_momentum(dv, load.iter().sum::<Vec3>() - own - of_springs, mass);
    }
}

/// Work of an iteration of the corrections of all bodies [bytes].
fn correction_work(problem: &Problem) -> u64 {
    problem.blocks.iter().filter_map(|block| block.single).map(|single| iteration_work(&single.system)).sum()
}

/// The same of one body: vectors and coarse factors come to as much as the matrix, or a factor of that is read twice.
fn iteration_work(system: &TwoLevelSystem) -> u64 {
    let matrix = system.layout.matrix_memory();
    (matrix + system.factor.map_or(matrix, |factor| 2 * factor.memory())) as u64
}

/// Consecutive blocks with their memory and their parts of two vectors.
struct SingleParts<'a, 'b> {
    blocks: &'a [Block<'b>],
    load: &'a [Vec3],
    dv: &'a mut [Vec3],
    work: &'a mut [BlockWork],
}

impl<'a, 'b> SingleParts<'a, 'b> {
    fn of(problem: &Problem<'b>, load: &'a [Vec3], dv: &'a mut [Vec3], work: &'a mut [BlockWork]) -> Self
    where
        'b: 'a,
    {
        Self { blocks: problem.blocks, load, dv, work }
    }

    /// Hands each block to `each`, halves of them to different threads; returns the largest of what it tells.
    fn for_each(self, each: &(impl Fn(&Block, &[Vec3], &mut [Vec3], &mut BlockWork) -> Corrected + Sync)) -> Corrected {
        let Self { blocks, load, dv, work } = self;
        match blocks {
            [] => Corrected::default(),
            [block] => each(block, load, dv, &mut work[0]),
            [first, ..] => {
                let (blocks, blocks_after) = blocks.split_at(blocks.len() / 2);
                let here = blocks_after[0].segment.start - first.segment.start;
                let ((load, load_after), (dv, dv_after)) = (load.split_at(here), dv.split_at_mut(here));
                let (work, work_after) = work.split_at_mut(blocks.len());
                let (a, b) = rayon::join(
                    || SingleParts { blocks, load, dv, work }.for_each(each),
                    || SingleParts { blocks: blocks_after, load: load_after, dv: dv_after, work: work_after }.for_each(each),
                );
                Corrected {
                    iterations: a.iterations.max(b.iterations),
                    largest: a.largest.max(b.largest),
                    left: a.left.max(b.left),
                    residual: a.residual.hypot(b.residual),
                }
            }
        }
    }
}
