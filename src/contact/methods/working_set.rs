//! The rows that a solve is about. A landing makes a thousand rows of which a tenth carries a force in the end, and what
//! rows cost grows with the square of their number: so only those are solved for that carry a force or are near; the
//! others are looked at after the solve, and those that overlap then are taken up, until none does.

use crate::body::BodyRef;
use crate::contact::{Constraint, JacobianEntry, Problem, SourceId};
use crate::math::Vec3;

/// Rows whose gap ends within so many contact tolerances, or so many times the accuracy of the solve, are near.
const NEAR: f64 = 2.0;
const NEAR_IN_ACCURACIES: f64 = 2.0;
/// Of the rows of two bodies that are taken up at once, more than this many are thinned to the deepest of each node: the
/// others mostly follow from these.
const FEW: usize = 16;
/// After so many times whatever overlaps is taken up.
const MAX_THINNED: u32 = 8;
/// Most rows that carry no force yet with which a problem begins where a smaller step is a better answer: a body that
/// goes into another by its own size has all of its surface there, and a step of half the length far fewer.
const MAX_NEW: usize = 2500;

/// Memory of the choice of rows.
#[derive(Debug, Default)]
pub(super) struct WorkingSet {
    taken: Vec<Taken>,
    is_covered: Vec<bool>,
    covered: Vec<usize>,
    n_choices: u32,
    n_carrying: usize,
}

/// A row that may be taken up.
#[derive(Debug)]
struct Taken {
    bodies: [BodyRef; 2],
    /// Gap at the end, less the contact offset [m].
    gap: f64,
    id: SourceId,
    place: usize,
}

impl WorkingSet {
    /// Puts the rows first that a solve to `accuracy` [m] begins with, and says how many those are. The others have no
    /// force.
    pub fn begin(&mut self, problem: &Problem, rows: &mut [Constraint], dv: &[Vec3], accuracy: f64) -> usize {
        self.n_choices = 0;
        let carries = |row: &Constraint| row.law.is_bilateral() || row.force_on_first() != Vec3::zeros();
        let n = partition(rows, |_, row| carries(row));
        self.n_carrying = n;
        rows[n..].iter_mut().for_each(|row| row.force.release());
        self.take_up(problem, rows, n, dv, near(problem, accuracy))
    }

    /// Whether a problem that begins with the first `n` rows should rather be one of a smaller step.
    pub fn is_too_much(&self, n: usize) -> bool {
        n - self.n_carrying > MAX_NEW
    }

    /// After a pass over the first `n` rows that came to `dv`: puts those after them that overlap, and what is near in
    /// their company, and says how many there are then; as many as before if none overlaps by more than `accuracy` [m].
    pub fn grow(&mut self, problem: &Problem, rows: &mut [Constraint], n: usize, dv: &[Vec3], accuracy: f64) -> usize {
        let overlaps = rows[n..].iter().any(|row| gap(problem, row, dv) < -accuracy);
        if overlaps { self.take_up(problem, rows, n, dv, near(problem, accuracy)) } else { n }
    }

    /// Moves the rows after the first `n` whose gap is less than `near` [m] to these.
    fn take_up(&mut self, problem: &Problem, rows: &mut [Constraint], n: usize, dv: &[Vec3], near: f64) -> usize {
        let Self { taken, is_covered, covered, n_choices, .. } = self;
        *n_choices += 1;
        taken.clear();
        taken.extend(rows.iter().enumerate().skip(n).filter_map(|(place, row)| {
            let gap = gap(problem, row, dv);
            // What is not a number is solved for, and told.
            let is_far = gap > near;
            (!is_far).then(|| Taken { bodies: row.bodies, gap, id: row.id(), place })
        }));
        if *n_choices <= MAX_THINNED && taken.len() > FEW {
            taken
                .sort_unstable_by(|a, b| a.bodies.cmp(&b.bodies).then(a.gap.total_cmp(&b.gap)).then((a.id, a.place).cmp(&(b.id, b.place))));
            is_covered.resize(problem.local.len(), false);
            let mut kept = 0;
            let mut start = 0;
            while start < taken.len() {
                let bodies = taken[start].bodies;
                let end = start + taken[start..].partition_point(|row| row.bodies == bodies);
                let is_thinned = end - start > FEW;
                for k in start..end {
                    let carriers = if is_thinned { carriers(&rows[taken[k].place], problem) } else { [None; 2] };
                    if is_thinned && carriers.iter().flatten().all(|unknown| is_covered[*unknown]) {
                        continue;
                    }
                    for unknown in carriers.into_iter().flatten() {
                        is_covered[unknown] = true;
                        covered.push(unknown);
                    }
                    taken.swap(kept, k);
                    kept += 1;
                }
                covered.drain(..).for_each(|unknown| is_covered[unknown] = false);
                start = end;
            }
            taken.truncate(kept);
        }
        taken.sort_unstable_by_key(|row| row.place);
        let mut taken = taken.iter().map(|row| row.place).peekable();
        n + partition(&mut rows[n..], |place, _| taken.next_if_eq(&(n + place)).is_some())
    }
}

/// Gap at the end with the velocity change `dv`, less the contact offset [m].
pub(super) fn gap(problem: &Problem, row: &Constraint, dv: &[Vec3]) -> f64 {
    row.row.offset.x + problem.rows(row, dv).x
}

fn near(problem: &Problem, accuracy: f64) -> f64 {
    (NEAR * problem.tolerance).max(NEAR_IN_ACCURACIES * accuracy)
}

/// The nodes that move most with the two sides of a row.
fn carriers(row: &Constraint, problem: &Problem) -> [Option<usize>; 2] {
    row.bodies.map(|body| {
        let block = &problem.blocks[problem.block_of(body)?];
        let own = row.row.entries.iter().filter(|entry| block.segment.unknowns.contains(&entry.unknown()));
        let own = own.filter(|entry| matches!(entry, JacobianEntry::Linear { .. }));
        own.max_by(|a, b| a.weight().total_cmp(&b.weight())).map(JacobianEntry::unknown)
    })
}

/// Moves what `is_first` names to the front, and says how many that are; it is asked once for each place, ascending.
fn partition(rows: &mut [Constraint], mut is_first: impl FnMut(usize, &Constraint) -> bool) -> usize {
    let mut n = 0;
    for place in 0..rows.len() {
        if is_first(place, &rows[place]) {
            rows.swap(n, place);
            n += 1;
        }
    }
    n
}
