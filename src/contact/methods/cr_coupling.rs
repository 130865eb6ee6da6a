//! What the contacts of an island do to each other, as the preconditioner of conjugate residuals sees it.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};
use rayon::prelude::*;

use super::cr_options::Part;
use crate::contact::{Constraint, JacobianEntry, Problem};
use crate::math::{Mat3, Vec3};
use crate::sparse::Requested;

/// The matrix of more contacts would take longer than the iterations that it saves.
const MAX_CONTACTS: usize = 128;
/// Contacts that say the same leave the matrix singular, and coarse fields tell only roughly what they do to each
/// other: its diagonal is larger by this part. On `armadillo_cylinders` (20k tets) 1e-3 takes 104 iterations a step,
/// 1e-2 75, 3e-2 68, 1e-1 85, 1 132.
const SHIFT: f64 = 3e-2;

/// W = L M L^T of all contacts, with M = D^-1 + P (P^T A P)^-1 P^T of the block diagonal and the coarse fields of the
/// bodies, and its factor on the rows that are in the system.
#[derive(Debug, Default)]
pub struct Coupling {
    n_contacts: usize,
    /// The blocks (i, j <= i) in world axes, in rows of `n_contacts` [m/N].
    blocks: Vec<Mat3>,
    /// The rows that are in the system, counted three a contact.
    rows: Vec<usize>,
    /// None where something is not a number.
    factor: Option<Cholesky<f64, Dyn>>,
    values: DVector<f64>,
    /// What the points of each body do to each other.
    columns: Vec<Requested>,
}

/// How unknowns and coarse fields move a contact, in world axes.
struct Motion<'a> {
    entries: &'a [JacobianEntry],
    /// Block of the problem, point, and how it moves the contact.
    points: Vec<(usize, u32, Mat3)>,
}

impl<'a> Motion<'a> {
    fn new(problem: &Problem, contact: &'a Constraint) -> Self {
        let mut points: Vec<(usize, u32, Mat3)> = vec![];
        for entry in &contact.row.entries {
            let unknown = entry.unknown();
            let after = problem.blocks.partition_point(|block| block.segment.unknowns.start <= unknown);
            let Some(k) = after.checked_sub(1) else { continue };
            let Some(field) = &problem.blocks[k].coarse else { continue };
            for (point, weight) in field.points(unknown - problem.blocks[k].segment.unknowns.start) {
                let share = entry.matrix() * field.rotations[point as usize] * weight;
                match points.iter_mut().find(|(block, other, _)| (*block, *other) == (k, point)) {
                    Some((_, _, sum)) => *sum += share,
                    None => points.push((k, point, share)),
                }
            }
        }
        Self { entries: &contact.row.entries, points }
    }
}

impl Coupling {
    /// That of the present rows, in the memory of another; none without coarse fields, with too many contacts, or where
    /// the memory of columns does not suffice.
    pub fn of_contacts(mut self, problem: &Problem, contacts: &[Constraint]) -> Option<Self> {
        let n = contacts.len();
        if !(1..=MAX_CONTACTS).contains(&n) || problem.blocks.iter().all(|block| block.coarse.is_none()) {
            return None;
        }
        let motions: Vec<Motion> = contacts.iter().map(|contact| Motion::new(problem, contact)).collect();
        self.columns.resize_with(problem.blocks.len(), Requested::default);
        for (k, (block, columns)) in problem.blocks.iter().zip(&mut self.columns).enumerate() {
            let Some(field) = &block.coarse else { continue };
            let touched = motions.iter().flat_map(|motion| &motion.points).filter(|(block, _, _)| *block == k);
            let points: Vec<u32> = touched.map(|(_, point, _)| *point).collect();
            field.columns().request(field.factor(), &points, problem.cancel, columns);
            if !columns.is_complete {
                return None;
            }
        }
        let Self { blocks, columns, .. } = &mut self;
        blocks.resize(n * n, Mat3::zeros());
        blocks.par_chunks_mut(n).enumerate().for_each(|(i, row)| {
            for (block, other) in row.iter_mut().zip(&motions[..=i]) {
                *block = between(problem, columns, &motions[i], other);
            }
        });
        self.n_contacts = n;
        Some(self)
    }

    /// Factors it on the rows that are in the system.
    pub fn factor(&mut self, part: Part, contacts: &[Constraint]) {
        let Self { n_contacts, blocks, rows, factor, values, .. } = self;
        rows.clear();
        for (k, contact) in contacts.iter().enumerate() {
            let mask = part.mask(contact, Vec3::repeat(1.0));
            rows.extend((0..3).filter(|r| mask[*r] != 0.0).map(|r| 3 * k + r));
        }
        let axis = |row: usize| contacts[row / 3].row.frame.row(row % 3);
        let matrix = DMatrix::from_fn(rows.len(), rows.len(), |r, s| {
            if r < s {
                return 0.0; // what is not read
            }
            let (r, s) = (rows[r], rows[s]);
            let value = (axis(r) * blocks[r / 3 * *n_contacts + s / 3]).dot(&axis(s));
            if r == s { value * (1.0 + SHIFT) + contacts[r / 3].row_compliance()[r % 3] } else { value }
        });
        *factor = matrix.cholesky();
        values.resize_vertically_mut(rows.len(), 0.0);
    }

    /// `t = W^-1 t` on the rows that are in the system, zero on the others.
    pub fn solve(&mut self, t: &mut [Vec3]) {
        let Self { rows, factor, values, .. } = self;
        values.iter_mut().zip(&*rows).for_each(|(value, row)| *value = t[row / 3][row % 3]);
        match factor {
            Some(factor) => factor.solve_mut(values),
            None => values.fill(0.0),
        }
        t.fill(Vec3::zeros());
        values.iter().zip(&*rows).for_each(|(value, row)| t[row / 3][row % 3] = *value);
    }
}

/// The block of two contacts.
fn between(problem: &Problem, columns: &[Requested], a: &Motion, b: &Motion) -> Mat3 {
    let mut sum = Mat3::zeros();
    for (k, p, share) in &a.points {
        let Some(field) = &problem.blocks[*k].coarse else { continue };
        for (_, q, other) in b.points.iter().filter(|(block, _, _)| block == k) {
            if let Some(inverse) = columns[*k].block(field.columns(), *p, *q) {
                sum += share * Mat3::from_fn(|r, c| inverse[r][c].into()) * other.transpose();
            }
        }
    }
    for e in a.entries {
        for f in b.entries.iter().filter(|f| f.unknown() == e.unknown()) {
            sum += e.matrix() * problem.inverse_diagonal(e.unknown()) * f.matrix().transpose();
        }
    }
    sum * (problem.dt * problem.dt)
}
