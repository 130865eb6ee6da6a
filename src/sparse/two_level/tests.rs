//! The two-level solver against the one in f64.

use super::*;
use crate::body::BodyRef;
use crate::cancel::CancelToken;
use crate::math::Quat;
use crate::sparse::{Operator, Segment, System, conjugate_gradient, dot, elastic_box};

/// The matrix of a box whose nodes are turned by R, R A R^T, in f64 and for the two-level solver, with and without a
/// spring.
struct Turned {
    pattern: Pattern,
    a: Operator,
    fixed: Vec<bool>,
    layout: Layout,
    coarse: Coarse,
    system: TwoLevel,
}

fn turned(n_fixed: usize, springs: Vec<RankOne>) -> Turned {
    let (pattern, blocks, positions) = elastic_box(9, 0.2, 1.0 / 60.0);
    let n = positions.len();
    let fixed: Vec<bool> = (0..n).map(|i| i < n_fixed).collect();
    let layout = Layout::new(&pattern, &(0..n), &fixed, &positions);
    let coarse = Coarse::new(&layout, &pattern, &blocks).unwrap();
    let turn = *Quat::from_scaled_axis(Vec3::new(1.0, -0.5, 2.0)).to_rotation_matrix().matrix();
    let mut a =
        Operator { blocks: blocks.iter().map(|b| turn * b * turn.transpose()).collect(), rank_ones: springs, ..Operator::default() };
    a.invert_diagonals(&pattern, &fixed);
    let single = |b: Mat3| [0, 1, 2].map(|c| [b[(0, c)] as f32, b[(1, c)] as f32, b[(2, c)] as f32, 0.0]);
    let mut sources: Vec<Block> = pattern.edge_blocks.iter().flatten().map(|b| single(a.blocks[*b as usize])).collect();
    sources.push(Block::default());
    // Rows sum up to the masses.
    let mass = |i: usize| pattern.row(i).map(|b| a.blocks[b].trace() / 3.0).sum::<f64>();
    let mut system = TwoLevel::default();
    system.assemble(&layout, &sources, mass, a.rank_ones.iter().copied(), |_| turn);
    Turned { pattern, fixed, layout, coarse, system, a }
}

/// 2-norms of the true residual of a solve from a start value, and of the load.
fn solved(case: &mut Turned, start: impl Fn(usize) -> Vec3, tolerance: f64) -> (Solved, f64, f64) {
    let n = case.fixed.len();
    let is_free = |i: usize| if case.fixed[i] { 0.0 } else { 1.0 };
    let b: Vec<Vec3> = (0..n).map(|i| Vec3::new((i as f64).sin(), (1.7 * i as f64).cos(), 2.0) * is_free(i)).collect();
    let mut x: Vec<Vec3> = (0..n).map(|i| start(i) * is_free(i)).collect();
    let bound = tolerance * dot(&b, &b).sqrt();
    let until = Until { residual: bound, iterations: 200, cancel: CancelToken::never() };
    let solved = case.system.solve(&case.layout, Some(&case.coarse), &b, &mut x, until);
    assert!((0..n).all(|i| !case.fixed[i] || x[i] == Vec3::zeros()));
    let mut r = vec![Vec3::zeros(); n];
    case.a.apply(&case.pattern, &case.fixed, &(0..n), &x, &mut r);
    r.iter_mut().zip(&b).for_each(|(r, b)| *r = b - *r);
    (solved, dot(&r, &r).sqrt(), dot(&b, &b).sqrt())
}

#[test]
fn the_true_residual_meets_the_tolerance_in_few_iterations() {
    for n_fixed in [0, 100] {
        let mut case = turned(n_fixed, vec![]);
        let (outcome, residual, load) = solved(&mut case, |_| Vec3::zeros(), 1e-4);
        assert!(outcome.converged && residual < 1.1e-4 * load, "{outcome:?} {residual} {load}");
        // The block diagonal alone takes more than twice as many.
        let n = case.fixed.len();
        let b: Vec<Vec3> =
            (0..n).map(|i| if i < n_fixed { Vec3::zeros() } else { Vec3::new((i as f64).sin(), (1.7 * i as f64).cos(), 2.0) }).collect();
        let mut x = vec![Vec3::zeros(); n];
        let segments = [Segment { body: BodyRef::Deformable(0), unknowns: 0..n, start: 0 }];
        let system = System { a: &case.a, pattern: &case.pattern, fixed: &case.fixed, segments: &segments };
        let until = Until { residual: 1e-4 * load, iterations: 2000, cancel: CancelToken::never() };
        let jacobi = conjugate_gradient(&system, &b, &mut x, until, &mut Default::default());
        assert!(2 * outcome.iterations < jacobi.iterations, "{outcome:?} {jacobi:?}");
        let mut alone = vec![Vec3::zeros(); n];
        let single = case.system.solve(&case.layout, None, &b, &mut alone, until);
        assert!(single.converged && single.iterations.abs_diff(jacobi.iterations) <= 2, "{single:?} {jacobi:?}");
        // From the answer there is nothing left to do; a start that is far off is dropped.
        let (again, ..) = solved(&mut case, |i| x[i], 2e-4);
        assert!(again.iterations <= 1, "{again:?}");
        let (afresh, ..) = solved(&mut case, |_| Vec3::repeat(1e3), 1e-4);
        assert_eq!(afresh, outcome);
    }
}

#[test]
fn springs_are_part_of_the_matrix() {
    let nodes = [999, 998, 997, 989, 5, 0, 0, 0, 0, 0, 0, 0];
    let weights = [0.4, 0.3, 0.2, 0.05, 0.05, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let mut case = turned(100, vec![RankOne { nodes, weights, factor: 30.0 }]);
    let (outcome, residual, load) = solved(&mut case, |_| Vec3::zeros(), 1e-4);
    assert!(outcome.converged && residual < 1.1e-4 * load, "{outcome:?} {residual} {load}");
}
