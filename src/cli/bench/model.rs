//! `pliant bench model`: the performance model of the thesis on this machine.

use std::sync::Arc;

use serde::Serialize;

use super::cg::iterations;
use super::matrices::{Beam, NamedMatrix};
use super::measure::{gb_per_s, repeat};
use super::{BenchArgs, Failure, Milliseconds, Record, device};
use crate::gpu::Device;
use crate::lab::device::seconds;
use crate::lab::sparse::{CgModel, Csr, FitError, Storage, StorageKind, Throughput, advance_all, direction_all};

/// Prediction of the model for one matrix.
#[derive(Clone, Debug, Serialize)]
pub struct Prediction {
    parameters: CgModel,
    /// Mean relative errors of the curves of the product, CG4 and CG5.
    curve_errors: [f64; 3],
    predicted_ms: f64,
    measured_ms: f64,
    relative_error: f64,
}

/// log2 of the lengths of the vectors that the curves are fitted to. The caches of a processor bend a curve, so that
/// only vectors beyond them count (5.1).
const LENGTHS: std::ops::Range<u32> = 22..26;
/// Cells along two sides of the beams, five times as long, whose products are fitted; the matrix of the smallest takes
/// 35 MB.
const CELLS: [u32; 4] = [16, 19, 22, 25];

/// Iterations of the solves that the model is compared with.
const ITERATIONS: u32 = 20;

pub fn bench(args: &BenchArgs) -> Result<Vec<Record>, Failure> {
    let matrices = args.matrices();
    let mut records = vec![];
    if let Some(device) = args.machine.device()? {
        let fitted = fitted_on(&device)?;
        matrices.for_each(|matrix| {
            let (mut cg, sell) = device::solver(&device, &matrix.csr)?;
            let ms = device::iteration(&mut cg, ITERATIONS)?;
            let elements = [matrix.csr.n_rows() as f64, 9.0 * sell.n_padded() as f64];
            let record =
                Record { backend: "gpu", adapter: Some(device.info.name.clone()), solver: "sell32", precision: "f32", ..Record::default() };
            records.push(compared(matrix, record, ms, &fitted, elements));
            Ok(())
        })?;
    } else {
        let pool = args.machine.pool()?;
        let fitted = pool.install(fitted)?;
        let kind = StorageKind::Sell8;
        matrices.for_each(|matrix| {
            let (ms, stored) = pool.install(|| {
                let storage = Storage::<f64>::new(&matrix.csr, kind);
                (iterations(&storage, matrix, ITERATIONS), 9 * storage.n_blocks())
            });
            let threads = pool.current_num_threads();
            // Each f64 is two elements of four bytes.
            let elements = [2.0 * matrix.csr.n_rows() as f64, 2.0 * stored as f64];
            let record = Record { backend: "cpu", solver: kind.name(), precision: "f64", threads, ..Record::default() };
            records.push(compared(matrix, record, ms, &fitted, elements));
            Ok(())
        })?;
    }
    say!("an iteration of Jacobi conjugate gradients; what stays in a cache of the processor is faster than predicted");
    Ok(records)
}

/// A fitted model and the mean errors of its curves.
type Fitted = (CgModel, [f64; 3]);

/// `record` with what the model says of x and e, and what was measured.
fn compared(matrix: &NamedMatrix, record: Record, ms: Milliseconds, (model, curve_errors): &Fitted, [x, e]: [f64; 2]) -> Record {
    let predicted = 1e3 * model.iteration(x, e);
    let error = predicted / ms.median - 1.0;
    say!("{:30} predicted {predicted:.4} ms, measured {:.4} ms, error {:.1} %", matrix.name, ms.median, 100.0 * error);
    let prediction = Prediction {
        parameters: *model,
        curve_errors: *curve_errors,
        predicted_ms: predicted,
        measured_ms: ms.median,
        relative_error: error,
    };
    Record { bench: "model", case: matrix.name.clone(), size: matrix.size.clone(), model: Some(prediction), ms, ..record }
}

/// The curve of the product and of all the rest of an iteration, on the device.
fn fitted_on(device: &Arc<Device>) -> Result<Fitted, Failure> {
    let (mut products, mut advances) = (vec![], vec![]);
    let cells = if device.is_hardware() { DEVICE_CELLS } else { &DEVICE_CELLS[..SOFTWARE_SIZES] };
    for cells in cells {
        let csr = beam([*cells, *cells, 5 * cells])?;
        let (cg, sell) = device::solver(device, &csr)?;
        seconds(device, 1, |pass| cg.record_start(pass))?;
        let sample = |m: usize, ms: Milliseconds| (m as f64, gb_per_s(4 * m as u64, ms.median));
        products.push(sample(2 * 9 * sell.n_padded(), device::repeat(device, |pass| cg.record_product(pass))?));
        advances.push(sample(9 * 3 * sell.n_block_rows, device::repeat(device, |pass| cg.record_advance(pass))?));
    }
    let curves = [Throughput::fitted(&products), Throughput::fitted(&advances)];
    let [(product, product_error), (cg4, cg4_error)] = [curves[0].map_err(failed)?, curves[1].map_err(failed)?];
    let free = Throughput::FREE;
    let model = CgModel { product, cg2: free, cg3: free, cg4, cg5: free, reduction: free, exchange: free, synchronisation: 0.0 };
    for (name, curve, error) in [("product", product, product_error), ("the rest, as CG4", cg4, cg4_error)] {
        print_curve(name, &curve, error);
    }
    Ok((model, [product_error, cg4_error, 0.0]))
}

/// Cells along two sides of the beams, five times as long, that the curves of a device are fitted to.
const DEVICE_CELLS: &[u32] = &[2, 3, 5, 7, 10, 14, 20, 28, 40];
/// So many of them on a software adapter.
const SOFTWARE_SIZES: usize = 6;

fn failed(error: FitError) -> Failure {
    Failure::Run(format!("the curves cannot be fitted: {error}"))
}

fn print_curve(name: &str, curve: &Throughput, error: f64) {
    say!("{name}: mu {:.2}, sigma {:.2}, nu {:.1} GB/s; mean error {:.1} %", curve.mu, curve.sigma, curve.nu, 100.0 * error);
}

/// The matrix of a beam.
fn beam(cells: [u32; 3]) -> Result<Csr, Failure> {
    let beam = Beam::new(cells)?;
    Ok(Csr::from_blocks(&beam.model.pattern, &beam.matrix().blocks, &beam.model.fixed))
}

/// The curves of this machine. The product holds CG2 and CG3 and its own reduction, the pass of CG4 its reductions.
fn fitted() -> Result<Fitted, Failure> {
    let (mut advances, mut directions, mut products) = (vec![], vec![], vec![]);
    for length in LENGTHS {
        let n = 1usize << length;
        let (q, d, mut p, mut x, mut r) = (vec![0.5; n], vec![2.0; n], vec![1.0; n], vec![0.0; n], vec![1.0; n]);
        let mut sums = vec![];
        // Elements of four bytes as the thesis counts them: 9 and 6 a row.
        let sample = |samples: &mut Vec<_>, elements: usize, ms: Milliseconds| {
            let m = (2 * elements * n) as f64;
            samples.push((m, gb_per_s(4 * m as u64, ms.median)));
        };
        sample(
            &mut advances,
            9,
            repeat(|| {
                advance_all(1e-3, Some(&p), &q, &d, &mut x, &mut r, &mut sums);
            }),
        );
        sample(&mut directions, 6, repeat(|| direction_all(0.5, &d, &r, &mut p)));
    }
    for cells in CELLS {
        let csr = beam([cells, cells, 5 * cells])?;
        let storage = Storage::<f64>::new(&csr, StorageKind::Sell8);
        let x = storage.padded(&vec![1.0; csr.n_columns]);
        let (mut y, mut dots) = (x.clone(), vec![]);
        let ms = repeat(|| {
            storage.multiply_and_dot(&x, &mut y, Some(&mut dots));
        });
        let m = (2 * 2 * 9 * storage.n_blocks()) as f64;
        products.push((m, gb_per_s(4 * m as u64, ms.median)));
    }
    // Vectors that all threads take part in and none takes time for.
    let (short, mut p) = (vec![1.0; 2 * 8192], vec![1.0; 2 * 8192]);
    let latency = 1e-3 * repeat(|| direction_all(0.5, &short, &short, &mut p)).min;
    let (product, product_error) = Throughput::saturated(latency, &products).map_err(failed)?;
    let (cg4, cg4_error) = Throughput::saturated(latency, &advances).map_err(failed)?;
    let (cg5, cg5_error) = Throughput::saturated(latency, &directions).map_err(failed)?;
    let free = Throughput::FREE;
    let model = CgModel { product, cg2: free, cg3: free, cg4, cg5, reduction: free, exchange: free, synchronisation: 0.0 };
    for (name, curve, error) in [("product", product, product_error), ("CG4", cg4, cg4_error), ("CG5", cg5, cg5_error)] {
        print_curve(name, &curve, error);
    }
    Ok((model, [product_error, cg4_error, cg5_error]))
}
