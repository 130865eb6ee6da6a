use nalgebra::{DMatrix, DVector};

use super::*;
use crate::cancel::CancelToken;
use crate::cases::Random;
use crate::math::Mat3;

/// Bodies in a row, each elastic with `NODES` nodes; contacts of the first with the ground and of each with the next.
struct Scene {
    bodies: Vec<[Option<u32>; 2]>,
    dense: DMatrix<f64>,
    free: Vec<Vec3>,
    w: Compliance,
    laws: Vec<Law>,
}

const NODES: usize = 12;

/// `per_pair` contacts each; the bodies press with ~1 mm, and move along by `slip` [m].
fn scene(seed: u64, n_bodies: usize, per_pair: usize, friction: f64, slip: f64) -> Scene {
    let mut random = Random::new(seed);
    let n = 3 * NODES * n_bodies;
    let mut inverse = DMatrix::zeros(n, n);
    for b in 0..n_bodies {
        // A spring network on a mass, in units in which a node's compliance is ~1e-3 m/N.
        let m = DMatrix::from_fn(3 * NODES, 3 * NODES, |_, _| random.signed());
        let a = (&m * m.transpose() + DMatrix::identity(3 * NODES, 3 * NODES)) * 200.0;
        inverse.view_mut((3 * NODES * b, 3 * NODES * b), (3 * NODES, 3 * NODES)).copy_from(&a.try_inverse().unwrap());
    }
    let n_contacts = per_pair * n_bodies;
    let mut j = DMatrix::zeros(3 * n_contacts, n);
    let (mut bodies, mut free) = (vec![], vec![]);
    for k in 0..n_contacts {
        let b = k / per_pair;
        bodies.push([Some(b as u32), (b as u32).checked_sub(1)]);
        let normal = Vec3::new(0.2 * random.signed(), 0.2 * random.signed(), 1.0).normalize();
        let t1 = normal.cross(&Vec3::x()).normalize();
        let frame = Mat3::from_rows(&[normal.transpose(), t1.transpose(), normal.cross(&t1).transpose()]);
        for (side, sign) in [(Some(b), 1.0), (b.checked_sub(1), -1.0)] {
            let Some(body) = side else { continue };
            // A point on an edge between two nodes.
            let (i, weight) = (k % NODES, 0.5 + 0.5 * random.signed());
            for (node, weight) in [(i, weight), ((i + 1) % NODES, 1.0 - weight)] {
                let mut block = j.fixed_view_mut::<3, 3>(3 * k, 3 * (NODES * body + node));
                block += frame * (sign * weight);
            }
        }
        free.push(
            frame * Vec3::new(slip * (1.0 + 0.2 * random.signed()), slip * 0.3 * random.signed(), -1e-3 * (1.0 + 0.9 * random.signed())),
        );
    }
    let dense = &j * inverse * j.transpose();
    let mut scene = Scene { bodies, dense, free, w: Compliance::default(), laws: vec![Law::Unilateral { friction }; n_contacts] };
    scene.assemble();
    scene
}

impl Scene {
    fn assemble(&mut self) {
        let dense = &self.dense;
        self.w.assemble(&self.bodies, |k, columns, blocks| {
            for (l, block) in columns.zip(blocks) {
                *block = dense.fixed_view::<3, 3>(3 * k, 3 * l).into();
            }
        });
    }

    fn problem(&self) -> Problem<'_> {
        Problem { w: &self.w, laws: &self.laws, free: &self.free, cancel: CancelToken::never(), work_left: u64::MAX }
    }

    /// Every contact twice.
    fn doubled(mut self) -> Self {
        let n = self.free.len();
        self.dense = DMatrix::from_fn(6 * n, 6 * n, |r, c| self.dense[(r / 6 * 3 + r % 3, c / 6 * 3 + c % 3)]);
        self.free = (0..2 * n).map(|k| self.free[k / 2]).collect();
        self.laws = (0..2 * n).map(|k| self.laws[k / 2]).collect();
        self.bodies = (0..2 * n).map(|k| self.bodies[k / 2]).collect();
        self.assemble();
        self
    }

    /// u in f64 on the W that was not rounded.
    fn exact_motion(&self, p: &[Vec3]) -> Vec<Vec3> {
        let x = DVector::from_iterator(3 * p.len(), p.iter().flat_map(|p| p.iter().copied()));
        let u = &self.dense * x;
        (0..p.len()).map(|k| self.free[k] + Vec3::new(u[3 * k], u[3 * k + 1], u[3 * k + 2])).collect()
    }
}

fn largest_difference(a: &[Vec3], b: &[Vec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).amax()).fold(0.0, f64::max)
}

const SPECTRAL: [u32; 3] = [4000, 0, 0];
const SPLITTING: [u32; 3] = [0, 4000, 0];
const ACCELERATED: [u32; 3] = [0, 0, 4000];

/// (sliding, sticking) contacts of a solution.
fn count(scene: &Scene, p: &[Vec3]) -> (usize, usize) {
    let mut counts = (0, 0);
    for (p, law) in p.iter().zip(&scene.laws).filter(|(p, _)| p.x > 0.0) {
        let Law::Unilateral { friction } = law else { continue };
        *(if p.y.hypot(p.z) > 0.999 * friction * p.x { &mut counts.0 } else { &mut counts.1 }) += 1;
    }
    counts
}

#[test]
fn all_solvers_find_the_same_motion() {
    let mut seen = (0, 0);
    for (seed, friction, slip) in [(1, 0.5, 2e-3), (2, 0.3, 5e-4), (3, 0.8, 1e-4), (4, 0.2, 5e-3)] {
        let scene = scene(seed, 3, 8, friction, slip);
        for (tolerance, agreement) in [(1e-6, 5e-6), (5e-9, 1e-7)] {
            let mut work = Work::default();
            let mut reference = vec![Vec3::zeros(); scene.free.len()];
            let exact = Options { tolerance: 1e-12, aim: 1.0, iterations: [0; 3] };
            let outcome = ssn(&scene.problem(), &mut reference, &exact, &mut work);
            assert!(outcome.converged, "Newton, seed {seed}: {outcome:?}");
            let counts = count(&scene, &reference);
            seen = (seen.0 + counts.0, seen.1 + counts.1);
            let reference = scene.exact_motion(&reference);
            for iterations in [SPECTRAL, SPLITTING, ACCELERATED] {
                let mut p = vec![Vec3::zeros(); scene.free.len()];
                let outcome = solve(&scene.problem(), &mut p, &Options { tolerance, aim: 1.0, iterations }, &mut work);
                assert!(outcome.converged, "seed {seed}: {outcome:?}");
                let difference = largest_difference(&scene.exact_motion(&p), &reference);
                assert!(difference < agreement, "seed {seed}, {:?}: {difference}", outcome.method);
            }
        }
    }
    assert!(seen.0 > 20 && seen.1 > 20, "both sliding and sticking contacts are tested: {seen:?}");
}

#[test]
fn forces_stay_in_their_cones() {
    for seed in 10..20 {
        let scene = scene(seed, 3, 8, 0.5, 1e-3);
        for iterations in [SPECTRAL, SPLITTING, ACCELERATED, [3, 30, 3]] {
            let mut p = vec![Vec3::new(-1.0, 1.0, f64::NAN); scene.free.len()];
            solve(&scene.problem(), &mut p, &Options { iterations, ..Options::default() }, &mut Work::default());
            for p in p {
                assert!(p.x >= 0.0 && p.y.hypot(p.z) <= 0.5 * p.x + 1e-15 * p.x.max(1.0), "{p}");
            }
        }
    }
}

#[test]
fn repeated_contacts_do_no_harm() {
    for seed in [5, 6, 7] {
        let single = scene(seed, 2, 8, 0.4, 1e-3);
        let options = Options { tolerance: 1e-7, ..Options::default() };
        let (mut p, mut work) = (vec![Vec3::zeros(); single.free.len()], Work::default());
        assert!(solve(&single.problem(), &mut p, &options, &mut work).converged);
        let motion = single.exact_motion(&p);
        let double = single.doubled();
        let mut p = vec![Vec3::zeros(); double.free.len()];
        let outcome = solve(&double.problem(), &mut p, &options, &mut work);
        assert!(outcome.converged && outcome.method == Method::Spectral, "{outcome:?}");
        let difference = double.exact_motion(&p).iter().enumerate().map(|(k, u)| (u - motion[k / 2]).amax()).fold(0.0, f64::max);
        assert!(difference < 1e-6, "{difference}");
        assert!(ssn(&double.problem(), &mut p, &Options { tolerance: 1e-9, ..options }, &mut work).converged);
    }
}

#[test]
fn without_friction_the_forces_solve_the_quadratic_programme() {
    let scene = scene(8, 3, 7, 0.0, 2e-3);
    let mut p = vec![Vec3::zeros(); scene.free.len()];
    let outcome = solve(&scene.problem(), &mut p, &Options { tolerance: 1e-8, aim: 1.0, iterations: SPECTRAL }, &mut Work::default());
    assert!(outcome.converged, "{outcome:?}");
    // Gauss-Seidel on the normals of the exact W.
    let mut lambda = vec![0.0; p.len()];
    for _ in 0..20_000 {
        for k in 0..lambda.len() {
            let gap = scene.free[k].x + lambda.iter().enumerate().map(|(l, p)| scene.dense[(3 * k, 3 * l)] * p).sum::<f64>();
            lambda[k] = f64::max(0.0, lambda[k] - gap / scene.dense[(3 * k, 3 * k)]);
        }
    }
    let reference: Vec<_> = lambda.iter().map(|l| Vec3::new(*l, 0.0, 0.0)).collect();
    assert!(lambda.contains(&0.0) && lambda.iter().any(|l| *l > 0.0));
    let difference = largest_difference(&scene.exact_motion(&p), &scene.exact_motion(&reference));
    assert!(difference < 1e-7, "{difference}");
    // Newton's steps leave out what has no force, and the tangents.
    let mut p = vec![Vec3::zeros(); scene.free.len()];
    let outcome = ssn(&scene.problem(), &mut p, &Options { tolerance: 1e-11, ..Options::default() }, &mut Work::default());
    assert!(outcome.converged && outcome.iterations <= 20, "{outcome:?}");
    let difference = largest_difference(&scene.exact_motion(&p), &scene.exact_motion(&reference));
    assert!(difference < 1e-9, "{difference}");
}

#[test]
fn newton_lets_go_of_what_is_open() {
    let mut scene = scene(8, 3, 7, 0.5, 1e-3);
    scene.free.iter_mut().for_each(|free| free.x = 1e3);
    let mut p = vec![Vec3::new(1e-3, 1e-4, 0.0); scene.free.len()];
    let outcome = ssn(&scene.problem(), &mut p, &Options { tolerance: 1e-9, ..Options::default() }, &mut Work::default());
    assert!(outcome.converged && outcome.iterations == 1, "{outcome:?}");
    // What the regularisation leaves.
    assert!(p.iter().all(|p| p.norm() < 1e-11));
}

#[test]
fn few_contacts_that_nothing_else_solves_are_for_newton() {
    let no_others = Options { tolerance: 1e-7, aim: 1.0, iterations: [0; 3] };
    for (n_bodies, converges) in [(2, true), (12, false)] {
        let scene = scene(8, n_bodies, 8, 0.4, 1e-3);
        let mut p = vec![Vec3::zeros(); scene.free.len()];
        let outcome = solve(&scene.problem(), &mut p, &no_others, &mut Work::default());
        assert_eq!((p.len() <= MAX_NEWTON_CONTACTS, outcome.converged), (converges, converges), "{outcome:?}");
        let error = scene.problem().error(&p, &scene.exact_motion(&p)).max();
        assert!(!converges || (outcome.method == Method::Newton && error < 1e-6), "{error}");
    }
}

/// Contacts that were met in a run: projections go round and round, and a line search stops at a minimum of |F|.
#[test]
fn full_newton_steps_solve_what_a_line_search_does_not() {
    let text = include_str!("../../../tests/data/contacts_12.txt");
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let mut numbers = || lines.next().unwrap().split(' ').map(|x| x.parse().unwrap()).collect::<Vec<f64>>();
    let friction = numbers()[0];
    let (free, mut p): (Vec<Vec3>, Vec<Vec3>) =
        (0..12).map(|_| numbers()).map(|row| (Vec3::from_column_slice(&row[..3]), Vec3::from_column_slice(&row[3..]))).unzip();
    let mut dense = DMatrix::zeros(36, 36);
    for r in 0..36 {
        for (c, w) in numbers().into_iter().enumerate() {
            (dense[(r, c)], dense[(c, r)]) = (w, w);
        }
    }
    let mut scene =
        Scene { bodies: vec![[Some(0), Some(1)]; 12], dense, free, w: Compliance::default(), laws: vec![Law::Unilateral { friction }; 12] };
    scene.assemble();
    let before = scene.problem().error(&p, &scene.exact_motion(&p)).max();
    let outcome = solve(&scene.problem(), &mut p, &Options::default(), &mut Work::default());
    assert!(before > Options::default().tolerance && outcome.converged && outcome.method == Method::Newton, "{before}: {outcome:?}");
    assert!(scene.problem().error(&p, &scene.exact_motion(&p)).max() < 3e-6);
}

#[test]
fn ties_hold_and_yield_by_their_compliance() {
    let mut scene = scene(9, 2, 8, 0.5, 1e-3);
    let softness = 2e-4;
    scene.laws[10] = Law::Bilateral { compliance: Vec3::repeat(softness) };
    for r in 0..3 {
        scene.dense[(30 + r, 30 + r)] += softness;
    }
    scene.assemble();
    let mut p = vec![Vec3::zeros(); scene.free.len()];
    let mut work = Work::default();
    for iterations in [SPECTRAL, SPLITTING, ACCELERATED] {
        p.fill(Vec3::zeros());
        let outcome = solve(&scene.problem(), &mut p, &Options { tolerance: 1e-8, aim: 1.0, iterations }, &mut work);
        assert!(outcome.converged, "{outcome:?}");
        assert!(scene.exact_motion(&p)[10].amax() < 2e-8);
        assert!(p[10].norm() > 0.1);
    }
    let before = p.clone();
    assert!(ssn(&scene.problem(), &mut p, &Options { tolerance: 1e-10, ..Options::default() }, &mut work).converged);
    assert!(largest_difference(&before, &p) < 1e-3);
}

#[test]
fn the_product_is_that_of_the_dense_matrix_for_any_layout() {
    let mut random = Random::new(77);
    // Two runs of one pair, a group without movable bodies, and a long group.
    let mut bodies = vec![[Some(0), None], [Some(0), None], [Some(1), Some(0)], [None, None], [Some(2), Some(1)], [Some(0), None]];
    bodies.extend([[Some(3), Some(2)]; 45]);
    let n = bodies.len();
    let meet = |k: usize, l: usize| bodies[k].iter().any(|b: &Option<u32>| b.is_some() && bodies[l].contains(b));
    let mut dense = DMatrix::zeros(3 * n, 3 * n);
    for r in 0..3 * n {
        for c in 0..=r {
            let entry = if meet(r / 3, c / 3) { random.signed() } else { 0.0 };
            (dense[(r, c)], dense[(c, r)]) = (entry, entry);
        }
    }
    let mut w = Compliance::default();
    for _ in 0..2 {
        w.assemble(&bodies, |k, columns, blocks| {
            assert!(columns.start >= k);
            for (l, block) in columns.zip(blocks) {
                *block = dense.fixed_view::<3, 3>(3 * k, 3 * l).into();
            }
        });
        assert!((w.to_dense() - &dense).amax() < 1e-7);
    }
    let p: Vec<_> = (0..n).map(|_| random.vector()).collect();
    let free: Vec<_> = (0..n).map(|_| random.vector()).collect();
    let mut u = vec![Vec3::zeros(); n];
    w.product(&p, &free, &mut u, &mut Gather::default());
    let expected = dense * DVector::from_iterator(3 * n, p.iter().flat_map(|p| p.iter().copied()));
    for k in 0..n {
        let expected = free[k] + Vec3::new(expected[3 * k], expected[3 * k + 1], expected[3 * k + 2]);
        assert!((u[k] - expected).amax() < 1e-5, "{k}");
    }
    assert_eq!(w.scales()[3], Scale::default());
}

/// So large that its parts go to several threads.
#[test]
fn the_product_of_many_contacts_has_the_same_bits_on_any_number_of_threads() {
    let n = 380;
    let mut random = Random::new(5);
    let values: Vec<Mat3> = (0..n).map(|_| Mat3::from_fn(|_, _| random.signed())).collect();
    let block = |k: usize, l: usize| if k <= l { values[l - k] } else { values[k - l].transpose() };
    let bodies: Vec<_> = (0..n).map(|k| [Some(0), (k >= 150).then_some(1)]).collect();
    let mut w = Compliance::default();
    w.assemble(&bodies, |k, columns, blocks| columns.zip(blocks).for_each(|(l, out)| *out = block(k, l)));
    let [p, free] = [0, 1].map(|_| (0..n).map(|_| random.vector()).collect::<Vec<_>>());
    let product = |threads: usize| {
        let mut u = vec![Vec3::zeros(); n];
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| w.product(&p, &free, &mut u, &mut Gather::default()));
        u
    };
    let found = product(1);
    assert!([2, 3].iter().all(|threads| product(*threads) == found));
    for k in 0..n {
        let expected = free[k] + (0..n).map(|l| block(k, l) * p[l]).sum::<Vec3>();
        assert!((found[k] - expected).amax() < 1e-4, "{k}: {} {expected}", found[k]);
    }
}

#[test]
fn nothing_and_nonsense_are_reported() {
    let mut work = Work::default();
    let mut w = Compliance::default();
    w.assemble(&[], |_, _, _| {});
    for solver in [solve, ssn] {
        let outcome = solver(
            &Problem { w: &w, laws: &[], free: &[], cancel: CancelToken::never(), work_left: u64::MAX },
            &mut [],
            &Options::default(),
            &mut work,
        );
        assert!(outcome.converged && outcome.iterations == 0);
        let mut bad = scene(1, 2, 4, 0.5, 1e-3);
        bad.free[3].y = f64::NAN;
        let mut p = vec![Vec3::new(1.0, 0.0, 0.0); bad.free.len()];
        assert!(!solver(&bad.problem(), &mut p, &Options::default(), &mut work).converged);
        assert!(p.iter().all(|p| *p == Vec3::zeros()));
        let mut bad = scene(1, 2, 4, f64::INFINITY, 1e-3);
        assert!(solver(&bad.problem(), &mut p, &Options::default(), &mut work).converged);
        bad.dense[(5, 9)] = f64::NAN;
        bad.dense[(9, 5)] = f64::NAN;
        bad.assemble();
        assert!(!solver(&bad.problem(), &mut p, &Options { iterations: [30; 3], ..Options::default() }, &mut work).converged);
        assert!(p.iter().all(|p| p.iter().all(|x| x.is_finite())));
        // A contact that nothing moves.
        let mut w = Compliance::default();
        w.assemble(&[[None; 2]], |_, _, blocks| blocks.fill(Mat3::zeros()));
        let problem = Problem {
            w: &w,
            laws: &[Law::Unilateral { friction: 0.5 }],
            free: &[Vec3::new(-1.0, 0.0, 0.0)],
            cancel: CancelToken::never(),
            work_left: u64::MAX,
        };
        assert!(solver(&problem, &mut [Vec3::new(1.0, 0.0, 0.0)], &Options::default(), &mut work).converged);
    }
}

#[test]
fn the_factor_solves_with_the_shifted_compliance() {
    // Several blocks, of which the last ones are not coupled to the first.
    for (n_bodies, per_pair) in [(1, 5), (5, 16), (7, 23)] {
        let scene = scene(40, n_bodies, per_pair, 0.5, 1e-3);
        let n = 3 * scene.free.len();
        let shift = |row: usize| 1e-3 * (1.0 + (row % 3) as f32);
        let mut factor = shifted::ShiftedFactor::default();
        assert!(factor.prepare(&scene.w, shift, CancelToken::never()));
        let (mut x, mut memory) = (Entries::default(), Entries::default());
        x.reset(factor.n_rows());
        let mut random = Random::new(3);
        let rhs = DVector::from_fn(n, |_, _| random.signed());
        let place = |row: usize| 3 * factor.places()[row / 3] as usize + row % 3;
        (0..n).for_each(|row| x[place(row)] = rhs[row] as f32);
        factor.solve(&mut x, &mut memory);
        let shifted = scene.w.to_dense() + DMatrix::from_diagonal(&DVector::from_fn(n, |row, _| f64::from(shift(row))));
        let found = DVector::from_fn(n, |row, _| f64::from(x[place(row)]));
        let error = (&shifted * &found - &rhs).amax();
        assert!(error < 1e-4, "{n_bodies} bodies: {error}");
        assert!(x[n..].iter().all(|x| *x == 0.0));
        assert!(!factor_of_negative(&scene), "a matrix that is not positive definite is told");
    }
}

/// Bodies in a row, with names in any order: a factor is as long as the row, whatever the names.
#[test]
fn a_factor_has_little_to_do_where_few_bodies_meet() {
    let n = 200;
    let mut names: Vec<u32> = (0..=n).collect();
    let mut random = Random::new(5);
    for i in (1..names.len()).rev() {
        names.swap(i, ((random.signed() * 0.5 + 0.5) * i as f64) as usize);
    }
    let mut pairs: Vec<[u32; 2]> = names.windows(2).map(|pair| [pair[0].min(pair[1]), pair[0].max(pair[1])]).collect();
    pairs.sort_unstable();
    let bodies: Vec<[Option<u32>; 2]> = pairs.iter().flat_map(|pair| [pair.map(Some); 4]).collect();
    let mut w = Compliance::default();
    w.assemble(&bodies, |k, columns, blocks| {
        blocks.iter_mut().zip(columns).for_each(|(block, l)| *block = Mat3::identity() * if k == l { 2.0 } else { 0.1 });
    });
    let (work, part) = shifted::ShiftedFactor::default().work_of(&w);
    assert!(work > 0 && part < 0.02, "{part}");
}

#[test]
fn a_cancelled_solve_takes_no_factor() {
    let scene = scene(41, 5, 16, 0.5, 1e-3);
    let cancelled = CancelToken::default();
    cancelled.cancel();
    let mut factor = shifted::ShiftedFactor::default();
    assert!(!factor.prepare(&scene.w, |_| 1e-3, &cancelled));
    assert!(!factor.prepare(&scene.w, |_| 1e-3, CancelToken::never()), "a part of a factor is none");
}

fn factor_of_negative(scene: &Scene) -> bool {
    shifted::ShiftedFactor::default().prepare(&scene.w, |_| -1.0, CancelToken::never())
}
