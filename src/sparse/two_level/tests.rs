//! The two-level solver against the one in f64.

use super::*;
use crate::body::BodyRef;
use crate::cancel::CancelToken;
use crate::math::Quat;
use crate::sparse::{Coarse, Operator, RestFactor, Segment, Solved, System, Until, conjugate_gradient, dot, elastic_box};

/// The matrix of a box whose nodes are turned by R, R A R^T, in f64 and for the two-level solver, with and without a
/// spring.
struct Turned {
    pattern: Pattern,
    a: Operator,
    fixed: Vec<bool>,
    layout: Layout,
    coarse: Coarse,
    matrix: TwoLevel,
}

impl Turned {
    fn system(&self, coarse: bool) -> TwoLevelSystem<'_> {
        TwoLevelSystem { layout: &self.layout, coarse: coarse.then_some(&self.coarse), matrix: &self.matrix, factor: None }
    }
}

fn turned(n_fixed: usize, springs: Vec<RankOne>) -> Turned {
    turned_in_step(1.0 / 60.0, n_fixed, springs)
}

/// The stiffer the longer the time step `dt` [s].
fn turned_in_step(dt: f64, n_fixed: usize, springs: Vec<RankOne>) -> Turned {
    let (pattern, blocks, positions) = elastic_box(9, 0.2, dt);
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
    let mut matrix = TwoLevel::default();
    matrix.assemble(&layout, &sources, mass, a.rank_ones.iter().copied(), |_| turn);
    Turned { pattern, fixed, layout, coarse, matrix, a }
}

/// 2-norms of the true residual of a solve from a start value, and of the load.
fn solved(case: &Turned, start: impl Fn(usize) -> Vec3, tolerance: f64) -> (Solved, f64, f64) {
    let n = case.fixed.len();
    let is_free = |i: usize| if case.fixed[i] { 0.0 } else { 1.0 };
    let b: Vec<Vec3> = (0..n).map(|i| Vec3::new((i as f64).sin(), (1.7 * i as f64).cos(), 2.0) * is_free(i)).collect();
    let mut x: Vec<Vec3> = (0..n).map(|i| start(i) * is_free(i)).collect();
    let bound = tolerance * dot(&b, &b).sqrt();
    let until = Until { residual: bound, iterations: 200, cancel: CancelToken::never() };
    let solved = case.system(true).solve(&b, &mut x, until, &mut TwoLevelWork::default());
    assert!((0..n).all(|i| !case.fixed[i] || x[i] == Vec3::zeros()));
    let mut r = vec![Vec3::zeros(); n];
    case.a.apply(&case.pattern, &case.fixed, &(0..n), &x, &mut r);
    r.iter_mut().zip(&b).for_each(|(r, b)| *r = b - *r);
    (solved, dot(&r, &r).sqrt(), dot(&b, &b).sqrt())
}

#[test]
fn the_true_residual_meets_the_tolerance_in_few_iterations() {
    for n_fixed in [0, 100] {
        let case = turned(n_fixed, vec![]);
        let (outcome, residual, load) = solved(&case, |_| Vec3::zeros(), 1e-4);
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
        let single = case.system(false).solve(&b, &mut alone, until, &mut TwoLevelWork::default());
        assert!(single.converged && single.iterations.abs_diff(jacobi.iterations) <= 2, "{single:?} {jacobi:?}");
        // From the answer there is nothing left to do; a start that is far off is dropped.
        let (again, ..) = solved(&case, |i| x[i], 2e-4);
        assert!(again.iterations <= 1, "{again:?}");
        let (afresh, ..) = solved(&case, |_| Vec3::repeat(1e3), 1e-4);
        assert_eq!(afresh, outcome);
    }
}

#[test]
fn springs_are_part_of_the_matrix() {
    let case = turned(100, vec![spring()]);
    let (outcome, residual, load) = solved(&case, |_| Vec3::zeros(), 1e-4);
    assert!(outcome.converged && residual < 1.1e-4 * load, "{outcome:?} {residual} {load}");
}

/// One that pulls at a corner.
fn spring() -> RankOne {
    let nodes = [999, 998, 997, 989, 5, 0, 0, 0, 0, 0, 0, 0];
    let weights = [0.4, 0.3, 0.2, 0.05, 0.05, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    RankOne { nodes, weights, factor: 30.0 }
}

#[test]
fn corrections_go_on_from_what_is_left() {
    let case = turned(100, vec![spring()]);
    let n = case.fixed.len();
    let load = |k: f64| (0..n).map(|i| Vec3::new((k * i as f64).sin(), 1.0, k) * if i < 100 { 0.0 } else { 1.0 }).collect::<Vec<_>>();
    let (first, change) = (load(0.3), load(2.1));
    let residual = |b: &[Vec3], x: &[Vec3]| {
        let mut r = vec![Vec3::zeros(); n];
        case.a.apply(&case.pattern, &case.fixed, &(0..n), x, &mut r);
        r.iter().zip(b).map(|(r, b)| (b - r).norm_squared()).sum::<f64>().sqrt()
    };
    let (system, mut work, mut x) = (case.system(true), TwoLevelWork::default(), vec![Vec3::zeros(); n]);
    system.begin_corrections(&first, &x, &mut work);
    let enough = |left: f64, part: f64| Enough { left, part, iterations: 200, cancel: CancelToken::never() };
    let rough = system.correct(enough(0.0, 0.05), &mut x, &mut work);
    assert!(rough.iterations > 2 && (residual(&first, &x) / rough.residual - 1.0).abs() < 1e-3, "{rough:?}");
    let both: Vec<Vec3> = first.iter().zip(&change).map(|(a, b)| a + b).collect();
    system.add_load(&change, &mut work);
    let fine = system.correct(enough(1e-3 * rough.largest, 0.0), &mut x, &mut work);
    assert!(fine.iterations > rough.iterations && fine.left <= 1e-3 * rough.largest, "{fine:?}");
    assert!((residual(&both, &x) / fine.residual - 1.0).abs() < 0.1 && fine.residual < 0.1 * rough.residual, "{fine:?}");
    // Nothing is left to do, and what must end at once does nothing.
    let again = system.correct(enough(fine.left * 1.001, 0.0), &mut x, &mut work);
    assert_eq!((again.iterations, again.largest), (0, 0.0));
    // The block of a node as the matrix in f64 has it.
    for node in [0, 5, 100, 998, 999] {
        let (single, double) = (case.matrix.inverse_diagonal(&case.layout, node), case.a.inverse_diagonals[node]);
        assert!((single - double).amax() <= 1e-5 * double.amax(), "{single} {double}");
    }
}

#[test]
fn a_factor_of_the_matrix_corrects_at_once() {
    // The factor does not know of the spring.
    for (springs, most) in [(vec![], 2), (vec![spring()], 4)] {
        let case = turned(100, springs);
        let n = case.fixed.len();
        let positions: Vec<Vec3> = (0..n).map(|i| Vec3::new((i % 10) as f64, (i / 10 % 10) as f64, (i / 100) as f64)).collect();
        let factor = RestFactor::new(&case.pattern, &case.a.blocks, &(0..n), &case.fixed, &positions).unwrap();
        let load: Vec<Vec3> = (0..n).map(|i| Vec3::new((0.3 * i as f64).sin(), 1.0, 0.3) * if i < 100 { 0.0 } else { 1.0 }).collect();
        let found = [None, Some(&factor)].map(|factor| {
            let (system, mut work) = (TwoLevelSystem { factor, ..case.system(true) }, TwoLevelWork::default());
            let mut x = vec![Vec3::zeros(); n];
            system.begin_corrections(&load, &x, &mut work);
            let enough = Enough { left: 0.0, part: 1e-5, iterations: 200, cancel: CancelToken::never() };
            let first = system.correct(enough, &mut x, &mut work);
            // It goes on from what is left, as the other does.
            system.add_load(&load, &mut work);
            let second = system.correct(enough, &mut x, &mut work);
            (x, first, second)
        });
        let [(two_level, slow, _), (direct, first, second)] = &found;
        assert!(first.iterations <= most && second.iterations <= most && slow.iterations > 4 * most, "{slow:?} {first:?} {second:?}");
        let off = direct.iter().zip(two_level).map(|(a, b)| (a - b).amax()).fold(0.0, f64::max);
        assert!(off < 1e-4 * direct.iter().map(Vec3::amax).fold(0.0, f64::max), "{off:e}");
    }
}

/// A matrix a million times as large as the masses in it still knows them: a body moves and turns as a whole under
/// impulses that do that.
#[test]
fn a_stiff_body_moves_as_a_whole() {
    let case = turned_in_step(0.6, 0, vec![]);
    let n = case.fixed.len();
    let mass = |i: usize| case.pattern.row(i).map(|b| case.a.blocks[b].trace() / 3.0).sum::<f64>();
    let stiffness = |i: usize| case.a.blocks[case.pattern.diagonals[i] as usize].trace() / (3.0 * mass(i));
    let stiffest = (0..n).map(stiffness).fold(0.0, f64::max);
    assert!((2e5..1e6).contains(&stiffest), "{stiffest:e}");
    let side = |i: usize| Vec3::new((i % 10) as f64, (i / 10 % 10) as f64, (i / 100) as f64) / 9.0;
    let turn = *Quat::from_scaled_axis(Vec3::new(1.0, -0.5, 2.0)).to_rotation_matrix().matrix();
    let common = Vec3::new(0.3, -1.0, 0.2);
    // The rounding of the other blocks turns a body (see `elastic::rest_pose`).
    let motions: [(&dyn Fn(usize) -> Vec3, f64); 2] =
        [(&|_| common, 2e-6), (&|i| turn * common.cross(&(side(i) - Vec3::repeat(0.5))), 4e-4)];
    for (motion, bound) in motions {
        let wanted: Vec<Vec3> = (0..n).map(motion).collect();
        let mut b = vec![Vec3::zeros(); n];
        case.a.apply(&case.pattern, &case.fixed, &(0..n), &wanted, &mut b);
        let mut x = vec![Vec3::zeros(); n];
        let until = Until { residual: 1e-5 * dot(&b, &b).sqrt(), iterations: 500, cancel: CancelToken::never() };
        let solved = case.system(true).solve(&b, &mut x, until, &mut TwoLevelWork::default());
        let off = x.iter().zip(&wanted).map(|(x, wanted)| (x - wanted).amax()).fold(0.0, f64::max);
        println!("stiffness {stiffest:.1e}, {solved:?}, off {off:.1e}");
        assert!(solved.converged && off < bound, "{solved:?} {off:e}");
    }
}

/// A slice is as long as its longest row: those of a window stand in the order of their lengths, whatever their cells.
#[test]
fn slices_hold_little_but_rows() {
    // Corners of 10-node tets, one of eight nodes, have rows three times as long as the middles of edges.
    let long = |i: usize| i % 8 == 3;
    let n = 1700;
    let mut edges: Vec<[u32; 2]> = (0..n)
        .flat_map(|i| (1..=if long(i) { 40 } else { 12 }).map(move |k| [i as u32, (i + k) as u32]))
        .filter(|[_, j]| (*j as usize) < n)
        .collect();
    edges.sort_unstable();
    let pattern = Pattern::new(n, edges);
    let positions: Vec<Vec3> = (0..n).map(|i| Vec3::new((i / 36) as f64, (i % 6) as f64, (i / 6 % 6) as f64)).collect();
    let layout = Layout::new(&pattern, &(0..n), &vec![false; n], &positions);
    let held = layout.pattern.columns.len() * HEIGHT;
    let blocks = pattern.n_blocks() - n;
    assert!(held >= blocks && held as f64 <= 1.06 * blocks as f64, "{held} for {blocks}");
    // Each row once, in its window.
    for (window, rows) in layout.pattern.rows.chunks(CHUNK).enumerate() {
        let mut rows: Vec<u32> = rows.as_flattened().to_vec();
        rows.sort_unstable();
        assert!(rows.iter().enumerate().all(|(k, row)| *row as usize == window * CHUNK * HEIGHT + k));
    }
}
