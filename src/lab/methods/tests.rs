use nalgebra::{DMatrix, DVector};

use super::*;
use crate::body::BodyRef;
use crate::budget::Allowance;
use crate::cancel::CancelToken;
use crate::contact::driver::ACCEPTED;
use crate::contact::methods::anticipation::Anticipation;
use crate::contact::methods::{cwc, nodal};
use crate::contact::problem::laws;
use crate::contact::{Block, Bounds, Constraint, ContactPoint, JacobianEntry, Problem, Rest, Row, Scale, Source, Status};
use crate::elastic::NodeRotations;
use crate::geometry::tangents;
use crate::math::{Mat3, Vec3};
use crate::model::{PairId, PairKind};
use crate::sparse::{Coarse, CoarseField, Columns, Layout, Operator, Pattern, RestFactor, Segment, System, elastic_box};

/// Two soft cubes, one on the other on a floor: the lower one slides, the upper one is dragged along. Springs pull at
/// the upper one.
struct Stack {
    pattern: Pattern,
    a: Operator,
    fixed: Vec<bool>,
    positions: Vec<Vec3>,
    rhs: Vec<Vec3>,
    contacts: Vec<Constraint>,
}

const CELLS: usize = 3;
const DT: f64 = 1.0 / 60.0;

fn contact(number: u32, bodies: [u32; 2], friction: f64, entries: Vec<JacobianEntry>, offset: Vec3) -> Constraint {
    let normal = Vec3::new(0.05 * f64::from(number % 3), 1.0, 0.0).normalize();
    let [t1, t2] = tangents(&normal);
    let frame = Mat3::from_rows(&[normal.transpose(), t1.transpose(), t2.transpose()]);
    let pair = PairId { kind: PairKind::VertexTriangle, first: number, second: 0 };
    let mut contact = Constraint::contact(ContactPoint::new(pair), bodies.map(BodyRef::Deformable), friction);
    contact.row = Row { entries, frame, offset: frame * offset };
    contact
}

fn stack(friction: f64) -> Stack {
    let (single, blocks, positions) = elastic_box(CELLS, 0.1, DT);
    let n = single.n_rows() as u32;
    let edges = single.edges.iter().copied().chain(single.edges.iter().map(|e| e.map(|i| i + n))).collect();
    let pattern = Pattern::new(2 * n as usize, edges);
    let fixed = vec![false; 2 * n as usize];
    let mut a = Operator { blocks: [blocks.clone(), blocks].concat(), ..Operator::default() };
    a.invert_diagonals(&pattern, &fixed);
    // Gravity: K does not see a common motion.
    let fall = vec![Vec3::new(0.0, -9.81 * DT, 0.0); 2 * n as usize];
    let mut rhs = fall.clone();
    a.apply(&pattern, &fixed, &(0..fall.len()), &fall, &mut rhs);
    let m = CELLS + 1;
    let node = |i: usize, j: usize, k: usize| (i + m * j + m * m * k) as u32;
    let mut contacts = vec![];
    for (i, k) in (0..m).flat_map(|i| (0..m).map(move |k| (i, k))) {
        let number = contacts.len() as u32;
        let gap = if number == 0 { 5e-3 } else { 1e-4 * f64::from(number % 3) };
        let linear = |unknown, weight| JacobianEntry::Linear { unknown, weight };
        let motion = Vec3::new(0.3, -0.1, 0.1) * DT + Vec3::new(0.0, gap, 0.0);
        contacts.push(contact(number, [0, 2], friction, vec![linear(node(i, 0, k), 1.0)], motion));
        if i < CELLS && k < CELLS {
            let entries = vec![
                linear(n + node(i, 0, k), 1.0),
                linear(node(i, CELLS, k), -0.5),
                linear(node(i + 1, CELLS, k), -0.3),
                linear(node(i, CELLS, k + 1), -0.2),
            ];
            let motion = Vec3::new(0.02, -0.05, -0.01) * DT + Vec3::new(0.0, 0.5 * gap, 0.0);
            contacts.push(contact(number + 1, [1, 0], friction, entries, motion));
        }
    }
    let top = |i: usize| JacobianEntry::Linear { unknown: n + node(i, CELLS, 1), weight: 1.0 };
    for (k, (i, other, compliance)) in [(0, None, 1e-3f64), (2, Some(node(3, 1, 3)), 1e-9)].into_iter().enumerate() {
        let entries = std::iter::once(top(i)).chain(other.map(|unknown| JacobianEntry::Linear { unknown, weight: -1.0 })).collect();
        let bodies = [BodyRef::Deformable(1), if other.is_some() { BodyRef::Deformable(0) } else { BodyRef::World }];
        let offset = Vec3::new(-2e-3, 0.0, 1e-3) * compliance.sqrt();
        let mut joint = Constraint::joint(k as u32, bodies, Vec3::repeat(compliance));
        (joint.row.entries, joint.row.offset) = (entries, offset);
        contacts.push(joint);
    }
    let positions = [positions.clone(), positions].concat();
    Stack { pattern, a, fixed, positions, rhs, contacts }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Solver {
    Compliance,
    /// The same without the compliance.
    FullSpace,
    Residuals(Preconditioner),
    /// The same with coarse fields of the cubes.
    Fields,
    /// Conjugate residuals with the published friction update.
    Turning,
    Other(ContactMethod),
}

const ALL: [Solver; 9] = [
    Solver::Compliance,
    Solver::FullSpace,
    Solver::Fields,
    Solver::Residuals(Preconditioner::Full),
    Solver::Residuals(Preconditioner::Diagonal),
    Solver::Residuals(Preconditioner::None),
    Solver::Other(ContactMethod::Ica),
    Solver::Other(ContactMethod::Sp),
    Solver::Other(ContactMethod::Pgs),
];

impl Solver {
    fn boxed(self) -> Box<dyn RowSolver> {
        let exact = CrOptions { relative_residual: 0.0, ..CrOptions::default() };
        match self {
            Self::Compliance => Box::new(cwc::Cwc::with_max_passes(200)),
            Self::FullSpace => Box::new(cwc::Cwc::in_full_space(200)),
            Self::Residuals(preconditioner) => Box::new(Cr::new(CrOptions { preconditioner, ..exact })),
            Self::Fields => Box::new(Cr::new(exact)),
            Self::Turning => Box::new(Cr::new(CrOptions { friction: FrictionUpdate::Turn, ..exact })),
            Self::Other(ContactMethod::Ica) => Box::new(Anticipation::with_relative_residual(0.0)),
            Self::Other(method) => row_solver(method).unwrap(),
        }
    }
}

/// The linear part of the contact problem, with what stands for the inverses of the two cubes.
struct Parts {
    segments: Vec<Segment>,
    local: Vec<u32>,
    rests: Vec<(RestFactor, Columns)>,
    rotations: Vec<Mat3>,
    fields: Vec<(Layout, Coarse)>,
}

impl Parts {
    fn new(stack: &Stack) -> Self {
        let n = stack.rhs.len() / 2;
        let segments: Vec<Segment> =
            (0..2).map(|k| Segment { body: BodyRef::Deformable(k as u32), unknowns: k * n..(k + 1) * n, start: k * n }).collect();
        let rest = |segment: &Segment| {
            let factor = RestFactor::new(&stack.pattern, &stack.a.blocks, &segment.unknowns, &stack.fixed, &stack.positions).unwrap();
            let nodes: Vec<u32> = (0..n as u32).collect();
            let columns = Columns::new(&factor, &nodes, 1 << 24);
            (factor, columns)
        };
        let field = |segment: &Segment| {
            let layout = Layout::new(&stack.pattern, &segment.unknowns, &stack.fixed, &stack.positions);
            let coarse = Coarse::new(&layout, &stack.pattern, &stack.a.blocks).unwrap();
            (layout, coarse)
        };
        let (rests, fields) = (segments.iter().map(rest).collect(), segments.iter().map(field).collect());
        Self { segments, local: (0..2 * n as u32).collect(), rests, rotations: vec![Mat3::identity(); n], fields }
    }

    fn blocks(&self) -> Vec<Block<'_>> {
        let block = |(segment, (factor, columns)): (&Segment, _)| Block {
            segment: segment.clone(),
            rest: Some(Rest { factor, columns, rotations: NodeRotations::All(&self.rotations) }),
            single: None,
            coarse: None,
            slow: 0,
            mass: None,
        };
        self.segments.iter().zip(self.rests.iter().map(|(factor, columns)| (factor, columns))).map(block).collect()
    }

    fn blocks_with_fields(&self) -> Vec<Block<'_>> {
        let fields = self.fields.iter().map(|(layout, coarse)| {
            let rotations = &self.rotations[..layout.n_points()];
            CoarseField { layout, coarse, rotations }
        });
        self.blocks().into_iter().zip(fields).map(|(block, field)| Block { coarse: Some(field), ..block }).collect()
    }

    fn problem<'a>(&'a self, stack: &'a Stack, blocks: &'a [Block<'a>], tolerance: f64) -> Problem<'a> {
        Problem {
            system: System { a: &stack.a, pattern: &stack.pattern, fixed: &stack.fixed, segments: &self.segments },
            blocks,
            local: &self.local,
            position: &|_| Vec3::zeros(),
            dt: DT,
            rhs: &stack.rhs,
            tolerance,
            bounds: Bounds {
                residual: 1e-9,
                elastic_tolerance: 1e-10,
                max_elastic_iterations: 2000,
                fixed_iterations: None,
                max_iterations: 20_000,
                gives_up: false,
                may_halve: false,
            },
            cancel: CancelToken::never(),
            allowance: Allowance::endless(),
        }
    }
}

/// Velocities, contacts, iterations and restarts (passes).
fn solved(stack: &Stack, solver: Solver) -> (Vec<Vec3>, Vec<Constraint>, [u32; 2]) {
    let parts = Parts::new(stack);
    let blocks = if solver == Solver::Fields { parts.blocks_with_fields() } else { parts.blocks() };
    let problem = parts.problem(stack, &blocks, 4e-9);
    let mut contacts = stack.contacts.clone();
    let mut dv = vec![Vec3::zeros(); stack.rhs.len()];
    let mut method = solver.boxed();
    method.begin(&problem, &dv);
    let mut solve = || method.solve_rows(&problem, &mut contacts, &mut dv, ACCEPTED * problem.tolerance);
    // The first one may be rough, and tells so.
    let first = solve();
    let found = if first.accuracy > 0.0 { solve() } else { first };
    let (iterations, restarts, converged) = (found.iterations, found.restarts + found.passes, found.settled);
    assert!(converged, "{solver:?} does not converge in {iterations} iterations");
    for spring in contacts.iter().filter(|c| c.law.is_bilateral()) {
        let left = problem.motion(spring, &spring.force_on_first(), &dv);
        assert!(left.norm() < 1e-8, "{solver:?}: a spring is {left} m from where it pulls");
    }
    let limits: Vec<f64> =
        contacts.iter().filter(|c| c.law.is_unilateral() && c.is_active()).map(|c| c.law.friction() * c.force.normal()).collect();
    let mean_limit = limits.iter().sum::<f64>() / limits.len() as f64;
    for contact in contacts.iter().filter(|c| c.law.is_unilateral()) {
        let (normal, friction) = (contact.force.normal(), contact.force.friction().norm());
        let excess = friction - contact.law.friction() * normal;
        // Conjugate residuals meet the cone to a part of the mean limit (`contact::methods::contact_states`).
        let slack =
            if matches!(solver, Solver::Residuals(_) | Solver::Fields | Solver::Turning) { 5e-4 * mean_limit } else { 1e-6 * normal };
        assert!(excess <= slack + 1e-9, "{solver:?} leaves the cone by {excess} N of {normal} N");
        let u = problem.motion(contact, &contact.force_on_first(), &dv);
        assert!(u.x > -1e-8, "{solver:?}: a gap of {} m", u.x);
        assert!(!contact.is_active() || u.x < 1e-8, "{solver:?}: a force over a gap of {} m", u.x);
    }
    contacts.sort_by_key(|c| (c.bodies, c.id()));
    (dv, contacts, [iterations, restarts])
}

fn largest_difference(a: &[Vec3], b: &[Vec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).amax()).fold(0.0, f64::max)
}

#[test]
fn without_friction_all_solvers_give_the_same_velocities() {
    let stack = stack(0.0);
    let (reference, contacts, _) = solved(&stack, Solver::Other(ContactMethod::Ssn));
    assert!(contacts.iter().any(|c| c.is_active()) && contacts.iter().any(|c| !c.is_active()));
    for solver in ALL {
        let difference = largest_difference(&solved(&stack, solver).0, &reference);
        assert!(difference < 1e-6, "{solver:?}: {difference} m/s");
    }
}

#[test]
fn groups_of_the_diagonal_obey_the_laws_together() {
    let stack = stack(0.4);
    let parts = Parts::new(&stack);
    let blocks = parts.blocks();
    let problem = &parts.problem(&stack, &blocks, 1e-5);
    let Stack { a, rhs, contacts, .. } = &stack;
    let blocks = problem.own_compliances(contacts);
    let scales: Vec<Scale> = blocks.iter().map(Scale::new).collect();
    let base: Vec<Vec3> = rhs.iter().zip(&a.inverse_diagonals).map(|(b, inverse)| inverse * b).collect();
    let error_of = |p: &[Vec3]| {
        let (mut force, mut dv) = (vec![Vec3::zeros(); rhs.len()], base.clone());
        problem.spread_all(contacts, p, 1.0, &mut force);
        dv.iter_mut().zip(force).zip(&a.inverse_diagonals).for_each(|((dv, f), inverse)| *dv += inverse * f);
        problem.natural_error(contacts, p, &scales, &dv).max()
    };
    let mut p: Vec<Vec3> = (0..contacts.len()).map(|k| Vec3::new(k as f64, 0.1, -0.2)).collect();
    let before = error_of(&p);
    let mut nodal = nodal::Nodal::new(problem, contacts, &laws(contacts), &blocks);
    nodal.solve(&mut p, &base, 1e-13, 2000);
    assert!(before > 1e-6 && error_of(&p) < 1e-11, "{before} {}", error_of(&p));
    assert!(p.iter().any(|p| p.x > 0.0) && p.iter().any(|p| *p == Vec3::zeros()));
    // The contacts of a node of the floor by itself, and those of the cubes with each other and with the spring.
    assert!(nodal.n_groups() > 4 && nodal.n_groups() < contacts.len(), "{}", nodal.n_groups());
}

#[test]
fn with_friction_all_solvers_give_nearly_the_same_velocities() {
    let stack = stack(0.5);
    let (reference, contacts, _) = solved(&stack, Solver::Other(ContactMethod::Ssn));
    let count = |status| contacts.iter().filter(|c| c.force.status == status).count();
    assert!([Status::Inactive, Status::Sticking, Status::Sliding].iter().all(|s| count(*s) > 0), "all states are tested");
    let scale = reference.iter().map(Vec3::amax).fold(0.0, f64::max);
    // Staggered projections need not converge with friction, and do not here.
    for solver in ALL.into_iter().filter(|s| *s != Solver::Other(ContactMethod::Sp)) {
        let difference = largest_difference(&solved(&stack, solver).0, &reference);
        assert!(difference < 1e-3 * scale, "{solver:?}: {difference} m/s of {scale} m/s");
    }
}

#[test]
fn the_less_a_preconditioner_knows_the_more_iterations_it_needs() {
    for friction in [0.0, 0.5] {
        let stack = stack(friction);
        let iterations =
            [Preconditioner::Full, Preconditioner::Diagonal, Preconditioner::None].map(|c| solved(&stack, Solver::Residuals(c)).2[0]);
        println!("friction {friction}: {iterations:?} iterations");
        assert!(iterations.is_sorted(), "friction {friction}: {iterations:?} iterations");
        let with_fields = solved(&stack, Solver::Fields).2[0];
        println!("friction {friction}: {with_fields} iterations with coarse fields");
        assert!(3 * with_fields < 2 * iterations[0], "friction {friction}: {with_fields} of {iterations:?} iterations");
    }
}

/// The literature prints the multipliers of [A L^T; L 0] as the forces, >= 0. They are the forces with the other sign
/// (`contact-cr.md` 2): active sets that are switched as printed pull at what is in touch, and let go of what is
/// pushed.
#[test]
fn multipliers_are_forces_with_the_other_sign() {
    let mut stack = stack(0.0);
    stack.contacts.retain(|c| c.law.is_unilateral());
    let (dv, contacts, _) = solved(&stack, Solver::Residuals(Preconditioner::Full));
    assert!(contacts.iter().filter(|c| c.is_active()).count() > 5);
    assert!(contacts.iter().all(|c| c.force.multiplier.x <= 0.0), "a force that pushes");
    let (rounds, right) = switched(&stack, -1.0);
    let difference = largest_difference(&right, &dv);
    assert!(rounds.is_some_and(|rounds| rounds < 20) && difference < 1e-6, "{rounds:?} rounds, {difference} m/s");
    let (rounds, printed) = switched(&stack, 1.0);
    let difference = largest_difference(&printed, &dv);
    assert!(rounds.is_none() && difference > 1e-2, "{rounds:?} rounds, {difference} m/s");
}

/// Active sets by dense solves without friction, forces being `sign` times the multipliers: after how many of 200
/// rounds nothing changes any more, and the last velocities.
fn switched(stack: &Stack, sign: f64) -> (Option<usize>, Vec<Vec3>) {
    let Stack { pattern, a, rhs, contacts, .. } = stack;
    let parts = Parts::new(stack);
    let problem = parts.problem(stack, &[], 4e-9);
    let (n, m) = (3 * rhs.len(), contacts.len());
    let mut system = DMatrix::zeros(n + m, n + m);
    for i in 0..rhs.len() {
        for b in pattern.row(i) {
            system.fixed_view_mut::<3, 3>(3 * i, 3 * pattern.columns[b] as usize).copy_from(&a.blocks[b]);
        }
    }
    for (k, contact) in contacts.iter().enumerate() {
        for entry in &contact.row.entries {
            let row = contact.row.frame.row(0) * entry.matrix() * DT;
            system.fixed_view_mut::<1, 3>(n + k, 3 * entry.unknown()).copy_from(&row);
            system.fixed_view_mut::<3, 1>(3 * entry.unknown(), n + k).copy_from(&row.transpose());
        }
    }
    let mut active: Vec<bool> = contacts.iter().map(|c| c.row.offset.x < 0.0).collect();
    let mut rounds = 0..200;
    loop {
        let round = rounds.next();
        let rows: Vec<usize> = (0..n).chain((0..m).filter(|k| active[*k]).map(|k| n + k)).collect();
        let right =
            DVector::from_iterator(rows.len(), rows.iter().map(|r| if *r < n { rhs[r / 3][r % 3] } else { -contacts[r - n].row.offset.x }));
        let solution = system.select_rows(&rows).select_columns(&rows).lu().solve(&right).unwrap();
        let dv: Vec<Vec3> = (0..rhs.len()).map(|i| Vec3::new(solution[3 * i], solution[3 * i + 1], solution[3 * i + 2])).collect();
        let gaps: Vec<f64> = contacts.iter().map(|c| problem.motion(c, &Vec3::zeros(), &dv).x).collect();
        let mut next: Vec<bool> = (0..m).map(|k| !active[k] && gaps[k] < -1e-12).collect();
        rows[n..].iter().zip(&solution.as_slice()[n..]).for_each(|(row, z)| next[row - n] = sign * z >= 0.0);
        if next == active || round.is_none() {
            return (round.filter(|_| next == active), dv);
        }
        active = next;
    }
}

/// Rows that say the same (two triangles that share the edge which is met) neither change the motion nor slow the solve
/// down.
#[test]
fn repeated_rows_cost_no_iterations() {
    let once = stack(0.0);
    let mut thrice = stack(0.0);
    for copy in 1..3 {
        let copies = once.contacts.iter().filter(|c| c.law.is_unilateral()).map(|c| {
            let mut repeated = c.clone();
            if let Source::Contact(point) = &mut repeated.source {
                point.pair.second = copy;
            }
            repeated
        });
        thrice.contacts.extend(copies);
    }
    let solver = Solver::Residuals(Preconditioner::Full);
    let (single, repeated) = (solved(&once, solver), solved(&thrice, solver));
    let difference = largest_difference(&single.0, &repeated.0);
    assert!(difference < 1e-6, "{difference} m/s");
    let (repeated, single) = (repeated.2[0], single.2[0]);
    assert!(f64::from(repeated) <= 1.3 * f64::from(single), "{repeated} iterations instead of {single}");
}

/// The published update brings the size of the forces to the law; their direction it hardly turns (`contact-cr.md` 5).
#[test]
fn the_published_friction_update_keeps_the_cone() {
    let stack = stack(0.5);
    let (reference, ..) = solved(&stack, Solver::Other(ContactMethod::Ssn));
    let (dv, contacts, effort) = solved(&stack, Solver::Turning);
    let difference = largest_difference(&dv, &reference) / reference.iter().map(Vec3::amax).fold(0.0, f64::max);
    println!("{effort:?} iterations and restarts, velocities {difference:.1e} off");
    assert!(contacts.iter().any(|c| c.force.status == Status::Sliding));
    assert!(difference < 0.05, "{difference}");
}
