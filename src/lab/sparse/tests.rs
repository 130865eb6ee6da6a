use proptest::collection::vec;
use proptest::prelude::{Just, prop_oneof};

use super::*;
use crate::cases::{Random, for_all};

/// `n` rows of a few entries, one empty, one dense; some places are given twice.
pub fn uneven(n: usize, seed: u64) -> Csr {
    let mut random = Random::new(seed);
    let (empty, dense) = (n / 3, n / 2);
    let mut triplets = vec![];
    for i in 0..n {
        let count = match i {
            i if i == empty => 0,
            i if i == dense => n,
            _ => 1 + random.below(9),
        };
        for k in 0..count {
            let j = if i == dense { k } else { random.below(n) };
            triplets.push((i as u32, j as u32, random.signed()));
        }
    }
    Csr::from_triplets(n, n, triplets)
}

/// Symmetric, with a diagonal that dominates.
pub fn positive(n: usize, seed: u64) -> Csr {
    let mut random = Random::new(seed);
    let mut triplets = vec![];
    let mut sums = vec![1.0 + random.unit(); n];
    for i in 0..n {
        for _ in 0..3 {
            let (j, value) = (random.below(n), random.signed());
            if i != j {
                triplets.extend([(i as u32, j as u32, value), (j as u32, i as u32, value)]);
                sums[i] += value.abs();
                sums[j] += value.abs();
            }
        }
    }
    triplets.extend(sums.into_iter().enumerate().map(|(i, sum)| (i as u32, i as u32, sum)));
    Csr::from_triplets(n, n, triplets)
}

fn path(name: &str) -> String {
    format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn file(name: &str) -> Csr {
    parse_market(name, &std::fs::read_to_string(path(name)).unwrap()).unwrap()
}

/// `A x` by sprs, the reference of all products.
pub fn reference_product(csr: &Csr, x: &[f64]) -> Vec<f64> {
    let a = sprs::CsMatViewI::<f64, u32, usize>::new((csr.n_rows(), csr.n_columns), &csr.row_starts, &csr.columns, &csr.values);
    let mut y = vec![0.0; csr.n_rows()];
    sprs::prod::mul_acc_mat_vec_csr(a, x, &mut y[..]);
    y
}

/// Largest difference as a part of the largest value.
pub fn relative<T: Real>(found: &[T], wanted: &[f64]) -> f64 {
    let size = wanted.iter().fold(0.0f64, |most, w| most.max(w.abs()));
    found.iter().zip(wanted).fold(0.0, |most: f64, (f, w)| most.max((f.to_f64() - w).abs())) / size
}

fn check<T: Real>(csr: &Csr, tolerance: f64) {
    let x = Random::new(5).list(csr.n_columns);
    let wanted = reference_product(csr, &x);
    for kind in StorageKind::ALL {
        let storage = Storage::<T>::new(csr, kind);
        let x = storage.padded(&x);
        let mut y = vec![T::from_f64(7.0); csr.n_rows().next_multiple_of(kind.block())];
        let mut dots = vec![];
        let dot = storage.multiply_and_dot(&x, &mut y, Some(&mut dots));
        let error = relative(&y, &wanted);
        assert!(error < tolerance, "{} {}: {error:e}", kind.name(), T::NAME);
        assert!(y[csr.n_rows()..].iter().all(|y| *y == T::ZERO));
        let (exact, size) =
            x.iter().zip(&wanted).fold((0.0, 0.0), |(sum, size), (x, w)| (sum + x.to_f64() * w, size + (x.to_f64() * w).abs()));
        assert!((dot - exact).abs() < 10.0 * tolerance * size, "{} {}: {dot} is not {exact}", kind.name(), T::NAME);
    }
    check_mappings::<T, 1>(csr, &x, &wanted, tolerance);
    check_mappings::<T, 2>(csr, &x, &wanted, tolerance);
    check_mappings::<T, 4>(csr, &x, &wanted, tolerance);
    check_mappings::<T, 8>(csr, &x, &wanted, tolerance);
}

fn check_mappings<T: Real, const N: usize>(csr: &Csr, x: &[f64], wanted: &[f64], tolerance: f64) {
    let matrix = Bcsr::<T, N>::new(csr);
    let mut x: Vec<T> = x.iter().map(|x| T::from_f64(*x)).collect();
    x.resize(x.len().next_multiple_of(N), T::ZERO);
    for (threads, sorted) in [(128, true), (256, false)] {
        for mapping in Mapping::all(threads, N as u32) {
            let mut y = vec![T::from_f64(7.0); matrix.n_block_rows() * N];
            Grouped::new(&matrix, mapping, threads, sorted).multiply(&x, &mut y);
            let error = relative(&y, wanted);
            assert!(error < tolerance, "N {N} {mapping:?} {} sorted {sorted}: {error:e}", T::NAME);
        }
    }
}

#[test]
fn every_storage_and_mapping_gives_the_product() {
    let long = Csr::from_triplets(3, 5, vec![(0, 4, 2.0), (2, 0, 1.0)]);
    for csr in [uneven(517, 1), uneven(61, 2), positive(1030, 3), file("bcsstk01.mtx"), file("nos1.mtx"), long] {
        check::<f64>(&csr, 1e-12);
        check::<f32>(&csr, 1e-5);
    }
}

#[test]
fn an_error_in_an_entry_is_seen() {
    let csr = uneven(61, 2);
    let x = Random::new(5).list(csr.n_columns);
    let wanted = reference_product(&csr, &x);
    for kind in StorageKind::ALL {
        let mut wrong = csr.clone();
        wrong.values[17] += 1e-6;
        let storage = Storage::<f64>::new(&wrong, kind);
        let mut y = storage.padded(&vec![0.0; csr.n_rows()]);
        storage.multiply(&storage.padded(&x), &mut y);
        assert!(relative(&y, &wanted) > 1e-12, "{}", kind.name());
    }
}

#[test]
fn products_are_the_same_for_any_number_of_threads() {
    let csr = positive(40_000, 4);
    let x = Random::new(6).list(csr.n_columns);
    for kind in StorageKind::ALL {
        let storage = Storage::<f64>::new(&csr, kind);
        let outcomes = [1, 2, 3].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut y = storage.padded(&vec![0.0; csr.n_rows()]);
            let mut dots = vec![];
            let dot = pool.install(|| storage.multiply_and_dot(&storage.padded(&x), &mut y, Some(&mut dots)));
            assert!(dots.len() > 3, "the parts are too large for this test");
            (dot, y)
        });
        assert!(outcomes[0] == outcomes[1] && outcomes[0] == outcomes[2], "{}", kind.name());
    }
}

/// 2.1: four block rows with first blocks 0, 14, 27 and 39, B_x = B_y = 4.
#[test]
fn the_worked_case_of_block_reordering() {
    let shape = [4, 4];
    let first = [0, 14, 27, 39];
    let place = |block: u32| {
        let q = first.iter().rposition(|first| *first <= block).unwrap();
        let k = block - first[q];
        position(shape, q as u32, k / 4, k % 4)
    };
    let step: Vec<u32> = (0..47).filter(|block| place(*block) < 16).collect();
    assert_eq!(step, [0, 1, 2, 3, 14, 15, 16, 17, 27, 28, 29, 30, 39, 40, 41, 42]);
    assert_eq!((place(14), place(4)), (4, 16));
    // The same from a matrix: block k of row q holds the number of its place in the rows one after the other.
    let lengths = [14, 13, 12, 8];
    let numbers = (0u32..).map(f64::from);
    let places = lengths.iter().enumerate().flat_map(|(row, length)| (0..*length).map(move |column| (row as u32, column as u32)));
    let csr = Csr::from_triplets(4, 14, places.zip(numbers).map(|((r, c), v)| (r, c, v)).collect());
    let grouped = Grouped::new(&Bcsr::<f64, 1>::new(&csr), Mapping::MultipleBlockRow { slots: 4 }, 16, false);
    assert_eq!(grouped.shape, shape);
    assert_eq!((grouped.values[4], grouped.values[16]), (14.0, 4.0));
    assert_eq!(&grouped.values[12..16], [39.0, 40.0, 41.0, 42.0]);
}

/// The table of section 2.
#[test]
fn every_thread_has_an_entry() {
    for threads in [128, 256] {
        for n in [1, 2, 4, 8] {
            for mapping in Mapping::all(threads, n) {
                let [bx, by] = mapping.shape(threads, n);
                assert_eq!(bx * by * n * n, threads, "{mapping:?} {n}");
            }
            assert_eq!(Mapping::BlockRow.shape(threads, n), [threads / (n * n), 1]);
            assert_eq!(Mapping::MultipleBlockRow { slots: 1 }.shape(threads, n), [1, threads / (n * n)]);
            let warp = if n == 8 { [1, threads / (2 * WARP)] } else { [WARP / (n * n), threads / WARP] };
            assert_eq!(Mapping::Warp.shape(threads, n), warp);
        }
    }
}

#[test]
fn sorting_permutes_rows_and_never_adds_padding() {
    for seed in 0..20 {
        let csr = uneven(200 + 13 * seed as usize, seed);
        let matrix = Bcsr::<f64, 2>::new(&csr);
        let lengths: Vec<u32> = (0..matrix.n_block_rows()).map(|row| matrix.row(row).len() as u32).collect();
        for mapping in Mapping::all(128, 2) {
            let [unsorted, sorted] = [false, true].map(|sorted| Grouped::new(&matrix, mapping, 128, sorted));
            for grouped in [&unsorted, &sorted] {
                let mut rows: Vec<u32> = grouped.row_map.iter().copied().filter(|row| *row != u32::MAX).collect();
                rows.sort_unstable();
                assert!(rows.iter().copied().eq(0..matrix.n_block_rows() as u32));
            }
            // 2.3: the padded elements of the page, from the steps of each thread block.
            let by_steps: usize = sorted.starts.windows(2).map(|w| (w[1] - w[0]) as usize).sum();
            assert_eq!(by_steps, sorted.n_padded());
            assert_eq!(sorted.n_padded(), padded_blocks(&lengths, sorted.shape, true));
            assert_eq!(unsorted.n_padded(), padded_blocks(&lengths, unsorted.shape, false));
            assert!(unsorted.n_padded() >= sorted.n_padded(), "{mapping:?}");
        }
    }
}

#[test]
fn the_number_of_slots_is_tuned() {
    // The thesis' dense matrix of 2000 rows: 256 threads with one slot are 8 thread blocks.
    let dense = vec![2000; 2000];
    assert_eq!(dense.len().div_ceil(Mapping::MultipleBlockRow { slots: 1 }.shape(256, 1)[1] as usize), 8);
    let slots = tuned_slots(&dense, 1, 256, 120);
    assert_eq!(slots, 16, "125 thread blocks");
    // Many short rows and a few long ones: one slot would pad all rows of a thread block to the longest.
    let mut uneven = vec![4; 4096];
    (0..4096).step_by(256).for_each(|row| uneven[row] = 400);
    let padded = |slots: u32| padded_blocks(&uneven, Mapping::MultipleBlockRow { slots }.shape(256, 1), false);
    assert!(padded(4) < padded(1));
    assert_eq!(tuned_slots(&vec![7; 100_000], 1, 256, 120), 1, "even rows need none");
}

/// Textbook Jacobi-PCG; x after each iteration.
fn textbook(csr: &Csr, b: &[f64], iterations: usize) -> Vec<Vec<f64>> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let diagonal = csr.diagonal();
    let precondition = |r: &[f64]| -> Vec<f64> { r.iter().zip(&diagonal).map(|(r, d)| r / d).collect() };
    let (mut x, mut r) = (vec![0.0; b.len()], b.to_vec());
    let mut z = precondition(&r);
    let mut p = z.clone();
    let mut all = vec![];
    for _ in 0..iterations {
        let q = reference_product(csr, &p);
        let rho = dot(&r, &z);
        let alpha = rho / dot(&p, &q);
        for i in 0..b.len() {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        z = precondition(&r);
        let beta = dot(&r, &z) / rho;
        for i in 0..b.len() {
            p[i] = z[i] + beta * p[i];
        }
        all.push(x.clone());
    }
    all
}

pub fn inverse_diagonal(csr: &Csr) -> Vec<f64> {
    csr.diagonal().iter().map(|d| 1.0 / d).collect()
}

#[test]
fn jacobi_cg_is_the_textbook_s_and_ends() {
    for (csr, most) in [(positive(50, 8), 50), (file("bcsstk01.mtx"), 200)] {
        let b = Random::new(9).list(csr.n_rows());
        let expected = textbook(&csr, &b, 12);
        for kind in StorageKind::ALL {
            let a = Storage::<f64>::new(&csr, kind);
            let (d, b) = (a.padded(&inverse_diagonal(&csr)), a.padded(&b));
            let mut work = CgWork::default();
            for (k, expected) in expected.iter().enumerate() {
                let mut x = a.padded(&vec![0.0; csr.n_rows()]);
                jacobi_cg(&a, &d, &b, &mut x, 0.0, k as u32 + 1, &mut work);
                assert!(relative(&x, expected) < 1e-10, "{} iteration {k}: {:e}", kind.name(), relative(&x, expected));
            }
            let mut x = a.padded(&vec![0.0; csr.n_rows()]);
            let solved = jacobi_cg(&a, &d, &b, &mut x, 1e-9, most, &mut work);
            assert!(solved.converged && solved.iterations <= most, "{} {solved:?}", kind.name());
            let x: Vec<f64> = x[..csr.n_rows()].to_vec();
            let left: f64 = reference_product(&csr, &x).iter().zip(&b).map(|(ax, b)| (ax - b).powi(2)).sum();
            assert!(left.sqrt() < 1e-6, "{left:e}");
        }
    }
}

#[test]
fn a_start_value_is_used() {
    let csr = positive(50, 8);
    let exact = Random::new(10).list(50);
    let b = reference_product(&csr, &exact);
    let a = Storage::<f64>::new(&csr, StorageKind::Bcsr4);
    let mut x = a.padded(&exact);
    let solved = jacobi_cg(&a, &a.padded(&inverse_diagonal(&csr)), &a.padded(&b), &mut x, 1e-12, 50, &mut CgWork::default());
    assert_eq!(solved.iterations, 0);
    assert!(relative(&x[..50], &exact) == 0.0);
}

fn on_workers(csr: &Csr, b: &[f64], n: usize, iterations: u32) -> (Vec<f64>, crate::sparse::Solved) {
    let matrix = Bcsr::<f64, 3>::new(csr);
    let pad =
        |values: &[f64]| -> Vec<f64> { values.iter().copied().chain(std::iter::repeat(0.0)).take(matrix.n_block_rows() * 3).collect() };
    let (d, b) = (pad(&inverse_diagonal(csr)), pad(b));
    let workers = segments(&matrix.row_starts, n).iter().map(|segment| CpuWorker::new(&matrix, segment, &d, &b)).collect();
    solve_on(workers, 1e-10, iterations).unwrap()
}

#[test]
fn several_devices_give_the_iterates_of_one() {
    let csr = positive(400, 12);
    let b = Random::new(13).list(400);
    for iterations in 1..12 {
        let (one, _) = on_workers(&csr, &b, 1, iterations);
        assert!(relative(&one, textbook(&csr, &b, iterations as usize).last().unwrap()) < 1e-12);
        for n in [2, 3] {
            let (several, solved) = on_workers(&csr, &b, n, iterations);
            assert_eq!(solved.iterations, iterations);
            assert!(relative(&several, &one) < 1e-12, "{n} devices, iteration {iterations}: {:e}", relative(&several, &one));
        }
    }
    let (_, solved) = on_workers(&csr, &b, 3, 400);
    assert!(solved.converged && solved.iterations < 100, "{solved:?}");
}

/// A device that fails stops all of them, and says so.
#[test]
fn a_failing_device_ends_the_solve() {
    struct Failing(CpuWorker<f64, 3>, u32);
    impl Worker<f64> for Failing {
        type Error = &'static str;
        fn rows(&self) -> Range<usize> {
            self.0.rows()
        }
        fn start(&mut self, own: &mut [f64]) -> Result<[f64; 2], Self::Error> {
            Ok(self.0.start(own).unwrap())
        }
        fn product(&mut self, v: &[f64]) -> Result<f64, Self::Error> {
            self.1 = self.1.checked_sub(1).ok_or("lost")?;
            Ok(self.0.product(v).unwrap())
        }
        fn advance(&mut self, t: f64) -> Result<[f64; 2], Self::Error> {
            Ok(self.0.advance(t).unwrap())
        }
        fn direction(&mut self, s: f64, own: &mut [f64]) -> Result<(), Self::Error> {
            self.0.direction(s, own).unwrap();
            Ok(())
        }
        fn solution(&mut self) -> Result<Vec<f64>, Self::Error> {
            Ok(self.0.solution().unwrap())
        }
    }
    let csr = positive(60, 12);
    let matrix = Bcsr::<f64, 3>::new(&csr);
    let (d, b) = (inverse_diagonal(&csr), vec![1.0; 60]);
    let workers = segments(&matrix.row_starts, 3);
    let workers = workers.iter().zip([u32::MAX, 2, u32::MAX]).map(|(s, left)| Failing(CpuWorker::new(&matrix, s, &d, &b), left)).collect();
    assert!(matches!(solve_on(workers, 1e-10, 50), Err(SegmentError::Worker("lost"))));
}

#[test]
fn segments_differ_by_at_most_the_longest_row() {
    for_all(400, &vec(prop_oneof![1 => Just(0), 4 => 0..100u32], 1..60), |lengths| {
        let n_rows = lengths.len();
        let starts: Vec<u32> = std::iter::once(0)
            .chain(lengths.iter().scan(0, |sum, length| {
                *sum += length;
                Some(*sum)
            }))
            .collect();
        let longest = starts.windows(2).map(|w| w[1] - w[0]).max().unwrap();
        for n in 1..6 {
            let found = segments(&starts, n);
            assert_eq!(found.len(), n);
            assert!(found[0].start == 0 && found[n - 1].end == n_rows && found.windows(2).all(|w| w[0].end == w[1].start), "{found:?}");
            let blocks: Vec<u32> = found.iter().map(|s| starts[s.end] - starts[s.start]).collect();
            let spread = blocks.iter().max().unwrap() - blocks.iter().min().unwrap();
            assert!(spread <= longest, "{starts:?} in {n}: {blocks:?}");
        }
    });
}

/// The GTX 280 of the thesis; 4x4 blocks, parameters of the envelope or of the average.
fn gtx280(product: Throughput) -> CgModel {
    CgModel {
        product,
        cg2: Throughput::new(19.0, 1.45, 117.0),
        cg3: Throughput::new(19.0, 1.45, 120.0),
        cg4: Throughput::new(19.3, 1.45, 116.0),
        cg5: Throughput::new(19.2, 1.45, 106.0),
        reduction: Throughput::new(19.7, 1.40, 120.0),
        exchange: Throughput::new(16.7, 1.40, 10.0),
        synchronisation: 35e-6,
    }
}

#[test]
fn the_model_reproduces_the_table_of_the_thesis() {
    let (most, average) = (gtx280(Throughput::new(19.9, 1.40, 140.0)), gtx280(Throughput::new(20.39, 1.28, 117.70)));
    for (x, e, ms, raw, raw_average, raw_two, gain) in [
        (1e4, 1e6, 0.2694, 7.98, 7.23, 4.98, 0.624),
        (1e5, 1e6, 0.3362, 10.41, 9.61, 6.59, 0.633),
        (1e5, 1e7, 0.8486, 25.33, 22.29, 27.33, 1.079),
        (1e6, 1e7, 1.5680, 22.32, 20.78, 18.81, 0.843),
        (1e6, 1e8, 6.7092, 32.05, 27.59, 48.53, 1.514),
    ] {
        let flops = CgModel::flops(x, e, 1.0) * 1e-9;
        for (found, wanted) in [
            (most.iteration(x, e) * 1e3, ms),
            (flops / most.iteration(x, e), raw),
            (flops / average.iteration(x, e), raw_average),
            (flops / most.iteration_on(2, x, e), raw_two),
            (most.speed_up(2, x, e), gain),
        ] {
            assert!((found / wanted - 1.0).abs() < 0.005, "x {x:e} e {e:e}: {found} instead of {wanted}");
        }
    }
    // nd24k on two devices with 2x2 blocks.
    let (x, nnz, density) = (72_000.0, 28_715_634.0, 0.84);
    let two = gtx280(Throughput::new(19.65, 1.15, 80.92));
    let seconds = two.iteration_on(2, x, nnz / density);
    assert!((CgModel::flops(x, nnz / density, 1.0) * 1e-9 / seconds / 32.3 - 1.0).abs() < 0.005);
    assert!((CgModel::flops(x, nnz / density, density) * 1e-9 / seconds / 27.2 - 1.0).abs() < 0.005);
}

#[test]
fn the_model_has_its_limits() {
    let curve = Throughput::new(19.9, 1.4, 140.0);
    assert!((curve.speed(2f64.powf(19.9)) - 70.0).abs() < 1e-12);
    let mut model = gtx280(curve);
    let flops = CgModel::flops(1e3, 1e15, 1.0);
    assert!((flops * 1e-9 / model.iteration(1e3, 1e15) / 35.0 - 1.0).abs() < 1e-6, "nu / 4");
    model.exchange.nu = 1e12;
    model.synchronisation = 0.0;
    for n in [2, 3, 8] {
        assert!((model.speed_up(n, 1e12, 1e14) / n as f64 - 1.0).abs() < 1e-4, "{}", model.speed_up(n, 1e12, 1e14));
    }
}

#[test]
fn a_curve_is_found_again_from_noisy_measurements() {
    let truth = Throughput::new(18.3, 1.35, 92.0);
    let sizes = (12..28).map(|k| 2f64.powi(k));
    let exact: Vec<_> = sizes.map(|m| (m, truth.speed(m))).collect();
    let (found, error) = Throughput::fitted(&exact).unwrap();
    assert!(
        (found.mu - truth.mu).abs() < 1e-6 && (found.sigma - truth.sigma).abs() < 1e-6 && (found.nu - truth.nu).abs() < 1e-5,
        "{found:?}"
    );
    assert!(error < 1e-8);
    let mut random = Random::new(15);
    let noisy: Vec<_> = exact.iter().map(|(m, speed)| (*m, speed * (1.0 + 0.04 * (random.unit() - 0.5)))).collect();
    let (found, error) = Throughput::fitted(&noisy).unwrap();
    assert!((found.mu - truth.mu).abs() < 0.1 && (found.nu / truth.nu - 1.0).abs() < 0.02 && error < 0.03, "{found:?} {error}");
    assert_eq!(Throughput::fitted(&exact[..2]).unwrap_err(), FitError::TooFew { samples: 2, parameters: 3 });
}

#[test]
fn a_latency_is_a_curve() {
    let (latency, nu) = (12e-6, 90.0);
    let curve = Throughput::of_latency(latency, nu);
    for m in [1e2, 1e5, 1e8] {
        assert!((curve.seconds(m) / (latency + 4.0 * m / (nu * 1e9)) - 1.0).abs() < 1e-12);
    }
    assert_eq!(Throughput::FREE.seconds(1e6), 0.0);
    let beyond: Vec<_> = (24..28).map(|k| 2f64.powi(k)).map(|m| (m, curve.speed(m))).collect();
    let (found, error) = Throughput::saturated(latency, &beyond).unwrap();
    assert!((found.nu - nu).abs() < 1e-6 && (found.mu - curve.mu).abs() < 1e-6 && error < 1e-8, "{found:?} {error}");
}

#[test]
fn the_fastest_storage_is_measured_once() {
    let csr = uneven(3000, 16);
    let mut chooser = Chooser::default();
    let first = chooser.best::<f64>(&csr);
    let mut other = csr.clone();
    other.values.iter_mut().for_each(|value| *value *= 2.0);
    assert_eq!(chooser.best::<f64>(&other), first);
    assert_eq!(chooser.n_known(), 1, "the values do not matter");
    // One entry a row: larger blocks would move many times the bytes, and are not even tried.
    let diagonal = Csr::from_triplets(300_000, 300_000, (0..300_000).map(|i| (i, i * 7 % 300_000, 1.0)).collect());
    assert_eq!(chooser.best::<f64>(&diagonal), StorageKind::Bcsr1);
    assert_eq!(chooser.n_known(), 2);
    chooser.best::<f32>(&diagonal);
    assert_eq!(chooser.n_known(), 3);
}

#[test]
fn matrix_market_files_are_read_as_sprs_reads_them() {
    for name in ["bcsstk01.mtx", "nos1.mtx"] {
        let wanted: sprs::CsMatI<f64, u32, usize> = sprs::io::read_matrix_market(path(name)).unwrap().to_csr();
        let found = file(name);
        assert_eq!(wanted.shape(), (found.n_rows(), found.n_columns), "{name}");
        assert_eq!(wanted.proper_indptr(), found.row_starts, "{name}");
        assert_eq!((wanted.indices(), wanted.data()), (&found.columns[..], &found.values[..]), "{name}");
    }
}

#[test]
fn matrix_market_files_are_read() {
    let csr = file("bcsstk01.mtx");
    assert_eq!((csr.n_rows(), csr.n_columns, csr.n_entries()), (48, 48, 400));
    assert_eq!(csr.row(0).next(), Some((0, 2_832_268.518_52)));
    assert!((0..48).all(|i| csr.row(i).all(|(j, value)| csr.row(j).any(|entry| entry == (i, value)))), "symmetric");
    assert_eq!(file("nos1.mtx").n_entries(), 1017);
    let read = |text: &str| parse_market("m", text).map(|csr| (0..csr.n_rows()).map(|i| csr.row(i).collect()).collect::<Vec<Vec<_>>>());
    let pattern = "%%MatrixMarket matrix coordinate pattern symmetric\n% note\n\n2 2 2\n1 1\n2 1\n";
    assert_eq!(read(pattern).unwrap(), [vec![(0, 1.0), (1, 1.0)], vec![(0, 1.0)]]);
    let integer = "%%matrixmarket MATRIX Coordinate integer general\r\n2 3 3\r\n2 3 -4\r\n1 1 5\r\n2 3 1\r\n";
    assert_eq!(read(integer).unwrap(), [vec![(0, 5.0)], vec![(2, -3.0)]]);
    let array = "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n";
    assert_eq!(read(array).unwrap(), [vec![(0, 1.0), (1, 3.0)], vec![(0, 2.0), (1, 4.0)]]);
    let symmetric = "%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n4\n";
    assert_eq!(read(symmetric).unwrap(), [vec![(0, 1.0), (1, 2.0)], vec![(0, 2.0), (1, 4.0)]]);
}

#[test]
fn what_is_wrong_with_a_matrix_market_file_is_said() {
    let head = "%%MatrixMarket matrix coordinate real general\n";
    let bad = |text: &str| parse_market("m.mtx", text).unwrap_err().to_string();
    for (text, wanted) in [
        (String::new(), "m.mtx:1: the line is empty; expected \"%%MatrixMarket"),
        ("%%MatrixMarket matrix coordinate complex general\n".into(), "m.mtx:1: found \"%%MatrixMarket matrix coordinate complex"),
        ("%%MatrixMarket matrix array pattern general\n".into(), "m.mtx:1"),
        (head.into(), "m.mtx:2: the line is empty; expected the numbers of rows, columns and entries"),
        (format!("{head}2 2\n"), "m.mtx:2: found \"2 2\""),
        (format!("{head}2 x 1\n"), "m.mtx:2"),
        (format!("{head}2 -2 1\n"), "m.mtx:2"),
        (format!("{head}0 2 0\n"), "m.mtx:2: found \"0 2 0\"; expected between 1 and"),
        (format!("{head}5000000000 2 1\n1 1 1\n"), "m.mtx:2"),
        (format!("{head}4000000000 4000000000 1\n1 1 1\n"), "m.mtx:2: found \"4000000000 4000000000 1\"; expected fewer rows"),
        (format!("{head}2 2 1\n3 1 1\n"), "m.mtx:3: found \"3 1 1\"; expected a row from 1 to 2, a column from 1 to 2 and a finite number"),
        (format!("{head}2 2 1\n0 1 1\n"), "m.mtx:3"),
        (format!("{head}2 2 1\n1 1\n"), "m.mtx:3"),
        (format!("{head}2 2 1\n1 1 nan\n"), "m.mtx:3"),
        (format!("{head}2 2 1\n1 1 1 1\n"), "m.mtx:3"),
        (format!("{head}2 2 1\n1 1 1\n2 2 1\n"), "m.mtx:4: found \"2 2 1\"; expected no more than the 1 entries"),
        (format!("{head}2 2 18446744073709551615\n1 1 1\n"), "m.mtx: it ends after 1 entries; its size line promises 18446744073709551615"),
        (format!("{}2 3 1\n1 1 1\n", head.replace("general", "symmetric")), "m.mtx:2"),
        (
            format!("{}2 2 1\n1 2 1\n", head.replace("general", "symmetric")),
            "m.mtx:3: found \"1 2 1\"; expected an entry of the lower triangle",
        ),
        ("%%MatrixMarket matrix array real general\n2 1\n1\n2\n3\n".into(), "m.mtx:5: found \"3\"; expected no more than 2 entries"),
        ("%%MatrixMarket matrix array real general\n4294967295 4294967295\n1\n".into(), "m.mtx: it ends after 1 entries"),
    ] {
        assert!(bad(&text).starts_with(wanted), "{text:?} gave {:?} instead of {wanted:?}", bad(&text));
    }
}

/// Element matrices of a mesh of boxes, their unknowns, and what scattering them in their order gives.
fn elements_and_scattered() -> (Vec<f64>, Vec<[u32; ELEMENT_ROWS]>, Csr) {
    let mesh = crate::mesh::shapes::box_tets(crate::math::Vec3::new(1.0, 1.0, 1.0), [3, 2, 2]);
    let mut random = Random::new(30);
    let unknowns: Vec<[u32; ELEMENT_ROWS]> = mesh.tets.iter().map(|tet| std::array::from_fn(|a| 3 * tet[a / 3] + a as u32 % 3)).collect();
    let matrices = random.list(unknowns.len() * ELEMENT_ROWS * ELEMENT_ROWS);
    let n = 3 * mesh.positions.len();
    let entries = matrices.iter().enumerate().map(|(k, value)| {
        let unknowns = &unknowns[k / (ELEMENT_ROWS * ELEMENT_ROWS)];
        (unknowns[k / ELEMENT_ROWS % ELEMENT_ROWS], unknowns[k % ELEMENT_ROWS], *value)
    });
    let scattered = Csr::from_triplets(n, n, entries.collect());
    (matrices, unknowns, scattered)
}

fn check_gather<const N: usize>() {
    let (matrices, unknowns, scattered) = elements_and_scattered();
    let wanted = Bcsr::<f64, N>::new(&scattered);
    let indices = IndexBlocks::<N>::new(&wanted, &unknowns);
    let mut blocks = vec![[[7.0; N]; N]; wanted.blocks.len()];
    for _ in 0..2 {
        indices.gather(&matrices, &mut blocks);
        assert!(blocks == wanted.blocks, "N {N}: bit for bit, and again");
    }
}

#[test]
fn gathered_matrices_are_the_scattered_ones() {
    check_gather::<1>();
    check_gather::<2>();
    check_gather::<3>();
    check_gather::<4>();
    check_gather::<8>();
    // A pair of vertices has as many contributions as elements that share it.
    let (_, unknowns, scattered) = elements_and_scattered();
    let matrix = Bcsr::<f64, 3>::new(&scattered);
    let indices = IndexBlocks::<3>::new(&matrix, &unknowns);
    for i in 0..matrix.n_block_rows() {
        for b in matrix.row(i) {
            let has = |unknowns: &&[u32; ELEMENT_ROWS], node: u32| unknowns.iter().any(|unknown| unknown / 3 == node);
            let sharing = unknowns.iter().filter(|u| has(u, i as u32) && has(u, matrix.columns[b])).count();
            assert_eq!(indices.n_contributions(b), sharing, "({i}, {})", matrix.columns[b]);
        }
    }
}
