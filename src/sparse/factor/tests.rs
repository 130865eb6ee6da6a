use nalgebra::DMatrix;

use super::*;
use crate::cancel::CancelToken;
use crate::sparse::multiply;

/// A box of `n`^3 cubes of six tetrahedra each (Kuhn), `side` [m], linear elasticity: pattern, blocks of `M + dt^2 K`, rest positions.
pub fn elastic_box(n: usize, side: f64, dt: f64) -> (Pattern, Vec<Mat3>, Vec<Vec3>) {
    let (youngs, poisson, density) = (2e5, 0.3, 1000.0);
    let (mu, lambda) = (youngs / (2.0 * (1.0 + poisson)), youngs * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson)));
    let m = n + 1;
    let positions: Vec<_> =
        (0..m * m * m).map(|i| Vec3::new((i % m) as f64, (i / m % m) as f64, (i / m / m) as f64) * (side / n as f64)).collect();
    let mut tets = vec![];
    for cell in 0..n * n * n {
        let base = cell % n + m * (cell / n % n) + m * m * (cell / n / n);
        for [a, b] in [[0, 1], [1, 2], [2, 0], [1, 0], [2, 1], [0, 2]] {
            let step = |axis: usize| [1, m, m * m][axis];
            tets.push([base, base + step(a), base + step(a) + step(b), base + 1 + m + m * m].map(|i| i as u32));
        }
    }
    let mut edges: Vec<[u32; 2]> =
        tets.iter().flat_map(|t| (0..4).flat_map(move |i| (0..i).map(move |j| [t[i].min(t[j]), t[i].max(t[j])]))).collect();
    edges.sort_unstable();
    edges.dedup();
    let pattern = Pattern::new(m * m * m, edges);
    let mut blocks = vec![Mat3::zeros(); pattern.n_blocks()];
    for tet in &tets {
        let x = tet.map(|i| positions[i as usize]);
        let d = Mat3::from_columns(&[x[1] - x[0], x[2] - x[0], x[3] - x[0]]);
        let volume = d.determinant().abs() / 6.0;
        let inverse = d.try_inverse().unwrap();
        let mut gradients = [Vec3::zeros(); 4];
        for a in 0..3 {
            gradients[a + 1] = inverse.row(a).transpose();
            gradients[0] -= gradients[a + 1];
        }
        for (a, i) in tet.iter().enumerate() {
            for (b, j) in tet.iter().enumerate() {
                let (ga, gb) = (gradients[a], gradients[b]);
                let stiffness = ga * gb.transpose() * lambda + gb * ga.transpose() * mu + Mat3::identity() * (mu * ga.dot(&gb));
                let row = pattern.row(*i as usize);
                let at = row.start + pattern.columns[row].binary_search(j).unwrap();
                blocks[at] += stiffness * (volume * dt * dt);
                if a == b {
                    blocks[at] += Mat3::identity() * (density * volume / 4.0);
                }
            }
        }
    }
    (pattern, blocks, positions)
}

fn load(i: usize) -> Vec3 {
    Vec3::new((i as f64).sin(), (1.7 * i as f64).cos(), (0.3 * i as f64).sin())
}

/// Solves once and improves that `corrections` times; returns the largest residual at a free node, for a load of about 1.
fn residual(n: usize, fixed_part: usize, corrections: usize) -> f64 {
    let (pattern, blocks, positions) = elastic_box(n, 0.2, 1.0 / 60.0);
    let fixed: Vec<_> = (0..positions.len()).map(|i| i < fixed_part).collect();
    let range = 0..positions.len();
    let factor = RestFactor::new(&pattern, &blocks, &range, &fixed, &positions).unwrap();
    let rhs: Vec<_> = range.clone().map(load).collect();
    let mut work = FactorWork::default();
    let (mut x, mut z, mut r) = (vec![Vec3::zeros(); rhs.len()], vec![Vec3::zeros(); rhs.len()], rhs.clone());
    for _ in 0..=corrections {
        factor.solve(&r, &mut z, &mut work);
        x.iter_mut().zip(&z).for_each(|(x, z)| *x += z);
        multiply(&pattern, &blocks, &range, &x, &mut z);
        r.iter_mut().zip(&rhs).zip(&z).for_each(|((r, b), ax)| *r = b - ax);
    }
    assert!(x[..fixed_part].iter().all(|x| *x == Vec3::zeros()));
    r[fixed_part..].iter().map(|r| r.amax()).fold(0.0, f64::max)
}

#[test]
fn a_solve_leaves_a_small_residual_and_corrections_remove_it() {
    for n in [1, 2, 3, 5, 9] {
        for fixed in [0, (n + 1) * (n + 1)] {
            let once = residual(n, fixed, 0);
            assert!(once < 1e-4, "{n}: {once}");
            let corrected = residual(n, fixed, 3);
            assert!(corrected < 1e-12, "{n}: {corrected}");
        }
    }
}

#[test]
fn bodies_stand_for_themselves_and_every_node_may_be_fixed() {
    // Two boxes in one pattern.
    let (one, blocks, positions) = elastic_box(2, 0.1, 1.0 / 60.0);
    let n = positions.len();
    let edges = one.edges.iter().chain(&one.edges).enumerate();
    let edges = edges.map(|(e, [i, j])| if e < one.edges.len() { [*i, *j] } else { [*i + n as u32, *j + n as u32] }).collect();
    let both = Pattern::new(2 * n, edges);
    let twice: Vec<_> = blocks.iter().chain(&blocks).copied().collect();
    let positions: Vec<_> = positions.iter().chain(&positions).copied().collect();
    let rhs: Vec<_> = (0..n).map(load).collect();
    let mut solutions = vec![];
    for range in [0..n, n..2 * n] {
        let factor = RestFactor::new(&both, &twice, &range, &vec![false; 2 * n], &positions).unwrap();
        let mut x = vec![Vec3::zeros(); n];
        factor.solve(&rhs, &mut x, &mut FactorWork::default());
        solutions.push(x);
    }
    assert_eq!(solutions[0], solutions[1]);
    assert!(solutions[0][0] != Vec3::zeros());
    let factor = RestFactor::new(&both, &twice, &(0..n), &vec![true; 2 * n], &positions).unwrap();
    factor.solve(&rhs, &mut solutions[0], &mut FactorWork::default());
    assert!(solutions[0].iter().all(|x| *x == Vec3::zeros()));
    let pair = Columns::new(&factor, &[0, 1], 1 << 20);
    assert!(requested(&pair, &factor, &[]).block(&pair, 0, 1).is_none());
    assert_eq!(requested(&pair, &factor, &[0, 1]).block(&pair, 0, 1), Some([[0.0; 3]; 3]));
}

fn requested(columns: &Columns, factor: &RestFactor, nodes: &[u32]) -> Requested {
    let mut found = Requested::default();
    columns.request(factor, nodes, CancelToken::never(), &mut found);
    found
}

#[test]
fn a_matrix_that_is_not_positive_definite_is_refused() {
    let (pattern, mut blocks, positions) = elastic_box(3, 0.1, 1.0 / 60.0);
    for bad in [-1.0, f64::NAN] {
        blocks[pattern.diagonals[17] as usize] = Mat3::identity() * bad;
        assert!(RestFactor::new(&pattern, &blocks, &(0..64), &[false; 64], &positions).is_err());
    }
}

#[test]
fn blocks_are_those_of_the_inverse_and_stay_in_their_memory() {
    let (pattern, blocks, positions) = elastic_box(5, 0.1, 1.0 / 60.0);
    let n = positions.len();
    let mut fixed = vec![false; n];
    fixed[3] = true;
    let factor = RestFactor::new(&pattern, &blocks, &(0..n), &fixed, &positions).unwrap();
    let surface: Vec<u32> = (0..n as u32).filter(|i| positions[*i as usize].iter().any(|x| *x < 1e-9 || *x > 0.1 - 1e-9)).collect();
    let one = 36 * surface.len() + 12 * 3 * n;
    let limit = 30 * one;
    let columns = Columns::new(&factor, &surface, limit);
    let asked = [0, 3, 7, surface[19], surface[60]];
    let found = requested(&columns, &factor, &asked);
    assert!(found.is_complete && columns.n_kept() == asked.len());
    let (mut x, mut work) = (vec![Vec3::zeros(); n], FactorWork::default());
    let whole = columns.whole(&factor, &asked);
    let block = |i: u32, j: u32| found.block(&columns, i, j).unwrap();
    let largest = block(0, 0).as_flattened().iter().fold(0.0, |most: f32, x| most.max(x.abs()));
    for (j, column) in asked.into_iter().zip(&whole) {
        for axis in 0..3 {
            let mut rhs = vec![Vec3::zeros(); n];
            rhs[j as usize][axis] = 1.0;
            factor.solve(&rhs, &mut x, &mut work);
            for i in asked {
                let wanted: [f32; 3] = x[i as usize].map(|x| x as f32).into();
                assert!((0..3).all(|r| (block(i, j)[r][axis] - wanted[r]).abs() < 1e-5 * largest), "{i} {j}");
                assert!((0..3).all(|r| block(i, j)[r][axis].to_bits() == block(j, i)[axis][r].to_bits()));
            }
            for i in &surface {
                let entries = &column[columns.row(*i).unwrap() as usize][3 * axis..3 * axis + 3];
                assert!((0..3).all(|r| (f64::from(entries[r]) - x[*i as usize][r]).abs() < 1e-5 * f64::from(largest)), "{i} {j}");
            }
        }
    }
    assert_eq!(block(3, 7), [[0.0; 3]; 3], "what is fixed does not move");
    // A request that follows another has the same blocks, whatever it keeps of that one.
    let mut kept = Requested::default();
    for nodes in [&asked[..], &asked[1..3], &[7, surface[19], surface[30]], &surface[..40], &[surface[50]]] {
        columns.request(&factor, nodes, CancelToken::never(), &mut kept);
        let fresh = requested(&columns, &factor, nodes);
        for (i, j) in nodes.iter().flat_map(|i| nodes.iter().map(move |j| (*i, *j))) {
            assert!(kept.is_complete && kept.block(&columns, i, j).is_some());
            assert_eq!(kept.block(&columns, i, j), fresh.block(&columns, i, j), "{i} {j}");
        }
    }
    // One that is cancelled has none, those neither that were there; the next has them all.
    let cancelled = CancelToken::default();
    cancelled.cancel();
    columns.request(&factor, &surface[..45], &cancelled, &mut kept);
    assert!(!kept.is_complete && kept.block(&columns, surface[1], surface[2]).is_none());
    columns.request(&factor, &surface[..45], CancelToken::never(), &mut kept);
    assert!(kept.is_complete && kept.block(&columns, surface[1], surface[44]).is_some());
    let same = columns.of_factor();
    same.request(&factor, &asked[..2], CancelToken::never(), &mut kept);
    assert!(kept.block(&same, asked[0], asked[1]).is_some() && kept.block(&same, asked[0], surface[50]).is_none());
    // The oldest go.
    for j in surface.iter().skip(20) {
        let one = requested(&columns, &factor, &[*j]);
        assert!(one.is_complete && one.block(&columns, *j, *j).is_some() && columns.n_kept() <= columns.capacity());
        assert!(columns.memory() <= limit);
    }
    assert!((70..surface.len()).contains(&columns.capacity()));
    assert!(columns.n_kept() < surface.len());
    assert!(!requested(&columns, &factor, &surface).is_complete && columns.n_kept() <= columns.capacity());
    assert!(requested(&columns, &factor, &surface).block(&columns, 0, 0).is_none() && columns.memory() <= limit);
    assert!(requested(&columns, &factor, &surface[..columns.capacity()]).is_complete && columns.memory() <= limit);
}

#[test]
fn blocks_are_those_of_the_dense_inverse_whatever_is_computed_beside_them() {
    let (pattern, blocks, positions) = elastic_box(4, 0.1, 1.0 / 60.0);
    let n = positions.len();
    let mut dense = DMatrix::zeros(3 * n, 3 * n);
    for i in 0..n {
        for b in pattern.row(i) {
            dense.fixed_view_mut::<3, 3>(3 * i, 3 * pattern.columns[b] as usize).copy_from(&blocks[b]);
        }
    }
    let inverse = dense.try_inverse().unwrap();
    let factor = RestFactor::new(&pattern, &blocks, &(0..n), &vec![false; n], &positions).unwrap();
    let surface: Vec<u32> = (0..n as u32).filter(|i| positions[*i as usize].iter().any(|x| *x < 1e-9)).collect();
    let columns = Columns::new(&factor, &surface, 1 << 24);
    let all = requested(&columns, &factor, &surface);
    let pairs = || surface.iter().flat_map(|j| surface.iter().map(move |i| (*i, *j)));
    let entry = |i: u32, j: u32, e: usize| f64::from(all.block(&columns, i, j).unwrap()[e % 3][e / 3]);
    let off = |inverse: &DMatrix<f64>| {
        let error = |(i, j): (u32, u32), e: usize| (entry(i, j, e) - inverse[(3 * i as usize + e % 3, 3 * j as usize + e / 3)]).abs();
        pairs().flat_map(|pair| (0..9).map(move |e| error(pair, e))).fold(0.0, f64::max) / inverse.amax()
    };
    assert!(off(&inverse) < 2e-6);
    assert!(off(&(1.0001 * &inverse)) > 2e-6);
    // In each place of a line, next to others and alone, and where two have met others before they meet.
    let others = Columns::new(&factor, &surface, 1 << 24);
    let bits = |block: Option<[[f32; 3]; 3]>| block.map(|block| block.map(|row| row.map(f32::to_bits)));
    for (n_beside, from) in [1, 2, 5, 6, 17].into_iter().flat_map(|n| [(n, 0), (n, 3)]) {
        for nodes in surface[from..].chunks(n_beside).take(20) {
            let found = requested(&others, &factor, nodes);
            for (i, j) in nodes.iter().flat_map(|i| nodes.iter().map(move |j| (*i, *j))) {
                assert_eq!(bits(found.block(&others, i, j)), bits(all.block(&columns, i, j)), "{n_beside} {i} {j}");
                assert!(found.block(&others, i, j).is_some());
            }
        }
    }
}

#[test]
fn what_nothing_connects_is_factored_apart() {
    let (pattern, blocks, positions) = elastic_box(4, 0.1, 1.0 / 60.0);
    let n = positions.len();
    // Two boxes at one place, their nodes in turn.
    let edges = pattern.edges.iter().flat_map(|[i, j]| [0, 1].map(|k| [2 * i + k, 2 * j + k]));
    let mut edges: Vec<[u32; 2]> = edges.collect();
    edges.sort_unstable();
    let both = Pattern::new(2 * n, edges);
    let block = |i: usize, j: u32| pattern.row(i).find(|b| pattern.columns[*b] == j).map(|b| blocks[b]).unwrap();
    let rows = (0..2 * n).flat_map(|i| both.columns[both.row(i)].iter().map(move |j| (i / 2, *j / 2)));
    let twice: Vec<Mat3> = rows.map(|(i, j)| block(i, j)).collect();
    let places: Vec<Vec3> = positions.iter().flat_map(|p| [*p; 2]).collect();
    let factor = RestFactor::new(&both, &twice, &(0..2 * n), &vec![false; 2 * n], &places).unwrap();
    let one = RestFactor::new(&pattern, &blocks, &(0..n), &vec![false; n], &positions).unwrap();
    assert_eq!(factor.memory(), 2 * one.memory());
    let columns = Columns::new(&factor, &(0..2 * n as u32).collect::<Vec<_>>(), 1 << 24);
    let found = requested(&columns, &factor, &[4, 5, 10, 11]);
    assert!(found.block(&columns, 4, 10).unwrap() != [[0.0; 3]; 3]);
    assert_eq!(found.block(&columns, 4, 10), found.block(&columns, 5, 11));
    assert_eq!(found.block(&columns, 4, 5), Some([[0.0; 3]; 3]));
    assert_eq!(found.block(&columns, 4, 11), Some([[0.0; 3]; 3]));
}

#[test]
fn a_factor_of_more_memory_than_it_may_take_is_not_made() {
    let (pattern, blocks, positions) = elastic_box(6, 0.2, 1.0 / 60.0);
    let (range, fixed) = (0..positions.len(), vec![false; positions.len()]);
    let make = |max_memory| RestFactor::new_unless(&pattern, &blocks, &range, (&fixed, &positions), max_memory, CancelToken::never());
    let memory = make(usize::MAX).unwrap().memory();
    assert_eq!(make(memory).unwrap().memory(), memory);
    assert!(make(memory - 1).is_err());
}
