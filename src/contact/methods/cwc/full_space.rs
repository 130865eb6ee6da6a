//! Forces and velocities at once, with a sparse factor of bodies and contacts together. W~ of many rows is a large
//! matrix, and dense: of two sheets that lie on each other it is many times larger than both matrices of the bodies,
//! and gradients on it need thousands of products. The splitting of `dual::admm` needs it nowhere. With the rows J, the
//! present matrix A, compliances C of joints and the shifts S,
//!
//! ```text
//! K = A + J^T (S + C)^-1 J
//! ```
//!
//! is as sparse as the bodies and their rows. From velocities with the residual r, forces p0 and their motions u0 each
//! iteration is
//!
//! ```text
//! t = S (z - m - p0) - u0,   K w = r + J^T (S + C)^-1 t,   p = p0 + (S + C)^-1 (t - J w),
//! z <- projection of p + m,  m <- p + m - z
//! ```
//!
//! It follows from  A w = r + J^T (p - p0)  and  S (p - z + m) + u = 0,  with the motions  u = u0 + J w + C (p - p0)
//! at p. These are exact, whatever the factor leaves, and tell for nothing how far p is from the laws. What the factor
//! leaves is the residual of the next pass. It is A itself that the forces are found with, so there is nothing to be
//! learnt, and bodies that are far from their rest pose are like others.
//!
//! Forces that are handed over lie in their cones, and bodies have the momentum that those give: what p lacks for that
//! is little in each row, but of thousands it sums up, and moves a body further than any of them is wrong. So rows are
//! good when they are so with what is handed over.

mod splitting;

use std::borrow::Cow;

use super::present::matrix_of;
use super::{BLOCK_WORK, Cwc, FINEST, ROUGH, assembly_work, columns_work, elastic_part, keep_momentum, release, store};
use crate::budget::CONTACT_WORK;
use crate::contact::driver::{ACCEPTED, RowsSolved};
use crate::contact::dual::IMPROVEMENTS;
use crate::contact::methods::warped;
use crate::contact::{Block, Constraint, Problem};
use crate::math::{Mat3, Vec3};
use crate::sparse::dot;
use splitting::{Enough, Iterates, Pass, Passed, Splitting};

/// S of the first rows of a problem, in units of the scales of the contacts.
pub(super) const SHIFT: f64 = 0.05;
/// Fewer rows are for W~.
const MIN_ROWS: usize = 30;
/// Rows on more unknowns would fill the factor.
const MAX_ENTRIES: usize = 64;
/// The factor takes no more memory than W~ would. What is known of it before are the factors of the bodies alone, which
/// are as many times smaller, and what the two unknowns of a rigid body and those of its neighbours make [bytes].
const COUPLED: usize = 2;
const RIGID: usize = of_blocks(12);
/// Iterations that take as long as to make a factor.
const PRICE: u64 = 100;

/// Memory of blocks in f32 [bytes].
const fn of_blocks(n: usize) -> usize {
    n * 9 * size_of::<f32>()
}

/// How far a solve came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Solved {
    Settled,
    /// The laws do not hold to the accuracy.
    Unsettled,
    /// The step shall end.
    Ended,
    /// It is not for these rows.
    NotHere,
}

/// Whether these rows are for it; `parts`: memory.
pub(super) fn is_for(problem: &Problem, contacts: &[Constraint], parts: &mut Vec<usize>) -> bool {
    max_memory(problem, contacts, parts).is_some()
}

/// What the factor for these rows may take [bytes], if it is smaller than W~ as far as can be told before, and can be
/// afforded.
fn max_memory(problem: &Problem, contacts: &[Constraint], parts: &mut Vec<usize>) -> Option<usize> {
    // What has no factor is too large for one.
    let has_factor = |block: &Block| block.rest.is_some() || !block.segment.body.is_deformable();
    let is_for = |block: &Block| has_factor(block) && !problem.system.a.has_terms(&block.segment.unknowns);
    if contacts.len() < MIN_ROWS
        || contacts.iter().any(|contact| contact.row.entries.len() > MAX_ENTRIES)
        || !problem.blocks.iter().all(is_for)
    {
        return None;
    }
    let of_body = |block: &Block| block.rest.as_ref().map_or(RIGID, |rest| rest.factor.memory());
    let least = COUPLED * problem.blocks.iter().map(of_body).sum::<usize>();
    // Whatever the parts are, of which a row touches two.
    if least > of_blocks(2 * contacts.len() * contacts.len()) {
        return None;
    }
    let of_w = of_blocks((assembly_work(problem, contacts, parts) / BLOCK_WORK) as usize);
    let affordable = usize::try_from(problem.allowance.left() / (2 * PRICE)).unwrap_or(usize::MAX);
    let most = of_w.min(affordable);
    (least <= most).then_some(most)
}

/// The matrices of all bodies in f64: the blocks of their rows, of a rigid body its diagonal.
fn matrices<'a>(problem: &Problem<'a>) -> Vec<Cow<'a, [Mat3]>> {
    let n_nodes = problem.system.pattern.n_rows();
    let of = |block: &Block<'a>| match block.segment.body.is_deformable() {
        true => matrix_of(problem, block),
        false => {
            let rigid = block.segment.unknowns.start - n_nodes..block.segment.unknowns.end - n_nodes;
            Cow::Borrowed(&problem.system.a.rigid_blocks[rigid])
        }
    };
    problem.blocks.iter().map(of).collect()
}

/// `r = rhs + J^T p - A dv`.
fn residual(problem: &Problem, matrices: &[Cow<[Mat3]>], contacts: &[Constraint], p: &[Vec3], dv: &[Vec3], r: &mut [Vec3]) {
    let pattern = problem.system.pattern;
    for (block, matrix) in problem.blocks.iter().zip(matrices) {
        let (places, unknowns) = (block.segment.places(), block.segment.unknowns.clone());
        let (r, dv) = (&mut r[places.clone()], &dv[places]);
        if !block.segment.body.is_deformable() {
            r.iter_mut().zip(dv).zip(&**matrix).for_each(|((r, dv), matrix)| *r = matrix * dv);
            continue;
        }
        let mut values = matrix.iter();
        for (r, unknown) in r.iter_mut().zip(unknowns.clone()) {
            let columns = pattern.columns[pattern.row(unknown)].iter();
            *r = columns.zip(&mut values).map(|(column, value)| value * dv[*column as usize - unknowns.start]).sum();
        }
    }
    r.iter_mut().zip(problem.rhs).for_each(|(r, rhs)| *r = rhs - *r);
    problem.spread_all(contacts, p, 1.0, r);
    problem.system.clear_fixed(r);
}

/// Bodies take what a `residual` says that they have lost, rigid ones their spin as well.
fn keep_all_momentum(problem: &Problem, residual: &[Vec3], dv: &mut [Vec3]) {
    keep_momentum(problem.blocks, residual, dv);
    for block in problem.blocks.iter().filter(|block| !block.segment.body.is_deformable()) {
        let inverses = &problem.system.a.inverse_diagonals[block.segment.unknowns.clone()];
        block.segment.places().zip(inverses).for_each(|(place, inverse)| dv[place] += inverse * residual[place]);
    }
}

impl Cwc {
    /// As `iterate`, where there are so many rows that W~ is not for them.
    pub(super) fn iterate_in_full_space(
        &mut self,
        problem: &Problem,
        rows: &mut [Constraint],
        mut n_rows: usize,
        dv: &mut [Vec3],
        mut accuracy: f64,
        outcome: &mut RowsSolved,
    ) -> Solved {
        let Self {
            assembly,
            touched_parts,
            counted,
            laws,
            forces: [p, _],
            residual: r,
            max_passes,
            is_first,
            is_condensed,
            shift,
            working_set,
            ..
        } = self;
        let is_never_condensed = self.is_never_condensed;
        let mut room = |problem: &Problem, contacts: &[Constraint]| match is_never_condensed {
            true => Some(usize::MAX),
            false => max_memory(problem, contacts, touched_parts),
        };
        let Some(mut max_memory) = room(problem, &rows[..n_rows]) else { return Solved::NotHere };
        let matrices = matrices(problem);
        let mut iterates = Iterates::default();
        let mut splitting: Option<Splitting> = None;
        let mut passes_left = *max_passes;
        while passes_left > 0 {
            passes_left -= 1;
            let contacts = &mut rows[..n_rows];
            let now = match &mut splitting {
                Some(splitting) => splitting,
                none => {
                    problem.allowance.spend(columns_work(problem, contacts, counted) + CONTACT_WORK * n_rows as u64);
                    let scales = warped::scales(problem, contacts, assembly);
                    let Some(new) = Splitting::new(problem, contacts, &matrices, scales, *shift, max_memory) else {
                        *is_condensed = true;
                        return if problem.must_end() { Solved::Ended } else { Solved::NotHere };
                    };
                    problem.allowance.spend(PRICE * new.work());
                    laws.clear();
                    laws.extend(contacts.iter().map(|contact| contact.law));
                    p.clear();
                    p.extend(contacts.iter().map(Constraint::force_on_first));
                    none.insert(new)
                }
            };
            residual(problem, &matrices, contacts, p, dv, r);
            outcome.residual = dot(r, r).sqrt();
            let is_rough = std::mem::take(is_first);
            let (mut asked, mut improved) = (accuracy, 0);
            let enough = |passed: &Passed| {
                if is_rough {
                    asked = accuracy.max(ROUGH * passed.moves);
                }
                improved += u32::from(passed.error < asked);
                // What is still, and within the accuracy, is not improved.
                let is_still = passed.iterations == 1 && passed.left < elastic_part(problem, asked);
                let aim = if is_still || improved > IMPROVEMENTS { asked } else { FINEST / ACCEPTED * asked };
                Enough { error: aim, handed_over: asked }
            };
            let passed = now.pass(&Pass { problem, contacts, laws, residual: r }, dv, p, &mut iterates, enough);
            outcome.passes += 1;
            outcome.iterations += passed.iterations;
            outcome.dual_iterations += passed.iterations;
            *shift = now.shift();
            // Written so that an error that is not a number is none to go on with.
            let is_found = passed.error < asked;
            if !is_found {
                store(contacts, p);
                return if problem.must_end() { Solved::Ended } else { Solved::Unsettled };
            }
            if asked > accuracy {
                accuracy = asked;
                outcome.accuracy = accuracy;
            }
            let is_still = passed.left < elastic_part(problem, accuracy);
            if is_still {
                now.project(laws, p);
                residual(problem, &matrices, contacts, p, dv, r);
                keep_all_momentum(problem, r, dv);
            }
            let grown = working_set.grow(problem, rows, n_rows, dv, accuracy);
            if grown > n_rows {
                store(&mut rows[..n_rows], p);
                (n_rows, splitting, passes_left) = (grown, None, passes_left.max(*max_passes / 2));
                let Some(room) = room(problem, &rows[..n_rows]) else {
                    *is_condensed = true;
                    return Solved::NotHere;
                };
                max_memory = room;
            } else if is_still {
                let contacts = &mut rows[..n_rows];
                store(contacts, p);
                release(contacts, |unknown| dv[problem.place(unknown)], problem.dt, accuracy / ACCEPTED);
                return Solved::Settled;
            }
        }
        store(&mut rows[..n_rows], p);
        Solved::Unsettled
    }
}
