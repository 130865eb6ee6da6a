use super::*;
use crate::body::BodyRef;
use crate::budget::Allowance;
use crate::cancel::CancelToken;
use crate::contact::{Bounds, ContactPoint, JacobianEntry, Row};
use crate::math::Mat3;
use crate::model::{PairId, PairKind};
use crate::sparse::{Operator, System};

/// Unknowns of a rigid body where there are no nodes.
const LINEAR: u32 = 0;
const ANGULAR: u32 = 1;

/// Rows without friction of a rigid body, 0.1 m high, with a floor and a ceiling; seven of ten are of the floor. Where it
/// starts they overlap by up to 7 mm, or are up to 3 mm apart, in both directions: no motion opens all of them.
fn rows_above_and_below(n: u32) -> impl Iterator<Item = Constraint> {
    (1..=n).map(|k| {
        let wave = |frequency: f64| (frequency * f64::from(k)).sin();
        let side = if (k - 1) % 10 < 7 { 1.0 } else { -1.0 };
        let pair = PairId { kind: PairKind::VertexObstacle, first: k, second: 0 };
        let mut contact = Constraint::contact(ContactPoint::new(pair), [BodyRef::Rigid(0), BodyRef::Obstacle(0)], 0.0);
        let arm = Vec3::new(wave(3.7), -side, wave(4.9)) * 0.05;
        let entries = vec![JacobianEntry::Linear { unknown: LINEAR, weight: 1.0 }, JacobianEntry::Angular { unknown: ANGULAR, arm }];
        let normal = Vec3::y() * side;
        let frame = Mat3::from_rows(&[normal.transpose(), Vec3::x().transpose(), normal.cross(&Vec3::x()).transpose()]);
        contact.row = Row { entries, frame, offset: Vec3::x() * (5e-3 * wave(5.3) - 2e-3) };
        contact
    })
}

/// Few of them carry a force in the end, so few that W~ takes them; with what overlaps then they are for the full space
/// again, whose first rows are few. The one handed them to the other for ever.
#[test]
fn rows_that_contradict_each_other_are_given_up() {
    let mut a = Operator { rigid_blocks: vec![Mat3::identity(), Mat3::identity() * 2e-3], ..Operator::default() };
    a.invert_rigid(0);
    let pattern = Pattern::new(0, vec![]);
    let segments = [Segment { body: BodyRef::Rigid(0), unknowns: 0..2, start: 0 }];
    let block = |segment: &Segment| Block { segment: segment.clone(), rest: None, single: None, coarse: None, slow: 0, mass: None };
    let blocks: Vec<Block> = segments.iter().map(block).collect();
    let dt = 0.01;
    // Some fifteen times what it takes: what does not end by itself ends exhausted.
    let allowance = Allowance::of_island(Some(1 << 34), 1, 1.0);
    let bounds = Bounds {
        residual: 1e-9,
        elastic_tolerance: 1e-8,
        max_elastic_iterations: 2000,
        fixed_iterations: None,
        max_iterations: 20_000,
        gives_up: false,
        may_halve: false,
    };
    let problem = Problem {
        system: System { a: &a, pattern: &pattern, fixed: &[], segments: &segments },
        blocks: &blocks,
        local: &[LINEAR, ANGULAR],
        position: &|_| Vec3::zeros(),
        dt,
        rhs: &[Vec3::new(0.0, -9.81 * dt, 0.0), Vec3::zeros()],
        tolerance: 1e-5,
        bounds,
        cancel: CancelToken::never(),
        allowance: &allowance,
    };
    let mut rows: Vec<Constraint> = rows_above_and_below(40).collect();
    let mut dv = vec![Vec3::zeros(); 2];
    let mut cwc = Cwc::default();
    cwc.begin(&problem, &dv);
    let solved = cwc.solve_rows(&problem, &mut rows, &mut dv, ACCEPTED * problem.tolerance);
    println!("{} passes, {:.1e} bytes of work", solved.passes, allowance.spent() as f64);
    assert!(!solved.settled && !solved.exhausted && !allowance.is_spent() && solved.passes < 60, "{solved:?}");
}
