//! The linear part of the contact problem of one island: its matrix, its right-hand side, and how rows act on both.

use rayon::prelude::*;

use super::driver::RowsSolved;
use super::{Constraint, Law, NaturalError, Scale};
use crate::body::BodyRef;
use crate::budget::Allowance;
use crate::cancel::CancelToken;
use crate::elastic::NodeRotations;
use crate::math::{Mat3, Vec3};
use crate::sparse::{
    CoarseField, CoarseWork, Columns, Pattern, RestFactor, Segment, SingleBlock, Solved, System, TwoLevelSystem, Until, conjugate_gradient,
};

/// The velocity changes of an island in a step, before contact: `A dv = rhs`.
#[derive(Clone, Copy)]
pub struct Problem<'a> {
    /// The matrix of the bodies of the island.
    pub system: System<'a>,
    /// The same bodies with what stands for the inverses of their matrices.
    pub blocks: &'a [Block<'a>],
    /// Place of each unknown of the model in vectors of the system; read for unknowns of the island only.
    pub local: &'a [u32],
    /// Where an unknown of the model is [m], to tell near from far: a node, or the centre of mass of a rigid body.
    pub position: &'a (dyn Fn(usize) -> Vec3 + Sync),
    /// [s]
    pub dt: f64,
    /// [kg m/s]
    pub rhs: &'a [Vec3],
    /// eps2 [m].
    pub tolerance: f64,
    pub bounds: Bounds,
    /// Methods ask it at each of their iterations, and give up once it is cancelled (`RowsSolved::exhausted`).
    pub cancel: &'a CancelToken,
    /// Methods count their work in it, and give up in the same way once it is spent.
    pub allowance: &'a Allowance,
}

/// How far a solve goes, and how long.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Bound on the 2-norm of the velocity residual [kg m/s].
    pub residual: f64,
    /// Bound on what the elastic residual still moves where there are contacts [m].
    pub elastic_tolerance: f64,
    /// Bound on the iterations of an elastic solve without contacts.
    pub max_elastic_iterations: u32,
    /// The elastic solve without contacts takes exactly this number of iterations.
    pub fixed_iterations: Option<u32>,
    /// Bound on the iterations of a method in a step.
    pub max_iterations: u32,
    /// A smaller step is a better answer than a long search.
    pub gives_up: bool,
    /// There is a smaller step.
    pub may_halve: bool,
}

/// A body of the problem: a block of its own of the matrix.
#[derive(Clone)]
pub struct Block<'a> {
    pub segment: Segment,
    /// None: the block diagonal of A stands for A. Exact for a rigid body, slow for a deformable one.
    pub rest: Option<Rest<'a>>,
    /// Of a deformable body: its matrix in f32, where that is exact enough and quicker than the factor. Where all
    /// deformable bodies of a problem have it, `System::a` holds rigid bodies only ([`Problem::is_single`]).
    pub single: Option<Single<'a>>,
    /// Of a deformable body: fields that it mostly moves by, for methods that use them.
    pub coarse: Option<CoarseField<'a>>,
    /// Of a deformable body, in how many steps in a row its corrections were slow without a factor of the matrix
    /// ([`State::slow`](crate::model::State)).
    pub slow: u32,
    /// What the block of A makes of a common velocity of all its nodes [kg]; none where there is no such number (held
    /// or rigid bodies).
    pub mass: Option<f64>,
}

/// The rest pose of a deformable body; bodies that differ in their place only share factor and columns.
#[derive(Clone, Copy)]
pub struct Rest<'a> {
    pub factor: &'a RestFactor,
    /// Compliance of the nodes that surface points move with.
    pub columns: &'a Columns,
    /// Rotation of each node of the body from the pose that the factor knows.
    pub rotations: NodeRotations<'a>,
}

/// The matrix of a deformable body in f32, and what its rows sum up to.
#[derive(Clone, Copy)]
pub struct Single<'a> {
    pub system: TwoLevelSystem<'a>,
    /// The blocks of all its edges, each followed by its transpose.
    pub edge_blocks: &'a [SingleBlock],
    /// Masses of its nodes [kg], and how much more mass damping makes of them.
    pub node_masses: &'a [f64],
    pub damped: f64,
}

/// Contacts that one thread takes, at least.
const MIN_CONTACTS_PER_TASK: usize = 256;
/// Bound on the iterations of an elastic solve inside a method.
const MAX_INNER_ITERATIONS: u32 = 20_000;
/// Elastic iterations that are made whatever is left of the allowance.
const LEAST_INNER_ITERATIONS: u64 = 4;

impl Problem<'_> {
    /// A method may not go on: the step is cancelled, has done the work that it may do, or is given up for halves.
    pub fn must_end(&self) -> bool {
        self.cancel.is_cancelled() || self.allowance.must_end()
    }

    /// Work of a product with the matrix of the bodies [bytes].
    pub fn product_work(&self) -> u64 {
        product_work(self.system.pattern, self.system.segments)
    }

    /// `z += P (P^T A P)^-1 P^T r` with the coarse fields of the bodies.
    pub fn correct_coarsely(&self, r: &[Vec3], z: &mut [Vec3], work: &mut CoarseWork) {
        for block in self.blocks {
            if let Some(field) = &block.coarse {
                let places = block.segment.places();
                field.add_correction(&r[places.clone()], &mut z[places], work);
                // It is read on the way up and down.
                self.allowance.spend(2 * field.factor().memory() as u64);
            }
        }
    }

    /// Whether all deformable bodies, and one at least, have their matrix in f32.
    pub fn is_single(&self) -> bool {
        let mut deformable = self.blocks.iter().filter(|block| block.segment.body.is_deformable()).peekable();
        deformable.peek().is_some() && deformable.all(|block| block.single.is_some())
    }

    /// Inverse of the diagonal block of an unknown of the model.
    pub fn inverse_diagonal(&self, unknown: usize) -> Mat3 {
        let after = self.blocks.partition_point(|block| block.segment.unknowns.start <= unknown);
        match after.checked_sub(1).and_then(|block| self.blocks[block].single.map(|single| (block, single))) {
            Some((block, Single { system, .. })) if self.blocks[block].segment.unknowns.contains(&unknown) => {
                system.matrix.inverse_diagonal(system.layout, unknown - self.blocks[block].segment.unknowns.start)
            }
            _ => self.system.a.inverse_diagonals[unknown],
        }
    }

    /// Work of an iteration of conjugate gradients [bytes]: vectors come to as much as the matrix.
    fn iteration_work(&self) -> u64 {
        2 * self.product_work()
    }

    /// Place of an unknown of the model in vectors of the system.
    pub fn place(&self, unknown: usize) -> usize {
        self.local[unknown] as usize
    }

    /// The number of a body among those of the island; none of one that does not move.
    pub fn block_of(&self, body: BodyRef) -> Option<usize> {
        self.system.segments.binary_search_by_key(&body, |segment| segment.body).ok()
    }

    /// What hangs together with an unknown of the island, by its first unknown: a rigid body, or the part of a deformable
    /// one that elements connect. The matrices of two parts have nothing to do with each other.
    pub fn part(&self, unknown: usize) -> usize {
        let rows = &self.system.pattern.parts;
        match unknown.checked_sub(rows.len()) {
            None => rows[unknown] as usize,
            Some(rigid) => rows.len() + rigid / 2 * 2,
        }
    }

    /// `dt C H a` of one contact.
    pub fn rows(&self, contact: &Constraint, a: &[Vec3]) -> Vec3 {
        contact.row.apply(|unknown| a[self.place(unknown)], self.dt)
    }

    /// Motion of a contact's rows over the step with its force `p` and the velocity change `dv` [m]: gap less the
    /// contact offset, and slip; of a joint what its law says is zero.
    pub fn motion(&self, contact: &Constraint, p: &Vec3, dv: &[Vec3]) -> Vec3 {
        contact.row.offset + self.rows(contact, dv) + contact.law.compliance().component_mul(p)
    }

    /// `y += s dt H^T C^T f` of one contact.
    pub fn spread(&self, contact: &Constraint, f: &Vec3, s: f64, y: &mut [Vec3]) {
        contact.row.spread(f, s, self.dt, |unknown, impulse| y[self.place(unknown)] += impulse);
    }

    /// `y += s J^T p` of all contacts.
    pub fn spread_all(&self, contacts: &[Constraint], p: &[Vec3], s: f64, y: &mut [Vec3]) {
        for (contact, p) in contacts.iter().zip(p) {
            self.spread(contact, p, s, y);
        }
    }

    /// `r = rhs + J^T p - A dv` with the forces `p` of the contacts; zero where nodes are fixed.
    pub fn residual(&self, contacts: &[Constraint], p: &[Vec3], dv: &[Vec3], r: &mut [Vec3]) {
        self.system.apply(dv, r);
        for (r, b) in r.iter_mut().zip(self.rhs) {
            *r = b - *r;
        }
        self.spread_all(contacts, p, 1.0, r);
        self.system.clear_fixed(r);
    }

    /// No more iterations than what is left of the allowance.
    fn until(&self, residual: f64, iterations: u32) -> Until<'_> {
        let affordable = self.allowance.left() / self.iteration_work().max(1);
        let iterations = iterations.min(affordable.max(LEAST_INNER_ITERATIONS).min(u64::from(u32::MAX)) as u32);
        Until { residual, iterations, cancel: self.cancel }
    }

    fn count(&self, solved: Solved) -> Solved {
        self.allowance.spend(u64::from(solved.iterations) * self.iteration_work());
        solved
    }

    /// Solves `A dv = rhs` without contacts, from the start value in `dv`.
    pub fn solve_elastic(&self, dv: &mut [Vec3], work: &mut [Vec<Vec3>; 4]) -> Solved {
        let Bounds { residual, max_elastic_iterations, fixed_iterations, .. } = self.bounds;
        let exactly = |iterations: u32| Until { residual: 0.0, iterations, cancel: self.cancel };
        let until = fixed_iterations.map_or_else(|| self.until(residual, max_elastic_iterations), exactly);
        let solved = self.count(conjugate_gradient(&self.system, self.rhs, dv, until, work));
        Solved { converged: solved.converged || fixed_iterations.is_some(), ..solved }
    }

    /// The same as the solve of no rows, which every method but one with a factor does alike.
    pub fn solve_no_rows(&self, dv: &mut [Vec3], work: &mut [Vec<Vec3>; 4]) -> RowsSolved {
        let Solved { iterations, residual, converged } = self.solve_elastic(dv, work);
        RowsSolved { iterations, residual, settled: converged, ..RowsSolved::default() }
    }

    /// Solves `A x = b` inside a method, to a residual of `bound` from the start value in `x`.
    pub fn solve_inner(&self, b: &[Vec3], x: &mut [Vec3], bound: f64, work: &mut [Vec<Vec3>; 4]) {
        self.count(conjugate_gradient(&self.system, b, x, self.until(bound, MAX_INNER_ITERATIONS), work));
    }

    /// `dt^2 C H D^-1 H^T C^T` of one contact, D the block diagonal of A, and the compliance of a joint [m/N].
    pub fn own_compliance(&self, contact: &Constraint) -> Mat3 {
        let share = |e: &super::JacobianEntry| e.matrix() * self.inverse_diagonal(e.unknown()) * e.matrix().transpose();
        let inverse_mass: Mat3 = contact.row.entries.iter().map(share).sum();
        contact.row.frame * inverse_mass * contact.row.frame.transpose() * (self.dt * self.dt)
            + Mat3::from_diagonal(&contact.law.compliance())
    }

    /// Own compliances of all contacts [m/N].
    pub fn own_compliances(&self, contacts: &[Constraint]) -> Vec<Mat3> {
        contacts.par_iter().with_min_len(MIN_CONTACTS_PER_TASK).map(|contact| self.own_compliance(contact)).collect()
    }

    /// Largest natural map of the contacts with the forces `p` and the velocity change `dv`.
    pub fn natural_error(&self, contacts: &[Constraint], p: &[Vec3], scales: &[Scale], dv: &[Vec3]) -> NaturalError {
        let of_contact = |((contact, p), scale): ((&Constraint, &Vec3), &Scale)| contact.law.error(p, &self.motion(contact, p, dv), scale);
        let worse =
            |a: NaturalError, b: NaturalError| NaturalError { normal: a.normal.max(b.normal), tangential: a.tangential.max(b.tangential) };
        let tasks = contacts.par_iter().zip(p).zip(scales).with_min_len(MIN_CONTACTS_PER_TASK);
        tasks.map(of_contact).reduce(NaturalError::default, worse)
    }
}

/// Work of a product with the matrix of the bodies of `segments` [bytes].
pub fn product_work(pattern: &Pattern, segments: &[Segment]) -> u64 {
    let n_blocks = |segment: &Segment| match pattern.row_starts.get(segment.unknowns.start..=segment.unknowns.end) {
        Some(rows) if segment.body.is_deformable() => (rows[rows.len() - 1] - rows[0]) as usize,
        _ => segment.unknowns.len(),
    };
    (segments.iter().map(n_blocks).sum::<usize>() * size_of::<Mat3>()) as u64
}

/// Forces of all contacts in their frames [N].
pub fn forces(contacts: &[Constraint]) -> Vec<Vec3> {
    contacts.iter().map(Constraint::force_on_first).collect()
}

/// Laws of all contacts.
pub fn laws(contacts: &[Constraint]) -> Vec<Law> {
    contacts.iter().map(|c: &Constraint| c.law).collect()
}

/// The one momentum rule: a body that nothing holds changes its momentum by the impulses on it. `lost` [kg m/s] is the
/// part that a solve has left out; the common motion of the nodes takes it, which moves gaps by less than the residual
/// did. `mass` [kg]: as in [`Block::mass`].
pub fn restore_momentum(dv: &mut [Vec3], lost: Vec3, mass: f64) {
    let change = lost / mass;
    dv.iter_mut().for_each(|dv| *dv += change);
}
