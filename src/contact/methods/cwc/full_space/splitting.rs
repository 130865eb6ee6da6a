//! The splitting with the factor of K (see the module above).

use std::borrow::Cow;

use super::keep_all_momentum;
use crate::contact::driver::ACCEPTED;
use crate::contact::methods::cwc::correction::largest;
use crate::contact::{Constraint, Law, Problem, Scale};
use crate::math::{Mat3, Vec3};
use crate::sparse::{FactorWork, Pattern, RestFactor};

/// Where shifts stay: forces that still leave their cones by this many times as much as they still move the bodies ask
/// for larger ones, and the other way for smaller ones.
const BALANCED: f64 = 4.0;
/// Iterations between looks at that, which take about half as long as a factor, and by how much shifts change at once,
/// at most.
const ROUND: u32 = 40;
const MAX_CHANGE: f64 = 10.0;
/// Bound on the iterations of a pass.
const MAX_ITERATIONS: u32 = 600;

/// Rows with the factor of K.
pub struct Splitting {
    rows: Rows,
    scales: Vec<Scale>,
    pattern: Pattern,
    /// A, in the pattern of K.
    bodies: Vec<Mat3>,
    factor: RestFactor,
    /// S in units of the scales.
    shift: f64,
    /// S, and (S + C)^-1.
    shifts: Vec<Vec3>,
    inverses: Vec<Vec3>,
}

/// Forces on their way, and memory.
#[derive(Debug, Default)]
pub struct Iterates {
    /// Motions at the beginning [m].
    free: Vec<Vec3>,
    /// p, z and m [N].
    found: Vec<Vec3>,
    projected: Vec<Vec3>,
    multipliers: Vec<Vec3>,
    load: Vec<Vec3>,
    /// w, and what it is where bodies have the momentum of forces in their cones [m/s].
    change: Vec<Vec3>,
    kept: Vec<Vec3>,
    factor: FactorWork,
}

/// What a pass is of.
#[derive(Clone, Copy)]
pub struct Pass<'a> {
    pub problem: &'a Problem<'a>,
    pub contacts: &'a [Constraint],
    pub laws: &'a [Law],
    /// Residual of the velocities [kg m/s].
    pub residual: &'a [Vec3],
}

/// Where an iteration has come to.
#[derive(Clone, Copy, Debug)]
pub struct Passed {
    pub iterations: u32,
    /// Largest natural map [m]; infinite where anything was not finite.
    pub error: f64,
    /// What nodes go by, at most, since the beginning of the pass [m].
    pub moves: f64,
    /// The same of the first iteration, in which only the residual moves them.
    pub left: f64,
}

/// With less than this a pass ends: the largest natural map at its forces, and the error of what is handed over [m].
#[derive(Clone, Copy, Debug)]
pub struct Enough {
    pub error: f64,
    pub handed_over: f64,
}

impl Splitting {
    /// With shifts of `shift` scales. None where the factor would take more than `max_memory` [bytes], or there is
    /// none.
    pub fn new(
        problem: &Problem,
        contacts: &[Constraint],
        matrices: &[Cow<[Mat3]>],
        scales: Vec<Scale>,
        shift: f64,
        max_memory: usize,
    ) -> Option<Self> {
        let rows = Rows::of(problem, contacts);
        let pattern = rows.pattern(problem);
        let bodies = spread_matrices(problem, &pattern, matrices);
        let (shifts, inverses) = shifts_of(&scales, contacts, shift);
        let n = problem.system.len();
        let (mut fixed, mut positions) = (vec![false; n], vec![Vec3::zeros(); n]);
        for block in problem.blocks {
            for (unknown, place) in block.segment.unknowns.clone().zip(block.segment.places()) {
                positions[place] = (problem.position)(unknown);
                // A driven body does not move either.
                let is_driven = || problem.inverse_diagonal(unknown) == Mat3::zeros();
                fixed[place] = problem.system.fixed.get(unknown).map_or_else(is_driven, |fixed| *fixed);
            }
        }
        let blocks = rows.added_to(&bodies, &pattern, &inverses);
        let factor = RestFactor::new_unless(&pattern, &blocks, &(0..n), (&fixed, &positions), max_memory, problem.cancel).ok()?;
        Some(Self { rows, scales, pattern, bodies, factor, shift, shifts, inverses })
    }

    /// S in units of the scales.
    pub fn shift(&self) -> f64 {
        self.shift
    }

    /// Brings forces that are a little outside of their cones into them.
    pub fn project(&self, laws: &[Law], p: &mut [Vec3]) {
        p.iter_mut().enumerate().for_each(|(k, p)| *p = self.in_cone(k, &laws[k], p));
    }

    /// The force of a row in its cone.
    fn in_cone(&self, k: usize, law: &Law, p: &Vec3) -> Vec3 {
        law.project(p, &Vec3::zeros(), 0.0, &self.scales[k])
    }

    /// Work of an iteration [bytes]: factor and rows are read twice.
    pub fn work(&self) -> u64 {
        2 * self.factor.memory() as u64 + self.rows_work()
    }

    fn rows_work(&self) -> u64 {
        2 * size_of_val(&*self.rows.entries) as u64
    }

    /// Iterations from `p` and `dv`, until it is as `enough` says; takes both on to what was found, if that is finite.
    pub fn pass(
        &mut self,
        pass: &Pass,
        dv: &mut [Vec3],
        p: &mut [Vec3],
        at: &mut Iterates,
        mut enough: impl FnMut(&Passed) -> Enough,
    ) -> Passed {
        let Pass { problem, contacts, .. } = *pass;
        at.begin(problem, contacts, &self.shifts, dv, p);
        let mut passed = Passed { iterations: 0, error: f64::INFINITY, moves: 0.0, left: 0.0 };
        while passed.iterations < MAX_ITERATIONS && !problem.must_end() {
            let [error, primal, dual] = self.iterate(pass, p, at);
            passed.iterations += 1;
            passed.error = error;
            passed.moves = largest(&at.change) * problem.dt;
            if passed.iterations == 1 {
                passed.left = passed.moves;
            }
            let wanted = enough(&passed);
            if passed.error < wanted.error && self.error_handed_over(pass, p, at) < wanted.handed_over {
                break;
            }
            let ratio = primal / dual;
            let is_balanced = ratio < BALANCED && ratio > 1.0 / BALANCED;
            if passed.iterations.is_multiple_of(ROUND) && ratio.is_finite() && !is_balanced {
                let change = ratio.sqrt().clamp(1.0 / MAX_CHANGE, MAX_CHANGE);
                if !self.change_shifts(problem, contacts, change, at) {
                    break;
                }
            }
        }
        if passed.error.is_finite() {
            dv.iter_mut().zip(&at.change).for_each(|(dv, w)| *dv += w);
            p.copy_from_slice(&at.found);
        }
        passed
    }

    /// One iteration: the largest natural map at its forces [m]; how far these are outside of the cones, and how far
    /// the forces inside have moved, both as motions.
    fn iterate(&self, pass: &Pass, p: &[Vec3], at: &mut Iterates) -> [f64; 3] {
        let Pass { problem, laws, residual, .. } = *pass;
        problem.allowance.spend(self.work());
        at.load.clear();
        at.load.extend_from_slice(residual);
        for k in 0..p.len() {
            let pull = self.pull(k, &p[k], at).component_mul(&self.inverses[k]);
            self.rows.spread(k, &pull, &mut at.load);
        }
        self.factor.solve(&at.load, &mut at.change, &mut at.factor);
        let (mut error, mut sum, mut primal, mut dual) = (0.0f64, 0.0, 0.0, 0.0);
        for k in 0..p.len() {
            let (law, scale) = (&laws[k], &self.scales[k]);
            let moved = self.rows.motion(k, &at.change);
            let change = (self.pull(k, &p[k], at) - moved).component_mul(&self.inverses[k]);
            let found = p[k] + change;
            let motion = at.free[k] + moved + law.compliance().component_mul(&change);
            let of_row = law.error(&found, &motion, scale).max();
            (error, sum) = (error.max(of_row), sum + of_row);
            let next = found + at.multipliers[k];
            let projected = self.in_cone(k, law, &next);
            let lengths = Vec3::new(scale.normal, scale.tangential, scale.tangential);
            primal += (found - projected).component_mul(&lengths).norm_squared();
            dual += (projected - at.projected[k]).component_mul(&self.shifts[k]).norm_squared();
            (at.found[k], at.projected[k], at.multipliers[k]) = (found, projected, next - projected);
        }
        // The sum tells of what a maximum hides.
        [if f64::is_finite(sum) { error } else { f64::INFINITY }, primal.sqrt(), dual.sqrt()]
    }

    /// With the forces in their cones, and the bodies at the momentum that these give: how far rows overlap, at most,
    /// or [`ACCEPTED`] of the largest natural map, if that is more [m].
    fn error_handed_over(&self, pass: &Pass, p: &[Vec3], at: &mut Iterates) -> f64 {
        let Pass { problem, laws, .. } = *pass;
        problem.allowance.spend(self.rows_work());
        let Iterates { free, found, change, load, kept, .. } = at;
        load.fill(Vec3::zeros());
        for (k, found) in found.iter().enumerate() {
            let lacked = self.in_cone(k, &laws[k], found) - found;
            if lacked != Vec3::zeros() {
                self.rows.spread(k, &lacked, load);
            }
        }
        problem.system.clear_fixed(load);
        kept.clone_from(change);
        keep_all_momentum(problem, load, kept);
        let error = |k: usize| {
            let (law, force) = (&laws[k], self.in_cone(k, &laws[k], &found[k]));
            let motion = free[k] + self.rows.motion(k, kept) + law.compliance().component_mul(&(force - p[k]));
            let error = ACCEPTED * law.error(&force, &motion, &self.scales[k]).max();
            if law.is_unilateral() { error.max(-motion.x) } else { error }
        };
        (0..p.len()).map(error).fold(0.0, f64::max)
    }

    /// t of a row.
    fn pull(&self, k: usize, p: &Vec3, at: &Iterates) -> Vec3 {
        (at.projected[k] - at.multipliers[k] - p).component_mul(&self.shifts[k]) - at.free[k]
    }

    /// Goes on with `change` times the shifts; false if there is no factor.
    fn change_shifts(&mut self, problem: &Problem, contacts: &[Constraint], change: f64, at: &mut Iterates) -> bool {
        self.shift *= change;
        (self.shifts, self.inverses) = shifts_of(&self.scales, contacts, self.shift);
        let blocks = self.rows.added_to(&self.bodies, &self.pattern, &self.inverses);
        problem.allowance.spend(super::PRICE * self.work());
        let Ok(factor) = self.factor.of_matrix(&self.pattern, &blocks, 0, problem.cancel) else { return false };
        self.factor = factor;
        // What they stand for, -u, stays.
        at.multipliers.iter_mut().for_each(|m| *m /= change);
        true
    }
}

impl Iterates {
    fn begin(&mut self, problem: &Problem, contacts: &[Constraint], shifts: &[Vec3], dv: &[Vec3], p: &[Vec3]) {
        let Self { free, found, projected, multipliers, change, .. } = self;
        free.clear();
        free.extend(contacts.iter().zip(p).map(|(contact, p)| problem.motion(contact, p, dv)));
        for forces in [found, projected] {
            forces.clear();
            forces.extend_from_slice(p);
        }
        multipliers.clear();
        multipliers.extend(free.iter().zip(shifts).map(|(u, s)| -u.component_div(s)));
        change.clear();
        change.resize(dv.len(), Vec3::zeros());
    }
}

/// S and (S + C)^-1.
fn shifts_of(scales: &[Scale], contacts: &[Constraint], shift: f64) -> (Vec<Vec3>, Vec<Vec3>) {
    // What no force moves has no scale.
    let of = |scale: f64| if scale > 0.0 { shift * scale } else { shift };
    let shifts: Vec<Vec3> = scales.iter().map(|s| Vec3::new(of(s.normal), of(s.tangential), of(s.tangential))).collect();
    let inverses = shifts.iter().zip(contacts).map(|(s, contact)| (s + contact.law.compliance()).map(|s| 1.0 / s)).collect();
    (shifts, inverses)
}

/// The rows J, `dt C H`.
struct Rows {
    /// Entries by place, each place of a row once.
    entries: Vec<(u32, Mat3)>,
    /// Where those of each row begin, and where the last end.
    starts: Vec<usize>,
}

impl Rows {
    fn of(problem: &Problem, contacts: &[Constraint]) -> Self {
        let (mut entries, mut starts): (Vec<(u32, Mat3)>, _) = (vec![], vec![0]);
        for contact in contacts {
            let first = entries.len();
            for block in contact.bodies.iter().filter_map(|body| problem.block_of(*body)) {
                let unknowns = &problem.blocks[block].segment.unknowns;
                if contact.bodies[0] == contact.bodies[1] && entries.len() > first {
                    break;
                }
                for entry in contact.row.entries.iter().filter(|entry| unknowns.contains(&entry.unknown())) {
                    let (place, matrix) = (problem.place(entry.unknown()) as u32, contact.row.frame * entry.matrix() * problem.dt);
                    match entries[first..].iter_mut().find(|(other, _)| *other == place) {
                        Some((_, sum)) => *sum += matrix,
                        None => entries.push((place, matrix)),
                    }
                }
            }
            starts.push(entries.len());
        }
        Self { entries, starts }
    }

    fn row(&self, k: usize) -> &[(u32, Mat3)] {
        &self.entries[self.starts[k]..self.starts[k + 1]]
    }

    /// J v of a row.
    fn motion(&self, k: usize, v: &[Vec3]) -> Vec3 {
        self.row(k).iter().map(|(place, a)| a * v[*place as usize]).sum()
    }

    /// `load += J^T f` of a row.
    fn spread(&self, k: usize, f: &Vec3, load: &mut [Vec3]) {
        self.row(k).iter().for_each(|(place, a)| load[*place as usize] += a.tr_mul(f));
    }

    /// Pattern of K: the edges of the bodies, and each pair of unknowns that a row has.
    fn pattern(&self, problem: &Problem) -> Pattern {
        let of_bodies = problem.system.pattern;
        let mut edges: Vec<[u32; 2]> = vec![];
        for block in problem.blocks.iter().filter(|block| block.segment.body.is_deformable()) {
            let place = |unknown: u32| (block.segment.start + unknown as usize - block.segment.unknowns.start) as u32;
            edges.extend(of_bodies.edges[of_bodies.edges_of(&block.segment.unknowns)].iter().map(|edge| edge.map(place)));
        }
        for k in 0..self.starts.len() - 1 {
            let row = self.row(k);
            edges.extend(row.iter().enumerate().flat_map(|(n, (i, _))| row[n + 1..].iter().map(|(j, _)| [*i.min(j), *i.max(j)])));
        }
        edges.sort_unstable();
        edges.dedup();
        Pattern::new(problem.system.len(), edges)
    }

    /// The blocks of K.
    fn added_to(&self, bodies: &[Mat3], pattern: &Pattern, inverses: &[Vec3]) -> Vec<Mat3> {
        let mut blocks = bodies.to_vec();
        for (k, inverse) in inverses.iter().enumerate() {
            let row = self.row(k);
            for (i, a) in row {
                let pull = a.transpose() * Mat3::from_diagonal(inverse);
                let at = pattern.row(*i as usize);
                for (j, b) in row {
                    blocks[at.start + pattern.columns[at.clone()].partition_point(|column| column < j)] += pull * b;
                }
            }
        }
        blocks
    }
}

/// The matrices of the bodies, in the pattern of K.
fn spread_matrices(problem: &Problem, pattern: &Pattern, matrices: &[Cow<[Mat3]>]) -> Vec<Mat3> {
    let of_bodies = problem.system.pattern;
    let mut blocks = vec![Mat3::zeros(); pattern.n_blocks()];
    for (block, matrix) in problem.blocks.iter().zip(matrices) {
        let (start, unknowns) = (block.segment.start, &block.segment.unknowns);
        if !block.segment.body.is_deformable() {
            block.segment.places().zip(&**matrix).for_each(|(place, matrix)| blocks[pattern.diagonals[place] as usize] = *matrix);
            continue;
        }
        let mut values = matrix.iter();
        for (unknown, place) in unknowns.clone().zip(block.segment.places()) {
            let mut at = pattern.row(place).start;
            for (column, value) in of_bodies.columns[of_bodies.row(unknown)].iter().zip(&mut values) {
                let column = (start + *column as usize - unknowns.start) as u32;
                // Columns ascend in both.
                at += pattern.columns[at..].iter().take_while(|other| **other != column).count();
                blocks[at] = *value;
            }
        }
    }
    blocks
}
